/* What a robot sees of the field, and the map it is held against. Sightings of the last seconds are kept, moved along
 * with the odometry: from two of them, or from one crossing, follow poses at which the robot could be (sensor
 * resetting), and all of them together judge such a pose. */
#pragma once

#include "modules/position/position.h"

/* Kinds of sightings: the landmarks, and pieces of lines. */
enum { SIGHT_LINE = NM_LANDMARK_KINDS, SIGHT_BORDER, SIGHT_KINDS };

struct sighting {
    uint32_t kind;
    bool directed;      /* a crossing: `orientation` is known       */
    double x, y;        /* m, in the robot's frame                  */
    double x1, y1;      /* m, the other end of a piece of line      */
    double orientation; /* rad                                      */
    double turn;        /* rad, `orientation` repeats after it      */
    double doubt;       /* factor of the usual variance, 1 or more  */
    double vote;        /* how much it counts among those that are recalled */
};

struct sight_map {
    struct nm_landmark marks[NM_PITCH_LANDMARKS]; /* sorted by kind                               */
    uint32_t first[SIGHT_KINDS + 1];              /* of each kind in `marks`                      */
    struct nm_line lines[NM_PITCH_LINES], border[4];
    uint32_t n_lines;
    double half_x, half_y; /* m, of the carpet */
};
void sight_map(struct sight_map *map, const struct nm_pitch_size *field);
/* The lines of a kind of sighting. */
static inline const struct nm_line *sight_lines(const struct sight_map *map, uint32_t kind, uint32_t *n)
{
    *n = kind == SIGHT_BORDER ? 4 : map->n_lines;
    return kind == SIGHT_BORDER ? map->border : map->lines;
}

/* Which percepts count, and how sure they are. */
struct sight_limits {
    double range;         /* m, farther ones are left out                */
    double confidence;    /* less sure ones are left out                 */
    double tilt2, pixel2; /* rad^2, variances of the usual percept       */
    double height;        /* m, of the camera                            */
};
enum { SIGHTINGS = 48 };
/* All that one image shows of the field; the image's messages are those that are fresh. */
uint32_t sight_gather(const struct nm *nm, const struct position_ports *io, const struct sight_limits *limits,
                      struct sighting sightings[SIGHTINGS]);

enum { MEMORY = 128 };
struct sight_memory {
    struct remembered {
        struct sighting what;
        struct pose2 robot_to_odom;
        int64_t at;
    } all[MEMORY];
    uint32_t n, next;
    int64_t last; /* ns, when an image was kept */
};
/* Keeps an image's sightings if the last image that was kept is old enough. */
void sight_remember(struct sight_memory *memory, const struct sighting *sightings, uint32_t n, struct pose2 robot,
                    int64_t at);
/* What was seen in the last seconds, as if it were seen from here; returns how many. Each has a vote. */
uint32_t sight_recall(const struct sight_memory *memory, struct pose2 robot, int64_t now, double seconds,
                      struct sighting sightings[MEMORY]);
/* Lets sightings of one thing share one vote, so that a false percept that lasts does not outvote everything else; a
 * thing seen once or twice has a part of a vote. Returns the sum of the votes: about how many things they show. */
double sight_share_votes(struct sighting sightings[MEMORY], uint32_t n);

/* How well recalled sightings fit a pose that is known roughly: mean logarithm of the likelihood ratio to a false
 * percept, by their votes. */
double sight_score(const struct sight_map *map, const struct sighting *sightings, uint32_t n, struct pose2 pose,
                   double false_share);
/* A pose that one directed crossing or two landmarks, drawn at random, would explain; false if none was found. */
bool sight_guess(const struct sight_map *map, const struct sighting *sightings, uint32_t n, struct nm *nm,
                 struct pose2 *pose);
