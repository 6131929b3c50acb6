#include "base/clamp.h"
#include "modules/motion/kick_path.h"

#include <string.h>

/* A pass is the same way with other numbers: the foot stays level, the trunk quiet. */
static struct kick_path_params as_struck(const struct kick_path_params *p, enum kick_surface surface)
{
    struct kick_path_params own = *p;
    if (surface == KICK_TOE_FIRST) return own;
#define X(name) own.name = p->pass_##name;
    KICK_PASS(X)
#undef X
    own.aim_oblique = 0;
    own.rising = own.toe_back = own.toe_hit = own.toe_through = own.off_toe = 0;
    own.turn_back = own.turn_hit = own.turn_through = own.arm_back = own.arm_through = 0;
    own.lean_back = own.lean_hit = own.lean_through = p->pass_lean;
    return own;
}

/* Where the inner side meets the ball: near the toe, where the leg reaches farthest, but so that the sole stays beside
 * the other foot or before it; as far as the side is straight. */
static struct vec3 inner_side(const struct kick_path *path, const struct kick_path_params *p,
                              const struct kick_start *s)
{
    static const double FIRST = 0.1, LAST = 0.95; /* shares of the way from ankle to toe */
    double c = cos(path->yaw), d = sin(path->yaw), across = -s->side * s->inner, along = LAST * s->toe.x;
    double x = s->ball_x - p->ball_radius * cos(path->direction) + d * across,
           y = s->ball_y - p->ball_radius * sin(path->direction) - c * across;
    if (s->side * (y - d * along) < p->pass_clear) along = fmin((x - p->pass_ahead) / fmax(c, 0.1), along);
    return (struct vec3){fmax(along, FIRST * s->toe.x), across, 0};
}

/* Sole of the kicking foot when it meets the ball. A toe is broad: near the other leg it is met beside its middle. */
static void meet_ball(struct kick_path *path, const struct kick_path_params *p, const struct kick_start *s,
                      double hit[2])
{
    struct vec3 part = s->surface == KICK_TOE_FIRST ? s->toe : inner_side(path, p, s);
    struct vec3 at = quat_apply(quat_rpy(0, p->toe_hit, path->yaw), part);
    hit[0] = s->ball_x - p->ball_radius * cos(path->direction) - at.x;
    hit[1] = s->ball_y - p->ball_radius * sin(path->direction) - at.y;
    path->ahead = hit[0];
    path->beside = s->side * hit[1];
    path->shifted = fmin(fmax(p->nearest - path->beside, 0), p->off_toe);
    path->beside += path->shifted;
    hit[1] = s->side * path->beside;
}

/* Swung back, the foot meets neither the standing leg nor the end of the hip's reach. */
static double beside_leg(struct kick_path *path, const struct kick_path_params *p, double y)
{
    double wanted = path->side * y, beside = fmin(fmax(wanted, p->nearest), p->widest);
    path->bent = fmax(beside - wanted, 0);
    return path->side * beside;
}

static void set_times(struct kick_path *path, const struct kick_path_params *p)
{
    const double lasts[KICK_KNOTS] = {
        [KICK_SHIFTED] = p->shift,        [KICK_LIFTED] = p->rise,  [KICK_BACK] = p->back_time, [KICK_HIT] = p->strike,
        [KICK_THROUGH] = p->through_time, [KICK_OVER] = p->retract, [KICK_DOWN] = p->lower,     [KICK_END] = p->settle};
    double t = 0;
    for (int k = 0; k < KICK_KNOTS; k++) path->t[k] = t += lasts[k];
}

static void set_foot(struct kick_path *path, const struct kick_path_params *p, const struct kick_start *s)
{
    static const enum kick_knot at_home[] = {KICK_BEGIN, KICK_SHIFTED, KICK_LIFTED, KICK_OVER, KICK_DOWN, KICK_END};
    double yaw = path->yaw, c = cos(path->direction), d = sin(path->direction), hit[2];
    meet_ball(path, p, s, hit);
    const struct {
        enum kick_knot knot;
        double along, height, toe;
    } swing[] = {{KICK_BACK, -p->back, p->back_height, p->toe_back},
                 {KICK_HIT, p->beyond, p->hit_height, p->toe_hit},
                 {KICK_THROUGH, p->beyond + p->through, p->through_height, p->toe_through}};
    for (size_t i = 0; i < sizeof at_home / sizeof *at_home; i++) {
        double *at = path->at[at_home[i]];
        at[KICK_X] = s->foot.x;
        at[KICK_Y] = s->foot.y;
        at[KICK_YAW] = s->foot.theta;
    }
    path->at[KICK_LIFTED][KICK_Z] = path->at[KICK_OVER][KICK_Z] = p->lift;
    for (size_t i = 0; i < sizeof swing / sizeof *swing; i++) {
        double *at = path->at[swing[i].knot];
        at[KICK_X] = hit[0] + c * swing[i].along;
        at[KICK_Y] = hit[1] + d * swing[i].along;
        if (swing[i].knot == KICK_BACK) at[KICK_Y] = beside_leg(path, p, at[KICK_Y]);
        at[KICK_Z] = swing[i].height;
        at[KICK_TOE] = swing[i].toe;
        at[KICK_YAW] = yaw;
    }
    double *fast = path->speed[KICK_HIT];
    fast[KICK_X] = c * p->speed;
    fast[KICK_Y] = d * p->speed;
    fast[KICK_Z] = p->rising;
}

static void set_trunk(struct kick_path *path, const struct kick_path_params *p, const struct kick_start *s)
{
    const double lean[KICK_KNOTS] = {s->lean,         p->lean, p->lean, p->lean_back, p->lean_hit,
                                     p->lean_through, p->lean, p->lean, s->lean};
    /* the kicking hip goes forwards where the trunk turns away from that side */
    const double turn[KICK_KNOTS] = {0, 0, 0, p->turn_back, p->turn_hit, p->turn_through, 0, 0, 0};
    const double arms[KICK_KNOTS] = {0, 0, 0, p->arm_back, 0.5 * (p->arm_back + p->arm_through), p->arm_through,
                                     0, 0, 0};
    for (int k = 0; k < KICK_KNOTS; k++) {
        bool stands = k == KICK_BEGIN || k == KICK_END;
        path->at[k][KICK_HIPS] = stands ? s->hips : p->stretch * s->leg + s->over_leg;
        path->at[k][KICK_ROLL] = stands ? s->roll : s->side * p->side_lean;
        path->at[k][KICK_LEAN] = lean[k];
        path->at[k][KICK_TURN] = s->turn - s->side * turn[k];
        if (k >= KICK_BACK && k <= KICK_THROUGH) path->at[k][KICK_TURN] += p->turn_along * (path->yaw - s->turn);
        path->at[k][KICK_ARMS] = arms[k];
    }
    /* these swing through the hit as the foot does: the slope of the chord from back to through */
    static const enum kick_track through[] = {KICK_TOE, KICK_LEAN, KICK_TURN, KICK_ARMS};
    double span = path->t[KICK_THROUGH] - path->t[KICK_BACK];
    for (size_t i = 0; i < sizeof through / sizeof *through; i++) {
        enum kick_track a = through[i];
        path->speed[KICK_HIT][a] = (path->at[KICK_THROUGH][a] - path->at[KICK_BACK][a]) / span;
    }
}

/* Quintic from (a, va) to (b, vb) over the time T with no acceleration at its ends; u from 0 to 1. */
static double quintic(double a, double va, double b, double vb, double T, double u, double *speed)
{
    double way = b - a, p = va * T, q = vb * T;
    double c3 = 10 * way - 6 * p - 4 * q, c4 = -15 * way + 8 * p + 7 * q, c5 = 6 * way - 3 * (p + q);
    if (speed) *speed = (p + u * u * (3 * c3 + u * (4 * c4 + u * 5 * c5))) / T;
    return a + u * (p + u * u * (c3 + u * (c4 + u * c5)));
}

void kick_path_at(const struct kick_path *path, double t, double at[KICK_TRACKS], double speed[KICK_TRACKS])
{
    t = fmin(fmax(t, 0), kick_path_time(path));
    int k = 0;
    while (k < KICK_KNOTS - 2 && t >= path->t[k + 1]) k++;
    double T = path->t[k + 1] - path->t[k], u = (t - path->t[k]) / T;
    for (int i = 0; i < KICK_TRACKS; i++)
        at[i] = quintic(path->at[k][i], path->speed[k][i], path->at[k + 1][i], path->speed[k + 1][i], T, u,
                        speed ? &speed[i] : NULL);
}

/* On the way from back to hit, the moment when `beyond` is still to go. */
static void find_contact(struct kick_path *path, double beyond)
{
    const double *hit = path->at[KICK_HIT];
    double low = path->t[KICK_BACK], high = path->t[KICK_HIT], c = cos(path->direction), s = sin(path->direction);
    for (int i = 0; i < 40; i++) {
        double at[KICK_TRACKS], t = 0.5 * (low + high);
        kick_path_at(path, t, at, NULL);
        bool still_before = c * (hit[KICK_X] - at[KICK_X]) + s * (hit[KICK_Y] - at[KICK_Y]) > beyond;
        *(still_before ? &low : &high) = t;
    }
    path->contact = high;
}

/* What is aimed inwards besides the direction asked for, since robots turn while they kick and balls curve; how much
 * was seen in simulated kicks. Beyond what was tried it grows no more. */
static double aim(const struct kick_path_params *p, const struct kick_start *s)
{
    double tried = 0.2 * s->leg, oblique = nm_within(s->side * s->direction, M_PI / 4);
    double aside = s->surface == KICK_PASS_INWARDS ? fmax(-s->side * s->direction - M_PI / 3, 0) : 0;
    double outside = nm_within(s->side * (s->ball_y - s->foot.y) - p->best_beside, tried);
    double nearer = nm_within(s->toe.x + p->ball_radius + p->best_ahead - s->ball_x, tried);
    return p->aim + p->aim_oblique * sin(4 * oblique) + p->aim_beside * outside + p->aim_near * nearer -
           p->pass_aim_aside * aside;
}

static void set_course(struct kick_path *path, const struct kick_path_params *p, const struct kick_start *s)
{
    memset(path, 0, sizeof *path);
    path->side = s->side;
    path->direction = s->direction - s->side * aim(p, s);
    path->yaw = path->direction + (s->surface == KICK_TOE_FIRST ? 0 : s->side * M_PI / 2);
}

void kick_path_meet(struct kick_path *path, const struct kick_path_params *all, const struct kick_start *s)
{
    struct kick_path_params p = as_struck(all, s->surface);
    double hit[2];
    set_course(path, &p, s);
    meet_ball(path, &p, s, hit);
    beside_leg(path, &p, hit[1] - p.back * sin(path->direction));
}

void kick_path_make(struct kick_path *path, const struct kick_path_params *all, const struct kick_start *s)
{
    struct kick_path_params p = as_struck(all, s->surface);
    set_course(path, &p, s);
    set_times(path, &p);
    set_foot(path, &p, s);
    set_trunk(path, &p, s);
    find_contact(path, p.beyond);
}
