/* A drawing of lines and texts, as SVG or as PNG: what a plot needs and no more. Lengths are pixels, y goes down. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct canvas {
    uint32_t width, height;
    FILE *svg;    /* NULL: a PNG */
    uint8_t *rgb; /* of a PNG    */
    const char *path;
};

enum { CANVAS_TEXT = 14 /* px, height of a text's line */, CANVAS_LETTER = 12 /* px, width of a letter in a PNG */ };

/* Whether a drawing can be put there, before long work is done for it; makes its folders. NULL: none is wanted. */
int canvas_check(const char *path, struct nm_err *err);
/* The ending of the path says what it becomes: .svg or .png. White at first. -1 with a sentence. */
int canvas_begin(struct canvas *canvas, const char *path, uint32_t width, uint32_t height, struct nm_err *err);
/* Colours are 0xrrggbb. */
void canvas_line(struct canvas *canvas, double x0, double y0, double x1, double y1, double thick, uint32_t colour);
/* From its lower left corner on; with `right` up to its lower right one. ASCII. */
void canvas_text(struct canvas *canvas, double x, double y, bool right, uint32_t colour, const char *text);
/* Writes what is left and gives the memory back. */
int canvas_end(struct canvas *canvas, struct nm_err *err);
