/* Turns joint goals into servo goals (one half of Sweaty's motor mapper). It is the last gate before the motors: a goal
 * beyond the limits of its joint is held at the limit, a goal that is not a number is refused, and joints that this
 * robot does not have are left out. A joint that is not named keeps its goal. Goals are passed on only when new ones
 * arrive, so that the hardware notices when they grow old. */

#include "base/clamp.h"
#include "body/robot.h"
#include "core/nm.h"
#include "base/fault.h"
#include "nutmeg_msgs/JointGoals.h"

struct motor_goals {
    struct nm *nm;
    /* in */
    const JointGoals *goals; /* joint space */
    /* out */
    JointGoals *servos; /* motor space */
    /* state */
    struct nm_fault refused; /* a message or a goal in it */
};

/* One goal as it goes out; values of absent arrays are not used. */
struct goal {
    double position, velocity, effort;
    float stiffness, max_effort;
};

/* Every array has one element a name, or none at all where that is allowed. */
static bool well_formed(const JointGoals *g)
{
    uint32_t n = g->name.n;
    return g->position.n == n && (!g->velocity.n || g->velocity.n == n) && (!g->effort.n || g->effort.n == n) &&
           (!g->stiffness.n || g->stiffness.n == n) && (!g->max_effort.n || g->max_effort.n == n);
}

static struct goal goal_at(const JointGoals *g, uint32_t i)
{
    return (struct goal){
        .position = g->position.at[i],
        .velocity = g->velocity.n ? g->velocity.at[i] : 0,
        .effort = g->effort.n ? g->effort.at[i] : 0,
        .stiffness = g->stiffness.n ? g->stiffness.at[i] : 1,
        .max_effort = g->max_effort.n ? g->max_effort.at[i] : 0,
    };
}

static bool all_finite(const struct goal *g)
{
    return isfinite(g->position) && isfinite(g->velocity) && isfinite(g->effort) && isfinite(g->stiffness) &&
           !isnan(g->max_effort);
}

/* Into what the joint can do; a goal held at its limit does not move on. */
static void limit(struct goal *g, const struct nm_joint *joint)
{
    double position = nm_clamp(g->position, joint->lower, joint->upper);
    if (position != g->position) g->velocity = 0;
    g->position = position;
    g->velocity = nm_clamp(g->velocity, -joint->velocity, joint->velocity);
    g->effort = nm_clamp(g->effort, -joint->effort, joint->effort);
    g->stiffness = (float)nm_clamp(g->stiffness, 0, 1);
    g->max_effort = (float)nm_clamp(g->max_effort, 0, joint->effort);
}

static void add(struct motor_goals *f, const struct nm_joint *joint, const struct goal *g)
{
    const struct nm_servo *servo = &f->nm->body->servos[joint->servo];
    const JointGoals *in = f->goals;
    JointGoals *out = f->servos;
    uint32_t i = out->name.n++;
    nm_text(out->name.at[i], "%s", joint->name);
    out->position.at[i] = nm_servo_of_joint(servo, g->position);
    out->velocity.at[i] = nm_servo_turn(servo, g->velocity);
    out->effort.at[i] = nm_servo_turn(servo, g->effort);
    out->stiffness.at[i] = g->stiffness;
    out->max_effort.at[i] = g->max_effort;
    out->position.n = i + 1;
    out->velocity.n = in->velocity.n ? i + 1 : 0;
    out->effort.n = in->effort.n ? i + 1 : 0;
    out->stiffness.n = in->stiffness.n ? i + 1 : 0;
    out->max_effort.n = in->max_effort.n ? i + 1 : 0;
}

/* Hands on what is good; why the first of the others is not, or NULL, with its joint's name. */
static const char *translate(struct motor_goals *f, const char **name)
{
    const struct nm_body *body = f->nm->body;
    const char *why = NULL;
    uint64_t seen = 0;
    for (uint32_t i = 0, guess = 0; i < f->goals->name.n; i++) {
        int32_t joint = nm_find_joint_near(body, f->goals->name.at[i], guess);
        struct goal goal = goal_at(f->goals, i);
        bool follows = joint >= 0 && body->joints[joint].servo < 0 && body->joints[joint].mimic >= 0;
        if (follows) continue; /* the servo of the joint it is coupled to moves it, too */
        const char *fault = joint < 0                       ? "this robot has no such joint"
                            : body->joints[joint].servo < 0 ? "no servo drives this joint"
                            : seen & 1ull << joint          ? "the joint is named twice"
                            : !all_finite(&goal)            ? "the goal is not a number"
                                                            : NULL;
        if (fault && !why) {
            why = fault;
            *name = f->goals->name.at[i];
        }
        if (joint >= 0) {
            guess = (uint32_t)joint + 1;
            seen |= 1ull << joint;
        }
        if (fault) continue;
        limit(&goal, &body->joints[joint]);
        add(f, &body->joints[joint], &goal);
    }
    return why;
}

static void step(struct motor_goals *f)
{
    const char *name = "", *why = NULL;
    if (!nm_fresh(f->nm, f->goals)) return;
    if (well_formed(f->goals))
        why = translate(f, &name);
    else
        why = "the arrays differ in length";
    if (nm_fault_now(&f->refused, why != NULL, f->nm->now, nm_ns(1)) == NM_FAULT_BEGINS)
        nm_log(f->nm, NM_ERROR, "goal%s%s refused: %s", *name ? " of " : "", name, why);
    if (!f->servos->name.n) return;
    f->servos->header.stamp = f->goals->header.stamp;
    nm_put(f->nm, f->servos);
}

static int init(struct motor_goals *f)
{
    const struct nm_body *body = f->nm->body;
    if (nm_need_body(f->nm)) return -1;
    if (!body->n_servos)
        return nm_fail(f->nm->err, "robot %s has no servos.yaml, so no goal reaches a motor", body->name);
    return 0;
}

#define SELF struct motor_goals
static const struct nm_port ports[] = {
    NM_IN(goals, JointGoals, "joint_goals"),
    NM_OUT(servos, JointGoals, "servo_goals"),
    {0},
};
NM_MODULE(motor_goals, "Joint goals to servo goals, held inside the joints' limits.", NM_PORTS(ports),
          .init = NM_CALL(init), .step = NM_CALL(step))
