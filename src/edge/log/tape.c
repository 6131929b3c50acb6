/* The files of a log, and the ring between the caller who puts messages and the thread who writes them.
 *
 * A file is complete once it has its footer. A file that ended in a fault is left as it is, and everything up to its
 * last chunk can be read. The ring has one producer and one consumer and holds whole messages. */
#include "edge/log/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/memory.h"
#include "codec/bag_yaml.h"
#include "core/files.h"

enum { CHANNELS = 1024, FILES = 4096, EXTRAS = 16, STANDING = 256, LATCHED = 16 };

struct tape_topic {
    const char *topic, *type, *qos;
    uint64_t in_files; /* messages in files that are complete */
    uint64_t pending;  /* in the open chunk                   */
    _Atomic uint64_t dropped;
    uint32_t latch, n_latched;       /* messages that every new file repeats: at most, and now */
    struct nm_mcap_message *latched; /* the oldest first, with their own copies of the bytes   */
};

struct tape_file {
    const char *path; /* NULL: removed */
    uint64_t first, last, messages;
};

struct tape {
    struct nm_arena arena;
    struct tape_options options;
    struct nm_mcap_writer *writer;
    bool folder;
    const char *stem; /* path without .mcap, or of the files in the folder */

    uint32_t n_channels, n_attachments, n_metadata, n_standing;
    struct tape_topic topics[CHANNELS + 1]; /* by channel's id */
    struct nm_mcap_attachment attachments[EXTRAS];
    struct nm_mcap_metadata metadata[EXTRAS];
    struct nm_mcap_message standing[STANDING];

    /* the file, used by one thread */
    int fd; /* -1: none */
    int fault;
    uint32_t n_files, next;
    struct tape_file files[FILES];
    uint64_t chunks, synced;        /* of this file: closed, and on the disk */
    int64_t opened, flushed, retry; /* ns                                    */
    int64_t synced_at;              /* ns                                    */
    int64_t newest;                 /* ns, latest log time                   */
    bool broken, told;
    uint64_t unwritten; /* since it broke */
    _Atomic uint64_t bytes, closed_bytes;
    _Atomic uint32_t begun; /* files */

    /* the ring */
    uint8_t *ring;
    _Alignas(64) _Atomic uint64_t head; /* bytes put   */
    _Alignas(64) _Atomic uint64_t tail; /* bytes taken */
    uint8_t *scratch;
    size_t scratch_room;
    pthread_t thread;
    bool threaded, started;
    _Atomic bool ending;
    _Atomic int64_t cpu;
};

static const int64_t try_again = 2000000000; /* ns after a fault */

/* In virtual time the clock is the newest log time, so that the same run gives the same bytes. */
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

static bool exists(const char *path)
{
    struct stat found;
    return !lstat(path, &found);
}

/* An existing log is kept; the new one gets the name NAME-2. */
static void choose_name(struct tape *tape)
{
    const char *path = tape->options.path;
    struct nm_arena *arena = &tape->arena;
    tape->folder = !nm_ends_with(path, ".mcap");
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

/* It describes all closed files, and names the open one. */
static void write_metadata(struct tape *tape)
{
    struct nm_bag bag = {.version = 5, .storage = "mcap", .start = UINT64_MAX};
    struct nm_bag_topic *topics = nm_calloc(CHANNELS + 1, sizeof *topics);
    struct nm_bag_file *files = nm_calloc(tape->n_files + 1, sizeof *files);
    struct nm_text_out text = {.grows = true};
    uint64_t last = 0;
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
    for (uint32_t i = 1; i <= CHANNELS; i++) { /* a topic that several modules publish has several channels */
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
    nm_file_replace(path, text.text, text.used, NULL); /* faults of the disk are noticed where messages are written */
    free(text.text);
    free(files);
    free(topics);
}

/* ---- a file ---- */

static int to_file(void *user, const void *bytes, size_t n)
{
    struct tape *tape = user;
    int bad = nm_write_all(tape->fd, bytes, n);
    if (bad) tape->fault = errno;
    return bad;
}

static bool space_left(const struct tape *tape, int fd)
{
    struct statvfs disk;
    if (!tape->options.floor || fstatvfs(fd, &disk)) return true;
    return (uint64_t)disk.f_bavail * disk.f_frsize > tape->options.floor;
}

/* Repeats a message from before this file. Its log time is that of the file, so that a tool does not show hours without
 * messages.
 */
static int repeat(struct tape *tape, const struct nm_mcap_message *message)
{
    struct nm_mcap_message again = *message;
    if ((int64_t)again.log_time < tape->newest) again.log_time = (uint64_t)tape->newest;
    return nm_mcap_write(tape->writer, &again, NULL);
}

/* Keeps a message of a latched channel for the next files. */
static void remember(struct tape_topic *topic, const struct nm_mcap_message *message)
{
    if (topic->n_latched == topic->latch) { /* the oldest one is dropped */
        free((void *)(uintptr_t)topic->latched[0].data.at);
        memmove(topic->latched, topic->latched + 1, --topic->n_latched * sizeof *topic->latched);
    }
    uint8_t *bytes = nm_malloc(message->data.n + 1);
    if (message->data.n) memcpy(bytes, message->data.at, message->data.n);
    topic->latched[topic->n_latched] = *message;
    topic->latched[topic->n_latched++].data.at = bytes;
}

/* Writes attachments, metadata, standing and latched messages, so that each file can be read alone. */
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

/* The name of a new file is on the disk once its folder is synced. */
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
    /* so that the list of an endless black box does not grow */
    uint32_t gone = 0;
    while (tape->options.keep && gone + 1 < tape->n_files && !tape->files[gone].path) gone++;
    memmove(tape->files, tape->files + gone, (tape->n_files - gone) * sizeof *tape->files);
    tape->n_files -= gone;
}

/* Opens the next file; -1 with errno. */
static int open_file(struct tape *tape)
{
    if (tape->n_files == FILES) {
        errno = EMFILE;
        return -1;
    }
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
    if (tape->folder) write_metadata(tape); /* also syncs the folder */
    if (!tape->folder && tape->options.sync) sync_folder_of(path);
    return 0;
}

/* Notes the contents of a file that is now complete. */
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

/* The disk failed: what was in the open chunk is lost. Returns -1. */
static int give_up(struct tape *tape, int why)
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
        if (tape->broken && !tape->chunks) { /* another failed try leaves no file */
            unlink(path);
            tape->n_files--;
            tape->next--;
        }
        close(tape->fd);
        tape->fd = -1;
    }
    if (!tape->broken)
        say(tape,
            "%s: the log has stopped: %s; the robot keeps playing, and logging continues when the disk works again",
            path ? path : tape->options.path, strerror(why));
    tape->broken = true;
    tape->retry = now_of(tape) + (tape->options.retry ? tape->options.retry : try_again);
    return -1;
}

/* Faults of a disk, which may pass, unlike those of a path. */
static bool may_pass(int fault) { return fault == ENOSPC || fault == EROFS || fault == EIO || fault == EDQUOT; }

static int files_open(struct tape *tape, struct nm_err *err)
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
    if (nm_mcap_flush(tape->writer, NULL)) return give_up(tape, tape->fault ? tape->fault : EIO);
    return 0;
}

/* Forces closed chunks to the disk, if it is time for that. */
static int sync_chunks(struct tape *tape)
{
    int64_t now = now_of(tape);
    if (!tape->options.sync || tape->synced == tape->chunks || now - tape->synced_at < tape->options.sync_every)
        return 0;
    if (fdatasync(tape->fd) && errno != EINVAL) return give_up(tape, errno);
    tape->synced = tape->chunks;
    tape->synced_at = now;
    return 0;
}

static void files_close(struct tape *tape)
{
    if (tape->fd < 0) return;
    int bad = tape->started ? nm_mcap_finish(tape->writer, NULL) : 0;
    if (bad) {
        give_up(tape, tape->fault ? tape->fault : EIO);
        return;
    }
    if (!tape->started) { /* nothing was written: remove it */
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

/* Called after a write that may have closed a chunk. */
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
    /* nobody could read a file that was removed */
    struct stat file;
    if (fstat(tape->fd, &file) || !file.st_nlink) return give_up(tape, ENOENT);
    if (tape->broken)
        say(tape, "%s: the log continues; %llu messages are missing", tape->files[tape->n_files - 1].path,
            (unsigned long long)tape->unwritten);
    tape->broken = false;
    tape->unwritten = 0;
    if (!space_left(tape, tape->fd)) {
        files_close(tape);
        return give_up(tape, ENOSPC);
    }
    return 0;
}

/* Another file, after a rotation or a fault. */
static int go_on(struct tape *tape)
{
    tape->fault = 0;
    if (open_file(tape)) return give_up(tape, errno);
    if (begin_file(tape)) return give_up(tape, tape->fault ? tape->fault : EIO);
    return 0;
}

static bool ready(struct tape *tape)
{
    if (tape->fd >= 0) {
        if (tape->told) return true;
        tape->told = true; /* the first file, now that everything for its head is known */
        if (!begin_file(tape)) return true;
        give_up(tape, tape->fault ? tape->fault : EIO);
        return false;
    }
    tape->told = true;
    return now_of(tape) >= tape->retry && !go_on(tape);
}

/* Never fails: faults are part of the state of the tape. */
static void files_write(struct tape *tape, const struct nm_mcap_message *message)
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

/* Called now and then: flushes, rotates, tries again after a fault. */
static void files_tend(struct tape *tape)
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

/* ---- the tape ---- */

static const int64_t look_every = 20000000; /* ns */

struct entry {      /* the header of a message in the ring */
    uint32_t bytes; /* of its data                         */
    uint32_t sequence;
    uint64_t log_time, publish_time;
    uint16_t channel;
};

struct tape *tape_new(const struct tape_options *options, struct nm_err *err)
{
    struct tape *tape = nm_calloc(1, sizeof *tape);
    tape->options = *options;
    tape->options.path = nm_take_text(&tape->arena, options->path);
    tape->fd = -1;
    tape->writer = nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = options->packing});
    if (!options->direct) tape->ring = nm_take(&tape->arena, options->room);
    if (!files_open(tape, err)) return tape;
    tape_free(tape);
    return NULL;
}

/* ---- before the start ---- */

static struct nm_bytes keep(struct tape *tape, struct nm_bytes bytes)
{
    uint8_t *copy = nm_take(&tape->arena, bytes.n + 1);
    if (bytes.n) memcpy(copy, bytes.at, bytes.n);
    return (struct nm_bytes){copy, bytes.n};
}

static const char *keep_text(struct tape *tape, struct nm_bytes text)
{
    return nm_take_format(&tape->arena, "%.*s", (int)text.n, (const char *)text.at);
}

int tape_channel(struct tape *tape, const char *topic, const char *type, const char *schema, struct nm_bytes metadata,
                 struct nm_err *err)
{
    if (tape->n_channels == CHANNELS)
        return nm_fail(err, "%s: there can be at most %d channels", tape->options.path, CHANNELS);
    int id = nm_mcap_add_schema(tape->writer,
                                &(struct nm_mcap_schema){.name = nm_bytes_of(type),
                                                         .encoding = nm_bytes_of(schema ? "ros2msg" : ""),
                                                         .data = nm_bytes_of(schema ? schema : "")},
                                err);
    if (id < 0) return -1;
    struct nm_mcap_channel channel = {.schema_id = (uint16_t)id,
                                      .topic = nm_bytes_of(topic),
                                      .message_encoding = nm_bytes_of("cdr"),
                                      .metadata = metadata};
    id = nm_mcap_add_channel(tape->writer, &channel, err);
    if (id < 0 || id > CHANNELS) return -1;
    tape->n_channels++;
    tape->topics[id].topic = nm_take_text(&tape->arena, topic);
    tape->topics[id].type = nm_take_text(&tape->arena, type);
    tape->topics[id].qos = keep_text(tape, nm_mcap_text_at(metadata, "offered_qos_profiles"));
    return id;
}

void tape_attach(struct tape *tape, const char *name, const char *media, const void *bytes, size_t n)
{
    if (tape->n_attachments == EXTRAS) return;
    tape->attachments[tape->n_attachments++] =
        (struct nm_mcap_attachment){.name = nm_bytes_of(nm_take_text(&tape->arena, name)),
                                    .media_type = nm_bytes_of(nm_take_text(&tape->arena, media)),
                                    .data = keep(tape, (struct nm_bytes){bytes, n})};
}

void tape_describe(struct tape *tape, const char *name, struct nm_bytes metadata)
{
    if (tape->n_metadata == EXTRAS) return;
    tape->metadata[tape->n_metadata++] =
        (struct nm_mcap_metadata){nm_bytes_of(nm_take_text(&tape->arena, name)), keep(tape, metadata)};
}

void tape_stand(struct tape *tape, const struct nm_mcap_message *message)
{
    if (tape->n_standing == STANDING) return;
    struct nm_mcap_message *own = &tape->standing[tape->n_standing++];
    *own = *message;
    own->data = keep(tape, message->data);
}

void tape_latch(struct tape *tape, int channel, uint32_t depth)
{
    struct tape_topic *topic = &tape->topics[channel];
    topic->latch = depth < LATCHED ? depth : LATCHED;
    topic->latched = nm_take_n(&tape->arena, struct nm_mcap_message, topic->latch);
}

/* ---- the ring ---- */

static size_t stride_of(size_t bytes) { return (sizeof(struct entry) + bytes + 7) / 8 * 8; }

static void ring_in(struct tape *tape, uint64_t at, const void *bytes, size_t n)
{
    size_t room = tape->options.room, from = at % room, first = n < room - from ? n : room - from;
    memcpy(tape->ring + from, bytes, first);
    memcpy(tape->ring, (const uint8_t *)bytes + first, n - first);
}

static void ring_out(const struct tape *tape, uint64_t at, void *bytes, size_t n)
{
    size_t room = tape->options.room, from = at % room, first = n < room - from ? n : room - from;
    memcpy(bytes, tape->ring + from, first);
    memcpy((uint8_t *)bytes + first, tape->ring, n - first);
}

bool tape_put(struct tape *tape, const struct nm_mcap_message *message)
{
    if (tape->options.direct) {
        files_write(tape, message);
        files_tend(tape);
        return true;
    }
    uint64_t head = atomic_load_explicit(&tape->head, memory_order_relaxed);
    uint64_t used = head - atomic_load_explicit(&tape->tail, memory_order_acquire);
    size_t stride = stride_of(message->data.n);
    if (message->data.n > UINT32_MAX || tape->options.room - used < stride) {
        atomic_fetch_add_explicit(&tape->topics[message->channel_id].dropped, 1, memory_order_relaxed);
        return false;
    }
    struct entry entry = {(uint32_t)message->data.n, message->sequence, message->log_time, message->publish_time,
                          message->channel_id};
    ring_in(tape, head, &entry, sizeof entry);
    ring_in(tape, head + sizeof entry, message->data.at, message->data.n);
    atomic_store_explicit(&tape->head, head + stride, memory_order_release);
    return true;
}

static bool take_one(struct tape *tape)
{
    uint64_t tail = atomic_load_explicit(&tape->tail, memory_order_relaxed);
    struct entry entry;
    if (tail == atomic_load_explicit(&tape->head, memory_order_acquire)) return false;
    ring_out(tape, tail, &entry, sizeof entry);
    if (entry.bytes > tape->scratch_room) tape->scratch = nm_realloc(tape->scratch, tape->scratch_room = entry.bytes);
    ring_out(tape, tail + sizeof entry, tape->scratch, entry.bytes);
    atomic_store_explicit(&tape->tail, tail + stride_of(entry.bytes), memory_order_release);
    files_write(tape,
                &(struct nm_mcap_message){
                    entry.channel, entry.sequence, entry.log_time, entry.publish_time, {tape->scratch, entry.bytes}});
    return true;
}

void tape_step_back(const char *name)
{
    enum { NICE = 5 };
    prctl(PR_SET_NAME, name);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
}

static void *write_main(void *user)
{
    struct tape *tape = user;
    struct timespec nap = {.tv_nsec = look_every};
    tape_step_back("nm-tape");
    for (bool ending = false; !ending;) {
        ending = atomic_load(&tape->ending); /* read before the last look */
        while (take_one(tape)) {}
        files_tend(tape);
        atomic_store_explicit(&tape->cpu, nm_thread_time(), memory_order_relaxed);
        if (!ending) nanosleep(&nap, NULL);
    }
    return NULL;
}

int tape_start(struct tape *tape, struct nm_err *err)
{
    tape->started = true;
    if (tape->options.direct) return 0;
    int r = pthread_create(&tape->thread, NULL, write_main, tape);
    if (r) return nm_fail(err, "%s: cannot start a thread: %s", tape->options.path, strerror(r));
    tape->threaded = true;
    return 0;
}

void tape_end(struct tape *tape)
{
    atomic_store(&tape->ending, true);
    if (tape->threaded) pthread_join(tape->thread, NULL);
    tape->threaded = false;
    files_close(tape);
}

void tape_free(struct tape *tape)
{
    if (!tape) return;
    tape_end(tape);
    nm_mcap_writer_free(tape->writer);
    for (uint32_t i = 1; i <= CHANNELS; i++)
        for (uint32_t k = 0; k < tape->topics[i].n_latched; k++)
            free((void *)(uintptr_t)tape->topics[i].latched[k].data.at);
    free(tape->scratch);
    nm_arena_free(&tape->arena);
    free(tape);
}

uint64_t tape_dropped(const struct tape *tape, int channel)
{
    return atomic_load_explicit(&tape->topics[channel].dropped, memory_order_relaxed);
}
uint64_t tape_bytes(const struct tape *tape)
{
    return atomic_load_explicit(&tape->closed_bytes, memory_order_relaxed) +
           atomic_load_explicit(&tape->bytes, memory_order_relaxed);
}
uint32_t tape_begun(const struct tape *tape) { return atomic_load_explicit(&tape->begun, memory_order_relaxed); }
int64_t tape_cpu(const struct tape *tape) { return atomic_load_explicit(&tape->cpu, memory_order_relaxed); }
const char *tape_path(const struct tape *tape) { return tape->n_files ? tape->files[0].path : tape->options.path; }
