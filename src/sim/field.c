/* Numbers of a rule set to geometry. Source of the numbers: the leagues' rule books, see fields/. */
#include "sim/field.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "codec/yaml.h"

/* One row a number of the file. `edges` is how many line widths the outer measure is longer than the middle one. */
struct number {
    const char *key;
    size_t at;
    double min, max;
    double edges;
};

#define N(member) offsetof(struct nm_pitch, member)
static const struct number numbers[] = {
    {"length", N(length), 2, 120, 1},
    {"width", N(width), 1, 90, 1},
    {"line_width", N(line_width), 0.01, 0.2, 0},
    {"goal_area_depth", N(goal_area_depth), 0, 10, 1},
    {"goal_area_width", N(goal_area_width), 0, 40, 1},
    {"penalty_area_depth", N(penalty_area_depth), 0, 20, 1},
    {"penalty_area_width", N(penalty_area_width), 0, 60, 1},
    {"penalty_mark", N(penalty_mark), 0.2, 20, 0.5},
    {"circle_diameter", N(circle_radius), 0.3, 20, 1},
    {"corner_radius", N(corner_radius), 0, 2, 0.5},
    {"border", N(border), 0.1, 5, 0},
    {"turf", N(turf), 0, 0.06, 0},
};
static const struct number goal_numbers[] = {
    {"width", N(goal_width), 0.5, 8, 0},
    {"height", N(goal_height), 0.3, 3, 0},
    {"depth", N(goal_depth), 0.2, 3, 0},
    {"post", N(post), 0.02, 0.2, 0},
};
static const struct number ball_numbers[] = {
    {"radius", N(ball_radius), 0.02, 0.2, 0},
    {"mass", N(ball_mass), 0.01, 1, 0},
};
#undef N

static int read_numbers(struct nm_pitch *p, const struct nm_yaml *map, const struct number *table, uint32_t n,
                        struct nm_err *err)
{
    int result = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_yaml *node = nm_yaml_get(map, table[i].key);
        double value = 0;
        if (!node) {
            result = nm_yaml_fail(map, err, "`%s` is missing", table[i].key);
        } else if (nm_yaml_number(node, &value, err) < 0) {
            result = -1;
        } else if (!(value >= table[i].min && value <= table[i].max)) {
            result = nm_yaml_fail(node, err, "`%s` is %g, it must lie between %g and %g", table[i].key, value,
                                  table[i].min, table[i].max);
        }
        memcpy((char *)p + table[i].at, &value, sizeof value);
    }
    return result;
}

/* The index of a scalar's text among the words, or -1 with a sentence that lists them. */
static int read_word(const struct nm_yaml *map, const char *key, const char *const *words, int n, struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    const char *text = NULL;
    if (!node) return nm_yaml_fail(map, err, "`%s` is missing", key);
    if (nm_yaml_text(node, &text, err) < 0) return -1;
    char list[128] = "";
    size_t used = 0;
    for (int i = 0; i < n; i++) {
        if (!strcmp(text, words[i])) return i;
        int more = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
        used += more > 0 ? (size_t)more : 0;
    }
    return nm_yaml_fail(node, err, "`%s` is %s, it must be one of %s", key, text, list);
}

static int read_colour(const struct nm_yaml *map, const char *key, float colour[3], struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (!node || node->kind != NM_YAML_LIST || node->n != 3)
        return nm_yaml_fail(node ? node : map, err, "`%s` must be a list of three numbers from 0 to 1", key);
    int i = 0;
    nm_yaml_each(part, node)
    {
        double value = 0;
        if (nm_yaml_number(part, &value, err) < 0) return -1;
        if (!(value >= 0 && value <= 1)) return nm_yaml_fail(part, err, "a colour goes from 0 to 1, not %g", value);
        colour[i++] = (float)value;
    }
    return 0;
}

static int read_spot(const struct nm_yaml *root, const char *key, struct nm_spot *spot, struct nm_err *err)
{
    static const char *const kinds[] = {"cross", "dot", "dash"};
    static const char *const keys[] = {"kind", "size"};
    const struct nm_yaml *map = nm_yaml_get(root, key);
    if (!map) return nm_yaml_fail(root, err, "`%s` is missing", key);
    if (nm_yaml_keys(map, keys, 2, err) < 0) return -1;
    int kind = read_word(map, "kind", kinds, 3, err);
    const struct nm_yaml *size = nm_yaml_get(map, "size");
    if (kind < 0) return -1;
    if (!size) return nm_yaml_fail(map, err, "`size` is missing");
    if (nm_yaml_number(size, &spot->size, err) < 0) return -1;
    if (!(spot->size > 0 && spot->size <= 1))
        return nm_yaml_fail(size, err, "`size` is %g, it must lie between 0 and 1", spot->size);
    spot->kind = (enum nm_spot_kind)kind;
    return 0;
}

static int read_corner(const struct nm_yaml *map, const char *key, double *x, double *y, struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (!node || node->kind != NM_YAML_LIST || node->n != 2)
        return nm_yaml_fail(node ? node : map, err, "`%s` must be a corner, [x, y] in metres", key);
    return nm_yaml_number(node->first, x, err) | nm_yaml_number(node->first->next, y, err);
}

static int read_within(const struct nm_yaml *map, const char *key, double least, double most, double *to,
                       struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (!node) return 0;
    if (nm_yaml_number(node, to, err) < 0) return -1;
    if (*to >= least && *to <= most) return 0;
    return nm_yaml_fail(node, err, "`%s` is %g, it must lie between %g and %g", key, *to, least, most);
}

static int read_patch(const struct nm_pitch *p, const struct nm_yaml *map, struct nm_patch *to, struct nm_err *err)
{
    static const char *const keys[] = {"from", "to", "turf", "friction", "rise_x", "rise_y"};
    *to = (struct nm_patch){.turf = p->turf, .friction = 1};
    if (nm_yaml_keys(map, keys, sizeof keys / sizeof keys[0], err) < 0) return -1;
    int bad = read_corner(map, "from", &to->x0, &to->y0, err) | read_corner(map, "to", &to->x1, &to->y1, err);
    bad |= read_within(map, "turf", 0, 0.06, &to->turf, err);
    bad |= read_within(map, "friction", 0.1, 5, &to->friction, err);
    bad |= read_within(map, "rise_x", -1, 1, &to->rise_x, err) | read_within(map, "rise_y", -1, 1, &to->rise_y, err);
    if (bad) return -1;
    if (!(to->x0 < to->x1 && to->y0 < to->y1 && to->x0 > -50 && to->x1 < 50 && to->y0 > -50 && to->y1 < 50))
        return nm_yaml_fail(map, err, "a patch of ground goes from its lower corner to its higher one, within 50 m");
    if (to->rise_x != 0 && to->rise_y != 0)
        return nm_yaml_fail(map, err, "a ramp rises along x or along y, not along both");
    return 0;
}

static int read_ground(struct nm_pitch *p, const struct nm_yaml *list, struct nm_err *err)
{
    int bad = 0;
    if (!list) return 0;
    if (list->kind != NM_YAML_LIST || list->n > NM_PITCH_PATCHES)
        return nm_yaml_fail(list, err, "`ground` must be a list of at most %d patches", NM_PITCH_PATCHES);
    nm_yaml_each(map, list) bad |= read_patch(p, map, &p->patches[p->n_patches++], err);
    return bad;
}

double nm_pitch_height(const struct nm_pitch *p, double x, double y)
{
    double height = 0;
    for (uint32_t i = 0; i < p->n_patches; i++) {
        const struct nm_patch *g = &p->patches[i];
        if (x < g->x0 || x > g->x1 || y < g->y0 || y > g->y1) continue;
        double along = g->rise_x != 0 ? (x - g->x0) / (g->x1 - g->x0) : (y - g->y0) / (g->y1 - g->y0);
        double rise = g->rise_x != 0 ? g->rise_x : g->rise_y;
        height = fabs(rise) * (rise > 0 ? along : 1 - along);
    }
    return height;
}

/* Outer measures become middle ones: the paint's outer edge is half a line width outside its middle. */
static void to_middles(struct nm_pitch *p, bool outer)
{
    if (outer)
        for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            double value;
            memcpy(&value, (char *)p + numbers[i].at, sizeof value);
            if (value > 0) value -= numbers[i].edges * p->line_width;
            memcpy((char *)p + numbers[i].at, &value, sizeof value);
        }
    p->circle_radius /= 2;
}

static int check(const struct nm_pitch *p, const struct nm_yaml *root, struct nm_err *err)
{
    int result = 0;
    if (p->penalty_area_width > p->width || p->penalty_area_depth > p->length / 2)
        result = nm_yaml_fail(root, err, "the penalty area is larger than the half");
    if (p->goal_area_width > p->width || p->goal_area_depth > p->length / 2)
        result = nm_yaml_fail(root, err, "the goal area is larger than the half");
    if (p->goal_width + 2 * p->post > p->width) result = nm_yaml_fail(root, err, "the goal is wider than the field");
    if (p->penalty_mark > p->length / 2) result = nm_yaml_fail(root, err, "the penalty mark is in the other half");
    if (2 * p->circle_radius > p->width) result = nm_yaml_fail(root, err, "the centre circle is wider than the field");
    return result;
}

struct nm_pitch_size nm_pitch_size(const struct nm_pitch *p)
{
    return (struct nm_pitch_size){.length = p->length,
                                  .width = p->width,
                                  .line_width = p->line_width,
                                  .goal_area_length = p->goal_area_depth,
                                  .goal_area_width = p->goal_area_width,
                                  .penalty_area_length = p->penalty_area_depth,
                                  .penalty_area_width = p->penalty_area_width,
                                  .penalty_mark = p->penalty_mark,
                                  .circle_radius = p->circle_radius,
                                  .goal_width = p->goal_width,
                                  .goal_depth = p->goal_depth,
                                  .post = p->post,
                                  .border = p->border};
}

static void derive(struct nm_pitch *p, struct nm_spot penalty, struct nm_spot centre)
{
    double x = p->length / 2, y = p->width / 2, r = p->circle_radius;
    struct nm_pitch_size size = nm_pitch_size(p);
    struct nm_landmark posts[NM_PITCH_POSTS];
    p->n_lines = nm_pitch_lines(&size, p->lines);
    p->n_crossings = nm_pitch_crossings(&size, p->crossings);
    nm_pitch_posts(&size, posts);
    for (int i = 0; i < NM_PITCH_POSTS; i++) p->posts[i] = (struct vec3){posts[i].x, posts[i].y, 0};

    p->arcs[p->n_arcs++] = (struct nm_arc){0, 0, r, 0, 2 * M_PI};
    if (p->corner_radius > 0)
        for (int i = 0; i < 4; i++) {
            double s = i & 1 ? 1 : -1, t = i & 2 ? 1 : -1;
            double inside = atan2(-t, -s);
            p->arcs[p->n_arcs++] = (struct nm_arc){s * x, t * y, p->corner_radius, inside - M_PI / 4, M_PI / 2};
        }

    penalty.x = x - p->penalty_mark;
    p->spots[p->n_spots++] = penalty;
    penalty.x = -penalty.x;
    p->spots[p->n_spots++] = penalty;
    p->spots[p->n_spots++] = centre;
}

static int build(struct nm_pitch *p, const struct nm_yaml *root, struct nm_err *err)
{
    static const char *const keys[] = {"title",
                                       "measured_to",
                                       "length",
                                       "width",
                                       "line_width",
                                       "goal_area_depth",
                                       "goal_area_width",
                                       "penalty_area_depth",
                                       "penalty_area_width",
                                       "penalty_mark",
                                       "circle_diameter",
                                       "corner_radius",
                                       "border",
                                       "turf",
                                       "ground",
                                       "penalty_spot",
                                       "centre_spot",
                                       "goal",
                                       "ball",
                                       "players"};
    static const char *const goal_keys[] = {"width", "height", "depth", "post", "post_shape", "net"};
    static const char *const ball_keys[] = {"radius", "mass"};
    static const char *const edges[] = {"outer edges", "line centres"}, *const shapes[] = {"square", "round"};
    const struct nm_yaml *goal = nm_yaml_get(root, "goal"), *ball = nm_yaml_get(root, "ball");
    const struct nm_yaml *title = nm_yaml_get(root, "title"), *players = nm_yaml_get(root, "players");
    struct nm_spot penalty = {0}, centre = {0};
    int result = 0, edge, shape;
    uint64_t n = 0;

    if (nm_yaml_keys(root, keys, sizeof keys / sizeof keys[0], err) < 0) return -1;
    if (!goal || !ball || !title || !players)
        return nm_yaml_fail(root, err, "a field needs `title`, `players`, `goal` and `ball`");
    if (nm_yaml_keys(goal, goal_keys, 6, err) < 0 || nm_yaml_keys(ball, ball_keys, 2, err) < 0) return -1;
    result |= read_numbers(p, root, numbers, sizeof numbers / sizeof numbers[0], err);
    result |= read_numbers(p, goal, goal_numbers, sizeof goal_numbers / sizeof goal_numbers[0], err);
    result |= read_numbers(p, ball, ball_numbers, sizeof ball_numbers / sizeof ball_numbers[0], err);
    result |= read_colour(goal, "net", p->net, err);
    result |= read_ground(p, nm_yaml_get(root, "ground"), err);
    result |= read_spot(root, "penalty_spot", &penalty, err);
    result |= read_spot(root, "centre_spot", &centre, err);
    edge = read_word(root, "measured_to", edges, 2, err);
    shape = read_word(goal, "post_shape", shapes, 2, err);
    result |= nm_yaml_uint(players, &n, err);
    const char *text = "";
    result |= nm_yaml_text(title, &text, err);
    if (result < 0 || edge < 0 || shape < 0) return -1;
    if (n < 1 || n > 11) return nm_yaml_fail(players, err, "`players` must lie between 1 and 11");

    snprintf(p->title, sizeof p->title, "%s", text);
    p->players = (uint32_t)n;
    p->round_posts = shape == 1;
    to_middles(p, edge == 0);
    if (check(p, root, err) < 0) return -1;
    derive(p, penalty, centre);
    return 0;
}

/* The file's name without folder and ending. */
static void name_of(char name[32], const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *dot = strrchr(base, '.');
    size_t n = dot ? (size_t)(dot - base) : strlen(base);
    if (n > 31) n = 31;
    memcpy(name, base, n);
    name[n] = 0;
}

static int finish(struct nm_pitch *pitch, struct nm_arena *arena, const struct nm_yaml *root, const char *file,
                  struct nm_err *err)
{
    int result = root ? build(pitch, root, err) : -1;
    name_of(pitch->name, file);
    nm_arena_free(arena);
    return result;
}

int nm_pitch_read(struct nm_pitch *pitch, const char *path, struct nm_err *err)
{
    struct nm_arena arena = {0};
    *pitch = (struct nm_pitch){0};
    return finish(pitch, &arena, nm_yaml_read(&arena, path, err), path, err);
}

int nm_pitch_parse(struct nm_pitch *pitch, const char *file, const char *text, size_t size, struct nm_err *err)
{
    struct nm_arena arena = {0};
    *pitch = (struct nm_pitch){0};
    return finish(pitch, &arena, nm_yaml_parse(&arena, file, text, size, err), file, err);
}

static bool on_spot(const struct nm_spot *s, double half, double x, double y)
{
    double dx = fabs(x - s->x), dy = fabs(y - s->y), reach = s->size / 2;
    if (s->kind == NM_SPOT_DOT) return vec2_norm(dx, dy) <= reach;
    if (dx <= reach && dy <= half) return true;
    return s->kind == NM_SPOT_CROSS && dy <= reach && dx <= half;
}

static bool on_arc(const struct nm_arc *a, double half, double x, double y)
{
    double dx = x - a->x, dy = y - a->y;
    double turn = atan2(dy, dx) - a->from;
    turn -= 2 * M_PI * floor(turn / (2 * M_PI));
    return fabs(vec2_norm(dx, dy) - a->radius) <= half && turn <= a->sweep;
}

bool nm_pitch_painted(const struct nm_pitch *p, double x, double y)
{
    double half = p->line_width / 2;
    for (uint32_t i = 0; i < p->n_lines; i++) {
        const struct nm_line *l = &p->lines[i];
        double mx = (l->x0 + l->x1) / 2, my = (l->y0 + l->y1) / 2;
        if (fabs(x - mx) <= fabs(l->x1 - l->x0) / 2 + half && fabs(y - my) <= fabs(l->y1 - l->y0) / 2 + half)
            return true;
    }
    for (uint32_t i = 0; i < p->n_arcs; i++)
        if (on_arc(&p->arcs[i], half, x, y)) return true;
    for (uint32_t i = 0; i < p->n_spots; i++)
        if (on_spot(&p->spots[i], half, x, y)) return true;
    return false;
}

int nm_pitch_scored(const struct nm_pitch *p, struct vec3 ball)
{
    bool between = fabs(ball.y) < p->goal_width / 2 && ball.z < p->goal_height;
    double over = fabs(ball.x) - (p->length + p->line_width) / 2;
    if (!between || over < p->ball_radius || over > p->goal_depth + p->ball_radius) return 0;
    return ball.x > 0 ? 1 : -1;
}
