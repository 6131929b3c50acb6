/* The robots that the body's tests run on: our folders, and two URDFs of real robots from tests/data; and random poses
 * from a fixed seed. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "body/robot.h"

#define KID70    NM_ROOT "/robots/kid70"
#define DARWIN   NM_ROOT "/robots/darwin"
#define WOLFGANG NM_ROOT "/tests/data/urdf/wolfgang.urdf"
#define NAO      NM_ROOT "/tests/data/urdf/nao_v50.urdf"

static const char *const all_robots[] = {KID70, DARWIN, WOLFGANG, NAO};

static inline const struct nm_body *load(struct nm_arena *arena, const char *path)
{
    struct nm_err err = {0};
    const struct nm_body *body = nm_body_load(arena, path, &err);
    if (!body) fail_msg("%s", err.text);
    return body;
}

static inline const struct nm_body *load_text(struct nm_arena *arena, const char *urdf)
{
    struct nm_err err = {0};
    const struct nm_urdf *parsed = nm_urdf_parse(arena, "text", urdf, strlen(urdf), &err);
    const struct nm_body *body = parsed ? nm_body_from_urdf(arena, parsed, &err) : NULL;
    if (!body) fail_msg("%s", err.text);
    return body;
}

/* A slider on a turntable, 1 m above the ground, for closed forms: 2 kg, 0.5 kg m^2 about the vertical. */
static inline const struct nm_body *load_crane(struct nm_arena *arena)
{
    return load_text(
        arena,
        "<robot name='crane'><link name='base_link'/><link name='table'/><link name='slide'><inertial><mass value='2'/>"
        "<inertia ixx='1' iyy='1' izz='0.5'/></inertial></link>"
        "<joint name='turn' type='continuous'><parent link='base_link'/><child link='table'/>"
        "<axis xyz='0 0 2'/></joint>"
        "<joint name='push' type='prismatic'><parent link='table'/><child link='slide'/><origin xyz='0 0 1'/>"
        "<axis xyz='1 0 0'/><limit lower='0' upper='1' effort='1' velocity='1'/></joint></robot>");
}

/* xorshift64*, uniform in [low, high) */
static inline double dice(uint64_t *seed, double low, double high)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return low + (high - low) * (double)(*seed * 2685821657736338717ULL >> 11) / 9007199254740992.0;
}

static inline struct quat dice_turn(uint64_t *seed)
{
    struct quat q = {dice(seed, -1, 1), dice(seed, -1, 1), dice(seed, -1, 1), dice(seed, -1, 1)};
    return quat_normal(q);
}

static inline struct vec3 dice_vec(uint64_t *seed, double size)
{
    return (struct vec3){dice(seed, -size, size), dice(seed, -size, size), dice(seed, -size, size)};
}

/* every joint within its limits, endless ones within a turn */
static inline void dice_joints(uint64_t *seed, const struct nm_body *body, double q[])
{
    for (uint32_t i = 0; i < body->n_joints; i++)
        q[i] = dice(seed, fmax(body->joints[i].lower, -M_PI), fmin(body->joints[i].upper, M_PI));
}

static inline double radians(double degrees) { return degrees * M_PI / 180; }

/* sets a joint by name, in degrees */
static inline void set(const struct nm_body *body, double q[], const char *name, double degrees)
{
    int32_t j = nm_find_joint(body, name);
    assert_true(j >= 0);
    q[j] = radians(degrees);
}

static inline uint32_t frame(const struct nm_body *body, const char *name)
{
    int32_t f = nm_find_frame(body, name);
    if (f < 0) fail_msg("%s has no frame %s", body->name, name);
    return (uint32_t)f;
}

#define assert_near(a, b, eps)                                                                                         \
    do {                                                                                                               \
        double a_ = (a), b_ = (b);                                                                                     \
        if (!(fabs(a_ - b_) <= (eps))) fail_msg("%s is %.12g, not %.12g", #a, a_, b_);                                 \
    } while (0)

#define assert_vec_near(v, X, Y, Z, eps)                                                                               \
    do {                                                                                                               \
        struct vec3 v_ = (v);                                                                                          \
        assert_near(v_.x, X, eps);                                                                                     \
        assert_near(v_.y, Y, eps);                                                                                     \
        assert_near(v_.z, Z, eps);                                                                                     \
    } while (0)

static inline double pose_distance(struct pose3 a, struct pose3 b)
{
    return vec3_norm(vec3_sub(a.pos, b.pos)) + quat_angle(a.rot, b.rot);
}
