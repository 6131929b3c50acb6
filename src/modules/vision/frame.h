/* What the stages of vision share: one image with the place of its camera, the test for carpet, and colour classes. The
 * stages of one image run in one cycle; each begins when the stage before it has published what it found, and looks at
 * the same image. Pixels are YUV 4:2:2 (yuv422_yuy2), as cameras deliver them; pixel (0, 0) is the upper left one. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "body/camera.h"
#include "body/robot.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "nutmeg_msgs/CameraPose.h"
#include "nutmeg_msgs/FieldBorder.h"
#include "nutmeg_msgs/FieldColor.h"
#include "sensor_msgs/Image.h"

enum { FRAME_SIDE = 1280 /* px, of the largest image */ };

struct frame {
    const uint8_t *bytes;
    uint32_t width, height, step; /* px, px, bytes                                              */
    const struct nm_camera *lens; /* NULL: not known                                            */
    struct pose3 camera_to_robot;
    bool level; /* lens and pose are known, so that pixels have places on the ground */
};

/* The image and where its camera was, or false: there is no image, its encoding is not ours, or the camera's pose
 * belongs to another image. */
bool frame_take(const struct nm *nm, const Image *image, const CameraPose *pose, struct frame *frame);

static inline const uint8_t *frame_row(const struct frame *f, uint32_t y) { return f->bytes + (size_t)y * f->step; }
static inline uint8_t frame_y(const struct frame *f, uint32_t x, uint32_t y) { return frame_row(f, y)[2 * x]; }
static inline const uint8_t *frame_pair(const struct frame *f, uint32_t x, uint32_t y)
{
    return frame_row(f, y) + 4 * (x / 2); /* y0 u y1 v */
}

static inline bool frame_holds(const struct frame *f, struct pixel p)
{
    return p.u >= 0 && p.v >= 0 && p.u < f->width && p.v < f->height;
}

static inline bool frame_ground(const struct frame *f, double u, double v, struct vec3 *place)
{
    return f->level && nm_camera_to_ground(f->lens, f->camera_to_robot, (struct pixel){u, v}, 0, place);
}

/* The pixel of a point over the ground (m, robot's frame); false if it lies outside of the image. */
static inline bool frame_pixel(const struct frame *f, double x, double y, double z, struct pixel *at)
{
    return f->level && nm_camera_from_world(f->lens, f->camera_to_robot, (struct vec3){x, y, z}, at) &&
           frame_holds(f, *at);
}

/* First row below the horizon in a column, 0 to height. Without a pose the upper quarter counts as sky. */
uint32_t frame_horizon(const struct frame *f, double u);

/* px, radius of a ball of `radius` m that lies at this pixel; 0: no such ball can be there. */
static inline double frame_ball(const struct frame *f, double u, double v, double radius)
{
    return f->level ? nm_camera_ball_radius(f->lens, f->camera_to_robot, (struct pixel){u, v}, radius) : 0;
}

/* Row of the field's border in a column; 0 where it is above the image, hidden or unknown. */
double border_at(const FieldBorder *border, double u);

/* ---- carpet ---- */

/* A cone around the carpet's colour: of its hue, at least so saturated; and the colour of white in the same light.
 * Whole numbers, for fast loops. */
struct carpet {
    int32_t u, v;             /* direction of the hue, length 64         */
    int32_t tangent;          /* of half the range of hues, times 64     */
    int32_t saturation;       /* least, times 256                        */
    int32_t y;                /* brightness                              */
    bool alike;               /* not by the cone, but by similarity to:  */
    float au, av;             /* u and v as shares of the brightness     */
    int32_t white_u, white_v; /* colour of white, in 1/256 of the brightness */
};
/* Least distance from grey, and how far noise moves a colour: in dark corners that is much of its hue. */
enum { CARPET_FAINT = 3, CARPET_NOISE = 3 };

struct carpet carpet_of(const FieldColor *color);

/* How unlike two colours are, after Haertl, Visser, Roefer: RoboCup 2013: squares of the differences of chromaticity,
 * so that light of any strength leaves it as it is, and of brightness. The carpet's, white's and black's; no class has
 * a threshold of its own. */
struct unlike {
    float carpet, white, black;
};
static inline __attribute__((always_inline)) struct unlike unlike(float cy, float au, float av, float y, float u,
                                                                  float v)
{
    y += 8; /* noise hides the colour of what is nearly black */
    u /= y;
    v /= y;
    float bright = (y - cy) / (y + cy), lit = (y - 1.95f * cy) / (y + 1.3f * cy),
          dim = (y - 0.3f * cy) / (y + 0.6f * cy);
    float colour = 4 * (u * u + v * v);
    return (struct unlike){4 * ((u - au) * (u - au) + (v - av) * (v - av)) + 0.3f * bright * bright, colour + lit * lit,
                           0.25f * colour + dim * dim};
}
static const float UNLIKE_CARPET = 0.25f, UNLIKE_OTHERS = 0.3f; /* from here on it is neither */

static inline bool is_carpet(const struct carpet *c, int32_t y, int32_t u, int32_t v)
{
    u -= 128;
    v -= 128;
    if (c->alike) {
        struct unlike to = unlike((float)c->y, c->au, c->av, (float)y, (float)u, (float)v);
        return to.carpet < to.white && to.carpet < to.black && to.carpet < UNLIKE_CARPET;
    }
    int32_t along = c->u * u + c->v * v, across = c->u * v - c->v * u;
    if (across < 0) across = -across;
    return 4 * along >= c->saturation * y && along >= 64 * CARPET_FAINT &&
           64 * across <= c->tangent * along + 64 * 64 * CARPET_NOISE;
}

/* How far a colour, given by its distances from grey, is from that of something white of the same brightness. */
static inline int32_t from_white(const struct carpet *c, int32_t y, int32_t u, int32_t v)
{
    return abs(u - (c->white_u * y >> 8)) + abs(v - (c->white_v * y >> 8));
}

static inline bool frame_carpet(const struct frame *f, const struct carpet *c, uint32_t x, uint32_t y)
{
    const uint8_t *p = frame_pair(f, x, y);
    return is_carpet(c, p[2 * (x & 1)], p[1], p[3]);
}

/* ---- colour classes, the pixels of image_classes ---- */

enum color_class {
    CLASS_OTHER,
    CLASS_FIELD,
    CLASS_WHITE,
    CLASS_DARK,
    CLASS_HUE,                 /* and seven more: eight hues, counter-clockwise from u in the plane of u and v */
    CLASS_BODY = CLASS_HUE + 8 /* the robot's own */
};

struct class_limits {
    struct carpet carpet;
    int32_t white, dark; /* brightness                                          */
    int32_t grey;        /* distance from grey in 1/8 of the brightness: below it a colour has no hue */
};

/* Classes of pairs of pixels of every second row: an image of half the width and height. */
void classify(const struct frame *frame, const struct class_limits *limits, uint8_t *classes);

/* The same by similarity to carpet, white and black alone; without hues. */
void classify_alike(const struct frame *frame, const struct carpet *carpet, uint8_t *classes);

/* Sums over rectangles. `table` has (w + 1) (h + 1) numbers: how many pixels above and left of each corner are of the
 * class, modulo 65536, which is enough for rectangles of fewer pixels. */
void sum_class(const uint8_t *classes, uint32_t w, uint32_t h, uint8_t class, uint16_t *table);

static inline uint32_t summed(const uint16_t *table, uint32_t w, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1)
{
    const uint16_t *above = table + y0 * (w + 1), *below = table + y1 * (w + 1);
    return (uint16_t)(below[x1] - below[x0] - above[x1] + above[x0]);
}

/* ---- edges ---- */

/* Sobel's operator on the brightness of every `every`th row: a quarter of |gx| + |gy|, at most 255, `width` bytes a
 * row. The outermost pixels and rows are 0. Returns how many rows were written. */
uint32_t sobel(const struct frame *frame, uint32_t every, uint8_t *edges);

/* The threshold that parts bytes into two classes best (Otsu 1979): those up to it, and those above. */
uint8_t otsu(const uint8_t *bytes, size_t n);
void binarise(const uint8_t *bytes, size_t n, uint8_t threshold, uint8_t *to); /* 255 above it, else 0 */
