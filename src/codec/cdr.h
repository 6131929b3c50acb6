/* Messages as CDR bytes, the form they have in DDS, in logs and in the viewer's stream: XCDR version 1 behind a 4-byte
 * encapsulation header, alignment counted from after that header, as ROS 2 sends it. We send little endian and read
 * both. Decoding trusts nothing: no read past the end, every count checked against the bytes left and the room there is
 * before it is used. What does not fit is refused whole with a reason, and the message is left reset. Bytes behind the
 * last member are tolerated, since transports pad.
 *
 * A service of rmw_cyclonedds has 16 bytes (client id, sequence number) between the header and the message. Alignment
 * does not see them: encode at buf + 16 and write header and ids over buf[0..20). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/blob.h"
#include "base/error.h"
#include "base/export.h"
#include "base/type.h"

enum nm_cdr_fault {
    NM_CDR_HEADER = -1, /* no plain CDR                                                       */
    NM_CDR_SHORT = -2,  /* the bytes end inside the message                                   */
    NM_CDR_LONG = -3,   /* a text or a sequence is longer than our struct has room for        */
    NM_CDR_TEXT = -4,   /* a text with a NUL inside it, or without one at its end             */
    NM_CDR_POOL = -5,   /* a blob: no free block, or a block is too small                     */
    NM_CDR_BORROW = -6, /* a blob cannot be borrowed: other byte order, or not aligned        */
    NM_CDR_ROOM = -7,   /* encoding: the buffer is too small                                  */
    NM_CDR_COUNT = -8,  /* encoding: a count beyond the capacity of its sequence              */
};

/* Writes the message; returns the bytes written, or one of the faults. */
NM_EXPORT int64_t nm_cdr_encode(const struct nm_type *type, const void *message, void *buf, size_t size);

/* Bytes that encoding this message takes, and the most that any message of the type takes (blobs not counted: add
 * theirs). */
size_t nm_cdr_size(const struct nm_type *type, const void *message);
size_t nm_cdr_most(const struct nm_type *type);

/* Reads a message; 0, or a fault and a sentence. Blobs are copied into blocks of the pool; without a pool they borrow
 * the bytes of `buf`, which must then outlive them (wide elements can be borrowed where `buf + 4` is aligned to 8). The
 * message must be valid before, that is zeroed or in use: its old blobs are released. */
NM_EXPORT int nm_cdr_decode(const struct nm_type *type, void *message, const void *buf, size_t size,
                            struct nm_blob_pool *pool, struct nm_err *err);
