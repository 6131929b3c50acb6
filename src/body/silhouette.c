#include "body/silhouette.h"

#include <stdlib.h>

enum { RING = 12, CUTS = 4, POINTS = (2 * RING + RING) * (CUTS + 1) };
static const double NEAR = 0.01; /* m before the camera: nearer parts are cut off */

struct cloud {
    const struct nm_camera *lens;
    struct pixel p[POINTS];
    uint32_t n;
};

/* A point beyond the lens' reach is drawn at the edge of it, far outside of any picture. */
static struct pixel project(const struct nm_camera *lens, struct vec3 p)
{
    struct pixel at = {0, 0};
    if (nm_camera_project(lens, p, &at)) return at;
    double across = hypot(p.x, p.y);
    double r = lens->lens == NM_FISHEYE ? p.z * tan(fmin(lens->reach, 1.5)) : p.z * lens->reach;
    double k = across > 0 ? 0.999 * r / across : 0;
    nm_camera_project(lens, (struct vec3){p.x * k, p.y * k, p.z}, &at);
    return at;
}

/* An edge in camera coordinates, cut at the near plane; under distortion it is a curve, so points between count too. */
static void add_edge(struct cloud *c, struct vec3 a, struct vec3 b)
{
    if (a.z < NEAR && b.z < NEAR) return;
    if (a.z < NEAR || b.z < NEAR) {
        struct vec3 cut = vec3_add(a, vec3_scale(vec3_sub(b, a), (NEAR - a.z) / (b.z - a.z)));
        cut.z = NEAR;
        if (a.z < NEAR)
            a = cut;
        else
            b = cut;
    }
    int cuts = c->lens->lens == NM_PINHOLE ? 1 : CUTS;
    for (int i = 0; i <= cuts && c->n < POINTS; i++)
        c->p[c->n++] = project(c->lens, vec3_add(a, vec3_scale(vec3_sub(b, a), (double)i / cuts)));
}

static void add_box(struct cloud *c, struct pose3 pose, struct vec3 size)
{
    struct vec3 corner[8];
    for (int i = 0; i < 8; i++)
        corner[i] = pose_apply(pose, (struct vec3){(i & 1 ? 0.5 : -0.5) * size.x, (i & 2 ? 0.5 : -0.5) * size.y,
                                                   (i & 4 ? 0.5 : -0.5) * size.z});
    for (int i = 0; i < 8; i++)
        for (int bit = 1; bit < 8; bit <<= 1)
            if (!(i & bit)) add_edge(c, corner[i], corner[i | bit]);
}

static struct vec3 on_ring(double radius, double z, int i)
{
    return (struct vec3){radius * cos(2 * M_PI * i / RING), radius * sin(2 * M_PI * i / RING), z};
}

/* The twelve-cornered prism around the cylinder. */
static void add_cylinder(struct cloud *c, struct pose3 pose, double radius, double length)
{
    double r = radius / cos(M_PI / RING);
    for (int i = 0; i < RING; i++) {
        struct vec3 low = pose_apply(pose, on_ring(r, -length / 2, i));
        struct vec3 high = pose_apply(pose, on_ring(r, length / 2, i));
        add_edge(c, low, pose_apply(pose, on_ring(r, -length / 2, i + 1)));
        add_edge(c, high, pose_apply(pose, on_ring(r, length / 2, i + 1)));
        add_edge(c, low, high);
    }
}

/* The circle along which the rays from the camera touch the sphere. */
static void add_sphere(struct cloud *c, struct vec3 at, double radius)
{
    double distance = vec3_norm(at);
    if (!(distance > radius)) return;
    struct vec3 ray = vec3_scale(at, 1 / distance),
                other = fabs(ray.x) < 0.7 ? (struct vec3){1, 0, 0} : (struct vec3){0, 1, 0};
    struct vec3 side = vec3_cross(ray, other), up;
    side = vec3_scale(side, 1 / vec3_norm(side));
    up = vec3_cross(ray, side);
    double sine = radius / distance, r = radius * sqrt(1 - sine * sine) / cos(M_PI / RING);
    struct vec3 middle = vec3_scale(ray, distance - radius * sine), last = {0};
    for (int i = 0; i <= RING; i++) {
        struct vec3 ring = on_ring(r, 0, i);
        struct vec3 p = vec3_add(middle, vec3_add(vec3_scale(side, ring.x), vec3_scale(up, ring.y)));
        if (i) add_edge(c, last, p);
        last = p;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct pixel *p = a, *q = b;
    if (p->u != q->u) return p->u < q->u ? -1 : 1;
    return p->v < q->v ? -1 : p->v > q->v;
}

static double turn(struct pixel a, struct pixel b, struct pixel c)
{
    return (b.u - a.u) * (c.v - a.v) - (b.v - a.v) * (c.u - a.u);
}

/* Convex hull by Andrew's monotone chain; `hull` has room for twice the points. */
static uint32_t convex_hull(struct pixel *p, uint32_t n, struct pixel *hull)
{
    uint32_t m = 0;
    qsort(p, n, sizeof *p, by_place);
    for (uint32_t pass = 0, base = 0; pass < 2; pass++, base = m ? m - 1 : 0) {
        if (pass) m = base; /* the last point of the lower half begins the upper one */
        for (uint32_t i = 0; i < n; i++) {
            struct pixel at = p[pass ? n - 1 - i : i];
            while (m >= base + 2 && turn(hull[m - 2], hull[m - 1], at) <= 1e-9) m--;
            hull[m++] = at;
        }
    }
    return m ? m - 1 : 0;
}

/* Cuts a polygon at one border of the picture (Sutherland and Hodgman): keeps what has sign * coordinate <= limit. */
static uint32_t clip(const struct pixel *in, uint32_t n, struct pixel *out, uint32_t room, bool vertical, double sign,
                     double limit)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct pixel a = in[i], b = in[(i + 1) % n];
        double da = sign * (vertical ? a.v : a.u) - limit, db = sign * (vertical ? b.v : b.u) - limit;
        if (da <= 0 && m < room) out[m++] = a;
        if ((da < 0 && db > 0) || (da > 0 && db < 0)) {
            double t = da / (da - db);
            if (m < room) out[m++] = (struct pixel){a.u + t * (b.u - a.u), a.v + t * (b.v - a.v)};
        }
    }
    return m;
}

static bool outline(struct cloud *c, struct nm_outline *out)
{
    struct pixel hull[2 * POINTS + 2], a[NM_OUTLINE_POINTS], b[NM_OUTLINE_POINTS];
    uint32_t n = convex_hull(c->p, c->n, hull);
    n = clip(hull, n, a, NM_OUTLINE_POINTS, false, -1, 0.5);
    n = clip(a, n, b, NM_OUTLINE_POINTS, false, 1, c->lens->width - 0.5);
    n = clip(b, n, a, NM_OUTLINE_POINTS, true, -1, 0.5);
    n = clip(a, n, out->points, NM_OUTLINE_POINTS, true, 1, c->lens->height - 0.5);
    out->n = n;
    return n >= 3;
}

uint32_t nm_silhouette(const struct nm_body *body, const struct nm_kin *kin, uint32_t camera, struct nm_outline out[],
                       uint32_t max)
{
    const struct nm_body_camera *cam = &body->cameras[camera];
    const struct nm_link_shape *shapes = body->n_collisions ? body->collisions : body->visuals;
    uint32_t n_shapes = body->n_collisions ? body->n_collisions : body->n_visuals, n = 0;
    struct pose3 world_to_camera = pose_inv(kin->pose[cam->frame]);
    struct cloud cloud = {.lens = &cam->lens};
    for (uint32_t i = 0; i < n_shapes && n < max; i++) {
        const struct nm_link_shape *s = &shapes[i];
        if (s->link == body->frames[cam->frame].link || s->kind == NM_MESH) continue;
        struct pose3 pose = pose_mul(world_to_camera, pose_mul(kin->pose[s->link], s->to_link));
        if (pose.pos.z < NEAR - vec3_norm(s->size)) continue;
        cloud.n = 0;
        if (s->kind == NM_BOX) add_box(&cloud, pose, s->size);
        if (s->kind == NM_CYLINDER) add_cylinder(&cloud, pose, s->size.x, s->size.z);
        if (s->kind == NM_SPHERE) add_sphere(&cloud, pose.pos, s->size.x);
        out[n].link = s->link;
        if (cloud.n >= 3 && outline(&cloud, &out[n])) n++;
    }
    return n;
}
