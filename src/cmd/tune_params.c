/* Which parameters a search changes, and how its coordinates become values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tune.h"
#include "core/player.h"

static bool listed(const struct nm_param *p) { return p->kind == NM_PARAM_FLOATS || p->kind == NM_PARAM_DOUBLES; }
static bool whole(const struct nm_param *p) { return p->kind == NM_PARAM_INT32 || p->kind == NM_PARAM_INT64; }

const char *tune_name(const struct tune_param *p, char to[160])
{
    if (p->animation)
        snprintf(to, 160, "%.60s[%u].%.60s", p->instance, p->element, p->param->name);
    else if (listed(p->param))
        snprintf(to, 160, "%.60s.%.60s[%u]", p->instance, p->param->name, p->element);
    else
        snprintf(to, 160, "%.60s.%.60s", p->instance, p->param->name);
    return to;
}

/* Unless a range is given: half of the value to both sides, at least a twentieth of what the module allows. */
static void usual_range(struct tune_param *p)
{
    double wide = fmax(0.5 * fabs(p->value), 0.05 * (p->param->max - p->param->min));
    p->low = fmax(p->value - wide, p->param->min);
    p->high = fmin(p->value + wide, p->param->max);
}

static int add(struct tune_params *all, const struct nm_player *player, const char *instance, const char *name,
               uint32_t element, struct tune_param **added, struct nm_err *err)
{
    const struct nm_lineup *lineup = nm_player_lineup(player);
    const char *names[256];
    uint32_t i = nm_lineup_instance(lineup, instance), n = 0;
    while (n < lineup->n_instances && n < 256) names[n] = lineup->instances[n].name, n++;
    if (i == NM_NONE)
        return nm_fail(err, "the line-up has no instance '%.60s'%s", instance, nm_hint(instance, names, n).text);
    const struct nm_module *module = lineup->instances[i].module;
    int index = nm_param_find(module, name, err);
    if (index < 0) return -1;
    struct tune_param p = {.instance = lineup->instances[i].name, .param = &module->params[index], .element = element};
    char text[160];
    if (p.param->kind == NM_PARAM_BOOL || p.param->kind == NM_PARAM_TEXT)
        return nm_fail(err, "%s is not a number, so it cannot be searched", tune_name(&p, text));
    if (element >= nm_param_elements(p.param))
        return nm_fail(err, "%s: there are only %u elements, counted from 0", tune_name(&p, text),
                       nm_param_elements(p.param));
    for (uint32_t k = 0; k < all->n; k++)
        if (!strcmp(all->at[k].instance, p.instance) && all->at[k].param == p.param && all->at[k].element == element)
            return nm_fail(err, "%s is named twice", tune_name(&p, text));
    if (all->n == TUNE_PARAMS) return nm_fail(err, "at most %d parameters can be searched", TUNE_PARAMS);
    nm_player_value(player, i, (uint32_t)index, &p.before);
    p.value = whole(p.param) ? (double)p.before.whole : p.before.number[element];
    usual_range(&p);
    all->at[all->n] = p;
    *added = &all->at[all->n++];
    return 0;
}

static int set_range(struct tune_param *p, double low, double high, struct nm_err *err)
{
    char text[160];
    if (!(low < high)) return nm_fail(err, "%s: a range must be LOW..HIGH", tune_name(p, text));
    if (low < p->param->min || high > p->param->max)
        return nm_fail(err, "%s: the module allows %g to %g", tune_name(p, text), p->param->min, p->param->max);
    p->low = low;
    p->high = high;
    return 0;
}

/* Splits "name[2]" in place; false if there is no number in the brackets. */
static bool split_element(char *name, uint32_t *element)
{
    char *open = strchr(name, '['), *end;
    *element = 0;
    if (!open) return true;
    unsigned long value = strtoul(open + 1, &end, 10);
    if (end == open + 1 || strcmp(end, "]") || value > NM_PARAM_LIST_MAX) return false;
    *element = (uint32_t)value;
    *open = '\0';
    return true;
}

int tune_add(struct tune_params *all, const struct nm_player *player, const char *text, struct nm_err *err)
{
    char copy[200], *name, *range, *end;
    uint32_t element;
    struct tune_param *p;
    if (strlen(text) >= sizeof copy || !strchr(text, '.'))
        return nm_fail(err, "'%.100s' must be INSTANCE.PARAMETER or INSTANCE.PARAMETER=LOW..HIGH", text);
    strcpy(copy, text);
    if ((range = strchr(copy, '='))) *range++ = '\0';
    if (!(name = strchr(copy, '.'))) return nm_fail(err, "'%.100s' does not name a parameter", text);
    *name++ = '\0';
    if (!split_element(name, &element)) return nm_fail(err, "'%.100s': the brackets must hold a number", text);
    if (add(all, player, copy, name, element, &p, err)) return -1;
    if (!range) return 0;
    double low = strtod(range, &end);
    if (end == range || strncmp(end, "..", 2)) return nm_fail(err, "'%.100s': a range must be LOW..HIGH", text);
    range = end + 2;
    double high = strtod(range, &end);
    if (end == range || *end) return nm_fail(err, "'%.100s': a range must be LOW..HIGH", text);
    return set_range(p, low, high, err);
}

static int add_row(struct tune_params *all, const struct nm_player *player, const char *instance,
                   const struct nm_yaml *row, struct nm_err *err)
{
    char name[100];
    uint32_t element;
    struct tune_param *p;
    struct nm_err why = {0};
    double ends[2];
    snprintf(name, sizeof name, "%.99s", row->key);
    if (!split_element(name, &element)) return nm_yaml_fail(row, err, "the brackets must hold a number");
    if (add(all, player, instance, name, element, &p, &why))
        return nm_yaml_fail(row, err, "%.*s", (int)strcspn(why.text, "\n"), why.text);
    if (row->kind == NM_YAML_SCALAR && !*row->text) return 0;
    if (row->kind != NM_YAML_LIST || row->n != 2)
        return nm_yaml_fail(row, err, "write a range [LOW, HIGH] here, or nothing");
    if (nm_yaml_number(row->first, &ends[0], err) || nm_yaml_number(row->first->next, &ends[1], err)) return -1;
    if (set_range(p, ends[0], ends[1], &why))
        return nm_yaml_fail(row, err, "%.*s", (int)strcspn(why.text, "\n"), why.text);
    return 0;
}

int tune_add_file(struct tune_params *all, const struct nm_player *player, const char *path, struct nm_err *err)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *file = nm_yaml_read(&arena, path, err);
    int bad = file ? 0 : -1;
    if (file && file->kind != NM_YAML_MAP) bad = nm_yaml_fail(file, err, "write instances with their parameters here");
    nm_yaml_each(instance, bad ? NULL : file)
    {
        if (instance->kind != NM_YAML_MAP)
            bad = nm_yaml_fail(instance, err, "write parameters of %.60s here", instance->key);
        nm_yaml_each(row, instance) bad |= add_row(all, player, instance->key, row, err);
    }
    nm_arena_free(&arena);
    return bad;
}

/* Five digits: what is written to a file is what was played. */
double tune_value(const struct tune_param *p, double x)
{
    char text[32];
    double value = p->low + (p->high - p->low) * fmin(fmax(x, 0), 1);
    snprintf(text, sizeof text, "%.5g", value);
    value = fmin(fmax(strtod(text, NULL), p->param->min), p->param->max);
    return whole(p->param) ? rint(value) : value;
}

/* The whole parameter, with all elements of it that are searched; false where an earlier row has done that. */
static bool merged(const struct tune_params *all, const double *x, uint32_t i, struct nm_value *value)
{
    const struct tune_param *p = &all->at[i];
    if (p->animation) return false;
    *value = p->before;
    for (uint32_t k = 0; k < all->n; k++) {
        const struct tune_param *q = &all->at[k];
        if (q->param != p->param || strcmp(q->instance, p->instance)) continue;
        if (k < i) return false;
        double number = tune_value(q, x[k]);
        value->whole = (int64_t)rint(number);
        value->number[q->element] = number;
    }
    return true;
}

uint32_t tune_settings(const struct tune_params *all, const double *x, char to[TUNE_PARAMS][TUNE_TEXT])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->n; i++) {
        struct nm_value value;
        char text[NM_VALUE_PRINT];
        if (!merged(all, x, i, &value)) continue;
        nm_value_print(all->at[i].param, &value, text, sizeof text);
        snprintf(to[n++], TUNE_TEXT, "%.40s.%.40s=%s", all->at[i].instance, all->at[i].param->name, text);
    }
    return n;
}

void tune_print(const struct tune_params *all, const double *x, FILE *to)
{
    for (uint32_t i = 0; i < all->n; i++) {
        const char *instance = all->at[i].instance;
        bool first = true;
        for (uint32_t k = 0; k < i; k++) first &= strcmp(all->at[k].instance, instance) != 0;
        if (!first || all->at[i].animation) continue;
        fprintf(to, "%s:\n", instance);
        for (uint32_t k = i; k < all->n; k++) {
            struct nm_value value;
            char text[NM_VALUE_PRINT];
            if (strcmp(all->at[k].instance, instance) || !merged(all, x, k, &value)) continue;
            nm_value_print(all->at[k].param, &value, text, sizeof text);
            fprintf(to, "  %s: %s\n", all->at[k].param->name, text);
        }
    }
}
