#include "record/bag.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/bag_yaml.h"
#include "core/files.h"

/* ---- opening ---- */

/* The files of a folder: those in its metadata.yaml, without one all .mcap files by name. */
static const char *const *files_of(struct nm_arena *arena, const char *folder, uint32_t *n, struct nm_err *err)
{
    const char *metadata = nm_path(arena, folder, "metadata.yaml");
    if (!nm_file_exists(metadata)) {
        const char *const *names = nm_files_in(arena, folder, ".mcap", n);
        const char **paths = nm_take_n(arena, const char *, *n + 1);
        for (uint32_t i = 0; i < *n; i++) paths[i] = nm_path(arena, folder, nm_take_format(arena, "%s.mcap", names[i]));
        if (!*n) nm_fail(err, "%s: this folder holds no log: it has neither metadata.yaml nor a .mcap file", folder);
        return paths;
    }
    const struct nm_bag *bag = nm_bag_read(arena, metadata, err);
    *n = bag ? bag->n_files : 0;
    const char **paths = nm_take_n(arena, const char *, *n + 1);
    for (uint32_t i = 0; i < *n; i++) paths[i] = nm_path(arena, folder, bag->files[i].path);
    if (bag && *bag->storage && strcmp(bag->storage, "mcap"))
        *n = 0, nm_fail(err, "%s: the bag is stored as %s; only mcap can be read", metadata, bag->storage);
    if (bag && !bag->n_files) nm_fail(err, "%s: the bag has no files", metadata);
    return paths;
}

/* One file; soon done, unless it has no summary. Nothing of it stays open after a fault. */
static int open_part(struct bag *bag, const char *path, struct nm_err *err)
{
    struct bag_part part = {.path = nm_take_text(&bag->arena, path), .source.file = -1};
    if (nm_mcap_open(&part.source, part.path, err)) return -1;
    part.source.progress = bag->progress;
    int result = part.source.size ? nm_mcap_contents_read(&part.contents, &part.source, err)
                                  : nm_fail(err, "%s: the file is empty", path);
    part.source.progress = NULL;
    if (result) {
        nm_mcap_contents_free(&part.contents);
        nm_mcap_close(&part.source);
        return -1;
    }
    part.chosen = nm_take_n(&bag->arena, bool, part.contents.n_channels + 1);
    part.streams = nm_take_n(&bag->arena, uint32_t, part.contents.n_channels + 1);
    bag->messages += part.contents.messages;
    if (part.contents.messages && part.contents.first < bag->first) bag->first = part.contents.first;
    if (part.contents.messages && part.contents.last > bag->last) bag->last = part.contents.last;
    bag->parts[bag->n++] = part;
    return 0;
}

/* Channels of the same topic and the same maker are one stream. */
static void find_streams(struct bag *bag)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < bag->n; i++) most += bag->parts[i].contents.n_channels;
    const struct nm_mcap_channel **first = nm_take_n(&bag->arena, const struct nm_mcap_channel *, most);
    for (uint32_t i = 0; i < bag->n; i++)
        for (uint32_t k = 0; k < bag->parts[i].contents.n_channels; k++) {
            const struct nm_mcap_channel *channel = &bag->parts[i].contents.channels[k];
            uint32_t at = 0;
            while (at < bag->n_streams && (!nm_bytes_equal(first[at]->topic, channel->topic) ||
                                           !nm_bytes_equal(first[at]->metadata, channel->metadata)))
                at++;
            if (at == bag->n_streams) first[bag->n_streams++] = channel;
            bag->parts[i].streams[k] = at;
        }
}

int bag_open(struct bag *bag, const char *path, const struct nm_mcap_progress *progress, struct nm_err *err)
{
    const char *const *paths = &path;
    uint32_t n = 1, faults = err->n;
    *bag = (struct bag){.first = UINT64_MAX, .progress = progress};
    bool folder = nm_folder_exists(path);
    if (folder) paths = files_of(&bag->arena, path, &n, err);
    bag->parts = nm_take_n(&bag->arena, struct bag_part, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        struct nm_err why = {0};
        if (!open_part(bag, paths[i], &why)) continue;
        nm_fail(folder ? &bag->damage : err, "%.*s%s", (int)strcspn(why.text, "\n"), why.text,
                folder ? ": skipped" : "");
    }
    if (bag->first == UINT64_MAX) bag->first = 0;
    find_streams(bag);
    if (bag->n) return 0;
    if (err->n == faults)
        nm_fail(err, "%s: nothing in this folder can be read: %.*s", path, (int)strcspn(bag->damage.text, "\n"),
                bag->damage.text);
    bag_close(bag);
    return -1;
}

void bag_close(struct bag *bag)
{
    for (uint32_t i = 0; i < bag->n; i++) {
        nm_mcap_contents_free(&bag->parts[i].contents);
        nm_mcap_close(&bag->parts[i].source);
    }
    nm_arena_free(&bag->arena);
}

/* ---- choosing ---- */

/* Marks the channels of one word: those of exactly this name, otherwise all whose name matches. */
static uint32_t choose_word(struct bag *bag, const char *word)
{
    uint32_t n = 0;
    for (int exact = 1; exact >= 0 && !n; exact--)
        for (uint32_t i = 0; i < bag->n; i++)
            for (uint32_t k = 0; k < bag->parts[i].contents.n_channels; k++) {
                const char *topic = BAG_CLEAN(bag->parts[i].contents.channels[k].topic);
                const char *bare = topic + (*topic == '/');
                if (exact ? strcmp(topic, word) && strcmp(bare, word)
                          : !nm_matches(topic, word) && !nm_matches(bare, word))
                    continue;
                bag->parts[i].chosen[k] = true;
                n++;
            }
    return n;
}

static int no_topic(struct bag *bag, const char *word, struct nm_err *err)
{
    const char **names = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < bag->n; i++) {
        const struct nm_mcap_contents *c = &bag->parts[i].contents;
        const char **more = nm_take_n(&bag->arena, const char *, n + c->n_channels + 1);
        if (n) memcpy(more, names, n * sizeof *names);
        for (uint32_t k = 0; k < c->n_channels; k++) {
            const char *topic = BAG_CLEAN(c->channels[k].topic);
            more[n++] = nm_take_text(&bag->arena, topic + (*topic == '/' && *word != '/')); /* as it was asked for */
        }
        names = more;
    }
    const char *near = nm_nearest(word, names, n);
    return nm_fail(err, "the log has no topic '%s'%s%s%s; nutmeg bag info lists them", word,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int choose_topics(struct bag *bag, const struct bag_choice *choice, struct nm_err *err)
{
    for (uint32_t i = 0; i < bag->n; i++)
        memset(bag->parts[i].chosen, !choice->n_topics, bag->parts[i].contents.n_channels);
    for (uint32_t i = 0; i < choice->n_topics; i++) {
        char *words = nm_take_text(&bag->arena, choice->topics[i]), *rest = words;
        for (char *word; (word = strsep(&rest, ","));)
            if (*word && !choose_word(bag, word)) return no_topic(bag, word, err);
    }
    return 0;
}

/* "@1700000000.25" to the ns; "12.5" and "-3" from the start and the end of the log. */
static int read_time(const struct bag *bag, const char *flag, const char *text, uint64_t *time, struct nm_err *err)
{
    char *end;
    if (*text == '@') {
        unsigned long long seconds = strtoull(text + 1, &end, 10);
        uint64_t ns = 0, digit = 100000000;
        bool digits = end > text + 1 && text[1] >= '0' && text[1] <= '9' && seconds < UINT64_MAX / 1000000000;
        if (*end == '.')
            for (end++; *end >= '0' && *end <= '9'; end++, digit /= 10) ns += (uint64_t)(*end - '0') * digit;
        *time = seconds * 1000000000 + ns;
        if (digits && !*end) return 0;
    } else {
        double seconds = strtod(text, &end);
        if (end > text && !*end && isfinite(seconds) && fabs(seconds) < 1e10) {
            uint64_t from = signbit(seconds) ? bag->last : bag->first, ns = (uint64_t)llround(fabs(seconds) * 1e9);
            *time = !signbit(seconds) ? from + ns : ns > from ? 0 : from - ns;
            return 0;
        }
    }
    return nm_fail(err, "--%s wants seconds from the start (12.5), from the end (-3) or @UNIXTIME, not '%s'", flag,
                   text);
}

int bag_choose(struct bag *bag, const struct bag_choice *choice, struct nm_mcap_query_options *time, struct nm_err *err)
{
    *time = (struct nm_mcap_query_options){0};
    if (choice->from && read_time(bag, "from", choice->from, &time->from, err)) return -1;
    if (choice->to && read_time(bag, "to", choice->to, &time->to, err)) return -1;
    if (choice->to && time->to <= time->from)
        return nm_fail(err, "there is no time between --from %s and --to %s", choice->from ? choice->from : "0",
                       choice->to);
    return choose_topics(bag, choice, err);
}

uint32_t bag_topics_chosen(const struct bag *bag)
{
    uint32_t n = 0;
    struct nm_bytes last = {0};
    for (uint32_t i = 0; i < bag->n; i++) {
        const struct nm_mcap_contents *c = &bag->parts[i].contents;
        for (uint32_t k = 0; k < c->n_channels; k++) {
            if (!bag->parts[i].chosen[k] || (n == 1 && nm_bytes_equal(last, c->channels[k].topic))) continue;
            last = c->channels[k].topic;
            n++;
        }
    }
    return n;
}

/* ---- reading ---- */

/* The next message of each part, if it has one. */
struct bag_reader {
    struct bag *bag;
    uint32_t damaged;
    uint32_t given;   /* part whose message was given last, n for none                     */
    uint32_t *latest; /* of each stream: sequence number of the last one that was given    */
    struct waiting {
        struct nm_mcap_query *query;
        struct nm_mcap_message message;
        uint32_t channel;
        bool there;
    } * waiting;
};

static void advance(struct bag_reader *reader, struct waiting *w)
{
    struct nm_err err = {0};
    int got;
    while ((got = nm_mcap_query_next(w->query, &w->message, &w->channel, &err)) < 0) {
        if (!strstr(reader->bag->damage.text, err.text))
            nm_fail(&reader->bag->damage, "%.*s", (int)strcspn(err.text, "\n"), err.text);
        err = (struct nm_err){0};
        reader->damaged++;
    }
    w->there = got > 0;
}

struct bag_reader *bag_reader_new(struct bag *bag, const struct nm_mcap_query_options *time)
{
    struct bag_reader *reader = nm_take_n(&bag->arena, struct bag_reader, 1);
    *reader = (struct bag_reader){.bag = bag, .given = bag->n};
    reader->waiting = nm_take_n(&bag->arena, struct waiting, bag->n);
    reader->latest = nm_take_n(&bag->arena, uint32_t, bag->n_streams + 1);
    for (uint32_t i = 0; i < bag->n; i++) {
        struct nm_mcap_query_options options = *time;
        options.channels = bag->parts[i].chosen;
        reader->waiting[i].query = nm_mcap_query_new(&bag->parts[i].source, &bag->parts[i].contents, &options);
        advance(reader, &reader->waiting[i]);
    }
    return reader;
}

/* What a file repeats at its beginning, of messages that have come already. Nothing else of ours is published before
 * the time that the log has for it. */
static bool is_repeated(struct bag_reader *reader, const struct waiting *w)
{
    const struct bag_part *part = &reader->bag->parts[w - reader->waiting];
    const struct nm_mcap_channel *channel = &part->contents.channels[w->channel];
    uint32_t *latest = &reader->latest[part->streams[w->channel]], sequence = w->message.sequence;
    bool again = w->message.publish_time < w->message.log_time && sequence && sequence <= *latest &&
                 nm_bytes_are(nm_mcap_text_at(channel->metadata, "latched"), "true");
    if (!again) *latest = sequence;
    return again;
}

static int next_message(struct bag_reader *reader)
{
    uint32_t n = reader->bag->n, first = n;
    if (reader->given < n) advance(reader, &reader->waiting[reader->given]);
    for (uint32_t i = 0; i < n; i++) {
        const struct waiting *w = &reader->waiting[i];
        if (w->there && (first == n || w->message.log_time < reader->waiting[first].message.log_time)) first = i;
    }
    reader->given = first;
    return first < n;
}

int bag_next(struct bag_reader *reader, struct nm_mcap_message *message, uint32_t *part, uint32_t *channel)
{
    do {
        if (!next_message(reader)) return 0;
    } while (is_repeated(reader, &reader->waiting[reader->given]));
    *message = reader->waiting[reader->given].message;
    *channel = reader->waiting[reader->given].channel;
    *part = reader->given;
    return 1;
}

uint32_t bag_reader_free(struct bag_reader *reader)
{
    for (uint32_t i = 0; i < reader->bag->n; i++) nm_mcap_query_free(reader->waiting[i].query);
    return reader->damaged;
}

void bag_tell(const struct bag *bag, uint64_t done, uint64_t all)
{
    if (bag->progress) bag->progress->tell(bag->progress->user, done, all);
}

/* ---- a new log on disk: it has another name until it is complete ---- */

static bool is_file_name(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".mcap");
}

static int failed(const char *path, struct nm_err *err) { return nm_fail(err, "%s: %s", path, strerror(errno)); }

int bag_out_begin(struct bag_out *out, struct nm_arena *arena, const char *path, bool force, struct nm_err *err)
{
    *out = (struct bag_out){.path = path, .file = -1};
    if (!is_file_name(path)) {
        out->folder = nm_take_text(arena, path);
        size_t n = strlen(out->folder);
        while (n > 1 && out->folder[n - 1] == '/') out->folder[--n] = '\0';
        const char *name = strrchr(out->folder, '/');
        name = nm_take_format(arena, "%s_0.mcap", name ? name + 1 : out->folder);
        out->path = nm_path(arena, out->folder, name);
    }
    if (!force &&
        (nm_file_exists(out->path) || (out->folder && nm_file_exists(nm_path(arena, out->folder, "metadata.yaml")))))
        return nm_fail(err, "%s exists already; --force replaces it", path);
    if (out->folder && mkdir(out->folder, 0777) && errno != EEXIST) return failed(out->folder, err);
    out->part = nm_take_format(arena, "%s.part", out->path);
    out->file = open(out->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return out->file < 0 ? failed(out->part, err) : 0;
}

int bag_out_write(void *user, const void *bytes, size_t n)
{
    struct bag_out *out = user;
    int bad = nm_write_all(out->file, bytes, n);
    if (bad) out->fault = errno;
    return bad;
}

/* metadata.yaml of a folder with this one file. */
static int write_metadata(const struct bag_out *out, struct nm_err *err)
{
    struct nm_mcap_source source;
    struct nm_mcap_contents c;
    if (nm_mcap_open(&source, out->path, err)) return -1;
    int result = nm_mcap_contents_read(&c, &source, err);
    struct nm_bag_topic *topics = nm_take_n(&c.arena, struct nm_bag_topic, c.n_channels + 1);
    for (uint32_t i = 0; i < c.n_channels; i++) {
        const struct nm_mcap_channel *channel = &c.channels[i];
        const struct nm_mcap_schema *schema = nm_mcap_schema_of(&c, channel->schema_id);
        struct nm_bytes qos = nm_mcap_text_at(channel->metadata, "offered_qos_profiles");
        topics[i] = (struct nm_bag_topic){
            .name = nm_take_text(&c.arena, BAG_CLEAN(channel->topic)),
            .type = nm_take_text(&c.arena, schema ? BAG_CLEAN(schema->name) : ""),
            .format = nm_take_text(&c.arena, BAG_CLEAN(channel->message_encoding)),
            .qos = qos.n ? nm_take_format(&c.arena, "%.*s", (int)qos.n, (const char *)qos.at) : "",
            .messages = c.counts[i]};
    }
    struct nm_bag_file file = {strrchr(out->path, '/') + 1, c.first, c.last - c.first, c.messages};
    struct nm_bag bag = {5, "mcap", c.first, c.last - c.first, c.messages, c.n_channels, 1, topics, &file};
    struct nm_text_out text = {.grows = true};
    nm_bag_print(&text, &bag);
    if (!result) result = nm_file_replace(nm_path(&c.arena, out->folder, "metadata.yaml"), text.text, text.used, err);
    free(text.text);
    nm_mcap_contents_free(&c);
    nm_mcap_close(&source);
    return result;
}

int bag_out_end(struct bag_out *out, bool whole, struct nm_err *err)
{
    if (out->file < 0) return -1;
    if (out->fault) nm_fail(err, "%s: %s", out->part, strerror(out->fault));
    if (whole && fsync(out->file) && errno != EINVAL) whole = !failed(out->part, err);
    if (close(out->file) && whole) whole = !failed(out->part, err);
    if (whole && rename(out->part, out->path)) whole = !failed(out->path, err);
    if (!whole) {
        unlink(out->part);
        if (out->folder) rmdir(out->folder); /* stays if there is something in it */
        return -1;
    }
    return out->folder ? write_metadata(out, err) : 0;
}

/* ---- a new log from an old one: a part of it, or what can be saved of a log that was cut off ---- */

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
