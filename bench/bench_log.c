/* Logs against the compressor alone: the same messages, the same chunks, the same output. What a writer adds to packing
 * and writing are frames, indexes and two CRCs; what a reader adds to unpacking is to check and to sort. */
#include <lz4frame.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/order.h"
#include "bench.h"
#include "codec/cdr.h"
#include "codec/mcap_read.h"
#include "codec/mcap_write.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"

enum {
    SECONDS = 60, /* of a robot's life                                       */
    HZ = 100,     /* Imu and joints                                          */
    FRAME = 20000 /* bytes of a JPEG, 30 times a second                      */,
    CHUNK = 768 << 10,
    ROUNDS = 9,
};

struct message {
    uint16_t channel;
    uint64_t time;
    uint8_t *data;
    size_t n;
};

/* What both sides write. */
struct load {
    struct message *messages;
    size_t n, bytes;
    uint8_t *records; /* the same as records, in chunks */
    size_t *ends, n_chunks;
    int file;
    uint8_t *packed, *unpacked; /* room for a chunk */
    size_t packed_room;
};

/* Of this thread: both sides only compute and copy, and others may be busy beside them. */
static double now(void) { return 1e-9 * (double)nm_clock_of(CLOCK_THREAD_CPUTIME_ID); }

static uint64_t random_bits(uint64_t *seed) { return *seed = *seed * 6364136223846793005u + 1442695040888963407u; }

static void add_message(struct load *load, uint16_t channel, uint64_t time, const void *data, size_t n)
{
    load->messages = nm_realloc(load->messages, (load->n + 1) * sizeof *load->messages);
    uint8_t *copy = nm_malloc(n);
    memcpy(copy, data, n);
    load->messages[load->n++] = (struct message){channel, time, copy, n};
    load->bytes += n + NM_MCAP_MESSAGE_HEAD;
}

/* A walking robot: smooth values with noise in the last digits, as sensors give them, and frames that do not shrink. */
static void make_messages(struct load *load)
{
    static Imu imu;
    static JointState joints;
    static uint8_t cdr[1 << 16], frame[FRAME];
    uint64_t seed = 1;
    joints.name.n = joints.position.n = joints.velocity.n = joints.effort.n = 20;
    for (uint32_t k = 0; k < 20; k++) nm_text(joints.name.at[k], "joint_%u", k);
    for (uint32_t i = 0; i < SECONDS * HZ; i++) {
        double t = (double)i / HZ;
        uint64_t time = 1700000000000000000u + (uint64_t)i * (1000000000 / HZ);
        imu.header.stamp.sec = joints.header.stamp.sec = (int32_t)(time / 1000000000);
        imu.header.stamp.nanosec = joints.header.stamp.nanosec = (uint32_t)(time % 1000000000);
        imu.linear_acceleration.z = 9.81 + 0.01 * (double)(random_bits(&seed) >> 56);
        imu.angular_velocity.x = sin(6 * t) + 1e-4 * (double)(random_bits(&seed) >> 54);
        for (uint32_t k = 0; k < 20; k++) {
            joints.position.at[k] =
                (double)(int)(2048 + 500 * sin(6 * t + k) + (double)(random_bits(&seed) >> 62)) * 0.00153;
            joints.velocity.at[k] = (double)(int)(3000 * cos(6 * t + k)) * 0.001;
        }
        add_message(load, 1, time, cdr, (size_t)nm_cdr_encode(&Imu_type, &imu, cdr, sizeof cdr));
        add_message(load, 2, time, cdr, (size_t)nm_cdr_encode(&JointState_type, &joints, cdr, sizeof cdr));
        if (i % 3) continue;
        for (size_t k = 0; k < FRAME; k++) frame[k] = (uint8_t)(random_bits(&seed) >> 56);
        add_message(load, 3, time, frame, FRAME);
    }
}

/* The chunks of the log as bytes, so that the compressor alone gets what the writer gives it. */
static void make_records(struct load *load)
{
    size_t at = 0, begun = 0;
    load->records = nm_malloc(load->bytes);
    load->ends = nm_malloc((load->bytes / CHUNK + 2) * 2 * sizeof *load->ends);
    for (size_t i = 0; i < load->n; i++) {
        const struct message *m = &load->messages[i];
        struct nm_mcap_record record = {.op = NM_MCAP_MESSAGE,
                                        .message = {m->channel, (uint32_t)i, m->time, m->time, {m->data, m->n}}};
        size_t n = nm_mcap_size(&record);
        if (at > begun && at - begun + n > CHUNK) load->ends[load->n_chunks++] = begun = at;
        nm_mcap_encode(&record, load->records + at, n);
        at += n;
    }
    load->ends[load->n_chunks++] = at;
    load->packed_room = ZSTD_compressBound(CHUNK) + LZ4F_compressFrameBound(CHUNK, NULL);
    load->packed = malloc(load->packed_room);
    load->file = memfd_create("log", MFD_CLOEXEC);
    load->unpacked = malloc(CHUNK);
    if (!load->packed || !load->unpacked || load->file < 0) abort();
}

static int to_file(void *user, const void *bytes, size_t n)
{
    return write(*(int *)user, bytes, n) == (ssize_t)n ? 0 : -1;
}

static void rewind_file(struct load *load)
{
    if (ftruncate(load->file, 0) || lseek(load->file, 0, SEEK_SET)) abort();
}

/* ---- writing ---- */

static size_t pack(struct load *load, ZSTD_CCtx *zstd, enum nm_mcap_packing packing, const uint8_t *from, size_t n)
{
    LZ4F_preferences_t lz4 = {
        .frameInfo = {.blockSizeID = LZ4F_max256KB, .blockMode = LZ4F_blockIndependent, .contentSize = n},
        .autoFlush = 1};
    if (packing == NM_MCAP_ZSTD) return ZSTD_compressCCtx(zstd, load->packed, load->packed_room, from, n, 0);
    return LZ4F_compressFrame(load->packed, load->packed_room, from, n, &lz4);
}

static double compressor_alone(struct load *load, ZSTD_CCtx *zstd, enum nm_mcap_packing packing)
{
    rewind_file(load);
    double begun = now();
    for (size_t i = 0, from = 0; i < load->n_chunks; from = load->ends[i++]) {
        const uint8_t *bytes = load->records + from;
        size_t n = load->ends[i] - from;
        if (packing != NM_MCAP_STORED) n = pack(load, zstd, packing, bytes, n), bytes = load->packed;
        if (to_file(&load->file, bytes, n)) abort();
    }
    return now() - begun;
}

static double our_writer(struct load *load, struct nm_mcap_writer *writer)
{
    rewind_file(load);
    double begun = now();
    int result = nm_mcap_start(writer, to_file, &load->file, NULL);
    for (size_t i = 0; i < load->n; i++) {
        const struct message *m = &load->messages[i];
        struct nm_mcap_message message = {m->channel, (uint32_t)i, m->time, m->time, {m->data, m->n}};
        result |= nm_mcap_write(writer, &message, NULL);
    }
    result |= nm_mcap_finish(writer, NULL);
    if (result) abort();
    return now() - begun;
}

/* ---- reading ---- */

/* Reads every chunk of the log that is in the file and unpacks it, nothing more. */
static double decompressor_alone(struct load *load, const struct nm_mcap_contents *contents,
                                 const struct nm_mcap_source *source, struct nm_mcap_unpacker *unpacker)
{
    double begun = now();
    for (uint32_t i = 0; i < contents->n_chunks; i++) {
        const struct nm_mcap_chunk_index *chunk = &contents->chunks[i];
        size_t n = chunk->compressed_size;
        off_t at = (off_t)(chunk->chunk_start_offset + chunk->chunk_length - n);
        bool whole;
        if (pread(source->file, load->packed, n, at) != (ssize_t)n) abort();
        int packing = nm_mcap_packing_named(chunk->compression);
        nm_mcap_unpack(unpacker, (enum nm_mcap_packing)packing, (struct nm_bytes){load->packed, n}, load->unpacked,
                       CHUNK, &whole);
        if (!whole) abort();
    }
    return now() - begun;
}

static double our_reader(struct load *load, const struct nm_mcap_contents *contents,
                         const struct nm_mcap_source *source)
{
    struct nm_mcap_message message;
    uint32_t channel;
    uint64_t n = 0, sum = 0;
    double begun = now();
    struct nm_mcap_query *query = nm_mcap_query_new(source, contents, &(struct nm_mcap_query_options){0});
    while (nm_mcap_query_next(query, &message, &channel, NULL) > 0) {
        n++;
        sum += message.data.at[message.data.n - 1];
    }
    nm_mcap_query_free(query);
    double took = now() - begun;
    if (n != load->n || !sum) abort();
    return took;
}

/* ---- both in turn ---- */

static struct nm_mcap_writer *writer_new(enum nm_mcap_packing packing)
{
    static const char *const topics[] = {"/imu", "/joint_states", "/camera/image"};
    struct nm_mcap_write_options options = {
        .packing = packing, .chunk_size = CHUNK, .message_most = 1 << 20, .summary_bytes = 1 << 20};
    struct nm_mcap_writer *writer = nm_mcap_writer_new(&options);
    for (int i = 0; i < 3; i++)
        nm_mcap_add_channel(
            writer, &(struct nm_mcap_channel){.topic = nm_bytes_of(topics[i]), .message_encoding = nm_bytes_of("cdr")},
            NULL);
    return writer;
}

static void bench_packing(struct nm_bench *bench, struct load *load, enum nm_mcap_packing packing, const char *name,
                          bool goal)
{
    double ours[ROUNDS], theirs[ROUNDS], megabytes = (double)load->bytes * 1e-6;
    int rounds = nm_bench_quick(bench) ? 3 : ROUNDS;
    char what[80];
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    struct nm_mcap_writer *writer = writer_new(packing);
    for (int i = -1; i < rounds; i++) { /* the first to get warm */
        int at = i < 0 ? 0 : i;
        theirs[at] = compressor_alone(load, zstd, packing);
        ours[at] = our_writer(load, writer);
    }
    double mine = nm_median(ours, rounds), its = nm_median(theirs, rounds);
    snprintf(what, sizeof what, "write a log, %s, to %s alone", name, packing ? "compressor and write" : "write");
    nm_bench_report(bench, what, megabytes / mine, "MB/s", its / mine, goal ? ">= 0.8 x" : "",
                    !goal || its / mine >= 0.8);

    struct nm_mcap_source source = {.name = "log",
                                    .size = (uint64_t)lseek(load->file, 0, SEEK_CUR),
                                    .chunk_most = NM_MCAP_CHUNK_MOST,
                                    .file = load->file};
    struct nm_mcap_contents contents;
    struct nm_mcap_unpacker unpacker = {0};
    if (nm_mcap_contents_read(&contents, &source, NULL) || !contents.summary) abort();
    for (int i = -1; i < rounds; i++) {
        int at = i < 0 ? 0 : i;
        theirs[at] = decompressor_alone(load, &contents, &source, &unpacker);
        ours[at] = our_reader(load, &contents, &source);
    }
    mine = nm_median(ours, rounds), its = nm_median(theirs, rounds);
    snprintf(what, sizeof what, "read it in order of time, to read and %s alone", packing ? "unpack" : "copy");
    nm_bench_report(bench, what, megabytes / mine, "MB/s", its / mine, "", true);
    nm_mcap_unpacker_free(&unpacker);
    nm_mcap_contents_free(&contents);
    nm_mcap_writer_free(writer);
    ZSTD_freeCCtx(zstd);
}

void bench_log(struct nm_bench *bench);
void bench_log(struct nm_bench *bench)
{
    struct load load = {0};
    make_messages(&load);
    make_records(&load);
    bench_packing(bench, &load, NM_MCAP_LZ4, "lz4", true);
    bench_packing(bench, &load, NM_MCAP_ZSTD, "zstd", true);
    bench_packing(bench, &load, NM_MCAP_STORED, "stored", false);
    for (size_t i = 0; i < load.n; i++) free(load.messages[i].data);
    free(load.messages);
    free(load.records);
    free(load.ends);
    free(load.packed);
    free(load.unpacked);
    close(load.file);
}
