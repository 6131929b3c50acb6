/* Compares two logs: finds which messages of the two belong together, then reads both logs side by side and compares
 * the pairs. A replay keeps the times of its recording, so messages are paired by time where the times agree, otherwise
 * by the sequence numbers of the writers, otherwise by order. */
#include "record/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/mcap_schema.h"
#include "nutmeg_msgs/Show.h"

const char *const match_words[] = {"auto", "time", "sequence", "order"};

/* ---- topics ---- */

static int by_name(const void *a, const void *b)
{
    const struct compare_topic *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static uint32_t topic_named(const struct compare *c, const char *name)
{
    const struct compare_topic wanted = {.name = name}, *found = bsearch(&wanted, c->at, c->n, sizeof *c->at, by_name);
    return (uint32_t)(found - c->at);
}

typedef void each_channel(struct compare *c, int side, uint32_t part, uint32_t channel);
static void for_channels(struct compare *c, each_channel *call)
{
    for (int s = 0; s < 2; s++)
        for (uint32_t p = 0; p < c->bags[s].n; p++)
            for (uint32_t k = 0; k < c->bags[s].parts[p].contents.n_channels; k++) call(c, s, p, k);
}

static void count(struct compare *c, int side, uint32_t part, uint32_t channel)
{
    (void)side, (void)part, (void)channel;
    c->n++;
}

static void list(struct compare *c, int side, uint32_t part, uint32_t channel)
{
    struct nm_bytes topic = c->bags[side].parts[part].contents.channels[channel].topic;
    c->at[c->n++].name = nm_take_text(&c->arena, BAG_CLEAN(topic));
}

/* Where a channel belongs, and what it carries. */
static void assign(struct compare *c, int side, uint32_t part, uint32_t channel)
{
    const struct nm_mcap_contents *contents = &c->bags[side].parts[part].contents;
    const struct nm_mcap_schema *schema = nm_mcap_schema_of(contents, contents->channels[channel].schema_id);
    uint32_t t = topic_named(c, BAG_CLEAN(contents->channels[channel].topic));
    c->topic_of[side][part][channel] = t;
    c->at[t].type[side] = schema ? nm_take_text(&c->arena, BAG_CLEAN(schema->name)) : "";
}

static bool exactly(const char *topic, const char *word)
{
    return !strcmp(topic, word) || !strcmp(topic + (*topic == '/'), word);
}

static bool is_replay(const struct bag *bag)
{
    struct nm_bytes library = bag->n ? bag->parts[0].contents.library : (struct nm_bytes){0};
    return library.n == strlen(BAG_REPLAY) && !memcmp(library.at, BAG_REPLAY, library.n);
}

/* Of a replay and something else what the replay has; otherwise all. What modules show is made only while somebody
 * looks, so it says nothing about the modules. */
static bool usual(const struct compare *c, const struct compare_topic *topic)
{
    bool replay[2] = {is_replay(&c->bags[LOG_A]), is_replay(&c->bags[LOG_B])};
    for (int s = 0; s < 2; s++)
        if (topic->type[s] && !strcmp(topic->type[s], Show_type.name)) return false;
    if (replay[LOG_A] == replay[LOG_B]) return true;
    return topic->type[replay[LOG_A] ? LOG_A : LOG_B];
}

/* A word means the topics of exactly this name in either log, otherwise all whose name matches. */
static int choose(struct compare *c, struct nm_err *err)
{
    for (uint32_t t = 0; t < c->n; t++) c->at[t].chosen = !c->n_topics && usual(c, &c->at[t]);
    for (uint32_t i = 0; i < c->n_topics; i++) {
        char *rest = nm_take_text(&c->arena, c->topics[i]);
        for (char *word; (word = strsep(&rest, ","));) {
            uint32_t found = 0;
            for (int exact = 1; exact >= 0 && !found && *word; exact--)
                for (uint32_t t = 0; t < c->n; t++) {
                    const char *name = c->at[t].name;
                    if (exact ? !exactly(name, word)
                              : !nm_matches(name, word) && !nm_matches(name + (*name == '/'), word))
                        continue;
                    c->at[t].chosen = true;
                    found++;
                }
            if (!found && *word) return nm_fail(err, "neither log has a topic '%s'; nutmeg bag info lists them", word);
        }
    }
    return 0;
}

static void mark_chosen(struct compare *c, int side, uint32_t part, uint32_t channel)
{
    c->bags[side].parts[part].chosen[channel] = c->at[c->topic_of[side][part][channel]].chosen;
}

/* All topics of both logs, each once, sorted. */
static int find_topics(struct compare *c, struct nm_err *err)
{
    c->topic_of = nm_take_n(&c->arena, uint32_t **, 2);
    for (int s = 0; s < 2; s++) {
        c->topic_of[s] = nm_take_n(&c->arena, uint32_t *, c->bags[s].n + 1);
        for (uint32_t p = 0; p < c->bags[s].n; p++)
            c->topic_of[s][p] = nm_take_n(&c->arena, uint32_t, c->bags[s].parts[p].contents.n_channels + 1);
    }
    for_channels(c, count);
    c->at = nm_take_n(&c->arena, struct compare_topic, c->n + 1);
    c->n = 0;
    for_channels(c, list);
    uint32_t all = c->n;
    if (all) qsort(c->at, all, sizeof *c->at, by_name);
    c->n = 0;
    for (uint32_t i = 0; i < all; i++)
        if (!i || strcmp(c->at[i].name, c->at[c->n - 1].name)) c->at[c->n++].name = c->at[i].name;
    for_channels(c, assign);
    if (choose(c, err)) return -1;
    for_channels(c, mark_chosen);
    return 0;
}

/* ---- marks ---- */

static void mark(struct compare_topic *topic, int side, const struct nm_mcap_message *message)
{
    if (topic->n[side] == topic->room[side]) {
        topic->room[side] = topic->room[side] * 2 + 64;
        topic->marks[side] = nm_realloc(topic->marks[side], topic->room[side] * sizeof *topic->marks[side]);
    }
    topic->marks[side][topic->n[side]++] = (struct compare_mark){
        message->publish_time ? message->publish_time : message->log_time, message->sequence, NO_PARTNER};
}

static void read_marks(struct compare *c)
{
    c->first = UINT64_MAX;
    for (int s = 0; s < 2; s++) {
        struct bag_reader *reader = bag_reader_new(&c->bags[s], &c->time);
        struct nm_mcap_message message;
        uint32_t part, channel;
        while (bag_next(reader, &message, &part, &channel)) {
            struct compare_topic *topic = &c->at[c->topic_of[s][part][channel]];
            if (topic->n[s] >= NO_PARTNER) continue;
            mark(topic, s, &message);
            uint64_t time = topic->marks[s][topic->n[s] - 1].time;
            if (time < c->first) c->first = time;
            if (time > c->last) c->last = time;
        }
        c->damaged += bag_reader_free(reader);
    }
    if (c->first == UINT64_MAX) c->first = 0;
}

/* ---- partners ---- */

struct key {
    uint64_t value;
    uint32_t place;
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static uint64_t value_of(const struct compare_mark *mark, uint64_t place, enum match by)
{
    return by == MATCH_TIME ? mark->time : by == MATCH_SEQUENCE ? mark->sequence : place;
}

static struct key *keys_of(const struct compare_topic *topic, int side, enum match by)
{
    struct key *keys = nm_malloc((topic->n[side] + 1) * sizeof *keys);
    for (uint64_t i = 0; i < topic->n[side]; i++)
        keys[i] = (struct key){value_of(&topic->marks[side][i], i, by), (uint32_t)i};
    qsort(keys, topic->n[side], sizeof *keys, by_key);
    return keys;
}

/* Equal values are partners, several of one value in their order; returns how many, and notes them if `keep`. */
static uint64_t pair_up(struct compare_topic *topic, enum match by, bool keep)
{
    struct key *a = keys_of(topic, LOG_A, by), *b = keys_of(topic, LOG_B, by);
    uint64_t i = 0, k = 0, pairs = 0;
    while (i < topic->n[LOG_A] && k < topic->n[LOG_B]) {
        if (a[i].value != b[k].value) {
            if (a[i].value < b[k].value)
                i++;
            else
                k++;
            continue;
        }
        if (keep) {
            topic->marks[LOG_A][a[i].place].partner = b[k].place;
            topic->marks[LOG_B][b[k].place].partner = a[i].place;
        }
        i++, k++, pairs++;
    }
    free(a);
    free(b);
    return pairs;
}

static bool counts(const struct compare_topic *topic, int side)
{
    for (uint64_t i = 1; i < topic->n[side]; i++)
        if (topic->marks[side][i].sequence != topic->marks[side][0].sequence) return true;
    return topic->n[side] == 1 && topic->marks[side][0].sequence;
}

/* Times, if most messages of the smaller side have a partner by them. */
static enum match choose_match(struct compare_topic *topic)
{
    uint64_t least = topic->n[LOG_A] < topic->n[LOG_B] ? topic->n[LOG_A] : topic->n[LOG_B];
    uint64_t by_time = pair_up(topic, MATCH_TIME, false);
    if (by_time * 2 > least || !least) return MATCH_TIME;
    if (counts(topic, LOG_A) && counts(topic, LOG_B) && pair_up(topic, MATCH_SEQUENCE, false) * 2 > least)
        return MATCH_SEQUENCE;
    return MATCH_ORDER;
}

int compare_match(struct compare *c, struct nm_err *err)
{
    bool from_b = is_replay(&c->bags[LOG_A]) && !is_replay(&c->bags[LOG_B]); /* a replay may begin in the middle */
    c->start = c->bags[from_b ? LOG_B : LOG_A].first;
    if (find_topics(c, err)) return -1;
    read_marks(c);
    for (uint32_t t = 0; t < c->n; t++) {
        struct compare_topic *topic = &c->at[t];
        topic->by = c->match ? c->match : choose_match(topic);
        pair_up(topic, topic->by, true);
        for (int s = 0; s < 2; s++)
            for (uint64_t i = 0; i < topic->n[s]; i++) {
                if (topic->marks[s][i].partner != NO_PARTNER) continue;
                if (!topic->only[s]++) topic->first_only[s] = topic->marks[s][i].time;
            }
    }
    return 0;
}

/* ---- pairs: messages of the log that is ahead wait in memory until their partner comes ---- */

struct waiting { /* a message of B whose partner has not come yet */
    struct waiting *next;
    uint32_t place, part, channel;
    size_t n;
    uint8_t bytes[];
};

struct pairing {
    struct compare *c;
    struct bag_reader *b;
    bool b_ended;
    uint64_t *seen[2];              /* messages of each topic so far */
    struct waiting **waiting;       /* of each topic                 */
    const struct nm_def ***defs[2]; /* by part and channel; NULL: not read yet, or none */
    bool **tried[2];
};

static const struct nm_def *def_of(struct pairing *p, int side, uint32_t part, uint32_t channel, struct nm_err *err)
{
    const struct nm_mcap_contents *contents = &p->c->bags[side].parts[part].contents;
    const struct nm_mcap_channel *its = &contents->channels[channel];
    const struct nm_mcap_schema *schema = nm_mcap_schema_of(contents, its->schema_id);
    if (p->tried[side][part][channel]) return p->defs[side][part][channel];
    p->tried[side][part][channel] = true;
    if (!schema || !nm_bytes_are(its->message_encoding, "cdr")) {
        nm_fail(err, "the messages are '%s'%s; only CDR with a schema can be compared",
                BAG_CLEAN(its->message_encoding), schema ? "" : " without a schema");
        return NULL;
    }
    return p->defs[side][part][channel] = nm_mcap_def(&p->c->arena, schema, err);
}

static void note_types(struct compare *c, struct compare_topic *topic, const struct nm_def *a, const struct nm_def *b)
{
    if (topic->notes) return;
    topic->notes = nm_take_n(&c->arena, struct nm_err, 1);
    nm_diff_types(a, b, topic->notes);
}

static void broken(struct compare_topic *topic, const struct nm_err *err)
{
    if (!topic->broken++) snprintf(topic->why, sizeof topic->why, "%.*s", (int)strcspn(err->text, "\n"), err->text);
}

static void compare_two(struct pairing *p, uint32_t t, uint32_t part, uint32_t channel,
                        const struct nm_mcap_message *message, const struct waiting *other)
{
    struct compare_topic *topic = &p->c->at[t];
    struct nm_err err = {0};
    const struct nm_def *a = def_of(p, LOG_A, part, channel, &err);
    const struct nm_def *b = def_of(p, LOG_B, other->part, other->channel, &err);
    bool before = topic->diff.differing;
    if (!a || !b) {
        /* without a definition bytes can still be the same */
        if (message->data.n != other->n || memcmp(message->data.at, other->bytes, other->n)) broken(topic, &err);
        return;
    }
    note_types(p->c, topic, a, b);
    uint64_t time = message->publish_time ? message->publish_time : message->log_time;
    topic->share = p->c->last > p->c->first ? (double)(time - p->c->first) / (double)(p->c->last - p->c->first) : 0;
    if (nm_diff_pair(&topic->diff, a, message->data.at, message->data.n, b, other->bytes, other->n, &err) < 0)
        broken(topic, &err);
    if (!before && topic->diff.differing) topic->first_time = time;
}

/* Reads on in B until the message at this place of the topic has come; the others wait if they have partners. */
static struct waiting *fetch(struct pairing *p, uint32_t t, uint32_t place)
{
    struct waiting **at = &p->waiting[t];
    for (;;) {
        for (; *at; at = &(*at)->next)
            if ((*at)->place == place) {
                struct waiting *found = *at;
                *at = found->next;
                return found;
            }
        struct nm_mcap_message message;
        uint32_t part, channel;
        if (p->b_ended || !bag_next(p->b, &message, &part, &channel)) {
            p->b_ended = true;
            return NULL;
        }
        uint32_t its = p->c->topic_of[LOG_B][part][channel];
        const struct compare_topic *topic = &p->c->at[its];
        uint64_t number = p->seen[LOG_B][its]++;
        if (number >= topic->n[LOG_B] || topic->marks[LOG_B][number].partner == NO_PARTNER) continue;
        struct waiting *w = nm_malloc(sizeof *w + message.data.n);
        *w = (struct waiting){NULL, (uint32_t)number, part, channel, message.data.n};
        if (w->n) memcpy(w->bytes, message.data.at, w->n);
        struct waiting **end = its == t ? at : &p->waiting[its];
        while (*end) end = &(*end)->next;
        *end = w;
    }
}

static void begin(struct pairing *p)
{
    struct compare *c = p->c;
    for (int s = 0; s < 2; s++) {
        p->seen[s] = nm_take_n(&c->arena, uint64_t, c->n + 1);
        p->defs[s] = nm_take_n(&c->arena, const struct nm_def **, c->bags[s].n + 1);
        p->tried[s] = nm_take_n(&c->arena, bool *, c->bags[s].n + 1);
        for (uint32_t i = 0; i < c->bags[s].n; i++) {
            uint32_t n = c->bags[s].parts[i].contents.n_channels + 1;
            p->defs[s][i] = nm_take_n(&c->arena, const struct nm_def *, n);
            p->tried[s][i] = nm_take_n(&c->arena, bool, n);
        }
    }
    p->waiting = nm_take_n(&c->arena, struct waiting *, c->n + 1);
    for (uint32_t t = 0; t < c->n; t++) {
        struct nm_diff *diff = &c->at[t].diff;
        *diff =
            (struct nm_diff){.arena = &c->arena, .tolerance = c->tolerance, .leave = c->leave, .n_leave = c->n_leave};
        diff->seen = c->seen;
        diff->user = &c->at[t];
    }
    p->b = bag_reader_new(&c->bags[LOG_B], &c->time);
}

void compare_pairs(struct compare *c)
{
    struct pairing p = {.c = c};
    struct nm_mcap_message message;
    uint32_t part, channel;
    begin(&p);
    struct bag_reader *a = bag_reader_new(&c->bags[LOG_A], &c->time);
    while (bag_next(a, &message, &part, &channel)) {
        uint32_t t = c->topic_of[LOG_A][part][channel];
        struct compare_topic *topic = &c->at[t];
        uint64_t number = p.seen[LOG_A][t]++;
        bag_tell(&c->bags[LOG_A], message.log_time - c->bags[LOG_A].first, c->bags[LOG_A].last - c->bags[LOG_A].first);
        if (number >= topic->n[LOG_A] || topic->marks[LOG_A][number].partner == NO_PARTNER) continue;
        struct waiting *other = fetch(&p, t, topic->marks[LOG_A][number].partner);
        if (other) compare_two(&p, t, part, channel, &message, other);
        free(other);
    }
    bag_reader_free(a);
    bag_reader_free(p.b);
    for (uint32_t t = 0; t < c->n; t++)
        for (struct waiting *w = p.waiting[t], *next; w; w = next) next = w->next, free(w);
}

void compare_end(struct compare *c)
{
    for (uint32_t t = 0; t < c->n; t++) {
        free(c->at[t].marks[LOG_A]);
        free(c->at[t].marks[LOG_B]);
    }
    nm_arena_free(&c->arena);
}

bool compare_topic_same(const struct compare_topic *topic)
{
    return !topic->only[LOG_A] && !topic->only[LOG_B] && !topic->diff.differing && !topic->broken &&
           !topic->type[LOG_A] == !topic->type[LOG_B];
}

bool compare_same(const struct compare *c)
{
    for (uint32_t t = 0; t < c->n; t++)
        if (c->at[t].chosen && !compare_topic_same(&c->at[t])) return false;
    return !c->damaged;
}
