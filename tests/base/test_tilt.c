/* Orientation against closed forms, and against Mahony's filter on recorded motions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/tilt.h"

static const struct vec3 up = {0, 0, 1};

/* Angle between where up is and where it is thought to be, degrees. */
static double error_of(struct quat q, struct quat truth)
{
    double d = vec3_dot(quat_apply(quat_inv(q), up), quat_apply(quat_inv(truth), up));
    return acos(d > 1 ? 1 : d) * 180 / M_PI;
}

static struct vec3 gravity_in(struct quat q) { return quat_apply(quat_inv(q), (struct vec3){0, 0, 9.81}); }

static void any_first_pose_is_found(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    srand48(1);
    for (int i = 0; i < 200; i++) {
        struct nm_tilt t;
        struct quat truth = quat_rpy(6.28 * drand48(), 6.28 * drand48(), 0);
        nm_tilt_start(&t);
        for (int k = 0; k < 20; k++) nm_tilt_step(&t, &p, (struct vec3){0, 0, 0}, gravity_in(truth), 0.008);
        assert_true(error_of(nm_tilt_orientation(&t), truth) < 1e-4);
    }
}

/* pitch through 90 degrees and over: no angle is special */
static void there_is_no_gimbal_lock(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    struct nm_tilt t;
    nm_tilt_start(&t);
    struct quat truth = QUAT_IDENTITY;
    const double dt = 0.008;
    for (int k = 0; k < 2000; k++) {
        struct vec3 w = {0.3 * sin(k * 0.01), 2, 0.5};
        truth = quat_normal(quat_mul(truth, quat_axis(vec3_scale(w, 1 / vec3_norm(w)), vec3_norm(w) * dt)));
        nm_tilt_step(&t, &p, w, gravity_in(truth), dt);
        assert_true(error_of(nm_tilt_orientation(&t), truth) < 0.01);
    }
    /* yaw is the gyroscope's */
    struct quat q = nm_tilt_orientation(&t);
    double d = fabs(q.w * truth.w + q.x * truth.x + q.y * truth.y + q.z * truth.z);
    assert_true(d > 0.9999);
}

static void a_bias_is_learnt_at_rest(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    struct nm_tilt t;
    nm_tilt_start(&t);
    const struct vec3 bias = {0.02, -0.03, 0.015};
    for (int k = 0; k < 1500; k++) nm_tilt_step(&t, &p, bias, (struct vec3){0, 0, 9.81}, 0.008);
    assert_true(vec3_norm(vec3_sub(t.bias, bias)) < 1e-3);
    /* a steady turn is no bias */
    for (int k = 0; k < 1500; k++) nm_tilt_step(&t, &p, (struct vec3){0, 0, 1.5}, (struct vec3){0, 0, 9.81}, 0.008);
    assert_true(vec3_norm(vec3_sub(t.bias, bias)) < 0.01);
}

/* swaying without a pause: the frame drifts, and what it is straightened by tells the bias */
static void a_bias_is_learnt_in_motion(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    struct nm_tilt t;
    nm_tilt_start(&t);
    const struct vec3 bias = {0.02, -0.015, 0};
    double worst = 0;
    for (int k = 0; k < 10000; k++) {
        double time = 0.008 * k, roll = 0.1 * sin(12 * time), rate = 1.2 * cos(12 * time);
        struct vec3 up = quat_apply(quat_inv(quat_rpy(roll, 0, 0)), (struct vec3){0, 0, 9.81});
        nm_tilt_step(&t, &p, vec3_add((struct vec3){rate, 0, 0}, bias), up, 0.008);
        if (k > 7500) worst = fmax(worst, error_of(nm_tilt_orientation(&t), quat_rpy(roll, 0, 0)));
    }
    assert_true(vec3_norm(vec3_sub(t.bias, bias)) < 0.003);
    assert_true(worst < 1);
}

/* walking: the trunk is thrown to and fro with 4 m/s^2 at 2 Hz and sways */
static void shaking_does_not_tilt_it(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    struct nm_tilt t;
    nm_tilt_start(&t);
    const double dt = 0.008, f = 2 * M_PI * 2;
    double square = 0;
    int n = 0;
    for (int k = 0; k < 5000; k++) {
        double time = k * dt, roll = 0.08 * sin(f * time);
        struct quat truth = quat_rpy(roll, 0, 0);
        struct vec3 push = {4 * sin(f * time + 1), 4 * sin(f * time), 3 * cos(2 * f * time)};
        struct vec3 accel = vec3_add(gravity_in(truth), quat_apply(quat_inv(truth), push));
        nm_tilt_step(&t, &p, (struct vec3){0.08 * f * cos(f * (time - dt / 2)), 0, 0}, accel, dt);
        double e = error_of(nm_tilt_orientation(&t), truth);
        if (time > 10) square += e * e, n++;
    }
    assert_true(sqrt(square / n) < 1);
}

static void nonsense_is_left_out(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    struct nm_tilt t;
    nm_tilt_start(&t);
    for (int k = 0; k < 100; k++) nm_tilt_step(&t, &p, (struct vec3){0, 0, 0}, (struct vec3){0, 0, 9.81}, 0.008);
    nm_tilt_step(&t, &p, (struct vec3){NAN, 0, 0}, (struct vec3){0, 0, 9.81}, 0.008);
    nm_tilt_step(&t, &p, (struct vec3){0, 0, 0}, (struct vec3){0, INFINITY, 9.81}, 0.008);
    nm_tilt_step(&t, &p, (struct vec3){0, 0, 0}, (struct vec3){500, 0, 0}, 0.008);
    nm_tilt_step(&t, &p, (struct vec3){9, 9, 9}, (struct vec3){0, 0, 9.81}, 0);
    assert_true(error_of(nm_tilt_orientation(&t), QUAT_IDENTITY) < 1e-4);
}

/* ---- a recording, against the textbook ---- */

static void mahony(struct quat *q, struct vec3 gyro, struct vec3 accel, double dt)
{
    const double kp = 0.5;
    struct vec3 down = vec3_scale(accel, 1 / vec3_norm(accel)), error = vec3_cross(down, quat_apply(quat_inv(*q), up));
    struct vec3 w = vec3_add(gyro, vec3_scale(error, kp));
    double rate = vec3_norm(w);
    if (rate > 1e-12) *q = quat_normal(quat_mul(*q, quat_axis(vec3_scale(w, 1 / rate), rate * dt)));
}

/* RMS of the inclination's error in degrees, ours and Mahony's, while the sensor of a recording moves. */
static void compare(const char *path, double *ours, double *textbook)
{
    enum { TIME, GYRO, ACCEL = 4, TRUTH = 7, MOVES = 11, COLUMNS };
    FILE *file = fopen(path, "r");
    char line[512];
    if (!file || !fgets(line, sizeof line, file)) fail_msg("%s cannot be read", path);
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    struct nm_tilt t;
    struct quat q = QUAT_IDENTITY;
    double last = 0, square[2] = {0};
    int n = 0;
    nm_tilt_start(&t);
    while (fgets(line, sizeof line, file)) {
        double v[COLUMNS];
        char *c = line;
        for (int i = 0; i < COLUMNS; i++, c++) v[i] = strtod(c, &c);
        struct vec3 gyro = {v[GYRO], v[GYRO + 1], v[GYRO + 2]}, accel = {v[ACCEL], v[ACCEL + 1], v[ACCEL + 2]};
        double dt = last ? v[TIME] - last : 0.0035;
        last = v[TIME];
        nm_tilt_step(&t, &p, gyro, accel, dt);
        mahony(&q, gyro, accel, dt);
        struct quat truth = {v[TRUTH], v[TRUTH + 1], v[TRUTH + 2], v[TRUTH + 3]};
        if (v[MOVES] < 0.5 || !isfinite(truth.w)) continue;
        double a = error_of(nm_tilt_orientation(&t), truth), b = error_of(q, truth);
        square[0] += a * a;
        square[1] += b * b;
        n++;
    }
    fclose(file);
    assert_true(n > 2500);
    *ours = sqrt(square[0] / n);
    *textbook = sqrt(square[1] / n);
}

static void it_beats_the_textbook_on_recorded_motion(void **state)
{
    (void)state;
    const struct {
        const char *file;
        double most; /* degrees */
    } trials[] = {{NM_ROOT "/tests/data/imu/broad_02_undisturbed_slow_rotation_B.csv", 0.6},
                  {NM_ROOT "/tests/data/imu/broad_16_undisturbed_fast_translation_B.csv", 1.5}};
    for (int i = 0; i < 2; i++) {
        double ours, textbook;
        compare(trials[i].file, &ours, &textbook);
        print_message("inclination: %.2f degrees, Mahony %.2f\n", ours, textbook);
        assert_true(ours < trials[i].most && ours < textbook);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_first_pose_is_found),
        cmocka_unit_test(there_is_no_gimbal_lock),
        cmocka_unit_test(a_bias_is_learnt_at_rest),
        cmocka_unit_test(a_bias_is_learnt_in_motion),
        cmocka_unit_test(shaking_does_not_tilt_it),
        cmocka_unit_test(nonsense_is_left_out),
        cmocka_unit_test(it_beats_the_textbook_on_recorded_motion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
