/* A type that is described to another node and read there is the same type: for all that this program has, by their
 * hashes. What is broken is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "codec/msgdef.h"
#include "edge/dds/type_description.h"
#include "sensor_msgs/Imu.h"

static void every_type_comes_over_as_it_is(void **state)
{
    struct pack p = {0};
    (void)state;
    for (uint32_t i = 0; i < nm_all_types.n; i++) {
        const struct nm_type *type = nm_all_types.at[i];
        struct nm_arena arena = {0};
        struct nm_defs set = {.arena = &arena};
        struct nm_err err = {0};
        struct unpack u;
        pack_begin(&p);
        describe_pack(&p, type->name, type, i % 2 ? type->hash : "", i % 3 == 0);
        assert_true(unpack_begin(&u, p.bytes, p.n));
        const char *text = describe_read(&arena, &u, &err);
        if (!text) fail_msg("%s: %s", type->name, err.text);
        if (nm_defs_add_merged(&set, type->name, type->name, text, strlen(text), &err) || nm_defs_link(&set, &err))
            fail_msg("%s: %s\n%s", type->name, err.text, text);
        const struct nm_def *def = nm_defs_find(&set, type->name);
        assert_non_null(def);
        assert_string_equal(nm_def_hash(&set, def), type->hash);
        nm_arena_free(&arena);
    }
    free(p.bytes);
}

static const char *read_back(struct nm_arena *arena, const struct pack *p, size_t n, struct nm_err *err)
{
    struct unpack u;
    return unpack_begin(&u, p->bytes, n) ? describe_read(arena, &u, err) : NULL;
}

static void refusals_have_a_reason(void **state)
{
    struct pack p = {0};
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    (void)state;
    pack_begin(&p);
    describe_pack(&p, "a_msgs/msg/B", NULL, "", false);
    assert_null(read_back(&arena, &p, p.n, &err));
    assert_non_null(strstr(err.text, "has no type a_msgs/msg/B"));
    pack_begin(&p);
    err = (struct nm_err){0};
    describe_pack(&p, Imu_type.name, &Imu_type, "RIHS01_00", false);
    assert_null(read_back(&arena, &p, p.n, &err));
    assert_non_null(strstr(err.text, "another hash"));
    /* cut anywhere before the two counts at its end it is no description */
    pack_begin(&p);
    describe_pack(&p, Imu_type.name, &Imu_type, "", false);
    for (size_t n = 4; n < p.n - 8 - 4; n++) assert_null(read_back(&arena, &p, n, NULL));
    nm_arena_free(&arena);
    free(p.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_over_as_it_is),
        cmocka_unit_test(refusals_have_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
