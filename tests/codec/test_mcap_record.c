/* Records byte for byte as the MCAP project's own conformance files have them, in both directions; and no length is
 * believed. */
#include "mcap_help.h"

#include "base/sha256.h"

static void every_conformance_file_is_written_to_the_byte(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    uint32_t n;
    struct vector *vectors = vectors_new(&arena, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct nm_sha256 sha;
        uint8_t digest[32];
        char hex[65];
        nm_sha256_start(&sha);
        nm_sha256_add(&sha, vectors[i].file.bytes, vectors[i].file.n);
        nm_sha256_end(&sha, digest);
        nm_sha256_hex(digest, hex);
        if (strcmp(hex, vectors[i].sha256)) fail_msg("%s is not the file of this name", vectors[i].name);
    }
    vectors_free(vectors, n);
    nm_arena_free(&arena);
}

static void assert_same(const struct nm_mcap_record *got, const struct nm_mcap_record *wanted, const char *name)
{
    uint8_t a[2000], b[2000];
    size_t n = nm_mcap_encode(got, a, sizeof a);
    assert_true(n > 0);
    if (got->op != wanted->op || nm_mcap_encode(wanted, b, sizeof b) != n || memcmp(a, b, n))
        fail_msg("%s: %s at %llu is another one", name, nm_mcap_layouts[got->op].name, (unsigned long long)got->offset);
}

static void every_conformance_file_is_read_record_by_record(void **state)
{
    (void)state;
    struct nm_arena arena = {0};
    uint32_t n, compared = 0;
    struct vector *vectors = vectors_new(&arena, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct nm_mcap_source source = nm_mcap_memory(vectors[i].name, vectors[i].file.bytes, vectors[i].file.n);
        struct nm_mcap_scan scan;
        struct nm_mcap_record record;
        struct nm_err err = {0};
        uint32_t next = 0;
        enum nm_mcap_got got;
        nm_mcap_scan_begin(&scan, &source);
        scan.into = true;
        while ((got = nm_mcap_scan_next(&scan, &record, &err)) == NM_MCAP_GOT) {
            if (record.op == NM_MCAP_HEADER || record.op == NM_MCAP_CHUNK || record.op == NM_MCAP_MESSAGE_INDEX)
                continue;
            assert_true(next < vectors[i].n);
            assert_same(&record, &vectors[i].records[next++], vectors[i].name);
            compared++;
        }
        if (got != NM_MCAP_END) fail_msg("%s", err.text);
        assert_int_equal(next, vectors[i].n);
        nm_mcap_scan_end(&scan);
        assert_strict(&vectors[i].file, false);
    }
    print_message("%u records of %u files\n", compared, n);
    vectors_free(vectors, n);
    nm_arena_free(&arena);
}

/* Every field of every record is set to something else and read back. */
static void every_field_survives(void **state)
{
    (void)state;
    static const uint8_t entries[] = {2, 0, 0, 0, 'a', 'b', 1, 0, 0, 0, 'c'}, counts[20] = {7, 0, 9},
                         times[32] = {1, 2, 3};
    static const struct nm_bytes bytes[] = {
        [NM_MCAP_BYTES32] = {(const uint8_t *)"texts", 5},
        [NM_MCAP_BYTES64] = {entries, 9},
        [NM_MCAP_REST] = {times, 31},
        [NM_MCAP_TEXTS] = {entries, sizeof entries},
        [NM_MCAP_COUNTS] = {counts, sizeof counts},
        [NM_MCAP_ENTRIES] = {times, sizeof times},
    };
    for (uint8_t op = 1; op < NM_MCAP_OPS; op++) {
        struct nm_mcap_record record = {.op = op}, again = {.op = op};
        struct nm_mcap_spot spot = {.file = "test"};
        struct nm_err err = {0};
        uint8_t out[500];
        for (uint32_t i = 0; i < nm_mcap_layouts[op].n_fields; i++) {
            const struct nm_mcap_field *field = &nm_mcap_layouts[op].fields[i];
            uint64_t number = 0x0102030405060708u + i;
            static const size_t widths[] = {1, 2, 4, 8};
            if (field->kind <= NM_MCAP_U64)
                memcpy((uint8_t *)&record + field->offset, &number, widths[field->kind]);
            else
                memcpy((uint8_t *)&record + field->offset, &bytes[field->kind], sizeof *bytes);
        }
        size_t n = nm_mcap_encode(&record, out, sizeof out);
        assert_int_equal(n, nm_mcap_size(&record));
        assert_int_equal(nm_mcap_encode(&record, out, n - 1), 0);
        assert_int_equal(nm_mcap_encode(&record, out, n), n);
        struct nm_bytes content = {out + NM_MCAP_FRAME, n - NM_MCAP_FRAME};
        assert_int_equal(nm_mcap_decode(&again, content, &spot, &err), 0);
        assert_same(&again, &record, "every field");
        /* shorter by any number of bytes: a sentence, except where the rest is data */
        for (size_t short_by = 1; short_by <= content.n; short_by++) {
            err = (struct nm_err){0};
            uint8_t *exact = malloc(content.n - short_by + 1);
            memcpy(exact, content.at, content.n - short_by);
            int result = nm_mcap_decode(&again, (struct nm_bytes){exact, content.n - short_by}, &spot, &err);
            if (op == NM_MCAP_MESSAGE && content.n - short_by >= 22)
                assert_int_equal(result, 0);
            else
                assert_int_equal(result, -1);
            assert_int_equal(result != 0, err.n > 0);
            free(exact);
        }
    }
}

static void a_length_beyond_the_record_is_a_sentence_with_the_place(void **state)
{
    (void)state;
    struct nm_mcap_record record = {.op = NM_MCAP_SCHEMA};
    struct nm_mcap_spot spot = {.file = "match.mcap", .offset = 120};
    struct nm_err err = {0};
    const uint8_t bytes[] = {1, 0, 255, 255, 255, 255, 'x'};
    assert_int_equal(nm_mcap_decode(&record, (struct nm_bytes){bytes, sizeof bytes}, &spot, &err), -1);
    assert_string_equal(err.text, "match.mcap: byte 120: name of this Schema is said to have 4294967295 bytes, but the "
                                  "record has 1 more\n");
}

static void foreign_texts_are_safe_to_print(void **state)
{
    (void)state;
    char to[12];
    assert_string_equal(nm_mcap_clean(to, sizeof to, nm_bytes_of("/imu")), "/imu");
    assert_string_equal(nm_mcap_clean(to, sizeof to, nm_bytes_of("\033[2J\a\x7f")), "?[2J??");
    assert_string_equal(nm_mcap_clean(to, sizeof to,
                                      nm_bytes_of("\xc2\x9b"
                                                  "1m")),
                        "??1m");
    assert_string_equal(nm_mcap_clean(to, sizeof to, nm_bytes_of("0123456789€")), "0123456789");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_conformance_file_is_written_to_the_byte),
        cmocka_unit_test(every_conformance_file_is_read_record_by_record),
        cmocka_unit_test(every_field_survives),
        cmocka_unit_test(a_length_beyond_the_record_is_a_sentence_with_the_place),
        cmocka_unit_test(foreign_texts_are_safe_to_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
