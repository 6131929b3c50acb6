/* A robot whose brain plays elsewhere, in a process of its own. On the stage a stand-in takes the brain's place: a
 * line-up of one module that does nothing but read whatever the real line-up reads from its hardware, and what it makes
 * for it. So the same topics are there, and whoever adds the wire to the stand-in (edge/dds) lets the hardware's
 * messages leave and the brain's goals enter. */
#include <string.h>

#include "sim/stage_parts.h"
#include "std_srvs/SetBool.h"

enum { PERIOD_MS = 8 };

/* The stand-in does nothing with either; the kind of its port tells which way a topic goes. */
enum { FROM_BRAIN = NM_PORT_LAST };

struct stand_in {
    struct nm_stage *stage;
    struct actor *actor;
    const struct nm_lineup *real;
    uint32_t n, n_rows; /* ports, and rows that there is room for */
    struct nm_port *ports;
    char *remote; /* "a, b" */
};

/* Every port of the module has as much room as the largest kind needs. */
typedef nm_queue(char) room;

static void add_port(struct stand_in *s, const char *topic, const struct nm_type *type, enum nm_port_kind kind,
                     enum nm_port_role role)
{
    struct nm_arena *arena = &s->stage->arena;
    s->ports[s->n] = (struct nm_port){.name = nm_take_format(arena, "port_%u", s->n),
                                      .topic = nm_take_text(arena, topic),
                                      .type = type,
                                      .layout = type->layout,
                                      .kind = kind,
                                      .role = role,
                                      .many = kind == NM_PORT_OUT_QUEUE,
                                      .depth = kind == NM_PORT_IN || kind == NM_PORT_LAST ? 0 : 4,
                                      .offset = (uint32_t)(sizeof(struct nm *) + s->n * sizeof(room))};
    s->n++;
}

static void add_remote(struct stand_in *s, const char *topic)
{
    s->remote = nm_take_format(&s->stage->arena, "%s%s%s", s->remote, *s->remote ? ", " : "", topic);
}

/* What the hardware tells, if the brain reads it; what it takes, if the brain makes it. */
static void add_topic(struct stand_in *s, const char *topic, bool made_by_brain)
{
    uint32_t t = nm_lineup_topic(s->real, topic);
    if (t == NM_NONE) return;
    const struct nm_topic *row = &s->real->topics[t];
    if (row->role != NM_ROLE_TOPIC || row->builtin || (made_by_brain ? !row->n_producers : !row->n_consumers)) return;
    add_port(s, topic, row->type, made_by_brain ? FROM_BRAIN : NM_PORT_IN, NM_ROLE_TOPIC);
    add_remote(s, topic);
}

static void add_power(struct stand_in *s)
{
    if (nm_lineup_topic(s->real, "motor_power/request") == NM_NONE) return;
    add_port(s, "motor_power/request", &SetBool_Request_type, NM_PORT_OUT_QUEUE, NM_ROLE_REQUEST);
    add_port(s, "motor_power/reply", &SetBool_Response_type, NM_PORT_LAST_QUEUE, NM_ROLE_REPLY);
    add_remote(s, "motor_power");
}

static void do_nothing(void *self) { (void)self; }

static struct nm_lineup *parse(struct stand_in *s, struct nm_err *err)
{
    struct nm_arena *arena = &s->stage->arena;
    struct nm_registry registry;
    struct nm_module *module = nm_take(arena, sizeof *module);
    *module = (struct nm_module){.abi = NM_ABI,
                                 .name = "elsewhere",
                                 .about = "stands in for a brain that plays in another process",
                                 .file = __FILE__,
                                 .size = (uint32_t)(sizeof(struct nm *) + s->n * sizeof(room)),
                                 .ports = s->ports,
                                 .n_ports = s->n_rows,
                                 .step = do_nothing};
    const struct nm_module *entry = module;
    nm_registry_init(&registry, arena, &entry, &entry + 1);
    const char *text = nm_take_format(arena, "cycles: {wire: {period: %d ms, modules: [elsewhere]}}\nremote: [%s]\n",
                                      PERIOD_MS, s->remote);
    struct nm_lineup_options options = {.root = s->stage->options.root};
    return nm_lineup_parse(text, strlen(text), s->actor->row.lineup, &registry, &options, err);
}

struct nm_lineup *stage_stand_in(struct nm_stage *stage, struct actor *actor, struct nm_err *err)
{
    const struct nm_stage_options *o = &stage->options;
    const char *tells[ALL_PORTS], *takes[FIXED_PORTS];
    struct nm_lineup_options load = {
        .root = o->root, .robot = actor->row.folder, .n_set = actor->row.n_set, .set = actor->row.set};
    struct nm_lineup *real = nm_lineup_load(actor->row.lineup, o->registry, &load, err);
    if (!real) return NULL;
    struct stand_in s = {.stage = stage, .actor = actor, .real = real, .remote = nm_take_text(&stage->arena, "")};
    uint32_t n = stage_remotes(stage, actor, tells, ALL_PORTS);
    uint32_t n_takes = stage_takes(stage, takes, FIXED_PORTS);
    s.n_rows = n + n_takes + 3;
    s.ports = nm_take_n(&stage->arena, struct nm_port, s.n_rows);
    for (uint32_t i = 0; i < n; i++) add_topic(&s, tells[i], false);
    for (uint32_t i = 0; i < n_takes; i++) add_topic(&s, takes[i], true);
    add_power(&s);
    struct nm_lineup *lineup = NULL;
    if (s.n)
        lineup = parse(&s, err);
    else
        nm_fail(err, "%s neither reads sensors nor moves anything: there is nothing for a wire to carry",
                actor->row.lineup);
    nm_lineup_free(real);
    return lineup;
}

bool nm_stage_takes(const struct nm_lineup *stand_in, uint32_t topic)
{
    const struct nm_topic *row = &stand_in->topics[topic];
    if (row->role != NM_ROLE_TOPIC || !row->remote || !row->n_consumers) return false;
    const struct nm_end *end = &row->consumers[0];
    return (int)stand_in->instances[end->instance].module->ports[end->port].kind == FROM_BRAIN;
}
