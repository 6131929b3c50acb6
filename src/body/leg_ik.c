#include "body/leg_ik.h"

#include <string.h>

struct angle {
    double c, s;
};

/* Vectors travel in registers only where the call is gone; that is a fifth of the closed answer's time. */
#define FAST static inline __attribute__((always_inline))

/* The point with the least squared distance to n lines. False if they are nearly parallel. */
static bool meeting_point(const struct vec3 *axis, const struct vec3 *point, int n, struct vec3 *at, double *miss)
{
    struct mat3 a = {{{0}}};
    double b[3] = {0};
    for (int i = 0; i < n; i++) {
        const double d[3] = {axis[i].x, axis[i].y, axis[i].z}, p[3] = {point[i].x, point[i].y, point[i].z};
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) {
                double k = (r == c) - d[r] * d[c];
                a.m[r][c] += k;
                b[r] += k * p[c];
            }
    }
    struct vec3 x = {a.m[0][0], a.m[0][1], a.m[0][2]}, y = {a.m[1][0], a.m[1][1], a.m[1][2]},
                z = {a.m[2][0], a.m[2][1], a.m[2][2]};
    double det = vec3_dot(x, vec3_cross(y, z));
    if (!(det > 1e-3)) return false;
    /* a is symmetric: its inverse has the cross products as rows */
    struct vec3 yz = vec3_cross(y, z), zx = vec3_cross(z, x), xy = vec3_cross(x, y), v = {b[0], b[1], b[2]};
    *at = (struct vec3){vec3_dot(yz, v) / det, vec3_dot(zx, v) / det, vec3_dot(xy, v) / det};
    for (int i = 0; i < n; i++) *miss = fmax(*miss, vec3_norm(vec3_cross(axis[i], vec3_sub(*at, point[i]))));
    return true;
}

/* u . R(q) v as a0 + a1 cos q + a2 sin q, for the turn about an axis */
FAST void wave(struct vec3 axis, struct vec3 u, struct vec3 v, double a[3])
{
    a[0] = vec3_dot(axis, u) * vec3_dot(axis, v);
    a[1] = vec3_dot(u, v) - a[0];
    a[2] = vec3_dot(u, vec3_cross(axis, v));
}

/* Which axes meet? Files with rounded angles miss by micrometres; that is polished away after the search. */
static enum nm_leg_method pick_method(struct nm_leg *leg)
{
    const struct nm_chain *c = &leg->chain;
    double hip = 0, pair = 0, ankle = 0;
    struct vec3 at;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->follows[i] >= 0) return NM_LEG_NUMERIC;
    if (c->n != 6 || leg->pitch[1] != 3 || !meeting_point(c->axis + 4, c->point + 4, 2, &leg->ankle, &ankle))
        return NM_LEG_NUMERIC;
    if (meeting_point(c->axis, c->point, 3, &leg->hip, &hip) && fmax(hip, ankle) < 1e-12) return NM_LEG_CLOSED;
    leg->miss = fmax(hip, ankle);
    if (!meeting_point(c->axis + 1, c->point + 1, 2, &at, &pair) || !(fmax(pair, ankle) < 1e-5)) return NM_LEG_NUMERIC;
    leg->hip = at;
    return NM_LEG_SCANNED;
}

static void prepare(struct nm_leg *leg)
{
    struct nm_chain *c = &leg->chain;
    leg->method = pick_method(leg);
    leg->home_inv = pose_inv(c->home);
    for (uint32_t i = 0; i < c->n && i < 6; i++) {
        double middle = isfinite(c->lower[i] + c->upper[i]) ? (c->lower[i] + c->upper[i]) / 2 : 0;
        leg->mid_cos[i] = cos(middle);
        leg->mid_sin[i] = sin(middle);
    }
    if (leg->method == NM_LEG_NUMERIC) {
        leg->hip = c->point[leg->pitch[0]];
        leg->ankle = c->point[leg->pitch[2]];
        return;
    }
    leg->knee_to_hip = vec3_sub(leg->hip, c->point[3]);
    leg->knee_to_ankle = vec3_sub(leg->ankle, c->point[3]);
    leg->square_sum = vec3_dot(leg->knee_to_hip, leg->knee_to_hip) + vec3_dot(leg->knee_to_ankle, leg->knee_to_ankle);
    wave(c->axis[3], leg->knee_to_hip, leg->knee_to_ankle, leg->knee);
    wave(c->axis[1], c->axis[0], c->axis[2], leg->roll);
    struct vec3 other = fabs(c->axis[2].x) < 0.7 ? (struct vec3){1, 0, 0} : (struct vec3){0, 0, 1};
    leg->across = vec3_cross(c->axis[2], other);
    leg->across = vec3_scale(leg->across, 1 / vec3_norm(leg->across));
    leg->beside = vec3_cross(c->axis[2], leg->across);
    for (int i = 0; i < 2; i++) leg->same[i] = vec3_dot(c->axis[2], c->axis[3 + i]) < 0 ? -1 : 1;
    leg->planar =
        vec3_norm(vec3_cross(c->axis[2], c->axis[3])) < 1e-14 && vec3_norm(vec3_cross(c->axis[2], c->axis[4])) < 1e-14;
}

static const double PITCHES = 0.8;  /* along y: an axis about which a leg bends                               */
static const double FARTHEST = 2.6; /* rad from zero: no hip and no ankle turns farther, whatever its file says */
static const double OPEN = 0.6;     /* rad: a knee that bends this far to both sides may bend to either         */
static const double OTHER_WAY = 0.05;

/* Hip, knee and ankle are the last three joints that turn about y. A body that faces elsewhere was turned before. */
static int find_pitches(struct nm_leg *leg, const struct nm_body *body, struct nm_err *err)
{
    uint32_t n = 0, *pitch = leg->pitch;
    for (uint32_t i = 0; i < leg->chain.n; i++) {
        if (fabs(leg->chain.axis[i].y) <= PITCHES || leg->chain.follows[i] >= 0) continue;
        pitch[0] = pitch[1];
        pitch[1] = pitch[2];
        pitch[2] = i;
        n++;
    }
    if (n < 3)
        return nm_fail(err, "%s: a leg bends in %u joints; hip, knee and ankle must each turn about y", body->name, n);
    return 0;
}

/* Bending moves the ankle backwards where the knee is a human's. Endless limits elsewhere would let a leg wind up. */
static void narrow_limits(struct nm_leg *leg)
{
    struct nm_chain *c = &leg->chain;
    uint32_t knee = leg->pitch[1];
    double human = c->axis[knee].y > 0 ? 1 : -1; /* a turn about +y takes what hangs down backwards */
    double there = human > 0 ? c->upper[knee] : -c->lower[knee], back = human > 0 ? -c->lower[knee] : c->upper[knee];
    leg->by_limits = !(there > OPEN && back > OPEN);
    leg->backwards = leg->by_limits && back > there;
    leg->bend = leg->backwards ? -human : human;
    for (uint32_t i = 0; i < c->n; i++) {
        c->lower[i] = fmax(c->lower[i], -FARTHEST);
        c->upper[i] = fmin(c->upper[i], FARTHEST);
    }
    if (leg->by_limits) return;
    if (leg->bend > 0)
        c->lower[knee] = -OTHER_WAY;
    else
        c->upper[knee] = OTHER_WAY;
}

/* A foot needs two rolls, three pitches and a yaw; about what is missing it is as the rest puts it. */
static void release(struct nm_leg *leg)
{
    const struct nm_chain *c = &leg->chain;
    uint32_t rolls = 0, yaws = 0, joints = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->follows[i] >= 0) continue;
        joints++;
        rolls += fabs(c->axis[i].x) > fmax(fabs(c->axis[i].y), fabs(c->axis[i].z));
        yaws += fabs(c->axis[i].z) >= 0.5;
    }
    if (joints >= 6) return;
    if (!yaws) leg->chain.released |= 4;
    if (rolls < 2) leg->chain.released |= 1;
    if (!leg->chain.released) leg->chain.released = 2;
}

int nm_leg_init(struct nm_leg *leg, const struct nm_body *body, enum nm_side side, struct nm_err *err)
{
    *leg = (struct nm_leg){.coupled = -1};
    if (nm_chain_init(&leg->chain, body, &body->leg[side], err) || find_pitches(leg, body, err)) return -1;
    narrow_limits(leg);
    release(leg);
    prepare(leg);
    for (uint32_t i = 0; i < leg->chain.n; i++) {
        const struct nm_joint *mine = &body->joints[leg->chain.joints[i]];
        for (uint32_t k = 0; k < body->leg[!side].n; k++) {
            const struct nm_joint *other = &body->joints[body->leg[!side].joints[k]];
            const struct nm_joint *follows = mine->mimic == (int32_t)body->leg[!side].joints[k] ? mine
                                             : other->mimic == (int32_t)leg->chain.joints[i]    ? other
                                                                                                : NULL;
            if (!follows || follows->multiplier == 0) continue;
            bool right_follows = (follows == mine) == (side == NM_RIGHT);
            leg->coupled = (int32_t)i;
            leg->multiplier = right_follows ? follows->multiplier : 1 / follows->multiplier;
            leg->offset = right_follows ? follows->offset : -follows->offset / follows->multiplier;
        }
    }
    return 0;
}

/* a1 cos q + a2 sin q = v has two solutions; the one nearer to the middle of the joint's limits is taken. False if it
 * has none: then the one that comes nearest. */
FAST bool wave_angle(const double a[3], double v, double mid_cos, double mid_sin, struct angle *q)
{
    double square = a[1] * a[1] + a[2] * a[2];
    if (!(square > 1e-24)) { /* the joint does not matter here */
        *q = (struct angle){mid_cos, mid_sin};
        return fabs(v) < 1e-12;
    }
    double scale = 1 / square, left = square - v * v;
    bool solvable = left >= -1e-12 * square;
    double root = left > 0 ? sqrt(left) : 0;
    if (!solvable) v = copysign(sqrt(square), v);
    /* the two differ in the sign of the root; cos(q - middle) is greater for the sign of this term */
    if (mid_sin * a[1] - mid_cos * a[2] < 0) root = -root;
    *q = (struct angle){(a[1] * v - a[2] * root) * scale, (a[2] * v + a[1] * root) * scale};
    return solvable;
}

/* The turn about an axis that takes u to v, as far as a turn about that axis can. */
FAST struct angle between(struct vec3 axis, struct vec3 u, struct vec3 v)
{
    double s = vec3_dot(axis, vec3_cross(u, v)), c = vec3_dot(u, v) - vec3_dot(axis, u) * vec3_dot(axis, v);
    double square = c * c + s * s;
    if (!(square > 1e-30)) return (struct angle){1, 0};
    double scale = 1 / sqrt(square);
    return (struct angle){c * scale, s * scale};
}

/* Of the two answers that knee, ankle and hip each have, the one nearer to the middle of the limits is taken; a bit of
 * `branch` takes the other. */
enum { OTHER_KNEE = 1, OTHER_ANKLE = 2, OTHER_HIP = 4, BRANCHES = 8 };

/* With G = e1 e2 e3 e4 e5 e6 the motion from zero to the target, the hip being one point:
 *   knee   |G ankle - hip| depends on it alone
 *   ankle  e5 e6 takes G^-1 hip, seen from the ankle, to where the bent knee puts the hip
 * What remains for the hip is the rotation of G less these three; `third` and `across` come out turned by it. False if
 * a triangle could not be closed, and then the joints are those that come nearest. */
FAST bool knee_and_ankle(const struct nm_leg *leg, const struct mat3 *g, struct vec3 shift, uint32_t branch,
                         struct angle x[6], struct vec3 *third, struct vec3 *across)
{
    const struct vec3 *axis = leg->chain.axis;
    double k = branch & OTHER_KNEE ? -1 : 1, a = branch & OTHER_ANKLE ? -1 : 1, roll[3];

    struct vec3 span = vec3_sub(vec3_add(mat3_apply(g, leg->ankle), shift), leg->hip);
    double v = (leg->square_sum - vec3_dot(span, span)) / 2 - leg->knee[0];
    bool ok = wave_angle(leg->knee, v, k * leg->mid_cos[3], k * leg->mid_sin[3], &x[3]);

    struct vec3 seen = vec3_sub(mat3_apply_inv(g, vec3_sub(leg->hip, shift)), leg->ankle);
    struct vec3 bent = vec3_sub(nm_turn(axis[3], x[3].c, -x[3].s, leg->knee_to_hip), leg->knee_to_ankle);
    wave(axis[5], axis[4], seen, roll);
    ok &= wave_angle(roll, vec3_dot(axis[4], bent) - roll[0], a * leg->mid_cos[5], a * leg->mid_sin[5], &x[5]);
    x[4] = between(axis[4], nm_turn(axis[5], x[5].c, x[5].s, seen), bent);

    *third = axis[2];
    *across = leg->across;
    if (leg->planar) { /* the usual leg: knee and ankle pitch turn about the hip's third axis and add up */
        double s3 = leg->same[0] * x[3].s, s4 = leg->same[1] * x[4].s;
        double c = x[3].c * x[4].c - s3 * s4, sn = s3 * x[4].c + x[3].c * s4;
        *across = vec3_sub(vec3_scale(leg->across, c), vec3_scale(leg->beside, sn));
    } else {
        for (int i = 3; i < 5; i++) {
            *third = nm_turn(axis[i], x[i].c, -x[i].s, *third);
            *across = nm_turn(axis[i], x[i].c, -x[i].s, *across);
        }
    }
    *third = mat3_apply(g, nm_turn(axis[5], x[5].c, -x[5].s, *third));
    *across = mat3_apply(g, nm_turn(axis[5], x[5].c, -x[5].s, *across));
    return ok;
}

/* The closed answer: knee and ankle, and the rest split into three turns about the hip's axes. */
static bool closed_form(const struct nm_leg *leg, struct pose3 target, uint32_t branch, double q[6])
{
    const struct vec3 *axis = leg->chain.axis;
    struct mat3 g = quat_to_mat3(quat_mul(target.rot, leg->home_inv.rot));
    struct vec3 shift = pose_apply(target, leg->home_inv.pos), third, across;
    double h = branch & OTHER_HIP ? -1 : 1;
    struct angle x[6];
    bool ok = knee_and_ankle(leg, &g, shift, branch, x, &third, &across);
    double v = vec3_dot(axis[0], third) - leg->roll[0];
    ok &= wave_angle(leg->roll, v, h * leg->mid_cos[1], h * leg->mid_sin[1], &x[1]);
    x[0] = between(axis[0], nm_turn(axis[1], x[1].c, x[1].s, axis[2]), third);
    across = nm_turn(axis[0], x[0].c, -x[0].s, across);
    across = nm_turn(axis[1], x[1].c, -x[1].s, across);
    x[2] = between(axis[2], leg->across, across);
    for (int i = 0; i < 6; i++) q[i] = atan2(x[i].s, x[i].c);
    return ok;
}

/* The leg with its first joint given: the other five, and what is left over because two turns of the hip cannot make
 * every rotation. That is zero where the first joint is right; where a triangle cannot be closed it goes on smoothly.
 */
static double left_over(const struct nm_leg *leg, struct pose3 target, uint32_t branch, double first, double q[6])
{
    const struct vec3 *axis = leg->chain.axis;
    struct quat back = quat_axis(axis[0], -first);
    struct vec3 at = leg->chain.point[0], third, across;
    struct pose3 g = pose_mul(target, leg->home_inv);
    struct mat3 turn = quat_to_mat3(quat_mul(back, g.rot));
    struct angle x[6];
    knee_and_ankle(leg, &turn, vec3_add(at, quat_apply(back, vec3_sub(g.pos, at))), branch, x, &third, &across);
    x[1] = between(axis[1], axis[2], third);
    x[2] = between(axis[2], leg->across, nm_turn(axis[1], x[1].c, -x[1].s, across));
    q[0] = first;
    for (int i = 1; i < 6; i++) q[i] = atan2(x[i].s, x[i].c);
    return vec3_dot(axis[1], third) - vec3_dot(axis[1], axis[2]);
}

/* Full turns away from the limits do not matter; a rounding error beyond one is taken back. */
FAST bool within_limits(const struct nm_chain *c, double q[])
{
    bool ok = true;
    for (uint32_t i = 0; i < c->n; i++) {
        if (q[i] >= c->lower[i] && q[i] <= c->upper[i]) continue;
        if (q[i] < c->lower[i] - 1e-9 && q[i] + 2 * M_PI <= c->upper[i] + 1e-9) q[i] += 2 * M_PI;
        if (q[i] > c->upper[i] + 1e-9 && q[i] - 2 * M_PI >= c->lower[i] - 1e-9) q[i] -= 2 * M_PI;
        ok &= q[i] >= c->lower[i] - 1e-9 && q[i] <= c->upper[i] + 1e-9;
        q[i] = fmin(fmax(q[i], c->lower[i]), c->upper[i]);
    }
    return ok;
}

static double total(const struct nm_ik_error *e)
{
    return e->distance * e->distance + NM_IK_ARM * NM_IK_ARM * e->angle * e->angle;
}

/* Numeric from a start; where that ends nearer to the target than what q holds, it takes its place. */
static enum nm_reach try_from(const struct nm_leg *leg, struct pose3 target, uint32_t held, const double start[],
                              double q[], struct nm_ik_error *best)
{
    double at[NM_GROUP];
    struct nm_ik_error error;
    memcpy(at, start, leg->chain.n * sizeof *at);
    enum nm_reach reach = nm_chain_ik(&leg->chain, target, held, at, &error);
    if (!(total(&error) < total(best))) return NM_NEAREST;
    memcpy(q, at, leg->chain.n * sizeof *q);
    *best = error;
    return reach;
}

struct nm_leg_joint nm_leg_joint(const struct nm_leg *leg, bool ankle, bool pitch)
{
    const struct nm_chain *chain = &leg->chain;
    struct nm_leg_joint best = {0, 0};
    double most = 0.5;
    for (uint32_t i = ankle ? leg->pitch[1] + 1 : 0; i < (ankle ? chain->n : leg->pitch[1]); i++) {
        double along = pitch ? chain->axis[i].y : chain->axis[i].x;
        if (fabs(along) <= most) continue;
        most = fabs(along);
        best = (struct nm_leg_joint){i, along > 0 ? 1 : -1};
    }
    return best;
}

void nm_leg_crouch(const struct nm_leg *leg, double q[])
{
    for (uint32_t i = 0; i < leg->chain.n; i++) {
        double low = leg->chain.lower[i], high = leg->chain.upper[i];
        q[i] = low > 0 || high < 0 ? (low + high) / 2 : 0;
        if (i == leg->pitch[1]) q[i] = leg->bend > 0 ? low + (high - low) / 3 : high - (high - low) / 3;
    }
}

/* Between two angles of the first joint at which the rest has opposite signs: regula falsi, Illinois' way. */
static void narrow(const struct nm_leg *leg, struct pose3 target, uint32_t branch, double a, double fa, double b,
                   double fb, double q[6])
{
    for (int i = 0; i < 60 && fabs(b - a) > 1e-15; i++) {
        double c = (fa * b - fb * a) / (fa - fb), f = left_over(leg, target, branch, c, q);
        if (!isfinite(f) || f == 0) return;
        if (f * fb < 0) {
            a = b, fa = fb;
        } else {
            fa /= 2;
        }
        b = c, fb = f;
    }
}

/* Looks at the first joint's whole range in steps, for each way to bend knee and ankle; every change of sign is an
 * answer, if its limits allow. */
static enum nm_reach scan(const struct nm_leg *leg, struct pose3 target, double q[], struct nm_ik_error *best)
{
    enum { STEPS = 32 };
    double low = fmax(leg->chain.lower[0], -M_PI), high = fmin(leg->chain.upper[0], M_PI);
    double at[NM_GROUP] = {0}, nearest[NM_GROUP], least = INFINITY;
    nm_leg_crouch(leg, nearest);
    for (uint32_t branch = 0; branch < OTHER_HIP; branch++) {
        double before = NAN, there = low;
        for (int i = 0; i <= STEPS; i++) {
            double here = low + (high - low) * i / STEPS, rest = left_over(leg, target, branch, here, at);
            if (rest * before <= 0) {
                narrow(leg, target, branch, there, before, here, rest, at);
                if (within_limits(&leg->chain, at) && try_from(leg, target, 0, at, q, best) == NM_REACHED)
                    return NM_REACHED;
            } else if (fabs(rest) < least) {
                least = fabs(rest);
                memcpy(nearest, at, sizeof nearest);
            }
            before = rest, there = here;
        }
    }
    within_limits(&leg->chain, nearest);
    return try_from(leg, target, 0, nearest, q, best);
}

/* One step of a motion away: then the answer should be the neighbour of the last one. */
static bool is_near(const struct nm_leg *leg, struct pose3 target, const double q[])
{
    struct pose3 pose = nm_chain_forward(&leg->chain, q);
    double distance = vec3_norm(vec3_sub(pose.pos, target.pos)), angle = quat_angle(pose.rot, target.rot);
    return distance < 0.03 && angle < 0.3; /* false for joints that are no numbers */
}

/* Where there is no closed answer: from what comes nearest, and from a crouch. */
static enum nm_reach search(const struct nm_leg *leg, struct pose3 target, double q[], struct nm_ik_error *error)
{
    struct nm_ik_error best = {INFINITY, 0};
    double start[NM_GROUP], given[NM_GROUP];
    enum nm_reach reach;
    memcpy(given, q, leg->chain.n * sizeof *q);
    nm_leg_crouch(leg, start);
    memcpy(q, start, leg->chain.n * sizeof *q);
    if (leg->method == NM_LEG_CLOSED) {
        closed_form(leg, target, 0, given);
        within_limits(&leg->chain, given);
    }
    bool warm = leg->method != NM_LEG_SCANNED || is_near(leg, target, given);
    reach = warm ? try_from(leg, target, 0, given, q, &best) : NM_NEAREST;
    if (reach != NM_REACHED && leg->method == NM_LEG_SCANNED) reach = scan(leg, target, q, &best);
    if (reach != NM_REACHED) reach = try_from(leg, target, 0, start, q, &best);
    if (error) *error = best;
    return reach;
}

enum nm_reach nm_leg_ik(const struct nm_leg *leg, struct pose3 target, double q[], struct nm_ik_error *error)
{
    for (uint32_t branch = 0; leg->method == NM_LEG_CLOSED && branch < BRANCHES; branch++) {
        double at[6];
        if (!closed_form(leg, target, branch, at) || !within_limits(&leg->chain, at)) continue;
        memcpy(q, at, sizeof at);
        if (error) *error = (struct nm_ik_error){0, 0};
        return NM_REACHED;
    }
    return search(leg, target, q, error);
}

enum nm_reach nm_legs_ik(const struct nm_leg leg[2], const struct pose3 sole_to_base[2], enum nm_side leading,
                         double q[2][NM_GROUP], struct nm_ik_error error[2])
{
    enum nm_side other = leading == NM_LEFT ? NM_RIGHT : NM_LEFT;
    enum nm_reach first = nm_leg_ik(&leg[leading], sole_to_base[leading], q[leading], &error[leading]);
    enum nm_reach second = nm_leg_ik(&leg[other], sole_to_base[other], q[other], &error[other]);
    int32_t mine = leg[leading].coupled, its = leg[other].coupled;
    if (mine >= 0 && its >= 0) {
        double shared = q[leading][mine];
        double value = leading == NM_LEFT ? leg[other].multiplier * shared + leg[other].offset
                                          : (shared - leg[other].offset) / leg[other].multiplier;
        double start[NM_GROUP];
        struct nm_ik_error best = {INFINITY, 0};
        q[other][its] = value;
        second = try_from(&leg[other], sole_to_base[other], 1u << its, q[other], q[other], &best);
        nm_leg_crouch(&leg[other], start);
        start[its] = value;
        if (second != NM_REACHED)
            second = try_from(&leg[other], sole_to_base[other], 1u << its, start, q[other], &best);
        error[other] = best;
    }
    return first == NM_REACHED && second == NM_REACHED ? NM_REACHED : NM_NEAREST;
}
