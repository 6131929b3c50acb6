/* The virtual bus: devices with control tables, what packets do to them, the timing of bytes on the wires, and the
 * thread that serves pseudo terminals in real time. */
#include "edge/bus/virtual.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

enum { VBUS_INSTRUCTIONS = 32, VBUS_OUT = 4096, VBUS_CHAIN = NM_VBUS_DEVICES };

/* An instruction that the host is sending; its last byte is on the wire at `end`. */
struct vinstruction {
    int64_t start, end;
    uint8_t protocol, id, code;
    uint16_t n;
    uint8_t data[NM_DXL_PACKET_MAX];
};

/* An answer that is sent when its turn in the chain comes. */
struct vanswer {
    struct nm_vdevice *device; /* NULL: no such device, or the router board's own answer */
    uint16_t address, size;
    uint8_t error;
    bool ping;
};

struct vbyte {
    int64_t at; /* when the host can read it */
    uint8_t byte;
};

struct vwire {
    bool used, router, plugged;
    int64_t byte_ns;  /* of the host's link                 */
    int64_t lane_ns;  /* of the buses behind a router board */
    int64_t host_end; /* the host's last byte is out        */
    struct nm_dxl_parser parser;
    struct vinstruction queue[VBUS_INSTRUCTIONS]; /* oldest at queue_at            */
    uint32_t queue_at, queue_n;
    struct vanswer chain[VBUS_CHAIN]; /* answers to the present instruction        */
    uint32_t chain_at, chain_n;
    uint8_t chain_protocol;
    bool chain_router;            /* one combined answer for the whole chain   */
    int64_t chain_start;          /* first byte of the answer whose turn it is */
    int64_t talk_start, talk_end; /* of the last answer                        */
    struct vbyte out[VBUS_OUT];   /* bytes for the host, oldest at out_at      */
    uint32_t out_at, out_n;
    struct nm_vbus_counts counts;
    int master, slave; /* of the pseudo terminal, -1: none                         */
    char link[256];
};

struct nm_vbus {
    struct nm_vbus_settings settings;
    double volts;
    int64_t now; /* simulated                                                      */
    struct vwire wires[NM_BUS_WIRES];
    struct nm_vdevice *devices[NM_VBUS_DEVICES];
    uint32_t n;
    bool threaded, stop;
    int wake; /* eventfd that ends the thread's poll                               */
    pthread_t thread;
    pthread_mutex_t mutex;
};

static void vbus_update_power(struct nm_vbus *bus, int64_t now);
static void vbus_run(struct nm_vbus *bus, int64_t now);

static int64_t vbus_now(const struct nm_vbus *bus) { return bus->threaded ? nm_clock() : bus->now; }

/* ---- devices: control tables with their access rules, power, and the built-in servo ---- */

static double value(const struct nm_vdevice *d, const struct nm_dxl_register *r)
{
    return r ? nm_dxl_decode(r, d->table + r->address) : NAN;
}

static void put(struct nm_vdevice *d, const struct nm_dxl_register *r, double v)
{
    if (r) nm_dxl_encode(r, v, d->table + r->address);
}

/* Sets factory values from the address `first` on; 0 includes the registers that are kept without power. */
static void reset(struct nm_vdevice *d, uint16_t first)
{
    const struct nm_dxl_register *r;
    memset(d->table + first, 0, sizeof d->table - first);
    for (size_t i = 0; (r = nm_dxl_register_at(d->model, i)); i++)
        if (r->address >= first) nm_dxl_put(d->table + r->address, r->initial, r->size);
    d->pending_size = 0;
}

static void vdevice_init(struct nm_vdevice *d, const struct nm_dxl_model *model, uint8_t id, int wire)
{
    *d = (struct nm_vdevice){.id = id, .wire = (uint8_t)wire, .model = model, .lag = 0.02, .powered = true};
    const struct {
        const char *name;
        const struct nm_dxl_register **to;
    } known[] = {
        {"torque_enable", &d->torque_enable},
        {"goal_position", &d->goal_position},
        {"present_position", &d->present_position},
        {"present_velocity", &d->present_velocity},
        {"present_voltage", &d->present_voltage},
        {"torque_limit", &d->torque_limit},
        {"speed_limit", &d->speed_limit},
        {"return_delay", &d->return_delay},
        {"status_return_level", &d->return_level},
        {"hardware_error", &d->hardware_error},
        {"registered", &d->registered},
        {"min_voltage", &d->min_voltage},
        {"max_voltage", &d->max_voltage},
        {"voltage", &d->voltage},
        {"dxl_power", &d->dxl_power},
        {"sequence", &d->sequence},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) *known[i].to = nm_dxl_register(model, known[i].name);
    /* no-load speed at 12 V, where the back-EMF equals the supply */
    d->top_speed = model->ampere_torque > 0 ? 12 / (double)model->ampere_torque : 6;
    memset(d->access, NM_DXL_RW, sizeof d->access);
    const struct nm_dxl_register *r;
    for (size_t i = 0; (r = nm_dxl_register_at(model, i)); i++) memset(d->access + r->address, r->access, r->size);
    reset(d, 0);
    if (model->number) nm_dxl_put(d->table, model->number, 2);
    put(d, d->return_delay, 0);
    nm_vdevice_set(d, "id", id);
}

void nm_vdevice_set(struct nm_vdevice *d, const char *name, double v) { put(d, nm_dxl_register(d->model, name), v); }

double nm_vdevice_get(const struct nm_vdevice *d, const char *name)
{
    return value(d, nm_dxl_register(d->model, name));
}

void nm_vdevice_shut_off(struct nm_vdevice *d, uint8_t bits)
{
    d->hardware = bits;
    put(d, d->model->protocol == 1 ? d->torque_limit : d->torque_enable, 0);
    if (d->hardware_error) d->table[d->hardware_error->address] |= bits;
}

static bool vdevice_listens(const struct nm_vdevice *d, int64_t now) { return d->powered && now >= d->up_at; }

/* Moves towards the goal as a first-order system, no faster than the speed limit and the torque limit allow. */
static void vdevice_step(struct nm_vdevice *d, int64_t now)
{
    double dt = (double)(now - d->stepped) * 1e-9;
    d->stepped = now;
    if (!d->goal_position || dt <= 0) return;
    double share = value(d, d->torque_limit), limit = value(d, d->speed_limit), top = d->top_speed * fabs(share);
    bool holds = vdevice_listens(d, now) && value(d, d->torque_enable) > 0 && fabs(share) > 0;
    d->velocity = 0;
    if (!holds) return;
    if (limit > 0 && limit < top) top = limit;
    double left = value(d, d->goal_position) - d->position;
    double step = left * (1 - exp(-dt / d->lag));
    if (fabs(step) > top * dt) step = copysign(top * dt, step);
    d->position += step;
    d->velocity = step / dt;
}

/* The GY-85 keeps its last five samples in a ring, one every 10 ms. */
static void refresh_ring(struct nm_vdevice *d, int64_t now)
{
    uint16_t first = d->model->registers[1].address;
    uint32_t sequence = (uint32_t)(now / 10000000);
    for (uint32_t back = d->model->ring; back-- > 0;) {
        uint32_t s = sequence - back;
        uint8_t *record = d->table + first + (s % d->model->ring) * d->model->record;
        if (nm_dxl_get(record + d->model->record - 4u, 4) == s) continue;
        if (record != d->table + first) memcpy(record, d->table + first, d->model->record);
        nm_dxl_put(record + d->model->record - 4u, s, 4);
    }
}

static void vdevice_refresh(struct nm_vbus *bus, struct nm_vdevice *d, int64_t now)
{
    if (d->refresh) {
        d->refresh(d->self, d, now);
        return;
    }
    vdevice_step(d, now);
    put(d, d->present_position, d->position);
    put(d, d->present_velocity, d->velocity);
    put(d, d->present_voltage, bus->volts);
    put(d, d->voltage, bus->volts);
    if (d->model->ring) refresh_ring(d, now);
    if (d->hardware_error) {
        bool bad = bus->volts < value(d, d->min_voltage) || bus->volts > value(d, d->max_voltage);
        uint8_t *byte = d->table + d->hardware_error->address;
        *byte = (uint8_t)(*byte | d->hardware | (bad ? 1 : 0));
    }
}

/* The error byte of an answer: bits in 1.0; in 2.0 only a flag that an error is latched. */
static uint8_t vdevice_error(const struct nm_vbus *bus, const struct nm_vdevice *d)
{
    if (d->model->protocol == 2) return d->hardware_error && d->table[d->hardware_error->address] ? NM_DXL_ALERT : 0;
    bool bad = d->min_voltage && (bus->volts < value(d, d->min_voltage) || bus->volts > value(d, d->max_voltage));
    return (uint8_t)(d->hardware | (bad ? NM_DXL_VOLTAGE : 0));
}

static uint8_t refused(const struct nm_vdevice *d, uint16_t address, uint16_t size)
{
    bool two = d->model->protocol == 2;
    if ((uint32_t)address + size > d->model->size || !size) return two ? NM_DXL_2_RANGE : NM_DXL_RANGE;
    if (!two) return 0;
    bool torque = value(d, d->torque_enable) > 0;
    for (uint32_t i = address; i < (uint32_t)address + size; i++)
        if (d->access[i] == NM_DXL_R || (d->access[i] == NM_DXL_STORED && torque)) return NM_DXL_2_ACCESS;
    return 0;
}

static bool covers(const struct nm_dxl_register *r, uint16_t address, uint16_t size)
{
    return r && r->address >= address && r->address + r->size <= address + size;
}

/* Returns the error part of the status. Read-only bytes keep their value in 1.0. Firmware 1.0 switches the torque on
 * when a goal is written, so a driver must not send goals to a servo that may have been reset. */
static uint8_t vdevice_write(struct nm_vbus *bus, struct nm_vdevice *d, uint16_t address, const uint8_t *bytes,
                             uint16_t size, int64_t now)
{
    uint8_t error = refused(d, address, size);
    if (error) return error;
    vdevice_step(d, now);
    for (uint16_t i = 0; i < size; i++)
        if (d->access[address + i] != NM_DXL_R) d->table[address + i] = bytes[i];
    if (d->model->protocol == 1 && covers(d->goal_position, address, size)) put(d, d->torque_enable, 1);
    if (d->model->protocol == 1 && covers(d->torque_limit, address, size)) d->hardware = 0;
    if (d->model->protocol == 2 && d->hardware) put(d, d->torque_enable, 0);
    if (covers(d->dxl_power, address, size)) vbus_update_power(bus, now);
    if (d->written) d->written(d->self, d, address, size, now);
    return 0;
}

static void vdevice_boot(struct nm_vbus *bus, struct nm_vdevice *d, int64_t now)
{
    vdevice_step(d, now);
    reset(d, d->model->ram);
    d->up_at = now + bus->settings.boot_time;
    if (d->written) d->written(d->self, d, d->model->ram, (uint16_t)(d->model->size - d->model->ram), now);
}

/* Servos and foot boards need the supply, and the power switch of the controller on their wire. */
static bool has_power(const struct nm_vbus *bus, const struct nm_vdevice *d)
{
    if (d->fault == NM_VFAULT_DEAD) return false;
    if (d->model->kind != NM_DXL_SERVO && d->model->kind != NM_DXL_FOOT) return true;
    if (bus->volts < bus->settings.brown_out) return false;
    for (uint32_t i = 0; i < bus->n; i++) {
        const struct nm_vdevice *c = bus->devices[i];
        if (c->wire == d->wire && c->dxl_power && !(value(c, c->dxl_power) > 0)) return false;
    }
    return true;
}

static void vbus_update_power(struct nm_vbus *bus, int64_t now)
{
    for (uint32_t i = 0; i < bus->n; i++) {
        struct nm_vdevice *d = bus->devices[i];
        bool power = has_power(bus, d);
        if (power == d->powered) continue;
        vdevice_step(d, now);
        d->powered = power;
        if (power)
            vdevice_boot(bus, d, now);
        else if (d->written)
            d->written(d->self, d, d->model->ram, 0, now);
    }
}

/* ---- packets: their effects on the devices, and the answers ---- */

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

/* An address or a size in the data of a packet: one byte in 1.0, two in 2.0. */
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

/* A missing device keeps its place in the chain and blocks the later ones. */
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

/* Rhoban's board sends plain reads, one servo at a time on each of its three buses, and collects them into one answer.
 * The chain holds the ids, and the answer is made from all of it at once. */
static void on_router_read(struct nm_vbus *bus, int wire, const struct vinstruction *in)
{
    struct vwire *w = &bus->wires[wire];
    if (!w->chain_router || in->protocol != 1 || in->n < 2) return;
    uint16_t size = in->data[1];
    int64_t lanes[3] = {0}, longest = 0;
    for (uint32_t at = 2; at < in->n && (size + 1u) * (w->chain_n + 1) <= ROUTER_ROOM; at++) {
        struct nm_vdevice *d = nm_vbus_device(bus, wire, in->data[at]);
        if (!d || !d->answers) continue; /* the board leaves out a device that never answered */
        bool there = vdevice_listens(d, in->end);
        lanes[d->lane % 3] += there ? (14 + size) * w->lane_ns + bus->settings.answer_gap : ROUTER_TIMEOUT_NS;
        answer(w, (struct vanswer){.device = d, .address = in->data[0], .size = size});
    }
    for (int i = 0; i < 3; i++) longest = lanes[i] > longest ? lanes[i] : longest;
    w->chain_start = in->end + longest;
}

/* All lengths come from the other end of the wire and are checked. */
static void vbus_execute(struct nm_vbus *bus, int wire, const struct vinstruction *in)
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
    /* the router forwards a plain instruction to its buses, and the answer to the host */
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

/* Makes the bytes of an answer whose time has come; returns 0 if the device is silent. */
static size_t vbus_render(struct nm_vbus *bus, int wire, const struct vanswer *a, int64_t now, uint8_t *out,
                          size_t room)
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

/* ---- wires and time: when bytes pass, which device talks when, what is damaged on the way ---- */

enum { ROUTER_LINK_NS = 1000 /* a byte over USB */, GIVE_UP_1_NS = 100000000, GIVE_UP_2_NS = 1500000 };

struct nm_vbus *nm_vbus_new(void)
{
    struct nm_vbus *bus = nm_calloc(1, sizeof *bus);
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
        return nm_fail(err, "virtual bus: there is no wire %d; the wires are 0 to %d", wire, NM_BUS_WIRES - 1);
    if (baud < 9600 || baud > 12000000) return nm_fail(err, "virtual bus: %u baud is not possible", baud);
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
        nm_fail(err, "virtual bus: there is no known device \"%s\" with protocol %d", model, protocol);
    else if (wire < 0 || wire >= NM_BUS_WIRES || !bus->wires[wire].used)
        nm_fail(err, "virtual bus: there is no wire %d", wire);
    else if (id > 253 || nm_vbus_device(bus, wire, id))
        nm_fail(err, "virtual bus: id %d on wire %d is already used or not allowed", id, wire);
    else if (bus->n == NM_VBUS_DEVICES)
        nm_fail(err, "virtual bus: there can be at most %d devices", NM_VBUS_DEVICES);
    else {
        struct nm_vdevice *d = nm_calloc(1, sizeof *d);
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

/* After a pause a receiver drops half a packet. */
static void forget_after_pause(struct vwire *w, int64_t now)
{
    bool two = w->parser.used > 3 && w->parser.bytes[2] == 0xFD && !w->parser.bytes[3];
    if (w->parser.used > w->parser.taken && now - w->host_end > (two ? GIVE_UP_2_NS : GIVE_UP_1_NS))
        nm_dxl_parser_clear(&w->parser);
}

static void vbus_host_bytes(struct nm_vbus *bus, struct vwire *w, const uint8_t *bytes, size_t n, int64_t now)
{
    vbus_run(bus, now);
    forget_after_pause(w, now);
    int64_t start = w->host_end > now ? w->host_end : now;
    struct nm_dxl_packet p;
    for (size_t i = 0; i < n; i++) {
        w->host_end = (w->host_end > now ? w->host_end : now) + w->byte_ns;
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

/* Damages an answer by the fault of its device; returns the length that is sent, and by how much it is late. */
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

/* Sends the answer whose turn it is. After silence and after half an answer the later devices never get their turn. */
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
        w->counts.answers++;
    }
    w->chain_at = n == whole && whole && w->chain_at < w->chain_n ? w->chain_at + 1 : w->chain_n;
    w->chain_start = w->talk_end;
}

/* The return delay and the processing time pass before the first byte of an answer. */
static int64_t turn(const struct nm_vbus *bus, const struct vwire *w)
{
    if (w->chain_at >= w->chain_n) return INT64_MAX;
    const struct nm_vdevice *d = w->chain[w->chain_at].device;
    int64_t delay = d && d->return_delay ? d->table[d->return_delay->address] * 2000 : 0;
    return w->chain_start + delay + bus->settings.answer_gap;
}

/* Two talked at the same time: the instruction is lost and the answer is damaged. */
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
    w->chain_at = w->chain_n = 0; /* a new instruction ends the wait for older answers */
    if (!collided(w, in)) vbus_execute(bus, wire, in);
    w->queue_at = (w->queue_at + 1) % VBUS_INSTRUCTIONS;
    w->queue_n--;
    return true;
}

static void vbus_run(struct nm_vbus *bus, int64_t now)
{
    for (int i = 0; i < NM_BUS_WIRES; i++)
        while (bus->wires[i].used && run_wire(bus, i, now)) {}
}

/* The time of the next event; INT64_MAX: none. */
static int64_t vbus_next(const struct nm_vbus *bus)
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

static size_t vbus_take(struct vwire *w, uint8_t *bytes, size_t room, int64_t now)
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

/* ---- real time: one thread serves a pseudo terminal for each wire ---- */

/* Every byte has a time at which a real wire would have carried it. The thread passes it on at that time or a little
 * later, never earlier. */

void nm_vbus_lock(struct nm_vbus *bus) { pthread_mutex_lock(&bus->mutex); }

void nm_vbus_unlock(struct nm_vbus *bus) { pthread_mutex_unlock(&bus->mutex); }

static void wake(struct nm_vbus *bus)
{
    uint64_t one = 1;
    if (bus->wake >= 0 && write(bus->wake, &one, sizeof one) < 0) return;
}

static void close_wire(struct vwire *w)
{
    if (w->master >= 0) close(w->master);
    if (w->slave >= 0) close(w->slave);
    w->master = w->slave = -1;
}

/* We keep the slave open, so that the master does not report a hang-up while nobody uses the port. */
static int open_wire(struct vwire *w, struct nm_err *err)
{
    char name[128];
    struct termios raw;
    memset(&raw, 0, sizeof raw);
    cfmakeraw(&raw);
    if (openpty(&w->master, &w->slave, name, &raw, NULL))
        return nm_fail(err, "virtual bus: cannot open a pseudo terminal: %s", strerror(errno));
    fcntl(w->master, F_SETFL, fcntl(w->master, F_GETFL) | O_NONBLOCK);
    fcntl(w->master, F_SETFD, FD_CLOEXEC);
    fcntl(w->slave, F_SETFD, FD_CLOEXEC);
    char fresh[sizeof w->link + 8];
    snprintf(fresh, sizeof fresh, "%s.new", w->link);
    unlink(fresh);
    if (symlink(name, fresh) || rename(fresh, w->link)) {
        close_wire(w);
        return nm_fail(err, "virtual bus: cannot create the link %s: %s", w->link, strerror(errno));
    }
    return 0;
}

/* Leaves a file alone that is not a link. */
static int take_link(struct vwire *w, const char *link, struct nm_err *err)
{
    char target[16];
    if (strlen(link) >= sizeof w->link) return nm_fail(err, "virtual bus: the path %s is too long", link);
    if (access(link, F_OK) == 0 && readlink(link, target, sizeof target) < 0)
        return nm_fail(err, "virtual bus: %s exists and is not a link; choose another path", link);
    strcpy(w->link, link);
    return open_wire(w, err);
}

static void serve_wire(struct nm_vbus *bus, struct vwire *w)
{
    uint8_t bytes[1024];
    if (w->master < 0) return;
    ssize_t n = read(w->master, bytes, sizeof bytes);
    if (n > 0) vbus_host_bytes(bus, w, bytes, (size_t)n, vbus_now(bus));
    size_t due = vbus_take(w, bytes, sizeof bytes, vbus_now(bus));
    if (due && write(w->master, bytes, due) < 0) w->parser.garbage++; /* a host that does not read loses bytes */
}

static void *serve(void *self)
{
    struct nm_vbus *bus = self;
    prctl(PR_SET_NAME, "nm-devices");
    prctl(PR_SET_TIMERSLACK, 1000UL);
    struct sched_param how = {.sched_priority = bus->settings.priority};
    if (how.sched_priority > 0) pthread_setschedparam(pthread_self(), SCHED_FIFO, &how); /* not allowed everywhere */
    pthread_mutex_lock(&bus->mutex);
    while (!bus->stop) {
        struct pollfd fds[NM_BUS_WIRES + 1] = {{.fd = bus->wake, .events = POLLIN}};
        int64_t now = vbus_now(bus);
        vbus_run(bus, now);
        for (int i = 0; i < NM_BUS_WIRES; i++) {
            serve_wire(bus, &bus->wires[i]);
            fds[i + 1] = (struct pollfd){.fd = bus->wires[i].master, .events = POLLIN};
        }
        int64_t next = vbus_next(bus), left = next == INT64_MAX ? 1000000000 : next - vbus_now(bus);
        struct timespec timeout = {left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0};
        pthread_mutex_unlock(&bus->mutex);
        int ready = ppoll(fds, NM_BUS_WIRES + 1, &timeout, NULL);
        uint64_t count;
        if (ready > 0 && fds[0].revents && read(bus->wake, &count, sizeof count) < 0) errno = 0;
        pthread_mutex_lock(&bus->mutex);
    }
    pthread_mutex_unlock(&bus->mutex);
    return NULL;
}

int nm_vbus_start(struct nm_vbus *bus, const char *const links[NM_BUS_WIRES], struct nm_err *err)
{
    if (bus->threaded) return nm_fail(err, "virtual bus: it is already running");
    bus->threaded = true;
    bus->stop = false;
    int64_t now = vbus_now(bus);
    for (uint32_t i = 0; i < bus->n; i++) bus->devices[i]->stepped = bus->devices[i]->up_at = now;
    bus->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int failed = bus->wake < 0 ? nm_fail(err, "virtual bus: cannot open an eventfd: %s", strerror(errno)) : 0;
    for (int i = 0; i < NM_BUS_WIRES && !failed; i++)
        if (bus->wires[i].used && links[i]) failed = take_link(&bus->wires[i], links[i], err);
    if (!failed && pthread_create(&bus->thread, NULL, serve, bus))
        failed = nm_fail(err, "virtual bus: cannot start a thread");
    if (!failed) return 0;
    for (int i = 0; i < NM_BUS_WIRES; i++) close_wire(&bus->wires[i]);
    if (bus->wake >= 0) close(bus->wake);
    bus->wake = -1;
    bus->threaded = false;
    return -1;
}

void nm_vbus_stop(struct nm_vbus *bus)
{
    if (!bus->threaded) return;
    pthread_mutex_lock(&bus->mutex);
    bus->stop = true;
    wake(bus);
    pthread_mutex_unlock(&bus->mutex);
    pthread_join(bus->thread, NULL);
    for (int i = 0; i < NM_BUS_WIRES; i++) {
        close_wire(&bus->wires[i]);
        if (bus->wires[i].link[0]) unlink(bus->wires[i].link);
        bus->wires[i].link[0] = '\0';
    }
    close(bus->wake);
    bus->wake = -1;
    bus->now = vbus_now(bus);
    bus->threaded = false;
}

int nm_vbus_plug(struct nm_vbus *bus, int wire, bool in, struct nm_err *err)
{
    struct vwire *w = &bus->wires[wire];
    if (in == w->plugged) return 0;
    w->plugged = in;
    w->out_n = 0;
    nm_dxl_parser_clear(&w->parser);
    if (!bus->threaded || !w->link[0]) return 0;
    int result = 0;
    if (in)
        result = open_wire(w, err);
    else {
        close_wire(w);
        unlink(w->link);
    }
    wake(bus);
    return result;
}
