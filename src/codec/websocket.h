/* WebSocket frames (RFC 6455) as a server reads and writes them. The reader takes a client's bytes in pieces of any
 * size and is strict where the standard says that the connection fails: a frame without a mask, a reserved bit, an
 * unknown opcode, a control frame that is long or in parts, a message inside another one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NM_WS_TEXT = 1, NM_WS_BINARY = 2, NM_WS_CLOSE = 8, NM_WS_PING = 9, NM_WS_PONG = 10 }; /* opcodes */
enum { /* codes of a close frame */
       NM_WS_CLOSE_NORMAL = 1000,
       NM_WS_CLOSE_PROTOCOL = 1002,
       NM_WS_CLOSE_TEXT = 1007, /* a text is no UTF-8 */
       NM_WS_CLOSE_SIZE = 1009,
       NM_WS_CLOSE_LATER = 1013,
};
enum {
    NM_WS_HEAD = 10,     /* bytes of the longest head that a server writes */
    NM_WS_CONTROL = 125, /* most bytes of a control frame                  */
    NM_WS_ACCEPT = 29,   /* of the answer to a key, with its NUL           */
};

/* What Sec-WebSocket-Accept answers to a key; false: it is no key. */
bool nm_ws_accept(const char *key, char to[static NM_WS_ACCEPT]);

struct nm_ws { /* a reader; begins as {0} */
    uint8_t head[14];
    uint32_t n_head;
    bool inside;     /* of a frame's payload             */
    bool unfinished; /* a message waits for its next frame */
    bool binary;     /* that message                     */
    uint64_t left;   /* bytes of the payload             */
    uint32_t masked; /* bytes unmasked so far, modulo 4  */
    uint32_t n_control;
    uint8_t control[NM_WS_CONTROL];
};

struct nm_ws_event {
    enum {
        NM_WS_NOTHING, /* all bytes are taken, more are needed                                  */
        NM_WS_PIECE,   /* a part of a message                                                   */
        NM_WS_WORD,    /* a control frame: opcode, bytes                                        */
        NM_WS_BROKEN,  /* the connection has to be closed: code, why                            */
    } kind;
    int opcode;       /* of a piece NM_WS_TEXT or NM_WS_BINARY, also where the message goes on  */
    bool first, last; /* piece of its message                                                  */
    const uint8_t *bytes;
    size_t n;
    int code;
    const char *why;
};

/* Takes bytes up to the next event, unmasks them in place, and returns how many. After NM_WS_BROKEN nothing may follow.
 */
size_t nm_ws_read(struct nm_ws *ws, uint8_t *bytes, size_t n, struct nm_ws_event *event);

/* The head of a whole frame of n bytes; its length. */
size_t nm_ws_head(uint8_t to[static NM_WS_HEAD], int opcode, uint64_t n);

/* The code to answer a close frame with: its own, or NM_WS_CLOSE_PROTOCOL if it has none that may be sent. */
int nm_ws_close_code(const uint8_t *bytes, size_t n);

bool nm_ws_is_utf8(const void *bytes, size_t n);
