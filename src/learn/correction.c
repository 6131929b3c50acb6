#include "learn/correction.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clamp.h"

enum {
    ACTS = NM_GAIT_ACTS,
    NEURONS = NM_CORRECTION_NEURONS,
    COMMAND = NM_GAIT_FRAMES * NM_GAIT_FRAME, /* in the observation: ahead, to a side, turn */
    SIZES = 5,                                /* ahead, left, right, turns left and right   */
};

/* The gate opens from the first share of the speed ahead that was trained and is open from the second on, less what is
 * asked to the side and as a turn. A robot that is to stop must be rid of it early: with 0.45 or 0.6 as the first share
 * kid70 needed more steps for it. */
static const double BEGINS = 0.7, WHOLE = 0.8;

void nm_correction_init(struct nm_correction *c, const double most[4])
{
    *c = (struct nm_correction){
        .share = {(float)(1 / (NM_GAIT_SPEED * most[0])), (float)(1 / (NM_GAIT_SPEED * most[2])),
                  (float)(1 / (NM_GAIT_TURN * most[3]))},
        .slope = (float)(1 / (WHOLE - BEGINS)),
        .offset = (float)(-BEGINS / (WHOLE - BEGINS)),
    };
}

bool nm_correction_sane(const struct nm_correction *c)
{
    bool good = true;
    for (size_t i = 0; good && i < sizeof *c / sizeof(float); i++) {
        float x;
        memcpy(&x, (const char *)c + i * sizeof x, sizeof x);
        good = isfinite(x);
    }
    return good;
}

double nm_correction_gate(const struct nm_correction *c, const float obs[NM_GAIT_OBS])
{
    const float *v = obs + COMMAND;
    float ahead = c->share[0] * v[0], rest = c->share[1] * fabsf(v[1]) + c->share[2] * fabsf(v[2]);
    return nm_clamp((double)(c->slope * (ahead - rest) + c->offset), 0, 1);
}

/* ---- in a file ---- */

struct drawing {
    struct nm_net *net;
    struct nm_err *err;
};

/* A node of one or two inputs. */
static int32_t draw(const struct drawing *d, enum nm_net_op op, const char *name, int32_t a, const int32_t *b)
{
    const uint32_t in[2] = {(uint32_t)a, b ? (uint32_t)*b : 0};
    return a < 0 || (b && *b < 0) ? -1 : nm_net_add_node(d->net, name, op, in, b ? 2 : 1, NULL, name, d->err);
}

/* from w + bias; the constants are called NAME_w and NAME_b. */
static int32_t draw_product(const struct drawing *d, const char *name, int32_t from, uint32_t in, uint32_t out,
                            const float *w, const float *bias)
{
    char of[40];
    snprintf(of, sizeof of, "%s_w", name);
    int32_t matrix = nm_net_add_constant(d->net, of, (struct nm_net_shape){2, {in, out}}, w, d->err);
    snprintf(of, sizeof of, "%s_b", name);
    int32_t row = nm_net_add_constant(d->net, of, (struct nm_net_shape){1, {out}}, bias, d->err);
    const uint32_t all[3] = {(uint32_t)from, (uint32_t)matrix, (uint32_t)row};
    return from < 0 || matrix < 0 || row < 0 ? -1
                                             : nm_net_add_node(d->net, name, NM_OP_GEMM, all, 3, NULL, name, d->err);
}

/* Two layers: sizes of what is asked for; how far the gate is open, and how much too far. */
static int32_t draw_gate(const struct drawing *d, const struct nm_correction *c, uint32_t observation)
{
    const float *share = c->share, s = c->slope, none[SIZES] = {0};
    const float opens[SIZES][2] = {{s, s}, {-s, -s}, {-s, -s}, {-s, -s}, {-s, -s}};
    const float offsets[2] = {c->offset, c->offset - 1}, both[2] = {1, -1};
    float sizes[NM_GAIT_OBS][SIZES] = {[COMMAND] = {share[0]},
                                       [COMMAND + 1] = {0, share[1], -share[1]},
                                       [COMMAND + 2] = {0, 0, 0, share[2], -share[2]}};
    int32_t v = draw_product(d, "gate1", (int32_t)observation, NM_GAIT_OBS, SIZES, sizes[0], none);
    v = draw(d, NM_OP_RELU, "gate_sizes", v, NULL);
    v = draw_product(d, "gate2", v, SIZES, 2, opens[0], offsets);
    v = draw(d, NM_OP_RELU, "gate_opens", v, NULL);
    return draw_product(d, "gate", v, 2, 1, both, none);
}

/* Half of each answer counts, as in the last layer. */
static int32_t draw_half(const struct drawing *d, const struct nm_correction *c, const struct nm_gait *gait,
                         bool mirrored, int32_t hidden)
{
    float w[NEURONS + 1][ACTS];
    for (int i = 0; i <= NEURONS; i++)
        for (int o = 0; o < ACTS; o++) {
            struct nm_mirror from = mirrored ? gait->act[o] : (struct nm_mirror){(uint32_t)o, 1};
            w[i][o] = 0.5f * from.sign * c->last[i][from.from];
        }
    return draw_product(d, mirrored ? "mirrored_correction" : "correction", hidden, NEURONS, ACTS, w[0], w[NEURONS]);
}

int32_t nm_correction_write(const struct nm_correction *c, const struct nm_gait *gait, struct nm_net *net,
                            uint32_t observation, const int32_t hidden[2], int32_t action, const char *name,
                            struct nm_err *err)
{
    const struct drawing d = {net, err};
    int32_t gate = draw_gate(&d, c, observation);
    int32_t one = draw_half(&d, c, gait, false, hidden[0]), two = draw_half(&d, c, gait, true, hidden[1]);
    int32_t whole = draw(&d, NM_OP_ADD, "whole_correction", one, &two);
    int32_t part = draw(&d, NM_OP_MUL, "correction_part", whole, &gate);
    return draw(&d, NM_OP_ADD, name, action, &part);
}

static const float *find(const struct nm_net *net, const char *name, uint32_t n)
{
    int32_t at = nm_net_find(net, name);
    const struct nm_net_value *v = at < 0 ? NULL : &net->values[at];
    return v && v->constant && v->at && v->n == n ? v->at : NULL;
}

int nm_correction_read(struct nm_correction *c, const struct nm_net *net, struct nm_err *err)
{
    if (nm_net_find(net, "correction_w") < 0) return 1;
    const float *w = find(net, "correction_w", NEURONS * ACTS), *b = find(net, "correction_b", ACTS),
                *sizes = find(net, "gate1_w", NM_GAIT_OBS * SIZES), *opens = find(net, "gate2_w", SIZES * 2),
                *offsets = find(net, "gate2_b", 2);
    bool good = w && b && sizes && opens && offsets;
    if (good) {
        const float *at = sizes + COMMAND * SIZES;
        *c = (struct nm_correction){
            .share = {at[0], at[SIZES + 1], at[2 * SIZES + 3]}, .slope = opens[0], .offset = offsets[0]};
        for (int o = 0; o < ACTS; o++)
            for (int i = 0; i <= NEURONS; i++) c->last[i][o] = 2 * (i < NEURONS ? w[i * ACTS + o] : b[o]);
    }
    if (good && nm_correction_sane(c)) return 0;
    return nm_fail(err, "the policy has a correction of another kind than nutmeg learn walk --polish makes");
}
