/* The particle filter finds its start, keeps its place, and uses compass and gates as it should. */
#include "modules/position_rig.h"

#include "sensor_msgs/Imu.h"
#include "sensor_msgs/MagneticField.h"

extern const struct nm_module position_particles_module;
static const struct pose2 WALK = {0.15, 0, 0.15}, STAND = {0, 0, 0};

static void start_is_found_and_kept(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct rig r;
        double side = i & 1 ? 1 : -1, x = -0.9 - 0.8 * i;
        rig_open(&r, &position_particles_module, NULL, (struct pose2){x, side * 3.05, -side * M_PI / 2});
        rig_match(&r, MatchState_INITIAL, false);
        rig_run(&r, 6, STAND, true);
        if (rig_error(&r) > 0.25) fail_msg("at x = %g the error is %g", x, rig_error(&r));
        rig_run(&r, 15, WALK, true);
        assert_true(rig_error(&r) < 0.25);
        nm_harness_free(r.h);
    }
}

static void returns_from_a_penalty(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, &position_particles_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
    rig_match(&r, MatchState_PLAYING, false);
    rig_run(&r, 5, STAND, true);
    rig_match(&r, MatchState_PLAYING, true);
    rig_run(&r, 0.5, STAND, false);
    r.truth = (struct pose2){-3.0, -3.3, M_PI / 2};
    rig_match(&r, MatchState_PLAYING, false);
    rig_run(&r, 6, STAND, true);
    assert_true(rig_error(&r) < 0.25);
    nm_harness_free(r.h);
}

/* A robot that believes to be on the wrong side is turned by its compass, and only if it uses one. */
static void compass_tells_the_sides(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct rig r;
        rig_open(&r, &position_particles_module, on ? "compass=true, north=0.5" : "north=0.5",
                 (struct pose2){2, -3.05, M_PI / 2});
        rig_match(&r, MatchState_INITIAL, false);
        for (int i = 0; i < 300; i++) {
            MagneticField *m = nm_harness_set(r.h, "imu/mag");
            double north = 0.5 - r.truth.theta + 0.6 * sin(7.0 * i); /* as noisy as a compass between motors is */
            m->magnetic_field = (Vector3){cos(north), sin(north), 0};
            rig_run(&r, 1.0 / 30, STAND, true);
        }
        double there = rig_error(&r);
        r.truth = (struct pose2){-r.truth.x, -r.truth.y, r.truth.theta + M_PI};
        double mirrored = rig_error(&r);
        if (!((on ? there : mirrored) < 0.25)) fail_msg("compass %d: off by %g and %g", on, there, mirrored);
        nm_harness_free(r.h);
    }
}

/* What is seen while the trunk turns fast is left out. */
static void blind_while_the_trunk_turns(void **state)
{
    (void)state;
    for (int fast = 0; fast < 2; fast++) {
        struct rig r;
        rig_open(&r, &position_particles_module, NULL, (struct pose2){-2, 3.05, -M_PI / 2});
        rig_match(&r, MatchState_PLAYING, false);
        rig_run(&r, 6, STAND, true);
        r.truth.y -= 0.15; /* an error that percepts would correct */
        for (int i = 0; i < 60; i++) {
            ((Imu *)nm_harness_set(r.h, "imu/data"))->angular_velocity.y = fast ? 3 : 0;
            rig_run(&r, 1.0 / 30, STAND, true);
        }
        double off = fabs(rig_pose(&r).y - r.truth.y);
        if (fast ? off < 0.1 : off > 0.1) fail_msg("turning %d: off by %g", fast, off);
        nm_harness_free(r.h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_is_found_and_kept),
        cmocka_unit_test(returns_from_a_penalty),
        cmocka_unit_test(compass_tells_the_sides),
        cmocka_unit_test(blind_while_the_trunk_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
