/* Peers know a type by its hash, viewers and logs by its schema text: both must be exactly what ROS 2 has. */
#include "msgdef_set.h"

/* ros2_hashes.csv: type and hash as ROS 2 Jazzy's own generator gives them. */
static void every_official_hash_is_reproduced(void **state)
{
    (void)state;
    FILE *file = fopen(NM_ROOT "/tests/codec/ros2_hashes.csv", "r");
    assert_non_null(file);
    char line[256];
    uint32_t lines = 0;
    while (fgets(line, sizeof line, file)) {
        char *hash = strchr(line, ',');
        assert_non_null(hash);
        *hash++ = '\0';
        hash[strcspn(hash, "\r\n")] = '\0';
        const struct nm_type *type = nm_type_find(&nm_all_types, line);
        if (!type) fail_msg("%s is missing in msg/", line);
        assert_string_equal(type->hash, hash);
        lines++;
    }
    fclose(file);
    assert_true(lines > 200);
}

/* The appendix of the thesis on a common architecture for the Humanoid League. */
static void the_thesis_set_is_complete(void **state)
{
    (void)state;
    static const char *const messages[] = {"AdditionalServoData",
                                           "Animation",
                                           "BallInImage",
                                           "BallRelative",
                                           "BallsInImage",
                                           "BarInImage",
                                           "GameState",
                                           "GoalInImage",
                                           "GoalPartsInImage",
                                           "GoalRelative",
                                           "HeadMode",
                                           "LineCircleInImage",
                                           "LineCircleRelative",
                                           "LineInformationInImage",
                                           "LineInformationRelative",
                                           "LineIntersectionInImage",
                                           "LineIntersectionRelative",
                                           "LineSegmentInImage",
                                           "LineSegmentRelative",
                                           "Model",
                                           "ObstacleInImage",
                                           "ObstacleRelative",
                                           "ObstaclesInImage",
                                           "ObstaclesRelative",
                                           "Position2D",
                                           "PostInImage",
                                           "RobotControlState",
                                           "Speak",
                                           "Strategy",
                                           "TeamData",
                                           "VisualCompassRotation"};
    static const char *const actions[] = {"Kick", "PlayAnimation"};
    char name[128];
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        snprintf(name, sizeof name, "humanoid_league_msgs/msg/%s", messages[i]);
        if (!nm_type_find(&nm_all_types, name)) fail_msg("%s is missing in msg/", name);
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        snprintf(name, sizeof name, "humanoid_league_msgs/action/%s", actions[i]);
        if (!nm_type_find(&nm_all_types, name)) fail_msg("%s is missing in msg/", name);
    }
}

/* The schema is all a log keeps. Read again, it must give the same type. */
static void a_schema_read_again_gives_the_same_type(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < nm_all_types.n; i++) {
        const struct nm_type *type = nm_all_types.at[i];
        void *fresh;
        begin(&fresh);
        struct set *s = fresh;
        int result = nm_defs_add_merged(&s->defs, type->name, type->name, type->schema, strlen(type->schema), &s->err);
        if (result || nm_defs_link(&s->defs, &s->err)) fail_msg("%s", s->err.text);
        const struct nm_type *again = nm_def_type(&s->defs, nm_defs_find(&s->defs, type->name), &s->err);
        if (!again) fail_msg("%s", s->err.text);
        assert_string_equal(again->hash, type->hash);
        assert_string_equal(again->schema, type->schema);
        assert_string_equal(again->dds_name, type->dds_name);
        assert_int_equal(again->n_constants, type->n_constants);
        for (uint32_t k = 0; k < type->n_constants; k++) {
            assert_string_equal(again->constants[k].name, type->constants[k].name);
            assert_int_equal(again->constants[k].i, type->constants[k].i);
        }
        end(&fresh);
    }
}

static void schema_is_own_text_then_what_it_needs(void **state)
{
    struct set *s = *state;
    add(s, NM_MSG, "a_msgs", "Inner", "# a comment\nfloat64 w 1.0 # another\n");
    add(s, NM_MSG, "b_msgs", "Empty", "");
    struct nm_def *def = read_message(s, "uint8 RED=1 # a colour\n"
                                         "string NAME=\"a # b\"\n"
                                         "uint8 color # RED\n"
                                         "\n"
                                         "uint8 LAST = 9\n"
                                         "a_msgs/Inner[<=2] inner # cap=2\n"
                                         "a_msgs/msg/Inner[3] three\n"
                                         "b_msgs/Empty none\n"
                                         "string<=5[] names [\"a\", 'b']\n"
                                         "char letter\n"
                                         "uint8[] data # blob\n");
    assert_string_equal(nm_def_schema(&s->defs, def),
                        "uint8 RED=1\n"
                        "string NAME=\"a # b\"\n"
                        "uint8 color\n"
                        "uint8 LAST=9\n"
                        "a_msgs/Inner[<=2] inner\n"
                        "a_msgs/Inner[3] three\n"
                        "b_msgs/Empty none\n"
                        "string<=5[] names [\"a\", 'b']\n"
                        "uint8 letter\n"
                        "uint8[] data\n"
                        "================================================================================\n"
                        "MSG: a_msgs/Inner\n"
                        "float64 w 1.0\n"
                        "================================================================================\n"
                        "MSG: b_msgs/Empty\n");
}

static void annotations_change_neither_schema_nor_hash(void **state)
{
    (void)state;
    static const char *const texts[] = {"string[] a\nuint8[] b\nstring c\n",
                                        "string[] a # cap=3 len=5\nuint8[] b # blob\nstring c # cap=99, a name\n"};
    char hash[2][80], schema[2][128];
    for (int i = 0; i < 2; i++) {
        void *fresh;
        begin(&fresh);
        struct set *s = fresh;
        struct nm_def *def = read_message(s, texts[i]);
        strcpy(hash[i], nm_def_hash(&s->defs, def));
        strcpy(schema[i], nm_def_schema(&s->defs, def));
        end(&fresh);
    }
    assert_string_equal(hash[0], hash[1]);
    assert_string_equal(schema[0], schema[1]);
}

static void bounds_do_change_the_hash(void **state)
{
    (void)state;
    static const char *const texts[] = {"uint8[] a\n", "uint8[<=3] a\n", "uint8[3] a\n",       "uint8[<=4] a\n",
                                        "byte[] a\n",  "string[] a\n",   "string<=3[] a\n",    "string<=4[] a\n",
                                        "uint8[] b\n", "int8[] a\n",     "uint8[] a\nint8 c\n"};
    enum { N = sizeof texts / sizeof *texts };
    char hash[N][80];
    for (int i = 0; i < N; i++) {
        void *fresh;
        begin(&fresh);
        struct set *s = fresh;
        strcpy(hash[i], nm_def_hash(&s->defs, read_message(s, texts[i])));
        end(&fresh);
        for (int k = 0; k < i; k++) assert_string_not_equal(hash[i], hash[k]);
    }
}

static void dds_names_follow_ros(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"sensor_msgs/msg/Imu", "sensor_msgs::msg::dds_::Imu_"},
        {"std_srvs/srv/SetBool_Request", "std_srvs::srv::dds_::SetBool_Request_"},
        {"humanoid_league_msgs/action/Kick_SendGoal_Response",
         "humanoid_league_msgs::action::dds_::Kick_SendGoal_Response_"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(nm_type_find(&nm_all_types, names[i][0])->dds_name, names[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_official_hash_is_reproduced),
        cmocka_unit_test(the_thesis_set_is_complete),
        cmocka_unit_test(a_schema_read_again_gives_the_same_type),
        TEST(schema_is_own_text_then_what_it_needs),
        cmocka_unit_test(annotations_change_neither_schema_nor_hash),
        cmocka_unit_test(bounds_do_change_the_hash),
        cmocka_unit_test(dds_names_follow_ros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
