/* The simulated servo is the identified motor: duty from the error, torque from the duty, goals and positions in whole
 * steps of the encoder. */
#include "sim/sim_help.h"

static struct nm_servo_model model_of(struct nm_arena *arena, const char *robot, const char *joint)
{
    const struct nm_body *body = load_robot(arena, robot);
    int32_t j = nm_find_joint(body, joint);
    assert_true(j >= 0);
    return nm_servo_model_of(body, (uint32_t)j);
}

static struct nm_servo_state powered(double goal)
{
    return (struct nm_servo_state){.goal = {.position = goal, .torque_limit = 1, .on = true}};
}

/* Table 2.3 of the identified models, at 14.8 V and P = 32: MX-106 kp 53.2, damping 1.655, force 10.9. */
static void an_mx106_has_its_published_stiffness_damping_and_force(void **state)
{
    struct nm_arena arena = {0};
    (void)state;
    struct nm_servo_model m = model_of(&arena, "kid70", "left_knee");
    assert_near(m.brake, 1.655, 0.005);
    assert_near(m.stall, 10.94, 0.01);
    m.step = 0;
    struct nm_servo_state s = powered(0.01);
    double kp = nm_servo_torque(&m, &s, 0) / 0.01;
    assert_near(kp * 0.9625, 53.2, 0.1); /* the published table multiplies by the greatest duty once more */
    s = powered(3);
    assert_near(nm_servo_torque(&m, &s, 0), m.stall * 0.9625, 1e-9);
    s.goal.torque_limit = 0.5;
    assert_near(nm_servo_torque(&m, &s, 0), m.stall * 0.9625 * 0.5, 1e-9);
    s.goal.on = false;
    assert_near(nm_servo_torque(&m, &s, 0), 0, 0);
    nm_arena_free(&arena);
}

static void a_gain_scales_the_torque(void **state)
{
    struct nm_arena arena = {0};
    (void)state;
    struct nm_servo_model m = model_of(&arena, "kid70", "left_knee");
    m.step = 0;
    struct nm_servo_state soft = powered(0.02), hard = powered(0.02);
    soft.goal.p = 8;
    hard.goal.p = 32;
    assert_near(4 * nm_servo_torque(&m, &soft, 0), nm_servo_torque(&m, &hard, 0), 1e-9);
    nm_arena_free(&arena);
}

/* A goal travels to the servo as a whole number of steps: two that differ by less than one are the same goal. */
static void goals_are_whole_steps_of_the_encoder(void **state)
{
    struct nm_arena arena = {0};
    (void)state;
    struct nm_servo_model m = model_of(&arena, "kid70", "left_knee");
    struct nm_servo_state one = powered(20 * m.step), near = powered(20.4 * m.step), next = powered(20.6 * m.step);
    double torque = nm_servo_torque(&m, &one, 0);
    assert_near(torque, m.stall * 0.158 * 32 * 20 * m.step, 1e-9);
    assert_near(nm_servo_torque(&m, &near, 0), torque, 1e-12);
    assert_near(nm_servo_torque(&m, &next, 0), torque * 21 / 20, 1e-9);
    nm_arena_free(&arena);
}

static void the_encoder_shows_steps_and_the_zero_error(void **state)
{
    struct nm_arena arena = {0};
    (void)state;
    struct nm_servo_model m = model_of(&arena, "darwin", "left_knee");
    assert_near(m.step, 2 * M_PI / 4096, 1e-12);
    m.zero = 0.1;
    for (double q = -2; q < 2; q += 0.01234) {
        double shown = nm_servo_measure(&m, q);
        assert_near(remainder(shown, m.step), 0, 1e-9);
        assert_near(shown, q + 0.1, m.step / 2 + 1e-12);
    }
    nm_arena_free(&arena);
}

static void a_joint_without_a_servo_gets_a_motor_from_its_limits(void **state)
{
    const struct nm_joint joint = {.effort = 5, .velocity = 4, .damping = 0.1, .friction = 0.2, .servo = -1};
    const struct nm_joint loose = {.effort = INFINITY, .velocity = INFINITY, .damping = 0.1, .servo = -1};
    struct nm_body body = {.joints = &joint};
    (void)state;
    struct nm_servo_model m = nm_servo_model_of(&body, 0);
    assert_near(m.stall, 5, 1e-12);
    assert_near(m.brake, 0.1 + 5.0 / 4, 1e-12);
    body.joints = &loose;
    m = nm_servo_model_of(&body, 0);
    struct nm_servo_state s = powered(1);
    assert_near(nm_servo_torque(&m, &s, 0), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_mx106_has_its_published_stiffness_damping_and_force),
        cmocka_unit_test(a_gain_scales_the_torque),
        cmocka_unit_test(goals_are_whole_steps_of_the_encoder),
        cmocka_unit_test(the_encoder_shows_steps_and_the_zero_error),
        cmocka_unit_test(a_joint_without_a_servo_gets_a_motor_from_its_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
