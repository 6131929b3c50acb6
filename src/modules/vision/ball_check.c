/* Decides which candidate is the ball, without a network: its outline must be a circle of the right size, it must be
 * white with dark spots inside and stand on carpet. A linear classifier weighs what was measured. */
#include "humanoid_league_msgs/BallsInImage.h"
#include "modules/vision/sketch.h"

enum { RAYS = 32, FEATURES = 14 };

struct ball_check {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const FieldColor *color;
    const BallsInImage *candidates;
    /* out */
    BallsInImage *balls;
    BallInImage *ball;
    /* params */
    float radius, least;
    float weights[FEATURES];
};

struct outline {
    uint32_t n, inside; /* points; rays that stay in the image */
    double u[RAYS], v[RAYS];
};

/* Along each ray the place where carpet begins; where there is none, the sharpest step of brightness. */
static void trace(const struct frame *f, const struct carpet *carpet, double u, double v, double r, struct outline *o)
{
    o->n = o->inside = 0;
    for (int k = 0; k < RAYS; k++) {
        double c = cos(2 * M_PI * k / RAYS), s = sin(2 * M_PI * k / RAYS), step = fmax(r / 24, 0.5), sharp = 0, at = 0;
        struct pixel end = {u + 1.7 * r * c, v + 1.7 * r * s};
        if (!frame_holds(f, end)) continue;
        o->inside++;
        int green = 0;
        double first = 0;
        for (double way = 0.45 * r; way < 1.7 * r; way += step) {
            uint32_t x = (uint32_t)(u + way * c), y = (uint32_t)(v + way * s);
            uint32_t bx = (uint32_t)(u + (way - 1.5 * step) * c), by = (uint32_t)(v + (way - 1.5 * step) * s);
            double slope = abs(frame_y(f, x, y) - frame_y(f, bx, by)) * (1 - 0.5 * fabs(way - r) / r);
            if (way > 0.7 * r && way < 1.35 * r && slope > sharp) sharp = slope, at = way - 0.75 * step;
            bool now = frame_carpet(f, carpet, x, y);
            if (now && !green) first = way;
            green = now ? green + 1 : 0;
            if (green * step > fmax(2, 0.15 * r)) break;
        }
        bool carpeted = green * step > fmax(2, 0.15 * r);
        if (!carpeted && sharp < 0.25 * carpet->y) continue;
        double way = carpeted ? first - 0.5 * step : at;
        o->u[o->n] = u + way * c;
        o->v[o->n++] = v + way * s;
    }
}

/* Kasa's circle through the points, twice: the second time without those far from it. Returns the rms distance. */
static double fit_circle(struct outline *o, double *u, double *v, double *r)
{
    double off2 = 0;
    for (int round = 0; round < 3; round++) {
        double m[3][4] = {{0}}, mu = *u, mv = *v;
        uint32_t n = 0;
        off2 = 0;
        for (uint32_t i = 0; i < o->n; i++) {
            double x = o->u[i] - mu, y = o->v[i] - mv, z = x * x + y * y, off = sqrt(z) - *r;
            if (round && fabs(off) > (round == 1 ? 0.25 : 0.15) * *r) continue;
            double row[4] = {x, y, 1, z};
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 4; b++) m[a][b] += row[a] * row[b];
            off2 += off * off;
            n++;
        }
        if (n < 8) return INFINITY;
        for (int a = 0; a < 3; a++) {
            if (fabs(m[a][a]) < 1e-9) return INFINITY;
            for (int b = 0; b < 3; b++) {
                if (b == a) continue;
                double k = m[b][a] / m[a][a];
                for (int c = a; c < 4; c++) m[b][c] -= k * m[a][c];
            }
        }
        double cx = m[0][3] / m[0][0] / 2, cy = m[1][3] / m[1][1] / 2, c = m[2][3] / m[2][2];
        *u = mu + cx;
        *v = mv + cy;
        *r = sqrt(fmax(c + cx * cx + cy * cy, 0));
        off2 /= n;
    }
    return sqrt(off2) / fmax(*r, 1);
}

struct inside {
    double carpet, white, dark, hue; /* shares of what is inside                     */
    double spread;                   /* deviation of brightness over the carpet's    */
    double tilt;                     /* how much brighter one half is than the other */
    double busy;                     /* share of neighbours that are white and dark  */
    double below, above;             /* carpet around it, three quarters and a quarter of a turn */
};

static struct inside look_inside(const struct frame *f, const struct carpet *carpet, double u, double v, double r)
{
    struct inside in = {0};
    double sum = 0, sum2 = 0, along = 0, down = 0;
    uint32_t n = 0, ring = 0;
    int32_t before = 0;
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 24; k++) {
            double way = r * 0.88 * sqrt((i + 0.5) / 8), turn = 2 * M_PI * (k + 0.5 * (i & 1)) / 24;
            struct pixel at = {u + way * cos(turn), v + way * sin(turn)};
            if (!frame_holds(f, at)) continue;
            int32_t y = frame_y(f, (uint32_t)at.u, (uint32_t)at.v);
            bool green = frame_carpet(f, carpet, (uint32_t)at.u, (uint32_t)at.v);
            in.carpet += green;
            in.white += !green && y > 1.3 * carpet->y;
            in.dark += !green && y < 0.75 * carpet->y;
            const uint8_t *pair = frame_pair(f, (uint32_t)at.u, (uint32_t)at.v);
            in.hue += !green && from_white(carpet, y, pair[1] - 128, pair[3] - 128) > 0.3 * y + 8;
            along += y * cos(turn), down += y * sin(turn);
            in.busy += k && abs(y - before) > 0.6 * carpet->y;
            before = y;
            sum += y, sum2 += y * y;
            n++;
        }
    uint32_t upper = 0;
    for (int k = 0; k < 32; k++) { /* y points down */
        double turn = -M_PI / 4 + 2 * M_PI * k / 32;
        struct pixel at = {u + 1.25 * r * cos(turn), v + 1.25 * r * sin(turn)};
        if (!frame_holds(f, at)) continue;
        bool green = frame_carpet(f, carpet, (uint32_t)at.u, (uint32_t)at.v);
        if (k < 24)
            in.below += green, ring++;
        else
            in.above += green, upper++;
    }
    if (n < 24) return (struct inside){.carpet = 1};
    in.carpet /= n, in.white /= n, in.dark /= n, in.hue /= n;
    in.spread = sqrt(fmax(sum2 / n - sum / n * (sum / n), 0)) / fmax(carpet->y, 20);
    in.tilt = hypot(along, down) / n / fmax(carpet->y, 20);
    in.busy /= n;
    in.below = ring ? in.below / ring : 0;
    in.above = upper ? in.above / upper : 0;
    return in;
}

/* True if the candidate has a circle at all; its place, size and confidence are written over. */
static bool check(const struct ball_check *f, const struct frame *frame, const struct carpet *carpet, BallInImage *b)
{
    double u = b->center.x, v = b->center.y, r = b->diameter / 2, rms = INFINITY;
    struct outline o;
    for (int round = 0; round < 2; round++) {
        if (!frame_holds(frame, (struct pixel){u, v})) return false;
        trace(frame, carpet, u, v, r, &o);
        double before = r;
        if (o.n < 8) break;
        rms = fit_circle(&o, &u, &v, &r);
        if (!(rms < 0.3) || r < 0.5 * before || r > 1.8 * before) return false;
    }
    double expected = frame_ball(frame, u, v, f->radius), ratio = expected > 0 ? r / expected : 1;
    if (frame->level && !(expected > 0)) return false;
    if (!(rms < 0.3)) { /* no outline at all, such as before a white robot: as large as it must be */
        if (!frame->level) return false;
        rms = 0.2;
        r = expected;
        ratio = 1;
    }
    if (!isfinite(u + v + r) || !frame_holds(frame, (struct pixel){u, v})) return false;
    struct inside in = look_inside(frame, carpet, u, v, r);
    const double features[FEATURES] = {1,
                                       in.carpet,
                                       fmin(in.white, 0.6),
                                       fmin(in.dark, 0.3),
                                       in.hue,
                                       fmin(in.spread, 1),
                                       fmin(in.tilt, 1),
                                       fmin(in.busy, 0.4),
                                       sqrt(in.white * in.dark),
                                       in.below,
                                       in.above,
                                       rms,
                                       fabs(log(ratio)),
                                       o.inside ? (double)o.n / o.inside : 0};
    double sum = 0;
    for (int i = 0; i < FEATURES; i++) sum += f->weights[i] * features[i];
    b->center = (Point){u, v, 0};
    b->diameter = 2 * r;
    b->confidence = (float)(1 / (1 + exp(-sum)));
    return true;
}

static __attribute__((noinline)) void show(const struct ball_check *f, const struct frame *frame)
{
    struct sketch s;
    sketch_begin(&s, frame);
    for (uint32_t i = 0; i < f->balls->candidates.n; i++) {
        const BallInImage *b = &f->balls->candidates.at[i];
        sketch_circle(&s, b->center.x, b->center.y, b->diameter / 2,
                      b->confidence > f->least ? SKETCH_GREEN : SKETCH_RED);
    }
    sketch_show(&s, f->nm, "balls");
}

static void step(struct ball_check *f)
{
    struct frame frame;
    if (!nm_fresh(f->nm, f->candidates) || !frame_take(f->nm, f->image, f->pose, &frame)) return;
    struct carpet carpet = carpet_of(f->color);
    f->balls->header = f->ball->header = f->image->header;
    for (uint32_t i = 0; i < f->candidates->candidates.n; i++) {
        BallInImage b = f->candidates->candidates.at[i];
        if (!check(f, &frame, &carpet, &b)) continue;
        if (b.confidence > f->least && b.confidence > f->ball->confidence) *f->ball = b;
        BallInImage *to = nm_append(&f->balls->candidates, &BallInImage_type);
        if (to) *to = b;
    }
    if (f->nm->watched) show(f, &frame);
    nm_put(f->nm, f->balls);
    nm_put(f->nm, f->ball);
}

#define SELF struct ball_check
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(color, FieldColor, "field_color"),
    NM_IN(candidates, BallsInImage, "ball_candidates"),
    NM_OUT(balls, BallsInImage, "balls_in_image"),
    NM_OUT(ball, BallInImage, "ball_in_image"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(radius, 0.07, 0.02, 0.2, "m", "of the ball"),
    NM_PARAM(least, 0.45, 0, 1, "1", "less sure ones are no balls"),
    NM_PARAM_LIST(weights, "-9.4 -7.6 0.7 2.2 -0.3 7.3 -7.3 -1.4 1.1 4.2 3.3 -4.1 -6.3 -0.2", -100, 100, "1",
                  "of the classifier: constant; shares of carpet, white, dark and hues inside; spread of brightness; "
                  "carpet below and above; distance of the outline from a circle; logarithm of the size; share of the "
                  "outline found"),
    {0},
};
NM_MODULE(ball_check, "Decides which candidate is the ball, by its outline and its spots.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
