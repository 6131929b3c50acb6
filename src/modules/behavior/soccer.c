/* The player: from the state of the game to a role, and from the role to a walk, a look and a kick. This file has the
 * senses, the orders, and the two options at the top: `match`, which obeys the referee, and `in_play`, which takes the
 * role that the strategy gives. */
#include "modules/behavior/notebook.h"

#include <string.h>

/* ---- senses ---- */

static void find_rival(struct soccer *f)
{
    const Obstacle *rival = known_rival(f->obstacles, &f->ball, &f->rival_far);
    if (rival) f->rival = (struct vec3){rival->position.x, rival->position.y, 0};
    f->rival_first = known_rival_time(f->rival_far, f->speed);
}

/* Our kick-off lasts until the ball has left its place. */
static bool still_kick_off(const struct soccer *f)
{
    const MatchState *m = f->match;
    return m->state == MatchState_PLAYING && m->kicking == MatchState_KICK_OWN &&
           m->set_play == MatchState_SET_PLAY_NONE && f->ball.known && vec2_norm(f->ball.x, f->ball.y) < 0.4;
}

/* A goal counts directly from a free kick, a corner or a goal kick. From a kick-off, a throw-in or an indirect free
 * kick another robot of the team must touch the ball first: who took it passes, and does not shoot until a mate has
 * played. */
static bool goal_counts(struct soccer *f)
{
    const double enough = 15; /* s, by then somebody else has touched it */
    uint8_t play = f->match->set_play, striker = f->plan->striker;
    bool indirect = play == MatchState_SET_PLAY_INDIRECT_FREE_KICK || play == MatchState_SET_PLAY_THROW_IN;
    if (f->kick_off || (f->match->kicking == MatchState_KICK_OWN && indirect)) {
        f->taker = striker;
        f->taken = f->nm->now;
        return false;
    }
    if ((striker && striker != f->taker) || nm_seconds(f->nm->now - f->taken) > enough) f->taker = 0;
    return !f->taker || f->taker != f->match->player_number;
}

static void sense(struct soccer *f)
{
    const double *c = f->pose->pose.covariance;
    f->me = known_pose(f->pose);
    f->unsure = nm_slot(f->pose)->seq ? sqrt(fmax(c[0] + c[7], 0) / 2) : INFINITY;
    f->ball = known_ball(f->nm, f->me, f->ball_seen, f->team_ball);
    f->ball_far = f->ball.known ? vec2_norm(f->ball.x - f->me.x, f->ball.y - f->me.y) : INFINITY;
    find_rival(f);
    f->kick_off = still_kick_off(f);
    f->goal_counts = goal_counts(f);
    if (f->ball.known) {
        f->lost_since = 0;
        f->side = angle_normal(to_ball_angle(f) - f->me.theta) < 0 ? -1 : 1;
        f->last_ball = (struct vec3){f->ball.x, f->ball.y, 0};
    } else if (!f->lost_since) {
        f->lost_since = f->nm->now;
    }
    if (vec2_norm(f->ball.x - f->rested.x, f->ball.y - f->rested.y) > 0.15) {
        f->rested = (struct vec3){f->ball.x, f->ball.y, 0};
        f->rested_since = f->nm->now;
    }
}

/* ---- orders ---- */

static NavigationGoal *order(struct soccer *f, uint8_t mode)
{
    NavigationGoal *g = f->goal;
    nm_reset(&NavigationGoal_type, g);
    nm_text(g->header.frame_id, "map");
    g->mode = mode;
    return g;
}

void stand_still(struct soccer *f) { order(f, NavigationGoal_STAND); }

void walk_to(struct soccer *f, struct pose2 to, double keep_from_ball)
{
    double far = vec2_norm(to.x - f->me.x, to.y - f->me.y);
    NavigationGoal *g = order(f, far > 1 ? NavigationGoal_PATH : NavigationGoal_PATH_WITH_ORIENTATION);
    g->target = (Pose2D){to.x, to.y, to.theta};
    g->ball_distance = (float)keep_from_ball;
}

void step_to(struct soccer *f, struct pose2 to)
{
    order(f, NavigationGoal_DIRECT_WITH_ORIENTATION)->target = (Pose2D){to.x, to.y, to.theta};
}

void walk_with(struct soccer *f, double x, double y, double turn)
{
    order(f, NavigationGoal_VELOCITY)->velocity = (Twist){{x, y, 0}, {0, 0, turn}};
}

void walk_behind_ball(struct soccer *f, double target_x, double target_y)
{
    NavigationGoal *g = order(f, NavigationGoal_WALK_BEHIND_BALL);
    g->kick_target = (Point){target_x, target_y, 0};
}

/* ---- actions of the body ---- */

static void mark(struct soccer *f, uint8_t id[16])
{
    memcpy(id, "soccer  ", 8);
    memcpy(id + 8, &f->asks, sizeof f->asks);
}

void ask_kick(struct soccer *f, double target_x, double target_y)
{
    struct pose2 map_to_robot = pose2_inv(f->me);
    struct pose2 ball = pose2_mul(map_to_robot, (struct pose2){f->ball.x, f->ball.y, 0});
    struct pose2 target = pose2_mul(map_to_robot, (struct pose2){target_x, target_y, 0});
    Kick_SendGoal_Request *ask = nm_call(f->nm, &f->kick_send);
    f->asks++;
    mark(f, ask->goal_id.uuid);
    ask->goal.ball_pos = (Vector3){ball.x, ball.y, 0};
    ask->goal.target = (Vector3){target.x, target.y, 0};
    f->asked = ASKED_WAITING;
}

void ask_animation(struct soccer *f, const char *name)
{
    PlayAnimation_SendGoal_Request *ask = nm_call(f->nm, &f->animation_send);
    f->asks++;
    mark(f, ask->goal_id.uuid);
    nm_text(ask->goal.animation, "%s", name);
    f->asked = ASKED_WAITING;
}

static void hear_actions(struct soccer *f)
{
    for (uint32_t i = 0; i < f->kick_send.replies.n; i++) {
        f->asked = f->kick_send.replies.at[i]->accepted ? ASKED_RUNS : ASKED_FAILED;
        if (f->asked == ASKED_RUNS) mark(f, nm_call(f->nm, &f->kick_result)->goal_id.uuid);
    }
    for (uint32_t i = 0; i < f->kick_result.replies.n; i++)
        f->asked = f->kick_result.replies.at[i]->result.result == Kick_Result_SUCCESS ? ASKED_SUCCEEDED : ASKED_FAILED;
    for (uint32_t i = 0; i < f->animation_send.replies.n; i++) {
        f->asked = f->animation_send.replies.at[i]->accepted ? ASKED_RUNS : ASKED_FAILED;
        if (f->asked == ASKED_RUNS) mark(f, nm_call(f->nm, &f->animation_result)->goal_id.uuid);
    }
    if (f->animation_result.replies.n) f->asked = ASKED_SUCCEEDED;
}

/* ---- the top ---- */

static bool down(const struct soccer *f)
{
    uint8_t s = f->hcm->state;
    return s == HcmState_FALLING || s == HcmState_FALLEN || s == HcmState_GETTING_UP;
}

/* Plays the role that the strategy gives, as long as the ball is in play. */
static OPTION(in_play)
{
    bool shoot_out = f->match->phase == MatchState_PHASE_PENALTY_SHOOTOUT;
    uint8_t role = f->plan->own_role;
    struct meeting shot = meeting_of(f);
    if (shoot_out && f->match->kicking == MatchState_KICK_OWN)
        go(shooting, "our shot in the shoot-out");
    else if (shoot_out)
        go(saving, "their shot in the shoot-out");
    else if (f->unsure > f->lost)
        go(localising, "the robot does not know where it is");
    else if (role == TeamMessage_ROLE_KEEPER)
        go(keeping, "the keeper");
    else if (blocks_shot(f, &shot))
        go(blocking, "a shot at the own goal comes by");
    else if (role == TeamMessage_ROLE_STRIKER)
        go(striking, "first at the ball");
    else if (role == TeamMessage_ROLE_DEFENDER)
        go(defending, "the strategy wants a defender");
    else if (role == TeamMessage_ROLE_BISHOP)
        go(offering, "the strategy wants somebody in front");
    else
        go(supporting, "the strategy wants a supporter");

    STATE(supporting) play(hold_place);
    STATE(striking) play(strike);
    STATE(keeping) play(keep_goal);
    STATE(defending) play(hold_place);
    STATE(offering) play(hold_place);
    STATE(blocking)
    {
        acts(f, Strategy_ACTION_GOING_TO_BALL);
        walk_to_meeting(f, &shot);
    }
    STATE(shooting) play(shoot_penalty);
    STATE(saving) play(keep_goal);
    STATE(localising)
    {
        acts(f, Strategy_ACTION_UNDEFINED);
        look(f, HeadMode_FIELD_FEATURES);
        walk_with(f, 0, 0, 0.5);
    }
}

/* To the place for the kick-off or penalty kick. */
static OPTION(take_place)
{
    STATE(walk)
    {
        if (f->navigation->arrived && state_time() > 1) go(stand, "at its place");
        look(f, HeadMode_FIELD_FEATURES);
        walk_to(f, own_place(f), 0.3);
    }
    STATE(stand)
    {
        double far = vec2_norm(own_place(f).x - f->me.x, own_place(f).y - f->me.y);
        if (far > 0.4) go(walk, "the place is elsewhere");
        look(f, HeadMode_BALL_MODE);
        stand_still(f);
    }
}

/* Does what the referee says. */
static OPTION(match)
{
    const MatchState *m = f->match;
    if (m->penalized)
        go_now(penalised, "the referee took the robot out");
    else if (down(f))
        go_now(lying, "the robot fell");
    else if (m->stopped)
        go_now(freezing, "play is stopped");
    else if (m->state == MatchState_READY)
        go_now(taking_place, "ready for a kick-off");
    else if (m->state == MatchState_PLAYING)
        go(playing, "the ball is in play");
    else if (m->state == MatchState_SET)
        go_now(set, "waiting for the whistle");
    else
        go_now(waiting, "there is no play");

    STATE(waiting)
    {
        look(f, HeadMode_LOOK_FORWARD);
        stand_still(f);
    }
    STATE(penalised)
    {
        look(f, HeadMode_FIELD_FEATURES);
        stand_still(f);
    }
    STATE(lying)
    {
        look(f, HeadMode_DONT_MOVE);
        stand_still(f);
    }
    STATE(freezing)
    {
        look(f, HeadMode_DONT_MOVE);
        stand_still(f);
    }
    STATE(taking_place)
    {
        acts(f, Strategy_ACTION_POSITIONING);
        play(take_place);
        f->goal->velocity.linear.x = f->calm; /* there is time, and the ways of mates cross */
    }
    STATE(set)
    {
        acts(f, Strategy_ACTION_WAITING);
        look(f, HeadMode_BALL_MODE);
        stand_still(f);
    }
    STATE(playing) play(in_play);
}

/* ---- the module ---- */

static void tell_team(struct soccer *f)
{
    uint8_t role = f->plan->own_role;
    f->strategy->role = role == TeamMessage_ROLE_BISHOP ? Strategy_ROLE_SUPPORTER : role;
    f->strategy->offensive_side = f->me.y > 1    ? Strategy_SIDE_LEFT
                                  : f->me.y < -1 ? Strategy_SIDE_RIGHT
                                                 : Strategy_SIDE_MIDDLE;
}

static void step(struct soccer *f)
{
    sense(f);
    hear_actions(f);
    look(f, HeadMode_BALL_MODE);
    stand_still(f);
    nm_options_begin(&f->options, f->nm);
    play(match);
    nm_options_end(&f->options, f->nm, f->behavior);
    tell_team(f);
    nm_put(f->nm, f->goal);
    nm_put(f->nm, f->head);
    nm_put(f->nm, f->strategy);
    nm_put(f->nm, f->behavior);
}

static void reset(struct soccer *f)
{
    memset(&f->options, 0, sizeof f->options);
    f->choice = (struct kick_choice){0};
    f->chosen = f->lost_since = f->rested_since = f->asks = f->taken = f->insists = 0;
    f->taker = 0;
    f->rested = f->last_ball = (struct vec3){0};
    f->asked = ASKED_NOTHING;
    f->side = 1;
}

static int init(struct soccer *f)
{
    reset(f);
    return 0;
}

/* A client of an action that this line-up may not have. */
#define MAY_CALL(member, T, name)                                                                                      \
    NM_OUT_QUEUE(member.requests, T##_Request, name "/request", 4, .role = NM_ROLE_REQUEST, .many = true),             \
        NM_LAST_QUEUE(member.replies, T##_Response, name "/reply", 4, .role = NM_ROLE_REPLY, .optional = true)

static const struct nm_port ports[] = {
    NM_IN(match, MatchState, "match_state"),
    NM_IN(pose, PoseWithCovarianceStamped, "pose"),
    NM_IN(ball_seen, BallModel, "ball"),
    NM_IN(team_ball, TeamBall, "team_ball"),
    NM_IN(obstacles, ObstacleModel, "team_obstacles"),
    NM_IN(team, TeamState, "team_state"),
    NM_IN(search_target, PointStamped, "search_target"),
    NM_IN(plan, StrategyPlan, "strategy_plan"),
    NM_LAST(navigation, NavigationState, "navigation_state"),
    NM_IN(hcm, HcmState, "hcm_state", .optional = true),
    MAY_CALL(kick_send, Kick_SendGoal, "kick/_action/send_goal"),
    MAY_CALL(kick_result, Kick_GetResult, "kick/_action/get_result"),
    MAY_CALL(animation_send, PlayAnimation_SendGoal, "play_animation/_action/send_goal"),
    MAY_CALL(animation_result, PlayAnimation_GetResult, "play_animation/_action/get_result"),
    NM_OUT(goal, NavigationGoal, "navigation_goal"),
    NM_OUT(head, HeadMode, "head_mode"),
    NM_OUT(behavior, BehaviorState, "behavior_state"),
    NM_OUT(strategy, Strategy, "strategy"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(speed, 0.3, 0.02, 3, "m/s", "of the walk, to estimate who is where when"),
    NM_PARAM(dribble_reach, 0.5, 0, 3, "m",
             "how far the ball rolls when it is dribbled; 0: the robot does not dribble"),
    NM_PARAM(walk_reach, 1.5, 0, 20, "m", "how far a kick while walking goes; 0: there is none"),
    NM_PARAM(calm, 0.5, 0.05, 3, "m/s", "fastest walk to the places before a kick-off"),
    NM_PARAM(jog, 0.5, 0.05, 3, "m/s", "fastest walk of who does not play the ball"),
    NM_PARAM(walk_spread, 0.25, 0.01, 1, "rad", "error of its direction, 1 sigma"),
    NM_PARAM(stand_reach, 6, 0, 30, "m", "how far a standing kick goes; 0: there is none"),
    NM_PARAM(stand_spread, 0.07, 0.01, 1, "rad", "error of its direction, 1 sigma"),
    NM_PARAM(stand_time, 3.5, 0, 20, "s", "how much longer it takes than a kick while walking"),
    NM_PARAM(habit, 0.06, 0, 1, "1", "another kick must be better by this to replace the one chosen before"),
    NM_PARAM(lost, 1.2, 0.1, 20, "m", "with a larger standard deviation of its position the robot only looks around"),
    NM_PARAM(near, 1, 0.2, 5, "m", "from here on the robot decides what to do with the ball"),
    NM_PARAM(jam, 5, 1, 30, "s", "a robot that is so long at a ball that rests does not come to kick it"),
    NM_PARAM(back_off, 1.2, 0.1, 10, "s", "how long the robot then walks backwards"),
    NM_PARAM(dive_time, 1.1, 0.1, 3, "s", "the keeper dives when the ball will cross its line within this time"),
    NM_PARAM(save_speed, 0.3, 0.05, 3, "m/s", "of the keeper's steps to the side into the way of a ball"),
    NM_PARAM(reach, 0.75, 0.1, 2, "m", "a dive covers up to here"),
    NM_PARAM(body, 0.1, 0.05, 1, "m", "the standing keeper covers so much to either side"),
    NM_PARAM_SWITCH(dives, true, "the keeper dives; off where the robot has no animations for it"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(soccer, "Plays soccer: obeys the referee, takes its role, searches, walks, kicks, keeps the goal.",
          NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init), .step = NM_CALL(step))
