/* detour: ways that cut through no disc, about as short as the shortest of a fine grid, and the same from step to step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "modules/planning/detour.h"

static double dice_between(struct nm_dice *dice, double low, double high)
{
    return low + (high - low) * nm_dice_roll(dice);
}

static struct pose2 somewhere(struct nm_dice *dice)
{
    return (struct pose2){dice_between(dice, -2, 2), dice_between(dice, -2, 2), 0};
}

static bool inside(const struct detour_disc *discs, uint32_t n, double x, double y, double less)
{
    for (uint32_t i = 0; i < n; i++)
        if (hypot(x - discs[i].x, y - discs[i].y) < discs[i].radius - less) return true;
    return false;
}

/* Some discs, start and target outside all of them. */
static uint32_t scene(struct nm_dice *dice, struct detour_disc discs[], struct pose2 *from, struct pose2 *to)
{
    uint32_t n = 1 + (uint32_t)(nm_dice_roll(dice) * 8);
    for (uint32_t i = 0; i < n; i++) {
        struct pose2 at = somewhere(dice);
        discs[i] = (struct detour_disc){at.x, at.y, dice_between(dice, 0.15, 0.5)};
    }
    do *from = somewhere(dice);
    while (inside(discs, n, from->x, from->y, 0));
    do *to = somewhere(dice);
    while (inside(discs, n, to->x, to->y, 0));
    return n;
}

/* ---- brute force: the shortest way over a grid with sixteen directions ---- */

enum { SIDE = 161, CELLS = SIDE * SIDE };
static const double CELL = 0.05;
static const int reach[][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}, {2, 1}, {1, 2}, {2, -1}, {1, -2}};

struct grid {
    double far[CELLS];
    bool blocked[CELLS], done[CELLS];
    int heap[8 * CELLS]; /* lazy: cells may be in it several times */
    double key[8 * CELLS];
    int n;
};

static void heap_push(struct grid *g, int cell, double key)
{
    int i = g->n++;
    for (; i > 0 && g->key[(i - 1) / 2] > key; i = (i - 1) / 2)
        g->heap[i] = g->heap[(i - 1) / 2], g->key[i] = g->key[(i - 1) / 2];
    g->heap[i] = cell;
    g->key[i] = key;
}

static int heap_pop(struct grid *g)
{
    int top = g->heap[0], last = g->heap[--g->n], i = 0;
    double key = g->key[g->n];
    for (int child; (child = 2 * i + 1) < g->n; i = child) {
        if (child + 1 < g->n && g->key[child + 1] < g->key[child]) child++;
        if (g->key[child] >= key) break;
        g->heap[i] = g->heap[child];
        g->key[i] = g->key[child];
    }
    g->heap[i] = last;
    g->key[i] = key;
    return top;
}

static int cell_of(double x, double y)
{
    return (int)lrint(y / CELL + SIDE / 2) * SIDE + (int)lrint(x / CELL + SIDE / 2);
}
static double cell_x(int cell) { return (cell % SIDE - SIDE / 2) * CELL; }
static double cell_y(int cell) { return (cell / SIDE - SIDE / 2) * CELL; }

/* Length of the shortest way over the grid; INFINITY if there is none. Ways over a grid of sixteen directions are at
 * most 2.8 % longer than straight ones. */
static double by_grid(struct grid *g, const struct detour_disc *discs, uint32_t n, struct pose2 from, struct pose2 to)
{
    int start = cell_of(from.x, from.y), end = cell_of(to.x, to.y);
    for (int c = 0; c < CELLS; c++) {
        g->far[c] = INFINITY;
        g->done[c] = false;
        g->blocked[c] = inside(discs, n, cell_x(c), cell_y(c), 0) && c != start && c != end;
    }
    g->n = 0;
    g->far[start] = 0;
    heap_push(g, start, 0);
    while (g->n) {
        int c = heap_pop(g);
        if (g->done[c]) continue;
        g->done[c] = true;
        if (c == end) return g->far[c];
        for (int k = 0; k < 16; k++) {
            int dx = (k & 1 ? -1 : 1) * reach[k / 2][0], dy = (k & 1 ? -1 : 1) * reach[k / 2][1];
            int x = c % SIDE + dx, y = c / SIDE + dy, to_cell = y * SIDE + x;
            if (x < 0 || y < 0 || x >= SIDE || y >= SIDE || g->blocked[to_cell]) continue;
            double far = g->far[c] + CELL * hypot(dx, dy);
            if (far >= g->far[to_cell]) continue;
            g->far[to_cell] = far;
            heap_push(g, to_cell, far);
        }
    }
    return INFINITY;
}

/* ---- properties ---- */

static void no_way_cuts_through_a_disc(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    uint32_t clear = 0;
    for (int trial = 0; trial < 3000; trial++) {
        struct detour_disc discs[DETOUR_DISCS];
        struct pose2 from, to;
        struct detour way;
        uint32_t n = scene(&dice, discs, &from, &to);
        detour_find(&way, from, to, discs, n, NULL);
        clear += way.clear;
        if (!way.clear) continue;
        struct pose2 last = from;
        for (double s = 0; s <= way.length; s += 0.01) {
            struct pose2 p = detour_at(&way, s);
            assert_false(inside(discs, n, p.x, p.y, 1e-4));
            assert_true(hypot(p.x - last.x, p.y - last.y) < 0.0101); /* in one piece */
            last = p;
        }
        struct pose2 end = detour_at(&way, way.length);
        assert_true(hypot(end.x - to.x, end.y - to.y) < 1e-6);
    }
    assert_true(clear > 2850); /* the rest are shut in by discs, or too crooked for the number of tries */
}

static void ways_are_about_as_short_as_brute_force_finds_them(void **state)
{
    (void)state;
    struct nm_dice dice = nm_dice_new(4, 5, 6);
    struct grid *g = malloc(sizeof *g);
    uint32_t ways = 0, longer = 0, lost = 0;
    for (int trial = 0; trial < 150; trial++) {
        struct detour_disc discs[DETOUR_DISCS];
        struct pose2 from, to;
        struct detour way;
        uint32_t n = scene(&dice, discs, &from, &to);
        double shortest = by_grid(g, discs, n, from, to);
        if (!isfinite(shortest)) continue;
        detour_find(&way, from, to, discs, n, NULL);
        ways++;
        if (!way.clear) {
            lost++;
            continue;
        }
        assert_true(way.length > 0.94 * shortest - 0.1); /* the grid's own error */
        longer += way.length > 1.03 * shortest + 0.05;
    }
    free(g);
    assert_true(ways > 130);
    assert_true(lost <= ways / 20);
    assert_true(longer <= ways / 20);
}

static void a_free_way_is_straight_and_ends_at_the_target(void **state)
{
    (void)state;
    struct detour way;
    struct pose2 from = {1, 2, 0}, to = {4, 6, 0};
    detour_find(&way, from, to, NULL, 0, NULL);
    assert_true(way.clear && way.n == 0 && fabs(way.length - 5) < 1e-9);
    struct pose2 half = detour_at(&way, 2.5);
    assert_true(fabs(half.x - 2.5) < 1e-9 && fabs(half.y - 4) < 1e-9 && fabs(half.theta - atan2(4, 3)) < 1e-9);
    detour_find(&way, from, from, NULL, 0, NULL);
    assert_true(way.length == 0 && detour_at(&way, 1).x == from.x);
}

/* One disc of radius 1 in the middle: two tangents of sqrt(3) and an arc of a third of half the circle. */
static void around_one_disc_the_length_is_known(void **state)
{
    (void)state;
    struct detour way;
    struct detour_disc disc = {0, 0, 1};
    detour_find(&way, (struct pose2){-2, 0, 0}, (struct pose2){2, 0, 0}, &disc, 1, NULL);
    assert_true(way.clear && way.n == 1);
    assert_true(fabs(way.length - (2 * sqrt(3) + M_PI / 3)) < 1e-9);
}

/* Where both sides are about the same, the way before decides; where one is much shorter, it does not. */
static void the_side_does_not_change_for_little(void **state)
{
    (void)state;
    struct detour way;
    struct pose2 from = {-2, 0, 0}, to = {2, 0, 0};
    for (int k = -1; k <= 1; k += 2) {
        struct detour_disc nearly = {0, 0.02 * k, 0.5}, beside = {0, 0.4, 0.5};
        detour_find(&way, from, to, &nearly, 1, &(struct detour_habit){-k, 0.2, 0});
        assert_true(way.bends[0].side == -k);
        detour_find(&way, from, to, &beside, 1, &(struct detour_habit){-1, 0.2, 0});
        assert_true(way.bends[0].side == 1); /* a disc on the left is passed on its right */
    }
}

static void who_stands_in_a_disc_gets_out(void **state)
{
    (void)state;
    struct detour way;
    struct detour_disc disc = {0, 0, 1};
    detour_find(&way, (struct pose2){0.5, 0, 0}, (struct pose2){3, 0, 0}, &disc, 1, NULL);
    assert_true(way.clear && fabs(way.length - 2.5) < 1e-3);
    detour_find(&way, (struct pose2){-0.9, 0, 0}, (struct pose2){3, 0, 0}, &disc, 1, NULL);
    assert_true(way.clear && way.n == 1);
}

/* Of two ways of the same length it takes the one that it faces. */
static void who_faces_a_way_takes_it(void **state)
{
    (void)state;
    struct detour way;
    struct detour_disc disc = {0, 0, 0.5};
    for (int k = -1; k <= 1; k += 2) {
        struct pose2 from = {-2, 0, 0.6 * k}, to = {2, 0, 0};
        detour_find(&way, from, to, &disc, 1, &(struct detour_habit){0, 0, 0.2});
        assert_true(way.bends[0].side == -k);
        detour_find(&way, from, to, &disc, 1, &(struct detour_habit){k, 0.05, 0.2}); /* a weak habit does not win */
        assert_true(way.bends[0].side == -k);
    }
}

static void who_is_shut_in_gets_the_straight_way(void **state)
{
    (void)state;
    struct detour way;
    struct detour_disc ring[16];
    for (int i = 0; i < 16; i++) ring[i] = (struct detour_disc){2 * cos(i * M_PI / 8), 2 * sin(i * M_PI / 8), 0.6};
    detour_find(&way, (struct pose2){0, 0, 0}, (struct pose2){4, 1, 0}, ring, 16, NULL);
    assert_false(way.clear);
    assert_true(way.n == 0 && fabs(way.length - hypot(4, 1)) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_faces_a_way_takes_it),
        cmocka_unit_test(who_is_shut_in_gets_the_straight_way),
        cmocka_unit_test(no_way_cuts_through_a_disc),
        cmocka_unit_test(ways_are_about_as_short_as_brute_force_finds_them),
        cmocka_unit_test(a_free_way_is_straight_and_ends_at_the_target),
        cmocka_unit_test(around_one_disc_the_length_is_known),
        cmocka_unit_test(the_side_does_not_change_for_little),
        cmocka_unit_test(who_stands_in_a_disc_gets_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
