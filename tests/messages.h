/* For tests that work on any type: types made from .msg text at run time, and random values for every member. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/blob.h"
#include "base/type.h"
#include "codec/msgdef.h"

/* A member of every kind and shape, alone and nested in each other. */
static const char *const odd_types[][2] = {
    {"Point", "float64 x\nfloat64 y\nfloat64 z\n"},
    {"Mixed", "uint8 a\nfloat64 b\nuint16 c\nbool d\nstring e # cap=10\n"},
    {"Inner", "int16 id\nMixed[] list # cap=3\nstring<=5[] words # cap=4\nfloat32 weight 0.5\n"},
    {"Picture", "uint32 width\nuint8[] data # blob\nfloat32[] depth # blob\n"},
    {"Everything",
     "bool flag true\nbyte raw\nint8 i8 -8\nuint8 u8\nint16 i16\nuint16 u16\nint32 i32\nuint32 u32 7\n"
     "int64 i64\nuint64 u64\nfloat32 f32\nfloat64 f64 0.25\nstring name \"home\" # cap=12\n"
     "bool[3] flags\nuint8[5] bytes\nfloat64[4] numbers [1.0, 2.0, 3.0, 4.0]\nstring[2] pair # len=9\n"
     "Point point\nPoint[2] points\nMixed[2] mixed\nInner[2] inner\n"
     "bool[] bits # cap=9\nuint8[] octets # cap=9\nint16[] shorts # cap=5\nfloat64[] doubles # cap=5\n"
     "string[] names # cap=4 len=17\nPoint[] path # cap=4\nMixed[] mixes # cap=3\nInner[] inners # cap=2\n"
     "int32[<=3] few\nuint8 last 9\n"},
    {"Album", "Everything everything\nPicture cover\nPicture[2] pair\nPicture[] more # cap=3\nuint8 end\n"},
};

static inline const struct nm_type *odd_type(struct nm_arena *arena, const char *name)
{
    struct nm_defs set = {.arena = arena};
    struct nm_err *err = calloc(1, sizeof *err);
    for (size_t i = 0; i < sizeof odd_types / sizeof odd_types[0]; i++) {
        struct nm_def_source source = {"odd.msg", "odd_msgs",      odd_types[i][0],
                                       NM_MSG,    odd_types[i][1], strlen(odd_types[i][1])};
        nm_defs_add(&set, &source, err);
    }
    char full[64];
    snprintf(full, sizeof full, "odd_msgs/msg/%s", name);
    struct nm_def *def = nm_defs_link(&set, err) ? NULL : nm_defs_find(&set, full);
    const struct nm_type *type = def ? nm_def_type(&set, def, err) : NULL;
    if (!type) fprintf(stderr, "%s: %s", full, err->text);
    free(err);
    return type;
}

/* splitmix64 */
static inline uint64_t random_bits(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t random_below(uint64_t *seed, uint32_t n) { return n ? (uint32_t)(random_bits(seed) % n) : 0; }

/* Often empty, often full, mostly short. */
static inline uint32_t random_length(uint64_t *seed, uint32_t most)
{
    switch (random_below(seed, 6)) {
    case 0: return 0;
    case 1: return most < 200 ? most : 200;
    default: return random_below(seed, (most < 12 ? most : 12) + 1);
    }
}

/* Valid UTF-8 of one to four bytes a character, no NUL. */
static inline void random_text(uint64_t *seed, char *text, uint32_t room)
{
    static const char *const signs[] = {"a", "Z", "7",    "_", " ", "\"", "\\",   "\n",
                                        "ä", "€", "🤖", "'", ":", "#",  "\x01", "\u2028"};
    uint32_t length = random_length(seed, room), used = 0;
    while (used < length) {
        const char *sign = signs[random_below(seed, sizeof signs / sizeof signs[0])];
        uint32_t size = (uint32_t)strlen(sign);
        if (used + size > length) sign = "x", size = 1;
        memcpy(text + used, sign, size);
        used += size;
    }
    text[used] = '\0';
}

static inline void random_value(uint64_t *seed, enum nm_kind kind, uint32_t elem, void *at)
{
    uint64_t bits = random_bits(seed);
    double f64;
    float f32;
    switch (kind) {
    case NM_BOOL: bits &= 1; break;
    case NM_FLOAT32:
        memcpy(&f32, &bits, 4);
        if (f32 != f32) f32 = (float)random_below(seed, 1000) / 8;
        memcpy(&bits, &f32, 4);
        break;
    case NM_FLOAT64:
        memcpy(&f64, &bits, 8);
        if (f64 != f64 || random_below(seed, 2)) f64 = random_below(seed, 1000) / 10.0 - 50;
        memcpy(&bits, &f64, 8);
        break;
    default: break;
    }
    memcpy(at, &bits, elem);
}

/* Blobs take from the pool; without one they stay empty. The message must be reset. */
static inline void random_message(uint64_t *seed, const struct nm_type *type, uint8_t *message,
                                  struct nm_blob_pool *pool)
{
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *field = &type->fields[i];
        uint8_t *at = message + field->offset;
        uint32_t n = field->cap;
        struct nm_blob *blob = (struct nm_blob *)at;
        if (!strcmp(field->name, "structure_needs_at_least_one_member")) continue; /* nobody sets it */
        if (field->shape == NM_SEQ) {
            n = random_length(seed, field->bound && field->bound < field->cap ? field->bound : field->cap);
            for (uint32_t k = 0; field->kind == NM_STRUCT && k < n; k++)
                nm_append_((uint32_t *)at, at + field->first, field->cap, field->type);
            memcpy(at, &n, 4);
            at += field->first;
        } else if (field->shape == NM_BLOB) {
            n = pool && nm_pool_take(pool, blob) ? random_length(seed, pool->bytes / field->elem) : 0;
            blob->n = n;
            at = blob->data;
        }
        for (uint32_t k = 0; k < n; k++) {
            uint8_t *element = at + (size_t)k * field->elem;
            uint32_t room = field->elem - 1;
            if (field->text_bound && field->text_bound < room) room = field->text_bound;
            if (field->kind == NM_STRUCT)
                random_message(seed, field->type, element, pool);
            else if (field->kind == NM_STRING)
                random_text(seed, (char *)element, room);
            else
                random_value(seed, field->kind, field->elem, element);
        }
    }
}
