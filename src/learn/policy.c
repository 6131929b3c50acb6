#include "learn/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
    struct nm_net *net;
    const struct nm_gait *gait;
    const struct nm_mlp *actor;
    uint32_t input;
    struct nm_err *err;
};

static int32_t add_pair(const struct making *m, enum nm_net_op op, int32_t a, int32_t b, const char *name)
{
    const uint32_t in[2] = {(uint32_t)a, (uint32_t)b};
    return a < 0 || b < 0 ? -1 : nm_net_add_node(m->net, name, op, in, 2, NULL, name, m->err);
}

/* The mirrored answer needs no operator of its own: a mirrored observation is a first matrix with other rows, a
 * mirrored action a last matrix with other columns. */
static int32_t add_branch(const struct making *m, const float *weights, const char *prefix, bool mirrored,
                          uint32_t constants[NM_MLP_LAYERS][2])
{
    const char *side = mirrored ? "mirrored_" : "";
    int32_t value = (int32_t)m->input;
    for (uint32_t l = 0; l < m->actor->layers && value >= 0; l++) {
        uint32_t in = m->actor->width[l], out = m->actor->width[l + 1], wide = nm_padded(out);
        bool first = l == 0, last = l + 1 == m->actor->layers;
        char name[40], next[40];
        if (!mirrored || first || last) {
            float *w = malloc(((size_t)in + 1) * out * sizeof *w); /* the bias is its last row */
            if (!w) abort();
            for (uint32_t i = 0; i < in + 1; i++)
                for (uint32_t o = 0; o < out; o++) {
                    struct nm_mirror row = mirrored && first && i < in ? m->gait->obs[i] : (struct nm_mirror){i, 1};
                    struct nm_mirror column = mirrored && last ? m->gait->act[o] : (struct nm_mirror){o, 1};
                    float from = weights[nm_mlp_matrix(m->actor, l) + (size_t)row.from * wide + column.from];
                    w[(size_t)i * out + o] = from * row.sign * column.sign * (last ? 0.5f : 1);
                }
            snprintf(name, sizeof name, "%s%sw%u", prefix, side, l + 1);
            constants[l][0] =
                (uint32_t)nm_net_add_constant(m->net, name, (struct nm_net_shape){2, {in, out}}, w, m->err);
            snprintf(name, sizeof name, "%s%sb%u", prefix, side, l + 1);
            constants[l][1] = (uint32_t)nm_net_add_constant(m->net, name, (struct nm_net_shape){1, {out}},
                                                            w + (size_t)in * out, m->err);
            free(w);
        }
        const uint32_t from[3] = {(uint32_t)value, constants[l][0], constants[l][1]};
        snprintf(name, sizeof name, "%s%slayer%u", prefix, side, l + 1);
        value = nm_net_add_node(m->net, name, NM_OP_GEMM, from, 3, NULL, name, m->err);
        if (last || value < 0) break;
        const uint32_t line[1] = {(uint32_t)value};
        snprintf(next, sizeof next, "%s%selu%u", prefix, side, l + 1);
        value = nm_net_add_node(m->net, next, NM_OP_ELU, line, 1, NULL, next, m->err);
    }
    return value;
}

static int32_t add_network(const struct making *m, const float *weights, const char *prefix, const char *name)
{
    uint32_t constants[NM_MLP_LAYERS][2];
    int32_t one = add_branch(m, weights, prefix, false, constants);
    int32_t two = one < 0 ? -1 : add_branch(m, weights, prefix, true, constants);
    return add_pair(m, NM_OP_ADD, one, two, name);
}

static int32_t add_corrected(const struct making *m, const float *weights, const struct nm_correction *correction,
                             const char *name)
{
    if (!correction) return add_network(m, weights, "", name);
    int32_t plain = add_network(m, weights, "", "plain_action");
    char hidden[40];
    snprintf(hidden, sizeof hidden, "mirrored_elu%u", m->actor->layers - 1);
    const int32_t both[2] = {nm_net_find(m->net, hidden + strlen("mirrored_")), nm_net_find(m->net, hidden)};
    return nm_correction_write(correction, m->gait, m->net, m->input, both, plain, name, m->err);
}

static int32_t add_action(const struct making *m, const float *weights, const float *slow,
                          const struct nm_correction *correction)
{
    if (!slow) return add_corrected(m, weights, correction, "action");
    int32_t fast = add_corrected(m, weights, correction, "fast_action");
    int32_t other = add_network(m, slow, NM_POLICY_SLOW, NM_POLICY_SLOW "action");
    int32_t differs = add_pair(m, NM_OP_SUB, other, fast, "difference");
    int32_t share = nm_net_add_input(m->net, "slow", (struct nm_net_shape){2, {1, 1}}, m->err);
    int32_t part = add_pair(m, NM_OP_MUL, differs, share, "slow_part");
    return add_pair(m, NM_OP_ADD, fast, part, "action");
}

static void describe(const struct making *m, const struct nm_walk_limits *limits)
{
    char text[4000];
    nm_gait_describe(m->gait, text, sizeof text);
    nm_net_add_note(m->net, "gait", text, m->err);
    snprintf(text, sizeof text, "forward: %.3f\nback: %.3f\nside: %.3f\nturn: %.3f\n", limits->most[0], limits->most[1],
             limits->most[2], limits->most[3]);
    nm_net_add_note(m->net, "limits", text, m->err);
    nm_net_add_note(m->net, "robot", m->gait->body->name, m->err);
}

struct nm_net *nm_policy_net(const struct nm_gait *gait, const struct nm_walk_limits *limits,
                             const struct nm_mlp *actor, const float *weights, const float *slow,
                             const struct nm_correction *correction, struct nm_err *err)
{
    struct making m = {nm_net_new(), gait, actor, 0, err};
    int32_t input = nm_net_add_input(m.net, "observation", (struct nm_net_shape){2, {1, NM_GAIT_OBS}}, err);
    m.input = (uint32_t)input;
    int32_t out = input < 0 ? -1 : add_action(&m, weights, slow, correction);
    if (out < 0 || nm_net_add_output(m.net, (uint32_t)out, err) || nm_net_prepare(m.net, err)) {
        nm_net_free(m.net);
        return NULL;
    }
    describe(&m, limits);
    return m.net;
}
