/* Pictures of what a stage has found, for whoever watches: the image in grey at half its size, and what the stage drew
 * upon it. A sketch lies on the stack, so only a function that runs while somebody watches has one. */
#pragma once

#include "modules/vision/frame.h"

struct sketch {
    uint32_t w, h; /* px */
    uint8_t rgb[FRAME_SIDE / 2 * FRAME_SIDE / 2 * 3];
};

enum { SKETCH_RED = 0xff4040, SKETCH_GREEN = 0x40ff40, SKETCH_BLUE = 0x60a0ff, SKETCH_YELLOW = 0xffe040 };

void sketch_begin(struct sketch *s, const struct frame *frame);
/* Coordinates of these are pixels of the image. */
void sketch_dot(struct sketch *s, double u, double v, uint32_t colour);
void sketch_line(struct sketch *s, double u0, double v0, double u1, double v1, uint32_t colour);
void sketch_circle(struct sketch *s, double u, double v, double radius, uint32_t colour);
void sketch_box(struct sketch *s, double u0, double v0, double u1, double v1, uint32_t colour);
void sketch_show(const struct sketch *s, struct nm *nm, const char *name);
