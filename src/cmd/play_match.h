/* A match to watch: what `make play` shows. */
#pragma once

#include "cmd/match.h"
#include "cmd/playing.h"

/* `options` of the player: seconds, seed, log and live; `speed`: against the clock, 0: as fast as it goes. The exit
 * code. NULL in builds without the simulator. */
int play_match(struct setup *setup, const struct playing_options *options, struct match_options *match, double speed)
    __attribute__((weak));
