/* Messages of a log as tables for people and other programs, read by the schemas that the log itself carries.
 *
 * A CSV file has one row per message: its times in ns, then one column per value. A text or a number is a cell. An
 * array of up to 64 elements has a cell for each. A sequence, whose length changes, is one cell with JSON in it. Camera
 * frames become pictures, one file each, named by their log time in ns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "codec/cdr_walk.h"
#include "codec/jpeg.h"
#include "codec/mcap_schema.h"
#include "core/files.h"
#include "record/bag.h"

/* ---- frames ---- */

struct frames {
    bool raw; /* Image, not CompressedImage */
    struct nm_walk_path data, format, width, height, step;
    uint8_t *jpeg; /* grows; freed by its owner */
    size_t room;
};

enum { QUALITY = 95 /* a picture of a raw frame is looked at, not sent */ };

/* 1 if messages of this definition are frames, 0 if not, -1 with a sentence. */
static int frames_begin(struct frames *frames, const struct nm_def *def, struct nm_err *err)
{
    bool packed = !strcmp(def->name, "sensor_msgs/msg/CompressedImage");
    frames->raw = !strcmp(def->name, "sensor_msgs/msg/Image");
    if (!packed && !frames->raw) return 0;
    int bad = nm_walk_path(def, "data", &frames->data, err) ||
              nm_walk_path(def, packed ? "format" : "encoding", &frames->format, err);
    if (frames->raw)
        bad = bad || nm_walk_path(def, "width", &frames->width, err) ||
              nm_walk_path(def, "height", &frames->height, err) || nm_walk_path(def, "step", &frames->step, err);
    return bad ? -1 : 1;
}

/* By what the bytes are; what the message says about them comes second. */
static const char *ending(const uint8_t *bytes, size_t n, const uint8_t *format, size_t format_n)
{
    if (n > 3 && !memcmp(bytes, "\xff\xd8\xff", 3)) return "jpg";
    if (n > 8 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8)) return "png";
    return format_n >= 3 && memmem(format, format_n, "png", 3) ? "png" : "jpg";
}

/* -1: none, or nothing that a side can be. */
static int number(const struct nm_walk_path *path, const struct nm_mcap_message *message, uint32_t *to,
                  struct nm_err *err)
{
    double value;
    if (nm_walk_number(path, message->data.at, message->data.n, &value, err) < 1 || value < 0 || value > UINT32_MAX)
        return -1;
    *to = (uint32_t)value;
    return 0;
}

static int develop(struct frames *frames, const struct nm_mcap_message *message, const uint8_t *bytes, size_t n,
                   const uint8_t *encoding, size_t encoding_n, size_t *jpeg_n, struct nm_err *err)
{
    struct nm_pixels pixels = {.data = bytes, .n = n};
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)(encoding_n < sizeof word ? encoding_n : sizeof word - 1),
             (const char *)encoding);
    pixels.encoding = word;
    if (number(&frames->width, message, &pixels.width, err) || number(&frames->height, message, &pixels.height, err) ||
        number(&frames->step, message, &pixels.step, err) || !nm_pixels_check(&pixels, err))
        return -1;
    size_t room = nm_jpeg_room(pixels.width, pixels.height);
    if (room > frames->room) {
        free(frames->jpeg);
        frames->jpeg = nm_malloc(room);
        frames->room = room;
    }
    return nm_jpeg_encode(&pixels, QUALITY, frames->jpeg, frames->room, jpeg_n, err);
}

/* Writes one as FOLDER/<log time>.jpg or .png. */
static int write_frame(struct frames *frames, const char *folder, const struct nm_mcap_message *message,
                       struct nm_err *err)
{
    const uint8_t *bytes, *format = NULL;
    size_t n, format_n = 0;
    char path[1024];
    if (nm_walk_bytes(&frames->data, message->data.at, message->data.n, &bytes, &n, err) < 1 ||
        nm_walk_bytes(&frames->format, message->data.at, message->data.n, &format, &format_n, err) < 1)
        return -1;
    if (frames->raw) {
        if (develop(frames, message, bytes, n, format, format_n, &n, err)) return -1;
        bytes = frames->jpeg;
    }
    snprintf(path, sizeof path, "%s/%llu.%s", folder, (unsigned long long)message->log_time,
             ending(bytes, n, format, format_n));
    FILE *file = fopen(path, "wb");
    bool ok = file && fwrite(bytes, 1, n, file) == n;
    if (file && fclose(file)) ok = false;
    return ok ? 0 : nm_fail(err, "%s: %s", path, strerror(errno));
}

/* ---- tables ---- */

enum { CELLS = 64 /* elements of an array that get a column each */, COLUMNS = 4096 };

enum form { FORM_CSV, FORM_JSON, FORM_FRAMES };

/* One topic on its way out. */
struct outlet {
    enum form form;
    const struct nm_def *def; /* NULL: messages that are JSON already */
    struct nm_walk_path *paths;
    uint32_t n_paths;
    struct frames frames;
    struct bag_exported *made;
    FILE *file;
    bool failed;
};

struct export
{
    struct bag *bag;
    const struct bag_export *how;
    struct outlet ***outlets; /* by part and channel; NULL where not chosen */
    struct outlet **all;
    struct bag_exported *made; /* of each outlet */
    uint32_t n;
    bool no_path; /* a topic lacks a member that was asked for */
    struct nm_err *err;
    struct nm_text_out text; /* a row, used again and again */
};

/* ---- cells ---- */

static void put(struct export *e, const char *text) { nm_text_put(&e->text, text, strlen(text)); }

/* Quoted where a reader would stumble. */
static void put_cell(struct export *e, const char *text, size_t n)
{
    bool plain = true;
    for (size_t i = 0; i < n; i++) plain &= !strchr(",\"\r\n", text[i]) || !text[i];
    put(e, ",");
    if (plain) {
        nm_text_put(&e->text, text, n);
        return;
    }
    put(e, "\"");
    for (size_t i = 0; i < n; i++) nm_text_put(&e->text, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
    put(e, "\"");
}

static unsigned style_of(const struct export *e) { return NM_TEXT_JSON | (e->how->whole ? NM_TEXT_WHOLE : 0); }

/* What JSON writes as "NaN" is a number in a table. */
static void put_json_cell(struct export *e, struct nm_text_out *json, bool number)
{
    bool quoted = number && json->used > 1 && json->text[0] == '"';
    put_cell(e, json->text + quoted, json->used - 2 * quoted);
    free(json->text);
}

static int cells_of_member(struct export *e, struct nm_walk *walk, const struct nm_def_field *field, bool one);

static int cells_of_struct(struct export *e, struct nm_walk *walk, const struct nm_def *def)
{
    if (def->empty) return nm_walk_skip_member(walk, &def->fields[0]);
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (cells_of_member(e, walk, &def->fields[i], def->fields[i].shape == NM_ONE)) return -1;
    return 0;
}

/* The same members as columns_of_member, in the same order. */
static int cells_of_member(struct export *e, struct nm_walk *walk, const struct nm_def_field *field, bool one)
{
    const char *text;
    uint32_t n;
    if (!one && field->shape == NM_ARRAY && field->cap <= CELLS) {
        for (uint32_t i = 0; i < field->cap; i++)
            if (cells_of_member(e, walk, field, true)) return -1;
        return 0;
    }
    if (one && field->kind == NM_STRUCT) return cells_of_struct(e, walk, field->def);
    if (one && field->kind == NM_STRING) {
        if (nm_walk_text(walk, field, &text, &n)) return -1;
        put_cell(e, text, n);
        return 0;
    }
    struct nm_text_out json = {.grows = true};
    int result = nm_walk_print_member(&json, walk, field, one, style_of(e));
    put_json_cell(e, &json, one);
    return result;
}

static int cell_at(struct export *e, const struct nm_walk_path *path, const struct nm_mcap_message *message,
                   struct nm_err *err)
{
    const struct nm_def_field *field = path->steps[path->n - 1].field;
    const uint8_t *bytes;
    size_t n;
    if (field->kind == NM_STRING) {
        int found = nm_walk_bytes(path, message->data.at, message->data.n, &bytes, &n, err);
        if (found > 0) put_cell(e, (const char *)bytes, n);
        if (found) return found < 0 ? -1 : 0;
    }
    struct nm_text_out json = {.grows = true};
    nm_text_put(&json, "", 0);
    int found = nm_walk_print_at(&json, path, message->data.at, message->data.n, style_of(e), err);
    put_json_cell(e, &json, field->kind < NM_STRING);
    return found < 0 ? -1 : 0;
}

/* ---- columns ---- */

static int columns_of_def(struct export *e, const struct nm_def *def, const char *before, uint32_t *n);

static int columns_of_member(struct export *e, const struct nm_def_field *field, const char *name, bool one,
                             uint32_t *n)
{
    char inner[512];
    if (!one && field->shape == NM_ARRAY && field->cap <= CELLS) {
        for (uint32_t i = 0; i < field->cap; i++) {
            snprintf(inner, sizeof inner, "%s[%u]", name, i);
            if (columns_of_member(e, field, inner, true, n)) return -1;
        }
        return 0;
    }
    if (one && field->kind == NM_STRUCT) {
        snprintf(inner, sizeof inner, "%s.", name);
        return columns_of_def(e, field->def, inner, n);
    }
    put_cell(e, name, strlen(name));
    return ++*n > COLUMNS ? -1 : 0;
}

static int columns_of_def(struct export *e, const struct nm_def *def, const char *before, uint32_t *n)
{
    for (uint32_t i = 0; i < def->n_fields && !def->empty; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s%s", before, def->fields[i].name);
        if (columns_of_member(e, &def->fields[i], name, def->fields[i].shape == NM_ONE, n)) return -1;
    }
    return 0;
}

static int write_head(struct export *e, struct outlet *outlet, struct nm_err *err)
{
    uint32_t n = 0;
    e->text.used = 0;
    put(e, "log_time,publish_time");
    for (uint32_t i = 0; i < e->how->n_paths; i++) put_cell(e, e->how->paths[i], strlen(e->how->paths[i]));
    if (!e->how->n_paths && columns_of_def(e, outlet->def, "", &n))
        return nm_fail(err, "%s has more than %d values; choose some with --path", outlet->def->name, COLUMNS);
    put(e, "\n");
    fwrite(e->text.text, 1, e->text.used, outlet->file);
    return 0;
}

/* ---- rows and frames ---- */

static int write_csv(struct export *e, struct outlet *outlet, const struct nm_mcap_message *message, struct nm_err *err)
{
    struct nm_walk walk;
    char times[64];
    int result = 0;
    snprintf(times, sizeof times, "%llu,%llu", (unsigned long long)message->log_time,
             (unsigned long long)message->publish_time);
    put(e, times);
    for (uint32_t i = 0; i < outlet->n_paths && !result; i++) result = cell_at(e, &outlet->paths[i], message, err);
    if (!outlet->n_paths)
        result = nm_walk_begin(&walk, outlet->def, message->data.at, message->data.n, err) ||
                         cells_of_struct(e, &walk, outlet->def)
                     ? -1
                     : 0;
    put(e, "\n");
    return result;
}

static int write_json(struct export *e, struct outlet *outlet, const struct nm_mcap_message *message,
                      struct nm_err *err)
{
    char head[128];
    int result = 0;
    snprintf(head, sizeof head,
             "{\"log_time\":%llu,\"publish_time\":%llu,\"message\":", (unsigned long long)message->log_time,
             (unsigned long long)message->publish_time);
    put(e, head);
    if (outlet->def)
        result = nm_walk_print(&e->text, outlet->def, message->data.at, message->data.n, style_of(e), err);
    else
        nm_text_put(&e->text, (const char *)message->data.at, message->data.n);
    put(e, "}\n");
    return result;
}

static void write_message(struct export *e, struct outlet *outlet, const struct nm_mcap_message *message)
{
    struct nm_err err = {0};
    int result;
    if (outlet->failed) return;
    e->text.used = 0;
    if (outlet->form == FORM_FRAMES)
        result = write_frame(&outlet->frames, outlet->made->path, message, &err);
    else
        result = (outlet->form == FORM_JSON ? write_json : write_csv)(e, outlet, message, &err);
    if (!result && outlet->file && fwrite(e->text.text, 1, e->text.used, outlet->file) != e->text.used)
        result = nm_fail(&err, "%s: %s", outlet->made->path, strerror(errno));
    if (result) {
        nm_fail(e->err, "%.*s", (int)strcspn(err.text, "\n"), err.text);
        outlet->failed = true; /* one sentence a topic is enough */
    } else {
        outlet->made->written++;
    }
}

/* ---- outlets ---- */

/* A file name of a topic: nothing of it may lead elsewhere. Two topics may end up the same: then with a number. */
static const char *file_name(struct export *e, struct nm_bytes topic)
{
    char name[128] = "";
    size_t n = 0;
    for (size_t i = 0; i < topic.n && n < 100; i++) {
        unsigned char c = topic.at[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (word || n) name[n++] = (char)(word ? c : '_');
    }
    if (!n) snprintf(name, sizeof name, "topic");
    for (uint32_t i = 0; i < e->n; i++) {
        const char *slash = strrchr(e->made[i].path, '/'), *other = slash ? slash + 1 : e->made[i].path;
        if (!strncmp(other, name, strlen(name)) && (other[strlen(name)] == '.' || !other[strlen(name)]))
            return nm_take_format(&e->bag->arena, "%s-%u", name, e->n);
    }
    return nm_take_text(&e->bag->arena, name);
}

static int open_outlet(struct export *e, struct outlet *outlet, struct nm_bytes topic, struct nm_err *err)
{
    static const char *const endings[] = {[FORM_CSV] = ".csv", [FORM_JSON] = ".jsonl", [FORM_FRAMES] = ""};
    struct nm_arena *arena = &e->bag->arena;
    outlet->made->path = "standard output";
    outlet->file = e->how->to;
    if (e->how->folder) {
        outlet->made->frames = outlet->form == FORM_FRAMES;
        outlet->made->path =
            nm_path(arena, e->how->folder, nm_take_format(arena, "%s%s", file_name(e, topic), endings[outlet->form]));
        if (outlet->form == FORM_FRAMES && mkdir(outlet->made->path, 0777) && errno != EEXIST)
            return nm_fail(err, "%s: %s", outlet->made->path, strerror(errno));
        outlet->file = outlet->form == FORM_FRAMES ? NULL : fopen(outlet->made->path, "w");
        if (outlet->form != FORM_FRAMES && !outlet->file)
            return nm_fail(err, "%s: %s", outlet->made->path, strerror(errno));
    }
    return outlet->form == FORM_CSV ? write_head(e, outlet, err) : 0;
}

/* How the messages of a channel are read. */
static int prepare(struct export *e, struct outlet *outlet, const struct nm_mcap_channel *channel,
                   const struct nm_mcap_schema *schema, struct nm_err *err)
{
    struct nm_arena *arena = &e->bag->arena;
    outlet->form = e->how->json ? FORM_JSON : FORM_CSV;
    if (nm_bytes_are(channel->message_encoding, "json")) {
        outlet->form = FORM_JSON;
        return e->how->n_paths ? nm_fail(err, "the messages are JSON; --path needs CDR") : 0;
    }
    if (!nm_bytes_are(channel->message_encoding, "cdr") || !schema)
        return nm_fail(err, "the messages are '%s'%s; only CDR with a schema can be read",
                       BAG_CLEAN(channel->message_encoding), schema ? "" : " without a schema");
    if (!(outlet->def = nm_mcap_def(arena, schema, err))) return -1;
    outlet->paths = nm_take_n(arena, struct nm_walk_path, e->how->n_paths + 1);
    for (; outlet->n_paths < e->how->n_paths; outlet->n_paths++)
        if (nm_walk_path(outlet->def, e->how->paths[outlet->n_paths], &outlet->paths[outlet->n_paths], err)) {
            e->no_path = true;
            return -1;
        }
    if (e->how->folder && !e->how->n_paths && !e->how->json) {
        int found = frames_begin(&outlet->frames, outlet->def, err);
        if (found > 0) outlet->form = FORM_FRAMES;
        return found < 0 ? -1 : 0;
    }
    return 0;
}

/* The outlet of this topic and type in a file before, so that the files of one recording become one table. */
static struct outlet *made_before(struct export *e, uint32_t part, const struct nm_mcap_channel *channel,
                                  const struct nm_mcap_schema *schema)
{
    for (uint32_t i = 0; i < part; i++) {
        const struct nm_mcap_contents *c = &e->bag->parts[i].contents;
        for (uint32_t k = 0; k < c->n_channels; k++) {
            const struct nm_mcap_schema *its = nm_mcap_schema_of(c, c->channels[k].schema_id);
            if (e->outlets[i][k] && nm_bytes_equal(c->channels[k].topic, channel->topic) && !its == !schema &&
                (!its || nm_bytes_equal(its->data, schema->data)))
                return e->outlets[i][k];
        }
    }
    return NULL;
}

static void make_outlets(struct export *e)
{
    struct bag *bag = e->bag;
    uint32_t most = 1;
    for (uint32_t i = 0; i < bag->n; i++) most += bag->parts[i].contents.n_channels;
    e->all = nm_take_n(&bag->arena, struct outlet *, most);
    e->made = nm_take_n(&bag->arena, struct bag_exported, most);
    e->outlets = nm_take_n(&bag->arena, struct outlet **, bag->n);
    for (uint32_t i = 0; i < bag->n; i++) {
        struct bag_part *part = &bag->parts[i];
        e->outlets[i] = nm_take_n(&bag->arena, struct outlet *, part->contents.n_channels + 1);
        for (uint32_t k = 0; k < part->contents.n_channels; k++) {
            const struct nm_mcap_channel *channel = &part->contents.channels[k];
            const struct nm_mcap_schema *schema = nm_mcap_schema_of(&part->contents, channel->schema_id);
            struct nm_err err = {0};
            if (!part->chosen[k] || !part->contents.counts[k]) continue;
            if ((e->outlets[i][k] = made_before(e, i, channel, schema))) continue;
            struct outlet *outlet = nm_take_n(&bag->arena, struct outlet, 1);
            outlet->made = &e->made[e->n];
            if (prepare(e, outlet, channel, schema, &err) || open_outlet(e, outlet, channel->topic, &err)) {
                nm_fail(e->err, "%s is left out: %.*s", BAG_CLEAN(channel->topic), (int)strcspn(err.text, "\n"),
                        err.text);
                part->chosen[k] = false;
                continue;
            }
            e->outlets[i][k] = e->all[e->n++] = outlet;
        }
    }
}

static void close_outlets(struct export *e)
{
    for (uint32_t i = 0; i < e->n; i++) {
        struct outlet *outlet = e->all[i];
        if (outlet->file && (e->how->folder ? fclose(outlet->file) : fflush(outlet->file)))
            nm_fail(e->err, "%s: %s", outlet->made->path, strerror(errno));
        free(outlet->frames.jpeg);
    }
}

static void export_messages(struct export *e, const struct nm_mcap_query_options *time)
{
    struct bag_reader *reader = bag_reader_new(e->bag, time);
    struct nm_mcap_message message;
    uint32_t part, channel;
    uint64_t from = time->from > e->bag->first ? time->from : e->bag->first;
    uint64_t to = time->to && time->to < e->bag->last ? time->to : e->bag->last;
    while (bag_next(reader, &message, &part, &channel)) {
        bag_tell(e->bag, message.log_time - from, to > from ? to - from : 1);
        if (e->outlets[part][channel]) write_message(e, e->outlets[part][channel], &message);
    }
    free(e->text.text);
    uint32_t damaged = bag_reader_free(reader);
    if (damaged) nm_fail(e->err, "%u chunks could not be read and are missing", damaged);
}

int bag_export(struct bag *bag, const struct nm_mcap_query_options *time, const struct bag_export *how,
               const struct bag_exported **made, uint32_t *n, struct nm_err *err)
{
    struct export e = {.bag = bag, .how = how, .text = {.grows = true}, .err = err};
    uint32_t faults = err->n;
    *n = 0;
    if (how->folder && mkdir(how->folder, 0777) && errno != EEXIST)
        return nm_fail(err, "%s: %s", how->folder, strerror(errno));
    make_outlets(&e);
    export_messages(&e, time);
    close_outlets(&e);
    *made = e.made;
    *n = e.n;
    uint64_t written = 0;
    for (uint32_t i = 0; i < e.n; i++) written += e.made[i].written;
    if (!written && err->n == faults)
        nm_fail(err, "nothing was exported: the log has no messages on these topics in this time");
    if (!e.n && e.no_path) return BAG_NO_PATH;
    return err->n == faults ? 0 : -1;
}
