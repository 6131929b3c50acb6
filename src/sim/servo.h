/* One simulated servo. The motor is that of the Better Actuator Models work (Rhoban): the firmware turns the error into
 * a duty, the duty into a voltage, the voltage into a torque; the back-EMF is left to the integrator as damping, which
 * it treats implicitly. Goals and positions are whole steps of the encoder. The encoder sits on the motor's side of the
 * gear and shows the error of a badly mounted horn; the play of the gear lies behind it, as a hinge of its own
 * (mjcf.h).
 *
 * Everything here is pure: numbers in, numbers out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "body/robot.h"

struct nm_servo_model {
    double stall;      /* Nm at full duty: kt V / R               */
    double free_speed; /* rad/s at full duty, without load: V / kt */
    double duty_gain;  /* 1/rad for each unit of P                */
    double max_duty;
    double brake;    /* Nm s/rad while powered: viscous and back-EMF */
    double drag;     /* Nm s/rad while not powered: viscous     */
    double friction; /* Nm                                      */
    double step;     /* rad of the encoder; 0: none             */
    double zero;     /* rad, shown when the joint is at zero    */
    double armature; /* kg m2 */
    uint32_t p;      /* default gain, the firmware's units      */
};

/* From the joint's servo; without one, from the joint's own effort and speed; without those it is free (stall 0). */
struct nm_servo_model nm_servo_model_of(const struct nm_body *body, uint32_t joint);

struct nm_joint_goal {
    double position;     /* rad, m                                        */
    double p;            /* gain, the firmware's units; 0: the folder's   */
    double torque_limit; /* share of the duty, 0 to 1                     */
    bool on;             /* torque enabled; otherwise only friction holds */
};

struct nm_servo_state {
    struct nm_joint_goal goal;
    double duty; /* of the last step, -1 to 1 */
};

/* What the servo reports as its position: that of its motor. */
double nm_servo_measure(const struct nm_servo_model *model, double position);

/* Torque of the motor at this position, without damping and friction. */
double nm_servo_torque(const struct nm_servo_model *model, struct nm_servo_state *state, double position);
