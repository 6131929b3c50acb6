/* A robot that stands and could kick, with the parameters that every body begins with. */
#pragma once

#include "body/robots.h"

#include "modules/motion/kick_engine.h"

struct rig {
    struct nm_arena arena;
    const struct nm_body *body;
    struct kick_engine engine;
    struct kick_params params;
    struct kick_stand stand;
    double size; /* of the legs, against those that the parameters are written for */
};

/* Standing with bent knees, feet side by side. */
static inline void stand_up(struct rig *r)
{
    double q[NM_JOINTS] = {0};
    struct nm_kin kin;
    nm_forward(r->body, POSE_IDENTITY, q, &kin);
    for (int side = 0; side < 2; side++) {
        struct pose3 sole = kin.pose[r->body->foot[side].sole];
        double leg_q[NM_GROUP] = {0};
        sole.pos.z += 0.03 * r->size;
        sole.pos.x += 0.002;
        assert_int_equal(nm_leg_ik(&r->engine.leg[side], sole, leg_q, NULL), NM_REACHED);
        for (uint32_t i = 0; i < 6; i++) q[r->body->leg[side].joints[i]] = leg_q[i];
    }
    r->stand = kick_stand_of(r->body, q);
}

static inline void rig_start(struct rig *r, const char *path)
{
    struct nm_err err = {0};
    memset(r, 0, sizeof *r);
    r->body = load(&r->arena, path);
#define X(name, value, least, most, unit, power, about) r->params.plan.path.name = value;
    KICK_PATH_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) r->params.plan.reach.name = value;
    KICK_REACH_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) r->params.plan.name = value;
    KICK_PLAN_PARAMS(X)
#undef X
#define X(name, value, least, most, unit, power, about) r->params.name = value;
    KICK_ENGINE_PARAMS(X)
#undef X
    if (kick_engine_init(&r->engine, r->body, &err)) fail_msg("%s", err.text);
    double leg = kick_leg_length(&r->engine.leg[NM_LEFT]);
    r->size = leg / KICK_LEG;
    kick_params_scale(&r->params, leg);
    stand_up(r);
}

static inline void rig_end(struct rig *r) { nm_arena_free(&r->arena); }

static inline int choose(const struct rig *r, struct kick_want want, struct kick_choice *choice, char *why, size_t size)
{
    return kick_choose(&r->params.plan.path, &r->params.plan.reach, &r->stand, &want, choice, why, size);
}
