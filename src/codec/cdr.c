/* CDR in both directions: one loop over the type's program (struct nm_op). Runs of equal primitives, also across nested
 * structs, are one copy. Copies go in words and blocks, since a call into the C library costs more than most of these
 * copies do. */
#include "codec/cdr.h"

#include <stdio.h>
#include <string.h>

#include "base/type.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire's byte order is the machine's");

enum { NM_CDR_HEAD = 4 /* encapsulation */, WORD = 8 };

static inline uint64_t load_word(const void *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline void store_word(void *at, uint64_t word) { memcpy(at, &word, sizeof word); }

/* Non-zero if a byte of the word is zero; its lowest bit set then lies in the first such byte (Mycroft 1987). */
static inline uint64_t zero_byte(uint64_t word) { return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u; }

/* Copies BLOCK bytes and returns where the first NUL among them is, BLOCK without one. */
#ifdef __SSE2__
enum { BLOCK = 16 };

static inline size_t copy_block(uint8_t *to, const uint8_t *from)
{
    __m128i block = _mm_loadu_si128((const __m128i *)from);
    unsigned zeros = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_setzero_si128()));
    _mm_storeu_si128((__m128i *)to, block);
    return (size_t)__builtin_ctz(zeros | 1u << BLOCK);
}

#else

enum { BLOCK = WORD };

static inline size_t copy_block(uint8_t *to, const uint8_t *from)
{
    uint64_t word = load_word(from), zeros = zero_byte(word);
    store_word(to, word);
    return zeros ? (size_t)__builtin_ctzll(zeros) / 8 : BLOCK;
}

#endif

/* memcpy for sizes that are mostly small: both ends, overlapping in the middle. */
static inline void copy(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n > 64) {
        memcpy(to, from, n);
    } else if (n > 32) {
        memcpy(to, from, 32);
        memcpy(to + n - 32, from + n - 32, 32);
    } else if (n >= 16) {
        memcpy(to, from, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++) to[i] = from[i];
    }
}

/* A struct that is one run of equal primitives without padding: sequences of it are runs, too. */
static inline bool one_run(const struct nm_type *type)
{
    return type->n_ops == 1 && type->ops->code == NM_OP_COPY && type->ops->n * type->ops->elem == type->size;
}

static inline size_t padding(const uint8_t *base, const uint8_t *at, size_t align)
{
    return (size_t)(base - at) & (align - 1);
}

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

/* Decoding: the same loop the other way, in which every length is checked before it is used. */

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
