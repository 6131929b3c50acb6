/* Events of a match as lines of text, for terminals, scripts and services: "goal red", "penalty blue 3 pushing", "kick
 * red corner". */
#pragma once

#include "referee/match.h"

/* Teams are called red and blue (the first and the second), or by their numbers. Words of the rest may be shortened
 * as long as they are clear. -1 with a sentence. */
int nm_order_read(const struct nm_match *match, const char *line, struct nm_match_event *event, struct nm_err *err);
/* What may be said, a line each. */
extern const char nm_orders_help[];
