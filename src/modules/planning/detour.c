#include "modules/planning/detour.h"

#include <math.h>
#include <string.h>

enum { TRIES = 96 };
static const double TOUCH = 1e-6;       /* m, a tangent may come so near to its own disc            */
static const double ROUND = 1.8 * M_PI; /* rad, an arc longer than this is a bend that is not needed */

struct vec2 {
    double x, y;
};

struct rope { /* one try: bends and what lies between them */
    struct detour way;
    uint32_t discs[DETOUR_BENDS];
};

struct search {
    struct detour_disc discs[DETOUR_DISCS];
    uint32_t n, tries;
    double last, habit, turn;
    struct detour best;
    double best_cost; /* INFINITY: none is found */
};

/* ---- geometry ---- */

/* A full turn is 0. */
static double positive(double angle)
{
    double a = fmod(angle, 2 * M_PI);
    return a < 0 ? a + 2 * M_PI : a;
}

/* The directed line that has disc a at the distance ra to its left, and disc b at rb; right is negative. The angle of
 * its direction; false if one disc hides in the other. */
static bool tangent(struct vec2 a, double ra, struct vec2 b, double rb, double *direction)
{
    double dx = b.x - a.x, dy = b.y - a.y, far = vec2_norm(dx, dy), k = rb - ra;
    if (!(far > fabs(k))) return false;
    *direction = atan2(dy, dx) - asin(k / far);
    return true;
}

static struct vec2 touch_point(struct vec2 centre, double r, double direction)
{
    return (struct vec2){centre.x + r * sin(direction), centre.y - r * cos(direction)};
}

static struct vec2 centre_of(const struct detour *w, uint32_t node)
{
    if (node == 0) return (struct vec2){w->from.x, w->from.y};
    if (node == w->n + 1) return (struct vec2){w->to.x, w->to.y};
    return (struct vec2){w->bends[node - 1].x, w->bends[node - 1].y};
}

static double offset_of(const struct detour *w, uint32_t node)
{
    return node == 0 || node == w->n + 1 ? 0 : w->bends[node - 1].side * w->bends[node - 1].radius;
}

/* The line between node i and the next one. */
struct line {
    struct vec2 a, b;
    double direction;
};

static bool line_after(const struct detour *w, uint32_t node, struct line *line)
{
    struct vec2 a = centre_of(w, node), b = centre_of(w, node + 1);
    double ra = offset_of(w, node), rb = offset_of(w, node + 1);
    if (!tangent(a, ra, b, rb, &line->direction)) return false;
    line->a = touch_point(a, ra, line->direction);
    line->b = touch_point(b, rb, line->direction);
    return true;
}

static void drop_bend(struct rope *rope, uint32_t i)
{
    struct detour *w = &rope->way;
    w->n--;
    memmove(w->bends + i, w->bends + i + 1, (w->n - i) * sizeof *w->bends);
    memmove(rope->discs + i, rope->discs + i + 1, (w->n - i) * sizeof *rope->discs);
}

/* Pulls the rope tight: arcs and length; bends that it no longer touches are dropped. False if it cannot be laid. */
static bool tighten(struct rope *rope)
{
    struct detour *w = &rope->way;
    struct line lines[DETOUR_BENDS + 1];
    for (;;) {
        uint32_t loose = w->n;
        for (uint32_t i = 0; i <= w->n; i++)
            if (!line_after(w, i, &lines[i])) {
                bool point = w->n == 0; /* start and target are the same place */
                w->length = 0;
                return point;
            }
        w->length = 0;
        for (uint32_t i = 0; i <= w->n; i++)
            w->length += vec2_norm(lines[i].b.x - lines[i].a.x, lines[i].b.y - lines[i].a.y);
        for (uint32_t i = 0; i < w->n; i++) {
            struct detour_bend *bend = &w->bends[i];
            bend->begin = lines[i].direction - bend->side * M_PI / 2;
            bend->sweep = positive(bend->side * (lines[i + 1].direction - lines[i].direction));
            if (bend->sweep > ROUND) loose = i;
            w->length += bend->radius * bend->sweep;
        }
        if (loose == w->n) return true;
        drop_bend(rope, loose);
    }
}

/* How far along a line it enters a disc; INFINITY if it does not. */
static double enters(const struct line *line, const struct detour_disc *disc)
{
    double dx = line->b.x - line->a.x, dy = line->b.y - line->a.y, length = vec2_norm(dx, dy);
    double px = disc->x - line->a.x, py = disc->y - line->a.y, r = disc->radius - TOUCH;
    double along = length > 0 ? (px * dx + py * dy) / length : 0, nearest = fmin(fmax(along, 0), length);
    double ux = length > 0 ? dx / length : 1, uy = length > 0 ? dy / length : 0;
    return r > 0 && vec2_norm(px - nearest * ux, py - nearest * uy) < r ? nearest : INFINITY;
}

/* Whether an arc passes through a disc. */
static bool arc_enters(const struct detour_bend *bend, const struct detour_disc *disc)
{
    double dx = disc->x - bend->x, dy = disc->y - bend->y, far = vec2_norm(dx, dy), r = bend->radius, s = disc->radius;
    if (far >= r + s - TOUCH || far <= r - s) return false;
    if (far <= s - r) return true;
    double half = acos(fmin(fmax((r * r + far * far - s * s) / (2 * r * far), -1), 1));
    /* both intervals on the circle, counted in the direction of the arc */
    double middle = positive(bend->side * (atan2(dy, dx) - bend->begin)), low = middle - half, high = middle + half;
    const double little = 1e-6;
    return (low < bend->sweep - little && high > little) || low + 2 * M_PI < bend->sweep - little;
}

/* ---- the search ---- */

struct meeting {
    bool any, on_arc;
    uint32_t disc, node; /* the disc, and the node after which it must be inserted */
};

/* The first disc that the rope crosses. */
static struct meeting first_meeting(const struct search *s, const struct rope *rope)
{
    const struct detour *w = &rope->way;
    struct line line;
    for (uint32_t node = 0; node <= w->n; node++) {
        double first = INFINITY;
        struct meeting met = {.node = node};
        for (uint32_t d = 0; node > 0 && d < s->n; d++)
            if (d != rope->discs[node - 1] && arc_enters(&w->bends[node - 1], &s->discs[d]))
                return (struct meeting){true, true, d, node};
        if (!line_after(w, node, &line)) return met;
        for (uint32_t d = 0; d < s->n; d++) {
            bool own = (node > 0 && rope->discs[node - 1] == d) || (node < w->n && rope->discs[node] == d);
            double along = own ? INFINITY : enters(&line, &s->discs[d]);
            if (along < first) first = along, met = (struct meeting){true, false, d, node};
        }
        if (met.any) return met;
    }
    return (struct meeting){0};
}

static bool bends_around(const struct rope *rope, uint32_t disc)
{
    for (uint32_t i = 0; i < rope->way.n; i++)
        if (rope->discs[i] == disc) return true;
    return false;
}

static double cost(const struct search *s, const struct detour *w)
{
    bool other = w->n > 0 && s->last != 0 && w->bends[0].side != s->last;
    struct line first;
    double turn = line_after(w, 0, &first) ? fabs(angle_normal(first.direction - w->from.theta)) : 0;
    return w->length + s->turn * turn + (other ? s->habit : 0);
}

/* Never a way that crosses a disc: it would wind around all others and still end there. */
static void keep(struct search *s, const struct detour *way)
{
    double c = cost(s, way);
    if (c >= s->best_cost) return;
    s->best = *way;
    s->best.clear = true;
    s->best_cost = c;
}

static void search_from(struct search *s, struct rope *rope)
{
    if (s->tries++ >= TRIES || !tighten(rope)) return;
    if (rope->way.length >= s->best_cost) return;
    struct meeting met = first_meeting(s, rope);
    if (!met.any) keep(s, &rope->way);
    if (!met.any || rope->way.n == DETOUR_BENDS || bends_around(rope, met.disc)) return;
    const struct detour_disc *disc = &s->discs[met.disc];
    /* the side on which the line passes already comes first: its way bounds the other's */
    struct vec2 a = centre_of(&rope->way, met.node), b = centre_of(&rope->way, met.node + 1);
    double cross = (b.x - a.x) * (disc->y - a.y) - (b.y - a.y) * (disc->x - a.x), near = cross >= 0 ? 1 : -1;
    if (met.on_arc) near = rope->way.bends[met.node - 1].side; /* overlapping discs are passed on one side */
    for (int k = 0; k < (met.on_arc ? 1 : 2); k++) {
        struct rope longer = *rope;
        struct detour *w = &longer.way;
        uint32_t at = met.node;
        memmove(w->bends + at + 1, w->bends + at, (w->n - at) * sizeof *w->bends);
        memmove(longer.discs + at + 1, longer.discs + at, (w->n - at) * sizeof *longer.discs);
        w->n++;
        longer.discs[at] = met.disc;
        w->bends[at] =
            (struct detour_bend){.x = disc->x, .y = disc->y, .radius = disc->radius, .side = k ? -near : near};
        search_from(s, &longer);
    }
}

static double room(const struct detour_disc *disc, struct pose2 p)
{
    return fmin(disc->radius, vec2_norm(p.x - disc->x, p.y - disc->y) - 2 * TOUCH);
}

void detour_find(struct detour *way, struct pose2 from, struct pose2 to, const struct detour_disc discs[], uint32_t n,
                 const struct detour_habit *habit)
{
    struct search s = {.best_cost = INFINITY};
    if (habit) s.last = habit->side, s.habit = habit->metres, s.turn = habit->turn;
    for (uint32_t i = 0; i < n && s.n < DETOUR_DISCS; i++) {
        struct detour_disc disc = discs[i];
        disc.radius = fmin(room(&disc, from), room(&disc, to));
        if (disc.radius > TOUCH) s.discs[s.n++] = disc;
    }
    struct rope straight = {.way = {.from = from, .to = to}};
    s.best = straight.way;
    s.best.length = vec2_norm(to.x - from.x, to.y - from.y);
    search_from(&s, &straight);
    *way = s.best;
}

struct pose2 detour_at(const struct detour *w, double along)
{
    struct line line = {0};
    for (uint32_t node = 0; node <= w->n; node++) {
        if (!line_after(w, node, &line)) break;
        double length = vec2_norm(line.b.x - line.a.x, line.b.y - line.a.y);
        if (along <= length) {
            along = fmax(along, 0);
            return (struct pose2){line.a.x + along * cos(line.direction), line.a.y + along * sin(line.direction),
                                  angle_normal(line.direction)};
        }
        along -= length;
        if (node == w->n) break;
        const struct detour_bend *bend = &w->bends[node];
        double arc = bend->radius * bend->sweep;
        if (along <= arc) {
            double turn = bend->side * along / bend->radius, at = bend->begin + turn;
            return (struct pose2){bend->x + bend->radius * cos(at), bend->y + bend->radius * sin(at),
                                  angle_normal(line.direction + turn)};
        }
        along -= arc;
    }
    return (struct pose2){w->to.x, w->to.y, angle_normal(line.direction)};
}
