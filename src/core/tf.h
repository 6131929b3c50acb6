/* Coordinate frames with their recent past: a tree in which each edge keeps a ring of stamped poses. Its memory is
 * fixed. Only the cycle that owns it writes and reads it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/geometry.h"

enum { TF_FRAMES = 128, TF_SAMPLES = 256, TF_NAME = 48 };

struct tf_tree *tf_new(struct nm_arena *arena);

/* Adds a sample of child_to_parent. Refused (false): empty or too long names, a frame that is its own parent or would
 * close a loop, no room for another frame, a pose that is not finite. A second parent moves the frame there. Older
 * samples than the newest are dropped. */
bool tf_put(struct tf_tree *tree, const char *parent, const char *child, int64_t stamp, struct pose3 child_to_parent,
            bool fixed);

/* from_to_to at a time (0: the newest that all frames on the way have); false if unknown, unconnected, or not covered.
 */
bool tf_get(const struct tf_tree *tree, const char *from, const char *to, int64_t at, struct pose3 *from_to_to);

/* The tree as bytes, at most tf_most() of them: how many were written, 0 where they do not fit; and back. Bytes that
 * make no sense are refused (-1) and leave the tree empty. */
size_t tf_most(void);
size_t tf_save(const struct tf_tree *tree, uint8_t *to, size_t room);
int tf_load(struct tf_tree *tree, const uint8_t *bytes, size_t size);
