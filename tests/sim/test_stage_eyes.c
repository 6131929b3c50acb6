/* What a robot on the stage sees: pictures when somebody looks, stamped and late as a camera's are, or percepts near
 * the truth. */
#include "theatre.h"

#include "sim/stage_parts.h"

static void pictures_come_stamped_and_late(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "viewer"), -1, 0),
                                      robot("mate", KID, NULL, 0.5, 0.3)};
    struct nm_stage *stage = play(&t, robots, 2);
    nm_stage_put_ball(stage, (struct vec3){0.2, -0.2, 0}, (struct vec3){0, 0, 0});
    run(stage, 1);
    const struct notes *n = &notes[0];
    assert_in_range((uint64_t)n->pictures_n, 27, 30); /* 30 a second, the last one is on its way */
    assert_int_equal(n->width, 644);
    assert_int_equal(n->height, 482);
    assert_int_equal(n->step, 2 * 644);
    assert_int_equal(n->bytes, 2 * 644 * 482);
    assert_string_equal(n->encoding, "yuv422_yuy2");
    assert_in_range((uint64_t)(n->arrived - n->exposed), 20000000, 20000000 + 4000000 + 8000000);
    assert_near(n->info.k[0], 482, 1e-9);
    assert_string_equal(n->info.distortion_model, "plumb_bob");
    uint32_t kinds[16] = {0};
    for (uint32_t i = 0; i < n->shown.objects.n; i++) kinds[n->shown.objects.at[i].kind & 15]++;
    assert_int_equal(kinds[Percept_BALL], 1);
    assert_int_equal(kinds[Percept_MATE], 1);
    assert_int_equal(kinds[Percept_RIVAL], 0);
    assert_true(n->shown.lines.n > 3);
    for (uint32_t i = 0; i < n->shown.lines.n; i++) assert_true(n->shown.lines.at[i].width > 0.3f);
    close_theatre(&t, stage);
}

static void nobody_looks_nothing_is_drawn(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "witness"), -1, 0)};
    struct nm_stage *stage = play(&t, robots, 1);
    assert_int_equal(stage->n_lookouts, 0);
    close_theatre(&t, stage);
}

static void percepts_are_near_the_truth(void **state)
{
    (void)state;
    struct theatre t;
    open_theatre(&t);
    t.options.fidelity = NM_FIDELITY_PERCEPT;
    struct nm_stage_robot robots[] = {robot("kid", KID, lineup(&t, "seer"), -1, 0)};
    robots[0].team = 1; /* percepts are the robot's own: its team does not turn them */
    struct nm_stage *stage = play(&t, robots, 1);
    nm_stage_put_ball(stage, (struct vec3){0.3, 0.2, 0}, (struct vec3){0, 0, 0});
    double sum = 0;
    uint32_t seen = 0;
    for (int i = 0; i < 100; i++) {
        run(stage, 0.04);
        if (notes[0].ball.confidence < 0.5f) continue;
        sum += hypot(notes[0].ball.ball_relative.x - 1.3, notes[0].ball.ball_relative.y - 0.2);
        seen++;
    }
    assert_true(seen > 50);
    assert_true(sum / seen < 0.25);
    assert_in_range((uint64_t)notes[0].percepts_n, 110, 125);
    assert_string_equal(notes[0].percepts.header.frame_id, "base_footprint");
    assert_true(notes[0].percepts.percepts.n > 1); /* lines and the circle, too */
    close_theatre(&t, stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_come_stamped_and_late),
        cmocka_unit_test(nobody_looks_nothing_is_drawn),
        cmocka_unit_test(percepts_are_near_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
