/* labels: slow
 * The line-ups of a vision on simulated images that nothing was tuned on, against the truth: floors below what they
 * reach today, so that a change that makes one see worse is noticed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/vision_trial.h"

enum { FIRST = 900001, IMAGES = 80 };

static struct setup setup;
static const struct nm_body *body;
static struct vision_studio *studio;
static struct vision_shot shot;

static int begin(void **state)
{
    (void)state;
    struct nm_err err = {0};
    setup_begin(&setup);
    snprintf(setup.root, sizeof setup.root, "%s", NM_ROOT);
    body = nm_body_load(&setup.arena, NM_ROOT "/robots/kid70", &err);
    studio = body ? vision_studio_new(&setup.arena, setup.root, body, &err) : NULL;
    if (!studio) fail_msg("%s", err.text);
    return 0;
}

static int end(void **state)
{
    (void)state;
    setup_end(&setup);
    return 0;
}

static struct vision_score look(const char *lineup, uint32_t n)
{
    struct nm_err err = {0};
    struct vision_score score = {0};
    struct vision_rig *rig = vision_rig_new(&setup, lineup, body, NULL, 0, NULL, &err);
    if (!rig) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < n; i++) {
        struct vision_found found;
        vision_studio_shoot(studio, FIRST + i, &shot);
        vision_rig_look(rig, shot.yuyv, shot.width, shot.height, &shot.camera_to_robot, shot.q, &found);
        assert_non_null(found.percepts); /* every image is answered, also one that shows nothing */
        vision_score(&shot.truth, &found, &score);
    }
    vision_rig_free(rig);
    return score;
}

struct floors {
    double recall, precision;
};

static struct vision_score sees(const char *lineup, const struct floors floors[VISION_KINDS])
{
    struct vision_score s = look(lineup, IMAGES);
    for (int k = 0; k < VISION_KINDS; k++) {
        if (floors[k].recall <= 0) continue;
        printf("%s, %s: %u of %u found, %u of %u right\n", lineup, vision_kinds[k], s.found[k], s.there[k], s.right[k],
               s.told[k]);
        assert_true(s.there[k] >= 10);
        assert_true(s.found[k] >= floors[k].recall * s.there[k]);
        assert_true(s.right[k] >= floors[k].precision * s.told[k]);
    }
    return s;
}

static void sees_what_is_there(void **state)
{
    (void)state;
    static const struct floors floors[VISION_KINDS] = {[VISION_BALL] = {0.75, 0.85},
                                                       [VISION_POST] = {0.5, 0.75},
                                                       [VISION_CROSSING] = {0.72, 0.85},
                                                       [VISION_ROBOT] = {0.62, 0.75},
                                                       [VISION_LINE] = {0.93, 0.9}};
    struct vision_score s = sees("vision", floors);
    assert_true(s.borders > IMAGES / 3);
    assert_true(s.border / s.borders < 8);
}

static void networks_see_it_too(void **state)
{
    (void)state;
    static const struct floors mixed[VISION_KINDS] = {[VISION_BALL] = {0.85, 0.88}},
                               net[VISION_KINDS] = {[VISION_BALL] = {0.93, 0.93},
                                                    [VISION_POST] = {0.65, 0.7},
                                                    [VISION_CROSSING] = {0.85, 0.88},
                                                    [VISION_ROBOT] = {0.82, 0.85}},
                               both[VISION_KINDS] = {[VISION_BALL] = {0.9, 0.9},
                                                     [VISION_CROSSING] = {0.85, 0.85},
                                                     [VISION_ROBOT] = {0.8, 0.82},
                                                     [VISION_LINE] = {0.93, 0.9}};
    sees("vision_mixed", mixed);
    sees("vision_net", net);
    sees("vision_both", both);
}

/* The network's crossings are points; their directions are measured around them. The classic vision knows them from the
 * lines that cross. */
static void crossings_have_the_direction_of_their_lines(void **state)
{
    (void)state;
    struct nm_err err = {0};
    uint32_t n = 0, close = 0;
    struct vision_rig *rigs[2] = {vision_rig_new(&setup, "vision", body, NULL, 0, NULL, &err),
                                  vision_rig_new(&setup, "vision_net", body, NULL, 0, NULL, &err)};
    struct vision_found found[2];
    if (!rigs[0] || !rigs[1]) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < IMAGES; i++) {
        vision_studio_shoot(studio, FIRST + i, &shot);
        for (int k = 0; k < 2; k++)
            vision_rig_look(rigs[k], shot.yuyv, shot.width, shot.height, &shot.camera_to_robot, shot.q, &found[k]);
        for (uint32_t a = 0; a < found[0].percepts->percepts.n; a++)
            for (uint32_t b = 0; b < found[1].percepts->percepts.n; b++) {
                const Percept *p = &found[0].percepts->percepts.at[a], *q = &found[1].percepts->percepts.at[b];
                if (p->kind != q->kind || p->kind < Percept_CROSSING_L || p->kind > Percept_CROSSING_X) continue;
                if (hypot(p->position.x - q->position.x, p->position.y - q->position.y) > 0.15) continue;
                if (isnan(q->orientation)) continue;
                double turn = p->kind == Percept_CROSSING_X ? M_PI / 2 : 2 * M_PI;
                n++;
                close += fabs(remainder((double)(p->orientation - q->orientation), turn)) < 0.2;
            }
    }
    printf("%u of %u crossings have the same direction\n", close, n);
    assert_true(n >= 20);
    assert_true(close >= 0.9 * n);
    for (int k = 0; k < 2; k++) vision_rig_free(rigs[k]);
}

/* Without a pose nothing has a place, but what is in the image is still told. */
static void without_a_pose_nothing_has_a_place(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct vision_rig *rig = vision_rig_new(&setup, "vision", body, NULL, 0, NULL, &err);
    struct vision_found found;
    if (!rig) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < 10; i++) {
        vision_studio_shoot(studio, FIRST + i, &shot);
        vision_rig_look(rig, shot.yuyv, shot.width, shot.height, NULL, NULL, &found);
        assert_non_null(found.percepts);
        for (uint32_t k = 0; k < found.percepts->percepts.n; k++) assert_false(found.percepts->percepts.at[k].located);
        assert_int_equal(found.lines->segments.n, 0);
    }
    vision_rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sees_what_is_there),
        cmocka_unit_test(networks_see_it_too),
        cmocka_unit_test(crossings_have_the_direction_of_their_lines),
        cmocka_unit_test(without_a_pose_nothing_has_a_place),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
