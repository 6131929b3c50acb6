/* A line-up: who plays where. A YAML file lists the cycles (threads) and the module instances in each; loading it
 * checks everything before anything starts and gives the whole graph: topics with their producers and consumers, the
 * order of steps in each cycle, every parameter with the layer it comes from.
 *
 *     robot: kid70                      # folder in robots/, or a path
 *     plugins: [../mine/build/mine.so]  # modules from outside the tree, relative to this file
 *     cycles:
 *       motion:
 *         period: 8 ms                  # or   trigger: image_raw   and   timeout: 50 ms (100 ms unless given)
 *         deadline: 6 ms                # the period or timeout unless given; later counts as a miss
 *         cost: 1 ms                    # how long its outputs take to appear in virtual time; 0 unless given
 *         priority: 50                  # SCHED_FIFO where allowed; 0 (none) unless given
 *         core: 1                       # pin to this core; any unless given
 *         modules:
 *           - orientation
 *           - module: ball_filter
 *             name: rival               # the module's name unless given
 *             params: {friction: 0.2}
 *             topics: {ball: ball_rival}  # port topic -> real topic; a service by its own name
 *     remote: [imu, joint_states]       # topics that come from outside this line-up, services that are served there
 *
 * A trigger is a topic that another cycle makes or that is remote. An instance may not have the name of another module:
 * files of parameters could not tell them apart. */
#ifndef NM_CORE_LINEUP_H
#define NM_CORE_LINEUP_H

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
    bool queue;     /* made by out queues, or remote and read by queues only: each message counts */
    bool many;      /* several producers are allowed                       */
    bool remote;    /* under `remote:`                                     */
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

/* Where things are and what the command line said. */
struct nm_lineup_options {
    const char *root;  /* folder with config/ and robots/; "." if NULL        */
    const char *robot; /* instead of the file's                               */
    const char *head, *body, *place, *event;
    uint32_t n_set;
    const char *const *set; /* "instance.parameter=value"                     */
    uint32_t n_remote;
    const char *const *remote; /* more remote topics                        */
    /* The text comes from a log, which is data: it loads no code and opens no folder. Its plug-ins are those that the
     * registry has already, and its robot is one of robots/ by name, or the one given above. */
    bool foreign;
};

/* Loads and checks; NULL with every fault found, each `file:line: …` naming module, topic and the nearest valid name.
 * Faults: a topic without producer that is not remote; two producers where one of them is not `many`; types that
 * differ; a queue read as a value; a loop without `last`; a service without server, or with two; unknown module,
 * parameter, key, topic to rename, trigger; doubled names; wrong or out-of-range values; a period and a trigger, or
 * neither. What is only odd (a remote topic that nobody reads) is in `warnings`. */
struct nm_lineup *nm_lineup_load(const char *file, struct nm_registry *registry,
                                 const struct nm_lineup_options *options, struct nm_err *err);
/* The same from text; `file` only names it in sentences and says what paths are relative to. */
struct nm_lineup *nm_lineup_parse(const char *text, size_t size, const char *file, struct nm_registry *registry,
                                  const struct nm_lineup_options *options, struct nm_err *err);
void nm_lineup_free(struct nm_lineup *lineup);

uint32_t nm_lineup_topic(const struct nm_lineup *lineup,
                         const char *name); /* NM_NONE if unknown; a leading '/' is ignored */
uint32_t nm_lineup_instance(const struct nm_lineup *lineup, const char *name); /* NM_NONE if unknown */

/* The line-up as the text of one: all of it (`chosen` NULL), or only those instances, with everything that they read
 * from others as remote. */
void nm_lineup_print(const struct nm_lineup *lineup, const bool *chosen, FILE *to);

#endif
