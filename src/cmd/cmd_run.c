/* nutmeg run: a line-up in real time (or virtual time), until it is stopped. */
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/guard.h"
#include "cmd/playing.h"

int cmd_run(int argc, char **argv)
{
    struct playing_options options = {.log = LOGGING_NONE};
    const char *speed = NULL;
    bool guarded = false;
    const struct flag flags[] = {
        PLAYING_FLAGS(&options),
        SWITCH("virtual", &options.virtual_time,
               "runs in virtual time: the same seed gives the same results, bit for bit"),
        TEXT("speed", &speed, "X", "with --virtual: speed relative to real time, a number or max (default)"),
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
    if (speed && strcmp(speed, "max")) {
        char *end;
        options.speed = strtod(speed, &end);
        if (*end || !(options.speed > 0) || options.speed > 1e6)
            return usage_wrong(&usage, "--speed wants a number above 0, or max, not '%s'", speed);
    }
    if (speed && !options.virtual_time) return usage_wrong(&usage, "--speed needs --virtual");
    options.lineup = argv[1];
    if (guarded && (code = guard_begin("nutmeg run")) >= 0) return code;
    struct setup setup;
    setup_begin(&setup);
    code = playing_run(&setup, &options);
    setup_end(&setup);
    return code;
}
