/* Every number of the walk that is tuned.
 *
 * Lengths, times and speeds are those of a body whose legs measure WALK_LEG from hip to ankle; for another body they
 * are scaled as pendulums are (Froude): lengths with the legs, times with the root of it. So one set of parameters is a
 * first guess for any body, and a folder overrides only what its body wants different. */
#pragma once

#include <stdbool.h>

#define WALK_LEG 0.28 /* m */

/* X(name, default, least, most, unit, power of the legs' length with which it is scaled, what it does) */
#define WALK_PARAMS(X)                                                                                                 \
    X(max_forward, 0.53, 0, 2, "m/s", 0.5, "faster commands are cut: beyond its limit the walk falls")                 \
    X(max_backward, 0.46, 0, 2, "m/s", 0.5, "the same backwards")                                                      \
    X(max_side, 0.395, 0, 2, "m/s", 0.5, "the same sideways")                                                          \
    X(max_turn, 2.88, 0, 10, "rad/s", -0.5, "the same for turns")                                                      \
    X(turn_fast, 0.8, 0, 1, "1", 0, "share of the turn that is lost at full speed")                                    \
    X(change_x, 0.09, 0.005, 0.2, "m", 1, "steps become longer by this much from one to the next")                     \
    X(change_y, 0.0194, 0.005, 0.2, "m", 1, "the same sideways")                                                       \
    X(change_turn, 0.18, 0.02, 1, "rad", 0, "the same for turns")                                                      \
    X(brake, 2, 0.5, 4, "1", 0, "forwards and backwards steps become shorter by so much more")                         \
    X(trouble, 0.0629, 0.01, 1, "m", 1,                                                                                \
      "error of the capture point from which the command fades; at twice that it is 0")                                \
    X(start, 0.8, 0.1, 1, "1", 0, "share of the lift that the first step has; it grows as much with every step")       \
    X(period, 0.216, 0.12, 0.6, "s", 0.5,                                                                              \
      "planned time of a step; the real one is longer, as it waits for the weight")                                    \
    X(period_speed, 1.29, -5, 5, "1/m", -1, "share by which it grows for each metre of step")                          \
    X(width, 0.101, 0.05, 0.3, "m", 1, "distance of the ankles when stepping on the spot")                             \
    X(width_speed, 0.0736, 0, 0.5, "1", 0, "grows with the length of the step")                                        \
    X(room, 0.0217, 0, 0.06, "m", 1, "between the feet when one lands, at least: play and lag bring them closer")      \
    X(stretch, 0.872, 0.6, 0.99, "1", 0, "distance from hip to ankle, as share of the straight leg's")                 \
    X(lift, 0.0287, 0, 0.1, "m", 1, "how high a foot is lifted")                                                       \
    X(lift_speed, 0.0137, -0.3, 0.3, "1", 0, "higher by so much of the step's length")                                 \
    X(land, 0.00192, 0, 0.02, "m", 1, "a landing foot reaches this deep below the ground")                             \
    X(lean, 0.00585, -0.3, 0.4, "rad", 0, "of the trunk, forwards")                                                    \
    X(lean_speed, 0.241, -1, 1, "rad/m", -1, "more for each metre of step")                                            \
    X(pivot_x, 0.0109, -0.05, 0.05, "m", 1, "planned centre of pressure, before the ankle")                            \
    X(pivot_speed, 0.0607, -0.3, 0.3, "1", 0, "farther by so much of the step's length")                               \
    X(pivot_in, -0.00775, -0.03, 0.03, "m", 1, "planned centre of pressure, inwards of the ankle")                     \
    X(sway, 0.0925, 0, 1, "1", 0,                                                                                      \
      "of the pendulum's own way sideways that the trunk takes; else it stays between the feet")                       \
    X(place_x, 0.487, 0, 1.5, "1", 0, "share of the error of the capture point that the next step takes, forwards")    \
    X(place_y, 0.489, 0, 1.5, "1", 0, "the same sideways")                                                             \
    X(place_side, 0.22, 0, 1.5, "1", 0, "the same sideways while stepping sideways")                                   \
    X(timing, 0.0983, 0, 1, "1", 0, "share of the capture point's own time that the step's rate takes")                \
    X(trim, 0.1, 0, 0.5, "1", 0, "of what the last steps lacked of the command that is added to it, a step")           \
    X(stride, 1.1, 0.8, 1.4, "1", 0, "real length of a step, as share of what the joints tell")                        \
    X(stride_side, 1, 0.8, 1.4, "1", 0, "the same sideways")                                                           \
    X(ankle_x, 0.329, -2, 6, "rad/m", -1, "ankle pitch for each metre of error of the capture point")                  \
    X(ankle_y, 0.789, -2, 6, "rad/m", -1, "ankle roll for each metre of error of the capture point")                   \
    X(gyro_ankle_pitch, 0.0468, -0.1, 0.4, "s", 0.5, "ankle pitch for each rad/s of the trunk")                        \
    X(gyro_ankle_roll, 0.00443, -0.1, 0.4, "s", 0.5, "ankle roll for each rad/s of the trunk")                         \
    X(tilt_ankle_pitch, 0.401, -0.5, 2, "1", 0, "ankle pitch for each rad of tilt")                                    \
    X(tilt_ankle_roll, 0.176, -0.5, 2, "1", 0, "ankle roll for each rad of tilt")                                      \
    X(gyro_hip_pitch, 0.124, -0.2, 0.5, "s", 0.5, "hip pitch for each rad/s of the trunk")                             \
    X(gyro_hip_roll, 0.0211, -0.2, 0.5, "s", 0.5, "hip roll for each rad/s of the trunk")                              \
    X(level, 0.5, 0, 1.5, "1", 0, "share of the tilt that the swinging foot is turned back, to land flat")             \
    X(speed_ahead, 0.252, 0, 2, "1", 0, "of a servo's lag behind a moving goal that is made up in advance")            \
    X(torque_ahead, 1.23, 0, 2, "1", 0, "of a servo's yielding to the weight that is made up in advance")              \
    X(pull, 0.968, 0, 10, "1/s", -0.5, "how fast the planned centre of mass gives way to the measured one")            \
    X(rate, 0.933, 0.7, 1.3, "1", 0, "scale of w, for what the body is more than a point")                             \
    X(observe_place, 0.0156, 0.002, 0.5, "s", 0, "time in which the observed centre of mass follows the measured one") \
    X(observe_speed, 786, 10, 4000, "1/s2", -1, "of the difference to the measured one, into its speed")               \
    X(look_ahead, 0.0132, 0, 0.06, "s", 0, "age of what is measured, made up by prediction")                           \
    X(swing_begin, 0.0, 0, 0.4, "1", 0, "phase at which the swinging foot begins to move on")                          \
    X(swing_end, 0.975, 0.6, 1, "1", 0, "phase at which it is where it lands")                                         \
    X(early, 0.511, 0.3, 1, "1", 0, "phase from which the other foot may take over")                                   \
    X(longest, 1.6, 1, 4, "1", 0, "a step ends after so many planned times, weight or not")                            \
    X(turn_share, 0.75, 0.5, 1, "1", 0, "of a turn done by the foot that opens")                                       \
    X(kick_swing, 0.7, 0, 1.5, "rad", 0, "how far the leg of a kick of full strength swings beyond the step")          \
    X(kick_in, 0.1, -1, 1, "1", 0, "share of that by which it swings inwards: the leaning trunk carries it outwards")  \
    X(kick_bend, 0.09, 0, 0.5, "1", 0,                                                                                 \
      "share by which the leg is shortened on the way, so that its knee strikes, too")                                 \
    X(kick_toe, -0.15, -1, 1, "rad", 0, "how far the toes are lifted")                                                 \
    X(kick_yaw, 0.15, -1, 1, "rad", 0, "how far they are turned inwards")                                              \
    X(kick_period, 1.5, 1, 3, "1", 0, "the step of a kick takes so much longer")                                       \
    X(kick_begin, 0.15, 0, 0.6, "1", 0, "phase at which the kick leaves the step")                                     \
    X(kick_peak, 0.5, 0.2, 1, "1", 0, "phase at which it is in front")                                                 \
    X(kick_end, 0.75, 0.5, 1, "1", 0, "phase at which it is back in the step")

struct walk_params {
#define X(name, value, least, most, unit, power, about) double name;
    WALK_PARAMS(X)
#undef X
};

/* For a body with such legs (m, hip to ankle). */
void walk_params_scale(struct walk_params *p, double leg);

/* Without placement, timing, ankles, hips and swing foot: steps are still ended by the feet's load. */
void walk_params_open_loop(struct walk_params *p);

/* What the walk can do of a velocity (m/s, m/s, rad/s): the shares of forwards and sideways make one at most, and the
 * faster the less turn. */
void walk_limit(const struct walk_params *p, double velocity[3]);
