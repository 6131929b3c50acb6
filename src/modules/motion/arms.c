/* Moves the arms out of the way. An ArmCommand names a key state for each arm: aside, back, front or up. The arm goes
 * there with limited speed and stays until the next command or the time-out; then it is given back to the walk. The way
 * to and from the back leads over the side, so that no arm scrapes along the body (B-Human's arm key frames, 2016).
 * Goals on arm_goals ask the hardware control manager for the arm. While another module owns the arm, it waits where
 * that module puts it. Key states are angles of the left arm; those of the right arm are mirrored. */
#include <string.h>

#include "body/animation.h"
#include "core/nm.h"
#include "nutmeg_msgs/ArmCommand.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"

enum { ARM = 3 };
enum key { NONE, ASIDE, BACK, FRONT, UP, KEYS };

/* `via` is passed on the way there and on the way back */
static const struct {
    const char *name;
    enum key via;
} keys[KEYS] = {
    [NONE] = {"", NONE},       [ASIDE] = {"aside", NONE}, [BACK] = {"back", ASIDE},
    [FRONT] = {"front", NONE}, [UP] = {"up", ASIDE},
};

struct arms {
    struct nm *nm;
    /* in */
    const ArmCommand *command;
    const HcmState *hcm;
    const JointGoals *last_goals; /* what the joints were told last */
    /* out */
    JointGoals *goals;
    /* params */
    double aside[ARM], back[ARM], front[ARM], up[ARM]; /* rad   */
    double speed, fast_speed;                          /* rad/s */
    /* state */
    double mirror[NM_JOINTS]; /* -1 where a joint of the right arm turns against its left one */
    struct arm {
        enum key wanted; /* NONE: the walk's               */
        enum key at, to; /* left last, and on the way to   */
        double q[ARM];   /* rad, told last                 */
        bool moving;     /* has been given its own q       */
    } arm[2];
    bool fast;
    int64_t until; /* ns; INT64_MAX: until told */
};

static uint32_t joints_of(const struct arms *f, int side)
{
    uint32_t n = f->nm->body->arm[side].n;
    return n < ARM ? n : ARM;
}

static const double *angles(const struct arms *f, enum key key)
{
    const double *of[KEYS] = {[ASIDE] = f->aside, [BACK] = f->back, [FRONT] = f->front, [UP] = f->up};
    return of[key];
}

/* ---- what is asked for ---- */

static void ask(struct arms *f, int side, const char *name)
{
    for (enum key key = NONE; key < KEYS; key++) {
        if (strcmp(name, keys[key].name) != 0) continue;
        f->arm[side].wanted = key;
        return;
    }
    nm_log(f->nm, NM_WARN, "no key state of the arms is called %s: they are aside, back, front and up", name);
}

static void listen(struct arms *f)
{
    const ArmCommand *c = f->command;
    if (nm_fresh(f->nm, f->command)) {
        ask(f, NM_LEFT, c->left);
        ask(f, NM_RIGHT, c->right);
        f->fast = c->fast;
        f->until = c->timeout > 0 ? f->nm->now + nm_ns(fmin(c->timeout, 1e6)) : INT64_MAX;
    }
    if (f->nm->now >= f->until) f->arm[NM_LEFT].wanted = f->arm[NM_RIGHT].wanted = NONE;
}

/* ---- motion ---- */

/* From what the arm was told last, by whomever. */
static bool begin(struct arms *f, int side)
{
    const JointGoals *told = f->last_goals;
    struct arm *arm = &f->arm[side];
    uint32_t found = 0;
    for (uint32_t i = 0, guess = 0; i < told->name.n && i < told->position.n; i++) {
        int32_t joint = nm_find_joint_near(f->nm->body, told->name.at[i], guess);
        if (joint < 0) continue;
        guess = (uint32_t)joint + 1;
        for (uint32_t k = 0; k < joints_of(f, side); k++)
            if (f->nm->body->arm[side].joints[k] == (uint32_t)joint) {
                arm->q[k] = told->position.at[i];
                found++;
            }
    }
    arm->at = arm->to = NONE;
    return found == joints_of(f, side) && found;
}

/* The next key state on the way from where it was last. */
static enum key next(const struct arm *arm)
{
    if (arm->wanted == arm->at) return arm->at;
    if (arm->at != NONE && keys[arm->at].via != NONE && keys[arm->at].via != arm->wanted) return keys[arm->at].via;
    if (arm->wanted != NONE && keys[arm->wanted].via != NONE && keys[arm->wanted].via != arm->at)
        return keys[arm->wanted].via;
    return arm->wanted;
}

/* All joints of an arm arrive together, none faster than the speed. */
static void approach(struct arms *f, int side, const double *goal)
{
    struct arm *arm = &f->arm[side];
    double way[ARM], longest = 0, most = (f->fast ? f->fast_speed : f->speed) * nm_seconds(f->nm->dt);
    for (uint32_t k = 0; k < joints_of(f, side); k++) {
        const struct nm_joint *joint = &f->nm->body->joints[f->nm->body->arm[side].joints[k]];
        double sign = f->mirror[f->nm->body->arm[side].joints[k]];
        way[k] = fmin(fmax(sign * goal[k], joint->lower), joint->upper) - arm->q[k];
        longest = fmax(longest, fabs(way[k]));
    }
    double share = longest > most ? most / longest : 1;
    for (uint32_t k = 0; k < joints_of(f, side); k++) arm->q[k] += share * way[k];
    if (share == 1) arm->at = arm->to;
}

static void put(struct arms *f, int side)
{
    JointGoals *out = f->goals;
    for (uint32_t k = 0; k < joints_of(f, side); k++) {
        uint32_t i = out->name.n;
        nm_text(out->name.at[i], "%s", f->nm->body->joints[f->nm->body->arm[side].joints[k]].name);
        out->position.at[i] = f->arm[side].q[k];
        out->name.n = out->position.n = i + 1;
    }
}

/* Given back where the walk's swing is near: beside the body, not behind it. */
static void move(struct arms *f, int side, uint8_t owner)
{
    struct arm *arm = &f->arm[side];
    bool ours = owner == HcmState_OWNER_ARMS, free = owner == HcmState_OWNER_WALK;
    if (arm->moving && !ours && !free) arm->moving = false;
    if (arm->wanted == NONE && !arm->moving) return;
    if (!arm->moving && (!free || !begin(f, side))) return;
    arm->moving = true;
    arm->to = next(arm);
    if (arm->to == NONE) {
        arm->moving = false;
        return;
    }
    if (ours) approach(f, side, angles(f, arm->to));
    put(f, side);
}

static void step(struct arms *f)
{
    listen(f);
    if (!nm_slot(f->hcm)->seq) return;
    move(f, NM_LEFT, f->hcm->left_arm_owner);
    move(f, NM_RIGHT, f->hcm->right_arm_owner);
    if (f->goals->name.n) nm_put(f->nm, f->goals);
}

static int init(struct arms *f)
{
    if (nm_need_body(f->nm)) return -1;
    uint32_t twin[NM_JOINTS];
    nm_mirror_joints(f->nm->body, twin, f->mirror);
    for (uint32_t k = 0; k < f->nm->body->arm[NM_LEFT].n; k++) f->mirror[f->nm->body->arm[NM_LEFT].joints[k]] = 1;
    f->until = INT64_MAX;
    return 0;
}

#define SELF struct arms
static const struct nm_port ports[] = {
    NM_IN(command, ArmCommand, "arm_command"),
    NM_IN(hcm, HcmState, "hcm_state"),
    NM_LAST(last_goals, JointGoals, "joint_goals"),
    NM_OUT(goals, JointGoals, "arm_goals"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_LIST(aside, "0.2 0.6 -0.6", -3.2, 3.2, "rad", "key state: away from the body, to the side"),
    NM_PARAM_LIST(back, "1.2 0.25 -1.2", -3.2, 3.2, "rad", "key state: behind the body, to slip past another robot"),
    NM_PARAM_LIST(front, "-0.6 0.2 -1.2", -3.2, 3.2, "rad", "key state: in front of the body"),
    NM_PARAM_LIST(up, "-2.4 0.5 -0.3", -3.2, 3.2, "rad",
                  "key state: above the head, as a keeper who makes himself large"),
    NM_PARAM(speed, 2, 0.1, 20, "rad/s", "speed of the fastest joint"),
    NM_PARAM(fast_speed, 4, 0.1, 20, "rad/s", "the same if the command says fast"),
    {0},
};
NM_MODULE(arms, "Moves arms through key states, out of the way of others.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step))
