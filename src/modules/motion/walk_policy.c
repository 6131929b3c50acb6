/* Walks by cmd_vel or walk_command as the robot has learned it (`nutmeg learn walk`; body/gait.h says what a policy
 * sees and says), and is the rival of the module walk on the same topics.
 *
 * A policy is fast and hard to push over, but it puts no foot exactly, so that the model-based engine (walk_engine.h)
 * is part of this module. It stands, makes the last steps to a target, and kicks while walking. It also takes over when
 * the sensors are not what the policy was trained with. The legs go from one engine to the other when the support foot
 * changes; goals move over within `blend`.
 *
 * A command is a speed: what the policy is asked for is trimmed, slowly, until the odometry shows the speed that was
 * commanded. */
#include <stdio.h>
#include <string.h>

#include "base/clamp.h"
#include "body/gait.h"
#include "core/stamp.h"
#include "modules/motion/walk_front.h"
#include "nn/onnx.h"
#include "sensor_msgs/BatteryState.h"

enum { WAYS = 6, FROZEN = 5 };                             /* equal samples in a row: a policy falls soon        */
static const double BEGINS = 0.15;                         /* s until a robot that stood moves                  */
static const double LATE = 0.04, SILENT = 0.1;             /* s, age of what is measured: slower; no policy         */
static const double LOW_CHARGE = 0.15;                     /* of the battery: less than training has                */
static const double CAREFUL = 0.6;                         /* of the speeds, where inputs are not those of training */
static const double STEADY = 1.2;                          /* s, after a change of the command nothing is trimmed   */
static const double LEAST_FACTOR = 0.7, MOST_FACTOR = 1.4; /* of the trim                                         */
static const double MOST_OFFSET[3] = {0.05, 0.05, 0.2};    /* m/s, m/s, rad/s: where nothing is asked               */
static const double ASKED = 0.2;                           /* of the limit: a direction that is really asked for    */
static const double NEARER = 0.02, PATIENCE = 1;           /* m, s: a policy that comes no nearer to a target       */
static const double CROSSES = 1.8;                         /* what walking to a side costs beside anything else     */
static const double LEAD = 0.4;                            /* of the speed that is missing, forwards                */
/* Who shall be faster than this share of the most is told more, by a slower ramp: it then needs fewer steps. */
static const double SPRINTS = 0.7, SPRINT_LEAD = 0.7, SPRINT_RAMP = 0.8;
static const double HURRIES = 1.5;    /* of hand_over, for a kick                              */
static const double HASTE = 2;        /* of the ramp, for a stop                               */
static const double TURNS_BACK = 0.2; /* of the speeds: slower than this it may go the other way */
static const double BLOCKED = 0.4;    /* of what it is told: who comes no farther does not push   */

/* The stop: without any command a policy puts both feet down. */
static const double HALTS = 0.5; /* of the speeds: slower than this it is told so                       */
/* at a target: the same; of what the model-based walk leaves of the way; s, how far the mass carries the robot on while
 * it puts its feet down; m, how far outwards the last foot comes down; 1/s, how it still turns; what that leaves */
static const double CALM = 0.25, PRECISE = 0.65, CARRIES = 0.12, OUTWARDS = 0.011, TURNS_IN = 4, TURN_LEFT = 0.5;
static const double PUT_DOWN = 0.1, GAVE_UP = 0.5; /* s since then: both feet are down; it will not come to rest so */
static const double AGAIN = 0.5;                   /* s that it then steps on the spot, so many times at most:   */
enum { TRIES = 2 };

/* s that a robot steps which stood and was about to tip over; that it stands before: the last step sways */
static const double CATCHES = 1, STOOD = 0.5;

/* Giving way. What is felt without any blow, and how it is known: */
static const double FORGETS = 0.15; /* s, of the speed by the accelerometer: its error grows, a blow is shorter     */
static const double LEARNS = 1;     /* s, of the usual lean and of what is felt in free walking: several steps        */
static const double USUAL = 0.1;    /* rad, that a step leans to either side of the usual lean                        */
static const double FELT = 0.145;   /* of a fall through the leg: felt without a blow when stepping on the spot      */
static const double SWAYS = 1.7, TWISTS = 0.7; /* times as much more: walking to a side; turning, or fast           */
static const double PEAK = 2.8;                /* times what free walking feels on average                          */
static const double CALMS = 1.5;               /* s, until a change of the way, or a first blow, is not felt any more */
/* and what the robot does, once it feels more: */
static const double REFLEX = 5, REACH = 0.6; /* speed for each m/s more, up to this share of what was trained        */
static const double LASTS = 0.5, LEAST = 0.03;  /* s, of the reflex; m/s, where it ends                             */
static const double RUSH = 5;                   /* of the ramp, for the reflex                                      */
static const double WARY = 5;                   /* s: slow against whatever struck it                               */
static const double TENDER = 0.7, CREEP = 0.12; /* meanwhile: of what else would be a blow; of the speeds          */
/* Somebody stands in its way, and it shoves him without a blow: it walks at less than this share of what the policy
 * reaches this long after it was asked (s), for so long (s), where that is more than this share of its speed ahead. */
static const double HELD = 0.5, LAGS = 0.6, SHOVES = 0.25, FAST = 0.28;
static const double BACKS = 0.25, RETREATS = 1.5; /* then it steps back, of the speeds, and is slow there, s          */

enum engine { MODEL, POLICY };

struct walk_policy {
    struct nm *nm;
    /* in, beside those of the front */
    const BatteryState *battery;
    /* params */
    WALK_FRONT_MEMBERS
    char policy[128];
    double blend, trim_rate, ramp, near; /* s, 1/s, 1/s, m       */
    double hand_over;                    /* 1                    */
    double limits[4];                    /* m/s, m/s, m/s, rad/s */
    /* ports and state */
    struct walk_front front;
    struct nm_gait gait;
    struct nm_net *net;
    double slow;    /* share of its network for slow walking, which does better without a reflex */
    double most[4]; /* what was trained: forwards, back, to a side, a turn */
    struct nm_gait_state state;
    enum engine by;
    int64_t by_since; /* ns, since when it is this engine     */
    double waited;    /* s since the policy was asked last            */
    double policy_goals[NM_JOINTS];
    double command[3];              /* what the policy is told                      */
    double asked[3];                /* what is wanted of it, within the limits      */
    bool sprints;                   /* shall be nearly as fast as it can, ahead     */
    double steady;                  /* s since that changed                         */
    bool halts;                     /* is told nothing, so that it puts both feet down */
    double halted;                  /* s since it has                               */
    uint32_t tries;                 /* stops after which it did not come to rest    */
    double stood, rest;             /* s, that it stands; m, its capture point is then ahead */
    double catches;                 /* s left in which it steps, because it stood and was struck */
    double factor[WAYS], offset[3]; /* learnt: forwards, back, left, right, turns left and right */
    double legs[NM_GAIT_LEGS];      /* encoders of the last sample           */
    uint32_t same_legs;
    char worry[96]; /* why the policy walks slowly, or not at all */
    double nearest; /* m, to the target so far                    */
    int64_t nearest_at;
    bool stuck, far; /* comes no nearer; the policy walks there    */
    bool lost;       /* its answer was no number                   */
    /* of contacts, forwards and to the left */
    double usual[2]; /* rad, how the trunk leans                     */
    double moves[2]; /* m/s, of the trunk, by what it feels          */
    double power[2]; /* (m/s)^2, what it feels in free walking       */
    double rough[2]; /* how much more it may feel, as it is asked to walk now */
    double away[2];  /* m/s, it gives way                            */
    double flows[2]; /* m/s, as it should walk by now                */
    double held;     /* s in which it comes much less far            */
    double wary[2];  /* s left in which it is slow where it was struck; the sign is that of the way out */
};

/* ---- the policy's file ---- */

static int read_limits(struct walk_policy *f, const char *path, const char *text)
{
    memcpy(f->most, f->limits, sizeof f->most);
    if (text && sscanf(text, "forward: %lf back: %lf side: %lf turn: %lf", &f->most[0], &f->most[1], &f->most[2],
                       &f->most[3]) != 4)
        return nm_fail(f->nm->err, "%s: its note `limits` does not name forward, back, side and turn", path);
    for (int i = 0; i < 4; i++)
        if (!(f->most[i] > 0 && f->most[i] < 20)) return nm_fail(f->nm->err, "%s: its limits make no sense", path);
    return 0;
}

static int load(struct walk_policy *f)
{
    const struct nm_body *body = f->nm->body;
    char path[1024];
    struct nm_err why = {0};
    if (f->policy[0])
        nm_text(path, "%s", f->policy);
    else
        nm_text(path, "%s/walk.onnx", body->path);
    f->net = nm_onnx_load(path, &why);
    if (!f->net)
        return nm_fail(f->nm->err,
                       "%s; %s walks by a policy that the robot has learned: teach it with nutmeg learn walk --robot "
                       "%s, or walk with the module walk",
                       why.text, f->nm->name, body->name);
    bool two = f->net->n_inputs == 2 && nm_net_width_in(f->net, 1) == 1;
    if ((f->net->n_inputs != 1 && !two) || f->net->n_outputs != 1 || nm_net_width_in(f->net, 0) != NM_GAIT_OBS ||
        nm_net_width_out(f->net, 0) != NM_GAIT_ACTS)
        return nm_fail(
            f->nm->err,
            "%s has %u inputs with %u numbers and %u outputs with %u: a walk has 1 with %d and 1 with %d; one with "
            "a network for slow walking has a second input with 1",
            path, f->net->n_inputs, nm_net_width_in(f->net, 0), f->net->n_outputs, nm_net_width_out(f->net, 0),
            NM_GAIT_OBS, NM_GAIT_ACTS);
    const char *gait = nm_net_note(f->net, "gait");
    if (gait && nm_gait_check(&f->gait, gait, &why))
        return nm_fail(f->nm->err, "%s does not fit %s: %.*s; train again with nutmeg learn walk --robot %s", path,
                       body->name, (int)strcspn(why.text, "\n"), why.text, body->name);
    return read_limits(f, path, nm_net_note(f->net, "limits"));
}

/* ---- what the policy may be told ---- */

static double most_of(const struct walk_policy *f, int i, double sign)
{
    return f->most[i == 0 ? (sign < 0 ? 1 : 0) : i + 1];
}

/* Training asks for what lies in an ellipsoid, seldom near its edge. Where several directions are asked for at once,
 * the sum of their shares is at most one, which lies well inside. It is less by `crosses` where the robot walks to a
 * side while it walks ahead or turns, because one foot then swings close past the other and may strike it. */
static void limit(const struct walk_policy *f, double v[3], double share, double crosses)
{
    double of[3], sum = 0;
    for (int i = 0; i < 3; i++) sum += of[i] = fabs(v[i]) / (share * most_of(f, i, v[i]));
    double close = crosses * of[1] * (of[0] + of[2]); /* s sum + s^2 close = 1 says by how much it is too much */
    double s = 2 / (sum + sqrt(sum * sum + 4 * close));
    for (int i = 0; i < 3 && s < 1; i++) v[i] *= s;
}

static void say_worry(struct walk_policy *f, const char *what)
{
    if (strcmp(f->worry, what)) {
        nm_text(f->worry, "%s", what);
        if (what[0]) nm_log(f->nm, NM_WARN, "%s", what);
    }
    if (what[0]) nm_text(f->front.refused, "%s", what);
}

/* Legs that walk move their encoders; all of them equal again and again are those of a dead bus. The first moments do
 * not count: a robot that stood begins to move only when goals have moved over and have reached the motors. */
static void watch_legs(struct walk_policy *f)
{
    bool walks = f->by == POLICY && !f->halts && nm_seconds(f->nm->now - f->by_since) > f->blend + BEGINS;
    double now[NM_GAIT_LEGS];
    for (uint32_t i = 0; i < NM_GAIT_LEGS; i++) now[i] = f->front.q[f->gait.joints[i]];
    bool same = !memcmp(now, f->legs, sizeof now);
    f->same_legs = same && (walks || f->same_legs >= FROZEN) ? f->same_legs + 1 : 0;
    memcpy(f->legs, now, sizeof now);
}

static double age(const struct nm *nm, const void *in, Time stamp)
{
    int64_t sampled = nm_stamp_ns(stamp), arrived = nm_age(nm, in);
    if (arrived == INT64_MAX) return INFINITY;
    return nm_seconds(sampled > 0 && nm->now - sampled > arrived ? nm->now - sampled : arrived);
}

/* Share of the speeds that inputs allow, 0: none, the model-based walk does better. */
static double trust(struct walk_policy *f, const struct walk_sense *s)
{
    struct walk_front *w = &f->front;
    double imu = age(f->nm, w->imu, w->imu->header.stamp), joints = age(f->nm, w->joints, w->joints->header.stamp);
    double charge = f->battery->percentage;
    const char *what = "";
    double share = 1;
    if (f->lost)
        share = 0, what = "the policy gave an answer that is no number: it is not asked any more";
    else if (!s->tilt || imu > SILENT || w->same_imu >= FROZEN)
        share = 0, what = "the inertial sensor is silent or frozen: no learned walk without it";
    else if (joints > SILENT || f->same_legs >= FROZEN)
        share = 0, what = "the joints are silent or frozen: no learned walk without them";
    else if (imu > LATE || joints > LATE)
        share = CAREFUL, what = "the sensors are later than in training: the learned walk is slower";
    else if (nm_slot(f->battery)->seq && charge > 0 && charge < LOW_CHARGE)
        share = CAREFUL, what = "the battery is lower than in training: the learned walk is slower";
    bool walks = f->by == POLICY || w->wish.mode != WalkCommand_STAND;
    say_worry(f, walks || f->worry[0] ? what : "");
    return share;
}

/* ---- what it is told ---- */

static void drive(const struct walk_policy *f, double v[3])
{
    double most[4];
    for (int i = 0; i < 4; i++) {
        double asked = fabs(f->front.wish.velocity[i < 2 ? 0 : i - 1]);
        most[i] = asked > 0 ? fmin(f->most[i], asked) : f->most[i];
    }
    nm_gait_drive(&f->gait, walk_front_rest(&f->front), f->front.speed, most, v);
}

/* ---- who walks ---- */

/* A policy that does not come nearer any more leaves the rest of the way to the other engine. */
static void watch_target(struct walk_policy *f)
{
    struct pose2 rest = walk_front_rest(&f->front);
    double way = hypot(rest.x, rest.y);
    bool other = f->front.wish.mode != WalkCommand_TARGET || !f->front.placed || way > f->nearest + 10 * NEARER;
    if (other) f->stuck = false;
    if (other || way < f->nearest - NEARER || f->by != POLICY) {
        f->nearest = way;
        f->nearest_at = f->nm->now;
    }
    f->stuck |= nm_seconds(f->nm->now - f->nearest_at) > PATIENCE;
    f->far = f->front.placed && !f->stuck && (f->by == POLICY || way > f->near);
}

static bool wants_policy(const struct walk_policy *f, double share)
{
    const struct walk_front *w = &f->front;
    if (w->rising || share <= 0 || w->engine.kick.wanted || w->engine.kick.active) return false;
    return f->catches > 0 || w->wish.mode == WalkCommand_VELOCITY || (w->wish.mode == WalkCommand_TARGET && f->far);
}

/* ---- giving way ---- */

/* How much faster the trunk falls forwards and to the left than its feet carry it there, m/s. As of a pendulum it is
 * v + w h lean: speed, by the accelerometer, against that of the odometry; lean against the usual one. */
static void feel(struct walk_policy *f, const struct walk_sense *s, double felt[2])
{
    const struct walk_front *w = &f->front;
    const Vector3 *a = &w->imu->linear_acceleration;
    struct quat turn = QUAT_IDENTITY;
    imu_to_torso(f->nm->body, w->imu, &turn);
    struct vec3 up = quat_apply(quat_inv(s->torso_to_world), (struct vec3){0, 0, 1});
    struct vec3 pull = quat_apply(quat_mul(s->torso_to_world, turn), (struct vec3){a->x, a->y, a->z});
    double along = cos(w->heading), across = sin(w->heading), dt = nm_seconds(f->nm->dt);
    const double lean[2] = {-up.x, -up.y}, *v = w->speed,
                 grows[2] = {along * pull.x + across * pull.y + v[2] * v[1],
                             along * pull.y - across * pull.x - v[2] * v[0]};
    for (int i = 0; i < 2; i++) {
        double off = lean[i] - f->usual[i];
        f->usual[i] += dt / LEARNS * nm_within(off, USUAL);
        f->moves[i] += dt * grows[i] + dt / FORGETS * (v[i] - f->moves[i]);
        felt[i] = f->moves[i] - v[i] + w->engine.w * w->engine.height * off;
        if (!w->placed || !isfinite(felt[i])) felt[i] = 0, f->moves[i] = v[i];
    }
}

/* Who comes no farther, though nothing struck it, shoves somebody along whom it does not see. */
static void feel_held_up(struct walk_policy *f)
{
    double dt = nm_seconds(f->nm->dt), *to = f->flows;
    for (int i = 0; i < 2; i++) to[i] += dt / LAGS * (f->asked[i] - to[i]);
    double fast = hypot(to[0], to[1]), along = f->front.speed[0] * to[0] + f->front.speed[1] * to[1];
    bool held = f->front.placed && fast > FAST * f->most[0] && along < HELD * fast * fast;
    f->held = held ? f->held + dt : 0;
    if (f->held < SHOVES) return;
    for (int i = 0; i < 2; i++) {
        if (fabs(to[i]) < 0.5 * fast) continue;
        f->wary[i] = -copysign(RETREATS, to[i]);
        f->away[i] = -copysign(BACKS * most_of(f, i, -to[i]), to[i]);
    }
    to[0] = to[1] = f->held = 0;
}

/* A robot that walks into another one, or is pushed, goes at once where it is pushed to, and then for a while only
 * slowly against it. Without this both robots lean against each other until they fall. What counts as a blow depends on
 * what the robot feels where nobody is in its way. */
static void give_way(struct walk_policy *f, const struct walk_sense *s, double v[3])
{
    double felt[2], dt = nm_seconds(f->nm->dt), least = FELT * f->gait.pace;
    double aside = fabs(f->asked[1]) / f->most[2], turn = TWISTS * fabs(f->asked[2]) / f->most[3];
    double ahead = f->asked[0] / most_of(f, 0, f->asked[0]);
    const double sways[2] = {TWISTS * (aside + ahead * ahead) + turn, SWAYS * aside + turn};
    feel(f, s, felt);
    feel_held_up(f);
    for (int i = 0; i < 2; i++) {
        f->rough[i] = fmax(sways[i], f->rough[i] * (1 - dt / CALMS));
        if (f->wary[i] == 0) f->power[i] += dt / LEARNS * (felt[i] * felt[i] - f->power[i]);
        bool again = f->wary[i] * felt[i] > 0, rebounds = f->wary[i] * felt[i] < 0 && fabs(f->wary[i]) > WARY - CALMS;
        double most =
            fmax(least * (1 + f->rough[i] + (f->steady < LEARNS && f->wary[i] == 0)), PEAK * sqrt(f->power[i]));
        double beyond = rebounds ? 0 : felt[i] - nm_within(felt[i], (again ? TENDER : 1) * most);
        double reflex = f->slow > 0 ? 0 : nm_within(REFLEX * beyond, REACH * most_of(f, i, beyond));
        f->away[i] -= dt / LASTS * f->away[i];
        if (fabs(reflex) > fabs(f->away[i])) f->away[i] = reflex;
        if (fabs(f->away[i]) < LEAST) f->away[i] = 0;
        f->wary[i] = reflex * v[i] < 0 ? copysign(WARY, reflex) : f->wary[i] - nm_within(f->wary[i], dt);
        if (f->wary[i] * v[i] < 0) v[i] = nm_within(v[i], CREEP * most_of(f, i, v[i]));
        if (f->away[i] * v[i] < 0) v[i] = 0;
        if (fabs(f->away[i]) > fabs(v[i])) v[i] = f->away[i];
    }
}

/* Who is to go the other way stops first. A command that leaps from one direction to the opposite one made robots fall,
 * because the policy began the way back while the body still went ahead. */
static void stop_first(const struct walk_policy *f, double v[3])
{
    for (int i = 0; i < 3 && f->front.placed; i++) {
        double now = f->front.speed[i];
        if (v[i] * now < 0 && fabs(now) > TURNS_BACK * most_of(f, i, now)) v[i] = 0;
    }
}

/* What the policy is asked for: the command, or on the way to a hand-over what the model-based walk can take over. */
static void ask(struct walk_policy *f, const struct walk_sense *s, double share, bool leaves)
{
    const struct walk_front *w = &f->front;
    double v[3] = {0};
    if (w->wish.mode == WalkCommand_TARGET)
        drive(f, v);
    else if (w->wish.mode == WalkCommand_VELOCITY)
        memcpy(v, w->wish.velocity, sizeof v), f->tries = 0;
    if (leaves) walk_limit(&w->tuned, v);
    share = share > 0 ? share : CAREFUL;
    limit(f, v, share, CROSSES); /* but neither trim nor reflex */
    stop_first(f, v);
    give_way(f, s, v);
    limit(f, v, share, 0);
    double change = 0;
    f->sprints = v[0] > SPRINTS * f->most[0];
    for (int i = 0; i < 3; i++) {
        bool rushes = i < 2 && f->away[i] != 0, eases = i == 0 && f->sprints && v[0] > f->asked[0];
        double most = most_of(f, i, v[i]), haste = rushes ? RUSH : leaves ? HASTE : eases ? SPRINT_RAMP : 1;
        v[i] = nm_gait_follow(f->asked[i], v[i], haste * f->ramp * most * nm_seconds(f->nm->dt));
        change = fmax(change, fabs(v[i] - f->asked[i]) / most);
    }
    f->steady = change > 0.005 ? 0 : f->steady + nm_seconds(f->nm->dt);
    memcpy(f->asked, v, sizeof v);
}

/* A factor for each direction that is asked for, an offset where none is. */
static void learn_trim(struct walk_policy *f)
{
    double rate = f->trim_rate * nm_seconds(f->nm->dt);
    bool struck = f->wary[0] != 0 || f->wary[1] != 0;
    if (!f->front.placed || f->steady < STEADY || f->worry[0] || struck) return;
    for (int i = 0; i < 3; i++) {
        double lacks = f->asked[i] - f->front.speed[i], *factor = &f->factor[2 * i + (f->asked[i] < 0)];
        bool asked = fabs(f->asked[i]) > ASKED * most_of(f, i, f->asked[i]);
        if (asked && f->front.speed[i] / f->asked[i] < BLOCKED * f->command[i] / f->asked[i]) continue;
        if (asked)
            *factor = nm_clamp(*factor + rate * lacks / f->asked[i], LEAST_FACTOR, MOST_FACTOR);
        else
            f->offset[i] = nm_within(f->offset[i] + rate * lacks, MOST_OFFSET[i]);
    }
}

/* What is left of the way once both feet are down. The swinging foot lands where the mass goes to, so that the speed of
 * the mass tells more than that of the odometry, and the last step takes away a part of the turn. */
static struct pose2 way_left_at_rest(const struct walk_policy *f)
{
    const struct walk_engine *e = &f->front.engine;
    struct pose2 rest = walk_front_rest(&f->front);
    double c = cos(e->facing), s = sin(e->facing);
    rest.x -= CARRIES * (c * e->com_speed[0] + s * e->com_speed[1]);
    rest.y -= CARRIES * (c * e->com_speed[1] - s * e->com_speed[0]);
    if (f->state.stands) return rest;
    rest.y -= OUTWARDS * e->size * walk_engine_side(e->support);
    rest.theta *= TURN_LEFT;
    return rest;
}

/* A policy that is told nothing at all stops its clock at the next change of feet and puts both of them down. */
static bool may_halt(struct walk_policy *f)
{
    struct walk_front *w = &f->front;
    const double *v = w->placed ? w->speed : f->asked;
    double share = 0;
    for (int i = 0; i < 3; i++) share = fmax(share, fabs(v[i]) / most_of(f, i, v[i]));
    if (w->engine.kick.wanted || w->wish.mode == WalkCommand_VELOCITY || f->catches > 0) return false;
    if (w->wish.mode == WalkCommand_STAND) return f->halts || share < HALTS;
    return w->placed && (f->halts || share < CALM) && walk_front_arrives(w, way_left_at_rest(f), PRECISE);
}

/* Whoever has not got its speed yet is told more: a policy is slow to take up the last of it. Later the trim does it.
 */
static double lead(const struct walk_policy *f)
{
    if (!f->front.placed || f->worry[0] || f->away[0] != 0 || f->wary[0] != 0 || f->steady > STEADY) return 0;
    return (f->sprints ? SPRINT_LEAD : LEAD) * fmax(f->asked[0] - fmax(f->front.speed[0], 0), 0);
}

static void tell_policy(struct walk_policy *f)
{
    for (int i = 0; i < 3; i++) f->command[i] = f->asked[i] * f->factor[2 * i + (f->asked[i] < 0)];
    f->command[0] += lead(f);
    limit(f, f->command, 1, 0);
    for (int i = 0; i < 3; i++) f->command[i] += f->offset[i]; /* small, and must not cost speed ahead */
    f->halts = may_halt(f);
    if (f->halts) {
        bool turns = f->front.wish.mode == WalkCommand_TARGET && !f->state.stands;
        memset(f->command, 0, sizeof f->command);
        if (turns) f->command[2] = nm_within(TURNS_IN * walk_front_rest(&f->front).theta, 1);
    } else if (f->command[0] == 0 && f->command[1] == 0 && f->command[2] == 0)
        f->command[0] = 1e-6;
}

/* While the other engine walks, the policy sees what it would have said to get the same goals. */
static void note_goals(struct walk_policy *f)
{
    for (uint32_t i = 0; i < f->gait.n_joints; i++) {
        uint32_t joint = f->gait.joints[i];
        if (!(f->gait.scale[i] > 0)) continue;
        f->state.act[i] = (float)((f->front.told[joint] - f->gait.stance[joint]) / f->gait.scale[i]);
    }
}

static bool observe(struct walk_policy *f, const struct walk_sense *s)
{
    f->waited += nm_seconds(f->nm->dt);
    if (f->waited < NM_GAIT_PERIOD - 0.5 * nm_seconds(f->nm->dt)) return false;
    f->waited = fmax(f->waited - NM_GAIT_PERIOD, 0);
    struct vec3 up = quat_apply(quat_inv(s->torso_to_world), (struct vec3){0, 0, 1});
    if (f->by == MODEL) note_goals(f);
    nm_gait_observe(&f->gait, &f->state, s->gyro, up, f->front.q, f->command, nm_net_input(f->net, 0));
    if (f->net->n_inputs == 2) { /* who was struck while it walked gives way by the reflex, however slow it is */
        bool free = f->by == POLICY && f->wary[0] == 0 && f->wary[1] == 0;
        if (!free) f->state.calm = 0;
        f->slow = free ? nm_gait_slow(&f->state, f->command, f->most) : 0;
        *nm_net_input(f->net, 1) = (float)f->slow;
    }
    return true;
}

/* The learned walk for one tick; it answers every second one. False if its answer is no use. */
static bool by_policy(struct walk_policy *f, const struct walk_sense *s, double goals[NM_JOINTS])
{
    struct walk_front *w = &f->front;
    learn_trim(f);
    tell_policy(f);
    if (observe(f, s)) {
        nm_net_run(f->net);
        const float *act = nm_net_output(f->net, 0);
        for (int i = 0; i < NM_GAIT_ACTS; i++) f->lost |= !isfinite(act[i]);
        if (f->lost) return false;
        static const double STOP[3] = {0}; /* for the clock; what the policy sees may still turn it */
        nm_gait_act(&f->gait, &f->state, act, f->halts ? STOP : f->command, f->policy_goals);
    }
    walk_engine_watch(&w->engine, &w->tuned, s, nm_seconds(f->nm->dt));
    w->steps += w->engine.changed;
    memcpy(goals, f->policy_goals, sizeof f->policy_goals);
    return true;
}

/* ---- from one engine to the other ---- */

/* The foot that bears less is lifted first, and that of the side to which the robot goes. */
static void to_policy(struct walk_policy *f)
{
    struct walk_front *w = &f->front;
    struct walk_engine *e = &w->engine;
    bool stands = e->mode == WALK_STAND, left = w->wish.velocity[1] + 0.1 * w->wish.velocity[2] > 0;
    bool bears = walk_engine_side(e->support) * e->com_seen[1] < 0.5 * e->width; /* its support foot, most of it */
    if (f->catches > 0) left = bears == (e->support == NM_RIGHT);
    if (stands) e->support = left ? NM_RIGHT : NM_LEFT;
    nm_gait_start(&f->gait, &f->state, e->support == NM_RIGHT ? 0 : 0.5);
    e->mode = WALK_STEP;
    e->phase = e->time = 0;
    e->pace = 0.5 / f->gait.rate;
    memset(f->asked, 0, sizeof f->asked);
    f->by = POLICY;
    f->by_since = f->nm->now;
    f->stood = 0;
    f->steady = 0;
    f->halts = false;
    f->tries = 0;
    memcpy(f->moves, w->speed, sizeof f->moves);
    memset(f->away, 0, sizeof f->away);
    memset(f->flows, 0, sizeof f->flows);
    f->waited = NM_GAIT_PERIOD;
    memcpy(f->policy_goals, w->told, sizeof w->told);
    walk_front_blend(w, f->blend);
}

static void to_model(struct walk_policy *f, const struct walk_sense *s)
{
    struct walk_front *w = &f->front;
    double v[3];
    memcpy(v, f->front.placed ? f->front.speed : f->asked, sizeof v);
    walk_limit(&w->tuned, v);
    walk_engine_take_over(&w->engine, &w->tuned, s, v);
    walk_front_aim(w);
    f->by = MODEL;
    f->by_since = f->nm->now;
    walk_front_blend(w, f->blend);
}

/* Both feet are down: the other engine stands, with the feet where they are. A robot that does not come to rest so, or
 * whose feet are far apart, steps on the spot and tries again: the steps of the other engine begin badly from there. It
 * makes them only if that does not help. */
static void halt(struct walk_policy *f, const struct walk_sense *s)
{
    struct walk_engine *e = &f->front.engine;
    f->halted = f->state.stands ? f->halted + nm_seconds(f->nm->dt) : 0;
    bool rests = f->halted > PUT_DOWN && walk_engine_rests(e);
    if (!rests && f->halted < GAVE_UP) return;
    if (!rests && f->tries++ < TRIES) {
        f->catches = AGAIN;
        return;
    }
    to_model(f, s);
    if (rests) e->mode = WALK_STAND, e->stays = true;
}

/* Slow enough for the model-based walk; a kick does not wait for that much. */
static bool slow(const struct walk_policy *f)
{
    const struct walk_params *p = &f->front.tuned;
    const double *v = f->front.placed ? f->front.speed : f->asked;
    double along = v[0] > 0 ? p->max_forward : p->max_backward;
    return fabs(v[0]) / along + fabs(v[1]) / p->max_side + 0.5 * fabs(v[2]) / p->max_turn <
           (f->front.engine.kick.wanted ? HURRIES : 1) * f->hand_over;
}

/* ---- the cycle ---- */

static void step_model(struct walk_policy *f, const struct walk_sense *s, double share)
{
    struct walk_front *w = &f->front;
    struct walk_command c = walk_front_command(w, s);
    double goals[NM_JOINTS];
    bool stood = w->engine.mode == WALK_STAND;
    f->stood = stood ? f->stood + nm_seconds(f->nm->dt) : 0;
    if (f->stood < STOOD) f->rest = walk_engine_ahead(&w->engine);
    if (f->stood > STOOD && walk_engine_tips(&w->engine, f->rest)) f->catches = CATCHES;
    bool wants = wants_policy(f, share);
    if (wants && stood) c.walk = false;
    observe(f, s);
    walk_front_model(w, s, &c, goals);
    walk_front_put(w, goals, NULL);
    walk_front_tell(w, walk_front_state(w, c.walk));
    if (wants && (stood || w->engine.changed)) to_policy(f);
}

static void step_policy(struct walk_policy *f, const struct walk_sense *s, double share)
{
    struct walk_front *w = &f->front;
    double goals[NM_JOINTS];
    bool leaves = !wants_policy(f, share);
    ask(f, s, share, leaves);
    if (share <= 0 || !by_policy(f, s, goals)) {
        to_model(f, s);
        step_model(f, s, share);
        return;
    }
    walk_front_put(w, goals, f->gait.stiffness);
    w->engine.duration = w->engine.pace;
    for (int i = 0; i < 3; i++) w->engine.step[i] = f->asked[i] * w->engine.pace;
    w->engine.error[0] = w->engine.error[1] = 0;
    walk_front_tell(w, f->halts || w->wish.mode == WalkCommand_STAND ? WalkState_STOPPING : WalkState_WALKING);
    if (f->halts)
        halt(f, s);
    else if (leaves && w->engine.changed && slow(f))
        to_model(f, s);
}

static void step(struct walk_policy *f)
{
    struct walk_front *w = &f->front;
    struct walk_sense s;
    w->nm = f->nm;
    if (!walk_front_begin(w, f->by == POLICY ? !f->halts : w->engine.mode == WALK_STEP, &s)) {
        f->by = MODEL;
        return;
    }
    if (nm_fresh(f->nm, w->joints)) watch_legs(f);
    watch_target(f);
    f->catches = fmax(f->catches - nm_seconds(f->nm->dt), 0);
    double share = trust(f, &s);
    if (f->by == POLICY)
        step_policy(f, &s, share);
    else
        step_model(f, &s, share);
    nm_show(f->nm, "learned", f->by == POLICY);
    nm_show(f->nm, "trim x", f->factor[0]);
    nm_show(f->nm, "gives way x", f->away[0]);
    nm_show(f->nm, "gives way y", f->away[1]);
}

static void take_params(struct walk_policy *f) { walk_front_take(f); }

static int init(struct walk_policy *f)
{
    if (walk_front_init(&f->front, f->nm)) return -1;
    take_params(f);
    if (nm_gait_init(&f->gait, f->nm->body, f->nm->err) || load(f)) return -1;
    walk_front_reset(&f->front);
    nm_gait_start(&f->gait, &f->state, 0);
    for (int i = 0; i < WAYS; i++) f->factor[i] = 1;
    return 0;
}

static void end(struct walk_policy *f) { nm_net_free(f->net); }

#define SELF struct walk_policy
static const struct nm_port ports[] = {
    WALK_FRONT_PORTS,
    NM_IN(battery, BatteryState, "battery_state", .optional = true),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_WORD(policy, "", NULL, "file of the policy; empty: walk.onnx in the robot's folder"),
    NM_PARAM(blend, 0.1, 0.01, 1, "s", "in which the goals move over from one engine to the other"),
    NM_PARAM(trim_rate, 0.5, 0, 5, "1/s",
             "how fast what is asked of the policy is trimmed by the odometry; 0: not at all"),
    NM_PARAM(ramp, 2, 0.1, 100, "1/s", "how fast what is asked of the policy grows, as share of what was trained"),
    NM_PARAM(near, 0.35, 0, 5, "m",
             "a target that is nearer than this, seen from the stand, is reached by model-based steps"),
    NM_PARAM(hand_over, 0.8, 0.1, 2, "1", "of the model-based walk's speeds: slower than this it takes over"),
    NM_PARAM_LIST(limits, "0.5 0.4 0.3 2", 0, 10, "m/s, rad/s",
                  "forwards, back, to a side, turn: most that a policy is asked for whose file does not name it"),
    WALK_FRONT_PARAMS{0},
};
NM_MODULE(
    walk_policy,
    "Walks by cmd_vel or walk_command as it has learned to; stands, kicks and ends at targets by the module walk's "
    "engine.",
    NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .changed = NM_CALL(take_params), .step = NM_CALL(step),
    .close = NM_CALL(end), .like = "walk")
