/* The moving body against a robot whose every pose is known: standing, walking along an arc, turning; with the inertial
 * sensor and without. */
#include "modules/walker.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BodyState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/SupportState.h"
#include "tf2_msgs/TFMessage.h"

extern const struct nm_module body_model_module;

static const struct nm_body *body;
static const double dt = 0.008;

static void give_support(struct nm_harness *h, uint8_t foot)
{
    SupportState *s = nm_harness_set(h, "support_state");
    s->foot = foot;
    s->left_share = foot == SupportState_LEFT ? 1 : foot == SupportState_RIGHT ? 0 : 0.5f;
}

static uint8_t foot_of(enum nm_side side) { return side == NM_LEFT ? SupportState_LEFT : SupportState_RIGHT; }

/* Tells the module of one moment, at that time. */
static void live(struct nm_harness *h, const struct moment *m, double t, bool imu)
{
    give_joints(h, body, m->q, NULL, t);
    give_support(h, foot_of(m->support));
    if (imu) give_torso(h, m->torso.rot, (struct vec3){0});
    nm_harness_step(h, dt);
}

static void a_standing_robot_is_its_forward_kinematics(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&body_model_module, NULL, body);
    struct walker w;
    struct moment m;
    walker_begin(&w, body);
    walker_at(&w, -1, &m);
    for (int i = 1; i < 20; i++) live(h, &m, i * dt, true);
    const BodyState *b = nm_harness_get(h, "body_state");
    struct nm_kin kin;
    nm_forward(body, m.torso, m.q, &kin);
    struct vec3 com = nm_com(body, &kin);
    assert_pose_near(b->torso, m.torso, 1e-9);
    assert_pose_near(b->left_sole, m.sole[0], 1e-9);
    assert_pose_near(b->right_sole, m.sole[1], 1e-9);
    assert_near(b->center_of_mass.x, com.x, 1e-9);
    assert_near(b->center_of_mass.z, com.z, 1e-9);
    assert_near(b->zmp.x, com.x, 1e-9); /* nothing moves */
    assert_near(b->zmp.y, com.y, 1e-9);
    assert_near(b->center_of_mass_velocity.x, 0, 1e-9);
    assert_string_equal(b->header.frame_id, "base_footprint");
    nm_harness_free(h);
}

/* Gears with play: each motor has run ahead of its joint to the end against which it pushes, and the load tells which.
 */
static void loaded_gears_lie_at_one_end_of_their_play(void **state)
{
    (void)state;
    const double play = 0.02;
    struct nm_harness *h = nm_harness_new_with(&body_model_module, "play=0.02", body);
    struct walker w;
    struct moment m;
    walker_begin(&w, body);
    walker_at(&w, -1, &m);
    for (int i = 1; i < 20; i++) {
        JointState *joints = give_joints(h, body, m.q, NULL, i * dt);
        for (int side = 0; side < 2; side++)
            for (uint32_t k = 0; k < body->leg[side].n; k++) {
                uint32_t j = body->leg[side].joints[k];
                double forward = (k + (uint32_t)side) % 2 ? 1 : -1;
                joints->position.at[j] += forward * play / 2;
                joints->effort.at[j] = forward * 3;
            }
        joints->effort.n = joints->name.n;
        give_support(h, foot_of(m.support));
        give_torso(h, m.torso.rot, (struct vec3){0});
        nm_harness_step(h, dt);
    }
    const BodyState *b = nm_harness_get(h, "body_state");
    assert_pose_near(b->torso, m.torso, 1e-9);
    assert_pose_near(b->left_sole, m.sole[0], 1e-9);
    assert_pose_near(b->right_sole, m.sole[1], 1e-9);
    nm_harness_free(h);
}

/* Walks for some seconds; the largest error of the odometry on the way, and the module's harness to look at. */
static double walk(struct nm_harness *h, const struct walker *w, double seconds, bool imu)
{
    double worst = 0;
    struct moment m;
    for (int i = 1; i * dt < seconds; i++) {
        double t = i * dt;
        walker_at(w, t, &m);
        live(h, &m, t, imu);
        const Odometry *o = nm_harness_get(h, "odometry");
        struct pose2 truth = walker_robot(&m);
        double yaw = quat_yaw((struct quat){o->pose.pose.orientation.w, o->pose.pose.orientation.x,
                                            o->pose.pose.orientation.y, o->pose.pose.orientation.z});
        double error = hypot(o->pose.pose.position.x - truth.x, o->pose.pose.position.y - truth.y) +
                       fabs(angle_normal(yaw - truth.theta));
        worst = fmax(worst, error);
    }
    return worst;
}

static void the_steps_add_up_to_the_way(void **state)
{
    (void)state;
    struct walker w;
    walker_begin(&w, body);
    const struct pose2 ways[] = {{0.2, 0, 0}, {0, 0.1, 0}, {0.15, 0.05, 0.4}, {0, 0, 0.6}, {-0.1, 0, -0.3}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct nm_harness *h = nm_harness_new_with(&body_model_module, NULL, body);
        w.velocity = ways[i];
        w.roll = 0.05, w.pitch = 0.02;
        /* the swing foot is off the ground for a sample when the support changes: a tenth of a millimetre a step */
        assert_near(walk(h, &w, 6, true), 0, 0.004);
        const Odometry *o = nm_harness_get(h, "odometry");
        assert_near(o->twist.twist.angular.z, ways[i].theta, 0.25);
        assert_string_equal(o->header.frame_id, "odom");
        assert_string_equal(o->child_frame_id, "base_footprint");
        nm_harness_free(h);
    }
}

static void without_the_sensor_the_flat_foot_tells_the_same(void **state)
{
    (void)state;
    struct walker w;
    walker_begin(&w, body);
    struct nm_harness *h = nm_harness_new_with(&body_model_module, NULL, body);
    w.velocity = (struct pose2){0.15, 0.05, 0.4};
    w.roll = 0.05, w.pitch = 0.02;
    assert_near(walk(h, &w, 6, false), 0, 0.01);
    nm_harness_free(h);
}

static void losing_and_finding_the_sensor_does_not_turn_the_world(void **state)
{
    (void)state;
    struct walker w;
    struct moment m;
    walker_begin(&w, body);
    struct nm_harness *h = nm_harness_new_with(&body_model_module, NULL, body);
    w.velocity = (struct pose2){0.1, 0, 0.3};
    double last = 0;
    for (int i = 1; i < 1000; i++) {
        walker_at(&w, i * dt, &m);
        give_joints(h, body, m.q, NULL, i * dt);
        give_support(h, foot_of(m.support));
        /* a sensor with its own idea of north, silent for two seconds in between */
        if (i < 300 || i > 550) give_torso(h, quat_mul(quat_rpy(0, 0, 1.2), m.torso.rot), (struct vec3){0});
        nm_harness_step(h, dt);
        const Odometry *o = nm_harness_get(h, "odometry");
        double yaw = quat_yaw((struct quat){o->pose.pose.orientation.w, 0, 0, o->pose.pose.orientation.z});
        if (i > 1) assert_near(angle_normal(yaw - last), 0.3 * dt, 0.01);
        last = yaw;
    }
    nm_harness_free(h);
}

/* The torso sways sideways over feet that stand: 20 mm at 1 Hz. Returns the centre of mass. */
static struct vec3 sway(const struct walker *w, double t, struct moment *m)
{
    struct nm_kin kin;
    walker_at(w, -1, m);
    m->torso.pos.y = 0.02 * sin(2 * M_PI * t);
    for (int side = 0; side < 2; side++) {
        double q[NM_GROUP];
        nm_leg_ik(&w->leg[side], pose_mul(pose_inv(m->torso), m->sole[side]), q, NULL);
        for (uint32_t k = 0; k < w->leg[side].chain.n; k++) m->q[w->leg[side].chain.joints[k]] = q[k];
    }
    nm_forward(body, m->torso, m->q, &kin);
    return nm_com(body, &kin);
}

static void the_centre_of_mass_and_the_zero_moment_point_follow_the_motion(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&body_model_module, NULL, body);
    struct walker w;
    walker_begin(&w, body);
    for (int i = 0; i < 500; i++) {
        const double t = i * dt, e = 1e-3;
        struct moment before, after, m;
        double qd[NM_JOINTS];
        struct vec3 a = sway(&w, t - e, &before), b = sway(&w, t + e, &after), c = sway(&w, t, &m);
        for (uint32_t k = 0; k < body->n_joints; k++) qd[k] = (after.q[k] - before.q[k]) / (2 * e);
        give_joints(h, body, m.q, i % 2 ? qd : NULL, t + 1); /* speeds told, or to be found out */
        give_support(h, SupportState_BOTH);
        give_torso(h, m.torso.rot, (struct vec3){0});
        nm_harness_step(h, dt);
        if (i < 100) continue;
        const BodyState *body_state = nm_harness_get(h, "body_state");
        double velocity = (b.y - a.y) / (2 * e), acceleration = (b.y - 2 * c.y + a.y) / (e * e);
        assert_near(body_state->center_of_mass.y, c.y, 1e-9);
        assert_near(body_state->center_of_mass_velocity.y, velocity, i % 2 ? 1e-5 : 0.004);
        /* p = c - c_z / g c'', whose smoothing is 30 ms late: up to 4 mm of the 13 it swings by */
        assert_near(body_state->zmp.y, c.y - c.z / 9.81 * acceleration, 0.008);
    }
    nm_harness_free(h);
}

static void the_goal_is_the_body_as_the_goals_would_have_it(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&body_model_module, NULL, body);
    struct walker w;
    struct moment m;
    walker_begin(&w, body);
    w.velocity = (struct pose2){0.1, 0, 0};
    walker_at(&w, 0.15, &m);
    give_support(h, foot_of(m.support));
    JointGoals *g = nm_harness_set(h, "joint_goals");
    for (uint32_t i = 0; i < body->n_joints; i++) {
        nm_text(g->name.at[i], "%s", body->joints[i].name);
        g->position.at[i] = m.q[i];
    }
    g->name.n = g->position.n = body->n_joints;
    nm_harness_step(h, dt);
    const BodyState *b = nm_harness_get(h, "body_goal");
    struct pose3 to_robot = pose_inv(nm_ground_pose(walker_robot(&m)));
    assert_pose_near(b->torso, pose_mul(to_robot, m.torso), 1e-9);
    assert_pose_near(b->right_sole, pose_mul(to_robot, m.sole[1]), 1e-9);
    nm_harness_free(h);
}

static void transforms_say_what_the_messages_say(void **state)
{
    (void)state;
    const void *const *at;
    struct nm_harness *h = nm_harness_new_with(&body_model_module, NULL, body);
    struct walker w;
    walker_begin(&w, body);
    w.velocity = (struct pose2){0.1, 0, 0.2};
    walk(h, &w, 2, true);
    const BodyState *b = nm_harness_get(h, "body_state");
    const Odometry *o = nm_harness_get(h, "odometry");
    assert_int_equal(nm_harness_queue(h, "tf", &at), 1);
    const TFMessage *tf = at[0];
    assert_int_equal(tf->transforms.n, 2);
    assert_string_equal(tf->transforms.at[0].header.frame_id, "base_footprint");
    assert_string_equal(tf->transforms.at[0].child_frame_id, "base_link");
    assert_near(tf->transforms.at[0].transform.translation.z, b->torso.position.z, 0);
    assert_string_equal(tf->transforms.at[1].header.frame_id, "odom");
    assert_near(tf->transforms.at[1].transform.translation.x, o->pose.pose.position.x, 0);
    nm_harness_param(h, "odom_tf=false");
    struct moment m;
    walker_at(&w, 2.5, &m);
    live(h, &m, 2.5, true);
    assert_int_equal(nm_harness_queue(h, "tf", &at), 1);
    assert_int_equal(((const TFMessage *)at[0])->transforms.n, 1);
    nm_harness_free(h);
}

static void bad_numbers_from_outside_do_no_harm(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&body_model_module, NULL, body);
    struct walker w;
    struct moment m;
    uint64_t seed = 12;
    walker_begin(&w, body);
    for (int i = 1; i < 300; i++) {
        walker_at(&w, i * dt, &m);
        JointState *j = give_joints(h, body, m.q, m.q, i * dt);
        j->position.at[(int)dice(&seed, 0, 20)] = NAN;
        j->velocity.at[(int)dice(&seed, 0, 20)] = INFINITY;
        j->velocity.n = (uint32_t)dice(&seed, 0, 21);
        Imu *imu = give_torso(h, m.torso.rot, (struct vec3){NAN, 0, 0});
        if (i % 3 == 0) imu->orientation.w = NAN;
        if (i % 5 == 0) imu->orientation = (Quaternion){0, 0, 0, 0};
        give_support(h, (uint8_t)dice(&seed, 0, 256));
        nm_harness_step(h, dt);
        const BodyState *b = nm_harness_get(h, "body_state");
        assert_true(isfinite(b->torso.position.z + b->zmp.x + b->zmp.y + b->center_of_mass_velocity.x));
    }
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, KID70, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_standing_robot_is_its_forward_kinematics),
        cmocka_unit_test(loaded_gears_lie_at_one_end_of_their_play),
        cmocka_unit_test(the_steps_add_up_to_the_way),
        cmocka_unit_test(without_the_sensor_the_flat_foot_tells_the_same),
        cmocka_unit_test(losing_and_finding_the_sensor_does_not_turn_the_world),
        cmocka_unit_test(the_centre_of_mass_and_the_zero_moment_point_follow_the_motion),
        cmocka_unit_test(the_goal_is_the_body_as_the_goals_would_have_it),
        cmocka_unit_test(transforms_say_what_the_messages_say),
        cmocka_unit_test(bad_numbers_from_outside_do_no_harm),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}
