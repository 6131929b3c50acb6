/* Where a mate is now: what he said of himself is as old as the way of his message and the time since. Shared by
 * strategy and robot_tracker. */
#pragma once

#include <math.h>

#include "base/clamp.h"
#include "base/geometry.h"
#include "core/stamp.h"
#include "nutmeg_msgs/TeamMessage.h"

#define MATE_WALKS_ON 1.0 /* s, longer than this nobody is believed to have walked straight on */

/* m/s: of a mate who walks to where he said, slower over the last metre. */
static inline struct vec3 mate_velocity(const TeamMessage *m)
{
    double dx = m->walk_target.x - m->pose.pose.x, dy = m->walk_target.y - m->pose.pose.y, far = vec2_norm(dx, dy);
    double speed = fmin((double)m->max_walk_speed, far);
    bool walks =
        m->action != TeamMessage_ACTION_WAITING && m->state == TeamMessage_STATE_ACTIVE && far > 0.3 && isfinite(speed);
    return walks ? (struct vec3){speed * dx / far, speed * dy / far, 0} : (struct vec3){0};
}

static inline struct pose2 mate_place(const TeamMessage *m, int64_t now)
{
    double walked = nm_clamp(nm_seconds(now - nm_stamp_ns(m->header.stamp)), 0, MATE_WALKS_ON);
    struct vec3 v = mate_velocity(m);
    return (struct pose2){m->pose.pose.x + walked * v.x, m->pose.pose.y + walked * v.y, m->pose.pose.theta};
}
