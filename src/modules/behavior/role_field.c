/* Defenders, supporters and bishops: they hold the place that the strategy gives them, look at the ball, and keep out
 * of the way of the one who plays it. */
#include "modules/behavior/notebook.h"

static const double ENOUGH = 0.25, LEAVE = 0.45; /* m from its place: it stands, it walks again */

OPTION(hold_place)
{
    struct pose2 place = own_place(f);
    double far = hypot(place.x - f->me.x, place.y - f->me.y);
    /* who does not play the ball keeps off it; it may cross the ball's place only where it is far */
    double keep = f->match->kicking == MatchState_KICK_RIVAL ? f->field.circle_radius + 0.2 : 0.6;
    if (!f->ball.known && f->lost_since && nm_seconds(f->nm->now - f->lost_since) > 2)
        go(searching, "nobody knows where the ball is");

    STATE(walking)
    {
        if (far < ENOUGH) go(turning, "at its place");
        acts(f, Strategy_ACTION_POSITIONING);
        walk_to(f, place, keep);
    }
    STATE(turning)
    {
        if (far > LEAVE) go(walking, "its place moved");
        double wrong = f->ball.known ? fabs(angle_normal(to_ball_angle(f) - f->me.theta)) : 0;
        acts(f, Strategy_ACTION_WAITING);
        if (wrong > 0.4)
            step_to(f, (struct pose2){f->me.x, f->me.y, to_ball_angle(f)});
        else
            stand_still(f);
    }
    STATE(searching)
    {
        if (f->ball.known) go(walking, "the ball was found");
        play(search_ball);
    }
}
