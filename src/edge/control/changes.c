/* Parameters that change while the line-up runs: set, taken back, saved. A set is checked whole and applied whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/layers.h"
#include "edge/control/inside.h"

/* "instance.parameter=value" */
static int read_change(const struct nm_view *view, const char *text, struct nm_change *change, struct nm_err *err)
{
    const char *equals = strchr(text, '=');
    const char *dot = equals ? memrchr(text, '.', (size_t)(equals - text)) : NULL;
    char instance[128], param[128];
    if (!dot || dot == text || dot + 1 == equals || dot - text >= 128 || equals - dot > 128)
        return nm_fail(err, "'%.100s' is not of the form instance.parameter=value", text);
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

/* The rules: nobody changes a robot that plays. */
static int check_game(struct nm_control *control, struct nm_err *err)
{
    const char *game = nm_gate_locked(control->gate);
    return game ? nm_fail(err, "parameters are locked: %s", game) : 0;
}

int control_set(struct nm_control *control, const struct nm_request *request, struct nm_json *reply, struct nm_err *err)
{
    if (check_game(control, err)) return -1;
    struct nm_change *changes = calloc(request->n_set, sizeof *changes);
    int bad = changes ? 0 : nm_fail(err, "no memory for %u changes", request->n_set);
    for (uint32_t i = 0; changes && i < request->n_set; i++)
        bad |= read_change(&control->view, request->set[i], &changes[i], err);
    int64_t generation = bad ? -1 : nm_player_set(control->player, changes, request->n_set, err);
    free(changes);
    if (generation < 0) return -1;
    nm_json_whole(reply, "generation", generation);
    nm_json_whole(reply, "n", request->n_set);
    return 0;
}

/* ---- back to the files ---- */

/* The line-up as its files are now, so that a reset sees what was edited and saved meanwhile. */
static struct nm_lineup *read_again(struct nm_control *control, struct nm_err *err)
{
    if (!control->options.lineup || !control->options.registry) {
        nm_fail(err, "this player was not made from files");
        return NULL;
    }
    return nm_lineup_load(control->view.lineup->file, control->options.registry, control->options.lineup, err);
}

/* What the files give a parameter; its module's default where the files' line-up does not have it. */
static void value_in_files(struct nm_control *control, const struct nm_lineup *files, uint32_t instance,
                           const struct nm_param *param, struct nm_value *value)
{
    uint32_t there = nm_lineup_instance(files, control->view.lineup->instances[instance].name);
    int at = there == NM_NONE ? -1 : nm_param_find(files->instances[there].module, param->name, NULL);
    struct nm_value parsed;
    char text[NM_VALUE_PRINT];
    nm_value_default(param, value);
    if (at < 0) return;
    /* through text: a swapped build may have another kind of parameter under this name */
    const struct nm_value *found = &files->instances[there].values[at];
    if (found->layer == NM_LAYER_MODULE) return;
    nm_value_print(&files->instances[there].module->params[at], found, text, sizeof text);
    parsed = *found;
    if (nm_value_parse(param, text, &parsed, NULL)) return;
    *value = parsed;
    value->layer = found->layer;
    value->line = found->line;
    value->file = found->file ? nm_take_text(&control->arena, found->file) : NULL;
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

/* The parameters (of one instance, or one of them, where only_* are given) whose value was chosen by `is`; the number
 * found, or -1 with a sentence. The list is the caller's to free. */
static int64_t collect(struct nm_control *control, const char *instance, const char *param, chosen *is,
                       struct nm_change **list, struct nm_err *err)
{
    const struct nm_lineup *lineup = control->view.lineup;
    uint32_t only = NM_NONE, n = 0, room = 0;
    int only_param = -1;
    *list = NULL;
    if (instance && (only = nm_find_instance(lineup, instance, err)) == NM_NONE) return -1;
    if (param && (only_param = nm_param_find(control->modules[only], param, err)) < 0) return -1;
    for (uint32_t i = 0; i < lineup->n_instances; i++) room += nm_param_count(control->modules[i]);
    *list = calloc(room + 1, sizeof **list);
    if (!*list) return nm_fail(err, "no memory for %u parameters", room);
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        if (only != NM_NONE && i != only) continue;
        for (uint32_t p = 0; p < nm_param_count(control->modules[i]); p++) {
            struct nm_change *change = &(*list)[n];
            if (only_param >= 0 && p != (uint32_t)only_param) continue;
            *change = (struct nm_change){.instance = i, .param = p};
            nm_player_value(control->player, i, p, &change->value);
            n += is(&change->value);
        }
    }
    return n;
}

/* Changes that need not come at once, in sets that the player takes. */
static int post(struct nm_control *control, const struct nm_change *list, int64_t n, struct nm_err *err)
{
    enum { A_SET = 32 };
    for (int64_t i = 0; i < n; i += A_SET)
        if (nm_player_set(control->player, list + i, (uint32_t)(n - i < A_SET ? n - i : A_SET), err) < 0) return -1;
    return 0;
}

/* ---- saved ---- */

static enum nm_layer layer_named(const char *name, struct nm_err *err)
{
    const char *names[NM_LAYERS];
    uint32_t n = 0;
    for (uint32_t layer = NM_LAYER_DEFAULT; layer <= NM_LAYER_LINEUP; layer++) {
        names[n++] = nm_layer_name((enum nm_layer)layer);
        if (!strcmp(name, names[n - 1])) return (enum nm_layer)layer;
    }
    nm_fail(err, "there is no layer '%.64s' to save in%s", name, nm_hint(name, names, n).text);
    return NM_LAYERS;
}

/* The values under the indices of the line-up's own modules, which is what a file can hold. */
static int to_saved(struct nm_control *control, const struct nm_change *change, struct nm_saved *saved,
                    struct nm_err *err)
{
    const struct nm_lineup_instance *plan = &control->view.lineup->instances[change->instance];
    const char *name = control->modules[change->instance]->params[change->param].name;
    int at = nm_param_find(plan->module, name, NULL);
    if (at < 0)
        return nm_fail(err, "%s.%s: only the build that was swapped in has this parameter; restart the line-up first",
                       plan->name, name);
    *saved = (struct nm_saved){.instance = change->instance, .param = (uint32_t)at, .value = &change->value};
    return 0;
}

/* Takes values out of a layer's saved file. In a file that all line-ups share there are none of an instance with a name
 * of its own. */
static int take_out(struct nm_control *control, enum nm_layer layer, const struct nm_change *list, int64_t n,
                    struct nm_err *err)
{
    const struct nm_lineup *lineup = control->view.lineup;
    struct nm_saved *saved = calloc((size_t)n + 1, sizeof *saved);
    uint32_t n_saved = 0;
    if (!saved) return nm_fail(err, "no memory for %lld parameters", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const struct nm_lineup_instance *plan = &lineup->instances[list[i].instance];
        if (layer != NM_LAYER_LINEUP && strcmp(plan->name, plan->module->name)) continue;
        if (to_saved(control, &list[i], &saved[n_saved], NULL)) continue;
        saved[n_saved++].value = NULL;
    }
    int bad = nm_layers_save(lineup, control->options.registry, control->options.lineup, layer, saved, n_saved, err);
    free(saved);
    return bad;
}

/* Back to the files: what was set while running and, with a layer, what was saved there. */
int control_reset(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                  struct nm_err *err)
{
    enum nm_layer layer = request->layer ? layer_named(request->layer, err) : NM_LAYERS;
    if ((request->layer && layer == NM_LAYERS) || check_game(control, err)) return -1;
    if (!control->options.lineup) return nm_fail(err, "this player was not made from files");
    struct nm_change *list;
    int64_t n =
        collect(control, request->instance, request->param, request->layer ? set_or_saved : set_live, &list, err);
    int bad = n < 0 || (request->layer && take_out(control, layer, list, n, err));
    struct nm_lineup *files = bad ? NULL : read_again(control, err);
    for (int64_t i = 0; i < n && files; i++)
        value_in_files(control, files, list[i].instance, &control->modules[list[i].instance]->params[list[i].param],
                       &list[i].value);
    bad = !files || post(control, list, n, err);
    free(list);
    nm_lineup_free(files);
    if (bad) return -1;
    nm_json_whole(reply, "n", n);
    return 0;
}

int control_save(struct nm_control *control, const struct nm_request *request, struct nm_json *reply,
                 struct nm_err *err)
{
    const struct nm_lineup *lineup = control->view.lineup;
    enum nm_layer layer = layer_named(request->layer, err);
    if (layer == NM_LAYERS) return -1;
    if (!control->options.lineup) return nm_fail(err, "this player was not made from files");
    const char *file = nm_layers_saved_file(&control->arena, lineup, control->options.lineup, layer, err);
    if (!file) return -1;
    struct nm_change *list;
    int64_t n = collect(control, NULL, NULL, set_outside_files, &list, err);
    struct nm_saved *saved = n > 0 ? calloc((size_t)n, sizeof *saved) : NULL;
    int bad = n < 0 || (n > 0 && !saved);
    for (int64_t i = 0; i < n && !bad; i++) bad = to_saved(control, &list[i], &saved[i], err);
    if (!bad && n > 0)
        bad =
            nm_layers_save(lineup, control->options.registry, control->options.lineup, layer, saved, (uint32_t)n, err);
    /* from now on the file says so, until somebody sets it again */
    for (int64_t i = 0; i < n && !bad; i++) {
        list[i].value.layer = NM_LAYER_SAVED;
        list[i].value.file = file;
        list[i].value.line = 0;
    }
    if (!bad) bad = post(control, list, n, err);
    free(list);
    free(saved);
    if (bad) return -1;
    nm_json_whole(reply, "n", n);
    nm_json_text(reply, "file", n > 0 ? file : NULL);
    return 0;
}
