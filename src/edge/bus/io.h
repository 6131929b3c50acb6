/* What the servo driver needs of the world: a clock and a handful of wires that carry bytes. Serial ports give it on a
 * robot (port.h), the virtual bus in simulated time gives it in tests and in the simulator (virtual.h). */
#ifndef NM_EDGE_BUS_IO_H
#define NM_EDGE_BUS_IO_H

#include <stddef.h>
#include <stdint.h>

enum { NM_BUS_WIRES = 4 };

struct nm_bus_io {
    void *self;
    int64_t (*now)(void *self);        /* monotonic, ns                                    */
    int (*open)(void *self, int wire); /* 0, or -1: it is not there (yet)                  */
    /* bytes taken (0: no room now), or -1: the wire is gone and wants to be opened again */
    int (*write)(void *self, int wire, const uint8_t *bytes, size_t n);
    /* bytes that have arrived (0: none), or -1: gone */
    int (*read)(void *self, int wire, uint8_t *bytes, size_t room);
    /* until that time, or until bytes have arrived on any wire */
    void (*wait)(void *self, int64_t until);
};

#endif
