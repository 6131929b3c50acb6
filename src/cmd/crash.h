/* Who was at work when the program ended badly: a crash in a step names robot, cycle, instance and module, on the error
 * output and in the file crash.txt of the black box, and then takes its usual course. All of it is safe in a signal
 * handler. */
#pragma once

#include <stdbool.h>

#include "core/player.h"

/* From now on crashes are told. `folder`: where crash.txt is to be, NULL for none; it need not exist yet. */
void crash_tell(const char *folder);
/* Players whose steps are known by name, at most 64; forget them before they are freed. NULL forgets all. */
void crash_watch(const struct nm_player *player);
void crash_forget(const struct nm_player *player);

/* Writes which instances are in their steps now to the error output, one line each; false if none is. */
bool crash_say_busy(void);
