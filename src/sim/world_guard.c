/* What to do when MuJoCo complains. Its error function waits for a key and ends the program, its warnings go to a file;
 * both hooks are process-wide, so the world that is running is remembered by its thread. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "sim/world_parts.h"

static _Thread_local struct {
    jmp_buf back;
    bool armed;
    char text[120];
} guard;

static void on_error(const char *text)
{
    if (!guard.armed) {
        fprintf(stderr, "nutmeg: MuJoCo: %s\n", text);
        abort();
    }
    snprintf(guard.text, sizeof guard.text, "%s", text);
    guard.armed = false;
    longjmp(guard.back, 1);
}

/* Warnings are counted in the data by kind; world.c reports them from there. */
static void on_warning(const char *text) { (void)text; }

static void install(void)
{
    mju_user_error = on_error;
    mju_user_warning = on_warning;
}

void world_guard_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

int world_guarded(void (*run)(struct nm_world *), struct nm_world *world, char text[120])
{
    if (setjmp(guard.back)) {
        memcpy(text, guard.text, sizeof guard.text);
        return -1;
    }
    guard.armed = true;
    run(world);
    guard.armed = false;
    return 0;
}

static __attribute__((noinline)) mjModel *parse(const mjVFS *vfs, const char *name, char *why, int room)
{
    if (setjmp(guard.back)) {
        snprintf(why, (size_t)room, "%s", guard.text);
        return NULL;
    }
    guard.armed = true;
    mjModel *model = mj_loadXML(name, vfs, why, room);
    guard.armed = false;
    return model;
}

/* MuJoCo's parser keeps global state, so one world is loaded at a time. */
mjModel *world_load(const char *text, struct nm_err *err)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static const char name[] = "world.xml";
    char why[1000] = "no memory";
    size_t size = strlen(text);
    mjModel *model = NULL;
    mjVFS *vfs = nm_malloc(sizeof *vfs);
    pthread_mutex_lock(&one);
    mj_defaultVFS(vfs);
    if (mj_makeEmptyFileVFS(vfs, name, (int)size) == 0) {
        memcpy(vfs->filedata[0], text, size);
        model = parse(vfs, name, why, sizeof why);
    }
    mj_deleteVFS(vfs);
    pthread_mutex_unlock(&one);
    free(vfs);
    if (!model) nm_fail(err, "MuJoCo does not accept the world: %s", why);
    return model;
}

void world_report(struct nm_world *w, int32_t robot, enum nm_incident_kind kind, const char *format, ...)
{
    struct nm_incident *incident = &w->incidents[w->n_incidents++ % NM_INCIDENTS];
    va_list args;
    *incident = (struct nm_incident){.time = w->now, .robot = robot, .kind = kind};
    va_start(args, format);
    vsnprintf(incident->text, sizeof incident->text, format, args);
    va_end(args);
}

uint64_t nm_world_incidents(const struct nm_world *w) { return w->n_incidents; }

const struct nm_incident *nm_world_incident(const struct nm_world *w, uint64_t i)
{
    if (i >= w->n_incidents || i + NM_INCIDENTS < w->n_incidents) return NULL;
    return &w->incidents[i % NM_INCIDENTS];
}
