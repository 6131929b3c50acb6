/* What commands print with: ink (only on a terminal), tables, and the sentences of an nm_err. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum ink { INK_PLAIN, INK_BOLD, INK_FAINT, INK_RED, INK_YELLOW, INK_GREEN };
/* The escape sequence, or "" where `to` is no terminal or NO_COLOR is set. */
const char *ink(FILE *to, enum ink ink);
/* Width of the terminal in characters; 0 if it is none. */
int terminal_width(FILE *to);
/* On a terminal the line that the cursor stands in is emptied. */
void clear_line(FILE *to);
/* On a terminal the cursor goes to the top left of an empty screen; elsewhere nothing happens. */
void clear_screen(FILE *to);

/* Prints a text for XML, or for Graphviz, which knows the same entities. NULL prints nothing. */
void print_escaped(FILE *to, const char *text);
/* Writes a whole file by `print`, and its folders; NULL is stdout. -1 with a sentence. */
int print_file(const char *file, void (*print)(const void *what, FILE *to), const void *what, struct nm_err *err);

/* Prints the lines of an error, if there are any, on stderr. */
void complain(const struct nm_err *err);

/* Rows of cells, printed in columns as wide as their widest cell. A head that begins with '>' puts its column to the
 * right; heads NULL: a table without a head. */
enum { TABLE_COLUMNS = 16 };
struct table {
    const char *const *heads; /* ends with NULL      */
    uint32_t n_columns, n_rows, room;
    char **rows; /* cells separated by tabs */
};
void table_begin(struct table *table, const char *const *heads);
/* Cells separated by '\t'. */
void table_row(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints and empties it. */
void table_print(struct table *table, FILE *to);

/* "1.20 ms", "15 us", "never": of ns. */
const char *duration_text(char to[32], double ns);
/* "12.3 MB" */
const char *bytes_text(char to[32], double bytes);
