/* Stepping into the way of a shot at the own goal. Of all places on the way of the ball the robot takes the one where
 * it is earliest before the ball, or least late: a keeper steps back as well as aside, because the ball needs longer
 * to get there. */
#include "modules/behavior/notebook.h"

static const double UNSURE = 1.7; /* a ball may roll so many times as far as is believed */
static const double FRESH = 1;    /* s; who saw the ball longer ago does not know its way */
static const double SHOT = 0.5;   /* m/s, slower balls are played                        */
static const double LATE = 0.3;   /* s; who is later than this does not stop the ball     */
static const int PLACES = 12;     /* on the way that are compared                         */

double farthest_roll(const struct known_ball *ball) { return UNSURE * ball->way; }

bool rolls_into_goal(const struct soccer *f)
{
    const struct known_ball *b = &f->ball;
    if (b->vx >= -0.05) return false;
    double goal_x = -f->field.length / 2, in_goal = b->y + (goal_x - b->x) * b->vy / b->vx;
    bool misses = fabs(in_goal) > f->field.goal_width / 2 + 0.1;
    return !misses && vec2_norm(b->x - goal_x, b->y - in_goal) <= farthest_roll(b);
}

struct meeting meeting_of(const struct soccer *f)
{
    const struct known_ball *b = &f->ball;
    double goal_x = -f->field.length / 2, speed = vec2_norm(b->vx, b->vy), way = farthest_roll(b);
    struct meeting best = {0, 0, INFINITY, false};
    if (!b->known || b->age > FRESH || b->x < goal_x || !rolls_into_goal(f)) return best;
    double end = (goal_x - b->x) * speed / b->vx;
    for (int k = 0; k <= PLACES; k++) {
        double rolled = end * k / PLACES;
        struct pose2 on_way = {b->x + rolled * b->vx / speed, b->y + rolled * b->vy / speed, 0};
        struct pose2 at = pose2_mul(pose2_inv(f->me), on_way);
        double need = fmax(fabs(at.x) / f->speed, fmax(fabs(at.y) - f->body, 0) / f->save_speed);
        double late = need - nm_rolling_time(rolled, speed, way);
        if (late < best.late) best = (struct meeting){at.x, at.y, late, true};
    }
    return best;
}

void walk_to_meeting(struct soccer *f, const struct meeting *m)
{
    walk_with(f, nm_within(4 * m->x, f->speed), nm_within(4 * m->y, f->save_speed), 0);
}

bool blocks_shot(const struct soccer *f, const struct meeting *m)
{
    return m->comes && m->late < LATE && vec2_norm(f->ball.vx, f->ball.vy) > SHOT;
}
