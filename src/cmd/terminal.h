/* Lines from a terminal, with a prompt, completion, and a history that outlives the program. */
#pragma once

#include "cmd/line_editor.h"

/* Reads a line into e->line; false: the end. Tab calls `complete`. Between lines the terminal is as it was. */
bool terminal_line(struct line_editor *e, const char *prompt, void (*complete)(void *user, struct line_editor *e),
                   void *user);

/* The word before the cursor, which is to be completed; true: it is the first one of its line. */
bool terminal_word(const struct line_editor *e, char to[LINE_MOST]);
/* Adds what all candidates for the last part of the path `word` have in common; if that is nothing, they are listed. */
void terminal_complete(struct line_editor *e, const char *word, const char *const *found, uint32_t n);

/* Lines of earlier runs, in a file of this name among the user's files. */
void terminal_recall(struct line_editor *e, const char *name);
void terminal_keep(const struct line_editor *e, const char *name);
