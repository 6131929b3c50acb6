/* Orientation from gyroscope and accelerometer, on quaternions, without gimbal lock; yaw comes from integration only.
 *
 * The idea is that of VQF (Laidig and Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and
 * magnetic disturbance rejection", Information Fusion 91, 2023). The gyroscope alone carries the orientation, and its
 * frame drifts slowly. In that almost inertial frame gravity stands still, while the accelerations of a moving body
 * change sign and cancel out. So the accelerometer is rotated into that frame, smoothed there over seconds by a
 * Butterworth filter, and the frame is tilted until the smooth vector points up. A complementary filter smooths in the
 * moving frame instead, where gravity and motion cannot be told apart.
 *
 * A Kalman filter estimates the gyroscope's bias. At rest the gyroscope reads its bias. In motion a bias shows as a
 * frame that must be tilted again and again; this measures only the two components that are horizontal at the time.
 *
 * All samples count alike, except those beyond `max_norm`: the sensor hit something, or its range ended. Weighing
 * samples by how near their norm is to gravity, as complementary filters do, spoils the sum of the accelerations,
 * which would otherwise cancel out.
 *
 * A sensor is late by the delay of its own low-pass filter. The orientation is carried ahead by `lag` at the present
 * rate. On the five BROAD recordings that we have this takes the mean error from 0.55 to 0.39 degrees. */
#pragma once

#include <stdbool.h>

#include "base/export.h"
#include "base/geometry.h"

/* Name, default, least, most, unit, meaning. Tau and lag were chosen on five BROAD recordings (if each recording is
 * judged by the values that are best for the other four, the mean error is 0.37 degrees), bias_motion on these and on
 * simulated robots that walk; max_norm, max_rate and max_bias fit the sensors of robots; the other values are those of
 * the paper. */
#define NM_TILT_FIELDS(X)                                                                                              \
    X(tau, 3.5, 0.1, 30, "s",                                                                                          \
      "gravity is smoothed over this time; longer bears more shaking, shorter forgets an error sooner")                \
    X(lag, 0.004, 0, 0.05, "s",                                                                                        \
      "delay of the sensor's own low-pass filter (see its datasheet); the orientation is carried ahead by it")         \
    X(max_norm, 150, 15, 1000, "m/s^2",                                                                                \
      "accelerometer samples beyond are left out: set it to the end of the sensor's range")                            \
    X(max_rate, 30, 1, 200, "rad/s",                                                                                   \
      "a gyroscope sample beyond is replaced by the one before: set it to the end of the sensor's range")              \
    X(max_bias, 0.05, 0.001, 0.5, "rad/s",                                                                             \
      "largest bias of the gyroscope on any axis; a cheap sensor needs more, but then slow turns may pass for rest")   \
    X(bias_start, 0.0087, 0.0001, 0.5, "rad/s",                                                                        \
      "uncertainty of the bias at the start; larger learns the first bias faster")                                     \
    X(bias_wander, 0.00175, 0.00001, 0.1, "rad/s",                                                                     \
      "change of the bias that is expected in 100 s; larger follows a warming sensor faster")                          \
    X(bias_rest, 0.00052, 0.00001, 0.1, "rad/s",                                                                       \
      "uncertainty of the bias after a long rest; smaller learns faster at rest")                                      \
    X(bias_motion, 0.0012, 0, 0.1, "rad/s",                                                                            \
      "uncertainty of the bias after a long motion; smaller learns faster in motion, 0 does not learn in motion")      \
    X(rest_gyro, 0.035, 0.001, 1, "rad/s",                                                                             \
      "the body rests while the gyroscope stays this near to its mean of half a second ...")                           \
    X(rest_accel, 0.5, 0.01, 10, "m/s^2", "... and the accelerometer this near to its own mean ...")                   \
    X(rest_sway, 0.1, 0.01, 10, "m/s^2", "... and this mean moves less than this since the rest began ...")            \
    X(rest_time, 1.5, 0.1, 60, "s", "... for this long")

struct nm_tilt_params {
#define X(name, value, least, most, unit, about) double name;
    NM_TILT_FIELDS(X)
#undef X
};

/* the defaults */
#define NM_TILT_DEFAULT(name, value, ...) .name = (value),
#define NM_TILT_PARAMS                    ((struct nm_tilt_params){NM_TILT_FIELDS(NM_TILT_DEFAULT)})

/* One value behind a second-order low-pass filter. */
struct nm_smooth {
    double value, speed; /* speed in values per time constant */
};

struct nm_tilt {
    struct quat gyro;                /* sensor to the gyroscope's frame                              */
    struct quat level;               /* the gyroscope's frame to the world                           */
    struct quat ahead;               /* sensor to world, carried ahead by the lag                    */
    struct vec3 rate;                /* rad/s, the last that was believed, with its bias             */
    struct nm_smooth up[3];          /* the accelerometer in the gyroscope's frame                   */
    struct vec3 bias;                /* rad/s                                                        */
    struct mat3 variance;            /* of the bias; zero before the first sample                    */
    struct nm_smooth rotation[3][3]; /* sensor to world, smoothed as the accelerometer is            */
    struct nm_smooth drift[2];       /* rotation times bias, its horizontal part, smoothed alike     */
    struct nm_smooth near_gyro[3];   /* what tells rest: the gyroscope, smoothed over half a second  */
    struct nm_smooth near_accel[3];  /* and the accelerometer                                        */
    double shake_gyro, shake_accel;  /* mean squares of the distance to these two                    */
    struct vec3 anchor;              /* m/s^2, near_accel when the rest began                        */
    struct vec3 reads;               /* rad/s, mean of the gyroscope since then                      */
    double seen;                     /* s of samples in the smoothed values                          */
    double still;                    /* s at rest                                                    */
    double elsewhere;                /* s that gravity is not where it should be, without a turn     */
};

NM_EXPORT void nm_tilt_start(struct nm_tilt *tilt);

/* One sample, dt seconds after the one before: rad/s and m/s^2 (about 9.81 upwards at rest) in the sensor's frame.
 * Samples that are not finite are left out; the orientation then stays. Over a gap of more than 0.1 s the body may have
 * turned by any angle: if gravity is elsewhere afterwards, the smoothed values keep the weight of a twentieth of a
 * second, so that new samples outweigh them soon. So it is for a body that does not turn, and finds gravity elsewhere.
 * The bias is kept. */
NM_EXPORT void nm_tilt_step(struct nm_tilt *tilt, const struct nm_tilt_params *params, struct vec3 gyro,
                            struct vec3 accel, double dt);

/* sensor to world, z up */
static inline struct quat nm_tilt_orientation(const struct nm_tilt *tilt) { return tilt->ahead; }
