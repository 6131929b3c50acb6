/* The types ROS 2 derives from services and actions (rosidl, "hidden types"): events, the two services and the feedback
 * message of an action, and for each service and action one type that holds its parts, which has a hash of its own. */
#include "codec/msgdef_parts.h"

#include <string.h>

/* One member of a derived type. In `type`, a leading '_' is short for the interface's own name. */
struct member {
    const char *name, *type;
    enum nm_kind kind;
    uint32_t bound; /* sequence of at most so many, 0 for one */
};

struct derived {
    const char *suffix;
    struct member members[7];
};

#define SERVICE(prefix)                                                                                                \
    {prefix "_Event",                                                                                                  \
     {{"info", "service_msgs/msg/ServiceEventInfo", NM_STRUCT, 0},                                                     \
      {"request", prefix "_Request", NM_STRUCT, 1},                                                                    \
      {"response", prefix "_Response", NM_STRUCT, 1}}},                                                                \
    {                                                                                                                  \
        prefix,                                                                                                        \
            {{"request_message", prefix "_Request", NM_STRUCT, 0},                                                     \
             {"response_message", prefix "_Response", NM_STRUCT, 0},                                                   \
             {"event_message", prefix "_Event", NM_STRUCT, 0}},                                                        \
    }

#define GOAL_ID                                                                                                        \
    {                                                                                                                  \
        "goal_id", "unique_identifier_msgs/msg/UUID", NM_STRUCT, 0                                                     \
    }

static const struct derived of_service[] = {SERVICE(""), {0}};

static const struct derived of_action[] = {
    {"_SendGoal_Request", {GOAL_ID, {"goal", "_Goal", NM_STRUCT, 0}}},
    {"_SendGoal_Response", {{"accepted", NULL, NM_BOOL, 0}, {"stamp", "builtin_interfaces/msg/Time", NM_STRUCT, 0}}},
    SERVICE("_SendGoal"),
    {"_GetResult_Request", {GOAL_ID}},
    {"_GetResult_Response", {{"status", NULL, NM_INT8, 0}, {"result", "_Result", NM_STRUCT, 0}}},
    SERVICE("_GetResult"),
    {"_FeedbackMessage", {GOAL_ID, {"feedback", "_Feedback", NM_STRUCT, 0}}},
    {"",
     {{"goal", "_Goal", NM_STRUCT, 0},
      {"result", "_Result", NM_STRUCT, 0},
      {"feedback", "_Feedback", NM_STRUCT, 0},
      {"send_goal_service", "_SendGoal", NM_STRUCT, 0},
      {"get_result_service", "_GetResult", NM_STRUCT, 0},
      {"feedback_message", "_FeedbackMessage", NM_STRUCT, 0}}},
    {0},
};

static void add_member(struct nm_defs *set, struct nm_def *def, const struct member *member, uint32_t *room,
                       const char *own)
{
    struct nm_def_field *field = nm_def_add_field(set, def, room);
    field->name = member->name;
    field->kind = member->kind;
    field->line = def->line;
    if (member->bound) {
        field->shape = NM_SEQ;
        field->bound = field->cap = member->bound;
    }
    if (member->type)
        field->type = *member->type == '_' ? nm_take_format(set->arena, "%s%s", own, member->type) : member->type;
}

int nm_defs_derive(struct nm_defs *set, const struct nm_def_source *source, const struct nm_spot *spot)
{
    bool service = source->kind == NM_SRV;
    const char *kind = service ? "srv" : "action";
    const char *own = nm_take_format(set->arena, "%s/%s/%s", source->package, kind, source->name);
    for (const struct derived *derived = service ? of_service : of_action; derived->suffix; derived++) {
        struct nm_def *def = nm_defs_new(set, source->package, kind, source->name, derived->suffix, spot);
        uint32_t room = 0;
        if (!def) return -1;
        for (const struct member *m = derived->members; m->name; m++) add_member(set, def, m, &room, own);
    }
    return 0;
}
