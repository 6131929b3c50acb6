/* Holds one of a few named poses. The angles of each pose are parameters, written for the left side; the right side is
 * the mirror image. From its present angles the robot moves into the pose with the least jerk (Flash and Hogan, 1985),
 * so that a robot that is switched on rises gently. It is for tests, for storing a robot, and for robots that simply
 * stand. */
#include <string.h>

#include "body/animation.h"
#include "core/nm.h"
#include "nutmeg_msgs/JointGoals.h"
#include "sensor_msgs/JointState.h"

enum { LEG = 6, ARM = 3, HEAD = 2 };

struct hold_pose {
    struct nm *nm;
    /* in */
    const JointState *joints;
    /* out */
    JointGoals *goals;
    /* params */
    char pose[16];
    float duration;                                           /* s     */
    float stiffness;                                          /* share */
    float stand_legs[LEG], sit_legs[LEG], straight_legs[LEG]; /* rad   */
    float arms[ARM], head[HEAD];
    /* state */
    double mirror[NM_JOINTS]; /* -1 where a joint of the right turns against its left one */
    uint64_t moves;           /* a bit a joint that a pose has an angle for               */
    uint64_t known;           /* … that has answered                                      */
    double from[NM_JOINTS], to[NM_JOINTS], now[NM_JOINTS]; /* rad */
    int64_t begun;                                         /* ns; -1: not yet */
};

/* ---- poses ---- */

static void pose_limb(struct hold_pose *f, const struct nm_group *group, const float *angles, uint32_t n)
{
    for (uint32_t i = 0; i < group->n && i < n; i++) {
        uint32_t joint = group->joints[i];
        f->to[joint] = f->mirror[joint] * angles[i];
        f->moves |= 1ull << joint;
    }
}

static void choose(struct hold_pose *f)
{
    const struct nm_body *body = f->nm->body;
    const float *legs = !strcmp(f->pose, "sit")     ? f->sit_legs
                        : !strcmp(f->pose, "stand") ? f->stand_legs
                                                    : f->straight_legs;
    f->moves = 0;
    for (int side = 0; side < 2; side++) {
        pose_limb(f, &body->leg[side], legs, LEG);
        pose_limb(f, &body->arm[side], f->arms, ARM);
    }
    pose_limb(f, &body->head, f->head, HEAD);
}

static void find_mirrors(struct hold_pose *f)
{
    const struct nm_body *body = f->nm->body;
    const struct nm_group *as_written[] = {&body->arm[NM_LEFT], &body->leg[NM_LEFT], &body->head};
    uint32_t twin[NM_JOINTS];
    nm_mirror_joints(body, twin, f->mirror);
    for (int limb = 0; limb < 3; limb++)
        for (uint32_t i = 0; i < as_written[limb]->n; i++) f->mirror[as_written[limb]->joints[i]] = 1;
}

/* ---- motion ---- */

static void begin(struct hold_pose *f)
{
    memcpy(f->from, f->now, sizeof f->from);
    f->begun = f->nm->now;
}

/* Joints that answer for the first time set out from where they are. */
static void read_joints(struct hold_pose *f)
{
    const JointState *in = f->joints;
    for (uint32_t i = 0, guess = 0; i < in->name.n && i < in->position.n; i++) {
        int32_t joint = nm_find_joint_near(f->nm->body, in->name.at[i], guess);
        if (joint < 0) continue;
        guess = (uint32_t)joint + 1;
        if (f->known >> joint & 1 || !isfinite(in->position.at[i])) continue;
        f->known |= 1ull << joint;
        f->now[joint] = in->position.at[i];
        f->begun = -1;
    }
}

static void step(struct hold_pose *f)
{
    const struct nm_body *body = f->nm->body;
    if (nm_fresh(f->nm, f->joints)) read_joints(f);
    if (!f->known) return;
    if (f->begun < 0) begin(f);
    double t = fmin(nm_seconds(f->nm->now - f->begun) / f->duration, 1);
    double way = t * t * t * (10 + t * (6 * t - 15));
    JointGoals *out = f->goals;
    for (uint32_t j = 0; j < body->n_joints && out->name.n < sizeof out->name.at / sizeof *out->name.at; j++) {
        if (!((f->moves & f->known) >> j & 1)) continue;
        f->now[j] = f->from[j] + way * (f->to[j] - f->from[j]);
        uint32_t i = out->name.n++;
        nm_text(out->name.at[i], "%s", body->joints[j].name);
        out->position.at[i] = f->now[j];
        out->stiffness.at[i] = f->stiffness;
        out->position.n = out->stiffness.n = i + 1;
    }
    nm_put(f->nm, out);
}

static void changed(struct hold_pose *f)
{
    choose(f);
    f->begun = -1;
}

static int init(struct hold_pose *f)
{
    if (nm_need_body(f->nm)) return -1;
    find_mirrors(f);
    choose(f);
    if (!f->moves) return nm_fail(f->nm->err, "robot %s has no legs, arms or head to pose", f->nm->body->name);
    return 0;
}

#define SELF struct hold_pose
static const struct nm_port ports[] = {
    NM_IN(joints, JointState, "joint_states"),
    NM_OUT(goals, JointGoals, "joint_goals"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_WORD(pose, "stand", "stand sit straight", "the pose to hold"),
    NM_PARAM(duration, 1.5, 0.05, 20, "s", "how long the move into a pose takes"),
    NM_PARAM(stiffness, 1, 0.05, 1, "1", "stiffness, as a share of the servos' gain"),
    NM_PARAM_LIST(stand_legs, "0 0 -0.3 0.6 -0.3 0", -3.2, 3.2, "rad",
                  "stand: left leg, from the hip down; knees a little bent, ready to walk"),
    NM_PARAM_LIST(sit_legs, "0 0 -1.15 2.2 -1.15 0", -3.2, 3.2, "rad", "sit: left leg; squatting, safe to switch off"),
    NM_PARAM_LIST(straight_legs, "0 0 0 0 0 0", -3.2, 3.2, "rad", "straight: left leg"),
    NM_PARAM_LIST(arms, "0.2 0.1 -0.6", -3.2, 3.2, "rad",
                  "left arm in all poses, from the shoulder down; joints beyond these keep their angles"),
    NM_PARAM_LIST(head, "0 0.3", -3.2, 3.2, "rad", "head in all poses, from the neck up"),
    {0},
};
NM_MODULE(hold_pose, "Holds a named pose: stands, sits, or stands straight.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step), .changed = NM_CALL(changed))
