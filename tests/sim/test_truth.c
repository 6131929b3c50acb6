/* Ground truth of a picture: boxes hold exactly the pixels of a thing, hidden things are not seen, lines lie on paint.
 */
#include "sim/sim_help.h"

#include "sim/truth.h"

struct fixture {
    struct nm_arena arena;
    struct nm_pitch pitch;
    struct nm_scene scene;
    struct nm_eye *eye;
    struct nm_picture_truth truth;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct nm_camera camera = {.width = 320,
                               .height = 240,
                               .fx = 240,
                               .fy = 240,
                               .cx = 159.5,
                               .cy = 119.5,
                               .lens = NM_BROWN_CONRADY,
                               .k = {-0.15, 0.02, 0, 0, 0}};
    nm_camera_ready(&camera);
    load_pitch(&f->pitch, "kid");
    nm_scene_new(&f->scene, &f->pitch, 1);
    f->eye = nm_eye_new(&f->arena, nm_lens_map_new(&f->arena, &camera, NULL));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    nm_arena_free(&f->arena);
    free(f);
    return 0;
}

static void add_robot(struct fixture *f, uint32_t index, double x, double y)
{
    const struct nm_body *body = load_robot(&f->arena, "kid70");
    double q[NM_JOINTS];
    struct nm_kin kin;
    struct nm_shirt shirt = {{0.1f, 0.2f, 0.8f}, 1};
    nm_stance(body, 0.05, q);
    double z = nm_standing_height(body, QUAT_IDENTITY, q);
    nm_forward(body, (struct pose3){quat_rpy(0, 0, 3), {x, y, z}}, q, &kin);
    nm_scene_robot(&f->scene, index, body, &kin, &shirt);
}

static void shoot(struct fixture *f, double x, double y, double tilt)
{
    struct quat optical = quat_rpy(-M_PI / 2, 0, -M_PI / 2);
    nm_cast(f->eye, &f->scene, (struct pose3){quat_mul(quat_rpy(0, tilt, 0), optical), {x, y, 0.6}});
    nm_picture_truth(f->eye, &f->scene, &f->truth);
}

static uint8_t thing_at(const struct fixture *f, int32_t x, int32_t y)
{
    return f->eye->things[(uint32_t)y * f->eye->lens->stride + (uint32_t)x];
}

/* Against a plain count over the whole picture. */
static void check_box(const struct fixture *f, const struct nm_seen *seen, uint8_t thing)
{
    uint32_t pixels = 0;
    int32_t x0 = INT32_MAX, y0 = INT32_MAX, x1 = 0, y1 = 0;
    for (int32_t y = 0; y < 240; y++)
        for (int32_t x = 0; x < 320; x++) {
            if (thing_at(f, x, y) != thing) continue;
            pixels++;
            if (x < x0) x0 = x;
            if (y < y0) y0 = y;
            if (x >= x1) x1 = x + 1;
            if (y >= y1) y1 = y + 1;
        }
    assert_int_equal(seen->pixels, pixels);
    if (!pixels) return;
    assert_int_equal(seen->x0, x0);
    assert_int_equal(seen->y0, y0);
    assert_int_equal(seen->x1, x1);
    assert_int_equal(seen->y1, y1);
}

static void boxes_hold_exactly_what_is_seen(void **state)
{
    struct fixture *f = *state;
    nm_scene_clear(&f->scene);
    nm_scene_ball(&f->scene, (struct pose3){QUAT_IDENTITY, {2.2, 0.3, f->pitch.ball_radius}});
    add_robot(f, 3, 3, -0.3);
    add_robot(f, 9, 3.5, 0.9);
    shoot(f, 1, 0, 0.2);
    check_box(f, &f->truth.ball, NM_THING_BALL);
    for (uint32_t i = 0; i < NM_PLAYERS; i++) check_box(f, &f->truth.robots[i], (uint8_t)(NM_THING_ROBOT + i));
    for (uint32_t i = 0; i < NM_PITCH_POSTS; i++) check_box(f, &f->truth.posts[i], (uint8_t)(NM_THING_POST + i));
    assert_true(f->truth.ball.pixels > 50 && f->truth.robots[3].pixels > 500 && f->truth.robots[9].pixels > 200);
    assert_true(f->truth.posts[2].pixels > 50 && f->truth.posts[3].pixels > 50);
    assert_int_equal(f->truth.posts[0].pixels, 0);
    /* the ball is whole: its centre is the box's, and its area that of its radius */
    const struct nm_seen *ball = &f->truth.ball;
    assert_near(ball->centre.u, (ball->x0 + ball->x1 - 1) / 2.0, 1);
    assert_near(ball->centre.v, (ball->y0 + ball->y1 - 1) / 2.0, 1);
    assert_near(M_PI * f->truth.ball_radius * f->truth.ball_radius, ball->pixels, 0.08 * ball->pixels);
}

static void a_ball_behind_a_robot_is_not_seen(void **state)
{
    struct fixture *f = *state;
    nm_scene_clear(&f->scene);
    nm_scene_ball(&f->scene, (struct pose3){QUAT_IDENTITY, {0.55, 0, f->pitch.ball_radius}});
    shoot(f, 0, 0, 0.6);
    uint32_t whole = f->truth.ball.pixels;
    assert_true(whole > 500);
    add_robot(f, 0, 0.4, 0.046); /* one leg before it */
    shoot(f, 0, 0, 0.6);
    assert_true(f->truth.ball.pixels < whole / 2);
    assert_true(f->truth.ball.centre_known);
}

static void lines_and_crossings_lie_on_paint(void **state)
{
    struct fixture *f = *state;
    nm_scene_clear(&f->scene);
    add_robot(f, 0, 3, -0.2);
    shoot(f, 1, 0.2, 0.25);
    assert_true(f->truth.n_lines > 8);
    for (uint32_t i = 0; i < f->truth.n_lines; i++) {
        const struct nm_seen_line *l = &f->truth.lines[i];
        for (double s = 0; s <= 1; s += 0.5) {
            struct pixel p = {l->from.u + s * (l->to.u - l->from.u), l->from.v + s * (l->to.v - l->from.v)};
            struct vec3 ground;
            assert_true(nm_camera_to_ground(&f->eye->lens->camera, f->eye->to_field, p, 0, &ground));
            double slack = 0.01 + 0.004 * hypot(ground.x - 1, ground.y); /* a chord of a bent line */
            bool near = false;
            for (int k = 0; k < 8; k++)
                near |= nm_pitch_painted(&f->pitch, ground.x + slack * cos(k), ground.y + slack * sin(k));
            assert_true(near);
        }
    }
    assert_true(f->truth.n_points >= 4);
    for (uint32_t i = 0; i < f->truth.n_points; i++) {
        struct pixel p = f->truth.points[i].at;
        uint8_t thing = thing_at(f, (int32_t)lrint(p.u), (int32_t)lrint(p.v));
        assert_true(thing == NM_THING_LINE || thing == NM_THING_GRASS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_hold_exactly_what_is_seen),
        cmocka_unit_test(a_ball_behind_a_robot_is_not_seen),
        cmocka_unit_test(lines_and_crossings_lie_on_paint),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
