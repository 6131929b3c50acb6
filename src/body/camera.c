#include "body/camera.h"

/* Newton's steps are quadratic; real lenses need four to eight. */
enum { STEPS = 50 };

/* The radial factor's derivative with respect to the radius, for the lens at radius (angle) r. */
static double growth(const struct nm_camera *c, double r)
{
    double s = r * r;
    if (c->lens == NM_FISHEYE) return 1 + s * (3 * c->k[0] + s * (5 * c->k[1] + s * (7 * c->k[2] + s * 9 * c->k[3])));
    return 1 + s * (3 * c->k[0] + s * (5 * c->k[1] + s * 7 * c->k[4]));
}

/* The first radius at which the picture would turn back on itself: scan, then halve. */
void nm_camera_ready(struct nm_camera *c)
{
    const double most = c->lens == NM_FISHEYE ? M_PI : 20, stride = 1e-3;
    c->reach = c->lens == NM_PINHOLE ? INFINITY : most;
    if (c->lens == NM_PINHOLE) return;
    for (double r = stride; r < most; r += stride) {
        if (growth(c, r) > 0) continue;
        double low = r - stride, high = r;
        for (int i = 0; i < 60; i++) {
            double middle = (low + high) / 2;
            if (growth(c, middle) > 0)
                low = middle;
            else
                high = middle;
        }
        c->reach = low;
        return;
    }
}

/* The point (x, y) of the plane z = 1, bent by the lens, with the derivatives of the bend. */
struct bend {
    double x, y, xx, xy, yx, yy;
};

/* Inline, so that who needs no derivatives does not compute them. */
static inline __attribute__((always_inline)) struct bend brown_conrady(const double k[5], double x, double y)
{
    double s = x * x + y * y, radial = 1 + s * (k[0] + s * (k[1] + s * k[4]));
    double slope = k[0] + s * (2 * k[1] + s * 3 * k[4]); /* d radial / d s */
    double p1 = k[2], p2 = k[3];
    return (struct bend){
        .x = x * radial + 2 * p1 * x * y + p2 * (s + 2 * x * x),
        .y = y * radial + p1 * (s + 2 * y * y) + 2 * p2 * x * y,
        .xx = radial + 2 * x * x * slope + 2 * p1 * y + 6 * p2 * x,
        .xy = 2 * x * y * slope + 2 * p1 * x + 2 * p2 * y,
        .yx = 2 * x * y * slope + 2 * p1 * x + 2 * p2 * y,
        .yy = radial + 2 * y * y * slope + 6 * p1 * y + 2 * p2 * x,
    };
}

/* theta (1 + k1 theta^2 + k2 theta^4 + k3 theta^6 + k4 theta^8) */
static double fisheye(const double k[5], double theta)
{
    double s = theta * theta;
    return theta * (1 + s * (k[0] + s * (k[1] + s * (k[2] + s * k[3]))));
}

bool nm_camera_project(const struct nm_camera *c, struct vec3 p, struct pixel *pixel)
{
    double x, y;
    if (c->lens == NM_FISHEYE) {
        double across = hypot(p.x, p.y), theta = atan2(across, p.z);
        if (!(theta <= c->reach)) return false;
        double scale = across > 0 ? fisheye(c->k, theta) / across : 0;
        x = p.x * scale;
        y = p.y * scale;
    } else {
        if (!(p.z > 1e-9)) return false;
        x = p.x / p.z;
        y = p.y / p.z;
        if (c->lens == NM_BROWN_CONRADY) {
            if (!(x * x + y * y <= c->reach * c->reach)) return false;
            struct bend b = brown_conrady(c->k, x, y);
            x = b.x;
            y = b.y;
        }
    }
    *pixel = (struct pixel){c->fx * x + c->cx, c->fy * y + c->cy};
    return true;
}

/* To a length of at most `most`. */
static void shorten(double *x, double *y, double most)
{
    double s = *x * *x + *y * *y;
    if (!(s > most * most)) return;
    *x *= most / sqrt(s), *y *= most / sqrt(s);
}

/* Newton on the two equations bend(x, y) = (u, v), kept inside the reach. */
static bool straighten(const struct nm_camera *c, double u, double v, double *x, double *y)
{
    *x = u, *y = v;
    shorten(x, y, 0.9 * c->reach);
    for (int i = 0; i < STEPS; i++) {
        struct bend b = brown_conrady(c->k, *x, *y);
        double ex = u - b.x, ey = v - b.y, det = b.xx * b.yy - b.xy * b.yx;
        if (!(fabs(det) > 1e-12)) return false;
        *x += (b.yy * ex - b.xy * ey) / det;
        *y += (b.xx * ey - b.yx * ex) / det;
        /* what is left after this step is about the square of what was left before it */
        if (ex * ex + ey * ey < 1e-16) return *x * *x + *y * *y <= c->reach * c->reach;
        shorten(x, y, c->reach);
    }
    struct bend b = brown_conrady(c->k, *x, *y);
    return hypot(u - b.x, v - b.y) < 1e-11;
}

/* The angle whose image has radius r: Newton between two bounds, which halve where it would leave them. */
static bool fisheye_angle(const struct nm_camera *c, double r, double *theta)
{
    double low = 0, high = c->reach;
    if (!(r <= fisheye(c->k, high))) return false;
    *theta = fmin(r, high);
    for (int i = 0; i < STEPS; i++) {
        double error = r - fisheye(c->k, *theta);
        if (fabs(error) < 1e-15) break;
        if (error > 0)
            low = *theta;
        else
            high = *theta;
        double next = *theta + error / growth(c, *theta);
        *theta = next > low && next < high ? next : (low + high) / 2;
    }
    return true;
}

bool nm_camera_unproject(const struct nm_camera *c, struct pixel pixel, struct vec3 *direction)
{
    double u = (pixel.u - c->cx) / c->fx, v = (pixel.v - c->cy) / c->fy, x = u, y = v;
    if (c->lens == NM_FISHEYE) {
        double r = hypot(u, v), theta;
        if (!fisheye_angle(c, r, &theta)) return false;
        double scale = r > 0 ? sin(theta) / r : 0;
        *direction = (struct vec3){u * scale, v * scale, cos(theta)};
        return true;
    }
    if (c->lens == NM_BROWN_CONRADY && !straighten(c, u, v, &x, &y)) return false;
    double length = sqrt(x * x + y * y + 1);
    *direction = (struct vec3){x / length, y / length, 1 / length};
    return true;
}

bool nm_camera_to_ground(const struct nm_camera *c, struct pose3 camera_to_world, struct pixel pixel, double height,
                         struct vec3 *point)
{
    struct vec3 ray;
    if (!nm_camera_unproject(c, pixel, &ray)) return false;
    ray = quat_apply(camera_to_world.rot, ray);
    double above = camera_to_world.pos.z - height;
    if (!(ray.z * above < 0)) return false;
    *point = vec3_add(camera_to_world.pos, vec3_scale(ray, -above / ray.z));
    point->z = height;
    return true;
}

bool nm_camera_from_world(const struct nm_camera *c, struct pose3 camera_to_world, struct vec3 point,
                          struct pixel *pixel)
{
    struct vec3 p = quat_apply(quat_inv(camera_to_world.rot), vec3_sub(point, camera_to_world.pos));
    return nm_camera_project(c, p, pixel);
}

/* The outline of a ball is where the cone of tangents through the camera touches it: a circle of radius R cos a around
 * the centre moved back by R sin a, with sin a = R / distance. Its image is nearly an ellipse, so the area of the
 * polygon through n points of it is that of the outline times n sin(2 pi / n) / (2 pi). */
double nm_camera_ball_radius(const struct nm_camera *c, struct pose3 camera_to_world, struct pixel pixel, double ball)
{
    enum { N = 16 };
    struct vec3 centre, ray;
    if (!nm_camera_to_ground(c, camera_to_world, pixel, ball, &centre)) return 0;
    struct vec3 p = quat_apply(quat_inv(camera_to_world.rot), vec3_sub(centre, camera_to_world.pos));
    double distance = vec3_norm(p), sine = ball / distance;
    if (!(sine < 1)) return 0;
    ray = vec3_scale(p, 1 / distance);
    struct vec3 side = fabs(ray.x) < 0.9 ? (struct vec3){0, ray.z, -ray.y} : (struct vec3){-ray.z, 0, ray.x};
    side = vec3_scale(side, 1 / vec3_norm(side));
    struct vec3 up = vec3_cross(ray, side), middle = vec3_scale(ray, distance - ball * sine);
    double r = ball * sqrt(1 - sine * sine), area = 0;
    struct pixel at[N];
    for (int i = 0; i < N; i++) {
        double a = 2 * M_PI * i / N;
        struct vec3 q = vec3_add(middle, vec3_add(vec3_scale(side, r * cos(a)), vec3_scale(up, r * sin(a))));
        if (!nm_camera_project(c, q, &at[i])) return 0;
    }
    for (int i = 0; i < N; i++) {
        struct pixel a = at[i], b = at[(i + 1) % N];
        area += (a.u * b.v - b.u * a.v) / 2;
    }
    return sqrt(fabs(area) / (N / 2.0 * sin(2 * M_PI / N)));
}

/* Level directions sweep the horizon from left to right; the one whose image is in column u is found by halving. */
bool nm_camera_horizon(const struct nm_camera *c, struct pose3 camera_to_world, double u, double *v)
{
    struct vec3 forward = quat_apply(camera_to_world.rot, (struct vec3){0, 0, 1});
    double length = hypot(forward.x, forward.y);
    if (!(length > 1e-6)) return false;
    forward = (struct vec3){forward.x / length, forward.y / length, 0};
    struct vec3 right = {forward.y, -forward.x, 0};
    double low = -M_PI / 2, high = M_PI / 2, middle = 0;
    struct pixel at = {0};
    for (int i = 0; i < 60; i++) {
        middle = (low + high) / 2;
        struct vec3 level = vec3_add(vec3_scale(forward, cos(middle)), vec3_scale(right, sin(middle)));
        bool seen = nm_camera_from_world(c, camera_to_world, vec3_add(camera_to_world.pos, level), &at);
        if (seen ? at.u < u : middle < 0)
            low = middle;
        else
            high = middle;
    }
    *v = at.v;
    return fabs(at.u - u) < 1e-3;
}
