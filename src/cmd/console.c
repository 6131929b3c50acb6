#include "cmd/console.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "core/files.h"

const char *ink(FILE *to, enum ink ink)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[33m", "\033[32m"};
    if (!isatty(fileno(to)) || getenv("NO_COLOR")) return "";
    return codes[ink];
}

int terminal_width(FILE *to)
{
    struct winsize size;
    if (!isatty(fileno(to))) return 0;
    if (ioctl(fileno(to), TIOCGWINSZ, &size) || !size.ws_col) return 80;
    return size.ws_col;
}

void clear_line(FILE *to)
{
    if (isatty(fileno(to))) fputs("\r\033[K", to);
}

void clear_screen(FILE *to)
{
    if (isatty(fileno(to))) fputs("\033[H\033[2J", to);
}

void print_escaped(FILE *to, const char *text)
{
    static const char special[] = "&<>\"\\";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#92;"};
    for (; text && *text; text++) {
        const char *found = strchr(special, *text);
        if (found)
            fputs(entities[found - special], to);
        else
            fputc((unsigned char)*text < 0x20 ? ' ' : *text, to);
    }
}

int print_file(const char *file, void (*print)(const void *what, FILE *to), const void *what, struct nm_err *err)
{
    if (file && nm_make_folders(file, err)) return -1;
    FILE *to = file ? fopen(file, "w") : stdout;
    if (!to) return nm_fail(err, "%s: %s", file, strerror(errno));
    print(what, to);
    bool whole = !fflush(to) && !ferror(to);
    int why = errno;
    if (file && fclose(to)) whole = false;
    return whole ? 0 : nm_fail(err, "%s cannot be written: %s", file ? file : "output", strerror(why));
}

void complain(const struct nm_err *err)
{
    if (err->n) fprintf(stderr, "%s%s%s", ink(stderr, INK_RED), err->text, ink(stderr, INK_PLAIN));
}

void table_begin(struct table *table, const char *const *heads)
{
    *table = (struct table){.heads = heads};
    while (heads && heads[table->n_columns]) table->n_columns++;
}

/* Texts of a table come from robots, networks and files: nothing in them steers the terminal (ESC, and the controls of
 * C1 such as U+009B). */
static void disarm(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        if ((*at < ' ' && *at != '\t' && *at != '\n') || *at == 127 || c1) *at = '?';
        if (c1) *++at = '?';
    }
}

void table_row(struct table *table, const char *format, ...)
{
    table->rows = nm_more(table->rows, table->n_rows, &table->room, sizeof *table->rows);
    va_list args;
    va_start(args, format);
    if (vasprintf(&table->rows[table->n_rows], format, args) < 0) abort();
    va_end(args);
    disarm(table->rows[table->n_rows++]);
}

/* Characters, not bytes: continuation bytes of UTF-8 take no room. */
static int width_of(const char *text, size_t n)
{
    int width = 0;
    for (size_t i = 0; i < n; i++) width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static size_t cell_length(const char *cell) { return strcspn(cell, "\t"); }

static void measure(const struct table *table, int width[TABLE_COLUMNS])
{
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++) {
        const char *head = c < table->n_columns ? table->heads[c] : "";
        width[c] = width_of(head, strlen(head)) - (*head == '>');
    }
    for (uint32_t r = 0; r < table->n_rows; r++) {
        const char *cell = table->rows[r];
        for (uint32_t c = 0; c < TABLE_COLUMNS; c++) {
            size_t n = cell_length(cell);
            int w = width_of(cell, n);
            if (w > width[c]) width[c] = w;
            if (!cell[n]) break;
            cell += n + 1;
        }
    }
}

/* One row; columns that are empty in every row take no room, and nothing follows the last letter. */
static void print_row(const struct table *table, const char *row, const int *width, FILE *to)
{
    int owed = 0; /* blanks, written only before a letter */
    for (uint32_t c = 0; c < TABLE_COLUMNS; c++) {
        size_t n = cell_length(row);
        int pad = width[c] - width_of(row, n);
        bool right = c < table->n_columns && table->heads[c][0] == '>';
        if (right) owed += pad;
        if (n) {
            fprintf(to, "%*s%.*s", owed, "", (int)n, row);
            owed = 0;
        }
        if (!right) owed += pad;
        if (width[c]) owed += 2;
        if (!row[n]) break;
        row += n + 1;
    }
    fputc('\n', to);
}

static void print_heads(const struct table *table, const int *width, FILE *to)
{
    char row[1024];
    size_t used = 0;
    for (uint32_t c = 0; c < table->n_columns && used < sizeof row; c++)
        used += (size_t)snprintf(row + used, sizeof row - used, "%s%s", c ? "\t" : "",
                                 table->heads[c] + (table->heads[c][0] == '>'));
    fputs(ink(to, INK_BOLD), to);
    print_row(table, row, width, to);
    fputs(ink(to, INK_PLAIN), to);
}

void table_print(struct table *table, FILE *to)
{
    int width[TABLE_COLUMNS];
    measure(table, width);
    if (table->n_columns) print_heads(table, width, to);
    for (uint32_t r = 0; r < table->n_rows; r++) {
        print_row(table, table->rows[r], width, to);
        free(table->rows[r]);
    }
    free(table->rows);
    table_begin(table, table->heads);
}

const char *duration_text(char to[32], double ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    double size = fabs(ns);
    uint32_t u = 0;
    while (u < 3 && size < units[u].ns) u++;
    if (size < 1)
        snprintf(to, 32, "0");
    else
        snprintf(to, 32, "%.3g %s", ns / units[u].ns, units[u].unit);
    if (size >= 1000e9) snprintf(to, 32, "%.0f s", ns * 1e-9);
    return to;
}

const char *bytes_text(char to[32], double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    uint32_t u = 0;
    while (u < 4 && bytes >= 1000) bytes /= 1000, u++;
    snprintf(to, 32, bytes < 10 && u ? "%.2f %s" : bytes < 100 && u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
    return to;
}
