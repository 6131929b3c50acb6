/* labels: slow
 * The walk in the simulated world, with play in the gears, delays, noise and randomised bodies: it goes where it is
 * told, stops, stands, and bears a push. Margins are wide: what the walk really can do is told by the benchmark. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/tilt.h"
#include "modules/motion/walk_engine.h"
#include "sim/world.h"

#define TICK 0.008

struct rig {
    bool no_cells; /* the load must be guessed from the soles' heights */
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_pitch pitch;
    struct walk_params params;
    struct walk_engine engine;
    struct nm_tilt tilt;
    struct nm_world *world;
    struct nm_joint_goal goals[NM_JOINTS];
    double yaw, turned;
    bool fallen;
};

static void check(int failed, const struct nm_err *err)
{
    if (failed) fail_msg("%s", err->text);
}

static void rig_start(struct rig *r, const char *robot, struct pose2 start, uint64_t seed)
{
    struct nm_err err = {0};
    *r = (struct rig){0};
    char path[512];
    snprintf(path, sizeof path, "%s/robots/%s", NM_ROOT, robot);
    r->body = nm_body_load(&r->arena, path, &err);
    check(!r->body, &err);
    check(nm_pitch_read(&r->pitch, NM_ROOT "/fields/kid.yaml", &err), &err);
#define X(name, value, least, most, unit, power, about) r->params.name = value;
    WALK_PARAMS(X)
#undef X
    check(walk_engine_init(&r->engine, r->body, &err), &err);
    walk_params_scale(&r->params, r->engine.legs);
    walk_engine_reset(&r->engine, &r->params);

    /* the stand that the walk itself makes */
    double q[NM_JOINTS] = {0}, goals[2][NM_GROUP];
    const struct walk_sense still = {.q = q, .torso_to_world = quat_rpy(0, r->params.lean, 0), .tilt = true};
    walk_engine_step(&r->engine, &r->params, &still, &(struct walk_command){0}, TICK, goals);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 6; i++) q[r->body->leg[side].joints[i]] = r->engine.q_last[side][i];
    walk_engine_reset(&r->engine, &r->params);
    nm_tilt_start(&r->tilt);

    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.seed = seed;
    options.random = 1;
    options.step = 2000000;
    options.backlash = true;
    options.play = 0.01745;
    struct nm_world_robot me = {.body = r->body, .start = start, .joints = q};
    r->world = nm_world_new(&r->pitch, &me, 1, &options, &err);
    check(!r->world, &err);
    for (uint32_t j = 0; j < r->body->n_joints; j++) r->goals[j] = (struct nm_joint_goal){q[j], 0, 1, true};
    r->yaw = start.theta;
}

static void rig_end(struct rig *r)
{
    nm_world_free(r->world);
    nm_arena_free(&r->arena);
}

static struct pose2 where(struct rig *r)
{
    struct nm_truth truth;
    nm_world_truth(r->world, 0, &truth);
    double yaw = quat_yaw(truth.base_to_field.rot);
    r->turned += angle_normal(yaw - r->yaw);
    r->yaw = yaw;
    struct vec3 up = quat_apply(truth.base_to_field.rot, (struct vec3){0, 0, 1});
    r->fallen |= truth.base_to_field.pos.z < 0.6 * r->engine.height || up.z < 0.6;
    return (struct pose2){truth.base_to_field.pos.x, truth.base_to_field.pos.y, yaw};
}

/* Walks for a while with a velocity; false after a fall. */
static bool walk(struct rig *r, double seconds, double vx, double vy, double wz, bool on)
{
    struct pose3 imu_to_torso = r->body->frames[r->body->imu].to_link;
    double steps = seconds / TICK;
    for (int k = 0; k < (int)steps && !r->fallen; k++) {
        struct nm_sense sense;
        double q[NM_JOINTS], goals[2][NM_GROUP];
        nm_world_sense(r->world, 0, &sense);
        for (uint32_t j = 0; j < r->body->n_joints; j++) q[j] = sense.joints[j].position;
        struct vec3 gyro = quat_apply(imu_to_torso.rot, sense.gyro), accel = quat_apply(imu_to_torso.rot, sense.accel);
        const struct nm_tilt_params tilt = NM_TILT_PARAMS;
        nm_tilt_step(&r->tilt, &tilt, gyro, accel, TICK);
        struct walk_sense s = {
            .q = q, .torso_to_world = nm_tilt_orientation(&r->tilt), .gyro = gyro, .tilt = true, .feet = !r->no_cells};
        memcpy(s.cells, sense.cells, sizeof s.cells);
        double T = r->engine.pace;
        const struct walk_command c = {.step = {vx * T, vy * T, wz * T}, .walk = on};
        walk_engine_step(&r->engine, &r->params, &s, &c, TICK, goals);
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < 6; i++) r->goals[r->body->leg[side].joints[i]].position = goals[side][i];
        nm_world_goals(r->world, 0, r->goals);
        nm_world_step(r->world, 4);
        where(r);
    }
    return !r->fallen;
}

static void it_walks_forwards_and_stops(void **state)
{
    (void)state;
    for (uint64_t seed = 101; seed < 104; seed++) {
        struct rig r;
        rig_start(&r, "kid70", (struct pose2){-3.5, 1, 0}, seed); /* past the ball */
        assert_true(walk(&r, 1, 0, 0, 0, false));
        assert_true(walk(&r, 4, 0.5, 0, 0, true));
        struct pose2 from = where(&r); /* it may drift off: who sees the field closes that */
        assert_true(walk(&r, 5, 0.5, 0, 0, true));
        assert_true(hypot(where(&r).x - from.x, where(&r).y - from.y) > 5 * 0.3);
        /* it stands again after a few steps, and stays where it is */
        assert_true(walk(&r, 5, 0, 0, 0, false));
        assert_int_equal(r.engine.mode, WALK_STAND);
        double x = where(&r).x;
        assert_true(walk(&r, 2, 0, 0, 0, false));
        assert_true(fabs(where(&r).x - x) < 0.03);
        rig_end(&r);
    }
}

static void it_walks_back_sideways_and_turns(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "kid70", (struct pose2){1.5, 1, 0}, 105);
    assert_true(walk(&r, 9, -0.4, 0, 0, true));
    assert_true(where(&r).x < 1.5 - 1.2);
    rig_end(&r);

    rig_start(&r, "kid70", (struct pose2){1, -2, 0}, 106);
    assert_true(walk(&r, 9, 0, 0.25, 0, true));
    assert_true(where(&r).y > -2 + 0.7);
    rig_end(&r);

    rig_start(&r, "kid70", (struct pose2){1, 0, 0}, 107);
    assert_true(walk(&r, 9, 0, 0, -1.5, true));
    assert_true(r.turned < -0.6 * 1.5 * 7);
    rig_end(&r);
}

static void it_bears_a_push_from_any_side(void **state)
{
    (void)state;
    for (int side = 0; side < 4; side++) {
        struct rig r;
        rig_start(&r, "kid70", (struct pose2){1, 0, 0}, 110 + (uint64_t)side);
        assert_true(walk(&r, 3, 0, 0, 0, true)); /* steps on the spot */
        struct vec3 impulse = {1.2 * cos(M_PI_2 * side), 1.2 * sin(M_PI_2 * side), 0};
        nm_world_push(r.world, 0, impulse, (struct vec3){0, 0, 0.13}, 100000000);
        assert_true(walk(&r, 4, 0, 0, 0, true));
        rig_end(&r);
    }
}

/* The same numbers, scaled to a body two thirds as long. */
static void another_body_walks_too(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "darwin", (struct pose2){-2, 1, 0}, 120);
    assert_true(walk(&r, 1, 0, 0, 0, false));
    assert_true(walk(&r, 10, 0.25, 0, 0, true));
    assert_true(where(&r).x > -2 + 1.2);
    assert_true(walk(&r, 4, 0, 0, 0, false));
    rig_end(&r);
}

/* Load cells break. */
static void it_walks_without_cells(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "kid70", (struct pose2){-2, 1, 0}, 121);
    r.no_cells = true;
    assert_true(walk(&r, 1, 0, 0, 0, false));
    assert_true(walk(&r, 8, 0.25, 0, 0, true));
    assert_true(where(&r).x > -2 + 1);
    assert_true(walk(&r, 4, 0, 0, 0, false));
    rig_end(&r);
}

static void a_kick_moves_the_ball_and_the_walk_goes_on(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, "kid70", (struct pose2){-2, 1, 0}, 122);
    assert_true(walk(&r, 3, 0.2, 0, 0, true));
    r.engine.kick = (struct walk_kick){.wanted = true, .foot = NM_LEFT, .swing = {1, 0}};
    for (int i = 0; i < 100 && !r.engine.kick.active; i++) assert_true(walk(&r, TICK, 0.2, 0, 0, true));
    assert_true(r.engine.kick.active);
    /* before the foot that will swing: half a foot and a radius ahead of the one that stands */
    struct pose2 at = pose2_mul(where(&r), (struct pose2){0.19, 0.05, 0});
    nm_world_put_ball(r.world, (struct vec3){at.x, at.y, 0.07}, (struct vec3){0, 0, 0}, (struct vec3){0, 0, 0});
    double fastest = 0;
    for (int i = 0; i < 60; i++) {
        struct vec3 v;
        assert_true(walk(&r, TICK, 0.2, 0, 0, true));
        nm_world_ball(r.world, &v);
        fastest = fmax(fastest, hypot(v.x, v.y));
    }
    assert_true(fastest > 0.7);
    assert_false(r.engine.kick.active);
    assert_true(walk(&r, 3, 0.2, 0, 0, true));
    rig_end(&r);
}

/* Whoever steps twice as often filters no faster: what is known after 16 ms hangs on the time, not on the ticks. */
static void filters_know_time_not_ticks(void **state)
{
    (void)state;
    struct rig r;
    struct walk_engine known[2];
    rig_start(&r, "kid70", (struct pose2){0, 0, 0}, 1);
    double q[NM_JOINTS] = {0}, goals[2][NM_GROUP];
    const struct walk_sense sense = {
        .q = q, .torso_to_world = quat_rpy(0.05, 0.1, 0), .gyro = {0.4, -0.3, 0.2}, .tilt = true};
    for (int k = 0; k < 2; k++) {
        double dt = k ? 0.004 : 0.008;
        struct nm_err err = {0};
        check(walk_engine_init(&r.engine, r.body, &err), &err);
        walk_engine_reset(&r.engine, &r.params);
        for (double t = 0; t < 0.0159; t += dt)
            walk_engine_step(&r.engine, &r.params, &sense, &(struct walk_command){0}, dt, goals);
        known[k] = r.engine;
    }
    assert_true(fabs(known[0].gyro.x - known[1].gyro.x) < 1e-9 && known[0].gyro.x > 0.2);
    assert_true(fabs(known[0].com_in_torso.z - known[1].com_in_torso.z) < 1e-9);
    assert_true(fabs(known[0].hips - known[1].hips) < 1e-9);
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_walks_forwards_and_stops),   cmocka_unit_test(it_walks_back_sideways_and_turns),
        cmocka_unit_test(it_bears_a_push_from_any_side), cmocka_unit_test(another_body_walks_too),
        cmocka_unit_test(it_walks_without_cells),        cmocka_unit_test(a_kick_moves_the_ball_and_the_walk_goes_on),
        cmocka_unit_test(filters_know_time_not_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
