/* What the modules walk and walk_policy have in common: what is asked of a walk and what is refused, what is measured,
 * the model-based engine, and goals that go gently from wherever the joints are. The module steps the engine, or
 * another one, between walk_front_begin and walk_front_put. */
#pragma once

#include "core/nm.h"
#include "geometry_msgs/Twist.h"
#include "modules/imu.h"
#include "modules/motion/walk_engine.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"
#include "sensor_msgs/JointState.h"

enum { WALK_ARM = 3 }; /* joints of an arm */

/* Parameters beside those of the engine: members and rows of a module's tables. */
#define WALK_MEMBER_(name, value, least, most, unit, power, about) double name;
#define WALK_ROW_(name, value, least, most, unit, power, about)    NM_PARAM(name, value, least, most, unit, about),
#define WALK_FRONT_MEMBERS                                                                                             \
    double time_out, rise;        /* s      */                                                                         \
    double leap;                  /* rad/s  */                                                                         \
    double arms[WALK_ARM], swing; /* rad, 1 */                                                                         \
    bool stabilise;                                                                                                    \
    WALK_PARAMS(WALK_MEMBER_)
#define WALK_FRONT_PARAMS                                                                                              \
    NM_PARAM(time_out, 0.5, 0.05, 10, "s", "stops when no velocity came for this long"),                               \
        NM_PARAM(rise, 1, 0.1, 10, "s",                                                                                \
                 "from wherever the joints are found into the stand; less if they are near it"),                       \
        NM_PARAM(leap, 87.5, 5, 1000, "rad/s",                                                                         \
                 "fastest that a goal moves: more than any good step needs, less than a stumbling one wants"),         \
        NM_PARAM_LIST(arms, "0.35 0.17 -1.57", -3.2, 3.2, "rad",                                                       \
                      "left arm from the shoulder outwards; the right one mirrors it"),                                \
        NM_PARAM(swing, 0.8, -3, 3, "1", "of the arms with the legs, against the yaw that swinging legs make"),        \
        NM_PARAM_SWITCH(stabilise, true, "place and time steps, turn ankles and hips by what is measured"),            \
        WALK_PARAMS(WALK_ROW_)
/* Takes over the parameters of module `f` into its `front`. */
#define WALK_COPY_(name, value, least, most, unit, power, about) from_->front.tuned.name = from_->name;
#define walk_front_take(f)                                                                                             \
    do {                                                                                                               \
        __typeof__(f) from_ = (f);                                                                                     \
        WALK_PARAMS(WALK_COPY_)                                                                                        \
        from_->front.time_out = from_->time_out;                                                                       \
        from_->front.rise = from_->rise;                                                                               \
        from_->front.leap = from_->leap;                                                                               \
        from_->front.swing = from_->swing;                                                                             \
        memcpy(from_->front.arms, from_->arms, sizeof from_->arms);                                                    \
        walk_params_scale(&from_->front.tuned, from_->front.engine.legs);                                              \
        if (!from_->stabilise) walk_params_open_loop(&from_->front.tuned);                                             \
    } while (0)

#define WALK_FRONT_PORTS                                                                                               \
    NM_IN(front.cmd_vel, Twist, "cmd_vel"), NM_IN(front.command, WalkCommand, "walk_command", .optional = true),       \
        NM_IN(front.hcm, HcmState, "hcm_state", .optional = true), NM_IN(front.joints, JointState, "joint_states"),    \
        NM_IN(front.imu, Imu, "imu/data"), NM_IN(front.feet, FootPressure, "foot_pressure"),                           \
        NM_IN(front.odometry, Odometry, "odometry", .optional = true), NM_OUT(front.goals, JointGoals, "joint_goals"), \
        NM_OUT(front.walk_state, WalkState, "walk_state")

struct walk_front {
    struct nm *nm;
    /* in */
    const Twist *cmd_vel;
    const WalkCommand *command;
    const HcmState *hcm;
    const JointState *joints;
    const Imu *imu;
    const FootPressure *feet;
    const Odometry *odometry;
    /* out */
    JointGoals *goals;
    WalkState *walk_state;
    /* params */
    double time_out, rise, leap, arms[WALK_ARM], swing;
    struct walk_params tuned; /* scaled to the body */
    /* state */
    struct walk_engine engine;
    double mirror[WALK_ARM]; /* -1 where a joint of the right arm turns against its left one */
    double q[NM_JOINTS], from[NM_JOINTS], told[NM_JOINTS];
    uint64_t known; /* a bit a joint that has answered                               */
    int64_t since;  /* ns; begin of the way from `from` to the goals, -1: not yet    */
    double takes;   /* s, that way                                                   */
    bool rising;    /* that way is the one into the stand                            */
    struct {        /* what is wanted                                                */
        uint8_t mode;
        double velocity[3];  /* m/s, m/s, rad/s; of TARGET the most */
        struct pose2 target; /* seen from the support foot          */
        struct pose2 place;  /* the target in odom                  */
        double heading;      /* rad, of the target in the world     */
        int64_t told;        /* ns                                  */
    } wish;
    double heading;     /* rad, of the trunk in the world           */
    int64_t kick_asked; /* ns, when the last kick was accepted     */
    bool arrived;       /* at the target                            */
    bool placed;        /* the odometry is alive                    */
    struct pose2 here;  /* base_footprint in odom                   */
    double speed[3];    /* by the odometry: m/s, m/s, rad/s         */
    uint32_t steps;
    struct imu_watch watch;
    uint32_t same_imu; /* samples in a row that did not change, counted while it walks */
    char refused[128];
};

/* For init and reset, with parameters taken. */
int walk_front_init(struct walk_front *f, struct nm *nm);
void walk_front_reset(struct walk_front *f);

/* Reads joints and commands. False if there is nothing to do: not all joints have answered, or the legs belong to
 * somebody else, which it then says on walk_state. `walks`: whatever moves the legs makes steps now, so that a sensor
 * that lives must change. */
bool walk_front_begin(struct walk_front *f, bool walks, struct walk_sense *sense);
/* What the engine is to do: the velocity within its limits, a step towards the target, or to stand. */
struct walk_command walk_front_command(struct walk_front *f, const struct walk_sense *sense);
/* A step of the engine; goals of legs and arms. */
void walk_front_model(struct walk_front *f, const struct walk_sense *sense, const struct walk_command *command,
                      double goals[NM_JOINTS]);
/* What is left of the way to the target by the odometry, seen from base_footprint. */
struct pose2 walk_front_rest(const struct walk_front *f);
/* Whether so much of the way to the target is as good as none, times `share`; whoever has arrived may be twice as far
 * off before it goes on. */
bool walk_front_arrives(struct walk_front *f, struct pose2 rest, double share);
/* From now on the engine believes the odometry's place of the target. */
void walk_front_aim(struct walk_front *f);
/* From now on goals move over from the last ones within so many seconds. */
void walk_front_blend(struct walk_front *f, double seconds);
/* Publishes the goals of legs and arms; stiffness: shares of the motors' gains, NULL: all of them. */
void walk_front_put(struct walk_front *f, const double goals[NM_JOINTS], const double *stiffness);
/* Publishes walk_state; the engine's view of it, which the module may change between the two. */
WalkState *walk_front_tell(struct walk_front *f, uint8_t state);
/* STANDING, STARTING … of the engine. */
uint8_t walk_front_state(const struct walk_front *f, bool walk);
