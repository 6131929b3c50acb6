/* Services and actions bring the hidden types of ROS 2, field by field. */
#include "msgdef_set.h"

/* The fields of a type as text: `name type[<=bound] …` */
static const char *fields_of(struct set *s, const char *name)
{
    struct nm_def *def = nm_defs_find(&s->defs, name);
    const char *text = "";
    assert_non_null(def);
    for (uint32_t i = 0; i < def->n_fields; i++) {
        const struct nm_def_field *f = &def->fields[i];
        const char *type = f->type ? f->type : nm_kind_name(f->kind);
        text = nm_take_format(&s->arena, "%s%s%s %s%s", text, i ? "; " : "", f->name, type, f->bound ? "[<=1]" : "");
    }
    return text;
}

static void check(struct set *s, const char *const expected[][2], size_t n)
{
    assert_int_equal(nm_defs_link(&s->defs, &s->err), 0);
    for (size_t i = 0; i < n; i++) assert_string_equal(fields_of(s, expected[i][0]), expected[i][1]);
}

static void add_what_ros_brings(struct set *s)
{
    add(s, NM_MSG, "service_msgs", "ServiceEventInfo", "uint8 event_type\n");
    add(s, NM_MSG, "unique_identifier_msgs", "UUID", "uint8[16] uuid\n");
    add(s, NM_MSG, "builtin_interfaces", "Time", "int32 sec\nuint32 nanosec\n");
}

static void a_service_brings_four_types(void **state)
{
    struct set *s = *state;
    static const char *const expected[][2] = {
        {"p/srv/Ask_Request", "question string"},
        {"p/srv/Ask_Response", "structure_needs_at_least_one_member uint8"},
        {"p/srv/Ask_Event", "info service_msgs/msg/ServiceEventInfo; request p/srv/Ask_Request[<=1]; response "
                            "p/srv/Ask_Response[<=1]"},
        {"p/srv/Ask",
         "request_message p/srv/Ask_Request; response_message p/srv/Ask_Response; event_message p/srv/Ask_Event"},
    };
    add_what_ros_brings(s);
    assert_int_equal(add(s, NM_SRV, "p", "Ask", "string question\n  ---  \n# nothing\n"), 0);
    check(s, expected, sizeof expected / sizeof *expected);
    assert_int_equal(s->defs.n, 3 + 4);
}

static void an_action_brings_thirteen_types(void **state)
{
    struct set *s = *state;
    static const char *const expected[][2] = {
        {"p/action/Go_Goal", "x float64"},
        {"p/action/Go_Result", "ok bool"},
        {"p/action/Go_Feedback", "left float32"},
        {"p/action/Go_SendGoal_Request", "goal_id unique_identifier_msgs/msg/UUID; goal p/action/Go_Goal"},
        {"p/action/Go_SendGoal_Response", "accepted bool; stamp builtin_interfaces/msg/Time"},
        {"p/action/Go_SendGoal_Event",
         "info service_msgs/msg/ServiceEventInfo; request p/action/Go_SendGoal_Request[<=1]; response "
         "p/action/Go_SendGoal_Response[<=1]"},
        {"p/action/Go_SendGoal",
         "request_message p/action/Go_SendGoal_Request; response_message p/action/Go_SendGoal_Response; event_message "
         "p/action/Go_SendGoal_Event"},
        {"p/action/Go_GetResult_Request", "goal_id unique_identifier_msgs/msg/UUID"},
        {"p/action/Go_GetResult_Response", "status int8; result p/action/Go_Result"},
        {"p/action/Go_GetResult",
         "request_message p/action/Go_GetResult_Request; response_message p/action/Go_GetResult_Response; "
         "event_message p/action/Go_GetResult_Event"},
        {"p/action/Go_FeedbackMessage", "goal_id unique_identifier_msgs/msg/UUID; feedback p/action/Go_Feedback"},
        {"p/action/Go", "goal p/action/Go_Goal; result p/action/Go_Result; feedback p/action/Go_Feedback; "
                        "send_goal_service p/action/Go_SendGoal; get_result_service p/action/Go_GetResult; "
                        "feedback_message p/action/Go_FeedbackMessage"},
    };
    add_what_ros_brings(s);
    assert_int_equal(add(s, NM_ACTION, "p", "Go", "float64 x\n---\nbool ok\n---\nfloat32 left\n"), 0);
    check(s, expected, sizeof expected / sizeof *expected);
    assert_int_equal(s->defs.n, 3 + 13);
}

static void constants_and_lines_stay_with_their_part(void **state)
{
    struct set *s = *state;
    add_what_ros_brings(s);
    assert_int_equal(add(s, NM_SRV, "p", "Ask", "uint8 A=1\nuint8 a\n---\n\nuint8 B=2\nuint8 b\n"), 0);
    assert_int_equal(nm_defs_link(&s->defs, &s->err), 0);
    struct nm_def *request = nm_defs_find(&s->defs, "p/srv/Ask_Request");
    struct nm_def *response = nm_defs_find(&s->defs, "p/srv/Ask_Response");
    assert_int_equal(request->n_constants, 1);
    assert_string_equal(response->constants[0].name, "B");
    assert_int_equal(response->constants[0].line, 5);
    assert_int_equal(response->fields[0].line, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_service_brings_four_types),
        TEST(an_action_brings_thirteen_types),
        TEST(constants_and_lines_stay_with_their_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
