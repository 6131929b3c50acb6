/* Looking for a ball that nobody sees: first around where the robot stands, then where the team's map of unseen places
 * says. */
#include "modules/behavior/notebook.h"

OPTION(search_ball)
{
    bool target = nm_age(f->nm, f->search_target) < nm_ns(KNOWN_NEWS);
    STATE(looking)
    {
        acts(f, Strategy_ACTION_POSITIONING);
        if (state_time() > 1.5) go(turning, "the head alone does not find it");
        stand_still(f);
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
        double far = hypot(at->x - f->me.x, at->y - f->me.y);
        if (!target) go(turning, "there is no place to look at any more");
        if (far < 0.5) go(turning, "at the place where it could be");
        walk_to(f, (struct pose2){at->x, at->y, atan2(at->y - f->me.y, at->x - f->me.x)}, 0);
    }
    STATE(crossing)
    {
        if (hypot(f->me.x, f->me.y) < 0.5 || state_time() > 15) go(turning, "in the middle of the field");
        walk_to(f, (struct pose2){0, 0, atan2(-f->me.y, -f->me.x)}, 0);
    }
}
