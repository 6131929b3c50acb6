/* The time line of a scenario, as it happens. What a range leaves open is drawn by a stream of each event's own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "body/state.h"
#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/Kick.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "sim/scenario_parts.h"

static const double FAR_AWAY = 6; /* m, the target of a kick that has but a direction: with full strength */
static const int64_t KEEP_DRIVING = 100000000; /* ns between two words of a driver; walks stop after half a second */

double draw(struct nm_dice *dice, struct nm_range range)
{
    double share = nm_dice_roll(dice); /* drawn in any case: a range that becomes a number shifts nothing */
    return range.low + (range.high - range.low) * share;
}

static struct vec3 draw_point(struct nm_dice *dice, const struct nm_somewhere *at)
{
    double x = draw(dice, at->x), y = draw(dice, at->y), z = draw(dice, at->z);
    return (struct vec3){x, y, z};
}

struct moment { /* one event, now, to one robot (or to none) */
    struct nm_run *run;
    const struct nm_event *event;
    struct nm_dice *dice;
    uint32_t robot;
    uint32_t part;
};

static double yaw_of(const struct nm_run *run, uint32_t robot)
{
    struct nm_whereabouts w;
    nm_stage_whereabouts(run->stage, robot, &w);
    return quat_yaw(w.base_to_field.rot);
}

static int64_t lasts(const struct nm_event *event)
{
    return isfinite(event->duration) ? nm_ns(event->duration) : INT64_MAX;
}

/* Another stream than the event's own, so that it shifts nothing. */
static double side_of(const struct moment *m)
{
    struct nm_dice coin = nm_dice_new(m->run->options.seed, 104, m->event->node->line);
    return m->event->either && nm_dice_roll(&coin) < 0.5 ? -1 : 1;
}

static struct pose3 footprint(const struct nm_run *run, uint32_t robot)
{
    struct nm_truth truth;
    struct nm_kin kin;
    const struct nm_body *body = nm_stage_body(run->stage, robot);
    nm_world_truth(nm_stage_world(run->stage), robot, &truth);
    nm_forward(body, truth.base_to_field, truth.q, &kin);
    return nm_ground_pose(nm_robot_to_odom(body, &kin));
}

struct pose2 ground_pose(const struct nm_run *run, uint32_t robot)
{
    struct pose3 p = nm_stage_world(run->stage) ? footprint(run, robot) : run->trails[robot].where.base_to_field;
    return (struct pose2){p.pos.x, p.pos.y, quat_yaw(p.rot)};
}

/* ---- what can happen ---- */

static int push(const struct moment *m, struct nm_err *err)
{
    double size = draw(m->dice, m->event->size);
    double direction = yaw_of(m->run, m->robot) + side_of(m) * draw(m->dice, m->event->direction);
    struct vec3 impulse = {size * cos(direction), size * sin(direction), 0};
    struct vec3 point = draw_point(m->dice, &m->event->point);
    (void)err;
    if (!m->event->has_point) point = nm_stage_body(m->run->stage, m->robot)->inertia[0].com;
    nm_stage_push(m->run->stage, m->robot, impulse, point, lasts(m->event));
    trail_struck(m->run, m->robot);
    return 0;
}

static int pendulum(const struct moment *m, struct nm_err *err)
{
    double distance = draw(m->dice, m->event->size);
    double from = yaw_of(m->run, m->robot) + side_of(m) * draw(m->dice, m->event->direction);
    struct nm_world *world = nm_stage_world(m->run->stage);
    if (world && nm_world_pendulum(world, m->robot, from, distance)) return 0;
    return nm_fail(err, "there is no pendulum");
}

static int place(const struct moment *m, struct nm_err *err)
{
    const struct nm_somewhere *at = &m->event->place;
    double x = draw(m->dice, at->x), y = draw(m->dice, at->y), theta = draw(m->dice, at->theta);
    (void)err;
    nm_stage_place(m->run->stage, m->robot, (struct pose2){x, y, theta}, m->event->posture);
    trail_moved(m->run, m->robot);
    return 0;
}

static int put_ball(const struct moment *m, struct nm_err *err)
{
    struct vec3 at = draw_point(m->dice, &m->event->place), velocity = draw_point(m->dice, &m->event->velocity);
    if (m->event->of < NM_PLAYERS && !nm_stage_world(m->run->stage)) return nm_fail(err, "a flat robot has no feet");
    if (m->event->from_kick_place) {
        const struct listener *l = &m->run->listeners[m->event->of];
        if (!l->place_known) return nm_fail(err, "the robot has not said where it kicks best");
        at = vec3_add(at, l->kick_place);
    }
    if (m->event->of < NM_PLAYERS) {
        struct pose3 robot = footprint(m->run, m->event->of);
        at = pose_apply(robot, at);
        velocity = quat_apply(robot.rot, velocity);
    }
    nm_stage_put_ball(m->run->stage, at, velocity);
    m->run->ball_start = at;
    return 0;
}

static int shoot(const struct moment *m, struct nm_err *err)
{
    struct vec3 from = draw_point(m->dice, &m->event->from), to = draw_point(m->dice, &m->event->place);
    double speed = draw(m->dice, m->event->size);
    struct vec3 ball = nm_stage_ball(m->run->stage, NULL);
    if (!m->event->has_from) from = ball;
    if (m->event->target < NM_PLAYERS) {
        struct nm_whereabouts w;
        nm_stage_whereabouts(m->run->stage, m->event->target, &w);
        to = w.base_to_field.pos;
    }
    struct vec3 way = {to.x - from.x, to.y - from.y, 0};
    double length = vec3_norm(way);
    if (!(length > 0)) return nm_fail(err, "the ball lies where it is shot to");
    nm_stage_put_ball(m->run->stage, from, vec3_scale(way, speed / length));
    m->run->ball_start = from;
    return 0;
}

static int fault(const struct moment *m, struct nm_err *err)
{
    (void)err;
    nm_stage_fault(m->run->stage, m->robot, m->event->fault, m->part, lasts(m->event));
    return 0;
}

static int set(const struct moment *m, struct nm_err *err)
{
    return nm_stage_set(m->run->stage, m->robot, m->event->part, err);
}

static int say(const struct moment *m, struct nm_err *err)
{
    return nm_stage_say(m->run->stage, m->robot, m->event->part, m->event->message, err);
}

static int power(const struct moment *m, struct nm_err *err)
{
    (void)err;
    nm_stage_power(m->run->stage, m->robot, m->event->on);
    return 0;
}

static int press(const struct moment *m, struct nm_err *err)
{
    (void)err;
    nm_stage_press(m->run->stage, m->robot, m->event->index, lasts(m->event));
    return 0;
}

static int drive(const struct moment *m, struct nm_err *err)
{
    const struct nm_somewhere *v = &m->event->velocity;
    struct drive *d = &m->run->drives[m->robot];
    double x = draw(m->dice, v->x), y = draw(m->dice, v->y), turn = draw(m->dice, v->theta);
    bool rests = nm_dice_roll(m->dice) < m->event->rest;
    int64_t now = nm_stage_now(m->run->stage), most = lasts(m->event);
    (void)err;
    *d = (struct drive){.on = true, .next = now, .until = most < INT64_MAX - now ? now + most : INT64_MAX};
    if (!rests) d->x = x, d->y = y, d->turn = turn;
    return 0;
}

/* A pose as whoever plans the robot's way would ask for it, in base_footprint; a drive ends with it. */
static int target(const struct moment *m, struct nm_err *err)
{
    double distance = draw(m->dice, m->event->size), direction = draw(m->dice, m->event->direction);
    struct pose2 to = {distance * cos(direction), distance * sin(direction), draw(m->dice, m->event->place.theta)};
    WalkCommand command = {.mode = WalkCommand_TARGET, .target = {to.x, to.y, to.theta}};
    m->run->targets[m->robot] = pose2_mul(ground_pose(m->run, m->robot), to);
    m->run->drives[m->robot].on = false;
    return nm_stage_put(m->run->stage, m->robot, m->event->part, &WalkCommand_type, &command, err);
}

static int kick(const struct moment *m, struct nm_err *err)
{
    struct vec3 to = draw_point(m->dice, &m->event->place), ball = nm_stage_ball(m->run->stage, NULL);
    struct pose3 robot_to_field = footprint(m->run, m->robot), field_to_robot = pose_inv(robot_to_field);
    Kick_SendGoal_Request request = {0};
    if (m->event->aimed) {
        double direction = quat_yaw(robot_to_field.rot) + draw(m->dice, m->event->direction);
        to = vec3_add(ball, (struct vec3){FAR_AWAY * cos(direction), FAR_AWAY * sin(direction), 0});
    }
    m->run->kick_direction = atan2(to.y - ball.y, to.x - ball.x);
    m->run->kicker = m->robot;
    m->run->listeners[m->robot].swings = false;
    ball = pose_apply(field_to_robot, ball);
    if (m->event->seen && !m->run->listeners[m->robot].ball_known) return nm_fail(err, "the robot sees no ball");
    if (m->event->seen) ball = m->run->listeners[m->robot].ball;
    to = pose_apply(field_to_robot, to);
    request.goal.ball_pos = (Vector3){ball.x, ball.y, 0};
    request.goal.target = (Vector3){to.x, to.y, 0};
    return nm_stage_put(m->run->stage, m->robot, m->event->part, &Kick_SendGoal_Request_type, &request, err);
}

static int (*const deeds[NM_EVENTS])(const struct moment *, struct nm_err *) = {
    [NM_EVENT_PUSH] = push,     [NM_EVENT_PENDULUM] = pendulum, [NM_EVENT_PLACE] = place, [NM_EVENT_BALL] = put_ball,
    [NM_EVENT_SHOOT] = shoot,   [NM_EVENT_FAULT] = fault,       [NM_EVENT_SET] = set,     [NM_EVENT_SAY] = say,
    [NM_EVENT_POWER] = power,   [NM_EVENT_PRESS] = press,       [NM_EVENT_DRIVE] = drive, [NM_EVENT_KICK] = kick,
    [NM_EVENT_TARGET] = target,
};

/* ---- before it begins ---- */

/* What a robot's body or brain does not have is told now, with its line, not when it is too late. */
static int check_event(struct nm_run *run, const struct nm_event *event, uint32_t robot, uint32_t *part,
                       struct nm_err *err)
{
    const struct nm_body *body = nm_stage_body(run->stage, robot);
    struct nm_err why = {0};
    int bad = 0;
    *part = event->index;
    if (event->kind == NM_EVENT_FAULT && event->part) {
        int32_t joint = nm_find_joint(body, event->part);
        const char *names[NM_JOINTS];
        for (uint32_t j = 0; j < body->n_joints; j++) names[j] = body->joints[j].name;
        if (joint < 0)
            bad = nm_fail(&why, "robot %s has no joint '%.60s'%s", run->scenario->robots[robot].name, event->part,
                          nm_hint(event->part, names, body->n_joints).text);
        *part = (uint32_t)joint;
    }
    if (event->kind == NM_EVENT_SET) bad = nm_stage_check_set(run->stage, robot, event->part, &why);
    if (event->kind == NM_EVENT_SAY) bad = nm_stage_check_say(run->stage, robot, event->part, event->message, &why);
    if (event->kind == NM_EVENT_DRIVE) bad = nm_stage_put(run->stage, robot, event->part, &Twist_type, NULL, &why);
    if (event->kind == NM_EVENT_TARGET)
        bad = nm_stage_put(run->stage, robot, event->part, &WalkCommand_type, NULL, &why);
    if (event->kind == NM_EVENT_KICK)
        bad = nm_stage_put(run->stage, robot, event->part, &Kick_SendGoal_Request_type, NULL, &why);
    if (!nm_stage_world(run->stage) && event->kind == NM_EVENT_KICK)
        bad = nm_fail(&why, "on a flat world nobody kicks");
    if (!nm_stage_world(run->stage) && event->kind == NM_EVENT_PENDULUM)
        bad = nm_fail(&why, "a flat world has no pendulum");
    size_t file = strlen(event->node->file);
    for (char *line = why.text, *end; (end = strchr(line, '\n')); line = end + 1)
        if (!strncmp(line, event->node->file, file)) /* a message's own sentences have their place already */
            nm_fail(err, "%.*s", (int)(end - line), line);
        else
            nm_yaml_fail(event->node, err, "%.*s", (int)(end - line), line);
    return bad;
}

int events_prepare(struct nm_run *run, struct nm_err *err)
{
    const struct nm_scenario *s = run->scenario;
    int bad = 0;
    run->dice = nm_take_n(&run->arena, struct nm_dice, s->n_events + 1);
    run->clocks = nm_take_n(&run->arena, struct nm_dice, s->n_events + 1);
    run->due = nm_take_n(&run->arena, int64_t, s->n_events + 1);
    run->done = nm_take_n(&run->arena, uint32_t, s->n_events + 1);
    run->parts = nm_take_n(&run->arena, uint32_t, NM_PLAYERS * (s->n_events + 1));
    for (uint32_t i = 0; i < s->n_events; i++) {
        run->dice[i] = nm_dice_new(run->options.seed, 100, i);
        run->clocks[i] = nm_dice_new(run->options.seed, 103, i);
        run->due[i] = nm_ns(draw(&run->dice[i], s->events[i].at));
        for (uint32_t k = 0; k < s->n_robots; k++)
            if (s->events[i].robots >> k & 1)
                bad |= check_event(run, &s->events[i], k, &run->parts[NM_PLAYERS * i + k], err);
    }
    return bad;
}

/* ---- now ---- */

static void happen(struct nm_run *run, uint32_t i)
{
    const struct nm_event *event = &run->scenario->events[i];
    bool alone = event->kind == NM_EVENT_BALL || event->kind == NM_EVENT_SHOOT;
    struct nm_err err = {0};
    int bad = 0;
    for (uint32_t k = 0; k < (alone ? 1 : run->scenario->n_robots); k++) {
        struct moment m = {run, event, &run->dice[i], k, run->parts[NM_PLAYERS * i + k]};
        if (alone || event->robots >> k & 1) bad |= deeds[event->kind](&m, &err);
    }
    if (!bad) return;
    if (!run->n_faults++)
        snprintf(run->fault, sizeof run->fault, "line %u: %.*s", event->node->line, (int)strcspn(err.text, "\n"),
                 err.text);
}

/* A drive goes on until the next one, or until its time is up; then nothing more is said. */
static void keep_driving(struct nm_run *run, uint32_t robot, int64_t now)
{
    struct drive *d = &run->drives[robot];
    if (!d->on || now < d->next) return;
    Twist twist = {0};
    d->on = now < d->until;
    d->next = now + KEEP_DRIVING;
    if (d->on) twist = (Twist){.linear = {d->x, d->y, 0}, .angular = {0, 0, d->turn}};
    nm_stage_put(run->stage, robot, "cmd_vel", &Twist_type, &twist, NULL);
}

void events_happen(struct nm_run *run)
{
    int64_t now = nm_stage_now(run->stage);
    for (uint32_t i = 0; i < run->scenario->n_events; i++) {
        const struct nm_event *event = &run->scenario->events[i];
        if (event->waits && !run->done[i] && !condition_holds(run, &event->when)) continue;
        if (event->waits && !run->done[i]) run->due[i] = now;
        while (run->done[i] < event->times && run->due[i] <= now) {
            happen(run, i);
            run->done[i]++;
            run->due[i] += nm_ns(draw(&run->clocks[i], event->every));
        }
    }
    for (uint32_t k = 0; k < run->scenario->n_robots; k++) keep_driving(run, k, now);
}
