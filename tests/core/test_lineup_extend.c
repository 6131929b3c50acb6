/* A line-up that extends others is the line-up that somebody would have written out, and what cannot be is refused with
 * the file and line where it stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core/lineup.h"
#include "core/place.h"
#include "core/registered.h"

static char root[512];

static int begin(void **state)
{
    set_up(state);
    place_new(root, sizeof root);
    place_write(root, "motion.yaml",
                "cycles:\n"
                "  motion:\n"
                "    period: 8 ms\n"
                "    cost: 1 ms\n"
                "    modules:\n"
                "      - {module: ball_filter, params: {friction: 0.2, mode: fast}}\n"
                "      - striker\n"
                "      - walk\n"
                "  vision: {trigger: image_raw, timeout: 50 ms, modules: [eye]}\n"
                "remote: [image_raw]\n");
    return 0;
}

static int end(void **state)
{
    place_free(root);
    return tear_down(state);
}

static char *load(const char *text, bool foreign, struct nm_err *err)
{
    char path[600], *printed = NULL;
    size_t n;
    snprintf(path, sizeof path, "%s/m.yaml", root);
    struct nm_lineup_options options = {.root = "/nonexistent", .foreign = foreign};
    struct nm_lineup *lineup = nm_lineup_parse(text, strlen(text), path, &registry, &options, err);
    if (!lineup) return NULL;
    assert_string_equal(lineup->warnings, "");
    FILE *to = open_memstream(&printed, &n);
    nm_lineup_print(lineup, NULL, to);
    fclose(to);
    nm_lineup_free(lineup);
    return printed;
}

/* Both texts are the same line-up. */
static void same(const char *extending, const char *written_out)
{
    struct nm_err err = {0};
    char *a = load(extending, false, &err);
    if (!a) fail_msg("%s", err.text);
    char *b = load(written_out, false, &err);
    if (!b) fail_msg("%s", err.text);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static void refused(const char *text, bool foreign, const char *sentence)
{
    struct nm_err err = {0};
    assert_null(load(text, foreign, &err));
    if (!strstr(err.text, sentence)) fail_msg("'%s' is not in '%s'", sentence, err.text);
    assert_null(load(text, foreign, NULL));
}

static void instances_are_changed_added_and_removed(void **state)
{
    (void)state;
    same("extends: motion\n"
         "remove: [eye]\n"
         "cycles:\n"
         "  motion:\n"
         "    cost: 2 ms\n"
         "    modules:\n"
         "      - {module: ball_filter, params: {mode: safe}, topics: {ball_seen: other}}\n"
         "      - {module: ball_filter, name: rival, topics: {ball: ball_rival, ball_seen: other}}\n"
         "  talk: {period: 1 s, modules: [speaker]}\n"
         "remote: [other]\n",
         "cycles:\n"
         "  motion:\n"
         "    period: 8 ms\n"
         "    cost: 2 ms\n"
         "    modules:\n"
         "      - {module: ball_filter, params: {friction: 0.2, mode: safe}, topics: {ball_seen: other}}\n"
         "      - striker\n"
         "      - walk\n"
         "      - {module: ball_filter, name: rival, topics: {ball: ball_rival, ball_seen: other}}\n"
         "  talk: {period: 1 s, modules: [speaker]}\n"
         "remote: [other]\n");
}

/* the rhythm of a cycle is replaced as a whole, and an instance moves to the cycle that lists it last */
static void cycles_change_and_instances_move(void **state)
{
    (void)state;
    same("extends: motion\n"
         "cycles:\n"
         "  vision: {period: 30 ms}\n"
         "  behavior: {trigger: ball, modules: [striker]}\n",
         "cycles:\n"
         "  motion:\n"
         "    period: 8 ms\n"
         "    cost: 1 ms\n"
         "    modules:\n"
         "      - {module: ball_filter, params: {friction: 0.2, mode: fast}}\n"
         "      - walk\n"
         "  vision: {period: 30 ms, modules: [eye]}\n"
         "  behavior: {trigger: ball, modules: [striker]}\n"
         "remote: [image_raw]\n");
}

/* a topic that one of them expects from outside and another one makes is made here; a grandparent counts, too */
static void several_line_ups_are_put_together(void **state)
{
    (void)state;
    place_write(root, "sight.yaml", "cycles:\n  vision: {trigger: image_raw, modules: [eye]}\nremote: [image_raw]\n");
    place_write(root, "mind.yaml",
                "cycles:\n"
                "  motion: {period: 10 ms, modules: [ball_filter, striker]}\n"
                "remote: [ball_seen, odometry]\n");
    place_write(root, "legs.yaml",
                "extends: mind\n"
                "cycles:\n"
                "  motion: {modules: [walk]}\n");
    same("extends: [sight, legs]\n", "cycles:\n"
                                     "  vision: {trigger: image_raw, modules: [eye]}\n"
                                     "  motion: {period: 10 ms, modules: [ball_filter, striker, walk]}\n"
                                     "remote: [image_raw]\n");
}

/* names with a colon between them are a line-up without a file */
static void line_ups_are_joined_by_name(void **state)
{
    (void)state;
    char path[600], *printed = NULL;
    size_t n;
    struct nm_err err = {0};
    struct nm_lineup_options options = {.root = "/nonexistent"};
    snprintf(path, sizeof path, "%s/sight:legs.yaml", root);
    assert_true(nm_lineup_exists(path));
    struct nm_lineup *lineup = nm_lineup_load(path, &registry, &options, &err);
    if (!lineup) fail_msg("%s", err.text);
    FILE *to = open_memstream(&printed, &n);
    nm_lineup_print(lineup, NULL, to);
    fclose(to);
    nm_lineup_free(lineup);
    char *written = load("extends: [sight, legs]\n", false, &err);
    assert_string_equal(printed, written);
    free(printed);
    free(written);
    snprintf(path, sizeof path, "%s/sight:lges.yaml", root);
    assert_null(nm_lineup_load(path, &registry, &options, &err));
    assert_non_null(strstr(err.text, "there is no line-up 'lges' to extend"));
}

static void what_cannot_be_extended_is_refused(void **state)
{
    (void)state;
    place_write(root, "a.yaml", "extends: b\n");
    place_write(root, "b.yaml", "\nextends: [motion, a]\n");
    place_write(root, "odd.yaml", "cycles: [motion]\nspeed: 1\n");
    refused("extends: a\n", false, "b.yaml:2: this line-up would extend itself through 'a'");
    refused("extends: m\n", false, "m.yaml:1: this line-up would extend itself through 'm'");
    refused("extends: motoin\n", false, "m.yaml:1: there is no line-up 'motoin' to extend (");
    refused("extends: motoin\n", false, "did you mean 'motion'?");
    refused("extends: motion\nremove: [kick, wlak]\n", false,
            "m.yaml:2: remove: the extended line-up has no instance 'kick'");
    refused("extends: motion\nremove: [kick, wlak]\n", false, "did you mean 'walk'?");
    refused("extends: motion\nremove: walk\n", false, "remove: a list of instances is needed here");
    refused("remove: [walk]\ncycles: {motion: {period: 1 s, modules: [walk]}}\n", false,
            "works only together with extends:");
    refused("extends: odd\n", false, "odd.yaml:2: unknown key 'speed'");
    refused("extends: motion\n", true, "a line-up from a log opens no other file");
    refused("extends: motion\ncycles: {motion: {modules: walk}}\n", false, "m.yaml:2: cycle 'motion' needs");
    refused("extends: motion\ncycles: {talk: {period: 1 s}}\n", false,
            "m.yaml:2: cycle 'talk' needs a list of modules");
    /* faults in an inherited line are reported where it stands */
    refused("extends: motion\nremove: [eye]\n", false, "motion.yaml:6: module 'ball_filter' reads topic 'ball_seen'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_are_changed_added_and_removed), cmocka_unit_test(cycles_change_and_instances_move),
        cmocka_unit_test(several_line_ups_are_put_together),       cmocka_unit_test(line_ups_are_joined_by_name),
        cmocka_unit_test(what_cannot_be_extended_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
