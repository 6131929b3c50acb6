/* Where in the image ball, posts, crossings, penalty marks and robots are expected: as the world was known a moment
 * ago, seen from where the camera is now. They are the regions of interest of the thesis (figure 4.4). Stages look more
 * closely there, or believe what they see a little earlier. */
#include "base/pitch.h"
#include "core/poses.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "modules/vision/regions.h"
#include "modules/vision/sketch.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/ObstacleModel.h"

struct regions_of_interest {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *pose;
    const BallModel *ball;
    const ObstacleModel *obstacles;
    const PoseWithCovarianceStamped *where;
    /* out */
    RegionsOfInterest *balls, *goals, *lines, *robots;
    /* params */
    float radius, range, margin, most_spread;
    struct nm_pitch_size field;
    /* state */
    uint32_t n_landmarks;
    struct nm_landmark landmarks[NM_PITCH_LANDMARKS];
};

/* The box around a thing on the ground that may be `spread` m away from (x, y), and is up to `high` m high. Nothing is
 * expected from a spread that is large for the distance. */
static void add(const struct regions_of_interest *f, const struct frame *frame, RegionsOfInterest *to, double x,
                double y, double spread, double high, double confidence)
{
    double low[2] = {INFINITY, INFINITY}, end[2] = {-INFINITY, -INFINITY}, away = hypot(x, y);
    double unsure = spread / ((double)f->most_spread * (1 + away));
    uint32_t at = to->regions.n;
    if (!(unsure < 1) || at == sizeof to->regions.at / sizeof *to->regions.at) return;
    for (int i = 0; i < 8; i++) {
        struct vec3 corner = {x + (i & 1 ? spread : -spread), y + (i & 2 ? spread : -spread), i & 4 ? high : 0};
        struct pixel p;
        if (!nm_camera_from_world(frame->lens, frame->camera_to_robot, corner, &p)) return;
        low[0] = fmin(low[0], p.u), low[1] = fmin(low[1], p.v);
        end[0] = fmax(end[0], p.u), end[1] = fmax(end[1], p.v);
    }
    low[0] = fmax(low[0], 0), low[1] = fmax(low[1], 0);
    end[0] = fmin(end[0], frame->width), end[1] = fmin(end[1], frame->height);
    if (!(end[0] - low[0] >= 1 && end[1] - low[1] >= 1)) return;
    to->regions.at[at] = (RegionOfInterest){.x_offset = (uint32_t)low[0],
                                            .y_offset = (uint32_t)low[1],
                                            .width = (uint32_t)(end[0] - low[0]),
                                            .height = (uint32_t)(end[1] - low[1])};
    to->confidence.at[at] = (float)(confidence * (1 - unsure));
    to->regions.n = to->confidence.n = at + 1;
}

/* s from the stamp of a model to that of the image; NaN: it is too old. */
static double ahead(const struct regions_of_interest *f, const Header *header)
{
    double t = nm_seconds(nm_stamp_ns(f->image->header.stamp) - nm_stamp_ns(header->stamp));
    return fabs(t) < 0.5 ? t : NAN;
}

static void expect_ball(struct regions_of_interest *f, const struct frame *frame)
{
    const BallModel *b = f->ball;
    double t = ahead(f, &b->header);
    if (!nm_slot(b)->seq || !b->valid || isnan(t)) return;
    double spread = 2 * sqrt(fmax(b->covariance[0], b->covariance[5])) + (double)(f->margin + f->radius);
    add(f, frame, f->balls, b->position.x + t * b->velocity.x, b->position.y + t * b->velocity.y, spread,
        2 * (double)f->radius, b->confidence);
}

static void expect_robots(struct regions_of_interest *f, const struct frame *frame)
{
    double t = ahead(f, &f->obstacles->header);
    for (uint32_t i = 0; !isnan(t) && i < f->obstacles->obstacles.n; i++) {
        const Obstacle *o = &f->obstacles->obstacles.at[i];
        if (o->kind < Obstacle_ROBOT || o->kind > Obstacle_RIVAL) continue;
        double spread = 2 * sqrt(fmax(o->covariance[0], o->covariance[3])) + (double)f->margin;
        add(f, frame, f->robots, o->position.x + t * o->velocity.x, o->position.y + t * o->velocity.y, spread, 0,
            o->confidence);
    }
}

/* Of robots and landmarks the place on the ground is expected, which is where they are found. */
static void expect_landmarks(struct regions_of_interest *f, const struct frame *frame)
{
    const double *c = f->where->pose.covariance;
    if (!nm_slot(f->where)->seq || isnan(ahead(f, &f->where->header))) return;
    struct pose2 map_to_robot = pose2_inv(nm_pose2(&f->where->pose.pose));
    for (uint32_t i = 0; i < f->n_landmarks; i++) {
        const struct nm_landmark *l = &f->landmarks[i];
        struct pose2 at = pose2_mul(map_to_robot, (struct pose2){l->x, l->y, 0});
        double away = hypot(at.x, at.y), spread = 2 * (sqrt(fmax(c[0], c[7])) + away * sqrt(fmax(c[35], 0)));
        if (away > (double)f->range || l->kind == NM_LANDMARK_CIRCLE) continue;
        add(f, frame, l->kind == NM_LANDMARK_POST ? f->goals : f->lines, at.x, at.y, spread + (double)f->margin, 0, 1);
    }
}

static __attribute__((noinline)) void show(const struct regions_of_interest *f, const struct frame *frame)
{
    const RegionsOfInterest *all[] = {f->balls, f->goals, f->lines, f->robots};
    static const uint32_t colours[] = {SKETCH_RED, SKETCH_YELLOW, SKETCH_BLUE, SKETCH_GREEN};
    struct sketch s;
    sketch_begin(&s, frame);
    for (int k = 0; k < 4; k++)
        for (uint32_t i = 0; i < all[k]->regions.n; i++) {
            const RegionOfInterest *r = &all[k]->regions.at[i];
            sketch_box(&s, r->x_offset, r->y_offset, r->x_offset + r->width, r->y_offset + r->height, colours[k]);
        }
    sketch_show(&s, f->nm, "expected");
}

static void step(struct regions_of_interest *f)
{
    RegionsOfInterest *all[] = {f->balls, f->goals, f->lines, f->robots};
    struct frame frame;
    if (!nm_fresh(f->nm, f->pose) || !frame_take(f->nm, f->image, f->pose, &frame)) return;
    if (frame.level) {
        expect_ball(f, &frame);
        expect_robots(f, &frame);
        expect_landmarks(f, &frame);
    }
    if (f->nm->watched) show(f, &frame);
    for (int k = 0; k < 4; k++) {
        all[k]->header = f->image->header;
        nm_put(f->nm, all[k]);
    }
}

static void changed(struct regions_of_interest *f) { f->n_landmarks = nm_pitch_landmarks(&f->field, f->landmarks); }
#define SELF struct regions_of_interest
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_LAST(ball, BallModel, "ball", .optional = true),
    NM_LAST(obstacles, ObstacleModel, "obstacles", .optional = true),
    NM_LAST(where, PoseWithCovarianceStamped, "pose", .optional = true),
    NM_OUT(balls, RegionsOfInterest, "ball_ROIs"),
    NM_OUT(goals, RegionsOfInterest, "goal_ROIs"),
    NM_OUT(lines, RegionsOfInterest, "line_ROIs"),
    NM_OUT(robots, RegionsOfInterest, "obstacle_ROIs"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(radius, 0.07, 0.02, 0.2, "m", "of the ball"),
    NM_PARAM(range, 6, 0.5, 20, "m", "landmarks farther away are not expected"),
    NM_PARAM(margin, 0.05, 0, 1, "m", "regions are larger than two standard deviations by so much"),
    NM_PARAM(most_spread, 0.3, 0.01, 5, "m",
             "nothing is expected that may be this far off, where the camera stands; at 1 m the double, and so on"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(regions_of_interest, "Where in the image things are expected, from what was known a moment ago.",
          NM_PORTS(ports), NM_PARAMS(params), .changed = NM_CALL(changed), .step = NM_CALL(step))
