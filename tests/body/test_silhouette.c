/* The own body in the picture: every point of the robot's surface that the camera sees lies inside an outline, and a
 * sphere's outline is not larger than the sphere. */
#include "body/silhouette.h"

#include "body/robots.h"

static int inside(const struct nm_outline *o, struct pixel p, double margin)
{
    double sign = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        struct pixel a = o->points[i], b = o->points[(i + 1) % o->n];
        double length = hypot(b.u - a.u, b.v - a.v);
        double side = (b.u - a.u) * (p.v - a.v) - (b.v - a.v) * (p.u - a.u);
        if (length < 1e-9 || fabs(side) < margin * length) continue;
        if (side * sign < 0) return 0;
        sign = side;
    }
    return 1;
}

static struct vec3 surface_point(uint64_t *seed, const struct nm_link_shape *s)
{
    struct vec3 p = {dice(seed, -0.5, 0.5), dice(seed, -0.5, 0.5), dice(seed, -0.5, 0.5)};
    if (s->kind == NM_BOX) return (struct vec3){p.x * s->size.x, p.y * s->size.y, p.z * s->size.z};
    struct vec3 d = vec3_scale(p, s->size.x / vec3_norm(p));
    if (s->kind == NM_SPHERE) return d;
    double across = hypot(p.x, p.y);
    return (struct vec3){p.x / across * s->size.x, p.y / across * s->size.x, p.z * s->size.z};
}

static void every_visible_part_is_inside_an_outline(void **state)
{
    (void)state;
    for (int r = 0; r < 3; r++) {
        struct nm_arena arena = {0};
        static struct nm_outline outlines[400];
        const struct nm_body *body = load(&arena, all_robots[r]);
        const struct nm_body_camera *camera = &body->cameras[0];
        uint64_t seed = 90;
        uint32_t seen = 0, drawn = 0;
        for (int round = 0; round < 40; round++) {
            struct nm_kin kin;
            double q[NM_JOINTS];
            dice_joints(&seed, body, q);
            nm_forward(body, POSE_IDENTITY, q, &kin);
            uint32_t n = nm_silhouette(body, &kin, 0, outlines, 400);
            drawn += n;
            for (uint32_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < outlines[i].n; k++) {
                    struct pixel p = outlines[i].points[k];
                    assert_true(p.u >= -0.5 - 1e-9 && p.u <= camera->lens.width - 0.5 + 1e-9);
                    assert_true(p.v >= -0.5 - 1e-9 && p.v <= camera->lens.height - 0.5 + 1e-9);
                }
            for (uint32_t i = 0; i < body->n_collisions; i++) {
                const struct nm_link_shape *s = &body->collisions[i];
                if (s->link == body->frames[camera->frame].link || s->kind == NM_MESH) continue;
                for (int k = 0; k < 20; k++) {
                    struct pixel p;
                    struct vec3 at = pose_apply(kin.pose[s->link], pose_apply(s->to_link, surface_point(&seed, s)));
                    struct vec3 in_camera = pose_apply(pose_inv(kin.pose[camera->frame]), at);
                    if (in_camera.z < 0.011 || !nm_camera_project(&camera->lens, in_camera, &p)) continue;
                    if (!nm_camera_sees(&camera->lens, p)) continue;
                    seen++;
                    int found = 0;
                    for (uint32_t m = 0; m < n && !found; m++)
                        found = outlines[m].link == s->link && inside(&outlines[m], p, 0.5);
                    if (!found)
                        fail_msg("%s: a point of %s at %g %g is outside", body->name, body->frames[s->link].name, p.u,
                                 p.v);
                }
            }
        }
        printf("%s: %u points in %u outlines\n", body->name, seen, drawn);
        assert_true(seen > 1000);
        nm_arena_free(&arena);
    }
}

/* A sphere before a pinhole: its outline is a circle of f tan(asin(r / d)). */
static void a_sphere_gives_a_circle(void **state)
{
    (void)state;
    static const char text[] =
        "<robot name='eye'><link name='base_link'/><link name='head'/><link name='camera'/><link name='hand'>"
        "<collision><geometry><sphere radius='0.1'/></geometry></collision></link>"
        "<joint name='n' type='continuous'><parent link='base_link'/><child link='head'/></joint>"
        "<joint name='c' type='fixed'><parent link='head'/><child link='camera'/></joint>"
        "<joint name='h' type='fixed'><parent link='base_link'/><child link='hand'/><origin xyz='1 0 "
        "0'/></joint></robot>";
    struct nm_arena arena = {0};
    const struct nm_body *body = load_text(&arena, text);
    assert_int_equal(body->n_cameras, 1);
    struct nm_kin kin;
    struct nm_outline outline;
    double q[1] = {0};
    nm_forward(body, POSE_IDENTITY, q, &kin);
    assert_int_equal(nm_silhouette(body, &kin, 0, &outline, 1), 1);
    const struct nm_camera *lens = &body->cameras[0].lens;
    double radius = lens->fx * tan(asin(0.1));
    for (uint32_t i = 0; i < outline.n; i++)
        assert_near(hypot(outline.points[i].u - lens->cx, outline.points[i].v - lens->cy), radius, radius * 0.04);
    assert_true(outline.n >= 12);
    nm_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_visible_part_is_inside_an_outline),
        cmocka_unit_test(a_sphere_gives_a_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
