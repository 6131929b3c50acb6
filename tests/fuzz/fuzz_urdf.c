/* Any bytes as a URDF: either sentences, or a body on which everything works without a crash. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "body/dynamics.h"
#include "body/leg_ik.h"
#include "body/look.h"
#include "body/silhouette.h"
#include "body/state.h"

static void move(const struct nm_body *body)
{
    static struct nm_kin kin;
    static struct nm_state state;
    static struct nm_outline outlines[64];
    double q[NM_JOINTS];
    for (uint32_t i = 0; i < NM_JOINTS; i++) q[i] = 0.1 * (double)(i % 7);
    nm_apply_mimics(body, q);
    nm_forward(body, POSE_IDENTITY, q, &kin);

    struct nm_motion motion = {.base_to_world = POSE_IDENTITY, .gravity = {0, 0, -9.81}, .q = q, .qd = q, .qdd = q};
    struct nm_effort effort;
    struct nm_push push = {.frame = body->n_frames - 1, .force = {1, 2, 3}};
    nm_inverse_dynamics(body, &motion, &push, 1, &effort);

    nm_state_reset(&state, body, (struct pose2){0, 0, 0});
    for (int64_t t = 1; t < 4; t++)
        nm_state_update(
            &state, body,
            &(struct nm_readings){.time = t * 5000000, .q = q, .torso_to_world = QUAT_IDENTITY, .weight = {1, 2}});
    nm_state_kin(&state, body, 7000000, &kin);
    for (uint32_t i = 0; i < body->n_cameras; i++) nm_silhouette(body, &kin, i, outlines, 64);

    for (int side = 0; side < 2; side++) {
        struct nm_leg leg;
        double at[NM_GROUP] = {0};
        if (nm_leg_init(&leg, body, (enum nm_side)side, NULL)) continue;
        nm_leg_ik(&leg, (struct pose3){QUAT_IDENTITY, {0, 0, -0.3}}, at, NULL);
    }
    struct nm_neck neck;
    double at[NM_GROUP] = {0};
    if (!nm_neck_init(&neck, body, body->head.end, NULL)) nm_look_at(&neck, (struct vec3){1, 0.5, 0}, at, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const struct nm_urdf *urdf = nm_urdf_parse(&arena, "fuzz.urdf", (const char *)data, size, &err);
    const struct nm_body *body = urdf ? nm_body_from_urdf(&arena, urdf, &err) : NULL;
    if (body) {
        FILE *nowhere = fopen("/dev/null", "w");
        nm_body_describe(body, nowhere);
        fclose(nowhere);
        move(body);
    } else if (!err.n) {
        __builtin_trap(); /* refused without a sentence */
    }
    nm_arena_free(&arena);
    return 0;
}
