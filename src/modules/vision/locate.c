/* Pixel to position: everything that was found in an image, brought to the ground under the robot. A ray through the
 * pixel meets the ground; a ball's distance follows from its size as well, and the two are weighed by how exact they
 * are. The camera's pose is that of the moment of the image; while it is not valid, nothing has a place. Whatever a
 * vision is made of, this is its last stage, and the messages are those that the simulator makes of percepts. */
#include "base/pitch.h"
#include "humanoid_league_msgs/BallInImage.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "humanoid_league_msgs/GoalPartsInImage.h"
#include "humanoid_league_msgs/GoalRelative.h"
#include "humanoid_league_msgs/LineInformationInImage.h"
#include "humanoid_league_msgs/LineInformationRelative.h"
#include "humanoid_league_msgs/ObstaclesInImage.h"
#include "humanoid_league_msgs/ObstaclesRelative.h"
#include "modules/vision/frame.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/Percepts.h"

struct locate {
    struct nm *nm;
    /* in */
    const CameraPose *pose;
    const BallInImage *ball_in_image;
    const LineInformationInImage *lines_in_image;
    const GoalPartsInImage *goal_in_image;
    const ObstaclesInImage *obstacles_in_image, *near_obstacles;
    const Percepts *features, *line_features;
    const MatchState *match;
    /* out */
    Percepts *percepts;
    BallRelative *ball;
    GoalRelative *goal;
    ObstaclesRelative *obstacles;
    LineInformationRelative *lines;
    /* params */
    struct nm_pitch_size field;
    char ball_by[8];
    float ball_radius, robot_radius, robot_width, pixel_noise, size_noise, range;
};

/* Camera of the image whose findings are told; only the lens and the pose of it are used. */
static bool take_view(const struct locate *f, struct frame *v)
{
    const struct nm_body *body = f->nm->body;
    const Pose *p = &f->pose->pose;
    *v = (struct frame){.camera_to_robot = {{p->orientation.w, p->orientation.x, p->orientation.y, p->orientation.z},
                                            {p->position.x, p->position.y, p->position.z}}};
    for (uint32_t i = 0; body && i < body->n_cameras; i++)
        if (!strcmp(body->frames[body->cameras[i].frame].name, f->pose->camera)) v->lens = &body->cameras[i].lens;
    v->level = v->lens && f->pose->valid && p->position.z > 0.05;
    if (v->lens) v->width = v->lens->width, v->height = v->lens->height;
    return v->level;
}

/* Covariance of a place: along the line of sight the tilt's error grows by (d^2 + h^2) / h and the height's by d / h,
 * across it the direction's by d. `along2` replaces the first if it is smaller. */
static void spread(const struct locate *f, const struct frame *v, double up, double along2, Percept *p)
{
    double dx = p->position.x - v->camera_to_robot.pos.x, dy = p->position.y - v->camera_to_robot.pos.y;
    double d = hypot(dx, dy), h = fmax(v->camera_to_robot.pos.z - up, 0.02);
    double pixel = f->pixel_noise / v->lens->fx, tilt = f->pose->tilt_deviation, high = f->pose->height_deviation;
    double tilt2 = tilt * tilt + pixel * pixel, along = (d * d + h * h) / h;
    double a2 = fmin(along * along * tilt2 + d * d / (h * h) * high * high, along2);
    double b2 = (d * d + h * h) * (tilt2 + 1e-4), c = d > 1e-9 ? dx / d : 1, s = d > 1e-9 ? dy / d : 0;
    p->covariance[0] = c * c * a2 + s * s * b2;
    p->covariance[1] = p->covariance[2] = c * s * (a2 - b2);
    p->covariance[3] = s * s * a2 + c * c * b2;
}

/* A thing that stands on the ground at a pixel and reaches `deep` beyond it: the nearest side of a robot or post is
 * what the camera sees of its foot. */
static Percept *add(struct locate *f, const struct frame *v, uint8_t kind, double confidence, double px, double py,
                    double deep)
{
    struct vec3 at;
    Percept *p = nm_append(&f->percepts->percepts, &Percept_type);
    if (!p) return NULL;
    p->kind = kind;
    p->confidence = (float)confidence;
    p->center = (Point32){(float)px, (float)py, 0};
    if (!frame_ground(v, px, py, &at)) return p;
    double dx = at.x - v->camera_to_robot.pos.x, dy = at.y - v->camera_to_robot.pos.y, d = fmax(hypot(dx, dy), 1e-6);
    if (d > f->range) return p;
    p->located = true;
    p->position = (Point){at.x + deep * dx / d, at.y + deep * dy / d, 0};
    spread(f, v, 0, INFINITY, p);
    return p;
}

/* Whether one of the first n percepts tells the same: what somebody has told already is not told twice. */
static bool is_known(const Percepts *all, uint32_t n, const Percept *p, double apart)
{
    for (uint32_t i = 0; i < n; i++) {
        const Percept *o = &all->percepts.at[i];
        bool near = hypot(o->position.x - p->position.x, o->position.y - p->position.y) < apart;
        bool alike = o->kind == p->kind || (o->kind >= Percept_ROBOT && p->kind >= Percept_ROBOT);
        if (alike && o->located && p->located && near) return true;
    }
    return false;
}

/* ---- ball ---- */

static void locate_ball(struct locate *f, const struct frame *v)
{
    const BallInImage *b = f->ball_in_image;
    f->ball->header = f->percepts->header;
    if (!(b->confidence > 0)) return;
    Percept *p = add(f, v, Percept_BALL, b->confidence, b->center.x, b->center.y, 0);
    struct pixel pixel = {b->center.x, b->center.y};
    struct vec3 at, eye = v->camera_to_robot.pos, ray;
    if (!p) return;
    double r = b->diameter / 2;
    p->box = (RegionOfInterest){.x_offset = (uint32_t)fmax(b->center.x - r, 0),
                                .y_offset = (uint32_t)fmax(b->center.y - r, 0),
                                .width = (uint32_t)b->diameter,
                                .height = (uint32_t)b->diameter};
    p->size = 2 * f->ball_radius;
    p->located = false;
    if (!v->level || !nm_camera_unproject(v->lens, pixel, &ray)) return;
    bool ground = nm_camera_to_ground(v->lens, v->camera_to_robot, pixel, f->ball_radius, &at);
    double expected = nm_camera_ball_radius(v->lens, v->camera_to_robot, pixel, f->ball_radius);
    if (!ground || !(expected > 0) || !(r > 0)) return;
    double d = vec3_norm(vec3_sub(at, eye)), by_size = d * expected / r, h = fmax(eye.z - f->ball_radius, 0.02);
    double tilt = hypot(f->pose->tilt_deviation, f->pixel_noise / v->lens->fy);
    double ray2 = d * d * d * d / (h * h) * tilt * tilt, size2 = by_size * f->size_noise / r;
    size2 *= size2;
    double weight = !strcmp(f->ball_by, "ray") ? 1 : !strcmp(f->ball_by, "size") ? 0 : size2 / (ray2 + size2);
    double scale = weight + (1 - weight) * by_size / d;
    p->position = (Point){eye.x + scale * (at.x - eye.x), eye.y + scale * (at.y - eye.y), 0};
    p->located = hypot(p->position.x, p->position.y) < f->range;
    double both2 = weight == 1 ? ray2 : weight == 0 ? size2 : ray2 * size2 / (ray2 + size2);
    spread(f, v, f->ball_radius, both2, p);
    if (!p->located) return;
    f->ball->ball_relative = p->position;
    f->ball->confidence = p->confidence;
}

/* ---- posts ---- */

static void locate_goal(struct locate *f, const struct frame *v)
{
    const Percept *posts[2] = {NULL, NULL};
    GoalRelative *to = f->goal;
    to->header = f->percepts->header;
    for (uint32_t i = 0; i < f->goal_in_image->posts.n; i++) {
        const PostInImage *post = &f->goal_in_image->posts.at[i];
        Percept *p =
            add(f, v, Percept_GOAL_POST, post->confidence, post->foot_point.x, post->foot_point.y, f->field.post / 2);
        if (!p) break;
        p->size = (float)f->field.post;
        if (!p->located) continue;
        if (!posts[0] || p->confidence > posts[0]->confidence)
            posts[1] = posts[0], posts[0] = p;
        else if (!posts[1] || p->confidence > posts[1]->confidence)
            posts[1] = p;
    }
    if (!posts[0]) return;
    const Percept *one = posts[0], *other = posts[1];
    double width = f->field.goal_width + f->field.post;
    if (other && fabs(hypot(one->position.x - other->position.x, one->position.y - other->position.y) - width) > 0.35)
        other = NULL;
    if (other && one->position.x * other->position.y - one->position.y * other->position.x > 0)
        one = posts[1], other = posts[0]; /* left is the one with the greater bearing */
    to->left_post = to->center_direction = one->position;
    to->right_post = other ? other->position : (Point){NAN, NAN, NAN};
    if (other)
        to->center_direction =
            (Point){(one->position.x + other->position.x) / 2, (one->position.y + other->position.y) / 2, 0};
    to->confidence = other ? fminf(one->confidence, other->confidence) : one->confidence;
}

/* ---- robots ---- */

/* Reddish shirts are the thesis' magenta, bluish ones its cyan; the other colours tell nothing. */
static uint8_t shirt_of(uint8_t color)
{
    static const uint8_t shirts[10] = {[0] = ObstacleInImage_ROBOT_CYAN,
                                       [1] = ObstacleInImage_ROBOT_MAGENTA,
                                       [6] = ObstacleInImage_ROBOT_MAGENTA,
                                       [7] = ObstacleInImage_ROBOT_MAGENTA};
    return color < 10 ? shirts[color] : 0;
}

/* The image ends above its feet: it is nearer than the ground that is seen there. Where its box does not end below the
 * image, as far as its feet are, how wide it is tells how near. */
static void come_nearer(const struct locate *f, const struct frame *v, double foot, double wide, Percept *p)
{
    const struct vec3 eye = v->camera_to_robot.pos;
    double dx = p->position.x - eye.x, dy = p->position.y - eye.y, d = hypot(dx, dy);
    double by_size = foot > v->height ? d : v->lens->fx * (double)f->robot_width / fmax(wide, 1),
           unsure = 0.25 * by_size;
    if (!(by_size <= d)) return;
    p->position = (Point){eye.x + dx * by_size / d, eye.y + dy * by_size / d, 0};
    spread(f, v, 0, unsure * unsure, p);
}

static void locate_robots(struct locate *f, const struct frame *v, const ObstaclesInImage *in)
{
    uint8_t ours = shirt_of(f->match->own_color), theirs = shirt_of(f->match->rival_color);
    bool told = nm_slot(f->match)->seq && ours != theirs;
    uint32_t known = f->percepts->percepts.n;
    f->obstacles->header = f->percepts->header;
    for (uint32_t i = 0; i < in->obstacles.n; i++) {
        const ObstacleInImage *o = &in->obstacles.at[i];
        bool robot = o->color >= ObstacleInImage_ROBOT_UNDEFINED && o->color <= ObstacleInImage_ROBOT_CYAN;
        uint8_t kind = robot ? Percept_ROBOT : o->color == ObstacleInImage_HUMAN ? Percept_HUMAN : Percept_OBSTACLE;
        if (told && o->color == ours) kind = Percept_MATE;
        if (told && o->color == theirs) kind = Percept_RIVAL;
        double u = o->top_left.x + o->width / 2.0, foot = o->top_left.y + o->height - 1;
        Percept *p = add(f, v, kind, o->confidence, u, foot, f->robot_radius);
        if (!p) break;
        if (p->located && foot >= v->height - 3) come_nearer(f, v, foot, o->width, p);
        if (is_known(f->percepts, known, p, 0.5)) {
            f->percepts->percepts.n--;
            continue;
        }
        p->box = (RegionOfInterest){(uint32_t)fmax(o->top_left.x, 0), (uint32_t)fmax(o->top_left.y, 0), o->height,
                                    o->width, false};
        p->player_number = o->player_number;
        p->size = 2 * f->robot_radius;
        ObstacleRelative *to = p->located ? nm_append(&f->obstacles->obstacles, &ObstacleRelative_type) : NULL;
        if (!to) continue;
        *to = (ObstacleRelative){.header = f->percepts->header,
                                 .color = o->color,
                                 .player_number = o->player_number,
                                 .position = p->position,
                                 .width = p->size,
                                 .confidence = p->confidence};
    }
}

/* ---- lines ---- */

static bool on_ground(const struct frame *v, const LineSegmentInImage *s, LineSegmentRelative *to)
{
    struct vec3 a, b;
    if (!frame_ground(v, s->start.x, s->start.y, &a) || !frame_ground(v, s->end.x, s->end.y, &b)) return false;
    to->start = (Point){a.x, a.y, 0};
    to->end = (Point){b.x, b.y, 0};
    to->confidence = s->confidence;
    return true;
}

static bool meet(const LineSegmentRelative *a, const LineSegmentRelative *b, double *x, double *y)
{
    double ax = a->end.x - a->start.x, ay = a->end.y - a->start.y, bx = b->end.x - b->start.x,
           by = b->end.y - b->start.y, det = ax * by - ay * bx;
    if (fabs(det) < 1e-9) return false;
    double t = ((b->start.x - a->start.x) * by - (b->start.y - a->start.y) * bx) / det;
    *x = a->start.x + t * ax;
    *y = a->start.y + t * ay;
    return true;
}

static void locate_crossing(struct locate *f, const struct frame *v, const LineIntersectionInImage *in)
{
    LineSegmentRelative s[2] = {{.header = f->percepts->header}, {.header = f->percepts->header}};
    double x, y;
    struct pixel at;
    if (in->type < LineIntersectionInImage_L || in->type > LineIntersectionInImage_X) return;
    if (!on_ground(v, &in->segments[0], &s[0]) || !on_ground(v, &in->segments[1], &s[1]) || !meet(&s[0], &s[1], &x, &y))
        return;
    if (!nm_camera_from_world(v->lens, v->camera_to_robot, (struct vec3){x, y, 0}, &at)) return;
    Percept *p =
        add(f, v, (uint8_t)(Percept_CROSSING_L + in->type - LineIntersectionInImage_L), in->confidence, at.u, at.v, 0);
    if (!p || !p->located) return;
    double one = atan2(s[0].end.y - s[0].start.y, s[0].end.x - s[0].start.x),
           other = atan2(s[1].end.y - s[1].start.y, s[1].end.x - s[1].start.x);
    /* the bisector of an L, the stem of a T, any line of an X */
    p->orientation =
        (float)(in->type == LineIntersectionInImage_L ? angle_normal(one + angle_normal(other - one) / 2) : one);
    LineIntersectionRelative *to = nm_append(&f->lines->markings, &LineIntersectionRelative_type);
    if (!to) return;
    to->header = f->percepts->header;
    to->type = in->type;
    to->confidence = in->confidence;
    to->segments[0] = s[0];
    to->segments[1] = s[1];
}

/* The middle of the circle through three points of its arc. */
static void locate_circle(struct locate *f, const struct frame *v, const LineCircleInImage *in)
{
    struct vec3 a, b, c;
    struct pixel at;
    if (!frame_ground(v, in->left.x, in->left.y, &a) || !frame_ground(v, in->middle.x, in->middle.y, &b) ||
        !frame_ground(v, in->right.x, in->right.y, &c))
        return;
    double d = 2 * (a.x * (b.y - c.y) + b.x * (c.y - a.y) + c.x * (a.y - b.y));
    double aa = a.x * a.x + a.y * a.y, bb = b.x * b.x + b.y * b.y, cc = c.x * c.x + c.y * c.y;
    if (fabs(d) < 1e-9) return;
    double x = (aa * (b.y - c.y) + bb * (c.y - a.y) + cc * (a.y - b.y)) / d;
    double y = (aa * (c.x - b.x) + bb * (a.x - c.x) + cc * (b.x - a.x)) / d;
    LineCircleRelative *to = nm_append(&f->lines->circles, &LineCircleRelative_type);
    if (to) *to = (LineCircleRelative){f->percepts->header, {a.x, a.y, 0}, {b.x, b.y, 0}, {c.x, c.y, 0}};
    Percept *p = nm_append(&f->percepts->percepts, &Percept_type);
    if (!p) return;
    p->kind = Percept_CENTER_CIRCLE;
    p->confidence = 0.8f;
    p->size = (float)(2 * f->field.circle_radius);
    p->position = (Point){x, y, 0};
    p->located = hypot(x, y) < f->range;
    if (nm_camera_from_world(v->lens, v->camera_to_robot, (struct vec3){x, y, 0}, &at))
        p->center = (Point32){(float)at.u, (float)at.v, 0};
    spread(f, v, 0, INFINITY, p);
}

static void locate_lines(struct locate *f, const struct frame *v)
{
    const LineInformationInImage *in = f->lines_in_image;
    f->lines->header = f->percepts->header;
    if (!v->level) return;
    for (uint32_t i = 0; i < in->segments.n; i++) {
        LineSegmentRelative s = {.header = f->percepts->header}, *to;
        if (!on_ground(v, &in->segments.at[i], &s) || !(to = nm_append(&f->lines->segments, &LineSegmentRelative_type)))
            continue;
        *to = s;
    }
    for (uint32_t i = 0; i < in->intersections.n; i++) locate_crossing(f, v, &in->intersections.at[i]);
    for (uint32_t i = 0; i < in->circles.n; i++) locate_circle(f, v, &in->circles.at[i]);
}

/* ---- points ---- */

static void locate_features(struct locate *f, const struct frame *v, const Percepts *features)
{
    for (uint32_t i = 0; i < features->percepts.n; i++) {
        const Percept *in = &features->percepts.at[i];
        Percept *p = add(f, v, in->kind, in->confidence, in->center.x, in->center.y, 0);
        if (!p) return;
        p->box = in->box;
        p->orientation = in->orientation;
        if (is_known(f->percepts, f->percepts->percepts.n - 1, p, 0.3)) f->percepts->percepts.n--;
    }
}

/* ---- step ---- */

static bool of_image(const struct locate *f, Time stamp)
{
    return nm_stamp_ns(stamp) == nm_stamp_ns(f->pose->header.stamp);
}

static void step(struct locate *f)
{
    struct frame v;
    bool ball = nm_fresh(f->nm, f->ball_in_image) && of_image(f, f->ball_in_image->header.stamp);
    bool lines = nm_fresh(f->nm, f->lines_in_image) && of_image(f, f->lines_in_image->header.stamp);
    bool goal = nm_fresh(f->nm, f->goal_in_image) && of_image(f, f->goal_in_image->header.stamp);
    bool robots = nm_fresh(f->nm, f->obstacles_in_image) && of_image(f, f->obstacles_in_image->header.stamp);
    bool near = nm_fresh(f->nm, f->near_obstacles) && of_image(f, f->near_obstacles->header.stamp);
    bool features = nm_fresh(f->nm, f->features) && of_image(f, f->features->header.stamp);
    bool marks = nm_fresh(f->nm, f->line_features) && of_image(f, f->line_features->header.stamp);
    if (!(ball || lines || goal || robots || near || features || marks)) return;
    take_view(f, &v);
    f->percepts->header.stamp = f->pose->header.stamp;
    nm_text(f->percepts->header.frame_id, "base_footprint");
    nm_text(f->percepts->camera, "%s", f->pose->camera);
    f->ball->header = f->goal->header = f->obstacles->header = f->lines->header = f->percepts->header;
    if (ball) locate_ball(f, &v);
    if (goal) locate_goal(f, &v);
    if (robots) locate_robots(f, &v, f->obstacles_in_image);
    if (near) locate_robots(f, &v, f->near_obstacles);
    if (lines) locate_lines(f, &v);
    if (features) locate_features(f, &v, f->features);
    if (marks) locate_features(f, &v, f->line_features);
    nm_put(f->nm, f->percepts);
    nm_put(f->nm, f->ball);
    nm_put(f->nm, f->goal);
    nm_put(f->nm, f->obstacles);
    nm_put(f->nm, f->lines);
}

#define SELF struct locate
static const struct nm_port ports[] = {
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_IN(ball_in_image, BallInImage, "ball_in_image", .optional = true),
    NM_IN(lines_in_image, LineInformationInImage, "lines_in_image", .optional = true),
    NM_IN(goal_in_image, GoalPartsInImage, "goal_parts_in_image", .optional = true),
    NM_IN(obstacles_in_image, ObstaclesInImage, "obstacles_in_image", .optional = true),
    NM_IN(near_obstacles, ObstaclesInImage, "near_obstacles", .optional = true),
    NM_IN(features, Percepts, "features_in_image", .optional = true),
    NM_IN(line_features, Percepts, "line_features", .optional = true),
    NM_LAST(match, MatchState, "match_state", .optional = true),
    NM_OUT(percepts, Percepts, "percepts"),
    NM_OUT(ball, BallRelative, "ball_relative"),
    NM_OUT(goal, GoalRelative, "goal_relative"),
    NM_OUT(obstacles, ObstaclesRelative, "obstacles_relative"),
    NM_OUT(lines, LineInformationRelative, "line_relative"),
    {0},
};
static const struct nm_param params[] = {
    NM_PITCH_PARAMS(field),
    NM_PARAM_WORD(ball_by, "both", "ray size both",
                  "distance of the ball: where the ray meets the ground, by its size, or both weighed"),
    NM_PARAM(ball_radius, 0.07, 0.02, 0.2, "m", "of the ball"),
    NM_PARAM(robot_radius, 0.05, 0, 0.5, "m", "from the side of a robot that is seen to its middle"),
    NM_PARAM(robot_width, 0.2, 0.05, 2, "m",
             "of a robot with its arms: its distance where its feet are below the image"),
    NM_PARAM(pixel_noise, 1, 0.1, 20, "px", "standard deviation of a pixel"),
    NM_PARAM(size_noise, 0.8, 0.1, 20, "px", "standard deviation of a ball's radius"),
    NM_PARAM(range, 12, 1, 100, "m", "what seems to be farther has no place"),
    {0},
};
NM_MODULE(locate, "Brings what was found in an image to the ground, with its uncertainty.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
