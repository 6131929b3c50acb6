/* Requests to a running line-up. Each is one line with a map in JSON or in YAML's flow style, such as
 *
 *     {op: tasks}
 *     {op: why, topic: ball}
 *     {op: say, topic: cmd_vel, message: "{linear: {x: 0.1}}"}
 *     {op: set, set: ["ball_filter.friction=0.3", "ball_filter.jump=1"]}
 *     {"op": "swap", "instance": "ball_filter", "plugin": "/home/me/ball_filter.so"}
 *
 * The answer is one JSON object, followed by an empty line. A refusal has the key "error" with the reason. After `echo`
 * one object follows for each message, until the client disconnects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum {
    NM_REQUEST_LINE = 65536, /* bytes of a request        */
    NM_REQUEST_SETS = 1024,  /* parameters in one set     */
    NM_REQUEST_TEXT = 4096,  /* bytes of one of its texts */
};

enum nm_control_op {
    NM_CONTROL_INFO,   /* name, line-up, robot, time, number of things          */
    NM_CONTROL_TASKS,  /* statistics of cycles and modules                      */
    NM_CONTROL_TOPICS, /* what is published, by whom, how often                 */
    NM_CONTROL_WHY,    /* topic: who makes it, how old, why stale               */
    NM_CONTROL_PARAMS, /* all, or those of `instance`, or only its `param`      */
    NM_CONTROL_SET,    /* set: all of the given values, or none if one is wrong */
    NM_CONTROL_RESET,  /* back to the values of the files: all, instance, param; with a layer also what was saved there
                        */
    NM_CONTROL_SAVE,   /* writes what was set while running into the layer's file                                */
    NM_CONTROL_SWAP,   /* another build of the module of an instance                                             */
    NM_CONTROL_WATCH,  /* on: modules publish on `show` even if nobody listens                                   */
    NM_CONTROL_ECHO,   /* topic: its messages as they are published                                              */
    NM_CONTROL_STOP,   /* ends the line-up                                                                       */
    NM_CONTROL_CALL,   /* topic: a service; message: its request, as YAML. The answer has the reply's `text`, or, if a
                        * module has to make it, it follows                                                      */
    NM_CONTROL_SAY,    /* message, as YAML, for a topic from outside or a service; refused while the robot plays */
    NM_CONTROL_OPS
};
const char *nm_control_op_name(enum nm_control_op op);

/* Texts that are not given are NULL. */
struct nm_request {
    enum nm_control_op op;
    const char *topic, *instance, *param, *plugin, *layer, *message;
    bool on;
    uint32_t n_set;
    const char *const *set; /* "instance.parameter=value" */
};

/* -1 with a sentence: the line is too long or not a map, the operation is missing or unknown, a key is missing or does
 * not belong to the operation, or a value has the wrong type. Texts live in the arena. */
int nm_request_parse(struct nm_arena *arena, const char *line, size_t size, struct nm_request *request,
                     struct nm_err *err);
