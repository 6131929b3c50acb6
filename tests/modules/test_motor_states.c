/* Servo angles become joint angles by the robot's table; whatever a servo does not say, no NaN gets behind this module.
 */
#include "modules/body_rig.h"
#include "nutmeg_msgs/ServoStates.h"

extern const struct nm_module motor_states_module;

static const struct nm_body *body; /* darwin: servos in both directions, with offsets */

/* All servos at these angles, in the order of the table. */
static ServoStates *give_servos(struct nm_harness *h, const double angle[], const double speed[])
{
    ServoStates *s = nm_harness_set(h, "servo_states");
    for (uint32_t i = 0; i < body->n_servos; i++) {
        nm_text(s->name.at[i], "%s", body->joints[body->servos[i].joint].name);
        s->position.at[i] = angle[i];
        s->velocity.at[i] = speed[i];
        s->effort.at[i] = 0.1 * i;
    }
    s->name.n = s->position.n = s->velocity.n = s->effort.n = body->n_servos;
    return s;
}

static double joint_of(const JointState *j, const char *name, double *velocity)
{
    for (uint32_t i = 0; i < j->name.n; i++)
        if (!strcmp(j->name.at[i], name)) {
            if (velocity) *velocity = j->velocity.at[i];
            return j->position.at[i];
        }
    return NAN;
}

static void every_joint_is_direction_times_servo_plus_offset(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_states_module, NULL, body);
    uint64_t seed = 1;
    for (int round = 0; round < 50; round++) {
        double angle[NM_JOINTS], speed[NM_JOINTS], velocity = NAN;
        for (uint32_t i = 0; i < body->n_servos; i++) angle[i] = dice(&seed, -3, 3), speed[i] = dice(&seed, -5, 5);
        give_servos(h, angle, speed)->header.stamp = stamp_of(12.5);
        nm_harness_step(h, 0.01);
        const JointState *j = nm_harness_get(h, "joint_states");
        assert_int_equal(j->name.n, body->n_servos);
        assert_int_equal(j->header.stamp.sec, 12);
        for (uint32_t i = 0; i < body->n_servos; i++) {
            const struct nm_servo *s = &body->servos[i];
            assert_near(joint_of(j, body->joints[s->joint].name, &velocity), s->direction * angle[i] + s->offset,
                        1e-12);
            assert_near(velocity, s->direction * speed[i], 1e-12);
        }
    }
    nm_harness_free(h);
}

static void a_silent_servo_keeps_its_last_angle_and_stands_still(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_states_module, NULL, body);
    double angle[NM_JOINTS] = {0.3, 0.4}, speed[NM_JOINTS] = {1, 2}, velocity = NAN;
    const char *name = body->joints[body->servos[0].joint].name;
    give_servos(h, angle, speed);
    nm_harness_step(h, 0.01);
    double before = joint_of(nm_harness_get(h, "joint_states"), name, NULL);
    angle[0] = NAN;
    give_servos(h, angle, speed);
    nm_harness_step(h, 0.01);
    assert_near(joint_of(nm_harness_get(h, "joint_states"), name, &velocity), before, 0);
    assert_near(velocity, 0, 0);
    nm_harness_free(h);
}

static void a_servo_that_never_answered_is_left_out(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_states_module, NULL, body);
    double angle[NM_JOINTS] = {0}, speed[NM_JOINTS] = {0};
    angle[3] = NAN;
    give_servos(h, angle, speed);
    nm_harness_step(h, 0.01);
    const JointState *j = nm_harness_get(h, "joint_states");
    assert_int_equal(j->name.n, body->n_servos - 1);
    assert_true(isnan(joint_of(j, body->joints[body->servos[3].joint].name, NULL)));
    nm_harness_free(h);
}

static void no_nan_gets_through(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_states_module, NULL, body);
    uint64_t seed = 5;
    for (int round = 0; round < 300; round++) {
        double angle[NM_JOINTS], speed[NM_JOINTS];
        for (uint32_t i = 0; i < body->n_servos; i++) {
            angle[i] = dice(&seed, 0, 1) < 0.3 ? (double)NAN : dice(&seed, -3, 3);
            speed[i] = dice(&seed, 0, 1) < 0.3 ? (double)INFINITY : dice(&seed, -3, 3);
        }
        ServoStates *s = give_servos(h, angle, speed);
        s->velocity.n = (uint32_t)dice(&seed, 0, body->n_servos); /* arrays cut short by somebody outside */
        s->effort.n = 0;
        nm_harness_step(h, 0.01);
        const JointState *j = nm_harness_get(h, "joint_states");
        assert_true(j->position.n == j->name.n && j->velocity.n == j->name.n && j->effort.n == j->name.n);
        for (uint32_t i = 0; i < j->name.n; i++)
            assert_true(isfinite(j->position.at[i]) && isfinite(j->velocity.at[i]) && isfinite(j->effort.at[i]));
    }
    nm_harness_free(h);
}

static void an_unknown_servo_is_told_once(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_states_module, NULL, body);
    for (int round = 0; round < 3; round++) {
        ServoStates *s = nm_harness_set(h, "servo_states");
        nm_text(s->name.at[0], "tail");
        s->position.at[0] = 1;
        s->name.n = s->position.n = 1;
        nm_harness_step(h, 0.01);
        assert_int_equal(lines_with(h, "'tail' drives no joint of darwin"), round == 0);
        assert_int_equal(((const JointState *)nm_harness_get(h, "joint_states"))->name.n, 0);
    }
    nm_harness_free(h);
}

static void without_new_servo_states_nothing_is_told(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new_with(&motor_states_module, NULL, body);
    nm_harness_step(h, 0.01);
    assert_null(nm_harness_get(h, "joint_states"));
    nm_harness_free(h);
}

int main(void)
{
    struct nm_arena arena = {0};
    body = nm_body_load(&arena, DARWIN, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_joint_is_direction_times_servo_plus_offset),
        cmocka_unit_test(a_silent_servo_keeps_its_last_angle_and_stands_still),
        cmocka_unit_test(a_servo_that_never_answered_is_left_out),
        cmocka_unit_test(no_nan_gets_through),
        cmocka_unit_test(an_unknown_servo_is_told_once),
        cmocka_unit_test(without_new_servo_states_nothing_is_told),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nm_arena_free(&arena);
    return failed;
}
