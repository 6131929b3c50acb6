/* What a log says about a recorded run: parameters, seed and clock; who made which messages; all messages in the order
 * of time; and the snapshots that a replay can begin at. Anything in a log may be wrong: what makes no sense is
 * reported and left out. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/cdr.h"
#include "edge/dds/stamps.h"
#include "edge/log/own.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/CycleSnapshot.h"
#include "nutmeg_msgs/CycleTopics.h"
#include "nutmeg_msgs/ParameterChange.h"
#include "nutmeg_msgs/TopicStatistics.h"
#include "record/replay_inside.h"

void replay_cause(struct replay *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!strstr(r->result->causes.text, text)) nm_fail(&r->result->causes, "%s", text);
}

void replay_say(struct replay *r, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (r->options->said) r->options->said(r->options->user, text);
}

/* ---- beside the messages ---- */

static const char *text_of(struct replay *r, struct nm_bytes bytes)
{
    return nm_take_format(&r->arena, "%.*s", (int)(bytes.n < 1 << 20 ? bytes.n : 1 << 20), (const char *)bytes.at);
}

/* Logs that others recorded have none of it. */
static int read_metadata(struct replay *r, struct nm_err *err)
{
    const struct bag_part *part = &r->bag.parts[0];
    struct nm_mcap_window window = {0};
    struct nm_mcap_record record;
    bool found = false;
    for (uint32_t i = 0; i < part->contents.n_metadata && !found; i++) {
        if (!nm_bytes_are(part->contents.metadata[i].name, "nutmeg")) continue;
        if (nm_mcap_record_at(&part->source, &window, part->contents.metadata[i].offset, &record, NULL) ||
            record.op != NM_MCAP_METADATA)
            continue;
        struct nm_bytes map = record.metadata.metadata;
        r->offset = strtoll(text_of(r, nm_mcap_text_at(map, "clock_offset")), NULL, 10);
        r->seed = strtoull(text_of(r, nm_mcap_text_at(map, "seed")), NULL, 10);
        r->player_name = text_of(r, nm_mcap_text_at(map, "player"));
        r->digest = text_of(r, nm_mcap_text_at(map, "robot_digest"));
        r->revision = text_of(r, nm_mcap_text_at(map, "revision"));
        r->build = text_of(r, nm_mcap_text_at(map, "build"));
        r->cpu = text_of(r, nm_mcap_text_at(map, "cpu"));
        found = true;
    }
    nm_mcap_window_free(&window);
    if (r->offset > (int64_t)REPLAY_TIME_MOST || r->offset < -(int64_t)REPLAY_TIME_MOST)
        return nm_fail(err, "%s: the notes on its clock make no sense", part->path);
    r->recorded = found;
    return 0;
}

const char *replay_attachment(struct replay *r, const char *name, struct nm_err *err)
{
    const struct bag_part *part = &r->bag.parts[0];
    struct nm_mcap_window window = {0};
    struct nm_mcap_record record;
    const char *text = NULL;
    for (uint32_t i = 0; i < part->contents.n_attachments && !text; i++)
        if (nm_bytes_are(part->contents.attachments[i].name, name) &&
            !nm_mcap_record_at(&part->source, &window, part->contents.attachments[i].offset, &record, NULL) &&
            record.op == NM_MCAP_ATTACHMENT)
            text = text_of(r, record.attachment.data);
    nm_mcap_window_free(&window);
    if (!text) nm_fail(err, "%s: the attachment %s is missing", part->path, name);
    return text;
}

/* ---- streams ---- */

struct stream *replay_stream(struct replay *r, const char *topic, const char *maker)
{
    for (uint32_t i = 0; i < r->n_streams; i++)
        if (!strcmp(r->streams[i].topic, topic) && !strcmp(r->streams[i].maker, maker)) return &r->streams[i];
    r->streams = nm_more(r->streams, r->n_streams, &r->streams_room, sizeof *r->streams);
    struct stream *s = &r->streams[r->n_streams++];
    *s = (struct stream){.topic = nm_take_text(&r->arena, topic), .maker = nm_take_text(&r->arena, maker)};
    s->type = "";
    s->at = s->cycle = NM_NONE;
    return s;
}

static const char *const own_topics[] = {"/nutmeg/runs",       "/nutmeg/topics", "/nutmeg/snapshots",
                                         "/nutmeg/parameters", "/nutmeg/cycles", "/nutmeg/traffic"};

static void list_streams(struct replay *r)
{
    r->stream_of = nm_take_n(&r->arena, uint32_t *, r->bag.n + 1);
    for (uint32_t p = 0; p < r->bag.n; p++) {
        const struct nm_mcap_contents *c = &r->bag.parts[p].contents;
        r->stream_of[p] = nm_take_n(&r->arena, uint32_t, c->n_channels + 1);
        for (uint32_t i = 0; i < c->n_channels; i++) {
            const char *topic = text_of(r, c->channels[i].topic), *maker, *of;
            bool own = false;
            for (size_t k = 0; k < sizeof own_topics / sizeof own_topics[0]; k++) own |= !strcmp(topic, own_topics[k]);
            if (!strcmp(topic, "/nutmeg/runs")) r->stream_of[p][i] = STREAM_RUNS;
            if (!strcmp(topic, "/nutmeg/traffic")) r->stream_of[p][i] = STREAM_TRAFFIC;
            maker = text_of(r, nm_mcap_text_at(c->channels[i].metadata, "maker"));
            of = text_of(r, nm_mcap_text_at(c->channels[i].metadata, "of"));
            if (own || !*maker) continue;
            const struct nm_mcap_schema *schema = nm_mcap_schema_of(c, c->channels[i].schema_id);
            struct stream *s = replay_stream(r, *of ? of : topic, maker);
            s->in_log = true;
            s->type = schema ? text_of(r, schema->name) : "";
            s->hash = text_of(r, nm_mcap_text_at(c->channels[i].metadata, "topic_type_hash"));
            if (*of) s->stored = strstr(s->type, "CompressedImage") ? AS_JPEG : AS_NOTHING;
            if (*of) s->type = "sensor_msgs/msg/Image";
            r->stream_of[p][i] = (uint32_t)(s - r->streams) + STREAM_FIRST;
        }
    }
}

/* ---- reading one topic of the log, before the rest ---- */

typedef void each_message(struct replay *r, const void *message, int64_t time);

static void each(struct replay *r, const char *topic, const struct nm_type *type, each_message *call)
{
    struct nm_mcap_query_options all = {0};
    struct nm_mcap_message message;
    uint32_t part, channel;
    for (uint32_t p = 0; p < r->bag.n; p++)
        for (uint32_t i = 0; i < r->bag.parts[p].contents.n_channels; i++)
            r->bag.parts[p].chosen[i] = nm_bytes_are(r->bag.parts[p].contents.channels[i].topic, topic);
    struct bag_reader *reader = bag_reader_new(&r->bag, &all);
    void *decoded = nm_calloc(1, type->size);
    while (bag_next(reader, &message, &part, &channel))
        if (!nm_cdr_decode(type, decoded, message.data.at, message.data.n, NULL, NULL))
            call(r, decoded, (int64_t)message.log_time - r->offset);
    free(decoded);
    bag_reader_free(reader);
}

static void take_table(struct replay *r, const void *message, int64_t time)
{
    const CycleTopics *topics = message;
    (void)time;
    for (uint32_t i = 0; i < r->n_tables; i++)
        if (!strcmp(r->tables[i].cycle, topics->cycle)) return; /* every file has them */
    if (topics->makers.n != topics->topics.n || r->n_tables == 64) return;
    uint32_t *streams = nm_take_n(&r->arena, uint32_t, topics->topics.n + 1);
    for (uint32_t i = 0; i < topics->topics.n; i++)
        streams[i] = (uint32_t)(replay_stream(r, topics->topics.at[i], topics->makers.at[i]) - r->streams);
    enum readers *readers = nm_take_n(&r->arena, enum readers, topics->topics.n + 1);
    for (uint32_t i = 0; i < topics->topics.n; i++)
        for (uint32_t k = 0; k < i; k++) {
            if (streams[k] != streams[i]) continue;
            readers[k] = READERS_OF_VALUE; /* values come before queues, see core/run_record.c */
            readers[i] = READERS_OF_QUEUE;
        }
    r->tables[r->n_tables].readers = readers;
    r->tables[r->n_tables].cycle = nm_take_text(&r->arena, topics->cycle);
    r->tables[r->n_tables].n = topics->topics.n;
    r->tables[r->n_tables++].streams = streams;
}

static void take_change(struct replay *r, const void *message, int64_t time)
{
    const ParameterChange *change = message;
    if (*change->swapped)
        replay_cause(r, "%s was replaced by another build at %.3f s; the replay is not exact from there on",
                     change->swapped, nm_seconds(time + r->offset - (int64_t)r->bag.first));
    if (r->n_changes && change->generation <= r->changes[r->n_changes - 1].generation) return;
    struct parameter_change *more = nm_take_n(&r->arena, struct parameter_change, r->n_changes + 1);
    if (r->n_changes) memcpy(more, r->changes, r->n_changes * sizeof *more);
    r->changes = more;
    struct parameter_change *to = &r->changes[r->n_changes++];
    *to = (struct parameter_change){.generation = change->generation};
    to->changes = nm_take_n(&r->arena, struct nm_change, change->settings.n + 1);
    for (uint32_t i = 0; i < change->settings.n; i++) {
        char name[128], param[128];
        const char *value = strchr(change->settings.at[i], '=');
        if (!value || sscanf(change->settings.at[i], "%127[^.=].%127[^=]=", name, param) != 2) continue;
        uint32_t instance = nm_lineup_instance(r->lineup, name);
        if (instance == NM_NONE) continue;
        const struct nm_module *module = r->lineup->instances[instance].module;
        int at = nm_param_find(module, param, NULL);
        struct nm_change *c = &to->changes[to->n];
        *c = (struct nm_change){.instance = instance, .param = (uint32_t)at};
        if (at < 0 || nm_value_parse(&module->params[at], value + 1, &c->value, NULL))
            replay_cause(r, "%s.%s was changed to a value that it does not accept", name, param);
        else
            to->n++;
    }
}

int replay_open(struct replay *r, struct nm_err *err)
{
    if (bag_open(&r->bag, r->options->log, r->options->progress, err)) return -1;
    r->opened = true;
    r->tables = nm_calloc(64, sizeof *r->tables);
    if (!r->bag.n || read_metadata(r, err)) return -1;
    list_streams(r);
    if (r->recorded) each(r, "/nutmeg/topics", &CycleTopics_type, take_table);
    if (replay_lineup(r, err)) return -1;
    if (!r->by_time) each(r, "/nutmeg/parameters", &ParameterChange_type, take_change);
    return 0;
}

/* ---- the stream ---- */

static struct kept *kept_new(struct stream *s, const struct nm_mcap_message *message, int64_t offset)
{
    struct kept *kept = nm_malloc(sizeof *kept + message->data.n);
    *kept = (struct kept){.time = (int64_t)message->log_time - offset, .n = message->data.n};
    /* sequence numbers have 32 bits in a log and rise */
    kept->seq = (s->newest & ~(uint64_t)UINT32_MAX) | message->sequence;
    if (kept->seq < s->newest && s->newest - kept->seq > UINT32_MAX / 2) kept->seq += (uint64_t)UINT32_MAX + 1;
    if (message->data.n) memcpy(kept->bytes, message->data.at, message->data.n);
    return kept;
}

static void take_message(struct replay *r, struct stream *s, const struct nm_mcap_message *message)
{
    bool wanted = s->at != NM_NONE;
    if (!wanted) return;
    struct kept *kept = kept_new(s, message, r->offset);
    if (kept->seq <= s->newest) { /* twice, or out of order: of no use to a run */
        free(kept);
        return;
    }
    s->newest = kept->seq;
    if (!s->last) s->last = &s->first;
    *s->last = kept;
    s->last = &kept->next;
}

static void note_made(struct stream *s, uint64_t seq, uint64_t run)
{
    s->runs = nm_more(s->runs, s->n_runs, &s->runs_room, sizeof *s->runs);
    s->runs[s->n_runs++] = (struct made_run){seq, run};
}

/* The sequences of a note with streams in the place of its table's; what points nowhere is left out. */
static struct seqs *take_seqs(struct replay *r, uint32_t table, const TopicSequence *from, uint32_t n, uint32_t *out)
{
    struct seqs *to = nm_malloc((n + 1) * sizeof *to);
    *out = 0;
    for (uint32_t i = 0; i < n; i++)
        if (from[i].topic < r->tables[table].n && from[i].first <= from[i].last)
            to[(*out)++] = (struct seqs){.stream = r->tables[table].streams[from[i].topic],
                                         .readers = r->tables[table].readers[from[i].topic],
                                         .first = from[i].first,
                                         .last = from[i].last};
    return to;
}

static void take_calls(struct replay *r, uint32_t table, const CycleRecord *record)
{
    for (uint32_t i = 0; i < record->calls.n; i++) {
        const ServiceCall *call = &record->calls.at[i];
        if (call->topic >= r->tables[table].n) continue;
        struct stream *s = &r->streams[r->tables[table].streams[call->topic]];
        if (!(s->n_asked & (s->n_asked - 1))) /* doubles at powers of two */
            s->asked = nm_realloc(s->asked, (s->n_asked ? 2 * s->n_asked : 1) * sizeof *s->asked);
        s->asked[s->n_asked++] = (struct asked){call->sequence, call->caller, call->call};
    }
}

static void take_run(struct replay *r, const CycleRecord *record, int64_t now)
{
    uint32_t table = 0, cycle = 0;
    while (table < r->n_tables && strcmp(r->tables[table].cycle, record->cycle)) table++;
    if (table == r->n_tables) return;
    struct noted *noted = nm_calloc(1, sizeof *noted);
    noted->run = (struct nm_run){
        .run = record->run, .now = now, .generation = record->parameter_generation, .watched = record->watched};
    noted->consumed = take_seqs(r, table, record->consumed.at, record->consumed.n, &noted->run.n_consumed);
    noted->made = take_seqs(r, table, record->produced.at, record->produced.n, &noted->run.n_made);
    for (uint32_t i = 0; i < noted->run.n_made; i++)
        note_made(&r->streams[noted->made[i].stream], noted->made[i].last, record->run);
    take_calls(r, table, record);
    while (cycle < r->lineup->n_cycles && strcmp(r->lineup->cycles[cycle].name, record->cycle)) cycle++;
    if (cycle == r->lineup->n_cycles) {
        free(noted->consumed);
        free(noted->made);
        free(noted);
        return;
    }
    noted->run.cycle = cycle;
    struct player_cycle *c = &r->cycles[cycle];
    if (!c->last) c->last = &c->first;
    *c->last = noted;
    c->last = &noted->next;
}

static void take_losses(struct replay *r, const TopicStatistics *traffic)
{
    for (uint32_t i = 0; i < traffic->topic.n && i < traffic->dropped.n; i++)
        replay_cause(r, "messages of %s were dropped during the recording", traffic->topic.at[i]);
}

/* Reads on behind `reached`, up to the next time at which a run is due. */
void replay_read(struct replay *r, struct bag_reader *reader, bool *more, uint64_t *reached)
{
    enum { BATCH = 64 };
    struct nm_mcap_message message;
    uint32_t part, channel;
    for (int i = 0; i < BATCH; i++) {
        if (!bag_next(reader, &message, &part, &channel)) {
            *more = false;
            return;
        }
        if (message.log_time > REPLAY_TIME_MOST) continue;
        if (message.log_time > *reached) *reached = message.log_time;
        uint32_t which = r->stream_of[part][channel];
        if (which == STREAM_RUNS &&
            !nm_cdr_decode(&CycleRecord_type, r->scratch, message.data.at, message.data.n, NULL, NULL))
            take_run(r, r->scratch, (int64_t)message.log_time - r->offset);
        if (which == STREAM_TRAFFIC &&
            !nm_cdr_decode(&TopicStatistics_type, r->scratch, message.data.at, message.data.n, NULL, NULL))
            take_losses(r, r->scratch);
        if (which >= STREAM_FIRST) take_message(r, &r->streams[which - STREAM_FIRST], &message);
    }
}

/* ---- end ---- */

static void free_kept(struct kept *k)
{
    while (k) {
        struct kept *next = k->next;
        free(k);
        k = next;
    }
}

void replay_close(struct replay *r)
{
    for (uint32_t i = 0; i < r->n_streams; i++) {
        free_kept(r->streams[i].first);
        free_kept(r->streams[i].anew);
        free(r->streams[i].runs);
        free(r->streams[i].asked);
        free(r->streams[i].copy);
    }
    for (uint32_t c = 0; r->lineup && r->cycles && c < r->lineup->n_cycles; c++)
        for (struct noted *n = r->cycles[c].first; n;) {
            struct noted *next = n->next;
            free(n->consumed);
            free(n->made);
            free(n);
            n = next;
        }
    free(r->streams);
    free(r->tables);
    free(r->bytes);
    free(r->scratch);
    nm_player_free(r->player);
    if (r->lineup != r->was && r->lineup != r->options->lineup) nm_lineup_free(r->lineup);
    nm_lineup_free(r->was);
    nm_mcap_writer_free(r->writer);
    if (r->opened) bag_close(&r->bag);
    nm_arena_free(&r->arena);
}

/* ---- snapshots: a replay begins at the start of the log, or where every cycle has a snapshot ---- */

/* A snapshot becomes the state of modules, with everything that this can lead to: it is taken from one's own logs. */
static int check_own(const struct replay *r, const CycleSnapshot *snapshot, struct nm_err *err)
{
    uint8_t key[NM_OWN_KEY];
    if (r->options->trust) return 0;
    if (nm_own_key(key, false) &&
        nm_own_signed(key, snapshot->cycle, snapshot->run, snapshot->state.data, snapshot->state.n))
        return 0;
    return nm_fail(err, "the snapshots of this log come from another user or machine, and a snapshot can make modules "
                        "do anything; add --trust if you trust the person who recorded the log");
}

static void take_snapshot(struct replay *r, const CycleSnapshot *snapshot, struct nm_err *err)
{
    uint32_t cycle = 0;
    while (cycle < r->lineup->n_cycles && strcmp(r->lineup->cycles[cycle].name, snapshot->cycle)) cycle++;
    if (cycle == r->lineup->n_cycles) return;
    struct player_cycle *c = &r->cycles[cycle];
    struct nm_err notes = {0};
    if (check_own(r, snapshot, err)) return;
    if (nm_replay_restore(r->replay, cycle, snapshot->state.data, snapshot->state.n, &notes, err)) return;
    if (notes.n) replay_cause(r, "%.*s", (int)strcspn(notes.text, "\n"), notes.text);
    c->begins = c->ran = snapshot->run;
    c->generation = snapshot->parameter_generation;
}

/* A log that begins in the middle (a black box, a file of several) is played from where all cycles have a snapshot:
 * that time; -1 if it begins at the beginning. */
struct beginning {
    int64_t first; /* ns, of the first snapshot; INT64_MAX: none */
    bool late, seen;
};

static int64_t look_for_beginning(struct replay *r, struct beginning *at)
{
    struct nm_mcap_query_options all = {0};
    struct nm_mcap_message message;
    uint32_t part, channel, waiting = r->lineup->n_cycles;
    CycleSnapshot snapshot = {0};
    CycleRecord *record = r->scratch;
    for (uint32_t p = 0; p < r->bag.n; p++)
        for (uint32_t i = 0; i < r->bag.parts[p].contents.n_channels; i++) {
            struct nm_bytes topic = r->bag.parts[p].contents.channels[i].topic;
            r->bag.parts[p].chosen[i] = nm_bytes_are(topic, "/nutmeg/snapshots") || nm_bytes_are(topic, "/nutmeg/runs");
        }
    struct bag_reader *reader = bag_reader_new(&r->bag, &all);
    bool late = false;
    while (waiting && bag_next(reader, &message, &part, &channel)) {
        bool run = r->stream_of[part][channel] == STREAM_RUNS;
        const char *name = run ? record->cycle : snapshot.cycle;
        if (nm_cdr_decode(run ? &CycleRecord_type : &CycleSnapshot_type, run ? (void *)record : &snapshot,
                          message.data.at, message.data.n, NULL, NULL))
            continue;
        for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
            if (strcmp(r->lineup->cycles[c].name, name)) continue;
            if (run && !at[c].seen) late |= record->run > 1;
            at[c].seen |= run;
            waiting -= !run && at[c].first == INT64_MAX;
            if (!run && at[c].first == INT64_MAX) at[c].first = (int64_t)message.log_time - r->offset;
        }
        bool all_seen = true;
        for (uint32_t c = 0; c < r->lineup->n_cycles; c++) all_seen &= at[c].seen;
        if (all_seen && !late) break;
    }
    bag_reader_free(reader);
    int64_t latest = late && !waiting ? 0 : -1;
    for (uint32_t c = 0; c < r->lineup->n_cycles && latest >= 0; c++)
        if (at[c].first > latest) latest = at[c].first;
    return latest;
}

int64_t replay_beginning(struct replay *r)
{
    struct beginning *at = nm_calloc(r->lineup->n_cycles + 1, sizeof *at);
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) at[c].first = INT64_MAX;
    int64_t beginning = look_for_beginning(r, at);
    free(at);
    return beginning;
}

int64_t replay_snapshots(struct replay *r, int64_t at, struct nm_err *err)
{
    struct nm_mcap_query_options until = {.to = (uint64_t)(at + r->offset) + 1};
    struct nm_mcap_message message;
    uint32_t part, channel;
    int64_t earliest = INT64_MAX;
    CycleSnapshot snapshot = {0};
    struct {
        uint8_t *bytes;
        size_t n;
        int64_t time;
    } *newest = nm_calloc(r->lineup->n_cycles + 1, sizeof *newest);
    for (uint32_t p = 0; p < r->bag.n; p++)
        for (uint32_t i = 0; i < r->bag.parts[p].contents.n_channels; i++)
            r->bag.parts[p].chosen[i] = nm_bytes_are(r->bag.parts[p].contents.channels[i].topic, "/nutmeg/snapshots");
    struct bag_reader *reader = bag_reader_new(&r->bag, &until);
    while (bag_next(reader, &message, &part, &channel)) {
        uint32_t c = 0;
        if (nm_cdr_decode(&CycleSnapshot_type, &snapshot, message.data.at, message.data.n, NULL, NULL)) continue;
        while (c < r->lineup->n_cycles && strcmp(r->lineup->cycles[c].name, snapshot.cycle)) c++;
        if (c == r->lineup->n_cycles) continue;
        newest[c].bytes = nm_realloc(newest[c].bytes, message.data.n);
        memcpy(newest[c].bytes, message.data.at, newest[c].n = message.data.n);
        newest[c].time = (int64_t)message.log_time - r->offset;
    }
    bag_reader_free(reader);
    bool all = true;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) all &= newest[c].bytes != NULL;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
        if (all) {
            nm_cdr_decode(&CycleSnapshot_type, &snapshot, newest[c].bytes, newest[c].n, NULL, NULL);
            take_snapshot(r, &snapshot, err);
            if (newest[c].time < earliest) earliest = newest[c].time;
        }
        free(newest[c].bytes);
    }
    free(newest);
    return all ? earliest : -1;
}
