/* The debugger's page: what it costs a robot that somebody looks at all of it, and how fast the page itself is.
 *
 * The robot is the whole line-up match:vision in real time on virtual servos, with a camera of 30 images a second. Its
 * process is kept off the last core, on which a client runs that subscribes to every topic, as the whole page would do.
 * The robot runs watched and unwatched by turns, so that both see the same machine. The rows of the browser are
 * measured by web/bench.mjs in headless chromium. */
#include "base/order.h"
#include "bench.h"

#include <arpa/inet.h>
#include <glob.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/setup.h"
#include "core/files.h"
#include "edge/bus/hardware.h"
#include "edge/live/live.h"
#include "edge/log/log.h"
#include "sensor_msgs/Image.h"

enum { WIDTH = 640, HEIGHT = 480, IMAGE = WIDTH * HEIGHT * 2, ROUNDS = 32 };

struct robot {
    struct nm_player *player;
    struct nm_live *live;
    struct nm_hardware *hardware;
    struct nm_edge *camera;
    uint64_t images;
};

/* ---- the client: subscribes to everything and reads it ---- */

static bool send_text(int fd, const char *text)
{
    size_t n = strlen(text), k = 0;
    uint8_t head[8] = {0x81, (uint8_t)(0x80 | (n < 126 ? n : 126))};
    k = n < 126 ? 2 : 4;
    head[2] = (uint8_t)(n >> 8);
    head[3] = (uint8_t)n;
    if (n < 126) memset(head + 2, 0, 2);
    memset(head + k, 0, 4); /* the mask */
    return send(fd, head, k + 4, MSG_NOSIGNAL) > 0 && send(fd, text, n, MSG_NOSIGNAL) > 0;
}

static void watch(int port)
{
    static char bytes[1 << 20];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &last);
    sched_setaffinity(0, sizeof last, &last);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int n = snprintf(bytes, sizeof bytes,
                     "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Protocol: foxglove.websocket.v1\r\n\r\n",
                     port);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) || send(fd, bytes, (size_t)n, MSG_NOSIGNAL) != n)
        _exit(1);
    for (int id = 1; id <= 400; id += 20) { /* channels that do not exist are refused */
        char text[1024];
        int used = snprintf(text, sizeof text, "{\"op\":\"subscribe\",\"subscriptions\":[");
        for (int i = id; i < id + 20; i++)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s{\"id\":%d,\"channelId\":%d}",
                             i > id ? "," : "", i, i);
        snprintf(text + used, sizeof text - (size_t)used, "]}");
        if (!send_text(fd, text)) _exit(1);
    }
    send_text(fd, "{\"op\":\"subscribeConnectionGraph\"}");
    send_text(fd, "{\"op\":\"subscribeParameterUpdates\",\"parameterNames\":[]}");
    while (recv(fd, bytes, sizeof bytes, 0) > 0) continue;
    _exit(0);
}

/* ---- the robot ---- */

static void take_image(struct robot *r)
{
    nm_edge_begin(r->camera, nm_clock());
    Image *image = nm_edge_out(r->camera, 0);
    if (image && nm_edge_blob(r->camera, 0, &image->data, IMAGE)) {
        image->width = WIDTH;
        image->height = HEIGHT;
        image->step = 2 * WIDTH;
        image->data.n = IMAGE;
        nm_text(image->encoding, "yuv422_yuy2");
        memset(image->data.data, (int)(100 + r->images++ % 20), IMAGE);
        nm_edge_put(r->camera, 0);
    }
    nm_edge_end(r->camera);
}

static void stop(struct robot *r)
{
    if (r->player) nm_player_stop(r->player);
    nm_live_free(r->live);
    nm_hardware_free(r->hardware);
    nm_player_free(r->player);
}

static int start(struct robot *r, const struct nm_lineup *lineup, const struct nm_body *body, struct nm_err *err)
{
    static const struct nm_edge_port image = {"camera/image_raw", NM_PORT_OUT, &Image_type, 0, IMAGE};
    *r = (struct robot){.player = nm_player_new(lineup, &(struct nm_player_options){.seed = 1, .body = body}, err)};
    if (!r->player) return -1;
    r->camera = nm_edge_new(r->player, "camera", &image, 1, err);
    r->hardware = nm_hardware_new(r->player, body, NM_HARDWARE_VIRTUAL, err);
    r->live = nm_live_new(r->player, &(struct nm_live_options){.port = 0}, err);
    if (!r->camera || !r->hardware || !r->live) return -1;
    return nm_player_start(r->player, err) || nm_hardware_start(r->hardware, err) || nm_live_start(r->live, err) ? -1
                                                                                                                 : 0;
}

struct round {
    double median, p99; /* ns, lateness of the motion cycle */
    double cpu;         /* share of a core                  */
    double sent;        /* messages a second                */
    double dropped;
};

static void run_for(struct robot *r, double seconds)
{
    int64_t end = nm_clock() + nm_ns(seconds);
    for (int64_t next = nm_clock(); next < end; next += 33333333) {
        nm_sleep_until(next);
        take_image(r);
    }
}

static int play(const struct nm_lineup *lineup, const struct nm_body *body, bool watched, double seconds,
                struct round *to, struct nm_err *err)
{
    struct robot r;
    struct nm_live_stats before, after;
    struct nm_cycle_stats motion;
    pid_t client = 0;
    int bad = start(&r, lineup, body, err);
    if (!bad && watched && !(client = fork())) watch(nm_live_port(r.live));
    if (!bad) {
        run_for(&r, 1); /* the greeting */
        nm_live_stats(r.live, &before);
        int64_t began = nm_clock();
        run_for(&r, seconds);
        nm_live_stats(r.live, &after);
        double took = nm_seconds(nm_clock() - began);
        uint32_t cycle = 0;
        while (cycle + 1 < lineup->n_cycles && strcmp(lineup->cycles[cycle].name, "motion")) cycle++;
        nm_player_cycle_stats(r.player, cycle, &motion);
        *to = (struct round){.median = (double)motion.late.p50,
                             .p99 = (double)motion.late.p99,
                             .cpu = nm_seconds(after.cpu - before.cpu) / took,
                             .sent = (double)(after.client[0].sent - before.client[0].sent) / took,
                             .dropped = (double)after.client[0].dropped};
        if (watched && !after.clients) bad = nm_fail(err, "the client went away");
    }
    stop(&r);
    if (client > 0) {
        kill(client, SIGKILL);
        waitpid(client, NULL, 0);
    }
    return bad;
}

static double middle(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, nm_by_size);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void measure_robot(struct nm_bench *bench, struct setup *setup)
{
    struct nm_err err = {0};
    int rounds = nm_bench_quick(bench) ? 2 : 16;
    double seconds = nm_bench_quick(bench) ? 2 : 5;
    double late[2][2][ROUNDS], cpu[ROUNDS], sent[ROUNDS], dropped = 0;
    cpu_set_t was, others;
    struct nm_lineup *lineup = setup_lineup(setup, "match:vision", &(struct lineup_flags){0}, &err);
    const struct nm_body *body = lineup ? setup_body(setup, lineup, &err) : NULL;
    int bad = body ? 0 : -1;
    sched_getaffinity(0, sizeof was, &was);
    others = was;
    if (CPU_COUNT(&was) > 1) CPU_CLR((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &others);
    sched_setaffinity(0, sizeof others, &others);
    for (int i = 0; !bad && i < rounds; i++)
        for (int watched = 0; !bad && watched < 2; watched++) {
            struct round r;
            bad = play(lineup, body, watched, seconds, &r, &err);
            if (bad) break;
            late[watched][0][i] = r.median;
            late[watched][1][i] = r.p99;
            if (!watched) continue;
            cpu[i] = 100 * r.cpu;
            sent[i] = r.sent;
            dropped += r.dropped;
        }
    sched_setaffinity(0, sizeof was, &was);
    nm_lineup_free(lineup);
    if (bad) {
        nm_bench_fail(bench, &err);
        return;
    }
    double share = middle(cpu, rounds);
    nm_bench_report(bench, "all topics watched: the server's share of a core", share, "%", NAN, "<= 8 %", share <= 8);
    nm_bench_report(bench, "messages sent", middle(sent, rounds), "1/s", NAN, "", true);
    nm_bench_report(bench, "messages dropped", dropped, "", NAN, "0", dropped == 0);
    static const char *const names[] = {"lateness of the motion cycle, watched: median", "the same: p99"};
    for (int k = 0; k < 2; k++) {
        double value = middle(late[1][k], rounds), alone = middle(late[0][k], rounds);
        nm_bench_report(bench, names[k], value * 1e-3, "us", value / alone, "<= 1.2 x", value <= 1.2 * alone);
    }
}

/* ---- a log of a gigabyte ---- */

static const char big_folder[] = "out/bench_web", big_log[] = "out/bench_web/big.mcap";

static int write_log(struct setup *setup, double bytes, struct nm_err *err)
{
    struct stat about;
    if (!stat(big_log, &about) && (double)about.st_size >= bytes) return 0;
    struct robot r = {0};
    struct nm_lineup *lineup = setup_lineup(setup, "match:vision", &(struct lineup_flags){0}, err);
    const struct nm_body *body = lineup ? setup_body(setup, lineup, err) : NULL;
    static const struct nm_edge_port image = {"camera/image_raw", NM_PORT_OUT, &Image_type, 0, IMAGE};
    int bad = body ? nm_make_folders("out/bench_web/", err) : -1;
    if (!bad) r.player = nm_player_new(lineup, &(struct nm_player_options){.seed = 1, .body = body}, err);
    if (r.player) r.camera = nm_edge_new(r.player, "camera", &image, 1, err);
    struct nm_log_options options = {
        .path = big_log, .packing = NM_MCAP_STORED, .images = NM_LOG_RAW, .virtual_time = true, .revision = "bench"};
    struct nm_log *log = r.camera ? nm_log_new(r.player, &options, err) : NULL;
    for (int64_t t = 0; log && (double)r.images * IMAGE < bytes; t += 100000000) {
        if (nm_players_run(&r.player, 1, t + 100000000, 1)) break;
        take_image(&r);
        nm_log_poll(log);
    }
    if (!log) bad = -1;
    nm_log_free(log);
    nm_player_free(r.player);
    nm_lineup_free(lineup);
    return bad;
}

/* ---- the browser ---- */

/* Runs web/bench.mjs, which prints "name value" lines. */
static double ask_browser(struct nm_bench *bench, struct setup *setup, const char *what, struct nm_err *err)
{
    char line[PATH_MAX * 4], heard[256] = "";
    double value = NAN;
    snprintf(line, sizeof line, "node '%s/web/bench.mjs' %s '%s/nutmeg' '%s' %s %d", setup->root, what, setup->program,
             setup->root, big_folder, nm_bench_quick(bench) ? 3 : 10);
    FILE *from = popen(line, "r");
    while (from && fgets(heard, sizeof heard, from))
        if (sscanf(heard, "value %lf", &value) != 1) fputs(heard, stderr);
    if (!from || pclose(from))
        nm_fail(err, "web/bench.mjs %s failed; it needs node, chromium and scripts/npm web", what);
    return value;
}

static double bundle_size(struct setup *setup)
{
    char pattern[PATH_MAX + 32];
    glob_t found;
    double sum = 0;
    snprintf(pattern, sizeof pattern, "%s/web/dist/*.gz", setup->root);
    if (glob(pattern, 0, NULL, &found)) return NAN;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct stat about;
        if (!stat(found.gl_pathv[i], &about)) sum += (double)about.st_size;
    }
    globfree(&found);
    return sum / 1000;
}

void bench_web(struct nm_bench *bench);

void bench_web(struct nm_bench *bench)
{
    static const struct {
        const char *what, *name, *unit, *goal;
        double most;
    } rows[] = {
        {"first", "first picture of a match after opening", "s", "<= 2 s", 2},
        {"frames", "eight robots in one page: time between two frames of the map, median", "ms", "<= 70 ms", 70},
        {"log", "log of 1 GB opened and scrubbed to the middle", "s", "<= 3 s", 3}};
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    if (nm_bench_wants(bench, "robot")) measure_robot(bench, &setup);
    if (nm_bench_wants(bench, "size")) {
        double size = bundle_size(&setup);
        nm_bench_report(bench, "the page, with gzip", size, "kB", NAN, "<= 400 kB", size <= 400);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!nm_bench_wants(bench, rows[i].what)) continue;
        bool ready = strcmp(rows[i].what, "log") || !write_log(&setup, 1e9, &err);
        double value = ready ? ask_browser(bench, &setup, rows[i].what, &err) : NAN;
        nm_bench_report(bench, rows[i].name, value, rows[i].unit, NAN, rows[i].goal, value <= rows[i].most);
    }
    if (err.n) fputs(err.text, stderr);
    unlink(big_log);
    rmdir(big_folder);
    setup_end(&setup);
}
