/* CDR is what other people's programs read and write: the bytes must be exactly theirs, and nothing they send may hurt.
 * The oracle is a slow encoder that goes by the fields, one byte after the other; ours goes by the type's program. */
#include "made.h"

#include "codec/cdr.h"
#include "codec/text.h"
#include "messages.h"

enum { ROOM = 1 << 20 };

static struct nm_blob_pool *pool;
static const struct nm_type *everything, *album;
static uint8_t *bytes, *other;

static int begin(void **state)
{
    (void)state;
    everything = odd_type(&arena, "Everything");
    album = odd_type(&arena, "Album");
    pool = nm_pool_new(&arena, 64, 8192);
    bytes = nm_take(&arena, ROOM);
    other = nm_take(&arena, ROOM);
    return everything && album ? 0 : -1;
}

static uint32_t n_types(void) { return nm_all_types.n + 2; }
static const struct nm_type *type_at(uint32_t i)
{
    return i < nm_all_types.n ? nm_all_types.at[i] : i == nm_all_types.n ? everything : album;
}

/* the oracle */

struct slow {
    uint8_t *at;
    size_t used;
    bool big;
};

static void slow_bytes(struct slow *s, const void *from, size_t width)
{
    while ((s->used - 4) % width) s->at[s->used++] = 0;
    for (size_t i = 0; i < width; i++) s->at[s->used++] = ((const uint8_t *)from)[s->big ? width - 1 - i : i];
}

static void slow_struct(struct slow *s, const struct nm_type *type, const uint8_t *message)
{
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct nm_field *field = &type->fields[i];
        uint32_t n = 1;
        const uint8_t *element = nm_elements(field, message + field->offset, &n);
        if (field->shape == NM_SEQ || field->shape == NM_BLOB) slow_bytes(s, &n, 4);
        for (uint32_t k = 0; k < n; k++, element += field->elem) {
            uint32_t length = (uint32_t)strnlen((const char *)element, field->elem) + 1;
            if (field->kind == NM_STRUCT)
                slow_struct(s, field->type, element);
            else if (field->kind != NM_STRING)
                slow_bytes(s, element, field->elem);
            else {
                slow_bytes(s, &length, 4);
                for (uint32_t c = 0; c < length; c++) slow_bytes(s, element + c, 1);
            }
        }
    }
}

static size_t slow_encode(const struct nm_type *type, const void *message, uint8_t *to, bool big)
{
    struct slow s = {.at = to, .used = 4, .big = big};
    memcpy(to, big ? "\0\0\0\0" : "\0\1\0\0", 4);
    slow_struct(&s, type, message);
    return s.used;
}

/* the tests */

static void encoding_gives_the_bytes_of_the_standard(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < n_types(); t++) {
        const struct nm_type *type = type_at(t);
        void *message = calloc(1, type->size);
        for (uint64_t seed = t, i = 0; i < 12; i++) {
            nm_reset(type, message);
            random_message(&seed, type, message, pool);
            size_t expected = slow_encode(type, message, other, false);
            memset(bytes, 0xa5, expected + 64);
            assert_int_equal(nm_cdr_encode(type, message, bytes, ROOM), (int64_t)expected);
            if (memcmp(bytes, other, expected)) fail_msg("%s: the bytes differ", type->name);
            assert_int_equal(nm_cdr_size(type, message), expected);
            if (!type->blobs) assert_true(nm_cdr_most(type) >= expected);
        }
        nm_reset(type, message);
        free(message);
    }
    assert_int_equal(pool->used, 0);
}

static void both_byte_orders_come_back(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < n_types(); t++) {
        const struct nm_type *type = type_at(t);
        void *a = calloc(1, type->size), *b = calloc(1, type->size);
        for (uint64_t seed = t, i = 0; i < 12; i++) {
            nm_reset(type, a);
            random_message(&seed, type, a, pool);
            size_t size = slow_encode(type, a, bytes, i % 2);
            memset(bytes + size, 0xff, 8);
            err = (struct nm_err){0};
            if (nm_cdr_decode(type, b, bytes, size + i % 8, pool, &err))
                fail_msg("%s", err.text); /* with bytes behind it */
            if (nm_compare(type, a, b, 0, NULL, NULL)) fail_msg("%s: the message differs", type->name);
        }
        nm_reset(type, a);
        nm_reset(type, b);
        free(a);
        free(b);
    }
    assert_int_equal(pool->used, 0);
}

static void an_imu_is_324_bytes(void **state)
{
    (void)state;
    const struct nm_type *imu = nm_type_find(&nm_all_types, "sensor_msgs/msg/Imu");
    assert_non_null(imu);
    const char *text = "header: {stamp: {sec: 1, nanosec: 2}, frame_id: imu_link}\nlinear_acceleration: {z: 9.81}";
    void *message = nm_take(&arena, imu->size);
    assert_int_equal(nm_parse_text(imu, message, "text", text, strlen(text), NULL, &err), 0);
    assert_int_equal(nm_cdr_encode(imu, message, bytes, ROOM), 324);
    static const uint8_t head[] = {0, 1, 0,   0,   1,   0,   0,   0,   2,   0,   0, 0, 9, 0,
                                   0, 0, 'i', 'm', 'u', '_', 'l', 'i', 'n', 'k', 0, 0, 0, 0};
    assert_memory_equal(bytes, head, sizeof head);
    double z;
    memcpy(&z, bytes + 4 + 24 + 8 * (4 + 9 + 3 + 9 + 2), 8);
    assert_true(z == 9.81);
}

static void a_known_sample_reads_back(void **state)
{
    (void)state;
    /* int32 5, "ball", 1.25, as another implementation writes it */
    static const uint8_t sample[] = {0,   1,   0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 'b',  'a',
                                     'l', 'l', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf4, 0x3f};
    const struct nm_type *type = type_of("int32 i\nstring s\nfloat64 f\n");
    void *message = nm_take(&arena, type->size);
    assert_int_equal(nm_cdr_decode(type, message, sample, sizeof sample, NULL, &err), 0);
    struct nm_place place;
    nm_find(type, message, "s", &place, &err);
    assert_string_equal(place.at, "ball");
    assert_int_equal(nm_cdr_encode(type, message, bytes, ROOM), sizeof sample);
    assert_memory_equal(bytes, sample, sizeof sample);
}

/* Every shorter piece is refused; the copy has no byte behind it, so that a sanitizer sees any read past its end. */
static void a_cut_message_is_refused_at_every_byte(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < n_types(); t++) {
        const struct nm_type *type = type_at(t);
        void *message = calloc(1, type->size), *fresh = calloc(1, type->size);
        uint64_t seed = t;
        nm_reset(type, fresh);
        nm_reset(type, message);
        random_message(&seed, type, message, pool);
        int64_t size = nm_cdr_encode(type, message, bytes, ROOM);
        assert_true(size > 0);
        for (int64_t cut = 0; cut < size; cut++) {
            uint8_t *exact = malloc(cut ? (size_t)cut : 1);
            memcpy(exact, bytes, (size_t)cut);
            int rc = nm_cdr_decode(type, message, exact, (size_t)cut, NULL, NULL);
            assert_int_equal(rc, cut < 4 ? NM_CDR_HEADER : NM_CDR_SHORT);
            if (nm_compare(type, message, fresh, 0, NULL, NULL)) fail_msg("%s: not reset after a fault", type->name);
            free(exact);
        }
        nm_reset(type, message);
        free(message);
        free(fresh);
    }
    assert_int_equal(pool->used, 0);
}

static void encoding_never_writes_past_its_room(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < n_types(); t++) {
        const struct nm_type *type = type_at(t);
        void *message = calloc(1, type->size);
        uint64_t seed = t;
        nm_reset(type, message);
        random_message(&seed, type, message, pool);
        size_t size = nm_cdr_size(type, message);
        slow_encode(type, message, other, false);
        for (size_t room = 0; room < size; room++) {
            uint8_t *exact = malloc(room ? room : 1);
            assert_int_equal(nm_cdr_encode(type, message, exact, room), NM_CDR_ROOM);
            free(exact);
        }
        uint8_t *exact = malloc(size);
        assert_int_equal(nm_cdr_encode(type, message, exact, size), (int64_t)size);
        assert_memory_equal(exact, other, size);
        free(exact);
        nm_reset(type, message);
        free(message);
    }
}

static int decode(const struct nm_type *type, void *message, const void *body, size_t size)
{
    uint8_t *exact = malloc(size + 4);
    memcpy(exact, "\0\1\0\0", 4);
    memcpy(exact + 4, body, size);
    err = (struct nm_err){0};
    int rc = nm_cdr_decode(type, message, exact, size + 4, NULL, &err);
    free(exact);
    return rc;
}

static void huge_counts_cost_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"uint8[] a # cap=9\n", "float64[] a # cap=9\n", "string[] a # cap=9\n",
                                        "bool[] a # cap=9\n",  "uint8[] a # blob\n",    "float64[] a # blob\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct nm_type *type = type_of(texts[i]);
        void *message = nm_take(&arena, type->size);
        uint32_t counts[] = {0xffffffff, 0x80000000, 0x20000000, 0x20000001, 0x40000001, 1000};
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            uint32_t body[4] = {counts[k], 1, 2, 3};
            assert_int_equal(decode(type, message, body, sizeof body), NM_CDR_SHORT);
        }
    }
    void *message = calloc(1, everything->size);
    uint64_t seed = 5;
    nm_reset(everything, message);
    random_message(&seed, everything, message, NULL);
    int64_t size = nm_cdr_encode(everything, message, bytes, ROOM);
    for (int64_t at = 4; at + 4 <= size; at += 4) { /* wherever a count or a length may be */
        memcpy(other, bytes, (size_t)size);
        memset(other + at, 0xff, 4);
        nm_cdr_decode(everything, message, other, (size_t)size, NULL, NULL);
    }
    free(message);
}

static void what_does_not_fit_is_refused_with_a_reason(void **state)
{
    (void)state;
    const struct nm_type *type = type_of("uint8 k\nuint8[] few # cap=3\nstring word # cap=4\n");
    uint8_t *message = nm_take(&arena, type->size);
    static const uint8_t four[] = {7, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4, 1, 0, 0, 0, 0};
    assert_int_equal(decode(type, message, four, sizeof four), NM_CDR_LONG);
    assert_string_equal(err.text, "t_msgs/msg/T: few is 4 long, 3 fit; raise its cap= in the .msg\n");
    assert_int_equal(message[0], 0); /* nothing of it is kept */
    static const uint8_t word[] = {7, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 'g', 'o', 'a', 'l', 's', 0};
    assert_int_equal(decode(type, message, word, sizeof word), NM_CDR_LONG);
    assert_string_equal(err.text, "t_msgs/msg/T: word is 5 long, 4 fit; raise its cap= in the .msg\n");
    assert_int_equal(decode(type, message, word, 15), NM_CDR_SHORT);
    assert_string_equal(err.text, "t_msgs/msg/T: 19 bytes end inside word (at byte 16)\n");

    static const char *const headers[] = {"\0\2\0\0", "\0\3\0\0", "\1\1\0\0", "\0\7\0\0", "\0\1"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        assert_int_equal(nm_cdr_decode(type, message, headers[i], i == 4 ? 2 : 4, NULL, NULL), NM_CDR_HEADER);

    memset(message, 0, type->size);
    struct nm_place place;
    nm_find(type, message, "few", &place, &err);
    *(uint32_t *)place.at = 4;
    assert_int_equal(nm_cdr_encode(type, message, bytes, ROOM), NM_CDR_COUNT);
}

static void nested_faults_name_their_place(void **state)
{
    (void)state;
    const struct nm_type *path = nm_type_find(&nm_all_types, "nav_msgs/msg/Path");
    const char *text = "poses: [{}, {header: {frame_id: abc}}]";
    void *message = nm_take(&arena, path->size);
    assert_int_equal(nm_parse_text(path, message, "text", text, strlen(text), NULL, &err), 0);
    int64_t size = nm_cdr_encode(path, message, bytes, ROOM);
    uint8_t *abc = memmem(bytes, (size_t)size, "abc", 3);
    abc[-4] = 200;
    err = (struct nm_err){0};
    assert_int_equal(nm_cdr_decode(path, message, bytes, ROOM, NULL, &err), NM_CDR_LONG);
    assert_non_null(strstr(err.text, "nav_msgs/msg/Path: PoseStamped.header.frame_id is 199 long, "));
}

static void texts_end_with_their_only_nul(void **state)
{
    (void)state;
    const struct nm_type *type = type_of("string s # cap=40\n");
    char *message = nm_take(&arena, type->size);
    for (uint32_t length = 0; length <= 40; length++) {
        uint8_t body[48] = {0};
        uint32_t count = length + 1;
        memcpy(body, &count, 4);
        memset(body + 4, 'x', length);
        assert_int_equal(decode(type, message, body, 4 + count), 0);
        assert_int_equal(strlen(message), length);
        body[4 + length] = 'x';
        assert_int_equal(decode(type, message, body, 4 + count), NM_CDR_TEXT);
        assert_string_equal(message, "");
        body[4 + length] = 0;
        for (uint32_t at = 0; at < length; at++) {
            body[4 + at] = 0;
            assert_int_equal(decode(type, message, body, 4 + count), NM_CDR_TEXT);
            body[4 + at] = 'x';
        }
    }
    strcpy(message, "old");
    assert_int_equal(decode(type, message, "\0\0\0", 4), 0); /* a length of 0 is an empty text, too */
    assert_string_equal(message, "");
}

static void a_text_without_nul_in_memory_ends_with_its_member(void **state)
{
    (void)state;
    for (uint32_t cap = 1; cap < 40; cap++) {
        char text[40], copy[64] = "";
        sprintf(text, "string s # cap=%u\n", cap);
        const struct nm_type *type = type_of(text);
        uint8_t *message = malloc(type->size);
        memset(message, 'y', type->size);
        assert_int_equal(nm_cdr_encode(type, message, bytes, ROOM), 4 + 4 + cap + 1);
        memset(copy, 'y', cap);
        assert_string_equal(bytes + 8, copy);
        assert_int_equal(nm_cdr_encode(type, message, bytes, 4 + 4 + cap + 1), 4 + 4 + cap + 1);
        assert_string_equal(bytes + 8, copy);
        free(message);
    }
}

static void any_byte_but_zero_is_true(void **state)
{
    (void)state;
    const struct nm_type *type = type_of("bool a\nbool[2] b\nbool[] c # cap=4\n");
    uint8_t *message = nm_take(&arena, type->size);
    static const uint8_t body[] = {2, 255, 0, 0, 2, 0, 0, 0, 128, 0};
    assert_int_equal(decode(type, message, body, sizeof body), 0);
    int64_t size = nm_cdr_encode(type, message, bytes, ROOM);
    static const uint8_t normal[] = {1, 1, 0, 0, 2, 0, 0, 0, 1, 0};
    assert_int_equal(size, 4 + sizeof normal);
    assert_memory_equal(bytes + 4, normal, sizeof normal);
}

static void an_empty_sequence_has_no_padding(void **state)
{
    (void)state;
    const struct nm_type *type = type_of("float64[] a # cap=4\nuint8 b\n");
    uint8_t *message = nm_take(&arena, type->size);
    static const uint8_t body[] = {0, 0, 0, 0, 9};
    assert_int_equal(decode(type, message, body, sizeof body), 0);
    assert_int_equal(nm_cdr_encode(type, message, bytes, ROOM), 9);
    assert_memory_equal(bytes + 4, body, sizeof body);
    static const uint8_t one[] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf4, 0x3f, 9};
    assert_int_equal(decode(type, message, one, sizeof one), 0);
    assert_int_equal(nm_cdr_encode(type, message, bytes, ROOM), 4 + sizeof one);
    assert_memory_equal(bytes + 4, one, sizeof one);
}

static void blobs_borrow_or_take_a_block(void **state)
{
    (void)state;
    const struct nm_type *type = type_of("uint8[] data # blob\nuint16[] depth # blob\n");
    void *message = nm_take(&arena, type->size);
    struct nm_place data, depth;
    nm_find(type, message, "data", &data, &err);
    nm_find(type, message, "depth", &depth, &err);
    struct nm_blob *a = data.at, *b = depth.at;
    static const uint8_t little[] = {0, 1, 0, 0, 3, 0, 0, 0, 7, 8, 9, 0, 1, 0, 0, 0, 0x34, 0x12};
    static const uint8_t big[] = {0, 0, 0, 0, 0, 0, 0, 3, 7, 8, 9, 0, 0, 0, 0, 1, 0x12, 0x34};
    uint8_t *in = nm_take(&arena, 64); /* aligned, so that words may be borrowed */

    memcpy(in, little, sizeof little);
    assert_int_equal(nm_cdr_decode(type, message, in, sizeof little, NULL, &err), 0);
    assert_ptr_equal(a->data, in + 8);
    assert_null(a->ref);
    assert_int_equal(*(uint16_t *)b->data, 0x1234);
    assert_int_equal(nm_cdr_encode(type, message, bytes, ROOM), sizeof little);
    assert_memory_equal(bytes, little, sizeof little);
    memcpy(in + 1, little, sizeof little);
    assert_int_equal(nm_cdr_decode(type, message, in + 1, sizeof little, NULL, &err), NM_CDR_BORROW);

    assert_int_equal(nm_cdr_decode(type, message, big, sizeof big, NULL, &err), NM_CDR_BORROW);
    assert_int_equal(nm_cdr_decode(type, message, big, sizeof big, pool, &err), 0);
    assert_int_equal(pool->used, 2);
    assert_int_equal(*(uint16_t *)b->data, 0x1234);
    assert_int_equal(a->data[2], 9);
    assert_int_equal(nm_cdr_decode(type, message, little, sizeof little, pool, &err), 0); /* the old ones came back */
    assert_int_equal(pool->used, 2);

    struct nm_blob_pool *one = nm_pool_new(&arena, 64, 1), *small = nm_pool_new(&arena, 2, 4);
    err = (struct nm_err){0};
    assert_int_equal(nm_cdr_decode(type, message, little, sizeof little, one, &err), NM_CDR_POOL);
    assert_string_equal(err.text, "t_msgs/msg/T: depth: all 1 blocks of the pool are in use\n");
    assert_int_equal(one->used, 0);
    assert_int_equal(one->refused, 1);
    err = (struct nm_err){0};
    assert_int_equal(nm_cdr_decode(type, message, little, sizeof little, small, &err), NM_CDR_POOL);
    assert_string_equal(err.text, "t_msgs/msg/T: data has 3 bytes, a block of the pool has 2\n");
    assert_int_equal(small->used, 0);
    assert_int_equal(pool->used, 0);
}

/* Whatever the bytes: no crash, and either a message that encodes again to something that decodes to the same, or none.
 */
static void noise_does_no_harm(void **state)
{
    (void)state;
    uint64_t seed = 11;
    void *message = calloc(1, album->size);
    nm_reset(album, message);
    for (int round = 0; round < 300; round++) {
        random_message(&seed, album, message, pool);
        int64_t size = nm_cdr_encode(album, message, bytes, ROOM);
        for (int k = 0; k < 20; k++) {
            memcpy(other, bytes, (size_t)size);
            other[4 + random_below(&seed, (uint32_t)size - 4)] = (uint8_t)random_bits(&seed);
            other[1] = (uint8_t)(random_bits(&seed) & 1);
            uint8_t *exact = malloc((size_t)size);
            memcpy(exact, other, (size_t)size);
            if (!nm_cdr_decode(album, message, exact, (size_t)size, pool, NULL))
                assert_true(nm_cdr_encode(album, message, other, ROOM) > 0);
            free(exact);
        }
        nm_reset(album, message);
    }
    assert_int_equal(pool->used, 0);
    free(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoding_gives_the_bytes_of_the_standard),
        cmocka_unit_test(both_byte_orders_come_back),
        cmocka_unit_test(an_imu_is_324_bytes),
        cmocka_unit_test(a_known_sample_reads_back),
        cmocka_unit_test(a_cut_message_is_refused_at_every_byte),
        cmocka_unit_test(encoding_never_writes_past_its_room),
        cmocka_unit_test(huge_counts_cost_nothing),
        cmocka_unit_test(what_does_not_fit_is_refused_with_a_reason),
        cmocka_unit_test(nested_faults_name_their_place),
        cmocka_unit_test(texts_end_with_their_only_nul),
        cmocka_unit_test(a_text_without_nul_in_memory_ends_with_its_member),
        cmocka_unit_test(any_byte_but_zero_is_true),
        cmocka_unit_test(an_empty_sequence_has_no_padding),
        cmocka_unit_test(blobs_borrow_or_take_a_block),
        cmocka_unit_test(noise_does_no_harm),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
