/* A robot that records itself against the same robot that does not, in turn: what the log costs of a core, and whether
 * the motion cycle is later because of it. The robot has the modules of lineups/motion.yaml over the servo bus, and a
 * camera of 640 x 480 at 30 Hz that is stored as JPEG. Then the log is played again. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/order.h"
#include "bench.h"
#include "cmd/commands.h"
#include "cmd/setup.h"
#include "codec/jpeg.h"
#include "codec/mcap_read.h"
#include "core/player.h"
#include "edge/bus/hardware.h"
#include "edge/log/log.h"
#include "sensor_msgs/Image.h"
#include "std_msgs/Int64.h"

enum {
    WIDTH = 640,
    HEIGHT = 480,
    BYTES = WIDTH * HEIGHT * 2,
    RUNS = 1 << 14,
    ROUNDS = 12,
    SETTLE = 125 /* runs in which everything starts */
};

/* ---- the robot ---- */

/* Stands first in the motion cycle and notes when it began. */
struct bench_watch {
    struct nm *nm;
    int64_t *times;
    uint32_t n;
};
#define SELF struct bench_watch
static int watch_init(struct bench_watch *f)
{
    f->times = calloc(RUNS, sizeof *f->times);
    return f->times ? 0 : -1;
}
static void watch_step(struct bench_watch *f)
{
    if (f->n < RUNS) f->times[f->n++] = f->nm->now;
}
static void watch_close(struct bench_watch *f) { free(f->times); }
static const struct nm_port watch_ports[] = {{0}};
NM_MODULE_UNLISTED(bench_watch, "Notes when its cycle began.", NM_PORTS(watch_ports), .init = NM_CALL(watch_init),
                   .step = NM_CALL(watch_step), .close = NM_CALL(watch_close))

/* Stands for the vision: reads the picture, so that it is published. */
struct bench_eye {
    struct nm *nm;
    const Image *image;
    Int64 *light;
};
#undef SELF
#define SELF struct bench_eye
static void eye_step(struct bench_eye *f)
{
    for (uint32_t i = 0; i < f->image->data.n; i += 512) f->light->data += f->image->data.data[i];
    nm_put(f->nm, f->light);
}
static const struct nm_port eye_ports[] = {NM_IN(image, Image, "camera/image_raw"), NM_OUT(light, Int64, "light"), {0}};
NM_MODULE_UNLISTED(bench_eye, "Looks.", NM_PORTS(eye_ports), .step = NM_CALL(eye_step))

static const char lineup_text[] =
    "robot: kid70\n"
    "cycles:\n"
    "  motion:\n"
    "    period: 8 ms\n"
    "    priority: 50\n"
    "    modules:\n"
    "      - bench_watch\n"
    "      - motor_states\n"
    "      - orientation\n"
    "      - foot_pressure\n"
    "      - support\n"
    "      - {module: body_model, params: {odom_tf: false}, topics: {odometry: odometry_raw}}\n"
    "      - odometry\n"
    "      - hcm\n"
    "      - {module: walk, topics: {cmd_vel: walk_vel, joint_goals: walk_goals}}\n"
    "      - animation\n"
    "      - kick\n"
    "      - head\n"
    "      - arms\n"
    "      - joint_owners\n"
    "      - motor_goals\n"
    "  vision: {trigger: camera/image_raw, timeout: 100 ms, modules: [bench_eye]}\n"
    "remote: [servo_states, imu/data_raw, foot_cells, camera/camera_info, camera/image_raw, motor_power, cmd_vel,\n"
    "  match_state, head_command, head_mode, arm_command, walk_command]\n";

extern const struct nm_module *const __start_nm_modules[], *const __stop_nm_modules[];

struct camera {
    struct nm_player *player;
    struct nm_edge *edge;
    const uint8_t *picture;
    _Atomic bool over;
};

/* A lawn with lines and the grain of a sensor. */
static uint8_t *paint(void)
{
    uint8_t *p = nm_malloc(BYTES);
    uint64_t x = 1;
    for (uint32_t i = 0; i < BYTES; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint32_t column = i / 2 % WIDTH, row = i / 2 / WIDTH;
        bool line = (column + row) % 160 < 6;
        p[i] = (uint8_t)((i % 2 ? 110 : line ? 200 : 80 + row / 8) + (x >> 60) % 6);
    }
    return p;
}

static void *film(void *user)
{
    struct camera *c = user;
    while (!atomic_load(&c->over)) {
        nm_edge_begin(c->edge, nm_player_now(c->player));
        Image *image = nm_edge_out(c->edge, 0);
        if (nm_edge_blob(c->edge, 0, &image->data, BYTES)) {
            memcpy(image->data.data, c->picture, BYTES);
            image->data.n = BYTES;
            image->width = WIDTH;
            image->height = HEIGHT;
            image->step = 2 * WIDTH;
            nm_text(image->encoding, "yuv422_yuy2");
            nm_edge_put(c->edge, 0);
        }
        nm_edge_end(c->edge);
        nanosleep(&(struct timespec){.tv_nsec = 33333333}, NULL);
    }
    return NULL;
}

struct robot {
    struct setup setup;
    struct nm_registry registry;
    struct nm_lineup *lineup;
    const struct nm_body *body;
    uint8_t *picture;
};

static int robot_begin(struct robot *r, struct nm_err *err)
{
    setup_begin(&r->setup);
    uint32_t n = (uint32_t)(__stop_nm_modules - __start_nm_modules);
    const struct nm_module **all = nm_take_n(&r->setup.arena, const struct nm_module *, n + 2);
    memcpy(all, __start_nm_modules, n * sizeof *all);
    all[n++] = &bench_watch_module;
    all[n++] = &bench_eye_module;
    nm_registry_init(&r->registry, &r->setup.arena, all, all + n);
    struct nm_lineup_options options = {.root = r->setup.root};
    r->lineup = nm_lineup_parse(lineup_text, sizeof lineup_text - 1, "bench.yaml", &r->registry, &options, err);
    r->body = r->lineup ? setup_body(&r->setup, r->lineup, err) : NULL;
    r->picture = paint();
    return r->body ? 0 : -1;
}

static void robot_end(struct robot *r)
{
    nm_lineup_free(r->lineup);
    free(r->picture);
    setup_end(&r->setup);
}

/* ---- one run ---- */

struct measured {
    double cpu;     /* of a core, whole process */
    int64_t *times; /* ns, when the motion cycle began */
    uint32_t n;
    uint64_t dropped;
};

static double cpu_now(void) { return 1e-9 * (double)nm_clock_of(CLOCK_PROCESS_CPUTIME_ID); }

static int run(struct robot *r, double seconds, const struct nm_log_options *recorded, struct measured *m,
               struct nm_err *err)
{
    struct nm_player *player =
        nm_player_new(r->lineup, &(struct nm_player_options){.name = "bench", .seed = 1, .body = r->body}, err);
    const struct nm_edge_port port = {
        .topic = "camera/image_raw", .kind = NM_PORT_OUT, .type = &Image_type, .blob = BYTES};
    struct camera camera = {.player = player, .picture = r->picture};
    struct nm_log *log = NULL;
    pthread_t thread;
    if (!player) return -1;
    camera.edge = nm_edge_new(player, "camera", &port, 1, err);
    struct nm_hardware *bus = nm_hardware_new(player, r->body, NM_HARDWARE_VIRTUAL, err);
    if (recorded) log = nm_log_new(player, recorded, err);
    int bad = !camera.edge || !bus || (recorded && !log) || nm_player_start(player, err) ||
              (log && nm_log_start(log, err)) || nm_hardware_start(bus, err) ||
              pthread_create(&thread, NULL, film, &camera);
    if (!bad) {
        struct timespec settle = {.tv_nsec = 500000000};
        struct timespec whole = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - floor(seconds)))};
        nanosleep(&settle, NULL);
        double before = cpu_now();
        nanosleep(&whole, NULL);
        m->cpu = (cpu_now() - before) / seconds;
        atomic_store(&camera.over, true);
        pthread_join(thread, NULL);
        nm_player_stop(player);
        struct bench_watch *watch = nm_player_self(player, nm_lineup_instance(r->lineup, "bench_watch"));
        m->times = nm_realloc(m->times, RUNS * sizeof *m->times);
        uint32_t skip = watch->n > SETTLE ? SETTLE : 0;
        m->n = watch->n - skip;
        memcpy(m->times, watch->times + skip, m->n * sizeof *m->times);
    }
    if (log) {
        struct nm_log_stats stats;
        nm_log_end(log);
        nm_log_stats(log, &stats);
        m->dropped += stats.dropped;
        nm_log_free(log);
    }
    nm_hardware_free(bus);
    nm_player_free(player);
    return bad ? -1 : 0;
}

/* Of a core, for 30 pictures a second: the part of it that nobody can save. */
static double jpeg_alone(const uint8_t *picture)
{
    enum { PICTURES = 20, HZ = 30 };
    struct nm_pixels in = {WIDTH, HEIGHT, 2 * WIDTH, "yuv422_yuy2", picture, BYTES};
    size_t room = nm_jpeg_room(WIDTH, HEIGHT), n;
    uint8_t *out = nm_malloc(room);
    double before = cpu_now();
    for (int i = 0; i < PICTURES; i++) nm_jpeg_encode(&in, NM_JPEG_QUALITY, out, room, &n, NULL);
    double took = cpu_now() - before;
    free(out);
    return took / PICTURES * HZ;
}

/* How much later than its time each run began. A period's beginning is not told, but nearly all runs begin just behind
 * it: at the place in the period where most of them are. */
static uint32_t add_lateness(double *to, uint32_t n, const struct measured *m)
{
    enum { PERIOD = 8000000, BIN = 20000, BINS = PERIOD / BIN, EARLY = 100000 };
    uint32_t count[BINS] = {0}, most = 0;
    int64_t first = m->times[0], base = PERIOD;
    for (uint32_t i = 0; i < m->n; i++) count[(m->times[i] - first) % PERIOD / BIN]++;
    for (uint32_t b = 1; b < BINS; b++)
        if (count[b] > count[most]) most = b;
    for (uint32_t i = 0; i < m->n; i++) { /* the earliest in that bin or the one before */
        int64_t phase = ((m->times[i] - first) % PERIOD - ((int64_t)most - 1) * BIN + PERIOD) % PERIOD;
        if (phase < base && phase < 2 * BIN) base = phase;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        int64_t late = (m->times[i] - first - base - ((int64_t)most - 1) * BIN + 2 * (int64_t)PERIOD) % PERIOD;
        to[n++] = late > PERIOD - EARLY ? 0 : (double)late;
    }
    return n;
}

static double quantile(double *values, uint32_t n, double q)
{
    qsort(values, n, sizeof *values, nm_by_size);
    return n ? values[(uint32_t)(q * (double)(n - 1))] : NAN;
}

/* ---- playing it again ---- */

/* CPU seconds of `nutmeg replay LOG`. */
static double replay_cost(const char *log)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stdout)) _exit(1);
        execl("/proc/self/exe", "nutmeg", "replay", log, (char *)NULL);
        _exit(1);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status)) return NAN;
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)usage.ru_stime.tv_usec;
}

/* s, from the first message of a log to its last */
static double length_of(const char *log)
{
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    if (nm_mcap_open(&source, log, NULL)) return NAN;
    double length = NAN;
    if (!nm_mcap_contents_read(&contents, &source, NULL)) length = 1e-9 * (double)(contents.last - contents.first);
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
    return length;
}

static void bench_replay(struct nm_bench *bench, const char *folder)
{
    char log[256], command[400];
    snprintf(log, sizeof log, "%s/sim/kid.mcap", folder);
    snprintf(command, sizeof command,
             "/proc/%d/exe sim push --lineup motion --seeds 1 --seconds %d --log %s/sim >/dev/null 2>&1", (int)getpid(),
             nm_bench_quick(bench) ? 4 : 8, folder);
    if (!cmd_sim || system(command) < 0) return; /* a robot's build has no simulator */
    double cost = replay_cost(log), times = length_of(log) / cost;
    nm_bench_report(bench, "replay of the motion line-up, all identical, x real time", times, "x", NAN, ">= 20 x",
                    times >= 20);
}

/* ---- in turn ---- */

void bench_record(struct nm_bench *bench);
void bench_record(struct nm_bench *bench)
{
    struct robot robot = {0};
    struct nm_err err = {0};
    struct measured plain = {0}, recorded = {0};
    char folder[] = "/tmp/nutmeg-bench-XXXXXX", path[64], command[64];
    int rounds = nm_bench_quick(bench) ? 2 : ROUNDS;
    double seconds = nm_bench_quick(bench) ? 2 : 4, more[ROUNDS], ratio[ROUNDS];
    double *late[2] = {malloc(RUNS * ROUNDS * sizeof(double)), malloc(RUNS * ROUNDS * sizeof(double))};
    uint32_t n[2] = {0};
    if (!late[0] || !late[1] || !mkdtemp(folder)) abort();
    int bad = robot_begin(&robot, &err);
    for (int i = 0; i < rounds && !bad; i++) {
        snprintf(path, sizeof path, "%s/%d.mcap", folder, i);
        struct nm_log_options options = {.path = path, .packing = NM_MCAP_LZ4, .images = NM_LOG_JPEG};
        bad = run(&robot, seconds, NULL, &plain, &err) || run(&robot, seconds, &options, &recorded, &err);
        if (bad) break;
        more[i] = recorded.cpu - plain.cpu;
        ratio[i] = more[i] / jpeg_alone(robot.picture);
        n[0] = add_lateness(late[0], n[0], &plain);
        n[1] = add_lateness(late[1], n[1], &recorded);
    }
    if (bad) {
        fputs(err.text, stderr);
        nm_bench_report(bench, "recording a full robot", NAN, "%", NAN, "<= 5 %", false);
    } else {
        /* others are busy beside us: of the pairs the median */
        double cost = 100 * quantile(more, (uint32_t)rounds, 0.5), a = quantile(late[0], n[0], 0.999),
               b = quantile(late[1], n[1], 0.999);
        nm_bench_report(bench, "record a full robot, JPEG at 30 Hz, to JPEG alone", cost, "%",
                        quantile(ratio, (uint32_t)rounds, 0.5), "<= 5 %", cost <= 5);
        nm_bench_report(bench, "messages dropped while recording", (double)recorded.dropped, "", NAN, "0",
                        !recorded.dropped);
        nm_bench_report(bench, "lateness of the motion cycle while recording, median",
                        quantile(late[1], n[1], 0.5) * 1e-3, "us",
                        quantile(late[1], n[1], 0.5) / quantile(late[0], n[0], 0.5), "", true);
        nm_bench_report(bench, "the same, p99", quantile(late[1], n[1], 0.99) * 1e-3, "us",
                        quantile(late[1], n[1], 0.99) / quantile(late[0], n[0], 0.99), "", true);
        nm_bench_report(bench, "the same, p99.9, to that without a log", b * 1e-3, "us", b / a, "<= 1.2 x",
                        b / a <= 1.2);
        bench_replay(bench, folder);
    }
    robot_end(&robot);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command)) fputs("the logs of the benchmark could not be removed\n", stderr);
    free(plain.times);
    free(recorded.times);
    free(late[0]);
    free(late[1]);
}
