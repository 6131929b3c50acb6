/* The shoot-out: one robot shoots. The other one keeps its goal as in play; until the ball is kicked the strategy puts
 * him on his line. */
#include "modules/behavior/notebook.h"

/* Picks a corner, goes to the ball carefully and shoots there. */
OPTION(shoot_penalty)
{
    STATE(choosing)
    {
        double wide = f->field.goal_width / 2 - 0.45;
        f->corner = nm_random(f->nm) < 0.5 ? wide : -wide;
        go(approaching, "a corner is chosen");
    }
    STATE(approaching)
    {
        acts(f, Strategy_ACTION_TRYING_TO_SCORE);
        if (!f->ball.known) go(searching, "the ball is not seen");
        if (f->stand_reach > 0 && f->ball.own && f->navigation->arrived && f->ball_far < 0.4)
            go(shooting, "behind the ball");
        walk_behind_ball(f, f->field.length / 2, f->corner);
        f->goal->velocity.linear.x = f->ball_far < f->near ? 0.6 * f->speed : 0;
        if (!(f->stand_reach > 0)) {
            f->goal->kick = WalkCommand_KICK_FORWARD;
            f->goal->kick_strength = 1;
        }
    }
    STATE(shooting)
    {
        hold();
        ENTRY { ask_kick(f, f->field.length / 2, f->corner); }
        stand_still(f);
        if (f->asked == ASKED_FAILED) go(approaching, "the kick was refused");
        if (f->asked == ASKED_SUCCEEDED || state_time() > 10) go(approaching, "kicked");
    }
    STATE(searching)
    {
        if (f->ball.known) go(approaching, "the ball is seen");
        play(search_ball);
    }
}
