/* Robots and other things that stand on the field (after B-Human 2013, section 2.3). In each column, from below, the
 * first stretch that is mostly without carpet and as high as a robot's legs has its foot on the ground there: lines and
 * balls are too low. Columns that wear a shirt where a robot of that distance has its chest, and stand together, are
 * one robot; the columns of its feet and arms go with it. What wears no shirt is an obstacle and no robot, unless the
 * image ends below its chest. Of a robot so near that the image ends above its feet, the hem of its shirt tells how far
 * it is, or its width where that is below the image, too. */
#include <stdlib.h>

#include "humanoid_league_msgs/BallInImage.h"
#include "humanoid_league_msgs/GoalPartsInImage.h"
#include "humanoid_league_msgs/LineInformationInImage.h"
#include "humanoid_league_msgs/ObstaclesInImage.h"
#include "modules/vision/sketch.h"
#include "nutmeg_msgs/ImageSegments.h"

enum { THINGS = 24, COLUMNS = FRAME_SIDE / 2, FEET = 64 };

struct robots_in_image {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const Image *classes;
    const ImageSegments *segments;
    const FieldBorder *border;
    const GoalPartsInImage *goal;
    const BallInImage *ball;
    const LineInformationInImage *lines;
    /* out */
    ObstaclesInImage *obstacles;
    /* params */
    float legs, height, solid, apart, narrow, wide, range, shirt, shoulders, breadth, hem, inside, carpet;
};

struct foot { /* of what stands in one column */
    uint32_t column;
    double v;          /* px, lowest row of the thing                       */
    double x, y, away; /* m, on the ground; from the camera                 */
    float red, blue;   /* shares of the chest that a robot would have there */
    bool cut;          /* it goes on below the image                        */
    bool taken;
};

struct thing {
    uint32_t n, first, last; /* columns                        */
    double x, y, away;       /* of the nearest foot            */
    double red, blue;        /* sums over its columns          */
    double beyond[2];        /* px that it reaches beyond the image, left and right */
    uint16_t feet[FEET];     /* rows of the first columns      */
    uint32_t cuts;           /* columns that go on below the image */
    bool shirt, told;
};

struct look {
    struct robots_in_image *f;
    struct frame frame;
    uint32_t n_feet, n;
    struct foot feet[COLUMNS];
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
        double t = fmin(fmax(((u - s->start.x) * dx + (v - s->start.y) * dy) / d2, -0.03), 1.03);
        double off = hypot(u - s->start.x - t * dx, v - s->start.y - t * dy);
        if (off < 0.7 * fmax(s->start_width, s->end_width) + 2) return true;
    }
    return false;
}

/* px of a height over a place on the ground; false if it lies behind the camera */
static bool row_at(const struct look *l, double x, double y, double height, double *row)
{
    struct pixel at;
    if (!nm_camera_from_world(l->frame.lens, l->frame.camera_to_robot, (struct vec3){x, y, height}, &at)) return false;
    *row = at.v;
    return true;
}

/* Shares of red and blue where a robot that stands there has its chest. Reddish hues are the thesis' magenta, bluish
 * ones its cyan. */
static void look_at_chest(const struct look *l, struct foot *foot)
{
    const Image *c = l->f->classes;
    double from, to;
    uint32_t n = 0, red = 0, blue = 0, x = foot->column / 2;
    if (!row_at(l, foot->x, foot->y, 0.85 * l->f->height, &from) ||
        !row_at(l, foot->x, foot->y, 0.45 * l->f->height, &to))
        return;
    for (uint32_t y = (uint32_t)fmax(from / 2, 0); y < c->height && y < to / 2; y++, n++) {
        uint8_t hue = (uint8_t)(c->data.data[y * c->step + x] - CLASS_HUE);
        red += hue >= 1 && hue <= 3;
        blue += hue == 7 || hue == 0 || hue == 6;
    }
    if (!n) return;
    foot->red = (float)red / (float)n;
    foot->blue = (float)blue / (float)n;
}

/* The row at which a column leaves the ball, if `v` is on it: what stands behind a ball shows from there on. */
static double above_ball(const struct look *l, double u, double v)
{
    const BallInImage *ball = l->f->ball;
    double r = 1.1 * ball->diameter / 2, du = u - ball->center.x, half = sqrt(fmax(r * r - du * du, 0));
    bool same = ball->confidence > 0 && nm_stamp_ns(ball->header.stamp) == nm_stamp_ns(l->f->image->header.stamp);
    return same && half > 0 && fabs(v - ball->center.y) < half + 3 ? ball->center.y - half : v;
}

static bool find_foot(const struct look *l, const ImageSegment *g, uint32_t n, struct foot *foot)
{
    const struct frame *f = &l->frame;
    double border = border_at(l->f->border, g->line);
    struct vec3 edge, at;
    if (border > 0 && frame_ground(f, g->line, border, &edge)) { /* who plays stands inside */
        double away = hypot(edge.x - f->camera_to_robot.pos.x, edge.y - f->camera_to_robot.pos.y);
        border += fmin(l->f->inside * f->lens->fy * f->camera_to_robot.pos.z / (away * away), 30);
    }
    for (uint32_t i = n; i-- > 0;) {
        if (g[i].label == ImageSegment_BODY) continue;
        if (g[i].label == ImageSegment_FIELD || g[i].end <= border + 4) continue;
        if (g[i].label == ImageSegment_LINE && i && g[i - 1].label == ImageSegment_FIELD) continue; /* only a line */
        double v = above_ball(l, g->line, g[i].end), top;
        if (v <= g[i].begin) continue;
        *foot = (struct foot){.column = g->line, .v = v, .cut = v >= f->height - 1};
        if (i + 1 < n && g[i + 1].label == ImageSegment_BODY) continue; /* behind our own body */
        if (!frame_ground(f, g->line, v - 1, &at)) return false;
        foot->x = at.x, foot->y = at.y;
        foot->away = hypot(at.x - f->camera_to_robot.pos.x, at.y - f->camera_to_robot.pos.y);
        if (foot->away > l->f->range || !row_at(l, at.x, at.y, l->f->legs, &top)) return false;
        double high = v - fmax(top, g[0].begin);
        if (on_line(l, g->line, v - 2) && on_line(l, g->line, v - 0.3 * high)) continue;
        if (high > 6 && rows_without_carpet(g, n, fmax(top, g[0].begin), v) >= l->f->solid * high) return true;
    }
    return false;
}

/* ---- things: columns that stand together ---- */

static bool wears(const struct look *l, const struct foot *foot) { return foot->red + foot->blue > l->f->shirt; }

static bool alike(double away, double other) { return fabs(away - other) < 0.1 + 0.2 * fmin(away, other); }

static void join(struct thing *t, const struct foot *foot)
{
    if (t->n < FEET) t->feet[t->n] = (uint16_t)foot->v;
    if (!t->n || foot->column < t->first) t->first = foot->column;
    if (!t->n || foot->column > t->last) t->last = foot->column;
    if (!t->n || foot->away < t->away) t->x = foot->x, t->y = foot->y, t->away = foot->away;
    t->red += foot->red, t->blue += foot->blue;
    t->cuts += foot->cut;
    t->n++;
}

/* Its feet are below the image. A line or a ball before it may be, too. */
static bool is_cut(const struct thing *t) { return 2 * t->cuts > t->n; }

static double width_of(const struct look *l, const struct thing *t)
{
    return (t->last - t->first + l->f->segments->columns_apart) / l->frame.lens->fx * t->away;
}

/* Gathers the columns with a shirt, or those that are left. */
static void gather(struct look *l, bool shirt)
{
    uint32_t begin = l->n;
    for (uint32_t i = 0; i < l->n_feet; i++) {
        struct foot *foot = &l->feet[i];
        struct thing *t = NULL;
        if (foot->taken || wears(l, foot) != shirt) continue;
        for (uint32_t k = l->n; k-- > begin && !t;) {
            struct thing *o = &l->things[k];
            double gap = (foot->column - o->last) / l->frame.lens->fx * foot->away;
            bool same = !shirt || (foot->red > foot->blue) == (o->red > o->blue);
            if (gap < l->f->apart && same && alike(foot->away, o->away)) t = o;
        }
        if (!t && l->n < THINGS) {
            t = &l->things[l->n++];
            *t = (struct thing){.shirt = shirt};
        }
        if (!t) continue;
        join(t, foot);
        foot->taken = shirt;
    }
}

static double middle_of(const struct thing *t) { return (t->first + t->last) / 2.0; }

/* px of half the shoulders of a robot that is so far */
static double half_width(const struct look *l, double away)
{
    return 0.5 * l->f->shoulders / fmax(away, 0.2) * l->frame.lens->fx;
}

static int by_distance(const void *a, const void *b)
{
    double x = ((const struct thing *)a)->away, y = ((const struct thing *)b)->away;
    return (x > y) - (x < y);
}

/* Columns of feet and arms beside a shirt belong to the nearest robot that wears one there. Feet stand as near as its
 * other columns, or nearer where those end at its hips; arms end higher in the image and seem to be farther. */
static void complete(struct look *l)
{
    qsort(l->things, l->n, sizeof *l->things, by_distance);
    for (uint32_t i = 0; i < l->n; i++) {
        struct thing *t = &l->things[i];
        double middle = middle_of(t);
        const struct thing chest = *t;
        for (uint32_t k = 0; k < l->n_feet; k++) {
            struct foot *foot = &l->feet[k];
            double half = half_width(l, fmin(foot->away, t->away));
            if (foot->taken || wears(l, foot) || fabs(foot->column - middle) > half) continue;
            bool near = foot->away < t->away && !alike(foot->away, t->away);
            bool below = foot->column >= chest.first && foot->column <= chest.last;
            if (near && (foot->away < 0.4 * t->away || !below)) continue;
            foot->taken = true;
            if (near) t->n = t->cuts = 0;
            if (near || alike(foot->away, t->away)) join(t, foot);
        }
    }
}

/* The upper arms wear the shirt, too: what is narrow, of the same colour and within the shoulders of a wider thing is
 * its arm. */
static void drop_arms(struct look *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        const struct thing *t = &l->things[i];
        bool arm = width_of(l, t) < l->f->narrow;
        for (uint32_t k = 0; k < l->n && !arm; k++) {
            const struct thing *o = &l->things[k];
            bool beside = fabs(middle_of(t) - middle_of(o)) < 1.2 * half_width(l, o->away);
            bool same = (o->red > o->blue) == (t->red > t->blue);
            arm = k != i && beside && same && t->last - t->first < o->last - o->first &&
                  width_of(l, t) < 0.5 * l->f->shoulders;
        }
        if (arm) l->things[i--] = l->things[--l->n];
    }
}

/* Who plays stands on carpet: beside his feet there is some. Boards, nets and those who watch stand behind it. */
static bool on_carpet(const struct look *l, const struct thing *t, double foot)
{
    const Image *c = l->f->classes;
    double side = 0.8 * l->f->shoulders / fmax(t->away, 0.2) * l->frame.lens->fx, up = foot, best = 0;
    row_at(l, t->x, t->y, 0.06, &up);
    for (int s = -1; s <= 1; s += 2) {
        uint32_t n = 0, green = 0;
        double from = middle_of(t) + (s < 0 ? -side : 0.6 * side), to = middle_of(t) + (s < 0 ? -0.6 * side : side);
        for (uint32_t y = (uint32_t)fmax(up / 2, 0); y < c->height && y <= foot / 2; y++)
            for (uint32_t x = (uint32_t)fmax(from / 2, 0); x < c->width && x <= to / 2; x++, n++)
                green += c->data.data[y * c->step + x] == CLASS_FIELD;
        if (n) best = fmax(best, (double)green / n);
    }
    return best > l->f->carpet;
}

/* A post with boards behind it stands like legs below a shirt. */
static bool is_post(const struct look *l, const struct thing *t)
{
    double half = (t->last - t->first) / 2.0;
    for (uint32_t i = 0; i < l->f->goal->posts.n; i++) {
        const PostInImage *p = &l->f->goal->posts.at[i];
        if (fabs(p->foot_point.x - middle_of(t)) < p->width + half && half < 1.2 * p->width) return true;
    }
    return false;
}

/* Where most of the columns of the nearest parts end: a shadow or a ball before a foot ends lower than the foot. */
static double foot_row(const struct thing *t)
{
    uint32_t n = t->n < FEET ? t->n : FEET;
    double best = INFINITY, lowest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t below = 0;
        for (uint32_t k = 0; k < n; k++) below += t->feet[k] > t->feet[i];
        if (below <= n / 4) best = fmin(best, t->feet[i]);
        lowest = fmax(lowest, t->feet[i]);
    }
    return fmin(best, lowest);
}

/* The lowest row in which a third of a thing's columns wear a shirt; 0: there is none. */
static uint32_t hem_of(const struct look *l, const struct thing *t)
{
    const Image *c = l->f->classes;
    for (uint32_t y = c->height; y-- > 0;) {
        uint32_t shirt = 0;
        for (uint32_t x = t->first / 2; x <= t->last / 2 && x < c->width; x++)
            shirt += c->data.data[y * c->step + x] >= CLASS_HUE && c->data.data[y * c->step + x] < CLASS_BODY;
        if (3 * shirt > t->last / 2 - t->first / 2) return 2 * y + 2;
    }
    return 0;
}

/* A thing whose feet are below the image: its arms end higher in the columns beside it, and its chest is where that of
 * a robot as wide as this is. */
static void look_near(const struct look *l, struct thing *t)
{
    const uint32_t step = 2 * l->f->segments->columns_apart;
    for (uint32_t i = 0; i < l->n_feet; i++) /* columns are in order */
        if (l->feet[i].column > t->last && l->feet[i].column <= t->last + step && l->feet[i].away < 2.5 * t->away)
            t->last = l->feet[i].column;
    for (uint32_t i = l->n_feet; i-- > 0;)
        if (l->feet[i].column < t->first && l->feet[i].column + step >= t->first && l->feet[i].away < 2.5 * t->away)
            t->first = l->feet[i].column;
    const struct vec3 eye = l->frame.camera_to_robot.pos;
    double wide = t->last - t->first + l->f->segments->columns_apart;
    if (t->first < step)
        t->beyond[0] = 0.3 * wide; /* where a side of the image cuts it, too, about this much is hidden */
    if (t->last + step >= l->frame.width) t->beyond[1] = 0.3 * wide;
    wide += t->beyond[0] + t->beyond[1];
    double near = fmin(l->frame.lens->fx * (double)l->f->breadth / wide / t->away, 1);
    uint32_t n = 0;
    struct vec3 hip;
    uint32_t hem = hem_of(l, t);
    struct pixel middle = {(t->first + t->last) / 2.0, hem};
    if (hem && hem + 6 < l->frame.height &&
        nm_camera_to_ground(l->frame.lens, l->frame.camera_to_robot, middle, l->f->hem, &hip))
        near = fmin(hypot(hip.x - eye.x, hip.y - eye.y) / t->away, 1);
    t->x = eye.x + near * (t->x - eye.x), t->y = eye.y + near * (t->y - eye.y), t->away *= near;
    t->red = t->blue = 0;
    for (uint32_t i = 0; i < l->n_feet; i++) {
        struct foot chest = {.column = l->feet[i].column, .x = t->x, .y = t->y};
        if (chest.column < t->first || chest.column > t->last) continue;
        look_at_chest(l, &chest);
        t->red += chest.red, t->blue += chest.blue, n++;
    }
    t->shirt = t->red + t->blue > 0.5 * l->f->shirt * n;
}

/* Parts of one robot near by reach over all of it and are the same then. */
static bool is_told(const struct look *l, const struct thing *t)
{
    for (const struct thing *o = l->things; o < t; o++)
        if (is_cut(o) && is_cut(t) && o->told && o->first <= middle_of(t) && o->last >= middle_of(t)) return true;
    return false;
}

static void tell(struct look *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        struct thing *t = &l->things[i];
        double width = width_of(l, t), foot = foot_row(t), top, waist, knees;
        if (is_cut(t)) look_near(l, t);
        if (t->n < 2 || width < l->f->narrow || width > l->f->wide || !row_at(l, t->x, t->y, l->f->height, &top) ||
            !row_at(l, t->x, t->y, 0.45 * l->f->height, &waist) || !row_at(l, t->x, t->y, 0.8 * l->f->legs, &knees))
            continue;
        if (is_post(l, t) || !(on_carpet(l, t, foot) || (is_cut(t) && t->shirt)) || is_told(l, t)) continue;
        bool headless = waist < 8 && knees >= 0; /* the image ends between its legs and its shirt */
        ObstacleInImage *to = nm_append(&l->f->obstacles->obstacles, &ObstacleInImage_type);
        if (!to) return;
        t->told = true;
        if (is_cut(t) && row_at(l, t->x, t->y, 0, &foot)) /* where the box would end in a higher image */
            foot = fmax(foot, l->frame.height + 2);
        double high = fmax(foot - fmax(top, 0), 1);
        to->header = l->f->image->header;
        to->top_left = (Point){t->first - t->beyond[0], foot - high, 0};
        to->width = (uint16_t)(t->last - t->first + 1 + t->beyond[0] + t->beyond[1]);
        to->height = (uint16_t)high;
        to->color = !t->shirt && !headless ? ObstacleInImage_UNDEFINED
                    : !t->shirt            ? ObstacleInImage_ROBOT_UNDEFINED
                    : t->red > t->blue     ? ObstacleInImage_ROBOT_MAGENTA
                                           : ObstacleInImage_ROBOT_CYAN;
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
        next = i + 1;
        while (next < s->vertical.n && s->vertical.at[next].line == s->vertical.at[i].line) next++;
        struct foot *foot = &l.feet[l.n_feet];
        if (l.n_feet == COLUMNS || !find_foot(&l, &s->vertical.at[i], next - i, foot)) continue;
        look_at_chest(&l, foot);
        l.n_feet++;
    }
    gather(&l, true);
    complete(&l);
    drop_arms(&l);
    gather(&l, false);
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
    NM_IN(ball, BallInImage, "ball_in_image", .optional = true),
    NM_IN(lines, LineInformationInImage, "lines_in_image", .optional = true),
    NM_OUT(obstacles, ObstaclesInImage, "obstacles_in_image"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(legs, 0.35, 0.1, 1, "m", "what is lower than this is no robot"),
    NM_PARAM(height, 0.7, 0.2, 2, "m", "of a robot"),
    NM_PARAM(solid, 0.5, 0.3, 1, "1", "share of this height that shows no carpet"),
    NM_PARAM(apart, 0.12, 0.02, 1, "m", "two feet farther from each other are two robots"),
    NM_PARAM(narrow, 0.08, 0, 1, "m", "what is narrower is no robot"),
    NM_PARAM(wide, 1, 0.1, 4, "m", "what is wider is no robot"),
    NM_PARAM(range, 7, 1, 30, "m", "robots farther than this are left out"),
    NM_PARAM(inside, 0.3, 0, 2, "m", "what stands nearer to the end of the carpet is no robot"),
    NM_PARAM(carpet, 0.5, 0, 1, "1", "share of carpet beside the feet of a robot, on its better side"),
    NM_PARAM(shoulders, 0.4, 0, 2, "m", "what begins in the image within this width around a robot belongs to it"),
    NM_PARAM(hem, 0.34, 0.05, 2, "m",
             "height of the lower end of a shirt, of robots so near that their feet are not seen"),
    NM_PARAM(breadth, 0.2, 0.05, 2, "m", "width of a robot with its arms, where its shirt ends below the image, too"),
    NM_PARAM(shirt, 0.4, 0.01, 1, "1", "share of a column of its chest that has the shirt's colour"),
    {0},
};
NM_MODULE(robots_in_image, "Robots that stand on the field, with the colour of their shirts.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
