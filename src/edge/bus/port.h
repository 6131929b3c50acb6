/* Serial ports for the servo bus: any baud rate up to 4.5 M, raw, non-blocking, with the adapter's latency turned down.
 * Pseudo terminals work, too. When a port is unplugged, the next read, write or wait notices it and closes the port; it
 * can be opened again under its path. */
#pragma once

#include "base/error.h"
#include "edge/bus/io.h"

struct nm_serial_ports {
    struct nm_serial_port {
        char path[256];
        uint32_t baud;
        int fd; /* -1: closed */
    } at[NM_BUS_WIRES];
    int n;
};

/* Opens one port; returns a file descriptor, or -1 with a sentence. */
int nm_serial_open(const char *path, uint32_t baud, struct nm_err *err);

/* The io opens the ports; the caller closes them with nm_serial_close. */
void nm_serial_init(struct nm_serial_ports *ports, const char *const paths[], const uint32_t baud[], int n);
void nm_serial_close(struct nm_serial_ports *ports);
struct nm_bus_io nm_serial_io(struct nm_serial_ports *ports);
