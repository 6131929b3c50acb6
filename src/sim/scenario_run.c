/* A scenario played with one seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sim/scenario_parts.h"

/* Where robots and ball begin is drawn by streams of their own, so that another event changes no start. */
static void cast_robot(const struct nm_run *run, uint32_t i, struct nm_stage_robot *row)
{
    const struct nm_scenario *s = run->scenario;
    const struct nm_scenario_robot *from = &s->robots[i];
    struct nm_dice dice = nm_dice_new(run->options.seed, 101, i);
    double x = draw(&dice, from->at.x), y = draw(&dice, from->at.y), theta = draw(&dice, from->at.theta);
    *row = (struct nm_stage_robot){.name = from->name,
                                   .folder = run->options.robot ? run->options.robot : from->folder,
                                   .lineup = from->lineup && run->options.lineup ? run->options.lineup : from->lineup,
                                   .team = from->team,
                                   .shirt = {.number = from->number},
                                   .start = {x, y, theta},
                                   .posture = from->posture,
                                   .scatter = from->scatter,
                                   .n_set = from->n_set,
                                   .set = from->set,
                                   .n_says = from->n_says,
                                   .says = from->says};
    memcpy(row->shirt.colour, s->colours[from->team], sizeof row->shirt.colour);
}

static void place_ball(struct nm_run *run)
{
    const struct nm_scenario *s = run->scenario;
    struct nm_dice dice = nm_dice_new(run->options.seed, 102, 0);
    const struct nm_somewhere *at = &s->ball, *speed = &s->ball_velocity;
    struct vec3 place, velocity;
    place.x = draw(&dice, at->x), place.y = draw(&dice, at->y), place.z = draw(&dice, at->z);
    velocity.x = draw(&dice, speed->x), velocity.y = draw(&dice, speed->y), velocity.z = draw(&dice, speed->z);
    if (s->has_ball) nm_stage_put_ball(run->stage, place, velocity);
}

/* The caller's settings stand behind the scenario's: the later counts. */
static void more_settings(struct nm_run *run, struct nm_stage_robot *row)
{
    uint32_t n = row->n_set + run->options.n_set;
    const char **all = nm_take_n(&run->arena, const char *, n + 1);
    for (uint32_t i = 0; i < n; i++) all[i] = i < row->n_set ? row->set[i] : run->options.set[i - row->n_set];
    row->n_set = n;
    row->set = all;
}

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct nm_run *run = user;
    if (tally_listen(run, robot, player, err)) return -1;
    return run->options.ready ? run->options.ready(run->options.user, robot, player, err) : 0;
}

static void said(void *user, uint32_t robot, const Log *line)
{
    struct nm_run *run = user;
    if (run->options.said) run->options.said(run->options.user, robot, line);
}

static int start(struct nm_run *run, struct nm_err *err)
{
    const struct nm_scenario *s = run->scenario;
    struct nm_stage_robot rows[NM_PLAYERS];
    struct nm_stage_options options = NM_STAGE_OPTIONS;
    if (nm_pitch_read(&run->pitch, s->field, err)) return -1;
    options.root = s->root;
    options.registry = run->options.registry;
    options.pitch = &run->pitch;
    options.fidelity = s->fidelity;
    options.world = s->world;
    options.world.seed = run->options.body ? run->options.body : run->options.seed;
    options.workers = run->options.workers;
    options.bus_period = nm_ns(s->bus_period);
    options.camera_delay = nm_ns(s->camera_delay);
    options.camera_period = nm_ns(s->camera_period);
    options.cpu = run->options.cpu;
    options.ready = ready;
    options.said = run->options.said ? said : NULL;
    options.user = run;
    options.mount = run->options.mount;
    options.n_things = run->options.n_things;
    options.things = run->options.things;
    options.elsewhere = run->options.elsewhere;
    options.hardware = s->bus ? run->options.bus : NULL;
    if (s->bus && !run->options.bus) return nm_fail(err, "%s: there is no servo bus in this program", s->file);
    for (uint32_t i = 0; i < s->n_robots; i++) cast_robot(run, i, &rows[i]);
    for (uint32_t i = 0; i < s->n_robots; i++)
        if (rows[i].lineup) more_settings(run, &rows[i]);
    run->stage = nm_stage_new(rows, s->n_robots, &options, err);
    if (!run->stage) return -1;
    place_ball(run);
    if (events_prepare(run, err)) return -1;
    trail_start(run);
    run->end = nm_ns(nm_run_length(run));
    return 0;
}

struct nm_run *nm_run_new(const struct nm_scenario *scenario, const struct nm_run_options *options, struct nm_err *err)
{
    struct nm_run *run = nm_calloc(1, sizeof *run);
    run->scenario = scenario;
    run->options = *options;
    if (!start(run, err)) return run;
    nm_run_free(run);
    return NULL;
}

void nm_run_free(struct nm_run *run)
{
    if (!run) return;
    nm_stage_free(run->stage);
    nm_arena_free(&run->arena);
    free(run);
}

struct nm_stage *nm_run_stage(const struct nm_run *run) { return run->stage; }

double nm_run_length(const struct nm_run *run)
{
    return run->options.seconds > 0 ? run->options.seconds : run->scenario->duration;
}

int nm_run_step(struct nm_run *run)
{
    const struct nm_scenario *s = run->scenario;
    if (run->over) return 0;
    events_happen(run);
    if (nm_stage_step(run->stage)) {
        snprintf(run->ended, sizeof run->ended, "virtual time does not run");
        run->over = true;
        return 0;
    }
    trail_follow(run);
    for (uint32_t i = 0; i < s->n_until && !run->over; i++) {
        if (!condition_holds(run, &s->until[i])) continue;
        nm_condition_text(s, &s->until[i], run->ended, sizeof run->ended);
        run->over = true;
    }
    if (!run->over && nm_stage_now(run->stage) >= run->end) {
        snprintf(run->ended, sizeof run->ended, "time is up");
        run->over = true;
    }
    return !run->over;
}

static void note_incidents(const struct nm_run *run, struct nm_result *result)
{
    const uint32_t room = sizeof result->incidents / sizeof *result->incidents;
    uint32_t kept = 0;
    result->n_incidents = nm_stage_incidents(run->stage);
    for (uint64_t i = 0; i < result->n_incidents && kept < room; i++) {
        const struct nm_incident *incident = nm_stage_incident(run->stage, i);
        if (!incident) continue;
        result->incidents[kept].time = incident->time;
        snprintf(result->incidents[kept++].text, sizeof result->incidents[0].text, "%s", incident->text);
    }
}

void nm_run_result(const struct nm_run *run, struct nm_result *result)
{
    const struct nm_scenario *s = run->scenario;
    memset(result, 0, sizeof *result);
    result->seed = run->options.seed;
    result->time = nm_stage_now(run->stage);
    snprintf(result->ended, sizeof result->ended, "%s", run->over ? run->ended : "stopped");
    result->passed = true;
    for (uint32_t i = 0; i < s->n_expect; i++) {
        if (condition_holds(run, &s->expect[i])) continue;
        if (result->passed) nm_condition_text(s, &s->expect[i], result->failed, sizeof result->failed);
        result->passed = false;
    }
    note_incidents(run, result);
    result->n_faults = run->n_faults;
    snprintf(result->fault, sizeof result->fault, "%s", run->fault);
    for (uint32_t m = 0; m < s->n_measures; m++)
        for (uint32_t i = 0; i < s->n_robots + !s->n_robots; i++) /* the world's stand in the first place */
            result->values[m][i] = measure_value(run, &s->measures[m], m, i);
    result->score = score_of(run);
}
