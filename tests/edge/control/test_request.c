/* Requests come from outside: what is well formed is understood, in YAML and in JSON, and everything else is refused
 * with a sentence before anything happens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "edge/control/request.h"

static struct nm_arena arena;
static struct nm_request request;
static struct nm_err err;

static int begin(void **state)
{
    (void)state;
    memset(&err, 0, sizeof err);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

static int parse(const char *line)
{
    memset(&err, 0, sizeof err);
    return nm_request_parse(&arena, line, strlen(line), &request, &err);
}

static void test_yaml_and_json_say_the_same(void **state)
{
    (void)state;
    static const char *const lines[] = {"{op: why, topic: ball}", "{\"op\": \"why\", \"topic\": \"ball\"}",
                                        "  {topic: 'ball', op: why}  "};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(parse(lines[i]), 0);
        assert_int_equal(request.op, NM_CONTROL_WHY);
        assert_string_equal(request.topic, "ball");
    }
}

static void test_every_operation_by_its_name(void **state)
{
    (void)state;
    static const char *const lines[NM_CONTROL_OPS] = {
        [NM_CONTROL_INFO] = "{op: info}",
        [NM_CONTROL_TASKS] = "{op: tasks}",
        [NM_CONTROL_TOPICS] = "{op: topics}",
        [NM_CONTROL_WHY] = "{op: why, topic: ball}",
        [NM_CONTROL_PARAMS] = "{op: params, instance: a, param: b}",
        [NM_CONTROL_SET] = "{op: set, set: [a.b=1]}",
        [NM_CONTROL_RESET] = "{op: reset, layer: robot}",
        [NM_CONTROL_SAVE] = "{op: save, layer: robot}",
        [NM_CONTROL_SWAP] = "{op: swap, instance: a, plugin: /x/a.so}",
        [NM_CONTROL_WATCH] = "{op: watch, on: true}",
        [NM_CONTROL_ECHO] = "{op: echo, topic: /tf}",
        [NM_CONTROL_STOP] = "{op: stop}",
        [NM_CONTROL_CALL] = "{op: call, topic: tare_feet}",
        [NM_CONTROL_SAY] = "{op: say, topic: cmd_vel, message: '{linear: {x: 1}}'}",
    };
    for (uint32_t i = 0; i < NM_CONTROL_OPS; i++) {
        if (parse(lines[i])) fail_msg("%s: %s", lines[i], err.text);
        assert_int_equal(request.op, i);
        assert_non_null(strstr(lines[i], nm_control_op_name((enum nm_control_op)i)));
    }
}

static void test_a_set_keeps_its_order_and_its_text(void **state)
{
    (void)state;
    assert_int_equal(parse("{op: set, set: ['a.b=1 2 3', \"c.d={x: [1]}\", e.f=true]}"), 0);
    assert_int_equal(request.n_set, 3);
    assert_string_equal(request.set[0], "a.b=1 2 3");
    assert_string_equal(request.set[1], "c.d={x: [1]}");
    assert_string_equal(request.set[2], "e.f=true");
}

static void refused(const char *line, const char *sentence)
{
    if (!parse(line)) fail_msg("%s is taken", line);
    if (!strstr(err.text, sentence)) fail_msg("%s: '%s' does not say '%s'", line, err.text, sentence);
}

static void test_what_is_wrong_is_said(void **state)
{
    (void)state;
    refused("", "'op'");
    refused("hello", "map");
    refused("[op, info]", "map");
    refused("{op: inf}", "no operation 'inf', did you mean 'info'?");
    refused("{op: [info]}", "request:1");
    refused("{op: info, topic: x}", "'info' takes no 'topic'");
    refused("{op: info, tpoic: x}", "topic");
    refused("{op: why}", "'why' needs 'topic'");
    refused("{op: why, topic: ''}", "1 to 4096 bytes");
    refused("{op: why, topic: [a]}", "request:1");
    refused("{op: watch, on: maybe}", "maybe");
    refused("{op: say, topic: far}", "'say' needs 'message'");
    refused("{op: set, set: a.b=1}", "list");
    refused("{op: set, set: []}", "list");
    refused("{op: set, set: [[a]]}", "request:1");
    refused("{op: params, param: b}", "'param' also needs its 'instance'");
    refused("{op: info, op: stop}", "op");
    refused("{op: &a info}", "request:1");
    refused("{op: info", "request:");
    refused("{op: \"in\\0fo\"}", "request:1");
}

static void test_what_is_too_large_is_refused(void **state)
{
    (void)state;
    char *line = calloc(1, NM_REQUEST_LINE + 64);
    memset(line, ' ', NM_REQUEST_LINE + 1);
    refused(line, "at most 65536 bytes");
    strcpy(line, "{op: why, topic: ");
    size_t n = strlen(line);
    memset(line + n, 'a', NM_REQUEST_TEXT + 1);
    strcpy(line + n + NM_REQUEST_TEXT + 1, "}");
    refused(line, "1 to 4096 bytes");
    strcpy(line, "{op: set, set: [");
    for (int i = 0; i <= NM_REQUEST_SETS; i++) strcat(line, "a.b=1,");
    strcat(line, "]}");
    refused(line, "1 to 1024 texts");
    line[0] = '\0';
    for (int i = 0; i < 1000; i++) strcat(line, "[");
    refused(line, "request:1");
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_yaml_and_json_say_the_same, begin, end),
        cmocka_unit_test_setup_teardown(test_every_operation_by_its_name, begin, end),
        cmocka_unit_test_setup_teardown(test_a_set_keeps_its_order_and_its_text, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_is_said, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_too_large_is_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
