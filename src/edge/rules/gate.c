#include "edge/rules/gate.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"

#define BECAUSE(state)                                                                                                 \
    "the robot plays (" state "), and the rules forbid remote control until the game ends or it is penalised"

const char *nm_remote_locked(const MatchState *match)
{
    static const char *const why[] = {
        [MatchState_INITIAL] = NULL,       [MatchState_READY] = BECAUSE("READY"),
        [MatchState_SET] = BECAUSE("SET"), [MatchState_PLAYING] = BECAUSE("PLAYING"),
        [MatchState_FINISHED] = NULL,      [MatchState_STANDBY] = BECAUSE("STANDBY"),
    };
    if (match->penalized || match->phase == MatchState_PHASE_TIMEOUT) return NULL;
    if (match->state >= sizeof why / sizeof why[0]) return BECAUSE("an unknown state");
    return why[match->state];
}

struct nm_gate {
    struct nm_player *player;
    uint32_t users;
    uint32_t match; /* the topic match_state; NM_NONE: the line-up does not have it */
    pthread_mutex_t lock;
    struct nm_edge *edge; /* reads match_state; belongs to the holder of the lock */
    const char *game;     /* why the game locks the gate; NULL: it does not       */
};

struct nm_gate *nm_gate_of(struct nm_player *player, struct nm_err *err)
{
    const struct nm_lineup *lineup = nm_player_lineup(player);
    void **shared = nm_player_gate(player);
    struct nm_gate *gate = *shared;
    if (gate) {
        gate->users++;
        return gate;
    }
    gate = nm_calloc(1, sizeof *gate);
    *gate = (struct nm_gate){.player = player, .users = 1, .match = nm_lineup_topic(lineup, "match_state")};
    if (gate->match != NM_NONE &&
        (lineup->topics[gate->match].type != &MatchState_type || lineup->topics[gate->match].queue))
        gate->match = NM_NONE;
    const struct nm_edge_port port = {"match_state", NM_PORT_IN, NULL, 0, 0};
    gate->edge = nm_edge_new(player, "gate", &port, gate->match != NM_NONE, err);
    if (!gate->edge) {
        free(gate);
        return NULL;
    }
    pthread_mutex_init(&gate->lock, NULL);
    *shared = gate;
    return gate;
}

void nm_gate_free(struct nm_gate *gate)
{
    if (!gate || --gate->users) return;
    *nm_player_gate(gate->player) = NULL;
    pthread_mutex_destroy(&gate->lock);
    free(gate);
}

/* Reads the state of the game from a module or an edge of this process. If it comes from outside, the accepted messages
 * count and not the newest one on the board, which may have been accepted just before the game began. */
static void look(struct nm_gate *gate)
{
    if (gate->match == NM_NONE) return;
    const struct nm_topic *topic = &nm_player_lineup(gate->player)->topics[gate->match];
    if (!topic->n_producers && !nm_player_hardware(gate->player, gate->match)) return;
    nm_edge_begin(gate->edge, nm_player_now(gate->player));
    const MatchState *match = nm_edge_in(gate->edge, 0);
    if (nm_slot(match)->seq) gate->game = nm_remote_locked(match);
    nm_edge_end(gate->edge);
}

static int admit(struct nm_gate *gate, uint32_t topic, bool here, const void *message, struct nm_err *err)
{
    const char *name = nm_player_lineup(gate->player)->topics[topic].name;
    const char *maker = nm_player_hardware(gate->player, topic);
    if (maker) return nm_fail(err, "%s is refused: the edge '%s' of this process publishes it", name, maker);
    look(gate);
    if (gate->game && !here) return nm_fail(err, "%s is refused: %s", name, gate->game);
    if (topic == gate->match) gate->game = nm_remote_locked(message);
    return 0;
}

int nm_gate_admit(struct nm_gate *gate, uint32_t topic, bool here, const void *message, struct nm_err *err)
{
    pthread_mutex_lock(&gate->lock);
    int bad = admit(gate, topic, here, message, err);
    pthread_mutex_unlock(&gate->lock);
    if (bad) nm_player_refuse(gate->player, topic);
    return bad;
}

const char *nm_gate_locked(struct nm_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    look(gate);
    const char *game = gate->game;
    pthread_mutex_unlock(&gate->lock);
    return game;
}
