/* `nutmeg param … --node`: parameters of a node of the ROS 2 world, ours or anybody's. */
#pragma once

#include "cmd/ros_topics.h"

struct ros_node {
    const char *name; /* "/red1/play"; NULL: none is meant */
    struct ros_flags ros;
};
#define ROS_NODE_FLAGS(f)                                                                                              \
    TEXT("node", &(f)->name, "NODE", "parameters of this ROS 2 node, such as /red1/play"), ROS_FLAGS(&(f)->ros)

int ros_param_list(const struct ros_node *node, const char *pattern);
int ros_param_get(const struct ros_node *node, const char *name);
int ros_param_set(const struct ros_node *node, const char *const *settings, uint32_t n);
