/* The live server with ten viewers that take about 5 MB a second each (images and scans at 62 Hz) and two that have
 * stopped reading: what the ten lose, and the share of a core that the server's thread needs. */
#include "bench.h"

#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "edge/live/live.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/LaserScan.h"

enum { GOOD = 10, STALLED = 2, VIEWERS = GOOD + STALLED, PIXELS = 70 << 10 };

struct bench_eyes {
    struct nm *nm;
    LaserScan *scan;
    Image *image;
};

static void step(struct bench_eyes *e)
{
    e->scan->ranges.n = e->scan->intensities.n = 1440;
    nm_put(e->nm, e->scan);
    if (!nm_blob_take(e->nm, e->image, &e->image->data, PIXELS)) return;
    e->image->data.n = PIXELS;
    nm_put(e->nm, e->image);
}

#define SELF struct bench_eyes
static const struct nm_port ports[] = {
    NM_OUT(scan, LaserScan, "scan"), NM_OUT(image, Image, "image", .blob = PIXELS), {0}};
NM_MODULE_UNLISTED(bench_eyes, "Makes scans and images.", NM_PORTS(ports), .step = NM_CALL(step))
#undef SELF

static const char lineup_text[] = "cycles: {eyes: {period: 16 ms, modules: [bench_eyes]}}\n";

struct audience {
    int fd[VIEWERS];
    _Atomic bool end;
    _Atomic uint64_t bytes;
};

static int dial(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char text[512];
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to)) return -1;
    int n = snprintf(text, sizeof text,
                     "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Protocol: foxglove.websocket.v1\r\n\r\n",
                     port);
    if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n || recv(fd, text, 12, MSG_WAITALL) != 12) return -1;
    return memcmp(text, "HTTP/1.1 101", 12) ? -1 : fd;
}

/* To every channel; those that do not exist are refused. The mask is zero. */
static void subscribe(int fd)
{
    char frame[256] = "\x81\xfe", *text = frame + 8;
    int n = snprintf(text, sizeof frame - 8, "{\"op\":\"subscribe\",\"subscriptions\":[");
    for (int id = 1; id <= 4; id++)
        n += snprintf(text + n, sizeof frame - 8 - (size_t)n, "%s{\"id\":%d,\"channelId\":%d}", id > 1 ? "," : "", id,
                      id);
    n += snprintf(text + n, sizeof frame - 8 - (size_t)n, "]}");
    frame[2] = (char)(n >> 8);
    frame[3] = (char)n;
    if (send(fd, frame, (size_t)n + 8, MSG_NOSIGNAL) < 0) perror("subscribe");
}

static void *watch(void *user)
{
    struct audience *a = user;
    static char buffer[1 << 18];
    struct pollfd fds[GOOD];
    for (int i = 0; i < GOOD; i++) fds[i] = (struct pollfd){.fd = a->fd[i], .events = POLLIN};
    while (!atomic_load(&a->end)) {
        poll(fds, GOOD, 50);
        for (int i = 0; i < GOOD; i++) {
            ssize_t n = fds[i].revents ? recv(fds[i].fd, buffer, sizeof buffer, MSG_DONTWAIT) : 0;
            if (n > 0) atomic_fetch_add(&a->bytes, (uint64_t)n);
        }
    }
    return NULL;
}

static void rest(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
    nanosleep(&t, NULL);
}

static double clock_s(void) { return 1e-9 * (double)nm_clock_of(CLOCK_MONOTONIC); }

static void measure(struct nm_bench *bench, struct nm_live *live, struct audience *a)
{
    struct nm_live_stats before, after;
    rest(1); /* greetings, and the first seconds of the stalled ones */
    nm_live_stats(live, &before);
    uint64_t bytes = atomic_load(&a->bytes);
    double start = clock_s();
    rest(nm_bench_quick(bench) ? 2 : 10);
    nm_live_stats(live, &after);
    double took = clock_s() - start, lost = 0, stalled = 0;
    for (int i = 0; i < VIEWERS; i++)
        *(i < GOOD ? &lost : &stalled) += (double)(after.client[i].dropped + after.client[i].passed);
    double rate = (double)(atomic_load(&a->bytes) - bytes) / took / GOOD * 1e-6;
    double share = (double)(after.cpu - before.cpu) * 1e-9 / took * 100;
    nm_bench_report(bench, "10 viewers, 2 stalled: bytes per viewer", rate, "MB/s", NAN, ">= 5 MB/s", rate >= 5);
    nm_bench_report(bench, "messages lost by the ten", lost, "", NAN, "0", lost == 0);
    nm_bench_report(bench, "messages lost by the two", stalled, "", NAN, "> 0", stalled > 0);
    nm_bench_report(bench, "server's share of a core", share, "%", NAN, "<= 25 %", share <= 25);
}

static int run(struct nm_bench *bench, struct nm_player *player, struct nm_err *err)
{
    static struct audience a;
    pthread_t thread;
    struct nm_live *live = nm_live_new(player, &(struct nm_live_options){.port = 0}, err);
    if (!live) return -1;
    memset(&a, 0, sizeof a);
    int bad = nm_player_start(player, err) || nm_live_start(live, err);
    for (int i = 0; i < VIEWERS && !bad; i++) { /* one after the other, so that seats are known */
        a.fd[i] = dial(nm_live_port(live));
        bad = a.fd[i] < 0 ? nm_fail(err, "the server refused viewer %d", i) : 0;
        if (!bad) subscribe(a.fd[i]);
    }
    if (!bad && !pthread_create(&thread, NULL, watch, &a)) {
        measure(bench, live, &a);
        atomic_store(&a.end, true);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < VIEWERS; i++)
        if (a.fd[i] > 0) close(a.fd[i]);
    nm_player_stop(player);
    nm_live_free(live);
    return bad ? -1 : 0;
}

void bench_live(struct nm_bench *bench);

void bench_live(struct nm_bench *bench)
{
    static const struct nm_module *const modules[] = {&bench_eyes_module};
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    struct nm_lineup_options where = {.root = "/nonexistent"};
    nm_registry_init(&registry, &arena, modules, modules + 1);
    struct nm_lineup *lineup =
        nm_lineup_parse(lineup_text, sizeof lineup_text - 1, "bench.yaml", &registry, &where, &err);
    struct nm_player *player = lineup ? nm_player_new(lineup, &(struct nm_player_options){.seed = 1}, &err) : NULL;
    if (!player || run(bench, player, &err)) {
        nm_bench_report(bench, "the live server does not start", NAN, "", NAN, "", false);
        fputs(err.text, stderr);
    }
    nm_player_free(player);
    nm_lineup_free(lineup);
    nm_arena_free(&arena);
}
