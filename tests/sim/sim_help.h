/* Robots, fields and worlds for the simulator's tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "body/stance.h"
#include "sim/world.h"

static inline const struct nm_body *load_robot(struct nm_arena *arena, const char *name)
{
    char path[512];
    struct nm_err err = {0};
    snprintf(path, sizeof path, "%s/robots/%s", NM_ROOT, name);
    const struct nm_body *body = nm_body_load(arena, path, &err);
    if (!body) fail_msg("%s", err.text);
    return body;
}

static inline void load_pitch(struct nm_pitch *pitch, const char *name)
{
    char path[512];
    struct nm_err err = {0};
    snprintf(path, sizeof path, "%s/fields/%s.yaml", NM_ROOT, name);
    if (nm_pitch_read(pitch, path, &err) < 0) fail_msg("%s", err.text);
}

static inline struct nm_world *make_world(const struct nm_pitch *pitch, const struct nm_world_robot *robots, uint32_t n,
                                          const struct nm_world_options *options)
{
    struct nm_err err = {0};
    struct nm_world *world = nm_world_new(pitch, robots, n, options, &err);
    if (!world) fail_msg("%s", err.text);
    return world;
}

/* 1: upright, 0: lying, -1: on its head */
static inline double uprightness(const struct nm_world *world, uint32_t robot)
{
    struct nm_truth t;
    nm_world_truth(world, robot, &t);
    struct quat r = t.base_to_field.rot;
    return 1 - 2 * (r.x * r.x + r.y * r.y);
}

static inline void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.9g is not within %g of %.9g", a, tolerance, b);
}
