#include "modules/world/search_map.h"

#include <math.h>
#include <string.h>

#include "base/clamp.h"

static const double LOOK_RATE = 3;           /* 1/s, how often a ball in view is found                        */
static const double RANGE = 4.5, FADE = 0.6; /* m: farther balls are found less often than not; over which width */

static void normalise(struct search_map *m)
{
    double sum = 0;
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) sum += m->weight[r][c];
    float scale = sum > 1e-12 ? (float)(1 / sum) : 0, even = 1 / (float)(m->rows * m->columns);
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) m->weight[r][c] = scale > 0 ? m->weight[r][c] * scale : even;
}

void search_start(struct search_map *m, double length, double width, double cell)
{
    memset(m, 0, sizeof *m);
    m->size = fmax(cell, fmax(length / SEARCH_COLUMNS, width / SEARCH_ROWS));
    m->columns = (int32_t)nm_clamp(ceil(length / m->size - 1e-6), 1, SEARCH_COLUMNS);
    m->rows = (int32_t)nm_clamp(ceil(width / m->size - 1e-6), 1, SEARCH_ROWS);
    normalise(m);
}

void search_put(struct search_map *m, double x, double y, double deviation)
{
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) {
            double dx = search_x(m, c) - x, dy = search_y(m, r) - y;
            m->weight[r][c] = (float)exp(-(dx * dx + dy * dy) / (2 * deviation * deviation)) + 1e-6f;
            m->age[r][c] = 0;
        }
    normalise(m);
}

void search_expect(struct search_map *m, double x, double y, double deviation_x, double deviation_y)
{
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) {
            double dx = (search_x(m, c) - x) / deviation_x, dy = (search_y(m, r) - y) / deviation_y;
            m->weight[r][c] += (float)(0.05 * exp(-(dx * dx + dy * dy) / 2));
        }
}

void search_look(struct search_map *m, int row, int column, double distance, double dt)
{
    double found = 1 / (1 + exp((distance - RANGE) / FADE));
    m->weight[row][column] *= (float)exp(-LOOK_RATE * found * dt);
    if (distance < RANGE) m->age[row][column] = -(float)dt; /* search_settle makes it 0 */
}

void search_look_along(struct search_map *m, struct pose2 gaze, double half_angle, double nearest, double dt)
{
    double ux = cos(gaze.theta), uy = sin(gaze.theta), narrow = cos(half_angle);
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) {
            double dx = search_x(m, c) - gaze.x, dy = search_y(m, r) - gaze.y, away = sqrt(dx * dx + dy * dy);
            if (away > nearest && away < SEARCH_RANGE && dx * ux + dy * uy > narrow * away)
                search_look(m, r, c, away, dt);
        }
}

/* Each cell gives a part of its probability to its eight neighbours, but none becomes less likely only by that: where
 * nobody looked the ball may still be. */
static void diffuse(struct search_map *m, double given)
{
    float old[SEARCH_ROWS][SEARCH_COLUMNS];
    float keep = (float)(1 - given), part = (float)(given / 8);
    memcpy(old, m->weight, sizeof old);
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) {
            float sum = 0;
            for (int y = r - 1; y <= r + 1; y++)
                for (int x = c - 1; x <= c + 1; x++)
                    if ((x != c || y != r) && x >= 0 && y >= 0 && x < m->columns && y < m->rows) sum += old[y][x];
            m->weight[r][c] = fmaxf(old[r][c], keep * old[r][c] + part * sum);
        }
}

void search_settle(struct search_map *m, double spread, double dt)
{
    /* six of the eight neighbours are a cell away along either axis: the variance of a step is 6/8 size^2 times the
     * part given away */
    double given = nm_clamp(spread * spread * dt * 8 / (6 * m->size * m->size), 0, 0.5);
    if (given > 0) diffuse(m, given);
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) m->age[r][c] += (float)dt;
    normalise(m);
}

void search_sum(const struct search_map *m, search_sums sums)
{
    memset(sums, 0, sizeof(search_sums));
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++)
            sums[r + 1][c + 1] = m->weight[r][c] + sums[r][c + 1] + sums[r + 1][c] - sums[r][c];
}

double search_around(const struct search_map *m, search_sums sums, int row, int column, int reach)
{
    int r0 = row - reach < 0 ? 0 : row - reach, c0 = column - reach < 0 ? 0 : column - reach;
    int r1 = row + reach + 1 > m->rows ? m->rows : row + reach + 1;
    int c1 = column + reach + 1 > m->columns ? m->columns : column + reach + 1;
    return sums[r1][c1] - sums[r0][c1] - sums[r1][c0] + sums[r0][c0];
}
