#include "sim/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sim/world_parts.h"

/* A robot that does any of this is torn, not fast: no joint of a 15 Nm servo turns at 60 rad/s. */
static const double MOST_JOINT_SPEED = 80, MOST_SPEED = 25, MOST_TURN = 100, MOST_BEYOND_LIMIT = 0.5;

/* ---- making ---- */

static int find(const mjModel *m, int type, const char *format, uint32_t a, uint32_t b)
{
    char name[48];
    snprintf(name, sizeof name, format, a, b);
    return mj_name2id(m, type, name);
}

static double vary(struct nm_dice *dice, double most) { return 1 + most * nm_dice_both(dice); }

/* What the seed decides about one robot. Every number is drawn whatever the options, so that streams do not shift. */
static void draw_robot(struct nm_world *w, struct robot *r, uint32_t index)
{
    const struct nm_world_spread *s = &w->options.spread;
    double scale = w->options.random;
    struct nm_dice dice = nm_dice_new(w->options.seed, 1, index);
    r->noise = nm_dice_new(w->options.seed, 2, index);
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        struct nm_servo_model *m = &r->servos[j];
        *m = nm_servo_model_of(r->body, j);
        m->stall *= vary(&dice, scale * s->gain);
        m->friction *= vary(&dice, scale * s->friction);
        m->zero = scale * s->zero * nm_dice_both(&dice);
        r->stall[j] = m->stall;
        r->free_speed[j] = m->free_speed;
        if (r->v[j] < 0) continue;
        w->model->dof_frictionloss[r->v[j]] = m->friction;
        w->model->dof_armature[r->v[j]] = fmax(m->armature, 1e-5);
        w->model->dof_damping[r->v[j]] = m->drag;
    }
    double command = scale * s->command_delay * nm_dice_roll(&dice),
           sensor = scale * s->sensor_delay * nm_dice_roll(&dice);
    r->command_delay = w->options.command_delay + (int64_t)(command * 1e9);
    r->sensor_delay = w->options.sensor_delay + (int64_t)(sensor * 1e9);
    double *biases[2] = {&r->gyro_bias.x, &r->accel_bias.x}, most[2] = {s->gyro_bias, s->accel_bias};
    for (int k = 0; k < 2; k++)
        for (int axis = 0; axis < 3; axis++) biases[k][axis] = scale * most[k] * nm_dice_both(&dice);
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < NM_CELLS; c++) r->cell_gain[side][c] = vary(&dice, scale * s->cell_gain);
    for (uint32_t l = 0; l < r->body->n_links; l++) {
        int body = find(w->model, mjOBJ_BODY, "r%u_l%u", index, l);
        double k = vary(&dice, scale * s->mass);
        if (body < 0) continue;
        w->model->body_mass[body] *= k;
        for (int axis = 0; axis < 3; axis++) w->model->body_inertia[3 * body + axis] *= k;
    }
}

static void bind_robot(struct nm_world *w, struct robot *r, uint32_t index, const struct nm_world_robot *from)
{
    const mjModel *m = w->model;
    const struct nm_body *body = from->body;
    int root = find(m, mjOBJ_JOINT, "r%u_root", index, 0);
    r->body = body;
    r->shirt = from->shirt;
    r->home = from->start;
    r->root_q = m->jnt_qposadr[root];
    r->root_v = m->jnt_dofadr[root];
    r->trunk = find(m, mjOBJ_BODY, "r%u_l%u", index, 0);
    r->struck = -1;
    r->servos = nm_take_n(&w->arena, struct nm_servo_model, body->n_joints + 1);
    r->stall = nm_take_n(&w->arena, double, body->n_joints + 1);
    r->free_speed = nm_take_n(&w->arena, double, body->n_joints + 1);
    r->states = nm_take_n(&w->arena, struct nm_servo_state, body->n_joints + 1);
    r->samples = nm_take_n(&w->arena, struct nm_sense, SAMPLES);
    for (int c = 0; c < COMMANDS; c++)
        r->commands[c].goals = nm_take_n(&w->arena, struct nm_joint_goal, body->n_joints + 1);
    for (uint32_t j = 0; j < body->n_joints; j++) {
        int joint = find(m, mjOBJ_JOINT, "r%u_j%u", index, j), play = find(m, mjOBJ_JOINT, "r%u_p%u", index, j);
        r->q[j] = joint < 0 ? -1 : m->jnt_qposadr[joint];
        r->v[j] = joint < 0 ? -1 : m->jnt_dofadr[joint];
        r->play_q[j] = play < 0 ? -1 : m->jnt_qposadr[play];
        r->play_v[j] = play < 0 ? -1 : m->jnt_dofadr[play];
        r->rest[j] = from->joints ? from->joints[j] : 0;
        r->states[j].goal = (struct nm_joint_goal){.position = r->rest[j], .torque_limit = 1, .on = true};
    }
    for (int side = 0; side < 2; side++)
        r->foot_body[side] =
            body->leg[side].n ? find(m, mjOBJ_BODY, "r%u_l%u", index, body->frames[body->foot[side].sole].link) : -1;
}

static void bind_geoms(struct nm_world *w)
{
    w->side_of_geom = nm_take_n(&w->arena, int8_t, w->model->ngeom + 1);
    w->robot_of_geom = nm_take_n(&w->arena, uint8_t, w->model->ngeom + 1);
    for (int g = 0; g < w->model->ngeom; g++) {
        w->side_of_geom[g] = -1;
        w->robot_of_geom[g] = 0xff;
        for (uint32_t i = 0; i < w->n; i++) {
            const struct robot *r = &w->robots[i];
            int body = w->model->geom_bodyid[g];
            if (w->model->body_rootid[body] != r->trunk) continue;
            w->robot_of_geom[g] = (uint8_t)i;
            for (int8_t side = 0; side < 2; side++)
                if (r->foot_body[side] == body) w->side_of_geom[g] = side;
        }
    }
}

static struct nm_mjcf_options text_options(const struct nm_world *w)
{
    const struct nm_world_options *o = &w->options;
    struct nm_dice dice = nm_dice_new(o->seed, 3, 0);
    double friction = o->friction * vary(&dice, o->random * o->spread.friction);
    double turf = (o->turf < 0 ? w->pitch->turf : o->turf) + o->random * o->spread.turf * nm_dice_both(&dice);
    turf = fmax(turf, 0);
    return (struct nm_mjcf_options){
        .step = (double)w->tick * 1e-9,
        .turf = turf,
        .friction = friction,
        .backlash = o->backlash,
        .play = o->play,
        .self = o->self,
        .pendulum = o->pendulum,
        .bare = o->bare,
        .visuals = o->visuals,
    };
}

static mjModel *load(struct nm_world *w, const struct nm_world_robot *robots, const struct nm_mjcf_options *options,
                     struct nm_err *err)
{
    const struct nm_body *bodies[NM_PLAYERS];
    const bool *rigid[NM_PLAYERS];
    const double *joints[NM_PLAYERS];
    static const double zero[NM_JOINTS];
    struct nm_mjcf_options all = *options;
    for (uint32_t i = 0; i < w->n; i++) {
        bodies[i] = robots[i].body;
        rigid[i] = robots[i].rigid;
        joints[i] = robots[i].joints ? robots[i].joints : zero;
    }
    all.rigid = rigid;
    all.joints = joints;
    char *text = nm_mjcf(w->pitch, bodies, w->n, &all, err);
    mjModel *model = text ? world_load(text, err) : NULL;
    free(text);
    return model;
}

/* With self-collision, parts that overlap at zero pose without touching in earnest must be known: the world is loaded
 * once to find them. */
static uint32_t find_overlaps(const mjModel *m, uint32_t n, struct nm_mjcf_exclude *found, uint32_t room)
{
    mjData *d = mj_makeData(m);
    uint32_t count = 0;
    if (!d) return 0;
    for (uint32_t i = 0; i < n; i++) { /* far from each other and from the ground */
        int root = find(m, mjOBJ_JOINT, "r%u_root", i, 0);
        d->qpos[m->jnt_qposadr[root]] = 20.0 * (i + 1);
        d->qpos[m->jnt_qposadr[root] + 2] = 20;
    }
    mj_forward(m, d);
    for (int c = 0; c < d->ncon && count < room; c++) {
        struct nm_mjcf_exclude e;
        const char *one = mj_id2name(m, mjOBJ_BODY, m->geom_bodyid[d->contact[c].geom1]),
                   *two = mj_id2name(m, mjOBJ_BODY, m->geom_bodyid[d->contact[c].geom2]);
        uint32_t robot;
        if (!one || !two || sscanf(one, "r%u_l%u", &e.robot, &e.link[0]) != 2 ||
            sscanf(two, "r%u_l%u", &robot, &e.link[1]) != 2 || robot != e.robot)
            continue;
        bool known = false;
        for (uint32_t i = 0; i < count; i++) known |= !memcmp(&found[i], &e, sizeof e);
        if (!known) found[count++] = e;
    }
    mj_deleteData(d);
    return count;
}

static mjModel *load_all(struct nm_world *w, const struct nm_world_robot *robots, struct nm_err *err)
{
    struct nm_mjcf_exclude excludes[512];
    struct nm_mjcf_options options = text_options(w);
    double roll = w->options.ball_roll > 0 ? w->options.ball_roll : 4.2 - 1.6 * fmin(options.turf / 0.03, 1);
    w->ball_brake = 2.0 * 2.0 / (2 * roll);
    mjModel *model = load(w, robots, &options, err);
    if (!model || options.self != NM_SELF_ALL) return model;
    options.excludes = excludes;
    options.n_excludes = find_overlaps(model, w->n, excludes, sizeof excludes / sizeof excludes[0]);
    mj_deleteModel(model);
    return load(w, robots, &options, err);
}

static int check_arguments(const struct nm_world_robot *robots, uint32_t n, const struct nm_world_options *o,
                           struct nm_err *err)
{
    if (n > NM_PLAYERS) return nm_fail(err, "a world has room for %d robots, not for %u", NM_PLAYERS, n);
    if (o->step && (o->step < 500000 || o->step > 10000000))
        return nm_fail(err, "a physical step of %g ms is not possible: it must lie between 0.5 and 10 ms",
                       (double)o->step * 1e-6);
    if (o->command_delay < 0 || o->sensor_delay < 0 || o->command_delay > 60000000 || o->sensor_delay > 60000000)
        return nm_fail(err, "delays must lie between 0 and 60 ms");
    if (!(o->charge >= 0 && o->charge <= 1))
        return nm_fail(err, "`charge` is %g, it must lie between 0 and 1", o->charge);
    if (!(fabs(o->slope[0]) <= 0.5 && fabs(o->slope[1]) <= 0.5))
        return nm_fail(err, "slopes of %g and %g rad: they must lie between -0.5 and 0.5", o->slope[0], o->slope[1]);
    if (!(o->random >= 0 && o->random <= NM_WORLD_RANDOM))
        return nm_fail(err, "`random` is %g, it must lie between 0 and %g", o->random, NM_WORLD_RANDOM);
    const double shares[] = {o->spread.mass, o->spread.gain, o->spread.friction, o->spread.cell_gain};
    for (uint32_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (!(o->random * shares[i] < 1))
            return nm_fail(err, "`random` is %g, and %g of a spread of %g would leave nothing or less", o->random,
                           o->random, shares[i]);
    for (uint32_t i = 0; i < n; i++) {
        struct pose2 p = robots[i].start;
        if (!isfinite(p.x + p.y + p.theta)) return nm_fail(err, "robot %u starts at no place", i);
    }
    return 0;
}

/* Nobody stands twice alike: joints and trunk are off by up to the spread, and the lowest sole touches the ground. */
static void start_anyhow(struct nm_world *w, uint32_t robot)
{
    struct robot *r = &w->robots[robot];
    struct nm_dice dice = nm_dice_new(w->options.seed, 4, robot);
    double most = w->options.random * w->options.spread.start, q[NM_JOINTS];
    if (!(most > 0)) return;
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        const struct nm_joint *joint = &r->body->joints[j];
        q[j] = fmin(fmax(r->rest[j] + most * nm_dice_both(&dice), joint->lower), joint->upper);
    }
    nm_apply_mimics(r->body, q);
    struct quat rot = quat_rpy(most * nm_dice_both(&dice), most * nm_dice_both(&dice), r->home.theta);
    double height = nm_pitch_height(w->pitch, r->home.x, r->home.y) + nm_standing_height(r->body, rot, q);
    nm_world_put(w, robot, (struct pose3){rot, {r->home.x, r->home.y, height}}, q);
}

struct nm_world *nm_world_new(const struct nm_pitch *pitch, const struct nm_world_robot *robots, uint32_t n,
                              const struct nm_world_options *options, struct nm_err *err)
{
    if (check_arguments(robots, n, options, err) < 0) return NULL;
    struct nm_world *w = nm_calloc(1, sizeof *w);
    world_guard_install();
    w->options = *options;
    w->pitch = pitch;
    w->n = n;
    w->tick = options->step ? options->step : 4000000;
    w->model = load_all(w, robots, err);
    w->data = w->model ? mj_makeData(w->model) : NULL;
    if (!w->data) {
        if (w->model) nm_fail(err, "no memory for a world");
        nm_world_free(w);
        return NULL;
    }
    w->robots = nm_take_n(&w->arena, struct robot, n + 1);
    w->saved_qpos = nm_take_n(&w->arena, double, w->model->nq + 1);
    w->saved_qvel = nm_take_n(&w->arena, double, w->model->nv + 1);
    w->saved_warm = nm_take_n(&w->arena, double, w->model->nv + 1);
    int ball = mj_name2id(w->model, mjOBJ_JOINT, "ball");
    w->ball_q = ball < 0 ? -1 : w->model->jnt_qposadr[ball];
    w->ball_v = ball < 0 ? -1 : w->model->jnt_dofadr[ball];
    w->ball_body = ball < 0 ? -1 : w->model->jnt_bodyid[ball];
    w->pendulum_body = mj_name2id(w->model, mjOBJ_BODY, "pendulum");
    w->pendulum_geom = w->pendulum_body < 0 ? -1 : w->model->body_geomadr[w->pendulum_body];
    w->pendulum_met = -1;
    for (uint32_t i = 0; i < n; i++) {
        bind_robot(w, &w->robots[i], i, &robots[i]);
        draw_robot(w, &w->robots[i], i);
        nm_world_charge(w, i, options->charge);
    }
    bind_geoms(w);
    nm_world_slope(w, options->slope);
    mj_setConst(w->model, w->data);
    mj_resetData(w->model, w->data);
    for (uint32_t i = 0; i < n; i++) world_reset_robot(w, i);
    for (uint32_t i = 0; i < n; i++) start_anyhow(w, i);
    world_refresh(w);
    for (uint32_t i = 0; i < n; i++) world_settle_sensors(w, &w->robots[i]);
    world_sample(w);
    return w;
}

void nm_world_free(struct nm_world *w)
{
    if (!w) return;
    if (w->data) mj_deleteData(w->data);
    if (w->model) mj_deleteModel(w->model);
    nm_arena_free(&w->arena);
    free(w);
}

/* ---- looking ---- */

int64_t nm_world_now(const struct nm_world *w) { return w->now; }
int64_t nm_world_tick(const struct nm_world *w) { return w->tick; }
const struct nm_body *nm_world_body(const struct nm_world *w, uint32_t robot) { return w->robots[robot].body; }
struct mjModel_ *nm_world_model(struct nm_world *w) { return w->model; }
struct mjData_ *nm_world_data(struct nm_world *w) { return w->data; }

void nm_world_drawn(const struct nm_world *w, uint32_t robot, struct nm_world_draw *draw)
{
    const struct robot *r = &w->robots[robot];
    *draw = (struct nm_world_draw){r->command_delay, r->sensor_delay, 0, 0, r->servos};
    for (int b = 0; b < w->model->nbody; b++)
        if (w->model->body_rootid[b] == r->trunk) draw->mass += w->model->body_mass[b];
    draw->ground_friction = w->model->geom_friction[3 * mj_name2id(w->model, mjOBJ_GEOM, "ground")];
}

uint32_t nm_world_put_back(const struct nm_world *w, uint32_t robot) { return w->robots[robot].put_back; }

int64_t nm_world_struck(const struct nm_world *w, uint32_t robot) { return w->robots[robot].struck; }

const struct nm_servo_state *nm_world_motors(const struct nm_world *w, uint32_t robot)
{
    return w->robots[robot].states;
}

/* ---- stepping ---- */

void nm_world_goals(struct nm_world *w, uint32_t robot, const struct nm_joint_goal *goals)
{
    struct robot *r = &w->robots[robot];
    if (r->n_commands == COMMANDS) { /* faster than the step for longer than the delay: the oldest are overtaken */
        r->first_command = (r->first_command + 1) % COMMANDS;
        r->n_commands--;
    }
    struct command *c = &r->commands[(r->first_command + r->n_commands++) % COMMANDS];
    c->due = w->now + r->command_delay;
    memcpy(c->goals, goals, r->body->n_joints * sizeof *goals);
}

const struct nm_power *nm_world_power(const struct nm_world *w, uint32_t robot) { return &w->robots[robot].power; }

static void follow_voltage(struct robot *r)
{
    double share = r->body->voltage > 0 ? r->power.voltage / r->body->voltage : 1;
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        r->servos[j].stall = share * r->stall[j];
        r->servos[j].free_speed = share * r->free_speed[j];
    }
}

void nm_world_charge(struct nm_world *w, uint32_t robot, double charge)
{
    if (charge >= 0 && charge <= 1) nm_power_start(&w->robots[robot].power, w->robots[robot].body, charge);
    follow_voltage(&w->robots[robot]);
}

void nm_world_voltage(struct nm_world *w, uint32_t robot, double volts)
{
    struct robot *r = &w->robots[robot];
    double share = r->body->voltage > 0 ? volts / r->body->voltage : 1;
    if (share >= 0 && share < 10) nm_power_mains(&r->power, volts);
    follow_voltage(r);
}

/* What the motors draw in this step makes the voltage of the next one. */
static void draw_power(struct nm_world *w, struct robot *r)
{
    double speed[NM_JOINTS];
    for (uint32_t j = 0; j < r->body->n_joints; j++) speed[j] = r->v[j] < 0 ? 0 : w->data->qvel[r->v[j]];
    nm_power_step(&r->power, r->states, speed, (double)w->tick * 1e-9);
    follow_voltage(r);
}

static void take_goals(struct robot *r, const struct nm_joint_goal *goals)
{
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        const struct nm_joint_goal *g = &goals[j];
        if (isfinite(g->position + g->p + g->torque_limit)) r->states[j].goal = *g;
    }
}

static void drive_servos(struct nm_world *w, struct robot *r)
{
    while (r->n_commands && r->commands[r->first_command].due <= w->now) {
        take_goals(r, r->commands[r->first_command].goals);
        r->first_command = (r->first_command + 1) % COMMANDS;
        r->n_commands--;
    }
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        const struct nm_servo_model *m = &r->servos[j];
        struct nm_servo_state *s = &r->states[j];
        if (r->v[j] < 0) continue;
        if (s->goal.on != r->braking[j]) {
            r->braking[j] = s->goal.on;
            w->model->dof_damping[r->v[j]] = s->goal.on ? m->brake : m->drag;
        }
        w->data->qfrc_applied[r->v[j]] = nm_servo_torque(m, s, w->data->qpos[r->q[j]]);
    }
}

/* A rolling ball loses speed at a = v^2 / 2 s, whatever its direction: the torque of a sphere on the ground is then
 * 7/5 m r a against its spin. It fades out in the last centimetres a second, so that a ball comes to rest. */
static void brake_ball(struct nm_world *w)
{
    const double slow = 0.5; /* rad/s */
    if (w->ball_q < 0) return;
    double r = w->pitch->ball_radius, *torque = w->data->qfrc_applied + w->ball_v + 3;
    const double *spin = w->data->qvel + w->ball_v + 3; /* both in the ball's own frame */
    double turns = sqrt(spin[0] * spin[0] + spin[1] * spin[1] + spin[2] * spin[2]);
    bool grounded = w->data->qpos[w->ball_q + 2] < 1.1 * r;
    double brake = grounded ? 1.4 * w->pitch->ball_mass * r * w->ball_brake / fmax(turns, slow) : 0;
    for (int i = 0; i < 3; i++) torque[i] = -brake * spin[i];
}

static void copy_state(struct nm_world *w, bool save)
{
    double *own[3] = {w->data->qpos, w->data->qvel, w->data->qacc_warmstart};
    double *kept[3] = {w->saved_qpos, w->saved_qvel, w->saved_warm};
    size_t n[3] = {(size_t)w->model->nq, (size_t)w->model->nv, (size_t)w->model->nv};
    for (int i = 0; i < 3; i++) memcpy(save ? kept[i] : own[i], save ? own[i] : kept[i], n[i] * sizeof(double));
}

/* The parts of mj_step, without its checks: those would reset the whole world for one bad number. */
static void solve(struct nm_world *w)
{
    mj_fwdActuation(w->model, w->data);
    mj_fwdAcceleration(w->model, w->data);
    mj_fwdConstraint(w->model, w->data);
}

static bool all_small(const double *x, int n, double most)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i]) <= most)) return false; /* also false for NaN */
    return true;
}

/* NULL, or what is wrong with a robot's numbers: `q` and `v` are those of the whole world. */
static const char *fault_of(const struct nm_world *w, const struct robot *r, enum nm_incident_kind *kind)
{
    const double *q = w->data->qpos, *v = w->data->qvel;
    *kind = NM_INCIDENT_STATE;
    if (!all_small(q + r->root_q, 7, 1e3)) return "its place is no number";
    for (uint32_t j = 0; j < r->body->n_joints; j++)
        if (!isfinite(world_angle(w, r, j) + world_speed(w, r, j))) return "a joint is no number";
    if (!all_small(v + r->root_v, 6, 1e6)) return "its speed is no number";
    *kind = NM_INCIDENT_TORN;
    if (!all_small(v + r->root_v, 3, MOST_SPEED) || !all_small(v + r->root_v + 3, 3, MOST_TURN))
        return "its trunk moved faster than any robot";
    for (uint32_t j = 0; j < r->body->n_joints; j++) {
        const struct nm_joint *joint = &r->body->joints[j];
        double at = world_angle(w, r, j);
        if (fabs(world_speed(w, r, j)) > MOST_JOINT_SPEED) return "a joint turned faster than any servo";
        if (at < joint->lower - MOST_BEYOND_LIMIT || at > joint->upper + MOST_BEYOND_LIMIT)
            return "a joint was forced far beyond its limit";
    }
    return NULL;
}

static void check_ball(struct nm_world *w)
{
    if (w->ball_q < 0) return;
    const double *q = w->data->qpos + w->ball_q, *v = w->data->qvel + w->ball_v;
    if (all_small(q, 7, 1e3) && all_small(v, 6, 1e4)) return;
    world_report(w, -1, NM_INCIDENT_STATE, "the ball was put back to the centre: its state is no number");
    memset(w->data->qpos + w->ball_q, 0, 7 * sizeof(double));
    memset(w->data->qvel + w->ball_v, 0, 6 * sizeof(double));
    w->data->qpos[w->ball_q + 2] = w->pitch->ball_radius;
    w->data->qpos[w->ball_q + 3] = 1;
}

/* Where a robot stands upright is where it may be put back. */
static void remember(const struct nm_world *w, struct robot *r)
{
    struct pose3 base = world_base(w, r);
    double up = 1 - 2 * (base.rot.x * base.rot.x + base.rot.y * base.rot.y);
    if (up > 0.9) r->home = (struct pose2){base.pos.x, base.pos.y, quat_yaw(base.rot)};
}

static void put_back(struct nm_world *w, uint32_t robot)
{
    world_reset_robot(w, robot);
    w->robots[robot].put_back++;
}

/* Puts back every robot whose state is broken; true if there was one. */
static bool heal(struct nm_world *w)
{
    bool any = false;
    for (uint32_t i = 0; i < w->n; i++) {
        enum nm_incident_kind kind;
        const char *fault = fault_of(w, &w->robots[i], &kind);
        if (!fault) {
            remember(w, &w->robots[i]);
            continue;
        }
        world_report(w, (int32_t)i, kind, "robot %u (%s) was put back: %s", i, w->robots[i].body->name, fault);
        put_back(w, i);
        any = true;
    }
    check_ball(w);
    return any;
}

/* Finds whose acceleration is no number. Without constraints the robots do not touch each other in the equations, so
 * the smooth acceleration names the culprit; if it does not, the solver failed and everybody who shows it is taken. */
static void heal_acceleration(struct nm_world *w)
{
    for (int pass = 0; pass < 2; pass++) {
        const double *a = pass ? w->data->qacc : w->data->qacc_smooth;
        bool any = false;
        for (uint32_t i = 0; i < w->n; i++) {
            struct robot *r = &w->robots[i];
            bool good = all_small(a + r->root_v, 6, 1e10);
            for (uint32_t j = 0; j < r->body->n_joints; j++)
                good &=
                    (r->v[j] < 0 || fabs(a[r->v[j]]) <= 1e10) && (r->play_v[j] < 0 || fabs(a[r->play_v[j]]) <= 1e10);
            if (good) continue;
            world_report(w, (int32_t)i, NM_INCIDENT_STATE, "robot %u (%s) was put back: its acceleration is no number",
                         i, r->body->name);
            put_back(w, i);
            any = true;
        }
        if (any) return;
    }
    world_report(w, -1, NM_INCIDENT_ERROR, "the world came to rest: accelerations are no numbers");
    memset(w->data->qvel, 0, (size_t)w->model->nv * sizeof(double));
    memset(w->data->qacc_warmstart, 0, (size_t)w->model->nv * sizeof(double));
}

static void report_warnings(struct nm_world *w)
{
    static const char *const names[mjNWARNING] = {
        [mjWARN_INERTIA] = "an inertia is nearly singular",
        [mjWARN_CONTACTFULL] = "too many contacts, some are ignored",
        [mjWARN_CNSTRFULL] = "too many constraints, some are ignored",
        [mjWARN_VGEOMFULL] = "too many shapes to draw",
        [mjWARN_BADQPOS] = "a bad position",
        [mjWARN_BADQVEL] = "a bad velocity",
        [mjWARN_BADQACC] = "a bad acceleration",
        [mjWARN_BADCTRL] = "a bad control",
    };
    for (int i = 0; i < mjNWARNING; i++) {
        int n = w->data->warning[i].number;
        /* a crowd that has too many contacts has them for many steps: once is enough */
        if (n && !w->warnings[i]) world_report(w, -1, NM_INCIDENT_WARNING, "MuJoCo: %s", names[i]);
        w->warnings[i] = n;
    }
}

static void attempt(struct nm_world *w)
{
    solve(w);
    if (!all_small(w->data->qacc, w->model->nv, 1e10)) {
        copy_state(w, false);
        heal_acceleration(w);
        world_refresh(w);
        solve(w);
        if (!all_small(w->data->qacc, w->model->nv, 1e10)) {
            memset(w->data->qacc, 0, (size_t)w->model->nv * sizeof(double));
            memset(w->data->qvel, 0, (size_t)w->model->nv * sizeof(double));
        }
    }
    world_read_contacts(w);
    world_follow_pendulum(w);
    mj_Euler(w->model, w->data);
    heal(w);
    world_refresh(w);
}

static void step(struct nm_world *w)
{
    char text[120];
    if (heal(w)) world_refresh(w); /* somebody reached in */
    for (uint32_t i = 0; i < w->n; i++) {
        drive_servos(w, &w->robots[i]);
        draw_power(w, &w->robots[i]);
    }
    brake_ball(w);
    world_apply_pushes(w);
    copy_state(w, true);
    w->now += w->tick;
    if (world_guarded(attempt, w, text) < 0) {
        w->data->pstack = 0;
        copy_state(w, false);
        world_report(w, -1, NM_INCIDENT_ERROR, "MuJoCo gave up on a step, all robots were put back: %.60s", text);
        for (uint32_t i = 0; i < w->n; i++) put_back(w, i);
        world_guarded(world_refresh, w, text);
    }
    report_warnings(w);
    world_sample(w);
}

void nm_world_step(struct nm_world *w, uint32_t steps)
{
    while (steps--) step(w);
}
