#include "cmd/position_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/position_smoother.h"
#include "cmd/stopping.h"

static const double BEGIN = 10; /* s, errors count from here */
static const double INCIDENT = 20, WATCHED = 32;

/* So many false percepts that they are a fifth of what is seen of the field, a third of them from things that stay for
 * a while. `false_share` of a result says what came of it. */
static struct nm_percept_params false_ones(void)
{
    struct nm_percept_params p = nm_percept_params;
    for (int kind = NM_PERCEPT_POST; kind <= NM_PERCEPT_CIRCLE; kind++) {
        p.habits[kind].flickers = 0.10;
        p.habits[kind].ghosts = 0.08;
    }
    return p;
}

struct judge {
    const struct position_trial *trial;
    struct position_result *result;
    const struct nm_pitch *pitch;
    struct nm_landmark marks[NM_PITCH_LANDMARKS];
    uint32_t n_marks;
    uint64_t seen, wrong;
    struct position_smoother *smoothers; /* of each robot; NULL: not wanted */
};

/* Counts percepts of the field that are none: nothing of their kind is near. */
static void saw(void *user, uint32_t robot, double seconds, const Percepts *percepts,
                const LineInformationRelative *lines, struct pose2 robot_to_odom, struct pose2 truth)
{
    struct judge *j = user;
    if (j->smoothers) position_smoother_see(&j->smoothers[robot], seconds, percepts, lines, robot_to_odom, truth);
    for (uint32_t i = 0; i < percepts->percepts.n; i++) {
        const Percept *p = &percepts->percepts.at[i];
        struct pose2 at = pose2_mul(truth, (struct pose2){p->position.x, p->position.y, 0});
        double near = 0.2 + 0.2 * hypot(p->position.x, p->position.y), best = 1e9;
        if (p->kind < Percept_GOAL_POST || p->kind > Percept_CENTER_CIRCLE) continue;
        for (uint32_t k = 0; k < j->n_marks; k++)
            if ((int)j->marks[k].kind == p->kind) best = fmin(best, hypot(j->marks[k].x - at.x, j->marks[k].y - at.y));
        j->seen++;
        j->wrong += best > near;
    }
}

static void smooth(struct judge *j)
{
    static struct pose2 poses[SMOOTHED];
    struct position_errors *e = &j->result->smoothed;
    for (uint32_t r = 0; r < NM_OUTING_MATES; r++) {
        struct position_smoother *s = &j->smoothers[r];
        position_smoother_end(s, poses);
        for (uint32_t i = 0; i < s->n && e->n < POSITION_SAMPLES; i += 6) {
            if (s->images[i].seconds < BEGIN) continue;
            e->place[e->n] = (float)hypot(poses[i].x - s->images[i].truth.x, poses[i].y - s->images[i].truth.y);
            e->turn[e->n++] = (float)fabs(angle_normal(poses[i].theta - s->images[i].truth.theta));
        }
    }
}

static bool invert(const double a[3][3], double to[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, k1 = (k + 1) % 3, k2 = (k + 2) % 3;
            to[k][i] = a[i1][k1] * a[i2][k2] - a[i1][k2] * a[i2][k1];
        }
    double det = a[0][0] * to[0][0] + a[0][1] * to[1][0] + a[0][2] * to[2][0];
    for (int i = 0; i < 9; i++) to[i / 3][i % 3] /= det;
    return det > 0;
}

void position_add_sample(struct position_errors *e, const struct nm_outing_pose *p)
{
    double off[3] = {p->pose.x - p->truth.x, p->pose.y - p->truth.y, angle_normal(p->pose.theta - p->truth.theta)};
    double inverse[3][3], nees = 0;
    if (e->n >= POSITION_SAMPLES) return;
    if (!invert(p->covariance, inverse)) nees = INFINITY;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) nees += off[i] * inverse[i][k] * off[k];
    double place = hypot(off[0], off[1]), other = hypot(p->pose.x + p->truth.x, p->pose.y + p->truth.y);
    e->place[e->n] = (float)place;
    e->turn[e->n] = (float)fabs(off[2]);
    e->nees[e->n++] = (float)nees;
    e->mirrored += other < place && place > 0.5;
}

/* Within 20 cm and 15 degrees, and within 40 cm for the next second: `since` is when that began. */
struct recovery {
    double since;
};
static void watch(struct recovery *r, struct position_errors *e, const struct nm_outing_pose *p, double after)
{
    double place = hypot(p->pose.x - p->truth.x, p->pose.y - p->truth.y);
    double other = hypot(p->pose.x + p->truth.x, p->pose.y + p->truth.y);
    if (place > 0.4) r->since = NAN;
    bool there = place < 0.2 && fabs(angle_normal(p->pose.theta - p->truth.theta)) < 0.26;
    if (there && isnan(r->since)) r->since = after;
    if (isnan(e->recovered) && after - r->since > 1) e->recovered = r->since;
    if (after >= 30) e->mirrored_late = other < place && place > 0.5;
}

static void play(struct nm_outing *o, struct judge *j)
{
    const struct position_trial *t = j->trial;
    struct position_result *result = j->result;
    struct recovery recoveries[NM_OUTING_POSES];
    int64_t sampled = 0;
    bool happened = false;
    double incident = t->incident == INCIDENT_WRONG_SIDE ? 3 : INCIDENT;
    double over = incident; /* s, when the incident was over: the robot stands again */
    for (uint32_t k = 0; k < NM_OUTING_POSES; k++) recoveries[k].since = result->of[k].recovered = NAN;
    double seconds = 0;
    while (seconds < (t->incident ? over + WATCHED : t->seconds) && !stopping()) {
        if (nm_outing_step(o) < 0) return;
        int64_t now = nm_stage_now(nm_outing_stage(o));
        seconds = nm_seconds(now);
        bool sample = now - sampled >= 200000000;
        if (t->incident && !happened && seconds >= incident) {
            happened = true;
            if (t->incident == INCIDENT_KIDNAP) nm_outing_kidnap(o, 0, nm_outing_free_place(o));
            if (t->incident == INCIDENT_FALL) nm_outing_fell(o, 0);
        }
        if (sample) sampled = now;
        /* while it lies there is nothing to know */
        if (t->incident == INCIDENT_FALL && happened && nm_outing_down(o, 0) && seconds < incident + 20) over = seconds;
        double after = seconds - over;
        for (uint32_t k = 0; k < t->n_poses; k++) {
            for (uint32_t r = 0; r < NM_OUTING_MATES; r++) {
                struct nm_outing_pose p;
                nm_outing_pose(o, r, k, &p);
                if (!t->incident && sample && seconds > BEGIN) position_add_sample(&result->of[k], &p);
                if (t->incident && r == 0 && happened && after > 0 && p.fresh)
                    watch(&recoveries[k], &result->of[k], &p, after);
            }
        }
    }
    const struct nm_player *player = nm_stage_player(nm_outing_stage(o), 0);
    const struct nm_lineup *lineup = nm_player_lineup(player);
    for (uint32_t k = 0; k < t->n_poses; k++) {
        struct nm_step_stats stats;
        nm_player_step_stats(player, lineup->topics[nm_lineup_topic(lineup, t->poses[k])].producers[0].instance,
                             &stats);
        result->step_us[k] = (double)stats.busy.mean / 1000;
    }
    result->done = !stopping();
    result->hash = nm_outing_hash(o);
    result->cpu = nm_stage_cpu(nm_outing_stage(o)) / seconds / NM_OUTING_MATES;
    result->false_share = j->seen ? (double)j->wrong / (double)j->seen : 0;
}

void position_trial(struct setup *setup, const struct position_trial *t, struct position_result *result)
{
    struct nm_err err = {0};
    struct nm_pitch pitch;
    struct nm_percept_params percepts = false_ones();
    struct judge judge = {.trial = t, .result = result, .pitch = &pitch};
    char field[PATH_MAX + 32];
    memset(result, 0, sizeof *result);
    snprintf(field, sizeof field, "%s/fields/kid.yaml", setup->root);
    const char *robot = setup_robot(setup, "kid70", &err);
    struct nm_outing *outing = NULL;
    if (robot && nm_pitch_read(&pitch, field, &err) == 0) {
        struct nm_pitch_size size = nm_pitch_size(&pitch);
        judge.n_marks = nm_pitch_landmarks(&size, judge.marks);
        struct nm_outing_options options = {.root = setup->root,
                                            .registry = &setup->registry,
                                            .pitch = &pitch,
                                            .robot = robot,
                                            .lineup = t->lineup,
                                            .fidelity = t->fidelity,
                                            .seed = t->seed,
                                            .mates = NM_OUTING_MATES,
                                            .rivals = 3,
                                            .silent = t->silent,
                                            .wrong_side = t->incident == INCIDENT_WRONG_SIDE,
                                            .percepts = t->false_ones ? &percepts : NULL,
                                            .n_poses = t->n_poses,
                                            .poses = t->poses,
                                            .saw = saw,
                                            .user = &judge};
        outing = nm_outing_new(&options, &err);
    }
    struct position_smoother smoothers[NM_OUTING_MATES];
    if (outing && t->smooth) {
        const struct nm_body *body = nm_stage_body(nm_outing_stage(outing), 0);
        struct nm_pitch_size size = nm_pitch_size(&pitch);
        judge.smoothers = smoothers;
        for (uint32_t r = 0; r < NM_OUTING_MATES; r++)
            position_smoother_begin(&smoothers[r], &size, 0.8 * body->height);
    }
    if (outing) play(outing, &judge);
    if (judge.smoothers && result->done) smooth(&judge);
    for (uint32_t r = 0; r < NM_OUTING_MATES && judge.smoothers; r++) position_smoother_free(&smoothers[r]);
    if (result->done) return;
    if (err.n)
        snprintf(result->why, sizeof result->why, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    else
        snprintf(result->why, sizeof result->why, "interrupted");
    nm_outing_free(outing);
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double position_quantile(float *values, uint32_t n, double share)
{
    if (!n) return NAN;
    qsort(values, n, sizeof *values, by_size);
    return values[(uint32_t)ceil(share * (n - 1))];
}
