/* nutmeg sim: plays a scenario in the simulator and tells what came out. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "core/files.h"

struct report {
    const struct sim_options *options;
    const struct nm_scenario *scenario;
    uint32_t n, room;
    struct sim_outcome *outcomes;
};

static void tell(void *user, const struct sim_outcome *outcome)
{
    struct report *r = user;
    if (!outcome->done && interrupted()) return; /* half a seed is no result */
    if (r->n < r->room) r->outcomes[r->n++] = *outcome;
    if (r->options->json) sim_json(r->scenario, outcome, stdout);
}

static int play_all(struct setup *setup, struct report *r, struct nm_err *err)
{
    const struct sim_options *o = r->options;
    if (o->jobs > 1) return sim_play_jobs(setup, o, r->scenario, tell, r, err);
    for (uint64_t seed = o->first; seed <= o->last && !stopping(); seed++) {
        struct sim_outcome outcome;
        if (sim_play(setup, o, r->scenario, seed, &outcome, err)) return -1;
        tell(r, &outcome);
    }
    return 0;
}

static int play(struct setup *setup, struct sim_options *o, const char *seeds, struct nm_err *err)
{
    const char *file = setup_file(setup, "scenarios", "scenario", o->scenario, err);
    if (file && o->lineup) o->lineup = setup_file(setup, "lineups", "line-up", o->lineup, err);
    if (file && o->robot) o->robot = setup_robot(setup, o->robot, err);
    struct nm_scenario *scenario = file && !err->n ? nm_scenario_read(file, setup->root, err) : NULL;
    if (!scenario) return EXIT_USAGE;
    if (o->bus && scenario->fidelity == NM_FIDELITY_FLAT) {
        nm_fail(err, "%s: flat bodies have no servos, so they have no bus", file);
        nm_scenario_free(scenario);
        return EXIT_USAGE;
    }
    scenario->bus |= o->bus;
    o->first = scenario->first_seed;
    o->last = scenario->last_seed;
    if (seeds) nm_seeds_parse(seeds, &o->first, &o->last); /* looked at already */
    if (o->interactive) o->last = o->first;
    struct report r = {.options = o, .scenario = scenario, .room = (uint32_t)(o->last - o->first + 1)};
    r.outcomes = nm_calloc(r.room, sizeof *r.outcomes);
    double began = nm_clock_seconds();
    stop_by_signals();
    int code = play_all(setup, &r, err) ? EXIT_USAGE : EXIT_OK;
    if (r.n && !o->json) sim_table(scenario, r.outcomes, r.n, nm_clock_seconds() - began, stdout);
    if (r.n && !o->json && o->photo_every > 0) printf("pictures: %s\n", o->photo_folder);
    for (uint32_t i = 0; i < r.n && code == EXIT_OK; i++)
        if (!r.outcomes[i].done || !r.outcomes[i].result.passed) code = EXIT_FAILED;
    if (interrupted() && r.n < r.room)
        code = tell_interrupted("%u of %u seeds of %s were played to their end", r.n, r.room, scenario->name);
    free(r.outcomes);
    nm_scenario_free(scenario);
    return code;
}

/* ---- list ---- */

static int sim_list(int argc, char **argv)
{
    const struct usage usage = USAGE("nutmeg sim list", "[PATTERN]", NULL,
                                     "Lists the scenarios whose name contains PATTERN. PATTERN may use * and ?.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct table table;
    uint32_t n_names;
    setup_begin(&setup);
    const char *const *names = setup_names(&setup, "scenarios", &n_names);
    const char *home = nm_path(&setup.arena, setup.root, "scenarios");
    table_begin(&table, (const char *const[]){"scenario", ">robots", ">seconds", "seeds", "about", NULL});
    for (uint32_t i = 0; i < n_names; i++) {
        struct nm_err err = {0};
        if (!nm_matches(names[i], n ? argv[1] : NULL)) continue;
        struct nm_scenario *s =
            nm_scenario_read(nm_take_format(&setup.arena, "%s/%s.yaml", home, names[i]), setup.root, &err);
        if (s)
            table_row(&table, "%s\t%u\t%g\t%llu-%llu\t%s", names[i], s->n_robots, s->duration,
                      (unsigned long long)s->first_seed, (unsigned long long)s->last_seed, s->about);
        else
            table_row(&table, "%s\t\t\t\tbroken: %.*s", names[i], (int)strcspn(err.text, "\n"), err.text);
        nm_scenario_free(s);
    }
    code = table.n_rows ? EXIT_OK : EXIT_FAILED;
    if (code) fprintf(stderr, "no scenario in %s has a name that contains '%s'\n", home, n ? argv[1] : "");
    table_print(&table, stdout);
    setup_end(&setup);
    return code;
}

int cmd_sim(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "list")) return sim_list(argc - 1, argv + 1);
    struct sim_options o = {.workers = 1, .jobs = 1, .photo_folder = "out/sim", .speed = -1, .log = LOGGING_NONE};
    const char *seeds = NULL;
    const struct flag flags[] = {
        TEXT("seeds", &seeds, "A-B", "plays these seeds instead of the scenario's: a number or a range"),
        NUMBER("seconds", &o.seconds, 0.01, 1e5, "N", "ends after at most N simulated seconds", .letter = 's'),
        SPEED(&o.speed, "speed relative to real time: a number, or max (default, unless interactive)"),
        SWITCH("json", &o.json, "prints one JSON object per line for each seed"),
        NUMBER("snapshot", &o.photo_every, 0.001, 1e5, "S", "takes pictures every S simulated seconds"),
        TEXT("output", &o.photo_folder, "FOLDER", "folder for pictures (default: out/sim)", .letter = 'o'),
        TEXT("from", &o.photo_from, "LIST",
             "views of the pictures: top, stand, strip (the last twelve of the first robot, from its side, in one "
             "file), or robots, such as top,red1"),
        WHOLE("workers", &o.workers, 1, 16, "N",
              "threads for line-ups and cameras; the results stay the same, bit for bit"),
        WHOLE("jobs", &o.jobs, 1, 64, "N", "plays N seeds at the same time, each in its own process", .letter = 'j'),
        SWITCH("bus", &o.bus, "connects servos and sensors through the real driver and a virtual bus"),
        TEXT("robot", &o.robot, "NAME", "a robot's folder or its name in robots/, instead of the scenario's robots"),
        TEXT("lineup", &o.lineup, "L", "plays this line-up instead of the scenario's, on every robot that has one"),
        MAYBE("live", &o.live, PORT_MAX, "[PORT]",
              "shows the robots to viewers at this port (default: 8765; 0: any free port)"),
        SWITCH("processes", &o.processes, "runs each robot's line-up in its own process, in real time, over DDS"),
        SWITCH("wire", &o.wire, "like --processes, but prints the commands and waits until you start them"),
        TEXT("domain", &o.domain, "N", "with --processes or --wire: DDS domain (default: ROS_DOMAIN_ID, or 0)",
             .max = DOMAIN_MAX),
        SWITCH("network", &o.network, "uses the network, not only this machine"),
        LOGGING_FLAGS(&o.log),
        SWITCH("verbose", &o.verbose, "prints all console messages of the line-ups, not only warnings", .letter = 'v'),
        SWITCH("interactive", &o.interactive, "takes commands from the keyboard: pause, step, reset, move …; type help",
               .letter = 'i'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg sim", "SCENARIO", flags,
              "Plays a scenario (a file, or a name in scenarios/) without a window and prints what was\n"
              "measured. The exit code is 1 if something that the scenario expects did not happen. While it\n"
              "plays, nutmeg topic, param, why and tasks reach each robot by its name (--to). nutmeg sim list\n"
              "lists the scenarios.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    uint64_t first, last;
    if (logging_check(&usage, &o.log)) return EXIT_USAGE;
    if (seeds && nm_seeds_parse(seeds, &first, &last))
        return usage_wrong(&usage, "--seeds wants a number, or a range such as 1-20, not '%s'", seeds);
    o.wire |= o.processes;
    if (o.speed < 0) o.speed = o.interactive || o.wire ? 1 : 0;
    if (o.wire && o.jobs > 1)
        return usage_wrong(&usage, "--processes and --wire play one seed after the other: leave out --jobs");
    if (o.live && (o.jobs > 1 || o.wire))
        return usage_wrong(&usage, "--live cannot be combined with --jobs, --processes or --wire");
    if (!o.wire && (o.domain || o.network))
        return usage_wrong(&usage, "--domain and --network need --processes or --wire");
    if (o.interactive && (o.jobs > 1 || o.json))
        return usage_wrong(&usage, "--interactive cannot be combined with --jobs or --json");
    o.scenario = argv[1];
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    code = play(&setup, &o, seeds, &err);
    if (err.n) complain(&err);
    setup_end(&setup);
    return code;
}
