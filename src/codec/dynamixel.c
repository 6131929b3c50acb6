#include "codec/dynamixel.h"

#include <stdio.h>
#include <string.h>

/* x^16 + x^15 + x^2 + 1, most significant bit first, four bits at a time. */
uint16_t nm_dxl_crc(uint16_t crc, const uint8_t *bytes, size_t n)
{
    static const uint16_t of_nibble[16] = {0x0000, 0x8005, 0x800F, 0x000A, 0x801B, 0x001E, 0x0014, 0x8011,
                                           0x8033, 0x0036, 0x003C, 0x8039, 0x0028, 0x802D, 0x8027, 0x0022};
    for (size_t i = 0; i < n; i++) {
        crc = (uint16_t)(crc << 4 ^ of_nibble[crc >> 12 ^ bytes[i] >> 4]);
        crc = (uint16_t)(crc << 4 ^ of_nibble[crc >> 12 ^ (bytes[i] & 15)]);
    }
    return crc;
}

static uint8_t dxl_checksum(const uint8_t *from_id, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) sum += from_id[i];
    return (uint8_t)~sum;
}

char *nm_dxl_error_text(int protocol, uint8_t error, char *text, size_t room)
{
    static const char *const bits[8] = {"input voltage", "angle limit", "overheating", "range",
                                        "checksum",      "overload",    "instruction", "alert"};
    static const char *const numbers[8] = {"", "result", "instruction", "crc", "range", "too short", "limit", "access"};
    size_t used = 0;
    if (room) text[0] = '\0';
    for (unsigned bit = 0; bit < 8; bit++) {
        const char *word = NULL;
        if (protocol == 1 && error >> bit & 1) word = bits[bit];
        if (protocol == 2 && bit == 0 && (error & 0x7F)) word = (error & 0x7F) < 8 ? numbers[error & 7] : "unknown";
        if (protocol == 2 && bit == 7 && error & NM_DXL_ALERT) word = "hardware alert";
        if (!word || used >= room) continue;
        int len = snprintf(text + used, room - used, "%s%s", used ? ", " : "", word);
        used += len > 0 ? (size_t)len : 0;
    }
    return text;
}

/* A packet under construction. Bytes past the room set `full` and are dropped; `run` counts how far the last
 * parameter bytes match FF FF FD, for the stuffing of 2.0. */
struct draft {
    uint8_t *out;
    size_t room, used;
    int protocol;
    unsigned run;
    bool full;
};

static void put_raw(struct draft *d, uint8_t byte)
{
    if (d->used < d->room)
        d->out[d->used++] = byte;
    else
        d->full = true;
}

static void put(struct draft *d, uint8_t byte)
{
    put_raw(d, byte);
    if (d->protocol == 1) return;
    if (byte == 0xFF)
        d->run = d->run < 2 ? d->run + 1 : 2;
    else if (byte == 0xFD && d->run == 2) {
        put_raw(d, 0xFD);
        d->run = 0;
    } else
        d->run = 0;
}

static void put_bytes(struct draft *d, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) put(d, bytes[i]);
}

/* An address or a size of the control table: two bytes in 2.0, one in 1.0. */
static void put_place(struct draft *d, uint16_t value)
{
    put(d, (uint8_t)value);
    if (d->protocol == 2)
        put(d, (uint8_t)(value >> 8));
    else if (value > 255)
        d->full = true;
}

static struct draft begin(int protocol, uint8_t id, uint8_t instruction, uint8_t *out, size_t room)
{
    static const uint8_t head[] = {0xFF, 0xFF, 0xFD, 0x00};
    size_t limit = protocol == 1 ? NM_DXL_MAX_1 : NM_DXL_PACKET_MAX;
    struct draft d = {.out = out, .room = room < limit ? room : limit, .protocol = protocol};
    for (size_t i = 0; i < (protocol == 1 ? 2u : 4u); i++) put_raw(&d, head[i]);
    put_raw(&d, id);
    for (size_t i = 0; i < (protocol == 1 ? 1u : 2u); i++) put_raw(&d, 0);
    put_raw(&d, instruction);
    return d;
}

static size_t end(struct draft *d)
{
    if (d->protocol == 1) {
        put_raw(d, 0);
        if (d->full) return 0;
        d->out[3] = (uint8_t)(d->used - 4);
        d->out[d->used - 1] = dxl_checksum(d->out + 2, d->used - 3);
        return d->used;
    }
    put_raw(d, 0);
    put_raw(d, 0);
    if (d->full) return 0;
    nm_dxl_put(d->out + 5, (uint32_t)(d->used - 7), 2);
    nm_dxl_put(d->out + d->used - 2, nm_dxl_crc(0, d->out, d->used - 2), 2);
    return d->used;
}

size_t nm_dxl_build(int protocol, uint8_t id, uint8_t instruction, const uint8_t *params, size_t n, uint8_t *out,
                    size_t room)
{
    struct draft d = begin(protocol, id, instruction, out, room);
    put_bytes(&d, params, n);
    return end(&d);
}

size_t nm_dxl_status(int protocol, uint8_t id, uint8_t error, const uint8_t *data, size_t n, uint8_t *out, size_t room)
{
    struct draft d = begin(protocol, id, protocol == 1 ? error : NM_DXL_STATUS, out, room);
    if (protocol == 2) put(&d, error);
    put_bytes(&d, data, n);
    return end(&d);
}

size_t nm_dxl_ping(int protocol, uint8_t id, uint8_t *out, size_t room)
{
    return nm_dxl_build(protocol, id, NM_DXL_PING, NULL, 0, out, room);
}

size_t nm_dxl_action(int protocol, uint8_t id, uint8_t *out, size_t room)
{
    return nm_dxl_build(protocol, id, NM_DXL_ACTION, NULL, 0, out, room);
}

size_t nm_dxl_reboot(int protocol, uint8_t id, uint8_t *out, size_t room)
{
    return nm_dxl_build(protocol, id, NM_DXL_REBOOT, NULL, 0, out, room);
}

size_t nm_dxl_read(int protocol, uint8_t id, uint16_t address, uint16_t size, uint8_t *out, size_t room)
{
    struct draft d = begin(protocol, id, NM_DXL_READ, out, room);
    put_place(&d, address);
    put_place(&d, size);
    return end(&d);
}

static size_t one_write(int protocol, uint8_t instruction, struct nm_dxl_block block, uint8_t *out, size_t room)
{
    struct draft d = begin(protocol, block.id, instruction, out, room);
    put_place(&d, block.address);
    put_bytes(&d, block.data, block.size);
    return end(&d);
}

size_t nm_dxl_write(int protocol, struct nm_dxl_block block, uint8_t *out, size_t room)
{
    return one_write(protocol, NM_DXL_WRITE, block, out, room);
}

size_t nm_dxl_reg_write(int protocol, struct nm_dxl_block block, uint8_t *out, size_t room)
{
    return one_write(protocol, NM_DXL_REG_WRITE, block, out, room);
}

size_t nm_dxl_sync_write(int protocol, const struct nm_dxl_block *blocks, size_t n, uint8_t *out, size_t room)
{
    if (!n) return 0;
    struct draft d = begin(protocol, NM_DXL_BROADCAST, NM_DXL_SYNC_WRITE, out, room);
    put_place(&d, blocks[0].address);
    put_place(&d, blocks[0].size);
    for (size_t i = 0; i < n; i++) {
        put(&d, blocks[i].id);
        put_bytes(&d, blocks[i].data, blocks[0].size);
    }
    return end(&d);
}

size_t nm_dxl_sync_read(int protocol, const struct nm_dxl_block *blocks, size_t n, uint8_t *out, size_t room)
{
    if (!n) return 0;
    uint8_t instruction = protocol == 1 ? NM_DXL_ROUTER_READ : NM_DXL_SYNC_READ;
    struct draft d = begin(protocol, NM_DXL_BROADCAST, instruction, out, room);
    put_place(&d, blocks[0].address);
    put_place(&d, blocks[0].size);
    for (size_t i = 0; i < n; i++) put(&d, blocks[i].id);
    return end(&d);
}

size_t nm_dxl_bulk_read(int protocol, const struct nm_dxl_block *blocks, size_t n, uint8_t *out, size_t room)
{
    if (!n) return 0;
    struct draft d = begin(protocol, NM_DXL_BROADCAST, NM_DXL_BULK_READ, out, room);
    if (protocol == 1) put(&d, 0);
    for (size_t i = 0; i < n; i++) {
        if (protocol == 1) {
            put_place(&d, blocks[i].size);
            put(&d, blocks[i].id);
            put_place(&d, blocks[i].address);
        } else {
            put(&d, blocks[i].id);
            put_place(&d, blocks[i].address);
            put_place(&d, blocks[i].size);
        }
    }
    return end(&d);
}

size_t nm_dxl_bulk_write(const struct nm_dxl_block *blocks, size_t n, uint8_t *out, size_t room)
{
    if (!n) return 0;
    struct draft d = begin(2, NM_DXL_BROADCAST, NM_DXL_BULK_WRITE, out, room);
    for (size_t i = 0; i < n; i++) {
        put(&d, blocks[i].id);
        put_place(&d, blocks[i].address);
        put_place(&d, blocks[i].size);
        put_bytes(&d, blocks[i].data, blocks[i].size);
    }
    return end(&d);
}

size_t nm_dxl_status_size(int protocol, size_t n) { return n + (protocol == 1 ? 6 : 11); }

void nm_dxl_parser_init(struct nm_dxl_parser *parser, uint8_t protocols, bool answers)
{
    memset(parser, 0, sizeof *parser);
    parser->protocols = protocols;
    parser->answers = answers;
}

static void drop(struct nm_dxl_parser *p, uint32_t n)
{
    p->used -= n;
    memmove(p->bytes, p->bytes + n, p->used);
}

/* The packet handed out last goes when the next call comes, since its data point into the buffer. */
static void forget_taken(struct nm_dxl_parser *p)
{
    drop(p, p->taken);
    p->taken = 0;
}

void nm_dxl_parser_clear(struct nm_dxl_parser *parser)
{
    forget_taken(parser);
    parser->garbage += parser->used;
    parser->used = 0;
}

size_t nm_dxl_feed(struct nm_dxl_parser *parser, const uint8_t *bytes, size_t n)
{
    forget_taken(parser);
    size_t room = sizeof parser->bytes - parser->used;
    if (n > room) n = room;
    if (n) memcpy(parser->bytes + parser->used, bytes, n);
    parser->used += (uint32_t)n;
    return n;
}

/* Removes the FD that follows every FF FF FD; returns what is left. */
static uint16_t unstuff(uint8_t *bytes, uint32_t n)
{
    uint32_t to = 0;
    unsigned run = 0;
    for (uint32_t from = 0; from < n; from++) {
        if (run == 3 && bytes[from] == 0xFD) {
            run = 0;
            continue;
        }
        uint8_t byte = bytes[to++] = bytes[from];
        if (byte == 0xFF)
            run = run == 1 || run == 2 ? 2 : 1;
        else
            run = byte == 0xFD && run == 2 ? 3 : 0;
    }
    return (uint16_t)to;
}

enum look { WHOLE, MORE, GARBAGE, DAMAGED };

static enum look look_1(struct nm_dxl_parser *p, struct nm_dxl_packet *packet)
{
    if (!(p->protocols & 1)) return GARBAGE;
    uint8_t *b = p->bytes;
    if (p->used < 4) return MORE;
    if (b[3] < 2) return GARBAGE;
    uint32_t total = b[3] + 4u;
    if (p->used < total) return MORE;
    if (b[total - 1] != dxl_checksum(b + 2, total - 3)) return DAMAGED;
    *packet = (struct nm_dxl_packet){.protocol = 1,
                                     .id = b[2],
                                     .instruction = p->answers ? NM_DXL_STATUS : b[4],
                                     .error = p->answers ? b[4] : 0,
                                     .n = (uint16_t)(total - 6),
                                     .data = b + 5};
    p->taken = total;
    return WHOLE;
}

static enum look look_2(struct nm_dxl_parser *p, struct nm_dxl_packet *packet)
{
    uint8_t *b = p->bytes;
    if (p->used < 7) return MORE;
    uint32_t length = nm_dxl_get(b + 5, 2), total = length + 7;
    if (length < 3 || total > sizeof p->bytes) return GARBAGE;
    if (p->used < total) return MORE;
    if (nm_dxl_get(b + total - 2, 2) != nm_dxl_crc(0, b, total - 2)) return DAMAGED;
    bool status = b[7] == NM_DXL_STATUS;
    if (status && length < 4) return GARBAGE;
    uint16_t n = unstuff(b + 8, length - 3);
    if (status && !n) return GARBAGE;
    *packet = (struct nm_dxl_packet){.protocol = 2,
                                     .id = b[4],
                                     .instruction = b[7],
                                     .error = status ? b[8] : 0,
                                     .n = (uint16_t)(status ? n - 1 : n),
                                     .data = status ? b + 9 : b + 8};
    p->taken = total;
    return WHOLE;
}

/* What the bytes at the front are. */
static enum look look(struct nm_dxl_parser *p, struct nm_dxl_packet *packet)
{
    const uint8_t *b = p->bytes;
    if (b[0] != 0xFF) return GARBAGE;
    if (p->used < 2) return MORE;
    if (b[1] != 0xFF) return GARBAGE;
    if (p->used < 3) return MORE;
    if (b[2] == 0xFF) return GARBAGE;
    if (b[2] != 0xFD || !(p->protocols & 2)) return look_1(p, packet);
    if (p->used < 4) return MORE;
    return b[3] == 0x00 ? look_2(p, packet) : look_1(p, packet);
}

static bool next(struct nm_dxl_parser *p, struct nm_dxl_packet *packet, bool last)
{
    forget_taken(p);
    while (p->used) {
        enum look found = look(p, packet);
        if (found == WHOLE) return true;
        if (found == MORE && !last) return false;
        p->damaged += found == DAMAGED;
        /* slide to the next byte that may open a header */
        const uint8_t *head = memchr(p->bytes + 1, 0xFF, p->used - 1);
        uint32_t n = head ? (uint32_t)(head - p->bytes) : p->used;
        p->garbage += n;
        drop(p, n);
    }
    return false;
}

void nm_dxl_reject(struct nm_dxl_parser *parser)
{
    if (!parser->taken) return;
    parser->taken = 1;
    parser->damaged++;
    parser->garbage++;
}

bool nm_dxl_next(struct nm_dxl_parser *parser, struct nm_dxl_packet *packet) { return next(parser, packet, false); }

bool nm_dxl_last(struct nm_dxl_parser *parser, struct nm_dxl_packet *packet) { return next(parser, packet, true); }
