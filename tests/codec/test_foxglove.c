/* Requests of Foxglove clients are understood as the protocol writes them, refused with a sentence otherwise; frames
 * have the bytes of the SDK's own snapshots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "codec/foxglove.h"

static struct nm_arena arena;
static struct nm_fox_request request;

static void read_ok(const char *text)
{
    struct nm_err err = {0};
    if (nm_fox_request_read(&arena, text, strlen(text), &request, &err)) fail_msg("%s: %s", text, err.text);
}

static void refused(const char *text, int code, const char *why)
{
    struct nm_err err = {0};
    assert_int_equal(nm_fox_request_read(&arena, text, strlen(text), &request, &err), code);
    if (!strstr(err.text, why)) fail_msg("'%s' is not in: %s", why, err.text);
}

static int end(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

static void test_every_operation_is_read(void **state)
{
    (void)state;
    read_ok(
        "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":0,\"channelId\":3},{\"id\":4294967295,\"channelId\":5}]}");
    assert_int_equal(request.op, NM_FOX_SUBSCRIBE);
    assert_int_equal(request.n, 2);
    assert_int_equal(request.items[1].id, UINT32_MAX);
    assert_int_equal(request.items[1].channel, 5);
    read_ok(" {\"op\":\"unsubscribe\",\"subscriptionIds\":[7]}");
    assert_int_equal(request.op, NM_FOX_UNSUBSCRIBE);
    assert_int_equal(request.items[0].id, 7);
    read_ok("{\"op\":\"advertise\",\"channels\":[{\"id\":2,\"topic\":\"/cmd\",\"encoding\":\"cdr\",\"schemaName\":\"a/"
            "B\"}]}");
    assert_int_equal(request.op, NM_FOX_ADVERTISE);
    assert_string_equal(request.items[0].topic, "/cmd");
    assert_string_equal(request.items[0].encoding, "cdr");
    assert_string_equal(request.items[0].schema_name, "a/B");
    read_ok("{\"op\":\"unadvertise\",\"channelIds\":[]}");
    assert_int_equal(request.op, NM_FOX_UNADVERTISE);
    assert_int_equal(request.n, 0);
    read_ok("{\"op\":\"getParameters\",\"parameterNames\":[\"a.b\"],\"id\":\"x\"}");
    assert_int_equal(request.op, NM_FOX_GET_PARAMETERS);
    assert_string_equal(request.items[0].name, "a.b");
    assert_string_equal(request.id, "x");
    read_ok("{\"op\":\"setParameters\",\"parameters\":[{\"name\":\"a.b\",\"value\":[1,2]},{\"name\":\"c\"}]}");
    assert_int_equal(request.op, NM_FOX_SET_PARAMETERS);
    assert_null(request.id);
    assert_int_equal(request.items[0].value->n, 2);
    assert_null(request.items[1].value);
    read_ok("{\"op\":\"subscribeParameterUpdates\",\"parameterNames\":[]}");
    assert_int_equal(request.op, NM_FOX_WATCH_PARAMETERS);
    read_ok("{\"op\":\"unsubscribeParameterUpdates\",\"parameterNames\":[]}");
    assert_int_equal(request.op, NM_FOX_UNWATCH_PARAMETERS);
    read_ok("{\"op\":\"subscribeConnectionGraph\"}");
    assert_int_equal(request.op, NM_FOX_WATCH_GRAPH);
    read_ok("{\"op\":\"unsubscribeConnectionGraph\"}");
    assert_int_equal(request.op, NM_FOX_UNWATCH_GRAPH);
    read_ok("{\"op\":\"fetchAsset\",\"uri\":\"package://r/m.stl\",\"requestId\":9}");
    assert_int_equal(request.op, NM_FOX_FETCH_ASSET);
    assert_string_equal(request.uri, "package://r/m.stl");
    assert_int_equal(request.request_id, 9);
}

static void test_keys_that_newer_clients_add_do_not_disturb(void **state)
{
    (void)state;
    read_ok("{\"op\":\"subscribe\",\"new\":{\"x\":[]},\"subscriptions\":[{\"id\":1,\"channelId\":2,\"rate\":5}]}");
    assert_int_equal(request.n, 1);
}

static void test_what_is_wrong_is_said(void **state)
{
    (void)state;
    refused("", -1, "a JSON object");
    refused("[]", -1, "a JSON object");
    refused("op: subscribe", -1, "a JSON object");
    refused("{", -1, "request:");
    refused("{}", -1, "'op' must be a text");
    refused("{\"op\":3}", -1, "'op' must be a text");
    refused("{\"op\":\"dance\"}", NM_FOX_UNKNOWN, "no operation 'dance'");
    refused("{\"op\":\"subscribe\"}", -1, "'subscriptions' must be a list");
    refused("{\"op\":\"subscribe\",\"subscriptions\":[3]}", -1, "a list of objects");
    refused("{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":-1,\"channelId\":2}]}", -1,
            "'id' must be a whole number");
    refused("{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":4294967296}]}", -1,
            "'channelId' must be");
    refused("{\"op\":\"unsubscribe\",\"subscriptionIds\":[\"1\"]}", -1, "'subscriptionIds' must be");
    refused("{\"op\":\"getParameters\",\"parameterNames\":[1]}", -1, "a list of texts");
    refused("{\"op\":\"fetchAsset\",\"uri\":\"x\"}", -1, "'requestId' must be");
    refused("{\"op\":\"advertise\",\"channels\":[{\"id\":1,\"topic\":\"/x\"}]}", -1, "'encoding' must be a text");
}

static void test_limits_hold(void **state)
{
    (void)state;
    static char text[NM_FOX_TEXT + 2];
    struct nm_err err = {0};
    memset(text, ' ', sizeof text);
    assert_int_equal(nm_fox_request_read(&arena, text, sizeof text, &request, &err), -1);
    assert_non_null(strstr(err.text, "at most 65536 bytes"));
    char *at = text + sprintf(text, "{\"op\":\"unsubscribe\",\"subscriptionIds\":[0");
    for (int i = 0; i < NM_FOX_ITEMS; i++) at += sprintf(at, ",%d", i);
    strcpy(at, "]}");
    refused(text, -1, "a list of at most 512");
}

/* ---- frames ---- */

static void test_frames_of_clients_are_read(void **state)
{
    (void)state;
    static const uint8_t message[] = "\x01\x1e\x00\x00\x00{\"key\": \"value\"}";
    static const uint8_t call[] = "\x02\x0a\x00\x00\x00\x0c\x00\x00\x00\x04\x00\x00\x00json{}";
    struct nm_fox_frame frame;
    assert_int_equal(nm_fox_frame_read(message, sizeof message - 1, &frame, NULL), 0);
    assert_int_equal(frame.op, NM_FOX_CLIENT_MESSAGE);
    assert_int_equal(frame.id, 30);
    assert_int_equal(frame.size, 16);
    assert_memory_equal(frame.data, "{\"key\": \"value\"}", 16);
    assert_int_equal(nm_fox_frame_read(call, sizeof call - 1, &frame, NULL), 0);
    assert_int_equal(frame.op, NM_FOX_SERVICE_CALL);
    assert_int_equal(frame.id, 10);
    assert_int_equal(frame.call, 12);
    assert_string_equal(frame.encoding, "json");
    assert_int_equal(frame.size, 2);
}

static void test_frames_cut_anywhere_are_refused_or_whole(void **state)
{
    (void)state;
    static const uint8_t call[] = "\x02\x0a\x00\x00\x00\x0c\x00\x00\x00\x04\x00\x00\x00json";
    static const uint8_t vast[] = "\x02\x0a\x00\x00\x00\x0c\x00\x00\x00\xff\xff\xff\xffjson";
    struct nm_fox_frame frame;
    for (size_t n = 0; n < sizeof call - 1; n++) {
        struct nm_err err = {0};
        assert_int_equal(nm_fox_frame_read(call, n, &frame, &err), -1);
        assert_int_equal(err.n, 1);
    }
    assert_int_equal(nm_fox_frame_read(call, sizeof call - 1, &frame, NULL), 0);
    assert_int_equal(nm_fox_frame_read(vast, sizeof vast - 1, &frame, NULL), -1);
    assert_int_equal(nm_fox_frame_read("\x03", 1, &frame, NULL), NM_FOX_UNKNOWN);
    for (size_t n = 1; n < 5; n++) assert_int_equal(nm_fox_frame_read("\x01\0\0\0", n, &frame, NULL), -1);
}

static void test_frames_of_the_server_have_the_bytes_of_the_protocol(void **state)
{
    (void)state;
    uint8_t to[64];
    assert_int_equal(nm_fox_time_frame(to, sizeof to, 1234567890), 9);
    assert_memory_equal(to, "\x02\xd2\x02\x96\x49\0\0\0\0", 9);
    assert_int_equal(nm_fox_message_head(to, sizeof to, 7, 0x0102030405060708), 13);
    assert_memory_equal(to, "\x01\x07\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01", 13);
    assert_int_equal(nm_fox_service_head(to, sizeof to, 10, 12, "json"), 17);
    assert_memory_equal(to, "\x03\x0a\0\0\0\x0c\0\0\0\x04\0\0\0json", 17);
    assert_int_equal(nm_fox_asset_head(to, sizeof to, 10, "oh no"), 15);
    assert_memory_equal(to, "\x04\x0a\0\0\0\x01\x05\0\0\0oh no", 15);
    assert_int_equal(nm_fox_asset_head(to, sizeof to, 10, NULL), 10);
    assert_memory_equal(to, "\x04\x0a\0\0\0\0\0\0\0\0", 10);
    assert_int_equal(nm_fox_asset_head(to, 14, 10, "oh no"), 0);
    assert_int_equal(nm_fox_message_head(to, 12, 7, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_every_operation_is_read, end),
        cmocka_unit_test_teardown(test_keys_that_newer_clients_add_do_not_disturb, end),
        cmocka_unit_test_teardown(test_what_is_wrong_is_said, end),
        cmocka_unit_test_teardown(test_limits_hold, end),
        cmocka_unit_test(test_frames_of_clients_are_read),
        cmocka_unit_test(test_frames_cut_anywhere_are_refused_or_whole),
        cmocka_unit_test(test_frames_of_the_server_have_the_bytes_of_the_protocol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
