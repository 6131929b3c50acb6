#include "learn/walking.h"

#include <string.h>

#include "base/clamp.h"
#include "body/kinematics.h"
#include "sim/scenario.h"

static const double GRAVITY = 9.81;
/* ns; short ones of slow walking, which begins with a robot that stands and may be pushed at once */
static const int64_t EPISODE[2] = {20000000000, 5000000000};
static const double SMOOTH = 0.2;               /* s over which speed is averaged, so that sway is free */
static const double FULL = 0.6, WHOLE = 5;      /* of the pace, and rad/s: full speed, for the growth of commands */
static const double USUAL_HURRY = 2;            /* 1/s, where nobody draws it */
static const double LEANS = 0.2;                /* of the weight: how strongly another body may lean on it */
static const double REVERSES = 0.2;             /* share of the commands that ask for the way back at once */
static const double REDRAWN = 0.1;              /* share of the lives that begin with another body in another world */
static const double LOW = 0.12, SOFT = 0.2;     /* of the leg, and of the pace: here a foot comes down no faster */
static const double STEEP = 0.02, WAVES = 0.03; /* rad, rad/s: slopes of the ground, and how they change as it walks */
static const double CLASHES = 0.003; /* of the leg: parts that are so much deeper in each other than in the stance */
enum { HALF = 8000000 };             /* ns between two readings of the sensors */

/* Commands beside the ways of enum nm_walk_way. */
enum { MIXED = NM_WALK_WAYS, PLACE, ON_THE_SPOT, STAND };
static const double NO_SPEED = 1e-6; /* m/s: the clock runs on */
/* How often each is asked for, summed; who learns to walk slowly steps on the spot half of the time. */
static const double ANY[STAND] = {0.31, 0.42, 0.49, 0.56, 0.71, 0.79, 0.94},
                    SLOW[STAND] = {0.03, 0.05, 0.07, 0.09, 0.42, 0.46, 0.94};

/* The way to a place. */
static const double FARTHEST = 1.5, NEAREST = 0.2, TURNED = 1.6; /* m, m, rad              */
static const double THERE = 0.03, FACES = 0.07;                  /* m, rad: then it stands */

/* Pushes. Who stands has no clock to step by: on the robot another engine stands. */
static const double STANDING = 0.4; /* of their size where it stands */
/* Of all walking, and of slow walking: share of those that lean on the robot; the lowest, of the leg above the base. */
static const double LEANING[2] = {0.2, 0.3}, LOWEST[2] = {0, 0.2}, HIGHEST = 0.5;
static const double TIPPING = 0.15;        /* rad: who learns to walk slowly begins as if he stood and was struck */
static const double SOONEST[2] = {0.5, 0}; /* s after the begin, or after the command to step on the spot */
static const double SURE = 0.1;            /* of the pushes to sides to which it never falls                 */
static const int64_t FALLS = 2000000000;   /* ns: a fall so long after a push is another matter              */

/* Prices of the reward, a period each. */
static const struct {
    double speed, turn, alive, tilt, rate, duty, smooth, jerk, contact, clear, land, slip, flat, apart, clash, pose,
        fall, impact, power, rest;
} PRICE = {.speed = 1.5,
           .turn = 0.8,
           .alive = 0.5,
           .tilt = 2.0,
           .rate = 0.06,
           .duty = 0.5,
           .smooth = 0.02,
           .jerk = 0.008,
           .contact = 0.4,
           .clear = 0.3,
           .land = 2,
           .slip = 0.56,
           .flat = 0.5,
           .apart = 0.3,
           .clash = 4,
           .pose = 0.02,
           .fall = 20,
           .impact = 0.5,
           .power = 0.65,
           .rest = 0.3};

/* ---- making ---- */

static double between(struct nm_dice *d, double a, double b) { return a + (b - a) * nm_dice_roll(d); }

/* Wider than the hard conditions, so that what is learned holds there. */
static void draw_options(struct nm_walking *w, struct nm_world_options *options)
{
    struct nm_dice *d = &w->dice;
    options->random = 1.5;
    options->command_delay = options->sensor_delay = 4000000;
    options->spread.command_delay = options->spread.sensor_delay = 0.011; /* with `random`, 4 to 20 ms each way */
    options->turf = 0.03 * sqrt(nm_dice_roll(d));                         /* fields are turf more often than floor */
    options->friction = between(d, 0.5, 1);
    options->backlash = nm_dice_roll(d) < 0.55; /* costs twice, so not all worlds have it */
    for (int axis = 0; axis < 2; axis++)
        w->slope[axis] = w->next_slope[axis] = options->slope[axis] = STEEP * nm_dice_both(d);
    options->play = between(d, 0.004, 0.022);
}

/* Another world with another body in place of the one that is there, if any; -1 leaves that one. */
static int draw_world(struct nm_walking *w, uint64_t seed, struct nm_err *err)
{
    struct nm_world_options options = NM_WORLD_OPTIONS;
    const struct nm_gait *gait = w->gait;
    if (w->hard)
        nm_conditions("hard", &options);
    else
        draw_options(w, &options);
    options.seed = seed;
    options.bare = true;
    struct nm_world_robot robot = {.body = gait->body, .joints = gait->stance, .rigid = gait->still};
    struct nm_world *world = nm_world_new(w->pitch, &robot, 1, &options, err);
    if (!world) return -1;
    nm_world_free(w->world);
    w->world = world;
    struct nm_world_draw draw;
    nm_world_drawn(w->world, 0, &draw);
    w->friction = draw.ground_friction;
    w->mass = draw.mass / gait->body->mass;
    w->delays[0] = draw.command_delay, w->delays[1] = draw.sensor_delay;
    return 0;
}

static int begin(struct nm_walking *w, const struct nm_gait *gait, const struct nm_pitch *pitch, uint64_t seed,
                 bool hard, struct nm_err *err)
{
    *w = (struct nm_walking){
        .gait = gait, .pitch = pitch, .dice = nm_dice_new(seed, 40, 0), .hurry = USUAL_HURRY, .hard = hard};
    w->standing = nm_standing_height(gait->body, QUAT_IDENTITY, gait->stance);
    return draw_world(w, nm_spread(seed), err);
}

int nm_walking_new(struct nm_walking *w, const struct nm_gait *gait, const struct nm_pitch *pitch, uint64_t seed,
                   struct nm_err *err)
{
    return begin(w, gait, pitch, seed, false, err);
}

int nm_walking_new_hard(struct nm_walking *w, const struct nm_gait *gait, const struct nm_pitch *pitch, uint64_t seed,
                        struct nm_err *err)
{
    return begin(w, gait, pitch, seed, true, err);
}

void nm_walking_free(struct nm_walking *w) { nm_world_free(w->world); }

/* ---- commands and pushes ---- */

static struct pose2 on_ground(const struct nm_walking *w)
{
    struct nm_truth t;
    nm_world_truth(w->world, 0, &t);
    struct pose3 p = t.base_to_field;
    return (struct pose2){p.pos.x, p.pos.y, quat_yaw(p.rot)};
}

/* Drives to a place as module walk_policy does; there it stands. */
static void approach(struct nm_walking *w)
{
    struct pose2 left = pose2_mul(pose2_inv(on_ground(w)), w->place);
    nm_gait_drive(w->gait, left, w->speed, w->limits->most, w->target);
    if (hypot(left.x, left.y) > THERE || fabs(left.theta) > FACES) return;
    w->kind = STAND;
    memset(w->target, 0, sizeof w->target);
}

/* Straight back the way it came: the hardest change of a command. */
static void reverse(struct nm_walking *w)
{
    const double *most = w->limits->most, backs = most[NM_WALK_BACK] / most[NM_WALK_FORWARD];
    w->target[0] *= w->target[0] > 0 ? -backs : -1 / backs;
    w->target[1] = -w->target[1];
    w->target[2] = -w->target[2];
    if (w->kind == NM_WALK_FORWARD || w->kind == NM_WALK_BACK) w->kind = NM_WALK_FORWARD + NM_WALK_BACK - w->kind;
}

static void new_target(struct nm_walking *w)
{
    const double *most = w->limits->most, *until = w->slow ? SLOW : ANY;
    struct nm_dice *d = &w->dice;
    double r = nm_dice_roll(d), side = nm_dice_roll(d) < 0.5 ? -1 : 1;
    double part = nm_dice_roll(d) < 0.5 ? 1 : sqrt(nm_dice_roll(d)); /* often the most it can */
    for (w->kind = 0; w->kind < STAND && r >= until[w->kind];) w->kind++;
    double *to = w->target;
    memset(w->target, 0, sizeof w->target);
    switch (w->kind) {
    case NM_WALK_FORWARD: to[0] = part * most[NM_WALK_FORWARD]; break;
    case NM_WALK_BACK: to[0] = -part * most[NM_WALK_BACK]; break;
    case NM_WALK_SIDE: to[1] = part * side * most[NM_WALK_SIDE]; break;
    case NM_WALK_TURN: to[2] = part * side * most[NM_WALK_TURN]; break;
    case PLACE: {
        double far = between(d, NEAREST, FARTHEST), to_there = M_PI * nm_dice_both(d), turn = TURNED * nm_dice_both(d);
        w->place = pose2_mul(on_ground(w), (struct pose2){far * cos(to_there), far * sin(to_there), turn});
        break;
    }
    case ON_THE_SPOT: /* here it is struck, and soon */
        to[0] = NO_SPEED;
        w->blow.at = nm_world_now(w->world) + (int64_t)(between(d, SOONEST[w->slow], 2) * 1e9);
        break;
    case MIXED: { /* anywhere in the ellipsoid */
        double u[3] = {nm_dice_gauss(d), nm_dice_gauss(d), nm_dice_gauss(d)};
        double n = fmax(sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]), 1e-6), s = cbrt(nm_dice_roll(d)) / n;
        if (w->slow) s *= NM_WALKING_SLOW;
        to[0] = s * u[0] * most[u[0] > 0 ? NM_WALK_FORWARD : NM_WALK_BACK];
        to[1] = s * u[1] * most[NM_WALK_SIDE];
        to[2] = s * u[2] * most[NM_WALK_TURN];
    }
    }
}

static void new_command(struct nm_walking *w)
{
    if (w->kind <= MIXED && nm_dice_roll(&w->dice) < REVERSES)
        reverse(w);
    else
        new_target(w);
    for (int axis = 0; axis < 2; axis++) w->next_slope[axis] = STEEP * nm_dice_both(&w->dice);
    w->hurry = between(&w->dice, 1, 4);
    w->command_until = nm_world_now(w->world) + (int64_t)(between(&w->dice, 0.8, 5) * 1e9);
}

static void follow_target(struct nm_walking *w)
{
    bool there = true;
    if (w->kind == PLACE) approach(w);
    for (int i = 0; i < 3; i++) there &= w->command[i] == w->target[i];
    for (int i = 0; i < 3; i++)
        w->command[i] = nm_gait_follow(w->command[i], w->target[i],
                                       (i < 2 ? FULL * w->gait->pace : WHOLE) * w->hurry * NM_GAIT_PERIOD);
    if (!there) w->command_since = nm_world_now(w->world);
}

/* No field is a plane: who walks on comes to ground that rises otherwise. */
static void roll_ground(struct nm_walking *w)
{
    for (int axis = 0; axis < 2; axis++)
        w->slope[axis] += nm_within(w->next_slope[axis] - w->slope[axis], WAVES * NM_GAIT_PERIOD);
    nm_world_slope(w->world, w->slope);
}

/* How near the command is to the most that is asked, 0 to 1. */
static double effort(const struct nm_walking *w)
{
    const double *most = w->limits->most, *c = w->command;
    return fmin(fmax(fabs(c[0]) / most[c[0] > 0 ? NM_WALK_FORWARD : NM_WALK_BACK],
                     fmax(fabs(c[1]) / most[NM_WALK_SIDE], fabs(c[2]) / most[NM_WALK_TURN])),
                1);
}

/* Where robots fall they are pushed more often: to the sides at first, because a leg cannot cross the other one. */
static double draw_direction(struct nm_walking *w)
{
    const double *tips = w->limits->tips;
    double sum = 0;
    int side = 0;
    for (int k = 0; k < NM_WALKING_SIDES; k++) sum += SURE + tips[k];
    for (sum *= nm_dice_roll(&w->dice); side < NM_WALKING_SIDES - 1 && sum > SURE + tips[side]; side++)
        sum -= SURE + tips[side];
    return copysign(M_PI / NM_WALKING_SIDES * (side + nm_dice_roll(&w->dice)), nm_dice_both(&w->dice));
}

static int side_of(double direction)
{
    return (int)nm_clamp(fabs(direction) * NM_WALKING_SIDES / M_PI, 0, NM_WALKING_SIDES - 1);
}

/* The next push, as far as it is drawn by lot; the rest depends on what the robot then does. */
static void draw_push(struct nm_walking *w, double soonest, double latest)
{
    struct nm_dice *d = &w->dice;
    struct nm_blow *b = &w->blow;
    b->part = nm_dice_roll(d);
    b->direction = draw_direction(w);
    b->leans = nm_dice_roll(d) < LEANING[w->slow];
    b->seconds = b->leans ? between(d, 0.3, 1) : between(d, 0.02, 0.15);
    b->height = between(d, LOWEST[w->slow], HIGHEST) * w->gait->leg;
    b->at = nm_world_now(w->world) + (int64_t)(between(d, soonest, latest) * 1e9);
}

/* N s, if it came now. */
static double push_size(const struct nm_walking *w)
{
    const struct nm_blow *b = &w->blow;
    double size = w->limits->push * (1 - 0.55 * effort(w)) * sqrt(b->part);
    if (w->kind == STAND) size *= STANDING;
    if (w->kind == ON_THE_SPOT) size = w->limits->push * (0.5 + 0.5 * b->part);
    double weight = w->gait->body->mass * GRAVITY, hardest = NM_WALKING_PUSH * w->gait->body->mass * w->gait->pace;
    return b->leans ? size * LEANS * weight * b->seconds / hardest : size;
}

static void push(struct nm_walking *w)
{
    struct nm_blow *b = &w->blow;
    double to = on_ground(w).theta + b->direction, size = push_size(w);
    struct vec3 impulse = {size * cos(to), size * sin(to), 0};
    nm_world_push(w->world, 0, impulse, (struct vec3){0, 0, b->height}, (int64_t)(b->seconds * 1e9));
    w->force_now = vec3_scale(impulse, 1 / b->seconds);
    w->force_until = nm_world_now(w->world) + (int64_t)(b->seconds * 1e9);
    w->struck = side_of(b->direction);
    w->struck_at = nm_world_now(w->world);
    draw_push(w, 2, 6);
}

/* ---- sensors ---- */

static struct quat imu_to_torso(const struct nm_body *body)
{
    return body->imu < 0 ? QUAT_IDENTITY : body->frames[body->imu].to_link.rot;
}

static void read_sensors(struct nm_walking *w)
{
    static const struct nm_tilt_params params = NM_TILT_PARAMS;
    nm_world_sense(w->world, 0, &w->sense);
    nm_tilt_step(&w->tilt, &params, w->sense.gyro, w->sense.accel, 1e-9 * HALF);
}

static void give_goals(struct nm_walking *w, const double *q)
{
    struct nm_joint_goal goals[NM_JOINTS];
    for (uint32_t j = 0; j < w->gait->body->n_joints; j++)
        goals[j] = (struct nm_joint_goal){.position = q[j],
                                          .p = w->gait->stiffness[j] * nm_servo_model_of(w->gait->body, j).p,
                                          .torque_limit = 1,
                                          .on = true};
    nm_world_goals(w->world, 0, goals);
}

static void look_at_soles(struct nm_walking *w, const struct nm_truth *t, struct nm_kin *kin)
{
    const struct nm_body *body = w->gait->body;
    nm_forward(body, t->base_to_field, t->q, kin);
    for (int side = 0; side < 2; side++) w->sole[side] = kin->pose[body->foot[side].sole].pos;
}

void nm_walking_reset(struct nm_walking *w)
{
    const double shake = 0.04, tilt = w->slow ? TIPPING : shake;
    const struct nm_body *body = w->gait->body;
    struct nm_dice *d = &w->dice;
    double q[NM_JOINTS];
    if (w->limits && nm_dice_roll(d) < REDRAWN) draw_world(w, nm_dice_bits(d), NULL);
    for (uint32_t j = 0; j < body->n_joints; j++)
        q[j] = nm_clamp(w->gait->stance[j] + shake * nm_dice_both(d), body->joints[j].lower, body->joints[j].upper);
    nm_apply_mimics(body, q);
    struct quat rot = quat_rpy(tilt * nm_dice_both(d), tilt * nm_dice_both(d), 0);
    nm_world_put(w->world, 0, (struct pose3){rot, {0, 0, nm_standing_height(body, rot, q)}}, q);
    if (!w->hard) nm_world_charge(w->world, 0, between(d, 0.2, 1));
    /* what is still on its way to the motors, and in the sensors, belongs to the life before */
    nm_tilt_start(&w->tilt);
    for (int i = 0; i < 6; i++) {
        give_goals(w, q);
        nm_world_step(w->world, (uint32_t)(HALF / nm_world_tick(w->world)));
        read_sensors(w);
        if (i == 2) nm_world_put(w->world, 0, (struct pose3){rot, {0, 0, nm_standing_height(body, rot, q)}}, q);
        if (i == 3) nm_tilt_start(&w->tilt);
    }
    nm_gait_start(w->gait, &w->state, nm_dice_roll(d));
    memset(w->before, 0, sizeof w->before);
    memset(w->speed, 0, sizeof w->speed);
    w->velocity = (struct vec3){0, 0, 0};
    w->force[0] = w->force[1] = w->hit = w->watts = 0;
    w->force_until = 0;
    w->struck = -1;
    struct nm_truth t;
    struct nm_kin kin;
    nm_world_truth(w->world, 0, &t);
    look_at_soles(w, &t, &kin);
    w->overlap = nm_world_overlap(w->world, 0);
    w->height = t.base_to_field.pos.z;
    w->begun = w->command_since = nm_world_now(w->world);
    memset(w->command, 0, sizeof w->command);
    memset(w->target, 0, sizeof w->target);
    w->kind = STAND;
    if (!w->limits) return;
    draw_push(w, SOONEST[w->slow], 6);
    new_command(w);
}

static double strict(const struct nm_walking *w) { return w->limits ? w->limits->strict : 1; }

/* How well the robot does what is asked: from 1 down to 0, and what is missing as shares of pace and of 1 rad/s. */
struct following {
    double speed, turn, missing, missing_turn;
};

static struct following follows(const struct nm_walking *w)
{
    double pace = w->gait->pace, fast = hypot(w->command[0], w->command[1]) / (FULL * pace);
    double sharp = 0.0085 * pace * pace * (1 + 2 * fast * fast); /* who is asked to be fast may miss by more */
    double missing = hypot(w->command[0] - w->speed[0], w->command[1] - w->speed[1]),
           turn = w->command[2] - w->speed[2];
    return (struct following){exp(-missing * missing / sharp), exp(-turn * turn / 0.35), missing / pace, fabs(turn)};
}

/* How near something is that happens in `until`: 0 a second before and earlier, 1 when it happens. */
static double nears(const struct nm_walking *w, int64_t until)
{
    return w->limits ? nm_clamp(1 - 1e-9 * (double)(until - nm_world_now(w->world)), 0, 1) : 0;
}

/* Pushes, and those that come, seen from the robot. */
static void tell_pushes(const struct nm_walking *w, double to[6])
{
    const struct nm_body *body = w->gait->body;
    double push = nears(w, w->blow.at), size = push > 0 ? push * push_size(w) / (0.1 * body->mass * w->gait->pace) : 0;
    int64_t left = w->force_until - nm_world_now(w->world);
    struct vec3 now = {0};
    if (left > 0) now = quat_apply(quat_rpy(0, 0, -on_ground(w).theta), w->force_now);
    to[0] = push;
    to[1] = size * cos(w->blow.direction);
    to[2] = size * sin(w->blow.direction);
    to[3] = 5 * now.x / (body->mass * GRAVITY);
    to[4] = 5 * now.y / (body->mass * GRAVITY);
    to[5] = left > 0 ? 1e-9 * (double)left : 0;
}

/* The critic is told how well commands are followed. If it had to find out by itself, it would first take for good what
 * helps with most of them, speed ahead, and the policy would learn to do that whatever it is asked. It is also told
 * what is about to happen: it would blame the last actions for a push that nobody can foresee. */
void nm_walking_observe(struct nm_walking *w, float obs[NM_GAIT_OBS], float extra[NM_WALKING_EXTRA])
{
    const struct nm_gait *g = w->gait;
    struct quat turn = imu_to_torso(g->body), torso_to_world = quat_mul(nm_tilt_orientation(&w->tilt), quat_inv(turn));
    struct vec3 up = quat_apply(quat_inv(torso_to_world), (struct vec3){0, 0, 1});
    double q[NM_JOINTS], weight = g->body->mass * GRAVITY;
    for (uint32_t j = 0; j < g->body->n_joints; j++) q[j] = w->sense.joints[j].position;
    nm_gait_observe(g, &w->state, quat_apply(turn, w->sense.gyro), up, q, w->command, obs);
    if (!extra) return;
    const struct nm_power *power = nm_world_power(w->world, 0);
    double since = 1e-9 * (double)(nm_world_now(w->world) - w->command_since);
    struct following f = follows(w);
    double blows[6];
    tell_pushes(w, blows);
    const double all[NM_WALKING_EXTRA] = {2 * w->velocity.x,
                                          2 * w->velocity.y,
                                          w->velocity.z,
                                          2 * w->speed[0],
                                          2 * w->speed[1],
                                          0.5 * w->speed[2],
                                          10 * (w->height / w->standing - 1),
                                          w->force[0] / weight,
                                          w->force[1] / weight,
                                          5 * w->sole[0].z / g->leg,
                                          5 * w->sole[1].z / g->leg,
                                          w->hit / weight,
                                          w->friction,
                                          w->mass,
                                          g->body->voltage > 0 ? power->voltage / g->body->voltage : 1,
                                          1e-8 * (double)w->delays[0],
                                          1e-8 * (double)w->delays[1],
                                          w->watts / (weight * g->pace),
                                          fmin(since, 1),
                                          f.speed,
                                          f.turn,
                                          4 * f.missing,
                                          f.missing_turn,
                                          strict(w),
                                          blows[0],
                                          blows[1],
                                          blows[2],
                                          blows[3],
                                          blows[4],
                                          blows[5],
                                          nears(w, w->command_until)};
    for (int i = 0; i < NM_WALKING_EXTRA; i++) extra[i] = (float)nm_within(all[i], 20);
}

/* ---- one period ---- */

static double squares(const float *a, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (double)a[i] * (double)a[i];
    return sum;
}

struct period { /* means over its steps, unless said */
    double duty, rate, deepest;
    bool touched[2]; /* at its begin */
    struct nm_truth from, to;
    struct nm_kin kin; /* at its end */
    struct vec3 slide[2];
};

static bool touches(const struct nm_walking *w, int side)
{
    return w->force[side] > 0.06 * w->gait->body->mass * GRAVITY;
}

static void run_world(struct nm_walking *w, struct period *p)
{
    uint32_t n = (uint32_t)(2 * HALF / nm_world_tick(w->world));
    const struct nm_gait *g = w->gait;
    nm_world_truth(w->world, 0, &p->from);
    for (int side = 0; side < 2; side++) p->touched[side] = touches(w, side);
    w->force[0] = w->force[1] = w->hit = w->watts = 0;
    for (uint32_t i = 0; i < n; i++) {
        nm_world_step(w->world, 1);
        nm_world_truth(w->world, 0, &p->to);
        const struct nm_servo_state *motors = nm_world_motors(w->world, 0);
        const struct nm_power *power = nm_world_power(w->world, 0);
        for (uint32_t l = 0; l < NM_GAIT_LEGS; l++)
            p->duty += motors[g->joints[l]].duty * motors[g->joints[l]].duty / (NM_GAIT_LEGS * n);
        struct vec3 turning = quat_apply(quat_inv(p->to.base_to_field.rot), p->to.angular_velocity);
        p->rate += (turning.x * turning.x + turning.y * turning.y) / n;
        p->deepest = fmax(p->deepest, nm_world_overlap(w->world, 0));
        w->watts += fmax(power->current * power->voltage - g->body->battery.electronics, 0) / n;
        for (int side = 0; side < 2; side++) {
            w->force[side] += p->to.foot_force[side] / n;
            w->hit = fmax(w->hit, p->to.foot_force[side]);
        }
        if ((i + 1) % (n / 2) == 0) read_sensors(w);
    }
    struct vec3 before[2] = {w->sole[0], w->sole[1]};
    look_at_soles(w, &p->to, &p->kin);
    for (int side = 0; side < 2; side++)
        p->slide[side] = vec3_scale(vec3_sub(w->sole[side], before[side]), 1 / NM_GAIT_PERIOD);
}

static void measure_speed(struct nm_walking *w, const struct period *p)
{
    double yaw = quat_yaw(p->to.base_to_field.rot), keep = exp(-NM_GAIT_PERIOD / SMOOTH);
    struct vec3 moved = vec3_scale(vec3_sub(p->to.base_to_field.pos, p->from.base_to_field.pos), 1 / NM_GAIT_PERIOD);
    w->velocity = quat_apply(quat_rpy(0, 0, -yaw), moved);
    const double now[3] = {w->velocity.x, w->velocity.y, p->to.angular_velocity.z};
    for (int i = 0; i < 3; i++) w->speed[i] = keep * w->speed[i] + (1 - keep) * now[i];
    w->height = p->to.base_to_field.pos.z;
}

/* How well feet keep to the clock, how high they swing, how softly they come down, how they stand. The force of a
 * footfall has a price of its own, but it comes too late and too seldom to learn from it how to land. */
static double price_feet(const struct nm_walking *w, const struct period *p)
{
    const struct nm_gait *g = w->gait;
    double sum = 0, clock = nm_gait_swing(&w->state), high = 0.078 * g->leg;
    for (int side = 0; side < 2; side++) {
        double swing = side == NM_LEFT ? clock : -clock;
        bool down = touches(w, side);
        double falls = fmax(0, -p->slide[side].z / g->pace - SOFT);
        if (w->state.stands)
            sum += down ? 0.5 * PRICE.contact : -0.5 * PRICE.contact;
        else if (fabs(swing) > 0.25)
            sum += (swing > 0) != down ? 0.5 * PRICE.contact : -0.5 * PRICE.contact;
        if (swing > 0.3) sum -= PRICE.clear * fmax(0, high * swing - w->sole[side].z) / high;
        if (!p->touched[side] && w->sole[side].z < LOW * g->leg)
            sum -= strict(w) * PRICE.land * fmin(falls * falls, 0.5);
        if (down) sum -= strict(w) * PRICE.slip * fmin(hypot(p->slide[side].x, p->slide[side].y), 1.5) / g->pace;
        struct vec3 up = quat_apply(p->kin.pose[g->body->foot[side].sole].rot, (struct vec3){0, 0, 1});
        sum -= PRICE.flat * fmin(1 - up.z, 0.5);
    }
    double yaw = quat_yaw(p->to.base_to_field.rot);
    struct vec3 between_feet = quat_apply(quat_rpy(0, 0, -yaw), vec3_sub(w->sole[NM_LEFT], w->sole[NM_RIGHT]));
    double missing = fmax(0, 0.8 * g->apart - between_feet.y) / (0.3 * g->apart);
    return sum - PRICE.apart * fmin(missing, 2) -
           strict(w) * PRICE.clash * (p->deepest > w->overlap + CLASHES * g->leg);
}

/* How the actions change, and how far they are from the stance. */
static double price_actions(const struct nm_walking *w)
{
    const float *a = w->state.act;
    float change[NM_GAIT_ACTS], jerk[NM_GAIT_ACTS];
    for (int i = 0; i < NM_GAIT_ACTS; i++) {
        change[i] = a[i] - w->before[0][i];
        jerk[i] = a[i] - 2 * w->before[0][i] + w->before[1][i];
    }
    double yaws = (double)(a[0] * a[0] + a[6] * a[6]) / (1 + fabs(w->command[2]));
    double more = w->state.stands ? 3 : 1; /* who stands need not move */
    return -strict(w) * more *
               (PRICE.smooth * squares(change, NM_GAIT_ACTS) + PRICE.jerk * squares(jerk, NM_GAIT_ACTS)) -
           PRICE.pose * (0.3 * squares(a + NM_GAIT_LEGS, 3) + 0.1 * squares(a, NM_GAIT_LEGS) + 0.5 * yaws);
}

static double reward_of(const struct nm_walking *w, const struct period *p)
{
    const struct nm_gait *g = w->gait;
    double weight = g->body->mass * GRAVITY;
    struct following f = follows(w);
    struct vec3 up = quat_apply(quat_inv(p->to.base_to_field.rot), (struct vec3){0, 0, 1});
    double r = PRICE.speed * (f.speed - 0.94 * f.missing) + PRICE.turn * (f.turn - 0.15 * f.missing_turn) + PRICE.alive;
    double hard = fmax(0, w->hit / weight - 2.2); /* a footfall beyond so many of its weights */
    r -= PRICE.tilt * (up.x * up.x + up.y * up.y);
    r -= strict(w) *
         (PRICE.rate * fmin(p->rate, 30) + PRICE.duty * p->duty + PRICE.impact * fmin(hard + 0.5 * hard * hard, 25) +
          PRICE.power * fmin(w->watts / (weight * g->pace), 5));
    double moves = 0; /* of the joints, rad/s, where it is to stand */
    for (uint32_t l = 0; w->state.stands && l < NM_GAIT_LEGS; l++) moves += fabs(p->to.qd[g->joints[l]]) / NM_GAIT_LEGS;
    return r + price_feet(w, p) + price_actions(w) - strict(w) * PRICE.rest * fmin(moves, 3);
}

/* Whether the most was asked in one direction for long enough, and what share of it came. */
static void judge(const struct nm_walking *w, struct nm_walked *to)
{
    static const int axis[NM_WALK_WAYS] = {0, 0, 1, 2};
    bool settled = nm_world_now(w->world) - w->command_since > 1200000000;
    to->way = -1;
    if (!w->limits || !settled || w->kind >= NM_WALK_WAYS) return;
    double asked = w->command[axis[w->kind]], most = w->limits->most[w->kind];
    if (fabs(asked) < 0.95 * most) return;
    to->way = w->kind;
    to->share = w->speed[axis[w->kind]] / asked;
}

void nm_walking_step(struct nm_walking *w, const float act[NM_GAIT_ACTS], struct nm_walked *to)
{
    struct period p = {0};
    double q[NM_JOINTS];
    uint32_t put_back = nm_world_put_back(w->world, 0);
    memcpy(w->before[1], w->before[0], sizeof w->before[0]);
    memcpy(w->before[0], w->state.act, sizeof w->before[0]);
    nm_gait_act(w->gait, &w->state, act, w->command, q);
    give_goals(w, q);
    run_world(w, &p);
    measure_speed(w, &p);
    *to = (struct nm_walked){.way = -1, .pushed = -1, .tipped = -1};
    struct vec3 up = quat_apply(quat_inv(p.to.base_to_field.rot), (struct vec3){0, 0, 1});
    double r = reward_of(w, &p);
    to->fell =
        w->height < 0.6 * w->standing || up.z < 0.6 || nm_world_put_back(w->world, 0) != put_back || !isfinite(r);
    if (to->fell) r = (isfinite(r) ? r : 0) - PRICE.fall;
    if (to->fell && nm_world_now(w->world) - w->struck_at < FALLS) to->tipped = w->struck;
    to->reward = (float)(0.05 * r);
    to->over = !to->fell && nm_world_now(w->world) - w->begun > EPISODE[w->slow];
    judge(w, to);
    if (w->limits && nm_world_now(w->world) >= w->command_until) new_command(w);
    if (w->limits && nm_world_now(w->world) >= w->blow.at) {
        push(w);
        to->pushed = w->struck;
    }
    if (w->limits) roll_ground(w);
    follow_target(w);
}
