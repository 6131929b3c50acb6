/* Hands in the world: a push gives its impulse, the pendulum arrives with the speed of the closed form, and is seen. */
#include "sim/worlds.h"

#include <mujoco/mujoco.h>

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

/* What else of the robot is in its way it passes: an arm held out to the side stays where it is. It is taken away soon
 * after it met the trunk, and when that was is known. */
static void the_pendulum_meets_trunks_only_and_once(void **state)
{
    struct fixture *f = *state;
    double stance[NM_JOINTS];
    memcpy(stance, f->stance, sizeof stance);
    stance[nm_find_joint(f->kid70, "left_shoulder_roll")] = 1.4;
    struct nm_world_robot robot = robot_at(f->kid70, stance, 1, 0.5, 0);
    struct nm_world_options options = NM_WORLD_OPTIONS;
    options.pendulum = true;
    struct nm_world *world = make_world(&f->pitch, &robot, 1, &options);
    const mjModel *m = nm_world_model(world);
    int body = mj_name2id(m, mjOBJ_BODY, "pendulum"), trunk = mj_name2id(m, mjOBJ_BODY, "r0_l0"), touched = 0;
    assert_int_equal(nm_world_struck(world, 0), -1);
    assert_true(nm_world_pendulum(world, 0, M_PI / 2, 0.8));
    for (int k = 0; k < 500; k++) {
        const mjData *d = nm_world_data(world);
        nm_world_step(world, 1);
        for (int i = 0; i < d->ncon; i++) {
            int one = m->geom_bodyid[d->contact[i].geom1], two = m->geom_bodyid[d->contact[i].geom2];
            if (one != body && two != body) continue;
            assert_int_equal(one == body ? two : one, trunk);
            touched++;
        }
    }
    assert_true(touched > 0);
    assert_in_range((uint64_t)nm_world_struck(world, 0), 600000000, 900000000); /* a quarter of its swing */
    assert_true(m->body_pos[3 * body + 2] < 0);
    nm_world_free(world);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_changes_momentum_by_its_impulse),
        cmocka_unit_test(the_pendulum_arrives_with_the_right_speed),
        cmocka_unit_test(the_pendulum_meets_trunks_only_and_once),
        cmocka_unit_test(the_pendulum_is_seen_while_it_swings),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
