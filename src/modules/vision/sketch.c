#include "modules/vision/sketch.h"

void sketch_begin(struct sketch *s, const struct frame *f)
{
    s->w = f->width / 2;
    s->h = f->height / 2;
    for (uint32_t y = 0; y < s->h; y++)
        for (uint32_t x = 0; x < s->w; x++) memset(&s->rgb[3 * (y * s->w + x)], frame_y(f, 2 * x, 2 * y) / 2, 3);
}

void sketch_dot(struct sketch *s, double u, double v, uint32_t colour)
{
    if (!(u >= 0 && v >= 0 && u < 2 * s->w && v < 2 * s->h)) return;
    uint8_t *to = &s->rgb[3 * ((uint32_t)v / 2 * s->w + (uint32_t)u / 2)];
    to[0] = (uint8_t)(colour >> 16), to[1] = (uint8_t)(colour >> 8), to[2] = (uint8_t)colour;
}

void sketch_line(struct sketch *s, double u0, double v0, double u1, double v1, uint32_t colour)
{
    double length = fmax(fabs(u1 - u0), fabs(v1 - v0));
    if (!(length < 4 * FRAME_SIDE)) return;
    for (double i = 0; i <= length; i += 2)
        sketch_dot(s, u0 + (u1 - u0) * i / fmax(length, 1), v0 + (v1 - v0) * i / fmax(length, 1), colour);
}

void sketch_circle(struct sketch *s, double u, double v, double radius, uint32_t colour)
{
    for (int i = 0; i < 96; i++)
        sketch_dot(s, u + radius * cos(M_PI / 48 * i), v + radius * sin(M_PI / 48 * i), colour);
}

void sketch_box(struct sketch *s, double u0, double v0, double u1, double v1, uint32_t colour)
{
    sketch_line(s, u0, v0, u1, v0, colour);
    sketch_line(s, u0, v1, u1, v1, colour);
    sketch_line(s, u0, v0, u0, v1, colour);
    sketch_line(s, u1, v0, u1, v1, colour);
}

void sketch_show(const struct sketch *s, struct nm *nm, const char *name)
{
    nm_show_image(nm, name, s->rgb, s->w, s->h, 3 * s->w, "rgb8");
}
