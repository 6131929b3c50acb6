/* Which foot, and which part of it: whatever lies where the robot kicks best goes anywhere ahead or aside, and what
 * cannot be had is refused with the reason and the nearest that can. */
#include "modules/kick_rig.h"

static void it_picks_the_foot_behind_the_ball(void **state)
{
    (void)state;
    struct rig r;
    char why[128];
    struct kick_choice choice;
    rig_start(&r, KID70);
    assert_int_equal(choose(&r, (struct kick_want){0.2, 0.06, 0}, &choice, why, sizeof why), 0);
    assert_true(choice.support == NM_RIGHT && choice.surface == KICK_TOE_FIRST);
    assert_int_equal(choose(&r, (struct kick_want){0.2, -0.06, 0}, &choice, why, sizeof why), 0);
    assert_true(choice.support == NM_LEFT && choice.surface == KICK_TOE_FIRST);
    rig_end(&r);
}

/* A ball before the left foot goes to the left by the right one, which has the room to swing; and aside it is passed.
 */
static void it_picks_the_foot_that_has_room_to_swing(void **state)
{
    (void)state;
    static const struct {
        double degrees;
        struct kick_choice choice;
    } rows[] = {
        {10, {NM_RIGHT, KICK_TOE_FIRST}},   {-10, {NM_RIGHT, KICK_TOE_FIRST}},    {45, {NM_LEFT, KICK_TOE_FIRST}},
        {90, {NM_LEFT, KICK_PASS_INWARDS}}, {-75, {NM_RIGHT, KICK_PASS_INWARDS}},
    };
    struct rig r;
    rig_start(&r, KID70);
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        char why[128] = "";
        double mirror = i & 1 ? -1 : 1;
        struct kick_choice choice, wanted = rows[i / 2].choice;
        struct kick_want want = {0.2, mirror * 0.05, mirror * rows[i / 2].degrees * M_PI / 180};
        if (mirror < 0) wanted.support = wanted.support == NM_LEFT ? NM_RIGHT : NM_LEFT;
        if (choose(&r, want, &choice, why, sizeof why)) fail_msg("%g degrees: %s", rows[i / 2].degrees, why);
        if (choice.support != wanted.support || choice.surface != wanted.surface)
            fail_msg("%g degrees: foot %d, part %d", mirror * rows[i / 2].degrees, !choice.support, choice.surface);
    }
    rig_end(&r);
}

static void a_ball_at_the_best_place_goes_anywhere_ahead_or_outwards(void **state)
{
    (void)state;
    static const char *const robots[] = {KID70, DARWIN};
    for (int k = 0; k < 2; k++) {
        struct rig r;
        rig_start(&r, robots[k]);
        for (int i = 0; i < 2 * 13; i++) {
            char why[128] = "";
            double best[2], direction = (i / 2 - 6) * M_PI / 12;
            double outwards = i & 1 ? direction : -direction;
            if (outwards < -1.1) continue;                 /* there the other foot's place is better         */
            if (k == 1 && fabs(direction) > 0.8) continue; /* with the numbers of another body, not so far */
            struct kick_choice choice;
            kick_best_place(&r.params.plan.path, &r.stand, i & 1 ? NM_LEFT : NM_RIGHT, best);
            if (choose(&r, (struct kick_want){best[0], best[1], direction}, &choice, why, sizeof why))
                fail_msg("%s, %d degrees: %s", robots[k], 15 * (i / 2 - 6), why);
        }
        rig_end(&r);
    }
}

/* Before the toe, by the body's own feet, as far apart as they stand; one foot's is the other's mirror image. */
static void the_best_place_is_the_bodys_own(void **state)
{
    (void)state;
    static const char *const robots[] = {KID70, DARWIN};
    for (int k = 0; k < 2; k++) {
        struct rig r;
        double left[2], right[2];
        rig_start(&r, robots[k]);
        const struct kick_path_params *p = &r.params.plan.path;
        kick_best_place(p, &r.stand, NM_LEFT, left);
        kick_best_place(p, &r.stand, NM_RIGHT, right);
        assert_true(fabs(left[0] - right[0]) < 1e-6 && fabs(left[1] + right[1]) < 1e-6);
        assert_true(fabs(left[0] - (r.stand.toe[NM_LEFT].x + p->ball_radius + p->best_ahead)) < 1e-6);
        assert_true(fabs(left[1] - right[1] - fabs(r.stand.other[NM_LEFT].y) - 2 * p->best_beside) < 1e-6);
        rig_end(&r);
    }
}

static void the_inner_edge_is_that_of_the_foots_boxes(void **state)
{
    (void)state;
    struct rig r;
    rig_start(&r, KID70);
    assert_true(fabs(r.stand.inner[NM_LEFT] - 0.0405) < 1e-6);
    assert_true(fabs(r.stand.inner[NM_RIGHT] - 0.0405) < 1e-6);
    rig_end(&r);
}

static void what_cannot_be_reached_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        struct kick_want want;
        const char *why;
    } rows[] = {
        {{0.05, 0.05, 0}, "cm too near"},
        {{0.5, 0.05, 0}, "cm too far away"},
        {{0.2, 0.3, 0}, "cm too far left"},
        {{0.2, -0.3, 0}, "cm too far right"},
        {{0.2, 0.05, 2.5}, "degrees too far left"},
        {{0.2, 0.05, -2.5}, "degrees too far right"},
        {{NAN, 0.05, 0}, "none"},
        {{0.2, INFINITY, 0}, "none"},
    };
    struct rig r;
    rig_start(&r, KID70);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char why[128] = "";
        struct kick_choice any;
        assert_int_equal(choose(&r, rows[i].want, &any, why, sizeof why), -1);
        if (!strstr(why, rows[i].why)) fail_msg("row %zu: %s", i, why);
    }
    /* the number is the way that is missing: from the edge of the left foot's reach */
    char why[128];
    struct kick_choice any;
    double reached = 0.05, refused = 0.4;
    for (int i = 0; i < 40; i++) {
        struct kick_want want = {0.2, (reached + refused) / 2, 0};
        *(choose(&r, want, &any, why, sizeof why) == 0 ? &reached : &refused) = want.ball_y;
    }
    assert_int_equal(choose(&r, (struct kick_want){0.2, reached + 0.0899, 0}, &any, why, sizeof why), -1);
    if (strncmp(why, "the ball is 9 cm too far left", 29)) fail_msg("%s", why);
    rig_end(&r);
}

/* What a refusal offers instead is not refused. */
static void the_nearest_that_is_offered_can_be_had(void **state)
{
    (void)state;
    static const char *const robots[] = {KID70, DARWIN};
    int places = 0, directions = 0;
    for (int k = 0; k < 2; k++) {
        struct rig r;
        rig_start(&r, robots[k]);
        for (int i = 0; i < 7 * 7 * 9; i++) {
            struct kick_want want = {0.05 + 0.05 * (i % 7), -0.3 + 0.1 * (i / 7 % 7), (i / 49 - 4) * 0.7};
            struct kick_choice any;
            char why[128], side[16];
            double x, y, degrees;
            if (!choose(&r, want, &any, why, sizeof why)) continue;
            const char *offer = strchr(why, ';');
            if (!offer) fail_msg("nothing is offered: %s", why);
            if (sscanf(offer, "; it could %lf cm ahead, %lf cm %15s", &x, &y, side) == 3) {
                want.ball_x = x / 100;
                want.ball_y = (*side == 'l' ? y : -y) / 100;
                places++;
            } else if (sscanf(offer, "; from there it can kick %lf degrees %15s", &degrees, side) == 2) {
                want.direction = (*side == 'l' ? degrees : -degrees) * M_PI / 180;
                directions++;
            } else {
                fail_msg("%s", why);
            }
            char again[128];
            int refused = choose(&r, want, &any, again, sizeof again);
            want.direction = 0; /* where neither helps alone, it is a place from which it can kick ahead */
            if (refused && choose(&r, want, &any, again, sizeof again)) fail_msg("%s; but then: %s", why, again);
        }
        rig_end(&r);
    }
    assert_true(places > 20 && directions > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_picks_the_foot_behind_the_ball),
        cmocka_unit_test(it_picks_the_foot_that_has_room_to_swing),
        cmocka_unit_test(a_ball_at_the_best_place_goes_anywhere_ahead_or_outwards),
        cmocka_unit_test(the_best_place_is_the_bodys_own),
        cmocka_unit_test(the_inner_edge_is_that_of_the_foots_boxes),
        cmocka_unit_test(what_cannot_be_reached_is_refused_with_the_reason),
        cmocka_unit_test(the_nearest_that_is_offered_can_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
