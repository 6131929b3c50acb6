#include "body/animation_carry.h"

#include <string.h>

#include "body/chain.h"
#include "body/leg_ik.h"
#include "body/stance.h"

static const double alike = 0.8;       /* cosine between axes that mean the same                  */
static const double other_zero = 0.35; /* rad; smaller differences are the shape of the limb      */
static const double lever = 0.12;      /* of the body's height: what is nearer to an axis shows no direction */

static struct vec3 axis_of(const struct nm_body *body, const struct nm_kin *kin, uint32_t joint)
{
    return quat_apply(kin->pose[joint + 1].rot, body->joints[joint].axis);
}

static struct vec3 across(struct vec3 v, struct vec3 axis) { return vec3_sub(v, vec3_scale(axis, vec3_dot(v, axis))); }

/* Where the limb goes from its i-th joint, across that joint's axis; zero where it goes along it. */
static struct vec3 way_on(const struct nm_body *body, const struct nm_kin *kin, const struct nm_group *limb, uint32_t i,
                          struct vec3 axis)
{
    struct vec3 at = kin->pose[limb->joints[i] + 1].pos;
    for (uint32_t k = i + 1; k <= limb->n; k++) {
        uint32_t frame = k < limb->n ? limb->joints[k] + 1 : limb->end;
        struct vec3 v = across(vec3_sub(kin->pose[frame].pos, at), axis);
        if (vec3_norm(v) > lever * body->height) return v;
    }
    return (struct vec3){0, 0, 0};
}

/* From the base outwards: what a joint's zero differs turns all axes beyond it. */
static bool carry_limb(const struct nm_body *from, const struct nm_group *a, const struct nm_body *to,
                       const struct nm_group *b, struct nm_carry *carry)
{
    double zero[NM_JOINTS] = {0}, q[NM_JOINTS] = {0};
    struct nm_kin here, there;
    struct nm_carry found = *carry;
    if (!a->n || a->n != b->n) return false;
    nm_forward(from, POSE_IDENTITY, zero, &here);
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t j = a->joints[i], k = b->joints[i];
        nm_forward(to, POSE_IDENTITY, q, &there);
        struct vec3 x = axis_of(from, &here, j), y = axis_of(to, &there, k);
        double agree = vec3_dot(x, y);
        if (fabs(agree) < alike || to->joints[k].mimic >= 0) return false;
        struct vec3 v = way_on(to, &there, b, i, y), w = across(way_on(from, &here, a, i, x), y);
        double turn =
            vec3_norm(v) > 0 && vec3_norm(w) > lever ? atan2(vec3_dot(y, vec3_cross(v, w)), vec3_dot(v, w)) : 0;
        q[k] = fabs(turn) > other_zero ? turn : 0;
        found.to[j] = (int32_t)k;
        found.sign[j] = agree > 0 ? 1 : -1;
        found.offset[j] = q[k];
        found.n++;
    }
    *carry = found;
    return true;
}

void nm_carry_find(const struct nm_body *from, const struct nm_body *to, struct nm_carry *carry)
{
    *carry = (struct nm_carry){.from = from};
    for (uint32_t j = 0; j < NM_JOINTS; j++) carry->to[j] = -1;
    for (int side = 0; side < 2; side++) {
        carry->leg_by_pose[side] = !carry_limb(from, &from->leg[side], to, &to->leg[side], carry);
        carry->arm_by_pose[side] = !carry_limb(from, &from->arm[side], to, &to->arm[side], carry);
    }
    carry_limb(from, &from->head, to, &to->head, carry);
}

/* ---- by the pose ---- */

/* The parts of a limb whose directions make its pose. An arm has two: from its first joint to the elbow, which is
 * farthest from both ends, and on to the hand. A hand without a frame of its own is where the mass of the last link is.
 * A leg has three: thigh, shank, and the sole. */
enum { PARTS = 3 };
struct limb {
    const struct nm_body *body;
    const struct nm_group *group;
    uint32_t root, mid; /* frames                                     */
    int32_t end;        /* frame; -1: the mass of the last link       */
    int32_t sole;       /* frame, or -1                               */
    double fore;        /* weight of all parts against the first      */
};

static struct vec3 end_of(const struct limb *l, const struct nm_kin *kin)
{
    uint32_t last = l->group->joints[l->group->n - 1] + 1;
    return l->end >= 0 ? kin->pose[l->end].pos : pose_apply(kin->pose[last], l->body->inertia[last].com);
}

static struct limb arm_of(const struct nm_body *body, const struct nm_group *group)
{
    uint32_t first = group->joints[0] + 1, last = group->joints[group->n - 1] + 1;
    struct limb l = {body, group, first, first, group->end != last ? (int32_t)group->end : -1, -1, 1};
    struct nm_kin zero;
    double q[NM_JOINTS] = {0}, most = 0;
    nm_forward(body, POSE_IDENTITY, q, &zero);
    struct vec3 hand = end_of(&l, &zero), shoulder = zero.pose[first].pos;
    for (uint32_t i = 1; i < group->n; i++) {
        struct vec3 at = zero.pose[group->joints[i] + 1].pos;
        double far = fmin(vec3_norm(vec3_sub(at, shoulder)), vec3_norm(vec3_sub(hand, at)));
        if (far > most) most = far, l.mid = group->joints[i] + 1;
    }
    return l;
}

static struct limb leg_of(const struct nm_body *body, const struct nm_leg *leg, enum nm_side side)
{
    uint32_t at[PARTS];
    for (int i = 0; i < PARTS; i++) at[i] = leg->chain.joints[leg->pitch[i]] + 1;
    return (struct limb){body, &body->leg[side], at[0], at[1], (int32_t)at[2], (int32_t)body->foot[side].sole, 1};
}

static struct vec3 unit(struct vec3 v) { return vec3_scale(v, 1 / fmax(vec3_norm(v), 1e-9)); }

static void directions(const struct limb *l, const double q[], struct vec3 out[PARTS])
{
    struct nm_kin kin;
    double all[NM_JOINTS];
    memcpy(all, q, l->body->n_joints * sizeof *q);
    nm_apply_mimics(l->body, all);
    nm_forward(l->body, POSE_IDENTITY, all, &kin);
    out[0] = unit(vec3_sub(kin.pose[l->mid].pos, kin.pose[l->root].pos));
    out[1] = unit(vec3_sub(end_of(l, &kin), kin.pose[l->mid].pos));
    out[2] = l->sole >= 0 ? quat_apply(kin.pose[l->sole].rot, (struct vec3){1, 0, 0}) : (struct vec3){0, 0, 0};
}

static double errors(const struct limb *l, const double q[], const struct vec3 want[PARTS], double e[3 * PARTS])
{
    struct vec3 is[PARTS];
    double square = 0;
    directions(l, q, is);
    for (int i = 0; i < PARTS; i++) {
        struct vec3 off = vec3_scale(vec3_sub(want[i], is[i]), i ? l->fore : 1);
        e[3 * i] = off.x, e[3 * i + 1] = off.y, e[3 * i + 2] = off.z;
        square += vec3_dot(off, off);
    }
    return square;
}

/* Damped least squares from what q holds; the first `n` joints of the limb move. */
static double bend_limb(const struct limb *l, uint32_t n, const struct vec3 want[PARTS], double q[])
{
    double e[3 * PARTS], after[3 * PARTS], j[3 * PARTS][NM_GROUP], gradient[NM_GROUP], step[NM_GROUP], damping = 0.1;
    double square = errors(l, q, want, e);
    for (int round = 0; round < 60 && square > 1e-8; round++) {
        double next[NM_JOINTS];
        for (uint32_t i = 0; i < n; i++) {
            static const double D = 1e-5;
            memcpy(next, q, l->body->n_joints * sizeof *q);
            next[l->group->joints[i]] += D;
            errors(l, next, want, after);
            for (int r = 0; r < 3 * PARTS; r++) j[r][i] = (e[r] - after[r]) / D;
        }
        nm_damped_step(3 * PARTS, (const double(*)[NM_GROUP])j, e, n, 0, damping, gradient, step);
        memcpy(next, q, l->body->n_joints * sizeof *q);
        for (uint32_t i = 0; i < n; i++) {
            const struct nm_joint *joint = &l->body->joints[l->group->joints[i]];
            double *at = &next[l->group->joints[i]];
            *at = fmin(fmax(*at + step[i], fmax(joint->lower, -M_PI)), fmin(joint->upper, M_PI));
        }
        double now = errors(l, next, want, after);
        damping *= now < square ? 0.5 : 4;
        if (!(now < square)) continue;
        memcpy(q, next, l->body->n_joints * sizeof *q);
        memcpy(e, after, sizeof e);
        square = now;
    }
    return square;
}

bool nm_point_arm(const struct nm_body *body, enum nm_side side, const struct vec3 want[2], uint32_t most, double q[])
{
    static const double NEAR = 0.35; /* sum of the squared distances of two directions: 24 degrees each */
    static const double starts[][3] = {
        {0, 0, 0}, {1.2, 0.3, 0.5}, {-1.2, 0.3, -0.5}, {0.5, 1.2, 0.5}, {0.3, -1.2, -0.5}};
    const struct nm_group *group = &body->arm[side];
    double best[NM_JOINTS], least = INFINITY;
    if (!group->n) return false;
    struct limb arm = arm_of(body, group);
    const struct vec3 all[PARTS] = {want[0], want[1]};
    uint32_t n = group->n < most ? group->n : most;
    if (n < group->n) arm.fore = 0.2; /* without all joints the upper arm comes first */
    for (size_t s = 0; s <= sizeof starts / sizeof *starts && least > 1e-4; s++) {
        double at[NM_JOINTS];
        memcpy(at, q, body->n_joints * sizeof *q); /* first from the pose before */
        for (uint32_t i = 0; i < n; i++) {
            const struct nm_joint *joint = &body->joints[group->joints[i]];
            double start = s == 0 ? q[group->joints[i]] : i < 3 ? starts[s - 1][i] : 0;
            at[group->joints[i]] = fmin(fmax(start, joint->lower), joint->upper);
        }
        double square = bend_limb(&arm, n, all, at);
        if (square < least - 1e-3) least = square, memcpy(best, at, body->n_joints * sizeof *q);
    }
    if (!(least < NEAR)) return false;
    memcpy(q, best, body->n_joints * sizeof *q);
    return true;
}

void nm_hang_arm(const struct nm_body *body, enum nm_side side, double q[])
{
    const struct vec3 down[2] = {{0, side == NM_LEFT ? 0.17 : -0.17, -0.985}, {0.2, 0, -0.98}};
    const double zero[NM_JOINTS] = {0};
    struct vec3 is[PARTS];
    if (!body->arm[side].n) return;
    struct limb arm = arm_of(body, &body->arm[side]);
    directions(&arm, zero, is);
    if (is[0].z > -0.7) nm_point_arm(body, side, down, NM_GROUP, q);
}

bool nm_carry_arm(const struct nm_body *from, const double angles[], const struct nm_body *to, enum nm_side side,
                  uint32_t most, double q[])
{
    struct vec3 want[PARTS];
    if (!from->arm[side].n) return false;
    struct limb there = arm_of(from, &from->arm[side]);
    directions(&there, angles, want);
    return nm_point_arm(to, side, want, most, q);
}

/* The sole as it lies under the hip, as far as legs of another length reach; where they do not, and the feet do not
 * bear the body (`lying`), thigh, shank and sole in their directions, as far as the limits let them. */
static bool carry_leg(const struct nm_body *from, const double angles[], const struct nm_body *to, enum nm_side side,
                      bool lying, double q[])
{
    static const double FAR = 0.2, TURNED = 0.5; /* of the leg; rad */
    struct nm_leg here, there;
    struct nm_kin kin;
    double joints[NM_GROUP];
    struct nm_ik_error error;
    if (nm_leg_init(&there, from, side, NULL) || nm_leg_init(&here, to, side, NULL)) return false;
    nm_forward(from, POSE_IDENTITY, angles, &kin);
    struct vec3 hip = there.chain.point[there.pitch[0]], own = here.chain.point[here.pitch[0]];
    double size = (own.z - here.chain.home.pos.z) / (hip.z - there.chain.home.pos.z);
    struct pose3 sole = kin.pose[from->foot[side].sole];
    sole.pos = vec3_add(own, vec3_scale(vec3_sub(sole.pos, hip), size));
    for (uint32_t i = 0; i < here.chain.n; i++) joints[i] = q[here.chain.joints[i]];
    nm_leg_ik(&here, sole, joints, &error);
    if (error.distance > FAR * (own.z - here.chain.home.pos.z) || error.angle > TURNED) {
        struct limb theirs = leg_of(from, &there, side), ours = leg_of(to, &here, side);
        struct vec3 want[PARTS];
        directions(&theirs, angles, want);
        if (lying) bend_limb(&ours, ours.group->n, want, q);
        return lying;
    }
    for (uint32_t i = 0; i < here.chain.n; i++) q[here.chain.joints[i]] = joints[i];
    return true;
}

/* ---- motions ---- */

bool nm_begins_lying(const struct nm_animation *animation) { return !strncmp(animation->name, "get_up_", 7); }

static uint64_t bits_of(const struct nm_group *group, const struct nm_body *body)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < group->n; i++)
        if (body->joints[group->joints[i]].mimic < 0) bits |= 1ull << group->joints[i];
    return bits;
}

/* What a frame does not name it passes through: then the pose is the motion's at that time. */
static bool carry_frame(const struct nm_animation *a, const struct nm_animation_frame *from,
                        const struct nm_carry *carry, const struct nm_body *to, double pose[],
                        struct nm_animation_frame *frame)
{
    const struct nm_body *other = carry->from;
    struct nm_animation_pose at;
    double rest[NM_JOINTS] = {0};
    nm_animation_sample(a, rest, from->at, &at);
    for (uint32_t j = 0; j < other->n_joints; j++) rest[j] = a->joints >> j & 1 ? at.q[j] : 0;
    *frame = *from;
    frame->joints = 0;
    for (uint32_t j = 0; j < NM_JOINTS; j++) {
        if (carry->to[j] < 0 || !(from->joints >> j & 1)) continue;
        uint32_t k = (uint32_t)carry->to[j];
        double goal = carry->sign[j] * from->goal[j] + carry->offset[j];
        frame->goal[k] = pose[k] = fmin(fmax(goal, to->joints[k].lower), to->joints[k].upper);
        frame->joints |= 1ull << k;
    }
    for (int side = 0; side < 2; side++)
        for (int arm = 0; arm < 2; arm++) {
            const struct nm_group *had = arm ? &other->arm[side] : &other->leg[side],
                                  *has = arm ? &to->arm[side] : &to->leg[side];
            if (!(arm ? carry->arm_by_pose : carry->leg_by_pose)[side] || !has->n) continue;
            if (!(from->joints & bits_of(had, other))) continue;
            if (!(arm ? nm_carry_arm(other, rest, to, (enum nm_side)side, NM_GROUP, pose)
                      : carry_leg(other, rest, to, (enum nm_side)side, nm_begins_lying(a), pose)) &&
                !nm_begins_lying(a))
                return false;
            frame->joints |= bits_of(has, to);
        }
    nm_apply_mimics(to, pose);
    bool last = from == &a->frames[a->n_frames - 1];
    if (strstr(a->name, "stand") || strstr(a->name, "sit") || (last && nm_begins_lying(a))) nm_balance(to, pose);
    for (uint32_t k = 0; k < to->n_joints; k++)
        if (frame->joints >> k & 1) frame->goal[k] = fmin(fmax(pose[k], to->joints[k].lower), to->joints[k].upper);
    return true;
}

/* How many times longer the move into frame i must take than it did; the first one's begin is the player's matter. */
static double stretch(const struct nm_animation *was, const struct nm_animation *a, uint32_t i,
                      const struct nm_body *to)
{
    const double steepest = a->cubic ? 2 : 1.01; /* times the mean speed */
    const struct nm_animation_frame *f = &a->frames[i];
    if (!i || f->strike) return 1;
    double time = was->frames[i].at - was->frames[i - 1].until, most = 1;
    for (uint32_t j = 0; j < to->n_joints; j++) {
        if (!((f->joints & f[-1].joints) >> j & 1)) continue;
        double needs = steepest * fabs(f->goal[j] - f[-1].goal[j]) / to->joints[j].velocity;
        if (time > 0 && needs / time > most) most = needs / time;
    }
    return most;
}

void nm_animation_stretch(const struct nm_body *body, struct nm_animation *animation,
                          const struct nm_animation_frame *was)
{
    double late = 0;
    struct nm_animation before = *animation;
    before.frames = (struct nm_animation_frame *)was;
    for (uint32_t i = 0; i < animation->n_frames; i++) {
        late += (was[i].at - (i ? was[i - 1].until : 0)) * (stretch(&before, animation, i, body) - 1);
        animation->frames[i].at += late;
        animation->frames[i].until += late;
    }
    animation->duration += late;
}

struct nm_animation *nm_animation_carry(struct nm_arena *arena, const struct nm_animation *animation,
                                        const struct nm_carry *carry, const struct nm_body *to)
{
    double pose[NM_JOINTS] = {0};
    if (!animation->n_frames || !to->leg[0].n || !to->leg[1].n) return NULL;
    struct nm_animation *out = nm_take_n(arena, struct nm_animation, 1);
    *out = *animation;
    out->joints = 0;
    out->frames = nm_take_n(arena, struct nm_animation_frame, animation->n_frames + 1);
    for (uint32_t i = 0; i < animation->n_frames; i++) {
        if (!carry_frame(animation, &animation->frames[i], carry, to, pose, &out->frames[i])) return NULL;
        out->joints |= out->frames[i].joints;
    }
    if (!out->joints) return NULL;
    nm_animation_stretch(to, out, animation->frames);
    return out;
}
