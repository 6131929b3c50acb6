/* Row of nutmeg bench vision: from an image to a joint goal that uses it, in the threads of a player of a match. The
 * camera's thread shows pictures of a folder, the driver's thread talks to servos of a virtual bus. Which run used
 * which image is not guessed: notes of all runs say which messages each of them consumed and made (core/run_record.h).
 */
#include "vision_latency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "core/run_record.h"
#include "edge/bus/hardware.h"
#include "edge/camera/camera_edge.h"
#include "nutmeg_msgs/JointGoals.h"

enum { MOST = 8192 /* notes of a cycle, and goals */ };

/* An image makes percepts, these move the gaze, and this the joints of the head. */
static const struct link {
    const char *cycle, *reads, *makes;
} chain[] = {
    {"camera0", NULL, "camera/image_raw"},
    {"vision", "camera/image_raw", "percepts"},
    {"brain", "percepts", "head_command"},
    {"motion", "head_command", "servo_goals"},
};
enum { LINKS = sizeof chain / sizeof *chain };

struct latency {
    struct nm_player *player;
    struct nm_record *record;
    uint32_t cycles[LINKS], n[LINKS];
    struct note {
        int64_t now;
        uint64_t in, out; /* sequence numbers of what it read and made; 0: nothing */
    } notes[LINKS][MOST];
    int64_t arrived[MOST]; /* ns, by the goals' sequence number */
};

static void take_notes(struct latency *l)
{
    const struct nm_lineup *lineup = nm_player_lineup(l->player);
    for (uint32_t i = 0; i < LINKS; i++) {
        uint32_t n_topics;
        struct nm_run run;
        const struct nm_record_topic *topics = nm_record_topics(l->record, l->cycles[i], &n_topics);
        while (nm_record_next(l->record, l->cycles[i], &run)) {
            struct note note = {.now = run.now};
            for (uint32_t k = 0; k < run.n_consumed && chain[i].reads; k++)
                if (!strcmp(lineup->topics[topics[run.consumed[k].at].topic].name, chain[i].reads))
                    note.in = run.consumed[k].last;
            for (uint32_t k = 0; k < run.n_made; k++)
                if (!strcmp(lineup->topics[topics[run.made[k].at].topic].name, chain[i].makes))
                    note.out = run.made[k].last;
            if (l->n[i] < MOST) l->notes[i][l->n[i]++] = note;
        }
    }
}

/* ns until the first goal that uses the image; 0: none did before the end. */
static int64_t follow(const struct latency *l, const struct note *image)
{
    const struct note *at = image;
    for (uint32_t i = 1; i < LINKS; i++) {
        const struct note *next = NULL;
        for (uint32_t k = 0; k < l->n[i] && !next; k++)
            if (l->notes[i][k].in >= at->out && l->notes[i][k].out) next = &l->notes[i][k];
        if (!next || (i == 1 && next->in != at->out)) return 0; /* a slow vision leaves images out */
        at = next;
    }
    return at->out < MOST && l->arrived[at->out] ? l->arrived[at->out] - image->now : 0;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void report(struct nm_bench *bench, const struct latency *l, int64_t since)
{
    static int64_t times[MOST];
    uint32_t n = 0, images = 0;
    struct nm_cycle_stats vision;
    nm_player_cycle_stats(l->player, l->cycles[1], &vision);
    int64_t period = nm_player_plan(l->player, l->cycles[LINKS - 1])->period;
    for (uint32_t i = 0; i + 2 < l->n[0]; i++) { /* the last ones had no time to arrive */
        if (l->notes[0][i].now < since) continue;
        int64_t took = follow(l, &l->notes[0][i]);
        images++;
        if (took) times[n++] = took;
    }
    qsort(times, n, sizeof *times, by_time);
    double p99 = n ? 1e-6 * (double)times[(n - 1) * 99 / 100] : NAN,
           limit = 1e-6 * (double)(vision.busy.p99 + period) + 2;
    char goal[32];
    snprintf(goal, sizeof goal, "<= %.1f ms", limit);
    nm_bench_report(bench, "from an image to a joint goal that uses it, p99", p99, "ms", NAN, goal, p99 <= limit);
    nm_bench_say(
        bench,
        "median %.1f ms; %u of %u images were used; the vision takes %.1f ms, p99 %.1f ms, the motion cycle %.0f ms",
        n ? 1e-6 * (double)times[n / 2] : NAN, n, images, 1e-6 * vision.busy.mean, 1e-6 * (double)vision.busy.p99,
        1e-6 * (double)period);
}

static int measure(struct nm_bench *bench, struct latency *l, struct nm_edge *goals, struct nm_camera_edge *camera,
                   struct nm_hardware *bus, struct nm_err *err)
{
    if (nm_player_start(l->player, err) || nm_hardware_start(bus, err) || nm_camera_edge_start(camera, err)) return -1;
    for (uint32_t i = 0; i < LINKS; i++)
        for (uint32_t c = 0; c < nm_record_cycles(l->record); c++)
            if (!strcmp(nm_record_name(l->record, c), chain[i].cycle)) l->cycles[i] = c;
    int64_t begin = nm_clock(), end = begin + nm_ns(nm_bench_quick(bench) ? 6 : 30);
    for (int64_t now = begin; now < end; now = nm_clock()) {
        nm_edge_wait(goals, nm_ns(0.02));
        nm_edge_begin(goals, nm_clock());
        uint64_t seq = nm_slot(nm_edge_in(goals, 0))->seq;
        if (nm_edge_fresh(goals, 0) && seq < MOST) l->arrived[seq] = nm_clock();
        nm_edge_end(goals);
        take_notes(l);
    }
    nm_player_stop(l->player);
    take_notes(l);
    report(bench, l, begin + nm_ns(1));
    return 0;
}

void bench_vision_latency(struct nm_bench *bench, struct setup *setup, const char *pictures)
{
    static const struct nm_edge_port port = {"servo_goals", NM_PORT_IN, &JointGoals_type, 0, 0};
    struct nm_err err = {0};
    struct lineup_flags flags = {0};
    struct latency *l = nm_calloc(1, sizeof *l);
    struct nm_lineup *lineup = setup_lineup(setup, "match:vision", &flags, &err);
    const struct nm_body *body = lineup ? setup_body(setup, lineup, &err) : NULL;
    struct nm_hardware *bus = NULL;
    struct nm_camera_edge *camera = NULL;
    struct nm_edge *goals = NULL;
    l->player = body ? nm_player_new(lineup, &(struct nm_player_options){.seed = 1, .body = body}, &err) : NULL;
    if (l->player) {
        l->record = nm_record_new(l->player, &err);
        bus = nm_hardware_new(l->player, body, NM_HARDWARE_VIRTUAL, &err);
        camera = nm_camera_edge_new(l->player, body, 0, pictures, NULL, &err);
        goals = nm_edge_new(l->player, "goals", &port, 1, &err);
    }
    if (!l->record || !bus || !camera || !goals || measure(bench, l, goals, camera, bus, &err))
        nm_bench_fail(bench, &err);
    nm_camera_edge_free(camera);
    nm_hardware_free(bus);
    if (l->player) nm_player_free(l->player);
    if (lineup) nm_lineup_free(lineup);
    free(l);
}
