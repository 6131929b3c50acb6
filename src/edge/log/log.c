/* Records a line-up: every topic as one channel for each module that publishes it, and the log's own topics under
 * /nutmeg/ with which messages each run consumed and made, changes of parameters, snapshots and statistics. One thread
 * (or the caller of nm_log_poll) owns everything here except the atomic members.
 *
 * Times inside messages are of the player's clock; in the log they count from 1970, as on the wire, so that other tools
 * see them beside the log time. Images are stored as the options say. */
#include "edge/log/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "body/robot.h"
#include "codec/bag_yaml.h"
#include "codec/cdr.h"
#include "codec/jpeg.h"
#include "codec/thumbnail.h"
#include "core/files.h"
#include "core/params.h"
#include "core/report.h"
#include "core/run_record.h"
#include "core/stamp.h"
#include "edge/dds/names.h"
#include "edge/dds/stamps.h"
#include "edge/log/about.h"
#include "edge/log/own.h"
#include "edge/log/tape.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/CycleSnapshot.h"
#include "nutmeg_msgs/CycleTopics.h"
#include "nutmeg_msgs/ParameterChange.h"
#include "nutmeg_msgs/TopicStatistics.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"
#include "std_msgs/String.h"

enum { TAPES = 2 }; /* the log and the black box */

/* Topics of the log itself. */
enum own_topic { OWN_RECORD, OWN_TOPICS, OWN_SNAPSHOT, OWN_PARAMETERS, OWN_CYCLES, OWN_TRAFFIC, OWN_DESCRIPTION, OWN };

struct log_channel { /* a topic of one publisher */
    uint32_t topic, maker;
    int id[TAPES]; /* 0: not on this tape */
    uint64_t count;
    uint64_t seen; /* bytes, for the statistics */
};

struct nm_log {
    struct nm_player *player;
    const struct nm_lineup *lineup;
    struct nm_arena arena;
    struct nm_log_options options;
    int64_t offset; /* ns, from the player's clock to the time in the log */
    struct nm_record *record;
    struct nm_edge *edge;
    struct tape *tapes[TAPES];
    enum nm_log_images images[TAPES];

    uint32_t *ports;      /* of each topic, NM_NONE: not read             */
    bool *times;          /* of each topic: its type holds times          */
    uint32_t *channel_of; /* topic x maker: index in channels, or NM_NONE */
    uint32_t n_makers, n_channels;
    struct log_channel *channels;
    _Atomic uint64_t *lost; /* of each topic: messages that were lost before they got here  */
    int own[OWN][TAPES];
    uint64_t own_count[OWN];
    bool opened; /* the channels are open */
    bool ended;

    uint8_t *bytes, *picture; /* scratch that grows */
    bool signs;               /* there is a key     */
    uint8_t key[NM_OWN_KEY];  /* for snapshots      */
    size_t bytes_room, picture_room;
    void *scratch; /* a message of the log's own topics */
    struct nm_cycle_mark *marks;

    int64_t snapped, reported; /* ns                                                                   */
    uint32_t begun;            /* files of the tapes: each has a snapshot near its beginning           */
    uint64_t *noted, *told;    /* of each cycle: notes at the beginning of this look, notes in the log */
    uint64_t told_losses;
    pthread_t thread;
    bool threaded;
    _Atomic bool ending;
    _Atomic uint64_t messages;
    _Atomic int64_t cpu;
};

/* A queue holds what is published in a second in which the log gets no time, up to this many messages and bytes. */
enum { DEPTH_LEAST = 16, DEPTH_USUAL = 128, DEPTH_MOST = 1024, QUEUE_BYTES = 1 << 20, IMAGE_DEPTH = 4 };

static uint8_t *log_room(uint8_t **bytes, size_t *room, size_t n)
{
    if (n > *room) {
        *room = n + n / 2;
        *bytes = nm_realloc(*bytes, *room);
    }
    return *bytes;
}

/* ---- what is recorded ---- */

static uint32_t rate_of(const struct nm_lineup *lineup, const struct nm_topic *topic)
{
    uint32_t rate = 0;
    for (uint32_t i = 0; i < topic->n_producers; i++) {
        const struct nm_lineup_cycle *cycle = &lineup->cycles[lineup->instances[topic->producers[i].instance].cycle];
        uint32_t hz = cycle->period ? (uint32_t)(1000000000 / cycle->period) + 1 : DEPTH_USUAL;
        if (hz > rate) rate = hz;
    }
    return rate ? rate : DEPTH_USUAL;
}

static uint32_t depth_of(const struct nm_lineup *lineup, const struct nm_topic *topic)
{
    if (topic->type->blobs) return IMAGE_DEPTH;
    uint32_t least = topic->queue && topic->depth > DEPTH_LEAST ? topic->depth : DEPTH_LEAST;
    uint32_t depth = rate_of(lineup, topic);
    if (topic->queue && depth < 4 * least) depth = 4 * least;
    if (depth > DEPTH_MOST) depth = DEPTH_MOST;
    while (depth > least && (size_t)depth * topic->type->size > QUEUE_BYTES) depth /= 2;
    return depth < least ? least : depth;
}

static bool is_image(const struct nm_type *type) { return type == &Image_type; }

static bool is_wanted(const struct nm_log *log, const struct nm_topic *topic)
{
    bool wanted = false;
    for (int k = 0; k < TAPES; k++)
        wanted |= log->tapes[k] && (!is_image(topic->type) || log->images[k] != NM_LOG_NO_IMAGES);
    return wanted;
}

/* Opens the edge with a port for each topic that is recorded. */
static int channels_edge(struct nm_log *log, struct nm_err *err)
{
    const struct nm_lineup *lineup = log->lineup;
    struct nm_edge_port *ports = nm_take_n(&log->arena, struct nm_edge_port, lineup->n_topics + 1);
    uint32_t n = 0;
    log->ports = nm_take_n(&log->arena, uint32_t, lineup->n_topics + 1);
    log->times = nm_take_n(&log->arena, bool, lineup->n_topics + 1);
    log->lost = nm_take_n(&log->arena, _Atomic uint64_t, lineup->n_topics + 1);
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        log->times[t] = nm_has_times(topic->type);
        log->ports[t] = NM_NONE;
        if (!is_wanted(log, topic)) continue;
        log->ports[t] = n;
        ports[n++] =
            (struct nm_edge_port){.topic = topic->name, .kind = NM_PORT_QUEUE, .depth = depth_of(lineup, topic)};
    }
    log->edge = nm_edge_new(log->player, "log", ports, n, err);
    return log->edge ? 0 : -1;
}

/* ---- channels ---- */

static size_t add_text(uint8_t *map, size_t used, size_t room, const char *key, const char *value)
{
    return nm_mcap_add_text(map, used, room, nm_bytes_of(key), nm_bytes_of(value));
}

/* The metadata of a channel; in memory that the next call uses again. */
static struct nm_bytes channel_metadata(struct nm_log *log, const struct nm_type *type, const char *maker, bool latched,
                                        const char *of)
{
    enum { ROOM = 2048 };
    struct nm_text_out qos = {.grows = true};
    uint8_t *map = log_room(&log->bytes, &log->bytes_room, ROOM);
    nm_bag_qos(&qos, (struct nm_bag_qos){.depth = 10, .transient_local = latched});
    size_t n = add_text(map, 0, ROOM, "offered_qos_profiles", qos.text);
    n = add_text(map, n, ROOM, "topic_type_hash", type->hash);
    if (maker) n = add_text(map, n, ROOM, "maker", maker);
    if (of) n = add_text(map, n, ROOM, "of", of);               /* stored with loss in its place       */
    if (latched) n = add_text(map, n, ROOM, "latched", "true"); /* every file repeats its last messages */
    free(qos.text);
    return (struct nm_bytes){map, n};
}

/* The type under which an image topic is stored on a tape. */
static int add_image(struct nm_log *log, int k, const struct nm_topic *topic, const char *maker, struct nm_err *err)
{
    static const char *const tails[NM_LOG_IMAGES] = {"/compressed", "", "/thumbnail", NULL};
    enum nm_log_images how = log->images[k];
    const struct nm_type *type = how == NM_LOG_JPEG ? &CompressedImage_type : &Image_type;
    if (!tails[how]) return 0;
    const char *of = how == NM_LOG_RAW ? NULL : nm_take_format(&log->arena, "/%s", topic->name);
    return tape_channel(log->tapes[k], nm_take_format(&log->arena, "/%s%s", topic->name, tails[how]), type->name,
                        type->schema, channel_metadata(log, type, maker, false, of), err);
}

static int add_channel(struct nm_log *log, uint32_t t, uint32_t maker, struct nm_err *err)
{
    const struct nm_topic *topic = &log->lineup->topics[t];
    const char *name = nm_record_name(log->record, maker);
    struct log_channel *channel = &log->channels[log->n_channels];
    *channel = (struct log_channel){.topic = t, .maker = maker};
    for (int k = 0; k < TAPES; k++) {
        if (!log->tapes[k]) continue;
        struct nm_ros_qos qos = nm_ros_qos(topic->name, topic->type);
        bool latched = qos.latched && !qos.lifespan; /* rosout is history, not the present state */
        channel->id[k] =
            is_image(topic->type)
                ? add_image(log, k, topic, name, err)
                : tape_channel(log->tapes[k], nm_take_format(&log->arena, "/%s", topic->name), topic->type->name,
                               topic->type->schema, channel_metadata(log, topic->type, name, latched, NULL), err);
        if (channel->id[k] < 0) return -1;
        if (latched) tape_latch(log->tapes[k], channel->id[k], (uint32_t)qos.depth);
    }
    log->channel_of[(size_t)t * log->n_makers + maker] = log->n_channels++;
    return 0;
}

/* Opens the channels, once the player is linked. */
static int channels_open(struct nm_log *log, struct nm_err *err)
{
    const struct nm_lineup *lineup = log->lineup;
    uint32_t total = 0, n;
    log->n_makers = nm_record_cycles(log->record);
    log->channel_of = nm_take_n(&log->arena, uint32_t, (size_t)lineup->n_topics * log->n_makers + 1);
    memset(log->channel_of, 0xff, (size_t)lineup->n_topics * log->n_makers * sizeof *log->channel_of);
    for (uint32_t c = 0; c < log->n_makers; c++) {
        nm_record_topics(log->record, c, &n);
        total += n;
    }
    log->channels = nm_take_n(&log->arena, struct log_channel, total + 1);
    for (uint32_t c = 0; c < log->n_makers; c++) {
        const struct nm_record_topic *topics = nm_record_topics(log->record, c, &n);
        for (uint32_t i = 0; i < n; i++)
            if (topics[i].maker == c && log->ports[topics[i].topic] != NM_NONE &&
                add_channel(log, topics[i].topic, c, err))
                return -1;
    }
    return 0;
}

/* ---- messages ---- */

static void put(struct nm_log *log, struct log_channel *channel, int k, const struct nm_slot *slot, size_t n)
{
    uint64_t time = (uint64_t)(slot->time + log->offset);
    tape_put(log->tapes[k],
             &(struct nm_mcap_message){(uint16_t)channel->id[k], (uint32_t)slot->seq, time, time, {log->bytes, n}});
    channel->seen += n;
}

static int64_t encode(struct nm_log *log, const struct nm_type *type, const void *message)
{
    size_t size = nm_cdr_size(type, message);
    return nm_cdr_encode(type, message, log_room(&log->bytes, &log->bytes_room, size), size);
}

static int64_t encode_jpeg(struct nm_log *log, const Image *image)
{
    size_t room = nm_jpeg_room(image->width, image->height), n;
    int quality = log->options.quality ? log->options.quality : NM_JPEG_QUALITY;
    log_room(&log->picture, &log->picture_room, room);
    if (nm_jpeg_encode_image(image, quality, log->picture, room, &n, NULL)) return -1;
    CompressedImage jpeg = {.header = image->header, .format = "jpeg"};
    jpeg.data = (struct nm_blob){.data = log->picture, .n = (uint32_t)n, .cap = (uint32_t)n};
    return encode(log, &CompressedImage_type, &jpeg);
}

static int64_t encode_thumbnail(struct nm_log *log, const Image *image)
{
    struct nm_pixels small;
    size_t room = nm_thumbnail_room(&NM_PIXELS(image), NULL);
    if (!room) return -1;
    log_room(&log->picture, &log->picture_room, room);
    if (nm_thumbnail(&NM_PIXELS(image), log->picture, room, &small, NULL)) return -1;
    Image out = {.header = image->header, .height = small.height, .width = small.width, .step = small.step};
    nm_text(out.encoding, "%s", small.encoding);
    out.data = (struct nm_blob){.data = log->picture, .n = (uint32_t)small.n, .cap = (uint32_t)small.n};
    return encode(log, &Image_type, &out);
}

static void take_image(struct nm_log *log, struct log_channel *channel, const Image *image)
{
    for (int k = 0; k < TAPES; k++) {
        if (!channel->id[k]) continue;
        int64_t n = log->images[k] == NM_LOG_JPEG         ? encode_jpeg(log, image)
                    : log->images[k] == NM_LOG_THUMBNAILS ? encode_thumbnail(log, image)
                                                          : encode(log, &Image_type, image);
        if (n >= 0)
            put(log, channel, k, nm_slot(image), (size_t)n);
        else
            log->lost[channel->topic]++;
    }
}

static void take(struct nm_log *log, uint32_t topic, void *message)
{
    const struct nm_type *type = log->lineup->topics[topic].type;
    const struct nm_slot *slot = nm_slot(message);
    uint32_t at = slot->maker < log->n_makers ? log->channel_of[(size_t)topic * log->n_makers + slot->maker] : NM_NONE;
    if (at == NM_NONE) return;
    struct log_channel *channel = &log->channels[at];
    /* the message in the queue is our own copy, so it may be changed */
    if (log->offset && log->times[topic]) nm_shift_times(type, message, log->offset);
    channel->count++;
    atomic_fetch_add_explicit(&log->messages, 1, memory_order_relaxed);
    if (is_image(type)) {
        take_image(log, channel, message);
        return;
    }
    int64_t n = encode(log, type, message);
    for (int k = 0; k < TAPES; k++)
        if (channel->id[k] && n >= 0) put(log, channel, k, slot, (size_t)n);
    if (n < 0) log->lost[topic]++;
}

/* Records what the line-up has published. */
static void channels_take(struct nm_log *log)
{
    nm_edge_begin(log->edge, nm_player_now(log->player));
    for (uint32_t t = 0; t < log->lineup->n_topics; t++) {
        const void *const *at;
        uint32_t lost = 0;
        if (log->ports[t] == NM_NONE) continue;
        uint32_t n = nm_edge_queue(log->edge, log->ports[t], &at, &lost);
        for (uint32_t i = 0; i < n; i++) take(log, t, (void *)(uintptr_t)at[i]);
        log->lost[t] += lost;
    }
    nm_edge_end(log->edge);
}

/* ---- the log's own topics ---- */

/* No line-up has topics under /nutmeg/. Only the robot's description has the name that ROS tools expect. */

static const int64_t report_every = 1000000000; /* ns */

static const struct {
    const char *topic;
    const struct nm_type *type;
    bool latched;
} own[OWN] = {
    [OWN_RECORD] = {"/nutmeg/runs", &CycleRecord_type, false},
    [OWN_TOPICS] = {"/nutmeg/topics", &CycleTopics_type, true},
    [OWN_SNAPSHOT] = {"/nutmeg/snapshots", &CycleSnapshot_type, false},
    [OWN_PARAMETERS] = {"/nutmeg/parameters", &ParameterChange_type, true},
    [OWN_CYCLES] = {"/nutmeg/cycles", &CycleStatistics_type, false},
    [OWN_TRAFFIC] = {"/nutmeg/traffic", &TopicStatistics_type, false},
    [OWN_DESCRIPTION] = {"/robot_description", &String_type, true},
};

/* Writes a message of the log's own topics; `time` is of the player's clock. */
static void log_own(struct nm_log *log, enum own_topic topic, int64_t time, const struct nm_type *type,
                    const void *message)
{
    int64_t n = encode(log, type, message);
    uint64_t when = (uint64_t)(time + log->offset);
    log->own_count[topic]++;
    for (int k = 0; k < TAPES && n >= 0; k++)
        if (log->tapes[k])
            tape_put(log->tapes[k], &(struct nm_mcap_message){(uint16_t)log->own[topic][k],
                                                              (uint32_t)log->own_count[topic],
                                                              when,
                                                              when,
                                                              {log->bytes, (size_t)n}});
}

/* ---- what every file contains: the topics that the notes refer to, and the robot ---- */

static void stand(struct nm_log *log, enum own_topic topic, const uint8_t *bytes, size_t n)
{
    uint64_t time = (uint64_t)(nm_player_now(log->player) + log->offset);
    log->own_count[topic]++;
    for (int k = 0; k < TAPES; k++)
        if (log->tapes[k])
            tape_stand(log->tapes[k],
                       &(struct nm_mcap_message){
                           (uint16_t)log->own[topic][k], (uint32_t)log->own_count[topic], time, time, {bytes, n}});
}

static void tell_topics(struct nm_log *log, uint32_t cycle)
{
    CycleTopics *message = log->scratch;
    uint32_t n;
    const struct nm_record_topic *topics = nm_record_topics(log->record, cycle, &n);
    int64_t now = nm_player_now(log->player);
    if (!n) return;
    nm_reset(&CycleTopics_type, message);
    message->header.stamp = nm_stamp(now + log->offset);
    nm_text(message->cycle, "%s", nm_record_name(log->record, cycle));
    for (uint32_t i = 0; i < n && i < sizeof message->topics.at / sizeof message->topics.at[0]; i++) {
        nm_text(message->topics.at[i], "/%s", log->lineup->topics[topics[i].topic].name);
        nm_text(message->makers.at[i], "%s", nm_record_name(log->record, topics[i].maker));
        message->topics.n = message->makers.n = i + 1;
    }
    int64_t bytes = encode(log, &CycleTopics_type, message);
    if (bytes >= 0) stand(log, OWN_TOPICS, log->bytes, (size_t)bytes);
}

/* A viewer can show the robot, whichever file it opens. */
static void tell_description(struct nm_log *log)
{
    size_t n;
    const uint8_t *bytes = nm_robot_description(&log->arena, log->lineup->robot_folder, &n);
    if (bytes) stand(log, OWN_DESCRIPTION, bytes, n);
}

static bool has_description(const struct nm_log *log)
{
    return log->lineup->robot_folder && nm_lineup_topic(log->lineup, "robot_description") == NM_NONE;
}

static int notes_open(struct nm_log *log, struct nm_err *err)
{
    size_t most = 0;
    for (int i = 0; i < OWN; i++) {
        if (own[i].type->size > most) most = own[i].type->size;
        if (i == OWN_DESCRIPTION && !has_description(log)) continue;
        for (int k = 0; k < TAPES; k++) {
            if (!log->tapes[k]) continue;
            log->own[i][k] = tape_channel(log->tapes[k], own[i].topic, own[i].type->name, own[i].type->schema,
                                          channel_metadata(log, own[i].type, NULL, own[i].latched, NULL), err);
            if (log->own[i][k] < 0) return -1;
        }
    }
    log->scratch = nm_take(&log->arena, most);
    log->noted = nm_take_n(&log->arena, uint64_t, nm_record_cycles(log->record));
    log->told = nm_take_n(&log->arena, uint64_t, nm_record_cycles(log->record));
    for (uint32_t c = 0; c < nm_record_cycles(log->record); c++) tell_topics(log, c);
    if (has_description(log)) tell_description(log);
    size_t marks = 0;
    for (uint32_t c = 0; c < log->lineup->n_cycles; c++) marks += nm_cycle_mark_size(log->player, c);
    log->marks = nm_take(&log->arena, marks + 1);
    return 0;
}

/* ---- runs ---- */

static void put_seqs(TopicSequence *to, uint32_t *n, uint32_t room, const struct nm_seqs *seqs, uint32_t count)
{
    for (*n = 0; *n < count && *n < room; ++*n)
        to[*n] = (TopicSequence){.topic = (uint16_t)seqs[*n].at, .first = seqs[*n].first, .last = seqs[*n].last};
}

static void tell_run(struct nm_log *log, const struct nm_run *run)
{
    CycleRecord *message = log->scratch;
    enum { SEQS = sizeof message->consumed.at / sizeof message->consumed.at[0] };
    nm_reset(&CycleRecord_type, message);
    message->header.stamp = message->start = nm_stamp(run->now + log->offset);
    nm_text(message->cycle, "%s", nm_record_name(log->record, run->cycle));
    message->run = run->run;
    message->parameter_generation = run->generation;
    message->watched = run->watched;
    put_seqs(message->consumed.at, &message->consumed.n, SEQS, run->consumed, run->n_consumed);
    put_seqs(message->produced.at, &message->produced.n, SEQS, run->made, run->n_made);
    for (uint32_t i = 0; i < run->n_asked; i++) {
        ServiceCall *call = nm_append(&message->calls, &ServiceCall_type);
        if (!call) break;
        *call = (ServiceCall){(uint16_t)run->asked[i].at, run->asked[i].seq, run->asked[i].caller, run->asked[i].call};
    }
    log_own(log, OWN_RECORD, run->now, &CycleRecord_type, message);
}

/* Adds the signature after the state. */
static void sign(struct nm_log *log, CycleSnapshot *message)
{
    uint32_t n = message->state.n;
    uint8_t *to = log_room(&log->picture, &log->picture_room, n + NM_OWN_SIGNATURE);
    memcpy(to, message->state.data, n);
    nm_own_sign(log->key, message->cycle, message->run, to, n, to + n);
    n += NM_OWN_SIGNATURE;
    message->state = (struct nm_blob){.data = to, .n = n, .cap = n};
}

static void tell_snapshot(struct nm_log *log, uint32_t cycle)
{
    size_t n;
    struct nm_run run;
    const void *bytes = nm_record_snapshot(log->record, cycle, &n, &run);
    if (!bytes) return;
    CycleSnapshot message = {.run = run.run, .parameter_generation = run.generation};
    message.header.stamp = nm_stamp(run.now + log->offset);
    nm_text(message.cycle, "%s", nm_record_name(log->record, cycle));
    message.state = (struct nm_blob){.data = (uint8_t *)(uintptr_t)bytes, .n = (uint32_t)n, .cap = (uint32_t)n};
    if (n && log->signs) sign(log, &message);
    if (n) log_own(log, OWN_SNAPSHOT, run.now, &CycleSnapshot_type, &message);
    nm_record_give(log->record, cycle);
}

/* ---- parameters ---- */

static void tell_change(struct nm_log *log, const struct nm_record_change *change)
{
    ParameterChange *message = log->scratch;
    int64_t now = nm_player_now(log->player);
    nm_reset(&ParameterChange_type, message);
    message->header.stamp = nm_stamp(now + log->offset);
    message->generation = change->generation;
    if (change->swap != NM_NONE) nm_text(message->swapped, "%s", log->lineup->instances[change->swap].name);
    for (uint32_t i = 0; i < change->n; i++) {
        const struct nm_change *c = &change->changes[i];
        const struct nm_param *param = &nm_player_module(log->player, c->instance)->params[c->param];
        char value[NM_VALUE_PRINT];
        nm_value_print(param, &c->value, value, sizeof value);
        nm_text(message->settings.at[message->settings.n], "%s.%s=%s", log->lineup->instances[c->instance].name,
                param->name, value);
        message->settings.n++;
    }
    log_own(log, OWN_PARAMETERS, now, &ParameterChange_type, message);
}

/* ---- statistics ---- */

static void tell_cycles(struct nm_log *log, int64_t now)
{
    CycleStatistics *message = log->scratch;
    unsigned char *mark = (unsigned char *)log->marks;
    for (uint32_t c = 0; c < log->lineup->n_cycles; c++) {
        nm_cycle_report(log->player, c, (struct nm_cycle_mark *)(void *)mark, message);
        mark += nm_cycle_mark_size(log->player, c);
        message->header.stamp = nm_stamp(now + log->offset);
        log_own(log, OWN_CYCLES, now, &CycleStatistics_type, message);
    }
}

static uint64_t drops_of(const struct nm_log *log, const struct log_channel *channel, int tape)
{
    return channel->id[tape] ? tape_dropped(log->tapes[tape], channel->id[tape]) : 0;
}

static uint64_t losses(const struct nm_log *log)
{
    uint64_t sum = 0;
    int tape = log->tapes[0] ? 0 : 1;
    for (uint32_t t = 0; t < log->lineup->n_topics; t++) sum += log->lost[t];
    for (uint32_t i = 0; i < log->n_channels; i++) sum += drops_of(log, &log->channels[i], tape);
    for (int i = 0; i < OWN; i++) sum += tape_dropped(log->tapes[tape], log->own[i][tape]);
    for (uint32_t c = 0; c < nm_record_cycles(log->record); c++) sum += nm_record_lost(log->record, c);
    return sum + nm_record_lost_changes(log->record);
}

static void add_traffic(TopicStatistics *message, const char *topic, uint64_t count, uint64_t dropped, uint64_t bytes)
{
    uint32_t i = message->topic.n++;
    message->rate.n = message->bytes.n = message->count.n = message->dropped.n = message->refused.n = i + 1;
    nm_text(message->topic.at[i], "%s", topic);
    message->count.at[i] = count;
    message->dropped.at[i] = dropped;
    message->bytes.at[i] = (float)bytes;
    message->rate.at[i] = 0;
    message->refused.at[i] = 0;
}

/* Reports only topics that lost something, and only when that has changed, so in a good log this topic stays empty. */
static void tell_losses(struct nm_log *log, int64_t now)
{
    TopicStatistics *message = log->scratch;
    uint32_t room = sizeof message->count.at / sizeof message->count.at[0];
    uint64_t sum = losses(log);
    int tape = log->tapes[0] ? 0 : 1;
    if (sum == log->told_losses) return;
    log->told_losses = sum;
    nm_reset(&TopicStatistics_type, message);
    message->header.stamp = nm_stamp(now + log->offset);
    nm_text(message->edge, "log");
    for (uint32_t i = 0; i < log->n_channels && message->topic.n < room; i++) {
        const struct log_channel *c = &log->channels[i];
        uint64_t dropped = drops_of(log, c, tape) + log->lost[c->topic];
        if (dropped) add_traffic(message, log->lineup->topics[c->topic].name, c->count, dropped, c->seen);
    }
    for (int i = 0; i < OWN && message->topic.n < room; i++) {
        uint64_t dropped = tape_dropped(log->tapes[tape], log->own[i][tape]);
        for (uint32_t c = 0; i == OWN_RECORD && c < nm_record_cycles(log->record); c++)
            dropped += nm_record_lost(log->record, c);
        if (i == OWN_PARAMETERS) dropped += nm_record_lost_changes(log->record);
        if (dropped) add_traffic(message, own[i].topic, log->own_count[i], dropped, 0);
    }
    log_own(log, OWN_TRAFFIC, now, &TopicStatistics_type, message);
}

/* ---- notes ---- */

/* Called before channels_take: decides which notes notes_take may write. */
static void notes_look(struct nm_log *log)
{
    for (uint32_t c = 0; c < nm_record_cycles(log->record); c++) log->noted[c] = nm_record_count(log->record, c);
}

static void notes_take(struct nm_log *log, bool last)
{
    struct nm_record_change change;
    struct nm_run run;
    int64_t now = nm_player_now(log->player);
    while (nm_record_change(log->record, &change)) tell_change(log, &change);
    for (uint32_t c = 0; c < nm_record_cycles(log->record); c++) {
        while (log->told[c] < log->noted[c] && nm_record_next(log->record, c, &run)) {
            tell_run(log, &run);
            log->told[c]++;
        }
        tell_snapshot(log, c);
    }
    uint32_t begun = 0;
    for (int k = 0; k < TAPES; k++) begun += log->tapes[k] ? tape_begun(log->tapes[k]) : 0;
    int64_t every = log->options.snapshots ? log->options.snapshots : 5 * report_every;
    if (now - log->snapped >= every || begun != log->begun) {
        log->snapped = now;
        log->begun = begun;
        for (uint32_t c = 0; c < log->lineup->n_cycles; c++) nm_record_want(log->record, c);
    }
    if (!last && now - log->reported < report_every) return;
    log->reported = now;
    if (!log->options.virtual_time) tell_cycles(log, now); /* the duration of a run is not part of a simulated robot */
    tell_losses(log, now);
}

/* ---- what a replay needs in every file, besides the messages ---- */

/* The line-up, its parameters, seed, revision, CPU, and the offset from the robot's clock to the time of day. */

static void print_parameters(const struct nm_log *log, FILE *to)
{
    for (uint32_t i = 0; i < log->lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &log->lineup->instances[i];
        for (uint32_t p = 0; p < instance->n_params; p++) {
            struct nm_value value;
            char text[NM_VALUE_PRINT];
            nm_player_value(log->player, i, p, &value);
            nm_value_print(&instance->module->params[p], &value, text, sizeof text);
            fprintf(to, "%s.%s=%s\n", instance->name, instance->module->params[p].name, text);
        }
    }
}

static void attach_text(struct tape *tape, const char *name, const char *media, char *text, size_t n)
{
    tape_attach(tape, name, media, text, n);
    free(text);
}

static void describe(struct nm_log *log, struct tape *tape)
{
    enum { ROOM = 8192 };
    uint8_t *map = log_room(&log->bytes, &log->bytes_room, ROOM);
    const struct nm_log_options *o = &log->options;
    char seed[32], offset[32], digest[65] = "";
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)nm_player_seed(log->player));
    snprintf(offset, sizeof offset, "%lld", (long long)log->offset);
    if (log->lineup->robot_folder) nm_folder_digest(log->lineup->robot_folder, digest);
    const struct {
        const char *key, *value;
    } rows[] = {{"player", nm_player_name(log->player)},
                {"lineup", log->lineup->name},
                {"robot", log->lineup->robot},
                {"robot_digest", digest},
                {"seed", seed},
                {"clock_offset", offset},
                {"clock", o->virtual_time ? "virtual" : "monotonic"},
                {"revision", o->revision},
                {"build", o->build},
                {"cpu", o->cpu}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        n = nm_mcap_add_text(map, n, ROOM, nm_bytes_of(rows[i].key), nm_bytes_of(rows[i].value ? rows[i].value : ""));
    tape_describe(tape, "nutmeg", (struct nm_bytes){map, n});
}

static void about_attach(struct nm_log *log, struct tape *tape)
{
    char *text = NULL;
    size_t n;
    FILE *to = nm_memstream(&text, &n);
    nm_lineup_print(log->lineup, NULL, to);
    fclose(to);
    attach_text(tape, "lineup.yaml", "application/yaml", text, n);
    to = nm_memstream(&text, &n);
    print_parameters(log, to);
    fclose(to);
    attach_text(tape, "parameters.txt", "text/plain", text, n);
    describe(log, tape);
}

/* ---- the log ---- */

static const int64_t look_every = 20000000; /* ns */
/* ns. A crash costs an open chunk. A loss of power also costs what was not yet forced to the disk. */
static const int64_t chunk_age = 400000000;
static const int64_t box_chunk_age = 250000000;
static const int64_t box_sync = 1000000000; /* less often than the log, because the black box is always written */
static const int64_t box_file = 5000000000; /* ns, length of a file of the black box                            */
enum {
    BOX_FILES = 8,   /* seven complete files are more than half a minute; one more is open */
    BOXES = 4,       /* boxes of earlier runs that are kept                                */
    ROOM = 32 << 20, /* bytes that may wait for the disk                                   */
    BOX_ROOM = 8 << 20,
};

const char *const nm_log_images_names[NM_LOG_IMAGES] = {"jpeg", "raw", "thumbnails", "none"};

/* Keeps the boxes of earlier runs, because somebody may want to see them after a crash: NAME becomes NAME.1, and so on.
 */
static void keep_boxes(struct nm_log *log, const char *box)
{
    struct nm_arena *arena = &log->arena;
    if (!nm_folder_exists(box)) return;
    const char *oldest = nm_take_format(arena, "%s.%d", box, BOXES - 1);
    uint32_t n;
    const char *const *names = nm_files_in(arena, oldest, "", &n);
    for (uint32_t i = 0; i < n; i++) remove(nm_path(arena, oldest, names[i]));
    remove(oldest);
    for (int i = BOXES - 1; i > 0; i--) {
        const char *from = i > 1 ? nm_take_format(arena, "%s.%d", box, i - 1) : box;
        rename(from, nm_take_format(arena, "%s.%d", box, i));
    }
}

static int open_tapes(struct nm_log *log, struct nm_err *err)
{
    const struct nm_log_options *o = &log->options;
    log->images[0] = o->images;
    log->images[1] = o->images == NM_LOG_NO_IMAGES ? NM_LOG_NO_IMAGES : NM_LOG_THUMBNAILS;
    if (o->path) {
        log->tapes[0] = tape_new(&(struct tape_options){.path = o->path,
                                                        .packing = o->packing,
                                                        .rotate = o->rotate,
                                                        .floor = o->floor,
                                                        .flush = chunk_age,
                                                        .sync = !o->virtual_time,
                                                        .room = ROOM,
                                                        .direct = o->virtual_time,
                                                        .said = o->said,
                                                        .user = o->user},
                                 err);
        if (!log->tapes[0]) return -1;
    }
    if (!o->box) return 0;
    keep_boxes(log, o->box);
    log->tapes[1] = tape_new(&(struct tape_options){.path = o->box,
                                                    .packing = NM_MCAP_LZ4,
                                                    .rotate_after = box_file,
                                                    .keep = BOX_FILES,
                                                    .floor = o->floor,
                                                    .flush = box_chunk_age,
                                                    .sync = !o->virtual_time,
                                                    .sync_every = box_sync,
                                                    .room = BOX_ROOM,
                                                    .direct = o->virtual_time,
                                                    .said = o->said,
                                                    .user = o->user},
                             err);
    return log->tapes[1] ? 0 : -1;
}

struct nm_log *nm_log_new(struct nm_player *player, const struct nm_log_options *options, struct nm_err *err)
{
    struct nm_log *log = nm_calloc(1, sizeof *log);
    log->player = player;
    log->lineup = nm_player_lineup(player);
    log->options = *options;
    log->signs = nm_own_key(log->key, true);
    if (!options->virtual_time) log->offset = nm_wall() - nm_clock();
    if (!open_tapes(log, err) && (log->record = nm_record_new(player, err)) && !channels_edge(log, err)) {
        for (int k = 0; k < TAPES; k++)
            if (log->tapes[k]) about_attach(log, log->tapes[k]);
        return log;
    }
    nm_log_free(log);
    return NULL;
}

/* Channels are opened when the player has started, because only then it is known who publishes what. */
static int open_channels(struct nm_log *log, struct nm_err *err)
{
    int bad = channels_open(log, err) || notes_open(log, err);
    log->snapped = log->reported = nm_player_now(log->player);
    for (int k = 0; k < TAPES; k++) log->begun += log->tapes[k] ? tape_begun(log->tapes[k]) : 0;
    for (int k = 0; k < TAPES && !bad; k++)
        if (log->tapes[k]) bad = tape_start(log->tapes[k], err);
    log->opened = !bad;
    return bad ? -1 : 0;
}

/* A note is written after everything that it refers to, so all runs in the log are complete wherever a crash cuts it.
 */
static void look(struct nm_log *log, bool last)
{
    notes_look(log);
    channels_take(log);
    notes_take(log, last);
}

void nm_log_poll(struct nm_log *log)
{
    if (!log->opened && open_channels(log, NULL)) return;
    look(log, false);
}

static void *collect_main(void *user)
{
    struct nm_log *log = user;
    struct timespec nap = {.tv_nsec = look_every};
    tape_step_back("nm-log");
    while (!atomic_load(&log->ending)) {
        look(log, false);
        atomic_store_explicit(&log->cpu, nm_thread_time(), memory_order_relaxed);
        nanosleep(&nap, NULL);
    }
    return NULL;
}

int nm_log_start(struct nm_log *log, struct nm_err *err)
{
    if (open_channels(log, err)) return -1;
    int r = pthread_create(&log->thread, NULL, collect_main, log);
    if (r) return nm_fail(err, "the log cannot start its thread: %s", strerror(r));
    log->threaded = true;
    return 0;
}

void nm_log_end(struct nm_log *log)
{
    if (log->ended) return;
    log->ended = true;
    atomic_store(&log->ending, true);
    if (log->threaded) pthread_join(log->thread, NULL);
    if (log->opened) look(log, true);
    for (int k = 0; k < TAPES; k++)
        if (log->tapes[k]) tape_end(log->tapes[k]);
}

void nm_log_free(struct nm_log *log)
{
    if (!log) return;
    nm_log_end(log);
    for (int k = 0; k < TAPES; k++) tape_free(log->tapes[k]);
    free(log->bytes);
    free(log->picture);
    nm_arena_free(&log->arena);
    free(log);
}

void nm_log_stats(const struct nm_log *log, struct nm_log_stats *stats)
{
    *stats = (struct nm_log_stats){.messages = atomic_load_explicit(&log->messages, memory_order_relaxed),
                                   .cpu = atomic_load_explicit(&log->cpu, memory_order_relaxed)};
    for (int k = 0; k < TAPES; k++) {
        if (!log->tapes[k]) continue;
        if (!k || !log->tapes[0]) stats->bytes += tape_bytes(log->tapes[k]);
        stats->cpu += tape_cpu(log->tapes[k]);
    }
    int main = log->tapes[0] ? 0 : 1;
    for (uint32_t i = 0; log->opened && i < log->n_channels; i++)
        if (log->channels[i].id[main]) stats->dropped += tape_dropped(log->tapes[main], log->channels[i].id[main]);
    for (uint32_t t = 0; t < log->lineup->n_topics; t++)
        stats->dropped += atomic_load_explicit(&log->lost[t], memory_order_relaxed);
}

const char *nm_log_path(const struct nm_log *log) { return log->tapes[0] ? tape_path(log->tapes[0]) : NULL; }
