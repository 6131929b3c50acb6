#include "sim/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/nm.h"
#include "sim/judge_parts.h"

static const double MOVED = 0.05;    /* m: a ball that is in play has moved so far                     */
static const double TIME_UP = 10;    /* s: so long a ball may still roll when the time of a half is up */
static const double AT_REST = 0.05;  /* m/s                                                            */
static const double TOO_NEAR = 0.25; /* m: robots where the ball is to lie are set back ... */
static const double SET_BACK = 0.1;  /* m: ... by so much more than necessary */
static const double SET_UP = 2;      /* s that a penalised robot lies until its handlers set it up */
static const double FROZEN = 1;      /* s: HL, from positions that are taken to the call                */

/* ---- words and hands ---- */

static void tell(struct nm_judge *j, enum nm_note_kind kind, int team, int robot, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void tell(struct nm_judge *j, enum nm_note_kind kind, int team, int robot, const char *format, ...)
{
    struct nm_note note = {.kind = kind, .time = j->now, .team = team, .robot = robot};
    va_list args;
    if (!j->options.note) return;
    va_start(args, format);
    vsnprintf(note.text, sizeof note.text, format, args);
    va_end(args);
    j->options.note(j->options.user, &note);
}

static int happen(struct nm_judge *j, struct nm_match_event event) { return nm_match_happen(&j->match, &event, NULL); }

static struct nm_match_player *player_of(struct nm_judge *j, const struct watched *w)
{
    return &j->match.teams[w->team].players[w->number - 1];
}

bool judge_plays(struct nm_judge *j, uint32_t robot) { return !player_of(j, &j->robots[robot])->penalised; }

static const char *name_of(const struct nm_judge *j, int robot)
{
    return robot < 0 ? "nobody" : nm_stage_robot(j->stage, (uint32_t)robot)->name;
}

static void place_robot(struct nm_judge *j, uint32_t robot, struct pose2 at)
{
    struct watched *w = &j->robots[robot];
    nm_stage_stand(j->stage, robot, at);
    w->pose = w->anchor = at;
    w->velocity = w->before = (struct vec3){0, 0, 0};
    w->fallen = false;
    w->still = w->active = j->now;
    w->down = w->outside = w->holding = -1;
    w->pushing = 0;
    w->bumped_by = -1;
}

/* Who stands nearer than `clear` to where the ball is to lie is set back by hand. */
static void put_ball(struct nm_judge *j, struct vec3 at, double clear)
{
    at.z = j->ball_radius;
    for (uint32_t i = 0; i < j->n; i++) {
        struct pose2 p = j->robots[i].pose;
        double gap = judge_gap(p, at), back = clear + SET_BACK;
        if (gap >= clear) continue;
        double dx = gap > 0.01 ? (p.x - at.x) / gap : nm_match_side(&j->match, j->robots[i].team),
               dy = gap > 0.01 ? (p.y - at.y) / gap : 0;
        place_robot(j, i, (struct pose2){at.x + back * dx, at.y + back * dy, p.theta});
    }
    nm_stage_put_ball(j->stage, at, (struct vec3){0, 0, 0});
    j->ball = j->ball_place = j->ball_anchor = at;
    j->ball_velocity = (struct vec3){0, 0, 0};
    j->ball_still = j->alone = j->now;
    j->placed = true;
    j->last_touch = -1;
    j->touching = 0;
}

static void whistle(struct nm_judge *j)
{
    struct vec3 referee = {0, -j->field.width / 2 - 0.5, 0};
    for (uint32_t i = 0; i < j->n; i++) {
        double far = judge_gap(j->robots[i].pose, referee), chance = nm_dice_roll(&j->dice);
        bool heard = far < j->options.whistle_range && chance >= j->options.whistle_missed;
        if (heard && j->options.whistle)
            j->options.whistle(j->options.user, i, 1 - 0.5 * far / j->options.whistle_range);
    }
}

static void restart_play(struct nm_judge *j, enum nm_exit how, struct vec3 at, int guilty);

/* ---- penalties ---- */

static int free_slot(const struct nm_judge *j, uint32_t team)
{
    for (int slot = 0;; slot++) {
        bool taken = false;
        for (uint32_t i = 0; i < j->n; i++) taken |= j->robots[i].team == team && j->robots[i].slot == slot;
        if (!taken) return slot;
    }
}

static void seat(struct nm_judge *j, uint32_t robot)
{
    struct watched *w = &j->robots[robot];
    w->slot = free_slot(j, w->team);
    w->seat = nm_penalty_place(j->match.options.league, &j->field, nm_match_side(&j->match, w->team), j->ball,
                               (uint32_t)w->slot);
    place_robot(j, robot, w->seat);
    happen(j, (struct nm_match_event){.kind = NM_MATCH_SEATED, .team = w->team, .player = w->number});
}

void judge_penalise(struct nm_judge *j, uint32_t robot, enum nm_offence offence)
{
    struct watched *w = &j->robots[robot];
    enum nm_game_league league = j->match.options.league;
    const struct nm_offence_row *row = &nm_offence_rows[league][offence];
    struct vec3 ball = j->ball, at = judge_at(w);
    double within = row->free_kick_within < 0 ? j->field.circle_radius : row->free_kick_within;
    bool open = j->match.state == NM_GAME_PLAYING && !j->match.set_play && j->match.kicking < 0;
    bool free_kick = open && within > 0 && judge_gap(w->pose, ball) <= within;
    struct nm_match_event e = {.kind = NM_MATCH_PENALTY, .team = w->team, .player = w->number, .offence = offence};
    w->pushing = 0;
    w->holding = -1;
    if (!(free_kick && row->free_kick_instead)) {
        if (happen(j, e)) return;
        if (row->consequence == NM_REMOVED || row->consequence == NM_MOVED_OUT) seat(j, robot);
    }
    struct nm_note note = {.kind = NM_NOTE_PENALTY, .time = j->now, .team = (int)w->team, .robot = (int)robot};
    note.offence = offence;
    snprintf(note.text, sizeof note.text, "%s: %s", name_of(j, (int)robot), nm_offence_names[offence].name);
    if (j->options.note) j->options.note(j->options.user, &note);
    if (!free_kick) return;
    bool area = nm_in_own_penalty_area(&j->field, nm_match_side(&j->match, w->team), at);
    restart_play(j, area ? NM_EXIT_FOUL_IN_OWN_PENALTY_AREA : NM_EXIT_FOUL, ball, (int)w->team);
}

/* Whose time is over comes back from where it waits. Handlers set it up again if it falls there, as after a get-up that
 * they interrupted. */
static void let_in(struct nm_judge *j)
{
    for (uint32_t i = 0; i < j->n; i++) {
        struct watched *w = &j->robots[i];
        const struct nm_match_player *p = player_of(j, w);
        if (w->slot < 0) continue;
        if (p->penalised && !p->waits && p->left <= 0 &&
            nm_offence_rows[j->match.options.league][p->offence].consequence == NM_REMOVED)
            happen(j, (struct nm_match_event){.kind = NM_MATCH_RELEASE, .team = w->team, .player = w->number});
        if (p->penalised && w->down >= 0 && judge_for(j, w->down) > SET_UP) place_robot(j, i, w->seat);
        if (p->penalised) continue;
        w->slot = -1;
        w->still = w->active = j->now;
        tell(j, NM_NOTE_RETURN, (int)w->team, (int)i, "%s may come back", name_of(j, (int)i));
    }
}

/* ---- restarts ---- */

static void remember(struct nm_judge *j, bool kick_off, bool direct, int team)
{
    memset(&j->restart, 0, sizeof j->restart);
    j->restart.kick_off = kick_off;
    j->restart.direct = j->restart.open = direct;
    j->restart.team = team;
    j->restart.kicker = -1;
}

static int restart_by(struct nm_judge *j, const struct nm_restart_row *row, struct vec3 at, int guilty,
                      struct nm_err *err)
{
    uint32_t team = (uint32_t)(1 - guilty);
    struct vec3 place = nm_restart_at(&j->field, row->place, at, nm_match_side(&j->match, (uint32_t)guilty));
    struct nm_match_event e = {.kind = NM_MATCH_KICK, .team = team, .set_play = row->set_play};
    if (nm_match_happen(&j->match, &e, err)) return -1;
    remember(j, false, row->direct, (int)team);
    tell(j, NM_NOTE_SET_PLAY, (int)team, -1, "%s", nm_match_set_play_names[row->set_play]);
    if (j->match.rules->stops_play) whistle(j);
    if (j->match.taking == NM_GAME_PLACING) {
        j->ball_place = place;
        j->placed = true;
    } else {
        put_ball(j, place, TOO_NEAR);
    }
    return 0;
}

static void restart_play(struct nm_judge *j, enum nm_exit how, struct vec3 at, int guilty)
{
    restart_by(j, &nm_restart_rows[j->match.options.league][how], at, guilty, NULL);
}

/* ---- goals ---- */

static uint32_t mates(const struct nm_judge *j, int team)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < j->n; i++) bits |= (uint32_t)((int)j->robots[i].team == team) << i;
    return bits;
}

static bool counts(const struct nm_judge *j, int team)
{
    bool own_goal = j->last_touch >= 0 && (int)j->robots[j->last_touch].team != team;
    if (own_goal) /* but never by the kick of a restart alone */
        return j->restart.team == team || j->restart.team < 0 || __builtin_popcount(j->restart.touched) > 1;
    if (j->match.phase == NM_GAME_SHOOTOUT) return true;
    bool twice = __builtin_popcount(j->restart.touched & mates(j, team)) >= 2;
    bool penalty_kick = j->match.set_play == NM_GAME_PENALTY_KICK;
    if (j->match.rules->own_touch_twice) return twice || penalty_kick;
    return j->restart.open || j->restart.team != team;
}

static void goal(struct nm_judge *j, int end)
{
    int team = nm_match_side(&j->match, 0) == -end ? 0 : 1;
    bool own = j->last_touch >= 0 && (int)j->robots[j->last_touch].team != team;
    bool good = counts(j, team);
    const char *who = name_of(j, j->last_touch);
    if (j->match.phase == NM_GAME_SHOOTOUT && team != j->match.kicking) {
        happen(j, (struct nm_match_event){.kind = NM_MATCH_FINISH});
        return;
    }
    whistle(j);
    if (good) happen(j, (struct nm_match_event){.kind = NM_MATCH_GOAL, .team = (uint32_t)team});
    const char *what = !good ? "no goal, direct from a restart:" : own ? "goal, touched last by" : "goal by";
    tell(j, good ? NM_NOTE_GOAL : NM_NOTE_NO_GOAL, team, j->last_touch, "%s %s  %u:%u", what, who,
         j->match.teams[0].score, j->match.teams[1].score);
    if (!good)
        restart_play(j, own ? NM_EXIT_GOAL_LINE_BY_DEFENDER : NM_EXIT_GOAL_LINE_BY_ATTACKER, j->ball,
                     j->last_touch >= 0 ? (int)j->robots[j->last_touch].team : team);
}

static void out(struct nm_judge *j, enum nm_exit how)
{
    /* nobody touched it: the side that had the restart */
    int guilty = j->last_touch >= 0 ? (int)j->robots[j->last_touch].team : j->restart.team >= 0 ? j->restart.team : 0;
    if (j->match.phase == NM_GAME_SHOOTOUT) {
        happen(j, (struct nm_match_event){.kind = NM_MATCH_FINISH});
        return;
    }
    tell(j, NM_NOTE_OUT, guilty, j->last_touch, "out by %s", name_of(j, j->last_touch));
    restart_play(j, how, j->ball, guilty);
}

/* ---- looking ---- */

static void watch_robot(struct nm_judge *j, uint32_t i)
{
    static const double WALKED = 0.05, TURNED = 0.15, NODDED = 0.1, AT_BALL = 0.35; /* m, rad */
    struct watched *w = &j->robots[i];
    struct nm_whereabouts at;
    nm_stage_whereabouts(j->stage, i, &at);
    w->pose = (struct pose2){at.base_to_field.pos.x, at.base_to_field.pos.y, quat_yaw(at.base_to_field.rot)};
    w->before = w->velocity;
    w->velocity = at.velocity;
    w->fallen = at.fallen;
    bool moved = vec2_norm(w->pose.x - w->anchor.x, w->pose.y - w->anchor.y) > WALKED ||
                 fabs(angle_normal(w->pose.theta - w->anchor.theta)) > TURNED;
    /* looking around is being active, and so is looking at the ball */
    bool looked = fabs(at.pan - w->pan) > NODDED || fabs(at.tilt - w->tilt) > NODDED;
    double bearing = atan2(j->ball.y - w->pose.y, j->ball.x - w->pose.x) - w->pose.theta - at.pan;
    looked |= fabs(angle_normal(bearing)) < AT_BALL;
    if (moved) {
        w->anchor = w->pose;
        w->still = j->now;
    }
    if (moved || looked) {
        w->pan = at.pan;
        w->tilt = at.tilt;
        w->active = j->now;
    }
    w->down = !at.fallen ? -1 : w->down < 0 ? j->now : w->down;
    bool off = fabs(w->pose.x) > j->field.length / 2 + j->field.line_width / 2 + j->field.border ||
               fabs(w->pose.y) > j->field.width / 2 + j->field.line_width / 2 + j->field.border;
    w->outside = !off ? -1 : w->outside < 0 ? j->now : w->outside;
}

static void watch_ball(struct nm_judge *j)
{
    const double near = j->match.rules->stuck_near;
    const struct nm_touches *touches = nm_stage_touches(j->stage);
    bool somebody = false;
    j->ball = nm_stage_ball(j->stage, &j->ball_velocity);
    bool free = j->match.kicking < 0; /* nobody can be stuck with a ball that only the others may kick */
    if (!free || vec2_norm(j->ball.x - j->ball_anchor.x, j->ball.y - j->ball_anchor.y) > MOVED) {
        j->ball_anchor = j->ball;
        j->ball_still = j->now;
    }
    for (uint32_t i = 0; i < j->n; i++) {
        if (!judge_plays(j, i)) continue;
        somebody |= near > 0 && judge_gap(j->robots[i].pose, j->ball) < near;
        if (touches->ball >> i & 1) j->last_touch = (int)i;
    }
    if (somebody || (near <= 0 && j->ball_still == j->now)) j->alone = j->now;
    j->touching = touches->ball;
}

/* What the touches since the restart mean for a goal. */
static void follow_restart(struct nm_judge *j)
{
    const enum nm_game_league league = j->match.options.league;
    bool lies = j->placed && vec2_norm(j->ball.x - j->ball_place.x, j->ball.y - j->ball_place.y) <= MOVED;
    uint32_t fresh = lies ? 0 : j->touching;
    /* a kick is a short touch: it may be over before the ball has left its place */
    if (j->placed && !lies && j->last_touch >= 0) fresh |= 1u << j->last_touch;
    bool again = j->restart.left_circle && j->restart.kicker >= 0 && (fresh >> j->restart.kicker & 1);
    if (fresh && j->restart.kicker < 0) j->restart.kicker = j->last_touch;
    j->restart.touched |= fresh;
    if (vec2_norm(j->ball.x, j->ball.y) > j->field.circle_radius) j->restart.left_circle = true;
    if (j->restart.open) return;
    bool second = __builtin_popcount(j->restart.touched) >= 2;
    if (!j->restart.kick_off) {
        j->restart.open = second;
        return;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n; i++) n += (int)j->robots[i].team == j->restart.team && judge_plays(j, i);
    j->restart.open = second || (again && (league == NM_GAME_HL || n < 3));
}

/* ---- states ---- */

static void line_up(struct nm_judge *j)
{
    for (uint32_t i = 0; i < j->n; i++) {
        struct watched *w = &j->robots[i];
        w->slot = -1;
        if (judge_plays(j, i))
            place_robot(j, i, nm_start_place(&j->field, nm_match_side(&j->match, w->team), w->number));
        else
            seat(j, i);
    }
    put_ball(j, (struct vec3){0, 0, 0}, TOO_NEAR);
}

/* A shooter before the ball, a keeper on its line, all others beside the field as substitutes. */
static void line_up_shot(struct nm_judge *j)
{
    uint32_t shooters = (uint32_t)j->match.kicking, chosen = NM_PLAYERS;
    uint32_t turn = j->match.teams[shooters].shots, seen = 0, field_players = 0;
    double goal = j->field.length / 2;
    for (uint32_t i = 0; i < j->n; i++)
        field_players += j->robots[i].team == shooters && j->robots[i].number != j->match.teams[shooters].keeper;
    for (uint32_t i = 0; i < j->n; i++) {
        struct watched *w = &j->robots[i];
        bool keeps = w->number == j->match.teams[w->team].keeper;
        if (w->team == shooters && (!keeps || !field_players) && seen++ == (field_players ? turn % field_players : 0))
            chosen = i;
    }
    put_ball(j, (struct vec3){goal - j->field.penalty_mark, 0, 0}, TOO_NEAR);
    for (uint32_t i = 0; i < j->n; i++) {
        struct watched *w = &j->robots[i];
        bool keeps = w->team != shooters && w->number == j->match.teams[w->team].keeper;
        struct nm_match_player *p = player_of(j, w);
        w->slot = -1;
        *p = (struct nm_match_player){.penalised = i != chosen && !keeps, .offence = NM_OFFENCE_SUBSTITUTED};
        if (i == chosen)
            place_robot(j, i, (struct pose2){goal - j->field.penalty_mark - 1, 0, 0});
        else if (keeps)
            place_robot(j, i, (struct pose2){goal, 0, M_PI});
        else
            seat(j, i);
    }
    remember(j, false, true, (int)shooters);
}

static void enter_state(struct nm_judge *j)
{
    static const char *const names[] = {"INITIAL", "READY", "SET", "PLAYING", "FINISHED", "STANDBY"};
    const struct nm_match *m = &j->match;
    bool shootout = m->phase == NM_GAME_SHOOTOUT, penalty_kick = m->set_play == NM_GAME_PENALTY_KICK;
    tell(j, NM_NOTE_STATE, m->kicking, -1, "%s", names[m->state]);
    j->out_since = -1;
    if (m->state == NM_GAME_INITIAL) line_up(j);
    if (m->state == NM_GAME_READY && !penalty_kick) put_ball(j, (struct vec3){0, 0, 0}, TOO_NEAR);
    if (m->state != NM_GAME_SET) return;
    if (shootout) {
        line_up_shot(j);
        return;
    }
    put_ball(j, penalty_kick ? j->ball_place : (struct vec3){0, 0, 0}, TOO_NEAR);
    judge_look_in_set(j, true);
    bool no_direct = m->options.league != NM_GAME_SPL && m->kicking >= 0;
    remember(j, !penalty_kick, penalty_kick || !no_direct, m->kicking);
}

static void in_initial(struct nm_judge *j)
{
    if (judge_for(j, j->match.since) < j->options.initial) return;
    bool shootout = j->match.phase == NM_GAME_SHOOTOUT;
    happen(j, (struct nm_match_event){.kind = shootout ? NM_MATCH_SHOT : NM_MATCH_READY});
}

static void in_ready(struct nm_judge *j)
{
    bool all_stand;
    judge_look_in_ready(j, &all_stand);
    if (all_stand) happen(j, (struct nm_match_event){.kind = NM_MATCH_SET});
}

static void in_set(struct nm_judge *j)
{
    judge_look_in_set(j, false);
    if (judge_for(j, j->match.since) < j->match.rules->set) return;
    whistle(j);
    happen(j, (struct nm_match_event){.kind = NM_MATCH_PLAY});
}

/* The steps of a set play that a clock or the ball decides. True: nobody may play yet. */
static bool take_set_play(struct nm_judge *j)
{
    const struct nm_match *m = &j->match;
    double since = judge_for(j, m->since);
    if (m->taking == NM_GAME_PLACING) {
        if (since < m->rules->placing) return true;
        put_ball(j, j->ball_place, fmax(m->rules->clearance, TOO_NEAR));
        happen(j, (struct nm_match_event){.kind = NM_MATCH_PLACED});
        return true;
    }
    if (m->taking == NM_GAME_PREPARING && m->secondary <= 0)
        happen(j, (struct nm_match_event){.kind = NM_MATCH_FREEZE});
    if (m->taking == NM_GAME_FROZEN && since > FROZEN) {
        judge_look_at_set_play(j, true);
        happen(j, (struct nm_match_event){.kind = NM_MATCH_EXECUTE});
        whistle(j);
    }
    return false;
}

/* The first touch of a ball that was placed. */
static void first_touch(struct nm_judge *j)
{
    const struct nm_match *m = &j->match;
    if (!j->placed || vec2_norm(j->ball.x - j->ball_place.x, j->ball.y - j->ball_place.y) <= MOVED) return;
    bool foul = m->kicking >= 0 && j->last_touch >= 0 && (int)j->robots[j->last_touch].team != m->kicking;
    bool early = m->taking == NM_GAME_PREPARING || m->taking == NM_GAME_FROZEN;
    if (foul || early) {
        const struct watched *w = j->last_touch >= 0 ? &j->robots[j->last_touch] : NULL;
        if (early && w)
            happen(j, (struct nm_match_event){.kind = NM_MATCH_WARN, .team = w->team, .player = w->number});
        else if (foul)
            judge_penalise(j, (uint32_t)j->last_touch, NM_OFFENCE_ENCROACHING);
        if (foul && early) happen(j, (struct nm_match_event){.kind = NM_MATCH_RETAKE});
        if (foul) {
            put_ball(j, j->ball_place, TOO_NEAR);
            return;
        }
    }
    j->placed = false;
    if (m->kicking >= 0 && m->phase != NM_GAME_SHOOTOUT) happen(j, (struct nm_match_event){.kind = NM_MATCH_FREE});
}

static bool stuck(struct nm_judge *j)
{
    const struct nm_match *m = &j->match;
    bool open = m->kicking < 0 && !m->set_play && m->phase != NM_GAME_SHOOTOUT;
    if (!open || judge_for(j, j->alone) < m->rules->stuck_global) return false;
    whistle(j);
    happen(j, (struct nm_match_event){.kind = NM_MATCH_DROP});
    return true;
}

/* True: the half is over. In the HL it ends at once, elsewhere when the ball rests. */
static bool time_up(struct nm_judge *j)
{
    if (j->match.half_left > 0) return false;
    if (j->out_since < 0) j->out_since = j->now;
    double speed = vec2_norm(j->ball_velocity.x, j->ball_velocity.y);
    bool at_once = j->match.options.league == NM_GAME_HL || j->match.phase == NM_GAME_SHOOTOUT;
    if (!at_once && speed > AT_REST && judge_for(j, j->out_since) < TIME_UP) return false;
    whistle(j);
    happen(j, (struct nm_match_event){.kind = NM_MATCH_FINISH});
    return true;
}

static void in_play(struct nm_judge *j)
{
    enum nm_exit how;
    if (take_set_play(j) || j->match.stopped) {
        judge_look_at_set_play(j, false);
        return;
    }
    follow_restart(j);
    int end = nm_pitch_scored(nm_stage_pitch(j->stage), j->ball);
    int last = j->last_touch >= 0 ? (int)j->robots[j->last_touch].team : j->restart.team >= 0 ? j->restart.team : 0;
    first_touch(j);
    if (end)
        goal(j, end);
    else if (nm_ball_out(&j->field, j->ball_radius, j->ball, nm_match_side(&j->match, (uint32_t)last), &how))
        out(j, how);
    else if (time_up(j) || stuck(j))
        return;
    else if (j->match.phase != NM_GAME_SHOOTOUT) {
        if (j->match.set_play || j->match.kicking >= 0) judge_look_at_set_play(j, false);
        judge_look_in_play(j);
    }
}

static void in_finished(struct nm_judge *j)
{
    const struct nm_match *m = &j->match;
    if (m->over || judge_for(j, m->since) < j->options.break_time) return;
    enum nm_match_event_kind next = m->phase == NM_GAME_SHOOTOUT                             ? NM_MATCH_SHOT
                                    : m->first_half                                          ? NM_MATCH_SECOND_HALF
                                    : m->phase == NM_GAME_NORMAL && m->rules->extra_half > 0 ? NM_MATCH_EXTRA_TIME
                                                                                             : NM_MATCH_SHOOTOUT;
    happen(j, (struct nm_match_event){.kind = next});
}

void nm_judge_step(struct nm_judge *j)
{
    static void (*const states[])(struct nm_judge *) = {
        [NM_GAME_INITIAL] = in_initial, [NM_GAME_READY] = in_ready,       [NM_GAME_SET] = in_set,
        [NM_GAME_PLAYING] = in_play,    [NM_GAME_FINISHED] = in_finished, [NM_GAME_STANDBY] = in_initial};
    const struct nm_match *m = &j->match;
    j->now = nm_stage_now(j->stage);
    nm_match_advance(&j->match, j->now);
    for (uint32_t i = 0; i < j->n; i++) watch_robot(j, i);
    watch_ball(j);
    /* clocks may have changed the state: what belongs to its beginning is done before it is looked at */
    for (int turn = 0; turn < 2; turn++) {
        if (m->state != j->state || m->phase != j->phase || m->first_half != j->first_half) {
            j->state = m->state;
            j->phase = m->phase;
            j->first_half = m->first_half;
            enter_state(j);
        }
        if (turn == 0) states[m->state](j);
    }
    let_in(j);
}

/* ---- life ---- */

struct nm_judge *nm_judge_new(struct nm_stage *stage, const struct nm_judge_options *options, struct nm_err *err)
{
    struct nm_judge *j = nm_calloc(1, sizeof *j);
    j->options = *options;
    j->stage = stage;
    j->n = nm_stage_robots(stage);
    j->field = nm_pitch_size(nm_stage_pitch(stage));
    j->ball_radius = nm_stage_pitch(stage)->ball_radius;
    j->dice = nm_dice_new(options->seed, 0x6a75646765, 0);
    j->out_since = -1;
    j->state = NM_GAME_FINISHED; /* so that the first step sees the match begin */
    int bad = nm_match_begin(&j->match, &options->match, err);
    for (uint32_t i = 0; i < j->n && !bad; i++) {
        const struct nm_stage_robot *row = nm_stage_robot(stage, i);
        j->robots[i] = (struct watched){.team = row->team, .number = row->shirt.number, .slot = -1, .bumped_by = -1};
        if (row->shirt.number < 1 || row->shirt.number > j->match.options.roster)
            bad = nm_fail(err, "robot %s: a match needs numbers from 1 to %u", row->name, j->match.options.roster);
        for (uint32_t k = 0; k < i; k++)
            if (j->robots[k].team == row->team && j->robots[k].number == row->shirt.number)
                bad = nm_fail(err, "robot %s: number %u is taken", row->name, row->shirt.number);
    }
    if (!bad) return j;
    free(j);
    return NULL;
}

void nm_judge_free(struct nm_judge *j) { free(j); }

const struct nm_match *nm_judge_match(const struct nm_judge *j) { return &j->match; }

/* The ball is put where a ball that left there last, or a foul where it is now, would be put. */
static int order_kick(struct nm_judge *j, const struct nm_match_event *e, struct nm_err *err)
{
    struct nm_restart_row row = {e->set_play, NM_AT_FOUL, e->set_play != NM_GAME_INDIRECT_FREE_KICK};
    int end = nm_match_side(&j->match, 1 - e->team);
    struct vec3 at = j->ball;
    for (uint32_t how = 0; how < NM_EXITS; how++)
        if (nm_restart_rows[j->match.options.league][how].set_play == e->set_play)
            row = nm_restart_rows[j->match.options.league][how];
    if (e->set_play == NM_GAME_CORNER_KICK) at.x = end * j->field.length / 2;
    if (e->set_play == NM_GAME_GOAL_KICK) at.x = -end * j->field.length / 2;
    return restart_by(j, &row, at, 1 - (int)e->team, err);
}

int nm_judge_order(struct nm_judge *j, const struct nm_match_event *e, struct nm_err *err)
{
    if (e->kind == NM_MATCH_KICK) return order_kick(j, e, err);
    if (nm_match_happen(&j->match, e, err)) return -1;
    if (e->kind == NM_MATCH_PLAY) whistle(j);
    if (e->kind == NM_MATCH_GOAL)
        tell(j, NM_NOTE_GOAL, (int)e->team, -1, "goal by order  %u:%u", j->match.teams[0].score,
             j->match.teams[1].score);
    if (e->kind != NM_MATCH_PENALTY) return 0;
    enum nm_consequence follows = nm_offence_rows[j->match.options.league][e->offence].consequence;
    for (uint32_t i = 0; i < j->n; i++)
        if (j->robots[i].team == e->team && j->robots[i].number == e->player && follows != NM_HELD &&
            follows != NM_TEAM_HELD && follows != NM_CAUTIONED)
            seat(j, i);
    tell(j, NM_NOTE_PENALTY, (int)e->team, -1, "%s by order", nm_offence_names[e->offence].name);
    return 0;
}

void nm_judge_message(struct nm_judge *j, uint32_t team, uint32_t bytes)
{
    happen(j, (struct nm_match_event){.kind = NM_MATCH_MESSAGE, .team = team, .bytes = bytes});
}

bool nm_judge_in_play(const struct nm_judge *j)
{
    return j->match.state == NM_GAME_PLAYING && !j->match.stopped && !j->match.set_play && j->match.kicking < 0;
}

int nm_judge_last_touch(const struct nm_judge *j) { return j->last_touch; }

struct pose2 nm_judge_team_to_field(const struct nm_judge *j, uint32_t team)
{
    return (struct pose2){0, 0, nm_match_side(&j->match, team) < 0 ? 0 : M_PI};
}
