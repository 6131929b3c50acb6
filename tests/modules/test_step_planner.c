/* The step planner: no step is too long, none differs too much from the one before, and the target is reached without
 * overshoot (requirement H24). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "modules/motion/step_planner.h"

static const struct step_limits usual = {
    .forward = 0.18, .backward = 0.14, .side = 0.1, .turn = 0.6, .change = 0.3, .change_turn = 0.2};

struct dice {
    uint64_t state;
};
static double roll(struct dice *d, double low, double high)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(d->state >> 11) / 9007199254740992.0;
}

/* k steps that shrink by `change` from one to the next cover at most change k (k + 1) / 2. */
static void braking_takes_as_few_steps_as_it_can(void **state)
{
    (void)state;
    assert_true(step_brake_count(0, 0.1) == 0);
    assert_true(step_brake_length(0, 0.1) == 0);
    for (int k = 1; k < 12; k++) {
        double covered = 0.1 * k * (k + 1) / 2;
        assert_true(step_brake_count(covered, 0.1) == k);
        assert_true(step_brake_count(covered + 1e-4, 0.1) == k + 1);
        assert_true(fabs(step_brake_length(covered, 0.1) - 0.1 * k) < 1e-9);
    }
}

static void braking_ends_exactly_there(void **state)
{
    (void)state;
    struct dice dice = {1};
    for (int trial = 0; trial < 1000; trial++) {
        double change = roll(&dice, 0.01, 0.5), distance = roll(&dice, 0.001, 3);
        double k = step_brake_count(distance, change), step = step_brake_length(distance, change), left = distance;
        for (int i = 0; i < (int)k; i++, step -= change) {
            assert_true(step > -1e-9);
            left -= step;
        }
        assert_true(fabs(left) < 1e-9);
        assert_true(step + change <= change + 1e-9); /* the last one could be followed by none */
    }
}

static double length(const struct step_limits *l, struct pose2 step)
{
    return hypot(step.x / (step.x < 0 ? l->backward : l->forward), step.y / l->side);
}

static struct step_limits any_limits(struct dice *d)
{
    return (struct step_limits){.forward = roll(d, 0.05, 0.3),
                                .backward = roll(d, 0.05, 0.3),
                                .side = roll(d, 0.03, 0.2),
                                .turn = roll(d, 0.1, 1),
                                .change = roll(d, 0.1, 1),
                                .change_turn = roll(d, 0.05, 0.5)};
}

/* From any step that the planner itself could have made. */
static void no_step_breaks_a_limit(void **state)
{
    (void)state;
    struct dice dice = {2};
    for (int trial = 0; trial < 2000; trial++) {
        struct step_limits l = any_limits(&dice);
        l.backward = l.forward; /* one plane for all of a walk */
        struct pose2 last = {0, 0, 0};
        for (int i = 0; i < 20; i++) {
            struct pose2 target = {roll(&dice, -2, 2), roll(&dice, -2, 2), roll(&dice, -3, 3)};
            struct pose2 step = step_plan(&l, target, last);
            assert_true(length(&l, step) <= 1 + 1e-9);
            assert_true(length(&l, step) + fabs(step.theta) / l.turn <= 1 + 1e-9);
            double change = hypot((step.x - last.x) / l.forward, (step.y - last.y) / l.side);
            assert_true(change <= l.change + 1e-9);
            /* a turn grows by no more than its change; it may shrink faster to make room for the way */
            assert_true(fabs(step.theta) <= fabs(last.theta) + l.change_turn + 1e-9);
            last = step;
        }
    }
}

static void a_target_within_reach_is_one_step(void **state)
{
    (void)state;
    struct pose2 step = step_plan(&usual, (struct pose2){0.03, 0.01, 0.1}, (struct pose2){0, 0, 0});
    assert_true(fabs(step.x - 0.03) < 1e-9 && fabs(step.y - 0.01) < 1e-9 && fabs(step.theta - 0.1) < 1e-9);
    step = step_plan(&usual, (struct pose2){0, 0, 0}, (struct pose2){0.04, 0.01, 0.1});
    assert_true(step.x == 0 && step.y == 0 && step.theta == 0);
}

static void every_target_is_reached_and_kept(void **state)
{
    (void)state;
    struct dice dice = {3};
    for (int trial = 0; trial < 500; trial++) {
        struct step_limits l = any_limits(&dice);
        struct pose2 target = {roll(&dice, -2, 2), roll(&dice, -2, 2), roll(&dice, -3, 3)}, last = {0, 0, 0};
        int steps = 0;
        while (steps < 400 && (hypot(target.x, target.y) > 1e-6 || fabs(target.theta) > 1e-6)) {
            last = step_plan(&l, target, last);
            target = pose2_mul(pose2_inv(last), target);
            steps++;
        }
        assert_true(steps < 400);
        for (int i = 0; i < 10; i++) last = step_plan(&l, target, last);
        assert_true(hypot(last.x, last.y) < 1e-5 && fabs(last.theta) < 1e-5);
    }
}

/* Straight ahead there is a closed form: speed up by the change, brake by the change. */
static void straight_ahead_is_as_fast_as_can_be(void **state)
{
    (void)state;
    struct pose2 target = {1.8, 0, 0}, last = {0, 0, 0};
    int steps = 0;
    for (; hypot(target.x, target.y) > 1e-9 && steps < 100; steps++) {
        last = step_plan(&usual, target, last);
        assert_true(fabs(last.y) < 1e-12 && last.theta == 0);
        target.x -= last.x;
    }
    /* in longest steps: 10 = 0.3 + 0.6 + 0.9 + 1 + … + 1 and down again; 12.6 steps at best */
    assert_true(steps >= 13 && steps <= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(braking_takes_as_few_steps_as_it_can),
        cmocka_unit_test(braking_ends_exactly_there),
        cmocka_unit_test(no_step_breaks_a_limit),
        cmocka_unit_test(a_target_within_reach_is_one_step),
        cmocka_unit_test(every_target_is_reached_and_kept),
        cmocka_unit_test(straight_ahead_is_as_fast_as_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
