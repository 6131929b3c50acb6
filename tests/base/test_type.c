/* Messages are reset, copied, searched and compared by their tables, whatever their type. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "messages.h"

static struct nm_arena arena;
static struct nm_err err;
static const struct nm_type *everything, *album;

static int begin(void **state)
{
    (void)state;
    everything = odd_type(&arena, "Everything");
    album = odd_type(&arena, "Album");
    return everything && album ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    nm_arena_free(&arena);
    return 0;
}

static void *new_message(const struct nm_type *type)
{
    void *message = nm_take(&arena, type->size);
    nm_reset(type, message);
    return message;
}

static double number(const struct nm_type *type, const void *message, const char *path)
{
    struct nm_place place;
    double value = NAN;
    err = (struct nm_err){0};
    if (nm_find(type, message, path, &place, &err)) fail_msg("%s", err.text);
    if (nm_number(&place, &value)) fail_msg("%s is no number", path);
    return value;
}

static void *at(const struct nm_type *type, const void *message, const char *path)
{
    struct nm_place place;
    err = (struct nm_err){0};
    if (nm_find(type, message, path, &place, &err)) fail_msg("%s", err.text);
    return place.at;
}

/* Writes a pattern over the whole message, so that a byte that should have been set is seen. */
static void reset_gives_the_defaults(void **state)
{
    (void)state;
    uint8_t *message = nm_take(&arena, everything->size);
    memset(message, 0xa5, everything->size);
    nm_reset(everything, message);
    assert_true(number(everything, message, "flag") == 1);
    assert_true(number(everything, message, "i8") == -8);
    assert_true(number(everything, message, "u32") == 7);
    assert_true(number(everything, message, "f64") == 0.25);
    assert_true(number(everything, message, "numbers[3]") == 4);
    assert_true(number(everything, message, "inner[1].weight") == 0.5);
    assert_true(number(everything, message, "last") == 9);
    assert_string_equal(at(everything, message, "name"), "home");
    assert_true(number(everything, message, "point.z") == 0);
    assert_true(number(everything, message, "mixed[1].b") == 0);
    const char *counts[] = {"bits", "octets", "doubles", "names", "path", "mixes", "inners", "inner[1].list", "few"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_int_equal(*(uint32_t *)at(everything, message, counts[i]), 0);

    /* the storage of sequences is left alone: that is what makes reset cheap */
    assert_int_equal(((uint8_t *)at(everything, message, "octets"))[4], 0xa5);
}

static void reset_releases_blobs_at_any_depth(void **state)
{
    (void)state;
    struct nm_blob_pool *pool = nm_pool_new(&arena, 64, 40);
    void *message = new_message(album);
    for (uint64_t seed = 1; seed < 20; seed++) {
        random_message(&seed, album, message, pool);
        assert_true(pool->used >= 6);
        nm_reset(album, message);
        assert_int_equal(pool->used, 0);
    }
    assert_int_equal(pool->refused, 0);
}

static void append_gives_a_reset_element_until_full(void **state)
{
    (void)state;
    const struct nm_type *inner = odd_type(&arena, "Inner");
    uint8_t *message = nm_take(&arena, everything->size);
    memset(message, 0xa5, everything->size);
    nm_reset(everything, message);
    struct nm_place place;
    assert_int_equal(nm_find(everything, message, "inners", &place, &err), 0);
    for (uint32_t i = 0; i < place.field->cap; i++) {
        void *element = nm_append_(place.at, (uint8_t *)place.at + place.field->first, place.field->cap, inner);
        assert_non_null(element);
        assert_true(number(inner, element, "weight") == 0.5);
        assert_true(number(inner, element, "id") == 0);
    }
    assert_null(nm_append_(place.at, (uint8_t *)place.at + place.field->first, place.field->cap, inner));
    assert_int_equal(*(uint32_t *)place.at, place.field->cap);
}

static void copies_equal_their_originals(void **state)
{
    (void)state;
    struct nm_blob_pool *pool = nm_pool_new(&arena, 64, 8192);
    for (uint32_t t = 0; t < nm_all_types.n + 2; t++) {
        const struct nm_type *type = t < nm_all_types.n ? nm_all_types.at[t] : t == nm_all_types.n ? everything : album;
        uint8_t *a = calloc(1, type->size), *b = calloc(1, type->size);
        nm_reset(type, a);
        nm_reset(type, b);
        for (uint64_t seed = t, i = 0; i < 8; i++) {
            nm_reset(type, a);
            random_message(&seed, type, a, pool);
            nm_copy(type, b, a);
            nm_copy(type, b, b);
            if (nm_compare(type, a, b, 0, NULL, NULL)) fail_msg("a copy of %s differs", type->name);
        }
        nm_reset(type, a);
        nm_reset(type, b);
        assert_int_equal(pool->used, 0);
        free(a);
        free(b);
    }
}

static void copies_move_used_bytes_only(void **state)
{
    (void)state;
    uint8_t *a = new_message(everything), *b = nm_take(&arena, everything->size);
    memset(b, 0xa5, everything->size);
    struct nm_place place;
    nm_find(everything, a, "doubles", &place, &err);
    *(uint32_t *)place.at = 2;
    nm_copy(everything, b, a);
    uint8_t *storage = b + place.field->offset + place.field->first;
    for (uint32_t i = 0; i < 16; i++) assert_int_equal(storage[i], 0);
    for (uint32_t i = 16; i < place.field->cap * 8; i++) assert_int_equal(storage[i], 0xa5);
}

static void copies_share_blobs(void **state)
{
    (void)state;
    struct nm_blob_pool *pool = nm_pool_new(&arena, 64, 8);
    const struct nm_type *picture = odd_type(&arena, "Picture");
    void *a = new_message(picture), *b = new_message(picture);
    struct nm_blob *in_a = at(picture, a, "data"), *in_b = at(picture, b, "data");
    assert_true(nm_pool_take(pool, in_a) && nm_pool_take(pool, in_b));
    nm_copy(picture, b, a);
    assert_ptr_equal(in_a->data, in_b->data);
    assert_int_equal(pool->used, 1); /* b's own came back */
    nm_reset(picture, a);
    assert_int_equal(pool->used, 1);
    nm_reset(picture, b);
    assert_int_equal(pool->used, 0);
}

static void a_broken_count_stays_inside_the_message(void **state)
{
    (void)state;
    uint8_t *a = malloc(everything->size), *b = malloc(everything->size);
    memset(a, 0, everything->size);
    nm_reset(everything, a);
    *(uint32_t *)at(everything, a, "octets") = 4000000000;
    *(uint32_t *)at(everything, a, "inners") = 4000000000;
    nm_copy(everything, b, a);
    nm_compare(everything, a, b, 0, NULL, NULL);
    struct nm_place place;
    assert_int_equal(nm_find(everything, a, "octets[9]", &place, &err), -1);
    free(a);
    free(b);
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    char text[8];
    nm_text(text, "%s-%d", "kick", 7);
    assert_string_equal(text, "kick-7");
    nm_text(text, "abcdefgh");
    assert_string_equal(text, "abcdefg");
    nm_text(text, "abcdefä"); /* ä would be half inside */
    assert_string_equal(text, "abcdef");
    nm_text(text, "abcde€");
    assert_string_equal(text, "abcde");
    nm_text(text, "abcd🤖");
    assert_string_equal(text, "abcd");
    nm_text(text, "abc🤖x");
    assert_string_equal(text, "abc🤖");
    nm_text(text, "ääää");
    assert_string_equal(text, "äää");
    char tiny[1] = {'x'};
    nm_text(tiny, "ä");
    assert_string_equal(tiny, "");
}

static void paths_find_members(void **state)
{
    (void)state;
    uint8_t *message = new_message(everything);
    *(uint32_t *)at(everything, message, "doubles") = 2;
    struct nm_place place;
    assert_int_equal(nm_find(everything, message, "doubles", &place, &err), 0);
    assert_int_equal(place.shape, NM_SEQ);
    assert_int_equal(nm_number(&place, &(double){0}), -1);
    assert_int_equal(nm_find(everything, message, "doubles[1]", &place, &err), 0);
    assert_int_equal(place.shape, NM_ONE);
    *(double *)place.at = 2.5;
    assert_true(number(everything, message, "doubles[1]") == 2.5);
    *(int16_t *)at(everything, message, "inner[1].id") = -3;
    assert_true(number(everything, message, "inner[1].id") == -3);
    assert_int_equal(nm_find(everything, message, "name", &place, &err), 0);
    assert_int_equal(nm_number(&place, &(double){0}), -1);
}

static void wrong_paths_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *path, *sentence;
    } wrong[] = {
        {"", "odd_msgs/msg/Everything has no member ''"},
        {"point.y.z", "'point.y.z': y has no members"},
        {"pont", "has no member 'pont', did you mean 'point'?"},
        {"point.q", "odd_msgs/msg/Point has no member 'q'"},
        {"point[0]", "'point[0]': point has no elements"},
        {"points.x", "'points.x': points needs an index, as in points[0]"},
        {"points[2].x", "'points[2].x': points has 2 elements"},
        {"path[0]", "'path[0]': path has 0 elements"},
        {"points[-1]", "an index is a whole number"},
        {"points[", "an index is a whole number"},
        {"points[1", "an index is a whole number"},
        {"points[99999999999]", "an index is a whole number"},
        {"points[1]x", "a dot is missing before 'x'"},
        {"points[1][1]", "a dot is missing"},
        {"point.", "has no member ''"},
    };
    void *message = new_message(everything);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct nm_place place;
        err = (struct nm_err){0};
        assert_int_equal(nm_find(everything, message, wrong[i].path, &place, &err), -1);
        if (!strstr(err.text, wrong[i].sentence)) fail_msg("'%s' said %s", wrong[i].path, err.text);
    }
}

static bool note(void *user, const char *path, const struct nm_place *a, const struct nm_place *b)
{
    char *text = user;
    sprintf(text + strlen(text), "%s%s%s ", path, a ? "" : "<", b ? "" : ">");
    return strlen(text) < 60;
}

static void comparison_names_what_differs(void **state)
{
    (void)state;
    void *a = new_message(everything), *b = new_message(everything);
    char found[256] = "";
    assert_int_equal(nm_compare(everything, a, b, 0, note, found), 0);

    *(double *)at(everything, a, "f64") = 1.0;
    *(double *)at(everything, b, "f64") = 1.0 + 1e-9;
    *(float *)at(everything, a, "f32") = NAN;
    *(float *)at(everything, b, "f32") = -NAN;
    *(double *)at(everything, b, "points[1].y") = -0.0;
    assert_int_equal(nm_compare(everything, a, b, 1e-8, note, found), 0);
    assert_int_equal(nm_compare(everything, a, b, 0, note, found), 1);
    assert_string_equal(found, "f64 ");

    *(double *)at(everything, b, "points[1].y") = INFINITY;
    nm_text_(at(everything, b, "name"), 13, "away");
    *(uint32_t *)at(everything, a, "octets") = 2;
    *(uint32_t *)at(everything, b, "inners") = 1;
    memset(found, 0, sizeof found);
    assert_int_equal(nm_compare(everything, a, b, 1e-8, note, found), 5);
    assert_string_equal(found, "name points[1].y octets[0]> octets[1]> inners[0]< ");

    memset(found, 'x', 60); /* the callback asks to stop after the first */
    assert_int_equal(nm_compare(everything, a, b, 0, note, found), 1);
}

/* Changes one leaf somewhere in a message and tells its path; false if chance led to an empty sequence. */
static bool change_a_leaf(uint64_t *seed, const struct nm_type *type, uint8_t *message, char *path)
{
    const struct nm_field *field = &type->fields[random_below(seed, type->n_fields)];
    uint32_t n = 1, index;
    uint8_t *element = nm_elements(field, message + field->offset, &n);
    if (!n) return false;
    index = random_below(seed, n);
    element += (size_t)index * field->elem;
    path += sprintf(path, "%s", field->name);
    if (field->shape != NM_ONE) path += sprintf(path, "[%u]", index);
    if (field->kind == NM_STRUCT) {
        *path++ = '.';
        return change_a_leaf(seed, field->type, element, path);
    }
    if (field->kind == NM_STRING)
        element[0] = element[0] == 'q' ? 'r' : 'q', element[1] = '\0';
    else if (field->kind == NM_FLOAT32)
        *(float *)element = *(float *)element == 1 ? 2 : 1;
    else if (field->kind == NM_FLOAT64)
        *(double *)element = *(double *)element == 1 ? 2 : 1;
    else
        element[0] ^= 1;
    return true;
}

static bool take_path(void *user, const char *path, const struct nm_place *a, const struct nm_place *b)
{
    assert_non_null(a);
    assert_non_null(b);
    strcpy(user, path);
    return true;
}

static void a_changed_leaf_is_found_by_its_path(void **state)
{
    (void)state;
    int changed = 0;
    for (uint32_t t = 0; t < nm_all_types.n + 1; t++) {
        const struct nm_type *type = t < nm_all_types.n ? nm_all_types.at[t] : everything;
        uint8_t *a = calloc(1, type->size), *b = calloc(1, type->size);
        for (uint64_t seed = t, i = 0; i < 20; i++) {
            char path[512] = "", found[512] = "";
            struct nm_place place;
            nm_reset(type, a);
            random_message(&seed, type, a, NULL);
            nm_copy(type, b, a);
            if (!change_a_leaf(&seed, type, b, path)) continue;
            changed++;
            if (nm_compare(type, a, b, 0, take_path, found) != 1) fail_msg("%s: not one difference", type->name);
            assert_string_equal(found, path);
            assert_int_equal(nm_find(type, b, path, &place, &err), 0);
        }
        free(a);
        free(b);
    }
    assert_true(changed > 500);
}

static void types_are_found_by_any_clear_name(void **state)
{
    (void)state;
    const struct nm_type one = {.name = "a_msgs/msg/Ball", .c_name = "a_msgs_Ball"},
                         two = {.name = "a_msgs/srv/Kick_Request", .c_name = "Kick_Request"},
                         three = {.name = "b_msgs/msg/Ball", .c_name = "b_msgs_Ball"},
                         four = {.name = "b_msgs/msg/Goal", .c_name = "Goal"};
    const struct nm_type *const list[] = {&one, &two, &three, &four};
    const struct nm_types types = {4, list};
    assert_ptr_equal(nm_type_find(&types, "a_msgs/msg/Ball"), &one);
    assert_ptr_equal(nm_type_find(&types, "b_msgs/Ball"), &three);
    assert_ptr_equal(nm_type_find(&types, "a_msgs/Kick_Request"), &two);
    assert_ptr_equal(nm_type_find(&types, "Goal"), &four);
    assert_ptr_equal(nm_type_find(&types, "b_msgs_Ball"), &three);
    assert_null(nm_type_find(&types, "Ball")); /* two packages have it */
    assert_null(nm_type_find(&types, "c_msgs/Ball"));
    assert_null(nm_type_find(&types, ""));
    for (uint32_t i = 0; i < nm_all_types.n; i++)
        assert_ptr_equal(nm_type_find(&nm_all_types, nm_all_types.at[i]->name), nm_all_types.at[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reset_gives_the_defaults),
        cmocka_unit_test(reset_releases_blobs_at_any_depth),
        cmocka_unit_test(append_gives_a_reset_element_until_full),
        cmocka_unit_test(copies_equal_their_originals),
        cmocka_unit_test(copies_move_used_bytes_only),
        cmocka_unit_test(copies_share_blobs),
        cmocka_unit_test(a_broken_count_stays_inside_the_message),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(paths_find_members),
        cmocka_unit_test(wrong_paths_say_why),
        cmocka_unit_test(comparison_names_what_differs),
        cmocka_unit_test(a_changed_leaf_is_found_by_its_path),
        cmocka_unit_test(types_are_found_by_any_clear_name),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
