#include "sim/stance.h"

#include <string.h>

#include "body/leg_ik.h"

/* How far the foot reaches before its sole's origin, and (sign -1) behind it. */
static double reach_of(const struct nm_body *body, const struct nm_foot *foot, double sign)
{
    const struct nm_frame *sole = &body->frames[foot->sole];
    double most = 0;
    for (uint32_t i = 0; i < body->n_collisions; i++) {
        const struct nm_link_shape *s = &body->collisions[i];
        if (s->link != sole->link) continue;
        struct pose3 p = pose_mul(pose_inv(sole->to_link), s->to_link);
        most = fmax(most, sign * p.pos.x + nm_shape_reach(s, p.rot, (struct vec3){1, 0, 0}));
    }
    return most;
}

/* m that the soles must go forward so that the centre of mass is over them; 0 while it is over the middle half. */
static double off_balance(const struct nm_body *body, const double q[])
{
    struct nm_kin kin;
    double sole = 0, front = INFINITY, back = INFINITY;
    nm_forward(body, POSE_IDENTITY, q, &kin);
    for (int side = 0; side < 2; side++) {
        sole += kin.pose[body->foot[side].sole].pos.x / 2;
        front = fmin(front, reach_of(body, &body->foot[side], 1));
        back = fmin(back, reach_of(body, &body->foot[side], -1));
    }
    double off = nm_com(body, &kin).x - sole, middle = (front - back) / 2, quarter = (front + back) / 4;
    return fabs(off - middle) > quarter ? off - middle : 0;
}

void nm_stance(const struct nm_body *body, double bend, double q[])
{
    struct nm_leg leg[2];
    double forward = 0;
    memset(q, 0, body->n_joints * sizeof *q);
    for (int side = 0; side < 2; side++)
        if (!body->leg[side].n || nm_leg_init(&leg[side], body, (enum nm_side)side, NULL)) return;
    for (int round = 0; round < 4; round++) {
        for (int side = 0; side < 2; side++) {
            double joints[NM_GROUP] = {0};
            struct pose3 sole = {QUAT_IDENTITY, leg[side].chain.home.pos};
            sole.pos.x += forward;
            sole.pos.z += bend * (leg[side].chain.point[leg[side].pitch[0]].z - sole.pos.z);
            if (bend > 0) nm_leg_crouch(&leg[side], joints);
            if (nm_leg_ik(&leg[side], sole, joints, NULL) != NM_REACHED) continue;
            for (uint32_t i = 0; i < leg[side].chain.n; i++) q[leg[side].chain.joints[i]] = joints[i];
        }
        nm_apply_mimics(body, q);
        double off = bend > 0 ? off_balance(body, q) : 0;
        if (off == 0) break;
        forward += off;
    }
}
