/* Messages by time and topic are what sorting all of them gives, whether they are in chunks or not, in memory or in a
 * file. */
#include "mcap_help.h"

#include <unistd.h>

enum { MOST = 1500 };
static struct wrote wrote[MOST];

static int earlier(const void *a, const void *b)
{
    const struct wrote *x = a, *y = b;
    if (x->log_time != y->log_time) return x->log_time < y->log_time ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static bool asked_for(const struct wrote *m, const struct nm_mcap_query_options *options,
                      const struct nm_mcap_contents *contents)
{
    int channel = nm_mcap_channel_of(contents, (uint16_t)m->channel);
    return m->log_time >= options->from && (!options->to || m->log_time < options->to) &&
           (!options->channels || options->channels[channel]);
}

/* Against the sorted list. */
static uint32_t assert_answer(const struct nm_mcap_source *source, const struct nm_mcap_contents *contents,
                              const struct nm_mcap_query_options *options, uint32_t n)
{
    struct nm_mcap_query *query = nm_mcap_query_new(source, contents, options);
    struct nm_mcap_message message;
    struct nm_err err = {0};
    uint32_t channel, i = 0, count = 0;
    int got;
    while ((got = nm_mcap_query_next(query, &message, &channel, &err)) > 0) {
        while (i < n && !asked_for(&wrote[i], options, contents)) i++;
        assert_true(i < n);
        assert_int_equal(message.sequence, wrote[i].sequence);
        assert_int_equal(message.log_time, wrote[i].log_time);
        assert_int_equal(contents->channels[channel].id, wrote[i].channel);
        assert_true(data_are(message.data, &wrote[i]));
        i++;
        count++;
    }
    if (got) fail_msg("%s", err.text);
    while (i < n) assert_false(asked_for(&wrote[i++], options, contents));
    nm_mcap_query_free(query);
    return count;
}

static void ask_a_lot(const struct nm_mcap_source *source, uint32_t n, uint64_t seed)
{
    struct nm_mcap_contents contents;
    struct nm_err err = {0};
    assert_int_equal(nm_mcap_contents_read(&contents, source, &err), 0);
    uint32_t all = assert_answer(source, &contents, &(struct nm_mcap_query_options){0}, n);
    assert_int_equal(all, n);
    for (int i = 0; i < 20; i++) {
        bool channels[CHANNELS];
        for (int c = 0; c < CHANNELS; c++) channels[c] = next_random(&seed) & 1;
        uint64_t from = wrote[next_random(&seed) % n].log_time, to = from + next_random(&seed) % 20000000;
        struct nm_mcap_query_options options = {.from = from, .to = to, .channels = i % 3 ? channels : NULL};
        assert_answer(source, &contents, &options, n);
    }
    nm_mcap_contents_free(&contents);
}

static void any_question_to_any_log(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 13; seed++) {
        struct buffer file = {0};
        uint32_t n = 200 * (uint32_t)(seed % 7 + 1);
        struct nm_mcap_write_options options = {.packing = (enum nm_mcap_packing)(seed % 3),
                                                .chunk_size = 500u << (seed % 6)};
        random_log(seed, &options, wrote, n, &file);
        qsort(wrote, n, sizeof *wrote, earlier);
        struct nm_mcap_source source = nm_mcap_memory("log", file.bytes, file.n);
        ask_a_lot(&source, n, seed);
        /* without its summary */
        source.size -= NM_MCAP_TAIL;
        ask_a_lot(&source, n, seed);
        free(file.bytes);
    }
}

static void from_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/nutmeg-test-XXXXXX";
    struct buffer file = {0};
    struct nm_err err = {0};
    random_log(77, &(struct nm_mcap_write_options){.packing = NM_MCAP_ZSTD, .chunk_size = 20000}, wrote, MOST, &file);
    qsort(wrote, MOST, sizeof *wrote, earlier);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file.bytes, file.n), file.n);
    close(fd);
    struct nm_mcap_source source;
    assert_int_equal(nm_mcap_open(&source, path, &err), 0);
    ask_a_lot(&source, MOST, 5);
    assert_int_equal(truncate(path, (off_t)file.n / 2), 0);
    struct nm_mcap_contents contents;
    assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0); /* its size was taken before */
    assert_false(contents.whole);
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
    unlink(path);
    free(file.bytes);
    assert_int_equal(nm_mcap_open(&source, path, &err), -1);
    assert_int_equal(nm_mcap_open(&source, "/tmp", &err), -1);
    assert_non_null(strstr(err.text, "/tmp: this is no file"));
}

static void messages_outside_of_chunks(void **state)
{
    (void)state;
    struct buffer file = {0};
    struct nm_mcap_record header = {.op = NM_MCAP_HEADER}, end = {.op = NM_MCAP_DATA_END},
                          footer = {.op = NM_MCAP_FOOTER};
    uint64_t seed = 4;
    uint8_t data[300];
    enum { N = 500 };
    buffer_write(&file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    buffer_record(&file, &header, false);
    for (int i = 0; i < CHANNELS; i++) {
        struct nm_mcap_record channel = {.op = NM_MCAP_CHANNEL,
                                         .channel = {.id = (uint16_t)(7 + i), .topic = nm_bytes_of("/t")}};
        buffer_record(&file, &channel, false);
    }
    for (uint32_t i = 0; i < N; i++) {
        uint64_t bits = next_random(&seed);
        wrote[i] = (struct wrote){.channel = 7 + (int)(bits % CHANNELS),
                                  .sequence = i,
                                  .log_time = bits >> 32 & 0xfff,
                                  .first = (uint8_t)bits,
                                  .size = (uint32_t)(bits >> 50 & 255)};
        fill_data(data, &wrote[i]);
        struct nm_mcap_record message = {
            .op = NM_MCAP_MESSAGE,
            .message = {(uint16_t)wrote[i].channel, i, wrote[i].log_time, 0, {data, wrote[i].size}}};
        buffer_record(&file, &message, false);
    }
    buffer_record(&file, &end, false);
    buffer_record(&file, &footer, false);
    buffer_write(&file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    qsort(wrote, N, sizeof *wrote, earlier);
    struct nm_mcap_source source = nm_mcap_memory("log", file.bytes, file.n);
    ask_a_lot(&source, N, 6);
    free(file.bytes);
}

/* A log whose index is changed by `spoil` gives this sentence; how many messages come after it. */
static uint32_t assert_fault(void (*spoil)(struct nm_mcap_contents *), struct nm_mcap_query_options options,
                             const char *sentence)
{
    struct buffer file = {0};
    struct nm_mcap_contents contents;
    struct nm_mcap_message message;
    struct nm_err err = {0};
    uint32_t channel, more = 0;
    int got;
    random_log(3, &(struct nm_mcap_write_options){.chunk_size = 2000}, wrote, 600, &file);
    struct nm_mcap_source source = nm_mcap_memory("log", file.bytes, file.n);
    assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0);
    spoil(&contents);
    struct nm_mcap_query *query = nm_mcap_query_new(&source, &contents, &options);
    while ((got = nm_mcap_query_next(query, &message, &channel, &err)) > 0) {}
    assert_int_equal(got, -1);
    assert_non_null(strstr(err.text, sentence));
    while (nm_mcap_query_next(query, &message, &channel, &err) > 0) more++;
    nm_mcap_query_free(query);
    nm_mcap_contents_free(&contents);
    free(file.bytes);
    return more;
}

static void all_at_once(struct nm_mcap_contents *contents)
{
    for (uint32_t i = 0; i < contents->n_chunks; i++) contents->chunks[i].message_start_time = 0;
}

static void too_many_overlapping_chunks_are_a_sentence(void **state)
{
    (void)state;
    assert_fault(all_at_once, (struct nm_mcap_query_options){.overlap_bytes = 20000}, "overlap in time");
}

static void one_ends_too_early(struct nm_mcap_contents *contents)
{
    contents->chunks[3].message_end_time = contents->chunks[3].message_start_time;
}

static void an_index_that_lies_is_found_out(void **state)
{
    (void)state;
    uint32_t of_other_chunks =
        assert_fault(one_ends_too_early, (struct nm_mcap_query_options){0}, "another time than its index says");
    assert_true(of_other_chunks > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_question_to_any_log),         cmocka_unit_test(from_a_file),
        cmocka_unit_test(messages_outside_of_chunks),      cmocka_unit_test(too_many_overlapping_chunks_are_a_sentence),
        cmocka_unit_test(an_index_that_lies_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
