/* Type descriptions as ROS 2 nodes exchange them (type_description_interfaces, REP-2011 and REP-2016): a node is asked
 * for a type by its name and hash, and answers with all its members. With it a reader can decode what it has no
 * definition of. */
#ifndef NM_EDGE_DDS_DESCRIBE_H
#define NM_EDGE_DDS_DESCRIBE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/type.h"
#include "edge/dds/pack.h"

/* Appends the reply to a request for `type`, which may be NULL (unknown) and whose hash may be another one than the one
 * asked for ("" fits all): then the reply says so. */
void describe_pack(struct pack *p, const char *name, const struct nm_type *type, const char *hash, bool sources);

/* Reads such a reply: the merged ros2msg text of the type, in the arena; NULL with a sentence. */
const char *describe_read(struct nm_arena *arena, struct unpack *u, struct nm_err *err);

#endif
