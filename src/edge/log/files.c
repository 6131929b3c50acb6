/* One file after the other. A file is complete once it has its footer; one that a fault ended is left as it is, and
 * everything up to its last chunk can be read. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "codec/bag_yaml.h"
#include "core/files.h"
#include "edge/log/inside.h"

static const int64_t try_again = 2000000000; /* ns after a fault */

/* Virtual time counts by what is written, so that the same run gives the same bytes. */
static int64_t now_of(const struct tape *tape) { return tape->options.direct ? tape->newest : nm_clock(); }

__attribute__((format(printf, 2, 3))) static void say(struct tape *tape, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (tape->options.said) tape->options.said(tape->options.user, text);
}

/* ---- names ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

static bool exists(const char *path)
{
    struct stat found;
    return !lstat(path, &found);
}

/* A log that is there already stays: the new one is called NAME-2. */
static void choose_name(struct tape *tape)
{
    const char *path = tape->options.path;
    struct nm_arena *arena = &tape->arena;
    tape->folder = !ends_with(path, ".mcap");
    char *bare = nm_take_text(arena, path);
    size_t n = strlen(bare);
    if (!tape->folder) bare[n - 5] = '\0';
    while (tape->folder && n > 1 && bare[n - 1] == '/') bare[--n] = '\0';
    const char *chosen = bare;
    for (uint32_t i = 2; i < FILES; i++) {
        bool taken = tape->folder ? exists(nm_path(arena, chosen, "metadata.yaml"))
                                  : exists(nm_take_format(arena, "%s.mcap", chosen));
        if (!taken) break;
        chosen = nm_take_format(arena, "%s-%u", bare, i);
    }
    const char *slash = strrchr(chosen, '/');
    tape->options.path = chosen;
    tape->stem = tape->folder ? nm_path(arena, chosen, slash ? slash + 1 : chosen) : chosen;
}

static const char *next_path(struct tape *tape)
{
    for (;; tape->next++) {
        const char *path = tape->next || tape->folder
                               ? nm_take_format(&tape->arena, "%s_%u.mcap", tape->stem, tape->next)
                               : nm_take_format(&tape->arena, "%s.mcap", tape->stem);
        if (!exists(path)) return path;
    }
}

/* ---- metadata.yaml ---- */

/* Complete up to the files that are closed; of the open one it tells the name. */
static void write_metadata(struct tape *tape)
{
    struct nm_bag bag = {.version = 5, .storage = "mcap", .start = UINT64_MAX};
    struct nm_bag_topic *topics = calloc(CHANNELS + 1, sizeof *topics);
    struct nm_bag_file *files = calloc(tape->n_files + 1, sizeof *files);
    struct nm_text_out text = {.grows = true};
    uint64_t last = 0;
    if (!topics || !files) abort();
    for (uint32_t i = 0; i < tape->n_files; i++) {
        const struct tape_file *file = &tape->files[i];
        if (!file->path) continue;
        files[bag.n_files++] =
            (struct nm_bag_file){strrchr(file->path, '/') + 1, file->first, file->last - file->first, file->messages};
        bag.messages += file->messages;
        if (file->messages && file->first < bag.start) bag.start = file->first;
        if (file->last > last) last = file->last;
    }
    if (bag.start == UINT64_MAX) bag.start = 0;
    bag.duration = last > bag.start ? last - bag.start : 0;
    for (uint32_t i = 1; i <= CHANNELS; i++) { /* a topic of several makers has several channels */
        const struct tape_topic *from = &tape->topics[i];
        uint32_t at = 0;
        if (!from->topic) continue;
        while (at < bag.n_topics && strcmp(topics[at].name, from->topic)) at++;
        if (at == bag.n_topics)
            topics[bag.n_topics++] = (struct nm_bag_topic){from->topic, from->type, "cdr", from->qos, 0};
        topics[at].messages += from->in_files;
    }
    bag.topics = topics;
    bag.files = files;
    nm_bag_print(&text, &bag);
    char path[4096];
    snprintf(path, sizeof path, "%s/metadata.yaml", tape->options.path);
    nm_file_replace(path, text.text, text.used, NULL); /* the disk's faults show where messages are written */
    free(text.text);
    free(files);
    free(topics);
}

/* ---- a file ---- */

static int to_file(void *user, const void *bytes, size_t n)
{
    struct tape *tape = user;
    const char *at = bytes;
    while (n) {
        ssize_t done = write(tape->fd, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) {
            tape->fault = errno;
            return -1;
        }
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

static bool space_left(const struct tape *tape, int fd)
{
    struct statvfs disk;
    if (!tape->options.floor || fstatvfs(fd, &disk)) return true;
    return (uint64_t)disk.f_bavail * disk.f_frsize > tape->options.floor;
}

/* A message from before this file. Its log time is that of the file, so that a tool does not show hours without
 * anything.
 */
static int repeat(struct tape *tape, const struct nm_mcap_message *message)
{
    struct nm_mcap_message again = *message;
    if ((int64_t)again.log_time < tape->newest) again.log_time = (uint64_t)tape->newest;
    return nm_mcap_write(tape->writer, &again, NULL);
}

/* What a new file repeats of a latched channel. */
static void remember(struct tape_topic *topic, const struct nm_mcap_message *message)
{
    if (topic->n_latched == topic->latch) { /* the oldest one goes */
        free((void *)(uintptr_t)topic->latched[0].data.at);
        memmove(topic->latched, topic->latched + 1, --topic->n_latched * sizeof *topic->latched);
    }
    uint8_t *bytes = malloc(message->data.n + 1);
    if (!bytes) abort();
    if (message->data.n) memcpy(bytes, message->data.at, message->data.n);
    topic->latched[topic->n_latched] = *message;
    topic->latched[topic->n_latched++].data.at = bytes;
}

/* Attachments, metadata, standing and latched messages: each file can be understood by itself. */
static int begin_file(struct tape *tape)
{
    int bad = nm_mcap_start(tape->writer, to_file, tape, NULL);
    for (uint32_t i = 0; i < tape->n_attachments; i++) bad |= nm_mcap_attach(tape->writer, &tape->attachments[i], NULL);
    for (uint32_t i = 0; i < tape->n_metadata; i++) bad |= nm_mcap_describe(tape->writer, &tape->metadata[i], NULL);
    for (uint32_t i = 0; i < tape->n_standing; i++) bad |= repeat(tape, &tape->standing[i]);
    for (uint32_t i = 1; i <= CHANNELS; i++)
        for (uint32_t k = 0; k < tape->topics[i].n_latched; k++) bad |= repeat(tape, &tape->topics[i].latched[k]);
    tape->chunks = tape->synced = 0;
    return bad ? -1 : 0;
}

/* A name of a new file is on the disk when its folder is. */
static void sync_folder_of(const char *path)
{
    struct nm_arena arena = {0};
    int folder = open(nm_folder_of(&arena, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
    nm_arena_free(&arena);
}

static void remove_old(struct tape *tape)
{
    uint32_t there = 0;
    for (uint32_t i = 0; i < tape->n_files; i++) there += tape->files[i].path != NULL;
    for (uint32_t i = 0; i < tape->n_files && tape->options.keep && there > tape->options.keep; i++) {
        if (!tape->files[i].path) continue;
        unlink(tape->files[i].path);
        tape->files[i].path = NULL;
        there--;
    }
    /* the list of an endless box does not grow */
    uint32_t gone = 0;
    while (tape->options.keep && gone + 1 < tape->n_files && !tape->files[gone].path) gone++;
    memmove(tape->files, tape->files + gone, (tape->n_files - gone) * sizeof *tape->files);
    tape->n_files -= gone;
}

/* Opens the next file; -1 with errno. */
static int open_file(struct tape *tape)
{
    if (tape->n_files == FILES) return errno = EMFILE, -1;
    const char *path = next_path(tape);
    struct nm_err ignored = {0};
    if (nm_make_folders(path, &ignored)) return errno = errno ? errno : EIO, -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    if (!space_left(tape, fd)) {
        close(fd);
        unlink(path);
        return errno = ENOSPC, -1;
    }
    tape->fd = fd;
    tape->next++;
    atomic_fetch_add_explicit(&tape->begun, 1, memory_order_relaxed);
    tape->files[tape->n_files++] = (struct tape_file){.path = path};
    tape->opened = tape->flushed = now_of(tape);
    remove_old(tape);
    if (tape->folder) write_metadata(tape); /* syncs the folder too */
    if (!tape->folder && tape->options.sync) sync_folder_of(path);
    return 0;
}

/* What the file holds is now final. */
static void note_file(struct tape *tape, bool complete)
{
    struct nm_mcap_totals totals = nm_mcap_totals(tape->writer);
    struct tape_file *file = &tape->files[tape->n_files - 1];
    file->first = totals.first;
    file->last = totals.last;
    for (uint32_t i = 1; i <= CHANNELS; i++) {
        struct tape_topic *topic = &tape->topics[i];
        if (!topic->topic) continue;
        uint64_t count = nm_mcap_count(tape->writer, (int)i) - (complete ? 0 : topic->pending);
        topic->in_files += count;
        file->messages += count;
    }
    atomic_fetch_add_explicit(&tape->closed_bytes, totals.bytes, memory_order_relaxed);
    atomic_store_explicit(&tape->bytes, 0, memory_order_relaxed);
}

/* The disk did not take it: what was in the open chunk is lost. */
static void give_up(struct tape *tape, int why)
{
    const char *path = tape->n_files ? tape->files[tape->n_files - 1].path : NULL;
    if (tape->fd >= 0) {
        for (uint32_t i = 1; i <= CHANNELS; i++) {
            struct tape_topic *topic = &tape->topics[i];
            atomic_fetch_add_explicit(&topic->dropped, topic->pending, memory_order_relaxed);
            tape->unwritten += topic->pending;
        }
        note_file(tape, false);
        for (uint32_t i = 1; i <= CHANNELS; i++) tape->topics[i].pending = 0;
        if (tape->broken && !tape->chunks) { /* another try that came to nothing leaves nothing */
            unlink(path);
            tape->n_files--;
            tape->next--;
        }
        close(tape->fd);
        tape->fd = -1;
    }
    if (!tape->broken)
        say(tape, "%s: the log stands still: %s; the robot plays on, and logging goes on when it can",
            path ? path : tape->options.path, strerror(why));
    tape->broken = true;
    tape->retry = now_of(tape) + (tape->options.retry ? tape->options.retry : try_again);
}

/* What a disk has and a path has not: it may pass. */
static bool may_pass(int fault) { return fault == ENOSPC || fault == EROFS || fault == EIO || fault == EDQUOT; }

int files_open(struct tape *tape, struct nm_err *err)
{
    choose_name(tape);
    if (!open_file(tape)) return 0;
    if (!may_pass(errno)) return nm_fail(err, "%s: the log cannot be written: %s", tape->options.path, strerror(errno));
    give_up(tape, errno);
    return 0;
}

static int flush(struct tape *tape)
{
    tape->flushed = now_of(tape);
    if (nm_mcap_flush(tape->writer, NULL)) return give_up(tape, tape->fault ? tape->fault : EIO), -1;
    return 0;
}

/* Chunks that were closed go to the disk, if it is time for that. */
static int sync_chunks(struct tape *tape)
{
    int64_t now = now_of(tape);
    if (!tape->options.sync || tape->synced == tape->chunks || now - tape->synced_at < tape->options.sync_every)
        return 0;
    if (fdatasync(tape->fd) && errno != EINVAL) return give_up(tape, errno), -1;
    tape->synced = tape->chunks;
    tape->synced_at = now;
    return 0;
}

/* Behind a write that may have closed a chunk. */
static int settle(struct tape *tape)
{
    struct nm_mcap_totals totals = nm_mcap_totals(tape->writer);
    atomic_store_explicit(&tape->bytes, totals.bytes, memory_order_relaxed);
    if (totals.chunks == tape->chunks) return 0;
    tape->flushed = now_of(tape);
    tape->chunks = totals.chunks;
    if (sync_chunks(tape)) return -1;
    if (!totals.open)
        for (uint32_t i = 1; i <= CHANNELS; i++) tape->topics[i].pending = 0;
    /* a file that somebody removed would be filled for nobody */
    struct stat file;
    if (fstat(tape->fd, &file) || !file.st_nlink) return give_up(tape, ENOENT), -1;
    if (tape->broken)
        say(tape, "%s: the log goes on; %llu messages are missing", tape->files[tape->n_files - 1].path,
            (unsigned long long)tape->unwritten);
    tape->broken = false;
    tape->unwritten = 0;
    if (!space_left(tape, tape->fd)) {
        files_close(tape);
        give_up(tape, ENOSPC);
        return -1;
    }
    return 0;
}

void files_close(struct tape *tape)
{
    if (tape->fd < 0) return;
    int bad = tape->started ? nm_mcap_finish(tape->writer, NULL) : 0;
    if (bad) {
        give_up(tape, tape->fault ? tape->fault : EIO);
        return;
    }
    if (!tape->started) { /* never began: nothing to keep */
        unlink(tape->files[tape->n_files - 1].path);
    } else {
        note_file(tape, true);
        for (uint32_t i = 1; i <= CHANNELS; i++) tape->topics[i].pending = 0;
        if (tape->options.sync) fdatasync(tape->fd);
    }
    close(tape->fd);
    tape->fd = -1;
    if (tape->folder && tape->started) write_metadata(tape);
}

/* Another file, after a rotation or a fault. */
static int go_on(struct tape *tape)
{
    tape->fault = 0;
    if (open_file(tape)) return give_up(tape, errno), -1;
    if (begin_file(tape)) return give_up(tape, tape->fault ? tape->fault : EIO), -1;
    return 0;
}

static bool ready(struct tape *tape)
{
    if (tape->fd >= 0) {
        if (tape->told) return true;
        tape->told = true; /* the first file, now that all is known that goes into its head */
        if (!begin_file(tape)) return true;
        give_up(tape, tape->fault ? tape->fault : EIO);
        return false;
    }
    tape->told = true;
    return now_of(tape) >= tape->retry && !go_on(tape);
}

void files_write(struct tape *tape, const struct nm_mcap_message *message)
{
    struct tape_topic *topic = &tape->topics[message->channel_id];
    if (!ready(tape)) {
        atomic_fetch_add_explicit(&topic->dropped, 1, memory_order_relaxed);
        tape->unwritten++;
        return;
    }
    uint64_t before = nm_mcap_totals(tape->writer).chunks;
    if ((int64_t)message->log_time > tape->newest) tape->newest = (int64_t)message->log_time;
    topic->pending++;
    if (topic->latch) remember(topic, message);
    if (nm_mcap_write(tape->writer, message, NULL)) {
        give_up(tape, tape->fault ? tape->fault : EIO);
        return;
    }
    if (nm_mcap_totals(tape->writer).chunks != before) {
        for (uint32_t i = 1; i <= CHANNELS; i++) tape->topics[i].pending = 0;
        topic->pending = nm_mcap_totals(tape->writer).open ? 1 : 0;
        settle(tape);
    }
}

void files_tend(struct tape *tape)
{
    int64_t now = now_of(tape);
    if (!ready(tape)) return;
    if (now - tape->flushed >= tape->options.flush && nm_mcap_totals(tape->writer).open &&
        (flush(tape) || settle(tape)))
        return;
    if (sync_chunks(tape)) return;
    bool large = tape->options.rotate && nm_mcap_totals(tape->writer).bytes >= tape->options.rotate;
    bool old = tape->options.rotate_after && now - tape->opened >= tape->options.rotate_after;
    if (!large && !old) return;
    files_close(tape);
    if (tape->fd < 0 && !tape->broken) go_on(tape);
}
