/* Where everything lies in the picture of a line-up: boxes first, then lines, then pixels. A box stands one column
 * right of the last one whose output it needs; inside a column the boxes are sorted by the mean row of their neighbours
 * (Sugiyama's barycentre), a few sweeps there and back. */
#include "cmd/lineup_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines, once the boxes have their cells ---- */

/* Lines of the picture of a line-up. A net that stays in one gutter is one vertical run there; one that goes farther
 * has a trunk in the channel that costs the least way, and a run in every gutter that it reaches. Runs and trunks that
 * overlap get different lanes (the left-edge algorithm of channel routing). Since outputs lie half a line lower than
 * inputs, no two stubs meet at the same height.
 *
 * Before there are pixels, a place along the vertical is a number: channels and rows in turn, then the line in it. */
#define GUTTER_PAD  13.0
#define CHANNEL_PAD 8.0
#define BAND_HEAD   28.0
#define BAND_GAP    14.0
#define MARGIN      18.0
#define PAGE_HEAD   64.0
#define NAME_INDENT 26.0 /* of a box's name, behind its number */
#define BOLD        1.08 /* wider than plain letters           */

/* Mean widths of a sans-serif letter, wide enough for the usual fonts. */
static double text_width(const char *text, double size)
{
    double width = 0;
    for (; *text; text++) {
        if ((*text & 0xc0) == 0x80) continue; /* inside a letter of several bytes */
        width += strchr("ijlft.,:;|!'I()[] /", *text) ? 0.36 : strchr("mwMW@", *text) ? 0.92 : 0.6;
    }
    return width * size;
}

static bool is_out(enum nm_port_kind kind) { return kind == NM_PORT_OUT || kind == NM_PORT_OUT_QUEUE; }

static struct pin *pin_of(const struct layout *l, struct net_end end) { return &l->boxes[end.box].pins[end.pin]; }

/* Gutter g lies left of column g. */
uint32_t gutter_of(const struct layout *l, struct net_end end)
{
    return l->boxes[end.box].column + is_out(pin_of(l, end)->kind);
}

/* Channel c is slot 2 c. Row r of band b lies between the channels r + b and r + b + 1. */
static uint32_t row_slot(const struct box *box) { return 2 * (box->row + box->band) + 1; }

static uint64_t place_of(const struct layout *l, struct net_end end)
{
    const struct pin *pin = pin_of(l, end);
    return (uint64_t)row_slot(&l->boxes[end.box]) << 32 | (2 * pin->line + is_out(pin->kind));
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
            pin->x = is_out(pin->kind) ? box->x + box->width : box->x;
            pin->y = box->y + BOX_HEAD + PIN_STEP * (pin->line + (is_out(pin->kind) ? 1.0 : 0.5));
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

static void layout_route(struct layout *l)
{
    make_trunks(l);
    make_runs(l);
    set_columns(l);
    set_rows(l);
    set_pins(l);
}

static bool is_last(enum nm_port_kind kind) { return kind == NM_PORT_LAST || kind == NM_PORT_LAST_QUEUE; }

/* ---- boxes and pins ---- */

/* A service is one line, from those who call to the one who answers. */
static const char *label_of(struct layout *l, const struct nm_topic *topic)
{
    if (topic->role != NM_ROLE_REQUEST) return topic->name;
    return nm_take_format(l->arena, "%.*s()", (int)(strlen(topic->name) - strlen("/request")), topic->name);
}

static void add_pin(struct layout *l, struct box *box, uint32_t topic, enum nm_port_kind kind)
{
    struct pin *pin = &box->pins[box->n_pins];
    *pin = (struct pin){.label = label_of(l, &l->lineup->topics[topic]), .topic = topic, .kind = kind, .net = NM_NONE};
    pin->line = box->n_pins++;
}

static void make_box(struct layout *l, struct box *box, uint32_t instance)
{
    const struct nm_lineup_instance *plan = &l->lineup->instances[instance];
    box->instance = instance;
    box->band = plan->cycle;
    box->pins = nm_take_n(l->arena, struct pin, plan->n_ports + 1);
    for (int out = 0; out <= 1; out++) {
        for (uint32_t p = 0; p < plan->n_ports; p++) {
            const struct nm_port *port = &plan->module->ports[p];
            const struct nm_topic *topic = &l->lineup->topics[plan->topics[p]];
            bool hidden = topic->role == NM_ROLE_REPLY || port->offset == UINT32_MAX;
            if (!hidden && is_out(port->kind) == (bool)out) add_pin(l, box, plan->topics[p], port->kind);
        }
    }
}

static bool reads(const struct nm_lineup *lineup, uint32_t cycle, const struct nm_topic *topic)
{
    for (uint32_t c = 0; c < topic->n_consumers; c++)
        if (lineup->instances[topic->consumers[c].instance].cycle == cycle) return true;
    return false;
}

/* What a band reads from outside, as a box of outputs; empty if it reads nothing. */
static void make_outside(struct layout *l, struct box *box, uint32_t band)
{
    *box = (struct box){.instance = NM_NONE, .band = band};
    box->pins = nm_take_n(l->arena, struct pin, l->lineup->n_topics + 1);
    for (uint32_t t = 0; t < l->lineup->n_topics; t++) {
        const struct nm_topic *topic = &l->lineup->topics[t];
        bool drawn = topic->remote && !topic->builtin && topic->role != NM_ROLE_REPLY;
        if (drawn && reads(l->lineup, band, topic)) add_pin(l, box, t, NM_PORT_OUT);
    }
}

static void make_boxes(struct layout *l)
{
    l->n_bands = l->lineup->n_cycles;
    l->bands = nm_take_n(l->arena, struct band, l->n_bands + 1);
    l->boxes = nm_take_n(l->arena, struct box, l->lineup->n_instances + l->n_bands + 1);
    for (uint32_t b = 0; b < l->n_bands; b++) {
        struct band *band = &l->bands[b];
        band->first = l->n_boxes;
        for (uint32_t i = 0; i < l->lineup->cycles[b].n_order; i++)
            make_box(l, &l->boxes[l->n_boxes++], l->lineup->cycles[b].order[i]);
        make_outside(l, &l->boxes[l->n_boxes], b);
        band->outside = l->boxes[l->n_boxes].n_pins > 0;
        l->n_boxes += band->outside;
        band->n_boxes = l->n_boxes - band->first;
    }
}

/* ---- nets ---- */

/* A topic is one net; one that only comes from outside is a net in each band, as each has its own box for that. */
static uint32_t net_of(const struct layout *l, uint32_t topic, uint32_t band)
{
    const struct nm_topic *t = &l->lineup->topics[topic];
    if (t->builtin || t->role == NM_ROLE_REPLY) return NM_NONE; /* in the air, not on a line */
    return topic * l->n_bands + (t->n_producers ? 0 : band);
}

/* Counts the ends of every net, and when there is room for them adds them: all sources, then all sinks. */
static void each_end(struct layout *l, bool add)
{
    for (int out = 1; out >= 0; out--) {
        for (uint32_t b = 0; b < l->n_boxes; b++) {
            struct box *box = &l->boxes[b];
            for (uint32_t p = 0; p < box->n_pins; p++) {
                uint32_t n = net_of(l, box->pins[p].topic, box->band);
                if (n == NM_NONE || is_out(box->pins[p].kind) != (bool)out) continue;
                struct net *net = &l->nets[n];
                if (add) net->ends[net->n_ends] = (struct net_end){b, p};
                if (out && box->instance != NM_NONE && net->cycle == NM_NONE) net->cycle = box->band;
                net->n_sources += (uint32_t)out;
                net->n_ends++;
            }
        }
    }
}

static void make_nets(struct layout *l)
{
    uint32_t all = l->lineup->n_topics * l->n_bands;
    l->nets = nm_take_n(l->arena, struct net, all + 1);
    for (uint32_t n = 0; n < all; n++) l->nets[n].cycle = l->nets[n].channel = NM_NONE;
    each_end(l, false);
    for (uint32_t n = 0; n < all; n++) {
        struct net *net = &l->nets[n];
        net->topic = n / l->n_bands;
        net->ends = nm_take_n(l->arena, struct net_end, net->n_ends);
        net->n_ends = net->n_sources = 0;
    }
    each_end(l, true);
    for (uint32_t n = 0; n < all; n++) { /* only those that lead from somewhere to somewhere */
        struct net net = l->nets[n];
        if (!net.n_sources || net.n_sources == net.n_ends) continue;
        for (uint32_t e = 0; e < net.n_ends; e++) l->boxes[net.ends[e].box].pins[net.ends[e].pin].net = l->n_nets;
        l->nets[l->n_nets++] = net;
    }
}

/* ---- columns ---- */

/* Looks at the boxes of the same band at the far end of a box's lines: those that it needs in the same run, or those
 * that need it. Returns the column behind the first kind, or the leftmost of the second (UINT32_MAX: none). */
static uint32_t bound_of(const struct layout *l, const struct box *box, bool needs)
{
    uint32_t bound = needs ? 0 : UINT32_MAX;
    for (uint32_t p = 0; p < box->n_pins; p++) {
        const struct pin *pin = &box->pins[p];
        if (pin->net == NM_NONE || is_out(pin->kind) == needs || is_last(pin->kind)) continue;
        const struct net *net = &l->nets[pin->net];
        for (uint32_t e = needs ? 0 : net->n_sources; e < (needs ? net->n_sources : net->n_ends); e++) {
            const struct box *other = &l->boxes[net->ends[e].box];
            if (other == box || other->band != box->band || other->instance == NM_NONE) continue;
            if (is_last(other->pins[net->ends[e].pin].kind)) continue;
            if (needs && other->layer + 1 > bound) bound = other->layer + 1;
            if (!needs && other->layer < bound) bound = other->layer;
        }
    }
    return bound;
}

/* Gives each box the first column behind its needs that holds fewer than `most`; returns how many columns that takes.
 * Boxes are in the order of steps, so all needs of one are placed before it. */
static uint32_t fill_columns(struct layout *l, struct band *band, uint32_t most, uint32_t *count)
{
    uint32_t columns = 0;
    memset(count, 0, (band->n_boxes + 1) * sizeof *count);
    for (uint32_t i = 0; i < band->n_boxes; i++) {
        struct box *box = &l->boxes[band->first + i];
        if (box->instance == NM_NONE) continue;
        box->layer = bound_of(l, box, true);
        while (count[box->layer] >= most) box->layer++;
        count[box->layer]++;
        if (box->layer + 1 > columns) columns = box->layer + 1;
    }
    return columns;
}

/* One that needs nobody moves towards the first that needs it, as far as there is room. */
static void pull_right(struct layout *l, struct band *band, uint32_t most, uint32_t *count)
{
    for (uint32_t i = band->n_boxes; i-- > 0;) {
        struct box *box = &l->boxes[band->first + i];
        uint32_t before = bound_of(l, box, false), to = box->layer;
        if (box->instance == NM_NONE || before == UINT32_MAX || bound_of(l, box, true) > 0) continue;
        for (uint32_t c = box->layer + 1; c < before; c++)
            if (count[c] < most) to = c;
        count[box->layer]--;
        count[box->layer = to]++;
    }
}

/* The widest band, at least COLUMNS, gives the width of the page; the others use it to be flat. */
static void make_columns(struct layout *l)
{
    enum { COLUMNS = 6 };
    uint32_t wide = COLUMNS;
    uint32_t *count = nm_take_n(l->arena, uint32_t, l->n_boxes + 2);
    for (uint32_t b = 0; b < l->n_bands; b++) {
        uint32_t columns = fill_columns(l, &l->bands[b], UINT32_MAX, count);
        if (columns > wide) wide = columns;
    }
    for (uint32_t b = 0; b < l->n_bands; b++) {
        struct band *band = &l->bands[b];
        uint32_t most = 1 + band->n_boxes / (wide + 1);
        while (fill_columns(l, band, most, count) > wide) most++;
        pull_right(l, band, most, count);
        for (uint32_t i = 0; i < band->n_boxes; i++) {
            struct box *box = &l->boxes[band->first + i];
            box->column = box->instance == NM_NONE ? 0 : box->layer + band->outside;
            if (box->column + 1 > l->n_columns) l->n_columns = box->column + 1;
        }
    }
}

/* ---- rows ---- */

/* The mean row of the neighbours in the columns on one side (or, at first, of none: as it stands). */
static double wish_of(const struct layout *l, const struct box *box, int side)
{
    double sum = 0, n = 0;
    for (uint32_t p = 0; p < box->n_pins; p++) {
        if (box->pins[p].net == NM_NONE) continue;
        const struct net *net = &l->nets[box->pins[p].net];
        bool out = is_out(box->pins[p].kind);
        for (uint32_t e = out ? net->n_sources : 0; e < (out ? net->n_ends : net->n_sources); e++) {
            const struct box *other = &l->boxes[net->ends[e].box];
            int way = (other->column > box->column) - (other->column < box->column);
            if (other->band != box->band || way != side) continue;
            sum += other->row;
            n++;
        }
    }
    return n > 0 ? sum / n : box->row;
}

/* Sorts the boxes of one column by what they wish for, and gives each the row nearest to it that is free. */
static void settle_column(struct layout *l, struct band *band, uint32_t column, int side)
{
    struct box *found[1025];
    uint32_t n = 0;
    for (uint32_t i = 0; i < band->n_boxes; i++) {
        struct box *box = &l->boxes[band->first + i];
        if (box->column != column || n == 1025) continue;
        box->wish = wish_of(l, box, side);
        uint32_t at = n++;
        for (; at > 0 &&
               (found[at - 1]->wish > box->wish || (found[at - 1]->wish == box->wish && found[at - 1]->row > box->row));
             at--)
            found[at] = found[at - 1];
        found[at] = box;
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t last = band->n_rows - (n - i); /* leaves room for those below */
        double wish = round(found[i]->wish);
        uint32_t row = wish < next ? next : (uint32_t)wish;
        found[i]->row = row > last ? last : row;
        next = found[i]->row + 1;
    }
}

static void make_rows(struct layout *l, struct band *band)
{
    enum { SWEEPS = 6 };
    uint32_t *filled = nm_take_n(l->arena, uint32_t, l->n_columns + 1);
    for (uint32_t i = 0; i < band->n_boxes; i++) {
        struct box *box = &l->boxes[band->first + i];
        box->row = filled[box->column]++;
        if (filled[box->column] > band->n_rows) band->n_rows = filled[box->column];
    }
    for (uint32_t sweep = 0; sweep < SWEEPS; sweep++) {
        for (uint32_t c = 1; c < l->n_columns; c++) settle_column(l, band, c, -1);
        for (uint32_t c = l->n_columns; c-- > 0;) settle_column(l, band, c, 1);
    }
    band->first_row = l->n_rows;
    l->n_rows += band->n_rows;
    for (uint32_t i = 0; i < band->n_boxes; i++) l->boxes[band->first + i].row += band->first_row;
}

void layout_make(struct layout *l)
{
    make_boxes(l);
    make_nets(l);
    make_columns(l);
    for (uint32_t b = 0; b < l->n_bands; b++) make_rows(l, &l->bands[b]);
    layout_route(l);
}
