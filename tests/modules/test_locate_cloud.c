/* With a depth camera things are where they are, although the robot's neck is bent; without its points the places by
 * rays stay. The cloud is that of the simulator. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "body/robot.h"
#include "core/harness.h"
#include "core/nm.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/Percepts.h"
#include "sensor_msgs/PointCloud2.h"
#include "sim/raycast.h"

extern const struct nm_module locate_cloud_module;

enum { STEP = 4 };

struct view {
    struct nm_arena arena;
    const struct nm_body *body;
    struct nm_pitch pitch;
    struct nm_scene *scene;
    struct nm_eye *eye;
    struct pose3 camera; /* to the field */
    uint8_t bytes[400 * 400 * 12];
};

static void open_view(struct view *v)
{
    struct nm_err err = {0};
    v->body = nm_body_load(&v->arena, NM_ROOT "/robots/kid70", &err);
    assert_non_null(v->body);
    assert_int_equal(nm_pitch_read(&v->pitch, NM_ROOT "/fields/kid.yaml", &err), 0);
    struct nm_lens_map *lens = nm_lens_map_new(&v->arena, &v->body->cameras[0].lens, &err);
    v->scene = nm_take(&v->arena, sizeof *v->scene);
    nm_scene_new(v->scene, &v->pitch, 1);
    v->eye = nm_eye_new(&v->arena, lens);
    nm_eye_measures(v->eye, &v->arena);
    /* 0.5 m high, 20 degrees down, along x */
    v->camera = (struct pose3){quat_mul(quat_rpy(0, 0.35, 0), quat_rpy(-M_PI / 2, 0, -M_PI / 2)), {1, 0.3, 0.5}};
    nm_cast(v->eye, v->scene, v->camera);
}

static void fill_cloud(struct view *v, PointCloud2 *to)
{
    const struct nm_camera *c = &v->eye->lens->camera;
    uint32_t w = c->width / STEP, h = c->height / STEP;
    for (uint32_t i = 0; i < w * h; i++) {
        struct vec3 ray;
        assert_true(nm_camera_unproject(c, (struct pixel){STEP * (i % w), STEP * (i / w)}, &ray));
        double range = (double)v->eye->range[i / w * STEP * v->eye->lens->stride + i % w * STEP];
        const float p[3] = {(float)(range * ray.x), (float)(range * ray.y), (float)(range * ray.z)};
        memcpy(v->bytes + 12 * i, p, sizeof p);
    }
    to->width = w, to->height = h, to->point_step = 12, to->row_step = 12 * w;
    to->data = (struct nm_blob){.data = v->bytes, .n = 12 * w * h, .cap = 12 * w * h};
}

static void places_come_from_the_cloud(void **state)
{
    (void)state;
    static struct view v;
    open_view(&v);
    const struct nm_camera *c = &v.eye->lens->camera;
    for (int with = 0; with < 2; with++) {
        struct nm_harness *h = nm_harness_new_with(&locate_cloud_module, NULL, v.body);
        const struct vec3 place = {3, 0.5, 0}; /* of the carpet; 2 m before the camera */
        struct pixel at;
        assert_true(nm_camera_from_world(c, v.camera, place, &at));
        Percepts *rays = nm_harness_set(h, "percepts_by_ray");
        CameraPose *pose = nm_harness_set(h, "camera/pose");
        struct quat bent = quat_mul(quat_rpy(0, 5 * M_PI / 180, 0), v.camera.rot);
        rays->percepts.n = 1;
        rays->percepts.at[0].kind = Percept_PENALTY_MARK;
        rays->percepts.at[0].center = (Point32){(float)at.u, (float)at.v, 0};
        rays->percepts.at[0].position.x = 1.3; /* what a ray says with this neck */
        rays->percepts.at[0].located = true;
        pose->valid = true;
        pose->pose = (Pose){{0, 0, 0.5}, {bent.x, bent.y, bent.z, bent.w}};
        nm_text(pose->camera, "%s", v.body->frames[v.body->cameras[0].frame].name);
        PointCloud2 *cloud = nm_harness_set(h, "camera/points");
        if (with) fill_cloud(&v, cloud);
        nm_harness_step(h, 0.03);
        const Percepts *to = nm_harness_get(h, "percepts");
        assert_non_null(to);
        assert_int_equal(to->percepts.n, 1);
        const Percept *p = &to->percepts.at[0];
        if (!with) assert_true(p->position.x == 1.3);
        if (with && hypot(p->position.x - 2, p->position.y - 0.2) > 0.08)
            fail_msg("it is at %g %g", p->position.x, p->position.y);
        nm_harness_free(h);
    }
    nm_arena_free(&v.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_come_from_the_cloud)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
