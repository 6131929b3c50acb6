/* The markings of a field as a robot knows them: a dozen lengths, and from them the lines, posts and crossings. Origin
 * at the centre, x to the opponents' goal, y left. Every length of a line is that of the middle of its paint: where a
 * rule book measures to outer edges, half a line width is taken off at each edge. The simulator reads the same lengths
 * from fields/NAME.yaml; a module has them as parameters, all modules by the same rows:
 *
 *     struct nm_pitch_size field;                    in the module's struct
 *     NM_PITCH_PARAMS(field),                        in its table of parameters: field_length, goal_width, ... */
#pragma once

#include <stdint.h>

#include "base/export.h"

struct nm_pitch_size {
    double length, width, line_width;               /* m                                              */
    double goal_area_length, goal_area_width;       /* m, length from the goal line; 0: no such area  */
    double penalty_area_length, penalty_area_width; /* m, the same                                    */
    double penalty_mark;                            /* m, from the goal line                          */
    double circle_radius;                           /* m                                              */
    double goal_width, goal_depth, post;            /* m, between the posts; to the net; thickness    */
    double border;                                  /* m of carpet beyond the lines' outer edge       */
};

/* The middle of a painted straight line, parallel to x or y. The paint reaches half a line width beyond both ends. */
struct nm_line {
    double x0, y0, x1, y1;
};

/* Where lines meet, as a robot sees it. `theta` points along the stem of a T, along the bisector into the corner's
 * inside of an L, and along x for the others. */
enum nm_crossing_kind { NM_CROSSING_L, NM_CROSSING_T, NM_CROSSING_X };
struct nm_crossing {
    enum nm_crossing_kind kind;
    double x, y, theta;
};

/* A point that can be recognised. The numbers of the kinds are those of nutmeg_msgs/Percept. */
enum nm_landmark_kind {
    NM_LANDMARK_POST = 2,
    NM_LANDMARK_L,
    NM_LANDMARK_T,
    NM_LANDMARK_X,
    NM_LANDMARK_MARK,
    NM_LANDMARK_CIRCLE,
    NM_LANDMARK_KINDS
};
struct nm_landmark {
    enum nm_landmark_kind kind;
    double x, y, theta; /* theta as of a crossing, 0 for the others */
};

enum {
    NM_PITCH_LINES = 24,
    NM_PITCH_CROSSINGS = 40,
    NM_PITCH_POSTS = 4,
    NM_PITCH_LANDMARKS = NM_PITCH_POSTS + NM_PITCH_CROSSINGS + 3
};

/* Each fills a list and returns its length. Posts: own right, own left, theirs right, theirs left, as y sorts them.
 * Landmarks: the posts, the crossings, their penalty mark, our penalty mark, the centre circle's middle. */
NM_EXPORT uint32_t nm_pitch_lines(const struct nm_pitch_size *size, struct nm_line lines[NM_PITCH_LINES]);
NM_EXPORT uint32_t nm_pitch_crossings(const struct nm_pitch_size *size,
                                      struct nm_crossing crossings[NM_PITCH_CROSSINGS]);
NM_EXPORT uint32_t nm_pitch_posts(const struct nm_pitch_size *size, struct nm_landmark posts[NM_PITCH_POSTS]);
NM_EXPORT uint32_t nm_pitch_landmarks(const struct nm_pitch_size *size,
                                      struct nm_landmark landmarks[NM_PITCH_LANDMARKS]);

#define NM_PITCH_PARAM_(member, part, name_, value_, min_, max_, about_)                                               \
    {                                                                                                                  \
        .name = name_, .kind = NM_PARAM_DOUBLE, .offset = offsetof(SELF, member.part), .size = sizeof(double),         \
        .value = value_, .min = min_, .max = max_, .unit = "m", .about = about_                                        \
    }
/* The defaults are those of the kid-size field, fields/kid.yaml. */
#define NM_PITCH_PARAMS(member)                                                                                        \
    NM_PITCH_PARAM_(member, length, "field_length", 8.95, 2, 120, "between the middles of the goal lines"),            \
        NM_PITCH_PARAM_(member, width, "field_width", 5.95, 1, 90, "between the middles of the touchlines"),           \
        NM_PITCH_PARAM_(member, line_width, "line_width", 0.05, 0.01, 0.2, "of the paint"),                            \
        NM_PITCH_PARAM_(member, goal_area_length, "goal_area_length", 0.95, 0, 10,                                     \
                        "from the goal line to the front of the goal area; 0: there is none"),                         \
        NM_PITCH_PARAM_(member, goal_area_width, "goal_area_width", 2.95, 0, 40,                                       \
                        "between the sides of the goal area"),                                                         \
        NM_PITCH_PARAM_(member, penalty_area_length, "penalty_area_length", 1.95, 0, 20,                               \
                        "from the goal line to the front of the penalty area; 0: there is none"),                      \
        NM_PITCH_PARAM_(member, penalty_area_width, "penalty_area_width", 4.95, 0, 60,                                 \
                        "between the sides of the penalty area"),                                                      \
        NM_PITCH_PARAM_(member, penalty_mark, "penalty_mark", 1.475, 0.2, 20,                                          \
                        "from the goal line to the middle of the penalty mark"),                                       \
        NM_PITCH_PARAM_(member, circle_radius, "circle_radius", 0.725, 0.15, 10, "of the centre circle"),              \
        NM_PITCH_PARAM_(member, goal_width, "goal_width", 2.6, 0.5, 8, "between the goal posts"),                      \
        NM_PITCH_PARAM_(member, goal_depth, "goal_depth", 0.6, 0.2, 3, "from the goal line to the net"),               \
        NM_PITCH_PARAM_(member, post, "post", 0.1, 0.02, 0.2, "thickness of a goal post"),                             \
        NM_PITCH_PARAM_(member, border, "border", 1, 0.1, 5, "carpet beyond the outer edge of the lines")
