/* Files that viewers see: logs, read over HTTP in ranges of bytes, and views, the arrangements of the debugger's page,
 * which lie as views/NAME.json beside the line-up's file. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/yaml.h"
#include "core/files.h"
#include "edge/live/live_inside.h"
#include "nutmeg_msgs/View.h"

static const char log_suffix[] = ".mcap";
enum { LOG_LIST = 256 << 10 }; /* bytes; a list that is longer ends, so that nobody waits for it */

/* ---- logs ---- */

static int open_plain(const char *folder, const char *path, struct stat *about)
{
    char file[PATH_MAX];
    if (file_below(folder, path, file, sizeof file, NULL)) return -1;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && !fstat(fd, about) && S_ISREG(about->st_mode)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

int log_open(struct nm_live *live, const char *path, size_t *size)
{
    struct stat about;
    size_t n = strlen(path), k = sizeof log_suffix - 1;
    if (!live->options.logs || n <= k || strcmp(path + n - k, log_suffix)) return -1;
    int fd = open_plain(live->options.logs, path, &about);
    if (fd >= 0) *size = (size_t)about.st_size;
    return fd;
}

/* Logs of a folder and of the folders in it, down to three levels, as `--log` makes them. */
static void list_folder(struct nm_live *live, struct nm_arena *arena, const char *below, int levels,
                        struct nm_json *json)
{
    uint32_t n, folders;
    const char *folder = nm_path(arena, live->options.logs, below);
    const char *const *names = nm_files_in(arena, folder, log_suffix, &n);
    for (uint32_t i = 0; i < n && json->n < LOG_LIST; i++) {
        struct stat about;
        const char *name = nm_take_format(arena, "%s%s%s", below, names[i], log_suffix);
        int fd = open_plain(live->options.logs, name, &about);
        if (fd < 0) continue;
        close(fd);
        nm_json_open(json, NULL, '{');
        nm_json_text(json, "name", name);
        nm_json_whole(json, "bytes", about.st_size);
        nm_json_whole(json, "time", about.st_mtime);
        nm_json_close(json, '}');
    }
    const char *const *inside = levels ? nm_folders_in(arena, folder, &folders) : NULL;
    for (uint32_t i = 0; inside && i < folders && json->n < LOG_LIST; i++)
        list_folder(live, arena, nm_take_format(arena, "%s%s/", below, inside[i]), levels - 1, json);
}

void logs_list(struct nm_live *live, struct nm_json *json)
{
    struct nm_arena arena = {0};
    nm_json_open(json, NULL, '{');
    nm_json_open(json, "logs", '[');
    if (live->options.logs) list_folder(live, &arena, "", 2, json);
    nm_json_close(json, ']');
    nm_json_close(json, '}');
    nm_arena_free(&arena);
}

/* ---- views ---- */

static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return *name && !name[strspn(name, letters)];
}

static int load(const char *file, View_Response *reply, struct nm_err *err)
{
    FILE *from = fopen(file, "re");
    if (!from) return nm_fail(err, "there is no such view");
    size_t n = fread(reply->text, 1, sizeof reply->text, from);
    bool whole = n < sizeof reply->text && !ferror(from);
    fclose(from);
    reply->text[whole ? n : 0] = '\0';
    return whole ? 0 : nm_fail(err, "this view cannot be read");
}

/* A folder has no more views than a list names, so that none is out of sight. */
static int save(struct nm_arena *arena, const char *file, const char *text, const View_Response *known,
                struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_parse(arena, "view", text, strlen(text), err);
    uint32_t most = sizeof known->names.at / sizeof *known->names.at;
    if (!node) return -1;
    if (*text != '{') return nm_fail(err, "a view is a JSON object");
    if (known->names.n == most && access(file, F_OK)) return nm_fail(err, "there are %u views: delete one first", most);
    return nm_file_replace(file, text, strlen(text), err);
}

static void list(struct nm_arena *arena, const char *folder, View_Response *reply)
{
    uint32_t n;
    const char *const *names = nm_files_in(arena, folder, ".json", &n);
    reply->names.n = 0;
    for (uint32_t i = 0; i < n && reply->names.n < sizeof reply->names.at / sizeof *reply->names.at; i++)
        if (is_name(names[i]) && strlen(names[i]) < sizeof *reply->names.at)
            nm_text(reply->names.at[reply->names.n++], "%s", names[i]);
}

static void answer_view(void *user, const void *from, void *to)
{
    const struct nm_live *live = user;
    const View_Request *request = from;
    View_Response *reply = to;
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    const char *folder = nm_path(&arena, nm_folder_of(&arena, live->lineup->file), "views");
    const char *file = nm_take_format(&arena, "%s/%s.json", folder, request->name);
    list(&arena, folder, reply);
    if (request->command > View_Request_DELETE)
        nm_fail(&err, "there is no command %u", request->command);
    else if (request->command != View_Request_LIST && !is_name(request->name))
        nm_fail(&err, "a view's name has letters, digits, '-' and '_'");
    else if (request->command == View_Request_LOAD)
        load(file, reply, &err);
    else if (request->command == View_Request_SAVE)
        save(&arena, file, request->text, reply, &err);
    else if (request->command == View_Request_DELETE && unlink(file))
        nm_fail(&err, "there is no such view");
    list(&arena, folder, reply);
    reply->success = !err.n;
    nm_text(reply->message, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    nm_arena_free(&arena);
}

void views_serve(struct nm_live *live)
{
    nm_desk_add(&live->desk, (struct nm_desk_service){.name = "nutmeg/view",
                                                      .request = &View_Request_type,
                                                      .reply = &View_Response_type,
                                                      .right = NM_DESK_WORLD,
                                                      .answer = answer_view,
                                                      .user = live});
}
