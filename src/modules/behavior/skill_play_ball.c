/* Playing the ball: going to it, choosing what to do with it, kicking in passing or from a stand, and leaving a jam. */
#include "modules/behavior/notebook.h"

static const double THINK = 0.25; /* s between two choices */

static void add_robots(const struct soccer *f, struct choice_world *w)
{
    const ObstacleModel *o = f->obstacles;
    for (uint32_t i = 0; i < o->obstacles.n && w->n < CHOICE_ROBOTS; i++) {
        const Obstacle *r = &o->obstacles.at[i];
        bool robot = r->kind == Obstacle_RIVAL || r->kind == Obstacle_MATE || r->kind == Obstacle_ROBOT;
        bool self = vec2_norm(r->position.x - f->me.x, r->position.y - f->me.y) < 0.2;
        if (robot && !self)
            w->robots[w->n++] = (struct choice_robot){r->position.x, r->position.y, r->kind != Obstacle_MATE};
    }
}

static double time_to_place(const void *user, struct pose2 at)
{
    const struct soccer *f = user;
    return vec2_norm(at.x - f->me.x, at.y - f->me.y) / f->speed;
}

/* Where it meets the ball. */
static struct pose2 kick_place(const struct soccer *f)
{
    const struct nm_rolling rolling = known_rolling(&f->ball);
    struct pose2 at;
    nm_rolling_met(&rolling, time_to_place, f, &at);
    return at;
}

/* Chooses what to do with the ball; not in every step, so that the robot does not dither. */
static void think_about_kick(struct soccer *f)
{
    if (f->choice.way != KICK_WAY_NONE && nm_seconds(f->nm->now - f->chosen) < THINK) return;
    struct pose2 ball = kick_place(f);
    struct choice_world w = {
        .field = &f->field,
        .ways = {[KICK_WAY_DRIBBLE] = {f->dribble_reach, f->walk_spread, 2.5},
                 [KICK_WAY_IN_WALK] = {f->walk_reach, f->walk_spread, 0.8},
                 [KICK_WAY_STANDING] = {f->stand_reach, f->stand_spread, f->stand_time}},
        .me = f->me,
        .ball_x = ball.x,
        .ball_y = ball.y,
        .speed = f->speed,
        .last_time = f->match->kicking == MatchState_KICK_OWN ? INFINITY : f->rival_first,
        .direct_goal = f->goal_counts,
    };
    add_robots(f, &w);
    struct kick_choice last = f->choice;
    f->choice = choose_kick(&w, &last, f->habit);
    f->chosen = f->nm->now;
}

/* While walking: the planner finds the way behind the ball and kicks in passing. */
static void walk_and_kick(struct soccer *f)
{
    const struct kick_choice *c = &f->choice;
    walk_behind_ball(f, c->x, c->y);
    if (c->way == KICK_WAY_STANDING) return;
    f->goal->kick = WalkCommand_KICK_FORWARD;
    f->goal->kick_strength =
        (float)(c->way == KICK_WAY_DRIBBLE ? nm_clamp(sqrt(f->dribble_reach / f->walk_reach), 0.2, 1) : c->strength);
}

/* ---- duels ---- */

static const double DUEL = 0.85, GONE = 1;      /* m from the ball: from here on it looks who is first, and no more */
static const double AT_BALL = 0.5, LEFT = 0.65; /* m from the ball: the rival plays it, has left it           */
static const double SURE = 0.15;                /* m: who is nearer by this is first                          */
static const double ROUND = 0.4;                /* m/rad, the way around the ball counts so much as one to it */
static const double OFF = 0.44, KEEP = 0.3;     /* m from the ball while a rival plays it; at least             */
static const double UNSEEN = 0.55;              /* m from the ball: nearer it goes only to one that it sees  */
static const double CLOSE = 0.35;               /* m from the ball, where it shields its goal if it is so near    */
static const double THERE = 0.1, FACES = 0.3;   /* m, rad: it is where it waits                              */
static const double ROLLS = 0.4;                /* m/s: the rival has played it                                */
static const double SHORTEST = 2, LONGEST = 4;  /* s that it waits for him                                    */
static const double INSISTS = 2;                /* s after that in which it makes way for nobody              */

static bool rolls(const struct soccer *f) { return vec2_norm(f->ball.vx, f->ball.vy) > ROLLS; }

static const double HESITATES = 0.3, STAYS = 0.15; /* m: a rival so far from the ball who stays there waits, too ... */
static const double DOUBTS = 0.35; /* ... after this share of the time that it would wait for him      */

/* How much nearer the rival is to kicking the ball at our goal than this robot is to kicking it at theirs, m. The rival
 * reckons the same the other way round, so that only one of the two makes way; but neither knows exactly where the
 * other one is. */
static double rival_leads(const struct soccer *f)
{
    double half = f->field.length / 2, rival_to_ball = atan2(f->ball.y - f->rival.y, f->ball.x - f->rival.x);
    double mine = fabs(angle_normal(to_ball_angle(f) - atan2(-f->ball.y, half - f->ball.x)));
    double his = fabs(angle_normal(rival_to_ball - atan2(-f->ball.y, -half - f->ball.x)));
    return f->ball_far + ROUND * mine - f->rival_far - ROUND * his;
}

/* A rival is at the ball, may play it, and is before this robot by more than `lead`. Two who play one ball fall over
 * each other. In his goal area the keeper makes way for nobody. */
static bool is_second(const struct soccer *f, double lead)
{
    if (f->match->kicking == MatchState_KICK_OWN) return false;
    if (f->plan->own_role == TeamMessage_ROLE_KEEPER && known_in_goal_area(&f->field, &f->ball)) return false;
    return f->nm->now >= f->insists && f->ball_far < DUEL && f->rival_far < AT_BALL && rival_leads(f) > lead;
}

/* Both make way: the rival stands off the ball and does not move either. The times are drawn at random, so that one of
 * the two goes first. */
static bool both_wait(struct soccer *f)
{
    if (vec2_norm(f->rival.x - f->rival_was.x, f->rival.y - f->rival_was.y) > STAYS || f->rival_far < HESITATES) {
        f->rival_was = f->rival;
        f->rival_came = f->nm->now;
    }
    return nm_seconds(f->nm->now - f->rival_came) > DOUBTS * f->patience;
}

/* Where it waits: on the way of the ball to the own goal, where it stops a shot; where the rival stands there, or the
 * keeper, straight on near the ball. */
static struct pose2 behind_duel(const struct soccer *f)
{
    bool keeps = f->plan->own_role == TeamMessage_ROLE_KEEPER;
    double front = -f->field.length / 2 + f->field.goal_area_length + OFF;
    double home = atan2(-f->ball.y, -f->field.length / 2 - f->ball.x), here = to_ball_angle(f) + M_PI;
    double rival = atan2(f->rival.y - f->ball.y, f->rival.x - f->ball.x);
    bool free = fabs(angle_normal(home - rival)) > M_PI / 3 && (keeps || f->ball.x > front);
    double from = free ? home : here, off = free ? nm_clamp(f->ball_far, CLOSE, OFF) : OFF;
    return (struct pose2){f->ball.x + off * cos(from), f->ball.y + off * sin(from), from + M_PI};
}

static struct pose2 before_ball(const struct soccer *f, double off)
{
    double to = to_ball_angle(f);
    return (struct pose2){f->ball.x - off * cos(to), f->ball.y - off * sin(to), to};
}

OPTION(play_ball)
{
    bool jammed = f->ball_far < 0.5 && rests_for(f) > f->jam;
    STATE(going)
    {
        if (is_second(f, 0)) go(making_way, "a rival is at the ball");
        if (f->ball.own && f->ball_far < f->near) go(aiming, "the ball is near");
        if (!f->ball.own && f->ball_far < 0.4)
            go(stepping_off, "the ball must be at its feet, where it does not see it");
        if (f->ball.own) {
            think_about_kick(f);
            walk_and_kick(f);
        } else {
            walk_to(f, before_ball(f, UNSEEN), 0);
        }
    }
    STATE(aiming)
    {
        if (!f->ball.own || f->ball_far > 1.5 * f->near) go(going, "the ball is away");
        if (is_second(f, SURE)) go(making_way, "a rival is first at the ball");
        if (jammed && state_time() > f->jam) go(leaving_jam, "at the ball, and it does not move");
        if (f->choice.way == KICK_WAY_STANDING && f->navigation->arrived && f->ball_far < 0.4)
            go(kicking, "behind the ball, with time for a strong kick");
        think_about_kick(f);
        walk_and_kick(f);
    }
    STATE(making_way)
    {
        ENTRY
        {
            f->patience = SHORTEST + (LONGEST - SHORTEST) * nm_random(f->nm);
            f->rival_was = f->rival;
            f->rival_came = f->nm->now;
        }
        if (f->rival_far > LEFT) go(going, "the rival has left the ball");
        if (f->ball_far > GONE || rolls(f)) go(going, "the ball is away");
        if (rival_leads(f) < -SURE) go(going, "first at the ball");
        if (state_time() > f->patience || both_wait(f)) {
            f->insists = f->nm->now + nm_ns(INSISTS);
            go(going, "the rival does not play it");
        }
        struct pose2 place = behind_duel(f);
        bool there = vec2_norm(place.x - f->me.x, place.y - f->me.y) < THERE &&
                     fabs(angle_normal(place.theta - f->me.theta)) < FACES;
        if (there) /* who steps already is sooner at a ball that comes free than who stands */
            walk_with(f, 0, 0, 0);
        else
            walk_to(f, place, KEEP);
    }
    STATE(stepping_off)
    {
        if (f->ball.own) go(going, "the ball is seen");
        if (f->ball_far > 0.7 || state_time() > 4) go(going, "far enough to see it");
        step_to(f, before_ball(f, OFF));
    }
    STATE(kicking)
    {
        hold();
        ENTRY
        {
            f->kicked_from = (struct vec3){f->ball.x, f->ball.y, 0};
            ask_kick(f, f->choice.x, f->choice.y);
        }
        stand_still(f);
        bool gone = vec2_norm(f->ball.x - f->kicked_from.x, f->ball.y - f->kicked_from.y) > 0.3;
        if (f->asked == ASKED_FAILED) go(retrying, "the kick was refused");
        if (f->asked == ASKED_SUCCEEDED || gone) go(going, "kicked");
        if (state_time() > 10) go(going, "nobody kicked");
    }
    STATE(retrying) /* the feet shift a little with each step; then it tries again, or kicks while walking */
    {
        if (state_time() > 1) go(going, "another try");
        if (f->ball_far > 0.6) go(going, "the ball is away");
        walk_and_kick(f);
        f->goal->kick = WalkCommand_KICK_FORWARD;
        f->goal->kick_strength = 1;
    }
    STATE(leaving_jam)
    {
        ENTRY { f->choice.way = KICK_WAY_NONE; }
        if (state_time() > f->back_off) go(going, "out of the jam");
        walk_with(f, -0.15, 0.1 * (f->me.y > 0 ? -f->side : f->side), 0);
    }
}
