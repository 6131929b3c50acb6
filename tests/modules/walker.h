/* A robot that walks without physics: feet are set down in turns along a path, the torso glides between them, inverse
 * kinematics gives the joints. So the truth of everything is known at any time. */
#pragma once

#include "body/leg_ik.h"
#include "body/state.h"
#include "modules/body_rig.h"

struct walker {
    const struct nm_body *body;
    struct nm_leg leg[2];
    double height;         /* m, of the torso over the ground         */
    double width;          /* m, from the middle to a foot            */
    double lift;           /* m                                       */
    double step;           /* s, of one step                          */
    struct pose2 velocity; /* of the robot, a second                  */
    double roll, pitch;    /* rad, amplitude of the torso's swaying   */
};

struct moment {
    enum nm_side support;
    bool both;                   /* a step has just begun       */
    struct pose3 torso, sole[2]; /* in the world                */
    double q[NM_JOINTS];
};

static inline void walker_begin(struct walker *w, const struct nm_body *body)
{
    struct nm_err err = {0};
    struct nm_kin kin;
    double q[NM_JOINTS] = {0};
    *w = (struct walker){.body = body, .lift = 0.03, .step = 0.3};
    for (int side = 0; side < 2; side++)
        if (nm_leg_init(&w->leg[side], body, (enum nm_side)side, &err)) fail_msg("%s", err.text);
    nm_forward(body, POSE_IDENTITY, q, &kin);
    w->height = -kin.pose[body->foot[NM_LEFT].sole].pos.z - 0.02;
    w->width = kin.pose[body->foot[NM_LEFT].sole].pos.y;
}

/* The middle between the feet after so many steps, in the world. */
static inline struct pose2 walker_place(const struct walker *w, double steps)
{
    double t = steps * w->step, turn = w->velocity.theta * t;
    /* along an arc */
    double s = fabs(turn) > 1e-9 ? sin(turn) / turn : 1, c = fabs(turn) > 1e-9 ? (1 - cos(turn)) / turn : 0;
    double x = w->velocity.x * t, y = w->velocity.y * t;
    return (struct pose2){x * s - y * c, x * c + y * s, turn};
}

/* Step n puts down the left foot for even n; a foot stands at its side of the place it steps for. */
static inline struct pose2 walker_foot(const struct walker *w, int side, int step)
{
    int n = step - ((step + side) & 1); /* the last step of that foot */
    return pose2_mul(walker_place(w, n < 0 ? 0 : n), (struct pose2){0, side == NM_LEFT ? w->width : -w->width, 0});
}

/* The robot at a time; the first step begins at 0. */
static inline void walker_at(const struct walker *w, double t, struct moment *m)
{
    int step = t < 0 ? 0 : (int)(t / w->step);
    double phase = t < 0 ? 0 : t / w->step - step, glide = phase * phase * (3 - 2 * phase);
    int swing = (step + 1) & 1 ? NM_RIGHT : NM_LEFT; /* that step + 1 will put down */
    m->support = swing == NM_LEFT ? NM_RIGHT : NM_LEFT;
    m->both = phase < 0.1;
    for (int side = 0; side < 2; side++) {
        struct pose2 at = walker_foot(w, side, step);
        double up = 0;
        if (side == swing) {
            struct pose2 to = walker_foot(w, side, step + 1);
            double turn = angle_normal(to.theta - at.theta);
            at = (struct pose2){at.x + glide * (to.x - at.x), at.y + glide * (to.y - at.y), at.theta + glide * turn};
            up = w->lift * sin(M_PI * phase);
        }
        m->sole[side] = nm_ground_pose(at);
        m->sole[side].pos.z = t < 0 ? 0 : up;
    }
    struct pose2 l = {m->sole[0].pos.x, m->sole[0].pos.y, quat_yaw(m->sole[0].rot)},
                 r = {m->sole[1].pos.x, m->sole[1].pos.y, quat_yaw(m->sole[1].rot)};
    double yaw = l.theta + angle_normal(r.theta - l.theta) / 2, sway = t < 0 ? 0 : sin(M_PI * t / w->step);
    m->torso.rot = quat_mul(quat_rpy(0, 0, yaw), quat_rpy(w->roll * sway, w->pitch * sway, 0));
    m->torso.pos = (struct vec3){(l.x + r.x) / 2, (l.y + r.y) / 2, w->height};
    memset(m->q, 0, sizeof m->q);
    for (int side = 0; side < 2; side++) {
        double q[NM_GROUP] = {0};
        struct nm_ik_error error;
        if (nm_leg_ik(&w->leg[side], pose_mul(pose_inv(m->torso), m->sole[side]), q, &error) != NM_REACHED)
            fail_msg("the walker's leg is too short at %g s", t);
        for (uint32_t i = 0; i < w->leg[side].chain.n; i++) m->q[w->leg[side].chain.joints[i]] = q[i];
    }
    m->q[nm_find_joint(w->body, "head_pitch")] = 0.5;
    m->q[nm_find_joint(w->body, "head_yaw")] = 0.3 * sin(2 * t);
}

static inline struct pose2 walker_robot(const struct moment *m)
{
    struct vec3 middle = vec3_scale(vec3_add(m->sole[0].pos, m->sole[1].pos), 0.5);
    return (struct pose2){middle.x, middle.y, quat_yaw(m->torso.rot)};
}
