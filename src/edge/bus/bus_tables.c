#include "edge/bus/bus_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int take_wires(const struct nm_body *body, struct nm_bus_tables *t, struct nm_err *err)
{
    if (!body->n_buses || body->n_buses > NM_BUS_WIRES)
        return nm_fail(err, "%s: it has %u servo buses, but there can be 1 to %d", body->name, body->n_buses,
                       NM_BUS_WIRES);
    t->set.wires = (int)body->n_buses;
    for (uint32_t i = 0; i < body->n_buses; i++) {
        t->set.baud[i] = body->buses[i].baud;
        t->port[i] = body->buses[i].device;
        snprintf(t->set.path[i], sizeof t->set.path[i], "%s", body->buses[i].name);
    }
    return 0;
}

static void take_servo(const struct nm_body *body, const struct nm_servo *from, struct nm_bus_servo *to)
{
    const struct nm_joint *joint = &body->joints[from->joint];
    *to = (struct nm_bus_servo){.protocol = (uint8_t)body->buses[from->bus].protocol,
                                .id = (uint8_t)from->id,
                                .wire = (uint8_t)from->bus,
                                .start = nm_servo_of_joint(from, 0),
                                .p = (uint16_t)from->p,
                                .i = (uint16_t)from->i,
                                .d = (uint16_t)from->d};
    snprintf(to->name, sizeof to->name, "%s", joint->name);
    snprintf(to->model, sizeof to->model, "%s", body->servo_types[from->type].name);
    if (isfinite(joint->lower) && isfinite(joint->upper)) {
        double a = nm_servo_of_joint(from, joint->lower), b = nm_servo_of_joint(from, joint->upper);
        to->min = fmin(a, b);
        to->max = fmax(a, b);
    }
}

/* Of the boards of that kind the one whose usual id is nearest to this id. */
static const struct nm_dxl_model *board_model(const char *kind, int protocol, int id)
{
    static const struct {
        const char *word;
        enum nm_dxl_kind kind;
    } words[] = {{"foot", NM_DXL_FOOT}, {"imu", NM_DXL_IMU}, {"pins", NM_DXL_PINS}, {"board", NM_DXL_CONTROLLER}};
    const struct nm_dxl_model *best = nm_dxl_model(kind, protocol);
    if (best) return best;
    size_t n;
    const struct nm_dxl_model *models = nm_dxl_models(&n);
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (size_t i = 0; i < n && !strcmp(kind, words[w].word); i++) {
            if (models[i].kind != words[w].kind || models[i].protocol != protocol) continue;
            if (!best || abs(models[i].usual_id - id) < abs(best->usual_id - id)) best = &models[i];
        }
    return best;
}

static int take_board(const struct nm_body *body, const struct nm_device *from, struct nm_bus_board *to,
                      struct nm_err *err)
{
    int protocol = (int)body->buses[from->bus].protocol;
    const struct nm_dxl_model *model = board_model(from->kind, protocol, (int)from->id);
    if (!model)
        return nm_fail(err,
                       "%s: device %s is a \"%s\", which is neither a known model of protocol %d nor foot, imu, "
                       "pins or board",
                       body->name, from->name, from->kind, protocol);
    *to = (struct nm_bus_board){.protocol = (uint8_t)protocol, .id = (uint8_t)from->id, .wire = (uint8_t)from->bus};
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->model, sizeof to->model, "%s", model->name);
    return 0;
}

int nm_bus_tables(const struct nm_body *body, struct nm_bus_tables *tables, struct nm_err *err)
{
    int failed = 0;
    *tables = (struct nm_bus_tables){.set = nm_bus_defaults(), .voltage = body->voltage};
    if (body->n_servos > NM_BUS_SERVOS || body->n_devices > NM_BUS_BOARDS)
        return nm_fail(err, "%s: it has %u servos and %u devices, but there can be at most %d and %d", body->name,
                       body->n_servos, body->n_devices, NM_BUS_SERVOS, NM_BUS_BOARDS);
    if (take_wires(body, tables, err)) return -1;
    for (uint32_t i = 0; i < body->n_servos; i++)
        take_servo(body, &body->servos[i], &tables->servos[tables->n_servos++]);
    for (uint32_t i = 0; i < body->n_devices; i++)
        failed |= take_board(body, &body->devices[i], &tables->boards[tables->n_boards++], err);
    return failed;
}

struct nm_vbus *nm_vbus_of_tables(const struct nm_bus_tables *t, struct nm_err *err)
{
    struct nm_vbus *bus = nm_vbus_new();
    bool failed = !bus;
    for (int i = 0; i < t->set.wires && !failed; i++)
        failed = nm_vbus_wire(bus, i, t->set.baud[i], t->set.router[i], err) != 0;
    for (int i = 0; i < t->n_servos && !failed; i++) {
        const struct nm_bus_servo *s = &t->servos[i];
        struct nm_vdevice *d = nm_vbus_add(bus, s->wire, s->id, s->model, s->protocol, err);
        if (d) d->position = s->start;
        failed = !d;
    }
    for (int i = 0; i < t->n_boards && !failed; i++)
        failed = !nm_vbus_add(bus, t->boards[i].wire, t->boards[i].id, t->boards[i].model, t->boards[i].protocol, err);
    if (!failed && t->voltage > 0) nm_vbus_supply(bus, t->voltage);
    if (!failed) return bus;
    nm_vbus_free(bus);
    return NULL;
}
