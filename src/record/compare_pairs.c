/* Reads two logs side by side and compares the messages that belong together. Of the log that is ahead messages wait in
 * memory until their partner comes: as many as the two are apart, mostly none. */
#include <stdlib.h>
#include <string.h>

#include "record/compare.h"
#include "codec/mcap_schema.h"

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
        struct waiting *w = malloc(sizeof *w + message.data.n);
        if (!w) abort();
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
