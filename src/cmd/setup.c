#include "cmd/setup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"

/* bounds of the linker section that NM_MODULE fills; NULL in a program without modules */
extern const struct nm_module *const __start_nm_modules[] __attribute__((weak));
extern const struct nm_module *const __stop_nm_modules[] __attribute__((weak));

static bool is_root(const char *folder)
{
    static const char *const needs[] = {"robots", "lineups"}; /* config/ comes with the first value saved */
    char path[PATH_MAX + 16];
    for (uint32_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, needs[i]);
        if (access(path, X_OK)) return false;
    }
    return true;
}

/* Shortens `folder` until it is a root; false when nothing is left. */
static bool upwards(char *folder)
{
    while (*folder) {
        if (is_root(folder)) return true;
        char *slash = strrchr(folder, '/');
        if (!slash) return false;
        *slash = '\0';
    }
    return false;
}

static void find_root(struct setup *setup)
{
    const char *told = getenv("NUTMEG_ROOT");
    if (told && *told) {
        snprintf(setup->root, sizeof setup->root, "%s", told);
        return;
    }
    if (getcwd(setup->root, sizeof setup->root) && upwards(setup->root)) return;
    snprintf(setup->root, sizeof setup->root, "%s", setup->program);
    if (!upwards(setup->root)) snprintf(setup->root, sizeof setup->root, ".");
}

void setup_begin(struct setup *setup)
{
    memset(setup, 0, sizeof *setup);
    nm_registry_init(&setup->registry, &setup->arena, __start_nm_modules, __stop_nm_modules);
    ssize_t n = readlink("/proc/self/exe", setup->program, sizeof setup->program - 1);
    setup->program[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(setup->program, '/');
    if (slash) *slash = '\0';
    find_root(setup);
}

void setup_end(struct setup *setup) { nm_arena_free(&setup->arena); }

int setup_plugins(struct setup *setup, const struct texts *plugins, struct nm_err *err)
{
    int bad = 0;
    for (uint32_t i = 0; i < plugins->n; i++) bad |= !nm_registry_plugin(&setup->registry, plugins->at[i], err);
    return bad ? -1 : 0;
}

static bool is_saved(const char *name)
{
    size_t n = strlen(name), tail = strlen(".saved");
    return n > tail && !strcmp(name + n - tail, ".saved");
}

const char *const *setup_names(struct setup *setup, const char *folder, uint32_t *n)
{
    enum { MOST = 1024 };
    struct nm_arena *arena = &setup->arena;
    const char *home = nm_path(arena, setup->root, folder);
    const char **names = nm_take_n(arena, const char *, MOST);
    uint32_t n_here, n_folders;
    const char *const *here = nm_files_in(arena, home, ".yaml", &n_here);
    const char *const *folders = nm_folders_in(arena, home, &n_folders);
    *n = 0;
    for (uint32_t i = 0; i < n_here && *n < MOST; i++)
        if (!is_saved(here[i])) names[(*n)++] = here[i];
    for (uint32_t f = 0; f < n_folders; f++) {
        uint32_t n_there;
        const char *const *there = nm_files_in(arena, nm_path(arena, home, folders[f]), ".yaml", &n_there);
        for (uint32_t i = 0; i < n_there && *n < MOST; i++)
            if (!is_saved(there[i])) names[(*n)++] = nm_take_format(arena, "%s/%s", folders[f], there[i]);
    }
    return names;
}

const char *setup_robot(struct setup *setup, const char *name, struct nm_err *err)
{
    if (nm_folder_exists(name) || nm_file_exists(name)) return name;
    const char *robots = nm_path(&setup->arena, setup->root, "robots"), *folder = nm_path(&setup->arena, robots, name);
    if (*name && !strchr(name, '/') && nm_folder_exists(folder)) return folder;
    uint32_t n;
    const char *const *names = nm_folders_in(&setup->arena, robots, &n);
    nm_fail(err, "%s: no such folder or file, and no robot of this name in %s%s", name, robots,
            nm_hint(name, names, n).text);
    return NULL;
}

const char *setup_file(struct setup *setup, const char *folder, const char *what, const char *name, struct nm_err *err)
{
    const char *home = nm_path(&setup->arena, setup->root, folder);
    const char *file = nm_take_format(&setup->arena, "%s/%s.yaml", home, name);
    uint32_t n;
    if (nm_file_exists(name)) return name;
    if (nm_lineup_exists(file)) return file;
    const char *const *names = setup_names(setup, folder, &n);
    nm_fail(err, "%s: no such file, and no %s of this name in %s%s", name, what, home, nm_hint(name, names, n).text);
    return NULL;
}

struct nm_lineup_options setup_options(const struct setup *setup, const struct lineup_flags *flags)
{
    return (struct nm_lineup_options){
        .root = setup->root,
        .robot = flags->robot,
        .head = flags->head,
        .body = flags->body,
        .place = flags->place,
        .event = flags->event,
        .n_set = flags->set.n,
        .set = flags->set.at,
    };
}

struct nm_lineup *setup_lineup(struct setup *setup, const char *name, const struct lineup_flags *flags,
                               struct nm_err *err)
{
    struct nm_lineup_options options = setup_options(setup, flags);
    const char *file = setup_file(setup, "lineups", "line-up", name, err);
    return file ? nm_lineup_load(file, &setup->registry, &options, err) : NULL;
}

const struct nm_body *setup_body(struct setup *setup, const struct nm_lineup *lineup, struct nm_err *err)
{
    return nm_body_load(&setup->arena, lineup->robot_folder, err);
}
