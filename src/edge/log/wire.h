/* Records a ROS 2 system from outside: it listens to its topics, including those that appear later, and writes what
 * arrives as it arrives. Publishers do not notice it. Only one thread may use it. */
#pragma once

#include "edge/log/tape.h"

struct nm_wire_log;

struct nm_wire_log_options {
    int domain; /* -1: that of ROS_DOMAIN_ID */
    bool network;
    bool (*wanted)(void *user, const char *topic); /* NULL: all                                      */
    /* Called for each recorded topic. `why` says why the definition of its type is not known, so that only the bytes
     * are kept; NULL: it is known. */
    void (*found)(void *user, const char *topic, const char *why);
    void *user;
};

/* The tape must be `direct` and not started yet, and must outlive this. */
struct nm_wire_log *nm_wire_log_new(struct tape *tape, const struct nm_wire_log_options *options, struct nm_err *err);
void nm_wire_log_free(struct nm_wire_log *log);

/* Looks for new topics and records what has arrived; returns the number of messages. */
uint32_t nm_wire_log_poll(struct nm_wire_log *log);
