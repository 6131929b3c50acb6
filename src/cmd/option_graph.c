#include "cmd/option_graph.h"

#include <string.h>

#include "cmd/console.h"

/* ---- from notes to options ---- */

struct notes {
    const struct nm_option_note *const *begin, *const *end;
};

static const struct nm_option_note *definition(struct notes notes, const char *name)
{
    for (const struct nm_option_note *const *p = notes.begin; p < notes.end; p++)
        if ((*p)->word == NM_WORD_OPTION && !strcmp((*p)->what, name)) return *p;
    return NULL;
}

/* The note of this function that comes next after `order` in its file. */
static const struct nm_option_note *next_in(struct notes notes, const struct nm_option_note *of, int order)
{
    const struct nm_option_note *best = NULL;
    for (const struct nm_option_note *const *p = notes.begin; p < notes.end; p++) {
        bool here = !strcmp((*p)->file, of->file) && !strcmp((*p)->function, of->function);
        if (here && (*p)->order > order && (!best || (*p)->order < best->order)) best = *p;
    }
    return best;
}

static void read_option(struct notes notes, const struct nm_option_note *of, struct graph_option *option)
{
    struct graph_state *state = &option->states[0];
    *option = (struct graph_option){.name = of->what, .file = of->file, .n = 1};
    state->name = "";
    for (const struct nm_option_note *w = next_in(notes, of, of->order); w; w = next_in(notes, of, w->order)) {
        if (w->word == NM_WORD_STATE && option->n < GRAPH_STATES) {
            state = &option->states[option->n++];
            state->name = w->what;
        } else if (w->word != NM_WORD_STATE && state->n < GRAPH_WORDS) {
            state->words[state->n++] = w;
        }
    }
}

static struct graph_option *find(struct option_graph *graph, const char *name)
{
    for (uint32_t i = 0; i < graph->n; i++)
        if (!strcmp(graph->options[i].name, name)) return &graph->options[i];
    return NULL;
}

static void add(struct option_graph *graph, struct notes notes, const char *name, uint32_t depth)
{
    const struct nm_option_note *of = definition(notes, name);
    struct graph_option *option = find(graph, name);
    if (!of || depth >= NM_OPTION_DEPTH || (!option && graph->n == GRAPH_OPTIONS)) return;
    if (option && option->depth >= depth) return;
    if (!option) read_option(notes, of, option = &graph->options[graph->n++]);
    option->depth = depth;
    for (uint32_t s = 0; s < option->n; s++)
        for (uint32_t w = 0; w < option->states[s].n; w++)
            if (option->states[s].words[w]->word == NM_WORD_PLAY)
                add(graph, notes, option->states[s].words[w]->what, depth + 1);
}

bool option_graph_read(struct option_graph *graph, const struct nm_option_note *const *begin,
                       const struct nm_option_note *const *end, const char *file)
{
    struct notes notes = {begin, end};
    graph->n = 0;
    for (const struct nm_option_note *const *p = begin; p < end; p++)
        if ((*p)->word == NM_WORD_PLAY && !strcmp((*p)->file, file) && !definition(notes, (*p)->function))
            add(graph, notes, (*p)->what, 0);
    return graph->n > 0;
}

/* ---- text ---- */

static void print_words(const struct graph_state *state, const char *indent, FILE *to)
{
    for (uint32_t i = 0; i < state->n; i++) {
        const struct nm_option_note *w = state->words[i];
        if (w->word == NM_WORD_GO)
            fprintf(to, "%s-> %-14s %s\n", indent, w->what, w->reason);
        else
            fprintf(to, "%splays %s\n", indent, w->what);
    }
}

void option_graph_text(const struct option_graph *graph, FILE *to)
{
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct graph_option *o = &graph->options[i];
        fprintf(to, "%s%s (%s)\n", i ? "\n" : "", o->name, o->file);
        for (uint32_t s = 0; s < o->n; s++) {
            if (!s && !o->states[s].n) continue;
            fprintf(to, "  %s\n", s ? o->states[s].name : "in every state");
            print_words(&o->states[s], "    ", to);
        }
    }
}

/* ---- pictures ---- */

/* Options are boxes of states; solid arrows are transitions, dashed ones lead to the option that a state plays. */
void option_graph_dot(const struct option_graph *graph, FILE *to)
{
    fputs("digraph options {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=rounded];\n", to);
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct graph_option *o = &graph->options[i];
        fprintf(to, "  subgraph \"cluster_%s\" {\n    label=\"%s\";\n", o->name, o->name);
        for (uint32_t s = 0; s < o->n; s++)
            if (s || o->states[s].n)
                fprintf(to, "    \"%s.%s\" [label=\"%s\"%s];\n", o->name, o->states[s].name,
                        s ? o->states[s].name : "every state", s ? "" : ", style=dashed");
        fputs("  }\n", to);
    }
    for (uint32_t i = 0; i < graph->n; i++)
        for (uint32_t s = 0; s < graph->options[i].n; s++)
            for (uint32_t k = 0; k < graph->options[i].states[s].n; k++) {
                const struct graph_option *o = &graph->options[i];
                const struct nm_option_note *w = o->states[s].words[k];
                if (w->word == NM_WORD_GO) {
                    fprintf(to, "  \"%s.%s\" -> \"%s.%s\" [tooltip=\"", o->name, o->states[s].name, o->name, w->what);
                    print_escaped(to, w->reason);
                    fputs("\"];\n", to);
                } else {
                    for (uint32_t j = 0; j < graph->n; j++)
                        if (!strcmp(graph->options[j].name, w->what) && graph->options[j].n > 1)
                            fprintf(to, "  \"%s.%s\" -> \"%s.%s\" [style=dashed, lhead=\"cluster_%s\"];\n", o->name,
                                    o->states[s].name, w->what, graph->options[j].states[1].name, w->what);
                }
            }
    fputs("}\n", to);
}

/* Cards in columns by depth: one card an option, one line a state and what it says. */
enum { CARD = 330, GAP = 90, LINE = 15, HEAD = 26, EDGE = 20 };

static uint32_t lines_of(const struct graph_option *o)
{
    uint32_t lines = 0;
    for (uint32_t s = 0; s < o->n; s++)
        if (s || o->states[s].n) lines += 1 + o->states[s].n;
    return lines;
}

static void svg_text(FILE *to, double x, double y, const char *class, const char *mark, const char *text)
{
    fprintf(to, "<text class=\"%s\" x=\"%.0f\" y=\"%.0f\">%s", class, x, y, mark);
    print_escaped(to, text);
    fputs("</text>\n", to);
}

static void svg_card(FILE *to, const struct graph_option *o, double x, double y)
{
    fprintf(to, "<g><title>%s</title><rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%u\" rx=\"6\"/>\n", o->file, x,
            y, CARD, HEAD + LINE * lines_of(o) + 8);
    svg_text(to, x + 10, y + 18, "option", "", o->name);
    double at = y + HEAD + LINE - 2;
    for (uint32_t s = 0; s < o->n; s++) {
        if (!s && !o->states[s].n) continue;
        svg_text(to, x + 10, at, "state", "", s ? o->states[s].name : "in every state");
        at += LINE;
        for (uint32_t k = 0; k < o->states[s].n; k++, at += LINE) {
            const struct nm_option_note *w = o->states[s].words[k];
            if (w->word == NM_WORD_PLAY) {
                svg_text(to, x + 24, at, "play", "plays ", w->what);
                continue;
            }
            fprintf(to, "<text class=\"go\" x=\"%.0f\" y=\"%.0f\">→ %s <tspan class=\"why\">", x + 24, at, w->what);
            print_escaped(to, w->reason);
            fputs("</tspan></text>\n", to);
        }
    }
    fputs("</g>\n", to);
}

/* A line from a state's `plays` to the option. */
static void svg_plays(FILE *to, const struct option_graph *g, uint32_t i, const double xs[], const double ys[])
{
    const struct graph_option *o = &g->options[i];
    double at = ys[i] + HEAD + LINE - 6;
    for (uint32_t s = 0; s < o->n; s++) {
        if (!s && !o->states[s].n) continue;
        at += LINE;
        for (uint32_t k = 0; k < o->states[s].n; k++, at += LINE)
            for (uint32_t j = 0; j < g->n && o->states[s].words[k]->word == NM_WORD_PLAY; j++)
                if (!strcmp(g->options[j].name, o->states[s].words[k]->what))
                    fprintf(to, "<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", xs[i] + CARD, at,
                            xs[i] + CARD + 60, at, xs[j] - 60, ys[j] + 13, xs[j], ys[j] + 13);
    }
}

void option_graph_svg(const struct option_graph *graph, FILE *to)
{
    double xs[GRAPH_OPTIONS], ys[GRAPH_OPTIONS], bottom[NM_OPTION_DEPTH] = {0}, width = 0, height = 0;
    for (uint32_t i = 0; i < graph->n; i++) {
        const struct graph_option *o = &graph->options[i];
        xs[i] = EDGE + o->depth * (CARD + GAP);
        ys[i] = EDGE + bottom[o->depth];
        bottom[o->depth] += HEAD + LINE * lines_of(o) + 8 + EDGE;
        width = xs[i] + CARD + EDGE > width ? xs[i] + CARD + EDGE : width;
        height = bottom[o->depth] + EDGE > height ? bottom[o->depth] + EDGE : height;
    }
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n<style>"
            "text{font:12px sans-serif;fill:#222}.option{font-weight:bold;font-size:14px}.state{font-weight:bold}"
            ".why{fill:#777}.play{fill:#15599c}rect{fill:#fff;stroke:#888}path{fill:none;stroke:#15599c}"
            "</style>\n<rect width=\"100%%\" height=\"100%%\" style=\"stroke:none\"/>\n",
            width, height);
    for (uint32_t i = 0; i < graph->n; i++) svg_card(to, &graph->options[i], xs[i], ys[i]);
    for (uint32_t i = 0; i < graph->n; i++) svg_plays(to, graph, i, xs, ys);
    fputs("</svg>\n", to);
}
