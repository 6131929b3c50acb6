#include "modules/motion/kick_choose.h"

#include <stdio.h>
#include <string.h>

/* ---- how it stands ---- */

static struct pose2 flat(struct pose3 p) { return (struct pose2){p.pos.x, p.pos.y, quat_yaw(p.rot)}; }

/* m from a sole towards the other foot, up to where its boxes end; of a foot without boxes up to its cells. */
static double inner_edge(const struct nm_body *body, const struct nm_kin *zero, int side)
{
    const struct nm_foot *foot = &body->foot[side];
    double towards = side == NM_LEFT ? -1 : 1, most = 0;
    struct pose3 link_to_sole = pose_inv(body->frames[foot->sole].to_link);
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *shape = &body->collisions[i];
        if (shape->link != body->frames[foot->sole].link || shape->kind != NM_BOX) continue;
        struct pose3 to_sole = pose_mul(link_to_sole, shape->to_link);
        struct vec3 half = vec3_scale(shape->size, 0.5);
        struct vec3 across = quat_apply(quat_inv(to_sole.rot), (struct vec3){0, 1, 0});
        double reach = fabs(across.x) * half.x + fabs(across.y) * half.y + fabs(across.z) * half.z;
        most = fmax(most, towards * to_sole.pos.y + reach);
    }
    for (uint32_t i = 0; i < foot->n_cells; i++)
        most = fmax(most, towards * nm_frame_to_frame(zero, foot->cells[i], foot->sole).pos.y);
    return most;
}

struct kick_stand kick_stand_of(const struct nm_body *body, const double q[])
{
    struct kick_stand stand;
    struct nm_kin kin, zero;
    const double straight[NM_JOINTS] = {0};
    memcpy(stand.q, q, body->n_joints * sizeof *q);
    nm_forward(body, POSE_IDENTITY, q, &kin);
    nm_forward(body, POSE_IDENTITY, straight, &zero);
    for (int side = 0; side < 2; side++) {
        const struct nm_foot *foot = &body->foot[side];
        struct pose3 sole_inv = pose_inv(kin.pose[foot->sole]);
        struct pose3 other = pose_mul(sole_inv, kin.pose[body->foot[!side].sole]);
        stand.torso_to_sole[side] = sole_inv;
        stand.other[side] = flat(other);
        stand.robot[side] = (struct pose2){other.pos.x / 2, other.pos.y / 2, quat_yaw(sole_inv.rot)};
        stand.toe[side] = (struct vec3){0, 0, 0};
        if (foot->toe >= 0) stand.toe[side] = nm_frame_to_frame(&zero, (uint32_t)foot->toe, foot->sole).pos;
        stand.inner[side] = inner_edge(body, &zero, side);
        stand.straight[side] = -zero.pose[foot->sole].pos.z;
        struct nm_leg leg;
        if (nm_leg_init(&leg, body, (enum nm_side)side, NULL)) continue;
        const struct vec3 *at = leg.chain.point;
        stand.leg[side] = vec3_norm(vec3_sub(at[leg.pitch[0]], at[leg.pitch[1]])) +
                          vec3_norm(vec3_sub(at[leg.pitch[1]], at[leg.pitch[2]]));
    }
    return stand;
}

struct kick_start kick_start_of(const struct kick_stand *s, struct kick_choice choice, const struct kick_want *want)
{
    enum nm_side support = choice.support;
    struct pose2 ball = pose2_mul(s->robot[support], (struct pose2){want->ball_x, want->ball_y, want->direction});
    struct pose3 torso = s->torso_to_sole[support];
    struct vec3 up = quat_apply(quat_inv(torso.rot), (struct vec3){0, 0, 1});
    return (struct kick_start){.surface = choice.surface,
                               .side = support == NM_LEFT ? -1 : 1,
                               .toe = s->toe[!support],
                               .inner = s->inner[!support],
                               .leg = s->leg[support],
                               .over_leg = s->straight[support] - s->leg[support],
                               .foot = s->other[support],
                               .hips = torso.pos.z,
                               .roll = atan2(up.y, up.z),
                               .lean = atan2(-up.x, hypot(up.y, up.z)),
                               .turn = quat_yaw(torso.rot),
                               .ball_x = ball.x,
                               .ball_y = ball.y,
                               .direction = ball.theta};
}

void kick_best_place(const struct kick_path_params *p, const struct kick_stand *stand, enum nm_side foot, double xy[2])
{
    struct pose2 to_robot = pose2_mul(pose2_inv(stand->robot[!foot]), stand->other[!foot]); /* of the foot that kicks */
    double out = foot == NM_LEFT ? 1 : -1;
    xy[0] = to_robot.x + stand->toe[foot].x + p->ball_radius + p->best_ahead;
    xy[1] = to_robot.y + out * p->best_beside;
}

/* ---- what reaches ---- */

enum unit { CM, DEGREES };

struct reach { /* of one part of the foot */
    double near, far, inner, outer, reach, least, most, across;
};

static struct reach reach_of(const struct kick_reach_params *p, enum kick_surface surface)
{
    if (surface == KICK_TOE_FIRST)
        return (struct reach){p->near, p->far, p->inner, p->outer, p->reach, -p->outwards, p->inwards, p->bend};
    return (struct reach){p->pass_near,  p->pass_far,   p->pass_inner, p->pass_outer,
                          p->pass_reach, p->pass_least, p->pass_most,  INFINITY};
}

/* How far the wish is from what a foot can do, in metres at the toe, with its unit and the sentence; else 0, and in
 * `effort` how far it is from the easiest. */
struct fault {
    double by, effort;
    enum unit unit;
    char text[80];
};

static struct fault beyond(const struct kick_path_params *path, const struct kick_reach_params *p,
                           const struct kick_stand *stand, struct kick_choice choice, const struct kick_want *want)
{
    struct kick_start s = kick_start_of(stand, choice, want);
    struct reach r = reach_of(p, choice.surface);
    struct kick_path way;
    kick_path_meet(&way, path, &s);
    double hip = 0.5 * s.side * s.foot.y; /* that kicks, when the trunk is over the support foot */
    double inwards = -s.side * s.direction, lever = path->back + path->ball_radius + s.toe.x;
    const char *out = s.side < 0 ? " right" : " left", *in = s.side < 0 ? " left" : " right";
    const struct {
        double by; /* m or rad */
        enum unit unit;
        const char *what, *where;
    } faults[] = {
        {r.near - s.ball_x, CM, "the ball is %.0f cm too near%s", ""},
        {s.ball_x - r.far, CM, "the ball is %.0f cm too far%s", " away"},
        {r.inner - way.beside, CM, "the ball is %.0f cm too far%s", in},
        {way.beside - r.outer, CM, "the ball is %.0f cm too far%s", out},
        {hypot(way.ahead, way.beside - hip) - r.reach, CM, "the ball is %.0f cm too far%s",
         way.beside - hip > way.ahead ? out : " away"},
        {inwards - r.most, DEGREES, "the target is %.0f degrees too far%s", in},
        {r.least - inwards, DEGREES, "the target is %.0f degrees too far%s", out},
        {(way.bent - r.across) / lever, DEGREES, "the target is %.0f degrees too far%s", out},
    };
    struct fault worst = {.effort = 0.5 * fabs(way.beside - s.side * s.foot.y)};
    worst.effort += choice.surface == KICK_TOE_FIRST ? way.bent + way.shifted : p->pass_effort;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        double by = faults[i].by * (faults[i].unit == CM ? 1 : lever);
        if (!(by > worst.by)) continue;
        worst.by = by;
        worst.unit = faults[i].unit;
        snprintf(worst.text, sizeof worst.text, faults[i].what,
                 ceil(faults[i].by * (faults[i].unit == CM ? 100 : 180 / M_PI)), faults[i].where);
    }
    return worst;
}

/* The easiest way, or the one that lacks least. */
static struct fault best_way(const struct kick_path_params *path, const struct kick_reach_params *p,
                             const struct kick_stand *stand, const struct kick_want *want, struct kick_choice *choice)
{
    struct fault best = {.by = INFINITY};
    for (int i = 0; i < 2 * KICK_SURFACES; i++) {
        struct kick_choice one = {i & 1 ? NM_RIGHT : NM_LEFT, (enum kick_surface)(i / 2)};
        struct fault fault = beyond(path, p, stand, one, want);
        bool easier = fault.by == best.by && fault.effort < best.effort;
        if (!(fault.by < best.by || easier)) continue;
        best = fault;
        *choice = one;
    }
    return best;
}

/* ---- the nearest that can be had ---- */

struct asked { /* what is asked, of what */
    const struct kick_path_params *path;
    const struct kick_reach_params *p;
    const struct kick_stand *stand;
};

static bool can(const struct asked *a, double x, double y, double direction)
{
    struct kick_choice any;
    return best_way(a->path, a->p, a->stand, &(struct kick_want){x, y, direction}, &any).by == 0;
}

/* Another direction, from the same place; false if there is none. */
static bool nearest_direction(const struct asked *a, const struct kick_want *want, char *text, size_t size)
{
    for (int turn = 2; turn <= 180; turn += 2) {
        for (int way = -1; way <= 1; way += 2) {
            double degrees = round(angle_normal(want->direction + way * turn * M_PI / 180) * 180 / M_PI);
            if (!can(a, want->ball_x, want->ball_y, degrees * M_PI / 180)) continue;
            snprintf(text, size, "; from there it can kick %.0f degrees %s", fabs(degrees),
                     degrees < 0 ? "right" : "left");
            return true;
        }
    }
    return false;
}

/* Another place, on the way to where the ball lies best for a foot, for the same direction. */
static bool nearest_place(const struct asked *a, const struct kick_want *want, char *text, size_t size)
{
    double least = INFINITY;
    for (int foot = 0; foot < 2; foot++) {
        double best[2];
        kick_best_place(a->path, a->stand, (enum nm_side)foot, best);
        double dx = best[0] - want->ball_x, dy = best[1] - want->ball_y, far = hypot(dx, dy);
        for (int i = 1; i <= 40 && i / 40.0 * far < least; i++) {
            double x = round(100 * (want->ball_x + dx * i / 40)), y = round(100 * (want->ball_y + dy * i / 40));
            if (!can(a, x / 100, y / 100, want->direction)) continue;
            least = i / 40.0 * far;
            snprintf(text, size, "; it could %.0f cm ahead, %.0f cm %s", x, fabs(y), y < 0 ? "right" : "left");
        }
    }
    return isfinite(least);
}

int kick_choose(const struct kick_path_params *path, const struct kick_reach_params *p, const struct kick_stand *stand,
                const struct kick_want *want, struct kick_choice *choice, char *why, size_t size)
{
    char nearest[64] = ""; /* with the fault it fits a result's reason */
    const struct asked asked = {path, p, stand};
    if (!isfinite(want->ball_x + want->ball_y + want->direction)) {
        snprintf(why, size, "a number of the goal is none");
        return -1;
    }
    struct fault fault = best_way(path, p, stand, want, choice);
    if (fault.by == 0) return 0;
    bool found = fault.unit == CM ? nearest_place(&asked, want, nearest, sizeof nearest)
                                  : nearest_direction(&asked, want, nearest, sizeof nearest);
    if (!found)
        found = fault.unit == CM ? nearest_direction(&asked, want, nearest, sizeof nearest)
                                 : nearest_place(&asked, want, nearest, sizeof nearest);
    if (!found) nearest_place(&asked, &(struct kick_want){want->ball_x, want->ball_y, 0}, nearest, sizeof nearest);
    snprintf(why, size, "%s%s", fault.text, nearest);
    return -1;
}
