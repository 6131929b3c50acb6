/* nutmeg bench: measures a group of benchmarks against its goals. The frame and the table of groups are bench/bench.c.
 */
#include "../bench/bench.h"

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"

int cmd_bench(int argc, char **argv)
{
    bool json = false, quick = false;
    const struct flag flags[] = {
        SWITCH("json", &json, "one object a line with name, value, unit, ratio, goal, ok"),
        SWITCH("quick", &quick, "a tenth of the repetitions: rough figures in seconds"),
        {0},
    };
    const struct usage usage = {"nutmeg bench",
                                "[GROUP]",
                                "Measures what the runtime costs: absolute figures, the ratio to a peer or a limit\n"
                                "measured in the same run, and the goal. Without a group: all of them.",
                                flags,
                                0,
                                1};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct nm_bench_options options = {.group = n ? argv[1] : NULL, .json = json, .quick = quick, .to = stdout};
    int missed = nm_bench_run(&options, &err);
    if (missed < 0) {
        complain(&err);
        return EXIT_USAGE;
    }
    return missed ? EXIT_FAILED : EXIT_OK;
}
