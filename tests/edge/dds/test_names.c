/* Names and promises on a ROS 2 wire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "edge/dds/names.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/Imu.h"

static void a_players_name_becomes_one_token(void **state)
{
    static const char *const pairs[][2] = {
        {"robot", "robot"}, {"red-1", "red_1"}, {"4th", "n4th"}, {"", "n"}, {"a b/c", "a_b_c"}};
    char to[NM_ROS_NAME];
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        nm_ros_node(pairs[i][0], to, sizeof to);
        assert_string_equal(to, pairs[i][1]);
    }
    nm_ros_node("abcdefgh", to, 5);
    assert_string_equal(to, "abcd");
}

static void a_namespace_is_a_path_of_tokens(void **state)
{
    static const char *const good[][2] = {{"", "/"}, {"/", "/"}, {"red", "/red"}, {"/red/one", "/red/one"}};
    static const char *const bad[] = {"red/", "//red", "red//one", "1red", "red/1", "re-d", "/ "};
    char to[NM_ROS_NAME];
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(nm_ros_namespace(good[i][0], to, sizeof to, NULL), 0);
        assert_string_equal(to, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct nm_err err = {0};
        assert_int_equal(nm_ros_namespace(bad[i], to, sizeof to, &err), -1);
        assert_non_null(strstr(err.text, bad[i]));
    }
}

static void topics_live_in_the_robots_namespace_but_for_those_of_all(void **state)
{
    static const char *const rows[][3] = {
        {"/", "imu", "/imu"},          {"/red", "imu", "/red/imu"}, {"/red", "tf", "/red/tf"},
        {"/red", "rosout", "/rosout"}, {"/red", "clock", "/clock"}, {"/red", "parameter_events", "/parameter_events"},
    };
    char to[NM_ROS_NAME];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        nm_ros_topic(rows[i][0], rows[i][1], to, sizeof to);
        assert_string_equal(to, rows[i][2]);
    }
    assert_true(nm_ros_hidden("kick/_action/status"));
    assert_false(nm_ros_hidden("kick_action"));
}

static void well_known_topics_have_their_qos(void **state)
{
    (void)state;
    struct nm_ros_qos qos = nm_ros_qos("rosout", NULL);
    assert_true(qos.reliable && qos.latched && qos.depth == 1000 && qos.lifespan == 10000000000);
    assert_true(nm_ros_qos("tf_static", NULL).latched);
    assert_true(nm_ros_qos("kick/_action/status", NULL).latched);
    assert_false(nm_ros_qos("status", NULL).latched);
    assert_true(nm_ros_qos("imu", &Imu_type).reliable && !nm_ros_qos("imu", &Imu_type).latched);
    assert_false(nm_ros_qos("image_raw", &Image_type).reliable);
}

static void user_data_is_read_without_trust(void **state)
{
    char to[16];
    static const char data[] = "serviceid=1.2;typehash=RIHS01_ab;x=;";
    (void)state;
    assert_true(nm_user_data(data, sizeof data - 1, "typehash", to, sizeof to));
    assert_string_equal(to, "RIHS01_ab");
    assert_true(nm_user_data(data, sizeof data - 1, "x", to, sizeof to));
    assert_string_equal(to, "");
    assert_false(nm_user_data(data, sizeof data - 1, "hash", to, sizeof to));
    assert_false(nm_user_data(data, 20, "typehash", to, sizeof to)); /* cut inside the key */
    assert_false(nm_user_data(data, sizeof data - 1, "typehash", to, 5));
    assert_false(nm_user_data(NULL, 0, "typehash", to, sizeof to));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_players_name_becomes_one_token),
        cmocka_unit_test(a_namespace_is_a_path_of_tokens),
        cmocka_unit_test(topics_live_in_the_robots_namespace_but_for_those_of_all),
        cmocka_unit_test(well_known_topics_have_their_qos),
        cmocka_unit_test(user_data_is_read_without_trust),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
