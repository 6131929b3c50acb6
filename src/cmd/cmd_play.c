/* nutmeg play: what `make play` calls. Plays a training session in the simulator, or a line-up for a while, and ends
 * with the score. */
#include <stdlib.h>

#include "cmd/commands.h"
#include "cmd/play_training.h"

int cmd_play(int argc, char **argv)
{
    const double line_up = 20; /* s */
    struct playing_options options = {.seconds = -1, .score = true, .log = LOGGING_NONE};
    const char *told = getenv("NM_PLAY_SECONDS");
    const struct flag flags[] = {
        PLAYING_FLAGS(&options),
        SWITCH("virtual", &options.virtual_time, "runs in virtual time, as fast as possible"),
        LINEUP_FLAGS(&options.flags),
        {0},
    };
    const struct usage usage = {
        "nutmeg play",
        "[LINEUP]",
        "Plays a training session in the simulator: robots walk, fall, get up and shoot. Writes pictures\n"
        "to out/ and prints the score. With a LINEUP it plays that line-up for 20 seconds, with a status\n"
        "line of cycles, rates and missed deadlines. NM_PLAY_SECONDS sets the duration of both.",
        flags,
        0,
        1};
    if (told && *told) {
        char *end;
        options.seconds = strtod(told, &end);
        if (*end || !(options.seconds >= 0) || options.seconds > 1e9)
            return usage_wrong(&usage, "NM_PLAY_SECONDS is not a number of seconds: '%s'", told);
    }
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (logging_check(&usage, &options.log)) return EXIT_USAGE;
    struct setup setup;
    setup_begin(&setup);
    bool session = !n && play_training;
    if (options.seconds < 0) options.seconds = session ? 0 : line_up;
    options.lineup = n ? argv[1] : "play";
    code = session ? play_training(&setup, &options) : playing_run(&setup, &options);
    setup_end(&setup);
    return code;
}
