/* Single questions on a servo bus, for tools: ping, read, write, scan. Each call waits for its answer. Robots use the
 * driver (driver.h) instead. */
#pragma once

#include "codec/dynamixel.h"
#include "codec/dynamixel_tables.h"
#include "edge/bus/io.h"

#include "base/error.h"

struct nm_ask {
    struct nm_bus_io io;
    int wire;
    uint32_t baud;
    double timeout; /* s of silence */
    struct nm_dxl_parser parser;
};

struct nm_ask_device {
    uint8_t id, protocol;
    uint16_t number;
    uint8_t firmware;
    const struct nm_dxl_model *model; /* NULL: an unknown model */
};

/* Opens the wire. -1 with a sentence if the port does not exist. */
int nm_ask_init(struct nm_ask *ask, struct nm_bus_io io, int wire, uint32_t baud, double timeout, struct nm_err *err);

/* 0, or -1 with a sentence: no answer, a damaged answer, or an error that the device reports. */
int nm_ask_ping(struct nm_ask *ask, int protocol, uint8_t id, struct nm_ask_device *device, struct nm_err *err);
int nm_ask_read(struct nm_ask *ask, int protocol, uint8_t id, uint16_t address, uint16_t size, uint8_t *data,
                struct nm_err *err);

/* Registers by name, in SI units. */
int nm_ask_get(struct nm_ask *ask, const struct nm_ask_device *device, const char *name, double *value,
               struct nm_err *err);
int nm_ask_put(struct nm_ask *ask, const struct nm_ask_device *device, const char *name, double value,
               struct nm_err *err);

/* Finds all devices with ids from `first` to `last` that answer to one of the protocols (bit 0: 1.0, bit 1: 2.0), in
 * the order of protocol and id. Returns their number, at most `room`. */
int nm_ask_scan(struct nm_ask *ask, int protocols, uint8_t first, uint8_t last, struct nm_ask_device *found, int room);
