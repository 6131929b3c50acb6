/* Parameters under the names instance.parameter. A set is checked whole and applied whole, as on the control socket; a
 * refusal is told as a status with its reason, and the values as they are go back with the answer, so that a viewer's
 * field snaps back. Changes, whoever made them, are told to those who watch. */
#include <stdlib.h>
#include <string.h>

#include "edge/live/inside.h"

/* The tables, anew if another build of a module has come into play. */
static void list_all(struct nm_live *live)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < live->lineup->n_instances; i++) n += nm_param_count(live->modules[i]);
    live->parameters = calloc(n + 1, sizeof *live->parameters);
    if (!live->parameters) abort();
    live->n_parameters = 0;
    for (uint32_t i = 0; i < live->lineup->n_instances; i++)
        for (uint32_t p = 0; p < nm_param_count(live->modules[i]); p++) {
            struct parameter *parameter = &live->parameters[live->n_parameters++];
            const struct nm_param *row = &live->modules[i]->params[p];
            const char *instance = live->lineup->instances[i].name;
            *parameter = (struct parameter){.instance = i, .param = p, .row = row};
            if (asprintf(&parameter->name, "%s.%s", instance, row->name) < 0) abort();
            nm_player_value(live->player, i, p, &parameter->told);
        }
}

void parameters_free(struct nm_live *live)
{
    for (uint32_t i = 0; i < live->n_parameters; i++) free(live->parameters[i].name);
    free(live->parameters);
    live->parameters = NULL;
    live->n_parameters = 0;
}

void parameters_new(struct nm_live *live)
{
    live->modules = nm_take_n(&live->arena, const struct nm_module *, live->lineup->n_instances + 1);
    for (uint32_t i = 0; i < live->lineup->n_instances; i++) live->modules[i] = nm_player_module(live->player, i);
    list_all(live);
}

static void refresh(struct nm_live *live)
{
    bool same = true;
    for (uint32_t i = 0; i < live->lineup->n_instances; i++) {
        const struct nm_module *module = nm_player_module(live->player, i);
        same &= module == live->modules[i];
        live->modules[i] = module;
    }
    if (same) return;
    parameters_free(live);
    list_all(live);
    for (uint32_t c = 0; c < NM_LIVE_CLIENTS; c++) { /* whoever watched something now watches all */
        struct client *client = &live->clients[c];
        if (!client->watched) continue;
        free(client->watched);
        client->watched = malloc(live->n_parameters + 1);
        if (!client->watched) abort();
        memset(client->watched, 1, live->n_parameters + 1);
    }
}

static uint32_t find(const struct nm_live *live, const char *name)
{
    for (uint32_t i = 0; i < live->n_parameters; i++)
        if (!strcmp(live->parameters[i].name, name + (*name == '/'))) return i;
    return NM_NONE;
}

static const char *nearest(const struct nm_live *live, const char *name)
{
    const char **names = calloc(live->n_parameters + 1, sizeof *names);
    if (!names) abort();
    for (uint32_t i = 0; i < live->n_parameters; i++) names[i] = live->parameters[i].name;
    const char *near = nm_nearest(name, names, live->n_parameters);
    free(names);
    return near;
}

/* ---- telling ---- */

static void write_value(struct nm_json *json, const struct nm_param *row, const struct nm_value *value)
{
    switch (row->kind) {
    case NM_PARAM_BOOL: nm_json_bool(json, "value", value->whole); return;
    case NM_PARAM_INT32:
    case NM_PARAM_INT64: nm_json_whole(json, "value", value->whole); return;
    case NM_PARAM_TEXT: nm_json_text(json, "value", value->text); return;
    case NM_PARAM_FLOAT:
    case NM_PARAM_DOUBLE:
        nm_json_exact(json, "value", value->number[0]);
        nm_json_text(json, "type", "float64");
        return;
    case NM_PARAM_FLOATS:
    case NM_PARAM_DOUBLES: break;
    }
    nm_json_open(json, "value", '[');
    for (uint32_t i = 0; i < nm_param_elements(row); i++) nm_json_exact(json, NULL, value->number[i]);
    nm_json_close(json, ']');
    nm_json_text(json, "type", "float64_array");
}

static void write_parameter(struct nm_live *live, struct nm_json *json, uint32_t index)
{
    const struct parameter *parameter = &live->parameters[index];
    struct nm_value value;
    nm_player_value(live->player, parameter->instance, parameter->param, &value);
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "name", parameter->name);
    write_value(json, parameter->row, &value);
    nm_json_close(json, '}');
}

static void open_values(struct nm_json *json)
{
    nm_json_begin(json, JSON_MOST);
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "op", "parameterValues");
    nm_json_open(json, "parameters", '[');
}

static void close_values(struct client *client, struct nm_json *json, const char *id)
{
    nm_json_close(json, ']');
    if (id) nm_json_text(json, "id", id);
    nm_json_close(json, '}');
    client_json(client, json);
}

/* Those that a request names; all if it names none. */
static void answer(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    struct nm_json json;
    open_values(&json);
    for (uint32_t i = 0; !request->n && i < live->n_parameters; i++) write_parameter(live, &json, i);
    for (uint32_t i = 0; i < request->n; i++) {
        uint32_t index = find(live, request->items[i].name);
        if (index != NM_NONE) write_parameter(live, &json, index);
    }
    close_values(client, &json, request->id);
}

void parameters_get(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    refresh(live);
    answer(live, client, request);
}

/* ---- setting ---- */

static int read_change(struct nm_live *live, const struct nm_fox_item *item, struct nm_change *change,
                       struct nm_err *err)
{
    uint32_t index = find(live, item->name);
    if (index == NM_NONE) {
        const char *near = nearest(live, item->name);
        return nm_fail(err, "there is no parameter '%.100s'%s%s%s", item->name, near ? "; did you mean '" : "",
                       near ? near : "", near ? "'?" : "");
    }
    const struct parameter *parameter = &live->parameters[index];
    struct nm_err why = {0};
    if (!item->value) return nm_fail(err, "%s: a parameter of a module cannot be deleted", parameter->name);
    *change = (struct nm_change){.instance = parameter->instance, .param = parameter->param};
    if (nm_value_node(parameter->row, item->value, &change->value, &why))
        return nm_fail(err, "%s.%.*s", live->lineup->instances[parameter->instance].name, (int)strcspn(why.text, "\n"),
                       why.text);
    change->value.layer = NM_LAYER_LIVE;
    change->value.file = NULL; /* the request's text does not last */
    change->value.line = 0;
    return 0;
}

void parameters_set(struct nm_live *live, struct client *client, const struct nm_fox_request *request)
{
    struct nm_err err = {0};
    struct nm_change *changes = calloc(request->n + 1, sizeof *changes);
    if (!changes) abort();
    refresh(live);
    int bad = write_allowed(live, client, &err) ? 0 : -1;
    for (uint32_t i = 0; !bad && i < request->n; i++) bad = read_change(live, &request->items[i], &changes[i], &err);
    if (!bad && request->n) bad = nm_player_set(live->player, changes, request->n, &err) < 0;
    free(changes);
    if (bad) client_status(client, 2, NULL, "setParameters: %s", err.text);
    if (request->id && request->n) answer(live, client, request);
    if (!bad) parameters_tell(live);
}

/* ---- watching ---- */

void parameters_watch(struct nm_live *live, struct client *client, const struct nm_fox_request *request, bool on)
{
    refresh(live);
    if (!client->watched) client->watched = calloc(live->n_parameters + 1, 1);
    if (!client->watched) abort();
    if (!request->n) memset(client->watched, on, live->n_parameters);
    for (uint32_t i = 0; i < request->n; i++) {
        uint32_t index = find(live, request->items[i].name);
        if (index != NM_NONE) client->watched[index] = on;
    }
}

static void tell(struct nm_live *live, struct client *client, const bool *changed)
{
    struct nm_json json;
    uint32_t n = 0;
    open_values(&json);
    for (uint32_t i = 0; i < live->n_parameters; i++) {
        if (!changed[i] || !client->watched[i]) continue;
        write_parameter(live, &json, i);
        n++;
    }
    if (n)
        close_values(client, &json, NULL);
    else
        nm_json_end(&json);
}

void parameters_tell(struct nm_live *live)
{
    bool any = false, watched = false;
    for (uint32_t c = 0; c < NM_LIVE_CLIENTS; c++) watched |= live->clients[c].connection && live->clients[c].watched;
    if (!watched) return;
    refresh(live);
    bool *changed = calloc(live->n_parameters + 1, 1);
    if (!changed) abort();
    for (uint32_t i = 0; i < live->n_parameters; i++) {
        struct parameter *parameter = &live->parameters[i];
        struct nm_value value;
        nm_player_value(live->player, parameter->instance, parameter->param, &value);
        changed[i] = !nm_value_equal(parameter->row, &value, &parameter->told);
        any |= changed[i];
        parameter->told = value;
    }
    for (uint32_t c = 0; any && c < NM_LIVE_CLIENTS; c++)
        if (live->clients[c].connection && live->clients[c].watched) tell(live, &live->clients[c], changed);
    free(changed);
}
