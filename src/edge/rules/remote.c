#include "edge/rules/remote.h"

#include <stddef.h>

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
    if (match->state >= sizeof why / sizeof why[0]) return BECAUSE("in a state that we do not know");
    return why[match->state];
}
