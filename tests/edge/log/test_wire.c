/* A ROS 2 world recorded from outside: topics that are there and topics that come later, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "codec/cdr.h"
#include "codec/mcap_read.h"
#include "edge/dds/look.h"
#include "edge/dds/private_domain.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(topics_are_recorded_as_they_arrive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
