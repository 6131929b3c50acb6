/* nutmeg graph: a line-up as a picture. */
#include <errno.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/setup.h"
#include "cmd/lineup_drawing.h"
#include "core/files.h"

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

/* The whole file, or a sentence. */
static int draw_into(const struct nm_lineup *lineup, draw *draw, const char *file, struct nm_err *err)
{
    if (file && nm_make_folders(file, err)) return -1;
    FILE *to = file ? fopen(file, "w") : stdout;
    if (!to) return nm_fail(err, "%s: %s", file, strerror(errno));
    draw(lineup, to);
    bool whole = !fflush(to) && !ferror(to);
    int why = errno;
    if (file && fclose(to)) whole = false;
    return whole ? 0 : nm_fail(err, "%s cannot be written: %s", file ? file : "output", strerror(why));
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
    const struct usage usage = {
        "nutmeg graph",
        "LINEUP",
        "Draws a line-up: its cycles, the modules of each cycle in the order of their steps, and the\n"
        "topics between them. Without -o it prints text for Graphviz.",
        flags,
        1,
        1};
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
    code = !lineup ? EXIT_USAGE : draw_into(lineup, draw, file, &err) ? EXIT_FAILED : EXIT_OK;
    if (file && code == EXIT_OK) printf("written: %s\n", file);
    if (err.n) complain(&err);
    nm_lineup_free(lineup);
    setup_end(&setup);
    return code;
}
