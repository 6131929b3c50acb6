/* Plays a log into a line-up by the times of its messages, for logs without notes of runs, such as those of other
 * programs. The log's time is shifted so that the line-up's clock begins near zero, as on a robot. The cycles run by
 * their periods and triggers in virtual time, and the results of a cycle appear after its cost, so the same log gives
 * the same results every time, bit for bit.
 *
 * Topics are matched by name (renamed with --remap) and by type, member by member if the log has another definition of
 * the type; images may also come as JPEG. Topics that the line-up makes itself are not taken from the log.
 *
 * Nothing in the log is trusted: long silences are left out, and no log plays for more than a day. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "codec/cdr.h"
#include "codec/cdr_map.h"
#include "codec/jpeg.h"
#include "codec/mcap_schema.h"
#include "codec/msgdef.h"
#include "core/files.h"
#include "core/stamp.h"
#include "edge/dds/stamps.h"
#include "record/replay_inside.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"
#include "tf2_msgs/TFMessage.h"

/* A channel of the log. */
struct inlet {
    const char *name;         /* of its topic in the log                              */
    const char *to;           /* the same as the line-up says it, without '/'         */
    uint32_t topic;           /* of the line-up; NM_NONE: nobody reads it             */
    uint32_t port;            /* of the edge                                          */
    const struct nm_def *def; /* of messages that are mapped; NULL: they are as ours  */
    bool jpeg;                /* a CompressedImage for an Image                       */
    bool renamed;             /* by --remap                                           */
    bool anew;                /* the line-up makes it itself                          */
    bool latched;             /* what was said before --from counts, too              */
    uint32_t clock;           /* that its times run by; CLOCKS: not known yet         */
    uint64_t given, refused;
};

enum { CLOCKS = 8, FRAMES = 128, FRAME_NAME = 64 };

struct timed {
    struct replay *r;
    uint32_t n_inlets;
    struct inlet *inlets; /* of all channels, part by part                      */
    uint32_t *parts;      /* where those of each part begin                     */
    uint32_t *ports;      /* of each topic: of `in`, NM_NONE: not from the log  */
    uint32_t *made_ports; /* of each topic: of `out`, NM_NONE: not made here    */
    uint32_t *blobs;      /* of each topic: bytes of a picture                  */
    struct nm_edge *in, *out;
    void *scratch;     /* a message of any of the topics that are queues     */
    int64_t now;       /* ns, the player's                                   */
    int64_t slice;     /* ns between two looks at what was made              */
    int64_t left_out;  /* ns of silence                                      */
    uint32_t silences; /* that were left out                                 */
    int64_t first;     /* ns: the player's time of the first message         */
    double began;      /* s, real time                                       */
    bool too_long;     /* the log does not end                               */
    uint32_t n_clocks; /* ways from the times in messages to the log's       */
    int64_t clocks[CLOCKS];
    uint32_t n_frames; /* whose transforms the line-up makes itself          */
    char frames[FRAMES][FRAME_NAME];
};

static inline struct inlet *inlet_of(const struct timed *t, uint32_t part, uint32_t channel)
{
    return &t->inlets[t->parts[part] + channel];
}

static const char *bare(const char *topic) { return topic + (*topic == '/'); }

static const char *clean(struct replay *r, struct nm_bytes text)
{
    char to[256];
    return nm_take_text(&r->arena, nm_mcap_clean(to, sizeof to, text));
}

/* ---- names ---- */

/* FROM:=TO; where both end in '/', or are nothing else, all topics below. */
struct remap {
    const char *from, *to;
    bool below, used;
};

static int read_remap(struct replay *r, const char *text, struct remap *remap, struct nm_err *err)
{
    const char *middle = strstr(text, ":=");
    if (!middle || middle == text || !middle[2]) return nm_fail(err, "--remap wants FROM:=TO, not '%s'", text);
    const char *from = nm_take_format(&r->arena, "%.*s", (int)(middle - text), text), *to = middle + 2;
    bool below = nm_ends_with(from, "/");
    if (below != nm_ends_with(to, "/"))
        return nm_fail(err, "--remap %s: either both names end with '/', for all topics below, or neither does", text);
    const char *fault = below ? NULL : nm_topic_fault(bare(to));
    if (fault) return nm_fail(err, "--remap %s: topic '%.80s' %s", text, to, fault);
    *remap = (struct remap){.from = bare(from), .to = bare(to), .below = below};
    return 0;
}

/* The name of a topic in the line-up. */
static const char *renamed(struct replay *r, struct remap *remaps, const char *name, bool *is_renamed)
{
    for (uint32_t i = 0; i < r->options->n_remaps; i++) {
        size_t n = strlen(remaps[i].from);
        if (remaps[i].below ? strncmp(name, remaps[i].from, n) : strcmp(name, remaps[i].from)) continue;
        remaps[i].used = *is_renamed = true;
        return remaps[i].below ? nm_take_format(&r->arena, "%s%s", remaps[i].to, name + n) : remaps[i].to;
    }
    return name;
}

/* ---- what the line-up wants ---- */

static bool is_transforms(const struct nm_topic *topic)
{
    return !strcmp(topic->name, "tf") || !strcmp(topic->name, "tf_static");
}

static bool is_trigger(const struct nm_lineup *lineup, uint32_t topic)
{
    bool any = false;
    for (uint32_t c = 0; c < lineup->n_cycles; c++) any |= lineup->cycles[c].trigger == topic;
    return any;
}

static bool is_made(const struct nm_topic *topic)
{
    return topic->role == NM_ROLE_TOPIC && topic->n_producers && !topic->builtin;
}

/* Comes from outside. Transforms may come from inside as well: those that do win, frame by frame. */
static bool is_wanted(const struct nm_lineup *lineup, uint32_t topic)
{
    const struct nm_topic *row = &lineup->topics[topic];
    if (row->role != NM_ROLE_TOPIC) return false;
    if (is_transforms(row)) return row->n_consumers > 0;
    return !row->builtin && !row->n_producers && (row->n_consumers || is_trigger(lineup, topic));
}

static bool is_needed(const struct nm_lineup *lineup, const struct nm_topic *topic)
{
    bool needed = false;
    for (uint32_t i = 0; i < topic->n_consumers; i++) {
        struct nm_end end = topic->consumers[i];
        needed |= !lineup->instances[end.instance].module->ports[end.port].optional;
    }
    return needed;
}

/* ---- types ---- */

/* Reads each schema of a part once, however many channels have it. */
struct schemas {
    const struct nm_mcap_contents *contents;
    const struct nm_def **defs; /* by id */
    bool *broken;
};

static const struct nm_def *def_of(struct replay *r, struct schemas *s, const struct nm_mcap_schema *schema,
                                   struct nm_err *why)
{
    const struct nm_def **def = &s->defs[schema->id];
    if (!*def && !s->broken[schema->id]) *def = nm_mcap_def(&r->arena, schema, why);
    s->broken[schema->id] = !*def;
    return *def;
}

static const char *stem(const char *type)
{
    const char *slash = strrchr(type, '/');
    return slash ? slash + 1 : type;
}

static bool leave_out(struct replay *r, const struct inlet *inlet, const char *why)
{
    replay_cause(r, "/%s of the log is left out: %.*s", inlet->name, (int)strcspn(why, "\n"), why);
    return false;
}

/* The same name and the same members, or members of the same names. */
static bool fits(struct replay *r, struct schemas *s, struct inlet *inlet, const struct nm_mcap_channel *channel)
{
    const struct nm_type *type = r->lineup->topics[inlet->topic].type;
    const struct nm_mcap_schema *schema = nm_mcap_schema_of(s->contents, channel->schema_id);
    struct nm_err why = {0};
    char text[400];
    if (!nm_bytes_are(channel->message_encoding, "cdr")) return leave_out(r, inlet, "its messages are not CDR");
    if (!schema) return leave_out(r, inlet, "the log does not say its type");
    const char *name = clean(r, schema->name);
    bool same = !strcmp(name, type->name);
    if (inlet->jpeg || (same && nm_bytes_are(nm_mcap_text_at(channel->metadata, "topic_type_hash"), type->hash)))
        return true;
    if (strcmp(stem(name), stem(type->name))) {
        snprintf(text, sizeof text, "its type is %s, but the line-up reads %s", name, type->name);
        return leave_out(r, inlet, text);
    }
    const struct nm_def *def = def_of(r, s, schema, &why);
    if (!def) return leave_out(r, inlet, why.n ? why.text : "its type cannot be read");
    if (nm_map_same(def, type)) return true;
    uint32_t shared = 0;
    for (uint32_t i = 0; i < def->n_fields; i++)
        shared += nm_field_find(type, def->fields[i].name, strlen(def->fields[i].name)) != NULL;
    if (!shared) return leave_out(r, inlet, "its type has no member in common with the type of this program");
    uint32_t n = nm_map_explain(def, type, &why);
    replay_cause(r, "/%s has another definition of %s in the log; members with the same names are copied%s%.*s%s",
                 inlet->name, type->name, n ? " (" : "", (int)strcspn(why.text, "\n"), why.text,
                 n > 1 ? ", and more)"
                 : n   ? ")"
                       : "");
    inlet->def = def;
    return true;
}

/* ---- channels ---- */

static bool is_latched(struct replay *r, const struct inlet *inlet, const struct nm_mcap_channel *channel)
{
    struct nm_bytes text = nm_mcap_text_at(channel->metadata, "offered_qos_profiles");
    if (!strcmp(inlet->to, "tf_static")) return true;
    if (text.n > 1 << 16) return false;
    const char *qos = nm_take_format(&r->arena, "%.*s", (int)text.n, (const char *)text.at);
    return strstr(qos, "durability: 1\n") || strstr(qos, "durability: transient_local");
}

/* The topic of the line-up that a name means; `X/compressed` is what image_transport calls a compressed X. */
static uint32_t topic_of(struct replay *r, const char *name, bool jpeg)
{
    uint32_t topic = nm_lineup_topic(r->lineup, name);
    if (topic == NM_NONE && jpeg && nm_ends_with(name, "/compressed"))
        topic = nm_lineup_topic(r->lineup, nm_take_format(&r->arena, "%.*s", (int)(strrchr(name, '/') - name), name));
    return topic != NM_NONE && is_wanted(r->lineup, topic) ? topic : NM_NONE;
}

static void open_inlet(struct timed *t, struct schemas *s, struct remap *remaps, uint32_t channel, struct inlet *inlet)
{
    struct replay *r = t->r;
    const struct nm_mcap_channel *row = &s->contents->channels[channel];
    const struct nm_mcap_schema *schema = nm_mcap_schema_of(s->contents, row->schema_id);
    bool jpeg = schema && nm_bytes_are(schema->name, CompressedImage_type.name);
    *inlet = (struct inlet){.name = bare(clean(r, row->topic)), .port = NM_NONE, .clock = CLOCKS};
    inlet->to = renamed(r, remaps, inlet->name, &inlet->renamed);
    uint32_t named = nm_lineup_topic(r->lineup, inlet->to);
    inlet->anew = named != NM_NONE && is_made(&r->lineup->topics[named]);
    inlet->topic = topic_of(r, inlet->to, jpeg);
    if (inlet->topic == NM_NONE) return;
    inlet->jpeg = jpeg && r->lineup->topics[inlet->topic].type == &Image_type;
    inlet->latched = is_latched(r, inlet, row);
    if (!fits(r, s, inlet, row)) inlet->topic = NM_NONE;
}

static void open_part(struct timed *t, uint32_t part, struct remap *remaps)
{
    struct replay *r = t->r;
    enum { IDS = UINT16_MAX + 1 };
    struct schemas s = {.contents = &r->bag.parts[part].contents};
    s.defs = nm_calloc(IDS, sizeof *s.defs);
    s.broken = nm_calloc(IDS, sizeof *s.broken);
    for (uint32_t c = 0; c < s.contents->n_channels; c++) open_inlet(t, &s, remaps, c, inlet_of(t, part, c));
    free(s.defs);
    free(s.broken);
}

/* What somebody asked for by name wins over what has the name, and a picture as it was over one with loss. */
static int rank(const struct inlet *in) { return 1 + 2 * in->renamed + !in->jpeg; }

static void choose_best(struct timed *t, struct nm_err *err)
{
    const struct nm_lineup *lineup = t->r->lineup;
    const struct inlet **best = nm_take_n(&t->r->arena, const struct inlet *, lineup->n_topics + 1);
    for (uint32_t i = 0; i < t->n_inlets; i++) {
        const struct inlet *in = &t->inlets[i];
        if (in->topic != NM_NONE && (!best[in->topic] || rank(in) > rank(best[in->topic]))) best[in->topic] = in;
    }
    for (uint32_t i = 0; i < t->n_inlets; i++) {
        struct inlet *in = &t->inlets[i];
        const struct inlet *other = in->topic == NM_NONE ? in : best[in->topic];
        if (in->renamed && rank(in) == rank(other) && strcmp(in->name, other->name) && !err->n)
            nm_fail(err, "--remap would give /%s and /%s of the log the same name /%s", other->name, in->name,
                    lineup->topics[in->topic].name);
        if (rank(in) < rank(other)) in->topic = NM_NONE;
    }
}

/* Chooses the channels that are read, or of these only the latched ones. */
static void inlets_choose(struct timed *t, bool latched)
{
    for (uint32_t p = 0; p < t->r->bag.n; p++)
        for (uint32_t c = 0; c < t->r->bag.parts[p].contents.n_channels; c++) {
            const struct inlet *in = inlet_of(t, p, c);
            t->r->bag.parts[p].chosen[c] = in->topic != NM_NONE && (in->latched || !latched);
        }
}

/* Each has something to rename, and somebody who reads it then. */
static void check_remaps(struct timed *t, const struct remap *remaps, struct nm_err *err)
{
    struct replay *r = t->r;
    for (uint32_t i = 0; i < r->options->n_remaps; i++) {
        const char *near = NULL, *text = r->options->remaps[i];
        bool read = remaps[i].below || topic_of(r, remaps[i].to, true) != NM_NONE;
        for (uint32_t p = 0; p < r->bag.n && !near && !remaps[i].used; p++) {
            uint32_t n = r->bag.parts[p].contents.n_channels;
            const char **names = nm_take_n(&r->arena, const char *, n + 1);
            for (uint32_t c = 0; c < n; c++) names[c] = inlet_of(t, p, c)->name;
            near = nm_nearest(remaps[i].from, names, n);
        }
        if (!remaps[i].used)
            nm_fail(err, "--remap %s: the log has no such topic%s%s%s", text, near ? "; did you mean '" : "",
                    near ? near : "", near ? "'?" : "; nutmeg bag info lists them");
        else if (!read)
            nm_fail(err, "--remap %s: the line-up does not read such a topic from outside", text);
    }
}

/* ---- what is missing ---- */

struct list {
    char text[1500];
    size_t used;
};

static void add(struct list *list, const char *topic)
{
    int n = snprintf(list->text + list->used, sizeof list->text - list->used, "%s/%s", list->used ? ", " : "", topic);
    list->used += n > 0 && list->used + (size_t)n < sizeof list->text ? (size_t)n : 0;
    list->text[list->used] = '\0';
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Topics of the log, each once. */
static uint32_t count_topics(struct timed *t, bool read)
{
    uint32_t n = 0, each = 0;
    const char **names = nm_take_n(&t->r->arena, const char *, t->n_inlets + 1);
    for (uint32_t i = 0; i < t->n_inlets; i++)
        if ((t->inlets[i].topic != NM_NONE) == read && !t->inlets[i].anew) names[n++] = t->inlets[i].name;
    if (n) qsort(names, n, sizeof *names, by_name);
    for (uint32_t i = 0; i < n; i++) each += !i || strcmp(names[i], names[i - 1]);
    return each;
}

static int tell(struct timed *t, struct nm_err *err)
{
    const struct nm_lineup *lineup = t->r->lineup;
    struct list missing = {0}, services = {0}, made = {0};
    uint32_t read = count_topics(t, true), unread = count_topics(t, false);
    for (uint32_t i = 0; i < lineup->n_topics; i++) {
        const struct nm_topic *topic = &lineup->topics[i];
        bool given = t->ports[i] != NM_NONE, anew = false;
        for (uint32_t k = 0; k < t->n_inlets; k++) anew |= t->inlets[k].anew && !strcmp(t->inlets[k].to, topic->name);
        if (is_wanted(lineup, i) && !is_transforms(topic) && is_needed(lineup, topic) && !given)
            add(&missing, topic->name);
        if (topic->role == NM_ROLE_REQUEST && topic->remote && topic->n_producers)
            add(&services,
                nm_take_format(&t->r->arena, "%.*s", (int)(strlen(topic->name) - strlen("/request")), topic->name));
        if (anew) add(&made, topic->name);
    }
    if (!read)
        return nm_fail(err, "the line-up reads no topic of the log; it reads %s; --remap FROM:=TO renames topics",
                       *missing.text ? missing.text : "nothing from outside");
    replay_say(t->r, "by time: %u topic%s of the log %s read, %u not read", read, read == 1 ? "" : "s",
               read == 1 ? "is" : "are", unread);
    if (*made.text) replay_say(t->r, "made by modules here, not taken from the log: %s", made.text);
    if (*missing.text) replay_say(t->r, "not in the log: %s; the modules that read them play without", missing.text);
    if (*services.text) replay_say(t->r, "there is no server for %s", services.text);
    return 0;
}

/* Finds the inlets and says what is missing; -1 with a sentence if nothing of the log is read. */
static int inlets_open(struct timed *t, struct nm_err *err)
{
    struct replay *r = t->r;
    uint32_t n = 0;
    struct remap *remaps = nm_take_n(&r->arena, struct remap, r->options->n_remaps + 1);
    for (uint32_t i = 0; i < r->options->n_remaps; i++) read_remap(r, r->options->remaps[i], &remaps[i], err);
    if (err->n) return -1;
    t->parts = nm_take_n(&r->arena, uint32_t, r->bag.n + 1);
    for (uint32_t p = 0; p < r->bag.n; p++) {
        t->parts[p] = t->n_inlets;
        t->n_inlets += r->bag.parts[p].contents.n_channels;
    }
    t->inlets = nm_take_n(&r->arena, struct inlet, t->n_inlets + 1);
    for (uint32_t p = 0; p < r->bag.n; p++) open_part(t, p, remaps);
    check_remaps(t, remaps, err);
    choose_best(t, err);
    if (err->n) return -1;
    t->ports = nm_take_n(&r->arena, uint32_t, r->lineup->n_topics + 1);
    memset(t->ports, 0xff, r->lineup->n_topics * sizeof *t->ports);
    for (uint32_t i = 0; i < t->n_inlets; i++) {
        struct inlet *in = &t->inlets[i];
        if (in->topic == NM_NONE) continue;
        if (t->ports[in->topic] == NM_NONE) t->ports[in->topic] = n++;
        in->port = t->ports[in->topic];
    }
    return tell(t, err);
}

/* ---- messages ---- */

/* A message into the struct of its topic; 0, or -1 with a sentence. */
static int inlet_decode(const struct inlet *inlet, const struct nm_type *type, void *message,
                        const struct nm_mcap_message *in, struct nm_blob_pool *pool, struct nm_err *err)
{
    if (inlet->jpeg) return replay_jpeg(in->data.at, in->data.n, pool, message, err);
    if (inlet->def) return nm_map_decode(inlet->def, type, message, in->data.at, in->data.n, pool, err);
    return nm_cdr_decode(type, message, in->data.at, in->data.n, pool, err);
}

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

/* A topic that the line-up publishes, so that a log of it has the topic. */
static bool comes_out(const struct nm_topic *topic)
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
        if (!comes_out(topic) || (!r->options->out && !strcmp(topic->name, "show"))) continue; /* pictures for nobody */
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
            bool makes = topic->builtin && comes_out(topic);
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
