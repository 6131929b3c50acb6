/* A ROS 2 world recorded from outside: topics that are there and topics that come later, byte for byte. */
#include "edge/dds/strange_node.h"

#include <time.h>

#include "codec/mcap_read.h"
#include "edge/dds/dds_look.h"
#include "edge/log/wire.h"
#include "std_msgs/Int64.h"
#include "std_msgs/String.h"

static void nap(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

static bool no_secrets(void *user, const char *topic)
{
    (void)user;
    return !strstr(topic, "secret");
}

/* Publishes until the recorder has found the writer and some messages have come. */
static void publish(struct nm_wire_log *log, struct nm_look *from, const struct nm_type *type, void *message,
                    uint32_t until)
{
    uint32_t taken = 0;
    (void)type;
    for (int i = 0; i < 500 && taken < until; i++) {
        assert_int_equal(nm_look_write(from, message, NULL), 0);
        nap(20);
        taken += nm_wire_log_poll(log);
    }
    assert_true(taken >= until);
}

static void topics_are_recorded_as_they_arrive(void **state)
{
    (void)state;
    char place[] = "/tmp/nutmeg-wire-XXXXXX", path[64], command[80];
    struct nm_err err = {0};
    assert_non_null(mkdtemp(place));
    snprintf(path, sizeof path, "%s/world.mcap", place);
    struct tape *tape = tape_new(&(struct tape_options){.path = path, .direct = true, .flush = 1000000000}, &err);
    struct nm_wire_log_options options = {.domain = private_domain(), .wanted = no_secrets};
    struct nm_wire_log *log = nm_wire_log_new(tape, &options, &err);
    if (!log) fail_msg("%s", err.text);
    struct nm_look *a = nm_look_new(private_domain(), false, &err), *b = nm_look_new(private_domain(), false, &err),
                   *secret = nm_look_new(private_domain(), false, &err);
    Int64 number = {.data = 42};
    static String word = {.data = "late"};
    assert_int_equal(nm_look_write_to(a, "/number", &Int64_type, &err), 0);
    assert_int_equal(nm_look_write_to(secret, "/secret", &Int64_type, &err), 0);
    assert_int_equal(nm_look_write(secret, &number, &err), 0);
    publish(log, a, &Int64_type, &number, 5);
    assert_int_equal(nm_look_write_to(b, "/word", &String_type, &err), 0); /* somebody comes later */
    publish(log, b, &String_type, &word, 3);
    nm_wire_log_free(log);
    tape_free(tape);
    nm_look_free(a);
    nm_look_free(b);
    nm_look_free(secret);

    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    struct nm_err faults = {0}, notes = {0};
    assert_int_equal(nm_mcap_open(&source, path, &err), 0);
    if (nm_mcap_check(&source, &faults, &notes)) fail_msg("%s", faults.text);
    assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0);
    assert_int_equal(contents.n_channels, 2);
    struct nm_mcap_query *query = nm_mcap_query_new(&source, &contents, &(struct nm_mcap_query_options){0});
    struct nm_mcap_message message;
    uint32_t channel, numbers = 0, words = 0;
    while (nm_mcap_query_next(query, &message, &channel, &err) > 0) {
        if (nm_bytes_are(contents.channels[channel].topic, "/number")) {
            Int64 got = {0};
            assert_int_equal(nm_cdr_decode(&Int64_type, &got, message.data.at, message.data.n, NULL, NULL), 0);
            assert_int_equal(got.data, 42);
            numbers++;
        } else {
            String got = {0};
            assert_int_equal(nm_cdr_decode(&String_type, &got, message.data.at, message.data.n, NULL, NULL), 0);
            assert_string_equal(got.data, "late");
            words++;
        }
    }
    assert_true(numbers >= 5 && words >= 3);
    nm_mcap_query_free(query);
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
    snprintf(command, sizeof command, "rm -rf %s", place);
    assert_int_equal(system(command), 0);
}

static char told[256];
static void note_found(void *user, const char *topic, const char *why)
{
    (void)user;
    (void)topic;
    snprintf(told, sizeof told, "%s", why ? why : "");
}

/* A type that we do not have, in messages longer than any struct of ours, of a writer that promises little. */
static void a_strange_topic_is_recorded_with_its_definition_and_qos(void **state)
{
    static const char little[] = "- history: 3\n  depth: 0\n  reliability: 2\n  durability: 2\n";
    (void)state;
    for (int described = 1; described >= 0; described--) {
        char place[] = "/tmp/nutmeg-wire-XXXXXX", path[64], command[80];
        struct strange_node node;
        struct nm_err err = {0};
        uint32_t taken = 0;
        assert_non_null(mkdtemp(place));
        snprintf(path, sizeof path, "%s/world.mcap", place);
        strange_begin(&node, described, false);
        struct tape *tape = tape_new(&(struct tape_options){.path = path, .direct = true, .flush = 1000000000}, &err);
        struct nm_wire_log_options options = {.domain = private_domain(), .found = note_found};
        struct nm_wire_log *log = nm_wire_log_new(tape, &options, &err);
        if (!log) fail_msg("%s", err.text);
        wait_until((taken += nm_wire_log_poll(log)) >= 3, strange_write(&node));
        nm_wire_log_free(log);
        tape_free(tape);
        strange_end(&node);
        assert_int_equal(strlen(told) == 0, described);

        struct nm_mcap_source source;
        struct nm_mcap_contents contents;
        assert_int_equal(nm_mcap_open(&source, path, &err), 0);
        assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0);
        assert_int_equal(contents.n_channels, 1);
        struct nm_bytes qos = nm_mcap_text_at(contents.channels[0].metadata, "offered_qos_profiles");
        struct nm_bytes hash = nm_mcap_text_at(contents.channels[0].metadata, "topic_type_hash");
        assert_non_null(memmem(qos.at, qos.n, little, strlen(little)));
        assert_true(nm_bytes_are(hash, node.hash));
        assert_int_equal(contents.n_schemas, 1);
        assert_true(nm_bytes_are(contents.schemas[0].name, ODD));
        assert_true(nm_bytes_are(contents.schemas[0].encoding, described ? "ros2msg" : ""));
        if (described) {
            assert_int_equal(contents.schemas[0].data.n, strlen(odd_schema));
            assert_memory_equal(contents.schemas[0].data.at, odd_schema, strlen(odd_schema));
        }
        assert_true(contents.messages >= 3);
        nm_mcap_contents_free(&contents);
        nm_mcap_close(&source);
        snprintf(command, sizeof command, "rm -rf %s", place);
        assert_int_equal(system(command), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_are_recorded_as_they_arrive),
        cmocka_unit_test(a_strange_topic_is_recorded_with_its_definition_and_qos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
