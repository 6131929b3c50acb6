/* Turns servo angles into joint angles (the other half of Sweaty's motor mapper): joint = direction * servo + offset,
 * with the numbers of the robot's servos.yaml. The angle of a servo that does not answer is NaN; its joint keeps the
 * last angle, with speed zero, so that no later module ever gets a NaN. A joint that has never answered is left out. */

#include "body/robot.h"
#include "core/nm.h"
#include "nutmeg_msgs/ServoStates.h"
#include "sensor_msgs/JointState.h"

struct motor_states {
    struct nm *nm;
    /* in */
    const ServoStates *servos; /* motor space */
    /* out */
    JointState *joints;
    /* state */
    double position[NM_JOINTS]; /* rad, last good reading */
    bool known[NM_JOINTS];      /* there was one          */
    bool told;                  /* of a servo that drives no joint of this robot */
};

/* Element i of an array that may be shorter than the names, or NaN. */
#define AT(array, i) ((i) < (array).n ? (array).at[i] : (double)NAN)

static void add(struct motor_states *f, uint32_t joint, double velocity, double effort)
{
    JointState *out = f->joints;
    uint32_t i = out->name.n;
    if (i == sizeof out->name.at / sizeof *out->name.at) return;
    nm_text(out->name.at[i], "%s", f->nm->body->joints[joint].name);
    out->position.at[i] = f->position[joint];
    out->velocity.at[i] = velocity;
    out->effort.at[i] = effort;
    out->name.n = out->position.n = out->velocity.n = out->effort.n = i + 1;
}

static void step(struct motor_states *f)
{
    const struct nm_body *body = f->nm->body;
    const ServoStates *in = f->servos;
    if (!nm_fresh(f->nm, f->servos)) return;

    uint64_t seen = 0; /* a bit a joint: a name that comes twice counts once */
    for (uint32_t i = 0, guess = 0; i < in->name.n; i++) {
        int32_t joint = nm_find_joint_near(body, in->name.at[i], guess);
        if (joint < 0 || body->joints[joint].servo < 0) {
            if (!f->told) nm_log(f->nm, NM_WARN, "servo '%s' drives no joint of %s", in->name.at[i], body->name);
            f->told = true;
            continue;
        }
        guess = (uint32_t)joint + 1;
        if (seen & 1ull << joint) continue;
        seen |= 1ull << joint;

        const struct nm_servo *servo = &body->servos[body->joints[joint].servo];
        double position = AT(in->position, i), velocity = AT(in->velocity, i), effort = AT(in->effort, i);
        bool answered = isfinite(position);
        if (answered) f->position[joint] = nm_joint_of_servo(servo, position);
        f->known[joint] |= answered;
        if (!f->known[joint]) continue;
        add(f, (uint32_t)joint, answered && isfinite(velocity) ? nm_servo_turn(servo, velocity) : 0,
            answered && isfinite(effort) ? nm_servo_turn(servo, effort) : 0);
    }
    f->joints->header.stamp = in->header.stamp;
    nm_put(f->nm, f->joints);
}

static int init(struct motor_states *f)
{
    const struct nm_body *body = f->nm->body;
    if (nm_need_body(f->nm)) return -1;
    if (!body->n_servos)
        return nm_fail(f->nm->err, "robot %s has no servos.yaml, so no servo's angle has a meaning", body->name);
    return 0;
}

#define SELF struct motor_states
static const struct nm_port ports[] = {
    NM_IN(servos, ServoStates, "servo_states"),
    NM_OUT(joints, JointState, "joint_states"),
    {0},
};
NM_MODULE(motor_states, "Servo angles to joint angles; a silent servo's joint keeps its last angle.", NM_PORTS(ports),
          .init = NM_CALL(init), .step = NM_CALL(step))
