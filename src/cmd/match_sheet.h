/* The picture of a match: the field with the ways of the robots, where the ball was (the warmer the longer), and the
 * shots; below it a row for each goal, from two seconds before. */
#pragma once

#include "sim/scorebook.h"

struct match_sheet;
/* NULL with a sentence. */
struct match_sheet *match_sheet_new(struct nm_err *err);
void match_sheet_free(struct match_sheet *sheet);
void match_sheet_look(struct match_sheet *sheet, struct nm_stage *stage); /* after every step */
/* Now a goal was scored: `text` is written into its row. */
void match_sheet_goal(struct match_sheet *sheet, struct nm_stage *stage, const char *text);
int match_sheet_write(struct match_sheet *sheet, const struct nm_scorebook *book, const char *path, struct nm_err *err);
