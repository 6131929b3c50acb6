/* The search map against thousands of balls that lie anywhere, wander at random and are looked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "modules/world/search_map.h"

enum { BALLS = 200000, TICKS = 30 };
static const double TICK = 0.1, HALF_X = 4.475, HALF_Y = 2.975;

static double total(const struct search_map *map)
{
    double sum = 0;
    for (int r = 0; r < map->rows; r++)
        for (int c = 0; c < map->columns; c++) sum += map->weight[r][c];
    return sum;
}

/* Two robots look along x from the left and along -y from the right. The balls that they did not find are spread as the
 * map says: in every block of a metre and a half. */
static void the_map_is_where_unfound_balls_are(void **state)
{
    (void)state;
    const struct pose2 gazes[2] = {{-2, 0, 0}, {2, 2, -M_PI / 2}};
    static double ball[BALLS][2], left[BALLS]; /* left: chance that nobody found it */
    static struct search_map map;
    struct nm_dice dice = nm_dice_new(1, 0, 0);
    search_start(&map, 2 * HALF_X, 2 * HALF_Y, 0.25);
    for (int i = 0; i < BALLS; i++) {
        ball[i][0] = HALF_X * nm_dice_both(&dice);
        ball[i][1] = HALF_Y * nm_dice_both(&dice);
        left[i] = 1;
    }
    for (int t = 0; t < TICKS; t++) {
        for (int g = 0; g < 2; g++) {
            search_look_along(&map, gazes[g], 0.5, 0.4, TICK);
            for (int i = 0; i < BALLS; i++) {
                double dx = ball[i][0] - gazes[g].x, dy = ball[i][1] - gazes[g].y, away = hypot(dx, dy);
                double off = fabs(angle_normal(atan2(dy, dx) - gazes[g].theta));
                if (away > 0.4 && away < SEARCH_RANGE && off < 0.5)
                    left[i] *= exp(-3 * TICK / (1 + exp((away - 4.5) / 0.6)));
            }
        }
        search_settle(&map, 0, TICK);
    }
    enum { X = 6, Y = 4 };
    double expected[X][Y] = {{0}}, found[X][Y] = {{0}}, sum = 0;
    for (int i = 0; i < BALLS; i++) {
        expected[(int)((ball[i][0] + HALF_X) / (2 * HALF_X / X))][(int)((ball[i][1] + HALF_Y) / (2 * HALF_Y / Y))] +=
            left[i];
        sum += left[i];
    }
    for (int r = 0; r < map.rows; r++)
        for (int c = 0; c < map.columns; c++) {
            double x = fmin(fmax(search_x(&map, c), -HALF_X), HALF_X - 1e-9),
                   y = fmin(fmax(search_y(&map, r), -HALF_Y), HALF_Y - 1e-9);
            found[(int)((x + HALF_X) / (2 * HALF_X / X))][(int)((y + HALF_Y) / (2 * HALF_Y / Y))] += map.weight[r][c];
        }
    for (int x = 0; x < X; x++)
        for (int y = 0; y < Y; y++) assert_true(fabs(found[x][y] - expected[x][y] / sum) < 0.012);
}

/* A ball that wanders spreads about as fast as it is told to: its variance would grow by spread^2 a second but for the
 * rule that no cell loses by it, which keeps the middle high. */
static void an_unseen_ball_spreads(void **state)
{
    (void)state;
    static struct search_map map;
    const double spread = 0.3, seconds = 2;
    search_start(&map, 2 * HALF_X, 2 * HALF_Y, 0.25);
    search_put(&map, 0.1, 0.1, 0.3);
    for (double t = 0; t < seconds - 1e-9; t += TICK) search_settle(&map, spread, TICK);
    double mx = 0, vx = 0, background = map.weight[0][0];
    for (int r = 0; r < map.rows; r++)
        for (int c = 0; c < map.columns; c++) mx += map.weight[r][c] * search_x(&map, c);
    for (int r = 0; r < map.rows; r++)
        for (int c = 0; c < map.columns; c++)
            vx += (map.weight[r][c] - background) * (search_x(&map, c) - mx) * (search_x(&map, c) - mx);
    double wanted = 0.3 * 0.3 + spread * spread * seconds;
    assert_true(fabs(mx - 0.1) < 0.05);
    assert_true(vx > 0.3 * 0.3 + 0.5 * (wanted - 0.3 * 0.3) && vx < 1.1 * wanted);
    assert_true(fabs(total(&map) - 1) < 1e-4);
}

static void what_is_looked_at_is_young_and_the_rest_grows_old(void **state)
{
    (void)state;
    static struct search_map map;
    search_start(&map, 2 * HALF_X, 2 * HALF_Y, 0.25);
    for (int i = 0; i < 20; i++) {
        search_look_along(&map, (struct pose2){0, 0, 0}, 0.5, 0.4, TICK);
        search_settle(&map, 0.1, TICK);
    }
    int middle = map.rows / 2, ahead = map.columns / 2 + 6, behind = map.columns / 2 - 6;
    assert_true(fabs(map.age[middle][ahead]) < 1e-5);
    assert_true(fabs(map.age[middle][behind] - 2) < 1e-4);
    assert_true(map.weight[middle][ahead] < 0.1 * map.weight[middle][behind]);
}

static void sums_over_rectangles_are_those_of_their_cells(void **state)
{
    (void)state;
    static struct search_map map;
    static search_sums sums;
    struct nm_dice dice = nm_dice_new(2, 0, 0);
    search_start(&map, 2 * HALF_X, 2 * HALF_Y, 0.25);
    for (int r = 0; r < map.rows; r++)
        for (int c = 0; c < map.columns; c++) map.weight[r][c] = (float)nm_dice_roll(&dice);
    search_sum(&map, sums);
    for (int i = 0; i < 200; i++) {
        int row = (int)(nm_dice_roll(&dice) * map.rows), column = (int)(nm_dice_roll(&dice) * map.columns),
            reach = i % 5;
        double sum = 0;
        for (int r = row - reach; r <= row + reach; r++)
            for (int c = column - reach; c <= column + reach; c++)
                if (r >= 0 && c >= 0 && r < map.rows && c < map.columns) sum += map.weight[r][c];
        assert_true(fabs(search_around(&map, sums, row, column, reach) - sum) < 1e-9);
    }
}

static void the_largest_field_fits(void **state)
{
    (void)state;
    static struct search_map map;
    search_start(&map, 22, 14, 0.25);
    assert_true(map.columns <= SEARCH_COLUMNS && map.rows <= SEARCH_ROWS);
    assert_true(map.columns * map.size >= 22 - 1e-6 && map.rows * map.size >= 14 - 1e-6);
    assert_true(fabs(total(&map) - 1) < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_map_is_where_unfound_balls_are),
        cmocka_unit_test(an_unseen_ball_spreads),
        cmocka_unit_test(what_is_looked_at_is_young_and_the_rest_grows_old),
        cmocka_unit_test(sums_over_rectangles_are_those_of_their_cells),
        cmocka_unit_test(the_largest_field_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
