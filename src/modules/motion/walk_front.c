#include "modules/motion/walk_front.h"

#include <string.h>

#include "body/animation.h"
#include "core/poses.h"
#include "modules/motion/step_planner.h"

enum { FROZEN = 10 };                             /* equal samples in a row that no living sensor gives */
static const double CLOSE = 0.02, ALIGNED = 0.06; /* m, rad: a target is reached                        */
static const double STAYS = 2;                    /* times as far: and not left again                   */
static const double LIMPING = 0.6;                /* of the speeds, without load cells                  */
static const double SHAKES = 0.2, SETTLES = 0.8;  /* rad/s; s for legs of WALK_LEG: a risen body comes to rest       */
static const double KICK_LASTS = 0.7;             /* s; a kick that comes later misses the ball          */
static const double SILENT = 0.1;                 /* s, without word a sensor is not believed           */

void walk_front_reset(struct walk_front *f)
{
    walk_engine_reset(&f->engine, &f->tuned);
    f->known = 0;
    f->since = -1;
    f->wish.mode = WalkCommand_STAND;
    f->arrived = false;
}

int walk_front_init(struct walk_front *f, struct nm *nm)
{
    f->nm = nm;
    if (nm_need_body(nm)) return -1;
    if (walk_engine_init(&f->engine, nm->body, nm->err)) return -1;
    uint32_t twin[NM_JOINTS];
    double sign[NM_JOINTS];
    nm_mirror_joints(nm->body, twin, sign);
    for (uint32_t i = 0; i < nm->body->arm[NM_LEFT].n && i < WALK_ARM; i++)
        f->mirror[i] = sign[nm->body->arm[NM_LEFT].joints[i]];
    return 0;
}

/* ---- what is measured ---- */

static void read_joints(struct walk_front *f)
{
    const JointState *in = f->joints;
    f->known |= nm_take_joints(f->nm->body, in->name.at, in->name.n, in->position.at, in->position.n, f->q);
}

/* A body that walks shakes its sensors: the same numbers again and again are a dead one's. While it stands they may be
 * those of a coarse one, so that death is only found in walking; then it lasts until they change. */
static bool imu_lives(struct walk_front *f, bool walks)
{
    if (nm_fresh(f->nm, f->imu)) {
        bool same = imu_same(&f->watch, f->imu) > 0;
        f->same_imu = !same ? 0 : walks || f->same_imu >= FROZEN ? f->same_imu + 1 : f->same_imu;
    }
    return f->same_imu < FROZEN;
}

static void sense(struct walk_front *f, bool walks, struct walk_sense *s)
{
    bool lives = imu_lives(f, walks), fresh = nm_age(f->nm, f->feet) < nm_ns(SILENT);
    *s = (struct walk_sense){
        .q = f->q, .torso_to_world = QUAT_IDENTITY, .feet = fresh && f->feet->left.valid && f->feet->right.valid};
    s->tilt = lives && torso_by_imu(f->nm, f->imu, SILENT, &s->torso_to_world) &&
              turning_by_imu(f->nm->body, f->imu, &s->gyro);
    for (int i = 0; i < NM_CELLS; i++) {
        s->cells[NM_LEFT][i] = f->feet->left.cells[i];
        s->cells[NM_RIGHT][i] = f->feet->right.cells[i];
    }
}

/* ---- what is asked ---- */

static bool take_velocity(struct walk_front *f, const Twist *v)
{
    double sum = v->linear.x + v->linear.y + v->angular.z;
    if (!isfinite(sum)) {
        nm_text(f->refused, "a velocity that is not finite");
        return false;
    }
    f->wish.velocity[0] = v->linear.x;
    f->wish.velocity[1] = v->linear.y;
    f->wish.velocity[2] = v->angular.z;
    f->wish.told = f->nm->now;
    f->refused[0] = 0;
    return true;
}

/* base_footprint lies half way between the feet and looks where the trunk looks; seen from the support foot */
static struct pose2 footprint(const struct walk_front *f)
{
    const struct walk_engine *e = &f->engine;
    return (struct pose2){e->apart.x / 2, e->apart.y / 2, e->facing};
}

struct pose2 walk_front_rest(const struct walk_front *f) { return pose2_mul(pose2_inv(f->here), f->wish.place); }

void walk_front_aim(struct walk_front *f)
{
    if (f->placed) f->wish.target = pose2_mul(footprint(f), walk_front_rest(f));
}

static void take_command(struct walk_front *f)
{
    const WalkCommand *c = f->command;
    const Pose2D *t = &c->target;
    if (c->mode > WalkCommand_TARGET) {
        nm_text(f->refused, "there is no mode %u", c->mode);
        return;
    }
    if (c->mode == WalkCommand_TARGET && !(fabs(t->x) < 100 && fabs(t->y) < 100 && isfinite(t->theta))) {
        nm_text(f->refused, "a target that is not finite, or farther than 100 m");
        return;
    }
    if (!take_velocity(f, &c->velocity)) return;
    f->wish.mode = c->mode;
    struct pose2 target = {t->x, t->y, angle_normal(t->theta)};
    f->wish.target = pose2_mul(footprint(f), target);
    f->wish.place = pose2_mul(f->here, target);
    f->wish.heading = f->heading + target.theta;
    const char *why = c->kick != WalkCommand_KICK_NONE ? walk_kick_ask(c, &f->engine.kick) : NULL;
    if (why) nm_text(f->refused, "%s", why);
    if (c->kick != WalkCommand_KICK_NONE && !why) f->kick_asked = f->nm->now;
}

static void follow_odometry(struct walk_front *f)
{
    const Odometry *in = f->odometry;
    const Vector3 *v = &in->twist.twist.linear, *turn = &in->twist.twist.angular;
    struct pose2 at = nm_pose2(&in->pose.pose);
    f->placed = nm_age(f->nm, in) < nm_ns(SILENT) && isfinite(at.x + at.y + at.theta + v->x + v->y + turn->z);
    if (!f->placed) return;
    f->here = at;
    f->speed[0] = v->x;
    f->speed[1] = v->y;
    f->speed[2] = turn->z;
}

static void listen(struct walk_front *f)
{
    if (nm_fresh(f->nm, f->cmd_vel) && take_velocity(f, f->cmd_vel)) {
        bool still = f->wish.velocity[0] == 0 && f->wish.velocity[1] == 0 && f->wish.velocity[2] == 0;
        f->wish.mode = still ? WalkCommand_STAND : WalkCommand_VELOCITY;
    }
    if (nm_fresh(f->nm, f->command)) take_command(f);
    bool old = nm_seconds(f->nm->now - f->wish.told) > f->time_out;
    if (f->wish.mode == WalkCommand_VELOCITY && old) f->wish.mode = WalkCommand_STAND;
}

bool walk_front_arrives(struct walk_front *f, struct pose2 rest, double share)
{
    double again = f->arrived ? STAYS : share; /* who stops there, or stands, does not begin again */
    f->arrived = hypot(rest.x, rest.y) < again * CLOSE * f->engine.size && fabs(rest.theta) < again * ALIGNED;
    return f->arrived;
}

/* A step of the planner towards the target, or none when it is reached. */
static struct walk_command to_target(struct walk_front *f)
{
    struct walk_engine *e = &f->engine;
    const struct walk_params *p = &f->tuned;
    struct walk_command c = {0};
    /* the next step begins where this one will land */
    bool steps = e->mode == WALK_STEP;
    struct pose2 foot = {steps ? e->aim[0] : 0, steps ? e->aim[1] : 0, steps ? e->land_yaw : 0};
    double side = steps ? -walk_engine_side(e->support) : walk_engine_side(e->support);
    struct pose2 middle = pose2_mul(foot, (struct pose2){0, 0.5 * side * e->width, 0});
    struct pose2 rest = e->stays && f->placed ? walk_front_rest(f) : pose2_mul(pose2_inv(middle), f->wish.target);
    if (walk_front_arrives(f, rest, 1)) return c;
    double most[4] = {p->max_forward, p->max_backward, p->max_side, p->max_turn};
    const double asked[4] = {fabs(f->wish.velocity[0]), fabs(f->wish.velocity[0]), fabs(f->wish.velocity[1]),
                             fabs(f->wish.velocity[2])};
    for (int i = 0; i < 4; i++) most[i] = fmax(asked[i] > 0 ? fmin(most[i], asked[i]) : most[i], 0.01) * e->pace;
    struct step_limits limits = {.forward = most[0],
                                 .backward = most[1],
                                 .side = most[2],
                                 .turn = most[3],
                                 .change = fmin(p->change_x / fmax(most[0], most[1]), p->change_y / most[2]),
                                 .change_turn = p->change_turn};
    struct pose2 step = step_plan(&limits, rest, (struct pose2){e->step[0], e->step[1], e->step[2]});
    return (struct walk_command){.step = {step.x, step.y, step.theta}, .walk = true};
}

struct walk_command walk_front_command(struct walk_front *f, const struct walk_sense *s)
{
    struct walk_command c = {0};
    if (f->rising || f->wish.mode == WalkCommand_STAND) return c;
    if (!s->tilt) {
        nm_text(f->refused, "the inertial sensor is silent or frozen: no walking without it");
        f->wish.mode = WalkCommand_STAND;
        return c;
    }
    if (f->wish.mode == WalkCommand_TARGET) return to_target(f);
    double v[3];
    memcpy(v, f->wish.velocity, sizeof v);
    walk_limit(&f->tuned, v);
    bool limps = !s->feet && f->nm->body->foot[NM_LEFT].n_cells;
    c.walk = true;
    for (int i = 0; i < 3; i++) c.step[i] = v[i] * f->engine.pace * (limps ? LIMPING : 1);
    return c;
}

/* ---- what is told ---- */

/* Each arm swings with the foot of the other side. */
static void swing_arms(const struct walk_front *f, double goals[NM_JOINTS])
{
    const struct nm_body *body = f->nm->body;
    for (int side = 0; side < 2; side++) {
        bool foot_swings = side == (int)f->engine.support; /* the other side's */
        double reach = 0.5 * (foot_swings ? f->engine.swing[0] : -f->engine.swing[0]);
        for (uint32_t i = 0; i < body->arm[side].n && i < WALK_ARM; i++) {
            double angle = f->arms[i] - (i ? 0 : f->swing * reach / f->engine.legs);
            goals[body->arm[side].joints[i]] = side == NM_RIGHT ? f->mirror[i] * angle : angle;
        }
    }
}

void walk_front_model(struct walk_front *f, const struct walk_sense *s, const struct walk_command *c,
                      double goals[NM_JOINTS])
{
    double legs[2][NM_GROUP];
    bool landed = f->engine.changed; /* a tick ago: now the other foot is measured from the one that stands */
    walk_engine_step(&f->engine, &f->tuned, s, c, nm_seconds(f->nm->dt), legs);
    if (f->engine.changed) {
        struct pose2 by = f->engine.stepped; /* real steps are longer than the joints show */
        by.x *= f->tuned.stride;
        by.y *= f->tuned.stride_side;
        f->wish.target = pose2_mul(pose2_inv(by), f->wish.target);
        f->steps++;
    }
    if (landed && !f->engine.changed) walk_front_aim(f);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < f->nm->body->leg[side].n; i++) goals[f->nm->body->leg[side].joints[i]] = legs[side][i];
    swing_arms(f, goals);
}

void walk_front_blend(struct walk_front *f, double seconds)
{
    memcpy(f->from, f->told, sizeof f->from);
    f->since = f->nm->now;
    f->takes = seconds;
}

/* A robot that stumbles wants its ankles elsewhere at once; its goals go there, but do not jump. */
static void put_joint(struct walk_front *f, uint32_t joint, double goal, double way, const double *stiffness)
{
    JointGoals *out = f->goals;
    uint32_t i = out->name.n;
    if (i == sizeof out->name.at / sizeof *out->name.at) return;
    nm_text(out->name.at[i], "%s", f->nm->body->joints[joint].name);
    double wanted = f->from[joint] + way * (goal - f->from[joint]), told = f->told[joint];
    double most = f->leap * nm_seconds(f->nm->dt);
    f->told[joint] = fmin(fmax(wanted, told - most), told + most);
    out->position.at[i] = f->told[joint];
    out->stiffness.at[i] = stiffness ? (float)stiffness[joint] : 1;
    out->name.n = out->position.n = out->stiffness.n = i + 1;
}

void walk_front_put(struct walk_front *f, const double goals[NM_JOINTS], const double *stiffness)
{
    const struct nm_body *body = f->nm->body;
    double t = fmin(nm_seconds(f->nm->now - f->since) / f->takes, 1), way = t * t * t * (10 + t * (6 * t - 15));
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < body->leg[side].n; i++)
            put_joint(f, body->leg[side].joints[i], goals[body->leg[side].joints[i]], way, stiffness);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < body->arm[side].n && i < WALK_ARM; i++)
            put_joint(f, body->arm[side].joints[i], goals[body->arm[side].joints[i]], way, stiffness);
    nm_put(f->nm, f->goals);
}

uint8_t walk_front_state(const struct walk_front *f, bool walk)
{
    const struct walk_engine *e = &f->engine;
    if (e->mode == WALK_STAND) return WalkState_STANDING;
    if (e->kick.active) return WalkState_KICKING;
    if (!walk) return WalkState_STOPPING;
    return e->share < 1 ? WalkState_STARTING : WalkState_WALKING;
}

WalkState *walk_front_tell(struct walk_front *f, uint8_t state)
{
    const struct walk_engine *e = &f->engine;
    WalkState *w = f->walk_state;
    w->state = state;
    w->steps = f->steps;
    w->left_support = e->support == NM_LEFT;
    w->phase = (float)e->phase;
    w->step_duration = (float)e->duration;
    w->step = (Pose2D){e->step[0], e->step[1], e->step[2]};
    w->velocity.linear.x = e->step[0] / e->pace;
    w->velocity.linear.y = e->step[1] / e->pace;
    w->velocity.angular.z = e->step[2] / e->pace;
    w->instability = (float)fmin(hypot(e->error[0], e->error[1]) / (0.12 * e->size), 1);
    w->capture_steps = e->capture_steps;
    nm_text(w->refused, "%s", f->refused);
    nm_put(f->nm, w);
    return w;
}

/* ---- whose the legs are ---- */

/* From wherever the joints are; the farther, the longer. */
static void begin_rise(struct walk_front *f)
{
    const struct nm_body *body = f->nm->body;
    double goals[2][NM_GROUP], farthest = 0;
    struct walk_sense level = {.q = f->q, .torso_to_world = QUAT_IDENTITY};
    walk_engine_reset(&f->engine, &f->tuned);
    walk_engine_step(&f->engine, &f->tuned, &level, &(struct walk_command){0}, nm_seconds(f->nm->dt), goals);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < body->leg[side].n; i++)
            farthest = fmax(farthest, fabs(goals[side][i] - f->q[body->leg[side].joints[i]]));
    memcpy(f->told, f->q, sizeof f->told);
    walk_front_blend(f, fmax(f->rise * fmin(farthest / 0.4, 1), 0.1));
    f->rising = true;
}

/* Without a manager everything is the walk's. */
static bool owns_legs(const struct walk_front *f)
{
    bool managed = nm_slot(f->hcm)->seq != 0;
    return !managed ||
           (f->hcm->left_leg_owner == HcmState_OWNER_WALK && f->hcm->right_leg_owner == HcmState_OWNER_WALK);
}

static bool may_walk(const struct walk_front *f)
{
    bool managed = nm_slot(f->hcm)->seq != 0;
    return !managed || f->hcm->state == HcmState_CONTROLABLE || f->hcm->state == HcmState_WALKING;
}

/* What is wanted is dropped, with the reason; a robot that merely stands has nothing to be refused. */
static void drop_wish(struct walk_front *f, const char *why)
{
    if (f->wish.mode != WalkCommand_STAND) nm_text(f->refused, "%s", why);
    f->wish.mode = WalkCommand_STAND;
    f->engine.kick.wanted = false;
}

bool walk_front_begin(struct walk_front *f, bool walks, struct walk_sense *s)
{
    if (nm_fresh(f->nm, f->joints)) read_joints(f);
    uint64_t all = (f->nm->body->n_joints < 64 ? 1ull << f->nm->body->n_joints : 0) - 1;
    if ((f->known & all) != all) return false; /* a joint that never answered: nothing is known of the body */
    sense(f, walks, s);
    if (s->tilt) f->heading = quat_yaw(s->torso_to_world);
    follow_odometry(f);
    listen(f);
    /* feet slip when they turn: the heading is the trunk's */
    f->wish.target.theta = footprint(f).theta + angle_normal(f->wish.heading - f->heading);
    if (!owns_legs(f)) {
        drop_wish(f, "the legs belong to somebody else");
        f->since = -1;
        walk_front_tell(f, WalkState_OFF);
        return false;
    }
    if (!may_walk(f)) drop_wish(f, "the manager of the robot does not let it walk now");
    if (f->engine.kick.wanted && nm_seconds(f->nm->now - f->kick_asked) > KICK_LASTS) {
        f->engine.kick.wanted = false;
        nm_text(f->refused, "the step for the kick did not come in time");
    }
    if (f->since < 0) begin_rise(f);
    double since = nm_seconds(f->nm->now - f->since);
    bool shakes = s->tilt && vec3_norm(s->gyro) > SHAKES && since < f->takes + SETTLES * sqrt(f->engine.size);
    f->rising &= since < f->takes || shakes;
    return true;
}
