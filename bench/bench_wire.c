/* An Imu between two processes of this machine over DDS: how long it takes and what both processes compute for it,
 * against bare Cyclone DDS with types of its own compiler.
 *
 *   bare            from a loop to a listener
 *   wire            the same with our serialiser and raw type: what the DDS edge adds to Cyclone
 *   bare threads    as a program does it whose loops never wait for the network: the loop hands over to a thread that
 *                   sends, the listener to a thread that works
 *   player          from a module to a module, each in a cycle of its own player, through the DDS edges: the same hops
 *
 * Each pass is two new processes; the ways take turns. Where ROS 1 is installed, the last way is held against it too.
 */
#include "base/order.h"
#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "codec/cdr.h"
#include "core/player.h"
#include "edge/dds/dds.h"
#include "edge/dds/domain.h"
#include "edge/dds/rawtype.h"
#include "sensor_msgs/Imu.h"
#include "wire_peer.h"
#include "wire_ros1.h"

enum { MOST = 4000, ROUNDS = 9, QUICK_ROUNDS = 3, WARM = 20 };
enum way { BARE, WIRE, THREADS, PLAYER, WAYS };
static const char *const way_names[WAYS] = {"bare Cyclone", "wire", "bare, in threads", "player to player"};
/* whom each is held against; itself: nobody */
static const enum way way_peers[WAYS] = {BARE, BARE, BARE, THREADS};
static const bool way_is_ours[WAYS] = {[WIRE] = true, [PLAYER] = true};

/* Shared by the two processes of a pass and their parent. */
struct pass {
    enum way way;
    int hz, n; /* messages a second; how many, without those that warm up */
    int domain;
    _Atomic int got;
    double latency[MOST]; /* ns */
    double cpu[2];        /* s, of sender and receiver */
    struct rusage before[2];
};

static double now_ns(void) { return (double)nm_clock_of(CLOCK_MONOTONIC); }

static void begin_cpu(struct pass *pass, int who) { getrusage(RUSAGE_SELF, &pass->before[who]); }

static void end_cpu(struct pass *pass, int who)
{
    struct rusage now, *was = &pass->before[who];
    getrusage(RUSAGE_SELF, &now);
    pass->cpu[who] =
        (double)(now.ru_utime.tv_sec + now.ru_stime.tv_sec - was->ru_utime.tv_sec - was->ru_stime.tv_sec) +
        1e-6 * (double)(now.ru_utime.tv_usec + now.ru_stime.tv_usec - was->ru_utime.tv_usec - was->ru_stime.tv_usec);
}

static void arrived(double number, double sent, void *user)
{
    struct pass *pass = user;
    int i = (int)number - WARM, got = atomic_load(&pass->got);
    if (i == 0) begin_cpu(pass, 1);
    if (i >= 0 && i < pass->n && got < MOST) {
        pass->latency[got] = now_ns() - sent;
        atomic_store(&pass->got, got + 1);
    }
    if (i == pass->n - 1) end_cpu(pass, 1);
}

/* ---- handing over between threads ---- */

struct hand {
    pthread_mutex_t lock;
    pthread_cond_t there;
    bool full;
    double number, sent;
    void (*take)(double number, double sent, void *user);
    void *user;
};

static void *hand_main(void *user)
{
    struct hand *hand = user;
    for (;;) {
        pthread_mutex_lock(&hand->lock);
        while (!hand->full) pthread_cond_wait(&hand->there, &hand->lock);
        double number = hand->number, sent = hand->sent;
        hand->full = false;
        pthread_mutex_unlock(&hand->lock);
        hand->take(number, sent, hand->user);
    }
    return NULL;
}

/* Lives as long as the process. */
static struct hand *hand_new(void (*take)(double number, double sent, void *user), void *user)
{
    static struct hand hand = {.lock = PTHREAD_MUTEX_INITIALIZER, .there = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    hand.take = take;
    hand.user = user;
    if (pthread_create(&thread, NULL, hand_main, &hand)) abort();
    return &hand;
}

static void hand_over(double number, double sent, void *user)
{
    struct hand *hand = user;
    pthread_mutex_lock(&hand->lock);
    hand->number = number;
    hand->sent = sent;
    hand->full = true;
    pthread_mutex_unlock(&hand->lock);
    pthread_cond_signal(&hand->there);
}

/* ---- without players ---- */

static dds_qos_t *qos_new(void)
{
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(10));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 10);
    dds_qset_writer_data_lifecycle(qos, false);
    return qos;
}

static void bare_write(double number, double sent, void *user) { wire_peer_write(*(dds_entity_t *)user, number, sent); }

static void wire_write(double number, double sent, void *user)
{
    static Imu imu;
    static uint8_t bytes[1024];
    nm_text(imu.header.frame_id, "imu_link");
    imu.orientation.x = number;
    imu.orientation.y = sent;
    int64_t n = nm_cdr_encode(&Imu_type, &imu, bytes, sizeof bytes);
    if (n > 0) nm_raw_write(*(dds_entity_t *)user, bytes, (size_t)n);
}

static void wire_there(dds_entity_t reader, void *user)
{
    static Imu imu;
    struct nm_raw samples[NM_RAW_MOST];
    int n = nm_raw_take(reader, samples, NM_RAW_MOST);
    for (int i = 0; i < n; i++)
        if (samples[i].sample && !nm_cdr_decode(&Imu_type, &imu, samples[i].bytes, samples[i].size, NULL, NULL))
            arrived(imu.orientation.x, imu.orientation.y, user);
    if (n > 0) nm_raw_free(samples, n);
}

static void send_plain(struct pass *pass)
{
    dds_entity_t participant = nm_domain_join((uint32_t)pass->domain, false, NULL);
    dds_qos_t *qos = qos_new();
    dds_entity_t writer =
        pass->way != WIRE
            ? wire_peer_writer(participant, qos)
            : dds_create_writer(participant, nm_raw_topic(participant, "rt/wire_imu", Imu_type.dds_name), qos, NULL);
    dds_publication_matched_status_t status = {0};
    for (int i = 0; i < 1000 && !status.current_count; i++) {
        usleep(10000);
        dds_get_publication_matched_status(writer, &status);
    }
    wire_arrived *write = pass->way == WIRE ? wire_write : bare_write;
    void *to = &writer;
    if (pass->way == THREADS) {
        to = hand_new(write, &writer);
        write = hand_over;
    }
    double next = now_ns();
    for (int i = 0; i < pass->n + WARM; i++) {
        if (i == WARM) begin_cpu(pass, 0);
        next += 1e9 / pass->hz;
        struct timespec t = {(time_t)(next * 1e-9), (long)fmod(next, 1e9)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        write(i, now_ns(), to);
    }
    end_cpu(pass, 0);
    usleep(100000); /* the last one has to leave */
}

static void receive_plain(struct pass *pass)
{
    dds_entity_t participant = nm_domain_join((uint32_t)pass->domain, false, NULL);
    dds_qos_t *qos = qos_new();
    if (pass->way == THREADS) {
        wire_peer_reader(participant, qos, hand_over, hand_new(arrived, pass));
        return;
    }
    if (pass->way == BARE) {
        wire_peer_reader(participant, qos, arrived, pass);
        return;
    }
    dds_listener_t *listener = dds_create_listener(pass);
    dds_lset_data_available(listener, wire_there);
    dds_create_reader(participant, nm_raw_topic(participant, "rt/wire_imu", Imu_type.dds_name), qos, listener);
}

/* ---- players ---- */

static struct pass *now_at_work; /* of this process, for its one module */
static _Atomic bool may_speak, all_said;

struct wire_voice {
    struct nm *nm;
    Imu *imu;
    int said;
};
static void speak(struct wire_voice *v)
{
    if (!atomic_load(&may_speak) || atomic_load(&all_said)) return;
    if (v->said == WARM) begin_cpu(now_at_work, 0);
    nm_text(v->imu->header.frame_id, "imu_link");
    v->imu->orientation.x = v->said++;
    v->imu->orientation.y = now_ns();
    nm_put(v->nm, v->imu);
    if (v->said == now_at_work->n + WARM) atomic_store(&all_said, true);
}
#define SELF struct wire_voice
static const struct nm_port voice_ports[] = {NM_OUT(imu, Imu, "imu"), {0}};
NM_MODULE_UNLISTED(wire_voice, "Sends.", NM_PORTS(voice_ports), .step = NM_CALL(speak))
#undef SELF

struct wire_ear {
    struct nm *nm;
    const Imu *imu;
};
static void listen_in(struct wire_ear *e)
{
    if (nm_fresh(e->nm, e->imu)) arrived(e->imu->orientation.x, e->imu->orientation.y, now_at_work);
}
#define SELF struct wire_ear
static const struct nm_port ear_ports[] = {NM_IN(imu, Imu, "imu"), {0}};
NM_MODULE_UNLISTED(wire_ear, "Receives.", NM_PORTS(ear_ports), .step = NM_CALL(listen_in))
#undef SELF

/* Lives as long as the process. */
static struct nm_dds *play(struct pass *pass, const char *lineup)
{
    static const struct nm_module *const modules[] = {&wire_voice_module, &wire_ear_module};
    static struct nm_arena arena;
    static struct nm_registry registry;
    static const struct nm_lineup_options where = {.root = "/nonexistent"};
    struct nm_err err = {0};
    now_at_work = pass;
    nm_registry_init(&registry, &arena, modules, modules + 2);
    struct nm_lineup *plan = nm_lineup_parse(lineup, strlen(lineup), "wire.yaml", &registry, &where, &err);
    struct nm_player *player = plan ? nm_player_new(plan, NULL, &err) : NULL;
    struct nm_dds *dds = player ? nm_dds_new(player, &(struct nm_dds_options){.domain = pass->domain}, &err) : NULL;
    if (dds && !nm_player_start(player, &err) && !nm_dds_start(dds, &err)) return dds;
    fprintf(stderr, "bench wire: %s", err.text);
    _exit(1);
}

static void send_playing(struct pass *pass)
{
    char lineup[256];
    snprintf(lineup, sizeof lineup, "cycles:\n  voice:\n    period: %g ms\n    modules: [wire_voice]\n",
             1000.0 / pass->hz);
    struct nm_dds *dds = play(pass, lineup);
    for (int i = 0; i < 1000 && !nm_dds_matched(dds, "imu"); i++) usleep(10000);
    atomic_store(&may_speak, true);
    while (!atomic_load(&all_said)) usleep(100000);
    end_cpu(pass, 0);
    usleep(100000); /* the last one has to leave */
}

static void receive_playing(struct pass *pass)
{
    play(pass, "cycles:\n  ear:\n    trigger: imu\n    timeout: 1000 ms\n    modules: [wire_ear]\nremote: [imu]\n");
}

/* ---- passes ---- */

static double median(double *values, int n)
{
    if (n <= 0) return NAN;
    qsort(values, (size_t)n, sizeof *values, nm_by_size);
    return values[n / 2];
}

/* The median latency in us and the CPU time of both processes in us a message. */
static bool run_pass(struct pass *pass, double *latency, double *cpu)
{
    atomic_store(&pass->got, 0);
    pass->cpu[0] = pass->cpu[1] = 0;
    fflush(NULL);
    pid_t receiver = fork();
    if (receiver == 0) {
        (pass->way == PLAYER ? receive_playing : receive_plain)(pass);
        for (pid_t parent = getppid(); getppid() == parent;) usleep(100000);
        _exit(0);
    }
    pid_t sender = fork();
    if (sender == 0) {
        (pass->way == PLAYER ? send_playing : send_plain)(pass);
        _exit(0);
    }
    waitpid(sender, NULL, 0);
    for (int i = 0; i < 100 && pass->cpu[1] <= 0; i++) usleep(10000);
    kill(receiver, SIGKILL);
    waitpid(receiver, NULL, 0);
    int got = atomic_load(&pass->got);
    *latency = 1e-3 * median(pass->latency, got);
    *cpu = 1e6 * (pass->cpu[0] + pass->cpu[1]) / pass->n;
    return got >= pass->n / 2 && pass->cpu[1] > 0;
}

static void report(struct nm_bench *bench, const char *what, int hz, const char *unit, double (*values)[ROUNDS], int n)
{
    bool peer = wire_peer_there();
    double medians[WAYS];
    for (int way = 0; way < WAYS; way++) medians[way] = median(values[way], peer || way_is_ours[way] ? n : 0);
    for (int way = 0; way < WAYS; way++) {
        char name[96];
        double ratio = way == BARE ? NAN : medians[way] / medians[way_peers[way]];
        if (isnan(medians[way])) continue;
        snprintf(name, sizeof name, "Imu at %d Hz, %s, %s", hz, what, way_names[way]);
        bool goal = way_is_ours[way] && isfinite(ratio);
        const char *words = way == PLAYER ? "<= 1.2 x threads" : "<= 1.2 x bare";
        nm_bench_report(bench, name, medians[way], unit, ratio, goal ? words : "", !goal || ratio <= 1.2);
    }
}

/* ROS 1 in the same rounds. Nobody set a goal for it: the ratio is what it takes, as a multiple of player to player. */
struct ros1 {
    bool there[ROS1_WAYS];
    double latency[ROS1_WAYS][ROUNDS], cpu[ROS1_WAYS][ROUNDS];
};

static void look_for_ros1(struct nm_bench *bench, struct ros1 *ros1)
{
    for (int way = 0; way < ROS1_WAYS; way++) {
        char name[160], why[128];
        ros1->there[way] = ros1_there((enum ros1_way)way, why, sizeof why);
        snprintf(name, sizeof name, "%s is not measured: %s", ros1_names[way], why);
        if (!ros1->there[way]) nm_bench_report(bench, name, NAN, "", NAN, "", true);
    }
}

static void run_ros1(struct ros1 *ros1, int hz, int round)
{
    for (int way = 0; way < ROS1_WAYS; way++)
        ros1->there[way] = ros1->there[way] && ros1_run((enum ros1_way)way, hz, hz, WARM, &ros1->latency[way][round],
                                                        &ros1->cpu[way][round]);
}

static void report_ros1(struct nm_bench *bench, struct ros1 *ros1, const char *what, int hz, double (*values)[ROUNDS],
                        int n, double ours)
{
    for (int way = 0; way < ROS1_WAYS; way++) {
        char name[96];
        if (!ros1->there[way]) continue;
        double value = median(values[way], n);
        snprintf(name, sizeof name, "Imu at %d Hz, %s, %s", hz, what, ros1_names[way]);
        nm_bench_report(bench, name, value, "us", value / ours, "", true);
    }
}

void bench_wire(struct nm_bench *bench);
void bench_wire(struct nm_bench *bench)
{
    static const int rates[] = {100, 1000};
    int rounds = nm_bench_quick(bench) ? QUICK_ROUNDS : ROUNDS;
    struct pass *pass = mmap(NULL, sizeof *pass, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pass == MAP_FAILED) return;
    struct ros1 ros1;
    look_for_ros1(bench, &ros1);
    pass->domain = 2 + getpid() % 99;
    for (int r = 0; r < 2; r++) {
        double latency[WAYS][ROUNDS], cpu[WAYS][ROUNDS];
        bool good = true;
        pass->hz = rates[r];
        pass->n = 50 + pass->hz / 2;
        for (int round = 0; round < rounds; round++) {
            for (int way = 0; way < WAYS; way++) {
                if (!way_is_ours[way] && !wire_peer_there()) continue;
                pass->way = (enum way)way;
                good &= run_pass(pass, &latency[way][round], &cpu[way][round]);
            }
            run_ros1(&ros1, rates[r], round);
        }
        if (!good) {
            nm_bench_report(bench, "Imu between two processes", NAN, "us", NAN, "samples arrive", false);
            continue;
        }
        report(bench, "median latency", rates[r], "us", latency, rounds);
        report_ros1(bench, &ros1, "median latency", rates[r], ros1.latency, rounds, median(latency[PLAYER], rounds));
        report(bench, "CPU per message", rates[r], "us", cpu, rounds);
        report_ros1(bench, &ros1, "CPU per message", rates[r], ros1.cpu, rounds, median(cpu[PLAYER], rounds));
    }
    munmap(pass, sizeof *pass);
}
