#include "base/tilt.h"

#include "base/clamp.h"

static const double LONGEST_GAP = 0.1; /* s, turning longer than this on one sample is a guess           */
static const double KEPT = 0.05;       /* s, weight of the smoothed values after a turn that was not felt */
static const double TURNED = 0.2;      /* rad, a change of gravity over a gap that is no push             */
static const double LAID = 0.6;        /* rad, a change that no push of a step makes                      */
static const double CALM = 0.2;        /* rad/s, a body that does not turn ...                            */
static const double GRAVITY = 9.81, NEAR = 1, LASTS = 0.15; /* m/s^2, m/s^2, s: ... and feels nothing but gravity  */
static const double REST_TAU = 0.5;    /* s, of the filters that tell rest, as in the paper               */
static const double SHAKE_TAU = 0.1;   /* s, over which the distance to them is judged                   */
static const double STEADY = 0.005;    /* rad/s, change of the gyroscope's reading that a rest may show  */
static const double WANDER_TIME = 100; /* s, that bias_wander speaks of                                   */
static const double VERTICAL = 1e4;    /* a bias about the vertical is forgotten this much more slowly    */

void nm_tilt_start(struct nm_tilt *tilt)
{
    *tilt = (struct nm_tilt){.gyro = QUAT_IDENTITY, .level = QUAT_IDENTITY, .ahead = QUAT_IDENTITY};
}

/* The rotation about w for dt; exact for a constant rate. */
static struct quat turn(struct vec3 w, double dt)
{
    double rate = vec3_norm(w), angle = rate * dt;
    if (rate < 1e-12) return QUAT_IDENTITY;
    return quat_axis(vec3_scale(w, 1 / rate), angle);
}

/* ---- second-order Butterworth low-pass ---- */

/* The poles are (-1 ± i) / tau, so a step of any length is a damped turn by dt / tau. Until the samples fill the time
 * constant, the filter is their plain mean. */
struct smoothing {
    double mean;     /* share of the new sample in the mean; 0: the mean is over */
    double cos, sin; /* damped, of the turn                                      */
};

static struct smoothing smoothing_of(double tau, double seen, double dt)
{
    if (seen <= tau) return (struct smoothing){.mean = fmin(dt / seen, 1)};
    double a = dt / tau, damped = exp(-a);
    return (struct smoothing){.cos = damped * cos(a), .sin = damped * sin(a)};
}

static double smooth(struct nm_smooth *f, const struct smoothing *s, double input)
{
    double away = f->value - input, speed = f->speed;
    if (s->mean > 0) {
        *f = (struct nm_smooth){.value = f->value - s->mean * away};
    } else {
        f->value = input + away * s->cos + (away + speed) * s->sin;
        f->speed = speed * s->cos - (2 * away + speed) * s->sin;
    }
    return f->value;
}

static struct vec3 smooth3(struct nm_smooth f[3], const struct smoothing *s, struct vec3 v)
{
    return (struct vec3){smooth(&f[0], s, v.x), smooth(&f[1], s, v.y), smooth(&f[2], s, v.z)};
}

/* ---- bias ---- */

/* One scalar measurement of the Kalman filter: row times bias is `value`, with this variance. */
static void measure_bias(struct nm_tilt *t, struct vec3 row, double value, double variance)
{
    struct vec3 spread = mat3_apply(&t->variance, row);
    struct vec3 gain = vec3_scale(spread, 1 / (vec3_dot(row, spread) + variance));
    t->bias = vec3_add(t->bias, vec3_scale(gain, value - vec3_dot(row, t->bias)));
    const double g[3] = {gain.x, gain.y, gain.z}, s[3] = {spread.x, spread.y, spread.z};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) t->variance.m[i][k] -= g[i] * s[k];
}

/* A variance for each sample with which the filter ends at `sigma`, against a wander of `wander` a sample. */
static double sample_variance(double sigma, double wander) { return sigma * sigma * (sigma * sigma / wander + 1); }

/* A measurement that disagrees by more than `most` shows something else than a bias: it counts as that much. */
static void measure_near(struct nm_tilt *t, struct vec3 row, struct vec3 before, double disagrees, double most,
                         double variance)
{
    measure_bias(t, row, vec3_dot(row, before) + nm_within(disagrees, most), variance);
}

/* tilted: by how much the frame was just straightened, in the world. The smoothed vector that it followed is late, and
 * so the rotation and the drift that the bias explains are made late in the same way before they are compared. */
static void learn_bias(struct nm_tilt *t, const struct nm_tilt_params *p, const struct smoothing *s, bool rest,
                       struct vec3 tilted, double dt)
{
    struct mat3 r = quat_to_mat3(quat_mul(t->level, t->gyro));
    struct vec3 before = t->bias, drifts = mat3_apply(&r, before);
    double drift_x = smooth(&t->drift[0], s, drifts.x), drift_y = smooth(&t->drift[1], s, drifts.y);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) r.m[i][k] = smooth(&t->rotation[i][k], s, r.m[i][k]);

    double wander = p->bias_wander * p->bias_wander * dt / WANDER_TIME, start = p->bias_start * p->bias_start;
    for (int i = 0; i < 3; i++)
        if (t->variance.m[i][i] < start) t->variance.m[i][i] += wander;

    if (rest) {
        const struct vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        double variance = sample_variance(p->bias_rest, wander);
        for (int i = 0; i < 3; i++)
            measure_near(t, axis[i], before, vec3_dot(axis[i], vec3_sub(t->reads, before)), p->max_bias, variance);
    } else if (p->bias_motion > 0 && t->seen >= p->tau) { /* before, it is the mean that moves */
        const struct vec3 row[3] = {
            {r.m[0][0], r.m[0][1], r.m[0][2]}, {r.m[1][0], r.m[1][1], r.m[1][2]}, {r.m[2][0], r.m[2][1], r.m[2][2]}};
        const double turns[2] = {drift_x - tilted.x / dt, drift_y - tilted.y / dt};
        double variance = sample_variance(p->bias_motion, wander);
        for (int i = 0; i < 2; i++)
            measure_near(t, row[i], before, turns[i] - vec3_dot(row[i], before), p->max_bias, variance);
        measure_near(t, row[2], before, -vec3_dot(row[2], before), p->max_bias, variance * VERTICAL);
    }
    t->bias = (struct vec3){nm_within(t->bias.x, p->max_bias), nm_within(t->bias.y, p->max_bias),
                            nm_within(t->bias.z, p->max_bias)};
}

static double square(struct vec3 v) { return vec3_dot(v, v); }

/* Rest: both sensors stay near to what they read just before, and the gyroscope reads no more than a bias. The paper
 * judges single samples; here the mean of their squares over a tenth of a second is judged, so that the noise of a
 * cheap sensor is no motion. Returns whether rest has lasted. */
static bool at_rest(struct nm_tilt *t, const struct nm_tilt_params *p, struct vec3 gyro, struct vec3 accel, double dt)
{
    struct smoothing s = smoothing_of(REST_TAU, t->seen, dt);
    struct vec3 g = smooth3(t->near_gyro, &s, gyro), a = smooth3(t->near_accel, &s, accel);
    double share = dt / (SHAKE_TAU + dt);
    t->shake_gyro += share * (square(vec3_sub(gyro, g)) - t->shake_gyro);
    t->shake_accel += share * (square(vec3_sub(accel, a)) - t->shake_accel);
    /* a body that sways slowly leaves the direction of gravity, or the rate, with which its rest began */
    bool sways = vec3_norm(vec3_sub(a, t->anchor)) > p->rest_sway ||
                 (t->still > REST_TAU && vec3_norm(vec3_sub(g, t->reads)) > STEADY);
    bool still = !sways && t->shake_gyro < p->rest_gyro * p->rest_gyro &&
                 t->shake_accel < p->rest_accel * p->rest_accel &&
                 fmax(fabs(g.x), fmax(fabs(g.y), fabs(g.z))) < p->max_bias;
    if (!still) t->anchor = a;
    t->still = still ? t->still + dt : 0;
    t->reads = still ? vec3_add(t->reads, vec3_scale(vec3_sub(gyro, t->reads), dt / t->still)) : gyro;
    return t->still >= p->rest_time;
}

/* Turns the gyroscope's frame about a horizontal axis until the smoothed accelerometer points up. Returns by how much,
 * in the world. */
static struct vec3 straighten(struct nm_tilt *t, struct vec3 accel_in_gyro)
{
    struct vec3 up = quat_apply(t->level, accel_in_gyro);
    double norm = vec3_norm(up);
    if (!(norm > 1e-3)) return (struct vec3){0, 0, 0};
    up = vec3_scale(up, 1 / norm);
    double w = sqrt(fmax(up.z + 1, 0) / 2);
    struct quat correction =
        w > 1e-6 ? (struct quat){w, 0.5 * up.y / w, -0.5 * up.x / w, 0} : (struct quat){0, 1, 0, 0};
    t->level = quat_normal(quat_mul(correction, t->level));
    return quat_log(correction);
}

/* Whether gravity is now far from where it was, seen from the body. */
static bool has_turned(const struct nm_tilt *t, struct vec3 accel, double far)
{
    struct vec3 was = {t->up[0].value, t->up[1].value, t->up[2].value}, is = quat_apply(t->gyro, accel);
    return !(vec3_dot(was, is) > cos(far) * vec3_norm(was) * vec3_norm(is));
}

/* Somebody laid the body down, or it hit the ground, faster than the gyroscope can follow: gravity has been elsewhere
 * for a while, and the body does not turn. */
static bool missed_turn(struct nm_tilt *t, struct vec3 gyro, struct vec3 accel, double dt)
{
    bool calm = vec3_norm(gyro) < CALM && fabs(vec3_norm(accel) - GRAVITY) < NEAR;
    t->elsewhere = calm && has_turned(t, accel, LAID) ? t->elsewhere + dt : 0;
    return t->elsewhere > LASTS;
}

void nm_tilt_step(struct nm_tilt *t, const struct nm_tilt_params *p, struct vec3 gyro, struct vec3 accel, double dt)
{
    if (!isfinite(gyro.x + gyro.y + gyro.z + accel.x + accel.y + accel.z) || !(dt > 0)) return;
    bool first = !(t->variance.m[0][0] > 0);
    if (fmax(fabs(gyro.x), fmax(fabs(gyro.y), fabs(gyro.z))) > p->max_rate) gyro = t->rate;
    if (first) {
        t->rate = gyro;
        for (int i = 0; i < 3; i++) t->variance.m[i][i] = p->bias_start * p->bias_start;
    }
    if (dt > LONGEST_GAP) {
        dt = LONGEST_GAP;
        t->still = 0;
        if (has_turned(t, accel, TURNED)) t->seen = fmin(t->seen, KEPT);
    }

    /* the mean of two rates is exact to second order, and puts both sensors at the same time */
    struct vec3 middle = vec3_scale(vec3_add(t->rate, gyro), 0.5);
    t->rate = gyro;
    t->gyro = quat_normal(quat_mul(t->gyro, turn(vec3_sub(middle, t->bias), dt)));
    if (vec3_norm(accel) <= p->max_norm) {
        t->seen += dt;
        if (missed_turn(t, gyro, accel, dt)) t->seen = fmin(t->seen, KEPT);
        struct smoothing s = smoothing_of(p->tau, t->seen, dt);
        bool rest = at_rest(t, p, gyro, accel, dt);
        struct vec3 tilted = straighten(t, smooth3(t->up, &s, quat_apply(t->gyro, accel)));
        learn_bias(t, p, &s, rest, tilted, dt);
    }
    t->ahead = quat_normal(quat_mul(quat_mul(t->level, t->gyro), turn(vec3_sub(gyro, t->bias), p->lag)));
}
