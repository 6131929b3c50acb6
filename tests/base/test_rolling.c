/* A ball that rolls: it rests where it should, and is met at the first place where one can be in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/rolling.h"

struct walker {
    double x, y, speed;
};

static double walk(const void *user, struct pose2 at)
{
    const struct walker *w = user;
    return vec2_norm(at.x - w->x, at.y - w->y) / w->speed;
}

static struct nm_rolling draw(struct nm_dice *dice)
{
    const double brake = 0.3 + nm_dice_roll(dice), speed = 0.2 + 2 * nm_dice_roll(dice), to = M_PI * nm_dice_both(dice);
    return (struct nm_rolling){nm_dice_both(dice), nm_dice_both(dice), speed * cos(to), speed * sin(to),
                               speed * speed / (2 * brake)};
}

static void it_gets_slower_evenly(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 1, 1);
    for (int trial = 0; trial < 100; trial++) {
        struct nm_rolling ball = draw(&dice);
        double speed = vec2_norm(ball.vx, ball.vy), brake = speed * speed / (2 * ball.way), t = nm_rolling_lasts(&ball);
        assert_true(fabs(t - speed / brake) < 1e-9);
        double early = nm_dice_roll(&dice) * t, rolled = speed * early - brake * early * early / 2;
        struct pose2 then = nm_rolling_at(&ball, early), end = nm_rolling_at(&ball, t + 1);
        assert_true(fabs(vec2_norm(then.x - ball.x, then.y - ball.y) - rolled) < 1e-9);
        if (rolled < ball.way - 1e-6) assert_true(fabs(nm_rolling_time(rolled, speed, ball.way) - early) < 1e-5);
        assert_true(nm_rolling_time(1.01 * ball.way, speed, ball.way) == INFINITY);
        assert_true(fabs(vec2_norm(end.x - ball.x, end.y - ball.y) - ball.way) < 1e-9);
    }
    const struct nm_rolling rests = {1, 2, 0.05, 0, 3};
    assert_true(nm_rolling_lasts(&rests) == 0 && nm_rolling_at(&rests, 10).x == 1);
}

/* Against all moments, one after the other. */
static void it_is_met_as_soon_as_one_can_be_there(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(2, 2, 2);
    int met = 0, at_rest = 0;
    for (int trial = 0; trial < 500; trial++) {
        struct nm_rolling ball = draw(&dice);
        struct walker w = {3 * nm_dice_both(&dice), 3 * nm_dice_both(&dice), 0.3 + nm_dice_roll(&dice)};
        struct pose2 at;
        double needs = nm_rolling_met(&ball, walk, &w, &at), lasts = nm_rolling_lasts(&ball), first = 0;
        while (first < lasts && walk(&w, nm_rolling_at(&ball, first)) > first) first += lasts / 2000;
        assert_true(fabs(needs - walk(&w, at)) < 1e-9);
        struct pose2 best = nm_rolling_at(&ball, first);
        assert_true(vec2_norm(at.x - best.x, at.y - best.y) < 0.1 + 0.05 * ball.way);
        met += first < lasts;
        at_rest += first >= lasts;
    }
    assert_true(met > 50 && at_rest > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gets_slower_evenly),
        cmocka_unit_test(it_is_met_as_soon_as_one_can_be_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
