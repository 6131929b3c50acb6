/* What is really in a picture: taken from the ray caster's own record of what each pixel shows, so occlusion and lens
 * are exact. For training and scoring vision. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/raycast.h"

struct nm_seen {
    uint32_t pixels;        /* that show it; 0: not seen, and the box is empty              */
    int32_t x0, y0, x1, y1; /* box around them, x1 and y1 not included                      */
    bool centre_known;      /* false where the lens does not reach the centre               */
    struct pixel centre;    /* of the whole thing, hidden or not; it may lie outside        */
};

struct nm_seen_line {
    struct pixel from, to;
    uint16_t number; /* in the pitch's lines, or in its arcs */
    bool arc;
};

struct nm_seen_point { /* crossings and spots that are not hidden */
    struct pixel at;
    uint16_t number; /* in the pitch's crossings, or in its spots */
    bool spot;
};

enum { NM_SEEN_LINES = 192, NM_SEEN_POINTS = NM_PITCH_CROSSINGS + NM_PITCH_SPOTS };

struct nm_picture_truth {
    struct nm_seen ball;                  /* centre: of the sphere                            */
    double ball_radius;                   /* pixels, if nothing hid it                        */
    struct nm_seen robots[NM_PLAYERS];    /* centre: of the trunk's frame                     */
    struct nm_seen posts[NM_PITCH_POSTS]; /* centre: where the post stands on the ground      */
    uint32_t n_lines, n_points;
    struct nm_seen_line lines[NM_SEEN_LINES];
    struct nm_seen_point points[NM_SEEN_POINTS];
};

/* Of the eye's last picture, which must have been of this scene. */
void nm_picture_truth(const struct nm_eye *eye, const struct nm_scene *scene, struct nm_picture_truth *truth);
