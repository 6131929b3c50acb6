/* A small WebSocket client for tests: dials, asks for the protocol, sends text, reads frames one by one. The test
 * drives the server in the same thread. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

struct viewer {
    int fd;
    uint8_t *in; /* bytes that came */
    size_t n, room;
    uint8_t *frame; /* the last one read, NUL behind it */
    size_t frame_size;
    int opcode;
};

static inline void viewer_take(struct viewer *v)
{
    for (;;) {
        if (v->room - v->n < 65536) v->in = realloc(v->in, v->room = v->room * 2 + 65536 * 2);
        ssize_t n = recv(v->fd, v->in + v->n, v->room - v->n, MSG_DONTWAIT);
        if (n <= 0) return;
        v->n += (size_t)n;
    }
}

/* What came up to `bytes`, out of the way. */
static inline void viewer_drop(struct viewer *v, size_t bytes)
{
    memmove(v->in, v->in + bytes, v->n - bytes);
    v->n -= bytes;
}

static inline void viewer_dial(struct viewer *v, int port, const char *path)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char text[1024];
    *v = (struct viewer){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(v->fd, SOL_SOCKET, SO_RCVBUF, &(int){256 << 10}, sizeof(int)); /* whatever this machine would give it */
    setsockopt(v->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));      /* nothing waits for an acknowledgement */
    assert_int_equal(connect(v->fd, (struct sockaddr *)&to, sizeof to), 0);
    int n = snprintf(text, sizeof text,
                     "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Protocol: foxglove.websocket.v1\r\n\r\n",
                     path, port);
    assert_int_equal(send(v->fd, text, (size_t)n, MSG_NOSIGNAL), n);
}

/* True once the server has answered the upgrade. */
static inline bool viewer_upgraded(struct viewer *v)
{
    viewer_take(v);
    uint8_t *end = v->n ? memmem(v->in, v->n, "\r\n\r\n", 4) : NULL;
    if (!end) return false;
    assert_memory_equal(v->in, "HTTP/1.1 101", 12);
    viewer_drop(v, (size_t)(end - v->in) + 4);
    return true;
}

static inline void viewer_send(struct viewer *v, int opcode, const void *bytes, size_t n)
{
    uint8_t head[8] = {(uint8_t)(0x80 | opcode), (uint8_t)(0x80 | (n < 126 ? n : 126))};
    size_t k = 2;
    if (n >= 126) head[k++] = (uint8_t)(n >> 8), head[k++] = (uint8_t)n;
    k += 4; /* the mask is zero */
    assert_true(n < 65536);
    assert_int_equal(send(v->fd, head, k, MSG_NOSIGNAL), k);
    assert_int_equal(send(v->fd, bytes, n, MSG_NOSIGNAL), n);
}

static inline void viewer_say(struct viewer *v, const char *text) { viewer_send(v, 1, text, strlen(text)); }

/* The next whole frame, if it is there. */
static inline bool viewer_next(struct viewer *v)
{
    viewer_take(v);
    if (v->n < 2) return false;
    size_t n = v->in[1] & 127, head = n == 126 ? 4 : n == 127 ? 10 : 2;
    if (v->n < head) return false;
    if (head > 2) n = 0;
    for (size_t i = 2; i < head; i++) n = n << 8 | v->in[i];
    if (v->n < head + n) return false;
    v->opcode = v->in[0] & 15;
    v->frame = realloc(v->frame, n + 1);
    memcpy(v->frame, v->in + head, n);
    v->frame[n] = 0;
    v->frame_size = n;
    viewer_drop(v, head + n);
    return true;
}

static inline void viewer_close(struct viewer *v)
{
    close(v->fd);
    free(v->in);
    free(v->frame);
}
