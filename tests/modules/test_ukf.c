/* The filter of a hypothesis against Bayes' rule done by brute force: on a grid of poses, and with samples where the
 * tilt of the camera is unknown too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "modules/position/ukf.h"

static const struct ukf_noise noise = {.way = 0.1,
                                       .turn = 0.1,
                                       .way_turn = 0.05,
                                       .time_way = 0.01,
                                       .time_turn = 0.01,
                                       .tilt_drift = 0.01,
                                       .tilt_time = 0.8,
                                       .tilt_image = 0.006,
                                       .pixel = 0.004,
                                       .orientation = 0.06,
                                       .height = 0.55};

static void close_to(double a, double b, double most)
{
    if (!(fabs(a - b) <= most)) fail_msg("%g is not %g within %g", a, b, most);
}

/* A point of the robot's frame in the field, as the filter should compute it. */
static struct ukf_point in_field(const double x[UKF_N], struct ukf_point seen)
{
    struct ukf_point p = ukf_upright(seen, x[UKF_ROLL], x[UKF_PITCH], noise.height);
    double c = cos(x[UKF_THETA]), s = sin(x[UKF_THETA]);
    return (struct ukf_point){x[UKF_X] + c * p.x - s * p.y, x[UKF_Y] + s * p.x + c * p.y};
}

/* Takes in one landmark at (mark_x, mark_y), with round noise of deviation r in the field. */
static void take(struct ukf *u, struct ukf_point seen, double mark_x, double mark_y, double r)
{
    static const int members[2] = {0, 1};
    const double own[3][3] = {{r * r}, {0, r * r}};
    struct ukf_view view;
    struct ukf_fit fit;
    ukf_see(u, &seen, 1, noise.height, &view);
    assert_true(ukf_fit(&view, 2, members, own, &fit));
    const double off[2] = {mark_x - view.z[0], mark_y - view.z[1]};
    ukf_update(u, &view, &fit, off);
}

/* A grid over x, y and direction; the camera's tilt is known. */
static void landmark_as_on_a_grid(void **state)
{
    (void)state;
    enum { N = 61 };
    const double sigma[3] = {0.1, 0.15, 0.1}, r = 0.05;
    const struct pose2 start = {-2, 1, 0.4};
    const struct ukf_point seen = {1.5, 0.5}, mark = {-0.75, 2.1};
    struct ukf_noise still = noise;
    struct ukf u;
    still.tilt_drift = 0;
    ukf_start(&u, start, sigma[0], sigma[1], sigma[2], &still);
    take(&u, seen, mark.x, mark.y, r);

    double sum = 0, mean[3] = {0}, square[3][3] = {{0}};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) {
                double e[3] = {(i - N / 2) * 10.0 / N, (j - N / 2) * 10.0 / N, (k - N / 2) * 10.0 / N};
                double x[UKF_N] = {start.x + sigma[0] * e[0], start.y + sigma[1] * e[1], start.theta + sigma[2] * e[2]};
                struct ukf_point p = in_field(x, seen);
                double misfit = ((p.x - mark.x) * (p.x - mark.x) + (p.y - mark.y) * (p.y - mark.y)) / (r * r);
                double w = exp(-(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + misfit) / 2);
                sum += w;
                for (int a = 0; a < 3; a++) {
                    mean[a] += w * x[a];
                    for (int b = 0; b < 3; b++) square[a][b] += w * x[a] * x[b];
                }
            }
    for (int a = 0; a < 3; a++) mean[a] /= sum;
    for (int a = 0; a < 3; a++) {
        close_to(u.x[a], mean[a], 0.01);
        for (int b = 0; b < 3; b++) {
            double size = sqrt(u.p[a][a] * u.p[b][b]);
            close_to(u.p[a][b], square[a][b] / sum - mean[a] * mean[b], 0.15 * size);
        }
    }
}

/* Samples of pose, lasting tilt and tilt of the image, weighted by two landmarks: afterwards the filter knows of the
 * tilt only what lasts. */
static void lasting_tilt_is_separated(void **state)
{
    (void)state;
    enum { N = 400000 };
    const double r = 0.03;
    const struct pose2 start = {1, -1, 2};
    const struct ukf_point seen[2] = {{1.2, 0.6}, {2.4, -0.7}};
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    struct ukf u;
    struct ukf_image image;
    double mark[2][2];
    /* the marks are where a robot that stands a little elsewhere, with a little tilt, would see them */
    const double really[UKF_N] = {1.03, -1.04, 2.02, 0.006, -0.009};
    for (int i = 0; i < 2; i++) {
        struct ukf_point p = in_field(really, seen[i]);
        mark[i][0] = p.x, mark[i][1] = p.y;
    }
    ukf_start(&u, start, 0.06, 0.06, 0.04, &noise);
    ukf_image_begin(&u, &image, &noise);
    for (int i = 0; i < 2; i++) take(&u, seen[i], mark[i][0], mark[i][1], r);
    ukf_image_end(&u, &image);

    double sum = 0, mean[UKF_N] = {0}, square[UKF_N][UKF_N] = {{0}};
    for (int n = 0; n < N; n++) {
        double x[UKF_N] = {start.x + 0.06 * nm_dice_gauss(&dice), start.y + 0.06 * nm_dice_gauss(&dice),
                           start.theta + 0.04 * nm_dice_gauss(&dice), noise.tilt_drift * nm_dice_gauss(&dice),
                           noise.tilt_drift * nm_dice_gauss(&dice)};
        double whole[UKF_N], misfit = 0;
        memcpy(whole, x, sizeof whole);
        whole[UKF_ROLL] += noise.tilt_image * nm_dice_gauss(&dice);
        whole[UKF_PITCH] += noise.tilt_image * nm_dice_gauss(&dice);
        for (int i = 0; i < 2; i++) {
            struct ukf_point p = in_field(whole, seen[i]);
            misfit += ((p.x - mark[i][0]) * (p.x - mark[i][0]) + (p.y - mark[i][1]) * (p.y - mark[i][1])) / (r * r);
        }
        double w = exp(-misfit / 2);
        sum += w;
        for (int a = 0; a < UKF_N; a++) {
            mean[a] += w * x[a];
            for (int b = 0; b < UKF_N; b++) square[a][b] += w * x[a] * x[b];
        }
    }
    for (int a = 0; a < UKF_N; a++) mean[a] /= sum;
    for (int a = 0; a < UKF_N; a++) {
        close_to(u.x[a], mean[a], 0.15 * sqrt(u.p[a][a]));
        for (int b = 0; b < UKF_N; b++)
            close_to(u.p[a][b], square[a][b] / sum - mean[a] * mean[b], 0.12 * sqrt(u.p[a][a] * u.p[b][b]));
    }
}

/* Whatever comes in, no direction of the state has a negative variance. */
static void covariance_stays_positive(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(4, 5, 6);
    struct ukf u;
    ukf_start(&u, (struct pose2){0, 0, 0}, 0.5, 0.5, 0.5, &noise);
    for (int t = 0; t < 2000; t++) {
        struct ukf_image image;
        ukf_move(&u, (struct pose2){0.01 * nm_dice_both(&dice), 0, 0.02 * nm_dice_both(&dice)}, 0.033, &noise);
        ukf_image_begin(&u, &image, &noise);
        for (int i = 0; i < 5; i++) {
            struct ukf_point seen = {4 * nm_dice_roll(&dice), 3 * nm_dice_both(&dice)};
            struct ukf_point p = in_field(u.x, seen);
            take(&u, seen, p.x + 0.02 * nm_dice_gauss(&dice), p.y + 0.02 * nm_dice_gauss(&dice), 0.01);
        }
        ukf_image_end(&u, &image);
        for (int k = 0; k < 20; k++) {
            double way[UKF_N], variance = 0;
            for (int i = 0; i < UKF_N; i++) way[i] = nm_dice_gauss(&dice) / sqrt(u.p[i][i]);
            for (int i = 0; i < UKF_N; i++)
                for (int j = 0; j < UKF_N; j++) variance += way[i] * u.p[i][j] * way[j];
            assert_true(variance > 0);
        }
    }
}

/* The field looks the same after half a turn, and so does every sighting. */
static void mirrored_filter_sees_the_mirrored_field(void **state)
{
    (void)state;
    const struct ukf_point seen = {2, -1};
    struct ukf u, m;
    struct ukf_view a, b;
    ukf_start(&u, (struct pose2){1, 2, 0.3}, 0.1, 0.2, 0.1, &noise);
    take(&u, seen, 3.2, 1.6, 0.05);
    m = u;
    ukf_mirror(&m);
    ukf_see(&u, &seen, 1, noise.height, &a);
    ukf_see(&m, &seen, 1, noise.height, &b);
    for (int i = 0; i < 2; i++) {
        close_to(a.z[i], -b.z[i], 1e-9);
        for (int j = 0; j < 2; j++) close_to(a.s[i][j], b.s[i][j], 1e-9);
    }
    ukf_mirror(&m);
    for (int i = 0; i < UKF_N; i++)
        for (int j = 0; j < UKF_N; j++) close_to(u.p[i][j], m.p[i][j], 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(landmark_as_on_a_grid),
        cmocka_unit_test(lasting_tilt_is_separated),
        cmocka_unit_test(covariance_stays_positive),
        cmocka_unit_test(mirrored_filter_sees_the_mirrored_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
