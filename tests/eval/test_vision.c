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

static const struct {
    const char *name;
    struct {
        double recall, precision;
    } floors[VISION_KINDS];
} lineups[] = {
    {"vision",
     {[VISION_BALL] = {0.75, 0.85},
      [VISION_POST] = {0.5, 0.75},
      [VISION_CROSSING] = {0.72, 0.85},
      [VISION_ROBOT] = {0.62, 0.75},
      [VISION_LINE] = {0.93, 0.9}}},
    {"vision_mixed", {[VISION_BALL] = {0.85, 0.88}}},
    {"vision_net",
     {[VISION_BALL] = {0.93, 0.93},
      [VISION_POST] = {0.65, 0.7},
      [VISION_CROSSING] = {0.85, 0.88},
      [VISION_ROBOT] = {0.82, 0.85}}},
    {"vision_both",
     {[VISION_BALL] = {0.9, 0.9},
      [VISION_CROSSING] = {0.85, 0.85},
      [VISION_ROBOT] = {0.8, 0.82},
      [VISION_LINE] = {0.93, 0.9}}},
};
enum { CLASSIC, MIXED, NET, BOTH, LINEUPS };

/* The network's crossings are points; their directions are measured around them. The classic vision knows them from the
 * lines that cross. */
static void compare_directions(const Percepts *classic, const Percepts *net, uint32_t *n, uint32_t *close)
{
    for (uint32_t a = 0; a < classic->percepts.n; a++)
        for (uint32_t b = 0; b < net->percepts.n; b++) {
            const Percept *p = &classic->percepts.at[a], *q = &net->percepts.at[b];
            if (p->kind != q->kind || p->kind < Percept_CROSSING_L || p->kind > Percept_CROSSING_X) continue;
            if (hypot(p->position.x - q->position.x, p->position.y - q->position.y) > 0.15) continue;
            if (isnan(q->orientation)) continue;
            double turn = p->kind == Percept_CROSSING_X ? M_PI / 2 : 2 * M_PI;
            ++*n;
            *close += fabs(remainder((double)(p->orientation - q->orientation), turn)) < 0.2;
        }
}

static void line_ups_see_what_is_there(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct vision_score scores[LINEUPS] = {0};
    struct vision_rig *rigs[LINEUPS];
    uint32_t n = 0, close = 0;
    for (int k = 0; k < LINEUPS; k++)
        if (!(rigs[k] = vision_rig_new(&setup, lineups[k].name, body, NULL, 0, NULL, &err))) fail_msg("%s", err.text);
    for (uint32_t i = 0; i < IMAGES; i++) {
        struct vision_found found[LINEUPS];
        vision_studio_shoot(studio, FIRST + i, &shot);
        for (int k = 0; k < LINEUPS; k++) {
            vision_rig_look(rigs[k], shot.yuyv, shot.width, shot.height, &shot.camera_to_robot, shot.q, &found[k]);
            assert_non_null(found[k].percepts); /* every image is answered, also one that shows nothing */
            vision_score(&shot.truth, &found[k], &scores[k]);
        }
        compare_directions(found[CLASSIC].percepts, found[NET].percepts, &n, &close);
    }
    for (int l = 0; l < LINEUPS; l++) {
        const struct vision_score *s = &scores[l];
        for (int k = 0; k < VISION_KINDS; k++) {
            if (lineups[l].floors[k].recall <= 0) continue;
            printf("%s, %s: %u of %u found, %u of %u right\n", lineups[l].name, vision_kinds[k], s->found[k],
                   s->there[k], s->right[k], s->told[k]);
            assert_true(s->there[k] >= 10);
            assert_true(s->found[k] >= lineups[l].floors[k].recall * s->there[k]);
            assert_true(s->right[k] >= lineups[l].floors[k].precision * s->told[k]);
        }
        vision_rig_free(rigs[l]);
    }
    assert_true(scores[CLASSIC].borders > IMAGES / 3);
    assert_true(scores[CLASSIC].border / scores[CLASSIC].borders < 8);
    printf("%u of %u crossings have the same direction\n", close, n);
    assert_true(n >= 20);
    assert_true(close >= 0.9 * n);
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

static bool is_robot(const Percept *p)
{
    return p->located && (p->kind == Percept_ROBOT || p->kind == Percept_MATE || p->kind == Percept_RIVAL);
}

/* A robot that fights for the ball is so near that its feet are below the image: it is seen all the same, about where
 * it is. */
static void robots_near_by_are_seen(void **state)
{
    (void)state;
    static const char *const names[] = {"vision", "vision_both"};
    struct nm_err err = {0};
    vision_studio_duel(studio, true);
    for (uint32_t l = 0; l < 2; l++) {
        struct vision_rig *rig = vision_rig_new(&setup, names[l], body, NULL, 0, NULL, &err);
        struct vision_found found;
        uint32_t there = 0, seen = 0;
        if (!rig) fail_msg("%s", err.text);
        for (uint32_t i = 0; i < IMAGES / 2; i++) {
            vision_studio_shoot(studio, FIRST + i, &shot);
            vision_rig_look(rig, shot.yuyv, shot.width, shot.height, &shot.camera_to_robot, shot.q, &found);
            for (uint32_t k = 0; k < shot.truth.n; k++) {
                const struct vision_thing *t = &shot.truth.things[k];
                if (t->kind != VISION_ROBOT || !t->box_known || t->wide * t->high < 20000) continue;
                bool hit = false;
                for (uint32_t p = 0; p < found.percepts->percepts.n; p++) {
                    const Percept *q = &found.percepts->percepts.at[p];
                    hit |= is_robot(q) && hypot(q->position.x - t->x, q->position.y - t->y) < 0.25;
                }
                there++;
                seen += hit;
            }
        }
        printf("%s: %u of %u robots near by\n", names[l], seen, there);
        assert_true(there >= 25);
        assert_true(seen >= 0.7 * there);
        vision_rig_free(rig);
    }
    vision_studio_duel(studio, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_ups_see_what_is_there),
        cmocka_unit_test(without_a_pose_nothing_has_a_place),
        cmocka_unit_test(robots_near_by_are_seen),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
