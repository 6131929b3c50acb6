#include "cmd/compare_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/canvas.h"

enum {
    BINS = 860, /* of the whole time; a pixel each */
    PANELS = 10,
    WIDTH = 1000,
    PANEL = 150, /* px, height with its title */
    HEAD = 40,   /* px, above the first       */
    LEFT = 120,  /* px, for the numbers       */
};
static const uint32_t BLUE = 0x1f77b4, ORANGE = 0xff7f0e, RED = 0xd62728, GREY = 0xbbbbbb, BLACK = 0x222222;

struct compare_series {
    bool there[BINS];
    float a[BINS], b[BINS]; /* newest; of a list only `a`: the largest difference */
};

void compare_seen(void *user, struct nm_diff_place *place, double a, double b)
{
    struct compare_topic *topic = user;
    struct compare_series *series = place->user;
    if (!series) series = place->user = nm_take_n(topic->diff.arena, struct compare_series, 1);
    uint32_t i = (uint32_t)(topic->share * (BINS - 1));
    if (!place->listed) {
        series->a[i] = (float)a;
        series->b[i] = (float)b;
    } else {
        float gap = (float)fabs(a - b);
        if (!series->there[i] || gap > series->a[i]) series->a[i] = series->b[i] = gap;
    }
    series->there[i] = true;
}

struct panel {
    const struct compare_topic *topic;
    const struct nm_diff_place *place;
    double low, high, weight;
};

static void measure(struct panel *panel)
{
    const struct compare_series *s = panel->place->user;
    double apart = 0;
    panel->low = INFINITY;
    panel->high = -INFINITY;
    for (int i = 0; i < BINS; i++) {
        if (!s->there[i] || !isfinite(s->a[i] + s->b[i])) continue;
        panel->low = fmin(panel->low, fmin(s->a[i], s->b[i]));
        panel->high = fmax(panel->high, fmax(s->a[i], s->b[i]));
        apart = fmax(apart, fabs((double)s->a[i] - (double)s->b[i]));
    }
    if (panel->low > panel->high) panel->low = panel->high = 0;
    double spread = panel->high - panel->low;
    panel->weight = spread > 0 ? (panel->place->listed ? panel->place->largest : apart) / spread : 0;
}

static int by_weight(const void *a, const void *b)
{
    const struct panel *x = a, *y = b;
    return x->weight > y->weight ? -1 : x->weight < y->weight;
}

static uint32_t find_panels(const struct compare *c, struct panel **all)
{
    uint32_t n = 0, room = 0;
    *all = NULL;
    for (uint32_t t = 0; t < c->n; t++)
        for (const struct nm_diff_place *place = c->at[t].diff.places; place; place = place->next) {
            if (!place->differ || !place->number || !place->user) continue;
            if (n == room) {
                room = room * 2 + 16;
                struct panel *more = realloc(*all, room * sizeof *more);
                if (!more) abort();
                *all = more;
            }
            (*all)[n] = (struct panel){.topic = &c->at[t], .place = place};
            measure(&(*all)[n++]);
        }
    if (n) qsort(*all, n, sizeof **all, by_weight);
    return n;
}

static void draw_series(struct canvas *canvas, const struct compare_series *s, const float *values,
                        const struct panel *panel, double top, double height, uint32_t colour)
{
    double spread = panel->high > panel->low ? panel->high - panel->low : 1, last_x = NAN, last_y = NAN;
    for (int i = 0; i < BINS; i++) {
        if (!s->there[i] || !isfinite(values[i])) continue;
        double x = LEFT + i, y = top + height * (1 - ((double)values[i] - panel->low) / spread);
        canvas_line(canvas, isnan(last_x) ? x : last_x, isnan(last_y) ? y : last_y, x, y, 1.5, colour);
        last_x = x, last_y = y;
    }
}

static void draw_panel(struct canvas *canvas, const struct panel *panel, double top)
{
    const struct compare_series *s = panel->place->user;
    double first = top + 24, height = PANEL - 44;
    char text[256];
    snprintf(text, sizeof text, "%s %s: %s%.4g apart", panel->topic->name, panel->place->path,
             panel->place->listed ? "elements up to " : "up to ", panel->place->largest);
    if (strlen(text) > (WIDTH - LEFT) / CANVAS_LETTER) strcpy(text + (WIDTH - LEFT) / CANVAS_LETTER - 3, "...");
    canvas_text(canvas, LEFT, top + 14, false, BLACK, text);
    canvas_line(canvas, LEFT, first, LEFT + BINS, first, 1, GREY);
    canvas_line(canvas, LEFT, first + height, LEFT + BINS, first + height, 1, GREY);
    snprintf(text, sizeof text, "%.3g", panel->high);
    canvas_text(canvas, LEFT - 6, first + 10, true, BLACK, text);
    snprintf(text, sizeof text, "%.3g", panel->low);
    canvas_text(canvas, LEFT - 6, first + height, true, BLACK, text);
    draw_series(canvas, s, s->a, panel, first, height, panel->place->listed ? RED : BLUE);
    if (!panel->place->listed) draw_series(canvas, s, s->b, panel, first, height, ORANGE);
}

int compare_plot(const struct compare *c, const char *path, struct nm_err *err)
{
    struct panel *panels;
    uint32_t n = find_panels(c, &panels), shown = n < PANELS ? n : PANELS;
    struct canvas canvas;
    char text[160];
    if (canvas_begin(&canvas, path, WIDTH, HEAD + (shown ? shown * PANEL : 20), err)) {
        free(panels);
        return -1;
    }
    canvas_text(&canvas, LEFT, 24, false, BLUE, "A");
    canvas_text(&canvas, LEFT + 24, 24, false, ORANGE, "B");
    snprintf(text, sizeof text, n ? "%.3f s, %u of %u members that differ" : "%.3f s, no numbers differ",
             (double)(c->last - c->first) * 1e-9, shown, n);
    canvas_text(&canvas, LEFT + 60, 24, false, BLACK, text);
    for (uint32_t i = 0; i < shown; i++) draw_panel(&canvas, &panels[i], HEAD + i * PANEL);
    free(panels);
    return canvas_end(&canvas, err);
}
