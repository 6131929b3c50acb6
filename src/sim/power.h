/* Battery and heat of one simulated robot.
 *
 * The battery is a lithium-polymer pack: a voltage that falls with its charge, behind a resistance. A servo draws its
 * duty times the current of its motor, since its bridge works as a step-down converter; the computer draws a constant
 * power. Torque, speed and stiffness of the servos follow the voltage, because their firmware sets a duty.
 *
 * A servo is one lump of metal. The losses in its copper heat it, the air cools it, and beyond its limit it switches
 * itself off until it has cooled. Its copper is taken to be as good when hot as when cold.
 *
 * Everything here is pure: numbers in, numbers out. The numbers of a robot come from its servos.yaml. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "body/robot.h"
#include "sim/servo.h"

struct nm_power {
    const struct nm_body *body;
    double charge;                 /* of the battery, 0 to 1                                       */
    double current;                /* A that it gives                                              */
    double voltage;                /* V at the servos                                              */
    bool mains;                    /* a supply of constant voltage stands in for the battery       */
    double temperature[NM_JOINTS]; /* degrees C                                                    */
    uint64_t hot;                  /* a bit a joint: too hot, and not yet cool enough to go on     */
};

/* charge: 0 to 1, or NM_POWER_NOMINAL for as much as gives the folder's voltage under the load of a usual walk. Servos
 * begin as warm as the hall. A robot whose folder names no voltage hangs on the mains. */
#define NM_POWER_NOMINAL 0.0
void nm_power_start(struct nm_power *power, const struct nm_body *body, double charge);

/* A supply of constant voltage from now on. */
void nm_power_mains(struct nm_power *power, double volts);

/* The next dt seconds with these motors, at these speeds in rad/s (one a joint each). */
void nm_power_step(struct nm_power *power, const struct nm_servo_state *motors, const double *speed, double dt);

/* V of one cell without load. */
double nm_power_cell(double charge);
