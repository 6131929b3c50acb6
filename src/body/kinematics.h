/* Where the parts of a body are and how they move: forward kinematics of all frames, Jacobians, centre of mass,
 * velocities and momentum. The body is constant; a pose lives in `struct nm_kin`, which is flat and may be copied.
 * Nothing here allocates.
 *
 * Everything is in the frame in which the base's pose was given, called world here; with the identity that is the
 * torso's own frame. */
#pragma once

#include "base/export.h"
#include "body/robot.h"

struct nm_kin {
    struct pose3 pose[NM_FRAMES]; /* frame to world; the first n_links are the links */
};

/* velocity of a frame's origin and its turning rate, both in world axes */
struct nm_twist {
    struct vec3 linear, angular; /* m/s, rad/s */
};

/* What is precomputed for each joint. A revolute joint turns by the quaternion cos(q/2) place + sin(q/2) turn, or by
 * the matrix still + cos(q) even + sin(q) odd, from the child's frame to the parent's, whatever the axis. */
struct nm_step {
    struct quat place, turn;
    struct vec3 at;    /* origin of the child in the parent at zero */
    int32_t parent;    /* link                                      */
    int32_t slides;    /* 1: prismatic along `slide`                */
    struct vec3 slide; /* the axis in the parent's frame            */
    struct vec3 axis;  /* the axis in the child's frame             */
    struct mat3 still, even, odd;
};

/* Poses of all frames, from the base's and the joints'. */
NM_EXPORT void nm_forward(const struct nm_body *body, struct pose3 base_to_world, const double q[], struct nm_kin *kin);

static inline struct pose3 nm_frame_to_frame(const struct nm_kin *kin, uint32_t from, uint32_t to)
{
    return pose_mul(pose_inv(kin->pose[to]), kin->pose[from]);
}

/* One column a joint: velocity of `point` (fixed to the frame, given in world) and turning rate for each rad/s (m/s) of
 * the joint; zero for joints that do not carry the frame. A base that moves with (v, w) adds v + w x (point - base). */
NM_EXPORT void nm_jacobian(const struct nm_body *body, const struct nm_kin *kin, uint32_t frame, struct vec3 point,
                           struct nm_twist column[]);
NM_EXPORT struct vec3 nm_com(const struct nm_body *body, const struct nm_kin *kin);
NM_EXPORT void nm_com_jacobian(const struct nm_body *body, const struct nm_kin *kin, struct vec3 column[]);

/* Of every link; the base's own comes first in and first out. */
NM_EXPORT void nm_velocities(const struct nm_body *body, const struct nm_kin *kin, struct nm_twist base,
                             const double qd[], struct nm_twist link[]);
NM_EXPORT struct nm_twist nm_frame_twist(const struct nm_body *body, const struct nm_kin *kin,
                                         const struct nm_twist link[], uint32_t frame);

/* linear: that of the centre of mass; angular: momentum about the centre of mass, kg m2/s */
NM_EXPORT struct nm_twist nm_com_motion(const struct nm_body *body, const struct nm_kin *kin,
                                        const struct nm_twist link[]);
