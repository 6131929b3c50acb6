/* nutmeg play: what `make play` calls. Plays a match or a training session in the simulator, or a line-up for a while,
 * and ends with the score. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/play_match.h"
#include "cmd/play_training.h"

/* "red:loss=0.3,delay=300ms" changes the air of one team; -1 with a sentence. */
static int read_air(const char *text, struct nm_air_options air[2], struct nm_err *err)
{
    static const char *const names[2] = {"red", "blue"};
    char words[128], *rest = words, *end;
    uint32_t team = 0;
    if (snprintf(words, sizeof words, "%s", text) >= (int)sizeof words) return nm_fail(err, "--air: this is too long");
    const char *who = strsep(&rest, ":");
    while (team < 2 && strcmp(who, names[team])) team++;
    if (team == 2 || !rest)
        return nm_fail(err, "--air wants red:loss=0.3,delay=300ms or the same of blue, not '%s'", text);
    for (char *word; (word = strsep(&rest, ","));) {
        bool loss = !strncmp(word, "loss=", 5), delay = !strncmp(word, "delay=", 6);
        double value = loss || delay ? strtod(strchr(word, '=') + 1, &end) : -1;
        if (loss && !*end && value >= 0 && value <= 1)
            air[team].loss = value;
        else if (delay && !strcmp(end, "ms") && value >= 0 && value <= 10000)
            air[team].delay = nm_ns(1e-3 * value);
        else
            return nm_fail(err,
                           "--air: '%s' is neither a loss from 0 to 1, such as loss=0.3, nor a delay of up to 10 s, "
                           "such as delay=300ms",
                           word);
    }
    return 0;
}

int cmd_play(int argc, char **argv)
{
    const double line_up = 20; /* s */
    struct playing_options options = {.seconds = -1, .score = true, .log = LOGGING_NONE};
    struct match_options match = {.league = "hsl", .half = 120, .air = {MATCH_AIR, MATCH_AIR}};
    const char *told = getenv("NM_PLAY_SECONDS");
    struct texts air = {0};
    struct nm_err err = {0};
    double pace = 1;
    const struct flag flags[] = {
        TEXT("league", &match.league, "NAME", "rules of a match: hl, spl or hsl (default: hsl)"),
        TIME("half", &match.half, 1e-3, 60000, "length of a half: 10m, 90s, 2 (minutes) (default: 2m)"),
        SPEED(&pace, "speed of a match relative to real time: a number, or max (default: 1)"),
        TEXT("field", &match.field, "NAME",
             "field of a match: kid, spl, hsl-small, … (default: kid, in the spl its own)"),
        WHOLE("players", &match.players, 1, 7, "N", "robots of a team (default: the league's)"),
        TEXT("fidelity", &match.fidelity, "HOW",
             "camera: robots see pictures; percept: they are told what they would see; flat: discs on a plane, much "
             "faster (default: camera if this machine is fast enough for it, else percept)"),
        TEXT("red", &match.teams[0], "WHO", "the red team: a robot, a line-up, or both, such as darwin,beginner"),
        TEXT("blue", &match.teams[1], "WHO", "the blue team (default of both: kid70 with the line-up match_policy)"),
        TEXTS("air", &air, "WHO:HOW",
              "network of a team, such as red:loss=0.3,delay=300ms; may be repeated (default: 2 % are lost, 5 ms)"),
        SWITCH("knock-out", &match.knock_out, "a draw is followed by extra time and a shoot-out"),
        PLAYING_FLAGS(&options),
        SWITCH("virtual", &options.virtual_time, "runs in virtual time, as fast as possible"),
        LINEUP_FLAGS(&options.flags),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg play", "[match|training|LINEUP]", flags,
              "match (default): two teams in the simulator, with a referee. training: robots walk, fall, get up\n"
              "and shoot. Both write pictures to out/ and end with what was measured and the score. With a\n"
              "LINEUP it plays that line-up for 20 seconds, with a status line of cycles, rates and missed\n"
              "deadlines. NM_PLAY_SECONDS ends each of them earlier.");
    if (told && *told) {
        char *end;
        options.seconds = strtod(told, &end);
        if (*end || !(options.seconds >= 0) || options.seconds > 1e9)
            return usage_wrong(&usage, "NM_PLAY_SECONDS is not a number of seconds: '%s'", told);
    }
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (logging_check(&usage, &options.log)) return EXIT_USAGE;
    for (uint32_t i = 0; i < air.n; i++)
        if (read_air(air.at[i], match.air, &err))
            return usage_wrong(&usage, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    if (options.virtual_time) pace = 0;
    struct setup setup;
    setup_begin(&setup);
    const char *what = n ? argv[1] : play_match ? "match" : "play";
    bool session = !strcmp(what, "training") && play_training, plays = !strcmp(what, "match") && play_match;
    if (options.seconds < 0) options.seconds = session || plays ? 0 : line_up;
    options.lineup = what;
    code = plays     ? play_match(&setup, &options, &match, pace)
           : session ? play_training(&setup, &options)
                     : playing_run(&setup, &options);
    setup_end(&setup);
    return code;
}
