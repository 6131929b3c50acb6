/* The image along vertical and horizontal scan lines (HULKs 2017, section 5.4): cut into segments where the brightness
 * steps or carpet begins or ends, each with its median colour. What most stages need of an image is in these few
 * thousand segments. */
#include <stdlib.h>

#include "modules/vision/sketch.h"
#include "nutmeg_msgs/BodyInImage.h"
#include "nutmeg_msgs/ImageSegments.h"

struct scan_lines {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const FieldColor *color;
    const BodyInImage *body;
    /* out */
    ImageSegments *segments;
    /* params */
    int32_t columns, rows;
    float edge, least_edge;
};

enum {
    PROBE = 4,   /* px between two looks whether there is carpet    */
    TOGETHER = 8 /* columns that lie in about one line of the cache */
};

/* One scan line: n pixels of brightness, and where their colours are. */
struct scan {
    struct carpet carpet;
    uint32_t line;
    bool across; /* horizontal */
    int32_t edge;
    uint32_t first, n; /* pixels along the line: first to n - 1 */
    uint8_t y[FRAME_SIDE];
    const uint8_t *pairs; /* y0 u y1 v of the pixels along the line, one for two of them where it runs across */
};

static const uint8_t *pair_at(const struct scan *s, uint32_t i) { return s->pairs + 4 * (s->across ? i / 2 : i); }

static bool carpet_at(const struct scan *s, uint32_t i)
{
    const uint8_t *p = pair_at(s, i);
    return is_carpet(&s->carpet, s->y[i], p[1], p[3]);
}

static uint8_t median3(uint8_t a, uint8_t b, uint8_t c)
{
    uint8_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Median of three pixels: the middle and both quarters. */
static void colour(const struct scan *s, ImageSegment *g)
{
    const uint8_t *p[3];
    uint32_t at[3], n = (uint32_t)(g->end - g->begin);
    for (uint32_t k = 0; k < 3; k++) {
        at[k] = g->begin + n * (k + 1) / 4;
        p[k] = pair_at(s, at[k]);
    }
    g->y = median3(s->y[at[0]], s->y[at[1]], s->y[at[2]]);
    g->u = median3(p[0][1], p[1][1], p[2][1]);
    g->v = median3(p[0][3], p[1][3], p[2][3]);
}

struct cuts {
    uint32_t n;
    uint16_t at[FRAME_SIDE];
    int16_t step[FRAME_SIDE];
};

/* Where the brightness changes most between two pixels: peaks of its slope over the threshold. Carpet that begins or
 * ends without such an edge cuts too. */
static void find_cuts(const struct scan *s, struct cuts *c)
{
    int32_t best = 0;
    uint32_t where = 0, last = s->first;
    bool carpet = carpet_at(s, s->first);
    c->n = 0;
    for (uint32_t i = s->first + 1; i + 1 < s->n; i++) {
        int32_t slope = s->y[i + 1] - s->y[i - 1];
        bool over = slope >= s->edge || -slope >= s->edge;
        if (best && (!over || (slope > 0) != (best > 0))) { /* the peak is behind us */
            c->at[c->n] = (uint16_t)where;
            c->step[c->n++] = (int16_t)best;
            last = where;
            best = 0;
            carpet = carpet_at(s, i);
        }
        if (over && abs(slope) > abs(best)) {
            best = slope;
            where = i + (slope > 0 ? s->y[i + 1] - s->y[i] > s->y[i] - s->y[i - 1]
                                   : s->y[i + 1] - s->y[i] < s->y[i] - s->y[i - 1]);
        }
        if (best || i % PROBE || i < last + PROBE) continue;
        bool now = carpet_at(s, i);
        if (now == carpet) continue;
        carpet = now;
        last = i - PROBE / 2;
        c->at[c->n] = (uint16_t)last;
        c->step[c->n++] = 0;
    }
}

static void cut(const struct scan *s, const struct cuts *c, ImageSegment *all, uint32_t *n, uint32_t room)
{
    uint32_t begin = s->first;
    for (uint32_t k = 0; k <= c->n && *n < room; k++) {
        uint32_t end = k < c->n ? c->at[k] : s->n;
        if (end <= begin) continue;
        ImageSegment *g = &all[*n];
        *g = (ImageSegment){.line = (uint16_t)s->line, .begin = (uint16_t)begin, .end = (uint16_t)end};
        g->edge = k ? c->step[k - 1] : 0;
        colour(s, g);
        bool bright = k && k < c->n && c->step[k - 1] > 0 && c->step[k] < 0;
        if (is_carpet(&s->carpet, g->y, g->u, g->v))
            g->label = ImageSegment_FIELD;
        else if (bright)
            g->label = ImageSegment_LINE;
        (*n)++;
        begin = end;
    }
}

/* Everything of a scan line that lies inside one of the outlines is the robot's own. */
static void mark_body(const struct scan_lines *f, const struct scan *s, ImageSegment *first, uint32_t n)
{
    for (uint32_t o = 0; o < f->body->outlines.n; o++) {
        const Polygon *p = &f->body->outlines.at[o];
        double low = INFINITY, high = -INFINITY;
        for (uint32_t i = 0; i < p->points.n; i++) {
            const Point32 *a = &p->points.at[i], *b = &p->points.at[(i + 1) % p->points.n];
            double ac = s->across ? a->y : a->x, bc = s->across ? b->y : b->x, at = s->line;
            double aw = s->across ? a->x : a->y, bw = s->across ? b->x : b->y;
            if ((ac < at) == (bc < at)) continue;
            double where = aw + (at - ac) * (bw - aw) / (bc - ac);
            low = fmin(low, where);
            high = fmax(high, where);
        }
        for (uint32_t i = 0; i < n && low <= high; i++) {
            double inside = fmin(first[i].end, high) - fmax(first[i].begin, low);
            if (inside * 2 > first[i].end - first[i].begin) first[i].label = ImageSegment_BODY;
        }
    }
}

static __attribute__((noinline)) void show(const struct scan_lines *f, const struct frame *frame)
{
    struct sketch sketch;
    sketch_begin(&sketch, frame);
    static const uint32_t colours[] = {[ImageSegment_OTHER] = SKETCH_RED,
                                       [ImageSegment_FIELD] = SKETCH_GREEN,
                                       [ImageSegment_LINE] = SKETCH_YELLOW,
                                       [ImageSegment_BODY] = SKETCH_BLUE};
    for (uint32_t i = 0; i < f->segments->vertical.n; i++) {
        const ImageSegment *g = &f->segments->vertical.at[i];
        sketch_line(&sketch, g->line, g->begin, g->line, g->end - 1, colours[g->label & 3]);
    }
    sketch_show(&sketch, f->nm, "segments");
}

/* Steps of brightness from which on there is an edge: in poor light Otsu's threshold of the image's slopes lies below
 * what is usual (B-Human 2013, section 2.3). A slope is half of what Sobel's operator makes of it. */
static int32_t edge_of(const struct scan_lines *f, const struct frame *frame)
{
    enum { EVERY = 16 };
    uint8_t slopes[FRAME_SIDE / EVERY * FRAME_SIDE];
    uint32_t rows = sobel(frame, EVERY, slopes);
    float usual = f->edge * f->color->y, own = 0.5f * otsu(slopes, (size_t)rows * frame->width);
    return (int32_t)fmaxf(f->least_edge, fminf(usual, own));
}

/* The pixels of some columns from row `first` on, row by row, because a row lies in one piece of memory. */
static void take_columns(const struct frame *frame, const uint32_t *x, uint32_t n, uint32_t first,
                         uint8_t to[TOGETHER][4 * FRAME_SIDE])
{
    for (uint32_t y = first; y < frame->height; y++)
        for (uint32_t k = 0; k < n; k++) memcpy(to[k] + (size_t)4 * y, frame_pair(frame, x[k], y), 4);
}

static void step(struct scan_lines *f)
{
    struct frame frame;
    struct cuts cuts;
    uint8_t columns[TOGETHER][4 * FRAME_SIDE];
    ImageSegments *out = f->segments;
    if (!nm_fresh(f->nm, f->color) || !frame_take(f->nm, f->image, f->pose, &frame)) return;
    out->header = f->image->header;
    out->columns_apart = (uint16_t)f->columns;
    struct scan s = {.carpet = carpet_of(f->color)};
    s.edge = edge_of(f, &frame);
    uint32_t left = frame_horizon(&frame, 0), right = frame_horizon(&frame, frame.width - 1);
    bool body = nm_stamp_ns(f->body->header.stamp) == nm_stamp_ns(f->image->header.stamp);
    const uint32_t columns_room = sizeof out->vertical.at / sizeof *out->vertical.at;
    const uint32_t rows_room = sizeof out->horizontal.at / sizeof *out->horizontal.at;
    s.n = frame.height;
    uint32_t top = left < right ? left : right, k = 0;
    for (uint32_t x = (uint32_t)f->columns / 2; x < frame.width; x += (uint32_t)f->columns, k++) {
        uint32_t first = out->vertical.n, next[TOGETHER], n = 0;
        for (uint32_t at = x; k % TOGETHER == 0 && n < TOGETHER && at < frame.width; at += (uint32_t)f->columns)
            next[n++] = at;
        if (n) take_columns(&frame, next, n, top, columns);
        s.line = x;
        s.pairs = columns[k % TOGETHER];
        s.first = (left * (frame.width - x) + right * x) / frame.width;
        if (s.first + 8 > s.n) continue;
        for (uint32_t y = s.first; y < s.n; y++) s.y[y] = s.pairs[4 * y + 2 * (x & 1)];
        find_cuts(&s, &cuts);
        cut(&s, &cuts, out->vertical.at, &out->vertical.n, columns_room);
        if (body) mark_body(f, &s, out->vertical.at + first, out->vertical.n - first);
    }
    s.across = true;
    s.first = 0;
    s.n = frame.width;
    for (uint32_t y = frame.height - (uint32_t)f->rows / 2; y > top && y < frame.height; y -= (uint32_t)f->rows) {
        uint32_t first = out->horizontal.n;
        s.line = y;
        s.pairs = frame_row(&frame, y);
        for (uint32_t x = 0; x < s.n; x++) s.y[x] = frame_y(&frame, x, y);
        find_cuts(&s, &cuts);
        cut(&s, &cuts, out->horizontal.at, &out->horizontal.n, rows_room);
        if (body) mark_body(f, &s, out->horizontal.at + first, out->horizontal.n - first);
    }
    if (f->nm->watched) show(f, &frame);
    nm_put(f->nm, out);
}

#define SELF struct scan_lines
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),           NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(color, FieldColor, "field_color"),           NM_IN(body, BodyInImage, "body_in_image", .optional = true),
    NM_OUT(segments, ImageSegments, "image_segments"), {0},
};
static const struct nm_param params[] = {
    NM_PARAM(columns, 4, 2, 64, "px", "between two vertical scan lines"),
    NM_PARAM(rows, 8, 2, 64, "px", "between two horizontal scan lines"),
    NM_PARAM(edge, 0.22, 0.02, 2, "1",
             "a step of brightness is an edge if it exceeds this share of the carpet's, or half of Otsu's threshold"),
    NM_PARAM(least_edge, 12, 2, 100, "1", "and this many of 256"),
    {0},
};
NM_MODULE(scan_lines, "The image along scan lines, cut into segments of one colour.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
