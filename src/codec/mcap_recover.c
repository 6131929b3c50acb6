/* A log that was cut off or damaged, rewritten as a whole one. Where even the framing is lost but the summary is not,
 * reading goes on at the next chunk that the summary knows. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/mcap_read.h"

/* What an id of the old log stands for now: the new one, 0 for none, and the record that said so. */
struct id {
    uint16_t schema, channel;
    struct nm_bytes kept_schema, kept_channel;
};
enum { PAGE = 256 };

struct recovery {
    struct nm_mcap_scan scan;
    struct nm_mcap_contents summary; /* of the old log, where it has one */
    struct nm_mcap_writer *to;
    struct nm_mcap_repair *repair;
    int last; /* new channel: they count from 1 */
    struct nm_arena arena;
    struct id *pages[NM_MCAP_IDS / PAGE]; /* taken as ids are met */
};

static struct id *id_of(struct recovery *r, uint16_t id)
{
    struct id **page = &r->pages[id / PAGE];
    if (!*page) *page = nm_take_n(&r->arena, struct id, PAGE);
    return &(*page)[id % PAGE];
}

/* Whether a record says the same as the last one of its id; if not it is the one to compare with from now on. */
static bool known(struct recovery *r, struct nm_bytes *kept, const struct nm_mcap_record *record)
{
    size_t n = nm_mcap_size(record);
    if (kept->n == n) {
        uint8_t *again = nm_malloc(n);
        nm_mcap_encode(record, again, n);
        bool same = !memcmp(again, kept->at, n);
        free(again);
        if (same) return true;
    }
    uint8_t *bytes = nm_take(&r->arena, n);
    nm_mcap_encode(record, bytes, n);
    *kept = (struct nm_bytes){bytes, n};
    return false;
}

/* A map without keys that are there twice, which strict readers refuse; the first one counts. */
static struct nm_bytes unique(struct recovery *r, struct nm_bytes map)
{
    enum { MOST = 1000 };
    struct nm_bytes rest = map, key, value, keys[MOST];
    uint8_t *to = NULL;
    size_t used = 0;
    uint32_t n = 0;
    while (nm_mcap_next_text(&rest, &key, &value)) {
        bool again = n == MOST;
        for (uint32_t i = 0; i < n && !again; i++) again = nm_bytes_equal(key, keys[i]);
        if (again && !to) { /* from here on it is another map */
            to = nm_take(&r->arena, map.n);
            used = (size_t)(key.at - 4 - map.at);
            memcpy(to, map.at, used);
        }
        if (again) continue;
        keys[n++] = key;
        if (to) used = nm_mcap_add_text(to, used, map.n, key, value);
    }
    return to ? (struct nm_bytes){to, used} : map;
}

static int take_schema(struct recovery *r, const struct nm_mcap_record *record, struct nm_err *err)
{
    struct id *id = id_of(r, record->schema.id);
    if (!record->schema.id || known(r, &id->kept_schema, record)) return 0;
    int added = nm_mcap_add_schema(r->to, &record->schema, err);
    if (added < 0) return -1;
    id->schema = (uint16_t)added;
    return 0;
}

static int take_channel(struct recovery *r, const struct nm_mcap_record *record, struct nm_err *err)
{
    struct nm_mcap_channel channel = record->channel;
    struct id *id = id_of(r, channel.id);
    if (known(r, &id->kept_channel, record)) return 0;
    id->channel = 0;
    if (channel.schema_id) {
        channel.schema_id = id_of(r, channel.schema_id)->schema;
        if (!channel.schema_id) return 0; /* its messages will be orphans */
    }
    channel.metadata = unique(r, channel.metadata);
    int added = nm_mcap_add_channel(r->to, &channel, err);
    if (added < 0) return -1;
    id->channel = (uint16_t)(r->last = added);
    return 0;
}

/* A channel whose record was in a damaged chunk may stand in the summary, too. */
static int channel_from_summary(struct recovery *r, uint16_t id, struct nm_err *err)
{
    int at = r->summary.n_channels ? nm_mcap_channel_of(&r->summary, id) : -1;
    if (at < 0) return 0;
    struct nm_mcap_record record = {.op = NM_MCAP_CHANNEL, .channel = r->summary.channels[at]};
    const struct nm_mcap_schema *schema = nm_mcap_schema_of(&r->summary, record.channel.schema_id);
    struct nm_mcap_record before = {.op = NM_MCAP_SCHEMA};
    if (schema) before.schema = *schema;
    return (schema && take_schema(r, &before, err)) || take_channel(r, &record, err) ? -1 : 0;
}

static int take_message(struct recovery *r, struct nm_mcap_message message, struct nm_err *err)
{
    const struct id *id = id_of(r, message.channel_id);
    if (!id->channel && channel_from_summary(r, message.channel_id, err)) return -1;
    if (!id->channel) {
        r->repair->orphans++;
        return 0;
    }
    message.channel_id = id->channel;
    r->repair->messages++;
    return nm_mcap_write(r->to, &message, err);
}

static int take_metadata(struct recovery *r, struct nm_mcap_metadata metadata, struct nm_err *err)
{
    metadata.metadata = unique(r, metadata.metadata);
    return nm_mcap_describe(r->to, &metadata, err);
}

static int take(struct recovery *r, const struct nm_mcap_record *record, struct nm_err *err)
{
    switch (record->op) {
    case NM_MCAP_SCHEMA: return take_schema(r, record, err);
    case NM_MCAP_CHANNEL: return take_channel(r, record, err);
    case NM_MCAP_MESSAGE: return take_message(r, record->message, err);
    case NM_MCAP_ATTACHMENT: return nm_mcap_attach(r->to, &record->attachment, err);
    case NM_MCAP_METADATA: return take_metadata(r, record->metadata, err);
    default: return 0;
    }
}

/* Goes on at the next chunk behind the place where the framing is lost; false if none is known. */
static bool skip_to_chunk(struct recovery *r)
{
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < r->summary.n_chunks; i++) {
        uint64_t at = r->summary.chunks[i].chunk_start_offset;
        if (at > r->scan.at && at < next) next = at;
    }
    if (next == UINT64_MAX || r->scan.data_ended) return false;
    r->scan.at = next;
    r->repair->damaged++;
    return true;
}

static int read_all(struct recovery *r, struct nm_err *found, struct nm_err *err)
{
    struct nm_mcap_record record;
    for (;;) {
        enum nm_mcap_got got = nm_mcap_scan_next(&r->scan, &record, found);
        if (got == NM_MCAP_CUT && skip_to_chunk(r)) continue;
        if (got == NM_MCAP_CUT || got == NM_MCAP_END) {
            r->repair->whole = got == NM_MCAP_END;
            return 0;
        }
        r->repair->damaged += got == NM_MCAP_DAMAGED;
        if (got == NM_MCAP_GOT && !r->scan.data_ended && take(r, &record, err)) return -1;
        nm_mcap_scan_tell(&r->scan);
    }
}

/* The profile of the old log; an empty one if its header is lost. -1: no MCAP at all. */
static int old_profile(const struct nm_mcap_source *source, struct nm_arena *arena, const char **profile,
                       struct nm_err *err)
{
    struct nm_mcap_window window = {0};
    struct nm_mcap_record record;
    const uint8_t *magic = nm_mcap_look(source, &window, 0, NM_MCAP_MAGIC_SIZE, NULL);
    int result = magic && !memcmp(magic, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE) ? 0 : -1;
    *profile = "";
    if (result) nm_fail(err, "%s: this is no MCAP file: it does not begin with its magic", source->name);
    if (!result && !nm_mcap_record_at(source, &window, NM_MCAP_MAGIC_SIZE, &record, NULL) &&
        record.op == NM_MCAP_HEADER)
        *profile = nm_take_format(arena, "%.*s", (int)record.header.profile.n, (const char *)record.header.profile.at);
    nm_mcap_window_free(&window);
    return result;
}

int nm_mcap_recover(const struct nm_mcap_source *source, const struct nm_mcap_write_options *options,
                    nm_mcap_sink *sink, void *user, struct nm_mcap_repair *repair, struct nm_err *found,
                    struct nm_err *err)
{
    struct recovery r = {.repair = repair};
    struct nm_mcap_write_options as = *options;
    *repair = (struct nm_mcap_repair){0};
    if (old_profile(source, &r.arena, &as.profile, err)) return -1;
    r.to = nm_mcap_writer_new(&as);
    nm_mcap_contents_summary(&r.summary, source);
    nm_mcap_scan_begin(&r.scan, source);
    r.scan.into = true;

    int result = nm_mcap_start(r.to, sink, user, err);
    if (!result) result = read_all(&r, found, err);
    for (int i = 1; i <= r.last && !result; i++)
        result = nm_mcap_announce(r.to, i, err); /* also those without messages */
    if (!result) result = nm_mcap_finish(r.to, err);
    repair->end = r.scan.good;
    nm_mcap_scan_end(&r.scan);
    nm_mcap_contents_free(&r.summary);
    nm_mcap_writer_free(r.to);
    nm_arena_free(&r.arena);
    return result;
}
