#include "modules/position/sight.h"

#include <math.h>

#include "base/clamp.h"

void sight_map(struct sight_map *map, const struct nm_pitch_size *field)
{
    struct nm_landmark marks[NM_PITCH_LANDMARKS];
    uint32_t n = nm_pitch_landmarks(field, marks), m = 0;
    for (uint32_t kind = 0; kind <= SIGHT_KINDS; kind++) {
        map->first[kind] = m;
        for (uint32_t i = 0; i < n; i++)
            if ((uint32_t)marks[i].kind == kind) map->marks[m++] = marks[i];
    }
    map->n_lines = nm_pitch_lines(field, map->lines);
    double x = map->half_x = (field->length + field->line_width) / 2 + field->border;
    double y = map->half_y = (field->width + field->line_width) / 2 + field->border;
    map->border[0] = (struct nm_line){-x, -y, x, -y};
    map->border[1] = (struct nm_line){-x, y, x, y};
    map->border[2] = (struct nm_line){-x, -y, -x, y};
    map->border[3] = (struct nm_line){x, -y, x, y};
}

/* ---- from messages ---- */

/* A vision that states a larger covariance than usual is believed. */
static double doubt_of(const Percept *p, const struct sight_limits *l)
{
    double h = l->height, d2 = p->position.x * p->position.x + p->position.y * p->position.y + h * h;
    double usual = (d2 * d2 / (h * h) + d2) * (l->tilt2 + l->pixel2), stated = p->covariance[0] + p->covariance[3];
    return isfinite(stated) ? nm_clamp(stated / usual, 1, 25) : 1;
}

static bool is_field(uint8_t kind) { return kind >= Percept_GOAL_POST && kind <= Percept_CENTER_CIRCLE; }

static bool too_far(double x, double y, const struct sight_limits *l)
{
    return !isfinite(x + y) || x * x + y * y > l->range * l->range;
}

static uint32_t add_piece(const Point *a, const Point *b, uint32_t kind, const struct sight_limits *l,
                          struct sighting *to)
{
    if (too_far(a->x, a->y, l) || too_far(b->x, b->y, l) || vec2_norm(a->x - b->x, a->y - b->y) < 0.2) return 0;
    *to = (struct sighting){.kind = kind, .x = a->x, .y = a->y, .x1 = b->x, .y1 = b->y, .doubt = 1};
    return 1;
}

/* Pieces of the carpet's edge between points that are half a metre apart. */
static uint32_t gather_border(const FieldBorder *border, const struct sight_limits *l, struct sighting *to,
                              uint32_t room)
{
    uint32_t n = 0, last = 0;
    for (uint32_t i = 1; i < border->points.n && i < border->seen.n && n < room; i++) {
        const Point32 *p = &border->points.at[last], *q = &border->points.at[i];
        if (!border->seen.at[last] || !border->seen.at[i]) {
            last = i;
            continue;
        }
        if (vec2_norm(p->x - q->x, p->y - q->y) < 0.5) continue;
        Point a = {p->x, p->y, 0}, b = {q->x, q->y, 0};
        uint32_t one = add_piece(&a, &b, SIGHT_BORDER, l, &to[n]);
        if (one) to[n].doubt = 25; /* carpets are cut by hand */
        n += one;
        last = i;
    }
    return n;
}

uint32_t sight_gather(const struct nm *nm, const struct position_ports *io, const struct sight_limits *l,
                      struct sighting to[SIGHTINGS])
{
    uint32_t n = 0;
    for (uint32_t i = 0; nm_fresh(nm, io->percepts) && i < io->percepts->percepts.n && n < SIGHTINGS; i++) {
        const Percept *p = &io->percepts->percepts.at[i];
        if (!p->located || !is_field(p->kind) || p->confidence < l->confidence) continue;
        if (too_far(p->position.x, p->position.y, l)) continue;
        bool directed = p->kind >= Percept_CROSSING_L && p->kind <= Percept_CROSSING_X && isfinite(p->orientation);
        to[n++] = (struct sighting){.kind = p->kind,
                                    .directed = directed,
                                    .x = p->position.x,
                                    .y = p->position.y,
                                    .orientation = directed ? p->orientation : 0,
                                    .turn = p->kind == Percept_CROSSING_X ? M_PI / 2 : 2 * M_PI,
                                    .doubt = doubt_of(p, l)};
    }
    for (uint32_t i = 0; nm_fresh(nm, io->lines) && i < io->lines->segments.n && n < SIGHTINGS; i++) {
        const LineSegmentRelative *s = &io->lines->segments.at[i];
        if (s->confidence >= l->confidence) n += add_piece(&s->start, &s->end, SIGHT_LINE, l, &to[n]);
    }
    if (nm_fresh(nm, io->border)) n += gather_border(io->border, l, &to[n], SIGHTINGS - n);
    return n;
}

/* ---- memory ---- */

void sight_remember(struct sight_memory *m, const struct sighting *sightings, uint32_t n, struct pose2 robot,
                    int64_t at)
{
    const int64_t pause = 150000000;
    if (m->n && at < m->last + pause && at >= m->last) return;
    if (!n) return;
    m->last = at;
    for (uint32_t i = 0; i < n; i++) {
        m->all[m->next] = (struct remembered){sightings[i], robot, at};
        m->next = (m->next + 1) % MEMORY;
        if (m->n < MEMORY) m->n++;
    }
}

static bool same_pose(struct pose2 a, struct pose2 b) { return a.x == b.x && a.y == b.y && a.theta == b.theta; }

uint32_t sight_recall(const struct sight_memory *m, struct pose2 robot, int64_t now, double seconds,
                      struct sighting to[MEMORY])
{
    struct pose2 odom_to_robot = pose2_inv(robot), was = {NAN, NAN, NAN}, then = {0};
    double c = 1, s = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct remembered *r = &m->all[i];
        const struct sighting *o = &r->what;
        if (nm_seconds(now - r->at) > seconds) continue;
        if (!same_pose(was, r->robot_to_odom)) { /* all sightings of an image are from one pose */
            was = r->robot_to_odom;
            then = pose2_mul(odom_to_robot, was);
            c = cos(then.theta), s = sin(then.theta);
        }
        to[n] = *o;
        to[n].x = then.x + c * o->x - s * o->y, to[n].y = then.y + s * o->x + c * o->y;
        to[n].x1 = then.x + c * o->x1 - s * o->y1, to[n].y1 = then.y + s * o->x1 + c * o->y1;
        to[n].orientation = angle_normal(then.theta + o->orientation);
        to[n++].vote = 1;
    }
    return n;
}

static bool same_thing(const struct sighting *a, const struct sighting *b)
{
    if (a->kind != b->kind) return false;
    double near = 0.3 + 0.1 * vec2_norm(a->x, a->y); /* m, what odometry and camera err by in some seconds */
    if (a->kind < SIGHT_LINE) return vec2_norm(a->x - b->x, a->y - b->y) < near;
    double ax = a->x1 - a->x, ay = a->y1 - a->y, bx = b->x1 - b->x, by = b->y1 - b->y, long_a = vec2_norm(ax, ay);
    double mx = (b->x + b->x1) / 2 - a->x, my = (b->y + b->y1) / 2 - a->y;
    return fabs(ax * by - ay * bx) < 0.3 * long_a * vec2_norm(bx, by) && fabs(ax * my - ay * mx) < near * long_a;
}

double sight_share_votes(struct sighting all[MEMORY], uint32_t n)
{
    const uint32_t enough = 3; /* sightings that make a whole vote */
    uint32_t first[MEMORY], seen[MEMORY], thing[MEMORY], things = 0;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < things && !same_thing(&all[first[k]], &all[i])) k++;
        if (k == things) first[things] = i, seen[things++] = 0;
        thing[i] = k;
        seen[k]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        all[i].vote = 1.0 / (seen[thing[i]] > enough ? seen[thing[i]] : enough);
        sum += all[i].vote;
    }
    return sum;
}

/* ---- guesses ---- */

/* Squared distance in deviations of a rough pose, which errs by a little everywhere and more far away. */
static double rough2(double off2, double away2) { return off2 / (0.12 * 0.12 + 0.08 * 0.08 * away2); }

static double point_misfit(const struct sight_map *map, const struct sighting *s, struct pose2 at, double away2)
{
    double best = 1e9;
    for (uint32_t i = map->first[s->kind]; i < map->first[s->kind + 1]; i++) {
        const struct nm_landmark *m = &map->marks[i];
        double dx = m->x - at.x, dy = m->y - at.y, d2 = rough2(dx * dx + dy * dy, away2);
        if (d2 >= best) continue;
        if (s->directed) {
            double off = remainder(m->theta - at.theta, s->turn) / 0.2;
            d2 += off * off;
        }
        best = fmin(best, d2);
    }
    return best;
}

/* How far both ends of a piece lie from a line of the map that is long enough for it. */
static double line_misfit(const struct sight_map *map, const struct sighting *s, struct pose2 a, struct pose2 b,
                          double away2)
{
    const double reach = 0.3; /* m */
    double best = 1e9;
    uint32_t n;
    const struct nm_line *lines = sight_lines(map, s->kind, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_line *l = &lines[i];
        bool upright = l->x0 == l->x1;
        double low = upright ? fmin(l->y0, l->y1) : fmin(l->x0, l->x1);
        double high = upright ? fmax(l->y0, l->y1) : fmax(l->x0, l->x1);
        double a_on = upright ? a.y : a.x, b_on = upright ? b.y : b.x;
        double a_off = upright ? a.x - l->x0 : a.y - l->y0, b_off = upright ? b.x - l->x0 : b.y - l->y0;
        if (a_on < low - reach || b_on < low - reach || a_on > high + reach || b_on > high + reach) continue;
        double d2 =
            rough2((a_off * a_off + b_off * b_off) / 2, away2) + rough2((a_off - b_off) * (a_off - b_off) / 4, away2);
        if (d2 < best) best = d2;
    }
    return best;
}

double sight_score(const struct sight_map *map, const struct sighting *sightings, uint32_t n, struct pose2 pose,
                   double false_share)
{
    double c = cos(pose.theta), s = sin(pose.theta), sum = 0, votes = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct sighting *o = &sightings[i];
        struct pose2 a = {pose.x + c * o->x - s * o->y, pose.y + s * o->x + c * o->y, pose.theta + o->orientation};
        double away2 = o->x * o->x + o->y * o->y, misfit;
        double peak = 4; /* of a good fit against a percept from anywhere */
        if (o->kind >= SIGHT_LINE) {
            struct pose2 b = {pose.x + c * o->x1 - s * o->y1, pose.y + s * o->x1 + c * o->y1, 0};
            misfit = line_misfit(map, o, a, b, fmax(away2, o->x1 * o->x1 + o->y1 * o->y1));
            peak = 3;
        } else {
            misfit = point_misfit(map, o, a, away2);
            if (o->directed) peak = 8;
        }
        sum += o->vote * log((1 - false_share) * peak * exp(-fmin(misfit, 60) / 2) + false_share);
        votes += o->vote;
    }
    return votes > 0 ? sum / votes : 0;
}

static struct pose2 from_one(const struct sighting *s, const struct nm_landmark *m, double repeat)
{
    double theta = angle_normal(m->theta - s->orientation + repeat), c = cos(theta), sn = sin(theta);
    return (struct pose2){m->x - (c * s->x - sn * s->y), m->y - (sn * s->x + c * s->y), theta};
}

static struct pose2 from_two(const struct sighting *s, const struct sighting *t, const struct nm_landmark *a,
                             const struct nm_landmark *b)
{
    double theta = angle_normal(atan2(b->y - a->y, b->x - a->x) - atan2(t->y - s->y, t->x - s->x));
    double c = cos(theta), sn = sin(theta), mx = (s->x + t->x) / 2, my = (s->y + t->y) / 2;
    return (struct pose2){(a->x + b->x) / 2 - (c * mx - sn * my), (a->y + b->y) / 2 - (sn * mx + c * my), theta};
}

/* One of the pairs of landmarks that lie as far apart as the two sightings, each with the same chance. */
static bool guess_pair(const struct sight_map *map, const struct sighting *s, const struct sighting *t, struct nm *nm,
                       struct pose2 *pose)
{
    double apart = vec2_norm(s->x - t->x, s->y - t->y), away = fmax(vec2_norm(s->x, s->y), vec2_norm(t->x, t->y));
    double most = 0.1 + 0.06 * away;
    uint32_t found = 0;
    if (apart < 0.6) return false;
    for (uint32_t i = map->first[s->kind]; i < map->first[s->kind + 1]; i++)
        for (uint32_t k = map->first[t->kind]; k < map->first[t->kind + 1]; k++) {
            const struct nm_landmark *a = &map->marks[i], *b = &map->marks[k];
            if (fabs(vec2_norm(a->x - b->x, a->y - b->y) - apart) > most) continue;
            if (nm_random(nm) * ++found < 1) *pose = from_two(s, t, a, b);
        }
    return found > 0;
}

static const struct sighting *draw(const struct sighting *sightings, uint32_t n, struct nm *nm)
{
    const struct sighting *s = &sightings[(uint32_t)(nm_random(nm) * n)];
    return s->kind < SIGHT_LINE ? s : NULL;
}

bool sight_guess(const struct sight_map *map, const struct sighting *sightings, uint32_t n, struct nm *nm,
                 struct pose2 *pose)
{
    if (!n) return false;
    const struct sighting *s = draw(sightings, n, nm), *t = draw(sightings, n, nm);
    if (!s) return false;
    bool found = t && t != s && guess_pair(map, s, t, nm, pose);
    if (!found && s->directed) {
        uint32_t many = map->first[s->kind + 1] - map->first[s->kind];
        uint32_t i = map->first[s->kind] + (uint32_t)(nm_random(nm) * many);
        double repeat = s->turn * floor(nm_random(nm) * 2 * M_PI / s->turn);
        *pose = from_one(s, &map->marks[i], repeat);
        found = true;
    }
    return found && fabs(pose->x) < map->half_x + 0.3 && fabs(pose->y) < map->half_y + 0.3;
}
