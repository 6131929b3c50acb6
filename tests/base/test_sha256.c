/* The vectors of FIPS 180-4 and NIST's CAVP; the digest must not depend on how the bytes come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/sha256.h"

static const char *digest_of(const void *data, size_t size, size_t piece)
{
    static char hex[65];
    struct nm_sha256 sha;
    uint8_t digest[32];
    nm_sha256_start(&sha);
    for (size_t at = 0; at < size; at += piece)
        nm_sha256_add(&sha, (const uint8_t *)data + at, size - at < piece ? size - at : piece);
    nm_sha256_end(&sha, digest);
    nm_sha256_hex(digest, hex);
    return hex;
}

static void known_texts_have_known_digests(void **state)
{
    (void)state;
    static const char *const vectors[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnop"
         "qrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        assert_string_equal(digest_of(vectors[i][0], strlen(vectors[i][0]), 1000), vectors[i][1]);
}

static void a_million_times_a(void **state)
{
    (void)state;
    static char text[1000000];
    memset(text, 'a', sizeof text);
    assert_string_equal(digest_of(text, sizeof text, 4093),
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_do_not_matter(void **state)
{
    (void)state;
    char text[200], whole[65];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (char)(i * 37);
    for (size_t size = 0; size <= sizeof text; size++) {
        strcpy(whole, digest_of(text, size, sizeof text));
        for (size_t piece = 1; piece < 70; piece += 3) assert_string_equal(digest_of(text, size, piece), whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_known_digests),
        cmocka_unit_test(a_million_times_a),
        cmocka_unit_test(pieces_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
