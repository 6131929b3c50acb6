/* CRC-32 as in zlib, PNG, Ethernet and MCAP (IEEE 802.3, reflected polynomial 0xedb88320). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The CRC of what came before, 0 at the start, continued over these bytes. */
uint32_t nm_crc32(uint32_t crc, const void *data, size_t size);

/* The same without special instructions of the processor: what nm_crc32 is where there are none. */
uint32_t nm_crc32_plain(uint32_t crc, const void *data, size_t size);
