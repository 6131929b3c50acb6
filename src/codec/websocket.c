#include "codec/websocket.h"

#include <string.h>

#include "base/utf8.h"

/* ---- the handshake: base64 of the SHA-1 (RFC 3174) of the key and a constant ---- */

static uint32_t rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

static void sha1_block(uint32_t h[5], const uint8_t *block)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? (b & c) | (~b & d)
                     : i < 40 ? b ^ c ^ d
                     : i < 60 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;
        static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        uint32_t t = rotate(a, 5) + f + e + k[i / 20] + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = t;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool nm_ws_accept(const char *key, char to[static NM_WS_ACCEPT])
{
    enum { KEY = 24, JOINED = 60 }; /* bytes: of a key, with the constant behind it */
    if (strlen(key) != KEY || strspn(key, base64) != KEY - 2 || strcmp(key + KEY - 2, "==")) return false;
    uint8_t blocks[128] = {0}, digest[21] = {0};
    memcpy(blocks, key, KEY);
    memcpy(blocks + KEY, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11", JOINED - KEY);
    blocks[JOINED] = 0x80;
    blocks[126] = JOINED * 8 >> 8;
    blocks[127] = JOINED * 8 & 255;
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    sha1_block(h, blocks);
    sha1_block(h, blocks + 64);
    for (int i = 0; i < 20; i++) digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
    for (int i = 0; i < 7; i++) {
        uint32_t three = (uint32_t)digest[3 * i] << 16 | (uint32_t)digest[3 * i + 1] << 8 | digest[3 * i + 2];
        for (int j = 0; j < 4; j++) to[4 * i + j] = base64[three >> (18 - 6 * j) & 63];
    }
    to[27] = '=';
    to[28] = '\0';
    return true;
}

/* ---- reading ---- */

static size_t broken(struct nm_ws_event *event, const char *why)
{
    *event = (struct nm_ws_event){.kind = NM_WS_BROKEN, .code = NM_WS_CLOSE_PROTOCOL, .why = why};
    return 0;
}

/* How many bytes the head has, as far as its second byte tells; NULL in `why` if it may be so. */
static uint32_t head_size(const struct nm_ws *ws, const char **why)
{
    int opcode = ws->head[0] & 15, length = ws->head[1] & 127;
    bool final = ws->head[0] & 128, control = opcode & 8;
    *why = NULL;
    if (ws->head[0] & 0x70) *why = "a reserved bit is set";
    if (!(ws->head[1] & 128)) *why = "a frame has no mask";
    if ((opcode > NM_WS_BINARY && opcode < NM_WS_CLOSE) || opcode > NM_WS_PONG) *why = "the opcode is unknown";
    if (control && (!final || length > NM_WS_CONTROL)) *why = "a control frame is too long or in parts";
    if (!control && (opcode == 0) != ws->unfinished) *why = "the frames of two messages are mixed";
    return 6 + (length == 126 ? 2 : length == 127 ? 8 : 0);
}

/* Takes bytes of a head. True once it is complete. */
static bool read_head(struct nm_ws *ws, const uint8_t *bytes, size_t n, size_t *used, const char **why)
{
    uint32_t size = 2;
    *why = NULL;
    for (; *used < n; ++*used) {
        ws->head[ws->n_head++] = bytes[*used];
        if (ws->n_head >= 2) size = head_size(ws, why);
        if (*why) return false;
        if (ws->n_head < 2 || ws->n_head < size) continue;
        ws->left = ws->head[1] & 127;
        if (size > 6) ws->left = 0;
        for (uint32_t i = 2; i < size - 4; i++) ws->left = ws->left << 8 | ws->head[i];
        if (ws->left >> 63) *why = "the length of a frame is impossible";
        memmove(ws->head + 2, ws->head + size - 4, 4); /* the mask */
        ++*used;
        return !*why;
    }
    return false;
}

size_t nm_ws_read(struct nm_ws *ws, uint8_t *bytes, size_t n, struct nm_ws_event *event)
{
    size_t used = 0;
    *event = (struct nm_ws_event){.kind = NM_WS_NOTHING};
    if (!ws->inside) {
        const char *why;
        if (!read_head(ws, bytes, n, &used, &why)) return why ? broken(event, why) : used;
        ws->inside = true;
        ws->masked = ws->n_control = 0;
    }
    int opcode = ws->head[0] & 15;
    bool control = opcode & 8;
    size_t k = n - used < ws->left ? n - used : (size_t)ws->left;
    uint8_t *at = bytes + used;
    for (size_t i = 0; i < k; i++) at[i] ^= ws->head[2 + (ws->masked + i) % 4];
    ws->masked = (uint32_t)(ws->masked + k) % 4;
    ws->left -= k;
    used += k;
    if (control && k) memcpy(ws->control + ws->n_control, at, k);
    if (control) ws->n_control += (uint32_t)k;
    bool done = !ws->left, final = ws->head[0] & 128;
    if (done) {
        ws->inside = false;
        ws->n_head = 0;
    }
    if (control) {
        if (done)
            *event =
                (struct nm_ws_event){.kind = NM_WS_WORD, .opcode = opcode, .bytes = ws->control, .n = ws->n_control};
        return used;
    }
    if (!k && !done) return used;
    bool first = !ws->unfinished;
    if (opcode) ws->binary = opcode == NM_WS_BINARY;
    ws->unfinished = !(done && final);
    *event = (struct nm_ws_event){.kind = NM_WS_PIECE,
                                  .opcode = ws->binary ? NM_WS_BINARY : NM_WS_TEXT,
                                  .first = first,
                                  .last = done && final,
                                  .bytes = at,
                                  .n = k};
    return used;
}

/* ---- writing ---- */

size_t nm_ws_head(uint8_t to[static NM_WS_HEAD], int opcode, uint64_t n)
{
    size_t more = n < 126 ? 0 : n < 65536 ? 2 : 8;
    to[0] = (uint8_t)(128 | opcode);
    to[1] = (uint8_t)(more == 0 ? n : more == 2 ? 126 : 127);
    for (size_t i = 0; i < more; i++) to[2 + i] = (uint8_t)(n >> 8 * (more - 1 - i));
    return 2 + more;
}

int nm_ws_close_code(const uint8_t *bytes, size_t n)
{
    if (!n) return NM_WS_CLOSE_NORMAL;
    int code = n < 2 ? 0 : bytes[0] << 8 | bytes[1];
    bool known = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code < 5000);
    return known && nm_ws_is_utf8(bytes + 2, n - 2) ? code : NM_WS_CLOSE_PROTOCOL;
}

bool nm_ws_is_utf8(const void *bytes, size_t n)
{
    for (const char *at = bytes, *end = at + n; at < end;)
        if (nm_utf8_take(&at, end) == NM_NOT_UTF8) return false;
    return true;
}
