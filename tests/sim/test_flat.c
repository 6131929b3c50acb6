/* The flat world: rolling and walking follow their formulas, nothing passes through anything, the same seed plays the
 * same game. */
#include "sim/sim_help.h"

#include "sim/flat.h"

static struct nm_pitch pitch;

static int setup(void **state)
{
    (void)state;
    load_pitch(&pitch, "kid");
    return 0;
}

/* Without chance: formulas can be checked. */
static struct nm_flat_options exact(void)
{
    struct nm_flat_options o = NM_FLAT_OPTIONS;
    o.walk_spread = o.walk_noise = o.odometry_noise = o.kick_angle_spread = o.kick_speed_spread = 0;
    return o;
}

static void a_ball_rolls_as_far_as_its_braking_says(void **state)
{
    struct nm_flat f;
    struct nm_flat_options o = exact();
    (void)state;
    for (double speed = 0.3; speed < 3; speed += 0.4) {
        nm_flat_new(&f, &pitch, &o);
        nm_flat_put_ball(&f, (struct vec3){-4, 1.5, 0}, (struct vec3){speed * 0.8, speed * -0.6, 0});
        nm_flat_step(&f, 1500);
        double far = hypot(f.ball.x + 4, f.ball.y - 1.5);
        assert_near(far, 2.6 * speed * speed / 4, 1e-6); /* 2.6 m at 2 m/s on 30 mm of turf */
        assert_near(hypot(f.ball_velocity.x, f.ball_velocity.y), 0, 0);
    }
}

static void a_robot_speeds_up_within_its_limits_and_gets_where_it_should(void **state)
{
    struct nm_flat f;
    struct nm_flat_options o = exact();
    (void)state;
    nm_flat_new(&f, &pitch, &o);
    assert_int_equal(nm_flat_add(&f, (struct pose2){-1, -1, M_PI / 2}, 0.7, 0.55), 0);
    nm_flat_walk(&f, 0, (struct nm_walk_velocity){9, 0, NAN});
    nm_flat_step(&f, 35);
    assert_near(f.robots[0].velocity.x, 0.5 * 0.35, 1e-9); /* still speeding up */
    nm_flat_step(&f, 165);
    assert_near(f.robots[0].velocity.x, 0.35, 1e-9);
    double way = 0.35 * 2 - 0.35 * 0.35 / (2 * 0.5);
    assert_near(f.robots[0].pose.y, -1 + way, 0.003);
    assert_near(f.robots[0].pose.x, -1, 1e-9);
    assert_near(f.robots[0].odometry.x, way, 0.003);
    nm_flat_head(&f, 0, 1, 0.4);
    nm_flat_step(&f, 10);
    assert_near(f.robots[0].pan, 0.4, 1e-9); /* 4 rad/s */
    struct pose3 camera = nm_flat_camera(&f, 0);
    struct vec3 ahead = quat_apply(camera.rot, (struct vec3){0, 0, 1});
    assert_near(atan2(ahead.y, ahead.x), M_PI / 2 + f.robots[0].pan, 1e-9);
    assert_near(asin(-ahead.z), f.robots[0].tilt, 1e-9);
}

static void walking_errs_with_the_root_of_the_way(void **state)
{
    struct nm_flat_options o = NM_FLAT_OPTIONS;
    double sum = 0, square = 0;
    const int n = 400;
    (void)state;
    o.walk_spread = 0;
    for (int i = 0; i < n; i++) {
        struct nm_flat f;
        o.seed = (uint64_t)i;
        nm_flat_new(&f, &pitch, &o);
        nm_flat_add(&f, (struct pose2){-2, 1, 0}, 0.7, 0.55);
        nm_flat_walk(&f, 0, (struct nm_walk_velocity){0.25, 0, 0});
        nm_flat_step(&f, 1000);
        double way = 0.25 * 10 - 0.25 * 0.25 / (2 * 0.5), error = f.robots[0].pose.x + 2 - way;
        sum += error;
        square += error * error;
    }
    double sigma = 0.04 * sqrt(0.25 * 10);
    assert_near(sum / n, 0, 4 * sigma / sqrt(n));
    assert_near(sqrt(square / n), sigma, 0.12 * sigma);
}

static void kicks_need_the_ball_before_the_foot(void **state)
{
    struct nm_flat f;
    struct nm_flat_options o = exact();
    (void)state;
    for (int there = 0; there < 2; there++) {
        nm_flat_new(&f, &pitch, &o);
        nm_flat_add(&f, (struct pose2){-1, 0, 0}, 0.7, 0.55);
        nm_flat_put_ball(&f, (struct vec3){there ? -0.75 : -0.4, 0.03, 0}, (struct vec3){0});
        assert_true(nm_flat_kick(&f, 0, 0.3, 0.5));
        assert_false(nm_flat_kick(&f, 0, 0, 1)); /* one at a time */
        nm_flat_step(&f, 49);
        assert_near(f.ball_velocity.x, 0, 0);
        nm_flat_step(&f, 1);
        assert_int_equal(f.robots[0].kicks, there);
        if (!there) continue;
        assert_near(atan2(f.ball_velocity.y, f.ball_velocity.x), 0.3, 1e-9);
        assert_near(hypot(f.ball_velocity.x, f.ball_velocity.y), 1.2, 0.01);
        assert_int_equal(f.last_touch, 0);
    }
}

static void nothing_passes_through_anything(void **state)
{
    struct nm_flat f;
    struct nm_flat_options o = NM_FLAT_OPTIONS;
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        o.seed = seed;
        nm_flat_new(&f, &pitch, &o);
        struct nm_dice dice = nm_dice_new(seed, 1, 1);
        for (int i = 0; i < 8; i++)
            nm_flat_add(&f, (struct pose2){2 * nm_dice_both(&dice), 2 * nm_dice_both(&dice), 3 * nm_dice_both(&dice)},
                        0.7, 0.55);
        nm_flat_step(&f, 20); /* apart */
        for (int k = 0; k < 1500; k++) {
            for (uint32_t i = 0; i < 8; i++) /* all of them at the ball */
                nm_flat_walk(&f, i,
                             (struct nm_walk_velocity){
                                 0.3, 0,
                                 2 * angle_normal(atan2(f.ball.y - f.robots[i].pose.y, f.ball.x - f.robots[i].pose.x) -
                                                  f.robots[i].pose.theta)});
            if (k % 200 == 0)
                nm_flat_put_ball(&f, f.ball, (struct vec3){6 * nm_dice_both(&dice), 6 * nm_dice_both(&dice), 0});
            nm_flat_step(&f, 1);
            for (uint32_t i = 0; i < 8; i++)
                for (uint32_t j = i + 1; j < 8; j++) {
                    const struct nm_flat_robot *a = &f.robots[i], *b = &f.robots[j];
                    double apart = hypot(a->pose.x - b->pose.x, a->pose.y - b->pose.y);
                    assert_true(apart > 0.5 * o.radius); /* a crowd may press, but nobody changes sides */
                }
            assert_true(isfinite(f.ball.x + f.ball.y));
        }
        assert_true(f.robots[0].falls + f.robots[1].falls + f.robots[2].falls + f.robots[3].falls < 40);
    }
}

static void shots_end_in_the_net_or_come_off_the_post(void **state)
{
    struct nm_flat f;
    struct nm_flat_options o = exact();
    (void)state;
    for (double speed = 2; speed <= 10; speed += 2) {
        nm_flat_new(&f, &pitch, &o);
        nm_flat_put_ball(&f, (struct vec3){4, 0.4, 0}, (struct vec3){speed, 0.1 * speed, 0});
        nm_flat_step(&f, 600);
        assert_int_equal(nm_pitch_scored(&pitch, f.ball), 1);
        nm_flat_put_ball(&f, (struct vec3){4, pitch.posts[3].y, 0}, (struct vec3){speed, 0, 0});
        nm_flat_step(&f, 600);
        assert_int_equal(nm_pitch_scored(&pitch, f.ball), 0);
        assert_true(f.ball.x < pitch.length / 2);
        nm_flat_put_ball(&f, (struct vec3){4.8, 2.2, 0},
                         (struct vec3){0, -speed, 0}); /* from outside at the side net */
        nm_flat_step(&f, 600);
        assert_true(f.ball.y > pitch.goal_width / 2);
    }
}

static void who_is_pushed_hard_falls_and_gets_up(void **state)
{
    struct nm_flat f;
    struct nm_flat_options o = exact();
    (void)state;
    nm_flat_new(&f, &pitch, &o);
    nm_flat_add(&f, (struct pose2){-1, 0, 0}, 0.7, 0.55);
    nm_flat_push(&f, 0, 0, 0.2);
    assert_false(f.robots[0].fallen);
    nm_flat_push(&f, 0, 0, 2);
    assert_true(f.robots[0].fallen);
    assert_false(nm_flat_kick(&f, 0, 0, 1));
    nm_flat_step(&f, 450);
    assert_true(f.robots[0].fallen);
    nm_flat_step(&f, 300);
    assert_false(f.robots[0].fallen);
}

static void a_copy_plays_the_same_game(void **state)
{
    static struct nm_flat f, g;
    struct nm_flat_options o = NM_FLAT_OPTIONS;
    (void)state;
    nm_flat_new(&f, &pitch, &o);
    for (int i = 0; i < 4; i++) nm_flat_add(&f, (struct pose2){i - 2.0, 0.3 * i, i}, 0.7, 0.55);
    nm_flat_put_ball(&f, (struct vec3){-3, 0, 0}, (struct vec3){2, 0.1, 0});
    for (uint32_t i = 0; i < 4; i++) nm_flat_walk(&f, i, (struct nm_walk_velocity){0.3, 0, 0.3});
    nm_flat_step(&f, 100);
    g = f;
    nm_flat_step(&f, 1000);
    nm_flat_step(&g, 1000);
    assert_memory_equal(&f, &g, sizeof f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ball_rolls_as_far_as_its_braking_says),
        cmocka_unit_test(a_robot_speeds_up_within_its_limits_and_gets_where_it_should),
        cmocka_unit_test(walking_errs_with_the_root_of_the_way),
        cmocka_unit_test(kicks_need_the_ball_before_the_foot),
        cmocka_unit_test(nothing_passes_through_anything),
        cmocka_unit_test(shots_end_in_the_net_or_come_off_the_post),
        cmocka_unit_test(who_is_pushed_hard_falls_and_gets_up),
        cmocka_unit_test(a_copy_plays_the_same_game),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
