#include "modules/position/side.h"

#include <math.h>

#include "base/clamp.h"
#include "core/stamp.h"

void side_see(struct side_seen *s, const Percepts *percepts, struct pose2 robot_to_odom, int64_t at)
{
    double sure = 0.5;
    for (uint32_t i = 0; i < percepts->percepts.n; i++) {
        const Percept *p = &percepts->percepts.at[i];
        if (!p->located || !isfinite(p->position.x + p->position.y)) continue;
        struct pose2 in_odom = pose2_mul(robot_to_odom, (struct pose2){p->position.x, p->position.y, 0});
        double far = hypot(p->position.x, p->position.y);
        if (p->kind == Percept_BALL && p->confidence >= sure && far < 6) {
            sure = p->confidence;
            s->ball = true;
            s->ball_x = in_odom.x, s->ball_y = in_odom.y, s->ball_far = far;
            s->ball_at = at;
        }
        if ((p->kind == Percept_MATE || p->kind == Percept_ROBOT) && far < 4) {
            s->robots[s->next] = (struct side_robot){in_odom.x, in_odom.y, p->kind == Percept_MATE, at};
            s->next = (s->next + 1) % SIDE_ROBOTS;
        }
    }
}

static void add(struct side_claims *c, uint32_t voice, double x, double y, double sigma, double mine_x, double mine_y,
                double floor)
{
    if (c->n >= sizeof c->all / sizeof c->all[0] || !isfinite(x + y + sigma)) return;
    c->all[c->n++] = (struct side_claim){voice, x, y, sigma, mine_x, mine_y, floor};
}

/* A ball that both saw at about the same time; it may have rolled in between. */
static void claim_ball(struct side_claims *c, const struct side_seen *s, uint32_t voice, double x, double y,
                       double variance, double apart, struct pose2 odom_to_robot)
{
    struct pose2 mine = pose2_mul(odom_to_robot, (struct pose2){s->ball_x, s->ball_y, 0});
    double sigma = sqrt(0.25 * 0.25 + nm_clamp(variance, 0, 1) + 0.1 * 0.1 * s->ball_far * s->ball_far +
                        0.5 * 0.5 * apart * apart);
    add(c, voice, x, y, sigma, mine.x, mine.y, 0.05);
}

static void listen_to(struct side_claims *c, const struct side_seen *s, const struct nm *nm, const TeamMate *mate,
                      uint32_t voice, struct pose2 odom_to_robot)
{
    const TeamMessage *m = &mate->message;
    double now = nm_seconds(nm->now), ball_at = nm_seconds(s->ball_at);
    double heard = nm_seconds(nm_stamp_ns(m->header.stamp));
    if (heard <= 0 || heard > now) heard = now;
    if (!(m->pose.weight > 0.3f) || now - heard > 2) return;
    double ball_seen = heard - m->ball_age;
    if (s->ball && m->ball_known && now - ball_at < 1.5 && fabs(ball_seen - ball_at) < 2)
        claim_ball(c, s, voice, m->ball.x, m->ball.y, (m->ball_covariance[0] + m->ball_covariance[3]) / 2,
                   fabs(ball_seen - ball_at), odom_to_robot);
    for (uint32_t i = 0; i < SIDE_ROBOTS; i++) {
        const struct side_robot *r = &s->robots[i];
        if (!r->at || nm_seconds(nm->now - r->at) > 1) continue;
        struct pose2 mine = pose2_mul(odom_to_robot, (struct pose2){r->x, r->y, 0});
        add(c, voice, m->pose.pose.x, m->pose.pose.y, 0.35, mine.x, mine.y, r->mate ? 0.2 : 0.5);
    }
    for (uint32_t i = 0; i < m->obstacles.n; i++) {
        const Obstacle *o = &m->obstacles.at[i];
        if (o->kind == Obstacle_MATE || o->kind == Obstacle_ROBOT)
            add(c, voice, o->position.x, o->position.y, 0.4, 0, 0, o->kind == Obstacle_MATE ? 0.2 : 0.5);
    }
}

/* The team's ball counts where the rules place it, or where two others agree on it. */
static bool is_others(const TeamBall *ball, uint8_t own)
{
    if (ball->source == TeamBall_SOURCE_RULE) return true;
    for (uint32_t i = 0; i < ball->players.n; i++)
        if (ball->players.at[i] == own) return false;
    return ball->source == TeamBall_SOURCE_MATE && ball->players.n >= 2;
}

void side_listen(struct side_seen *s, const struct nm *nm, const struct position_ports *io, struct pose2 robot_to_odom,
                 struct side_claims *claims)
{
    struct pose2 odom_to_robot = pose2_inv(robot_to_odom);
    claims->n = 0;
    for (uint32_t i = 0; i < io->team->mates.n; i++) {
        const TeamMate *mate = &io->team->mates.at[i];
        uint32_t voice = mate->player_number % SIDE_MATES;
        int64_t heard = nm_stamp_ns(mate->heard);
        if (!mate->alive || heard <= s->heard[voice]) continue;
        s->heard[voice] = heard;
        listen_to(claims, s, nm, mate, voice, odom_to_robot);
    }
    int64_t made = nm_stamp_ns(io->team_ball->header.stamp);
    const BallModel *ball = &io->team_ball->ball;
    if (nm_age(nm, io->team_ball) == INT64_MAX || made < s->heard[SIDE_BALL] + 300000000) return;
    if (!ball->valid || !is_others(io->team_ball, io->match->player_number)) return;
    s->heard[SIDE_BALL] = made;
    double apart = fabs(nm_seconds(nm_stamp_ns(ball->last_seen) - s->ball_at));
    if (s->ball && nm_seconds(nm->now - s->ball_at) < 1.5 && apart < 2)
        claim_ball(claims, s, SIDE_BALL, ball->position.x, ball->position.y,
                   (ball->covariance[0] + ball->covariance[5]) / 2, apart, odom_to_robot);
}

void side_weigh(const struct side_claims *claims, struct pose2 pose, double most, double heard[SIDE_VOICES])
{
    const double fade = 0.97, gain = 0.7; /* of each claim: neighbours in time have the same errors */
    for (uint32_t i = 0; i < claims->n; i++) {
        const struct side_claim *c = &claims->all[i];
        struct pose2 at = pose2_mul(pose, (struct pose2){c->mine_x, c->mine_y, 0});
        double two = 2 * c->sigma * c->sigma;
        double here = ((at.x - c->x) * (at.x - c->x) + (at.y - c->y) * (at.y - c->y)) / two;
        double there = ((at.x + c->x) * (at.x + c->x) + (at.y + c->y) * (at.y + c->y)) / two;
        double odds = log((exp(-here) + c->floor) / (exp(-there) + c->floor));
        heard[c->voice] = nm_within(fade * heard[c->voice] + gain * odds, most);
    }
}
