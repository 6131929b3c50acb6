/* What the parts of the hardware control manager share: its struct and its states.
 *
 *     hcm.c            ports, parameters; what is heard, decided and told in a cycle
 *     hcm_states.c     the table of states: owners, entry, evaluate, exit
 *     hcm_sense.c      tilt, falls, stillness, load under the feet
 *     hcm_requests.c   animations and motor power asked of others, services that others ask for */
#ifndef NM_MODULES_MOTION_HCM_PARTS_H
#define NM_MODULES_MOTION_HCM_PARTS_H

#include "core/nm.h"
#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/Animation.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "humanoid_league_msgs/RobotControlState.h"
#include "modules/motion/fall.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/WalkState.h"
#include "sensor_msgs/BatteryState.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"
#include "std_srvs/SetBool.h"
#include "std_srvs/Trigger.h"

enum hcm_state {
    STARTUP,
    CONTROLABLE,
    WALKING,
    WALKING_STOPPING,
    ANIMATION_RUNNING,
    KICKING,
    FALLING,
    FALLEN,
    TURNING_OVER,
    GETTING_UP,
    CARRIED,
    PENALTY_ANIMATION_IN,
    PENALTY,
    PENALTY_ANIMATION_OUT,
    RECORD,
    SITTING_DOWN,
    MOTOR_OFF,
    STANDING_UP,
    SHUTDOWN_ANIMATION,
    SHUTDOWN,
    HCM_OFF,
    STOPPED,
    STATES /* as a decision: stay */
};

/* an animation that the manager asked for */
enum hcm_play { PLAY_NONE, PLAY_ASKED, PLAY_RUNS, PLAY_DONE, PLAY_FAILED };

/* one who asks for joints by an Animation message, as heard in this cycle */
struct hcm_mover {
    bool wants; /* asks for the joints */
    bool moves; /* moves them          */
};

struct hcm {
    struct nm *nm;
    /* in */
    const Imu *imu;
    const JointState *joints;
    const FootPressure *feet;
    const Twist *cmd_vel;
    const WalkState *walk;
    const Animation *animation, *kick;
    const JointGoals *animated, *arm_goals;
    const MatchState *match;
    const BatteryState *battery;
    nm_client(PlayAnimation_SendGoal) send;
    nm_client(PlayAnimation_GetResult) result;
    nm_client(SetBool) power;
    nm_server(Trigger) shutdown;
    nm_server(SetBool) record;
    nm_server(SetBool) motors;
    /* out */
    Twist *walk_vel;
    HcmState *state_out;
    RobotControlState *control_state;
    /* params */
    double tilt, ahead, least, least_kick; /* of a fall            */
    double upright;                        /* rad                              */
    double quiet, settle;                  /* rad/s, s: is still               */
    double rocking, landed;                /* rad/s, s: lies                   */
    double no_load, lifted;                /* N, s: somebody carries it        */
    double put_down;                       /* s                                */
    double startup;                        /* s                                */
    double idle;                           /* s, 0: never                      */
    double empty;                          /* share of the battery's charge    */
    bool get_up, protect;
    bool limp; /* for a recording */
    int32_t tries;
    double rest;   /* s, after so many tries  */
    double stuck;  /* s, a get-up has failed  */
    double turned; /* rad, from back or front */
    /* state */
    bool begun; /* the clocks below run */
    enum hcm_state state, previous;
    int64_t since;         /* ns */
    int64_t answers_since; /* ns, sensors and joints do */
    char reason[128], refused[128];
    struct vec3 up, turning; /* in the trunk's axes                              */
    double coming;           /* s, for how long a fall has been coming           */
    int64_t still_since;     /* ns, the trunk turns slowly since                 */
    int64_t down_since;      /* ns, the trunk lies, though it may rock, since    */
    int64_t at_rest_since;   /* ns, it does not turn at all since                */
    int64_t loaded_since;    /* ns, the ground or nothing known of it; INT64_MAX: no load */
    int64_t lifted_since;    /* ns, upright without load; INT64_MAX: it is not   */
    bool felt_load;          /* cells that never told of any load are not believed */
    int64_t commanded;       /* ns, last command of any kind                     */
    int64_t told;            /* ns, last cmd_vel                                 */
    bool drained;            /* the battery is empty, or has hardly recovered since */
    bool wants_walk;
    struct hcm_mover animator, kicker;
    bool wants_shutdown, wants_record, wants_off;
    enum fall_way fall;
    int32_t tried; /* get-ups since it stood last */
    enum hcm_play play;
    uint64_t goal; /* number of the animation asked for */
    int64_t asked; /* ns */
    int64_t call;  /* of the request to the player whose reply is waited for */
    bool down_when_stopped;
    bool powered;       /* asked for last  */
    int64_t power_told; /* ns, when; 0: the hardware has answered, INT64_MIN: never asked */
};

/* ---- hcm_states.c ---- */

struct hcm_row {
    const char *name;
    uint8_t number;           /* of HcmState and RobotControlState                      */
    uint8_t legs, arms, head; /* owners                                                 */
    bool walks;               /* cmd_vel goes through to the walk                       */
    bool overridden;          /* penalty, stop, recording and shutdown end it           */
    void (*entry)(struct hcm *);
    enum hcm_state (*evaluate)(struct hcm *); /* where to go, why in f->reason; STATES: stay */
    void (*exit)(struct hcm *);
};
extern const struct hcm_row hcm_rows[STATES];

/* Looks at what comes from outside and stands above the state, then at the state, and goes where that leads. */
void hcm_evaluate(struct hcm *f);

/* ---- hcm_sense.c ---- */

void hcm_sense(struct hcm *f);
bool hcm_is_upright(const struct hcm *f);
bool hcm_is_still(const struct hcm *f);
bool hcm_is_down(const struct hcm *f); /* lies, and rocks at most */
bool hcm_is_falling(const struct hcm *f);
bool hcm_is_lifted(const struct hcm *f); /* upright, and no load under either foot for a while */
bool hcm_is_loaded(const struct hcm *f); /* stands on its feet, or has none that tell          */

/* ---- hcm_requests.c ---- */

/* Asks the player for the first of the two that the robot has; `otherwise` may be NULL. */
void hcm_ask_for(struct hcm *f, const char *name, const char *otherwise);
void hcm_hear_player(struct hcm *f);
bool hcm_play_over(const struct hcm *f);
/* Motors get power in all states but those in which they are off. */
void hcm_switch_power(struct hcm *f);
void hcm_serve(struct hcm *f);

#endif
