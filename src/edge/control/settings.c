/* Parameters of a running line-up: set, reset to the files, saved to a file of a layer. */
#include "edge/control/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/json.h"
#include "core/layers.h"

/* Reads "instance.parameter=value". */
static int read_change(const struct nm_view *view, const char *text, struct nm_change *change, struct nm_err *err)
{
    const char *equals = strchr(text, '=');
    const char *dot = equals ? memrchr(text, '.', (size_t)(equals - text)) : NULL;
    char instance[128], param[128];
    if (!dot || dot == text || dot + 1 == equals || dot - text >= 128 || equals - dot > 128)
        return nm_fail(err, "'%.100s' does not have the form instance.parameter=value", text);
    snprintf(instance, sizeof instance, "%.*s", (int)(dot - text), text);
    snprintf(param, sizeof param, "%.*s", (int)(equals - dot - 1), dot + 1);
    *change = (struct nm_change){.instance = nm_find_instance(view->lineup, instance, err)};
    if (change->instance == NM_NONE) return -1;
    const struct nm_module *module = nm_view_module(view, change->instance);
    int index = nm_param_find(module, param, err);
    if (index < 0) return -1;
    change->param = (uint32_t)index;
    struct nm_err why = {0};
    if (nm_value_parse(&module->params[index], equals + 1, &change->value, &why))
        return nm_fail(err, "%s.%.*s", instance, (int)strcspn(why.text, "\n"), why.text);
    change->value.layer = NM_LAYER_LIVE;
    return 0;
}

/* The rules of the game: nobody changes a robot that plays. */
static int check_game(struct nm_settings *s, struct nm_err *err)
{
    const char *game = nm_gate_locked(s->gate);
    return game ? nm_fail(err, "parameters are locked: %s", game) : 0;
}

/* The values of one request are all checked, and then all applied or none. */
int nm_settings_set(struct nm_settings *s, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    if (check_game(s, err)) return -1;
    struct nm_change *changes = nm_calloc(request->n_set + 1, sizeof *changes);
    int bad = 0;
    for (uint32_t i = 0; i < request->n_set; i++) bad |= read_change(s->view, request->set[i], &changes[i], err);
    int64_t generation = bad ? -1 : nm_player_set(s->player, changes, request->n_set, err);
    free(changes);
    if (generation < 0) return -1;
    nm_json_whole(reply, "generation", generation);
    nm_json_whole(reply, "n", request->n_set);
    return 0;
}

/* Loads the line-up again, so that a reset uses the files as they are now. */
static struct nm_lineup *read_again(struct nm_settings *s, struct nm_err *err)
{
    if (!s->loaded || !s->registry) {
        nm_fail(err, "this player was not loaded from files");
        return NULL;
    }
    return nm_lineup_load(s->view->lineup->file, s->registry, s->loaded, err);
}

static const char *lasting(struct nm_settings *s, const char *file)
{
    struct file_name *at = s->files;
    while (at && strcmp(at->text, file)) at = at->next;
    if (at) return at->text;
    at = nm_take(s->arena, sizeof *at + strlen(file) + 1);
    at->next = s->files;
    strcpy(at->text, file);
    s->files = at;
    return at->text;
}

/* The value of a parameter in the files, or the default of its module if the files' line-up does not have it. */
static void value_in_files(struct nm_settings *s, const struct nm_lineup *files, uint32_t instance,
                           const struct nm_param *param, struct nm_value *value)
{
    uint32_t there = nm_lineup_instance(files, s->view->lineup->instances[instance].name);
    int at = there == NM_NONE ? -1 : nm_param_find(files->instances[there].module, param->name, NULL);
    struct nm_value parsed;
    char text[NM_VALUE_PRINT];
    nm_value_default(param, value);
    if (at < 0) return;
    /* through text, because in a swapped build the parameter of this name may have another type */
    const struct nm_value *found = &files->instances[there].values[at];
    if (found->layer == NM_LAYER_MODULE) return;
    nm_value_print(&files->instances[there].module->params[at], found, text, sizeof text);
    parsed = *found;
    if (nm_value_parse(param, text, &parsed, NULL)) return;
    *value = parsed;
    value->layer = found->layer;
    value->line = found->line;
    value->file = found->file ? lasting(s, found->file) : NULL;
}

typedef bool chosen(const struct nm_value *has);

static bool set_live(const struct nm_value *has) { return has->layer == NM_LAYER_LIVE; }

static bool set_or_saved(const struct nm_value *has)
{
    return has->layer == NM_LAYER_LIVE || has->layer == NM_LAYER_SAVED;
}

static bool set_outside_files(const struct nm_value *has)
{
    return has->layer == NM_LAYER_LIVE || has->layer == NM_LAYER_COMMAND;
}

/* Lists the parameters whose present value `is` accepts: all, or those of one instance, or one of them. Returns their
 * number, or -1 with a sentence. The caller frees the list. */
static int64_t collect(struct nm_settings *s, const char *instance, const char *param, chosen *is,
                       struct nm_change **list, struct nm_err *err)
{
    const struct nm_lineup *lineup = s->view->lineup;
    uint32_t only = NM_NONE, n = 0, room = 0;
    int only_param = -1;
    *list = NULL;
    if (instance && (only = nm_find_instance(lineup, instance, err)) == NM_NONE) return -1;
    if (param && (only_param = nm_param_find(nm_view_module(s->view, only), param, err)) < 0) return -1;
    for (uint32_t i = 0; i < lineup->n_instances; i++) room += nm_param_count(nm_view_module(s->view, i));
    *list = nm_calloc(room + 1, sizeof **list);
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        if (only != NM_NONE && i != only) continue;
        for (uint32_t p = 0; p < nm_param_count(nm_view_module(s->view, i)); p++) {
            struct nm_change *change = &(*list)[n];
            if (only_param >= 0 && p != (uint32_t)only_param) continue;
            *change = (struct nm_change){.instance = i, .param = p};
            nm_player_value(s->player, i, p, &change->value);
            n += is(&change->value);
        }
    }
    return n;
}

/* Applies changes in sets of the size that the player accepts; they need not take effect at the same time. */
static int post(struct nm_settings *s, const struct nm_change *list, int64_t n, struct nm_err *err)
{
    enum { A_SET = 32 };
    for (int64_t i = 0; i < n; i += A_SET)
        if (nm_player_set(s->player, list + i, (uint32_t)(n - i < A_SET ? n - i : A_SET), err) < 0) return -1;
    return 0;
}

static enum nm_layer layer_named(const char *name, struct nm_err *err)
{
    const char *names[NM_LAYERS];
    uint32_t n = 0;
    for (uint32_t layer = NM_LAYER_DEFAULT; layer <= NM_LAYER_LINEUP; layer++) {
        names[n++] = nm_layer_name((enum nm_layer)layer);
        if (!strcmp(name, names[n - 1])) return (enum nm_layer)layer;
    }
    nm_fail(err, "there is no layer '%.64s' to save to%s", name, nm_hint(name, names, n).text);
    return NM_LAYERS;
}

/* Finds the parameter in the line-up's own module, because the file is read with that one. */
static int to_saved(struct nm_settings *s, const struct nm_change *change, struct nm_saved *saved, struct nm_err *err)
{
    const struct nm_lineup_instance *plan = &s->view->lineup->instances[change->instance];
    const char *name = nm_view_module(s->view, change->instance)->params[change->param].name;
    int at = nm_param_find(plan->module, name, NULL);
    if (at < 0)
        return nm_fail(err, "%s.%s: only the build that was swapped in has this parameter; restart the line-up first",
                       plan->name, name);
    *saved = (struct nm_saved){.instance = change->instance, .param = (uint32_t)at, .value = &change->value};
    return 0;
}

/* Removes values from the saved file of a layer. A file that all line-ups share holds values of modules only, not of
 * instances that have another name than their module. */
static int take_out(struct nm_settings *s, enum nm_layer layer, const struct nm_change *list, int64_t n,
                    struct nm_err *err)
{
    const struct nm_lineup *lineup = s->view->lineup;
    struct nm_saved *saved = nm_calloc((size_t)n + 1, sizeof *saved);
    uint32_t n_saved = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct nm_lineup_instance *plan = &lineup->instances[list[i].instance];
        if (layer != NM_LAYER_LINEUP && strcmp(plan->name, plan->module->name)) continue;
        if (to_saved(s, &list[i], &saved[n_saved], NULL)) continue;
        saved[n_saved++].value = NULL;
    }
    int bad = nm_layers_save(lineup, s->registry, s->loaded, layer, saved, n_saved, err);
    free(saved);
    return bad;
}

/* Resets to the files what was set while running and, with a layer, what was saved in that layer. */
int nm_settings_reset(struct nm_settings *s, const struct nm_request *request, struct nm_json *reply,
                      struct nm_err *err)
{
    enum nm_layer layer = request->layer ? layer_named(request->layer, err) : NM_LAYERS;
    if ((request->layer && layer == NM_LAYERS) || check_game(s, err)) return -1;
    if (!s->loaded) return nm_fail(err, "this player was not loaded from files");
    struct nm_change *list;
    int64_t n = collect(s, request->instance, request->param, request->layer ? set_or_saved : set_live, &list, err);
    int bad = n < 0 || (request->layer && take_out(s, layer, list, n, err));
    struct nm_lineup *files = bad ? NULL : read_again(s, err);
    for (int64_t i = 0; i < n && files; i++)
        value_in_files(s, files, list[i].instance, &nm_view_module(s->view, list[i].instance)->params[list[i].param],
                       &list[i].value);
    bad = !files || post(s, list, n, err);
    free(list);
    nm_lineup_free(files);
    if (bad) return -1;
    nm_json_whole(reply, "n", n);
    return 0;
}

int nm_settings_save(struct nm_settings *s, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    const struct nm_lineup *lineup = s->view->lineup;
    enum nm_layer layer = layer_named(request->layer, err);
    if (layer == NM_LAYERS) return -1;
    if (!s->loaded) return nm_fail(err, "this player was not loaded from files");
    struct nm_arena arena = {0};
    const char *file = nm_layers_saved_file(&arena, lineup, s->loaded, layer, err);
    if (file) file = lasting(s, file);
    nm_arena_free(&arena);
    if (!file) return -1;
    struct nm_change *list;
    int64_t n = collect(s, NULL, NULL, set_outside_files, &list, err);
    struct nm_saved *saved = n > 0 ? nm_calloc((size_t)n, sizeof *saved) : NULL;
    int bad = n < 0;
    for (int64_t i = 0; i < n && !bad; i++) bad = to_saved(s, &list[i], &saved[i], err);
    if (!bad && n > 0) bad = nm_layers_save(lineup, s->registry, s->loaded, layer, saved, (uint32_t)n, err);
    /* the values now come from the file, until somebody sets them again */
    for (int64_t i = 0; i < n && !bad; i++) {
        list[i].value.layer = NM_LAYER_SAVED;
        list[i].value.file = file;
        list[i].value.line = 0;
    }
    if (!bad) bad = post(s, list, n, err);
    free(list);
    free(saved);
    if (bad) return -1;
    nm_json_whole(reply, "n", n);
    nm_json_text(reply, "file", n > 0 ? file : NULL);
    return 0;
}
