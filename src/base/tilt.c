#include "base/tilt.h"

void nm_tilt_start(struct nm_tilt *tilt) { *tilt = (struct nm_tilt){.gyro = QUAT_IDENTITY, .level = QUAT_IDENTITY}; }

static struct vec3 towards(struct vec3 from, struct vec3 to, double share)
{
    return vec3_add(from, vec3_scale(vec3_sub(to, from), share));
}

static double limit(double x, double most) { return x > most ? most : x < -most ? -most : x; }

/* The rotation about w for dt; exact for a constant rate. */
static struct quat turn(struct vec3 w, double dt)
{
    double rate = vec3_norm(w), angle = rate * dt;
    if (rate < 1e-12) return QUAT_IDENTITY;
    return quat_axis(vec3_scale(w, 1 / rate), angle);
}

static void set_bias(struct nm_tilt *t, const struct nm_tilt_params *p, struct vec3 bias)
{
    t->bias = (struct vec3){limit(bias.x, p->max_bias), limit(bias.y, p->max_bias), limit(bias.z, p->max_bias)};
}

/* Rest: neither sensor changes against its own slow average. Then the gyroscope reads its bias. */
static void learn_bias(struct nm_tilt *t, const struct nm_tilt_params *p, struct vec3 gyro, struct vec3 accel,
                       double dt)
{
    double share = t->seen > 0 ? dt / (0.5 + dt) : 1;
    bool still = vec3_norm(vec3_sub(gyro, t->slow_gyro)) < p->rest_gyro &&
                 vec3_norm(vec3_sub(accel, t->slow_accel)) < p->rest_accel && vec3_norm(t->slow_gyro) < p->max_bias;
    t->slow_gyro = towards(t->slow_gyro, gyro, share);
    t->slow_accel = towards(t->slow_accel, accel, share);
    t->still = still ? t->still + dt : 0;
    if (t->still < p->rest_time) return;
    set_bias(t, p, towards(t->bias, t->slow_gyro, dt / (p->bias_tau + dt)));
}

/* Turns the gyroscope's frame about a horizontal axis until the averaged accelerometer points up. Returns how far, in
 * the world. */
static struct vec3 straighten(struct nm_tilt *t)
{
    struct vec3 up = quat_apply(t->level, t->up[1]);
    double norm = vec3_norm(up);
    if (!(norm > 1e-3)) return (struct vec3){0, 0, 0};
    up = vec3_scale(up, 1 / norm);
    double w = sqrt((up.z + 1) / 2);
    struct quat correction =
        w > 1e-6 ? (struct quat){w, 0.5 * up.y / w, -0.5 * up.x / w, 0} : (struct quat){0, 1, 0, 0};
    t->level = quat_normal(quat_mul(correction, t->level));
    return quat_log(correction);
}

/* A frame that must be straightened by the same turn all the time is carried away by a bias. Only once the average is
 * full: before, it is the average that moves. */
static void learn_drift(struct nm_tilt *t, const struct nm_tilt_params *p, struct vec3 turned)
{
    if (!(p->drift_tau > 0) || t->seen < 2 * p->tau || vec3_norm(turned) > 0.01) return;
    struct vec3 here = quat_apply(quat_inv(nm_tilt_orientation(t)), turned);
    set_bias(t, p, vec3_sub(t->bias, vec3_scale(here, 1 / p->drift_tau)));
}

void nm_tilt_step(struct nm_tilt *t, const struct nm_tilt_params *p, struct vec3 gyro, struct vec3 accel, double dt)
{
    double sum = gyro.x + gyro.y + gyro.z + accel.x + accel.y + accel.z;
    if (!isfinite(sum) || !(dt > 0)) return;
    if (fmax(fabs(gyro.x), fmax(fabs(gyro.y), fabs(gyro.z))) > p->max_rate) gyro = t->rate;
    t->rate = gyro;
    learn_bias(t, p, gyro, accel, dt);
    t->gyro = quat_normal(quat_mul(t->gyro, turn(vec3_sub(gyro, t->bias), dt)));

    if (vec3_norm(accel) > p->max_norm) return;

    /* a plain mean at first (but one bump is not half of it), then an average that forgets; two stages, so that a swing
     * of walking is damped twice */
    struct vec3 here = quat_apply(t->gyro, accel);
    if (t->seen == 0) t->up[0] = t->up[1] = here;
    t->seen += dt;
    double tau = t->seen < 0.2 ? 0.2 : t->seen < p->tau ? t->seen : p->tau, share = dt / (tau / 2 + dt);
    t->up[0] = towards(t->up[0], here, share);
    t->up[1] = towards(t->up[1], t->up[0], share);
    learn_drift(t, p, straighten(t));
}
