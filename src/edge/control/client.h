/* The client side of the control socket, for commands that talk to a running line-up. */
#pragma once

#include "codec/yaml.h"
#include "codec/json.h"
#include "edge/control/request.h"

struct nm_link;

/* Connects to the player of this name, or, with NULL, to the only one that runs. Returns NULL with a sentence if no
 * player runs, if several run (the sentence lists them), or if none has this name. `folder` NULL: the usual one. */
struct nm_link *nm_link_open(const char *folder, const char *name, struct nm_err *err);
void nm_link_close(struct nm_link *link);
/* Lists the names of the players that run here, up to `most`, in the arena; returns their number. */
uint32_t nm_link_names(const char *folder, struct nm_arena *arena, const char **names, uint32_t most);

/* Sends a request and waits at most 10 s for its answer, which lives in the arena. Returns NULL with a sentence, which
 * is the player's own if the player refused. Texts that are NULL are not sent. */
const struct nm_yaml *nm_link_ask(struct nm_link *link, struct nm_arena *arena, const struct nm_request *request,
                                  struct nm_err *err);
/* True if the player refused the last request: the request was wrong, and nothing was done. */
bool nm_link_refused(const struct nm_link *link);
/* The next object of a stream. Returns NULL without a sentence when `timeout` (ms; -1: no limit) is over or a signal
 * came, and NULL with a sentence when the player is gone. */
const struct nm_yaml *nm_link_next(struct nm_link *link, struct nm_arena *arena, int timeout, struct nm_err *err);

/* Members of an answer; 0, NAN, false or "" if the answer does not have them. */
int64_t nm_reply_whole(const struct nm_yaml *map, const char *key);
double nm_reply_number(const struct nm_yaml *map, const char *key);
bool nm_reply_bool(const struct nm_yaml *map, const char *key);
const char *nm_reply_text(const struct nm_yaml *map, const char *key);
