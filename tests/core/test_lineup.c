/* A line-up is checked completely before anything starts: what is right becomes the plan, and of what is wrong every
 * fault is told at once, with file, line, module, topic and the nearest valid name. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/lineup.h"
#include "core/registered.h"

static const struct nm_lineup_options nowhere = {.root = "/nonexistent"};

static struct nm_lineup *good(const char *text, const struct nm_lineup_options *options)
{
    struct nm_err err = {0};
    struct nm_lineup *lineup = nm_lineup_parse(text, strlen(text), "m.yaml", &registry, options, &err);
    if (!lineup) fail_msg("%s", err.text);
    assert_int_equal(err.n, 0);
    return lineup;
}

static void bad(const char *text, const struct nm_lineup_options *options, const char *sentences)
{
    struct nm_err err = {0};
    assert_null(nm_lineup_parse(text, strlen(text), "m.yaml", &registry, options, &err));
    assert_string_equal(err.text, sentences);
    /* without a place for the sentences it is refused all the same */
    assert_null(nm_lineup_parse(text, strlen(text), "m.yaml", &registry, options, NULL));
}

/* ---- what is right ---- */

static const struct nm_topic *topic(const struct nm_lineup *lineup, const char *name)
{
    uint32_t t = nm_lineup_topic(lineup, name);
    assert_int_not_equal(t, NM_NONE);
    return &lineup->topics[t];
}

static void a_good_line_up_becomes_a_plan(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_lineup *l = nm_lineup_load(NM_ROOT "/tests/core/lineups/match.yaml", &registry, &nowhere, &err);
    if (!l) fail_msg("%s", err.text);
    assert_string_equal(l->name, "match");
    assert_string_equal(l->warnings, "");
    assert_null(l->robot);
    assert_int_equal(l->n_cycles, 3);
    assert_int_equal(l->n_instances, 8);

    const struct nm_lineup_cycle *vision = &l->cycles[0], *motion = &l->cycles[1], *talk = &l->cycles[2];
    assert_string_equal(vision->name, "vision");
    assert_int_equal(vision->period, 0);
    assert_int_equal(vision->trigger, nm_lineup_topic(l, "/image_raw"));
    assert_int_equal(vision->timeout, 50000000);
    assert_int_equal(vision->deadline, 50000000);
    assert_int_equal(vision->cost, 12000000);
    assert_int_equal(vision->core, 1);
    assert_int_equal(vision->priority, 0);
    assert_int_equal(motion->period, 8000000);
    assert_int_equal(motion->trigger, NM_NONE);
    assert_int_equal(motion->deadline, 6000000);
    assert_int_equal(motion->priority, 50);
    assert_int_equal(motion->core, -1);
    assert_int_equal(talk->deadline, 100000000);

    /* what is needed steps first, the rest in the order of the file: the rival's ball is read by nobody */
    static const char *const order[] = {"ball_filter", "striker", "walk", "rival"};
    assert_int_equal(motion->n_order, 4);
    for (int i = 0; i < 4; i++) assert_string_equal(l->instances[motion->order[i]].name, order[i]);
    assert_string_equal(l->instances[talk->order[0]].name, "speaker");
    assert_string_equal(l->instances[talk->order[1]].name, "button"); /* asks first, so that power hears it now */
    assert_string_equal(l->instances[talk->order[2]].name, "power");
    nm_lineup_free(l);
}

static void topics_know_their_ends(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_lineup *l = nm_lineup_load(NM_ROOT "/tests/core/lineups/match.yaml", &registry, &nowhere, &err);
    assert_non_null(l);
    for (uint32_t i = 1; i < l->n_topics; i++) assert_true(strcmp(l->topics[i - 1].name, l->topics[i].name) < 0);

    const struct nm_topic *seen = topic(l, "ball_seen");
    assert_string_equal(seen->type->name, "geometry_msgs/msg/PointStamped");
    assert_int_equal(seen->n_producers, 1);
    assert_int_equal(seen->n_consumers, 2);
    assert_false(seen->queue || seen->many || seen->remote || seen->builtin);
    uint32_t rival = nm_lineup_instance(l, "rival");
    assert_int_equal(seen->consumers[1].instance, rival);
    assert_int_equal(seen->consumers[1].port, 0);
    assert_ptr_equal(&l->topics[l->instances[rival].topics[2]], topic(l, "rival/ball"));

    const struct nm_topic *image = topic(l, "image_raw"), *small = topic(l, "image_small");
    assert_true(image->remote && !image->queue && image->n_producers == 0);
    assert_int_equal(small->blob, 19200);
    const struct nm_topic *speech = topic(l, "speech");
    assert_true(speech->queue && speech->many);
    assert_int_equal(speech->depth, 16);

    const struct nm_topic *rosout = topic(l, "rosout"), *show = topic(l, "show"), *tf = topic(l, "tf");
    assert_true(rosout->builtin && rosout->queue && rosout->many && rosout->depth == 128);
    assert_true(show->builtin && show->queue && show->many && show->n_consumers == 0);
    assert_true(tf->builtin && tf->queue && tf->many && tf->n_producers == 1 && tf->n_consumers == 1);

    const struct nm_topic *request = topic(l, "motor_power/request"), *reply = topic(l, "motor_power/reply");
    assert_int_equal(request->role, NM_ROLE_REQUEST);
    assert_true(request->queue && request->many);
    assert_int_equal(reply->role, NM_ROLE_REPLY);
    assert_true(reply->queue && !reply->many);
    assert_int_equal(nm_lineup_topic(l, "nothing"), NM_NONE);
    assert_int_equal(nm_lineup_instance(l, "nobody"), NM_NONE);
    nm_lineup_free(l);
}

static void values_come_from_the_line_up_and_the_command_line(void **state)
{
    (void)state;
    static const char *const set[] = {"ball_filter.friction=0.7", "rival.jump=2", "striker.speed=1"};
    struct nm_lineup_options options = {.root = "/nonexistent", .set = set, .n_set = 3};
    struct nm_err err = {0};
    struct nm_lineup *l = nm_lineup_load(NM_ROOT "/tests/core/lineups/match.yaml", &registry, &options, &err);
    if (!l) fail_msg("%s", err.text);
    const struct nm_value *first = l->instances[nm_lineup_instance(l, "ball_filter")].values;
    const struct nm_value *rival = l->instances[nm_lineup_instance(l, "rival")].values;
    assert_true(first[3].number[0] == 0.7 && rival[3].number[0] == 0.7); /* a module's name: all its instances */
    assert_int_equal(first[3].layer, NM_LAYER_COMMAND);
    assert_true(first[4].number[0] == 0.75 && rival[4].number[0] == 2);
    assert_int_equal(first[4].layer, NM_LAYER_MODULE);
    assert_string_equal(rival[5].text, "fast");
    assert_int_equal(rival[5].layer, NM_LAYER_LINEUP);
    assert_string_equal(rival[5].file, NM_ROOT "/tests/core/lineups/match.yaml");
    assert_int_equal(rival[5].line, 22);
    nm_lineup_free(l);
}

static void a_line_up_may_be_tiny(void **state)
{
    (void)state;
    struct nm_lineup *l = good("cycles: {c: {period: 1 ms, modules: [power]}}", NULL);
    assert_string_equal(l->name, "m");
    nm_lineup_free(l);
    l = good("cycles: {c: {trigger: image_raw, modules: [eye]}}\nremote: [image_raw]", &nowhere);
    assert_int_equal(l->cycles[0].timeout, 100000000); /* unless given */
    nm_lineup_free(l);
}

static void more_topics_may_be_remote_than_the_file_says(void **state)
{
    (void)state;
    static const char *const remote[] = {"image_raw"};
    struct nm_lineup_options options = {.root = "/nonexistent", .remote = remote, .n_remote = 1};
    nm_lineup_free(good("cycles: {c: {period: 1 ms, modules: [eye]}}", &options));
}

/* Opening a library runs its code, so what counts is that it was not even opened. */
static bool is_open(const char *library)
{
    void *handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    if (handle) dlclose(handle);
    return handle;
}

static void a_log_loads_no_code_and_opens_no_folder(void **state)
{
    (void)state;
    static const char text[] = "plugins: ['" NM_BUILD "/plugins/left_back.so']\n"
                               "cycles: {c: {period: 1 ms, modules: [left_back]}}\nremote: [ball]";
    static const struct nm_lineup_options foreign = {.root = "/nonexistent", .foreign = true};
    uint32_t n = registry.n;
    bad(text, &foreign,
        "m.yaml:2: there is no module 'left_back'\n"
        "it was recorded with the plug-in " NM_BUILD "/plugins/left_back.so; code is loaded only when the command line "
        "names it: --plugin FILE.so\n");
    assert_int_equal(registry.n, n);
    assert_false(is_open(NM_BUILD "/plugins/left_back.so"));
    bad("robot: /tmp/robot\ncycles: {c: {period: 1 ms, modules: [power]}}", &foreign,
        "m.yaml:1: the robot's folder was /tmp/robot when this was recorded; a folder is opened only when the command "
        "line names it: --robot FOLDER\n");
    bad("robot: /home/us/robots/keeper\ncycles: {c: {period: 1 ms, modules: [power]}}", &foreign,
        "m.yaml:1: robot 'keeper' has no folder /nonexistent/robots/keeper\n");
    bad("robot: robots/..\ncycles: {c: {period: 1 ms, modules: [power]}}", &foreign,
        "m.yaml:1: robot '..' has no folder /nonexistent/robots/..\n");
    bad("robot: ..\ncycles: {c: {period: 1 ms, modules: [power]}}", &foreign,
        "m.yaml:1: robot '..' has no folder /nonexistent/robots/..\n");

    /* what the command line has loaded is used */
    struct nm_err err = {0};
    if (!nm_registry_plugin(&registry, NM_BUILD "/plugins/left_back.so", &err)) fail_msg("%s", err.text);
    struct nm_lineup *l = good(text, &foreign);
    char *printed;
    size_t size;
    FILE *to = open_memstream(&printed, &size);
    nm_lineup_print(l, NULL, to);
    fclose(to);
    assert_non_null(strstr(printed, "plugins:\n  - '" NM_BUILD "/plugins/left_back.so'\n"));
    free(printed);
    nm_lineup_free(l);
}

static void a_plug_in_is_found_beside_the_file(void **state)
{
    (void)state;
    static const char text[] = "plugins: [left_back.so]\n"
                               "cycles: {c: {period: 1 ms, modules: [left_back]}}\nremote: [ball]";
    struct nm_err err = {0};
    struct nm_lineup *l = nm_lineup_parse(text, sizeof text - 1, NM_BUILD "/plugins/m.yaml", &registry, &nowhere, &err);
    if (!l) fail_msg("%s", err.text);
    /* its copy of a message's table gives way to ours */
    assert_ptr_equal(topic(l, "ball")->type, &PoseStamped_type);
    nm_lineup_free(l);
}

static void what_is_odd_but_harmless_is_a_warning(void **state)
{
    (void)state;
    struct nm_lineup *l =
        good("cycles: {c: {period: 1 ms, modules: [eye, power]}}\nremote: [image_raw, imag_raw, gossip]", &nowhere);
    assert_string_equal(l->warnings, "m.yaml:2: nobody reads the remote topic 'imag_raw', did you mean 'image_raw'?\n"
                                     "m.yaml:2: nobody reads the remote topic 'gossip'; there are image_raw, "
                                     "motor_power/request\n");
    nm_lineup_free(l);
}

/* ---- what is wrong: one fault each ---- */

static const struct {
    const char *text, *sentences;
} faults[] = {
    /* form */
    {"", "m.yaml:1: a line-up needs cycles: with modules\n"},
    {"[1, 2]", "m.yaml:1: a map of keys is needed here\n"},
    {"cycles: {}", "m.yaml:1: a line-up needs cycles: with modules\n"},
    {"cycels: {}\ncycles: {c: {period: 1 ms, modules: [power]}}",
     "m.yaml:1: unknown key 'cycels', did you mean 'cycles'?\n"},
    {"cycles:\n  c: {periode: 1 ms, modules: [power]}",
     "m.yaml:2: unknown key 'periode', did you mean 'period'?\n"
     "m.yaml:2: cycle 'c' needs a period (8 ms) or a trigger (a topic)\n"},
    {"cycles:\n  c: {period: 1 ms,\n    modules: [{module: power, parms: {}}]}",
     "m.yaml:3: unknown key 'parms', did you mean 'params'?\n"},
    {"cycles:\n  c: {period: 1 ms,\n    modules: [{name: power}]}", "m.yaml:3: `module:` is missing here\n"},
    {"cycles:\n  c: {period: 1 ms,\n    modules: [[power]]}", "m.yaml:3: a list, where a text is needed\n"},
    {"cycles:\n  c: {period: 1 ms,\n    modules: [{module: power, params: 3}]}",
     "m.yaml:3: params: a map such as {name: value} is needed here\n"},
    {"cycles: {c: {period: 1 ms, modules: [power]}}\nremote: image_raw",
     "m.yaml:2: remote: a list of topics is needed here\n"},
    {"cycles: {c: {period: 1 ms, modules: [power]}}\nplugins: mine.so",
     "m.yaml:2: plugins: a list of files is needed here\n"},
    {"plugins: [mine.so]\ncycles: {c: {period: 1 ms, modules: [power]}}",
     "m.yaml:1: mine.so: the plug-in cannot be opened: No such file or directory\n"},

    /* cycles */
    {"cycles:\n  c: {modules: [power]}", "m.yaml:2: cycle 'c' needs a period (8 ms) or a trigger (a topic)\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    trigger: image_raw\n    modules: [eye]\nremote: [image_raw]",
     "m.yaml:4: cycle 'c' has a period and a trigger; it can have only one\n"},
    {"cycles: {c: {period: 0 ms, modules: [power]}}", "m.yaml:1: cycle 'c': its period must be longer than 0\n"},
    {"cycles: {c: {period: -1 ms, modules: [power]}}",
     "m.yaml:1: period: '-1 ms' is not a duration such as 8 ms, 2 s, 500 us or 1000 ns\n"},
    {"cycles: {c: {period: 8, modules: [power]}}",
     "m.yaml:1: period: '8' is not a duration such as 8 ms, 2 s, 500 us or 1000 ns\n"},
    {"cycles: {c: {period: 1 ms, deadline: 0 s, modules: [power]}}",
     "m.yaml:1: cycle 'c': its deadline must be longer than 0\n"},
    {"cycles: {c: {period: 1 ms, timeout: 5 ms, modules: [power]}}",
     "m.yaml:1: cycle 'c': a timeout belongs to a trigger, not to a period\n"},
    {"cycles: {c: {period: 1 ms, priority: 100, modules: [power]}}",
     "m.yaml:1: cycle 'c': priority 100 is outside 0 … 99\n"},
    {"cycles: {c: {period: 1 ms, core: -1, modules: [power]}}", "m.yaml:1: cycle 'c': core -1 is outside 0 … 1023\n"},
    {"cycles: {c: {period: 1 ms}}", "m.yaml:1: cycle 'c' needs a list of modules:\n"},
    {"cycles: {c: {period: 1 ms, modules: []}}", "m.yaml:1: cycle 'c' needs a list of modules:\n"},
    {"cycles: {c: power}", "m.yaml:1: c: a map of keys is needed here\n"},
    {"cycles: {my-cycle: {period: 1 ms, modules: [power]}}",
     "m.yaml:1: the name of cycle 'my-cycle' may hold only letters, digits and underscores\n"},

    /* instances */
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - power\n      - strikr",
     "m.yaml:6: there is no module 'strikr', did you mean 'striker'?\n"},
    {"cycles:\n  c: {period: 1 ms, modules: [power]}\n  d: {period: 1 ms, modules: [button,\n    power]}",
     "m.yaml:4: 'power' stands twice, first in line 2; give one of them another name:\n"},
    {"cycles: {c: {period: 1 ms, modules: [{module: power, name: walk}]}}",
     "m.yaml:1: an instance of module 'power' cannot have the name of module 'walk'\n"},
    {"cycles: {c: {period: 1 ms, modules: [{module: power, name: left-hand}]}}",
     "m.yaml:1: the name 'left-hand' of an instance may hold only letters, digits and underscores\n"},

    /* parameters */
    {"cycles: {c: {period: 1 ms, modules: [\n  {module: striker, params: {sped: 1}}]}}\nremote: [ball]",
     "m.yaml:2: module 'striker' has no parameter 'sped', did you mean 'speed'?\n"},
    {"cycles: {c: {period: 1 ms, modules: [\n  {module: striker, params: {\n    speed: 3}}]}}\nremote: [ball]",
     "m.yaml:3: striker: speed: 3 is outside 0 … 1 m/s\n"},
    {"cycles: {c: {period: 1 ms, modules: [\n  {module: striker, name: nine, params: {speed: fast}}]}}\nremote: [ball]",
     "m.yaml:2: nine: speed: 'fast' is not a number\n"},

    /* topics */
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - striker\n      - module: ball_filter\n"
     "        topics: {bal: ball_two}\nremote: [ball_seen, odometry]",
     "m.yaml:7: module 'ball_filter' has no topic 'bal' to rename, did you mean 'ball'?\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - module: power\n        topics: {legs: motor}",
     "m.yaml:6: module 'power' has no topic 'legs' to rename; there is only motor_power\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - module: power\n        topics: {motor_power: [motor]}",
     "m.yaml:6: power: the new name of topic 'motor_power' must be a text\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - module: power\n        topics: {motor_power: /motor//one}",
     "m.yaml:6: power: topic '/motor//one' has an empty name between slashes\n"},
    {"cycles: {c: {period: 1 ms, modules: [power]}}\nremote: [9]",
     "m.yaml:2: topic '9' has a name that begins with a digit\n"},
    {"cycles: {c: {period: 1 ms, modules: [walk, {module: striker,\n   topics: {ball: bal}}, ball_filter]}}\nremote: "
     "[ball_seen]",
     "m.yaml:2: module 'striker' reads topic 'bal', which nobody makes, did you mean 'ball'? If it comes from outside, "
     "list "
     "it under remote:\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - eye",
     "m.yaml:5: module 'eye' reads topic 'image_raw', which nobody makes; if it comes from outside, list it under "
     "remote:\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - ball_filter\n      - {module: ball_filter, name: rival}\n"
     "remote: [ball_seen, odometry]",
     "m.yaml:6: 'rival' (module 'ball_filter') makes topic 'ball', but so does module 'ball_filter'; rename one of "
     "them under "
     "topics:\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - ball_filter\nremote: [ball_seen, odometry, ball]",
     "m.yaml:5: module 'ball_filter' makes topic 'ball', which stands under remote:\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - ball_filter\n      - striker\n      - stranger\n"
     "remote: [ball_seen, odometry]",
     "m.yaml:7: module 'stranger' reads topic 'ball' as std_msgs/msg/Int32, but module 'ball_filter' makes it as "
     "geometry_msgs/msg/PoseStamped\n"
     "m.yaml:7: module 'stranger' reads topic 'speech' as a value, but module 'striker' makes a queue of it; read it "
     "with "
     "`queue`\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - striker\n      - module: stranger\n        topics: "
     "{speech: word}\n"
     "remote: [ball, word]",
     "m.yaml:6: module 'stranger' reads topic 'ball' as std_msgs/msg/Int32, but module 'striker' reads it as "
     "geometry_msgs/msg/PoseStamped\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - module: speaker\n        topics: {speech: rosout}\n",
     "m.yaml:6: module 'speaker' reads topic 'rosout' as std_msgs/msg/String, but the runtime makes it as "
     "rcl_interfaces/msg/Log\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - module: walk\n        topics: {odometry: show}\nremote: "
     "[cmd_vel]",
     "m.yaml:6: module 'walk' makes topic 'show' as nav_msgs/msg/Odometry, but the runtime makes it as "
     "nutmeg_msgs/msg/Show\n"
     "m.yaml:6: module 'walk' makes topic 'show', which has many producers; its port 'odometry' must say so (.many = "
     "true)\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - module: speaker\n        topics: {speech: "
     "motor_power/request}\n"
     "      - power",
     "m.yaml:6: module 'speaker' takes 'motor_power/request' for a topic, but for module 'power' it is part of a "
     "service\n"},

    /* services */
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - button",
     "m.yaml:5: module 'button' calls service 'motor_power', which nobody serves; if it is served outside, list it "
     "under "
     "remote:\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - power\n      - {module: power, name: spare}",
     "m.yaml:6: 'spare' (module 'power') serves 'motor_power', but so does module 'power'; rename one of them under "
     "topics:\n"},
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - power\nremote: [motor_power]",
     "m.yaml:5: module 'power' serves 'motor_power', which stands under remote:\n"},

    /* triggers */
    {"cycles:\n  c:\n    trigger: image_rav\n    modules: [eye]\nremote: [image_raw]",
     "m.yaml:3: cycle 'c': no other cycle makes its trigger 'image_rav', did you mean 'image_raw'?\n"},
    {"cycles:\n  c:\n    trigger: ball_seen\n    modules: [eye]\nremote: [image_raw]",
     "m.yaml:3: cycle 'c' makes its trigger 'ball_seen' itself; another cycle or remote: must\n"},
    {"cycles:\n  c:\n    trigger: [image_raw]\n    modules: [eye]\nremote: [image_raw]",
     "m.yaml:3: trigger: a list, where a text is needed\n"},

    /* loops */
    {"cycles:\n  c:\n    period: 1 ms\n    modules:\n      - walk\n      - dribbler",
     "m.yaml:5: loop in cycle 'c': walk makes 'odometry' for dribbler, dribbler makes 'cmd_vel' for walk; one of them "
     "must "
     "read with `last`, such as port 'cmd_vel' of walk\n"},

    /* command line and robot */
    {"robot: kid70\ncycles: {c: {period: 1 ms, modules: [power]}}",
     "m.yaml:1: robot 'kid70' has no folder /nonexistent/robots/kid70\n"},
};

static void every_fault_has_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) bad(faults[i].text, &nowhere, faults[i].sentences);
}

static void all_faults_are_told_at_once(void **state)
{
    (void)state;
    bad("cycles:\n"
        "  vision:\n"
        "    trigger: image\n"
        "    period: 3 parsecs\n"
        "    modules: [eye, ey]\n"
        "  motion:\n"
        "    period: 8 ms\n"
        "    modules:\n"
        "      - walk\n"
        "      - dribbler\n"
        "      - module: striker\n"
        "        params: {speed: 4, sped: 1}\n"
        "        topics: {bll: ball_two}\n"
        "extra: 1\n",
        &nowhere,
        "m.yaml:14: unknown key 'extra'\n"
        "m.yaml:3: cycle 'vision' has a period and a trigger; it can have only one\n"
        "m.yaml:4: period: '3 parsecs' is not a duration such as 8 ms, 2 s, 500 us or 1000 ns\n"
        "m.yaml:5: there is no module 'ey', did you mean 'eye'?\n"
        "m.yaml:12: striker: speed: 4 is outside 0 … 1 m/s\n"
        "m.yaml:12: module 'striker' has no parameter 'sped', did you mean 'speed'?\n"
        "m.yaml:13: module 'striker' has no topic 'bll' to rename, did you mean 'ball'?\n"
        "m.yaml:11: module 'striker' makes topic 'cmd_vel', but so does module 'dribbler'; rename one of them under "
        "topics:\n"
        "m.yaml:9: loop in cycle 'motion': walk makes 'odometry' for dribbler, dribbler makes 'cmd_vel' for walk; one "
        "of "
        "them must read with `last`, such as port 'cmd_vel' of walk\n");
}

static void the_command_line_is_checked_too(void **state)
{
    (void)state;
    static const char *const set[] = {"striker.speed=9", "strike.speed=1", "striker.sped=1",
                                      "striker=1",       "power.volt=2",   "walk.height=1"};
    static const char *const remote[] = {"ball", "a b"};
    struct nm_lineup_options options = {.root = "/nonexistent",
                                        .set = set,
                                        .n_set = 6,
                                        .remote = remote,
                                        .n_remote = 2,
                                        .robot = "kid70",
                                        .place = "hamburg",
                                        .head = "left"};
    bad("cycles: {c: {period: 1 ms, modules: [striker]}}", &options,
        "--robot: robot 'kid70' has no folder /nonexistent/robots/kid70\n"
        "place 'hamburg' has no file in /nonexistent/config/places, which is empty or missing\n"
        "--set striker.speed=9: speed: 9 is outside 0 … 1 m/s\n"
        "--set strike.speed=1: 'strike' is no instance of this line-up, did you mean 'striker'?\n"
        "--set striker.sped=1: module 'striker' has no parameter 'sped', did you mean 'speed'?\n"
        "--set striker=1: must look like instance.parameter=value\n"
        "--set power.volt=2: module 'power' has no parameter 'volt', it has none at all\n"
        "--set walk.height=1: module 'walk' has no parameter 'height', it has none at all\n"
        "--remote: topic 'a b' may hold only letters, digits, underscores and slashes\n");
}

static void a_file_that_is_not_there_is_a_sentence(void **state)
{
    (void)state;
    struct nm_err err = {0};
    assert_null(nm_lineup_load("/nonexistent/m.yaml", &registry, NULL, &err));
    assert_string_equal(err.text, "/nonexistent/m.yaml: No such file or directory\n");
}

static void a_line_up_beyond_all_reason_is_refused(void **state)
{
    (void)state;
    struct nm_arena scratch = {0};
    char *text = nm_take(&scratch, 1 << 20), *end = text;
    end += sprintf(end, "cycles: {c: {period: 1 ms, modules: [");
    for (int i = 0; i < 1025; i++) end += sprintf(end, "{module: walk, name: walk%d},", i);
    sprintf(end, "]}}");
    bad(text, &nowhere, "m.yaml:1: 1 cycles with 1025 modules are too many (64 and 1024 are allowed)\n");
    nm_arena_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_line_up_becomes_a_plan),
        cmocka_unit_test(topics_know_their_ends),
        cmocka_unit_test(values_come_from_the_line_up_and_the_command_line),
        cmocka_unit_test(a_line_up_may_be_tiny),
        cmocka_unit_test(more_topics_may_be_remote_than_the_file_says),
        cmocka_unit_test(a_log_loads_no_code_and_opens_no_folder),
        cmocka_unit_test(a_plug_in_is_found_beside_the_file),
        cmocka_unit_test(what_is_odd_but_harmless_is_a_warning),
        cmocka_unit_test(every_fault_has_its_sentence),
        cmocka_unit_test(all_faults_are_told_at_once),
        cmocka_unit_test(the_command_line_is_checked_too),
        cmocka_unit_test(a_file_that_is_not_there_is_a_sentence),
        cmocka_unit_test(a_line_up_beyond_all_reason_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
