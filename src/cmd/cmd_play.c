/* nutmeg play: what `make play` calls. Plays a line-up for a while and ends with the score that its modules kept. */
#include <stdlib.h>

#include "cmd/commands.h"
#include "cmd/playing.h"

int cmd_play(int argc, char **argv)
{
    struct playing_options options = {.seconds = 20, .score = true};
    const char *told = getenv("NM_PLAY_SECONDS");
    const struct flag flags[] = {
        PLAYING_FLAGS(&options),
        SWITCH("virtual", &options.virtual_time, "in virtual time, as fast as it goes"),
        LINEUP_FLAGS(&options.flags),
        {0},
    };
    const struct usage usage = {
        "nutmeg play",
        "[LINEUP]",
        "Plays lineups/play.yaml, or another line-up, for 20 seconds (or NM_PLAY_SECONDS) with a\n"
        "status line of cycles, rates and misses, and tells the score.",
        flags,
        0,
        1};
    if (told && *told) {
        char *end;
        options.seconds = strtod(told, &end);
        if (*end || !(options.seconds >= 0) || options.seconds > 1e9)
            return usage_wrong(&usage, "NM_PLAY_SECONDS is no number of seconds: '%s'", told);
    }
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    options.lineup = n ? argv[1] : "play";
    struct setup setup;
    setup_begin(&setup);
    code = playing_run(&setup, &options);
    setup_end(&setup);
    return code;
}
