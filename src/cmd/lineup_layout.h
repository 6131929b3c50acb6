/* Where everything lies in the picture of a line-up (lineup_drawing.h). Boxes stand in a grid: columns are shared by
 * all bands, rows belong to one. Lines run in the gutters left and right of the columns and in the channels above and
 * below the rows, each on a lane of its own; how many lanes there are decides how wide a gutter or channel is. */
#pragma once

#include "core/lineup.h"

struct pin { /* one topic of a box; inputs on the left, outputs below them on the right */
    const char *label;
    uint32_t topic;
    enum nm_port_kind kind;
    uint32_t net;  /* NM_NONE: no line leads there */
    uint32_t line; /* in its box, from 0           */
    double x, y;
};

struct box {
    uint32_t instance; /* NM_NONE: what comes from outside */
    uint32_t band, layer;
    uint32_t column, row; /* in the grid; rows count through all bands */
    double wish;          /* row that it would like                    */
    uint32_t n_pins;
    struct pin *pins;
    double x, y, width, height;
};

struct band {
    uint32_t first, n_boxes; /* in `boxes`: the instances in step order, then what comes from outside */
    uint32_t first_row, n_rows;
    bool outside; /* column 0 is taken by what comes from outside */
    double y, height;
};

struct net_end {
    uint32_t box, pin;
};

struct run { /* the vertical part of a net in one gutter */
    uint32_t net, gutter;
    uint64_t low, high; /* places, see lineup_layout.c */
    uint32_t lane;
};

struct net {
    uint32_t topic, cycle; /* cycle that makes it, NM_NONE: outside       */
    uint32_t n_sources, n_ends;
    struct net_end *ends; /* sources first                                */
    uint32_t left, right; /* gutters that it reaches                      */
    uint32_t channel;     /* NM_NONE: all in one gutter                   */
    uint32_t track;       /* in its channel                               */
    uint32_t first_run, n_runs;
};

struct layout {
    const struct nm_lineup *lineup;
    struct nm_arena *arena;
    uint32_t n_boxes, n_bands, n_nets, n_runs;
    struct box *boxes;
    struct band *bands;
    struct net *nets;
    struct run *runs;
    uint32_t n_columns, n_rows; /* gutters: one more than columns; channels: one more than rows in each band */
    uint32_t *lanes, *tracks;   /* of each gutter and channel */
    double *gutter_x, *channel_y;
    double width, height;
};

/* measures in pixels */
#define BOX_HEAD   24.0 /* name of a box             */
#define PIN_STEP   15.0 /* between two lines of pins */
#define LANE_STEP  6.0  /* between two lines         */
#define LABEL_SIZE 11.0
#define NAME_SIZE  12.5

double lane_x(const struct layout *l, const struct run *run);
double track_y(const struct layout *l, const struct net *net);
uint32_t gutter_of(const struct layout *l, struct net_end end);

void layout_make(struct layout *l); /* boxes to cells, nets to lanes, cells to pixels */
