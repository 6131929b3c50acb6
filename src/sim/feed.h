/* Sensor feeds: what the hardware of a simulated robot says on its topics, and what it makes of what it is told. Angles
 * on these topics are the servos' own (joint = direction * servo + offset), as on a real bus, and broken parts answer
 * as broken parts do. Everything here is pure: a measurement and a list of faults in, messages out. */
#pragma once

#include "body/robot.h"
#include "core/stamp.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/ServoStates.h"
#include "sensor_msgs/CameraInfo.h"
#include "sensor_msgs/Imu.h"
#include "base/random.h"
#include "sim/world.h"

enum nm_fault_kind {
    NM_FAULT_SERVO_DEAD,   /* neither moves nor answers                                    */
    NM_FAULT_SERVO_LIMP,   /* answers, but gives no torque                                 */
    NM_FAULT_SERVO_SILENT, /* obeys, but does not answer                                   */
    NM_FAULT_SERVO_HOT,    /* has switched itself off, and says so                         */
    NM_FAULT_IMU_FROZEN,   /* says the same again and again                                */
    NM_FAULT_IMU_SPIKES,   /* one value in ten is at the end of its range                  */
    NM_FAULT_IMU_LOST,     /* says nothing                                                 */
    NM_FAULT_FOOT_LOST,    /* a foot's cells do not answer                                 */
    NM_FAULT_FOOT_FROZEN,  /* they say the same again and again                            */
    NM_FAULT_BUS_LOST,     /* nothing on the bus answers, no goal arrives                  */
    NM_FAULT_EYES_BLIND,   /* neither pictures nor percepts come                           */
    NM_FAULT_STALL,        /* the computer hangs: nothing comes in, nothing goes out       */
    NM_FAULTS
};
struct nm_fault_name {
    const char *part, *what; /* "servo", "dead" */
};
extern const struct nm_fault_name nm_fault_names[NM_FAULTS];

/* What is broken right now. */
struct nm_faults {
    uint64_t dead, limp, silent, hot; /* a bit a joint */
    bool imu_frozen, imu_spikes, imu_lost;
    bool foot_lost[2], foot_frozen[2]; /* enum nm_side */
    bool bus_lost, blind, stall;
};
/* `part`: the joint of a servo, the side of a foot. */
void nm_faults_add(struct nm_faults *faults, enum nm_fault_kind kind, uint32_t part);

/* Joints that give no torque whatever they are told. */
static inline uint64_t nm_faults_limp(const struct nm_faults *f) { return f->dead | f->limp | f->hot; }

/* What a robot's electronics remember between two messages. */
struct nm_feed {
    const struct nm_body *body;
    struct nm_dice dice; /* of faults             */
    Imu imu;             /* the last that was told */
    FootPressure feet;
};
void nm_feed_init(struct nm_feed *feed, const struct nm_body *body, uint64_t seed, uint32_t robot);

/* Each fills a message, false where a fault keeps it from being sent. `goals` are those the servos have. */
bool nm_feed_servos(const struct nm_feed *feed, const struct nm_faults *faults, const struct nm_sense *sense,
                    const struct nm_joint_goal *goals, ServoStates *to);
bool nm_feed_imu(struct nm_feed *feed, const struct nm_faults *faults, const struct nm_sense *sense, Imu *to);
bool nm_feed_feet(struct nm_feed *feed, const struct nm_faults *faults, const struct nm_sense *sense, FootPressure *to);

/* Takes over the goals of the joints that are named; others keep theirs. Goals of unknown joints, and goals that are no
 * numbers, are left out. Speed and torque that a goal asks for lead it, through the servo's stiffness, as the bus
 * driver does. */
void nm_feed_goals(const struct nm_body *body, const JointGoals *from, struct nm_joint_goal *goals);

/* What the bus driver does when goals grow old, with its numbers (edge/bus/driver.c): after a while without word the
 * servos lose most of their strength and their goals creep after the joints, a brake. With word the strength comes back
 * in a ramp, a longer one than the driver's, which leads the goals besides. `share` of its torque is what each servo
 * may use. To be called at every step; zeroes are a robot not heard of yet. */
struct nm_damping {
    bool known;
    double share;
};
void nm_feed_damp(struct nm_damping *damping, const struct nm_body *body, const struct nm_sense *sense, int64_t age,
                  int64_t step, struct nm_joint_goal *goals);

/* How a camera of a robot maps directions to pixels. */
void nm_feed_camera_info(const struct nm_body *body, uint32_t camera, CameraInfo *to);
