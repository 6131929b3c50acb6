/* Datagrams, as everything that robots say to each other and to the referee: small, unreliable, to one or to all. One
 * interface with three verbs, join, send and receive; behind it a UDP socket (udp.h) or the air of a simulated field
 * (memory.h), so that what speaks through it runs unchanged in both. Nothing ever waits. */
#ifndef NM_EDGE_AIR_AIR_H
#define NM_EDGE_AIR_AIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { NM_AIR_DATAGRAM = 1472 }; /* bytes: what an Ethernet frame carries in one piece */

struct nm_air_place {
    uint32_t host; /* 10.0.0.3 is 0x0a000003 */
    uint16_t port;
};
static const uint32_t NM_AIR_ALL = UINT32_MAX; /* 255.255.255.255: all who listen on the port */

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

/* Also hears what is sent to a multicast group (224.0.0.0 to 239.255.255.255); -1 with a sentence. */
static inline int nm_radio_join(struct nm_radio *radio, uint32_t group, struct nm_err *err)
{
    return radio->verbs->join(radio, group, err);
}
/* To one place, a group, or NM_AIR_ALL. 0 says that it left us, not that it arrives; -1 with a sentence: it is too
 * large, or the network is gone. */
static inline int nm_radio_send(struct nm_radio *radio, struct nm_air_place to, const void *bytes, size_t size,
                                struct nm_err *err)
{
    return radio->verbs->send(radio, to, bytes, size, err);
}
/* The next datagram that is there: its size; -1 if there is none. One larger than the room is passed over. */
static inline int64_t nm_radio_receive(struct nm_radio *radio, struct nm_air_place *from, void *bytes, size_t room)
{
    return radio->verbs->receive(radio, from, bytes, room);
}
static inline void nm_radio_close(struct nm_radio *radio)
{
    if (radio) radio->verbs->close(radio);
}

static inline bool nm_air_is_group(uint32_t host) { return host >> 28 == 14; }

#endif
