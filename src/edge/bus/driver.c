/* Tables, and the cycle: control, plan, talk on all wires at once, report. */
#include "edge/bus/driver_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_STEP 0.1 /* s, a longer pause between cycles counts as that */

struct nm_bus_settings nm_bus_defaults(void)
{
    return (struct nm_bus_settings){
        .wires = 1,
        .baud = {1000000, 1000000, 1000000, 1000000},
        .cycle_limit = 0.0095,
        .answer_timeout = 0.002,
        .goal_age = 0.1,
        .start_hold = 2.0,
        .start_ramp = 0.5,
        .loss_ramp = 0.03,
        .catch_up = 2.0,
        .damp_share = 0.3,
        .damp_time = 0.3,
        .damp_lag = 0.15,
        .probe_first = 0.01,
        .probe_longest = 0.03,
        .lost_after = 3,
        .checks = 2,
        .rest = 2.0,
        .power_settle = 0.3,
        .hot = 70,
        .calm = 0.05,
    };
}

static const struct nm_dxl_model *model_of(const char *what, const char *name, const char *model, int protocol,
                                           struct nm_err *err)
{
    const struct nm_dxl_model *m = nm_dxl_model(model, protocol);
    if (m) return m;
    const char *names[64];
    size_t n;
    const struct nm_dxl_model *all = nm_dxl_models(&n);
    for (size_t i = 0; i < n && i < 64; i++) names[i] = all[i].name;
    const char *near = nm_nearest(model, names, (uint32_t)(n < 64 ? n : 64));
    nm_fail(err, "%s %s: no device \"%s\" with protocol %d is known%s%s", what, name, model, protocol,
            near ? ", did you mean " : "", near ? near : "");
    return NULL;
}

/* Everything that cannot be is said at once. */
static int add_device(struct nm_bus_driver *bus, struct device d, const char *what, struct nm_err *err)
{
    if (!d.model) return -1;
    if ((d.servo >= 0) != (d.model->kind == NM_DXL_SERVO))
        return nm_fail(err, "%s %s: a %s is not a %s", what, d.name, d.model->name, what);
    if (d.wire >= bus->set.wires) return nm_fail(err, "%s %s: there is no bus %d", what, d.name, d.wire);
    if (d.id > 253) return nm_fail(err, "%s %s: id %d, at most 253", what, d.name, d.id);
    for (int i = 0; i < bus->n_devices; i++)
        if (bus->devices[i].wire == d.wire && bus->devices[i].id == d.id)
            return nm_fail(err, "%s %s: id %d on bus %d is also %s's", what, d.name, d.id, d.wire,
                           bus->devices[i].name);
    d.return_delay = nm_dxl_register(d.model, "return_delay");
    d.identified = !d.model->number || !d.return_delay; /* nothing to find out */
    bus->devices[bus->n_devices++] = d;
    return 0;
}

static void take_tables(struct nm_bus_driver *bus, const struct nm_bus_servo *servos, const struct nm_bus_board *boards,
                        struct nm_err *err)
{
    for (int i = 0; i < bus->n_servos; i++) {
        struct servo *s = &bus->servos[i];
        s->row = servos[i];
        s->row.name[NM_BUS_NAME - 1] = s->row.model[sizeof s->row.model - 1] = '\0';
        struct device d = {.model = model_of("servo", s->row.name, s->row.model, s->row.protocol, err),
                           .name = s->row.name,
                           .id = s->row.id,
                           .wire = s->row.wire,
                           .servo = (int16_t)i,
                           .board = -1};
        s->device = &bus->devices[bus->n_devices];
        if (add_device(bus, d, "servo", err) == 0) servo_bind(s);
    }
    for (int i = 0; i < bus->n_boards; i++) {
        struct board *b = &bus->boards[i];
        b->row = boards[i];
        b->row.name[NM_BUS_NAME - 1] = b->row.model[sizeof b->row.model - 1] = '\0';
        struct device d = {.model = model_of("board", b->row.name, b->row.model, b->row.protocol, err),
                           .name = b->row.name,
                           .id = b->row.id,
                           .wire = b->row.wire,
                           .servo = -1,
                           .board = (int16_t)i};
        b->device = &bus->devices[bus->n_devices];
        if (add_device(bus, d, "board", err) == 0) board_bind(b);
    }
}

struct nm_bus_driver *nm_bus_open(const struct nm_bus_settings *settings, const struct nm_bus_servo *servos,
                                  int n_servos, const struct nm_bus_board *boards, int n_boards, struct nm_bus_io io,
                                  struct nm_err *err)
{
    struct nm_err own = {0};
    if (settings->wires < 1 || settings->wires > NM_BUS_WIRES)
        nm_fail(&own, "servo bus: %d wires, there can be 1 to %d", settings->wires, NM_BUS_WIRES);
    for (int i = 0; i < settings->wires && i < NM_BUS_WIRES; i++)
        if (settings->baud[i] < 9600 || settings->baud[i] > 12000000)
            nm_fail(&own, "servo bus %d: %u baud is out of reach", i, settings->baud[i]);
    if (n_servos < 0 || n_servos > NM_BUS_SERVOS)
        nm_fail(&own, "servo bus: %d servos, at most %d", n_servos, NM_BUS_SERVOS);
    if (n_boards < 0 || n_boards > NM_BUS_BOARDS)
        nm_fail(&own, "servo bus: %d boards, at most %d", n_boards, NM_BUS_BOARDS);
    struct nm_bus_driver *bus = own.n ? NULL : calloc(1, sizeof *bus);
    if (bus) {
        bus->set = *settings;
        bus->io = io;
        bus->n_servos = n_servos;
        bus->n_boards = n_boards;
        bus->opened = bus->last = io.now(io.self);
        for (int i = 0; i < NM_BUS_WIRES; i++) {
            bus->wires[i].gone = true;
            bus->set.path[i][NM_BUS_NAME - 1] = '\0';
            nm_dxl_parser_init(&bus->wires[i].parser, 3, true);
            if (i >= settings->wires) continue;
            /* a router board hangs on full speed USB, whatever the baud rate behind it */
            bus->wires[i].byte_ns = settings->router[i] ? 1000 : 10000000000 / settings->baud[i];
        }
        take_tables(bus, servos, boards, &own);
    } else if (!own.n)
        nm_fail(&own, "servo bus: out of memory");
    if (!own.n) return bus;
    free(bus);
    nm_fail(err, "%.*s", (int)(own.used ? own.used - 1 : 0), own.text);
    return NULL;
}

void nm_bus_close(struct nm_bus_driver *bus) { free(bus); }

void nm_bus_set_power(struct nm_bus_driver *bus, enum nm_bus_power power)
{
    enum { OFF_REPEATS = 3 };
    if (bus->power == power) return;
    for (int i = 0; i < bus->n_servos; i++) bus->servos[i].off_cycles = power == NM_BUS_DRIVE ? 0 : OFF_REPEATS;
    bus->power = power;
}

void nm_bus_reboot(struct nm_bus_driver *bus, int servo)
{
    if (servo >= 0 && servo < bus->n_servos) bus->servos[servo].device->reboot = true;
}

static void sleep_devices(struct nm_bus_driver *bus, int wire)
{
    for (int i = 0; i < bus->n_devices; i++) {
        struct device *d = &bus->devices[i];
        if (d->wire != wire || !sleeps(bus, d)) continue;
        d->lost = false;
        d->silent = 0;
        if (d->servo >= 0) servo_found(&bus->servos[d->servo]);
    }
}

/* Servos behind a controller's power switch are not spoken to before it has been on for a while; after opening, not
 * before we know. A controller that does not answer holds nobody back. */
static void update_sleep(struct nm_bus_driver *bus)
{
    int64_t settle = nanoseconds(bus->set.power_settle);
    for (int i = 0; i < bus->n_boards; i++) {
        struct board *b = &bus->boards[i];
        struct wire *w = &bus->wires[b->device->wire];
        if (!b->dxl_power) continue;
        bool unknown = b->dxl_power_read < 0 && !b->power_since && !b->device->lost;
        if (bus->power == NM_BUS_CUT || b->dxl_power_read == 0 || (unknown && bus->now - bus->opened < settle))
            w->asleep = bus->now + 1;
        else if (b->power_since)
            w->asleep = b->power_since + settle;
        sleep_devices(bus, b->device->wire);
    }
}

static void control(struct nm_bus_driver *bus, const struct nm_bus_goals *goals)
{
    double dt = (double)(bus->now - bus->last) * 1e-9;
    if (dt > LONGEST_STEP) dt = LONGEST_STEP;
    for (int i = 0; i < bus->n_servos; i++) {
        struct servo *s = &bus->servos[i];
        const struct wire *w = &bus->wires[s->device->wire];
        if (!w->gone && !sleeps(bus, s->device)) servo_control(bus, s, goals, dt);
    }
}

/* All wires at once, until each is through or the time is over. */
static void talk(struct nm_bus_driver *bus)
{
    for (;;) {
        int64_t next = INT64_MAX;
        for (int i = 0; i < bus->set.wires; i++) {
            int64_t t = wire_progress(bus, i);
            if (t < next) next = t;
        }
        if (next == INT64_MAX || bus->io.now(bus->io.self) >= bus->deadline) return;
        bus->io.wait(bus->io.self, next < bus->deadline ? next : bus->deadline);
    }
}

static void fill_servo(const struct servo *s, struct nm_bus_servo_state *to, int64_t began)
{
    to->fresh = s->read_at >= began;
    if (s->read_at) {
        to->position = s->at;
        to->velocity = s->speed;
        to->effort = s->effort;
        to->stamp = s->read_at;
    }
    to->voltage = s->volts;
    to->temperature = s->celsius;
    to->phase = (uint8_t)s->phase;
    to->error = s->device->error;
    to->torque = s->phase >= NM_BUS_RAMP ? s->share : 0;
    to->goal = s->goal;
    to->answered = s->device->answered;
    to->missed = s->device->missed;
}

static void fill_states(struct nm_bus_driver *bus, struct nm_bus_states *states)
{
    states->voltage = NAN;
    for (int i = 0; i < bus->n_servos; i++) {
        fill_servo(&bus->servos[i], &states->servo[i], bus->now);
        if (!bus->servos[i].device->lost) states->voltage = fmin(states->voltage, bus->servos[i].volts);
    }
    for (int i = 0; i < bus->n_boards; i++) {
        struct board *b = &bus->boards[i];
        states->board[i] = b->state;
        states->board[i].answered = b->device->answered;
        states->board[i].missed = b->device->missed;
        b->state.fresh = false;
        if (!b->device->lost) states->voltage = fmin(states->voltage, b->state.voltage);
    }
    states->wire_time = 0;
    for (int i = 0; i < bus->set.wires; i++) {
        int64_t t = (int64_t)bus->wires[i].bytes * bus->wires[i].byte_ns;
        if (t > states->wire_time) states->wire_time = t;
    }
    states->duration = bus->io.now(bus->io.self) - bus->now;
}

static int count_unread(struct nm_bus_driver *bus)
{
    int n = 0;
    for (int i = 0; i < bus->set.wires; i++) {
        struct wire *w = &bus->wires[i];
        for (int k = 0; k < w->n_items; k++) w->items[k].device->unread = true;
        for (int k = 0; k < w->n_items; k++)
            if (w->items[k].done) w->items[k].device->unread = false;
    }
    for (int i = 0; i < bus->n_devices; i++) n += bus->devices[i].unread;
    return n;
}

void nm_bus_cycle(struct nm_bus_driver *bus, const struct nm_bus_goals *goals, struct nm_bus_states *states)
{
    bus->now = bus->io.now(bus->io.self);
    bus->deadline = bus->now + nanoseconds(bus->set.cycle_limit);
    bus->goal_stamp = goals->stamp;
    for (int i = 0; i < bus->n_devices; i++) {
        struct device *d = &bus->devices[i];
        d->missed_now = false;
        /* whether a silent cycle was this servo's fault or the wire's, the next ones tell */
        if (!bus->wires[d->wire].mute_cycles || bus->wires[d->wire].mute.on) d->blame = BLAME_NONE;
    }
    for (int i = 0; i < bus->set.wires; i++) wire_begin(bus, i);
    update_sleep(bus);
    control(bus, goals);
    for (int i = 0; i < bus->set.wires; i++) {
        plan_writes(&bus->wires[i]);
        plan_wire(bus, i, goals);
    }
    talk(bus);
    for (int i = 0; i < bus->set.wires; i++) wire_end(bus, i);
    states->unread = count_unread(bus);
    fill_states(bus, states);
    report_cycle(bus);
    if (bus->n_servos) bus->turn = (bus->turn + bus->set.checks) % bus->n_servos;
    bus->cycles++;
    bus->last = bus->now;
}
