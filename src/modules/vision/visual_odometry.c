/* How far the robot has moved, by the carpet that passes below it. A square of the ground ahead is kept as a plan of
 * brightness, seen from above; in the next images the motion is found under which they show the same plan (Lucas and
 * Kanade 1981; inverse compositional as by Baker and Matthews 2004). When little of it is left in the image, another
 * square begins there. The odometry of the legs gives the heading, says where to begin to search, and stands in where
 * nothing is seen. */
#include "base/clamp.h"
#include "core/poses.h"
#include "modules/vision/frame.h"
#include "nav_msgs/Odometry.h"

enum { SIDE = 40, POINTS = SIDE * SIDE, ROUNDS = 12 };
static const double CELL = 0.016; /* m */

struct visual_odometry {
    struct nm *nm;
    /* in */
    const Image *image;
    const CameraPose *camera;
    const Odometry *legs;
    /* out */
    Odometry *way;
    /* params */
    double far, least_alike, least_seen, reach;
    /* state */
    struct pose2 at;     /* of the robot, since the beginning               */
    struct pose2 key_at; /* of the robot when the plan was made             */
    struct pose2 last_legs;
    bool begun, planned;
    int64_t last;       /* ns, of the last image                           */
    struct vec3 corner; /* of the plan, in the robot's frame of that time  */
    float plan[POINTS] /* negative: not seen */, slope_x[POINTS], slope_y[POINTS];
    float white;         /* brighter is all the same: along a line nothing tells places apart but the carpet */
    uint32_t lost;       /* images in which nothing was found               */
    double unsure;       /* m2, so far                                      */
    struct pose2 before; /* of the last image, for the speed                */
};

/* Brightness of a place on the ground, a mean of four pixels; negative if it is not in the image. */
static float ground_light(const struct frame *f, double x, double y)
{
    struct pixel at;
    if (!frame_pixel(f, x, y, 0, &at) || at.u < 1 || at.v < 1 || at.u >= f->width - 2 || at.v >= f->height - 2)
        return -1;
    uint32_t u = (uint32_t)at.u, v = (uint32_t)at.v;
    float a = (float)(at.u - u), b = (float)(at.v - v);
    float above = (1 - a) * frame_y(f, u, v) + a * frame_y(f, u + 1, v);
    float below = (1 - a) * frame_y(f, u, v + 1) + a * frame_y(f, u + 1, v + 1);
    return (1 - b) * above + b * below;
}

static struct vec3 place(const struct visual_odometry *f, uint32_t i)
{
    return (struct vec3){f->corner.x + CELL * (i / SIDE), f->corner.y + CELL * (i % SIDE), 0};
}

/* A plan of the nearest ground that the camera sees. */
static void make_plan(struct visual_odometry *f, const struct frame *frame)
{
    struct vec3 foot;
    f->planned = false;
    if (!frame_ground(frame, frame->width / 2.0, frame->height - 3, &foot)) return;
    double near = fmax(hypot(foot.x, foot.y), 0.05), away = near + CELL * SIDE / 2;
    if (away > f->far) return;
    f->corner = (struct vec3){foot.x * away / near - CELL * SIDE / 2, foot.y * away / near - CELL * SIDE / 2, 0};
    uint32_t n = 0, bins[256] = {0}, below = 0;
    for (uint32_t i = 0; i < POINTS; i++) {
        struct vec3 p = place(f, i);
        f->plan[i] = ground_light(frame, p.x, p.y);
        if (f->plan[i] >= 0) n++, bins[(uint8_t)f->plan[i]]++;
    }
    if (n < POINTS / 2) return;
    f->white = 0;
    while (below < n / 2) below += bins[(uint32_t)f->white++];
    f->white *= 1.3f;
    for (uint32_t i = 0; i < POINTS; i++) f->plan[i] = fminf(f->plan[i], f->white);
    for (uint32_t i = 0; i < POINTS; i++) {
        uint32_t row = i / SIDE, column = i % SIDE;
        bool edge = row == 0 || column == 0 || row == SIDE - 1 || column == SIDE - 1;
        edge = edge || f->plan[i - 1] < 0 || f->plan[i + 1] < 0 || f->plan[i - SIDE] < 0 || f->plan[i + SIDE] < 0;
        f->slope_x[i] = edge ? 0 : (f->plan[i + SIDE] - f->plan[i - SIDE]) / (float)(2 * CELL);
        f->slope_y[i] = edge ? 0 : (f->plan[i + 1] - f->plan[i - 1]) / (float)(2 * CELL);
    }
    f->key_at = f->at;
    f->planned = true;
}

struct match {          /* an image and the plan, under a motion */
    double seen, alike; /* share of the plan in the image; correlation, -1 to 1 */
    double mean, key_mean, gain;
    float now[POINTS];
};

static void compare(const struct visual_odometry *f, const struct frame *frame, struct pose2 moved, uint32_t every,
                    struct match *m)
{
    double c = cos(moved.theta), s = sin(moved.theta), n = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
    for (uint32_t i = 0; i < POINTS; i += every) {
        struct vec3 p = place(f, i);
        double x = p.x - moved.x, y = p.y - moved.y;
        float light = m->now[i] = fminf(ground_light(frame, c * x + s * y, -s * x + c * y), f->white);
        if (light < 0 || f->plan[i] < 0) {
            m->now[i] = -1;
            continue;
        }
        double now = light, then = f->plan[i];
        n++, a += now, b += then, aa += now * now, bb += then * then, ab += now * then;
    }
    double va = aa - a * a / fmax(n, 1), vb = bb - b * b / fmax(n, 1), vab = ab - a * b / fmax(n, 1);
    m->seen = n * every / POINTS;
    m->alike = va > 1 && vb > 1 ? vab / sqrt(va * vb) : 0;
    m->mean = a / fmax(n, 1), m->key_mean = b / fmax(n, 1);
    m->gain = va > 1 ? sqrt(vb / va) : 1;
}

/* One step of Gauss and Newton's: how far to move on. The heading is left to the odometry, which has a gyroscope: half
 * a metre of carpet tells it worse. */
static struct pose2 improve(const struct visual_odometry *f, const struct match *m)
{
    double xx = 0, xy = 0, yy = 0, gx = 0, gy = 0;
    for (uint32_t i = 0; i < POINTS; i++) {
        if (m->now[i] < 0) continue;
        double off = (m->now[i] - m->mean) * m->gain - (f->plan[i] - m->key_mean), weight = 1 / fmax(1, fabs(off) / 6);
        double x = f->slope_x[i], y = f->slope_y[i];
        xx += weight * x * x, xy += weight * x * y, yy += weight * y * y;
        gx += weight * x * off, gy += weight * y * off;
    }
    double det = xx * yy - xy * xy;
    if (!(det > 1e-9)) return (struct pose2){0};
    return (struct pose2){(yy * gx - xy * gy) / det, (xx * gy - xy * gx) / det, 0};
}

/* The motion since the plan was made, near a guess; false if nothing fits. */
static bool align(const struct visual_odometry *f, const struct frame *frame, struct pose2 *moved, double *seen)
{
    struct match m;
    struct pose2 best = *moved, first = *moved;
    double most = -1;
    for (int i = -2; i <= 2; i++)
        for (int k = -2; k <= 2; k++) { /* carpets are fine-grained: begin within a grain of the right place */
            struct pose2 try = {first.x + f->reach * i / 2, first.y + f->reach * k / 2, first.theta};
            compare(f, frame, try, 5, &m);
            if (m.alike > most) most = m.alike, best = try;
        }
    for (int round = 0; round < ROUNDS; round++) {
        compare(f, frame, best, 1, &m);
        struct pose2 step = improve(f, &m);
        if (!(fabs(step.x) < 0.05 && fabs(step.y) < 0.05)) break;
        best = pose2_mul(step, best);
        if (hypot(step.x, step.y) < 1e-4) break;
    }
    compare(f, frame, best, 1, &m);
    *seen = m.seen;
    bool near = hypot(best.x - first.x, best.y - first.y) < 2 * f->reach;
    if (m.alike < f->least_alike || m.seen < f->least_seen || !near) return false;
    *moved = best;
    return true;
}

static void tell(struct visual_odometry *f)
{
    Odometry *out = f->way;
    double dt = f->last ? nm_seconds(nm_stamp_ns(f->image->header.stamp) - f->last) : 0;
    struct pose2 step = pose2_mul(pose2_inv(f->before), f->at);
    out->header.stamp = f->image->header.stamp;
    nm_text(out->header.frame_id, "odom");
    nm_text(out->child_frame_id, "base_footprint");
    out->pose.pose.position = (Point){f->at.x, f->at.y, 0};
    out->pose.pose.orientation = (Quaternion){.z = sin(f->at.theta / 2), .w = cos(f->at.theta / 2)};
    if (dt > 0) {
        out->twist.twist.linear = (Vector3){step.x / dt, step.y / dt, 0};
        out->twist.twist.angular.z = step.theta / dt;
    }
    out->pose.covariance[0] = out->pose.covariance[7] = out->pose.covariance[35] = f->unsure;
    f->before = f->at;
    f->last = nm_stamp_ns(f->image->header.stamp);
    nm_show(f->nm, "lost", (double)f->lost);
    nm_put(f->nm, out);
}

static void step(struct visual_odometry *f)
{
    struct frame frame;
    if (!nm_fresh(f->nm, f->camera) || !frame_take(f->nm, f->image, f->camera, &frame) || !frame.level) return;
    struct pose2 legs = nm_pose2(&f->legs->pose.pose), guess = f->at;
    if (f->begun) guess = pose2_mul(f->at, pose2_mul(pose2_inv(f->last_legs), legs));
    f->last_legs = legs;
    f->begun = true;
    struct pose2 moved = pose2_mul(pose2_inv(f->key_at), guess);
    double seen = 0;
    if (f->planned && align(f, &frame, &moved, &seen)) {
        f->at = pose2_mul(f->key_at, moved);
    } else {
        f->lost += f->planned;
        f->unsure += f->planned ? 1e-4 : 0;
        f->at = guess;
        f->planned = false;
    }
    if (!f->planned || seen < f->least_seen + 0.15) {
        f->unsure += 1e-4;
        make_plan(f, &frame);
    }
    tell(f);
}

static int init(struct visual_odometry *f) { return nm_need_body(f->nm); }

#define SELF struct visual_odometry
static const struct nm_port ports[] = {
    NM_IN(image, Image, "camera/image_raw"),
    NM_IN(camera, CameraPose, "camera/pose"),
    NM_IN(legs, Odometry, "odometry"),
    NM_OUT(way, Odometry, "visual_odometry"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(far, 1.5, 0.2, 5, "m", "the ground is looked at up to here; farther away a tilted camera errs more"),
    NM_PARAM(reach, 0.02, 0.002, 0.2, "m", "how far from where the legs say the ground may be found"),
    NM_PARAM(least_alike, 0.35, 0, 1, "1", "least correlation of an image with the ground as it was seen before"),
    NM_PARAM(least_seen, 0.4, 0.05, 1, "1", "share of the square of ground that must be in the image"),
    {0},
};
NM_MODULE(visual_odometry, "How far the robot has moved, by the carpet that it sees.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))
