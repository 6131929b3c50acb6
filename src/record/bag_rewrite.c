/* A new log from an old one: a part of it, or what can be saved of one that was cut off. */
#include <string.h>

#include "record/bag.h"

/* The new log and which of its channels each channel of the old files is, 0 before it is needed. */
struct cutting {
    struct bag *bag;
    struct nm_mcap_writer *writer;
    int **ids;
    uint32_t n_made;
    struct made {
        const struct nm_mcap_channel *channel;
        const struct nm_mcap_schema *schema;
        int id;
    } * made;
};

static bool same_schema(const struct nm_mcap_schema *a, const struct nm_mcap_schema *b)
{
    return a == b || (a && b && nm_bytes_equal(a->name, b->name) && nm_bytes_equal(a->encoding, b->encoding) &&
                      nm_bytes_equal(a->data, b->data));
}

/* Files of one recording have the same channels: in the new log they are one. */
static int make_channel(struct cutting *c, uint32_t part, uint32_t at, struct nm_err *err)
{
    const struct nm_mcap_contents *contents = &c->bag->parts[part].contents;
    const struct nm_mcap_channel *channel = &contents->channels[at];
    const struct nm_mcap_schema *schema = nm_mcap_schema_of(contents, channel->schema_id);
    for (uint32_t i = 0; i < c->n_made; i++)
        if (nm_bytes_equal(channel->topic, c->made[i].channel->topic) &&
            nm_bytes_equal(channel->message_encoding, c->made[i].channel->message_encoding) &&
            nm_bytes_equal(channel->metadata, c->made[i].channel->metadata) && same_schema(schema, c->made[i].schema))
            return c->made[i].id;
    struct nm_mcap_channel copy = *channel;
    copy.schema_id = 0;
    if (schema) {
        int id = nm_mcap_add_schema(c->writer, schema, err);
        if (id < 0) return -1;
        copy.schema_id = (uint16_t)id;
    }
    int id = nm_mcap_add_channel(c->writer, &copy, err);
    if (id < 0) return -1;
    c->made[c->n_made++] = (struct made){channel, schema, id};
    return id;
}

static int make_channels(struct cutting *c, struct nm_err *err)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < c->bag->n; i++) all += c->bag->parts[i].contents.n_channels;
    c->made = nm_take_n(&c->bag->arena, struct made, all + 1);
    c->ids = nm_take_n(&c->bag->arena, int *, c->bag->n);
    for (uint32_t i = 0; i < c->bag->n; i++) {
        const struct bag_part *part = &c->bag->parts[i];
        c->ids[i] = nm_take_n(&c->bag->arena, int, part->contents.n_channels + 1);
        for (uint32_t k = 0; k < part->contents.n_channels; k++)
            if (part->chosen[k] && (c->ids[i][k] = make_channel(c, i, k, err)) < 0) return -1;
    }
    return 0;
}

/* Channels that were silent in this time are listed, too, as in the old log. */
static int announce_channels(struct cutting *c, struct nm_err *err)
{
    for (uint32_t i = 0; i < c->n_made; i++)
        if (nm_mcap_announce(c->writer, c->made[i].id, err)) return -1;
    return 0;
}

/* Every file of a recording that was rotated has the same ones. */
static bool attached_before(const struct bag *bag, uint32_t part, uint32_t at)
{
    const struct nm_mcap_attachment_index *a = &bag->parts[part].contents.attachments[at];
    for (uint32_t i = 0; i < part; i++)
        for (uint32_t k = 0; k < bag->parts[i].contents.n_attachments; k++) {
            const struct nm_mcap_attachment_index *b = &bag->parts[i].contents.attachments[k];
            if (nm_bytes_equal(a->name, b->name) && a->data_size == b->data_size) return true;
        }
    return false;
}

static bool described_before(const struct bag *bag, uint32_t part, uint32_t at)
{
    for (uint32_t i = 0; i < part; i++)
        for (uint32_t k = 0; k < bag->parts[i].contents.n_metadata; k++)
            if (nm_bytes_equal(bag->parts[part].contents.metadata[at].name, bag->parts[i].contents.metadata[k].name) &&
                bag->parts[part].contents.metadata[at].length == bag->parts[i].contents.metadata[k].length)
                return true;
    return false;
}

/* Attachments and metadata belong to the whole recording. */
static int copy_extras(struct cutting *c, struct nm_err *err)
{
    int result = 0;
    for (uint32_t i = 0; i < c->bag->n && !result; i++) {
        const struct bag_part *part = &c->bag->parts[i];
        struct nm_mcap_window window = {0};
        struct nm_mcap_record record;
        for (uint32_t k = 0; k < part->contents.n_attachments && !result; k++)
            if (!attached_before(c->bag, i, k) &&
                !(result =
                      nm_mcap_record_at(&part->source, &window, part->contents.attachments[k].offset, &record, err)) &&
                record.op == NM_MCAP_ATTACHMENT)
                result = nm_mcap_attach(c->writer, &record.attachment, err);
        for (uint32_t k = 0; k < part->contents.n_metadata && !result; k++)
            if (!described_before(c->bag, i, k) &&
                !(result =
                      nm_mcap_record_at(&part->source, &window, part->contents.metadata[k].offset, &record, err)) &&
                record.op == NM_MCAP_METADATA)
                result = nm_mcap_describe(c->writer, &record.metadata, err);
        nm_mcap_window_free(&window);
    }
    return result;
}

static int copy_messages(struct cutting *c, const struct nm_mcap_query_options *time, uint32_t *damaged,
                         struct nm_err *err)
{
    struct bag_reader *reader = bag_reader_new(c->bag, time);
    struct nm_mcap_message message;
    uint32_t part, channel;
    uint64_t from = time->from > c->bag->first ? time->from : c->bag->first;
    uint64_t to = time->to && time->to < c->bag->last ? time->to : c->bag->last;
    int result = 0;
    while (!result && bag_next(reader, &message, &part, &channel)) {
        message.channel_id = (uint16_t)c->ids[part][channel];
        bag_tell(c->bag, message.log_time - from, to > from ? to - from : 1);
        result = nm_mcap_write(c->writer, &message, err);
    }
    *damaged = bag_reader_free(reader);
    return result;
}

int bag_rewrite(struct bag *bag, const struct nm_mcap_query_options *time, const struct bag_new *new,
                struct bag_rewritten *made, struct nm_err *err)
{
    struct bag_out out;
    *made = (struct bag_rewritten){0};
    if (bag_out_begin(&out, &bag->arena, new->path, new->force, err)) return -1;
    const char *profile = nm_take_text(&bag->arena, BAG_CLEAN(bag->parts[0].contents.profile));
    struct cutting c = {
        .bag = bag,
        .writer = nm_mcap_writer_new(&(struct nm_mcap_write_options){.profile = profile, .packing = new->packing})};
    int result = nm_mcap_start(c.writer, bag_out_write, &out, err);
    if (!result) result = make_channels(&c, err);
    if (!result) result = copy_extras(&c, err);
    if (!result) result = copy_messages(&c, time, &made->damaged, err);
    if (!result) result = announce_channels(&c, err);
    if (!result) result = nm_mcap_finish(c.writer, err);
    made->totals = nm_mcap_totals(c.writer);
    made->channels = c.n_made;
    made->path = out.path;
    if (bag_out_end(&out, !result, err)) result = -1;
    nm_mcap_writer_free(c.writer);
    return result;
}

int bag_recover_file(const char *path, const struct bag_new *new, const struct nm_mcap_progress *progress,
                     struct nm_arena *arena, const char **made, struct nm_mcap_repair *repair, struct nm_err *found,
                     struct nm_err *err)
{
    struct nm_mcap_source source;
    struct bag_out out;
    if (nm_mcap_open(&source, path, err)) return -1;
    int result = bag_out_begin(&out, arena, new->path, new->force, err);
    if (!result) {
        source.progress = progress;
        struct nm_mcap_write_options options = {.packing = new->packing};
        result = nm_mcap_recover(&source, &options, bag_out_write, &out, repair, found, err);
        if (bag_out_end(&out, !result, err)) result = -1;
        *made = out.path;
    }
    nm_mcap_close(&source);
    return result;
}
