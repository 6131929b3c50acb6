/* Looking for a ball that nobody sees: first where it was last, then around where the robot stands, then where the
 * team's map of unseen places says. */
#include "modules/behavior/notebook.h"

static const double INSIDE = 0.2; /* m: a ball that is out is put back near the line where it left */

OPTION(search_ball)
{
    bool target = nm_age(f->nm, f->search_target) < nm_ns(KNOWN_NEWS);
    double x = nm_within(f->last_ball.x, f->field.length / 2 - INSIDE);
    double y = nm_within(f->last_ball.y, f->field.width / 2 - INSIDE);
    double there = atan2(y - f->me.y, x - f->me.x), away = vec2_norm(x - f->me.x, y - f->me.y);
    STATE(looking)
    {
        acts(f, Strategy_ACTION_POSITIONING);
        if (state_time() > 1.5 && away > 1.5) go(going_there, "it was last seen over there");
        if (state_time() > 1.5) go(turning, "the head alone does not find it");
        step_to(f, (struct pose2){f->me.x, f->me.y, there});
    }
    STATE(going_there)
    {
        if (away < 1 || state_time() > 8) go(turning, "it is not there");
        walk_to(f, (struct pose2){x, y, there}, 0);
    }
    STATE(turning)
    {
        if (state_time() > 6 && target) go(walking, "it is not around here");
        if (state_time() > 12) go(crossing, "it is not around here, and nobody says where to look");
        walk_with(f, 0, 0, 0.8 * f->side);
    }
    STATE(walking)
    {
        const Point *at = &f->search_target->point;
        double far = vec2_norm(at->x - f->me.x, at->y - f->me.y);
        if (!target) go(turning, "there is no place to look at any more");
        if (far < 0.5) go(turning, "at the place where it could be");
        walk_to(f, (struct pose2){at->x, at->y, atan2(at->y - f->me.y, at->x - f->me.x)}, 0);
    }
    STATE(crossing)
    {
        if (vec2_norm(f->me.x, f->me.y) < 0.5 || state_time() > 15) go(turning, "in the middle of the field");
        walk_to(f, (struct pose2){0, 0, atan2(-f->me.y, -f->me.x)}, 0);
    }
}
