#include "modules/position/side.h"

#include <math.h>

#include "base/clamp.h"
#include "core/stamp.h"

static void see_ball(struct side_seen *s, const Percept *p, struct pose2 robot_to_odom, int64_t at)
{
    struct pose2 in_odom = pose2_mul(robot_to_odom, (struct pose2){p->position.x, p->position.y, 0});
    double far = vec2_norm(p->position.x, p->position.y), off = vec2_norm(in_odom.x - s->ball_x, in_odom.y - s->ball_y);
    bool again = s->ball_seen && nm_seconds(at - s->ball_at) < 1.5 && off < 0.5 + 0.2 * far;
    s->ball_seen = again ? s->ball_seen + 1 : 1;
    if (!again) s->ball_since = at;
    s->ball_x = in_odom.x, s->ball_y = in_odom.y, s->ball_far = far;
    s->ball_at = at;
}

void side_see(struct side_seen *s, const Percepts *percepts, struct pose2 robot_to_odom, int64_t at)
{
    const Percept *ball = NULL;
    for (uint32_t i = 0; i < percepts->percepts.n; i++) {
        const Percept *p = &percepts->percepts.at[i];
        if (!p->located || !isfinite(p->position.x + p->position.y)) continue;
        struct pose2 in_odom = pose2_mul(robot_to_odom, (struct pose2){p->position.x, p->position.y, 0});
        double far = vec2_norm(p->position.x, p->position.y);
        if (p->kind == Percept_BALL && p->confidence > 0.6f && far < 6 && (!ball || p->confidence > ball->confidence))
            ball = p;
        if ((p->kind == Percept_MATE || p->kind == Percept_ROBOT) && far < 4) {
            s->robots[s->next] = (struct side_robot){in_odom.x, in_odom.y, p->kind == Percept_MATE, at};
            s->next = (s->next + 1) % SIDE_ROBOTS;
        }
    }
    if (ball) see_ball(s, ball, robot_to_odom, at);
}

/* A ball that was seen several times, over a third of a second: a false one would contradict all mates at once. */
static bool knows_ball(const struct side_seen *s, int64_t now)
{
    return s->ball_seen >= 3 && s->ball_at - s->ball_since > 300000000 && nm_seconds(now - s->ball_at) < 1.5;
}

static void add(struct side_claims *c, struct side_claim claim)
{
    if (c->n >= sizeof c->all / sizeof c->all[0]) return;
    if (isfinite(claim.told_x + claim.told_y + claim.sigma)) c->all[c->n++] = claim;
}

/* A ball that both saw at about the same time; it may have rolled in between. */
static void claim_ball(struct side_claims *c, const struct side_seen *s, uint32_t voice, double x, double y,
                       double variance, double apart, struct pose2 odom_to_robot)
{
    struct pose2 mine = pose2_mul(odom_to_robot, (struct pose2){s->ball_x, s->ball_y, 0});
    double sigma = sqrt(0.25 * 0.25 + nm_clamp(variance, 0, 1) + 0.1 * 0.1 * s->ball_far * s->ball_far +
                        0.5 * 0.5 * apart * apart);
    add(c, (struct side_claim){SIDE_SAME_BALL, voice, x, y, mine.x, mine.y, sigma, 0.05});
}

static void listen_to(struct side_claims *c, const struct side_seen *s, const struct nm *nm, const TeamMate *mate,
                      uint32_t voice, struct pose2 odom_to_robot)
{
    const double most_apart = 0.8; /* s between two looks at the ball */
    const TeamMessage *m = &mate->message;
    double now = nm_seconds(nm->now), ball_at = nm_seconds(s->ball_at);
    double heard = nm_seconds(nm_stamp_ns(m->header.stamp));
    if (heard <= 0 || heard > now) heard = now;
    double ball_seen = heard - m->ball_age, apart = fabs(ball_seen - ball_at);
    if (knows_ball(s, nm->now) && m->ball_known && apart < most_apart)
        claim_ball(c, s, voice, m->ball.x, m->ball.y, (m->ball_covariance[0] + m->ball_covariance[3]) / 2, apart,
                   odom_to_robot);
    for (uint32_t i = 0; i < SIDE_ROBOTS; i++) {
        const struct side_robot *r = &s->robots[i];
        if (!r->at || nm_seconds(nm->now - r->at) > 0.5) continue;
        struct pose2 mine = pose2_mul(odom_to_robot, (struct pose2){r->x, r->y, 0});
        add(c, (struct side_claim){SIDE_SEES_MATE, voice, 0, 0, mine.x, mine.y, 0.35, r->mate ? 0.3 : 1});
    }
    for (uint32_t i = 0; i < m->obstacles.n; i++) {
        const Obstacle *o = &m->obstacles.at[i];
        if (o->kind == Obstacle_MATE || o->kind == Obstacle_ROBOT)
            add(c, (struct side_claim){SIDE_IS_SEEN, voice, o->position.x, o->position.y, 0, 0, 0.4,
                                       o->kind == Obstacle_MATE ? 0.3 : 1});
    }
}

static bool is_news(const TeamMate *mate, const struct nm *nm)
{
    double age = nm_seconds(nm->now - nm_stamp_ns(mate->message.header.stamp));
    return mate->alive && mate->message.pose.weight > 0.3f && age < 2 &&
           isfinite(mate->message.pose.pose.x + mate->message.pose.pose.y);
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
    claims->n = claims->n_mates = 0;
    for (uint32_t i = 0; i < io->team->mates.n; i++) {
        const TeamMate *mate = &io->team->mates.at[i];
        uint32_t voice = mate->player_number % SIDE_MATES;
        int64_t heard = nm_stamp_ns(mate->heard);
        if (!is_news(mate, nm)) continue;
        if (claims->n_mates < SIDE_MATES)
            claims->mates[claims->n_mates++] =
                (struct side_mate){voice, mate->message.pose.pose.x, mate->message.pose.pose.y};
        if (heard <= s->heard[voice]) continue;
        s->heard[voice] = heard;
        listen_to(claims, s, nm, mate, voice, odom_to_robot);
    }
    int64_t made = nm_stamp_ns(io->team_ball->header.stamp);
    const BallModel *ball = &io->team_ball->ball;
    if (nm_age(nm, io->team_ball) == INT64_MAX || made < s->heard[SIDE_BALL] + 300000000) return;
    if (!ball->valid || !is_others(io->team_ball, io->match->player_number)) return;
    s->heard[SIDE_BALL] = made;
    double apart = fabs(nm_seconds(nm_stamp_ns(ball->last_seen) - s->ball_at));
    if (knows_ball(s, nm->now) && apart < 0.8)
        claim_ball(claims, s, SIDE_BALL, ball->position.x, ball->position.y,
                   (ball->covariance[0] + ball->covariance[5]) / 2, apart, odom_to_robot);
}

static double fits(double x, double y, double to_x, double to_y, double sigma)
{
    return exp(-((x - to_x) * (x - to_x) + (y - to_y) * (y - to_y)) / (2 * sigma * sigma));
}

/* How well a claim fits a pose, against its floor. What is seen may be any of the mates: all of them count, but only
 * the claim of the one that fits best says something, so that a robot seen once is weighed once. */
static double fits_pose(const struct side_claims *all, const struct side_claim *c, struct pose2 pose, uint32_t *best)
{
    struct pose2 mine = pose2_mul(pose, (struct pose2){c->mine_x, c->mine_y, 0});
    double sum = c->floor, most = 0;
    if (c->kind == SIDE_SAME_BALL) return sum + fits(mine.x, mine.y, c->told_x, c->told_y, c->sigma);
    if (c->kind == SIDE_IS_SEEN) sum += fits(pose.x, pose.y, c->told_x, c->told_y, c->sigma);
    for (uint32_t i = 0; i < all->n_mates; i++) {
        const struct side_mate *m = &all->mates[i];
        if (c->kind == SIDE_IS_SEEN && m->voice == c->voice) continue;
        double fit = c->kind == SIDE_IS_SEEN ? fits(m->x, m->y, c->told_x, c->told_y, c->sigma)
                                             : fits(m->x, m->y, mine.x, mine.y, c->sigma);
        sum += fit;
        if (fit > most) most = fit, *best = m->voice;
    }
    return sum;
}

double side_odds(const struct side_belief *belief)
{
    double sum = belief->history;
    for (int i = 0; i < SIDE_VOICES; i++) sum += belief->heard[i];
    return sum;
}

bool side_weigh(struct side_belief *b, const struct side_claims *claims, struct pose2 pose, double dt,
                const struct side_limits *limits)
{
    const double fade = 0.97, gain = 0.7; /* of each claim: neighbours in time have the same errors */
    for (uint32_t i = 0; i < claims->n; i++) {
        const struct side_claim *c = &claims->all[i];
        uint32_t here = UINT32_MAX, there = UINT32_MAX;
        double fit = fits_pose(claims, c, pose, &here),
               mirrored = fits_pose(claims, c, position_mirrored(pose), &there);
        if (c->kind == SIDE_SEES_MATE && (fit > mirrored ? here : there) != c->voice) continue;
        b->heard[c->voice] = nm_within(fade * b->heard[c->voice] + gain * log(fit / mirrored), limits->mate);
    }
    double odds = side_odds(b);
    /* while mates agree, what they say becomes history */
    if (odds - b->history > 3) b->history = fmin(b->history + 0.5 * dt, limits->history);
    /* a robot that knew its side waits a second, in case its own false ball contradicts everybody */
    b->against = odds < 0 ? b->against + dt : 0;
    if (odds >= 0 || b->against < nm_clamp(b->history / 3, 0, 1)) return false;
    b->history = b->against = 0;
    for (int i = 0; i < SIDE_VOICES; i++) b->heard[i] = -b->heard[i];
    return true;
}
