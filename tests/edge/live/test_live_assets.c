/* Files are served from below their folder, and from nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "edge/live/live_inside.h"

static char folder[64], path[256];

static const char *in(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *name)
{
    FILE *to = fopen(in(name), "w");
    assert_non_null(to);
    fputs("solid", to);
    fclose(to);
}

static int begin(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test_assets_XXXXXX");
    assert_non_null(mkdtemp(folder));
    mkdir(in("bot"), 0700);
    mkdir(in("bot/meshes"), 0700);
    mkdir(in("bot2"), 0700);
    put("secret");
    put("bot2/foot.stl");
    put("bot/meshes/foot.stl");
    put("bot/.hidden");
    assert_int_equal(symlink("../secret", in("bot/link")), 0);
    assert_int_equal(symlink("meshes/foot.stl", in("bot/inside")), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    static const char *const files[] = {"bot/link",      "bot/inside", "bot/.hidden", "bot/meshes/foot.stl",
                                        "bot2/foot.stl", "secret"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(in(files[i]));
    rmdir(in("bot/meshes"));
    rmdir(in("bot"));
    rmdir(in("bot2"));
    return rmdir(folder);
}

static void test_a_path_below_is_found_and_no_other(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",           "/etc/passwd",       "../secret", "meshes/../../secret", "link",
        "meshes",     "meshes/",           ".hidden",   "meshes//foot.stl",    "nothing",
        "..\\secret", "meshes/./foot.stl", "a\nb"};
    char bot[80], to[512];
    snprintf(bot, sizeof bot, "%s/bot", folder);
    assert_int_equal(file_below(bot, "meshes/foot.stl", to, sizeof to, NULL), 0);
    assert_int_equal(file_below(bot, "inside", to, sizeof to, NULL), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct nm_err err = {0};
        if (!file_below(bot, wrong[i], to, sizeof to, &err)) fail_msg("%s was found: %s", wrong[i], to);
        assert_int_equal(err.n, 1);
    }
    assert_int_equal(file_below("/nonexistent", "x", to, sizeof to, NULL), -1);
    assert_int_equal(file_below(bot, "inside", to, 8, NULL), -1);
}

static void test_addresses_name_the_robot(void **state)
{
    (void)state;
    char bot[80];
    snprintf(bot, sizeof bot, "%s/bot", folder);
    struct nm_lineup lineup = {.name = "test", .robot_folder = bot};
    struct nm_live live = {.lineup = &lineup};
    static const char *const wrong[] = {"package://bot2/foot.stl", "package://bot", "package://bot/../secret",
                                        "file:///etc/passwd", ""};
    struct payload *frame = asset_frame(&live, 5, "package://bot/meshes/foot.stl");
    assert_int_equal(frame->n, 15);
    assert_memory_equal(frame->bytes, "\x04\x05\0\0\0\0\0\0\0\0solid", 15);
    payload_release(frame);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        frame = asset_frame(&live, 5, wrong[i]);
        assert_int_equal(frame->bytes[5], 1);
        assert_true(frame->n > 20);
        payload_release(frame);
    }
    lineup.robot_folder = NULL;
    frame = asset_frame(&live, 5, "package://bot/meshes/foot.stl");
    assert_int_equal(frame->bytes[5], 1);
    payload_release(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_path_below_is_found_and_no_other),
        cmocka_unit_test(test_addresses_name_the_robot),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
