/* Wires and time of the virtual bus: when bytes pass, who talks when, what is spoilt on the way. */
#include "edge/bus/virtual_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { ROUTER_LINK_NS = 1000 /* a byte over USB */, GIVE_UP_1_NS = 100000000, GIVE_UP_2_NS = 1500000 };

struct nm_vbus *nm_vbus_new(void)
{
    struct nm_vbus *bus = calloc(1, sizeof *bus);
    if (!bus) return NULL;
    bus->settings = (struct nm_vbus_settings){.answer_gap = 50000, .boot_time = 20000000, .brown_out = 6.5};
    bus->volts = 12;
    bus->now = 1000000000;
    bus->wake = -1;
    for (int i = 0; i < NM_BUS_WIRES; i++) bus->wires[i].master = bus->wires[i].slave = -1;
    pthread_mutex_init(&bus->mutex, NULL);
    return bus;
}

void nm_vbus_free(struct nm_vbus *bus)
{
    if (!bus) return;
    nm_vbus_stop(bus);
    for (uint32_t i = 0; i < bus->n; i++) free(bus->devices[i]);
    pthread_mutex_destroy(&bus->mutex);
    free(bus);
}

struct nm_vbus_settings *nm_vbus_settings(struct nm_vbus *bus) { return &bus->settings; }

struct nm_vbus_counts nm_vbus_counts(const struct nm_vbus *bus, int wire) { return bus->wires[wire].counts; }

int nm_vbus_wire(struct nm_vbus *bus, int wire, uint32_t baud, bool router, struct nm_err *err)
{
    if (wire < 0 || wire >= NM_BUS_WIRES)
        return nm_fail(err, "virtual bus: wire %d, there are 0 to %d", wire, NM_BUS_WIRES - 1);
    if (baud < 9600 || baud > 12000000) return nm_fail(err, "virtual bus: %u baud is out of reach", baud);
    struct vwire *w = &bus->wires[wire];
    w->used = w->plugged = true;
    w->router = router;
    w->lane_ns = 10000000000 / baud;
    w->byte_ns = router ? ROUTER_LINK_NS : w->lane_ns;
    nm_dxl_parser_init(&w->parser, 3, false);
    return 0;
}

struct nm_vdevice *nm_vbus_device(struct nm_vbus *bus, int wire, uint8_t id)
{
    for (uint32_t i = 0; i < bus->n; i++)
        if (bus->devices[i]->wire == wire && bus->devices[i]->id == id) return bus->devices[i];
    return NULL;
}

struct nm_vdevice *nm_vbus_add(struct nm_vbus *bus, int wire, uint8_t id, const char *model, int protocol,
                               struct nm_err *err)
{
    const struct nm_dxl_model *m = nm_dxl_model(model, protocol);
    if (!m)
        nm_fail(err, "virtual bus: no device \"%s\" with protocol %d is known", model, protocol);
    else if (wire < 0 || wire >= NM_BUS_WIRES || !bus->wires[wire].used)
        nm_fail(err, "virtual bus: there is no wire %d", wire);
    else if (id > 253 || nm_vbus_device(bus, wire, id))
        nm_fail(err, "virtual bus: id %d on wire %d is taken or not allowed", id, wire);
    else if (bus->n == NM_VBUS_DEVICES)
        nm_fail(err, "virtual bus: more than %d devices", NM_VBUS_DEVICES);
    else {
        struct nm_vdevice *d = calloc(1, sizeof *d);
        if (!d) return NULL;
        vdevice_init(d, m, id, wire);
        d->stepped = vbus_now(bus);
        bus->devices[bus->n++] = d;
        vbus_update_power(bus, vbus_now(bus));
        return d;
    }
    return NULL;
}

void nm_vbus_fault(struct nm_vbus *bus, struct nm_vdevice *d, enum nm_vfault fault, uint32_t answers, int64_t delay)
{
    d->fault = answers ? fault : NM_VFAULT_NONE;
    d->fault_answers = answers;
    d->fault_delay = delay;
    vbus_update_power(bus, vbus_now(bus));
}

void nm_vbus_supply(struct nm_vbus *bus, double volts)
{
    bus->volts = volts;
    vbus_update_power(bus, vbus_now(bus));
}

int64_t vbus_now(const struct nm_vbus *bus)
{
    if (!bus->threaded) return bus->now;
    return nm_clock();
}

/* Receivers give up on half a packet after a pause. */
static void forget_after_pause(struct vwire *w, int64_t now)
{
    bool two = w->parser.used > 3 && w->parser.bytes[2] == 0xFD && !w->parser.bytes[3];
    if (w->parser.used > w->parser.taken && now - w->host_end > (two ? GIVE_UP_2_NS : GIVE_UP_1_NS))
        nm_dxl_parser_clear(&w->parser);
}

void vbus_host_bytes(struct nm_vbus *bus, struct vwire *w, const uint8_t *bytes, size_t n, int64_t now)
{
    vbus_run(bus, now);
    forget_after_pause(w, now);
    int64_t start = w->host_end > now ? w->host_end : now;
    struct nm_dxl_packet p;
    for (size_t i = 0; i < n; i++) {
        w->host_end = (w->host_end > now ? w->host_end : now) + w->byte_ns;
        w->counts.host_bytes++;
        nm_dxl_feed(&w->parser, bytes + i, 1);
        if (!nm_dxl_next(&w->parser, &p)) continue;
        if (w->queue_n < VBUS_INSTRUCTIONS) {
            struct vinstruction *in = &w->queue[(w->queue_at + w->queue_n++) % VBUS_INSTRUCTIONS];
            in->start = start;
            in->end = w->host_end;
            in->protocol = p.protocol;
            in->id = p.id;
            in->code = p.instruction;
            in->n = p.n;
            memcpy(in->data, p.data, p.n);
        }
        start = w->host_end;
    }
}

static void send(struct vwire *w, const uint8_t *bytes, size_t n, int64_t start, int64_t late, bool bytewise)
{
    if (!w->plugged) return;
    int64_t before = w->out_n ? w->out[(w->out_at + w->out_n - 1) % VBUS_OUT].at : 0;
    for (size_t i = 0; i < n && w->out_n < VBUS_OUT; i++) {
        int64_t at = start + (int64_t)(bytewise ? i + 1 : n) * w->byte_ns + late;
        w->out[(w->out_at + w->out_n++) % VBUS_OUT] = (struct vbyte){at > before ? at : before, bytes[i]};
    }
}

/* Spoils an answer as its device's fault says: the length that is sent, and by how much it is late. */
static size_t spoil(struct nm_vdevice *d, uint8_t *bytes, size_t n, int64_t *late)
{
    *late = 0;
    if (!d || d->fault == NM_VFAULT_NONE || d->fault == NM_VFAULT_DEAD || !n) return n;
    enum nm_vfault fault = d->fault;
    d->spoilt++;
    if (d->fault_answers != UINT32_MAX && !--d->fault_answers) d->fault = NM_VFAULT_NONE;
    if (fault == NM_VFAULT_MISSING) return 0;
    if (fault == NM_VFAULT_CUT) return n / 2;
    if (fault == NM_VFAULT_LATE) *late = d->fault_delay;
    if (fault == NM_VFAULT_CORRUPT) bytes[2 + d->spoilt % (n - 2)] ^= (uint8_t)(1u << d->spoilt % 7);
    return n;
}

/* The answer whose turn it is. After silence and after half an answer the later ones wait in vain. */
static void talk(struct nm_vbus *bus, int wire)
{
    struct vwire *w = &bus->wires[wire];
    uint8_t bytes[NM_DXL_PACKET_MAX];
    struct vanswer *a = &w->chain[w->chain_at];
    int64_t start = w->chain_start, late;
    size_t whole = vbus_render(bus, wire, a, start, bytes, sizeof bytes);
    size_t n = spoil(w->chain_router ? NULL : a->device, bytes, whole, &late);
    if (n) {
        send(w, bytes, n, start, late, bus->settings.bytewise);
        w->talk_start = start;
        w->talk_end = start + (int64_t)n * w->byte_ns;
        w->counts.device_bytes += n;
        w->counts.answers++;
    }
    w->chain_at = n == whole && whole && w->chain_at < w->chain_n ? w->chain_at + 1 : w->chain_n;
    w->chain_start = w->talk_end;
}

/* Return delay and processing time stand before the first byte of an answer. */
static int64_t turn(const struct nm_vbus *bus, const struct vwire *w)
{
    if (w->chain_at >= w->chain_n) return INT64_MAX;
    const struct nm_vdevice *d = w->chain[w->chain_at].device;
    int64_t delay = d && d->return_delay ? d->table[d->return_delay->address] * 2000 : 0;
    return w->chain_start + delay + bus->settings.answer_gap;
}

/* Two talked at once: the instruction is lost and the answer damaged. */
static bool collided(struct vwire *w, const struct vinstruction *in)
{
    if (w->talk_end <= in->start || w->talk_start >= in->end) return false;
    w->counts.collisions++;
    for (uint32_t i = w->out_n; i-- > 0;) {
        struct vbyte *b = &w->out[(w->out_at + i) % VBUS_OUT];
        if (b->at <= in->start) break;
        b->byte ^= 0x55;
    }
    return true;
}

static bool run_wire(struct nm_vbus *bus, int wire, int64_t now)
{
    struct vwire *w = &bus->wires[wire];
    struct vinstruction *in = &w->queue[w->queue_at];
    int64_t next_in = w->queue_n ? in->end : INT64_MAX, next_talk = turn(bus, w);
    if (next_talk <= now && next_talk < next_in) {
        w->chain_start = next_talk;
        talk(bus, wire);
        return true;
    }
    if (next_in > now) return false;
    w->counts.instructions++;
    w->chain_at = w->chain_n = 0; /* a new header ends all waiting */
    if (!collided(w, in)) vbus_execute(bus, wire, in);
    w->queue_at = (w->queue_at + 1) % VBUS_INSTRUCTIONS;
    w->queue_n--;
    return true;
}

void vbus_run(struct nm_vbus *bus, int64_t now)
{
    for (int i = 0; i < NM_BUS_WIRES; i++)
        while (bus->wires[i].used && run_wire(bus, i, now)) {}
}

int64_t vbus_next(const struct nm_vbus *bus)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < NM_BUS_WIRES; i++) {
        const struct vwire *w = &bus->wires[i];
        if (!w->used) continue;
        int64_t t = turn(bus, w);
        if (w->queue_n && w->queue[w->queue_at].end < t) t = w->queue[w->queue_at].end;
        if (w->out_n && w->out[w->out_at].at < t) t = w->out[w->out_at].at;
        if (t < next) next = t;
    }
    return next;
}

size_t vbus_take(struct vwire *w, uint8_t *bytes, size_t room, int64_t now)
{
    size_t n = 0;
    while (n < room && w->out_n && w->out[w->out_at].at <= now) {
        bytes[n++] = w->out[w->out_at].byte;
        w->out_at = (w->out_at + 1) % VBUS_OUT;
        w->out_n--;
    }
    return n;
}

static int64_t io_now(void *self) { return ((struct nm_vbus *)self)->now; }

static int io_open(void *self, int wire)
{
    struct vwire *w = &((struct nm_vbus *)self)->wires[wire];
    return w->used && w->plugged ? 0 : -1;
}

static int io_write(void *self, int wire, const uint8_t *bytes, size_t n)
{
    struct nm_vbus *bus = self;
    if (io_open(self, wire)) return -1;
    vbus_host_bytes(bus, &bus->wires[wire], bytes, n, bus->now);
    return (int)n;
}

static int io_read(void *self, int wire, uint8_t *bytes, size_t room)
{
    struct nm_vbus *bus = self;
    if (io_open(self, wire)) return -1;
    vbus_run(bus, bus->now);
    return (int)vbus_take(&bus->wires[wire], bytes, room, bus->now);
}

static bool bytes_wait(const struct nm_vbus *bus)
{
    for (int i = 0; i < NM_BUS_WIRES; i++) {
        const struct vwire *w = &bus->wires[i];
        if (w->used && w->plugged && w->out_n && w->out[w->out_at].at <= bus->now) return true;
    }
    return false;
}

static void io_wait(void *self, int64_t until)
{
    struct nm_vbus *bus = self;
    for (;;) {
        vbus_run(bus, bus->now);
        if (bytes_wait(bus)) return;
        int64_t next = vbus_next(bus);
        if (next >= until) break;
        bus->now = next;
    }
    if (until > bus->now) bus->now = until;
}

struct nm_bus_io nm_vbus_io(struct nm_vbus *bus)
{
    return (struct nm_bus_io){bus, io_now, io_open, io_write, io_read, io_wait};
}

void nm_vbus_advance(struct nm_vbus *bus, int64_t until)
{
    if (until > bus->now) bus->now = until;
    vbus_run(bus, bus->now);
    for (uint32_t i = 0; i < bus->n; i++) vdevice_step(bus->devices[i], bus->now);
}
