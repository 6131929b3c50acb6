/* What a camera can see, as plain numbers: a frozen moment of the world, taken between two steps and then read by any
 * number of cameras and threads. The ground with its lines and the hall are formulas; everything else is a list of
 * simple solids in groups (a robot, a goal, a spectator). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/geometry.h"
#include "body/kinematics.h"
#include "body/robot.h"
#include "sim/field.h"

enum {
    NM_PLAYERS = 14, /* robots in a world           */
    NM_SCENE_SOLIDS = 1536,
    NM_SCENE_GROUPS = 64,
    NM_SCENE_SHADOWS = 64,
    NM_SCENE_PAINTS = 48, /* strips, rings and dots on the ground */
};

/* What a pixel shows. Robot i is NM_THING_ROBOT + i, post i of the field NM_THING_POST + i. */
enum nm_thing {
    NM_THING_NONE, /* beyond the lens   */
    NM_THING_HALL, /* walls, floor, people, bars and nets */
    NM_THING_GRASS,
    NM_THING_LINE,
    NM_THING_BALL,
    NM_THING_POST,
    NM_THING_ROBOT = NM_THING_POST + NM_PITCH_POSTS,
    NM_THINGS = NM_THING_ROBOT + NM_PLAYERS,
};

enum nm_solid_kind { NM_SOLID_BOX, NM_SOLID_SPHERE, NM_SOLID_CYLINDER, NM_SOLID_CAPSULE };
enum nm_coat { NM_COAT_PLAIN, NM_COAT_BALL, NM_COAT_NET, NM_COAT_NUMBER, NM_COAT_TAG };

struct nm_solid {
    enum nm_solid_kind kind;
    enum nm_coat coat;
    uint8_t thing;
    uint8_t number;  /* printed on the x sides of a box coated with a number */
    uint64_t tag;    /* of a box coated with a tag: 8 x 8 cells within a white edge, on its +x side; a set bit is white.
                        Rows from the top, each from the left as one looks at it, from the lowest bit on */
    float half[3];   /* box: half edges; others: radius, radius, half length along z (capsule: without its caps) */
    float rot[3][3]; /* solid to field, rows */
    float pos[3];
    float colour[3]; /* 0 to 1, as displayed in full light */
};
/* m, the radius of the sphere around its centre that holds it. */
float nm_solid_reach(const struct nm_solid *solid);

struct nm_solid_group {
    uint32_t first, n;
    float pos[3], reach; /* bounding sphere */
};

struct nm_shadow { /* soft round patch under something */
    float x, y, radius, strength;
};

enum nm_paint_kind { NM_PAINT_STRIP, NM_PAINT_RING, NM_PAINT_DOT };
struct nm_paint {
    enum nm_paint_kind kind;
    float x, y;
    float half_x, half_y; /* strip: half edges; ring: the box around (x, y) it is cut to */
    float cut_x, cut_y;   /* ring: centre of that box                                    */
    float radius, half;   /* ring and dot; half of the paint's width                     */
};

/* Extents on the ground, one array a side, so that many are compared at once. */
struct nm_boxes {
    float low_x[NM_SCENE_SHADOWS], high_x[NM_SCENE_SHADOWS], low_y[NM_SCENE_SHADOWS], high_y[NM_SCENE_SHADOWS];
};

struct nm_hall {
    float half_x, half_y, height; /* walls and ceiling, m                   */
    uint32_t seed;                /* of banners, people, carpet             */
};

struct nm_scene {
    const struct nm_pitch *pitch;
    struct nm_hall hall;
    float carpet_x, carpet_y; /* half edges */
    uint32_t n_paints, n_solids, n_groups, n_shadows;
    uint32_t n_still, n_still_groups; /* those of goals and people, which stay */
    struct nm_paint paints[NM_SCENE_PAINTS];
    struct nm_solid solids[NM_SCENE_SOLIDS + 1]; /* the last one is written when there is no more room */
    struct nm_solid_group groups[NM_SCENE_GROUPS];
    struct nm_shadow shadows[NM_SCENE_SHADOWS];
    struct nm_boxes paint_boxes, shadow_boxes;

    bool has_ball;
    struct pose3 ball;
    uint32_t robots;                /* bit i: robot i is there */
    struct pose3 robot[NM_PLAYERS]; /* base to field */
};

/* Field, goals, hall and people. The pitch must outlive the scene. */
void nm_scene_new(struct nm_scene *scene, const struct nm_pitch *pitch, uint32_t hall_seed);

/* Things that stay for good, one group each. */
void nm_scene_keep(struct nm_scene *scene, const struct nm_solid *solids, uint32_t n);

/* Takes everything that moves out again. */
void nm_scene_clear(struct nm_scene *scene);
void nm_scene_ball(struct nm_scene *scene, struct pose3 ball_to_field);

/* Anything else, as one group; `shadow` is the radius of a soft one below its first solid, 0: none. */
void nm_scene_solids(struct nm_scene *scene, const struct nm_solid *solids, uint32_t n, double shadow);

/* A weight on a rope, such as hits a robot in a push-recovery contest. */
void nm_scene_pendulum(struct nm_scene *scene, struct vec3 pivot, struct vec3 bob, double radius);

/* What a robot wears: the team's colour on its trunk and upper limbs, and a number on chest and back. */
struct nm_shirt {
    float colour[3];
    uint32_t number; /* 0: none */
};
/* A colour by the name the GameController gives it; false if there is none of that name. */
bool nm_shirt_colour(const char *name, float colour[3]);

/* `kin` as nm_forward gave it with the base's pose in the field. Shapes of a robot without room are left out. */
void nm_scene_robot(struct nm_scene *scene, uint32_t index, const struct nm_body *body, const struct nm_kin *kin,
                    const struct nm_shirt *shirt);
