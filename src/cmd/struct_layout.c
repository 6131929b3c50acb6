#include "cmd/struct_layout.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/memory.h"
#include "core/files.h"

enum { FILES_MAX = 512, FILE_MAX = 1 << 20, DEFINITIONS_MAX = 65536 };

struct word { /* one token */
    const char *at;
    uint32_t n;
};

/* A name and the words that define it. */
struct definition {
    struct word name;
    const struct word *words;
    uint32_t n;
    bool counted;
};

struct scan {
    struct nm_arena arena;
    const char *const *folders;
    uint32_t n_folders;
    const char *files[FILES_MAX]; /* already read */
    uint32_t n_files;
    struct definition *definitions;
    uint32_t n;
    struct word self;
};

static bool is(struct word word, const char *text) { return word.n == strlen(text) && !memcmp(word.at, text, word.n); }
static bool same(struct word a, struct word b) { return a.n == b.n && !memcmp(a.at, b.at, a.n); }
static bool is_name(struct word word) { return word.n && (isalpha((unsigned char)*word.at) || *word.at == '_'); }

static void define(struct scan *scan, struct word name, const struct word *words, uint32_t n)
{
    if (scan->n == DEFINITIONS_MAX) return;
    scan->definitions[scan->n++] = (struct definition){.name = name, .words = words, .n = n};
}

/* ---- words ---- */

/* Bytes of the token at `c`; comments and blanks are gone already. */
static uint32_t word_length(const char *c)
{
    uint32_t n = 1;
    if (isalnum((unsigned char)*c) || *c == '_') {
        while (isalnum((unsigned char)c[n]) || c[n] == '_' || (c[n] == '.' && isdigit((unsigned char)*c))) n++;
    } else if (*c == '"' || *c == '\'') {
        while (c[n] && c[n] != *c && c[n] != '\n') n += c[n] == '\\' && c[n + 1] ? 2 : 1;
        if (c[n] == *c) n++;
    }
    return n;
}

static uint32_t split(struct nm_arena *arena, const char *text, size_t size, struct word **words)
{
    uint32_t n = 0;
    *words = nm_take_n(arena, struct word, size + 1);
    for (const char *c = text, *end = text + size; c < end;) {
        if (isspace((unsigned char)*c)) {
            c++;
            continue;
        }
        uint32_t length = word_length(c);
        if (length > (size_t)(end - c)) length = (uint32_t)(end - c);
        (*words)[n++] = (struct word){c, length};
        c += length;
    }
    return n;
}

/* Comments become blanks, continued lines one line; in place. */
static void strip(char *text)
{
    char *to = text;
    for (const char *c = text; *c;) {
        if (c[0] == '/' && c[1] == '*') {
            const char *end = strstr(c + 2, "*/");
            c = end ? end + 2 : c + strlen(c);
            *to++ = ' ';
        } else if (c[0] == '/' && c[1] == '/') {
            c += strcspn(c, "\n");
        } else if (c[0] == '\\' && c[1] == '\n') {
            c += 2;
        } else if (*c == '"' || *c == '\'') {
            uint32_t n = word_length(c);
            memmove(to, c, n);
            to += n;
            c += n;
        } else {
            *to++ = *c++;
        }
    }
    *to = '\0';
}

/* ---- definitions ---- */

static uint32_t matching(const struct word *words, uint32_t n, uint32_t i)
{
    int depth = 0;
    for (; i < n; i++) {
        depth += is(words[i], "{") || is(words[i], "(") || is(words[i], "[");
        depth -= is(words[i], "}") || is(words[i], ")") || is(words[i], "]");
        if (depth <= 0) break;
    }
    return i;
}

static void define_constants(struct scan *scan, const struct word *words, uint32_t n, uint32_t open)
{
    uint32_t end = matching(words, n, open);
    for (uint32_t i = open; i + 1 < end; i++) {
        if (i > open && (is(words[i], "(") || is(words[i], "["))) i = matching(words, n, i);
        bool starts = i == open || is(words[i], ",");
        if (starts && is_name(words[i + 1])) define(scan, words[i + 1], words, n);
    }
}

/* Everything that one declaration, up to its semicolon, defines. */
static void define_declaration(struct scan *scan, const struct word *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bool holds = is(words[i], "struct") || is(words[i], "union"), list = is(words[i], "enum");
        if (!holds && !list) continue;
        uint32_t k = i + 1;
        if (k < n && is(words[k], "__attribute__")) k = matching(words, n, k + 1) + 1;
        struct word tag = k < n && is_name(words[k]) ? words[k++] : (struct word){0};
        if (k >= n || !is(words[k], "{")) continue;
        if (tag.n) define(scan, tag, words, n);
        if (list) define_constants(scan, words, n, k);
    }
    if (!n || !is(words[0], "typedef")) return;
    struct word last = {0};
    for (uint32_t i = 1; i < n; i++) {
        if (is(words[i], "{") || is(words[i], "(") || is(words[i], "[")) i = matching(words, n, i);
        if (i < n && is_name(words[i])) last = words[i];
    }
    if (last.n) define(scan, last, words, n);
}

/* Cuts the words of a file, without its # lines, into declarations. Bodies of functions define nothing. */
static void define_all(struct scan *scan, const struct word *words, uint32_t n)
{
    uint32_t start = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (is(words[i], "{") && i && is(words[i - 1], ")") && !is(words[start], "typedef")) {
            i = matching(words, n, i);
            start = i + 1;
        } else if (is(words[i], "{") || is(words[i], "(") || is(words[i], "[")) {
            i = matching(words, n, i);
        } else if (is(words[i], ";")) {
            define_declaration(scan, words + start, i - start);
            start = i + 1;
        }
    }
}

static void read_file(struct scan *scan, const char *path);

static void include(struct scan *scan, const char *from, struct word name)
{
    const char *wanted = nm_take_format(&scan->arena, "%.*s", (int)name.n - 2, name.at + 1);
    const char *path = nm_path(&scan->arena, nm_folder_of(&scan->arena, from), wanted);
    for (uint32_t i = 0; i < scan->n_folders && !nm_file_exists(path); i++)
        path = nm_path(&scan->arena, scan->folders[i], wanted);
    if (nm_file_exists(path)) read_file(scan, path);
}

/* A line that begins with #: definitions and headers. */
static void directive(struct scan *scan, const char *path, const char *line, size_t size)
{
    struct word *words;
    uint32_t n = split(&scan->arena, line, size, &words);
    if (n < 3) return;
    if (is(words[1], "include") && words[2].n > 2 && words[2].at[0] == '"') include(scan, path, words[2]);
    if (!is(words[1], "define")) return;
    if (is(words[2], "SELF") && n > 4 && is(words[3], "struct")) scan->self = words[4];
    define(scan, words[2], words + 3, n - 3);
}

static void read_text(struct scan *scan, const char *path, char *text)
{
    strip(text);
    for (char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        size_t blank = strspn(line, " \t");
        if (line[blank] == '#') {
            directive(scan, path, nm_take_format(&scan->arena, "%.*s", (int)(n - blank), line + blank), n - blank);
            memset(line, ' ', n);
        }
        line += n + (line[n] == '\n');
    }
    struct word *words;
    uint32_t n = split(&scan->arena, text, strlen(text), &words);
    define_all(scan, words, n);
}

static void read_file(struct scan *scan, const char *path)
{
    for (uint32_t i = 0; i < scan->n_files; i++)
        if (!strcmp(scan->files[i], path)) return;
    if (scan->n_files == FILES_MAX) return;
    scan->files[scan->n_files++] = path;
    FILE *file = fopen(path, "r");
    struct stat status;
    if (!file) return;
    if (!fstat(fileno(file), &status) && status.st_size >= 0 && status.st_size <= FILE_MAX) {
        char *text = nm_take(&scan->arena, (size_t)status.st_size + 1);
        text[fread(text, 1, (size_t)status.st_size, file)] = '\0';
        read_text(scan, path, text);
    }
    fclose(file);
}

/* ---- the number ---- */

/* FNV-1a, Fowler, Noll, Vo */
static uint64_t mix(uint64_t hash, const char *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

/* `T *x;`: what T is made of is no part of the struct. With a comma before the semicolon another member may be no
 * pointer. */
static bool pointed_at(const struct definition *definition, uint32_t i)
{
    if (i + 1 >= definition->n || !is(definition->words[i + 1], "*")) return false;
    while (++i < definition->n && !is(definition->words[i], ";"))
        if (is(definition->words[i], ",")) return false;
    return true;
}

/* `T x;` and `T x[…]`: x is the name of a member, whatever else has that name. */
static bool is_member(const struct definition *definition, uint32_t i)
{
    if (!i || i + 1 >= definition->n) return false;
    struct word before = definition->words[i - 1], after = definition->words[i + 1];
    bool tag = is(before, "struct") || is(before, "union") || is(before, "enum");
    bool typed = (is_name(before) && !tag) || is(before, "*") || is(before, "}");
    return typed && (is(after, ";") || is(after, "["));
}

static bool defined(const struct scan *scan, struct word name)
{
    for (uint32_t i = 0; i < scan->n; i++)
        if (same(scan->definitions[i].name, name)) return true;
    return false;
}

static uint64_t closure(struct scan *scan)
{
    uint64_t hash = 0xcbf29ce484222325u;
    struct word *queue = nm_take_n(&scan->arena, struct word, scan->n + 2);
    uint32_t head = 0, tail = 0;
    queue[tail++] = scan->self;
    while (head < tail) {
        struct word name = queue[head++];
        for (uint32_t d = 0; d < scan->n; d++) {
            struct definition *definition = &scan->definitions[d];
            if (definition->counted || !same(definition->name, name)) continue;
            definition->counted = true;
            for (uint32_t i = 0; i < definition->n; i++) {
                struct word word = definition->words[i];
                hash = mix(hash, word.at, word.n);
                bool done = !is_name(word) || is_member(definition, i) || pointed_at(definition, i);
                for (uint32_t k = 0; k < tail && !done; k++) done = same(queue[k], word);
                if (!done && defined(scan, word)) queue[tail++] = word;
            }
        }
    }
    return hash ? hash : 1;
}

static uint64_t finish(struct scan *scan)
{
    uint64_t layout = scan->self.n ? closure(scan) : 0;
    nm_arena_free(&scan->arena);
    free(scan);
    return layout;
}

static struct scan *begin(void)
{
    struct scan *scan = nm_calloc(1, sizeof *scan);
    scan->definitions = nm_take_n(&scan->arena, struct definition, DEFINITIONS_MAX);
    return scan;
}

uint64_t layout_of_file(const char *path, const char *const *folders, uint32_t n)
{
    struct scan *scan = begin();
    scan->folders = folders;
    scan->n_folders = n;
    read_file(scan, path);
    return finish(scan);
}

uint64_t layout_of_text(const char *text)
{
    struct scan *scan = begin();
    read_text(scan, "", nm_take_text(&scan->arena, text));
    return finish(scan);
}
