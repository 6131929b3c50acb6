/* Modules are found by name; a plug-in comes in only if it fits this program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/registry.h"
#include "core/team.h"

#define STR_(x)      #x
#define STR(x)       STR_(x)
#define PLUGIN(name) NM_BUILD "/plugins/" name ".so"

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

static void linked_modules_are_found_by_name(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_registry registry;
    nm_registry_init(&registry, &arena, __start_nm_modules, __stop_nm_modules);
    assert_int_equal(registry.n, TEAM);
    for (uint32_t i = 1; i < registry.n; i++) assert_true(strcmp(registry.at[i - 1]->name, registry.at[i]->name) < 0);
    for (uint32_t i = 0; i < TEAM; i++) assert_ptr_equal(nm_registry_find(&registry, team[i]->name), team[i]);
    assert_null(nm_registry_find(&registry, "goalie"));
    nm_registry_init(&registry, &arena, NULL, NULL); /* a program without modules */
    assert_null(nm_registry_find(&registry, "walk"));
    nm_arena_free(&arena);
}

static void the_modules_of_the_team_are_well_formed(void **state)
{
    (void)state;
    struct nm_err err = {0};
    for (uint32_t i = 0; i < TEAM; i++)
        if (nm_module_check(team[i], &err)) fail_msg("%s", err.text);
}

/* ---- one fault in an otherwise good table, and its sentence ---- */

static struct nm_module module;
static struct nm_port ports[3];
static struct nm_param params[3];

static void good(void)
{
    module = ball_filter_module;
    ports[0] = ball_filter_ports[0];
    ports[1] = ball_filter_ports[2];
    params[0] = ball_filter_params[3]; /* friction */
    params[1] = ball_filter_params[7]; /* gains */
    ports[2] = (struct nm_port){0};
    params[2] = (struct nm_param){0};
    module.ports = ports;
    module.params = params;
    module.n_ports = module.n_params = 3;
}

static void expect(const char *sentence)
{
    struct nm_err err = {0};
    assert_int_equal(nm_module_check(&module, &err), -1);
    assert_string_equal(err.text, sentence);
    good();
}

static void a_faulty_table_is_refused_with_its_fault(void **state)
{
    (void)state;
    good();
    assert_int_equal(nm_module_check(&module, NULL), 0);
    module.name = "ball filter";
    expect("the name of module 'ball filter' may hold only letters, digits and underscores\n");
    module.name = NULL;
    expect("the name of module '' is empty\n");
    module.step = NULL;
    expect("module 'ball_filter' has no step function\n");
    module.about = "";
    expect("module 'ball_filter' has no sentence that says what it does\n");
    module.abi = 7;
    expect("built for version 7 of the module interface, this program has version " STR(NM_ABI) ": rebuild it\n");
    module.n_ports = 2;
    expect("module 'ball_filter': the table of its ports must be given by NM_PORTS and end with the row {0}\n");
    module.n_ports = 0;
    expect("module 'ball_filter': the table of its ports must be given by NM_PORTS and end with the row {0}\n");
    module.n_params = 2;
    expect("module 'ball_filter': the table of its parameters must be given by NM_PARAMS and end with the row {0}\n");
    ports[0].topic = "9ball";
    expect("module 'ball_filter', port 'seen': its topic '9ball' has a name that begins with a digit\n");
    ports[0].type = NULL;
    expect("module 'ball_filter', port 'seen' has no message type\n");
    ports[0].kind = (enum nm_port_kind)99;
    expect("module 'ball_filter', port 'seen' is of no known kind\n");
    ports[0].offset = sizeof(struct ball_filter) - 4;
    expect("module 'ball_filter', port 'seen' lies outside the module's struct\n");
    ports[0].offset = UINT32_MAX;
    expect("module 'ball_filter', port 'seen' has no member\n");
    ports[1].many = true;
    expect("module 'ball_filter', port 'ball' is many, which only an output queue can be\n");
    ports[1].kind = NM_PORT_OUT_QUEUE;
    expect("module 'ball_filter', port 'ball' is a queue of depth 0\n");
    ports[1].name = "seen";
    expect("module 'ball_filter': port 'seen' stands twice in its table\n");
    params[0].value = 6;
    expect(
        "module 'ball_filter', parameter 'friction' has a default that it refuses itself: friction: 6 is outside 0 … 5 "
        "1/s\n");
    params[0].min = 6;
    expect("module 'ball_filter', parameter 'friction' has an empty range\n");
    params[0].about = "";
    expect("module 'ball_filter', parameter 'friction' lacks its unit or its line of prose\n");
    params[0].size = 8;
    expect("module 'ball_filter', parameter 'friction' has a member of 8 bytes, which its kind cannot have\n");
    params[0].offset = 0;
    expect("module 'ball_filter', parameter 'friction' lies outside the module's struct\n");
    params[1].text = "1 2";
    expect(
        "module 'ball_filter', parameter 'gains' has a default that it refuses itself: gains: 2 numbers are given, 3 "
        "needed\n");
    params[1].name = "friction";
    expect("module 'ball_filter': parameter 'friction' stands twice in its table\n");
    params[0] = ball_filter_params[5];
    params[0].text = "bold";
    expect("module 'ball_filter', parameter 'mode' has a default that it refuses itself: mode: 'bold' is not among its "
           "choices; there are fast, safe\n");
    params[0] = ball_filter_params[1];
    params[0].value = 2.5;
    expect("module 'ball_filter', parameter 'samples' has a default that is no whole number\n");
}

static void topics_follow_the_rules_of_ros(void **state)
{
    (void)state;
    static const char *const yes[] = {"imu", "camera/image_raw", "_hidden", "a1/b2/c3", "Left"};
    static const char *const no[] = {"",    "/imu", "imu/",       "a//b",  "9a",    "a/9b",
                                     "a b", "a-b",  "two__lines", "~mine", "{sub}", "Käfer"};
    char longest[202];
    memset(longest, 'x', 201);
    longest[201] = '\0';
    assert_non_null(nm_topic_fault(longest));
    assert_null(nm_topic_fault(longest + 1));
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) assert_null(nm_topic_fault(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) assert_non_null(nm_topic_fault(no[i]));
}

/* ---- plug-ins ---- */

static void a_plug_in_joins_the_team(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    nm_registry_init(&registry, &arena, team, team + TEAM);
    const struct nm_module *m = nm_registry_plugin(&registry, PLUGIN("left_back"), &err);
    if (!m) fail_msg("%s", err.text);
    assert_string_equal(m->name, "left_back");
    assert_ptr_equal(nm_registry_find(&registry, "left_back"), m);
    assert_int_equal(registry.n, TEAM + 1);

    /* a second line-up names it again */
    assert_ptr_equal(nm_registry_plugin(&registry, PLUGIN("left_back"), &err), m);
    assert_int_equal(registry.n, TEAM + 1);

    /* a name without a slash is a file here, not one of the system's folders */
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(NM_BUILD "/plugins"), 0);
    assert_ptr_equal(nm_registry_plugin(&registry, "left_back.so", &err), m);
    assert_int_equal(chdir(here), 0);
    nm_arena_free(&arena);
}

static void refused(struct nm_registry *registry, const char *path, const char *sentence)
{
    struct nm_err err = {0};
    uint32_t n = registry->n;
    assert_null(nm_registry_plugin(registry, path, &err));
    assert_int_equal(registry->n, n);
    assert_string_equal(err.text, sentence);
}

static void a_plug_in_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_registry registry;
    nm_registry_init(&registry, &arena, team, team + TEAM);
    refused(&registry, "nowhere/goalie.so",
            "nowhere/goalie.so: the plug-in cannot be opened: No such file or directory\n");
    refused(&registry, NM_BUILD, NM_BUILD ": the plug-in is not a file\n");
    refused(&registry, PLUGIN("no_module"),
            PLUGIN("no_module") ": holds no module: build it with -DNM_PLUGIN and one NM_MODULE\n");
    refused(&registry, PLUGIN("old_interface"),
            PLUGIN("old_interface") ": built for version 4242 of the module interface, this program has version " STR(
                NM_ABI) ": "
                        "rebuild it\n");
    refused(
        &registry, PLUGIN("other_layout"),
        PLUGIN(
            "other_layout") ": module 'other_layout', port 'imu': the message sensor_msgs/msg/Imu has another layout "
                            "than in this program: rebuild the plug-in\n" PLUGIN(
                                "other_layout") ": module 'other_layout', port 'secret': this program does not know "
                                                "the message other_msgs/msg/Secret\n");
    refused(
        &registry, PLUGIN("old_header"),
        PLUGIN("old_header") ": module 'old_header', port 'imu': the message sensor_msgs/msg/Imu has another layout "
                             "than in this program: rebuild the plug-in\n");
    struct nm_module twin = walk_module;
    twin.name = "left_back";
    twin.file = "src/left_back.c";
    const struct nm_module *one[] = {&twin};
    nm_registry_init(&registry, &arena, one, one + 1);
    refused(&registry, PLUGIN("left_back"),
            PLUGIN("left_back") ": the name of module 'left_back' is taken by the one from src/left_back.c\n");
    nm_arena_free(&arena);
}

static void a_file_that_is_no_library_is_refused(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    nm_registry_init(&registry, &arena, team, team + TEAM);
    assert_null(nm_registry_plugin(&registry, NM_ROOT "/tests/core/test_registry.c", &err));
    assert_non_null(strstr(err.text, "test_registry.c: the plug-in cannot be loaded: "));
    assert_int_equal(err.n, 1);
    nm_arena_free(&arena);
}

static void an_unknown_word_gets_a_hint(void **state)
{
    (void)state;
    static const char *const names[] = {"walk", "stand", "kick", "a", "b", "c", "d", "e", "f"};
    assert_string_equal(nm_hint("wlak", names, 3).text, ", did you mean 'walk'?");
    assert_string_equal(nm_hint("somersault", names, 3).text, "; there are walk, stand, kick");
    assert_string_equal(nm_hint("somersault", names, 1).text, "; there is only walk");
    assert_string_equal(nm_hint("somersault", names, 9).text, ""); /* too many to list */
    assert_string_equal(nm_hint("somersault", names, 0).text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linked_modules_are_found_by_name),
        cmocka_unit_test(the_modules_of_the_team_are_well_formed),
        cmocka_unit_test(a_faulty_table_is_refused_with_its_fault),
        cmocka_unit_test(topics_follow_the_rules_of_ros),
        cmocka_unit_test(a_plug_in_joins_the_team),
        cmocka_unit_test(a_plug_in_that_does_not_fit_is_refused),
        cmocka_unit_test(a_file_that_is_no_library_is_refused),
        cmocka_unit_test(an_unknown_word_gets_a_hint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
