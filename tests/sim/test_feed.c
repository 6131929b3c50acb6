/* What simulated hardware says: angles in the servos' own space, goals brought back from there, broken parts that
 * answer as broken parts do, and percepts as the messages of a vision. */
#include "sim_help.h"

#include "nutmeg_msgs/Percept.h"
#include "sim/feed.h"
#include "sim/feed_percept.h"

struct bench {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_feed feed;
    struct nm_faults faults;
    struct nm_sense sense;
    struct nm_joint_goal goals[NM_JOINTS];
};

static void set_up(struct bench *b, const char *name)
{
    memset(b, 0, sizeof *b);
    b->body = load_robot(&b->arena, name);
    nm_feed_init(&b->feed, b->body, 1, 0);
    struct nm_dice dice = nm_dice_new(3, 0, 0);
    b->sense.time = 1234567890;
    for (uint32_t j = 0; j < b->body->n_joints; j++) {
        b->sense.joints[j] = (struct nm_joint_reading){nm_dice_both(&dice), nm_dice_both(&dice), 0.5, 25};
        b->goals[j] = (struct nm_joint_goal){.position = nm_dice_both(&dice), .torque_limit = 1, .on = true};
    }
    b->sense.gyro = (struct vec3){0.1, 0.2, 0.3};
    b->sense.accel = (struct vec3){0, 0, 9.81};
    for (int c = 0; c < NM_CELLS; c++) b->sense.cells[0][c] = 1 + c;
}

/* What comes out as servo angles and goes in again as goals is the same joint angle. */
static void there_and_back(void **state)
{
    (void)state;
    static const char *const names[] = {"kid70", "darwin"};
    for (int i = 0; i < 2; i++) {
        struct bench b;
        ServoStates states = {0};
        JointGoals goals = {0};
        set_up(&b, names[i]);
        assert_true(nm_feed_servos(&b.feed, &b.faults, &b.sense, b.goals, &states));
        assert_int_equal(states.header.stamp.sec, 1);
        for (uint32_t k = 0; k < states.name.n; k++) {
            snprintf(goals.name.at[k], sizeof goals.name.at[k], "%s", states.name.at[k]);
            goals.position.at[k] = states.position.at[k];
        }
        goals.name.n = goals.position.n = states.name.n;
        nm_feed_goals(b.body, &goals, b.goals);
        for (uint32_t j = 0; j < b.body->n_joints; j++)
            assert_near(b.goals[j].position, b.sense.joints[j].position, 1e-12);
        nm_arena_free(&b.arena);
    }
}

static void goals_are_read_with_care(void **state)
{
    (void)state;
    struct bench b;
    JointGoals g = {0};
    set_up(&b, "kid70");
    int32_t knee = nm_find_joint(b.body, "left_knee"), hip = nm_find_joint(b.body, "left_hip_pitch");
    double before = b.goals[hip].position;
    static const char *const names[] = {"left_knee", "no_such_joint", "left_hip_pitch", "left_knee"};
    for (int i = 0; i < 3; i++) snprintf(g.name.at[i], sizeof g.name.at[i], "%s", names[i]);
    g.name.n = g.position.n = g.stiffness.n = g.max_effort.n = 3;
    g.position.at[0] = 0.7, g.position.at[1] = 9, g.position.at[2] = NAN;
    g.stiffness.at[0] = 0.5f, g.stiffness.at[1] = g.stiffness.at[2] = 1;
    g.max_effort.at[0] = 5.45f;
    nm_feed_goals(b.body, &g, b.goals);
    assert_near(b.goals[knee].position, 0.7, 1e-12);
    assert_near(b.goals[knee].p, 16, 1e-9);             /* half of 32 */
    assert_near(b.goals[knee].torque_limit, 0.5, 0.01); /* of 10.9 Nm */
    assert_near(b.goals[hip].position, before, 0);
    g.stiffness.at[0] = 0;
    g.position.at[0] = 0.1;
    nm_feed_goals(b.body, &g, b.goals);
    assert_false(b.goals[knee].on);
    assert_near(b.goals[knee].position, 0.7, 1e-12);

    /* a torque asked for leads the goal: duty = torque / stall, angle = duty / (duty gain x P) */
    JointGoals f = {0};
    snprintf(f.name.at[0], sizeof f.name.at[0], "left_knee");
    f.name.n = f.position.n = f.effort.n = 1;
    f.effort.at[0] = 2;
    nm_feed_goals(b.body, &f, b.goals);
    assert_near(b.goals[knee].position, 2 / (2.1914 * 14.8 / 2.965) / (0.158 * 32), 1e-6);
    nm_arena_free(&b.arena);
}

static void broken_servos(void **state)
{
    (void)state;
    struct bench b;
    ServoStates s = {0};
    set_up(&b, "kid70");
    b.sense.voltage = 15.234;
    b.sense.joints[1].warmth = 41.6;
    static const enum nm_fault_kind kinds[] = {NM_FAULT_SERVO_DEAD, NM_FAULT_SERVO_LIMP, NM_FAULT_SERVO_SILENT,
                                               NM_FAULT_SERVO_HOT};
    for (uint32_t i = 0; i < 4; i++) nm_faults_add(&b.faults, kinds[i], i);
    assert_true(nm_faults_limp(&b.faults) == (1 | 2 | 8));
    nm_feed_servos(&b.feed, &b.faults, &b.sense, b.goals, &s);
    assert_true(isnan(s.position.at[0]) && isfinite(s.position.at[1]) && isnan(s.position.at[2]));
    assert_int_equal(s.error.at[0], ServoStates_ERROR_SILENT);
    assert_int_equal(s.error.at[3], ServoStates_ERROR_HEAT);
    assert_near(s.temperature.at[3], 80, 0);
    assert_near(s.temperature.at[1], 42, 0); /* in the steps of the registers */
    assert_near(s.voltage.at[1], 15.2, 1e-6);
    assert_true(isnan(s.voltage.at[0]) && isnan(s.temperature.at[2]));
    assert_true(!s.torque.at[1] && !s.torque.at[3] && s.torque.at[4]);
    nm_faults_add(&b.faults, NM_FAULT_STALL, 0);
    assert_false(nm_feed_servos(&b.feed, &b.faults, &b.sense, b.goals, &s));
    nm_arena_free(&b.arena);
}

static void broken_sensors(void **state)
{
    (void)state;
    struct bench b;
    Imu imu = {0};
    FootPressure feet = {0};
    set_up(&b, "kid70");
    assert_true(nm_feed_imu(&b.feed, &b.faults, &b.sense, &imu));
    assert_near(imu.angular_velocity.y, 0.2, 0);
    assert_near(imu.orientation_covariance[0], -1, 0); /* it measures none */
    assert_true(nm_feed_feet(&b.feed, &b.faults, &b.sense, &feet));
    assert_near(feet.left.cells[3], 4, 0);

    b.faults.imu_frozen = b.faults.foot_frozen[0] = b.faults.foot_lost[1] = true;
    b.sense.gyro.y = 5;
    b.sense.cells[0][3] = 50;
    nm_feed_imu(&b.feed, &b.faults, &b.sense, &imu);
    nm_feed_feet(&b.feed, &b.faults, &b.sense, &feet);
    assert_near(imu.angular_velocity.y, 0.2, 0);
    assert_near(feet.left.cells[3], 4, 0);
    assert_true(feet.left.valid && !feet.right.valid && isnan(feet.right.cells[0]));

    b.faults = (struct nm_faults){.imu_spikes = true};
    uint32_t spikes = 0;
    for (int i = 0; i < 1000; i++) {
        nm_feed_imu(&b.feed, &b.faults, &b.sense, &imu);
        spikes += fabs(imu.angular_velocity.x) > 30;
    }
    assert_in_range(spikes, 70, 130);
    b.faults = (struct nm_faults){.imu_lost = true};
    assert_false(nm_feed_imu(&b.feed, &b.faults, &b.sense, &imu));
    nm_arena_free(&b.arena);
}

static void a_cameras_numbers(void **state)
{
    (void)state;
    struct bench b;
    CameraInfo info = {0};
    set_up(&b, "darwin");
    nm_feed_camera_info(b.body, 0, &info);
    assert_int_equal(info.width, 640);
    assert_near(info.k[0], 554.3, 1e-9);
    assert_near(info.k[5], 239.5, 1e-9);
    assert_near(info.p[6], 239.5, 1e-9);
    assert_near(info.d.at[0], -0.05, 1e-12);
    nm_arena_free(&b.arena);
}

/* ---- percepts ---- */

static struct nm_glimpse a_glimpse(const struct nm_pitch *pitch)
{
    struct nm_glimpse g = {.pitch = pitch, .camera = "camera", .n = 7};
    double half = (pitch->goal_width + pitch->post) / 2;
    g.team[3] = 1;
    g.percepts[0] = (struct nm_percept){.kind = NM_PERCEPT_BALL, .confidence = 0.4, .x = 3, .truth = -1};
    g.percepts[1] = (struct nm_percept){.kind = NM_PERCEPT_BALL, .confidence = 0.9, .x = 1, .y = 0.5, .xx = 0.01};
    g.percepts[2] = (struct nm_percept){.kind = NM_PERCEPT_POST, .confidence = 0.8, .x = 4, .y = -half};
    g.percepts[3] = (struct nm_percept){.kind = NM_PERCEPT_POST, .confidence = 0.7, .x = 4, .y = half, .truth = 1};
    g.percepts[4] = (struct nm_percept){.kind = NM_PERCEPT_ROBOT, .confidence = 0.8, .x = 2, .truth = 3};
    g.percepts[5] =
        (struct nm_percept){.kind = NM_PERCEPT_T, .confidence = 0.8, .x = 2, .y = 1, .orientation = M_PI / 2};
    g.segments[0] = (struct nm_segment){.confidence = 0.7, .x0 = 1, .y0 = -1, .x1 = 1, .y1 = 1};
    g.n_segments = 1;
    g.percepts[6] = (struct nm_percept){.kind = NM_PERCEPT_CIRCLE, .confidence = 0.8, .x = 2, .y = 0};
    return g;
}

static void percepts_as_messages(void **state)
{
    (void)state;
    struct nm_pitch pitch;
    load_pitch(&pitch, "kid");
    struct nm_glimpse g = a_glimpse(&pitch);
    static Percepts all;
    static ObstaclesRelative obstacles;
    static LineInformationRelative lines;
    BallRelative ball = {0};
    GoalRelative goal = {0};
    nm_feed_percepts(&g, &all);
    nm_feed_ball(&g, &ball);
    nm_feed_goal(&g, &goal);
    nm_feed_obstacles(&g, &obstacles);
    nm_feed_lines(&g, &lines);
    assert_int_equal(all.percepts.n, 7);
    assert_int_equal(all.percepts.at[4].kind, Percept_RIVAL);
    assert_near(all.percepts.at[1].covariance[0], 0.01, 0);
    assert_near(ball.ball_relative.y, 0.5, 0); /* the surer one */
    assert_true(goal.left_post.y > 1 && goal.right_post.y < -1);
    assert_near(goal.center_direction.y, 0, 1e-9);
    assert_int_equal(obstacles.obstacles.n, 3);
    assert_int_equal(obstacles.obstacles.at[2].color, ObstacleRelative_ROBOT_CYAN);
    assert_int_equal(lines.markings.n, 1);
    assert_int_equal(lines.markings.at[0].type, LineIntersectionRelative_T);
    assert_near(lines.markings.at[0].segments[0].end.y, 1.3, 1e-6); /* the stem */
    assert_int_equal(lines.segments.n, 1);
    assert_near(lines.segments.at[0].end.y, 1, 0);
    assert_int_equal(lines.circles.n, 1);
    assert_near(lines.circles.at[0].middle.x, 2 - pitch.circle_radius, 1e-9);

    g.n = 3; /* one post only */
    nm_feed_goal(&g, &goal);
    assert_true(isnan(goal.right_post.x));
    g.n = 0;
    ball = (BallRelative){0};
    nm_feed_ball(&g, &ball);
    assert_near(ball.confidence, 0, 0);
}

/* Old goals: strength falls in a straight line to a third, goals approach the joints exponentially; both come from the
 * driver's table. With word strength returns at once in a ramp, whatever it was. */
static void old_goals_become_a_brake(void **state)
{
    (void)state;
    const int64_t step = 4000000, old = 200000000;
    struct bench b;
    struct nm_damping damping = {0};
    set_up(&b, "kid70");
    double away = b.goals[3].position - b.sense.joints[3].position, before = b.goals[3].position;
    nm_feed_damp(&damping, b.body, &b.sense, 50000000, step, b.goals);
    assert_near(damping.share, 1, 0);
    assert_near(b.goals[3].position, before, 0);
    for (int i = 0; i < 30; i++) nm_feed_damp(&damping, b.body, &b.sense, old, step, b.goals);
    assert_near(damping.share, 1 - 0.7 * 0.12 / 0.3, 1e-9);
    assert_near(b.goals[3].position - b.sense.joints[3].position, away * exp(-0.12 / 0.15), 1e-9);
    for (int i = 0; i < 300; i++) nm_feed_damp(&damping, b.body, &b.sense, old, step, b.goals);
    assert_near(damping.share, 0.3, 1e-9);
    for (int i = 0; i < 50; i++) nm_feed_damp(&damping, b.body, &b.sense, 0, step, b.goals);
    assert_near(damping.share, 0.3 + 0.2 / 0.5, 1e-9);
    nm_arena_free(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(goals_are_read_with_care),
        cmocka_unit_test(broken_servos),
        cmocka_unit_test(broken_sensors),
        cmocka_unit_test(old_goals_become_a_brake),
        cmocka_unit_test(a_cameras_numbers),
        cmocka_unit_test(percepts_as_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
