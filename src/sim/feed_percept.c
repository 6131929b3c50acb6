/* Percepts of one image as the messages that a vision makes of them. */
#include <math.h>
#include <string.h>

#include "sim/feed_percept.h"

static bool is_crossing(enum nm_percept_kind kind) { return kind >= NM_PERCEPT_L && kind <= NM_PERCEPT_X; }

/* A vision that sees the shirt knows the team. */
static uint8_t kind_of(const struct nm_glimpse *g, const struct nm_percept *p)
{
    if (p->kind != NM_PERCEPT_ROBOT || p->truth < 0) return (uint8_t)p->kind;
    return g->team[p->truth] == g->own_team ? Percept_MATE : Percept_RIVAL;
}

static float size_of(const struct nm_glimpse *g, const struct nm_percept *p)
{
    switch (p->kind) {
    case NM_PERCEPT_BALL: return (float)(2 * g->pitch->ball_radius);
    case NM_PERCEPT_POST: return (float)g->pitch->post;
    case NM_PERCEPT_CIRCLE: return (float)(2 * g->pitch->circle_radius);
    case NM_PERCEPT_ROBOT: return (float)(2 * (p->truth < 0 ? NM_ROBOT_RADIUS : g->radius[p->truth]));
    default: return 0;
    }
}

void nm_feed_percepts(const struct nm_glimpse *g, Percepts *to)
{
    to->header = g->header;
    nm_text(to->camera, "%s", g->camera);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct nm_percept *p = &g->percepts[i];
        Percept *out = nm_append(&to->percepts, &Percept_type);
        if (!out) return;
        out->kind = kind_of(g, p);
        out->confidence = (float)p->confidence;
        out->center = (Point32){(float)p->at.u, (float)p->at.v, 0};
        out->located = true;
        out->position = (Point){p->x, p->y, 0};
        const double covariance[4] = {p->xx, p->xy, p->xy, p->yy};
        memcpy(out->covariance, covariance, sizeof covariance);
        out->orientation = is_crossing(p->kind) ? (float)p->orientation : 0;
        out->size = size_of(g, p);
    }
}

/* The surest of a kind besides `but`; NULL if there is none. */
static const struct nm_percept *surest(const struct nm_glimpse *g, enum nm_percept_kind kind,
                                       const struct nm_percept *but)
{
    const struct nm_percept *best = NULL;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct nm_percept *p = &g->percepts[i];
        if (p->kind == kind && p != but && (!best || p->confidence > best->confidence)) best = p;
    }
    return best;
}

void nm_feed_ball(const struct nm_glimpse *g, BallRelative *to)
{
    const struct nm_percept *ball = surest(g, NM_PERCEPT_BALL, NULL);
    to->header = g->header;
    if (!ball) return; /* confidence 0: none */
    to->ball_relative = (Point){ball->x, ball->y, 0};
    to->confidence = (float)ball->confidence;
}

/* Two posts are a goal if they stand as far apart as a goal's. */
void nm_feed_goal(const struct nm_glimpse *g, GoalRelative *to)
{
    const double most = 0.35; /* m, error of the width */
    const struct nm_percept *one = surest(g, NM_PERCEPT_POST, NULL),
                            *other = one ? surest(g, NM_PERCEPT_POST, one) : NULL;
    to->header = g->header;
    if (!one) return;
    double width = g->pitch->goal_width + g->pitch->post;
    if (other && fabs(vec2_norm(one->x - other->x, one->y - other->y) - width) > most) other = NULL;
    /* left is the one with the greater bearing */
    if (other && one->x * other->y - one->y * other->x > 0) {
        const struct nm_percept *swap = one;
        one = other;
        other = swap;
    }
    to->left_post = (Point){one->x, one->y, 0};
    to->right_post = other ? (Point){other->x, other->y, 0} : (Point){NAN, NAN, NAN};
    to->center_direction = to->left_post;
    if (other) to->center_direction = (Point){(one->x + other->x) / 2, (one->y + other->y) / 2, 0};
    to->confidence = (float)(other ? fmin(one->confidence, other->confidence) : one->confidence);
}

void nm_feed_obstacles(const struct nm_glimpse *g, ObstaclesRelative *to)
{
    to->header = g->header;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct nm_percept *p = &g->percepts[i];
        bool robot = p->kind == NM_PERCEPT_ROBOT;
        ObstacleRelative *out =
            robot || p->kind == NM_PERCEPT_POST ? nm_append(&to->obstacles, &ObstacleRelative_type) : NULL;
        if (!out) continue;
        out->header = g->header;
        out->color = !robot              ? ObstacleRelative_POLE
                     : p->truth < 0      ? ObstacleRelative_ROBOT_UNDEFINED
                     : g->team[p->truth] ? ObstacleRelative_ROBOT_CYAN
                                         : ObstacleRelative_ROBOT_MAGENTA;
        out->position = (Point){p->x, p->y, 0};
        out->width = size_of(g, p);
        out->confidence = (float)p->confidence;
    }
}

/* A piece of line from a point, so far ahead and back. */
static LineSegmentRelative piece(const struct nm_glimpse *g, const struct nm_percept *p, double angle, double ahead,
                                 double back)
{
    double c = cos(angle), s = sin(angle);
    return (LineSegmentRelative){.header = g->header,
                                 .start = {p->x - back * c, p->y - back * s, 0},
                                 .end = {p->x + ahead * c, p->y + ahead * s, 0},
                                 .confidence = (float)p->confidence};
}

static void add_crossing(const struct nm_glimpse *g, const struct nm_percept *p, LineInformationRelative *to)
{
    static const uint8_t types[] = {[NM_PERCEPT_L] = LineIntersectionRelative_L,
                                    [NM_PERCEPT_T] = LineIntersectionRelative_T,
                                    [NM_PERCEPT_X] = LineIntersectionRelative_X};
    const double seen = 0.3; /* m of each line */
    LineIntersectionRelative *out = nm_append(&to->markings, &LineIntersectionRelative_type);
    if (!out) return;
    out->header = g->header;
    out->type = types[p->kind];
    out->confidence = (float)p->confidence;
    double angle = p->orientation;
    if (p->kind == NM_PERCEPT_L) { /* its orientation is the bisector's */
        out->segments[0] = piece(g, p, angle - M_PI / 4, seen, 0);
        out->segments[1] = piece(g, p, angle + M_PI / 4, seen, 0);
    } else {
        out->segments[0] = piece(g, p, angle, seen, p->kind == NM_PERCEPT_X ? seen : 0);
        out->segments[1] = piece(g, p, angle + M_PI / 2, seen, seen);
    }
}

static void add_circle(const struct nm_glimpse *g, const struct nm_percept *p, LineInformationRelative *to)
{
    LineCircleRelative *out = nm_append(&to->circles, &LineCircleRelative_type);
    double r = g->pitch->circle_radius, away = vec2_norm(p->x, p->y), c = away > 0 ? p->x / away : 1,
           s = away > 0 ? p->y / away : 0;
    if (!out) return;
    out->header = g->header;
    out->left = (Point){p->x - s * r, p->y + c * r, 0};
    out->middle = (Point){p->x - c * r, p->y - s * r, 0}; /* its near side */
    out->right = (Point){p->x + s * r, p->y - c * r, 0};
}

void nm_feed_lines(const struct nm_glimpse *g, LineInformationRelative *to)
{
    to->header = g->header;
    for (uint32_t i = 0; i < g->n_segments; i++) {
        const struct nm_segment *s = &g->segments[i];
        LineSegmentRelative *out = nm_append(&to->segments, &LineSegmentRelative_type);
        if (!out) break;
        *out = (LineSegmentRelative){.header = g->header,
                                     .start = {s->x0, s->y0, 0},
                                     .end = {s->x1, s->y1, 0},
                                     .confidence = (float)s->confidence};
    }
    for (uint32_t i = 0; i < g->n; i++) {
        if (is_crossing(g->percepts[i].kind)) add_crossing(g, &g->percepts[i], to);
        if (g->percepts[i].kind == NM_PERCEPT_CIRCLE) add_circle(g, &g->percepts[i], to);
    }
}
