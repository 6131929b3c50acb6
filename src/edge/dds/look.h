/* A look at a ROS 2 world from outside, for the commands: which topics there are, what they bring, and a writer to any
 * of them. It is a participant without a node, so it stands in nobody's graph. One thread uses it. */
#ifndef NM_EDGE_DDS_LOOK_H
#define NM_EDGE_DDS_LOOK_H

#include "base/arena.h"
#include "base/error.h"
#include "base/type.h"
#include "edge/dds/names.h"
#include "edge/dds/rawtype.h"

struct nm_look;

/* domain -1: what ROS_DOMAIN_ID says. NULL with a sentence. Others are found within a second. */
struct nm_look *nm_look_new(int domain, bool network, struct nm_err *err);
void nm_look_free(struct nm_look *look);

struct nm_look_topic {
    char name[NM_ROS_NAME];     /* "/red/imu"                                            */
    char dds_type[NM_ROS_NAME]; /* "sensor_msgs::msg::dds_::Imu_"                        */
    char ros_type[NM_ROS_NAME]; /* "sensor_msgs/msg/Imu"                                 */
    const struct nm_type *type; /* NULL: a type that this program does not have          */
    uint32_t writers, readers;
};

/* A writer or a reader of a topic, with what it promises or asks for. How much history it keeps is not told. */
struct nm_look_offer {
    bool writes;
    uint8_t gid[16];
    char dds_type[NM_ROS_NAME];
    char hash[80]; /* RIHS01_…; "" if it says none */
    bool reliable, latched, manual;
    int64_t deadline, lifespan, lease; /* ns; INT64_MAX: for ever */
};

/* The topics seen so far, sorted by name; how many, at most `most`. Those of services are left out, and hidden ones
 * unless asked for. */
uint32_t nm_look_topics(struct nm_look *look, bool hidden, struct nm_look_topic *at, uint32_t most);

/* The writers and readers of a topic. */
uint32_t nm_look_offers(struct nm_look *look, const char *name, struct nm_look_offer *at, uint32_t most);

/* The services, or the actions, seen so far: sorted by name, the type without its halves ("std_srvs/srv/SetBool").
 * `readers` counts their servers, `writers` their clients. */
uint32_t nm_look_services(struct nm_look *look, bool hidden, struct nm_look_topic *at, uint32_t most);
uint32_t nm_look_actions(struct nm_look *look, struct nm_look_topic *at, uint32_t most);

/* The merged ros2msg text of a topic's type, in the arena: ours, or what its writer's node tells when it is asked
 * (which takes up to `timeout` seconds). NULL with a sentence. */
const char *nm_look_schema(struct nm_look *look, const struct nm_look_topic *topic, struct nm_arena *arena,
                           double timeout, struct nm_err *err);

/* Listens to a topic as its writers offer it. 0, 1 while nobody writes it, -1 with a sentence. */
int nm_look_listen(struct nm_look *look, const char *name, struct nm_look_topic *topic, struct nm_err *err);
/* What has come since the last call; see nm_raw_take. */
int nm_look_take(struct nm_look *look, struct nm_raw *samples, uint32_t n);
/* Sleeps until there is something to take, or the time-out (ns); false after the time-out. */
bool nm_look_wait(struct nm_look *look, int64_t timeout);

/* A writer of the topic; how many readers it has found. */
int nm_look_write_to(struct nm_look *look, const char *name, const struct nm_type *type, struct nm_err *err);
uint32_t nm_look_readers(struct nm_look *look);
int nm_look_write(struct nm_look *look, const void *message, struct nm_err *err);

/* ---- nodes (look_nodes.c) ---- */

/* An end of a node: "/red/imu" and what it carries. */
typedef void nm_look_end(void *user, const char *kind, const char *name, const char *type);
/* A node: its full name. */
typedef void nm_look_node(void *user, const char *name);

/* Begins to listen to the graph; nodes are there within a second. */
int nm_look_graph(struct nm_look *look, struct nm_err *err);
/* The node that has a writer or reader, by its id; false while that is not known. Once asked for, nm_look_nodes has
 * nothing to tell: both take the graph's samples. */
bool nm_look_owner(struct nm_look *look, const uint8_t gid[16], char *to, size_t size);
/* Tells every node, and with `ends` also the readers and writers of the one called `name`, each as "publishes",
 * "reads", "serves" or "calls". */
void nm_look_nodes(struct nm_look *look, nm_look_node *node, const char *name, nm_look_end *ends, void *user);

/* ---- services (look_call.c) ---- */

/* Calls a service with the CDR bytes of a request and waits for the reply, at most `timeout` seconds: its bytes, which
 * may be longer than any struct has room for, to be freed; NULL with a sentence. Both types are of one service. */
uint8_t *nm_look_call(struct nm_look *look, const char *name, const struct nm_type *request_type, const void *request,
                      size_t n, const struct nm_type *reply_type, size_t *size, double timeout, struct nm_err *err);

/* The same in steps, for what goes on beside it. A client has one question under way at a time. */
struct nm_look_client;
struct nm_look_client *nm_look_client_new(struct nm_look *look, const char *name, const struct nm_type *request_type,
                                          const struct nm_type *reply_type, struct nm_err *err);
/* 1 once it is sent, 0 while nobody serves it, -1 with a sentence. */
int nm_look_ask(struct nm_look_client *client, const void *request, struct nm_err *err);
/* 1 with the reply, 0 while there is none, -1 with a sentence: it cannot be read, or its server has gone. */
int nm_look_answer(struct nm_look_client *client, void *reply, struct nm_err *err);
void nm_look_client_free(struct nm_look_client *client);

/* ---- parameters of a node, "/red1/play" (look_params.c) ---- */

/* A parameter: its value as YAML, and what it is ("a double"). */
typedef void nm_look_param(void *user, const char *name, const char *value, const char *kind);
/* Tells those that are named, or all. -1 with a sentence. */
int nm_look_params(struct nm_look *look, const char *node, const char *const *names, uint32_t n, nm_look_param *each,
                   void *user, double timeout, struct nm_err *err);
/* Sets "NAME=VALUE" together, or none of them; -1 with the node's reason. */
int nm_look_params_set(struct nm_look *look, const char *node, const char *const *settings, uint32_t n, double timeout,
                       struct nm_err *err);

/* ---- actions (look_action.c) ---- */

struct nm_look_action { /* the types of one */
    const struct nm_type *goal, *feedback, *result;
    const struct nm_type *send_request, *send_reply, *result_request, *result_reply, *feedback_message;
};
/* Of "humanoid_league_msgs/PlayAnimation", also with /action/ in it. -1 with a sentence. */
int nm_look_action_find(const char *type, struct nm_look_action *action, struct nm_err *err);

enum nm_look_goal_state { NM_GOAL_SEARCHING, NM_GOAL_SENT, NM_GOAL_ACCEPTED, NM_GOAL_REJECTED, NM_GOAL_ENDED };

/* A goal on its way. */
struct nm_look_goal;
/* The goal is of action->goal. It is sent by the first nm_look_goal_turn that finds a server. */
struct nm_look_goal *nm_look_goal_new(struct nm_look *look, const char *name, const struct nm_look_action *action,
                                      const void *goal, struct nm_err *err);
/* Does what there is to do: the state, or -1 with a sentence. `feedback` is of action->feedback. */
typedef void nm_look_feedback(void *user, const void *feedback);
int nm_look_goal_turn(struct nm_look_goal *goal, nm_look_feedback *feedback, void *user, struct nm_err *err);
/* Asks to end it; it goes on until NM_GOAL_ENDED. */
void nm_look_goal_cancel(struct nm_look_goal *goal);
/* After NM_GOAL_ENDED: the status (action_msgs/GoalStatus) and the result, of action->result. */
int nm_look_goal_status(const struct nm_look_goal *goal);
const void *nm_look_goal_result(const struct nm_look_goal *goal);
void nm_look_goal_free(struct nm_look_goal *goal);

#endif
