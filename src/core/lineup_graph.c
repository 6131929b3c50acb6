/* Every port of every instance is one end of a topic. Sorted by the topic's name, the ends of one topic lie together:
 * that is the whole graph; the rest is looking at each topic whether it has the producers it must have. */
#include "core/lineup_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What exists in every line-up. rosout and show are written by the runtime itself; transforms come from anywhere. */
static const struct builtin {
    const char *topic, *type;
    bool always;
    uint32_t depth; /* at least */
} builtins[] = {
    {"rosout", "rcl_interfaces/msg/Log", true, 64},
    {"show", "nutmeg_msgs/msg/Show", true, 64},
    {"tf", "tf2_msgs/msg/TFMessage", false, 64},
    {"tf_static", "tf2_msgs/msg/TFMessage", false, 64},
};

struct making {
    struct nm_lineup *lineup;
    const struct nm_graph_file *file;
    const struct nm_lineup_options *options;
    struct nm_err *err;
    struct nm_err warnings;
    int rc;
};

struct end {
    const char *topic;
    struct nm_end at; /* instance NM_NONE: the runtime's own */
};

static const struct nm_port *port_of(const struct making *m, struct nm_end end)
{
    return &m->lineup->instances[end.instance].module->ports[end.port];
}

static bool is_out(const struct nm_port *port) { return port->kind == NM_PORT_OUT || port->kind == NM_PORT_OUT_QUEUE; }

static bool is_queue(const struct nm_port *port)
{
    return port->kind == NM_PORT_QUEUE || port->kind == NM_PORT_LAST_QUEUE || port->kind == NM_PORT_OUT_QUEUE;
}

static const struct builtin *builtin_of(const char *topic)
{
    for (uint32_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++)
        if (!strcmp(builtins[i].topic, topic)) return &builtins[i];
    return NULL;
}

static const char *bare(const char *topic) { return topic[0] == '/' ? topic + 1 : topic; }

/* ---- names ---- */

/* A service is renamed as a whole: "power" stands for power/request and power/reply. */
static const char *service_end(const struct nm_port *port)
{
    static const char *const ends[] = {
        [NM_ROLE_TOPIC] = "", [NM_ROLE_REQUEST] = "/request", [NM_ROLE_REPLY] = "/reply"};
    return ends[port->role];
}

static size_t base_length(const struct nm_port *port) { return strlen(port->topic) - strlen(service_end(port)); }

static bool is_base(const struct nm_port *port, const char *name)
{
    return strlen(name) == base_length(port) && !strncmp(name, port->topic, strlen(name));
}

static const struct nm_yaml *rename_of(const struct making *m, struct nm_end end)
{
    nm_yaml_each(rename, m->file->renames[end.instance])
    {
        if (rename->kind == NM_YAML_SCALAR && is_base(port_of(m, end), bare(rename->key))) return rename;
    }
    return NULL;
}

static const char *topic_of(const struct making *m, struct nm_end end)
{
    const struct nm_port *port = port_of(m, end);
    const struct nm_yaml *rename = rename_of(m, end);
    if (!rename || nm_topic_fault(bare(rename->text))) return port->topic;
    return nm_take_format(&m->lineup->arena, "%s%s", bare(rename->text), service_end(port));
}

static void fail_rename(struct making *m, uint32_t instance, const struct nm_yaml *rename)
{
    const struct nm_lineup_instance *who = &m->lineup->instances[instance];
    const char *names[256];
    uint32_t n = 0;
    for (uint32_t p = 0; p < who->n_ports && n < 256; p++) {
        const struct nm_port *port = &who->module->ports[p];
        if (port->role == NM_ROLE_REPLY) continue; /* its request stands for both */
        names[n++] = nm_take_format(&m->lineup->arena, "%.*s", (int)base_length(port), port->topic);
    }
    m->rc = nm_yaml_fail(rename, m->err, "module '%s' has no topic '%.80s' to rename%s", who->module->name, rename->key,
                         nm_hint(bare(rename->key), names, n).text);
}

static void check_renames(struct making *m, uint32_t instance)
{
    const struct nm_lineup_instance *who = &m->lineup->instances[instance];
    nm_yaml_each(rename, m->file->renames[instance])
    {
        bool found = false;
        for (uint32_t p = 0; p < who->n_ports && !found; p++)
            found = is_base(&who->module->ports[p], bare(rename->key));
        if (!found) fail_rename(m, instance, rename);
        if (rename->kind != NM_YAML_SCALAR) {
            m->rc = nm_yaml_fail(rename, m->err, "%s: the new name of topic '%.80s' must be a text", who->name,
                                 rename->key);
            continue;
        }
        const char *fault = nm_topic_fault(bare(rename->text));
        if (fault) m->rc = nm_yaml_fail(rename, m->err, "%s: topic '%.80s' %s", who->name, rename->text, fault);
    }
}

/* ---- topics from ends ---- */

static int by_topic(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    int order = strcmp(x->topic, y->topic);
    if (!order) order = (x->at.instance > y->at.instance) - (x->at.instance < y->at.instance);
    return order ? order : (x->at.port > y->at.port) - (x->at.port < y->at.port);
}

static struct end *collect_ends(struct making *m, uint32_t *n)
{
    struct nm_lineup *lineup = m->lineup;
    uint32_t total = sizeof builtins / sizeof builtins[0];
    for (uint32_t i = 0; i < lineup->n_instances; i++) total += lineup->instances[i].n_ports;
    struct end *ends = nm_take_n(&lineup->arena, struct end, total);
    *n = 0;
    for (uint32_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++)
        if (builtins[i].always && nm_type_find(&nm_all_types, builtins[i].type))
            ends[(*n)++] = (struct end){builtins[i].topic, {NM_NONE, 0}};
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        check_renames(m, i);
        for (uint32_t p = 0; p < lineup->instances[i].n_ports; p++)
            ends[(*n)++] = (struct end){topic_of(m, (struct nm_end){i, p}), {i, p}};
    }
    qsort(ends, *n, sizeof *ends, by_topic);
    return ends;
}

/* Our own table of a type, where a plug-in brought its copy. */
static const struct nm_type *own_type(const struct nm_type *type)
{
    const struct nm_type *ours = nm_type_find(&nm_all_types, type->name);
    return ours && !strcmp(ours->name, type->name) && ours->layout == type->layout ? ours : type;
}

static void add_end(struct making *m, struct nm_topic *topic, struct nm_end end)
{
    const struct nm_port *port = port_of(m, end);
    if (port->depth > topic->depth) topic->depth = port->depth;
    if (is_out(port)) {
        if (port->blob > topic->blob) topic->blob = port->blob;
        topic->producers[topic->n_producers++] = end;
    } else {
        topic->consumers[topic->n_consumers++] = end;
    }
    m->lineup->instances[end.instance].topics[end.port] = (uint32_t)(topic - m->lineup->topics);
}

static struct nm_end end_at(const struct nm_topic *topic, uint32_t i)
{
    return i < topic->n_producers ? topic->producers[i] : topic->consumers[i - topic->n_producers];
}

/* The end that says what the topic is: of a service its own, otherwise the first producer, or the first reader. */
static struct nm_end first_end(const struct making *m, const struct nm_topic *topic)
{
    for (uint32_t i = 0; i < topic->n_producers + topic->n_consumers; i++)
        if (port_of(m, end_at(topic, i))->role != NM_ROLE_TOPIC) return end_at(topic, i);
    return end_at(topic, 0);
}

/* What the ends of a topic make of it. */
static void complete_topic(struct making *m, struct nm_topic *topic)
{
    const struct builtin *builtin = builtin_of(topic->name);
    bool used = topic->n_producers + topic->n_consumers;
    const struct nm_port *first = used ? port_of(m, first_end(m, topic)) : NULL;
    const struct nm_type *known = builtin ? nm_type_find(&nm_all_types, builtin->type) : NULL;
    topic->builtin = builtin != NULL;
    topic->type = known ? known : own_type(first->type);
    topic->role = first ? first->role : NM_ROLE_TOPIC;
    topic->many = builtin || topic->role == NM_ROLE_REQUEST || topic->n_producers > 0;
    for (uint32_t p = 0; p < topic->n_producers; p++) {
        const struct nm_port *port = port_of(m, topic->producers[p]);
        if (!port->many && !builtin && topic->role != NM_ROLE_REQUEST) topic->many = false;
        if (port->kind == NM_PORT_OUT_QUEUE) topic->queue = true;
    }
    /* made outside: a queue, unless somebody reads it as a value */
    if (!topic->n_producers) topic->queue = true;
    for (uint32_t c = 0; c < topic->n_consumers && !topic->n_producers; c++)
        if (!is_queue(port_of(m, topic->consumers[c]))) topic->queue = false;
    if (topic->many) topic->queue = true;
    if (builtin && topic->depth < builtin->depth) topic->depth = builtin->depth;
    if (topic->queue && !topic->depth) topic->depth = 1;
}

static void make_topics(struct making *m)
{
    struct nm_lineup *lineup = m->lineup;
    uint32_t n;
    struct end *ends = collect_ends(m, &n);
    for (uint32_t e = 0; e < n; e++)
        if (!e || strcmp(ends[e].topic, ends[e - 1].topic)) lineup->n_topics++;
    lineup->topics = nm_take_n(&lineup->arena, struct nm_topic, lineup->n_topics + 1);

    struct nm_topic *topic = lineup->topics;
    for (uint32_t e = 0, to; e < n; e = to, topic++) {
        for (to = e; to < n && !strcmp(ends[to].topic, ends[e].topic);) to++;
        topic->name = ends[e].topic;
        topic->producers = nm_take_n(&lineup->arena, struct nm_end, to - e);
        topic->consumers = nm_take_n(&lineup->arena, struct nm_end, to - e);
        for (uint32_t k = e; k < to; k++)
            if (ends[k].at.instance != NM_NONE) add_end(m, topic, ends[k].at);
        complete_topic(m, topic);
    }
}

/* ---- what comes from outside ---- */

/* Whether somebody here makes a topic or serves a service. */
static bool is_made_here(const struct nm_topic *topic)
{
    return topic->role == NM_ROLE_REQUEST ? topic->n_consumers : topic->role == NM_ROLE_TOPIC ? topic->n_producers : 0;
}

/* A name of `remote:`; a service's name stands for its requests and replies. One that comes from an extended line-up
 * counts only if it is read and not made here. */
static void mark_remote(struct making *m, const char *where, const char *text, bool inherited)
{
    static const char *const ends[] = {"", "/request", "/reply"};
    const char *fault = nm_topic_fault(bare(text));
    if (fault) {
        m->rc = nm_fail(m->err, "%s: topic '%.80s' %s", where, text, fault);
        return;
    }
    uint32_t readers = 0;
    for (uint32_t i = 0; i < 3; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s%s", bare(text), ends[i]);
        uint32_t t = nm_lineup_topic(m->lineup, name);
        if (t == NM_NONE || (i && m->lineup->topics[t].role == NM_ROLE_TOPIC)) continue;
        if (inherited && is_made_here(&m->lineup->topics[t])) return;
        m->lineup->topics[t].remote = true;
        readers += m->lineup->topics[t].n_consumers;
        if (m->lineup->topics[t].role == NM_ROLE_REQUEST)
            readers += m->lineup->topics[t].n_producers; /* read outside */
    }
    if (readers || inherited || m->file->incomplete) return;
    const char *names[1024];
    uint32_t n = 0;
    for (uint32_t t = 0; t < m->lineup->n_topics && n < 1024; t++)
        if (m->lineup->topics[t].n_consumers) names[n++] = m->lineup->topics[t].name;
    nm_fail(&m->warnings, "%s: nobody reads the remote topic '%.80s'%s", where, text,
            nm_hint(bare(text), names, n).text);
}

static void mark_remotes(struct making *m)
{
    char where[512];
    nm_yaml_each(item, m->file->remote)
    {
        const char *text;
        snprintf(where, sizeof where, "%s:%u", item->file, item->line);
        if (!nm_yaml_text(item, &text, m->err))
            mark_remote(m, where, text, strcmp(item->file, m->lineup->file) != 0);
        else
            m->rc = -1;
    }
    for (uint32_t i = 0; i < m->options->n_remote; i++) mark_remote(m, "--remote", m->options->remote[i], false);
}

/* ---- checks of one topic ---- */

struct who {
    char text[160];
};

static struct who who(const struct making *m, struct nm_end end)
{
    struct who w;
    const struct nm_lineup_instance *instance = &m->lineup->instances[end.instance];
    if (!strcmp(instance->name, instance->module->name))
        snprintf(w.text, sizeof w.text, "module '%s'", instance->name);
    else
        snprintf(w.text, sizeof w.text, "'%s' (module '%s')", instance->name, instance->module->name);
    return w;
}

/* Adds a line that begins where the end's topic is written: at its rename, or at its instance. */
__attribute__((format(printf, 3, 4))) static void fail_end(struct making *m, struct nm_end end, const char *format, ...)
{
    char sentence[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    const struct nm_yaml *rename = rename_of(m, end);
    const struct nm_lineup_instance *instance = &m->lineup->instances[end.instance];
    m->rc = nm_fail(m->err, "%s:%d: %s", rename ? rename->file : instance->file,
                    rename ? (int)rename->line : instance->line, sentence);
}

static void check_end_type(struct making *m, const struct nm_topic *topic, struct nm_end end)
{
    const struct nm_port *port = port_of(m, end);
    bool same_name = !strcmp(port->type->name, topic->type->name);
    if (same_name && port->type->layout == topic->type->layout) return;
    struct nm_end other = first_end(m, topic);
    struct who rival = who(m, other);
    if (topic->builtin) snprintf(rival.text, sizeof rival.text, "the runtime");
    const char *verb = is_out(port) ? "makes" : "reads",
               *other_verb = is_out(port_of(m, other)) || topic->builtin ? "makes" : "reads";
    if (same_name)
        fail_end(m, end, "%s %s topic '%s' as %s of another layout than %s: rebuild the plug-in", who(m, end).text,
                 verb, topic->name, port->type->name, rival.text);
    else
        fail_end(m, end, "%s %s topic '%s' as %s, but %s %s it as %s", who(m, end).text, verb, topic->name,
                 port->type->name, rival.text, other_verb, topic->type->name);
}

static bool role_differs(struct making *m, const struct nm_topic *topic, struct nm_end end)
{
    const struct nm_port *port = port_of(m, end);
    if (port->role == topic->role) return false;
    fail_end(m, end, "%s takes '%s' for %s, but for %s it is %s", who(m, end).text, topic->name,
             port->role == NM_ROLE_TOPIC ? "a topic" : "part of a service", who(m, first_end(m, topic)).text,
             topic->role == NM_ROLE_TOPIC ? "a topic" : "part of a service");
    return true;
}

/* Of a queue every message counts, so it has no latest value. */
static void check_end_kind(struct making *m, const struct nm_topic *topic, struct nm_end end)
{
    const struct nm_port *port = port_of(m, end);
    if (is_out(port) || is_queue(port) || !topic->queue) return;
    fail_end(m, end, "%s reads topic '%s' as a value, but %s makes a queue of it; read it with `queue`",
             who(m, end).text, topic->name, topic->n_producers ? who(m, topic->producers[0]).text : "the runtime");
}

/* False where they do not even agree on what the topic is for. */
static bool check_ends(struct making *m, const struct nm_topic *topic)
{
    bool agree = true;
    for (uint32_t i = 0; i < topic->n_producers + topic->n_consumers; i++) {
        struct nm_end end = end_at(topic, i);
        if (role_differs(m, topic, end)) {
            agree = false;
            continue;
        }
        check_end_type(m, topic, end);
        check_end_kind(m, topic, end);
    }
    return agree;
}

static void fail_missing(struct making *m, const struct nm_topic *topic)
{
    const char *names[1024];
    char others[48] = "";
    uint32_t n = 0;
    for (uint32_t t = 0; t < m->lineup->n_topics && n < 1024; t++)
        if (m->lineup->topics[t].n_producers && m->lineup->topics[t].role == NM_ROLE_TOPIC)
            names[n++] = m->lineup->topics[t].name;
    if (topic->n_consumers > 1) snprintf(others, sizeof others, " (and %u more)", topic->n_consumers - 1);
    const char *near = nm_nearest(topic->name, names, n);
    fail_end(m, topic->consumers[0],
             "%s%s reads topic '%s', which nobody makes%s%s%s it comes from outside, list it under remote:",
             who(m, topic->consumers[0]).text, others, topic->name, near ? ", did you mean '" : "", near ? near : "",
             near ? "'? If" : "; if");
}

/* Somebody cannot do without it. */
static bool is_needed(struct making *m, const struct nm_topic *topic)
{
    bool needed = false;
    for (uint32_t c = 0; c < topic->n_consumers; c++) needed |= !port_of(m, topic->consumers[c])->optional;
    return needed;
}

static void check_producers(struct making *m, const struct nm_topic *topic)
{
    bool comes = topic->n_producers || topic->remote || topic->builtin || m->file->incomplete;
    if (!comes && is_needed(m, topic)) fail_missing(m, topic);
    for (uint32_t p = 0; p < topic->n_producers; p++) {
        struct nm_end end = topic->producers[p];
        if (port_of(m, end)->many && topic->many) continue;
        if (topic->builtin)
            fail_end(m, end, "%s makes topic '%s', which has many producers; its port '%s' must say so (.many = true)",
                     who(m, end).text, topic->name, port_of(m, end)->name);
        else if (topic->remote)
            fail_end(m, end, "%s makes topic '%s', which stands under remote:", who(m, end).text, topic->name);
        else if (p)
            fail_end(m, end, "%s makes topic '%s', but so does %s; rename one of them under topics:", who(m, end).text,
                     topic->name, who(m, topic->producers[0]).text);
    }
}

/* Requests have any number of producers, the clients, here or outside; what counts is who answers. */
static void check_requests(struct making *m, const struct nm_topic *topic)
{
    int length = (int)(strlen(topic->name) - strlen("/request"));
    uint32_t reply = nm_lineup_topic(m->lineup, nm_take_format(&m->lineup->arena, "%.*s/reply", length, topic->name));
    bool outside = topic->remote || (reply != NM_NONE && m->lineup->topics[reply].remote);
    if (!topic->n_consumers && !outside && !m->file->incomplete)
        fail_end(m, topic->producers[0],
                 "%s calls service '%.*s', which nobody serves; if it is served outside, list it under remote:",
                 who(m, topic->producers[0]).text, length, topic->name);
    for (uint32_t c = 1; c < topic->n_consumers; c++)
        fail_end(m, topic->consumers[c],
                 "%s serves '%.*s', but so does %s; rename one of them under topics:", who(m, topic->consumers[c]).text,
                 length, topic->name, who(m, topic->consumers[0]).text);
}

static void check_replies(struct making *m, const struct nm_topic *topic)
{
    if (topic->n_producers && topic->remote)
        fail_end(m, topic->producers[0],
                 "%s serves '%.*s', which stands under remote:", who(m, topic->producers[0]).text,
                 (int)(strlen(topic->name) - strlen("/reply")), topic->name);
}

static void check_topic(struct making *m, const struct nm_topic *topic)
{
    if (!check_ends(m, topic)) return;
    if (topic->role == NM_ROLE_TOPIC) check_producers(m, topic);
    if (topic->role == NM_ROLE_REQUEST) check_requests(m, topic);
    if (topic->role == NM_ROLE_REPLY) check_replies(m, topic);
}

/* ---- triggers ---- */

static void find_trigger(struct making *m, uint32_t cycle, const struct nm_yaml *trigger)
{
    struct nm_lineup_cycle *c = &m->lineup->cycles[cycle];
    const char *names[1024];
    uint32_t n = 0;
    for (uint32_t t = 0; t < m->lineup->n_topics; t++) {
        const struct nm_topic *topic = &m->lineup->topics[t];
        bool comes = topic->remote;
        for (uint32_t p = 0; p < topic->n_producers && !comes; p++)
            comes = m->lineup->instances[topic->producers[p].instance].cycle != cycle;
        bool asked = !strcmp(topic->name, bare(trigger->text));
        if (comes && asked) {
            c->trigger = t;
            return;
        }
        if (asked && topic->n_producers) {
            m->rc =
                nm_yaml_fail(trigger, m->err, "cycle '%s' makes its trigger '%s' itself; another cycle or remote: must",
                             c->name, topic->name);
            return;
        }
        if (comes && n < 1024) names[n++] = topic->name;
    }
    if (m->file->incomplete) return;
    m->rc = nm_yaml_fail(trigger, m->err, "cycle '%s': no other cycle makes its trigger '%.80s'%s", c->name,
                         trigger->text, nm_hint(bare(trigger->text), names, n).text);
}

/* ---- the order of steps ----
 * Kahn's algorithm. Among the instances that are ready it always takes the one that comes first in the file. Where
 * there is a loop, the shortest one is reported. */

/* The edges that leave each node: `edge[start[i]] … edge[start[i + 1] - 1]`, in the order given. */
struct leaving {
    uint32_t *start, *edge;
};

static struct leaving leaving_of(struct nm_arena *arena, uint32_t n, const struct nm_before *before, uint32_t n_before)
{
    struct leaving l = {nm_take_n(arena, uint32_t, n + 2), nm_take_n(arena, uint32_t, n_before + 1)};
    for (uint32_t e = 0; e < n_before; e++) l.start[before[e].first + 2]++;
    for (uint32_t i = 2; i <= n + 1; i++) l.start[i] += l.start[i - 1];
    for (uint32_t e = 0; e < n_before; e++) l.edge[l.start[before[e].first + 1]++] = e;
    return l;
}

uint32_t nm_graph_sort(uint32_t n, const struct nm_before *before, uint32_t n_before, uint32_t *order)
{
    struct nm_arena scratch = {0};
    struct leaving l = leaving_of(&scratch, n, before, n_before);
    uint32_t *waits = nm_take_n(&scratch, uint32_t, n + 1); /* for so many; UINT32_MAX: taken */
    uint32_t sorted = 0;
    for (uint32_t e = 0; e < n_before; e++) waits[before[e].then]++;
    for (uint32_t i = 0; i < n;) {
        if (waits[i]) {
            i++;
            continue;
        }
        waits[i] = UINT32_MAX;
        order[sorted++] = i;
        uint32_t next = i + 1; /* an earlier one may have become ready */
        for (uint32_t k = l.start[i]; k < l.start[i + 1]; k++) {
            uint32_t then = before[l.edge[k]].then;
            if (--waits[then] == 0 && then < next) next = then;
        }
        i = next;
    }
    nm_arena_free(&scratch);
    return sorted;
}

uint32_t nm_graph_loop(uint32_t n, const struct nm_before *before, uint32_t n_before, uint32_t node, uint32_t *edges,
                       uint32_t max)
{
    struct nm_arena scratch = {0};
    struct leaving l = leaving_of(&scratch, n, before, n_before);
    uint32_t *by = nm_take_n(&scratch, uint32_t, n + 1);    /* the edge that reached a node, + 1 */
    uint32_t *queue = nm_take_n(&scratch, uint32_t, n + 1); /* breadth first, so the way is shortest */
    uint32_t head = 0, tail = 0, length = 0;
    queue[tail++] = node;
    while (head < tail && !by[node]) {
        uint32_t i = queue[head++];
        for (uint32_t k = l.start[i]; k < l.start[i + 1] && !by[node]; k++) {
            uint32_t then = before[l.edge[k]].then;
            if (by[then]) continue;
            by[then] = l.edge[k] + 1;
            if (then != node) queue[tail++] = then;
        }
    }
    if (by[node]) {
        uint32_t at = node;
        do {
            at = before[by[at] - 1].first;
            length++;
        } while (at != node);
        for (uint32_t k = length; k--;) {
            if (k < max) edges[k] = by[at] - 1;
            at = before[by[at] - 1].first;
        }
    }
    nm_arena_free(&scratch);
    return length < max ? length : max;
}

static bool waits_for_producer(const struct nm_port *port)
{
    return port->kind == NM_PORT_IN || port->kind == NM_PORT_QUEUE;
}

/* The port through which an instance waits for a topic. */
static const struct nm_port *waiting_port(const struct nm_lineup *lineup, uint32_t instance, uint32_t topic)
{
    const struct nm_topic *t = &lineup->topics[topic];
    for (uint32_t c = 0; c < t->n_consumers; c++) {
        const struct nm_port *port = &lineup->instances[t->consumers[c].instance].module->ports[t->consumers[c].port];
        if (t->consumers[c].instance == instance && waits_for_producer(port)) return port;
    }
    return NULL;
}

static uint32_t needs_of(const struct nm_lineup *lineup, struct nm_before *before)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        for (uint32_t c = 0; c < topic->n_consumers; c++) {
            const struct nm_lineup_instance *reader = &lineup->instances[topic->consumers[c].instance];
            if (!waits_for_producer(&reader->module->ports[topic->consumers[c].port])) continue;
            for (uint32_t p = 0; p < topic->n_producers; p++) {
                uint32_t maker = topic->producers[p].instance;
                if (lineup->instances[maker].cycle != reader->cycle) continue;
                if (before) before[n] = (struct nm_before){maker, topic->consumers[c].instance, t};
                n++;
            }
        }
    }
    return n;
}

/* The edge of a loop that goes against the order of the file: reading it with `last` is what the file suggests. */
static const struct nm_before *back_edge(const struct nm_before *before, const uint32_t *edges, uint32_t n)
{
    const struct nm_before *back = &before[edges[0]];
    for (uint32_t i = 0; i < n; i++)
        if (before[edges[i]].first >= before[edges[i]].then) back = &before[edges[i]];
    return back;
}

/* "walk makes 'odometry' for localizer, localizer makes 'pose' for walk; one of them …" */
static void fail_loop(const struct nm_lineup *lineup, const struct nm_before *before, const uint32_t *edges, uint32_t n,
                      struct nm_err *err)
{
    char way[600];
    size_t used = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_before *edge = &before[edges[i]];
        int length = snprintf(way + used, sizeof way - used, "%s%s makes '%s' for %s", i ? ", " : "",
                              lineup->instances[edge->first].name, lineup->topics[edge->topic].name,
                              edge->first == edge->then ? "itself" : lineup->instances[edge->then].name);
        if (length < 0 || used + (size_t)length >= sizeof way) break;
        used += (size_t)length;
    }
    const struct nm_before *back = back_edge(before, edges, n);
    const struct nm_lineup_instance *first = &lineup->instances[before[edges[0]].first];
    const struct nm_port *port = waiting_port(lineup, back->then, back->topic);
    nm_fail(err, "%s:%d: loop in cycle '%s': %.*s; %s must read with %s, such as port '%s' of %s", first->file,
            first->line, lineup->cycles[first->cycle].name, (int)used, way, n == 1 ? "it" : "one of them",
            port->kind == NM_PORT_IN ? "`last`" : "`last queue`", port->name, lineup->instances[back->then].name);
}

/* Reports a loop, opens it at the proposed edge and looks for the next loop, so that each change that is needed is
 * reported once. */
static int fail_loops(const struct nm_lineup *lineup, struct nm_before *before, uint32_t n_before, uint32_t *order,
                      struct nm_err *err)
{
    enum { LONGEST = 64, TOLD = 20 };
    uint32_t edges[LONGEST], n = lineup->n_instances;
    for (uint32_t told = 0; told < TOLD && nm_graph_sort(n, before, n_before, order) < n; told++) {
        uint32_t length = 0, kept = 0;
        for (uint32_t i = 0; i < n && !length; i++) length = nm_graph_loop(n, before, n_before, i, edges, LONGEST);
        fail_loop(lineup, before, edges, length, err);
        struct nm_before back = *back_edge(before, edges, length);
        for (uint32_t e = 0; e < n_before; e++)
            if (before[e].then != back.then || before[e].topic != back.topic) before[kept++] = before[e];
        n_before = kept;
    }
    return -1;
}

/* Sorts the steps of every cycle and reports every loop with its modules and topics. */
static int order_steps(struct nm_lineup *lineup, struct nm_err *err)
{
    struct nm_arena scratch = {0};
    uint32_t n_before = needs_of(lineup, NULL);
    struct nm_before *before = nm_take_n(&scratch, struct nm_before, n_before + 1);
    uint32_t *order = nm_take_n(&scratch, uint32_t, lineup->n_instances + 1);
    needs_of(lineup, before);
    uint32_t sorted = nm_graph_sort(lineup->n_instances, before, n_before, order);

    for (uint32_t i = 0; i < lineup->n_instances; i++) lineup->cycles[lineup->instances[i].cycle].n_order++;
    for (uint32_t c = 0; c < lineup->n_cycles; c++) {
        lineup->cycles[c].order = nm_take_n(&lineup->arena, uint32_t, lineup->cycles[c].n_order + 1);
        lineup->cycles[c].n_order = 0;
    }
    for (uint32_t i = 0; i < sorted; i++) {
        struct nm_lineup_cycle *cycle = &lineup->cycles[lineup->instances[order[i]].cycle];
        cycle->order[cycle->n_order++] = order[i];
    }
    int rc = sorted < lineup->n_instances ? fail_loops(lineup, before, n_before, order, err) : 0;
    nm_arena_free(&scratch);
    return rc;
}

int nm_graph_make(struct nm_lineup *lineup, const struct nm_graph_file *file, const struct nm_lineup_options *options,
                  struct nm_err *err)
{
    const struct nm_lineup_options none = {0};
    struct making m = {.lineup = lineup, .file = file, .options = options ? options : &none, .err = err};
    make_topics(&m);
    mark_remotes(&m);
    for (uint32_t t = 0; t < lineup->n_topics; t++) check_topic(&m, &lineup->topics[t]);
    for (uint32_t c = 0; c < lineup->n_cycles; c++)
        if (file->triggers[c]) find_trigger(&m, c, file->triggers[c]);
    if (order_steps(lineup, err)) m.rc = -1;
    lineup->warnings = nm_take_text(&lineup->arena, m.warnings.text);
    return m.rc;
}
