/* nutmeg bus: the workbench of the servo bus. Who is on it, what their registers say, how well it runs; and a virtual
 * one behind pseudo terminals for trying things without a robot. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "cmd/setup.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "edge/bus/ask.h"
#include "edge/bus/port.h"
#include "edge/bus/bus_tables.h"

enum { FOUND_MAX = 256 };
#define TIMEOUT 0.02 /* s, a slow adapter still answers */

static int failed(const struct nm_err *err)
{
    complain(err);
    return EXIT_FAILED;
}

/* A port with a tool on it. */
struct bench {
    struct nm_serial_ports ports;
    struct nm_ask ask;
};

static int open_bench(struct bench *b, const char *path, int64_t baud, double timeout, struct nm_err *err)
{
    uint32_t rate = (uint32_t)baud;
    nm_serial_init(&b->ports, &path, &rate, 1);
    b->ports.at[0].fd = nm_serial_open(path, rate, err);
    if (b->ports.at[0].fd < 0) return -1;
    return nm_ask_init(&b->ask, nm_serial_io(&b->ports), 0, rate, timeout, err);
}

#define BAUD(target)     WHOLE("baud", target, 9600, 4500000, "N", "bits per second (default: 1000000)", .letter = 'b')
#define PROTOCOL(target) WHOLE("protocol", target, 0, 2, "N", "protocol version 1 or 2 (default: both)", .letter = 'p')

static int bus_scan(int argc, char **argv)
{
    int64_t baud = 1000000, protocol = 0, first = 0, last = 252;
    double wait = 0.005;
    const struct flag flags[] = {
        BAUD(&baud),
        PROTOCOL(&protocol),
        WHOLE("first", &first, 0, 252, "ID", "first id"),
        WHOLE("last", &last, 0, 252, "ID", "last id"),
        NUMBER("wait", &wait, 1e-4, 1, "S", "seconds to wait for each answer (default: 0.005)"),
        {0}};
    const struct usage usage = USAGE("nutmeg bus scan", "PORT…", flags,
                                     "Asks every id on the ports and lists the devices that answer.\n"
                                     "    nutmeg bus scan /dev/ttyUSB0 --baud 2000000 --protocol 2",
                                     .most = NM_BUS_WIRES);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct table table;
    table_begin(&table, (const char *const[]){"port", ">protocol", ">id", "model", ">number", ">firmware", NULL});
    for (int i = 1; i <= n; i++) {
        struct bench b;
        struct nm_err err = {0};
        struct nm_ask_device found[FOUND_MAX];
        if (open_bench(&b, argv[i], baud, wait, &err)) return failed(&err);
        int count = nm_ask_scan(&b.ask, protocol ? (int)protocol : 3, (uint8_t)first, (uint8_t)last, found, FOUND_MAX);
        for (int k = 0; k < count; k++)
            table_row(&table, "%s\t%d.0\t%d\t%s\t%u\t%d", argv[i], found[k].protocol, found[k].id,
                      found[k].model ? found[k].model->name : "stranger", found[k].number, found[k].firmware);
        nm_serial_close(&b.ports);
    }
    if (!table.n_rows) {
        fprintf(stderr, "no device answers at %lld baud; check the power and the baud rate\n", (long long)baud);
        return EXIT_FAILED;
    }
    table_print(&table, stdout);
    return EXIT_OK;
}

/* Whoever has this id, in one of the protocols. */
static int meet(struct bench *b, const char *text, int64_t protocol, struct nm_ask_device *d, struct nm_err *err)
{
    char *end;
    long id = strtol(text, &end, 10);
    if (*end || end == text || id < 0 || id > 253) return nm_fail(err, "'%s' is not an id; ids go from 0 to 253", text);
    struct nm_err own = {0};
    for (int p = 1; p <= 2; p++)
        if ((!protocol || protocol == p) && nm_ask_ping(&b->ask, p, (uint8_t)id, d, &own) == 0) return 0;
    return nm_fail(err, "%.*s", own.used ? (int)own.used - 1 : 0, own.text);
}

static int print_register(struct bench *b, const struct nm_ask_device *d, const char *name, struct table *table,
                          struct nm_err *err)
{
    double value;
    if (nm_ask_get(&b->ask, d, name, &value, err)) return -1;
    const struct nm_dxl_register *r = nm_dxl_register(d->model, name);
    table_row(table, "%s\t%.6g\t%s\t%.0f\t%u\t%s", name, value + 0.0, r->unit,
              value / (double)r->scale + (double)r->zero, r->address,
              (const char *const[]){"read", "read, write", "read, write, stored"}[r->access]);
    return 0;
}

static int bus_read(int argc, char **argv)
{
    int64_t baud = 1000000, protocol = 0;
    const struct flag flags[] = {BAUD(&baud), PROTOCOL(&protocol), {0}};
    const struct usage usage = USAGE("nutmeg bus read", "PORT ID [REGISTER…]", flags,
                                     "Reads registers of a device by name. Without a REGISTER it reads all of them.\n"
                                     "    nutmeg bus read /dev/ttyUSB0 13 present_position present_temperature");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct bench b;
    struct nm_ask_device d;
    struct nm_err err = {0};
    if (open_bench(&b, argv[1], baud, TIMEOUT, &err)) return failed(&err);
    if (meet(&b, argv[2], protocol, &d, &err) == 0 && !d.model)
        nm_fail(&err, "id %d is model %u, whose registers are unknown", d.id, d.number);
    struct table table;
    const struct nm_dxl_register *r;
    table_begin(&table, (const char *const[]){"register", ">value", "unit", ">count", ">address", "access", NULL});
    for (int i = 3; i <= n && !err.n; i++) print_register(&b, &d, argv[i], &table, &err);
    for (size_t i = 0; n == 2 && !err.n && (r = nm_dxl_register_at(d.model, i)); i++)
        print_register(&b, &d, r->name, &table, &err);
    if (table.n_rows) table_print(&table, stdout);
    nm_serial_close(&b.ports);
    return err.n ? failed(&err) : EXIT_OK;
}

static int bus_write(int argc, char **argv)
{
    int64_t baud = 1000000, protocol = 0;
    bool count = false;
    const struct flag flags[] = {BAUD(&baud),
                                 PROTOCOL(&protocol),
                                 SWITCH("count", &count, "takes VALUE in the register's counts, not in SI units"),
                                 {0}};
    const struct usage usage =
        USAGE("nutmeg bus write", "PORT ID REGISTER VALUE", flags,
              "Writes a register by name and reads it back. Writing a goal moves the joint: stand clear.\n"
              "    nutmeg bus write /dev/ttyUSB0 13 return_delay 0");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    char *end;
    double value = strtod(argv[4], &end);
    if (*end || end == argv[4] || !isfinite(value)) return usage_wrong(&usage, "'%s' is not a number", argv[4]);
    struct bench b;
    struct nm_ask_device d;
    struct nm_err err = {0};
    if (open_bench(&b, argv[1], baud, TIMEOUT, &err)) return failed(&err);
    struct table table;
    table_begin(&table, (const char *const[]){"register", ">value", "unit", ">count", ">address", "access", NULL});
    if (meet(&b, argv[2], protocol, &d, &err) == 0) {
        const struct nm_dxl_register *r = d.model ? nm_dxl_register(d.model, argv[3]) : NULL;
        if (count && r) value = (double)r->scale * (value - (double)r->zero);
        if (nm_ask_put(&b.ask, &d, argv[3], value, &err) == 0) print_register(&b, &d, argv[3], &table, &err);
    }
    if (table.n_rows) table_print(&table, stdout);
    nm_serial_close(&b.ports);
    return err.n ? failed(&err) : EXIT_OK;
}

/* Tables of a robot's folder, or of what a scan of the ports finds. */
static int robot_tables(struct setup *setup, const char *name, struct nm_bus_tables *t, struct nm_err *err)
{
    const char *folder = nm_path(&setup->arena, nm_path(&setup->arena, setup->root, "robots"), name);
    const struct nm_body *body = nm_body_load(&setup->arena, nm_folder_exists(folder) ? folder : name, err);
    return body ? nm_bus_tables(body, t, err) : -1;
}

static void add_found(struct nm_bus_tables *t, int wire, const struct nm_ask_device *d)
{
    if (!d->model) return;
    if (d->model->kind == NM_DXL_SERVO && t->n_servos < NM_BUS_SERVOS) {
        struct nm_bus_servo *s = &t->servos[t->n_servos++];
        *s = (struct nm_bus_servo){.protocol = d->protocol, .id = d->id, .wire = (uint8_t)wire};
        snprintf(s->name, sizeof s->name, "servo_%d", d->id);
        snprintf(s->model, sizeof s->model, "%s", d->model->name);
    } else if (d->model->kind != NM_DXL_SERVO && t->n_boards < NM_BUS_BOARDS) {
        struct nm_bus_board *b = &t->boards[t->n_boards++];
        *b = (struct nm_bus_board){.protocol = d->protocol, .id = d->id, .wire = (uint8_t)wire};
        snprintf(b->name, sizeof b->name, "board_%d", d->id);
        snprintf(b->model, sizeof b->model, "%s", d->model->name);
    }
}

static int scanned_tables(int n, char **ports, int64_t baud, struct nm_bus_tables *t, struct nm_err *err)
{
    *t = (struct nm_bus_tables){.set = nm_bus_defaults()};
    t->set.wires = n;
    for (int i = 0; i < n; i++) {
        struct bench b;
        struct nm_ask_device found[FOUND_MAX];
        t->set.baud[i] = (uint32_t)baud;
        t->port[i] = ports[i];
        const char *name = strrchr(ports[i], '/');
        snprintf(t->set.path[i], sizeof t->set.path[i], "%.31s", name ? name + 1 : ports[i]);
        if (open_bench(&b, ports[i], baud, 0.005, err)) return -1;
        int count = nm_ask_scan(&b.ask, 3, 0, 252, found, FOUND_MAX);
        for (int k = 0; k < count; k++) add_found(t, i, &found[k]);
        nm_serial_close(&b.ports);
    }
    if (t->n_servos + t->n_boards) return 0;
    return nm_fail(err, "no device answers at %lld baud; check the power", (long long)baud);
}

/* Links in a folder of its own stand for the ports. */
struct stage {
    char folder[32], link[NM_BUS_WIRES][64];
    struct nm_vbus *bus;
};

static int set_stage(struct stage *s, struct nm_bus_tables *t, struct nm_err *err)
{
    strcpy(s->folder, "/tmp/nutmeg_bus_XXXXXX");
    if (!mkdtemp(s->folder)) return nm_fail(err, "the folder for the links cannot be made: %s", strerror(errno));
    for (int i = 0; i < t->set.wires; i++) {
        snprintf(s->link[i], sizeof s->link[i], "%s/bus%d", s->folder, i);
        t->port[i] = s->link[i];
    }
    t->set.answer_timeout = 0.006; /* the devices share this machine with everything else */
    s->bus = nm_vbus_of_tables(t, err);
    return s->bus ? nm_vbus_start(s->bus, t->port, err) : -1;
}

static void clear_stage(struct stage *s)
{
    nm_vbus_free(s->bus);
    if (s->folder[0]) rmdir(s->folder);
}

struct figures {
    int cycles, events;
    double mean, worst, wire; /* ms */
};

/* Cycles at the rate asked for; goals are where the joints were when torque came on. */
static struct figures run_cycles(struct nm_bus_driver *bus, struct nm_bus_io io, int servos, double seconds,
                                 double rate, bool drive, struct nm_bus_states *states)
{
    static struct nm_bus_goals goals;
    struct figures f = {0};
    struct nm_bus_event e;
    int64_t began = io.now(io.self), period = (int64_t)(1e9 / rate), next = began;
    if (drive) nm_bus_set_power(bus, NM_BUS_DRIVE);
    while (!stopping() && next - began < (int64_t)(seconds * 1e9)) {
        for (int i = 0; i < servos; i++)
            if (states->servo[i].phase < NM_BUS_ARMING) goals.servo[i].position = states->servo[i].position;
        goals.stamp = io.now(io.self);
        nm_bus_cycle(bus, &goals, states);
        double ms = (double)states->duration * 1e-6;
        f.cycles++;
        f.mean += (ms - f.mean) / f.cycles;
        f.worst = fmax(f.worst, ms);
        f.wire += ((double)states->wire_time * 1e-6 - f.wire) / f.cycles;
        while (nm_bus_next_event(bus, &e)) {
            printf("%8.3f s  %s\n", (double)(e.time - began) * 1e-9, e.text);
            f.events += e.begins;
        }
        next += period;
        if (next < io.now(io.self)) next = io.now(io.self);
        struct timespec until = {next / 1000000000, next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    nm_bus_set_power(bus, NM_BUS_LIMP_ALL);
    for (int i = 0; i < 4 && drive; i++) nm_bus_cycle(bus, &goals, states);
    return f;
}

static void print_servos(const struct nm_bus_tables *t, const struct nm_bus_states *states)
{
    struct table table;
    table_begin(&table, (const char *const[]){"name", "model", ">bus", ">id", ">rad", ">V", ">°C", ">answers",
                                              ">missed", NULL});
    for (int i = 0; i < t->n_servos; i++) {
        const struct nm_bus_servo *s = &t->servos[i];
        const struct nm_bus_servo_state *r = &states->servo[i];
        table_row(&table, "%s\t%s\t%d\t%d\t%.3f\t%.1f\t%.0f\t%u\t%u", s->name, s->model, s->wire, s->id, r->position,
                  r->voltage, r->temperature, r->answered, r->missed);
    }
    for (int i = 0; i < t->n_boards; i++) {
        const struct nm_bus_board *b = &t->boards[i];
        const struct nm_bus_board_state *r = &states->board[i];
        char volts[16] = "";
        if (isfinite(r->voltage)) snprintf(volts, sizeof volts, "%.1f", r->voltage);
        table_row(&table, "%s\t%s\t%d\t%d\t\t%s\t\t%u\t%u", b->name, b->model, b->wire, b->id, volts, r->answered,
                  r->missed);
    }
    table_print(&table, stdout);
}

static int test_tables(struct nm_bus_tables *t, double seconds, double rate, bool drive)
{
    static struct nm_bus_states states;
    struct nm_err err = {0};
    struct nm_serial_ports ports;
    nm_serial_init(&ports, t->port, t->set.baud, t->set.wires);
    t->set.cycle_limit = 0.95 / rate;
    struct nm_bus_io io = nm_serial_io(&ports);
    struct nm_bus_driver *bus = nm_bus_open(&t->set, t->servos, t->n_servos, t->boards, t->n_boards, io, &err);
    if (!bus) return failed(&err);
    struct figures f = run_cycles(bus, io, t->n_servos, seconds, rate, drive, &states);
    nm_bus_close(bus);
    nm_serial_close(&ports);
    print_servos(t, &states);
    printf("\n"
           "%d cycles: %.2f ms on average, %.2f ms at most; the bytes alone need %.2f ms; %d faults\n",
           f.cycles, f.mean, f.worst, f.wire, f.events);
    return f.events ? EXIT_FAILED : EXIT_OK;
}

static int bus_test(int argc, char **argv)
{
    int64_t baud = 1000000;
    double seconds = 5, rate = 100;
    const char *robot = NULL;
    bool virtual = false, drive = false;
    const struct flag flags[] = {
        BAUD(&baud),
        TEXT("robot", &robot, "NAME", "uses the servo table of this robot instead of a scan of the ports",
             .letter = 'r'),
        SWITCH("virtual", &virtual, "uses a virtual bus with the robot's devices; needs --robot"),
        SWITCH("drive", &drive, "switches the torque on and holds the joints where they are", .letter = 'd'),
        NUMBER("seconds", &seconds, 0.1, 86400, "S", "duration (default: 5)", .letter = 's'),
        NUMBER("rate", &rate, 1, 1000, "HZ", "cycles per second (default: 100)"),
        {0}};
    const struct usage usage =
        USAGE("nutmeg bus test", "[PORT…]", flags,
              "Runs the driver on a bus and prints faults as they come, then the answers and losses of every\n"
              "device and the times of the cycle. The robot stays limp without --drive. Ctrl-C ends the test.\n"
              "    nutmeg bus test /dev/ttyUSB0\n"
              "    nutmeg bus test --robot kid70 --virtual --drive",
              .most = NM_BUS_WIRES);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (!robot && (virtual || !n)) return usage_wrong(&usage, "name a port, or a robot with --robot");
    if (robot && n && virtual) return usage_wrong(&usage, "use either --virtual or ports, not both");
    static struct nm_bus_tables t;
    struct setup setup;
    struct stage stage = {0};
    struct nm_err err = {0};
    setup_begin(&setup);
    stop_by_signals(); /* ends the run, not the program: servos are left limp and links removed */
    int bad = robot ? robot_tables(&setup, robot, &t, &err) : scanned_tables(n, argv + 1, baud, &t, &err);
    for (int i = 0; robot && i < n && i < t.set.wires; i++) t.port[i] = argv[i + 1];
    if (!bad && virtual) bad = set_stage(&stage, &t, &err);
    code = bad ? failed(&err) : test_tables(&t, seconds, rate, drive);
    clear_stage(&stage);
    setup_end(&setup);
    return code;
}

static int bus_virtual(int argc, char **argv)
{
    const struct usage usage =
        USAGE("nutmeg bus virtual", "ROBOT LINK…", NULL,
              "Simulates the devices on the buses of a robot. Each bus is a pseudo terminal that can be\n"
              "opened at LINK like a serial port. Ctrl-C ends it.\n"
              "    nutmeg bus virtual darwin /tmp/darwin\n"
              "    nutmeg bus scan /tmp/darwin",
              .most = 1 + NM_BUS_WIRES);
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    static struct nm_bus_tables t;
    struct setup setup;
    struct nm_err err = {0};
    setup_begin(&setup);
    stop_by_signals(); /* ends the run, not the program: servos are left limp and links removed */
    int bad = robot_tables(&setup, argv[1], &t, &err);
    if (!bad && n - 1 != t.set.wires)
        bad = nm_fail(&err, "%s has %d buses: name one link for each", argv[1], t.set.wires);
    struct nm_vbus *bus = bad ? NULL : nm_vbus_of_tables(&t, &err);
    if (bus && nm_vbus_start(bus,
                             (const char *const[NM_BUS_WIRES]){argv[2], n > 2 ? argv[3] : NULL, n > 3 ? argv[4] : NULL,
                                                               n > 4 ? argv[5] : NULL},
                             &err)) {
        nm_vbus_free(bus);
        bus = NULL;
    }
    if (bus) printf("%d servos and %d boards are ready; Ctrl-C ends it\n", t.n_servos, t.n_boards), fflush(stdout);
    while (bus && !stopping()) pause();
    code = bus ? EXIT_OK : failed(&err);
    nm_vbus_free(bus);
    setup_end(&setup);
    return code;
}

int cmd_bus(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"scan", "lists the devices on a bus", bus_scan},
        {"read", "reads a device's registers", bus_read},
        {"write", "writes a register", bus_write},
        {"test", "runs the driver and measures answers, losses and times", bus_test},
        {"virtual", "simulates a bus behind a pseudo terminal", bus_virtual},
        {0},
    };
    return verbs_run("nutmeg bus", "Talks to the servos and sensors of a robot.", verbs, argc, argv);
}
