/* Lets a person drive: turns joystick or keyboard into walking velocity. The robot moves only while the enable button
 * is held. It stops when the button is released or when the joystick is silent. Then one velocity of zero is sent and
 * nothing more, so that others can drive. */
#include "core/nm.h"
#include "geometry_msgs/Twist.h"
#include "sensor_msgs/Joy.h"

struct teleop {
    struct nm *nm;
    /* in */
    const Joy *joy;
    /* out */
    Twist *velocity;
    /* params */
    int32_t axis_forward, axis_left, axis_turn, enable;
    float forward, backward, side, turn;
    float dead_zone, shape, timeout;
    /* state */
    bool driving;
};

/* A stick's way from the edge of the dead zone to its end as 0 to 1, with its sign. Bent by `shape`: slow speeds get
 * more of the way. */
static double stick(const struct teleop *f, int32_t axis)
{
    if (axis < 0 || (uint32_t)axis >= f->joy->axes.n) return 0;
    double value = f->joy->axes.at[axis], way = (fmin(fabs(value), 1) - f->dead_zone) / (1 - f->dead_zone);
    if (!isfinite(value) || way <= 0) return 0;
    return copysign(pow(way, f->shape), value);
}

static bool enabled(const struct teleop *f)
{
    if (nm_age(f->nm, f->joy) > nm_ns(f->timeout)) return false;
    if (f->enable < 0) return true;
    return (uint32_t)f->enable < f->joy->buttons.n && f->joy->buttons.at[f->enable];
}

static void step(struct teleop *f)
{
    bool drives = enabled(f);
    if (!drives && !f->driving) return;
    if (drives) {
        double ahead = stick(f, f->axis_forward);
        f->velocity->linear.x = ahead * (ahead > 0 ? f->forward : f->backward);
        f->velocity->linear.y = stick(f, f->axis_left) * f->side;
        f->velocity->angular.z = stick(f, f->axis_turn) * f->turn;
    }
    if (drives != f->driving) nm_log(f->nm, NM_INFO, drives ? "driven by hand" : "no longer driven by hand");
    f->driving = drives;
    nm_put(f->nm, f->velocity);
}

#define SELF struct teleop
static const struct nm_port ports[] = {
    NM_IN(joy, Joy, "joy"),
    NM_OUT(velocity, Twist, "cmd_vel"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(axis_forward, 1, -1, 15, "1", "axis that drives forwards when it is positive; -1: none"),
    NM_PARAM(axis_left, 0, -1, 15, "1", "axis that drives to the left"),
    NM_PARAM(axis_turn, 3, -1, 15, "1", "axis that turns to the left"),
    NM_PARAM(enable, 4, -1, 31, "1",
             "button that must be held to drive; -1: none, and then the robot drives without a button"),
    NM_PARAM(forward, 0.3, 0, 2, "m/s", "speed forwards with the stick at its end"),
    NM_PARAM(backward, 0.15, 0, 2, "m/s", "speed backwards; most walks fall more easily backwards"),
    NM_PARAM(side, 0.15, 0, 2, "m/s", "speed sideways"),
    NM_PARAM(turn, 0.8, 0, 6, "rad/s", "turning rate"),
    NM_PARAM(dead_zone, 0.12, 0, 0.9, "1", "how far the stick may be from its middle and still count as zero"),
    NM_PARAM(shape, 1.5, 1, 4, "1", "1: speed is proportional to the stick; larger: finer control at low speeds"),
    NM_PARAM(timeout, 0.5, 0.05, 10, "s", "the robot stops when the joystick is silent for this time"),
    {0},
};
NM_MODULE(teleop, "Joystick or keyboard to walking velocity, while the enable button is held.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
