#include "cmd/plot.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/canvas.h"

/* ---- series ---- */

void plot_add(struct plot_series *s, double time, double value)
{
    s->at = nm_more(s->at, s->n, &s->room, sizeof *s->at);
    s->at[s->n++] = (struct plot_point){time, value};
}

void plot_forget(struct plot_series *s, double before)
{
    uint32_t old = 0;
    while (old < s->n && s->at[old].time < before) old++;
    memmove(s->at, s->at + old, (s->n - old) * sizeof *s->at);
    s->n -= old;
}

void plot_free(struct plot_series *s)
{
    free(s->at);
    s->at = NULL;
    s->n = s->room = 0;
}

/* ---- scales ---- */

struct scale {
    double first, last; /* s              */
    double low, high;   /* of the values  */
    double least, most; /* as they really are */
};

static struct scale time_scale(const struct plot_series *series, uint32_t n)
{
    struct scale scale = {.first = INFINITY, .last = -INFINITY};
    for (uint32_t i = 0; i < n; i++) {
        if (!series[i].n) continue;
        scale.first = fmin(scale.first, series[i].at[0].time);
        scale.last = fmax(scale.last, series[i].at[series[i].n - 1].time);
    }
    if (!(scale.first <= scale.last)) scale.first = scale.last = 0;
    return scale;
}

/* How many series from the first on have one panel. */
static uint32_t together(const struct plot_series *series, uint32_t n)
{
    uint32_t k = 1;
    while (k < n && series[k].joins) k++;
    return k;
}

/* A value that never changes lies in the middle. */
static void value_scale(const struct plot_series *series, uint32_t n, struct scale *scale)
{
    scale->least = INFINITY;
    scale->most = -INFINITY;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < series[k].n; i++) {
            if (!isfinite(series[k].at[i].value)) continue;
            scale->least = fmin(scale->least, series[k].at[i].value);
            scale->most = fmax(scale->most, series[k].at[i].value);
        }
    scale->low = scale->least;
    scale->high = scale->most;
    double margin = fmax(fabs(scale->low) * 0.05, 1e-9);
    if (scale->low == scale->high) scale->low -= margin, scale->high += margin;
}

/* Calls with the ends of each piece of the line, in a frame of width x height whose y goes down. */
static void each_piece(const struct plot_series *s, const struct scale *scale, double width, double height,
                       void (*piece)(void *user, double x0, double y0, double x1, double y1), void *user)
{
    double span = scale->last > scale->first ? scale->last - scale->first : 1, last_x = NAN, last_y = NAN;
    for (uint32_t i = 0; i < s->n; i++) {
        double x = (s->at[i].time - scale->first) / span * width;
        double y = (scale->high - s->at[i].value) / (scale->high - scale->low) * height;
        if (isfinite(y)) piece(user, isnan(last_y) ? x : last_x, isnan(last_y) ? y : last_y, x, y);
        last_x = x;
        last_y = isfinite(y) ? y : NAN;
    }
}

static void head_text(const struct plot_series *series, uint32_t n, const struct scale *scale, char *to, size_t size)
{
    uint32_t values = 0;
    for (uint32_t i = 0; i < n; i++) values += series[i].n;
    if (scale->least <= scale->most)
        snprintf(to, size, "%s: %u values, %.4g to %.4g", series->name, values, scale->least, scale->most);
    else
        snprintf(to, size, "%s: no values", series->name);
}

/* ---- terminal ---- */

/* A Braille letter has 2 x 4 dots; the bits of U+2800 in the order of columns. */
enum { DOTS_X = 2, DOTS_Y = 4, LABEL = 10 /* columns for the scale */ };
static const uint8_t dots[DOTS_Y][DOTS_X] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

struct screen {
    uint32_t columns, rows;
    uint8_t *letters; /* rows x columns */
};

static void dot(struct screen *screen, double x, double y)
{
    uint32_t i = x > 0 ? (uint32_t)x : 0, j = y > 0 ? (uint32_t)y : 0;
    if (i >= DOTS_X * screen->columns || j >= DOTS_Y * screen->rows) return;
    screen->letters[j / DOTS_Y * screen->columns + i / DOTS_X] |= dots[j % DOTS_Y][i % DOTS_X];
}

static void dotted_line(void *user, double x0, double y0, double x1, double y1)
{
    int steps = (int)fmin(fmax(fabs(x1 - x0), fabs(y1 - y0)) + 1, 100000);
    for (int k = 0; k <= steps; k++) dot(user, x0 + (x1 - x0) * k / steps + 0.5, y0 + (y1 - y0) * k / steps + 0.5);
}

static void print_letter(uint8_t bits, FILE *to)
{
    const unsigned code = 0x2800u + bits;
    fputc((int)(0xe0 | code >> 12), to);
    fputc((int)(0x80 | (code >> 6 & 0x3f)), to);
    fputc((int)(0x80 | (code & 0x3f)), to);
}

static void print_panel(const struct plot_series *s, const struct scale *scale, struct screen *screen, FILE *to)
{
    char head[300];
    memset(screen->letters, 0, (size_t)screen->columns * screen->rows);
    each_piece(s, scale, DOTS_X * screen->columns - 1, DOTS_Y * screen->rows - 1, dotted_line, screen);
    head_text(s, 1, scale, head, sizeof head);
    fprintf(to, "%s\n", head);
    for (uint32_t row = 0; row < screen->rows; row++) {
        bool there = scale->least <= scale->most;
        if (there && row == 0)
            fprintf(to, "%*.4g ", LABEL - 1, scale->high);
        else if (there && row == screen->rows - 1)
            fprintf(to, "%*.4g ", LABEL - 1, scale->low);
        else
            fprintf(to, "%*s", LABEL, "");
        for (uint32_t i = 0; i < screen->columns; i++) print_letter(screen->letters[row * screen->columns + i], to);
        fputc('\n', to);
    }
}

void plot_print(const struct plot_series *series, uint32_t n, uint32_t columns, uint32_t rows, FILE *to)
{
    struct screen screen = {columns > LABEL + 10 ? columns - LABEL : 10, rows > 1 ? rows - 1 : 1, NULL};
    struct scale scale = time_scale(series, n);
    char first[32], last[32];
    screen.letters = nm_malloc((size_t)screen.columns * screen.rows);
    for (uint32_t i = 0; i < n; i++) {
        value_scale(&series[i], 1, &scale);
        print_panel(&series[i], &scale, &screen, to);
    }
    int width = snprintf(first, sizeof first, "%.2f s", scale.first);
    int most = (int)screen.columns > width ? (int)screen.columns - width : 0;
    snprintf(last, sizeof last, "%.2f s", scale.last);
    fprintf(to, "%*s%s%*s\n", LABEL, "", first, most, last);
    free(screen.letters);
}

/* ---- pictures ---- */

enum {
    WIDTH = 1000,
    PANEL = 170, /* px, height with its head */
    LEFT = 120,  /* px, for the numbers      */
    RIGHT = 20,
    HEAD = 30,
    FOOT = 30,
};
static const uint32_t COLOURS[] = {0x1f77b4, 0xff7f0e, 0x2ca02c}, GREY = 0xbbbbbb, BLACK = 0x222222;

struct pen {
    struct canvas *canvas;
    double top;
    uint32_t colour;
};

static void drawn_line(void *user, double x0, double y0, double x1, double y1)
{
    const struct pen *p = user;
    canvas_line(p->canvas, LEFT + x0, p->top + y0, LEFT + x1, p->top + y1, 1.5, p->colour);
}

static void draw_text(struct canvas *canvas, double y, const char *text)
{
    char whole[300];
    enum { LETTERS = (WIDTH - LEFT) / CANVAS_LETTER };
    if (snprintf(whole, sizeof whole, "%s", text) > LETTERS) strcpy(whole + LETTERS - 3, "...");
    canvas_text(canvas, LEFT, y, false, BLACK, whole);
}

static void draw_panel(struct canvas *canvas, const struct plot_series *series, uint32_t n, const struct scale *scale,
                       double top)
{
    double height = PANEL - HEAD - 14;
    char text[300];
    top += HEAD;
    head_text(series, n, scale, text, sizeof text);
    draw_text(canvas, top - 8, text);
    canvas_line(canvas, LEFT, top, WIDTH - RIGHT, top, 1, GREY);
    canvas_line(canvas, LEFT, top + height, WIDTH - RIGHT, top + height, 1, GREY);
    if (!(scale->least <= scale->most)) return;
    snprintf(text, sizeof text, "%.4g", scale->high);
    canvas_text(canvas, LEFT - 6, top + 10, true, BLACK, text);
    snprintf(text, sizeof text, "%.4g", scale->low);
    canvas_text(canvas, LEFT - 6, top + height, true, BLACK, text);
    for (uint32_t i = 0; i < n; i++)
        each_piece(&series[i], scale, WIDTH - LEFT - RIGHT, height, drawn_line,
                   &(struct pen){canvas, top, COLOURS[i % (sizeof COLOURS / sizeof *COLOURS)]});
}

int plot_write(const struct plot_series *series, uint32_t n, const char *title, const char *unit, const char *path,
               struct nm_err *err)
{
    struct canvas canvas;
    struct scale scale = time_scale(series, n);
    char text[64];
    uint32_t panels = 0;
    double top = title ? HEAD : 0;
    for (uint32_t i = 0; i < n; i++) panels += !i || !series[i].joins;
    if (canvas_begin(&canvas, path, WIDTH, (uint32_t)top + panels * PANEL + FOOT, err)) return -1;
    if (title) draw_text(&canvas, HEAD - 8, title);
    for (uint32_t i = 0, k; i < n; i += k, top += PANEL) {
        k = together(series + i, n - i);
        value_scale(series + i, k, &scale);
        draw_panel(&canvas, series + i, k, &scale, top);
    }
    snprintf(text, sizeof text, "%.6g %s", scale.first, unit);
    canvas_text(&canvas, LEFT, top + CANVAS_TEXT, false, BLACK, text);
    snprintf(text, sizeof text, "%.6g %s", scale.last, unit);
    canvas_text(&canvas, WIDTH - RIGHT, top + CANVAS_TEXT, true, BLACK, text);
    return canvas_end(&canvas, err);
}
