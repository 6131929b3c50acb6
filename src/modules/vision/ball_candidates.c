/* Places in the image that may be a ball: not carpet inside, partly white, carpet around it, of the size that a ball
 * has there. Sums of the colour classes make each look a handful of additions. Where the ball is expected, less is
 * enough, and what is there is a candidate in any case (HULKs 2017, section 5.7.1). Who reads the candidates decides: a
 * classic check or a network. */
#include "humanoid_league_msgs/BallsInImage.h"
#include "modules/vision/regions.h"
#include "modules/vision/sketch.h"

enum { HALF = FRAME_SIDE / 2, FOUND = 512, KEPT = 24 };

struct ball_candidates {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const Image *classes;
    const FieldBorder *border;
    const RegionsOfInterest *regions;
    /* out */
    BallsInImage *candidates;
    /* params */
    float radius, least_radius, filled, white, around, ease;
    int32_t most;
};

struct found {
    float u, v, r, score; /* px of the image of classes, which has half the size */
};

struct search {
    const struct ball_candidates *f;
    uint32_t w, h;
    uint16_t field[(HALF + 1) * (HALF + 1)], white[(HALF + 1) * (HALF + 1)];
    float border[HALF]; /* row of the image in each column */
    uint32_t n;
    struct found found[FOUND];
};

/* Share of a class in a rectangle that may reach beyond the image; negative if less than half of it lies inside. */
static float share(const struct search *s, const uint16_t *table, float x0, float y0, float x1, float y1)
{
    float area = (x1 - x0) * (y1 - y0);
    uint32_t a = x0 > 0 ? (uint32_t)x0 : 0, b = y0 > 0 ? (uint32_t)y0 : 0, c = x1 > 0 ? (uint32_t)(x1 + 0.5f) : 0,
             d = y1 > 0 ? (uint32_t)(y1 + 0.5f) : 0;
    if (c > s->w) c = s->w;
    if (d > s->h) d = s->h;
    if (c <= a || d <= b) return -1;
    float inside = (float)((c - a) * (d - b));
    if (inside < 0.5f * area) return -1;
    return (float)summed(table, s->w, a, b, c, d) / inside;
}

/* ease: share of the limits that is enough */
static float score_at(const struct search *s, float u, float v, float r, float ease)
{
    float a = 0.7f * r;
    float carpet = share(s, s->field, u - a, v - a, u + a, v + a);
    if (carpet < 0 || 1 - carpet < ease * s->f->filled) return 0;
    float white = share(s, s->white, u - a, v - a, u + a, v + a);
    if (white < ease * s->f->white) return 0;
    /* beside and below it: the two of these with most carpet */
    float beside[3] = {share(s, s->field, u - 2 * r, v - 0.5f * r, u - 1.2f * r, v + r),
                       share(s, s->field, u + 1.2f * r, v - 0.5f * r, u + 2 * r, v + r),
                       share(s, s->field, u - 0.8f * r, v + 1.15f * r, u + 0.8f * r, v + 1.8f * r)};
    float sum = 0, least = 2;
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (beside[i] >= 0) {
            sum += beside[i];
            least = fminf(least, beside[i]);
            n++;
        }
    if (!n) return 0;
    float around = n == 3 ? (sum - least) / 2 : sum / (float)n;
    return around < ease * s->f->around ? 0 : 1 - carpet + around + 0.3f * white;
}

static void add(struct search *s, struct found c)
{
    for (uint32_t i = 0; i < s->n; i++) { /* of two that overlap the better one stays */
        struct found *o = &s->found[i];
        float du = o->u - c.u, dv = o->v - c.v, near = 0.8f * fmaxf(o->r, c.r);
        if (du * du + dv * dv > near * near) continue;
        if (c.score > o->score) *o = c;
        return;
    }
    if (s->n < FOUND) s->found[s->n++] = c;
}

static void search_row(struct search *s, float v, float r_left, float r_right)
{
    for (float u = 0; u < (float)s->w;) {
        float r = r_left + (r_right - r_left) * u / (float)s->w;
        float step = fmaxf(1, r / 3);
        /* the middle of a ball on the field lies below the border */
        bool on_field = 2 * v > s->border[(uint32_t)u];
        if (on_field && r >= 1.2f && r < (float)s->h) {
            float score = score_at(s, u, v, r, 1);
            if (score > 0) add(s, (struct found){u, v, r, score});
        }
        u += step;
    }
}

/* The radius of a ball on the ground is nearly a linear function of the pixel: exactly that without distortion. */
static void search_level(struct search *s, const struct frame *frame)
{
    double left = frame_ball(frame, frame->width * 0.2, frame->height - 1, s->f->radius) / 2,
           right = frame_ball(frame, frame->width * 0.8, frame->height - 1, s->f->radius) / 2;
    uint32_t hl = frame_horizon(frame, frame->width * 0.2) / 2, hr = frame_horizon(frame, frame->width * 0.8) / 2;
    if (left <= 0 || right <= 0 || hl >= s->h || hr >= s->h) return;
    /* where the horizon lies above the image, one more look tells how the radius shrinks upwards */
    double top_left = frame_ball(frame, frame->width * 0.2, 2 * hl + 4, s->f->radius) / 2,
           top_right = frame_ball(frame, frame->width * 0.8, 2 * hr + 4, s->f->radius) / 2;
    for (float v = (float)(hl < hr ? (int32_t)hl : (int32_t)hr); v < (float)s->h;) {
        double kl = ((double)v - hl - 2) / fmax(s->h - 1.0 - hl - 2, 1);
        double kr = ((double)v - hr - 2) / fmax(s->h - 1.0 - hr - 2, 1);
        double l = top_left + kl * (left - top_left), r = top_right + kr * (right - top_right);
        double slope = (r - l) / 0.6;
        search_row(s, v, (float)(l - 0.2 * slope), (float)(r + 0.2 * slope));
        v += fmaxf(1, (float)fmin(l, r) / 3);
    }
}

/* Without a pose a ball may have any size. */
static void search_sizes(struct search *s)
{
    for (float r = s->f->least_radius; r < (float)s->h / 3; r *= 1.3f)
        for (float v = (float)s->h / 5; v < (float)s->h; v += fmaxf(1, r / 3)) search_row(s, v, r, r);
}

/* Looks densely where the ball is expected, for a ball of about the expected size. The best place becomes the first
 * candidate; without one, the middle of the region. */
static void search_region(const struct search *s, const struct frame *frame, const RegionOfInterest *region,
                          BallsInImage *to)
{
    float left = (float)region->x_offset / 2, top = (float)region->y_offset / 2;
    float right = left + (float)region->width / 2, bottom = top + (float)region->height / 2;
    struct found best = {(left + right) / 2, (top + bottom) / 2, 0, 0};
    best.r = (float)frame_ball(frame, 2 * (double)best.u, 2 * (double)best.v, s->f->radius) / 2;
    for (float v = top, step = 1; v < bottom; v += step) {
        float r0 = (float)frame_ball(frame, (double)(left + right), 2 * (double)v, s->f->radius) / 2;
        step = fmaxf(1, r0 / 5);
        for (float r = 0.85f * r0; r >= 1.2f && r < 1.2f * r0; r += 0.15f * r0)
            for (float u = left; u < right; u += step) {
                float score = score_at(s, u, v, r, s->f->ease);
                if (score > best.score) best = (struct found){u, v, r, score};
            }
    }
    BallInImage *ball = best.r > 0 ? nm_append(&to->candidates, &BallInImage_type) : NULL;
    if (ball)
        *ball = (BallInImage){
            s->f->image->header, {2 * best.u, 2 * best.v, 0}, 4 * best.r, fmaxf(fminf(best.score / 2.3f, 1), 0.3f)};
}

static __attribute__((noinline)) void show(const struct ball_candidates *f, const struct frame *frame)
{
    struct sketch s;
    sketch_begin(&s, frame);
    for (uint32_t i = 0; i < f->candidates->candidates.n; i++) {
        const BallInImage *b = &f->candidates->candidates.at[i];
        sketch_circle(&s, b->center.x, b->center.y, b->diameter / 2, b->confidence > 0.5f ? SKETCH_GREEN : SKETCH_RED);
    }
    sketch_show(&s, f->nm, "candidates");
}

static void step(struct ball_candidates *f)
{
    struct frame frame;
    struct search s;
    BallsInImage *out = f->candidates;
    if (!nm_fresh(f->nm, f->classes) || !frame_take(f->nm, f->image, f->pose, &frame)) return;
    if (f->classes->width != frame.width / 2 || f->classes->height != frame.height / 2) return;
    out->header = f->image->header;
    s.f = f;
    s.w = f->classes->width;
    s.h = f->classes->height;
    s.n = 0;
    bool bordered = nm_stamp_ns(f->border->header.stamp) == nm_stamp_ns(f->image->header.stamp);
    for (uint32_t i = 0; i < s.w; i++) s.border[i] = bordered ? (float)border_at(f->border, 2.0 * i) : 0;
    sum_class(f->classes->data.data, s.w, s.h, CLASS_FIELD, s.field);
    sum_class(f->classes->data.data, s.w, s.h, CLASS_WHITE, s.white);
    if (frame.level)
        search_level(&s, &frame);
    else
        search_sizes(&s);
    bool expected = nm_stamp_ns(f->regions->header.stamp) == nm_stamp_ns(f->image->header.stamp) && frame.level;
    for (uint32_t i = 0; expected && i < f->regions->regions.n; i++)
        search_region(&s, &frame, &f->regions->regions.at[i], out);
    BallInImage *to;
    for (int32_t k = 0; k < f->most; k++) {
        uint32_t best = s.n;
        for (uint32_t i = 0; i < s.n; i++)
            if (s.found[i].score > 0 && (best == s.n || s.found[i].score > s.found[best].score)) best = i;
        if (best == s.n || !(to = nm_append(&out->candidates, &BallInImage_type))) break;
        struct found *c = &s.found[best];
        to->header = f->image->header;
        to->center = (Point){2 * c->u, 2 * c->v, 0};
        to->diameter = 4 * c->r;
        to->confidence = fminf(c->score / 2.3f, 1);
        c->score = 0;
    }
    if (f->nm->watched) show(f, &frame);
    nm_put(f->nm, out);
}

#define SELF struct ball_candidates
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(classes, Image, "image_classes"),
    NM_IN(border, FieldBorder, "field_border", .optional = true),
    NM_IN(regions, RegionsOfInterest, "ball_ROIs", .optional = true),
    NM_OUT(candidates, BallsInImage, "ball_candidates"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(radius, 0.07, 0.02, 0.2, "m", "of the ball"),
    NM_PARAM(least_radius, 3, 1, 50, "px",
             "smallest ball that is looked for while the camera's pose is unknown, half of it"),
    NM_PARAM(filled, 0.7, 0.3, 1, "1", "share of a ball that does not look like carpet"),
    NM_PARAM(white, 0.25, 0, 1, "1", "share of a ball that is white"),
    NM_PARAM(around, 0.5, 0, 1, "1", "share of carpet on two of the left, right and lower side"),
    NM_PARAM(ease, 0.6, 0, 1, "1", "share of these three limits that is enough where the ball is expected"),
    NM_PARAM(most, 24, 1, 32, "1", "candidates of an image"),
    {0},
};
NM_MODULE(ball_candidates, "Places in the image that may be a ball.", NM_PORTS(ports), NM_PARAMS(params),
          .step = NM_CALL(step))
