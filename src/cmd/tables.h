/* Tables that several commands print, from the answers of the control edge (edge/control/control.h). */
#ifndef NM_CMD_TABLES_H
#define NM_CMD_TABLES_H

#include <stdbool.h>
#include <stdio.h>

#include "codec/yaml.h"
#include "edge/control/control.h"
#include "codec/json.h"

/* Cycles with their rate and times; `modules`: under each those of its modules. */
void tasks_print(const struct nm_yaml *answer, bool modules, FILE *to);

/* The answer in memory as a tree; of a line-up that does not run, the same as from one that does. NULL if it is too
 * long. */
const struct nm_yaml *answer_read(struct nm_arena *arena, struct nm_json *json, struct nm_err *err);

/* "1.20 ms" of ns in an answer. */
const char *answer_time(const struct nm_yaml *map, const char *key, char to[32]);

#endif
