/* The strict check finds every change of a single byte in a log of ours, and names what is wrong. */
#include "mcap_help.h"

static struct wrote wrote[200];

static uint32_t check(const struct buffer *file, struct nm_err *faults, struct nm_err *notes)
{
    struct nm_mcap_source source = nm_mcap_memory("log", file->bytes, file->n);
    *faults = *notes = (struct nm_err){0};
    return nm_mcap_check(&source, faults, notes);
}

static void every_changed_byte_is_found(void **state)
{
    (void)state;
    struct nm_err faults, notes;
    for (int packing = 0; packing < 3; packing++) {
        struct buffer file = {0};
        random_log(2, &(struct nm_mcap_write_options){.packing = (enum nm_mcap_packing)packing, .chunk_size = 3000},
                   wrote, 60, &file);
        assert_int_equal(check(&file, &faults, &notes), 0);
        for (size_t i = 0; i < file.n; i++) {
            uint8_t mask = (uint8_t)(1u << (i % 8));
            file.bytes[i] ^= mask;
            if (!check(&file, &faults, &notes)) fail_msg("byte %zu of %zu may be anything", i, file.n);
            if (!faults.used) fail_msg("no sentence");
            file.bytes[i] ^= mask;
        }
        free(file.bytes);
    }
}

/* Changes a record of the summary and makes its CRC right again, as a wrong writer would. */
static void change(struct buffer *file, uint8_t op, size_t byte)
{
    struct nm_mcap_source source = nm_mcap_memory("log", file->bytes, file->n);
    struct nm_mcap_scan scan;
    struct nm_mcap_record record;
    uint64_t summary = 0, at = 0;
    nm_mcap_scan_begin(&scan, &source);
    while (nm_mcap_scan_next(&scan, &record, NULL) == NM_MCAP_GOT) {
        if (scan.data_ended && record.op == op && !at) at = record.offset;
        if (record.op == NM_MCAP_FOOTER) summary = record.footer.summary_start;
    }
    nm_mcap_scan_end(&scan);
    assert_true(at && summary);
    file->bytes[at + NM_MCAP_FRAME + byte] ^= 4;
    uint32_t crc = nm_crc32(0, file->bytes + summary, file->n - summary - 12);
    memcpy(file->bytes + file->n - 12, &crc, 4);
}

static void a_summary_that_lies_is_found_out(void **state)
{
    (void)state;
    static const struct {
        uint8_t op;
        size_t byte;
        const char *sentence;
    } lies[] = {
        {NM_MCAP_STATISTICS, 0, "message_count is"},
        {NM_MCAP_STATISTICS, 8, "schema_count is"},
        {NM_MCAP_STATISTICS, 10, "channel_count is"},
        {NM_MCAP_STATISTICS, 14, "attachment_count is"},
        {NM_MCAP_STATISTICS, 18, "metadata_count is"},
        {NM_MCAP_STATISTICS, 22, "chunk_count is"},
        {NM_MCAP_STATISTICS, 26, "message_start_time is"},
        {NM_MCAP_STATISTICS, 34, "message_end_time is"},
        {NM_MCAP_STATISTICS, 48, "channel_message_counts is"},
        {NM_MCAP_CHUNK_INDEX, 0, "message_start_time is"},
        {NM_MCAP_CHUNK_INDEX, 8, "message_end_time is"},
        {NM_MCAP_CHUNK_INDEX, 16, "names a chunk where none is"},
        {NM_MCAP_CHUNK_INDEX, 24, "chunk_length is"},
        {NM_MCAP_CHUNK_INDEX, 38, "not where the message indexes"},
        {NM_MCAP_ATTACHMENT_INDEX, 0, "names an attachment where none is"},
        {NM_MCAP_ATTACHMENT_INDEX, 8, "length is"},
        {NM_MCAP_ATTACHMENT_INDEX, 16, "log_time is"},
        {NM_MCAP_ATTACHMENT_INDEX, 32, "data_size is"},
        {NM_MCAP_ATTACHMENT_INDEX, 44, "attachment of another name"},
        {NM_MCAP_METADATA_INDEX, 0, "names metadata where none is"},
        {NM_MCAP_METADATA_INDEX, 20, "metadata of another name"},
        {NM_MCAP_SCHEMA, 6, "schema is another one"},
        {NM_MCAP_CHANNEL, 8, "channel is another one"},
        {NM_MCAP_SUMMARY_OFFSET, 1, "group_start is"},
        {NM_MCAP_SUMMARY_OFFSET, 9, "group_length is"},
        {NM_MCAP_FOOTER, 0, "summary_start is"},
        {NM_MCAP_FOOTER, 8, "summary_offset_start is"},
    };
    struct nm_err faults, notes;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct buffer file = {0};
        random_log(2, &(struct nm_mcap_write_options){.chunk_size = 3000}, wrote, 100, &file);
        change(&file, lies[i].op, lies[i].byte);
        check(&file, &faults, &notes);
        if (!strstr(faults.text, lies[i].sentence)) fail_msg("'%s' is not in: %s", lies[i].sentence, faults.text);
        free(file.bytes);
    }
}

static void put(struct buffer *file, struct nm_mcap_record record) { buffer_record(file, &record, false); }

static void a_wrong_order_is_named(void **state)
{
    (void)state;
    struct nm_err faults, notes;
    struct buffer file = {0};
    const struct nm_mcap_record header = {.op = NM_MCAP_HEADER, .header = {.library = nm_bytes_of("x")}};
    buffer_write(&file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    put(&file, header);
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_MESSAGE, .message = {.channel_id = 3}});
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_CHANNEL, .channel = {.id = 1, .schema_id = 2}});
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_STATISTICS});
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_MESSAGE_INDEX});
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_SCHEMA});
    buffer_write(&file, "\x90\2\0\0\0\0\0\0\0ab", 11); /* private: nobody's business */
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_FOOTER});
    buffer_write(&file, NM_MCAP_MAGIC "tail", NM_MCAP_MAGIC_SIZE + 4);
    check(&file, &faults, &notes);
    static const char *const sentences[] = {
        "message of channel 3, which does not stand before it",
        "channel 1 has schema 2, which does not stand before it",
        "a Statistics does not belong into the data section",
        "a message index without a chunk",
        "a schema has the id 0",
        "a Footer does not belong into the data section",
        "4 bytes follow the end",
        "there is no DataEnd",
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (!strstr(faults.text, sentences[i])) fail_msg("'%s' is not in: %s", sentences[i], faults.text);
    free(file.bytes);
}

static void chunks_that_lie_about_themselves(void **state)
{
    (void)state;
    struct nm_err faults, notes;
    struct buffer file = {0}, records = {0};
    put(&records, (struct nm_mcap_record){.op = NM_MCAP_CHANNEL, .channel = {.id = 1}});
    put(&records, (struct nm_mcap_record){.op = NM_MCAP_MESSAGE, .message = {.channel_id = 1, .log_time = 7}});
    struct nm_mcap_record chunk = {.op = NM_MCAP_CHUNK,
                                   .chunk = {.message_start_time = 6,
                                             .message_end_time = 7,
                                             .uncompressed_size = records.n,
                                             .records = {records.bytes, records.n}}};
    uint8_t entries[32] = {7, 0, 0, 0, 0, 0, 0, 0, 1};
    buffer_write(&file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_HEADER});
    put(&file, chunk);
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_MESSAGE_INDEX, .message_index = {1, {entries, 16}}});
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_MESSAGE_INDEX, .message_index = {1, {entries, 16}}});
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_MESSAGE_INDEX, .message_index = {2, {entries, 0}}});
    chunk.chunk.uncompressed_size++;
    put(&file, chunk);
    chunk.chunk.compression = nm_bytes_of("bzip\033");
    put(&file, chunk);
    chunk.chunk.compression = nm_bytes_of("zstd");
    chunk.chunk.uncompressed_size = UINT64_MAX;
    put(&file, chunk);
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_DATA_END});
    put(&file, (struct nm_mcap_record){.op = NM_MCAP_FOOTER});
    buffer_write(&file, NM_MCAP_MAGIC, NM_MCAP_MAGIC_SIZE);
    check(&file, &faults, &notes);
    static const char *const sentences[] = {
        "the messages of this chunk are from 7 to 7, it says 6 to 7",
        "names a message of channel 1 at 1 of its chunk; none is there",
        "channel 1 has a second index",
        "does not unpack to the",
        "compressed by 'bzip?'",
        "unpacks to 18446744073709551615 bytes; at most 268435456 are read",
    };
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (!strstr(faults.text, sentences[i])) fail_msg("'%s' is not in: %s", sentences[i], faults.text);
    if (!strstr(notes.text, "no statistics")) fail_msg("%s", notes.text);
    free(file.bytes);
    free(records.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_changed_byte_is_found),
        cmocka_unit_test(a_summary_that_lies_is_found_out),
        cmocka_unit_test(a_wrong_order_is_named),
        cmocka_unit_test(chunks_that_lie_about_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
