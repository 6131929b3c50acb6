/* From definitions to tables: where each member stands in the C struct (natural alignment, as gcc and clang place it on
 * every 64-bit robot), the flat program that codecs run, the bytes to clear and the defaults to write. nmgen's output
 * asserts these numbers against the compiler's. */
#include "codec/msgdef.h"

#include <stdalign.h>
#include <string.h>

/* Lists of the type being laid out; each has its own room. */
struct layout {
    const struct nm_defs *set;
    struct nm_type *type;
    struct nm_field *fields;
    struct nm_op *ops;
    struct nm_span *spans;
    struct nm_default *defaults;
    uint32_t op_room, span_room, default_room;
    uint32_t clean; /* where the span that is open now began */
    const char *file;
    uint32_t line; /* of the member being placed, for faults */
    struct nm_err *err;
};

static uint64_t align_up(uint64_t at, uint64_t to) { return (at + to - 1) / to * to; }

static uint32_t element_align(const struct nm_def_field *field)
{
    if (field->kind == NM_STRING) return 1;
    return field->kind == NM_STRUCT ? field->def->align : nm_kind_width(field->kind);
}

static uint32_t member_align(const struct nm_def_field *field)
{
    uint32_t align = element_align(field);
    if (field->shape == NM_BLOB) return alignof(struct nm_blob);
    return field->shape == NM_SEQ && align < alignof(uint32_t) ? alignof(uint32_t) : align;
}

static uint32_t element_size(const struct nm_def_field *field)
{
    if (field->kind == NM_STRING) return field->len + 1;
    return field->kind == NM_STRUCT ? field->def->type->size : nm_kind_width(field->kind);
}

/* The comment lines above and the one behind, as one line. */
static const char *about_text(const struct nm_defs *set, const char *above, const char *behind)
{
    char *text = nm_take_format(set->arena, "%s%s%s", above, *above && *behind ? " " : "", behind);
    for (char *at = text; *at; at++)
        if (*at == '\n') *at = ' ';
    return text;
}

/* Offset, element and storage of every member, and the size of the struct. */
static int place_members(struct layout *l, struct nm_def *def)
{
    uint64_t at = 0;
    def->align = 1;
    for (uint32_t i = 0; i < def->n_fields; i++) {
        const struct nm_def_field *from = &def->fields[i];
        uint32_t align = member_align(from);
        struct nm_field *to = &l->fields[i];
        at = align_up(at, align);
        if (align > def->align) def->align = align;
        *to = (struct nm_field){.name = from->name,
                                .kind = from->kind,
                                .shape = from->shape,
                                .offset = (uint32_t)at,
                                .cap = from->cap,
                                .bound = from->bound,
                                .elem = element_size(from),
                                .text_bound = from->text_bound,
                                .type = from->def ? from->def->type : NULL,
                                .about = about_text(l->set, from->above, from->comment)};
        if (from->shape == NM_SEQ) to->first = (uint32_t)align_up(sizeof(uint32_t), element_align(from));
        at +=
            from->shape == NM_BLOB ? sizeof(struct nm_blob) : align_up(to->first + (uint64_t)to->cap * to->elem, align);
        l->line = from->line;
        if (at > NM_DEF_SIZE)
            return nm_fail(l->err, "%s:%u: %s grows beyond %d bytes at %s; give it a smaller cap or make it a blob",
                           l->file, l->line, def->name, NM_DEF_SIZE, from->name);
    }
    l->type->size = (uint32_t)align_up(at, def->align);
    return 0;
}

static int too_many(struct layout *l, uint32_t n)
{
    if (n < NM_DEF_PARTS) return 0;
    return nm_fail(l->err, "%s:%u: %s has more than %d parts when written out", l->file, l->line, l->type->name,
                   NM_DEF_PARTS);
}

/* ops */

/* Adds an op; one that goes on where the last ends, with elements of the same size, makes that one longer. */
static int add_op(struct layout *l, struct nm_op op)
{
    struct nm_op *last = l->type->n_ops ? &l->ops[l->type->n_ops - 1] : NULL;
    bool run = op.code == NM_OP_COPY || op.code == NM_OP_BOOL || op.code == NM_OP_STRING;
    if (last && run && last->code == op.code && last->elem == op.elem &&
        last->offset + last->n * last->elem == op.offset) {
        last->n += op.n;
        return 0;
    }
    if (too_many(l, l->type->n_ops)) return -1;
    l->ops = nm_take_more(l->set->arena, l->ops, l->type->n_ops, &l->op_room, sizeof *l->ops);
    l->ops[l->type->n_ops++] = op;
    return 0;
}

/* True for structs that are one run of primitives without padding, such as Point. */
static bool is_run(const struct nm_type *type)
{
    return type->n_ops == 1 && (type->ops->code == NM_OP_COPY || type->ops->code == NM_OP_BOOL) &&
           type->ops->n * type->ops->elem == type->size;
}

static int add_struct_ops(struct layout *l, const struct nm_field *field)
{
    const struct nm_type *inner = field->type;
    if (field->cap > 1 && !is_run(inner))
        return add_op(l, (struct nm_op){NM_OP_STRUCTS, NM_STRUCT, field->offset, field->elem, field->cap, 0, inner});
    for (uint32_t i = 0; i < inner->n_ops; i++) {
        struct nm_op op = inner->ops[i];
        op.offset += field->offset;
        if (is_run(inner)) op.n *= field->cap;
        if (add_op(l, op)) return -1;
    }
    return 0;
}

static int add_ops(struct layout *l, const struct nm_field *field)
{
    if (field->shape == NM_BLOB)
        return add_op(l, (struct nm_op){NM_OP_BLOB, field->kind, field->offset, field->elem, 0, 0, NULL});
    if (field->shape == NM_SEQ)
        return add_op(l, (struct nm_op){NM_OP_SEQ, field->kind, field->offset, field->elem, field->cap, field->first,
                                        field->type});
    if (field->kind == NM_STRUCT) return add_struct_ops(l, field);
    enum nm_op_code code = field->kind == NM_BOOL ? NM_OP_BOOL : field->kind == NM_STRING ? NM_OP_STRING : NM_OP_COPY;
    return add_op(l, (struct nm_op){code, field->kind, field->offset, field->elem, field->cap, 0, NULL});
}

/* spans: what lies between the storages of sequences */

static int add_storage(struct layout *l, uint64_t offset, uint64_t size)
{
    if (offset > l->clean) {
        if (too_many(l, l->type->n_spans)) return -1;
        l->spans = nm_take_more(l->set->arena, l->spans, l->type->n_spans, &l->span_room, sizeof *l->spans);
        l->spans[l->type->n_spans++] = (struct nm_span){l->clean, (uint32_t)offset - l->clean};
    }
    l->clean = (uint32_t)(offset + size);
    return 0;
}

static int add_spans(struct layout *l, const struct nm_field *field)
{
    if (field->shape == NM_SEQ) return add_storage(l, field->offset + field->first, (uint64_t)field->cap * field->elem);
    if (field->kind != NM_STRUCT || field->type->flat) return 0;
    for (uint32_t k = 0; k < field->cap; k++) {
        uint32_t base = field->offset + k * field->elem, n = field->type->n_spans;
        const struct nm_span *spans = field->type->spans;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t end = spans[i].offset + spans[i].size, next = i + 1 < n ? spans[i + 1].offset : field->type->size;
            if (next > end && add_storage(l, base + end, next - end)) return -1;
        }
    }
    return 0;
}

/* defaults */

static void value_bytes(const struct nm_def_field *field, const struct nm_def_value *value, uint8_t *to)
{
    float f = (float)value->f;
    switch (field->kind) {
    case NM_FLOAT32: memcpy(to, &f, sizeof f); return;
    case NM_FLOAT64: memcpy(to, &value->f, sizeof value->f); return;
    case NM_STRING: memcpy(to, value->text, strlen(value->text)); return;
    default: memcpy(to, &value->i, nm_kind_width(field->kind)); return; /* little endian: the low bytes come first */
    }
}

static int add_default(struct layout *l, struct nm_default value)
{
    if (too_many(l, l->type->n_defaults)) return -1;
    l->defaults = nm_take_more(l->set->arena, l->defaults, l->type->n_defaults, &l->default_room, sizeof *l->defaults);
    l->defaults[l->type->n_defaults++] = value;
    return 0;
}

static int add_own_default(struct layout *l, const struct nm_def_field *from, const struct nm_field *field)
{
    uint32_t size = field->first + from->n_values * field->elem;
    uint8_t *bytes = nm_take(l->set->arena, size);
    if (field->shape == NM_SEQ) memcpy(bytes, &from->n_values, sizeof from->n_values);
    for (uint32_t i = 0; i < from->n_values; i++)
        value_bytes(from, &from->values[i], bytes + field->first + i * field->elem);
    /* zeros at the end are cleared already, but not in the storage of a sequence */
    while (field->shape != NM_SEQ && size && !bytes[size - 1]) size--;
    return size ? add_default(l, (struct nm_default){field->offset, size, bytes}) : 0;
}

/* Of structs in this one. Elements of a sequence get theirs when they are appended. */
static int add_defaults(struct layout *l, const struct nm_def_field *from, const struct nm_field *field)
{
    if (from->n_values) return add_own_default(l, from, field);
    if (field->kind != NM_STRUCT || field->shape == NM_SEQ || !field->type->n_defaults) return 0;
    for (uint32_t k = 0; k < field->cap; k++)
        for (uint32_t i = 0; i < field->type->n_defaults; i++) {
            struct nm_default inner = field->type->defaults[i];
            inner.offset += field->offset + k * field->elem;
            if (add_default(l, inner)) return -1;
        }
    return 0;
}

/* FNV-1a, 64 bit */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t n)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < n; i++) hash = (hash ^ at[i]) * 0x100000001b3;
    return hash;
}

static uint64_t layout_hash(const struct nm_type *type)
{
    uint64_t hash = hash_bytes(0xcbf29ce484222325, type->name, strlen(type->name) + 1);
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *f = &type->fields[i];
        uint64_t numbers[] = {f->kind, f->shape, f->offset, f->cap, f->elem, f->first, f->type ? f->type->layout : 0};
        hash = hash_bytes(hash_bytes(hash, f->name, strlen(f->name) + 1), numbers, sizeof numbers);
    }
    return hash_bytes(hash, &type->size, sizeof type->size);
}

static uint32_t stamp_offset(const struct nm_type *type)
{
    const struct nm_field *first = type->fields;
    if (first->shape != NM_ONE || first->kind != NM_STRUCT) return UINT32_MAX;
    if (!strcmp(first->type->name, "std_msgs/msg/Header")) return first->type->stamp; /* its first member, or none */
    bool stamp = !strcmp(first->name, "stamp") && !strcmp(first->type->name, "builtin_interfaces/msg/Time");
    return stamp ? first->offset : UINT32_MAX;
}

static struct nm_constant *copy_constants(const struct nm_defs *set, const struct nm_def *def)
{
    struct nm_constant *constants = nm_take_n(set->arena, struct nm_constant, def->n_constants);
    for (uint32_t i = 0; i < def->n_constants; i++) {
        const struct nm_def_constant *c = &def->constants[i];
        constants[i] = (struct nm_constant){c->name,    c->kind,       c->value.i,
                                            c->value.f, c->value.text, about_text(set, c->above, c->comment)};
    }
    return constants;
}

/* Blobs are counted up and down more often than anything else is done with a whole message: their ops stand apart. */
static const struct nm_op *copy_blob_ops(const struct nm_defs *set, struct nm_type *type)
{
    struct nm_op *ops = nm_take_n(set->arena, struct nm_op, type->n_ops + 1);
    for (uint32_t i = 0; i < type->n_ops; i++) {
        const struct nm_op *op = &type->ops[i];
        if (op->code == NM_OP_BLOB || (op->type && op->type->blobs)) ops[type->n_blob_ops++] = *op;
    }
    return ops;
}

/* Depth is limited by linking. */
static int lay_out(const struct nm_defs *set, struct nm_def *def, struct nm_err *err)
{
    if (def->type) return 0;
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (def->fields[i].def && lay_out(set, def->fields[i].def, err)) return -1;

    struct nm_type *type = nm_take_n(set->arena, struct nm_type, 1);
    struct layout l = {.set = set, .type = type, .file = def->file, .line = def->line, .err = err};
    l.fields = nm_take_n(set->arena, struct nm_field, def->n_fields);
    *type = (struct nm_type){.name = def->name,
                             .c_name = def->c_name,
                             .dds_name = nm_def_dds_name(set, def),
                             .flat = true,
                             .n_fields = def->n_fields,
                             .n_constants = def->n_constants,
                             .about = about_text(set, def->comment, "")};
    if (place_members(&l, def)) return -1;
    for (uint32_t i = 0; i < def->n_fields; i++) {
        const struct nm_field *field = &l.fields[i];
        if (add_ops(&l, field) || add_spans(&l, field) || add_defaults(&l, &def->fields[i], field)) return -1;
        if (field->shape == NM_SEQ || field->shape == NM_BLOB || (field->type && !field->type->flat))
            type->flat = false;
        if (field->shape == NM_BLOB || (field->type && field->type->blobs)) type->blobs = true;
    }
    if (add_storage(&l, type->size, 0)) return -1;
    type->fields = l.fields;
    type->constants = copy_constants(set, def);
    type->ops = l.ops;
    type->blob_ops = copy_blob_ops(set, type);
    type->spans = l.spans;
    type->defaults = l.defaults;
    type->stamp = stamp_offset(type);
    type->layout = layout_hash(type);
    def->type = type;
    return 0;
}

const struct nm_type *nm_def_type(const struct nm_defs *set, struct nm_def *def, struct nm_err *err)
{
    if (lay_out(set, def, err)) return NULL;
    if (!def->type->hash) {
        def->type->hash = nm_def_hash(set, def);
        def->type->schema = nm_def_schema(set, def);
    }
    return def->type;
}
