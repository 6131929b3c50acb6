/* nutmeg replay: runs what entered each cycle again, from a log. */
#include <stdlib.h>
#include <string.h>

#include "cmd/alloc_guard.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/logging.h"
#include "cmd/machine.h"
#include "cmd/replay_timed.h"
#include "cmd/stopping.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/TopicStatistics.h"

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
        replay_cause(r, "notes of runs of cycle %s are missing", r->lineup->cycles[cycle].name);
    if (!skip && !c->ran && noted->run.run != 1)
        replay_cause(r, "the log begins with run %llu of cycle %s: its modules begin anew",
                     (unsigned long long)noted->run.run, r->lineup->cycles[cycle].name);
    if (!skip) {
        if (c->begins && c->ran == c->begins) replay_user_settings(r, cycle);
        if (noted->run.now + r->offset >= r->break_at) take_break(r, &noted->run);
        replay_feed(r, cycle, noted);
        c->ran = noted->run.run;
        nm_replay_run(r->replay, &noted->run, replay_made, r);
        replay_counts(r, cycle, noted);
        r->runs++;
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
    struct bag_progress line;
    double began = replay_seconds();
    bag_progress_begin(&line, "replaying");
    for (uint32_t turn = 0; !stopping(); turn++) {
        uint32_t cycle = next_cycle(r, reached, more);
        if (cycle != NM_NONE) {
            int64_t now = r->cycles[cycle].first->run.now;
            if (first == INT64_MIN) first = now;
            replay_pace(r, now, began, first);
            run_one(r, cycle);
        } else if (more) {
            replay_read(r, reader, &more, &reached);
            replay_forget(r);
            bag_progress_tell(&line, reached - r->bag.first, r->bag.last - r->bag.first + 1);
        } else {
            break;
        }
    }
    bag_progress_end(&line);
    uint32_t damaged = bag_reader_free(reader);
    if (damaged) replay_cause(r, "%u chunks of the log cannot be read", damaged);
    if (stopping()) replay_cause(r, "stopped before the end of the log");
}

/* ---- life ---- */

static int open_player(struct replay *r, struct nm_err *err)
{
    const struct nm_body *body = NULL;
    if (r->lineup->robot_folder && !(body = setup_body(r->setup, r->lineup, err))) return -1;
    r->player = nm_player_new(
        r->lineup,
        &(struct nm_player_options){
            .name = r->player_name, .seed = r->seed, .body = body, .enter = nm_guard_enter, .leave = nm_guard_leave},
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
    int64_t at = r->options->from ? (int64_t)r->from - r->offset : replay_beginning(r);
    if (at < 0 && !r->options->from) return 0;
    at = replay_snapshots(r, at, err);
    if (err->n) return -1;
    uint64_t snapshot = (uint64_t)(at + r->offset);
    *begin = snapshot > margin ? snapshot - margin : 0;
    if (!r->from) r->from = snapshot;
    printf("begins at the snapshot of %.3f s\n", (double)(snapshot - r->bag.first) * 1e-9);
    return 0;
}

static void compare_programs(struct replay *r)
{
    char cpu[128], build[64];
    if (strcmp(r->revision, program_revision()))
        replay_cause(r, "recorded by revision %s, played by %s", r->revision, program_revision());
    else if (*r->build && strcmp(r->build, program_build(build)))
        replay_cause(r, "recorded by another build of revision %s", r->revision);
    if (strcmp(r->cpu, machine_cpu(cpu, sizeof cpu))) replay_cause(r, "recorded on another type of CPU: %s", r->cpu);
}

static int play(struct replay *r, struct nm_err *err)
{
    if (replay_open(r, err) || open_player(r, err) || replay_times(r)) return -1;
    if (r->by_time) return replay_timed(r, err);
    if (replay_plan(r, err)) return -1;
    compare_programs(r);
    uint64_t begin = 0;
    if (go_to_snapshot(r, &begin, err)) return -1;
    if (replay_out_begin(r, err)) return -1;
    double began = replay_seconds();
    run_all(r, begin);
    double took = replay_seconds() - began;
    return replay_out_end(r, err) ? -1 : replay_tell(r, took);
}

int cmd_replay(int argc, char **argv)
{
    struct replay_options options = {0};
    const char *speed = NULL;
    const struct flag flags[] = {
        TEXT("lineup", &options.lineup, "L", "plays instead of the recorded one, or into which another log is played"),
        TEXTS("instance", &options.instances, "I", "only this instance; may be repeated"),
        TEXTS("remap", &options.remaps, "FROM:=TO",
              "a topic of a log that is played by time; with '/' at the ends: all below"),
        TEXT("speed", &speed, "X", "against the clock: a number, or max (the default)"),
        TEXT("from", &options.from, "T",
             "from the snapshot before T on, by time from T: seconds from the start, -S from the end"),
        TEXT("to", &options.to, "T", "up to T"),
        TEXT("break-at", &options.break_at, "T", "stops before the first run at T: for a debugger, or until Enter"),
        TEXT("output", &options.out, "OUT.mcap", "what the modules make now, as a log for nutmeg compare",
             .letter = 'o'),
        SWITCH("force", &options.force, "replaces OUT"),
        LINEUP_FLAGS(&options.flags),
        {0},
    };
    const struct usage usage = {
        "nutmeg replay",
        "LOG",
        "Runs a recorded line-up, or some of its modules, again with what entered each cycle, and\n"
        "holds what they make against the log. Ends with 1 if anything differs. A log without notes\n"
        "of runs, such as a rosbag2 or one of nutmeg bag record, is played by its times into the\n"
        "line-up of --lineup: nothing is held against it, -o keeps what came out.",
        flags,
        1,
        1};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (speed && strcmp(speed, "max")) {
        char *end;
        options.speed = strtod(speed, &end);
        if (*end || !(options.speed > 0) || options.speed > 1e6)
            return usage_wrong(&usage, "--speed wants a number above 0, or max, not '%s'", speed);
    }
    options.log = argv[1];
    struct setup setup;
    struct nm_err err = {0};
    struct replay r = {.options = &options, .setup = &setup};
    stop_by_signals();
    setup_begin(&setup);
    code = play(&r, &err);
    if (err.n) complain(&err);
    if (code < 0) code = err.n ? EXIT_USAGE : EXIT_FAILED;
    nm_mcap_writer_free(r.writer);
    replay_close(&r);
    setup_end(&setup);
    return code;
}
