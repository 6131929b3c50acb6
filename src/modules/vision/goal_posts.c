/* Goal posts (B-Human 2013, section 2.2). A post that stands in the image reaches above the horizon, so a few rows just
 * above it are searched for something plain and grey between two edges. From there the eye follows the post down to its
 * foot, which must stand on carpet. The foot tells how far it is, and so how wide the post must be; its sides must
 * stand out against what is behind them all the way down. Two posts as far apart as a goal's vouch for each other. */
#include <stdlib.h>

#include "base/pitch.h"
#include "humanoid_league_msgs/GoalInImage.h"
#include "humanoid_league_msgs/GoalPartsInImage.h"
#include "modules/vision/sketch.h"

enum { POSTS = 16, EDGES = 160, ROWS = 4 };

struct goal_posts {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const FieldColor *color;
    const FieldBorder *border;
    /* out */
    GoalPartsInImage *parts;
    GoalInImage *goal;
    /* params */
    struct nm_pitch_size field;
    float edge, grey, width, sides, range, least, height;
};

struct post {
    struct pixel foot, top;
    double x, y;  /* m, of the foot  */
    double width; /* px              */
    float rating;
};

struct look {
    struct goal_posts *f;
    struct frame frame;
    struct carpet carpet;
    int32_t edge;
    uint32_t n;
    struct post posts[POSTS];
};

struct edge {
    uint32_t at;
    int32_t step;
};

/* Peaks of the slope along a row. */
static uint32_t find_edges(const struct look *l, uint32_t row, struct edge edges[EDGES])
{
    const uint8_t *p = frame_row(&l->frame, row);
    uint32_t n = 0, where = 0;
    int32_t best = 0;
    for (uint32_t x = 2; x + 2 < l->frame.width && n < EDGES; x++) {
        int32_t slope = (p[2 * x + 2] + p[2 * x] - p[2 * x - 2] - p[2 * x - 4]) / 2;
        bool over = abs(slope) >= l->edge;
        if (best && (!over || (slope > 0) != (best > 0))) {
            edges[n++] = (struct edge){where, best};
            best = 0;
        }
        if (over && abs(slope) > abs(best)) best = slope, where = x;
    }
    return n;
}

struct colour {
    int32_t y, u, v;
};

static struct colour colour_at(const struct frame *f, double x, double y)
{
    uint32_t u = (uint32_t)fmin(fmax(x, 0), f->width - 1), v = (uint32_t)fmin(fmax(y, 0), f->height - 1);
    const uint8_t *p = frame_pair(f, u, v);
    return (struct colour){p[2 * (u & 1)], p[1] - 128, p[3] - 128};
}

static bool alike(const struct look *l, struct colour a, struct colour b)
{
    return abs(a.y - b.y) < l->edge && abs(a.u - b.u) + abs(a.v - b.v) < 24;
}

/* Follows a post from a pixel of its axis down to where carpet begins. All that is above, on or below a pixel lies in a
 * vertical plane through the camera: its points at any distance give the direction in the image. */
static bool follow(const struct look *l, struct pixel from, struct pixel *foot)
{
    const struct frame *f = &l->frame;
    struct vec3 ray, eye = f->camera_to_robot.pos;
    struct pixel low;
    if (!nm_camera_unproject(f->lens, from, &ray)) return false;
    ray = quat_apply(f->camera_to_robot.rot, ray);
    double flat = hypot(ray.x, ray.y), green = 0, last = -1;
    if (flat < 1e-3) return false;
    for (double away = l->f->range; away > 0.3; away /= 1.01) {
        /* the ground under the ray, nearer and nearer */
        struct vec3 at = {eye.x + away * ray.x / flat, eye.y + away * ray.y / flat, 0};
        if (!nm_camera_from_world(f->lens, f->camera_to_robot, at, &low) || low.v <= from.v) continue;
        if (!frame_holds(f, low)) return false;
        if (low.v - last < 1) continue;
        last = low.v;
        bool carpet = frame_carpet(f, &l->carpet, (uint32_t)low.u, (uint32_t)low.v);
        if (carpet && !green) *foot = low;
        green = carpet ? green + 1 : 0;
        if (green >= 4) return true;
    }
    return false;
}

/* A line that ends at a post goes on below one side of it, not below both: the foot is where carpet begins at either.
 */
static void shorten(const struct look *l, struct pixel top, double width, struct pixel *foot)
{
    double slope = (foot->u - top.u) / (foot->v - top.v);
    for (struct pixel at = *foot; at.v - 1 > top.v && foot->v - at.v < 3;) {
        struct pixel left, right;
        at = (struct pixel){at.u - slope, at.v - 1};
        left = (struct pixel){at.u - 0.35 * width, at.v}, right = (struct pixel){at.u + 0.35 * width, at.v};
        if (!frame_holds(&l->frame, left) || !frame_holds(&l->frame, right)) return;
        if (frame_carpet(&l->frame, &l->carpet, (uint32_t)left.u, (uint32_t)left.v) ||
            frame_carpet(&l->frame, &l->carpet, (uint32_t)right.u, (uint32_t)right.v))
            *foot = at;
    }
}

/* What speaks for a post whose axis runs from `top` to `foot`, 0 to 1. */
static float judge(const struct look *l, struct pixel top, struct pixel foot, double width)
{
    enum { LOOKS = 20 };
    const struct frame *f = &l->frame;
    double high = foot.v - top.v;
    uint32_t plain = 0, left = 0, right = 0;
    if (high < 2 * width || high < 8) return 0;
    struct colour own[LOOKS];
    for (int i = 0; i < LOOKS; i++) {
        double k = (i + 0.5) / LOOKS, u = top.u + k * (foot.u - top.u), v = top.v + k * (foot.v - top.v) - 1;
        own[i] = colour_at(f, u, v);
        struct colour beside[2] = {colour_at(f, u - 0.85 * width - 1.5, v), colour_at(f, u + 0.85 * width + 1.5, v)};
        bool grey = (float)from_white(&l->carpet, own[i].y, own[i].u, own[i].v) < l->f->grey * (float)own[i].y + 4;
        plain += grey && own[i].y > 0.8 * l->carpet.y && (!i || alike(l, own[i], own[i - 1]));
        left += !alike(l, own[i], beside[0]);
        right += !alike(l, own[i], beside[1]);
    }
    if (plain < 0.75 * LOOKS || left < l->f->sides * LOOKS || right < l->f->sides * LOOKS) return 0;
    return (float)(plain + left + right) / (3 * LOOKS);
}

static void try_post(struct look *l, uint32_t row, const struct edge *a, const struct edge *b)
{
    const struct frame *f = &l->frame;
    struct pixel top = {(a->at + b->at) / 2.0, row}, foot, side[2];
    double width = b->at - a->at;
    struct vec3 at;
    if (!follow(l, top, &foot)) return;
    shorten(l, top, width, &foot);
    if (!frame_ground(f, foot.u, foot.v, &at)) return;
    if (foot.v < border_at(l->f->border, foot.u) + 3) return; /* behind the goal lies more carpet */
    double dx = at.x - f->camera_to_robot.pos.x, dy = at.y - f->camera_to_robot.pos.y, d = hypot(dx, dy);
    double half = l->f->field.post / 2, nx = -dy / d * half, ny = dx / d * half;
    if (d > l->f->range || d < 0.3) return;
    /* as wide as the row cuts it: what stands upright has there the foot's distance */
    if (!nm_camera_from_world(f->lens, f->camera_to_robot, (struct vec3){at.x + nx, at.y + ny, 0}, &side[0]) ||
        !nm_camera_from_world(f->lens, f->camera_to_robot, (struct vec3){at.x - nx, at.y - ny, 0}, &side[1]))
        return;
    double wanted = hypot(side[0].u - side[1].u, side[0].v - side[1].v), ratio = width / fmax(wanted, 1);
    if (ratio < 1 / (1 + l->f->width) - 1.5 / wanted || ratio > 1 + l->f->width + 1.5 / wanted) return;
    /* a post is higher than a robot: all of it up to there must look like one, as far as the image shows it */
    struct pixel high;
    if (nm_camera_from_world(f->lens, f->camera_to_robot, (struct vec3){at.x, at.y, l->f->height}, &high) &&
        high.v < top.v)
        top = high.v > 2 ? high : (struct pixel){top.u + (high.u - top.u) * (top.v - 2) / (top.v - high.v), 2};
    float rating = judge(l, top, foot, wanted);
    if (rating <= 0) return;
    rating -= 0.2f * (float)fabs(log(ratio));
    for (uint32_t i = 0; i < l->n; i++) { /* of two sights of one post the better one stays */
        struct post *o = &l->posts[i];
        if (fabs(o->foot.u - foot.u) > fmax(o->width, wanted)) continue;
        if (rating > o->rating) *o = (struct post){foot, top, at.x, at.y, wanted, rating};
        return;
    }
    if (l->n < POSTS) l->posts[l->n++] = (struct post){foot, top, at.x, at.y, wanted, rating};
}

static void search_row(struct look *l, uint32_t row)
{
    struct edge edges[EDGES];
    uint32_t n = find_edges(l, row, edges);
    double widest = l->f->field.post * l->frame.lens->fx / 0.35;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n && k < i + 4; k++) {
            uint32_t width = edges[k].at - edges[i].at;
            if ((edges[i].step > 0) == (edges[k].step > 0) || width < 4 || width > widest) continue;
            /* plain between them */
            struct colour a = colour_at(&l->frame, edges[i].at + width * 0.3, row),
                          b = colour_at(&l->frame, edges[i].at + width * 0.7, row);
            if (alike(l, a, b)) try_post(l, row, &edges[i], &edges[k]);
        }
}

static PostInImage in_image(const struct look *l, const struct post *p)
{
    return (PostInImage){.header = l->f->image->header,
                         .foot_point = {p->foot.u, p->foot.v, 0},
                         .top_point = {p->top.u, p->top.v, 0},
                         .width = (float)p->width,
                         .confidence = fminf(fmaxf(p->rating, 0), 1)};
}

static void tell(struct look *l)
{
    const struct post *best[2] = {NULL, NULL};
    double width = l->f->field.goal_width + l->f->field.post;
    GoalInImage *goal = l->f->goal;
    for (uint32_t i = 0; i < l->n; i++)
        for (uint32_t k = i + 1; k < l->n; k++) {
            struct post *a = &l->posts[i], *b = &l->posts[k];
            if (fabs(hypot(a->x - b->x, a->y - b->y) - width) > 0.15 * width) continue;
            a->rating += 0.1f, b->rating += 0.1f;
        }
    for (uint32_t i = 0; i < l->n; i++) {
        const struct post *p = &l->posts[i];
        PostInImage *to = p->rating < l->f->least ? NULL : nm_append(&l->f->parts->posts, &PostInImage_type);
        if (!to) continue;
        *to = in_image(l, p);
        if (!best[0] || p->rating > best[0]->rating)
            best[1] = best[0], best[0] = p;
        else if (!best[1] || p->rating > best[1]->rating)
            best[1] = p;
    }
    if (!best[0]) return;
    bool pair = best[1] && fabs(hypot(best[0]->x - best[1]->x, best[0]->y - best[1]->y) - width) < 0.15 * width;
    const struct post *left = pair && best[1]->foot.u < best[0]->foot.u ? best[1] : best[0];
    const struct post *right = pair ? left == best[0] ? best[1] : best[0] : NULL;
    goal->left_post = in_image(l, left);
    goal->confidence = goal->left_post.confidence;
    goal->center_direction = goal->left_post.foot_point;
    if (!right) return;
    goal->right_post = in_image(l, right);
    goal->confidence = fminf(goal->confidence, goal->right_post.confidence);
    goal->center_direction = (Point){(left->foot.u + right->foot.u) / 2, (left->foot.v + right->foot.v) / 2, 0};
    /* the bar, if the image reaches up to it: it lies between the tops */
    BarInImage *bar = nm_append(&l->f->parts->bars, &BarInImage_type);
    if (bar)
        *bar = (BarInImage){.header = l->f->image->header,
                            .left_point = goal->left_post.top_point,
                            .right_point = goal->right_post.top_point,
                            .width = goal->left_post.width,
                            .confidence = 0.3f * goal->confidence};
}

static __attribute__((noinline)) void show(const struct look *l)
{
    struct sketch s;
    sketch_begin(&s, &l->frame);
    for (uint32_t i = 0; i < l->n; i++) {
        const struct post *p = &l->posts[i];
        uint32_t colour = p->rating < l->f->least ? SKETCH_RED : SKETCH_GREEN;
        sketch_line(&s, p->foot.u - p->width / 2, p->foot.v, p->top.u - p->width / 2, p->top.v, colour);
        sketch_line(&s, p->foot.u + p->width / 2, p->foot.v, p->top.u + p->width / 2, p->top.v, colour);
    }
    sketch_show(&s, l->f->nm, "posts");
}

static void step(struct goal_posts *f)
{
    struct look l = {.f = f};
    if (!nm_fresh(f->nm, f->color) || !frame_take(f->nm, f->image, f->pose, &l.frame)) return;
    f->parts->header = f->goal->header = f->image->header;
    if (l.frame.level && f->color->confidence > 0) {
        l.carpet = carpet_of(f->color);
        l.edge = (int32_t)fmaxf(6, f->edge * f->color->y);
        /* above the horizon; of an image below it, its upper rows */
        uint32_t horizon = frame_horizon(&l.frame, l.frame.width / 2.0);
        for (uint32_t i = 0, last = UINT32_MAX; i < ROWS; i++) {
            uint32_t up = 6 + 14 * i, row = horizon > up + 2 ? horizon - up : 3 + 6 * (ROWS - 1 - i);
            if (row == last || row >= l.frame.height - 8) continue;
            search_row(&l, row);
            last = row;
        }
        tell(&l);
        if (f->nm->watched) show(&l);
    }
    nm_put(f->nm, f->parts);
    nm_put(f->nm, f->goal);
}

#define SELF struct goal_posts
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(color, FieldColor, "field_color"),
    NM_IN(border, FieldBorder, "field_border", .optional = true),
    NM_OUT(parts, GoalPartsInImage, "goal_parts_in_image"),
    NM_OUT(goal, GoalInImage, "goal_in_image"),
    {0},
};
static const struct nm_param params[] = {
    NM_PITCH_PARAMS(field),
    NM_PARAM(edge, 0.09, 0.02, 2, "1",
             "sides of a post differ from what is behind them by this share of the carpet's brightness"),
    NM_PARAM(grey, 0.3, 0.05, 2, "1", "posts have less colour than this share of their brightness"),
    NM_PARAM(width, 0.7, 0.05, 3, "1", "a post may be wider or narrower than it should be by this share"),
    NM_PARAM(sides, 0.55, 0.1, 1, "1", "share of both sides that must differ from what is behind them"),
    NM_PARAM(height, 0.8, 0.1, 3, "m", "posts are looked at up to this height: above robots, below the bar"),
    NM_PARAM(range, 9, 1, 40, "m", "posts farther than this are left out"),
    NM_PARAM(least, 0.6, 0, 1, "1", "posts rated lower are left out"),
    {0},
};
NM_MODULE(goal_posts, "Goal posts in the image, followed from the horizon down to their feet.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
