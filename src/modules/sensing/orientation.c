/* The orientation of the trunk from its inertial sensor (requirement H28): a quaternion, no gimbal lock, yaw by
 * integration. base/tilt.h explains the filter. This module decides which samples reach it: not those of a frozen
 * sensor; after a silence it gives the filter the length of the silence. */
#include "base/tilt.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "modules/imu.h"

struct orientation {
    struct nm *nm;
    /* in */
    const Imu *raw;
    /* out */
    Imu *imu;
    /* params */
#define X(name, value, least, most, unit, about) double name;
    NM_TILT_FIELDS(X)
#undef X
    /* state */
    struct nm_tilt tilt;
    struct imu_watch watch;
    int64_t last; /* ns, stamp of the last sample that was used; 0: none */
};

/* From this many equal samples in a row on the sensor counts as frozen, and its turning is not believed. A coarse
 * sensor at rest loses nothing by that. */
enum { FROZEN = 4 };

static int init(struct orientation *f)
{
    nm_tilt_start(&f->tilt);
    return 0;
}

static struct nm_tilt_params tilt_params(const struct orientation *f)
{
#define X(name, value, least, most, unit, about) .name = f->name,
    return (struct nm_tilt_params){NM_TILT_FIELDS(X)};
#undef X
}

static void use(struct orientation *f)
{
    const Vector3 *g = &f->raw->angular_velocity, *a = &f->raw->linear_acceleration;
    int64_t stamp = nm_stamp_ns(f->raw->header.stamp);
    double dt = f->last ? nm_seconds(stamp - f->last) : nm_seconds(f->nm->dt);
    struct nm_tilt_params params = tilt_params(f);
    f->last = stamp;
    nm_tilt_step(&f->tilt, &params, (struct vec3){g->x, g->y, g->z}, (struct vec3){a->x, a->y, a->z}, dt);
}

static void step(struct orientation *f)
{
    if (!nm_fresh(f->nm, f->raw)) return;
    bool frozen = imu_same(&f->watch, f->raw) >= FROZEN;
    if (!frozen) use(f);
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
#define X(name, value, least, most, unit, about) NM_PARAM(name, value, least, most, unit, about),
    NM_TILT_FIELDS(X)
#undef X
        {0},
};
NM_MODULE(orientation, "Orientation of the trunk from gyroscope and accelerometer.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step))
