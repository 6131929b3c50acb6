/* Our own team message: quantised and packed to bits, so that all that matters fits into the 128 bytes of the SPL.
 *
 *   'N', version, team, player, number, time, state | pose | ball | target | roles | echo | search | kick | look |
 *   obstacles | body | errors | check of 16 bits
 *
 * Each section begins with a count, which is 0 for one that was dropped; the later it stands, the less it matters.
 * Version 1, which has no echo, is still read, for the sake of old logs. */
#pragma once

#include "codec/team_news.h"

/* Returns the length; 0 if not even the first part fits. The time is kept to a millisecond and wraps after 49 days. */
NM_EXPORT size_t nm_compact_encode(const struct nm_team_news *news, void *bytes, size_t room);
/* False: it is not one of ours, or it is damaged. */
NM_EXPORT bool nm_compact_decode(const void *bytes, size_t n, struct nm_team_news *news);
