/* The keeper: stands where the goal is smallest for the ball, steps into the way of slow balls, dives for those that
 * would go in, and plays the ball only if he is first at it. */
#include "modules/behavior/save.h"
#include "modules/behavior/notebook.h"

static const double UP_AGAIN = 5; /* s after a dive */

/* Where the ball crosses the line that the keeper stands on, in his own frame, if it will go in. */
struct crossing {
    double y, time; /* m to the left, s; infinite: it does not come */
};

static struct crossing crossing_of(const struct soccer *f)
{
    struct pose2 at = pose2_mul(pose2_inv(f->me), (struct pose2){f->ball.x, f->ball.y, 0});
    double c = cos(f->me.theta), s = sin(f->me.theta), goal_x = -f->field.length / 2;
    double vx = c * f->ball.vx + s * f->ball.vy, vy = -s * f->ball.vx + c * f->ball.vy;
    struct crossing none = {0, INFINITY};
    if (!f->ball.known || !f->ball.own || vx > -0.1 || at.x <= 0 || f->ball.vx >= -0.05) return none;
    double in_goal = f->ball.y + (goal_x - f->ball.x) * f->ball.vy / f->ball.vx;
    if (fabs(in_goal) > f->field.goal_width / 2 + 0.1) return none; /* it misses the goal */
    double way = hypot(f->ball.x - goal_x, f->ball.y - in_goal);
    if (isinf(time_to_roll(way, hypot(f->ball.vx, f->ball.vy), f->friction))) return none; /* it stops before */
    double speed = hypot(vx, vy), far = at.x * speed / -vx;
    return (struct crossing){at.y + at.x * vy / -vx, time_to_roll(far, speed, f->friction)};
}

static bool must_dive(const struct soccer *f, struct crossing c)
{
    return f->dives && c.time < f->dive_time && fabs(c.y) > f->body && fabs(c.y) < f->reach;
}

OPTION(guard)
{
    struct crossing c = crossing_of(f);
    struct pose2 place = own_place(f);
    double far = hypot(place.x - f->me.x, place.y - f->me.y);
    STATE(walking)
    {
        if (isfinite(c.time)) go(blocking, "a ball comes");
        if (far < 0.12 && fabs(angle_normal(place.theta - f->me.theta)) < 0.25) go(waiting, "at its place");
        acts(f, Strategy_ACTION_POSITIONING);
        walk_to(f, place, 0.4);
    }
    STATE(waiting)
    {
        if (isfinite(c.time)) go(blocking, "a ball comes");
        if (far > 0.25 || fabs(angle_normal(place.theta - f->me.theta)) > 0.8) go(walking, "the ball moved");
        acts(f, Strategy_ACTION_WAITING);
        play(wait_facing, place.theta);
    }
    STATE(blocking)
    {
        if (isinf(c.time) && state_time() > 0.5) go(walking, "the ball does not come any more");
        if (must_dive(f, c)) go(diving, "only a dive reaches the ball");
        /* in good time he steps into its way; later a step would only delay the dive */
        bool steps = !f->dives || c.time > 1.5 * f->dive_time || fabs(c.y) > f->reach;
        if (isfinite(c.time) && steps) step_to(f, pose2_mul(f->me, (struct pose2){0, nm_within(c.y, 0.6), 0}));
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
    STATE(guarding)
    {
        if (ball_is_mine(f)) go(coming_out, "first at the ball");
        play(guard);
    }
    STATE(coming_out)
    {
        bool far_out = f->me.x > -f->field.length / 2 + f->field.penalty_area_length + 0.5;
        if (!ball_is_mine(f) || far_out) go(guarding, "the ball is not for the keeper");
        acts(f, Strategy_ACTION_GOING_TO_BALL);
        play(play_ball);
    }
}
