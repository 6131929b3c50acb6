/* Faults, reported once when they begin and once when they are over (base/fault.h). */
#include "edge/bus/driver_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

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

void fault_absent(struct nm_bus_driver *bus, struct nm_fault *f, enum nm_bus_fault_kind kind, const struct device *d,
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
    /* a low supply is told for the whole bus */
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

/* While a whole wire is silent it is the wire's fault. */
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

/* One supply feeds all: one fault, told with the servo that noticed first. */
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

void report_cycle(struct nm_bus_driver *bus)
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
