/* Robots and other things that stand on the field (after B-Human 2013, section 2.3). In each column, from below, the
 * first stretch without carpet that is as high as a robot's legs has its foot on the ground there: lines and balls are
 * too low. Feet that stand together on the ground are one robot. Its shirt's colour is the hue that is most frequent at
 * the height of its chest; what wears no shirt is an obstacle and no robot. */
#include "humanoid_league_msgs/GoalPartsInImage.h"
#include "humanoid_league_msgs/LineInformationInImage.h"
#include "humanoid_league_msgs/ObstaclesInImage.h"
#include "modules/vision/sketch.h"
#include "nutmeg_msgs/ImageSegments.h"

enum { THINGS = 24, FEET = 64 };

struct robots_in_image {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const Image *classes;
    const ImageSegments *segments;
    const FieldBorder *border;
    const GoalPartsInImage *goal;
    const LineInformationInImage *lines;
    /* out */
    ObstaclesInImage *obstacles;
    /* params */
    float legs, height, solid, apart, narrow, wide, range, shirt, shoulders;
};

struct foot {
    uint32_t column;
    double v;    /* px, lowest row of the thing */
    double x, y; /* m                           */
    bool cut;    /* it goes on below the image  */
};

struct thing {
    uint32_t n, first, last; /* columns; those of arms count too */
    double v, x, y;          /* of the nearest foot         */
    uint16_t feet[FEET];     /* rows of the first columns   */
    bool cut;
};

struct look {
    struct robots_in_image *f;
    struct frame frame;
    uint32_t n;
    struct thing things[THINGS];
};

/* Rows of other things than carpet between two rows of a column. */
static double rows_without_carpet(const ImageSegment *g, uint32_t n, double from, double to)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (g[i].label != ImageSegment_FIELD) sum += fmax(fmin(g[i].end, to) - fmax(g[i].begin, from), 0);
    return sum;
}

/* True on a line that was found: one that runs away from the robot fills a column from below to the horizon. */
static bool on_line(const struct look *l, double u, double v)
{
    for (uint32_t i = 0; i < l->f->lines->segments.n; i++) {
        const LineSegmentInImage *s = &l->f->lines->segments.at[i];
        double dx = s->end.x - s->start.x, dy = s->end.y - s->start.y, d2 = fmax(dx * dx + dy * dy, 1);
        double t = fmin(fmax(((u - s->start.x) * dx + (v - s->start.y) * dy) / d2, -0.2), 1.2);
        double off = hypot(u - s->start.x - t * dx, v - s->start.y - t * dy);
        if (off < 0.7 * fmax(s->start_width, s->end_width) + 2) return true;
    }
    return false;
}

static bool find_foot(const struct look *l, const ImageSegment *g, uint32_t n, struct foot *foot)
{
    const struct frame *f = &l->frame;
    double border = border_at(l->f->border, g->line);
    for (uint32_t i = n; i-- > 0;) {
        if (g[i].label == ImageSegment_BODY) continue;
        if (g[i].label == ImageSegment_FIELD || g[i].end <= border + 4) continue;
        struct vec3 at;
        struct pixel top;
        double v = g[i].end;
        *foot = (struct foot){.column = g->line, .v = v, .cut = v >= f->height - 1};
        if (i + 1 < n && g[i + 1].label == ImageSegment_BODY) continue; /* behind our own body */
        if (!frame_ground(f, g->line, v - 1, &at)) return false;
        foot->x = at.x, foot->y = at.y;
        double away = hypot(at.x - f->camera_to_robot.pos.x, at.y - f->camera_to_robot.pos.y);
        if (away > l->f->range) return false;
        if (!nm_camera_from_world(f->lens, f->camera_to_robot, (struct vec3){at.x, at.y, l->f->legs}, &top))
            return false;
        double high = v - fmax(top.v, g[0].begin);
        if (on_line(l, g->line, v - 2) && on_line(l, g->line, v - 0.3 * high)) continue;
        if (high > 6 && rows_without_carpet(g, n, fmax(top.v, g[0].begin), v) >= l->f->solid * high) return true;
    }
    return false;
}

static bool is_post(const struct look *l, double u)
{
    for (uint32_t i = 0; i < l->f->goal->posts.n; i++) {
        const PostInImage *p = &l->f->goal->posts.at[i];
        if (fabs(p->foot_point.x - u) < 0.8 * p->width + 3) return true;
    }
    return false;
}

static void add_foot(struct look *l, const struct foot *foot)
{
    for (uint32_t i = l->n; i-- > 0;) {
        struct thing *t = &l->things[i];
        double away = hypot(foot->x, foot->y), gap = (foot->column - t->last) / l->frame.lens->fx * away;
        if (gap > l->f->apart || fabs(away - hypot(t->x, t->y)) > 0.1 + 0.2 * away) continue;
        if (t->n < FEET) t->feet[t->n] = (uint16_t)foot->v;
        t->n++;
        t->last = foot->column;
        if (foot->v > t->v) t->v = foot->v, t->x = foot->x, t->y = foot->y;
        t->cut |= foot->cut;
        return;
    }
    if (l->n == THINGS) return;
    l->things[l->n++] = (struct thing){.n = 1,
                                       .first = foot->column,
                                       .last = foot->column,
                                       .v = foot->v,
                                       .x = foot->x,
                                       .y = foot->y,
                                       .feet = {(uint16_t)foot->v},
                                       .cut = foot->cut};
}

/* Reddish hues are the thesis' magenta, bluish ones its cyan. */
static uint8_t shirt(const struct look *l, uint32_t left, uint32_t right, double from, double to)
{
    const Image *c = l->f->classes;
    uint32_t red = 0, blue = 0, all = 0;
    for (uint32_t y = (uint32_t)fmax(from / 2, 0); y < c->height && y < to / 2; y++)
        for (uint32_t x = left / 2; x < c->width && x <= right / 2; x++) {
            uint8_t hue = (uint8_t)(c->data.data[y * c->step + x] - CLASS_HUE);
            red += hue >= 1 && hue <= 3;
            blue += hue == 7 || hue == 0 || hue == 6;
            all++;
        }
    if (red > blue && (float)red > l->f->shirt * (float)all) return ObstacleInImage_ROBOT_MAGENTA;
    if (blue > red && (float)blue > l->f->shirt * (float)all) return ObstacleInImage_ROBOT_CYAN;
    return ObstacleInImage_UNDEFINED;
}

/* Where most of the columns of the nearest parts end: a shadow or a ball before a foot ends lower than the foot. */
static double foot_row(const struct thing *t)
{
    uint32_t n = t->n < FEET ? t->n : FEET, above = 0;
    double best = t->v;
    for (uint32_t i = 0; i < n; i++) {
        above = 0;
        for (uint32_t k = 0; k < n; k++) above += t->feet[k] > t->feet[i];
        if (above <= n / 4 && t->feet[i] < best) best = t->feet[i];
    }
    return best;
}

/* A robot's arms and what stands close behind it end higher in the image than its feet: they belong to the nearest
 * thing that is as wide as a robot there. */
static void merge(struct look *l)
{
    for (uint32_t done = 0; done < l->n; done++) {
        uint32_t best = done;
        for (uint32_t i = done + 1; i < l->n; i++)
            if (l->things[i].v > l->things[best].v) best = i;
        struct thing t = l->things[best];
        l->things[best] = l->things[done];
        double away = hypot(t.x, t.y), half = 0.5 * l->f->shoulders / fmax(away, 0.2) * l->frame.lens->fx;
        double middle = (t.first + t.last) / 2.0;
        for (uint32_t i = done + 1; i < l->n;) {
            const struct thing *o = &l->things[i];
            if ((o->first + o->last) / 2.0 < middle - half || (o->first + o->last) / 2.0 > middle + half) {
                i++;
                continue;
            }
            t.n += o->n;
            t.first = o->first < t.first ? o->first : t.first;
            t.last = o->last > t.last ? o->last : t.last;
            l->things[i] = l->things[--l->n];
        }
        l->things[done] = t;
    }
}

static void tell(struct look *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct thing *t = &l->things[i];
        double away = hypot(t->x - l->frame.camera_to_robot.pos.x, t->y - l->frame.camera_to_robot.pos.y);
        double width = (t->last - t->first + l->f->segments->columns_apart) / l->frame.lens->fx * away;
        struct pixel top, chest[2];
        double foot = foot_row(t);
        if (t->n < 2 || width < l->f->narrow || width > l->f->wide || is_post(l, (t->first + t->last) / 2.0)) continue;
        struct pose3 camera = l->frame.camera_to_robot;
        if (!nm_camera_from_world(l->frame.lens, camera, (struct vec3){t->x, t->y, l->f->height}, &top) ||
            !nm_camera_from_world(l->frame.lens, camera, (struct vec3){t->x, t->y, 0.45 * l->f->height}, &chest[0]) ||
            !nm_camera_from_world(l->frame.lens, camera, (struct vec3){t->x, t->y, 0.85 * l->f->height}, &chest[1]))
            continue;
        ObstacleInImage *to = nm_append(&l->f->obstacles->obstacles, &ObstacleInImage_type);
        if (!to) return;
        double high = fmax(foot - fmax(top.v, 0), 1);
        to->header = l->f->image->header;
        to->top_left = (Point){t->first, foot - high, 0};
        to->width = (uint16_t)(t->last - t->first + 1);
        to->height = (uint16_t)high;
        to->color = t->cut ? ObstacleInImage_UNDEFINED : shirt(l, t->first, t->last, chest[1].v, chest[0].v);
        to->confidence = to->color == ObstacleInImage_UNDEFINED ? 0.6f : 0.85f;
    }
}

static __attribute__((noinline)) void show(const struct look *l)
{
    struct sketch s;
    sketch_begin(&s, &l->frame);
    for (uint32_t i = 0; i < l->f->obstacles->obstacles.n; i++) {
        const ObstacleInImage *o = &l->f->obstacles->obstacles.at[i];
        static const uint32_t colours[] = {SKETCH_YELLOW, SKETCH_YELLOW, SKETCH_RED, SKETCH_BLUE, 0, 0};
        sketch_box(&s, o->top_left.x, o->top_left.y, o->top_left.x + o->width, o->top_left.y + o->height,
                   colours[o->color % 6]);
    }
    sketch_show(&s, l->f->nm, "robots");
}

static void step(struct robots_in_image *f)
{
    struct look l = {.f = f};
    const ImageSegments *s = f->segments;
    if (!nm_fresh(f->nm, f->border) || !frame_take(f->nm, f->image, f->pose, &l.frame)) return;
    f->obstacles->header = f->image->header;
    bool classes = f->classes->width == l.frame.width / 2 && f->classes->height == l.frame.height / 2;
    for (uint32_t i = 0, next; l.frame.level && classes && i < s->vertical.n; i = next) {
        struct foot foot;
        next = i + 1;
        while (next < s->vertical.n && s->vertical.at[next].line == s->vertical.at[i].line) next++;
        if (find_foot(&l, &s->vertical.at[i], next - i, &foot)) add_foot(&l, &foot);
    }
    merge(&l);
    tell(&l);
    if (f->nm->watched) show(&l);
    nm_put(f->nm, f->obstacles);
}

#define SELF struct robots_in_image
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(classes, Image, "image_classes"),
    NM_IN(segments, ImageSegments, "image_segments"),
    NM_IN(border, FieldBorder, "field_border"),
    NM_IN(goal, GoalPartsInImage, "goal_parts_in_image", .optional = true),
    NM_IN(lines, LineInformationInImage, "lines_in_image", .optional = true),
    NM_OUT(obstacles, ObstaclesInImage, "obstacles_in_image"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(legs, 0.35, 0.1, 1, "m", "what is lower than this is no robot"),
    NM_PARAM(height, 0.7, 0.2, 2, "m", "of a robot"),
    NM_PARAM(solid, 0.7, 0.3, 1, "1", "share of this height that shows no carpet"),
    NM_PARAM(apart, 0.2, 0.02, 1, "m", "two feet farther from each other are two robots"),
    NM_PARAM(narrow, 0.06, 0, 1, "m", "what is narrower is no robot"),
    NM_PARAM(wide, 1, 0.1, 4, "m", "what is wider is no robot"),
    NM_PARAM(range, 7, 1, 30, "m", "robots farther than this are left out"),
    NM_PARAM(shoulders, 0.5, 0, 2, "m", "what begins in the image within this width around a robot belongs to it"),
    NM_PARAM(shirt, 0.06, 0.01, 1, "1", "share of its chest that has the shirt's colour"),
    {0},
};
NM_MODULE(robots_in_image, "Robots that stand on the field, with the colour of their shirts.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
