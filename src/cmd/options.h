/* The command line of a sub-command as a table: one row a flag, with its kind, its target and its line of help. The
 * same table reads the arguments and prints the help, so the two cannot differ.
 *
 *     bool json = false;
 *     double seconds = 20;
 *     const struct flag flags[] = {
 *         SWITCH("json", &json, "one JSON object a line"),
 *         NUMBER("seconds", &seconds, 0, 1e6, "N", "ends after N seconds", .letter = 's'),
 *         {0}};
 *     const struct usage usage = USAGE("nutmeg bench", "[GROUP]", flags, "Measures …");
 *     int code, n = usage_begin(&usage, argc, argv, &code);
 *     if (n < 0) return code;                 what is left stands in argv[1] … argv[n]
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* How every command ends. */
enum {
    EXIT_OK = 0,
    EXIT_FAILED = 1,       /* the work failed, or what was checked or expected does not hold            */
    EXIT_USAGE = 2,        /* it was asked for what does not exist or cannot be; nothing was done       */
    EXIT_INTERRUPTED = 130 /* a signal ended it before its end, as shells have it; nothing half is kept */
};

enum flag_kind {
    FLAG_SWITCH = 1, /* bool *: present or not              */
    FLAG_TEXT,       /* const char **: the last one counts  */
    FLAG_NUMBER,     /* double *: min … max                 */
    FLAG_WHOLE,      /* int64_t *: min … max                */
    FLAG_TIME,       /* double *: s, told as 10m, 90s or 2 (minutes); min … max */
    FLAG_SPEED,      /* double *: relative to real time; 0 is told as max       */
    FLAG_TEXTS,      /* struct texts *: may be repeated     */
    FLAG_MAYBE,      /* const char **: `--x`, `--x 12`, `--x=12`; "" without a number behind it; 0 … max */
};

enum { TEXTS_MAX = 256 };
struct texts {
    uint32_t n;
    const char *at[TEXTS_MAX];
};

struct flag {
    const char *name; /* without the dashes                               */
    char letter;      /* short form, 0 without                            */
    enum flag_kind kind;
    void *target;      /* untouched unless the flag is given               */
    const char *value; /* what the help calls the value, NULL of switches  */
    const char *about; /* one line                                         */
    double min, max;   /* of numbers, also of texts that are numbers, inclusive; both 0: any */
};

#define SWITCH(name_, target_, about_, ...)                                                                            \
    {                                                                                                                  \
        .name = (name_), .kind = FLAG_SWITCH, .target = (bool *){target_}, .about = (about_), __VA_ARGS__              \
    }
#define TEXT(name_, target_, value_, about_, ...)                                                                      \
    {                                                                                                                  \
        .name = (name_), .kind = FLAG_TEXT, .target = (const char **){target_}, .value = (value_), .about = (about_),  \
        __VA_ARGS__                                                                                                    \
    }
#define NUMBER(name_, target_, min_, max_, value_, about_, ...)                                                        \
    {                                                                                                                  \
        .name = (name_), .kind = FLAG_NUMBER, .target = (double *){target_}, .min = (min_), .max = (max_),             \
        .value = (value_), .about = (about_), __VA_ARGS__                                                              \
    }
#define WHOLE(name_, target_, min_, max_, value_, about_, ...)                                                         \
    {                                                                                                                  \
        .name = (name_), .kind = FLAG_WHOLE, .target = (int64_t *){target_}, .min = (min_), .max = (max_),             \
        .value = (value_), .about = (about_), __VA_ARGS__                                                              \
    }
#define TIME(name_, target_, min_, max_, about_, ...)                                                                  \
    {                                                                                                                  \
        .name = (name_), .kind = FLAG_TIME, .target = (double *){target_}, .min = (min_), .max = (max_),               \
        .value = "TIME", .about = (about_), __VA_ARGS__                                                                \
    }
#define SPEED(target_, about_)                                                                                         \
    {                                                                                                                  \
        .name = "speed", .kind = FLAG_SPEED, .target = (double *){target_}, .max = 1e6, .value = "X",                  \
        .about = (about_)                                                                                              \
    }
#define TEXTS(name_, target_, value_, about_, ...)                                                                     \
    {                                                                                                                  \
        .name = (name_), .kind = FLAG_TEXTS, .target = (struct texts *){target_}, .value = (value_),                   \
        .about = (about_), __VA_ARGS__                                                                                 \
    }
#define MAYBE(name_, target_, max_, value_, about_, ...)                                                               \
    {                                                                                                                  \
        .name = (name_), .kind = FLAG_MAYBE, .target = (const char **){target_}, .max = (max_), .value = (value_),     \
        .about = (about_), __VA_ARGS__                                                                                 \
    }
enum { PORT_MAX = 65535, DOMAIN_MAX = 232 }; /* the largest port, the largest DDS domain */

struct usage {
    const char *name;         /* "nutmeg msg show"                                                           */
    const char *arguments;    /* what follows it: "TYPE", "[PATTERN]", "LOG…", ""; also says how many there are */
    const struct flag *flags; /* ends with {0}, or NULL                                                      */
    const char *about;        /* lines of prose                                                              */
    int most;                 /* limit for the number of arguments with an ellipsis; 0: none                 */
};
#define USAGE(name_, arguments_, flags_, about_, ...)                                                                  \
    {                                                                                                                  \
        .name = (name_), .arguments = (arguments_), .flags = (flags_), .about = (about_), __VA_ARGS__                  \
    }

/* Fills the targets and moves the other arguments to argv[1] … argv[n]; returns n, -1 with a sentence, or USAGE_HELP.
 * `--x=V`, `--x V`, `-x V`; after `--` nothing is a flag. */
enum { USAGE_HELP = -2 };
int usage_read(const struct usage *usage, int argc, char **argv, struct nm_err *err);
void usage_help(const struct usage *usage, FILE *to);

/* Both for a command: prints help or fault and leaves the exit code; -1 if the command is to end with it. */
int usage_begin(const struct usage *usage, int argc, char **argv, int *code);
/* A fault in the arguments that only the command could see: prints it with the way to the help; returns EXIT_USAGE. */
int usage_wrong(const struct usage *usage, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A word that chooses a function: `nutmeg msg`, `nutmeg msg show`. Rows without a function are not part of this build.
 */
struct verb {
    const char *name;
    const char *about; /* one line, without a full stop */
    int (*run)(int argc, char **argv);
};

/* Calls the verb named by argv[1] with argv + 1. Without one, or with --help: the list. `help VERB …` is
 * `VERB … --help`. Unknown: the nearest name, EXIT_USAGE. The table ends with {0}. */
int verbs_run(const char *program, const char *about, const struct verb *verbs, int argc, char **argv);
