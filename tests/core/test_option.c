/* Options: transitions, entry actions, nesting, skills that hold, and their state as plain bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/harness.h"
#include "core/option.h"

struct dog {
    struct nm *nm;
    /* out */
    BehaviorState *behavior;
    /* state */
    struct nm_options options;
    /* what the test says and sees */
    bool ball, tired, biting, called, lost, confused;
    int entries, looks, bites;
    double far, left_after;
};
#define SELF struct dog

OPTION(sniff)
{
    STATE(left)
    {
        f->looks++;
        if (state_time() > 0.25) go(right, "nothing on the left");
    }
    STATE(right) { f->looks += 100; }
}

OPTION(bite, double distance)
{
    STATE(jump)
    {
        f->far = distance;
        if (f->biting) go(shake, "the ball is between the teeth");
    }
    STATE(shake)
    {
        hold();
        f->bites++;
        if (state_time() > 0.25) go(swallow, "it is dead");
    }
    STATE(swallow) { done(); }
}

OPTION(dizzy)
{
    STATE(one) go(two, "round");
    STATE(two) go(one, "and round");
}

OPTION(hunt)
{
    STATE(search)
    {
        if (f->ball) go(attack, "a ball");
        play(sniff);
    }
    STATE(attack)
    {
        ENTRY { f->entries++; }
        if (f->lost) go_now(search, "somebody took the ball away");
        if (f->tired) go(search, "too tired");
        if (finished()) go(rest, "the ball is dead");
        play(bite, 0.5);
    }
    STATE(rest)
    {
        ENTRY { f->left_after = state_time(); }
        if (finished()) go(search, "nothing plays here: this never happens");
    }
}

static void step(struct dog *f)
{
    nm_options_begin(&f->options, f->nm);
    if (!f->called) play(hunt);
    if (f->confused) play(dizzy);
    nm_options_end(&f->options, f->nm, f->behavior);
    nm_put(f->nm, f->behavior);
}

static const struct nm_port ports[] = {NM_OUT(behavior, BehaviorState, "behavior_state"), {0}};
NM_MODULE_UNLISTED(dog, "A dog.", NM_PORTS(ports), .step = NM_CALL(step))

struct rig {
    struct nm_harness *h;
    struct dog *dog;
};

static const BehaviorState *after(struct rig *rig, int steps)
{
    for (int i = 0; i < steps; i++) nm_harness_step(rig->h, 0.1);
    return nm_harness_get(rig->h, "behavior_state");
}

static int begin(void **state)
{
    static struct rig rig;
    rig.h = nm_harness_new(&dog_module, NULL);
    rig.dog = nm_harness_self(rig.h);
    *state = &rig;
    return 0;
}

static int end(void **state)
{
    nm_harness_free(((struct rig *)*state)->h);
    return 0;
}

static void an_option_begins_in_its_first_state_and_tells_its_tree(void **state)
{
    const BehaviorState *b = after(*state, 1);
    assert_int_equal(b->options.n, 2);
    assert_string_equal(b->options.at[0], "hunt");
    assert_string_equal(b->states.at[0], "search");
    assert_string_equal(b->options.at[1], "sniff");
    assert_string_equal(b->states.at[1], "left");
    assert_int_equal(b->depths.at[0], 0);
    assert_int_equal(b->depths.at[1], 1);
    assert_string_equal(b->skill, "sniff");
    assert_true(b->interruptible);
}

static void a_transition_runs_the_new_state_in_the_same_step_and_says_why(void **state)
{
    struct rig *rig = *state;
    after(rig, 2);
    rig->dog->ball = true;
    const BehaviorState *b = after(rig, 1);
    assert_string_equal(b->states.at[0], "attack");
    assert_string_equal(b->reasons.at[0], "a ball");
    assert_string_equal(b->reason, "hunt: attack, a ball");
    assert_string_equal(b->options.at[1], "bite");
    assert_true(rig->dog->far == 0.5); /* the parameter came through */
    assert_true(b->durations.at[0] == 0);
    b = after(rig, 2);
    assert_true(b->durations.at[0] > 0.19f && b->durations.at[0] < 0.21f);
    assert_int_equal(rig->dog->entries, 1); /* the entry action ran once */
}

static void an_option_that_was_not_played_begins_again(void **state)
{
    struct rig *rig = *state;
    const BehaviorState *b = after(rig, 6);
    assert_string_equal(b->states.at[1], "right");
    rig->dog->called = true;
    assert_int_equal(after(rig, 1)->options.n, 0);
    rig->dog->called = false;
    b = after(rig, 1);
    assert_string_equal(b->states.at[1], "left");
    assert_true(b->durations.at[1] == 0);
}

static void a_skill_that_holds_is_left_when_it_allows_it(void **state)
{
    struct rig *rig = *state;
    rig->dog->ball = rig->dog->biting = true;
    const BehaviorState *b = after(rig, 2);
    assert_string_equal(b->states.at[1], "shake");
    assert_false(b->interruptible);
    rig->dog->tired = true;
    b = after(rig, 1);
    assert_string_equal(b->states.at[0], "attack"); /* not yet */
    b = after(rig, 2);
    assert_string_equal(b->states.at[1], "swallow");
    rig->dog->ball = false;
    b = after(rig, 1);
    assert_string_equal(b->states.at[0], "search");
    assert_string_equal(b->reasons.at[0], "too tired");
}

static void go_now_does_not_wait(void **state)
{
    struct rig *rig = *state;
    const void *const *lines;
    rig->dog->ball = rig->dog->biting = true;
    after(rig, 2);
    rig->dog->lost = true;
    rig->dog->ball = false;
    assert_string_equal(after(rig, 1)->states.at[0], "search");
    assert_int_equal(nm_harness_queue(rig->h, "rosout", &lines), 0); /* allowed: no warning */
}

static void leaving_a_skill_that_holds_by_not_playing_it_is_reported(void **state)
{
    struct rig *rig = *state;
    const void *const *lines;
    rig->dog->ball = rig->dog->biting = true;
    after(rig, 2);
    rig->dog->called = true;
    after(rig, 1);
    assert_int_equal(nm_harness_queue(rig->h, "rosout", &lines), 1);
    after(rig, 1);
    assert_int_equal(nm_harness_queue(rig->h, "rosout", &lines), 0); /* once */
}

static void who_plays_an_option_sees_its_end_once(void **state)
{
    struct rig *rig = *state;
    rig->dog->ball = rig->dog->biting = true;
    const BehaviorState *b = after(rig, 8);
    assert_string_equal(b->states.at[0], "rest");
    assert_string_equal(b->reasons.at[0], "the ball is dead");
    assert_true(rig->dog->bites >= 3);
}

static void a_circle_of_transitions_ends(void **state)
{
    struct rig *rig = *state;
    rig->dog->confused = true;
    const BehaviorState *b = after(rig, 1);
    assert_int_equal(b->options.n, 3);
    assert_string_equal(b->options.at[2], "dizzy");
    assert_int_equal(b->depths.at[2], 0);
}

static void the_state_is_plain_bytes(void **state)
{
    struct rig *rig = *state;
    after(rig, 2);
    struct nm_options kept = rig->dog->options;
    rig->dog->ball = rig->dog->biting = true;
    BehaviorState first = *after(rig, 3);
    int bites = rig->dog->bites;
    /* the same again from the bytes kept */
    rig->dog->options = kept;
    rig->dog->options.now = 0;
    rig->dog->bites = 0;
    const BehaviorState *b = after(rig, 3);
    assert_int_equal(rig->dog->bites, bites);
    assert_memory_equal(b->states.at, first.states.at, sizeof first.states.at);
    assert_memory_equal(b->reasons.at, first.reasons.at, sizeof first.reasons.at);
}

static void a_state_that_is_not_there_any_more_is_left(void **state)
{
    struct rig *rig = *state;
    after(rig, 1);
    for (uint32_t i = 0; i < NM_OPTION_SLOTS; i++) strcpy(rig->dog->options.slots[i].state, "gone");
    after(rig, 1);
    assert_string_equal(after(rig, 1)->states.at[0], "search");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_option_begins_in_its_first_state_and_tells_its_tree, begin, end),
        cmocka_unit_test_setup_teardown(a_transition_runs_the_new_state_in_the_same_step_and_says_why, begin, end),
        cmocka_unit_test_setup_teardown(an_option_that_was_not_played_begins_again, begin, end),
        cmocka_unit_test_setup_teardown(a_skill_that_holds_is_left_when_it_allows_it, begin, end),
        cmocka_unit_test_setup_teardown(go_now_does_not_wait, begin, end),
        cmocka_unit_test_setup_teardown(leaving_a_skill_that_holds_by_not_playing_it_is_reported, begin, end),
        cmocka_unit_test_setup_teardown(who_plays_an_option_sees_its_end_once, begin, end),
        cmocka_unit_test_setup_teardown(a_circle_of_transitions_ends, begin, end),
        cmocka_unit_test_setup_teardown(the_state_is_plain_bytes, begin, end),
        cmocka_unit_test_setup_teardown(a_state_that_is_not_there_any_more_is_left, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
