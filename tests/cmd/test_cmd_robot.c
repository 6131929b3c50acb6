/* nutmeg robot: a good folder is described, what a bare URDF lacks is told in sentences, a broken file with its line.
 */
#include "said.h"

static int robot(const char *verb, const char *what)
{
    char *argv[] = {(char[]){"robot"}, (char *)(uintptr_t)verb, (char *)(uintptr_t)what, NULL};
    return run_words(cmd_robot, what ? 3 : 2, argv);
}

/* A file with this text; its path. */
static const char *file_with(const char *content)
{
    static char path[64];
    strcpy(path, "/tmp/nutmeg_robot_XXXXXX.urdf");
    int fd = mkstemps(path, 5);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
    return path;
}

static void a_robot_folder_is_described(void **state)
{
    (void)state;
    assert_int_equal(robot("check", NM_ROOT "/robots/kid70"), 0);
    assert_said("20 joints");
    assert_said("left_knee about y, 0 .. 130 deg");
    assert_said("nothing is missing to play");
    assert_int_equal(robot("check", "darwin"), 0); /* by its name */
    assert_said("MX-28 id 14");
}

static void a_bare_urdf_is_told_what_it_lacks(void **state)
{
    (void)state;
    const char *path = file_with("<robot name='stick'><link name='base_link'/></robot>");
    assert_int_equal(robot("check", path), 1); /* whatever is written beside it, it cannot walk */
    unlink(path);
    assert_said("it cannot walk");
    assert_said("missing to play");
    assert_said("no legs");
    assert_said("no camera");
}

static void a_broken_file_is_told_with_its_line(void **state)
{
    (void)state;
    const char *path = file_with("<robot name='x'>\n<link name='a'/>\n<joint name='j' type='fixd'/>\n</robot>\n");
    char place[96];
    snprintf(place, sizeof place, "%s:3: ", path);
    assert_int_equal(robot("check", path), 2);
    unlink(path);
    assert_said(place);
}

static void an_unknown_robot_is_refused_with_the_nearest_name(void **state)
{
    (void)state;
    assert_int_equal(robot("check", "kid7"), 2);
    assert_said("did you mean 'kid70'?");
}

static void all_robots_are_listed(void **state)
{
    (void)state;
    assert_int_equal(robot("list", NULL), 0);
    assert_said("darwin");
    assert_said("kid70");
    assert_int_equal(robot("list", "kid*"), 0);
    assert_null(strstr(said, "darwin"));
    assert_int_equal(robot("list", "wheels"), 1);
}

int main(void)
{
    setenv("NUTMEG_ROOT", NM_ROOT, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_robot_folder_is_described),
        cmocka_unit_test(a_bare_urdf_is_told_what_it_lacks),
        cmocka_unit_test(a_broken_file_is_told_with_its_line),
        cmocka_unit_test(an_unknown_robot_is_refused_with_the_nearest_name),
        cmocka_unit_test(all_robots_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
