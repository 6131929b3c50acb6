/* The striker: the one of the team who plays the ball. */
#include "modules/behavior/notebook.h"

/* At its place, off the ball, until it may play. Rivals may kick at any moment: who steps on the spot then is sooner on
 * its way than who stands. */
static OPTION(await_kick)
{
    const double away = 0.3; /* m from its place */
    bool rivals = f->match->kicking == MatchState_KICK_RIVAL;
    double keep = rivals ? f->field.circle_radius : 0.15;
    double far = vec2_norm(own_place(f).x - f->me.x, own_place(f).y - f->me.y);
    STATE(walking)
    {
        if (rivals && f->navigation->arrived && state_time() > 0.5) go(stepping, "at its place");
        walk_to(f, own_place(f), keep + 0.2);
    }
    STATE(stepping)
    {
        if (!rivals || far > away || f->ball_far < keep) go(walking, "its place is elsewhere");
        walk_with(f, 0, 0, 0);
    }
}

OPTION(strike)
{
    if (!f->ball.known)
        go(searching, "nobody knows where the ball is");
    else if (!f->match->may_play)
        go(waiting, "the rules do not allow to touch the ball yet");
    else if (!f->plan->may_claim_ball)
        go(following, "a mate plays the ball");
    else
        go(playing, "the ball is mine");

    STATE(playing)
    {
        acts(f, f->ball_far < f->near ? Strategy_ACTION_TRYING_TO_SCORE : Strategy_ACTION_GOING_TO_BALL);
        play(play_ball);
    }
    STATE(following) play(hold_place);
    STATE(waiting)
    {
        acts(f, Strategy_ACTION_WAITING);
        play(await_kick);
    }
    STATE(searching) play(search_ball);
}
