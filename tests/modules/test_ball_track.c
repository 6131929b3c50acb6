/* A rolling ball against numerical integration, the meeting of robot and ball against brute force, and the filter
 * against sightings made by its own assumptions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "modules/world/ball_track.h"

static const double SHARE = 0.7; /* of the slow tilt */
static const struct ball_params params = {
    .friction = 0, .acceleration = 0.3, .tilt_time = 0.8, .kick_rate = 0.05, .kick_speed = 1.5};

static double between(struct nm_dice *dice, double low, double high) { return low + (high - low) * nm_dice_roll(dice); }

static void way_and_speed_are_those_of_small_steps(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    for (int i = 0; i < 60; i++) {
        double brake = i % 5 ? between(&dice, 0, 2) : 0, friction = i % 3 ? between(&dice, 0, 2) : 0;
        double start = between(&dice, 0, 4), t = between(&dice, 0, 5), v = start, way = 0, after;
        const double dt = 1e-4;
        for (double s = 0; s < t && v > 0; s += dt) {
            double middle = v - (brake + friction * v) * dt / 2;
            way += fmax(middle, 0) * dt;
            v -= (brake + friction * middle) * dt;
        }
        assert_true(fabs(ball_way(start, brake, friction, t, &after) - way) < 2e-3);
        assert_true(fabs(after - fmax(v, 0)) < 2e-3);
        double rest = ball_rest_time(start, brake, friction);
        if (isfinite(rest)) {
            ball_way(start, brake, friction, rest * 1.0001 + 1e-9, &after);
            assert_true(after == 0);
            ball_way(start, brake, friction, rest * 0.99, &after);
            assert_true(after > 0 || start < 1e-6);
        }
    }
}

static void a_robot_meets_the_ball_as_soon_as_it_can(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(2, 0, 0);
    const struct ball_chase chase = {0.3, 0.4, 0.1};
    for (int i = 0; i < 200; i++) {
        double x[2] = {between(&dice, -3, 3), between(&dice, -3, 3)}, robot[2] = {0, 0}, at[2];
        double v[2] = {between(&dice, -2, 2), between(&dice, -2, 2)}, brake = between(&dice, 0.3, 1.5);
        double when = ball_intercept(x, v, brake, 0, robot, &chase, at), speed = hypot(v[0], v[1]), first = 0;
        for (double t = 0; t < 60 && t - first < 0.011; t += 0.001) { /* brute force: the first 10 ms in which it can */
            double k = ball_way(speed, brake, 0, t, NULL) / speed;
            double far = hypot(x[0] + k * v[0], x[1] + k * v[1]) - chase.reach;
            if (far > 0 && chase.delay + far / chase.speed > t) first = t;
        }
        assert_true(when < first + 0.015);
        double k = ball_way(speed, brake, 0, when, NULL) / speed;
        assert_true(hypot(at[0] - x[0] - k * v[0], at[1] - x[1] - k * v[1]) < 0.05);
    }
}

/* ---- the filter ---- */

/* A world that is as the filter believes: a ball that brakes, eyes with a slow and a fast error. */
struct world {
    struct nm_dice dice;
    double x[2], v[2], tilt[2], brake;
};

static struct ball_sighting look(struct world *w, double dt)
{
    double keep = exp(-dt / params.tilt_time), speed = hypot(w->v[0], w->v[1]), after = 0;
    double k = speed > 0 ? ball_way(speed, w->brake, 0, dt, &after) / speed : 0;
    for (int i = 0; i < 2; i++) {
        w->x[i] += k * w->v[i];
        if (speed > 0) w->v[i] *= after / speed;
        w->tilt[i] = keep * w->tilt[i] + sqrt(1 - keep * keep) * nm_dice_gauss(&w->dice);
    }
    double away = hypot(w->x[0], w->x[1]), u[2] = {w->x[0] / away, w->x[1] / away};
    double along = 0.02 * away * away + 0.01, across = 0.015 * away;
    struct ball_sighting s = {.along = along * along, .across = across * across, .slow = SHARE};
    double slow = sqrt(SHARE) * along * (w->tilt[0] * u[0] + w->tilt[1] * u[1]);
    double fast = sqrt(1 - SHARE) * along * nm_dice_gauss(&w->dice), side = across * nm_dice_gauss(&w->dice);
    s.x = w->x[0] + u[0] * (slow + fast) - u[1] * side;
    s.y = w->x[1] + u[1] * (slow + fast) + u[0] * side;
    /* what a vision states is for where it saw the ball */
    double farther = (s.x * s.x + s.y * s.y + 0.25) / (away * away + 0.25);
    s.along *= farther * farther;
    s.across *= farther;
    return s;
}

static void watch(struct world *w, struct ball_track *t, int images)
{
    for (int i = 0; i < images; i++) {
        struct ball_sighting s = look(w, 1 / 30.0);
        if (!t->n) {
            ball_start(t, &params, &s, w->brake, 0.01);
            continue;
        }
        ball_predict(t, &params, 1 / 30.0);
        ball_update(t, &s);
        ball_branch(t, &params, NULL);
    }
}

/* Squared error of the place in units of its covariance: 2 on average if the filter knows how good it is. */
static double nees(const struct world *w, const struct ball_hypothesis *h)
{
    double dx = w->x[0] - h->x[BALL_X], dy = w->x[1] - h->x[BALL_Y];
    double a = h->p[0][0], b = h->p[0][1], c = h->p[1][1], det = a * c - b * b;
    return (c * dx * dx - 2 * b * dx * dy + a * dy * dy) / det;
}

static void a_resting_ball_becomes_certain_at_the_right_pace(void **state)
{
    (void)state;
    const int runs = 300;
    double sum = 0, error = 0;
    int rests = 0;
    for (int i = 0; i < runs; i++) {
        struct world w = {.dice = nm_dice_new(3, (uint64_t)i, 0), .x = {2, 0.5}, .brake = 0.77};
        struct ball_track t = {0};
        for (int k = 0; k < 2; k++) w.tilt[k] = nm_dice_gauss(&w.dice);
        watch(&w, &t, 60);
        sum += nees(&w, &t.at[0]);
        error += hypot(w.x[0] - t.at[0].x[0], w.x[1] - t.at[0].x[1]);
        rests += !t.at[0].rolls;
    }
    assert_true(rests > 0.97 * runs);
    assert_true(sum / runs > 1.4 && sum / runs < 2.8);
    assert_true(error / runs < 0.07);
}

static void a_rolling_ball_is_followed_and_its_brake_learned(void **state)
{
    (void)state;
    const int runs = 200;
    double speed_error = 0, sum = 0, before = 0, after = 0;
    for (int i = 0; i < runs; i++) {
        struct world w = {.dice = nm_dice_new(4, (uint64_t)i, 0), .x = {3, 1}, .v = {-1.8, -0.4}};
        struct ball_track t = {0};
        w.brake = between(&w.dice, 0.5, 1.1);
        for (int k = 0; k < 2; k++) w.tilt[k] = nm_dice_gauss(&w.dice);
        struct ball_sighting s = look(&w, 1 / 30.0);
        ball_start(&t, &params, &s, 0.8, 0.04);
        watch(&w, &t, 36);
        speed_error += hypot(w.v[0] - t.at[0].x[BALL_VX], w.v[1] - t.at[0].x[BALL_VY]);
        sum += nees(&w, &t.at[0]);
        before += fabs(w.brake - 0.8);
        after += fabs(w.brake - t.at[0].x[BALL_BRAKE]);
        assert_true(t.at[0].rolls);
    }
    assert_true(speed_error / runs < 0.15);
    assert_true(sum / runs > 1.2 && sum / runs < 3.2);
    assert_true(after < 0.95 * before);
}

static void a_kick_is_followed_within_a_third_of_a_second(void **state)
{
    (void)state;
    const int runs = 100;
    int late = 0;
    for (int i = 0; i < runs; i++) {
        struct world w = {.dice = nm_dice_new(5, (uint64_t)i, 0), .x = {1.5, -0.5}, .brake = 0.77};
        struct ball_track t = {0};
        watch(&w, &t, 45);
        double angle = between(&w.dice, -M_PI, M_PI);
        w.v[0] = 2 * cos(angle);
        w.v[1] = 2 * sin(angle);
        watch(&w, &t, 10);
        double error = hypot(w.v[0] - t.at[0].x[BALL_VX], w.v[1] - t.at[0].x[BALL_VY]);
        late += !t.at[0].rolls || error > 0.8;
    }
    assert_true(late <= runs / 20);
}

static void sightings_of_something_else_leave_the_ball_where_it_is(void **state)
{
    (void)state;
    struct world w = {.dice = nm_dice_new(6, 0, 0), .x = {1.5, 0}, .brake = 0.77};
    struct ball_track t = {0};
    watch(&w, &t, 60);
    struct ball_sighting ghost = {.x = 3, .y = 1, .along = 0.01, .across = 0.01};
    assert_true(ball_fits(&t, &ghost) < BALL_CLUTTER);
    ball_update(&t, &ghost);
    assert_true(hypot(t.at[0].x[0] - 1.5, t.at[0].x[1]) < 0.1);
    assert_false(t.at[0].rolls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(way_and_speed_are_those_of_small_steps),
        cmocka_unit_test(a_robot_meets_the_ball_as_soon_as_it_can),
        cmocka_unit_test(a_resting_ball_becomes_certain_at_the_right_pace),
        cmocka_unit_test(a_rolling_ball_is_followed_and_its_brake_learned),
        cmocka_unit_test(a_kick_is_followed_within_a_third_of_a_second),
        cmocka_unit_test(sightings_of_something_else_leave_the_ball_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
