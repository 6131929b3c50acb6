/* The gate: one rule for everything that comes from outside to a line-up, on any way (a viewer, the control socket,
 * DDS). All edges of a player share one gate.
 *
 * - A topic that an edge of this process publishes (the servo bus, a joystick, the simulator) is refused from outside.
 * - While the robot plays, nothing is accepted from outside: no topic, no request, no parameter. Other processes of
 * this machine that use DDS are part of the robot and not outside.
 * - The state of the game comes from the topic match_state. If a module or an edge of this process publishes it, that
 * one counts. If it comes from outside, only this machine can end the game: a message from another machine can close
 * the gate, but cannot open it again. */
#pragma once

#include "core/player.h"
#include "nutmeg_msgs/MatchState.h"

struct nm_gate;

/* The gate of a player; the first call makes it. Call it between nm_player_new and nm_player_start. Each caller
 * releases it with nm_gate_free before the player is freed. NULL with a sentence. */
struct nm_gate *nm_gate_of(struct nm_player *player, struct nm_err *err);
void nm_gate_free(struct nm_gate *gate); /* NULL is allowed */

/* ---- from any thread, once the line-up runs ---- */

/* 0 if a message may come in; -1 with the reason, and the refusal is counted. `here`: a process of this machine sends
 * it over DDS. An accepted message must be published, because a match_state counts from now on. */
int nm_gate_admit(struct nm_gate *gate, uint32_t topic, bool here, const void *message, struct nm_err *err);
/* Why nobody outside may change anything now, as half a sentence; NULL: changes are allowed. */
const char *nm_gate_locked(struct nm_gate *gate);

/* The rule of the leagues that nobody steers a robot while it plays: the same for one state of the game. Changes are
 * allowed before and after the game, in a time-out, and while the robot is penalised. If the game controller is silent,
 * the last state stays. */
const char *nm_remote_locked(const MatchState *match);
