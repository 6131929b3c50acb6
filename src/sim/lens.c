#include "sim/lens.h"

#include <math.h>

/* The direction of a pixel, or of the nearest one towards the middle of the picture that has one. */
static struct vec3 direction(const struct nm_camera *camera, double u, double v)
{
    struct vec3 d = {0, 0, 1};
    if (nm_camera_unproject(camera, (struct pixel){u, v}, &d)) return d;
    double seen = 0, blind = 1;
    for (int i = 0; i < 24; i++) {
        double s = (seen + blind) / 2;
        struct pixel p = {camera->cx + s * (u - camera->cx), camera->cy + s * (v - camera->cy)};
        if (nm_camera_unproject(camera, p, &d))
            seen = s;
        else
            blind = s;
    }
    struct pixel p = {camera->cx + seen * (u - camera->cx), camera->cy + seen * (v - camera->cy)};
    nm_camera_unproject(camera, p, &d);
    return d;
}

/* The widest angle, and the largest curvature of the grid on the plane z = 1, where straight lines are straight: the
 * second difference of three nodes over the square of their first, an eighth of it being a chord's height. */
static void measure(struct nm_lens_map *map)
{
    double least = 1, bend = 0;
    for (uint32_t y = 0; y < map->nodes_y; y++)
        for (uint32_t x = 0; x < map->nodes_x; x++) {
            uint32_t i = y * map->nodes_x + x;
            least = fmin(least, map->node[2][i]);
            for (int along = 0; along < 2; along++) {
                uint32_t step = along ? map->nodes_x : 1, at = along ? y : x, n = along ? map->nodes_y : map->nodes_x;
                if (at == 0 || at + 1 >= n) continue;
                double p[3][2];
                for (uint32_t j = 0; j < 3; j++) {
                    uint32_t k = i + j * step - step;
                    double z = fmax(map->node[2][k], 0.05);
                    p[j][0] = map->node[0][k] / z;
                    p[j][1] = map->node[1][k] / z;
                }
                double first = vec2_norm(p[2][0] - p[0][0], p[2][1] - p[0][1]) / 2;
                double second = vec2_norm(p[2][0] - 2 * p[1][0] + p[0][0], p[2][1] - 2 * p[1][1] + p[0][1]);
                bend = fmax(bend, first > 0 ? second / first / NM_NODE : 1);
            }
        }
    map->wide_cos = (float)least;
    map->wide_sin = (float)sqrt(fmax(1 - least * least, 0));
    map->bend = (float)(bend / 8);
}

static void mark_blind(struct nm_lens_map *map, struct nm_arena *arena)
{
    const struct nm_camera *c = &map->camera;
    map->blind = nm_take_n(arena, uint8_t, map->stride * map->tiles_y * NM_TILE);
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width; x++) {
            struct vec3 d;
            map->blind[y * map->stride + x] = !nm_camera_unproject(c, (struct pixel){x, y}, &d);
        }
}

/* True if some pixel on the picture's rim has no direction: distortion grows outwards, so the rim shows it. */
static bool rim_is_blind(const struct nm_camera *c)
{
    struct vec3 d;
    for (uint32_t x = 0; x < c->width; x++)
        if (!nm_camera_unproject(c, (struct pixel){x, 0}, &d) ||
            !nm_camera_unproject(c, (struct pixel){x, c->height - 1}, &d))
            return true;
    for (uint32_t y = 0; y < c->height; y++)
        if (!nm_camera_unproject(c, (struct pixel){0, y}, &d) ||
            !nm_camera_unproject(c, (struct pixel){c->width - 1, y}, &d))
            return true;
    return false;
}

struct nm_lens_map *nm_lens_map_new(struct nm_arena *arena, const struct nm_camera *camera, struct nm_err *err)
{
    struct vec3 middle;
    if (camera->width < 1 || camera->height < 1 || camera->width > NM_PICTURE_SIDE ||
        camera->height > NM_PICTURE_SIDE) {
        nm_fail(err, "a camera of %u x %u pixels cannot be drawn: each side must lie between 1 and %d", camera->width,
                camera->height, NM_PICTURE_SIDE);
        return NULL;
    }
    if (!nm_camera_unproject(camera, (struct pixel){camera->cx, camera->cy}, &middle)) {
        nm_fail(err, "the camera's lens model gives no direction for its principal point %g, %g", camera->cx,
                camera->cy);
        return NULL;
    }

    struct nm_lens_map *map = nm_take_n(arena, struct nm_lens_map, 1);
    map->camera = *camera;
    map->tiles_x = (camera->width + NM_TILE - 1) / NM_TILE;
    map->tiles_y = (camera->height + NM_TILE - 1) / NM_TILE;
    map->stride = map->tiles_x * NM_TILE;
    map->nodes_x = 2 * map->tiles_x + 1;
    map->nodes_y = 2 * map->tiles_y + 1;
    for (int k = 0; k < 3; k++) map->node[k] = nm_take_n(arena, float, map->nodes_x * map->nodes_y);
    for (uint32_t y = 0; y < map->nodes_y; y++)
        for (uint32_t x = 0; x < map->nodes_x; x++) {
            struct vec3 d = direction(camera, x * NM_NODE, y * NM_NODE);
            uint32_t i = y * map->nodes_x + x;
            map->node[0][i] = (float)d.x;
            map->node[1][i] = (float)d.y;
            map->node[2][i] = (float)d.z;
        }

    measure(map);
    if (rim_is_blind(camera)) mark_blind(map, arena);
    return map;
}
