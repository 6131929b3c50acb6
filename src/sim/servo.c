#include "sim/servo.h"

#include <math.h>

/* A joint that only tells its greatest torque and speed gets a motor that has them, and a gain that asks for all of the
 * torque at a fifth of a radian. */
static struct nm_servo_model unknown_motor(const struct nm_joint *j)
{
    struct nm_servo_model m = {
        .armature = fmax(j->armature, 0.005), .drag = j->damping, .friction = j->friction, .p = 32};
    if (!isfinite(j->effort) || !(j->effort > 0)) {
        m.brake = m.drag;
        return m;
    }
    m.stall = j->effort;
    m.free_speed = isfinite(j->velocity) && j->velocity > 0 ? j->velocity : 6;
    m.max_duty = 1;
    m.duty_gain = 5.0 / 32;
    m.brake = m.drag + m.stall / m.free_speed;
    return m;
}

struct nm_servo_model nm_servo_model_of(const struct nm_body *body, uint32_t joint)
{
    const struct nm_joint *j = &body->joints[joint];
    if (j->servo < 0) return unknown_motor(j);
    const struct nm_servo *servo = &body->servos[j->servo];
    const struct nm_servo_type *t = &body->servo_types[servo->type];
    if (!(t->kt > 0 && t->resistance > 0)) return unknown_motor(j);
    return (struct nm_servo_model){
        .stall = t->kt * body->voltage / t->resistance,
        .free_speed = body->voltage / t->kt,
        .duty_gain = t->duty_gain,
        .max_duty = t->max_duty,
        .brake = t->damping + t->kt * t->kt / t->resistance,
        .drag = t->damping,
        .friction = t->friction,
        .step = t->encoder_steps ? 2 * M_PI / t->encoder_steps : 0,
        .armature = t->armature,
        .p = servo->p,
    };
}

static double whole_steps(const struct nm_servo_model *m, double angle)
{
    return m->step > 0 ? m->step * rint(angle / m->step) : angle;
}

double nm_servo_measure(const struct nm_servo_model *m, double position) { return whole_steps(m, position + m->zero); }

double nm_servo_torque(const struct nm_servo_model *m, struct nm_servo_state *s, double position)
{
    if (!s->goal.on) {
        s->duty = 0;
        return 0;
    }
    double p = s->goal.p > 0 ? s->goal.p : m->p, most = m->max_duty * fmin(fmax(s->goal.torque_limit, 0), 1);
    double duty = m->duty_gain * p * (whole_steps(m, s->goal.position) - nm_servo_measure(m, position));
    s->duty = fmin(fmax(duty, -most), most);
    return m->stall * s->duty;
}
