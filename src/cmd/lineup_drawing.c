/* The two pictures of a line-up. Everything that comes from modules and files is escaped. */
#include "cmd/lineup_drawing.h"

#include <math.h>
#include <string.h>

#include "cmd/console.h"
#include "cmd/lineup_layout.h"

/* ---- words ---- */

/* 8 ms, 2 s, 1.5 ms */
static void print_duration(FILE *to, int64_t ns)
{
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "µs"}, {1, "ns"}};
    uint32_t u = 0;
    while (u < 3 && ns < units[u].ns) u++;
    fprintf(to, "%.4g %s", (double)ns / (double)units[u].ns, units[u].name);
}

static void print_rhythm(FILE *to, const struct nm_lineup *lineup, const struct nm_lineup_cycle *cycle)
{
    if (cycle->trigger == NM_NONE) {
        fprintf(to, "%.4g Hz, every ", cycle->period > 0 ? 1e9 / (double)cycle->period : 0.0);
        print_duration(to, cycle->period);
    } else {
        fprintf(to, "on %s, or after ", lineup->topics[cycle->trigger].name);
        print_duration(to, cycle->timeout);
    }
}

/* ---- colours ---- */

struct colour {
    char hex[8];
};

/* hue in degrees, saturation and lightness from 0 to 1 */
static struct colour hsl(double hue, double saturation, double lightness)
{
    static const double shift[] = {0, 8, 4};
    struct colour c;
    int rgb[3];
    for (int i = 0; i < 3; i++) {
        double k = fmod(shift[i] + hue / 30 + 12, 12);
        double a = saturation * fmin(lightness, 1 - lightness);
        rgb[i] = (int)lround(255 * (lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1))));
    }
    snprintf(c.hex, sizeof c.hex, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
    return c;
}

/* far apart for neighbours; what comes from outside is grey */
static double hue_of(uint32_t cycle)
{
    static const double hues[] = {212, 28, 150, 282, 350, 188, 48, 322};
    return hues[cycle % (sizeof hues / sizeof hues[0])];
}

/* Lines of one cycle share its hue and differ in shade, so that a bundle can be followed. */
static struct colour line_colour(const struct net *net)
{
    double turn = fmod(net->topic * 0.618034, 1);
    if (net->cycle == NM_NONE) return hsl(220, 0.08, 0.4 + 0.25 * turn);
    return hsl(hue_of(net->cycle) + 36 * (turn - 0.5), 0.62, 0.34 + 0.22 * fmod(net->topic * 0.754878, 1));
}

/* ---- SVG: lines ---- */

struct point {
    double x, y;
};

/* A way along the axes with rounded corners. */
static void print_way(FILE *to, const struct point *at, uint32_t n, const char *class)
{
    fprintf(to, "<path class=\"%s\" d=\"M%.1f %.1f", class, at[0].x, at[0].y);
    for (uint32_t i = 1; i + 1 < n; i++) {
        double in = hypot(at[i].x - at[i - 1].x, at[i].y - at[i - 1].y);
        double out = hypot(at[i + 1].x - at[i].x, at[i + 1].y - at[i].y), r = fmin(5, fmin(in, out) / 2);
        if (in < 0.05 || out < 0.05) continue;
        fprintf(to, "L%.1f %.1fQ%.1f %.1f %.1f %.1f", at[i].x - (at[i].x - at[i - 1].x) / in * r,
                at[i].y - (at[i].y - at[i - 1].y) / in * r, at[i].x, at[i].y,
                at[i].x + (at[i + 1].x - at[i].x) / out * r, at[i].y + (at[i + 1].y - at[i].y) / out * r);
    }
    fprintf(to, "L%.1f %.1f\"/>\n", at[n - 1].x, at[n - 1].y);
}

static double lane_of(const struct layout *l, const struct net *net, struct net_end end)
{
    for (uint32_t r = net->first_run; r < net->first_run + net->n_runs; r++)
        if (l->runs[r].gutter == gutter_of(l, end)) return lane_x(l, &l->runs[r]);
    return 0;
}

static void print_branch(FILE *to, const struct layout *l, const struct net *net, struct net_end from,
                         struct net_end end)
{
    const struct pin *a = &l->boxes[from.box].pins[from.pin], *b = &l->boxes[end.box].pins[end.pin];
    bool last = b->kind == NM_PORT_LAST || b->kind == NM_PORT_LAST_QUEUE;
    double out = lane_of(l, net, from), in = lane_of(l, net, end);
    struct point way[6] = {{a->x, a->y}, {out, a->y}};
    uint32_t n = 2;
    if (gutter_of(l, from) != gutter_of(l, end)) {
        way[n++] = (struct point){out, track_y(l, net)};
        way[n++] = (struct point){in, track_y(l, net)};
    }
    way[n++] = (struct point){in, b->y};
    way[n++] = (struct point){b->x - 3, b->y};
    print_way(to, way, n, "hit");
    print_way(to, way, n, last ? "last" : "line");
    fprintf(to, "<path class=\"tip\" d=\"M%.1f %.1fl-6 -3.2v6.4z\"/>\n", b->x, b->y);
}

static void print_net(FILE *to, const struct layout *l, const struct net *net)
{
    const struct nm_topic *topic = &l->lineup->topics[net->topic];
    struct colour colour = line_colour(net);
    fprintf(to, "<g class=\"net\" stroke=\"%s\" fill=\"%s\"><title>%s\n%s</title>\n", colour.hex, colour.hex,
            topic->name, topic->type->name);
    for (uint32_t s = 0; s < net->n_sources; s++)
        for (uint32_t e = net->n_sources; e < net->n_ends; e++) print_branch(to, l, net, net->ends[s], net->ends[e]);
    fputs("</g>\n", to);
}

/* ---- SVG: boxes ---- */

static void print_pin(FILE *to, const struct layout *l, const struct pin *pin)
{
    bool out = pin->kind == NM_PORT_OUT || pin->kind == NM_PORT_OUT_QUEUE;
    bool queue = pin->kind == NM_PORT_QUEUE || pin->kind == NM_PORT_LAST_QUEUE || pin->kind == NM_PORT_OUT_QUEUE;
    const struct nm_topic *topic = &l->lineup->topics[pin->topic];
    struct colour colour = pin->net == NM_NONE ? hsl(220, 0.1, 0.72) : line_colour(&l->nets[pin->net]);
    fprintf(to, "<g><title>%s\n%s%s</title>", topic->name, topic->type->name,
            topic->builtin               ? ", for all"
            : pin->net == NM_NONE && out ? ", not read in this line-up"
                                         : "");
    fprintf(to, "<text class=\"pin%s\" x=\"%.1f\" y=\"%.1f\"%s>%s</text>", pin->net == NM_NONE ? " idle" : "",
            pin->x + (out ? -9 : 9), pin->y + 3.8, out ? " text-anchor=\"end\"" : "", pin->label);
    if (!out && pin->net != NM_NONE)
        fputs("</g>\n", to); /* the arrow's tip is there */
    else if (queue)
        fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill=\"%s\"/></g>\n", pin->x - 3, pin->y - 3,
                colour.hex);
    else
        fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/></g>\n", pin->x, pin->y, colour.hex);
}

static void print_box(FILE *to, const struct layout *l, const struct box *box, uint32_t step)
{
    bool outside = box->instance == NM_NONE;
    const struct nm_lineup_instance *instance = outside ? NULL : &l->lineup->instances[box->instance];
    struct colour strong = hsl(hue_of(box->band), 0.5, 0.42);
    fprintf(to, "<g><title>");
    if (outside)
        fputs("Topics that come from outside this line-up", to);
    else
        print_escaped(to, instance->module->name), fputs(": ", to), print_escaped(to, instance->module->about);
    fprintf(to,
            "</title><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" stroke=\"%s\"/>",
            outside ? "outside" : "box", box->x, box->y, box->width, box->height, strong.hex);
    if (!outside)
        fprintf(to,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"8.5\" fill=\"%s\"/><text class=\"step\" x=\"%.1f\" "
                "y=\"%.1f\">%u</text>",
                box->x + 13, box->y + 13, strong.hex, box->x + 13, box->y + 16.6, step);
    fprintf(to, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\">%s", box->x + (outside ? 9 : 26), box->y + 17.2,
            outside ? "outside" : instance->name);
    if (!outside && strcmp(instance->name, instance->module->name))
        fprintf(to, "<tspan class=\"module\" dx=\"6\">%s</tspan>", instance->module->name);
    fputs("</text></g>\n", to);
    for (uint32_t p = 0; p < box->n_pins; p++) print_pin(to, l, &box->pins[p]);
}

/* ---- SVG: the page ---- */

static const char style[] =
    "<style>\n"
    "text{font-family:'Helvetica Neue',Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif;fill:#1d2430}\n"
    ".title{font-size:20px;font-weight:700}.small{font-size:12px;fill:#5b6574}\n"
    ".cycle{font-size:15px;font-weight:700}.name{font-size:12.5px;font-weight:600}\n"
    ".module{font-size:11px;font-weight:400;fill:#5b6574}.pin{font-size:11px}.idle{fill:#9aa3b0}\n"
    ".step{font-size:10px;font-weight:700;fill:#fff;text-anchor:middle}\n"
    ".box{fill:#fff;stroke-width:1.3}.outside{fill:#fff;fill-opacity:.55;stroke:#9aa3b0;stroke-width:1.2;stroke-"
    "dasharray:4 3}\n"
    ".line,.last,.hit{fill:none;stroke-width:1.5}.last{stroke-dasharray:5 3}\n"
    ".hit{stroke-opacity:0;stroke-width:7;pointer-events:stroke}.tip{stroke:none}\n"
    ".nets:hover .net{opacity:.13}.nets .net:hover{opacity:1}.nets .net:hover .line,.nets .net:hover "
    ".last{stroke-width:2.6}\n"
    "</style>\n";

static void print_band(FILE *to, const struct layout *l, uint32_t index)
{
    const struct band *band = &l->bands[index];
    fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"12\" fill=\"%s\" stroke=\"%s\"/>\n",
            10.0, band->y, l->width - 20, band->height, hsl(hue_of(index), 0.6, 0.965).hex,
            hsl(hue_of(index), 0.4, 0.86).hex);
}

static void print_band_title(FILE *to, const struct layout *l, uint32_t index)
{
    const struct band *band = &l->bands[index];
    const struct nm_lineup_cycle *cycle = &l->lineup->cycles[index];
    struct colour paper = hsl(hue_of(index), 0.6, 0.965), strong = hsl(hue_of(index), 0.55, 0.34);
    fprintf(to,
            "<text class=\"cycle\" x=\"24\" y=\"%.1f\" stroke=\"%s\" stroke-width=\"4\" paint-order=\"stroke\" "
            "style=\"fill:%s\">%s<tspan class=\"small\" dx=\"10\" font-weight=\"400\">",
            band->y + 21, paper.hex, strong.hex, cycle->name);
    print_rhythm(to, l->lineup, cycle);
    fprintf(to, ", %u module%s</tspan></text>\n", cycle->n_order, cycle->n_order == 1 ? "" : "s");
}

static void print_page_title(FILE *to, const struct layout *l)
{
    const struct nm_lineup *lineup = l->lineup;
    fputs("<text class=\"title\" x=\"22\" y=\"32\">", to);
    print_escaped(to, lineup->name);
    fprintf(to, "</text><text class=\"small\" x=\"22\" y=\"51\">%u modules in %u cycle%s, %u lines",
            lineup->n_instances, lineup->n_cycles, lineup->n_cycles == 1 ? "" : "s", l->n_nets);
    if (lineup->robot) fputs(", robot ", to), print_escaped(to, lineup->robot);
    fputs("   ·   solid: value of this run   ·   dashed: value of the last run   ·   square: a queue   ·   number: "
          "order of steps</text>\n",
          to);
}

void nm_graph_svg(const struct nm_lineup *lineup, FILE *to)
{
    struct nm_arena arena = {0};
    struct layout l = {.lineup = lineup, .arena = &arena};
    layout_make(&l);
    if (l.width < 760) l.width = 760; /* room for the legend */
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n%s",
            l.width, l.height, l.width, l.height, style);
    fprintf(to, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
    for (uint32_t b = 0; b < l.n_bands; b++) print_band(to, &l, b);
    fputs("<g class=\"nets\">\n", to);
    for (uint32_t n = 0; n < l.n_nets; n++) print_net(to, &l, &l.nets[n]);
    fputs("</g>\n", to);
    for (uint32_t b = 0; b < l.n_boxes; b++) print_box(to, &l, &l.boxes[b], b - l.bands[l.boxes[b].band].first + 1);
    for (uint32_t b = 0; b < l.n_bands; b++) print_band_title(to, &l, b);
    print_page_title(to, &l);
    fputs("</svg>\n", to);
    nm_arena_free(&arena);
}

/* ---- Graphviz ---- */

static void print_dot_cycle(FILE *to, const struct nm_lineup *lineup, uint32_t index)
{
    const struct nm_lineup_cycle *cycle = &lineup->cycles[index];
    fprintf(to, "  subgraph cluster_%u {\n    label=<<b>%s</b>  ", index, cycle->name);
    print_rhythm(to, lineup, cycle);
    fprintf(to, ">; style=\"rounded,filled\"; color=\"%s\"; fillcolor=\"%s\";\n", hsl(hue_of(index), 0.4, 0.86).hex,
            hsl(hue_of(index), 0.6, 0.965).hex);
    for (uint32_t i = 0; i < cycle->n_order; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[cycle->order[i]];
        fprintf(to, "    \"%s\" [label=\"%u  %s\", tooltip=\"", instance->name, i + 1, instance->name);
        print_escaped(to, instance->module->about);
        fputs("\"];\n", to);
    }
    fputs("  }\n", to);
}

static void print_dot_topic(FILE *to, const struct nm_lineup *lineup, const struct nm_topic *topic)
{
    bool outside = topic->remote && topic->n_consumers;
    if (topic->builtin || topic->role == NM_ROLE_REPLY) return;
    if (outside) fprintf(to, "  \"/%s\" [shape=plaintext, fillcolor=none];\n", topic->name);
    for (uint32_t c = 0; c < topic->n_consumers; c++) {
        const struct nm_lineup_instance *reader = &lineup->instances[topic->consumers[c].instance];
        enum nm_port_kind kind = reader->module->ports[topic->consumers[c].port].kind;
        const char *look = kind == NM_PORT_LAST || kind == NM_PORT_LAST_QUEUE ? ", style=dashed, constraint=false" : "";
        if (outside)
            fprintf(to, "  \"/%s\" -> \"%s\" [tooltip=\"%s\"%s];\n", topic->name, reader->name, topic->type->name,
                    look);
        for (uint32_t p = 0; p < topic->n_producers; p++)
            fprintf(to, "  \"%s\" -> \"%s\" [label=\"%s\", tooltip=\"%s\"%s];\n",
                    lineup->instances[topic->producers[p].instance].name, reader->name, topic->name, topic->type->name,
                    look);
    }
}

void nm_graph_dot(const struct nm_lineup *lineup, FILE *to)
{
    fputs("digraph \"", to);
    print_escaped(to, lineup->name);
    fputs("\" {\n  rankdir=LR; fontname=\"Helvetica\";\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
          "fontname=\"Helvetica\"];\n"
          "  edge [fontname=\"Helvetica\", fontsize=10];\n",
          to);
    for (uint32_t c = 0; c < lineup->n_cycles; c++) print_dot_cycle(to, lineup, c);
    for (uint32_t t = 0; t < lineup->n_topics; t++) print_dot_topic(to, lineup, &lineup->topics[t]);
    fputs("}\n", to);
}
