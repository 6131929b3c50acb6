/* Where a robot was lately: the newest poses of its odometry (or of the truth), to be asked for the time at which an
 * image was taken. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/geometry.h"

enum { NM_TRAIL = 64 };

struct nm_trail {
    uint32_t n; /* that were ever put */
    struct {
        int64_t at; /* ns */
        struct pose2 pose;
    } last[NM_TRAIL];
};

/* Poses that are not newer than the last, or not finite, are left out. */
static inline void nm_trail_put(struct nm_trail *t, int64_t at, struct pose2 pose)
{
    if (t->n && t->last[(t->n - 1) % NM_TRAIL].at >= at) return;
    if (!isfinite(pose.x + pose.y + pose.theta)) return;
    t->last[t->n % NM_TRAIL].at = at;
    t->last[t->n++ % NM_TRAIL].pose = pose;
}

static inline struct pose2 nm_trail_newest(const struct nm_trail *t)
{
    return t->n ? t->last[(t->n - 1) % NM_TRAIL].pose : (struct pose2){0};
}

/* Where the robot was at a time: between two poses by interpolation, outside of them the nearest one. */
static inline struct pose2 nm_trail_at(const struct nm_trail *t, int64_t at)
{
    if (!t->n) return (struct pose2){0};
    uint32_t oldest = t->n > NM_TRAIL ? t->n - NM_TRAIL : 0, i = t->n - 1;
    while (i > oldest && t->last[i % NM_TRAIL].at > at) i--;
    struct pose2 a = t->last[i % NM_TRAIL].pose;
    int64_t from = t->last[i % NM_TRAIL].at, to = t->last[(i + 1) % NM_TRAIL].at;
    if (i + 1 == t->n || from >= at) return a;
    struct pose2 b = t->last[(i + 1) % NM_TRAIL].pose;
    double k = (double)(at - from) / (double)(to - from);
    return (struct pose2){a.x + k * (b.x - a.x), a.y + k * (b.y - a.y),
                          angle_normal(a.theta + k * angle_normal(b.theta - a.theta))};
}
