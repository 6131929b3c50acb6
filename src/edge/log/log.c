#include "edge/log/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "codec/jpeg.h"
#include "core/files.h"
#include "edge/log/collect.h"

static const int64_t look_every = 20000000; /* ns                                              */
/* ns. A crash costs an open chunk; a loss of power also what was not forced to the disk, and the time which that takes.
 */
static const int64_t chunk_age = 400000000;
static const int64_t box_chunk_age = 250000000;
static const int64_t box_sync = 1000000000; /* less often than the log: this one is written always */
static const int64_t box_file = 5000000000; /* ns of a file of the black box                       */
enum {
    BOX_FILES = 8,   /* seven whole ones are more than half a minute, and one is open */
    BOXES = 4,       /* boxes of earlier runs that are kept                           */
    ROOM = 32 << 20, /* bytes that wait for the disk                                  */
    BOX_ROOM = 8 << 20,
};

const char *const nm_log_images_names[NM_LOG_IMAGES] = {"jpeg", "raw", "thumbnails", "none"};

/* The box of the run before is what somebody may want to see after a crash: NAME becomes NAME.1, and so on. */
static void keep_boxes(struct nm_log *log, const char *box)
{
    struct nm_arena *arena = &log->arena;
    if (!nm_folder_exists(box)) return;
    const char *oldest = nm_take_format(arena, "%s.%d", box, BOXES - 1);
    uint32_t n;
    const char *const *names = nm_files_in(arena, oldest, "", &n);
    for (uint32_t i = 0; i < n; i++) remove(nm_path(arena, oldest, names[i]));
    remove(oldest);
    for (int i = BOXES - 1; i > 0; i--) {
        const char *from = i > 1 ? nm_take_format(arena, "%s.%d", box, i - 1) : box;
        rename(from, nm_take_format(arena, "%s.%d", box, i));
    }
}

static int open_tapes(struct nm_log *log, struct nm_err *err)
{
    const struct nm_log_options *o = &log->options;
    log->images[0] = o->images;
    log->images[1] = o->images == NM_LOG_NO_IMAGES ? NM_LOG_NO_IMAGES : NM_LOG_THUMBNAILS;
    if (o->path) {
        log->tapes[0] = tape_new(&(struct tape_options){.path = o->path,
                                                        .packing = o->packing,
                                                        .rotate = o->rotate,
                                                        .floor = o->floor,
                                                        .flush = chunk_age,
                                                        .sync = !o->virtual_time,
                                                        .room = ROOM,
                                                        .direct = o->virtual_time,
                                                        .said = o->said,
                                                        .user = o->user},
                                 err);
        if (!log->tapes[0]) return -1;
    }
    if (!o->box) return 0;
    keep_boxes(log, o->box);
    log->tapes[1] = tape_new(&(struct tape_options){.path = o->box,
                                                    .packing = NM_MCAP_LZ4,
                                                    .rotate_after = box_file,
                                                    .keep = BOX_FILES,
                                                    .floor = o->floor,
                                                    .flush = box_chunk_age,
                                                    .sync = !o->virtual_time,
                                                    .sync_every = box_sync,
                                                    .room = BOX_ROOM,
                                                    .direct = o->virtual_time,
                                                    .said = o->said,
                                                    .user = o->user},
                             err);
    return log->tapes[1] ? 0 : -1;
}

struct nm_log *nm_log_new(struct nm_player *player, const struct nm_log_options *options, struct nm_err *err)
{
    struct nm_log *log = calloc(1, sizeof *log);
    if (!log) abort();
    log->player = player;
    log->lineup = nm_player_lineup(player);
    log->options = *options;
    log->signs = nm_own_key(log->key, true);
    if (!options->virtual_time) log->offset = nm_wall() - nm_clock();
    if (!open_tapes(log, err) && (log->record = nm_record_new(player, err)) && !channels_edge(log, err)) {
        for (int k = 0; k < TAPES; k++)
            if (log->tapes[k]) about_attach(log, log->tapes[k]);
        return log;
    }
    nm_log_free(log);
    return NULL;
}

/* Channels need to know who makes what, which is known when the player has started. */
static int open_channels(struct nm_log *log, struct nm_err *err)
{
    int bad = channels_open(log, err) || notes_open(log, err);
    log->snapped = log->reported = nm_player_now(log->player);
    for (int k = 0; k < TAPES; k++) log->begun += log->tapes[k] ? tape_begun(log->tapes[k]) : 0;
    for (int k = 0; k < TAPES && !bad; k++)
        if (log->tapes[k]) bad = tape_start(log->tapes[k], err);
    log->opened = !bad;
    return bad ? -1 : 0;
}

/* A note goes to the log behind everything that it speaks of: wherever a crash cuts the log, its runs are whole. */
static void look(struct nm_log *log, bool last)
{
    notes_look(log);
    channels_take(log);
    notes_take(log, last);
}

void nm_log_poll(struct nm_log *log)
{
    if (!log->opened && open_channels(log, NULL)) return;
    look(log, false);
}

static void *collect_main(void *user)
{
    struct nm_log *log = user;
    struct timespec nap = {.tv_nsec = look_every};
    tape_step_back("nm-log");
    while (!atomic_load(&log->ending)) {
        look(log, false);
        atomic_store_explicit(&log->cpu, nm_thread_time(), memory_order_relaxed);
        nanosleep(&nap, NULL);
    }
    return NULL;
}

int nm_log_start(struct nm_log *log, struct nm_err *err)
{
    if (open_channels(log, err)) return -1;
    int r = pthread_create(&log->thread, NULL, collect_main, log);
    if (r) return nm_fail(err, "the log gets no thread: %s", strerror(r));
    log->threaded = true;
    return 0;
}

void nm_log_end(struct nm_log *log)
{
    if (log->ended) return;
    log->ended = true;
    atomic_store(&log->ending, true);
    if (log->threaded) pthread_join(log->thread, NULL);
    if (log->opened) look(log, true);
    for (int k = 0; k < TAPES; k++)
        if (log->tapes[k]) tape_end(log->tapes[k]);
}

void nm_log_free(struct nm_log *log)
{
    if (!log) return;
    nm_log_end(log);
    for (int k = 0; k < TAPES; k++) tape_free(log->tapes[k]);
    free(log->bytes);
    free(log->picture);
    nm_arena_free(&log->arena);
    free(log);
}

void nm_log_stats(const struct nm_log *log, struct nm_log_stats *stats)
{
    *stats = (struct nm_log_stats){.messages = atomic_load_explicit(&log->messages, memory_order_relaxed),
                                   .cpu = atomic_load_explicit(&log->cpu, memory_order_relaxed)};
    for (int k = 0; k < TAPES; k++) {
        if (!log->tapes[k]) continue;
        if (!k || !log->tapes[0]) stats->bytes += tape_bytes(log->tapes[k]);
        stats->cpu += tape_cpu(log->tapes[k]);
    }
    int main = log->tapes[0] ? 0 : 1;
    for (uint32_t i = 0; log->opened && i < log->n_channels; i++)
        if (log->channels[i].id[main]) stats->dropped += tape_dropped(log->tapes[main], log->channels[i].id[main]);
    for (uint32_t t = 0; t < log->lineup->n_topics; t++)
        stats->dropped += atomic_load_explicit(&log->lost[t], memory_order_relaxed);
}

const char *nm_log_path(const struct nm_log *log) { return log->tapes[0] ? tape_path(log->tapes[0]) : NULL; }
