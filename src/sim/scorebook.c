#include "sim/scorebook.h"

#include <math.h>
#include <string.h>

static const double KICK = 0.4;              /* m/s: a touch that makes the ball so much faster is a kick     */
static const double PUSHED = 4, FREED = 40;  /* m/s2 at which the speed before a kick follows that of the ball */
static const double LOOK = 0.15;             /* s after the kick its direction is looked at                   */
static const double BESIDE = 1;              /* m beside a post: still a shot                                 */
static const double NEARS = 0.1, OVER = 0.5; /* m/s, s: a shot that came no nearer to the goal so long is over  */
static const double PASS = 0.7;              /* m that a pass rolls at least                                  */
static const double JUMP = 0.5;              /* m in one step: carried by hand                                */
static const double BUMP = 1.5;              /* s from a touch to the fall that it caused                    */
static const double PARTED = 0.5;            /* s without contact: the next one is another one */
static const double FAST = 0.5, DIVE_TIME = 1.5, DIVE_FAR = 2.5; /* m/s of the ball, s, m: a keeper who falls dives */
static const double AT_BALL = 0.6; /* m: who plays the ball                                   */
static const double COMES = 0.15, STRAIGHT = 0.7, TURNS = 0.5; /* m/s towards the ball, share of its speed; rad/s */
static const double PLAYED = 1;   /* s: so long after its touch a team is with the ball        */
static const double STRIKES = 1;  /* m: who comes from here is a striker                     */
static const double SMOOTH = 0.5; /* s                                                       */
static const double DUEL = 0.4, DUEL_TIME = 5, DUEL_MOVED = 0.05; /* m from the ball, s, m of the ball      */

static double to_seconds(int64_t ns) { return (double)ns * 1e-9; }

void nm_scorebook_new(struct nm_scorebook *b, struct nm_stage *stage, const struct nm_judge *judge)
{
    memset(b, 0, sizeof *b);
    b->stage = stage;
    b->judge = judge;
    b->n = nm_stage_robots(stage);
    b->holder = b->kicker = b->shooter = -1;
    b->duel_since = -1;
    for (uint32_t i = 0; i < NM_PLAYERS; i++) b->bumps[i].other = -1;
}

/* A keeper in his area who goes down while a ball comes, or just after it was in and has been put elsewhere. */
static bool dives(const struct nm_scorebook *b, uint32_t i)
{
    const struct nm_match *m = nm_judge_match(b->judge);
    const struct nm_stage_robot *row = nm_stage_robot(b->stage, i);
    const struct nm_pitch_size field = nm_pitch_size(nm_stage_pitch(b->stage));
    struct vec3 at = {b->last[i].x, b->last[i].y, 0};
    bool soon = b->fast && to_seconds(nm_stage_now(b->stage) - b->fast) < DIVE_TIME;
    return m->teams[row->team].keeper == row->shirt.number && soon &&
           vec2_norm(b->fast_at.x - at.x, b->fast_at.y - at.y) < DIVE_FAR &&
           nm_in_own_penalty_area(&field, nm_match_side(m, row->team), at);
}

static void count_fall(struct nm_scorebook *b, uint32_t i)
{
    struct nm_book_fall fall = {nm_stage_now(b->stage), i, b->bumps[i]};
    bool touched = fall.bump.other >= 0 && to_seconds(fall.time - fall.bump.ended) < BUMP;
    if (!touched && dives(b, i)) {
        b->robots[i].dives++;
        return;
    }
    b->robots[i].falls++;
    b->robots[i].alone += !touched;
    if (!touched) fall.bump.other = -1;
    if (b->n_falls < NM_BOOK_FALLS) b->falls[b->n_falls++] = fall;
}

static double towards(const struct nm_scorebook *b, uint32_t i, uint32_t other)
{
    double dx = b->last[other].x - b->last[i].x, dy = b->last[other].y - b->last[i].y, far = vec2_norm(dx, dy);
    return far > 0.01 ? (b->velocity[i].x * dx + b->velocity[i].y * dy) / far : 0;
}

/* Two who part for a moment and meet again are still in the same contact. */
static void follow_contact(struct nm_scorebook *b, uint32_t i)
{
    uint32_t touching = nm_stage_touches(b->stage)->robots[i];
    struct nm_book_bump *bump = &b->bumps[i];
    int64_t now = nm_stage_now(b->stage);
    if (!touching) return;
    bool same = bump->other >= 0 && touching >> bump->other & 1 && to_seconds(now - bump->ended) < PARTED;
    if (!same) {
        b->robots[i].contacts++;
        uint32_t other = (uint32_t)__builtin_ctz(touching);
        *bump = (struct nm_book_bump){
            .other = (int)other,
            .began = now,
            .mine = (float)towards(b, i, other),
            .theirs = (float)towards(b, other, i),
            .far = (float)vec2_norm(b->last[other].x - b->last[i].x, b->last[other].y - b->last[i].y),
            .lay = b->fallen[other]};
    }
    bump->ended = now;
}

/* How fast it comes nearer to where the ball is now, and turns to it. */
static void follow_way(struct nm_scorebook *b, uint32_t i, struct pose2 at)
{
    double dt = to_seconds(nm_stage_tick(b->stage)), share = fmin(dt / SMOOTH, 1);
    struct vec3 ball = nm_stage_ball(b->stage, NULL);
    const struct pose2 *was = &b->last[i];
    double nearer = vec2_norm(ball.x - was->x, ball.y - was->y) - vec2_norm(ball.x - at.x, ball.y - at.y);
    double bearing = angle_normal(atan2(ball.y - at.y, ball.x - at.x) - at.theta);
    double turn = copysign(1, bearing) * angle_normal(at.theta - was->theta);
    b->velocity[i].x += share * ((at.x - was->x) / dt - b->velocity[i].x);
    b->velocity[i].y += share * ((at.y - was->y) / dt - b->velocity[i].y);
    b->comes[i] += share * (nearer / dt - b->comes[i]);
    b->turns[i] += share * (turn / dt - b->turns[i]);
}

static void follow_robot(struct nm_scorebook *b, uint32_t i)
{
    struct nm_whereabouts w;
    nm_stage_whereabouts(b->stage, i, &w);
    struct pose2 at = {w.base_to_field.pos.x, w.base_to_field.pos.y, quat_yaw(w.base_to_field.rot)};
    double way = vec2_norm(at.x - b->last[i].x, at.y - b->last[i].y);
    const struct nm_match *m = nm_judge_match(b->judge);
    const struct nm_stage_robot *row = nm_stage_robot(b->stage, i);
    bool plays = !m->teams[row->team].players[row->shirt.number - 1].penalised;
    if (way < JUMP && !w.fallen) b->robots[i].path += way;
    if (plays && m->state != NM_GAME_INITIAL && m->state != NM_GAME_FINISHED)
        b->robots[i].upright += to_seconds(nm_stage_tick(b->stage));
    follow_contact(b, i);
    if (plays && w.fallen && !b->fallen[i]) count_fall(b, i);
    if (way < JUMP) follow_way(b, i, at);
    b->fallen[i] = w.fallen;
    b->last[i] = at;
}

/* How far a ball of this speed still rolls: flat.c and the world's turf agree on 2 m/s. */
static double rolls(const struct nm_pitch *pitch, double speed)
{
    double far = 4.2 - 1.6 * fmin(pitch->turf / 0.03, 1);
    return far * speed * speed / 4;
}

static uint32_t team_of(const struct nm_scorebook *b, int robot)
{
    return nm_stage_robot(b->stage, (uint32_t)robot)->team;
}

static void look_at_kick(struct nm_scorebook *b, struct vec3 ball, struct vec3 velocity)
{
    const struct nm_pitch *pitch = nm_stage_pitch(b->stage);
    uint32_t team = team_of(b, b->kicker);
    double goal = -nm_match_side(nm_judge_match(b->judge), team), speed = vec2_norm(velocity.x, velocity.y);
    double line = goal * pitch->length / 2, ahead = (line - ball.x) * goal;
    struct nm_book_row *row = &b->robots[b->kicker];
    row->kicks++;
    if (b->shooter >= 0 && team_of(b, b->shooter) == team) b->shooter = -1; /* a defender only changes the shot's way */
    if (velocity.x * goal <= 0.1 * speed || ahead <= 0) return;
    double y = ball.y + velocity.y * ahead / fabs(velocity.x), way = vec2_norm(ahead, y - ball.y);
    if (fabs(y) > pitch->goal_width / 2 + BESIDE || rolls(pitch, speed) < way) return;
    row->shots++;
    bool on_goal = fabs(y) < pitch->goal_width / 2;
    row->on_goal += on_goal;
    if (on_goal) b->shooter = b->kicker, b->neared = nm_stage_now(b->stage);
    if (b->n_shots < NM_BOOK_SHOTS)
        b->shots[b->n_shots++] = (struct nm_book_shot){
            (float)b->kicked_from.x, (float)b->kicked_from.y, (float)line, (float)y, (uint8_t)team, false};
}

/* A shot is on its way until the ball stops or rolls elsewhere. */
static void follow_shot(struct nm_scorebook *b, struct vec3 velocity)
{
    int64_t now = nm_stage_now(b->stage);
    if (b->shooter < 0) return;
    double nears = -nm_match_side(nm_judge_match(b->judge), team_of(b, b->shooter)) * velocity.x;
    if (nears > NEARS) b->neared = now;
    if (to_seconds(now - b->neared) > OVER) b->shooter = -1;
}

static void follow_ball(struct nm_scorebook *b)
{
    struct vec3 velocity, ball = nm_stage_ball(b->stage, &velocity);
    int64_t now = nm_stage_now(b->stage);
    double speed = vec2_norm(velocity.x, velocity.y);
    uint32_t touching = nm_stage_touches(b->stage)->ball;
    if (speed > FAST) b->fast = now, b->fast_at = ball;
    int last = nm_judge_last_touch(b->judge);
    if (nm_judge_match(b->judge)->state != NM_GAME_PLAYING) {
        b->holder = b->kicker = b->shooter = -1;
        b->speed = speed;
        return;
    }
    if (b->kicker >= 0 && to_seconds(now - b->kicked) > LOOK) {
        look_at_kick(b, ball, velocity);
        b->kicker = -1;
    }
    follow_shot(b, velocity);
    for (uint32_t i = 0; i < b->n; i++)
        if (touching >> i & 1) b->played[nm_stage_robot(b->stage, i)->team] = now;
    if (touching && last >= 0) {
        bool mate =
            b->holder >= 0 && b->holder != last &&
            nm_stage_robot(b->stage, (uint32_t)b->holder)->team == nm_stage_robot(b->stage, (uint32_t)last)->team;
        if (mate && vec2_norm(ball.x - b->held_at.x, ball.y - b->held_at.y) > PASS) b->robots[b->holder].passes++;
        b->holder = last;
        b->held_at = ball;
        if (speed > b->speed + KICK && b->kicker < 0) {
            b->kicker = last;
            b->kicked = now;
            b->kicked_from = ball;
        }
    }
    /* slowly while it is touched, so that a push over several steps is a kick, too; a ball that rolls freely and then
     * meets a robot is none */
    double rise = (touching ? PUSHED : FREED) * to_seconds(nm_stage_tick(b->stage));
    b->speed = speed < b->speed ? speed : b->speed + fmin(speed - b->speed, rise);
    if (last < 0) b->holder = -1;
    if (b->holder >= 0 && nm_judge_in_play(b->judge))
        b->robots[b->holder].possession += to_seconds(nm_stage_tick(b->stage));
}

static void follow_duel(struct nm_scorebook *b)
{
    struct vec3 ball = nm_stage_ball(b->stage, NULL);
    bool near[2] = {false, false};
    for (uint32_t i = 0; i < b->n; i++)
        near[nm_stage_robot(b->stage, i)->team] |= vec2_norm(b->last[i].x - ball.x, b->last[i].y - ball.y) < DUEL;
    bool moved = vec2_norm(ball.x - b->duel_at.x, ball.y - b->duel_at.y) > DUEL_MOVED;
    if (!near[0] || !near[1] || moved || b->duel_since < 0 || !nm_judge_in_play(b->judge)) {
        b->duel_at = ball;
        b->duel_since = nm_stage_now(b->stage);
        b->duel_told = false;
    } else if (!b->duel_told && to_seconds(nm_stage_now(b->stage) - b->duel_since) > DUEL_TIME) {
        b->duel_told = true;
        b->duels++;
    }
}

/* Walks at the ball: fast enough, and not past it. */
static bool comes(const struct nm_scorebook *b, uint32_t i)
{
    return b->comes[i] > COMES && b->comes[i] > STRAIGHT * vec2_norm(b->velocity[i].x, b->velocity[i].y);
}

/* In PLAYING without a restart of the others: is somebody on his way to the ball, and not two who play it? On the way
 * is who is at the ball, who walks at it, and the nearest one of a team while it turns to it. */
static void follow_strikers(struct nm_scorebook *b)
{
    const struct nm_match *m = nm_judge_match(b->judge);
    struct vec3 ball = nm_stage_ball(b->stage, NULL);
    double dt = to_seconds(nm_stage_tick(b->stage)), nearest[2] = {INFINITY, INFINITY};
    uint32_t coming[2] = {0}, strikers[2] = {0};
    bool turns[2] = {false, false};
    if (m->state != NM_GAME_PLAYING || m->stopped || m->taking != NM_GAME_NOT_TAKING) return;
    for (uint32_t i = 0; i < b->n; i++) {
        const struct nm_stage_robot *row = nm_stage_robot(b->stage, i);
        uint32_t t = row->team;
        if (b->fallen[i] || m->teams[t].players[row->shirt.number - 1].penalised) continue;
        double far = vec2_norm(b->last[i].x - ball.x, b->last[i].y - ball.y);
        coming[t] += far < AT_BALL || comes(b, i);
        strikers[t] += far < AT_BALL || (far < STRIKES && comes(b, i));
        if (far >= nearest[t]) continue;
        nearest[t] = far;
        turns[t] = b->turns[i] > TURNS;
    }
    for (int t = 0; t < 2; t++) {
        if (m->kicking == 1 - t) continue;
        bool played = b->played[t] && to_seconds(nm_stage_now(b->stage) - b->played[t]) < PLAYED;
        b->teams[t].play += dt;
        b->teams[t].nobody += coming[t] || turns[t] || played ? 0 : dt;
        b->teams[t].crowd += strikers[t] > 1 ? dt : 0;
    }
}

/* Whoever stands at an illegal place is penalised in the same step, and counted by the note about it. */
static void follow_places(struct nm_scorebook *b)
{
    const struct nm_match *m = nm_judge_match(b->judge);
    bool begins = m->state == NM_GAME_SET && !b->in_set;
    b->in_set = m->state == NM_GAME_SET;
    for (uint32_t i = 0; begins && i < b->n; i++) {
        const struct nm_stage_robot *row = nm_stage_robot(b->stage, i);
        b->teams[row->team].places += !m->teams[row->team].players[row->shirt.number - 1].penalised;
    }
}

void nm_scorebook_step(struct nm_scorebook *b)
{
    double dt = to_seconds(nm_stage_tick(b->stage));
    const struct nm_match *m = nm_judge_match(b->judge);
    for (uint32_t i = 0; i < b->n; i++) follow_robot(b, i);
    follow_ball(b);
    follow_duel(b);
    follow_strikers(b);
    follow_places(b);
    if (m->state == NM_GAME_PLAYING) b->playing += dt;
    if (m->state == NM_GAME_PLAYING && !m->stopped && m->taking == NM_GAME_NOT_TAKING) b->in_play += dt;
}

void nm_scorebook_note(struct nm_scorebook *b, const struct nm_note *note)
{
    struct nm_book_row *row = note->robot >= 0 ? &b->robots[note->robot] : NULL;
    if (note->kind == NM_NOTE_GOAL && b->kicker >= 0) { /* too near to be looked at before it was in */
        bool shot = (int)team_of(b, b->kicker) == note->team;
        b->robots[b->kicker].kicks++;
        b->robots[b->kicker].shots += shot;
        b->robots[b->kicker].on_goal += shot;
        if (shot) b->shooter = b->kicker;
        b->kicker = -1;
    }
    if (!row) return;
    uint32_t team = nm_stage_robot(b->stage, (uint32_t)note->robot)->team;
    if (note->kind == NM_NOTE_GOAL) { /* a shot on goal that a defender only touches is the goal of who shot */
        bool deflected = b->shooter >= 0 && (int)team_of(b, b->shooter) == note->team;
        if ((int)team == note->team)
            row->goals++;
        else if (deflected)
            b->robots[b->shooter].goals++;
        else
            row->own_goals++;
    }
    if (note->kind == NM_NOTE_GOAL && b->n_shots) b->shots[b->n_shots - 1].goal = true;
    if (note->kind == NM_NOTE_OUT) row->kicks_out++;
    if (note->kind == NM_NOTE_PENALTY) row->penalties++;
    if (note->kind == NM_NOTE_PENALTY && note->offence == NM_OFFENCE_POSITION_IN_SET) {
        b->teams[team].places++;
        b->teams[team].illegal++;
    }
    if (note->kind == NM_NOTE_PENALTY && note->offence == NM_OFFENCE_PUSHING) row->pushing++;
}

void nm_scorebook_pose(struct nm_scorebook *b, uint32_t robot, struct pose2 pose)
{
    uint32_t team = nm_stage_robot(b->stage, robot)->team;
    struct pose2 field = pose2_mul(nm_judge_team_to_field(b->judge, team), pose);
    double error = vec2_norm(field.x - b->last[robot].x, field.y - b->last[robot].y);
    struct nm_book_row *row = &b->robots[robot];
    if (!isfinite(error)) return;
    row->error += error;
    row->poses++;
    if (error > row->error_max) row->error_max = error;
}

struct nm_book_row nm_scorebook_team(const struct nm_scorebook *b, uint32_t team)
{
    struct nm_book_row sum = {0};
    for (uint32_t i = 0; i < b->n; i++) {
        const struct nm_book_row *row = &b->robots[i];
        if (nm_stage_robot(b->stage, i)->team != team) continue;
        sum.possession += row->possession;
        sum.goals += row->goals, sum.own_goals += row->own_goals;
        sum.shots += row->shots, sum.on_goal += row->on_goal;
        sum.kicks += row->kicks, sum.passes += row->passes;
        sum.kicks_out += row->kicks_out;
        sum.falls += row->falls, sum.dives += row->dives, sum.alone += row->alone;
        sum.contacts += row->contacts;
        sum.penalties += row->penalties, sum.pushing += row->pushing;
        sum.path += row->path, sum.upright += row->upright;
        sum.error += row->error, sum.poses += row->poses;
        sum.error_max = fmax(sum.error_max, row->error_max);
    }
    return sum;
}
