/* metadata.yaml as rosbag2 has it, there and back; and three real bags from rosbag2's own tests hold what their
 * metadata say. */
#include "made.h"
#include "mcap_help.h"

#include "codec/bag_yaml.h"
#include "codec/cdr_walk.h"
#include "codec/mcap_schema.h"

static struct nm_bag *parse(const char *text)
{
    err = (struct nm_err){0};
    return nm_bag_parse(&arena, "metadata.yaml", text, strlen(text), &err);
}

static void what_is_written_comes_back(void **state)
{
    (void)state;
    struct nm_text_out qos = {.grows = true}, out = {.grows = true};
    nm_bag_qos(&qos, (struct nm_bag_qos){.depth = 10, .transient_local = true});
    struct nm_bag_topic topics[] = {{"/tf_static", "tf2_msgs/msg/TFMessage", "cdr", qos.text, 3},
                                    {"/odd \"name\"\n", "a/msg/B", "cdr", "", UINT64_MAX}};
    struct nm_bag_file files[] = {{"run_0.mcap", 1700000000000000000, 5, 2}, {"run_1.mcap", 1700000000000000007, 6, 1}};
    struct nm_bag bag = {5, "mcap", 1700000000000000000, 13, 3, 2, 2, topics, files};
    nm_bag_print(&out, &bag);
    struct nm_bag *again = parse(out.text);
    if (!again) fail_msg("%s", err.text);
    assert_int_equal(again->version, 5);
    assert_string_equal(again->storage, "mcap");
    assert_int_equal(again->start, bag.start);
    assert_int_equal(again->duration, 13);
    assert_int_equal(again->messages, 3);
    assert_int_equal(again->n_topics, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(again->topics[i].name, topics[i].name);
        assert_string_equal(again->topics[i].type, topics[i].type);
        assert_string_equal(again->topics[i].format, "cdr");
        assert_string_equal(again->topics[i].qos, topics[i].qos);
        assert_int_equal(again->topics[i].messages, topics[i].messages);
        assert_string_equal(again->files[i].path, files[i].path);
        assert_int_equal(again->files[i].start, files[i].start);
        assert_int_equal(again->files[i].duration, files[i].duration);
        assert_int_equal(again->files[i].messages, files[i].messages);
    }
    /* the profile is itself YAML, with the numbers of rmw */
    const struct nm_yaml *profile = nm_yaml_parse(&arena, "qos", qos.text, qos.used, &err);
    assert_non_null(profile);
    assert_string_equal(nm_yaml_get(profile->first, "durability")->text, "1");
    assert_string_equal(nm_yaml_get(profile->first, "reliability")->text, "1");
    assert_string_equal(nm_yaml_get(nm_yaml_get(profile->first, "lifespan"), "sec")->text, "9223372036");
    free(qos.text);
    free(out.text);
}

static void an_empty_bag_is_one_too(void **state)
{
    (void)state;
    struct nm_text_out out = {.grows = true};
    nm_bag_print(&out, &(struct nm_bag){0});
    struct nm_bag *again = parse(out.text);
    if (!again) fail_msg("%s", err.text);
    assert_int_equal(again->n_topics + again->n_files, 0);
    free(out.text);
}

static void bad_metadata_are_sentences(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"a: 1\n", "metadata.yaml:1: this is no metadata of a bag"},
        {"rosbag2_bagfile_information: {message_count: many}\n", "metadata.yaml:1:"},
        {"rosbag2_bagfile_information: {relative_file_paths: [a.mcap, ../../secret]}\n",
         "'../../secret' is no file in the folder"},
        {"rosbag2_bagfile_information: {relative_file_paths: [/etc/passwd]}\n", "is no file in the folder"},
        {"rosbag2_bagfile_information: {relative_file_paths: [a/..]}\n", "is no file in the folder"},
        {"rosbag2_bagfile_information: {topics_with_message_count: [{message_count: 1}]}\n", "a topic without a name"},
        {"[", "metadata.yaml:"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(parse(bad[i][0]));
        if (!strstr(err.text, bad[i][1])) fail_msg("'%s' is not in: %s", bad[i][1], err.text);
    }
    assert_non_null(parse("rosbag2_bagfile_information: {relative_file_paths: [a..b.mcap]}\n"));
}

/* ---- real bags, from rosbag2's own tests ---- */

static void read_real_bag(const char *folder, const char *topic, const char *path, const char *first)
{
    char name[400];
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    snprintf(name, sizeof name, NM_ROOT "/tests/data/rosbag2/%s/metadata.yaml", folder);
    struct nm_bag *bag = nm_bag_read(&arena, name, &err);
    if (!bag) fail_msg("%s", err.text);
    assert_int_equal(bag->n_files, 1);
    snprintf(name, sizeof name, NM_ROOT "/tests/data/rosbag2/%s/%s", folder, bag->files[0].path);
    if (nm_mcap_open(&source, name, &err) || nm_mcap_contents_read(&contents, &source, &err)) fail_msg("%s", err.text);
    assert_true(contents.summary);
    assert_int_equal(contents.messages, bag->messages);
    assert_int_equal(contents.first, bag->start);
    assert_int_equal(contents.last - contents.first, bag->duration);
    for (uint32_t i = 0; i < contents.n_channels; i++)
        for (uint32_t k = 0; k < bag->n_topics; k++)
            if (nm_bytes_are(contents.channels[i].topic, bag->topics[k].name))
                assert_int_equal(contents.counts[i], bag->topics[k].messages);
    struct nm_err notes = {0}, faults = {0};
    if (nm_mcap_check(&source, &faults, &notes)) fail_msg("%s", faults.text);

    /* its first message by its own schema */
    struct nm_mcap_query *query = nm_mcap_query_new(&source, &contents, &(struct nm_mcap_query_options){0});
    struct nm_mcap_message message;
    uint32_t channel, n = 0;
    bool seen = false;
    while (nm_mcap_query_next(query, &message, &channel, &err) > 0) {
        n++;
        if (seen || !nm_bytes_are(contents.channels[channel].topic, topic)) continue;
        seen = true;
        const struct nm_mcap_schema *schema = nm_mcap_schema_of(&contents, contents.channels[channel].schema_id);
        struct nm_def *def = nm_mcap_def(&arena, schema, &err);
        struct nm_walk_path at;
        struct nm_text_out out = {.grows = true};
        if (!def || nm_walk_path(def, path, &at, &err) ||
            nm_walk_print_at(&out, &at, message.data.at, message.data.n, NM_TEXT_JSON, &err) < 1)
            fail_msg("%s", err.text);
        assert_string_equal(out.text, first);
        free(out.text);
    }
    assert_true(seen);
    assert_int_equal(n, bag->messages);
    nm_mcap_query_free(query);
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
}

static void three_bags_of_rosbag2(void **state)
{
    (void)state;
    read_real_bag("talker", "/topic", "data", "\"Hello, world! 0\"");
    read_real_bag("service_events", "/test_topic1", "string_value_default3", "\"Hello\\\"world!\"");
    read_real_bag("seek", "topic1", "int32_value", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),
        cmocka_unit_test(an_empty_bag_is_one_too),
        cmocka_unit_test(bad_metadata_are_sentences),
        cmocka_unit_test(three_bags_of_rosbag2),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
