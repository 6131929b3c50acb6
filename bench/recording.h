/* Recordings of an inertial sensor with the true orientation, as they lie in tests/data/imu, and how well a filter
 * follows them. Used by the tests and by `nutmeg bench body`. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/tilt.h"

static const struct {
    const char *name, *file;
} recordings[] = {
    {"slow rotation", "broad_02_undisturbed_slow_rotation_B.i16"},
    {"slow translation", "broad_10_undisturbed_slow_translation_A.i16"},
    {"fast translation", "broad_15_undisturbed_fast_translation_A.i16"},
    {"very fast translation", "broad_16_undisturbed_fast_translation_B.i16"},
    {"fast rotation", "broad_32_disturbed_attached_magnet_1cm.i16"},
};
enum { RECORDINGS = sizeof recordings / sizeof *recordings };

struct recorded {
    struct vec3 gyro, accel;
    struct quat truth; /* sensor to world, z up                    */
    bool scored;       /* the sensor moves, and the truth is known */
};

static const double RECORDED_DT = 0.0035; /* s */

/* The next sample of a file: eleven numbers of 16 bits, little-endian. False at the end. */
static inline bool read_recorded(FILE *file, struct recorded *r)
{
    uint8_t bytes[22];
    double v[11];
    if (fread(bytes, sizeof bytes, 1, file) != 1) return false;
    for (int i = 0; i < 11; i++) v[i] = (int16_t)(uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
    r->gyro = (struct vec3){v[0] / 800, v[1] / 800, v[2] / 800};
    r->accel = (struct vec3){v[3] / 200, v[4] / 200, v[5] / 200};
    r->truth = quat_normal((struct quat){v[6], v[7], v[8], v[9]});
    r->scored = v[10] > 0;
    return true;
}

/* Angle between where up is and where it is thought to be, rad. */
static inline double tilt_between(struct quat a, struct quat b)
{
    const struct vec3 up = {0, 0, 1};
    struct vec3 u = quat_apply(quat_inv(a), up), v = quat_apply(quat_inv(b), up);
    return atan2(vec3_norm(vec3_cross(u, v)), vec3_dot(u, v));
}

/* Root mean square error of the inclination in degrees while the sensor moves; NaN for a file that cannot be read. */
static inline double tilt_error_on(const char *path, const struct nm_tilt_params *params)
{
    FILE *file = fopen(path, "rb");
    struct nm_tilt tilt;
    struct recorded r;
    double sum = 0;
    long n = 0;
    nm_tilt_start(&tilt);
    while (file && read_recorded(file, &r)) {
        nm_tilt_step(&tilt, params, r.gyro, r.accel, RECORDED_DT);
        double error = tilt_between(nm_tilt_orientation(&tilt), r.truth);
        if (r.scored) sum += error * error, n++;
    }
    if (file) fclose(file);
    return n > 10000 ? sqrt(sum / (double)n) * 180 / M_PI : NAN;
}
