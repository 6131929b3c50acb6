#include "sim/stage.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sim/stage_parts.h"
#include "body/stance.h"

const char *const nm_fidelity_names[NM_FIDELITIES] = {"camera", "percept", "flat"};
const char *const nm_posture_names[NM_POSTURES] = {"upright", "front", "back", "left", "right"};

/* A trunk that leans farther or is lower lies; low is 0.2 m for kid70, as a share of the height on straight legs. One
 * that leans half as much and is a little higher stands again. */
static const double LIES = 53 * M_PI / 180, LOW = 0.588, RISEN = 1.15;

/* ---- making ---- */

/* Robots of the same folder share its body. */
static const struct nm_body *body_of(struct nm_stage *stage, uint32_t robot, struct nm_err *err)
{
    const char *folder = stage->actors[robot].row.folder;
    for (uint32_t i = 0; i < robot; i++)
        if (stage->actors[i].body && !strcmp(stage->actors[i].row.folder, folder)) return stage->actors[i].body;
    return nm_body_load(&stage->arena, folder, err);
}

/* The simulator's own topics come from outside the line-up, whatever its file says. */
static struct nm_lineup *load_lineup(struct nm_stage *stage, const struct actor *a, struct nm_err *err)
{
    const char *remote[ALL_PORTS];
    struct nm_lineup_options load = {.root = stage->options.root, .robot = a->row.folder, .remote = remote};
    load.n_set = a->row.n_set;
    load.set = a->row.set;
    load.n_remote = stage_remotes(stage, a, remote, ALL_PORTS);
    return nm_lineup_load(a->row.lineup, stage->options.registry, &load, err);
}

/* A robot's parameters describe its worn gears (body_model.play). In a world without play its brain must not make up
 * for any, unless the scenario says so. */
static void take_play_out(struct nm_lineup *lineup)
{
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[i];
        if (strcmp(instance->module->name, "body_model")) continue;
        for (uint32_t p = 0; p < instance->n_params; p++)
            if (!strcmp(instance->module->params[p].name, "play") && instance->values[p].layer < NM_LAYER_COMMAND)
                nm_value_parse(&instance->module->params[p], "0", &instance->values[p], NULL);
    }
}

static int load_brain(struct nm_stage *stage, struct actor *a, uint32_t robot, struct nm_err *err)
{
    const struct nm_stage_options *o = &stage->options;
    a->lineup = o->elsewhere ? stage_stand_in(stage, a, err) : load_lineup(stage, a, err);
    if (!a->lineup) return nm_fail(err, "robot %s: its line-up %s does not load", a->row.name, a->row.lineup);
    if (!o->world.backlash || o->fidelity == NM_FIDELITY_FLAT) take_play_out(a->lineup);
    struct nm_player_options options = {.name = o->elsewhere ? "body" : a->row.name,
                                        .seed = nm_spread(o->world.seed ^ nm_spread(robot)),
                                        .body = a->body,
                                        .cpu = o->cpu};
    a->brain = nm_player_new(a->lineup, &options, err);
    if (!a->brain || stage_bind(stage, a, err)) return nm_fail(err, "robot %s cannot start", a->row.name);
    stage->players[stage->n_players++] = a->brain;
    if (o->hardware && o->fidelity != NM_FIDELITY_FLAT) {
        a->hardware = o->hardware->open(o->hardware->user, a->brain, a->body, a->goals, err);
        if (!a->hardware) return nm_fail(err, "robot %s: its hardware does not start", a->row.name);
    }
    return o->ready ? o->ready(o->user, robot, a->brain, err) : 0;
}

static int load_actor(struct nm_stage *stage, uint32_t robot, struct nm_err *err)
{
    struct actor *a = &stage->actors[robot];
    a->power = true;
    a->goals_made = -1;
    grip_start(a);
    a->body = body_of(stage, robot, err);
    if (!a->body) return -1;
    const double straight[NM_JOINTS] = {0};
    a->low = LOW * nm_standing_height(a->body, QUAT_IDENTITY, straight);
    nm_feed_init(&a->feed, a->body, stage->options.world.seed, robot);
    nm_stance(a->body, stage->options.bend, a->joints);
    for (uint32_t j = 0; j < a->body->n_joints; j++)
        a->goals[j] = (struct nm_joint_goal){.position = a->joints[j], .torque_limit = 1, .on = true};
    return a->row.lineup ? load_brain(stage, a, robot, err) : 0;
}

static int make_world(struct nm_stage *stage, struct nm_err *err)
{
    struct nm_world_robot rows[NM_PLAYERS];
    if (stage->options.fidelity == NM_FIDELITY_FLAT) {
        flat_make(stage);
        return 0;
    }
    for (uint32_t i = 0; i < stage->n; i++) {
        const struct actor *a = &stage->actors[i];
        rows[i] = (struct nm_world_robot){a->body, a->row.start, a->joints, a->row.shirt, NULL};
    }
    stage->world = nm_world_new(stage->options.pitch, rows, stage->n, &stage->options.world, err);
    if (!stage->world) return -1;
    stage->tick = nm_world_tick(stage->world);
    for (uint32_t i = 0; i < stage->n; i++)
        if (stage->actors[i].row.posture != NM_UPRIGHT)
            nm_stage_place(stage, i, stage->actors[i].row.start, stage->actors[i].row.posture);
    for (uint32_t i = 0; i < stage->n; i++)
        if (stage->actors[i].row.scatter > 0) stage_scatter(stage, i);
    return 0;
}

static int make(struct nm_stage *stage, const struct nm_stage_robot *robots, struct nm_err *err)
{
    int bad = 0;
    for (uint32_t i = 0; i < stage->n; i++) {
        stage->actors[i].row = robots[i];
        bad |= load_actor(stage, i, err);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(robots[k].name, robots[i].name)) bad = nm_fail(err, "two robots are called %s", robots[i].name);
    }
    if (bad || make_world(stage, err)) return -1;
    nm_scene_new(stage->scene, stage->options.pitch, (uint32_t)stage->options.world.seed);
    nm_scene_keep(stage->scene, stage->options.things, stage->options.n_things);
    /* until time 0 nothing runs, but boards and mailboxes are made */
    if (nm_players_run(stage->players, stage->n_players, 0, 1)) return nm_fail(err, "a line-up cannot be started");
    stage_open_sight(stage);
    return stage_open_eyes(stage, err);
}

static void give_all(struct nm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n; i++)
        if (stage->actors[i].edge) stage_give(stage, i);
    stage_show(stage);
    stage_tell(stage);
    stage_expose(stage);
    stage_look(stage);
    for (uint32_t i = 0; i < stage->n; i++)
        if (stage->actors[i].edge) nm_edge_end(stage->actors[i].edge);
}

static void begin_all(struct nm_stage *stage, int64_t now)
{
    for (uint32_t i = 0; i < stage->n; i++)
        if (stage->actors[i].edge) nm_edge_begin(stage->actors[i].edge, now);
}

struct nm_stage *nm_stage_new(const struct nm_stage_robot *robots, uint32_t n, const struct nm_stage_options *options,
                              struct nm_err *err)
{
    if (n > NM_PLAYERS) {
        nm_fail(err, "a stage has room for %d robots, not for %u", NM_PLAYERS, n);
        return NULL;
    }
    struct nm_stage *stage = nm_calloc(1, sizeof *stage);
    stage->options = *options;
    if (!stage->options.bus_period) stage->options.bus_period = 8000000;
    if (!stage->options.camera_delay) stage->options.camera_delay = 20000000;
    if (!stage->options.workers) stage->options.workers = 1;
    stage->n = n;
    stage->scene_time = -1;
    stage->scene = nm_take(&stage->arena, sizeof *stage->scene);
    stage->kin = nm_take_n(&stage->arena, struct nm_kin, n + 1);
    stage->workers = nm_workers_new(stage->options.workers, err);
    if (!stage->workers || make(stage, robots, err)) {
        nm_stage_free(stage);
        return NULL;
    }
    begin_all(stage, 0);
    give_all(stage);
    return stage;
}

void nm_stage_free(struct nm_stage *stage)
{
    if (!stage) return;
    stage_close_eyes(stage);
    for (uint32_t i = 0; i < stage->n; i++) {
        if (stage->actors[i].hardware) stage->options.hardware->close(stage->actors[i].hardware);
        nm_player_free(stage->actors[i].brain);
        nm_lineup_free(stage->actors[i].lineup);
    }
    nm_world_free(stage->world);
    nm_workers_free(stage->workers);
    nm_arena_free(&stage->arena);
    free(stage);
}

/* ---- a step ---- */

static void notice_falls(struct nm_stage *stage)
{
    for (uint32_t i = 0; i < stage->n; i++) {
        struct actor *a = &stage->actors[i];
        struct nm_whereabouts w;
        nm_stage_whereabouts(stage, i, &w);
        double up = quat_apply(w.base_to_field.rot, (struct vec3){0, 0, 1}).z;
        double tilt = acos(fmin(fmax(up, -1), 1));
        struct vec3 at = w.base_to_field.pos;
        double height = at.z - nm_pitch_height(stage->options.pitch, at.x, at.y);
        a->fallen = a->fallen ? tilt > LIES / 2 || height < RISEN * a->low : tilt > LIES || height < a->low;
    }
}

struct round { /* of all players up to a time */
    struct nm_stage *stage;
    int64_t until;
    _Atomic bool failed;
};

static void run_one(void *user, uint32_t i, uint32_t hand)
{
    struct round *round = user;
    (void)hand;
    if (nm_players_run(&round->stage->players[i], 1, round->until, 1)) atomic_store(&round->failed, true);
}

int nm_stage_step(struct nm_stage *stage)
{
    int64_t then = stage->now + stage->tick;
    struct round round = {.stage = stage, .until = then};
    nm_workers_run(stage->workers, stage->n_players, run_one, &round);
    if (atomic_load(&round.failed)) return -1;
    begin_all(stage, then);
    for (uint32_t i = 0; i < stage->n; i++) stage_take(stage, &stage->actors[i]);
    if (stage->flat)
        nm_flat_step(stage->flat, 1);
    else
        nm_world_step(stage->world, 1);
    stage->now = then;
    notice_falls(stage);
    give_all(stage);
    return 0;
}

/* ---- looking ---- */

int64_t nm_stage_now(const struct nm_stage *stage) { return stage->now; }
double nm_stage_cpu(const struct nm_stage *stage)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < stage->n_players; i++) sum += nm_player_cpu(stage->players[i]);
    return nm_seconds(sum);
}
int64_t nm_stage_tick(const struct nm_stage *stage) { return stage->tick; }
uint32_t nm_stage_robots(const struct nm_stage *stage) { return stage->n; }
const struct nm_body *nm_stage_body(const struct nm_stage *stage, uint32_t robot) { return stage->actors[robot].body; }
const struct nm_stage_robot *nm_stage_robot(const struct nm_stage *stage, uint32_t robot)
{
    return &stage->actors[robot].row;
}
struct nm_player *nm_stage_player(const struct nm_stage *stage, uint32_t robot) { return stage->actors[robot].brain; }
const struct nm_pitch *nm_stage_pitch(const struct nm_stage *stage) { return stage->options.pitch; }
struct nm_world *nm_stage_world(const struct nm_stage *stage) { return stage->world; }

uint64_t nm_stage_goals(const struct nm_stage *stage, uint32_t robot) { return stage->actors[robot].goals_taken; }

int64_t nm_stage_goals_made(const struct nm_stage *stage, uint32_t robot) { return stage->actors[robot].goals_made; }

int32_t nm_stage_find(const struct nm_stage *stage, const char *name)
{
    for (uint32_t i = 0; i < stage->n; i++)
        if (!strcmp(stage->actors[i].row.name, name)) return (int32_t)i;
    return -1;
}

void nm_stage_whereabouts(const struct nm_stage *stage, uint32_t robot, struct nm_whereabouts *where)
{
    struct nm_truth truth;
    if (stage->flat) {
        flat_whereabouts(stage, robot, where);
        return;
    }
    nm_world_truth(stage->world, robot, &truth);
    *where = (struct nm_whereabouts){
        truth.base_to_field, truth.velocity, truth.angular_velocity, stage->actors[robot].fallen, 0, 0};
    const struct nm_group *neck = &stage->actors[robot].body->head;
    if (neck->n > 0) where->pan = truth.q[neck->joints[0]];
    if (neck->n > 1) where->tilt = truth.q[neck->joints[1]];
}

const struct nm_touches *nm_stage_touches(const struct nm_stage *stage)
{
    return stage->flat ? &stage->flat->touches : nm_world_touches(stage->world);
}

struct vec3 nm_stage_ball(const struct nm_stage *stage, struct vec3 *velocity)
{
    if (!stage->flat) return nm_world_ball(stage->world, velocity).pos;
    if (velocity) *velocity = stage->flat->ball_velocity;
    return stage->flat->ball;
}

const struct nm_scene *nm_stage_scene(struct nm_stage *stage)
{
    if (stage->scene_time == stage->now) return stage->scene;
    if (stage->flat)
        flat_scene(stage);
    else
        nm_world_scene(stage->world, stage->scene, stage->kin);
    stage->scene_time = stage->now;
    return stage->scene;
}

const struct nm_kin *nm_stage_kin(const struct nm_stage *stage, uint32_t robot) { return &stage->kin[robot]; }

uint64_t nm_stage_incidents(const struct nm_stage *stage)
{
    return stage->world ? nm_world_incidents(stage->world) : 0;
}

const struct nm_incident *nm_stage_incident(const struct nm_stage *stage, uint64_t i)
{
    return stage->world ? nm_world_incident(stage->world, i) : NULL;
}
