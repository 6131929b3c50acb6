#include "cmd/learn_plot.h"

#include <math.h>

#include "cmd/canvas.h"

enum { WIDTH = 900, PANEL = 150, HEAD = 40, LEFT = 90, PLOT = WIDTH - LEFT - 20, LINES = 3 };
static const uint32_t COLOURS[LINES] = {0x1f77b4, 0xff7f0e, 0x2ca02c}, GREY = 0xbbbbbb, BLACK = 0x222222;

static double reward(const struct nm_learned *row) { return row->reward; }
static double falls(const struct nm_learned *row) { return row->falls; }
static double watts(const struct nm_learned *row) { return row->watts; }
static double along(const struct nm_learned *row, int way) { return row->limits.most[way] * row->reached[way]; }
static double forward(const struct nm_learned *row) { return along(row, NM_WALK_FORWARD); }
static double back(const struct nm_learned *row) { return along(row, NM_WALK_BACK); }
static double side(const struct nm_learned *row) { return along(row, NM_WALK_SIDE); }
static double turn(const struct nm_learned *row) { return along(row, NM_WALK_TURN); }
static double push(const struct nm_learned *row) { return row->limits.push; }

static const struct panel {
    const char *title;
    double (*lines[LINES])(const struct nm_learned *row); /* in the order of the colours */
} PANELS[] = {
    {"reward of a period", {reward}},
    {"reached, m/s: forward (blue), back (orange), side (green)", {forward, back, side}},
    {"reached, rad/s: turn", {turn}},
    {"largest push, N s", {push}},
    {"falls a second", {falls}},
    {"power of the servos, W", {watts}},
};
enum { N_PANELS = sizeof PANELS / sizeof *PANELS };

static void draw_panel(struct canvas *canvas, const struct panel *panel, const struct nm_learned *curve, uint32_t n,
                       double top)
{
    double low = INFINITY, high = -INFINITY, first = top + 24, height = PANEL - 44;
    char text[40];
    for (int l = 0; l < LINES && panel->lines[l]; l++)
        for (uint32_t i = 0; i < n; i++) {
            low = fmin(low, panel->lines[l](&curve[i]));
            high = fmax(high, panel->lines[l](&curve[i]));
        }
    double spread = high > low ? high - low : 1;
    canvas_text(canvas, LEFT, top + 14, false, BLACK, panel->title);
    canvas_line(canvas, LEFT, first, LEFT + PLOT, first, 1, GREY);
    canvas_line(canvas, LEFT, first + height, LEFT + PLOT, first + height, 1, GREY);
    snprintf(text, sizeof text, "%.3g", high);
    canvas_text(canvas, LEFT - 6, first + 10, true, BLACK, text);
    snprintf(text, sizeof text, "%.3g", low);
    canvas_text(canvas, LEFT - 6, first + height, true, BLACK, text);
    for (int l = 0; l < LINES && panel->lines[l]; l++)
        for (uint32_t i = 1; i < n; i++) {
            double x0 = LEFT + PLOT * curve[i - 1].steps / curve[n - 1].steps,
                   x1 = LEFT + PLOT * curve[i].steps / curve[n - 1].steps;
            double y0 = panel->lines[l](&curve[i - 1]), y1 = panel->lines[l](&curve[i]);
            canvas_line(canvas, x0, first + height * (high - y0) / spread, x1, first + height * (high - y1) / spread,
                        1.5, COLOURS[l]);
        }
}

int learn_plot(const struct nm_learned *curve, uint32_t n, const char *title, const char *path, struct nm_err *err)
{
    struct canvas canvas;
    char text[160];
    if (!n) return nm_fail(err, "%s: nothing was learned yet", path);
    if (canvas_begin(&canvas, path, WIDTH, HEAD + N_PANELS * PANEL, err)) return -1;
    snprintf(text, sizeof text, "%s: %.2f million steps of the policy in %.1f minutes", title,
             curve[n - 1].steps * 1e-6, curve[n - 1].seconds / 60);
    canvas_text(&canvas, LEFT, 24, false, BLACK, text);
    for (uint32_t i = 0; i < N_PANELS; i++) draw_panel(&canvas, &PANELS[i], curve, n, HEAD + i * PANEL);
    return canvas_end(&canvas, err);
}
