/* Brains and bodies in lockstep: what a robot's hardware would say reaches its line-up, what the line-up decides
 * reaches the servos, faults included; and what cannot begin says why. */
#include "theatre.h"

static void both_robots_rise_and_stand(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    const char *stand = NM_ROOT "/lineups/stand.yaml";
    struct nm_stage_robot robots[] = {robot("kid", KID, stand, -1, 0.6), robot("darwin", DARWIN, stand, -1, -0.6)};
    struct nm_stage *stage = play(&t, robots, 2);
    run(stage, 4);
    for (uint32_t i = 0; i < 2; i++) {
        struct nm_whereabouts w;
        nm_stage_whereabouts(stage, i, &w);
        assert_false(w.fallen);
        assert_near(w.base_to_field.pos.x, -1, 0.03);
        assert_true(nm_stage_goals(stage, i) > 400);
        /* it is the pose that was asked for, through servos that are mounted this way and that */
        assert_near(joint(stage, i, "left_knee"), 0.6, 0.05);
        assert_near(joint(stage, i, "left_elbow"), -0.6, 0.03);
        assert_near(joint(stage, i, "right_shoulder_roll"), -0.1, 0.03);
        assert_near(joint(stage, i, "head_pitch"), 0.3, 0.03);
    }
    assert_int_equal(nm_stage_incidents(stage), 0);
    close_theatre(&t, stage);
}

static void sensors_speak_as_the_hardware_does(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("darwin", DARWIN, lineup(&t, "witness"), 1, 1)};
    struct nm_stage *stage = play(&t, robots, 1);
    const struct nm_body *body = nm_stage_body(stage, 0);
    run(stage, 1);
    const ServoStates *s = &notes[0].servos;
    assert_int_equal(s->name.n, 20);
    for (uint32_t i = 0; i < s->name.n; i++) {
        const struct nm_servo *servo = &body->servos[body->joints[nm_find_joint(body, s->name.at[i])].servo];
        assert_near(servo->direction * s->position.at[i] + servo->offset, joint(stage, 0, s->name.at[i]), 0.02);
        assert_true(s->torque.at[i]);
        assert_int_equal(s->error.at[i], 0);
    }
    /* a bus of 8 ms, read 4 ms or more after the measurement */
    assert_in_range((uint64_t)notes[0].servos_n, 123, 126);
    assert_near(notes[0].imu.linear_acceleration.z, 9.81, 0.5);
    assert_string_equal(notes[0].imu.header.frame_id, "imu_frame");
    float sum = 0;
    for (int i = 0; i < 4; i++) sum += notes[0].feet.left.cells[i] + notes[0].feet.right.cells[i];
    assert_near(sum, body->mass * 9.81, 3);
    assert_near(notes[0].battery.voltage, 12.1, 0.15);
    assert_near(notes[0].battery.voltage, s->voltage.at[0], 0.15);
    assert_true(isnan(notes[0].battery.percentage)); /* a board that measures the voltage knows no more */
    assert_int_equal(notes[0].buttons.name.n, 2);
    assert_near(notes[0].body.pose.position.y, 1, 0.02);
    assert_int_equal(notes[0].world.bodies.n, 2);
    assert_string_equal(notes[0].world.bodies.at[1].name, "ball");
    close_theatre(&t, stage);
}

/* Turns the left hip, so that feet and torso look in different directions, as in a step of a turn. */
struct hip_turner {
    struct nm *nm;
    JointGoals *goals;
};

static void turn_hip(struct hip_turner *f)
{
    nm_text(f->goals->name.at[0], "left_hip_yaw");
    f->goals->position.at[0] = 0.5;
    f->goals->name.n = f->goals->position.n = 1;
    nm_put(f->nm, f->goals);
}

#define SELF struct hip_turner
static const struct nm_port turner_ports[] = {NM_OUT(goals, JointGoals, "servo_goals"), {0}};
NM_MODULE(hip_turner, "Turns a hip.", NM_PORTS(turner_ports), .step = NM_CALL(turn_hip))
#undef SELF

/* base_footprint points where the torso does, as body_model and the odometry have it. */
static void percepts_are_in_the_frame_of_the_odometry(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    t.options.fidelity = NM_FIDELITY_PERCEPT;
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "seer, hip_turner"), 0, 0)};
    struct nm_stage *stage = play(&t, robots, 1);
    nm_stage_put_ball(stage, (struct vec3){1.5, 0.3, 0}, (struct vec3){0, 0, 0});
    run(stage, 1.5);
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    struct vec3 ball = nm_stage_ball(stage, NULL);
    double torso = quat_yaw(w.base_to_field.rot), turned = joint(stage, 0, "left_hip_yaw");
    assert_false(w.fallen);
    assert_true(fabs(turned) > 0.4); /* the middle of the feet's directions is half of it beside the torso's */
    struct pose2 seen = pose2_mul((struct pose2){w.base_to_field.pos.x, w.base_to_field.pos.y, torso},
                                  (struct pose2){notes[0].ball.ball_relative.x, notes[0].ball.ball_relative.y, 0});
    assert_true(notes[0].ball.confidence > 0);
    double bearing = atan2(ball.y - w.base_to_field.pos.y, ball.x - w.base_to_field.pos.x);
    assert_near(atan2(seen.y - w.base_to_field.pos.y, seen.x - w.base_to_field.pos.x), bearing, 0.08);
    close_theatre(&t, stage);
}

static void servos_keep_the_last_goal_when_goals_stop(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    /* 45 degrees is where darwin's arm hangs: joint = -servo + 0.7854 */
    const char *set[] = {"arm_lifter.angle=-0.2", "arm_lifter.until=0.5"};
    struct nm_stage_robot robots[] = {robot("darwin", DARWIN, lineup(&t, "arm_lifter"), 1, 1)};
    robots[0].set = set, robots[0].n_set = 2;
    struct nm_stage *stage = play(&t, robots, 1);
    run(stage, 0.5);
    uint64_t goals = nm_stage_goals(stage, 0);
    run(stage, 2);
    assert_true(nm_stage_goals(stage, 0) <= goals + 1);
    assert_near(joint(stage, 0, "left_shoulder_roll"), 0.9854, 0.05);
    assert_near(joint(stage, 0, "right_shoulder_roll"), 0, 0.05);
    close_theatre(&t, stage);
}

static void motors_without_power_let_go(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    const char *set[] = {"arm_lifter.off_at=0.3", "arm_lifter.slot=1"};
    struct nm_stage_robot robots[] = {robot("asks", KID, lineup(&t, "arm_lifter"), 1, 1),
                                      robot("told", KID, NULL, 1, -1), robot("not", KID, NULL, -1, -1)};
    robots[0].set = set, robots[0].n_set = 2;
    notes[1].powered = true;
    struct nm_stage *stage = play(&t, robots, 3);
    run(stage, 0.3);
    nm_stage_power(stage, 1, false);
    run(stage, 2.5);
    struct nm_whereabouts w[3];
    for (uint32_t i = 0; i < 3; i++) nm_stage_whereabouts(stage, i, &w[i]);
    assert_false(notes[1].powered); /* the service has answered */
    assert_true(w[0].base_to_field.pos.z < 0.25);
    assert_true(w[1].base_to_field.pos.z < 0.25);
    assert_true(w[2].base_to_field.pos.z > 0.3); /* nobody's goals are needed to stand */
    close_theatre(&t, stage);
}

static int32_t servo_row(const ServoStates *s, const char *name)
{
    for (uint32_t i = 0; i < s->name.n; i++)
        if (!strcmp(s->name.at[i], name)) return (int32_t)i;
    fail_msg("no servo %s", name);
    return -1;
}

static void faults_last_as_long_as_they_are_told_to(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "witness"), 1, 1)};
    struct nm_stage *stage = play(&t, robots, 1);
    uint32_t knee = (uint32_t)nm_find_joint(nm_stage_body(stage, 0), "left_knee");
    const struct notes *n = &notes[0];
    const int64_t ms = 1000000;
    run(stage, 0.4);

    nm_stage_fault(stage, 0, NM_FAULT_SERVO_SILENT, knee, 100 * ms);
    nm_stage_fault(stage, 0, NM_FAULT_IMU_FROZEN, 0, 100 * ms);
    nm_stage_fault(stage, 0, NM_FAULT_FOOT_LOST, NM_RIGHT, 100 * ms);
    run(stage, 0.05);
    int32_t row = servo_row(&n->servos, "left_knee");
    Vector3 gyro = n->imu.angular_velocity;
    assert_true(isnan(n->servos.position.at[row]));
    assert_int_equal(n->servos.error.at[row], ServoStates_ERROR_SILENT);
    assert_true(isfinite(n->servos.position.at[row + 1]));
    assert_true(isnan(n->feet.right.cells[0]) && !n->feet.right.valid);
    assert_true(n->feet.left.valid);
    run(stage, 0.04);
    assert_true(gyro.x == n->imu.angular_velocity.x);
    run(stage, 0.1);
    assert_true(isfinite(n->servos.position.at[row]));
    assert_false(gyro.x == n->imu.angular_velocity.x);
    assert_true(n->feet.right.valid);

    nm_stage_fault(stage, 0, NM_FAULT_BUS_LOST, 0, 100 * ms);
    run(stage, 0.02);
    uint32_t imus = n->imus_n;
    run(stage, 0.06);
    assert_int_equal(n->imus_n, imus);
    for (uint32_t i = 0; i < n->servos.name.n; i++) assert_true(isnan(n->servos.position.at[i]));
    run(stage, 0.2);
    assert_true(n->imus_n > imus);

    nm_stage_fault(stage, 0, NM_FAULT_STALL, 0, 100 * ms);
    run(stage, 0.02);
    uint32_t servos = n->servos_n;
    run(stage, 0.06);
    assert_int_equal(n->servos_n, servos);
    run(stage, 0.1);
    assert_true(n->servos_n > servos);
    close_theatre(&t, stage);
}

static void a_dead_servo_gives_way(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, NULL, 1, 1)};
    struct nm_stage *stage = play(&t, robots, 1);
    for (int side = 0; side < 2; side++)
        nm_stage_fault(stage, 0, NM_FAULT_SERVO_DEAD, nm_stage_body(stage, 0)->leg[side].joints[3], INT64_MAX);
    run(stage, 2);
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, 0, &w);
    assert_true(w.base_to_field.pos.z < 0.25);
    close_theatre(&t, stage);
}

static void refused(struct theatre *t, const struct nm_stage_robot *robots, uint32_t n, const char *sentence)
{
    struct nm_err err = {0};
    assert_null(nm_stage_new(robots, n, &t->options, &err));
    if (!strstr(err.text, sentence)) fail_msg("'%s' is not in: %s", sentence, err.text);
}

static void what_cannot_begin_says_why(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[2] = {robot("a", KID, lineup(&t, "viewer"), 1, 1), robot("a", KID, NULL, -1, 1)};
    refused(&t, robots, 2, "two robots are called a");
    robots[1].name = "b";
    robots[1].folder = NM_ROOT "/robots/none";
    refused(&t, robots, 2, "none");
    t.options.fidelity = NM_FIDELITY_PERCEPT; /* no pictures there */
    refused(&t, robots, 1, "camera/image_raw");
    t.options.fidelity = NM_FIDELITY_FLAT;
    robots[0].lineup = lineup(&t, "witness");
    refused(&t, robots, 1, "servo_states");
    t.options.fidelity = NM_FIDELITY_CAMERA;
    robots[0].lineup = NM_ROOT "/lineups/none.yaml";
    refused(&t, robots, 1, "robot a: its line-up");
    close_theatre(&t, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_robots_rise_and_stand),
        cmocka_unit_test(sensors_speak_as_the_hardware_does),
        cmocka_unit_test(percepts_are_in_the_frame_of_the_odometry),
        cmocka_unit_test(servos_keep_the_last_goal_when_goals_stop),
        cmocka_unit_test(motors_without_power_let_go),
        cmocka_unit_test(faults_last_as_long_as_they_are_told_to),
        cmocka_unit_test(a_dead_servo_gives_way),
        cmocka_unit_test(what_cannot_begin_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
