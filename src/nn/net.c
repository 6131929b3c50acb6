#include "nn/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "nn/dense.h"
#include "nn/ops.h"

struct nm_net *nm_net_new(void)
{
    struct nm_net *net = nm_calloc(1, sizeof *net);
    net->opset = NM_NET_OPSET;
    return net;
}

void nm_net_free(struct nm_net *net)
{
    if (!net) return;
    nm_arena_free(&net->arena);
    free(net);
}

/* ---- shapes ---- */

/* Elements; -1 beyond `most`. A dimension of 0 is refused, except in a list that is empty: what is left out. */
static int64_t count(const struct nm_net_shape *s, int64_t most)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++) {
        if (s->rank == 1 && !s->dims[0]) return 0;
        if (!s->dims[i] || n > most / s->dims[i]) return -1;
        n *= s->dims[i];
    }
    return n;
}

static const char *shape_text(const struct nm_net_shape *s, char to[64])
{
    int used = snprintf(to, 64, "[");
    for (uint32_t i = 0; i < s->rank; i++)
        used += snprintf(to + used, 64 - (size_t)used, "%s%u", i ? ", " : "", s->dims[i]);
    snprintf(to + used, 64 - (size_t)used, "]");
    return to;
}

/* ---- values ---- */

static int32_t add_value(struct nm_net *net, const char *name, const struct nm_net_shape *shape, int64_t most,
                         struct nm_err *err)
{
    char text[64];
    if (shape->rank > NM_NET_DIMS)
        return nm_fail(err, "'%s' has %u dimensions, at most %d are known here", name, shape->rank, NM_NET_DIMS);
    int64_t n = count(shape, most);
    if (n < 0)
        return nm_fail(err, "'%s' has the shape %s, which is empty or larger than %lld elements", name,
                       shape_text(shape, text), (long long)most);
    if (net->n_values == NM_NET_VALUES)
        return nm_fail(err, "'%s' is one value too many: %d are possible", name, NM_NET_VALUES);
    if (nm_net_find(net, name) >= 0) return nm_fail(err, "two values are named '%s'", name);
    net->values[net->n_values] =
        (struct nm_net_value){.name = nm_take_text(&net->arena, name), .shape = *shape, .n = (uint32_t)n};
    return (int32_t)net->n_values++;
}

static void take_room(struct nm_net *net, struct nm_net_value *v)
{
    v->at = nm_take_n(&net->arena, float, nm_padded(v->n));
}

/* What is not constant gets its room when the network is prepared. */
static int32_t add_computed(struct nm_net *net, const char *name, const struct nm_net_shape *shape, bool constant,
                            struct nm_err *err)
{
    int32_t i = add_value(net, name, shape, NM_NET_COMPUTED - (int64_t)net->computed, err);
    if (i < 0) return -1;
    if (!net->values[i].n) return nm_fail(err, "'%s' is empty", name);
    net->computed += net->values[i].n;
    if ((net->values[i].constant = constant)) take_room(net, &net->values[i]);
    return i;
}

int32_t nm_net_add_input(struct nm_net *net, const char *name, struct nm_net_shape shape, struct nm_err *err)
{
    if (net->n_inputs == NM_NET_INPUTS)
        return nm_fail(err, "'%s' is one input too many: %d are possible", name, NM_NET_INPUTS);
    int32_t i = add_computed(net, name, &shape, false, err);
    if (i < 0) return -1;
    take_room(net, &net->values[i]);
    net->inputs[net->n_inputs++] = (uint32_t)i;
    return i;
}

int32_t nm_net_add_constant(struct nm_net *net, const char *name, struct nm_net_shape shape, const float *at,
                            struct nm_err *err)
{
    int32_t i = add_value(net, name, &shape, NM_NET_CONSTANT, err);
    if (i < 0) return -1;
    struct nm_net_value *v = &net->values[i];
    v->constant = true;
    take_room(net, v);
    if (v->n) memcpy(v->at, at, v->n * sizeof *at);
    return i;
}

int32_t nm_net_add_whole(struct nm_net *net, const char *name, struct nm_net_shape shape, const int64_t *at,
                         struct nm_err *err)
{
    int32_t i = add_value(net, name, &shape, NM_NET_CONSTANT, err);
    if (i < 0) return -1;
    struct nm_net_value *v = &net->values[i];
    v->constant = v->whole = true;
    take_room(net, v);
    for (uint32_t k = 0; k < v->n; k++) v->at[k] = nm_net_whole(at[k]);
    return i;
}

int nm_net_add_output(struct nm_net *net, uint32_t value, struct nm_err *err)
{
    if (net->n_outputs == NM_NET_INPUTS) return nm_fail(err, "more than %d outputs", NM_NET_INPUTS);
    if (net->values[value].whole) return nm_fail(err, "the output '%s' is not made of floats", net->values[value].name);
    net->outputs[net->n_outputs++] = value;
    return 0;
}

int nm_net_add_note(struct nm_net *net, const char *key, const char *text, struct nm_err *err)
{
    if (net->n_notes == NM_NET_INPUTS) return nm_fail(err, "more than %d notes (metadata)", NM_NET_INPUTS);
    net->notes[net->n_notes++] = (struct nm_net_note){nm_take_text(&net->arena, key), nm_take_text(&net->arena, text)};
    return 0;
}

int32_t nm_net_find(const struct nm_net *net, const char *name)
{
    for (uint32_t i = 0; i < net->n_values; i++)
        if (!strcmp(net->values[i].name, name)) return (int32_t)i;
    return -1;
}

const char *nm_net_note(const struct nm_net *net, const char *key)
{
    for (uint32_t i = 0; i < net->n_notes; i++)
        if (!strcmp(net->notes[i].key, key)) return net->notes[i].text;
    return NULL;
}

static const char *const names[NM_OPS] = {
#define NM_NET_OP(name, onnx) [NM_OP_##name] = onnx,
    NM_NET_OPS(NM_NET_OP)
#undef NM_NET_OP
};
const char *nm_net_op_name(enum nm_net_op op) { return names[op]; }

int32_t nm_net_op_find(const char *name) { return nm_word_of(name, names, NM_OPS); }

/* Inputs that are there: all that must be. Only constants have integers, so what is computed cannot. */
static const char *check_inputs(struct nm_net *net, const struct nm_net_node *node)
{
    const struct nm_op *op = &nm_ops[node->op];
    if (node->n_in < op->least || node->n_in > op->most) return "it has a wrong number of inputs";
    bool floats = false, whole = false;
    for (uint32_t i = 0; i < node->n_in; i++) {
        const struct nm_net_value *v = nm_net_in(net, node, i);
        if (!v && (i < op->least || node->op == NM_OP_CONCAT)) return "an input that it needs is left out";
        if (v && v->whole) whole = true;
        if (v && !v->whole) floats = true;
    }
    bool mixes = node->op <= NM_OP_PRELU || node->op == NM_OP_CONCAT;
    return mixes && floats && whole ? "it computes with integers and floats" : NULL;
}

/* Attributes that the operator knows, each of the right kind. */
static const char *check_attributes(const struct nm_net_node *node)
{
    char entry[80];
    for (const struct nm_net_attribute *a = node->with; a && a->name; a++) {
        const char *known = nm_ops[node->op].known;
        int n = snprintf(entry, sizeof entry, "%c:%.60s", a->kind, a->name);
        for (; (known = strstr(known, entry)); known++)
            if (known[n] == ' ' || !known[n]) break;
        if (!known) return "it has an attribute that is not known here, or of another kind";
    }
    return NULL;
}

/* All that a run would give is known already where all inputs are constant, and of Shape in any case. */
static bool is_constant(struct nm_net *net, const struct nm_net_node *node)
{
    if (!nm_ops[node->op].run) return false;
    for (uint32_t i = 0; i < node->n_in && node->op != NM_OP_SHAPE; i++)
        if (nm_net_in(net, node, i) && !nm_net_in(net, node, i)->constant) return false;
    return true;
}

static struct nm_net_attribute *keep_attributes(struct nm_net *net, const struct nm_net_attribute *with)
{
    uint32_t n = 0;
    while (with && with[n].name) n++;
    struct nm_net_attribute *kept = nm_take_n(&net->arena, struct nm_net_attribute, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        kept[i] = with[i];
        kept[i].name = nm_take_text(&net->arena, with[i].name);
        kept[i].s = with[i].s ? nm_take_text(&net->arena, with[i].s) : "";
        if (with[i].whole) {
            kept[i].whole =
                memcpy(nm_take_n(&net->arena, int64_t, with[i].n + 1), with[i].whole, with[i].n * sizeof(int64_t));
        }
        if (with[i].floats)
            kept[i].floats =
                memcpy(nm_take_n(&net->arena, float, with[i].n + 1), with[i].floats, with[i].n * sizeof(float));
    }
    return kept;
}

int32_t nm_net_add_nodes(struct nm_net *net, const char *name, enum nm_net_op op, const uint32_t *in, uint32_t n_in,
                         const struct nm_net_attribute *with, const char *const *outputs, uint32_t n_out,
                         struct nm_err *err)
{
    struct nm_net_shape shapes[NM_NET_INPUTS] = {{0}};
    if (net->n_nodes == NM_NET_NODES)
        return nm_fail(err, "node '%s' is one too many: %d are possible", name, NM_NET_NODES);
    if (n_in > NM_NET_INPUTS || n_out > NM_NET_INPUTS)
        return nm_fail(err, "node '%s' (%s): it has more than %d inputs or outputs", name, names[op], NM_NET_INPUTS);
    struct nm_net_node *node = &net->nodes[net->n_nodes];
    *node = (struct nm_net_node){
        .op = op, .with = keep_attributes(net, with), .n_in = n_in, .out = net->n_values, .n_out = n_out};
    if (n_in) memcpy(node->in, in, n_in * sizeof *in);
    const char *wrong = check_inputs(net, node);
    if (!wrong) wrong = check_attributes(node);
    if (!wrong && n_out > 1 && op != NM_OP_SPLIT) wrong = "it has more than one output";
    if (!wrong) wrong = nm_ops[op].shape(net, node, shapes);
    if (wrong) return nm_fail(err, "node '%s' (%s): %s", name, names[op], wrong);
    bool constant = is_constant(net, node);
    for (uint32_t i = 0; i < n_out; i++)
        if (add_computed(net, outputs[i], &shapes[i], constant, err) < 0)
            return nm_fail(err, "node '%s' (%s): its output is refused", name, names[op]);
    if (constant) {
        const struct nm_net_value *first = nm_net_in(net, node, op == NM_OP_WHERE ? 1 : 0);
        for (uint32_t i = 0; i < n_out; i++) net->values[node->out + i].whole = first->whole;
        nm_ops[op].run(net, node);
        return (int32_t)node->out; /* the node is no more */
    }
    node->name = nm_take_text(&net->arena, name);
    net->n_nodes++;
    return (int32_t)node->out;
}
