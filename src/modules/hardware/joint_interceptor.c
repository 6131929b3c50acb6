/* Replaces the measured angle of a joint by the angle of another sensor (Sweaty's joint interceptor): an encoder behind
 * the gear, or a potentiometer at the ankle. Such an override is used while it is recent and plausible; otherwise the
 * angle of the servo is used. The line-up renames the output of motor_states to joint_states_measured, and this module
 * makes joint_states. */

#include "body/robot.h"
#include "core/nm.h"
#include "base/fault.h"
#include "sensor_msgs/JointState.h"

struct override {
    int64_t time;    /* ns, of its arrival; 0: none */
    double position; /* rad                         */
    double velocity; /* rad/s; NaN: not measured    */
    struct nm_fault far;
};

struct joint_interceptor {
    struct nm *nm;
    /* in */
    const JointState *measured;
    nm_queue(JointState) overrides;
    /* out */
    JointState *joints;
    /* params */
    float timeout, gate;
    /* state */
    struct override of[NM_JOINTS];
};

static void take(struct joint_interceptor *f, const JointState *message)
{
    for (uint32_t i = 0; i < message->name.n && i < message->position.n; i++) {
        int32_t joint = nm_find_joint_near(f->nm->body, message->name.at[i], i);
        if (joint < 0 || !isfinite(message->position.at[i])) continue;
        struct override *o = &f->of[joint];
        o->time = f->nm->now;
        o->position = message->position.at[i];
        o->velocity = i < message->velocity.n ? message->velocity.at[i] : (double)NAN;
    }
}

/* Whether the override of a joint may replace `position`. Reports once when it differs too much and once when it agrees
 * again. */
static bool plausible(struct joint_interceptor *f, struct override *o, const char *name, double position)
{
    bool far = fabs(o->position - position) > f->gate;
    switch (nm_fault_now(&o->far, far, f->nm->now, nm_ns(1))) {
    case NM_FAULT_BEGINS:
        nm_log(f->nm, NM_WARN, "%s: the other sensor measures %.3f rad, the servo %.3f: the servo is used", name,
               o->position, position);
        break;
    case NM_FAULT_OVER: nm_log(f->nm, NM_INFO, "%s: the other sensor agrees with the servo again", name); break;
    case NM_FAULT_SAME: break;
    }
    return !far;
}

static void step(struct joint_interceptor *f)
{
    for (uint32_t i = 0; i < f->overrides.n; i++) take(f, f->overrides.at[i]);
    if (!nm_fresh(f->nm, f->measured)) return;

    nm_copy(&JointState_type, f->joints, f->measured);
    JointState *out = f->joints;
    for (uint32_t i = 0; i < out->name.n && i < out->position.n; i++) {
        int32_t joint = nm_find_joint_near(f->nm->body, out->name.at[i], i);
        if (joint < 0) continue;
        struct override *o = &f->of[joint];
        if (!o->time || f->nm->now - o->time > nm_ns(f->timeout)) continue;
        if (!plausible(f, o, out->name.at[i], out->position.at[i])) continue;
        out->position.at[i] = o->position;
        if (isfinite(o->velocity) && i < out->velocity.n) out->velocity.at[i] = o->velocity;
    }
    nm_put(f->nm, f->joints);
}

static int init(struct joint_interceptor *f) { return nm_need_body(f->nm); }

#define SELF struct joint_interceptor
static const struct nm_port ports[] = {
    NM_IN(measured, JointState, "joint_states_measured"),
    NM_QUEUE(overrides, JointState, "joint_overrides", 8),
    NM_OUT(joints, JointState, "joint_states"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(timeout, 0.1, 0.001, 10, "s",
             "an override older than this is not used; set it to a few periods of its sensor"),
    NM_PARAM(
        gate, 0.35, 0.001, 7, "rad",
        "an override that differs more from the servo's angle is not used; more than backlash and bending can explain"),
    {0},
};
NM_MODULE(joint_interceptor, "Overrides measured joint angles by those of another sensor while they are plausible.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))
