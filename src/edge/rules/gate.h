/* Who may come in: one rule for everything that somebody outside sends to a line-up, whichever way it takes (a viewer,
 * the control socket, DDS). All edges of a player share one gate.
 *
 * - A topic that an edge of this process makes (the servo bus, a joystick, the simulator) is not taken from outside.
 * - While the robot plays (edge/rules/remote.h) nothing is taken from outside: no topic, no request, no parameter.
 * Other processes of this machine, over DDS, are a part of the robot and not outside.
 * - The state of the game comes from the topic match_state. Where a module or an edge of this process makes it, theirs
 *   counts. Where it comes from outside, it can end the game only if this machine sends it: what came from elsewhere
 * can close the gate, but not open it again. */
#ifndef NM_EDGE_RULES_GATE_H
#define NM_EDGE_RULES_GATE_H

#include "core/player.h"

struct nm_gate;

/* The gate of a player, made by the first edge that asks, between nm_player_new and the start. Each who got it gives it
 * back by nm_gate_free, before the player is freed. NULL with a sentence. */
struct nm_gate *nm_gate_of(struct nm_player *player, struct nm_err *err);
void nm_gate_free(struct nm_gate *gate); /* NULL is fine */

/* ---- from any thread, once the line-up runs ---- */

/* Whether a message may come in; -1 with the reason, and it is counted. `here`: a process of this machine sends it over
 * DDS. What is let in must be published: a match_state counts from now on. */
int nm_gate_admit(struct nm_gate *gate, uint32_t topic, bool here, const void *message, struct nm_err *err);
/* Why nobody outside may change anything now, as half a sentence; NULL: they may. */
const char *nm_gate_locked(struct nm_gate *gate);

#endif
