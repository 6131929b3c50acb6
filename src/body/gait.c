#include "body/gait.h"

#include <stdio.h>
#include <string.h>

#include "base/clamp.h"
#include "body/animation_carry.h"
#include "body/kinematics.h"
#include "body/leg_ik.h"

static const double GRAVITY = 9.81;
static const double BEND = 0.065;                  /* by which legs are shorter in the stance         */
static const double LIFT = 0.08;                   /* of the leg, by which the clock lifts a foot     */
static const double ARMS[3] = {0.35, 0.17, -1.57}; /* rad, as the module walk holds them              */
static const struct vec3 ARM[2] = {{-0.34, 0.16, -0.93}, {0.93, 0.05, -0.36}}; /* the same as directions             */
static const double PITCH = 0.35, OTHER = 0.25, SHOULDER = 0.4; /* rad of an action of 1                           */
static const double TURNS = 0.37;                               /* of the clock, while something falls through a leg */
/* A motor that is faster than FAST, in rad while something falls through a leg, follows a policy so well that a stiff
 * body trembles with it: its gain is at most so many times the weight on legs. Servos are slower, and keep their gain.
 */
static const double FAST = 2, SOFT = 2.2, SOFT_YAW = 1.2;
static const double EDGE = 0.02; /* rad that goals keep from the ends of joints     */
static const float MOST = 5;     /* an action is not larger                         */
/* Changes with what an observation or an action means, so that a policy is not used with another meaning. */
enum { MEANING = 1 };

/* The way to a place. */
static const double BRAKES[3] = {0.7, 0.45, 4};        /* of the pace in a second, twice; rad/s2                 */
static const double LATE = 0.15;                       /* s, that a policy follows later                         */
static const double AT_LAST = 0.2, AT_LAST_TURN = 0.4; /* s, of the last way, and of its turn: every step sways  */

/* Slow walking: of the speeds, in all directions together, none and all of it; s since then, and until it is all. */
static const double SLOW = 0.1, SLOWEST = 0.03, SETTLES = 0.8, MOVES_OVER = 0.2;

/* Factors that bring what is seen to the size of 1. */
static const double GYRO = 0.3, JOINT = 2, ACT = 0.4;

static int place_legs(struct nm_gait *g, const struct nm_leg leg[2], struct nm_err *err)
{
    double forward = 0; /* of the soles, so that the mass stands over them */
    struct nm_kin kin;
    for (int round = 0; round < 4; round++) {
        for (int side = 0; side < 2; side++) {
            struct pose3 sole = {QUAT_IDENTITY, leg[side].chain.home.pos};
            double q[NM_GROUP];
            sole.pos.z += BEND * g->leg;
            sole.pos.x += forward;
            nm_leg_crouch(&leg[side], q);
            if (nm_leg_ik(&leg[side], sole, q, NULL) != NM_REACHED)
                return nm_fail(err, "%s: no stance with bent knees was found, so it cannot learn to walk",
                               g->body->name);
            for (uint32_t i = 0; i < leg[side].chain.n; i++) g->stance[leg[side].chain.joints[i]] = q[i];
        }
        nm_forward(g->body, POSE_IDENTITY, g->stance, &kin);
        struct vec3 l = kin.pose[g->body->foot[NM_LEFT].sole].pos, r = kin.pose[g->body->foot[NM_RIGHT].sole].pos;
        g->apart = l.y - r.y;
        forward += nm_com(g->body, &kin).x - (l.x + r.x) / 2;
    }
    return 0;
}

/* Offsets that lift each sole straight up; a leg that cannot do so learns to lift it by other means. */
static void find_lift(struct nm_gait *g, const struct nm_leg leg[2])
{
    struct nm_kin kin;
    nm_forward(g->body, POSE_IDENTITY, g->stance, &kin);
    for (int side = 0; side < 2; side++) {
        struct pose3 sole = kin.pose[g->body->foot[side].sole];
        double q[NM_GROUP];
        for (uint32_t i = 0; i < leg[side].chain.n; i++) q[i] = g->stance[leg[side].chain.joints[i]];
        sole.pos.z += LIFT * g->leg;
        if (nm_leg_ik(&leg[side], sole, q, NULL) != NM_REACHED) continue;
        for (uint32_t l = 6 * (uint32_t)side; l < 6 * (uint32_t)side + 6; l++)
            for (uint32_t i = 0; i < leg[side].chain.n && g->scale[l] > 0; i++)
                if (leg[side].chain.joints[i] == g->joints[l]) g->lift[l] = q[i] - g->stance[g->joints[l]];
    }
}

static void find_stiffness(struct nm_gait *g, const struct nm_kin *kin)
{
    const struct nm_body *body = g->body;
    double moment = body->mass * GRAVITY * g->stride;
    for (uint32_t j = 0; j < body->n_joints; j++) g->stiffness[j] = 1;
    for (uint32_t i = 0; i < NM_GAIT_LEGS; i++) {
        uint32_t j = g->joints[i];
        double gain = nm_motor_of(body, j).gain;
        bool yaw = fabs(quat_apply(kin->pose[j + 1].rot, body->joints[j].axis).z) > 0.7;
        if (body->joints[j].velocity * sqrt(g->stride / GRAVITY) > FAST && gain > 0)
            g->stiffness[j] = fmin(1, (yaw ? SOFT_YAW : SOFT) * moment / gain);
    }
}

static bool turns_about_y(const struct nm_body *body, const struct nm_kin *kin, uint32_t joint)
{
    struct vec3 axis = quat_apply(kin->pose[joint + 1].rot, body->joints[joint].axis);
    return fabs(axis.y) > 0.8;
}

/* A joint that the leg does not have is its last one once more, without a say: its action moves nothing. */
static int place_joints(struct nm_gait *g, const struct nm_kin *kin, int side, struct nm_err *err)
{
    const struct nm_group *leg = &g->body->leg[side];
    uint32_t n = 0;
    for (uint32_t i = 0; i < leg->n; i++) {
        if (g->body->joints[leg->joints[i]].mimic >= 0) continue;
        if (n == 6)
            return nm_fail(err, "%s: a leg has more than six joints, so it cannot learn to walk", g->body->name);
        g->joints[6 * side + (int)n] = leg->joints[i];
        g->scale[6 * side + (int)n++] = turns_about_y(g->body, kin, leg->joints[i]) ? PITCH : OTHER;
    }
    for (uint32_t i = n; i < 6; i++) g->joints[6 * side + (int)i] = leg->joints[leg->n - 1];
    return 0;
}

static void place_arms(struct nm_gait *g, const struct nm_kin *kin, const uint32_t *twin, const double *sign)
{
    const struct nm_body *body = g->body;
    const struct nm_group *left = &body->arm[NM_LEFT];
    bool alike = left->n == 3 && turns_about_y(body, kin, left->joints[0]) && turns_about_y(body, kin, left->joints[2]);
    if (!alike) nm_point_arm(body, NM_LEFT, ARM, NM_GROUP, g->stance);
    for (uint32_t i = 0; i < left->n; i++) {
        uint32_t j = left->joints[i];
        if (alike) g->stance[j] = nm_clamp(ARMS[i], body->joints[j].lower, body->joints[j].upper);
        if (twin[j] != j) g->stance[twin[j]] = sign[j] * g->stance[j];
    }
    uint32_t shoulder = left->n ? left->joints[0] : 0;
    if (!left->n || twin[shoulder] == shoulder || !turns_about_y(body, kin, shoulder)) return;
    g->joints[NM_GAIT_LEGS] = shoulder;
    g->joints[NM_GAIT_LEGS + 1] = twin[shoulder];
    g->scale[NM_GAIT_LEGS] = g->scale[NM_GAIT_LEGS + 1] = SHOULDER;
    g->n_joints = NM_GAIT_ACTS - 1;
}

static void make_mirror(struct nm_gait *g, const uint32_t *twin, const double *sign)
{
    static const struct nm_mirror turning[3] = {{0, -1}, {1, 1}, {2, -1}}, up[3] = {{3, 1}, {4, -1}, {5, 1}};
    static const float command[3] = {1, -1, -1};
    for (uint32_t i = 0; i < NM_GAIT_ACTS; i++) {
        g->act[i] = (struct nm_mirror){i, 1};
        for (uint32_t k = 0; i < g->n_joints && k < g->n_joints; k++)
            if (twin[g->joints[k]] == g->joints[i] && (g->scale[k] > 0) == (g->scale[i] > 0))
                g->act[i] = (struct nm_mirror){k, (float)sign[g->joints[k]]};
    }
    for (uint32_t f = 0; f < NM_GAIT_FRAMES; f++) {
        uint32_t at = f * NM_GAIT_FRAME;
        struct nm_mirror *o = g->obs + at;
        for (uint32_t i = 0; i < 3; i++) {
            o[i] = (struct nm_mirror){at + turning[i].from, turning[i].sign};
            o[3 + i] = (struct nm_mirror){at + up[i].from, up[i].sign};
        }
        for (uint32_t i = 0; i < NM_GAIT_LEGS; i++)
            o[6 + i] = (struct nm_mirror){at + 6 + g->act[i].from, g->act[i].sign};
        for (uint32_t i = 0; i < NM_GAIT_ACTS; i++)
            o[6 + NM_GAIT_LEGS + i] = (struct nm_mirror){at + 6 + NM_GAIT_LEGS + g->act[i].from, g->act[i].sign};
    }
    uint32_t at = NM_GAIT_FRAMES * NM_GAIT_FRAME;
    for (uint32_t i = 0; i < 3; i++) g->obs[at + i] = (struct nm_mirror){at + i, command[i]};
    for (uint32_t i = 3; i < 5; i++) g->obs[at + i] = (struct nm_mirror){at + i, -1}; /* half a turn of the clock */
}

int nm_gait_init(struct nm_gait *g, const struct nm_body *body, struct nm_err *err)
{
    struct nm_leg leg[2];
    struct nm_kin kin;
    const double zero[NM_JOINTS] = {0};
    uint32_t twin[NM_JOINTS];
    double sign[NM_JOINTS];
    *g = (struct nm_gait){.body = body, .n_joints = NM_GAIT_LEGS};
    if (!body->leg[NM_LEFT].n || !body->leg[NM_RIGHT].n)
        return nm_fail(err, "%s: it has no two legs, so it cannot learn to walk", body->name);
    for (int side = 0; side < 2; side++)
        if (nm_leg_init(&leg[side], body, (enum nm_side)side, err)) return -1;
    nm_forward(body, POSE_IDENTITY, zero, &kin);
    nm_mirror_joints(body, twin, sign);
    g->leg = kin.pose[body->leg[NM_LEFT].joints[0] + 1].pos.z - kin.pose[body->foot[NM_LEFT].sole].pos.z;
    if (!(g->leg > 0.02)) return nm_fail(err, "%s: the soles are not below the hips", body->name);
    g->stride = leg[NM_LEFT].chain.point[leg[NM_LEFT].pitch[0]].z - leg[NM_LEFT].chain.home.pos.z;
    g->pace = sqrt(GRAVITY * g->leg);
    g->rate = TURNS * sqrt(GRAVITY / g->leg);
    for (int side = 0; side < 2; side++)
        if (place_joints(g, &kin, side, err)) return -1;
    place_arms(g, &kin, twin, sign);
    if (place_legs(g, leg, err)) return -1;
    find_lift(g, leg);
    find_stiffness(g, &kin);
    make_mirror(g, twin, sign);
    for (uint32_t j = 0; j < body->n_joints; j++) {
        g->still[j] = body->joints[j].mimic < 0;
        for (uint32_t i = 0; i < g->n_joints; i++) g->still[j] &= g->joints[i] != j;
    }
    return 0;
}

void nm_gait_start(const struct nm_gait *g, struct nm_gait_state *s, double phase)
{
    *s = (struct nm_gait_state){.phase = phase, .rate = g->rate};
}

void nm_gait_observe(const struct nm_gait *g, struct nm_gait_state *s, struct vec3 gyro, struct vec3 up,
                     const double *q, const double command[3], float obs[NM_GAIT_OBS])
{
    float *f = s->frames[0];
    const double six[6] = {GYRO * gyro.x, GYRO * gyro.y, GYRO * gyro.z, up.x, up.y, up.z};
    memmove(s->frames[1], s->frames[0], (NM_GAIT_FRAMES - 1) * sizeof s->frames[0]);
    for (int i = 0; i < 6; i++) f[i] = (float)six[i];
    for (uint32_t i = 0; i < NM_GAIT_LEGS; i++) f[6 + i] = (float)(JOINT * (q[g->joints[i]] - g->stance[g->joints[i]]));
    for (uint32_t i = 0; i < NM_GAIT_ACTS; i++) f[6 + NM_GAIT_LEGS + i] = (float)ACT * s->act[i];
    memcpy(obs, s->frames, sizeof s->frames);
    obs += NM_GAIT_FRAMES * NM_GAIT_FRAME;
    const double rest[5] = {NM_GAIT_SPEED * command[0], NM_GAIT_SPEED * command[1], NM_GAIT_TURN * command[2],
                            s->stands ? 0 : sin(2 * M_PI * s->phase), s->stands ? 0 : cos(2 * M_PI * s->phase)};
    for (int i = 0; i < 5; i++) obs[i] = (float)rest[i];
}

/* Half turns of the clock are changes of the support foot: there it may stop. */
static void move_clock(struct nm_gait_state *s, bool still)
{
    double next = s->phase + s->rate * NM_GAIT_PERIOD;
    if (!still)
        s->stands = false;
    else if (floor(2 * next) != floor(2 * s->phase))
        s->stands = true;
    if (!s->stands) s->phase = next - floor(next);
}

void nm_gait_act(const struct nm_gait *g, struct nm_gait_state *s, const float act[NM_GAIT_ACTS],
                 const double command[3], double *goals)
{
    for (uint32_t i = 0; i < NM_GAIT_ACTS; i++) s->act[i] = (float)nm_within((double)act[i], (double)MOST);
    double swing = nm_gait_swing(s);
    memcpy(goals, g->stance, g->body->n_joints * sizeof *goals);
    for (uint32_t i = 0; i < g->n_joints; i++) {
        const struct nm_joint *joint = &g->body->joints[g->joints[i]];
        if (!(g->scale[i] > 0)) continue;
        double goal = g->stance[g->joints[i]] + g->scale[i] * (double)s->act[i];
        if (i < NM_GAIT_LEGS) goal += g->lift[i] * fmax(0, i < 6 ? swing : -swing);
        goals[g->joints[i]] = nm_clamp(goal, joint->lower + EDGE, joint->upper - EDGE);
    }
    nm_apply_mimics(g->body, goals);
    s->rate = g->rate * nm_clamp(1 + 0.2 * (double)s->act[NM_GAIT_ACTS - 1], 0.6, 1.6);
    move_clock(s, command[0] == 0 && command[1] == 0 && command[2] == 0);
}

void nm_gait_drive(const struct nm_gait *g, struct pose2 left, const double speed[3], const double most[4], double v[3])
{
    const double way[3] = {left.x - LATE * speed[0], left.y - LATE * speed[1], left.theta - LATE * speed[2]};
    double time = AT_LAST;
    for (int i = 0; i < 3; i++) {
        double fastest = most[i == 0 ? (way[0] < 0 ? 1 : 0) : i + 1], brake = BRAKES[i] * (i < 2 ? g->pace : 1);
        time = fmax(time, fmax(fabs(way[i]) / fastest, sqrt(fabs(way[i]) / (2 * brake))));
    }
    for (int i = 0; i < 3; i++) v[i] = way[i] / (i < 2 ? time : fmax(time, AT_LAST_TURN));
}

double nm_gait_slow(struct nm_gait_state *s, const double command[3], const double most[4])
{
    double share =
        fabs(command[0]) / most[command[0] < 0 ? 1 : 0] + fabs(command[1]) / most[2] + fabs(command[2]) / most[3];
    s->calm = share < SLOW ? s->calm + NM_GAIT_PERIOD : 0;
    return nm_clamp((SLOW - share) / (SLOW - SLOWEST), 0, 1) * nm_clamp((s->calm - SETTLES) / MOVES_OVER, 0, 1);
}

/* ---- the note in a policy's file ---- */

int nm_gait_describe(const struct nm_gait *g, char *text, size_t room)
{
    int n = snprintf(text, room,
                     "meaning: %d\nperiod: %g\nclock: %.4f\n"
                     "joints: # name, stance in rad, rad of an action of 1, rad of the lift, share of the gain\n",
                     MEANING, NM_GAIT_PERIOD, g->rate);
    for (uint32_t i = 0; i < g->n_joints && n < (int)room; i++) {
        if (!(g->scale[i] > 0)) continue;
        uint32_t j = g->joints[i];
        n += snprintf(text + n, room - (size_t)n, "  - [%s, %.5f, %g, %.5f, %.4f]\n", g->body->joints[j].name,
                      g->stance[j], g->scale[i], i < NM_GAIT_LEGS ? g->lift[i] : 0, g->stiffness[j]);
    }
    return n;
}

static int check_joint(const struct nm_gait *g, const char *line, struct nm_err *err)
{
    static const char *const what[] = {"stance", "size of an action", "lift in the swing", "share of the gain"};
    char name[64];
    double theirs[4];
    int n = sscanf(line, "- [%63[^,], %lf, %lf, %lf, %lf", name, &theirs[0], &theirs[1], &theirs[2], &theirs[3]) - 1;
    if (n < 2) return nm_fail(err, "its note `gait` has a line that is not - [joint, stance, scale, lift, share]");
    int32_t joint = nm_find_joint(g->body, name);
    uint32_t i = 0;
    while (i < g->n_joints && (int32_t)g->joints[i] != joint) i++;
    if (joint < 0 || i == g->n_joints)
        return nm_fail(err, "it was trained with a joint %s, which the walk of %s does not move", name, g->body->name);
    const double ours[4] = {g->stance[joint], g->scale[i], i < NM_GAIT_LEGS ? g->lift[i] : 0, g->stiffness[joint]};
    for (int k = 0; k < n; k++)
        if (!(fabs(ours[k] - theirs[k]) < 2e-3))
            return nm_fail(err, "it was trained with another %s of %s: %.3f, and here it is %.3f", what[k], name,
                           theirs[k], ours[k]);
    return 0;
}

int nm_gait_check(const struct nm_gait *g, const char *text, struct nm_err *err)
{
    const struct {
        const char *key, *what;
        double ours, near;
    } all[] = {{"meaning:", "meaning of its numbers", MEANING, 0.5},
               {"period:", "period (s)", NM_GAIT_PERIOD, 1e-4},
               {"clock:", "rate of the clock (turns a second)", g->rate, 0.01}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *at = strstr(text, all[i].key);
        double theirs;
        if (at && (sscanf(at + strlen(all[i].key), "%lf", &theirs) != 1 || !(fabs(theirs - all[i].ours) < all[i].near)))
            return nm_fail(err, "it was trained with another %s than %g", all[i].what, all[i].ours);
    }
    for (const char *line = strstr(text, "- ["); line; line = strstr(line + 1, "- ["))
        if (check_joint(g, line, err)) return -1;
    return 0;
}
