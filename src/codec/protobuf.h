/* The wire format of protocol buffers, read with every length checked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers of the wire are copied as they are");

enum { NM_PB_VARINT, NM_PB_FIXED64, NM_PB_BYTES, NM_PB_FIXED32 = 5 };

struct nm_pb {
    const uint8_t *at, *end;
    bool bad; /* it ended in the middle of something */
};

struct nm_pb_field {
    uint32_t number, wire;
    uint64_t value;      /* of numbers, whatever their width */
    struct nm_pb inside; /* of texts and messages            */
};

static inline uint64_t nm_pb_varint(struct nm_pb *b)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && b->at < b->end; shift += 7) {
        uint8_t byte = *b->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    b->bad = true;
    return 0;
}

static inline struct nm_pb nm_pb_cut(struct nm_pb *b, uint64_t n)
{
    struct nm_pb part = {b->at, b->at, false};
    if (n > (uint64_t)(b->end - b->at)) {
        b->bad = true;
        return part;
    }
    part.end = b->at += n;
    return part;
}

static inline uint64_t nm_pb_fixed(struct nm_pb *b, uint32_t n)
{
    uint64_t value = 0;
    struct nm_pb part = nm_pb_cut(b, n);
    memcpy(&value, part.at, (size_t)(part.end - part.at));
    return value;
}

/* The next field; false at the end, or where the bytes are no message (then `bad`). */
static inline bool nm_pb_next(struct nm_pb *b, struct nm_pb_field *f)
{
    if (b->bad || b->at == b->end) return false;
    uint64_t tag = nm_pb_varint(b);
    *f = (struct nm_pb_field){.number = (uint32_t)(tag >> 3 & 0x1fffffff), .wire = tag & 7};
    switch (f->wire) {
    case NM_PB_VARINT: f->value = nm_pb_varint(b); break;
    case NM_PB_FIXED64: f->value = nm_pb_fixed(b, 8); break;
    case NM_PB_FIXED32: f->value = nm_pb_fixed(b, 4); break;
    case NM_PB_BYTES: f->inside = nm_pb_cut(b, nm_pb_varint(b)); break;
    default: b->bad = true; /* groups are not used any more */
    }
    return !b->bad;
}

static inline float nm_pb_float(uint64_t value)
{
    uint32_t low = (uint32_t)value;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}
