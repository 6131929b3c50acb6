/* nutmeg graph: a line-up as a picture. */
#include <string.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "cmd/lineup_drawing.h"

typedef void draw(const struct nm_lineup *lineup, FILE *to);

static const struct {
    const char *suffix;
    draw *draw;
} forms[] = {{".svg", nm_graph_svg}, {".dot", nm_graph_dot}, {".gv", nm_graph_dot}};

static draw *form_of(const char *file)
{
    const char *dot = strrchr(file, '.');
    for (uint32_t i = 0; dot && i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(dot, forms[i].suffix)) return forms[i].draw;
    return NULL;
}

struct drawing {
    const struct nm_lineup *lineup;
    draw *draw;
};

static void print_drawing(const void *what, FILE *to)
{
    const struct drawing *drawing = what;
    drawing->draw(drawing->lineup, to);
}

int cmd_graph(int argc, char **argv)
{
    struct lineup_flags lineup_flags = {0};
    const char *file = NULL;
    const struct flag flags[] = {
        TEXT("output", &file, "FILE", "writes a picture (FILE.svg) or text for Graphviz (FILE.dot)", .letter = 'o'),
        LINEUP_FLAGS(&lineup_flags),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg graph", "LINEUP", flags,
              "Draws a line-up: its cycles, the modules of each cycle in the order of their steps, and the\n"
              "topics between them. Without -o it prints text for Graphviz.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    draw *draw = file ? form_of(file) : nm_graph_dot;
    if (!draw)
        return usage_wrong(&usage, "%s: the name must end in .svg (a picture for browsers) or .dot (text for Graphviz)",
                           file);
    struct nm_err err = {0};
    struct setup setup;
    setup_begin(&setup);
    struct nm_lineup *lineup = setup_lineup(&setup, argv[1], &lineup_flags, &err);
    code = !lineup                                                                  ? EXIT_USAGE
           : print_file(file, print_drawing, &(struct drawing){lineup, draw}, &err) ? EXIT_FAILED
                                                                                    : EXIT_OK;
    if (file && code == EXIT_OK) printf("written: %s\n", file);
    if (err.n) complain(&err);
    nm_lineup_free(lineup);
    setup_end(&setup);
    return code;
}
