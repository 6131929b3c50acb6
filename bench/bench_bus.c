/* The servo bus in real time: the driver on serial ports, 20 servos and an inertial unit behind pseudo terminals with
 * the timing of 1 Mbaud. The median of the cycles in which everybody answered (at least half of them must be such); the
 * ratio is the cycle over the time its bytes alone need on the busiest wire. */
#include "base/order.h"
#include "bench.h"

#include "edge/bus/driver.h"
#include "edge/bus/port.h"
#include "edge/bus/virtual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SERVOS = 20, CYCLES = 300, WARM_UP = 120, PERIOD_NS = 12000000 };

struct body {
    char folder[32], path[NM_BUS_WIRES][NM_BUS_NAME];
    const char *links[NM_BUS_WIRES];
    struct nm_vbus *wires;
    struct nm_serial_ports ports;
    struct nm_bus_driver *bus;
};

static int build(struct body *b, int wires, int protocol, struct nm_err *err)
{
    struct nm_bus_servo servos[SERVOS] = {0};
    struct nm_bus_board imu = {.name = "imu", .wire = (uint8_t)(wires - 1), .protocol = (uint8_t)protocol};
    imu.id = protocol == 1 ? 200 : 241;
    strcpy(imu.model, protocol == 1 ? "CM-730" : "BitIMU");
    struct nm_bus_settings set = nm_bus_defaults();
    memset(b, 0, sizeof *b);
    strcpy(b->folder, "/tmp/nm_bench_XXXXXX");
    b->wires = nm_vbus_new();
    if (!b->wires || !mkdtemp(b->folder)) return nm_fail(err, "there is no memory for a virtual bus");
    set.wires = wires;
    for (int w = 0; w < wires; w++) {
        snprintf(b->path[w], sizeof b->path[w], "%s/bus%d", b->folder, w);
        b->links[w] = b->path[w];
        if (nm_vbus_wire(b->wires, w, set.baud[w], false, err)) return -1;
    }
    for (int i = 0; i < SERVOS; i++) {
        servos[i] = (struct nm_bus_servo){.id = (uint8_t)(i + 1), .wire = (uint8_t)(i % wires)};
        servos[i].protocol = (uint8_t)protocol;
        snprintf(servos[i].name, sizeof servos[i].name, "servo_%d", i + 1);
        strcpy(servos[i].model, "MX-64");
        if (!nm_vbus_add(b->wires, i % wires, servos[i].id, "MX-64", protocol, err)) return -1;
    }
    struct nm_vdevice *unit = nm_vbus_add(b->wires, imu.wire, imu.id, imu.model, protocol, err);
    if (!unit) return -1;
    nm_vdevice_set(unit, "dxl_power", 1);
    nm_vbus_supply(b->wires, 12);
    nm_serial_init(&b->ports, b->links, set.baud, wires);
    if (nm_vbus_start(b->wires, b->links, err)) return -1;
    b->bus = nm_bus_open(&set, servos, SERVOS, &imu, 1, nm_serial_io(&b->ports), err);
    return b->bus ? 0 : -1;
}

static void clear(struct body *b)
{
    nm_bus_close(b->bus);
    nm_serial_close(&b->ports);
    nm_vbus_free(b->wires);
    rmdir(b->folder);
}

static void run(struct nm_bench *bench, const char *name, int wires, int protocol, double limit_ms, const char *goal)
{
    static struct nm_bus_goals goals;
    static struct nm_bus_states states;
    double ms[CYCLES], wire_ms[CYCLES];
    struct nm_err err = {0};
    struct body b;
    int n = 0, cycles = nm_bench_quick(bench) ? CYCLES / 5 : CYCLES;
    if (build(&b, wires, protocol, &err) == 0) {
        struct nm_bus_io io = nm_serial_io(&b.ports);
        nm_bus_set_power(b.bus, NM_BUS_DRIVE);
        int64_t next = io.now(io.self);
        for (int k = 0; k < WARM_UP + cycles; k++) {
            goals.stamp = io.now(io.self);
            nm_bus_cycle(b.bus, &goals, &states);
            bool all = states.board[0].fresh;
            for (int i = 0; i < SERVOS; i++) all &= states.servo[i].fresh;
            if (k >= WARM_UP && all) {
                ms[n] = (double)states.duration * 1e-6;
                wire_ms[n++] = (double)states.wire_time * 1e-6;
            }
            next += PERIOD_NS;
            struct timespec until = {next / 1000000000, next % 1000000000};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
    }
    clear(&b);
    if (n < cycles / 2) {
        nm_bench_report(bench, name, NAN, "ms", NAN, goal, false);
        return;
    }
    qsort(ms, (size_t)n, sizeof *ms, nm_by_size);
    qsort(wire_ms, (size_t)n, sizeof *wire_ms, nm_by_size);
    double median = ms[n / 2], wire = wire_ms[n / 2];
    nm_bench_report(bench, name, median, "ms", median / wire, goal, median <= limit_ms);
}

void bench_bus(struct nm_bench *b);

void bench_bus(struct nm_bench *b)
{
    run(b, "20 servos, IMU, 1 Mbaud, 1 wire, protocol 1.0", 1, 1, 10, "<= 10 ms");
    run(b, "20 servos, IMU, 1 Mbaud, 3 wires, protocol 1.0", 3, 1, 4, "<= 4 ms");
    run(b, "20 servos, IMU, 1 Mbaud, 1 wire, protocol 2.0", 1, 2, 10, "<= 10 ms");
    run(b, "20 servos, IMU, 1 Mbaud, 3 wires, protocol 2.0", 3, 2, 4, "<= 4 ms");
}
