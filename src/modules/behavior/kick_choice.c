#include "modules/behavior/kick_choice.h"

#include <math.h>

#include "base/clamp.h"

static const double BODY = 0.2;       /* m, half of what a robot blocks                                  */
static const double RANGE = 2.2;      /* m, the chance of a goal falls to 1/e over this distance          */
static const double NEARER = 0.5;     /* m, who is nearer to the ball by this has it three times of four  */
static const double SURE = 0.8;       /* nobody has the ball for more certain than this                   */
static const double STOLEN = 0.3;     /* of the balls that a rival reaches first we still have so many    */
static const double LATE = 4;         /* s, a rival who comes so much earlier has the ball ...            */
static const double LOST = 0.7;       /* ... with this chance, as he may wait or miss it                  */
static const double STEADY = 2;       /* s, then a kick from a stand is lost for sure                     */
static const double OUT = 0.1;        /* what it costs to give the ball away by kicking it out            */
static const double THROUGH = 0.15;   /* of the kicks at a robot come past it ...                         */
static const double CLOSE = 0.5;      /* m, ... unless the ball rolls less far before it hits him         */
static const double BLOCKED = 0.08;   /* what it costs that the ball bounces off a robot                  */
static const double BACK = 0.3;       /* of the balls that hit a robot so close come back ...             */
static const double BOUNCE = 1;       /* m, ... and roll so far behind where they lay                     */
static const double TURNING = 0.8;    /* s/rad, what lining up behind the ball takes beyond the way       */
static const double WAITING = 0.015;  /* 1/s, what a second is worth                                      */
static const double ROUND_BALL = 0.3; /* m, radius of the way around the ball                             */

static const double BACKWARDS = 0.4; /* what a kick straight towards the own goal line costs             */
static const double DANGER = 0.5;    /* m before the own goal line                                       */
static const double STAND = 0.22;    /* m behind the ball, where the robot stands when it kicks           */
static const double ROOM = 0.4;      /* m, nearer to another robot it cannot stand there ...             */
static const double CROWDED = 0.5;   /* ... and this is what such a kick costs                           */

enum { DIRECTIONS = 24, SAMPLES = 5 };
/* quantiles of the normal distribution in five equal parts */
static const double quantiles[SAMPLES] = {-1.28, -0.52, 0, 0.52, 1.28};

/* ---- what a place is worth ---- */

static double has_ball(const struct choice_world *w, double x, double y)
{
    double us = vec2_norm(w->me.x - x, w->me.y - y), them = INFINITY;
    for (uint32_t i = 0; i < w->n; i++) {
        double far = vec2_norm(w->robots[i].x - x, w->robots[i].y - y);
        if (w->robots[i].rival)
            them = fmin(them, far);
        else
            us = fmin(us, far);
    }
    if (isinf(them)) return SURE;
    return nm_clamp(1 / (1 + exp(-(them - us) / NEARER)), 1 - SURE, SURE);
}

static double chance(double far) { return 0.05 + 0.8 * exp(-far / RANGE); }

static double place_value(const struct choice_world *w, double x, double y, double ours)
{
    double half = w->field->length / 2;
    /* a wide angle is worth more than a narrow one */
    double theirs_far = vec2_norm(half - x, 1.3 * y), ours_far = vec2_norm(half + x, y);
    return ours * chance(theirs_far) - (1 - ours) * chance(ours_far);
}

/* How good it is for us that the ball lies there and rolls no more. */
static double ball_value(const struct choice_world *w, double x, double y)
{
    return place_value(w, x, y, has_ball(w, x, y));
}

/* ---- what comes of a kick ---- */

/* How far the ball gets before a robot stops it. */
static double free_way(const struct choice_world *w, double ux, double uy, double reach)
{
    for (uint32_t i = 0; i < w->n; i++) {
        double dx = w->robots[i].x - w->ball_x, dy = w->robots[i].y - w->ball_y;
        double along = dx * ux + dy * uy, aside = fabs(dx * uy - dy * ux);
        if (along > 0 && aside < BODY && along < reach) reach = fmax(along - BODY, 0);
    }
    return reach;
}

/* Does the ball come to lie before the own goal, where every touch is dangerous? */
static bool endangers(const struct choice_world *w, double x, double y)
{
    return x < DANGER - w->field->length / 2 && fabs(y) < w->field->goal_width / 2 + 0.2;
}

static double outcome(const struct choice_world *w, double angle, double way)
{
    double half_x = w->field->length / 2, half_y = w->field->width / 2, post = w->field->goal_width / 2 - 0.08;
    double ux = cos(angle), uy = sin(angle);
    double x = w->ball_x + way * ux, y = w->ball_y + way * uy;
    double at_line = fabs(ux) > 1e-6 ? ((ux > 0 ? half_x : -half_x) - w->ball_x) / ux : INFINITY;
    double at_touch = fabs(uy) > 1e-6 ? ((uy > 0 ? half_y : -half_y) - w->ball_y) / uy : INFINITY;
    if (at_touch < way && at_touch < at_line) /* their throw-in */
        return place_value(w, nm_within(w->ball_x + at_touch * ux, half_x), 0.9 * half_y, 0.15) - OUT;
    if (at_line < way) {
        double y_line = w->ball_y + at_line * uy;
        if (fabs(y_line) < post) return ux < 0 ? -1 : w->direct_goal ? 1 : -0.05;
        return (ux < 0 ? place_value(w, -half_x, half_y, 0.3) : 0) - OUT; /* their corner, their goal kick */
    }
    bool was = endangers(w, w->ball_x, w->ball_y);
    if (endangers(w, x, y) || (!was && endangers(w, (x + w->ball_x) / 2, (y + w->ball_y) / 2))) return -0.6;
    return ball_value(w, x, y);
}

/* What comes of a kick in exactly this direction. A robot stops what hits him; from one who stands right before it the
 * ball may come back. */
static double exactly(const struct choice_world *w, double angle, double far)
{
    double free = free_way(w, cos(angle), sin(angle), far), stopped = outcome(w, angle, free);
    if (free == far) return stopped;
    if (free < CLOSE) return (1 - BACK) * stopped + BACK * outcome(w, angle + M_PI, BOUNCE) - BLOCKED;
    return (1 - THROUGH) * (stopped - BLOCKED) + THROUGH * outcome(w, angle, far);
}

static double expected(const struct choice_world *w, enum kick_way way, double angle, double reach)
{
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++)
        sum += exactly(w, angle + w->ways[way].spread * quantiles[i], reach * (1 + 0.1 * (i - 2)));
    return sum / SAMPLES;
}

/* Time until the touch: around the ball to behind it, then what this way of kicking takes. */
static double time_until(const struct choice_world *w, const struct kick_ability *a, double angle)
{
    double to_ball = atan2(w->ball_y - w->me.y, w->ball_x - w->me.x);
    double around = fabs(angle_normal(angle - to_ball)), turn = fabs(angle_normal(angle - w->me.theta));
    return ROUND_BALL * around / w->speed + TURNING * fmax(around, turn) + a->time;
}

/* The chance that a rival takes the ball before the touch. */
static double too_late(const struct choice_world *w, enum kick_way way, double time)
{
    double to_ball = fmax(vec2_norm(w->ball_x - w->me.x, w->ball_y - w->me.y) - ROUND_BALL, 0) / w->speed;
    double late = fmax(to_ball + time - w->last_time, 0);
    return way == KICK_WAY_STANDING ? fmin(late / STEADY, 1) : fmin(late / LATE, LOST);
}

/* How much of the place behind the ball others take up, 0 to 1. */
static double taken(const struct choice_world *w, double angle)
{
    double x = w->ball_x - STAND * cos(angle), y = w->ball_y - STAND * sin(angle), least = ROOM;
    for (uint32_t i = 0; i < w->n; i++) least = fmin(least, vec2_norm(w->robots[i].x - x, w->robots[i].y - y));
    return 1 - least / ROOM;
}

static void consider(const struct choice_world *w, enum kick_way way, double x, double y,
                     const struct kick_choice *last, double habit, struct kick_choice *best)
{
    const struct kick_ability *a = &w->ways[way];
    double angle = atan2(y - w->ball_y, x - w->ball_x), far = vec2_norm(x - w->ball_x, y - w->ball_y);
    double half = w->field->length / 2;
    bool at_goal = x >= half - 0.01 && fabs(y) < w->field->goal_width / 2;
    if (!(a->reach > 0) || (at_goal && !w->direct_goal)) return;
    double reach = at_goal ? a->reach : fmin(far, a->reach);
    double time = time_until(w, a, angle), late = too_late(w, way, time);
    double value = (1 - late) * expected(w, way, angle, reach) + late * place_value(w, w->ball_x, w->ball_y, STOLEN) -
                   WAITING * time - CROWDED * taken(w, angle) - BACKWARDS * fmax(-cos(angle) - 0.2, 0);
    if (last->way == way && fabs(angle_normal(atan2(last->y - w->ball_y, last->x - w->ball_x) - angle)) < 0.15)
        value += habit;
    if (value <= best->value) return;
    *best = (struct kick_choice){way, x, y, nm_clamp(sqrt(reach / a->reach), 0.3, 1), value, at_goal, false};
}

struct kick_choice choose_kick(const struct choice_world *w, const struct kick_choice *last, double habit)
{
    struct kick_choice best = {.way = KICK_WAY_NONE, .value = -INFINITY};
    double half = w->field->length / 2, post = w->field->goal_width / 2;
    for (enum kick_way way = KICK_WAY_DRIBBLE; way < KICK_WAYS; way++) {
        double reach = w->ways[way].reach;
        for (int i = -2; i <= 2; i++) consider(w, way, half, 0.35 * i * post, last, habit, &best);
        for (int i = 0; i < DIRECTIONS; i++) {
            double angle = 2 * M_PI * i / DIRECTIONS;
            consider(w, way, w->ball_x + reach * cos(angle), w->ball_y + reach * sin(angle), last, habit, &best);
        }
        consider(w, way, w->ball_x + reach * cos(w->me.theta), w->ball_y + reach * sin(w->me.theta), last, habit,
                 &best);
        for (uint32_t i = 0; i < w->n && way != KICK_WAY_DRIBBLE; i++) {
            const struct choice_robot *r = &w->robots[i];
            double dx = r->x - w->ball_x, dy = r->y - w->ball_y, far = vec2_norm(dx, dy), before = best.value;
            if (r->rival || far < 0.8) continue;
            /* half a metre beside him, towards their goal: he comes to meet it */
            consider(w, way, fmin(r->x + 0.3, half - 0.3), r->y, last, habit, &best);
            best.pass |= best.value > before;
        }
    }
    return best;
}
