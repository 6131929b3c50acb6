/* Which topics of a log a line-up reads: by name, renamed where asked for; by type, member by member where the log has
 * another definition of it; pictures also from JPEG. What the line-up makes itself is not taken from the log. */
#include <stdlib.h>
#include <string.h>

#include "record/replay_timed.h"
#include "codec/cdr.h"
#include "codec/cdr_map.h"
#include "codec/mcap_schema.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"

static const char *bare(const char *topic) { return topic + (*topic == '/'); }

static const char *clean(struct replay *r, struct nm_bytes text)
{
    char to[256];
    return nm_take_text(&r->arena, nm_mcap_clean(to, sizeof to, text));
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
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
    bool below = ends_with(from, "/");
    if (below != ends_with(to, "/"))
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
    if (topic == NM_NONE && jpeg && ends_with(name, "/compressed"))
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
    s.defs = calloc(IDS, sizeof *s.defs);
    s.broken = calloc(IDS, sizeof *s.broken);
    if (!s.defs || !s.broken) abort();
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

void inlets_choose(struct timed *t, bool latched)
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

int inlets_open(struct timed *t, struct nm_err *err)
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

int inlet_decode(const struct inlet *inlet, const struct nm_type *type, void *message, const struct nm_mcap_message *in,
                 struct nm_blob_pool *pool, struct nm_err *err)
{
    if (inlet->jpeg) return replay_jpeg(in->data.at, in->data.n, pool, message, err);
    if (inlet->def) return nm_map_decode(inlet->def, type, message, in->data.at, in->data.n, pool, err);
    return nm_cdr_decode(type, message, in->data.at, in->data.n, pool, err);
}
