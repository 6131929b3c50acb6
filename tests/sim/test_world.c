/* The world's promises: robots stand, balls roll, the same seed gives the same bits, and a whole match has room. */
#include "sim/worlds.h"

#include <mujoco/mujoco.h>
#include <pthread.h>

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
        /* the formula of brake_ball holds: 4.2 m on a hard floor, 1.6 m less on long blades */
        assert_near(far, 4.2 - 1.6 * fmin(pitch.turf / 0.03, 1), 0.35);
        nm_world_free(world);
    }
}

/* Whatever the direction, and whether it begins to slide or to roll: it ends on the line that it began on. */
static void a_ball_rolls_straight(void **state)
{
    struct fixture *f = *state;
    struct nm_world_options options = NM_WORLD_OPTIONS;
    for (int i = 0; i < 14; i++) {
        struct nm_world *world = make_world(&f->pitch, NULL, 0, &options);
        double r = f->pitch.ball_radius, way = 0.22 * i, c = cos(way), s = sin(way), roll = i % 2 ? 2 / r : 0;
        nm_world_put_ball(world, (struct vec3){0, 0, r}, (struct vec3){2 * c, 2 * s, 0},
                          (struct vec3){-s * roll, c * roll, 0});
        nm_world_step(world, 500);
        struct vec3 at = nm_world_ball(world, NULL).pos;
        assert_true(c * at.x + s * at.y > 1.2);
        assert_near(c * at.y - s * at.x, 0, 0.02);
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
    options.backlash = true;
    options.spread.start = 0.02;
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
        nm_world_voltage(world, 0, f->kid70->voltage);
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

/* Twice the spread: bodies that one time of it never gives, and none that is impossible. */
static void twice_the_spread_is_twice_as_wide(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_err err = {0};
    double farthest = 0;
    options.random = 2;
    for (uint64_t seed = 0; seed < 12; seed++) {
        options.seed = seed;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        struct nm_world_draw draw;
        nm_world_drawn(world, 0, &draw);
        double share = fabs(draw.ground_friction / options.friction - 1);
        assert_true(share <= 2 * options.spread.friction);
        farthest = fmax(farthest, share);
        nm_world_free(world);
    }
    assert_true(farthest > options.spread.friction);
    options.spread.friction = 0.6;
    assert_null(nm_world_new(&f->pitch, &robot, 1, &options, &err));
    assert_non_null(strstr(err.text, "would leave nothing or less"));
}

/* Upright, but no two alike. */
static void robots_begin_a_little_off_their_stance(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 1, 1, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_truth t[2];
    options.random = 1;
    options.spread.start = 0.02;
    for (uint64_t seed = 0; seed < 2; seed++) {
        options.seed = seed;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        nm_world_truth(world, 0, &t[seed]);
        double off = 0;
        for (uint32_t j = 0; j < f->kid70->n_joints; j++) off = fmax(off, fabs(t[seed].q[j] - f->stance[j]));
        assert_true(off > 0.01 && off <= 0.02 + 1e-9);
        assert_true(uprightness(world, 0) < 1 - 1e-6);
        nm_world_step(world, 3 * 250);
        assert_true(uprightness(world, 0) > 0.99);
        nm_world_free(world);
    }
    assert_true(memcmp(t[0].q, t[1].q, sizeof t[0].q) != 0);
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

/* A hard patch in long turf bears a robot higher than the turf around it, ramps bear it at their slope, and both where
 * the field's file says that they are. */
static void robots_stand_on_patches_and_ramps(void **state)
{
    struct fixture *f = *state;
    struct nm_pitch pitch = f->pitch;
    struct nm_world_robot robots[] = {robot_at(f->kid70, f->stance, -2, 0, 0), robot_at(f->kid70, f->stance, 0, 0, 0),
                                      robot_at(f->kid70, f->stance, 2, 0, 0)};
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_truth t[3];
    struct nm_kin kin;
    pitch.patches[pitch.n_patches++] = (struct nm_patch){-3, -1, -1, 1, 0, 1, 0, 0};
    pitch.patches[pitch.n_patches++] = (struct nm_patch){1, -1, 3, 1, 0.03, 1, 0.1, 0};
    struct nm_world *world = make_world(&pitch, robots, 3, &options);
    nm_world_step(world, 3 * 250);
    for (uint32_t i = 0; i < 3; i++) nm_world_truth(world, i, &t[i]);
    assert_true(uprightness(world, 0) > 0.99 && uprightness(world, 1) > 0.99 && uprightness(world, 2) > 0.98);
    assert_int_equal(nm_world_incidents(world), 0);
    assert_true(t[0].base_to_field.pos.z > t[1].base_to_field.pos.z + 0.001); /* blades of 30 mm yield more */
    nm_forward(f->kid70, t[2].base_to_field, t[2].q, &kin);
    for (int side = 0; side < 2; side++) {
        struct pose3 sole = kin.pose[f->kid70->foot[side].sole];
        struct vec3 up = quat_apply(sole.rot, (struct vec3){0, 0, 1});
        assert_near(sole.pos.z, nm_pitch_height(&pitch, sole.pos.x, sole.pos.y), 0.006);
        assert_near(-up.x, 0.05, 0.01); /* 0.1 m in 2 m */
    }
    nm_world_free(world);
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

/* A joint that is rigid costs no degree of freedom, keeps its angle whatever is asked, and its link keeps its mass. */
static void rigid_joints_keep_their_angle(void **state)
{
    struct fixture *f = *state;
    const struct nm_body *body = f->kid70;
    bool rigid[NM_JOINTS] = {false};
    double q[NM_JOINTS], height[2];
    memcpy(q, f->stance, sizeof q);
    uint32_t arm = body->arm[NM_LEFT].joints[1], n = 0;
    q[arm] = 0.4;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < body->arm[side].n; i++, n++) rigid[body->arm[side].joints[i]] = true;
    struct nm_world_robot robot = robot_at(body, q, 0, 0, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    int moving[2];
    for (int k = 0; k < 2; k++) {
        robot.rigid = k ? rigid : NULL;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        struct nm_joint_goal goals[NM_JOINTS];
        struct nm_truth t;
        struct nm_sense sense;
        struct nm_world_draw draw;
        for (uint32_t j = 0; j < body->n_joints; j++)
            goals[j] =
                (struct nm_joint_goal){.position = q[j] + (k && rigid[j] ? 0.3 : 0), .torque_limit = 1, .on = true};
        nm_world_goals(world, 0, goals);
        nm_world_step(world, 500);
        nm_world_truth(world, 0, &t);
        nm_world_sense(world, 0, &sense);
        nm_world_drawn(world, 0, &draw);
        moving[k] = nm_world_model(world)->nv;
        height[k] = t.base_to_field.pos.z;
        assert_near(draw.mass, body->mass, 1e-6 + 1e-3 * k); /* of MuJoCo's least masses */
        assert_true(uprightness(world, 0) > 0.999);
        for (uint32_t j = 0; k && j < body->n_joints; j++) {
            if (!rigid[j]) continue;
            assert_true(t.q[j] == q[j] && t.qd[j] == 0);
            assert_near(sense.joints[j].position, q[j], 0.01);
        }
        nm_world_free(world);
    }
    assert_int_equal(moving[0] - moving[1], n);
    assert_near(height[0], height[1], 0.001);
}

/* On ground that rises ahead of a standing robot, from the start or later, its accelerometer leans ahead, and it does
 * not slide. */
static void slopes_lean_what_is_up(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 0, 0, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.accel_noise = 0;
    for (int k = 0; k < 3; k++) {
        const double slope[2] = {k ? 0.03 : 0, 0};
        options.slope[0] = k == 1 ? slope[0] : 0;
        struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
        struct nm_sense sense;
        struct nm_truth t;
        if (k == 2) nm_world_slope(world, slope);
        nm_world_step(world, 1000);
        nm_world_sense(world, 0, &sense);
        nm_world_truth(world, 0, &t);
        struct vec3 up = {9.81 * sin(slope[0]), 0, 9.81 * cos(slope[0])};
        struct vec3 felt = quat_apply(quat_inv(t.base_to_field.rot), up);
        assert_near(sense.accel.x, felt.x, 0.05);
        assert_near(sense.accel.z, felt.z, 0.05);
        assert_near(t.base_to_field.pos.x, 0, 0.05);
        nm_world_free(world);
    }
    struct nm_err err = {0};
    options.slope[1] = 1;
    assert_null(nm_world_new(&f->pitch, &robot, 1, &options, &err));
    assert_non_null(strstr(err.text, "slopes"));
}

static void a_bare_world_has_no_ball(void **state)
{
    struct fixture *f = *state;
    struct nm_world_robot robot = robot_at(f->kid70, f->stance, 0, 0, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.bare = true;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    nm_world_put_ball(world, (struct vec3){1, 0, 0.1}, (struct vec3){0}, (struct vec3){0});
    nm_world_step(world, 50);
    assert_true(nm_world_ball(world, NULL).pos.z < -1);
    assert_int_equal(nm_world_model(world)->nv, 6 + (int)f->kid70->n_joints);
    assert_true(uprightness(world, 0) > 0.999);
    nm_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_robots_stand_for_a_minute),
        cmocka_unit_test(a_ball_of_two_metres_a_second_rolls_two_to_five_metres),
        cmocka_unit_test(a_ball_rolls_straight),
        cmocka_unit_test(balls_bounce_off_posts_and_stay_in_nets),
        cmocka_unit_test(the_same_seed_gives_the_same_bits),
        cmocka_unit_test(the_seed_draws_within_the_stated_spread),
        cmocka_unit_test(twice_the_spread_is_twice_as_wide),
        cmocka_unit_test(robots_begin_a_little_off_their_stance),
        cmocka_unit_test(self_collision_leaves_a_standing_robot_alone),
        cmocka_unit_test(robots_stand_on_patches_and_ramps),
        cmocka_unit_test(rigid_joints_keep_their_angle),
        cmocka_unit_test(slopes_lean_what_is_up),
        cmocka_unit_test(a_bare_world_has_no_ball),
        cmocka_unit_test(seven_against_seven_fit),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
