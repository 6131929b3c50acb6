/* The constant model of a robot, made from its folder (robot.urdf, robot.yaml, servos.yaml, cameras.yaml,
 * cameras.saved.yaml, params.yaml)
 * or from a bare URDF. Nothing in it changes after loading; what moves lives in kinematics.h, state.h and the callers.
 *
 * URDF links joined by fixed joints become one link here; each URDF link stays known as a frame. Links are in
 * topological order (a parent before its children, otherwise in the order of the file): link 0 is the base, joint j
 * carries link j + 1. Frame i is link i itself for i < n_links; the frames after them are fixed to a link.
 *
 * `a_to_b` maps coordinates of a into b. The base's frame is base_link where the file has one, else the root link;
 * where x is not forward in it or it lies on the ground, the base's frame is turned and lifted to the hips and called
 * base_link, and the file's own is a frame on it.
 */
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/export.h"
#include "base/geometry.h"
#include "body/camera.h"
#include "body/urdf.h"
#include "codec/yaml.h"

enum {
    NM_JOINTS = 64, /* that move */
    NM_LINKS = NM_JOINTS + 1,
    NM_FRAMES = 256,
    NM_GROUP = 12, /* joints of a limb  */
    NM_CAMERAS = 4,
    NM_CELLS = 4, /* load cells a foot */
};

enum nm_side { NM_LEFT, NM_RIGHT };

/* what the body takes: goals of single joints, or a walking velocity, or both */
enum nm_offer { NM_OFFERS_JOINT_GOALS = 1, NM_OFFERS_WALK_VELOCITY = 2 };

struct nm_joint {
    const char *name;
    enum nm_joint_type type;  /* never NM_FIXED                                                   */
    uint32_t parent;          /* link; the child is link (index of this joint) + 1                */
    struct pose3 to_parent;   /* the child's frame at zero                                        */
    struct vec3 axis;         /* length 1, in the child's frame                                   */
    double lower, upper;      /* rad, m; infinite if continuous                                   */
    double velocity, effort;  /* rad/s, Nm; infinite if unknown                                   */
    double damping, friction; /* Nm s/rad, Nm                                                     */
    double armature;          /* kg m2, the rotor's inertia seen at the joint                     */
    int32_t mimic;            /* joint it is coupled to: q = multiplier * q[mimic] + offset; or -1 */
    double multiplier, offset;
    int32_t servo; /* in servos, -1 if none drives it                                  */
};

struct nm_frame {
    const char *name;
    uint32_t link;
    struct pose3 to_link;
};

/* The motor model is that of the Better Actuator Models work (Rhoban): torque = kt / R (duty V - kt w), duty =
 * clip(duty_gain P error), minus Coulomb and viscous friction. */
struct nm_servo_type {
    const char *name;
    double kt, resistance;      /* Nm/A, ohm                              */
    double armature;            /* kg m2                                  */
    double friction, damping;   /* Nm, Nm s/rad: Coulomb and viscous      */
    double max_torque;          /* Nm at the robot's voltage              */
    double no_load_speed;       /* rad/s at the robot's voltage           */
    double duty_gain, max_duty; /* 1/rad for each unit of P; share of 1   */
    double backlash;            /* rad, from end to end                   */
    double max_temperature;     /* degrees C                              */
    double heat_capacity;       /* J/K, of the whole servo                */
    double thermal_resistance;  /* K/W, from its copper to the air        */
    double min_voltage, max_voltage;
    uint32_t encoder_steps; /* a turn                                 */
};

/* A lithium-polymer pack, and what hangs on it beside the servos. */
struct nm_battery {
    double cells;       /* in series                                       */
    double capacity;    /* Ah                                              */
    double resistance;  /* ohm, of the pack, its plug and its cables       */
    double electronics; /* W, of the computer and the boards               */
};

struct nm_bus {
    const char *name, *device;
    uint32_t baud, protocol; /* protocol 1 or 2 */
};

struct nm_servo {
    uint32_t joint, type, bus, id;
    double direction, offset; /* read by the functions below only; direction is 1 or -1 */
    uint32_t p, i, d;         /* the firmware's units                                   */
};

/* Between the angle of a joint and the angle that its servo counts: joint = direction * servo + offset. Nobody else
 * knows how a servo is mounted: modules and everything above speak of joints, the bus and its topics of servos. NULL is
 * a joint without a servo, whose angles are the same. */
static inline double nm_joint_of_servo(const struct nm_servo *servo, double angle)
{
    return servo ? servo->direction * angle + servo->offset : angle;
}
static inline double nm_servo_of_joint(const struct nm_servo *servo, double position)
{
    return servo ? servo->direction * (position - servo->offset) : position;
}
/* Velocities and torques, either way. */
static inline double nm_servo_turn(const struct nm_servo *servo, double value)
{
    return servo ? servo->direction * value : value;
}

/* what else answers on a bus: imu, foot, board, … */
struct nm_device {
    const char *name, *kind;
    uint32_t bus, id;
};

/* How a camera sits on its robot, beyond what the URDF says; in the axes of the trunk with all joints at zero: x
 * forward, y left, z up. */
struct nm_mount {
    double neck[3], turn[3]; /* rad: roll, pitch, yaw of the neck below the head's first joint, and of the camera */
};

struct nm_body_camera {
    const char *name, *format;
    uint32_t frame; /* optical: z forward, x right, y down */
    double fps;
    bool guessed; /* nothing but its frame is known */
    struct nm_camera lens;
    struct nm_mount mount; /* calibrated: already part of the joints and frames */
};

struct nm_group {
    uint32_t n; /* 0: the robot has none */
    uint32_t joints[NM_GROUP];
    uint32_t end; /* frame: sole, hand, camera */
};

struct nm_foot {
    uint32_t sole; /* frame: on the ground, x forward, z up      */
    int32_t toe;   /* frame, or -1                               */
    uint32_t n_cells;
    uint32_t cells[NM_CELLS]; /* frames: front left, front right, back left, back right */
};

struct nm_body {
    const char *name, *about, *path;
    uint32_t offers;  /* enum nm_offer                                          */
    uint32_t facing;  /* quarter turns to the left from the URDF's x to forward */
    double height;    /* m, standing straight; from the shapes if not written   */
    double mass;      /* kg                                                     */
    double voltage;   /* V, of the servos' supply                               */
    double bus_round; /* s, the shortest round of its buses; 0: whatever the line-up wants */
    struct nm_battery battery;

    uint32_t n_links, n_joints, n_frames, n_visuals, n_collisions;
    const struct nm_joint *joints;
    const struct nm_frame *frames;
    const struct nm_inertia *inertia; /* of each link */
    const struct nm_link_shape *visuals, *collisions;
    const struct nm_step *steps; /* what kinematics.c precomputes, one a joint */

    struct nm_group leg[2], arm[2], head; /* from the base outwards */
    struct nm_foot foot[2];
    int32_t imu; /* frame, or -1 */

    uint32_t odd_inertias; /* links whose inertia cannot be theirs */
    uint32_t n_excludes;
    const uint32_t (*excludes)[2]; /* pairs of links that never touch in earnest */

    uint32_t n_servo_types, n_servos, n_buses, n_devices, n_cameras;
    const struct nm_servo_type *servo_types;
    const struct nm_servo *servos;
    const struct nm_bus *buses;
    const struct nm_device *devices;
    struct nm_body_camera cameras[NM_CAMERAS];

    uint32_t n_animations;
    const struct nm_animation *animations; /* animations/ (body/animation.h) in the order of their names */

    const struct nm_yaml *params; /* params.yaml as it is: instance names and their parameters; NULL if none */
    const char *urdf;             /* its text, with xacro expanded; NULL if it was not read from a file        */
    struct nm_err *notes;         /* what is odd, what was guessed; never NULL                               */
};

/* A folder or a .urdf file; NULL after a fault. All memory is the arena's. */
const struct nm_body *nm_body_load(struct nm_arena *arena, const char *path, struct nm_err *err);
/* The same without cameras.saved.yaml. */
const struct nm_body *nm_body_uncalibrated(struct nm_arena *arena, const char *path, struct nm_err *err);

/* The same from a URDF in memory, without a folder's files. */
const struct nm_body *nm_body_from_urdf(struct nm_arena *arena, const struct nm_urdf *urdf, struct nm_err *err);

/* The robot.urdf of a folder as the topic robot_description carries it: the CDR of a std_msgs/String, which may be
 * longer than our String. NULL if it cannot be read or has more than 4 MB. */
const uint8_t *nm_robot_description(struct nm_arena *arena, const char *folder, size_t *n);

/* -1 if there is none of that name. */
/* How a motor follows its goal with the gain of its servo: Nm at stall, Nm for each radian that it is off, and s by
 * which it is late. All 0 where it is not known. */
struct nm_motor {
    double stall, gain, lag;
};
NM_EXPORT struct nm_motor nm_motor_of(const struct nm_body *body, uint32_t joint);

NM_EXPORT int32_t nm_find_joint(const struct nm_body *body, const char *name);
NM_EXPORT int32_t nm_find_frame(const struct nm_body *body, const char *name);
/* The same, tried at `guess` first: messages name joints mostly in one order. */
NM_EXPORT int32_t nm_find_joint_near(const struct nm_body *body, const char *name, uint32_t guess);
/* Takes over what a message says of joints (rad), which may have more names than positions or the reverse; unknown
 * names and numbers that are not finite are left out; coupled joints go with the one they follow. A bit for each joint
 * that was taken. */
enum { NM_JOINT_NAME = 32 }; /* bytes of a name in such messages */
NM_EXPORT uint64_t nm_take_joints(const struct nm_body *body, const char (*names)[NM_JOINT_NAME], uint32_t n_names,
                                  const double *positions, uint32_t n_positions, double q[]);

/* Coupled joints take the value they have from the joint they follow. */
NM_EXPORT void nm_apply_mimics(const struct nm_body *body, double q[]);

/* Sentences on a mass or a height that no robot has, one a line; returns how many. */
uint32_t nm_body_impossible(const struct nm_body *body, struct nm_err *out);
/* Sentences on why this robot cannot walk whatever is written beside its URDF, one a line; returns how many. */
uint32_t nm_body_refused(const struct nm_body *body, struct nm_err *out);
/* Sentences on what this robot lacks to play, these included. */
uint32_t nm_body_missing(const struct nm_body *body, struct nm_err *out);

/* Writes the whole text of `nutmeg robot check`: tree, masses, limits, groups, what is missing. */
void nm_body_describe(const struct nm_body *body, FILE *to);
