/* What worlds are made of in tests: a pitch, both robots, and how they stand. */
#pragma once

#include "sim/sim_help.h"

struct fixture {
    struct nm_arena arena;
    struct nm_pitch pitch;
    const struct nm_body *kid70, *darwin;
    double stance[NM_JOINTS], small_stance[NM_JOINTS];
};

static inline int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    load_pitch(&f->pitch, "kid");
    f->kid70 = load_robot(&f->arena, "kid70");
    f->darwin = load_robot(&f->arena, "darwin");
    nm_stance(f->kid70, 0.05, f->stance);
    nm_stance(f->darwin, 0.05, f->small_stance);
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;
    nm_arena_free(&f->arena);
    free(f);
    return 0;
}

static inline struct nm_world_robot robot_at(const struct nm_body *body, const double *q, double x, double y,
                                             double theta)
{
    return (struct nm_world_robot){.body = body, .start = {x, y, theta}, .joints = q};
}
