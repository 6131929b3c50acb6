/* Drives for the calibration of the odometry, in the simulator: scenarios/motion/odometry.yaml. */

#include "body/state.h"
#include "cmd/calibrate.h"
#include "cmd/pool.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "core/poses.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/SupportState.h"

enum { PORT_TOLD, PORT_SUPPORT, PORTS };

static const int64_t BEGIN = 1500000000; /* ns: the robot has risen and stands */

struct driving {
    struct setup *setup;
    const struct nm_scenario *scenario;
    const char *robot;
    uint64_t body, first_seed;
    struct drive_steps *drives;
    uint32_t n;
    struct nm_edge *edge;
};

struct message {
    bool done;
    struct drive_steps drive;
};

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    const struct nm_edge_port ports[PORTS] = {
        [PORT_TOLD] = {.topic = "odometry_raw", .kind = NM_PORT_IN, .type = &Odometry_type},
        [PORT_SUPPORT] = {.topic = "support_state", .kind = NM_PORT_IN, .type = &SupportState_type},
    };
    struct driving *d = user;
    (void)robot;
    d->edge = nm_edge_new(player, "calibration", ports, PORTS, err);
    return d->edge ? 0 : -1;
}

static struct pose2 truth(struct nm_stage *stage)
{
    struct nm_truth t;
    struct nm_kin kin;
    const struct nm_body *body = nm_stage_body(stage, 0);
    nm_world_truth(nm_stage_world(stage), 0, &t);
    nm_forward(body, t.base_to_field, t.q, &kin);
    return nm_robot_to_odom(body, &kin);
}

static void follow(struct driving *d, struct nm_steps *steps, struct drive_steps *to, int64_t now)
{
    nm_edge_begin(d->edge, now);
    const Odometry *told = nm_edge_in(d->edge, PORT_TOLD);
    const SupportState *support = nm_edge_in(d->edge, PORT_SUPPORT);
    if (nm_edge_fresh(d->edge, PORT_TOLD) && now >= BEGIN) {
        bool ended = nm_steps_take(steps, nm_pose2(&told->pose.pose), support->changes, &to->rest);
        if (ended && to->n < DRIVE_STEPS) to->steps[to->n++] = to->rest;
        if (ended) to->rest = (struct pose2){0};
    }
    nm_edge_end(d->edge);
}

static void work(void *user, uint32_t index, void *result)
{
    struct driving *d = user;
    struct message *m = result;
    struct nm_err err = {0};
    struct nm_run_options options = {.seed = d->first_seed + index,
                                     .body = d->body,
                                     .robot = d->robot,
                                     .registry = &d->setup->registry,
                                     .ready = ready,
                                     .user = d};
    struct nm_run *run = nm_run_new(d->scenario, &options, &err);
    struct nm_steps steps = {0};
    struct pose2 start = {0};
    struct nm_result outcome;
    bool begun = false;
    if (!run) return;
    while (!stopping() && nm_run_step(run) > 0) {
        int64_t now = nm_stage_now(nm_run_stage(run));
        follow(d, &steps, &m->drive, now);
        if (steps.begun && !begun) start = truth(nm_run_stage(run)), begun = true;
    }
    nm_run_result(run, &outcome);
    m->drive.end = pose2_mul(pose2_inv(start), truth(nm_run_stage(run)));
    m->drive.turn_known = true;
    m->done = begun && outcome.passed && m->drive.n < DRIVE_STEPS && !stopping();
}

static void done(void *user, uint32_t index, const void *result, const char *died)
{
    struct driving *d = user;
    const struct message *m = result;
    (void)index;
    if (!died && m->done) d->drives[d->n++] = m->drive;
}

uint32_t calibrate_sim(struct setup *setup, const char *robot, uint64_t body, uint64_t first_seed, uint32_t n,
                       uint32_t jobs, struct drive_steps *drives, struct nm_err *err)
{
    const char *file = setup_file(setup, "scenarios", "scenario", "motion/odometry", err);
    struct nm_scenario *scenario = file ? nm_scenario_read(file, setup->root, err) : NULL;
    if (!scenario) return 0;
    struct driving d = {
        .setup = setup, .scenario = scenario, .robot = robot, .body = body, .first_seed = first_seed, .drives = drives};
    struct pool pool = {.n = n,
                        .jobs = jobs,
                        .size = sizeof(struct message),
                        .seconds = 600,
                        .what = "drives",
                        .work = work,
                        .done = done,
                        .quit = stopping,
                        .user = &d};
    stop_by_signals();
    if (pool_run(&pool, err)) d.n = 0;
    nm_scenario_free(scenario);
    return d.n;
}
