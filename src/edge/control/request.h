/* Requests to a running line-up: one line each, a flow map in YAML or JSON, such as
 *
 *     {op: tasks}
 *     {op: why, topic: ball}
 *     {op: say, topic: cmd_vel, message: "{linear: {x: 0.1}}"}
 *     {op: set, set: ["ball_filter.friction=0.3", "ball_filter.jump=1"]}
 *     {"op": "swap", "instance": "ball_filter", "plugin": "/home/me/ball_filter.so"}
 *
 * The answer is one JSON object, ended by an empty line; a refusal has the key "error" with the sentence. After `echo`
 * one object follows for each message, until the client goes. */
#ifndef NM_EDGE_CONTROL_REQUEST_H
#define NM_EDGE_CONTROL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum {
    NM_REQUEST_LINE = 65536, /* bytes of a request           */
    NM_REQUEST_SETS = 1024,  /* parameters in one set        */
    NM_REQUEST_TEXT = 4096,  /* bytes of one of its texts    */
};

enum nm_control_op {
    NM_CONTROL_INFO,   /* name, line-up, robot, time, number of things           */
    NM_CONTROL_TASKS,  /* statistics of cycles and modules                       */
    NM_CONTROL_TOPICS, /* what is published, by whom, how often                  */
    NM_CONTROL_WHY,    /* topic: who makes it, how old, why stale                */
    NM_CONTROL_PARAMS, /* all, or those of `instance`, or the one of `param` too */
    NM_CONTROL_SET,    /* set: several at once, or none of them                  */
    NM_CONTROL_RESET,  /* back to the files: all, instance, param; a layer's saved ones too */
    NM_CONTROL_SAVE,   /* what was set while running, into the layer's own file  */
    NM_CONTROL_SWAP,   /* another build of the module of an instance             */
    NM_CONTROL_WATCH,  /* on: modules show what they can, even if nobody listens */
    NM_CONTROL_ECHO,   /* topic: its messages as they come                       */
    NM_CONTROL_STOP,   /* ends the line-up                                       */
    NM_CONTROL_SAY,    /* message, as YAML: on a topic that comes from outside, or to a service; not while it plays */
    NM_CONTROL_OPS
};
const char *nm_control_op_name(enum nm_control_op op);

/* Texts that the operation does not take or that were left out are NULL. */
struct nm_request {
    enum nm_control_op op;
    const char *topic, *instance, *param, *plugin, *layer, *message;
    bool on;
    uint32_t n_set;
    const char *const *set; /* "instance.parameter=value" */
};

/* -1 with a sentence: too long, no map, no or unknown operation, a key that it does not take, a needed one missing, a
 * value of another kind. Texts live in the arena. */
int nm_request_parse(struct nm_arena *arena, const char *line, size_t size, struct nm_request *request,
                     struct nm_err *err);

#endif
