/* A look at a ROS 2 system from outside, for the commands: which topics, nodes, services and actions there are, what
 * topics carry, and a writer to any of them. It is a participant without a node, so it appears in nobody's graph. Only
 * one thread may use it. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/type.h"
#include "edge/dds/names.h"
#include "edge/dds/rawtype.h"

struct nm_look;

/* domain -1: that of ROS_DOMAIN_ID. NULL with a sentence. Others are found within a second. */
struct nm_look *nm_look_new(int domain, bool network, struct nm_err *err);
void nm_look_free(struct nm_look *look);

/* True if a name may be printed. Peers choose their names, which could hold control sequences for a terminal. */
bool nm_look_plain(const char *name);

struct nm_look_topic {
    char name[NM_ROS_NAME];     /* "/red/imu"                                   */
    char dds_type[NM_ROS_NAME]; /* "sensor_msgs::msg::dds_::Imu_"               */
    char ros_type[NM_ROS_NAME]; /* "sensor_msgs/msg/Imu"                        */
    const struct nm_type *type; /* NULL: a type that this program does not have */
    uint32_t writers, readers;
};

/* A writer or a reader of a topic, with the QoS that it offers or requests. Its history depth is not known. */
struct nm_look_offer {
    bool writes;
    uint8_t gid[16];
    char dds_type[NM_ROS_NAME];
    char hash[80]; /* RIHS01_…; "" if it gives none */
    bool reliable, latched, manual;
    int64_t deadline, lifespan, lease; /* ns; INT64_MAX: for ever */
};

/* Lists the topics seen so far, sorted by name; returns their number, at most `most`. Topics of services are left out,
 * and hidden ones, too, unless `hidden` is set. */
uint32_t nm_look_topics(struct nm_look *look, bool hidden, struct nm_look_topic *at, uint32_t most);

/* The writers and readers of a topic. */
uint32_t nm_look_offers(struct nm_look *look, const char *name, struct nm_look_offer *at, uint32_t most);

/* Lists the services, or the actions, seen so far, sorted by name, with the type of the whole ("std_srvs/srv/SetBool").
 * `readers` counts their servers, `writers` their clients. */
uint32_t nm_look_services(struct nm_look *look, bool hidden, struct nm_look_topic *at, uint32_t most);
uint32_t nm_look_actions(struct nm_look *look, struct nm_look_topic *at, uint32_t most);

/* The merged ros2msg text of the type of a topic, in the arena. It is ours, or the node of its writer is asked for it,
 * which takes up to `timeout` seconds. NULL with a sentence. */
const char *nm_look_schema(struct nm_look *look, const struct nm_look_topic *topic, struct nm_arena *arena,
                           double timeout, struct nm_err *err);

/* Listens to a topic with the QoS that its writers offer. 0; 1 while nobody writes it; -1 with a sentence. */
int nm_look_listen(struct nm_look *look, const char *name, struct nm_look_topic *topic, struct nm_err *err);
/* The reader of the last nm_look_listen, for callers that listen to several topics. */
dds_entity_t nm_look_reader(const struct nm_look *look);
/* Takes what has arrived since the last call; see nm_raw_take. */
int nm_look_take(struct nm_look *look, struct nm_raw *samples, uint32_t n);
/* Sleeps until there is something to take; false if the time-out (ns) came first. */
bool nm_look_wait(struct nm_look *look, int64_t timeout);

/* Opens a writer of the topic; nm_look_readers is the number of readers that it has found. */
int nm_look_write_to(struct nm_look *look, const char *name, const struct nm_type *type, struct nm_err *err);
uint32_t nm_look_readers(struct nm_look *look);
int nm_look_write(struct nm_look *look, const void *message, struct nm_err *err);

/* ---- nodes ---- */

/* An endpoint of a node: "/red/imu" and its type. */
typedef void nm_look_end(void *user, const char *kind, const char *name, const char *type);
/* A node: its full name. */
typedef void nm_look_node(void *user, const char *name);

/* Starts to listen to the graph; nodes are known within a second. */
int nm_look_graph(struct nm_look *look, struct nm_err *err);
/* The node of a writer or reader, by its id; false while it is not known. Use either this or nm_look_nodes, because
 * both take the samples of the graph. */
bool nm_look_owner(struct nm_look *look, const uint8_t gid[16], char *to, size_t size);
/* Calls `node` for every node, and `ends` for the readers and writers of the node called `name`, each as "publishes",
 * "reads", "serves" or "calls". */
void nm_look_nodes(struct nm_look *look, nm_look_node *node, const char *name, nm_look_end *ends, void *user);

/* ---- services ---- */

/* Calls a service with the CDR bytes of a request and waits at most `timeout` seconds for the reply. Returns its bytes,
 * which may be longer than any struct; the caller frees them. NULL with a sentence. Both types belong to one service.
 */
uint8_t *nm_look_call(struct nm_look *look, const char *name, const struct nm_type *request_type, const void *request,
                      size_t n, const struct nm_type *reply_type, size_t *size, double timeout, struct nm_err *err);

/* A client of a service, with one request at a time. */
struct nm_look_client;
struct nm_look_client *nm_look_client_new(struct nm_look *look, const char *name, const struct nm_type *request_type,
                                          const struct nm_type *reply_type, struct nm_err *err);
void nm_look_client_free(struct nm_look_client *client);
/* 1: the request is sent; 0: nobody serves it yet; -1 with a sentence. */
int nm_look_ask(struct nm_look_client *client, const void *request, struct nm_err *err);
/* 1: the reply is there; 0: not yet; -1 with a sentence: it cannot be read, or its server is gone. */
int nm_look_answer(struct nm_look_client *client, void *reply, struct nm_err *err);

/* ---- parameters of a node, "/red1/play" ---- */

/* A parameter: its value as YAML, and its type ("a double"). */
typedef void nm_look_param(void *user, const char *name, const char *value, const char *kind);
/* Calls `each` for the named parameters, or for all. -1 with a sentence. */
int nm_look_params(struct nm_look *look, const char *node, const char *const *names, uint32_t n, nm_look_param *each,
                   void *user, double timeout, struct nm_err *err);
/* Applies all settings "NAME=VALUE" or none; -1 with the reason of the node. */
int nm_look_params_set(struct nm_look *look, const char *node, const char *const *settings, uint32_t n, double timeout,
                       struct nm_err *err);

/* ---- actions ---- */

struct nm_look_action { /* the types of an action */
    const struct nm_type *goal, *feedback, *result;
    const struct nm_type *send_request, *send_reply, *result_request, *result_reply, *feedback_message;
};
/* Finds the types of "humanoid_league_msgs/PlayAnimation", also written with /action/. -1 with a sentence. */
int nm_look_action_find(const char *type, struct nm_look_action *action, struct nm_err *err);

enum nm_look_goal_state { NM_GOAL_SEARCHING, NM_GOAL_SENT, NM_GOAL_ACCEPTED, NM_GOAL_REJECTED, NM_GOAL_ENDED };

/* A goal of an action. */
struct nm_look_goal;
/* The goal has the type action->goal. The first nm_look_goal_turn that finds a server sends it. */
struct nm_look_goal *nm_look_goal_new(struct nm_look *look, const char *name, const struct nm_look_action *action,
                                      const void *goal, struct nm_err *err);
/* Does what is due; returns the state, or -1 with a sentence. `feedback` has the type action->feedback. */
typedef void nm_look_feedback(void *user, const void *feedback);
int nm_look_goal_turn(struct nm_look_goal *goal, nm_look_feedback *feedback, void *user, struct nm_err *err);
/* Asks the server to end the goal; continue until NM_GOAL_ENDED. */
void nm_look_goal_cancel(struct nm_look_goal *goal);
/* After NM_GOAL_ENDED: the status (action_msgs/GoalStatus) and the result, which has the type action->result. */
int nm_look_goal_status(const struct nm_look_goal *goal);
const void *nm_look_goal_result(const struct nm_look_goal *goal);
void nm_look_goal_free(struct nm_look_goal *goal);
