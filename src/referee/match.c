#include "referee/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/nm.h"

static const int64_t SECOND = 1000000000;

/* ---- small questions ---- */

static bool paused(const struct nm_match *m) { return m->phase == NM_GAME_TIMEOUT; }
static bool shoots_out(const struct nm_match *m) { return m->phase == NM_GAME_SHOOTOUT; }
static bool interrupted(const struct nm_match *m) { return m->state == NM_GAME_PLAYING && m->set_play; }

/* READY and SET count from the first whistle of a half on; in play-offs of the SPL they never do. */
static bool clock_runs(const struct nm_match *m)
{
    if (paused(m)) return false;
    if (shoots_out(m)) return m->state == NM_GAME_PLAYING;
    if (m->rules->halts_clock && interrupted(m)) return false;
    if (m->state == NM_GAME_PLAYING) return true;
    bool stands = m->options.league == NM_GAME_SPL && m->options.knock_out;
    return m->played && !stands && (m->state == NM_GAME_READY || m->state == NM_GAME_SET);
}

/* Of a match with shorter halves it is shorter, too. */
static double extra_half(const struct nm_match *m) { return m->rules->extra_half * m->options.half / m->rules->half; }

static bool penalties_count(const struct nm_match *m)
{
    if (paused(m) || m->stopped || (m->rules->halts_clock && interrupted(m))) return false;
    return m->state == NM_GAME_PLAYING || m->state == NM_GAME_READY;
}

/* Decided when one team cannot catch up with the shots that both have left; in sudden death after the same number. */
static int shootout_winner(const struct nm_match *m)
{
    const struct nm_match_team *t = m->teams;
    int in[2] = {__builtin_popcount(t[0].shots_in), __builtin_popcount(t[1].shots_in)};
    uint32_t regular = m->rules->shots, most = t[0].shots > t[1].shots ? t[0].shots : t[1].shots;
    uint32_t full = most > regular ? most : regular;
    bool running = m->state == NM_GAME_SET || m->state == NM_GAME_PLAYING;
    for (int a = 0; a < 2; a++) {
        uint32_t taken = t[1 - a].shots - (running && m->kicking == 1 - a ? 1 : 0);
        if (in[a] > in[1 - a] + (int)(full - taken)) return a;
    }
    return -1;
}

int nm_match_winner(const struct nm_match *m)
{
    if (shoots_out(m)) return shootout_winner(m);
    if (m->teams[0].score == m->teams[1].score) return -1;
    return m->teams[0].score > m->teams[1].score ? 0 : 1;
}

static struct nm_match_face face_of(const struct nm_match *m)
{
    return (struct nm_match_face){.state = m->state,
                                  .set_play = m->set_play,
                                  .kicking = m->kicking,
                                  .secondary = m->secondary,
                                  .half_left = clock_runs(m) ? INT64_MAX : m->half_left,
                                  .scores = {m->teams[0].score, m->teams[1].score}};
}

/* Packets keep on showing what was until the delay is over. */
static void hold(struct nm_match *m, double seconds)
{
    if (!(seconds > 0) || m->options.no_delay) return;
    m->held = face_of(m);
    m->held_until = m->now + nm_ns(seconds);
}

/* ---- changes ---- */

static void enter(struct nm_match *m, enum nm_game_state state, double secondary)
{
    m->state = state;
    m->secondary = nm_ns(secondary);
    m->since = m->now;
    m->stopped = false;
}

static void no_set_play(struct nm_match *m)
{
    m->set_play = NM_GAME_NO_SET_PLAY;
    m->taking = NM_GAME_NOT_TAKING;
    m->stopped = false;
    m->secondary = 0;
    m->since = m->now;
}

static bool for_good(const struct nm_match *m, const struct nm_match_player *p)
{
    return p->penalised && nm_offence_rows[m->options.league][p->offence].consequence == NM_OUT_FOR_GOOD;
}

static void release(struct nm_match_player *p)
{
    p->penalised = p->waits = false;
    p->left = 0;
}

/* Half-time and time-outs end penalties; `only`: of this consequence, or all. */
static void release_all(struct nm_match *m, enum nm_consequence only)
{
    for (uint32_t i = 0; i < 2 * NM_GAME_PLAYERS; i++) {
        struct nm_match_player *p = &m->teams[i / NM_GAME_PLAYERS].players[i % NM_GAME_PLAYERS];
        if (!p->penalised || for_good(m, p)) continue;
        if (only == NM_NO_OFFENCE || nm_offence_rows[m->options.league][p->offence].consequence == only) release(p);
    }
}

static void begin_half(struct nm_match *m, enum nm_game_phase phase, bool first, double seconds)
{
    m->phase = phase;
    m->first_half = first;
    m->half_left = nm_ns(seconds);
    m->played = false;
    no_set_play(m);
    enter(m, NM_GAME_INITIAL, 0);
    release_all(m, NM_NO_OFFENCE);
    for (int t = 0; t < 2; t++)
        if (m->rules->timeouts_each_half) m->teams[t].timeouts = m->rules->timeouts;
}

static void kick_off_for(struct nm_match *m, int team)
{
    no_set_play(m);
    m->kicking = m->kick_off = team;
    enter(m, NM_GAME_READY, m->rules->ready);
}

static void send_off(struct nm_match_player *p)
{
    p->red_cards = 1;
    p->penalised = true;
    p->waits = false;
    p->offence = NM_OFFENCE_RED_CARD;
    p->left = 0;
}

static void finish(struct nm_match *m)
{
    bool draw = nm_match_winner(m) < 0;
    no_set_play(m);
    enter(m, NM_GAME_FINISHED, m->first_half && m->phase == NM_GAME_NORMAL ? m->rules->half_break : 0);
    m->held_until = 0;
    release_all(m, NM_NO_OFFENCE);
    if (shoots_out(m))
        m->over = shootout_winner(m) >= 0 || (m->teams[0].shots == m->teams[1].shots &&
                                              m->teams[0].shots >= m->rules->shots + m->rules->sudden_death);
    else if (!m->first_half)
        m->over = !(draw && m->options.knock_out);
}

/* ---- events ---- */

static int on_standby(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (m->options.league != NM_GAME_SPL || m->options.version < 17)
        return nm_fail(err, "only the SPL has STANDBY, from version 17 of its packets on");
    enter(m, NM_GAME_STANDBY, 0);
    return 0;
}

static int on_ready(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (shoots_out(m)) return nm_fail(err, "a shoot-out has no READY: 'shot' starts the next shot");
    release_all(m, NM_TEAM_HELD);
    kick_off_for(m, m->kicking);
    return 0;
}

static int on_set(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e, (void)err;
    enter(m, NM_GAME_SET, 0);
    return 0;
}

static int on_play(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e, (void)err;
    hold(m, m->rules->signal_delay);
    release_all(m, NM_MOVED_OUT);
    double secondary = m->set_play == NM_GAME_PENALTY_KICK ? m->rules->taking_penalty_kick
                       : m->kicking >= 0 && !shoots_out(m) ? m->rules->kick_off_free
                                                           : 0;
    enter(m, NM_GAME_PLAYING, secondary);
    m->played = true;
    return 0;
}

static int on_goal(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    struct nm_match_team *team = &m->teams[e->team];
    if (shoots_out(m) && (int)e->team != m->kicking)
        return nm_fail(err, "the other team shoots: only its goals count now");
    if (!shoots_out(m)) hold(m, m->rules->goal_delay);
    if (!team->talked_too_much) team->score++;
    if (shoots_out(m)) {
        team->shots_in |= (uint16_t)(1u << (team->shots - 1));
        finish(m);
        return 0;
    }
    uint32_t ahead = (uint32_t)abs((int)m->teams[0].score - (int)m->teams[1].score);
    if (m->rules->mercy && ahead >= m->rules->mercy) {
        finish(m);
        m->over = true;
        return 0;
    }
    kick_off_for(m, 1 - (int)e->team);
    return 0;
}

static int on_kick(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    if (e->set_play <= NM_GAME_NO_SET_PLAY || e->set_play >= NM_GAME_SET_PLAYS)
        return nm_fail(err, "there is no such set play");
    if (m->options.league == NM_GAME_SPL && e->set_play == NM_GAME_INDIRECT_FREE_KICK)
        return nm_fail(err, "the SPL has no indirect free kick");
    if (shoots_out(m)) return nm_fail(err, "there are no set plays in a shoot-out");
    no_set_play(m);
    m->set_play = e->set_play;
    m->kicking = (int)e->team;
    if (e->set_play == NM_GAME_PENALTY_KICK && m->rules->ready_penalty_kick > 0) {
        enter(m, NM_GAME_READY, m->rules->ready_penalty_kick);
        return 0;
    }
    m->taking = m->rules->placing > 0 ? NM_GAME_PLACING : NM_GAME_NOT_TAKING;
    m->stopped = m->rules->stops_play;
    m->secondary = m->taking ? 0 : nm_ns(m->rules->taking);
    return 0;
}

static int on_placed(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (m->taking != NM_GAME_PLACING) return nm_fail(err, "no ball is being placed");
    bool prepares = m->rules->preparing > 0;
    m->taking = prepares ? NM_GAME_PREPARING : NM_GAME_NOT_TAKING;
    m->stopped = false;
    m->secondary = nm_ns(prepares ? m->rules->preparing : m->rules->taking);
    m->since = m->now;
    return 0;
}

static int on_freeze(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (m->taking != NM_GAME_PREPARING) return nm_fail(err, "no set play is being prepared");
    m->taking = NM_GAME_FROZEN;
    m->secondary = 0;
    m->since = m->now;
    return 0;
}

static int on_execute(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (m->taking != NM_GAME_PREPARING && m->taking != NM_GAME_FROZEN)
        return nm_fail(err, "no set play is being prepared");
    no_set_play(m);
    m->secondary = nm_ns(m->rules->taking);
    return 0;
}

static int on_retake(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (m->taking == NM_GAME_NOT_TAKING || m->options.league != NM_GAME_HL)
        return nm_fail(err, "there is no set play to retake");
    m->taking = NM_GAME_PLACING;
    m->secondary = 0;
    m->since = m->now;
    return 0;
}

static int on_free(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (m->kicking < 0) return nm_fail(err, "the ball is in play already");
    no_set_play(m);
    m->kicking = -1;
    return 0;
}

static int on_drop(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (shoots_out(m)) return nm_fail(err, "there is no dropped ball in a shoot-out");
    kick_off_for(m, -1);
    return 0;
}

static int on_stop(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (!m->rules->stops_play) return nm_fail(err, "only the HSL stops play");
    if (m->stopped) return nm_fail(err, "play is stopped already");
    m->stopped = true;
    return 0;
}

static int on_continue(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    if (!m->stopped) return nm_fail(err, "play is not stopped");
    if (m->taking == NM_GAME_PLACING) return on_placed(m, e, err);
    m->stopped = false;
    return 0;
}

static int no_such_player(const struct nm_match_event *e, struct nm_err *err)
{
    return nm_fail(err, "there is no player %u", e->player);
}

static struct nm_match_player *player_of(struct nm_match *m, const struct nm_match_event *e)
{
    return e->player >= 1 && e->player <= m->options.roster ? &m->teams[e->team].players[e->player - 1] : NULL;
}

static int on_penalty(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    struct nm_match_team *team = &m->teams[e->team];
    struct nm_match_player *p = player_of(m, e);
    const struct nm_offence_row *row = &nm_offence_rows[m->options.league][e->offence];
    if (!p) return no_such_player(e, err);
    if (row->consequence == NM_NO_OFFENCE)
        return nm_fail(err, "%s is no offence in the rules of %s", nm_offence_names[e->offence].name, m->rules->name);
    if (for_good(m, p)) return nm_fail(err, "player %u is not in the game", e->player);
    if (p->penalised && e->offence != NM_OFFENCE_YELLOW_CARD && e->offence != NM_OFFENCE_RED_CARD)
        return nm_fail(err, "player %u is penalised already", e->player);
    p->penalties++;
    if (e->offence == NM_OFFENCE_YELLOW_CARD && ++p->yellow_cards >= 2) {
        send_off(p);
        return 0;
    }
    if (e->offence == NM_OFFENCE_RED_CARD) send_off(p);
    if (row->consequence == NM_CAUTIONED || e->offence == NM_OFFENCE_RED_CARD) return 0;
    bool timed = row->consequence == NM_REMOVED || row->consequence == NM_HELD;
    uint32_t n = row->consequence == NM_TEAM_HELD ? m->options.roster : 1;
    for (uint32_t i = 0; i < n; i++) {
        struct nm_match_player *q = n > 1 ? &team->players[i] : p;
        if (q->penalised && q != p) continue;
        q->penalised = true;
        q->offence = e->offence;
        q->left = timed ? nm_ns(nm_penalty_seconds(m->options.league, e->offence, team->counted)) : 0;
        q->waits = row->consequence == NM_REMOVED && m->rules->clock_waits;
    }
    team->counted += row->counted;
    return 0;
}

static int on_seated(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    struct nm_match_player *p = player_of(m, e);
    if (!p) return no_such_player(e, err);
    if (!p->penalised || !p->waits) return nm_fail(err, "player %u has no clock that waits", e->player);
    p->waits = false;
    return 0;
}

static int on_release(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    struct nm_match_player *p = player_of(m, e);
    if (!p) return no_such_player(e, err);
    if (!p->penalised) return nm_fail(err, "player %u is not penalised", e->player);
    if (for_good(m, p))
        return nm_fail(err, "player %u does not come back: %s", e->player, nm_offence_names[p->offence].name);
    release(p);
    return 0;
}

static int on_warn(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    struct nm_match_player *p = player_of(m, e);
    if (!p) return no_such_player(e, err);
    if (m->options.league != NM_GAME_HL) return nm_fail(err, "only the HL has warnings");
    if (for_good(m, p)) return nm_fail(err, "player %u is not in the game", e->player);
    if (++p->warnings < 2) return 0;
    p->warnings = 0;
    if (++p->yellow_cards >= 2) send_off(p);
    return 0;
}

static int on_substitute(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    struct nm_match_event out = {.team = e->team, .player = e->other};
    struct nm_match_player *in = player_of(m, e), *from = player_of(m, &out);
    if (!in || !from) return no_such_player(in ? &out : e, err);
    if (!in->penalised || in->offence != NM_OFFENCE_SUBSTITUTED)
        return nm_fail(err, "player %u is no substitute", e->player);
    if (for_good(m, from)) return nm_fail(err, "player %u is not in the game", e->other);
    struct nm_match_player was = *from;
    from->penalised = true;
    from->offence = NM_OFFENCE_SUBSTITUTED;
    from->waits = false;
    from->left = 0;
    release(in); /* a penalty that runs goes over to whoever comes in */
    if (was.penalised) in->penalised = true, in->offence = was.offence, in->left = was.left, in->waits = was.waits;
    return 0;
}

static int on_keeper(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    if (!player_of(m, e)) return no_such_player(e, err);
    m->teams[e->team].keeper = e->player;
    return 0;
}

static void pause_for(struct nm_match *m, double seconds)
{
    m->timeout_from = m->phase;
    m->phase = NM_GAME_TIMEOUT;
    no_set_play(m);
    enter(m, NM_GAME_INITIAL, seconds);
    release_all(m, NM_NO_OFFENCE);
}

static int on_timeout(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    if (paused(m)) return nm_fail(err, "there is a time-out already");
    if (!m->teams[e->team].timeouts) return nm_fail(err, "this team has had its time-out");
    m->teams[e->team].timeouts--;
    pause_for(m, m->rules->timeout);
    return 0;
}

static int on_referee_timeout(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (paused(m)) return nm_fail(err, "there is a time-out already");
    pause_for(m, m->rules->referee_timeout);
    return 0;
}

static int on_resume(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (!paused(m)) return nm_fail(err, "there is no time-out");
    m->phase = m->timeout_from;
    enter(m, NM_GAME_INITIAL, 0);
    return 0;
}

static int on_finish(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e, (void)err;
    finish(m);
    return 0;
}

static int on_second_half(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (!m->first_half || shoots_out(m) || m->over) return nm_fail(err, "the first half is not what has just ended");
    double seconds = m->phase == NM_GAME_EXTRA_TIME ? extra_half(m) : m->options.half;
    m->left = 1 - m->left;
    m->first_kick_off = 1 - m->first_kick_off;
    m->kicking = m->kick_off = (int)m->first_kick_off;
    begin_half(m, m->phase, false, seconds);
    return 0;
}

static int only_after_draw(const struct nm_match *m, const char *what, struct nm_err *err)
{
    if (!m->options.knock_out) return nm_fail(err, "only a knock-out game has %s", what);
    if (m->first_half || m->over || nm_match_winner(m) >= 0) return nm_fail(err, "%s follows a draw", what);
    return 0;
}

static int on_extra_time(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (!(m->rules->extra_half > 0)) return nm_fail(err, "%s has no extra time", m->rules->name);
    if (m->phase != NM_GAME_NORMAL) return nm_fail(err, "extra time follows the normal game");
    if (only_after_draw(m, "extra time", err)) return -1;
    m->left = 1 - m->left;
    m->first_kick_off = m->options.kick_off;
    m->kicking = m->kick_off = (int)m->first_kick_off;
    for (int t = 0; t < 2; t++) m->teams[t].messages += m->rules->messages_extra_time;
    begin_half(m, NM_GAME_EXTRA_TIME, true, extra_half(m));
    return 0;
}

static int on_shootout(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (shoots_out(m)) return nm_fail(err, "this is the shoot-out: 'shot' starts the next shot");
    if (only_after_draw(m, "a shoot-out", err)) return -1;
    begin_half(m, NM_GAME_SHOOTOUT, false, m->rules->shot);
    m->kicking = -1;
    return 0;
}

static int on_shot(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    (void)e;
    if (!shoots_out(m)) return nm_fail(err, "there is no shoot-out");
    if (m->over) return nm_fail(err, "the shoot-out is decided");
    int first = (int)m->options.kick_off;
    m->kicking = m->kick_off = m->teams[first].shots > m->teams[1 - first].shots ? 1 - first : first;
    m->teams[m->kicking].shots++;
    m->left = (uint32_t)m->kicking; /* all shots go to the goal at +x */
    m->half_left = nm_ns(m->rules->shot);
    enter(m, NM_GAME_SET, 0);
    return 0;
}

static int on_message(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    struct nm_match_team *team = &m->teams[e->team];
    (void)err;
    team->sent++;
    team->messages--;
    bool long_one = m->rules->message_bytes && e->bytes > m->rules->message_bytes;
    if (long_one || (m->rules->messages && team->messages < 0)) {
        team->talked_too_much = true;
        team->score = 0;
    }
    return 0;
}

enum {
    INITIAL = 1 << NM_GAME_INITIAL,
    READY = 1 << NM_GAME_READY,
    SET = 1 << NM_GAME_SET,
    PLAYING = 1 << NM_GAME_PLAYING,
    FINISHED = 1 << NM_GAME_FINISHED,
    STANDBY = 1 << NM_GAME_STANDBY,
    ALWAYS = INITIAL | READY | SET | PLAYING | FINISHED | STANDBY,
    RUNNING = READY | SET | PLAYING,
};

const char *const nm_match_event_names[NM_MATCH_EVENTS] = {
    [NM_MATCH_STANDBY] = "standby",
    [NM_MATCH_READY] = "ready",
    [NM_MATCH_SET] = "set",
    [NM_MATCH_PLAY] = "play",
    [NM_MATCH_GOAL] = "goal",
    [NM_MATCH_KICK] = "kick",
    [NM_MATCH_PLACED] = "placed",
    [NM_MATCH_FREEZE] = "freeze",
    [NM_MATCH_EXECUTE] = "execute",
    [NM_MATCH_RETAKE] = "retake",
    [NM_MATCH_FREE] = "free",
    [NM_MATCH_DROP] = "drop",
    [NM_MATCH_STOP] = "stop",
    [NM_MATCH_CONTINUE] = "continue",
    [NM_MATCH_PENALTY] = "penalty",
    [NM_MATCH_SEATED] = "seated",
    [NM_MATCH_RELEASE] = "release",
    [NM_MATCH_WARN] = "warn",
    [NM_MATCH_SUBSTITUTE] = "substitute",
    [NM_MATCH_KEEPER] = "keeper",
    [NM_MATCH_TIMEOUT] = "timeout",
    [NM_MATCH_REFEREE_TIMEOUT] = "referee-timeout",
    [NM_MATCH_RESUME] = "resume",
    [NM_MATCH_FINISH] = "finish",
    [NM_MATCH_SECOND_HALF] = "second-half",
    [NM_MATCH_EXTRA_TIME] = "extra-time",
    [NM_MATCH_SHOOTOUT] = "shootout",
    [NM_MATCH_SHOT] = "shot",
    [NM_MATCH_MESSAGE] = "message",
};

/* In which states of the game an event may happen, during a time-out too or not, and whether packets that are held
 * back then show everything at once: it could not have happened in the state that they show. */
static const struct {
    int (*happen)(struct nm_match *match, const struct nm_match_event *event, struct nm_err *err);
    unsigned states;
    bool in_timeout, reveals;
} events[NM_MATCH_EVENTS] = {
    [NM_MATCH_STANDBY] = {on_standby, INITIAL, false, true},
    [NM_MATCH_READY] = {on_ready, INITIAL | STANDBY, false, true},
    [NM_MATCH_SET] = {on_set, READY, false, true},
    [NM_MATCH_PLAY] = {on_play, SET, false, true},
    [NM_MATCH_GOAL] = {on_goal, PLAYING, false, true},
    [NM_MATCH_KICK] = {on_kick, PLAYING, false, true},
    [NM_MATCH_PLACED] = {on_placed, PLAYING, false, true},
    [NM_MATCH_FREEZE] = {on_freeze, PLAYING, false, true},
    [NM_MATCH_EXECUTE] = {on_execute, PLAYING, false, true},
    [NM_MATCH_RETAKE] = {on_retake, PLAYING, false, true},
    [NM_MATCH_FREE] = {on_free, PLAYING, false, false},
    [NM_MATCH_DROP] = {on_drop, PLAYING, false, true},
    [NM_MATCH_STOP] = {on_stop, RUNNING, false, true},
    [NM_MATCH_CONTINUE] = {on_continue, RUNNING, false, true},
    [NM_MATCH_PENALTY] = {on_penalty, ALWAYS & ~FINISHED, false, false},
    [NM_MATCH_SEATED] = {on_seated, ALWAYS, true, false},
    [NM_MATCH_RELEASE] = {on_release, ALWAYS, true, false},
    [NM_MATCH_WARN] = {on_warn, ALWAYS, true, false},
    [NM_MATCH_SUBSTITUTE] = {on_substitute, ALWAYS, true, false},
    [NM_MATCH_KEEPER] = {on_keeper, ALWAYS, true, false},
    [NM_MATCH_TIMEOUT] = {on_timeout, INITIAL | STANDBY | READY | SET, false, true},
    [NM_MATCH_REFEREE_TIMEOUT] = {on_referee_timeout, ALWAYS & ~FINISHED, false, true},
    [NM_MATCH_RESUME] = {on_resume, INITIAL, true, true},
    [NM_MATCH_FINISH] = {on_finish, RUNNING, false, true},
    [NM_MATCH_SECOND_HALF] = {on_second_half, FINISHED, false, true},
    [NM_MATCH_EXTRA_TIME] = {on_extra_time, FINISHED, false, true},
    [NM_MATCH_SHOOTOUT] = {on_shootout, FINISHED, false, true},
    [NM_MATCH_SHOT] = {on_shot, INITIAL | FINISHED, false, true},
    [NM_MATCH_MESSAGE] = {on_message, ALWAYS, true, false},
};

static const char *const state_names[] = {"INITIAL", "READY", "SET", "PLAYING", "FINISHED", "STANDBY"};

/* A robot that is pushed shows that play goes on; one that moves in SET shows nothing. */
static bool tells_of_play(const struct nm_match *m, const struct nm_match_event *e)
{
    if (e->kind != NM_MATCH_PENALTY || m->state != NM_GAME_PLAYING) return false;
    return e->offence != NM_OFFENCE_MOTION_IN_SET && e->offence != NM_OFFENCE_POSITION_IN_SET &&
           e->offence != NM_OFFENCE_PICK_UP;
}

/* Which events that change the state of the game may happen now, tried on copies. */
static const char *possible(const struct nm_match *m, char *to, size_t size)
{
    size_t used = 0;
    for (int kind = 0; kind < NM_MATCH_EVENTS; kind++) {
        if ((events[kind].states | FINISHED) == ALWAYS || !(events[kind].states >> m->state & 1)) continue;
        struct nm_match_event e = {.kind = (enum nm_match_event_kind)kind, .set_play = NM_GAME_DIRECT_FREE_KICK};
        bool can = false;
        for (e.team = 0; e.team < 2 && !can; e.team++) {
            struct nm_match copy = *m;
            can = !events[kind].happen(&copy, &e, NULL);
        }
        if (can && used < size)
            used += (size_t)snprintf(to + used, size - used, "%s%s",
                                     used ? ", " : "now possible: ", nm_match_event_names[kind]);
    }
    if (!used) snprintf(to, size, "%s", m->over ? "the game is over" : "nothing is possible now");
    return to;
}

int nm_match_happen(struct nm_match *m, const struct nm_match_event *e, struct nm_err *err)
{
    if (e->kind >= NM_MATCH_EVENTS || e->team > 1 || e->offence >= NM_OFFENCES) return nm_fail(err, "no such event");
    const char *name = nm_match_event_names[e->kind];
    if (paused(m) && !events[e->kind].in_timeout)
        return nm_fail(err, "%s: not during a time-out, 'resume' ends it", name);
    if (!(events[e->kind].states >> m->state & 1)) {
        char now[200];
        return nm_fail(err, "%s: not in %s; %s", name, state_names[m->state], possible(m, now, sizeof now));
    }
    int64_t held = m->held_until;
    if (events[e->kind].happen(m, e, err)) return -1;
    if ((events[e->kind].reveals || tells_of_play(m, e)) && m->held_until == held) m->held_until = 0;
    return 0;
}

/* ---- time ---- */

/* What follows when the second clock has run out. */
static void secondary_over(struct nm_match *m)
{
    if (m->state == NM_GAME_READY)
        enter(m, NM_GAME_SET, 0);
    else if (m->state == NM_GAME_PLAYING && m->taking == NM_GAME_NOT_TAKING) {
        no_set_play(m);
        m->kicking = -1;
    }
}

static bool secondary_runs(const struct nm_match *m)
{
    if (m->stopped || shoots_out(m)) return false;
    return m->secondary > 0 && m->state != NM_GAME_SET;
}

static void penalties_run(struct nm_match *m, int64_t step)
{
    for (uint32_t i = 0; i < 2 * NM_GAME_PLAYERS; i++) {
        struct nm_match_player *p = &m->teams[i / NM_GAME_PLAYERS].players[i % NM_GAME_PLAYERS];
        if (!p->penalised || p->waits || p->left <= 0) continue;
        p->left = p->left > step ? p->left - step : 0;
        bool held = nm_offence_rows[m->options.league][p->offence].consequence == NM_HELD;
        if (!p->left && (held || m->rules->auto_release)) release(p);
    }
}

void nm_match_advance(struct nm_match *m, int64_t now)
{
    while (m->now < now) {
        int64_t step = now - m->now;
        bool counts = secondary_runs(m);
        if (counts && step > m->secondary) step = m->secondary;
        if (clock_runs(m)) m->half_left -= step;
        if (penalties_count(m)) penalties_run(m, step);
        m->now += step;
        if (counts && (m->secondary -= step) <= 0) {
            m->secondary = 0;
            secondary_over(m);
        }
    }
    m->now = now;
}

/* ---- packets ---- */

static int16_t seconds_up(int64_t ns)
{
    int64_t s = ns > 0 ? (ns + SECOND - 1) / SECOND : -(-ns / SECOND);
    return (int16_t)(s > INT16_MAX ? INT16_MAX : s < INT16_MIN ? INT16_MIN : s);
}

static uint8_t number_of(const struct nm_match *m, int team)
{
    return team < 0 ? NM_GAME_NOBODY : m->options.team_numbers[team];
}

static void show_player(const struct nm_match *m, const struct nm_match_player *p, struct nm_game_player *to)
{
    const struct nm_offence_row *row = &nm_offence_rows[m->options.league][p->offence];
    int16_t left = seconds_up(p->left);
    to->warnings = p->warnings;
    to->cautions = p->yellow_cards;
    to->red_cards = p->red_cards;
    if (!p->penalised) return;
    to->penalty = (uint8_t)row->penalty;
    to->seconds = (uint8_t)(p->waits && m->options.league == NM_GAME_HSL ? 0 : left > 255 ? 255 : left);
}

static void show_team(const struct nm_match *m, uint32_t t, uint32_t score, struct nm_game_team *to)
{
    const struct nm_match_team *team = &m->teams[t];
    to->number = m->options.team_numbers[t];
    to->color = to->keeper_color = m->options.team_colours[t];
    to->goalkeeper = (uint8_t)team->keeper;
    to->score = (uint8_t)(score > 255 ? 255 : score);
    to->shots = (uint8_t)team->shots;
    to->shots_in = team->shots_in;
    to->message_budget = (uint16_t)(team->messages < 0 ? 0 : team->messages > UINT16_MAX ? UINT16_MAX : team->messages);
    for (uint32_t p = 0; p < NM_GAME_PLAYERS; p++) show_player(m, &team->players[p], &to->players[p]);
    if (team->keeper) to->players[team->keeper - 1].goalkeeper = 1;
}

void nm_match_packet(const struct nm_match *m, bool truth, uint8_t number, struct nm_game_packet *to)
{
    bool held = !truth && m->now < m->held_until;
    struct nm_match_face face = held ? m->held : face_of(m);
    memset(to, 0, sizeof *to);
    to->version = m->options.version;
    to->truth = truth;
    to->number = number;
    to->players_per_team = (uint8_t)m->options.players;
    to->competition_phase = m->options.league == NM_GAME_SPL && m->options.knock_out;
    to->state = (uint8_t)face.state;
    to->phase = (uint8_t)m->phase;
    to->set_play = (uint8_t)face.set_play;
    to->taking = (uint8_t)(held ? NM_GAME_NOT_TAKING : m->taking);
    to->stopped = !held && m->stopped;
    to->first_half = m->first_half;
    to->kicking_team = number_of(m, face.kicking);
    to->kick_off_team = number_of(m, m->kick_off);
    to->drop_in_seconds = UINT16_MAX;
    to->seconds = seconds_up(held && face.half_left != INT64_MAX ? face.half_left : m->half_left);
    to->secondary_seconds = seconds_up(face.secondary);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t t = i == 0 ? m->left : 1 - m->left;
        show_team(m, t, face.scores[t], &to->teams[i]);
    }
}

/* ---- begin ---- */

int nm_match_begin(struct nm_match *m, const struct nm_match_options *options, struct nm_err *err)
{
    memset(m, 0, sizeof *m);
    m->options = *options;
    struct nm_match_options *o = &m->options;
    if (o->league >= NM_GAME_LEAGUES) return nm_fail(err, "there is no such league");
    m->rules = &nm_rules[o->league];
    if (!o->version) o->version = m->rules->version;
    if (nm_game_league(o->version) != o->league)
        return nm_fail(err, "%s has no packets of version %u", m->rules->name, o->version);
    if (!o->players) o->players = m->rules->players;
    if (!o->roster) o->roster = o->players;
    if (!(o->half > 0)) o->half = m->rules->half;
    uint32_t most = o->league == NM_GAME_HL ? 11 : NM_GAME_PLAYERS;
    if (o->players < 1 || o->roster > most || o->players > most)
        return nm_fail(err, "a team of %s has 1 to %u players", m->rules->name, most);
    if (o->players > o->roster)
        return nm_fail(err, "a team with a roster of %u cannot have %u players on the field", o->roster, o->players);
    if (o->team_numbers[0] == o->team_numbers[1] || !o->team_numbers[0] || !o->team_numbers[1] ||
        o->team_numbers[0] == NM_GAME_NOBODY || o->team_numbers[1] == NM_GAME_NOBODY)
        return nm_fail(err, "the teams need two different numbers from 1 to 254");
    m->first_kick_off = o->kick_off & 1;
    m->kicking = m->kick_off = (int)m->first_kick_off;
    for (int t = 0; t < 2; t++) {
        m->teams[t].timeouts = m->rules->timeouts;
        m->teams[t].messages = m->rules->messages;
        m->teams[t].keeper = 1;
        for (uint32_t p = o->players; p < NM_GAME_PLAYERS; p++) /* official controllers show all others so, too */
            m->teams[t].players[p] = (struct nm_match_player){.penalised = true, .offence = NM_OFFENCE_SUBSTITUTED};
    }
    begin_half(m, NM_GAME_NORMAL, true, o->half);
    return 0;
}

/* ---- words ---- */

const char *const nm_match_set_play_names[NM_GAME_SET_PLAYS] = {
    "", "free kick", "indirect free kick", "penalty kick", "throw-in", "goal kick", "corner kick"};

void nm_match_words(const struct nm_match *m, char *to, size_t size)
{
    int64_t clock = paused(m) ? m->secondary : m->half_left, left = clock > 0 ? seconds_up(clock) : 0;
    bool undecided = m->over && shoots_out(m) && nm_match_winner(m) < 0;
    const char *half = shoots_out(m)                    ? "shoot-out"
                       : paused(m)                      ? "time-out"
                       : m->phase == NM_GAME_EXTRA_TIME ? (m->first_half ? "extra time 1" : "extra time 2")
                       : m->first_half                  ? "half 1"
                                                        : "half 2";
    snprintf(to, size, "%s %d:%02d  %u:%u  %s%s%s%s", half, (int)(left / 60), (int)(left % 60), m->teams[0].score,
             m->teams[1].score, state_names[m->state], m->set_play ? " " : "", nm_match_set_play_names[m->set_play],
             undecided ? ", undecided: draw lots" : "");
}
