/* A line-up says which modules run. It is a YAML file that lists the cycles (threads) and the module instances of each
 * cycle. Loading it checks everything before anything starts, and gives the whole graph: topics with their producers
 * and consumers, the order of steps in each cycle, and every parameter with the layer that it comes from.
 *
 *     robot: kid70                      # folder in robots/, or a path
 *     plugins: [../mine/build/mine.so]  # modules from outside the tree, relative to this file
 *     cycles:
 *       motion:
 *         period: 8 ms                  # or a trigger:  trigger: image_raw  with  timeout: 50 ms (default 100 ms)
 *         deadline: 6 ms                # a run that ends later is counted as a miss; default: period or timeout
 *         cost: 1 ms                    # in virtual time, outputs appear this much after the start; default 0
 *         priority: 50                  # of SCHED_FIFO, where that is allowed; default 0, which is none
 *         core: 1                       # the thread runs on this core only; default: any core
 *         modules:
 *           - orientation
 *           - module: ball_filter
 *             name: rival               # name of the instance; default: the module's name
 *             params: {friction: 0.2}
 *             topics: {ball: ball_rival}  # renames a topic or a service: the port's name -> the real name
 *     remote: [imu, joint_states]       # topics and services that come from outside this line-up
 *
 * It may extend others (core/lineup_extend.h).
 * A trigger is a topic that another cycle makes or that is remote. An instance may not have the name of another module,
 * because files of parameters could not tell the two apart. */
#pragma once

#include <stdio.h>

#include "core/params.h"
#include "core/registry.h"

#define NM_NONE UINT32_MAX

struct nm_end { /* one end of a topic */
    uint32_t instance;
    uint32_t port;
};

struct nm_topic {
    const char *name; /* without leading '/': "imu", "camera/image_raw" */
    const struct nm_type *type;
    enum nm_port_role role;
    bool queue;     /* every message counts: out queues make it, or it is remote and only queues read it */
    bool many;      /* several producers are allowed                       */
    bool remote;    /* listed under `remote:`                              */
    bool builtin;   /* the runtime itself writes it (rosout, show), or it needs no producer (tf, tf_static) */
    uint32_t depth; /* largest of its queue ports; at least 64 if built in */
    uint32_t blob;  /* largest blob of its producers, bytes                */
    uint32_t n_producers, n_consumers;
    struct nm_end *producers, *consumers;
};

struct nm_lineup_instance {
    const char *name;
    const struct nm_module *module;
    uint32_t cycle;
    const char *file; /* where it stands: in this line-up or in one that it extends */
    int line;
    uint32_t n_ports, n_params;
    uint32_t *topics;        /* for each port the index of its topic */
    struct nm_value *values; /* for each parameter                    */
};

struct nm_lineup_cycle {
    const char *name;
    int line;
    int64_t period;   /* ns; 0 if triggered                       */
    uint32_t trigger; /* topic, NM_NONE if periodic               */
    int64_t timeout;  /* ns; triggered: runs at least this often  */
    int64_t deadline; /* ns after its start                       */
    int64_t cost;     /* ns                                       */
    int priority;     /* 0: none                                  */
    int core;         /* -1: any                                  */
    uint32_t n_order;
    uint32_t *order; /* instances in the order of their steps     */
};

struct nm_lineup {
    struct nm_arena arena; /* owns all of this                             */
    const char *file;
    const char *name;  /* file without folder and suffix             */
    const char *robot; /* as written, or NULL                        */
    const char *robot_folder;
    uint32_t n_cycles, n_instances, n_topics;
    struct nm_lineup_cycle *cycles;
    struct nm_lineup_instance *instances;
    struct nm_topic *topics; /* sorted by name                             */
    uint32_t n_plugins;
    const char **plugins; /* files that it names                        */
    const char *warnings; /* sentences, or ""                           */
};

/* Where files are, and what the command line asks for. */
struct nm_lineup_options {
    const char *root;  /* folder with config/ and robots/; "." if NULL        */
    const char *robot; /* instead of the robot in the file                    */
    const char *head, *body, *place, *event;
    uint32_t n_set;
    const char *const *set; /* "instance.parameter=value"                     */
    uint32_t n_remote;
    const char *const *remote; /* more remote topics                        */
    /* The text comes from a log. A log is data, so it loads no code and opens no folder: its plug-ins must already be
     * in the registry, and its robot is a name in robots/, or the robot given above. */
    bool foreign;
};

/* Loads and checks a line-up. If it has faults, the result is NULL and `err` has all of them, each as `file:line: …`
 * with the module, the topic and the nearest valid name. Faults are: a topic that has no producer and is not remote;
 * two producers, one of which is not `many`; types that differ; a queue that is read as a value; a loop without `last`;
 * a service with no server or with two; an unknown module, parameter, key, topic to rename or trigger; a name that is
 * used twice; a value of the wrong type or out of range; both a period and a trigger, or neither. What is only unusual,
 * such as a remote topic that nobody reads, is in `warnings`. */
/* True for a file, and for a name such as folder/match:vision.yaml, which needs none (lineup_extend.h). */
bool nm_lineup_exists(const char *file);
struct nm_lineup *nm_lineup_load(const char *file, struct nm_registry *registry,
                                 const struct nm_lineup_options *options, struct nm_err *err);
/* The same from text. `file` is the name used in sentences; paths are relative to its folder. */
struct nm_lineup *nm_lineup_parse(const char *text, size_t size, const char *file, struct nm_registry *registry,
                                  const struct nm_lineup_options *options, struct nm_err *err);
void nm_lineup_free(struct nm_lineup *lineup);

uint32_t nm_lineup_topic(const struct nm_lineup *lineup,
                         const char *name); /* NM_NONE if unknown; a leading '/' is ignored */
uint32_t nm_lineup_instance(const struct nm_lineup *lineup, const char *name); /* NM_NONE if unknown */

/* Prints a line-up as YAML that nm_lineup_parse reads. With `chosen` (a bool for each instance) it prints only these
 * instances; what they read from the others becomes remote. */
void nm_lineup_print(const struct nm_lineup *lineup, const bool *chosen, FILE *to);
