/* Runs what entered each cycle again, in the order of the recorded runs. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "body/robot.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/TopicStatistics.h"
#include "record/replay_timed.h"

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
                              &(struct nm_player_options){.name = r->player_name,
                                                          .seed = r->seed,
                                                          .body = body,
                                                          .enter = r->options->enter,
                                                          .leave = r->options->leave},
                              err);
    if (!r->player) return -1;
    if (r->by_time) return 0;
    r->replay = nm_replay_new(r->player, err);
    r->cycles = nm_take_n(&r->arena, struct player_cycle, r->lineup->n_cycles + 1);
    size_t most = sizeof(CycleRecord) > sizeof(TopicStatistics) ? sizeof(CycleRecord) : sizeof(TopicStatistics);
    r->scratch = calloc(1, most);
    if (!r->scratch) abort();
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
    result->damage = r.bag.damage;
    replay_close(&r);
    return played;
}

void replay_result_free(struct replay_result *result) { nm_arena_free(&result->arena); }
