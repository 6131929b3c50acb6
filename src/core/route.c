/* Lines of the picture of a line-up. A net that stays in one gutter is one vertical run there; one that goes farther
 * has a trunk in the channel that costs the least way, and a run in every gutter that it reaches. Runs and trunks that
 * overlap get different lanes (the left-edge algorithm of channel routing). Since outputs lie half a line lower than
 * inputs, no two stubs meet at the same height.
 *
 * Before there are pixels, a place along the vertical is a number: channels and rows in turn, then the line in it. */
#include <stdlib.h>
#include <string.h>

#include "core/layout.h"

#define GUTTER_PAD  13.0
#define CHANNEL_PAD 8.0
#define BAND_HEAD   28.0
#define BAND_GAP    14.0
#define MARGIN      18.0
#define PAGE_HEAD   64.0
#define NAME_INDENT 26.0 /* of a box's name, behind its number */
#define BOLD        1.08 /* wider than plain letters           */

static bool is_out(const struct pin *pin) { return pin->kind == NM_PORT_OUT || pin->kind == NM_PORT_OUT_QUEUE; }

static struct pin *pin_of(const struct layout *l, struct net_end end) { return &l->boxes[end.box].pins[end.pin]; }

/* Gutter g lies left of column g. */
uint32_t gutter_of(const struct layout *l, struct net_end end)
{
    return l->boxes[end.box].column + is_out(pin_of(l, end));
}

/* Channel c is slot 2 c. Row r of band b lies between the channels r + b and r + b + 1. */
static uint32_t row_slot(const struct box *box) { return 2 * (box->row + box->band) + 1; }

static uint64_t place_of(const struct layout *l, struct net_end end)
{
    const struct pin *pin = pin_of(l, end);
    return (uint64_t)row_slot(&l->boxes[end.box]) << 32 | (2 * pin->line + is_out(pin));
}

static uint32_t n_channels(const struct layout *l) { return l->n_rows + l->n_bands; }

/* ---- trunks ---- */

/* What a net reaches in one gutter, in slots. */
struct reach {
    uint32_t low, high;
};

/* How far up and down the runs of a net go with its trunk in a channel. */
static uint32_t way(const struct net *net, const struct reach *reach, uint32_t channel)
{
    uint32_t sum = 0, slot = 2 * channel;
    for (uint32_t g = net->left; g <= net->right; g++)
        if (reach[g].low <= reach[g].high)
            sum += (slot > reach[g].high ? slot : reach[g].high) - (slot < reach[g].low ? slot : reach[g].low);
    return sum;
}

static void choose_channel(struct layout *l, struct net *net, struct reach *reach)
{
    uint32_t best = UINT32_MAX, low = UINT32_MAX, high = 0;
    net->left = UINT32_MAX;
    for (uint32_t g = 0; g <= l->n_columns; g++) reach[g] = (struct reach){UINT32_MAX, 0};
    for (uint32_t e = 0; e < net->n_ends; e++) {
        uint32_t g = gutter_of(l, net->ends[e]), slot = row_slot(&l->boxes[net->ends[e].box]);
        if (g < net->left) net->left = g;
        if (g > net->right) net->right = g;
        if (slot < reach[g].low) reach[g].low = slot;
        if (slot > reach[g].high) reach[g].high = slot;
        if (slot < low) low = slot;
        if (slot > high) high = slot;
    }
    if (net->left == net->right) return;
    for (uint32_t c = low / 2; c <= high / 2 + 1 && c < n_channels(l); c++) {
        uint32_t cost = 8 * way(net, reach, c) + l->tracks[c]; /* of equal ways the emptier channel */
        if (cost >= best) continue;
        best = cost;
        net->channel = c;
    }
    l->tracks[net->channel]++;
}

static int by_left(const void *a, const void *b)
{
    const struct net *x = *(struct net *const *)a, *y = *(struct net *const *)b;
    if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
    if (x->left != y->left) return x->left < y->left ? -1 : 1;
    return (x->topic > y->topic) - (x->topic < y->topic);
}

/* The first lane whose last line ended before this one begins; `ends` holds one number a lane. */
static uint32_t free_lane(uint64_t *ends, uint32_t *n, uint64_t low, uint64_t high)
{
    uint32_t lane = 0;
    while (lane < *n && ends[lane] >= low) lane++;
    if (lane == *n) ++*n;
    ends[lane] = high;
    return lane;
}

static void make_trunks(struct layout *l)
{
    struct net **sorted = nm_take_n(l->arena, struct net *, l->n_nets + 1);
    uint64_t *ends = nm_take_n(l->arena, uint64_t, l->n_nets + 1);
    uint32_t n = 0;
    struct reach *reach = nm_take_n(l->arena, struct reach, l->n_columns + 1);
    l->tracks = nm_take_n(l->arena, uint32_t, n_channels(l) + 1);
    for (uint32_t i = 0; i < l->n_nets; i++) {
        choose_channel(l, &l->nets[i], reach);
        if (l->nets[i].channel != NM_NONE) sorted[n++] = &l->nets[i];
    }
    memset(l->tracks, 0, (n_channels(l) + 1) * sizeof *l->tracks);
    if (n) qsort(sorted, n, sizeof *sorted, by_left);
    for (uint32_t i = 0; i < n; i++)
        sorted[i]->track = free_lane(ends, &l->tracks[sorted[i]->channel], sorted[i]->left, sorted[i]->right);
}

/* ---- runs ---- */

static int by_low(const void *a, const void *b)
{
    const struct run *x = *(struct run *const *)a, *y = *(struct run *const *)b;
    if (x->gutter != y->gutter) return x->gutter < y->gutter ? -1 : 1;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return (x->net > y->net) - (x->net < y->net);
}

static void add_runs(struct layout *l, struct net *net)
{
    net->first_run = l->n_runs;
    for (uint32_t gutter = net->left; gutter <= net->right; gutter++) {
        struct run run = {.net = (uint32_t)(net - l->nets), .gutter = gutter, .low = UINT64_MAX};
        if (net->channel != NM_NONE) run.low = run.high = (uint64_t)(2 * net->channel) << 32 | net->track;
        bool reached = false;
        for (uint32_t e = 0; e < net->n_ends; e++) {
            if (gutter_of(l, net->ends[e]) != gutter) continue;
            uint64_t place = place_of(l, net->ends[e]);
            if (place < run.low) run.low = place;
            if (place > run.high) run.high = place;
            reached = true;
        }
        if (reached) l->runs[l->n_runs++] = run;
    }
    net->n_runs = l->n_runs - net->first_run;
}

static void make_runs(struct layout *l)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < l->n_nets; i++) total += l->nets[i].n_ends;
    l->runs = nm_take_n(l->arena, struct run, total + 1);
    for (uint32_t i = 0; i < l->n_nets; i++) add_runs(l, &l->nets[i]);
    struct run **sorted = nm_take_n(l->arena, struct run *, l->n_runs + 1);
    uint64_t *ends = nm_take_n(l->arena, uint64_t, l->n_runs + 1);
    for (uint32_t i = 0; i < l->n_runs; i++) sorted[i] = &l->runs[i];
    if (l->n_runs) qsort(sorted, l->n_runs, sizeof *sorted, by_low);
    l->lanes = nm_take_n(l->arena, uint32_t, l->n_columns + 2);
    for (uint32_t i = 0; i < l->n_runs; i++)
        sorted[i]->lane = free_lane(ends, &l->lanes[sorted[i]->gutter], sorted[i]->low, sorted[i]->high);
}

/* ---- pixels ---- */

static double box_width(const struct layout *l, const struct box *box)
{
    const struct nm_lineup_instance *instance = box->instance == NM_NONE ? NULL : &l->lineup->instances[box->instance];
    const char *name = instance ? instance->name : "outside";
    double width = NAME_INDENT + BOLD * text_width(name, NAME_SIZE) + 10;
    if (instance && strcmp(name, instance->module->name)) width += 8 + text_width(instance->module->name, LABEL_SIZE);
    for (uint32_t p = 0; p < box->n_pins; p++) {
        double label = text_width(box->pins[p].label, LABEL_SIZE) + 26;
        if (label > width) width = label;
    }
    return width;
}

static void set_columns(struct layout *l)
{
    double x = MARGIN;
    l->gutter_x = nm_take_n(l->arena, double, l->n_columns + 2);
    for (uint32_t c = 0; c <= l->n_columns; c++) {
        l->gutter_x[c] = x;
        x += 2 * GUTTER_PAD + (l->lanes[c] ? LANE_STEP * (l->lanes[c] - 1) : 0);
        double width = 0;
        for (uint32_t b = 0; b < l->n_boxes; b++)
            if (l->boxes[b].column == c && box_width(l, &l->boxes[b]) > width) width = box_width(l, &l->boxes[b]);
        for (uint32_t b = 0; b < l->n_boxes; b++) {
            if (l->boxes[b].column != c) continue;
            l->boxes[b].x = x;
            l->boxes[b].width = width;
        }
        x += width;
    }
    l->width = x + MARGIN;
}

static double set_row(struct layout *l, uint32_t row, double y)
{
    double tallest = 0;
    for (uint32_t b = 0; b < l->n_boxes; b++) {
        struct box *box = &l->boxes[b];
        if (box->row != row) continue;
        box->y = y;
        box->height = BOX_HEAD + PIN_STEP * box->n_pins + (box->n_pins ? PIN_STEP / 2 + 3 : 0);
        if (box->height > tallest) tallest = box->height;
    }
    return y + tallest;
}

static double set_channel(struct layout *l, uint32_t channel, double y)
{
    l->channel_y[channel] = y + CHANNEL_PAD;
    return y + 2 * CHANNEL_PAD + (l->tracks[channel] ? LANE_STEP * (l->tracks[channel] - 1) : 0);
}

static void set_rows(struct layout *l)
{
    double y = PAGE_HEAD;
    l->channel_y = nm_take_n(l->arena, double, n_channels(l) + 1);
    for (uint32_t b = 0; b < l->n_bands; b++) {
        struct band *band = &l->bands[b];
        band->y = y;
        y += BAND_HEAD;
        for (uint32_t row = band->first_row; row < band->first_row + band->n_rows; row++)
            y = set_row(l, row, set_channel(l, row + b, y));
        y = set_channel(l, band->first_row + band->n_rows + b, y);
        band->height = y - band->y;
        y += BAND_GAP;
    }
    l->height = y - BAND_GAP + MARGIN;
}

static void set_pins(struct layout *l)
{
    for (uint32_t b = 0; b < l->n_boxes; b++) {
        struct box *box = &l->boxes[b];
        for (uint32_t p = 0; p < box->n_pins; p++) {
            struct pin *pin = &box->pins[p];
            pin->x = is_out(pin) ? box->x + box->width : box->x;
            pin->y = box->y + BOX_HEAD + PIN_STEP * (pin->line + (is_out(pin) ? 1.0 : 0.5));
        }
    }
}

double lane_x(const struct layout *l, const struct run *run)
{
    return l->gutter_x[run->gutter] + GUTTER_PAD + LANE_STEP * run->lane;
}

double track_y(const struct layout *l, const struct net *net)
{
    return l->channel_y[net->channel] + LANE_STEP * net->track;
}

void layout_route(struct layout *l)
{
    make_trunks(l);
    make_runs(l);
    set_columns(l);
    set_rows(l);
    set_pins(l);
}
