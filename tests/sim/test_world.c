/* The world's promises: robots stand, balls roll, delays are exact, the same seed gives the same bits, and one broken
 * robot never breaks the match. */
#include "sim/sim_help.h"

#include <mujoco/mujoco.h>
#include <pthread.h>

struct fixture {
    struct nm_arena arena;
    struct nm_pitch pitch;
    const struct nm_body *kid70, *darwin;
    double stance[NM_JOINTS], small_stance[NM_JOINTS];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    load_pitch(&f->pitch, "kid");
    f->kid70 = load_robot(&f->arena, "kid70");
    f->darwin = load_robot(&f->arena, "darwin");
    nm_stance(f->kid70, 0.05, f->stance);
    nm_stance(f->darwin, 0.05, f->small_stance);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    nm_arena_free(&f->arena);
    free(f);
    return 0;
}

static struct nm_world_robot robot_at(const struct nm_body *body, const double *q, double x, double y, double theta)
{
    return (struct nm_world_robot){.body = body, .start = {x, y, theta}, .joints = q};
}

static void both_robots_stand_for_a_minute(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robots[] = {robot_at(f->kid70, f->stance, -1, 0, 0.5),
                                      robot_at(f->darwin, f->small_stance, 1, 0, -2)};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    for (int seed = 0; seed < 2; seed++) {
        options.seed = (uint64_t)seed;
        options.random = seed; /* as designed, and as built */
        struct nm_world *world = make_world(&f->pitch, robots, 2, &options);
        nm_world_step(world, 60 * 250);
        assert_int_equal(nm_world_now(world), 60000000000);
        for (uint32_t r = 0; r < 2; r++) {
            struct nm_truth t;
            nm_world_truth(world, r, &t);
            assert_true(uprightness(world, r) > 0.995);
            assert_near(t.base_to_field.pos.x, robots[r].start.x, 0.02);
            assert_near(t.base_to_field.pos.y, robots[r].start.y, 0.02);
        }
        assert_int_equal(nm_world_incidents(world), 0);
        nm_world_free(world);
    }
}

static void a_ball_of_two_metres_a_second_rolls_two_to_five_metres(void **state)
{
    struct fixture *f = *state;
    const char *fields[] = {"kid", "spl", "hsl-small", "hsl-middle"};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    (void)f;
    for (int i = 0; i < 4; i++) {
        struct nm_pitch pitch;
        struct vec3 v;
        load_pitch(&pitch, fields[i]);
        struct nm_world *world = make_world(&pitch, NULL, 0, &options);
        double r = pitch.ball_radius;
        nm_world_put_ball(world, (struct vec3){-3.5, 0.5, r}, (struct vec3){2, 0, 0}, (struct vec3){0, 2 / r, 0});
        nm_world_step(world, 12 * 250);
        double far = nm_world_ball(world, &v).pos.x + 3.5;
        assert_true(far > 2 && far < 5);
        assert_near(hypot(v.x, v.y), 0, 0.01);
        /* the formula in mjcf_field.c holds: 4.2 m on a hard floor, 1.6 m less on long blades */
        assert_near(far, 4.2 - 1.6 * fmin(pitch.turf / 0.03, 1), 0.35);
        nm_world_free(world);
    }
}

static void balls_bounce_off_posts_and_stay_in_nets(void **state)
{
    struct fixture *f = *state;
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, NULL, 0, &options);
    double r = f->pitch.ball_radius;
    struct vec3 v, post = f->pitch.posts[2];
    for (double speed = 1; speed <= 8; speed += 3.5) {
        nm_world_put_ball(world, (struct vec3){post.x - 0.5, post.y, r}, (struct vec3){speed, 0, 0}, (struct vec3){0});
        nm_world_step(world, 250);
        assert_true(nm_world_ball(world, &v).pos.x < post.x);

        nm_world_put_ball(world, (struct vec3){3.5, 0.3, r}, (struct vec3){speed + 2, 0, 0}, (struct vec3){0});
        nm_world_step(world, 3 * 250);
        struct vec3 at = nm_world_ball(world, &v).pos;
        assert_int_equal(nm_pitch_scored(&f->pitch, at), 1);
    }
    nm_world_free(world);
}

/* ---- determinism ---- */

static void wave(struct nm_world *world, uint32_t robot, double t, const double *q)
{
    struct nm_joint_goal goals[NM_JOINTS];
    uint32_t n = nm_world_body(world, robot)->n_joints;
    for (uint32_t j = 0; j < n; j++)
        goals[j] =
            (struct nm_joint_goal){.position = q[j] + 0.15 * sin(6 * t + j + robot), .torque_limit = 1, .on = true};
    nm_world_goals(world, robot, goals);
}

/* Robots that wave, fall and bump into each other; returns a hash of everything that moved and was measured. */
static uint64_t play(const struct fixture *f, uint64_t seed, int steps)
{
    struct nm_world_robot robots[] = {robot_at(f->kid70, f->stance, -0.2, 0, 0),
                                      robot_at(f->kid70, f->stance, 0.2, 0, 3),
                                      robot_at(f->darwin, f->small_stance, 0, 0.4, -1.5)};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.seed = seed;
    options.random = 1;
    struct nm_world *world = make_world(&f->pitch, robots, 3, &options);
    nm_world_put_ball(world, (struct vec3){-1, 0.1, 0.07}, (struct vec3){1.5, 0, 0}, (struct vec3){0});
    uint64_t hash = 1469598103934665603u;
    for (int k = 0; k < steps; k++) {
        struct nm_sense sense;
        for (uint32_t r = 0; r < 3; r++) {
            wave(world, r, k * 0.004, r == 2 ? f->small_stance : f->stance);
            nm_world_sense(world, r, &sense);
            uint64_t bits[sizeof sense.gyro / 8];
            memcpy(bits, &sense.gyro, sizeof bits);
            for (size_t i = 0; i < sizeof bits / 8; i++) hash = (hash ^ bits[i]) * 1099511628211u;
        }
        nm_world_step(world, 1);
    }
    const mjModel *m = nm_world_model(world);
    const mjData *d = nm_world_data(world);
    for (int i = 0; i < m->nq; i++) {
        uint64_t bits;
        memcpy(&bits, &d->qpos[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    nm_world_free(world);
    return hash;
}

struct task {
    const struct fixture *f;
    uint64_t seed, hash;
};
static void *play_task(void *user)
{
    struct task *t = user;
    t->hash = play(t->f, t->seed, 1000);
    return NULL;
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    struct fixture *f = *state;
    struct task tasks[2] = {{f, 7, 0}, {f, 7, 0}};
    pthread_t threads[2];
    uint64_t alone = play(f, 7, 1000);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, play_task, &tasks[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_true(tasks[0].hash == alone);
    assert_true(tasks[1].hash == alone);
    assert_true(play(f, 8, 1000) != alone);
}

/* ---- delays ---- */

static void commands_and_measurements_are_late_by_their_delays(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    for (int64_t command = 0; command <= 24; command += 12)
        for (int64_t sensor = 0; sensor <= 16; sensor += 8) {
            struct nm_world_options options = NM_WORLD_OPTIONS;
            options.command_delay = command * 1000000;
            options.sensor_delay = sensor * 1000000;
            options.backlash = false;
            struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
            struct nm_joint_goal goals[NM_JOINTS];
            int32_t head = nm_find_joint(f->kid70, "head_yaw");
            for (uint32_t j = 0; j < f->kid70->n_joints; j++)
                goals[j] = (struct nm_joint_goal){.position = f->stance[j], .torque_limit = 1, .on = true};
            goals[head].position = 1;
            nm_world_step(world, 50);
            int64_t sent = nm_world_now(world);
            nm_world_goals(world, 0, goals);
            int64_t moved = 0, felt = 0;
            for (int k = 0; k < 40 && (!moved || !felt); k++) {
                struct nm_truth truth;
                struct nm_sense sense;
                nm_world_truth(world, 0, &truth);
                nm_world_sense(world, 0, &sense);
                assert_int_equal(sense.time, nm_world_now(world) - options.sensor_delay);
                if (!moved && fabs(truth.qd[head]) > 0.05) moved = nm_world_now(world);
                if (!felt && fabs(sense.joints[head].velocity) > 0.05) felt = nm_world_now(world);
                nm_world_step(world, 1);
            }
            /* the motor turns during the first step after the delay */
            assert_int_equal(moved, sent + options.command_delay + nm_world_tick(world));
            assert_int_equal(felt, moved + options.sensor_delay);
            nm_world_free(world);
        }
}

static void the_seed_draws_within_the_stated_spread(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    double least_mass = INFINITY, most_mass = 0;
    options.random = 1;
    for (uint64_t seed = 0; seed < 12; seed++) {
        options.seed = seed;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        struct nm_world_draw draw;
        nm_world_drawn(world, 0, &draw);
        struct nm_world_spread s = options.spread;
        assert_in_range((uint64_t)draw.command_delay, 8000000, 16000000);
        assert_in_range((uint64_t)draw.sensor_delay, 4000000, 12000000);
        assert_near(draw.mass, f->kid70->mass, f->kid70->mass * s.mass);
        assert_near(draw.ground_friction, options.friction, options.friction * s.friction);
        for (uint32_t j = 0; j < f->kid70->n_joints; j++) {
            struct nm_servo_model designed = nm_servo_model_of(f->kid70, j);
            assert_near(draw.servos[j].stall, designed.stall, designed.stall * s.gain);
            assert_near(draw.servos[j].friction, designed.friction, designed.friction * s.friction);
            assert_near(draw.servos[j].zero, 0, s.zero);
        }
        least_mass = fmin(least_mass, draw.mass);
        most_mass = fmax(most_mass, draw.mass);
        nm_world_free(world);
    }
    assert_true(most_mass > least_mass * 1.01);
}

/* ---- sensors ---- */

static void a_standing_robot_feels_its_weight(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 1);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.gyro_noise = options.accel_noise = options.cell_noise = 0;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    nm_world_step(world, 5 * 250);
    struct nm_sense sense;
    struct nm_truth truth;
    nm_world_sense(world, 0, &sense);
    nm_world_truth(world, 0, &truth);
    double sum = 0, weight = f->kid70->mass * 9.81;
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < NM_CELLS; c++) sum += sense.cells[side][c];
    assert_near(sum, weight, 0.02 * weight);
    assert_near(truth.foot_force[0] + truth.foot_force[1], weight, 0.02 * weight);
    assert_near(vec3_norm(sense.accel), 9.81, 0.05);
    assert_near(vec3_norm(sense.gyro), 0, 0.01);
    /* the centre of pressure of both feet lies under the centre of mass */
    struct nm_kin kin;
    nm_forward(f->kid70, truth.base_to_field, truth.q, &kin);
    struct vec3 com = nm_com(f->kid70, &kin), cop = {0, 0, 0};
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < NM_CELLS; c++)
            cop = vec3_add(cop, vec3_scale(kin.pose[f->kid70->foot[side].cells[c]].pos, sense.cells[side][c] / sum));
    assert_near(cop.x, com.x, 0.006);
    assert_near(cop.y, com.y, 0.006);
    /* encoders show whole steps */
    double step = 2 * M_PI / 4096;
    for (uint32_t j = 0; j < f->kid70->n_joints; j++) assert_near(remainder(sense.joints[j].position, step), 0, 1e-9);
    nm_world_free(world);
}

static void a_low_battery_weakens_the_motors(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    struct nm_world_draw draw;
    nm_world_voltage(world, 0, 7.4); /* half of 14.8 */
    nm_world_drawn(world, 0, &draw);
    for (uint32_t j = 0; j < f->kid70->n_joints; j++)
        assert_near(draw.servos[j].stall, nm_servo_model_of(f->kid70, j).stall / 2, 1e-9);
    nm_world_voltage(world, 0, NAN);
    nm_world_voltage(world, 0, 0);
    struct nm_truth before, after;
    nm_world_truth(world, 0, &before);
    nm_world_step(world, 3 * 250);
    nm_world_truth(world, 0, &after);
    assert_true(after.base_to_field.pos.z < 0.8 * before.base_to_field.pos.z);
    nm_world_voltage(world, 0, 14.8);
    for (uint32_t j = 0; j < f->kid70->n_joints; j++)
        assert_near(draw.servos[j].stall, nm_servo_model_of(f->kid70, j).stall, 1e-6);
    nm_world_free(world);
}

static void motors_without_torque_let_the_robot_sink(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    struct nm_joint_goal off[NM_JOINTS] = {{0}};
    struct nm_truth before, after;
    nm_world_truth(world, 0, &before);
    nm_world_goals(world, 0, off);
    nm_world_step(world, 3 * 250);
    nm_world_truth(world, 0, &after);
    assert_true(after.base_to_field.pos.z < 0.6 * before.base_to_field.pos.z);
    nm_world_free(world);
}

/* ---- interventions ---- */

static void a_push_changes_momentum_by_its_impulse(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    /* in the air, so that only the push and gravity act */
    nm_world_put(world, 0, (struct pose3){QUAT_IDENTITY, {0, 0, 5}}, NULL);
    nm_world_push(world, 0, (struct vec3){2, -1, 0.5}, (struct vec3){0, 0, 0.1}, 40000000);
    nm_world_step(world, 20);
    struct nm_truth t;
    struct nm_kin kin;
    struct nm_twist links[NM_LINKS];
    nm_world_truth(world, 0, &t);
    nm_forward(f->kid70, t.base_to_field, t.q, &kin);
    nm_velocities(f->kid70, &kin, (struct nm_twist){t.velocity, t.angular_velocity}, t.qd, links);
    struct vec3 v = nm_com_motion(f->kid70, &kin, links).linear;
    double m = f->kid70->mass;
    assert_near(m * v.x, 2, 0.1);
    assert_near(m * v.y, -1, 0.1);
    assert_near(m * (v.z + 9.81 * 0.08), 0.5, 0.1);
    nm_world_free(world);
}

/* R1: 1 kg on 1.9 m of rope. Drawn back by d its speed at the lowest point is sqrt(2 g (l - sqrt(l^2 - d^2))). */
static void the_pendulum_arrives_with_the_right_speed(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 0.5, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.pendulum = true;
    for (double from = 0; from < 6; from += 1.3) {
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        int body = mj_name2id(nm_world_model(world), mjOBJ_BODY, "pendulum");
        int v = nm_world_model(world)->jnt_dofadr[nm_world_model(world)->body_jntadr[body]];
        assert_true(nm_world_pendulum(world, 0, from, 0.5));
        double fastest = 0, before = 0;
        for (int k = 0; k < 250; k++) {
            nm_world_step(world, 1);
            const double *w = nm_world_data(world)->qvel + v;
            fastest = fmax(fastest, 1.9 * hypot(w[0], w[1]));
            struct nm_truth t;
            nm_world_truth(world, 0, &t);
            if (before <= 0 && hypot(t.velocity.x, t.velocity.y) > 0.05) before = fastest;
        }
        assert_near(fastest, sqrt(2 * 9.81 * (1.9 - sqrt(1.9 * 1.9 - 0.25))), 0.06);
        assert_true(before > 0.9 * fastest); /* it met the robot at its lowest */
        nm_world_free(world);
    }
}

/* Rope and bob are in the picture from the moment they are let go, the bob where MuJoCo has it; parked they are not. */
static void the_pendulum_is_seen_while_it_swings(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 0.5, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    static struct nm_scene scene;
    options.pendulum = true;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    int body = mj_name2id(nm_world_model(world), mjOBJ_BODY, "pendulum");
    nm_scene_new(&scene, &f->pitch, 1);
    nm_world_scene(world, &scene, NULL);
    uint32_t parked = scene.n_solids;
    assert_true(nm_world_pendulum(world, 0, 0.7, 0.5));
    for (int k = 0; k < 40; k++) {
        nm_world_scene(world, &scene, NULL);
        assert_int_equal(scene.n_solids, parked + 2);
        mj_kinematics(nm_world_model(world), nm_world_data(world));
        const double *bob = nm_world_data(world)->geom_xpos + 3 * nm_world_model(world)->body_geomadr[body];
        const struct nm_solid *rope = &scene.solids[scene.n_still + 1], *shown = rope + 1;
        for (int i = 0; i < 3; i++) assert_near((double)shown->pos[i], bob[i], 1e-5);
        assert_near((double)rope->half[2], 0.95, 1e-6);
        assert_near((double)(rope->pos[2] + rope->rot[2][2] * rope->half[2]),
                    nm_world_model(world)->body_pos[3 * body + 2], 1e-5);
        nm_world_step(world, 5);
    }
    nm_world_free(world);
}

static void self_collision_leaves_a_standing_robot_alone(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robots[] = {robot_at(f->kid70, f->stance, -1, 0, 0),
                                      robot_at(f->darwin, f->small_stance, 1, 0, 0)};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.self = NM_SELF_ALL;
    struct nm_world *world = make_world(&f->pitch, robots, 2, &options);
    nm_world_step(world, 10 * 250);
    for (uint32_t r = 0; r < 2; r++) assert_true(uprightness(world, r) > 0.99);
    nm_world_free(world);
}

/* ---- incidents ---- */

static int dof_of(struct nm_world *world, const char *joint)
{
    mjModel *m = nm_world_model(world);
    return m->jnt_dofadr[mj_name2id(m, mjOBJ_JOINT, joint)];
}

static void a_broken_robot_is_put_back_and_the_others_go_on(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robots[] = {robot_at(f->kid70, f->stance, -1, 0, 0), robot_at(f->kid70, f->stance, 1, 0, 0),
                                      robot_at(f->darwin, f->small_stance, 0, 1, 0)};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    const double poison[] = {NAN, INFINITY, 1e12, 500};
    for (size_t i = 0; i < sizeof poison / sizeof poison[0]; i++) {
        struct nm_world *world = make_world(&f->pitch, robots, 3, &options);
        struct nm_truth before, after;
        nm_world_step(world, 100);
        nm_world_truth(world, 0, &before);
        nm_world_data(world)->qvel[dof_of(world, "r1_j5")] = poison[i];
        nm_world_step(world, 1);
        assert_true(nm_world_incidents(world) >= 1);
        const struct nm_incident *incident = nm_world_incident(world, 0);
        assert_int_equal(incident->robot, 1);
        assert_true(incident->kind == NM_INCIDENT_STATE || incident->kind == NM_INCIDENT_TORN);
        assert_non_null(strstr(incident->text, "kid70"));
        nm_world_truth(world, 0, &after);
        assert_near(after.base_to_field.pos.x, before.base_to_field.pos.x, 1e-3); /* the neighbour noticed nothing */
        nm_world_step(world, 5 * 250);
        for (uint32_t r = 0; r < 3; r++) assert_true(uprightness(world, r) > 0.99);
        assert_true(nm_world_incidents(world) <= 2);
        nm_world_free(world);
    }
}

static void a_bad_position_and_a_bad_force_are_survived_too(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robots[] = {robot_at(f->kid70, f->stance, -1, 0, 0), robot_at(f->kid70, f->stance, 1, 0, 0)};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, robots, 2, &options);
    mjModel *m = nm_world_model(world);
    nm_world_step(world, 50);
    nm_world_data(world)->qpos[m->jnt_qposadr[mj_name2id(m, mjOBJ_JOINT, "r0_root")] + 4] = NAN;
    nm_world_step(world, 10);
    m->dof_armature[dof_of(world, "r1_j3")] = NAN; /* the equations themselves are poisoned, for one step */
    nm_world_step(world, 1);
    m->dof_armature[dof_of(world, "r1_j3")] = 0.0266;
    nm_world_data(world)->qpos[m->jnt_qposadr[mj_name2id(m, mjOBJ_JOINT, "ball")]] = NAN;
    nm_world_step(world, 5 * 250);
    for (uint32_t r = 0; r < 2; r++) assert_true(uprightness(world, r) > 0.99);
    assert_near(nm_world_ball(world, NULL).pos.x, 0, 0.2);
    assert_true(nm_world_incidents(world) >= 3);
    nm_world_free(world);
}

static void goals_that_are_no_numbers_are_ignored(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    struct nm_joint_goal goals[NM_JOINTS];
    for (uint32_t j = 0; j < NM_JOINTS; j++) goals[j] = (struct nm_joint_goal){NAN, NAN, INFINITY, true};
    nm_world_goals(world, 0, goals);
    nm_world_push(world, 0, (struct vec3){NAN, 0, 0}, (struct vec3){0}, 1);
    nm_world_put_ball(world, (struct vec3){NAN, 0, 0}, (struct vec3){0}, (struct vec3){0});
    nm_world_place(world, 0, (struct pose2){NAN, 0, 0});
    nm_world_step(world, 250);
    assert_true(uprightness(world, 0) > 0.99);
    assert_int_equal(nm_world_incidents(world), 0);
    nm_world_free(world);
}

static void wrong_arguments_are_refused_with_a_sentence(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robots[NM_PLAYERS + 1];
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_err err = {0};
    for (int i = 0; i <= NM_PLAYERS; i++) robots[i] = robot_at(f->kid70, f->stance, i, 0, 0);
    assert_null(nm_world_new(&f->pitch, robots, NM_PLAYERS + 1, &options, &err));
    options.step = 50000000;
    assert_null(nm_world_new(&f->pitch, robots, 1, &options, &err));
    options = NM_WORLD_OPTIONS;
    options.sensor_delay = -1;
    assert_null(nm_world_new(&f->pitch, robots, 1, &options, &err));
    robots[0].start.x = NAN;
    options = NM_WORLD_OPTIONS;
    assert_null(nm_world_new(&f->pitch, robots, 1, &options, &err));
    assert_int_equal(err.n, 4);
}

static void seven_against_seven_fit(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robots[NM_PLAYERS];
    struct nm_world_options options = NM_WORLD_OPTIONS;
    for (int i = 0; i < NM_PLAYERS; i++)
        robots[i] = i % 2 ? robot_at(f->darwin, f->small_stance, i * 0.5 - 3.5, 1, i)
                          : robot_at(f->kid70, f->stance, i * 0.5 - 3.5, -1, i);
    struct nm_world *world = make_world(&f->pitch, robots, NM_PLAYERS, &options);
    nm_world_step(world, 250);
    for (uint32_t r = 0; r < NM_PLAYERS; r++) assert_true(uprightness(world, r) > 0.99);
    assert_int_equal(nm_world_incidents(world), 0);
    nm_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_robots_stand_for_a_minute),
        cmocka_unit_test(a_ball_of_two_metres_a_second_rolls_two_to_five_metres),
        cmocka_unit_test(balls_bounce_off_posts_and_stay_in_nets),
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
        cmocka_unit_test(commands_and_measurements_are_late_by_their_delays),
        cmocka_unit_test(the_seed_draws_within_the_stated_spread),
        cmocka_unit_test(a_standing_robot_feels_its_weight),
        cmocka_unit_test(a_low_battery_weakens_the_motors),
        cmocka_unit_test(motors_without_torque_let_the_robot_sink),
        cmocka_unit_test(a_push_changes_momentum_by_its_impulse),
        cmocka_unit_test(the_pendulum_arrives_with_the_right_speed),
        cmocka_unit_test(the_pendulum_is_seen_while_it_swings),
        cmocka_unit_test(self_collision_leaves_a_standing_robot_alone),
        cmocka_unit_test(a_broken_robot_is_put_back_and_the_others_go_on),
        cmocka_unit_test(a_bad_position_and_a_bad_force_are_survived_too),
        cmocka_unit_test(goals_that_are_no_numbers_are_ignored),
        cmocka_unit_test(wrong_arguments_are_refused_with_a_sentence),
        cmocka_unit_test(seven_against_seven_fit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
