/* nutmeg bench vision: the time of the classic line-up and of its loops over pixels, these beside OpenCV where its peer
 * was built, and what this line-up and those with networks find in simulated images that nothing was tuned on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench.h"
#include "cmd/match.h"
#include "cmd/vision_trouble.h"
#include "codec/thumbnail.h"
#include "core/files.h"
#include "modules/vision/frame.h"
#include "vision_geometry.h"
#include "vision_latency.h"
#include "vision_networks.h"

enum {
    FIRST_GAME = 50001,
    GAMES = 4,
    FIRST = 500001,
    IMAGES = 1000,
    QUICK = 150,
    ROUNDS = 400,
    WIDTH = 640,
    HEIGHT = 480
};

/* ---- loops over pixels ---- */

enum task { SOBEL, CLASSES, THUMBNAIL, OTSU, TASKS };
static const struct {
    const char *name, *peer, *goal;
    double ratio;
} tasks[TASKS] = {
    [SOBEL] = {"Sobel, 640x480", "sobel", ">= 2.5 x", 2.5},
    [CLASSES] = {"colour classes, 640x480", "classes", ">= 4 x", 4},
    [THUMBNAIL] = {"thumbnail of 8 x 8 blocks, 640x480", "thumbnail", ">= 4 x", 4},
    [OTSU] = {"Otsu's threshold and binary image, 640x480", "otsu", ">= 1.1 x", 1.1},
};

struct loops {
    struct frame frame;
    struct class_limits limits;
    uint8_t yuyv[2 * WIDTH * HEIGHT], edges[WIDTH * HEIGHT], out[WIDTH * HEIGHT];
};

static void run_task(struct loops *l, enum task task)
{
    struct nm_err err = {0};
    struct nm_pixels small, pixels = {WIDTH, HEIGHT, 2 * WIDTH, "yuv422_yuy2", l->yuyv, sizeof l->yuyv};
    switch (task) {
    case SOBEL: sobel(&l->frame, 1, l->edges); break;
    case CLASSES: classify(&l->frame, &l->limits, l->out); break;
    case THUMBNAIL: nm_thumbnail(&pixels, l->out, sizeof l->out, &small, &err); break;
    case OTSU: binarise(l->edges, sizeof l->edges, otsu(l->edges, sizeof l->edges), l->out); break;
    case TASKS: break;
    }
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* ns of each task by OpenCV; NaN where its program is not there. */
static void ask_peer(const struct loops *l, uint32_t rounds, double to[TASKS])
{
    char own[400], command[1200], name[32], path[] = "/tmp/nutmeg_bench_XXXXXX";
    for (int i = 0; i < TASKS; i++) to[i] = NAN;
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (!slash) return;
    *slash = '\0';
    snprintf(command, sizeof command, "%s/opencv_peer", own);
    if (access(command, X_OK)) return;
    int file = mkstemp(path);
    if (file < 0) return;
    bool written = write(file, l->yuyv, sizeof l->yuyv) == (ssize_t)sizeof l->yuyv;
    close(file);
    snprintf(command, sizeof command, "'%s/opencv_peer' %s %d %d %u", own, path, WIDTH, HEIGHT, rounds);
    FILE *peer = written ? popen(command, "r") : NULL;
    double ns;
    while (peer && fscanf(peer, "%31s %lf", name, &ns) == 2)
        for (int i = 0; i < TASKS; i++)
            if (!strcmp(name, tasks[i].peer)) to[i] = ns;
    if (peer) pclose(peer);
    unlink(path);
}

static void bench_loops(struct nm_bench *bench, const struct vision_shot *shot)
{
    struct loops *l = nm_calloc(1, sizeof *l);
    int64_t times[ROUNDS];
    double peer[TASKS];
    l->frame = (struct frame){.bytes = l->yuyv, .width = WIDTH, .height = HEIGHT, .step = 2 * WIDTH};
    for (uint32_t y = 0; y < HEIGHT; y++)
        memcpy(l->yuyv + (size_t)2 * WIDTH * y, shot->yuyv + (size_t)2 * shot->width * y, 2 * WIDTH);
    l->limits = (struct class_limits){.carpet = {-40, -50, 25, 50, 80}, .white = 110, .dark = 45, .grey = 3};
    ask_peer(l, ROUNDS, peer);
    for (int i = 0; i < TASKS; i++) {
        for (int k = 0; k < ROUNDS; k++) {
            int64_t begin = nm_clock();
            run_task(l, (enum task)i);
            times[k] = nm_clock() - begin;
        }
        qsort(times, ROUNDS, sizeof *times, by_time);
        double ns = (double)times[ROUNDS / 2], ratio = peer[i] / ns;
        nm_bench_report(bench, tasks[i].name, 1e-3 * ns, "us", ratio, tasks[i].goal, ratio >= tasks[i].ratio);
    }
    if (isnan(peer[0]))
        nm_bench_say(bench, "OpenCV was not measured: build the target opencv_peer (Debian: libopencv-imgproc-dev)");
    free(l);
}

/* ---- the line-up ---- */

static const struct {
    enum vision_kind kind;
    double recall, precision;
    const char *goals[2];
} finds[] = {
    {VISION_BALL, 0.95, 0.97, {">= 0.95", ">= 0.97"}},   {VISION_LINE, 0.85, 0.9, {">= 0.85", ">= 0.9"}},
    {VISION_CROSSING, 0.85, 0.9, {">= 0.85", ">= 0.9"}}, {VISION_POST, 0.85, 0.9, {">= 0.85", ">= 0.9"}},
    {VISION_ROBOT, 0.85, 0.9, {">= 0.85", ">= 0.9"}},    {VISION_MARK, 0.85, 0.9, {">= 0.85", ">= 0.9"}},
};

static void report_finds(struct nm_bench *bench, const char *who, const struct vision_score *s)
{
    char name[96];
    for (uint32_t i = 0; i < sizeof finds / sizeof *finds; i++) {
        enum vision_kind k = finds[i].kind;
        if (!s->told[k]) continue; /* not every line-up tells everything */
        double recall = s->there[k] ? (double)s->found[k] / s->there[k] : NAN;
        double precision = s->told[k] ? (double)s->right[k] / s->told[k] : NAN;
        snprintf(name, sizeof name, "%s%s: recall", who, vision_kinds[k]);
        nm_bench_report(bench, name, recall, "1", NAN, finds[i].goals[0], recall >= finds[i].recall);
        snprintf(name, sizeof name, "%s%s: precision", who, vision_kinds[k]);
        nm_bench_report(bench, name, precision, "1", NAN, finds[i].goals[1], precision >= finds[i].precision);
    }
}

enum rival { CLASSIC, SIMILAR, MIXED, NET, BOTH, RIVALS };
static const struct {
    const char *lineup, *set;
} rivals[RIVALS] = {
    [CLASSIC] = {"vision", NULL},     [SIMILAR] = {"vision", "field_color.method=similarity"},
    [MIXED] = {"vision_mixed", NULL}, [NET] = {"vision_net", NULL},
    [BOTH] = {"vision_both", NULL},
};

/* All of them look at the same images. `near`: the classic one, where the ball is about 2 m away. */
static int look(struct setup *setup, const struct nm_body *body, struct vision_studio *studio, uint32_t images,
                struct vision_score scores[RIVALS], struct vision_score *near, struct nm_err *err)
{
    static struct vision_shot shot;
    struct vision_rig *rigs[RIVALS] = {0};
    int bad = 0;
    for (int k = 0; k < RIVALS && !bad; k++)
        bad =
            (rigs[k] = vision_rig_new(setup, rivals[k].lineup, body, &rivals[k].set, rivals[k].set != NULL, NULL, err))
                ? 0
                : -1;
    for (uint32_t i = 0; i < images && !bad; i++) {
        vision_studio_shoot(studio, FIRST + i, &shot);
        const struct vision_thing *ball = &shot.truth.things[0];
        bool close = ball->counts && fabs(hypot(ball->x, ball->y) - 2) < 0.5;
        for (int k = 0; k < RIVALS; k++) {
            struct vision_found found;
            vision_rig_look(rigs[k], shot.yuyv, shot.width, shot.height, &shot.camera_to_robot, shot.q, &found);
            if (i == 0) continue; /* what it costs to begin is not measured */
            vision_score(&shot.truth, &found, &scores[k]);
            if (k == CLASSIC && close) vision_score(&shot.truth, &found, near);
        }
    }
    for (int k = 0; k < RIVALS; k++) vision_rig_free(rigs[k]);
    return bad;
}

static double mean_ms(const struct vision_score *s) { return 1e3 * s->seconds / s->images; }

static int bench_finds(struct nm_bench *bench, struct setup *setup, const struct nm_body *body,
                       struct vision_studio *studio, struct nm_err *err)
{
    struct vision_score s[RIVALS] = {0}, near = {0};
    if (look(setup, body, studio, nm_bench_quick(bench) ? QUICK : IMAGES, s, &near, err) < 0) return -1;
    double ms = mean_ms(&s[CLASSIC]), slow = 1e3 * s[CLASSIC].slowest / ms;
    nm_bench_report(bench, "classic line-up, 644x482, all stages", ms, "ms", NAN, "<= 2.5 ms", ms <= 2.5);
    nm_bench_report(bench, "  slowest image over the mean", slow, "1", NAN, "<= 3", slow <= 3);
    report_finds(bench, "", &s[CLASSIC]);
    double share = near.found[VISION_BALL] ? near.share[VISION_BALL] / near.found[VISION_BALL] : NAN;
    nm_bench_report(bench, "ball at 2 m: error of the distance", 100 * share, "%", NAN, "<= 6 %", share <= 0.06);
    double border = s[CLASSIC].borders ? s[CLASSIC].border / s[CLASSIC].borders : NAN;
    nm_bench_report(bench, "field border", border, "px", NAN, "<= 6 px", border <= 6);
    nm_bench_report(bench, "colour similarity alone, all stages", mean_ms(&s[SIMILAR]), "ms", NAN, "", true);
    static const enum vision_kind shown[] = {VISION_BALL, VISION_LINE, VISION_POST};
    for (uint32_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        enum vision_kind k = shown[i];
        char name[96];
        snprintf(name, sizeof name, "  %s: recall", vision_kinds[k]);
        nm_bench_report(bench, name, (double)s[SIMILAR].found[k] / fmax(s[SIMILAR].there[k], 1), "1", NAN, "", true);
        snprintf(name, sizeof name, "  %s: precision", vision_kinds[k]);
        nm_bench_report(bench, name, (double)s[SIMILAR].right[k] / fmax(s[SIMILAR].told[k], 1), "1", NAN, "", true);
    }
    /* of the mixed line-up only the balls are its own */
    nm_bench_report(bench, "mixed line-up, 644x482", mean_ms(&s[MIXED]), "ms", NAN, "", true);
    for (int k = 0; k < VISION_KINDS; k++) s[MIXED].told[k] = k == VISION_BALL ? s[MIXED].told[k] : 0;
    report_finds(bench, "  ", &s[MIXED]);
    nm_bench_report(bench, "network line-up, 644x482", mean_ms(&s[NET]), "ms", NAN, "", true);
    report_finds(bench, "  ", &s[NET]);
    nm_bench_report(bench, "network and classic lines, 644x482", mean_ms(&s[BOTH]), "ms", NAN, "", true);
    report_finds(bench, "  ", &s[BOTH]);
    return 0;
}

/* ---- light that changes, cameras that fail ---- */

static int bench_troubles(struct nm_bench *bench, struct setup *setup, const struct nm_body *body,
                          struct vision_studio *studio, struct nm_err *err)
{
    uint32_t scenes = nm_bench_quick(bench) ? 2 : 10;
    char name[96];
    for (int t = 0; t < VISION_TROUBLES; t++) {
        double worst = 0;
        uint32_t n = 0, wrong = 0;
        bool fault = t >= TROUBLE_UNPLUGGED;
        for (uint64_t number = FIRST; n < scenes && number < FIRST + IMAGES; number++) {
            struct trouble_result r;
            if (vision_trouble(setup, body, studio, number, (enum vision_trouble)t, &r, err)) return -1;
            if (!r.seen) continue;
            n++;
            worst = fmax(worst, r.back);
            wrong += fault && (r.reported != 1 || r.relieved != 1);
        }
        snprintf(name, sizeof name, "%s: ball back, the latest of %u scenes%s", vision_troubles[t], n,
                 !fault  ? ""
                 : wrong ? ", NOT reported once"
                         : ", reported once");
        nm_bench_report(bench, name, worst, "s", NAN, "<= 1 s", worst <= 1 && !wrong);
    }
    return 0;
}

/* ---- real pictures ---- */

/* Balls in the pictures of --pictures. Nothing was trained on real ones, and the camera's pose is not known of them. */
static void bench_real(struct nm_bench *bench)
{
    const char *folder = nm_bench_options(bench)->pictures;
    char line[4096] = "", command[1200];
    if (!folder) {
        nm_bench_say(bench, "real pictures were not looked at: --pictures FOLDER names some");
        return;
    }
    snprintf(command, sizeof command, "/proc/%d/exe eval vision '%s' --lineups vision_net --json", (int)getpid(),
             folder);
    FILE *own = popen(command, "r");
    if (own && !fgets(line, sizeof line, own)) *line = 0;
    if (own) pclose(own);
    static const char *const what[2][3] = {
        {"real pictures, network line-up: ball: recall", "\"ball_recall\": ", ">= 0.85"},
        {"  precision", "\"ball_precision\": ", ">= 0.9"}};
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(line, what[i][1]);
        double value = at ? strtod(at + strlen(what[i][1]), NULL) : NAN;
        nm_bench_report(bench, what[i][0], value, "1", NAN, what[i][2], value >= (i ? 0.9 : 0.85));
    }
}

/* ---- matches from pictures ---- */

struct season { /* games of one fidelity */
    double goals, falls, error, simulated, wall;
    uint64_t poses;
};

static int play_season(struct setup *setup, const char *fidelity, struct season *s, struct nm_err *err)
{
    for (uint64_t seed = FIRST_GAME; seed < FIRST_GAME + GAMES; seed++) {
        struct match_options o = {
            .league = "hsl", .fidelity = fidelity, .half = 60, .seed = seed, .air = {MATCH_AIR, MATCH_AIR}};
        struct match_result r;
        int64_t began = nm_clock();
        match_play(setup, &o, 2, &r);
        if (!r.done) return nm_fail(err, "match %llu: %s", (unsigned long long)seed, r.died);
        s->wall += nm_seconds(nm_clock() - began);
        s->simulated += r.simulated;
        for (int t = 0; t < 2; t++) {
            s->goals += r.score[t];
            s->falls += r.teams[t].falls;
            s->error += r.teams[t].error;
            s->poses += r.teams[t].poses;
        }
    }
    return 0;
}

/* The same seeds from pictures and from percepts, 4 against 4, two workers. Whole benches only: it takes long. */
static int bench_games(struct nm_bench *bench, struct setup *setup, struct nm_err *err)
{
    struct season camera = {0}, percept = {0};
    if (play_season(setup, "camera", &camera, err) || play_season(setup, "percept", &percept, err)) return -1;
    double place = camera.error / (double)camera.poses / (percept.error / (double)percept.poses);
    double goals = camera.goals / percept.goals, falls = camera.falls / percept.falls,
           speed = camera.simulated / camera.wall;
    nm_bench_report(bench, "matches from pictures against percepts: position error", place, "x", NAN, "<= 1.5 x",
                    place <= 1.5);
    nm_bench_report(bench, "  goals", goals, "x", NAN, ">= 0.6 x", goals >= 0.6);
    nm_bench_report(bench, "  falls", falls, "x", NAN, "<= 1.2 x", falls <= 1.2);
    nm_bench_report(bench, "  eight cameras at 15 Hz, two workers", speed, "x real time", NAN, ">= 1.5 x",
                    speed >= 1.5);
    nm_bench_say(bench, "%d matches of 2 x 1 min each: %g and %g goals, %g and %g falls, %.1f and %.1f cm", GAMES,
                 camera.goals, percept.goals, camera.falls, percept.falls, 100 * camera.error / (double)camera.poses,
                 100 * percept.error / (double)percept.poses);
    return 0;
}

void bench_vision(struct nm_bench *bench);
void bench_vision(struct nm_bench *bench)
{
    static struct setup setup;
    static struct vision_shot shot;
    struct nm_err err = {0};
    setup_begin(&setup);
    const char *folder = setup_robot(&setup, "kid70", &err);
    const struct nm_body *body = folder ? nm_body_load(&setup.arena, folder, &err) : NULL;
    struct vision_studio *studio = body ? vision_studio_new(&setup.arena, setup.root, body, &err) : NULL;
    int bad = studio ? 0 : -1;
    if (!bad && nm_bench_wants(bench, "finds")) bad = bench_finds(bench, &setup, body, studio, &err);
    if (!bad && nm_bench_wants(bench, "loops")) {
        vision_studio_shoot(studio, FIRST, &shot);
        bench_loops(bench, &shot);
    }
    if (!bad && nm_bench_wants(bench, "networks")) bench_vision_networks(bench, setup.root);
    if (!bad && nm_bench_wants(bench, "latency"))
        bench_vision_latency(bench, &setup, nm_path(&setup.arena, setup.root, "tests/pictures"));
    if (!bad && nm_bench_wants(bench, "real")) bench_real(bench);
    if (!bad && nm_bench_wants(bench, "around")) bench_around(bench, &setup, body);
    if (!bad && nm_bench_wants(bench, "calibration")) bench_calibration(bench, &setup, folder);
    if (!bad && nm_bench_wants(bench, "troubles")) bad = bench_troubles(bench, &setup, body, studio, &err);
    if (!bad && nm_bench_wants(bench, "games") && !nm_bench_quick(bench)) bad = bench_games(bench, &setup, &err);
    if (bad) nm_bench_fail(bench, &err);
    setup_end(&setup);
}
