/* Messages of an older type into today's struct, by the names of their members: so that logs outlive the definitions
 * they were made with. What the struct does not have is passed over, what the log does not have keeps its default.
 * Numbers change their kind where the value allows it; a value or a length that does not fit refuses the whole message.
 * Where both types are the same (equal hash, or nm_map_same), nm_cdr_decode does it faster. */
#pragma once

#include "base/blob.h"
#include "codec/cdr_walk.h"

/* Whether the two have the same members in the same order, so that the bytes of one are those of the other. */
bool nm_map_same(const struct nm_def *def, const struct nm_type *type);

/* What will not come over, a sentence a member: gone, new, or of another nature. Returns how many. */
uint32_t nm_map_explain(const struct nm_def *def, const struct nm_type *type, struct nm_err *found);

/* 0, or -1 with a sentence and the message reset. Blobs take blocks of the pool; without one they stay empty. */
int nm_map_decode(const struct nm_def *def, const struct nm_type *type, void *message, const void *cdr, size_t size,
                  struct nm_blob_pool *pool, struct nm_err *err);
