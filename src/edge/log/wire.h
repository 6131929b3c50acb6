/* Records a ROS 2 world from outside: listens to its topics, also those that come later, and writes what arrives as it
 * arrives. Whoever publishes knows nothing of it. One thread uses it. */
#ifndef NM_EDGE_LOG_WIRE_H
#define NM_EDGE_LOG_WIRE_H

#include "edge/log/tape.h"

struct nm_wire_log;

struct nm_wire_log_options {
    int domain; /* -1: what ROS_DOMAIN_ID says */
    bool network;
    bool (*wanted)(void *user, const char *topic); /* NULL: all                                      */
    /* A topic that is recorded; `why`: its type's definition is not known, so that only the bytes are kept. NULL: it
     * is. */
    void (*found)(void *user, const char *topic, const char *why);
    void *user;
};

/* The tape is `direct`; it must outlive this, and is not started yet. */
struct nm_wire_log *nm_wire_log_new(struct tape *tape, const struct nm_wire_log_options *options, struct nm_err *err);
void nm_wire_log_free(struct nm_wire_log *log);

/* Looks for new topics and takes what has come; how many messages. */
uint32_t nm_wire_log_poll(struct nm_wire_log *log);

#endif
