#include "body/kinematics.h"

#include <string.h>

#include "body/build.h"

static struct quat quat_sum(struct quat a, double ka, struct quat b, double kb)
{
    return (struct quat){a.w * ka + b.w * kb, a.x * ka + b.x * kb, a.y * ka + b.y * kb, a.z * ka + b.z * kb};
}

/* R(q) = P (a a' + cos q (1 - a a') + sin q [a]), P the rotation at zero and a the axis (Rodrigues) */
static void make_matrices(struct nm_step *s)
{
    const double a[3] = {s->axis.x, s->axis.y, s->axis.z};
    struct mat3 along, across, cross = {{{0, -a[2], a[1]}, {a[2], 0, -a[0]}, {-a[1], a[0], 0}}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            along.m[i][j] = a[i] * a[j];
            across.m[i][j] = (i == j) - a[i] * a[j];
        }
    struct mat3 place = quat_to_mat3(s->place);
    s->still = mat3_mul(place, along);
    s->even = mat3_mul(place, across);
    s->odd = mat3_mul(place, cross);
}

struct nm_step *build_steps(struct nm_arena *arena, const struct nm_body *body)
{
    struct nm_step *steps = nm_take_n(arena, struct nm_step, body->n_joints + 1);
    for (uint32_t i = 0; i < body->n_joints; i++) {
        const struct nm_joint *j = &body->joints[i];
        struct nm_step *s = &steps[i];
        s->place = quat_normal(j->to_parent.rot);
        s->turn = quat_mul(s->place, (struct quat){0, j->axis.x, j->axis.y, j->axis.z});
        s->at = j->to_parent.pos;
        s->parent = (int32_t)j->parent;
        s->slides = j->type == NM_PRISMATIC;
        s->slide = quat_apply(s->place, j->axis);
        s->axis = j->axis;
        make_matrices(s);
    }
    return steps;
}

void nm_forward(const struct nm_body *body, struct pose3 base_to_world, const double q[], struct nm_kin *kin)
{
    struct pose3 *pose = kin->pose;
    pose[0] = base_to_world;
    for (uint32_t i = 0; i < body->n_joints; i++) {
        const struct nm_step *s = &body->steps[i];
        struct quat local = s->place;
        struct vec3 at = s->at;
        if (s->slides)
            at = vec3_add(at, vec3_scale(s->slide, q[i]));
        else
            local = quat_sum(s->place, cos(q[i] / 2), s->turn, sin(q[i] / 2));
        pose[i + 1].rot = quat_mul(pose[s->parent].rot, local);
        pose[i + 1].pos = pose_apply(pose[s->parent], at);
    }
    for (uint32_t i = body->n_links; i < body->n_frames; i++)
        pose[i] = pose_mul(pose[body->frames[i].link], body->frames[i].to_link);
}

void nm_jacobian(const struct nm_body *body, const struct nm_kin *kin, uint32_t frame, struct vec3 point,
                 struct nm_twist column[])
{
    memset(column, 0, body->n_joints * sizeof *column);
    for (uint32_t link = body->frames[frame].link; link > 0; link = body->joints[link - 1].parent) {
        const struct nm_step *s = &body->steps[link - 1];
        struct vec3 axis = quat_apply(kin->pose[link].rot, s->axis);
        if (s->slides)
            column[link - 1].linear = axis;
        else
            column[link - 1] = (struct nm_twist){vec3_cross(axis, vec3_sub(point, kin->pose[link].pos)), axis};
    }
}

struct vec3 nm_com(const struct nm_body *body, const struct nm_kin *kin)
{
    struct vec3 sum = {0};
    for (uint32_t i = 0; i < body->n_links; i++)
        sum = vec3_add(sum, vec3_scale(pose_apply(kin->pose[i], body->inertia[i].com), body->inertia[i].mass));
    return vec3_scale(sum, body->mass > 0 ? 1 / body->mass : 0);
}

/* A joint moves the masses it carries as one: axis x (their centre - joint), weighed by their share. */
void nm_com_jacobian(const struct nm_body *body, const struct nm_kin *kin, struct vec3 column[])
{
    double mass[NM_LINKS];
    struct vec3 moment[NM_LINKS];
    for (uint32_t i = 0; i < body->n_links; i++) {
        mass[i] = body->inertia[i].mass;
        moment[i] = vec3_scale(pose_apply(kin->pose[i], body->inertia[i].com), mass[i]);
    }
    for (uint32_t i = body->n_joints; i-- > 0;) {
        const struct nm_step *s = &body->steps[i];
        struct vec3 axis = quat_apply(kin->pose[i + 1].rot, s->axis);
        struct vec3 arm = vec3_sub(moment[i + 1], vec3_scale(kin->pose[i + 1].pos, mass[i + 1]));
        struct vec3 moved = s->slides ? vec3_scale(axis, mass[i + 1]) : vec3_cross(axis, arm);
        column[i] = vec3_scale(moved, body->mass > 0 ? 1 / body->mass : 0);
        mass[s->parent] += mass[i + 1];
        moment[s->parent] = vec3_add(moment[s->parent], moment[i + 1]);
    }
}

static struct vec3 velocity_at(struct nm_twist twist, struct vec3 origin, struct vec3 point)
{
    return vec3_add(twist.linear, vec3_cross(twist.angular, vec3_sub(point, origin)));
}

void nm_velocities(const struct nm_body *body, const struct nm_kin *kin, struct nm_twist base, const double qd[],
                   struct nm_twist link[])
{
    link[0] = base;
    for (uint32_t i = 0; i < body->n_joints; i++) {
        const struct nm_step *s = &body->steps[i];
        struct vec3 axis = vec3_scale(quat_apply(kin->pose[i + 1].rot, s->axis), qd[i]);
        struct nm_twist t = {velocity_at(link[s->parent], kin->pose[s->parent].pos, kin->pose[i + 1].pos),
                             link[s->parent].angular};
        if (s->slides)
            t.linear = vec3_add(t.linear, axis);
        else
            t.angular = vec3_add(t.angular, axis);
        link[i + 1] = t;
    }
}

struct nm_twist nm_frame_twist(const struct nm_body *body, const struct nm_kin *kin, const struct nm_twist link[],
                               uint32_t frame)
{
    uint32_t i = body->frames[frame].link;
    return (struct nm_twist){velocity_at(link[i], kin->pose[i].pos, kin->pose[frame].pos), link[i].angular};
}

struct nm_twist nm_com_motion(const struct nm_body *body, const struct nm_kin *kin, const struct nm_twist link[])
{
    struct vec3 com = nm_com(body, kin), impulse = {0}, spin = {0};
    for (uint32_t i = 0; i < body->n_links; i++) {
        const struct nm_inertia *n = &body->inertia[i];
        struct vec3 centre = pose_apply(kin->pose[i], n->com);
        struct vec3 p = vec3_scale(velocity_at(link[i], kin->pose[i].pos, centre), n->mass);
        struct vec3 w = quat_apply(quat_inv(kin->pose[i].rot), link[i].angular);
        struct vec3 own = {n->xx * w.x + n->xy * w.y + n->xz * w.z, n->xy * w.x + n->yy * w.y + n->yz * w.z,
                           n->xz * w.x + n->yz * w.y + n->zz * w.z};
        impulse = vec3_add(impulse, p);
        spin = vec3_add(spin, vec3_add(quat_apply(kin->pose[i].rot, own), vec3_cross(vec3_sub(centre, com), p)));
    }
    return (struct nm_twist){vec3_scale(impulse, body->mass > 0 ? 1 / body->mass : 0), spin};
}
