#include "edge/bus/ask.h"

#include <string.h>

#include "core/registry.h"

int nm_ask_init(struct nm_ask *ask, struct nm_bus_io io, int wire, uint32_t baud, double timeout, struct nm_err *err)
{
    *ask = (struct nm_ask){.io = io, .wire = wire, .baud = baud, .timeout = timeout};
    nm_dxl_parser_init(&ask->parser, 3, true);
    if (io.open(io.self, wire)) return nm_fail(err, "bus %d: the port does not exist", wire);
    return 0;
}

static int64_t now(const struct nm_ask *ask) { return ask->io.now(ask->io.self); }

static void drain(struct nm_ask *ask)
{
    uint8_t stale[256];
    while (ask->io.read(ask->io.self, ask->wire, stale, sizeof stale) > 0) {}
    nm_dxl_parser_clear(&ask->parser);
}

static int send(struct nm_ask *ask, const uint8_t *bytes, size_t n, struct nm_err *err)
{
    if (!n) return nm_fail(err, "the packet does not fit the protocol");
    drain(ask);
    for (size_t at = 0; at < n;) {
        int taken = ask->io.write(ask->io.self, ask->wire, bytes + at, n - at);
        if (taken < 0) return nm_fail(err, "bus %d: the port is gone", ask->wire);
        if (!taken) ask->io.wait(ask->io.self, now(ask) + 1000000);
        at += (size_t)taken;
    }
    return 0;
}

/* Waits for the next status packet: 1: it arrived; 0: the time is over; -1: the port is gone. */
static int receive(struct nm_ask *ask, int protocol, int64_t until, struct nm_dxl_packet *packet)
{
    uint8_t bytes[256];
    for (;;) {
        while (nm_dxl_next(&ask->parser, packet))
            if (packet->instruction == NM_DXL_STATUS && packet->protocol == protocol) return 1;
        int n = ask->io.read(ask->io.self, ask->wire, bytes, sizeof bytes);
        if (n < 0) return -1;
        if (n) {
            nm_dxl_feed(&ask->parser, bytes, (size_t)n);
            continue;
        }
        if (now(ask) >= until) return 0;
        ask->io.wait(ask->io.self, until);
    }
}

/* One question, one answer with n data bytes. */
static int question(struct nm_ask *ask, int protocol, uint8_t id, const uint8_t *bytes, size_t size, uint16_t n,
                    struct nm_dxl_packet *packet, struct nm_err *err)
{
    char words[96];
    if (send(ask, bytes, size, err)) return -1;
    double wire = 10.0 * (double)(size + nm_dxl_status_size(protocol, n)) / ask->baud;
    int64_t until = now(ask) + (int64_t)((wire + ask->timeout) * 1e9);
    int got;
    while ((got = receive(ask, protocol, until, packet)) > 0) {
        if (packet->id != id) continue;
        uint8_t fatal = protocol == 1 ? packet->error & (NM_DXL_RANGE | NM_DXL_INSTRUCTION | NM_DXL_CHECKSUM)
                                      : packet->error & 0x7F;
        if (fatal)
            return nm_fail(err, "id %d refuses: %s", id, nm_dxl_error_text(protocol, fatal, words, sizeof words));
        if (packet->n == n) return 0;
    }
    if (got < 0) return nm_fail(err, "bus %d: the port is gone", ask->wire);
    return nm_fail(err, "id %d, protocol %d.0: %s", id, protocol,
                   ask->parser.used ? "a damaged answer" : "no answer; is it powered, and at this baud rate?");
}

int nm_ask_ping(struct nm_ask *ask, int protocol, uint8_t id, struct nm_ask_device *device, struct nm_err *err)
{
    uint8_t bytes[16];
    struct nm_dxl_packet p;
    size_t size = nm_dxl_ping(protocol, id, bytes, sizeof bytes);
    if (question(ask, protocol, id, bytes, size, protocol == 1 ? 0 : 3, &p, err)) return -1;
    uint8_t head[3] = {0};
    if (protocol == 2)
        memcpy(head, p.data, 3);
    else if (nm_ask_read(ask, 1, id, 0, 3, head, err))
        return -1;
    uint16_t number = (uint16_t)nm_dxl_get(head, 2);
    *device = (struct nm_ask_device){id, (uint8_t)protocol, number, head[2], nm_dxl_model_by_number(number, protocol)};
    return 0;
}

int nm_ask_read(struct nm_ask *ask, int protocol, uint8_t id, uint16_t address, uint16_t size, uint8_t *data,
                struct nm_err *err)
{
    uint8_t bytes[32];
    struct nm_dxl_packet p;
    size_t n = nm_dxl_read(protocol, id, address, size, bytes, sizeof bytes);
    if (question(ask, protocol, id, bytes, n, size, &p, err)) return -1;
    memcpy(data, p.data, size);
    return 0;
}

static int ask_write(struct nm_ask *ask, int protocol, struct nm_dxl_block block, struct nm_err *err)
{
    uint8_t bytes[NM_DXL_PACKET_MAX];
    struct nm_dxl_packet p;
    size_t n = nm_dxl_write(protocol, block, bytes, sizeof bytes);
    return question(ask, protocol, block.id, bytes, n, 0, &p, err);
}

static const struct nm_dxl_register *known(const struct nm_ask_device *device, const char *name, struct nm_err *err)
{
    if (!device->model) {
        nm_fail(err, "id %d is model %u, whose registers are not known", device->id, device->number);
        return NULL;
    }
    const struct nm_dxl_register *r = nm_dxl_register(device->model, name);
    if (r) return r;
    const char *names[96];
    uint32_t n = 0;
    while (n < 96 && (r = nm_dxl_register_at(device->model, n))) names[n++] = r->name;
    nm_fail(err, "a %s has no register '%s'%s", device->model->name, name, nm_hint(name, names, n).text);
    return NULL;
}

int nm_ask_get(struct nm_ask *ask, const struct nm_ask_device *device, const char *name, double *value,
               struct nm_err *err)
{
    uint8_t bytes[4];
    const struct nm_dxl_register *r = known(device, name, err);
    if (!r || nm_ask_read(ask, device->protocol, device->id, r->address, r->size, bytes, err)) return -1;
    *value = nm_dxl_decode(r, bytes);
    return 0;
}

int nm_ask_put(struct nm_ask *ask, const struct nm_ask_device *device, const char *name, double value,
               struct nm_err *err)
{
    uint8_t bytes[4];
    const struct nm_dxl_register *r = known(device, name, err);
    if (!r) return -1;
    if (r->access == NM_DXL_R) return nm_fail(err, "%s of a %s can only be read", name, device->model->name);
    nm_dxl_encode(r, value, bytes);
    return ask_write(ask, device->protocol, (struct nm_dxl_block){device->id, r->address, r->size, bytes}, err);
}

int nm_ask_scan(struct nm_ask *ask, int protocols, uint8_t first, uint8_t last, struct nm_ask_device *found, int room)
{
    int n = 0;
    for (int protocol = 1; protocol <= 2; protocol++)
        for (int id = first; id <= last && n < room && protocols & protocol; id++)
            if (nm_ask_ping(ask, protocol, (uint8_t)id, &found[n], NULL) == 0) n++;
    return n;
}
