/* The talk on one wire: which packets a cycle holds, who answers, and what happens when an answer is missing.
 *
 * The reads of a wire become as few questions as the protocol allows: one BULK_READ in 1.0; in 2.0 a SYNC_READ for what
 * all servos are asked and a BULK_READ for the rest; a combined read through a router board. Devices that were left out
 * come first, devices that were silent come last, where they block nobody. After that, if there is time, come single
 * requests: lost devices, lights and power.
 *
 * A question names the devices that will answer, in that order. An answer that does not come is skipped when a later
 * one arrives or when its time is over. Then the rest is asked again, because a silent device blocks the devices after
 * it. Nothing is started that cannot end before the cycle does. */
#include <string.h>

#include "edge/bus/driver_inside.h"

/* ---- which devices answer ---- */

enum { DISTURBED_NS = 25000000 /* a late answer disturbs at most the next cycle or two */ };

static void lose(struct nm_bus_driver *bus, struct device *d)
{
    if (d->lost) return;
    d->lost = true;
    d->probe_wait = nanoseconds(bus->set.probe_first);
    d->probe_at = bus->now + d->probe_wait;
    if (d->servo >= 0) servo_lost(&bus->servos[d->servo]);
}

/* The device that fails first is blamed. A device that fails soon after it is not: it may have been disturbed by a late
 * answer or blocked. A device that disturbs two others counts as lost at once. Returns false if this device is not
 * blamed. */
static bool contact_disturbed(struct nm_bus_driver *bus, struct wire *w, struct device *d)
{
    int64_t now = bus->io.now(bus->io.self);
    bool other = w->disturber && w->disturber != d && now - w->disturbed_at < DISTURBED_NS;
    if (other) {
        if (++w->disturbed >= 2) lose(bus, w->disturber);
        return false;
    }
    if (w->disturber != d || now - w->disturbed_at >= DISTURBED_NS) w->disturbed = 0;
    w->disturber = d;
    w->disturbed_at = now;
    return true;
}

static void contact_missed(struct nm_bus_driver *bus, struct wire *w, const struct request *r, struct item *item,
                           enum blame blame)
{
    struct device *d = item->device;
    item->done = item->missed = true;
    if (r->probe) {
        d->probe_wait = d->probe_wait ? 2 * d->probe_wait : nanoseconds(bus->set.probe_first);
        if (d->probe_wait > nanoseconds(bus->set.probe_longest)) d->probe_wait = nanoseconds(bus->set.probe_longest);
        d->probe_at = bus->now + d->probe_wait;
        contact_disturbed(bus, w, d);
        if (r->kind == ASK_REBOOT)
            d->reboot = false;
        else if (!d->lost && ++d->identify_tries >= bus->set.lost_after && !d->answered)
            lose(bus, d);
        return;
    }
    d->missed++;
    d->silent++;
    d->missed_now = true;
    /* the servo may have been reset, so it gets no goals until its torque switch was read */
    if (d->servo >= 0) {
        bus->servos[d->servo].check = true;
        bus->servos[d->servo].verified = false;
    }
    bool own = contact_disturbed(bus, w, d);
    if (own) d->blame = blame;
    if (d->silent >= bus->set.lost_after * (own ? 1 : 2)) lose(bus, d);
}

/* A device is back, so the devices that were lost together with it may be back, too. */
static void found(struct nm_bus_driver *bus, struct device *d)
{
    d->lost = false;
    d->probe_wait = 0;
    if (d->servo >= 0) servo_found(&bus->servos[d->servo]);
    for (int i = 0; i < bus->n_devices; i++)
        if (bus->devices[i].wire == d->wire && bus->devices[i].lost) bus->devices[i].probe_at = bus->now;
}

static void identified(struct nm_bus_driver *bus, struct device *d, struct span span, const uint8_t *data)
{
    const struct nm_dxl_register *delay = d->return_delay;
    uint16_t number = (uint16_t)nm_dxl_get(data, 2);
    const struct nm_dxl_model *is = nm_dxl_model_by_number(number, d->model->protocol);
    d->identified = true;
    d->delay_wrong = span_covers(span, delay) && data[delay->address] != 0;
    if (number != d->model->number)
        fault_seen(bus, &d->faults[NM_BUS_FAULT_MODEL], NM_BUS_FAULT_MODEL, d, "is a %s (model %u), the table says %s",
                   is ? is->name : "stranger", number, d->model->name);
}

static void acknowledged(struct nm_bus_driver *bus, const struct request *r, const struct item *item)
{
    struct device *d = item->device;
    if (r->kind == ASK_REBOOT) {
        d->reboot = false;
        if (d->servo >= 0) {
            servo_found(&bus->servos[d->servo]);
            bus->servos[d->servo].hardware = 0;
            bus->servos[d->servo].arm_again = 0;
        }
    }
    if (d->board < 0) {
        d->delay_wrong = false; /* this is the only single write to a servo */
        return;
    }
    struct board *b = &bus->boards[d->board];
    uint32_t value = nm_dxl_get(r->data, 4);
    if (b->dxl_power && b->dxl_power->address == item->span.address) {
        b->dxl_power_read = -1;
        if (value) b->power_since = bus->now;
    }
    for (int i = 0; i < 3; i++)
        if (b->led[i] && b->led[i]->address == item->span.address) b->led_sent[i] = value, b->led_known[i] = true;
}

/* Uses the data of an answer without counting it as an answer of the device. */
static void contact_data(struct nm_bus_driver *bus, const struct request *r, const struct item *item,
                         const uint8_t *data)
{
    struct device *d = item->device;
    if (r->kind == ASK_WRITE || r->kind == ASK_REBOOT)
        acknowledged(bus, r, item);
    else if (r->probe && item->span.address == 0)
        identified(bus, d, item->span, data);
    else if (d->servo >= 0)
        servo_read(bus, &bus->servos[d->servo], item->span, data);
    else
        board_read(bus, &bus->boards[d->board], item->span, data);
}

static void contact_answered(struct nm_bus_driver *bus, const struct request *r, struct item *item, uint8_t error,
                             const uint8_t *data)
{
    struct device *d = item->device;
    item->done = true;
    bool news = error & ~d->error & (NM_DXL_OVERLOAD | NM_DXL_OVERHEATING) && d->model->protocol == 1;
    if (d->servo >= 0 && news) bus->servos[d->servo].check = true; /* has it shut itself off? */
    d->error = error;
    d->answered++;
    d->silent = 0;
    if (d->servo >= 0) bus->wires[d->wire].servos_answered++;
    if (d->lost) found(bus, d);
    bool refused = error & (d->model->protocol == 2 ? 0x7F : NM_DXL_RANGE | NM_DXL_INSTRUCTION);
    if (r->kind != ASK_WRITE || !refused) contact_data(bus, r, item, data);
    /* 2.0: an error is latched, so read it */
    if (d->servo >= 0 && d->model->protocol == 2 && error & NM_DXL_ALERT && !bus->servos[d->servo].hardware)
        bus->servos[d->servo].check = true;
}

/* ---- the packets of a cycle ---- */

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

/* Writes of one stage to the same registers share a SYNC_WRITE. */
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

/* A router board leaves out devices that it has never heard, so each device is first asked alone. */
static bool readable(const struct nm_bus_driver *bus, const struct device *d)
{
    return listens(bus, d) && (!bus->set.router[d->wire] || d->servo < 0 || d->answered);
}

/* 2.0: the position is known and time is short; only the state of the torque switch is missing. */
static bool being_looked_at(const struct servo *s)
{
    return s->check && ((s->phase == NM_BUS_FOUND && s->confirmed) || s->phase == NM_BUS_ARMING);
}

/* What is read from a servo: always its state; on its turn, or when it must be checked, also its torque switch. */
static void add_servo(struct wire *w, struct servo *s, bool turn)
{
    if (s->device->model->protocol == 1)
        add_item(w, s->device, turn || s->check ? s->verify : s->fast);
    else if (!being_looked_at(s))
        add_item(w, s->device, turn ? s->slow : s->fast);
}

/* In 2.0 these registers are far from the state, so they need separate questions. */
static void add_checks(struct wire *w, struct servo *s, bool turn)
{
    if (s->device->model->protocol == 1) return;
    if (s->check)
        add_item(w, s->device, s->phase == NM_BUS_FOUND && s->verified ? s->goal_span : s->verify);
    else if (turn)
        add_item(w, s->device, s->turns++ % SETUP_TURNS ? s->verify : s->setup);
}

/* First the devices left out last time, then the others, then those that did not answer, last those under suspicion. */
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
    /* not the servo whose state is read at length, because an id may appear only once in a question */
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

/* Collects the items from `from` on that fit into one request with the first one, and makes that request. Returns where
 * the next one starts. */
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
        /* keep the order of the items that are skipped */
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
    /* on a wire where no device answers there is nothing else to do */
    if (d->lost && (bus->now >= d->probe_at || (s && w->mute.on && w->disturber != d))) {
        add_single(w, ASK_READ, d, s ? s->fast : bus->boards[d->board].block, 0, true);
        return;
    }
    if (d->lost || d->silent) return;
    if (d->reboot) add_single(w, ASK_REBOOT, d, (struct span){0, 1}, 0, true);
}

/* A few at a time, and before everything else: with the maker's return delay a cycle would be too short. */
static void first_looks(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    for (int i = 0, left = FIRST_LOOKS; i < bus->n_devices && left; i++) {
        struct device *d = &bus->devices[i];
        struct servo *s = d->servo >= 0 ? &bus->servos[d->servo] : NULL;
        if (d->wire != wire || !listens(bus, d) || d->silent) continue;
        bool unknown = !d->identified && d->identify_tries < IDENTIFY_TRIES;
        /* this register is kept without power, and 2.0 refuses the write while torque is on */
        bool slow = d->delay_wrong && (!s || s->phase == NM_BUS_LIMP || s->phase == NM_BUS_FOUND);
        if (!unknown && !slow) continue;
        left--;
        if (unknown)
            add_single(w, ASK_READ, d, identity(d), 0, true);
        else
            add_single(w, ASK_WRITE, d, of_register(d->return_delay), 0, true);
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

/* ---- questions and answers ---- */

enum {
    GAP_NS = 60000 /* planned between two answers */,
    GAP_MOST_NS = 1000000,
    QUIET_NS = 200000,
    LONGEST_DELAY_NS = 508000 /* return delay register at 254 */,
    ROUTER_PATIENCE_NS = 1300000 /* two time-outs of the board */
};

/* Behind a router board the question and the answer of a servo pass on one of three slower buses. */
static int64_t lane_ns(const struct nm_bus_driver *bus, const struct item *i)
{
    return (14 + i->span.size) * (10000000000 / bus->set.baud[i->device->wire]) + GAP_NS;
}

/* The time that the bytes of an answer need on the wire. */
static int64_t bytes_ns(const struct wire *w, const struct request *r, const struct item *i)
{
    size_t n = r->kind == ASK_WRITE || r->kind == ASK_REBOOT ? 0 : i->span.size;
    return (int64_t)(r->kind == ASK_ROUTER ? n + 1 : nm_dxl_status_size(r->protocol, n)) * w->byte_ns;
}

/* The expected time from one answer to the next. A device that is not yet identified may have the longest return delay.
 */
static int64_t answer_ns(const struct nm_bus_driver *bus, const struct wire *w, const struct request *r,
                         const struct item *i)
{
    bool prompt = i->device->identified && !i->device->delay_wrong;
    int64_t pause = r->kind == ASK_ROUTER ? lane_ns(bus, i) / 2 : GAP_NS + w->gap;
    return bytes_ns(w, r, i) + pause + (prompt ? 0 : LONGEST_DELAY_NS);
}

static int64_t patience(const struct nm_bus_driver *bus, const struct wire *w, const struct request *r,
                        const struct item *i)
{
    int64_t wait = nanoseconds(bus->set.answer_timeout) + answer_ns(bus, w, r, i);
    if (!bus->set.router[i->device->wire]) return wait;
    return wait + (r->kind == ASK_ROUTER ? r->n : 1) * lane_ns(bus, i) + ROUTER_PATIENCE_NS;
}

static size_t build(const struct wire *w, const struct request *r, int from, int n, uint8_t *out, size_t room)
{
    struct nm_dxl_block blocks[BUS_DEVICES * 2];
    const struct item *items = &w->items[r->first + from];
    if (n > (int)(sizeof blocks / sizeof *blocks)) n = sizeof blocks / sizeof *blocks;
    for (int i = 0; i < n; i++)
        blocks[i] = (struct nm_dxl_block){items[i].device->id, items[i].span.address, items[i].span.size, r->data};
    switch (r->kind) {
    case ASK_BULK: return nm_dxl_bulk_read(r->protocol, blocks, (size_t)n, out, room);
    case ASK_SYNC:
    case ASK_ROUTER: return nm_dxl_sync_read(r->protocol, blocks, (size_t)n, out, room);
    case ASK_READ: return nm_dxl_read(r->protocol, blocks[0].id, blocks[0].address, blocks[0].size, out, room);
    case ASK_WRITE: return nm_dxl_write(r->protocol, blocks[0], out, room);
    case ASK_REBOOT: return nm_dxl_reboot(r->protocol, blocks[0].id, out, room);
    }
    return 0;
}

static void unplugged(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    w->gone = true;
    w->waiting = false;
    w->tx_n = w->tx_at = 0;
    w->request = w->n_requests;
    w->open_at = bus->now + nanoseconds(bus->set.probe_first);
    for (int i = 0; i < bus->n_devices; i++) {
        struct device *d = &bus->devices[i];
        if (d->wire != wire) continue;
        d->silent = 0;
        d->lost = false;
        if (d->servo >= 0) servo_lost(&bus->servos[d->servo]);
    }
}

static void plugged_in(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    w->gone = false;
    w->host_end = w->quiet_at = 0;
    nm_dxl_parser_clear(&w->parser);
    for (int i = 0; i < bus->n_devices; i++) {
        struct device *d = &bus->devices[i];
        if (d->wire != wire) continue;
        if (d->servo >= 0) servo_found(&bus->servos[d->servo]);
        if (d->board >= 0) memset(bus->boards[d->board].led_known, 0, sizeof bus->boards[d->board].led_known);
    }
}

/* Opens a closed wire, and drops bytes that arrived between two cycles. */
void wire_begin(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    uint8_t stale[512];
    int n;
    w->bytes = 0;
    w->waiting = false;
    w->request = w->done = 0;
    w->tx_n = w->tx_at = 0;
    w->n_writes = w->n_requests = w->n_items = 0;
    w->servos_asked = w->servos_answered = 0;
    if (w->gone && bus->now >= w->open_at) {
        if (bus->io.open(bus->io.self, wire) == 0)
            plugged_in(bus, wire);
        else
            w->open_at = bus->now + nanoseconds(bus->set.probe_first);
    }
    if (w->gone) return;
    for (int guard = 0; guard < 16 && (n = bus->io.read(bus->io.self, wire, stale, sizeof stale)) != 0; guard++)
        if (n < 0) {
            unplugged(bus, wire);
            return;
        }
    nm_dxl_parser_clear(&w->parser);
}

/* Sends the bytes that wait. False if the port takes no more now, or is gone. */
static bool flush(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    while (w->tx_at < w->tx_n) {
        int n = bus->io.write(bus->io.self, wire, w->tx + w->tx_at, w->tx_n - w->tx_at);
        if (n < 0) unplugged(bus, wire);
        if (n <= 0) return false;
        int64_t now = bus->io.now(bus->io.self);
        w->host_end = (w->host_end > now ? w->host_end : now) + n * w->byte_ns;
        w->bytes += (uint64_t)n;
        w->tx_at += (size_t)n;
    }
    w->tx_n = w->tx_at = 0;
    return true;
}

/* The number of remaining items that can answer before the cycle ends. */
static int fitting(const struct nm_bus_driver *bus, const struct wire *w, const struct request *r, int from,
                   int64_t now)
{
    uint8_t scratch[NM_DXL_PACKET_MAX];
    size_t head = build(w, r, from, 1, scratch, sizeof scratch);
    int64_t entry = r->kind == ASK_BULK ? (r->protocol == 1 ? 3 : 5) : 1;
    int64_t at = (w->host_end > now ? w->host_end : now) + (int64_t)(head + w->tx_n) * w->byte_ns;
    int n = 0;
    while (from + n < r->n) {
        at += answer_ns(bus, w, r, &w->items[r->first + from + n]) + (n ? entry * w->byte_ns : 0);
        if (at > bus->deadline) break;
        n++;
    }
    return n;
}

/* A device that has just missed an answer, or is lost, is not asked again in this cycle. */
static void strike_out(struct wire *w, struct request *r, int from)
{
    int to = from;
    for (int i = from; i < r->n; i++)
        if (!w->items[r->first + i].device->missed_now && !w->items[r->first + i].device->lost) {
            struct item item = w->items[r->first + i];
            w->items[r->first + i] = w->items[r->first + to];
            w->items[r->first + to++] = item;
        }
    for (int i = to; i < r->n; i++) w->items[r->first + i].done = true;
    r->n = (uint16_t)to;
}

/* Sends the rest of the present request, or the next request that fits. */
static void ask(struct nm_bus_driver *bus, int wire, int64_t now)
{
    struct wire *w = &bus->wires[wire];
    w->waiting = false;
    for (; w->request < w->n_requests; w->request++, w->done = 0) {
        struct request *r = &w->requests[w->request];
        if (!r->probe) strike_out(w, r, w->done);
        if (w->done >= r->n) continue;
        int n = fitting(bus, w, r, w->done, now);
        size_t size = n ? build(w, r, w->done, n, w->tx + w->tx_n, sizeof w->tx - w->tx_n) : 0;
        if (!size) continue;
        w->tx_n += size;
        r->n = (uint16_t)(w->done + n);
        w->waiting = true;
        w->damage = w->parser.garbage;
        flush(bus, wire);
        w->question_end = w->asked_end = w->host_end > now ? w->host_end : now;
        w->asked_from = w->done;
        const struct item *item = &w->items[r->first + w->done];
        w->timeout = w->asked_end + patience(bus, w, r, item);
        return;
    }
    flush(bus, wire); /* writes that no question follows */
}

/* One combined answer: for each device a status byte and its data; FF: no answer. */
static bool router_answer(struct nm_bus_driver *bus, struct wire *w, struct request *r, const struct nm_dxl_packet *p)
{
    uint32_t entry = w->items[r->first].span.size + 1u;
    /* the board leaves out unknown ids without a sign, so a shorter answer cannot be assigned */
    if (p->n != entry * (uint32_t)r->n) return false;
    for (int i = 0; i < r->n; i++) {
        struct item *item = &w->items[r->first + i];
        const uint8_t *at = p->data + entry * (uint32_t)i;
        if (*at == 0xFF) {
            contact_missed(bus, w, r, item, BLAME_SILENT);
            w->disturber = NULL; /* the board says which device was silent */
        } else {
            contact_answered(bus, r, item, *at, at + 1);
        }
    }
    w->done = r->n;
    return true;
}

static bool fits(const struct request *r, const struct item *item, const struct nm_dxl_packet *p)
{
    uint16_t size = r->kind == ASK_WRITE || r->kind == ASK_REBOOT ? 0 : item->span.size;
    return item->device->id == p->id && item->device->model->protocol == p->protocol && p->n == size;
}

/* By how much the devices of this wire answer later than planned: the mean since the question, so that it does not
 * matter in which pieces the answers arrive. */
static void learn_gap(struct wire *w, int64_t pause)
{
    w->gap += (pause - GAP_NS - w->gap) / 8;
    if (w->gap < 0) w->gap = 0;
    if (w->gap > GAP_MOST_NS) w->gap = GAP_MOST_NS;
}

/* Accepts an answer to the present request: the expected one, a later one (then those between are damaged), or one that
 * was already given up (late). Returns false for anything else. */
static bool on_packet(struct nm_bus_driver *bus, int wire, const struct nm_dxl_packet *p)
{
    struct wire *w = &bus->wires[wire];
    if (p->instruction != NM_DXL_STATUS || !w->waiting) return false;
    struct request *r = &w->requests[w->request];
    if (r->kind == ASK_ROUTER) return p->id >= 0xFD && router_answer(bus, w, r, p);
    int64_t earliest = w->asked_end, now = bus->io.now(bus->io.self);
    for (int i = w->done; i < r->n; i++) {
        struct item *item = &w->items[r->first + i];
        earliest += bytes_ns(w, r, item);
        /* sooner than the wire can carry it (clocks differ a little), so it answers an older question */
        if (now - w->question_end < (earliest - w->question_end) * 7 / 8) break;
        if (!fits(r, item, p)) continue;
        for (int j = w->done; j < i; j++) contact_missed(bus, w, r, &w->items[r->first + j], BLAME_DAMAGED);
        contact_answered(bus, r, item, p->error, p->data);
        w->done = i + 1;
        w->asked_end = earliest;
        if (w->done - w->asked_from > 3) learn_gap(w, (now - earliest) / (w->done - w->asked_from));
        if (w->done < r->n) w->timeout = now + patience(bus, w, r, &w->items[r->first + w->done]);
        return true;
    }
    for (int i = 0; i < w->done; i++) {
        struct item *item = &w->items[r->first + i];
        if (!item->missed || !fits(r, item, p)) continue;
        if (item->device->blame) item->device->blame = BLAME_LATE;
        item->missed = false;
        contact_data(
            bus, r, item,
            p->data); /* the data is used, but it does not count as an answer: the device would be late again */
        return true;
    }
    return false;
}

/* Reads what has arrived. False if the wire is gone. */
static bool listen(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    struct nm_dxl_packet p;
    uint8_t bytes[256];
    int n = 0;
    for (int guard = 0; guard < 64 && (n = bus->io.read(bus->io.self, wire, bytes, sizeof bytes)) > 0; guard++) {
        w->bytes += (uint64_t)n;
        for (int at = 0; at < n;) {
            at += (int)nm_dxl_feed(&w->parser, bytes + at, (size_t)(n - at));
            while (nm_dxl_next(&w->parser, &p))
                if (!on_packet(bus, wire, &p)) nm_dxl_reject(&w->parser);
        }
    }
    if (n < 0) unplugged(bus, wire);
    return n >= 0;
}

static void time_over(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    struct request *r = &w->requests[w->request];
    struct nm_dxl_packet p;
    int before = w->done;
    while (nm_dxl_last(&w->parser, &p))
        if (!on_packet(bus, wire, &p)) nm_dxl_reject(&w->parser);
    if (w->done != before || w->done >= r->n) return; /* an answer was found after a false header */
    enum blame blame = w->parser.garbage != w->damage ? BLAME_DAMAGED : BLAME_SILENT;
    /* the answer of a router is complete or missing as a whole */
    int n = r->kind == ASK_ROUTER ? r->n : w->done + 1;
    for (; w->done < n; w->done++) contact_missed(bus, w, r, &w->items[r->first + w->done], blame);
}

int64_t wire_progress(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    if (w->gone) return INT64_MAX;
    if (w->tx_n && w->waiting && !flush(bus, wire)) return w->gone ? INT64_MAX : bus->io.now(bus->io.self) + QUIET_NS;
    if (!listen(bus, wire)) return INT64_MAX;
    int64_t now = bus->io.now(bus->io.self);
    if (now < w->quiet_at) return w->quiet_at;
    if (w->waiting) {
        struct request *r = &w->requests[w->request];
        if (w->done < r->n && now < w->timeout) return w->timeout;
        if (w->done < r->n) time_over(bus, wire);
        if (w->done < r->n && w->timeout > now) return w->timeout;
    }
    ask(bus, wire, now);
    if (w->gone || (!w->waiting && !w->tx_n)) return INT64_MAX;
    return w->waiting ? w->timeout : now + QUIET_NS;
}

/* The cycle is over. A device that had no time to answer is not blamed; it is asked first in the next cycle. */
void wire_end(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    int64_t now = bus->io.now(bus->io.self);
    if (w->gone) return;
    if (w->waiting && w->done < w->requests[w->request].n) {
        struct request *r = &w->requests[w->request];
        int64_t through = w->host_end > now ? w->host_end : now;
        for (int i = w->done; i < r->n; i++) through += answer_ns(bus, w, r, &w->items[r->first + i]);
        w->quiet_at = through + (through - now); /* the devices were slower than planned */
        struct item *item = &w->items[r->first + w->done];
        if (now >= w->timeout)
            contact_missed(bus, w, r, item, BLAME_SILENT);
        else if (item->device->lost || item->device->silent)
            contact_disturbed(bus, w, item->device);
    }
    for (int i = 0; i < w->n_items; i++) {
        struct device *d = w->items[i].device;
        if (d->servo >= 0) w->servos_asked += w->items[i].done;
    }
    if (w->servos_answered)
        w->mute_cycles = 0;
    else if (w->servos_asked > 1 || (w->servos_asked && w->mute_cycles))
        w->mute_cycles++;
}
