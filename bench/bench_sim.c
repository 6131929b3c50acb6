/* The simulator: eight walking robots with all sensors, the same with eight cameras, the ray caster beside MuJoCo's own
 * renderer on the same scene, the flat world, and the same bits with one and with two workers. Times are those of the
 * thread, so that one core is one core. */
#include <dlfcn.h>
#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bench.h"
#include "body/leg_ik.h"
#include "cmd/setup.h"
#include "core/files.h"
#include "sim/flat.h"
#include "sim/percept.h"
#include "sim/picture.h"
#include "body/stance.h"
#include "sim/workers.h"
#include "sim/world.h"

enum { ROBOTS = 8, CONTROL = 2 /* steps between two commands: 8 ms */ };

struct bench_world {
    struct setup setup;
    struct nm_pitch pitch;
    const struct nm_body *body;
    struct nm_leg leg[2];
    struct nm_world *world;
    struct nm_scene scene;
    struct nm_kin kin[ROBOTS];
    struct nm_camera camera; /* 640 x 480, the robot's lens */
    struct nm_eye *eyes[ROBOTS];
    uint8_t *pictures[ROBOTS];
    double rate[ROBOTS][2]; /* filtered turning rate, rad/s */
    uint64_t picture;       /* counts them */
};

static double cpu_seconds(void) { return 1e-9 * (double)nm_clock_of(CLOCK_THREAD_CPUTIME_ID); }

/* ---- a gait to have something to do: sway, step and lift are sines of one phase, balanced by gyro on the ankles ----
 */

static double ease(double s)
{
    s = fmin(fmax(s, 0), 1);
    return s * s * (3 - 2 * s);
}

static void gait(const struct bench_world *b, double t, double roll, double pitch, double q[])
{
    const double period = 0.5, sway = 0.022, lift = 0.025, step = 0.03, shorter = 0.1;
    double phase = fmod(t / period, 1), begin = fmin(t, 1);
    memset(q, 0, b->body->n_joints * sizeof *q);
    for (int side = 0; side < 2; side++) {
        double u = fmod(phase + (side == NM_LEFT ? 0.5 : 0), 1), swing = fmin(u / 0.45, 1), joints[NM_GROUP] = {0};
        double forward = u < 0.5 ? ease(swing) - 0.5 : 1 - u - 0.5 + (1 - u) - 0.5;
        struct pose3 sole = b->leg[side].chain.home;
        sole.pos.x += step * ease(t - 1) * forward;
        sole.pos.y += (side == NM_LEFT ? 0.005 : -0.005) - begin * sway * sin(2 * M_PI * phase);
        sole.pos.z = sole.pos.z * (1 - shorter) + (u < 0.5 ? begin * lift * (1 - cos(2 * M_PI * swing)) / 2 : 0);
        joints[3] = 0.5;
        nm_leg_ik(&b->leg[side], sole, joints, NULL);
        joints[4] += pitch;
        joints[5] += roll;
        for (uint32_t i = 0; i < 6; i++) q[b->leg[side].chain.joints[i]] = joints[i];
        if (b->body->arm[side].n >= 3) {
            q[b->body->arm[side].joints[0]] = 0.3;
            q[b->body->arm[side].joints[2]] = -0.9;
        }
    }
}

static void control(struct bench_world *b)
{
    double t = (double)nm_world_now(b->world) * 1e-9;
    for (uint32_t r = 0; r < ROBOTS; r++) {
        struct nm_sense sense;
        struct nm_joint_goal goals[NM_JOINTS];
        double q[NM_JOINTS];
        nm_world_sense(b->world, r, &sense);
        b->rate[r][0] = 0.6 * b->rate[r][0] + 0.4 * sense.gyro.x;
        b->rate[r][1] = 0.6 * b->rate[r][1] + 0.4 * sense.gyro.y;
        gait(b, t + 0.07 * r, 0.05 * b->rate[r][0], 0.05 * b->rate[r][1], q);
        for (uint32_t j = 0; j < b->body->n_joints; j++)
            goals[j] = (struct nm_joint_goal){.position = q[j], .torque_limit = 1, .on = true};
        nm_world_goals(b->world, r, goals);
    }
}

/* ---- cameras ---- */

static void take_picture(void *user, uint32_t i, uint32_t hand)
{
    struct bench_world *b = user;
    struct nm_shutter shutter = NM_SHUTTER_USUAL;
    (void)hand;
    nm_cast(b->eyes[i], &b->scene, b->kin[i].pose[b->body->cameras[0].frame]);
    nm_develop(b->eyes[i], &shutter, nm_spread(b->picture * ROBOTS + i), NM_YUYV, b->pictures[i]);
}

static void take_pictures(struct bench_world *b, struct nm_workers *workers)
{
    nm_world_scene(b->world, &b->scene, b->kin);
    nm_workers_run(workers, ROBOTS, take_picture, b);
    b->picture++;
}

/* ---- a world ---- */

static int begin(struct bench_world *b, bool visuals, bool backlash, struct nm_err *err)
{
    struct nm_world_options options = NM_WORLD_OPTIONS;
    struct nm_world_robot robots[ROBOTS];
    double q[NM_JOINTS];
    gait(b, 0, 0, 0, q);
    for (int i = 0; i < ROBOTS; i++) {
        bool ours = i < ROBOTS / 2;
        robots[i] = (struct nm_world_robot){
            .body = b->body,
            .start = {(ours ? -1 : 1) * (1 + 0.9 * (i % 4)), 0.9 * (i % 4) - 1.3, ours ? 0 : M_PI},
            .joints = q,
            .shirt = {{0.1f, 0.2f, 0.8f}, (uint32_t)i % 4 + 1},
        };
        if (ours) robots[i].shirt.colour[0] = 0.8f, robots[i].shirt.colour[2] = 0.1f;
    }
    options.seed = 1;
    options.random = 1;
    options.visuals = visuals;
    options.backlash = backlash;
    options.play = 0.01745;
    nm_world_free(b->world);
    b->world = nm_world_new(&b->pitch, robots, ROBOTS, &options, err);
    memset(b->rate, 0, sizeof b->rate);
    b->picture = 0;
    return b->world ? 0 : -1;
}

static int prepare(struct bench_world *b, struct nm_err *err)
{
    struct nm_arena *arena = &b->setup.arena;
    setup_begin(&b->setup);
    const char *fields = nm_path(arena, b->setup.root, "fields"), *robots = nm_path(arena, b->setup.root, "robots");
    if (nm_pitch_read(&b->pitch, nm_path(arena, fields, "kid.yaml"), err) < 0) return -1;
    b->body = nm_body_load(arena, nm_path(arena, robots, "kid70"), err);
    if (!b->body) return -1;
    for (int side = 0; side < 2; side++)
        if (nm_leg_init(&b->leg[side], b->body, (enum nm_side)side, err) < 0) return -1;
    nm_scene_new(&b->scene, &b->pitch, 1);
    b->camera = b->body->cameras[0].lens;
    b->camera.width = 640;
    b->camera.height = 480;
    const struct nm_lens_map *lens = nm_lens_map_new(arena, &b->camera, err);
    if (!lens) return -1;
    for (int i = 0; i < ROBOTS; i++) {
        b->eyes[i] = nm_eye_new(arena, lens);
        b->pictures[i] = nm_take(arena, nm_picture_bytes(&b->camera, NM_YUYV));
    }
    return 0;
}

/* Plays for so many seconds, with so many pictures a second of every camera. */
static void play(struct bench_world *b, double seconds, double rate, struct nm_workers *workers)
{
    double tick = (double)nm_world_tick(b->world) * 1e-9, due = 0;
    uint32_t steps = (uint32_t)(seconds / tick);
    for (uint32_t k = 0; k < steps; k++) {
        if (k % CONTROL == 0) control(b);
        nm_world_step(b->world, 1);
        due += rate * tick;
        if (due >= 1) {
            due -= 1;
            take_pictures(b, workers);
        }
    }
}

static uint32_t standing(const struct bench_world *b)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < ROBOTS; r++) {
        struct nm_truth t;
        nm_world_truth(b->world, r, &t);
        n += 1 - 2 * (t.base_to_field.rot.x * t.base_to_field.rot.x + t.base_to_field.rot.y * t.base_to_field.rot.y) >
             0.8;
    }
    return n;
}

/* The best of some rounds: others use this machine too. */
static void bench_play(struct nm_bench *bench, struct bench_world *b, struct nm_workers *workers)
{
    bool quick = nm_bench_quick(bench);
    double seconds = quick ? 2 : 5, best[3] = {INFINITY, INFINITY, INFINITY};
    uint32_t upright = 0;
    for (int what = 0; what < 3; what++) /* bodies alone, with cameras, with play in their gears */
        for (int round = 0; round < (quick ? 1 : 4); round++) {
            if (begin(b, false, what == 2, NULL) < 0) return;
            play(b, 2, 0, workers); /* until all walk */
            double from = cpu_seconds();
            play(b, seconds, what == 1 ? 15 : 0, workers);
            best[what] = fmin(best[what], cpu_seconds() - from);
            if (what < 2) upright = standing(b);
        }
    nm_bench_report(bench, "4 against 4 walking, all sensors, no cameras", best[0] / seconds * 1e3, "ms/s",
                    seconds / best[0], ">= 6 x", seconds / best[0] >= 6);
    nm_bench_report(bench, "the same with 8 cameras 640x480 at 15 Hz", best[1] / seconds * 1e3, "ms/s",
                    seconds / best[1], ">= 2 x", seconds / best[1] >= 2);
    nm_bench_report(bench, "without cameras, with play in every leg gear", best[2] / seconds * 1e3, "ms/s",
                    seconds / best[2], ">= 3 x", seconds / best[2] >= 3);
    nm_bench_report(bench, "robots upright at the end", upright, "of 8", NAN, "8", upright == ROBOTS);
}

/* ---- MuJoCo's renderer, through OSMesa where it is installed ---- */

struct osmesa {
    void *library, *context;
    void *(*create)(unsigned, int, int, int, void *);
    unsigned char (*current)(void *, void *, unsigned, int, int);
    void (*destroy)(void *);
    uint8_t *buffer;
};

enum { GL_RGBA_ = 0x1908, GL_UNSIGNED_BYTE_ = 0x1401 };

static bool osmesa_open(struct osmesa *m, int width, int height)
{
    setenv("LP_NUM_THREADS", "0", 1); /* one core for both */
    m->library = dlopen("libOSMesa.so.8", RTLD_NOW | RTLD_GLOBAL);
    if (!m->library) return false;
    *(void **)&m->create = dlsym(m->library, "OSMesaCreateContextExt");
    *(void **)&m->current = dlsym(m->library, "OSMesaMakeCurrent");
    *(void **)&m->destroy = dlsym(m->library, "OSMesaDestroyContext");
    m->buffer = malloc((size_t)width * (size_t)height * 4);
    if (!m->create || !m->current || !m->destroy || !m->buffer) return false;
    m->context = m->create(GL_RGBA_, 24, 8, 8, NULL);
    return m->context && m->current(m->context, m->buffer, GL_UNSIGNED_BYTE_, width, height);
}

static void aim_free_camera(mjvScene *scene, struct pose3 camera)
{
    struct vec3 ahead = quat_apply(camera.rot, (struct vec3){0, 0, 1}),
                up = quat_apply(camera.rot, (struct vec3){0, -1, 0});
    for (int eye = 0; eye < 2; eye++) {
        mjvGLCamera *c = &scene->camera[eye];
        const float pos[3] = {(float)camera.pos.x, (float)camera.pos.y, (float)camera.pos.z};
        const float to[3] = {(float)ahead.x, (float)ahead.y, (float)ahead.z},
                    top[3] = {(float)up.x, (float)up.y, (float)up.z};
        memcpy(c->pos, pos, sizeof pos);
        memcpy(c->forward, to, sizeof to);
        memcpy(c->up, top, sizeof top);
        c->frustum_near = 0.02f;
        c->frustum_far = 40;
        c->frustum_top = 0.02f * 0.5f;
        c->frustum_bottom = -0.02f * 0.5f;
        c->frustum_center = 0;
    }
}

static double time_mujoco(struct bench_world *b, int rounds)
{
    struct osmesa mesa = {0};
    mjvScene scene;
    mjvOption option;
    mjvCamera camera;
    mjrContext context;
    double best = NAN;
    int width = (int)b->camera.width, height = (int)b->camera.height;
    if (!osmesa_open(&mesa, width, height)) return NAN;
    mjModel *m = nm_world_model(b->world);
    mjv_defaultOption(&option);
    option.geomgroup[3] = 0; /* collision shapes: the ray caster draws the visual ones */
    mjv_defaultCamera(&camera);
    mjv_defaultScene(&scene);
    mjr_defaultContext(&context);
    mjv_makeScene(m, &scene, 3000);
    mjr_makeContext(m, &context, mjFONTSCALE_100);
    mjr_setBuffer(mjFB_OFFSCREEN, &context);
    scene.flags[mjRND_SHADOW] = scene.flags[mjRND_REFLECTION] = 0;
    uint8_t *rgb = malloc((size_t)width * (size_t)height * 3);
    for (int k = -1; k < rounds && rgb; k++) {
        double from = cpu_seconds();
        for (int i = 0; i < ROBOTS; i++) {
            mjv_updateScene(m, nm_world_data(b->world), &option, NULL, &camera, mjCAT_ALL, &scene);
            aim_free_camera(&scene, b->kin[i].pose[b->body->cameras[0].frame]);
            mjr_render((mjrRect){0, 0, width, height}, &scene, &context);
            mjr_readPixels(rgb, NULL, (mjrRect){0, 0, width, height}, &context);
        }
        double took = (cpu_seconds() - from) / ROBOTS;
        if (k >= 0 && !(best < took)) best = took;
    }
    free(rgb);
    mjr_freeContext(&context);
    mjv_freeScene(&scene);
    mesa.destroy(mesa.context);
    free(mesa.buffer);
    return best;
}

static void bench_cameras(struct nm_bench *bench, struct bench_world *b)
{
    int rounds = nm_bench_quick(bench) ? 3 : 25;
    double cast = INFINITY, all = INFINITY;
    struct nm_shutter shutter = NM_SHUTTER_USUAL;
    if (begin(b, true, false, NULL) < 0) return;
    nm_world_step(b->world, 50);
    nm_world_scene(b->world, &b->scene, b->kin);
    for (int k = 0; k < rounds; k++) {
        double from = cpu_seconds(), rays = 0;
        for (int i = 0; i < ROBOTS; i++) {
            double begun = cpu_seconds();
            nm_cast(b->eyes[i], &b->scene, b->kin[i].pose[b->body->cameras[0].frame]);
            rays += cpu_seconds() - begun;
            nm_develop(b->eyes[i], &shutter, (uint64_t)k, NM_YUYV, b->pictures[i]);
        }
        all = fmin(all, (cpu_seconds() - from) / ROBOTS);
        cast = fmin(cast, rays / ROBOTS);
    }
    double mujoco = time_mujoco(b, rounds / 5 + 1);
    nm_bench_report(bench, "a picture of 640x480: rays", cast * 1e3, "ms", NAN, "", true);
    if (isfinite(mujoco)) {
        nm_bench_report(bench, "MuJoCo's renderer on the same scene", mujoco * 1e3, "ms", NAN, "", true);
        nm_bench_report(bench, "a picture with lens, blur, noise, YUYV", all * 1e3, "ms", mujoco / all, ">= 5 x",
                        mujoco / all >= 5);
    } else {
        nm_bench_report(bench, "a picture with lens, blur, noise, YUYV", all * 1e3, "ms", NAN, "<= 2 ms", all <= 0.002);
    }
}

/* ---- flat ---- */

static void bench_flat(struct nm_bench *bench, struct bench_world *b)
{
    struct nm_flat_options options = NM_FLAT_OPTIONS;
    struct nm_flat flat;
    struct nm_perceiver eyes[ROBOTS];
    struct nm_percept percepts[NM_PERCEPTS];
    double seconds = nm_bench_quick(bench) ? 60 : 600, took[2];
    for (int seeing = 0; seeing < 2; seeing++) {
        nm_flat_new(&flat, &b->pitch, &options);
        for (uint32_t i = 0; i < ROBOTS; i++) {
            nm_flat_add(&flat, (struct pose2){i < 4 ? -1.0 - i % 4 : 1.0 + i % 4, 0.8 * (i % 4) - 1, i < 4 ? 0 : M_PI},
                        0.7, 0.55);
            nm_perceiver_new(&eyes[i], 1, i);
        }
        uint32_t steps = (uint32_t)(seconds * 1e9 / (double)options.step), seen = 0;
        double from = cpu_seconds();
        for (uint32_t k = 0; k < steps; k++) {
            for (uint32_t i = 0; i < ROBOTS; i++) { /* all to the ball; who is there kicks */
                struct pose2 at =
                    pose2_mul(pose2_inv(flat.robots[i].pose), (struct pose2){flat.ball.x, flat.ball.y, 0});
                nm_flat_walk(&flat, i, (struct nm_walk_velocity){0.3, 0, 2 * atan2(at.y, at.x)});
                if (hypot(at.x, at.y) < 0.3) nm_flat_kick(&flat, i, -flat.robots[i].pose.theta, 0.7);
            }
            nm_flat_step(&flat, 1);
            if (fabs(flat.ball.x) > 5 || fabs(flat.ball.y) > 3.5)
                nm_flat_put_ball(&flat, (struct vec3){0, 0, 0}, (struct vec3){0, 0, 0});
            for (uint32_t i = 0; seeing && k % 7 == 0 && i < ROBOTS; i++) { /* 14 Hz */
                struct nm_percept_view view = {.time = flat.now,
                                               .pitch = &b->pitch,
                                               .camera = &b->camera,
                                               .ball = flat.ball,
                                               .camera_to_field = nm_flat_camera(&flat, i),
                                               .n = ROBOTS,
                                               .self = i,
                                               .robot_to_field = flat.robots[i].pose};
                for (uint32_t r = 0; r < ROBOTS; r++)
                    view.robots[r] =
                        (struct nm_percept_robot){true, flat.robots[r].pose.x, flat.robots[r].pose.y, 0.12, 0.7};
                seen += nm_perceive(&eyes[i], &nm_percept_params, &view, percepts);
            }
        }
        took[seeing] = cpu_seconds() - from;
        if (seeing && !seen) took[seeing] = INFINITY;
    }
    nm_bench_report(bench, "flat, 4 against 4, no brains", took[0] / seconds * 1e3, "ms/s", seconds / took[0],
                    ">= 300 x", seconds / took[0] >= 300);
    nm_bench_report(bench, "the same with percepts at 14 Hz", took[1] / seconds * 1e3, "ms/s", seconds / took[1],
                    ">= 300 x", seconds / took[1] >= 300);
}

/* ---- the same bits ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    uint64_t word = 0;
    for (size_t i = 0; i < n; i += 8) {
        memcpy(&word, p + i, n - i < 8 ? n - i : 8);
        hash = nm_spread(hash ^ word);
    }
    return hash;
}

static uint64_t fingerprint(struct bench_world *b, double seconds, struct nm_workers *workers)
{
    uint64_t hash = 1;
    if (begin(b, false, false, NULL) < 0) return 0;
    for (double t = 0; t < seconds; t += 1) {
        play(b, 1, 0, workers);
        take_pictures(b, workers);
        const mjModel *m = nm_world_model(b->world);
        const mjData *d = nm_world_data(b->world);
        hash = hash_bytes(hash, d->qpos, (size_t)m->nq * sizeof *d->qpos);
        hash = hash_bytes(hash, d->qvel, (size_t)m->nv * sizeof *d->qvel);
        for (int i = 0; i < ROBOTS; i++) hash = hash_bytes(hash, b->pictures[i], nm_picture_bytes(&b->camera, NM_YUYV));
    }
    return hash;
}

static void bench_bits(struct nm_bench *bench, struct bench_world *b, struct nm_workers *one, struct nm_workers *two)
{
    double seconds = nm_bench_quick(bench) ? 6 : 60;
    uint64_t alone = fingerprint(b, seconds, one), shared = fingerprint(b, seconds, two);
    char what[80];
    snprintf(what, sizeof what, "same bits after %g s with 1 and 2 workers", seconds);
    nm_bench_report(bench, what, alone == shared, "yes", NAN, "1", alone == shared && alone);
}

void bench_sim(struct nm_bench *bench)
{
    struct nm_err err = {0};
    struct bench_world *b = calloc(1, sizeof *b);
    struct nm_workers *one = nm_workers_new(1, &err), *two = nm_workers_new(2, &err);
    if (b && one && two && prepare(b, &err) == 0) {
        bench_play(bench, b, one);
        bench_cameras(bench, b);
        bench_flat(bench, b);
        bench_bits(bench, b, one, two);
    } else {
        nm_bench_report(bench, err.n ? err.text : "no memory", NAN, "", NAN, "", false);
    }
    if (b) {
        nm_world_free(b->world);
        setup_end(&b->setup);
    }
    nm_workers_free(one);
    nm_workers_free(two);
    free(b);
}
