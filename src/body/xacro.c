/* The document of a xacro file and its expansion: elements are copied, macros, blocks, conditions and includes are
 * replaced by what they stand for. */
#include "body/xacro.h"

#include <ctype.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"
#include "body/xacro_parts.h"

enum { NODES = 200000, STEPS = 500000, DEPTH = 64, PARAMS = 64 };

/* ---- the document ---- */

struct reading {
    struct xacro *x;
    XML_Parser xml;
    struct node *open[DEPTH + 1];
    uint32_t depth;
    struct node *root;
    const char *file;
};

static void XMLCALL on_start(void *user, const char *name, const char **attributes)
{
    struct reading *r = user;
    struct xacro *x = r->x;
    if (x->failed) return;
    struct node *n = nm_take_n(x->arena, struct node, 1);
    uint32_t count = 0;
    n->file = r->file;
    n->line = (uint32_t)XML_GetCurrentLineNumber(r->xml);
    x->at = n;
    if (x->nodes++ == NODES) return xacro_fail(x, "more than %d elements", NODES);
    if (r->depth == DEPTH) return xacro_fail(x, "elements nested deeper than %d", DEPTH);
    while (attributes[count]) count++;
    n->name = nm_take_text(x->arena, name);
    n->attributes = nm_take_n(x->arena, const char *, count + 1);
    for (uint32_t i = 0; i < count; i++) n->attributes[i] = nm_take_text(x->arena, attributes[i]);
    struct node *parent = r->depth ? r->open[r->depth] : NULL;
    if (parent && parent->last)
        parent->last->next = n;
    else if (parent)
        parent->first = n;
    if (parent) parent->last = n;
    if (!r->root) r->root = n;
    r->open[++r->depth] = n;
}

static void XMLCALL on_end(void *user, const char *name)
{
    struct reading *r = user;
    (void)name;
    if (!r->x->failed && r->depth) r->depth--;
}

static void XMLCALL on_doctype(void *user, const char *name, const char *system, const char *public, int internal)
{
    struct reading *r = user;
    (void)name, (void)system, (void)public, (void)internal;
    xacro_fail(r->x, "a document type is not allowed here");
}

static struct node *read_document(struct xacro *x, const char *file, const char *text, size_t size)
{
    struct reading r = {.x = x, .file = nm_take_text(x->arena, file), .xml = XML_ParserCreate(NULL)};
    struct node here = {.file = r.file};
    if (!r.xml) return xacro_fail(x, "no memory for the XML reader"), NULL;
    XML_SetUserData(r.xml, &r);
    XML_SetElementHandler(r.xml, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(r.xml, on_doctype);
    if (XML_Parse(r.xml, text, (int)size, 1) != XML_STATUS_OK) {
        here.line = (uint32_t)XML_GetCurrentLineNumber(r.xml);
        x->at = &here;
        xacro_fail(x, "%s", XML_ErrorString(XML_GetErrorCode(r.xml)));
        x->at = NULL;
    }
    XML_ParserFree(r.xml);
    return x->failed ? NULL : r.root;
}

static const char *attribute(const struct node *n, const char *name)
{
    for (const char **a = n->attributes; *a; a += 2)
        if (!strcmp(a[0], name)) return a[1];
    return NULL;
}

/* ---- expansion ---- */

static void expand(struct xacro *x, struct scope *scope, const struct node *n);

static void bind(struct xacro *x, struct binding **list, struct binding b)
{
    struct binding *kept = nm_take_n(x->arena, struct binding, 1);
    *kept = b;
    kept->next = *list;
    *list = kept;
}

static void expand_all(struct xacro *x, struct scope *scope, const struct node *first)
{
    for (; first && !x->failed; first = first->next) expand(x, scope, first);
}

static const char *needed(struct xacro *x, const struct node *n, const char *name)
{
    const char *value = attribute(n, name);
    if (!value) xacro_fail(x, "%s has no %s", n->name, name);
    return value ? value : "";
}

/* Text, or a list or a dictionary. */
static void bind_value(struct xacro *x, struct scope *scope, const char *text, struct binding *b)
{
    struct value v = text[0] == '$' && text[1] == '{' ? xacro_value(x, scope, text) : (struct value){0};
    b->tree = v.tree;
    b->text = v.tree ? NULL : xacro_evaluate(x, scope, text);
}

/* Whether an expression names a property: as a word of its own. */
static bool mentions(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = text; n && (at = strstr(at, name)); at++) {
        unsigned char before = at == text ? ' ' : (unsigned char)at[-1], after = (unsigned char)at[n];
        if (!isalnum(before) && before != '_' && !isalnum(after) && after != '_') return true;
    }
    return false;
}

static void on_property(struct xacro *x, struct scope *scope, const struct node *n)
{
    const char *name = xacro_evaluate(x, scope, needed(x, n, "name")), *value = attribute(n, "value"),
               *where = attribute(n, "scope"), *usual = attribute(n, "default");
    struct scope *to = scope;
    if (where && !strcmp(where, "global")) to = &x->global;
    if (where && !strcmp(where, "parent") && scope->outer) to = scope->outer;
    if (usual && xacro_find(scope, name)) return;
    if (!value) value = usual;
    /* what refers to its own old value has its meaning before; a file is read once */
    bool early = value && strchr(value, '$') && (where || mentions(value, name) || mentions(value, "load_yaml"));
    struct binding b = {.name = name, .text = value, .block = value ? NULL : n, .contents = true, .where = scope};
    if (early) bind_value(x, scope, value, &b);
    bind(x, &to->bindings, b);
}

static void on_arg(struct xacro *x, struct scope *scope, const struct node *n)
{
    const char *usual = attribute(n, "default"), *name = needed(x, n, "name");
    for (struct binding *b = x->args; b; b = b->next)
        if (!strcmp(b->name, name)) return; /* the first default counts */
    if (usual)
        bind(x, &x->args, (struct binding){.name = name, .text = xacro_evaluate(x, scope, usual), .where = scope});
}

static void on_macro(struct xacro *x, struct scope *scope, const struct node *n)
{
    const char *name = needed(x, n, "name");
    if (!strncmp(name, "xacro:", 6)) name += 6;
    bind(x, &x->macros, (struct binding){.name = name, .text = attribute(n, "params"), .block = n, .where = scope});
}

static void on_condition(struct xacro *x, struct scope *scope, const struct node *n)
{
    const char *text = xacro_evaluate(x, scope, needed(x, n, "value"));
    struct value v = xacro_plain(text);
    if (v.text) xacro_fail(x, "'%.60s' is neither true nor false", v.text);
    if ((v.number != 0) == !strcmp(n->name, "xacro:if")) expand_all(x, scope, n->first);
}

static void on_block(struct xacro *x, struct scope *scope, const struct node *n)
{
    const char *name = xacro_evaluate(x, scope, needed(x, n, "name"));
    struct binding *b = xacro_find(scope, name);
    if (!b || !b->block) return xacro_fail(x, "there is no block called %.60s", name);
    if (b->contents)
        expand_all(x, b->where, b->block->first);
    else
        expand(x, b->where, b->block);
}

static void on_include(struct xacro *x, struct scope *scope, const struct node *n)
{
    const char *name = xacro_evaluate(x, scope, needed(x, n, "filename")), *path = name;
    size_t size;
    if (attribute(n, "ns")) return xacro_fail(x, "an include with a name space (ns) is not read");
    if (x->failed) return;
    if (!x->reads) return xacro_fail(x, "%.60s: no other files are read here", name);
    if (x->files++ == XACRO_FILES) return xacro_fail(x, "more than %d files: does one include itself?", XACRO_FILES);
    if (*name != '/') path = nm_take_format(x->arena, "%s/%s", xacro_folder(x, x->at->file), name);
    char *text = nm_read_whole(path, NM_URDF_SIZE, &size, x->err);
    if (!text || size > NM_URDF_SIZE) {
        free(text);
        return xacro_fail(x, "%.200s cannot be included", name);
    }
    struct node *root = read_document(x, path, text, size);
    free(text);
    if (root) expand_all(x, scope, root->first);
}

/* One parameter of a macro: name, name:=default, *block or **contents. Moves on; false at the end. */
static bool next_param(struct xacro *x, const char **at, char name[NM_URDF_NAME + 1], const char **usual)
{
    while (isspace((unsigned char)**at)) ++*at;
    if (!**at) return false;
    size_t n = 0;
    *usual = NULL;
    while (**at && !isspace((unsigned char)**at) && **at != '=' && !(**at == ':' && (*at)[1] == '=')) {
        if (n < NM_URDF_NAME) name[n++] = **at;
        ++*at;
    }
    name[n] = '\0';
    if (**at == ':') ++*at;
    if (**at != '=') return true;
    const char *from = ++*at;
    int deep = 0;
    char quote = 0;
    for (; **at && (deep || quote || !isspace((unsigned char)**at)); ++*at) {
        if (quote ? **at == quote : **at == '\'' || **at == '"') quote = quote ? 0 : **at;
        if (!quote) deep += (**at == '{') - (**at == '}');
    }
    bool quoted = *at - from >= 2 && (*from == '\'' || *from == '"') && (*at)[-1] == *from;
    *usual = nm_take_format(x->arena, "%.*s", (int)(*at - from) - 2 * quoted, from + quoted);
    return true;
}

static void call_macro(struct xacro *x, struct scope *scope, const struct node *n, const struct binding *macro)
{
    struct scope *inner = nm_take_n(x->arena, struct scope, 1);
    inner->outer = macro->where;
    const struct node *child = n->first;
    char name[NM_URDF_NAME + 1];
    const char *at = macro->text ? macro->text : "", *usual;
    uint32_t params = 0;
    while (!x->failed && next_param(x, &at, name, &usual)) {
        if (params++ == PARAMS) return xacro_fail(x, "more than %d parameters", PARAMS);
        bool block = name[0] == '*', contents = block && name[1] == '*';
        const char *plain = nm_take_text(x->arena, name + block + contents), *value = attribute(n, plain);
        struct binding b = {.name = plain, .contents = contents, .where = scope};
        if (block) {
            if (!child) return xacro_fail(x, "%s lacks the block %s", n->name, plain);
            b.block = child;
            child = child->next;
        } else if (value) {
            bind_value(x, scope, value, &b);
        } else if (usual && !strncmp(usual, "^", 1)) { /* from around the call, or the default after | */
            struct binding *outer = xacro_find(scope, plain);
            const char *rest = strchr(usual, '|');
            if (!outer && !rest) return xacro_fail(x, "%s lacks the parameter %s", n->name, plain);
            b.tree = outer ? outer->tree : NULL;
            b.text = outer && outer->text ? xacro_evaluate(x, outer->where, outer->text)
                                          : xacro_evaluate(x, scope, rest ? rest + 1 : "");
        } else if (usual) {
            b.text = xacro_evaluate(x, inner, usual);
        } else {
            return xacro_fail(x, "%s lacks the parameter %s", n->name, plain);
        }
        bind(x, &inner->bindings, b);
    }
    if (++x->depth > XACRO_NESTED) return xacro_fail(x, "macros nested deeper than %d", XACRO_NESTED);
    expand_all(x, inner, macro->block->first);
    x->depth--;
}

static void call_named(struct xacro *x, struct scope *scope, const struct node *n, const char *name)
{
    const struct binding *macro = x->macros;
    while (macro && strcmp(macro->name, name)) macro = macro->next;
    if (macro)
        call_macro(x, scope, n, macro);
    else
        xacro_fail(x, "there is no macro called %.60s", name);
}

static void on_call(struct xacro *x, struct scope *scope, const struct node *n)
{
    const char *name = xacro_evaluate(x, scope, needed(x, n, "macro"));
    call_named(x, scope, n, strncmp(name, "xacro:", 6) ? name : name + 6);
}

static void put_text(struct xacro *x, const char *text)
{
    for (; *text; text++) {
        const char *as = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '"' ? "&quot;" : NULL;
        if (as)
            fputs(as, x->out);
        else
            fputc(*text, x->out);
    }
}

static void put(struct xacro *x, struct scope *scope, const struct node *n)
{
    fprintf(x->out, "<%s", n->name);
    for (const char **a = n->attributes; *a && !x->failed; a += 2) {
        if (!strncmp(a[0], "xmlns", 5)) continue;
        fprintf(x->out, " %s=\"", a[0]);
        put_text(x, xacro_evaluate(x, scope, a[1]));
        fputc('"', x->out);
    }
    fputs(n->first ? ">\n" : "/>\n", x->out);
    expand_all(x, scope, n->first);
    if (n->first) fprintf(x->out, "</%s>\n", n->name);
    if (ftell(x->out) > XACRO_OUTPUT) xacro_fail(x, "the URDF becomes larger than %d bytes", XACRO_OUTPUT);
}

static void expand(struct xacro *x, struct scope *scope, const struct node *n)
{
    static const struct {
        const char *name;
        void (*act)(struct xacro *, struct scope *, const struct node *);
    } acts[] = {{"property", on_property},  {"macro", on_macro},     {"if", on_condition}, {"unless", on_condition},
                {"insert_block", on_block}, {"include", on_include}, {"arg", on_arg},      {"call", on_call}};
    const struct node *before = x->at;
    if (x->failed) return;
    x->at = n;
    if (x->steps++ == STEPS) return xacro_fail(x, "more than %d elements come of it", STEPS);
    if (strncmp(n->name, "xacro:", 6)) {
        if (++x->depth > XACRO_NESTED)
            xacro_fail(x, "elements nested deeper than %d", XACRO_NESTED);
        else
            put(x, scope, n);
        x->depth--;
        x->at = before;
        return;
    }
    const char *name = n->name + 6;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (!strcmp(acts[i].name, name)) {
            acts[i].act(x, scope, n);
            x->at = before;
            return;
        }
    call_named(x, scope, n, name);
    x->at = before;
}

bool nm_is_xacro(const char *text, size_t size) { return memmem(text, size, "<xacro:", 7) != NULL; }

char *nm_xacro_expand(struct nm_arena *arena, const char *file, const char *text, size_t size, bool reads,
                      struct nm_err *err)
{
    struct xacro x = {.arena = arena, .err = err, .reads = reads};
    char *made = NULL;
    size_t length = 0;
    struct node *root = size <= NM_URDF_SIZE ? read_document(&x, file, text, size) : NULL;
    if (size > NM_URDF_SIZE) nm_fail(err, "%s: larger than %d bytes", file, NM_URDF_SIZE);
    if (!root) return NULL;
    x.out = nm_memstream(&made, &length);
    expand(&x, &x.global, root);
    fclose(x.out);
    char *kept = x.failed ? NULL : nm_take_text(arena, made);
    free(made);
    return kept;
}
