/* The hardware control manager. It knows the state of the robot, decides who may move which joints, catches falls, gets
 * up, sits down, and switches the motors off and on. joint_owners obeys the owners that it names.
 *
 * A module that wants to move joints must ask for them, and may move only the joints that hcm_state gives it:
 * - The animation player asks on `animation` and the kick asks on `kick`, both with the Animation message of Marc
 *   Bestmann's thesis (2017) in every cycle. A message with only `request` asks for the joints. The manager stops the
 * walk (WALKING_STOPPING) and then grants the joints: the state becomes ANIMATION_RUNNING. The owner of the legs is
 * then OWNER_KICK for a kick, and never OWNER_KICK for an animation. From then on `first` comes with the first goals,
 * no flag with all other goals, and `last` at the end. Silence for 0.1 s is an end, too. The goals of a kick are on
 *   `kick_goals`; a kick gets legs and arms, but not the head. When the owner changes, the joints are taken away: by a
 *   fall, a penalty or a stop. Falls are caught during a kick, but not during an animation, because a dive is one.
 *   `first` together with `request` asks for them at once: a dive waits neither for the walk nor for a kick.
 * - The arms are asked for on `arm_goals`: goals that name joints of an arm ask for this arm. It is given (OWNER_ARMS)
 *   where the walk would have it, until the goals end. A fall, an animation and a kick come first. */
#include <string.h>

#include "body/animation.h"
#include "body/robot.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/Animation.h"
#include "humanoid_league_msgs/PlayAnimation.h"
#include "humanoid_league_msgs/RobotControlState.h"
#include "modules/imu.h"
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

enum state {
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
enum play { PLAY_NONE, PLAY_ASKED, PLAY_RUNS, PLAY_DONE, PLAY_FAILED };

/* one who asks for joints by an Animation message, as heard in this cycle */
struct mover {
    bool wants;   /* asks for the joints                        */
    bool hurries; /* wants them in the middle of a step         */
    bool moves;   /* moves them                                 */
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
    enum state state, previous;
    int64_t since;         /* ns */
    int64_t answers_since; /* ns, sensors and joints do */
    char reason[128], refused[128];
    struct vec3 up, turning; /* in the trunk's axes                              */
    struct fall_watch watch; /* of a fall that may be coming                     */
    int64_t still_since;     /* ns, the trunk turns slowly since                 */
    int64_t down_since;      /* ns, the trunk lies, though it may rock, since    */
    int64_t at_rest_since;   /* ns, it does not turn at all since                */
    int64_t loaded_since;    /* ns, the ground or nothing known of it; INT64_MAX: no load */
    int64_t lifted_since;    /* ns, upright without load; INT64_MAX: it is not   */
    bool felt_load;          /* cells that have never felt a load are not trusted */
    int64_t commanded;       /* ns, last command of any kind                     */
    int64_t told;            /* ns, last cmd_vel                                 */
    bool drained;            /* the battery is empty, or has hardly recovered since */
    bool wants_walk;
    struct mover animator, kicker;
    bool wants_shutdown, wants_record, wants_off;
    enum fall_way fall; /* where it falls to, or how it lies */
    int32_t tried;      /* get-ups since it stood last */
    enum play play;
    uint64_t goal;                  /* number of the animation asked for */
    int64_t asked;                  /* ns */
    int64_t call;                   /* of the request to the player whose reply is waited for */
    bool down_when_stopped, frozen; /* lay when play was stopped; joints are held */
    bool powered;                   /* asked for last  */
    int64_t power_told;             /* ns, when; 0: the hardware has answered, INT64_MIN: never asked */
};

#define AT_REST 0.1 /* rad/s; no hand holds a robot so still, the ground does */
#define LIES    1.0 /* rad of tilt; more than in any stand or squat           */
#define CHANGED 0.2 /* of the battery's charge                                */

/* ---- what it feels ---- */

static double ago(const struct hcm *f, int64_t then) { return then == INT64_MAX ? 0 : nm_seconds(f->nm->now - then); }

static bool is_upright(const struct hcm *f) { return fall_tilt(f->up) < f->upright; }
static bool is_still(const struct hcm *f) { return ago(f, f->still_since) > f->settle; }
/* lies, though it may still rock */
static bool is_down(const struct hcm *f) { return ago(f, f->down_since) > f->landed; }
static bool is_falling(const struct hcm *f) { return fall_is_coming(&f->watch, nm_seconds(f->nm->dt)); }
/* upright, and for a while no load under either foot */
static bool is_lifted(const struct hcm *f) { return ago(f, f->lifted_since) > f->lifted; }
/* stands on its feet, or its feet have no load cells */
static bool is_loaded(const struct hcm *f) { return ago(f, f->loaded_since) > 0.1; }

static void feel_trunk(struct hcm *f)
{
    struct quat torso_to_world;
    struct vec3 rate;
    if (!torso_by_imu(f->nm, f->imu, 0.1, &torso_to_world) || !turning_by_imu(f->nm->body, f->imu, &rate)) return;
    f->up = quat_apply(quat_inv(torso_to_world), (struct vec3){0, 0, 1});
    f->turning = rate;
    double turning = vec3_norm(f->turning);
    if (turning > f->quiet) f->still_since = f->nm->now;
    if (turning > AT_REST) f->at_rest_since = f->nm->now;
    if (turning > f->rocking || fall_tilt(f->up) < LIES) f->down_since = f->nm->now;

    const struct fall_params p = {f->tilt, f->ahead, f->state == KICKING ? fmax(f->least, f->least_kick) : f->least};
    enum fall_way way = fall_look(&f->watch, &p, f->up, f->turning, nm_seconds(f->nm->dt));
    if (way != FALL_NONE) f->fall = way;
}

static void feel_feet(struct hcm *f)
{
    const SolePressure *left = &f->feet->left, *right = &f->feet->right;
    bool told = left->valid && right->valid, loaded = !told || !(left->force + right->force < f->no_load);
    f->felt_load |= told && loaded;
    if (!f->felt_load) return;
    if (!loaded)
        f->loaded_since = INT64_MAX;
    else if (f->loaded_since == INT64_MAX)
        f->loaded_since = f->nm->now;
    if (loaded || !is_upright(f))
        f->lifted_since = INT64_MAX;
    else if (f->lifted_since == INT64_MAX)
        f->lifted_since = f->nm->now;
}

/* A battery that is relieved of its load recovers a little. Only one that is much better has been changed. */
static void feel_battery(struct hcm *f)
{
    double charge = f->battery->percentage;
    if (charge < f->empty) f->drained = true;
    if (charge > f->empty + CHANGED) f->drained = false;
}

static void sense(struct hcm *f)
{
    if (nm_fresh(f->nm, f->battery)) feel_battery(f);
    if (nm_fresh(f->nm, f->imu)) feel_trunk(f);
    if (nm_fresh(f->nm, f->feet)) feel_feet(f);
}

/* ---- animations ---- */

static void goal_id(const struct hcm *f, uint8_t id[16])
{
    memcpy(id, "hcm\0\0\0\0", 8);
    memcpy(id + 8, &f->goal, sizeof f->goal);
}

/* Asks the player for the first of the two that the robot has; `otherwise` may be NULL. */
static void ask_for(struct hcm *f, const char *name, const char *otherwise)
{
    const char *found = nm_find_animation(f->nm->body, name)                     ? name
                        : otherwise && nm_find_animation(f->nm->body, otherwise) ? otherwise
                                                                                 : NULL;
    f->play = PLAY_FAILED;
    if (!found) return;
    PlayAnimation_SendGoal_Request *ask = nm_call(f->nm, &f->send);
    f->goal++;
    goal_id(f, ask->goal_id.uuid);
    nm_text(ask->goal.animation, "%s", found);
    ask->goal.hcm = true;
    f->play = PLAY_ASKED;
    f->call = nm_slot(ask)->call;
    f->asked = f->nm->now;
}

/* A reply to any other call is about a goal that a newer one has replaced. */
static void hear_player(struct hcm *f)
{
    for (uint32_t i = 0; i < f->send.replies.n; i++) {
        const PlayAnimation_SendGoal_Response *r = f->send.replies.at[i];
        if (f->play != PLAY_ASKED || nm_slot(r)->call != f->call) continue;
        f->play = r->accepted ? PLAY_RUNS : PLAY_FAILED;
        if (f->play == PLAY_FAILED) continue;
        PlayAnimation_GetResult_Request *ask = nm_call(f->nm, &f->result);
        goal_id(f, ask->goal_id.uuid);
        f->call = nm_slot(ask)->call;
    }
    for (uint32_t i = 0; i < f->result.replies.n; i++) {
        const PlayAnimation_GetResult_Response *r = f->result.replies.at[i];
        if (f->play == PLAY_RUNS && nm_slot(r)->call == f->call)
            f->play = r->result.successful ? PLAY_DONE : PLAY_FAILED;
    }
    if (f->play == PLAY_ASKED && nm_seconds(f->nm->now - f->asked) > 0.5) f->play = PLAY_FAILED;
    if (f->play == PLAY_RUNS && nm_seconds(f->nm->now - f->asked) > 30) f->play = PLAY_FAILED;
}

static bool play_over(const struct hcm *f) { return f->play == PLAY_DONE || f->play == PLAY_FAILED; }

/* ---- the states ----
 * The states are those of Marc Bestmann's thesis (2017), section 5.2.1, as the rows of one table: who owns the joints,
 * and what is done on entry, in each cycle, and on exit. Three states are ours: `stopped` for rules under which robots
 * freeze, `carried` for a robot in somebody's hands, and `kicking`, an animation during which falls are caught. Every
 * change of state has a reason. */

struct row {
    const char *name;
    uint8_t number;           /* of HcmState and RobotControlState                      */
    uint8_t legs, arms, head; /* owners                                                 */
    bool walks;               /* cmd_vel goes through to the walk                       */
    bool overridden;          /* penalty, stop, recording and shutdown end it           */
    void (*entry)(struct hcm *);
    enum state (*evaluate)(struct hcm *); /* where to go, why in f->reason; STATES: stay */
    void (*exit)(struct hcm *);
};

static enum state go(struct hcm *f, enum state to, const char *why)
{
    nm_text(f->reason, "%s", why);
    return to;
}

static double in_state(const struct hcm *f) { return nm_seconds(f->nm->now - f->since); }

static enum state lies_or_stands(struct hcm *f, const char *why)
{
    f->commanded = f->nm->now;
    return go(f, is_upright(f) ? CONTROLABLE : FALLEN, why);
}

static void stand(struct hcm *f) { ask_for(f, "stand", NULL); }
static void sit(struct hcm *f) { ask_for(f, "sit", NULL); }

/* A robot that lies cannot play these animations. */
static void stand_if_upright(struct hcm *f)
{
    f->play = PLAY_FAILED;
    if (is_upright(f)) stand(f);
}

static void sit_if_upright(struct hcm *f)
{
    f->play = PLAY_FAILED;
    if (is_upright(f)) sit(f);
}

/* ---- on its feet ---- */

static enum state startup(struct hcm *f)
{
    bool answer = nm_slot(f->imu)->seq && nm_slot(f->joints)->seq;
    if (!answer) f->answers_since = f->nm->now;
    if (!answer || nm_seconds(f->nm->now - f->answers_since) < f->startup) return STATES;
    return lies_or_stands(f, "sensors and joints answer");
}

/* What ends standing and walking alike. */
static enum state loses_ground(struct hcm *f)
{
    if (is_lifted(f)) return go(f, CARRIED, "no load under its feet: somebody carries it");
    if (is_falling(f)) return go(f, FALLING, "the trunk tilts beyond what a step could catch");
    return STATES;
}

/* After that it waits for a command, even if the battery is changed. */
static enum state spare_battery(struct hcm *f, enum state to)
{
    f->wants_off = true;
    return go(f, to, "the battery is almost empty");
}

static enum state controlable(struct hcm *f)
{
    enum state lost = loses_ground(f);
    if (lost != STATES) return lost;
    if (!is_upright(f) && is_still(f)) return go(f, FALLEN, "found itself lying");
    if (f->drained) return spare_battery(f, SITTING_DOWN);
    if (f->animator.wants) return go(f, ANIMATION_RUNNING, "an animation asks for the joints");
    if (f->kicker.wants) return go(f, KICKING, "a kick asks for the joints");
    if (f->walk->state != WalkState_STANDING && f->walk->state != WalkState_OFF && nm_slot(f->walk)->seq)
        return go(f, WALKING, "the walk has left its stand");
    if (f->wants_off) return go(f, SITTING_DOWN, "somebody asked to switch the motors off");
    if (f->idle > 0 && nm_seconds(f->nm->now - f->commanded) > f->idle) return go(f, SITTING_DOWN, "no command came");
    return STATES;
}

static bool walk_stands(const struct hcm *f)
{
    return f->walk->state == WalkState_STANDING || f->walk->state == WalkState_OFF;
}

static enum state walking(struct hcm *f)
{
    enum state lost = loses_ground(f);
    if (lost != STATES) return lost;
    if (f->drained) return spare_battery(f, WALKING_STOPPING);
    if (f->animator.hurries) return go(f, ANIMATION_RUNNING, "an animation cannot wait for the walk to stop");
    if (f->animator.wants) return go(f, WALKING_STOPPING, "an animation asks for the joints");
    if (f->kicker.wants) return go(f, WALKING_STOPPING, "a kick asks for the joints");
    if (f->wants_off) return go(f, WALKING_STOPPING, "somebody asked to switch the motors off");
    if (walk_stands(f)) return go(f, CONTROLABLE, "the walk stands");
    f->commanded = f->nm->now;
    return STATES;
}

static enum state walking_stopping(struct hcm *f)
{
    enum state lost = loses_ground(f);
    if (lost != STATES) return lost;
    if (f->animator.hurries) return go(f, ANIMATION_RUNNING, "an animation cannot wait for the walk to stop");
    return walk_stands(f) ? go(f, CONTROLABLE, "the walk stands") : STATES;
}

/* A keeper's dive is an animation and a fall, so falls are not caught during an animation. */
static enum state animation_running(struct hcm *f)
{
    f->commanded = f->nm->now;
    if (f->animator.moves || f->animator.wants || in_state(f) < 0.1) return STATES;
    if (is_falling(f) && fall_tilt(f->up) < LIES) return go(f, FALLING, "fell during an animation");
    return lies_or_stands(f, "the animation is over");
}

static enum state kicking(struct hcm *f)
{
    f->commanded = f->nm->now;
    if (is_falling(f)) return go(f, FALLING, "falls while kicking");
    if (f->animator.hurries) return go(f, ANIMATION_RUNNING, "an animation cannot wait for the kick to end");
    if (f->kicker.moves || in_state(f) < 0.1) return STATES;
    return lies_or_stands(f, "the kick is over");
}

/* ---- down ---- */

static void protect(struct hcm *f)
{
    static const char *const poses[] = {
        [FALL_FRONT] = "fall_front", [FALL_BACK] = "fall_back", [FALL_LEFT] = "fall_left", [FALL_RIGHT] = "fall_right"};
    f->play = PLAY_FAILED;
    if (f->protect && f->fall != FALL_NONE) ask_for(f, poses[f->fall], NULL);
}

static enum state falling(struct hcm *f)
{
    if (is_down(f)) return go(f, FALLEN, "has landed");
    if (is_still(f) && in_state(f) > f->settle)
        return is_upright(f) ? go(f, CONTROLABLE, "caught itself") : go(f, FALLEN, "lies still");
    if (in_state(f) > 3) return lies_or_stands(f, "no longer falling");
    return STATES;
}

static void lie_down(struct hcm *f) { f->fall = fall_lies(f->up); }

static bool has_landed(const struct hcm *f) { return is_down(f) || is_still(f); }

/* After every few failed get-ups the robot rests, each time twice as long, so that a body that cannot rise is not worn
 * out. */
static double rest_now(const struct hcm *f)
{
    int32_t rounds = f->tried / f->tries;
    return !rounds || f->tried % f->tries ? 0 : f->rest * (1 << (rounds < 5 ? rounds - 1 : 4));
}

static enum state fallen(struct hcm *f)
{
    if (is_upright(f) && is_still(f)) return go(f, CONTROLABLE, "stands upright again");
    f->fall = fall_lies(f->up);
    if (f->drained && has_landed(f)) return spare_battery(f, MOTOR_OFF);
    if (!f->get_up || !has_landed(f)) return STATES;
    if (in_state(f) < rest_now(f)) return STATES;
    if (f->fall == FALL_LEFT || f->fall == FALL_RIGHT) return go(f, TURNING_OVER, "lies on its side");
    return go(f, GETTING_UP, f->fall == FALL_FRONT ? "lies on its front" : "lies on its back");
}

static void turn_over(struct hcm *f)
{
    f->tried++;
    ask_for(f, f->fall == FALL_LEFT ? "turn_over_left" : "turn_over_right", "get_up_back");
}

/* A robot that has almost turned over gets up at once: the first move of the get-up draws the limbs in while the robot
 * keeps rolling. If it still rolls when the animation is over, it is given the time to arrive. */
static enum state turning_over(struct hcm *f)
{
    if (fabs(f->up.x) > cos(f->turned)) {
        f->fall = fall_lies(f->up);
        return go(f, GETTING_UP, f->fall == FALL_FRONT ? "has turned onto its front" : "has turned onto its back");
    }
    return play_over(f) && has_landed(f) ? go(f, FALLEN, "still lies on its side") : STATES;
}

static void rise(struct hcm *f)
{
    if (f->previous != TURNING_OVER) f->tried++;
    ask_for(f, f->fall == FALL_FRONT ? "get_up_front" : "get_up_back", NULL);
}

/* A robot that lies still in the middle of a get-up is blocked by something or by its own limbs. Waiting for the end of
 * the animation would not help. */
static bool is_stuck(const struct hcm *f)
{
    double still = fmin(nm_seconds(f->nm->now - f->still_since), in_state(f));
    return still > f->stuck && fall_tilt(f->up) > 1;
}

static enum state getting_up(struct hcm *f)
{
    if (is_stuck(f)) return go(f, FALLEN, "is stuck in the get-up");
    if (!play_over(f)) return STATES;
    if (f->play == PLAY_FAILED) return go(f, FALLEN, "the get-up could not be played");
    if (!is_upright(f)) return go(f, FALLEN, "the get-up did not succeed");
    f->tried = 0;
    f->commanded = f->nm->now;
    return go(f, CONTROLABLE, "stands again");
}

/* ---- not playing ---- */

/* While somebody carries the robot, it neither falls nor gets up. If it is put down lying, it stays down until it has
 * not moved for a while; hands never hold it so still. */
static enum state carried(struct hcm *f)
{
    if (is_upright(f)) return is_loaded(f) ? go(f, CONTROLABLE, "stands on its feet again") : STATES;
    bool rests = nm_seconds(f->nm->now - f->at_rest_since) > f->put_down;
    return rests ? go(f, FALLEN, "was put down lying") : STATES;
}

static enum state penalty_animation_in(struct hcm *f)
{
    return play_over(f) ? go(f, PENALTY, "in the position of penalty") : STATES;
}

static enum state penalty(struct hcm *f)
{
    return f->match->penalized ? STATES : go(f, PENALTY_ANIMATION_OUT, "the penalty is over");
}

static enum state penalty_animation_out(struct hcm *f)
{
    return play_over(f) ? lies_or_stands(f, "out of the position of penalty") : STATES;
}

static enum state record(struct hcm *f)
{
    return f->wants_record || f->limp ? STATES : lies_or_stands(f, "recording is over");
}

static enum state sitting_down(struct hcm *f)
{
    if (is_falling(f) && f->up.z < 0.5) return go(f, FALLING, "fell while sitting down");
    return play_over(f) ? go(f, MOTOR_OFF, "sits") : STATES;
}

static enum state motor_off(struct hcm *f)
{
    bool asked = f->wants_walk || f->animator.wants || f->kicker.wants;
    if (f->drained) return STATES;
    if (!asked && (f->wants_off || f->idle > 0)) return STATES;
    return go(f, is_upright(f) ? STANDING_UP : FALLEN, "a command came");
}

static void wake(struct hcm *f) { f->wants_off = false; }

static enum state standing_up(struct hcm *f)
{
    if (is_falling(f)) return go(f, FALLING, "fell while standing up");
    return play_over(f) ? lies_or_stands(f, "stands") : STATES;
}

static enum state shutdown_animation(struct hcm *f) { return play_over(f) ? go(f, SHUTDOWN, "sits") : STATES; }

static enum state shutdown(struct hcm *f) { return in_state(f) > 0.2 ? go(f, HCM_OFF, "the joints are limp") : STATES; }

static void freeze(struct hcm *f) { f->frozen = f->down_when_stopped = !is_upright(f); }

/* A robot that stands or walks stops and stands, and once it stands, it keeps its joints as they are, as a robot does
 * that lies. The head is still at once. */
static enum state stopped(struct hcm *f)
{
    static const double stand = 1; /* s, for the walk to take the legs over from a kick or an animation */
    if (is_falling(f) && !f->down_when_stopped) return go(f, FALLING, "falls while play is stopped");
    f->frozen |= f->walk->state == WalkState_STANDING && in_state(f) > stand;
    return f->match->stopped ? STATES : lies_or_stands(f, "play goes on");
}

/* ---- the table ---- */

#define OWNERS(legs, arms, head) HcmState_OWNER_##legs, HcmState_OWNER_##arms, HcmState_OWNER_##head
#define ROW(state, message, owners, walks, overridden, entry, evaluate, exit)                                          \
    [state] = {#state, HcmState_##message, owners, walks, overridden, entry, evaluate, exit}
static const struct row rows[STATES] = {
    /* state, its number in messages, owners of legs, arms and head, walks, overridden, entry, evaluate, exit */
    ROW(STARTUP, STARTUP, OWNERS(NOBODY, NOBODY, NOBODY), false, false, NULL, startup, NULL),
    ROW(CONTROLABLE, CONTROLABLE, OWNERS(WALK, WALK, HEAD), true, true, NULL, controlable, NULL),
    ROW(WALKING, WALKING, OWNERS(WALK, WALK, HEAD), true, true, NULL, walking, NULL),
    ROW(WALKING_STOPPING, WALKING, OWNERS(WALK, WALK, HEAD), false, true, NULL, walking_stopping, NULL),
    ROW(ANIMATION_RUNNING, ANIMATION_RUNNING, OWNERS(ANIMATION, ANIMATION, ANIMATION), false, true, NULL,
        animation_running, NULL),
    ROW(KICKING, ANIMATION_RUNNING, OWNERS(KICK, KICK, HEAD), false, true, NULL, kicking, NULL),
    ROW(FALLING, FALLING, OWNERS(HCM, HCM, HCM), false, false, protect, falling, NULL),
    ROW(FALLEN, FALLEN, OWNERS(HCM, HCM, HCM), false, true, lie_down, fallen, NULL),
    ROW(TURNING_OVER, GETTING_UP, OWNERS(HCM, HCM, HCM), false, true, turn_over, turning_over, NULL),
    ROW(GETTING_UP, GETTING_UP, OWNERS(HCM, HCM, HCM), false, true, rise, getting_up, NULL),
    ROW(CARRIED, CARRIED, OWNERS(WALK, WALK, HEAD), false, true, NULL, carried, NULL),
    ROW(PENALTY_ANIMATION_IN, PENALTY_ANIMATION, OWNERS(HCM, HCM, HEAD), false, false, stand_if_upright,
        penalty_animation_in, NULL),
    ROW(PENALTY, PENALTY, OWNERS(HCM, HCM, HEAD), false, false, NULL, penalty, NULL),
    ROW(PENALTY_ANIMATION_OUT, PENALTY_ANIMATION, OWNERS(HCM, HCM, HEAD), false, false, stand_if_upright,
        penalty_animation_out, NULL),
    ROW(RECORD, RECORD, OWNERS(RECORD, RECORD, RECORD), false, false, NULL, record, NULL),
    ROW(SITTING_DOWN, ANIMATION_RUNNING, OWNERS(HCM, HCM, HCM), false, true, sit, sitting_down, NULL),
    ROW(MOTOR_OFF, MOTOR_OFF, OWNERS(OFF, OFF, OFF), false, true, NULL, motor_off, wake),
    ROW(STANDING_UP, ANIMATION_RUNNING, OWNERS(HCM, HCM, HCM), false, true, stand, standing_up, NULL),
    ROW(SHUTDOWN_ANIMATION, SHUTDOWN, OWNERS(HCM, HCM, HCM), false, false, sit_if_upright, shutdown_animation, NULL),
    ROW(SHUTDOWN, SHUTDOWN, OWNERS(OFF, OFF, OFF), false, false, NULL, shutdown, NULL),
    ROW(HCM_OFF, HCM_OFF, OWNERS(OFF, OFF, OFF), false, false, NULL, NULL, NULL),
    ROW(STOPPED, STOPPED, OWNERS(WALK, WALK, NOBODY), false, false, freeze, stopped, NULL),
};

static void set_state(struct hcm *f, enum state to)
{
    const struct row *from = &rows[f->state], *row = &rows[to];
    if (from->exit) from->exit(f);
    nm_log(f->nm, NM_INFO, "%s -> %s: %s", from->name, row->name, f->reason);
    f->previous = f->state;
    f->state = to;
    f->since = f->nm->now;
    f->refused[0] = 0;
    if (row->entry) row->entry(f);
}

/* What comes from outside and stands above the state itself. */
static enum state overridden(struct hcm *f)
{
    bool off = f->state == SHUTDOWN_ANIMATION || f->state == SHUTDOWN || f->state == HCM_OFF;
    if (f->wants_shutdown && !off && f->state != FALLING)
        return go(f, SHUTDOWN_ANIMATION, "somebody asked to shut down");
    if (!rows[f->state].overridden) return STATES;
    if (f->wants_record || f->limp) return go(f, RECORD, "somebody asked for limp joints to record a motion");
    if (f->match->penalized) return go(f, PENALTY_ANIMATION_IN, "penalized");
    /* who is cut off in a kick or half-way up falls: it ends that first, and stands then */
    bool ends_first = f->state == MOTOR_OFF || f->state == KICKING || f->state == GETTING_UP;
    if (f->match->stopped && !ends_first) return go(f, STOPPED, "play is stopped");
    return STATES;
}

/* Looks at what comes from outside and stands above the state, then at the state, and goes where that leads. */
static void evaluate(struct hcm *f)
{
    const struct row *row = &rows[f->state];
    enum state next = overridden(f);
    if (next == STATES && row->evaluate) next = row->evaluate(f);
    if (next != STATES) set_state(f, next);
}

/* ---- power ---- */

/* Asked again every second until somebody answers: the hardware may start later. */
static void switch_power(struct hcm *f)
{
    bool wanted = rows[f->state].legs != HcmState_OWNER_OFF;
    if (f->power.replies.n && f->power_told != INT64_MIN) f->power_told = 0;
    bool due = f->power_told == INT64_MIN || (f->power_told && nm_seconds(f->nm->now - f->power_told) > 1);
    if (wanted == f->powered && !due) return;
    nm_call(f->nm, &f->power)->data = wanted;
    f->powered = wanted;
    f->power_told = f->nm->now;
}

/* ---- services ---- */

static void serve_shutdown(struct hcm *f, const Trigger_Request *request)
{
    Trigger_Response *r = nm_reply(f->nm, &f->shutdown, request);
    f->wants_shutdown = r->success = true;
    nm_text(r->message, "sits down and switches off");
}

static void serve_record(struct hcm *f, const SetBool_Request *request)
{
    SetBool_Response *r = nm_reply(f->nm, &f->record, request);
    r->success = !request->data || rows[f->state].overridden || f->state == RECORD;
    if (r->success)
        f->wants_record = request->data;
    else
        nm_text(r->message, "not while %s", rows[f->state].name);
}

static void serve_motors(struct hcm *f, const SetBool_Request *request)
{
    SetBool_Response *r = nm_reply(f->nm, &f->motors, request);
    r->success = f->state == CONTROLABLE || f->state == WALKING || f->state == MOTOR_OFF;
    if (!r->success) {
        nm_text(r->message, "not while %s", rows[f->state].name);
        return;
    }
    f->wants_off = !request->data;
    if (request->data && f->state == MOTOR_OFF) f->wants_walk = true; /* as a command would */
}

static void serve(struct hcm *f)
{
    for (uint32_t i = 0; i < f->shutdown.requests.n; i++) serve_shutdown(f, f->shutdown.requests.at[i]);
    for (uint32_t i = 0; i < f->record.requests.n; i++) serve_record(f, f->record.requests.at[i]);
    for (uint32_t i = 0; i < f->motors.requests.n; i++) serve_motors(f, f->motors.requests.at[i]);
}

/* ---- what others ask for ---- */

static void hear(struct mover *who, const Animation *said, bool news)
{
    who->wants = news && said->request && !said->hcm;
    who->hurries = who->wants && said->first;
    who->moves = news && !said->hcm && !said->last && !said->request;
}

static void listen(struct hcm *f)
{
    if (nm_fresh(f->nm, f->cmd_vel)) {
        const Twist *v = f->cmd_vel;
        f->told = f->nm->now;
        f->wants_walk = v->linear.x != 0 || v->linear.y != 0 || v->angular.z != 0;
    }
    if (nm_seconds(f->nm->now - f->told) > 0.5) f->wants_walk = false;
    hear(&f->animator, f->animation, nm_fresh(f->nm, f->animation));
    hear(&f->kicker, f->kick, nm_fresh(f->nm, f->kick));
    if (f->wants_walk || f->animator.wants || f->kicker.wants) f->commanded = f->nm->now;
}

/* ---- what it publishes ---- */

static bool names(const struct hcm *f, const JointGoals *goals, const struct nm_group *group)
{
    for (uint32_t i = 0; i < goals->name.n; i++)
        for (uint32_t k = 0; k < group->n; k++)
            if (!strcmp(goals->name.at[i], f->nm->body->joints[group->joints[k]].name)) return true;
    return false;
}

/* A limb that the running animation does not name keeps its owner. */
static uint8_t owner(const struct hcm *f, const struct nm_group *group, uint8_t by_row, uint8_t otherwise)
{
    return by_row != HcmState_OWNER_ANIMATION || names(f, f->animated, group) ? by_row : otherwise;
}

static uint8_t arm_owner(const struct hcm *f, enum nm_side side, uint8_t by_row)
{
    const struct nm_group *arm = &f->nm->body->arm[side];
    uint8_t by_animation = owner(f, arm, by_row, HcmState_OWNER_WALK);
    bool asked = by_animation == HcmState_OWNER_WALK && nm_fresh(f->nm, f->arm_goals) && names(f, f->arm_goals, arm);
    return asked ? HcmState_OWNER_ARMS : by_animation;
}

static void give_all(HcmState *out, uint8_t owner)
{
    out->left_leg_owner = out->right_leg_owner = out->left_arm_owner = out->right_arm_owner = owner;
    out->head_owner = owner == HcmState_OWNER_WALK ? HcmState_OWNER_HEAD : owner;
}

static void tell_owners(struct hcm *f)
{
    const struct nm_body *body = f->nm->body;
    const struct row *row = &rows[f->state];
    HcmState *out = f->state_out;
    out->head_owner = owner(f, &body->head, row->head, HcmState_OWNER_HEAD);
    out->left_arm_owner = arm_owner(f, NM_LEFT, row->arms);
    out->right_arm_owner = arm_owner(f, NM_RIGHT, row->arms);
    out->left_leg_owner = out->right_leg_owner = row->legs;
    if (f->state == STOPPED) {
        give_all(out, f->frozen ? HcmState_OWNER_NOBODY : HcmState_OWNER_WALK);
        out->head_owner = HcmState_OWNER_NOBODY;
    }
    /* a head that looks around would move a robot that lies, which then does not come to rest */
    if (f->state == CARRIED && !is_upright(f)) out->head_owner = HcmState_OWNER_NOBODY;
    if (f->state == FALLING && !f->protect) give_all(out, HcmState_OWNER_WALK);
}

static void tell(struct hcm *f)
{
    const struct row *row = &rows[f->state];
    HcmState *out = f->state_out;
    out->state = row->number;
    out->previous = rows[f->previous].number;
    out->since = nm_stamp(f->since);
    nm_text(out->reason, "%s", f->reason);
    nm_text(out->refused, "%s", f->refused);
    bool down = f->state == FALLING || f->state == FALLEN || f->state == TURNING_OVER || f->state == GETTING_UP;
    out->fall = (uint8_t)(down ? f->fall : FALL_NONE);
    out->motors_on = row->legs != HcmState_OWNER_OFF && row->legs != HcmState_OWNER_RECORD;
    tell_owners(f);
    nm_put(f->nm, out);
    /* the thesis has neither a stopped nor a carried state; a penalty is nearest */
    f->control_state->state = row->number > HcmState_HCM_OFF ? RobotControlState_PENALTY : row->number;
    nm_put(f->nm, f->control_state);
}

/* The walk gets cmd_vel only if the state allows it; otherwise it gets the command to stop. */
static void pass_command(struct hcm *f)
{
    const struct row *row = &rows[f->state];
    if (row->walks && !nm_fresh(f->nm, f->cmd_vel)) return;
    if (row->walks) *f->walk_vel = *f->cmd_vel;
    nm_put(f->nm, f->walk_vel);
    if (row->walks) return;
    bool waits = f->state == WALKING_STOPPING;
    if (f->wants_walk) nm_text(f->refused, "cmd_vel: not while %s", row->name);
    if (f->animator.wants && !waits && f->state != ANIMATION_RUNNING)
        nm_text(f->refused, "animation: not while %s", row->name);
    if (f->kicker.wants && !waits && f->state != KICKING) nm_text(f->refused, "kick: not while %s", row->name);
}

static void start_clocks(struct hcm *f)
{
    f->since = f->answers_since = f->still_since = f->down_since = f->at_rest_since = f->nm->now;
    f->commanded = f->loaded_since = f->nm->now;
    f->begun = true;
}

static void step(struct hcm *f)
{
    if (!f->begun) start_clocks(f);
    sense(f);
    listen(f);
    serve(f);
    hear_player(f);
    evaluate(f);
    switch_power(f);
    pass_command(f);
    tell(f);
    nm_show(f->nm, "tilt", fall_tilt(f->up));
}

static int init(struct hcm *f)
{
    if (nm_need_body(f->nm)) return -1;
    f->told = INT64_MIN / 2;
    f->lifted_since = INT64_MAX;
    f->up = (struct vec3){0, 0, 1};
    f->power_told = INT64_MIN;
    nm_text(f->reason, "%s", "started");
    return 0;
}

#define SELF struct hcm
static const struct nm_port ports[] = {
    NM_IN(imu, Imu, "imu/data"),
    NM_IN(joints, JointState, "joint_states"),
    NM_IN(feet, FootPressure, "foot_pressure", .optional = true),
    NM_IN(cmd_vel, Twist, "cmd_vel"),
    NM_LAST(walk, WalkState, "walk_state"),
    NM_LAST(animation, Animation, "animation"),
    NM_LAST(animated, JointGoals, "animation_goals"),
    NM_LAST(kick, Animation, "kick", .optional = true),
    NM_LAST(arm_goals, JointGoals, "arm_goals", .optional = true),
    NM_IN(match, MatchState, "match_state"),
    NM_IN(battery, BatteryState, "battery_state", .optional = true),
    NM_CLIENT(send, PlayAnimation_SendGoal, "play_animation/_action/send_goal", 4),
    NM_CLIENT(result, PlayAnimation_GetResult, "play_animation/_action/get_result", 4),
    NM_CLIENT(power, SetBool, "motor_power", 4),
    NM_SERVER(shutdown, Trigger, "shutdown", 2),
    NM_SERVER(record, SetBool, "record", 2),
    NM_SERVER(motors, SetBool, "motors", 2),
    NM_OUT(walk_vel, Twist, "walk_vel"),
    NM_OUT(state_out, HcmState, "hcm_state"),
    NM_OUT(control_state, RobotControlState, "robot_state"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(tilt, 0.9, 0.2, 1.5, "rad", "the robot is falling if the trunk will soon tilt more than this"),
    NM_PARAM(ahead, 0.2, 0, 1, "s", "how far ahead the tilt is predicted"),
    NM_PARAM(least, 0.3, 0, 1.5, "rad", "with less tilt than this it is no fall, however fast the trunk turns"),
    NM_PARAM(least_kick, 0.45, 0, 1.5, "rad", "the same during a kick, which moves the trunk much"),
    NM_PARAM(upright, 0.6, 0.1, 1.5, "rad", "the robot is upright if the trunk tilts less than this"),
    NM_PARAM(quiet, 0.6, 0.05, 10, "rad/s", "the robot is still if the trunk turns slower than this for `settle`"),
    NM_PARAM(settle, 0.25, 0, 5, "s", "how long the trunk must turn slowly to count as still"),
    NM_PARAM(rocking, 1.5, 0.05, 20, "rad/s",
             "a robot that lies has landed if the trunk turns slower than this for `landed`; then it may get up"),
    NM_PARAM(landed, 0.15, 0, 5, "s", "how long that must last"),
    NM_PARAM(no_load, 4, 0, 1000, "N",
             "an upright robot is carried by somebody if both feet together carry less than this for `lifted`"),
    NM_PARAM(lifted, 0.3, 0.02, 10, "s", "how long that must last"),
    NM_PARAM(put_down, 3, 0, 60, "s", "a robot that was put down lying gets up when nobody has moved it for this time"),
    NM_PARAM(startup, 0.35, 0, 10, "s", "sensors and joints are trusted when they have answered for this time"),
    NM_PARAM(idle, 0, 0, 3600, "s",
             "the robot sits down and switches the motors off after this time without a command; 0: never"),
    NM_PARAM(empty, 0.05, 0, 1, "1",
             "with less charge than this the robot sits down and switches the motors off until the battery is changed; "
             "0: never"),
    NM_PARAM_SWITCH(get_up, true, "the robot gets up after a fall"),
    NM_PARAM_SWITCH(protect, true,
                    "the robot takes a protecting pose in a fall; otherwise the walk goes on until it lies"),
    NM_PARAM_SWITCH(
        limp, false,
        "the joints are limp, as after the service record, to record a motion by hand; nutmeg animate record sets it"),
    NM_PARAM(tries, 5, 1, 100, "1", "after this many failed get-ups in a row the robot rests"),
    NM_PARAM(rest, 5, 0, 600, "s",
             "length of the first rest; each rest is twice as long as the one before, up to 16 times as long"),
    NM_PARAM(stuck, 1.5, 0.1, 10, "s",
             "a get-up during which the robot lies still for this time has failed and is started again"),
    NM_PARAM(turned, 0.6, 0, 0.78, "rad",
             "a robot that turns over gets up when its back or front is this near to the ground"),
    {0},
};
NM_MODULE(hcm, "The hardware control manager: states, falls, get-ups, and who moves which joints.", NM_PORTS(ports),
          NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))
