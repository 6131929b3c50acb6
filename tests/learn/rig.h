/* A robot and a field for tests of learning. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "learn/trainer.h"
#include "nn/onnx.h"

struct rig {
    struct nm_arena arena;
    struct nm_pitch pitch;
    const struct nm_body *body;
    struct nm_gait gait;
};

static inline void rig_begin(struct rig *rig, const char *robot)
{
    struct nm_err err = {0};
    char path[300];
    *rig = (struct rig){0};
    snprintf(path, sizeof path, NM_ROOT "/robots/%s", robot);
    rig->body = nm_body_load(&rig->arena, path, &err);
    if (!rig->body || nm_gait_init(&rig->gait, rig->body, &err) ||
        nm_pitch_read(&rig->pitch, NM_ROOT "/fields/kid.yaml", &err))
        fail_msg("%s", err.text);
}

static inline void rig_end(struct rig *rig) { nm_arena_free(&rig->arena); }

/* The policy as its file, to be freed. */
static inline void *rig_policy(const struct nm_trainer *t, size_t *n)
{
    struct nm_err err = {0};
    struct nm_net *net = nm_trainer_net(t, &err);
    if (!net) fail_msg("%s", err.text);
    void *bytes = nm_onnx_write(net, n);
    nm_net_free(net);
    return bytes;
}
