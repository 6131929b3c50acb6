/* The orientation module with sensors as they fail: frozen, silent, coarse. The filter itself is tested in
 * tests/base/test_tilt.c. */
#include "modules/body_rig.h"

extern const struct nm_module orientation_module;

struct bench {
    struct nm_harness *h;
    double time;
    struct quat truth;
    struct vec3 turning, noise; /* rad/s; of the last sample */
    uint64_t seed;
};

static void begin(struct bench *b)
{
    *b = (struct bench){.h = nm_harness_new(&orientation_module, "lag=0"), .truth = QUAT_IDENTITY, .seed = 7};
}

static Imu *sample(struct bench *b)
{
    Imu *imu = nm_harness_set(b->h, "imu/data_raw");
    struct vec3 up = quat_apply(quat_inv(b->truth), (struct vec3){0, 0, 9.81});
    imu->header.stamp = (Time){(int32_t)b->time, (uint32_t)((b->time - floor(b->time)) * 1e9)};
    imu->angular_velocity = (Vector3){b->turning.x + b->noise.x, b->turning.y + b->noise.y, b->turning.z + b->noise.z};
    imu->linear_acceleration = (Vector3){up.x + b->noise.x, up.y + b->noise.y, up.z + b->noise.z};
    return imu;
}

/* Samples at 125 Hz; a frozen sensor repeats its last one. */
static const Imu *go_on(struct bench *b, double seconds, bool frozen)
{
    for (double t = 0; t < seconds; t += 0.008) {
        if (!frozen) b->noise = dice_vec(&b->seed, 0.005);
        b->time += 0.008;
        sample(b);
        nm_harness_step(b->h, 0.008);
    }
    return nm_harness_get(b->h, "imu/data");
}

static double error_of(const Imu *imu, struct quat truth) /* rad */
{
    const Quaternion *o = &imu->orientation;
    struct vec3 up = {0, 0, 1}, a = quat_apply(quat_inv((struct quat){o->w, o->x, o->y, o->z}), up);
    return acos(fmin(vec3_dot(a, quat_apply(quat_inv(truth), up)), 1));
}

/* It turned quickly when it froze: the orientation stays, and the module says that it does not turn. */
static void a_frozen_sensor_turns_nothing(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    go_on(&b, 10, false);
    b.turning.y = 2;
    const Imu *imu = go_on(&b, 2, true);
    assert_true(error_of(imu, QUAT_IDENTITY) < 0.1);
    assert_near(imu->angular_velocity.y, 0, 0);
    nm_harness_free(b.h);
}

/* It fell meanwhile. What comes after a long freeze or silence is believed soon. */
static void it_recovers_from_a_sensor_that_was_gone(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct bench b;
        begin(&b);
        go_on(&b, 20, false);
        if (way == 0) go_on(&b, 1.5, true);
        if (way == 1) b.time += 1.5;
        b.truth = quat_rpy(0, M_PI / 2, 0);
        const Imu *imu = go_on(&b, 1, false);
        assert_true(error_of(imu, b.truth) < 0.1);
        imu = go_on(&b, 4, false);
        assert_true(error_of(imu, b.truth) < 0.02);
        nm_harness_free(b.h);
    }
}

/* A coarse sensor repeats itself at rest. When the robot walks on, its first sways are not taken for gravity. */
static void a_coarse_sensor_at_rest_is_not_harmed(void **state)
{
    (void)state;
    struct bench b;
    begin(&b);
    b.truth = quat_rpy(0.3, -0.2, 0);
    go_on(&b, 5, false);
    const Imu *imu = go_on(&b, 5, true);
    assert_true(error_of(imu, b.truth) < 1e-3);
    /* 3 m/s^2 to and fro, twice a second */
    for (int k = 0; k < 500; k++) {
        b.time += 0.008;
        sample(&b)->linear_acceleration.x += 3 * sin(4 * M_PI * b.time);
        nm_harness_step(b.h, 0.008);
        imu = nm_harness_get(b.h, "imu/data");
        assert_true(error_of(imu, b.truth) < 0.03);
    }
    nm_harness_free(b.h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_sensor_turns_nothing),
        cmocka_unit_test(it_recovers_from_a_sensor_that_was_gone),
        cmocka_unit_test(a_coarse_sensor_at_rest_is_not_harmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
