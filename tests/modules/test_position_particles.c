/* The particle filter finds its start, keeps its place, and uses compass and gates as it should. */
#include "modules/position_rig.h"

#include "sensor_msgs/Imu.h"
#include "sensor_msgs/MagneticField.h"
#include "sim/stage.h"

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

/* ---- with the simulator's compass ---- */

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static int watch(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    const struct nm_edge_port port = {"particles/pose", NM_PORT_IN, &PoseWithCovarianceStamped_type, 0, 0};
    (void)robot;
    *(struct nm_edge **)user = nm_edge_new(player, "watch", &port, 1, err);
    return *(struct nm_edge **)user ? 0 : -1;
}

/* Nobody speaks, and the robot begins where the rivals should: only a compass can tell. */
static void simulated_compass_turns_a_robot(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        static const char *const settings[] = {"position_particles.compass=true"};
        struct nm_arena arena = {0};
        struct nm_registry registry;
        struct nm_pitch pitch;
        struct nm_err err = {0};
        struct nm_edge *edge = NULL;
        nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
        assert_int_equal(nm_pitch_read(&pitch, NM_ROOT "/fields/kid.yaml", &err), 0);
        struct nm_stage_options options = NM_STAGE_OPTIONS;
        options.root = NM_ROOT;
        options.registry = &registry;
        options.pitch = &pitch;
        options.fidelity = NM_FIDELITY_FLAT;
        options.world.seed = 3;
        options.ready = watch;
        options.user = &edge;
        const struct nm_stage_robot robot = {.name = "alone",
                                             .folder = NM_ROOT "/robots/kid70",
                                             .lineup = NM_ROOT "/lineups/position.yaml",
                                             .start = {2, -3.1, M_PI / 2 - 0.6},
                                             .n_set = on ? 1 : 0,
                                             .set = settings};
        struct nm_stage *stage = nm_stage_new(&robot, 1, &options, &err);
        if (!stage) fail_msg("%s", err.text);
        while (nm_stage_now(stage) < nm_ns(20)) {
            double t = nm_seconds(nm_stage_now(stage));
            nm_stage_lead(stage, 0, (struct nm_walk_velocity){0}, 1.1 * sin(2 * M_PI * t / 4), 0.35);
            assert_int_equal(nm_stage_step(stage), 0);
        }
        nm_edge_begin(edge, nm_stage_now(stage));
        const PoseWithCovarianceStamped *pose = nm_edge_in(edge, 0);
        double x = pose->pose.pose.position.x;
        nm_edge_end(edge);
        if (!(on ? x > 1 : x < -1)) fail_msg("compass %d: the robot believes to be at x = %g", on, x);
        nm_stage_free(stage);
        nm_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_is_found_and_kept),         cmocka_unit_test(returns_from_a_penalty),
        cmocka_unit_test(compass_tells_the_sides),         cmocka_unit_test(blind_while_the_trunk_turns),
        cmocka_unit_test(simulated_compass_turns_a_robot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
