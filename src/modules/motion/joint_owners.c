/* The gate between the modules that move joints and the motors. The hardware control manager names one owner for every
 * group of joints, and the group follows only this owner. When a group passes to the walk or to the head, its joints
 * move over gradually from their last goals; animations, kicks and arms start at these goals by themselves. If the
 * owner is silent, a joint keeps its goal. Joints of nobody are held, and joints that are off are limp. */
#include <string.h>

#include "body/robot.h"
#include "core/nm.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/JointGoals.h"
#include "sensor_msgs/JointState.h"

enum group { HEAD, LEFT_ARM, RIGHT_ARM, LEFT_LEG, RIGHT_LEG, GROUPS };
enum source { HOLD, WALK, ANIMATION, KICK, HEAD_GOALS, ARM_GOALS, LIMP };

/* whom an owner's goals come from, and if joints go over to him gently */
static const struct {
    uint8_t source;
    bool gently;
} owners[] = {
    [HcmState_OWNER_NOBODY] = {HOLD, false},
    [HcmState_OWNER_WALK] = {WALK, true},
    [HcmState_OWNER_ANIMATION] = {ANIMATION, false},
    [HcmState_OWNER_KICK] = {KICK, false},
    [HcmState_OWNER_HEAD] = {HEAD_GOALS, true},
    [HcmState_OWNER_ARMS] = {ARM_GOALS, false},
    [HcmState_OWNER_RECORD] = {LIMP, false},
    [HcmState_OWNER_HCM] = {ANIMATION, false},
    [HcmState_OWNER_OFF] = {LIMP, false},
};

struct joint_owners {
    struct nm *nm;
    /* in */
    const HcmState *hcm;
    const JointGoals *walk, *animation, *kick, *head, *arms;
    const JointState *joints;
    /* out */
    JointGoals *goals;
    /* params */
    double blend; /* s */
    /* state */
    uint8_t group[NM_JOINTS]; /* enum group; joints of no limb belong to the left leg's owner */
    uint8_t owner[GROUPS];
    int64_t since[GROUPS];  /* ns */
    bool over[GROUPS];      /* going over gently                   */
    double from[NM_JOINTS]; /* told when the owner changed         */
    double told[NM_JOINTS]; /* told last                           */
    float stiffness[NM_JOINTS];
    double q[NM_JOINTS]; /* measured */
    uint64_t known;
};

static void read_joints(struct joint_owners *f)
{
    const JointState *in = f->joints;
    uint64_t heard = nm_take_joints(f->nm->body, in->name.at, in->name.n, in->position.at, in->position.n, f->q);
    for (uint32_t j = 0; j < f->nm->body->n_joints; j++) {
        if (!((heard & ~f->known) >> j & 1)) continue;
        f->told[j] = f->q[j]; /* until somebody says more, it stays where it was found */
        f->stiffness[j] = 1;
    }
    f->known |= heard;
}

static uint8_t owner_of(const struct joint_owners *f, uint8_t group)
{
    const uint8_t now[GROUPS] = {f->hcm->head_owner, f->hcm->left_arm_owner, f->hcm->right_arm_owner,
                                 f->hcm->left_leg_owner, f->hcm->right_leg_owner};
    return now[group] < sizeof owners / sizeof *owners ? now[group] : HcmState_OWNER_NOBODY;
}

static void pass_on(struct joint_owners *f)
{
    for (uint8_t g = 0; g < GROUPS; g++) {
        uint8_t owner = owner_of(f, g);
        if (owner == f->owner[g]) continue;
        bool was_limp = owners[f->owner[g]].source == LIMP;
        f->owner[g] = owner;
        f->since[g] = f->nm->now;
        f->over[g] = owners[owner].gently;
        for (uint32_t j = 0; j < f->nm->body->n_joints; j++) {
            if (f->group[j] != g) continue;
            if (was_limp) {
                f->told[j] = f->q[j];
                f->stiffness[j] = 1;
            }
            f->from[j] = f->told[j];
        }
    }
}

/* Takes over what a source says of the joints that it owns. */
static void follow(struct joint_owners *f, const JointGoals *in, enum source source)
{
    for (uint32_t i = 0, guess = 0; i < in->name.n && i < in->position.n; i++) {
        int32_t joint = nm_find_joint_near(f->nm->body, in->name.at[i], guess);
        if (joint < 0) continue;
        guess = (uint32_t)joint + 1;
        uint8_t g = f->group[joint];
        if (owners[f->owner[g]].source != source || !isfinite(in->position.at[i])) continue;
        double t = f->over[g] ? fmin(nm_seconds(f->nm->now - f->since[g]) / f->blend, 1) : 1;
        double way = t * t * (3 - 2 * t);
        f->told[joint] = f->from[joint] + way * (in->position.at[i] - f->from[joint]);
        f->stiffness[joint] = i < in->stiffness.n ? in->stiffness.at[i] : 1;
    }
}

static void put_joint(struct joint_owners *f, uint32_t j)
{
    JointGoals *out = f->goals;
    uint32_t i = out->name.n;
    if (!(f->known >> j & 1) || i == sizeof out->name.at / sizeof *out->name.at) return;
    bool limp = owners[f->owner[f->group[j]]].source == LIMP;
    nm_text(out->name.at[i], "%s", f->nm->body->joints[j].name);
    out->position.at[i] = limp ? f->q[j] : f->told[j];
    out->stiffness.at[i] = limp ? 0 : f->stiffness[j];
    out->name.n = out->position.n = out->stiffness.n = i + 1;
}

static void step(struct joint_owners *f)
{
    if (nm_fresh(f->nm, f->joints)) read_joints(f);
    if (!nm_slot(f->hcm)->seq || !f->known) return;
    pass_on(f);
    if (nm_fresh(f->nm, f->walk)) follow(f, f->walk, WALK);
    if (nm_fresh(f->nm, f->animation)) follow(f, f->animation, ANIMATION);
    if (nm_fresh(f->nm, f->kick)) follow(f, f->kick, KICK);
    if (nm_fresh(f->nm, f->head)) follow(f, f->head, HEAD_GOALS);
    if (nm_fresh(f->nm, f->arms)) follow(f, f->arms, ARM_GOALS);
    for (uint32_t j = 0; j < f->nm->body->n_joints; j++) put_joint(f, j);
    nm_put(f->nm, f->goals);
}

static int init(struct joint_owners *f)
{
    const struct nm_body *body = f->nm->body;
    if (nm_need_body(f->nm)) return -1;
    const struct nm_group *groups[GROUPS] = {
        [HEAD] = &body->head,
        [LEFT_ARM] = &body->arm[NM_LEFT],
        [RIGHT_ARM] = &body->arm[NM_RIGHT],
        [LEFT_LEG] = &body->leg[NM_LEFT],
        [RIGHT_LEG] = &body->leg[NM_RIGHT],
    };
    memset(f->group, LEFT_LEG, sizeof f->group);
    for (uint8_t g = 0; g < GROUPS; g++)
        for (uint32_t i = 0; i < groups[g]->n; i++) f->group[groups[g]->joints[i]] = g;
    return 0;
}

#define SELF struct joint_owners
static const struct nm_port ports[] = {
    NM_IN(hcm, HcmState, "hcm_state"),
    NM_IN(walk, JointGoals, "walk_goals"),
    NM_IN(animation, JointGoals, "animation_goals"),
    NM_IN(kick, JointGoals, "kick_goals", .optional = true),
    NM_IN(head, JointGoals, "head_goals"),
    NM_IN(arms, JointGoals, "arm_goals", .optional = true),
    NM_IN(joints, JointState, "joint_states"),
    NM_OUT(goals, JointGoals, "joint_goals"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(blend, 0.4, 0.01, 5, "s", "how long joints take to move over to the goals of the walk or the head"),
    {0},
};
NM_MODULE(joint_owners, "Lets every group of joints follow its one owner.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step))
