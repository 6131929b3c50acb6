/* Saving parameters: a saved file is read, merged with the new values, and written anew, sorted, so that two saves of
 * the same values give the same bytes. Entries that this line-up does not know are kept as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/layers.h"

struct entry {
    const char *name, *param;
    const char *text; /* the value as YAML; NULL: to be left out    */
    uint32_t order;   /* the later of two equal ones counts         */
};

/* Plain where YAML cannot take it for anything else, in double quotes otherwise. */
static void print_scalar(FILE *to, const char *text, bool quoted)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/";
    if (!quoted && !text[strspn(text, plain)]) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(to, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(to, "\\x%02x", *c);
        else
            fputc(*c, to);
    }
    fputc('"', to);
}

/* What is printed lands in the arena. */
struct printing {
    char *text;
    size_t size;
    FILE *to;
};

static FILE *print_begin(struct printing *p)
{
    *p = (struct printing){0};
    return p->to = open_memstream(&p->text, &p->size);
}

static const char *print_end(struct printing *p, struct nm_arena *arena)
{
    bool ok = p->to && !fclose(p->to);
    const char *text = ok ? nm_take_text(arena, p->text) : NULL;
    free(p->text);
    return text;
}

static const char *node_text(struct nm_arena *arena, const struct nm_yaml *node, struct nm_err *err)
{
    struct printing p;
    bool flat = node->kind != NM_YAML_MAP;
    nm_yaml_each(item, node) flat &= item->kind == NM_YAML_SCALAR;
    if (!flat) {
        nm_yaml_fail(node, err, "%.80s: a saved file holds values and lists of values only", node->key);
        return NULL;
    }
    if (!print_begin(&p)) return NULL;
    if (node->kind == NM_YAML_SCALAR) print_scalar(p.to, node->text, node->quoted);
    if (node->kind == NM_YAML_LIST) fputc('[', p.to);
    nm_yaml_each(item, node)
    {
        print_scalar(p.to, item->text, item->quoted);
        if (item->next) fputs(", ", p.to);
    }
    if (node->kind == NM_YAML_LIST) fputc(']', p.to);
    return print_end(&p, arena);
}

static const char *value_text(struct nm_arena *arena, const struct nm_param *param, const struct nm_value *value)
{
    char text[NM_VALUE_PRINT];
    struct printing p;
    nm_value_print(param, value, text, sizeof text);
    if (param->kind != NM_PARAM_TEXT) return nm_take_text(arena, text);
    if (!print_begin(&p)) return NULL;
    print_scalar(p.to, text, true);
    return print_end(&p, arena);
}

/* ---- merging ---- */

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (!order) order = strcmp(x->param, y->param);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

struct merge {
    struct nm_arena arena;
    struct entry *entries; /* with room for all of the file and all new ones */
    uint32_t n;
    struct nm_err *err;
};

static int add_entry(struct merge *m, const char *name, const char *param, const char *text)
{
    m->entries[m->n] = (struct entry){name, param, text, m->n};
    m->n++;
    return 0;
}

static int add_old(struct merge *m, const struct nm_yaml *name)
{
    if (name->kind == NM_YAML_LIST || (name->kind == NM_YAML_SCALAR && *name->text))
        return nm_yaml_fail(name, m->err, "a saved file maps instances to their parameters");
    nm_yaml_each(param, name)
    {
        const char *text = node_text(&m->arena, param, m->err);
        if (!text || add_entry(m, name->key, param->key, text)) return -1;
    }
    return 0;
}

/* Entries of the file so far; -1 if it cannot have been written by us, so that nothing of it gets lost. */
static int read_old(struct merge *m, const char *path, uint32_t n_new)
{
    const struct nm_yaml *file = NULL;
    uint32_t total = n_new;
    if (nm_file_exists(path)) {
        file = nm_yaml_read(&m->arena, path, m->err);
        if (!file) return -1;
        if (file->kind != NM_YAML_MAP)
            return nm_yaml_fail(file, m->err, "a saved file maps instances to their parameters");
    }
    nm_yaml_each(name, file) total += name->n;
    m->entries = nm_take_n(&m->arena, struct entry, total + 1);
    nm_yaml_each(name, file) if (add_old(m, name)) return -1;
    return 0;
}

static int add_new(struct merge *m, const struct nm_lineup *lineup, const struct nm_registry *registry,
                   enum nm_layer layer, const struct nm_saved *saved)
{
    const struct nm_lineup_instance *instance = &lineup->instances[saved->instance];
    const struct nm_param *param = &instance->module->params[saved->param];
    const char *text = NULL;
    if (layer != NM_LAYER_LINEUP && strcmp(instance->name, instance->module->name))
        return nm_fail(m->err,
                       "%s.%s: layer '%s' belongs to all line-ups, which know no '%s'; save it in layer 'lineup'",
                       instance->name, param->name, nm_layer_name(layer), instance->name);
    if (layer != NM_LAYER_LINEUP && saved->value && !nm_registry_linked(registry, instance->module->name))
        return nm_fail(
            m->err,
            "%s.%s: '%s' is a plug-in, and layer '%s' belongs to all line-ups, also to those without it; save "
            "it in layer 'lineup'",
            instance->name, param->name, instance->module->name, nm_layer_name(layer));
    if (saved->value && !(text = value_text(&m->arena, param, saved->value))) return nm_fail(m->err, "out of memory");
    return add_entry(m, instance->name, param->name, text);
}

/* ---- writing ---- */

static const char *print_file(struct nm_arena *arena, const struct entry *entries, uint32_t n)
{
    struct printing p;
    const char *name = "";
    uint32_t kept = 0;
    if (!print_begin(&p)) return NULL;
    fputs("# Written by `nutmeg param save`; `nutmeg param reset` takes values out again.\n", p.to);
    fputs("# What stands here wins over every file that people write.\n", p.to);
    for (uint32_t i = 0; i < n; i++) {
        bool last = i + 1 == n || strcmp(entries[i].name, entries[i + 1].name) ||
                    strcmp(entries[i].param, entries[i + 1].param);
        if (!last || !entries[i].text) continue;
        if (strcmp(name, entries[i].name)) {
            print_scalar(p.to, name = entries[i].name, false);
            fputs(":\n", p.to);
        }
        fputs("  ", p.to);
        print_scalar(p.to, entries[i].param, false);
        fprintf(p.to, ": %s\n", entries[i].text);
        kept++;
    }
    const char *text = print_end(&p, arena);
    return text && !kept ? "" : text;
}

int nm_layers_save(const struct nm_lineup *lineup, const struct nm_registry *registry,
                   const struct nm_lineup_options *options, enum nm_layer layer, const struct nm_saved *values,
                   uint32_t n, struct nm_err *err)
{
    struct merge m = {.err = err};
    const char *path = nm_layers_saved_file(&m.arena, lineup, options, layer, err);
    int rc = path ? read_old(&m, path, n) : -1;
    for (uint32_t i = 0; i < n && m.entries; i++)
        if (add_new(&m, lineup, registry, layer, &values[i])) rc = -1;
    if (!rc) {
        qsort(m.entries, m.n, sizeof *m.entries, by_name);
        const char *text = print_file(&m.arena, m.entries, m.n);
        rc = text ? nm_file_replace(path, text, strlen(text), err) : nm_fail(err, "%s: out of memory", path);
    }
    nm_arena_free(&m.arena);
    return rc;
}
