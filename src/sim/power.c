#include "sim/power.h"

#include <math.h>

static const double HALL = 25;       /* degrees C                                                        */
static const double COOLED = 10;     /* degrees below its limit at which a servo goes on                 */
static const double USUAL_LOAD = 4;  /* A of a kid-size robot that walks                                 */
static const double HOUR = 3600;     /* s                                                                */
static const double LEAST_VOLTS = 1; /* an empty pack still shows something                              */

/* A lithium-polymer cell at rest, as chargers and their makers tabulate it: V at 0, 5, 10 … 100 % of its charge. */
static const double cell[] = {3.27, 3.61, 3.69, 3.71, 3.73, 3.75, 3.77, 3.79, 3.80, 3.82, 3.84,
                              3.85, 3.87, 3.91, 3.95, 3.98, 4.02, 4.08, 4.11, 4.15, 4.20};
enum { LAST = sizeof cell / sizeof *cell - 1 };

double nm_power_cell(double charge)
{
    double at = fmin(fmax(charge, 0), 1) * LAST;
    int low = (int)fmin(at, LAST - 1);
    return cell[low] + (cell[low + 1] - cell[low]) * (at - low);
}

/* The charge at which a cell shows this voltage: the table read backwards. */
static double charge_at(double volts)
{
    int low = 0;
    while (low < LAST - 1 && cell[low + 1] < volts) low++;
    double within = (volts - cell[low]) / (cell[low + 1] - cell[low]);
    return fmin(fmax((low + within) / LAST, 0), 1);
}

static double at_terminals(const struct nm_power *p, double current)
{
    const struct nm_battery *b = &p->body->battery;
    return fmax(b->cells * nm_power_cell(p->charge) - b->resistance * current, LEAST_VOLTS);
}

void nm_power_start(struct nm_power *p, const struct nm_body *body, double charge)
{
    const struct nm_battery *b = &body->battery;
    *p = (struct nm_power){.body = body, .charge = charge, .voltage = body->voltage, .mains = !(body->voltage > 0)};
    for (uint32_t j = 0; j < body->n_joints; j++) p->temperature[j] = HALL;
    if (p->mains) return;
    if (!(charge > 0)) p->charge = charge_at((body->voltage + b->resistance * USUAL_LOAD) / b->cells);
    p->current = b->electronics / body->voltage;
    p->voltage = at_terminals(p, p->current);
}

void nm_power_mains(struct nm_power *p, double volts)
{
    p->mains = true;
    p->voltage = volts;
}

/* A of one motor: the bridge sets a voltage, the turning rotor another one against it. */
static double motor_current(const struct nm_servo_type *t, const struct nm_servo_state *motor, double volts,
                            double speed)
{
    return motor->goal.on ? (motor->duty * volts - t->kt * speed) / t->resistance : 0;
}

static void warm(struct nm_power *p, uint32_t joint, const struct nm_servo_type *t, double watts, double dt)
{
    double *now = &p->temperature[joint];
    uint64_t bit = 1ull << joint;
    *now += (watts - (*now - HALL) / t->thermal_resistance) / t->heat_capacity * dt;
    if (*now >= t->max_temperature) p->hot |= bit;
    if (*now < t->max_temperature - COOLED) p->hot &= ~bit;
}

void nm_power_step(struct nm_power *p, const struct nm_servo_state *motors, const double *speed, double dt)
{
    const struct nm_body *body = p->body;
    double drawn = 0;
    for (uint32_t i = 0; i < body->n_servos; i++) {
        uint32_t j = body->servos[i].joint;
        const struct nm_servo_type *t = &body->servo_types[body->servos[i].type];
        double current = motor_current(t, &motors[j], p->voltage, speed[j]);
        if (!isfinite(current)) continue;
        drawn += motors[j].duty * current;
        warm(p, j, t, current * current * t->resistance, dt);
    }
    /* what braking motors give back is used up by the others, and never charges the battery */
    p->current = fmax(drawn, 0) + (p->voltage > 0 ? body->battery.electronics / fmax(p->voltage, LEAST_VOLTS) : 0);
    if (p->mains) return;
    p->charge = fmax(p->charge - p->current * dt / (body->battery.capacity * HOUR), 0);
    p->voltage = at_terminals(p, p->current);
}
