/* What the writer makes is what the MCAP project's own files are, is strict to every CRC and index, holds exactly what
 * was written, and costs no memory while messages are written. */
#include "mcap_help.h"

#ifndef __SANITIZE_ADDRESS__
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#endif

/* Every way to memory, counted; a sanitizer has its own ways, and with it the count stays 0. */
static int allocations;
#ifndef __SANITIZE_ADDRESS__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}
void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}
#endif

/* Writes the data of a conformance file through the writer, which makes the summary itself. */
static void write_again(const struct vector *v, struct buffer *file)
{
    struct nm_mcap_writer *w =
        nm_mcap_writer_new(&(struct nm_mcap_write_options){.profile = "", .library = "", .chunk_size = 2000});
    struct nm_err err = {0};
    int result = nm_mcap_start(w, buffer_write, file, &err);
    for (uint32_t i = 0; i < v->n && v->records[i].op != NM_MCAP_DATA_END; i++) {
        struct nm_mcap_record record = v->records[i];
        if (record.op == NM_MCAP_SCHEMA) assert_int_equal(nm_mcap_add_schema(w, &record.schema, &err), 1);
        if (record.op == NM_MCAP_CHANNEL) assert_int_equal(nm_mcap_add_channel(w, &record.channel, &err), 1);
        if (record.op == NM_MCAP_MESSAGE) result |= nm_mcap_write(w, &record.message, &err);
        if (record.op == NM_MCAP_ATTACHMENT) result |= nm_mcap_attach(w, &record.attachment, &err);
        if (record.op == NM_MCAP_METADATA) result |= nm_mcap_describe(w, &record.metadata, &err);
    }
    result |= nm_mcap_finish(w, &err);
    if (result) fail_msg("%s", err.text);
    nm_mcap_writer_free(w);
}

/* Of each input the file with all features is what our writer writes, to the byte. */
static void complete_conformance_files_come_out_of_the_writer(void **state)
{
    (void)state;
    static const char *const complete[] = {
        "NoData-st-sum",
        "OneAttachment-ax-st-sum",
        "OneMetadata-mdx-st-sum",
        "OneMessage-ch-chx-mx-rch-rsh-st-sum",
        "TenMessages-ch-chx-mx-rch-rsh-st-sum",
        "OneSchemalessMessage-ch-chx-mx-rch-st-sum",
    };
    struct nm_arena arena = {0};
    uint32_t n, same = 0;
    struct vector *vectors = vectors_new(&arena, &n);
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof complete / sizeof *complete; k++) {
            if (strcmp(vectors[i].name, complete[k])) continue;
            struct buffer file = {0};
            write_again(&vectors[i], &file);
            assert_int_equal(file.n, vectors[i].file.n);
            assert_memory_equal(file.bytes, vectors[i].file.bytes, file.n);
            free(file.bytes);
            same++;
        }
    }
    assert_int_equal(same, sizeof complete / sizeof *complete);
    vectors_free(vectors, n);
    nm_arena_free(&arena);
}

static int earlier(const void *a, const void *b)
{
    const struct wrote *x = a, *y = b;
    if (x->log_time != y->log_time) return x->log_time < y->log_time ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static void assert_holds(const struct buffer *file, const struct wrote *sorted, uint32_t n)
{
    struct nm_mcap_source source = nm_mcap_memory("log", file->bytes, file->n);
    struct nm_mcap_contents contents;
    struct nm_mcap_message message;
    struct nm_err err = {0};
    uint32_t channel, i = 0;
    int got;
    assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0);
    assert_true(contents.summary);
    assert_int_equal(contents.messages, n);
    struct nm_mcap_query *query = nm_mcap_query_new(&source, &contents, &(struct nm_mcap_query_options){0});
    while ((got = nm_mcap_query_next(query, &message, &channel, &err)) > 0) {
        const struct wrote *m = &sorted[i++];
        char topic[20];
        snprintf(topic, sizeof topic, "/topic_%d", m->channel - 1);
        assert_int_equal(message.log_time, m->log_time);
        assert_int_equal(message.publish_time, m->publish_time);
        assert_int_equal(message.sequence, m->sequence);
        assert_true(nm_bytes_are(contents.channels[channel].topic, topic));
        assert_true(data_are(message.data, m));
    }
    if (got) fail_msg("%s", err.text);
    assert_int_equal(i, n);
    nm_mcap_query_free(query);
    nm_mcap_contents_free(&contents);
}

static void random_logs_are_strict_and_come_back(void **state)
{
    (void)state;
    enum { MOST = 2000 };
    static struct wrote wrote[MOST];
    for (uint64_t seed = 0; seed < 36; seed++) {
        struct buffer file = {0};
        uint32_t n = (uint32_t)(seed * 7919 % MOST), chunk = seed % 4 ? 1000u << (seed % 5) : 31;
        random_log(seed,
                   &(struct nm_mcap_write_options){.packing = (enum nm_mcap_packing)(seed % 3), .chunk_size = chunk},
                   wrote, n, &file);
        struct nm_mcap_source source = nm_mcap_memory("log", file.bytes, file.n);
        struct nm_err faults = {0}, notes = {0};
        if (nm_mcap_check(&source, &faults, &notes)) fail_msg("%s", faults.text);
        if (notes.n > 1 || (notes.n && !strstr(notes.text, "go back"))) fail_msg("%s", notes.text);
        qsort(wrote, n, sizeof *wrote, earlier);
        assert_holds(&file, wrote, n);
        free(file.bytes);
    }
}

static void chunks_are_packed_where_it_pays(void **state)
{
    (void)state;
    for (int packing = 0; packing < 3; packing++) {
        struct buffer file = {0};
        struct nm_err err = {0};
        struct nm_mcap_writer *w = nm_mcap_writer_new(
            &(struct nm_mcap_write_options){.packing = (enum nm_mcap_packing)packing, .chunk_size = 100000});
        add_channels(w);
        assert_int_equal(nm_mcap_start(w, buffer_write, &file, &err), 0);
        static uint8_t zeros[50000], noise[50000];
        uint64_t seed = 1;
        for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)next_random(&seed);
        nm_mcap_write(w, &(struct nm_mcap_message){.channel_id = 1, .data = {zeros, sizeof zeros}}, &err);
        nm_mcap_flush(w, &err);
        struct nm_mcap_totals totals = nm_mcap_totals(w);
        assert_true(packing ? totals.packed < 1000 : totals.packed == totals.unpacked);
        nm_mcap_write(w, &(struct nm_mcap_message){.channel_id = 1, .data = {noise, sizeof noise}}, &err);
        nm_mcap_flush(w, &err);
        assert_int_equal(nm_mcap_totals(w).packed - totals.packed, sizeof noise + NM_MCAP_MESSAGE_HEAD);
        assert_int_equal(nm_mcap_finish(w, &err), 0);
        assert_strict(&file, true);
        nm_mcap_writer_free(w);
        free(file.bytes);
    }
}

static void a_rotated_log_is_complete_in_every_file(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = NM_MCAP_LZ4});
    add_channels(w);
    for (int i = 0; i < 3; i++) {
        struct buffer file = {0};
        struct nm_mcap_contents contents;
        assert_int_equal(nm_mcap_start(w, buffer_write, &file, &err), 0);
        assert_int_equal(nm_mcap_announce(w, 5, &err), 0);
        nm_mcap_write(w, &(struct nm_mcap_message){.channel_id = (uint16_t)(i + 1), .log_time = 5}, &err);
        assert_int_equal(nm_mcap_count(w, i + 1), 1);
        assert_int_equal(nm_mcap_finish(w, &err), 0);
        assert_strict(&file, true);
        struct nm_mcap_source source = nm_mcap_memory("log", file.bytes, file.n);
        assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0);
        assert_int_equal(contents.n_channels, 2); /* the one that was announced and the one that spoke */
        assert_int_equal(contents.n_schemas, 1);
        nm_mcap_contents_free(&contents);
        free(file.bytes);
    }
    nm_mcap_writer_free(w);
}

static void what_was_flushed_is_readable_without_the_end(void **state)
{
    (void)state;
    struct buffer file = {0};
    struct nm_err err = {0};
    struct nm_mcap_contents contents;
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = NM_MCAP_ZSTD});
    add_channels(w);
    nm_mcap_start(w, buffer_write, &file, &err);
    for (uint32_t i = 0; i < 100; i++) {
        nm_mcap_write(w, &(struct nm_mcap_message){.channel_id = 2, .sequence = i, .log_time = i}, &err);
        nm_mcap_flush(w, &err);
        struct nm_mcap_source source = nm_mcap_memory("log", file.bytes, file.n);
        assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0);
        assert_false(contents.whole);
        assert_int_equal(contents.messages, i + 1);
        nm_mcap_contents_free(&contents);
    }
    nm_mcap_writer_free(w);
    free(file.bytes);
}

static void a_full_disk_is_told_once_and_a_new_file_can_begin(void **state)
{
    (void)state;
    struct nm_err err = {0};
    static uint8_t data[1000];
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){.chunk_size = 5000});
    add_channels(w);
    struct buffer small = {.most = 20000}, large = {0};
    int result = nm_mcap_start(w, buffer_write, &small, &err);
    for (int i = 0; i < 100 && !result; i++)
        result = nm_mcap_write(w, &(struct nm_mcap_message){.channel_id = 1, .data = {data, sizeof data}}, &err);
    assert_int_equal(result, -1);
    assert_non_null(strstr(err.text, "could not be written at byte"));
    assert_int_equal(nm_mcap_flush(w, NULL), -1);
    assert_int_equal(nm_mcap_finish(w, NULL), -1);
    assert_int_equal(nm_mcap_start(w, buffer_write, &large, &err), 0);
    assert_int_equal(nm_mcap_write(w, &(struct nm_mcap_message){.channel_id = 1, .data = {data, 10}}, &err), 0);
    assert_int_equal(nm_mcap_finish(w, &err), 0);
    assert_strict(&large, true);
    nm_mcap_writer_free(w);
    free(small.bytes);
    free(large.bytes);
}

static void limits_are_sentences(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct buffer file = {0};
    static uint8_t data[2000];
    struct nm_mcap_write_options options = {.chunk_size = 1000, .message_most = 1500, .summary_bytes = 4000};
    struct nm_mcap_writer *w = nm_mcap_writer_new(&options);
    struct nm_mcap_message message = {.channel_id = 1, .data = {data, 1500}};
    assert_int_equal(nm_mcap_write(w, &message, &err), -1);
    assert_non_null(strstr(err.text, "no log is open"));
    add_channels(w);
    nm_mcap_start(w, buffer_write, &file, &err);
    assert_int_equal(nm_mcap_write(w, &message, &err), 0);
    message.data.n = 1501;
    assert_int_equal(nm_mcap_write(w, &message, &err), -1);
    assert_non_null(strstr(err.text, "a message has 1501 bytes, the log takes 1500"));
    message = (struct nm_mcap_message){.channel_id = 6};
    assert_int_equal(nm_mcap_write(w, &message, &err), -1);
    message.channel_id = 0;
    assert_int_equal(nm_mcap_write(w, &message, &err), -1);
    struct nm_mcap_channel channel = {.schema_id = 9, .topic = nm_bytes_of("/x")};
    assert_int_equal(nm_mcap_add_channel(w, &channel, &err), -1);
    assert_non_null(strstr(err.text, "channel /x names schema 9"));

    /* room for indexes: the file ends well, and the next one goes on */
    int result = 0, n = 1;
    message = (struct nm_mcap_message){.channel_id = 1, .data = {data, 1500}};
    for (; n < 1000 && !(result = nm_mcap_write(w, &message, &err)); n++) {}
    assert_int_equal(result, -1);
    assert_true(n > 10);
    assert_non_null(strstr(err.text, "finish it and start another one"));
    assert_int_equal(nm_mcap_finish(w, &err), 0);
    assert_strict(&file, true);
    file.n = 0;
    assert_int_equal(nm_mcap_start(w, buffer_write, &file, &err), 0);
    assert_int_equal(nm_mcap_write(w, &message, &err), 0);
    nm_mcap_writer_free(w);
    free(file.bytes);
}

static int drop(void *user, const void *bytes, size_t n)
{
    (void)bytes;
    *(uint64_t *)user += n;
    return 0;
}

static void writing_takes_no_memory(void **state)
{
    (void)state;
    for (int packing = 0; packing < 3; packing++) {
        struct nm_err err = {0};
        static uint8_t data[60000];
        uint64_t written = 0, seed = 3;
        struct nm_mcap_write_options options = {.packing = (enum nm_mcap_packing)packing,
                                                .chunk_size = 100000,
                                                .message_most = sizeof data,
                                                .summary_bytes = 200000};
        struct nm_mcap_writer *w = nm_mcap_writer_new(&options);
        add_channels(w);
        nm_mcap_start(w, drop, &written, &err);
        int before = allocations;
        for (uint32_t i = 0; i < 3000; i++) {
            uint64_t bits = next_random(&seed);
            size_t n = bits % (i % 50 ? 2000 : sizeof data);
            memset(data, (int)i, n / 2 + 1); /* every chunk another mixture */
            struct nm_mcap_message message = {(uint16_t)(1 + i % CHANNELS), i, i, i, {data, n}};
            if (nm_mcap_write(w, &message, &err)) fail_msg("%s", err.text);
            if (bits >> 56 == 0) nm_mcap_flush(w, &err);
        }
        assert_int_equal(nm_mcap_finish(w, &err), 0);
        assert_int_equal(nm_mcap_start(w, drop, &written, &err), 0);
        assert_int_equal(allocations, before);
        assert_true(written > 50000);
        nm_mcap_writer_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_conformance_files_come_out_of_the_writer),
        cmocka_unit_test(random_logs_are_strict_and_come_back),
        cmocka_unit_test(chunks_are_packed_where_it_pays),
        cmocka_unit_test(a_rotated_log_is_complete_in_every_file),
        cmocka_unit_test(what_was_flushed_is_readable_without_the_end),
        cmocka_unit_test(a_full_disk_is_told_once_and_a_new_file_can_begin),
        cmocka_unit_test(limits_are_sentences),
        cmocka_unit_test(writing_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
