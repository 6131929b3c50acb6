#include "body/stance.h"

#include <string.h>

#include "body/animation_carry.h"
#include "body/dynamics.h"
#include "body/leg_ik.h"

double nm_foot_reach(const struct nm_body *body, enum nm_side side, struct vec3 way)
{
    const struct nm_frame *sole = &body->frames[body->foot[side].sole];
    double most = 0;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        if (s->link != sole->link) continue;
        struct pose3 p = pose_mul(pose_inv(sole->to_link), s->to_link);
        most = fmax(most, vec3_dot(way, p.pos) + nm_shape_reach(s, p.rot, way));
    }
    return most;
}

/* Where the joints come to rest under the weight if their motors are told q: a motor gives way by its torque over its
 * gain. The more the body leans the more it gives way, so this is found round by round. */
static void give_way(const struct nm_body *body, const double q[], double rests[])
{
    static const double GRAVITY = 9.81, MOST = 0.2; /* m/s2; rad, of a joint */
    double zero[NM_JOINTS] = {0};
    memcpy(rests, q, body->n_joints * sizeof *q);
    for (int round = 0; round < 12; round++) {
        struct nm_kin kin;
        struct nm_effort effort;
        struct nm_push pushes[2];
        nm_forward(body, POSE_IDENTITY, rests, &kin);
        struct nm_motion motion = {.base_to_world = {quat_inv(kin.pose[body->foot[NM_LEFT].sole].rot), {0, 0, 0}},
                                   .gravity = {0, 0, -GRAVITY},
                                   .q = rests,
                                   .qd = zero,
                                   .qdd = zero};
        struct vec3 force = {0, 0, body->mass * GRAVITY / 2}, com = nm_com(body, &kin);
        for (int side = 0; side < 2; side++) {
            uint32_t sole = body->foot[side].sole;
            double ahead = quat_apply(motion.base_to_world.rot, vec3_sub(com, kin.pose[sole].pos)).x;
            pushes[side] = (struct nm_push){sole, force, vec3_cross((struct vec3){ahead, 0, 0}, force)};
        }
        nm_inverse_dynamics(body, &motion, pushes, 2, &effort);
        nm_drive_followers(body, &effort);
        for (uint32_t j = 0; j < body->n_joints; j++) {
            double gain = nm_motor_of(body, j).gain;
            if (gain > 0) rests[j] = q[j] - fmin(fmax(effort.torque[j] / gain, -MOST), MOST);
        }
        nm_apply_mimics(body, rests);
    }
}

/* m that the soles must go forward so that the centre of mass comes to rest over their middle; 0 where it does, or over
 * the tenth of the foot behind it: a step ahead begins with a fall forward. */
static double off_balance(const struct nm_body *body, const double q[])
{
    struct nm_kin kin;
    double rests[NM_JOINTS], off = 0, front = INFINITY, back = INFINITY;
    give_way(body, q, rests);
    nm_forward(body, POSE_IDENTITY, rests, &kin);
    struct vec3 com = nm_com(body, &kin);
    for (int side = 0; side < 2; side++) {
        struct pose3 sole = kin.pose[body->foot[side].sole];
        off += quat_apply(quat_inv(sole.rot), vec3_sub(com, sole.pos)).x / 2;
        front = fmin(front, nm_foot_reach(body, (enum nm_side)side, (struct vec3){1, 0, 0}));
        back = fmin(back, nm_foot_reach(body, (enum nm_side)side, (struct vec3){-1, 0, 0}));
    }
    off -= (front - back) / 2;
    return off < -(front + back) / 10 || off > (front + back) / 40 ? off : 0;
}

/* Both soles to where they are wanted in the base; false if a leg does not reach. */
static bool place(const struct nm_body *body, const struct nm_leg leg[2], const struct pose3 sole[2], double q[])
{
    for (int side = 0; side < 2; side++) {
        double joints[NM_GROUP];
        for (uint32_t i = 0; i < leg[side].chain.n; i++) joints[i] = q[leg[side].chain.joints[i]];
        if (nm_leg_ik(&leg[side], sole[side], joints, NULL) != NM_REACHED) return false;
        for (uint32_t i = 0; i < leg[side].chain.n; i++) q[leg[side].chain.joints[i]] = joints[i];
    }
    nm_apply_mimics(body, q);
    return true;
}

/* Moves soles, which q has already, until the mass is over them. */
static bool move_under(const struct nm_body *body, const struct nm_leg leg[2], struct pose3 sole[2], double q[])
{
    for (int round = 0; round < 5; round++) {
        double off = off_balance(body, q);
        if (off == 0) return true;
        for (int side = 0; side < 2; side++) sole[side].pos.x += off;
        if (!place(body, leg, sole, q)) return false;
    }
    return false;
}

void nm_stance(const struct nm_body *body, double bend, double q[])
{
    struct nm_leg leg[2];
    struct pose3 sole[2];
    memset(q, 0, body->n_joints * sizeof *q);
    for (int side = 0; side < 2; side++) nm_hang_arm(body, (enum nm_side)side, q);
    for (int side = 0; side < 2; side++) {
        if (!body->leg[side].n || nm_leg_init(&leg[side], body, (enum nm_side)side, NULL)) return;
        const struct nm_chain *chain = &leg[side].chain;
        double joints[NM_GROUP] = {0};
        sole[side] = (struct pose3){QUAT_IDENTITY, chain->home.pos};
        sole[side].pos.z += bend * (chain->point[leg[side].pitch[0]].z - sole[side].pos.z);
        if (bend > 0) nm_leg_crouch(&leg[side], joints);
        for (uint32_t i = 0; i < chain->n; i++) q[chain->joints[i]] = joints[i];
    }
    if (!place(body, leg, sole, q))
        for (int side = 0; side < 2; side++)
            for (uint32_t i = 0; i < leg[side].chain.n; i++) q[leg[side].chain.joints[i]] = 0;
    else if (bend > 0)
        move_under(body, leg, sole, q);
}

bool nm_balance(const struct nm_body *body, double q[])
{
    static const double LEVEL = 0.25, SAME = 0.1; /* rad; of the height */
    struct nm_leg leg[2];
    struct pose3 sole[2];
    struct nm_kin kin;
    double before[NM_JOINTS];
    nm_forward(body, POSE_IDENTITY, q, &kin);
    for (int side = 0; side < 2; side++) {
        if (!body->leg[side].n || nm_leg_init(&leg[side], body, (enum nm_side)side, NULL)) return false;
        sole[side] = kin.pose[body->foot[side].sole];
        struct vec3 up = quat_apply(sole[side].rot, (struct vec3){0, 0, 1});
        if (up.z < cos(LEVEL)) return true;
    }
    if (fabs(sole[0].pos.z - sole[1].pos.z) > SAME * body->height) return true;
    memcpy(before, q, body->n_joints * sizeof *q);
    if (move_under(body, leg, sole, q)) return true;
    memcpy(q, before, body->n_joints * sizeof *q);
    return false;
}
