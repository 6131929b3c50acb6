/* Where the carpet ends (HULKs 2017, section 5.5; B-Human 2013, section 2.4). In each column, from below upwards, the
 * place up to which there is most carpet; through these places a line by RANSAC, and a second one if it stands about
 * at a right angle on the ground. Things on the field hide the border but never raise it, so places far below a line do
 * not speak against it. A camera that looks over another one's head goes on where that one ended: in columns whose
 * ground the lower camera has seen to lie beyond the border, nothing is looked for. */
#include <stdlib.h>

#include "geometry_msgs/Point32.h"
#include "modules/vision/sketch.h"
#include "nutmeg_msgs/ImageSegments.h"

struct field_border {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const ImageSegments *segments;
    const FieldBorder *below; /* of the lower camera */
    /* out */
    FieldBorder *border;
    /* params */
    float tolerance, support;
    int32_t tries;
};

enum { COLUMNS = FRAME_SIDE / 2, POINTS = 33 };

struct places {
    uint32_t n;
    double u[COLUMNS], v[COLUMNS]; /* px                                         */
    double x[COLUMNS], y[COLUMNS]; /* as a lens without distortion sees them     */
    bool used[COLUMNS], top[COLUMNS];
};

/* Every row of carpet counts for, every other one against the border above it; lines on the carpet do neither. */
static uint32_t highest_carpet(const ImageSegment *g, uint32_t n, bool *top)
{
    double score = 0, best = 0;
    uint32_t at = UINT32_MAX;
    for (uint32_t i = n; i-- > 0;) {
        double length = g[i].end - g[i].begin;
        bool line = g[i].label == ImageSegment_LINE && i && g[i - 1].label == ImageSegment_FIELD && length < 40;
        if (g[i].label == ImageSegment_BODY || line) continue;
        score += g[i].label == ImageSegment_FIELD ? length : -2 * length;
        if (score <= best) continue;
        best = score;
        at = g[i].begin;
        *top = i == 0;
    }
    return at;
}

/* True if the lower camera has seen the border on this side of where the column begins; then `at` is the border there.
 */
static bool ended_below(const struct field_border *f, const struct frame *frame, double u, struct vec3 *at)
{
    struct vec3 foot;
    bool fresh = llabs(nm_stamp_ns(f->below->header.stamp) - nm_stamp_ns(f->image->header.stamp)) < nm_ns(0.1);
    if (!fresh || !frame_ground(frame, u, frame->height - 1, &foot)) return false;
    double bearing = atan2(foot.y, foot.x);
    for (uint32_t i = 1; i < f->below->points.n; i++) {
        const Point32 *a = &f->below->points.at[i - 1], *b = a + 1; /* from left to right */
        double left = atan2(a->y, a->x), right = atan2(b->y, b->x), share = (left - bearing) / fmax(left - right, 1e-6);
        if (!f->below->seen.at[i - 1] || !f->below->seen.at[i] || bearing > left || bearing < right) continue;
        *at = (struct vec3){a->x + share * (b->x - a->x), a->y + share * (b->y - a->y), 0};
        return hypot(at->x, at->y) < hypot(foot.x, foot.y);
    }
    return false;
}

static void find_places(const struct field_border *f, const struct frame *frame, struct places *p)
{
    const ImageSegments *s = f->segments;
    p->n = 0;
    for (uint32_t i = 0, next; i < s->vertical.n && p->n < COLUMNS; i = next) {
        next = i + 1;
        while (next < s->vertical.n && s->vertical.at[next].line == s->vertical.at[i].line) next++;
        bool top = false;
        uint32_t v = highest_carpet(&s->vertical.at[i], next - i, &top);
        struct vec3 d = {(s->vertical.at[i].line - frame->width / 2.0) / frame->width, 0, 1};
        struct vec3 ended;
        if (v == UINT32_MAX || ended_below(f, frame, s->vertical.at[i].line, &ended)) continue;
        d.y = (v - frame->height / 2.0) / frame->width;
        p->u[p->n] = s->vertical.at[i].line;
        p->v[p->n] = v;
        if (frame->lens && !nm_camera_unproject(frame->lens, (struct pixel){p->u[p->n], v}, &d)) continue;
        p->x[p->n] = d.x / d.z;
        p->y[p->n] = d.y / d.z;
        p->top[p->n] = top;
        p->used[p->n++] = false;
    }
}

struct edge { /* y = a x + b */
    double a, b;
    uint32_t n;
};

static struct edge ransac(const struct field_border *f, const struct places *p, double tolerance)
{
    struct edge best = {0};
    double best_score = 0;
    for (int32_t t = 0; t < f->tries; t++) {
        uint32_t i = (uint32_t)(nm_random(f->nm) * p->n), k = (uint32_t)(nm_random(f->nm) * p->n);
        double dx = p->x[i] - p->x[k];
        if (p->used[i] || p->used[k] || fabs(dx) < 10 * tolerance) continue;
        struct edge e = {.a = (p->y[i] - p->y[k]) / dx};
        e.b = p->y[i] - e.a * p->x[i];
        double score = 0;
        for (uint32_t m = 0; m < p->n; m++) {
            double below = p->y[m] - (e.a * p->x[m] + e.b); /* y points down */
            if (p->used[m]) continue;
            if (fabs(below) < tolerance) score += 1, e.n++;
            if (below < -2 * tolerance) score -= 0.7; /* carpet beyond the border */
        }
        if (score <= best_score) continue;
        best_score = score;
        best = e;
    }
    return best;
}

/* Least squares over what lies near a line; takes these places out. */
static void refine(struct places *p, struct edge *e, double tolerance)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->used[i] || fabs(p->y[i] - (e->a * p->x[i] + e->b)) > tolerance) continue;
        p->used[i] = true;
        sx += p->x[i], sy += p->y[i], sxx += p->x[i] * p->x[i], sxy += p->x[i] * p->y[i], n++;
    }
    double det = n * sxx - sx * sx;
    if (!(det > 1e-9)) return;
    e->a = (n * sxy - sx * sy) / det;
    e->b = (sy - e->a * sx) / n;
}

/* Direction on the ground of a line in the image; false if it runs above the horizon. */
static bool on_ground(const struct frame *frame, const struct edge *e, double x0, double x1, double *angle)
{
    struct vec3 at[2];
    for (int k = 0; k < 2; k++) {
        double x = k ? x1 : x0;
        struct vec3 d = quat_apply(frame->camera_to_robot.rot, (struct vec3){x, e->a * x + e->b, 1});
        if (!(d.z < -1e-3)) return false;
        at[k] = vec3_scale(d, -frame->camera_to_robot.pos.z / d.z);
    }
    *angle = atan2(at[1].y - at[0].y, at[1].x - at[0].x);
    return true;
}

static bool about_square(const struct frame *frame, const struct edge *a, const struct edge *b)
{
    double one, other, middle = fabs(a->a - b->a) > 1e-6 ? (b->b - a->b) / (a->a - b->a) : 0;
    if (!frame->level) return true;
    if (!on_ground(frame, a, middle, middle + 0.05, &one) || !on_ground(frame, b, middle, middle + 0.05, &other))
        return false;
    return fabs(fabs(remainder(one - other, M_PI)) - M_PI / 2) < 0.5;
}

static void tell(struct field_border *f, const struct frame *frame, const struct edge *e, uint32_t n)
{
    FieldBorder *to = f->border;
    for (uint32_t i = 0; i < POINTS; i++) {
        double u = (frame->width - 1.0) * i / (POINTS - 1), v = 0;
        struct vec3 d = {(u - frame->width / 2.0) / frame->width, 0, 1}, at = {0};
        bool seen = n > 0;
        for (int k = 0; n && k < 3; k++) { /* along the column: distortion moves x a little with y */
            if (frame->lens && !nm_camera_unproject(frame->lens, (struct pixel){u, v}, &d)) break;
            double x = d.x / d.z, y = -INFINITY;
            for (uint32_t m = 0; m < n; m++) y = fmax(y, e[m].a * x + e[m].b); /* the field is convex */
            struct pixel pixel = {u, frame->width * y + frame->height / 2.0};
            if (frame->lens && !nm_camera_project(frame->lens, (struct vec3){x, y, 1}, &pixel)) break;
            v = pixel.v;
        }
        seen = seen && v >= 1 && v < frame->height;
        v = fmin(fmax(v, 0), frame->height - 1);
        bool far = !frame_ground(frame, u, v, &at);
        if (ended_below(f, frame, u, &at)) seen = false, v = frame->height - 1;
        to->in_image.at[to->in_image.n++] = (Point32){(float)u, (float)v, 0};
        to->points.at[to->points.n++] = (Point32){(float)at.x, (float)at.y, 0};
        to->seen.at[to->seen.n++] = seen && !far;
    }
}

static __attribute__((noinline)) void show(const struct field_border *f, const struct frame *frame,
                                           const struct places *p)
{
    struct sketch s;
    sketch_begin(&s, frame);
    for (uint32_t i = 0; i < p->n; i++) sketch_dot(&s, p->u[i], p->v[i], p->used[i] ? SKETCH_GREEN : SKETCH_RED);
    for (uint32_t i = 1; i < f->border->in_image.n; i++) {
        const Point32 *a = &f->border->in_image.at[i - 1], *b = a + 1;
        sketch_line(&s, a->x, a->y, b->x, b->y, SKETCH_YELLOW);
    }
    sketch_show(&s, f->nm, "border");
}

static void step(struct field_border *f)
{
    struct frame frame;
    struct places p;
    if (!nm_fresh(f->nm, f->segments) || !frame_take(f->nm, f->image, f->pose, &frame)) return;
    f->border->header.stamp = f->image->header.stamp;
    nm_text(f->border->header.frame_id, "base_footprint");
    find_places(f, &frame, &p);
    double tolerance = f->tolerance / (frame.lens ? frame.lens->fy : frame.width);
    uint32_t tops = 0, n = 0, least = (uint32_t)(f->support * (float)p.n);
    for (uint32_t i = 0; i < p.n; i++) {
        tops += p.top[i];
        p.used[i] = p.top[i]; /* carpet up to the horizon or the image's upper edge shows no border */
    }
    struct edge edges[2];
    if (p.n - tops >= 8) {
        edges[0] = ransac(f, &p, tolerance);
        n = edges[0].n >= (least > 6 ? least : 6);
        if (n) refine(&p, &edges[0], tolerance);
    }
    if (n) {
        edges[1] = ransac(f, &p, tolerance);
        if (edges[1].n >= (least > 6 ? least : 6) && about_square(&frame, &edges[0], &edges[1])) {
            refine(&p, &edges[1], tolerance);
            n = 2;
        }
    }
    tell(f, &frame, edges, n);
    if (f->nm->watched) show(f, &frame, &p);
    nm_put(f->nm, f->border);
}

#define SELF struct field_border
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),          NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(segments, ImageSegments, "image_segments"), NM_IN(below, FieldBorder, "field_border_below", .optional = true),
    NM_OUT(border, FieldBorder, "field_border"),      {0},
};
static const struct nm_param params[] = {
    NM_PARAM(tolerance, 3, 0.5, 40, "px", "distance of a column's place to a line that it supports"),
    NM_PARAM(support, 0.15, 0.02, 1, "1", "share of the columns that must support a line"),
    NM_PARAM(tries, 60, 5, 1000, "1", "pairs of columns that are tried for each line"),
    {0},
};
NM_MODULE(field_border, "Where the carpet ends, as one or two straight lines.", NM_PORTS(ports), NM_PARAMS(params),
          .step = NM_CALL(step))
