/* Boards on the bus: inertial units, foot cells, buttons, lights, the power switch of a controller. */
#include "edge/bus/driver_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* name_suffix, NULL where the model has none. */
static const struct nm_dxl_register *row(const struct board *b, const char *name, const char *suffix)
{
    char full[32];
    snprintf(full, sizeof full, "%s_%s", name, suffix);
    return nm_dxl_register(b->device->model, full);
}

static void include(struct span *span, const struct nm_dxl_register *r)
{
    if (!r) return;
    unsigned first = r->address, end = r->address + r->size;
    if (span->size) {
        if (span->address < first) first = span->address;
        if (span->address + span->size > end) end = span->address + span->size;
    }
    *span = (struct span){(uint16_t)first, (uint16_t)(end - first)};
}

void board_bind(struct board *b)
{
    static const char *const axes[] = {"x", "y", "z"}, *const quaternion[] = {"w", "x", "y", "z"},
                             *const numbers[] = {"0", "1", "2", "3"}, *const lights[] = {"panel", "head", "eye"};
    const struct nm_dxl_model *m = b->device->model;
    for (int i = 0; i < 3; i++) {
        b->gyro[i] = row(b, "gyro", axes[i]);
        b->acc[i] = row(b, "acc", axes[i]);
        b->led[i] = row(b, "led", lights[i]);
        if (!b->led[i]) b->led[i] = row(b, "led", numbers[i]);
        include(&b->block, b->gyro[i]);
        include(&b->block, b->acc[i]);
    }
    for (int i = 0; i < 4; i++) {
        b->orientation[i] = row(b, "quaternion", quaternion[i]);
        b->cell[i] = row(b, "cell", numbers[i]);
        include(&b->block, b->orientation[i]);
        include(&b->block, b->cell[i]);
    }
    b->voltage = nm_dxl_register(m, "voltage");
    b->buttons = nm_dxl_register(m, "buttons");
    b->dxl_power = nm_dxl_register(m, "dxl_power");
    include(&b->block, b->voltage);
    include(&b->block, b->buttons);
    include(&b->block, b->dxl_power);
    for (int i = 0; i < 2; i++) {
        b->more_buttons[i] = row(b, "button", numbers[i + 1]);
        include(&b->block, b->more_buttons[i]);
    }
    if (m->ring) b->block = (struct span){m->registers[1].address, (uint16_t)(m->ring * m->record)};
    b->dxl_power_read = -1;
    b->state.voltage = NAN;
}

/* Of a ring of samples the one with the highest sequence number, counted round the end of its range. */
static const uint8_t *newest(const struct nm_dxl_model *m, const uint8_t *data)
{
    const uint8_t *best = data;
    for (unsigned i = 1; i < m->ring; i++) {
        const uint8_t *record = data + i * m->record;
        uint32_t ahead = nm_dxl_get(record + m->record - 4u, 4) - nm_dxl_get(best + m->record - 4u, 4);
        if (ahead - 1 < UINT32_MAX / 2) best = record;
    }
    return best;
}

static double value(const struct nm_dxl_register *r, struct span span, const uint8_t *data, double otherwise)
{
    return span_covers(span, r) ? nm_dxl_decode(r, data + (r->address - span.address)) : otherwise;
}

void board_read(struct nm_bus_driver *bus, struct board *b, struct span span, const uint8_t *data)
{
    struct nm_bus_board_state *to = &b->state;
    const struct nm_dxl_model *m = b->device->model;
    if (span.address != b->block.address || span.size != b->block.size) return;
    if (m->ring) {
        data = newest(m, data);
        span.size = m->record;
    }
    double gyro_gain = b->row.gyro_gain != 0 ? b->row.gyro_gain : 1;
    for (int i = 0; i < 3; i++) {
        to->gyro[i] = gyro_gain * value(b->gyro[i], span, data, 0);
        to->acc[i] = value(b->acc[i], span, data, 0);
    }
    for (int i = 0; i < 4; i++) {
        double gain = b->row.cell_gain[i] != 0 ? b->row.cell_gain[i] : 1;
        to->orientation[i] = value(b->orientation[i], span, data, 0);
        to->cell[i] = b->cell[i] ? gain * (value(b->cell[i], span, data, 0) - b->row.cell_zero[i]) : 0;
    }
    to->voltage = value(b->voltage, span, data, NAN);
    to->buttons = (uint32_t)value(b->buttons, span, data, 0);
    for (int i = 0; i < 2; i++)
        if (value(b->more_buttons[i], span, data, 0) > 0) to->buttons |= 2u << i;
    if (b->dxl_power) b->dxl_power_read = value(b->dxl_power, span, data, 0) > 0;
    to->stamp = bus->io.now(bus->io.self);
    to->fresh = true;
}
