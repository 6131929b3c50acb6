/* A training session for one robot: it walks a slalom, then goes behind the ball, turns to the goal and kicks. If it is
 * pushed over, the hardware control manager makes it get up, and it goes on where it was. It takes its own place from
 * the simulator, because this trains its legs and not its eyes. */
#include <string.h>

#include "base/clamp.h"
#include "core/nm.h"
#include "geometry_msgs/PointStamped.h"
#include "geometry_msgs/Twist.h"
#include "humanoid_league_msgs/Kick.h"
#include "nutmeg_msgs/BodyTruth.h"
#include "nutmeg_msgs/HcmState.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "std_msgs/String.h"

enum { POINTS = 6 };

enum stage {
    SLALOM, /* from point to point                               */
    BREAK,  /* stands, until it is this robot's turn with the ball */
    ROUND,  /* to a place behind the ball, around it if need be  */
    ALIGN,  /* small steps until the ball lies before the foot   */
    SETTLE, /* the walk stops                                    */
    KICK,   /* the action runs                                   */
    WATCH,  /* where it rolls                                    */
    DONE
};

struct training {
    struct nm *nm;
    /* in */
    const BodyTruth *self;
    const WorldTruth *world;
    const HcmState *hcm;
    const PointStamped *place; /* of the ball, where the kick likes it best */
    nm_client(Kick_SendGoal) send;
    nm_client(Kick_GetResult) result;
    /* out */
    Twist *velocity;
    String *score;
    /* params */
    double point_x[POINTS], point_y[POINTS];
    int32_t points, shots;
    double start, turn_at; /* s */
    double speed, turn, careful;
    double goal_x;
    /* state */
    double ahead, aside; /* m, where the ball is to lie */
    enum stage stage;
    int32_t passed, shot, missed, falls;
    bool down;
    int64_t since; /* ns, of the stage */
    struct pose2 here;
    struct vec3 ball;
    int64_t goals; /* asked for so far */
};

static void enter(struct training *f, enum stage stage)
{
    static const char *const words[] = {
        [SLALOM] = "walks the slalom", [BREAK] = "has a break", [ROUND] = "goes to the ball", [ALIGN] = "aligns",
        [SETTLE] = "stands still",     [KICK] = "kicks",        [WATCH] = "looks after it",   [DONE] = "is through",
    };
    nm_log(f->nm, NM_INFO, "%s", words[stage]);
    f->stage = stage;
    f->since = f->nm->now;
}

static double in_stage(const struct training *f) { return nm_seconds(f->nm->now - f->since); }

/* ---- where things are ---- */

static void look(struct training *f)
{
    if (nm_fresh(f->nm, f->place) && f->place->point.x > 0) {
        f->ahead = f->place->point.x;
        f->aside = fabs(f->place->point.y);
    }
    const Pose *p = &f->self->pose;
    struct quat rot = {p->orientation.w, p->orientation.x, p->orientation.y, p->orientation.z};
    f->here = (struct pose2){p->position.x, p->position.y, quat_yaw(rot)};
    for (uint32_t i = 0; i < f->world->bodies.n; i++) {
        const BodyTruth *body = &f->world->bodies.at[i];
        if (!strcmp(body->name, "ball"))
            f->ball = (struct vec3){body->pose.position.x, body->pose.position.y, body->pose.position.z};
    }
}

static struct pose2 seen(const struct training *f, double x, double y, double theta)
{
    return pose2_mul(pose2_inv(f->here), (struct pose2){x, y, theta});
}

/* From the ball to the middle of the goal. */
static double aim(const struct training *f) { return atan2(-f->ball.y, f->goal_x - f->ball.x); }

/* Where to stand with the ball so far ahead, before the nearer foot, and the goal behind it. */
static struct pose2 stand_before_ball(const struct training *f, double ahead)
{
    double a = aim(f);
    struct pose2 ball = {f->ball.x, f->ball.y, a}, back = pose2_mul(pose2_inv(ball), f->here);
    double side = back.y > 0 ? -f->aside : f->aside; /* the ball lies to the right of who stands to the left of it */
    struct pose2 at = pose2_mul(ball, (struct pose2){-ahead, -side, 0});
    return seen(f, at.x, at.y, a);
}

/* ---- legs ---- */

/* Towards a place, in a bow: turns on the spot only where it lies aside or behind. */
static void walk_to(struct training *f, struct pose2 to)
{
    double bearing = atan2(to.y, to.x);
    f->velocity->angular.z = nm_within(1.5 * bearing, f->turn);
    f->velocity->linear.x = f->speed * fmax(0, 1 - fabs(bearing) / 0.9);
}

/* Small steps in any direction, facing where the place faces. */
static void step_to(struct training *f, struct pose2 to)
{
    f->velocity->linear.x = nm_within(1.8 * to.x, f->careful);
    f->velocity->linear.y = nm_within(1.8 * to.y, 0.8 * f->careful);
    f->velocity->angular.z = nm_within(1.2 * to.theta, 0.6 * f->turn);
}

/* ---- the stages ---- */

static void slalom(struct training *f)
{
    const double near = 0.15;
    if (nm_seconds(f->nm->now) < f->start) return;
    if (f->passed == f->points) {
        enter(f, BREAK);
        return;
    }
    struct pose2 to = seen(f, f->point_x[f->passed], f->point_y[f->passed], 0);
    if (hypot(to.x, to.y) < near)
        f->passed++;
    else
        walk_to(f, to);
}

static void take_a_break(struct training *f)
{
    bool lies_on_field = fabs(f->ball.x) < f->goal_x && f->ball.z < 0.2;
    if (f->shot >= f->shots)
        enter(f, DONE);
    else if (nm_seconds(f->nm->now) >= f->turn_at && lies_on_field)
        enter(f, ROUND);
}

/* Who stands beside the ball or before it walks around it, with room for its feet. */
static void go_round(struct training *f)
{
    struct pose2 to = stand_before_ball(f, 2.2 * f->ahead);
    double a = aim(f);
    struct pose2 ball = {f->ball.x, f->ball.y, a}, me = pose2_mul(pose2_inv(ball), f->here);
    double room = 2.5 * f->ahead;
    if (me.x > -0.5 * f->ahead && fabs(me.y) < room) {
        struct pose2 beside = pose2_mul(ball, (struct pose2){-f->ahead, me.y > 0 ? 1.6 * room : -1.6 * room, 0});
        to = seen(f, beside.x, beside.y, a);
    }
    if (hypot(to.x, to.y) < 0.12)
        enter(f, ALIGN);
    else if (hypot(to.x, to.y) < 0.35 && me.x < 0)
        step_to(f, to);
    else
        walk_to(f, to);
}

static void align(struct training *f)
{
    struct pose2 to = stand_before_ball(f, f->ahead);
    bool there = fabs(to.x) < 0.02 && fabs(to.y) < 0.02 && fabs(to.theta) < 0.12;
    if (hypot(to.x, to.y) > 0.6 || in_stage(f) > 25) enter(f, ROUND);
    if (there)
        enter(f, SETTLE);
    else
        step_to(f, to);
}

/* With all its strength: as if the goal were far behind itself. */
static void ask_for_kick(struct training *f)
{
    const double far = 6; /* m */
    double a = aim(f);
    struct pose2 ball = seen(f, f->ball.x, f->ball.y, 0);
    struct pose2 goal = seen(f, f->ball.x + far * cos(a), f->ball.y + far * sin(a), 0);
    Kick_SendGoal_Request *ask = nm_call(f->nm, &f->send);
    f->goals++;
    memcpy(ask->goal_id.uuid, "training", 8);
    memcpy(ask->goal_id.uuid + 8, &f->goals, sizeof f->goals);
    ask->goal.ball_pos = (Vector3){ball.x, ball.y, 0};
    ask->goal.target = (Vector3){goal.x, goal.y, 0};
    enter(f, KICK);
}

/* The last step may have shifted it: then it aligns once more. */
static void settle(struct training *f)
{
    struct pose2 to = stand_before_ball(f, f->ahead);
    if (in_stage(f) < 0.8 || f->hcm->state != HcmState_CONTROLABLE) {
        if (in_stage(f) > 5) enter(f, ALIGN);
        return;
    }
    bool there = fabs(to.x) < 0.045 && fabs(to.y) < 0.04 && fabs(to.theta) < 0.3;
    if (there)
        ask_for_kick(f);
    else
        enter(f, ALIGN);
}

static void hear_of_kick(struct training *f)
{
    for (uint32_t i = 0; i < f->send.replies.n && f->stage == KICK; i++) {
        if (!f->send.replies.at[i]->accepted) {
            f->missed++;
            enter(f, ALIGN);
            return;
        }
        Kick_GetResult_Request *ask = nm_call(f->nm, &f->result);
        memcpy(ask->goal_id.uuid, "training", 8);
        memcpy(ask->goal_id.uuid + 8, &f->goals, sizeof f->goals);
    }
    for (uint32_t i = 0; i < f->result.replies.n && f->stage == KICK; i++) {
        const Kick_Result *r = &f->result.replies.at[i]->result;
        bool kicked = r->result == Kick_Result_SUCCESS;
        if (!kicked) nm_log(f->nm, NM_INFO, "the kick is not made: %s", r->reason);
        f->shot += kicked;
        f->missed += !kicked;
        enter(f, kicked ? WATCH : ALIGN);
    }
    if (f->stage == KICK && in_stage(f) > 12) enter(f, ALIGN);
}

static void watch(struct training *f)
{
    if (in_stage(f) > 3) enter(f, BREAK);
}

static void nothing(struct training *f) { (void)f; }

static void (*const stages[])(struct training *f) = {
    [SLALOM] = slalom, [BREAK] = take_a_break, [ROUND] = go_round, [ALIGN] = align,
    [SETTLE] = settle, [KICK] = hear_of_kick,  [WATCH] = watch,    [DONE] = nothing,
};

/* A kick that a fall ended is tried again. */
static bool stands(struct training *f)
{
    uint8_t state = f->hcm->state;
    bool down = state == HcmState_FALLING || state == HcmState_FALLEN || state == HcmState_GETTING_UP;
    f->falls += down && !f->down;
    if (down && (f->stage == SETTLE || f->stage == KICK)) enter(f, ROUND);
    f->down = down;
    return !down && state != HcmState_STARTUP;
}

static void step(struct training *f)
{
    if (!nm_slot(f->self)->seq || !nm_slot(f->world)->seq) return;
    look(f);
    if (stands(f)) stages[f->stage](f);
    nm_text(f->score->data, "%d of %d points of the slalom, %d fall%s, %d shot%s", f->passed, f->points, f->falls,
            f->falls == 1 ? "" : "s", f->shot, f->shot == 1 ? "" : "s");
    nm_put(f->nm, f->velocity);
    nm_put(f->nm, f->score);
}

static int init(struct training *f)
{
    f->ahead = 0.2; /* until the kick has said where the ball lies best */
    f->aside = 0.05;
    return 0;
}

#define SELF struct training
static const struct nm_port ports[] = {
    NM_IN(self, BodyTruth, "truth/body"),
    NM_IN(world, WorldTruth, "truth/world"),
    NM_IN(hcm, HcmState, "hcm_state"),
    NM_IN(place, PointStamped, "kick_place", .optional = true),
    NM_CLIENT(send, Kick_SendGoal, "kick/_action/send_goal", 4),
    NM_CLIENT(result, Kick_GetResult, "kick/_action/get_result", 4),
    NM_OUT(velocity, Twist, "cmd_vel"),
    NM_OUT(score, String, "score"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_LIST(point_x, "-2.4 -1.8 -1.2 -0.6 0 0", -20, 20, "m", "x of the points of the slalom, in the field"),
    NM_PARAM_LIST(point_y, "1.5 0.9 1.5 0.9 1.2 0", -20, 20, "m", "y of the points of the slalom, in the field"),
    NM_PARAM(points, 5, 0, POINTS, "1", "how many points the slalom has"),
    NM_PARAM(shots, 1, 0, 20, "1", "how often it kicks"),
    NM_PARAM(start, 1.5, 0, 1000, "s", "when it begins to walk"),
    NM_PARAM(turn_at, 30, 0, 1000, "s", "it does not go to the ball before this time"),
    NM_PARAM(speed, 0.25, 0.02, 1, "m/s", "speed of the walk"),
    NM_PARAM(turn, 0.8, 0.05, 4, "rad/s", "fastest turn"),
    NM_PARAM(careful, 0.1, 0.01, 1, "m/s", "speed of the walk near the ball"),
    NM_PARAM(goal_x, 4.5, 1, 20, "m", "x of the goal at which it shoots, in the field"),
    {0},
};
NM_MODULE(training, "Walks a slalom, goes to the ball and shoots at the goal; for practice in the simulator.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))
