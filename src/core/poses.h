/* Converts poses of messages to those of base/geometry.h. */
#pragma once

#include "base/geometry.h"
#include "geometry_msgs/Pose.h"

static inline struct quat nm_quat(const Quaternion *q) { return (struct quat){q->w, q->x, q->y, q->z}; }

/* The pose on the ground: place and yaw. */
static inline struct pose2 nm_pose2(const Pose *p)
{
    return (struct pose2){p->position.x, p->position.y, quat_yaw(nm_quat(&p->orientation))};
}
