/* Which packets a cycle holds. Reads of a wire become as few questions as the protocol allows: one BULK_READ in 1.0,
 * a SYNC_READ for what all servos are asked and a BULK_READ for the rest in 2.0, a combined read through a router
 * board. Devices that were left out come first, those that were silent last, where they block nobody. After them,
 * as far as time allows, single errands: lost devices, lights and power. */
#include "edge/bus/driver_internal.h"

#include <string.h>

enum {
    BULK_1 = 84 /* entries of a 1.0 BULK_READ */,
    ROUTER_ROOM = 240,
    ROUTER_OWN_IDS = 200,
    IDENTIFY_TRIES = 3,
    FIRST_LOOKS = 4,
    SETUP_TURNS = 4, /* every fourth check of a 2.0 servo looks at its gains and limits */
};

static struct item *add_item(struct wire *w, struct device *d, struct span span)
{
    if (w->n_items == BUS_ITEMS || !span.size) return NULL;
    struct item *item = &w->items[w->n_items++];
    *item = (struct item){.device = d, .span = span};
    return item;
}

static struct request *add_request(struct wire *w, enum request_kind kind, uint8_t protocol, int first, int n)
{
    if (w->n_requests == BUS_REQUESTS || !n) return NULL;
    struct request *r = &w->requests[w->n_requests++];
    *r = (struct request){.kind = kind, .protocol = protocol, .first = (uint16_t)first, .n = (uint16_t)n};
    return r;
}

static bool same(struct span a, struct span b) { return a.address == b.address && a.size == b.size; }

/* Writes: those of one stage with the same place share a SYNC_WRITE. */
void plan_writes(struct wire *w)
{
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < w->n_writes; i++) {
            struct write *first = &w->writes[i];
            if (first->taken || first->stage != stage) continue;
            uint8_t protocol = first->device->model->protocol;
            struct nm_dxl_block blocks[NM_BUS_SERVOS];
            size_t n = 0, most = protocol == 1 ? 251u / (first->span.size + 1u) : NM_BUS_SERVOS;
            for (int j = i; j < w->n_writes && n < most; j++) {
                struct write *o = &w->writes[j];
                if (o->taken || o->stage != stage || o->device->model->protocol != protocol) continue;
                if (!same(o->span, first->span)) continue;
                o->taken = true;
                blocks[n++] = (struct nm_dxl_block){o->device->id, o->span.address, o->span.size, o->data};
            }
            w->tx_n += nm_dxl_sync_write(protocol, blocks, n, w->tx + w->tx_n, sizeof w->tx - w->tx_n);
        }
    w->n_writes = 0;
}

static bool listens(const struct nm_bus_driver *bus, const struct device *d) { return !d->lost && !sleeps(bus, d); }

/* A router board leaves out of its answer whom it never heard: everyone is asked by name once. */
static bool readable(const struct nm_bus_driver *bus, const struct device *d)
{
    return listens(bus, d) && (!bus->set.router[d->wire] || d->servo < 0 || d->answered);
}

/* 2.0: its place is known; only the word of its torque switch is missing, and time is short. */
static bool being_looked_at(const struct servo *s)
{
    return s->check && ((s->phase == NM_BUS_FOUND && s->confirmed) || s->phase == NM_BUS_ARMING);
}

/* What a servo is asked: its state always; on its turn, or when it must be looked at, also its torque switch. */
static void add_servo(struct wire *w, struct servo *s, bool turn)
{
    if (s->device->model->protocol == 1)
        add_item(w, s->device, turn || s->check ? s->verify : s->fast);
    else if (!being_looked_at(s))
        add_item(w, s->device, turn ? s->slow : s->fast);
}

/* 2.0 keeps these far from the state: separate questions. */
static void add_checks(struct wire *w, struct servo *s, bool turn)
{
    if (s->device->model->protocol == 1) return;
    if (s->check)
        add_item(w, s->device, s->phase == NM_BUS_FOUND && s->verified ? s->goal_span : s->verify);
    else if (turn)
        add_item(w, s->device, s->turns++ % SETUP_TURNS ? s->verify : s->setup);
}

/* First those left out last time, then the others, then those that did not answer, at the end whom we suspect. */
static int rank(const struct wire *w, const struct device *d)
{
    if (d->silent) return w->disturber == d ? 3 : 2;
    return d->unread ? 0 : 1;
}

static void add_reads(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < bus->n_boards; i++) {
            struct device *d = bus->boards[i].device;
            if (d->wire == wire && rank(w, d) == r && listens(bus, d)) add_item(w, d, bus->boards[i].block);
        }
        for (int i = 0; i < bus->n_servos; i++) {
            struct servo *s = &bus->servos[i];
            int back = (i - bus->turn + bus->n_servos) % bus->n_servos;
            if (s->device->wire == wire && rank(w, s->device) == r && readable(bus, s->device))
                add_servo(w, s, back < bus->set.checks);
        }
    }
    /* another one than whose state is asked at length: an id may stand only once in a question */
    for (int i = 0; i < bus->n_servos; i++) {
        struct servo *s = &bus->servos[i];
        int back = (i - bus->turn + bus->n_servos + bus->n_servos / 2) % bus->n_servos;
        if (s->device->wire == wire && readable(bus, s->device)) add_checks(w, s, back < bus->set.checks);
    }
}

static bool already_in(const struct wire *w, int first, int n, const struct device *d)
{
    for (int i = first; i < first + n; i++)
        if (w->items[i].device == d) return true;
    return false;
}

enum way { BY_BULK, BY_SYNC, BY_ROUTER, BY_READ };

static enum way way_of(const struct nm_bus_driver *bus, const struct item *i)
{
    const struct device *d = i->device;
    if (bus->set.router[d->wire]) return d->id < ROUTER_OWN_IDS ? BY_ROUTER : BY_READ;
    if (d->model->protocol == 2 && d->servo >= 0 && same(i->span, bus->servos[d->servo].fast)) return BY_SYNC;
    return d->model->bulk ? BY_BULK : BY_READ;
}

/* Takes from `from` on all items that can travel with the first one, moves them together and makes the request.
 * Returns where the next one starts. */
static int gather(struct nm_bus_driver *bus, struct wire *w, int from, int end)
{
    static const enum request_kind kinds[] = {ASK_BULK, ASK_SYNC, ASK_ROUTER, ASK_READ};
    struct item first = w->items[from];
    enum way way = way_of(bus, &first);
    uint8_t protocol = first.device->model->protocol;
    int n = 1, most = way == BY_READ ? 1 : way == BY_ROUTER ? ROUTER_ROOM / (first.span.size + 1) : BULK_1;
    for (int i = from + 1; i < end && n < most; i++) {
        struct item o = w->items[i];
        if (way_of(bus, &o) != way || o.device->model->protocol != protocol) continue;
        if (way != BY_BULK && !same(o.span, first.span)) continue;
        if (already_in(w, from, n, o.device)) continue;
        /* keep the order of what is jumped over */
        memmove(&w->items[from + n + 1], &w->items[from + n], (size_t)(i - from - n) * sizeof w->items[0]);
        w->items[from + n++] = o;
    }
    add_request(w, kinds[way], protocol, from, n);
    return from + n;
}

static void add_single(struct wire *w, enum request_kind kind, struct device *d, struct span span, uint32_t data,
                       bool probe)
{
    int first = w->n_items;
    if (w->n_requests == BUS_REQUESTS || !add_item(w, d, span)) return;
    struct request *r = add_request(w, kind, d->model->protocol, first, 1);
    r->probe = probe;
    nm_dxl_put(r->data, data, 4);
}

static struct span of_register(const struct nm_dxl_register *r) { return (struct span){r->address, r->size}; }

static void board_errands(struct nm_bus_driver *bus, struct wire *w, struct board *b, const struct nm_bus_goals *goals)
{
    if (b->device->lost) return;
    bool want = bus->power != NM_BUS_CUT;
    if (b->dxl_power && b->dxl_power_read >= 0 && want != (b->dxl_power_read > 0))
        add_single(w, ASK_WRITE, b->device, of_register(b->dxl_power), want, false);
    uint32_t row = (uint32_t)(b - bus->boards);
    for (int i = 0; i < 3; i++) {
        uint32_t wanted = goals->led[row][i];
        if (!b->led[i] || (b->led_known[i] ? b->led_sent[i] == wanted : !wanted)) continue;
        add_single(w, ASK_WRITE, b->device, of_register(b->led[i]), wanted, false);
    }
}

/* The start of the control table: model number to return delay. */
static struct span identity(const struct device *d)
{
    return (struct span){0, (uint16_t)(d->return_delay->address + 1)};
}

static void device_errands(struct nm_bus_driver *bus, struct wire *w, struct device *d)
{
    struct servo *s = d->servo >= 0 ? &bus->servos[d->servo] : NULL;
    if (sleeps(bus, d)) return;
    /* on a wire where nobody answers there is nothing else to do */
    if (d->lost && (bus->now >= d->probe_at || (s && w->mute.on && w->disturber != d))) {
        add_single(w, ASK_READ, d, s ? s->fast : bus->boards[d->board].block, 0, true);
        return;
    }
    if (d->lost || d->silent) return;
    if (d->reboot) add_single(w, ASK_REBOOT, d, (struct span){0, 1}, 0, true);
}

/* A few at a time, and before all else: with the maker's return delay nothing fits into a cycle. */
static void first_looks(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    for (int i = 0, left = FIRST_LOOKS; i < bus->n_devices && left; i++) {
        struct device *d = &bus->devices[i];
        struct servo *s = d->servo >= 0 ? &bus->servos[d->servo] : NULL;
        if (d->wire != wire || !listens(bus, d) || d->silent) continue;
        bool unknown = !d->identified && d->identify_tries < IDENTIFY_TRIES;
        /* kept without power, and refused by 2.0 while torque is on */
        bool slow = d->delay_wrong && (!s || s->phase == NM_BUS_LIMP || s->phase == NM_BUS_FOUND);
        if (unknown)
            add_single(w, ASK_READ, d, identity(d), 0, true), left--;
        else if (slow)
            add_single(w, ASK_WRITE, d, of_register(d->return_delay), 0, true), left--;
    }
}

void plan_wire(struct nm_bus_driver *bus, int wire, const struct nm_bus_goals *goals)
{
    struct wire *w = &bus->wires[wire];
    w->n_items = w->n_requests = 0;
    first_looks(bus, wire);
    int at = w->n_items;
    add_reads(bus, wire);
    for (int end = w->n_items; at < end;) at = gather(bus, w, at, end);
    for (int i = 0; i < bus->n_boards; i++)
        if (bus->boards[i].device->wire == wire) board_errands(bus, w, &bus->boards[i], goals);
    for (int i = 0; i < bus->n_devices; i++) {
        struct device *d = &bus->devices[(bus->cycles + (uint32_t)i) % (uint32_t)bus->n_devices];
        if (d->wire == wire) device_errands(bus, w, d);
    }
}
