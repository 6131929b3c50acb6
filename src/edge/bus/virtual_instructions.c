/* What a packet does on the virtual bus: effects at the devices and the answers it calls for. All lengths come from the
 * other end of the wire and are checked. */
#include "edge/bus/virtual_internal.h"

#include <string.h>

enum { ROUTER_TIMEOUT_NS = 650000, ROUTER_ROOM = 240, ROUTER_OWN_IDS = 200 };

static struct nm_vdevice *listening(struct nm_vbus *bus, int wire, uint8_t id, uint8_t protocol, int64_t now)
{
    struct nm_vdevice *d = nm_vbus_device(bus, wire, id);
    return d && d->model->protocol == protocol && vdevice_listens(d, now) ? d : NULL;
}

static void answer(struct vwire *w, struct vanswer a)
{
    if (w->chain_n < VBUS_CHAIN) w->chain[w->chain_n++] = a;
}

static int return_level(const struct nm_vdevice *d) { return d->return_level ? d->table[d->return_level->address] : 2; }

/* Places in a packet's data: addresses and sizes have one byte in 1.0 and two in 2.0. */
static uint16_t place(const struct vinstruction *in, size_t at)
{
    return (uint16_t)nm_dxl_get(in->data + at, in->protocol);
}

static void on_ping(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    struct vwire *w = &bus->wires[wire];
    bool all = in->id == NM_DXL_BROADCAST && in->protocol == 2;
    for (unsigned id = all ? 0 : in->id; id <= (all ? 252u : in->id); id++) {
        struct nm_vdevice *d = listening(bus, wire, (uint8_t)id, in->protocol, in->end);
        if (d) answer(w, (struct vanswer){.device = d, .ping = true});
    }
}

static void on_read(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    struct nm_vdevice *d = listening(bus, wire, in->id, in->protocol, in->end);
    if (!d || in->n != 2u * in->protocol || return_level(d) < 1) return;
    answer(&bus->wires[wire], (struct vanswer){.device = d, .address = place(in, 0), .size = place(in, in->protocol)});
}

static void on_write(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    if (in->n <= in->protocol) return;
    uint16_t size = (uint16_t)(in->n - in->protocol);
    for (uint32_t i = 0; i < bus->n; i++) {
        struct nm_vdevice *d = bus->devices[i];
        bool named = d->wire == wire && (d->id == in->id || in->id == NM_DXL_BROADCAST);
        if (!named || d->model->protocol != in->protocol || !vdevice_listens(d, in->end)) continue;
        uint8_t error = vdevice_write(bus, d, place(in, 0), in->data + in->protocol, size, in->end);
        if (in->id != NM_DXL_BROADCAST && return_level(d) >= 2)
            answer(&bus->wires[wire], (struct vanswer){.device = d, .error = error});
    }
}

static void on_reg_write(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    struct nm_vdevice *d = listening(bus, wire, in->id, in->protocol, in->end);
    if (!d || in->n <= in->protocol || in->n - in->protocol > (int)sizeof d->pending) return;
    d->pending_address = place(in, 0);
    d->pending_size = (uint16_t)(in->n - in->protocol);
    memcpy(d->pending, in->data + in->protocol, d->pending_size);
    if (d->registered) d->table[d->registered->address] = 1;
    if (return_level(d) >= 2) answer(&bus->wires[wire], (struct vanswer){.device = d});
}

static void on_action(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    for (uint32_t i = 0; i < bus->n; i++) {
        struct nm_vdevice *d = bus->devices[i];
        bool named = d->wire == wire && (d->id == in->id || in->id == NM_DXL_BROADCAST);
        if (!named || d->model->protocol != in->protocol || !vdevice_listens(d, in->end)) continue;
        if (d->pending_size) vdevice_write(bus, d, d->pending_address, d->pending, d->pending_size, in->end);
        d->pending_size = 0;
        if (d->registered) d->table[d->registered->address] = 0;
        if (in->id != NM_DXL_BROADCAST && return_level(d) >= 2)
            answer(&bus->wires[wire], (struct vanswer){.device = d});
    }
}

static void on_reboot(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    struct nm_vdevice *d = listening(bus, wire, in->id, in->protocol, in->end);
    if (!d) return;
    d->hardware = 0;
    vdevice_boot(bus, d, in->end);
    answer(&bus->wires[wire], (struct vanswer){.device = d});
}

static void on_sync_write(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    uint32_t head = 2u * in->protocol;
    if (in->n < head) return;
    uint16_t address = place(in, 0), size = place(in, in->protocol);
    if (!size) return;
    for (uint32_t at = head; at + 1 + size <= in->n; at += 1u + size) {
        struct nm_vdevice *d = listening(bus, wire, in->data[at], in->protocol, in->end);
        if (d) vdevice_write(bus, d, address, in->data + at + 1, size, in->end);
    }
}

static void on_bulk_write(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    for (uint32_t at = 0; at + 5 <= in->n;) {
        uint16_t address = place(in, at + 1), size = place(in, at + 3);
        if (at + 5 + size > in->n) return;
        struct nm_vdevice *d = listening(bus, wire, in->data[at], in->protocol, in->end);
        if (d) vdevice_write(bus, d, address, in->data + at + 5, size, in->end);
        at += 5u + size;
    }
}

/* Devices that are not there keep their place in the chain: they block the later ones. */
static void on_sync_read(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    if (in->protocol != 2 || in->n < 4) return;
    for (uint32_t at = 4; at < in->n; at++)
        answer(&bus->wires[wire], (struct vanswer){.device = listening(bus, wire, in->data[at], 2, in->end),
                                                   .address = place(in, 0),
                                                   .size = place(in, 2)});
}

static void on_bulk_read(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    bool two = in->protocol == 2;
    for (uint32_t at = two ? 0 : 1, entry = two ? 5 : 3; at + entry <= in->n; at += entry) {
        uint8_t id = two ? in->data[at] : in->data[at + 1];
        struct nm_vdevice *d = listening(bus, wire, id, in->protocol, in->end);
        if (d && !d->model->bulk) d = NULL;
        answer(&bus->wires[wire], (struct vanswer){.device = d,
                                                   .address = two ? place(in, at + 1) : in->data[at + 2],
                                                   .size = two ? place(in, at + 3) : in->data[at]});
    }
}

/* Rhoban's board: plain reads, one servo at a time on each of three buses, collected into one answer. The ids are kept
 * as a chain that is rendered as a whole. */
static void on_router_read(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    struct vwire *w = &bus->wires[wire];
    if (!w->chain_router || in->protocol != 1 || in->n < 2) return;
    uint16_t size = in->data[1];
    int64_t lanes[3] = {0}, longest = 0;
    for (uint32_t at = 2; at < in->n && (size + 1u) * (w->chain_n + 1) <= ROUTER_ROOM; at++) {
        struct nm_vdevice *d = nm_vbus_device(bus, wire, in->data[at]);
        if (!d || !d->answers) continue; /* never seen: silently left out */
        bool there = vdevice_listens(d, in->end);
        lanes[d->lane % 3] += there ? (14 + size) * w->lane_ns + bus->settings.answer_gap : ROUTER_TIMEOUT_NS;
        answer(w, (struct vanswer){.device = d, .address = in->data[0], .size = size});
    }
    for (int i = 0; i < 3; i++) longest = lanes[i] > longest ? lanes[i] : longest;
    w->chain_start = in->end + longest;
}

void vbus_execute(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    static const struct {
        uint8_t code;
        void (*run)(struct nm_vbus *bus, int wire, const struct vinstruction *in);
    } handlers[] = {
        {NM_DXL_PING, on_ping},
        {NM_DXL_READ, on_read},
        {NM_DXL_WRITE, on_write},
        {NM_DXL_REG_WRITE, on_reg_write},
        {NM_DXL_ACTION, on_action},
        {NM_DXL_REBOOT, on_reboot},
        {NM_DXL_SYNC_READ, on_sync_read},
        {NM_DXL_SYNC_WRITE, on_sync_write},
        {NM_DXL_ROUTER_READ, on_router_read},
        {NM_DXL_BULK_READ, on_bulk_read},
        {NM_DXL_BULK_WRITE, on_bulk_write},
    };
    struct vwire *w = &bus->wires[wire];
    w->chain_at = w->chain_n = 0;
    w->chain_protocol = in->protocol;
    w->chain_router = w->router && in->code == NM_DXL_ROUTER_READ;
    w->chain_start = in->end;
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (handlers[i].code == in->code) handlers[i].run(bus, wire, in);
    /* the router forwards a plain instruction to its buses and the answer back */
    if (w->router && !w->chain_router && in->id < ROUTER_OWN_IDS) w->chain_start += (in->n + 6 + 14) * w->lane_ns;
}

static size_t render_router(struct nm_vbus *bus, struct vwire *w, int64_t now, uint8_t *out, size_t room)
{
    uint8_t data[ROUTER_ROOM] = {0};
    size_t n = 0;
    for (uint32_t i = w->chain_at; i < w->chain_n; i++) {
        struct vanswer *a = &w->chain[i];
        bool spoilt = !vdevice_listens(a->device, now) || a->device->fault != NM_VFAULT_NONE ||
                      (uint32_t)a->address + a->size > a->device->model->size;
        data[n] = 0xFF;
        if (!spoilt) {
            vdevice_refresh(bus, a->device, now);
            data[n] = vdevice_error(bus, a->device);
            memcpy(data + n + 1, a->device->table + a->address, a->size);
        } else if (a->device->fault_answers && a->device->fault_answers != UINT32_MAX && !--a->device->fault_answers)
            a->device->fault = NM_VFAULT_NONE;
        n += 1u + a->size;
    }
    w->chain_at = w->chain_n;
    return nm_dxl_status(1, NM_DXL_BROADCAST, 0, data, n, out, room);
}

/* The bytes of an answer whose time has come; 0 when the device is silent. */
size_t vbus_render(struct nm_vbus *bus, int wire, const struct vanswer *a, int64_t now, uint8_t *out, size_t room)
{
    struct vwire *w = &bus->wires[wire];
    struct nm_vdevice *d = a->device;
    if (w->chain_router) return render_router(bus, w, now, out, room);
    if (!d || !d->powered) return 0;
    d->answers++;
    vdevice_refresh(bus, d, now);
    uint8_t error = (uint8_t)(vdevice_error(bus, d) | a->error);
    const struct nm_dxl_register *firmware = nm_dxl_register(d->model, "firmware");
    uint8_t ping[3] = {d->table[0], d->table[1], firmware ? d->table[firmware->address] : 0};
    if (a->ping)
        return nm_dxl_status(d->model->protocol, d->id, error, ping, w->chain_protocol == 2 ? 3 : 0, out, room);
    if ((uint32_t)a->address + a->size > d->model->size) {
        uint8_t range = d->model->protocol == 2 ? NM_DXL_2_RANGE : NM_DXL_RANGE;
        return nm_dxl_status(d->model->protocol, d->id, (uint8_t)(error | range), NULL, 0, out, room);
    }
    return nm_dxl_status(d->model->protocol, d->id, error, d->table + a->address, a->size, out, room);
}
