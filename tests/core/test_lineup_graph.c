/* Topics join what modules make and read: renames, services, what comes from outside, what the runtime writes itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/lineup_graph.h"
#include "core/made.h"
#include "core/registered.h"

static struct nm_lineup *load(const char *modules, const char *remote, struct nm_err *err)
{
    char text[2000];
    struct nm_lineup_options options = {.root = "/nonexistent"};
    snprintf(text, sizeof text, "cycles: {a: {period: 10 ms, modules: [%s]}}\nremote: [%s]", modules, remote);
    *err = (struct nm_err){0};
    return nm_lineup_parse(text, strlen(text), "m.yaml", &registry, &options, err);
}

static void good(const char *modules, const char *remote)
{
    struct nm_err err;
    struct nm_lineup *lineup = load(modules, remote, &err);
    if (!lineup) fail_msg("%s", err.text);
    assert_string_equal(lineup->warnings, "");
    nm_lineup_free(lineup);
}

static void bad(const char *modules, const char *remote, const char *sentences)
{
    struct nm_err err;
    assert_null(load(modules, remote, &err));
    assert_string_equal(err.text, sentences);
}

/* wants an image and, where somebody makes one, a ball */
struct fan {
    struct nm *nm;
    const Image *image;
    const PointStamped *ball;
};
#undef SELF
#define SELF struct fan
static void fan_step(struct fan *f) { (void)f; }
static const struct nm_port fan_ports[] = {
    NM_IN(image, Image, "image_raw"), NM_IN(ball, PointStamped, "ball_seen", .optional = true), {0}};
NM_MODULE_UNLISTED(fan, "Watches.", NM_PORTS(fan_ports), .step = NM_CALL(fan_step))

static void an_optional_topic_may_have_no_producer(void **state)
{
    (void)state;
    const struct nm_module *const known[] = {&fan_module, &eye_module};
    struct nm_registry usual = registry;
    nm_registry_init(&registry, &arena, known, known + 2);
    good("fan", "image_raw");
    good("fan", "image_raw, ball_seen");
    bad("fan", "",
        "m.yaml:1: module 'fan' reads topic 'image_raw', which nobody makes; if it comes from outside, list it under "
        "remote:\n");
    /* with a producer it is a topic like any other: the reader steps behind it */
    struct nm_err err;
    struct nm_lineup *lineup = load("fan, eye", "image_raw", &err);
    if (!lineup) fail_msg("%s", err.text);
    assert_string_equal(lineup->instances[lineup->cycles[0].order[0]].name, "eye");
    nm_lineup_free(lineup);
    registry = usual;
}

static void a_service_has_one_server_and_any_number_of_clients(void **state)
{
    (void)state;
    good("power", ""); /* its clients are outside */
    good("power", "motor_power/request");
    good("power, button, {module: button, name: other_button}", "");
    good("button", "motor_power"); /* the server is outside */
    good("button, {module: button, name: other_button}", "motor_power/request, motor_power/reply");
    good("power, {module: power, name: spare, topics: {motor_power: spare_power}},"
         "{module: button, topics: {motor_power: /spare_power}}",
         "");
    bad("button, {module: button, name: other_button}", "",
        "m.yaml:1: module 'button' calls service 'motor_power', which nobody serves; if it is served outside, list it "
        "under remote:\n");
    /* its two topics cannot be torn apart */
    bad("{module: power, topics: {motor_power/request: x}}", "",
        "m.yaml:1: module 'power' has no topic 'motor_power/request' to rename; there is only motor_power\n");
}

static void a_service_is_renamed_as_a_whole(void **state)
{
    (void)state;
    struct nm_err err;
    struct nm_lineup *l = load("{module: power, topics: {/motor_power: legs/power}}", "", &err);
    if (!l) fail_msg("%s", err.text);
    assert_string_equal(l->topics[l->instances[0].topics[0]].name, "legs/power/request");
    assert_string_equal(l->topics[l->instances[0].topics[1]].name, "legs/power/reply");
    nm_lineup_free(l);
}

static void transforms_need_no_producer(void **state)
{
    (void)state;
    struct nm_err err;
    struct nm_lineup *l = load("striker", "ball", &err);
    if (!l) fail_msg("%s", err.text);
    const struct nm_topic *tf = &l->topics[nm_lineup_topic(l, "tf")];
    assert_int_equal(tf->n_producers, 0);
    assert_int_equal(tf->n_consumers, 1);
    assert_ptr_equal(tf->type, &TFMessage_type);
    assert_true(tf->many && tf->queue && tf->builtin);
    assert_int_not_equal(nm_lineup_topic(l, "tf_static"), NM_NONE);
    nm_lineup_free(l);
    l = load("power", "", &err);
    assert_int_equal(nm_lineup_topic(l, "tf"), NM_NONE); /* nobody wants them here */
    assert_int_not_equal(nm_lineup_topic(l, "rosout"), NM_NONE);
    nm_lineup_free(l);
}

static void many_topics_merge_their_producers_in_step_order(void **state)
{
    (void)state;
    struct nm_err err;
    struct nm_lineup *l =
        load("speaker, striker, {module: striker, name: ten, topics: {cmd_vel: v}}", "ball, speech", &err);
    if (!l) fail_msg("%s", err.text);
    const struct nm_topic *speech = &l->topics[nm_lineup_topic(l, "speech")];
    assert_int_equal(speech->n_producers, 2);
    assert_true(speech->many && speech->remote);
    assert_int_equal(l->cycles[0].order[2], nm_lineup_instance(l, "speaker")); /* hears both in the same run */
    nm_lineup_free(l);
}

static void what_comes_from_outside_is_a_queue_if_all_read_it_so(void **state)
{
    (void)state;
    struct nm_err err;
    struct nm_lineup *l = load("speaker", "speech", &err);
    assert_true(l->topics[nm_lineup_topic(l, "speech")].queue);
    nm_lineup_free(l);
    l = load("speaker, {module: stranger, topics: {ball: n}}", "speech, n", &err);
    assert_false(l->topics[nm_lineup_topic(l, "speech")].queue);
    assert_false(l->topics[nm_lineup_topic(l, "n")].queue);
    nm_lineup_free(l);
}

static void a_copy_of_a_type_counts_if_its_layout_is_equal(void **state)
{
    (void)state;
    struct nm_type copy = PoseStamped_type, other = PoseStamped_type;
    other.layout++;
    struct nm_port ports[] = {striker_ports[0], {0}};
    struct nm_module foreign = {.abi = NM_ABI,
                                .name = "foreign",
                                .about = "From a plug-in.",
                                .size = sizeof(struct striker),
                                NM_PORTS(ports),
                                .step = striker_module.step};
    const struct nm_module *both[] = {&foreign, &striker_module};
    nm_registry_init(&registry, &arena, both, both + 2);
    ports[0].type = &copy;
    good("foreign, striker", "ball");
    ports[0].type = &other;
    bad("striker, foreign", "ball",
        "m.yaml:1: module 'foreign' reads topic 'ball' as geometry_msgs/msg/PoseStamped of another layout than module "
        "'striker': rebuild the plug-in\n");
}

static void a_missing_producer_is_told_once(void **state)
{
    (void)state;
    bad("ball_filter, {module: ball_filter, name: rival, topics: {ball: b}}, walk", "cmd_vel",
        "m.yaml:1: module 'ball_filter' (and 1 more) reads topic 'ball_seen', which nobody makes; if it comes from "
        "outside, "
        "list it under remote:\n");
    /* a module that does not exist may have been the producer: no sentence that would only confuse */
    bad("ball_filter, ey, walk", "cmd_vel", "m.yaml:1: there is no module 'ey', did you mean 'eye'?\n");
}

/* A line-up of a whole robot: every module reads a few of those before it; every port finds its topic. */
static void sixty_modules_find_their_topics(void **state)
{
    (void)state;
    enum { N = 60 };
    struct made m;
    struct nm_err err = {0};
    uint32_t file[N], cycle[N];
    uint64_t seed = 3;
    made_new(&m, N);
    for (uint32_t i = 0; i < N; i++) {
        file[i] = N - 1 - i; /* the very opposite of the order needed */
        cycle[i] = i % 3;
        for (uint32_t k = 0; k < 4 && i; k++) made_reads(&m, i, random_below(&seed, i), NM_PORT_IN);
    }
    struct nm_lineup *l = made_lineup(&m, file, cycle, 3, &err);
    if (!l) fail_msg("%s", err.text);
    assert_int_equal(l->n_instances, N);
    assert_int_equal(l->n_topics, N + 2);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t p = 0; p < l->instances[i].n_ports; p++)
            assert_string_equal(l->topics[l->instances[i].topics[p]].name, l->instances[i].module->ports[p].topic);
    for (uint32_t c = 0; c < 3; c++)
        for (uint32_t i = 1; i < l->cycles[c].n_order; i++)
            assert_int_equal(l->instances[l->cycles[c].order[i]].cycle, c);
    nm_lineup_free(l);
    made_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_optional_topic_may_have_no_producer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_service_has_one_server_and_any_number_of_clients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_service_is_renamed_as_a_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(transforms_need_no_producer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_topics_merge_their_producers_in_step_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_comes_from_outside_is_a_queue_if_all_read_it_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_of_a_type_counts_if_its_layout_is_equal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_producer_is_told_once, set_up, tear_down),
        cmocka_unit_test(sixty_modules_find_their_topics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
