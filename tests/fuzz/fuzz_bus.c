/* The servo driver against a wire that says anything, and the virtual bus against a host that says anything. */
#include "edge/bus/driver.h"
#include "edge/bus/virtual.h"

#include <stdlib.h>
#include <string.h>

struct wild {
    const uint8_t *data;
    size_t n;
    int64_t now;
    struct nm_vbus *bus;
};

static int64_t wild_now(void *self) { return ((struct wild *)self)->now; }

static int wild_open(void *self, int wire)
{
    (void)self, (void)wire;
    return 0;
}

/* What the driver says also reaches the virtual bus, mixed with the wild bytes. */
static int wild_write(void *self, int wire, const uint8_t *bytes, size_t n)
{
    struct wild *w = self;
    struct nm_bus_io io = nm_vbus_io(w->bus);
    return io.write(io.self, wire, bytes, n);
}

static int wild_read(void *self, int wire, uint8_t *bytes, size_t room)
{
    struct wild *w = self;
    struct nm_bus_io io = nm_vbus_io(w->bus);
    if (w->n < 2) return io.read(io.self, wire, bytes, room);
    uint8_t what = w->data[0];
    size_t n = what & 31;
    w->data++, w->n--;
    if (what == 255) return -1;
    if (what & 64) return io.read(io.self, wire, bytes, room);
    if (n > w->n) n = w->n;
    if (n > room) n = room;
    memcpy(bytes, w->data, n);
    if (what & 32) io.write(io.self, wire, w->data, n);
    w->data += n;
    w->n -= n;
    return (int)n;
}

static void wild_wait(void *self, int64_t until)
{
    struct wild *w = self;
    int64_t step = w->now + 500000;
    w->now = step < until ? step : until;
    nm_vbus_advance(w->bus, w->now);
}

/* One wire with two servos and a board: small, so that thousands of inputs are tried in a second. The first byte
 * chooses the board, the protocol of the servos and how the bus is driven. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { SERVOS = 2, CYCLES = 6 };
    static const struct nm_bus_board all[] = {{.name = "cm730", .model = "CM-730", .id = 200},
                                              {.name = "foot", .model = "BitFoot", .id = 101},
                                              {.name = "imu", .model = "GY-85", .id = 241},
                                              {.name = "force", .model = "ForceFoot", .id = 123}};
    if (size < 4) return 0;
    bool drive = data[0] & 1, router = data[0] & 2, second = data[0] & 4;
    struct nm_bus_board board = all[data[0] >> 3 & 3];
    struct wild w = {data + 1, size - 1, 1000000000, nm_vbus_new()};
    struct nm_bus_io io = {&w, wild_now, wild_open, wild_write, wild_read, wild_wait};
    struct nm_bus_settings set = nm_bus_defaults();
    set.wires = 1;
    set.router[0] = router;
    struct nm_bus_servo servos[SERVOS] = {0};
    nm_vbus_wire(w.bus, 0, 1000000, router, NULL);
    for (int i = 0; i < SERVOS; i++) {
        servos[i] = (struct nm_bus_servo){
            .name = "servo", .model = "MX-64", .id = (uint8_t)(i + 1), .protocol = second && i ? 2 : 1};
        nm_vbus_add(w.bus, 0, servos[i].id, "MX-64", servos[i].protocol, NULL);
    }
    nm_vbus_add(w.bus, 0, board.id, board.model, 0, NULL);
    struct nm_bus_driver *bus = nm_bus_open(&set, servos, SERVOS, &board, 1, io, NULL);
    if (!bus) abort();
    nm_bus_set_power(bus, drive ? NM_BUS_DRIVE : NM_BUS_LIMP_ALL);
    static struct nm_bus_goals goals;
    static struct nm_bus_states states;
    for (int n = 0; n < CYCLES && (w.n || n < 2); n++) {
        int64_t began = w.now;
        goals.stamp = n < CYCLES / 2 ? w.now : goals.stamp;
        nm_bus_cycle(bus, &goals, &states);
        if (w.now - began > (int64_t)(set.cycle_limit * 1e9) + 1000000) abort();
        struct nm_bus_event e;
        while (nm_bus_next_event(bus, &e))
            if (!memchr(e.text, 0, sizeof e.text)) abort();
        w.now = began + 10000000;
        nm_vbus_advance(w.bus, w.now);
    }
    nm_bus_close(bus);
    nm_vbus_free(w.bus);
    return 0;
}
