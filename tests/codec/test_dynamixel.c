/* Dynamixel packets: the vectors of the protocol's manual, byte for byte; parsing in any cut and after garbage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codec/dynamixel.h"

struct bytes {
    size_t n;
    uint8_t at[64];
};

static struct bytes hex(const char *text)
{
    struct bytes b = {0};
    for (int used; sscanf(text, "%2hhx%n", &b.at[b.n], &used) == 1; text += used) b.n++;
    return b;
}

static void assert_packet(size_t n, const uint8_t *out, const char *expected)
{
    struct bytes e = hex(expected);
    assert_int_equal(n, e.n);
    assert_memory_equal(out, e.at, e.n);
}

static uint32_t random_below(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*seed * below >> 32);
}

#define LE(...) ((const uint8_t[]){__VA_ARGS__})

static void protocol_1_equals_the_manual(void **state)
{
    (void)state;
    uint8_t out[64];
    assert_packet(nm_dxl_ping(1, 1, out, sizeof out), out, "FF FF 01 02 01 FB");
    assert_packet(nm_dxl_status(1, 1, 0, NULL, 0, out, sizeof out), out, "FF FF 01 02 00 FC");
    assert_packet(nm_dxl_read(1, 1, 43, 1, out, sizeof out), out, "FF FF 01 04 02 2B 01 CC");
    struct nm_dxl_block id = {.id = 0xFE, .address = 3, .size = 1, .data = LE(1)};
    assert_packet(nm_dxl_write(1, id, out, sizeof out), out, "FF FF FE 04 03 03 01 F6");
    struct nm_dxl_block later = {.id = 1, .address = 30, .size = 2, .data = LE(0xF4, 0x01)};
    assert_packet(nm_dxl_reg_write(1, later, out, sizeof out), out, "FF FF 01 05 04 1E F4 01 E2");
    assert_packet(nm_dxl_action(1, 0xFE, out, sizeof out), out, "FF FF FE 02 05 FA");
    struct nm_dxl_block goals[] = {{.id = 0, .address = 30, .size = 4, .data = LE(0x10, 0, 0x50, 1)},
                                   {.id = 1, .address = 30, .size = 4, .data = LE(0x20, 2, 0x60, 3)}};
    assert_packet(nm_dxl_sync_write(1, goals, 2, out, sizeof out), out,
                  "FF FF FE 0E 83 1E 04 00 10 00 50 01 01 20 02 60 03 67");
    struct nm_dxl_block reads[] = {{.id = 1, .address = 30, .size = 2}, {.id = 2, .address = 36, .size = 2}};
    assert_packet(nm_dxl_bulk_read(1, reads, 2, out, sizeof out), out, "FF FF FE 09 92 00 02 01 1E 02 02 24 1D");
    assert_packet(nm_dxl_status(1, 1, NM_DXL_OVERLOAD | NM_DXL_OVERHEATING, NULL, 0, out, sizeof out), out,
                  "FF FF 01 02 24 D8");
}

static void protocol_2_equals_the_manual(void **state)
{
    (void)state;
    uint8_t out[64];
    assert_packet(nm_dxl_ping(2, 1, out, sizeof out), out, "FF FF FD 00 01 03 00 01 19 4E");
    assert_packet(nm_dxl_ping(2, 0xFE, out, sizeof out), out, "FF FF FD 00 FE 03 00 01 31 42");
    assert_packet(nm_dxl_read(2, 1, 132, 4, out, sizeof out), out, "FF FF FD 00 01 07 00 02 84 00 04 00 1D 15");
    assert_packet(nm_dxl_status(2, 1, 0, LE(0xA6, 0, 0, 0), 4, out, sizeof out), out,
                  "FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0");
    struct nm_dxl_block goal = {.id = 1, .address = 116, .size = 4, .data = LE(0, 2, 0, 0)};
    assert_packet(nm_dxl_write(2, goal, out, sizeof out), out, "FF FF FD 00 01 09 00 03 74 00 00 02 00 00 CA 89");
    struct nm_dxl_block positions[] = {{.id = 1, .address = 132, .size = 4}, {.id = 2, .address = 132, .size = 4}};
    assert_packet(nm_dxl_sync_read(2, positions, 2, out, sizeof out), out,
                  "FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA");
    struct nm_dxl_block goals[] = {{.id = 1, .address = 116, .size = 4, .data = LE(150, 0, 0, 0)},
                                   {.id = 2, .address = 116, .size = 4, .data = LE(170, 0, 0, 0)}};
    assert_packet(nm_dxl_sync_write(2, goals, 2, out, sizeof out), out,
                  "FF FF FD 00 FE 11 00 83 74 00 04 00 01 96 00 00 00 02 AA 00 00 00 82 87");
    struct nm_dxl_block reads[] = {{.id = 1, .address = 144, .size = 2}, {.id = 2, .address = 146, .size = 1}};
    assert_packet(nm_dxl_bulk_read(2, reads, 2, out, sizeof out), out,
                  "FF FF FD 00 FE 0D 00 92 01 90 00 02 00 02 92 00 01 00 1A 05");
    struct nm_dxl_block limits[] = {{.id = 1, .address = 32, .size = 2, .data = LE(160, 0)},
                                    {.id = 2, .address = 31, .size = 1, .data = LE(80)}};
    assert_packet(nm_dxl_bulk_write(limits, 2, out, sizeof out), out,
                  "FF FF FD 00 FE 10 00 93 01 20 00 02 00 A0 00 02 1F 00 01 00 50 B7 68");
    assert_packet(nm_dxl_status(2, 1, 0, NULL, 0, out, sizeof out), out, "FF FF FD 00 01 04 00 55 00 A1 0C");
    struct nm_dxl_block header = {.id = 1, .address = 116, .size = 4, .data = LE(0xFF, 0xFF, 0xFD, 0)};
    assert_packet(nm_dxl_write(2, header, out, sizeof out), out, "FF FF FD 00 01 0A 00 03 74 00 FF FF FD FD 00 21 E7");
    assert_int_equal(nm_dxl_crc(0, (const uint8_t *)"123456789", 9), 0xFEE8);
}

static void the_router_board_reads_many_at_once(void **state)
{
    (void)state;
    uint8_t out[64];
    struct nm_dxl_block positions[] = {{.id = 1, .address = 36, .size = 2}, {.id = 2, .address = 36, .size = 2}};
    size_t n = nm_dxl_sync_read(1, positions, 2, out, sizeof out);
    assert_packet(n, out, "FF FF FE 06 84 24 02 01 02 4E");
}

static void what_does_not_fit_is_refused_whole(void **state)
{
    (void)state;
    uint8_t out[2048], data[1200] = {0};
    for (size_t room = 0; room < 6; room++) assert_int_equal(nm_dxl_ping(1, 1, out, room), 0);
    assert_int_equal(nm_dxl_ping(2, 1, out, 9), 0);
    assert_int_equal(nm_dxl_read(1, 1, 256, 1, out, sizeof out), 0); /* 1.0 has one byte for an address */
    assert_true(nm_dxl_read(2, 1, 256, 1, out, sizeof out) > 0);
    assert_int_equal(nm_dxl_build(1, 1, NM_DXL_WRITE, data, 254, out, sizeof out), 0);
    assert_int_equal(nm_dxl_build(1, 1, NM_DXL_WRITE, data, 253, out, sizeof out), NM_DXL_MAX_1);
    assert_int_equal(nm_dxl_build(2, 1, NM_DXL_WRITE, data, sizeof data, out, sizeof out), 0);
    assert_int_equal(nm_dxl_bulk_read(2, NULL, 0, out, sizeof out), 0);
}

/* Feeds the stream in cuts of `cut` bytes (0: random) and returns how many packets came out, the last in *packet. */
static size_t parse(struct nm_dxl_parser *parser, const uint8_t *bytes, size_t n, size_t cut,
                    struct nm_dxl_packet *packet)
{
    size_t found = 0;
    uint32_t seed = 7;
    struct nm_dxl_packet p;
    for (size_t at = 0; at < n;) {
        size_t len = cut ? cut : 1 + random_below(&seed, 9);
        if (len > n - at) len = n - at;
        assert_int_equal(nm_dxl_feed(parser, bytes + at, len), len);
        at += len;
        while (nm_dxl_next(parser, &p)) found++, *packet = p;
    }
    return found;
}

static void packets_are_found_in_any_cut(void **state)
{
    (void)state;
    uint8_t stream[256];
    size_t n = nm_dxl_status(1, 7, 0x20, LE(1, 2, 0xFF, 0xFF), 4, stream, sizeof stream);
    n += nm_dxl_status(2, 9, 0x80, LE(0xFF, 0xFF, 0xFD, 0xFD, 5), 5, stream + n, sizeof stream - n);
    n += nm_dxl_status(1, 8, 0, NULL, 0, stream + n, sizeof stream - n);
    for (size_t cut = 0; cut <= n; cut++) {
        struct nm_dxl_parser parser;
        struct nm_dxl_packet p;
        nm_dxl_parser_init(&parser, 3, true);
        assert_int_equal(parse(&parser, stream, n, cut, &p), 3);
        assert_int_equal(p.id, 8);
        assert_int_equal(parser.garbage, 0);
    }
}

static void fields_of_an_answer(void **state)
{
    (void)state;
    struct nm_dxl_parser parser;
    struct nm_dxl_packet p;
    uint8_t out[64];
    nm_dxl_parser_init(&parser, 3, true);
    size_t n = nm_dxl_status(2, 9, NM_DXL_ALERT | NM_DXL_2_RANGE, LE(0xFF, 0xFF, 0xFD, 0xFD, 5), 5, out, sizeof out);
    assert_int_equal(parse(&parser, out, n, 1, &p), 1);
    assert_int_equal(p.protocol, 2);
    assert_int_equal(p.instruction, NM_DXL_STATUS);
    assert_int_equal(p.error, 0x84);
    assert_int_equal(p.n, 5);
    n = nm_dxl_status(1, 4, NM_DXL_OVERLOAD, LE(42), 1, out, sizeof out);
    nm_dxl_feed(&parser, out, n);
    assert_true(nm_dxl_next(&parser, &p));
    assert_int_equal(p.instruction, NM_DXL_STATUS);
    assert_int_equal(p.error, NM_DXL_OVERLOAD);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.data[0], 42);
}

static void it_finds_its_way_back_after_garbage(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        uint8_t stream[300], good[64];
        size_t n = 0, noise = random_below(&seed, 40);
        int protocol = 1 + (round & 1);
        /* noise without a full header, then a packet */
        for (size_t i = 0; i < noise; i++) {
            uint8_t byte = (uint8_t)random_below(&seed, 256);
            stream[n] = byte == 0xFF && n && stream[n - 1] == 0xFF ? 0 : byte;
            n++;
        }
        size_t whole = nm_dxl_status(protocol, 5, 0, LE(1, 2, 3), 3, good, sizeof good);
        if (noise && stream[n - 1] == 0xFF) stream[n - 1] = 0;
        memcpy(stream + n, good, whole);
        n += whole;
        struct nm_dxl_parser parser;
        struct nm_dxl_packet p;
        nm_dxl_parser_init(&parser, 3, true);
        assert_int_equal(parse(&parser, stream, n, 0, &p), 1);
        assert_int_equal(p.id, 5);
        assert_int_equal(parser.garbage, noise);
    }
}

static void a_damaged_packet_costs_only_itself(void **state)
{
    (void)state;
    for (int protocol = 1; protocol <= 2; protocol++) {
        uint8_t good[64];
        size_t n = nm_dxl_status(protocol, 5, 0, LE(1, 2, 3), 3, good, sizeof good);
        for (size_t bad = 0; bad < n; bad++) {
            uint8_t stream[192];
            for (size_t i = 0; i < 3; i++) memcpy(stream + i * n, good, n);
            stream[bad] ^= 0x10;
            struct nm_dxl_parser parser;
            struct nm_dxl_packet p;
            nm_dxl_parser_init(&parser, (uint8_t)protocol, true);
            size_t found = parse(&parser, stream, 3 * n, 0, &p);
            /* a length that grew swallows what follows until the end of the answers is declared */
            while (nm_dxl_last(&parser, &p)) found++;
            assert_int_equal(found, 2);
        }
    }
}

static void whole_packets_behind_a_false_header_are_saved(void **state)
{
    (void)state;
    uint8_t stream[64] = {0xFF, 0xFF, 0x03, 0xF0};
    size_t n = 4 + nm_dxl_status(1, 6, 0, LE(9), 1, stream + 4, sizeof stream - 4);
    struct nm_dxl_parser parser;
    struct nm_dxl_packet p;
    nm_dxl_parser_init(&parser, 1, true);
    nm_dxl_feed(&parser, stream, n);
    assert_false(nm_dxl_next(&parser, &p));
    assert_true(nm_dxl_last(&parser, &p));
    assert_int_equal(p.id, 6);
    assert_false(nm_dxl_last(&parser, &p));
    assert_int_equal(parser.used, 0);
}

/* LEN + 2 takes in the next header, and the checksum still fits: S + 2 + ~S + FF = FF. Who asked knows the length. */
static void a_false_packet_can_be_rejected(void **state)
{
    (void)state;
    uint8_t stream[64];
    size_t n = nm_dxl_status(1, 15, 0, LE(1, 2, 3), 3, stream, sizeof stream);
    stream[3] += 2;
    n += nm_dxl_status(1, 16, 0, LE(4, 5, 6), 3, stream + n, sizeof stream - n);
    struct nm_dxl_parser parser;
    struct nm_dxl_packet p;
    nm_dxl_parser_init(&parser, 1, true);
    nm_dxl_feed(&parser, stream, n);
    assert_true(nm_dxl_next(&parser, &p));
    assert_int_equal(p.id, 15);
    assert_int_equal(p.n, 5);
    nm_dxl_reject(&parser);
    assert_true(nm_dxl_next(&parser, &p));
    assert_int_equal(p.id, 16);
    assert_int_equal(p.n, 3);
    assert_int_equal(parser.damaged, 1);
}

static void any_data_survives_the_stuffing(void **state)
{
    (void)state;
    static const uint8_t favourites[] = {0xFF, 0xFF, 0xFF, 0xFD, 0xFD, 0x00};
    uint32_t seed = 3;
    for (int round = 0; round < 5000; round++) {
        uint8_t data[40], out[128];
        size_t n = random_below(&seed, sizeof data);
        for (size_t i = 0; i < n; i++) data[i] = favourites[random_below(&seed, sizeof favourites)];
        size_t len = nm_dxl_build(2, 1, NM_DXL_WRITE, data, n, out, sizeof out);
        assert_true(len >= n + 10);
        /* no header inside: that is what stuffing is for */
        for (size_t i = 8; i + 5 < len - 2; i++)
            assert_false(out[i] == 0xFF && out[i + 1] == 0xFF && out[i + 2] == 0xFD && out[i + 3] != 0xFD);
        struct nm_dxl_parser parser;
        struct nm_dxl_packet p;
        nm_dxl_parser_init(&parser, 2, false);
        nm_dxl_feed(&parser, out, len);
        assert_true(nm_dxl_next(&parser, &p));
        assert_int_equal(p.n, n);
        if (n) assert_memory_equal(p.data, data, n);
    }
}

static void errors_are_told_in_words(void **state)
{
    (void)state;
    char text[96], tiny[5];
    assert_string_equal(nm_dxl_error_text(1, 0x24, text, sizeof text), "overheating, overload");
    assert_string_equal(nm_dxl_error_text(2, 0x84, text, sizeof text), "range, hardware alert");
    assert_string_equal(nm_dxl_error_text(2, 0x07, text, sizeof text), "access");
    assert_string_equal(nm_dxl_error_text(1, 0, text, sizeof text), "");
    assert_string_equal(nm_dxl_error_text(1, 0xFF, tiny, sizeof tiny), "inpu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protocol_1_equals_the_manual),
        cmocka_unit_test(protocol_2_equals_the_manual),
        cmocka_unit_test(the_router_board_reads_many_at_once),
        cmocka_unit_test(what_does_not_fit_is_refused_whole),
        cmocka_unit_test(packets_are_found_in_any_cut),
        cmocka_unit_test(fields_of_an_answer),
        cmocka_unit_test(it_finds_its_way_back_after_garbage),
        cmocka_unit_test(a_damaged_packet_costs_only_itself),
        cmocka_unit_test(whole_packets_behind_a_false_header_are_saved),
        cmocka_unit_test(a_false_packet_can_be_rejected),
        cmocka_unit_test(any_data_survives_the_stuffing),
        cmocka_unit_test(errors_are_told_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
