/* Which messages enter which run. A run gets exactly what the log says that it consumed: from the log, or, where the
 * maker plays again too, what that maker makes now in the run that made it then. So a changed module is heard by those
 * behind it, and an unchanged line-up repeats itself bit for bit. */
#include <stdlib.h>
#include <string.h>

#include "record/replay_inside.h"
#include "codec/cdr.h"
#include "codec/jpeg.h"
#include "edge/dds/stamps.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"

static const int64_t patience = 2000000000; /* ns of the log that are read on for a message that is not there yet */

/* ---- the plan ---- */

static uint32_t cycle_named(const struct nm_lineup *lineup, const char *name)
{
    for (uint32_t c = 0; c < lineup->n_cycles; c++)
        if (!strcmp(lineup->cycles[c].name, name)) return c;
    return NM_NONE;
}

static uint32_t place_in(const struct nm_lineup *lineup, uint32_t cycle, uint32_t instance)
{
    const struct nm_lineup_cycle *c = &lineup->cycles[cycle];
    for (uint32_t i = 0; i < c->n_order; i++)
        if (c->order[i] == instance) return i;
    return NM_NONE;
}

/* In the recording the topic was made by a module of the same cycle: does this reader step behind it? */
static enum how how_local(const struct replay *r, const struct stream *s, struct nm_end end)
{
    const struct nm_lineup_instance *reader = &r->lineup->instances[end.instance];
    const struct nm_port *port = &reader->module->ports[end.port];
    if (port->kind == NM_PORT_IN || port->kind == NM_PORT_QUEUE) return HOW_WITH;
    if (port->kind == NM_PORT_LAST || port->offset == UINT32_MAX) return HOW_BEFORE;
    uint32_t cycle = cycle_named(r->was, s->maker), topic = nm_lineup_topic(r->was, s->topic);
    uint32_t was = nm_lineup_instance(r->was, reader->name);
    if (cycle == NM_NONE || topic == NM_NONE || was == NM_NONE || !r->was->topics[topic].n_producers) return HOW_WITH;
    uint32_t maker = place_in(r->was, cycle, r->was->topics[topic].producers[0].instance);
    return maker < place_in(r->was, cycle, was) ? HOW_WITH : HOW_BEFORE;
}

static enum how how_of(struct replay *r, const struct stream *s, uint32_t cycle)
{
    if (s->at == NM_NONE || !nm_replay_takes(r->replay, cycle, s->at)) return HOW_NOT;
    const char *name = r->lineup->cycles[cycle].name;
    if (!strcmp(s->maker, name)) {
        enum how how = HOW_NOT;
        const struct nm_topic *topic = &r->lineup->topics[s->at];
        if (s->replayed) return HOW_NOT; /* on its own board */
        for (uint32_t i = 0; i < topic->n_consumers; i++) {
            if (r->lineup->instances[topic->consumers[i].instance].cycle != cycle) continue;
            enum how this = how_local(r, s, topic->consumers[i]);
            if (how != HOW_NOT && how != this)
                replay_cause(
                    r, "%s has readers before and after its writer; in a partial replay they all see the same value",
                    s->topic);
            if (this > how) how = this;
        }
        return how;
    }
    for (uint32_t t = 0; t < r->n_tables; t++)
        for (uint32_t i = 0; !strcmp(r->tables[t].cycle, name) && i < r->tables[t].n; i++)
            if (r->tables[t].streams[i] == (uint32_t)(s - r->streams)) return HOW_RECORDED;
    return HOW_TIMED;
}

/* Of a topic with several makers in one cycle only some may play again. */
static bool is_partly(const struct replay *r, const struct stream *s)
{
    uint32_t was = cycle_named(r->was, s->maker);
    const struct nm_topic *topic = &r->lineup->topics[s->at];
    return was != NM_NONE && (topic->builtin || topic->many) &&
           r->lineup->cycles[s->cycle].n_order != r->was->cycles[was].n_order;
}

static void plan_stream(struct replay *r, struct stream *s)
{
    s->at = nm_lineup_topic(r->lineup, s->topic);
    s->cycle = cycle_named(r->lineup, s->maker);
    if (s->at == NM_NONE) return;
    const struct nm_type *type = r->lineup->topics[s->at].type;
    s->times = r->offset && nm_has_times(type);
    s->replayed = s->cycle != NM_NONE && nm_replay_makes(r->replay, s->cycle, s->at);
    s->partly = s->replayed && is_partly(r, s);
    bool other = s->in_log && s->stored == AS_IS && s->hash && *s->hash && strcmp(s->hash, type->hash);
    if (s->in_log && (strcmp(s->type, type->name) || other)) {
        replay_cause(r, "%s has another type in the log (%s) and is left out", s->topic, s->type);
        s->stored = AS_NOTHING;
    }
}

int replay_plan(struct replay *r, struct nm_err *err)
{
    const struct nm_lineup *lineup = r->lineup;
    for (uint32_t c = 0; c < lineup->n_cycles; c++) {
        for (uint32_t t = 0; t < r->n_tables; t++)
            r->cycles[c].known |= !strcmp(r->tables[t].cycle, lineup->cycles[c].name);
        if (!r->cycles[c].known)
            nm_fail(err, "the log has no cycle '%s', so it has no times for this cycle", lineup->cycles[c].name);
    }
    if (err->n) return -1;
    r->made_streams = nm_take_n(&r->arena, uint32_t, (size_t)lineup->n_topics * lineup->n_cycles + 1);
    for (uint32_t c = 0; c < lineup->n_cycles; c++)
        for (uint32_t t = 0; t < lineup->n_topics; t++) {
            uint32_t *to = &r->made_streams[(size_t)t * lineup->n_cycles + c];
            *to = NM_NONE;
            if (!nm_replay_makes(r->replay, c, t)) continue;
            const char *name = nm_take_format(&r->arena, "/%s", lineup->topics[t].name);
            *to = (uint32_t)(replay_stream(r, name, lineup->cycles[c].name) - r->streams);
        }
    for (uint32_t i = 0; i < r->n_streams; i++) plan_stream(r, &r->streams[i]);
    for (uint32_t i = 0; i < r->n_streams; i++) {
        struct stream *s = &r->streams[i];
        s->how = nm_take_n(&r->arena, enum how, lineup->n_cycles + 1);
        s->fed = nm_take_n(&r->arena, uint64_t, lineup->n_cycles + 1);
        for (uint32_t c = 0; c < lineup->n_cycles; c++) {
            s->how[c] = how_of(r, s, c);
            if (s->how[c] == HOW_NOT || s->replayed) continue;
            if (s->stored == AS_JPEG)
                replay_cause(r, "%s is stored with loss (JPEG), so the results of cycle %s are not exact", s->topic,
                             lineup->cycles[c].name);
        }
    }
    return 0;
}

/* ---- is everything there ---- */

/* The run of its maker in which a message was made; 0: nobody noted it. */
static uint64_t run_of(const struct stream *s, uint64_t seq)
{
    uint32_t low = 0, high = s->n_runs;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->runs[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_runs ? s->runs[low].run : 0;
}

/* What its maker made before that began at a snapshot comes from the log. */
static bool comes_anew(const struct replay *r, const struct stream *s, uint64_t run)
{
    return s->replayed && run > r->cycles[s->cycle].begins;
}

bool replay_ready(struct replay *r, uint32_t cycle, uint64_t reached, bool more)
{
    const struct noted *noted = r->cycles[cycle].first;
    uint64_t due = (uint64_t)(noted->run.now + r->offset);
    if (more && reached <= due) return false;
    if (!more || noted->run.run <= r->cycles[cycle].begins) return true;
    for (uint32_t i = 0; i < noted->run.n_consumed; i++) {
        const struct stream *s = &r->streams[noted->consumed[i].stream];
        if (s->how[cycle] != HOW_RECORDED) continue;
        uint64_t run = s->replayed ? run_of(s, noted->consumed[i].last) : 0;
        bool there = run ? !comes_anew(r, s, run) || r->cycles[s->cycle].ran >= run
                         : s->newest >= noted->consumed[i].last || !s->in_log;
        if (!there && reached < due + (uint64_t)patience) return false;
    }
    return true;
}

/* ---- handing over ---- */

int replay_jpeg(const uint8_t *cdr, size_t n, struct nm_blob_pool *pool, void *message, struct nm_err *err)
{
    CompressedImage jpeg = {0};
    Image *image = message;
    struct nm_pixels pixels;
    if (nm_cdr_decode(&CompressedImage_type, &jpeg, cdr, n, NULL, err)) return -1;
    if (!pool || !nm_pool_take(pool, &image->data)) return nm_fail(err, "there is no memory for an image");
    if (nm_jpeg_decode(jpeg.data.data, jpeg.data.n, image->data.data, image->data.cap, &pixels, err)) return -1;
    image->header = jpeg.header;
    image->width = pixels.width;
    image->height = pixels.height;
    image->step = pixels.step;
    image->data.n = (uint32_t)pixels.n;
    nm_text(image->encoding, "%s", pixels.encoding);
    return 0;
}

static void fill(struct replay *r, struct stream *s, const struct kept *kept, void *message)
{
    const struct nm_type *type = r->lineup->topics[s->at].type;
    struct nm_err why = {0};
    int bad = s->stored == AS_JPEG && !kept->run
                  ? replay_jpeg(kept->bytes, kept->n, nm_replay_pool(r->replay, s->at), message, &why)
                  : nm_cdr_decode(type, message, kept->bytes, kept->n,
                                  type->blobs ? nm_replay_pool(r->replay, s->at) : NULL, &why);
    if (bad) replay_cause(r, "messages of %s cannot be read: %.*s", s->topic, (int)strcspn(why.text, "\n"), why.text);
    if (!bad && s->times) nm_shift_times(type, message, -r->offset);
}

static void hand_over(struct replay *r, struct stream *s, uint32_t cycle, enum readers to, const struct kept *kept)
{
    struct nm_slot slot = {.time = kept->time, .caller = kept->caller, .call = kept->call};
    bool values = nm_replay_reads(r->replay, cycle, s->at, false) && to != READERS_OF_QUEUE;
    bool queues = nm_replay_reads(r->replay, cycle, s->at, true) && to != READERS_OF_VALUE;
    bool both = nm_replay_reads(r->replay, cycle, s->at, false) && nm_replay_reads(r->replay, cycle, s->at, true);
    if (s->stored == AS_NOTHING && !kept->run) return;
    for (uint32_t i = s->n_asked; i-- && !kept->run;)
        if (s->asked[i].seq == kept->seq) slot.caller = s->asked[i].caller, slot.call = s->asked[i].call;
    void *message = values || (queues && !both) ? nm_replay_put(r->replay, cycle, s->at, &slot) : NULL;
    if (message) fill(r, s, kept, message);
    message = queues && both ? nm_replay_push(r->replay, cycle, s->at, &slot) : NULL;
    if (message) fill(r, s, kept, message);
}

/* What a run consumed, made anew in this replay up to `run`. */
static void feed_anew(struct replay *r, struct stream *s, uint32_t cycle, const struct seqs *consumed, uint64_t run)
{
    const struct kept *newest = NULL;
    /* of a batch that its maker's snapshot cuts in two, the older part */
    for (const struct kept *k = s->first; k && k->seq <= consumed->last; k = k->next)
        if (k->seq >= consumed->first && !comes_anew(r, s, run_of(s, k->seq)))
            hand_over(r, s, cycle, consumed->readers, k);
    for (const struct kept *k = s->anew; k && k->run <= run; k = k->next) {
        newest = k;
        if (consumed->readers == READERS_OF_VALUE || k->seq <= s->fed[cycle]) continue;
        hand_over(r, s, cycle, consumed->readers, k);
        s->fed[cycle] = k->seq;
    }
    if (consumed->readers != READERS_OF_VALUE || !newest) return;
    hand_over(r, s, cycle, consumed->readers, newest);
    if (newest->seq > s->fed[cycle]) s->fed[cycle] = newest->seq;
}

static void feed_recorded(struct replay *r, struct stream *s, uint32_t cycle, const struct seqs *consumed)
{
    uint64_t run = s->replayed ? run_of(s, consumed->last) : 0, last = 0;
    const struct nm_topic *topic = &r->lineup->topics[s->at];
    const char *name = r->lineup->cycles[cycle].name;
    if (run && comes_anew(r, s, run)) {
        feed_anew(r, s, cycle, consumed, run);
        return;
    }
    if (topic->queue && s->fed[cycle] && consumed->first > s->fed[cycle] + 1)
        replay_cause(r, "cycle %s lost messages of %s in the recorded run", name, s->topic);
    for (const struct kept *k = s->first; k && k->seq <= consumed->last; k = k->next)
        if (k->seq >= consumed->first) hand_over(r, s, cycle, consumed->readers, k), last = k->seq;
    if (last != consumed->last && s->in_log)
        replay_cause(r, "messages of %s that cycle %s read are not in the log", s->topic, name);
    if (!s->in_log || s->stored == AS_NOTHING)
        replay_cause(r, "%s is not in the log; cycle %s plays without it", s->topic, name);
    if (consumed->last > s->fed[cycle]) s->fed[cycle] = consumed->last;
}

/* Of streams that the recorded cycle did not take from a mailbox: by time. */
static void feed_timed(struct replay *r, struct stream *s, uint32_t cycle, int64_t now)
{
    int64_t until = s->how[cycle] == HOW_WITH ? now : now - 1;
    if (!s->replayed && s->n_runs && (!s->in_log || s->stored == AS_NOTHING))
        replay_cause(r, "%s is not in the log; cycle %s plays without it", s->topic, r->lineup->cycles[cycle].name);
    bool anew = s->replayed;
    for (const struct kept *k = anew ? s->anew : s->first; k && k->time <= until; k = k->next) {
        if (k->seq <= s->fed[cycle]) continue;
        hand_over(r, s, cycle, READERS_ALL, k);
        s->fed[cycle] = k->seq;
    }
}

/* A snapshot has the parameters of the recording: what the command line says is set again. */
void replay_user_settings(struct replay *r, uint32_t cycle)
{
    for (uint32_t i = 0; i < r->options->with.n_set; i++) {
        const char *setting = r->options->with.set[i], *value = strchr(setting, '=');
        char name[128], param[128];
        if (!value || sscanf(setting, "%127[^.=].%127[^=]=", name, param) != 2) continue;
        uint32_t instance = nm_lineup_instance(r->lineup, name);
        if (instance == NM_NONE || r->lineup->instances[instance].cycle != cycle) continue;
        const struct nm_module *module = r->lineup->instances[instance].module;
        int at = nm_param_find(module, param, NULL);
        struct nm_change change = {.instance = instance, .param = (uint32_t)at};
        if (at >= 0 && !nm_value_parse(&module->params[at], value + 1, &change.value, NULL))
            nm_replay_set(r->replay, cycle, &change, 1);
    }
}

void replay_feed(struct replay *r, uint32_t cycle, const struct noted *noted)
{
    struct player_cycle *c = &r->cycles[cycle];
    /* queues first: what they took is forgotten, and a value that came with them is among it */
    for (int values = 0; values < 2; values++)
        for (uint32_t i = 0; i < noted->run.n_consumed; i++) {
            const struct seqs *consumed = &noted->consumed[i];
            struct stream *s = &r->streams[consumed->stream];
            if ((consumed->readers == READERS_OF_VALUE) != values || s->how[cycle] != HOW_RECORDED) continue;
            feed_recorded(r, s, cycle, consumed);
        }
    for (uint32_t i = 0; i < r->n_streams; i++)
        if (r->streams[i].how[cycle] > HOW_RECORDED) feed_timed(r, &r->streams[i], cycle, noted->run.now);
    for (uint32_t i = 0; i < r->n_changes; i++) {
        const struct parameter_change *change = &r->changes[i];
        if (change->generation <= c->generation || change->generation > noted->run.generation) continue;
        nm_replay_set(r->replay, cycle, change->changes, change->n);
    }
    c->generation = noted->run.generation;
}

/* ---- forgetting ---- */

static struct kept *drop(struct kept *k, uint64_t seq, struct kept ***last, struct kept **first)
{
    while (k && k->seq <= seq) {
        struct kept *next = k->next;
        free(k);
        k = next;
    }
    if (!k) *last = first;
    return k;
}

/* Lets go of what every reader has had. */
void replay_forget(struct replay *r)
{
    for (uint32_t i = 0; i < r->n_streams; i++) {
        struct stream *s = &r->streams[i];
        uint64_t had = UINT64_MAX;
        bool read = false;
        if (s->at == NM_NONE) continue;
        for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
            if (s->how[c] == HOW_NOT) continue;
            if (s->fed[c] < had) had = s->fed[c];
            read = true;
        }
        uint64_t checked = s->replayed ? s->checked : UINT64_MAX;
        s->first = drop(s->first, had < checked ? had : checked, &s->last, &s->first);
        s->anew = drop(s->anew, read ? had : UINT64_MAX, &s->last_anew, &s->anew);
        uint32_t old = 0;
        while (old < s->n_runs && s->runs[old].seq < (read ? had : UINT64_MAX)) old++;
        if (old < 1024) continue;
        memmove(s->runs, s->runs + old, (s->n_runs - old) * sizeof *s->runs);
        s->n_runs -= old;
    }
}
