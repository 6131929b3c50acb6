/* Defenders, supporters and bishops: they hold the place that the strategy gives them, look at the ball, and keep out
 * of the way of the one who plays it. */
#include "modules/behavior/notebook.h"

static const double ENOUGH = 0.25, LEAVE = 0.45; /* m from its place: it stands, it walks again                 */
static const double SHIELD = 0.1, SHIFT = 0.2;   /* the same for a defender, who stands in the way of shots */

/* Stands, looks in a direction, and stirs from time to time: a robot that does not move for ten seconds counts as
 * inactive. */
OPTION(wait_facing, double direction)
{
    double wrong = angle_normal(direction - f->me.theta);
    STATE(standing)
    {
        if (fabs(wrong) > 0.4) go(turning, "looks elsewhere");
        if (state_time() > 6) go(stirring, "has stood for a while");
        stand_still(f);
    }
    STATE(turning)
    {
        if (fabs(wrong) < 0.15) go(standing, "looks there");
        step_to(f, (struct pose2){f->me.x, f->me.y, direction});
    }
    STATE(stirring)
    {
        ENTRY { f->stirs = wrong < 0 ? -0.5 : 0.5; }
        if (state_time() > 0.8) go(standing, "awake");
        walk_with(f, 0, 0, f->stirs);
    }
}

OPTION(hold_place)
{
    struct pose2 place = own_place(f);
    double far = vec2_norm(place.x - f->me.x, place.y - f->me.y);
    bool shields = f->plan->own_role == TeamMessage_ROLE_DEFENDER;
    /* who does not play the ball keeps off it; it may cross the ball's place only where it is far */
    double keep = f->match->kicking == MatchState_KICK_RIVAL ? f->field.circle_radius + 0.2 : 1.05;
    if (!f->ball.known && f->lost_since && nm_seconds(f->nm->now - f->lost_since) > 2)
        go(searching, "nobody knows where the ball is");

    STATE(walking)
    {
        if (far < (shields ? SHIELD : ENOUGH)) go(waiting, "at its place");
        acts(f, Strategy_ACTION_POSITIONING);
        walk_to(f, place, keep);
        f->goal->velocity.linear.x = f->jog; /* fast robots meet others before they see them */
    }
    STATE(waiting)
    {
        if (far > (shields ? SHIFT : LEAVE)) go(walking, "its place moved");
        acts(f, Strategy_ACTION_WAITING);
        play(wait_facing, f->ball.known ? to_ball_angle(f) : place.theta);
    }
    STATE(searching)
    {
        if (f->ball.known) go(walking, "the ball was found");
        play(search_ball);
    }
}
