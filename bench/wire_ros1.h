/* The same Imu between two processes of ROS 1, where Debian's roscpp and rospy are installed: what the robots of the
 * league ran on before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum ros1_way { ROS1_CPP, ROS1_PY, ROS1_WAYS };
extern const char *const ros1_names[ROS1_WAYS];

/* Whether it can be measured here; why not, as half a sentence. */
bool ros1_there(enum ros1_way way, char *why, size_t size);
/* Median latency in us and CPU time of both processes in us a message; false if nothing came. A master runs meanwhile.
 */
bool ros1_run(enum ros1_way way, int hz, int n, int warm, double *latency, double *cpu);
