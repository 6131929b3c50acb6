#include "modules/motion/step_planner.h"

#include <stdbool.h>

#include "base/clamp.h"

struct vec2 {
    double x, y;
};

double step_brake_count(double distance, double change)
{
    if (!(distance > 0)) return 0;
    return ceil((1 + sqrt(1 + 8 * distance / change)) / 2 - 1e-9) - 1;
}

double step_brake_length(double distance, double change)
{
    double k = step_brake_count(distance, change);
    return k > 0 ? distance / k + 0.5 * change * (k - 1) : 0;
}

/* [low, high] cut with [a, b]; without a common point the one of [low, high] nearest to [a, b]. */
static void cut(double *low, double *high, double a, double b)
{
    double l = nm_clamp(a, *low, *high), h = nm_clamp(b, *low, *high);
    *low = l;
    *high = h;
}

static double plan_turn(const struct step_limits *l, double target, double last)
{
    double low = -l->turn, high = l->turn, brake = step_brake_length(fabs(target), l->change_turn);
    cut(&low, &high, last - l->change_turn, last + l->change_turn);
    cut(&low, &high, -brake, brake);
    return nm_clamp(target, low, high);
}

/* Both of the points where circles around the origin (r) and around c (s) meet; false if they do not. */
static bool meet(double r, struct vec2 c, double s, struct vec2 out[2])
{
    double d = hypot(c.x, c.y);
    if (!(d > 0) || d > r + s || d < fabs(r - s)) return false;
    double along = (d * d + r * r - s * s) / (2 * d), off = sqrt(fmax(r * r - along * along, 0));
    struct vec2 u = {c.x / d, c.y / d};
    out[0] = (struct vec2){along * u.x - off * u.y, along * u.y + off * u.x};
    out[1] = (struct vec2){along * u.x + off * u.y, along * u.y - off * u.x};
    return true;
}

static double from_half_line(struct vec2 p, struct vec2 direction)
{
    double along = fmax(p.x * direction.x + p.y * direction.y, 0);
    return hypot(p.x - along * direction.x, p.y - along * direction.y);
}

/* No point of the half-line is in both circles: the point of both that is nearest to it. */
static struct vec2 nearest(double radius, struct vec2 centre, double change, struct vec2 direction)
{
    double d = hypot(centre.x, centre.y);
    if (d >= radius + change) /* nothing is in both: as far back towards shorter steps as the change allows */
        return (struct vec2){centre.x * (1 - change / d), centre.y * (1 - change / d)};
    double along = fmax(centre.x * direction.x + centre.y * direction.y, 0);
    struct vec2 foot = {along * direction.x - centre.x, along * direction.y - centre.y};
    double off = hypot(foot.x, foot.y), scale = off > 0 ? fmin(change / off, 1) : 0;
    struct vec2 best = {centre.x + scale * foot.x, centre.y + scale * foot.y}, corner[2];
    if (hypot(best.x, best.y) <= radius || !meet(radius, centre, change, corner)) return best;
    return from_half_line(corner[0], direction) < from_half_line(corner[1], direction) ? corner[0] : corner[1];
}

/* In the plane where the longest step is 1. */
static struct vec2 plan_way(double radius, double change, struct vec2 target, struct vec2 last)
{
    double distance = hypot(target.x, target.y);
    radius = fmin(radius, step_brake_length(distance, change));
    struct vec2 direction =
        distance > 0 ? (struct vec2){target.x / distance, target.y / distance} : (struct vec2){1, 0};
    /* |t direction - last| <= change */
    double along = last.x * direction.x + last.y * direction.y,
           across = last.x * last.x + last.y * last.y - along * along, room = change * change - across;
    double half = room > 0 ? sqrt(room) : 0, first = fmax(along - half, 0), end = fmin(along + half, radius);
    if (room < 0 || end < first) return nearest(radius, last, change, direction);
    double t = nm_clamp(distance, first, end);
    return (struct vec2){t * direction.x, t * direction.y};
}

struct pose2 step_plan(const struct step_limits *l, struct pose2 target, struct pose2 last)
{
    double length = target.x < 0 || (target.x == 0 && last.x < 0) ? l->backward : l->forward;
    double turn = plan_turn(l, target.theta, last.theta);
    struct vec2 way =
        plan_way(1 - fmin(fabs(turn) / l->turn, 1), l->change, (struct vec2){target.x / length, target.y / l->side},
                 (struct vec2){last.x / length, last.y / l->side});
    /* long steps and large turns together are not walked; what cannot be shortened enough takes from the turn */
    double rest = 1 - fmin(hypot(way.x, way.y), 1);
    turn = nm_clamp(turn, -rest * l->turn, rest * l->turn);
    return (struct pose2){way.x * length, way.y * l->side, turn};
}
