/* Falls are known before the impact, and whoever lies gets up: from every side, without waiting for what is clear
 * already, and not for ever. */
#include "modules/hcm_rig.h"

static void it_gets_up_from_every_side(void **state)
{
    (void)state;
    static const struct {
        double roll, pitch;
        uint8_t fall;
        const char *asked, *trace;
    } ways[] = {
        {0, M_PI / 2, HcmState_FALL_FRONT, "fall_front get_up_front ", "FALLING FALLEN GETTING_UP CONTROLABLE "},
        {0, -M_PI / 2, HcmState_FALL_BACK, "fall_back get_up_back ", "FALLING FALLEN GETTING_UP CONTROLABLE "},
        {-M_PI / 2, 0, HcmState_FALL_LEFT, "fall_left turn_over_left get_up_back ",
         "FALLING FALLEN TURNING_OVER GETTING_UP CONTROLABLE "},
        {M_PI / 2, 0, HcmState_FALL_RIGHT, "fall_right turn_over_right get_up_back ",
         "FALLING FALLEN TURNING_OVER GETTING_UP CONTROLABLE "},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct rig r;
        begin(&r, NULL);
        go_on(&r, 1);
        r.trace[0] = 0;
        falls(&r, ways[i].roll, ways[i].pitch);
        const HcmState *s = nm_harness_get(r.h, "hcm_state");
        assert_int_equal(s->state, HcmState_FALLING);
        assert_int_equal(s->fall, ways[i].fall);
        assert_int_equal(s->left_arm_owner, HcmState_OWNER_HCM);
        s = go_on(&r, 5);
        assert_trace(&r, ways[i].trace);
        assert_string_equal(r.asked, ways[i].asked);
        assert_string_equal(s->reason, "stands again");
        end(&r);
    }
}

static void lies_on_the_left_and_turns(struct rig *r)
{
    begin(r, NULL);
    r->torso = quat_rpy(-M_PI / 2, 0, 0);
    r->fails = true;
    go_on(r, 0.6);
    assert_trace(r, "FALLEN TURNING_OVER ");
    assert_string_equal(r->asked, "turn_over_left ");
}

/* Half a radian from the back, while the animation still plays. That this one is over then is no news of the get-up. */
static void one_that_has_almost_turned_over_gets_up_at_once(void **state)
{
    (void)state;
    struct rig r;
    lies_on_the_left_and_turns(&r);
    uint64_t caller = r.caller;
    int64_t call = r.call;
    assert_true(r.left > 0);
    r.torso = quat_mul(quat_rpy(0, -M_PI / 2, 0), quat_rpy(0, 0, 0.5));
    r.turning = (struct vec3){0, 0, 4};
    go_on(&r, 2 * TICK);
    assert_trace(&r, "GETTING_UP ");
    assert_string_equal(r.asked, "turn_over_left get_up_back ");
    r.turning = (struct vec3){0, 0, 0};
    go_on(&r, 2 * TICK);
    PlayAnimation_GetResult_Response *result = nm_harness_set(r.h, PLAY "get_result/reply");
    nm_slot(result)->caller = caller;
    nm_slot(result)->call = call;
    result->status = GoalStatus_STATUS_SUCCEEDED;
    result->result.successful = true;
    r.fails = false;
    r.posture = QUAT_IDENTITY;
    go_on(&r, 0.2);
    assert_trace(&r, "");
    go_on(&r, 0.5);
    assert_trace(&r, "CONTROLABLE ");
    end(&r);
}

/* It waits as long as it rolls, for it may get there yet; then it turns again without a pause. */
static void one_that_still_lies_on_its_side_turns_again(void **state)
{
    (void)state;
    struct rig r;
    lies_on_the_left_and_turns(&r);
    r.turning = (struct vec3){0, 0, 2};
    go_on(&r, 1);
    assert_trace(&r, "");
    r.turning = (struct vec3){0, 0, 0};
    go_on(&r, 0.2);
    assert_trace(&r, "FALLEN TURNING_OVER ");
    assert_string_equal(r.asked, "turn_over_left turn_over_left ");
    end(&r);
}

/* 20 steps of the fall are 0.16 s: it must be known in the first half, long before the ground comes. */
static void a_fall_is_known_before_the_impact(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, NULL);
    go_on(&r, 1);
    r.turning = (struct vec3){0, 3, 0};
    r.torso = quat_rpy(0, 0.5, 0);
    const HcmState *s = go_on(&r, 3 * TICK);
    assert_int_equal(s->state, HcmState_FALLING);
    end(&r);
    /* leaning as far without turning, or one spike of the gyroscope, is no fall */
    begin(&r, NULL);
    go_on(&r, 1);
    r.torso = quat_rpy(0, 0.5, 0);
    go_on(&r, 0.5);
    r.turning = (struct vec3){0, 30, 0};
    go_on(&r, TICK);
    r.turning = (struct vec3){0, 0, 0};
    s = go_on(&r, 0.1);
    assert_int_equal(s->state, HcmState_CONTROLABLE);
    end(&r);
}

static void without_protection_the_walk_goes_on_until_it_lies(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "protect=false");
    go_on(&r, 1);
    falls(&r, 0, M_PI / 2);
    const HcmState *s = nm_harness_get(r.h, "hcm_state");
    assert_int_equal(s->state, HcmState_FALLING);
    assert_int_equal(s->left_leg_owner, HcmState_OWNER_WALK);
    assert_int_equal(s->head_owner, HcmState_OWNER_HEAD);
    s = go_on(&r, 3);
    assert_string_equal(r.asked, "get_up_front ");
    assert_int_equal(s->state, HcmState_CONTROLABLE);
    end(&r);
}

static void it_rests_after_many_tries_and_longer_each_time(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "tries=2, rest=3");
    r.fails = true;
    r.torso = quat_rpy(0, M_PI / 2, 0);
    go_on(&r, 3.5);
    assert_trace(&r, "FALLEN GETTING_UP FALLEN GETTING_UP FALLEN ");
    go_on(&r, 3);
    assert_trace(&r, "GETTING_UP FALLEN GETTING_UP FALLEN ");
    go_on(&r, 4); /* six seconds now */
    assert_trace(&r, "");
    go_on(&r, 3);
    assert_trace(&r, "GETTING_UP FALLEN GETTING_UP FALLEN ");
    end(&r);
}

static void a_get_up_that_is_stuck_is_begun_anew(void **state)
{
    (void)state;
    struct rig r;
    begin(&r, "stuck=0.3");
    r.torso = quat_rpy(0, M_PI / 2, 0);
    go_on(&r, 0.9); /* the animation takes 0.5 s */
    assert_trace(&r, "FALLEN GETTING_UP FALLEN GETTING_UP ");
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gets_up_from_every_side),
        cmocka_unit_test(one_that_has_almost_turned_over_gets_up_at_once),
        cmocka_unit_test(one_that_still_lies_on_its_side_turns_again),
        cmocka_unit_test(a_fall_is_known_before_the_impact),
        cmocka_unit_test(without_protection_the_walk_goes_on_until_it_lies),
        cmocka_unit_test(it_rests_after_many_tries_and_longer_each_time),
        cmocka_unit_test(a_get_up_that_is_stuck_is_begun_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
