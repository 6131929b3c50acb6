#include "cmd/referee_desk.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/alloc_guard.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/RefereeOrder.h"
#include "referee/orders.h"

struct referee {
    struct nm *nm;
    nm_server(RefereeOrder) orders;
    MatchState *state;
    WorldTruth *truth;
    const struct referee_desk_options *desk;
};

struct referee_desk {
    struct referee_desk_options options;
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_lineup *lineup;
    struct nm_player *player;
    bool begun;
};

/* ---- the module ---- */

static void obey(struct referee *f, const char *order, RefereeOrder_Response *reply)
{
    const struct nm_match *match = f->desk->match(f->desk->user);
    struct nm_match_event event;
    struct nm_err err = {0};
    nm_guard_leave(); /* a match that is told of a goal takes pictures of it: the world's memory, no robot's */
    if (!match)
        nm_fail(&err, "the match has not begun");
    else if (!nm_order_read(match, order, &event, &err) && !f->desk->happen(f->desk->user, &event, &err))
        reply->success = true;
    nm_guard_enter();
    if (reply->success) nm_match_words(match, err.text, sizeof err.text);
    nm_text(reply->message, "%.*s", (int)strcspn(err.text, "\n"), err.text);
}

static uint8_t penalty_of(const struct nm_match *m, const struct nm_match_player *p)
{
    static const uint8_t penalties[] = {[NM_HELD] = MatchState_PENALTY_IN_PLACE,
                                        [NM_TEAM_HELD] = MatchState_PENALTY_IN_PLACE,
                                        [NM_REMOVED] = MatchState_PENALTY_REMOVED,
                                        [NM_MOVED_OUT] = MatchState_PENALTY_REMOVED,
                                        [NM_OUT_FOR_GOOD] = MatchState_PENALTY_SENT_OFF};
    if (!p->penalised) return MatchState_PENALTY_NONE;
    if (p->offence == NM_OFFENCE_SUBSTITUTED) return MatchState_PENALTY_SUBSTITUTE;
    return penalties[nm_offence_rows[m->options.league][p->offence].consequence];
}

/* The first team is `own`. */
static void tell(const struct nm_match *m, MatchState *to)
{
    struct nm_game_packet packet;
    char words[100];
    nm_match_packet(m, true, 0, &packet);
    nm_match_words(m, words, sizeof words);
    nm_text(to->reason, "%s", words);
    to->connected = true;
    to->state = to->packet_state = packet.state;
    to->phase = packet.phase;
    to->stopped = packet.stopped;
    to->set_play = packet.set_play;
    to->taking = packet.taking;
    to->kicking = (uint8_t)(m->kicking < 0 ? MatchState_KICK_NOBODY
                            : m->kicking   ? MatchState_KICK_RIVAL
                                           : MatchState_KICK_OWN);
    to->first_half = packet.first_half;
    to->seconds_remaining = packet.seconds;
    to->secondary_seconds = packet.secondary_seconds;
    to->own_team = m->options.team_numbers[0];
    to->rival_team = m->options.team_numbers[1];
    to->own_color = m->options.team_colours[0];
    to->rival_color = m->options.team_colours[1];
    to->attack_left = m->left != 0;
    to->own_score = (uint8_t)m->teams[0].score;
    to->rival_score = (uint8_t)m->teams[1].score;
    to->goalkeeper = (uint8_t)m->teams[0].keeper;
    to->players_per_team = (uint8_t)m->options.players;
    to->penalty_shot = (uint8_t)m->teams[0].shots;
    to->single_shots = m->teams[0].shots_in;
    to->league = (uint8_t)(MatchState_LEAGUE_HL + m->options.league);
    for (uint32_t i = 0; i < NM_GAME_PLAYERS; i++) {
        to->penalties[i] = penalty_of(m, &m->teams[0].players[i]);
        to->rival_penalties[i] = penalty_of(m, &m->teams[1].players[i]);
        to->penalty_seconds[i] = (uint8_t)(nm_seconds(m->teams[0].players[i].left) + 0.999);
    }
}

static void step(struct referee *f)
{
    for (uint32_t i = 0; i < f->orders.requests.n; i++) {
        const RefereeOrder_Request *request = f->orders.requests.at[i];
        obey(f, request->order, nm_reply(f->nm, &f->orders, request));
    }
    const struct nm_match *match = f->desk->match(f->desk->user);
    if (!match) return;
    tell(match, f->state);
    nm_put(f->nm, f->state);
    if (!f->desk->truth) return;
    f->desk->truth(f->desk->user, f->truth);
    nm_put(f->nm, f->truth);
}

#define SELF struct referee
static const struct nm_port ports[] = {
    NM_SERVER(orders, RefereeOrder, "referee/order", 8),
    NM_OUT(state, MatchState, "referee/state"),
    NM_OUT(truth, WorldTruth, "truth/world"),
    {0},
};
NM_MODULE_UNLISTED(referee, "Takes orders to the referee, and tells the state of the match.", NM_PORTS(ports),
                   .step = NM_CALL(step))

/* ---- its player ---- */

struct referee_desk *referee_desk_new(const struct referee_desk_options *options, struct nm_err *err)
{
    static const char text[] = "cycles: {referee: {period: 50 ms, modules: [referee]}}\n";
    static const struct nm_module *const modules[] = {&referee_module};
    struct referee_desk *desk = nm_calloc(1, sizeof *desk);
    desk->options = *options;
    nm_registry_init(&desk->registry, &desk->arena, modules, modules + 1);
    desk->lineup = nm_lineup_parse(text, strlen(text), "referee", &desk->registry, NULL, err);
    if (desk->lineup) desk->player = nm_player_new(desk->lineup, &(struct nm_player_options){.name = "referee"}, err);
    if (desk->player) {
        ((struct referee *)nm_player_self(desk->player, 0))->desk = &desk->options;
        return desk;
    }
    referee_desk_free(desk);
    return NULL;
}

void referee_desk_free(struct referee_desk *desk)
{
    if (!desk) return;
    nm_player_free(desk->player);
    nm_lineup_free(desk->lineup);
    nm_arena_free(&desk->arena);
    free(desk);
}

struct nm_player *referee_desk_player(struct referee_desk *desk) { return desk->player; }

void referee_desk_poll(struct referee_desk *desk, int64_t now)
{
    if (!desk->begun) nm_player_begin(desk->player, now);
    desk->begun = true;
    nm_players_run(&desk->player, 1, now, 1);
}
