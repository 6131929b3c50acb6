/* The walk as a module: what it takes, what it refuses and why, and what it does when sensors die. The body follows its
 * goals exactly and stands level, so that steps are pure geometry. */
#include "modules/walk_rig.h"

extern const struct nm_module walk_module;

static void begin(struct bench *b)
{
    begin_with(b, &walk_module, "rise=0.2, stabilise=false, torque_ahead=0, speed_ahead=0, stride=1");
}

static void it_says_nothing_before_every_joint_answered(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    nm_harness_step(b.h, 0.008);
    assert_null(nm_harness_get(b.h, "joint_goals"));
    assert_int_equal(tick(&b, 40)->state, WalkState_STANDING);
    end(&b);
}

/* A velocity lasts as long as it is repeated. */
static void it_walks_while_it_is_told_to(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    tick(&b, 40);
    for (int i = 0; i < 20; i++) {
        command(&b, WalkCommand_VELOCITY)->velocity.linear.x = 0.3;
        tick(&b, 10);
    }
    const WalkState *w = tick(&b, 1);
    assert_int_equal(w->state, WalkState_WALKING);
    assert_true(w->steps > 3 && fabs(w->velocity.linear.x - 0.3) < 0.05);
    w = tick(&b, 450);
    assert_int_equal(w->state, WalkState_STANDING);
    end(&b);
}

/* Steps on the spot by a velocity of zero; stands by STAND. */
static void no_velocity_is_stepping_on_the_spot(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    tick(&b, 40);
    command(&b, WalkCommand_VELOCITY);
    assert_int_equal(tick(&b, 50)->state, WalkState_WALKING);
    command(&b, WalkCommand_STAND);
    assert_int_equal(tick(&b, 400)->state, WalkState_STANDING);
    end(&b);
}

static void a_target_is_reached(void **state)
{
    (void)state;
    static const struct pose2 targets[] = {{0.6, 0, 0}, {0.3, 0.25, 0.6}, {-0.25, -0.1, -0.5}, {0, 0, 1.5}};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct bench b;
        begin(&b);
        tick(&b, 40);
        struct pose2 start = place(&b);
        WalkCommand *c = command(&b, WalkCommand_TARGET);
        c->target = (Pose2D){targets[i].x, targets[i].y, targets[i].theta};
        const WalkState *w = tick(&b, 1500);
        assert_int_equal(w->state, WalkState_STANDING);
        assert_true(w->steps > 2 && w->steps < 60);
        struct pose2 moved = pose2_mul(pose2_inv(start), place(&b));
        assert_true(hypot(moved.x - targets[i].x, moved.y - targets[i].y) < 0.04);
        assert_true(fabs(angle_normal(moved.theta - targets[i].theta)) < 0.1);
        end(&b);
    }
}

struct refusal {
    uint8_t mode, kick;
    float strength, direction;
    const char *why;
};

static void a_kick_that_cannot_be_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct refusal rows[] = {
        {WalkCommand_STAND, WalkCommand_KICK_FORWARD, 1, 0, "rides on a step"},
        {WalkCommand_VELOCITY, WalkCommand_KICK_FORWARD, 0, 0, "strength"},
        {WalkCommand_VELOCITY, WalkCommand_KICK_FORWARD, 2, 0, "strength"},
        {WalkCommand_VELOCITY, WalkCommand_KICK_FORWARD, 1, 2, "direction"},
        {WalkCommand_VELOCITY, WalkCommand_KICK_FORWARD, 1, NAN, "direction"},
        {WalkCommand_VELOCITY, 77, 1, 0, "no kick"},
        {9, 0, 0, 0, "no mode"},
    };
    struct bench b;
    begin(&b);
    tick(&b, 40);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        WalkCommand *c = command(&b, rows[i].mode);
        c->kick = rows[i].kick;
        c->kick_strength = rows[i].strength;
        c->kick_direction = rows[i].direction;
        const WalkState *w = tick(&b, 1);
        if (!strstr(w->refused, rows[i].why)) fail_msg("'%s' says nothing of '%s'", w->refused, rows[i].why);
    }
    end(&b);
}

static void a_kick_rides_on_one_step(void **state)
{
    (void)state;
    for (uint8_t kick = WalkCommand_KICK_FORWARD; kick <= WalkCommand_KICK_TURN; kick++)
        for (int left = 0; left < 2; left++) {
            struct bench b;
            begin(&b);
            tick(&b, 40);
            for (int i = 0; i < 10; i++) {
                command(&b, WalkCommand_VELOCITY)->velocity.linear.x = 0.2;
                tick(&b, 10);
            }
            WalkCommand *c = command(&b, WalkCommand_VELOCITY);
            c->velocity.linear.x = 0.2;
            c->kick = kick;
            c->kick_left = left;
            c->kick_strength = 1;
            uint32_t kicking = 0, begun = 0;
            for (int i = 0; i < 250; i++) {
                if (i % 20 == 19) command(&b, WalkCommand_VELOCITY)->velocity.linear.x = 0.2;
                const WalkState *w = tick(&b, 1);
                assert_string_equal(w->refused, "");
                if (w->state != WalkState_KICKING) continue;
                assert_true(w->left_support != left); /* the other foot stands */
                if (!kicking++) begun = w->steps;
                assert_int_equal(w->steps, begun);
            }
            assert_true(kicking > 10);
            end(&b);
        }
}

/* A body that sways back does not kick. The ball is at its feet, and the step of that foot must not go there. */
static void a_kick_that_waits_waits_on_the_spot(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    tick(&b, 40);
    for (int i = 0; i < 20; i++) {
        command(&b, WalkCommand_VELOCITY)->velocity.linear.x = -0.3;
        tick(&b, 10);
    }
    WalkCommand *c = command(&b, WalkCommand_VELOCITY);
    c->velocity.linear.x = -0.3;
    c->kick = WalkCommand_KICK_FORWARD;
    c->kick_left = b.left; /* of the foot that lifts next */
    c->kick_strength = 1;
    const WalkState *w = tick(&b, 1);
    for (uint32_t steps = w->steps; w->steps == steps;) w = tick(&b, 1);
    assert_int_not_equal(w->state, WalkState_KICKING);
    assert_true(fabs(w->step.x) < 0.01);
    end(&b);
}

/* The ball is elsewhere by then. */
static void a_kick_that_found_no_step_in_time_is_forgotten(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    tick(&b, 40);
    WalkCommand *c = command(&b, WalkCommand_VELOCITY);
    c->kick = WalkCommand_KICK_FORWARD;
    c->kick_strength = 1;
    tick(&b, 1);
    command(&b, WalkCommand_STAND);
    bool told = false;
    for (int i = 0; i < 125; i++) told |= strstr(tick(&b, 1)->refused, "in time") != NULL;
    assert_true(told);
    for (int i = 0; i < 200; i++) {
        if (i % 20 == 0) command(&b, WalkCommand_VELOCITY)->velocity.linear.x = 0.2;
        assert_int_not_equal(tick(&b, 1)->state, WalkState_KICKING);
    }
    end(&b);
}

static void legs_of_somebody_else_are_left_alone(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    HcmState *hcm = nm_harness_set(b.h, "hcm_state");
    hcm->left_leg_owner = hcm->right_leg_owner = HcmState_OWNER_ANIMATION;
    command(&b, WalkCommand_VELOCITY);
    const WalkState *w = tick(&b, 1);
    assert_int_equal(w->state, WalkState_OFF);
    assert_non_null(strstr(w->refused, "somebody else"));
    assert_false(nm_harness_fresh(b.h, "joint_goals"));
    /* given back, it rises from where the joints are: no goal is far from there */
    for (uint32_t j = 0; j < b.body->n_joints; j++) b.q[j] = 0.1;
    hcm = nm_harness_set(b.h, "hcm_state");
    hcm->left_leg_owner = hcm->right_leg_owner = HcmState_OWNER_WALK;
    tick(&b, 1);
    const JointGoals *goals = nm_harness_get(b.h, "joint_goals");
    assert_true(goals && goals->name.n > 0);
    for (uint32_t i = 0; i < goals->name.n; i++) assert_true(fabs(goals->position.at[i] - 0.1) < 0.02);
    end(&b);
}

static void a_manager_that_forbids_walking_is_obeyed(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    HcmState *hcm = nm_harness_set(b.h, "hcm_state");
    hcm->state = HcmState_PENALTY;
    hcm->left_leg_owner = hcm->right_leg_owner = HcmState_OWNER_WALK;
    tick(&b, 40);
    command(&b, WalkCommand_VELOCITY)->velocity.linear.x = 0.3;
    const WalkState *w = tick(&b, 20);
    assert_int_equal(w->state, WalkState_STANDING);
    assert_true(w->refused[0]);
    end(&b);
}

/* The farthest that any goal moves in a tick, of a robot that is thrown about while it walks. */
static double farthest_leap(const char *leap)
{
    struct bench b;
    double most = 0, before[NM_JOINTS];
    uint64_t seed = 3;
    begin(&b);
    nm_harness_param(b.h, "stabilise=true");
    nm_harness_param(b.h, leap);
    tick(&b, 40);
    for (int i = 0; i < 250; i++) {
        memcpy(before, b.q, sizeof before);
        command(&b, WalkCommand_VELOCITY)->velocity.linear.x = 0.3;
        feed(&b);
        Imu *imu = nm_harness_set(b.h, "imu/data");
        struct quat o = quat_rpy(dice(&seed, -0.8, 0.8), dice(&seed, -0.8, 0.8), 0);
        imu->orientation = (Quaternion){o.x, o.y, o.z, o.w};
        imu->angular_velocity = (Vector3){dice(&seed, -6, 6), dice(&seed, -6, 6), 0};
        imu->linear_acceleration.z = dice(&seed, 5, 15);
        nm_harness_step(b.h, 0.008);
        const JointGoals *goals = nm_harness_get(b.h, "joint_goals");
        for (uint32_t k = 0; k < goals->name.n; k++) {
            int32_t joint = nm_find_joint(b.body, goals->name.at[k]);
            b.q[joint] = goals->position.at[k];
            most = fmax(most, fabs(b.q[joint] - before[joint]));
        }
    }
    end(&b);
    return most;
}

static void goals_do_not_jump_however_it_stumbles(void **state)
{
    (void)state;
    assert_true(farthest_leap("leap=1000") > 0.3);
    assert_true(farthest_leap("leap=25") <= 25 * 0.008 + 1e-12);
}

/* Frozen and silent sensors: it stops walking, and says why. */
static void without_inertial_sensor_it_stands(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    tick(&b, 40);
    command(&b, WalkCommand_VELOCITY)->velocity.linear.x = 0.3;
    assert_int_equal(tick(&b, 50)->state, WalkState_WALKING);
    b.imu_frozen = true;
    for (int i = 0; i < 30; i++) {
        command(&b, WalkCommand_VELOCITY)->velocity.linear.x = 0.3;
        tick(&b, 10);
    }
    const WalkState *w = tick(&b, 1);
    assert_int_equal(w->state, WalkState_STANDING);
    assert_non_null(strstr(w->refused, "inertial"));
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_nothing_before_every_joint_answered),
        cmocka_unit_test(it_walks_while_it_is_told_to),
        cmocka_unit_test(no_velocity_is_stepping_on_the_spot),
        cmocka_unit_test(a_target_is_reached),
        cmocka_unit_test(a_kick_that_cannot_be_is_refused_with_the_reason),
        cmocka_unit_test(a_kick_rides_on_one_step),
        cmocka_unit_test(a_kick_that_waits_waits_on_the_spot),
        cmocka_unit_test(a_kick_that_found_no_step_in_time_is_forgotten),
        cmocka_unit_test(legs_of_somebody_else_are_left_alone),
        cmocka_unit_test(a_manager_that_forbids_walking_is_obeyed),
        cmocka_unit_test(goals_do_not_jump_however_it_stumbles),
        cmocka_unit_test(without_inertial_sensor_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
