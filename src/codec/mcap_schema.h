/* From the schema of a log to the definition by which its messages are read (cdr_walk.h). */
#pragma once

#include "codec/mcap.h"
#include "codec/msgdef.h"

/* The definition of a ros2msg schema, linked, in the arena. Time and Duration may be missing in the text: everybody
 * knows them. NULL with sentences for other encodings and for texts with faults. */
struct nm_def *nm_mcap_def(struct nm_arena *arena, const struct nm_mcap_schema *schema, struct nm_err *err);
