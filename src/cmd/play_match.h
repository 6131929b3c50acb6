/* A match to watch: what `make play` shows. */
#pragma once

#include "cmd/match.h"
#include "cmd/playing.h"

/* `options` of the player: seconds, seed, log and live; `speed`: against the clock, 0: as fast as it goes. The exit
 * code. NULL in builds without the simulator. */
int play_match(struct setup *setup, const struct playing_options *options, struct match_options *match, double speed)
    __attribute__((weak));

/* How robots see where nobody says it: with the best eyes that this machine plays fast enough. */
struct play_eyes {
    const char *fidelity; /* camera, or percept                         */
    const char *lineup;   /* camera: the line-up that sees              */
    char sentence[300];   /* where these are not the best eyes: why; "" */
};
/* Plays a second with a line-up that sees: how fast that was against the clock, or 0 with the reason. */
typedef double play_trial(void *user, const char *lineup, char *reason, size_t size);
/* `speed` of the match, as above; robots that walk cost more than those that wait, so the trial must be faster. */
void play_choose_eyes(double speed, play_trial *trial, void *user, struct play_eyes *to);
