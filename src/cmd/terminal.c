#include "cmd/terminal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "core/files.h"

static void draw(const struct line_editor *e, const char *prompt)
{
    printf("\r\x1b[K%s%s\r\x1b[%dC", prompt, e->line, (int)(strlen(prompt) + e->at));
    fflush(stdout);
}

bool terminal_line(struct line_editor *e, const char *prompt, void (*complete)(void *user, struct line_editor *e),
                   void *user)
{
    struct termios was, raw;
    char key;
    enum line_event event = LINE_EDITED;
    tcgetattr(STDIN_FILENO, &was);
    raw = was;
    raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    line_begin(e);
    draw(e, prompt);
    while (event != LINE_ENTER && event != LINE_BREAK && event != LINE_END) {
        if (read(STDIN_FILENO, &key, 1) != 1) event = LINE_END;
        if (event != LINE_END) event = line_feed(e, key);
        if (event == LINE_TAB) complete(user, e);
        draw(e, prompt);
    }
    tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
    putchar('\n');
    if (event == LINE_BREAK) e->line[0] = '\0';
    line_remember(e, e->line);
    return event != LINE_END;
}

bool terminal_word(const struct line_editor *e, char to[LINE_MOST])
{
    size_t from = e->at;
    while (from && e->line[from - 1] != ' ') from--;
    snprintf(to, LINE_MOST, "%.*s", (int)(e->at - from), e->line + from);
    return !from;
}

void terminal_complete(struct line_editor *e, const char *word, const char *const *found, uint32_t n)
{
    const char *slash = strrchr(word, '/'), *tail = slash ? slash + 1 : word;
    char common[LINE_MOST];
    snprintf(common, sizeof common, "%s", n ? found[0] : tail);
    for (uint32_t i = 1; i < n; i++) {
        size_t k = 0;
        while (common[k] && common[k] == found[i][k]) k++;
        common[k] = '\0';
    }
    if (strlen(common) > strlen(tail)) {
        line_insert(e, common + strlen(tail));
        if (n == 1 && common[strlen(common) - 1] != '/') line_insert(e, " ");
    } else if (n > 1) {
        printf("\r\n");
        for (uint32_t i = 0; i < n; i++) printf("%s  ", found[i]);
        printf("\r\n");
    }
}

/* ---- history ---- */

static const char *file_of(const char *name, char to[PATH_MAX])
{
    const char *home = getenv("HOME");
    snprintf(to, PATH_MAX, "%s/.local/state/nutmeg/%s", home ? home : ".", name);
    return to;
}

void terminal_recall(struct line_editor *e, const char *name)
{
    char path[PATH_MAX], line[LINE_MOST];
    FILE *from = fopen(file_of(name, path), "re");
    while (from && fgets(line, sizeof line, from)) {
        line[strcspn(line, "\n")] = '\0';
        line_remember(e, line);
    }
    if (from) fclose(from);
}

void terminal_keep(const struct line_editor *e, const char *name)
{
    char path[PATH_MAX], text[64 << 10] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < e->n_history && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", e->history[i]);
    if (used && used < sizeof text) nm_file_replace(file_of(name, path), text, used, NULL);
}
