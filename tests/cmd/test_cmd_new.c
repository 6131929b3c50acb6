/* nutmeg new robot: a URDF becomes a folder that lacks nothing to play and whose motions are sound; names, files and
 * folders that will not do are refused before anything is written. */
#include "said.h"

#include "body/animation.h"

static int start(void **state)
{
    (void)state;
    return enter_folder();
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
        cmocka_unit_test(what_will_not_do_is_refused),
    };
    return cmocka_run_group_tests(tests, start, leave_folder);
}
