#include "modules/behavior/formation.h"

#include <math.h>

#include "base/clamp.h"
#include "nutmeg_msgs/TeamMessage.h"

static const double BODY = 0.3;     /* m, room that a robot takes up                            */
static const double MARGIN = 0.25;  /* m, by which places keep more than what the rules demand  */
static const double LINE_OFF = 0.3; /* m, places stay inside of the lines                       */

static struct pose2 facing(double x, double y, double to_x, double to_y)
{
    return (struct pose2){x, y, atan2(to_y - y, to_x - x)};
}

/* Away from the ball, if the place is too near to it: towards the own goal where it stands on the ball itself. */
static void keep_away(double *x, double *y, const struct formation *f, double distance)
{
    double dx = *x - f->ball_x, dy = *y - f->ball_y, far = vec2_norm(dx, dy);
    if (far >= distance) return;
    *x = f->ball_x + (far > 0.01 ? dx / far : -1) * distance;
    *y = f->ball_y + (far > 0.01 ? dy / far : 0) * distance;
}

static void keep_inside(const struct nm_pitch_size *field, double *x, double *y)
{
    *x = nm_within(*x, field->length / 2 - LINE_OFF);
    *y = nm_within(*y, field->width / 2 - LINE_OFF);
}

/* ---- places while the ball is free ---- */

/* On the way of the ball to the own goal: half-way, but not so far behind the ball that a clearance ends between. */
static struct pose2 defend(const struct nm_pitch_size *field, const struct formation *f, double aside)
{
    double goal_x = -field->length / 2, dx = f->ball_x - goal_x, dy = f->ball_y, far = vec2_norm(dx, dy);
    double out = nm_clamp(fmax(0.5 * far, far - 3), field->goal_area_length + BODY, 0.55 * field->length);
    double ux = far > 0.01 ? dx / far : 1, uy = far > 0.01 ? dy / far : 0;
    return (struct pose2){goal_x + out * ux - aside * uy, out * uy + aside * ux, 0};
}

/* Behind the striker, towards the middle of the field. */
static struct pose2 support(const struct formation *f, double back, double aside)
{
    return (struct pose2){f->ball_x - back, f->ball_y + (f->ball_y > 0 ? -aside : aside), 0};
}

/* Before the ball and towards the middle, a pass away from it; near the opponents' goal at its far post. */
static struct pose2 lie_in_wait(const struct nm_pitch_size *field, const struct formation *f)
{
    double x = fmin(f->ball_x + 1.2, field->length / 2 - 0.7 * field->penalty_mark);
    return (struct pose2){x, f->ball_y + (f->ball_y > 0 ? -1.8 : 1.8), 0};
}

static struct pose2 play_place(const struct nm_pitch_size *field, const struct formation *f, uint32_t rank,
                               uint8_t *role)
{
    switch (rank) {
    case 0: *role = TeamMessage_ROLE_STRIKER; return (struct pose2){f->ball_x - BODY, f->ball_y, 0};
    case 1: *role = TeamMessage_ROLE_DEFENDER; return defend(field, f, 0);
    case 2: *role = TeamMessage_ROLE_BISHOP; return lie_in_wait(field, f);
    case 3: *role = TeamMessage_ROLE_SUPPORTER; return support(f, 1.0, 0.7);
    case 4: *role = TeamMessage_ROLE_DEFENDER; return defend(field, f, f->ball_y > 0 ? -0.9 : 0.9);
    default: *role = TeamMessage_ROLE_SUPPORTER; return support(f, 1.0 + 0.8 * (rank - 4), 0.7 + 0.9 * (rank - 4));
    }
}

/* Others do not stand on one another's feet when lines push their places together. */
static void keep_apart(struct place places[], uint32_t i)
{
    for (uint32_t j = 0; j < i; j++) {
        struct pose2 *a = &places[i].pose, *b = &places[j].pose;
        double dx = a->x - b->x, dy = a->y - b->y, far = vec2_norm(dx, dy), apart = 2 * BODY;
        if (far >= apart) continue;
        a->x = b->x + (far > 0.01 ? dx / far : -0.6) * apart; /* aside, where both are at one place */
        a->y = b->y + (far > 0.01 ? dy / far : 0.8) * apart;
    }
}

static bool fits(const struct nm_pitch_size *field, const struct place places[], uint32_t i, double x, double y)
{
    if (fabs(x) > field->length / 2 - LINE_OFF || fabs(y) > field->width / 2 - LINE_OFF) return false;
    for (uint32_t j = 0; j < i; j++)
        if (vec2_norm(x - places[j].pose.x, y - places[j].pose.y) < 2 * BODY) return false;
    return true;
}

/* Who would stand too near to a ball that is the opponents' goes to the edge of the circle around it, to the nearest
 * place there that is inside of the lines and free. */
static void join_wall(const struct nm_pitch_size *field, const struct formation *f, struct place places[], uint32_t i)
{
    struct pose2 *at = &places[i].pose;
    double dx = at->x - f->ball_x, dy = at->y - f->ball_y, off = f->keep_off + MARGIN;
    double angle = vec2_norm(dx, dy) > 0.01 ? atan2(dy, dx) : M_PI;
    const int steps = 24;
    if (vec2_norm(dx, dy) >= off) return;
    for (int k = 0; k <= steps; k++) {
        double turned = angle + (k % 2 ? 1 : -1) * ((k + 1) / 2) * (2 * M_PI / steps);
        double x = f->ball_x + off * cos(turned), y = f->ball_y + off * sin(turned);
        if (!fits(field, places, i, x, y)) continue;
        at->x = x;
        at->y = y;
        return;
    }
}

/* The goal area is the keeper's: others who stand there are in the way of his steps and dives. */
static void leave_goal_area(const struct nm_pitch_size *field, struct pose2 *at)
{
    double front = -field->length / 2 + field->goal_area_length + BODY;
    if (fabs(at->y) < field->goal_area_width / 2 + BODY) at->x = fmax(at->x, front);
}

/* ---- places until the whistle ---- */

/* Shares of half the length behind the middle line and of half the width, in the order of importance. */
static struct pose2 kick_off_place(const struct nm_pitch_size *field, bool ours, uint32_t rank, uint8_t *role)
{
    static const struct {
        uint8_t role;
        double x, y;
    } rows[] = {
        {TeamMessage_ROLE_STRIKER, 0, 0},        {TeamMessage_ROLE_DEFENDER, 0.62, -0.12},
        {TeamMessage_ROLE_SUPPORTER, 0.14, 0.5}, {TeamMessage_ROLE_BISHOP, 0.14, -0.5},
        {TeamMessage_ROLE_DEFENDER, 0.62, 0.3},  {TeamMessage_ROLE_SUPPORTER, 0.38, 0.55},
    };
    const uint32_t n = sizeof rows / sizeof *rows;
    double outside = field->circle_radius + field->line_width + MARGIN;
    *role = rank < n ? rows[rank].role : TeamMessage_ROLE_SUPPORTER;
    if (rank == 0) return (struct pose2){ours ? -1.5 * BODY : -outside, 0, 0};
    double x = rank < n ? rows[rank].x : 0.45, y = rank < n ? rows[rank].y : -0.75 + 0.3 * (rank - n);
    return (struct pose2){-fmax(x * field->length / 2, BODY), y * field->width / 2, 0};
}

static void kick_off_legal(const struct nm_pitch_size *field, bool may_enter, struct pose2 *at)
{
    double outside = field->circle_radius + field->line_width + MARGIN, far = vec2_norm(at->x, at->y);
    at->x = fmin(at->x, -BODY);
    if (!may_enter && far < outside) {
        at->x *= outside / far;
        at->y *= outside / far;
    }
}

/* ---- penalty kicks: behind the ball, outside of the penalty area and of the circle around the ball ---- */

static struct pose2 penalty_place(const struct nm_pitch_size *field, const struct formation *f, bool ours,
                                  uint32_t rank, uint8_t *role)
{
    static const double ys[] = {0, -0.3, 0.3, 0.55, -0.55, 0.75};
    double area = fmax(field->penalty_area_length, field->penalty_mark + f->keep_off) + MARGIN + BODY;
    double y = (rank < 6 ? ys[rank] : 0.85) * field->width / 2, front = field->length / 2 - area;
    *role = rank == 0 ? TeamMessage_ROLE_STRIKER : rank == 1 ? TeamMessage_ROLE_DEFENDER : TeamMessage_ROLE_SUPPORTER;
    if (ours) return rank == 0 ? (struct pose2){f->ball_x - 1.5 * BODY, f->ball_y, 0} : (struct pose2){front, y, 0};
    return (struct pose2){-front, y + (rank == 0 ? 0.15 : 0), 0};
}

/* ---- all of them ---- */

void formation_places(const struct nm_pitch_size *field, const struct formation *f, uint32_t n, struct place places[])
{
    for (uint32_t i = 0; i < n; i++) {
        struct pose2 at = {0};
        uint8_t role = 0;
        switch (f->kind) {
        case FORMATION_PLAY:
            at = play_place(field, f, i, &role);
            if (i) leave_goal_area(field, &at);
            if (i) keep_away(&at.x, &at.y, f, f->spread);
            break;
        case FORMATION_WALL:
        case FORMATION_THEIR_GOAL_KICK:
            at = play_place(field, f, i, &role);
            if (role == TeamMessage_ROLE_BISHOP) at.x = fmin(at.x, f->ball_x); /* nobody waits for a pass now */
            if (f->kind == FORMATION_THEIR_GOAL_KICK)
                at.x = fmin(at.x, field->length / 2 - field->penalty_area_length - BODY - 0.5 * i);
            break;
        case FORMATION_OWN_KICK_OFF:
        case FORMATION_RIVAL_KICK_OFF:
            at = kick_off_place(field, f->kind == FORMATION_OWN_KICK_OFF, i, &role);
            kick_off_legal(field, f->kind == FORMATION_OWN_KICK_OFF && i == 0, &at);
            break;
        case FORMATION_OWN_PENALTY:
        case FORMATION_RIVAL_PENALTY: at = penalty_place(field, f, f->kind == FORMATION_OWN_PENALTY, i, &role); break;
        }
        places[i].role = role;
        places[i].pose = at;
        for (int round = 0; round < 3; round++) { /* each of them may undo a little of the other */
            keep_apart(places, i);
            keep_inside(field, &places[i].pose.x, &places[i].pose.y);
        }
        if (f->kind == FORMATION_WALL || f->kind == FORMATION_THEIR_GOAL_KICK) join_wall(field, f, places, i);
        places[i].pose = facing(places[i].pose.x, places[i].pose.y, f->ball_x, f->ball_y);
    }
}

/* On an arc before the goal, on the line from the ball to the middle of the goal: the nearer the ball, the farther out,
 * so that less of the goal is open. */
struct pose2 formation_keeper(const struct nm_pitch_size *field, double ball_x, double ball_y)
{
    double goal_x = -field->length / 2, dx = ball_x - goal_x, far = vec2_norm(dx, ball_y);
    double angle = dx > 0 ? atan2(ball_y, dx) : ball_y > 0 ? M_PI / 2 : -M_PI / 2;
    double deep = nm_clamp(0.72 * field->goal_area_length * (1.6 - far / (0.6 * field->length)), 0.1,
                           0.85 * field->goal_area_length);
    deep = nm_clamp(deep, 0.1, fmax(far - 1.5 * BODY, 0.1)); /* behind the ball */
    double wide = field->goal_width / 2 - field->post;
    double x = goal_x + fmax(deep * cos(angle), 0.1), y = nm_within(1.2 * deep * sin(angle), wide);
    return facing(x, y, fmax(ball_x, x + 0.01), ball_y);
}

/* ---- least walking ---- */

/* Shortest augmenting paths with potentials; rows are walkers, columns places, both counted from 1. */
void formation_assign(uint32_t n, double cost[FORMATION_PLAYERS][FORMATION_PLAYERS], uint32_t to[])
{
    double u[FORMATION_PLAYERS + 1] = {0}, v[FORMATION_PLAYERS + 1] = {0}, least[FORMATION_PLAYERS + 1];
    uint32_t match[FORMATION_PLAYERS + 1] = {0}, way[FORMATION_PLAYERS + 1];
    for (uint32_t row = 1; row <= n; row++) {
        bool used[FORMATION_PLAYERS + 1] = {0};
        uint32_t column = 0;
        match[0] = row;
        for (uint32_t j = 0; j <= n; j++) least[j] = INFINITY;
        do {
            uint32_t here = match[column], next = 0;
            double delta = INFINITY;
            used[column] = true;
            for (uint32_t j = 1; j <= n; j++) {
                if (used[j]) continue;
                double rest = cost[here - 1][j - 1] - u[here] - v[j];
                if (rest < least[j]) {
                    least[j] = rest;
                    way[j] = column;
                }
                if (least[j] < delta) {
                    delta = least[j];
                    next = j;
                }
            }
            for (uint32_t j = 0; j <= n; j++) {
                if (used[j]) {
                    u[match[j]] += delta;
                    v[j] -= delta;
                } else {
                    least[j] -= delta;
                }
            }
            column = next;
        } while (match[column]);
        while (column) {
            match[column] = match[way[column]];
            column = way[column];
        }
    }
    for (uint32_t j = 1; j <= n; j++) to[match[j] - 1] = j - 1;
}
