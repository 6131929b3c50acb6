/* nutmeg bench match, the rows of the planner: how long it takes to be at the ball and kick it, and what a plan costs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/order.h"
#include "bench.h"
#include "core/harness.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/NavigationGoal.h"
#include "nutmeg_msgs/ObstacleModel.h"
#include "trials.h"

extern const struct nm_module planner_module;

enum { FIRST_SEED = 20001 };
enum { FLAT, PHYSICS, STRAIGHT, TRIALS };
static const double START = 2;         /* s, when the practice begins to walk             */
static const double FAR = 3;           /* m, to the ball                                  */
static const double FLAT_SPEED = 0.35; /* m/s, of the flat world's walk                 */
static const double AT_ONCE = 0.3;     /* s from the first motion to the speed of a kick  */

static const struct trial trials[TRIALS] = {
    [FLAT] = {.scenario = "approach_flat", .seeds = 50, .quick = 50},
    [PHYSICS] = {.scenario = "approach", .seeds = 50, .quick = 10},
    [STRAIGHT] = {.scenario = "motion/forward", .seeds = 5, .quick = 2, .seconds = 13},
};

/* The share of the seeds that took at most so long; INFINITY where too many never moved the ball. */
static double quantile(const double *sorted, uint32_t n, double share)
{
    return n ? sorted[(uint32_t)fmin(floor(share * n), n - 1)] : NAN;
}

static void tell_approach(struct nm_bench *bench, const struct trial *t, double speed, const char *where, bool goals)
{
    double beyond[TRIAL_SEEDS];
    uint32_t first = 0;
    char name[96], goal[32];
    if (!trial_played(t) || isnan(speed)) {
        nm_bench_beside(bench, where, NAN, "s", "", "<= 3 s", false);
        return;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        double moved = trial_value(t, i, "moved_at"), kicked = trial_value(t, i, "kicked_at");
        beyond[i] = isnan(moved) ? INFINITY : moved - START - FAR / speed;
        first += kicked - moved < AT_ONCE;
    }
    qsort(beyond, t->n, sizeof *beyond, nm_by_size);
    double median = quantile(beyond, t->n, 0.5), late = quantile(beyond, t->n, 0.95), least = floor(0.96 * t->n);
    snprintf(name, sizeof name, "approach, %s: beyond the straight walk, median", where);
    nm_bench_report(bench, name, median, "s", NAN, goals ? "<= 3 s" : "", !goals || median <= 3);
    nm_bench_report(bench, "  95 %", late, "s", NAN, goals ? "<= 6 s" : "", !goals || late <= 6);
    snprintf(name, sizeof name, "  kicked at the first try, of %u", t->n);
    snprintf(goal, sizeof goal, ">= %.0f", least);
    nm_bench_report(bench, name, first, "", NAN, goals ? goal : "", !goals || first >= least);
    nm_bench_report(bench, "  falls", trial_sum(t, "falls"), "", NAN, "", true);
}

/* One run of the planner among nine other robots, with news at 30 Hz. */
static void tell_time(struct nm_bench *bench)
{
    const double tick = 0.008, length = nm_bench_quick(bench) ? 20 : 200; /* s */
    struct nm_harness *h = nm_harness_new(&planner_module, NULL);
    double worst = 0, sum = 0;
    uint32_t n = 0;
    for (double t = 0; t < length; t += tick, n++) {
        double angle = 0.3 * t;
        struct quat q = quat_rpy(0, 0, angle);
        Pose here = {{2 * cos(angle), 2 * sin(angle), 0}, {q.x, q.y, q.z, q.w}};
        ((Odometry *)nm_harness_set(h, "odometry"))->pose.pose = here;
        if (n % 4 == 0) {
            NavigationGoal *goal = nm_harness_set(h, "navigation_goal");
            PoseWithCovarianceStamped *pose = nm_harness_set(h, "pose");
            BallModel *ball = nm_harness_set(h, "ball");
            ObstacleModel *others = nm_harness_set(h, "obstacles");
            nm_text(goal->header.frame_id, "map");
            goal->mode = n / 500 % 2 ? NavigationGoal_PATH : NavigationGoal_WALK_BEHIND_BALL;
            goal->target = (Pose2D){-2 * cos(angle), -2 * sin(angle), 1};
            goal->kick_target = (Point){4.5, 0, 0};
            pose->pose.pose = here;
            ball->valid = true;
            ball->position = (Point){2, 0.3 * sin(t), 0};
            ball->last_seen = nm_stamp(nm_ns(t + 0.001));
            for (int i = 0; i < 9; i++) {
                Obstacle *o = nm_append(&others->obstacles, &Obstacle_type);
                o->kind = Obstacle_RIVAL;
                o->radius = 0.15F;
                o->position = (Point){0.5 + 0.4 * i, sin(t + 2 * i), 0};
            }
        }
        int64_t begin = nm_clock_of(CLOCK_THREAD_CPUTIME_ID);
        nm_harness_step(h, tick);
        double took = 1e-3 * (double)(nm_clock_of(CLOCK_THREAD_CPUTIME_ID) - begin);
        sum += took;
        worst = fmax(worst, took);
    }
    nm_harness_free(h);
    nm_bench_report(bench, "planner among nine robots, 125 Hz, mean", sum / n, "us", NAN, "<= 15 us", sum / n <= 15);
    nm_bench_report(bench, "  largest", worst, "us", NAN, "", true);
}

void bench_approach(struct nm_bench *bench);
void bench_approach(struct nm_bench *bench)
{
    static struct trial all[TRIALS];
    struct setup setup;
    struct nm_err err = {0};
    struct trial_options options;
    memcpy(all, trials, sizeof all);
    tell_time(bench);
    setup_begin(&setup);
    if (trial_options(&options, bench, &setup, FIRST_SEED, &err)) {
        nm_bench_fail(bench, &err);
    } else {
        trials_play(all, TRIALS, &options);
        const struct row speed = {.trial = STRAIGHT, .label = "speed_x"};
        tell_approach(bench, &all[PHYSICS], row_mean(all, &speed), "physics", true);
        tell_approach(bench, &all[FLAT], FLAT_SPEED, "flat", false);
    }
    trials_free(all, TRIALS);
    setup_end(&setup);
}
