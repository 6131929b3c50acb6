/* nmgen: the build's first program. Reads every <package>/<Type>.msg, .srv and .action under a folder and writes their
 * C structs and tables. A file is written only where its text changes, so that little is compiled again. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gen/emit.h"

static const char help[] =
    "nmgen: C structs and tables from ROS interface files\n"
    "\n"
    "usage: nmgen --out OUT MSGDIR\n"
    "\n"
    "Reads MSGDIR/<package>/<Type>.msg, .srv and .action and writes\n"
    "  OUT/<package>/<Type>.h   struct <Type>, its constants, and `extern const struct nm_type <Type>_type`\n"
    "  OUT/<package>.c          the tables of a package\n"
    "  OUT/all_types.c          the list of all types\n"
    "Files whose text would not change are left alone; headers of messages that are gone are removed.\n"
    "A fault is told as `file:line: what and why`, all of them at once; then nothing is written and the exit code is "
    "1.\n";

struct gen {
    struct nm_arena arena;
    struct nm_defs set;
    struct nm_err err;
    const char *out;
    char text[NM_DEF_TEXT + 1]; /* of the file being read; one byte more than is allowed, so that too much is seen */
};

/* reading */

static int visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static int read_whole(struct gen *g, const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    *size = file ? fread(g->text, 1, sizeof g->text, file) : 0;
    bool ok = file && !ferror(file);
    if (!ok) nm_fail(&g->err, "%s: %s", path, strerror(errno));
    if (file) fclose(file);
    return ok ? 0 : -1;
}

static void add_file(struct gen *g, const char *folder, const char *package, const char *name)
{
    static const struct {
        const char *suffix;
        enum nm_interface kind;
    } kinds[] = {{".msg", NM_MSG}, {".srv", NM_SRV}, {".action", NM_ACTION}};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t suffix = strlen(kinds[i].suffix), size;
        if (len <= suffix || strcmp(name + len - suffix, kinds[i].suffix)) continue;
        const char *path = nm_take_format(&g->arena, "%s/%s/%s", folder, package, name);
        if (read_whole(g, path, &size)) return;
        struct nm_def_source source = {.file = path,
                                       .package = package,
                                       .kind = kinds[i].kind,
                                       .text = g->text,
                                       .size = size,
                                       .name = nm_take_format(&g->arena, "%.*s", (int)(len - suffix), name)};
        nm_defs_add(&g->set, &source, &g->err);
    }
}

static void add_package(struct gen *g, const char *folder, const char *package)
{
    struct dirent **entries;
    int n = scandir(nm_take_format(&g->arena, "%s/%s", folder, package), &entries, visible, alphasort);
    for (int i = 0; i < n; i++) {
        add_file(g, folder, package, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

static void add_folder(struct gen *g, const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, visible, alphasort);
    if (n < 0) nm_fail(&g->err, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        add_package(g, folder, entries[i]->d_name); /* what is no folder has no entries */
        free(entries[i]);
    }
    if (n >= 0) free(entries);
}

/* units: the definitions by file */

static int by_file(const void *a, const void *b)
{
    const struct nm_def *x = *(struct nm_def *const *)a, *y = *(struct nm_def *const *)b;
    int order = strcmp(x->package, y->package);
    if (!order) order = strcmp(x->stem, y->stem);
    if (!order && x->depth != y->depth) order = x->depth < y->depth ? -1 : 1; /* inner ones first */
    return order ? order : strcmp(x->name, y->name);
}

static bool same_unit(const struct nm_unit *unit, const struct nm_def *def)
{
    return !strcmp(unit->package, def->package) && !strcmp(unit->stem, def->stem);
}

static struct nm_unit *make_units(struct gen *g, uint32_t *n)
{
    struct nm_def **sorted = nm_take_n(&g->arena, struct nm_def *, g->set.n);
    struct nm_unit *units = nm_take_n(&g->arena, struct nm_unit, g->set.n);
    memcpy(sorted, g->set.at, g->set.n * sizeof *sorted);
    qsort(sorted, g->set.n, sizeof *sorted, by_file);
    *n = 0;
    for (uint32_t i = 0; i < g->set.n; i++) {
        struct nm_def *def = sorted[i];
        if (!*n || !same_unit(&units[*n - 1], def))
            units[(*n)++] = (struct nm_unit){.package = def->package, .stem = def->stem, .at = &sorted[i]};
        struct nm_unit *unit = &units[*n - 1];
        unit->n++;
        if (strcmp(unit->at[0]->file, def->file))
            nm_fail(&g->err, "%s:1: %s already gives the header %s/%s.h; call one of them otherwise", def->file,
                    unit->at[0]->file, def->package, def->stem);
    }
    return units;
}

/* writing */

struct text {
    FILE *stream;
    char *at;
    size_t n;
};

static void text_open(struct text *text)
{
    text->stream = open_memstream(&text->at, &text->n);
    if (!text->stream) abort();
}

static bool is_same(const char *path, const struct text *text)
{
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    char *old = malloc(text->n + 1);
    bool same = old && fread(old, 1, text->n + 1, file) == text->n && !memcmp(old, text->at, text->n);
    free(old);
    fclose(file);
    return same;
}

static void text_close(struct gen *g, struct text *text, const char *path)
{
    fclose(text->stream);
    if (!is_same(path, text)) {
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(text->at, 1, text->n, file) != text->n || fclose(file))
            nm_fail(&g->err, "%s: %s", path, strerror(errno));
    }
    free(text->at);
}

static void make_folder(struct gen *g, const char *path)
{
    if (mkdir(path, 0777) && errno != EEXIST) nm_fail(&g->err, "%s: %s", path, strerror(errno));
}

/* Headers of interface files that are gone: whoever still includes one is to learn it now. */
static void remove_old(struct gen *g, const char *folder, const struct nm_unit *units, uint32_t n)
{
    struct dirent **entries;
    int found = scandir(folder, &entries, visible, alphasort);
    for (int i = 0; i < found; i++) {
        char *name = entries[i]->d_name, *dot = strrchr(name, '.');
        bool wanted = !dot || strcmp(dot, ".h");
        for (uint32_t k = 0; k < n && !wanted; k++)
            wanted =
                strlen(units[k].stem) == (size_t)(dot - name) && !strncmp(units[k].stem, name, (size_t)(dot - name));
        if (!wanted) unlink(nm_take_format(&g->arena, "%s/%s", folder, name));
        free(entries[i]);
    }
    if (found >= 0) free(entries);
}

static void write_package(struct gen *g, const struct nm_unit *units, uint32_t n)
{
    struct text text;
    const char *folder = nm_take_format(&g->arena, "%s/%s", g->out, units->package);
    make_folder(g, folder);
    for (uint32_t i = 0; i < n; i++) {
        text_open(&text);
        nm_emit_header(text.stream, &units[i]);
        text_close(g, &text, nm_take_format(&g->arena, "%s/%s.h", folder, units[i].stem));
    }
    remove_old(g, folder, units, n);
    text_open(&text);
    nm_emit_tables(text.stream, units, n);
    text_close(g, &text, nm_take_format(&g->arena, "%s/%s.c", g->out, units->package));
}

static void write_all(struct gen *g, const struct nm_unit *units, uint32_t n)
{
    struct text text;
    make_folder(g, g->out);
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp(units[end].package, units[i].package);) end++;
        write_package(g, units + i, end - i);
    }
    text_open(&text);
    nm_emit_all_types(text.stream, &g->set);
    text_close(g, &text, nm_take_format(&g->arena, "%s/all_types.c", g->out));
}

static int generate(struct gen *g, const char *folder)
{
    uint32_t n = 0;
    struct nm_unit *units = NULL;
    add_folder(g, folder);
    if (!g->err.n && !g->set.n) nm_fail(&g->err, "%s: no <package>/<Type>.msg here", folder);
    if (!nm_defs_link(&g->set, &g->err) && g->set.n) units = make_units(g, &n);
    for (uint32_t i = 0; i < g->set.n && !g->err.n; i++) nm_def_type(&g->set, g->set.at[i], &g->err);
    if (!g->err.n) write_all(g, units, n);
    if (g->err.n) fprintf(stderr, "%snmgen: %u faults\n", g->err.text, g->err.n);
    return g->err.n ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--help")) return fputs(help, stdout) < 0;
    if (argc != 4 || strcmp(argv[1], "--out")) {
        fputs(help, stderr);
        return 2;
    }
    struct gen *g = calloc(1, sizeof *g);
    if (!g) return 1;
    g->set.arena = &g->arena;
    g->out = argv[2];
    int result = generate(g, argv[3]);
    nm_arena_free(&g->arena);
    free(g);
    return result;
}
