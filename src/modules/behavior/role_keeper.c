/* The keeper: stands where the goal is smallest for the ball, steps into the way of slow balls, dives for those that
 * would go in, and plays the ball only if he is first at it. */
#include "modules/behavior/notebook.h"

static const double UP_AGAIN = 5; /* s after a dive                                                    */
static const double BEHIND = 0.2; /* m, he lies so far behind the place where he stood                 */
static const double SEEN = 0.5;   /* s; a ball that he has not seen for longer is perhaps none         */
static const double LOOKS = 0.1;  /* s that he watches a ball before he dives                          */
static const double LAST = 0.75;  /* of dive_time: later than this he does not step nearer to the ball */
static const double HOPE = 0.2;   /* m beyond his reach where a late dive is better than nothing       */

/* Where the ball crosses the line on which the keeper will lie, and that of his feet, in his own frame, if it will go
 * in. */
struct crossing {
    double y, feet; /* m to the left                 */
    double time;    /* s; infinite: it does not come */
};

static struct crossing crossing_of(const struct soccer *f)
{
    const struct known_ball *b = &f->ball;
    struct pose2 at = pose2_mul(pose2_inv(f->me), (struct pose2){b->x, b->y, 0});
    double c = cos(f->me.theta), s = sin(f->me.theta), goal_x = -f->field.length / 2;
    double vx = c * b->vx + s * b->vy, vy = -s * b->vx + c * b->vy, speed = vec2_norm(vx, vy);
    double lying = at.x + nm_clamp(f->me.x - goal_x, 0, BEHIND); /* behind the goal line there is nothing to save */
    struct crossing none = {0, 0, INFINITY};
    if (!b->known || !b->own || b->age > SEEN || vx > -0.1 || lying <= 0 || !rolls_into_goal(f)) return none;
    return (struct crossing){at.y + lying * vy / -vx, at.y + at.x * vy / -vx,
                             nm_rolling_time(lying * speed / -vx, speed, farthest_roll(b))};
}

static OPTION(guard)
{
    struct crossing c = crossing_of(f);
    struct meeting m = meeting_of(f);
    struct pose2 place = own_place(f);
    double far = vec2_norm(place.x - f->me.x, place.y - f->me.y);
    STATE(walking)
    {
        if (m.comes) go(blocking, "a ball comes");
        if (far < 0.12 && fabs(angle_normal(place.theta - f->me.theta)) < 0.25) go(waiting, "at its place");
        acts(f, Strategy_ACTION_POSITIONING);
        walk_to(f, place, 0.4);
    }
    STATE(waiting)
    {
        if (m.comes) go(blocking, "a ball comes");
        if (far > 0.25 || fabs(angle_normal(place.theta - f->me.theta)) > 0.8) go(walking, "the ball moved");
        acts(f, Strategy_ACTION_WAITING);
        play(wait_facing, place.theta);
    }
    STATE(blocking)
    {
        double off = fabs(c.y);
        bool aside = fabs(c.feet) > f->body, near = off < f->reach;
        bool dive = (near && c.time < f->dive_time) || (off < f->reach + HOPE && c.time < LAST * f->dive_time);
        if (!m.comes && state_time() > 0.5) go(walking, "the ball does not come any more");
        if (f->dives && aside && dive && state_time() > LOOKS) go(diving, "only a dive reaches the ball");
        /* who can dive stands until then: between the legs of one who steps aside a ball rolls through */
        if (f->dives && isfinite(c.time)) {
            if (aside && !near) walk_with(f, 0, nm_within(4 * c.feet, f->save_speed), 0);
        } else if (m.comes) {
            walk_to_meeting(f, &m);
        }
    }
    STATE(diving)
    {
        ENTRY { ask_animation(f, c.y > 0 ? "keeper_jump_left" : "keeper_jump_right"); }
        hold();
        stand_still(f);
        if (f->asked == ASKED_FAILED) go(walking, "the dive was refused");
        if (state_time() > UP_AGAIN || (f->asked == ASKED_SUCCEEDED && state_time() > 1)) go(walking, "on its feet");
    }
}

OPTION(keep_goal)
{
    bool comes = meeting_of(f).comes;
    STATE(guarding)
    {
        if (ball_is_mine(f) && !comes) go(coming_out, "first at the ball");
        play(guard);
    }
    STATE(coming_out)
    {
        bool far_out = f->me.x > -f->field.length / 2 + f->field.penalty_area_length + 0.5;
        if (!ball_is_mine(f) || far_out) go(guarding, "the ball is not for the keeper");
        if (comes && f->ball_far > 0.5) go(guarding, "the ball comes to the goal");
        acts(f, Strategy_ACTION_GOING_TO_BALL);
        play(play_ball);
    }
}
