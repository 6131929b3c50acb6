/* One broken robot never breaks the match: bad states, forces and goals are survived and counted, bad arguments are
 * refused. */
#include "sim/worlds.h"

#include <mujoco/mujoco.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_robot_is_put_back_and_the_others_go_on),
        cmocka_unit_test(a_bad_position_and_a_bad_force_are_survived_too),
        cmocka_unit_test(goals_that_are_no_numbers_are_ignored),
        cmocka_unit_test(wrong_arguments_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
