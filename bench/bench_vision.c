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
#include "cmd/pool.h"
#include "cmd/stopping.h"
#include "cmd/vision_trouble.h"
#include "codec/thumbnail.h"
#include "core/files.h"
#include "modules/vision/frame.h"
#include "vision_geometry.h"
#include "vision_latency.h"
#include "vision_networks.h"

enum {
    FIRST_GAME = 50001,
    PAIRS = 24,     /* of games, at most            */
    FIRST = 800001, /* images that nothing is tuned on */
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

/* ---- what the line-ups find ---- */

enum { JUDGED = 6 };
static const struct {
    enum vision_kind kind;
    const char *name;
    double recall, precision;
    const char *goals[2];
} finds[JUDGED] = {
    {VISION_BALL, "ball", 0.95, 0.97, {">= 0.95", ">= 0.97"}},
    {VISION_LINE, "lines", 0.85, 0.9, {">= 0.85", ">= 0.9"}},
    {VISION_CROSSING, "crossings", 0.85, 0.9, {">= 0.85", ">= 0.9"}},
    {VISION_POST, "posts", 0.85, 0.9, {">= 0.85", ">= 0.9"}},
    {VISION_ROBOT, "robots", 0.85, 0.9, {">= 0.85", ">= 0.9"}},
    {VISION_MARK, "penalty mark", 0.85, 0.9, {">= 0.85", ">= 0.9"}},
};

/* `tells`: what of it is shown, a bit for each kind. What the mixed line-up does not decide by itself is the classic
 * one's; colour similarity alone is reported, not judged. */
enum rival { BOTH, CLASSIC, SIMILAR, MIXED, NET, RIVALS };
enum { BALLS = 1 << VISION_BALL, LINES = 1 << VISION_LINE, POSTS = 1 << VISION_POST, NO_LINES = ~LINES, ALL = ~0 };
static const struct {
    const char *name, *about, *lineup, *set;
    int tells;
} rivals[RIVALS] = {
    [BOTH] = {"vision_both", "the eyes of make play", "vision_both", NULL, ALL},
    [CLASSIC] = {"vision", "classic line-up", "vision", NULL, ALL},
    [SIMILAR] = {"similarity", "classic, colour similarity alone", "vision", "field_color.method=similarity",
                 BALLS | LINES | POSTS},
    [MIXED] = {"vision_mixed", "mixed line-up", "vision_mixed", NULL, BALLS},
    [NET] = {"vision_net", "network line-up", "vision_net", NULL, NO_LINES},
};

struct finds {
    struct vision_score all, near; /* near: where the ball is about 2 m away */
};

static uint64_t first_image(const struct nm_bench *bench)
{
    uint64_t told = nm_bench_options(bench)->first_seed;
    return told ? told : FIRST;
}

/* All of them look at the same images. */
static int look(struct nm_bench *bench, struct setup *setup, const struct nm_body *body, struct vision_studio *studio,
                struct finds to[RIVALS], struct nm_err *err)
{
    static struct vision_shot shot;
    const struct nm_bench_options *o = nm_bench_options(bench);
    struct vision_rig *rigs[RIVALS] = {0};
    uint64_t first = first_image(bench), images = nm_bench_quick(bench) ? QUICK : IMAGES;
    if (o->first_seed && o->last_seed - first + 1 < images) images = o->last_seed - first + 1;
    int bad = 0;
    for (int k = 0; k < RIVALS && !bad; k++) {
        rigs[k] = vision_rig_new(setup, rivals[k].lineup, body, &rivals[k].set, rivals[k].set != NULL, NULL, err);
        bad = rigs[k] ? 0 : -1;
    }
    for (uint64_t i = 0; i < images && !bad; i++) {
        vision_studio_shoot(studio, first + i, &shot);
        const struct vision_thing *ball = &shot.truth.things[0];
        bool close = ball->counts && fabs(hypot(ball->x, ball->y) - 2) < 0.5;
        for (int k = 0; k < RIVALS; k++) {
            struct vision_found found;
            vision_rig_look(rigs[k], shot.yuyv, shot.width, shot.height, &shot.camera_to_robot, shot.q, &found);
            if (i == 0) continue; /* what it costs to begin is not measured */
            vision_score(&shot.truth, &found, &to[k].all);
            if (close) vision_score(&shot.truth, &found, &to[k].near);
        }
    }
    for (int k = 0; k < RIVALS; k++) vision_rig_free(rigs[k]);
    return bad;
}

static double share(uint32_t part, uint32_t whole) { return whole ? (double)part / whole : NAN; }

static void report_finds(struct nm_bench *bench, enum rival k, const struct finds *found)
{
    const struct vision_score *s = &found->all, *near = &found->near;
    double ms = 1e3 * s->seconds / s->images, slow = 1e3 * s->slowest / ms;
    bool judged = k != SIMILAR, timed = k == CLASSIC;
    char name[96];
    snprintf(name, sizeof name, "%s (%s): all stages, 644x482", rivals[k].name, rivals[k].about);
    nm_bench_report(bench, name, ms, "ms", NAN, timed ? "<= 2.5 ms" : "", !timed || ms <= 2.5);
    if (timed) nm_bench_report(bench, "vision: slowest image over the mean", slow, "1", NAN, "<= 3", slow <= 3);
    for (uint32_t i = 0; i < JUDGED; i++) {
        enum vision_kind what = finds[i].kind;
        if (!(rivals[k].tells & 1 << what)) continue;
        double recall = share(s->found[what], s->there[what]), precision = share(s->right[what], s->told[what]);
        snprintf(name, sizeof name, "%s: %s: recall", rivals[k].name, finds[i].name);
        nm_bench_report(bench, name, recall, "1", NAN, judged ? finds[i].goals[0] : "",
                        !judged || recall >= finds[i].recall);
        snprintf(name, sizeof name, "%s: %s: precision", rivals[k].name, finds[i].name);
        nm_bench_report(bench, name, precision, "1", NAN, judged ? finds[i].goals[1] : "",
                        !judged || precision >= finds[i].precision);
    }
    double far = near->found[VISION_BALL] ? near->share[VISION_BALL] / near->found[VISION_BALL] : NAN;
    snprintf(name, sizeof name, "%s: ball: distance error at 2 m", rivals[k].name);
    nm_bench_report(bench, name, 100 * far, "%", NAN, judged ? "<= 6 %" : "", !judged || far <= 0.06);
    if (rivals[k].tells != ALL) return;
    double border = s->borders ? s->border / s->borders : NAN;
    snprintf(name, sizeof name, "%s: field border", rivals[k].name);
    nm_bench_report(bench, name, border, "px", NAN, "<= 6 px", border <= 6);
}

static int bench_finds(struct nm_bench *bench, struct setup *setup, const struct nm_body *body,
                       struct vision_studio *studio, struct nm_err *err)
{
    struct finds found[RIVALS] = {0};
    if (look(bench, setup, body, studio, found, err) < 0) return -1;
    for (int k = 0; k < RIVALS; k++) report_finds(bench, (enum rival)k, &found[k]);
    return 0;
}

/* ---- light that changes, cameras that fail ---- */

static int bench_troubles(struct nm_bench *bench, struct setup *setup, const struct nm_body *body,
                          struct vision_studio *studio, struct nm_err *err)
{
    uint64_t first = first_image(bench);
    uint32_t scenes = nm_bench_quick(bench) ? 2 : 10;
    char name[96];
    for (int t = 0; t < VISION_TROUBLES; t++) {
        double worst = 0;
        uint32_t n = 0, wrong = 0;
        bool fault = t >= TROUBLE_UNPLUGGED;
        for (uint64_t number = first; n < scenes && number < first + IMAGES; number++) {
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
        {"real pictures, network line-up: ball: precision", "\"ball_precision\": ", ">= 0.9"}};
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(line, what[i][1]);
        double value = at ? strtod(at + strlen(what[i][1]), NULL) : NAN;
        nm_bench_report(bench, what[i][0], value, "1", NAN, what[i][2], value >= (i ? 0.9 : 0.85));
    }
}

/* ---- matches from pictures ---- */

enum { TOLD, SEEN, WAYS }; /* from percepts, from pictures with the eyes of `make play` */

struct pairs {
    struct setup *setup;
    double half; /* s */
    uint64_t first;
    uint32_t n;
    struct match_result results[WAYS * PAIRS];
};

static struct match_options game(double half, uint64_t seed, int way)
{
    return (struct match_options){.league = "hsl",
                                  .fidelity = way == SEEN ? "camera" : "percept",
                                  .half = half,
                                  .seed = seed,
                                  .air = {MATCH_AIR, MATCH_AIR}};
}

/* Those from pictures take longest, so they begin first. */
static void play_one(void *user, uint32_t index, void *result)
{
    const struct pairs *p = user;
    struct match_options o = game(p->half, p->first + index % p->n, index < p->n ? SEEN : TOLD);
    match_play(p->setup, &o, 1, result);
}

struct season { /* games of one way */
    double goals, falls, error, poses, simulated, cpu;
};

static void add_game(struct season *s, const struct match_result *r)
{
    s->cpu += r->cpu;
    s->simulated += r->simulated;
    for (int t = 0; t < 2; t++) {
        s->goals += r->score[t];
        s->falls += r->teams[t].falls;
        s->error += 100 * r->teams[t].error;
        s->poses += (double)r->teams[t].poses;
    }
}

/* The same seeds in both ways, each game in a process of its own: three pairs for four processes. */
static int bench_games(struct nm_bench *bench, struct setup *setup, struct nm_err *err)
{
    static struct pairs p;
    const struct nm_bench_options *o = nm_bench_options(bench);
    uint32_t jobs = o->jobs ? o->jobs : 2, most = 3 * jobs / 4 > 2 ? 3 * jobs / 4 : 2, played = 0;
    p = (struct pairs){.setup = setup, .half = 120, .first = o->first_seed ? o->first_seed : FIRST_GAME};
    p.n = nm_bench_quick(bench) ? 1 : most < PAIRS ? most : PAIRS;
    if (nm_bench_quick(bench)) p.half = 20;
    if (o->first_seed && o->last_seed - p.first + 1 < p.n) p.n = (uint32_t)(o->last_seed - p.first + 1);
    const struct pool pool = {.n = WAYS * p.n,
                              .jobs = jobs,
                              POOL_RESULTS(p.results, match_result, died),
                              .what = "games",
                              .work = play_one,
                              .quit = stopping,
                              .user = &p};
    if (pool_run(&pool, err)) return -1;
    struct season all[WAYS] = {0};
    for (uint32_t i = 0; i < p.n; i++) {
        const struct match_result *seen = &p.results[i], *told = &p.results[p.n + i];
        struct season s[WAYS] = {0};
        uint64_t seed = p.first + i;
        if (!seen->done || !told->done) {
            nm_bench_say(bench, "match %llu was not played to its end: %s", (unsigned long long)seed,
                         seen->done ? told->died : seen->died);
            continue;
        }
        played++;
        add_game(&s[SEEN], seen), add_game(&all[SEEN], seen);
        add_game(&s[TOLD], told), add_game(&all[TOLD], told);
        nm_bench_say(bench, "match %llu: %g and %g goals, %g and %g falls, %.1f and %.1f cm", (unsigned long long)seed,
                     s[SEEN].goals, s[TOLD].goals, s[SEEN].falls, s[TOLD].falls, s[SEEN].error / s[SEEN].poses,
                     s[TOLD].error / s[TOLD].poses);
    }
    const struct season *seen = &all[SEEN], *told = &all[TOLD];
    double place = seen->error / seen->poses, known = told->error / told->poses;
    nm_bench_report(bench, "match from pictures against percepts: position error", place, "cm", place / known,
                    "<= 1.5 x", place <= 1.5 * known);
    nm_bench_report(bench, "match from pictures against percepts: goals", seen->goals, "1", seen->goals / told->goals,
                    ">= 0.6 x", played && seen->goals >= 0.6 * told->goals);
    nm_bench_report(bench, "match from pictures against percepts: falls", seen->falls, "1", seen->falls / told->falls,
                    "<= 1.2 x", played && seen->falls <= 1.2 * told->falls);
    nm_bench_say(bench,
                 "%u pairs of 2 x %g s, seeds from %llu, from pictures and from percepts: %g and %g goals, %g and %g "
                 "falls, %.1f and %.1f cm; a second from pictures costs %.2f s of CPU time, from percepts %.2f s",
                 played, p.half, (unsigned long long)p.first, seen->goals, told->goals, seen->falls, told->falls, place,
                 known, seen->cpu / seen->simulated, told->cpu / told->simulated);
    return 0;
}

/* A match from pictures with two workers and nothing beside it. */
static int bench_speed(struct nm_bench *bench, struct setup *setup, struct nm_err *err)
{
    const struct nm_bench_options *o = nm_bench_options(bench);
    struct match_options options =
        game(nm_bench_quick(bench) ? 20 : 40, o->first_seed ? o->first_seed : FIRST_GAME, SEEN);
    struct match_result r;
    int64_t began = nm_clock();
    match_play(setup, &options, 2, &r);
    if (!r.done) return nm_fail(err, "match %llu: %s", (unsigned long long)options.seed, r.died);
    double speed = r.simulated / nm_seconds(nm_clock() - began);
    nm_bench_report(bench, "4 against 4, eight cameras at 15 Hz, two workers", speed, "x real time", NAN, ">= 1.5 x",
                    speed >= 1.5);
    nm_bench_say(bench, "a second of it costs %.2f s of CPU time", r.cpu / r.simulated);
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
        vision_studio_shoot(studio, first_image(bench), &shot);
        bench_loops(bench, &shot);
    }
    if (!bad && nm_bench_wants(bench, "networks")) bench_vision_networks(bench, setup.root);
    if (!bad && nm_bench_wants(bench, "latency"))
        bench_vision_latency(bench, &setup, nm_path(&setup.arena, setup.root, "tests/pictures"));
    if (!bad && nm_bench_wants(bench, "real")) bench_real(bench);
    if (!bad && nm_bench_wants(bench, "around")) bench_around(bench, &setup, body);
    if (!bad && nm_bench_wants(bench, "calibration")) bench_calibration(bench, &setup, folder);
    if (!bad && nm_bench_wants(bench, "troubles")) bad = bench_troubles(bench, &setup, body, studio, &err);
    bool games = nm_bench_options(bench)->only || !nm_bench_quick(bench);
    if (!bad && nm_bench_wants(bench, "speed") && games) bad = bench_speed(bench, &setup, &err);
    if (!bad && nm_bench_wants(bench, "games") && games) bad = bench_games(bench, &setup, &err);
    if (!games) nm_bench_say(bench, "no matches were played: --only speed,games plays some, also with --quick");
    if (bad) nm_bench_fail(bench, &err);
    setup_end(&setup);
}
