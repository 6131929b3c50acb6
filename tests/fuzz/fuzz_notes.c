/* A log of ours whose notes say anything: which messages each run consumed and made, parameters and their changes,
 * snapshots. Whatever they say, the replay ends with a verdict or a sentence. The input is a recipe: the text of
 * parameters.txt up to a NUL, then messages of four bytes (channel, time, two of length) and their bytes. Of a channel
 * of 128 or more the bytes are the numbers of a note rather than the note itself, so that runs are played at all. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/cdr.h"
#include "codec/mcap_write.h"
#include "core/nm.h"
#include "files.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/CycleSnapshot.h"
#include "nutmeg_msgs/CycleTopics.h"
#include "nutmeg_msgs/ParameterChange.h"
#include "nutmeg_msgs/TopicStatistics.h"
#include "record/replay_log.h"
#include "std_msgs/Float64.h"
#include "std_msgs/String.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct adder {
    struct nm *nm;
    const Float64 *in;
    nm_queue(String) words;
    Float64 *sum;
    double factor;
};
#define SELF struct adder
static void add(struct adder *f)
{
    f->sum->data += f->factor * f->in->data;
    for (uint32_t i = 0; i < f->words.n; i++) f->sum->data += (double)strlen(f->words.at[i]->data);
    nm_put(f->nm, f->sum);
}
static const struct nm_port adder_ports[] = {
    NM_IN(in, Float64, "in"), NM_QUEUE(words, String, "words", 4), NM_OUT(sum, Float64, "sum"), {0}};
static const struct nm_param adder_params[] = {NM_PARAM(factor, 1, -10, 10, "1", "of what comes in"), {0}};
NM_MODULE(adder, "Adds.", NM_PORTS(adder_ports), NM_PARAMS(adder_params), .step = NM_CALL(add))

static const char lineup[] = "cycles: {c: {period: 10 ms, modules: [adder]}}\nremote: [in, words]\n";

struct buffer {
    uint8_t bytes[1 << 19];
    size_t n;
};

static int to_buffer(void *user, const void *bytes, size_t n)
{
    struct buffer *to = user;
    if (n > sizeof to->bytes - to->n) return -1;
    memcpy(to->bytes + to->n, bytes, n);
    to->n += n;
    return 0;
}

static const struct {
    const char *topic, *maker;
    const struct nm_type *type;
} rows[] = {{"/nutmeg/runs", "", &CycleRecord_type},
            {"/in", "live", &Float64_type},
            {"/words", "live", &String_type},
            {"/sum", "c", &Float64_type},
            {"/nutmeg/parameters", "", &ParameterChange_type},
            {"/nutmeg/snapshots", "", &CycleSnapshot_type},
            {"/nutmeg/traffic", "", &TopicStatistics_type},
            {"/nutmeg/topics", "", &CycleTopics_type}};
enum { RUNS, TOPICS = 7, ROWS = 8 };

struct maker {
    struct nm_mcap_writer *writer;
    int ids[ROWS];
    uint32_t seq[ROWS];
    uint64_t time;
};

static void put(struct maker *m, int row, const void *bytes, size_t n)
{
    struct nm_mcap_message message = {(uint16_t)m->ids[row], ++m->seq[row], m->time, m->time, {bytes, n}};
    if (m->ids[row] >= 0) nm_mcap_write(m->writer, &message, NULL);
}

static void put_message(struct maker *m, int row, const void *message)
{
    static uint8_t bytes[1 << 16];
    int64_t n = nm_cdr_encode(rows[row].type, message, bytes, sizeof bytes);
    if (n > 0) put(m, row, bytes, (size_t)n);
}

/* The numbers of a run: its own, its parameters', and up to three messages that it consumed and made. */
static void put_run(struct maker *m, const uint8_t *data, size_t size)
{
    static CycleRecord run;
    uint8_t b[14] = {0};
    memcpy(b, data, size < sizeof b ? size : sizeof b);
    nm_reset(&CycleRecord_type, &run);
    nm_text(run.cycle, "c");
    run.run = b[0];
    run.parameter_generation = b[1];
    run.consumed.n = b[2] % 4;
    for (uint32_t i = 0; i < run.consumed.n; i++)
        run.consumed.at[i] = (TopicSequence){b[3 + 3 * i], b[4 + 3 * i], b[5 + 3 * i]};
    run.produced.n = b[12] % 2;
    run.produced.at[0] = (TopicSequence){2, b[13], b[13]};
    put_message(m, RUNS, &run);
}

static void begin_log(struct maker *m, struct buffer *log, const uint8_t *values, size_t n_values)
{
    static CycleTopics topics;
    static const char *const names[] = {"/in", "/words", "/sum"}, *const makers[] = {"live", "live", "c"};
    uint8_t map[256];
    size_t n = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("clock_offset"), nm_bytes_of("1000000000"));
    n = nm_mcap_add_text(map, n, sizeof map, nm_bytes_of("seed"), nm_bytes_of("1"));
    struct nm_mcap_write_options options = {.packing = NM_MCAP_STORED, .chunk_size = 16 << 10};
    m->writer = nm_mcap_writer_new(&options);
    nm_mcap_start(m->writer, to_buffer, log, NULL);
    nm_mcap_attach(m->writer,
                   &(struct nm_mcap_attachment){.name = nm_bytes_of("lineup.yaml"), .data = nm_bytes_of(lineup)}, NULL);
    nm_mcap_attach(m->writer,
                   &(struct nm_mcap_attachment){.name = nm_bytes_of("parameters.txt"), .data = {values, n_values}},
                   NULL);
    nm_mcap_describe(m->writer, &(struct nm_mcap_metadata){nm_bytes_of("nutmeg"), {map, n}}, NULL);
    for (int i = 0; i < ROWS; i++) {
        struct nm_mcap_schema schema = {0, nm_bytes_of(rows[i].type->name), nm_bytes_of("ros2msg"),
                                        nm_bytes_of(rows[i].type->schema)};
        n = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("maker"), nm_bytes_of(rows[i].maker));
        struct nm_mcap_channel channel = {.schema_id = (uint16_t)nm_mcap_add_schema(m->writer, &schema, NULL),
                                          .topic = nm_bytes_of(rows[i].topic),
                                          .message_encoding = nm_bytes_of("cdr"),
                                          .metadata = {map, *rows[i].maker ? n : 0}};
        m->ids[i] = nm_mcap_add_channel(m->writer, &channel, NULL);
    }
    nm_reset(&CycleTopics_type, &topics);
    nm_text(topics.cycle, "c");
    topics.topics.n = topics.makers.n = 3;
    for (int i = 0; i < 3; i++) {
        nm_text(topics.topics.at[i], "%s", names[i]);
        nm_text(topics.makers.at[i], "%s", makers[i]);
    }
    put_message(m, TOPICS, &topics);
}

static bool never(void) { return false; }

static void say(void *user, const char *sentence)
{
    (void)user;
    if (!*sentence) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buffer log;
    const uint8_t *values;
    size_t n_values = fuzz_part(&data, &size, &values);
    struct maker m = {.time = 2000000000};
    log.n = 0;
    begin_log(&m, &log, values, n_values);
    while (size >= 4) {
        size_t n = (size_t)(data[2] | (data[3] & 3) << 8);
        int row = data[0] % ROWS;
        m.time += (uint64_t)data[1] << 20;
        if (n > size - 4) n = size - 4;
        if (data[0] & 128)
            put_run(&m, data + 4, n);
        else
            put(&m, row, data + 4, n);
        data += 4 + n;
        size -= 4 + n;
    }
    nm_mcap_finish(m.writer, NULL);
    nm_mcap_writer_free(m.writer);

    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    const struct nm_module *const modules[] = {&adder_module};
    nm_registry_init(&registry, &arena, modules, modules + 1);
    struct replay_options options = {.log = fuzz_put("log.mcap", log.bytes, log.n),
                                     .registry = &registry,
                                     .with = {.root = "/nonexistent"},
                                     .revision = "",
                                     .build = "",
                                     .cpu = "",
                                     .stopping = never,
                                     .said = say};
    struct replay_result result = {0};
    int bad = replay(&options, &result, &err);
    if (bad && !err.n) abort();
    if (!bad && result.differ && !*result.first_difference) abort();
    replay_result_free(&result);
    nm_arena_free(&arena);
    return 0;
}
