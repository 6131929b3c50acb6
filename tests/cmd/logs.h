/* Writing small logs for the commands that read them. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/type.h"
#include "codec/bag_yaml.h"
#include "codec/cdr.h"
#include "codec/mcap_write.h"

static const uint64_t log_start = 1700000000000000000u;

static inline int to_file(void *user, const void *bytes, size_t n) { return fwrite(bytes, 1, n, user) == n ? 0 : -1; }

/* A topic whose type has this name and definition. */
static inline int channel_as(struct nm_mcap_writer *w, const char *topic, const char *type, const char *definition)
{
    uint8_t map[1000];
    struct nm_text_out qos = {.grows = true};
    nm_bag_qos(&qos, (struct nm_bag_qos){.depth = 5});
    size_t used = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("offered_qos_profiles"), nm_bytes_of(qos.text));
    free(qos.text);
    struct nm_mcap_schema schema = {0, nm_bytes_of(type), nm_bytes_of("ros2msg"), nm_bytes_of(definition)};
    struct nm_mcap_channel channel = {
        0, (uint16_t)nm_mcap_add_schema(w, &schema, NULL), nm_bytes_of(topic), nm_bytes_of("cdr"), {map, used}};
    return nm_mcap_add_channel(w, &channel, NULL);
}

static inline int channel_of(struct nm_mcap_writer *w, const char *topic, const struct nm_type *type)
{
    return channel_as(w, topic, type->name, type->schema);
}

static inline void say(struct nm_mcap_writer *w, int channel, const struct nm_type *type, const void *message,
                       uint32_t number, uint64_t time)
{
    static uint8_t cdr[10000];
    int64_t n = nm_cdr_encode(type, message, cdr, sizeof cdr);
    assert_true(n > 0);
    struct nm_mcap_message m = {(uint16_t)channel, number, time, time, {cdr, (size_t)n}};
    assert_int_equal(nm_mcap_write(w, &m, NULL), 0);
}
