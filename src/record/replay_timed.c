/* Plays a log by its times. Time is the log's, moved so that the line-up's clock begins near zero, as a robot's does;
 * the cycles run by their periods and triggers in virtual time, and what a cycle makes appears after its cost. So the
 * same log gives the same bits every time.
 *
 * Nothing in the log is trusted: silences are left out when they are long, and no log plays for more than a day. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/stamp.h"
#include "record/replay_timed.h"
#include "codec/cdr.h"
#include "codec/jpeg.h"
#include "edge/dds/stamps.h"
#include "sensor_msgs/CompressedImage.h"
#include "tf2_msgs/TFMessage.h"

static const int64_t BEGIN = 10000000000;          /* ns: the line-up's clock at the first message          */
static const int64_t SILENCE_MOST = 30000000000;   /* ns without any message that are played                */
static const int64_t SILENCE_KEPT = 1000000000;    /* ns of a longer one: everything is old by then         */
static const int64_t LENGTH_MOST = 86400000000000; /* ns that are played at all                             */
static const int64_t SAME_CLOCK = 1000000000;      /* ns; messages are not older when they come             */
static const int64_t TAIL_MOST = 1000000000;       /* ns that are played behind the last message            */
static const int64_t SLICE_MOST = 1000000000;      /* ns between two looks at what was made                 */
static const int64_t SLICE_PACED = 20000000;       /* the same where the clock says how fast                */
enum { BLOB_LEAST = 1 << 16, BLOB_USUAL = 8 << 20, BLOB_MOST = 16 << 20 }; /* bytes of a picture */

/* ---- edges ---- */

static bool is_made(const struct nm_topic *topic)
{
    return topic->n_producers || !strcmp(topic->name, "rosout") || !strcmp(topic->name, "show");
}

/* Bytes of a picture: twice those of the first one. */
static uint32_t blob_bytes(const struct inlet *inlet, const struct nm_mcap_message *message)
{
    CompressedImage jpeg = {0};
    uint32_t width, height;
    uint64_t n = message->data.n;
    if (inlet->jpeg && !nm_cdr_decode(&CompressedImage_type, &jpeg, message->data.at, message->data.n, NULL, NULL) &&
        !nm_jpeg_size(jpeg.data.data, jpeg.data.n, &width, &height, NULL))
        n = (uint64_t)width * height * 3;
    return (uint32_t)(2 * n < BLOB_LEAST ? BLOB_LEAST : 2 * n > BLOB_MOST ? BLOB_MOST : 2 * n);
}

/* The time of the first message, and the size of pictures. */
static int look_ahead(struct timed *t, uint64_t *first, struct nm_err *err)
{
    enum { ENOUGH = 5000 }; /* messages, until a camera must have been heard */
    struct replay *r = t->r;
    struct nm_mcap_query_options time = {.from = r->from, .to = r->to};
    struct nm_mcap_message message;
    uint32_t part, channel, n = 0, cameras = 0;
    t->blobs = nm_take_n(&r->arena, uint32_t, r->lineup->n_topics + 1);
    for (uint32_t i = 0; i < r->lineup->n_topics; i++)
        cameras += t->ports[i] != NM_NONE && r->lineup->topics[i].type->blobs;
    inlets_choose(t, false);
    struct bag_reader *reader = bag_reader_new(&r->bag, &time);
    while (n < ENOUGH && (!n || cameras) && bag_next(reader, &message, &part, &channel)) {
        const struct inlet *inlet = inlet_of(t, part, channel);
        if (message.log_time > REPLAY_TIME_MOST) continue;
        if (!n++) *first = message.log_time;
        if (!r->lineup->topics[inlet->topic].type->blobs || t->blobs[inlet->topic]) continue;
        t->blobs[inlet->topic] = blob_bytes(inlet, &message);
        cameras--;
    }
    bag_reader_free(reader);
    /* the whole log was looked at, so no picture will come */
    for (uint32_t i = 0; n < ENOUGH && cameras && i < r->lineup->n_topics; i++)
        if (!t->blobs[i]) t->blobs[i] = BLOB_LEAST;
    return n ? 0 : nm_fail(err, "the log has no message in this time that the line-up reads");
}

static int open_in(struct timed *t, struct nm_err *err)
{
    enum { DEPTH = 64 };
    const struct nm_lineup *lineup = t->r->lineup;
    struct nm_edge_port *ports = nm_take_n(&t->r->arena, struct nm_edge_port, lineup->n_topics + 1);
    uint32_t n = 0, largest = 1;
    for (uint32_t i = 0; i < lineup->n_topics; i++) {
        const struct nm_topic *topic = &lineup->topics[i];
        if (t->ports[i] == NM_NONE) continue;
        ports[t->ports[i]] = (struct nm_edge_port){.topic = topic->name,
                                                   .kind = topic->queue ? NM_PORT_OUT_QUEUE : NM_PORT_OUT,
                                                   .depth = topic->queue && !topic->type->blobs ? DEPTH : 0};
        if (topic->type->blobs) ports[t->ports[i]].blob = t->blobs[i] ? t->blobs[i] : BLOB_USUAL;
        if (topic->type->size > largest) largest = topic->type->size;
        n++;
    }
    t->scratch = nm_take(&t->r->arena, largest);
    t->in = nm_edge_new(t->r->player, "log", ports, n, err);
    return t->in ? 0 : -1;
}

/* What the line-up makes, as a log of it takes it. */
static int open_out(struct timed *t, struct nm_err *err)
{
    enum { DEPTH = 32, IMAGE_DEPTH = 4 };
    struct replay *r = t->r;
    const struct nm_lineup *lineup = r->lineup;
    struct nm_edge_port *ports = nm_take_n(&r->arena, struct nm_edge_port, lineup->n_topics + 1);
    uint32_t n = 0;
    t->made_ports = nm_take_n(&r->arena, uint32_t, lineup->n_topics + 1);
    for (uint32_t i = 0; i < lineup->n_topics; i++) {
        const struct nm_topic *topic = &lineup->topics[i];
        t->made_ports[i] = NM_NONE;
        if (!is_made(topic) || (!r->options->out && !strcmp(topic->name, "show"))) continue; /* pictures for nobody */
        t->made_ports[i] = n;
        uint32_t depth = topic->type->blobs ? IMAGE_DEPTH : DEPTH;
        ports[n++] = (struct nm_edge_port){
            .topic = topic->name, .kind = NM_PORT_QUEUE, .depth = 4 * topic->depth > depth ? 4 * topic->depth : depth};
    }
    t->out = nm_edge_new(r->player, "out", ports, n, err);
    return t->out ? 0 : -1;
}

/* A stream for every topic and the cycle that makes it, as the new log has them. */
static void open_streams(struct timed *t)
{
    struct replay *r = t->r;
    const struct nm_lineup *lineup = r->lineup;
    r->n_streams = 0;
    r->made_streams = nm_take_n(&r->arena, uint32_t, (size_t)lineup->n_topics * lineup->n_cycles + 1);
    for (uint32_t i = 0; i < lineup->n_topics; i++)
        for (uint32_t c = 0; c < lineup->n_cycles; c++) {
            const struct nm_topic *topic = &lineup->topics[i];
            uint32_t *to = &r->made_streams[(size_t)i * lineup->n_cycles + c];
            bool makes = topic->builtin && is_made(topic);
            for (uint32_t p = 0; p < topic->n_producers; p++)
                makes |= lineup->instances[topic->producers[p].instance].cycle == c;
            *to = NM_NONE;
            if (!makes) continue;
            const char *name = nm_take_format(&r->arena, "/%s", topic->name);
            struct stream *s = replay_stream(r, name, lineup->cycles[c].name);
            s->at = i;
            s->cycle = c;
            s->replayed = true;
            s->times = nm_has_times(topic->type);
            *to = (uint32_t)(s - r->streams);
        }
}

/* Often enough that no queue runs over, and that a pace is kept evenly. */
static int64_t slice_of(const struct replay *r)
{
    int64_t slice = r->options->speed > 0 ? SLICE_PACED : SLICE_MOST;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
        int64_t period = r->lineup->cycles[c].period;
        if (period && 4 * period < slice) slice = 4 * period;
    }
    return slice;
}

/* ---- what comes out ---- */

/* A frame that the line-up moves is not moved by the log as well. */
static void note_frames(struct timed *t, const TFMessage *tf)
{
    for (uint32_t i = 0; i < tf->transforms.n; i++) {
        const char *child = tf->transforms.at[i].child_frame_id;
        uint32_t f = 0;
        while (f < t->n_frames && strcmp(t->frames[f], child)) f++;
        if (f == t->n_frames && f < FRAMES && strlen(child) < FRAME_NAME) strcpy(t->frames[t->n_frames++], child);
    }
}

static void drop_frames(const struct timed *t, TFMessage *tf)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < tf->transforms.n; i++) {
        bool ours = false;
        for (uint32_t f = 0; f < t->n_frames; f++) ours |= !strcmp(t->frames[f], tf->transforms.at[i].child_frame_id);
        if (!ours) tf->transforms.at[n++] = tf->transforms.at[i];
    }
    tf->transforms.n = n;
}

static void collect(struct timed *t)
{
    struct replay *r = t->r;
    const struct nm_lineup *lineup = r->lineup;
    nm_edge_begin(t->out, nm_player_now(r->player));
    for (uint32_t i = 0; i < lineup->n_topics; i++) {
        const void *const *at;
        uint32_t lost = 0;
        if (t->made_ports[i] == NM_NONE) continue;
        uint32_t n = nm_edge_queue(t->out, t->made_ports[i], &at, &lost);
        if (lost)
            replay_cause(r, "messages of /%s came faster than the new log could record them", lineup->topics[i].name);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t maker = nm_slot(at[k])->maker;
            if (maker >= lineup->n_cycles) continue; /* the log's own */
            uint32_t stream = r->made_streams[(size_t)i * lineup->n_cycles + maker];
            if (lineup->topics[i].type == &TFMessage_type) note_frames(t, at[k]);
            /* the queue's copy is ours, and nobody reads it after us */
            if (stream != NM_NONE) replay_write(r, &r->streams[stream], (void *)(uintptr_t)at[k]);
        }
    }
    nm_edge_end(t->out);
}

/* ---- time ---- */

static void run_to(struct timed *t, int64_t to)
{
    struct replay *r = t->r;
    while (t->now < to && !r->options->stopping() && !t->too_long) {
        int64_t next = to - t->now > t->slice ? t->now + t->slice : to;
        if (t->now + r->offset >= r->break_at) replay_break(r, t->now, "");
        if (next + r->offset > r->break_at) next = r->break_at - r->offset;
        replay_pace(r, next, t->began, t->first);
        nm_players_run(&r->player, 1, next, 1);
        t->now = next;
        collect(t);
        t->too_long = t->now - BEGIN > LENGTH_MOST;
    }
}

/* Up to a time of the log. Of a long silence only the beginning is played; then the line-up's clock stands until it is
 * over. */
static void go_to(struct timed *t, uint64_t log_time)
{
    struct replay *r = t->r;
    int64_t to = (int64_t)log_time - r->offset;
    if (to - t->now > SILENCE_MOST) {
        run_to(t, t->now + SILENCE_KEPT);
        r->offset += to - t->now;
        t->left_out += to - t->now;
        t->silences++;
        to = t->now;
    }
    run_to(t, to);
}

/* ---- what goes in ---- */

/* The first time that a message holds, ns; 0: none. */
static int64_t time_in(const struct nm_type *type, const void *message)
{
    if (type == &Time_type) return nm_stamp_ns(*(const Time *)message);
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *field = &type->fields[i];
        uint32_t n;
        if (field->kind != NM_STRUCT || !nm_has_times(field->type)) continue;
        const unsigned char *at = nm_elements(field, (unsigned char *)(uintptr_t)message + field->offset, &n);
        int64_t time = n ? time_in(field->type, at) : 0;
        if (time) return time;
    }
    return 0;
}

/* Times in messages may run by another clock than the log's: of another machine, or of a simulator. The first message
 * of a topic tells which; topics whose clocks agree keep the time between them. */
static int64_t clock_of(struct timed *t, struct inlet *inlet, int64_t stamp, uint64_t log_time)
{
    int64_t away = (int64_t)log_time - stamp;
    if (!stamp || inlet->latched) return 0;
    if (inlet->clock < CLOCKS) {
        if (llabs(away - t->clocks[inlet->clock]) > 10 * SAME_CLOCK)
            replay_cause(t->r, "the times in /%s run at another speed than those of the log", inlet->name);
        return t->clocks[inlet->clock];
    }
    for (inlet->clock = 0; inlet->clock < t->n_clocks; inlet->clock++)
        if (llabs(away - t->clocks[inlet->clock]) <= SAME_CLOCK) break;
    if (inlet->clock == CLOCKS) inlet->clock = 0;
    if (inlet->clock == t->n_clocks) t->clocks[t->n_clocks++] = away;
    if (t->clocks[inlet->clock])
        replay_cause(t->r, "the times in /%s are %.3f s from those of the log and were moved to match", inlet->name,
                     nm_seconds(-t->clocks[inlet->clock]));
    return t->clocks[inlet->clock];
}

static void *decode(struct timed *t, struct inlet *inlet, void *message, const struct nm_mcap_message *in,
                    struct nm_blob_pool *pool)
{
    const struct nm_type *type = t->r->lineup->topics[inlet->topic].type;
    struct nm_err why = {0};
    if (inlet_decode(inlet, type, message, in, pool, &why)) {
        if (!inlet->refused++)
            replay_cause(t->r, "messages of /%s cannot be read: %.*s", inlet->name, (int)strcspn(why.text, "\n"),
                         why.text);
        return NULL;
    }
    if (type == &TFMessage_type) drop_frames(t, message);
    if (nm_has_times(type)) {
        int64_t clock = clock_of(t, inlet, time_in(type, message), in->log_time);
        nm_shift_times(type, message, clock - t->r->offset);
    }
    return message;
}

/* A set of its own for every message, so that readers of a value as a queue see each. */
static void give(struct timed *t, struct inlet *inlet, const struct nm_mcap_message *in)
{
    const struct nm_topic *topic = &t->r->lineup->topics[inlet->topic];
    nm_edge_begin(t->in, t->now);
    struct nm_blob_pool *pool = topic->type->blobs ? nm_edge_pool(t->in, inlet->port) : NULL;
    void *message = topic->queue ? t->scratch : nm_edge_out(t->in, inlet->port);
    message = decode(t, inlet, message, in, pool);
    if (message && topic->queue) { /* a message once pushed is there */
        void *to = nm_edge_push(t->in, inlet->port);
        if (to) nm_copy(topic->type, to, message);
        nm_reset(topic->type, message);
    } else if (message) {
        nm_edge_put(t->in, inlet->port);
    }
    inlet->given += message != NULL;
    nm_edge_end(t->in);
}

/* What holds until somebody says otherwise, from before the beginning. */
static void give_latched(struct timed *t)
{
    struct nm_mcap_query_options before = {.to = t->r->from};
    struct nm_mcap_message message;
    uint32_t part, channel;
    if (!t->r->from) return;
    inlets_choose(t, true);
    struct bag_reader *reader = bag_reader_new(&t->r->bag, &before);
    while (!t->r->options->stopping() && bag_next(reader, &message, &part, &channel))
        give(t, inlet_of(t, part, channel), &message);
    bag_reader_free(reader);
}

static void play(struct timed *t)
{
    struct replay *r = t->r;
    struct nm_mcap_query_options time = {.from = r->from, .to = r->to};
    struct nm_mcap_message message;
    uint32_t part, channel;
    uint64_t first = (uint64_t)(t->now + r->offset), last = r->to && r->to < r->bag.last ? r->to : r->bag.last;
    inlets_choose(t, false);
    struct bag_reader *reader = bag_reader_new(&r->bag, &time);
    while (!r->options->stopping() && !t->too_long && bag_next(reader, &message, &part, &channel)) {
        if (message.log_time > REPLAY_TIME_MOST) continue;
        go_to(t, message.log_time);
        give(t, inlet_of(t, part, channel), &message);
        if (last > first && message.log_time >= first && message.log_time <= last)
            bag_tell(&r->bag, message.log_time - first, last - first + 1);
    }
    int64_t tail = 0;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
        const struct nm_lineup_cycle *cycle = &r->lineup->cycles[c];
        int64_t rest = cycle->period + cycle->cost;
        if (rest > tail) tail = rest;
    }
    run_to(t, t->now + 1 + (tail < TAIL_MOST ? tail : TAIL_MOST));
    uint32_t damaged = bag_reader_free(reader);
    if (damaged) replay_cause(r, "%u chunks of the log cannot be read", damaged);
}

/* ---- the end ---- */

static void gather_causes(struct timed *t)
{
    struct replay *r = t->r;
    if (t->silences)
        replay_cause(r, "%u long gap%s of the log, together %.0f s, %s left out", t->silences,
                     t->silences == 1 ? "" : "s", nm_seconds(t->left_out), t->silences == 1 ? "was" : "were");
    if (t->too_long) replay_cause(r, "the log is longer than a day; the rest was not played");
    for (uint32_t i = 0; i < r->lineup->n_topics; i++) {
        struct nm_topic_stats stats;
        nm_player_topic_stats(r->player, i, &stats);
        if (t->ports[i] == NM_NONE || !(stats.lost + stats.no_blob)) continue;
        replay_cause(r, "%llu messages of /%s were lost because a reader's queue was full",
                     (unsigned long long)(stats.lost + stats.no_blob), r->lineup->topics[i].name);
    }
    for (uint32_t i = 0; i < t->n_inlets; i++) {
        const struct inlet *inlet = &t->inlets[i];
        if (inlet->topic != NM_NONE && inlet->refused > 1)
            replay_cause(r, "%llu messages of /%s were left out", (unsigned long long)inlet->refused, inlet->name);
    }
}

int replay_timed(struct replay *r, struct nm_err *err)
{
    struct timed t = {.r = r, .now = BEGIN, .first = BEGIN, .slice = slice_of(r), .n_clocks = 1};
    uint64_t first = 0;
    if (inlets_open(&t, err) || look_ahead(&t, &first, err)) return -1;
    r->offset = (int64_t)first - BEGIN;
    if (open_in(&t, err) || open_out(&t, err)) return -1;
    open_streams(&t);
    if (replay_out_begin(r, err)) return -1;
    if (nm_player_begin(r->player, BEGIN)) return nm_fail(err, "the line-up cannot start");
    t.began = nm_clock_seconds();
    give_latched(&t);
    play(&t);
    r->result->seconds = nm_clock_seconds() - t.began;
    r->result->length = nm_seconds(t.now - BEGIN);
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
        struct nm_cycle_stats stats;
        nm_player_cycle_stats(r->player, c, &stats);
        r->result->runs += stats.runs;
    }
    gather_causes(&t);
    return replay_out_end(r, err);
}
