/* What the replay made, held against the log byte for byte, and written as a log of its own. */
#include <stdlib.h>
#include <string.h>

#include "record/replay_inside.h"
#include "codec/bag_yaml.h"
#include "codec/cdr.h"
#include "edge/dds/stamps.h"

/* ---- the new log ---- */

static int add_channel(struct replay *r, struct stream *s, struct nm_err *err)
{
    enum { ROOM = 2048 };
    uint8_t map[ROOM];
    const struct nm_type *type = r->lineup->topics[s->at].type;
    struct nm_text_out qos = {.grows = true};
    int schema = nm_mcap_add_schema(r->writer,
                                    &(struct nm_mcap_schema){.name = nm_bytes_of(type->name),
                                                             .encoding = nm_bytes_of("ros2msg"),
                                                             .data = nm_bytes_of(type->schema)},
                                    err);
    nm_bag_qos(&qos, (struct nm_bag_qos){.depth = 10});
    size_t n = nm_mcap_add_text(map, 0, ROOM, nm_bytes_of("offered_qos_profiles"), nm_bytes_of(qos.text));
    n = nm_mcap_add_text(map, n, ROOM, nm_bytes_of("topic_type_hash"), nm_bytes_of(type->hash));
    n = nm_mcap_add_text(map, n, ROOM, nm_bytes_of("maker"), nm_bytes_of(s->maker));
    free(qos.text);
    if (schema < 0) return -1;
    s->out = nm_mcap_add_channel(r->writer,
                                 &(struct nm_mcap_channel){.schema_id = (uint16_t)schema,
                                                           .topic = nm_bytes_of(s->topic),
                                                           .message_encoding = nm_bytes_of("cdr"),
                                                           .metadata = {map, n}},
                                 err);
    return s->out < 0 ? -1 : 0;
}

int replay_out_begin(struct replay *r, struct nm_err *err)
{
    r->out.file = -1;
    if (!r->options->out) return 0;
    if (bag_out_begin(&r->out, &r->arena, r->options->out, r->options->force, err)) return -1;
    r->writer = nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = NM_MCAP_ZSTD, .library = BAG_REPLAY});
    if (nm_mcap_start(r->writer, bag_out_write, &r->out, err)) return -1;
    for (uint32_t i = 0; i < r->n_streams; i++)
        if (r->streams[i].replayed && add_channel(r, &r->streams[i], err)) return -1;
    return 0;
}

int replay_out_end(struct replay *r, struct nm_err *err)
{
    r->result->stopped = r->options->stopping();
    if (!r->writer) return 0;
    int bad = nm_mcap_finish(r->writer, err);
    if (r->result->stopped) return bag_out_end(&r->out, false, NULL), 0; /* half a log is none */
    return bag_out_end(&r->out, !bad, err) || bad ? -1 : 0;
}

static void write_out(struct replay *r, const struct stream *s, const struct nm_slot *slot, size_t n)
{
    uint64_t time = (uint64_t)(slot->time + r->offset);
    struct nm_mcap_message message = {(uint16_t)s->out, (uint32_t)slot->seq, time, time, {r->bytes, n}};
    if (r->writer) nm_mcap_write(r->writer, &message, NULL);
}

static int64_t encode(struct replay *r, const struct nm_type *type, const void *message)
{
    size_t size = nm_cdr_size(type, message);
    if (size > r->bytes_room && !(r->bytes = realloc(r->bytes, r->bytes_room = 2 * size))) abort();
    return nm_cdr_encode(type, message, r->bytes, size);
}

void replay_write(struct replay *r, struct stream *s, void *message)
{
    const struct nm_type *type = r->lineup->topics[s->at].type;
    r->result->made++;
    if (!r->writer) return;
    if (s->times) nm_shift_times(type, message, r->offset);
    int64_t n = encode(r, type, message);
    if (n >= 0) write_out(r, s, nm_slot(message), (size_t)n);
}

/* ---- comparing ---- */

static const struct kept *find(const struct stream *s, uint64_t seq)
{
    const struct kept *k = s->first;
    while (k && k->seq < seq) k = k->next;
    return k && k->seq == seq ? k : NULL;
}

struct spot {
    char path[256];
};

static bool first_field(void *user, const char *path, const struct nm_place *a, const struct nm_place *b)
{
    (void)a;
    (void)b;
    snprintf(((struct spot *)user)->path, sizeof(struct spot), "%s", path);
    return false;
}

/* The first difference with its field and both values. */
static void tell_difference(struct replay *r, const struct stream *s, const struct kept *was, const void *message,
                            uint64_t seq, int64_t time)
{
    const struct nm_type *type = r->lineup->topics[s->at].type;
    double at = nm_seconds(time + r->offset - (int64_t)r->bag.first);
    struct spot spot = {""};
    void *old = calloc(1, type->size);
    if (!old) abort();
    int bad = nm_cdr_decode(type, old, was->bytes, was->n, NULL, NULL);
    if (!bad) nm_compare(type, old, message, 0, first_field, &spot);
    struct nm_place a, b;
    struct nm_text_out x = {.grows = true}, y = {.grows = true};
    if (*spot.path && !nm_find(type, old, spot.path, &a, NULL) && !nm_find(type, message, spot.path, &b, NULL)) {
        nm_print_place(&x, &a, NM_TEXT_JSON);
        nm_print_place(&y, &b, NM_TEXT_JSON);
    }
    snprintf(r->result->first_difference, sizeof r->result->first_difference,
             "%s at %.3f s, message %llu%s%s%s%.80s%s%.80s", s->topic, at, (unsigned long long)seq,
             *spot.path ? ": " : "", spot.path, x.text ? " was " : "", x.text ? x.text : "", y.text ? ", is now " : "",
             y.text ? y.text : "");
    free(x.text);
    free(y.text);
    if (!type->blobs) nm_reset(type, old);
    free(old);
}

/* The message with the times of the log. */
static const void *as_logged(struct replay *r, struct stream *s, const void *message)
{
    const struct nm_type *type = r->lineup->topics[s->at].type;
    if (!s->times) return message;
    if (!s->copy && !(s->copy = calloc(1, type->size))) abort();
    nm_copy(type, s->copy, message);
    nm_shift_times(type, s->copy, r->offset);
    return s->copy;
}

static void keep_anew(struct replay *r, struct stream *s, const struct nm_slot *slot, uint64_t run, size_t n)
{
    bool read = false;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) read |= s->how[c] != HOW_NOT;
    if (!read) return;
    struct kept *kept = malloc(sizeof *kept + n);
    if (!kept) abort();
    *kept = (struct kept){
        .seq = slot->seq, .run = run, .time = slot->time, .caller = slot->caller, .call = slot->call, .n = n};
    memcpy(kept->bytes, r->bytes, n);
    if (!s->last_anew) s->last_anew = &s->anew;
    *s->last_anew = kept;
    s->last_anew = &kept->next;
}

void replay_made(void *user, uint32_t cycle, uint32_t topic, const void *message)
{
    struct replay *r = user;
    uint32_t at = r->made_streams[(size_t)topic * r->lineup->n_cycles + cycle];
    if (at == NM_NONE) return;
    struct stream *s = &r->streams[at];
    const struct nm_type *type = r->lineup->topics[topic].type;
    const struct nm_slot *slot = nm_slot(message);
    message = as_logged(r, s, message);
    int64_t n = encode(r, type, message);
    if (n < 0) return;
    r->result->made++;
    write_out(r, s, slot, (size_t)n);
    keep_anew(r, s, slot, r->cycles[cycle].ran, (size_t)n);
    s->checked = slot->seq;
    if (s->stored != AS_IS || s->partly) return; /* the log has nothing to hold it against */
    const struct kept *was = s->in_log ? find(s, slot->seq) : NULL;
    if (!was) {
        s->absent++;
        return;
    }
    s->compared++;
    if (was->n == (size_t)n && !memcmp(was->bytes, r->bytes, (size_t)n)) return;
    if (!r->result->differ) tell_difference(r, s, was, message, slot->seq, slot->time);
    s->differ++;
    r->result->differ++;
}

/* A run that makes more or fewer messages than it did differs, too. */
void replay_counts(struct replay *r, uint32_t cycle, const struct noted *noted)
{
    for (uint32_t i = 0; i < noted->run.n_made; i++) {
        struct stream *s = &r->streams[noted->made[i].stream];
        if (!s->replayed || s->partly || s->cycle != cycle || s->checked >= noted->made[i].last) continue;
        if (!r->result->differ)
            snprintf(r->result->first_difference, sizeof r->result->first_difference,
                     "%s at %.3f s: message %llu was not made this time", s->topic,
                     nm_seconds(noted->run.now + r->offset - (int64_t)r->bag.first),
                     (unsigned long long)noted->made[i].last);
        s->differ++;
        r->result->differ++;
    }
}

/* ---- the end ---- */

void replay_sum(struct replay *r)
{
    struct replay_result *result = r->result;
    result->rows = nm_take_n(&result->arena, struct replay_row, r->n_streams + 1);
    for (uint32_t i = 0; i < r->n_streams; i++) {
        const struct stream *s = &r->streams[i];
        uint64_t absent = s->in_log ? s->absent : 0;
        result->compared += s->compared;
        result->absent += absent;
        result->topics += s->compared > 0;
        if (s->differ || absent)
            result->rows[result->n_rows++] = (struct replay_row){nm_take_text(&result->arena, s->topic),
                                                                 s->compared + s->absent, s->differ, s->absent};
    }
}
