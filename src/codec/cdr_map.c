#include "codec/cdr_map.h"

#include <math.h>
#include <string.h>

/* How two members can meet. */
enum nature { NUMBER, TEXT, STRUCT };

static enum nature nature(enum nm_kind kind) { return kind == NM_STRING ? TEXT : kind == NM_STRUCT ? STRUCT : NUMBER; }

/* The member of this name, if values of the old one can go into it. */
static const struct nm_field *target(const struct nm_type *type, const struct nm_def_field *from)
{
    const struct nm_field *field = nm_field_find(type, from->name, strlen(from->name));
    bool fits =
        field && nature(field->kind) == nature(from->kind) && (field->shape == NM_ONE) == (from->shape == NM_ONE);
    return fits ? field : NULL;
}

static const struct nm_def_field *named(const struct nm_def *def, const char *name)
{
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (!strcmp(def->fields[i].name, name)) return &def->fields[i];
    return NULL;
}

bool nm_map_same(const struct nm_def *def, const struct nm_type *type)
{
    if (def->n_fields != type->n_fields) return false;
    for (uint32_t i = 0; i < def->n_fields; i++) {
        const struct nm_def_field *a = &def->fields[i];
        const struct nm_field *b = &type->fields[i];
        bool counted_a = a->shape == NM_SEQ || a->shape == NM_BLOB,
             counted_b = b->shape == NM_SEQ || b->shape == NM_BLOB;
        if (strcmp(a->name, b->name) || a->kind != b->kind || counted_a != counted_b) return false;
        if (!counted_a && (a->shape != b->shape || a->cap != b->cap)) return false;
        if (a->kind == NM_STRUCT && !nm_map_same(a->def, b->type)) return false;
    }
    return true;
}

uint32_t nm_map_explain(const struct nm_def *def, const struct nm_type *type, struct nm_err *found)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < def->n_fields; i++) {
        const struct nm_def_field *from = &def->fields[i];
        const struct nm_field *to = target(type, from);
        if (to && to->kind == NM_STRUCT) n += nm_map_explain(from->def, to->type, found);
        if (to) continue;
        bool other = nm_field_find(type, from->name, strlen(from->name));
        nm_fail(found, "%s.%s of the log %s", def->name, from->name,
                other ? "is of another nature now: it keeps its default" : "does not exist any more: it is left out");
        n++;
    }
    for (uint32_t i = 0; i < type->n_fields; i++) {
        if (named(def, type->fields[i].name)) continue;
        nm_fail(found, "%s.%s is new: it keeps its default", type->name, type->fields[i].name);
        n++;
    }
    return n;
}

/* ---- values ---- */

struct mapping {
    struct nm_walk walk;
    struct nm_blob_pool *pool;
    struct nm_err *err;
};

static int does_not_fit(struct mapping *m, const struct nm_def_field *from, const char *why)
{
    return nm_fail(m->err, "%s: %s of the log does not fit into today's struct: %s", m->walk.def->name, from->name,
                   why);
}

/* Either a whole number with its sign, or a float. */
struct value {
    bool is_float, negative;
    uint64_t whole; /* its amount */
    double f;
};

static struct value value_of(enum nm_kind kind, uint64_t bits)
{
    struct value v = {.whole = bits};
    int64_t i = (int64_t)bits;
    uint32_t low = (uint32_t)bits;
    float f32;
    switch (kind) {
    case NM_INT8: i = (int8_t)bits; break;
    case NM_INT16: i = (int16_t)bits; break;
    case NM_INT32: i = (int32_t)bits; break;
    case NM_INT64: break;
    case NM_FLOAT32: memcpy(&f32, &low, 4); return (struct value){.is_float = true, .f = (double)f32};
    case NM_FLOAT64:
        v.is_float = true;
        memcpy(&v.f, &bits, 8);
        return v;
    default: return v; /* unsigned and bool */
    }
    v.negative = i < 0;
    v.whole = i < 0 ? -(uint64_t)i : (uint64_t)i;
    return v;
}

/* Bits of the value as `kind`; false if it has none there. */
static bool bits_of(struct value v, enum nm_kind kind, uint64_t *bits)
{
    uint32_t width = nm_kind_width(kind);
    if (kind == NM_FLOAT32 || kind == NM_FLOAT64) {
        double f = v.is_float ? v.f : v.negative ? -(double)v.whole : (double)v.whole;
        float f32 = (float)f;
        memcpy(bits, kind == NM_FLOAT64 ? (void *)&f : (void *)&f32, width);
        return true;
    }
    if (v.is_float) { /* only if it is whole */
        if (!(fabs(v.f) < 9007199254740992.0) || v.f != floor(v.f)) return false;
        v.negative = v.f < 0;
        v.whole = (uint64_t)fabs(v.f);
    }
    bool with_sign = kind == NM_INT8 || kind == NM_INT16 || kind == NM_INT32 || kind == NM_INT64;
    uint64_t most = kind == NM_BOOL ? 1 : UINT64_MAX >> (64 - 8 * width + with_sign);
    if (v.negative && !with_sign && v.whole) return false;
    if (v.whole > most + (v.negative && with_sign)) return false;
    *bits = v.negative ? -v.whole : v.whole;
    return true;
}

static int map_struct(struct mapping *m, const struct nm_def *def, const struct nm_type *type, uint8_t *message);

/* One element of the old member into one of the new. */
static int map_one(struct mapping *m, const struct nm_def_field *from, const struct nm_field *to, uint8_t *at)
{
    uint64_t bits;
    const char *text;
    uint32_t n;
    if (from->kind == NM_STRUCT) return map_struct(m, from->def, to->type, at);
    if (from->kind == NM_STRING) {
        if (nm_walk_text(&m->walk, from, &text, &n)) return -1;
        if (n >= to->elem) return does_not_fit(m, from, "the text is too long");
        memcpy(at, text, n);
        at[n] = '\0';
        return 0;
    }
    if (nm_walk_value(&m->walk, from, &bits)) return -1;
    if (from->kind != to->kind && !bits_of(value_of(from->kind, bits), to->kind, &bits))
        return does_not_fit(m, from, "the number is out of range");
    memcpy(at, &bits, to->elem);
    return 0;
}

static int map_blob(struct mapping *m, const struct nm_def_field *from, const struct nm_field *to, struct nm_blob *blob,
                    uint32_t n)
{
    if (!n || !m->pool) return nm_walk_skip(&m->walk, from, n);
    if ((uint64_t)n * to->elem > m->pool->bytes) return does_not_fit(m, from, "it is larger than a block of the pool");
    if (!nm_pool_take(m->pool, blob)) return does_not_fit(m, from, "all blocks of the pool are in use");
    for (uint32_t i = 0; i < n; i++)
        if (map_one(m, from, to, blob->data + (size_t)i * to->elem)) return -1;
    blob->n = n;
    return 0;
}

static int map_list(struct mapping *m, const struct nm_def_field *from, const struct nm_field *to, uint8_t *member)
{
    uint32_t n;
    if (nm_walk_count(&m->walk, from, &n)) return -1;
    if (to->shape == NM_BLOB) return map_blob(m, from, to, (struct nm_blob *)member, n);
    if (n > to->cap) return does_not_fit(m, from, "it has more elements");
    uint8_t *at = to->shape == NM_SEQ ? member + to->first : member;
    if (to->shape == NM_SEQ) memcpy(member, &(uint32_t){0}, 4);
    for (uint32_t i = 0; i < n; i++, at += to->elem) {
        if (to->shape == NM_SEQ && to->kind == NM_STRUCT)
            nm_append_((uint32_t *)member, member + to->first, to->cap, to->type);
        if (map_one(m, from, to, at)) return -1;
    }
    if (to->shape == NM_SEQ) memcpy(member, &n, 4);
    return 0;
}

static int map_struct(struct mapping *m, const struct nm_def *def, const struct nm_type *type, uint8_t *message)
{
    for (uint32_t i = 0; i < def->n_fields; i++) {
        const struct nm_def_field *from = &def->fields[i];
        const struct nm_field *to = target(type, from);
        int result = !to                     ? nm_walk_skip_member(&m->walk, from)
                     : from->shape == NM_ONE ? map_one(m, from, to, message + to->offset)
                                             : map_list(m, from, to, message + to->offset);
        if (result) return -1;
    }
    return 0;
}

int nm_map_decode(const struct nm_def *def, const struct nm_type *type, void *message, const void *cdr, size_t size,
                  struct nm_blob_pool *pool, struct nm_err *err)
{
    struct mapping m = {.pool = pool, .err = err};
    nm_reset(type, message);
    if (!nm_walk_begin(&m.walk, def, cdr, size, err) && !map_struct(&m, def, type, message)) return 0;
    nm_reset(type, message);
    return -1;
}
