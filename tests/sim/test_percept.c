/* Percepts against closed forms: distance errors, shares and runs of misses, rates of false ones, and against geometry:
 * what is outside the picture or behind somebody is not seen. */
#include "sim/eyes.h"

static const struct nm_percept *find(const struct nm_percept *list, uint32_t n, enum nm_percept_kind kind,
                                     int32_t truth)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i].kind == kind && list[i].truth == truth) return &list[i];
    return NULL;
}

static void a_faultless_eye_sees_exactly_what_is_in_the_picture(void **state)
{
    struct nm_percept_params params = faultless();
    struct nm_percept list[NM_PERCEPTS];
    (void)state;
    for (double theta = -3; theta < 3; theta += 0.37) {
        struct nm_perceiver eyes;
        struct nm_percept_view v = view_from(-1, 0.7, theta, 0.6, 0.25);
        v.ball = (struct vec3){-1 + 1.5 * cos(theta + 0.1), 0.7 + 1.5 * sin(theta + 0.1), pitch.ball_radius};
        nm_perceiver_new(&eyes, 1, 0);
        uint32_t n = nm_perceive(&eyes, &params, &v, list);
        struct pose2 back = pose2_inv(v.robot_to_field);
        for (uint32_t i = 0; i < pitch.n_crossings; i++) {
            struct vec3 at = {pitch.crossings[i].x, pitch.crossings[i].y, 0};
            static const enum nm_percept_kind kinds[] = {NM_PERCEPT_L, NM_PERCEPT_T, NM_PERCEPT_X};
            const struct nm_percept *p = find(list, n, kinds[pitch.crossings[i].kind], (int32_t)i);
            struct pixel pixel;
            bool inside =
                nm_camera_from_world(&camera, v.camera_to_field, at, &pixel) && nm_camera_sees(&camera, pixel);
            if (!inside) assert_null(p);
            if (!p) continue;
            struct pose2 there = pose2_mul(back, (struct pose2){at.x, at.y, 0});
            assert_near(p->x, there.x, 1e-6);
            assert_near(p->y, there.y, 1e-6);
        }
        const struct nm_percept *ball = find(list, n, NM_PERCEPT_BALL, 0);
        assert_non_null(ball);
        assert_near(ball->x, 1.5 * cos(0.1), 1e-6);
        assert_near(ball->y, 1.5 * sin(0.1), 1e-6);
    }
}

/* d = h / tan(a), so an error of the tilt moves the point by (d^2 + h^2) / h for each radian, and one of v pixels by as
 * much through the angle of a pixel. */
static void distance_errors_follow_the_cameras_tilt(void **state)
{
    struct nm_percept list[NM_PERCEPTS];
    (void)state;
    for (double d = 0.6; d < 3.5; d += 0.9)
        for (int cause = 0; cause < 3; cause++) {
            struct nm_percept_params params = faultless();
            double h = 0.6 - pitch.ball_radius, tilt = atan2(h, d), sum = 0, square = 0, stated = 0, side = 0;
            const int count = 4000;
            if (cause == 0) params.tilt_noise = 0.004;
            if (cause == 1) params.tilt_drift = 0.004;
            if (cause == 2) params.pixel_noise = 2;
            params.tilt_time = 0.001; /* every image anew, for statistics' sake */
            struct nm_perceiver eyes;
            nm_perceiver_new(&eyes, 5, 0);
            struct nm_percept_view v = view_from(0, 0, 0, 0.6, tilt);
            v.ball = (struct vec3){d, 0, pitch.ball_radius};
            for (int i = 0; i < count; i++) {
                v.time += 33000000;
                uint32_t n = nm_perceive(&eyes, &params, &v, list);
                const struct nm_percept *p = find(list, n, NM_PERCEPT_BALL, 0);
                assert_non_null(p);
                double e = p->x - d;
                sum += e;
                square += e * e;
                side += p->y * p->y;
                stated += p->xx / count;
            }
            double per_rad = (d * d + h * h) / h, sigma = per_rad * (cause < 2 ? 0.004 : 2 / camera.fx);
            assert_near(sqrt(square / count), sigma, 0.06 * sigma);
            assert_near(sum / count, 0, 0.08 * sigma);
            assert_near(sqrt(stated), sigma, 0.1 * sigma); /* and the stated covariance is honest */
            if (cause == 2)
                assert_near(sqrt(side / count), 2 / camera.fx * hypot(d, h), 0.06 * 2 / camera.fx * hypot(d, h));
        }
}

/* All percepts of an image share the tilt's error, and it stays for its time. */
static void errors_are_shared_in_an_image_and_last(void **state)
{
    struct nm_percept_params params = faultless();
    struct nm_percept list[NM_PERCEPTS];
    struct nm_perceiver eyes;
    (void)state;
    params.tilt_drift = 0.01;
    params.tilt_time = 0.5;
    nm_perceiver_new(&eyes, 9, 0);
    struct nm_percept_view v = view_from(2.2, 0, 0, 0.6, 0.25);
    v.ball = (struct vec3){3.7, 0, pitch.ball_radius};
    double last = 0, product = 0, square = 0, cross = 0, mark_square = 0;
    const int count = 20000;
    for (int i = 0; i < count; i++) {
        v.time += 100000000;
        uint32_t n = nm_perceive(&eyes, &params, &v, list);
        const struct nm_percept *ball = find(list, n, NM_PERCEPT_BALL, 0), *mark = find(list, n, NM_PERCEPT_MARK, 0);
        assert_non_null(ball);
        assert_non_null(mark);
        double e = ball->x - 1.5, m = mark->x - (pitch.spots[0].x - 2.2);
        product += e * last;
        square += e * e;
        cross += e * m;
        mark_square += m * m;
        last = e;
    }
    assert_near(product / square, exp(-0.1 / 0.5), 0.03);
    assert_true(cross / sqrt(square * mark_square) > 0.98);
}

static void misses_have_their_share_and_come_in_runs(void **state)
{
    struct nm_percept_params params = faultless();
    struct nm_percept list[NM_PERCEPTS];
    (void)state;
    params.habits[NM_PERCEPT_BALL] = (struct nm_percept_habit){.missed = 0.2, .range = 3, .fade = 0.5};
    params.miss_time = 0.3;
    for (double d = 1; d < 4.5; d += 1) {
        struct nm_perceiver eyes;
        struct nm_percept_view v = view_from(-2, 0, 0, 0.6, atan2(0.5, d));
        v.ball = (struct vec3){-2 + d, 0, pitch.ball_radius};
        nm_perceiver_new(&eyes, (uint64_t)(100 * d), 0);
        double chance = 1 - 0.8 / (1 + exp((d - 3) / 0.5)), missed = 0, both = 0;
        bool before = false;
        const int count = 30000;
        for (int i = 0; i < count; i++) {
            v.time += 50000000;
            uint32_t n = nm_perceive(&eyes, &params, &v, list);
            bool miss = !find(list, n, NM_PERCEPT_BALL, 0);
            missed += miss;
            both += miss && before;
            before = miss;
        }
        double keep = exp(-0.05 / 0.3), again = keep + (1 - keep) * chance;
        assert_near(missed / count, chance, 0.02);
        assert_near(both / missed, again, 0.03);
        assert_near(nm_percept_missed(&params.habits[NM_PERCEPT_BALL], d), chance, 1e-12);
    }
}

static void false_ones_come_at_their_rate_and_stay_their_time(void **state)
{
    struct nm_percept_params params = faultless();
    struct nm_percept list[NM_PERCEPTS];
    struct nm_perceiver eyes;
    (void)state;
    params.habits[NM_PERCEPT_BALL].flickers = 0.05;
    params.habits[NM_PERCEPT_ROBOT].ghosts = 0.2;
    params.ghost_time = 1.2;
    nm_perceiver_new(&eyes, 4, 0);
    struct nm_percept_view v = view_from(0, 0, 0, 0.6, 0.8); /* nothing but carpet in the picture */
    double flickers = 0, ghosts = 0;
    const int count = 40000;
    for (int i = 0; i < count; i++) {
        v.time += 40000000;
        uint32_t n = nm_perceive(&eyes, &params, &v, list);
        for (uint32_t k = 0; k < n; k++) {
            assert_int_equal(list[k].truth < 0 ? -1 : 0,
                             list[k].kind == NM_PERCEPT_BALL || list[k].kind == NM_PERCEPT_ROBOT ? -1 : 0);
            flickers += list[k].kind == NM_PERCEPT_BALL;
            ghosts += list[k].kind == NM_PERCEPT_ROBOT;
        }
    }
    assert_near(flickers / count, 0.05, 0.004);
    /* in the mean, rate times life are alive, seen from the image in which they are born to the last before they die */
    assert_near(ghosts / count, 0.2 * (1.2 + 0.02), 0.03);
}

static void somebody_in_the_way_hides_what_is_behind(void **state)
{
    struct nm_percept_params params = faultless();
    struct nm_percept list[NM_PERCEPTS];
    struct nm_perceiver eyes;
    (void)state;
    nm_perceiver_new(&eyes, 1, 0);
    struct nm_percept_view v = view_from(0, 0, 0, 0.5, 0.2);
    v.ball = (struct vec3){2, 0, pitch.ball_radius};
    v.n = 3;
    v.robots[1] = (struct nm_percept_robot){true, 1, 0, 0.12, 0.7};
    uint32_t n = nm_perceive(&eyes, &params, &v, list);
    assert_null(find(list, n, NM_PERCEPT_BALL, 0));
    assert_non_null(find(list, n, NM_PERCEPT_ROBOT, 1));
    v.robots[1].height = 0.05; /* it lies: one looks over it */
    n = nm_perceive(&eyes, &params, &v, list);
    assert_non_null(find(list, n, NM_PERCEPT_BALL, 0));
    v.robots[1] = (struct nm_percept_robot){true, 1, 0.3, 0.12, 0.7}; /* beside */
    n = nm_perceive(&eyes, &params, &v, list);
    assert_non_null(find(list, n, NM_PERCEPT_BALL, 0));
    v.robots[1].y = 0;
    v.robots[1].present = false;
    v.robots[2] = (struct nm_percept_robot){true, 3, 0, 0.12, 0.7}; /* behind */
    n = nm_perceive(&eyes, &params, &v, list);
    assert_non_null(find(list, n, NM_PERCEPT_BALL, 0));
    /* half of it shows past an edge */
    v.robots[1] = (struct nm_percept_robot){true, 1, 0.14, 0.12, 0.7};
    double half = nm_percept_visible(&v, v.ball, pitch.ball_radius);
    assert_true(half > 0.2 && half < 1);
}

static void the_same_seed_sees_the_same(void **state)
{
    struct nm_percept one[NM_PERCEPTS], two[NM_PERCEPTS];
    struct nm_perceiver a, b;
    (void)state;
    memset(one, 0, sizeof one);
    memset(two, 0, sizeof two);
    nm_perceiver_new(&a, 3, 2);
    nm_perceiver_new(&b, 3, 2);
    struct nm_percept_view v = view_from(1, 0.5, 0.3, 0.6, 0.3);
    v.ball = (struct vec3){2, 0.7, pitch.ball_radius};
    for (int i = 0; i < 200; i++) {
        v.time += 33000000;
        uint32_t n = nm_perceive(&a, &nm_percept_params, &v, one);
        assert_int_equal(nm_perceive(&b, &nm_percept_params, &v, two), n);
        assert_memory_equal(one, two, n * sizeof *one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_faultless_eye_sees_exactly_what_is_in_the_picture),
        cmocka_unit_test(distance_errors_follow_the_cameras_tilt),
        cmocka_unit_test(errors_are_shared_in_an_image_and_last),
        cmocka_unit_test(misses_have_their_share_and_come_in_runs),
        cmocka_unit_test(false_ones_come_at_their_rate_and_stay_their_time),
        cmocka_unit_test(somebody_in_the_way_hides_what_is_behind),
        cmocka_unit_test(the_same_seed_sees_the_same),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
