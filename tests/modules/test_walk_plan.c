/* The nominal step against closed forms: for a constant command the capture point comes back to where it was after two
 * steps, whatever the command; and what one step may change of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "modules/motion/walk_parts.h"

static struct walk_params usual(void)
{
    struct walk_params p;
#define X(name, value, least, most, unit, power, about) p.name = value;
    WALK_PARAMS(X)
#undef X
    return p;
}

static struct walk_engine engine(void) { return (struct walk_engine){.w = 5.5, .width = 0.1, .size = 1, .share = 1}; }

struct dice {
    uint64_t state;
};
static double roll(struct dice *d, double low, double high)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(d->state >> 11) / 9007199254740992.0;
}

/* One step of the pendulum over the pivot, then seen from the foot that landed. */
static void pass(struct walk_engine *e, const struct walk_params *p, double xi[2])
{
    double grow = exp(e->w * p->rate * e->duration), at[2];
    for (int i = 0; i < 2; i++) at[i] = walk_pivot(e, p, i) + (xi[i] - walk_pivot(e, p, i)) * grow;
    walk_into((struct pose2){e->land[0], e->land[1], e->land_yaw}, at[0], at[1], xi);
    e->support = walk_other(e->support);
    walk_plan_step(e, p);
}

static void the_capture_point_repeats_itself(void **state)
{
    (void)state;
    struct dice dice = {1};
    for (int trial = 0; trial < 500; trial++) {
        struct walk_params p = usual();
        struct walk_engine e = engine();
        const double step[3] = {roll(&dice, -0.2, 0.2), roll(&dice, -0.08, 0.08), roll(&dice, -0.5, 0.5)};
        memcpy(e.step, step, sizeof step);
        e.support = trial % 2 ? NM_LEFT : NM_RIGHT;
        walk_plan_step(&e, &p);
        double xi[2];
        for (int i = 0; i < 2; i++) xi[i] = walk_pivot(&e, &p, i) + e.from_pivot[i];
        const double begin[2] = {xi[0], xi[1]};
        pass(&e, &p, xi);
        for (int i = 0; i < 2; i++) assert_true(fabs(xi[i] - walk_pivot(&e, &p, i) - e.from_pivot[i]) < 1e-9);
        pass(&e, &p, xi);
        assert_true(fabs(xi[0] - begin[0]) < 1e-9 && fabs(xi[1] - begin[1]) < 1e-9);
    }
}

/* Straight ahead: sx / (E - 1) before the pivot; on the spot half the width over E + 1, to the inside. */
static void simple_commands_have_simple_answers(void **state)
{
    (void)state;
    struct walk_params p = usual();
    struct walk_engine e = engine();
    e.step[0] = 0.1;
    walk_plan_step(&e, &p);
    double grow = exp(e.w * p.rate * e.duration);
    assert_true(fabs(e.from_pivot[0] - 0.1 / (grow - 1)) < 1e-12);
    e.step[0] = 0;
    walk_plan_step(&e, &p);
    grow = exp(e.w * p.rate * e.duration);
    assert_true(fabs(e.from_pivot[1] + (0.1 - 2 * p.pivot_in) / (grow + 1)) < 1e-12);
    assert_true(e.land[0] == 0 && fabs(e.land[1] + 0.1) < 1e-12 && e.land_yaw == 0);
}

/* Two steps make twice the command, forwards, sideways and turning. */
static void two_steps_make_twice_the_command(void **state)
{
    (void)state;
    static const double steps[][3] = {{0.12, 0, 0},  {-0.1, 0, 0}, {0, 0.06, 0},
                                      {0, -0.06, 0}, {0, 0, 0.4},  {0, 0, -0.3}};
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        struct walk_params p = usual();
        struct walk_engine e = engine();
        struct pose2 at = {0, 0, 0};
        p.width_speed = 0;
        memcpy(e.step, steps[k], sizeof e.step);
        for (int i = 0; i < 2; i++) {
            walk_plan_step(&e, &p);
            at = pose2_mul(at, (struct pose2){e.land[0], e.land[1], e.land_yaw});
            e.support = walk_other(e.support);
        }
        /* on the circle around the trunk: the foot that began turns about the middle between the feet */
        struct pose2 middle = {0, -0.05, 0}, back = {0, 0.05, 0};
        struct pose2 wanted =
            pose2_mul(pose2_mul(middle, (struct pose2){2 * steps[k][0], 2 * steps[k][1], 2 * steps[k][2]}), back);
        assert_true(fabs(at.x - wanted.x) < 0.01 && fabs(at.y - wanted.y) < 0.01);
        assert_true(fabs(at.theta - wanted.theta) < 1e-9);
    }
}

static void a_command_is_followed_in_bounded_changes(void **state)
{
    (void)state;
    struct walk_params p = usual();
    struct walk_engine e = engine();
    struct walk_command full = {.step = {0.16, 0, 0}, .walk = true}, none = {.walk = false};
    int steps = 0;
    for (; e.step[0] < 0.16 && steps < 20; steps++) {
        double before = e.step[0];
        walk_follow(&e, &p, &full);
        assert_true(e.step[0] - before <= p.change_x + 1e-12);
    }
    assert_true(steps <= 5);
    for (steps = 0; e.step[0] > 0 && steps < 20; steps++) walk_follow(&e, &p, &none);
    assert_true(steps <= 3);
    /* a body that is about to fall is caught, not driven on */
    e.error[0] = 3 * p.trouble;
    walk_follow(&e, &p, &full);
    assert_true(e.step[0] == 0);
}

/* Who has learnt to make fast steps shorter and slows down does not step back. */
static void slow_steps_are_not_shortened_like_fast_ones(void **state)
{
    (void)state;
    struct walk_params p = usual();
    struct walk_engine e = engine();
    e.trim[0] = -0.03;
    e.step[0] = 0.16;
    walk_plan_step(&e, &p);
    assert_true(fabs(e.land[0] - 0.13) < 1e-9);
    e.step[0] = 0.02;
    walk_plan_step(&e, &p);
    assert_true(e.land[0] > 0.01);
}

/* A kick leaves nothing behind at either end of its step, and swings the leg as far as it should between. */
static void a_kick_is_gone_at_both_ends(void **state)
{
    (void)state;
    struct walk_params p = usual();
    struct walk_engine e = engine();
    const struct vec3 hip = {0, 0.05, 0};
    const struct pose3 sole = {quat_rpy(0, 0, 0.1), {0, 0.05, -0.3}};
    double most = 0, aside = 0;
    p.kick_in = 0;
    e.kick = (struct walk_kick){.active = true, .swing = {0.8, 0.6}, .turn = 0.3};
    for (int i = 0; i <= 120; i++) {
        struct pose3 at = walk_kick_pose(&e, &p, i / 100.0, hip, sole);
        if (i / 100.0 <= p.kick_begin || i / 100.0 >= p.kick_end) assert_memory_equal(&at, &sole, sizeof at);
        double ahead = atan2(at.pos.x - hip.x, hip.z - at.pos.z);
        most = fmax(most, ahead);
        aside = fmax(aside, asin((at.pos.y - hip.y) / vec3_norm(vec3_sub(at.pos, hip))));
        assert_true(vec3_norm(vec3_sub(at.pos, hip)) <= 0.3 + 1e-9);
    }
    assert_true(fabs(most - 0.8 * p.kick_swing) < 0.05);
    assert_true(fabs(aside - 0.6 * p.kick_swing) < 0.05);
    e.kick.active = false;
    struct pose3 at = walk_kick_pose(&e, &p, 0.5, hip, sole);
    assert_memory_equal(&at, &sole, sizeof at);
}

/* A body half as long makes steps half as long, in the root of half the time, and falls as easily. */
static void parameters_are_scaled_like_pendulums(void **state)
{
    (void)state;
    struct walk_params p = usual(), half = p;
    walk_params_scale(&half, WALK_LEG / 2);
    assert_true(fabs(half.width - p.width / 2) < 1e-12 && fabs(half.lift - p.lift / 2) < 1e-12);
    assert_true(fabs(half.period - p.period / sqrt(2)) < 1e-12);
    assert_true(fabs(half.max_forward * half.max_forward / 0.5 - p.max_forward * p.max_forward) < 1e-12);
    assert_true(half.place_x == p.place_x && half.level == p.level && half.look_ahead == p.look_ahead);
}

static void commands_are_cut_to_what_walks(void **state)
{
    (void)state;
    struct walk_params p = usual();
    struct dice dice = {4};
    for (int i = 0; i < 1000; i++) {
        double v[3] = {roll(&dice, -3, 3), roll(&dice, -3, 3), roll(&dice, -9, 9)}, asked[3] = {v[0], v[1], v[2]};
        walk_limit(&p, v);
        double r = fabs(v[0]) / (v[0] > 0 ? p.max_forward : p.max_backward) + fabs(v[1]) / p.max_side;
        assert_true(r <= 1 + 1e-9 && fabs(v[2]) <= p.max_turn * (1 - p.turn_fast * r) + 1e-9);
        assert_true(v[0] * asked[0] >= 0 && v[1] * asked[1] >= 0 && v[2] * asked[2] >= 0);
        assert_true(fabs(v[0] * asked[1] - v[1] * asked[0]) < 1e-9); /* the direction stays */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_capture_point_repeats_itself),
        cmocka_unit_test(simple_commands_have_simple_answers),
        cmocka_unit_test(two_steps_make_twice_the_command),
        cmocka_unit_test(a_command_is_followed_in_bounded_changes),
        cmocka_unit_test(a_kick_is_gone_at_both_ends),
        cmocka_unit_test(parameters_are_scaled_like_pendulums),
        cmocka_unit_test(commands_are_cut_to_what_walks),
        cmocka_unit_test(slow_steps_are_not_shortened_like_fast_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
