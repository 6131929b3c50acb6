/* The driver's tables, its cycle (control, plan, talk on all wires at the same time, report), and its fault reports. */
#include "edge/bus/driver.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/registry.h"
#include "edge/bus/driver_inside.h"

static void post(struct nm_bus_driver *bus, enum nm_bus_fault_kind kind, bool begins, const struct device *d,
                 const char *format, va_list args)
{
    if (bus->event_n == BUS_EVENTS) {
        bus->event_at = (bus->event_at + 1) % BUS_EVENTS;
        bus->event_n--;
    }
    struct nm_bus_event *e = &bus->events[(bus->event_at + bus->event_n++) % BUS_EVENTS];
    *e = (struct nm_bus_event){
        .time = bus->now, .kind = kind, .begins = begins, .servo = d ? d->servo : -1, .board = d ? d->board : -1};
    int used = d ? snprintf(e->text, sizeof e->text, "%s (id %d, bus %d): ", d->name, d->id, d->wire) : 0;
    vsnprintf(e->text + used, sizeof e->text - (size_t)used, format, args);
}

void fault_seen(struct nm_bus_driver *bus, struct nm_fault *f, enum nm_bus_fault_kind kind, const struct device *d,
                const char *format, ...)
{
    if (nm_fault_seen(f, bus->now, nanoseconds(bus->set.calm)) != NM_FAULT_BEGINS) return;
    va_list args;
    va_start(args, format);
    post(bus, kind, true, d, format, args);
    va_end(args);
}

/* Call it while the fault is absent; after the time `calm` it reports the end. */
__attribute__((format(printf, 5, 6))) static void fault_absent(struct nm_bus_driver *bus, struct nm_fault *f,
                                                               enum nm_bus_fault_kind kind, const struct device *d,
                                                               const char *format, ...)
{
    if (nm_fault_absent(f, bus->now) != NM_FAULT_OVER) return;
    va_list args;
    va_start(args, format);
    post(bus, kind, false, d, format, args);
    va_end(args);
}

static double lasted(const struct nm_fault *f) { return (double)(f->seen - f->since) * 1e-9; }

static const char *hardware_text(const struct servo *s, char *text, size_t room)
{
    static const char *const bits[8] = {
        "input voltage", "", "overheating", "encoder", "electrical shock", "overload", "", ""};
    size_t used = 0;
    text[0] = '\0';
    if (s->device->model->protocol == 1)
        return nm_dxl_error_text(1, s->device->error & (NM_DXL_OVERHEATING | NM_DXL_OVERLOAD), text, room);
    for (unsigned i = 1; i < 8; i++)
        if (s->hardware >> i & 1 && used < room) {
            int n = snprintf(text + used, room - used, "%s%s", used ? ", " : "", bits[i]);
            used += n > 0 ? (size_t)n : 0;
        }
    return text;
}

static void report_servo(struct nm_bus_driver *bus, struct servo *s)
{
    struct device *d = s->device;
    struct nm_fault *hardware = &d->faults[NM_BUS_FAULT_HARDWARE], *hot = &d->faults[NM_BUS_FAULT_HOT],
                    *reset = &d->faults[NM_BUS_FAULT_RESET];
    char text[96];
    if (d->lost) return;
    /* a low supply is reported once for the whole bus */
    bool bad = d->model->protocol == 1 ? d->error & (NM_DXL_OVERHEATING | NM_DXL_OVERLOAD) : s->hardware & 0xFE;
    if (bad)
        fault_seen(bus, hardware, NM_BUS_FAULT_HARDWARE, d, "%s", hardware_text(s, text, sizeof text));
    else
        fault_absent(bus, hardware, NM_BUS_FAULT_HARDWARE, d, "fine again after %.2f s", lasted(hardware));
    if (bus->set.hot > 0 && s->celsius > bus->set.hot)
        fault_seen(bus, hot, NM_BUS_FAULT_HOT, d, "%.0f degrees, too hot", s->celsius);
    else if (s->celsius < bus->set.hot - 3)
        fault_absent(bus, hot, NM_BUS_FAULT_HOT, d, "cooled down to %.0f degrees", s->celsius);
    if (s->phase == NM_BUS_ON || bus->power != NM_BUS_DRIVE)
        fault_absent(bus, reset, NM_BUS_FAULT_RESET, d, "has its torque again");
}

/* While a whole wire is silent, the wire is at fault and not the device. */
static void report_device(struct nm_bus_driver *bus, struct device *d)
{
    static const char *const words[] = {"no answer", "no answer", "damaged answers", "late answers"};
    struct nm_fault *answers = &d->faults[NM_BUS_FAULT_ANSWERS];
    const struct wire *w = &bus->wires[d->wire];
    if (w->gone || (d->servo >= 0 && (w->mute.on || w->mute_cycles))) return;
    if (d->blame || d->lost)
        fault_seen(bus, answers, NM_BUS_FAULT_ANSWERS, d, "%s", words[d->blame]);
    else if (!d->silent)
        fault_absent(bus, answers, NM_BUS_FAULT_ANSWERS, d, "answers again after %.2f s", lasted(answers));
}

/* One supply feeds all devices, so this is one fault, reported with the servo that noticed it first. */
static void report_voltage(struct nm_bus_driver *bus)
{
    const struct servo *low = NULL;
    for (int i = 0; i < bus->n_servos; i++) {
        const struct servo *s = &bus->servos[i];
        if (s->device->lost || bus->wires[s->device->wire].gone) continue;
        bool says = s->device->model->protocol == 1 && s->device->error & NM_DXL_VOLTAGE;
        bool below = bus->set.low_voltage > 0 && s->volts < bus->set.low_voltage;
        if ((says || below) && !low) low = s;
    }
    if (low && isfinite(low->volts))
        fault_seen(bus, &bus->voltage, NM_BUS_FAULT_VOLTAGE, low->device, "supply voltage out of range, %.1f V",
                   low->volts);
    else if (low)
        fault_seen(bus, &bus->voltage, NM_BUS_FAULT_VOLTAGE, low->device, "supply voltage out of range");
    else
        fault_absent(bus, &bus->voltage, NM_BUS_FAULT_VOLTAGE, NULL, "supply voltage fine again after %.2f s",
                     lasted(&bus->voltage));
}

static const char *devices_of(const struct nm_bus_driver *bus, int wire, char *text, size_t room)
{
    const char *first = "", *last = "";
    int n = 0;
    for (int i = 0; i < bus->n_devices; i++) {
        if (bus->devices[i].wire != wire) continue;
        if (!n++) first = bus->devices[i].name;
        last = bus->devices[i].name;
    }
    snprintf(text, room, "%d devices from %s to %s", n, first, last);
    return text;
}

static void report_wire(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    char text[96];
    if (!w->servos_answered && (w->mute.on || w->mute_cycles >= bus->set.lost_after))
        fault_seen(bus, &w->mute, NM_BUS_FAULT_MUTE, NULL, "bus %d %s: no servo answers, %s", wire, bus->set.path[wire],
                   devices_of(bus, wire, text, sizeof text));
    else if (w->servos_answered)
        fault_absent(bus, &w->mute, NM_BUS_FAULT_MUTE, NULL, "bus %d %s: servos answer again after %.2f s", wire,
                     bus->set.path[wire], lasted(&w->mute));
    if (!w->gone) {
        fault_absent(bus, &w->unplugged, NM_BUS_FAULT_UNPLUGGED, NULL, "bus %d %s: plugged in again after %.2f s, %s",
                     wire, bus->set.path[wire], lasted(&w->unplugged), devices_of(bus, wire, text, sizeof text));
        return;
    }
    fault_seen(bus, &w->unplugged, NM_BUS_FAULT_UNPLUGGED, NULL, "bus %d %s: unplugged, %s", wire, bus->set.path[wire],
               devices_of(bus, wire, text, sizeof text));
}

static void report_goals(struct nm_bus_driver *bus)
{
    bool damped = false;
    for (int i = 0; i < bus->n_servos; i++) damped |= bus->servos[i].phase == NM_BUS_DAMPED;
    if (damped)
        fault_seen(bus, &bus->goals, NM_BUS_FAULT_GOALS, NULL, "no new goals for %.2f s: joints are damped",
                   bus->goal_stamp ? (double)(bus->now - bus->goal_stamp) * 1e-9 : 0.0);
    else
        fault_absent(bus, &bus->goals, NM_BUS_FAULT_GOALS, NULL, "goals come again after %.2f s", lasted(&bus->goals));
}

static void report_power(struct nm_bus_driver *bus)
{
    for (int i = 0; i < bus->n_boards; i++) {
        const struct board *b = &bus->boards[i];
        if (!b->dxl_power || bus->power == NM_BUS_CUT || b->dxl_power_read < 0) continue;
        if (!b->dxl_power_read && b->power_since)
            fault_seen(bus, &bus->supply, NM_BUS_FAULT_POWER, b->device, "motor power went off");
        else if (b->dxl_power_read)
            fault_absent(bus, &bus->supply, NM_BUS_FAULT_POWER, b->device, "motor power is on again");
    }
}

static void report_cycle(struct nm_bus_driver *bus)
{
    for (int i = 0; i < bus->set.wires; i++) report_wire(bus, i);
    for (int i = 0; i < bus->n_devices; i++) report_device(bus, &bus->devices[i]);
    for (int i = 0; i < bus->n_servos; i++) report_servo(bus, &bus->servos[i]);
    report_voltage(bus);
    report_goals(bus);
    report_power(bus);
}

bool nm_bus_next_event(struct nm_bus_driver *bus, struct nm_bus_event *event)
{
    if (!bus->event_n) return false;
    *event = bus->events[bus->event_at];
    bus->event_at = (bus->event_at + 1) % BUS_EVENTS;
    bus->event_n--;
    return true;
}

/* ---- tables ---- */

#define LONGEST_STEP 0.1 /* s, a longer pause between cycles counts as this much */

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
    nm_fail(err, "%s %s: there is no known device '%s' with protocol %d%s", what, name, model, protocol,
            nm_hint(model, names, (uint32_t)(n < 64 ? n : 64)).text);
    return NULL;
}

/* Checks a row of the tables; the caller collects all faults. */
static int add_device(struct nm_bus_driver *bus, struct device d, const char *what, struct nm_err *err)
{
    if (!d.model) return -1;
    if ((d.servo >= 0) != (d.model->kind == NM_DXL_SERVO))
        return nm_fail(err, "%s %s: a %s is not a %s", what, d.name, d.model->name, what);
    if (d.wire >= bus->set.wires) return nm_fail(err, "%s %s: there is no bus %d", what, d.name, d.wire);
    if (d.id > 253) return nm_fail(err, "%s %s: id %d is too large; at most 253 is allowed", what, d.name, d.id);
    for (int i = 0; i < bus->n_devices; i++)
        if (bus->devices[i].wire == d.wire && bus->devices[i].id == d.id)
            return nm_fail(err, "%s %s: id %d on bus %d is already used by %s", what, d.name, d.id, d.wire,
                           bus->devices[i].name);
    d.return_delay = nm_dxl_register(d.model, "return_delay");
    d.identified = !d.model->number || !d.return_delay; /* there is nothing to read */
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
            nm_fail(&own, "servo bus %d: %u baud is not possible", i, settings->baud[i]);
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
            /* a router board is on full speed USB, whatever the baud rate of its buses */
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

/* Nothing is sent to servos behind a controller's power switch until the switch has been on for a while, and after
 * opening until its state is known. A controller that does not answer delays nobody. */
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

/* Talks on all wires at the same time, until each is done or the time is over. */
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
        /* the next cycles show whether this servo or the whole wire was silent */
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
