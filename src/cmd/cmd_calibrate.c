/* nutmeg calibrate: finds what only a robot itself can tell about it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/calibrate.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "core/files.h"

enum { DRIVES = 256 };

struct order {
    bool sim, linear;
    int64_t body;
    const char *robot, *seeds, *output;
    int64_t jobs;
};

/* ---- drives ---- */

/* LOG@X,Y or LOG@X,Y,DEGREES */
static int read_log(const char *text, struct drive_steps *d, struct nm_err *err)
{
    const char *at = strrchr(text, '@');
    char path[PATH_MAX];
    double end[3] = {0};
    int used = 0, n = at ? sscanf(at + 1, "%lf,%lf%n,%lf%n", &end[0], &end[1], &used, &end[2], &used) : 0;
    if (n < 2 || at[1 + used] || at - text >= PATH_MAX || !isfinite(end[0] + end[1] + end[2]))
        return nm_fail(err, "'%s' must be LOG@X,Y or LOG@X,Y,DEGREES: where the drive ended, relative to its start",
                       text);
    snprintf(path, sizeof path, "%.*s", (int)(at - text), text);
    if (calibrate_log(path, d, err)) return -1;
    d->end = (struct pose2){end[0], end[1], end[2] * M_PI / 180};
    d->turn_known = n == 3;
    return 0;
}

/* ---- the result ---- */

static void print_list(FILE *to, const char *name, const double *values, uint32_t n, uint32_t stride)
{
    fprintf(to, "  %s: [", name);
    for (uint32_t i = 0; i < n; i++) fprintf(to, "%s%.5g", i ? ", " : "", values[i * stride]);
    fprintf(to, "]\n");
}

static void print_model(FILE *to, const struct nm_step_model *m)
{
    fprintf(to, "odometry:\n  correct: %s\n", m->local ? "local" : "linear");
    print_list(to, "forward", m->forward, NM_STEP_TERMS, 1);
    print_list(to, "left", m->left, NM_STEP_TERMS, 1);
    print_list(to, "turn", m->turn, NM_STEP_TERMS, 1);
    if (!m->local) return;
    static const char *const near[] = {"near_x", "near_y", "near_turn"}, *const more[] = {"more_x", "more_y",
                                                                                          "more_turn"};
    for (int a = 0; a < 3; a++) print_list(to, near[a], &m->near[0][a], NM_STEP_NEAR, 3);
    for (int a = 0; a < 3; a++) print_list(to, more[a], &m->more[0][a], NM_STEP_NEAR, 3);
    fprintf(to, "  width: %.5g\n", m->width);
}

/* Half of the drives, or all where they are few, find the model; the others say how good it is. */
static int fit(const struct drive_steps *drives, uint32_t n, const struct order *o, struct nm_err *err)
{
    uint32_t known = n >= 12 ? 2 * n / 3 : n, rest = n - known;
    struct nm_step_model linear, local;
    bool many = o->sim && !o->body;
    calibrate_fit(drives, known, many ? CALIBRATE_SYMMETRIC : CALIBRATE_LINEAR, &linear);
    calibrate_fit(drives, known, CALIBRATE_LOCAL, &local);
    const struct drive_steps *judges = rest ? drives + known : drives;
    uint32_t n_judges = rest ? rest : n;
    double plain = calibrate_drift(NULL, judges, n_judges), by_linear = calibrate_drift(&linear, judges, n_judges),
           by_local = calibrate_drift(&local, judges, n_judges);
    printf("%u drives fitted; mean error at the end of %u %s:\n", known, n_judges,
           rest ? "others" : "drives, the same that were fitted; with twelve drives some would be left for a test");
    printf("  uncorrected %.1f cm, linear %.1f cm, locally weighted %.1f cm\n", 100 * plain, 100 * by_linear,
           100 * by_local);
    const struct nm_step_model *chosen = many || o->linear || by_linear <= by_local ? &linear : &local;
    if (!o->output) {
        print_model(stdout, chosen);
        return 0;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *to = nm_memstream(&text, &size);
    print_model(to, chosen);
    fclose(to);
    int bad = nm_file_replace(o->output, text, size, err);
    free(text);
    if (!bad) printf("written: %s\n", o->output);
    return bad;
}

/* The exit code, or -1 with sentences. */
static int odometry(struct setup *setup, const struct order *o, uint64_t first, uint64_t last, char **logs, int n_logs,
                    struct nm_err *err)
{
    struct drive_steps *drives = nm_calloc(DRIVES, sizeof *drives);
    uint32_t n = 0;
    int bad = 0;
    for (int i = 0; i < n_logs && n < DRIVES && !bad; i++) bad = read_log(logs[i], &drives[n++], err);
    if (o->sim && !calibrate_sim) bad = nm_fail(err, "this program was built without the simulator");
    const char *robot = o->robot && o->sim && calibrate_sim ? setup_robot(setup, o->robot, err) : NULL;
    if (o->robot && o->sim && !robot) bad = -1;
    if (!bad && o->sim) {
        uint32_t most = (uint32_t)(last - first + 1 < DRIVES - n ? last - first + 1 : DRIVES - n);
        n += calibrate_sim(setup, robot, (uint64_t)o->body, first, most, (uint32_t)o->jobs, drives + n, err);
    }
    if (interrupted()) {
        free(drives);
        return tell_interrupted("%u drives were made; nothing was fitted and nothing is written", n);
    }
    if (!bad && n < 3) bad = nm_fail(err, "%u drives are not enough: drive at least three times, in all directions", n);
    if (!bad) bad = fit(drives, n, o, err);
    free(drives);
    return bad;
}

static int cmd_odometry(int argc, char **argv)
{
    struct order o = {.jobs = 2};
    uint64_t first = 1, last = 36;
    const struct flag flags[] = {
        SWITCH("sim", &o.sim, "drives in the simulator (scenario motion/odometry)"),
        TEXT("robot", &o.robot, "NAME", "simulator: a folder in robots/"),
        WHOLE("one-body", &o.body, 1, 1000000000, "SEED",
              "simulator: always uses this body (default: another one for each drive)"),
        TEXT("seeds", &o.seeds, "A-B", "simulator: one drive per seed (default: 1-36)"),
        WHOLE("jobs", &o.jobs, 1, 64, "N", "simulator: processes at the same time (default: 2)", .letter = 'j'),
        SWITCH("linear", &o.linear, "uses the linear model even if the locally weighted one is better"),
        TEXT("output", &o.output, "FILE", "writes the parameters to this file instead of printing them", .letter = 'o'),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg calibrate odometry", "[LOG@X,Y[,DEGREES]…]", flags,
              "Fits the model that corrects each step of the odometry, from drives between known points. Each\n"
              "drive is a log with the topics odometry_raw and support_state, and the point where it ended,\n"
              "in metres forwards and to the left of its start. Prints parameters for robots/NAME/params.yaml.",
              .most = DRIVES);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (o.seeds) {
        char *end;
        first = last = strtoull(o.seeds, &end, 10);
        if (*end == '-') last = strtoull(end + 1, &end, 10);
        if (*end || end == o.seeds || last < first || last - first >= DRIVES)
            return usage_wrong(&usage, "--seeds wants a range of at most %d seeds, not '%s'", DRIVES, o.seeds);
    }
    if (!n && !o.sim) return usage_wrong(&usage, "name logs, or use --sim");
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    code = odometry(&setup, &o, first, last, argv + 1, n, &err);
    if (code < 0) code = EXIT_USAGE;
    if (err.n) complain(&err);
    setup_end(&setup);
    return code;
}

int cmd_calibrate(int argc, char **argv)
{
    static const struct verb verbs[] = {
        {"camera", "finds how the camera sits on its neck, from lines, markers or clicks", cmd_calibrate_camera},
        {"odometry", "fits how far steps really go, from drives between known points", cmd_odometry},
        {0},
    };
    return verbs_run("nutmeg calibrate", "Measures properties of a robot that are not in its files.", verbs, argc,
                     argv);
}
