/* A line-up can extend others. It then says only what is different:
 *
 *     extends: match                    # or a list; a name is a file beside this one, anything with a '/' is a path
 *     remove: [walk]                    # instances of the others that this line-up does not have
 *     cycles:
 *       motion:                         # settings that are given here replace those of the others
 *         modules:
 *           - module: planner           # an instance of the others: parameters and topics are added to its own
 *             params: {forward: 0.95}
 *           - walk_policy               # a new one
 *
 * Later ones of a list extend the earlier ones in the same way. An instance that is listed in another cycle moves
 * there. A cycle without instances vanishes. A remote topic of the others is no longer remote if a module makes it.
 *
 * A name with colons needs no file: match:vision is the line-up that extends [match, vision] and adds nothing. */
#pragma once

#include "codec/yaml.h"

/* The whole line-up of a file, as if it had been written without `extends`. Nodes of other files keep their file and
 * line. A fault makes `rc` -1; if the others cannot be read, the result is NULL, too. With `foreign` no other file is
 * opened. */
const struct nm_yaml *nm_lineup_extended(struct nm_arena *arena, const struct nm_yaml *file, bool foreign, int *rc,
                                         struct nm_err *err);

/* The text of the line-up "folder/match:vision.yaml", or NULL if the name has no colon. */
const char *nm_lineup_joined(struct nm_arena *arena, const char *path);
