/* The desk: services that the process itself answers, and not a module of the line-up: the clock of a simulation, the
 * referee of its match, views on disk. The live server and the control socket have the same desk. */
#pragma once

#include <stdlib.h>

#include "base/type.h"

enum nm_desk_right {
    NM_DESK_LOOK,  /* everybody who may look                                                                    */
    NM_DESK_WORLD, /* who may write. It changes the world around the robots, so the lock during a game does not
                    * concern it */
    NM_DESK_ROBOT, /* who may write, and not during a game */
};

struct nm_desk_service {
    const char *name; /* "sim/command" */
    const struct nm_type *request, *reply;
    enum nm_desk_right right;
    /* Fills the reply, which is reset. It runs in the thread of the server or of the socket. */
    void (*answer)(void *user, const void *request, void *reply);
    void *user;
};

enum { NM_DESK_SERVICES = 16 };
struct nm_desk {
    uint32_t n;
    struct nm_desk_service at[NM_DESK_SERVICES];
};

static inline void nm_desk_add(struct nm_desk *desk, struct nm_desk_service row)
{
    if (desk->n == NM_DESK_SERVICES) abort(); /* the table is made at start, from constants */
    desk->at[desk->n++] = row;
}
