#include "sim/scenario.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/files.h"
#include "sim/scenario_parts.h"

#define FAR 50.0                 /* m */
static const double APART = 0.2; /* m, between two robots, and from a robot to the ball */
static const uint64_t MOST_SEEDS = 100000;

/* ---- files that are named ---- */

/* A name is a file in root/folder; what has a slash is a path, relative to the scenario. NULL with a sentence. */
static const char *find_file(struct reading *r, const struct nm_yaml *node, const char *what, const char *folder,
                             const char *suffix)
{
    struct nm_arena *arena = &r->scenario->arena;
    const char *text = NULL, *path;
    int before = r->rc;
    r->rc = 0;
    read_text(r, node, &(struct row){.key = what}, &text);
    if (!text) return NULL;
    r->rc = before;
    const char *home = nm_path(arena, r->scenario->root, folder);
    if (strchr(text, '/'))
        path = nm_path(arena, nm_folder_of(arena, r->scenario->file), text);
    else
        path = nm_path(arena, home, nm_take_format(arena, "%s%s", text, suffix));
    if (text[0] != '.' && (nm_lineup_exists(path) || (!*suffix && nm_folder_exists(path)))) return path;
    if (text[0] == '.' && strchr(text, '/') && (nm_file_exists(path) || nm_folder_exists(path))) return path;
    uint32_t n;
    const char *const *names = nm_files_in(arena, home, suffix, &n);
    r->rc = nm_yaml_fail(node, r->err, "%s '%.80s' is not there: no %.200s%s", what, text, path,
                         nm_hint(text, names, n).text);
    return NULL;
}

static void read_field(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    *(const char **)to = find_file(r, node, row->key, "fields", ".yaml");
}

static void read_folder(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    *(const char **)to = find_file(r, node, row->key, "robots", "");
}

static void read_lineup(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    *(const char **)to = find_file(r, node, row->key, "lineups", ".yaml");
}

/* ---- the world ---- */

/* 7, or 1-20 */
static void read_seeds(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_scenario *s = to;
    const char *text = "";
    (void)row;
    if (nm_yaml_text(node, &text, r->err)) r->rc = -1;
    if (*text && nm_seeds_parse(text, &s->first_seed, &s->last_seed))
        r->rc = nm_yaml_fail(node, r->err, "seeds '%.40s': a number, or a range such as 1-20 of at most %llu", text,
                             (unsigned long long)MOST_SEEDS);
}

static bool read_seed(const char **text, uint64_t *to)
{
    size_t digits = strspn(*text, "0123456789");
    if (!digits || digits > 18) return false;
    *to = strtoull(*text, NULL, 10);
    *text += digits;
    return true;
}

int nm_seeds_parse(const char *text, uint64_t *first, uint64_t *last)
{
    uint64_t a, b;
    if (!read_seed(&text, &a)) return -1;
    b = a;
    if (*text == '-' && (text++, !read_seed(&text, &b))) return -1;
    if (*text || b < a || b - a >= MOST_SEEDS) return -1;
    *first = a;
    *last = b;
    return 0;
}

/* true and false stand for 1 and 0 */
static void read_random(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    bool on;
    if (node->kind == NM_YAML_SCALAR && !nm_yaml_bool(node, &on, NULL))
        *(double *)to = on;
    else
        read_number(r, node, row, to);
}

static void read_hardware(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    static const char *const words[] = {"direct", "bus"};
    uint32_t i = read_word(r, node, row->key, words, 2);
    if (i != UINT32_MAX) *(bool *)to = i == 1;
}

static void read_colours(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    float(*colours)[3] = to;
    uint32_t i = 0;
    if (node->kind != NM_YAML_LIST || node->n != 2) {
        r->rc = nm_yaml_fail(node, r->err, "%s: two names are needed here, such as [red, blue]", row->key);
        return;
    }
    nm_yaml_each(item, node)
    {
        const char *text = NULL;
        read_text(r, item, row, &text);
        if (text && !nm_shirt_colour(text, colours[i++]))
            r->rc = nm_yaml_fail(item, r->err, "no team plays in '%.40s'", text);
    }
}

static void read_ball(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    static const struct row rows[] = {
        {"at", read_point, offsetof(struct nm_scenario, ball), -FAR, FAR, true},
        {"velocity", read_point, offsetof(struct nm_scenario, ball_velocity), -20, 20, false},
    };
    (void)row;
    READ_ROWS(r, node, rows, to);
}

/* ---- robots ---- */

static void read_whole(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    double value = 0;
    read_number(r, node, row, &value);
    *(uint32_t *)to = (uint32_t)value;
}

static void read_set(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    struct nm_scenario_robot *robot = to;
    if (node->kind != NM_YAML_LIST || node->n > 512) {
        r->rc = nm_yaml_fail(node, r->err, "%s: a list of at most 512 settings is needed here", row->key);
        return;
    }
    const char **set = nm_take_n(&r->scenario->arena, const char *, node->n + 1);
    robot->set = set;
    nm_yaml_each(item, node)
    {
        set[robot->n_set] = NULL;
        read_text(r, item, row, &set[robot->n_set]);
        if (set[robot->n_set]) robot->n_set++;
    }
}

#define ROBOT(member) offsetof(struct nm_scenario_robot, member)
static const struct row robot_rows[] = {
    {"name", read_text, ROBOT(name), 0, 0, false},
    {"robot", read_folder, ROBOT(folder), 0, 0, false},
    {"lineup", read_lineup, ROBOT(lineup), 0, 0, false},
    {"team", read_whole, ROBOT(team), 1, 2, false},
    {"number", read_whole, ROBOT(number), 1, 99, false},
    {"at", read_pose, ROBOT(at), -FAR, FAR, true},
    {"lying", read_posture, ROBOT(posture), 0, 0, false},
    {"scatter", read_number, ROBOT(scatter), 0, 1, false},
    {"set", read_set, 0, 0, 0, false},
};

struct defaults {
    const char *folder, *lineup;
};

static void read_one(struct reading *r, const struct nm_yaml *node, const struct defaults *d)
{
    struct nm_scenario *s = r->scenario;
    struct nm_scenario_robot *robot = &s->robots[s->n_robots];
    *robot = (struct nm_scenario_robot){.node = node, .folder = d->folder, .lineup = d->lineup, .team = 1};
    READ_ROWS(r, node, robot_rows, robot);
    robot->team = robot->team == 2;
    if (!robot->number) {
        robot->number = 1;
        for (uint32_t i = 0; i < s->n_robots; i++) robot->number += s->robots[i].team == robot->team;
    }
    if (!robot->name) robot->name = nm_take_format(&s->arena, "%s%u", robot->team ? "away" : "home", robot->number);
    const char *fault = nm_name_fault(robot->name);
    if (fault) r->rc = nm_yaml_fail(node, r->err, "the name '%.60s' of a robot %s", robot->name, fault);
    if (!strcmp(robot->name, "ball") || !strcmp(robot->name, "all") || !strcmp(robot->name, "any"))
        r->rc = nm_yaml_fail(node, r->err, "a robot cannot be called '%s'", robot->name);
    for (uint32_t i = 0; i < s->n_robots; i++)
        if (!strcmp(s->robots[i].name, robot->name))
            r->rc = nm_yaml_fail(node, r->err, "two robots are called '%.60s', the first in line %u", robot->name,
                                 s->robots[i].node->line);
    if (robot->posture != NM_UPRIGHT && s->fidelity == NM_FIDELITY_FLAT)
        r->rc = nm_yaml_fail(node, r->err, "on a flat world nobody can begin lying");
    if (!robot->folder && !nm_yaml_get(node, "robot"))
        r->rc = nm_yaml_fail(node, r->err, "which robot is '%.60s'? `robot:` names a folder in robots/", robot->name);
    s->n_robots++;
}

static void read_robot_list(struct reading *r, const struct nm_yaml *file, const struct defaults *d)
{
    const struct nm_yaml *list = nm_yaml_get(file, "robots");
    if (!list) return;
    if (list->kind != NM_YAML_LIST || list->n > NM_PLAYERS) {
        r->rc = nm_yaml_fail(list, r->err, "robots: a list of at most %d is needed here", NM_PLAYERS);
        return;
    }
    nm_yaml_each(node, list) read_one(r, node, d);
}

static double middle(struct nm_range range) { return (range.low + range.high) / 2; }

static double between(const struct nm_somewhere *a, const struct nm_somewhere *b)
{
    return vec2_norm(middle(a->x) - middle(b->x), middle(a->y) - middle(b->y));
}

/* Bodies that begin inside each other are thrown apart by the world. */
static void check_places(struct reading *r)
{
    const struct nm_scenario *s = r->scenario;
    for (uint32_t i = 0; i < s->n_robots; i++) {
        const struct nm_scenario_robot *a = &s->robots[i];
        for (uint32_t k = 0; k < i; k++)
            if (between(&a->at, &s->robots[k].at) < APART)
                r->rc = nm_yaml_fail(a->node, r->err, "robot %s begins inside %s", a->name, s->robots[k].name);
        if (between(&a->at, &s->ball) < APART)
            r->rc = nm_yaml_fail(a->node, r->err, "robot %s begins inside the ball, which lies %s", a->name,
                                 s->has_ball ? "there" : "in the centre unless `ball: {at: [x, y]}` puts it elsewhere");
    }
}

/* ---- the whole ---- */

#define WHOLE(member) offsetof(struct nm_scenario, member)
static const struct row file_rows[] = {
    {"about", read_text, WHOLE(about), 0, 0, false},
    {"field", read_field, WHOLE(field), 0, 0, true},
    {"fidelity", read_fidelity, WHOLE(fidelity), 0, 0, false},
    {"seeds", read_seeds, 0, 0, 0, false},
    {"conditions", read_surrounds, WHOLE(world), 0, 0, false}, /* what follows may change them */
    {"random", read_random, WHOLE(world.random), 0, NM_WORLD_RANDOM, false},
    {"duration", read_seconds, WHOLE(duration), 0.01, 1e5, true},
    {"world", read_world, WHOLE(world), 0, 0, false},
    {"hardware", read_hardware, WHOLE(bus), 0, 0, false},
    {"bus_period", read_seconds, WHOLE(bus_period), 0.001, 0.1, false},
    {"camera_delay", read_seconds, WHOLE(camera_delay), 0.001, 0.5, false},
    {"camera_period", read_seconds, WHOLE(camera_period), 0.005, 1, false},
    {"colours", read_colours, WHOLE(colours), 0, 0, false},
    {"ball", read_ball, 0, 0, 0, false},
    /* what needs the robots is read after them */
    {"robot", NULL, 0, 0, 0, false},
    {"lineup", NULL, 0, 0, 0, false},
    {"robots", NULL, 0, 0, 0, true},
    {"events", NULL, 0, 0, 0, false},
    {"measures", NULL, 0, 0, 0, false},
    {"score", NULL, 0, 0, 0, false},
    {"until", NULL, 0, 0, 0, false},
    {"expect", NULL, 0, 0, 0, false},
};

static void read_file(struct reading *r, const struct nm_yaml *file)
{
    struct nm_scenario *s = r->scenario;
    struct defaults defaults = {0};
    const struct nm_yaml *node;
    READ_ROWS(r, file, file_rows, s);
    if (file->kind != NM_YAML_MAP) return;
    s->has_ball = nm_yaml_get(file, "ball") != NULL;
    if ((node = nm_yaml_get(file, "robot"))) read_folder(r, node, &(struct row){.key = "robot"}, &defaults.folder);
    if ((node = nm_yaml_get(file, "lineup"))) read_lineup(r, node, &(struct row){.key = "lineup"}, &defaults.lineup);
    read_robot_list(r, file, &defaults);
    check_places(r);
    if ((node = nm_yaml_get(file, "events"))) read_events(r, node);
    if ((node = nm_yaml_get(file, "measures"))) read_measures(r, node);
    if ((node = nm_yaml_get(file, "score"))) read_score(r, node);
    if ((node = nm_yaml_get(file, "until"))) read_conditions(r, node, &s->until, &s->n_until);
    r->at_end = true;
    if ((node = nm_yaml_get(file, "expect"))) read_conditions(r, node, &s->expect, &s->n_expect);
}

/* Text NULL: the file is read. */
static struct nm_scenario *load(const char *path, const char *text, size_t size, const char *root, struct nm_err *err)
{
    struct nm_scenario *s = nm_calloc(1, sizeof *s);
    s->file = nm_take_text(&s->arena, path);
    s->name = nm_stem_of(&s->arena, path);
    s->root = nm_take_text(&s->arena, root ? root : ".");
    s->about = "";
    s->first_seed = s->last_seed = 1;
    s->world = NM_WORLD_OPTIONS;
    nm_shirt_colour("red", s->colours[0]);
    nm_shirt_colour("blue", s->colours[1]);
    struct reading r = {.scenario = s, .err = err};
    const struct nm_yaml *file =
        text ? nm_yaml_parse(&s->arena, path, text, size, err) : nm_yaml_read(&s->arena, path, err);
    if (file) read_file(&r, file);
    if (file && !r.rc) return s;
    nm_scenario_free(s);
    return NULL;
}

struct nm_scenario *nm_scenario_read(const char *path, const char *root, struct nm_err *err)
{
    return load(path, NULL, 0, root, err);
}

struct nm_scenario *nm_scenario_parse(const char *file, const char *text, size_t size, const char *root,
                                      struct nm_err *err)
{
    return load(file, text, size, root, err);
}

void nm_scenario_free(struct nm_scenario *scenario)
{
    if (!scenario) return;
    nm_arena_free(&scenario->arena);
    free(scenario);
}
