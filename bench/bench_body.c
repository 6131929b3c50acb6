/* The body's mathematics: forward kinematics of all frames, leg and head inverse kinematics, and inverse dynamics
 * beside MuJoCo's on the same robot, each the median of many rounds over random poses; and the error of the orientation
 * filter on recordings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/order.h"
#include "bench.h"
#include "body/dynamics.h"
#include "body/leg_ik.h"
#include "body/look.h"
#include "body/state.h"
#include "recording.h"
#include "cmd/setup.h"
#ifdef NM_MUJOCO
#include <mujoco/mujoco.h>
#endif

enum { POSES = 64, ROUNDS = 41 };

struct work {
    const struct nm_body *body;
    struct nm_leg leg[2];
    struct nm_neck neck;
    struct nm_state state;
    struct nm_kin kin;
    double q[POSES][NM_JOINTS], qd[POSES][NM_JOINTS], qdd[POSES][NM_JOINTS];
    struct pose3 base[POSES], sole[POSES], far[POSES];
    struct vec3 point[POSES];
    double sum; /* keeps the compiler from leaving work out */
#ifdef NM_MUJOCO
    mjModel *m;
    mjData *d;
#endif
};

static double random_in(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return low + (high - low) * (double)(*seed >> 11) / 9007199254740992.0;
}

static void make_poses(struct work *w)
{
    uint64_t seed = 1;
    for (int k = 0; k < POSES; k++) {
        for (uint32_t i = 0; i < w->body->n_joints; i++) {
            const struct nm_joint *j = &w->body->joints[i];
            w->q[k][i] = random_in(&seed, fmax(j->lower, -M_PI), fmin(j->upper, M_PI));
            w->qd[k][i] = random_in(&seed, -5, 5);
            w->qdd[k][i] = random_in(&seed, -50, 50);
        }
        double leg[NM_GROUP];
        for (uint32_t i = 0; i < w->leg[0].chain.n; i++) leg[i] = w->q[k][w->leg[0].chain.joints[i]];
        w->sole[k] = nm_chain_forward(&w->leg[0].chain, leg);
        w->far[k] = w->sole[k];
        w->far[k].pos.z -= 0.3;
        w->base[k].rot = quat_rpy(random_in(&seed, -1, 1), random_in(&seed, -1, 1), random_in(&seed, -3, 3));
        w->base[k].pos = (struct vec3){random_in(&seed, -1, 1), random_in(&seed, -1, 1), random_in(&seed, 0, 1)};
        w->point[k] = (struct vec3){random_in(&seed, 0.3, 3), random_in(&seed, -1, 1), -0.3};
    }
}

static void do_forward(struct work *w, int k)
{
    nm_forward(w->body, w->base[k], w->q[k], &w->kin);
    w->sum += w->kin.pose[w->body->n_frames - 1].pos.x;
}

static void do_leg(struct work *w, int k)
{
    double q[NM_GROUP];
    nm_leg_ik(&w->leg[0], w->sole[k], q, NULL);
    w->sum += q[0];
}

static void do_leg_far(struct work *w, int k)
{
    double q[NM_GROUP];
    nm_leg_ik(&w->leg[0], w->far[k], q, NULL);
    w->sum += q[0];
}

static void do_look(struct work *w, int k)
{
    double q[NM_GROUP];
    nm_look_at(&w->neck, w->point[k], q, NULL);
    w->sum += q[0];
}

static void do_inverse(struct work *w, int k)
{
    struct nm_motion motion = {.base_to_world = w->base[k],
                               .velocity = w->point[k],
                               .angular_velocity = w->point[k],
                               .acceleration = w->point[k],
                               .angular_acceleration = w->point[k],
                               .gravity = {0, 0, -9.81},
                               .q = w->q[k],
                               .qd = w->qd[k],
                               .qdd = w->qdd[k]};
    struct nm_effort effort;
    nm_inverse_dynamics(w->body, &motion, NULL, 0, &effort);
    w->sum += effort.torque[0] + effort.force.x;
}

static void do_update(struct work *w, int k)
{
    static const double weight[2] = {20, 30};
    int64_t next = w->state.n ? w->state.ring[w->state.newest].time + 8000000 : 8000000;
    struct nm_readings readings = {
        .time = next, .q = w->q[k], .torso_to_world = w->base[k].rot, .weight = {weight[k % 2], weight[(k + 1) % 2]}};
    nm_state_update(&w->state, w->body, &readings);
    w->sum += w->state.torso_height;
}

static void do_past(struct work *w, int k)
{
    nm_state_kin(&w->state, w->body, w->state.ring[w->state.newest].time - 10000000LL * k - 123, &w->kin);
    w->sum += w->kin.pose[1].pos.x;
}

#ifdef NM_MUJOCO
static void mjcf_links(const struct nm_body *body, uint32_t link, char *text, size_t size)
{
    size_t used = strlen(text);
    const struct nm_inertia *n = &body->inertia[link];
    if (link) {
        const struct nm_joint *j = &body->joints[link - 1];
        struct pose3 p = j->to_parent;
        snprintf(text + used, size - used,
                 "<body pos='%.17g %.17g %.17g' quat='%.17g %.17g %.17g %.17g'><joint type='%s' axis='%.17g %.17g "
                 "%.17g' armature='%.17g'/>",
                 p.pos.x, p.pos.y, p.pos.z, p.rot.w, p.rot.x, p.rot.y, p.rot.z,
                 j->type == NM_PRISMATIC ? "slide" : "hinge", j->axis.x, j->axis.y, j->axis.z, j->armature);
    } else {
        snprintf(text + used, size - used, "<body><freejoint/>");
    }
    used = strlen(text);
    snprintf(text + used, size - used,
             "<inertial pos='%.17g %.17g %.17g' mass='%.17g' fullinertia='%.17g %.17g %.17g %.17g %.17g %.17g'/>",
             n->com.x, n->com.y, n->com.z, n->mass, n->xx, n->yy, n->zz, n->xy, n->xz, n->yz);
    for (uint32_t i = link; i < body->n_joints; i++)
        if (body->joints[i].parent == link) mjcf_links(body, i + 1, text, size);
    used = strlen(text);
    snprintf(text + used, size - used, "</body>");
}

/* The same links, joints and inertias as a MuJoCo model; the order of the joints is the same too. */
static bool make_peer(struct work *w)
{
    enum { ROOM = 1 << 16 };
    static const char *const name = "peer.xml";
    char error[500] = "", *text = nm_calloc(1, ROOM);
    mjVFS *files = nm_calloc(1, sizeof *files);
    snprintf(text, ROOM, "<mujoco><worldbody>");
    mjcf_links(w->body, 0, text, ROOM - 64);
    strcat(text, "</worldbody></mujoco>");
    mj_defaultVFS(files);
    mj_makeEmptyFileVFS(files, name, (int)strlen(text));
    memcpy(files->filedata[0], text, strlen(text));
    w->m = mj_loadXML(name, files, error, sizeof error);
    mj_deleteVFS(files);
    free(files);
    free(text);
    if (!w->m) return fprintf(stderr, "bench body: %s\n", error), false;
    w->m->opt.disableflags |= mjDSBL_CONSTRAINT | mjDSBL_PASSIVE;
    w->d = mj_makeData(w->m);
    return true;
}

static void put_peer(struct work *w, int k)
{
    const struct pose3 *b = &w->base[k];
    const double base[7] = {b->pos.x, b->pos.y, b->pos.z, b->rot.w, b->rot.x, b->rot.y, b->rot.z};
    memcpy(w->d->qpos, base, sizeof base);
    memcpy(w->d->qpos + 7, w->q[k], w->body->n_joints * sizeof(double));
    memcpy(w->d->qvel + 6, w->qd[k], w->body->n_joints * sizeof(double));
    memcpy(w->d->qacc + 6, w->qdd[k], w->body->n_joints * sizeof(double));
}

/* What MuJoCo needs for the same answer: poses, spatial axes, velocities, Newton-Euler. */
static void do_peer(struct work *w, int k)
{
    put_peer(w, k);
    mj_kinematics(w->m, w->d);
    mj_comPos(w->m, w->d);
    mj_comVel(w->m, w->d);
    mj_rne(w->m, w->d, 1, w->d->qfrc_inverse);
    w->sum += w->d->qfrc_inverse[6];
}

static void do_peer_whole(struct work *w, int k)
{
    put_peer(w, k);
    mj_inverse(w->m, w->d);
    w->sum += w->d->qfrc_inverse[6];
}

/* Its Newton-Euler pass alone, with poses and velocities left from before. */
static void do_peer_pass(struct work *w, int k)
{
    memcpy(w->d->qacc + 6, w->qdd[k], w->body->n_joints * sizeof(double));
    mj_rne(w->m, w->d, 1, w->d->qfrc_inverse);
    w->sum += w->d->qfrc_inverse[6];
}

static void do_peer_forward(struct work *w, int k)
{
    put_peer(w, k);
    mj_kinematics(w->m, w->d);
    w->sum += w->d->xpos[3];
}
#endif

/* of this thread: other programs on the machine do not count */
static double seconds(void) { return 1e-9 * (double)nm_clock_of(CLOCK_THREAD_CPUTIME_ID); }

/* Median of the time of one call in microseconds, for two that take turns, so that both see the same machine. */
static void measure(struct work *w, int repeats, void (*one)(struct work *, int), void (*two)(struct work *, int),
                    double us[2])
{
    double times[2][ROUNDS];
    void (*const both[2])(struct work *, int) = {one, two};
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < 2; i++) {
            if (!both[i]) continue;
            double start = seconds();
            for (int n = 0; n < repeats; n++)
                for (int k = 0; k < POSES; k++) both[i](w, k);
            times[i][r] = (seconds() - start) / (repeats * POSES) * 1e6;
        }
    for (int i = 0; i < 2; i++) {
        qsort(times[i], ROUNDS, sizeof(double), nm_by_size);
        us[i] = times[i][ROUNDS / 2];
    }
}

static void report_robot(struct nm_bench *bench, struct work *w, const char *robot)
{
    static const struct {
        const char *what;
        void (*run)(struct work *, int);
        double most;
        const char *goal;
    } rows[] = {{"forward kinematics of all frames", do_forward, 3, "<= 3 us"},
                {"leg inverse kinematics", do_leg, 0.4, "<= 0.4 us"},
                {"leg inverse kinematics, out of reach", do_leg_far, INFINITY, ""},
                {"head inverse kinematics", do_look, INFINITY, ""},
                {"update of the current model", do_update, INFINITY, ""},
                {"past model of a moment", do_past, INFINITY, ""},
                {"inverse dynamics", do_inverse, INFINITY, ""}};
    int repeats = nm_bench_quick(bench) ? 4 : 40;
    char name[128];
    double us[2];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        measure(w, repeats, rows[i].run, NULL, us);
        snprintf(name, sizeof name, "%s: %s", robot, rows[i].what);
        nm_bench_report(bench, name, us[0], "us", NAN, rows[i].goal, us[0] <= rows[i].most);
    }
#ifdef NM_MUJOCO
    if (!make_peer(w)) return;
    static const struct {
        const char *what, *goal;
        void (*ours)(struct work *, int), (*theirs)(struct work *, int);
        double most;
    } pairs[] = {{"inverse dynamics beside MuJoCo's", "<= 1.2 x", do_inverse, do_peer, 1.2},
                 {"inverse dynamics beside all of mj_inverse", "", do_inverse, do_peer_whole, INFINITY},
                 {"inverse dynamics beside mj_rne alone", "", do_inverse, do_peer_pass, INFINITY},
                 {"forward kinematics beside mj_kinematics", "", do_forward, do_peer_forward, INFINITY}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        measure(w, repeats, pairs[i].ours, pairs[i].theirs, us);
        snprintf(name, sizeof name, "%s: %s", robot, pairs[i].what);
        nm_bench_report(bench, name, us[0], "us", us[0] / us[1], pairs[i].goal, us[0] <= pairs[i].most * us[1]);
    }
    mj_deleteData(w->d);
    mj_deleteModel(w->m);
#endif
}

/* Inclination on recorded hand motions: root mean square in degrees while the sensor moves. */
static void report_orientation(struct nm_bench *bench, struct setup *setup)
{
    const struct nm_tilt_params params = NM_TILT_PARAMS;
    double sum = 0;
    char name[128];
    for (int i = 0; i < RECORDINGS; i++) {
        const char *path = nm_take_format(&setup->arena, "%s/tests/data/imu/%s", setup->root, recordings[i].file);
        double error = tilt_error_on(path, &params);
        snprintf(name, sizeof name, "orientation: %s", recordings[i].name);
        nm_bench_report(bench, name, error, "deg", NAN, "<= 1.2 deg", error <= 1.2);
        sum += error;
    }
    nm_bench_report(bench, "orientation: mean of the recordings", sum / RECORDINGS, "deg", NAN, "<= 0.6 deg",
                    sum / RECORDINGS <= 0.6);
}

void bench_body(struct nm_bench *bench);
void bench_body(struct nm_bench *bench)
{
    static const char *const robots[] = {"kid70", "darwin"};
    struct setup setup;
    setup_begin(&setup);
    report_orientation(bench, &setup);
    for (int i = 0; i < 2; i++) {
        struct nm_err err = {0};
        struct work *w = nm_take_n(&setup.arena, struct work, 1);
        w->body = nm_body_load(&setup.arena, nm_take_format(&setup.arena, "%s/robots/%s", setup.root, robots[i]), &err);
        if (!w->body || nm_leg_init(&w->leg[0], w->body, NM_LEFT, &err) ||
            nm_neck_init(&w->neck, w->body, w->body->head.end, &err)) {
            fprintf(stderr, "bench body: %s", err.text);
            continue;
        }
        nm_state_reset(&w->state, w->body, (struct pose2){0, 0, 0});
        make_poses(w);
        report_robot(bench, w, robots[i]);
        if (w->sum == 42) fputs("bench body: a checksum of 42\n", stderr);
    }
    setup_end(&setup);
}
