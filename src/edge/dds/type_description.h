/* Type descriptions as ROS 2 nodes exchange them (type_description_interfaces, REP-2011 and REP-2016). A node is asked
 * for a type by name and hash, and answers with all its members. With the answer a reader can decode types that it does
 * not have. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/type.h"
#include "edge/dds/pack.h"

/* Appends the reply to a request for `type`. If the type is NULL (unknown) or does not have the requested hash (""
 * accepts every hash), the reply says so. */
void describe_pack(struct pack *p, const char *name, const struct nm_type *type, const char *hash, bool sources);

/* Reads such a reply; returns the merged ros2msg text of the type, in the arena, or NULL with a sentence. */
const char *describe_read(struct nm_arena *arena, struct unpack *u, struct nm_err *err);
