#include "cmd/rebuild.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/layout.h"
#include "core/files.h"

extern char **environ;

void rebuild_begin(struct rebuild *rebuild, struct nm_arena *arena, const char *root, const char *build)
{
    const char *path = nm_path(arena, build, "compile_commands.json");
    *rebuild = (struct rebuild){.arena = arena, .root = root, .build = build};
    if (nm_file_exists(path)) rebuild->commands = nm_yaml_read(arena, path, NULL);
}

int rebuild_split(struct nm_arena *arena, const char *command, const char **words, int most)
{
    int n = 0;
    while (*(command += strspn(command, " \t\n"))) {
        char *word = nm_take(arena, strlen(command) + 1), *to = word, quote = 0;
        for (; *command && (quote || !strchr(" \t\n", *command)); command++) {
            if (!quote && (*command == '"' || *command == '\'')) {
                quote = *command;
            } else if (quote && *command == quote) {
                quote = 0;
            } else {
                if (*command == '\\' && quote != '\'' && command[1]) command++;
                *to++ = *command;
            }
        }
        if (n == most) return -1;
        words[n++] = word;
    }
    return n;
}

/* ---- the command ---- */

static const char *entry_text(const struct nm_yaml *entry, const char *key)
{
    const struct nm_yaml *node = nm_yaml_get(entry, key);
    return node ? node->text : "";
}

/* The entry of this source, or of some other module. */
static const struct nm_yaml *find_entry(const struct rebuild *rebuild, const char *source, bool *exact)
{
    const struct nm_yaml *some = NULL;
    *exact = false;
    nm_yaml_each(entry, rebuild->commands)
    {
        if (!strcmp(entry_text(entry, "file"), source)) {
            *exact = true;
            return entry;
        }
        if (strstr(entry_text(entry, "file"), "/src/modules/")) some = entry;
    }
    return some;
}

/* Words of a compile command that a plug-in does not want: the object, the source, what makes warnings fatal
 * (half-written code has some), the list of headers. */
static int skips(const char *word, const char *source)
{
    static const char *const with_value[] = {"-o", "-MF", "-MT", "-MQ"};
    static const char *const alone[] = {"-c", "-MD", "-MMD", "-Werror"};
    for (uint32_t i = 0; i < sizeof with_value / sizeof *with_value; i++)
        if (!strcmp(word, with_value[i])) return 2;
    for (uint32_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (!strcmp(word, alone[i])) return 1;
    return !strcmp(word, source);
}

static int plain_words(struct rebuild *rebuild, const char **words)
{
    const char *cc = getenv("CC");
    const char *const plain[] = {
        cc && *cc ? cc : "cc",
        "-std=gnu17",
        "-O2",
        "-g",
        "-D_GNU_SOURCE",
        "-fno-strict-aliasing",
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
        nm_take_format(rebuild->arena, "-I%s/src", rebuild->root),
        nm_take_format(rebuild->arena, "-I%s/gen", rebuild->build),
    };
    memcpy(words, plain, sizeof plain);
    return sizeof plain / sizeof *plain;
}

int rebuild_command(struct rebuild *rebuild, const char *source, const char *plugin, uint64_t layout,
                    const char *words[REBUILD_WORDS], struct nm_err *err)
{
    bool exact;
    const struct nm_yaml *entry = find_entry(rebuild, source, &exact);
    const char *given[REBUILD_WORDS];
    int n = 0, n_given = 0;
    if (entry) {
        n_given = rebuild_split(rebuild->arena, entry_text(entry, "command"), given, REBUILD_WORDS - 16);
        if (n_given < 1)
            return nm_fail(err, "%s/compile_commands.json: no usable command for %s", rebuild->build, source);
        for (int i = 0; i < n_given; i++) {
            int skip = skips(given[i], entry_text(entry, "file"));
            if (skip)
                i += skip - 1;
            else
                words[n++] = given[i];
        }
    } else {
        n = plain_words(rebuild, words);
    }
    words[n++] = "-fPIC";
    words[n++] = "-shared";
    words[n++] = "-DNM_PLUGIN";
    words[n++] = nm_take_format(rebuild->arena, "-DNM_LAYOUT=0x%llxu", (unsigned long long)layout);
    words[n++] = "-o";
    words[n++] = plugin;
    words[n++] = source;
    words[n] = NULL;
    return 0;
}

uint64_t rebuild_layout(struct rebuild *rebuild, const char *source)
{
    const char *words[REBUILD_WORDS], *folders[REBUILD_WORDS];
    uint32_t n = 0;
    if (rebuild_command(rebuild, source, "x", 0, words, NULL)) return 0;
    for (uint32_t i = 0; words[i]; i++)
        if (!strncmp(words[i], "-I", 2) && words[i][2]) folders[n++] = words[i] + 2;
    return layout_of_file(source, folders, n);
}

/* ---- the compiler ---- */

int rebuild_start(struct rebuild *rebuild, const char *source, const char *plugin, const char *log,
                  struct rebuild_job *job, struct nm_err *err)
{
    const char *words[REBUILD_WORDS];
    posix_spawn_file_actions_t files;
    *job = (struct rebuild_job){.log = log, .plugin = plugin};
    if (rebuild_command(rebuild, source, plugin, rebuild_layout(rebuild, source), words, err)) return -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&files, rebuild->build);
    int r = posix_spawnp(&job->pid, words[0], &files, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&files);
    if (!r) return 0;
    job->pid = 0;
    return nm_fail(err, "%s: cannot be started: %s", words[0], strerror(r));
}

bool rebuild_done(struct rebuild_job *job, bool wait, bool *ok)
{
    int status;
    pid_t ended;
    do ended = waitpid(job->pid, &status, wait ? 0 : WNOHANG);
    while (ended < 0 && errno == EINTR);
    if (!ended) return false;
    *ok = ended == job->pid && WIFEXITED(status) && !WEXITSTATUS(status);
    job->pid = 0;
    return true;
}
