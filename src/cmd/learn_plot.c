#include "cmd/learn_plot.h"

#include "cmd/plot.h"

static double reward(const struct nm_learned *row) { return row->reward; }
static double falls(const struct nm_learned *row) { return row->falls; }
static double watts(const struct nm_learned *row) { return row->watts; }
static double along(const struct nm_learned *row, int way) { return row->limits.most[way] * row->reached[way]; }
static double forward(const struct nm_learned *row) { return along(row, NM_WALK_FORWARD); }
static double back(const struct nm_learned *row) { return along(row, NM_WALK_BACK); }
static double side(const struct nm_learned *row) { return along(row, NM_WALK_SIDE); }
static double turn(const struct nm_learned *row) { return along(row, NM_WALK_TURN); }
static double push(const struct nm_learned *row) { return row->limits.push; }

static const struct {
    const char *title; /* NULL: in the panel before it */
    double (*value)(const struct nm_learned *row);
} LINES[] = {
    {"reward of a period", reward},
    {"reached, m/s: forward (blue), back (orange), side (green)", forward},
    {NULL, back},
    {NULL, side},
    {"reached, rad/s: turn", turn},
    {"largest push, N s", push},
    {"falls a second", falls},
    {"power of the servos, W", watts},
};
enum { N_LINES = sizeof LINES / sizeof *LINES };

int learn_plot(const struct nm_learned *curve, uint32_t n, const char *title, const char *path, struct nm_err *err)
{
    struct plot_series series[N_LINES] = {0};
    char text[160];
    if (!n) return nm_fail(err, "%s: nothing was learned yet", path);
    for (uint32_t l = 0; l < N_LINES; l++) {
        series[l].name = LINES[l].title;
        series[l].joins = !LINES[l].title;
        for (uint32_t i = 0; i < n; i++) plot_add(&series[l], curve[i].steps * 1e-6, LINES[l].value(&curve[i]));
    }
    snprintf(text, sizeof text, "%s: %.2f million steps of the policy in %.1f minutes", title,
             curve[n - 1].steps * 1e-6, curve[n - 1].seconds / 60);
    int bad = plot_write(series, N_LINES, text, "million steps", path, err);
    for (uint32_t l = 0; l < N_LINES; l++) plot_free(&series[l]);
    return bad;
}
