/* nutmeg replay: runs what entered each cycle again, from a log. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/alloc_guard.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/logging.h"
#include "cmd/machine.h"
#include "cmd/replay.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/TopicStatistics.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- time ---- */

static int read_times(struct replay *r)
{
    struct nm_mcap_query_options time;
    struct bag_choice choice = {.from = r->options->from, .to = r->options->to};
    if (bag_choose(&r->bag, &choice, &time)) return -1;
    r->from = time.from;
    r->to = time.to;
    r->break_at = INT64_MAX;
    if (r->options->break_at) {
        choice = (struct bag_choice){.from = r->options->break_at};
        if (bag_choose(&r->bag, &choice, &time)) return -1;
        r->break_at = (int64_t)time.from - r->offset;
    }
    return 0;
}

static bool is_traced(void)
{
    char line[128];
    bool traced = false;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) traced |= !strncmp(line, "TracerPid:", 10) && atoi(line + 10);
    if (status) fclose(status);
    return traced;
}

/* A debugger gets control here; at a terminal, whoever sits there. */
static void take_break(struct replay *r, const struct nm_run *run)
{
    r->break_at = INT64_MAX;
    printf("break at %.3f s, before run %llu of cycle %s\n", nm_seconds(run->now + r->offset - (int64_t)r->bag.first),
           (unsigned long long)run->run, r->lineup->cycles[run->cycle].name);
    fflush(stdout);
    if (is_traced()) {
        raise(SIGTRAP);
    } else if (isatty(STDIN_FILENO)) {
        printf("Enter goes on; a debugger is attached with: gdb -p %d\n", (int)getpid());
        fflush(stdout);
        for (int c = getchar(); c != '\n' && c != EOF; c = getchar()) {}
    }
}

static void keep_pace(const struct replay *r, int64_t now, double began, int64_t first)
{
    if (r->options->speed <= 0) return;
    double ahead = began + nm_seconds(now - first) / r->options->speed - seconds_now();
    struct timespec nap = {.tv_sec = (time_t)ahead, .tv_nsec = (long)(1e9 * (ahead - floor(ahead)))};
    if (ahead > 0) nanosleep(&nap, NULL);
}

/* ---- runs ---- */

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
        if (noted->run.now >= r->break_at) take_break(r, &noted->run);
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
    double began = seconds_now();
    bag_progress_begin(&line, "replaying");
    for (uint32_t turn = 0; !interrupted; turn++) {
        uint32_t cycle = next_cycle(r, reached, more);
        if (cycle != NM_NONE) {
            int64_t now = r->cycles[cycle].first->run.now;
            if (first == INT64_MIN) first = now;
            keep_pace(r, now, began, first);
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
    r->replay = r->player ? nm_replay_new(r->player, err) : NULL;
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

static int play(struct replay *r, struct nm_err *err)
{
    char cpu[128], build[64];
    if (replay_open(r, err) || open_player(r, err) || replay_plan(r, err) || read_times(r)) return -1;
    if (strcmp(r->revision, program_revision()))
        replay_cause(r, "recorded by revision %s, played by %s", r->revision, program_revision());
    else if (*r->build && strcmp(r->build, program_build(build)))
        replay_cause(r, "recorded by another build of revision %s", r->revision);
    if (strcmp(r->cpu, machine_cpu(cpu, sizeof cpu))) replay_cause(r, "recorded on another type of CPU: %s", r->cpu);
    uint64_t begin = 0;
    if (go_to_snapshot(r, &begin, err)) return -1;
    if (replay_out_begin(r, err)) return -1;
    double began = seconds_now();
    run_all(r, begin);
    double took = seconds_now() - began;
    int bad = 0;
    if (r->writer) {
        bad = nm_mcap_finish(r->writer, err);
        if (bag_out_end(&r->out, !bad)) bad = -1;
    }
    return bad ? -1 : replay_tell(r, took);
}

int cmd_replay(int argc, char **argv)
{
    struct replay_options options = {0};
    const char *speed = NULL;
    const struct flag flags[] = {
        TEXT("lineup", &options.lineup, "L", "plays instead of the recorded one; its cycles have the same names"),
        TEXTS("instance", &options.instances, "I", "only this instance; may be repeated"),
        TEXT("speed", &speed, "X", "against the clock: a number, or max (the default)"),
        TEXT("from", &options.from, "T", "from the snapshot before T on: seconds from the start, -S from the end"),
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
        "holds what they make against the log. Ends with 1 if anything differs.",
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
    if (options.lineup && options.instances.n)
        return usage_wrong(&usage, "--instance is of the recorded line-up, --lineup another one: one of them");
    options.log = argv[1];
    struct setup setup;
    struct nm_err err = {0};
    struct replay r = {.options = &options, .setup = &setup};
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    setup_begin(&setup);
    code = play(&r, &err);
    if (err.n) complain(&err);
    if (code < 0) code = err.n ? EXIT_USAGE : EXIT_FAILED;
    nm_mcap_writer_free(r.writer);
    replay_close(&r);
    setup_end(&setup);
    return code;
}
