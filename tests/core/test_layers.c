/* The more particular layer wins, every value tells where it comes from, and a slip in any file is refused with file
 * and line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/layers.h"
#include "core/place.h"
#include "core/registered.h"

static char root[512];

static int set_up_root(void **state)
{
    place_new(root, sizeof root);
    set_up(state);
    return 0;
}

static int tear_down_root(void **state)
{
    place_free(root);
    return tear_down(state);
}

static const char lineup_text[] = "robot: kid70\n"
                                  "cycles:\n"
                                  "  motion:\n"
                                  "    period: 8 ms\n"
                                  "    modules:\n"
                                  "      - ball_filter\n"
                                  "      - {module: ball_filter, name: rival, topics: {ball: ball_rival}}\n"
                                  "remote: [ball_seen, odometry]\n";

static struct nm_lineup *load_from(const char *text, struct nm_lineup_options options, struct nm_err *err)
{
    char file[600];
    options.root = root;
    snprintf(file, sizeof file, "%s/lineups/match.yaml", root);
    *err = (struct nm_err){0};
    return nm_lineup_parse(text, strlen(text), file, &registry, &options, err);
}

static double value_of(const char *text, struct nm_lineup_options options, const char *instance, const char *param,
                       enum nm_layer *layer, char *file)
{
    struct nm_err err;
    struct nm_lineup *l = load_from(text, options, &err);
    if (!l) fail_msg("%s", err.text);
    int p = nm_param_find(&ball_filter_module, param, &err);
    const struct nm_value *v = &l->instances[nm_lineup_instance(l, instance)].values[p];
    *layer = v->layer;
    strcpy(file, v->file ? v->file + strlen(root) + 1 : "");
    double number = v->number[0];
    nm_lineup_free(l);
    return number;
}

/* Every layer gives friction another value; one is added after the other, and each must win over all before. */
static void the_later_layer_wins(void **state)
{
    (void)state;
    static const char with_params[] = "robot: kid70\n"
                                      "cycles: {motion: {period: 8 ms, modules: [\n"
                                      "  {module: ball_filter, params: {friction: 0.8}}]}}\n"
                                      "remote: [ball_seen, odometry]\n";
    static const struct {
        const char *file;
        double value;
        enum nm_layer layer;
        const char *head, *body, *place, *event;
        bool params;
    } steps[] = {
        {"robots/kid70/empty", 0.4, NM_LAYER_MODULE, 0, 0, 0, 0, false},
        {"config/default/a.yaml", 0.1, NM_LAYER_DEFAULT, 0, 0, 0, 0, false},
        {"config/default/b.yaml", 0.2, NM_LAYER_DEFAULT, 0, 0, 0, 0, false},
        {"robots/kid70/params.yaml", 0.3, NM_LAYER_ROBOT, 0, 0, 0, 0, false},
        {"robots/kid70/heads/red.yaml", 0.35, NM_LAYER_HEAD, "red", 0, 0, 0, false},
        {"robots/kid70/bodies/b2.yaml", 0.5, NM_LAYER_BODY, "red", "b2", 0, 0, false},
        {"config/places/hamburg.yaml", 0.6, NM_LAYER_PLACE, "red", "b2", "hamburg", 0, false},
        {"config/events/open-2027.yaml", 0.7, NM_LAYER_EVENT, "red", "b2", "hamburg", "open-2027", false},
        {"lineups/match.yaml", 0.8, NM_LAYER_LINEUP, "red", "b2", "hamburg", "open-2027", true},
        {"config/default.saved.yaml", 1.1, NM_LAYER_SAVED, "red", "b2", "hamburg", "open-2027", true},
        {"robots/kid70/params.saved.yaml", 1.2, NM_LAYER_SAVED, "red", "b2", "hamburg", "open-2027", true},
        {"robots/kid70/heads/red.saved.yaml", 1.3, NM_LAYER_SAVED, "red", "b2", "hamburg", "open-2027", true},
        {"robots/kid70/bodies/b2.saved.yaml", 1.4, NM_LAYER_SAVED, "red", "b2", "hamburg", "open-2027", true},
        {"config/places/hamburg.saved.yaml", 1.5, NM_LAYER_SAVED, "red", "b2", "hamburg", "open-2027", true},
        {"config/events/open-2027.saved.yaml", 1.6, NM_LAYER_SAVED, "red", "b2", "hamburg", "open-2027", true},
        {"lineups/match.saved.yaml", 1.7, NM_LAYER_SAVED, "red", "b2", "hamburg", "open-2027", true},
    };
    struct nm_lineup_options options = {0};
    enum nm_layer layer;
    char file[600];
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        char text[100] = "";
        if (i) snprintf(text, sizeof text, "# layer %zu\nball_filter:\n  friction: %g\n", i, steps[i].value);
        place_write(root, steps[i].file, text);
        options = (struct nm_lineup_options){
            .head = steps[i].head, .body = steps[i].body, .place = steps[i].place, .event = steps[i].event};
        double v =
            value_of(steps[i].params ? with_params : lineup_text, options, "ball_filter", "friction", &layer, file);
        assert_true(v == steps[i].value);
        assert_int_equal(layer, steps[i].layer);
        assert_string_equal(file, i ? steps[i].file : "");
    }
    static const char *const set[] = {"ball_filter.friction=2", "ball_filter.friction=2.5"};
    options.set = set;
    options.n_set = 2;
    assert_true(value_of(with_params, options, "ball_filter", "friction", &layer, file) == 2.5);
    assert_int_equal(layer, NM_LAYER_COMMAND);
}

static void an_instance_wins_over_its_module_in_one_file(void **state)
{
    (void)state;
    enum nm_layer layer;
    char file[600];
    struct nm_lineup_options none = {0};
    place_write(root, "robots/kid70/params.yaml", "rival: {friction: 0.9}\nball_filter: {friction: 0.3, jump: 2}\n");
    assert_true(value_of(lineup_text, none, "rival", "friction", &layer, file) == 0.9);
    assert_true(value_of(lineup_text, none, "rival", "jump", &layer, file) == 2);
    assert_true(value_of(lineup_text, none, "ball_filter", "friction", &layer, file) == 0.3);
    /* a later file is later, for module and instance alike */
    place_write(root, "config/places/hamburg.yaml", "ball_filter: {friction: 0.1}\n");
    none.place = "hamburg";
    assert_true(value_of(lineup_text, none, "rival", "friction", &layer, file) == 0.1);
}

/* What is said of a module counts for one that is like it, except where something is said of that one. */
static void a_module_takes_the_parameters_of_the_one_it_is_like(void **state)
{
    (void)state;
    struct nm_module twin = ball_filter_module;
    const struct nm_module *both[] = {&ball_filter_module, &twin};
    twin.name = "twin";
    twin.like = "ball_filter";
    nm_registry_init(&registry, &arena, both, both + 2);
    static const char text[] = "robot: kid70\ncycles: {motion: {period: 8 ms, modules: [twin]}}\n"
                               "remote: [ball_seen, odometry]\n";
    enum nm_layer layer;
    char file[600];
    struct nm_lineup_options none = {0};
    place_write(root, "robots/kid70/params.yaml", "twin: {friction: 0.9}\nball_filter: {friction: 0.3, jump: 2}\n");
    assert_true(value_of(text, none, "twin", "friction", &layer, file) == 0.9);
    assert_true(value_of(text, none, "twin", "jump", &layer, file) == 2);
    assert_int_equal(layer, NM_LAYER_ROBOT);
    assert_string_equal(file, "robots/kid70/params.yaml");
    place_write(root, "config/places/hamburg.yaml", "ball_filter: {friction: 0.1}\n");
    none.place = "hamburg";
    assert_true(value_of(text, none, "twin", "friction", &layer, file) == 0.1);
    struct nm_err err;
    place_write(root, "config/places/hamburg.yaml", "ball_filter: {friction: 99}\n");
    assert_null(load_from(text, none, &err));
    assert_non_null(strstr(err.text, "hamburg.yaml:1: ball_filter: friction: 99 is outside"));
}

static void a_line_up_needs_no_files(void **state)
{
    (void)state;
    enum nm_layer layer;
    char file[600];
    assert_true(value_of(lineup_text + strlen("robot: kid70\n"), (struct nm_lineup_options){0}, "rival", "friction",
                         &layer, file) == 0.4);
}

static void a_robot_may_be_a_path(void **state)
{
    (void)state;
    enum nm_layer layer;
    char file[600], text[600], robot[600];
    place_write(root, "elsewhere/tall/params.yaml", "ball_filter: {friction: 0.9}\n");
    snprintf(text, sizeof text, "robot: ../elsewhere/tall\n%s", lineup_text + strlen("robot: kid70\n"));
    place_write(root, "lineups/x", "");
    assert_true(value_of(text, (struct nm_lineup_options){0}, "rival", "friction", &layer, file) == 0.9);
    snprintf(robot, sizeof robot, "%s/elsewhere/tall", root);
    assert_true(value_of(lineup_text, (struct nm_lineup_options){.robot = robot}, "rival", "friction", &layer, file) ==
                0.9);
}

/* The files of a shared layer speak of modules that this line-up does not use; what they say must be right all the
 * same. */
static void every_slip_in_a_file_is_told_with_its_line(void **state)
{
    (void)state;
    struct nm_err err;
    char expected[4096];
    place_write(root, "robots/kid70/x", "");
    place_write(root, "config/default/a.yaml",
                "striker: {speed: 0.5}\n"
                "striker2: {speed: 0.5}\n"
                "walk:\n"
                "ball_filter:\n"
                "  fricton: 1\n"
                "  samples: 2.5\n"
                "rivl: {jump: 1}\n"
                "eye: 3\n");
    place_write(root, "config/default/b.yaml", "striker:\n  speed: 4\n");
    place_write(root, "config/default/c.yaml", "a: &x 1\n");
    place_write(root, "config/default/d.yaml", "- a list\n");
    place_write(root, "config/default/e.txt", "not for us\n");
    place_write(root, "lineups/match.saved.yaml", "striker: {speed: 0.1}\nrival:\n  jump: 99\n");
    assert_null(load_from(lineup_text, (struct nm_lineup_options){0}, &err));
    snprintf(
        expected, sizeof expected,
        "%1$s/config/default/a.yaml:2: 'striker2' is neither a module nor an instance of this line-up, did you mean "
        "'striker'?\n"
        "%1$s/config/default/a.yaml:5: module 'ball_filter' has no parameter 'fricton', did you mean 'friction'?\n"
        "%1$s/config/default/a.yaml:6: ball_filter: samples: '2.5' is not a whole number\n"
        "%1$s/config/default/a.yaml:7: 'rivl' is neither a module nor an instance of this line-up, did you mean "
        "'rival'?\n"
        "%1$s/config/default/a.yaml:8: eye: its parameters must be a map such as {name: value}\n"
        "%1$s/config/default/b.yaml:2: striker: speed: 4 is outside 0 … 1 m/s\n"
        "%1$s/config/default/c.yaml:1: anchors (&name) are not allowed; write the value out\n"
        "%1$s/config/default/d.yaml:1: modules with their parameters are needed here\n"
        "%1$s/lineups/match.saved.yaml:1: 'striker' is no instance of this line-up; there are ball_filter, rival\n"
        "%1$s/lineups/match.saved.yaml:3: rival: jump: 99 is outside 0 … 10 m\n",
        root);
    assert_string_equal(err.text, expected);
}

static void what_was_chosen_must_exist(void **state)
{
    (void)state;
    struct nm_err err;
    char expected[2048];
    place_write(root, "robots/kid70/heads/red.yaml", "");
    place_write(root, "robots/kid70/heads/blue.yaml", "");
    place_write(root, "robots/kid70/heads/blue.saved.yaml", "");
    place_write(root, "config/places/hamburg.yaml", "");
    assert_null(load_from(
        lineup_text,
        (struct nm_lineup_options){.head = "green", .body = "b1", .place = "hamborg", .event = "../places/hamburg"},
        &err));
    snprintf(expected, sizeof expected,
             "head 'green' has no file in %1$s/robots/kid70/heads; there are blue, red\n"
             "body 'b1' has no file in %1$s/robots/kid70/bodies, which is empty or missing\n"
             "place 'hamborg' has no file in %1$s/config/places, did you mean 'hamburg'?\n"
             "event '../places/hamburg' has no file in %1$s/config/events, which is empty or missing\n",
             root);
    assert_string_equal(err.text, expected);

    assert_null(load_from(lineup_text + strlen("robot: kid70\n"), (struct nm_lineup_options){.head = "red"}, &err));
    snprintf(expected, sizeof expected, "head 'red': the line-up %s/lineups/match.yaml has no robot\n", root);
    assert_string_equal(err.text, expected);

    assert_null(load_from(lineup_text, (struct nm_lineup_options){.robot = "kid71", .head = "red"}, &err));
    snprintf(expected, sizeof expected, "--robot: robot 'kid71' has no folder %s/robots/kid71, did you mean 'kid70'?\n",
             root);
    assert_string_equal(err.text, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_later_layer_wins, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(an_instance_wins_over_its_module_in_one_file, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(a_module_takes_the_parameters_of_the_one_it_is_like, set_up_root,
                                        tear_down_root),
        cmocka_unit_test_setup_teardown(a_line_up_needs_no_files, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(a_robot_may_be_a_path, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(every_slip_in_a_file_is_told_with_its_line, set_up_root, tear_down_root),
        cmocka_unit_test_setup_teardown(what_was_chosen_must_exist, set_up_root, tear_down_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
