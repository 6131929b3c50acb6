/* Encoding: one loop over the type's program (struct nm_op). Runs of equal primitives, also across nested structs, are
 * one copy. Decoding is cdr_decode.c. */
#include "codec/cdr.h"

#include "codec/cdr_bytes.h"

struct out {
    uint8_t *base, *end; /* alignment counts from base */
    int64_t fault;
};

static uint8_t *stop(struct out *o, int64_t fault)
{
    o->fault = fault;
    return NULL;
}

static inline uint8_t *put_run(struct out *o, uint8_t *at, const uint8_t *from, size_t align, size_t bytes)
{
    size_t pad = padding(o->base, at, align), room = (size_t)(o->end - at);
    if (room < pad + bytes) return stop(o, NM_CDR_ROOM);
    if (room >= WORD)
        store_word(at, 0);
    else
        memset(at, 0, pad);
    copy(at + pad, from, bytes);
    return at + pad + bytes;
}

static uint8_t *put_bools(struct out *o, uint8_t *at, const uint8_t *from, size_t n)
{
    if ((size_t)(o->end - at) < n) return stop(o, NM_CDR_ROOM);
    for (size_t i = 0; i < n; i++) at[i] = from[i] != 0;
    return at + n;
}

static uint8_t *put_text_near_end(struct out *o, uint8_t *at, const uint8_t *text, size_t size)
{
    uint32_t length = (uint32_t)strnlen((const char *)text, size - 1) + 1;
    at = put_run(o, at, (const uint8_t *)&length, 4, 4);
    if (!at || (size_t)(o->end - at) < length) return stop(o, NM_CDR_ROOM);
    memcpy(at, text, length - 1);
    at[length - 1] = 0;
    return at + length;
}

/* Copies blocks until one holds the NUL: copy and length in one pass. `size` is the member's, so that blocks stay
 * inside it; `to` has room for it, too. A text without NUL ends where its member does. */
static inline size_t copy_text(uint8_t *to, const uint8_t *text, size_t size)
{
    size_t length = 0;
    for (; length + BLOCK <= size; length += BLOCK) {
        size_t nul = copy_block(to + length, text + length);
        if (nul < BLOCK) return length + nul;
    }
    for (; length < size && text[length]; length++) to[length] = text[length];
    return length < size ? length : size - 1;
}

static inline uint8_t *put_text(struct out *o, uint8_t *at, const uint8_t *text, size_t size)
{
    if ((size_t)(o->end - at) < size + 2 * WORD) return put_text_near_end(o, at, text, size);
    store_word(at, 0);
    at += padding(o->base, at, 4);
    uint32_t length = (uint32_t)copy_text(at + 4, text, size) + 1;
    memcpy(at, &length, 4);
    at[4 + length - 1] = 0;
    return at + 4 + length;
}

static uint8_t *put_struct(struct out *o, const struct nm_type *type, const uint8_t *message, uint8_t *at);

static uint8_t *put_structs(struct out *o, const struct nm_type *type, const uint8_t *from, uint32_t n, uint8_t *at)
{
    if (one_run(type)) return put_run(o, at, from, type->ops->elem, (size_t)n * type->size);
    for (uint32_t i = 0; i < n && at; i++) at = put_struct(o, type, from + (size_t)i * type->size, at);
    return at;
}

static uint8_t *put_sequence(struct out *o, const struct nm_op *op, const uint8_t *seq, uint8_t *at)
{
    uint32_t n;
    memcpy(&n, seq, 4);
    if (n > op->n) return stop(o, NM_CDR_COUNT);
    at = put_run(o, at, seq, 4, 4);
    const uint8_t *from = seq + op->first;
    if (!at || !n) return at;
    if (op->kind == NM_STRUCT) return put_structs(o, op->type, from, n, at);
    if (op->kind == NM_BOOL) return put_bools(o, at, from, n);
    if (op->kind != NM_STRING) return put_run(o, at, from, op->elem, (size_t)n * op->elem);
    for (uint32_t i = 0; i < n && at; i++) at = put_text(o, at, from + (size_t)i * op->elem, op->elem);
    return at;
}

static uint8_t *put_blob(struct out *o, const struct nm_op *op, const struct nm_blob *blob, uint8_t *at)
{
    if ((uint64_t)blob->n * op->elem > blob->cap) return stop(o, NM_CDR_COUNT);
    at = put_run(o, at, (const uint8_t *)&blob->n, 4, 4);
    if (!at || !blob->n) return at;
    if (op->kind == NM_BOOL) return put_bools(o, at, blob->data, blob->n);
    return put_run(o, at, blob->data, op->elem, (size_t)blob->n * op->elem);
}

static uint8_t *put_struct(struct out *o, const struct nm_type *type, const uint8_t *message, uint8_t *at)
{
    for (const struct nm_op *op = type->ops, *end = op + type->n_ops; op < end && at; op++) {
        const uint8_t *from = message + op->offset;
        switch (op->code) {
        case NM_OP_COPY: at = put_run(o, at, from, op->elem, (size_t)op->n * op->elem); break;
        case NM_OP_BOOL: at = put_bools(o, at, from, op->n); break;
        case NM_OP_STRING:
            for (uint32_t i = 0; i < op->n && at; i++) at = put_text(o, at, from + (size_t)i * op->elem, op->elem);
            break;
        case NM_OP_STRUCTS: at = put_structs(o, op->type, from, op->n, at); break;
        case NM_OP_SEQ: at = put_sequence(o, op, from, at); break;
        case NM_OP_BLOB: at = put_blob(o, op, (const struct nm_blob *)from, at); break;
        }
    }
    return at;
}

int64_t nm_cdr_encode(const struct nm_type *type, const void *message, void *buf, size_t size)
{
    if (size < NM_CDR_HEAD) return NM_CDR_ROOM;
    memcpy(buf, "\0\1\0\0", NM_CDR_HEAD);
    struct out o = {.base = (uint8_t *)buf + NM_CDR_HEAD, .end = (uint8_t *)buf + size};
    uint8_t *at = put_struct(&o, type, message, o.base);
    return at ? at - (uint8_t *)buf : o.fault;
}

static size_t after_run(size_t at, size_t align, size_t bytes) { return ((at + align - 1) & ~(align - 1)) + bytes; }

/* Position after a struct that begins at `at`, as put_struct would leave it. */
static size_t after_struct(const struct nm_type *type, const uint8_t *message, size_t at)
{
    for (const struct nm_op *op = type->ops, *end = op + type->n_ops; op < end; op++) {
        const uint8_t *from = message + op->offset;
        size_t n = op->n, stride = op->elem;
        bool run = op->kind != NM_STRING && op->kind != NM_STRUCT;
        if (op->code == NM_OP_SEQ || op->code == NM_OP_BLOB) {
            uint32_t count = op->code == NM_OP_SEQ ? *(const uint32_t *)from : ((const struct nm_blob *)from)->n;
            n = op->code == NM_OP_SEQ && count > op->n ? op->n : count;
            from += op->first;
            at = after_run(at, 4, 4);
        }
        if (run && n) at = after_run(at, op->elem, n * op->elem);
        if (run) continue;
        for (size_t i = 0; i < n; i++, from += stride) {
            at = op->kind == NM_STRUCT ? after_struct(op->type, from, at)
                                       : after_run(at, 4, 4) + strnlen((const char *)from, op->elem - 1) + 1;
        }
    }
    return at;
}

size_t nm_cdr_size(const struct nm_type *type, const void *message)
{
    return NM_CDR_HEAD + after_struct(type, message, 0);
}

/* As if every primitive run and every count needed all the padding there can be. */
static size_t most_of_struct(const struct nm_type *type)
{
    size_t most = 0;
    for (const struct nm_op *op = type->ops, *end = op + type->n_ops; op < end; op++) {
        if (op->code == NM_OP_SEQ || op->code == NM_OP_BLOB) most += 3 + 4;
        if (op->code == NM_OP_BLOB)
            most += op->elem - 1;
        else if (op->kind == NM_STRUCT)
            most += op->n * most_of_struct(op->type);
        else if (op->kind == NM_STRING)
            most += op->n * (size_t)(3 + 4 + op->elem);
        else
            most += op->elem - 1 + (size_t)op->n * op->elem;
    }
    return most;
}

size_t nm_cdr_most(const struct nm_type *type) { return NM_CDR_HEAD + most_of_struct(type); }
