/* All that a module sees of the runtime: its context, its ports, its table. One include for a module's author.
 *
 * A module is a struct, a table and a function. The struct holds a pointer to its context, its ports, its parameters
 * and its state; the table names the ports and parameters; `step` is called once a cycle:
 *
 *     struct ball_filter {
 *         struct nm *nm;
 *         const BallRelative *seen;       in:     latest value, never NULL; nm_fresh(f->nm, f->seen) says if it is new
 *         nm_queue(Speak) said;           queue:  said.at[0 … said.n-1], everything since the last step
 *         BallModel *ball;                out:    reset before step, published by nm_put(f->nm, f->ball)
 *         nm_out_queue(Speak) speak;      out queue: Speak *s = nm_push(f->nm, &f->speak)
 *         float friction;                 parameter
 *         struct kf4 kf;                  state
 *     };
 *
 *     #define SELF struct ball_filter
 *     static const struct nm_port ports[] = {
 *         NM_IN(seen, BallRelative, "ball_relative"),
 *         NM_OUT(ball, BallModel, "ball"),
 *         {0},
 *     };
 *     static const struct nm_param params[] = {
 *         NM_PARAM(friction, 0.4, 0, 5, "1/s", "share of speed lost a second"),
 *         {0},
 *     };
 *     NM_MODULE(ball_filter, "Tracks the ball on the ground.", NM_PORTS(ports), NM_PARAMS(params),
 *               .step = NM_CALL(step))
 *
 * `step` does no I/O, takes no memory, touches no globals: so the same module runs on a robot, many times in one
 * simulator, and again on a log. */
#ifndef NM_CORE_NM_H
#define NM_CORE_NM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/export.h"
#include "base/geometry.h"
#include "base/random.h"
#include "base/type.h"

/* Changes when the meaning of anything in this file changes: a plug-in built against another number is refused. */
#define NM_ABI 3

/* ---- context ---- */

struct nm_body;
struct nm_cycle;
struct nm_instance;
struct nm_ring;

struct nm {
    int64_t now;                /* ns; time of this run of the cycle, the same for all its modules   */
    int64_t dt;                 /* ns since the cycle's previous run (its period at the first)       */
    uint64_t run;               /* counts the cycle's runs from 1                                    */
    bool watched;               /* somebody looks at nm_show                                         */
    struct nm_dice dice;        /* random numbers of this instance alone, seeded from its name       */
    const char *name;           /* of the instance                                                   */
    const struct nm_body *body; /* the robot's model (body/robot.h), shared and constant; NULL without a robot */
    struct nm_err *err;         /* during init: where a sentence goes that says why it refuses                */
    struct nm_cycle *cycle;
    struct nm_instance *instance;
};

static inline double nm_seconds(int64_t ns) { return (double)ns * 1e-9; }
static inline int64_t nm_ns(double seconds) { return (int64_t)(seconds * 1e9 + (seconds < 0 ? -0.5 : 0.5)); }

/* Uniform in [0, 1), and standard normal. */
NM_EXPORT double nm_random(struct nm *nm);
NM_EXPORT double nm_gauss(struct nm *nm);

/* Console lines, one topic (/rosout) for all. A printf format; cut at 255 bytes; never blocks. */
enum { NM_DEBUG = 10, NM_INFO = 20, NM_WARN = 30, NM_ERROR = 40, NM_FATAL = 50 };
#define nm_log(nm, level, ...) nm_log_((nm), (level), __FILE__, __func__, __LINE__, __VA_ARGS__)
NM_EXPORT void nm_log_(struct nm *nm, int level, const char *file, const char *function, int line, const char *format,
                       ...) __attribute__((format(printf, 6, 7)));

/* Shows a number, a text or an image under a name, live and in logs, if somebody watches; costs a load and a branch
 * otherwise. */
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

/* Stands in front of every message on a board. */
struct nm_slot {
    uint64_t seq;    /* counts the topic's messages from 1; 0: never published             */
    uint64_t run;    /* run of the reading cycle in which it was published or came in      */
    int64_t time;    /* ns; start of the run that made it                                  */
    uint64_t caller; /* services: who asked, copied into the answer                        */
    int64_t call;    /* services: the caller's own number of the request                   */
    uint32_t topic;  /* index in the line-up's table                                       */
    uint32_t maker;  /* index of the cycle or edge that made it                            */
    uint64_t order;  /* counts the topic's messages of all makers: the newest has the most */
    bool put;        /* outputs: nm_put was called in this step                            */
    uint8_t pad[7];
};
_Static_assert(sizeof(struct nm_slot) == 64, "a message begins on a cache line");

static inline struct nm_slot *nm_slot(const void *message) { return (struct nm_slot *)(uintptr_t)message - 1; }

/* Publishes an output. Readers in this cycle see it as soon as this step ends, other cycles when this cycle ends. The
 * header is stamped with the cycle's time unless the module wrote one. */
static inline void nm_put(struct nm *nm, void *out)
{
    (void)nm;
    nm_slot(out)->put = true;
}

/* True if an input is new since this instance's last step: nm_fresh(f->nm, f->seen), with the member itself. */
#define nm_fresh(nm, in) nm_fresh_((nm), (in), &(in))
NM_EXPORT bool nm_fresh_last(const struct nm *nm, const void *member);
static inline bool nm_fresh_(const struct nm *nm, const void *in, const void *member)
{
    uint64_t run = nm_slot(in)->run;
    return run == nm->run || (run && run + 1 == nm->run && nm_fresh_last(nm, member));
}

/* ns since an input was made; INT64_MAX if it never was. */
static inline int64_t nm_age(const struct nm *nm, const void *in)
{
    return nm_slot(in)->seq ? nm->now - nm_slot(in)->time : INT64_MAX;
}

#define nm_queue(T)                                                                                                    \
    struct {                                                                                                           \
        const T *const *at; /* oldest first                                  */                                        \
        uint32_t n;                                                                                                    \
        uint32_t lost; /* messages that found no room since the last step */                                           \
    }
#define nm_out_queue(T)                                                                                                \
    struct {                                                                                                           \
        struct nm_ring *ring;                                                                                          \
        T *type_[0];                                                                                                   \
    }

/* Appends a message, reset to its defaults, to an output queue; it is published when the step ends. A full queue hands
 * out a scratch message instead and counts a loss, so the result is never NULL. */
#define nm_push(nm, queue) ((__typeof__((queue)->type_[0]))nm_push_((nm), (queue)->ring))
NM_EXPORT void *nm_push_(struct nm *nm, struct nm_ring *ring);

/* Takes memory for a blob of an output from the port's pool; false (counted) when the pool is empty or the blob too
 * small. */
NM_EXPORT bool nm_blob_take(struct nm *nm, const void *out, struct nm_blob *blob, uint32_t bytes);

/* ---- services: a request queue in and a response queue out ---- */

#define nm_server(T)                                                                                                   \
    struct {                                                                                                           \
        nm_queue(T##_Request) requests;                                                                                \
        nm_out_queue(T##_Response) replies;                                                                            \
    }
#define nm_client(T)                                                                                                   \
    struct {                                                                                                           \
        nm_out_queue(T##_Request) requests;                                                                            \
        nm_queue(T##_Response) replies; /* only this client's own */                                                   \
    }
/* The answer to one request: T_Response *r = nm_reply(f->nm, &f->power, f->power.requests.at[i]); may be given in a
 * later step, with the request's slot kept (caller and call). */
#define nm_reply(nm, server, request)                                                                                  \
    ((__typeof__((server)->replies.type_[0]))nm_reply_((nm), (server)->replies.ring, nm_slot(request)->caller,         \
                                                       nm_slot(request)->call))
#define nm_reply_to(nm, server, caller, call)                                                                          \
    ((__typeof__((server)->replies.type_[0]))nm_reply_((nm), (server)->replies.ring, (caller), (call)))
NM_EXPORT void *nm_reply_(struct nm *nm, struct nm_ring *ring, uint64_t caller, int64_t call);
/* A new request: T_Request *q = nm_call(f->nm, &f->power); the reply has the same nm_slot(reply)->call. */
#define nm_call(nm, client) ((__typeof__((client)->requests.type_[0]))nm_call_((nm), (client)->requests.ring))
NM_EXPORT void *nm_call_(struct nm *nm, struct nm_ring *ring);

/* ---- transforms ---- */

/* The pose that maps coordinates of frame `from` into frame `to` at a time of the past (at most NM_TF_HISTORY, 0: the
 * newest common time). False if the frames are unknown, unconnected, or the time is not covered. */
NM_EXPORT bool nm_tf(struct nm *nm, const char *from, const char *to, int64_t at, struct pose3 *from_to_to);
enum { NM_TF_NEWEST = 0 };

/* ---- the table ---- */

enum nm_port_kind {
    NM_PORT_IN = 1,     /* latest value; its producer steps first                     */
    NM_PORT_LAST,       /* value at the end of the previous run: breaks loops         */
    NM_PORT_QUEUE,      /* all since the last step; its producers step first          */
    NM_PORT_LAST_QUEUE, /* all since the last step; no order: breaks loops            */
    NM_PORT_OUT,        /* one value                                                  */
    NM_PORT_OUT_QUEUE,  /* any number                                                 */
};

enum nm_port_role { NM_ROLE_TOPIC, NM_ROLE_REQUEST, NM_ROLE_REPLY };

struct nm_port {
    const char *name;  /* of the member                                                         */
    const char *topic; /* unless the line-up renames it                                         */
    const struct nm_type *type;
    uint64_t layout; /* of the type when this was compiled                                      */
    enum nm_port_kind kind;
    enum nm_port_role role;
    bool many;       /* output: others may produce the topic too                                */
    bool optional;   /* input: the topic may have no producer; the port stays silent then       */
    uint32_t depth;  /* queue: messages that find room                                          */
    uint32_t blob;   /* output with a blob: largest in bytes                                    */
    uint32_t offset; /* of the member                                                           */
};

#define NM_IS(member, ...) __builtin_types_compatible_p(__typeof__(((SELF *)0)->member), __VA_ARGS__)
/* 0; a member of another type than the port's stops the compiler here with a sentence */
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
/* A module that calls nm_tf names it among its ports; the history is the cycle's, so there is no member. */
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
/* services take two rows */
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
    NM_PARAM_TEXT,    /* char[n]                */
    NM_PARAM_FLOATS,  /* float[n], all n given  */
    NM_PARAM_DOUBLES, /* double[n], all n given */
};

struct nm_param {
    const char *name; /* of the member                                    */
    enum nm_param_kind kind;
    uint32_t offset, size; /* of the member, in bytes                     */
    double value;          /* default of numbers and bools                */
    double min, max;       /* inclusive, for each element                 */
    const char *text;      /* default of texts; arrays: "1 2 3"           */
    const char *choices;   /* texts: the words allowed, "fast safe"       */
    const char *unit;      /* "m/s", "1" for none                         */
    const char *about;     /* one line: what it does, when to change it   */
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
    uint64_t layout;               /* of its struct, told by `nutmeg dev`; 0: unknown, never kept      */
    const struct nm_port *ports;   /* ends with {0}                                                    */
    const struct nm_param *params; /* ends with {0}, or NULL                                           */
    uint32_t n_ports, n_params;    /* rows of the tables, with the last one, {0}                       */
    int (*init)(void *self);       /* once, after parameters are set; may take memory; -1 refuses      */
    void (*reset)(void *self);     /* back to the first state                                          */
    void (*changed)(void *self);   /* after parameters changed, before the next step                   */
    void (*step)(void *self);      /* once a run                                                       */
    void (*close)(void *self);     /* once                                                             */
};

/* A module's function, checked to take a SELF * (and to return nothing, or int for init), stored as one that takes void
 * *. */
#define NM_TAKES_SELF_(function, R) __builtin_types_compatible_p(__typeof__(&(function)), __typeof__(R(*)(SELF *)))
#define NM_CALL(function)                                                                                              \
    __builtin_choose_expr(                                                                                             \
        NM_TAKES_SELF_(function, void), (void (*)(void *))(void (*)(void))(function),                                  \
        __builtin_choose_expr(NM_TAKES_SELF_(function, int), (int (*)(void *))(void (*)(void))(function), (void)0))

#ifndef NM_LAYOUT
#define NM_LAYOUT 0
#endif

/* The tables of a module, with their sizes, so that one whose last row {0} is missing is refused. */
#define NM_PORTS(table)  .ports = (table), .n_ports = sizeof(table) / sizeof *(table)
#define NM_PARAMS(table) .params = (table), .n_params = sizeof(table) / sizeof *(table)

/* Binds a module to the runtime: in the program it goes into the linker section `nm_modules`, in a plug-in it is what
 * dlsym finds. An unlisted one is known only to whoever names its table. */
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

#endif
