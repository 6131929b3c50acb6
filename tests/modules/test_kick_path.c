/* The way of a kick: it begins and ends where the robot stands, at rest; the toe meets the ball along the direction
 * asked for; and it moves with the ball. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "modules/motion/kick_path.h"

static struct kick_path_params usual(void)
{
    struct kick_path_params p;
#define X(name, value, least, most, unit, power, about) p.name = value;
    KICK_PATH_PARAMS(X)
#undef X
    return p;
}

static struct kick_start start_at(double side, double x, double y, double direction)
{
    return (struct kick_start){.side = side,
                               .leg = 0.28,
                               .over_leg = 0.06,
                               .toe = {0.094, side * 0.0055, 0},
                               .foot = {0.002, side * 0.1, side * 0.01},
                               .hips = 0.31,
                               .lean = 0.01,
                               .turn = -0.004,
                               .ball_x = x,
                               .ball_y = side * y,
                               .direction = side * direction};
}

/* Balls and directions all over the reach, with either foot. */
#define FOR_EACH_START(s)                                                                                              \
    for (int i_ = 0; i_ < 2 * 3 * 3 * 5; i_++)                                                                         \
        for (struct kick_start s = start_at(i_ & 1 ? 1 : -1, 0.15 + 0.05 * (i_ / 2 % 3), 0.06 + 0.04 * (i_ / 6 % 3),   \
                                            -0.5 + 0.25 * (i_ / 18)),                                                  \
                               *once_ = &s;                                                                            \
             once_; once_ = NULL)

static void assert_close(double a, double b, double eps)
{
    if (!(fabs(a - b) <= eps)) fail_msg("%.9g is not %.9g", a, b);
}

static void it_begins_and_ends_at_rest_where_the_robot_stands(void **state)
{
    (void)state;
    struct kick_path_params p = usual();
    FOR_EACH_START(s)
    {
        struct kick_path path;
        double at[2][KICK_TRACKS], speed[2][KICK_TRACKS];
        kick_path_make(&path, &p, &s);
        kick_path_at(&path, 0, at[0], speed[0]);
        kick_path_at(&path, kick_path_time(&path), at[1], speed[1]);
        for (int k = 0; k < 2; k++) {
            const double stands[KICK_TRACKS] = {s.foot.x, s.foot.y, 0,      0,      s.foot.theta,
                                                s.hips,   s.roll,   s.lean, s.turn, 0};
            for (int i = 0; i < KICK_TRACKS; i++) {
                assert_close(at[k][i], stands[i], 1e-12);
                assert_close(speed[k][i], 0, 1e-9);
            }
        }
        kick_path_at(&path, -1, at[0], NULL);
        kick_path_at(&path, 100, at[1], NULL);
        for (int i = 0; i < KICK_TRACKS; i++) assert_close(at[0][i], at[1][i], 1e-12);
    }
}

static void its_speed_is_the_slope_of_its_place_without_a_jump(void **state)
{
    (void)state;
    struct kick_path_params p = usual();
    struct kick_start s = start_at(-1, 0.2, 0.1, 0.3);
    struct kick_path path;
    double h = 1e-5, before[KICK_TRACKS];
    kick_path_make(&path, &p, &s);
    kick_path_at(&path, 0, before, NULL);
    for (double t = 0; t < kick_path_time(&path); t += 0.003) {
        double a[KICK_TRACKS], b[KICK_TRACKS], at[KICK_TRACKS], speed[KICK_TRACKS];
        kick_path_at(&path, t - h, a, NULL);
        kick_path_at(&path, t + h, b, NULL);
        kick_path_at(&path, t, at, speed);
        for (int i = 0; i < KICK_TRACKS; i++) {
            if (t > h) assert_close((b[i] - a[i]) / (2 * h), speed[i], 1e-3);
            assert_close(at[i], before[i], 0.03);
            before[i] = at[i];
        }
    }
}

/* The surface of the ball, as the toe meets it. */
static void the_toe_meets_the_ball_along_the_direction(void **state)
{
    (void)state;
    struct kick_path_params p = usual();
    p.aim = p.aim_oblique = p.aim_beside = p.aim_near = 0; /* a robot that does not turn while it kicks */
    p.nearest = -1;                                        /* nor has a leg in the way                  */
    p.widest = 1;
    FOR_EACH_START(s)
    {
        struct kick_path path;
        double at[KICK_TRACKS], speed[KICK_TRACKS];
        kick_path_make(&path, &p, &s);
        kick_path_at(&path, path.contact, at, speed);
        assert_close(at[KICK_YAW], s.direction, 1e-9);
        /* the foot's pitch is on its way from back to hit, so the toe is where it would be at the hit within that */
        struct vec3 toe =
            vec3_add(quat_apply(quat_rpy(0, p.toe_hit, at[KICK_YAW]), s.toe), (struct vec3){at[KICK_X], at[KICK_Y], 0});
        assert_close(toe.x, s.ball_x - p.ball_radius * cos(s.direction), 1e-6);
        assert_close(toe.y, s.ball_y - p.ball_radius * sin(s.direction), 1e-6);
        assert_close(atan2(speed[KICK_Y], speed[KICK_X]), s.direction, 1e-6);
        assert_true(path.contact > path.t[KICK_BACK] && path.contact <= path.t[KICK_HIT]);
        /* and it is fastest behind it, as fast as asked for */
        kick_path_at(&path, path.t[KICK_HIT], at, speed);
        assert_close(hypot(speed[KICK_X], speed[KICK_Y]), p.speed, 1e-9);
    }
}

/* A pass: the same with the middle of the inner side, across the foot. */
static void the_inner_side_meets_the_ball_across_the_foot(void **state)
{
    (void)state;
    struct kick_path_params p = usual();
    p.pass_aim = p.pass_aim_aside = p.pass_aim_beside = p.pass_aim_near = 0;
    p.nearest = -1;
    p.pass_widest = 1;
    for (int i = 0; i < 2 * 5; i++) {
        double side = i & 1 ? 1 : -1, inwards = (50 + 10 * (i / 2)) * M_PI / 180;
        struct kick_start s = start_at(side, 0.2, 0.1, -inwards);
        struct kick_path path;
        double at[KICK_TRACKS], speed[KICK_TRACKS];
        s.surface = KICK_PASS_INWARDS;
        s.inner = 0.04;
        kick_path_make(&path, &p, &s);
        kick_path_at(&path, path.contact, at, speed);
        assert_close(atan2(speed[KICK_Y], speed[KICK_X]), s.direction, 1e-6);
        assert_close(at[KICK_YAW], side * (M_PI / 2 - inwards), 1e-9); /* the toe points outwards */
        assert_close(at[KICK_TOE], 0, 1e-9);
        /* where the ball is met, seen from the sole: on its inner edge, between ankle and toe */
        struct vec3 met = {s.ball_x - p.ball_radius * cos(s.direction) - at[KICK_X],
                           s.ball_y - p.ball_radius * sin(s.direction) - at[KICK_Y], 0};
        met = quat_apply(quat_inv(quat_rpy(0, 0, at[KICK_YAW])), met);
        assert_close(met.y, -side * 0.04, 1e-6);
        assert_true(met.x > 0 && met.x < s.toe.x);
    }
}

/* What decides about the reach is what the whole way has. */
static void where_it_meets_the_ball_is_known_without_the_way(void **state)
{
    (void)state;
    struct kick_path_params p = usual();
    FOR_EACH_START(s)
    {
        struct kick_path whole, meeting;
        s.surface = i_ % 4 < 2 ? KICK_TOE_FIRST : KICK_PASS_INWARDS;
        s.inner = 0.04;
        kick_path_make(&whole, &p, &s);
        kick_path_meet(&meeting, &p, &s);
        assert_close(meeting.direction, whole.direction, 0);
        assert_close(meeting.beside, whole.beside, 0);
        assert_close(meeting.shifted, whole.shifted, 0);
        assert_close(meeting.bent, whole.bent, 1e-12);
    }
}

/* With the standing leg in the way only the back swing bends; at the hit the direction is the one asked for. */
static void the_back_swing_keeps_clear_of_the_standing_leg(void **state)
{
    (void)state;
    struct kick_path_params p = usual();
    p.aim = p.aim_oblique = p.aim_beside = p.aim_near = 0;
    FOR_EACH_START(s)
    {
        struct kick_path path;
        kick_path_make(&path, &p, &s);
        double beside = s.side * path.at[KICK_BACK][KICK_Y];
        assert_true(beside >= p.nearest - 1e-12 && beside <= p.widest + 1e-12);
        const double *speed = path.speed[KICK_HIT];
        assert_close(atan2(speed[KICK_Y], speed[KICK_X]), s.direction, 1e-9);
    }
}

static void it_moves_with_the_ball(void **state)
{
    (void)state;
    struct kick_path_params p = usual();
    p.aim_near = 0;
    struct kick_start near = start_at(-1, 0.17, 0.1, 0.1), far = near;
    far.ball_x += 0.05;
    struct kick_path a, b;
    kick_path_make(&a, &p, &near);
    kick_path_make(&b, &p, &far);
    assert_close(a.contact, b.contact, 1e-9);
    for (int k = KICK_BACK; k <= KICK_THROUGH; k++) assert_close(b.at[k][KICK_X] - a.at[k][KICK_X], 0.05, 1e-12);
    for (int k = 0; k < KICK_KNOTS; k++) assert_close(b.at[k][KICK_Y], a.at[k][KICK_Y], 1e-12);
}

static void the_other_foot_kicks_in_the_mirror(void **state)
{
    (void)state;
    static const double sign[KICK_TRACKS] = {1, -1, 1, 1, -1, 1, -1, 1, -1, 1};
    struct kick_path_params p = usual();
    struct kick_start l = start_at(1, 0.19, 0.09, 0.2), r = start_at(-1, 0.19, 0.09, 0.2);
    l.turn = r.turn = 0;
    struct kick_path a, b;
    kick_path_make(&a, &p, &l);
    kick_path_make(&b, &p, &r);
    for (double t = 0; t < kick_path_time(&a); t += 0.01) {
        double left[KICK_TRACKS], right[KICK_TRACKS];
        kick_path_at(&a, t, left, NULL);
        kick_path_at(&b, t, right, NULL);
        for (int i = 0; i < KICK_TRACKS; i++) assert_close(left[i], sign[i] * right[i], 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_and_ends_at_rest_where_the_robot_stands),
        cmocka_unit_test(its_speed_is_the_slope_of_its_place_without_a_jump),
        cmocka_unit_test(the_toe_meets_the_ball_along_the_direction),
        cmocka_unit_test(the_inner_side_meets_the_ball_across_the_foot),
        cmocka_unit_test(where_it_meets_the_ball_is_known_without_the_way),
        cmocka_unit_test(the_back_swing_keeps_clear_of_the_standing_leg),
        cmocka_unit_test(it_moves_with_the_ball),
        cmocka_unit_test(the_other_foot_kicks_in_the_mirror),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
