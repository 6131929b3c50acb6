/* How a search went, as a picture: best and mean score of every generation. */
#include <math.h>

#include "cmd/tune.h"

enum { WIDTH = 720, HEIGHT = 400, LEFT = 60, RIGHT = 20, TOP = 40, BOTTOM = 40, TICKS = 5 };

struct frame {
    double low, high; /* of the scores */
    uint32_t n;
};

static double x_of(const struct frame *f, double generation)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (f->n > 1 ? generation / (f->n - 1) : 0.5);
}

static double y_of(const struct frame *f, double score)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (f->high - score) / (f->high - f->low);
}

static void line(FILE *to, const struct frame *f, const struct tune_generation *history, bool best, const char *colour)
{
    fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (uint32_t i = 0; i < f->n; i++) {
        double score = best ? history[i].best : history[i].mean;
        if (isfinite(score)) fprintf(to, "%.1f,%.1f ", x_of(f, i), y_of(f, score));
    }
    fprintf(to, "\"/>\n");
}

static void text(FILE *to, double x, double y, const char *anchor, const char *colour, const char *words)
{
    fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor, colour);
    for (; *words; words++) {
        if (*words == '<' || *words == '&')
            fprintf(to, "&#%d;", *words);
        else
            fputc(*words, to);
    }
    fprintf(to, "</text>\n");
}

static void axes(FILE *to, const struct frame *f)
{
    char words[40];
    for (int i = 0; i <= TICKS; i++) {
        double score = f->low + (f->high - f->low) * i / TICKS, y = y_of(f, score);
        fprintf(to, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, WIDTH - RIGHT, y, y);
        snprintf(words, sizeof words, "%.4g", score);
        text(to, LEFT - 6, y + 4, "end", "#444", words);
        double generation = f->n > 1 ? floor((f->n - 1.0) * i / TICKS) : 0;
        snprintf(words, sizeof words, "%.0f", generation + 1);
        text(to, x_of(f, generation), HEIGHT - BOTTOM + 18, "middle", "#444", words);
    }
    text(to, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6, "middle", "#444", "generation");
}

void tune_plot(const struct tune_generation *history, uint32_t n, const char *title, FILE *to)
{
    struct frame f = {INFINITY, -INFINITY, n};
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(history[i].best + history[i].mean)) continue;
        f.low = fmin(f.low, fmin(history[i].best, history[i].mean));
        f.high = fmax(f.high, fmax(history[i].best, history[i].mean));
    }
    if (!(f.low <= f.high)) f.low = 0, f.high = 1;
    double margin = fmax(0.05 * (f.high - f.low), 1e-6);
    f.low -= margin;
    f.high += margin;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT);
    axes(to, &f);
    line(to, &f, history, false, "#e08214");
    line(to, &f, history, true, "#1b7837");
    text(to, LEFT, TOP - 16, "start", "black", title);
    text(to, WIDTH - RIGHT - 60, TOP - 16, "end", "#1b7837", "best");
    text(to, WIDTH - RIGHT, TOP - 16, "end", "#e08214", "mean");
    fprintf(to, "</svg>\n");
}
