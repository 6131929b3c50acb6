/* The other end of the control socket: what commands ask a running line-up. */
#ifndef NM_EDGE_CONTROL_CLIENT_H
#define NM_EDGE_CONTROL_CLIENT_H

#include "codec/yaml.h"
#include "edge/control/json.h"
#include "edge/control/request.h"

struct nm_link;

/* Connects to the player of this name, or, with NULL, to the only one that runs. -1 with a sentence: none runs, several
 * do (they are named), or not this one. `folder` NULL: the usual one. */
struct nm_link *nm_link_open(const char *folder, const char *name, struct nm_err *err);
void nm_link_close(struct nm_link *link);
/* Names of the players that run here, up to `most`, from the arena; their number. */
uint32_t nm_link_names(const char *folder, struct nm_arena *arena, const char **names, uint32_t most);

/* Sends a request and waits for its answer, at most 10 s; NULL with a sentence, the player's own if it refused. Texts
 * left NULL are not sent. The answer lives in the arena. */
const struct nm_yaml *nm_link_ask(struct nm_link *link, struct nm_arena *arena, const struct nm_request *request,
                                  struct nm_err *err);
/* Whether the last request was refused by the player: it was wrong, and nothing was done. */
bool nm_link_refused(const struct nm_link *link);
/* The next object of a stream. NULL without a sentence when `timeout` (ms, -1: none) is over or a signal came, with one
 * when the player is gone. */
const struct nm_yaml *nm_link_next(struct nm_link *link, struct nm_arena *arena, int timeout, struct nm_err *err);

/* Members of an answer; 0, NAN, false or "" where it has none. */
int64_t nm_reply_whole(const struct nm_yaml *map, const char *key);
double nm_reply_number(const struct nm_yaml *map, const char *key);
bool nm_reply_bool(const struct nm_yaml *map, const char *key);
const char *nm_reply_text(const struct nm_yaml *map, const char *key);

#endif
