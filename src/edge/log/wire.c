#include "edge/log/wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "codec/bag_yaml.h"
#include "edge/dds/dds_look.h"

enum { TOPICS = 512 };
static const int64_t look_every = 500000000; /* ns; for new topics               */
static const double describe_patience = 2;   /* s, for a node to describe a type */

struct listened {
    char name[NM_ROS_NAME];
    dds_entity_t reader; /* 0: not listened to */
    int channel;
    uint32_t count;
};

struct nm_wire_log {
    struct nm_wire_log_options options;
    struct tape *tape;
    struct nm_look *look;
    struct nm_look_topic *seen;
    uint32_t n;
    struct listened topics[TOPICS];
    int64_t looked;
};

struct nm_wire_log *nm_wire_log_new(struct tape *tape, const struct nm_wire_log_options *options, struct nm_err *err)
{
    struct nm_wire_log *log = nm_calloc(1, sizeof *log);
    log->seen = nm_calloc(TOPICS, sizeof *log->seen);
    log->options = *options;
    log->tape = tape;
    log->looked = INT64_MIN / 2;
    log->look = nm_look_new(options->domain, options->network, err);
    if (log->look && !tape_start(tape, err)) return log;
    nm_wire_log_free(log);
    return NULL;
}

void nm_wire_log_free(struct nm_wire_log *log)
{
    if (!log) return;
    nm_look_free(log->look);
    free(log->seen);
    free(log);
}

static void add_profile(struct nm_text_out *out, const struct nm_look_offer *offer)
{
    nm_bag_qos(out, (struct nm_bag_qos){.best_effort = !offer->reliable,
                                        .transient_local = offer->latched,
                                        .manual = offer->manual,
                                        .deadline = offer->deadline,
                                        .lifespan = offer->lifespan,
                                        .lease = offer->lease});
}

/* Adds a channel with the QoS that each writer offers, and with the definition of the type if it is known. */
static int add_channel(struct nm_wire_log *log, const struct nm_look_topic *topic, struct nm_err *why)
{
    enum { WRITERS = 64 };
    struct nm_look_offer *offers = nm_calloc(WRITERS, sizeof *offers);
    struct nm_text_out qos = {.grows = true};
    struct nm_arena arena = {0};
    const char *hash = topic->type ? topic->type->hash : "";
    uint32_t n_offers = nm_look_offers(log->look, topic->name, offers, WRITERS);
    nm_text_put(&qos, "", 0);
    for (uint32_t i = 0; i < n_offers; i++) {
        if (!offers[i].writes || strcmp(offers[i].dds_type, topic->dds_type)) continue;
        if (*offers[i].hash) hash = offers[i].hash;
        add_profile(&qos, &offers[i]);
    }
    const char *schema = nm_look_schema(log->look, topic, &arena, describe_patience, why);
    size_t room = qos.used + 512, n = 0;
    uint8_t *map = nm_malloc(room);
    n = nm_mcap_add_text(map, n, room, nm_bytes_of("offered_qos_profiles"), nm_bytes_of(qos.text));
    n = nm_mcap_add_text(map, n, room, nm_bytes_of("topic_type_hash"), nm_bytes_of(hash));
    int channel = tape_channel(log->tape, topic->name, topic->type ? topic->type->name : topic->ros_type, schema,
                               (struct nm_bytes){map, n}, NULL);
    free(map);
    free(qos.text);
    free(offers);
    nm_arena_free(&arena);
    return channel;
}

static void listen(struct nm_wire_log *log, const struct nm_look_topic *topic)
{
    struct nm_look_topic heard;
    struct nm_err why = {0};
    for (uint32_t i = 0; i < log->n; i++)
        if (!strcmp(log->topics[i].name, topic->name)) return;
    if (log->n == TOPICS || !topic->writers) return;
    struct listened *l = &log->topics[log->n];
    *l = (struct listened){0};
    memcpy(l->name, topic->name, sizeof l->name);
    bool wanted = !log->options.wanted || log->options.wanted(log->options.user, topic->name);
    if (wanted) {
        if (nm_look_listen(log->look, topic->name, &heard, NULL)) return; /* try again next time */
        l->reader = nm_look_reader(log->look);
        l->channel = add_channel(log, &heard, &why);
        if (l->channel < 0) l->reader = 0;
    }
    log->n++;
    if (l->reader && log->options.found) log->options.found(log->options.user, topic->name, why.n ? why.text : NULL);
}

static uint32_t take(struct nm_wire_log *log, struct listened *topic)
{
    struct nm_raw samples[NM_RAW_MOST];
    uint32_t taken = 0;
    for (int n; (n = nm_raw_take(topic->reader, samples, NM_RAW_MOST)) > 0;) {
        for (int i = 0; i < n; i++) {
            if (!samples[i].sample) continue;
            taken++;
            tape_put(log->tape, &(struct nm_mcap_message){(uint16_t)topic->channel,
                                                          ++topic->count,
                                                          (uint64_t)nm_wall(),
                                                          (uint64_t)samples[i].written,
                                                          {samples[i].bytes, samples[i].size}});
        }
        nm_raw_free(samples, n);
        if (n < NM_RAW_MOST) break;
    }
    return taken;
}

uint32_t nm_wire_log_poll(struct nm_wire_log *log)
{
    uint32_t taken = 0;
    int64_t now = nm_clock();
    if (now - log->looked >= look_every) {
        log->looked = now;
        uint32_t n = nm_look_topics(log->look, true, log->seen, TOPICS);
        for (uint32_t i = 0; i < n; i++) listen(log, &log->seen[i]);
    }
    for (uint32_t i = 0; i < log->n; i++)
        if (log->topics[i].reader) taken += take(log, &log->topics[i]);
    return taken;
}
