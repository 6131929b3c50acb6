#include "body/animation_carry.h"

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
    *carry = (struct nm_carry){.n = 0};
    for (uint32_t j = 0; j < NM_JOINTS; j++) carry->to[j] = -1;
    for (int side = 0; side < 2; side++) {
        carry_limb(from, &from->leg[side], to, &to->leg[side], carry);
        carry_limb(from, &from->arm[side], to, &to->arm[side], carry);
    }
    carry_limb(from, &from->head, to, &to->head, carry);
}

static void carry_frame(const struct nm_animation_frame *from, const struct nm_carry *carry, const struct nm_body *to,
                        struct nm_animation_frame *frame)
{
    *frame = *from;
    frame->joints = 0;
    for (uint32_t j = 0; j < NM_JOINTS; j++) {
        if (carry->to[j] < 0 || !(from->joints >> j & 1)) continue;
        uint32_t k = (uint32_t)carry->to[j];
        double goal = carry->sign[j] * from->goal[j] + carry->offset[j];
        frame->goal[k] = fmin(fmax(goal, to->joints[k].lower), to->joints[k].upper);
        frame->joints |= 1ull << k;
    }
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

/* Half a motion is none. */
static bool whole(const struct nm_animation *animation, const struct nm_carry *carry)
{
    for (uint32_t j = 0; j < NM_JOINTS; j++)
        if ((animation->joints >> j & 1) && carry->to[j] < 0) return false;
    return animation->n_frames > 0;
}

struct nm_animation *nm_animation_carry(struct nm_arena *arena, const struct nm_animation *animation,
                                        const struct nm_carry *carry, const struct nm_body *to)
{
    if (!whole(animation, carry)) return NULL;
    struct nm_animation *out = nm_take_n(arena, struct nm_animation, 1);
    *out = *animation;
    out->joints = 0;
    out->frames = nm_take_n(arena, struct nm_animation_frame, animation->n_frames + 1);
    for (uint32_t i = 0; i < animation->n_frames; i++) {
        carry_frame(&animation->frames[i], carry, to, &out->frames[i]);
        out->joints |= out->frames[i].joints;
    }
    double late = 0;
    for (uint32_t i = 0; i < out->n_frames; i++) {
        const struct nm_animation_frame *was = animation->frames + i;
        late += (was->at - (i ? was[-1].until : 0)) * (stretch(animation, out, i, to) - 1);
        out->frames[i].at += late;
        out->frames[i].until += late;
    }
    out->duration += late;
    return out;
}
