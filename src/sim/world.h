/* The physical world: field, goals, ball and up to 14 robots in MuJoCo, with servos and sensors as robots have them.
 * It knows nothing of brains and messages: who drives it sets joint goals, steps, and reads sensors.
 *
 *     struct nm_world *world = nm_world_new(&pitch, robots, 8, &options, err);
 *     for (;;) { nm_world_goals(world, r, goals); nm_world_step(world, 2); nm_world_sense(world, r, &sense); }
 *
 * The same seed, robots and calls give the same bits, in any process and beside any other world. A world is used by one
 * thread at a time; several worlds may run in several threads. No memory is taken after nm_world_new. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "body/kinematics.h"
#include "body/robot.h"
#include "sim/field.h"
#include "sim/mjcf.h"
#include "sim/power.h"
#include "sim/scene.h"
#include "sim/servo.h"

struct nm_world;

struct nm_world_robot {
    const struct nm_body *body; /* must outlive the world                                   */
    struct pose2 start;         /* in the field; upright on its feet                        */
    const double *joints;       /* at the start, n_joints; NULL: all zero                   */
    struct nm_shirt shirt;
    const bool *rigid; /* joints that stay where they start and cost nothing; NULL: none */
};

/* How far things may differ from robot to robot and from seed to seed, at most (uniform), times options.random. */
struct nm_world_spread {
    double mass;          /* share, of each link                            */
    double gain;          /* share, of each servo's torque                  */
    double friction;      /* share, of each joint's, and of the ground's    */
    double zero;          /* rad, of each joint's zero                      */
    double command_delay; /* s, more than the least                         */
    double sensor_delay;  /* s, more than the least                         */
    double gyro_bias;     /* rad/s                                          */
    double accel_bias;    /* m/s2                                           */
    double cell_gain;     /* share, of each load cell                       */
    double turf;          /* m, of the blades of the ground                 */
    double start;         /* rad, of each joint and of the trunk's tilt when it begins */
};
#define NM_WORLD_SPREAD ((struct nm_world_spread){0.05, 0.1, 0.3, 0.009, 0.008, 0.008, 0.02, 0.2, 0.05, 0, 0})
#define NM_WORLD_RANDOM 4.0 /* the most of options.random */

struct nm_world_options {
    uint64_t seed;
    int64_t step;          /* ns of one physical step, 1 to 10 ms; 0: 4 ms                    */
    int64_t command_delay; /* ns until a goal reaches the motor, at least                     */
    int64_t sensor_delay;  /* ns until a measurement can be read, at least                    */
    double random;         /* 0: every robot as its folder says; 1: within the whole spread; 2: twice */
    struct nm_world_spread spread;
    double charge;      /* of the batteries at the start, 0 to 1; 0: as nm_power_start says */
    double gyro_noise;  /* rad/s, standard deviation                                       */
    double accel_noise; /* m/s2                                                            */
    double cell_noise;  /* N                                                               */
    double cell_dead;   /* N, a load cell shows nothing below                              */
    double turf;        /* m of blades; negative: the field's own                          */
    double friction;    /* of feet on the ground                                           */
    double slope[2];    /* rad, by which the whole ground rises along x and y               */
    double ball_roll;   /* m, how far a ball of 2 m/s rolls; 0: by the turf, 2.6 to 4.2 m  */
    bool backlash;      /* gears of leg servos have play: a hinge more for each, at twice the cost     */
    double play;        /* rad, of every leg servo's gear in place of the folder's; 0: that            */
    enum nm_self_collision self;
    bool pendulum;
    bool bare;    /* the ground alone: neither goals nor a ball */
    bool visuals; /* shapes for MuJoCo's own renderer */
};
#define NM_WORLD_OPTIONS                                                                                               \
    ((struct nm_world_options){.command_delay = 8000000,                                                               \
                               .sensor_delay = 4000000,                                                                \
                               .spread = NM_WORLD_SPREAD,                                                              \
                               .gyro_noise = 0.006,                                                                    \
                               .accel_noise = 0.08,                                                                    \
                               .cell_noise = 0.3,                                                                      \
                               .turf = -1,                                                                             \
                               .friction = 0.7,                                                                        \
                               .self = NM_SELF_FEET})

struct nm_world *nm_world_new(const struct nm_pitch *pitch, const struct nm_world_robot *robots, uint32_t n,
                              const struct nm_world_options *options, struct nm_err *err);
void nm_world_free(struct nm_world *world);

int64_t nm_world_now(const struct nm_world *world);  /* ns since the start  */
int64_t nm_world_tick(const struct nm_world *world); /* ns of a step        */
const struct nm_body *nm_world_body(const struct nm_world *world, uint32_t robot);

void nm_world_step(struct nm_world *world, uint32_t steps);

/* ---- a robot's servos and sensors ---- */

/* One goal a joint. They reach the motors after the command delay, at the first step that begins then or later. Goals
 * that are not finite numbers leave the joint's old one. */
void nm_world_goals(struct nm_world *world, uint32_t robot, const struct nm_joint_goal *goals);

/* Battery and warmth of a robot. Torque and speed of its motors follow the voltage. */
const struct nm_power *nm_world_power(const struct nm_world *world, uint32_t robot);
/* A fresh battery with this charge, 0 to 1. */
void nm_world_charge(struct nm_world *world, uint32_t robot, double charge);
/* A supply of constant voltage in place of the battery. */
void nm_world_voltage(struct nm_world *world, uint32_t robot, double volts);

struct nm_joint_reading {
    double position; /* rad, as the encoder shows it               */
    double velocity; /* rad/s, from the encoder                    */
    double load;     /* duty, -1 to 1                              */
    double warmth;   /* degrees C                                  */
};

struct nm_sense {
    int64_t time;   /* ns, when it was measured */
    double voltage; /* V, of the supply         */
    struct nm_joint_reading joints[NM_JOINTS];
    struct vec3 gyro;          /* rad/s, in the IMU's frame                                   */
    struct vec3 accel;         /* m/s2, specific force: 9.81 upwards at rest                  */
    double cells[2][NM_CELLS]; /* N, in the order of the folder; 0 for feet without   */
};
/* What has arrived by now: measured the sensor delay ago or earlier. */
void nm_world_sense(const struct nm_world *world, uint32_t robot, struct nm_sense *sense);

/* ---- truth ---- */

struct nm_truth {
    struct pose3 base_to_field;
    struct vec3 velocity;               /* of the base's origin, in the field */
    struct vec3 angular_velocity;       /* in the field's axes                */
    double q[NM_JOINTS], qd[NM_JOINTS]; /* of the links: behind the play of the gears */
    double motor[NM_JOINTS];            /* before it, where the encoders sit          */
    double foot_force[2];               /* N, upwards on each foot in the last step                       */
    double torque[NM_JOINTS];           /* Nm that go through each gear: the motor's, less what its rotor takes */
};
void nm_world_truth(const struct nm_world *world, uint32_t robot, struct nm_truth *truth);
/* Its motors, n_joints: the goals that have arrived there, and what they give. */
const struct nm_servo_state *nm_world_motors(const struct nm_world *world, uint32_t robot);
struct pose3 nm_world_ball(const struct nm_world *world, struct vec3 *velocity);
/* Who touched whom in the last step. */
struct nm_touches {
    uint32_t ball;               /* robots that touched the ball, a bit each   */
    uint32_t robots[NM_PLAYERS]; /* of each robot: others that it touched      */
};
const struct nm_touches *nm_world_touches(const struct nm_world *world);

/* Poses of a robot's frames. */
void nm_world_frames(const struct nm_world *world, uint32_t robot, struct nm_kin *kin);
/* Everything a camera can see, with the robots' frames if `kin` is not NULL (one for each robot). The scene must have
 * been made with the world's pitch. */
void nm_world_scene(const struct nm_world *world, struct nm_scene *scene, struct nm_kin *kin);

/* ---- interventions ---- */

void nm_world_place(struct nm_world *world, uint32_t robot, struct pose2 pose); /* upright, joints as they are   */
void nm_world_put(struct nm_world *world, uint32_t robot,
                  struct pose3 base_to_field, /* anyhow, at rest; q may be NULL */
                  const double *q);
/* m, how deep two parts of a robot are inside each other at most; 0: none, or they do not collide. */
double nm_world_overlap(const struct nm_world *world, uint32_t robot);
void nm_world_put_ball(struct nm_world *world, struct vec3 position, struct vec3 velocity, struct vec3 spin);
/* A push of so many N s in the field's axes, spread over `duration` (at least one step), at a point of the base. */
void nm_world_push(struct nm_world *world, uint32_t robot, struct vec3 impulse, struct vec3 point, int64_t duration);
/* The whole ground rises from now on by other angles, as options.slope. */
void nm_world_slope(struct nm_world *world, const double slope[2]);
/* Lets the pendulum (1 kg on 1.9 m) go so that at its lowest it meets the robot's trunk at the height of its centre of
 * mass, coming from `direction` (rad, in the field), drawn back by `distance` (m). It meets trunks only, and is taken
 * away soon after. False without options.pendulum. */
bool nm_world_pendulum(struct nm_world *world, uint32_t robot, double direction, double distance);

int64_t nm_world_struck(const struct nm_world *world, uint32_t robot); /* ns, when it met that trunk first; -1: never */

/* ---- incidents ---- */

enum nm_incident_kind {
    NM_INCIDENT_STATE,   /* a number was not finite: the robot was put back                 */
    NM_INCIDENT_TORN,    /* it moved as no robot can: put back                              */
    NM_INCIDENT_WARNING, /* MuJoCo warned: too many contacts, bad inertia; nobody was moved */
    NM_INCIDENT_ERROR,   /* MuJoCo gave up on a step: all robots were put back              */
};
struct nm_incident {
    int64_t time;  /* ns                          */
    int32_t robot; /* -1: not a robot's (the ball, or the whole world) */
    enum nm_incident_kind kind;
    char text[120];
};
uint32_t nm_world_put_back(const struct nm_world *world, uint32_t robot); /* how often that robot was */
/* How many happened since the start; the last NM_INCIDENTS are kept. */
enum { NM_INCIDENTS = 64 };
uint64_t nm_world_incidents(const struct nm_world *world);
/* Incident number i, from 0; NULL if it is too old or did not happen. */
const struct nm_incident *nm_world_incident(const struct nm_world *world, uint64_t i);

/* What the seed drew for a robot, for reports and tests. */
struct nm_world_draw {
    int64_t command_delay, sensor_delay; /* ns, as drawn; each takes effect at a whole step */
    double mass;                         /* kg, sum */
    double ground_friction;
    const struct nm_servo_model *servos; /* n_joints */
};
void nm_world_drawn(const struct nm_world *world, uint32_t robot, struct nm_world_draw *draw);

/* MuJoCo's own structures, for benchmarks and tests that reach deeper. */
struct mjModel_ *nm_world_model(struct nm_world *world);
struct mjData_ *nm_world_data(struct nm_world *world);
