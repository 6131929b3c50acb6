#include "body/footing.h"

#include <string.h>

/* Chosen on 220 simulated drives of two robots and two walks; half or twice of one of them loses at most a tenth of
 * what the filter gains. */
static const double ACCELEROMETER = 0.06; /* m/s after a second: noise, knocks between two samples, tilt */
static const double LEGS = 0.00018;       /* m after a second of samples: play of the gears, encoders    */
static const double LEG = 0.002;          /* m, the same in a single sample                              */
static const double SLIPS = 0.0009;       /* m after a second, of a foot that carries everything         */
static const double START = 0.3;          /* m/s, speed at the start                                     */
static const double AIR = 0.03;           /* share of the weight below which a foot is in the air        */

enum { PLACE = NM_FOOTING_PLACE, SPEED = NM_FOOTING_SPEED, FOOT = NM_FOOTING_FOOT, N = NM_FOOTING_STATES };

static struct vec3 level(struct vec3 v) { return (struct vec3){v.x, v.y, 0}; }

static void put_foot(struct nm_footing *f, int foot, struct vec3 sole)
{
    f->at[foot] = level(vec3_add(f->at[PLACE], sole));
    for (int k = 0; k < N; k++) f->variance[foot][k] = f->variance[PLACE][k];
    for (int k = 0; k < N; k++) f->variance[k][foot] = f->variance[k][PLACE];
    f->variance[foot][foot] += LEG * LEG;
}

void nm_footing_start(struct nm_footing *f, const struct nm_footing_sample *s, struct vec3 place)
{
    memset(f, 0, sizeof *f);
    f->at[PLACE] = level(place);
    f->variance[SPEED][SPEED] = START * START;
    f->acceleration = level(s->acceleration);
    for (int side = 0; side < 2; side++) put_foot(f, FOOT + side, s->sole[side]);
}

/* The acceleration between two samples is their mean. */
static void predict(struct nm_footing *f, struct vec3 acceleration, double dt)
{
    struct vec3 mean = vec3_scale(vec3_add(f->acceleration, acceleration), 0.5);
    struct vec3 middle = vec3_add(f->at[SPEED], vec3_scale(mean, dt / 2));
    double noise = ACCELEROMETER * ACCELEROMETER * dt;
    f->acceleration = acceleration;
    f->at[PLACE] = vec3_add(f->at[PLACE], vec3_scale(middle, dt));
    f->at[SPEED] = vec3_add(f->at[SPEED], vec3_scale(mean, dt));
    for (int k = 0; k < N; k++) f->variance[PLACE][k] += dt * f->variance[SPEED][k];
    for (int k = 0; k < N; k++) f->variance[k][PLACE] += dt * f->variance[k][SPEED];
    f->variance[SPEED][SPEED] += noise;
    f->variance[SPEED][PLACE] += noise * dt / 2;
    f->variance[PLACE][SPEED] += noise * dt / 2;
    f->variance[PLACE][PLACE] += noise * dt * dt / 4;
}

/* The legs say where a foothold is from the sensor. */
static void stand(struct nm_footing *f, int foot, struct vec3 sole, double dt)
{
    struct vec3 off = level(vec3_sub(sole, vec3_sub(f->at[foot], f->at[PLACE])));
    double to[N];
    for (int k = 0; k < N; k++) to[k] = f->variance[k][foot] - f->variance[k][PLACE];
    double sum = to[foot] - to[PLACE] + LEGS * LEGS / dt;
    for (int k = 0; k < N; k++) {
        f->at[k] = vec3_add(f->at[k], vec3_scale(off, to[k] / sum));
        for (int l = 0; l < N; l++) f->variance[k][l] -= to[k] * to[l] / sum;
    }
}

struct vec3 nm_footing_step(struct nm_footing *f, const struct nm_footing_sample *s)
{
    predict(f, level(s->acceleration), s->dt);
    for (int side = 0; side < 2; side++) {
        int foot = FOOT + side;
        double share = s->share[side], slips = SLIPS / fmax(share * share, AIR * AIR);
        bool air = share < AIR, lands = f->air[side];
        f->air[side] = air;
        if (air || lands) {
            put_foot(f, foot, s->sole[side]);
            continue;
        }
        f->at[foot] = vec3_add(f->at[foot], level(s->roll[side]));
        f->variance[foot][foot] += slips * slips * s->dt;
        stand(f, foot, s->sole[side], s->dt);
    }
    return f->at[PLACE];
}
