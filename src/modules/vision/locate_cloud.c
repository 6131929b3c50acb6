/* Pixel to position from the points of a depth camera: what `locate` found by rays that meet the ground gets the place
 * that the depth camera measured there. A bent neck or a tilted trunk then moves nothing. Where the cloud has no point,
 * or comes from another image, the ray's place stays. */
#include "base/pitch.h"
#include "modules/vision/frame.h"
#include "nutmeg_msgs/Percepts.h"
#include "sensor_msgs/PointCloud2.h"

struct locate_cloud {
    struct nm *nm;
    /* in */
    const Percepts *rays;
    const PointCloud2 *cloud;
    const CameraPose *pose;
    /* out */
    Percepts *percepts;
    /* params */
    float noise, ball_radius, robot_radius, post, range;
};

struct grid { /* the cloud, row by row, as the image is */
    const uint8_t *bytes;
    uint32_t width, height, step;
    double pixels; /* px of the image between two points */
};

static bool take_grid(const struct locate_cloud *f, struct grid *g, struct pose3 *camera)
{
    const PointCloud2 *c = f->cloud;
    const struct nm_body *body = f->nm->body;
    const Pose *p = &f->pose->pose;
    const struct nm_camera *lens = NULL;
    for (uint32_t i = 0; body && i < body->n_cameras; i++)
        if (!strcmp(body->frames[body->cameras[i].frame].name, f->pose->camera)) lens = &body->cameras[i].lens;
    int64_t stamp = nm_stamp_ns(f->rays->header.stamp);
    if (!lens || !c->width || !c->height || c->point_step < 12 || c->is_bigendian ||
        (uint64_t)c->row_step * (c->height - 1) + (uint64_t)c->width * c->point_step > c->data.n ||
        nm_stamp_ns(c->header.stamp) != stamp || nm_stamp_ns(f->pose->header.stamp) != stamp)
        return false;
    *g = (struct grid){c->data.data, c->width, c->height, c->point_step, (double)(lens->width / c->width)};
    *camera = (struct pose3){{p->orientation.w, p->orientation.x, p->orientation.y, p->orientation.z},
                             {p->position.x, p->position.y, p->position.z}};
    return g->pixels >= 1 && c->row_step == c->width * c->point_step;
}

static bool point_at(const struct grid *g, int32_t x, int32_t y, struct vec3 *to)
{
    float p[3];
    if (x < 0 || y < 0 || x >= (int32_t)g->width || y >= (int32_t)g->height) return false;
    memcpy(p, g->bytes + ((size_t)y * g->width + (size_t)x) * g->step, sizeof p);
    *to = (struct vec3){(double)p[0], (double)p[1], (double)p[2]};
    return isfinite(to->x + to->y + to->z) && to->z > 0.05;
}

/* The median, by distance, of the points around a pixel: edges of things have points behind them. */
static bool measure(const struct grid *g, double u, double v, struct vec3 *at)
{
    struct vec3 near[9];
    uint32_t n = 0;
    int32_t x = (int32_t)lrint(u / g->pixels), y = (int32_t)lrint(v / g->pixels);
    for (int32_t i = 0; i < 9; i++) {
        struct vec3 p;
        if (!point_at(g, x + i % 3 - 1, y + i / 3 - 1, &p)) continue;
        uint32_t k = n++;
        for (; k > 0 && near[k - 1].z > p.z; k--) near[k] = near[k - 1];
        near[k] = p;
    }
    if (n < 3) return false;
    *at = near[n / 2];
    return true;
}

/* m: how far the middle of a thing lies behind what the camera sees of it */
static double depth_of(const struct locate_cloud *f, uint8_t kind)
{
    switch (kind) {
    case Percept_BALL: return f->ball_radius;
    case Percept_GOAL_POST: return f->post / 2;
    case Percept_ROBOT:
    case Percept_MATE:
    case Percept_RIVAL: return f->robot_radius;
    default: return 0;
    }
}

static void place(const struct locate_cloud *f, const struct grid *g, struct pose3 camera, Percept *p)
{
    struct vec3 at;
    if (!measure(g, p->center.x, p->center.y, &at)) return;
    double range = vec3_norm(at), deep = depth_of(f, p->kind), along = f->noise * range * range + 0.01;
    at = pose_apply(camera, vec3_scale(at, 1 + deep / range));
    double dx = at.x - camera.pos.x, dy = at.y - camera.pos.y, d = fmax(hypot(dx, dy), 1e-6);
    p->located = d < f->range;
    p->position = (Point){at.x, at.y, 0};
    double c = dx / d, s = dy / d, a2 = along * along, b2 = 1e-4 * d * d + 1e-4;
    p->covariance[0] = c * c * a2 + s * s * b2;
    p->covariance[1] = p->covariance[2] = c * s * (a2 - b2);
    p->covariance[3] = s * s * a2 + c * c * b2;
}

static void step(struct locate_cloud *f)
{
    struct grid grid;
    struct pose3 camera;
    if (!nm_fresh(f->nm, f->rays)) return;
    nm_copy(&Percepts_type, f->percepts, f->rays);
    bool measured = take_grid(f, &grid, &camera);
    for (uint32_t i = 0; measured && i < f->percepts->percepts.n; i++)
        place(f, &grid, camera, &f->percepts->percepts.at[i]);
    nm_put(f->nm, f->percepts);
}

#define SELF struct locate_cloud
static const struct nm_port ports[] = {
    NM_IN(rays, Percepts, "percepts_by_ray"),
    NM_IN(cloud, PointCloud2, "camera/points"),
    NM_IN(pose, CameraPose, "camera/pose"),
    NM_OUT(percepts, Percepts, "percepts"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(noise, 0.003, 0, 0.1, "1/m", "deviation of a distance, for its square"),
    NM_PARAM(ball_radius, 0.07, 0.02, 0.2, "m", "of the ball"),
    NM_PARAM(robot_radius, 0.12, 0, 0.5, "m", "from the front of a robot to its middle"),
    NM_PARAM(post, 0.1, 0, 0.3, "m", "thickness of a goal post"),
    NM_PARAM(range, 10, 0.5, 40, "m", "farther away nothing has a place"),
    {0},
};
NM_MODULE(locate_cloud, "Places of what was seen, from the points of a depth camera.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
