/* The ray caster against slow and obvious ways to the same picture: signed distances walked along exact rays, the
 * rule book's paint, and a golden picture that somebody has looked at. */
#include "sim/sim_help.h"

#include "base/random.h"
#include "sim/picture.h"

static struct nm_camera wide_camera(enum nm_lens lens)
{
    struct nm_camera c = {.width = 328, .height = 246, .fx = 210, .fy = 212, .cx = 165, .cy = 120, .lens = lens};
    if (lens == NM_BROWN_CONRADY) memcpy(c.k, (double[5]){-0.2, 0.04, 0.001, -0.002, 0}, sizeof c.k);
    if (lens == NM_FISHEYE) memcpy(c.k, (double[5]){0.02, -0.003, 0, 0, 0}, sizeof c.k);
    nm_camera_ready(&c);
    return c;
}

static struct pose3 camera_at(double x, double y, double z, double pan, double tilt)
{
    struct quat optical = quat_rpy(-M_PI / 2, 0, -M_PI / 2);
    return (struct pose3){quat_mul(quat_rpy(0, tilt, pan), optical), {x, y, z}};
}

/* ---- reference ---- */

static double distance_to(const struct nm_solid *s, struct vec3 p)
{
    double d[3] = {p.x - s->pos[0], p.y - s->pos[1], p.z - s->pos[2]}, q[3];
    for (int k = 0; k < 3; k++) q[k] = s->rot[0][k] * d[0] + s->rot[1][k] * d[1] + s->rot[2][k] * d[2];
    double r = s->half[0], h = s->half[2];
    switch (s->kind) {
    case NM_SOLID_SPHERE: return sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) - r;
    case NM_SOLID_CAPSULE: {
        double z = q[2] - fmin(fmax(q[2], -h), h);
        return sqrt(q[0] * q[0] + q[1] * q[1] + z * z) - r;
    }
    case NM_SOLID_CYLINDER: {
        double a = hypot(q[0], q[1]) - r, b = fabs(q[2]) - h;
        return fmin(fmax(a, b), 0) + hypot(fmax(a, 0), fmax(b, 0));
    }
    case NM_SOLID_BOX: {
        double inside = -INFINITY, outside = 0;
        for (int k = 0; k < 3; k++) {
            double e = fabs(q[k]) - s->half[k];
            inside = fmax(inside, e);
            outside += fmax(e, 0) * fmax(e, 0);
        }
        return fmin(inside, 0) + sqrt(outside);
    }
    }
    return INFINITY;
}

/* The thing a ray meets first, by sphere tracing; -1 where it is too close to an edge to call. */
static int reference_thing(const struct nm_scene *scene, struct vec3 from, struct vec3 direction)
{
    double t = 0.02, end = direction.z < 0 ? -from.z / direction.z : 100;
    bool grazed = false;
    for (int i = 0; i < 400 && t < end; i++) {
        struct vec3 p = vec3_add(from, vec3_scale(direction, t));
        double least = INFINITY;
        uint8_t thing = 0;
        for (uint32_t k = 0; k < scene->n_solids; k++) {
            double d = distance_to(&scene->solids[k], p);
            if (d < least) {
                least = d;
                thing = scene->solids[k].thing;
            }
        }
        if (least < 1e-5 * t) return thing;
        if (least < 3e-3 * t) grazed = true;
        t += least;
    }
    if (grazed) return -1;
    if (!(direction.z < 0)) return NM_THING_HALL;
    double x = from.x + end * direction.x, y = from.y + end * direction.y;
    return fabs(x) < scene->carpet_x && fabs(y) < scene->carpet_y ? NM_THING_GRASS : NM_THING_HALL;
}

static void random_solids(struct nm_scene *scene, struct nm_dice *dice)
{
    scene->n_solids = scene->n_groups = scene->n_shadows = 0;
    for (uint32_t i = 0; i < 12; i++) {
        struct nm_solid *s = &scene->solids[scene->n_solids];
        struct mat3 m =
            quat_to_mat3(quat_rpy(3 * nm_dice_both(dice), 1.5 * nm_dice_both(dice), 3 * nm_dice_both(dice)));
        *s = (struct nm_solid){.kind = (enum nm_solid_kind)(i % 4), .thing = (uint8_t)(NM_THING_ROBOT + i)};
        for (int k = 0; k < 3; k++) {
            s->half[k] = (float)(0.05 + 0.3 * nm_dice_roll(dice));
            s->pos[k] = (float)(k == 2 ? 0.6 + 0.5 * nm_dice_both(dice) : 2 * nm_dice_both(dice));
            s->colour[k] = 0.5f;
            for (int j = 0; j < 3; j++) s->rot[k][j] = (float)m.m[k][j];
        }
        if (s->kind != NM_SOLID_BOX) s->half[1] = s->half[0];
        float reach = 2 * (s->half[0] + s->half[1] + s->half[2]);
        scene->groups[scene->n_groups++] =
            (struct nm_solid_group){scene->n_solids++, 1, {s->pos[0], s->pos[1], s->pos[2]}, reach};
    }
}

static void every_pixel_shows_what_its_ray_meets_first(void **state)
{
    struct nm_pitch pitch;
    struct nm_arena arena = {0};
    struct nm_scene *scene = malloc(sizeof *scene);
    struct nm_dice dice = nm_dice_new(3, 0, 0);
    (void)state;
    load_pitch(&pitch, "kid");
    nm_scene_new(scene, &pitch, 1);
    for (int view = 0; view < 9; view++) {
        struct nm_camera camera = wide_camera((enum nm_lens)(view % 3));
        struct nm_eye *eye = nm_eye_new(&arena, nm_lens_map_new(&arena, &camera, NULL));
        struct pose3 pose = camera_at(2.5 * nm_dice_both(&dice), 2 * nm_dice_both(&dice), 0.3 + nm_dice_roll(&dice),
                                      3 * nm_dice_both(&dice), 0.4 * nm_dice_both(&dice));
        random_solids(scene, &dice);
        nm_cast(eye, scene, pose);
        int asked = 0, wrong = 0;
        for (uint32_t y = 1; y < camera.height; y += 3)
            for (uint32_t x = 1; x < camera.width; x += 3) {
                struct vec3 d;
                assert_true(nm_camera_unproject(&camera, (struct pixel){x, y}, &d));
                int wanted = reference_thing(scene, pose.pos, quat_apply(pose.rot, d));
                int shown = eye->things[y * eye->lens->stride + x];
                if (shown == NM_THING_LINE) shown = NM_THING_GRASS;
                if (wanted < 0) continue;
                asked++;
                wrong += shown != wanted;
            }
        assert_true(asked > 6000);
        assert_true(wrong * 500 < asked); /* a fifth of a percent: pixels cut by an edge or by the horizon */
    }
    free(scene);
    nm_arena_free(&arena);
}

static void lines_are_painted_where_the_rules_put_them(void **state)
{
    const char *fields[] = {"kid", "spl", "hsl-small", "hsl-middle"};
    struct nm_arena arena = {0};
    struct nm_scene *scene = malloc(sizeof *scene);
    struct nm_camera camera = wide_camera(NM_PINHOLE);
    struct nm_eye *eye = nm_eye_new(&arena, nm_lens_map_new(&arena, &camera, NULL));
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct nm_pitch pitch;
        load_pitch(&pitch, fields[i]);
        nm_scene_new(scene, &pitch, 1);
        scene->n_groups = 0; /* nothing in the way */
        int painted = 0, wrong = 0, asked = 0;
        for (double x = -pitch.length / 2; x <= pitch.length / 2; x += 1.1)
            for (double y = -pitch.width / 2; y <= pitch.width / 2; y += 0.9) {
                struct pose3 pose = camera_at(x, y, 1, 0.3, M_PI / 2);
                nm_cast(eye, scene, pose);
                for (uint32_t v = 0; v < camera.height; v += 5)
                    for (uint32_t u = 0; u < camera.width; u += 5) {
                        struct vec3 p;
                        nm_camera_to_ground(&camera, pose, (struct pixel){u, v}, 0, &p);
                        bool paint = nm_pitch_painted(&pitch, p.x, p.y);
                        double e = 0.004; /* a pixel is 5 mm wide: leave out those on an edge */
                        if (paint != nm_pitch_painted(&pitch, p.x + e, p.y) ||
                            paint != nm_pitch_painted(&pitch, p.x - e, p.y) ||
                            paint != nm_pitch_painted(&pitch, p.x, p.y + e) ||
                            paint != nm_pitch_painted(&pitch, p.x, p.y - e) || fabs(p.x) > scene->carpet_x - e ||
                            fabs(p.y) > scene->carpet_y - e)
                            continue;
                        asked++;
                        painted += paint;
                        wrong += (eye->things[v * eye->lens->stride + u] == NM_THING_LINE) != paint;
                    }
            }
        assert_true(painted > 1000);
        assert_true(wrong * 2000 < asked);
    }
    free(scene);
    nm_arena_free(&arena);
}

static void the_ball_is_as_large_as_the_camera_model_says(void **state)
{
    struct nm_pitch pitch;
    struct nm_arena arena = {0};
    struct nm_scene *scene = malloc(sizeof *scene);
    (void)state;
    load_pitch(&pitch, "kid");
    nm_scene_new(scene, &pitch, 1);
    for (int lens = NM_PINHOLE; lens <= NM_FISHEYE; lens++)
        for (double far = 0.4; far < 4; far *= 1.5) {
            struct nm_camera camera = wide_camera((enum nm_lens)lens);
            struct nm_eye *eye = nm_eye_new(&arena, nm_lens_map_new(&arena, &camera, NULL));
            struct pose3 pose = camera_at(0, 0, 0.6, 0.1, atan2(0.6, far) - 0.1);
            struct vec3 ball = {far, 0.05 * far, pitch.ball_radius};
            struct pixel centre;
            nm_scene_clear(scene);
            nm_scene_ball(scene, (struct pose3){QUAT_IDENTITY, ball});
            nm_cast(eye, scene, pose);
            assert_true(nm_camera_from_world(&camera, pose, ball, &centre));
            double radius = nm_camera_ball_radius(&camera, pose, centre, pitch.ball_radius), pixels = 0;
            for (uint32_t i = 0; i < eye->lens->stride * camera.height; i++)
                pixels += i % eye->lens->stride < camera.width && eye->things[i] == NM_THING_BALL;
            assert_near(sqrt(pixels / M_PI), radius, 0.02 * radius + 0.2);
        }
    free(scene);
    nm_arena_free(&arena);
}

static void pixels_beyond_the_lens_are_black(void **state)
{
    struct nm_pitch pitch;
    struct nm_arena arena = {0};
    struct nm_scene *scene = malloc(sizeof *scene);
    struct nm_camera camera = {.width = 200,
                               .height = 200,
                               .fx = 60,
                               .fy = 60,
                               .cx = 99.5,
                               .cy = 99.5,
                               .lens = NM_FISHEYE,
                               .k = {-0.1, 0, 0, 0}};
    (void)state;
    nm_camera_ready(&camera);
    load_pitch(&pitch, "kid");
    nm_scene_new(scene, &pitch, 1);
    struct nm_eye *eye = nm_eye_new(&arena, nm_lens_map_new(&arena, &camera, NULL));
    nm_cast(eye, scene, camera_at(0, 0, 1, 0, 0.5));
    int black = 0;
    for (uint32_t y = 0; y < 200; y++)
        for (uint32_t x = 0; x < 200; x++) {
            struct vec3 d;
            bool blind = !nm_camera_unproject(&camera, (struct pixel){x, y}, &d);
            assert_int_equal(eye->things[y * eye->lens->stride + x] == NM_THING_NONE, blind);
            black += blind;
        }
    assert_true(black > 1000);
    struct nm_err err = {0};
    camera.width = 10000;
    assert_null(nm_lens_map_new(&arena, &camera, &err));
    assert_true(err.n);
    free(scene);
    nm_arena_free(&arena);
}

static void the_same_scene_gives_the_same_bits(void **state)
{
    struct nm_pitch pitch;
    struct nm_arena arena = {0};
    struct nm_scene *scene = malloc(sizeof *scene);
    struct nm_camera camera = wide_camera(NM_BROWN_CONRADY);
    const struct nm_lens_map *lens = nm_lens_map_new(&arena, &camera, NULL);
    struct nm_eye *one = nm_eye_new(&arena, lens), *two = nm_eye_new(&arena, lens);
    struct nm_dice dice = nm_dice_new(5, 0, 0);
    (void)state;
    load_pitch(&pitch, "spl");
    nm_scene_new(scene, &pitch, 1);
    random_solids(scene, &dice);
    nm_cast(one, scene, camera_at(0.1, 0.2, 0.5, 1, 0.3));
    nm_cast(two, scene, camera_at(1, 0, 0.5, 2, 0)); /* leaves no trace in the next */
    nm_cast(two, scene, camera_at(0.1, 0.2, 0.5, 1, 0.3));
    assert_memory_equal(one->light, two->light, lens->stride * camera.height * sizeof *one->light);
    assert_memory_equal(one->things, two->things, lens->stride * camera.height);
    free(scene);
    nm_arena_free(&arena);
}

/* ---- golden picture ---- */

enum { GOLDEN_W = 160, GOLDEN_H = 120, BLOCKS = GOLDEN_W / 8 * (GOLDEN_H / 8) * 3 };

static void golden_blocks(int blocks[BLOCKS])
{
    struct nm_pitch pitch;
    struct nm_arena arena = {0};
    struct nm_scene *scene = malloc(sizeof *scene);
    struct nm_camera camera = {.width = GOLDEN_W,
                               .height = GOLDEN_H,
                               .fx = 120,
                               .fy = 120,
                               .cx = 79.5,
                               .cy = 59.5,
                               .lens = NM_BROWN_CONRADY,
                               .k = {-0.12, 0.02, 0, 0, 0}};
    uint8_t rgb[GOLDEN_W * GOLDEN_H * 3];
    nm_camera_ready(&camera);
    load_pitch(&pitch, "kid");
    nm_scene_new(scene, &pitch, 1);
    nm_scene_ball(scene, (struct pose3){QUAT_IDENTITY, {0.3, 0.1, pitch.ball_radius}});
    const struct nm_body *body = load_robot(&arena, "kid70");
    const struct pose2 places[3] = {{1, 0.4, 3}, {2, -0.8, 2.5}, {4.2, 0, 3.1}};
    for (uint32_t i = 0; i < 3; i++) {
        double q[NM_JOINTS];
        struct nm_kin kin;
        struct nm_shirt shirt = {.number = i + 1};
        nm_shirt_colour(i == 1 ? "red" : "blue", shirt.colour);
        nm_stance(body, 0.05, q);
        double z = nm_standing_height(body, QUAT_IDENTITY, q);
        nm_forward(body, (struct pose3){quat_rpy(0, 0, places[i].theta), {places[i].x, places[i].y, z}}, q, &kin);
        nm_scene_robot(scene, i, body, &kin, &shirt);
    }
    struct nm_eye *eye = nm_eye_new(&arena, nm_lens_map_new(&arena, &camera, NULL));
    nm_cast(eye, scene, camera_at(-1, 0, 0.55, 0.05, 0.15));
    nm_develop(eye, &NM_SHUTTER_PLAIN, 1, NM_RGB8, rgb);
    memset(blocks, 0, BLOCKS * sizeof *blocks);
    for (int y = 0; y < GOLDEN_H; y++)
        for (int x = 0; x < GOLDEN_W * 3; x++)
            blocks[(y / 8 * (GOLDEN_W / 8) + x / 3 / 8) * 3 + x % 3] += rgb[y * GOLDEN_W * 3 + x];
    for (int i = 0; i < BLOCKS; i++) blocks[i] /= 64;
    free(scene);
    nm_arena_free(&arena);
}

/* Means of 8 x 8 pixels, against a picture that was looked at. After a wanted change: look at `nutmeg snapshot`, then
 * run this test with NM_GOLDEN_WRITE=1. */
static void the_picture_looks_as_it_did(void **state)
{
    static const char path[] = NM_ROOT "/tests/sim/golden_picture.txt";
    int blocks[BLOCKS], off = 0;
    (void)state;
    golden_blocks(blocks);
    if (getenv("NM_GOLDEN_WRITE")) {
        FILE *to = fopen(path, "w");
        assert_non_null(to);
        for (int i = 0; i < BLOCKS; i++) fprintf(to, "%d%c", blocks[i], i % 30 == 29 ? '\n' : ' ');
        fclose(to);
    }
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    for (int i = 0; i < BLOCKS; i++) {
        int wanted;
        assert_int_equal(fscanf(from, "%d", &wanted), 1);
        off += abs(wanted - blocks[i]) > 6;
    }
    fclose(from);
    assert_true(off < BLOCKS / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pixel_shows_what_its_ray_meets_first),
        cmocka_unit_test(lines_are_painted_where_the_rules_put_them),
        cmocka_unit_test(the_ball_is_as_large_as_the_camera_model_says),
        cmocka_unit_test(pixels_beyond_the_lens_are_black),
        cmocka_unit_test(the_same_scene_gives_the_same_bits),
        cmocka_unit_test(the_picture_looks_as_it_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
