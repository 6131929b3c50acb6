/* Dynamixel packets, protocol 1.0 and 2.0: building instructions and status answers, and a parser that takes bytes in
 * any cut and finds its way back after garbage. Pure: no I/O, no clock, no allocation. Source: ROBOTIS e-manual,
 * protocol 1.0 and 2.0; SYNC_READ of protocol 1.0 is the one of Rhoban's router board.
 *
 *   1.0:  FF FF       ID LEN         INST|ERR params … CHECKSUM
 *   2.0:  FF FF FD 00 ID LEN_L LEN_H INST     params … CRC_L CRC_H     (status: INST = 55, then the error byte)
 *
 * The two are told apart by their bytes: "FF FF FD 00" cannot open a 1.0 packet, whose length is at least 2. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NM_DXL_BROADCAST = 0xFE,
    NM_DXL_PACKET_MAX = 1024, /* bytes on the wire; a longer announced length is garbage to us */
    NM_DXL_MAX_1 = 255 + 4,   /* the longest packet of protocol 1.0                             */
};

enum nm_dxl_instruction {
    NM_DXL_PING = 0x01,
    NM_DXL_READ = 0x02,
    NM_DXL_WRITE = 0x03,
    NM_DXL_REG_WRITE = 0x04,
    NM_DXL_ACTION = 0x05,
    NM_DXL_REBOOT = 0x08,
    NM_DXL_STATUS = 0x55,      /* 2.0 on the wire; set by the parser for 1.0 answers       */
    NM_DXL_SYNC_READ = 0x82,   /* 2.0                                                      */
    NM_DXL_SYNC_WRITE = 0x83,  /* never answered                                           */
    NM_DXL_ROUTER_READ = 0x84, /* 1.0, Rhoban's board: one combined answer                 */
    NM_DXL_BULK_READ = 0x92,   /* device k answers after it saw the answer of device k - 1 */
    NM_DXL_BULK_WRITE = 0x93,  /* 2.0, never answered                                      */
};

/* Status error byte: bits in 1.0; in 2.0 a number in bits 0 to 6 and the alert bit. */
enum nm_dxl_error {
    NM_DXL_VOLTAGE = 0x01,
    NM_DXL_ANGLE_LIMIT = 0x02,
    NM_DXL_OVERHEATING = 0x04,
    NM_DXL_RANGE = 0x08,
    NM_DXL_CHECKSUM = 0x10,
    NM_DXL_OVERLOAD = 0x20,
    NM_DXL_INSTRUCTION = 0x40,
    NM_DXL_ALERT = 0x80,
    NM_DXL_2_RESULT = 1,
    NM_DXL_2_INSTRUCTION = 2,
    NM_DXL_2_CRC = 3,
    NM_DXL_2_RANGE = 4,
    NM_DXL_2_LENGTH = 5,
    NM_DXL_2_LIMIT = 6,
    NM_DXL_2_ACCESS = 7,
};

/* Writes the words for an error byte ("overload, overheating") into text; "" for 0. Returns text. */
char *nm_dxl_error_text(int protocol, uint8_t error, char *text, size_t room);

/* A stretch of a device's control table; `data` is NULL where only the place is meant. */
struct nm_dxl_block {
    uint8_t id;
    uint16_t address, size;
    const uint8_t *data;
};

/* Builders: bytes written to `out`, or 0 when the packet does not fit into `room`, into its length field or (1.0) its
 * one-byte addresses. `protocol` is 1 or 2. */
size_t nm_dxl_build(int protocol, uint8_t id, uint8_t instruction, const uint8_t *params, size_t n, uint8_t *out,
                    size_t room);
size_t nm_dxl_status(int protocol, uint8_t id, uint8_t error, const uint8_t *data, size_t n, uint8_t *out, size_t room);
size_t nm_dxl_ping(int protocol, uint8_t id, uint8_t *out, size_t room);
size_t nm_dxl_action(int protocol, uint8_t id, uint8_t *out, size_t room);
size_t nm_dxl_reboot(int protocol, uint8_t id, uint8_t *out, size_t room);
size_t nm_dxl_read(int protocol, uint8_t id, uint16_t address, uint16_t size, uint8_t *out, size_t room);
size_t nm_dxl_write(int protocol, struct nm_dxl_block block, uint8_t *out, size_t room);
size_t nm_dxl_reg_write(int protocol, struct nm_dxl_block block, uint8_t *out, size_t room);
/* All blocks share address and size of the first; only ids and data of the others are looked at. */
size_t nm_dxl_sync_write(int protocol, const struct nm_dxl_block *blocks, size_t n, uint8_t *out, size_t room);
/* 2.0: SYNC_READ; 1.0: the router board's. Shared address and size as above. */
size_t nm_dxl_sync_read(int protocol, const struct nm_dxl_block *blocks, size_t n, uint8_t *out, size_t room);
size_t nm_dxl_bulk_read(int protocol, const struct nm_dxl_block *blocks, size_t n, uint8_t *out, size_t room);
size_t nm_dxl_bulk_write(const struct nm_dxl_block *blocks, size_t n, uint8_t *out, size_t room);

/* Bytes on the wire of a status answer with n data bytes (without stuffing). */
size_t nm_dxl_status_size(int protocol, size_t n);

uint16_t nm_dxl_crc(uint16_t crc, const uint8_t *bytes, size_t n);

struct nm_dxl_packet {
    uint8_t protocol; /* 1 or 2                                                                */
    uint8_t id;
    uint8_t instruction;
    uint8_t error;       /* of a status                                                        */
    uint16_t n;          /* bytes of data                                                      */
    const uint8_t *data; /* parameters, stuffing removed; valid until the parser's next call   */
};

struct nm_dxl_parser {
    uint8_t protocols; /* bit 0: 1.0, bit 1: 2.0 may appear                          */
    bool answers;      /* 1.0 packets are status answers (a host listens), not instructions */
    uint32_t used;     /* bytes held                                                 */
    uint32_t taken;    /* of them, those of the packet handed out last               */
    uint32_t garbage;  /* bytes dropped so far                                       */
    uint32_t damaged;  /* packets dropped for a wrong checksum so far                */
    uint8_t bytes[NM_DXL_PACKET_MAX];
};

void nm_dxl_parser_init(struct nm_dxl_parser *parser, uint8_t protocols, bool answers);
/* Forgets what it holds (counted as garbage). */
void nm_dxl_parser_clear(struct nm_dxl_parser *parser);
/* Takes up to n bytes; returns how many found room. All of them do if nm_dxl_next was called until it gave nothing. */
size_t nm_dxl_feed(struct nm_dxl_parser *parser, const uint8_t *bytes, size_t n);
/* The next whole packet, or false when more bytes are needed. */
bool nm_dxl_next(struct nm_dxl_parser *parser, struct nm_dxl_packet *packet);
/* Takes the packet handed out last for a false one: the search goes on behind its first byte. A 1.0 answer whose length
 * grew by two on the way swallows the next header and still has the right checksum; only who asked can tell. */
void nm_dxl_reject(struct nm_dxl_parser *parser);
/* nm_dxl_next when no more bytes will come: a header that waits for its end is given up, so that whole packets behind
 * it are found. */
bool nm_dxl_last(struct nm_dxl_parser *parser, struct nm_dxl_packet *packet);

static inline void nm_dxl_put(uint8_t *to, uint32_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) to[i] = (uint8_t)(value >> (8 * i & 31));
}

static inline uint32_t nm_dxl_get(const uint8_t *from, unsigned size)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < size && i < 4; i++) value |= (uint32_t)from[i] << (8 * i);
    return value;
}
