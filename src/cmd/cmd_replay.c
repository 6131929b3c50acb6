/* nutmeg replay: runs what entered each cycle again, from a log. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/logging.h"
#include "cmd/machine.h"
#include "cmd/progress.h"
#include "cmd/setup.h"
#include "cmd/stopping.h"
#include "record/replay_log.h"

/* ---- on the way ---- */

static void said(void *user, const char *sentence)
{
    (void)user;
    puts(sentence);
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
static void broke(void *user, double seconds, const char *before)
{
    (void)user;
    printf("break at %.3f s%s\n", seconds, before);
    fflush(stdout);
    if (is_traced()) {
        raise(SIGTRAP);
    } else if (isatty(STDIN_FILENO)) {
        printf("press Enter to go on; attach a debugger with: gdb -p %d\n", (int)getpid());
        fflush(stdout);
        for (int c = getchar(); c != '\n' && c != EOF; c = getchar()) {}
    }
}

/* ---- the end ---- */

static void print_rows(const struct replay_result *r)
{
    struct table table;
    table_begin(&table, (const char *const[]){"  topic", ">messages", ">differ", ">not in the log", NULL});
    for (uint32_t i = 0; i < r->n_rows; i++)
        table_row(&table, "  %s\t%llu\t%llu\t%llu", r->rows[i].topic, (unsigned long long)r->rows[i].messages,
                  (unsigned long long)r->rows[i].differ, (unsigned long long)r->rows[i].absent);
    table_print(&table, stdout);
}

/* What came of it, and the exit code. */
static int tell(const struct replay_result *r)
{
    printf("%llu runs in %.2f s", (unsigned long long)r->runs, r->seconds);
    if (r->seconds > 0 && r->length > 0) printf(", %.1f x real time", r->length / r->seconds);
    putchar('\n');
    if (r->causes.n) printf("%snot exact:%s\n%s", ink(stdout, INK_YELLOW), ink(stdout, INK_PLAIN), r->causes.text);
    if (r->by_time) {
        printf("%llu messages made; they cannot be compared: %s\n", (unsigned long long)r->made,
               r->notes ? "the log was played by time" : "the log does not note what each run read");
        return EXIT_OK;
    }
    if (!r->differ && r->compared) {
        printf("%llu messages on %u topics, all identical\n", (unsigned long long)r->compared, r->topics);
        if (r->absent)
            printf("%llu more messages could not be compared, because they are not in the log\n",
                   (unsigned long long)r->absent);
        return EXIT_OK;
    }
    if (!r->differ) {
        printf("%llu messages made; the log has none of them, so there is nothing to compare\n",
               (unsigned long long)r->made);
        return EXIT_OK;
    }
    printf("%llu messages on %u topics, %llu differ; the first: %s\n", (unsigned long long)r->compared, r->topics,
           (unsigned long long)r->differ, r->first_difference);
    print_rows(r);
    return EXIT_FAILED;
}

int cmd_replay(int argc, char **argv)
{
    struct replay_options options = {.stopping = stopping, .said = said, .broke = broke};
    struct texts instances = {0}, remaps = {0}, plugins = {0};
    struct lineup_flags lineup_flags = {0};
    const char *lineup = NULL;
    const struct flag flags[] = {
        TEXT("lineup", &lineup, "L",
             "plays this line-up instead of the recorded one; needed for logs of other programs"),
        TEXTS("instance", &instances, "I", "runs only this instance; may be repeated"),
        TEXTS("plugin", &plugins, "FILE.so",
              "loads this plug-in (.so); plug-ins that the log names are not loaded; may be repeated"),
        TEXTS("remap", &remaps, "FROM:=TO",
              "renames a topic of a log that is played by time; FROM/:=TO/ renames all topics below"),
        SPEED(&options.speed, "speed relative to real time: a number, or max (default)"),
        TEXT("from", &options.from, "T",
             "starts at the snapshot before T (by time: at T): seconds from the start, -S from the end"),
        TEXT("to", &options.to, "T", "ends at T"),
        TEXT("break-at", &options.break_at, "T", "stops before the first run at T, for a debugger, until Enter"),
        TEXT("output", &options.out, "OUT.mcap", "writes what the modules make now as a log, for nutmeg compare",
             .letter = 'o'),
        SWITCH("force", &options.force, "replaces OUT"),
        SWITCH("trust", &options.trust,
               "accepts snapshots recorded by another user or machine; they become the state of modules"),
        LINEUP_FLAGS(&lineup_flags),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg replay", "LOG", flags,
              "Runs a recorded line-up again, or some of its modules, with the recorded inputs of each run, and\n"
              "compares the results with the log. The exit code is 1 if anything differs and 2 if nothing could\n"
              "be played.\n"
              "\n"
              "A log that does not note what each run read (a rosbag2, or a log of nutmeg bag record) is played\n"
              "by time into the line-up given with --lineup. Its results are not compared; -o writes them.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct nm_err err = {0};
    struct replay_result result;
    struct progress line;
    char cpu[128], build[64];
    stop_by_signals();
    setup_begin(&setup);
    options.log = argv[1];
    options.instances = instances.at;
    options.n_instances = instances.n;
    options.remaps = remaps.at;
    options.n_remaps = remaps.n;
    options.registry = &setup.registry;
    options.with = setup_options(&setup, &lineup_flags);
    options.revision = program_revision();
    options.build = program_build(build);
    options.cpu = machine_cpu(cpu, sizeof cpu);
    options.progress = &line.as;
    code = EXIT_USAGE;
    if (!setup_plugins(&setup, &plugins, &err) &&
        (!lineup || (options.lineup = setup_lineup(&setup, lineup, &lineup_flags, &err)))) {
        progress_begin(&line, "replaying");
        int bad = replay(&options, &result, &err);
        progress_end(&line);
        if (!bad && !result.stopped) code = tell(&result);
        if (!bad && result.stopped)
            code = tell_interrupted("the log was not played to its end%s%s%s", options.out ? "; " : "",
                                    options.out ? options.out : "", options.out ? " is not written" : "");
        complain(&result.damage);
        replay_result_free(&result);
    }
    complain(&err);
    nm_lineup_free(options.lineup);
    setup_end(&setup);
    return code;
}
