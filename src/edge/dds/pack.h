/* CDR by hand, for answers whose length is not known in advance (all parameters of a robot) and whose structs would be
 * large: a writer that grows, and a reader that checks everything. Alignment is counted from the end of the 4-byte
 * header, as in codec/cdr.h, which does everything else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { PACK_HEAD = 4 };

struct pack {
    uint8_t *bytes; /* used again for the next answer; the owner frees them */
    size_t n, room;
};

static inline void pack_room(struct pack *p, size_t n)
{
    if (n <= p->room) return;
    p->room = n * 2 + 256;
    p->bytes = nm_realloc(p->bytes, p->room);
}

static inline void pack_raw(struct pack *p, const void *bytes, size_t n)
{
    pack_room(p, p->n + n);
    if (n) memcpy(p->bytes + p->n, bytes, n);
    p->n += n;
}

static inline void pack_begin(struct pack *p)
{
    p->n = 0;
    pack_raw(p, "\0\1\0\0", PACK_HEAD);
}

static inline void pack_align(struct pack *p, size_t to)
{
    static const uint8_t zero[8];
    pack_raw(p, zero, (0 - (p->n - PACK_HEAD)) & (to - 1));
}

static inline void pack_word(struct pack *p, const void *word, size_t n)
{
    pack_align(p, n);
    pack_raw(p, word, n);
}

static inline void pack_u8(struct pack *p, uint8_t v) { pack_raw(p, &v, 1); }
static inline void pack_u32(struct pack *p, uint32_t v) { pack_word(p, &v, 4); }
static inline void pack_i32(struct pack *p, int32_t v) { pack_word(p, &v, 4); }
static inline void pack_u64(struct pack *p, uint64_t v) { pack_word(p, &v, 8); }
static inline void pack_i64(struct pack *p, int64_t v) { pack_word(p, &v, 8); }
static inline void pack_f64(struct pack *p, double v) { pack_word(p, &v, 8); }
static inline void pack_text(struct pack *p, const char *text)
{
    size_t n = strlen(text) + 1;
    pack_u32(p, (uint32_t)n);
    pack_raw(p, text, n);
}

struct unpack {
    const uint8_t *bytes;
    size_t n, at;
    bool swap; /* the sender has the other byte order                           */
    bool bad;  /* the bytes were too short or not valid; the rest reads as zero */
};

/* False if this is not plain CDR. */
static inline bool unpack_begin(struct unpack *u, const void *bytes, size_t n)
{
    *u = (struct unpack){.bytes = bytes, .n = n, .at = PACK_HEAD};
    u->bad = n < PACK_HEAD || u->bytes[0] != 0 || u->bytes[1] > 1;
    u->swap = !u->bad && u->bytes[1] == 0;
    return !u->bad;
}

static inline const void *unpack_raw(struct unpack *u, size_t n)
{
    if (u->bad || n > u->n - u->at) {
        u->bad = true;
        return NULL;
    }
    u->at += n;
    return u->bytes + u->at - n;
}

static inline uint64_t unpack_word(struct unpack *u, size_t n)
{
    unpack_raw(u, (0 - (u->at - PACK_HEAD)) & (n - 1));
    const uint8_t *from = unpack_raw(u, n);
    uint64_t v = 0;
    for (size_t i = 0; from && i < n; i++) v |= (uint64_t)from[u->swap ? n - 1 - i : i] << 8 * i;
    return v;
}

static inline uint8_t unpack_u8(struct unpack *u) { return (uint8_t)unpack_word(u, 1); }
static inline uint32_t unpack_u32(struct unpack *u) { return (uint32_t)unpack_word(u, 4); }
static inline uint64_t unpack_u64(struct unpack *u) { return unpack_word(u, 8); }
static inline double unpack_f64(struct unpack *u)
{
    uint64_t word = unpack_word(u, 8);
    double v;
    memcpy(&v, &word, sizeof v);
    return v;
}

/* A number of elements of at least `least` bytes each; 0 if the bytes are too short for them. */
static inline uint32_t unpack_count(struct unpack *u, size_t least)
{
    uint32_t n = unpack_u32(u);
    if (!u->bad && (uint64_t)n * least > u->n - u->at) u->bad = true;
    return u->bad ? 0 : n;
}

/* A text inside the bytes, or "" if there is none. */
static inline const char *unpack_text(struct unpack *u)
{
    uint32_t n = unpack_u32(u);
    if (u->bad || n == 0) return "";
    const char *text = unpack_raw(u, n);
    if (text && (text[n - 1] || strlen(text) + 1 != n)) u->bad = true;
    return u->bad ? "" : text;
}
