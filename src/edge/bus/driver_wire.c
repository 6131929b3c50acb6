/* Questions and answers on one wire. A question names the devices that will answer, in that order; an answer that does
 * not come is skipped when a later one arrives, or when its time is over, and then the rest is asked again, since a
 * silent device blocks those behind it. Nothing is begun that would not end before the cycle does. */
#include "edge/bus/driver_internal.h"

#include <string.h>

enum {
    GAP_NS = 60000 /* planned between two answers */,
    QUIET_NS = 200000,
    DISTURBED_NS = 25000000,
    ROUTER_PATIENCE_NS = 1300000 /* two of its own time-outs */
};

/* Behind a router board a servo is asked and answers on one of three slower buses. */
static int64_t lane_ns(const struct nm_bus_driver *bus, const struct item *i)
{
    return (14 + i->span.size) * (10000000000 / bus->set.baud[i->device->wire]) + GAP_NS;
}

static int64_t answer_ns(const struct nm_bus_driver *bus, const struct wire *w, const struct request *r,
                         const struct item *i)
{
    size_t n = r->kind == ASK_WRITE || r->kind == ASK_REBOOT ? 0 : i->span.size;
    if (r->kind == ASK_ROUTER) return (int64_t)(n + 1) * w->byte_ns + lane_ns(bus, i) / 2;
    return (int64_t)nm_dxl_status_size(r->protocol, n) * w->byte_ns + GAP_NS;
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

/* Opens what is closed, and throws away what came between two cycles. */
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

/* Hands over bytes that wait. False when the port takes no more now, or is gone. */
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

/* As many of the remaining items as will have answered before the cycle ends. */
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

/* Who has just missed, or was lost, is not asked again in this cycle. */
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

/* Sends what is left of the request under way, or of the next ones until one fits. */
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
        w->asked_end = w->host_end > now ? w->host_end : now;
        const struct item *item = &w->items[r->first + w->done];
        w->timeout = w->asked_end + patience(bus, w, r, item);
        return;
    }
    flush(bus, wire); /* writes without a question behind them */
}

static void lose(struct nm_bus_driver *bus, struct device *d)
{
    if (d->lost) return;
    d->lost = true;
    d->probe_wait = nanoseconds(bus->set.probe_first);
    d->probe_at = bus->now + d->probe_wait;
    if (d->servo >= 0) servo_lost(&bus->servos[d->servo]);
}

/* Whoever fails first has failed by itself. What fails soon behind it may have been talked over by a late answer, or
 * stuck behind it, and is not blamed; and who spoils it for two others is left out at once. */
static bool disturbs(struct nm_bus_driver *bus, struct wire *w, struct device *d)
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

static void miss(struct nm_bus_driver *bus, struct wire *w, const struct request *r, struct item *item,
                 enum blame blame)
{
    struct device *d = item->device;
    item->done = item->missed = true;
    if (r->probe) {
        d->probe_wait = d->probe_wait ? 2 * d->probe_wait : nanoseconds(bus->set.probe_first);
        if (d->probe_wait > nanoseconds(bus->set.probe_longest)) d->probe_wait = nanoseconds(bus->set.probe_longest);
        d->probe_at = bus->now + d->probe_wait;
        disturbs(bus, w, d);
        if (r->kind == ASK_REBOOT)
            d->reboot = false;
        else if (!d->lost && ++d->identify_tries >= bus->set.lost_after && !d->answered)
            lose(bus, d);
        return;
    }
    d->missed++;
    d->silent++;
    d->missed_now = true;
    /* it may have been reset: no goals before its torque switch was seen */
    if (d->servo >= 0) bus->servos[d->servo].check = true, bus->servos[d->servo].verified = false;
    bool own = disturbs(bus, w, d);
    if (own) d->blame = blame;
    if (d->silent >= bus->set.lost_after * (own ? 1 : 2)) lose(bus, d);
}

/* Somebody is back: whoever was lost with it may be back too. */
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
        if (d->servo >= 0) servo_found(&bus->servos[d->servo]);
    }
    if (d->board < 0) {
        d->delay_wrong = false; /* the only single write to a servo */
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

static void take_data(struct nm_bus_driver *bus, const struct request *r, const struct item *item, const uint8_t *data)
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

static void answered(struct nm_bus_driver *bus, const struct request *r, struct item *item, uint8_t error,
                     const uint8_t *data)
{
    struct device *d = item->device;
    item->done = true;
    d->error = error;
    d->answered++;
    d->silent = 0;
    if (d->servo >= 0) bus->wires[d->wire].servos_answered++;
    if (d->lost) found(bus, d);
    take_data(bus, r, item, data);
    /* 2.0: something is latched, have a look */
    if (d->servo >= 0 && d->model->protocol == 2 && error & NM_DXL_ALERT && !bus->servos[d->servo].hardware)
        bus->servos[d->servo].check = true;
}

/* One combined answer: a status byte and the data of each, FF for no answer. */
static bool router_answer(struct nm_bus_driver *bus, struct wire *w, struct request *r, const struct nm_dxl_packet *p)
{
    uint32_t entry = w->items[r->first].span.size + 1u;
    /* unknown ids are left out of the answer without a word, so a shorter one cannot be told apart */
    if (p->n != entry * (uint32_t)r->n) return false;
    for (int i = 0; i < r->n; i++) {
        struct item *item = &w->items[r->first + i];
        const uint8_t *at = p->data + entry * (uint32_t)i;
        if (*at == 0xFF)
            miss(bus, w, r, item, BLAME_SILENT), w->disturber = NULL; /* the board says who it was */
        else
            answered(bus, r, item, *at, at + 1);
    }
    w->done = r->n;
    return true;
}

static bool fits(const struct request *r, const struct item *item, const struct nm_dxl_packet *p)
{
    uint16_t size = r->kind == ASK_WRITE || r->kind == ASK_REBOOT ? 0 : item->span.size;
    return item->device->id == p->id && item->device->model->protocol == p->protocol && p->n == size;
}

/* An answer to the request under way: the one waited for, a later one (those between are damaged), or one that was
 * given up already (late). Anything else is none, and false. */
static bool on_packet(struct nm_bus_driver *bus, int wire, const struct nm_dxl_packet *p)
{
    struct wire *w = &bus->wires[wire];
    if (p->instruction != NM_DXL_STATUS || w->request >= w->n_requests) return false;
    struct request *r = &w->requests[w->request];
    if (r->kind == ASK_ROUTER) { return p->id >= 0xFD && router_answer(bus, w, r, p); }
    int64_t earliest = w->asked_end, now = bus->io.now(bus->io.self);
    for (int i = w->done; i < r->n; i++) {
        struct item *item = &w->items[r->first + i];
        earliest += answer_ns(bus, w, r, item) - GAP_NS;
        if (now < earliest) break; /* the wire cannot have carried it: an answer to an older question */
        if (!fits(r, item, p)) continue;
        for (int j = w->done; j < i; j++) miss(bus, w, r, &w->items[r->first + j], BLAME_DAMAGED);
        answered(bus, r, item, p->error, p->data);
        w->done = i + 1;
        if (w->done < r->n) w->timeout = bus->io.now(bus->io.self) + patience(bus, w, r, &w->items[r->first + w->done]);
        return true;
    }
    for (int i = 0; i < w->done; i++) {
        struct item *item = &w->items[r->first + i];
        if (!item->missed || !fits(r, item, p)) continue;
        if (item->device->blame) item->device->blame = BLAME_LATE;
        item->missed = false;
        take_data(bus, r, item, p->data); /* good to know, but no merit: it would cost its time again */
        return true;
    }
    return false;
}

/* Reads what has arrived. False when the wire is gone. */
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
    if (w->done != before || w->done >= r->n) return; /* there was something behind a false header */
    enum blame blame = w->parser.garbage != w->damage ? BLAME_DAMAGED : BLAME_SILENT;
    /* the router's answer stands or falls as a whole */
    int n = r->kind == ASK_ROUTER ? r->n : w->done + 1;
    for (; w->done < n; w->done++) miss(bus, w, r, &w->items[r->first + w->done], blame);
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

/* The cycle is over. Who had no time to answer is not blamed: it is asked first the next time. */
void wire_end(struct nm_bus_driver *bus, int wire)
{
    struct wire *w = &bus->wires[wire];
    int64_t now = bus->io.now(bus->io.self);
    if (w->gone) return;
    if (w->waiting && w->done < w->requests[w->request].n) {
        struct request *r = &w->requests[w->request];
        int64_t through = w->host_end > now ? w->host_end : now;
        for (int i = w->done; i < r->n; i++) through += answer_ns(bus, w, r, &w->items[r->first + i]);
        w->quiet_at = through;
        struct item *item = &w->items[r->first + w->done];
        if (now >= w->timeout)
            miss(bus, w, r, item, BLAME_SILENT);
        else if (item->device->lost || item->device->silent)
            disturbs(bus, w, item->device);
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
