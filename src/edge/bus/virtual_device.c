/* Devices of the virtual bus: control tables with their access rules, power, and the built-in servo. */
#include "edge/bus/virtual_internal.h"

#include <math.h>
#include <string.h>

static double value(const struct nm_vdevice *d, const struct nm_dxl_register *r)
{
    return r ? nm_dxl_decode(r, d->table + r->address) : NAN;
}

static void put(struct nm_vdevice *d, const struct nm_dxl_register *r, double v)
{
    if (r) nm_dxl_encode(r, v, d->table + r->address);
}

/* Factory values from `first` on; 0 includes what is kept without power. */
static void reset(struct nm_vdevice *d, uint16_t first)
{
    const struct nm_dxl_register *r;
    memset(d->table + first, 0, sizeof d->table - first);
    for (size_t i = 0; (r = nm_dxl_register_at(d->model, i)); i++)
        if (r->address >= first) nm_dxl_put(d->table + r->address, r->initial, r->size);
    d->pending_size = 0;
}

void vdevice_init(struct nm_vdevice *d, const struct nm_dxl_model *model, uint8_t id, int wire)
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
    /* no-load speed at 12 V: all of the supply against the back-EMF */
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

bool vdevice_listens(const struct nm_vdevice *d, int64_t now) { return d->powered && now >= d->up_at; }

/* First order towards the goal, no faster than the speed limit and than what the torque limit leaves. */
void vdevice_step(struct nm_vdevice *d, int64_t now)
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

void vdevice_refresh(struct nm_vbus *bus, struct nm_vdevice *d, int64_t now)
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

/* The error byte of an answer: bits in 1.0; in 2.0 only that something is latched. */
uint8_t vdevice_error(const struct nm_vbus *bus, const struct nm_vdevice *d)
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

/* Returns the error part of the status. Read-only bytes keep their value in 1.0. A goal written to the 1.0 firmware
 * switches the torque on: the reason why a driver must not send goals to a servo that may have been reset. */
uint8_t vdevice_write(struct nm_vbus *bus, struct nm_vdevice *d, uint16_t address, const uint8_t *bytes, uint16_t size,
                      int64_t now)
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

void vdevice_boot(struct nm_vbus *bus, struct nm_vdevice *d, int64_t now)
{
    vdevice_step(d, now);
    reset(d, d->model->ram);
    d->up_at = now + bus->settings.boot_time;
    if (d->written) d->written(d->self, d, d->model->ram, (uint16_t)(d->model->size - d->model->ram), now);
}

/* Servos and foot boards hang on the supply, and on the power switch of a controller on their wire. */
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

void vbus_update_power(struct nm_vbus *bus, int64_t now)
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
