/* Pieces of lines: a faultless eye reports them where the paint is and only where the picture shows it; far lines are
 * missed; somebody in the way cuts them; and whoever asks for lines sees the same other things as before. */
#include "sim/eyes.h"

static uint32_t look(struct nm_perceiver *eyes, const struct nm_percept_params *params,
                     const struct nm_percept_view *view, struct nm_segment *segments)
{
    struct nm_percept others[NM_PERCEPTS];
    nm_perceive(eyes, params, view, others);
    return nm_perceive_lines(eyes, params, view, segments);
}

static bool painted(double x, double y, struct pose2 robot)
{
    struct pose2 at = pose2_mul(robot, (struct pose2){x, y, 0});
    return nm_pitch_painted(&pitch, at.x, at.y);
}

static void a_faultless_eye_finds_paint_and_nothing_else(void **state)
{
    struct nm_percept_params params = faultless();
    struct nm_segment found[NM_PITCH_LINES];
    uint32_t all = 0;
    (void)state;
    for (double theta = -3; theta < 3; theta += 0.29) {
        struct nm_perceiver eyes;
        struct nm_percept_view v = view_from(-1, 0.7, theta, 0.6, 0.3);
        nm_perceiver_new(&eyes, 1, 0);
        uint32_t n = look(&eyes, &params, &v, found);
        all += n;
        for (uint32_t i = 0; i < n; i++) {
            assert_true(nm_camera_sees(&camera, found[i].from) && nm_camera_sees(&camera, found[i].to));
            for (double k = 0; k <= 1; k += 0.125)
                assert_true(painted(found[i].x0 + k * (found[i].x1 - found[i].x0),
                                    found[i].y0 + k * (found[i].y1 - found[i].y0), v.robot_to_field));
        }
    }
    assert_true(all > 20);
}

static void far_lines_are_missed(void **state)
{
    struct nm_segment found[NM_PITCH_LINES];
    struct nm_perceiver eyes;
    struct nm_percept_view v = view_from(-4, 0, 0, 0.6, 0.1); /* along the whole field */
    int looks = 400;
    double farthest = 0;
    (void)state;
    nm_perceiver_new(&eyes, 5, 0);
    for (int i = 0; i < looks; i++) {
        v.time += 33000000;
        uint32_t n = look(&eyes, &nm_percept_params, &v, found);
        for (uint32_t k = 0; k < n; k++) farthest = fmax(farthest, fmax(found[k].x0, found[k].x1));
    }
    assert_true(farthest > 2 && farthest < 8.5); /* the other goal line is 8.5 m away */
}

static void somebody_in_the_way_cuts_a_line(void **state)
{
    struct nm_percept_params params = faultless();
    struct nm_segment clear[NM_PITCH_LINES], cut[NM_PITCH_LINES];
    struct nm_percept_view v = view_from(-1.5, 0, 0, 0.6, 0.4);
    double before = 0, behind = 0;
    (void)state;
    struct nm_perceiver eyes;
    nm_perceiver_new(&eyes, 1, 0);
    uint32_t n = look(&eyes, &params, &v, clear);
    for (uint32_t i = 0; i < n; i++) before += hypot(clear[i].x1 - clear[i].x0, clear[i].y1 - clear[i].y0);
    v.n = 2;
    v.robots[1] = (struct nm_percept_robot){true, -0.9, 0, 0.2, 0.7};
    nm_perceiver_new(&eyes, 1, 0);
    n = look(&eyes, &params, &v, cut);
    for (uint32_t i = 0; i < n; i++) behind += hypot(cut[i].x1 - cut[i].x0, cut[i].y1 - cut[i].y0);
    assert_true(before > 1 && behind < before - 0.3);
}

static void lines_change_nothing_else(void **state)
{
    struct nm_percept with[NM_PERCEPTS], without[NM_PERCEPTS];
    struct nm_segment found[NM_PITCH_LINES];
    struct nm_perceiver one, other;
    struct nm_percept_view v = view_from(-1, 0.7, 0.4, 0.6, 0.3);
    (void)state;
    nm_perceiver_new(&one, 9, 2);
    nm_perceiver_new(&other, 9, 2);
    for (int i = 0; i < 50; i++) {
        v.time += 33000000;
        uint32_t n = nm_perceive(&one, &nm_percept_params, &v, with);
        nm_perceive_lines(&one, &nm_percept_params, &v, found);
        assert_int_equal(nm_perceive(&other, &nm_percept_params, &v, without), n);
        assert_memory_equal(with, without, n * sizeof *with);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_faultless_eye_finds_paint_and_nothing_else),
        cmocka_unit_test(far_lines_are_missed),
        cmocka_unit_test(somebody_in_the_way_cuts_a_line),
        cmocka_unit_test(lines_change_nothing_else),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
