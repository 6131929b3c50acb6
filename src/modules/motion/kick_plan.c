#include "modules/motion/kick_plan.h"

#include <stdio.h>
#include <string.h>

static const double GRAVITY = 9.81;
static const double MISS = 0.01;                   /* m that the toe may miss the ball                     */
static const double SOFT = 0.96, STRETCHED = 0.99; /* shares of the leg's length: where its reach ends, softly */

static double smooth(double u)
{
    u = fmin(fmax(u, 0), 1);
    return u * u * u * (10 + u * (6 * u - 15));
}

double kick_leg_length(const struct nm_leg *leg)
{
    const struct vec3 *at = leg->chain.point; /* hip yaw, roll, pitch, knee, ankle pitch, roll */
    return vec3_norm(vec3_sub(at[3], at[2])) + vec3_norm(vec3_sub(at[4], at[3]));
}

/* ---- the body along the way ---- */

void kick_plan_weight(const struct kick_plan *plan, double t, double xy[2])
{
    const double *k = plan->path.t;
    double on = smooth(t / k[KICK_SHIFTED]) - smooth((t - k[KICK_DOWN]) / (k[KICK_END] - k[KICK_DOWN]));
    for (int i = 0; i < 2; i++) xy[i] = plan->weight_from[i] + on * (plan->weight_on[i] - plan->weight_from[i]);
}

/* Pitch of the shoulders; arms go against each other. */
static void swing_arms(const struct kick_plan *plan, double swing, double q[])
{
    for (int side = 0; side < 2; side++) {
        if (!plan->body->arm[side].n) continue;
        uint32_t shoulder = plan->body->arm[side].joints[0];
        q[shoulder] += side == (int)plan->support ? -swing : swing;
    }
}

/* A foot out of reach is drawn towards the hip, softly, so that a swing that ends too far away ends on the circle of
 * the stretched leg. Returns by how much (m). */
static double within_reach(const struct nm_leg *leg, struct pose3 *sole)
{
    if (leg->method == NM_LEG_NUMERIC) return 0;
    double longest = vec3_norm(leg->knee_to_hip) + vec3_norm(leg->knee_to_ankle);
    struct vec3 ankle_in_sole = pose_apply(leg->home_inv, leg->ankle);
    struct vec3 ankle = pose_apply(*sole, ankle_in_sole), out = vec3_sub(ankle, leg->hip);
    double far = vec3_norm(out), soft = SOFT * longest, room = STRETCHED * longest - soft;
    if (far <= soft) return 0;
    double by = far - (soft + room * tanh((far - soft) / room));
    sole->pos = vec3_sub(sole->pos, vec3_scale(out, by / far));
    return by;
}

/* A joint at its limit matters in the leg that stands, and in the other while its foot is on the ground or meets the
 * ball; what it does to the swing before and after that is planned with. */
static bool matters(const struct kick_plan *plan, int side, double t)
{
    const double *k = plan->path.t;
    return side == (int)plan->support || t <= k[KICK_LIFTED] || t >= k[KICK_OVER] ||
           fabs(t - plan->path.contact) <= plan->dt;
}

/* With the trunk's x and y, and how much the foot is lifted besides. Returns how far a foot misses its place because a
 * joint is at its limit; `drawn`: because the leg is too short. */
static double pose_at(const struct kick_plan *plan, double t, struct vec3 trunk, struct kick_pose *pose, double *drawn)
{
    double at[KICK_TRACKS], miss = 0;
    *drawn = 0;
    kick_path_at(&plan->path, t, at, NULL);
    at[KICK_Z] += trunk.z;
    pose->torso =
        (struct pose3){quat_rpy(at[KICK_ROLL], at[KICK_LEAN], at[KICK_TURN]), {trunk.x, trunk.y, at[KICK_HIPS]}};
    memcpy(pose->q, plan->rest, plan->body->n_joints * sizeof *pose->q);
    swing_arms(plan, at[KICK_ARMS], pose->q);
    struct pose3 to_torso = pose_inv(pose->torso);
    for (int side = 0; side < 2; side++) {
        const struct nm_leg *leg = &plan->legs[side];
        struct pose3 sole = side == (int)plan->support ? POSE_IDENTITY : kick_path_foot(at);
        struct nm_ik_error error = {0, 0};
        double q[NM_GROUP];
        for (uint32_t i = 0; i < leg->chain.n; i++) q[i] = pose->q[leg->chain.joints[i]];
        struct pose3 in_torso = pose_mul(to_torso, sole);
        *drawn = fmax(*drawn, within_reach(leg, &in_torso));
        nm_leg_ik(leg, in_torso, q, &error);
        for (uint32_t i = 0; i < leg->chain.n; i++) pose->q[leg->chain.joints[i]] = q[i];
        if (matters(plan, side, t)) miss = fmax(miss, error.distance + NM_IK_ARM * error.angle);
    }
    return miss;
}

void kick_plan_pose(const struct kick_plan *plan, double t, const double moved[2], double lifted,
                    struct kick_pose *pose)
{
    double s = fmin(fmax(t / plan->dt, 0), plan->n - 1), xy[2];
    uint32_t i = (uint32_t)s;
    if (i > plan->n - 2) i = plan->n - 2;
    double u = s - i;
    for (int a = 0; a < 2; a++) { /* Catmull and Rom */
        double p1 = plan->trunk[i][a], p2 = plan->trunk[i + 1][a];
        double m1 = i > 0 ? (p2 - plan->trunk[i - 1][a]) / 2 : 0,
               m2 = i + 2 < plan->n ? (plan->trunk[i + 2][a] - p1) / 2 : 0;
        double c2 = 3 * (p2 - p1) - 2 * m1 - m2, c3 = 2 * (p1 - p2) + m1 + m2;
        xy[a] = p1 + u * (m1 + u * (c2 + u * c3)) + moved[a];
    }
    double drawn;
    pose_at(plan, t, (struct vec3){xy[0], xy[1], lifted}, pose, &drawn);
}

void kick_motion(const struct kick_pose pose[3], uint32_t n_joints, double dt, double qd[], double qdd[],
                 struct nm_motion *m)
{
    struct vec3 a = pose[0].torso.pos, b = pose[1].torso.pos, c = pose[2].torso.pos;
    struct vec3 first = quat_log(quat_mul(pose[1].torso.rot, quat_inv(pose[0].torso.rot)));
    struct vec3 second = quat_log(quat_mul(pose[2].torso.rot, quat_inv(pose[1].torso.rot)));
    *m = (struct nm_motion){.base_to_world = pose[1].torso, .gravity = {0, 0, -GRAVITY}, .q = pose[1].q};
    m->velocity = vec3_scale(vec3_sub(c, a), 0.5 / dt);
    m->acceleration = vec3_scale(vec3_add(vec3_sub(c, b), vec3_sub(a, b)), 1 / (dt * dt));
    m->angular_velocity = vec3_scale(vec3_add(first, second), 0.5 / dt);
    m->angular_acceleration = vec3_scale(vec3_sub(second, first), 1 / (dt * dt));
    for (uint32_t j = 0; j < n_joints; j++) {
        qd[j] = (pose[2].q[j] - pose[0].q[j]) / (2 * dt);
        qdd[j] = (pose[2].q[j] - 2 * pose[1].q[j] + pose[0].q[j]) / (dt * dt);
    }
    m->qd = qd;
    m->qdd = qdd;
}

/* ---- the passes ---- */

/* The first two passes bring the centre of mass over where the weight is to be; the others the zero-moment point, as
 * far as it leaves its room while one foot carries all. */
enum { STATIC_PASSES = 2 };

static bool on_one_foot(const struct kick_plan *plan, double t)
{
    return t >= plan->path.t[KICK_SHIFTED] && t <= plan->path.t[KICK_DOWN];
}

static void look_at(struct kick_plan *plan, uint32_t i, struct kick_pose *pose)
{
    struct vec3 at = {plan->trunk[i][0], plan->trunk[i][1], 0};
    double t = i * plan->dt, drawn, miss = pose_at(plan, t, at, pose, &drawn);
    plan->farthest = fmax(plan->farthest, miss);
    if (fabs(t - plan->path.contact) <= 0.5 * plan->dt) plan->short_by = drawn;
}

static void look_static(struct kick_plan *plan, uint32_t i)
{
    double want[2];
    struct nm_kin kin;
    look_at(plan, i, &plan->window[0]);
    kick_plan_weight(plan, i * plan->dt, want);
    nm_forward(plan->body, plan->window[0].torso, plan->window[0].q, &kin);
    struct vec3 com = nm_com(plan->body, &kin);
    plan->trunk[i][0] += want[0] - com.x;
    plan->trunk[i][1] += want[1] - com.y;
}

/* Takes in sample i and judges the one before it. */
static void look_moving(struct kick_plan *plan, uint32_t i)
{
    struct kick_pose *w = plan->window;
    if (i > 0) {
        w[0] = w[1];
        w[1] = w[2];
    }
    look_at(plan, i, &w[2]);
    plan->error[i][0] = plan->error[i][1] = 0;
    if (i < 2 || !on_one_foot(plan, (i - 1) * plan->dt)) return;

    double qd[NM_JOINTS], qdd[NM_JOINTS], want[2];
    struct nm_motion motion;
    struct nm_effort effort;
    struct vec3 zmp;
    kick_motion(w, plan->body->n_joints, plan->dt, qd, qdd, &motion);
    nm_inverse_dynamics(plan->body, &motion, NULL, 0, &effort);
    if (!nm_zmp(&motion, &effort, 0, &zmp)) return;
    kick_plan_weight(plan, (i - 1) * plan->dt, want);
    const double off[2] = {want[0] - zmp.x, want[1] - zmp.y};
    for (int a = 0; a < 2; a++) {
        double out = fmax(fabs(off[a]) - plan->room[a], 0);
        plan->error[i - 1][a] = copysign(out, off[a]);
        plan->excess = fmax(plan->excess, out);
    }
}

/* Shifts the trunk by d with d - d'' / w^2 = error, d = 0 at both ends (Thomas' algorithm). */
static void take_back(struct kick_plan *plan)
{
    double k = 1 / (plan->w * plan->w * plan->dt * plan->dt), ratio[KICK_SAMPLES];
    for (int a = 0; a < 2; a++) {
        double(*d)[2] = plan->error;
        ratio[0] = d[0][a] = 0;
        for (uint32_t i = 1; i + 1 < plan->n; i++) {
            double pivot = 1 + 2 * k - k * ratio[i - 1];
            ratio[i] = k / pivot;
            d[i][a] = (d[i][a] + k * d[i - 1][a]) / pivot;
        }
        d[plan->n - 1][a] = 0;
        for (uint32_t i = plan->n - 1; i-- > 1;) d[i][a] += ratio[i] * d[i + 1][a];
        for (uint32_t i = 1; i + 1 < plan->n; i++) plan->trunk[i][a] += d[i][a];
    }
}

void kick_plan_begin(struct kick_plan *plan, const struct nm_body *body, const struct nm_leg legs[2],
                     const struct kick_plan_params *p, const struct kick_stand *stand, struct kick_choice choice,
                     const struct kick_want *want)
{
    enum nm_side support = choice.support;
    struct kick_start start = kick_start_of(stand, choice, want);
    struct pose3 torso = stand->torso_to_sole[support];
    struct nm_kin kin;
    plan->body = body;
    plan->legs = legs;
    plan->support = support;
    kick_path_make(&plan->path, &p->path, &start);
    memcpy(plan->rest, stand->q, body->n_joints * sizeof *plan->rest);
    nm_forward(body, torso, stand->q, &kin);
    struct vec3 com = nm_com(body, &kin);
    plan->weight_from[0] = com.x;
    plan->weight_from[1] = com.y;
    plan->weight_on[0] = p->zmp_x;
    plan->weight_on[1] = start.side * p->zmp_in;
    plan->room[0] = p->room_x;
    plan->room[1] = p->room_y;
    plan->w = sqrt(GRAVITY / fmax(com.z, 0.05));
    double samples = kick_path_time(&plan->path) / 0.008;
    plan->n = (uint32_t)fmin(fmax(samples, 16), KICK_SAMPLES - 1) + 1;
    plan->dt = kick_path_time(&plan->path) / (plan->n - 1);
    for (uint32_t i = 0; i < plan->n; i++) plan->trunk[i][0] = torso.pos.x, plan->trunk[i][1] = torso.pos.y;
    plan->pass = plan->next = 0;
    plan->farthest = plan->excess = 0;
}

static void end_pass(struct kick_plan *plan)
{
    plan->next = 0;
    plan->pass++;
    if (plan->pass > STATIC_PASSES && plan->pass < KICK_PASSES) take_back(plan);
    if (plan->pass < KICK_PASSES) plan->farthest = plan->excess = 0;
}

enum kick_progress kick_plan_work(struct kick_plan *plan, uint32_t samples, char *why, size_t size)
{
    while (samples-- > 0 && plan->pass < KICK_PASSES) {
        if (plan->pass < STATIC_PASSES)
            look_static(plan, plan->next);
        else
            look_moving(plan, plan->next);
        if (plan->pass > 0 && plan->farthest > MISS) {
            snprintf(why, size, "a joint's limit keeps a foot %.0f mm off its way", ceil(1000 * plan->farthest));
            return KICK_IMPOSSIBLE;
        }
        if (++plan->next == plan->n) end_pass(plan);
    }
    if (plan->pass < KICK_PASSES) return KICK_PLANNING;
    if (plan->short_by <= MISS) return KICK_PLANNED;
    snprintf(why, size, "the leg is %.0f mm too short for the ball's place", ceil(1000 * plan->short_by));
    return KICK_IMPOSSIBLE;
}
