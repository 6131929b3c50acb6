/* libyaml delivers events; a stack as deep as the limit turns them into nodes. Keys are compared for doubles when their
 * map ends, sorted, so that a hostile map costs n log n. */
#include "codec/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/whole.h"

/* a list or map that is still open */
struct level {
    struct nm_yaml *node;
    const struct nm_yaml **tail; /* where the next child goes                */
    const char *key;             /* read, its value is still to come; NULL   */
    yaml_mark_t key_mark;
};

struct builder {
    struct nm_arena *arena;
    struct nm_err *err;
    const char *file;
    uint32_t nodes, depth, documents;
    const struct nm_yaml *root;
    struct level level[NM_YAML_DEPTH];
};

static int fail_at(struct builder *b, size_t line, const char *what)
{
    return nm_fail(b->err, "%s:%zu: %s", b->file, line + 1, what);
}

static int by_key(const void *a, const void *b)
{
    const struct nm_yaml *const *x = a, *const *y = b;
    int order = strcmp((*x)->key, (*y)->key);
    return order ? order : ((*x)->line > (*y)->line) - ((*x)->line < (*y)->line);
}

static int check_doubles(struct builder *b, const struct nm_yaml *map)
{
    const struct nm_yaml *few[64], **sorted = few;
    struct nm_arena scratch = {0};
    if (map->n > sizeof few / sizeof few[0]) sorted = nm_take_n(&scratch, const struct nm_yaml *, map->n);
    uint32_t n = 0;
    int rc = 0;
    nm_yaml_each(child, map) sorted[n++] = child;
    qsort(sorted, n, sizeof *sorted, by_key);
    for (uint32_t i = 1; i < n; i++) {
        if (strcmp(sorted[i - 1]->key, sorted[i]->key)) continue;
        rc = nm_fail(b->err, "%s:%u: key '%.80s' stands twice, first in line %u", b->file, sorted[i]->line,
                     sorted[i]->key, sorted[i - 1]->line);
    }
    nm_arena_free(&scratch);
    return rc;
}

/* Hangs a new node under the innermost open list or map. In a map it stands where its key does. */
static struct nm_yaml *add_node(struct builder *b, enum nm_yaml_kind kind, yaml_mark_t mark)
{
    struct level *top = b->depth ? &b->level[b->depth - 1] : NULL;
    if (top && top->key) mark = top->key_mark;
    struct nm_yaml *node = nm_take_n(b->arena, struct nm_yaml, 1);
    *node = (struct nm_yaml){.kind = kind, .file = b->file, .text = ""};
    node->line = (uint32_t)mark.line + 1;
    node->column = (uint32_t)mark.column + 1;
    if (!top) {
        b->root = node;
        return node;
    }
    node->key = top->key;
    top->key = NULL;
    top->node->n++;
    *top->tail = node;
    top->tail = &node->next;
    return node;
}

static bool expects_key(const struct builder *b)
{
    return b->depth && b->level[b->depth - 1].node->kind == NM_YAML_MAP && !b->level[b->depth - 1].key;
}

static int add_scalar(struct builder *b, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    if (memchr(text, '\0', event->data.scalar.length)) return fail_at(b, event->start_mark.line, "a NUL inside a text");
    if (expects_key(b)) {
        b->level[b->depth - 1].key = nm_take_text(b->arena, text);
        b->level[b->depth - 1].key_mark = event->start_mark;
        return 0;
    }
    struct nm_yaml *node = add_node(b, NM_YAML_SCALAR, event->start_mark);
    node->text = nm_take_text(b->arena, text);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return 0;
}

static int open_level(struct builder *b, enum nm_yaml_kind kind, const yaml_event_t *event)
{
    if (expects_key(b)) return fail_at(b, event->start_mark.line, "a key must be plain text, not a list or map");
    if (b->depth == NM_YAML_DEPTH) return fail_at(b, event->start_mark.line, "nested too deep (32 levels are allowed)");
    struct nm_yaml *node = add_node(b, kind, event->start_mark);
    b->level[b->depth++] = (struct level){.node = node, .tail = &node->first};
    return 0;
}

/* What every node may carry and none of ours does. */
static int check_node(struct builder *b, const yaml_event_t *event, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    size_t line = event->start_mark.line;
    if (anchor) return fail_at(b, line, "anchors (&name) are not allowed; write the value out");
    if (tag) return fail_at(b, line, "tags (!name) are not allowed");
    return ++b->nodes > NM_YAML_NODES ? fail_at(b, line, "too many values (200000 are allowed)") : 0;
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
    size_t line = event->start_mark.line;
    switch (event->type) {
    case YAML_ALIAS_EVENT: return fail_at(b, line, "aliases (*name) are not allowed; write the value out");
    case YAML_DOCUMENT_START_EVENT:
        return b->documents++ ? fail_at(b, line, "a second document (---) in one file is not allowed") : 0;
    case YAML_SCALAR_EVENT:
        if (check_node(b, event, event->data.scalar.anchor, event->data.scalar.tag)) return -1;
        return add_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        if (check_node(b, event, event->data.sequence_start.anchor, event->data.sequence_start.tag)) return -1;
        return open_level(b, NM_YAML_LIST, event);
    case YAML_MAPPING_START_EVENT:
        if (check_node(b, event, event->data.mapping_start.anchor, event->data.mapping_start.tag)) return -1;
        return open_level(b, NM_YAML_MAP, event);
    case YAML_SEQUENCE_END_EVENT: b->depth--; return 0;
    case YAML_MAPPING_END_EVENT: return check_doubles(b, b->level[--b->depth].node);
    default: return 0;
    }
}

/* Faults of libyaml's own, in one line. Faults in the encoding come with an offset instead of a line. */
static int fail_parser(struct builder *b, const yaml_parser_t *parser, const char *text, size_t size)
{
    size_t line = parser->problem_mark.line;
    if (parser->error == YAML_READER_ERROR) {
        line = 0;
        for (size_t i = 0; i < size && i < parser->problem_offset; i++) line += text[i] == '\n';
    }
    return fail_at(b, line, parser->problem ? parser->problem : "not YAML");
}

const struct nm_yaml *nm_yaml_parse(struct nm_arena *arena, const char *file, const char *text, size_t size,
                                    struct nm_err *err)
{
    struct builder b = {.arena = arena, .err = err, .file = nm_take_text(arena, file)};
    if (size > NM_YAML_SIZE) {
        nm_fail(err, "%s:1: %zu bytes are too many (4 MiB are allowed)", file, size);
        return NULL;
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        nm_fail(err, "%s:1: out of memory", file);
        return NULL;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);

    int rc = 0;
    for (bool end = false; !rc && !end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            rc = fail_parser(&b, &parser, text, size);
            break;
        }
        end = event.type == YAML_STREAM_END_EVENT;
        rc = take_event(&b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    if (rc) return NULL;
    if (!b.root) add_node(&b, NM_YAML_MAP, (yaml_mark_t){0});
    return b.root;
}

const struct nm_yaml *nm_yaml_read(struct nm_arena *arena, const char *path, struct nm_err *err)
{
    size_t size;
    char *text = nm_read_whole(path, NM_YAML_SIZE, &size, err);
    const struct nm_yaml *root = text ? nm_yaml_parse(arena, path, text, size, err) : NULL;
    free(text);
    return root;
}

const struct nm_yaml *nm_yaml_get(const struct nm_yaml *map, const char *key)
{
    nm_yaml_each(child, map) if (child->key && !strcmp(child->key, key)) return child;
    return NULL;
}

int nm_yaml_fail(const struct nm_yaml *node, struct nm_err *err, const char *format, ...)
{
    char sentence[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return nm_fail(err, "%s:%u: %s", node->file, node->line, sentence);
}

int nm_yaml_keys(const struct nm_yaml *map, const char *const *names, uint32_t n, struct nm_err *err)
{
    int rc = 0;
    if (map->kind != NM_YAML_MAP) {
        return nm_yaml_fail(map, err, "%s%sa map of keys is needed here", map->key ? map->key : "",
                            map->key ? ": " : "");
    }
    nm_yaml_each(child, map)
    {
        bool known = false;
        for (uint32_t i = 0; i < n && !known; i++) known = !strcmp(child->key, names[i]);
        if (known) continue;
        const char *near = nm_nearest(child->key, names, n);
        rc = near ? nm_yaml_fail(child, err, "unknown key '%.80s', did you mean '%s'?", child->key, near)
                  : nm_yaml_fail(child, err, "unknown key '%.80s'", child->key);
    }
    return rc;
}

/* "file:line: period: '8 parsecs' is no …" */
static int fail_value(const struct nm_yaml *node, struct nm_err *err, const char *wanted)
{
    const char *kinds[] = {[NM_YAML_LIST] = "a list", [NM_YAML_MAP] = "a map"};
    const char *key = node->key ? node->key : "", *colon = node->key ? ": " : "";
    if (node->kind != NM_YAML_SCALAR)
        return nm_yaml_fail(node, err, "%.80s%s%s, where %s is needed", key, colon, kinds[node->kind], wanted);
    return nm_yaml_fail(node, err, "%.80s%s%s%.80s%s is not %s", key, colon, node->quoted ? "\"" : "'", node->text,
                        node->quoted ? "\"" : "'", wanted);
}

static bool plain(const struct nm_yaml *node) { return node->kind == NM_YAML_SCALAR && !node->quoted; }

int nm_yaml_bool(const struct nm_yaml *node, bool *value, struct nm_err *err)
{
    bool yes = !strcmp(node->text, "true");
    if (!plain(node) || (!yes && strcmp(node->text, "false"))) return fail_value(node, err, "true or false");
    *value = yes;
    return 0;
}

/* Digits and nothing else, decimal or behind 0x. False also where they do not fit into 64 bits. */
static bool read_digits(const char *text, uint64_t *value)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = text + (hex ? 2 : 0);
    size_t n = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    if (!n || digits[n]) return false;
    errno = 0;
    *value = strtoull(digits, NULL, hex ? 16 : 10);
    return errno == 0;
}

int nm_yaml_int(const struct nm_yaml *node, int64_t *value, struct nm_err *err)
{
    const char *wanted = "a whole number from -2^63 to 2^63 - 1";
    if (!plain(node)) return fail_value(node, err, wanted);
    bool minus = node->text[0] == '-';
    uint64_t digits;
    if (!read_digits(node->text + (minus || node->text[0] == '+'), &digits) || digits > (uint64_t)INT64_MAX + minus)
        return fail_value(node, err, wanted);
    *value = (int64_t)(minus ? 0 - digits : digits);
    return 0;
}

int nm_yaml_uint(const struct nm_yaml *node, uint64_t *value, struct nm_err *err)
{
    uint64_t digits;
    if (!plain(node) || !read_digits(node->text + (node->text[0] == '+'), &digits))
        return fail_value(node, err, "a whole number from 0 to 2^64 - 1");
    *value = digits;
    return 0;
}

/* Length of a decimal number at the start of the text, 0 if there is none: strtod alone would take 0x1p3, inf and nan.
 */
static size_t number_length(const char *text)
{
    size_t i = text[0] == '-' || text[0] == '+';
    size_t whole = strspn(text + i, "0123456789");
    i += whole;
    size_t fraction = text[i] == '.' ? strspn(text + i + 1, "0123456789") : 0;
    if (text[i] == '.') i += 1 + fraction;
    if (!whole && !fraction) return 0;
    if (text[i] == 'e' || text[i] == 'E') {
        size_t sign = text[i + 1] == '-' || text[i + 1] == '+';
        size_t digits = strspn(text + i + 1 + sign, "0123456789");
        if (digits) i += 1 + sign + digits;
    }
    return i;
}

int nm_yaml_number(const struct nm_yaml *node, double *value, struct nm_err *err)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {{".nan", NAN}, {".inf", INFINITY}, {"+.inf", INFINITY}, {"-.inf", -INFINITY}};
    if (!plain(node)) return fail_value(node, err, "a number");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(node->text, words[i].text)) continue;
        *value = words[i].value;
        return 0;
    }
    size_t length = number_length(node->text);
    double number = length && !node->text[length] ? strtod(node->text, NULL) : INFINITY;
    if (!isfinite(number)) return fail_value(node, err, "a number");
    *value = number;
    return 0;
}

int nm_yaml_duration(const struct nm_yaml *node, int64_t *value, struct nm_err *err)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    const char *wanted = "a duration such as 8 ms, 2 s, 500 us or 1000 ns";
    size_t length = plain(node) ? number_length(node->text) : 0;
    if (!length || node->text[0] == '-') return fail_value(node, err, wanted);

    const char *unit = node->text + length + strspn(node->text + length, " ");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].name)) continue;
        /* 2^62 ns are 146 years; within it whole numbers of a unit stay exact, fractions round to 1 ns */
        long double ns = strtold(node->text, NULL) * (long double)units[i].ns;
        if (!(ns <= 0x1p62L)) break;
        *value = llroundl(ns);
        return 0;
    }
    return fail_value(node, err, wanted);
}

int nm_yaml_text(const struct nm_yaml *node, const char **text, struct nm_err *err)
{
    if (node->kind != NM_YAML_SCALAR) return fail_value(node, err, "a text");
    *text = node->text;
    return 0;
}
