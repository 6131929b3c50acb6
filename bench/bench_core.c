/* The runtime against its limits: what a put costs inside a cycle, a hand-over between two, a wake-up, a transform, a
 * start. */
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/order.h"
#include "bench.h"
#include "core/internal.h"
#include "geometry_msgs/Vector3Stamped.h"
#include "nav_msgs/Path.h"
#include "sensor_msgs/Imu.h"
#include "std_msgs/Int64.h"
#include "visualization_msgs/MarkerArray.h"

/* ---- players of unlisted modules ---- */

struct made {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_lineup *lineup;
    struct nm_player *player;
};

static void make(struct made *m, const char *text, const struct nm_module *const *modules, size_t n)
{
    struct nm_err err = {0};
    *m = (struct made){0};
    nm_registry_init(&m->registry, &m->arena, modules, modules + n);
    m->lineup = nm_lineup_parse(text, strlen(text), "bench", &m->registry,
                                &(struct nm_lineup_options){.root = "/nonexistent"}, &err);
    m->player = m->lineup ? nm_player_new(m->lineup, &(struct nm_player_options){0}, &err) : NULL;
    if (!m->player || player_link(m->player, &err)) {
        fprintf(stderr, "bench: %s", err.text);
        abort();
    }
}

static void unmake(struct made *m)
{
    nm_player_free(m->player);
    nm_lineup_free(m->lineup);
    nm_arena_free(&m->arena);
}

static double runs_time(struct nm_cycle *cycle)
{
    enum { RUNS = 200 };
    int64_t start = nm_clock();
    for (int i = 0; i < RUNS; i++) {
        cycle_begin(cycle, cycle->now + 1000000);
        cycle_steps(cycle);
        cycle_end(cycle);
        cycle_account(cycle);
    }
    return (double)(nm_clock() - start) / RUNS;
}

/* Median time of one run of a cycle, ns; less that of another which is run in turn with it, if there is one. */
static double run_time(struct nm_cycle *cycle, struct nm_cycle *less)
{
    enum { ROUNDS = 101 };
    double times[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) times[r] = runs_time(cycle) - (less ? runs_time(less) : 0);
    return nm_median(times, ROUNDS);
}

/* ---- put, reset and read inside a cycle ---- */

#define PAIR(T, FILL, READ)                                                                                            \
    struct make_##T {                                                                                                  \
        struct nm *nm;                                                                                                 \
        T *out;                                                                                                        \
    };                                                                                                                 \
    static void make_##T##_step(struct make_##T *f)                                                                    \
    {                                                                                                                  \
        FILL;                                                                                                          \
        nm_put(f->nm, f->out);                                                                                         \
    }                                                                                                                  \
    struct read_##T {                                                                                                  \
        struct nm *nm;                                                                                                 \
        const T *in;                                                                                                   \
        double sum;                                                                                                    \
    };                                                                                                                 \
    static void read_##T##_step(struct read_##T *f)                                                                    \
    {                                                                                                                  \
        if (nm_fresh(f->nm, f->in)) f->sum += (READ);                                                                  \
    }

PAIR(Imu, f->out->angular_velocity.z = 1, f->in->angular_velocity.z)
PAIR(Path, f->out->poses.n = sizeof f->out->poses.at / sizeof f->out->poses.at[0],
     f->in->poses.at[f->in->poses.n - 1].pose.position.x)
PAIR(Vector3Stamped, f->out->vector.x = 1, f->in->vector.x)
PAIR(MarkerArray, f->out->markers.n = sizeof f->out->markers.at / sizeof f->out->markers.at[0],
     f->in->markers.at[f->in->markers.n - 1].pose.position.x)

#define MODULES(T)                                                                                                     \
    static const struct nm_port make_##T##_ports[] = {NM_OUT(out, T, "out"), {0}};                                     \
    NM_MODULE_UNLISTED(make_##T, "Makes one message a step.", NM_PORTS(make_##T##_ports),                              \
                       .step = NM_CALL(make_##T##_step))
#define SELF struct make_Imu
MODULES(Imu)
#undef SELF
#define SELF struct make_Path
MODULES(Path)
#undef SELF
#define SELF struct make_MarkerArray
MODULES(MarkerArray)
#undef SELF
#define SELF struct make_Vector3Stamped
MODULES(Vector3Stamped)
#undef SELF
#undef MODULES
#define MODULES(T)                                                                                                     \
    static const struct nm_port read_##T##_ports[] = {NM_IN(in, T, "out"), {0}};                                       \
    NM_MODULE_UNLISTED(read_##T, "Reads one message a step.", NM_PORTS(read_##T##_ports),                              \
                       .step = NM_CALL(read_##T##_step))
#define SELF struct read_Imu
MODULES(Imu)
#undef SELF
#define SELF struct read_Path
MODULES(Path)
#undef SELF
#define SELF struct read_MarkerArray
MODULES(MarkerArray)
#undef SELF
#define SELF struct read_Vector3Stamped
MODULES(Vector3Stamped)
#undef SELF

struct idle {
    struct nm *nm;
    int64_t steps;
};
#define SELF struct idle
static void idle_step(struct idle *f) { f->steps++; }
static const struct nm_port idle_ports[] = {{0}};
NM_MODULE_UNLISTED(idle, "Does nothing.", NM_PORTS(idle_ports), .step = NM_CALL(idle_step))
#undef SELF

/* A line-up of n instances of the first module, then n of the second. */
static char *pairs_text(const char *first, const char *second, int n)
{
    char *text = calloc(1, 64 * 1024), *t = text;
    t += sprintf(t, "cycles: {c: {period: 1 ms, modules: [");
    for (int i = 0; i < n; i++) t += sprintf(t, "{module: %s, name: a%d, topics: {out: t%d}}, ", first, i, i);
    for (int i = 0; i < n; i++) t += sprintf(t, "{module: %s, name: b%d, topics: {out: t%d}}, ", second, i, i);
    sprintf(t, "]}}");
    return text;
}

static char *idle_text(int n)
{
    char *text = calloc(1, 64 * 1024), *t = text;
    t += sprintf(t, "cycles: {c: {period: 1 ms, modules: [");
    for (int i = 0; i < n; i++) t += sprintf(t, "{module: idle, name: i%d}, ", i);
    sprintf(t, "]}}");
    return text;
}

/* A run with n makers and n readers less a run of 2 n idle modules, for one pair. */
static void bench_pair(struct nm_bench *bench, const char *name, const struct nm_module *maker,
                       const struct nm_module *reader, double goal)
{
    enum { N = 2 };
    const struct nm_module *modules[] = {maker, reader}, *idles[] = {&idle_module};
    char *text = pairs_text(maker->name, reader->name, N), *nothing = idle_text(2 * N), goal_text[32];
    struct made with, without;
    make(&with, text, modules, 2);
    make(&without, nothing, idles, 1);
    double ns = run_time(with.player->cycles[0], without.player->cycles[0]) / N;
    snprintf(goal_text, sizeof goal_text, "<= %g ns", goal);
    nm_bench_report(bench, name, ns, "ns", NAN, goal_text, ns <= goal);
    unmake(&with);
    unmake(&without);
    free(text);
    free(nothing);
}

static void bench_board(struct nm_bench *bench)
{
    bench_pair(bench, "put, reset, read Imu", &make_Imu_module, &read_Imu_module, 30);
    bench_pair(bench, "put, reset, read full Path", &make_Path_module, &read_Path_module, 60);
    bench_pair(bench, "put, reset, read full MarkerArray", &make_MarkerArray_module, &read_MarkerArray_module, 200);

    const struct nm_module *idles[] = {&idle_module};
    char *text = idle_text(40);
    struct made m;
    make(&m, text, idles, 1);
    double us = run_time(m.player->cycles[0], NULL) / 1000;
    nm_bench_report(bench, "cycle of 40 empty modules", us, "us", NAN, "<= 4 us", us <= 4);
    unmake(&m);
    free(text);
}

/* ---- hand-over of a set ---- */

/* Median time to send a set in which every value is new and to take it in on the other side. */
static double handover(struct nm_cycle *from, struct nm_cycle *to, struct value **values, uint32_t n)
{
    enum { ROUNDS = 41, TIMES = 100 };
    double times[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        int64_t spent = 0;
        for (int i = 0; i < TIMES; i++) {
            from->run++;
            for (uint32_t k = 0; k < n; k++)
                nm_slot(values[k]->front)->seq = ++values[k]->seq, nm_slot(values[k]->front)->run = from->run;
            int64_t start = nm_clock();
            mailbox_send(from->out[0]);
            to->run++;
            mailbox_receive(to->in[0]);
            spent += nm_clock() - start;
        }
        times[r] = (double)spent / TIMES;
    }
    return nm_median(times, ROUNDS);
}

static double plain_copy(size_t bytes)
{
    enum { ROUNDS = 41, TIMES = 100 };
    double times[ROUNDS];
    /* three targets in turn, as a mailbox has */
    unsigned char *from = malloc(bytes), *to = malloc(3 * bytes);
    memset(from, 1, bytes);
    memset(to, 0, 3 * bytes);
    for (int r = 0; r < ROUNDS; r++) {
        int64_t spent = 0;
        for (int i = 0; i < TIMES; i++) {
            int64_t start = nm_clock();
            memcpy(to + bytes * (size_t)(i % 3), from, bytes);
            __asm__ volatile("" : : "r"(to) : "memory");
            spent += nm_clock() - start;
        }
        times[r] = (double)spent / TIMES;
    }
    free(from);
    free(to);
    return nm_median(times, ROUNDS);
}

static void handover_of(struct nm_bench *bench, const char *type, uint32_t n, size_t bytes)
{
    const struct nm_module *modules[] = {&make_Imu_module, &make_Path_module, &make_Vector3Stamped_module,
                                         &read_Imu_module, &read_Path_module, &read_Vector3Stamped_module};
    char text[4096], name[64], *t = text;
    t += sprintf(t, "cycles:\n  from: {period: 1 ms, modules: [");
    for (uint32_t i = 0; i < n; i++) t += sprintf(t, "{module: make_%s, name: a%u, topics: {out: t%u}}, ", type, i, i);
    t += sprintf(t, "]}\n  to: {period: 1 ms, modules: [");
    for (uint32_t i = 0; i < n; i++) t += sprintf(t, "{module: read_%s, name: b%u, topics: {out: t%u}}, ", type, i, i);
    sprintf(t, "]}\n");
    struct made m;
    make(&m, text, modules, 6);
    struct nm_cycle *from = m.player->cycles[0], *to = m.player->cycles[1];
    struct value *values[16];
    cycle_begin(from, 1);
    cycle_steps(from);
    for (uint32_t i = 0; i < n; i++) values[i] = &from->values[i];
    double ours = handover(from, to, values, n), copy = plain_copy(bytes), limit = 200 + 1.5 * copy;
    snprintf(name, sizeof name, "hand-over of a set of %u %s, %.1f kB", n, type, (double)bytes / 1024);
    nm_bench_report(bench, name, ours, "ns", ours / limit, "<= 200 ns + 1.5 x memcpy", ours <= limit);
    unmake(&m);
}

static void bench_handover(struct nm_bench *bench)
{
    size_t path = offsetof(Path, poses.at) + sizeof((Path *)0)->poses.at;
    handover_of(bench, "Vector3Stamped", 1, sizeof(Vector3Stamped));
    handover_of(bench, "Imu", 1, sizeof(Imu));
    handover_of(bench, "Imu", 10, 10 * sizeof(Imu));
    handover_of(bench, "Path", 1, path);
    handover_of(bench, "Path", 10, 10 * path);
}

/* ---- wake-up ---- */

enum { WAKES = 300 };

struct waker {
    struct nm *nm;
    Int64 *sent;
};
#define SELF struct waker
static void waker_step(struct waker *f)
{
    f->sent->data = nm_clock();
    nm_put(f->nm, f->sent);
}
static const struct nm_port waker_ports[] = {NM_OUT(sent, Int64, "sent"), {0}};
NM_MODULE_UNLISTED(waker, "Says when it spoke.", NM_PORTS(waker_ports), .step = NM_CALL(waker_step))
#undef SELF

struct woken {
    struct nm *nm;
    const Int64 *sent;
    double late[WAKES];
    _Atomic int n;
};
#define SELF struct woken
static void woken_step(struct woken *f)
{
    int n = f->n;
    if (n < WAKES && nm_fresh(f->nm, f->sent)) {
        f->late[n] = (double)(nm_clock() - f->sent->data);
        f->n = n + 1;
    }
}
static const struct nm_port woken_ports[] = {NM_IN(sent, Int64, "sent"), {0}};
NM_MODULE_UNLISTED(woken, "Notes how late it hears.", NM_PORTS(woken_ports), .step = NM_CALL(woken_step))
#undef SELF

static void nap_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

static double our_wake(void)
{
    const struct nm_module *modules[] = {&waker_module, &woken_module};
    struct made m;
    struct nm_err err = {0};
    make(&m, "cycles:\n  a: {period: 1 ms, modules: [waker]}\n  b: {trigger: sent, modules: [woken]}\n", modules, 2);
    nm_player_start(m.player, &err);
    struct woken *w = m.player->cycles[1]->instances[0]->self;
    while (w->n < WAKES) nap_ms(10);
    nm_player_stop(m.player);
    double late = nm_median(w->late, WAKES);
    unmake(&m);
    return late;
}

struct bare {
    _Atomic uint32_t word;
    _Atomic int64_t sent;
    double late[WAKES];
};

static void *bare_sleeper(void *user)
{
    struct bare *b = user;
    for (uint32_t i = 0; i < WAKES; i++) {
        while (atomic_load(&b->word) == i) syscall(SYS_futex, &b->word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
        b->late[i] = (double)(nm_clock() - atomic_load(&b->sent));
    }
    return NULL;
}

static double bare_wake(void)
{
    static struct bare b;
    b = (struct bare){0};
    pthread_t thread;
    pthread_create(&thread, NULL, bare_sleeper, &b);
    for (int64_t next = nm_clock(), i = 0; i < WAKES; i++) {
        next += 1000000;
        struct timespec t = nm_timespec(next);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        atomic_store(&b.sent, nm_clock());
        atomic_fetch_add(&b.word, 1);
        syscall(SYS_futex, &b.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    pthread_join(thread, NULL);
    return nm_median(b.late, WAKES);
}

static void bench_wake(struct nm_bench *bench)
{
    enum { ROUNDS = 7 };
    double ours[ROUNDS], bare[ROUNDS], ratios[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        ours[r] = our_wake();
        bare[r] = bare_wake();
        ratios[r] = ours[r] / bare[r];
    }
    double ratio = nm_median(ratios, ROUNDS);
    nm_bench_report(bench, "wake-up of a triggered cycle", nm_median(ours, ROUNDS) / 1000, "us", ratio,
                    "<= 1.3 x a bare futex", ratio <= 1.3);
}

/* ---- transforms ---- */

static void bench_tf(struct nm_bench *bench)
{
    enum { ROUNDS = 41, TIMES = 1000 };
    static const char *const chain[] = {"map", "odom", "base_link", "hip", "thigh", "shank", "ankle", "foot"};
    struct nm_arena arena = {0};
    struct tf_tree *tree = tf_new(&arena);
    double times[ROUNDS], sum = 0;
    for (int64_t t = 1; t <= TF_SAMPLES; t++)
        for (int i = 0; i < 7; i++) {
            struct pose3 pose = {quat_rpy(0.1 * i, 0.001 * (double)t, 0), {0.1, 0, 0.001 * (double)t}};
            tf_put(tree, chain[i], chain[i + 1], t * 8000000, pose, false);
        }
    for (int r = 0; r < ROUNDS; r++) {
        int64_t start = nm_clock();
        for (int i = 0; i < TIMES; i++) {
            struct pose3 foot_to_map;
            tf_get(tree, "foot", "map", 1000000000 + i * 100000 + 1, &foot_to_map);
            sum += foot_to_map.pos.x;
        }
        times[r] = (double)(nm_clock() - start) / TIMES;
    }
    double us = nm_median(times, ROUNDS) / 1000;
    nm_bench_report(bench, "transform through 7 frames in the past", us, "us", NAN, "<= 0.5 us", us <= 0.5 && sum != 0);
    nm_arena_free(&arena);
}

/* ---- start ---- */

static void bench_start(struct nm_bench *bench)
{
    enum { ROUNDS = 9 };
    const struct nm_module *modules[] = {&make_Imu_module, &read_Imu_module};
    char *text = pairs_text("make_Imu", "read_Imu", 30);
    double times[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        struct made m;
        struct nm_err err = {0};
        int64_t start = nm_clock();
        make(&m, text, modules, 2);
        nm_player_start(m.player, &err);
        times[r] = (double)(nm_clock() - start) / 1e6;
        nm_player_stop(m.player);
        unmake(&m);
    }
    free(text);
    double ms = nm_median(times, ROUNDS);
    nm_bench_report(bench, "line-up of 60 modules checked and started", ms, "ms", NAN, "<= 20 ms", ms <= 20);
}

/* ---- nm_show ---- */

static void bench_show(struct nm_bench *bench)
{
    enum { ROUNDS = 41, TIMES = 10000 };
    struct nm nm = {0};
    double times[ROUNDS], empty[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        int64_t start = nm_clock();
        for (int i = 0; i < TIMES; i++) {
            __asm__ volatile("" : : "r"(&nm) : "memory");
            nm_show(&nm, "value", i);
        }
        int64_t middle = nm_clock();
        for (int i = 0; i < TIMES; i++) __asm__ volatile("" : : "r"(&nm) : "memory");
        times[r] = (double)(middle - start) / TIMES;
        empty[r] = (double)(nm_clock() - middle) / TIMES;
    }
    double ns = nm_median(times, ROUNDS) - nm_median(empty, ROUNDS);
    nm_bench_report(bench, "nm_show unwatched", ns, "ns", NAN, "<= 2 ns", ns <= 2);
}

void bench_core(struct nm_bench *bench);
void bench_core(struct nm_bench *bench)
{
    bench_board(bench);
    bench_handover(bench);
    bench_wake(bench);
    bench_tf(bench);
    bench_start(bench);
    bench_show(bench);
}
