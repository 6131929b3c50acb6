/* The keeper jumps to where the ball will cross, in time, once, and lets go what goes wide or stops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/harness.h"
#include "nutmeg_msgs/BallModel.h"
#include "std_msgs/String.h"

extern const struct nm_module keeper_module;

static const double ROLLS = 0.7; /* m for each m/s */

static const char *answer(struct nm_harness *h, double x, double y, double vx, double vy)
{
    const void *const *at;
    BallModel *ball = nm_harness_set(h, "ball");
    ball->valid = true;
    ball->position = (Point){x, y, 0};
    ball->velocity = (Vector3){vx, vy, 0};
    ball->destination = (Point){x + ROLLS * vx, y + ROLLS * vy, 0};
    nm_harness_step(h, 0.01);
    return nm_harness_queue(h, "keeper_motion", &at) ? ((const String *)at[0])->data : "";
}

static void it_answers_by_where_the_ball_crosses(void **state)
{
    (void)state;
    const struct {
        double x, y, vx, vy;
        const char *motion;
    } shots[] = {
        {1.0, 0.0, -2, 0, "keeper_sit"},
        {1.0, 0.5, -2, 0, "keeper_jump_left"},
        {1.0, 0.5, -2, -2, "keeper_jump_right"}, /* crosses at -0.5 */
        {1.0, 2.0, -2, 0, ""},                   /* wide */
        {1.0, 1.0, -2, 0, ""},                   /* out of reach */
        {4.0, 0.5, -2, 0, ""},                   /* not yet */
        {1.0, 0.5, 2, 0, ""},                    /* away */
        {1.0, 0.5, -0.3, 0, ""},                 /* too slow */
    };
    for (size_t i = 0; i < sizeof shots / sizeof *shots; i++) {
        struct nm_harness *h = nm_harness_new(&keeper_module, NULL);
        assert_string_equal(answer(h, shots[i].x, shots[i].y, shots[i].vx, shots[i].vy), shots[i].motion);
        nm_harness_free(h);
    }
}

static void a_ball_that_stops_before_the_line_is_let_go(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&keeper_module, "horizon=3");
    assert_string_equal(answer(h, 1.5, 0, -2, 0), ""); /* rolls 1.4 m */
    assert_string_equal(answer(h, 1.3, 0, -2, 0), "keeper_sit");
    nm_harness_free(h);
}

static void it_does_not_answer_twice(void **state)
{
    (void)state;
    struct nm_harness *h = nm_harness_new(&keeper_module, "pause=1");
    assert_string_equal(answer(h, 1, 0.5, -2, 0), "keeper_jump_left");
    assert_string_equal(answer(h, 0.9, 0.5, -2, 0), "");
    nm_harness_step(h, 1.1);
    assert_string_equal(answer(h, 1, 0.5, -2, 0), "keeper_jump_left");
    nm_harness_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_answers_by_where_the_ball_crosses),
        cmocka_unit_test(a_ball_that_stops_before_the_line_is_let_go),
        cmocka_unit_test(it_does_not_answer_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
