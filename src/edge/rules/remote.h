/* The leagues' rule that nobody steers a robot while it plays: when those outside may change anything. One place for
 * every edge through which a change could come. */
#ifndef NM_EDGE_RULES_REMOTE_H
#define NM_EDGE_RULES_REMOTE_H

#include "nutmeg_msgs/MatchState.h"

/* Why nobody outside may change anything now, as half a sentence; NULL if they may: before and after the game, in a
 * time-out, while the robot is penalised. A game controller that has fallen silent changes nothing. */
const char *nm_remote_locked(const MatchState *match);

#endif
