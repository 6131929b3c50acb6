/* The striker: the one of the team who plays the ball. */
#include "modules/behavior/notebook.h"

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
        walk_to(f, own_place(f), f->match->kicking == MatchState_KICK_RIVAL ? f->field.circle_radius + 0.2 : 0.35);
    }
    STATE(searching) play(search_ball);
}
