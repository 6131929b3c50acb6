#include "learn/exam.h"

#include <stdlib.h>
#include <string.h>

#include "nn/onnx.h"

enum { SIDES = 4 };
/* of mass times pace, against the trunk; of the time; s */
static const double PUSH = 0.28, AT = 0.4, LASTS = 0.1;

struct run {
    double speed, watts;
    bool fell, failed;
    struct nm_err err;
};

struct job {
    const struct nm_exam *exam;
    const void *policy; /* as a file: a net holds its values, and each run needs its own */
    size_t n_policy;
    struct run *runs;
};

static double push_of(const struct nm_exam *e) { return PUSH * e->gait->body->mass * e->gait->pace; }

static void ask_for(const struct nm_exam *e, int kind, double command[3])
{
    const double *most = e->limits->most, on_the_spot = 1e-6;
    const double all[NM_LEARN_SCORES][3] = {{most[0], 0, 0}, {-most[1], 0, 0}, {0, most[2], 0},
                                            {0, 0, most[3]}, {0, 0, 0},        {on_the_spot, 0, 0}};
    memcpy(command, all[kind], sizeof all[kind]);
}

static void push(const struct nm_exam *e, struct nm_walking *w, uint32_t side)
{
    struct nm_truth t;
    nm_world_truth(w->world, 0, &t);
    double to = quat_yaw(t.base_to_field.rot) + side * 2 * M_PI / SIDES, size = push_of(e);
    nm_world_push(w->world, 0, (struct vec3){size * cos(to), size * sin(to), 0}, e->gait->body->inertia[0].com,
                  (int64_t)(LASTS * 1e9));
}

/* Runs of a kind stand together; those of pushes are one group for each side. */
static void run_one(void *user, uint32_t i, uint32_t hand)
{
    struct job *job = user;
    const struct nm_exam *e = job->exam;
    struct run *r = &job->runs[i];
    struct nm_walking w;
    uint32_t group = i / e->runs;
    int kind = group < NM_LEARN_PUSHED ? (int)group : NM_LEARN_PUSHED;
    (void)hand;
    struct nm_net *net = nm_onnx_read(job->policy, job->n_policy, "policy", &r->err);
    r->failed = !net || nm_walking_new(&w, e->gait, e->pitch, e->first_seed + i % e->runs, &r->err);
    if (r->failed) {
        nm_net_free(net);
        return;
    }
    nm_walking_reset(&w);
    ask_for(e, kind, w.target);
    uint32_t periods = (uint32_t)(e->seconds / NM_GAIT_PERIOD), counted = 0;
    for (uint32_t k = 0; k < periods && !r->fell; k++) {
        struct nm_walked walked;
        if (kind == NM_LEARN_PUSHED && k == (uint32_t)(AT * periods)) push(e, &w, group - NM_LEARN_PUSHED);
        nm_walking_observe(&w, nm_net_input(net, 0), NULL);
        if (net->n_inputs > 1) *nm_net_input(net, 1) = (float)nm_gait_slow(&w.state, w.command, e->limits->most);
        nm_net_run(net);
        nm_walking_step(&w, nm_net_output(net, 0), &walked);
        r->fell = walked.fell;
        if (k < periods / 4) continue; /* until it has its speed */
        const double now[NM_LEARN_SCORES] = {w.velocity.x, -w.velocity.x, w.velocity.y, w.speed[2],
                                             hypot(w.speed[0], w.speed[1])};
        r->speed += now[kind];
        r->watts += w.watts;
        counted++;
    }
    r->speed /= counted ? counted : 1;
    r->watts /= counted ? counted : 1;
    nm_walking_free(&w);
    nm_net_free(net);
}

static int sum_up(const struct run *runs, uint32_t n, struct nm_learn_score *to, struct nm_err *err)
{
    uint32_t up = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (runs[i].failed) return nm_fail(err, "%s", runs[i].err.text);
        to->falls += runs[i].fell;
        if (runs[i].fell) continue;
        up++;
        to->speed += runs[i].speed;
        to->watts += runs[i].watts;
    }
    to->runs = n;
    to->speed /= up ? up : 1;
    to->watts /= up ? up : 1;
    return 0;
}

int nm_examine(const struct nm_exam *e, struct nm_workers *workers, struct nm_learn_score scores[NM_LEARN_SCORES],
               struct nm_err *err)
{
    struct job job = {.exam = e};
    uint32_t n = (NM_LEARN_PUSHED + SIDES) * e->runs;
    void *bytes = nm_onnx_write(e->policy, &job.n_policy);
    int bad = 0;
    job.policy = bytes;
    job.runs = calloc(n, sizeof *job.runs);
    if (!job.runs) abort();
    nm_workers_run(workers, n, run_one, &job);
    for (int kind = 0; kind < NM_LEARN_SCORES && !bad; kind++) {
        double command[3];
        ask_for(e, kind, command);
        double asked = kind == NM_LEARN_PUSHED ? push_of(e) : fabs(command[0]) + command[1] + command[2];
        scores[kind] = (struct nm_learn_score){.asked = asked};
        bad = sum_up(job.runs + (uint32_t)kind * e->runs, (kind == NM_LEARN_PUSHED ? SIDES : 1) * e->runs,
                     &scores[kind], err);
    }
    free(job.runs);
    free(bytes);
    return bad;
}
