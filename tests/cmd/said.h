/* A command as the program runs it, in a folder of the test's own: its exit code, and what it said. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/commands.h"
#include "core/place.h"

static char said[1 << 16]; /* by the last command, both streams */

static inline int run_words(int (*command)(int, char **), int argc, char **argv)
{
    FILE *to = tmpfile();
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    assert_non_null(to);
    fflush(NULL);
    dup2(fileno(to), STDOUT_FILENO);
    dup2(fileno(to), STDERR_FILENO);
    int code = command(argc, argv);
    fflush(NULL);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    rewind(to);
    said[fread(said, 1, sizeof said - 1, to)] = '\0';
    fclose(to);
    return code;
}

/* The words of a line, the command's name first. */
static inline int run_line(int (*command)(int, char **), const char *line)
{
    char text[500], *words[30] = {0}, *rest = text;
    int n = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *word; (word = strsep(&rest, " "));) words[n++] = word;
    return run_words(command, n, words);
}

#define assert_said(part)                                                                                              \
    do {                                                                                                               \
        if (!strstr(said, (part))) fail_msg("'%s' is not in: %s", (part), said);                                       \
    } while (0)

static inline void assert_ends(int (*command)(int, char **), int code, const char *line, const char *part)
{
    int got = run_line(command, line);
    if (got != code) fail_msg("%s ended with %d, not %d: %s", line, got, code, said);
    if (!strstr(said, part)) fail_msg("%s: '%s' is not in: %s", line, part, said);
}

static char folder[512];

static inline int enter_folder(void)
{
    setenv("NO_COLOR", "1", 1);
    setenv("NUTMEG_ROOT", NM_ROOT, 1); /* wherever the build is */
    place_new(folder, sizeof folder);
    return chdir(folder);
}

static inline int leave_folder(void **state)
{
    (void)state;
    int bad = chdir("/");
    place_free(folder);
    return bad;
}
