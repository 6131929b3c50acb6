/* Points, rotations and poses in double precision. `a_to_b` is the pose that maps coordinates of frame a into frame b:
 * p_in_b = pose_apply(a_to_b, p_in_a), and a_to_c = pose_mul(b_to_c, a_to_b). */
#pragma once

#include <math.h>

struct vec3 {
    double x, y, z;
};

struct quat { /* unit quaternion, Hamilton */
    double w, x, y, z;
};

struct pose3 {
    struct quat rot;
    struct vec3 pos;
};

struct pose2 {
    double x, y, theta;
};

#define QUAT_IDENTITY ((struct quat){1, 0, 0, 0})
#define POSE_IDENTITY ((struct pose3){{1, 0, 0, 0}, {0, 0, 0}})

/* The length of (x, y). hypot takes several times as long, because it is also right where the squares overflow. */
static inline double vec2_norm(double x, double y) { return sqrt(x * x + y * y); }

static inline struct vec3 vec3_add(struct vec3 a, struct vec3 b)
{
    return (struct vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline struct vec3 vec3_sub(struct vec3 a, struct vec3 b)
{
    return (struct vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline struct vec3 vec3_scale(struct vec3 a, double s) { return (struct vec3){a.x * s, a.y * s, a.z * s}; }
static inline double vec3_dot(struct vec3 a, struct vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static inline double vec3_norm(struct vec3 a) { return sqrt(vec3_dot(a, a)); }
static inline struct vec3 vec3_cross(struct vec3 a, struct vec3 b)
{
    return (struct vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline struct quat quat_mul(struct quat a, struct quat b)
{
    return (struct quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                         a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

static inline struct quat quat_inv(struct quat q) { return (struct quat){q.w, -q.x, -q.y, -q.z}; }

static inline struct quat quat_normal(struct quat q)
{
    double n = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    if (!(n > 0)) return QUAT_IDENTITY;
    return (struct quat){q.w / n, q.x / n, q.y / n, q.z / n};
}

/* v + 2 w (u x v) + 2 u x (u x v), u the vector part */
static inline struct vec3 quat_apply(struct quat q, struct vec3 v)
{
    struct vec3 u = {q.x, q.y, q.z};
    struct vec3 t = vec3_scale(vec3_cross(u, v), 2);
    return vec3_add(v, vec3_add(vec3_scale(t, q.w), vec3_cross(u, t)));
}

struct mat3 { /* m[row][column] */
    double m[3][3];
};

static inline struct mat3 quat_to_mat3(struct quat q)
{
    double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return (struct mat3){{{1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy)},
                          {2 * (xy + wz), 1 - 2 * (xx + zz), 2 * (yz - wx)},
                          {2 * (xz - wy), 2 * (yz + wx), 1 - 2 * (xx + yy)}}};
}

static inline struct vec3 mat3_apply(const struct mat3 *a, struct vec3 v)
{
    return (struct vec3){a->m[0][0] * v.x + a->m[0][1] * v.y + a->m[0][2] * v.z,
                         a->m[1][0] * v.x + a->m[1][1] * v.y + a->m[1][2] * v.z,
                         a->m[2][0] * v.x + a->m[2][1] * v.y + a->m[2][2] * v.z};
}

/* by the transpose, which for a rotation is the inverse */
static inline struct vec3 mat3_apply_inv(const struct mat3 *a, struct vec3 v)
{
    return (struct vec3){a->m[0][0] * v.x + a->m[1][0] * v.y + a->m[2][0] * v.z,
                         a->m[0][1] * v.x + a->m[1][1] * v.y + a->m[2][1] * v.z,
                         a->m[0][2] * v.x + a->m[1][2] * v.y + a->m[2][2] * v.z};
}

static inline struct mat3 mat3_mul(struct mat3 a, struct mat3 b)
{
    struct mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) c.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    return c;
}

static inline struct mat3 mat3_transpose(struct mat3 a)
{
    return (struct mat3){
        {{a.m[0][0], a.m[1][0], a.m[2][0]}, {a.m[0][1], a.m[1][1], a.m[2][1]}, {a.m[0][2], a.m[1][2], a.m[2][2]}}};
}

/* the rotation as axis times angle, angle in [0, pi] */
static inline struct vec3 quat_log(struct quat q)
{
    double s = sqrt(q.x * q.x + q.y * q.y + q.z * q.z);
    double half = atan2(s, fabs(q.w)), k = s > 1e-12 ? 2 * half / s : 2;
    return vec3_scale((struct vec3){q.x, q.y, q.z}, q.w < 0 ? -k : k);
}

/* the angle between two orientations */
static inline double quat_angle(struct quat a, struct quat b) { return vec3_norm(quat_log(quat_mul(quat_inv(a), b))); }

/* axis must have length 1 */
static inline struct quat quat_axis(struct vec3 axis, double angle)
{
    double s = sin(angle / 2);
    return (struct quat){cos(angle / 2), axis.x * s, axis.y * s, axis.z * s};
}

/* fixed axes x, y, z in this order, as URDF and tf write roll, pitch, yaw */
static inline struct quat quat_rpy(double roll, double pitch, double yaw)
{
    double cr = cos(roll / 2), sr = sin(roll / 2), cp = cos(pitch / 2), sp = sin(pitch / 2), cy = cos(yaw / 2),
           sy = sin(yaw / 2);
    return (struct quat){cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy,
                         cr * cp * sy - sr * sp * cy};
}

/* a turn in coordinates of one frame, as a turn in coordinates of another */
static inline struct quat quat_seen_from(struct quat to_other, struct quat turn)
{
    return quat_mul(to_other, quat_mul(turn, quat_inv(to_other)));
}

static inline double quat_yaw(struct quat q)
{
    return atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z));
}

/* along the shorter arc; t from 0 (a) to 1 (b) */
static inline struct quat quat_slerp(struct quat a, struct quat b, double t)
{
    double d = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
    double sign = d < 0 ? -1 : 1;
    double u = 1 - t, v = t * sign;
    if (d * sign < 0.9995) {
        double angle = acos(d * sign), s = sin(angle);
        u = sin((1 - t) * angle) / s;
        v = sin(t * angle) / s * sign;
    }
    return quat_normal((struct quat){a.w * u + b.w * v, a.x * u + b.x * v, a.y * u + b.y * v, a.z * u + b.z * v});
}

static inline struct vec3 pose_apply(struct pose3 p, struct vec3 v) { return vec3_add(quat_apply(p.rot, v), p.pos); }
static inline struct pose3 pose_mul(struct pose3 a, struct pose3 b)
{
    return (struct pose3){quat_mul(a.rot, b.rot), pose_apply(a, b.pos)};
}
static inline struct pose3 pose_inv(struct pose3 p)
{
    struct quat r = quat_inv(p.rot);
    return (struct pose3){r, vec3_scale(quat_apply(r, p.pos), -1)};
}

/* angle in (-pi, pi] */
static inline double angle_normal(double a)
{
    if (fabs(a) < M_PI) return a; /* as most are */
    a = remainder(a, 2 * M_PI);
    return a <= -M_PI ? a + 2 * M_PI : a;
}

static inline struct pose2 pose2_mul(struct pose2 a, struct pose2 b)
{
    double c = cos(a.theta), s = sin(a.theta);
    return (struct pose2){a.x + c * b.x - s * b.y, a.y + s * b.x + c * b.y, angle_normal(a.theta + b.theta)};
}

static inline struct pose2 pose2_inv(struct pose2 p)
{
    double c = cos(p.theta), s = sin(p.theta);
    return (struct pose2){-c * p.x - s * p.y, s * p.x - c * p.y, angle_normal(-p.theta)};
}
