/* nutmeg robot: a good folder is described, what a bare URDF lacks is told in sentences, a broken file with its line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/commands.h"

static char text[65536]; /* what a command printed, both streams */

static int robot(const char *verb, const char *what)
{
    char *argv[] = {(char[]){"robot"}, (char *)(uintptr_t)verb, (char *)(uintptr_t)what, NULL};
    int saved[2] = {dup(1), dup(2)};
    FILE *to = tmpfile();
    fflush(NULL);
    dup2(fileno(to), 1);
    dup2(fileno(to), 2);
    int code = cmd_robot(what ? 3 : 2, argv);
    fflush(NULL);
    dup2(saved[0], 1);
    dup2(saved[1], 2);
    close(saved[0]);
    close(saved[1]);
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = '\0';
    fclose(to);
    return code;
}

#define assert_says(words)                                                                                             \
    do {                                                                                                               \
        if (!strstr(text, (words))) fail_msg("'%s' is not in:\n%s", (words), text);                                    \
    } while (0)

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
    assert_says("20 joints");
    assert_says("left_knee about y, 0 .. 130 deg");
    assert_says("nothing is missing to play");
    assert_int_equal(robot("check", "darwin"), 0); /* by its name */
    assert_says("MX-28 id 14");
}

static void a_bare_urdf_is_told_what_it_lacks(void **state)
{
    (void)state;
    const char *path = file_with("<robot name='stick'><link name='base_link'/></robot>");
    assert_int_equal(robot("check", path), 0);
    unlink(path);
    assert_says("missing to play");
    assert_says("no legs");
    assert_says("no camera");
}

static void a_broken_file_is_told_with_its_line(void **state)
{
    (void)state;
    const char *path = file_with("<robot name='x'>\n<link name='a'/>\n<joint name='j' type='fixd'/>\n</robot>\n");
    char place[96];
    snprintf(place, sizeof place, "%s:3: ", path);
    assert_int_equal(robot("check", path), 2);
    unlink(path);
    assert_says(place);
}

static void an_unknown_robot_is_refused_with_the_nearest_name(void **state)
{
    (void)state;
    assert_int_equal(robot("check", "kid7"), 2);
    assert_says("did you mean 'kid70'?");
}

static void all_robots_are_listed(void **state)
{
    (void)state;
    assert_int_equal(robot("list", NULL), 0);
    assert_says("darwin");
    assert_says("kid70");
    assert_int_equal(robot("list", "kid*"), 0);
    assert_null(strstr(text, "darwin"));
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
