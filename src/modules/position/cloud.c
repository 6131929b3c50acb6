#include "modules/position/cloud.h"

#include <math.h>

_Static_assert(CLOUD % CLOUD_BLOCK == 0, "the arrays end with a whole block");

enum { BLOCK = CLOUD_BLOCK }; /* particles at a time: all arrays of a block stay in the first cache */

void cloud_turned(struct cloud *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        p->c[i] = cosf(p->theta[i]);
        p->s[i] = sinf(p->theta[i]);
    }
}

/* With the cosine of the angle a between the rays: 1 / (1 + (1 - cos a) / (angle^2 / 2))^2, which falls like a bell and
 * needs no exponential function. */
static void score_block(const float *restrict ray_x, const float *restrict ray_y, const float *restrict off_x,
                        const float *restrict off_y, float far2, const struct cloud_score *score,
                        float *restrict weight)
{
    const float h2 = score->height * score->height, sharp = 2 / (score->angle * score->angle);
    const float seen2 = far2 + h2, floor = score->floor, rest = 1 - floor;
    for (int i = 0; i < BLOCK; i++) {
        float x = ray_x[i] + off_x[i], y = ray_y[i] + off_y[i];
        float dot = ray_x[i] * x + ray_y[i] * y + h2, size2 = seen2 * (x * x + y * y + h2);
        float q = 1 + sharp * fmaxf(1 - dot / sqrtf(size2), 0);
        weight[i] *= floor + rest / (q * q);
    }
}

/* Where a point of the robot's frame lies from each particle, in the axes of the field. */
static void turn_block(const struct cloud *p, uint32_t from, float x, float y, float *restrict ray_x,
                       float *restrict ray_y)
{
    const float *restrict c = p->c + from, *restrict s = p->s + from;
    for (int i = 0; i < BLOCK; i++) {
        ray_x[i] = c[i] * x - s[i] * y;
        ray_y[i] = s[i] * x + c[i] * y;
    }
}

/* From each point to the nearest landmark of the kind. */
static void nearest_mark(const struct sight_map *map, uint32_t kind, const float *restrict x, const float *restrict y,
                         float *restrict off_x, float *restrict off_y)
{
    float best[BLOCK];
    for (int i = 0; i < BLOCK; i++) best[i] = 1e9f, off_x[i] = off_y[i] = 1e3f;
    for (uint32_t k = map->first[kind]; k < map->first[kind + 1]; k++) {
        const float mx = (float)map->marks[k].x, my = (float)map->marks[k].y;
        for (int i = 0; i < BLOCK; i++) {
            float dx = mx - x[i], dy = my - y[i], d2 = dx * dx + dy * dy;
            bool nearer = d2 < best[i];
            best[i] = nearer ? d2 : best[i];
            off_x[i] = nearer ? dx : off_x[i];
            off_y[i] = nearer ? dy : off_y[i];
        }
    }
}

/* From each point to the nearest point on a line. */
static void nearest_line(const struct nm_line *lines, uint32_t n, const float *restrict x, const float *restrict y,
                         float *restrict off_x, float *restrict off_y)
{
    float best[BLOCK];
    for (int i = 0; i < BLOCK; i++) best[i] = 1e9f, off_x[i] = off_y[i] = 1e3f;
    for (uint32_t k = 0; k < n; k++) {
        const float x0 = (float)fmin(lines[k].x0, lines[k].x1), x1 = (float)fmax(lines[k].x0, lines[k].x1);
        const float y0 = (float)fmin(lines[k].y0, lines[k].y1), y1 = (float)fmax(lines[k].y0, lines[k].y1);
        for (int i = 0; i < BLOCK; i++) {
            float to_x = x[i] < x0 ? x0 : x[i] > x1 ? x1 : x[i], to_y = y[i] < y0 ? y0 : y[i] > y1 ? y1 : y[i];
            float dx = to_x - x[i], dy = to_y - y[i], d2 = dx * dx + dy * dy;
            bool nearer = d2 < best[i];
            best[i] = nearer ? d2 : best[i];
            off_x[i] = nearer ? dx : off_x[i];
            off_y[i] = nearer ? dy : off_y[i];
        }
    }
}

static void weigh_point(struct cloud *p, const struct sight_map *map, uint32_t kind, float x, float y,
                        const struct cloud_score *score)
{
    float ray_x[BLOCK], ray_y[BLOCK], at_x[BLOCK], at_y[BLOCK], off_x[BLOCK], off_y[BLOCK];
    uint32_t n_lines = 0;
    const struct nm_line *lines = kind >= SIGHT_LINE ? sight_lines(map, kind, &n_lines) : NULL;
    for (uint32_t from = 0; from < p->n; from += BLOCK) { /* the last block may reach beyond n: the arrays do too */
        turn_block(p, from, x, y, ray_x, ray_y);
        for (int i = 0; i < BLOCK; i++) at_x[i] = p->x[from + (uint32_t)i] + ray_x[i];
        for (int i = 0; i < BLOCK; i++) at_y[i] = p->y[from + (uint32_t)i] + ray_y[i];
        if (lines)
            nearest_line(lines, n_lines, at_x, at_y, off_x, off_y);
        else
            nearest_mark(map, kind, at_x, at_y, off_x, off_y);
        score_block(ray_x, ray_y, off_x, off_y, x * x + y * y, score, p->weight + from);
    }
}

void cloud_weigh(struct cloud *p, const struct sight_map *map, const struct sighting *seen,
                 const struct cloud_score *score)
{
    weigh_point(p, map, seen->kind, (float)seen->x, (float)seen->y, score);
    if (seen->kind >= SIGHT_LINE) weigh_point(p, map, seen->kind, (float)seen->x1, (float)seen->y1, score);
}
