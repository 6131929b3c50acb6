/* The tilt of a camera from things that stand still, against a camera whose tilt is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "modules/world/camera_tilt.h"

static const struct tilt_params params = {.slow = 0.7, .image = 0.25, .time = 0.8, .odometry = 0.06};
static const double TICK = 1 / 30.0;

/* A robot that walks in a circle among posts and crossings, with eyes that err as the filter believes. */
struct world {
    struct nm_dice dice;
    double slow[2], image[2];
    struct pose2 robot, odometry;
};

static double deviation(double away) { return 0.02 * (away * away + 0.25); }

/* The error along a direction of the robot's frame, in units of the deviation. */
static double true_error(const struct world *w, double ux, double uy)
{
    return sqrt(params.slow) * (w->slow[0] * ux + w->slow[1] * uy) +
           sqrt(params.image) * (w->image[0] * ux + w->image[1] * uy);
}

static void move(struct world *w, double speed)
{
    double keep = exp(-TICK / params.time), way = speed * TICK, turn = 0.2 * speed * TICK;
    double noise = params.odometry * sqrt(way);
    for (int i = 0; i < 2; i++) {
        w->slow[i] = keep * w->slow[i] + sqrt(1 - keep * keep) * nm_dice_gauss(&w->dice);
        w->image[i] = nm_dice_gauss(&w->dice);
    }
    w->robot = pose2_mul(w->robot, (struct pose2){way, 0, turn});
    w->odometry = pose2_mul(
        w->odometry, (struct pose2){way + noise * nm_dice_gauss(&w->dice), noise * nm_dice_gauss(&w->dice), turn});
}

static struct tilt_percept see(struct world *w, double x, double y, uint8_t kind)
{
    struct pose2 at = pose2_mul(pose2_inv(w->robot), (struct pose2){x, y, 0});
    double away = hypot(at.x, at.y), ux = at.x / away, uy = at.y / away, sigma = deviation(away);
    double own = sqrt(1 - params.slow - params.image) * nm_dice_gauss(&w->dice), side = 0.015 * away;
    double off = sigma * (true_error(w, ux, uy) + own), beside = side * nm_dice_gauss(&w->dice);
    struct tilt_percept p = {kind, at.x + off * ux - beside * uy, at.y + off * uy + beside * ux, 0, side * side};
    sigma = deviation(hypot(p.x, p.y)); /* what a vision states is for where it saw the thing */
    p.along = sigma * sigma;
    return p;
}

struct score {
    double raw, left, nees; /* mean squares: of the error, of what is left of it, in units of the variance */
};

static struct score run(uint32_t landmarks, double speed)
{
    static const double places[][2] = {{3, 1.3}, {3, -1.3}, {2, 2.5}, {2.2, -2.4}, {1.5, 0.2}};
    struct score s = {0};
    const int runs = 40, images = 240;
    int n = 0;
    for (int r = 0; r < runs; r++) {
        struct world w = {.dice = nm_dice_new(7, (uint64_t)r, 0)};
        static struct camera_tilt tilt;
        tilt_start(&tilt);
        for (int k = 0; k < 2; k++) w.slow[k] = nm_dice_gauss(&w.dice);
        for (int i = 0; i < images; i++) {
            struct tilt_percept percepts[5];
            move(&w, speed);
            for (uint32_t k = 0; k < landmarks; k++)
                percepts[k] = see(&w, places[k][0], places[k][1], (uint8_t)(2 + k));
            tilt_image(&tilt, &params, TICK, w.odometry, percepts, landmarks);
            if (i < 60) continue;
            struct tilt_error e = tilt_along(&tilt, &params, 1, 0);
            double truth = true_error(&w, 1, 0), off = truth - e.error;
            s.raw += truth * truth;
            s.left += off * off;
            s.nees += off * off / e.variance;
            n++;
        }
    }
    s.raw /= n;
    s.left /= n;
    s.nees /= n;
    return s;
}

static void landmarks_take_most_of_the_error_away(void **state)
{
    (void)state;
    struct score standing = run(5, 0), walking = run(5, 0.2);
    assert_true(standing.left < 0.4 * standing.raw);
    assert_true(walking.left < 0.6 * walking.raw);
}

static void the_filter_knows_how_good_it_is(void **state)
{
    (void)state;
    struct score standing = run(5, 0), walking = run(3, 0.2);
    assert_true(standing.nees > 0.6 && standing.nees < 1.8);
    /* landmarks that come nearer look otherwise than at first, so a walking robot is somewhat too sure */
    assert_true(walking.nees > 0.6 && walking.nees < 3.5);
}

static void without_landmarks_nothing_is_known(void **state)
{
    (void)state;
    struct score none = run(0, 0.2);
    assert_true(fabs(none.left - none.raw) < 1e-9);
    assert_true(none.nees > 0.8 && none.nees < 1.3);
}

/* A thing that is carried away, or a false one, must not tell the filter that the camera fell over. */
static void a_landmark_that_jumps_is_another_one(void **state)
{
    (void)state;
    static struct camera_tilt tilt;
    tilt_start(&tilt);
    struct tilt_percept p = {2, 2, 0, 0.0072, 0.001};
    for (int i = 0; i < 60; i++) tilt_image(&tilt, &params, TICK, (struct pose2){0}, &p, 1);
    double before = tilt_along(&tilt, &params, 1, 0).error;
    p.x = 3.5;
    tilt_image(&tilt, &params, TICK, (struct pose2){0}, &p, 1);
    assert_true(fabs(tilt_along(&tilt, &params, 1, 0).error - before) < 0.5);
    assert_int_equal(tilt.n, 2);
}

static void old_landmarks_make_room(void **state)
{
    (void)state;
    static struct camera_tilt tilt;
    struct nm_dice dice = nm_dice_new(9, 0, 0);
    tilt_start(&tilt);
    for (int i = 0; i < 300; i++) {
        struct tilt_percept p = {(uint8_t)(2 + i % 6), 4 * nm_dice_both(&dice), 4 * nm_dice_both(&dice), 0.01, 0.001};
        tilt_image(&tilt, &params, TICK, (struct pose2){0}, &p, 1);
        assert_true(tilt.n <= TILT_LANDMARKS);
        for (int k = 0; k < TILT_STATE; k++) assert_true(isfinite(tilt.x[k]) && tilt.p[k][k] >= -1e-12);
    }
    tilt_image(&tilt, &params, 11, (struct pose2){0}, NULL, 0);
    assert_int_equal(tilt.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(landmarks_take_most_of_the_error_away),
        cmocka_unit_test(the_filter_knows_how_good_it_is),
        cmocka_unit_test(without_landmarks_nothing_is_known),
        cmocka_unit_test(a_landmark_that_jumps_is_another_one),
        cmocka_unit_test(old_landmarks_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
