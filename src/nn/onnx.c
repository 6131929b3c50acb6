#include "nn/onnx.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"
#include "codec/protobuf.h"
#include "nn/image.h"

enum { MOST_NAME = 500, MOST_WITH = 16 }; /* bytes of a name, attributes of a node      */
enum { OLDEST = 7, NEWEST = 21, IR = 8 }; /* operator sets; version of the file format  */

/* Fields of the messages, numbered as in onnx.proto. */
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_METADATA = 14 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_SPARSE = 15 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_S = 4,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
static const char kinds[] = " fist FI"; /* by the number of an attribute's type */
enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14
};
enum {
    INFO_NAME = 1,
    INFO_TYPE = 2,
    TYPE_TENSOR = 1,
    TENSOR_ELEMENT = 1,
    TENSOR_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1
};

/* ---- reading ---- */

struct reading {
    struct nm_net *net;
    const struct nm_net_shape *open; /* sizes of dimensions that the file leaves open; NULL: 1 */
    const char *file;
    struct nm_err *err;
};

/* A name, as text of the arena; NULL with a sentence where it holds a NUL or is too long. */
static const char *text(struct reading *r, struct nm_pb b, size_t most)
{
    size_t n = (size_t)(b.end - b.at);
    if (!n) return "";
    if (n > most || memchr(b.at, 0, n)) {
        nm_fail(r->err, "%s: a name or text is longer than %zu bytes, or holds a zero byte", r->file, most);
        return NULL;
    }
    char *to = nm_take(&r->net->arena, n + 1);
    memcpy(to, b.at, n);
    return to;
}

static int cut_short(const struct reading *r, const char *what)
{
    return nm_fail(r->err, "%s: %s ends in the middle; this is no ONNX file, or not all of it", r->file, what);
}

struct tensor {
    const char *name;
    struct nm_net_shape shape;
    uint64_t type;
    uint64_t n, wanted; /* elements that are there, and that the shape wants */
    float *at;
    bool whole;
};

static int read_dims(struct reading *r, struct nm_pb list, const struct nm_pb_field *one, struct tensor *t)
{
    bool packed = one->wire == NM_PB_BYTES;
    while (packed ? list.at < list.end : one != NULL) {
        uint64_t d = packed ? nm_pb_varint(&list) : one->value;
        if (list.bad) return cut_short(r, "a shape");
        if (d > NM_NET_CONSTANT || t->shape.rank == NM_NET_DIMS)
            return nm_fail(r->err, "%s: tensor '%s' has a dimension of %llu, or more than %d of them", r->file, t->name,
                           (unsigned long long)d, NM_NET_DIMS);
        t->shape.dims[t->shape.rank++] = (uint32_t)d;
        if (!packed) one = NULL;
    }
    return 0;
}

static float half_float(uint16_t h)
{
    int exponent = h >> 10 & 31;
    float f = ldexpf((float)((h & 1023) | (exponent ? 1024 : 0)), exponent ? exponent - 25 : -24);
    if (exponent == 31) f = h & 1023 ? NAN : INFINITY;
    return h >> 15 ? -f : f;
}

/* Bits of an element of the tensor's type, as a float. */
static float element(const struct tensor *t, uint64_t bits)
{
    double d;
    switch (t->type) {
    case NM_ELEMENT_INT32: return nm_net_whole((int32_t)bits);
    case NM_ELEMENT_INT64: return nm_net_whole((int64_t)bits);
    case NM_ELEMENT_BOOL: return (float)(bits & 1);
    case NM_ELEMENT_HALF: return half_float((uint16_t)bits);
    case NM_ELEMENT_DOUBLE: memcpy(&d, &bits, sizeof d); return (float)d;
    default: return nm_pb_float(bits);
    }
}

static uint32_t element_size(uint64_t type)
{
    static const uint8_t sizes[] = {[NM_ELEMENT_FLOAT] = 4, [NM_ELEMENT_INT32] = 4, [NM_ELEMENT_INT64] = 8,
                                    [NM_ELEMENT_BOOL] = 1,  [NM_ELEMENT_HALF] = 2,  [NM_ELEMENT_DOUBLE] = 8};
    return type < sizeof sizes ? sizes[type] : 0;
}

/* More elements behind those that are there: `size` bytes each, 0: varints. */
static void take_elements(struct tensor *t, struct nm_pb b, uint32_t size)
{
    while (b.at < b.end && !b.bad) {
        uint64_t bits = size ? nm_pb_fixed(&b, size) : nm_pb_varint(&b);
        if (!b.bad && t->n < t->wanted) t->at[t->n] = element(t, bits);
        t->n++;
    }
}

static int read_tensor(struct reading *r, struct nm_pb b, struct tensor *t)
{
    struct nm_pb again = b;
    size_t room = (size_t)(b.end - b.at);
    struct nm_pb_field f;
    *t = (struct tensor){.name = "", .wanted = 1};
    while (nm_pb_next(&b, &f)) {
        if (f.number == TENSOR_NAME && !(t->name = text(r, f.inside, MOST_NAME))) return -1;
        if (f.number == TENSOR_DIMS && read_dims(r, f.inside, &f, t)) return -1;
        if (f.number == TENSOR_TYPE) t->type = f.value;
        if (f.number == TENSOR_EXTERNAL || (f.number == TENSOR_LOCATION && f.value))
            return nm_fail(r->err, "%s: tensor '%s' lies in another file; export the model as one file", r->file,
                           t->name);
    }
    if (b.bad) return cut_short(r, "a tensor");
    uint32_t size = element_size(t->type);
    if (!size)
        return nm_fail(r->err,
                       "%s: tensor '%s' has elements of type %llu; float (1), int32 (6), int64 (7), bool (9), "
                       "float16 (10) and double (11) are known here",
                       r->file, t->name, (unsigned long long)t->type);
    t->whole = t->type == NM_ELEMENT_INT32 || t->type == NM_ELEMENT_INT64 || t->type == NM_ELEMENT_BOOL;
    for (uint32_t i = 0; i < t->shape.rank; i++)
        t->wanted = t->wanted > NM_NET_CONSTANT ? t->wanted : t->wanted * t->shape.dims[i];
    t->at =
        nm_take_n(&r->net->arena, float, t->wanted > room ? 1 : t->wanted + 1); /* an element takes a byte at least */
    if (t->wanted > room)
        return nm_fail(r->err, "%s: tensor '%s' has fewer elements in the file than its shape wants", r->file, t->name);
    while (nm_pb_next(&again, &f)) {
        bool one = f.wire != NM_PB_BYTES;
        uint32_t each = f.number == TENSOR_FLOATS    ? 4
                        : f.number == TENSOR_DOUBLES ? 8
                        : f.number == TENSOR_RAW     ? size
                                                     : 0;
        if (f.number != TENSOR_FLOATS && f.number != TENSOR_DOUBLES && f.number != TENSOR_RAW &&
            f.number != TENSOR_INT32S && f.number != TENSOR_INT64S)
            continue;
        if (one && t->n < t->wanted) t->at[t->n] = element(t, f.value);
        if (one) t->n++;
        if (!one) take_elements(t, f.inside, each);
    }
    if (t->n != t->wanted)
        return nm_fail(r->err, "%s: tensor '%s' has %llu elements in the file, but its shape wants %llu", r->file,
                       t->name, (unsigned long long)t->n, (unsigned long long)t->wanted);
    return 0;
}

static int add_tensor(struct reading *r, const struct tensor *t, const char *name)
{
    int32_t i = nm_net_add_constant(r->net, name, t->shape, t->at, r->err);
    if (i < 0) return -1;
    r->net->values[i].whole = t->whole;
    return 0;
}

/* ValueInfoProto: a name and a shape. A dimension is open if it has no size, or none that is possible. */
static int read_info(struct reading *r, struct nm_pb b, bool input, const char **name, struct nm_net_shape *shape)
{
    struct nm_pb_field f, g, h, d, v;
    uint64_t element = 0;
    *name = NULL;
    *shape = (struct nm_net_shape){0};
    while (nm_pb_next(&b, &f)) {
        if (f.number == INFO_NAME && !(*name = text(r, f.inside, MOST_NAME))) return -1;
        if (f.number != INFO_TYPE) continue;
        while (nm_pb_next(&f.inside, &g)) {
            if (g.number != TYPE_TENSOR) continue;
            while (nm_pb_next(&g.inside, &h)) {
                if (h.number == TENSOR_ELEMENT) element = h.value;
                while (h.number == TENSOR_SHAPE && nm_pb_next(&h.inside, &d)) {
                    uint64_t size = 0;
                    if (d.number != SHAPE_DIM) continue;
                    while (nm_pb_next(&d.inside, &v))
                        if (v.number == DIM_VALUE) size = (int64_t)v.value < 0 ? 0 : v.value;
                    if (!size) size = r->open && shape->rank < r->open->rank ? r->open->dims[shape->rank] : 1;
                    if (shape->rank == NM_NET_DIMS || size > NM_NET_CONSTANT || d.inside.bad)
                        return nm_fail(r->err, "%s: '%s' has a shape that is not possible here", r->file,
                                       *name ? *name : "");
                    shape->dims[shape->rank++] = (uint32_t)size;
                }
                if (h.inside.bad) return cut_short(r, "a shape");
            }
            if (g.inside.bad) return cut_short(r, "a type");
        }
        if (f.inside.bad) return cut_short(r, "a type");
    }
    if (b.bad) return cut_short(r, "an input or output");
    if (!*name) return nm_fail(r->err, "%s: an input or output has no name", r->file);
    if (input && element != NM_ELEMENT_FLOAT && nm_net_find(r->net, *name) < 0)
        return nm_fail(r->err, "%s: the input '%s' is not made of floats", r->file, *name);
    return 0;
}

struct operation {
    const char *name, *op, *domain;
    uint32_t n_in, n_out, n_with;
    const char *in[NM_NET_INPUTS], *out[NM_NET_INPUTS];
    struct nm_net_attribute with[MOST_WITH + 1];
    struct tensor constant; /* of Constant */
    bool has_constant;
};

/* Numbers of a list, one by one or packed, behind those that are there; only counted where there is no room. */
static void take_list(struct nm_net_attribute *a, const struct nm_pb_field *f, int64_t *whole, float *floats)
{
    struct nm_pb b = f->inside;
    bool one = f->wire != NM_PB_BYTES;
    while (one || (b.at < b.end && !b.bad)) {
        uint64_t v = one ? f->value : f->number == ATTRIBUTE_INTS ? nm_pb_varint(&b) : nm_pb_fixed(&b, 4);
        if (whole && f->number == ATTRIBUTE_INTS) whole[a->n] = (int64_t)v;
        if (floats && f->number == ATTRIBUTE_FLOATS) floats[a->n] = nm_pb_float(v);
        a->n++;
        if (one) return;
    }
}

static int read_attribute(struct reading *r, struct nm_pb b, struct operation *o)
{
    struct nm_pb_field f;
    uint64_t type = 0;
    struct nm_pb tensor = {NULL, NULL, false}, again = b;
    if (o->n_with == MOST_WITH)
        return nm_fail(r->err, "%s: node '%s' (%s) has more than %d attributes", r->file, o->name, o->op, MOST_WITH);
    struct nm_net_attribute *a = &o->with[o->n_with++];
    *a = (struct nm_net_attribute){.name = ""};
    while (nm_pb_next(&b, &f)) {
        if (f.number == ATTRIBUTE_NAME && !(a->name = text(r, f.inside, MOST_NAME))) return -1;
        if (f.number == ATTRIBUTE_F) a->f = nm_pb_float(f.value);
        if (f.number == ATTRIBUTE_I) a->i = (int64_t)f.value;
        if (f.number == ATTRIBUTE_S && !(a->s = text(r, f.inside, MOST_NAME))) return -1;
        if (f.number == ATTRIBUTE_T) tensor = f.inside;
        if (f.number == ATTRIBUTE_TYPE) type = f.value;
        if (f.number == ATTRIBUTE_INTS || f.number == ATTRIBUTE_FLOATS) take_list(a, &f, NULL, NULL);
    }
    if (b.bad) return cut_short(r, "an attribute");
    a->kind = type < sizeof kinds - 1 ? kinds[type] : ' ';
    int64_t *whole = nm_take_n(&r->net->arena, int64_t, a->n + 1);
    float *floats = nm_take_n(&r->net->arena, float, a->n + 1);
    a->whole = whole, a->floats = floats, a->n = 0;
    while (nm_pb_next(&again, &f))
        if (f.number == ATTRIBUTE_INTS || f.number == ATTRIBUTE_FLOATS) take_list(a, &f, whole, floats);
    bool constant = !strcmp(o->op, "Constant");
    struct tensor *t = &o->constant;
    if (a->kind == 't') {
        if (read_tensor(r, tensor, t)) return -1;
        if (!constant && t->n != 1)
            return nm_fail(r->err, "%s: node '%s' (%s) has a tensor of more than one element", r->file, o->name, o->op);
        o->has_constant = true;
        a->f = t->at[0], a->i = t->whole;
    } else if (constant && a->kind != 's' && a->kind != ' ') { /* value_int and the like */
        bool list = a->kind == 'I' || a->kind == 'F';
        *t = (struct tensor){.shape = {list, {a->n}}, .whole = a->kind == 'i' || a->kind == 'I'};
        t->at = nm_take_n(&r->net->arena, float, a->n + 1);
        for (uint32_t i = 0; i < (list ? a->n : 1); i++)
            t->at[i] = a->kind == 'f'   ? a->f
                       : a->kind == 'i' ? nm_net_whole(a->i)
                       : t->whole       ? nm_net_whole(whole[i])
                                        : floats[i];
        o->has_constant = true;
    }
    return 0;
}

static int read_words(struct reading *r, struct nm_pb b, struct operation *o)
{
    struct nm_pb_field f;
    *o = (struct operation){.name = "", .op = "", .domain = ""};
    while (nm_pb_next(&b, &f)) {
        const char **to = f.number == NODE_NAME     ? &o->name
                          : f.number == NODE_OP     ? &o->op
                          : f.number == NODE_DOMAIN ? &o->domain
                                                    : NULL;
        if ((f.number == NODE_INPUT && o->n_in == NM_NET_INPUTS) ||
            (f.number == NODE_OUTPUT && o->n_out == NM_NET_INPUTS))
            return nm_fail(r->err, "%s: a node has more than %d inputs or outputs", r->file, NM_NET_INPUTS);
        if (f.number == NODE_INPUT) to = &o->in[o->n_in++];
        if (f.number == NODE_OUTPUT) to = &o->out[o->n_out++];
        if (to && !(*to = text(r, f.inside, MOST_NAME))) return -1;
    }
    return b.bad ? cut_short(r, "a node") : 0;
}

static int read_node(struct reading *r, struct nm_pb b)
{
    struct operation o;
    struct nm_pb_field f;
    uint32_t in[NM_NET_INPUTS];
    if (read_words(r, b, &o)) return -1;
    int32_t op = nm_net_op_find(o.op);
    /* what training needs besides the first output: nothing here reads it */
    if ((op == NM_OP_DROPOUT || op == NM_OP_BATCH_NORM) && o.n_out > 1) o.n_out = 1;
    for (uint32_t i = 0; i < o.n_out || !i; i++)
        if (!o.n_out || !*o.out[i])
            return nm_fail(r->err, "%s: node '%s' (%s) has no output, or one without a name", r->file, o.name, o.op);
    if (!*o.name) o.name = o.out[0];
    bool constant = !strcmp(o.op, "Constant");
    if ((op < 0 && !constant) || (*o.domain && strcmp(o.domain, "ai.onnx")))
        return nm_fail(r->err, "%s: node '%s' has the operator %s%s%s, which is not known here", r->file, o.name,
                       o.domain, *o.domain ? "." : "", *o.op ? o.op : "''");
    while (nm_pb_next(&b, &f))
        if (f.number == NODE_ATTRIBUTE && read_attribute(r, f.inside, &o)) return -1;
    if (constant) {
        if (!o.has_constant)
            return nm_fail(r->err, "%s: node '%s' (Constant) has no numbers as its value", r->file, o.name);
        return add_tensor(r, &o.constant, o.out[0]);
    }
    for (uint32_t i = 0; i < o.n_in; i++) {
        int32_t value = *o.in[i] ? nm_net_find(r->net, o.in[i]) : NM_NET_NONE;
        if (value < 0)
            return nm_fail(r->err, "%s: node '%s' (%s) reads '%s', which nothing before it gives", r->file, o.name,
                           o.op, o.in[i]);
        in[i] = (uint32_t)value;
    }
    if (nm_net_add_nodes(r->net, o.name, (enum nm_net_op)op, in, o.n_in, o.with, o.out, o.n_out, r->err) < 0)
        return nm_fail(r->err, "%s: this network cannot be run", r->file);
    return 0;
}

/* The graph's fields come in any order; constants are wanted first, then inputs, nodes, outputs. */
static int read_graph(struct reading *r, struct nm_pb graph)
{
    static const uint32_t order[] = {GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_NODE, GRAPH_OUTPUT};
    for (int pass = 0; pass < 4; pass++) {
        struct nm_pb b = graph;
        struct nm_pb_field f;
        while (nm_pb_next(&b, &f)) {
            if (f.number == GRAPH_SPARSE) return nm_fail(r->err, "%s: sparse tensors are not known here", r->file);
            if (f.number != order[pass]) continue;
            if (f.wire != NM_PB_BYTES) return cut_short(r, "the graph");
            const char *name;
            struct nm_net_shape shape;
            struct tensor t;
            int bad = 0;
            if (f.number == GRAPH_INITIALIZER) bad = read_tensor(r, f.inside, &t) || add_tensor(r, &t, t.name);
            if (f.number == GRAPH_NODE) bad = read_node(r, f.inside);
            if (f.number == GRAPH_INPUT || f.number == GRAPH_OUTPUT)
                bad = read_info(r, f.inside, f.number == GRAPH_INPUT, &name, &shape);
            if (bad) return -1;
            /* old files list constants among the inputs */
            if (f.number == GRAPH_INPUT && nm_net_find(r->net, name) < 0)
                bad = nm_net_add_input(r->net, name, shape, r->err) < 0;
            if (f.number == GRAPH_OUTPUT) {
                int32_t value = nm_net_find(r->net, name);
                if (value < 0) return nm_fail(r->err, "%s: nothing gives the output '%s'", r->file, name);
                bad = nm_net_add_output(r->net, (uint32_t)value, r->err);
            }
            if (bad) return nm_fail(r->err, "%s: this network cannot be run", r->file);
        }
        if (b.bad) return cut_short(r, "the graph");
    }
    if (!r->net->n_inputs || !r->net->n_outputs)
        return nm_fail(r->err, "%s: the network has no input or no output", r->file);
    if (nm_net_prepare(r->net, r->err)) return nm_fail(r->err, "%s: this network cannot be run", r->file);
    return 0;
}

static int read_opset(struct reading *r, struct nm_pb b)
{
    struct nm_pb_field f;
    const char *domain = "";
    uint64_t version = 0;
    while (nm_pb_next(&b, &f)) {
        if (f.number == OPSET_DOMAIN && !(domain = text(r, f.inside, MOST_NAME))) return -1;
        if (f.number == OPSET_VERSION) version = f.value;
    }
    if (b.bad) return cut_short(r, "an operator set");
    if (*domain && strcmp(domain, "ai.onnx")) return 0;
    r->net->opset = (uint32_t)version;
    if (version < OLDEST || version > NEWEST)
        return nm_fail(r->err, "%s: operator set %llu is not known here; %d to %d are", r->file,
                       (unsigned long long)version, OLDEST, NEWEST);
    return 0;
}

static int read_note(struct reading *r, struct nm_pb b)
{
    struct nm_pb_field f;
    const char *key = "", *value = "";
    while (nm_pb_next(&b, &f)) {
        if (f.number == ENTRY_KEY && !(key = text(r, f.inside, MOST_NAME))) return -1;
        if (f.number == ENTRY_VALUE && !(value = text(r, f.inside, 1 << 16))) return -1;
    }
    if (b.bad) return cut_short(r, "a note");
    return nm_net_add_note(r->net, key, value, r->err);
}

static int read_model(struct reading *r, struct nm_pb b)
{
    struct nm_pb_field f;
    struct nm_pb graph = {NULL, NULL, false};
    uint32_t opsets = 0;
    while (nm_pb_next(&b, &f)) {
        if (f.wire != NM_PB_BYTES) continue;
        if (f.number == MODEL_GRAPH) graph = f.inside;
        if (f.number == MODEL_METADATA && read_note(r, f.inside)) return -1;
        if (f.number == MODEL_OPSET && (opsets++, read_opset(r, f.inside))) return -1;
    }
    if (b.bad) return cut_short(r, "the file");
    if (!graph.at || !opsets)
        return nm_fail(r->err, "%s has no graph or no operator set: this is no ONNX file", r->file);
    return read_graph(r, graph);
}

struct nm_net *nm_onnx_read_sized(const void *bytes, size_t n, const char *name, const struct nm_net_shape *open,
                                  struct nm_err *err)
{
    if (n > NM_ONNX_BYTES) return nm_fail(err, "%s is larger than %d MB", name, NM_ONNX_BYTES >> 20), NULL;
    struct reading r = {nm_net_new(), open, name, err};
    if (!read_model(&r, (struct nm_pb){bytes, (const uint8_t *)bytes + n, false})) return r.net;
    nm_net_free(r.net);
    return NULL;
}

struct nm_net *nm_onnx_read(const void *bytes, size_t n, const char *name, struct nm_err *err)
{
    return nm_onnx_read_sized(bytes, n, name, NULL, err);
}

struct nm_net *nm_onnx_load_sized(const char *path, const struct nm_net_shape *open, struct nm_err *err)
{
    size_t n;
    char *bytes = nm_read_whole(path, NM_ONNX_BYTES, &n, err);
    struct nm_net *net = bytes ? nm_onnx_read_sized(bytes, n, path, open, err) : NULL;
    free(bytes);
    return net;
}

struct nm_net *nm_onnx_load(const char *path, struct nm_err *err) { return nm_onnx_load_sized(path, NULL, err); }

/* ---- writing: a message is made beside the one that holds it, and then put into it with its length ---- */

struct out {
    uint8_t *at;
    size_t n, room;
};

static void put(struct out *o, const void *bytes, size_t n)
{
    if (o->n + n > o->room) {
        o->room = 2 * (o->n + n) + 64;
        o->at = nm_realloc(o->at, o->room);
    }
    if (n) memcpy(o->at + o->n, bytes, n);
    o->n += n;
}

static void put_varint(struct out *o, uint64_t value)
{
    do {
        uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put(o, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_number(struct out *o, uint32_t number, uint64_t value)
{
    put_varint(o, (uint64_t)number << 3 | NM_PB_VARINT);
    put_varint(o, value);
}

static void put_bytes(struct out *o, uint32_t number, const void *bytes, size_t n)
{
    put_varint(o, (uint64_t)number << 3 | NM_PB_BYTES);
    put_varint(o, n);
    put(o, bytes, n);
}

static void put_text(struct out *o, uint32_t number, const char *words) { put_bytes(o, number, words, strlen(words)); }

/* Ends a message: it goes into the outer one, and its memory goes. */
static void put_message(struct out *o, uint32_t number, struct out *inner)
{
    put_bytes(o, number, inner->at, inner->n);
    free(inner->at);
    *inner = (struct out){0};
}

static void put_tensor(struct out *graph, const struct nm_net_value *v)
{
    struct out t = {0}, raw = {0};
    for (uint32_t i = 0; i < v->shape.rank; i++) put_number(&t, TENSOR_DIMS, v->shape.dims[i]);
    put_number(&t, TENSOR_TYPE, v->whole ? NM_ELEMENT_INT64 : NM_ELEMENT_FLOAT);
    put_text(&t, TENSOR_NAME, v->name);
    for (uint32_t i = 0; i < v->n && v->whole; i++) {
        int64_t whole = (int64_t)v->at[i];
        put(&raw, &whole, sizeof whole);
    }
    if (v->whole)
        put_message(&t, TENSOR_RAW, &raw);
    else
        put_bytes(&t, TENSOR_RAW, v->at, v->n * sizeof *v->at);
    put_message(graph, GRAPH_INITIALIZER, &t);
}

static void put_info(struct out *graph, uint32_t number, const struct nm_net_value *v)
{
    struct out info = {0}, type = {0}, tensor = {0}, shape = {0};
    for (uint32_t i = 0; i < v->shape.rank; i++) {
        struct out dim = {0};
        put_number(&dim, DIM_VALUE, v->shape.dims[i]);
        put_message(&shape, SHAPE_DIM, &dim);
    }
    put_number(&tensor, TENSOR_ELEMENT, NM_ELEMENT_FLOAT);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    put_message(&type, TYPE_TENSOR, &tensor);
    put_text(&info, INFO_NAME, v->name);
    put_message(&info, INFO_TYPE, &type);
    put_message(graph, number, &info);
}

static void put_float(struct out *o, uint32_t number, float value)
{
    put_varint(o, number << 3 | NM_PB_FIXED32);
    put(o, &value, sizeof value);
}

static void put_attribute(struct out *node, const struct nm_net_attribute *from)
{
    struct out a = {0};
    put_text(&a, ATTRIBUTE_NAME, from->name);
    if (from->kind == 'f') put_float(&a, ATTRIBUTE_F, from->f);
    if (from->kind == 'i') put_number(&a, ATTRIBUTE_I, (uint64_t)from->i);
    if (from->kind == 's') put_text(&a, ATTRIBUTE_S, from->s);
    for (uint32_t i = 0; i < from->n && from->kind == 'I'; i++)
        put_number(&a, ATTRIBUTE_INTS, (uint64_t)from->whole[i]);
    for (uint32_t i = 0; i < from->n && from->kind == 'F'; i++) put_float(&a, ATTRIBUTE_FLOATS, from->floats[i]);
    put_number(&a, ATTRIBUTE_TYPE, (uint64_t)(strchr(kinds, from->kind) - kinds));
    put_message(node, NODE_ATTRIBUTE, &a);
}

static void put_node(struct out *graph, const struct nm_net *net, const struct nm_net_node *from)
{
    struct out node = {0};
    for (uint32_t i = 0; i < from->n_in; i++)
        put_text(&node, NODE_INPUT, from->in[i] == NM_NET_NONE ? "" : net->values[from->in[i]].name);
    for (uint32_t i = 0; i < from->n_out; i++) put_text(&node, NODE_OUTPUT, net->values[from->out + i].name);
    put_text(&node, NODE_NAME, from->name);
    put_text(&node, NODE_OP, nm_net_op_name(from->op));
    for (const struct nm_net_attribute *a = from->with; a->name; a++) put_attribute(&node, a);
    put_message(graph, GRAPH_NODE, &node);
}

void *nm_onnx_write(const struct nm_net *net, size_t *n)
{
    struct out model = {0}, graph = {0}, opset = {0};
    put_number(&model, MODEL_IR, IR);
    put_text(&model, MODEL_PRODUCER, "nutmeg");
    for (uint32_t i = 0; i < net->n_nodes; i++) put_node(&graph, net, &net->nodes[i]);
    put_text(&graph, GRAPH_NAME, "net");
    for (uint32_t i = 0; i < net->n_values; i++)
        if (net->values[i].constant) put_tensor(&graph, &net->values[i]);
    for (uint32_t i = 0; i < net->n_inputs; i++) put_info(&graph, GRAPH_INPUT, &net->values[net->inputs[i]]);
    for (uint32_t i = 0; i < net->n_outputs; i++) put_info(&graph, GRAPH_OUTPUT, &net->values[net->outputs[i]]);
    put_message(&model, MODEL_GRAPH, &graph);
    put_number(&opset, OPSET_VERSION, net->opset);
    put_message(&model, MODEL_OPSET, &opset);
    for (uint32_t i = 0; i < net->n_notes; i++) {
        struct out note = {0};
        put_text(&note, ENTRY_KEY, net->notes[i].key);
        put_text(&note, ENTRY_VALUE, net->notes[i].text);
        put_message(&model, MODEL_METADATA, &note);
    }
    *n = model.n;
    return model.at;
}
