/* What things are called and promised on a ROS 2 wire: names of nodes, topics and services, the QoS of well-known
 * topics, and the `key=value;` texts in USER_DATA. Pure functions. */
#ifndef NM_EDGE_DDS_NAMES_H
#define NM_EDGE_DDS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/type.h"

enum { NM_ROS_NAME = 256 }; /* bytes of any name here, with the NUL */

/* A player's name as a node's: one token of letters, digits and '_', not beginning with a digit. */
void nm_ros_node(const char *player, char *to, size_t size);

/* A namespace as an absolute path: "" and "/" are "/", "red/1" is refused (a token begins with a digit), "red" is
 * "/red". */
int nm_ros_namespace(const char *text, char *to, size_t size, struct nm_err *err);

/* The ROS name of a line-up's topic or service: "/red/imu". What is one for all robots (rosout, parameter_events,
 * clock) has no namespace. */
void nm_ros_topic(const char *space, const char *topic, char *to, size_t size);

/* "sensor_msgs::msg::dds_::Imu_" is sensor_msgs/msg/Imu; a name that is not ROS 2's stays as it is. */
void nm_ros_type(const char *dds_name, char *to, size_t size);

/* "a/_b/c": left out of lists, such as the parts of an action. */
bool nm_ros_hidden(const char *topic);

struct nm_ros_qos {
    bool reliable;
    bool latched;     /* transient local: a late reader gets what the history holds */
    int32_t depth;    /* keep last                                                  */
    int64_t lifespan; /* ns; 0: for ever                                            */
};

/* The QoS of a topic by its name, else reliable with a short history; what carries a blob is best effort, since an
 * image sent again comes too late. */
struct nm_ros_qos nm_ros_qos(const char *topic, const struct nm_type *type);

/* The value of a key in "key=value;key=value;", which is hostile and not ended by a NUL. False without it, or where it
 * does not fit. */
bool nm_user_data(const void *bytes, size_t n, const char *key, char *to, size_t size);

#endif
