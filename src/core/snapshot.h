/* What a cycle remembers at the end of a run, as bytes: the structs of its modules, their random numbers, the messages
 * on its board and those it has taken in, and the history of frames. Written inside a run without taking memory; read
 * back by a replay (core/run_replay.h) into a line-up that has the same cycle. The bytes come from a file, so reading
 * trusts none of them.
 *
 *   u32 magic, u64 run, i64 now
 *   u32 instances: text name, u64[4] random numbers, u32 ports: u64 taken, u64 lost; u32 size of the struct,
 *     u32 spans of it that are not as after init: u32 first word, u32 words, those
 *     u32 words that point into the struct itself: u32 word, u64 where
 *   u32 values made, u32 values taken in: text topic, u64 seq, u64 run, i64 time, u32 size, CDR (size 0: none kept)
 *   u32 queues made: text topic, u64 messages pushed so far, u32 of them kept:
 *     u64 run, i64 time, u64 caller, i64 call, u32 size, CDR
 *   u32 bytes of the history of frames, and these bytes
 *
 * A text is a u32 and its bytes. Messages with large payloads are left out: their readers see none until the next.
 *
 * A struct may hold pointers that init made (to the robot's model, to tables): what is as it was after init is not
 * stored, and gets the value that init gives it where the snapshot is read. Pointers into the struct itself are moved
 * with it. Others are not allowed in a module's state. Ports are left out. So the same run gives the same bytes. */
#pragma once

#include "core/internal.h"

/* Restores the state. What does not fit the line-up is left out with a sentence in `notes`: an instance that it does
 * not have, or one whose struct has another size. -1 with a sentence if the bytes make no sense; what was read before
 * them stays. */
int snapshot_read(struct nm_cycle *cycle, const uint8_t *bytes, size_t n, struct nm_err *notes, struct nm_err *err);
