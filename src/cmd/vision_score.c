/* What was found in an image, held against what it shows, and drawn upon it. */
#include <math.h>

#include "base/clamp.h"
#include "cmd/vision_trial.h"

const char *const vision_kinds[VISION_KINDS] = {"ball", "post", "crossing", "mark", "circle", "robot", "line"};

const double vision_ranges[VISION_KINDS] = {4, 5, 3, 3, 3, 5, 3};

/* ---- scores ---- */

static int32_t kind_of(uint8_t percept)
{
    static const int8_t kinds[] = {[Percept_BALL] = VISION_BALL + 1,
                                   [Percept_GOAL_POST] = VISION_POST + 1,
                                   [Percept_CROSSING_L] = VISION_CROSSING + 1,
                                   [Percept_CROSSING_T] = VISION_CROSSING + 1,
                                   [Percept_CROSSING_X] = VISION_CROSSING + 1,
                                   [Percept_PENALTY_MARK] = VISION_MARK + 1,
                                   [Percept_CENTER_CIRCLE] = VISION_CIRCLE + 1,
                                   [Percept_ROBOT] = VISION_ROBOT + 1,
                                   [Percept_MATE] = VISION_ROBOT + 1,
                                   [Percept_RIVAL] = VISION_ROBOT + 1};
    return percept < sizeof kinds ? kinds[percept] - 1 : -1;
}

double vision_hit_radius(double x, double y) { return 0.05 + 0.1 * hypot(x, y); }

static bool placed_hit(const struct vision_thing *t, const Percept *p)
{
    bool same = t->kind != VISION_CROSSING || t->percept == p->kind;
    return same && p->located && hypot(t->x - p->position.x, t->y - p->position.y) <= vision_hit_radius(t->x, t->y);
}

/* Boxes must overlap; what has none must have its middle in the other box, or its foot just below. */
static bool boxed_hit(const struct vision_thing *t, const Percept *p)
{
    if (t->kind == VISION_CROSSING && t->percept != p->kind) return false;
    if (!p->box.width)
        return fabs((double)p->center.x - t->left - t->wide / 2) < t->wide / 2 + 4 &&
               fabs((double)p->center.y - t->top - t->high / 2) < t->high / 2 + 4;
    double left = fmax(t->left, p->box.x_offset), right = fmin(t->left + t->wide, p->box.x_offset + p->box.width);
    double top = fmax(t->top, p->box.y_offset), bottom = fmin(t->top + t->high, p->box.y_offset + p->box.height);
    double both = fmax(right - left, 0) * fmax(bottom - top, 0);
    return both > 0.3 * (t->wide * t->high + (double)p->box.width * p->box.height - both);
}

static void score_things(const struct vision_truth *truth, const Percepts *percepts, struct vision_score *s)
{
    bool taken[64] = {false};
    for (uint32_t i = 0; i < truth->n; i++) {
        const struct vision_thing *t = &truth->things[i];
        if (t->kind == VISION_LINE) continue;
        int32_t best = -1;
        for (uint32_t k = 0; percepts && k < percepts->percepts.n; k++) {
            const Percept *p = &percepts->percepts.at[k];
            if (taken[k] || kind_of(p->kind) != (int32_t)t->kind) continue;
            if (truth->placed ? !placed_hit(t, p) : !boxed_hit(t, p)) continue;
            if (best < 0 || p->confidence > percepts->percepts.at[best].confidence) best = (int32_t)k;
        }
        double away = hypot(t->x, t->y);
        uint32_t ring = away < VISION_RINGS ? (uint32_t)away : VISION_RINGS - 1;
        if (t->counts) s->there[t->kind]++, s->ring_there[t->kind][ring]++;
        if (best < 0) {
            if (t->counts && s->list)
                fprintf(s->list, "%s: missed %s at %.2f %.2f m\n", s->name, vision_kinds[t->kind], t->x, t->y);
            continue;
        }
        const Percept *p = &percepts->percepts.at[best];
        taken[best] = true;
        if (!t->counts) continue;
        s->found[t->kind]++;
        s->ring_found[t->kind][ring]++;
        if (!truth->placed) continue;
        s->error[t->kind] += hypot(t->x - p->position.x, t->y - p->position.y);
        s->share[t->kind] += fabs(hypot(p->position.x, p->position.y) - away) / fmax(away, 0.1);
    }
    for (uint32_t k = 0; percepts && k < percepts->percepts.n; k++) {
        const Percept *p = &percepts->percepts.at[k];
        int32_t kind = kind_of(p->kind);
        if (kind < 0 || !truth->complete[kind]) continue;
        if (truth->placed && !(p->located && hypot(p->position.x, p->position.y) <= vision_ranges[kind])) continue;
        s->told[kind]++;
        s->right[kind] += taken[k];
        if (!taken[k] && s->list)
            fprintf(s->list, "%s: false %s at %.2f %.2f m, pixel %.0f %.0f, confidence %.2f\n", s->name,
                    vision_kinds[kind], p->position.x, p->position.y, (double)p->center.x, (double)p->center.y,
                    (double)p->confidence);
    }
}

static double off_line(double x, double y, double x0, double y0, double x1, double y1)
{
    double dx = x1 - x0, dy = y1 - y0, l2 = fmax(dx * dx + dy * dy, 1e-12);
    double t = fmin(fmax(((x - x0) * dx + (y - y0) * dy) / l2, 0), 1);
    return hypot(x - x0 - t * dx, y - y0 - t * dy);
}

/* Lines are scored by their length, every 10 cm. */
static void score_lines(const struct vision_truth *truth, const LineInformationRelative *lines, struct vision_score *s)
{
    for (uint32_t i = 0; i < truth->n; i++) {
        const struct vision_thing *t = &truth->things[i];
        if (t->kind != VISION_LINE || !t->counts) continue;
        uint32_t n = (uint32_t)ceil(hypot(t->x1 - t->x, t->y1 - t->y) / 0.1);
        for (uint32_t k = 0; k < n; k++) {
            double x = t->x + (t->x1 - t->x) * (k + 0.5) / n, y = t->y + (t->y1 - t->y) * (k + 0.5) / n;
            double away = hypot(x, y), best = INFINITY;
            if (away > vision_ranges[VISION_LINE]) continue;
            for (uint32_t m = 0; lines && m < lines->segments.n; m++) {
                const LineSegmentRelative *g = &lines->segments.at[m];
                best = fmin(best, off_line(x, y, g->start.x, g->start.y, g->end.x, g->end.y));
            }
            s->there[VISION_LINE]++;
            s->ring_there[VISION_LINE][(uint32_t)away]++;
            if (best > vision_hit_radius(x, y)) continue;
            s->found[VISION_LINE]++;
            s->ring_found[VISION_LINE][(uint32_t)away]++;
            s->error[VISION_LINE] += best;
        }
    }
    for (uint32_t m = 0; lines && m < lines->segments.n; m++) {
        const LineSegmentRelative *g = &lines->segments.at[m];
        uint32_t n = (uint32_t)ceil(hypot(g->end.x - g->start.x, g->end.y - g->start.y) / 0.1);
        for (uint32_t k = 0; k < n; k++) {
            double x = g->start.x + (g->end.x - g->start.x) * (k + 0.5) / n,
                   y = g->start.y + (g->end.y - g->start.y) * (k + 0.5) / n, best = INFINITY;
            if (hypot(x, y) > vision_ranges[VISION_LINE]) continue;
            for (uint32_t i = 0; i < truth->n; i++) {
                const struct vision_thing *t = &truth->things[i];
                if (t->kind == VISION_LINE) best = fmin(best, off_line(x, y, t->x, t->y, t->x1, t->y1));
            }
            s->told[VISION_LINE]++;
            s->right[VISION_LINE] += best <= vision_hit_radius(x, y);
        }
    }
}

static bool on_carpet(const struct vision_truth *t, double u, double v)
{
    struct vec3 at;
    return nm_camera_to_ground(&t->lens, t->camera_to_field, (struct pixel){u, v}, 0, &at) &&
           fabs(at.x) < t->carpet_x && fabs(at.y) < t->carpet_y;
}

/* Mean distance of the border in its columns, where the real one is in the image. */
static void score_border(const struct vision_truth *truth, const FieldBorder *border, struct vision_score *s)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < border->in_image.n; i++) {
        const Point32 *p = &border->in_image.at[i];
        uint32_t v = truth->lens.height - 1;
        if (!border->seen.at[i] || !on_carpet(truth, p->x, v)) continue;
        while (v > 0 && on_carpet(truth, p->x, v - 1)) v--;
        if (!v) continue;
        sum += fabs((double)p->y - v);
        n++;
    }
    if (n < 4) return;
    s->border += sum / n;
    s->borders++;
}

void vision_score(const struct vision_truth *truth, const struct vision_found *found, struct vision_score *s)
{
    s->images++;
    s->seconds += 1e-9 * (double)found->busy;
    s->slowest = fmax(s->slowest, 1e-9 * (double)found->busy);
    score_things(truth, found->percepts, s);
    if (truth->placed) score_lines(truth, found->lines, s);
    if (truth->border_known && found->border) score_border(truth, found->border, s);
}

/* ---- pictures ---- */

static void dot(uint8_t *rgb, uint32_t w, uint32_t h, double u, double v, uint32_t colour)
{
    if (!(u >= 0 && v >= 0 && u < w && v < h)) return;
    uint8_t *p = rgb + 3 * ((size_t)v * w + (size_t)u);
    p[0] = (uint8_t)(colour >> 16), p[1] = (uint8_t)(colour >> 8), p[2] = (uint8_t)colour;
}

static void stroke(uint8_t *rgb, uint32_t w, uint32_t h, double u0, double v0, double u1, double v1, uint32_t colour)
{
    double n = fmin(fmax(fmax(fabs(u1 - u0), fabs(v1 - v0)), 1), 8192);
    for (double i = 0; i <= n; i++)
        for (int k = 0; k < 2; k++) dot(rgb, w, h, u0 + (u1 - u0) * i / n + k, v0 + (v1 - v0) * i / n, colour);
}

static void ring(uint8_t *rgb, uint32_t w, uint32_t h, double u, double v, double r, uint32_t colour)
{
    for (int i = 0; i < 64; i++)
        stroke(rgb, w, h, u + r * cos(i * M_PI / 32), v + r * sin(i * M_PI / 32), u + r * cos((i + 1) * M_PI / 32),
               v + r * sin((i + 1) * M_PI / 32), colour);
}

void vision_draw(const uint8_t *yuyv, uint32_t width, uint32_t height, const struct nm_camera *lens,
                 const struct pose3 *camera_to_robot, const struct vision_found *found, uint8_t *rgb)
{
    static const uint32_t colours[VISION_KINDS] = {0xff3030, 0xffff00, 0x40a0ff, 0xff40ff,
                                                   0x40ffff, 0xff9000, 0xffff80};
    for (size_t i = 0; i < (size_t)width * height; i++) {
        const uint8_t *p = yuyv + 4 * (i / 2);
        double y = p[2 * (i & 1)], u = p[1] - 128.0, v = p[3] - 128.0;
        const double c[3] = {y + 1.402 * v, y - 0.344 * u - 0.714 * v, y + 1.772 * u};
        for (int k = 0; k < 3; k++) rgb[3 * i + (size_t)k] = (uint8_t)fmin(fmax(c[k], 0), 255);
    }
    for (uint32_t i = 1; found->border && i < found->border->in_image.n; i++) {
        const Point32 *a = &found->border->in_image.at[i - 1], *b = a + 1;
        if (found->border->seen.at[i - 1] && found->border->seen.at[i])
            stroke(rgb, width, height, a->x, a->y, b->x, b->y, 0xffffff);
    }
    for (uint32_t i = 0; found->lines && camera_to_robot && i < found->lines->segments.n; i++) {
        const LineSegmentRelative *g = &found->lines->segments.at[i];
        struct pixel a, b;
        if (nm_camera_from_world(lens, *camera_to_robot, (struct vec3){g->start.x, g->start.y, 0}, &a) &&
            nm_camera_from_world(lens, *camera_to_robot, (struct vec3){g->end.x, g->end.y, 0}, &b))
            stroke(rgb, width, height, a.u, a.v, b.u, b.v, 0x4040ff);
    }
    for (uint32_t i = 0; found->candidates && i < found->candidates->candidates.n; i++) {
        const BallInImage *b = &found->candidates->candidates.at[i];
        ring(rgb, width, height, b->center.x, b->center.y, b->diameter / 2, 0x804040);
    }
    for (uint32_t i = 0; found->percepts && i < found->percepts->percepts.n; i++) {
        const Percept *p = &found->percepts->percepts.at[i];
        int32_t kind = kind_of(p->kind);
        uint32_t colour = kind < 0 ? 0x808080 : colours[kind];
        double u = p->center.x, v = p->center.y, x0 = p->box.x_offset, y0 = p->box.y_offset, x1 = x0 + p->box.width,
               y1 = y0 + p->box.height;
        if (kind == VISION_BALL)
            ring(rgb, width, height, u, v, fmax(p->box.width / 2.0, 4), colour);
        else
            ring(rgb, width, height, u, v, kind == VISION_CROSSING ? 5 + 4 * (p->kind - Percept_CROSSING_L) : 6,
                 colour);
        if (kind == VISION_BALL || !p->box.width) continue;
        stroke(rgb, width, height, x0, y0, x1, y0, colour);
        stroke(rgb, width, height, x0, y1, x1, y1, colour);
        stroke(rgb, width, height, x0, y0, x0, y1, colour);
        stroke(rgb, width, height, x1, y0, x1, y1, colour);
    }
}
