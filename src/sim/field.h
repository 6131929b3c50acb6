/* The field of a rule set: its lines, goals and ball, read from fields/<name>.yaml. The file holds the numbers as the
 * rule book prints them; here every length of a line is that of the middle of its paint, whatever edge the rule book
 * measures to. Origin at the centre, x to the opponents' goal, y left. (`struct nm_field` is a message's member, so the
 * field is a pitch in C.) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/geometry.h"
#include "base/pitch.h"

enum { NM_PITCH_ARCS = 5, NM_PITCH_SPOTS = 3, NM_PITCH_PATCHES = 8 };

struct nm_arc {
    double x, y, radius;
    double from, sweep; /* rad; from + sweep is the other end, 2 pi a whole circle */
};

enum nm_spot_kind { NM_SPOT_CROSS, NM_SPOT_DOT, NM_SPOT_DASH };
struct nm_spot { /* penalty marks and centre mark */
    enum nm_spot_kind kind;
    double x, y, size; /* length of the cross or dash, diameter of the dot */
};

/* A rectangle of other ground. Flat patches lie in the plane of the field; one that rises is a ramp upon it, from
 * nothing at one edge to `rise` at the other. */
struct nm_patch {
    double x0, y0, x1, y1; /* m, x0 < x1 and y0 < y1                                     */
    double turf, friction; /* m of blades; as share of the field's                       */
    double rise_x, rise_y; /* m, from x0 to x1 or from y0 to y1; negative: the other way */
};

struct nm_pitch {
    char name[32], title[64];
    double length, width, line_width;              /* m                                              */
    double goal_area_depth, goal_area_width;       /* depth from the goal line                       */
    double penalty_area_depth, penalty_area_width; /* 0 x 0: none                                    */
    double penalty_mark;                           /* from the goal line                             */
    double circle_radius;
    double border;        /* carpet beyond the lines' outer edge            */
    double corner_radius; /* arcs at the corners, 0: none                   */

    double goal_width, goal_height, goal_depth; /* between the posts, under the bar, to the net           */
    double post;                                /* diameter or edge of posts and bar                      */
    bool round_posts;
    float net[3]; /* colour of the net, 0 to 1                                                          */

    double turf; /* m, length of the blades: the softness of the ground                                */
    double ball_radius, ball_mass;
    uint32_t players; /* a team */
    uint32_t n_patches;
    struct nm_patch patches[NM_PITCH_PATCHES]; /* of two that overlap the later one counts */

    /* derived */
    uint32_t n_lines, n_arcs, n_spots, n_crossings;
    struct nm_line lines[NM_PITCH_LINES];
    struct nm_arc arcs[NM_PITCH_ARCS]; /* the centre circle first */
    struct nm_spot spots[NM_PITCH_SPOTS];
    struct nm_crossing crossings[NM_PITCH_CROSSINGS];
    struct vec3 posts[NM_PITCH_POSTS]; /* foot of each post's axis: own right, own left, their right, their left
                                          (as y sorts them) */
};

/* Reads a file; -1 and sentences if a key is missing, unknown or out of its range, or if the areas do not fit. */
int nm_pitch_read(struct nm_pitch *pitch, const char *path, struct nm_err *err);
int nm_pitch_parse(struct nm_pitch *pitch, const char *file, const char *text, size_t size, struct nm_err *err);

/* The lengths as modules have them. */
struct nm_pitch_size nm_pitch_size(const struct nm_pitch *pitch);

/* Half of the carpet's extent in x and y. */
static inline double nm_pitch_half_x(const struct nm_pitch *p) { return p->length / 2 + p->line_width / 2 + p->border; }
static inline double nm_pitch_half_y(const struct nm_pitch *p) { return p->width / 2 + p->line_width / 2 + p->border; }

/* True on the paint of a line, arc or spot. The slow, obvious way: cameras paint the same thing faster. */
bool nm_pitch_painted(const struct nm_pitch *pitch, double x, double y);

/* m, height of the ground: 0 but on ramps. */
double nm_pitch_height(const struct nm_pitch *pitch, double x, double y);

/* Inside the goal mouth's volume behind the line: 1 their goal, -1 our goal, 0 none. The whole ball must be over the
 * line, between the posts and under the bar. */
int nm_pitch_scored(const struct nm_pitch *pitch, struct vec3 ball);
