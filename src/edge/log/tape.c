/* The ring between who puts and who writes: one producer, one consumer, whole messages. */
#include "edge/log/tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "edge/log/inside.h"

static const int64_t look_every = 20000000; /* ns */

struct entry {      /* in front of a message in the ring */
    uint32_t bytes; /* of its data */
    uint32_t sequence;
    uint64_t log_time, publish_time;
    uint16_t channel;
};

struct tape *tape_new(const struct tape_options *options, struct nm_err *err)
{
    struct tape *tape = calloc(1, sizeof *tape);
    if (!tape) abort();
    tape->options = *options;
    tape->options.path = nm_take_text(&tape->arena, options->path);
    tape->fd = -1;
    tape->writer = nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = options->packing});
    if (!options->direct) tape->ring = nm_take(&tape->arena, options->room);
    if (!files_open(tape, err)) return tape;
    tape_free(tape);
    return NULL;
}

/* ---- before it starts ---- */

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
    if (tape->n_channels == CHANNELS) return nm_fail(err, "%s: more than %d channels", tape->options.path, CHANNELS);
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
    if (entry.bytes > tape->scratch_room) {
        tape->scratch = realloc(tape->scratch, tape->scratch_room = entry.bytes);
        if (!tape->scratch) abort();
    }
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
        ending = atomic_load(&tape->ending); /* asked before the last look */
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
    if (r) return nm_fail(err, "%s: no thread: %s", tape->options.path, strerror(r));
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
