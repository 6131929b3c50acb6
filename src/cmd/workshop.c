#include "cmd/workshop.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/console.h"
#include "core/files.h"
#include "edge/control/client.h"

/* An editor may write a file in several goes: it must have been quiet for so long. */
static const int64_t quiet = 50000000; /* ns */

/* ---- life ---- */

int workshop_begin(struct workshop *shop, const char *root, const char *build, struct nm_err *err)
{
    const char *tmp = getenv("TMPDIR");
    memset(shop, 0, sizeof *shop);
    rebuild_begin(&shop->rebuild, &shop->arena, root, build);
    int n = snprintf(shop->folder, sizeof shop->folder, "%s/nutmeg-dev-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    shop->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (shop->notify < 0) return nm_fail(err, "files cannot be watched for changes: %s", strerror(errno));
    if (n >= (int)sizeof shop->folder || !mkdtemp(shop->folder)) {
        close(shop->notify);
        return nm_fail(err, "%s: the folder to build in cannot be made: %s", shop->folder, strerror(errno));
    }
    return 0;
}

static const char *built_file(struct workshop *shop, const char *module, uint32_t build, const char *suffix)
{
    return nm_take_format(&shop->arena, "%s/%s.%u.%s", shop->folder, module, build, suffix);
}

void workshop_end(struct workshop *shop)
{
    bool ok;
    if (shop->job.pid) rebuild_done(&shop->job, true, &ok);
    static const char *const suffixes[] = {"so", "log"};
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t n;
        const char *const *names =
            nm_files_in(&shop->arena, shop->folder, nm_take_format(&shop->arena, ".%s", suffixes[k]), &n);
        for (uint32_t i = 0; i < n; i++)
            unlink(nm_take_format(&shop->arena, "%s/%s.%s", shop->folder, names[i], suffixes[k]));
    }
    rmdir(shop->folder);
    close(shop->notify);
    nm_arena_free(&shop->arena);
}

/* ---- learning ---- */

/* The file of the program or plug-in that holds a module. The linker knows the program only by the name it was called
 * by. */
static const char *home_of(const struct nm_module *module)
{
    Dl_info here, there;
    bool known = dladdr((void *)(uintptr_t)home_of, &here) && dladdr(module, &there) && there.dli_fname;
    return known && here.dli_fbase != there.dli_fbase ? there.dli_fname : "/proc/self/exe";
}

/* Its source, as a full path; NULL if it is not on this machine. */
static const char *source_of(struct workshop *shop, const struct nm_module *module)
{
    const char *folder = nm_folder_of(&shop->arena, home_of(module));
    const char *const places[] = {module->file, nm_path(&shop->arena, folder, module->file),
                                  nm_path(&shop->arena, shop->rebuild.root, module->file),
                                  nm_path(&shop->arena, shop->rebuild.build, module->file)};
    for (uint32_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *full = realpath(places[i], NULL);
        if (!full) continue;
        const char *path = nm_take_text(&shop->arena, full);
        free(full);
        return path;
    }
    return NULL;
}

static int watch(struct workshop *shop, const char *folder, struct nm_err *err)
{
    for (uint32_t i = 0; i < shop->n_folders; i++)
        if (!strcmp(shop->folders[i], folder)) return 0;
    if (shop->n_folders == WORKSHOP_FOLDERS) return nm_fail(err, "at most %d folders can be watched", WORKSHOP_FOLDERS);
    int id = inotify_add_watch(shop->notify, folder, IN_CLOSE_WRITE | IN_MOVED_TO);
    if (id < 0) return nm_fail(err, "%s: cannot be watched: %s", folder, strerror(errno));
    shop->watches[shop->n_folders] = id;
    shop->folders[shop->n_folders++] = folder;
    return 0;
}

static struct workshop_source *source_named(struct workshop *shop, const char *module)
{
    for (uint32_t i = 0; i < shop->n_sources; i++)
        if (!strcmp(shop->sources[i].module, module)) return &shop->sources[i];
    return NULL;
}

static bool younger(const char *a, const char *b)
{
    struct stat x, y;
    if (stat(a, &x) || stat(b, &y)) return false;
    return x.st_mtim.tv_sec > y.st_mtim.tv_sec ||
           (x.st_mtim.tv_sec == y.st_mtim.tv_sec && x.st_mtim.tv_nsec > y.st_mtim.tv_nsec);
}

static void print_log(const char *path)
{
    char line[1024];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) fputs(line, stdout);
    if (file) fclose(file);
}

/* Finds the files of a module and watches their folders. */
static int learn_files(struct workshop *shop, struct workshop_source *source, struct nm_err *err)
{
    struct rebuild_files *files = &source->files;
    if (rebuild_find(&shop->rebuild, source->path, files, err)) return -1;
    for (uint32_t i = 0; i < files->n_sources; i++)
        if (watch(shop, nm_folder_of(&shop->arena, files->sources[i]), err)) return -1;
    for (uint32_t i = 0; i < files->n_headers; i++)
        if (watch(shop, nm_folder_of(&shop->arena, files->headers[i]), err)) return -1;
    return 0;
}

static bool has_changed(const struct rebuild_files *files, const char *since)
{
    for (uint32_t i = 0; i < files->n_sources; i++)
        if (younger(files->sources[i], since)) return true;
    for (uint32_t i = 0; i < files->n_headers; i++)
        if (younger(files->headers[i], since)) return true;
    return false;
}

/* False with a word to the user where the module cannot be built beside this program. */
static bool may_build(const struct workshop_source *source)
{
    if (!source->files.newer) return true;
    printf(
        "%s%s: not built, because %s is newer than this program, which was built with the old one. Build the program "
        "again and restart it%s\n",
        ink(stdout, INK_YELLOW), source->module, source->files.newer, ink(stdout, INK_PLAIN));
    return false;
}

/* What the line-up shall play for a module: the one linked in, with its layout told, or a fresh build of its files. */
static const struct nm_module *module_to_play(struct workshop *shop, const struct nm_module *module,
                                              const struct workshop_source *source, struct nm_err *err)
{
    if (!has_changed(&source->files, home_of(module)) || !may_build(source)) {
        struct nm_module *told = nm_take_n(&shop->arena, struct nm_module, 1);
        *told = *module;
        told->layout = rebuild_layout(&shop->rebuild, source->path);
        return told;
    }
    bool ok = false;
    printf("%s: the source is newer than the program; building it\n", module->name);
    fflush(stdout);
    const char *plugin = built_file(shop, module->name, shop->builds, "so");
    const char *log = built_file(shop, module->name, shop->builds++, "log");
    if (rebuild_start(&shop->rebuild, &source->files, plugin, log, &shop->job, err)) return NULL;
    rebuild_done(&shop->job, true, &ok);
    if (ok) return nm_plugin_open(plugin, err);
    print_log(log);
    printf("%s does not build; the version inside this program plays until it does\n", module->name);
    return module;
}

int workshop_learn(struct workshop *shop, struct nm_lineup *lineup, struct nm_err *err)
{
    const struct nm_module *playing[WORKSHOP_SOURCES];
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        struct nm_lineup_instance *instance = &lineup->instances[i];
        struct workshop_source *known = source_named(shop, instance->module->name);
        if (!known) {
            if (shop->n_sources == WORKSHOP_SOURCES)
                return nm_fail(err, "at most %d modules can be watched", WORKSHOP_SOURCES);
            known = &shop->sources[shop->n_sources++];
            known->module = instance->module->name;
            known->path = source_of(shop, instance->module);
            if (!known->path) printf("%s: the source %s does not exist here\n", known->module, instance->module->file);
            if (known->path && learn_files(shop, known, err)) return -1;
            const struct nm_module *plays =
                known->path ? module_to_play(shop, instance->module, known, err) : instance->module;
            if (!plays) return -1;
            playing[known - shop->sources] = plays;
        }
        instance->module = playing[known - shop->sources];
    }
    printf("watching the sources of %u modules in %u folders\n", shop->n_sources, shop->n_folders);
    return 0;
}

/* ---- changes ---- */

static void notice(struct workshop *shop, const struct inotify_event *event)
{
    const char *folder = NULL;
    for (uint32_t i = 0; i < shop->n_folders; i++)
        if (shop->watches[i] == event->wd) folder = shop->folders[i];
    if (!folder || !event->len) return;
    const char *path = nm_path(&shop->arena, folder, event->name);
    for (uint32_t i = 0; i < shop->n_sources; i++) {
        struct workshop_source *source = &shop->sources[i];
        bool its = false;
        for (uint32_t k = 0; k < source->files.n_sources && !its; k++) its = !strcmp(source->files.sources[k], path);
        for (uint32_t k = 0; k < source->files.n_headers && !its; k++) its = !strcmp(source->files.headers[k], path);
        if (its) source->changed = nm_clock();
    }
}

static void read_events(struct workshop *shop)
{
    _Alignas(struct inotify_event) char events[4096];
    ssize_t n;
    while ((n = read(shop->notify, events, sizeof events)) > 0)
        for (char *at = events; at < events + n;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)at;
            notice(shop, event);
            at += sizeof *event + event->len;
        }
}

/* ---- swapping ---- */

static void swap_one(struct workshop *shop, struct nm_link *link, const char *instance, const char *plugin,
                     const char *module, int64_t since)
{
    struct nm_err err = {0};
    const struct nm_request request = {.op = NM_CONTROL_SWAP, .instance = instance, .plugin = plugin};
    const struct nm_yaml *answer = nm_link_ask(link, &shop->arena, &request, &err);
    if (!answer) {
        printf("%s%s: not swapped; the old build plays on. %s%s", ink(stdout, INK_YELLOW), instance, err.text,
               ink(stdout, INK_PLAIN));
        return;
    }
    bool same = !strcmp(instance, module);
    printf("%s%s%s%s%s: new build runs after %.2f s, %s%s\n", ink(stdout, INK_GREEN), instance, same ? "" : " (",
           same ? "" : module, same ? "" : ")", (double)(nm_clock() - since) * 1e-9,
           nm_reply_bool(answer, "kept") ? "state kept" : "its state starts again, because its struct changed",
           ink(stdout, INK_PLAIN));
}

/* Through the player's own socket, as anybody would. */
static void swap_in(struct workshop *shop, const struct nm_player *player, const struct workshop_source *source)
{
    const struct nm_lineup *lineup = nm_player_lineup(player);
    struct nm_err err = {0};
    struct nm_link *link = nm_link_open(NULL, nm_player_name(player), &err);
    if (!link) {
        complain(&err);
        return;
    }
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        if (!strcmp(lineup->instances[i].module->name, source->module))
            swap_one(shop, link, lineup->instances[i].name, shop->job.plugin, source->module, source->changed);
    nm_link_close(link);
}

static void begin_work(struct workshop *shop)
{
    struct nm_err err = {0};
    for (uint32_t i = 0; i < shop->n_sources && !shop->job.pid; i++) {
        struct workshop_source *source = &shop->sources[i];
        if (!source->changed || nm_clock() - source->changed < quiet) continue;
        const char *plugin = built_file(shop, source->module, shop->builds, "so");
        const char *log = built_file(shop, source->module, shop->builds++, "log");
        shop->working = i;
        /* which files it has may have changed too */
        if (learn_files(shop, source, &err) || !may_build(source) ||
            rebuild_start(&shop->rebuild, &source->files, plugin, log, &shop->job, &err)) {
            if (err.n) complain(&err);
            source->changed = 0;
        }
    }
}

void workshop_tick(struct workshop *shop, const struct nm_player *player)
{
    bool ok;
    read_events(shop);
    if (!shop->job.pid) {
        begin_work(shop);
    } else if (rebuild_done(&shop->job, false, &ok)) {
        struct workshop_source *source = &shop->sources[shop->working];
        int64_t built = source->changed;
        clear_line(stdout);
        print_log(shop->job.log);
        if (ok)
            swap_in(shop, player, source);
        else
            printf("%s%s does not build; the old one plays on%s\n", ink(stdout, INK_YELLOW), source->module,
                   ink(stdout, INK_PLAIN));
        fflush(stdout);
        /* changed again meanwhile: another round */
        if (source->changed == built) source->changed = 0;
    }
}
