/* One line of a terminal, edited: arrow keys, history, completion with Tab. It is fed with the bytes of the keyboard
 * and draws nothing itself, so that tests can type. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_MOST = 1024, LINE_HISTORY = 200 };

struct line_editor {
    char line[LINE_MOST];
    size_t n, at; /* bytes; the cursor stands before line[at] */
    char *history[LINE_HISTORY];
    uint32_t n_history, shown; /* shown == n_history: the new line */
    char keys[8];              /* of an escape sequence so far     */
    size_t n_keys;
};

enum line_event {
    LINE_EDITED,
    LINE_ENTER, /* the line is done; line_begin starts the next one */
    LINE_TAB,   /* somebody wants it to be completed                */
    LINE_BREAK, /* Ctrl-C: the line is given up                     */
    LINE_END,   /* Ctrl-D in an empty line                          */
};

void line_begin(struct line_editor *e);
enum line_event line_feed(struct line_editor *e, char key);
void line_insert(struct line_editor *e, const char *text);   /* at the cursor; what does not fit is left out */
void line_remember(struct line_editor *e, const char *line); /* puts it into the history, unless it is the newest */
void line_free(struct line_editor *e);
