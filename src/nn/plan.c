/* How a network is run: which nodes are joined to one, which values stand in blocks (nn/image.h), where everything
 * lies, and in which steps it is computed. */
#include <string.h>

#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/image.h"

enum way { FOLDED, PLAIN, VIEW, BLOCKS }; /* FOLDED: nothing is left to do */

struct plan {
    struct nm_net *net;
    enum way way[NM_NET_NODES];
    uint32_t end[NM_NET_NODES]; /* the value with which a node ends, with what is joined to it       */
    struct nm_curve curve[NM_NET_NODES];
    bool has_curve[NM_NET_NODES];
    float *affine[NM_NET_NODES];  /* scale and shift of convolutions, channels each                    */
    uint32_t root[NM_NET_VALUES]; /* the value with the same numbers and shape                         */
    uint32_t uses[NM_NET_VALUES];
    bool made_as_blocks[NM_NET_VALUES];
    bool only_conv[NM_NET_VALUES]; /* only convolutions read it as blocks: its pixels may be narrow     */
    bool plain[NM_NET_VALUES], blocks[NM_NET_VALUES]; /* a step has made it so already                       */
};

static struct nm_net_value *value(const struct plan *p, uint32_t v) { return &p->net->values[p->root[v]]; }

/* ---- joining ---- */

static const struct nm_net_node *only_reader(const struct plan *p, uint32_t v)
{
    if (p->uses[v] != 1) return NULL;
    for (uint32_t i = 0; i < p->net->n_nodes; i++)
        for (uint32_t k = 0; k < p->net->nodes[i].n_in; k++)
            if (p->net->nodes[i].in[k] == v) return &p->net->nodes[i];
    return NULL;
}

/* A convolution takes the scales, shifts, one curve and one pool that follow it and that nothing else reads. */
static void join(struct plan *p, uint32_t i)
{
    struct nm_net *net = p->net;
    uint32_t channels = net->values[net->nodes[i].out].shape.dims[1];
    float *scale = p->affine[i] = nm_take_n(&net->arena, float, 4 * (size_t)channels), *shift = scale + channels,
          *s = shift + channels, *t = s + channels;
    bool cut = true; /* no curve yet, or one that only cuts off */
    for (uint32_t c = 0; c < channels; c++) scale[c] = 1;
    for (const struct nm_net_node *next; (next = only_reader(p, p->end[i])) && next->n_out == 1;) {
        struct nm_curve curve;
        bool pool = false;
        if (!p->has_curve[i] && nm_image_affine(net, next, s, t)) {
            for (uint32_t c = 0; c < channels; c++) scale[c] *= s[c], shift[c] = shift[c] * s[c] + t[c];
        } else if (!p->has_curve[i] && nm_curve_of(net, next, &curve)) {
            p->curve[i] = curve, p->has_curve[i] = true;
            cut = curve.op == NM_OP_RELU || curve.op == NM_OP_CLIP;
        } else if (!cut || !(pool = nm_conv_pool(&net->nodes[i], next))) {
            return;
        }
        p->way[next - net->nodes] = FOLDED;
        p->end[i] = next->out;
        if (pool) return;
    }
}

/* ---- which nodes work on blocks ---- */

static bool is_image(const struct nm_net_shape *s, uint32_t dims[4]) { return s->rank > 2 && nm_image_dims(s, dims); }

/* Dimensions with ones in front, up to the rank of `to`. */
static void raise_rank(const struct nm_net_shape *s, uint32_t rank, uint32_t dims[4])
{
    struct nm_net_shape wide = {.rank = rank};
    for (uint32_t d = 0; d < rank; d++) wide.dims[d] = d + s->rank < rank ? 1 : s->dims[d + s->rank - rank];
    nm_image_dims(&wide, dims);
}

static bool pair_as_blocks(const struct plan *p, const struct nm_net_node *node)
{
    const struct nm_net_shape *out = &p->net->values[node->out].shape;
    uint32_t y[4], x[4];
    bool any = false;
    if (node->op < NM_OP_ADD || node->op > NM_OP_PRELU || node->n_in != 2 || !is_image(out, y)) return false;
    for (uint32_t i = 0; i < 2; i++) {
        const struct nm_net_value *v = value(p, node->in[i]);
        raise_rank(&v->shape, out->rank, x);
        bool fits = x[1] == y[1] && (x[0] == y[0] || x[0] == 1) && (x[2] == y[2] || x[2] == 1) &&
                    (x[3] == y[3] || x[3] == 1) && (v->constant || v->shape.rank == out->rank);
        if (!fits && !(v->constant && v->n == 1)) return false;
        any |= p->made_as_blocks[p->root[node->in[i]]];
    }
    return any;
}

static bool concat_as_blocks(const struct plan *p, const struct nm_net_node *node)
{
    const struct nm_net_shape *out = &p->net->values[node->out].shape;
    int64_t axis = nm_attribute_whole(node, "axis", 1);
    uint32_t y[4];
    bool any = false;
    if (!is_image(out, y) || (axis < 0 ? axis + out->rank : axis) != 1) return false;
    for (uint32_t i = 0; i < node->n_in; i++) {
        if (i + 1 < node->n_in && value(p, node->in[i])->shape.dims[1] % NM_BLOCK) return false;
        any |= p->made_as_blocks[p->root[node->in[i]]];
    }
    return any;
}

static bool same_shape_view(enum nm_net_op op)
{
    return op == NM_OP_IDENTITY || op == NM_OP_DROPOUT || op == NM_OP_CAST;
}

static void choose(struct plan *p, uint32_t i)
{
    const struct nm_net_node *node = &p->net->nodes[i];
    struct nm_curve curve;
    uint32_t dims[4];
    p->end[i] = node->out;
    if (p->net->values[node->out].constant) p->way[i] = FOLDED;
    if (p->way[i] == FOLDED) return;
    if (same_shape_view(node->op)) {
        p->root[node->out] = p->root[node->in[0]];
        p->way[i] = FOLDED;
        return;
    }
    bool conv = node->op == NM_OP_CONV || node->op == NM_OP_CONV_TRANSPOSE;
    if (!nm_ops[node->op].run || pair_as_blocks(p, node) || (node->op == NM_OP_CONCAT && concat_as_blocks(p, node)) ||
        (nm_curve_of(p->net, node, &curve) && p->made_as_blocks[p->root[node->in[0]]] &&
         is_image(&p->net->values[node->out].shape, dims)))
        p->way[i] = BLOCKS;
    else
        p->way[i] = nm_ops[node->op].view ? VIEW : PLAIN;
    if (conv) join(p, i);
    if (p->way[i] != BLOCKS) return;
    p->made_as_blocks[p->end[i]] = true;
    uint32_t reads = node->op == NM_OP_CONCAT || (node->op >= NM_OP_ADD && node->op <= NM_OP_PRELU) ? node->n_in : 1;
    for (uint32_t k = 0; k < reads; k++)
        if (!conv) p->only_conv[p->root[node->in[k]]] = false;
}

/* ---- where images lie ---- */

static struct nm_blocks *blocks_new(struct nm_net *net, const uint32_t dims[4], bool narrow)
{
    struct nm_blocks *b = nm_take_n(&net->arena, struct nm_blocks, 1);
    *b = (struct nm_blocks){.n = dims[0], .c = dims[1], .h = dims[2], .w = dims[3], .step = NM_BLOCK};
    if (narrow && dims[1] <= 4) b->step = dims[1] == 1 ? 1 : 4;
    return b;
}

static struct nm_blocks *blocks_of_value(struct plan *p, uint32_t v)
{
    struct nm_net_value *x = value(p, v);
    uint32_t dims[4];
    if (x->blocks) return x->blocks;
    nm_image_dims(&x->shape, dims);
    return x->blocks = blocks_new(p->net, dims, p->only_conv[p->root[v]] && !p->made_as_blocks[p->root[v]]);
}

/* The first block of the whole in which an image lies, through all that hold it. */
static struct nm_blocks *outermost(struct nm_blocks *b, uint32_t *first)
{
    *first = 0;
    for (; b->whole; b = b->whole) *first += b->first;
    return b;
}

static int place(struct nm_net *net, struct nm_blocks *b, struct nm_err *err)
{
    uint32_t first;
    struct nm_blocks *all = outermost(b, &first);
    if (!all->at) {
        uint32_t blocks = (all->c + NM_BLOCK - 1) / NM_BLOCK;
        double floats = ((double)all->w + all->left + all->right) * ((double)all->h + all->top + all->bottom) *
                        (double)all->step * blocks * all->n;
        if (floats + (double)net->computed > NM_NET_COMPUTED)
            return nm_fail(err, "the network needs more than %d million numbers", NM_NET_COMPUTED >> 20);
        net->computed += (uint64_t)floats;
        all->row = (size_t)(all->w + all->left + all->right) * all->step;
        all->plane = (size_t)(all->h + all->top + all->bottom) * all->row;
        all->image = all->plane * blocks;
        all->at = nm_take_n(&net->arena, float, (size_t)floats + NM_LANES) + all->top * all->row +
                  (size_t)all->left * all->step;
    }
    if (b == all) return 0;
    b->row = all->row, b->plane = all->plane, b->image = all->image;
    b->at = all->at + first * all->plane;
    return 0;
}

/* ---- steps ---- */

static void add_step(struct nm_net *net, void (*run)(const struct nm_net *, const struct nm_net_step *),
                     const struct nm_net_node *node, uint32_t in, uint32_t out, const void *work)
{
    net->steps[net->n_steps++] = (struct nm_net_step){run, node, in, out, work};
}

static void run_plain(const struct nm_net *net, const struct nm_net_step *step)
{
    nm_ops[step->node->op].run(net, step->node);
}

static int take_plain(struct nm_net *net, struct nm_net_value *v, struct nm_err *err)
{
    if (v->at) return 0;
    if ((net->computed += v->n) > NM_NET_COMPUTED)
        return nm_fail(err, "the network needs more than %d million numbers", NM_NET_COMPUTED >> 20);
    v->at = nm_take_n(&net->arena, float, nm_padded(v->n));
    return 0;
}

/* The value as the step wants it: made so, or turned over once before its first use. */
static int want_plain(struct plan *p, uint32_t v, struct nm_err *err)
{
    uint32_t r = p->root[v];
    if (take_plain(p->net, &p->net->values[r], err)) return -1;
    if (p->blocks[r] && !p->plain[r]) add_step(p->net, nm_image_leave, NULL, r, r, NULL);
    p->plain[r] = true;
    return 0;
}

static void want_blocks(struct plan *p, uint32_t v)
{
    uint32_t r = p->root[v];
    if (!p->blocks[r] && p->net->values[r].constant) nm_blocks_enter(p->net->values[r].blocks, p->net->values[r].at);
    if (!p->blocks[r] && !p->net->values[r].constant) add_step(p->net, nm_image_enter, NULL, r, r, NULL);
    p->blocks[r] = true;
}

/* A constant of a pair, spread over all channels. */
static struct nm_blocks *constant_blocks(struct nm_net *net, const struct nm_net_value *v,
                                         const struct nm_net_shape *out, struct nm_err *err)
{
    uint32_t x[4], y[4];
    nm_image_dims(out, y);
    raise_rank(&v->shape, out->rank, x);
    bool one = v->n == 1;
    x[1] = y[1];
    struct nm_blocks *b = blocks_new(net, x, false);
    if (place(net, b, err)) return NULL;
    if (!one) nm_blocks_enter(b, v->at);
    for (uint32_t i = 0; one && i < b->n * b->plane * ((b->c + NM_BLOCK - 1) / NM_BLOCK); i++) b->at[i] = *v->at;
    return b;
}

static int lay_out(struct plan *p, struct nm_err *err)
{
    struct nm_net *net = p->net;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        const struct nm_net_node *node = &net->nodes[i];
        if (p->way[i] != BLOCKS) continue;
        struct nm_blocks *out = blocks_of_value(p, p->end[i]);
        bool conv = node->op == NM_OP_CONV || node->op == NM_OP_CONV_TRANSPOSE;
        uint32_t first = 0, at;
        for (uint32_t k = 0; k < node->n_in && node->op == NM_OP_CONCAT; k++) {
            struct nm_blocks *in = blocks_of_value(p, node->in[k]);
            if (!in->whole && in != out) in->whole = out, in->first = first;
            first += (in->c + NM_BLOCK - 1) / NM_BLOCK;
        }
        if (conv)
            nm_image_border(node, outermost(blocks_of_value(p, node->in[0]), &at));
        else if (node->op > NM_OP_PRELU)
            blocks_of_value(p, node->in[0]);
        else
            for (uint32_t k = 0; k < 2; k++)
                if (!value(p, node->in[k])->constant) blocks_of_value(p, node->in[k]);
    }
    /* what lies in a whole has its border */
    for (uint32_t v = 0; v < net->n_values; v++) {
        uint32_t first;
        struct nm_blocks *b = net->values[v].blocks, *all;
        if (!b || (all = outermost(b, &first)) == b) continue;
        all->top = b->top > all->top ? b->top : all->top, all->left = b->left > all->left ? b->left : all->left;
        all->bottom = b->bottom > all->bottom ? b->bottom : all->bottom;
        all->right = b->right > all->right ? b->right : all->right;
    }
    for (uint32_t v = 0; v < net->n_values; v++)
        if (net->values[v].blocks && place(net, net->values[v].blocks, err)) return -1;
    return 0;
}

static int blocks_steps(struct plan *p, uint32_t i, size_t *scratch, struct nm_err *err)
{
    struct nm_net *net = p->net;
    const struct nm_net_node *node = &net->nodes[i];
    uint32_t in = p->root[node->in[0]];
    struct nm_blocks *out = net->values[p->end[i]].blocks;
    size_t wanted = nm_image_scratch(net, node);
    if (wanted > *scratch) *scratch = wanted;
    p->blocks[p->end[i]] = true;
    if (node->op == NM_OP_CONCAT) {
        for (uint32_t k = 0, first = 0; k < node->n_in; k++) {
            struct nm_blocks *b = value(p, node->in[k])->blocks;
            want_blocks(p, node->in[k]);
            if (b->whole != out || b->first != first) { /* it lies in another one already */
                uint32_t dims[4] = {b->n, b->c, b->h, b->w};
                struct nm_blocks *part = blocks_new(net, dims, false);
                part->whole = out, part->first = first;
                if (place(net, part, err)) return -1;
                add_step(net, nm_image_copy, node, p->root[node->in[k]], p->end[i], part);
            }
            first += (b->c + NM_BLOCK - 1) / NM_BLOCK;
        }
        return 0;
    }
    struct nm_blocks **pair = NULL;
    if (node->op >= NM_OP_ADD && node->op <= NM_OP_PRELU) {
        pair = nm_take_n(&net->arena, struct nm_blocks *, 2);
        for (uint32_t k = 0; k < 2; k++) {
            struct nm_net_value *v = value(p, node->in[k]);
            if (!v->constant) want_blocks(p, node->in[k]);
            pair[k] = v->constant ? constant_blocks(net, v, &net->values[node->out].shape, err) : v->blocks;
            if (!pair[k]) return -1;
        }
    } else {
        want_blocks(p, node->in[0]);
    }
    if (node->op == NM_OP_CONV || node->op == NM_OP_CONV_TRANSPOSE) {
        const char *wrong =
            nm_conv_pack(net, node, net->values[in].blocks, p->affine[i],
                         p->affine[i] + net->values[node->out].shape.dims[1], p->has_curve[i] ? &p->curve[i] : NULL);
        if (wrong) return nm_fail(err, "node '%s' (%s): %s", node->name, nm_net_op_name(node->op), wrong);
    }
    add_step(net, nm_image_run, node, in, p->end[i], pair);
    return 0;
}

static int plain_steps(struct plan *p, uint32_t i, struct nm_err *err)
{
    struct nm_net *net = p->net;
    const struct nm_net_node *node = &net->nodes[i];
    for (uint32_t k = 0; k < node->n_in; k++)
        if (node->in[k] != NM_NET_NONE && net->values[node->in[k]].n && want_plain(p, node->in[k], err)) return -1;
    /* values with the same numbers have the same place */
    for (uint32_t k = 0; k < node->n_in; k++)
        if (node->in[k] != NM_NET_NONE) net->values[node->in[k]].at = value(p, node->in[k])->at;
    for (uint32_t k = 0; k < node->n_out; k++) {
        struct nm_net_value *v = &net->values[node->out + k];
        p->plain[node->out + k] = true;
        if (p->way[i] == VIEW)
            v->at = net->values[node->in[0]].at;
        else if (take_plain(net, v, err))
            return -1;
    }
    if (p->way[i] == PLAIN) add_step(net, run_plain, node, node->in[0], node->out, NULL);
    return 0;
}

static int make_steps(struct plan *p, struct nm_err *err)
{
    struct nm_net *net = p->net;
    size_t scratch = 0, room = net->n_outputs;
    for (uint32_t i = 0; i < net->n_nodes; i++) room += 1 + 2 * (size_t)net->nodes[i].n_in;
    net->steps = nm_take_n(&net->arena, struct nm_net_step, room);
    for (uint32_t i = 0; i < net->n_inputs; i++) p->plain[net->inputs[i]] = true;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        if (p->way[i] == BLOCKS && blocks_steps(p, i, &scratch, err)) return -1;
        if ((p->way[i] == PLAIN || p->way[i] == VIEW) && plain_steps(p, i, err)) return -1;
    }
    for (uint32_t i = 0; i < net->n_outputs; i++) {
        if (want_plain(p, net->outputs[i], err)) return -1;
        net->values[net->outputs[i]].at = value(p, net->outputs[i])->at;
    }
    net->scratch = nm_take_n(&net->arena, float, scratch + NM_LANES);
    return 0;
}

int nm_net_prepare(struct nm_net *net, struct nm_err *err)
{
    struct nm_arena arena = {0};
    struct plan *p = nm_take_n(&arena, struct plan, 1);
    p->net = net;
    for (uint32_t i = 0; i < net->n_nodes; i++) {
        p->way[i] = PLAIN;
        for (uint32_t k = 0; k < net->nodes[i].n_in; k++)
            if (net->nodes[i].in[k] != NM_NET_NONE) p->uses[net->nodes[i].in[k]]++;
    }
    for (uint32_t i = 0; i < net->n_outputs; i++) p->uses[net->outputs[i]] += 2; /* never joined */
    for (uint32_t v = 0; v < net->n_values; v++) p->root[v] = v, p->only_conv[v] = true;
    for (uint32_t i = 0; i < net->n_nodes; i++) choose(p, i);
    int bad = lay_out(p, err) || make_steps(p, err);
    nm_arena_free(&arena);
    return bad ? -1 : 0;
}

void nm_net_run(struct nm_net *net)
{
    for (uint32_t i = 0; i < net->n_steps; i++) net->steps[i].run(net, &net->steps[i]);
}
