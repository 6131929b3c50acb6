/* SHA-256 (FIPS 180-4). The type hashes of ROS 2 are made with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct nm_sha256 {
    uint32_t state[8];
    uint64_t bytes;    /* added so far                      */
    uint8_t block[64]; /* the last bytes % 64 bytes of them */
};

void nm_sha256_start(struct nm_sha256 *sha);
void nm_sha256_add(struct nm_sha256 *sha, const void *data, size_t size);
void nm_sha256_end(struct nm_sha256 *sha, uint8_t digest[32]);

/* The digest as 64 lower-case hex digits and a NUL. */
void nm_sha256_hex(const uint8_t digest[32], char hex[65]);
