/* What is saved comes back when the line-up is loaded again, whatever else the file held; and a save that fails leaves
 * everything as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "core/files.h"
#include "core/layers.h"
#include "core/place.h"
#include "core/registered.h"

#define HEAD                                                                                                           \
    "# Written by `nutmeg param save`; `nutmeg param reset` takes values out again.\n"                                 \
    "# What stands here wins over every file that people write.\n"

static char root[512];
static struct nm_lineup_options options;

static struct nm_lineup *load(void)
{
    static const char text[] = "robot: kid70\n"
                               "cycles: {motion: {period: 8 ms, modules: [ball_filter, striker,\n"
                               "  {module: ball_filter, name: rival, topics: {ball: ball_rival}}]}}\n"
                               "remote: [ball_seen, odometry]\n";
    char file[600];
    struct nm_err err = {0};
    snprintf(file, sizeof file, "%s/lineups/match.yaml", root);
    struct nm_lineup *lineup = nm_lineup_parse(text, sizeof text - 1, file, &registry, &options, &err);
    if (!lineup) fail_msg("%s", err.text);
    return lineup;
}

static int set_up_root(void **state)
{
    place_new(root, sizeof root);
    set_up(state);
    place_write(root, "lineups/x", "");
    place_write(root, "config/x", "");
    place_write(root, "robots/kid70/heads/red.yaml", "");
    place_write(root, "robots/kid70/bodies/b2.yaml", "");
    place_write(root, "config/places/hamburg.yaml", "");
    place_write(root, "config/events/open.yaml", "");
    options =
        (struct nm_lineup_options){.root = root, .head = "red", .body = "b2", .place = "hamburg", .event = "open"};
    return 0;
}

static int tear_down_root(void **state)
{
    place_free(root);
    return tear_down(state);
}

/* Saves "instance.param=value", or "instance.param" to take it out. */
static int save(struct nm_lineup *lineup, enum nm_layer layer, const char *const *what, uint32_t n, struct nm_err *err)
{
    struct nm_saved saved[16];
    struct nm_value values[16];
    *err = (struct nm_err){0};
    for (uint32_t i = 0; i < n; i++) {
        char instance[64], param[64], value[64] = "";
        bool keep = sscanf(what[i], "%63[^.].%63[^=]=%63[^\n]", instance, param, value) == 3;
        saved[i].instance = nm_lineup_instance(lineup, instance);
        const struct nm_module *module = lineup->instances[saved[i].instance].module;
        saved[i].param = (uint32_t)nm_param_find(module, param, err);
        if (nm_value_parse(&module->params[saved[i].param], keep ? value : "0", &values[i], keep ? err : NULL) && keep)
            fail_msg("%s", err->text);
        saved[i].value = keep ? &values[i] : NULL;
    }
    return nm_layers_save(lineup, &registry, &options, layer, saved, n, err);
}

static void saves(struct nm_lineup *lineup, enum nm_layer layer, const char *const *what, uint32_t n)
{
    struct nm_err err;
    if (save(lineup, layer, what, n, &err)) fail_msg("%s", err.text);
    assert_int_equal(err.n, 0);
}

static void a_saved_file_is_sorted_and_says_what_it_is(void **state)
{
    (void)state;
    char text[2000];
    struct nm_lineup *l = load();
    static const char *const first[] = {"striker.speed=0.5", "ball_filter.mode=fast", "ball_filter.friction=0.35"};
    static const char *const second[] = {"ball_filter.gains=[1, 0.1, 0]", "ball_filter.friction=0.1",
                                         "ball_filter.label=say \"hi\"", "ball_filter.rolling=false"};
    saves(l, NM_LAYER_ROBOT, first, 3);
    assert_string_equal(place_read(root, "robots/kid70/params.saved.yaml", text, sizeof text),
                        HEAD "ball_filter:\n  friction: 0.35\n  mode: \"fast\"\nstriker:\n  speed: 0.5\n");
    saves(l, NM_LAYER_ROBOT, second, 4);
    assert_string_equal(place_read(root, "robots/kid70/params.saved.yaml", text, sizeof text),
                        HEAD "ball_filter:\n  friction: 0.1\n  gains: [1, 0.1, 0]\n  label: \"say \\\"hi\\\"\"\n"
                             "  mode: \"fast\"\n  rolling: false\nstriker:\n  speed: 0.5\n");
    nm_lineup_free(l);
}

static void every_layer_has_its_own_file(void **state)
{
    (void)state;
    static const char *const files[NM_LAYERS] = {
        [NM_LAYER_DEFAULT] = "config/default.saved.yaml",      [NM_LAYER_ROBOT] = "robots/kid70/params.saved.yaml",
        [NM_LAYER_HEAD] = "robots/kid70/heads/red.saved.yaml", [NM_LAYER_BODY] = "robots/kid70/bodies/b2.saved.yaml",
        [NM_LAYER_PLACE] = "config/places/hamburg.saved.yaml", [NM_LAYER_EVENT] = "config/events/open.saved.yaml",
        [NM_LAYER_LINEUP] = "lineups/match.saved.yaml",
    };
    char text[2000];
    struct nm_err err;
    struct nm_lineup *l = load();
    for (enum nm_layer layer = NM_LAYER_MODULE; layer < NM_LAYERS; layer++) {
        static const char *const what[] = {"striker.speed=0.5"};
        if (!files[layer]) {
            assert_int_equal(save(l, layer, what, 1, &err), -1);
            continue;
        }
        assert_string_equal(place_read(root, files[layer], text, sizeof text), "(none)");
        saves(l, layer, what, 1);
        assert_string_equal(place_read(root, files[layer], text, sizeof text), HEAD "striker:\n  speed: 0.5\n");
    }
    assert_string_equal(err.text,
                        "layer 'live' has no file to save into; those that have one are default, robot, head, "
                        "body, place, event, lineup\n");
    nm_lineup_free(l);
}

static void what_was_saved_comes_back(void **state)
{
    (void)state;
    static const char *const what[] = {"ball_filter.rolling=false",
                                       "ball_filter.samples=999",
                                       "ball_filter.serial=-8000000001",
                                       "ball_filter.friction=0.1",
                                       "ball_filter.jump=0.30000000000000004",
                                       "ball_filter.mode=fast",
                                       "ball_filter.label=true: #9 \\n 'x'",
                                       "ball_filter.gains=0.1 0.2 0.3",
                                       "ball_filter.limits=-1e-9 9.999999"};
    struct nm_lineup *l = load();
    saves(l, NM_LAYER_PLACE, what, 9);
    nm_lineup_free(l);
    l = load();
    for (uint32_t p = 0; p < 9; p++) {
        const struct nm_value *value = &l->instances[0].values[p];
        struct nm_value expected = {0};
        struct nm_err err = {0};
        const char *text = strchr(what[p], '=') + 1;
        if (nm_value_parse(&ball_filter_params[p], text, &expected, &err)) fail_msg("%s", err.text);
        assert_true(nm_value_equal(&ball_filter_params[p], value, &expected));
        assert_int_equal(value->layer, NM_LAYER_SAVED);
    }
    nm_lineup_free(l);
}

static void values_can_be_taken_out_again(void **state)
{
    (void)state;
    char text[2000];
    struct nm_lineup *l = load();
    static const char *const in[] = {"striker.speed=0.5", "ball_filter.jump=2"};
    static const char *const out[] = {"striker.speed", "ball_filter.samples"};
    static const char *const rest[] = {"ball_filter.jump"};
    saves(l, NM_LAYER_DEFAULT, in, 2);
    saves(l, NM_LAYER_DEFAULT, out, 2);
    assert_string_equal(place_read(root, "config/default.saved.yaml", text, sizeof text),
                        HEAD "ball_filter:\n  jump: 2\n");
    saves(l, NM_LAYER_DEFAULT, rest, 1);
    assert_string_equal(place_read(root, "config/default.saved.yaml", text, sizeof text), "(none)");
    saves(l, NM_LAYER_DEFAULT, rest, 1); /* nothing to take out is no fault */
    nm_lineup_free(l);
}

static void what_the_file_held_is_kept(void **state)
{
    (void)state;
    char text[2000];
    struct nm_lineup *l = load();
    static const char *const what[] = {"striker.speed=0.5"};
    place_write(root, "config/default.saved.yaml",
                "zebra: {stripes: [1, \"two\", 3.0], name: 'it''s',\n  size: 0x1f}\nempty:\n");
    saves(l, NM_LAYER_DEFAULT, what, 1);
    assert_string_equal(place_read(root, "config/default.saved.yaml", text, sizeof text),
                        HEAD "striker:\n  speed: 0.5\nzebra:\n  name: \"it's\"\n  size: 0x1f\n  stripes: [1, \"two\", "
                             "3.0]\n");
    nm_lineup_free(l);
}

static void a_file_that_we_did_not_write_is_left_alone(void **state)
{
    (void)state;
    static const char *const odd[] = {"striker: {speed: {deep: 1}}\n", "striker: [1]\n", "striker: 1\n", "- 1\n",
                                      "a: [\n"};
    static const char *const what[] = {"striker.speed=0.5"};
    struct nm_lineup *l = load();
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char text[2000];
        struct nm_err err;
        place_write(root, "config/default.saved.yaml", odd[i]);
        assert_int_equal(save(l, NM_LAYER_DEFAULT, what, 1, &err), -1);
        assert_int_equal(err.n, 1);
        assert_non_null(strstr(err.text, "config/default.saved.yaml:"));
        assert_string_equal(place_read(root, "config/default.saved.yaml", text, sizeof text), odd[i]);
    }
    nm_lineup_free(l);
}

/* In a shared file `rival` would break every other line-up, and there a module's name speaks for all its instances. */
static void an_instance_of_its_own_name_is_saved_with_the_line_up(void **state)
{
    (void)state;
    char text[2000];
    struct nm_err err;
    static const char *const rival[] = {"rival.jump=2"}, *const both[] = {"ball_filter.jump=3", "rival.jump=2"};
    struct nm_lineup *l = load();
    assert_int_equal(save(l, NM_LAYER_ROBOT, rival, 1, &err), -1);
    assert_string_equal(err.text,
                        "rival.jump: layer 'robot' belongs to all line-ups, which know no 'rival'; save it in "
                        "layer 'lineup'\n");
    assert_string_equal(place_read(root, "robots/kid70/params.saved.yaml", text, sizeof text), "(none)");
    saves(l, NM_LAYER_LINEUP, both, 2);
    nm_lineup_free(l);
    l = load();
    assert_true(l->instances[nm_lineup_instance(l, "ball_filter")].values[4].number[0] == 3);
    assert_true(l->instances[nm_lineup_instance(l, "rival")].values[4].number[0] == 2);
    nm_lineup_free(l);
}

/* A line-up that does not load the plug-in would not know its name, and would no longer start. */
static void a_plug_in_is_saved_with_the_line_up(void **state)
{
    (void)state;
    char text[2000];
    struct nm_err err;
    static const char *const speed[] = {"striker.speed=0.5"};
    struct nm_lineup *l = load();
    const struct nm_module *const *end = registry.linked_end;
    registry.linked_end = registry.linked_begin; /* all modules are from outside now */
    assert_int_equal(save(l, NM_LAYER_ROBOT, speed, 1, &err), -1);
    assert_non_null(strstr(err.text, "striker.speed: 'striker' is a plug-in"));
    assert_int_equal(save(l, NM_LAYER_DEFAULT, speed, 1, &err), -1);
    assert_string_equal(place_read(root, "robots/kid70/params.saved.yaml", text, sizeof text), "(none)");
    assert_string_equal(place_read(root, "config/default.saved.yaml", text, sizeof text), "(none)");
    saves(l, NM_LAYER_LINEUP, speed, 1);
    registry.linked_end = end;
    nm_lineup_free(l);
    nm_lineup_free(load());
}

static void a_layer_that_is_not_in_use_cannot_be_saved(void **state)
{
    (void)state;
    char expected[1000];
    struct nm_err err;
    static const char *const what[] = {"striker.speed=0.5"};
    struct nm_lineup *l = load();
    options.place = NULL;
    assert_int_equal(save(l, NM_LAYER_PLACE, what, 1, &err), -1);
    assert_string_equal(err.text, "layer 'place': no place is chosen; name it with --place\n");
    l->robot_folder = NULL;
    assert_int_equal(save(l, NM_LAYER_ROBOT, what, 1, &err), -1);
    snprintf(expected, sizeof expected, "layer 'robot': the line-up %s/lineups/match.yaml has no robot\n", root);
    assert_string_equal(err.text, expected);
    nm_lineup_free(l);
}

/* ---- a save that fails ---- */

static uint32_t files_in(const char *folder)
{
    char path[600];
    struct nm_arena scratch = {0};
    uint32_t n;
    snprintf(path, sizeof path, "%s/%s", root, folder);
    nm_files_in(&scratch, path, "", &n);
    nm_arena_free(&scratch);
    return n;
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    char text[2000], old[2000];
    struct nm_err err;
    static const char *const first[] = {"striker.speed=0.5"}, *const second[] = {"striker.speed=0.6"};
    struct nm_lineup *l = load();
    saves(l, NM_LAYER_DEFAULT, first, 1);
    place_read(root, "config/default.saved.yaml", old, sizeof old);
    uint32_t files = files_in("config");

    /* no file may grow beyond 20 bytes: the write breaks off in the middle, also for root */
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = (struct rlimit){20, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int rc = save(l, NM_LAYER_DEFAULT, second, 1, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(rc, -1);
    assert_non_null(strstr(err.text, "config/default.saved.yaml: cannot be written: File too large\n"));
    assert_string_equal(place_read(root, "config/default.saved.yaml", text, sizeof text), old);
    assert_int_equal(files_in("config"), files); /* nothing half-written lies about */
    nm_lineup_free(l);
}

static void a_folder_that_cannot_be_written_is_a_sentence(void **state)
{
    (void)state;
    char path[1000];
    struct nm_err err;
    static const char *const what[] = {"striker.speed=0.5"};
    struct nm_lineup *l = load();
    snprintf(path, sizeof path, "%s/config/default.saved.yaml", root);
    assert_int_equal(mkdir(path, 0755), 0); /* in the way */
    assert_int_equal(save(l, NM_LAYER_DEFAULT, what, 1, &err), -1);
    assert_non_null(strstr(err.text, "config/default.saved.yaml: cannot be written: Is a directory\n"));
    assert_int_equal(rmdir(path), 0);

    if (geteuid()) { /* root may write everywhere */
        snprintf(path, sizeof path, "%s/config", root);
        chmod(path, 0555);
        assert_int_equal(save(l, NM_LAYER_DEFAULT, what, 1, &err), -1);
        assert_non_null(strstr(err.text, "cannot be written: Permission denied\n"));
        chmod(path, 0755);
    }
    nm_lineup_free(l);
}

static void a_file_keeps_its_rights(void **state)
{
    (void)state;
    char path[1000];
    struct nm_err err = {0};
    struct stat status;
    snprintf(path, sizeof path, "%s/secret", root);
    assert_int_equal(nm_file_replace(path, "one", 3, &err), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(nm_file_replace(path, "two", 3, &err), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    char text[10];
    assert_string_equal(place_read(root, "secret", text, sizeof text), "two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_saved_file_is_sorted_and_says_what_it_is, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(every_layer_has_its_own_file, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(what_was_saved_comes_back, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(values_can_be_taken_out_again, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(what_the_file_held_is_kept, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(a_file_that_we_did_not_write_is_left_alone, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(an_instance_of_its_own_name_is_saved_with_the_line_up, set_up_root,
                                        tear_down_root),
        cmocka_unit_test_setup_teardown(a_plug_in_is_saved_with_the_line_up, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(a_layer_that_is_not_in_use_cannot_be_saved, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_old_file, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_written_is_a_sentence, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(a_file_keeps_its_rights, set_up_root, tear_down_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
