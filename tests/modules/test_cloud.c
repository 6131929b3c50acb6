/* The scores that are computed for many particles at a time are those of one particle computed the plain way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "modules/position/cloud.h"

static const struct nm_pitch_size kid = {8.95, 5.95, 0.05, 0.95, 2.95, 1.95, 4.95, 1.475, 0.725, 2.6, 0.6, 0.1, 1};
static const struct cloud_score score = {0.55f, 0.05f, 0.1f};

/* The nearest thing of the kind to a point of the field. */
static void nearest(const struct sight_map *map, uint32_t kind, double x, double y, double *to_x, double *to_y)
{
    double best = 1e9;
    if (kind < SIGHT_LINE) {
        for (uint32_t i = map->first[kind]; i < map->first[kind + 1]; i++) {
            double off = hypot(map->marks[i].x - x, map->marks[i].y - y);
            if (off < best) best = off, *to_x = map->marks[i].x, *to_y = map->marks[i].y;
        }
        return;
    }
    uint32_t n;
    const struct nm_line *lines = sight_lines(map, kind, &n);
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k <= 4000; k++) { /* points along it */
            double px = lines[i].x0 + (lines[i].x1 - lines[i].x0) * k / 4000,
                   py = lines[i].y0 + (lines[i].y1 - lines[i].y0) * k / 4000;
            double off = hypot(px - x, py - y);
            if (off < best) best = off, *to_x = px, *to_y = py;
        }
}

/* By the angle between the two rays from the camera. */
static double plain(const struct sight_map *map, struct pose2 pose, uint32_t kind, double x, double y)
{
    struct pose2 at = pose2_mul(pose, (struct pose2){x, y, 0});
    double to_x = 0, to_y = 0;
    nearest(map, kind, at.x, at.y, &to_x, &to_y);
    struct vec3 seen = {at.x - pose.x, at.y - pose.y, -score.height},
                real = {to_x - pose.x, to_y - pose.y, -score.height};
    double cosine = vec3_dot(seen, real) / vec3_norm(seen) / vec3_norm(real);
    double q = 1 + 2 * (1 - fmin(cosine, 1)) / (score.angle * score.angle);
    return score.floor + (1 - score.floor) / (q * q);
}

static void scores_are_those_of_the_plain_way(void **state)
{
    (void)state;
    static struct cloud cloud;
    static struct sight_map map;
    static const uint32_t kinds[] = {NM_LANDMARK_POST, NM_LANDMARK_L,      NM_LANDMARK_T, NM_LANDMARK_X,
                                     NM_LANDMARK_MARK, NM_LANDMARK_CIRCLE, SIGHT_LINE,    SIGHT_BORDER};
    struct nm_dice dice = nm_dice_new(1, 2, 3);
    sight_map(&map, &kid);
    cloud.n = 101; /* not a whole number of blocks */
    for (uint32_t i = 0; i < cloud.n; i++) {
        cloud.x[i] = (float)(4.5 * nm_dice_both(&dice)), cloud.y[i] = (float)(3 * nm_dice_both(&dice));
        cloud.theta[i] = (float)(M_PI * nm_dice_both(&dice));
    }
    cloud_turned(&cloud);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct sighting seen = {.kind = kinds[k], .x = 1.2, .y = -0.4, .x1 = 2.1, .y1 = 0.3};
        for (uint32_t i = 0; i < cloud.n; i++) cloud.weight[i] = 1;
        cloud_weigh(&cloud, &map, &seen, &score);
        for (uint32_t i = 0; i < cloud.n; i++) {
            struct pose2 pose = {cloud.x[i], cloud.y[i], cloud.theta[i]};
            double want = plain(&map, pose, seen.kind, seen.x, seen.y);
            if (seen.kind >= SIGHT_LINE) want *= plain(&map, pose, seen.kind, seen.x1, seen.y1);
            if (fabs(cloud.weight[i] - want) > 0.01 * want + 1e-3)
                fail_msg("kind %u: %g is not %g", kinds[k], (double)cloud.weight[i], want);
        }
    }
}

/* Seen where it is: the best score. Seen elsewhere: never less than the floor. */
static void floor_and_peak(void **state)
{
    (void)state;
    static struct cloud cloud;
    static struct sight_map map;
    sight_map(&map, &kid);
    cloud.n = 2;
    cloud.theta[1] = 2;
    cloud_turned(&cloud);
    cloud.weight[0] = cloud.weight[1] = 1;
    cloud.x[0] = cloud.x[1] = -1;
    cloud_weigh(&cloud, &map, &(struct sighting){.kind = NM_LANDMARK_CIRCLE, .x = 1}, &score);
    assert_true(cloud.weight[0] > 0.999f);
    assert_true(cloud.weight[1] >= score.floor && cloud.weight[1] < score.floor + 0.01f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_plain_way),
        cmocka_unit_test(floor_and_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
