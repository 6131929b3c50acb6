/* Finds the foot that carries the robot. If the feet have load cells, it goes by their weight: a foot becomes the only
 * support when it carries nearly everything, and stops being the only support when the other foot carries a good part,
 * so that the result does not flicker while both stand. Without cells it is the lower foot, computed with the
 * orientation of the inertial sensor. */
#include "core/nm.h"
#include "modules/sensing/readings.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/SupportState.h"

struct support {
    struct nm *nm;
    /* in */
    const FootPressure *pressure;
    const JointState *joints;
    const Imu *imu;
    /* out */
    SupportState *state;
    /* params */
    float alone, shared; /* share   */
    float carried;       /* share   */
    float lift, land;    /* m       */
    float lying;         /* rad     */
    float timeout;       /* s       */
    /* state */
    double q[NM_JOINTS];
    bool joints_known;
    uint8_t foot; /* SupportState_* */
    uint32_t changes;
    int64_t since;
};

static const double g = 9.81;

/* A quantity with two thresholds for the left foot and, mirrored, two for the right: `left` runs from -1 (all on the
 * right) to 1 (all on the left). */
static uint8_t with_hysteresis(uint8_t foot, double left, double enter, double leave)
{
    double left_bar = foot == SupportState_LEFT ? leave : enter, right_bar = foot == SupportState_RIGHT ? leave : enter;
    return left > left_bar ? SupportState_LEFT : -left > right_bar ? SupportState_RIGHT : SupportState_BOTH;
}

/* A robot that lies or is carried presses little; one that stood must lose more of its weight than one that comes down.
 */
static uint8_t by_weight(const struct support *f)
{
    const FootPressure *p = f->pressure;
    double weight = f->nm->body->mass * g, force = (double)p->left.force + p->right.force;
    double bar = f->carried * weight * (f->foot == SupportState_NONE ? 1.5 : 1);
    if (force < bar) return SupportState_NONE;
    return with_hysteresis(f->foot, 2.0 * p->left_share - 1, 2.0 * f->alone - 1, 2.0 * f->shared - 1);
}

static uint8_t by_height(const struct support *f, struct quat torso)
{
    const struct nm_body *body = f->nm->body;
    struct nm_kin kin;
    nm_forward(body, (struct pose3){torso, {0, 0, 0}}, f->q, &kin);
    double left_lower = kin.pose[body->foot[NM_RIGHT].sole].pos.z - kin.pose[body->foot[NM_LEFT].sole].pos.z;
    nm_show(f->nm, "left lower by", left_lower);
    return with_hysteresis(f->foot, left_lower, f->lift, f->land);
}

static void step(struct support *f)
{
    struct quat torso = QUAT_IDENTITY;
    if (nm_fresh(f->nm, f->joints)) {
        read_joints(f->nm->body, f->joints, f->q, NULL);
        f->joints_known = true;
    }
    bool measured =
        nm_age(f->nm, f->pressure) < nm_ns(f->timeout) && f->pressure->left.valid && f->pressure->right.valid;
    if (!measured && !f->joints_known) return;

    bool imu = torso_by_imu(f->nm, f->imu, f->timeout, &torso);
    uint8_t foot = imu && tilt_of(torso) > f->lying ? SupportState_NONE : measured ? by_weight(f) : by_height(f, torso);
    if (foot != f->foot) {
        f->foot = foot;
        f->changes++;
        f->since = f->nm->now;
    }
    SupportState *out = f->state;
    out->foot = foot;
    out->measured = measured;
    out->left_share = measured                     ? f->pressure->left_share
                      : foot == SupportState_LEFT  ? 1
                      : foot == SupportState_RIGHT ? 0
                                                   : 0.5f;
    out->changes = f->changes;
    out->since = nm_stamp(f->since);
    nm_text(out->header.frame_id, "base_footprint");
    nm_put(f->nm, out);
}

static int init(struct support *f) { return needs_legs(f->nm); }

#define SELF struct support
static const struct nm_port ports[] = {
    NM_IN(pressure, FootPressure, "foot_pressure"),
    NM_IN(joints, JointState, "joint_states"),
    NM_IN(imu, Imu, "imu/data"),
    NM_OUT(state, SupportState, "support_state"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(alone, 0.85, 0.55, 1, "1", "share of the weight from which a foot is the only support"),
    NM_PARAM(shared, 0.7, 0.5, 1, "1", "share below which it no longer is the only support; must be less than `alone`"),
    NM_PARAM(carried, 0.2, 0.01, 1, "1",
             "if the feet carry less than this share of the robot's weight, it lies or is carried"),
    NM_PARAM(lift, 0.008, 0.001, 0.1, "m", "without cells: a foot that is lower by this much is the only support"),
    NM_PARAM(land, 0.004, 0, 0.1, "m",
             "without cells: it no longer is the only support when it is lower by less than this"),
    NM_PARAM(lying, 1.0, 0.3, 1.6, "rad", "tilt of the torso beyond which no foot supports"),
    NM_PARAM(timeout, 0.1, 0.01, 2, "s", "older pressures and orientations count as absent"),
    {0},
};
NM_MODULE(support, "Which foot carries the robot: by weight, or by height where the feet feel nothing.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))
