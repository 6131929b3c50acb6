/* Fits the model of steps to drives between known points (Rhoban 2016, section 4.2): what the black-box optimiser makes
 * small is the distance between where a drive ended and where the corrected odometry thinks that it did. */
#include "cmd/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmaes.h"
#include "base/memory.h"
#include "codec/cdr.h"
#include "core/poses.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/SupportState.h"
#include "record/bag.h"

enum { LINEAR = 3 * NM_STEP_TERMS, LOCAL = 3 * NM_STEP_NEAR, MOST = LINEAR + LOCAL, GENERATIONS = 600 };
static const double TURN_WEIGHT = 0.3; /* m for a radian that the end is turned wrongly    */
static const double TAME = 1e-4;       /* m2: how much an odd coefficient costs            */

static struct pose2 calibrate_end(const struct nm_step_model *model, const struct drive_steps *d)
{
    struct pose2 at = {0};
    for (uint32_t i = 0; i < d->n; i++) at = pose2_mul(at, model ? nm_step_correct(model, d->steps[i]) : d->steps[i]);
    return pose2_mul(at, d->rest);
}

double calibrate_drift(const struct nm_step_model *model, const struct drive_steps *drives, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct pose2 end = calibrate_end(model, &drives[i]);
        sum += hypot(end.x - drives[i].end.x, end.y - drives[i].end.y);
    }
    return n ? sum / n : NAN;
}

/* Coordinates of the search are of the size of one: slopes in tenths, offsets in millimetres and hundredths of rad. */
static void unpack(const double *x, uint32_t n, bool symmetric, struct nm_step_model *m)
{
    static const bool alike[3][NM_STEP_TERMS] = {
        {true, false, false, true}, {false, true, true, false}, {false, true, true, false}};
    double *terms[3] = {m->forward, m->left, m->turn};
    for (uint32_t i = 0; i < LINEAR && i < n; i++) {
        uint32_t row = i / NM_STEP_TERMS, column = i % NM_STEP_TERMS;
        if (symmetric && !alike[row][column]) continue;
        double unit = column == 3 ? (row == 2 ? 0.01 : 0.001) : 0.1;
        terms[row][column] = (row == column) + unit * x[i];
    }
    for (uint32_t i = LINEAR; i < n; i++) {
        uint32_t k = (i - LINEAR) / 3, axis = (i - LINEAR) % 3;
        m->more[k][axis] = (axis == 2 ? 0.01 : 0.001) * x[i];
    }
}

static double cost(const double *x, uint32_t n, bool symmetric, const struct drive_steps *drives, uint32_t n_drives,
                   struct nm_step_model *m)
{
    double sum = 0, odd = 0;
    unpack(x, n, symmetric, m);
    for (uint32_t i = 0; i < n_drives; i++) {
        struct pose2 end = calibrate_end(m, &drives[i]);
        double dx = end.x - drives[i].end.x, dy = end.y - drives[i].end.y;
        double turn = drives[i].turn_known ? TURN_WEIGHT * angle_normal(end.theta - drives[i].end.theta) : 0;
        sum += dx * dx + dy * dy + turn * turn;
    }
    for (uint32_t i = 0; i < n; i++) odd += x[i] * x[i];
    return sum / n_drives + TAME * odd / n;
}

static void search(const struct drive_steps *drives, uint32_t n_drives, uint32_t n, bool symmetric, double *x,
                   struct nm_step_model *m)
{
    struct nm_arena arena = {0};
    struct nm_cma *cma = nm_cma_new(&arena, n, x, NULL, 0.3, 0, 1);
    double *scores = nm_malloc(sizeof *scores * cma->population);
    for (int g = 0; g < GENERATIONS && !nm_cma_done(cma); g++) {
        for (uint32_t k = 0; k < cma->population; k++)
            scores[k] = cost(nm_cma_candidate(cma, k), n, symmetric, drives, n_drives, m);
        nm_cma_tell(cma, scores);
    }
    memcpy(x, cma->best, n * sizeof *x);
    unpack(x, n, symmetric, m);
    free(scores);
    nm_arena_free(&arena);
}

/* ---- typical steps ---- */

static double apart(struct pose2 s, const double c[3])
{
    double dx = s.x - c[0], dy = s.y - c[1], turn = NM_STEP_TURN_LENGTH * (s.theta - c[2]);
    return dx * dx + dy * dy + turn * turn;
}

static uint32_t nearest(const struct nm_step_model *m, uint32_t n, struct pose2 s, double *distance)
{
    uint32_t best = 0;
    for (uint32_t k = 1; k < n; k++)
        if (apart(s, m->near[k]) < apart(s, m->near[best])) best = k;
    *distance = apart(s, m->near[best]);
    return best;
}

/* The first is the first step; each other one begins as the step that is farthest from those before it (Gonzalez). */
static void spread_out(const struct drive_steps *drives, uint32_t n, struct nm_step_model *m)
{
    for (uint32_t k = 0; k < NM_STEP_NEAR; k++) {
        struct pose2 best = drives[0].steps[0];
        double most = -1, distance;
        for (uint32_t i = 0; k && i < n; i++)
            for (uint32_t s = 0; s < drives[i].n; s++) {
                nearest(m, k, drives[i].steps[s], &distance);
                if (distance > most) most = distance, best = drives[i].steps[s];
            }
        m->near[k][0] = best.x, m->near[k][1] = best.y, m->near[k][2] = best.theta;
    }
}

/* Means of the steps around each of them (Lloyd); the width is the usual distance of a step from its centre. */
static void settle(const struct drive_steps *drives, uint32_t n, struct nm_step_model *m)
{
    for (int round = 0; round < 20; round++) {
        double sum[NM_STEP_NEAR][3] = {{0}}, far = 0, distance;
        uint32_t count[NM_STEP_NEAR] = {0}, all = 0;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t s = 0; s < drives[i].n; s++) {
                struct pose2 step = drives[i].steps[s];
                uint32_t k = nearest(m, NM_STEP_NEAR, step, &distance);
                sum[k][0] += step.x, sum[k][1] += step.y, sum[k][2] += step.theta;
                far += distance;
                count[k]++;
                all++;
            }
        for (uint32_t k = 0; k < NM_STEP_NEAR; k++)
            for (int a = 0; a < 3 && count[k]; a++) m->near[k][a] = sum[k][a] / count[k];
        m->width = fmin(fmax(sqrt(far / (all + 1)), 0.01), 0.5);
    }
}

void calibrate_fit(const struct drive_steps *drives, uint32_t n, enum calibrate_kind kind, struct nm_step_model *m)
{
    double x[MOST] = {0};
    *m = (struct nm_step_model)NM_STEP_PLAIN;
    if (!n) return;
    search(drives, n, LINEAR, kind == CALIBRATE_SYMMETRIC, x, m);
    if (kind != CALIBRATE_LOCAL) return;
    spread_out(drives, n, m);
    settle(drives, n, m);
    m->local = true;
    search(drives, n, MOST, false, x, m);
}

/* A drive from a log: the odometry of the body's model and the changes of the support foot. */

static bool is(struct nm_bytes topic, const char *name)
{
    if (topic.n && *(const char *)topic.at == '/') topic.at = (const uint8_t *)topic.at + 1, topic.n--;
    return topic.n == strlen(name) && !memcmp(topic.at, name, topic.n);
}

/* Messages that are none of ours in form are left out, as in a live robot. */
static void take(struct drive_steps *d, struct nm_steps *steps, const Odometry *told, uint32_t changes)
{
    struct pose2 at = nm_pose2(&told->pose.pose);
    if (!isfinite(at.x + at.y + at.theta)) return;
    bool ended = nm_steps_take(steps, at, changes, &d->rest);
    if (ended && d->n < DRIVE_STEPS) d->steps[d->n++] = d->rest;
    if (ended) d->rest = (struct pose2){0};
}

int calibrate_log(const char *path, struct drive_steps *d, struct nm_err *err)
{
    struct bag bag;
    struct nm_steps steps = {0};
    struct nm_mcap_message message;
    uint32_t part, channel, changes = 0;
    memset(d, 0, sizeof *d);
    if (bag_open(&bag, path, NULL, err)) return -1;
    Odometry *told = nm_calloc(1, sizeof *told);
    SupportState *support = nm_calloc(1, sizeof *support);
    struct bag_choice choice = {.n_topics = 2, .topics = (const char *const[]){"odometry_raw", "support_state"}};
    struct nm_mcap_query_options time = {0};
    bool good = !bag_choose(&bag, &choice, &time, err);
    struct bag_reader *reader = good ? bag_reader_new(&bag, &time) : NULL;
    while (reader && bag_next(reader, &message, &part, &channel)) {
        struct nm_bytes topic = bag.parts[part].contents.channels[channel].topic, data = message.data;
        if (is(topic, "support_state") && !nm_cdr_decode(&SupportState_type, support, data.at, data.n, NULL, NULL))
            changes = support->changes;
        if (is(topic, "odometry_raw") && !nm_cdr_decode(&Odometry_type, told, data.at, data.n, NULL, NULL))
            take(d, &steps, told, changes);
    }
    if (reader) bag_reader_free(reader);
    free(told);
    free(support);
    bag_close(&bag);
    if (!good) return -1;
    if (d->n == DRIVE_STEPS) return nm_fail(err, "%s: the drive has fewer than %d steps", path, DRIVE_STEPS);
    return d->n ? 0 : nm_fail(err, "%s: the topics odometry_raw and support_state hold no steps", path);
}
