/* Chunks packed and unpacked: stored as they are, LZ4 frames, zstd frames. Only the mcap files include it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "codec/mcap_write.h"

/* The name in a file, "" for stored; the compression of a name, -1 for one that we do not know. */
const char *nm_mcap_packing_name(enum nm_mcap_packing packing);
int nm_mcap_packing_named(struct nm_bytes name);

/* A packer for up to `most` bytes at a time; all its memory is the arena's. */
struct nm_mcap_packer;
struct nm_mcap_packer *nm_mcap_packer_new(struct nm_arena *arena, enum nm_mcap_packing packing, int level);
/* Room that the packed bytes of `most` bytes may take. */
size_t nm_mcap_packed_most(enum nm_mcap_packing packing, size_t most);
/* Returns the packed size; 0 where packing is not worth it or not possible: then the bytes are stored. */
size_t nm_mcap_pack(struct nm_mcap_packer *packer, const uint8_t *from, size_t n, uint8_t *to, size_t room);

/* An unpacker keeps the state of both decompressors between chunks. */
struct nm_mcap_unpacker {
    void *zstd, *lz4;
};
void nm_mcap_unpacker_free(struct nm_mcap_unpacker *unpacker);
/* Unpacks into `room` bytes; returns how many came out, also of bytes that end early or are damaged: `*whole` says
 * whether it was everything, without fault. Stored bytes are copied. */
size_t nm_mcap_unpack(struct nm_mcap_unpacker *unpacker, enum nm_mcap_packing packing, struct nm_bytes from,
                      uint8_t *to, size_t room, bool *whole);
