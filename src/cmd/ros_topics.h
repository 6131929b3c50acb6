/* `nutmeg topic … --dds`: the topics of a ROS 2 world, with nothing of ROS installed. */
#pragma once

#include "cmd/options.h"

struct ros_flags {
    bool dds;
    int64_t domain; /* -1: what ROS_DOMAIN_ID says */
    bool network;
};
#define ROS_FLAGS(f)                                                                                                   \
    SWITCH("dds", &(f)->dds, "looks at ROS 2 instead of a line-up on this machine"),                                   \
        WHOLE("domain", &(f)->domain, 0, 232, "N", "DDS domain (default: ROS_DOMAIN_ID, or 0)"),                       \
        SWITCH("network", &(f)->network, "uses the network, not only this machine")

enum ros_kind { ROS_TOPICS, ROS_SERVICES, ROS_ALL_SERVICES, ROS_ACTIONS };
int ros_list_kind(const struct ros_flags *flags, enum ros_kind kind, const char *pattern);
int ros_echo(const struct ros_flags *flags, const char *topic, int64_t count);
/* How often it comes, or with `bytes` how much of it. */
int ros_rate(const struct ros_flags *flags, const char *topic, double every, int64_t count, bool bytes);

int ros_info(int argc, char **argv);
int ros_bw(int argc, char **argv);
int ros_pub(int argc, char **argv);
