/* A map of the field that says for every cell how likely the ball is there, and how long ago somebody looked there
 * (HULKs 2017, section 4.5.1). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"

enum { SEARCH_COLUMNS = 64, SEARCH_ROWS = 44 };

#define SEARCH_RANGE 5.7 /* m, farther nobody finds a ball */

struct search_map {
    int32_t columns, rows;
    double size;                               /* m, of a cell                    */
    float weight[SEARCH_ROWS][SEARCH_COLUMNS]; /* all of them add up to 1         */
    float age[SEARCH_ROWS][SEARCH_COLUMNS];    /* s since somebody looked there   */
};

/* m, the middle of a cell, from the field's centre */
static inline double search_x(const struct search_map *map, int column)
{
    return (column + 0.5 - map->columns / 2.0) * map->size;
}
static inline double search_y(const struct search_map *map, int row)
{
    return (row + 0.5 - map->rows / 2.0) * map->size;
}

/* The ball may be anywhere. Cells are larger than `cell` on a field for which the map has not enough of them. */
void search_start(struct search_map *map, double length, double width, double cell);
/* The ball is known, with this standard deviation (m). */
void search_put(struct search_map *map, double x, double y, double deviation);
/* It is more likely around a place than it was. Call search_settle after the last of them. */
void search_expect(struct search_map *map, double x, double y, double deviation_x, double deviation_y);
/* Somebody looked at a cell from a distance for dt and saw no ball. */
void search_look(struct search_map *map, int row, int column, double distance, double dt);
/* The same for all cells within an angle to both sides of a gaze. */
void search_look_along(struct search_map *map, struct pose2 gaze, double half_angle, double nearest, double dt);
/* After the looks of dt: probability spreads to neighbours (`spread` in m/s^(1/2)), ages grow, the sum is 1 again. */
void search_settle(struct search_map *map, double spread, double dt);

/* Sums over rectangles: search_sum once, then any number of search_around, the probability within `reach` cells. */
typedef double search_sums[SEARCH_ROWS + 1][SEARCH_COLUMNS + 1];
void search_sum(const struct search_map *map, search_sums sums);
double search_around(const struct search_map *map, search_sums sums, int row, int column, int reach);
