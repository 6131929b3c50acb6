/* The orientation of the trunk from its inertial sensor (requirement H28): a quaternion, no gimbal lock, yaw by
 * integration. What the filter does and why is told in base/tilt.h. */
#include <string.h>

#include "base/tilt.h"
#include "core/nm.h"
#include "sensor_msgs/Imu.h"

struct orientation {
    struct nm *nm;
    /* in */
    const Imu *raw;
    /* out */
    Imu *imu;
    /* params */
    double tau, max_norm, bias_tau;
    /* state */
    struct nm_tilt tilt;
    int64_t last;                  /* ns, stamp of the last sample             */
    Vector3 last_gyro, last_accel; /* of it                                    */
    uint32_t same;                 /* samples in a row that told nothing new   */
};

/* Equal samples in a row: a frozen sensor, whose turning must not be believed, or a coarse one at rest. */
enum { FROZEN = 4 };

static bool is_frozen(struct orientation *f)
{
    const Vector3 *g = &f->raw->angular_velocity, *a = &f->raw->linear_acceleration;
    bool same = !memcmp(g, &f->last_gyro, sizeof *g) && !memcmp(a, &f->last_accel, sizeof *a);
    f->same = same ? f->same + 1 : 0;
    f->last_gyro = *g;
    f->last_accel = *a;
    return f->same >= FROZEN;
}

static int init(struct orientation *f)
{
    nm_tilt_start(&f->tilt);
    return 0;
}

static void reset(struct orientation *f)
{
    nm_tilt_start(&f->tilt);
    f->last = 0;
}

static void step(struct orientation *f)
{
    if (!nm_fresh(f->nm, f->raw)) return;
    const Vector3 *g = &f->raw->angular_velocity, *a = &f->raw->linear_acceleration;
    int64_t stamp = (int64_t)f->raw->header.stamp.sec * 1000000000 + f->raw->header.stamp.nanosec;
    /* a gap is bridged by at most a tenth of a second: turning longer than that on one sample is a guess */
    double dt = f->last ? nm_seconds(stamp - f->last) : nm_seconds(f->nm->dt);
    dt = dt < 0 ? 0 : dt > 0.1 ? 0.1 : dt;
    f->last = stamp;

    struct nm_tilt_params params = NM_TILT_PARAMS;
    params.tau = f->tau;
    params.max_norm = f->max_norm;
    params.bias_tau = f->bias_tau;
    bool frozen = is_frozen(f);
    if (!frozen) nm_tilt_step(&f->tilt, &params, (struct vec3){g->x, g->y, g->z}, (struct vec3){a->x, a->y, a->z}, dt);
    struct vec3 rate = frozen ? (struct vec3){0, 0, 0} : vec3_sub(f->tilt.rate, f->tilt.bias);

    struct quat q = nm_tilt_orientation(&f->tilt);
    nm_copy(&Imu_type, f->imu, f->raw);
    f->imu->orientation = (Quaternion){q.x, q.y, q.z, q.w};
    f->imu->orientation_covariance[0] = f->imu->orientation_covariance[4] = 0.0003; /* (1 degree)^2 */
    f->imu->orientation_covariance[8] = 0.1;                                        /* yaw drifts   */
    f->imu->angular_velocity = (Vector3){rate.x, rate.y, rate.z};
    nm_put(f->nm, f->imu);
}

#define SELF struct orientation
static const struct nm_port ports[] = {
    NM_IN(raw, Imu, "imu/data_raw"),
    NM_OUT(imu, Imu, "imu/data"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(tau, 3, 0.1, 30, "s",
             "gravity is averaged over this time; longer bears more shaking, shorter forgets a bad gyroscope sooner"),
    NM_PARAM(max_norm, 150, 15, 1000, "m/s^2", "samples beyond are left out: set it to the end of the sensor's range"),
    NM_PARAM(bias_tau, 0.5, 0.1, 60, "s", "how fast the gyroscope's bias is learnt at rest"),
    {0},
};
NM_MODULE(orientation, "Orientation of the trunk from gyroscope and accelerometer.", .ports = ports, .params = params,
          .init = NM_CALL(init), .reset = NM_CALL(reset), .step = NM_CALL(step))
