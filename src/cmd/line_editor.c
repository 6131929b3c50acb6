#include "cmd/line_editor.h"

#include <stdlib.h>
#include <string.h>

void line_begin(struct line_editor *e)
{
    e->line[0] = '\0';
    e->n = e->at = e->n_keys = 0;
    e->shown = e->n_history;
}

void line_insert(struct line_editor *e, const char *text)
{
    size_t more = strlen(text);
    if (more > sizeof e->line - 1 - e->n) return;
    memmove(e->line + e->at + more, e->line + e->at, e->n - e->at + 1);
    memcpy(e->line + e->at, text, more);
    e->n += more;
    e->at += more;
}

/* Removes the bytes from `from` up to `to`; the cursor is there then. */
static void cut(struct line_editor *e, size_t from, size_t to)
{
    memmove(e->line + from, e->line + to, e->n - to + 1);
    e->n -= to - from;
    e->at = from;
}

/* The bytes of a character of UTF-8 stay together. */
static size_t before(const struct line_editor *e)
{
    size_t at = e->at;
    while (at && (e->line[--at] & 0xc0) == 0x80) continue;
    return at;
}

static size_t behind(const struct line_editor *e)
{
    size_t at = e->at;
    while (at < e->n && (e->line[++at] & 0xc0) == 0x80) continue;
    return at;
}

static size_t word_before(const struct line_editor *e)
{
    size_t at = e->at;
    while (at && e->line[at - 1] == ' ') at--;
    while (at && e->line[at - 1] != ' ') at--;
    return at;
}

static void show(struct line_editor *e, uint32_t index)
{
    if (index > e->n_history) return;
    e->shown = index;
    e->n = e->at = 0;
    e->line[0] = '\0';
    if (index < e->n_history) line_insert(e, e->history[index]);
}

void line_remember(struct line_editor *e, const char *line)
{
    if (!*line || (e->n_history && !strcmp(e->history[e->n_history - 1], line))) return;
    if (e->n_history == LINE_HISTORY) {
        free(e->history[0]);
        memmove(e->history, e->history + 1, sizeof *e->history * (LINE_HISTORY - 1));
        e->n_history--;
    }
    if (!(e->history[e->n_history++] = strdup(line))) abort();
}

void line_free(struct line_editor *e)
{
    while (e->n_history) free(e->history[--e->n_history]);
}

/* ---- keys ---- */

#define CONTROL(letter) ((letter)&31)
enum { LEFT = 128, RIGHT, UP, DOWN, HOME, END, REMOVE };

static const struct {
    const char *keys;
    int means;
} sequences[] = {{"[D", LEFT},  {"[C", RIGHT}, {"[A", UP},    {"[B", DOWN}, {"OD", LEFT},
                 {"OC", RIGHT}, {"OA", UP},    {"OB", DOWN},  {"[H", HOME}, {"[F", END},
                 {"OH", HOME},  {"OF", END},   {"[1~", HOME}, {"[4~", END}, {"[3~", REMOVE}};

static void act(struct line_editor *e, int key)
{
    switch (key) {
    case LEFT:
    case CONTROL('B'): e->at = before(e); break;
    case RIGHT:
    case CONTROL('F'): e->at = behind(e); break;
    case UP:
    case CONTROL('P'): show(e, e->shown - 1); break;
    case DOWN:
    case CONTROL('N'): show(e, e->shown + 1); break;
    case HOME:
    case CONTROL('A'): e->at = 0; break;
    case END:
    case CONTROL('E'): e->at = e->n; break;
    case REMOVE:
    case CONTROL('D'): {
        size_t at = e->at;
        cut(e, at, behind(e));
        break;
    }
    case 127:
    case CONTROL('H'): cut(e, before(e), e->at); break;
    case CONTROL('U'): cut(e, 0, e->at); break;
    case CONTROL('K'): cut(e, e->at, e->n); break;
    case CONTROL('W'): cut(e, word_before(e), e->at); break;
    default: break;
    }
}

/* Ends with a letter or '~'; one that nobody knows means nothing. */
static void feed_sequence(struct line_editor *e, char key)
{
    if (e->n_keys < sizeof e->keys) e->keys[e->n_keys++] = key;
    bool first = e->n_keys == 2;
    if (first && (key == '[' || key == 'O')) return;
    if (!first && (key < '@' || key > '~')) return;
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
        if (strlen(sequences[i].keys) == e->n_keys - 1 && !memcmp(sequences[i].keys, e->keys + 1, e->n_keys - 1))
            act(e, sequences[i].means);
    e->n_keys = 0;
}

enum line_event line_feed(struct line_editor *e, char key)
{
    if (e->n_keys) {
        feed_sequence(e, key);
        return LINE_EDITED;
    }
    if (key == '\x1b') {
        e->keys[e->n_keys++] = key;
        return LINE_EDITED;
    }
    if (key == '\r' || key == '\n') return LINE_ENTER;
    if (key == '\t') return LINE_TAB;
    if (key == CONTROL('C')) return LINE_BREAK;
    if (key == CONTROL('D') && !e->n) return LINE_END;
    if ((unsigned char)key >= ' ' && key != 127)
        line_insert(e, (char[]){key, '\0'});
    else
        act(e, key);
    return LINE_EDITED;
}
