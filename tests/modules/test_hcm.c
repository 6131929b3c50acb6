/* The hardware control manager as a trace: what happens to a robot, and the states it goes through. The animation
 * player is the test itself: it takes what is asked of it, and after a while the robot lies or stands as the animation
 * makes it. */
#include "modules/hcm_rig.h"

static void it_starts_walks_and_stands(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    const HcmState *s = go_on(&r, 0.2);
    assert_int_equal(s->state, HcmState_STARTUP);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_NOBODY);
    r.drive = 0.3;
    s = go_on(&r, 0.08);
    assert_non_null(strstr(s->refused, "cmd_vel: not while STARTUP"));
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0);
    s = go_on(&r, 0.1);
    assert_int_equal(s->state, HcmState_CONTROLABLE);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_WALK);
    assert_int_equal(s->head_owner, HcmState_OWNER_HEAD);
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0.3);
    r.walk = WalkState_WALKING;
    go_on(&r, 0.1);
    r.walk = WalkState_STANDING;
    go_on(&r, 0.1);
    assert_trace(&r, "CONTROLABLE WALKING CONTROLABLE ");
    end(&r);
}

/* However late they come: the first sample alone is not believed. */
static void sensors_are_believed_when_they_have_answered_for_a_while(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.mute = true;
    const HcmState *s = go_on(&r, 2);
    assert_int_equal(s->state, HcmState_STARTUP);
    r.mute = false;
    s = go_on(&r, 0.2);
    assert_int_equal(s->state, HcmState_STARTUP);
    s = go_on(&r, 0.2);
    assert_int_equal(s->state, HcmState_CONTROLABLE);
    end(&r);
}

static void a_dive_does_not_wait_for_the_walk_to_stop(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.walk = WalkState_WALKING;
    go_on(&r, 1);
    r.request = r.hurries = true;
    assert_int_equal(go_on(&r, 0.05)->left_leg_owner, HcmState_OWNER_ANIMATION);
    assert_trace(&r, "CONTROLABLE WALKING ANIMATION_RUNNING ");
    end(&r);
}

static void begin_kicking(struct rig *r)
{
    begin(r, NULL);
    go_on(r, 1);
    r->wants_kick = true;
    go_on(r, 3 * TICK);
    r->wants_kick = false, r->kicks = true;
    go_on(r, 0.2);
}

static void a_dive_does_not_wait_for_a_kick_to_end(void **state)
{
    (void)state;
    struct rig r;
    begin_kicking(&r);
    r.request = r.hurries = true;
    assert_int_equal(go_on(&r, 0.05)->left_leg_owner, HcmState_OWNER_ANIMATION);
    assert_trace(&r, "CONTROLABLE KICKING ANIMATION_RUNNING ");
    end(&r);
}

/* It lies already: no pose of a fall, and no wait for its end. */
static void who_lies_after_a_dive_gets_up_at_once(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    go_on(&r, 1);
    r.request = r.hurries = true;
    go_on(&r, 0.05);
    r.request = r.hurries = false, r.animates = true;
    falls(&r, 0, -M_PI / 2);
    go_on(&r, 1);
    r.animates = false;
    go_on(&r, 3);
    assert_trace(&r, "CONTROLABLE ANIMATION_RUNNING FALLEN GETTING_UP CONTROLABLE ");
    end(&r);
}

static void an_animation_waits_for_the_walk_to_stop(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.walk = WalkState_WALKING;
    go_on(&r, 1);
    r.request = true;
    r.drive = 0.3;
    const HcmState *s = go_on(&r, 0.2);
    assert_int_equal(s->state, HcmState_WALKING);
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0);
    r.walk = WalkState_STANDING;
    s = go_on(&r, 0.1);
    assert_int_equal(s->state, HcmState_ANIMATION_RUNNING);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_ANIMATION);
    assert_int_equal(s->head_owner, HcmState_OWNER_HEAD); /* it names no joint of the head */
    r.request = false, r.animates = true;
    go_on(&r, 0.5);
    r.animates = false;
    go_on(&r, 0.3);
    assert_trace(&r, "CONTROLABLE WALKING WALKING_STOPPING CONTROLABLE ANIMATION_RUNNING CONTROLABLE ");
    end(&r);
}

static void a_kick_is_given_legs_and_arms_when_the_walk_stands(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.walk = WalkState_WALKING;
    go_on(&r, 1);
    r.wants_kick = true;
    const HcmState *s = go_on(&r, 0.2);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_WALK);
    r.walk = WalkState_STANDING;
    s = go_on(&r, 3 * TICK);
    assert_int_equal(s->state, HcmState_ANIMATION_RUNNING);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_KICK);
    assert_int_equal(s->right_leg_owner, HcmState_OWNER_KICK);
    assert_int_equal(s->left_arm_owner, HcmState_OWNER_KICK);
    assert_int_equal(s->head_owner, HcmState_OWNER_HEAD);
    r.wants_kick = false, r.kicks = true;
    s = go_on(&r, 1);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_KICK);
    r.request = true; /* an animation must wait for the end of the kick, and hears why */
    s = go_on(&r, TICK);
    assert_string_equal(s->refused, "animation: not while KICKING");
    r.request = r.kicks = false;
    s = go_on(&r, 0.2);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_WALK);
    assert_trace(&r, "CONTROLABLE WALKING WALKING_STOPPING CONTROLABLE KICKING CONTROLABLE ");
    end(&r);
}

static void falls_and_penalties_take_the_joints_from_a_kick(void **state)
{
    (void)state;
    for (int how = 0; how < 2; how++) {
        static const char *const traces[] = {"FALLING ", "PENALTY_ANIMATION_IN "};
        struct rig r;
        begin_kicking(&r);
        r.trace[0] = 0;
        if (how == 0) falls(&r, 0, M_PI / 2);
        r.penalized = how == 1;
        const HcmState *s = go_on(&r, 2 * TICK);
        assert_trace(&r, traces[how]);
        assert_int_not_equal(s->left_leg_owner, HcmState_OWNER_KICK);
        assert_int_not_equal(s->left_arm_owner, HcmState_OWNER_KICK);
        end(&r);
    }
}

/* Who stands on one leg when play is stopped would fall: it ends the kick, and stands then. */
static void a_stop_waits_for_the_end_of_a_kick(void **state)
{
    (void)state;
    struct rig r;
    begin_kicking(&r);
    r.trace[0] = 0;
    r.stopped = true;
    assert_int_equal(go_on(&r, 0.5)->left_leg_owner, HcmState_OWNER_KICK);
    r.kicks = false;
    assert_int_equal(go_on(&r, 0.2)->left_leg_owner, HcmState_OWNER_WALK);
    assert_trace(&r, "CONTROLABLE STOPPED ");
    end(&r);
}

static void an_arm_is_given_while_somebody_moves_it(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    go_on(&r, 1);
    r.arm_joint = "right_elbow";
    const HcmState *s = go_on(&r, 2 * TICK);
    assert_int_equal(s->right_arm_owner, HcmState_OWNER_ARMS);
    assert_int_equal(s->left_arm_owner, HcmState_OWNER_WALK);
    falls(&r, 0, -M_PI / 2); /* a fall stands above */
    s = nm_harness_get(r.h, "hcm_state");
    assert_int_equal(s->right_arm_owner, HcmState_OWNER_HCM);
    go_on(&r, 3);
    s = nm_harness_get(r.h, "hcm_state");
    assert_int_equal(s->right_arm_owner, HcmState_OWNER_ARMS);
    r.arm_joint = NULL;
    s = go_on(&r, 2 * TICK);
    assert_int_equal(s->right_arm_owner, HcmState_OWNER_WALK);
    end(&r);
}

static void one_in_hands_neither_walks_nor_gets_up(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.load = 25;
    go_on(&r, 1);
    r.load = 0;
    go_on(&r, 0.1);
    r.load = 25; /* a hop is not being carried */
    go_on(&r, 0.5);
    r.load = 0;
    r.drive = 0.3;
    const HcmState *s = go_on(&r, 0.6);
    assert_int_equal(s->state, HcmState_CARRIED);
    assert_string_equal(s->refused, "cmd_vel: not while CARRIED");
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0);
    falls(&r, 0, M_PI / 2); /* carried on its front, in hands that move a little */
    r.turning = (struct vec3){0.2, 0, 0};
    s = go_on(&r, 6);
    assert_int_equal(s->state, HcmState_CARRIED);
    assert_int_equal(s->head_owner, HcmState_OWNER_NOBODY); /* it would shake a robot that lies */
    r.torso = QUAT_IDENTITY;
    r.turning = (struct vec3){0, 0, 0};
    r.load = 25;
    r.drive = NAN;
    s = go_on(&r, 1);
    assert_trace(&r, "CONTROLABLE CARRIED CONTROLABLE ");
    /* carried again, and laid on the ground, where nothing moves it */
    r.load = 0;
    go_on(&r, 1);
    falls(&r, 0, M_PI / 2);
    go_on(&r, 2.9);
    assert_trace(&r, "CARRIED ");
    go_on(&r, 0.8);
    assert_trace(&r, "FALLEN GETTING_UP CONTROLABLE ");
    end(&r);
}

static void the_hardware_is_asked_for_power_until_it_answers(void **state)
{
    (void)state;
    struct rig r;
    const void *const *at;
    begin(&r, NULL);
    go_on(&r, TICK);
    assert_int_equal(nm_harness_queue(r.h, "motor_power/request", &at), 1);
    assert_true(((const SetBool_Request *)at[0])->data);
    go_on(&r, 0.9);
    assert_int_equal(nm_harness_queue(r.h, "motor_power/request", &at), 0);
    uint32_t asked = 0;
    for (int i = 0; i < 30; i++) {
        go_on(&r, TICK / 2);
        asked += nm_harness_queue(r.h, "motor_power/request", &at);
    }
    assert_int_equal(asked, 1);
    uint64_t caller = 0;
    int64_t call = 0;
    ((SetBool_Request *)nm_harness_request(r.h, "motors", 1))->data = false; /* sits down, then power goes off */
    asked = 0;
    for (int i = 0; i < 200; i++) {
        go_on(&r, TICK / 2);
        if (!nm_harness_queue(r.h, "motor_power/request", &at) || ((const SetBool_Request *)at[0])->data) continue;
        caller = nm_slot(at[0])->caller, call = nm_slot(at[0])->call, asked++;
        SetBool_Response *reply = nm_harness_set(r.h, "motor_power/reply");
        nm_slot(reply)->caller = caller;
        nm_slot(reply)->call = call;
        reply->success = true;
    }
    assert_int_equal(asked, 1);
    assert_int_equal(((const HcmState *)nm_harness_get(r.h, "hcm_state"))->state, HcmState_MOTOR_OFF);
    end(&r);
}

static void penalty_and_stop(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    go_on(&r, 1);
    r.penalized = true;
    go_on(&r, 1);
    r.request = true;
    const HcmState *s = go_on(&r, 0.1);
    assert_non_null(strstr(s->refused, "animation: not while PENALTY"));
    r.request = r.penalized = false;
    go_on(&r, 1);
    assert_trace(&r, "CONTROLABLE PENALTY_ANIMATION_IN PENALTY PENALTY_ANIMATION_OUT CONTROLABLE ");
    /* stopped: one that lies does not even get up */
    r.torso = quat_rpy(0, M_PI / 2, 0);
    r.stopped = true;
    s = go_on(&r, 4);
    assert_int_equal(s->state, HcmState_STOPPED);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_NOBODY);
    r.stopped = false;
    go_on(&r, 2);
    assert_trace(&r, "STOPPED FALLEN GETTING_UP CONTROLABLE ");
    end(&r);
}

static void motors_go_off_when_idle_and_on_at_the_next_command(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "idle=2");
    const HcmState *s = go_on(&r, 4);
    assert_trace(&r, "CONTROLABLE SITTING_DOWN MOTOR_OFF ");
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_OFF);
    assert_false(s->motors_on);
    r.drive = 0.2;
    go_on(&r, 1);
    assert_trace(&r, "STANDING_UP CONTROLABLE ");
    assert_string_equal(r.asked, "sit stand ");
    end(&r);
}

static void record_makes_it_limp_and_shutdown_sits_it_down(void **state)
{
    (void)state;
    struct rig r;
    const void *const *at;
    begin(&r, NULL);
    go_on(&r, 1);
    nm_harness_param(r.h, "limp=true"); /* by a parameter */
    const HcmState *s = go_on(&r, 0.1);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_RECORD);
    nm_harness_param(r.h, "limp=false");
    go_on(&r, 0.1);
    assert_trace(&r, "CONTROLABLE RECORD CONTROLABLE ");
    ((SetBool_Request *)nm_harness_request(r.h, "record", 1))->data = true; /* or by the service */
    s = go_on(&r, TICK);
    assert_int_equal(nm_harness_queue(r.h, "record/reply", &at), 1);
    assert_true(((const SetBool_Response *)at[0])->success);
    s = go_on(&r, 0.1);
    assert_int_equal(s->left_arm_owner, HcmState_OWNER_RECORD);
    nm_harness_request(r.h, "shutdown", 2);
    s = go_on(&r, 2);
    assert_int_equal(s->state, HcmState_HCM_OFF);
    assert_trace(&r, "RECORD SHUTDOWN_ANIMATION SHUTDOWN HCM_OFF ");
    /* off is off: a recording is refused with its reason */
    ((SetBool_Request *)nm_harness_request(r.h, "record", 3))->data = true;
    go_on(&r, TICK);
    assert_int_equal(nm_harness_queue(r.h, "record/reply", &at), 1);
    assert_false(((const SetBool_Response *)at[0])->success);
    assert_string_equal(((const SetBool_Response *)at[0])->message, "not while HCM_OFF");
    end(&r);
}

/* It stops, sits and stays so, whatever it is told, until somebody brings another battery and gives a command. */
static void an_empty_battery_makes_it_sit_down(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.charge = 0.3;
    r.drive = 0.3;
    go_on(&r, 0.5);
    r.walk = WalkState_WALKING;
    go_on(&r, 0.2);
    r.charge = 0.04;
    const HcmState *s = go_on(&r, 0.1);
    assert_string_equal(s->reason, "the battery is almost empty");
    assert_true(((const Twist *)nm_harness_get(r.h, "walk_vel"))->linear.x == 0);
    r.walk = WalkState_STANDING;
    s = go_on(&r, 2);
    assert_trace(&r, "CONTROLABLE WALKING WALKING_STOPPING CONTROLABLE SITTING_DOWN MOTOR_OFF ");
    assert_string_equal(r.asked, "sit ");
    assert_false(s->motors_on);
    r.charge = 0.15; /* relieved, it recovers a little */
    s = go_on(&r, 2);
    assert_int_equal(s->state, HcmState_MOTOR_OFF);
    assert_non_null(strstr(s->refused, "cmd_vel: not while MOTOR_OFF"));
    r.drive = NAN;
    go_on(&r, 1);
    r.charge = 1;
    s = go_on(&r, 1);
    assert_int_equal(s->state, HcmState_MOTOR_OFF);
    r.drive = 0.3;
    go_on(&r, 2);
    assert_trace(&r, "STANDING_UP CONTROLABLE ");
    end(&r);
}

static void one_that_lies_does_not_get_up_with_an_empty_battery(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    r.charge = 0.01;
    r.torso = quat_rpy(0, M_PI / 2, 0);
    go_on(&r, 3);
    assert_trace(&r, "FALLEN MOTOR_OFF ");
    assert_string_equal(r.asked, "");
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_walks_and_stands),
        cmocka_unit_test(sensors_are_believed_when_they_have_answered_for_a_while),
        cmocka_unit_test(an_animation_waits_for_the_walk_to_stop),
        cmocka_unit_test(a_dive_does_not_wait_for_the_walk_to_stop),
        cmocka_unit_test(a_dive_does_not_wait_for_a_kick_to_end),
        cmocka_unit_test(who_lies_after_a_dive_gets_up_at_once),
        cmocka_unit_test(a_kick_is_given_legs_and_arms_when_the_walk_stands),
        cmocka_unit_test(falls_and_penalties_take_the_joints_from_a_kick),
        cmocka_unit_test(a_stop_waits_for_the_end_of_a_kick),
        cmocka_unit_test(an_arm_is_given_while_somebody_moves_it),
        cmocka_unit_test(one_in_hands_neither_walks_nor_gets_up),
        cmocka_unit_test(the_hardware_is_asked_for_power_until_it_answers),
        cmocka_unit_test(penalty_and_stop),
        cmocka_unit_test(motors_go_off_when_idle_and_on_at_the_next_command),
        cmocka_unit_test(record_makes_it_limp_and_shutdown_sits_it_down),
        cmocka_unit_test(an_empty_battery_makes_it_sit_down),
        cmocka_unit_test(one_that_lies_does_not_get_up_with_an_empty_battery),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
