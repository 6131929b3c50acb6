/* A folder of a test's own, a log of a line-up in it, and its replay in the same process. */
#pragma once

#include "core/started.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "edge/log/log.h"

static char place[64];

static inline void nap(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static const char *in_place(const char *name)
{
    static char path[8][256];
    static int i;
    snprintf(path[i = (i + 1) % 8], sizeof path[0], "%s/%s", place, name);
    return path[i];
}

static inline int make_place(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/nutmeg-log-XXXXXX");
    if (!mkdtemp(place)) return -1;
    return setenv("XDG_STATE_HOME", place, 1); /* where the key of snapshots is */
}

static inline int clear_place(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command);
}

static inline struct nm_log *open_log(struct started *s, struct nm_log_options options)
{
    struct nm_err err = {0};
    options.revision = "test";
    options.cpu = "test";
    if (!options.snapshots) options.snapshots = 300000000;
    struct nm_log *log = nm_log_new(s->player, &options, &err);
    if (!log) fail_msg("%s", err.text);
    return log;
}

/* `nutmeg replay …` in this process; what it said is in `text`. */
static inline int replay(char *text, size_t size, const char *const *words)
{
    char *argv[16], *own[16]; /* a command moves its arguments about */
    int argc = 0;
    for (own[argc++] = strdup("replay"); *words; words++) own[argc++] = strdup(*words);
    own[argc] = NULL;
    memcpy(argv, own, sizeof argv);
    fflush(stdout);
    int keep = dup(STDOUT_FILENO), file = open(in_place("said"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    int code = cmd_replay(argc, argv);
    fflush(stdout);
    dup2(keep, STDOUT_FILENO);
    close(keep);
    ssize_t n = pread(file, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(file);
    for (int i = 0; i < argc; i++) free(own[i]);
    return code;
}
#define REPLAY(text, ...) replay(text, sizeof text, (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT(code, ...)                                                                                              \
    do {                                                                                                               \
        int got = REPLAY(text, __VA_ARGS__);                                                                           \
        if (got != (code)) fail_msg("ended with %d: %s", got, text);                                                   \
    } while (0)

/* The log is of this program, though it says otherwise, so that a line about the revision is all that may be said. */
static inline void assert_identical(const char *text)
{
    if (!strstr(text, "all identical") || strstr(text, "lost") || strstr(text, "missing") || strstr(text, "dropped") ||
        strstr(text, "not in the log"))
        fail_msg("%s", text);
}
