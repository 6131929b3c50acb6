/* Lines, crossings, the centre circle and penalty marks (HULKs 2017, section 5.6). The middles of bright segments with
 * carpet on both sides and the width of a line are line points. They are brought to the ground, where straight lines
 * are straight through any lens: first a circle of the known radius, then lines by RANSAC, split at gaps
 * and held against the image. Where two lines meet at a right angle, the image tells which of the four arms are
 * painted. */
#include "base/pitch.h"
#include "base/wide.h"
#include "humanoid_league_msgs/LineInformationInImage.h"
#include "modules/vision/sketch.h"
#include "nutmeg_msgs/ImageSegments.h"
#include "nutmeg_msgs/Percepts.h"
#include "sensor_msgs/PointCloud2.h"

enum { POINTS = 1024, LINES = 14, PIECES = 24, CROSSINGS = 16, POINT_BYTES = 8 };

struct field_lines {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const FieldColor *color;
    const ImageSegments *segments;
    /* out */
    LineInformationInImage *lines;
    Percepts *features;
    PointCloud2 *line_points;
    /* params */
    struct nm_pitch_size field;
    float range, contrast, length, square;
    int32_t tries;
};

struct points {
    uint32_t n;
    float x[POINTS], y[POINTS]; /* m, robot's frame                                  */
    float near[POINTS];         /* m, how far from a line a point of it may lie      */
    float u[POINTS], v[POINTS]; /* px                                                */
    float gap[POINTS];          /* m, as far as two points of a line are apart here  */
    uint8_t used[POINTS];
};

struct piece {
    double x0, y0, x1, y1; /* m */
};

struct look { /* everything of one image */
    struct field_lines *f;
    struct frame frame;
    struct carpet carpet;
    double height; /* m, of the camera */
    struct points points;
    uint32_t n_pieces;
    struct piece pieces[PIECES];
    bool circle;
    double circle_x, circle_y;
};

/* m on the ground that a pixel covers along the line of sight, at this distance */
static double pixel_size(const struct look *l, double away)
{
    return (away * away + l->height * l->height) / (l->height * l->frame.lens->fy);
}

/* ---- line points ---- */

static void add_point(struct look *l, double u, double v, double along_px, bool across)
{
    struct points *p = &l->points;
    struct vec3 at, a, b;
    double half = along_px / 2;
    if (p->n == POINTS || !frame_ground(&l->frame, u, v, &at)) return;
    double away = hypot(at.x - l->frame.camera_to_robot.pos.x, at.y - l->frame.camera_to_robot.pos.y);
    if (away > l->f->range) return;
    if (!frame_ground(&l->frame, across ? u - half : u, across ? v : v - half, &a) ||
        !frame_ground(&l->frame, across ? u + half : u, across ? v : v + half, &b))
        return;
    double px = pixel_size(l, away), blur = across ? 1.5 * away / l->frame.lens->fx : 1.5 * px;
    double chord = hypot(a.x - b.x, a.y - b.y), width = l->f->field.line_width;
    if (chord < 0.6 * width - blur || chord > (across ? 4 : 5) * width + blur) return;
    uint32_t i = p->n++;
    p->x[i] = (float)at.x, p->y[i] = (float)at.y;
    p->u[i] = (float)u, p->v[i] = (float)v;
    p->near[i] = (float)fmin(0.02 + 0.7 * px, 0.15);
    p->gap[i] = (float)fmin(0.2 + 20 * px, 0.8);
    p->used[i] = 0;
}

static void find_points(struct look *l)
{
    const ImageSegments *s = l->f->segments;
    for (int across = 0; across < 2; across++) {
        const ImageSegment *g = across ? s->horizontal.at : s->vertical.at;
        uint32_t n = across ? s->horizontal.n : s->vertical.n;
        for (uint32_t i = 1; i + 1 < n; i++) {
            bool line = g[i].label == ImageSegment_LINE && g[i - 1].line == g[i].line && g[i + 1].line == g[i].line;
            if (!line || g[i - 1].label != ImageSegment_FIELD || g[i + 1].label != ImageSegment_FIELD) continue;
            double middle = (g[i].begin + g[i].end - 1) / 2.0, size = g[i].end - g[i].begin;
            add_point(l, across ? middle : g[i].line, across ? g[i].line : middle, size, across);
        }
    }
}

/* ---- what the image shows at a place on the ground ---- */

enum paint { HIDDEN, CARPET, PAINT, THING };

/* Paint is brighter than the carpet on both sides; (nx, ny) points across the line. */
static enum paint look_at(const struct look *l, double x, double y, double nx, double ny)
{
    const struct frame *f = &l->frame;
    struct pixel at, side[2];
    double away = hypot(x - f->camera_to_robot.pos.x, y - f->camera_to_robot.pos.y);
    double off = l->f->field.line_width + pixel_size(l, away);
    if (!frame_pixel(f, x, y, 0, &at) || !frame_pixel(f, x + off * nx, y + off * ny, 0, &side[0]) ||
        !frame_pixel(f, x - off * nx, y - off * ny, 0, &side[1]))
        return HIDDEN;
    uint32_t u = (uint32_t)(at.u + 0.5), v = (uint32_t)(at.v + 0.5);
    u = u < f->width ? u : f->width - 1;
    v = v < f->height ? v : f->height - 1;
    int32_t best = frame_y(f, u, v), beside = 0;
    /* a thin line may lie one pixel above or below */
    if (v && frame_y(f, u, v - 1) > best) best = frame_y(f, u, v - 1);
    if (v + 1 < f->height && frame_y(f, u, v + 1) > best) best = frame_y(f, u, v + 1);
    for (int k = 0; k < 2; k++) {
        int32_t one = frame_y(f, (uint32_t)side[k].u, (uint32_t)side[k].v);
        if (one > beside) beside = one;
    }
    if (best - beside > (int32_t)(l->f->contrast * l->f->color->y)) return PAINT;
    return frame_carpet(f, &l->carpet, u, v) ? CARPET : THING;
}

/* ---- the circle ---- */

NM_WIDE static uint32_t count_circle(const struct points *restrict p, float cx, float cy, float radius)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        float dx = p->x[i] - cx, dy = p->y[i] - cy, d2 = dx * dx + dy * dy, near = p->near[i];
        float low = radius - near, high = radius + near;
        n += (d2 > low * low) & (d2 < high * high);
    }
    return n;
}

static bool on_circle(const struct points *p, uint32_t i, double cx, double cy, double radius)
{
    return fabs(hypot(p->x[i] - cx, p->y[i] - cy) - radius) < p->near[i];
}

/* Gauss-Newton with the radius fixed. */
static void settle_circle(const struct points *p, double radius, double *cx, double *cy)
{
    for (int k = 0; k < 4; k++) {
        double a = 1e-9, b = 0, c = 1e-9, gx = 0, gy = 0;
        for (uint32_t i = 0; i < p->n; i++) {
            if (!on_circle(p, i, *cx, *cy, radius)) continue;
            double dx = p->x[i] - *cx, dy = p->y[i] - *cy, d = hypot(dx, dy), off = d - radius;
            dx /= d, dy /= d;
            a += dx * dx, b += dx * dy, c += dy * dy;
            gx += dx * off, gy += dy * off;
        }
        double det = a * c - b * b;
        if (!(det > 1e-6)) return;
        *cx += (c * gx - b * gy) / det;
        *cy += (a * gy - b * gx) / det;
    }
}

/* Paint must be where the circle says it is, over a good part of a turn. */
static bool circle_holds(const struct look *l, double cx, double cy, double radius)
{
    uint32_t painted = 0, seen = 0;
    bool bins[36] = {false};
    for (uint32_t i = 0; i < l->points.n; i++)
        if (on_circle(&l->points, i, cx, cy, radius)) {
            double turn = atan2(l->points.y[i] - cy, l->points.x[i] - cx) / (2 * M_PI) + 0.5;
            bins[(uint32_t)(turn * 36) % 36] = true;
        }
    uint32_t covered = 0;
    for (int i = 0; i < 36; i++) {
        double c = cos(i * M_PI / 18), s = sin(i * M_PI / 18);
        enum paint what = look_at(l, cx + radius * c, cy + radius * s, c, s);
        seen += what != HIDDEN;
        painted += what == PAINT;
        covered += bins[i];
    }
    return covered >= 10 && seen >= 10 && painted * 5 >= seen * 3;
}

static void find_circle(struct look *l)
{
    struct points *p = &l->points;
    struct nm *nm = l->f->nm;
    double r = l->f->field.circle_radius, best_x = 0, best_y = 0;
    uint32_t best = 0;
    for (int32_t t = 0; t < l->f->tries && p->n >= 20; t++) {
        uint32_t i = (uint32_t)(nm_random(nm) * p->n), k = (uint32_t)(nm_random(nm) * p->n);
        double dx = p->x[k] - p->x[i], dy = p->y[k] - p->y[i], d = hypot(dx, dy);
        if (d < 0.3 * r || d > 1.9 * r) continue;
        double up = sqrt(r * r - d * d / 4) / d;
        for (int side = -1; side <= 1; side += 2) {
            double cx = p->x[i] + dx / 2 - side * up * dy, cy = p->y[i] + dy / 2 + side * up * dx;
            uint32_t n = count_circle(p, (float)cx, (float)cy, (float)r);
            if (n > best) best = n, best_x = cx, best_y = cy;
        }
    }
    if (best < 16) return;
    settle_circle(p, r, &best_x, &best_y);
    if (!circle_holds(l, best_x, best_y, r)) return;
    l->circle = true;
    l->circle_x = best_x;
    l->circle_y = best_y;
    for (uint32_t i = 0; i < p->n; i++) p->used[i] |= on_circle(p, i, best_x, best_y, r);
}

/* ---- lines ---- */

struct straight { /* c x + s y = d */
    float c, s, d;
};

NM_WIDE static uint32_t count_line(const struct points *restrict p, struct straight g)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        float off = g.c * p->x[i] + g.s * p->y[i] - g.d;
        off = off < 0 ? -off : off;
        n += (off < p->near[i]) & (p->used[i] == 0);
    }
    return n;
}

static bool on_line(const struct points *p, uint32_t i, struct straight g)
{
    return !p->used[i] && fabsf(g.c * p->x[i] + g.s * p->y[i] - g.d) < p->near[i];
}

/* Total least squares over a run of points along a line. */
static struct straight fit(const struct points *p, const uint16_t *at, uint32_t n)
{
    double w = 0, mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    for (uint32_t k = 0; k < n; k++) {
        double one = 1 / (p->near[at[k]] * p->near[at[k]]);
        mx += one * p->x[at[k]], my += one * p->y[at[k]], w += one;
    }
    mx /= w, my /= w;
    for (uint32_t k = 0; k < n; k++) {
        double one = 1 / (p->near[at[k]] * p->near[at[k]]), dx = p->x[at[k]] - mx, dy = p->y[at[k]] - my;
        xx += one * dx * dx, xy += one * dx * dy, yy += one * dy * dy;
    }
    double along = 0.5 * atan2(2 * xy, xx - yy), c = -sin(along), s = cos(along);
    return (struct straight){(float)c, (float)s, (float)(c * mx + s * my)};
}

/* Cuts a piece to the stretch that is painted: balls and feet beside a line's end lie on it, too. False if that is not
 * long enough. */
static bool trim(const struct look *l, struct piece *p)
{
    double length = hypot(p->x1 - p->x0, p->y1 - p->y0), dx = (p->x1 - p->x0) / length, dy = (p->y1 - p->y0) / length;
    int32_t n = (int32_t)fmin(fmax(length / 0.05, 6), 60), first = 0, from = 0, to = -1, painted = 0, most = 0;
    double sum = 0, best = 0;
    for (int32_t i = 0; i <= n; i++) { /* the stretch with the largest sum */
        double way = length * i / n;
        bool paint = look_at(l, p->x0 + way * dx, p->y0 + way * dy, -dy, dx) == PAINT;
        if (sum <= 0) sum = 0, first = i, painted = 0;
        sum += paint ? 1 : -1.5;
        painted += paint;
        if (sum > best) best = sum, from = first, to = i, most = painted;
    }
    if (most < 4 || length * (to - from) / n < l->f->length) return false;
    double a = length * from / n, b = length * to / n;
    *p = (struct piece){p->x0 + a * dx, p->y0 + a * dy, p->x0 + b * dx, p->y0 + b * dy};
    return true;
}

/* m from a place to the nearer end of a piece, along its line; 0 on it */
static double beyond(const struct piece *p, double x, double y)
{
    double length = hypot(p->x1 - p->x0, p->y1 - p->y0);
    double way = ((x - p->x0) * (p->x1 - p->x0) + (y - p->y0) * (p->y1 - p->y0)) / length;
    return way < 0 ? -way : way > length ? way - length : 0;
}

static void add_piece(struct look *l, struct points *p, const uint16_t *at, uint32_t n)
{
    if (n < 5 || l->n_pieces == PIECES) return;
    struct straight g = fit(p, at, n);
    double from = INFINITY, to = -INFINITY;
    for (uint32_t k = 0; k < n; k++) {
        double way = -g.s * p->x[at[k]] + g.c * p->y[at[k]];
        from = fmin(from, way);
        to = fmax(to, way);
    }
    struct piece piece = {g.c * g.d - g.s * from, g.s * g.d + g.c * from, g.c * g.d - g.s * to, g.s * g.d + g.c * to};
    if (to - from < l->f->length || !trim(l, &piece)) return;
    l->pieces[l->n_pieces++] = piece;
    for (uint32_t k = 0; k < n; k++)
        if (beyond(&piece, p->x[at[k]], p->y[at[k]]) < 0.03) p->used[at[k]] = 1;
}

/* Cuts the points of a line where there is a gap. Those that become no piece are not tried again as this line. */
static void split(struct look *l, struct straight g)
{
    struct points *p = &l->points;
    uint16_t at[POINTS];
    float way[POINTS];
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!on_line(p, i, g)) continue;
        float w = -g.s * p->x[i] + g.c * p->y[i];
        uint32_t k = n++;
        for (; k && way[k - 1] > w; k--) way[k] = way[k - 1], at[k] = at[k - 1];
        way[k] = w;
        at[k] = (uint16_t)i;
    }
    uint32_t before = l->n_pieces;
    for (uint32_t k = 1; k <= n; k++) {
        if (k < n && way[k] - way[k - 1] < fmaxf(p->gap[at[k]], p->gap[at[k - 1]])) continue;
        add_piece(l, p, at + first, k - first);
        first = k;
    }
    if (l->n_pieces == before)
        for (uint32_t k = 0; k < n; k++) p->used[at[k]] |= 2;
}

/* Two points of one line have paint between them. */
static bool painted_between(const struct look *l, uint32_t i, uint32_t k)
{
    const struct points *p = &l->points;
    double dx = p->x[k] - p->x[i], dy = p->y[k] - p->y[i], d = hypot(dx, dy);
    uint32_t n = 0;
    for (int m = 1; m < 5; m++) n += look_at(l, p->x[i] + dx * m / 5, p->y[i] + dy * m / 5, -dy / d, dx / d) == PAINT;
    return n >= 3;
}

static void find_lines(struct look *l)
{
    struct points *p = &l->points;
    struct nm *nm = l->f->nm;
    for (int line = 0; line < LINES; line++) {
        struct straight best = {0};
        uint32_t most = 5, free[POINTS], n = 0;
        for (uint32_t i = 0; i < p->n; i++)
            if (!p->used[i]) free[n++] = i;
        for (int32_t t = 0; t < l->f->tries && n > most; t++) {
            /* two points close together: far ones mostly lie on different lines */
            uint32_t i = free[(uint32_t)(nm_random(nm) * n)], k = i;
            float dx = 0, dy = 0, d = 0;
            for (int again = 0; again < 6 && (d < 0.15f || d > 0.7f); again++) {
                k = free[(uint32_t)(nm_random(nm) * n)];
                dx = p->x[k] - p->x[i], dy = p->y[k] - p->y[i], d = hypotf(dx, dy);
            }
            if (d < 0.15f) continue;
            struct straight g = {-dy / d, dx / d, 0};
            g.d = g.c * p->x[i] + g.s * p->y[i];
            uint32_t count = count_line(p, g);
            if (count > most && painted_between(l, i, k)) most = count, best = g;
        }
        if (most <= 5) break;
        split(l, best);
    }
    for (uint32_t i = 0; i < p->n; i++) p->used[i] &= 1;
}

/* ---- telling ---- */

static Point pixel_point(const struct look *l, double x, double y)
{
    struct pixel at = {0};
    nm_camera_from_world(l->frame.lens, l->frame.camera_to_robot, (struct vec3){x, y, 0}, &at);
    return (Point){at.u, at.v, 0};
}

static float pixel_width(const struct look *l, double x, double y, double nx, double ny)
{
    double half = l->f->field.line_width / 2;
    Point a = pixel_point(l, x + half * nx, y + half * ny), b = pixel_point(l, x - half * nx, y - half * ny);
    return (float)hypot(a.x - b.x, a.y - b.y);
}

static LineSegmentInImage in_image(const struct look *l, const struct piece *p, double confidence)
{
    double length = fmax(hypot(p->x1 - p->x0, p->y1 - p->y0), 1e-6), nx = -(p->y1 - p->y0) / length,
           ny = (p->x1 - p->x0) / length;
    return (LineSegmentInImage){.header = l->f->image->header,
                                .start = pixel_point(l, p->x0, p->y0),
                                .end = pixel_point(l, p->x1, p->y1),
                                .start_width = pixel_width(l, p->x0, p->y0, nx, ny),
                                .end_width = pixel_width(l, p->x1, p->y1, nx, ny),
                                .confidence = (float)confidence};
}

static double sureness(const struct piece *p) { return 0.6 + 0.35 * fmin(hypot(p->x1 - p->x0, p->y1 - p->y0), 1); }

/* ---- crossings ---- */

/* Whether a line goes on from a place in a direction: PAINT, CARPET, or HIDDEN where that cannot be said. */
static enum paint arm(const struct look *l, double x, double y, double dx, double dy)
{
    static const double ways[] = {0.12, 0.15, 0.18, 0.21, 0.24};
    uint32_t count[4] = {0};
    for (int i = 0; i < 5; i++) count[look_at(l, x + ways[i] * dx, y + ways[i] * dy, -dy, dx)]++;
    if (count[PAINT] >= 4) return PAINT;
    return count[CARPET] >= 4 ? CARPET : HIDDEN;
}

static struct piece from_to(double x, double y, double dx, double dy, double ahead, double back)
{
    return (struct piece){x - back * dx, y - back * dy, x + ahead * dx, y + ahead * dy};
}

static void add_crossing(struct look *l, uint8_t type, double confidence, const struct piece *one,
                         const struct piece *other)
{
    LineIntersectionInImage *to = nm_append(&l->f->lines->intersections, &LineIntersectionInImage_type);
    if (!to) return;
    to->header = l->f->image->header;
    to->type = type;
    to->confidence = (float)confidence;
    to->segments[0] = in_image(l, one, confidence);
    to->segments[1] = in_image(l, other, confidence);
}

/* A piece of line goes on from a place in a direction, for as long as an arm. */
static bool reaches(const struct piece *p, double x, double y, const double d[2])
{
    return fmax((p->x0 - x) * d[0] + (p->y0 - y) * d[1], (p->x1 - x) * d[0] + (p->y1 - y) * d[1]) > 0.3;
}

static void judge_crossing(struct look *l, double x, double y, const struct piece *a, const struct piece *b)
{
    const double seen = 0.3;
    double la = hypot(a->x1 - a->x0, a->y1 - a->y0), lb = hypot(b->x1 - b->x0, b->y1 - b->y0);
    double d[4][2] = {{(a->x1 - a->x0) / la, (a->y1 - a->y0) / la}, {(b->x1 - b->x0) / lb, (b->y1 - b->y0) / lb}};
    enum paint arms[4];
    bool painted[4];
    uint32_t n = 0, hidden = 0;
    d[2][0] = -d[0][0], d[2][1] = -d[0][1], d[3][0] = -d[1][0], d[3][1] = -d[1][1];
    for (int i = 0; i < 4; i++) {
        arms[i] = arm(l, x, y, d[i][0], d[i][1]);
        if (arms[i] == HIDDEN) arms[i] = reaches(i % 2 ? b : a, x, y, d[i]) ? PAINT : HIDDEN;
        hidden += arms[i] == HIDDEN;
    }
    if (hidden > 1) return;
    for (int i = 0; i < 4; i++) {
        /* an arm that something hides: without it there is a crossing, or there must be one because its line ends here
         */
        if (arms[i] == HIDDEN) arms[i] = arms[(i + 2) % 4] == PAINT ? CARPET : PAINT;
        painted[i] = arms[i] == PAINT;
        n += painted[i];
    }
    const double sure = hidden ? 0.5 : 0.8;
    struct piece one, other;
    if (n == 4) {
        one = from_to(x, y, d[0][0], d[0][1], seen, seen);
        other = from_to(x, y, d[1][0], d[1][1], seen, seen);
        add_crossing(l, LineIntersectionInImage_X, sure, &one, &other);
    } else if (n == 3) { /* the stem is opposite of the arm that is missing */
        int stem = !painted[0] ? 2 : !painted[1] ? 3 : !painted[2] ? 0 : 1, bar = (stem + 1) % 4;
        one = from_to(x, y, d[stem][0], d[stem][1], seen, 0);
        other = from_to(x, y, d[bar][0], d[bar][1], seen, seen);
        add_crossing(l, LineIntersectionInImage_T, sure, &one, &other);
    } else if (n == 2 && painted[0] != painted[2]) {
        int first = painted[0] ? 0 : 2, second = painted[1] ? 1 : 3;
        one = from_to(x, y, d[first][0], d[first][1], seen, 0);
        other = from_to(x, y, d[second][0], d[second][1], seen, 0);
        add_crossing(l, LineIntersectionInImage_L, sure, &one, &other);
    }
}

static void find_crossings(struct look *l)
{
    double seen[CROSSINGS][2];
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n_pieces; i++)
        for (uint32_t k = i + 1; k < l->n_pieces && n < CROSSINGS; k++) {
            const struct piece *a = &l->pieces[i], *b = &l->pieces[k];
            double ax = a->x1 - a->x0, ay = a->y1 - a->y0, bx = b->x1 - b->x0, by = b->y1 - b->y0;
            double turn = remainder(atan2(ay, ax) - atan2(by, bx), M_PI), det = ax * by - ay * bx;
            if (fabs(fabs(turn) - M_PI / 2) > l->f->square || fabs(det) < 1e-9) continue;
            double t = ((b->x0 - a->x0) * by - (b->y0 - a->y0) * bx) / det, x = a->x0 + t * ax, y = a->y0 + t * ay;
            if (beyond(a, x, y) > 0.3 || beyond(b, x, y) > 0.3) continue;
            bool again = false;
            for (uint32_t m = 0; m < n; m++) again |= hypot(seen[m][0] - x, seen[m][1] - y) < 0.25;
            if (again) continue;
            seen[n][0] = x;
            seen[n++][1] = y;
            judge_crossing(l, x, y, a, b);
        }
}

/* The halfway line goes through the middle of the circle and crosses it twice. */
static void find_circle_crossings(struct look *l)
{
    double r = l->f->field.circle_radius;
    for (uint32_t i = 0; i < l->n_pieces; i++) {
        const struct piece *p = &l->pieces[i];
        double length = hypot(p->x1 - p->x0, p->y1 - p->y0), dx = (p->x1 - p->x0) / length,
               dy = (p->y1 - p->y0) / length;
        double off = -dy * (l->circle_x - p->x0) + dx * (l->circle_y - p->y0);
        double way = dx * (l->circle_x - p->x0) + dy * (l->circle_y - p->y0);
        if (fabs(off) > 0.12) continue;
        for (int s = -1; s <= 1; s += 2) {
            double x = p->x0 + (way + s * r) * dx, y = p->y0 + (way + s * r) * dy;
            struct pixel at;
            if (beyond(p, x, y) > 0.1 || !frame_pixel(&l->frame, x, y, 0, &at)) continue;
            struct piece one = from_to(x, y, dx, dy, 0.3, 0.3), other = from_to(x, y, -dy, dx, 0.2, 0.2);
            add_crossing(l, LineIntersectionInImage_X, 0.8, &one, &other);
        }
    }
}

/* ---- penalty marks ---- */

/* Something white, smaller than 30 cm, with carpet all around. */
static bool mark_at(const struct look *l, double *x, double *y)
{
    enum { N = 13, RING = 48, ROUNDS = 3 };
    struct pixel at;
    double ring = 0;
    for (int round = 0; round < ROUNDS; round++) { /* twice to its middle, then a strict look */
        uint8_t brightest = 0;
        uint32_t bad = 0, seen = 0, n = 0;
        double sum = 0, sx = 0, sy = 0;
        for (int i = 0; i < RING; i++) { /* two rings of carpet; lines that cross them are brighter, too */
            double c = cos(i * M_PI / 12), s = sin(i * M_PI / 12), r = i < RING / 2 ? 0.2 : 0.28;
            if (!frame_pixel(&l->frame, *x + r * c, *y + r * s, 0, &at)) continue;
            uint32_t u = (uint32_t)at.u, v = (uint32_t)at.v;
            bad += !frame_carpet(&l->frame, &l->carpet, u, v) ||
                   frame_y(&l->frame, u, v) - ring > l->f->contrast * l->f->color->y;
            sum += frame_y(&l->frame, u, v);
            seen++;
        }
        if (seen < RING * 3 / 4 || (round == ROUNDS - 1 && bad > 1)) return false; /* carpet has spots */
        ring = sum / seen;
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < N * N; i++) {
                double px = *x + 0.3 * (i % N) / (N - 1) - 0.15, py = *y + 0.3 * (i / N) / (N - 1) - 0.15;
                if (!frame_pixel(&l->frame, px, py, 0, &at)) return false;
                uint8_t bright = frame_y(&l->frame, (uint32_t)at.u, (uint32_t)at.v);
                if (!pass && bright > brightest) brightest = bright;
                if (!pass || bright < (ring + brightest) / 2) continue;
                n++;
                sx += px, sy += py;
            }
        if (brightest - ring < 2 * l->f->contrast * l->f->color->y || n < 3 || n > N * N / 2) return false;
        *x = sx / n;
        *y = sy / n;
    }
    return true;
}

static void find_marks(struct look *l)
{
    struct points *p = &l->points;
    const double size = 0.13;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->used[i]) continue;
        double x = 0, y = 0;
        uint32_t n = 0;
        for (uint32_t k = 0; k < p->n; k++)
            if (!p->used[k] && hypot(p->x[k] - p->x[i], p->y[k] - p->y[i]) < size) x += p->x[k], y += p->y[k], n++;
        double away = hypot(p->x[i], p->y[i]);
        if (n < 2 || away > 4) continue;
        x /= n, y /= n;
        for (uint32_t k = 0; k < p->n; k++)
            if (hypot(p->x[k] - x, p->y[k] - y) < 1.5 * size) p->used[k] = 1;
        if (l->circle && hypot(x - l->circle_x, y - l->circle_y) < 0.4) continue;
        if (!mark_at(l, &x, &y)) continue;
        Percept *to = nm_append(&l->f->features->percepts, &Percept_type);
        struct pixel at;
        if (!to || !frame_pixel(&l->frame, x, y, 0, &at)) continue;
        to->kind = Percept_PENALTY_MARK;
        to->confidence = 0.75f;
        to->center = (Point32){(float)at.u, (float)at.v, 0};
    }
}

/* ---- step ---- */

/* The first, the middle and the last point of its part in the image, from the one farthest to the left on. */
static void tell_circle(struct look *l)
{
    enum { N = 72 };
    struct pixel at, ends[3];
    double r = l->f->field.circle_radius, toward = atan2(l->circle_y, l->circle_x);
    uint32_t seen[N], n = 0;
    for (uint32_t i = 0; i < N; i++) {
        double turn = toward - i * 2 * M_PI / N;
        if (frame_pixel(&l->frame, l->circle_x + r * cos(turn), l->circle_y + r * sin(turn), 0, &at)) seen[n++] = i;
    }
    if (n < 3) return;
    for (uint32_t k = 0; k < 3; k++) {
        double turn = toward - seen[k * (n - 1) / 2] * 2 * M_PI / N;
        if (!frame_pixel(&l->frame, l->circle_x + r * cos(turn), l->circle_y + r * sin(turn), 0, &ends[k])) return;
    }
    LineCircleInImage *to = nm_append(&l->f->lines->circles, &LineCircleInImage_type);
    if (!to) return;
    to->header = l->f->image->header;
    to->left = (Point){ends[0].u, ends[0].v, 0};
    to->middle = (Point){ends[1].u, ends[1].v, 0};
    to->right = (Point){ends[2].u, ends[2].v, 0};
}

/* Line points in the image, as the thesis has them: x and y in pixels as 32-bit floats. */
static void tell_points(struct field_lines *f, const struct points *p)
{
    PointCloud2 *to = f->line_points;
    if (!nm_blob_take(f->nm, to, &to->data, POINTS * POINT_BYTES)) return;
    to->header = f->image->header;
    to->height = 1;
    to->width = p->n;
    to->point_step = POINT_BYTES;
    to->row_step = p->n * POINT_BYTES;
    to->is_dense = true;
    for (uint32_t k = 0; k < 2; k++) {
        PointField *field = nm_append(&to->fields, &PointField_type);
        *field = (PointField){.offset = 4 * k, .datatype = PointField_FLOAT32, .count = 1};
        nm_text(field->name, "%c", "xy"[k]);
    }
    for (uint32_t i = 0; i < p->n; i++) {
        const float at[2] = {p->u[i], p->v[i]};
        memcpy(to->data.data + (size_t)i * POINT_BYTES, at, sizeof at);
    }
    to->data.n = p->n * POINT_BYTES;
    nm_put(f->nm, to);
}

static __attribute__((noinline)) void show(const struct look *l)
{
    struct sketch s;
    const LineInformationInImage *lines = l->f->lines;
    sketch_begin(&s, &l->frame);
    for (uint32_t i = 0; i < l->points.n; i++) sketch_dot(&s, l->points.u[i], l->points.v[i], SKETCH_RED);
    for (uint32_t i = 0; i < lines->segments.n; i++) {
        const LineSegmentInImage *g = &lines->segments.at[i];
        sketch_line(&s, g->start.x, g->start.y, g->end.x, g->end.y, SKETCH_YELLOW);
    }
    for (uint32_t i = 0; i < lines->intersections.n; i++) {
        const LineIntersectionInImage *x = &lines->intersections.at[i];
        for (int k = 0; k < 2; k++)
            sketch_line(&s, x->segments[k].start.x, x->segments[k].start.y, x->segments[k].end.x, x->segments[k].end.y,
                        SKETCH_BLUE);
    }
    for (int i = 0; l->circle && i < 72; i++) {
        double r = l->f->field.circle_radius;
        Point p = pixel_point(l, l->circle_x + r * cos(i * M_PI / 36), l->circle_y + r * sin(i * M_PI / 36));
        sketch_dot(&s, p.x, p.y, SKETCH_GREEN);
    }
    for (uint32_t i = 0; i < l->f->features->percepts.n; i++)
        sketch_circle(&s, l->f->features->percepts.at[i].center.x, l->f->features->percepts.at[i].center.y, 10,
                      SKETCH_GREEN);
    sketch_show(&s, l->f->nm, "lines");
}

static void step(struct field_lines *f)
{
    struct look l = {.f = f};
    if (!nm_fresh(f->nm, f->segments) || !frame_take(f->nm, f->image, f->pose, &l.frame)) return;
    f->lines->header = f->features->header = f->image->header;
    nm_text(f->features->camera, "%s", f->image->header.frame_id);
    l.carpet = carpet_of(f->color);
    l.height = l.frame.camera_to_robot.pos.z;
    if (l.frame.level && f->color->confidence > 0) {
        find_points(&l);
        find_circle(&l);
        find_lines(&l);
        find_crossings(&l);
        find_marks(&l);
        for (uint32_t i = 0; i < l.n_pieces; i++) {
            LineSegmentInImage *to = nm_append(&f->lines->segments, &LineSegmentInImage_type);
            if (to) *to = in_image(&l, &l.pieces[i], sureness(&l.pieces[i]));
        }
        if (l.circle) {
            tell_circle(&l);
            find_circle_crossings(&l);
        }
        tell_points(f, &l.points);
        if (f->nm->watched) show(&l);
    }
    nm_put(f->nm, f->lines);
    nm_put(f->nm, f->features);
}

#define SELF struct field_lines
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(color, FieldColor, "field_color"),
    NM_IN(segments, ImageSegments, "image_segments"),
    NM_OUT(lines, LineInformationInImage, "lines_in_image"),
    NM_OUT(features, Percepts, "features_in_image"),
    NM_OUT(line_points, PointCloud2, "line_points_in_image", .blob = POINTS * POINT_BYTES),
    {0},
};
static const struct nm_param params[] = {
    NM_PITCH_PARAMS(field),
    NM_PARAM(range, 5, 0.5, 20, "m", "lines farther than this are left out"),
    NM_PARAM(contrast, 0.2, 0.02, 2, "1", "paint is brighter than what lies beside it by this share of the carpet's"),
    NM_PARAM(length, 0.25, 0.05, 3, "m", "shorter pieces are no lines"),
    NM_PARAM(square, 0.26, 0.02, 0.8, "rad", "how far a crossing may be from a right angle"),
    NM_PARAM(tries, 80, 5, 2000, "1", "pairs of points that are tried for each line and for the circle"),
    {0},
};
NM_MODULE(field_lines, "Lines, crossings, the centre circle and penalty marks in the image.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
