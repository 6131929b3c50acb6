/* One path from text to value: text becomes YAML nodes, so that a command line and a file accept and refuse the same.
 */
#include "core/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/registry.h"

const char *nm_layer_name(enum nm_layer layer)
{
    static const char *const names[NM_LAYERS] = {"module", "default", "robot", "head",    "body", "place",
                                                 "event",  "lineup",  "saved", "command", "live"};
    return layer < NM_LAYERS ? names[layer] : "unknown";
}

/* What a kind of parameter is in memory. */
static const struct kind {
    uint32_t size; /* of the member, of one element of a list, 1 for texts */
    bool list;
} kinds[] = {
    [NM_PARAM_BOOL] = {sizeof(bool), false},     [NM_PARAM_INT32] = {sizeof(int32_t), false},
    [NM_PARAM_INT64] = {sizeof(int64_t), false}, [NM_PARAM_FLOAT] = {sizeof(float), false},
    [NM_PARAM_DOUBLE] = {sizeof(double), false}, [NM_PARAM_TEXT] = {1, false},
    [NM_PARAM_FLOATS] = {sizeof(float), true},   [NM_PARAM_DOUBLES] = {sizeof(double), true},
};

uint32_t nm_param_elements(const struct nm_param *param)
{
    return kinds[param->kind].list ? param->size / kinds[param->kind].size : 1;
}

static bool single(const struct nm_param *param)
{
    return param->kind == NM_PARAM_FLOAT || param->kind == NM_PARAM_FLOATS;
}

/* longest text, without its NUL */
static size_t text_room(const struct nm_param *param)
{
    return (param->size < NM_PARAM_TEXT_MAX ? param->size : NM_PARAM_TEXT_MAX) - 1;
}

/* ---- reading ---- */

static int fail_type(const struct nm_param *param, const char *element, const struct nm_yaml *node, const char *wanted,
                     struct nm_err *err)
{
    static const char *const collections[] = {[NM_YAML_LIST] = "a list", [NM_YAML_MAP] = "a map"};
    if (node->kind != NM_YAML_SCALAR)
        return nm_fail(err, "%s%s: %s is needed, not %s", param->name, element, wanted, collections[node->kind]);
    if (!*node->text && !node->quoted)
        return nm_fail(err, "%s%s: %s is needed, nothing is given", param->name, element, wanted);
    const char *quote = node->quoted ? "\"" : "'";
    return nm_fail(err, "%s%s: %s%.60s%s is not %s", param->name, element, quote, node->text, quote, wanted);
}

static int fail_range(const struct nm_param *param, const char *element, const struct nm_yaml *node, struct nm_err *err)
{
    bool bare = !param->unit || !strcmp(param->unit, "1");
    return nm_fail(err, "%s%s: %.40s is outside %.9g … %.9g%s%s", param->name, element, node->text, param->min,
                   param->max, bare ? "" : " ", bare ? "" : param->unit);
}

static int read_switch(const struct nm_param *param, const struct nm_yaml *node, struct nm_value *value,
                       struct nm_err *err)
{
    bool on;
    if (nm_yaml_bool(node, &on, NULL)) return fail_type(param, "", node, "true or false", err);
    value->whole = on;
    return 0;
}

static int read_whole(const struct nm_param *param, const struct nm_yaml *node, struct nm_value *value,
                      struct nm_err *err)
{
    int64_t whole;
    if (nm_yaml_int(node, &whole, NULL)) return fail_type(param, "", node, "a whole number", err);
    /* a double holds not every int64_t, a long double does */
    long double wide = (long double)whole;
    bool fits = param->kind == NM_PARAM_INT64 || (whole >= INT32_MIN && whole <= INT32_MAX);
    if (!fits || wide < (long double)param->min || wide > (long double)param->max)
        return fail_range(param, "", node, err);
    value->whole = whole;
    return 0;
}

static int read_number(const struct nm_param *param, const struct nm_yaml *node, uint32_t i, struct nm_value *value,
                       struct nm_err *err)
{
    char element[16] = "";
    double number;
    if (kinds[param->kind].list) snprintf(element, sizeof element, "[%u]", i);
    if (nm_yaml_number(node, &number, NULL)) return fail_type(param, element, node, "a number", err);
    bool fits = !single(param) || isinf(number) || isfinite((float)number);
    if (!fits || !(number >= param->min && number <= param->max)) return fail_range(param, element, node, err);
    value->number[i] = number;
    return 0;
}

static int read_list(const struct nm_param *param, const struct nm_yaml *node, struct nm_value *value,
                     struct nm_err *err)
{
    uint32_t n = nm_param_elements(param), i = 0;
    char wanted[48];
    snprintf(wanted, sizeof wanted, "a list of %u number%s in brackets", n, n == 1 ? "" : "s");
    if (node->kind != NM_YAML_LIST) return fail_type(param, "", node, wanted, err);
    if (node->n != n)
        return nm_fail(err, "%s: %u number%s given, %u needed", param->name, node->n, node->n == 1 ? " is" : "s are",
                       n);
    nm_yaml_each(child, node) if (read_number(param, child, i++, value, err)) return -1;
    return 0;
}

/* One line of UTF-8: what a file, a terminal and a string of ROS all can carry. */
static bool one_line(const char *text)
{
    for (const char *at = text, *end = text + strlen(text); at < end;) {
        uint32_t c = nm_utf8_take(&at, end);
        if (c < 0x20 || c == 0x7f || c == NM_NOT_UTF8) return false;
    }
    return true;
}

/* The words of a text separated by blanks, for lists of choices; `room` holds what they point to. */
static uint32_t words_of(const char *text, char *room, size_t size, const char **words, uint32_t max)
{
    uint32_t n = 0;
    snprintf(room, size, "%s", text);
    for (char *save, *word = strtok_r(room, " ,", &save); word && n < max; word = strtok_r(NULL, " ,", &save))
        words[n++] = word;
    return n;
}

static int check_choice(const struct nm_param *param, const char *text, struct nm_err *err)
{
    char room[1024];
    const char *words[64];
    if (!param->choices) return 0;
    uint32_t n = words_of(param->choices, room, sizeof room, words, 64);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(words[i], text)) return 0;
    return nm_fail(err, "%s: '%.60s' is not among its choices%s", param->name, text, nm_hint(text, words, n).text);
}

static int read_text(const struct nm_param *param, const struct nm_yaml *node, struct nm_value *value,
                     struct nm_err *err)
{
    const char *text;
    if (nm_yaml_text(node, &text, NULL) || (!*text && !node->quoted)) return fail_type(param, "", node, "a text", err);
    if (check_choice(param, text, err)) return -1;
    if (strlen(text) > text_room(param))
        return nm_fail(err, "%s: '%.40s…' is longer than %zu bytes", param->name, text, text_room(param));
    if (!one_line(text)) return nm_fail(err, "%s: a text of one line in UTF-8 is needed", param->name);
    snprintf(value->text, sizeof value->text, "%s", text);
    return 0;
}

int nm_value_node(const struct nm_param *param, const struct nm_yaml *node, struct nm_value *value, struct nm_err *err)
{
    struct nm_value read = {.file = node->file, .line = (int)node->line};
    int rc = -1;
    switch (param->kind) {
    case NM_PARAM_BOOL: rc = read_switch(param, node, &read, err); break;
    case NM_PARAM_INT32:
    case NM_PARAM_INT64: rc = read_whole(param, node, &read, err); break;
    case NM_PARAM_FLOAT:
    case NM_PARAM_DOUBLE: rc = read_number(param, node, 0, &read, err); break;
    case NM_PARAM_FLOATS:
    case NM_PARAM_DOUBLES: rc = read_list(param, node, &read, err); break;
    case NM_PARAM_TEXT: rc = read_text(param, node, &read, err); break;
    }
    if (rc) return -1;
    read.layer = value->layer;
    *value = read;
    return 0;
}

/* "[1, 2, 3]" or "1 2 3" as a list of scalars; false if the brackets do not match or it is beyond all reason. */
static bool split_list(const char *text, char *room, size_t size, struct nm_yaml *list, struct nm_yaml *items,
                       uint32_t max)
{
    const char *words[NM_PARAM_LIST_MAX + 1];
    size_t length = strlen(text);
    bool open = length && text[0] == '[', close = length > open && text[length - 1] == ']';
    if (open != close || length >= size) return false;
    char inner[NM_VALUE_PRINT];
    snprintf(inner, sizeof inner, "%.*s", (int)(length - 2 * open), text + open);
    uint32_t n = words_of(inner, room, size, words, max);
    for (uint32_t i = 0; i < n; i++)
        items[i] = (struct nm_yaml){.kind = NM_YAML_SCALAR, .text = words[i], .next = i + 1 < n ? &items[i + 1] : NULL};
    *list = (struct nm_yaml){.kind = NM_YAML_LIST, .n = n, .text = "", .first = n ? items : NULL};
    return true;
}

int nm_value_parse(const struct nm_param *param, const char *text, struct nm_value *value, struct nm_err *err)
{
    struct nm_yaml node = {.kind = NM_YAML_SCALAR, .text = text, .quoted = param->kind == NM_PARAM_TEXT};
    struct nm_yaml items[NM_PARAM_LIST_MAX + 1]; /* one more, so that too many are seen */
    char room[NM_VALUE_PRINT];
    struct nm_yaml list;
    if (kinds[param->kind].list && split_list(text, room, sizeof room, &list, items, NM_PARAM_LIST_MAX + 1))
        node = list;
    return nm_value_node(param, &node, value, err);
}

void nm_value_default(const struct nm_param *param, struct nm_value *value)
{
    *value = (struct nm_value){.layer = NM_LAYER_MODULE};
    if (kinds[param->kind].list) {
        nm_value_parse(param, param->text ? param->text : "", value, NULL);
        return;
    }
    value->whole = param->kind <= NM_PARAM_INT64 ? (int64_t)param->value : 0;
    value->number[0] = param->value;
    if (param->text) snprintf(value->text, sizeof value->text, "%.*s", (int)text_room(param), param->text);
}

/* ---- writing ---- */

/* The shortest decimal number that reads back as the same bits. */
static int print_number(bool as_float, double number, char *to, size_t size)
{
    if (isinf(number)) return snprintf(to, size, "%s.inf", number < 0 ? "-" : "");
    int length = 0;
    for (int digits = as_float ? 6 : 15; digits <= (as_float ? 9 : 17); digits++) {
        length = snprintf(to, size, "%.*g", digits, number);
        double back = length >= 0 && (size_t)length < size ? strtod(to, NULL) : number;
        if (as_float ? (float)back == (float)number : back == number) break;
    }
    return length;
}

void nm_value_print(const struct nm_param *param, const struct nm_value *value, char *to, size_t size)
{
    size_t used = 0;
    switch (param->kind) {
    case NM_PARAM_BOOL: snprintf(to, size, "%s", value->whole ? "true" : "false"); break;
    case NM_PARAM_INT32:
    case NM_PARAM_INT64: snprintf(to, size, "%lld", (long long)value->whole); break;
    case NM_PARAM_FLOAT:
    case NM_PARAM_DOUBLE: print_number(single(param), value->number[0], to, size); break;
    case NM_PARAM_TEXT: snprintf(to, size, "%s", value->text); break;
    case NM_PARAM_FLOATS:
    case NM_PARAM_DOUBLES:
        for (uint32_t i = 0; i < nm_param_elements(param) && used < size; i++) {
            used += (size_t)snprintf(to + used, size - used, "%s", i ? ", " : "[");
            if (used < size) used += (size_t)print_number(single(param), value->number[i], to + used, size - used);
        }
        if (used < size) snprintf(to + used, size - used, "]");
        break;
    }
}

bool nm_value_equal(const struct nm_param *param, const struct nm_value *a, const struct nm_value *b)
{
    if (param->kind == NM_PARAM_TEXT) return !strcmp(a->text, b->text);
    if (param->kind <= NM_PARAM_INT64) return a->whole == b->whole;
    for (uint32_t i = 0; i < nm_param_elements(param); i++)
        if (single(param) ? (float)a->number[i] != (float)b->number[i] : a->number[i] != b->number[i]) return false;
    return true;
}

/* ---- the member of a module's struct ---- */

void nm_value_store(const struct nm_param *param, const struct nm_value *value, void *self)
{
    void *member = (char *)self + param->offset;
    switch (param->kind) {
    case NM_PARAM_BOOL: *(bool *)member = value->whole; break;
    case NM_PARAM_INT32: *(int32_t *)member = (int32_t)value->whole; break;
    case NM_PARAM_INT64: *(int64_t *)member = value->whole; break;
    case NM_PARAM_TEXT:
        memset(member, 0, param->size);
        memcpy(member, value->text, strnlen(value->text, text_room(param)));
        break;
    case NM_PARAM_FLOAT:
    case NM_PARAM_FLOATS:
        for (uint32_t i = 0; i < nm_param_elements(param); i++) ((float *)member)[i] = (float)value->number[i];
        break;
    case NM_PARAM_DOUBLE:
    case NM_PARAM_DOUBLES: memcpy(member, value->number, param->size); break;
    }
}

/* ---- tables ---- */

uint32_t nm_param_count(const struct nm_module *module)
{
    uint32_t n = 0;
    while (module->params && module->params[n].name) n++;
    return n;
}

int nm_param_find(const struct nm_module *module, const char *name, struct nm_err *err)
{
    const char *names[256];
    uint32_t n = nm_param_count(module);
    for (uint32_t i = 0; i < n; i++) {
        if (!strcmp(module->params[i].name, name)) return (int)i;
        if (i < 256) names[i] = module->params[i].name;
    }
    if (!n) return nm_fail(err, "module '%s' has no parameter '%.80s', it has none at all", module->name, name);
    return nm_fail(err, "module '%s' has no parameter '%.80s'%s", module->name, name,
                   nm_hint(name, names, n < 256 ? n : 256).text);
}

static bool size_fits(const struct nm_param *param)
{
    uint32_t size = kinds[param->kind].size;
    if (param->kind == NM_PARAM_TEXT) return param->size >= 2 && param->size <= NM_PARAM_TEXT_MAX;
    if (!kinds[param->kind].list) return param->size == size;
    return param->size && param->size % size == 0 && param->size / size <= NM_PARAM_LIST_MAX;
}

int nm_param_check(const struct nm_param *param, struct nm_err *err)
{
    if (param->kind < NM_PARAM_BOOL || param->kind > NM_PARAM_DOUBLES) return nm_fail(err, "is of no known kind");
    if (!size_fits(param)) return nm_fail(err, "has a member of %u bytes, which its kind cannot have", param->size);
    if (!param->unit || !param->about || !*param->about) return nm_fail(err, "lacks its unit or its line of prose");
    if (!(param->min <= param->max)) return nm_fail(err, "has an empty range");

    /* the default, as a file would give it */
    char text[NM_VALUE_PRINT];
    struct nm_value value;
    struct nm_err why = {0};
    bool whole = param->kind == NM_PARAM_INT32 || param->kind == NM_PARAM_INT64;
    if (whole && !(fabs(param->value) < 0x1p62 && param->value == floor(param->value)))
        return nm_fail(err, "has a default that is no whole number");
    nm_value_default(param, &value);
    nm_value_print(param, &value, text, sizeof text);
    bool literal = kinds[param->kind].list || param->kind == NM_PARAM_TEXT;
    if (nm_value_parse(param, literal && param->text ? param->text : text, &value, &why))
        return nm_fail(err, "has a default that it refuses itself: %.*s", (int)why.used - 1, why.text);
    return 0;
}
