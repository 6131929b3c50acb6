/* Questions and answers on one wire. A question names the devices that will answer, in that order; an answer that does
 * not come is skipped when a later one arrives, or when its time is over, and then the rest is asked again, since a
 * silent device blocks those behind it. Nothing is begun that would not end before the cycle does. */
#include "edge/bus/driver_internal.h"

#include <string.h>

enum {
    GAP_NS = 60000 /* planned between two answers */,
    GAP_MOST_NS = 1000000,
    QUIET_NS = 200000,
    LONGEST_DELAY_NS = 508000 /* return delay register at 254 */,
    ROUTER_PATIENCE_NS = 1300000 /* two of its own time-outs */
};

/* Behind a router board a servo is asked and answers on one of three slower buses. */
static int64_t lane_ns(const struct nm_bus_driver *bus, const struct item *i)
{
    return (14 + i->span.size) * (10000000000 / bus->set.baud[i->device->wire]) + GAP_NS;
}

/* Bytes of an answer on the wire. */
static int64_t bytes_ns(const struct wire *w, const struct request *r, const struct item *i)
{
    size_t n = r->kind == ASK_WRITE || r->kind == ASK_REBOOT ? 0 : i->span.size;
    return (int64_t)(r->kind == ASK_ROUTER ? n + 1 : nm_dxl_status_size(r->protocol, n)) * w->byte_ns;
}

/* From one answer to the next, as far as we know; a stranger may have the longest return delay. */
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
        w->question_end = w->asked_end = w->host_end > now ? w->host_end : now;
        w->asked_from = w->done;
        const struct item *item = &w->items[r->first + w->done];
        w->timeout = w->asked_end + patience(bus, w, r, item);
        return;
    }
    flush(bus, wire); /* writes without a question behind them */
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
            contact_missed(bus, w, r, item, BLAME_SILENT), w->disturber = NULL; /* the board says who it was */
        else
            contact_answered(bus, r, item, *at, at + 1);
    }
    w->done = r->n;
    return true;
}

static bool fits(const struct request *r, const struct item *item, const struct nm_dxl_packet *p)
{
    uint16_t size = r->kind == ASK_WRITE || r->kind == ASK_REBOOT ? 0 : item->span.size;
    return item->device->id == p->id && item->device->model->protocol == p->protocol && p->n == size;
}

/* How long the devices of this wire think, more than planned: the mean since the question, so that it does not matter
 * in what pieces the answers reach us. */
static void learn_gap(struct wire *w, int64_t pause)
{
    w->gap += (pause - GAP_NS - w->gap) / 8;
    if (w->gap < 0) w->gap = 0;
    if (w->gap > GAP_MOST_NS) w->gap = GAP_MOST_NS;
}

/* An answer to the request under way: the one waited for, a later one (those between are damaged), or one that was
 * given up already (late). Anything else is none, and false. */
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
        /* sooner than the wire can carry it (clocks differ a little): an answer to an older question */
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
        contact_data(bus, r, item, p->data); /* good to know, but no merit: it would cost its time again */
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
        w->quiet_at = through + (through - now); /* they were slower than planned, or we would not be here */
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
