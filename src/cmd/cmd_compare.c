/* nutmeg compare: what a changed module, parameter or machine did to the same game. */
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/compare.h"
#include "cmd/console.h"

/* As diff ends: 1 is a difference, so what could not be compared at all is 2. */
enum { EXIT_DIFFERS = 1 };

static int work(struct compare *c, const char *const paths[2], const struct bag_choice *choice, const char *plot,
                bool json, uint32_t most)
{
    struct nm_err err = {0};
    int code = EXIT_USAGE;
    bool open[2] = {false, false};
    for (int s = 0; s < 2; s++) open[s] = !bag_open(&c->bags[s], paths[s]);
    if (open[LOG_A] && open[LOG_B] && !bag_choose(&c->bags[LOG_A], choice, &c->time) && !compare_match(c)) {
        compare_pairs(c);
        code = compare_same(c) ? EXIT_OK : EXIT_DIFFERS;
        if (json)
            compare_json(c);
        else
            compare_print(c, most);
        if (plot && compare_plot(c, plot, &err)) {
            complain(&err);
            code = EXIT_USAGE;
        }
    }
    for (int s = 0; s < 2; s++)
        if (open[s]) bag_close(&c->bags[s]);
    for (uint32_t t = 0; t < c->n; t++) free(c->at[t].marks[LOG_A]), free(c->at[t].marks[LOG_B]);
    nm_arena_free(&c->arena);
    return code;
}

int cmd_compare(int argc, char **argv)
{
    struct compare c = {0};
    struct bag_choice time = {0};
    const char *plot = NULL, *match = "auto";
    bool json = false;
    int64_t most = 12;
    const struct flag flags[] = {
        NUMBER("tolerance", &c.tolerance, 0, 1e300, "X",
               "numbers that are X or less apart are the same; 0 unless given"),
        TEXTS("topics", &c.topics, "A,B", "only these topics: names, parts of names or patterns with * and ?"),
        TEXTS("leave", &c.leave, "PATH", "members that are not compared, such as header.stamp; may be repeated"),
        TEXT("from", &time.from, "T", "from T on: seconds from the start of A, -S from its end, or @UNIXTIME"),
        TEXT("to", &time.to, "T", "up to T, without it"),
        TEXT("match", &match, "HOW", "which messages belong together: time, sequence, order, or auto"),
        WHOLE("members", &most, 0, 1e6, "N", "lists at most N members of a topic; 12 unless given"),
        SWITCH("json", &json, "one JSON object"),
        TEXT("plot", &plot, "FILE", "FILE.svg or FILE.png: what differs most, over time"),
        {0},
    };
    const struct usage usage = {
        "nutmeg compare",
        "A B",
        "Compares two logs topic by topic, such as a recording and its replay: where they differ first,\n"
        "how often and by how much. Types that have changed meet by the names of their members.\n"
        "Ends with 0 if they are the same, 1 if they differ, 2 if they cannot be compared.",
        flags,
        2,
        2};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    for (c.match = MATCH_AUTO; c.match <= MATCH_ORDER && strcmp(match, match_words[c.match]);) c.match++;
    if (c.match > MATCH_ORDER) return usage_wrong(&usage, "--match is auto, time, sequence or order, not '%s'", match);
    size_t ending = plot ? strlen(plot) : 0;
    if (plot && (ending < 5 || (strcmp(plot + ending - 4, ".svg") && strcmp(plot + ending - 4, ".png"))))
        return usage_wrong(&usage, "--plot %s: a picture is an .svg or a .png", plot);
    c.plot = plot;
    return work(&c, (const char *const[]){argv[1], argv[2]}, &time, plot, json, (uint32_t)most);
}
