/* The flat world: robots are discs that obey a walking velocity, the ball is a disc that rolls, both with the limits,
 * errors and accidents that matter to tactics. Hundreds of times faster than real time, for games by the thousand. All
 * of it is one plain struct: copy it to look ahead, and the copy plays on the same way. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"
#include "base/random.h"
#include "sim/field.h"
#include "sim/scene.h"
#include "sim/world.h"

struct nm_walk_velocity {
    double x, y, turn; /* m/s, m/s, rad/s in the robot's frame */
};

struct nm_flat_options {
    uint64_t seed;
    int64_t step;                      /* ns, 1 to 50 ms                                                    */
    struct nm_walk_velocity most;      /* the fastest walk                                                  */
    struct nm_walk_velocity gain;      /* the fastest change of it, each second                             */
    double walk_spread;                /* share, by which each robot's steps are longer or shorter          */
    double walk_noise;                 /* share of the way, that comes out at random (1 sigma at 1 m)       */
    double odometry_noise;             /* share of the way, by which odometry errs (1 sigma at 1 m)         */
    double radius;                     /* m, of a robot that stands                                         */
    double fall_speed;                 /* m/s of a bump from which on robots may fall ...                   */
    double fall_chance;                /* ... and how often they do                                         */
    double lie_time;                   /* s until a fallen robot is up again                                */
    double kick_time;                  /* s from the command to the touch                                   */
    double kick_speed;                 /* m/s of the ball at full strength                                  */
    double kick_speed_spread;          /* share, 1 sigma                                                    */
    double kick_angle_spread;          /* rad, 1 sigma                                                      */
    double kick_reach_x, kick_reach_y; /* m, the ball must lie in this box before the foot               */
    double ball_roll;                  /* m, how far a ball of 2 m/s rolls; 0: by the turf                  */
    double head_speed;                 /* rad/s                                                             */
};
#define NM_FLAT_OPTIONS                                                                                                \
    ((struct nm_flat_options){.step = 10000000,                                                                        \
                              .most = {0.35, 0.18, 1.2},                                                               \
                              .gain = {0.5, 0.4, 3},                                                                   \
                              .walk_spread = 0.08,                                                                     \
                              .walk_noise = 0.04,                                                                      \
                              .odometry_noise = 0.06,                                                                  \
                              .radius = 0.16,                                                                          \
                              .fall_speed = 0.3,                                                                       \
                              .fall_chance = 0.25,                                                                     \
                              .lie_time = 6,                                                                           \
                              .kick_time = 0.5,                                                                        \
                              .kick_speed = 2.4,                                                                       \
                              .kick_speed_spread = 0.15,                                                               \
                              .kick_angle_spread = 0.09,                                                               \
                              .kick_reach_x = 0.28,                                                                    \
                              .kick_reach_y = 0.12,                                                                    \
                              .head_speed = 4})

struct nm_flat_robot {
    /* commands */
    struct nm_walk_velocity wanted;
    double wanted_pan, wanted_tilt; /* rad */
    /* state */
    struct pose2 pose;
    struct nm_walk_velocity velocity;
    double pan, tilt;
    struct pose2 odometry; /* where it believes to be, from (0, 0, 0) at the start */
    bool present;          /* on the field at all       */
    bool fallen;
    bool on_front; /* how it lies               */
    int64_t up_at; /* ns, when it will stand    */
    bool kicking;
    int64_t touch_at; /* ns, when the foot will meet the ball */
    double kick_angle, kick_strength;
    uint32_t kicks, falls; /* counted */
    /* constants */
    double stride;             /* share of a commanded step that it makes */
    double height, eye_height; /* m */
};

struct nm_flat {
    struct nm_flat_options options;
    const struct nm_pitch *pitch;
    struct nm_dice dice;
    int64_t now; /* ns */
    uint32_t n;
    struct nm_flat_robot robots[NM_PLAYERS];
    struct vec3 ball, ball_velocity; /* z: the radius, and 0 */
    double ball_brake;               /* m/s2                 */
    int32_t last_touch;              /* robot, -1: nobody    */
    struct nm_touches touches;       /* in the last step     */
};

/* The pitch must outlive the world and its copies. */
void nm_flat_new(struct nm_flat *flat, const struct nm_pitch *pitch, const struct nm_flat_options *options);
/* Returns its index, or -1 if there is no room. `height` is that of the robot, `eye_height` that of its camera. */
int32_t nm_flat_add(struct nm_flat *flat, struct pose2 pose, double height, double eye_height);

void nm_flat_step(struct nm_flat *flat, uint32_t steps);

void nm_flat_walk(struct nm_flat *flat, uint32_t robot, struct nm_walk_velocity velocity);
void nm_flat_head(struct nm_flat *flat, uint32_t robot, double pan, double tilt);
/* Begins a kick towards an angle of the robot's frame, strength 0 to 1. False if it cannot begin now: it lies, or is
 * kicking. Whether the ball is there when the foot comes is seen then. */
bool nm_flat_kick(struct nm_flat *flat, uint32_t robot, double angle, double strength);
void nm_flat_place(struct nm_flat *flat, uint32_t robot, struct pose2 pose); /* upright and at rest */
void nm_flat_put_ball(struct nm_flat *flat, struct vec3 position, struct vec3 velocity);
void nm_flat_push(struct nm_flat *flat, uint32_t robot, double x, double y); /* m/s in the field; a hard one fells it */

/* Pose of a robot's camera (optical frame). */
struct pose3 nm_flat_camera(const struct nm_flat *flat, uint32_t robot);
