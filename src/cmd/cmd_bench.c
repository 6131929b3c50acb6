/* nutmeg bench: measures a group of benchmarks against its goals. The frame and the table of groups are bench/bench.c.
 */
#include "../bench/bench.h"

#include <stdlib.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "cmd/stopping.h"
#include "sim/world.h"

/* "7", or "1-20" */
static bool read_seeds(const char *text, struct nm_bench_options *to)
{
    char *end;
    if (*text < '0' || *text > '9') return false;
    to->first_seed = to->last_seed = strtoull(text, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9') to->last_seed = strtoull(end + 1, &end, 10);
    return !*end && to->first_seed && to->first_seed <= to->last_seed;
}

int cmd_bench(int argc, char **argv)
{
    bool json = false, quick = false;
    const char *robot = NULL, *seeds = NULL, *engine = NULL, *only = NULL, *pictures = NULL;
    double randomise = -1, learn = 0;
    int64_t jobs = 2;
    const struct flag flags[] = {
        SWITCH("json", &json, "prints one object per line with name, value, unit, ratio, goal, ok"),
        SWITCH("quick", &quick, "runs a tenth of the repetitions: rough figures, fast"),
        TEXT("robot", &robot, "NAME", "scenarios: a folder in robots/ instead of the scenario's robot"),
        TEXT("engine", &engine, "NAME", "walk: who walks, policy or model (default: policy)"),
        NUMBER("learn", &learn, 0.01, 1e5, "N",
               "robots: each learns to walk for N minutes on --jobs threads, then walks with its policy"),
        TEXT("only", &only, "ROWS",
             "match, world, vision, web: only these rows, with commas between; an unknown name lists them"),
        TEXT("pictures", &pictures, "FOLDER", "vision: real pictures with tags, as nutmeg eval vision reads them"),
        TEXT("seeds", &seeds, "A-B",
             "scenarios: seeds that no tuning has used (default: 50001 on; walk: 70001 on; world: 20001 on)"),
        NUMBER("randomise", &randomise, 0, NM_WORLD_RANDOM, "X",
               "scenarios: scales the random differences of bodies and grounds"),
        WHOLE("jobs", &jobs, 1, 64, "N", "scenarios: processes at the same time (default: 2)", .letter = 'j'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg bench", "[GROUP]", flags,
              "Measures what the runtime costs: absolute figures, the ratio to a peer or a limit measured\n"
              "in the same run, and the goal. Without a group it runs all groups but those that take minutes:\n"
              "motion, walk, robots, world, match, faults, vision and web, which measure what the robot can do.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct nm_bench_options options = {.group = n ? argv[1] : NULL, .json = json, .quick = quick, .to = stdout};
    options.robot = robot;
    options.engine = engine;
    options.learn = learn;
    options.only = only;
    options.pictures = pictures;
    options.randomise = randomise;
    options.jobs = (uint32_t)jobs;
    if (seeds && !read_seeds(seeds, &options))
        return usage_wrong(&usage, "--seeds wants a number, or a range such as 50001-50020, not '%s'", seeds);
    struct setup setup;
    setup_begin(&setup);
    bool known = !robot || setup_robot(&setup, robot, &err);
    setup_end(&setup);
    int missed = known ? nm_bench_run(&options, &err) : -1;
    if (missed < 0) {
        complain(&err);
        return EXIT_USAGE;
    }
    if (interrupted()) return tell_interrupted("some figures are missing or come from only a part of the runs");
    return missed ? EXIT_FAILED : EXIT_OK;
}
