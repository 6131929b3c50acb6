/* Names and QoS on a ROS 2 wire: names of nodes, topics and services, the QoS of well-known topics, and the
 * `key=value;` texts in USER_DATA. Pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/type.h"

enum { NM_ROS_NAME = 256 }; /* bytes of any name here, with the NUL */

/* The name of a player as the name of a node: letters, digits and '_', not starting with a digit. */
void nm_ros_node(const char *player, char *to, size_t size);

/* A namespace as an absolute path: "" and "/" become "/", "red" becomes "/red", and "red/1" is refused, because a part
 * starts with a digit. */
int nm_ros_namespace(const char *text, char *to, size_t size, struct nm_err *err);

/* The ROS name of a topic or service of a line-up, such as "/red/imu". Topics that all robots share (rosout,
 * parameter_events, clock) have no namespace. */
void nm_ros_topic(const char *space, const char *topic, char *to, size_t size);

/* "sensor_msgs::msg::dds_::Imu_" becomes sensor_msgs/msg/Imu; a name that is not from ROS 2 stays as it is. */
void nm_ros_type(const char *dds_name, char *to, size_t size);

/* True for names such as "a/_b/c", the parts of an action, which lists leave out. */
bool nm_ros_hidden(const char *topic);

struct nm_ros_qos {
    bool reliable;
    bool latched;     /* transient local: a late reader gets the history */
    int32_t depth;    /* keep last                                       */
    int64_t lifespan; /* ns; 0: for ever                                 */
};

/* The QoS of a well-known topic; other topics are reliable with a short history. Topics with a blob are best effort,
 * because an image that is sent again would be too late. */
struct nm_ros_qos nm_ros_qos(const char *topic, const struct nm_type *type);

/* The value of a key in "key=value;key=value;". The bytes come from a peer, may hold anything, and have no NUL at the
 * end. False if the key is missing or its value does not fit. */
bool nm_user_data(const void *bytes, size_t n, const char *key, char *to, size_t size);
