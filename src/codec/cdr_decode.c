/* Decoding: the same loop the other way, in which every length is checked before it is used. */
#include "codec/cdr.h"

#include <stdio.h>

#include "codec/cdr_bytes.h"

struct in {
    const uint8_t *base, *end;
    struct nm_blob_pool *pool;
    bool swap;

    /* the first fault, for the sentence */
    enum nm_cdr_fault fault;
    const struct nm_type *type;
    const struct nm_op *op;
    uint64_t got, fits;
};

static const uint8_t *refuse(struct in *i, enum nm_cdr_fault fault, uint64_t got, uint64_t fits)
{
    i->fault = fault;
    i->got = got;
    i->fits = fits;
    return NULL;
}

static const uint8_t *too_short(struct in *i, const uint8_t *at)
{
    return refuse(i, NM_CDR_SHORT, (uint64_t)(at - i->base), 0);
}

static void swap_run(uint8_t *at, size_t elem, size_t bytes)
{
    for (uint8_t *end = at + bytes; elem > 1 && at < end; at += elem) {
        for (size_t i = 0; i < elem / 2; i++) {
            uint8_t byte = at[i];
            at[i] = at[elem - 1 - i];
            at[elem - 1 - i] = byte;
        }
    }
}

static inline const uint8_t *get_run(struct in *i, const uint8_t *at, uint8_t *to, size_t align, size_t bytes)
{
    size_t pad = padding(i->base, at, align);
    if ((size_t)(i->end - at) < pad + bytes) return too_short(i, at);
    copy(to, at + pad, bytes);
    if (__builtin_expect(i->swap, false)) swap_run(to, align, bytes);
    return at + pad + bytes;
}

static const uint8_t *get_bools(struct in *i, const uint8_t *at, uint8_t *to, size_t n)
{
    if ((size_t)(i->end - at) < n) return too_short(i, at);
    for (size_t k = 0; k < n; k++) to[k] = at[k] != 0;
    return at + n;
}

static inline const uint8_t *get_count(struct in *i, const uint8_t *at, uint32_t *count)
{
    size_t pad = padding(i->base, at, 4);
    if ((size_t)(i->end - at) < pad + 4) return too_short(i, at);
    memcpy(count, at + pad, 4);
    if (__builtin_expect(i->swap, false)) *count = __builtin_bswap32(*count);
    return at + pad + 4;
}

/* Copies `length` bytes whose last and only the last must be NUL. */
static inline bool take_text(uint8_t *to, const uint8_t *at, size_t length)
{
    const uint64_t only_last = 0x8000000000000000u; /* of zero_byte */
    if (length < WORD) {
        for (size_t k = 0; k < length; k++) {
            to[k] = at[k];
            if (!at[k]) return k == length - 1;
        }
        return length == 0;
    }
    for (size_t k = 0; k + WORD < length; k += WORD) {
        uint64_t word = load_word(at + k);
        if (zero_byte(word)) return false;
        store_word(to + k, word);
    }
    uint64_t last = load_word(at + length - WORD);
    store_word(to + length - WORD, last);
    return zero_byte(last) == only_last;
}

/* Inlined once for each byte order. Positions are offsets in registers: for all that C knows, stores to `to` change *i.
 */
static inline __attribute__((always_inline)) const uint8_t *get_texts_in(struct in *i, const uint8_t *at, uint8_t *to,
                                                                         size_t size, uint32_t n, bool swap)
{
    const uint8_t *base = i->base;
    size_t offset = (size_t)(at - base), end = (size_t)(i->end - base), short_text = size < BLOCK ? 0 : BLOCK;
    for (; n; n--, to += size) {
        uint32_t length;
        offset = (offset + 3) & ~(size_t)3;
        if (offset + 4 > end) return too_short(i, i->end);
        memcpy(&length, base + offset, 4);
        if (swap) length = __builtin_bswap32(length);
        offset += 4;
        if (length > end - offset) return too_short(i, base + offset);
        if (length > size) return refuse(i, NM_CDR_LONG, length - 1, size - 1);
        if (!length) to[0] = 0; /* lax peers send an empty text so */
        bool one_block = length - 1 < short_text && end - offset >= BLOCK;
        if (one_block ? copy_block(to, base + offset) != length - 1 : !take_text(to, base + offset, length))
            return refuse(i, NM_CDR_TEXT, 0, 0);
        offset += length;
    }
    return base + offset;
}

static const uint8_t *get_texts(struct in *i, const uint8_t *at, uint8_t *to, size_t size, uint32_t n)
{
    return i->swap ? get_texts_in(i, at, to, size, n, true) : get_texts_in(i, at, to, size, n, false);
}

static const uint8_t *get_struct(struct in *i, const struct nm_type *type, uint8_t *message, const uint8_t *at);

static const uint8_t *get_structs(struct in *i, const struct nm_type *type, uint8_t *to, uint32_t n, const uint8_t *at)
{
    if (one_run(type)) return get_run(i, at, to, type->ops->elem, (size_t)n * type->size);
    for (uint32_t k = 0; k < n && at; k++) at = get_struct(i, type, to + (size_t)k * type->size, at);
    return at;
}

/* Elements beyond the count are undefined, so each is reset before a blob comes into it, and counted at once: after a
 * fault the message is in order for nm_reset. */
static const uint8_t *get_blob_structs(struct in *i, const struct nm_op *op, uint8_t *seq, uint32_t n,
                                       const uint8_t *at)
{
    for (uint32_t k = 0; k < n && at; k++) {
        void *element = nm_append_((uint32_t *)seq, seq + op->first, op->n, op->type);
        at = get_struct(i, op->type, element, at);
    }
    return at;
}

static const uint8_t *get_sequence(struct in *i, const struct nm_op *op, uint8_t *seq, const uint8_t *at)
{
    uint32_t n;
    if (!(at = get_count(i, at, &n))) return NULL;
    /* every element takes at least a byte, a text four */
    size_t least = op->kind == NM_STRUCT ? 1 : op->kind == NM_STRING ? 4 : op->elem;
    if ((uint64_t)n * least > (uint64_t)(i->end - at)) return too_short(i, at);
    if (n > op->n) return refuse(i, NM_CDR_LONG, n, op->n);
    if (op->type && op->type->blobs) return get_blob_structs(i, op, seq, n, at);

    memcpy(seq, &n, 4);
    uint8_t *to = seq + op->first;
    if (!n) return at;
    if (op->kind == NM_STRUCT) return get_structs(i, op->type, to, n, at);
    if (op->kind == NM_BOOL) return get_bools(i, at, to, n);
    if (op->kind != NM_STRING) return get_run(i, at, to, op->elem, (size_t)n * op->elem);
    return get_texts(i, at, to, op->elem, n);
}

static const uint8_t *get_blob(struct in *i, const struct nm_op *op, struct nm_blob *blob, const uint8_t *at)
{
    uint32_t n;
    if (!(at = get_count(i, at, &n)) || !n) return at;
    size_t bytes = (size_t)n * op->elem, pad = padding(i->base, at, op->elem);
    if ((size_t)(i->end - at) < pad + bytes) return too_short(i, at);
    at += pad;
    if (i->pool) {
        if (bytes > i->pool->bytes) return refuse(i, NM_CDR_POOL, bytes, i->pool->bytes);
        if (!nm_pool_take(i->pool, blob)) return refuse(i, NM_CDR_POOL, i->pool->count, 0);
        blob->n = n;
        return op->kind == NM_BOOL ? get_bools(i, at, blob->data, n) : get_run(i, at, blob->data, op->elem, bytes);
    }
    if ((i->swap && op->elem > 1) || (uintptr_t)at % op->elem) return refuse(i, NM_CDR_BORROW, 0, 0);
    *blob = (struct nm_blob){.data = (uint8_t *)(uintptr_t)at, .n = n, .cap = (uint32_t)bytes};
    return at + bytes;
}

static const uint8_t *get_struct(struct in *i, const struct nm_type *type, uint8_t *message, const uint8_t *at)
{
    for (const struct nm_op *op = type->ops, *end = op + type->n_ops; op < end; op++) {
        uint8_t *to = message + op->offset;
        switch (op->code) {
        case NM_OP_COPY: at = get_run(i, at, to, op->elem, (size_t)op->n * op->elem); break;
        case NM_OP_BOOL: at = get_bools(i, at, to, op->n); break;
        case NM_OP_STRING: at = get_texts(i, at, to, op->elem, op->n); break;
        case NM_OP_STRUCTS: at = get_structs(i, op->type, to, op->n, at); break;
        case NM_OP_SEQ: at = get_sequence(i, op, to, at); break;
        case NM_OP_BLOB: at = get_blob(i, op, (struct nm_blob *)to, at); break;
        }
        if (__builtin_expect(!at, 0)) {
            if (!i->type) i->type = type, i->op = op;
            return NULL;
        }
    }
    return at;
}

/* The path of the member that holds an offset: "header.frame_id". */
static void name_member(const struct nm_type *type, uint32_t offset, char *path, size_t room)
{
    size_t length = 0;
    path[0] = '\0';
    while (type) {
        const struct nm_type *inner = NULL;
        for (uint32_t k = type->n_fields; k-- > 0;) {
            const struct nm_field *field = &type->fields[k];
            if (field->offset > offset) continue;
            int n = snprintf(path + length, room - length, "%s%s", length ? "." : "", field->name);
            length += (size_t)n < room - length ? (size_t)n : room - length - 1;
            offset -= field->offset;
            if (field->shape == NM_ARRAY) offset %= field->elem;
            if (field->kind == NM_STRUCT && field->shape <= NM_ARRAY) inner = field->type;
            break;
        }
        type = inner;
    }
}

static void explain(const struct in *i, const struct nm_type *type, size_t size, struct nm_err *err)
{
    char where[320] = "", member[256];
    unsigned long long got = i->got, fits = i->fits;
    if (!err) return;
    if (i->type) {
        name_member(i->type, i->op->offset, member, sizeof member);
        snprintf(where, sizeof where, "%s%s%s", i->type == type ? "" : i->type->c_name, i->type == type ? "" : ".",
                 member);
    }
    switch (i->fault) {
    case NM_CDR_HEADER: nm_fail(err, "%s: no plain CDR header (00 00 or 00 01) in %zu bytes", type->name, size); break;
    case NM_CDR_SHORT:
        nm_fail(err, "%s: %zu bytes end inside %s (at byte %llu)", type->name, size, where, got + NM_CDR_HEAD);
        break;
    case NM_CDR_LONG:
        nm_fail(err, "%s: %s is %llu long, %llu fit; raise its cap= in the .msg", type->name, where, got, fits);
        break;
    case NM_CDR_TEXT: nm_fail(err, "%s: %s has a NUL inside or none at its end", type->name, where); break;
    case NM_CDR_POOL:
        if (fits)
            nm_fail(err, "%s: %s has %llu bytes, a block of the pool has %llu", type->name, where, got, fits);
        else
            nm_fail(err, "%s: %s: all %llu blocks of the pool are in use", type->name, where, got);
        break;
    case NM_CDR_BORROW:
        nm_fail(err, "%s: %s has another byte order or alignment than memory: it needs a pool", type->name, where);
        break;
    case NM_CDR_ROOM:
    case NM_CDR_COUNT: break;
    }
}

int nm_cdr_decode(const struct nm_type *type, void *message, const void *buf, size_t size, struct nm_blob_pool *pool,
                  struct nm_err *err)
{
    const uint8_t *bytes = buf;
    struct in i = {.pool = pool};
    if (type->blobs) nm_reset(type, message);
    if (size < NM_CDR_HEAD || bytes[0] != 0 || bytes[1] > 1) {
        i.fault = NM_CDR_HEADER;
    } else {
        i.base = bytes + NM_CDR_HEAD;
        i.end = bytes + size;
        i.swap = bytes[1] == 0;
        if (get_struct(&i, type, message, i.base)) return 0;
    }
    nm_reset(type, message);
    explain(&i, type, size, err);
    return (int)i.fault;
}
