/* nutmeg run: a line-up in real time (or virtual time), until it is stopped. */
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/guard.h"
#include "cmd/playing.h"

int cmd_run(int argc, char **argv)
{
    struct playing_options options = {.speed = -1, .log = LOGGING_NONE};
    bool guarded = false;
    const struct flag flags[] = {
        PLAYING_FLAGS(&options),
        SWITCH("virtual", &options.virtual_time,
               "runs in virtual time: the same seed gives the same results, bit for bit"),
        SPEED(&options.speed, "with --virtual: speed relative to real time, a number or max (default)"),
        SWITCH("guard", &guarded, "starts the player again when it crashes or is killed, for matches"),
        LINEUP_FLAGS(&options.flags),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg run", "LINEUP", flags,
              "Runs a line-up until Ctrl-C, SIGTERM or nutmeg stop. Shows its status while it runs, and a\n"
              "summary at the end. LINEUP is a file or a name in lineups/.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (logging_check(&usage, &options.log)) return EXIT_USAGE;
    if (options.speed >= 0 && !options.virtual_time) return usage_wrong(&usage, "--speed needs --virtual");
    options.lineup = argv[1];
    if (guarded && (code = guard_begin("nutmeg run")) >= 0) return code;
    struct setup setup;
    setup_begin(&setup);
    code = playing_run(&setup, &options);
    setup_end(&setup);
    return code;
}
