/* What a servo says: which rows of its control table matter, and what is believed of what it answers. */
#include "edge/bus/driver_internal.h"

#include <math.h>

#define AGREE     0.1  /* rad, two readings that confirm each other */
#define TOP_SPEED 15.0 /* rad/s, no servo of the tables is faster   */

static struct span span_of(const struct nm_dxl_register *const *rows, size_t n)
{
    unsigned first = UINT16_MAX, end = 0;
    for (size_t i = 0; i < n; i++) {
        if (!rows[i]) continue;
        if (rows[i]->address < first) first = rows[i]->address;
        if (rows[i]->address + rows[i]->size > end) end = rows[i]->address + rows[i]->size;
    }
    return end ? (struct span){(uint16_t)first, (uint16_t)(end - first)} : (struct span){0, 0};
}
#define SPAN_OF(...)                                                                                                   \
    span_of((const struct nm_dxl_register *const[]){__VA_ARGS__},                                                      \
            sizeof((const struct nm_dxl_register *const[]){__VA_ARGS__}) / sizeof(void *))

void servo_bind(struct servo *s)
{
    const struct {
        const char *name;
        const struct nm_dxl_register **to;
    } rows[] = {
        {"torque_enable", &s->torque_enable},
        {"goal_position", &s->goal_position},
        {"speed_limit", &s->speed_limit},
        {"torque_limit", &s->torque_limit},
        {"present_position", &s->position},
        {"present_velocity", &s->velocity},
        {"present_load", &s->load},
        {"present_current", &s->current},
        {"present_voltage", &s->voltage},
        {"present_temperature", &s->temperature},
        {"p_gain", &s->p},
        {"i_gain", &s->i},
        {"d_gain", &s->d},
        {"hardware_error", &s->hardware_error},
        {"velocity_feed", &s->velocity_feed},
        {"acceleration_feed", &s->acceleration_feed},
        {"mode", &s->mode},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i].to = nm_dxl_register(s->device->model, rows[i].name);
    /* the 1.0 firmware's current stands far from the rest: its load does */
    if (s->load) s->current = NULL;
    s->fast = SPAN_OF(s->position, s->velocity, s->load, s->current);
    s->slow = SPAN_OF(s->position, s->velocity, s->load, s->current, s->voltage, s->temperature);
    s->goal_span = SPAN_OF(s->goal_position);
    s->setup = SPAN_OF(s->p, s->i, s->d, s->torque_limit);
    /* 1.0 has all of it in 20 bytes */
    bool small = s->device->model->protocol == 1;
    s->verify = small ? SPAN_OF(s->torque_enable, s->temperature) : SPAN_OF(s->torque_enable, s->hardware_error);
    s->volts = s->celsius = NAN;
    s->share_read = s->goal_read = NAN;
    s->sent_limit = s->sent_speed = -1;
    s->sent_p = servo_gain(s, s->p, s->row.p);
    s->phase = NM_BUS_FOUND;
}

uint32_t count_of(const struct nm_dxl_register *r, double value)
{
    uint8_t bytes[4];
    nm_dxl_encode(r, value, bytes);
    return nm_dxl_get(bytes, r->size);
}

/* The gain to use, in counts: the table's, or as the maker set it. */
uint32_t servo_gain(const struct servo *s, const struct nm_dxl_register *r, uint16_t wanted)
{
    return wanted || s->row.p ? wanted : r->initial;
}

/* A servo that is to be soft still knows where its goal is: at least one count. */
uint32_t servo_p(const struct servo *s, const struct nm_bus_goal *goal)
{
    double full = servo_gain(s, s->p, s->row.p), share = goal->stiffness > 0 ? fmin(goal->stiffness, 1) : 1;
    return (uint32_t)fmax(1, rint(full * share));
}

static double decoded(const struct nm_dxl_register *r, struct span span, const uint8_t *data)
{
    return nm_dxl_decode(r, data + (r->address - span.address));
}

/* A reading farther off than any servo turns is believed only when the next one says the same: the checksum of 1.0 lets
 * one damaged answer in 256 pass. */
static void believe(struct servo *s, double reading, int64_t now)
{
    double dt = (double)(now - s->read_at) * 1e-9, reach = AGREE + TOP_SPEED * dt;
    if (s->phase == NM_BUS_FOUND && !s->confirmed) {
        s->confirmed = s->read_at && fabs(reading - s->at) < AGREE;
    } else if (fabs(reading - s->at) > reach && !(s->doubt && fabs(reading - s->doubtful) < reach)) {
        s->doubt = true;
        s->doubtful = reading;
        return;
    }
    s->doubt = false;
    s->at = reading;
    s->read_at = now;
}

static void read_settings(struct servo *s, struct span span, const uint8_t *data)
{
    if (s->phase < NM_BUS_RAMP || !span_covers(span, s->p) || !span_covers(span, s->torque_limit)) return;
    uint32_t p = nm_dxl_get(data + (s->p->address - span.address), s->p->size);
    uint32_t limit = nm_dxl_get(data + (s->torque_limit->address - span.address), s->torque_limit->size);
    if (p != s->sent_p) s->settings_wrong = true;
    /* the 1.0 firmware takes its strength away when it shuts off; anything else was lost on the way */
    if (s->sent_limit > 0 && !limit)
        s->shut_off = true;
    else if (s->sent_limit >= 0 && limit != (uint32_t)s->sent_limit)
        s->sent_limit = -1;
}

static void read_effort(struct servo *s, struct span span, const uint8_t *data)
{
    const struct nm_dxl_model *m = s->device->model;
    double volts = s->volts > 6 ? s->volts : 12;
    if (span_covers(span, s->load)) s->effort = decoded(s->load, span, data) * (double)m->stall_torque * volts / 12;
    if (span_covers(span, s->current)) s->effort = decoded(s->current, span, data) * (double)m->ampere_torque;
}

void servo_read(struct nm_bus_driver *bus, struct servo *s, struct span span, const uint8_t *data)
{
    int64_t now = bus->io.now(bus->io.self);
    if (span_covers(span, s->position)) believe(s, decoded(s->position, span, data), now);
    if (span_covers(span, s->velocity)) s->speed = decoded(s->velocity, span, data);
    if (span_covers(span, s->voltage)) s->volts = decoded(s->voltage, span, data);
    if (span_covers(span, s->temperature)) s->celsius = decoded(s->temperature, span, data);
    read_effort(s, span, data);
    if (span_covers(span, s->goal_position)) s->goal_read = decoded(s->goal_position, span, data);
    if (span_covers(span, s->torque_limit)) {
        s->share_read = decoded(s->torque_limit, span, data);
        read_settings(s, span, data);
    }
    if (span_covers(span, s->hardware_error)) s->hardware = data[s->hardware_error->address - span.address];
    if (span_covers(span, s->torque_enable)) {
        s->torque_on = data[s->torque_enable->address - span.address] != 0;
        s->verified = true;
        s->check = false;
    }
}
