/* What a scenario measures: each robot's trail and the ball's, and the conditions that are made of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/scenario_parts.h"

const struct nm_measure_row nm_measure_rows[NM_MEASURES] = {
    [NM_MEASURE_FALLEN] = {"fallen", "", "lies on the ground", true},
    [NM_MEASURE_UPRIGHT] = {"upright", "", "does not", true},
    [NM_MEASURE_FALLS] = {"falls", "", "how often it fell", false},
    [NM_MEASURE_TILT] = {"tilt", "rad", "of the trunk, now", false},
    [NM_MEASURE_TILT_MAX] = {"tilt_max", "rad", "the largest so far", false},
    [NM_MEASURE_HEIGHT] = {"height", "m", "of the trunk's origin", false},
    [NM_MEASURE_DISTANCE] = {"distance", "m", "from where it began, as the crow flies", false},
    [NM_MEASURE_FORWARD] = {"forward", "m", "the same, along the direction in which it began", false},
    [NM_MEASURE_PATH] = {"path", "m", "the way that the trunk went", false},
    [NM_MEASURE_SPEED] = {"speed", "m/s", "of the trunk, now", false},
    [NM_MEASURE_TURNED] = {"turned", "rad", "to the left, all turns added", false},
    [NM_MEASURE_BALL_NEAR] = {"ball_near", "m", "from the trunk to the ball, on the ground", false},
    [NM_MEASURE_GOALS] = {"goals", "", "sets of joint goals that its servos were given", false},
    [NM_MEASURE_TIME_TO] = {"time_to", "s", "when a condition held first", false},
    [NM_MEASURE_TIME] = {"time", "s", "simulated", false},
    [NM_MEASURE_BALL_SPEED] = {"ball_speed", "m/s", "now", false},
    [NM_MEASURE_BALL_SPEED_MAX] = {"ball_speed_max", "m/s", "the largest so far", false},
    [NM_MEASURE_BALL_DISTANCE] = {"ball_distance", "m", "from where it was last put", false},
    [NM_MEASURE_BALL_X] = {"ball_x", "m", "", false},
    [NM_MEASURE_BALL_Y] = {"ball_y", "m", "", false},
    [NM_MEASURE_SCORED] = {"scored", "", "1: in the goal at +x, -1: in the other", false},
    [NM_MEASURE_INCIDENTS] = {"incidents", "", "of the world: robots torn, numbers that are none", false},
};

/* ---- reading ---- */

static void measure_names(const char *names[NM_MEASURES])
{
    for (int i = 0; i < NM_MEASURES; i++) names[i] = nm_measure_rows[i].name;
}

static void read_kind(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    const char *names[NM_MEASURES];
    measure_names(names);
    uint32_t i = read_word(r, node, row->key, names, NM_MEASURES);
    if (i == NM_MEASURE_TIME_TO)
        r->rc = nm_yaml_fail(node, r->err, "time_to is made of a condition, it cannot be in one");
    if (i != UINT32_MAX) *(enum nm_measure_kind *)to = (enum nm_measure_kind)i;
}

/* true, false, or a number */
static void read_is(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_condition *c = to;
    bool yes = node->kind == NM_YAML_SCALAR && !node->quoted && !strcmp(node->text, "true"),
         no = node->kind == NM_YAML_SCALAR && !node->quoted && !strcmp(node->text, "false");
    c->is = true;
    if (yes || no)
        c->value = yes;
    else
        read_number(r, node, row, &c->value);
}

static void read_of(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_condition *c = to;
    c->all = !(node->kind == NM_YAML_SCALAR && !strcmp(node->text, "any"));
    read_robots(r, node, row, &c->robots);
}

#define FIELD(member) offsetof(struct nm_condition, member)
static const struct row condition_rows[] = {
    {"measure", read_kind, FIELD(measure), 0, 0, true},
    {"of", read_of, 0, 0, 0, false},
    {"above", read_number, FIELD(above), -1e9, 1e9, false},
    {"below", read_number, FIELD(below), -1e9, 1e9, false},
    {"is", read_is, 0, -1e9, 1e9, false},
    {"after", read_nanos, FIELD(after), 0, 1e5, false},
};

static void read_condition(struct reading *r, const struct nm_yaml *node, struct nm_condition *c)
{
    *c = (struct nm_condition){.above = -INFINITY, .below = INFINITY, .line = node->line, .all = true};
    c->robots = (1u << r->scenario->n_robots) - 1;
    READ_ROWS(r, node, condition_rows, c);
    if (node->kind != NM_YAML_MAP) return;
    if (!nm_yaml_get(node, "above") && !nm_yaml_get(node, "below") && !nm_yaml_get(node, "is"))
        r->rc = nm_yaml_fail(node, r->err, "`above:`, `below:` or `is:` is missing here");
    if (c->measure >= NM_MEASURES_OF_ROBOTS && nm_yaml_get(node, "of"))
        r->rc = nm_yaml_fail(node, r->err, "%s is no measure of a robot: leave `of:` out",
                             nm_measure_rows[c->measure].name);
}

void read_conditions(struct reading *r, const struct nm_yaml *list, struct nm_condition **to, uint32_t *n)
{
    if (list->kind != NM_YAML_LIST || list->n > NM_SCENARIO_CONDITIONS) {
        r->rc = nm_yaml_fail(list, r->err, "%s: a list of at most %d conditions is needed here", list->key,
                             NM_SCENARIO_CONDITIONS);
        return;
    }
    *to = nm_take_n(&r->scenario->arena, struct nm_condition, list->n + 1);
    nm_yaml_each(node, list) read_condition(r, node, &(*to)[(*n)++]);
}

/* A name, or {time_to: CONDITION, name: LABEL}. */
static void read_measure(struct reading *r, const struct nm_yaml *node, struct nm_measure *to)
{
    static const char *const keys[] = {"time_to", "name"};
    if (node->kind != NM_YAML_MAP) {
        const char *names[NM_MEASURES];
        measure_names(names);
        uint32_t i = read_word(r, node, "measure", names, NM_MEASURES);
        if (i == UINT32_MAX) return;
        if (i == NM_MEASURE_TIME_TO)
            r->rc = nm_yaml_fail(node, r->err, "time_to needs a condition: {time_to: {measure: …}, name: …}");
        *to = (struct nm_measure){.kind = (enum nm_measure_kind)i, .label = nm_measure_rows[i].name};
        return;
    }
    const struct nm_yaml *condition = nm_yaml_get(node, "time_to"), *name = nm_yaml_get(node, "name");
    *to = (struct nm_measure){.kind = NM_MEASURE_TIME_TO, .label = "time_to"};
    if (nm_yaml_keys(node, keys, 2, r->err)) r->rc = -1;
    if (condition)
        read_condition(r, condition, &to->until);
    else
        r->rc = nm_yaml_fail(node, r->err, "`time_to:` is missing here");
    if (name) read_text(r, name, &(struct row){.key = "name"}, &to->label);
}

void read_measures(struct reading *r, const struct nm_yaml *list)
{
    if (list->kind != NM_YAML_LIST || list->n > NM_SCENARIO_MEASURES) {
        r->rc = nm_yaml_fail(list, r->err, "%s: a list of at most %d measures is needed here", list->key,
                             NM_SCENARIO_MEASURES);
        return;
    }
    r->scenario->measures = nm_take_n(&r->scenario->arena, struct nm_measure, list->n + 1);
    nm_yaml_each(node, list)
    {
        struct nm_measure *m = &r->scenario->measures[r->scenario->n_measures++];
        *m = (struct nm_measure){.label = ""};
        read_measure(r, node, m);
    }
}

/* ---- following ---- */

static struct pose2 on_ground(const struct nm_whereabouts *w)
{
    struct pose3 p = w->base_to_field;
    return (struct pose2){p.pos.x, p.pos.y, quat_yaw(p.rot)};
}

void trail_moved(struct nm_run *run, uint32_t robot)
{
    struct trail *t = &run->trails[robot];
    nm_stage_whereabouts(run->stage, robot, &t->where);
    t->last = on_ground(&t->where);
    t->fallen = t->where.fallen;
}

void trail_start(struct nm_run *run)
{
    for (uint32_t i = 0; i < run->scenario->n_robots; i++) {
        trail_moved(run, i);
        run->trails[i].start = run->trails[i].last;
    }
    run->ball = run->ball_start = nm_stage_ball(run->stage, &run->ball_velocity);
    for (int m = 0; m < NM_SCENARIO_MEASURES; m++)
        for (int i = 0; i < NM_PLAYERS; i++) run->reached[m][i] = NAN;
}

static void follow_robot(struct nm_run *run, uint32_t robot)
{
    struct trail *t = &run->trails[robot];
    nm_stage_whereabouts(run->stage, robot, &t->where);
    struct pose2 now = on_ground(&t->where);
    double up = quat_apply(t->where.base_to_field.rot, (struct vec3){0, 0, 1}).z;
    t->tilt = acos(fmin(fmax(up, -1), 1));
    t->tilt_max = fmax(t->tilt_max, t->tilt);
    t->falls += t->where.fallen && !t->fallen;
    t->fallen = t->where.fallen;
    t->path += hypot(now.x - t->last.x, now.y - t->last.y);
    if (!t->fallen) t->turned += angle_normal(now.theta - t->last.theta);
    t->last = now;
}

static bool holds_for(const struct nm_run *run, const struct nm_condition *c, uint32_t robot);

/* A time_to of a robot's measure has a time for each robot that its condition names. */
static void note_times(struct nm_run *run)
{
    const struct nm_scenario *s = run->scenario;
    double now = nm_seconds(nm_stage_now(run->stage));
    for (uint32_t m = 0; m < s->n_measures; m++) {
        if (s->measures[m].kind != NM_MEASURE_TIME_TO) continue;
        for (uint32_t i = 0; i < s->n_robots + !s->n_robots; i++)
            if (isnan(run->reached[m][i]) && holds_for(run, &s->measures[m].until, i)) run->reached[m][i] = now;
    }
}

void trail_follow(struct nm_run *run)
{
    for (uint32_t i = 0; i < run->scenario->n_robots; i++) follow_robot(run, i);
    run->ball = nm_stage_ball(run->stage, &run->ball_velocity);
    run->ball_speed_max = fmax(run->ball_speed_max, vec3_norm(run->ball_velocity));
    if (!run->scored) run->scored = nm_pitch_scored(&run->pitch, run->ball);
    note_times(run);
}

/* ---- values ---- */

static double of_robot(const struct nm_run *run, enum nm_measure_kind kind, uint32_t robot)
{
    const struct trail *t = &run->trails[robot];
    double dx = t->last.x - t->start.x, dy = t->last.y - t->start.y;
    switch (kind) {
    case NM_MEASURE_FALLEN: return t->fallen;
    case NM_MEASURE_UPRIGHT: return !t->fallen;
    case NM_MEASURE_FALLS: return t->falls;
    case NM_MEASURE_TILT: return t->tilt;
    case NM_MEASURE_TILT_MAX: return t->tilt_max;
    case NM_MEASURE_HEIGHT: return t->where.base_to_field.pos.z;
    case NM_MEASURE_DISTANCE: return hypot(dx, dy);
    case NM_MEASURE_FORWARD: return dx * cos(t->start.theta) + dy * sin(t->start.theta);
    case NM_MEASURE_PATH: return t->path;
    case NM_MEASURE_SPEED: return vec3_norm(t->where.velocity);
    case NM_MEASURE_TURNED: return t->turned;
    case NM_MEASURE_BALL_NEAR: return hypot(run->ball.x - t->last.x, run->ball.y - t->last.y);
    case NM_MEASURE_GOALS: return (double)nm_stage_goals(run->stage, robot);
    default: return NAN;
    }
}

static double of_world(const struct nm_run *run, enum nm_measure_kind kind)
{
    switch (kind) {
    case NM_MEASURE_TIME: return nm_seconds(nm_stage_now(run->stage));
    case NM_MEASURE_BALL_SPEED: return vec3_norm(run->ball_velocity);
    case NM_MEASURE_BALL_SPEED_MAX: return run->ball_speed_max;
    case NM_MEASURE_BALL_DISTANCE: return hypot(run->ball.x - run->ball_start.x, run->ball.y - run->ball_start.y);
    case NM_MEASURE_BALL_X: return run->ball.x;
    case NM_MEASURE_BALL_Y: return run->ball.y;
    case NM_MEASURE_SCORED: return run->scored;
    case NM_MEASURE_INCIDENTS: return (double)nm_stage_incidents(run->stage);
    default: return NAN;
    }
}

static double value_of(const struct nm_run *run, enum nm_measure_kind kind, uint32_t robot)
{
    return kind < NM_MEASURES_OF_ROBOTS ? of_robot(run, kind, robot) : of_world(run, kind);
}

double measure_value(const struct nm_run *run, const struct nm_measure *measure, uint32_t index, uint32_t robot)
{
    if (measure->kind == NM_MEASURE_TIME_TO) return run->reached[index][robot];
    return value_of(run, measure->kind, robot);
}

static bool holds_for(const struct nm_run *run, const struct nm_condition *c, uint32_t robot)
{
    double value = value_of(run, c->measure, robot);
    if (nm_stage_now(run->stage) < c->after) return false;
    if (c->measure < NM_MEASURES_OF_ROBOTS && !(c->robots >> robot & 1)) return false;
    return value > c->above && value < c->below && (!c->is || fabs(value - c->value) < 1e-9);
}

bool condition_holds(const struct nm_run *run, const struct nm_condition *c)
{
    if (c->measure >= NM_MEASURES_OF_ROBOTS) return holds_for(run, c, 0);
    uint32_t wanted = 0, held = 0;
    for (uint32_t i = 0; i < run->scenario->n_robots; i++) {
        wanted += c->robots >> i & 1;
        held += holds_for(run, c, i);
    }
    return c->all ? held == wanted : held > 0;
}

void nm_condition_text(const struct nm_scenario *scenario, const struct nm_condition *c, char *to, size_t size)
{
    const struct nm_measure_row *row = &nm_measure_rows[c->measure];
    char who[64] = "", bounds[96] = "";
    size_t used = 0;
    uint32_t every = (1u << scenario->n_robots) - 1;
    if (c->measure < NM_MEASURES_OF_ROBOTS) {
        snprintf(who, sizeof who, "%s ", c->all ? "every robot's" : "a robot's");
        for (uint32_t i = 0; i < scenario->n_robots; i++)
            if (c->robots == 1u << i) snprintf(who, sizeof who, "%s's ", scenario->robots[i].name);
        if (c->robots != every && c->robots & (c->robots - 1))
            snprintf(who, sizeof who, "%s ", c->all ? "all chosen robots'" : "a chosen robot's");
    }
    if (c->is && row->yes_no)
        used += (size_t)snprintf(bounds, sizeof bounds, " is %s", c->value != 0 ? "true" : "false");
    else if (c->is)
        used += (size_t)snprintf(bounds, sizeof bounds, " is %g", c->value);
    if (isfinite(c->above))
        used += (size_t)snprintf(bounds + used, sizeof bounds - used, " above %g %s", c->above, row->unit);
    if (isfinite(c->below)) snprintf(bounds + used, sizeof bounds - used, " below %g %s", c->below, row->unit);
    snprintf(to, size, "%s%s%s", who, row->name, bounds);
    for (size_t n = strlen(to); n && to[n - 1] == ' ';) to[--n] = '\0';
}
