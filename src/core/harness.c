#include "core/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/internal.h"

enum { PORTS = 64, PERIOD = 1000000 };

struct nm_harness {
    struct nm_arena arena;
    struct nm_registry registry;
    struct nm_lineup *lineup;
    struct nm_player *player;
    struct nm_edge *edge;
    uint32_t n;
    struct nm_edge_port ports[PORTS];
    bool set[PORTS]; /* values that the next step brings */
    int64_t now;
    bool open; /* edge begun */
};

static void die(const char *what, const struct nm_err *err)
{
    fprintf(stderr, "harness: %s\n%s", what, err ? err->text : "");
    abort();
}

static uint32_t port_named(struct nm_harness *h, const char *topic)
{
    for (uint32_t i = 0; i < h->n; i++)
        if (strcmp(h->ports[i].topic, topic) == 0) return i;
    die(nm_take_format(&h->arena, "the module has no topic %s", topic), NULL);
    return 0;
}

static bool makes(const struct nm_module *module, const char *topic)
{
    for (const struct nm_port *p = module->ports; p->name; p++)
        if (p->kind >= NM_PORT_OUT && strcmp(p->topic, topic) == 0) return true;
    return false;
}

/* The other end of each of the module's topics. */
static void add_port(struct nm_harness *h, const struct nm_module *module, const struct nm_port *port)
{
    for (uint32_t i = 0; i < h->n; i++)
        if (strcmp(h->ports[i].topic, port->topic) == 0) return;
    if (h->n == PORTS) die("more than 64 topics", NULL);
    struct nm_edge_port *edge = &h->ports[h->n++];
    *edge = (struct nm_edge_port){.topic = port->topic, .type = port->type, .depth = port->depth, .blob = port->blob};
    switch (port->kind) {
    case NM_PORT_OUT: edge->kind = NM_PORT_IN; break;
    case NM_PORT_OUT_QUEUE: edge->kind = NM_PORT_QUEUE; break;
    case NM_PORT_IN:
    case NM_PORT_LAST: edge->kind = makes(module, port->topic) ? NM_PORT_IN : NM_PORT_OUT; break;
    default: edge->kind = NM_PORT_OUT_QUEUE; break;
    }
    if (edge->kind == NM_PORT_OUT && !edge->blob && port->type->blobs) edge->blob = 4 << 20;
}

static char *lineup_text(struct nm_harness *h, const struct nm_module *module)
{
    char *text = nm_take_format(&h->arena, "cycles: {test: {period: 1 ms, modules: [%s]}}\nremote: [", module->name);
    for (uint32_t i = 0, n = 0; i < h->n; i++)
        if (!makes(module, h->ports[i].topic))
            text = nm_take_format(&h->arena, "%s%s%s", text, n++ ? ", " : "", h->ports[i].topic);
    return nm_take_format(&h->arena, "%s]\n", text);
}

/* "a=1, b=2" -> "module.a=1", "module.b=2"; a comma inside brackets does not part. */
static uint32_t split(struct nm_harness *h, const char *module, const char *settings, const char **to, uint32_t cap)
{
    uint32_t n = 0;
    int depth = 0;
    const char *begin = settings;
    for (const char *c = settings; c && n < cap; c++) {
        depth += (*c == '[') - (*c == ']');
        if (*c && (*c != ',' || depth)) continue;
        while (*begin == ' ') begin++;
        if (c > begin) to[n++] = nm_take_format(&h->arena, "%s.%.*s", module, (int)(c - begin), begin);
        begin = c + 1;
        if (!*c) break;
    }
    return n;
}

struct nm_harness *nm_harness_new(const struct nm_module *module, const char *settings)
{
    return nm_harness_new_with(module, settings, NULL);
}

struct nm_harness *nm_harness_new_with(const struct nm_module *module, const char *settings, const struct nm_body *body)
{
    struct nm_harness *h = nm_calloc(1, sizeof *h);
    struct nm_err err = {0};
    const char *set[PORTS];
    if (nm_module_check(module, &err)) die("module", &err);
    nm_registry_init(&h->registry, &h->arena, &module, &module + 1);
    for (const struct nm_port *p = module->ports; p->name; p++) add_port(h, module, p);
    const char *text = lineup_text(h, module);
    struct nm_lineup_options options = {
        .root = "/nonexistent", .set = set, .n_set = split(h, module->name, settings, set, PORTS)};
    h->lineup = nm_lineup_parse(text, strlen(text), "test", &h->registry, &options, &err);
    if (!h->lineup) die("line-up", &err);
    h->player = nm_player_new(h->lineup, &(struct nm_player_options){.name = "test", .seed = 1, .body = body}, &err);
    if (!h->player) die("start", &err);
    add_port(h, module, &(struct nm_port){.topic = "rosout", .kind = NM_PORT_OUT_QUEUE, .depth = 64});
    h->edge = nm_edge_new(h->player, "test edge", h->ports, h->n, &err);
    if (!h->edge || player_link(h->player, &err)) die("edge", &err);
    return h;
}

void nm_harness_free(struct nm_harness *h)
{
    nm_player_free(h->player);
    nm_lineup_free(h->lineup);
    nm_arena_free(&h->arena);
    free(h);
}

static void open_edge(struct nm_harness *h)
{
    if (!h->open) nm_edge_begin(h->edge, h->now);
    h->open = true;
}

void *nm_harness_set(struct nm_harness *h, const char *topic)
{
    uint32_t port = port_named(h, topic);
    open_edge(h);
    if (h->ports[port].kind == NM_PORT_OUT_QUEUE) return nm_edge_push(h->edge, port);
    if (h->ports[port].kind != NM_PORT_OUT) die(nm_take_format(&h->arena, "%s is an output", topic), NULL);
    h->set[port] = true;
    return nm_edge_out(h->edge, port);
}

void *nm_harness_request(struct nm_harness *h, const char *service, int64_t call)
{
    void *request = nm_harness_set(h, nm_take_format(&h->arena, "%s/request", service));
    nm_slot(request)->caller = UINT64_MAX;
    nm_slot(request)->call = call;
    return request;
}

/* The cycle's period is a millisecond; the step happens at the time that the test asks for. */
void nm_harness_step(struct nm_harness *h, double seconds)
{
    struct nm_cycle *cycle = h->player->cycles[0];
    open_edge(h);
    for (uint32_t i = 0; i < h->n; i++) {
        if (h->set[i]) nm_edge_put(h->edge, i);
        h->set[i] = false;
    }
    nm_edge_end(h->edge);
    h->now += nm_ns(seconds);
    cycle->next = h->now;
    nm_players_run(&h->player, 1, h->now + 1, 1);
    nm_edge_begin(h->edge, h->now);
    h->open = true;
}

const void *nm_harness_get(struct nm_harness *h, const char *topic)
{
    const void *message = nm_edge_in(h->edge, port_named(h, topic));
    return nm_slot(message)->seq ? message : NULL;
}

bool nm_harness_fresh(struct nm_harness *h, const char *topic) { return nm_edge_fresh(h->edge, port_named(h, topic)); }

uint32_t nm_harness_queue(struct nm_harness *h, const char *topic, const void *const **at)
{
    return nm_edge_queue(h->edge, port_named(h, topic), at, NULL);
}

void *nm_harness_self(struct nm_harness *h) { return h->player->instances[0].self; }

void nm_harness_param(struct nm_harness *h, const char *settings)
{
    struct nm_change changes[PORTS];
    const char *set[PORTS];
    struct nm_err err = {0};
    const struct nm_module *module = h->player->instances[0].module;
    uint32_t n = split(h, module->name, settings, set, PORTS);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = set[i] + strlen(module->name) + 1, *equals = strchr(name, '=');
        if (!equals) die("a setting is param=value", NULL);
        int param = nm_param_find(module, nm_take_format(&h->arena, "%.*s", (int)(equals - name), name), &err);
        changes[i] = (struct nm_change){.param = (uint32_t)param};
        if (param < 0 || nm_value_parse(&module->params[param], equals + 1, &changes[i].value, &err))
            die("parameter", &err);
    }
    if (nm_player_set(h->player, changes, n, &err) < 0) die("parameter", &err);
}
