/* Datagrams between robots and with the referee: small, unreliable, to one receiver or to all. One interface with three
 * functions, join, send and receive, for a UDP socket (udp.h) or the air of a simulated field (memory.h), so that its
 * users run unchanged with both. No call ever waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { NM_AIR_DATAGRAM = 1472 }; /* bytes that fit into one Ethernet frame */

struct nm_air_place {
    uint32_t host; /* 10.0.0.3 is 0x0a000003 */
    uint16_t port;
};
static const uint32_t NM_AIR_ALL = UINT32_MAX;       /* 255.255.255.255: all that listen on the port      */
static const uint32_t NM_AIR_ALL_HERE = 0x7fffffff;  /* 127.255.255.255: those of them on this machine     */
static const uint32_t NM_AIR_THIS_HOST = 0x7f000001; /* 127.0.0.1                                          */

struct nm_radio;

struct nm_radio_verbs {
    int (*join)(struct nm_radio *radio, uint32_t group, struct nm_err *err);
    int (*send)(struct nm_radio *radio, struct nm_air_place to, const void *bytes, size_t size, struct nm_err *err);
    int64_t (*receive)(struct nm_radio *radio, struct nm_air_place *from, void *bytes, size_t room);
    void (*close)(struct nm_radio *radio);
};
struct nm_radio {
    const struct nm_radio_verbs *verbs;
};

/* From now on also receives what is sent to a multicast group (224.0.0.0 to 239.255.255.255). -1 with a sentence. */
static inline int nm_radio_join(struct nm_radio *radio, uint32_t group, struct nm_err *err)
{
    return radio->verbs->join(radio, group, err);
}
/* Sends to one place, a group, or NM_AIR_ALL. 0 means that the datagram was sent, not that it arrives. -1 with a
 * sentence: it is too large, or the network is gone. */
static inline int nm_radio_send(struct nm_radio *radio, struct nm_air_place to, const void *bytes, size_t size,
                                struct nm_err *err)
{
    return radio->verbs->send(radio, to, bytes, size, err);
}
/* Receives the next datagram and returns its size; -1 if there is none. A datagram larger than the room is skipped. */
static inline int64_t nm_radio_receive(struct nm_radio *radio, struct nm_air_place *from, void *bytes, size_t room)
{
    return radio->verbs->receive(radio, from, bytes, room);
}
static inline void nm_radio_close(struct nm_radio *radio)
{
    if (radio) radio->verbs->close(radio);
}

static inline bool nm_air_is_group(uint32_t host) { return host >> 28 == 14; }
