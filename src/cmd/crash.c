#include "cmd/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WATCHED = 64, LINE = 512 };

static const struct nm_player *_Atomic watched[WATCHED];
static char file[4096]; /* "": none */

static const struct {
    int number;
    const char *name;
} signals[] = {
    {SIGSEGV, "SIGSEGV, a bad address"},   {SIGBUS, "SIGBUS, a bad address"}, {SIGFPE, "SIGFPE, a bad calculation"},
    {SIGILL, "SIGILL, a bad instruction"}, {SIGABRT, "SIGABRT, abort"},
};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

/* ---- a line, made without the C library ---- */

struct line {
    char text[LINE];
    size_t n;
};

static void put(struct line *line, const char *text)
{
    for (; text && *text && line->n < LINE - 1; text++) line->text[line->n++] = *text;
}

static void put_number(struct line *line, uint64_t number)
{
    char digits[24];
    size_t i = sizeof digits;
    digits[--i] = '\0';
    do digits[--i] = (char)('0' + number % 10);
    while (number /= 10);
    put(line, digits + i);
}

static void put_who(struct line *line, const struct nm_stepping *who)
{
    put(line, "instance ");
    put(line, who->instance);
    put(line, " (module ");
    put(line, who->module);
    put(line, ") of cycle ");
    put(line, who->cycle);
    put(line, ", robot ");
    put(line, who->robot);
    put(line, ", in run ");
    put_number(line, who->run);
}

static void write_line(int fd, const struct line *line)
{
    if (write(fd, line->text, line->n) < 0) return; /* there is nobody left to tell */
}

/* ---- who ---- */

/* Calls with everybody who is in a step; true if one of the calls was true. */
static bool each_stepping(bool (*call)(const struct nm_stepping *who, void *user), void *user)
{
    bool any = false;
    for (uint32_t i = 0; i < WATCHED; i++) {
        const struct nm_player *player = atomic_load(&watched[i]);
        struct nm_stepping who;
        for (uint32_t c = 0; player && c < nm_player_lineup(player)->n_cycles; c++)
            if (nm_player_stepping(player, c, &who)) any |= call(&who, user);
    }
    return any;
}

static bool put_own(const struct nm_stepping *who, void *user)
{
    if (!pthread_equal(who->thread, pthread_self())) return false;
    put(user, ", in the step of ");
    put_who(user, who);
    return true;
}

static void on_crash(int number)
{
    struct line line = {0};
    uint32_t which = 0;
    while (which < SIGNALS - 1 && signals[which].number != number) which++;
    put(&line, "nutmeg: crashed (");
    put(&line, signals[which].name);
    put(&line, ")");
    if (!each_stepping(put_own, &line)) put(&line, ", outside the step of any module");
    put(&line, "\n");
    write_line(STDERR_FILENO, &line);
    int fd = *file ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (fd >= 0) {
        write_line(fd, &line);
        fsync(fd);
        close(fd);
    }
    /* the same happens again when this returns, and then takes its usual course */
    sigaction(number, &before[which], NULL);
}

void crash_tell(const char *folder)
{
    struct sigaction action = {.sa_handler = on_crash};
    file[0] = '\0';
    if (folder && strlen(folder) + sizeof "/crash.txt" <= sizeof file)
        snprintf(file, sizeof file, "%s/crash.txt", folder);
    for (uint32_t i = 0; i < SIGNALS; i++) {
        struct sigaction old;
        if (!sigaction(signals[i].number, &action, &old) && old.sa_handler != on_crash) before[i] = old;
    }
}

void crash_watch(const struct nm_player *player)
{
    for (uint32_t i = 0; i < WATCHED; i++) {
        const struct nm_player *none = NULL;
        if (atomic_compare_exchange_strong(&watched[i], &none, player)) return;
    }
}

void crash_forget(const struct nm_player *player)
{
    for (uint32_t i = 0; i < WATCHED; i++)
        if (!player || atomic_load(&watched[i]) == player) atomic_store(&watched[i], NULL);
}

static bool say_busy(const struct nm_stepping *who, void *user)
{
    (void)user;
    struct line line = {0};
    put(&line, "nutmeg: ");
    put_who(&line, who);
    put(&line, ", does not return from its step\n");
    write_line(STDERR_FILENO, &line);
    return true;
}

bool crash_say_busy(void) { return each_stepping(say_busy, NULL); }
