#include "sim/raycast.h"

#include <math.h>
#include <string.h>

#include "sim/grain.h"
#include "sim/ray_tile.h"
#include "base/wide.h"

/* A solid that may show, and the pixels it may touch: from low up to but not including high. */
struct nm_sight {
    struct ray_local solid;
    int32_t low_x, high_x, low_y, high_y;
};

struct nm_eye *nm_eye_new(struct nm_arena *arena, const struct nm_lens_map *lens)
{
    struct nm_eye *eye = nm_take_n(arena, struct nm_eye, 1);
    uint32_t pixels = lens->tiles_x * lens->tiles_y * NM_TILE_PIXELS;
    eye->lens = lens;
    eye->to_field = POSE_IDENTITY;
    eye->light = nm_take_n(arena, uint32_t, pixels);
    eye->things = nm_take_n(arena, uint8_t, pixels);
    for (int k = 0; k < 3; k++) eye->node[k] = nm_take_n(arena, float, lens->nodes_x * lens->nodes_y);
    eye->grains = nm_take_n(arena, int8_t, NM_GRAINS + lens->stride + NM_TILE);
    nm_grain_fill(eye->grains, lens->stride + NM_TILE);
    eye->sights = nm_take_n(arena, struct nm_sight, NM_SCENE_SOLIDS);
    eye->column = nm_take_n(arena, uint16_t, lens->tiles_x * NM_SCENE_SOLIDS);
    eye->column_n = nm_take_n(arena, uint16_t, lens->tiles_x);
    return eye;
}

static struct ray_view view_of(const struct nm_scene *scene, struct pose3 pose)
{
    struct ray_view view = {.scene = scene};
    struct mat3 m = quat_to_mat3(pose.rot);
    view.origin[0] = (float)pose.pos.x;
    view.origin[1] = (float)pose.pos.y;
    view.origin[2] = (float)fmax(pose.pos.z, 0.005); /* a fallen robot's camera does not look from under the carpet */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) view.axes[i][j] = (float)m.m[i][j];
    return view;
}

NM_WIDE static void turn_nodes(struct nm_eye *restrict eye, const struct ray_view *restrict view)
{
    const struct nm_lens_map *lens = eye->lens;
    uint32_t n = lens->nodes_x * lens->nodes_y;
    const float *restrict x = lens->node[0], *restrict y = lens->node[1], *restrict z = lens->node[2];
    for (int k = 0; k < 3; k++) {
        const float a = view->axes[k][0], b = view->axes[k][1], c = view->axes[k][2];
        float *restrict to = eye->node[k];
        for (uint32_t i = 0; i < n; i++) to[i] = a * x[i] + b * y[i] + c * z[i];
    }
}

static struct vec3 to_optical(const struct ray_view *view, const float at[3])
{
    float out[3];
    for (int k = 0; k < 3; k++) out[k] = view->axes[0][k] * at[0] + view->axes[1][k] * at[1] + view->axes[2][k] * at[2];
    return (struct vec3){out[0], out[1], out[2]};
}

/* False if the sphere lies outside the cone of all rays: its angle from the axis is larger than the cone's plus the one
 * under which its radius is seen. */
static bool in_cone(const struct nm_lens_map *lens, struct vec3 c, double reach)
{
    double far = vec3_dot(c, c) - reach * reach;
    return far <= 0 || c.z >= lens->wide_cos * sqrt(far) - lens->wide_sin * reach;
}

/* Keeps a rectangle to the picture; false if nothing is left of it. */
static bool clip(const struct nm_camera *camera, double low_u, double high_u, double low_v, double high_v,
                 struct nm_sight *sight)
{
    low_u = fmax(low_u, 0);
    low_v = fmax(low_v, 0);
    high_u = fmin(high_u, camera->width - 1);
    high_v = fmin(high_v, camera->height - 1);
    if (!(low_u <= high_u && low_v <= high_v)) return false;
    sight->low_x = (int32_t)low_u;
    sight->low_y = (int32_t)low_v;
    sight->high_x = (int32_t)high_u + 1;
    sight->high_y = (int32_t)high_v + 1;
    return true;
}

/* Something small and not near is as well bounded by its sphere, at an eighth of the cost. False if it is not small. A
 * sphere outside the picture leaves an empty rectangle, one too small to be seen too. */
static bool small_outline(const struct nm_lens_map *lens, struct vec3 centre, double reach, struct nm_sight *sight)
{
    const struct nm_camera *camera = &lens->camera;
    struct pixel at;
    /* the lens magnifies by its focal length along the axis, and by 1 / cos^2 more at the picture's rim */
    double scale = fmax(camera->fx, camera->fy) * reach / fmax(centre.z - reach, 1e-6);
    if (!(centre.z > 4 * reach) || scale > 4 || camera->lens == NM_FISHEYE) return false;
    scale *= 1.1 * vec3_norm(centre) / centre.z;
    if (!nm_camera_project(camera, centre, &at)) return false;
    *sight = (struct nm_sight){0};
    if (scale >= 0.35)
        clip(camera, at.u - scale - 0.5, at.u + scale + 0.5, at.v - scale - 0.5, at.v + scale + 0.5, sight);
    return true;
}

/* The rectangle around the corners of the solid's box, widened by the bow of its longest edge. A corner that the lens
 * does not show makes it the whole picture. False if it lies outside, or is too small to be seen. */
static bool outline(const struct nm_lens_map *lens, const struct ray_view *view, const struct nm_solid *s,
                    struct vec3 centre, struct nm_sight *sight)
{
    const struct nm_camera *camera = &lens->camera;
    float half[3] = {s->half[0], s->half[1], s->half[2]};
    struct vec3 axis[3];
    if (small_outline(lens, centre, nm_solid_reach(s), sight)) return sight->low_x < sight->high_x;
    double low_u = INFINITY, high_u = -INFINITY, low_v = INFINITY, high_v = -INFINITY;
    if (s->kind == NM_SOLID_SPHERE) half[1] = half[2] = half[0];
    if (s->kind == NM_SOLID_CAPSULE) half[2] += half[0];
    for (int k = 0; k < 3; k++) {
        float edge[3] = {s->rot[0][k] * half[k], s->rot[1][k] * half[k], s->rot[2][k] * half[k]};
        axis[k] = to_optical(view, edge);
    }
    /* all of it behind the nearest point a ray may hit: the head around its own camera */
    double ahead = centre.z + fabs(axis[0].z) + fabs(axis[1].z) + fabs(axis[2].z);
    if (ahead < RAY_NEAR_MM * 1e-3 * lens->wide_cos) return false;
    for (int i = 0; i < 8; i++) {
        struct vec3 p = centre;
        struct pixel at;
        for (int k = 0; k < 3; k++) p = (i >> k & 1) ? vec3_add(p, axis[k]) : vec3_sub(p, axis[k]);
        if (!nm_camera_project(camera, p, &at)) {
            *sight = (struct nm_sight){.high_x = (int32_t)camera->width, .high_y = (int32_t)camera->height};
            return true;
        }
        low_u = fmin(low_u, at.u);
        high_u = fmax(high_u, at.u);
        low_v = fmin(low_v, at.v);
        high_v = fmax(high_v, at.v);
    }
    double longest = fmax(high_u - low_u, high_v - low_v), bow = 0.5 + lens->bend * longest * longest;
    return longest >= 0.7 && clip(camera, low_u - bow, high_u + bow, low_v - bow, high_v + bow, sight);
}

static void find_sights(struct nm_eye *eye, const struct ray_view *view)
{
    const struct nm_lens_map *lens = eye->lens;
    const struct nm_scene *scene = view->scene;
    eye->n_sights = 0;
    for (uint32_t g = 0; g < scene->n_groups; g++) {
        const struct nm_solid_group *group = &scene->groups[g];
        float at[3];
        for (int k = 0; k < 3; k++) at[k] = group->pos[k] - view->origin[k];
        if (!in_cone(lens, to_optical(view, at), group->reach)) continue;
        for (uint32_t i = group->first; i < group->first + group->n; i++) {
            const struct nm_solid *s = &scene->solids[i];
            struct nm_sight *sight = &eye->sights[eye->n_sights];
            for (int k = 0; k < 3; k++) at[k] = s->pos[k] - view->origin[k];
            struct vec3 centre = to_optical(view, at);
            if (!in_cone(lens, centre, nm_solid_reach(s)) || !outline(lens, view, s, centre, sight)) continue;
            sight->solid = ray_localise(view, s);
            eye->n_sights++;
        }
    }
}

/* Hands the solids that touch a row of tiles to its tiles, nets last because they are seen through. */
static void sort_row(struct nm_eye *eye, int32_t top)
{
    memset(eye->column_n, 0, eye->lens->tiles_x * sizeof *eye->column_n);
    for (int net = 0; net < 2; net++)
        for (uint32_t i = 0; i < eye->n_sights; i++) {
            const struct nm_sight *s = &eye->sights[i];
            if (s->low_y >= top + NM_TILE || s->high_y <= top || (s->solid.coat == NM_COAT_NET) != net) continue;
            for (int32_t tile = s->low_x / NM_TILE; tile <= (s->high_x - 1) / NM_TILE; tile++)
                eye->column[tile * NM_SCENE_SOLIDS + eye->column_n[tile]++] = (uint16_t)i;
        }
}

static void draw_solids(const struct nm_eye *eye, uint32_t column, struct ray_tile *tile, int32_t top)
{
    const uint16_t *list = eye->column + column * NM_SCENE_SOLIDS;
    for (uint32_t i = 0; i < eye->column_n[column]; i++) {
        const struct nm_sight *s = &eye->sights[list[i]];
        int from = s->low_y > top ? s->low_y - top : 0, to = s->high_y < top + NM_TILE ? s->high_y - top : NM_TILE;
        ray_solid(tile, &s->solid, from * NM_TILE, to * NM_TILE);
    }
}

typedef float row16 __attribute__((vector_size(64)));

/* Directions of a tile's pixels from its 3 x 3 nodes: along each row of nodes, then down from one row to the next. */
NM_WIDE static void aim(const struct nm_eye *restrict eye, uint32_t tx, uint32_t ty, struct ray_tile *restrict tile)
{
    const row16 w0 = {1, .875f, .75f, .625f, .5f, .375f, .25f, .125f};
    const row16 w1 = {0, .125f, .25f, .375f, .5f, .625f, .75f, .875f, 1, .875f, .75f, .625f, .5f, .375f, .25f, .125f};
    const row16 w2 = {0, 0, 0, 0, 0, 0, 0, 0, 0, .125f, .25f, .375f, .5f, .625f, .75f, .875f};
    float *const to[3] = {tile->dx, tile->dy, tile->dz};
    uint32_t across = eye->lens->nodes_x;
    for (int k = 0; k < 3; k++) {
        const float *n = eye->node[k] + 2 * ty * across + 2 * tx;
        row16 *d = (row16 *)to[k], upper = n[0] * w0 + n[1] * w1 + n[2] * w2;
        for (int half = 0; half < 2; half++) {
            n += across;
            row16 lower = n[0] * w0 + n[1] * w1 + n[2] * w2, step = (lower - upper) / NM_NODE;
            for (int row = 0; row < NM_NODE; row++) d[half * NM_NODE + row] = upper + (float)row * step;
            upper = lower;
        }
    }
}

static struct ray_spread spread_of(const struct nm_eye *eye, uint32_t tx, uint32_t ty)
{
    struct ray_spread s;
    uint32_t across = eye->lens->nodes_x;
    for (int k = 0; k < 3; k++) {
        const float *mid = eye->node[k] + (2 * ty + 1) * across + 2 * tx + 1;
        s.du[k] = (mid[1] - mid[-1]) / NM_TILE;
        s.dv[k] = (mid[across] - mid[-(ptrdiff_t)across]) / NM_TILE;
    }
    return s;
}

NM_WIDE static void pack(const struct ray_tile *restrict tile, uint32_t *restrict light, uint8_t *restrict things)
{
    for (int i = 0; i < NM_TILE_PIXELS; i++) {
        float r = ray_most(tile->r[i], 0) * NM_FULL_LIGHT, g = ray_most(tile->g[i], 0) * NM_FULL_LIGHT,
              b = ray_most(tile->b[i], 0) * NM_FULL_LIGHT;
        light[i] = (uint32_t)(int32_t)ray_least(r, 1023) | (uint32_t)(int32_t)ray_least(g, 1023) << 10 |
                   (uint32_t)(int32_t)ray_least(b, 1023) << 20;
    }
    for (int i = 0; i < NM_TILE_PIXELS; i++) things[i] = (uint8_t)tile->thing[i];
}

static void store(const struct ray_tile *tile, uint32_t *light, uint8_t *things, uint32_t stride)
{
    uint32_t packed[NM_TILE_PIXELS];
    uint8_t what[NM_TILE_PIXELS];
    pack(tile, packed, what);
    for (uint32_t row = 0; row < NM_TILE; row++) {
        memcpy(light + row * stride, packed + row * NM_TILE, NM_TILE * sizeof *light);
        memcpy(things + row * stride, what + row * NM_TILE, NM_TILE);
    }
}

static void blacken(struct nm_eye *eye)
{
    uint32_t n = eye->lens->stride * eye->lens->tiles_y * NM_TILE;
    for (uint32_t i = 0; i < n; i++)
        if (eye->lens->blind[i]) {
            eye->light[i] = 0;
            eye->things[i] = NM_THING_NONE;
        }
}

void nm_eye_measures(struct nm_eye *eye, struct nm_arena *arena)
{
    if (!eye->range) eye->range = nm_take_n(arena, float, eye->lens->tiles_x * eye->lens->tiles_y * NM_TILE_PIXELS);
}

static void store_range(const struct ray_tile *tile, float *to, uint32_t stride)
{
    for (uint32_t y = 0; y < NM_TILE; y++) memcpy(to + (size_t)y * stride, tile->t + y * NM_TILE, NM_TILE * sizeof *to);
}

void nm_cast(struct nm_eye *eye, const struct nm_scene *scene, struct pose3 camera_to_field)
{
    const struct nm_lens_map *lens = eye->lens;
    struct ray_view view = view_of(scene, camera_to_field);
    struct ray_tile tile;
    eye->to_field = camera_to_field;
    turn_nodes(eye, &view);
    find_sights(eye, &view);
    for (uint32_t ty = 0; ty < lens->tiles_y; ty++) {
        sort_row(eye, (int32_t)(ty * NM_TILE));
        for (uint32_t tx = 0; tx < lens->tiles_x; tx++) {
            uint32_t at = ty * NM_TILE * lens->stride + tx * NM_TILE;
            struct ray_spread spread = spread_of(eye, tx, ty);
            aim(eye, tx, ty, &tile);
            ray_background(&view, &tile, &spread);
            draw_solids(eye, tx, &tile, (int32_t)(ty * NM_TILE));
            store(&tile, eye->light + at, eye->things + at, lens->stride);
            if (eye->range) store_range(&tile, eye->range + at, lens->stride);
        }
    }
    if (lens->blind) blacken(eye);
}
