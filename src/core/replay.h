/* Runs the cycles of a player one run at a time, each with exactly the messages that it is handed: what a log says
 * entered a run enters it again. The cycles do not hear each other; whoever drives this hands on what they make, or
 * what the log has in its place. Nothing here knows a clock, a thread or a file.
 *
 *     struct nm_replay *replay = nm_replay_new(player, &err);
 *     Imu *imu = nm_replay_put(replay, cycle, topic, &slot);       filled by the caller, for each message it consumed
 *     nm_replay_run(replay, &run, made, user);                     `made` is told every message that came out */
#ifndef NM_CORE_REPLAY_H
#define NM_CORE_REPLAY_H

#include "core/player.h"
#include "core/record.h"

struct nm_replay;

/* Of a player that nobody has started and that has no edges. It belongs to the player. */
struct nm_replay *nm_replay_new(struct nm_player *player, struct nm_err *err);

/* Whether a cycle takes this topic from outside itself. */
bool nm_replay_takes(const struct nm_replay *replay, uint32_t cycle, uint32_t topic);
/* Whether a cycle makes it. */
bool nm_replay_makes(const struct nm_replay *replay, uint32_t cycle, uint32_t topic);

/* The next message that a cycle's next run is to see, reset, to be filled before the next call; NULL where the cycle
 * does not take the topic or its queue is full. `slot` gives time, caller and call. Blobs are taken from
 * nm_replay_pool.
 */
void *nm_replay_put(struct nm_replay *replay, uint32_t cycle, uint32_t topic, const struct nm_slot *slot);
/* Some instances of a cycle may read a topic as a value and others as a queue, and with several makers the value is not
 * always the last message of the queue. Then nm_replay_put gives a message to the former and nm_replay_push one to the
 * latter; where all read it in the same way, nm_replay_put gives it to them. */
bool nm_replay_reads(const struct nm_replay *replay, uint32_t cycle, uint32_t topic, bool queue);
void *nm_replay_push(struct nm_replay *replay, uint32_t cycle, uint32_t topic, const struct nm_slot *slot);
struct nm_blob_pool *nm_replay_pool(const struct nm_replay *replay, uint32_t topic);

/* Parameters that a cycle takes in at the start of its next run, beside those of earlier calls; right before that run,
 * with no other cycle in between. */
void nm_replay_set(struct nm_replay *replay, uint32_t cycle, const struct nm_change *changes, uint32_t n);

/* One message that a run made, as it stands on the board. */
typedef void nm_replay_made(void *user, uint32_t cycle, uint32_t topic, const void *message);
/* A run: of `run` its cycle, number, time and `watched` count. */
void nm_replay_run(struct nm_replay *replay, const struct nm_run *run, nm_replay_made *made, void *user);

/* Begins where a snapshot (core/record.h) was taken. What could not be restored is told in `notes`. */
int nm_replay_restore(struct nm_replay *replay, uint32_t cycle, const void *bytes, size_t n, struct nm_err *notes,
                      struct nm_err *err);

#endif
