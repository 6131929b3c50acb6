/* Definitions find each other; what cannot be a struct is refused. */
#include "msgdef_set.h"

static void an_unknown_type_is_named_with_the_nearest_one(void **state)
{
    struct set *s = *state;
    add(s, NM_MSG, "geometry_msgs", "Vector3", "float64 x\n");
    assert_null(read_message(s, "int8 a\n\ngeometry_msgs/Vektor3 b\n"));
    assert_string_equal(s->err.text, "T.msg:3: type geometry_msgs/msg/Vektor3 of field b is unknown; did you mean "
                                     "geometry_msgs/msg/Vector3?\n");
}

static void loops_are_refused(void **state)
{
    struct set *s = *state;
    add(s, NM_MSG, "t_msgs", "A", "int8 x\nB b\n");
    add(s, NM_MSG, "t_msgs", "B", "A[] a\n");
    assert_int_equal(nm_defs_link(&s->defs, &s->err), -1);
    assert_string_equal(s->err.text, "B.msg:1: t_msgs/msg/A contains itself through field a\n");
}

static void a_type_in_itself_is_refused(void **state)
{
    struct set *s = *state;
    assert_null(read_message(s, "T t\n"));
    assert_string_equal(s->err.text, "T.msg:1: t_msgs/msg/T contains itself through field t\n");
}

/* Chain0 holds Chain1 holds … ; added in either order */
static int link_chain(struct set *s, int length, bool backwards)
{
    for (int k = 0; k < length; k++) {
        int i = backwards ? length - 1 - k : k;
        char name[32], text[32] = "int8 x\n";
        snprintf(name, sizeof name, "Chain%03d", i);
        if (i + 1 < length) snprintf(text, sizeof text, "Chain%03d inner\n", i + 1);
        assert_int_equal(add(s, NM_MSG, "t_msgs", name, text), 0);
    }
    return nm_defs_link(&s->defs, &s->err);
}

static void depth_is_limited(void **state)
{
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++)
        for (int length = NM_DEF_DEPTH; length <= NM_DEF_DEPTH + 1; length++) {
            void *fresh;
            begin(&fresh);
            struct set *s = fresh;
            assert_int_equal(link_chain(s, length, backwards), length > NM_DEF_DEPTH ? -1 : 0);
            if (length > NM_DEF_DEPTH) assert_non_null(strstr(s->err.text, "types nested deeper than 32"));
            end(&fresh);
        }
}

static void shared_names_carry_their_package_in_c(void **state)
{
    struct set *s = *state;
    add(s, NM_MSG, "service_msgs", "ServiceEventInfo", "int8 x\n");
    add(s, NM_MSG, "std_msgs", "Empty", "");
    add(s, NM_SRV, "std_srvs", "Empty", "---\n");
    add(s, NM_MSG, "std_msgs", "Bool", "bool data\n");
    assert_int_equal(nm_defs_link(&s->defs, &s->err), 0);
    static const char *const names[][2] = {
        {"std_msgs/msg/Empty", "std_msgs_Empty"},
        {"std_srvs/srv/Empty", "std_srvs_Empty"},
        {"std_srvs/srv/Empty_Request", "std_srvs_Empty_Request"},
        {"std_msgs/msg/Bool", "Bool"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(nm_defs_find(&s->defs, names[i][0])->c_name, names[i][1]);
}

static void needs_are_all_types_reached_once_by_name(void **state)
{
    struct set *s = *state;
    add(s, NM_MSG, "t_msgs", "Z", "int8 x\n");
    add(s, NM_MSG, "t_msgs", "B", "Z z\n");
    add(s, NM_MSG, "t_msgs", "A", "B b\nZ z\n");
    add(s, NM_MSG, "t_msgs", "Other", "int8 x\n");
    struct nm_def *def = read_message(s, "B[] many\nA a\nA again\n");
    uint32_t n;
    struct nm_def **needs = nm_def_needs(&s->defs, def, &n);
    assert_int_equal(n, 3);
    assert_string_equal(needs[0]->name, "t_msgs/msg/A");
    assert_string_equal(needs[1]->name, "t_msgs/msg/B");
    assert_string_equal(needs[2]->name, "t_msgs/msg/Z");
}

static void what_is_not_there_is_not_found(void **state)
{
    struct set *s = *state;
    assert_non_null(read_message(s, "int8 x\n"));
    assert_null(nm_defs_find(&s->defs, "t_msgs/U"));
    assert_null(nm_defs_find(&s->defs, "T"));
    assert_null(nm_defs_find(&s->defs, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_type_is_named_with_the_nearest_one),
        TEST(loops_are_refused),
        TEST(a_type_in_itself_is_refused),
        TEST(depth_is_limited),
        TEST(shared_names_carry_their_package_in_c),
        TEST(needs_are_all_types_reached_once_by_name),
        TEST(what_is_not_there_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
