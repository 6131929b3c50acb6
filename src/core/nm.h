/* Everything that the author of a module needs from the runtime. One include is enough.
 *
 * A module is a struct, a table of ports, a table of parameters, and a function `step`, which the runtime calls once in
 * every run of the module's cycle. A whole module looks like this:
 *
 *     #include "core/nm.h"
 *     #include "humanoid_league_msgs/BallRelative.h"
 *     #include "nutmeg_msgs/BallModel.h"
 *
 *     struct ball_filter {
 *         struct nm *nm;               // the context, always the first member
 *         const BallRelative *seen;    // input
 *         BallModel *ball;             // output
 *         double friction;             // parameter
 *         double x, y;                 // state
 *     };
 *
 *     static void step(struct ball_filter *f)
 *     {
 *         if (!nm_fresh(f->nm, f->seen)) return;    // nothing new since the last step
 *         ...
 *         f->ball->position.x = f->x;
 *         nm_put(f->nm, f->ball);                   // publishes the output
 *     }
 *
 *     #define SELF struct ball_filter
 *     static const struct nm_port ports[] = {
 *         NM_IN(seen, BallRelative, "ball_relative"),
 *         NM_OUT(ball, BallModel, "ball"),
 *         {0},
 *     };
 *     static const struct nm_param params[] = {
 *         NM_PARAM(friction, 0.4, 0, 5, "1/s", "share of its speed that the ball loses in a second"),
 *         {0},
 *     };
 *     NM_MODULE(ball_filter, "Tracks the ball on the ground.", NM_PORTS(ports), NM_PARAMS(params),
 *               .step = NM_CALL(step))
 *
 * The kinds of ports, each with its member and its row:
 *
 *     const T *m;              NM_IN(m, T, "topic")              the latest value; never NULL
 *     const T *m;              NM_LAST(m, T, "topic")            the value of the previous run; breaks a loop
 *     nm_queue(T) m;           NM_QUEUE(m, T, "topic", 16)       m.at[0] to m.at[m.n - 1]: all since the last step
 *     nm_queue(T) m;           NM_LAST_QUEUE(m, T, "topic", 16)  the same without an order of steps; breaks a loop
 *     T *m;                    NM_OUT(m, T, "topic")             reset before each step, published by nm_put
 *     nm_out_queue(T) m;       NM_OUT_QUEUE(m, T, "topic", 16)   T *message = nm_push(f->nm, &f->m)
 *     nm_server(S) m;          NM_SERVER(m, S, "service", 4)     answers requests: nm_reply
 *     nm_client(S) m;          NM_CLIENT(m, S, "service", 4)     sends requests: nm_call
 *
 * `step` does no input or output, takes no memory and touches no globals. So the same module runs on a robot, many
 * times in one simulator, and again on a log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/export.h"
#include "base/geometry.h"
#include "base/random.h"
#include "base/type.h"

/* This number changes when the meaning of anything in this file changes. A plug-in that was built with another number
 * is refused. */
#define NM_ABI 5

/* ---- context ---- */

struct nm_body;
struct nm_cycle;
struct nm_instance;
struct nm_ring;

struct nm {
    int64_t now;                /* ns, time of this run; the same for all modules of the cycle                */
    int64_t dt;                 /* ns since the previous run of the cycle; in the first run, its period       */
    uint64_t run;               /* number of this run, counted from 1                                         */
    bool watched;               /* somebody looks at what nm_show shows                                       */
    struct nm_dice dice;        /* random numbers of this instance, seeded from its name                      */
    const char *name;           /* name of the instance                                                       */
    const struct nm_body *body; /* the model of the robot (body/robot.h), shared, constant; NULL: no robot    */
    struct nm_err *err;         /* only in init: say here with nm_fail why the module refuses to start        */
    struct nm_cycle *cycle;
    struct nm_instance *instance;
};

static inline double nm_seconds(int64_t ns) { return (double)ns * 1e-9; }
static inline int64_t nm_ns(double seconds) { return (int64_t)(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5)); }

/* For init of a module that needs the model of a robot: -1 with a sentence if there is none. */
static inline int nm_need_body(const struct nm *nm)
{
    if (nm->body) return 0;
    return nm_fail(nm->err, "%s needs a robot: name one in the line-up or with --robot", nm->name);
}

/* Random numbers: nm_random is uniform in [0, 1), nm_gauss has mean 0 and standard deviation 1. */
NM_EXPORT double nm_random(struct nm *nm);
NM_EXPORT double nm_gauss(struct nm *nm);

/* Writes a line to the console, which is the topic /rosout. Takes a printf format, cuts the line at 255 bytes and never
 * blocks: nm_log(f->nm, NM_WARN, "no ball for %.1f s", seconds). */
enum { NM_DEBUG = 10, NM_INFO = 20, NM_WARN = 30, NM_ERROR = 40, NM_FATAL = 50 };
#define nm_log(nm, level, ...) nm_log_((nm), (level), __FILE__, __func__, __LINE__, __VA_ARGS__)
NM_EXPORT void nm_log_(struct nm *nm, int level, const char *file, const char *function, int line, const char *format,
                       ...) __attribute__((format(printf, 6, 7)));

/* Shows a number, a text or an image under a name, in viewers and in logs. If nobody watches, it costs only a load and
 * a branch. */
#define nm_show(nm, name, value)                                                                                       \
    do {                                                                                                               \
        if (__builtin_expect((nm)->watched, 0)) nm_show_number((nm), (name), (double)(value));                         \
    } while (0)
#define nm_show_text(nm, name, ...)                                                                                    \
    do {                                                                                                               \
        if (__builtin_expect((nm)->watched, 0)) nm_show_text_((nm), (name), __VA_ARGS__);                              \
    } while (0)
#define nm_show_image(nm, name, bytes, width, height, step, encoding)                                                  \
    do {                                                                                                               \
        if (__builtin_expect((nm)->watched, 0))                                                                        \
            nm_show_image_((nm), (name), (bytes), (width), (height), (step), (encoding));                              \
    } while (0)
NM_EXPORT void nm_show_number(struct nm *nm, const char *name, double value);
NM_EXPORT void nm_show_text_(struct nm *nm, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
NM_EXPORT void nm_show_image_(struct nm *nm, const char *name, const uint8_t *bytes, uint32_t width, uint32_t height,
                              uint32_t step, const char *encoding);

/* ---- messages of ports ---- */

/* Lies in memory before every message. */
struct nm_slot {
    uint64_t seq;    /* number of the message in its topic, counted from 1; 0: never published */
    uint64_t run;    /* run of the reading cycle in which the message was published or arrived */
    int64_t time;    /* ns, start of the run that made the message                             */
    uint64_t caller; /* services: who sent the request; copied into the reply                  */
    int64_t call;    /* services: the number that the caller gave to the request               */
    uint32_t topic;  /* index of the topic in the line-up                                      */
    uint32_t maker;  /* index of the cycle or edge that made the message                       */
    uint64_t order;  /* number among the messages of all makers; the newest has the largest    */
    bool put;        /* outputs: nm_put was called in this step                                */
    uint8_t pad[7];
};
_Static_assert(sizeof(struct nm_slot) == 64, "a message begins on a cache line");

static inline struct nm_slot *nm_slot(const void *message) { return (struct nm_slot *)(uintptr_t)message - 1; }

/* Publishes an output. Readers in the same cycle see it as soon as this step ends, readers in other cycles when this
 * run of the cycle ends. If the module left the header's stamp at zero, the runtime writes the time of the run into it.
 */
static inline void nm_put(struct nm *nm, void *out)
{
    (void)nm;
    nm_slot(out)->put = true;
}

/* True if an input has changed since the last step of this instance. Give the member itself: nm_fresh(f->nm, f->seen).
 */
#define nm_fresh(nm, in) nm_fresh_((nm), (in), &(in))
NM_EXPORT bool nm_fresh_last(const struct nm *nm, const void *member);
static inline bool nm_fresh_(const struct nm *nm, const void *in, const void *member)
{
    uint64_t run = nm_slot(in)->run;
    return run == nm->run || (run && run + 1 == nm->run && nm_fresh_last(nm, member));
}

/* Age of an input in ns; INT64_MAX if it was never published. */
static inline int64_t nm_age(const struct nm *nm, const void *in)
{
    return nm_slot(in)->seq ? nm->now - nm_slot(in)->time : INT64_MAX;
}

#define nm_queue(T)                                                                                                    \
    struct {                                                                                                           \
        const T *const *at; /* the messages, oldest first */                                                           \
        uint32_t n;                                                                                                    \
        uint32_t lost; /* messages since the last step for which there was no room */                                  \
    }
#define nm_out_queue(T)                                                                                                \
    struct {                                                                                                           \
        struct nm_ring *ring;                                                                                          \
        T *type_[0];                                                                                                   \
    }

/* Appends a message to an output queue and returns it, reset to its defaults, to be filled in this step. It is
 * published when the step ends. The result is never NULL: if the queue is full, the message is a scratch one that
 * nobody reads, and the loss is counted. */
#define nm_push(nm, queue) ((__typeof__((queue)->type_[0]))nm_push_((nm), (queue)->ring))
NM_EXPORT void *nm_push_(struct nm *nm, struct nm_ring *ring);

/* Takes memory for a blob of an output from the pool of its port. False if the pool is empty or its blocks are smaller
 * than `bytes`; this is counted. */
NM_EXPORT bool nm_blob_take(struct nm *nm, const void *out, struct nm_blob *blob, uint32_t bytes);

/* ---- services: a queue of requests and a queue of replies ---- */

#define nm_server(T)                                                                                                   \
    struct {                                                                                                           \
        nm_queue(T##_Request) requests;                                                                                \
        nm_out_queue(T##_Response) replies;                                                                            \
    }
#define nm_client(T)                                                                                                   \
    struct {                                                                                                           \
        nm_out_queue(T##_Request) requests;                                                                            \
        nm_queue(T##_Response) replies; /* to this client only */                                                      \
    }
/* Answers a request: T_Response *r = nm_reply(f->nm, &f->power, f->power.requests.at[i]). To answer in a later step,
 * keep `caller` and `call` of the request's nm_slot and use nm_reply_to. */
#define nm_reply(nm, server, request)                                                                                  \
    ((__typeof__((server)->replies.type_[0]))nm_reply_((nm), (server)->replies.ring, nm_slot(request)->caller,         \
                                                       nm_slot(request)->call))
#define nm_reply_to(nm, server, caller, call)                                                                          \
    ((__typeof__((server)->replies.type_[0]))nm_reply_((nm), (server)->replies.ring, (caller), (call)))
NM_EXPORT void *nm_reply_(struct nm *nm, struct nm_ring *ring, uint64_t caller, int64_t call);
/* Sends a request: T_Request *q = nm_call(f->nm, &f->power). Its reply has the same number in nm_slot(reply)->call. */
#define nm_call(nm, client) ((__typeof__((client)->requests.type_[0]))nm_call_((nm), (client)->requests.ring))
NM_EXPORT void *nm_call_(struct nm *nm, struct nm_ring *ring);

/* ---- transforms ---- */

/* The pose that maps coordinates of frame `from` into frame `to` at the time `at` (ns). NM_TF_NEWEST is the newest time
 * for which all frames between them are known. False if a frame is unknown, if the two frames are not connected, or if
 * the history does not reach to that time. */
NM_EXPORT bool nm_tf(struct nm *nm, const char *from, const char *to, int64_t at, struct pose3 *from_to_to);
enum { NM_TF_NEWEST = 0 };

/* ---- the table ---- */

enum nm_port_kind {
    NM_PORT_IN = 1,     /* the latest value; its producer steps first                               */
    NM_PORT_LAST,       /* the value at the end of the previous run; breaks loops                   */
    NM_PORT_QUEUE,      /* all messages since the last step; their producers step first             */
    NM_PORT_LAST_QUEUE, /* all messages since the last step; producers may step later: breaks loops */
    NM_PORT_OUT,        /* at most one message in each step                                         */
    NM_PORT_OUT_QUEUE,  /* any number of messages in each step                                      */
};

enum nm_port_role { NM_ROLE_TOPIC, NM_ROLE_REQUEST, NM_ROLE_REPLY };

struct nm_port {
    const char *name;  /* name of the member in the module's struct                             */
    const char *topic; /* the line-up may rename it                                             */
    const struct nm_type *type;
    uint64_t layout; /* layout of the type when the module was compiled                         */
    enum nm_port_kind kind;
    enum nm_port_role role;
    bool many;       /* output: other modules may produce the topic too                         */
    bool optional;   /* input: the topic may have no producer; then nothing ever arrives        */
    uint32_t depth;  /* queue: how many messages have room                                      */
    uint32_t blob;   /* output with a blob: its largest size in bytes                           */
    uint32_t offset; /* of the member, in bytes                                                 */
};

#define NM_IS(member, ...) __builtin_types_compatible_p(__typeof__(((SELF *)0)->member), __VA_ARGS__)
/* Its value is 0. If the member has the wrong type, the compiler stops here with a sentence. */
#define NM_CHECK_(ok, member, topic, want)                                                                             \
    (sizeof(struct {                                                                                                   \
         _Static_assert(ok, "port " member " of topic " topic ": its member must be declared as " want);               \
         char one;                                                                                                     \
     }) -                                                                                                              \
     1)
#define NM_PORT_(member_, T, topic_, kind_, ok, want, ...)                                                             \
    {                                                                                                                  \
        .name = #member_, .topic = (topic_), .type = &T##_type, .layout = T##_LAYOUT, .kind = (kind_),                 \
        .offset = (uint32_t)(offsetof(SELF, member_) + NM_CHECK_(ok, #member_, topic_, want)), __VA_ARGS__             \
    }
#define NM_QUEUE_IS_(member, T)                                                                                        \
    __builtin_types_compatible_p(__typeof__(((SELF *)0)->member.at), __typeof__(const T *const *))
#define NM_OUT_QUEUE_IS_(member, T)                                                                                    \
    __builtin_types_compatible_p(__typeof__(((SELF *)0)->member.type_), __typeof__(T *[0]))

#define NM_IN(member, T, topic, ...)                                                                                   \
    NM_PORT_(member, T, topic, NM_PORT_IN, NM_IS(member, const T *), "const " #T " *" #member, __VA_ARGS__)
#define NM_LAST(member, T, topic, ...)                                                                                 \
    NM_PORT_(member, T, topic, NM_PORT_LAST, NM_IS(member, const T *), "const " #T " *" #member, __VA_ARGS__)
#define NM_OUT(member, T, topic, ...)                                                                                  \
    NM_PORT_(member, T, topic, NM_PORT_OUT, NM_IS(member, T *), #T " *" #member, __VA_ARGS__)
#define NM_QUEUE(member, T, topic, depth_, ...)                                                                        \
    NM_PORT_(member, T, topic, NM_PORT_QUEUE, NM_QUEUE_IS_(member, T), "nm_queue(" #T ") " #member, .depth = (depth_), \
             __VA_ARGS__)
#define NM_LAST_QUEUE(member, T, topic, depth_, ...)                                                                   \
    NM_PORT_(member, T, topic, NM_PORT_LAST_QUEUE, NM_QUEUE_IS_(member, T), "nm_queue(" #T ") " #member,               \
             .depth = (depth_), __VA_ARGS__)
#define NM_OUT_QUEUE(member, T, topic, depth_, ...)                                                                    \
    NM_PORT_(member, T, topic, NM_PORT_OUT_QUEUE, NM_OUT_QUEUE_IS_(member, T), "nm_out_queue(" #T ") " #member,        \
             .depth = (depth_), __VA_ARGS__)
/* A module that calls nm_tf has this row in its table of ports. It needs no member, because the cycle keeps the
 * history. */
#define NM_READS_TF                                                                                                    \
    {.name = "tf",                                                                                                     \
     .topic = "tf",                                                                                                    \
     .type = &TFMessage_type,                                                                                          \
     .layout = TFMessage_LAYOUT,                                                                                       \
     .kind = NM_PORT_LAST_QUEUE,                                                                                       \
     .depth = 64,                                                                                                      \
     .offset = UINT32_MAX},                                                                                            \
    {                                                                                                                  \
        .name = "tf_static", .topic = "tf_static", .type = &TFMessage_type, .layout = TFMessage_LAYOUT,                \
        .kind = NM_PORT_LAST_QUEUE, .depth = 64, .offset = UINT32_MAX                                                  \
    }
/* A service is two ports. */
#define NM_SERVER(member, T, name, depth)                                                                              \
    NM_QUEUE(member.requests, T##_Request, name "/request", depth, .role = NM_ROLE_REQUEST),                           \
        NM_OUT_QUEUE(member.replies, T##_Response, name "/reply", depth, .role = NM_ROLE_REPLY)
#define NM_CLIENT(member, T, name, depth)                                                                              \
    NM_OUT_QUEUE(member.requests, T##_Request, name "/request", depth, .role = NM_ROLE_REQUEST, .many = true),         \
        NM_LAST_QUEUE(member.replies, T##_Response, name "/reply", depth, .role = NM_ROLE_REPLY)

enum nm_param_kind {
    NM_PARAM_BOOL = 1,
    NM_PARAM_INT32,
    NM_PARAM_INT64,
    NM_PARAM_FLOAT,
    NM_PARAM_DOUBLE,
    NM_PARAM_TEXT,    /* char[n]                             */
    NM_PARAM_FLOATS,  /* float[n]; always n numbers are given  */
    NM_PARAM_DOUBLES, /* double[n]; always n numbers are given */
};

struct nm_param {
    const char *name; /* name of the member in the module's struct               */
    enum nm_param_kind kind;
    uint32_t offset, size; /* of the member, in bytes                            */
    double value;          /* default of a number or a switch                    */
    double min, max;       /* smallest and largest value of each element         */
    const char *text;      /* default of a text or of a list, such as "1 2 3"    */
    const char *choices;   /* the words that a text may be, such as "fast safe"  */
    const char *unit;      /* "m/s"; "1" for a number without a unit             */
    const char *about;     /* one line: what it does, and when to change it      */
};

#define NM_PARAM_KIND_(member)                                                                                         \
    _Generic(((SELF *)0)->member, bool: NM_PARAM_BOOL, int32_t: NM_PARAM_INT32, int64_t: NM_PARAM_INT64,               \
             float: NM_PARAM_FLOAT, double: NM_PARAM_DOUBLE, char *: NM_PARAM_TEXT, float *: NM_PARAM_FLOATS,          \
             double *: NM_PARAM_DOUBLES)
#define NM_PARAM_(member, ...)                                                                                         \
    {                                                                                                                  \
        .name = #member, .kind = NM_PARAM_KIND_(member), .offset = offsetof(SELF, member),                             \
        .size = sizeof(((SELF *)0)->member), __VA_ARGS__                                                               \
    }
#define NM_PARAM(member, value_, min_, max_, unit_, about_)                                                            \
    NM_PARAM_(member, .value = (double)(value_), .min = (min_), .max = (max_), .unit = (unit_), .about = (about_))
#define NM_PARAM_SWITCH(member, value_, about_)                                                                        \
    NM_PARAM_(member, .value = (value_), .min = 0, .max = 1, .unit = "1", .about = (about_))
#define NM_PARAM_LIST(member, values_, min_, max_, unit_, about_)                                                      \
    NM_PARAM_(member, .text = (values_), .min = (min_), .max = (max_), .unit = (unit_), .about = (about_))
#define NM_PARAM_WORD(member, value_, choices_, about_)                                                                \
    NM_PARAM_(member, .text = (value_), .choices = (choices_), .unit = "1", .about = (about_))

struct nm_module {
    uint32_t abi;
    const char *name;
    const char *about;             /* one or two sentences                                             */
    const char *file;              /* its source                                                       */
    uint32_t size;                 /* of its struct                                                    */
    uint64_t layout;               /* of its struct, set by `nutmeg dev`; 0: unknown, state not kept   */
    const struct nm_port *ports;   /* ends with {0}                                                    */
    const struct nm_param *params; /* ends with {0}, or NULL                                           */
    uint32_t n_ports, n_params;    /* rows of the tables, counting the last row {0}                    */
    int (*init)(void *self);       /* called once, with parameters set and all other state zero; may take
                                    * memory; -1 refuses                                               */
    void (*changed)(void *self);   /* called after init and whenever parameters changed, before a step */
    void (*step)(void *self);      /* called once in every run of the cycle                            */
    void (*close)(void *self);     /* called once, at the end                                          */
    const char *like;              /* a module whose parameters it has too: what files say of that one
                                    * counts for this one, unless they say something of this one; or NULL */
};

/* A function of the module for its table. The compiler checks that it takes a SELF pointer and returns nothing (init
 * returns int). */
#define NM_TAKES_SELF_(function, R) __builtin_types_compatible_p(__typeof__(&(function)), __typeof__(R(*)(SELF *)))
#define NM_CALL(function)                                                                                              \
    __builtin_choose_expr(                                                                                             \
        NM_TAKES_SELF_(function, void), (void (*)(void *))(void (*)(void))(function),                                  \
        __builtin_choose_expr(NM_TAKES_SELF_(function, int), (int (*)(void *))(void (*)(void))(function), (void)0))

#ifndef NM_LAYOUT
#define NM_LAYOUT 0
#endif

/* The tables of a module with their sizes. A table whose last row is not {0} is refused. */
#define NM_PORTS(table)  .ports = (table), .n_ports = sizeof(table) / sizeof *(table)
#define NM_PARAMS(table) .params = (table), .n_params = sizeof(table) / sizeof *(table)

/* Makes a module known to the runtime. In the program it goes into the linker section `nm_modules`; in a plug-in dlsym
 * finds it. NM_MODULE_UNLISTED only defines the table NAME_module, for tests. */
#define NM_MODULE(name_, about_, ...)                                                                                  \
    NM_MODULE_UNLISTED(name_, about_, __VA_ARGS__)                                                                     \
    NM_MODULE_REGISTER_(name_)
#define NM_MODULE_UNLISTED(name_, about_, ...)                                                                         \
    _Static_assert(offsetof(SELF, nm) == 0, "a module's struct begins with struct nm *nm");                            \
    extern const struct nm_module name_##_module;                                                                      \
    const struct nm_module name_##_module = {.abi = NM_ABI,                                                            \
                                             .name = #name_,                                                           \
                                             .about = (about_),                                                        \
                                             .file = __FILE__,                                                         \
                                             .size = sizeof(SELF),                                                     \
                                             .layout = NM_LAYOUT,                                                      \
                                             __VA_ARGS__};
#ifdef NM_PLUGIN
#define NM_MODULE_REGISTER_(name_) NM_EXPORT const struct nm_module *const nm_plugin_module = &name_##_module;
extern const struct nm_module *const nm_plugin_module;
#else
#define NM_MODULE_REGISTER_(name_)                                                                                     \
    static const struct nm_module *const name_##_entry __attribute__((section("nm_modules"), used)) = &name_##_module;
#endif
