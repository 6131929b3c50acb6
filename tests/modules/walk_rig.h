/* What the tests of the modules walk and walk_policy share: a body that follows its goals exactly and stands level, so
 * that steps are pure geometry. */
#pragma once

#include <string.h>

#include "modules/body_rig.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"

struct bench {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_harness *h;
    double q[NM_JOINTS];
    struct pose2 foot; /* the one that stands, where it began to stand */
    bool left;         /* it is the left one                           */
    uint32_t ticks;
    bool imu_frozen;
    bool joints_frozen;
    double held[NM_JOINTS]; /* what frozen joints show */
    double pulled;          /* m/s2 forwards, that the inertial sensor feels */
    double late;            /* s, of the stamps of joints and inertial sensor; 0: none is given */
};

static inline void begin_with(struct bench *b, const struct nm_module *module, const char *settings)
{
    struct nm_err err = {0};
    *b = (struct bench){.left = true};
    b->body = nm_body_load(&b->arena, NM_ROOT "/robots/kid70", &err);
    if (!b->body) fail_msg("%s", err.text);
    b->h = nm_harness_new_with(module, settings, b->body);
}

static inline void end(struct bench *b)
{
    nm_harness_free(b->h);
    nm_arena_free(&b->arena);
}

/* The lower foot bears the robot; both do at the same height. */
static inline void feed_feet(struct bench *b)
{
    struct nm_kin kin;
    nm_forward(b->body, POSE_IDENTITY, b->q, &kin);
    double higher = kin.pose[b->body->foot[NM_LEFT].sole].pos.z - kin.pose[b->body->foot[NM_RIGHT].sole].pos.z;
    double left = higher < -0.002 ? 1 : higher > 0.002 ? 0 : 0.5 - higher / 0.004;
    FootPressure *feet = nm_harness_set(b->h, "foot_pressure");
    feet->left.valid = feet->right.valid = true;
    for (int i = 0; i < NM_CELLS; i++) {
        feet->left.cells[i] = (float)(12 * left);
        feet->right.cells[i] = (float)(12 * (1 - left));
    }
}

/* A sole seen from the other one. */
static inline struct pose2 other_foot(const struct bench *b, bool from_left)
{
    struct nm_kin kin;
    nm_forward(b->body, POSE_IDENTITY, b->q, &kin);
    struct pose3 p = nm_frame_to_frame(&kin, b->body->foot[from_left ? NM_RIGHT : NM_LEFT].sole,
                                       b->body->foot[from_left ? NM_LEFT : NM_RIGHT].sole);
    return (struct pose2){p.pos.x, p.pos.y, quat_yaw(p.rot)};
}

/* Half way between the feet, from where the standing foot was at the begin. */
static inline struct pose2 place(const struct bench *b)
{
    struct pose2 apart = other_foot(b, b->left);
    return pose2_mul(b->foot, (struct pose2){apart.x / 2, apart.y / 2, apart.theta / 2});
}

static inline void feed(struct bench *b)
{
    feed_feet(b);
    JointState *joints = nm_harness_set(b->h, "joint_states");
    joints->name.n = joints->position.n = b->body->n_joints;
    for (uint32_t j = 0; j < b->body->n_joints; j++) {
        nm_text(joints->name.at[j], "%s", b->body->joints[j].name);
        if (!b->joints_frozen) b->held[j] = b->q[j];
        joints->position.at[j] = b->held[j];
    }
    Imu *imu = nm_harness_set(b->h, "imu/data");
    struct quat torso = quat_rpy(0, 0, place(b).theta);
    imu->orientation = (Quaternion){torso.x, torso.y, torso.z, torso.w};
    if (b->late > 0) joints->header.stamp = imu->header.stamp = stamp_of(0.008 * (b->ticks + 1) - b->late);
    imu->linear_acceleration.x = b->pulled;
    imu->linear_acceleration.z = b->imu_frozen ? 9.81 : 9.81 + 1e-6 * (b->ticks % 7); /* what lives is noisy */
}

static inline void follow_feet(struct bench *b)
{
    const WalkState *w = nm_harness_get(b->h, "walk_state");
    if (!w || w->left_support == b->left) return;
    b->foot = pose2_mul(b->foot, other_foot(b, b->left));
    b->left = w->left_support;
}

static inline const WalkState *tick(struct bench *b, int n)
{
    while (n--) {
        feed(b);
        nm_harness_step(b->h, 0.008);
        b->ticks++;
        const JointGoals *goals = nm_harness_get(b->h, "joint_goals");
        for (uint32_t i = 0; goals && i < goals->name.n; i++) {
            int32_t joint = nm_find_joint(b->body, goals->name.at[i]);
            assert_true(joint >= 0 && isfinite(goals->position.at[i]));
            b->q[joint] = goals->position.at[i];
        }
        follow_feet(b);
    }
    return nm_harness_get(b->h, "walk_state");
}

static inline WalkCommand *command(struct bench *b, uint8_t mode)
{
    WalkCommand *c = nm_harness_set(b->h, "walk_command");
    c->mode = mode;
    return c;
}
