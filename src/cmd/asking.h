/* A command that asks a running line-up: the connection, and the complaint where there is none. */
#ifndef NM_CMD_ASKING_H
#define NM_CMD_ASKING_H

#include "cmd/options.h"
#include "edge/control/client.h"

struct asking {
    struct nm_arena arena;
    struct nm_link *link;
    int code; /* how the command ends: EXIT_OK until something is refused or fails */
};

#define TO_FLAG(target) TEXT("to", target, "NAME", "which player to ask, if several run")

/* Connects to the player `to`, or to the only one with NULL. After a complaint the exit code: EXIT_USAGE where players
 * run, but not this one or several. */
int asking_begin(struct asking *asking, const char *to);
/* The answer, NULL after a complaint. */
const struct nm_yaml *ask(struct asking *asking, const struct nm_request *request);
int asking_end(struct asking *asking); /* the exit code */

/* Sleeps; false if a signal to end came (SIGINT, SIGTERM), which from the first call on no longer kills. */
bool pause_for(double seconds);

#endif
