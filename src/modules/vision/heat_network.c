/* The whole vision as one network (SweatyNet: Schnekenburger et al. 2017): an image to a heat map for each of eight
 * classes, whose peaks are balls, feet of posts, robots and obstacles, crossings of lines and penalty marks. What a
 * peak does not tell is measured at its place: the size of a ball, the colour of a robot's shirt, the lines of a
 * crossing. */
#include "humanoid_league_msgs/BallsInImage.h"
#include "humanoid_league_msgs/GoalPartsInImage.h"
#include "humanoid_league_msgs/ObstaclesInImage.h"
#include "modules/vision/network.h"
#include "modules/vision/regions.h"
#include "modules/vision/sketch.h"
#include "nutmeg_msgs/Percepts.h"

enum class { BALL, POST, CROSSING_X, MARK, CROSSING_L, CROSSING_T, ROBOT, OBSTACLE, CLASSES };
enum { RATIO = 4 /* pixels of the network's picture to one of a heat map */, RING = 48 };

struct heat_network {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const RegionsOfInterest *ball_regions, *goal_regions, *line_regions, *robot_regions;
    /* out */
    BallsInImage *balls;
    BallInImage *ball;
    GoalPartsInImage *posts;
    ObstaclesInImage *obstacles;
    Percepts *features;
    /* params */
    char model[128];
    int32_t width, height;
    float limits[CLASSES];
    float radius, robot_height, post_width, shirt, directed, around, arm, trust;
    /* state */
    struct nm_net *net;
};

struct peak {
    double u, v; /* px of the image */
    float heat;
};

/* ---- peaks ---- */

/* How far beside the highest of three neighbours the top of the curve through them is; heat falls as a bell does. */
static double beside(float before, float top, float after)
{
    double a = log(fmax(before, 1e-4)), b = log(fmax(top, 1e-4)), c = log(fmax(after, 1e-4)), bend = a - 2 * b + c;
    return bend < -1e-6 ? fmin(fmax((a - c) / (2 * bend), -0.5), 0.5) : 0;
}

static bool is_peak(const float *map, int32_t w, int32_t h, int32_t x, int32_t y, int32_t reach)
{
    float top = map[y * w + x];
    for (int32_t b = -reach; b <= reach; b++)
        for (int32_t a = -reach; a <= reach; a++) {
            int32_t at = (y + b) * w + x + a;
            bool in = x + a >= 0 && x + a < w && y + b >= 0 && y + b < h;
            if (in && (map[at] > top || (map[at] == top && at < y * w + x))) return false;
        }
    return true;
}

static const RegionsOfInterest *regions_of(const struct heat_network *f, enum class class)
{
    switch (class) {
    case BALL: return f->ball_regions;
    case POST: return f->goal_regions;
    case ROBOT:
    case OBSTACLE: return f->robot_regions;
    default: return f->line_regions;
    }
}

/* The peaks of a class, in reading order. Where one is expected, less heat is enough. */
static uint32_t find(const struct heat_network *f, const struct frame *frame, enum class class, struct peak *to,
                     uint32_t room)
{
    int32_t w = f->width / RATIO, h = f->height / RATIO;
    const float *map = nm_net_output(f->net, 0) + (size_t) class * (size_t)(w * h);
    const RegionsOfInterest *regions = regions_of(f, class);
    float limit = f->limits[class];
    uint32_t n = 0;
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w && n < room; x++) {
            float top = map[y * w + x];
            if (top <= limit * (1 - f->trust) || !is_peak(map, w, h, x, y, 2)) continue;
            double px = (x + 0.5) / w * frame->width, py = (y + 0.5) / h * frame->height;
            if (top <= limit * (1 - f->trust * expected_at(regions, f->image, px, py))) continue;
            const float *at = map + y * w + x;
            double u = x, v = y;
            if (x > 0 && x < w - 1) u += beside(at[-1], top, at[1]);
            if (y > 0 && y < h - 1) v += beside(at[-w], top, at[w]);
            to[n++] = (struct peak){(u + 0.5) / w * frame->width - 0.5, (v + 0.5) / h * frame->height - 0.5, top};
        }
    return n;
}

/* ---- what is measured at a peak ---- */

static double bright(const struct frame *f, double u, double v)
{
    struct pixel p = {u, v};
    return frame_holds(f, p) ? frame_y(f, (uint32_t)u, (uint32_t)v) : NAN;
}

/* The radius at which brightness changes across the circle on most of its way: spots change it on a part of theirs
 * only (Daugman 1993). */
static double radius_of(const struct frame *f, double u, double v)
{
    enum { RAYS = 32, LEAST = 6 };
    double best = 0, found = 0;
    for (double r = fmax(3, f->width / 160.0); r < f->width / 5.0; r *= 1.07) {
        double steps[RAYS], thick = fmax(1, 0.1 * r);
        uint32_t n = 0;
        for (int k = 0; k < RAYS; k++) {
            double c = cos(2 * M_PI * k / RAYS), s = sin(2 * M_PI * k / RAYS);
            double in = bright(f, u + (r - thick) * c, v + (r - thick) * s),
                   out = bright(f, u + (r + thick) * c, v + (r + thick) * s);
            if (isnan(in) || isnan(out)) continue;
            uint32_t at = n++;
            double step = fabs(in - out);
            for (; at > 0 && steps[at - 1] > step; at--) steps[at] = steps[at - 1];
            steps[at] = step;
        }
        double score = n < LEAST ? 0 : steps[n * 2 / 5];
        if (score > best) best = score, found = r;
    }
    return found;
}

/* Reddish shirts are the thesis' magenta, bluish ones its cyan. */
static uint8_t shirt_of(const struct heat_network *f, const struct frame *frame, double u, double half, double from,
                        double to)
{
    uint32_t red = 0, blue = 0, all = 0;
    for (double y = fmax(from, 0); y < fmin(to, frame->height); y += 2)
        for (double x = fmax(u - half, 0); x < fmin(u + half, frame->width); x += 2, all++) {
            const uint8_t *p = frame_pair(frame, (uint32_t)x, (uint32_t)y);
            int32_t du = p[1] - 128, dv = p[3] - 128, l = p[0] + 16;
            if (8 * (du * du + dv * dv) < l * l / 8) continue;
            red += dv > 0 && dv > -du;
            blue += du > 0 && dv <= 0;
        }
    if (red > blue && (float)red > f->shirt * (float)all) return ObstacleInImage_ROBOT_MAGENTA;
    if (blue > red && (float)blue > f->shirt * (float)all) return ObstacleInImage_ROBOT_CYAN;
    return ObstacleInImage_ROBOT_UNDEFINED;
}

/* What is painted around a point: how bright the ring from 18 to 26 cm is, from 0 (carpet) to 1 (as bright as the
 * point). Marks are smaller, the arms of crossings reach farther. False: it is not whole in the image. */
static bool look_around(const struct frame *f, struct vec3 at, float ring[RING])
{
    struct pixel p;
    float sorted[RING], white = 0;
    for (int k = 0; k < RING; k++) {
        ring[k] = 0;
        for (int i = 0; i < 3; i++) {
            double r = 0.18 + 0.04 * i, turn = 2 * M_PI * k / RING;
            if (!frame_pixel(f, at.x + r * cos(turn), at.y + r * sin(turn), 0, &p)) return false;
            ring[k] += (float)frame_y(f, (uint32_t)p.u, (uint32_t)p.v) / 3;
        }
        int place = k;
        for (; place > 0 && sorted[place - 1] > ring[k]; place--) sorted[place] = sorted[place - 1];
        sorted[place] = ring[k];
    }
    for (int i = 0; i < 25; i++)
        if (frame_pixel(f, at.x + 0.02 * (i % 5 - 2), at.y + 0.02 * (i / 5 - 2), 0, &p))
            white = fmaxf(white, frame_y(f, (uint32_t)p.u, (uint32_t)p.v));
    float carpet = sorted[RING / 4];
    for (int k = 0; k < RING; k++) ring[k] = (ring[k] - carpet) / fmaxf(white - carpet, 8);
    return true;
}

/* The brightest on the ring near a direction. */
static float arm(const float ring[RING], int k)
{
    float most = ring[(k + RING) % RING];
    for (int i = -2; i <= 2; i++) most = fmaxf(most, ring[(k + i + RING) % RING]);
    return most;
}

/* The turn at which the arms of a crossing lie on what is brightest, and which quarters after it have one. */
static double turn_of(const float ring[RING], uint32_t arms, float least, uint32_t *seen)
{
    float score[RING], most = -INFINITY;
    int best = 0;
    for (int k = 0; k < RING; k++) {
        score[k] = 0;
        for (int q = 0; q < 4; q++)
            for (int i = -1; i <= 1; i++)
                score[k] += (arms >> q & 1 ? 1.0f : -1.0f) * ring[(k + q * RING / 4 + i + RING) % RING];
        if (score[k] > most) most = score[k], best = k;
    }
    *seen = 0;
    for (int q = 0; q < 4; q++) *seen |= (uint32_t)(arm(ring, best + q * RING / 4) > least) << q;
    float before = score[(best + RING - 1) % RING], after = score[(best + 1) % RING], bend = before - 2 * most + after;
    return 2 * M_PI / RING * (best + (bend < 0 ? 0.5 * (double)(before - after) / (double)bend : 0));
}

/* ---- messages ---- */

static void tell_balls(struct heat_network *f, const struct frame *frame, const struct peak *peaks, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        BallInImage *b = nm_append(&f->balls->candidates, &BallInImage_type);
        if (!b) return;
        double r = frame->level ? frame_ball(frame, peaks[i].u, peaks[i].v, f->radius)
                                : radius_of(frame, peaks[i].u, peaks[i].v);
        *b = (BallInImage){f->image->header, {peaks[i].u, peaks[i].v, 0}, 2 * r, peaks[i].heat};
        if (r > 0 && b->confidence > f->ball->confidence) *f->ball = *b;
    }
}

/* A post's peak is at its middle; what is told as its foot is the side that the camera sees. */
static void tell_posts(struct heat_network *f, const struct frame *frame, const struct peak *peaks, uint32_t n)
{
    const struct vec3 eye = frame->camera_to_robot.pos;
    for (uint32_t i = 0; i < n; i++) {
        PostInImage *p = nm_append(&f->posts->posts, &PostInImage_type);
        struct pixel foot = {peaks[i].u, peaks[i].v};
        struct vec3 at;
        if (!p) return;
        if (frame_ground(frame, foot.u, foot.v, &at)) {
            double away = fmax(hypot(at.x - eye.x, at.y - eye.y), 0.1), near = 1 - (double)f->post_width / 2 / away;
            struct vec3 side = {eye.x + near * (at.x - eye.x), eye.y + near * (at.y - eye.y), 0};
            nm_camera_from_world(frame->lens, frame->camera_to_robot, side, &foot);
            p->width = (float)(frame->lens->fx * (double)f->post_width / fmax(vec3_norm(vec3_sub(at, eye)), 0.1));
        }
        p->header = f->image->header;
        p->foot_point = (Point){foot.u, foot.v, 0};
        p->top_point = (Point){foot.u, 0, 0};
        p->confidence = peaks[i].heat;
    }
}

static void tell_obstacles(struct heat_network *f, const struct frame *frame, bool robots, const struct peak *peaks,
                           uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct vec3 at;
        struct pixel top, chest[2];
        if (!frame_ground(frame, peaks[i].u, peaks[i].v, &at)) continue;
        double away = hypot(at.x - frame->camera_to_robot.pos.x, at.y - frame->camera_to_robot.pos.y);
        double h = f->robot_height, wide = frame->lens->fx * 0.5 * h / fmax(away, 0.2),
               high[3] = {h, 0.75 * h, 0.5 * h};
        struct pixel *const to[3] = {&top, &chest[0], &chest[1]};
        for (int k = 0; k < 3; k++)
            if (!nm_camera_from_world(frame->lens, frame->camera_to_robot, (struct vec3){at.x, at.y, high[k]}, to[k]))
                *to[k] = (struct pixel){peaks[i].u, 0};
        ObstacleInImage *o = nm_append(&f->obstacles->obstacles, &ObstacleInImage_type);
        if (!o) return;
        double tall = fmax(peaks[i].v - fmax(top.v, 0), 1);
        *o = (ObstacleInImage){.header = f->image->header,
                               .color = robots ? shirt_of(f, frame, peaks[i].u, wide / 4, chest[0].v, chest[1].v)
                                               : ObstacleInImage_UNDEFINED,
                               .top_left = {peaks[i].u - wide / 2, peaks[i].v + 1 - tall, 0},
                               .height = (uint16_t)fmin(tall, UINT16_MAX),
                               .width = (uint16_t)fmin(wide, UINT16_MAX),
                               .confidence = peaks[i].heat};
    }
}

/* Crossings and marks look alike: what is around them tells them apart. */
static void tell_feature(struct heat_network *f, const struct frame *frame, enum class class, const struct peak *peak)
{
    enum { LINE = 0x5, L = 0x3, T = 0xb, X = 0xf }; /* quarters with an arm */
    static const struct {
        uint8_t kind, arms;
    } kinds[CLASSES] = {[CROSSING_L] = {Percept_CROSSING_L, L},
                        [CROSSING_T] = {Percept_CROSSING_T, T},
                        [CROSSING_X] = {Percept_CROSSING_X, X},
                        [MARK] = {Percept_PENALTY_MARK, LINE}};
    float ring[RING];
    uint32_t seen;
    uint8_t kind = kinds[class].kind;
    double turn = NAN, away = INFINITY;
    struct vec3 at;
    bool crossing = class != MARK;
    if (frame_ground(frame, peak->u, peak->v, &at)) away = hypot(at.x, at.y);
    bool looked = away < f->around && look_around(frame, at, ring);
    if (away < f->directed && !looked) return; /* at the edge of the image nobody can tell what it is */
    if (looked && crossing) {
        turn = turn_of(ring, kinds[class].arms, f->arm, &seen);
        crossing = (seen & kinds[class].arms) == kinds[class].arms;
        if (away >= f->directed && !crossing) crossing = true, looked = false, turn = NAN; /* too far to be sure */
    }
    if (looked && !crossing) { /* through a penalty mark no line goes, other than through that in the middle */
        turn_of(ring, LINE, f->arm, &seen);
        if (seen || class == CROSSING_L || class == CROSSING_T) return;
        kind = Percept_PENALTY_MARK;
    }
    if (class == CROSSING_L) turn += M_PI / 4; /* an L has the direction of its bisector */
    Percept *p = nm_append(&f->features->percepts, &Percept_type);
    if (!p) return;
    p->kind = kind;
    p->confidence = peak->heat;
    p->center = (Point32){(float)peak->u, (float)peak->v, 0};
    p->orientation = (float)angle_normal(turn);
}

static __attribute__((noinline)) void show(const struct heat_network *f, const struct frame *frame)
{
    static const uint32_t colours[CLASSES] = {SKETCH_RED,  SKETCH_YELLOW, SKETCH_BLUE,  0xff40ff,
                                              SKETCH_BLUE, SKETCH_BLUE,   SKETCH_GREEN, 0xc0c0c0};
    struct sketch s;
    sketch_begin(&s, frame);
    for (enum class c = 0; c < CLASSES; c++) {
        struct peak peaks[32];
        uint32_t n = find(f, frame, c, peaks, 32);
        for (uint32_t i = 0; i < n; i++)
            sketch_circle(&s, peaks[i].u, peaks[i].v, 4 + 12.0 * (double)peaks[i].heat, colours[c]);
    }
    sketch_show(&s, f->nm, "peaks");
}

static void step(struct heat_network *f)
{
    enum { ROOM = 32 };
    struct frame frame;
    struct peak peaks[ROOM];
    if (!nm_fresh(f->nm, f->pose) || !frame_take(f->nm, f->image, f->pose, &frame)) return;
    f->balls->header = f->ball->header = f->posts->header = f->obstacles->header = f->features->header =
        f->image->header;
    network_picture(&frame, (uint32_t)f->width, (uint32_t)f->height, nm_net_input(f->net, 0));
    nm_net_run(f->net);
    for (enum class c = 0; c < CLASSES; c++) {
        uint32_t n = find(f, &frame, c, peaks, ROOM);
        if (c == BALL)
            tell_balls(f, &frame, peaks, n);
        else if (c == POST)
            tell_posts(f, &frame, peaks, n);
        else if (c == ROBOT || c == OBSTACLE)
            tell_obstacles(f, &frame, c == ROBOT, peaks, n);
        else
            for (uint32_t i = 0; i < n; i++) tell_feature(f, &frame, c, &peaks[i]);
    }
    if (f->nm->watched) show(f, &frame);
    nm_put(f->nm, f->balls);
    nm_put(f->nm, f->ball);
    nm_put(f->nm, f->posts);
    nm_put(f->nm, f->obstacles);
    nm_put(f->nm, f->features);
}

static int init(struct heat_network *f)
{
    uint32_t w = (uint32_t)f->width & ~15u, h = (uint32_t)f->height & ~15u; /* four pools halve them */
    f->width = (int32_t)w, f->height = (int32_t)h;
    f->net = network_load(f->nm, f->model, (struct nm_net_shape){4, {1, 3, h, w}}, 3 * h * w,
                          CLASSES * (h / RATIO) * (w / RATIO));
    return f->net ? 0 : -1;
}

static void end(struct heat_network *f) { nm_net_free(f->net); }

#define SELF struct heat_network
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(ball_regions, RegionsOfInterest, "ball_ROIs", .optional = true),
    NM_IN(goal_regions, RegionsOfInterest, "goal_ROIs", .optional = true),
    NM_IN(line_regions, RegionsOfInterest, "line_ROIs", .optional = true),
    NM_IN(robot_regions, RegionsOfInterest, "obstacle_ROIs", .optional = true),
    NM_OUT(balls, BallsInImage, "balls_in_image"),
    NM_OUT(ball, BallInImage, "ball_in_image"),
    NM_OUT(posts, GoalPartsInImage, "goal_parts_in_image"),
    NM_OUT(obstacles, ObstaclesInImage, "obstacles_in_image"),
    NM_OUT(features, Percepts, "features_in_image"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_WORD(model, "heat_wide.onnx", NULL, "file of the network, read when it starts"),
    NM_PARAM(width, 320, 64, FRAME_SIDE, "px", "of the picture that the network sees; fixed when it starts"),
    NM_PARAM(height, 240, 64, FRAME_SIDE, "px", "of the picture that the network sees; fixed when it starts"),
    NM_PARAM_LIST(limits, "0.45 0.5 0.375 0.4 0.42 0.4 0.35 0.25", 0, 1, "1",
                  "heat above which a peak counts: ball, post, X, penalty mark, L, T, robot, obstacle"),
    NM_PARAM(trust, 0.25, 0, 1, "1", "share by which the limits are lower where something is surely expected"),
    NM_PARAM(radius, 0.07, 0.02, 0.2, "m", "of the ball"),
    NM_PARAM(robot_height, 0.7, 0.2, 2, "m", "of a robot"),
    NM_PARAM(post_width, 0.1, 0.02, 0.5, "m", "of a goal post"),
    NM_PARAM(shirt, 0.06, 0.01, 1, "1", "share of its chest that has the shirt's colour"),
    NM_PARAM(directed, 2.5, 0, 20, "m", "nearer crossings are only told with the lines that cross in them"),
    NM_PARAM(around, 3.5, 0, 20, "m", "what is around crossings and marks is looked at up to this distance"),
    NM_PARAM(arm, 0.4, 0, 1, "1", "brightness of a line that crosses, from the carpet's to that of the crossing"),
    {0},
};
NM_MODULE(heat_network, "The whole vision as one network: heat maps whose peaks are what it sees.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step), .close = NM_CALL(end))
