/* `nutmeg play` without a line-up: a training session in the simulator. */
#ifndef NM_CMD_PLAY_TRAINING_H
#define NM_CMD_PLAY_TRAINING_H

#include "cmd/playing.h"

/* Plays for options->seconds (0: as long as the scenario says); the exit code. Not part of builds without the
 * simulator. */
int play_training(struct setup *setup, const struct playing_options *options) __attribute__((weak));

#endif
