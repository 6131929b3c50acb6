/* Orientation from gyroscope and accelerometer, on quaternions, without gimbal lock; yaw by integration only.
 *
 * The gyroscope alone carries the orientation; its frame drifts slowly. In that almost inertial frame gravity stands
 * still while the accelerations of a moving body change sign, so the accelerometer is averaged there over seconds and
 * the frame is tilted until the average points up (the idea of Laidig and Seel, VQF, Information Fusion 91, 2023). A
 * plain complementary filter averages in the moving frame instead, where the two cannot be told apart.
 *
 * The norm decides only what is left out: beyond `max_norm` the sensor hit something or its own end. To weigh samples
 * by how near their norm is to gravity, as complementary filters do, spoils the average, since the rest no longer
 * cancels out (on a fast hand motion, BROAD trial 16: 0.7 degrees without weights, 9 to 58 with them, 12 to 17 for
 * Mahony's filter). At rest the gyroscope's bias is what it reads; in motion, what the frame must be tilted by again
 * and again. */
#ifndef NM_BASE_TILT_H
#define NM_BASE_TILT_H

#include <stdbool.h>

#include "base/geometry.h"

struct nm_tilt_params {
    double tau;        /* s, of the average of the accelerometer                                        */
    double max_norm;   /* m/s^2, samples beyond are left out                                            */
    double bias_tau;   /* s, of the bias at rest                                                        */
    double rest_gyro;  /* rad/s, below is rest                                                          */
    double rest_accel; /* m/s^2, change below is rest                                                   */
    double rest_time;  /* s, for which it must hold                                                     */
    double max_bias;   /* rad/s, never more                                                             */
    double drift_tau;  /* s, of the bias learnt in motion; 0: not at all                                */
    double max_rate;   /* rad/s, the last sample within stands in for one beyond: the sensor's own end  */
};
#define NM_TILT_PARAMS ((struct nm_tilt_params){3.0, 150, 0.5, 0.06, 0.4, 0.5, 0.1, 10.0, 30})

struct nm_tilt {
    struct quat gyro;  /* sensor to the gyroscope's frame                                               */
    struct quat level; /* the gyroscope's frame to the world                                            */
    struct vec3 up[2]; /* average of the accelerometer in the gyroscope's frame, in two stages          */
    struct vec3 bias;  /* rad/s                                                                         */
    struct vec3 rate;  /* rad/s, the last that was believed                                             */
    struct vec3 slow_gyro, slow_accel; /* averages that tell rest                                         */
    double seen;  /* s of samples so far                                                           */
    double still; /* s at rest                                                                     */
};

void nm_tilt_start(struct nm_tilt *tilt);

/* One sample after dt seconds: rad/s and m/s^2 (about 9.81 upwards at rest) in the sensor's frame. Samples that are not
 * finite are left out; the orientation then stays. */
void nm_tilt_step(struct nm_tilt *tilt, const struct nm_tilt_params *params, struct vec3 gyro, struct vec3 accel,
                  double dt);

/* sensor to world, z up */
static inline struct quat nm_tilt_orientation(const struct nm_tilt *tilt) { return quat_mul(tilt->level, tilt->gyro); }

#endif
