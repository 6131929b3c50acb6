/* What this user recorded on this machine is known by its signature, and nothing else is. */
#include "edge/log/rig.h"

#include <sys/stat.h>

#include "edge/log/own.h"

static void the_key_is_made_once_and_is_nobody_elses(void **state)
{
    (void)state;
    uint8_t first[NM_OWN_KEY], again[NM_OWN_KEY];
    struct stat about;
    assert_false(nm_own_key(first, false));
    assert_true(nm_own_key(first, true));
    assert_true(nm_own_key(again, false));
    assert_memory_equal(first, again, sizeof first);
    assert_int_equal(stat(in_place("nutmeg/key"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    /* one that others could have written is none, and is not replaced */
    assert_int_equal(chmod(in_place("nutmeg/key"), 0660), 0);
    assert_false(nm_own_key(again, true));
    assert_int_equal(chmod(in_place("nutmeg/key"), 0600), 0);
    assert_int_equal(truncate(in_place("nutmeg/key"), 16), 0);
    assert_false(nm_own_key(again, true));
    assert_int_equal(unlink(in_place("nutmeg/key")), 0);
    assert_true(nm_own_key(again, true));
    assert_memory_not_equal(first, again, sizeof first);
}

/* RFC 4231 has no message that begins as ours do, so the expected bytes are those of another implementation:
 * hmac.new(bytes(range(32)), b"motion\\0" + (7).to_bytes(8, "little") + b"state", "sha256") */
static void the_signature_is_hmac_sha_256(void **state)
{
    (void)state;
    static const uint8_t want[NM_OWN_SIGNATURE] = {0xba, 0xe2, 0xdb, 0x5d, 0x73, 0x21, 0x54, 0x4c, 0xb1, 0xe0, 0xea,
                                                   0x58, 0x1d, 0x45, 0xc2, 0x21, 0xaa, 0x26, 0xcb, 0xac, 0x80, 0x23,
                                                   0xc1, 0xf7, 0x43, 0xd6, 0xae, 0x7b, 0x6a, 0xfa, 0x35, 0xb2};
    uint8_t key[NM_OWN_KEY], got[NM_OWN_SIGNATURE];
    for (uint8_t i = 0; i < NM_OWN_KEY; i++) key[i] = i;
    nm_own_sign(key, "motion", 7, "state", 5, got);
    assert_memory_equal(got, want, sizeof want);
}

static void any_change_is_noticed(void **state)
{
    (void)state;
    uint8_t key[NM_OWN_KEY] = {1, 2, 3}, bytes[5 + NM_OWN_SIGNATURE] = "state";
    nm_own_sign(key, "motion", 7, bytes, 5, bytes + 5);
    assert_true(nm_own_signed(key, "motion", 7, bytes, sizeof bytes));
    assert_false(nm_own_signed(key, "motion", 8, bytes, sizeof bytes));
    assert_false(nm_own_signed(key, "vision", 7, bytes, sizeof bytes));
    for (size_t i = 0; i < 8 * sizeof bytes; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_false(nm_own_signed(key, "motion", 7, bytes, sizeof bytes));
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    for (size_t n = 0; n < sizeof bytes; n++) assert_false(nm_own_signed(key, "motion", 7, bytes, n));
    key[31] = 1;
    assert_false(nm_own_signed(key, "motion", 7, bytes, sizeof bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_key_is_made_once_and_is_nobody_elses, make_place, clear_place),
        cmocka_unit_test(the_signature_is_hmac_sha_256),
        cmocka_unit_test(any_change_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
