/* What a line-up says about itself, as JSON: cycles, modules, topics, parameters. */
#include <math.h>

#include "edge/control/control.h"
#include "codec/json.h"

enum { NAMES = 1024 };

uint32_t nm_find_topic(const struct nm_lineup *lineup, const char *name, struct nm_err *err)
{
    uint32_t index = nm_lineup_topic(lineup, name);
    if (index != NM_NONE) return index;
    const char *names[NAMES];
    uint32_t n = 0;
    for (; n < lineup->n_topics && n < NAMES; n++) names[n] = lineup->topics[n].name;
    nm_fail(err, "the line-up %s has no topic '%.100s'%s", lineup->name, name, nm_hint(name, names, n).text);
    return NM_NONE;
}

uint32_t nm_find_instance(const struct nm_lineup *lineup, const char *name, struct nm_err *err)
{
    uint32_t index = nm_lineup_instance(lineup, name);
    if (index != NM_NONE) return index;
    const char *names[NAMES];
    uint32_t n = 0;
    for (; n < lineup->n_instances && n < NAMES; n++) names[n] = lineup->instances[n].name;
    nm_fail(err, "the line-up %s has no instance '%.100s'%s", lineup->name, name, nm_hint(name, names, n).text);
    return NM_NONE;
}

const struct nm_module *nm_view_module(const struct nm_view *view, uint32_t instance)
{
    return view->modules ? view->modules[instance] : view->lineup->instances[instance].module;
}

/* ---- tasks ---- */

static void times_json(struct nm_json *json, const char *key, const struct nm_times *times)
{
    nm_json_open(json, key, '{');
    nm_json_number(json, "mean", times->mean);
    nm_json_whole(json, "p50", times->p50);
    nm_json_whole(json, "p99", times->p99);
    nm_json_whole(json, "p999", times->p999);
    nm_json_whole(json, "max", times->max);
    nm_json_close(json, '}');
}

static void module_json(const struct nm_view *view, uint32_t instance, struct nm_json *json)
{
    struct nm_step_stats stats;
    nm_player_step_stats(view->player, instance, &stats);
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "instance", view->lineup->instances[instance].name);
    nm_json_text(json, "module", nm_view_module(view, instance)->name);
    nm_json_whole(json, "steps", (int64_t)stats.steps);
    times_json(json, "busy", &stats.busy);
    nm_json_close(json, '}');
}

/* What comes from outside: how often it arrives, and how old the newest reading is. */
static void inputs_json(const struct nm_view *view, struct nm_json *json)
{
    int64_t now = nm_player_now(view->player);
    nm_json_open(json, "inputs", '[');
    for (uint32_t t = 0; t < view->lineup->n_topics; t++) {
        const struct nm_topic *topic = &view->lineup->topics[t];
        struct nm_topic_stats stats;
        nm_player_topic_stats(view->player, t, &stats);
        if (!topic->remote || topic->n_producers || topic->queue || !stats.seq) continue;
        nm_json_open(json, NULL, '{');
        nm_json_text(json, "name", topic->name);
        nm_json_whole(json, "seq", (int64_t)stats.seq);
        nm_json_number(json, "rate", view->topic_rates ? view->topic_rates[t] : NAN);
        nm_json_whole(json, "age", now - stats.stamp);
        nm_json_close(json, '}');
    }
    nm_json_close(json, ']');
}

void nm_tasks_json(const struct nm_view *view, struct nm_json *json)
{
    nm_json_whole(json, "now", nm_player_now(view->player));
    inputs_json(view, json);
    nm_json_open(json, "cycles", '[');
    for (uint32_t c = 0; c < nm_player_cycles(view->player); c++) {
        const struct nm_lineup_cycle *cycle = nm_player_plan(view->player, c);
        struct nm_cycle_stats stats;
        if (!cycle) continue;
        nm_player_cycle_stats(view->player, c, &stats);
        double lately = c < view->n_cycle_rates ? view->cycle_rates[c] : NAN;
        nm_json_open(json, NULL, '{');
        nm_json_text(json, "name", cycle->name);
        nm_json_whole(json, "period", cycle->period);
        nm_json_text(json, "trigger", cycle->trigger == NM_NONE ? NULL : view->lineup->topics[cycle->trigger].name);
        nm_json_whole(json, "runs", (int64_t)stats.runs);
        nm_json_whole(json, "misses", (int64_t)stats.misses);
        nm_json_whole(json, "skips", (int64_t)stats.skips);
        nm_json_number(json, "rate", isfinite(lately) ? lately : stats.rate);
        times_json(json, "busy", &stats.busy);
        times_json(json, "late", &stats.late);
        nm_json_open(json, "modules", '[');
        for (uint32_t i = 0; i < cycle->n_order; i++) module_json(view, cycle->order[i], json);
        nm_json_close(json, ']');
        nm_json_close(json, '}');
    }
    nm_json_close(json, ']');
}

/* ---- topics ---- */

static void ends_json(const struct nm_lineup *lineup, struct nm_json *json, const char *key, const struct nm_end *ends,
                      uint32_t n)
{
    nm_json_open(json, key, '[');
    for (uint32_t i = 0; i < n; i++) nm_json_text(json, NULL, lineup->instances[ends[i].instance].name);
    nm_json_close(json, ']');
}

void nm_topics_json(const struct nm_view *view, struct nm_json *json)
{
    nm_json_whole(json, "now", view->player ? nm_player_now(view->player) : 0);
    nm_json_open(json, "topics", '[');
    for (uint32_t t = 0; t < view->lineup->n_topics; t++) {
        const struct nm_topic *topic = &view->lineup->topics[t];
        struct nm_topic_stats stats = {0};
        if (view->player) nm_player_topic_stats(view->player, t, &stats);
        nm_json_open(json, NULL, '{');
        nm_json_text(json, "name", topic->name);
        nm_json_text(json, "type", topic->type->name);
        nm_json_bool(json, "queue", topic->queue);
        nm_json_bool(json, "remote", topic->remote);
        nm_json_bool(json, "builtin", topic->builtin);
        nm_json_whole(json, "seq", (int64_t)stats.seq);
        nm_json_whole(json, "time", stats.time);
        nm_json_number(json, "rate", view->topic_rates ? view->topic_rates[t] : NAN);
        nm_json_whole(json, "lost", (int64_t)stats.lost);
        nm_json_whole(json, "refused", (int64_t)stats.refused);
        nm_json_text(json, "newest_by", stats.maker);
        nm_json_whole(json, "no_blob", (int64_t)stats.no_blob);
        ends_json(view->lineup, json, "makers", topic->producers, topic->n_producers);
        ends_json(view->lineup, json, "readers", topic->consumers, topic->n_consumers);
        nm_json_close(json, '}');
    }
    nm_json_close(json, ']');
}

/* ---- parameters ---- */

static const char *const kind_names[] = {
    [NM_PARAM_BOOL] = "switch",    [NM_PARAM_INT32] = "whole number", [NM_PARAM_INT64] = "whole number",
    [NM_PARAM_FLOAT] = "number",   [NM_PARAM_DOUBLE] = "number",      [NM_PARAM_TEXT] = "text",
    [NM_PARAM_FLOATS] = "numbers", [NM_PARAM_DOUBLES] = "numbers",
};

static void param_json(const struct nm_view *view, uint32_t instance, uint32_t index, struct nm_json *json)
{
    const struct nm_lineup_instance *plan = &view->lineup->instances[instance];
    const struct nm_param *param = &nm_view_module(view, instance)->params[index];
    struct nm_value value, factory;
    char text[NM_VALUE_PRINT];
    if (view->player)
        nm_player_value(view->player, instance, index, &value);
    else
        value = plan->values[index];
    nm_value_default(param, &factory);
    nm_json_open(json, NULL, '{');
    nm_json_text(json, "instance", plan->name);
    nm_json_text(json, "param", param->name);
    nm_json_text(json, "kind", kind_names[param->kind]);
    nm_value_print(param, &value, text, sizeof text);
    nm_json_text(json, "value", text);
    nm_value_print(param, &factory, text, sizeof text);
    nm_json_text(json, "default", text);
    nm_json_bool(json, "changed", !nm_value_equal(param, &value, &factory));
    nm_json_text(json, "layer", nm_layer_name(value.layer));
    nm_json_text(json, "file", value.file);
    nm_json_whole(json, "line", value.line);
    nm_json_number(json, "min", param->min);
    nm_json_number(json, "max", param->max);
    nm_json_text(json, "choices", param->choices);
    nm_json_text(json, "unit", param->unit);
    nm_json_text(json, "about", param->about);
    nm_json_close(json, '}');
}

int nm_params_json(const struct nm_view *view, const char *instance, const char *param, struct nm_json *json,
                   struct nm_err *err)
{
    uint32_t only = NM_NONE;
    int only_param = -1;
    if (instance && (only = nm_find_instance(view->lineup, instance, err)) == NM_NONE) return -1;
    if (param && (only_param = nm_param_find(nm_view_module(view, only), param, err)) < 0) return -1;
    nm_json_open(json, "params", '[');
    for (uint32_t i = 0; i < view->lineup->n_instances; i++) {
        if (only != NM_NONE && i != only) continue;
        uint32_t n = nm_param_count(nm_view_module(view, i));
        for (uint32_t p = 0; p < n; p++)
            if (only_param < 0 || p == (uint32_t)only_param) param_json(view, i, p, json);
    }
    nm_json_close(json, ']');
    return 0;
}
