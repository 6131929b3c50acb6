/* A message about how well a cycle has kept its times since the last report. */
#pragma once

#include "core/player.h"
#include "nutmeg_msgs/CycleStatistics.h"

struct nm_cycle_mark; /* what was counted at the last report */
size_t nm_cycle_mark_size(const struct nm_player *player, uint32_t cycle);

/* Fills the message with what came since the mark, and moves the mark. From any thread. */
void nm_cycle_report(const struct nm_player *player, uint32_t cycle, struct nm_cycle_mark *mark, CycleStatistics *to);
