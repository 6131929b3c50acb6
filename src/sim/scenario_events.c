/* The time line of a scenario, as it is written. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/scenario_parts.h"

#define FIELD(member) offsetof(struct nm_event, member)
#define FAR           50.0 /* m, no field is larger */
#define LONG          1e5  /* s                     */
#define ANY_ANGLE     -1000, 1000

enum { SAYS = 16 }; /* topics of one robot */

/* ---- values that only events have ---- */

static void read_fault(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    char text[NM_FAULTS][32];
    const char *words[NM_FAULTS];
    (void)row;
    for (int i = 0; i < NM_FAULTS; i++) {
        snprintf(text[i], sizeof text[i], "%s %s", nm_fault_names[i].part, nm_fault_names[i].what);
        words[i] = text[i];
    }
    uint32_t i = read_word(r, node, "fault", words, NM_FAULTS);
    if (i != UINT32_MAX) *(enum nm_fault_kind *)to = (enum nm_fault_kind)i;
}

static void read_button(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    *(uint32_t *)to = read_word(r, node, row->key, nm_stage_buttons, NM_STAGE_BUTTONS);
}

static void read_side(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    static const char *const sides[] = {[NM_LEFT] = "left", [NM_RIGHT] = "right"};
    *(uint32_t *)to = read_word(r, node, row->key, sides, 2);
}

/* A place, or a robot that is aimed at. */
static void read_target(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_event *event = to;
    if (node->kind == NM_YAML_LIST)
        read_point(r, node, row, &event->place);
    else
        event->target = read_robot(r, node);
}

static void read_from(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_event *event = to;
    event->has_from = true;
    read_point(r, node, row, &event->from);
}

static void read_push_point(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_event *event = to;
    event->has_point = true;
    read_point(r, node, row, &event->point);
}

static void read_message(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    if (node->kind == NM_YAML_MAP)
        *(const struct nm_yaml **)to = node;
    else
        r->rc = nm_yaml_fail(node, r->err, "%s: a map of the message's members is needed here", row->key);
}

static void read_robot_row(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    uint32_t i = read_robot(r, node);
    (void)row;
    if (i != UINT32_MAX) *(uint32_t *)to = i;
}

static void read_when(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_event *event = to;
    (void)row;
    event->waits = true;
    read_condition(r, node, &event->when);
}

/* Where that robot says it kicks best; `at` is counted from there. */
static void read_from_place(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    static const char *const words[] = {"kick_place"};
    struct nm_event *event = to;
    event->from_kick_place = read_word(r, node, row->key, words, 1) == 0;
    r->scenario->listens = true;
}

/* Where the ball of a kick is: as the robot sees it, or as it lies. */
static void read_which_ball(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    static const char *const words[] = {"real", "seen"};
    struct nm_event *event = to;
    event->seen = read_word(r, node, row->key, words, 2) == 1;
}

static void read_direction(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_event *event = to;
    event->aimed = true;
    read_angles(r, node, row, &event->direction);
}

/* ---- the kinds of events ---- */

#define ROBOTS                                                                                                         \
    {                                                                                                                  \
        "robot", read_robots, FIELD(robots), 0, 0, true                                                                \
    }
#define FOR                                                                                                            \
    {                                                                                                                  \
        "for", read_seconds, FIELD(duration), 0, LONG, false                                                           \
    }
static const struct row push_rows[] = {
    ROBOTS,
    {"impulse", read_range, FIELD(size), 0, 1000, true},
    {"direction", read_angles, FIELD(direction), ANY_ANGLE, false},
    {"point", read_push_point, 0, -2, 2, false},
    {"either_side", read_switch, FIELD(either), 0, 0, false},
    FOR,
};
static const struct row pendulum_rows[] = {
    ROBOTS,
    {"distance", read_range, FIELD(size), 0.01, 1.89, true},
    {"from", read_angles, FIELD(direction), ANY_ANGLE, false},
    {"either_side", read_switch, FIELD(either), 0, 0, false},
};
static const struct row place_rows[] = {
    ROBOTS,
    {"at", read_pose, FIELD(place), -FAR, FAR, true},
    {"lying", read_posture, FIELD(posture), 0, 0, false},
};
static const struct row ball_rows[] = {
    {"at", read_point, FIELD(place), -FAR, FAR, true},
    {"velocity", read_point, FIELD(velocity), -20, 20, false},
    {"of", read_robot_row, FIELD(of), 0, 0, false},
    {"from", read_from_place, 0, 0, 0, false},
};
static const struct row shoot_rows[] = {
    {"from", read_from, 0, -FAR, FAR, false},
    {"to", read_target, 0, -FAR, FAR, true},
    {"speed", read_range, FIELD(size), 0, 20, true},
};
static const struct row fault_rows[] = {
    ROBOTS,
    {"what", read_fault, FIELD(fault), 0, 0, true},
    {"joint", read_text, FIELD(part), 0, 0, false},
    {"side", read_side, FIELD(index), 0, 0, false},
    FOR,
};
static const struct row set_rows[] = {
    ROBOTS,
    {"param", read_text, FIELD(part), 0, 0, true},
};
static const struct row say_rows[] = {
    ROBOTS,
    {"topic", read_text, FIELD(part), 0, 0, true},
    {"message", read_message, FIELD(message), 0, 0, true},
};
static const struct row power_rows[] = {
    ROBOTS,
    {"on", read_switch, FIELD(on), 0, 0, true},
};
static const struct row press_rows[] = {
    ROBOTS,
    {"button", read_button, FIELD(index), 0, 0, true},
    FOR,
};

/* the ball, wherever it lies, towards a place or in a direction; asked for by the action `kick` */
static const struct row kick_rows[] = {
    ROBOTS,
    {"to", read_point, FIELD(place), -FAR, FAR, false},
    {"direction", read_direction, 0, ANY_ANGLE, false},
    {"ball", read_which_ball, 0, 0, 0, false},
};
/* forwards, left (m/s), turning left (rad/s); said again and again, as whoever drives a robot must */
static const struct row drive_rows[] = {
    ROBOTS,
    {"velocity", read_pose, FIELD(velocity), -3, 3, true},
    {"rest", read_number, FIELD(rest), 0, 1, false},
    FOR,
};

/* a pose so far away, in that direction, turned so far to the left: what `walk_command` calls a target */
static const struct row target_rows[] = {
    ROBOTS,
    {"distance", read_range, FIELD(size), 0, 10, true},
    {"direction", read_angles, FIELD(direction), ANY_ANGLE, false},
    {"turn", read_angles, FIELD(place.theta), ANY_ANGLE, false},
};

#define KIND(name, rows, lasts)                                                                                        \
    {                                                                                                                  \
        name, rows, sizeof(rows) / sizeof(rows)[0], lasts                                                              \
    }
static const struct {
    const char *name;
    const struct row *rows;
    uint32_t n;
    double lasts; /* s, unless `for` is given */
} kinds[NM_EVENTS] = {
    [NM_EVENT_PUSH] = KIND("push", push_rows, 0.02),
    [NM_EVENT_PENDULUM] = KIND("pendulum", pendulum_rows, 0),
    [NM_EVENT_PLACE] = KIND("place", place_rows, 0),
    [NM_EVENT_BALL] = KIND("ball", ball_rows, 0),
    [NM_EVENT_SHOOT] = KIND("shoot", shoot_rows, 0),
    [NM_EVENT_FAULT] = KIND("fault", fault_rows, INFINITY),
    [NM_EVENT_SET] = KIND("set", set_rows, 0),
    [NM_EVENT_SAY] = KIND("say", say_rows, 0),
    [NM_EVENT_POWER] = KIND("power", power_rows, 0),
    [NM_EVENT_PRESS] = KIND("press", press_rows, 0.2),
    [NM_EVENT_DRIVE] = KIND("drive", drive_rows, INFINITY),
    [NM_EVENT_TARGET] = KIND("target", target_rows, 0),
    [NM_EVENT_KICK] = KIND("kick", kick_rows, 0),
};

/* ---- reading ---- */

static void read_count(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    double value;
    int before = r->rc;
    r->rc = 0;
    read_number(r, node, row, &value);
    if (!r->rc && value != floor(value))
        r->rc = nm_yaml_fail(node, r->err, "%s: a whole number is needed here", row->key);
    if (!r->rc) *(uint32_t *)to = (uint32_t)value;
    if (!r->rc) r->rc = before;
}

static const struct row clock_rows[] = {
    {"at", read_times, FIELD(at), 0, LONG, false},
    {"when", read_when, 0, 0, 0, false},
    {"every", read_times, FIELD(every), 0.001, LONG, false},
    {"times", read_count, FIELD(times), 1, NM_SCENARIO_REPEATS, false},
};

/* Which joint or foot a fault is about must be said where there are several, and only there. */
static void check_part(struct reading *r, const struct nm_event *event)
{
    bool joint = !strcmp(nm_fault_names[event->fault].part, "servo"),
         side = !strcmp(nm_fault_names[event->fault].part, "foot");
    if (joint != (event->part != NULL))
        r->rc = nm_yaml_fail(event->node, r->err, "a fault of a %s %s a `joint:`", nm_fault_names[event->fault].part,
                             joint ? "needs" : "has not");
    if (side != (event->index != UINT32_MAX))
        r->rc = nm_yaml_fail(event->node, r->err, "a fault of a %s %s a `side:`", nm_fault_names[event->fault].part,
                             side ? "needs" : "has not");
}

/* Each robot must be prepared for the topics on which it will be told something. */
static void note_topic(struct reading *r, const struct nm_event *event)
{
    const char *fault = nm_topic_fault(event->part);
    if (fault) {
        r->rc = nm_yaml_fail(event->node, r->err, "topic '%.60s' %s", event->part, fault);
        return;
    }
    for (uint32_t i = 0; i < r->scenario->n_robots; i++) {
        struct nm_scenario_robot *robot = &r->scenario->robots[i];
        bool known = !(event->robots >> i & 1);
        for (uint32_t k = 0; k < robot->n_says; k++) known |= !strcmp(robot->says[k], event->part);
        if (known) continue;
        if (!robot->says) robot->says = nm_take_n(&r->scenario->arena, const char *, SAYS);
        if (robot->n_says == SAYS)
            r->rc = nm_yaml_fail(event->node, r->err, "robot %s: more than %d topics are said", robot->name, SAYS);
        else
            robot->says[robot->n_says++] = event->part;
    }
}

/* The key that says what happens. */
static const struct nm_yaml *what(struct reading *r, const struct nm_yaml *node, enum nm_event_kind *kind)
{
    const struct nm_yaml *found = NULL;
    for (int k = 0; k < NM_EVENTS; k++) {
        const struct nm_yaml *body = nm_yaml_get(node, kinds[k].name);
        if (body && found) {
            r->rc =
                nm_yaml_fail(body, r->err, "one event cannot be a %s and a %s; make two of it", found->key, body->key);
            return NULL;
        }
        if (body) found = body, *kind = (enum nm_event_kind)k;
    }
    if (!found)
        r->rc = nm_yaml_fail(node, r->err,
                             "nothing happens here: push, pendulum, place, ball, shoot, fault, set, say, power, press, "
                             "drive, target or kick is needed");
    return found;
}

static void read_event(struct reading *r, const struct nm_yaml *node)
{
    struct row rows[sizeof clock_rows / sizeof *clock_rows + NM_EVENTS];
    uint32_t n = sizeof clock_rows / sizeof *clock_rows;
    struct nm_event *event = &r->scenario->events[r->scenario->n_events++];
    *event = (struct nm_event){.node = node, .times = 1, .target = NM_PLAYERS, .index = UINT32_MAX, .of = NM_PLAYERS};
    memcpy(rows, clock_rows, sizeof clock_rows);
    for (int k = 0; k < NM_EVENTS; k++) rows[n++] = (struct row){.key = kinds[k].name};
    int before = r->rc;
    r->rc = 0;
    read_rows(r, node, rows, n, event);
    const struct nm_yaml *body = node->kind == NM_YAML_MAP ? what(r, node, &event->kind) : NULL;
    if (body) {
        event->duration = kinds[event->kind].lasts;
        read_rows(r, body, kinds[event->kind].rows, kinds[event->kind].n, event);
    }
    if (event->times > 1 && !(event->every.low > 0))
        r->rc = nm_yaml_fail(node, r->err, "what happens several times needs `every:`");
    else if (event->every.low > 0 && !nm_yaml_get(node, "times"))
        event->times = NM_SCENARIO_REPEATS;
    if (body && !r->rc && event->kind == NM_EVENT_FAULT) check_part(r, event);
    if (node->kind == NM_YAML_MAP && !nm_yaml_get(node, "at") == !event->waits)
        r->rc = nm_yaml_fail(node, r->err, "%s", event->waits ? "either `at:` or `when:`" : "`at:` is missing here");
    if (body && event->kind == NM_EVENT_KICK && !nm_yaml_get(body, "to") == !event->aimed)
        r->rc = nm_yaml_fail(body, r->err, "a kick has either `to:` or `direction:`");
    if (event->from_kick_place && event->of == NM_PLAYERS)
        r->rc = nm_yaml_fail(body, r->err, "whose kick_place? `of:` names a robot");
    if (event->kind == NM_EVENT_DRIVE) event->part = "cmd_vel";
    if (event->kind == NM_EVENT_TARGET) event->part = "walk_command";
    if (event->kind == NM_EVENT_KICK) {
        event->part = "kick/_action/send_goal/request";
        r->scenario->listens = true;
    }
    if (body && !r->rc && event->part && event->kind != NM_EVENT_FAULT && event->kind != NM_EVENT_SET)
        note_topic(r, event);
    if (event->kind == NM_EVENT_PENDULUM) r->scenario->world.pendulum = true;
    r->rc |= before;
}

void read_events(struct reading *r, const struct nm_yaml *list)
{
    if (list->kind != NM_YAML_LIST) {
        r->rc = nm_yaml_fail(list, r->err, "%s: a list is needed here", list->key);
        return;
    }
    if (list->n > NM_SCENARIO_EVENTS) {
        r->rc = nm_yaml_fail(list, r->err, "%u events are too many, %d are allowed", list->n, NM_SCENARIO_EVENTS);
        return;
    }
    r->scenario->events = nm_take_n(&r->scenario->arena, struct nm_event, list->n + 1);
    nm_yaml_each(node, list) read_event(r, node);
}
