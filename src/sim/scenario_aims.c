/* What a scenario looks at, as it is written: measures, conditions, and the score that weighs them. */
#include <math.h>
#include <string.h>

#include "sim/scenario_parts.h"

static bool has_window(uint32_t kind) { return kind >= NM_MEASURE_WINDOWS && kind < NM_MEASURE_TIME_TO; }

static void measure_names(const char *names[NM_MEASURES])
{
    for (int i = 0; i < NM_MEASURES; i++) names[i] = nm_measure_rows[i].name;
}

/* At the end also what `measures` lists is known, under its label there. */
static bool read_listed(const struct reading *r, const struct nm_yaml *node, struct nm_condition *to)
{
    const struct nm_scenario *s = r->scenario;
    for (uint32_t i = 0; r->at_end && node->kind == NM_YAML_SCALAR && i < s->n_measures; i++) {
        bool waits = has_window(s->measures[i].kind) || s->measures[i].kind == NM_MEASURE_TIME_TO;
        if (!waits || strcmp(node->text, s->measures[i].label)) continue;
        to->listed = true;
        to->index = i;
        to->measure = s->measures[i].kind;
        return true;
    }
    return false;
}

static void read_kind(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    const char *names[NM_MEASURES];
    if (read_listed(r, node, to)) return;
    measure_names(names);
    uint32_t i = read_word(r, node, row->key, names, NM_MEASURES);
    if (i == NM_MEASURE_TIME_TO)
        r->rc = nm_yaml_fail(node, r->err, "time_to is made of a condition, it cannot be in one");
    if (i == NM_MEASURE_KICKING) r->scenario->listens = true;
    if (i != UINT32_MAX && has_window(i))
        r->rc = nm_yaml_fail(node, r->err,
                             "%s is known only when its window is over: list it in `measures`, and "
                             "name it as there in `expect`",
                             nm_measure_rows[i].name);
    if (i != UINT32_MAX) ((struct nm_condition *)to)->measure = (enum nm_measure_kind)i;
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
    {"measure", read_kind, 0, 0, 0, true},
    {"of", read_of, 0, 0, 0, false},
    {"above", read_number, FIELD(above), -1e9, 1e9, false},
    {"below", read_number, FIELD(below), -1e9, 1e9, false},
    {"is", read_is, 0, -1e9, 1e9, false},
    {"after", read_nanos, FIELD(after), 0, 1e5, false},
};

void read_condition(struct reading *r, const struct nm_yaml *node, struct nm_condition *c)
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

static void read_named(struct reading *r, const struct nm_yaml *node, struct nm_measure *to)
{
    const char *names[NM_MEASURES];
    measure_names(names);
    uint32_t i = read_word(r, node, "measure", names, NM_MEASURES);
    if (i == UINT32_MAX) return;
    if (i == NM_MEASURE_TIME_TO)
        r->rc = nm_yaml_fail(node, r->err, "time_to needs a condition: {time_to: {measure: …}, name: …}");
    to->kind = (enum nm_measure_kind)i;
    to->label = nm_measure_rows[i].name;
    r->scenario->listens |= i == NM_MEASURE_KICKING || i == NM_MEASURE_TILT_ERROR || i == NM_MEASURE_ODOMETRY_DRIFT ||
                            i == NM_MEASURE_ODOMETRY_TURN;
}

/* {measure: speed_x, from: 3 s, to: 60 s, name: forward} */
static void read_windowed(struct reading *r, const struct nm_yaml *node, struct nm_measure *to)
{
    static const struct row rows[] = {
        {"measure", NULL, 0, 0, 0, true},
        {"from", read_seconds, offsetof(struct nm_measure, from), 0, 1e5, false},
        {"to", read_seconds, offsetof(struct nm_measure, to), 0, 1e5, false},
        {"name", read_text, offsetof(struct nm_measure, label), 0, 0, false},
    };
    const struct nm_yaml *measure = nm_yaml_get(node, "measure");
    if (measure) read_named(r, measure, to);
    READ_ROWS(r, node, rows, to);
    if (!has_window(to->kind) && (nm_yaml_get(node, "from") || nm_yaml_get(node, "to")))
        r->rc = nm_yaml_fail(node, r->err, "%s is no measure of a window: leave `from:` and `to:` out",
                             nm_measure_rows[to->kind].name);
    if (to->from >= to->to) r->rc = nm_yaml_fail(node, r->err, "a window ends after it begins");
}

static void read_time_to(struct reading *r, const struct nm_yaml *node, struct nm_measure *to)
{
    static const char *const keys[] = {"time_to", "name"};
    const struct nm_yaml *name = nm_yaml_get(node, "name");
    to->kind = NM_MEASURE_TIME_TO;
    to->label = "time_to";
    if (nm_yaml_keys(node, keys, 2, r->err)) r->rc = -1;
    read_condition(r, nm_yaml_get(node, "time_to"), &to->until);
    if (name) read_text(r, name, &(struct row){.key = "name"}, &to->label);
}

static void read_measure(struct reading *r, const struct nm_yaml *node, struct nm_measure *to)
{
    if (node->kind != NM_YAML_MAP)
        read_named(r, node, to);
    else if (nm_yaml_get(node, "measure"))
        read_windowed(r, node, to);
    else if (nm_yaml_get(node, "time_to"))
        read_time_to(r, node, to);
    else
        r->rc = nm_yaml_fail(node, r->err, "`measure:` or `time_to:` is missing here");
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
        *m = (struct nm_measure){.label = "", .to = INFINITY};
        read_measure(r, node, m);
    }
}

/* ---- the score ---- */

/* label: 2, or label: {weight: 2, most: 0.6, missing: 0} */
static void read_score_row(struct reading *r, const struct nm_yaml *node, struct nm_score *to)
{
    static const struct row rows[] = {
        {"weight", read_number, offsetof(struct nm_score, weight), -1e6, 1e6, true},
        {"least", read_number, offsetof(struct nm_score, least), -1e9, 1e9, false},
        {"most", read_number, offsetof(struct nm_score, most), -1e9, 1e9, false},
        {"missing", read_number, offsetof(struct nm_score, missing), -1e9, 1e9, false},
    };
    const char *labels[NM_SCENARIO_MEASURES];
    *to = (struct nm_score){.least = -INFINITY, .most = INFINITY};
    for (uint32_t i = 0; i < r->scenario->n_measures; i++) labels[i] = r->scenario->measures[i].label;
    struct nm_yaml label = {.kind = NM_YAML_SCALAR, .line = node->line, .text = node->key, .file = node->file};
    uint32_t i = read_word(r, &label, "measure", labels, r->scenario->n_measures);
    if (i != UINT32_MAX) to->measure = i;
    if (node->kind == NM_YAML_MAP)
        READ_ROWS(r, node, rows, to);
    else
        read_number(r, node, &(struct row){.key = node->key, .min = -1e6, .max = 1e6}, &to->weight);
}

void read_score(struct reading *r, const struct nm_yaml *map)
{
    if (map->kind != NM_YAML_MAP || map->n > NM_SCENARIO_MEASURES) {
        r->rc = nm_yaml_fail(map, r->err, "score: measures and their weights are needed here, {speed_x: 1, falls: -2}");
        return;
    }
    r->scenario->score = nm_take_n(&r->scenario->arena, struct nm_score, map->n + 1);
    nm_yaml_each(node, map) read_score_row(r, node, &r->scenario->score[r->scenario->n_score++]);
}
