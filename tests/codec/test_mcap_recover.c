/* A log that ends anywhere, as after a kill or a loss of power, gives all that was written before; recovered it is a
 * whole log again. A damaged one loses what is damaged and nothing else. */
#include "mcap_help.h"

enum { MOST = 400 };
static struct wrote wrote[MOST];

/* Messages in the order of the file; returns how many, and whether the log had its end. */
static uint32_t scan_messages(const struct buffer *file, bool *whole)
{
    struct nm_mcap_source source = nm_mcap_memory("log", file->bytes, file->n);
    struct nm_mcap_scan scan;
    struct nm_mcap_record record;
    struct nm_err err = {0};
    enum nm_mcap_got got;
    uint32_t n = 0;
    nm_mcap_scan_begin(&scan, &source);
    scan.into = true;
    while ((got = nm_mcap_scan_next(&scan, &record, &err)) == NM_MCAP_GOT) {
        if (record.op != NM_MCAP_MESSAGE) continue;
        assert_int_equal(record.message.sequence, n);
        assert_int_equal(record.message.log_time, wrote[n].log_time);
        assert_true(data_are(record.message.data, &wrote[n]));
        n++;
    }
    *whole = got == NM_MCAP_END;
    if (got != NM_MCAP_END && !err.n) fail_msg("cut off without a sentence");
    if (got == NM_MCAP_DAMAGED) fail_msg("%s", err.text);
    nm_mcap_scan_end(&scan);
    return n;
}

static struct nm_mcap_repair recover(const struct buffer *file, struct buffer *to)
{
    struct nm_mcap_source source = nm_mcap_memory("log", file->bytes, file->n);
    struct nm_mcap_repair repair;
    struct nm_err found = {0}, err = {0};
    struct nm_mcap_write_options options = {.packing = NM_MCAP_LZ4, .chunk_size = 3000};
    to->n = 0;
    if (nm_mcap_recover(&source, &options, buffer_write, to, &repair, &found, &err)) fail_msg("%s", err.text);
    assert_int_equal(repair.whole && !repair.damaged, !found.n);
    return repair;
}

/* The messages that end before each byte of the file, by the offsets of the whole one. Those in packed chunks count
 * from the end of their chunk. */
static void count_before(const struct buffer *file, uint32_t *before)
{
    struct nm_mcap_source source = nm_mcap_memory("log", file->bytes, file->n);
    struct nm_mcap_scan scan;
    struct nm_mcap_record record;
    struct nm_mcap_record chunk = {0};
    nm_mcap_scan_begin(&scan, &source);
    scan.into = true;
    memset(before, 0, (file->n + 1) * sizeof *before);
    while (nm_mcap_scan_next(&scan, &record, NULL) == NM_MCAP_GOT) {
        if (record.op == NM_MCAP_CHUNK) chunk = record;
        if (record.op != NM_MCAP_MESSAGE) continue;
        uint64_t end = chunk.offset + chunk.length;
        if (!chunk.chunk.compression.n) end += record.offset + record.length - chunk.chunk.uncompressed_size;
        before[end]++;
    }
    for (size_t i = 0; i < file->n; i++) before[i + 1] += before[i];
    nm_mcap_scan_end(&scan);
}

/* A log of n messages, cut at every byte; after each `step` bytes it is recovered, too. */
static void cut_at_every_byte(enum nm_mcap_packing packing, uint32_t messages, size_t step)
{
    struct buffer file = {0}, again = {0};
    random_log(5, &(struct nm_mcap_write_options){.packing = packing, .chunk_size = 4000}, wrote, messages, &file);
    uint32_t *before = malloc((file.n + 1) * sizeof *before), most = 0;
    bool whole;
    count_before(&file, before);
    for (size_t size = NM_MCAP_MAGIC_SIZE; size <= file.n; size++) {
        /* an exact copy, so that a sanitizer sees the first byte read past the end */
        struct buffer cut = {.bytes = malloc(size), .n = size};
        memcpy(cut.bytes, file.bytes, size);
        uint32_t n = scan_messages(&cut, &whole);
        if (packing ? n < before[size] : n != before[size])
            fail_msg("cut at byte %zu: %u messages instead of %u", size, n, before[size]);
        assert_int_equal(whole, size == file.n);
        if (n < most) fail_msg("fewer messages of more bytes");
        most = n;
        if (size % step == 0 || size == file.n) {
            assert_int_equal(recover(&cut, &again).messages, n);
            assert_strict(&again, false);
            assert_int_equal(scan_messages(&again, &whole), n);
            assert_true(whole);
        }
        free(cut.bytes);
    }
    assert_int_equal(most, messages);
    free(before);
    free(file.bytes);
    free(again.bytes);
}

static void cut_at_every_byte_everything_before_is_there(void **state)
{
    (void)state;
    for (int packing = 0; packing < 3; packing++) {
        cut_at_every_byte((enum nm_mcap_packing)packing, 15, 1);
        cut_at_every_byte((enum nm_mcap_packing)packing, 120, 60);
    }
}

static void the_contents_of_a_cut_log_are_those_of_its_recovery(void **state)
{
    (void)state;
    struct buffer file = {0}, again = {0};
    random_log(8, &(struct nm_mcap_write_options){.packing = NM_MCAP_STORED, .chunk_size = 20000}, wrote, 300, &file);
    for (size_t size = file.n; size > 20; size -= size / 13 + 1) {
        struct buffer cut = {.bytes = file.bytes, .n = size};
        struct nm_mcap_source source = nm_mcap_memory("log", file.bytes, size);
        struct nm_mcap_contents contents;
        struct nm_mcap_message message;
        struct nm_err err = {0};
        uint64_t n = 0, last = 0;
        uint32_t channel;
        int got;
        assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0);
        assert_int_equal(contents.messages, recover(&cut, &again).messages);
        struct nm_mcap_query *query = nm_mcap_query_new(&source, &contents, &(struct nm_mcap_query_options){0});
        while ((got = nm_mcap_query_next(query, &message, &channel, &err)) > 0) {
            assert_true(message.log_time >= last);
            last = message.log_time;
            n++;
        }
        if (got) fail_msg("%s", err.text);
        assert_int_equal(n, contents.messages);
        nm_mcap_query_free(query);
        nm_mcap_contents_free(&contents);
    }
    free(file.bytes);
    free(again.bytes);
}

static void conformance_files_cut_anywhere_are_recovered(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    struct buffer again = {0};
    uint32_t n, files = 0;
    struct vector *vectors = vectors_new(&arena, &n);
    for (uint32_t i = 0; i < n; i += 61) {
        for (size_t size = NM_MCAP_MAGIC_SIZE; size <= vectors[i].file.n; size += 3, files++) {
            struct buffer cut = {.bytes = vectors[i].file.bytes, .n = size};
            recover(&cut, &again);
            assert_strict(&again, false);
        }
    }
    print_message("%u cut files\n", files);
    free(again.bytes);
    vectors_free(vectors, n);
    nm_arena_free(&arena);
}

static void attachments_metadata_and_silent_channels_survive(void **state)
{
    (void)state;
    struct buffer file = {0}, again = {0};
    struct nm_err err = {0};
    struct nm_mcap_contents old, new;
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){.profile = "x"});
    add_channels(w);
    nm_mcap_start(w, buffer_write, &file, &err);
    for (int i = 1; i <= CHANNELS; i++) nm_mcap_announce(w, i, &err);
    uint8_t map[100];
    size_t used = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("team"), nm_bytes_of("7"));
    nm_mcap_describe(w, &(struct nm_mcap_metadata){nm_bytes_of("run"), {map, used}}, &err);
    nm_mcap_attach(
        w, &(struct nm_mcap_attachment){1, 2, nm_bytes_of("a.yaml"), nm_bytes_of("text/yaml"), nm_bytes_of("a: 1"), 0},
        &err);
    nm_mcap_write(w, &(struct nm_mcap_message){.channel_id = 3, .log_time = 9}, &err);
    nm_mcap_flush(w, &err);
    nm_mcap_writer_free(w);

    assert_int_equal(recover(&file, &again).messages, 1);
    assert_strict(&again, true);
    struct nm_mcap_source before = nm_mcap_memory("old", file.bytes, file.n),
                          after = nm_mcap_memory("new", again.bytes, again.n);
    assert_int_equal(nm_mcap_contents_read(&old, &before, &err), 0);
    assert_int_equal(nm_mcap_contents_read(&new, &after, &err), 0);
    assert_false(old.whole);
    assert_true(new.summary);
    assert_true(nm_bytes_are(new.profile, "x"));
    assert_int_equal(new.n_channels, CHANNELS);
    assert_int_equal(new.n_attachments, 1);
    assert_int_equal(new.n_metadata, 1);
    for (int i = 0; i < CHANNELS; i++) {
        assert_true(nm_bytes_equal(old.channels[i].topic, new.channels[i].topic));
        assert_true(nm_bytes_equal(old.channels[i].metadata, new.channels[i].metadata));
        assert_int_equal(old.counts[i], new.counts[i]);
    }
    nm_mcap_contents_free(&old);
    nm_mcap_contents_free(&new);
    free(file.bytes);
    free(again.bytes);
}

/* One byte in the middle of a chunk is wrong: its messages are lost, no others. The channels that stood in it come from
 * the summary. */
static void a_damaged_chunk_costs_only_itself(void **state)
{
    (void)state;
    for (int packing = 0; packing < 3; packing++) {
        struct buffer file = {0}, again = {0};
        struct nm_mcap_write_options options = {.packing = (enum nm_mcap_packing)packing, .chunk_size = 8000};
        struct nm_mcap_contents contents;
        random_log(11, &options, wrote, 300, &file);
        struct nm_mcap_source source = nm_mcap_memory("log", file.bytes, file.n);
        assert_int_equal(nm_mcap_contents_read(&contents, &source, NULL), 0);
        for (uint32_t i = 0; i < contents.n_chunks; i++) {
            const struct nm_mcap_chunk_index *chunk = &contents.chunks[i];
            struct nm_mcap_window window = {0};
            struct nm_mcap_unpacker unpacker = {0};
            struct nm_mcap_unpacked unpacked = {0};
            struct nm_mcap_record record;
            struct nm_mcap_spot spot = {.file = "log"};
            uint32_t inside = 0;
            size_t at = 0;
            nm_mcap_chunk_at(&source, &window, &unpacker, chunk->chunk_start_offset, &record, &unpacked, NULL);
            while (nm_mcap_chunk_next(&unpacked, &spot, &at, &record, NULL) > 0) inside += record.op == NM_MCAP_MESSAGE;
            nm_mcap_unpacked_free(&unpacked);
            nm_mcap_unpacker_free(&unpacker);

            uint8_t *byte = file.bytes + chunk->chunk_start_offset + chunk->chunk_length - chunk->compressed_size / 2;
            *byte ^= 0x10;
            struct nm_mcap_repair repair = recover(&file, &again);
            assert_int_equal(repair.damaged, 1);
            assert_int_equal(repair.messages, 300 - inside);
            assert_int_equal(repair.orphans, 0);
            assert_strict(&again, false);
            *byte ^= 0x10;

            /* the length of the chunk's record: its end cannot be found, but the summary knows where the next one is */
            file.bytes[chunk->chunk_start_offset + 4] ^= 0x40;
            repair = recover(&file, &again);
            assert_true(repair.messages >= 300 - inside);
            assert_strict(&again, false);
            file.bytes[chunk->chunk_start_offset + 4] ^= 0x40;
        }
        nm_mcap_contents_free(&contents);
        free(file.bytes);
        free(again.bytes);
    }
}

/* Strict readers refuse a map with a key that is there twice. */
static void doubled_keys_become_single(void **state)
{
    (void)state;
    struct buffer file = {0}, again = {0};
    uint8_t map[100];
    struct nm_mcap_contents contents;
    size_t used = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("a"), nm_bytes_of("1"));
    used = nm_mcap_add_text(map, used, sizeof map, nm_bytes_of("a"), nm_bytes_of("2"));
    used = nm_mcap_add_text(map, used, sizeof map, nm_bytes_of("b"), nm_bytes_of("3"));
    struct nm_mcap_record header = {.op = NM_MCAP_HEADER};
    struct nm_mcap_record channel = {.op = NM_MCAP_CHANNEL, .channel = {.id = 1, .metadata = {map, used}}};
    struct nm_mcap_record metadata = {.op = NM_MCAP_METADATA, .metadata = {.metadata = {map, used}}};
    buffer_write(&file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    buffer_record(&file, &header, false);
    buffer_record(&file, &channel, false);
    buffer_record(&file, &metadata, false);
    recover(&file, &again);
    assert_strict(&again, true);
    struct nm_mcap_source source = nm_mcap_memory("log", again.bytes, again.n);
    assert_int_equal(nm_mcap_contents_read(&contents, &source, NULL), 0);
    assert_true(nm_bytes_are(nm_mcap_text_at(contents.channels[0].metadata, "a"), "1"));
    assert_true(nm_bytes_are(nm_mcap_text_at(contents.channels[0].metadata, "b"), "3"));
    assert_int_equal(contents.channels[0].metadata.n, used - 10);
    nm_mcap_contents_free(&contents);
    free(file.bytes);
    free(again.bytes);
}

static void what_is_no_log_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "hello", "\x89MCAP0\r", "\x89MCAP1\r\n and more"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct nm_mcap_source source = nm_mcap_memory("x.mcap", texts[i], strlen(texts[i]));
        struct nm_mcap_contents contents;
        struct nm_mcap_repair repair;
        struct buffer to = {0};
        struct nm_err err = {0}, found = {0};
        assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), -1);
        assert_non_null(strstr(err.text, "x.mcap: this is no MCAP"));
        nm_mcap_contents_free(&contents);
        struct nm_mcap_write_options options = {0};
        assert_int_equal(nm_mcap_recover(&source, &options, buffer_write, &to, &repair, &found, &err), -1);
        assert_true(nm_mcap_check(&source, &err, &found) > 0);
        free(to.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_at_every_byte_everything_before_is_there),
        cmocka_unit_test(the_contents_of_a_cut_log_are_those_of_its_recovery),
        cmocka_unit_test(conformance_files_cut_anywhere_are_recovered),
        cmocka_unit_test(attachments_metadata_and_silent_channels_survive),
        cmocka_unit_test(a_damaged_chunk_costs_only_itself),
        cmocka_unit_test(doubled_keys_become_single),
        cmocka_unit_test(what_is_no_log_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
