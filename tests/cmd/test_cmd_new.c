/* nutmeg new robot: a URDF becomes a folder that lacks nothing to play and whose motions are sound; names, files and
 * folders that will not do are refused before anything is written. */
#include "said.h"

#include "body/animation.h"

static int start(void **state)
{
    (void)state;
    return enter_folder();
}

/* All of them in the file. */
static void replace_in(const char *path, const char *old, const char *new)
{
    char text[1 << 16], more[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file), to = 0, found = 0;
    fclose(file);
    text[n] = 0;
    for (size_t at = 0; at < n;) {
        bool here = !strncmp(text + at, old, strlen(old));
        assert_true(to + strlen(new) + 1 < sizeof more);
        if (here) memcpy(more + to, new, strlen(new));
        if (!here) more[to] = text[at];
        to += here ? strlen(new) : 1;
        at += here ? strlen(old) : 1;
        found += here;
    }
    assert_true(found > 0);
    file = fopen(path, "w");
    assert_int_equal(fwrite(more, 1, to, file), to);
    fclose(file);
}

static void a_urdf_becomes_a_robot_that_lacks_nothing(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_err err = {0}, missing = {0};
    assert_int_equal(run_line(cmd_new, "new robot tall " NM_ROOT "/robots/darwin/robot.urdf -d tall"), 0);
    assert_said("tall/servos.yaml");
    assert_said("tall/animations/stand.yaml");
    assert_said("nutmeg sim motion/forward --robot tall");
    const struct nm_body *body = nm_body_load(&arena, "tall", &err);
    if (!body) fail_msg("%s", err.text);
    assert_string_equal(body->name, "tall");
    assert_int_equal(nm_body_missing(body, &missing), 0);
    assert_int_equal(body->n_servos, 20);
    assert_true(body->n_animations > 5);
    for (uint32_t i = 0; i < body->n_animations; i++)
        if (nm_animation_check(body, &body->animations[i], &err)) fail_msg("%s", err.text);
    /* what is there already stays */
    assert_int_equal(run_line(cmd_new, "new robot tall " NM_ROOT "/robots/darwin/robot.urdf -d tall"), 2);
    assert_said("exists already and is not changed");
    nm_arena_free(&arena);
}

/* What the drives of a heavy body lose by friction is little, and its battery sinks under load as that of the robot
 * that it was made like. */
static double share_lost_in_battery(const struct nm_body *body)
{
    double amperes = 0;
    for (uint32_t i = 0; i < body->n_servos; i++)
        amperes += body->voltage / body->servo_types[body->servos[i].type].resistance;
    return amperes * body->battery.resistance / body->voltage;
}

static void assert_motors_have_power(const struct nm_body *body)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_body *kid = nm_body_load(&arena, NM_ROOT "/robots/kid70", &err);
    assert_non_null(kid);
    assert_true(fabs(share_lost_in_battery(body) / share_lost_in_battery(kid) - 1) < 0.02);
    for (uint32_t i = 0; i < body->n_servo_types; i++) {
        const struct nm_servo_type *t = &body->servo_types[i];
        double stall = t->kt * body->voltage / t->resistance;
        assert_true(t->damping * t->no_load_speed + t->friction < 0.05 * stall);
        assert_true(stall > 0.95 * t->max_torque && stall < 1.05 * t->max_torque);
    }
    nm_arena_free(&arena);
}

/* Each difficulty of tests/data/robots: the folder says again what was found in the URDF, and a stance in it is one. */
static void strangers_become_folders_that_say_the_same(void **state)
{
    (void)state;
    static const char *const names[] = {
        "no_sole",     "right_first",     "endless_knees",   "mesh_feet", "placeholder_inertias", "waist_below",
        "waist_above", "hip_pitch_first", "five_joint_legs", "forward_y", "coupled_knees"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct nm_arena arena = {0};
        struct nm_err err = {0};
        char line[600];
        snprintf(line, sizeof line, "new robot %s " NM_ROOT "/tests/data/robots/%s.urdf -d %s", names[i], names[i],
                 names[i]);
        assert_int_equal(run_line(cmd_new, line), 0);
        assert_said("Found and assumed");
        const struct nm_body *made = nm_body_load(&arena, names[i], &err);
        if (!made) fail_msg("%s", err.text);
        snprintf(line, sizeof line, NM_ROOT "/tests/data/robots/%s.urdf", names[i]);
        const struct nm_body *urdf = nm_body_load(&arena, line, &err);
        assert_int_equal(made->facing, urdf->facing);
        assert_int_equal(made->n_collisions, urdf->n_collisions);
        for (int side = 0; side < 2; side++) {
            assert_int_equal(made->leg[side].n, urdf->leg[side].n);
            assert_memory_equal(made->leg[side].joints, urdf->leg[side].joints, 4 * made->leg[side].n);
            struct vec3 a = made->frames[made->foot[side].sole].to_link.pos,
                        b = urdf->frames[urdf->foot[side].sole].to_link.pos;
            assert_true(vec3_norm(vec3_sub(a, b)) < 1e-4);
        }
        for (uint32_t j = 0; j < made->n_joints; j++) /* never the motors of a kid for a body of 30 kg */
            if (made->mass > 20 && strstr(made->joints[j].name, "nee")) assert_true(made->joints[j].effort > 40);
        if (made->mass > 20) assert_motors_have_power(made);
        assert_int_equal(nm_body_refused(made, &err), 0);
        assert_non_null(nm_find_animation(made, "stand"));
        if (!strcmp(names[i], "placeholder_inertias")) assert_true(made->inertia[1].xx < 0.01);
        nm_arena_free(&arena);
    }
}

/* Motors that cannot hold the body: the numbers are said, and the exit code is that of a body that cannot walk. */
static void weak_motors_are_refused_with_numbers(void **state)
{
    (void)state;
    assert_int_equal(run_line(cmd_new, "new robot weak " NM_ROOT "/robots/darwin/robot.urdf -d weak"), 0);
    assert_int_equal(run_line(cmd_robot, "robot check weak"), 0);
    replace_in("weak/servos.yaml", "duty_gain: 0.158", "duty_gain: 0.03");
    assert_int_equal(run_line(cmd_robot, "robot check weak"), 1);
    assert_said("it cannot walk");
    assert_said("and its twin hold the body with");
    replace_in("weak/servos.yaml", "duty_gain: 0.03", "duty_gain: 0.158");
    replace_in("weak/servos.yaml", "max_duty: 1\n", "max_duty: 0.2\n");
    assert_int_equal(run_line(cmd_robot, "robot check weak"), 1);
    assert_said("on one leg with a bent knee, and its motor has");
}

static void what_will_not_do_is_refused(void **state)
{
    (void)state;
    assert_int_equal(run_line(cmd_new, "new robot short nothing.urdf -d short"), 2);
    assert_said("nothing.urdf: there is no such robot folder or URDF file");
    assert_int_equal(run_line(cmd_new, "new robot sh/ort " NM_ROOT "/robots/darwin/robot.urdf -d short"), 2);
    assert_said("the name 'sh/ort'");
    assert_int_equal(run_line(cmd_new, "new robot short " NM_ROOT "/robots/darwin/robot.urdf -d short -l kid7"), 2);
    assert_said("did you mean");
    assert_int_equal(run_line(cmd_new, "new robot short " NM_ROOT "/README.md -d short"), 2);
    assert_int_equal(access("short", F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_urdf_becomes_a_robot_that_lacks_nothing),
        cmocka_unit_test(strangers_become_folders_that_say_the_same),
        cmocka_unit_test(weak_motors_are_refused_with_numbers),
        cmocka_unit_test(what_will_not_do_is_refused),
    };
    return cmocka_run_group_tests(tests, start, leave_folder);
}
