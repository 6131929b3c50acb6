/* The shortest way around discs: straight lines and arcs, a taut rope from start to target.
 *
 * A way is a list of bends, each a disc that is passed on its left or its right; its lines are the common tangents of
 * neighbouring bends. The search starts with the straight line. Where the way meets a disc, that disc becomes a bend,
 * once on each side, and the shorter of the two ways is kept. With n discs in the way this tries at most 2^n ways; the
 * number of tries is limited, because a robot that has thought long enough should walk. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"

enum { DETOUR_DISCS = 48, DETOUR_BENDS = 8 };

struct detour_disc {
    double x, y, radius; /* m */
};

struct detour {
    struct pose2 from, to;
    uint32_t n;
    struct detour_bend {
        double x, y, radius; /* m, of the disc                                             */
        double side;         /* 1: the disc lies to the left of the way, -1: to the right  */
        double begin, sweep; /* rad: where the arc begins, seen from the disc, and how long it is, 0 or more */
    } bends[DETOUR_BENDS];
    double length; /* m                                                        */
    bool clear;    /* false: every way that was tried crosses a disc: it is the straight one */
};

/* What makes another way than the shortest one the better one. */
struct detour_habit {
    double side, metres; /* of the first bend of the way before, 0: none; another side must save so much */
    double turn;         /* m/rad, what it costs to turn from `from` into the way                       */
};

/* Finds a way; if there is none, it is the straight one. Discs that contain start or target are made smaller until they
 * do not. `habit` may be NULL. */
void detour_find(struct detour *way, struct pose2 from, struct pose2 to, const struct detour_disc discs[], uint32_t n,
                 const struct detour_habit *habit);

/* The point so many metres along the way, and the direction of the way there. */
struct pose2 detour_at(const struct detour *way, double along);
