/* Cameras: closed forms for a pinhole, exact inversion of every lens, ground and back, the ball's radius, the horizon.
 */
#include "body/camera.h"

#include "body/robots.h"

static struct nm_camera pinhole(void)
{
    struct nm_camera c = {.width = 640, .height = 480, .fx = 500, .fy = 510, .cx = 319.5, .cy = 239.5};
    nm_camera_ready(&c);
    return c;
}

static struct nm_camera barrel(void)
{
    struct nm_camera c = pinhole();
    c.lens = NM_BROWN_CONRADY;
    const double k[5] = {-0.28, 0.07, 0.0012, -0.0008, 0.004};
    memcpy(c.k, k, sizeof k);
    nm_camera_ready(&c);
    return c;
}

static struct nm_camera fisheye(void)
{
    struct nm_camera c = {
        .width = 480, .height = 640, .fx = 280, .fy = 281, .cx = 240.2, .cy = 318.7, .lens = NM_FISHEYE};
    const double k[5] = {-0.02, 0.004, -0.001, 0.0002, 0};
    memcpy(c.k, k, sizeof k);
    nm_camera_ready(&c);
    return c;
}

static struct pose3 above_ground(double height, double down, double yaw, double roll)
{
    /* the optical frame of a camera that looks along x, turned down, then about its axis */
    struct quat forward = quat_rpy(-M_PI / 2, 0, -M_PI / 2);
    return (struct pose3){quat_mul(quat_rpy(0, down, yaw), quat_mul(forward, quat_rpy(0, 0, roll))),
                          {0.1, -0.2, height}};
}

static void a_pinhole_is_x_over_z(void **state)
{
    (void)state;
    struct nm_camera c = pinhole();
    struct pixel p;
    assert_true(nm_camera_project(&c, (struct vec3){0.2, -0.1, 2}, &p));
    assert_near(p.u, 319.5 + 500 * 0.1, 1e-12);
    assert_near(p.v, 239.5 - 510 * 0.05, 1e-12);
    assert_false(nm_camera_project(&c, (struct vec3){0.2, -0.1, -2}, &p));
    assert_false(nm_camera_project(&c, (struct vec3){0, 0, 0}, &p));
    assert_false(nm_camera_project(&c, (struct vec3){NAN, 0, NAN}, &p));
}

/* OpenCV's formulas written out once more, with numbers */
static void lenses_bend_as_their_formulas_say(void **state)
{
    (void)state;
    struct nm_camera c = barrel();
    struct pixel p;
    double x = 0.3, y = -0.2, r2 = x * x + y * y;
    double radial = 1 + c.k[0] * r2 + c.k[1] * r2 * r2 + c.k[4] * r2 * r2 * r2;
    assert_true(nm_camera_project(&c, (struct vec3){x * 3, y * 3, 3}, &p));
    assert_near(p.u, c.cx + c.fx * (x * radial + 2 * c.k[2] * x * y + c.k[3] * (r2 + 2 * x * x)), 1e-9);
    assert_near(p.v, c.cy + c.fy * (y * radial + c.k[2] * (r2 + 2 * y * y) + 2 * c.k[3] * x * y), 1e-9);

    c = fisheye();
    double theta = atan(hypot(x, y)), t2 = theta * theta;
    double bent = theta * (1 + c.k[0] * t2 + c.k[1] * t2 * t2 + c.k[2] * pow(t2, 3) + c.k[3] * pow(t2, 4));
    assert_true(nm_camera_project(&c, (struct vec3){x, y, 1}, &p));
    assert_near(p.u, c.cx + c.fx * bent * x / hypot(x, y), 1e-9);
    assert_near(p.v, c.cy + c.fy * bent * y / hypot(x, y), 1e-9);
    assert_true(nm_camera_project(&c, (struct vec3){1, 0, -0.1}, &p)); /* more than 90 degrees aside */
}

/* Every pixel, and a margin around the picture, comes back to 1e-9. */
static void unprojecting_undoes_projecting(void **state)
{
    (void)state;
    struct nm_camera cameras[] = {pinhole(), barrel(), fisheye()};
    for (int i = 0; i < 3; i++) {
        const struct nm_camera *c = &cameras[i];
        double worst = 0;
        for (double v = -10; v < c->height + 10; v += 3.7)
            for (double u = -10; u < c->width + 10; u += 3.3) {
                struct vec3 ray;
                struct pixel back;
                assert_true(nm_camera_unproject(c, (struct pixel){u, v}, &ray));
                assert_near(vec3_norm(ray), 1, 1e-12);
                assert_true(nm_camera_project(c, vec3_scale(ray, 2.5), &back));
                worst = fmax(worst, hypot(back.u - u, back.v - v));
            }
        printf("lens %d: %.1e pixels\n", (int)c->lens, worst);
        assert_true(worst < 1e-9);
    }
}

/* Beyond the radius where the model turns back there is no pixel, and no pixel has a direction there. */
static void a_lens_ends_where_its_model_turns_back(void **state)
{
    (void)state;
    struct nm_camera c = pinhole();
    struct pixel p;
    struct vec3 ray;
    c.lens = NM_BROWN_CONRADY;
    c.k[0] = -0.3; /* 1 - 0.9 r^2 = 0 */
    nm_camera_ready(&c);
    assert_near(c.reach, sqrt(1 / 0.9), 1e-9);
    assert_true(nm_camera_project(&c, (struct vec3){1.05, 0, 1}, &p));
    assert_false(nm_camera_project(&c, (struct vec3){1.06, 0, 1}, &p));
    double farthest = c.reach * (1 - 0.3 * c.reach * c.reach);
    assert_true(nm_camera_unproject(&c, (struct pixel){c.cx + c.fx * farthest * 0.999, c.cy}, &ray));
    assert_false(nm_camera_unproject(&c, (struct pixel){c.cx + c.fx * farthest * 1.001, c.cy}, &ray));

    c.lens = NM_FISHEYE;
    c.k[0] = -0.05;
    nm_camera_ready(&c);
    assert_near(c.reach, sqrt(1 / 0.15), 1e-9);
    assert_false(nm_camera_unproject(&c, (struct pixel){c.cx + c.fx * 4, c.cy}, &ray));
}

static void pixels_meet_the_ground_and_come_back(void **state)
{
    (void)state;
    struct nm_camera cameras[] = {pinhole(), barrel(), fisheye()};
    for (int i = 0; i < 3; i++) {
        const struct nm_camera *c = &cameras[i];
        struct pose3 pose = above_ground(0.5, 0.6, 0.3, 0.05);
        uint64_t seed = 80;
        for (int k = 0; k < 2000; k++) {
            struct pixel p = {dice(&seed, 0, c->width), dice(&seed, 0, c->height)}, back;
            struct vec3 at;
            double height = dice(&seed, -0.05, 0.2);
            if (!nm_camera_to_ground(c, pose, p, height, &at)) continue;
            assert_near(at.z, height, 0);
            assert_true(nm_camera_from_world(c, pose, at, &back));
            assert_near(hypot(back.u - p.u, back.v - p.v), 0, 1e-7);
        }
    }
    /* straight ahead and 45 degrees down: as far as it is high */
    struct nm_camera c = pinhole();
    struct vec3 at;
    assert_true(nm_camera_to_ground(&c, above_ground(0.5, M_PI / 4, 0, 0), (struct pixel){c.cx, c.cy}, 0, &at));
    assert_vec_near(at, 0.6, -0.2, 0, 1e-12);
    assert_false(nm_camera_to_ground(&c, above_ground(0.5, -0.1, 0, 0), (struct pixel){c.cx, c.cy}, 0, &at));
}

/* In the middle f tan a with sin a = R / distance; elsewhere the ellipse's area, counted in pixels of rays that hit. */
static void a_ball_has_the_radius_that_is_seen(void **state)
{
    (void)state;
    const double ball = 0.07;
    struct nm_camera c = pinhole();
    c.fy = c.fx;
    struct pose3 pose = above_ground(0.5, 0.4, 0, 0);
    double distance = (0.5 - ball) / sin(0.4);
    double expected = c.fx * tan(asin(ball / distance));
    assert_near(nm_camera_ball_radius(&c, pose, (struct pixel){c.cx, c.cy}, ball) / expected, 1, 1e-4);

    struct nm_camera cameras[] = {c, barrel(), fisheye()};
    const struct pixel pixels[] = {{100, 300}, {400, 420}, {50, 450}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const struct nm_camera *cam = &cameras[i];
            struct vec3 centre, ray;
            double radius = nm_camera_ball_radius(cam, pose, pixels[k], ball);
            assert_true(nm_camera_to_ground(cam, pose, pixels[k], ball, &centre));
            struct vec3 seen = quat_apply(quat_inv(pose.rot), vec3_sub(centre, pose.pos));
            double hits = 0, step = radius / 200;
            for (double v = pixels[k].v - 2 * radius; v < pixels[k].v + 2 * radius; v += step)
                for (double u = pixels[k].u - 2 * radius; u < pixels[k].u + 2 * radius; u += step) {
                    if (!nm_camera_unproject(cam, (struct pixel){u, v}, &ray)) continue;
                    hits += vec3_norm(vec3_cross(ray, seen)) < ball;
                }
            assert_near(radius / sqrt(hits * step * step / M_PI), 1, 0.003);
        }
    assert_near(nm_camera_ball_radius(&c, above_ground(0.5, -0.5, 0, 0), (struct pixel){c.cx, c.cy}, ball), 0, 0);
}

static void the_horizon_is_where_level_rays_go(void **state)
{
    (void)state;
    struct nm_camera c = pinhole();
    double v;
    assert_true(nm_camera_horizon(&c, above_ground(0.5, 0, 0.7, 0), 100, &v));
    assert_near(v, c.cy, 1e-6);
    assert_true(nm_camera_horizon(&c, above_ground(0.5, 0.3, 0.7, 0), 320, &v));
    assert_near(v, c.cy - c.fy * tan(0.3), 1e-6);

    struct nm_camera cameras[] = {pinhole(), barrel(), fisheye()};
    for (int i = 0; i < 3; i++)
        for (double u = 20; u < cameras[i].width; u += 60) {
            struct pose3 pose = above_ground(0.5, 0.2, -1, 0.1);
            struct vec3 ray;
            assert_true(nm_camera_horizon(&cameras[i], pose, u, &v));
            assert_true(nm_camera_unproject(&cameras[i], (struct pixel){u, v}, &ray));
            assert_near(quat_apply(pose.rot, ray).z, 0, 1e-6);
        }
    assert_false(nm_camera_horizon(&c, above_ground(0.5, M_PI / 2, 0, 0), 320, &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pinhole_is_x_over_z),
        cmocka_unit_test(lenses_bend_as_their_formulas_say),
        cmocka_unit_test(unprojecting_undoes_projecting),
        cmocka_unit_test(a_lens_ends_where_its_model_turns_back),
        cmocka_unit_test(pixels_meet_the_ground_and_come_back),
        cmocka_unit_test(a_ball_has_the_radius_that_is_seen),
        cmocka_unit_test(the_horizon_is_where_level_rays_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
