/* What the servo driver needs from outside: a clock, and a few wires that carry bytes. On a robot these are serial
 * ports (port.h); in tests and in the simulator it is the virtual bus in simulated time (virtual.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NM_BUS_WIRES = 4 };

struct nm_bus_io {
    void *self;
    int64_t (*now)(void *self);        /* monotonic, ns                           */
    int (*open)(void *self, int wire); /* 0, or -1: the port does not exist (yet) */
    /* number of bytes taken (0: no room now), or -1: the wire is gone and must be opened again */
    int (*write)(void *self, int wire, const uint8_t *bytes, size_t n);
    /* number of bytes that have arrived, or -1: the wire is gone */
    int (*read)(void *self, int wire, uint8_t *bytes, size_t room);
    /* waits until that time, or until bytes have arrived on any wire */
    void (*wait)(void *self, int64_t until);
};
