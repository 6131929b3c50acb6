/* labels: threads
 * A message of a type that this program does not have is read by the description that its node gives, whatever its
 * length; a description that does not have the writer's hash is not believed. */
#include "edge/dds/strange_node.h"

#include "codec/cdr_walk.h"
#include "edge/dds/dds_look.h"

static struct strange_node node;
static struct nm_look *look;

static void open_look(void)
{
    struct nm_err err = {0};
    look = nm_look_new(private_domain(), false, &err);
    if (!look) fail_msg("%s", err.text);
}

static void close_all(void)
{
    nm_look_free(look);
    strange_end(&node);
}

/* Until a whole sample has come: best effort may lose one. */
static bool take_one(struct nm_raw *sample)
{
    strange_write(&node);
    return nm_look_take(look, sample, 1) == 1 && sample->sample;
}

static void a_strange_message_is_printed_whole(void **state)
{
    struct nm_look_topic topic;
    struct nm_err err = {0};
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    struct nm_raw sample;
    struct nm_text_out text = {.grows = true};
    (void)state;
    strange_begin(&node, true, false);
    open_look();
    wait_until(nm_look_listen(look, "/odd", &topic, &err) == 0, );
    assert_null(topic.type);
    assert_string_equal(topic.ros_type, ODD);
    const char *schema = nm_look_schema(look, &topic, &arena, 60, &err);
    if (!schema) fail_msg("%s", err.text);
    assert_int_equal(atomic_load(&node.asked), 1);
    assert_int_equal(nm_defs_add_merged(&set, ODD, ODD, schema, strlen(schema), &err), 0);
    assert_int_equal(nm_defs_link(&set, &err), 0);
    wait_until(take_one(&sample), );
    if (nm_walk_print(&text, nm_defs_find(&set, ODD), sample.bytes, sample.size, NM_TEXT_YAML, &err))
        fail_msg("%s", err.text);
    assert_memory_equal(text.text, "word: \"beginsaaa", 16);
    assert_true(strlen(text.text) > 100000);
    assert_non_null(strstr(text.text, "{n: 5000, first: [0.0, 1.0, 2.0"));
    assert_non_null(strstr(text.text, "{level: 7, far: -123456789012}"));
    nm_raw_free(&sample, 1);
    free(text.text);
    nm_arena_free(&arena);
    close_all();
}

static void a_description_with_another_hash_is_not_believed(void **state)
{
    struct nm_look_topic topic;
    struct nm_err err = {0};
    struct nm_arena arena = {0};
    (void)state;
    strange_begin(&node, true, true);
    open_look();
    wait_until(nm_look_listen(look, "/odd", &topic, &err) == 0, );
    assert_null(nm_look_schema(look, &topic, &arena, 60, &err));
    assert_non_null(strstr(err.text, "does not have the hash"));
    nm_arena_free(&arena);
    close_all();
}

static void a_writer_that_is_no_node_leaves_the_bytes(void **state)
{
    struct nm_look_topic topic;
    struct nm_err err = {0};
    struct nm_arena arena = {0};
    (void)state;
    strange_begin(&node, false, false);
    open_look();
    wait_until(nm_look_listen(look, "/odd", &topic, &err) == 0, );
    assert_null(nm_look_schema(look, &topic, &arena, 0.1, &err));
    assert_non_null(strstr(err.text, "no ROS 2 node that could describe it"));
    nm_arena_free(&arena);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strange_message_is_printed_whole),
        cmocka_unit_test(a_description_with_another_hash_is_not_believed),
        cmocka_unit_test(a_writer_that_is_no_node_leaves_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
