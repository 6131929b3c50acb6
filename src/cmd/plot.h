/* Values over time as a picture: lines of Braille letters for a terminal, PNG or SVG for a file. Each series has a
 * panel of its own, with its own scale, unless it joins the one before it; time is common to all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct plot_series {
    const char *name; /* "odometry.pose.pose.position.x"                                              */
    bool joins;       /* in files: drawn into the panel of the series before it: blue, orange, green */
    uint32_t n, room;
    struct plot_point {
        double time, value; /* s */
    } * at;                 /* in the order of time */
};

/* Keeps a point. What is not a number is a gap in the line. */
void plot_add(struct plot_series *series, double time, double value);
/* Forgets points before a time. */
void plot_forget(struct plot_series *series, double before);
void plot_free(struct plot_series *series);

/* `columns` wide, each panel `rows` high with its head. */
void plot_print(const struct plot_series *series, uint32_t n, uint32_t columns, uint32_t rows, FILE *to);
/* The ending of the path says what it becomes: .png or .svg. `title` may be NULL; `unit` is that of the time, or of
 * what stands in its place. */
int plot_write(const struct plot_series *series, uint32_t n, const char *title, const char *unit, const char *path,
               struct nm_err *err);
