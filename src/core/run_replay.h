/* Repeats single runs of cycles. The caller gives a run exactly the messages that entered it according to a log
 * (core/run_record.h). The cycles do not hear each other: the caller passes on what they make, or what the log has in
 * its place. Nothing here uses a clock, a thread or a file; record/replay.h replays whole logs with this.
 *
 *     struct nm_replay *replay = nm_replay_new(player, &err);
 *     Imu *imu = nm_replay_put(replay, cycle, topic, &slot);       filled by the caller, for each message it consumed
 *     nm_replay_run(replay, &run, made, user);                     `made` is called with every message that the run
 * made */
#pragma once

#include "core/player.h"
#include "core/run_record.h"

struct nm_replay;

/* The player must not be started and must have no edges. It owns the result. */
struct nm_replay *nm_replay_new(struct nm_player *player, struct nm_err *err);

/* Whether a cycle takes this topic from outside itself. */
bool nm_replay_takes(const struct nm_replay *replay, uint32_t cycle, uint32_t topic);
/* Whether a cycle makes it. */
bool nm_replay_makes(const struct nm_replay *replay, uint32_t cycle, uint32_t topic);

/* The next message for the next run of a cycle, reset and to be filled before the next call. NULL if the cycle does not
 * take the topic or its queue is full. `slot` gives time, caller and call. Take blobs from nm_replay_pool. */
void *nm_replay_put(struct nm_replay *replay, uint32_t cycle, uint32_t topic, const struct nm_slot *slot);
/* Some instances of a cycle may read a topic as a value and others as a queue, and with several makers the value is not
 * always the last message of the queue. Then nm_replay_put gives a message to the former and nm_replay_push one to the
 * latter; where all read it in the same way, nm_replay_put gives it to them. */
bool nm_replay_reads(const struct nm_replay *replay, uint32_t cycle, uint32_t topic, bool queue);
void *nm_replay_push(struct nm_replay *replay, uint32_t cycle, uint32_t topic, const struct nm_slot *slot);
struct nm_blob_pool *nm_replay_pool(const struct nm_replay *replay, uint32_t topic);

/* Parameters that a cycle takes over at the start of its next run, in addition to those of earlier calls. Call it right
 * before that run; no other cycle may run in between. */
void nm_replay_set(struct nm_replay *replay, uint32_t cycle, const struct nm_change *changes, uint32_t n);

/* Called with each message that a run made. */
typedef void nm_replay_made(void *user, uint32_t cycle, uint32_t topic, const void *message);
/* Repeats a run. Of `run` it uses the cycle, the number, the time and `watched`. */
void nm_replay_run(struct nm_replay *replay, const struct nm_run *run, nm_replay_made *made, void *user);

/* Starts where a snapshot (core/run_record.h) was taken. `notes` says what could not be restored. */
int nm_replay_restore(struct nm_replay *replay, uint32_t cycle, const void *bytes, size_t n, struct nm_err *notes,
                      struct nm_err *err);
