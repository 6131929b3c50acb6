#include "cmd/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/console.h"

enum { NAMES_MAX = 64 };

static const struct flag *flag_named(const struct usage *usage, const char *name, size_t n)
{
    for (const struct flag *f = usage->flags; f && f->name; f++)
        if (strlen(f->name) == n && !memcmp(f->name, name, n)) return f;
    return NULL;
}

static const struct flag *flag_lettered(const struct usage *usage, char letter)
{
    for (const struct flag *f = usage->flags; f && f->name; f++)
        if (f->letter == letter) return f;
    return NULL;
}

static int unknown_flag(const struct usage *usage, const char *word, size_t n, struct nm_err *err)
{
    const char *names[NAMES_MAX] = {"help"};
    uint32_t count = 1;
    for (const struct flag *f = usage->flags; f && f->name && count < NAMES_MAX; f++) names[count++] = f->name;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), word);
    const char *near = nm_nearest(name, names, count);
    for (uint32_t i = 0; n > 3 && i < count; i++) /* one that goes on where the word ends is nearer still */
        if (!strncmp(names[i], name, strlen(name))) near = names[i];
    if (near) return nm_fail(err, "there is no flag --%s; did you mean --%s?", name, near);
    return nm_fail(err, "there is no flag --%s", name);
}

/* The whole text must be a number, and one that the row allows. */
static int read_number(const struct flag *flag, const char *text, struct nm_err *err)
{
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    bool whole = flag->kind == FLAG_WHOLE;
    if (end == text || *end || !isfinite(number) || errno == ERANGE || (whole && number != floor(number)))
        return nm_fail(err, "--%s wants a %snumber, not '%s'", flag->name, whole ? "whole " : "", text);
    bool limited = flag->min != 0 || flag->max != 0;
    if (limited && (number < flag->min || number > flag->max))
        return nm_fail(err, "--%s must be between %g and %g, not %s", flag->name, flag->min, flag->max, text);
    if (fabs(number) > 9e15 && whole) return nm_fail(err, "--%s is too large: %s", flag->name, text);
    if (whole)
        *(int64_t *)flag->target = (int64_t)number;
    else if (flag->kind == FLAG_NUMBER)
        *(double *)flag->target = number;
    return 0;
}

static int read_time(const struct flag *flag, const char *text, struct nm_err *err)
{
    char *end;
    double value = strtod(text, &end);
    if (!*end || !strcmp(end, "m") || !strcmp(end, "min")) value *= 60;
    bool unit = !*end || !strcmp(end, "m") || !strcmp(end, "min") || !strcmp(end, "s");
    if (end == text || !unit || !isfinite(value))
        return nm_fail(err, "--%s wants a time from %gs to %gm such as 10m, 90s or 2 (minutes), not '%s'", flag->name,
                       flag->min, flag->max / 60, text);
    if (value < flag->min || value > flag->max)
        return nm_fail(err, "--%s must be between %gs and %gm (a number without a unit is minutes), not %s", flag->name,
                       flag->min, flag->max / 60, text);
    *(double *)flag->target = value;
    return 0;
}

static int read_speed(const struct flag *flag, const char *text, struct nm_err *err)
{
    char *end;
    bool most = !strcmp(text, "max");
    double value = most ? 0 : strtod(text, &end);
    if (!most && (end == text || *end || !(value > 0) || value > flag->max))
        return nm_fail(err, "--%s wants a number above 0, or max, not '%s'", flag->name, text);
    *(double *)flag->target = value;
    return 0;
}

/* A text that has limits is a number without sign or fraction, and stays a text. */
static int read_text(const struct flag *flag, const char *text, struct nm_err *err)
{
    if (*text && flag->max > 0 && text[strspn(text, "0123456789")])
        return nm_fail(err, "--%s wants a whole number, not '%s'", flag->name, text);
    if (*text && flag->max > 0 && read_number(flag, text, err)) return -1;
    *(const char **)flag->target = text;
    return 0;
}

static int take(const struct flag *flag, const char *text, struct nm_err *err)
{
    switch (flag->kind) {
    case FLAG_SWITCH: *(bool *)flag->target = true; return 0;
    case FLAG_TEXT:
    case FLAG_MAYBE: return read_text(flag, text, err);
    case FLAG_NUMBER:
    case FLAG_WHOLE: return read_number(flag, text, err);
    case FLAG_TIME: return read_time(flag, text, err);
    case FLAG_SPEED: return read_speed(flag, text, err);
    case FLAG_TEXTS: break;
    }
    struct texts *texts = flag->target;
    if (texts->n == TEXTS_MAX) return nm_fail(err, "--%s is given more than %d times", flag->name, TEXTS_MAX);
    texts->at[texts->n++] = text;
    return 0;
}

/* Reads the flag at argv[*i], with its value if it has one. */
static int read_flag(const struct usage *usage, int argc, char **argv, int *i, struct nm_err *err)
{
    const char *word = argv[*i] + 1, *value = NULL;
    const struct flag *flag;
    if (*word == '-') {
        word++;
        size_t n = strcspn(word, "=");
        if (word[n]) value = word + n + 1;
        flag = flag_named(usage, word, n);
        if (!flag) return unknown_flag(usage, word, n, err);
    } else {
        flag = word[1] ? NULL : flag_lettered(usage, *word);
        if (!flag) return nm_fail(err, "there is no flag -%s", word);
    }
    if (flag->kind == FLAG_SWITCH) {
        if (value) return nm_fail(err, "--%s takes no value", flag->name);
    } else if (flag->kind == FLAG_MAYBE && !value) {
        const char *next = *i + 1 < argc ? argv[*i + 1] : "";
        bool number = *next && strspn(next, "0123456789") == strlen(next);
        value = number ? argv[++*i] : "";
    } else if (!value) {
        if (*i + 1 >= argc) return nm_fail(err, "--%s wants a value: --%s %s", flag->name, flag->name, flag->value);
        value = argv[++*i];
    }
    return take(flag, value, err);
}

/* How many arguments a command takes, from the words that its help shows: "LOG", "[FOLDER]", "LOG…", "-o FOLDER". */
static void count_arguments(const struct usage *usage, int *least, int *most)
{
    bool value = false; /* the word belongs to the flag before it */
    *least = *most = 0;
    for (const char *word = usage->arguments; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");
        bool counts = *word != '-' && !value;
        value = *word == '-';
        if (counts) (*most)++;
        if (counts && *word != '[') (*least)++;
        if (memmem(word, n, "…", strlen("…"))) *most = usage->most ? usage->most : INT_MAX;
        word += n;
    }
}

int usage_read(const struct usage *usage, int argc, char **argv, struct nm_err *err)
{
    int n = 0;
    bool flags = true;
    for (int i = 1; i < argc; i++) {
        bool flag = flags && argv[i][0] == '-' && argv[i][1];
        if (flag && !strcmp(argv[i], "--")) {
            flags = false;
        } else if (flag && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
            return USAGE_HELP;
        } else if (flag) {
            if (read_flag(usage, argc, argv, &i, err)) return -1;
        } else {
            argv[++n] = argv[i];
        }
    }
    int least, most;
    count_arguments(usage, &least, &most);
    if (n < least) return nm_fail(err, "an argument is missing: %s %s", usage->name, usage->arguments);
    if (n > most)
        return nm_fail(err, "there is one argument too many, '%s': %s %s", argv[most + 1], usage->name,
                       usage->arguments);
    return n;
}

void usage_help(const struct usage *usage, FILE *to)
{
    fprintf(to, "%s%s%s%s%s%s\n\n%s\n", ink(to, INK_BOLD), usage->name, ink(to, INK_PLAIN),
            *usage->arguments ? " " : "", usage->arguments, usage->flags ? " [flags]" : "", usage->about);
    struct table table;
    table_begin(&table, NULL);
    for (const struct flag *f = usage->flags; f && f->name; f++)
        table_row(&table, "  %s%.1s%s--%s%s%s\t%s", f->letter ? "-" : "", f->letter ? &f->letter : "",
                  f->letter ? ", " : "", f->name, f->value ? " " : "", f->value ? f->value : "", f->about);
    table_row(&table, "  --help\tshows this text");
    fputc('\n', to);
    table_print(&table, to);
}

int usage_wrong(const struct usage *usage, const char *format, ...)
{
    struct nm_err err = {0};
    va_list args;
    va_start(args, format);
    nm_vfail(&err, format, args);
    va_end(args);
    complain(&err);
    fprintf(stderr, "%s --help shows how to use it\n", usage->name);
    return EXIT_USAGE;
}

int usage_begin(const struct usage *usage, int argc, char **argv, int *code)
{
    struct nm_err err = {0};
    int n = usage_read(usage, argc, argv, &err);
    if (n >= 0) return n;
    if (n == USAGE_HELP) {
        usage_help(usage, stdout);
        *code = EXIT_OK;
    } else {
        complain(&err);
        fprintf(stderr, "%s --help shows how to use it\n", usage->name);
        *code = EXIT_USAGE;
    }
    return -1;
}

static void verbs_help(const char *program, const char *about, const struct verb *verbs, FILE *to)
{
    fprintf(to, "%s%s%s COMMAND\n\n%s\n\n", ink(to, INK_BOLD), program, ink(to, INK_PLAIN), about);
    struct table table;
    table_begin(&table, NULL);
    for (const struct verb *v = verbs; v->name; v++)
        if (v->run) table_row(&table, "  %s\t%s", v->name, v->about);
    table_print(&table, to);
    fprintf(to,
            "\n"
            "%s COMMAND --help shows the flags of a command.\n"
            "Exit codes: 0 success, 1 failure, 2 wrong usage or a name that does not exist, 130 interrupted.\n",
            program);
}

static int unknown_verb(const char *program, const struct verb *verbs, const char *word)
{
    const char *names[NAMES_MAX];
    uint32_t n = 0;
    for (const struct verb *v = verbs; v->name && n < NAMES_MAX; v++)
        if (v->run) names[n++] = v->name;
    const char *near = nm_nearest(word, names, n);
    fprintf(stderr, "%s has no command '%s'%s%s%s\n", program, word, near ? "; did you mean '" : "", near ? near : "",
            near ? "'?" : "");
    fprintf(stderr, "%s --help lists them\n", program);
    return EXIT_USAGE;
}

/* `help a b` becomes `a b --help`. */
static int verbs_helped(const char *program, const char *about, const struct verb *verbs, int argc, char **argv)
{
    char help[] = "--help";
    char *words[NAMES_MAX];
    int n = 0;
    words[n++] = argv[0];
    for (int i = 2; i < argc && n < NAMES_MAX - 1; i++) words[n++] = argv[i];
    words[n++] = help;
    return verbs_run(program, about, verbs, n, words);
}

int verbs_run(const char *program, const char *about, const struct verb *verbs, int argc, char **argv)
{
    if (argc < 2) {
        verbs_help(program, about, verbs, stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || (!strcmp(argv[1], "help") && argc == 2)) {
        verbs_help(program, about, verbs, stdout);
        return EXIT_OK;
    }
    if (!strcmp(argv[1], "help")) return verbs_helped(program, about, verbs, argc, argv);
    for (const struct verb *v = verbs; v->name; v++)
        if (v->run && !strcmp(v->name, argv[1])) return v->run(argc - 1, argv + 1);
    return unknown_verb(program, verbs, argv[1]);
}
