/* Records what a running robot, or any ROS 2 node, publishes. */
#pragma once

#include "edge/log/wire.h"

struct bag_record {
    const char *path;  /* FILE.mcap, or a folder                                      */
    uint32_t n_topics; /* names, or patterns with * and ?; 0: all                     */
    const char *const *topics;
    double seconds; /* 0: until somebody stops it                                  */
    int domain;     /* -1: what ROS_DOMAIN_ID says                                 */
    bool network;   /* beyond this machine                                         */
    enum nm_mcap_packing packing;
    uint64_t rotate, floor; /* bytes: of a file, and left free on the disk                 */
    bool (*stopping)(void);
    /* A topic; `why` nobody knows the definition of its type, or NULL. */
    void (*found)(void *user, const char *topic, const char *why);
    void (*said)(void *user, const char *sentence); /* what goes wrong meanwhile */
    void *user;
};

struct bag_recorded {
    const char *path; /* where it really is; lives in `room` */
    uint64_t messages, bytes;
    uint32_t topics;
    char room[4096];
};

/* Returns when it is stopped or the time is over; -1 with a sentence if it cannot begin. */
int bag_record(const struct bag_record *how, struct bag_recorded *made, struct nm_err *err);
