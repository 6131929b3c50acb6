#include "cmd/rebuild.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/struct_layout.h"
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
        "-fvisibility=hidden",
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

/* The words before the names of files. */
static int flags_of(struct rebuild *rebuild, const char *source, const char *words[REBUILD_WORDS], struct nm_err *err)
{
    bool exact;
    const struct nm_yaml *entry = find_entry(rebuild, source, &exact);
    const char *given[REBUILD_WORDS];
    int n = 0;
    if (!entry) return plain_words(rebuild, words);
    int n_given =
        rebuild_split(rebuild->arena, entry_text(entry, "command"), given, REBUILD_WORDS - REBUILD_FILES - 16);
    if (n_given < 1) return nm_fail(err, "%s/compile_commands.json: no usable command for %s", rebuild->build, source);
    for (int i = 0; i < n_given; i++) {
        int skip = skips(given[i], entry_text(entry, "file"));
        if (skip)
            i += skip - 1;
        else
            words[n++] = given[i];
    }
    return n;
}

int rebuild_command(struct rebuild *rebuild, const struct rebuild_files *files, const char *plugin, uint64_t layout,
                    const char *words[REBUILD_WORDS], struct nm_err *err)
{
    int n = flags_of(rebuild, files->sources[0], words, err);
    if (n < 0) return -1;
    words[n++] = "-fPIC";
    words[n++] = "-shared";
    words[n++] = "-DNM_PLUGIN";
    words[n++] = nm_take_format(rebuild->arena, "-DNM_LAYOUT=0x%llxu", (unsigned long long)layout);
    words[n++] = "-o";
    words[n++] = plugin;
    for (uint32_t i = 0; i < files->n_sources; i++) words[n++] = files->sources[i];
    words[n] = NULL;
    return 0;
}

/* Where the compiler looks for headers. */
static uint32_t folders_of(struct rebuild *rebuild, const char *source, const char *folders[REBUILD_WORDS])
{
    const char *words[REBUILD_WORDS];
    uint32_t n = 0;
    int n_words = flags_of(rebuild, source, words, NULL);
    for (int i = 0; i < n_words; i++)
        if (!strncmp(words[i], "-I", 2) && words[i][2])
            folders[n++] = nm_path(rebuild->arena, rebuild->build, words[i] + 2);
    return n;
}

uint64_t rebuild_layout(struct rebuild *rebuild, const char *source)
{
    const char *folders[REBUILD_WORDS];
    uint32_t n = folders_of(rebuild, source, folders);
    return layout_of_file(source, folders, n);
}

/* ---- the files of a module ---- */

struct search {
    struct rebuild *rebuild;
    struct rebuild_files *files;
    const char *home; /* what lies in here is the module's own */
    const char *folders[REBUILD_WORDS];
    uint32_t n_folders;
    uint32_t n_seen; /* headers of the program that were looked into */
    const char *seen[512];
    struct stat program;
    struct nm_err *err;
};

static bool is_among(const char *const *list, uint32_t n, const char *path)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(list[i], path)) return true;
    return false;
}

/* The full path of a header that a file includes; NULL if it is nowhere, which the compiler will say. */
static const char *find_header(struct search *s, const char *from, const char *name)
{
    char full[PATH_MAX];
    const char *path = nm_path(s->rebuild->arena, nm_folder_of(s->rebuild->arena, from), name);
    for (uint32_t i = 0; i < s->n_folders && !nm_file_exists(path); i++)
        path = nm_path(s->rebuild->arena, s->folders[i], name);
    return realpath(path, full) ? nm_take_text(s->rebuild->arena, full) : NULL;
}

/* Calls with every header that a file includes with quotes. */
static int each_header(struct search *s, const char *path, int (*call)(struct search *s, const char *header))
{
    char line[1024], name[256];
    int rc = 0;
    FILE *file = fopen(path, "r");
    while (file && !rc && fgets(line, sizeof line, file)) {
        if (sscanf(line, " # include \"%255[^\"]\"", name) != 1) continue;
        const char *header = find_header(s, path, name);
        if (header) rc = call(s, header);
    }
    if (file) fclose(file);
    return rc;
}

static bool is_own(const struct search *s, const char *path)
{
    size_t n = strlen(s->home);
    return !strncmp(path, s->home, n) && path[n] == '/';
}

static int take_header(struct search *s, const char *header)
{
    struct rebuild_files *files = s->files;
    struct stat status;
    if (is_own(s, header)) {
        if (is_among(files->headers, files->n_headers, header)) return 0;
        if (files->n_headers == REBUILD_FILES)
            return nm_fail(s->err, "%s: more than %d headers", files->sources[0], REBUILD_FILES);
        files->headers[files->n_headers++] = header;
    } else {
        if (s->n_seen == sizeof s->seen / sizeof *s->seen || is_among(s->seen, s->n_seen, header)) return 0;
        s->seen[s->n_seen++] = header;
        bool newer = !stat(header, &status) && status.st_mtim.tv_sec > s->program.st_mtim.tv_sec;
        if (newer && !files->newer) files->newer = header;
    }
    return each_header(s, header, take_header);
}

static int take_source(struct search *s, const char *source)
{
    struct rebuild_files *files = s->files;
    if (files->n_sources == REBUILD_FILES)
        return nm_fail(s->err, "%s: more than %d sources", files->sources[0], REBUILD_FILES);
    files->sources[files->n_sources++] = source;
    return each_header(s, source, take_header);
}

static int is_known(struct search *s, const char *header)
{
    return is_among(s->files->headers, s->files->n_headers, header) &&
           !strcmp(nm_folder_of(s->rebuild->arena, header), nm_folder_of(s->rebuild->arena, s->files->sources[0]));
}

static bool holds_module(const char *path)
{
    char line[1024];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file)) found = !strncmp(line, "NM_MODULE(", 10);
    if (file) fclose(file);
    return found;
}

int rebuild_find(struct rebuild *rebuild, const char *source, struct rebuild_files *files, struct nm_err *err)
{
    const char *folder = nm_folder_of(rebuild->arena, source);
    char modules[PATH_MAX];
    struct search s = {.rebuild = rebuild, .files = files, .home = modules, .err = err};
    *files = (struct rebuild_files){0};
    if (!realpath(nm_path(rebuild->arena, rebuild->root, "src/modules"), modules) || !is_own(&s, source))
        s.home = folder;
    if (stat("/proc/self/exe", &s.program)) s.program.st_mtim.tv_sec = INT64_MAX;
    s.n_folders = folders_of(rebuild, source, s.folders);
    if (take_source(&s, source)) return -1;
    uint32_t n, before;
    const char *const *names = nm_files_in(rebuild->arena, folder, ".c", &n);
    do {
        before = files->n_sources;
        for (uint32_t i = 0; i < n; i++) {
            const char *other = nm_take_format(rebuild->arena, "%s/%s.c", folder, names[i]);
            if (!strncmp(names[i], "test_", 5) || is_among(files->sources, files->n_sources, other)) continue;
            if (each_header(&s, other, is_known) && !holds_module(other) && take_source(&s, other)) return -1;
        }
    } while (files->n_sources > before);
    return 0;
}

/* ---- the compiler ---- */

/* After the compiler the look for static variables; both speak into the log. */
static const char both[] = "look=$1 made=$2; shift 2; \"$@\" && { [ ! -x \"$look\" ] || \"$look\" \"$made\"; }";

int rebuild_start(struct rebuild *rebuild, const struct rebuild_files *files, const char *plugin, const char *log,
                  struct rebuild_job *job, struct nm_err *err)
{
    const char *stateless = nm_path(rebuild->arena, rebuild->root, "scripts/stateless");
    const char *words[6 + REBUILD_WORDS] = {"sh", "-c", both, "sh", stateless, plugin};
    posix_spawn_file_actions_t file_actions;
    *job = (struct rebuild_job){.log = log, .plugin = plugin};
    if (rebuild_command(rebuild, files, plugin, rebuild_layout(rebuild, files->sources[0]), words + 6, err)) return -1;
    posix_spawn_file_actions_init(&file_actions);
    posix_spawn_file_actions_addopen(&file_actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&file_actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&file_actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_addchdir_np(&file_actions, rebuild->build);
    int r = posix_spawnp(&job->pid, words[0], &file_actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&file_actions);
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
