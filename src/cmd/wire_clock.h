/* The clock of a world in another process: the topic /clock, as ROS 2 has it. A player that follows it lives in that
 * world's time: it stands when the world pauses, and is late when the world is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct wire_clock;

/* domain -1: what ROS_DOMAIN_ID says. NULL with a sentence. */
struct wire_clock *wire_clock_new(int domain, bool network, struct nm_err *err);
void wire_clock_free(struct wire_clock *clock);

/* ns, the newest time told, which may be the same as before; waits for a newer one at most so long. -1: none yet. */
int64_t wire_clock_wait(struct wire_clock *clock, int64_t timeout);
