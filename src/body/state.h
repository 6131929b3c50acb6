/* The moving body as its sensors tell it: goal, current and past model (Rhoban, champion paper 2016, section 4.1).
 *
 * Current: joints from the encoders; the IMU's orientation of the torso is taken as exact; the foot that carries the
 * weight stands still on the ground, so that the torso's place follows from it. What the joints and the IMU disagree
 * about is soft ground and backlash. When the support changes, the other foot is set down where it is then: the steps
 * add up to the odometry. With an accelerometer, body/footing.h weighs both feet and the accelerometer instead. Past:
 * everything is kept for two seconds and any moment of them can be rebuilt, because a picture is looked at long after
 * it was taken. Features that were seen once are kept in the odometry's frame and are fresh at any rate.
 *
 * `odom` is that frame: where the robot began, on the ground, z up. `robot` is between the feet, on the ground, with
 * the torso's heading. The whole state is flat: no pointers, no allocation. Times are nanoseconds. */
#pragma once

#include "base/export.h"
#include "body/footing.h"
#include "body/kinematics.h"

enum { NM_HISTORY = 512 };           /* samples                                         */
#define NM_HISTORY_SPAN 2000000000LL /* ns that are kept, however fast the samples come */

struct nm_sample {
    int64_t time;
    struct pose3 torso_to_odom;
    struct vec3 beside; /* m, what of the way was not made by the legs, up to here: slipping, pushes */
    enum nm_side support;
    double q[NM_JOINTS];
};

struct nm_state {
    double goal[NM_JOINTS]; /* last joint goals; nm_forward of them in the torso frame is the goal model */
    struct nm_sample ring[NM_HISTORY];
    uint32_t newest, n;                   /* index of the newest sample, how many there are          */
    struct vec3 anchor;                   /* the support sole's place in odom; z is 0                */
    struct pose2 robot_to_odom;           /* now                                                     */
    double torso_height;                  /* m over the ground, now                                  */
    bool loaded;                          /* the feet carried weight at the last sample              */
    int64_t lifted;                       /* ns, the last sample at which they did                   */
    int64_t landed;                       /* ns, since when the support foot bears weight            */
    bool stands;                          /* since then it has come to rest                          */
    struct vec3 speed;                    /* m/s, of the torso while a foot stood; along its heading */
    struct vec3 corners[2][NM_CELLS + 1]; /* of each sole, from its origin, in odom: on these it rolls */
    struct vec3 beside;                   /* m, of the newest sample                                 */
    bool on_footing;                      /* the last sample's place is that of `footing`              */
    struct nm_footing footing;
};

/* what came in with one cycle */
struct nm_readings {
    int64_t time;
    const double *q;            /* all joints                                                      */
    struct quat torso_to_world; /* by the IMU, yaw integrated                                      */
    double weight[2];           /* on the feet, any unit; negative: there is no pressure sensor    */
    const struct vec3 *force;   /* m/s2, of an accelerometer in the torso's axes; NULL without one */
    struct vec3 sensor;         /* m, its place in the torso                                       */
};

/* Starts anew, with the robot's frame at this place of odom; the first update puts the feet down there. */
NM_EXPORT void nm_state_reset(struct nm_state *state, const struct nm_body *body, struct pose2 robot_to_odom);

/* A sample not newer than the last one is left out; a clock that jumped back by more than the span starts anew. */
NM_EXPORT void nm_state_update(struct nm_state *state, const struct nm_body *body, const struct nm_readings *readings);

/* The body at a time in odom: exact at samples, interpolated between them, at the ends the end. False if the time lies
 * outside of what is kept (or nothing is); then the nearest sample is used. */
NM_EXPORT bool nm_state_at(const struct nm_state *state, const struct nm_body *body, int64_t time,
                           struct nm_sample *sample);
NM_EXPORT bool nm_state_kin(const struct nm_state *state, const struct nm_body *body, int64_t time,
                            struct nm_kin *in_odom);

/* The robot's frame for a body whose pose in odom is known. */
NM_EXPORT struct pose2 nm_robot_to_odom(const struct nm_body *body, const struct nm_kin *in_odom);
NM_EXPORT struct pose3 nm_ground_pose(struct pose2 pose);

/* A thing on the ground seen from the robot at a time, in odom; and where it is seen from now. */
NM_EXPORT struct vec3 nm_state_remember(const struct nm_state *state, const struct nm_body *body, int64_t time,
                                        struct vec3 in_robot);
NM_EXPORT struct vec3 nm_state_recall(const struct nm_state *state, struct vec3 in_odom);
