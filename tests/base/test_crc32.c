/* Both ways to a CRC-32 give the number that its definition, one bit at a time, gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"

static uint32_t by_definition(uint32_t crc, const uint8_t *at, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void the_check_value_of_the_catalogues(void **state)
{
    (void)state;
    assert_int_equal(nm_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(nm_crc32_plain(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(nm_crc32(0, "", 0), 0);
    assert_int_equal(nm_crc32(0x1234, NULL, 0), 0x1234);
}

static void every_length_and_alignment(void **state)
{
    (void)state;
    uint8_t bytes[400];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * i * 7 + i / 3);
    for (size_t size = 0; size <= 330; size++) {
        for (size_t from = 0; from < 17; from += 3) {
            uint32_t wanted = by_definition(0x5eed, bytes + from, size);
            assert_int_equal(nm_crc32(0x5eed, bytes + from, size), wanted);
            assert_int_equal(nm_crc32_plain(0x5eed, bytes + from, size), wanted);
        }
    }
}

static void it_does_not_matter_how_the_bytes_come_in(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    uint8_t *bytes = malloc(SIZE);
    uint64_t x = 1;
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (uint8_t)((x = x * 6364136223846793005u + 1442695040888963407u) >> 56);
    uint32_t whole = by_definition(0, bytes, SIZE);
    assert_int_equal(nm_crc32(0, bytes, SIZE), whole);
    for (size_t piece = 1; piece < 5000; piece = piece * 3 + 1) {
        uint32_t crc = 0;
        for (size_t at = 0; at < SIZE; at += piece)
            crc = nm_crc32(crc, bytes + at, SIZE - at < piece ? SIZE - at : piece);
        assert_int_equal(crc, whole);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_check_value_of_the_catalogues),
        cmocka_unit_test(every_length_and_alignment),
        cmocka_unit_test(it_does_not_matter_how_the_bytes_come_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
