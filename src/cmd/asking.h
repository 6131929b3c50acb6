/* Commands that ask a running line-up: the connection, its answers, and the complaint if there is no line-up. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cmd/options.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "edge/control/client.h"
#include "edge/control/control.h"

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

/* Prints cycles with their rate and times; `modules`: below each cycle the times of its modules. */
void tasks_print(const struct nm_yaml *answer, bool modules, FILE *to);

/* An answer in memory as a tree, so that a line-up that does not run gives the same answer as one that does. NULL if it
 * is too long. */
const struct nm_yaml *answer_read(struct nm_arena *arena, struct nm_json *json, struct nm_err *err);
