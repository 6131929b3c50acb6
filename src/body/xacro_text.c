/* What the texts of a xacro file mean: ${expressions} in a small part of Python, and $(commands) of ROS. */
#include <ctype.h>
#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "body/xacro_parts.h"

void xacro_fail(struct xacro *x, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!x->failed) nm_fail(x->err, "%s:%u: %s", x->at ? x->at->file : "?", x->at ? x->at->line : 0, text);
    x->failed = true;
}

/* ---- expressions ---- */

struct parsing {
    struct xacro *x;
    struct scope *scope;
    const char *at;
};

static struct value expression(struct parsing *p);
const char *xacro_folder(struct xacro *x, const char *file) { return dirname(nm_take_text(x->arena, file)); }

static struct value number(double n) { return (struct value){NULL, n, NULL}; }
static struct value word(const char *text) { return (struct value){text, 0, NULL}; }
static struct value tree(const struct nm_yaml *t) { return (struct value){NULL, 0, t}; }

static void skip_space(struct parsing *p)
{
    while (isspace((unsigned char)*p->at)) p->at++;
}

static bool taken(struct parsing *p, const char *word)
{
    size_t n = strlen(word);
    skip_space(p);
    if (strncmp(p->at, word, n)) return false;
    if (isalpha((unsigned char)*word) && (isalnum((unsigned char)p->at[n]) || p->at[n] == '_')) return false;
    p->at += n;
    return true;
}

struct binding *xacro_find(struct scope *scope, const char *name)
{
    for (; scope; scope = scope->outer)
        for (struct binding *b = scope->bindings; b; b = b->next)
            if (!strcmp(b->name, name)) return b;
    return NULL;
}

struct value xacro_plain(const char *text)
{
    char *end;
    double n = strtod(text, &end);
    while (isspace((unsigned char)*end)) end++;
    if (end != text && !*end && !strpbrk(text, "xXnN")) return number(n);
    if (!strcasecmp(text, "true")) return number(1);
    if (!strcasecmp(text, "false")) return number(0);
    return word(text);
}

static double as_number(struct parsing *p, struct value v)
{
    if (v.text) v = xacro_plain(v.text);
    if (v.text) xacro_fail(p->x, "'%.60s' is not a number", v.text);
    if (v.tree) xacro_fail(p->x, "a list or a dictionary is not a number");
    return v.text ? 0 : v.number;
}

static bool truth(struct value v) { return v.tree ? v.tree->n > 0 : v.text ? *v.text != '\0' : v.number != 0; }

static const char *text_of(struct xacro *x, struct value v)
{
    if (v.tree) xacro_fail(x, "a list or a dictionary cannot be written as a text");
    return v.text ? v.text : nm_take_format(x->arena, "%.15g", v.number + 0.0);
}

/* ---- lists and dictionaries ---- */

static struct value value_in(const struct nm_yaml *node)
{
    if (node->kind != NM_YAML_SCALAR) return tree(node);
    return node->quoted ? word(node->text) : xacro_plain(node->text);
}

static void append(struct parsing *p, struct nm_yaml *to, struct nm_yaml **last, const char *key, struct value v)
{
    struct nm_yaml *node = nm_take_n(p->x->arena, struct nm_yaml, 1);
    if (v.tree)
        *node = *v.tree;
    else
        *node = (struct nm_yaml){.quoted = v.text, .text = text_of(p->x, v)};
    node->key = key;
    node->next = NULL;
    if (*last)
        (*last)->next = node;
    else
        to->first = node;
    *last = node;
    to->n++;
}

/* [1, 2], {'a': 1} or the arguments of dict(a=1), after the opening bracket. */
static struct value collection(struct parsing *p, const char *close, const char *colon)
{
    struct nm_yaml *made = nm_take_n(p->x->arena, struct nm_yaml, 1), *last = NULL;
    *made = (struct nm_yaml){.kind = colon ? NM_YAML_MAP : NM_YAML_LIST, .text = "", .file = ""};
    while (!p->x->failed && !taken(p, close)) {
        const char *key = NULL;
        if (made->n && !taken(p, ",")) return xacro_fail(p->x, "',' or '%s' is missing", close), number(0);
        if (made->n && taken(p, close)) break;
        if (colon && *colon == '=') {
            skip_space(p);
            size_t n = strcspn(p->at, "= ),");
            key = nm_take_format(p->x->arena, "%.*s", (int)n, p->at);
            p->at += n;
        } else if (colon) {
            key = text_of(p->x, expression(p));
        }
        if (colon && !taken(p, colon)) return xacro_fail(p->x, "'%s' is missing after a key", colon), number(0);
        append(p, made, &last, key, expression(p));
    }
    return tree(made);
}

static struct value item(struct parsing *p, struct value v, struct value index)
{
    const struct nm_yaml *node = v.tree ? v.tree->first : NULL;
    if (!v.tree) return xacro_fail(p->x, "what is before '[' or '.' is neither a list nor a dictionary"), number(0);
    if (v.tree->kind == NM_YAML_MAP) {
        const char *key = text_of(p->x, index);
        node = nm_yaml_get(v.tree, key);
        return node ? value_in(node) : (xacro_fail(p->x, "the dictionary has no key %.60s", key), number(0));
    }
    double at = as_number(p, index);
    if (at < 0) at += v.tree->n;
    while (node && at-- >= 1) node = node->next;
    return node && at >= -1 ? value_in(node) : (xacro_fail(p->x, "the list has no such element"), number(0));
}

static double min_of(double a, double b) { return a < b ? a : b; }
static double max_of(double a, double b) { return a > b ? a : b; }
static double radians(double a) { return a * M_PI / 180; }
static double degrees(double a) { return a * 180 / M_PI; }
static double truncated(double a) { return trunc(a); }
static double as_it_is(double a) { return a; }

static struct value load_yaml(struct parsing *p, const char *name)
{
    struct xacro *x = p->x;
    const char *path = xacro_evaluate(x, p->scope, name);
    if (!x->reads) return xacro_fail(x, "%.60s: no other files are read here", name), number(0);
    if (x->files++ == XACRO_FILES) return xacro_fail(x, "more than %d files", XACRO_FILES), number(0);
    if (*path != '/') path = nm_take_format(x->arena, "%s/%s", xacro_folder(x, x->at->file), path);
    const struct nm_yaml *file = x->failed ? NULL : nm_yaml_read(x->arena, path, x->err);
    if (!file) xacro_fail(x, "%.200s cannot be read", name);
    return file ? value_in(file) : number(0);
}

/* Functions that take more than numbers; false if it is none of them. */
static bool call_other(struct parsing *p, const char *name, struct value *v)
{
    static const char *const names[] = {"str", "len", "load_yaml", "list", "bool"};
    size_t i = 0;
    if (!strcmp(name, "dict")) return *v = collection(p, ")", "="), true;
    while (i < 5 && strcmp(names[i], name)) i++;
    if (i == 5) return false;
    struct value a = expression(p);
    if (!taken(p, ")")) xacro_fail(p->x, "')' is missing after the argument of %s", name);
    if (p->x->failed) return true;
    if (i == 0) *v = word(text_of(p->x, a));
    if (i == 1) *v = number(a.tree ? a.tree->n : (double)strlen(text_of(p->x, a)));
    if (i == 2) *v = load_yaml(p, text_of(p->x, a));
    if (i == 3) *v = a;
    if (i == 4) *v = number(truth(a));
    return true;
}

static struct value call(struct parsing *p, const char *name)
{
    struct value other = number(0);
    if (call_other(p, name, &other)) return other;
    static const struct {
        const char *name;
        double (*one)(double);
        double (*two)(double, double);
    } functions[] = {
        {"sin", sin, NULL},         {"cos", cos, NULL},       {"tan", tan, NULL},        {"asin", asin, NULL},
        {"acos", acos, NULL},       {"atan", atan, NULL},     {"sqrt", sqrt, NULL},      {"fabs", fabs, NULL},
        {"abs", fabs, NULL},        {"floor", floor, NULL},   {"ceil", ceil, NULL},      {"exp", exp, NULL},
        {"log", log, NULL},         {"int", truncated, NULL}, {"float", as_it_is, NULL}, {"radians", radians, NULL},
        {"degrees", degrees, NULL}, {"atan2", NULL, atan2},   {"pow", NULL, pow},        {"hypot", NULL, hypot},
        {"min", NULL, min_of},      {"max", NULL, max_of},    {"round", rint, NULL}};
    double a[2] = {0};
    uint32_t n = 0;
    do {
        if (n == 2) return xacro_fail(p->x, "%s() has too many arguments here", name), number(0);
        a[n++] = as_number(p, expression(p));
    } while (taken(p, ",") && !p->x->failed);
    if (!taken(p, ")")) return xacro_fail(p->x, "')' is missing after the arguments of %s", name), number(0);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name) && (functions[i].one ? n == 1 : n == 2))
            return number(functions[i].one ? functions[i].one(a[0]) : functions[i].two(a[0], a[1]));
    return xacro_fail(p->x, "the function %s() with %u arguments is not known here", name, n), number(0);
}

static struct value name_value(struct parsing *p)
{
    char name[NM_URDF_NAME + 1];
    size_t n = 0;
    while (isalnum((unsigned char)*p->at) || *p->at == '_' ||
           (*p->at == '.' && ((n == 4 && !strncmp(name, "math", 4)) || (n == 5 && !strncmp(name, "xacro", 5))))) {
        if (n == NM_URDF_NAME) return xacro_fail(p->x, "a name is longer than %d characters", NM_URDF_NAME), number(0);
        name[n++] = *p->at++;
    }
    name[n] = '\0';
    const char *plain = !strncmp(name, "math.", 5) ? name + 5 : !strncmp(name, "xacro.", 6) ? name + 6 : name;
    if (taken(p, "(")) return call(p, plain);
    struct binding *b = xacro_find(p->scope, plain);
    if (b && (b->tree || b->text)) return b->tree ? tree(b->tree) : xacro_value(p->x, b->where, b->text);
    if (!strcmp(plain, "pi")) return number(M_PI);
    if (!strcasecmp(plain, "true")) return number(1);
    if (!strcasecmp(plain, "false") || !strcmp(plain, "None")) return number(0);
    return xacro_fail(p->x, "the property %s is not known", name), number(0);
}

static struct value primary(struct parsing *p)
{
    skip_space(p);
    if (p->x->failed || ++p->x->depth > XACRO_NESTED)
        return p->x->failed ? number(0)
                            : (xacro_fail(p->x, "expressions nested deeper than %d", XACRO_NESTED), number(0));
    struct value v;
    if (taken(p, "[")) {
        v = collection(p, "]", NULL);
    } else if (taken(p, "{")) {
        v = collection(p, "}", ":");
    } else if (taken(p, "(")) {
        v = expression(p);
        if (!taken(p, ")")) xacro_fail(p->x, "')' is missing");
    } else if (*p->at == '\'' || *p->at == '"') {
        const char *end = strchr(p->at + 1, *p->at);
        if (!end) return xacro_fail(p->x, "a quotation mark is missing"), number(0);
        v = word(nm_take_format(p->x->arena, "%.*s", (int)(end - p->at - 1), p->at + 1));
        p->at = end + 1;
    } else if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1]))) {
        char *end;
        v = number(strtod(p->at, &end));
        p->at = end;
    } else if (isalpha((unsigned char)*p->at) || *p->at == '_') {
        v = name_value(p);
    } else {
        xacro_fail(p->x, "'%.20s' is not understood in an expression", p->at);
        v = number(0);
    }
    while (!p->x->failed)
        if (taken(p, "[")) {
            v = item(p, v, expression(p));
            if (!taken(p, "]")) xacro_fail(p->x, "']' is missing");
        } else if (v.tree && taken(p, ".")) {
            size_t n = strspn(p->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
            const char *key = nm_take_format(p->x->arena, "%.*s", (int)n, p->at);
            p->at += n;
            if (*p->at == '(') xacro_fail(p->x, "the function .%s() is not known here", key);
            v = item(p, v, word(key));
        } else {
            break;
        }
    p->x->depth--;
    return v;
}

static struct value power(struct parsing *p);
static struct value sign(struct parsing *p)
{
    bool minus = false;
    for (;;)
        if (taken(p, "-"))
            minus = !minus;
        else if (!taken(p, "+"))
            break;
    struct value v = power(p);
    return minus ? number(-as_number(p, v)) : v;
}

static struct value power(struct parsing *p)
{
    struct value v = primary(p);
    return taken(p, "**") ? number(pow(as_number(p, v), as_number(p, sign(p)))) : v;
}

static struct value product(struct parsing *p)
{
    struct value v = sign(p);
    while (!p->x->failed) {
        if (taken(p, "*")) {
            v = number(as_number(p, v) * as_number(p, sign(p)));
        } else if (taken(p, "//")) {
            v = number(floor(as_number(p, v) / as_number(p, sign(p))));
        } else if (taken(p, "/")) {
            v = number(as_number(p, v) / as_number(p, sign(p)));
        } else if (taken(p, "%")) {
            double a = as_number(p, v), b = as_number(p, sign(p));
            v = number(a - b * floor(a / b));
        } else {
            break;
        }
    }
    return v;
}

static struct value sum(struct parsing *p)
{
    struct value v = product(p);
    while (!p->x->failed) {
        if (taken(p, "+")) {
            struct value w = product(p);
            v = v.text || w.text || v.tree || w.tree
                    ? word(nm_take_format(p->x->arena, "%s%s", text_of(p->x, v), text_of(p->x, w)))
                    : number(v.number + w.number);
        } else if (taken(p, "-")) {
            v = number(as_number(p, v) - as_number(p, product(p)));
        } else {
            break;
        }
    }
    return v;
}

static int compared(struct value a, struct value b)
{
    if (a.text && b.text) return strcmp(a.text, b.text);
    if (a.text || b.text || a.tree || b.tree) return 1;
    return a.number < b.number ? -1 : a.number > b.number;
}

static bool is_in(struct parsing *p, struct value v, struct value among)
{
    if (!among.tree) return strstr(text_of(p->x, among), text_of(p->x, v)) != NULL;
    nm_yaml_each(child, among.tree) if (!compared(v, child->key ? word(child->key) : value_in(child))) return true;
    return false;
}

static struct value comparison(struct parsing *p)
{
    struct value v = sum(p);
    bool no = taken(p, "not");
    if (taken(p, "in")) return number(is_in(p, v, sum(p)) != no);
    if (no) return xacro_fail(p->x, "'in' is missing after 'not'"), number(0);
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (int i = 0; i < 6; i++) {
        if (!taken(p, signs[i])) continue;
        int c = compared(v, sum(p));
        const bool is[] = {c == 0, c != 0, c <= 0, c >= 0, c<0, c> 0};
        return number(is[i]);
    }
    return v;
}

static struct value negation(struct parsing *p)
{
    bool no = false;
    while (taken(p, "not")) no = !no;
    struct value v = comparison(p);
    return no ? number(!truth(v)) : v;
}

static struct value expression(struct parsing *p)
{
    struct value v = negation(p);
    for (;;)
        if (p->x->failed) {
            return number(0);
        } else if (taken(p, "and")) {
            struct value w = negation(p);
            v = truth(v) ? w : v;
        } else if (taken(p, "or")) {
            struct value w = negation(p);
            v = truth(v) ? v : w;
        } else if (taken(p, "if")) {
            bool yes = truth(negation(p));
            if (!taken(p, "else")) return xacro_fail(p->x, "'else' is missing after 'if'"), number(0);
            struct value w = expression(p);
            return yes ? v : w;
        } else {
            return v;
        }
}

/* ---- substitution ---- */

static bool is_folder(const char *path)
{
    struct stat info;
    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

static const char *absolute(struct xacro *x, const char *path)
{
    char *real = realpath(path, NULL);
    const char *kept = real ? nm_take_text(x->arena, real) : path;
    free(real);
    return kept;
}

static const char *find_package(struct xacro *x, const char *name)
{
    enum { HIGHEST = 6 };
    const char *folder = absolute(x, xacro_folder(x, x->at->file)), *paths = getenv("ROS_PACKAGE_PATH");
    for (int up = 0; up < HIGHEST && x->reads; up++, folder = xacro_folder(x, folder)) {
        const char *here = nm_take_format(x->arena, "%s/%s", folder, name), *own = strrchr(folder, '/');
        if (is_folder(here)) return here;
        if (own && !strcmp(own + 1, name)) return folder;
    }
    while (paths && *paths && x->reads) {
        size_t n = strcspn(paths, ":");
        const char *here = nm_take_format(x->arena, "%.*s/%s", (int)n, paths, name);
        if (is_folder(here)) return here;
        paths += n + (paths[n] == ':');
    }
    xacro_fail(x, "$(find %.60s): there is no such folder above this file, nor in ROS_PACKAGE_PATH", name);
    return "";
}

/* $(find …), $(arg …), $(optenv … default), $(dirname) */
static const char *command(struct xacro *x, struct scope *scope, const char *text)
{
    char verb[16], name[NM_URDF_NAME + 1] = "";
    const char *inner = xacro_evaluate(x, scope, text);
    int rest = 0, n = sscanf(inner, " %15s %128s %n", verb, name, &rest);
    if (n >= 1 && !strcmp(verb, "dirname")) return absolute(x, xacro_folder(x, x->at->file));
    if (n == 2 && !strcmp(verb, "find")) return find_package(x, name);
    if (n == 2 && !strcmp(verb, "optenv")) return inner + (rest ? (size_t)rest : strlen(inner));
    for (struct binding *b = x->args; b && n == 2 && !strcmp(verb, "arg"); b = b->next)
        if (!strcmp(b->name, name)) return b->text;
    if (n == 2 && !strcmp(verb, "arg"))
        xacro_fail(x, "$(arg %s): the file does not give this argument a default", name);
    else
        xacro_fail(x, "$(%.40s) is not understood; $(find …), $(arg …), $(optenv …) and $(dirname) are", inner);
    return "";
}

/* The end of a ${…} or $(…) that begins here: its closing bracket, or NULL. Brackets in quotes do not count. */
static const char *end_of(const char *text)
{
    char open = text[1], close = open == '{' ? '}' : ')', quote = 0;
    int deep = 0;
    for (const char *at = text + 1; *at; at++) {
        if (open == '{' && (quote ? *at == quote : *at == '\'' || *at == '"')) quote = quote ? 0 : *at;
        if (quote) continue;
        deep += (*at == open) - (*at == close);
        if (!deep) return at;
    }
    return NULL;
}

static struct value compute(struct xacro *x, struct scope *scope, const char *from, const char *to)
{
    struct parsing p = {x, scope, nm_take_format(x->arena, "%.*s", (int)(to - from), from)};
    struct value v = expression(&p);
    skip_space(&p);
    if (*p.at) xacro_fail(x, "'%.40s' is not understood in an expression", p.at);
    return v;
}

struct value xacro_value(struct xacro *x, struct scope *scope, const char *text)
{
    const char *end = text[0] == '$' && text[1] == '{' ? end_of(text) : NULL;
    if (!end || end[1]) return xacro_plain(xacro_evaluate(x, scope, text));
    if (++x->depth > XACRO_NESTED)
        return xacro_fail(x, "values nested deeper than %d: does a property name itself?", XACRO_NESTED), number(0);
    struct value v = compute(x, scope, text + 2, end);
    x->depth--;
    return v.text ? xacro_plain(v.text) : v;
}

const char *xacro_evaluate(struct xacro *x, struct scope *scope, const char *text)
{
    if (!strchr(text, '$')) return text;
    char *made = NULL;
    size_t size = 0;
    if (++x->depth > XACRO_NESTED)
        return xacro_fail(x, "values nested deeper than %d: does a property name itself?", XACRO_NESTED), "";
    FILE *out = nm_memstream(&made, &size);
    while (*text && !x->failed) {
        bool escaped = text[0] == '$' && text[1] == '$' && (text[2] == '{' || text[2] == '(');
        if (escaped || text[0] != '$' || (text[1] != '{' && text[1] != '(')) {
            text += escaped;
            fputc(*text++, out);
            continue;
        }
        const char *end = end_of(text);
        if (!end) {
            xacro_fail(x, "'%c' is missing in %.40s", text[1] == '{' ? '}' : ')', text);
            break;
        }
        if (text[1] == '(')
            fputs(command(x, scope, nm_take_format(x->arena, "%.*s", (int)(end - text - 2), text + 2)), out);
        else
            fputs(text_of(x, compute(x, scope, text + 2, end)), out);
        if (ftell(out) > XACRO_OUTPUT) xacro_fail(x, "a value becomes too long");
        text = end + 1;
    }
    fclose(out);
    x->depth--;
    const char *kept = x->failed ? "" : nm_take_text(x->arena, made);
    free(made);
    return kept;
}
