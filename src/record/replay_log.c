/* Runs a recorded line-up again: chooses the line-up, gives every run the messages that the log says it consumed, in
 * the order of the recorded runs, and compares what comes out with the log byte for byte. */
#include "record/replay_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "body/robot.h"
#include "codec/bag_yaml.h"
#include "codec/cdr.h"
#include "codec/jpeg.h"
#include "edge/dds/stamps.h"
#include "edge/log/about.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/TopicStatistics.h"
#include "record/replay_inside.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"

/* ---- the line-up that is played ---- */

/* The recorded values, as settings: those that the line-up still has. */
static void recorded_values(struct replay *r, const struct nm_lineup *lineup, const char *text,
                            struct nm_lineup_options *options)
{
    uint32_t lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    const char **set = nm_take_n(&r->arena, const char *, lines + options->n_set + 1);
    uint32_t n = 0;
    char *rest = nm_take_text(&r->arena, text);
    for (char *line; (line = strsep(&rest, "\n"));) {
        char name[128], param[128];
        if (sscanf(line, "%127[^.=].%127[^=]=", name, param) != 2) continue;
        uint32_t i = nm_lineup_instance(lineup, name);
        if (i == NM_NONE) continue;
        if (nm_param_find(lineup->instances[i].module, param, NULL) < 0)
            replay_cause(r, "%s.%s is no longer a parameter", name, param);
        else
            set[n++] = line;
    }
    for (uint32_t i = 0; i < options->n_set; i++) set[n++] = options->set[i]; /* the command line wins */
    options->set = set;
    options->n_set = n;
}

/* What comes from the log is data: neither code nor a robot's folder is opened because it says so. */
static struct nm_lineup *load(struct replay *r, const char *text, const char *values, struct nm_err *err)
{
    const char *name = nm_take_format(&r->arena, "%s.yaml", r->options->log);
    struct nm_lineup_options options = r->options->with, plain;
    options.foreign = !r->by_time;
    plain = options;
    plain.n_set = 0; /* they may be of instances that are not played */
    struct nm_lineup *lineup = nm_lineup_parse(text, strlen(text), name, r->options->registry, &plain, err);
    if (!lineup) return NULL;
    recorded_values(r, lineup, values, &options);
    struct nm_lineup *with = nm_lineup_parse(text, strlen(text), name, r->options->registry, &options, err);
    nm_lineup_free(lineup);
    return with;
}

/* Some instances of a line-up. */
static struct nm_lineup *load_some(struct replay *r, const struct nm_lineup *all, const char *values,
                                   struct nm_err *err)
{
    bool *chosen = nm_take_n(&r->arena, bool, all->n_instances + 1);
    for (uint32_t i = 0; i < r->options->n_instances; i++) {
        const char *name = r->options->instances[i];
        uint32_t instance = nm_lineup_instance(all, name);
        if (instance == NM_NONE) {
            const char **names = nm_take_n(&r->arena, const char *, all->n_instances + 1);
            for (uint32_t k = 0; k < all->n_instances; k++) names[k] = all->instances[k].name;
            nm_fail(err, "the %s has no instance '%s'%s", all == r->was ? "log's line-up" : "line-up", name,
                    nm_hint(name, names, all->n_instances).text);
            return NULL;
        }
        chosen[instance] = true;
    }
    char *text;
    size_t n;
    FILE *to = nm_memstream(&text, &n);
    nm_lineup_print(all, chosen, to);
    fclose(to);
    struct nm_lineup *lineup = load(r, text, values, err);
    free(text);
    return lineup;
}

/* What its instances have for values, as a log has them. */
static const char *values_of(struct replay *r, const struct nm_lineup *lineup)
{
    char *text, value[NM_VALUE_PRINT];
    size_t n;
    FILE *to = nm_memstream(&text, &n);
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        for (uint32_t p = 0; p < lineup->instances[i].n_params; p++) {
            const struct nm_param *param = &lineup->instances[i].module->params[p];
            nm_value_print(param, &lineup->instances[i].values[p], value, sizeof value);
            fprintf(to, "%s.%s=%s\n", lineup->instances[i].name, param->name, value);
        }
    fclose(to);
    const char *kept = nm_take_text(&r->arena, text);
    free(text);
    return kept;
}

static int load_recorded(struct replay *r, struct nm_err *err)
{
    const char *text = replay_attachment(r, "lineup.yaml", err);
    const char *values = replay_attachment(r, "parameters.txt", err);
    if (!text || !values) return -1;
    r->was = load(r, text, values, err);
    if (!r->was) return -1;
    if (!r->lineup) r->lineup = r->was;
    if (r->options->n_instances) r->lineup = load_some(r, r->was, values, err);
    if (!r->lineup) return -1;
    char digest[65] = "";
    if (r->lineup->robot_folder) nm_folder_digest(r->lineup->robot_folder, digest);
    if (r->digest && strcmp(digest, r->digest))
        replay_cause(r, "the folder of the robot has changed since the recording");
    return 0;
}

/* The first cycle that the log has no runs of, NULL without one. */
static const char *unknown_cycle(const struct replay *r)
{
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
        bool known = false;
        for (uint32_t t = 0; t < r->n_tables; t++) known |= !strcmp(r->tables[t].cycle, r->lineup->cycles[c].name);
        if (!known) return r->lineup->cycles[c].name;
    }
    return NULL;
}

int replay_lineup(struct replay *r, struct nm_err *err)
{
    const struct replay_options *o = r->options;
    r->lineup = o->lineup;
    if (!r->n_tables && !o->lineup)
        return nm_fail(err,
                       "%s: the log does not note what each run read, as logs of nutmeg run --log do; --lineup L plays "
                       "its messages into a line-up by time",
                       o->log);
    const char *unknown = o->lineup && r->n_tables ? unknown_cycle(r) : NULL;
    if (unknown) replay_cause(r, "the log has no runs of cycle %s, so everything is played by time", unknown);
    r->by_time = !r->n_tables || unknown;
    if (!r->by_time && o->lineup && o->n_instances)
        return nm_fail(err, "use either --instance (from the recorded line-up) or --lineup (another one), not both");
    if (!r->by_time && o->n_remaps)
        return nm_fail(err, "--remap works only with logs that are played by time; this log notes what each run read");
    if (!r->by_time) return load_recorded(r, err);
    if (!o->n_instances) return 0;
    r->lineup = load_some(r, o->lineup, values_of(r, o->lineup), err);
    return r->lineup ? 0 : -1;
}

/* ---- which part of the log is played, how fast, and where it stops ---- */

static int replay_times(struct replay *r, struct nm_err *err)
{
    struct nm_mcap_query_options time;
    struct bag_choice choice = {.from = r->options->from, .to = r->options->to};
    if (bag_choose(&r->bag, &choice, &time, err)) return -1;
    r->from = time.from;
    r->to = time.to;
    r->break_at = INT64_MAX;
    if (r->options->break_at) {
        choice = (struct bag_choice){.from = r->options->break_at};
        if (bag_choose(&r->bag, &choice, &time, err)) return -1;
        if (time.from <= REPLAY_TIME_MOST) r->break_at = (int64_t)time.from;
    }
    return 0;
}

void replay_break(struct replay *r, int64_t now, const char *before)
{
    r->break_at = INT64_MAX;
    if (r->options->broke)
        r->options->broke(r->options->user, nm_seconds(now + r->offset - (int64_t)r->bag.first), before);
}

void replay_pace(const struct replay *r, int64_t now, double began, int64_t first)
{
    if (r->options->speed <= 0) return;
    double ahead = began + nm_seconds(now - first) / r->options->speed - nm_clock_seconds();
    struct timespec nap = {.tv_sec = (time_t)ahead, .tv_nsec = (long)(1e9 * (ahead - floor(ahead)))};
    if (ahead > 0) nanosleep(&nap, NULL);
}

/* ---- which messages enter which run ----
 *
 * A run gets exactly the messages that the log says it consumed. They come from the log, or, if their maker is played
 * again too, from the run of this maker that made them in the recording. So later modules see what a changed module
 * makes, and an unchanged line-up repeats itself bit for bit. */

static const int64_t patience = 2000000000; /* ns of the log that are read on for a message that is not there yet */

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

static int replay_plan(struct replay *r, struct nm_err *err)
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

/* ---- whether everything has been read that a run needs ---- */

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

static bool replay_ready(struct replay *r, uint32_t cycle, uint64_t reached, bool more)
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

/* ---- giving messages to a cycle ---- */

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
static void replay_user_settings(struct replay *r, uint32_t cycle)
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

static void replay_feed(struct replay *r, uint32_t cycle, const struct noted *noted)
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
static void replay_forget(struct replay *r)
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

/* ---- the new log of what the replay makes ---- */

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

/* ---- comparing with the log ---- */

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
    void *old = nm_calloc(1, type->size);
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
    if (!s->copy) s->copy = nm_calloc(1, type->size);
    nm_copy(type, s->copy, message);
    nm_shift_times(type, s->copy, r->offset);
    return s->copy;
}

static void keep_anew(struct replay *r, struct stream *s, const struct nm_slot *slot, uint64_t run, size_t n)
{
    bool read = false;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) read |= s->how[c] != HOW_NOT;
    if (!read) return;
    struct kept *kept = nm_malloc(sizeof *kept + n);
    *kept = (struct kept){
        .seq = slot->seq, .run = run, .time = slot->time, .caller = slot->caller, .call = slot->call, .n = n};
    memcpy(kept->bytes, r->bytes, n);
    if (!s->last_anew) s->last_anew = &s->anew;
    *s->last_anew = kept;
    s->last_anew = &kept->next;
}

static void replay_made(void *user, uint32_t cycle, uint32_t topic, const void *message)
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
static void replay_counts(struct replay *r, uint32_t cycle, const struct noted *noted)
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

/* ---- the result ---- */

static void replay_sum(struct replay *r)
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

/* ---- runs ---- */

static void take_break(struct replay *r, const struct nm_run *run)
{
    char before[128];
    snprintf(before, sizeof before, ", before run %llu of cycle %.60s", (unsigned long long)run->run,
             r->lineup->cycles[run->cycle].name);
    replay_break(r, run->now, before);
}

static void run_one(struct replay *r, uint32_t cycle)
{
    struct player_cycle *c = &r->cycles[cycle];
    struct noted *noted = c->first;
    c->first = noted->next;
    if (!c->first) c->last = &c->first;
    bool skip = noted->run.run <= c->begins;
    if (!skip && c->ran && noted->run.run != c->ran + 1)
        replay_cause(r, "the log has lost notes on runs of cycle %s", r->lineup->cycles[cycle].name);
    if (!skip && !c->ran && noted->run.run != 1)
        replay_cause(r, "the log begins with run %llu of cycle %s; here its modules start from their initial state",
                     (unsigned long long)noted->run.run, r->lineup->cycles[cycle].name);
    if (!skip) {
        if (c->begins && c->ran == c->begins) replay_user_settings(r, cycle);
        if (noted->run.now + r->offset >= r->break_at) take_break(r, &noted->run);
        replay_feed(r, cycle, noted);
        c->ran = noted->run.run;
        nm_replay_run(r->replay, &noted->run, replay_made, r);
        replay_counts(r, cycle, noted);
        r->result->runs++;
    } else { /* before the snapshot: only what it has had counts */
        for (uint32_t i = 0; i < noted->run.n_consumed; i++)
            r->streams[noted->consumed[i].stream].fed[cycle] = noted->consumed[i].last;
    }
    free(noted->consumed);
    free(noted->made);
    free(noted);
}

/* The run that is due next: the earliest whose messages are there. */
static uint32_t next_cycle(struct replay *r, uint64_t reached, bool more)
{
    uint32_t next = NM_NONE;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
        const struct noted *head = r->cycles[c].first;
        if (!head || (next != NM_NONE && head->run.now >= r->cycles[next].first->run.now)) continue;
        if (replay_ready(r, c, reached, more)) next = c;
    }
    return next;
}

static void run_all(struct replay *r, uint64_t begin)
{
    struct nm_mcap_query_options time = {.from = begin, .to = r->to};
    bool more = true;
    uint64_t reached = 0;
    int64_t first = INT64_MIN;
    for (uint32_t p = 0; p < r->bag.n; p++) memset(r->bag.parts[p].chosen, true, r->bag.parts[p].contents.n_channels);
    struct bag_reader *reader = bag_reader_new(&r->bag, &time);
    double began = nm_clock_seconds();
    for (uint32_t turn = 0; !r->options->stopping(); turn++) {
        uint32_t cycle = next_cycle(r, reached, more);
        if (cycle != NM_NONE) {
            int64_t now = r->cycles[cycle].first->run.now;
            if (first == INT64_MIN) first = now;
            replay_pace(r, now, began, first);
            run_one(r, cycle);
        } else if (more) {
            replay_read(r, reader, &more, &reached);
            replay_forget(r);
            bag_tell(&r->bag, reached - r->bag.first, r->bag.last - r->bag.first + 1);
        } else {
            break;
        }
    }
    uint32_t damaged = bag_reader_free(reader);
    if (damaged) replay_cause(r, "%u chunks of the log cannot be read", damaged);
}

/* ---- life ---- */

static int open_player(struct replay *r, struct nm_err *err)
{
    const struct nm_body *body = NULL;
    if (r->lineup->robot_folder && !(body = nm_body_load(&r->arena, r->lineup->robot_folder, err))) return -1;
    r->player = nm_player_new(r->lineup,
                              &(struct nm_player_options){.name = r->player_name, .seed = r->seed, .body = body}, err);
    if (!r->player) return -1;
    if (r->by_time) return 0;
    r->replay = nm_replay_new(r->player, err);
    r->cycles = nm_take_n(&r->arena, struct player_cycle, r->lineup->n_cycles + 1);
    size_t most = sizeof(CycleRecord) > sizeof(TopicStatistics) ? sizeof(CycleRecord) : sizeof(TopicStatistics);
    r->scratch = nm_calloc(1, most);
    return r->replay ? 0 : -1;
}

/* Where asked for, or where a log that has no beginning can begin. */
static int go_to_snapshot(struct replay *r, uint64_t *begin, struct nm_err *err)
{
    const uint64_t margin = 2000000000; /* what was made before the snapshot may have been consumed after it */
    int64_t at = r->options->from ? replay_snapshots(r, (int64_t)r->from - r->offset, err) : -1;
    if (at < 0 && !err->n) {
        at = replay_beginning(r);
        if (at < 0 && r->options->from)
            replay_say(r, "there is no snapshot before %s; starting at the beginning of the log", r->options->from);
        if (at < 0) return 0;
        at = replay_snapshots(r, at, err);
    }
    if (err->n) return -1;
    uint64_t snapshot = (uint64_t)(at + r->offset);
    *begin = snapshot > margin ? snapshot - margin : 0;
    if (!r->from) r->from = snapshot;
    replay_say(r, "starting at the snapshot of %.3f s", (double)(snapshot - r->bag.first) * 1e-9);
    return 0;
}

static void compare_programs(struct replay *r)
{
    const struct replay_options *o = r->options;
    if (strcmp(r->revision, o->revision))
        replay_cause(r, "the log was recorded by revision %s and is played by %s", r->revision, o->revision);
    else if (*r->build && strcmp(r->build, o->build))
        replay_cause(r, "the log was recorded by another build of revision %s", r->revision);
    if (strcmp(r->cpu, o->cpu)) replay_cause(r, "the log was recorded on another type of CPU: %s", r->cpu);
}

static int play(struct replay *r, struct nm_err *err)
{
    if (replay_open(r, err) || open_player(r, err) || replay_times(r, err)) return -1;
    r->result->by_time = r->by_time;
    r->result->notes = r->n_tables;
    if (r->by_time) return replay_timed(r, err);
    if (replay_plan(r, err)) return -1;
    compare_programs(r);
    uint64_t begin = 0;
    if (go_to_snapshot(r, &begin, err)) return -1;
    if (replay_out_begin(r, err)) return -1;
    double began = nm_clock_seconds();
    run_all(r, begin);
    r->result->seconds = nm_clock_seconds() - began;
    if (!r->from && !r->to) r->result->length = (double)(r->bag.last - r->bag.first) * 1e-9;
    replay_sum(r);
    return replay_out_end(r, err);
}

int replay(const struct replay_options *options, struct replay_result *result, struct nm_err *err)
{
    struct replay r = {.options = options, .result = result};
    memset(result, 0, sizeof *result);
    int played = play(&r, err);
    for (uint32_t i = 0; r.player && i < r.lineup->n_instances && i < REPLAY_STEPS; i++) {
        struct nm_step_stats stats;
        nm_player_step_stats(r.player, i, &stats);
        snprintf(result->steps[i].instance, sizeof result->steps[i].instance, "%s", r.lineup->instances[i].name);
        result->steps[i].busy = (double)stats.busy.mean;
        result->n_steps = i + 1;
    }
    result->damage = r.bag.damage;
    replay_close(&r);
    return played;
}

void replay_result_free(struct replay_result *result) { nm_arena_free(&result->arena); }
