/* `nutmeg play` without a line-up: a training session in the simulator. */
#pragma once

#include "cmd/playing.h"

/* Plays for options->seconds (0: as long as the scenario says); the exit code. Not part of builds without the
 * simulator. */
int play_training(struct setup *setup, const struct playing_options *options) __attribute__((weak));
