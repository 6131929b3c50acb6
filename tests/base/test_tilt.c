/* Orientation against closed forms, on made motions whose truth is known, and on recorded ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/tilt.h"
#include "../bench/recording.h"

static const double DT = 0.008; /* s, of the robots' sensors */
static const struct vec3 none = {0, 0, 0};

static double error_of(const struct nm_tilt *t, struct quat truth)
{
    return tilt_between(nm_tilt_orientation(t), truth) * 180 / M_PI;
}

static struct vec3 gravity_in(struct quat q) { return quat_apply(quat_inv(q), (struct vec3){0, 0, 9.81}); }

/* The defaults, of a sensor without a delay. */
static struct nm_tilt_params prompt(void)
{
    struct nm_tilt_params p = NM_TILT_PARAMS;
    p.lag = 0;
    return p;
}

static double gauss(void) { return sqrt(-2 * log(1 - drand48())) * cos(2 * M_PI * drand48()); }

static struct vec3 noise(double sigma) { return (struct vec3){sigma * gauss(), sigma * gauss(), sigma * gauss()}; }

/* ---- closed forms ---- */

static void any_first_pose_is_found(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    srand48(1);
    for (int i = 0; i < 200; i++) {
        struct nm_tilt t;
        struct quat truth = quat_rpy(6.28 * drand48(), 6.28 * drand48(), 0);
        nm_tilt_start(&t);
        for (int k = 0; k < 20; k++) nm_tilt_step(&t, &p, none, gravity_in(truth), DT);
        assert_true(error_of(&t, truth) < 1e-4);
    }
}

/* pitch through 90 degrees and over: no angle is special */
static void there_is_no_gimbal_lock(void **state)
{
    (void)state;
    const struct nm_tilt_params p = prompt();
    struct nm_tilt t;
    struct quat truth = QUAT_IDENTITY;
    struct vec3 before = {0, 2, 0.5};
    nm_tilt_start(&t);
    for (int k = 0; k < 2000; k++) {
        struct vec3 w = {0.3 * sin(k * 0.01), 2, 0.5}, middle = vec3_scale(vec3_add(before, w), 0.5);
        double rate = vec3_norm(middle);
        if (k) truth = quat_normal(quat_mul(truth, quat_axis(vec3_scale(middle, 1 / rate), rate * DT)));
        nm_tilt_step(&t, &p, w, gravity_in(truth), DT);
        assert_true(error_of(&t, truth) < 0.01);
        before = w;
    }
    /* yaw is the gyroscope's; the first sample turned it by one step */
    assert_true(quat_angle(nm_tilt_orientation(&t), truth) < 0.02);
}

/* An error of the frame dies out as the step of a Butterworth filter does: e^-x (cos x + sin x), x = time / tau,
 * however irregular the samples are. */
static void an_error_dies_out_as_the_low_pass_says(void **state)
{
    (void)state;
    struct nm_tilt_params p = prompt();
    p.bias_motion = 0;
    p.rest_time = 1e9;
    for (int way = 0; way < 2; way++) {
        struct nm_tilt t;
        struct quat truth = quat_rpy(0.02, 0, 0);
        nm_tilt_start(&t);
        for (int k = 0; k < 4000; k++) nm_tilt_step(&t, &p, none, gravity_in(QUAT_IDENTITY), DT);
        for (double time = 0; time < 12;) {
            double dt = way ? 0.002 + 0.03 * drand48() : DT;
            nm_tilt_step(&t, &p, none, gravity_in(truth), dt);
            time += dt;
            double x = time / p.tau, expected = 0.02 * 180 / M_PI * exp(-x) * (cos(x) + sin(x));
            assert_true(fabs(error_of(&t, truth) - fabs(expected)) < 0.003);
        }
    }
}

/* Somebody laid the body down faster than its gyroscope can follow: at rest the accelerometer shows where gravity is.
 */
static void a_turn_that_was_not_felt_is_seen_at_rest(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    srand48(3);
    for (int i = 0; i < 50; i++) {
        struct nm_tilt t;
        struct quat truth = quat_rpy(0.8 + 4.6 * drand48(), 0, 0);
        nm_tilt_start(&t);
        for (int k = 0; k < 1000; k++) nm_tilt_step(&t, &p, noise(0.01), gravity_in(QUAT_IDENTITY), DT);
        for (int k = 0; k < 125; k++) nm_tilt_step(&t, &p, noise(0.01), vec3_add(gravity_in(truth), noise(0.1)), DT);
        assert_true(error_of(&t, truth) < 3);
    }
}

static void a_late_sensor_is_carried_ahead(void **state)
{
    (void)state;
    struct nm_tilt_params p = prompt();
    p.lag = 0.01;
    struct nm_tilt t;
    const struct vec3 w = {1.5, 0, 0};
    nm_tilt_start(&t);
    for (int k = 0; k < 500; k++) {
        double time = k * DT;
        nm_tilt_step(&t, &p, w, gravity_in(quat_rpy(1.5 * time, 0, 0)), DT);
        assert_true(error_of(&t, quat_rpy(1.5 * (time + 0.01), 0, 0)) < 0.01);
    }
}

/* ---- bias ---- */

static void a_bias_is_learnt_at_rest(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    const struct vec3 bias = {0.02, -0.03, 0.015};
    struct nm_tilt t;
    nm_tilt_start(&t);
    srand48(2);
    for (int k = 0; k < 1500; k++) /* noisy as the simulator's worst sensor */
        nm_tilt_step(&t, &p, vec3_add(bias, noise(0.01)), vec3_add(gravity_in(QUAT_IDENTITY), noise(0.15)), DT);
    assert_true(vec3_norm(vec3_sub(t.bias, bias)) < 1.5e-3);
    /* a steady turn is no bias */
    for (int k = 0; k < 1500; k++) nm_tilt_step(&t, &p, (struct vec3){0, 0, 1.5}, gravity_in(QUAT_IDENTITY), DT);
    assert_true(vec3_norm(vec3_sub(t.bias, bias)) < 0.01);
}

/* The worst error in degrees of a body that sways slowly with a constant bias, after a minute. */
static double sway_error(double hertz, double far, double *bias_error)
{
    const struct nm_tilt_params p = prompt();
    const struct vec3 bias = {0.004, -0.006, 0};
    const double f = 2 * M_PI * hertz;
    struct nm_tilt t;
    double worst = 0;
    nm_tilt_start(&t);
    for (int k = 0; k < 15000; k++) {
        double time = DT * k;
        struct quat truth = quat_rpy(far * sin(f * time), 0, 0);
        nm_tilt_step(&t, &p, vec3_add(bias, (struct vec3){far * f * cos(f * time), 0, 0}), gravity_in(truth), DT);
        if (time > 60) worst = fmax(worst, error_of(&t, truth));
    }
    *bias_error = vec3_norm(vec3_sub(t.bias, bias));
    return worst;
}

/* A few degrees to and fro in many seconds: the gyroscope reads no more than many a bias, but gravity moves. */
static void a_slow_sway_is_no_rest(void **state)
{
    (void)state;
    for (double hertz = 0.05; hertz < 0.27; hertz += 0.05)
        for (double far = 0.02; far < 0.06; far += 0.015) {
            double bias_error, error = sway_error(hertz, far, &bias_error);
            assert_true(error < 0.35);
            assert_true(bias_error < 0.002);
        }
}

/* swaying without a pause: the frame drifts, and what it is straightened by shows the bias */
static void a_bias_is_learnt_in_motion(void **state)
{
    (void)state;
    const struct nm_tilt_params p = prompt();
    const struct vec3 bias = {0.02, -0.015, 0};
    struct nm_tilt t;
    double worst = 0;
    nm_tilt_start(&t);
    for (int k = 0; k < 10000; k++) {
        double time = DT * k, roll = 0.1 * sin(12 * time), rate = 1.2 * cos(12 * time);
        nm_tilt_step(&t, &p, vec3_add((struct vec3){rate, 0, 0}, bias), gravity_in(quat_rpy(roll, 0, 0)), DT);
        if (time > 60) worst = fmax(worst, error_of(&t, quat_rpy(roll, 0, 0)));
    }
    assert_true(vec3_norm(vec3_sub(t.bias, bias)) < 0.001);
    assert_true(worst < 0.2);
}

/* ---- a made walk ---- */

/* A biped's trunk: it sways with the steps, leans and turns, speeds up and brakes, and rings after every foot that
 * lands. The sensor has noise, a bias and a low-pass filter of its own. */
struct walker {
    double stands;                  /* s before it walks                             */
    double steps;                   /* Hz                                            */
    double sway, nod;               /* rad                                           */
    double thrust;                  /* m/s^2 to and fro with the steps               */
    double impact;                  /* m/s^2 when a foot lands; rings for some 50 ms */
    struct vec3 gyro_bias;          /* rad/s                                         */
    struct vec3 accel_bias;         /* m/s^2                                         */
    double gyro_noise, accel_noise; /* rad/s, m/s^2                                  */
};

static const struct walker icub = {
    .stands = 5,
    .steps = 1.4,
    .sway = 0.06,
    .nod = 0.03,
    .thrust = 1.5,
    .impact = 15,
    .gyro_bias = {0.008, -0.005, 0.004},
    .accel_bias = {0.05, -0.03, 0.04},
    .gyro_noise = 0.005,
    .accel_noise = 0.05,
};

/* 0 while it stands, 1 when it walks in full */
static double walking(const struct walker *w, double time) { return fmin(fmax(time - w->stands, 0), 1); }

static struct quat trunk(const struct walker *w, double time)
{
    double phase = M_PI * w->steps * time; /* two steps are a period of the sway */
    double walks = walking(w, time);
    return quat_rpy(walks * w->sway * sin(phase),
                    0.05 + walks * (w->nod * sin(2 * phase + 0.5) + 0.03 * sin(0.4 * time)),
                    walks * 0.3 * sin(0.2 * time));
}

static struct vec3 push_on(const struct walker *w, double time)
{
    double phase = M_PI * w->steps * time, since = fmod(time, 1 / w->steps);
    double ring = w->impact * exp(-since / 0.015) * cos(2 * M_PI * 30 * since);
    struct vec3 push = {0.4 * w->thrust * sin(2 * phase) + 0.06 * sin(0.5 * time) + 0.3 * ring,
                        w->thrust * sin(phase) + 0.3 * ring * (sin(phase) > 0 ? 1 : -1),
                        w->thrust * cos(2 * phase) + ring};
    return vec3_scale(push, walking(w, time));
}

/* RMS of the inclination's error in degrees over a minute, after the first `from` seconds; bias: what it learnt. */
static double walk_error(const struct walker *w, double rate, double from, struct vec3 *bias)
{
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    const double fine = 1e-4, cut = fine / (fine + 0.002); /* s; one pole at 80 Hz */
    struct nm_tilt t;
    struct vec3 gyro = w->gyro_bias, accel = gravity_in(trunk(w, 0));
    long every = lround(1 / rate / fine), n = 0;
    double sum = 0;
    nm_tilt_start(&t);
    srand48(3);
    for (long k = 0; k < 600000; k++) {
        double time = (double)k * fine;
        struct quat now = trunk(w, time), next = trunk(w, time + fine);
        struct vec3 turns = vec3_scale(quat_log(quat_mul(quat_inv(now), next)), 1 / fine);
        struct vec3 feels = vec3_add(gravity_in(now), quat_apply(quat_inv(now), push_on(w, time)));
        gyro = vec3_add(gyro, vec3_scale(vec3_sub(vec3_add(turns, w->gyro_bias), gyro), cut));
        accel = vec3_add(accel, vec3_scale(vec3_sub(vec3_add(feels, w->accel_bias), accel), cut));
        if (k % every) continue;
        nm_tilt_step(&t, &p, vec3_add(gyro, noise(w->gyro_noise)), vec3_add(accel, noise(w->accel_noise)), 1 / rate);
        if (time < from) continue;
        double e = error_of(&t, now);
        sum += e * e;
        n++;
    }
    *bias = t.bias;
    return sqrt(sum / (double)n);
}

static void a_walking_robot_knows_where_up_is(void **state)
{
    (void)state;
    static const double rates[] = {100, 125, 200};
    for (int i = 0; i < 3; i++) {
        struct vec3 bias;
        double error = walk_error(&icub, rates[i], 0, &bias);
        print_message("a made walk at %.0f Hz: %.2f degrees\n", rates[i], error);
        assert_true(error < 0.6);
        assert_true(hypot(bias.x - icub.gyro_bias.x, bias.y - icub.gyro_bias.y) < 0.002);
    }
}

static void it_may_be_switched_on_while_it_walks(void **state)
{
    (void)state;
    struct walker hasty = icub;
    struct vec3 bias;
    hasty.stands = -1;
    assert_true(walk_error(&hasty, 125, 2, &bias) < 1);
    assert_true(walk_error(&hasty, 125, 10, &bias) < 0.6);
}

/* walking: the trunk is thrown to and fro with 4 m/s^2 at 2 Hz and sways */
static void shaking_does_not_tilt_it(void **state)
{
    (void)state;
    struct walker wild = icub;
    struct vec3 bias;
    wild.steps = 4;
    wild.sway = 0.08;
    wild.thrust = 4;
    assert_true(walk_error(&wild, 125, 10, &bias) < 1);
}

/* ---- what goes wrong ---- */

static void nonsense_is_left_out(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    struct nm_tilt t;
    nm_tilt_start(&t);
    for (int k = 0; k < 100; k++) nm_tilt_step(&t, &p, none, gravity_in(QUAT_IDENTITY), DT);
    nm_tilt_step(&t, &p, (struct vec3){NAN, 0, 0}, gravity_in(QUAT_IDENTITY), DT);
    nm_tilt_step(&t, &p, none, (struct vec3){0, INFINITY, 9.81}, DT);
    nm_tilt_step(&t, &p, none, (struct vec3){500, 0, 0}, DT);
    nm_tilt_step(&t, &p, (struct vec3){900, 0, 0}, gravity_in(QUAT_IDENTITY), DT);
    nm_tilt_step(&t, &p, (struct vec3){9, 9, 9}, gravity_in(QUAT_IDENTITY), 0);
    assert_true(error_of(&t, QUAT_IDENTITY) < 1e-4);
}

/* It falls while nothing is heard for half a second: the old average no longer holds, the bias does. */
static void after_a_gap_the_new_samples_count(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    const struct vec3 bias = {0.01, 0.02, -0.01};
    struct nm_tilt t;
    struct quat lies = quat_rpy(0, 1.5, 0);
    nm_tilt_start(&t);
    for (int k = 0; k < 2500; k++) nm_tilt_step(&t, &p, bias, gravity_in(QUAT_IDENTITY), DT);
    nm_tilt_step(&t, &p, bias, gravity_in(lies), 0.5);
    for (int k = 0; k < 375; k++) {
        nm_tilt_step(&t, &p, bias, gravity_in(lies), DT);
        if (k == 50) assert_true(error_of(&t, lies) < 10);
        if (k == 125) assert_true(error_of(&t, lies) < 5);
    }
    assert_true(error_of(&t, lies) < 1.6);
    assert_true(vec3_norm(vec3_sub(t.bias, bias)) < 0.002);
    /* one that did not fall loses nothing */
    nm_tilt_step(&t, &p, bias, gravity_in(lies), 0.5);
    for (int k = 0; k < 500; k++) nm_tilt_step(&t, &p, bias, gravity_in(lies), DT);
    assert_true(error_of(&t, lies) < 0.5);
}

/* a fall: it turns by a right angle in 0.4 s and hits the ground with 120 m/s^2 */
static void a_fall_is_followed(void **state)
{
    (void)state;
    const struct nm_tilt_params p = prompt();
    struct nm_tilt t;
    nm_tilt_start(&t);
    for (int k = 0; k < 1000; k++) nm_tilt_step(&t, &p, none, gravity_in(QUAT_IDENTITY), DT);
    for (int k = 0; k < 600; k++) {
        double time = k * DT, falls = 0.4, angle = M_PI / 2 * fmin(time / falls, 1) * fmin(time / falls, 1);
        struct quat truth = quat_rpy(0, angle, 0);
        struct vec3 w = {0, time < falls ? M_PI * time / falls / falls : 0, 0}, feels = gravity_in(truth);
        bool hits = time >= falls && time < falls + 0.03;
        if (time < falls) feels = vec3_scale(feels, cos(angle)); /* falls with the ground's support fading */
        if (hits) feels = (struct vec3){-120, 20, 30};
        nm_tilt_step(&t, &p, w, feels, DT);
        assert_true(error_of(&t, truth) < 4);
    }
}

/* ---- recordings ---- */

static void mahony(struct quat *q, struct vec3 gyro, struct vec3 accel, double dt)
{
    const double kp = 0.5;
    const struct vec3 up = {0, 0, 1};
    struct vec3 down = vec3_scale(accel, 1 / vec3_norm(accel)), error = vec3_cross(down, quat_apply(quat_inv(*q), up));
    struct vec3 w = vec3_add(gyro, vec3_scale(error, kp));
    double rate = vec3_norm(w);
    if (rate > 1e-12) *q = quat_normal(quat_mul(*q, quat_axis(vec3_scale(w, 1 / rate), rate * dt)));
}

static double mahony_error_on(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct recorded r;
    struct quat q = QUAT_IDENTITY;
    double sum = 0;
    long n = 0;
    while (file && read_recorded(file, &r)) {
        mahony(&q, r.gyro, r.accel, RECORDED_DT);
        double e = tilt_between(q, r.truth);
        if (r.scored) sum += e * e, n++;
    }
    if (file) fclose(file);
    return n ? sqrt(sum / (double)n) * 180 / M_PI : NAN;
}

/* The goal on recordings of this kind is 0.60 degrees on average and 1.2 at most; VQF has 0.46 and 0.63 on these. */
static void it_follows_recorded_motions(void **state)
{
    (void)state;
    const struct nm_tilt_params p = NM_TILT_PARAMS;
    double sum = 0, worst = 0;
    for (int i = 0; i < RECORDINGS; i++) {
        char path[512];
        snprintf(path, sizeof path, NM_ROOT "/tests/data/imu/%s", recordings[i].file);
        double ours = tilt_error_on(path, &p), textbook = mahony_error_on(path);
        print_message("%s: %.2f degrees, Mahony %.2f\n", recordings[i].name, ours, textbook);
        if (!isfinite(ours)) fail_msg("%s cannot be read", path);
        assert_true(ours < textbook);
        sum += ours;
        worst = fmax(worst, ours);
    }
    assert_true(sum / RECORDINGS < 0.41);
    assert_true(worst < 0.53);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_first_pose_is_found),
        cmocka_unit_test(there_is_no_gimbal_lock),
        cmocka_unit_test(an_error_dies_out_as_the_low_pass_says),
        cmocka_unit_test(a_turn_that_was_not_felt_is_seen_at_rest),
        cmocka_unit_test(a_late_sensor_is_carried_ahead),
        cmocka_unit_test(a_bias_is_learnt_at_rest),
        cmocka_unit_test(a_slow_sway_is_no_rest),
        cmocka_unit_test(a_bias_is_learnt_in_motion),
        cmocka_unit_test(a_walking_robot_knows_where_up_is),
        cmocka_unit_test(it_may_be_switched_on_while_it_walks),
        cmocka_unit_test(shaking_does_not_tilt_it),
        cmocka_unit_test(nonsense_is_left_out),
        cmocka_unit_test(after_a_gap_the_new_samples_count),
        cmocka_unit_test(a_fall_is_followed),
        cmocka_unit_test(it_follows_recorded_motions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
