/* Parameters as ROS 2 has them: six services below the node's name and the topic /parameter_events. The parameter
 * `friction` of the instance `ball_filter` is `ball_filter.friction`; the player's own rules decide what may be set,
 * and its sentence is the reason of a refusal. Changes are told whoever made them. */
#include <math.h>
#include <stdio.h>

#include "edge/dds/inside.h"

enum { SERVICES = 6, SET_MOST = 64 };
static const int64_t look_every = 200000000; /* ns; at values that others may have changed */

/* rcl_interfaces/ParameterType */
enum { NOT_SET, BOOL, INTEGER, DOUBLE, STRING, BYTES, BOOLS, INTEGERS, DOUBLES, STRINGS };

struct row { /* one parameter; the first is use_sim_time */
    char name[96];
    uint32_t instance, param;
    const struct nm_param *table; /* NULL: use_sim_time */
    struct nm_value told;         /* by the last event  */
};

struct params {
    dds_entity_t readers[SERVICES], writers[SERVICES], events;
    uint32_t n;
    struct row *rows;
    int64_t looked;
    struct pack reply, event;
    _Atomic bool asked;
};

static const uint8_t kinds[] = {
    [NM_PARAM_BOOL] = BOOL,     [NM_PARAM_INT32] = INTEGER, [NM_PARAM_INT64] = INTEGER,  [NM_PARAM_FLOAT] = DOUBLE,
    [NM_PARAM_DOUBLE] = DOUBLE, [NM_PARAM_TEXT] = STRING,   [NM_PARAM_FLOATS] = DOUBLES, [NM_PARAM_DOUBLES] = DOUBLES,
};

static uint8_t kind_of(const struct row *row) { return row->table ? kinds[row->table->kind] : BOOL; }

static struct row *find(struct params *params, const char *name)
{
    for (uint32_t i = 0; i < params->n; i++)
        if (!strcmp(params->rows[i].name, name)) return &params->rows[i];
    return NULL;
}

static void value_of(const struct nm_dds *dds, const struct row *row, struct nm_value *value)
{
    *value = (struct nm_value){.whole = dds->options.virtual_time};
    if (row->table) nm_player_value(dds->player, row->instance, row->param, value);
}

/* ---- values on the wire ---- */

/* All ten members are always there. */
static void pack_value(struct pack *p, const struct row *row, const struct nm_value *value)
{
    uint8_t kind = row ? kind_of(row) : NOT_SET;
    pack_u8(p, kind);
    pack_u8(p, kind == BOOL && value->whole);
    pack_i64(p, kind == INTEGER ? value->whole : 0);
    pack_f64(p, kind == DOUBLE ? value->number[0] : 0);
    pack_text(p, kind == STRING ? value->text : "");
    pack_u32(p, 0);
    pack_u32(p, 0);
    pack_u32(p, 0);
    uint32_t n = kind == DOUBLES ? nm_param_elements(row->table) : 0;
    pack_u32(p, n);
    for (uint32_t i = 0; i < n; i++) pack_f64(p, value->number[i]);
    pack_u32(p, 0);
}

struct given { /* a ParameterValue that came in */
    uint8_t kind;
    bool flag;
    int64_t whole;
    double number;
    const char *text;
    uint32_t n;
    double list[NM_PARAM_LIST_MAX];
};

static void skip(struct unpack *u, size_t each)
{
    uint32_t n = unpack_count(u, each);
    if (n && each == 8) unpack_u64(u), n--;
    unpack_raw(u, (size_t)n * each);
}

static void unpack_value(struct unpack *u, struct given *g)
{
    *g = (struct given){.kind = unpack_u8(u)};
    g->flag = unpack_u8(u);
    g->whole = (int64_t)unpack_u64(u);
    g->number = unpack_f64(u);
    g->text = unpack_text(u);
    skip(u, 1);
    skip(u, 1);
    skip(u, 8);
    g->n = unpack_count(u, 8);
    for (uint32_t i = 0; i < g->n; i++) {
        double v = unpack_f64(u);
        if (i < NM_PARAM_LIST_MAX) g->list[i] = v;
    }
    uint32_t texts = unpack_count(u, 4);
    for (uint32_t i = 0; i < texts && !u->bad; i++) unpack_text(u);
}

/* As text, which the player's own parser then judges. A whole number will do for a number, as everywhere else. */
static int given_text(const struct row *row, const struct given *g, char *to, size_t size, struct nm_err *err)
{
    static const char *const words[] = {"nothing", "a bool", "an integer", "a double", "a string",
                                        "bytes",   "bools",  "integers",   "doubles",  "strings"};
    uint8_t kind = kind_of(row);
    if (g->kind != kind && !(kind == DOUBLE && g->kind == INTEGER))
        return nm_fail(err, "%s takes %s, not %s", row->name, words[kind],
                       g->kind <= STRINGS ? words[g->kind] : "that");
    if (kind == STRING && strlen(g->text) >= NM_PARAM_TEXT_MAX) return nm_fail(err, "%s: too long", row->name);
    if (kind == DOUBLES && g->n > NM_PARAM_LIST_MAX) return nm_fail(err, "%s: too many numbers", row->name);
    if (g->kind == BOOL) snprintf(to, size, "%s", g->flag ? "true" : "false");
    if (g->kind == INTEGER) snprintf(to, size, "%lld", (long long)g->whole);
    if (g->kind == DOUBLE) snprintf(to, size, "%.17g", g->number);
    if (g->kind == STRING) snprintf(to, size, "%s", g->text);
    size_t used = 0;
    for (uint32_t i = 0; g->kind == DOUBLES && i < g->n && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%.17g", i ? " " : "", g->list[i]);
    return 0;
}

static int read_change(struct nm_dds *dds, const char *name, const struct given *g, struct nm_change *change,
                       struct nm_err *err)
{
    struct row *row = find(dds->params, name);
    char text[NM_VALUE_PRINT] = "";
    struct nm_err why = {0};
    if (!row) return nm_fail(err, "there is no parameter %.95s", name);
    if (given_text(row, g, text, sizeof text, err)) return -1;
    if (!row->table) {
        if (g->flag == dds->options.virtual_time) return 1; /* as it is */
        return nm_fail(err, "use_sim_time: this player has its own clock");
    }
    *change = (struct nm_change){.instance = row->instance, .param = row->param};
    if (nm_value_parse(row->table, text, &change->value, &why))
        return nm_fail(err, "%s: %.*s", row->name, (int)strcspn(why.text, "\n"), why.text);
    change->value.layer = NM_LAYER_LIVE;
    return 0;
}

/* ---- the services ---- */

static void pack_result(struct pack *p, int bad, const struct nm_err *err)
{
    char reason[256];
    snprintf(reason, sizeof reason, "%.*s", (int)strcspn(err->text, "\n"), err->text);
    pack_u8(p, !bad);
    pack_text(p, bad ? reason : "");
}

static uint32_t dots(const char *name)
{
    uint32_t n = 0;
    while ((name = strchr(name, '.'))) name++, n++;
    return n;
}

/* rclcpp's rule: below one of the prefixes, at most so many dots deep. */
static bool listed(const char *name, const char *const *prefixes, uint32_t n, uint64_t depth)
{
    if (!n) return !depth || dots(name) < depth;
    for (uint32_t i = 0; i < n; i++) {
        size_t length = strlen(prefixes[i]);
        if (!strcmp(name, prefixes[i])) return true;
        if (!strncmp(name, prefixes[i], length) && name[length] == '.' && (!depth || dots(name + length + 1) < depth))
            return true;
    }
    return false;
}

static void do_list(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    enum { PREFIXES = 64 };
    struct params *params = dds->params;
    const char *prefixes[PREFIXES];
    uint32_t n = unpack_count(u, 4), kept = n < PREFIXES ? n : PREFIXES, names = 0, groups = 0;
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        const char *prefix = unpack_text(u);
        if (i < PREFIXES) prefixes[i] = prefix;
    }
    uint64_t depth = unpack_u64(u);
    if (u->bad) return;
    for (uint32_t i = 0; i < params->n; i++) names += listed(params->rows[i].name, prefixes, kept, depth);
    pack_u32(p, names);
    for (uint32_t i = 0; i < params->n; i++)
        if (listed(params->rows[i].name, prefixes, kept, depth)) pack_text(p, params->rows[i].name);
    /* rows of one instance follow each other */
    for (int count = 1; count >= 0; count--) {
        const char *last = "";
        if (!count) pack_u32(p, groups);
        for (uint32_t i = 0; i < params->n; i++) {
            const struct row *row = &params->rows[i];
            const char *group = row->table ? dds->lineup->instances[row->instance].name : "";
            if (!*group || !strcmp(group, last) || !listed(row->name, prefixes, kept, depth)) continue;
            last = group;
            if (count)
                groups++;
            else
                pack_text(p, group);
        }
    }
}

static void do_get(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    uint32_t n = unpack_count(u, 4);
    pack_u32(p, n);
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        struct row *row = find(dds->params, unpack_text(u));
        struct nm_value value = {0};
        if (row) value_of(dds, row, &value);
        pack_value(p, row, &value);
    }
}

static void do_types(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    uint32_t n = unpack_count(u, 4);
    pack_u32(p, n);
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        struct row *row = find(dds->params, unpack_text(u));
        pack_u8(p, row ? kind_of(row) : NOT_SET);
    }
}

static void pack_descriptor(struct pack *p, const char *name, const struct row *row)
{
    const struct nm_param *t = row ? row->table : NULL;
    char about[512], limits[256] = "";
    snprintf(about, sizeof about, "%s", row ? "time comes from the topic /clock" : "");
    if (t) snprintf(about, sizeof about, "%s [%s]", t->about, t->unit);
    if (t && t->choices) snprintf(limits, sizeof limits, "one of: %s", t->choices);
    uint8_t kind = row ? kind_of(row) : NOT_SET;
    pack_text(p, name);
    pack_u8(p, kind);
    pack_text(p, about);
    pack_text(p, limits);
    pack_u8(p, row && !t);
    pack_u8(p, 0);
    bool real = t && (kind == DOUBLE || kind == DOUBLES), whole = t && kind == INTEGER;
    pack_u32(p, real);
    if (real) pack_f64(p, t->min), pack_f64(p, t->max), pack_f64(p, 0);
    pack_u32(p, whole);
    if (whole) pack_i64(p, (int64_t)t->min), pack_i64(p, (int64_t)t->max), pack_u64(p, 0);
}

static void do_describe(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    uint32_t n = unpack_count(u, 4);
    pack_u32(p, n);
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        const char *name = unpack_text(u);
        pack_descriptor(p, name, find(dds->params, name));
    }
}

/* The smallest parameter: an empty name and a value. */
enum { PARAMETER_LEAST = 4 + 36 };

static void do_set(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    uint32_t n = unpack_count(u, PARAMETER_LEAST);
    pack_u32(p, n);
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        struct nm_err err = {0};
        struct nm_change change;
        struct given g;
        const char *name = unpack_text(u);
        unpack_value(u, &g);
        if (u->bad) return;
        int bad = read_change(dds, name, &g, &change, &err);
        if (!bad) bad = nm_player_set(dds->player, &change, 1, &err) < 0 ? -1 : 0;
        pack_result(p, bad < 0, &err);
    }
}

static void do_set_atomically(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    struct nm_change changes[SET_MOST];
    struct nm_err err = {0};
    uint32_t n = unpack_count(u, PARAMETER_LEAST), kept = 0;
    int bad = n > SET_MOST ? nm_fail(&err, "at most %d parameters can be set at once", SET_MOST) : 0;
    for (uint32_t i = 0; i < n && !u->bad && bad >= 0; i++) {
        struct given g;
        const char *name = unpack_text(u);
        unpack_value(u, &g);
        if (u->bad) return;
        bad = read_change(dds, name, &g, &changes[kept], &err);
        kept += !bad;
    }
    if (bad >= 0 && kept) bad = nm_player_set(dds->player, changes, kept, &err) < 0 ? -1 : 0;
    pack_result(p, bad < 0, &err);
}

typedef void serve(struct nm_dds *dds, struct unpack *u, struct pack *p);
static const struct {
    const char *name, *type;
    serve *call;
} services[SERVICES] = {
    {"list_parameters", "ListParameters", do_list},
    {"get_parameters", "GetParameters", do_get},
    {"get_parameter_types", "GetParameterTypes", do_types},
    {"describe_parameters", "DescribeParameters", do_describe},
    {"set_parameters", "SetParameters", do_set},
    {"set_parameters_atomically", "SetParametersAtomically", do_set_atomically},
};

static void answer(struct nm_dds *dds, uint32_t service, const struct nm_raw *sample)
{
    struct params *params = dds->params;
    struct unpack u;
    dds_guid_t participant;
    unpack_begin(&u, sample->bytes, sample->size);
    uint64_t id = unpack_u64(&u), seq = unpack_u64(&u);
    pack_begin(&params->reply);
    pack_u64(&params->reply, id);
    pack_u64(&params->reply, seq);
    if (!u.bad) services[service].call(dds, &u, &params->reply);
    if (u.bad) {
        atomic_fetch_add_explicit(&dds->faults[FAULT_MALFORMED], 1, memory_order_relaxed);
        return;
    }
    bool known = writer_participant(params->readers[service], sample->from, &participant);
    reply_write(dds, params->writers[service], known ? &participant : NULL, params->reply.bytes, params->reply.n);
}

/* ---- events ---- */

static void pack_time(struct pack *p, int64_t ns)
{
    pack_i32(p, (int32_t)(ns / 1000000000));
    pack_u32(p, (uint32_t)(ns % 1000000000));
}

/* Whatever differs from what was told last, as `changed`; all of them as `new` at the start. */
static void tell_changes(struct nm_dds *dds, bool all)
{
    struct params *params = dds->params;
    struct pack *p = &params->event;
    uint32_t changed = 0;
    pack_begin(p);
    pack_time(p, wall_now(dds));
    pack_text(p, dds->full);
    if (!all) pack_u32(p, 0);
    pack_align(p, 4);
    size_t count = p->n;
    pack_u32(p, 0);
    for (uint32_t i = 0; i < params->n; i++) {
        struct row *row = &params->rows[i];
        struct nm_value value;
        value_of(dds, row, &value);
        if (!all && (!row->table || nm_value_equal(row->table, &value, &row->told))) continue;
        row->told = value;
        pack_text(p, row->name);
        pack_value(p, row, &value);
        changed++;
    }
    if (!changed) return;
    memcpy(p->bytes + count, &changed, sizeof changed);
    if (all) pack_u32(p, 0);
    pack_u32(p, 0);
    out_write(dds, params->events, p->bytes, p->n);
}

void params_serve(struct nm_dds *dds)
{
    struct params *params = dds->params;
    if (!params->looked) tell_changes(dds, true);
    bool asked = atomic_exchange(&params->asked, false);
    for (uint32_t s = 0; asked && s < SERVICES; s++) {
        struct nm_raw samples[NM_RAW_MOST];
        int n = nm_raw_take(params->readers[s], samples, NM_RAW_MOST);
        for (int i = 0; i < n; i++)
            if (samples[i].sample) answer(dds, s, &samples[i]);
        if (n > 0) nm_raw_free(samples, n);
        if (n == NM_RAW_MOST) atomic_store(&params->asked, true); /* the rest has its turn after the topics */
    }
    int64_t now = dds_time();
    if (!asked && params->looked && now - params->looked < look_every) return;
    tell_changes(dds, false);
    params->looked = now;
}

/* ---- life ---- */

static void request_there(dds_entity_t reader, void *user)
{
    struct params *params = user;
    (void)reader;
    atomic_store(&params->asked, true);
}

static int open_service(struct nm_dds *dds, uint32_t s, struct nm_err *err)
{
    static const struct nm_ros_qos qos = {.reliable = true, .depth = 1000};
    struct params *params = dds->params;
    char name[NM_ROS_NAME + 64], type[128], interface[128], data[256], ids[96];
    service_id(dds, "serviceid", ids, sizeof ids);
    dds_listener_t *listener = dds_create_listener(params);
    dds_lset_data_available(listener, request_there);
    for (int reply = 0; reply < 2; reply++) {
        const char *half = reply ? "Response" : "Request";
        snprintf(interface, sizeof interface, "rcl_interfaces/srv/%s_%s", services[s].type, half);
        snprintf(type, sizeof type, "rcl_interfaces::srv::dds_::%s_%s_", services[s].type, half);
        snprintf(name, sizeof name, "%s%s/%s%s", reply ? "rr" : "rq", dds->full, services[s].name,
                 reply ? "Reply" : "Request");
        const struct nm_type *known = nm_type_find(&nm_all_types, interface);
        snprintf(data, sizeof data, "%s%s%s%s", ids, known ? "typehash=" : "", known ? known->hash : "",
                 known ? ";" : "");
        if (reply)
            params->writers[s] = endpoint_writer(dds, name, type, &qos, data, NULL, err);
        else
            params->readers[s] = endpoint_reader(dds, name, type, &qos, data, listener, err);
    }
    dds_delete_listener(listener);
    return params->readers[s] < 0 || params->writers[s] < 0 ? -1 : 0;
}

static void list_rows(struct nm_dds *dds)
{
    struct params *params = dds->params;
    const struct nm_lineup *lineup = dds->lineup;
    uint32_t total = 1;
    for (uint32_t i = 0; i < lineup->n_instances; i++) total += lineup->instances[i].n_params;
    params->rows = nm_take_n(&dds->arena, struct row, total);
    snprintf(params->rows[0].name, sizeof params->rows[0].name, "use_sim_time");
    params->n = 1;
    for (uint32_t i = 0; i < lineup->n_instances; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[i];
        for (uint32_t k = 0; k < instance->n_params; k++) {
            struct row *row = &params->rows[params->n];
            *row = (struct row){.instance = i, .param = k, .table = &instance->module->params[k]};
            int n = snprintf(row->name, sizeof row->name, "%s.%s", instance->name, row->table->name);
            if (n > 0 && (size_t)n < sizeof row->name) params->n++; /* ours cannot carry a longer name either */
        }
    }
}

int params_open(struct nm_dds *dds, struct nm_err *err)
{
    const struct nm_type *type = nm_type_find(&nm_all_types, "rcl_interfaces/msg/ParameterEvent");
    struct nm_ros_qos qos = nm_ros_qos("parameter_events", type);
    char data[128];
    dds->params = nm_take(&dds->arena, sizeof *dds->params);
    list_rows(dds);
    for (uint32_t s = 0; s < SERVICES; s++)
        if (open_service(dds, s, err)) return -1;
    snprintf(data, sizeof data, "typehash=%s;", type ? type->hash : "");
    dds->params->events = endpoint_writer(dds, "rt/parameter_events", "rcl_interfaces::msg::dds_::ParameterEvent_",
                                          &qos, data, NULL, err);
    return dds->params->events < 0 ? -1 : 0;
}

void params_close(struct nm_dds *dds)
{
    if (!dds->params) return;
    free(dds->params->reply.bytes);
    free(dds->params->event.bytes);
}
