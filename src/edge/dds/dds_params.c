/* The services that every ROS 2 node has under its name: six for parameters, with the topic /parameter_events, and one
 * that describes types. The parameter `friction` of the instance `ball_filter` is `ball_filter.friction`. The player
 * decides which values may be set, and its sentence is the reason of a refusal. Every change is published, whoever made
 * it. */
#include <stdio.h>

#include "base/memory.h"
#include "edge/dds/type_description.h"
#include "edge/dds/dds_inside.h"
#include "edge/dds/params_value.h"

enum { SERVICES = 7, NAMES_MOST = 4096, REQUEST_MOST = 1 << 20 /* bytes */ };
static const int64_t look_every =
    200000000; /* ns; how often values are compared, because others may have changed them */

struct params {
    dds_entity_t readers[SERVICES], writers[SERVICES], events;
    uint32_t n;
    struct param_row *rows;           /* malloc: a module that is swapped in has its own */
    struct nm_change *changes;        /* room for one of each, malloc                    */
    const struct nm_module **modules; /* of each instance, as the rows were listed       */
    int64_t looked;
    struct pack reply, event;
    bool too_long; /* the present request asks for more than is answered */
    _Atomic bool asked;
};

static struct param_row *find(struct params *params, const char *name)
{
    for (uint32_t i = 0; i < params->n; i++)
        if (!strcmp(params->rows[i].name, name)) return &params->rows[i];
    return NULL;
}

static void value_of(const struct nm_dds *dds, const struct param_row *row, struct nm_value *value)
{
    *value = (struct nm_value){.whole = dds->options.virtual_time || dds->options.follows};
    if (row->table) nm_player_value(dds->player, row->instance, row->param, value);
}

static int read_change(struct nm_dds *dds, const char *name, const struct param_given *g, struct nm_change *change,
                       struct nm_err *err)
{
    struct param_row *row = find(dds->params, name);
    char text[NM_VALUE_PRINT] = "";
    struct nm_err why = {0};
    const char *game = nm_gate_locked(dds->gate);
    if (game) return nm_fail(err, "writing is locked: %s", game);
    if (!row) return nm_fail(err, "there is no parameter %.95s", name);
    if (param_text(row, g, text, sizeof text, err)) return -1;
    if (!row->table) {
        bool simulated = dds->options.virtual_time || dds->options.follows;
        if (g->flag == simulated) return 1; /* it already has this value */
        return nm_fail(err,
                       "use_sim_time cannot be changed: the player decides at its start whether time is simulated");
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

/* The rule of rclcpp: the name is under one of the prefixes and has at most this many dots more. */
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
            const struct param_row *row = &params->rows[i];
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

/* The number of names that follow. A request for too many names is not fully answered, because its reply could be many
 * times as long. */
static uint32_t unpack_names(struct nm_dds *dds, struct unpack *u)
{
    uint32_t n = unpack_count(u, 4);
    dds->params->too_long = n > NAMES_MOST;
    return u->bad || dds->params->too_long ? 0 : n;
}

static void do_get(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    uint32_t n = unpack_names(dds, u);
    pack_u32(p, n);
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        struct param_row *row = find(dds->params, unpack_text(u));
        struct nm_value value = {0};
        if (row) value_of(dds, row, &value);
        param_pack(p, row, &value);
    }
}

static void do_types(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    uint32_t n = unpack_names(dds, u);
    pack_u32(p, n);
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        struct param_row *row = find(dds->params, unpack_text(u));
        pack_u8(p, row ? param_kind(row) : PARAM_NOT_SET);
    }
}

static void pack_descriptor(struct pack *p, const char *name, const struct param_row *row)
{
    const struct nm_param *t = row ? row->table : NULL;
    char about[512], limits[256] = "";
    snprintf(about, sizeof about, "%s", row ? "time comes from the topic /clock" : "");
    if (t) snprintf(about, sizeof about, "%s [%s]", t->about, t->unit);
    if (t && t->choices) snprintf(limits, sizeof limits, "one of: %s", t->choices);
    uint8_t kind = row ? param_kind(row) : PARAM_NOT_SET;
    pack_text(p, name);
    pack_u8(p, kind);
    pack_text(p, about);
    pack_text(p, limits);
    pack_u8(p, row && !t);
    pack_u8(p, 0);
    bool real = t && (kind == PARAM_DOUBLE || kind == PARAM_DOUBLES), whole = t && kind == PARAM_INTEGER;
    pack_u32(p, real);
    if (real) {
        pack_f64(p, t->min);
        pack_f64(p, t->max);
        pack_f64(p, 0);
    }
    pack_u32(p, whole);
    if (whole) {
        pack_i64(p, (int64_t)t->min);
        pack_i64(p, (int64_t)t->max);
        pack_u64(p, 0);
    }
}

static void do_describe(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    uint32_t n = unpack_names(dds, u);
    pack_u32(p, n);
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        const char *name = unpack_text(u);
        pack_descriptor(p, name, find(dds->params, name));
    }
}

/* The smallest parameter: an empty name and a value. */
enum { PARAMETER_LEAST = 4 + 36 };

/* Adds a change to the set; of several changes to a parameter the last one counts. */
static uint32_t add_change(struct params *params, uint32_t n, const struct nm_change *change)
{
    uint32_t at = 0;
    while (at < n && (params->changes[at].instance != change->instance || params->changes[at].param != change->param))
        at++;
    params->changes[at] = *change;
    return at < n ? n : n + 1;
}

/* Applies the collected changes as one generation. If the player is still busy with earlier changes, it waits a moment.
 */
static int set_all(struct nm_dds *dds, uint32_t n, struct nm_err *err)
{
    enum { TRIES = 100 };
    if (!n) return 0;
    for (int i = 0;; i++) {
        struct nm_err why = {0};
        if (nm_player_set(dds->player, dds->params->changes, n, &why) >= 0) return 0;
        if (!dds->threaded || i == TRIES) return nm_fail(err, "%.*s", (int)strcspn(why.text, "\n"), why.text);
        dds_sleepfor(DDS_MSECS(2));
    }
}

/* Each parameter gets its own result; the valid ones are set together. */
static void do_set(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    struct unpack again = *u;
    uint32_t n = unpack_count(u, PARAMETER_LEAST), kept = 0;
    struct nm_err refused = {0};
    if (n > NAMES_MOST) {
        dds->params->too_long = true;
        return;
    }
    /* first the valid changes, then the answers, which depend on whether these could be applied */
    for (uint32_t i = 0; i < n && !u->bad; i++) {
        struct nm_change change;
        struct param_given g;
        const char *name = unpack_text(u);
        param_unpack(u, &g);
        if (!u->bad && !read_change(dds, name, &g, &change, NULL)) kept = add_change(dds->params, kept, &change);
    }
    if (u->bad) return;
    int unset = set_all(dds, kept, &refused);
    unpack_count(&again, PARAMETER_LEAST);
    pack_u32(p, n);
    for (uint32_t i = 0; i < n; i++) {
        struct nm_err err = {0};
        struct nm_change change;
        struct param_given g;
        const char *name = unpack_text(&again);
        param_unpack(&again, &g);
        int bad = read_change(dds, name, &g, &change, &err);
        if (bad == 0 && unset) {
            bad = -1;
            err = refused;
        }
        pack_result(p, bad < 0, &err);
    }
}

static void do_set_atomically(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    struct nm_err err = {0};
    uint32_t n = unpack_count(u, PARAMETER_LEAST), kept = 0;
    int bad = 0;
    for (uint32_t i = 0; i < n && !u->bad && bad >= 0; i++) {
        struct param_given g;
        struct nm_change change;
        const char *name = unpack_text(u);
        param_unpack(u, &g);
        if (u->bad) return;
        bad = read_change(dds, name, &g, &change, &err);
        if (!bad) kept = add_change(dds->params, kept, &change);
    }
    if (bad >= 0) bad = set_all(dds, kept, &err);
    pack_result(p, bad < 0, &err);
}

static void do_type(struct nm_dds *dds, struct unpack *u, struct pack *p)
{
    (void)dds;
    const char *name = unpack_text(u), *hash = unpack_text(u);
    bool sources = unpack_u8(u);
    if (!u->bad) describe_pack(p, name, nm_type_find(&nm_all_types, name), hash, sources);
}

/* The forms of a refusal: empty lists, or failed results, each with the reason. */
enum refusal_form { NO_LISTS, NO_LIST, NO_RESULTS, NO_RESULT, NO_DESCRIPTION };
typedef void serve(struct nm_dds *dds, struct unpack *u, struct pack *p);
static const struct {
    const char *name, *package, *type;
    serve *call;
    enum refusal_form form;
} services[SERVICES] = {
    {"list_parameters", "rcl_interfaces", "ListParameters", do_list, NO_LISTS},
    {"get_parameters", "rcl_interfaces", "GetParameters", do_get, NO_LIST},
    {"get_parameter_types", "rcl_interfaces", "GetParameterTypes", do_types, NO_LIST},
    {"describe_parameters", "rcl_interfaces", "DescribeParameters", do_describe, NO_LIST},
    {"set_parameters", "rcl_interfaces", "SetParameters", do_set, NO_RESULTS},
    {"set_parameters_atomically", "rcl_interfaces", "SetParametersAtomically", do_set_atomically, NO_RESULT},
    {"get_type_description", "type_description_interfaces", "GetTypeDescription", do_type, NO_DESCRIPTION},
};

/* The answer to a request that is too long to be read, so that the caller does not wait for nothing. */
static void pack_refusal(struct pack *p, enum refusal_form form, struct unpack u)
{
    static const char *const why = "the request is too long";
    uint32_t n = form == NO_RESULTS ? unpack_u32(&u) : 1;
    if (form == NO_DESCRIPTION) {
        describe_pack(p, why, NULL, "", false);
    } else if (form == NO_LISTS || form == NO_LIST) {
        for (int i = 0; i < (form == NO_LISTS ? 2 : 1); i++) pack_u32(p, 0);
    } else {
        if (n > NAMES_MOST) n = NAMES_MOST;
        if (form == NO_RESULTS) pack_u32(p, n);
        for (uint32_t i = 0; i < n; i++) {
            pack_u8(p, false);
            pack_text(p, why);
        }
    }
}

static void answer(struct nm_dds *dds, uint32_t service, const struct nm_raw *sample)
{
    struct params *params = dds->params;
    struct unpack u;
    dds_guid_t participant;
    unpack_begin(&u, sample->bytes, sample->size);
    uint64_t id = unpack_u64(&u), seq = unpack_u64(&u);
    struct unpack body = u;
    pack_begin(&params->reply);
    pack_u64(&params->reply, id);
    pack_u64(&params->reply, seq);
    params->too_long = sample->size >= REQUEST_MOST; /* longer requests were cut there */
    if (!u.bad && !params->too_long) services[service].call(dds, &u, &params->reply);
    if (!body.bad && params->too_long) {
        atomic_fetch_add_explicit(&dds->faults[FAULT_LONG], 1, memory_order_relaxed);
        params->reply.n = PACK_HEAD + IDS;
        pack_refusal(&params->reply, services[service].form, body);
    } else if (u.bad) {
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

/* Lists the parameters of the present modules, including modules that were swapped in. */
static void list_rows(struct nm_dds *dds)
{
    struct params *params = dds->params;
    const struct nm_lineup *lineup = dds->lineup;
    uint32_t total = 1;
    for (uint32_t i = 0; i < lineup->n_instances; i++) total += nm_param_count(params->modules[i]);
    params->rows = nm_calloc(total, sizeof *params->rows);
    free(params->changes);
    params->changes = nm_calloc(total, sizeof *params->changes);
    snprintf(params->rows[0].name, sizeof params->rows[0].name, "use_sim_time");
    params->n = 1;
    for (uint32_t i = 0; i < lineup->n_instances; i++)
        for (uint32_t k = 0; k < nm_param_count(params->modules[i]); k++) {
            struct param_row *row = &params->rows[params->n];
            *row = (struct param_row){.instance = i, .param = k, .table = &params->modules[i]->params[k]};
            int n = snprintf(row->name, sizeof row->name, "%s.%s", lineup->instances[i].name, row->table->name);
            if (n > 0 && (size_t)n < sizeof row->name)
                params->n++; /* our own messages cannot carry a longer name either */
        }
}

static void pack_row(struct nm_dds *dds, struct pack *p, struct param_row *row)
{
    value_of(dds, row, &row->told);
    pack_text(p, row->name);
    param_pack(p, row, &row->told);
}

static void begin_event(struct nm_dds *dds, struct pack *p)
{
    pack_begin(p);
    pack_time(p, wall_now(dds));
    pack_text(p, dds->full);
}

/* Publishes all parameters as `new`, and those of `gone` that no longer exist as `deleted`; at the start and after a
 * swap. */
static void tell_all(struct nm_dds *dds, const struct param_row *gone, uint32_t n_gone)
{
    struct params *params = dds->params;
    struct pack *p = &params->event;
    uint32_t deleted = 0;
    begin_event(dds, p);
    pack_u32(p, params->n);
    for (uint32_t i = 0; i < params->n; i++) pack_row(dds, p, &params->rows[i]);
    pack_u32(p, 0);
    for (uint32_t i = 0; i < n_gone; i++) deleted += !find(params, gone[i].name);
    pack_u32(p, deleted);
    for (uint32_t i = 0; i < n_gone; i++) {
        if (find(params, gone[i].name)) continue;
        pack_text(p, gone[i].name);
        param_pack(p, NULL, NULL);
    }
    out_write(dds, params->events, p->bytes, p->n);
}

/* Lists the parameters again if another build of a module was swapped in. */
static void refresh(struct nm_dds *dds)
{
    struct params *params = dds->params;
    struct param_row *old = params->rows;
    uint32_t n_old = params->n;
    bool same = true;
    for (uint32_t i = 0; i < dds->lineup->n_instances; i++) {
        const struct nm_module *module = nm_player_module(dds->player, i);
        same &= module == params->modules[i];
        params->modules[i] = module;
    }
    if (same) return;
    list_rows(dds);
    tell_all(dds, old, n_old);
    free(old);
}

/* Publishes the parameters that differ from the last event as `changed`. */
static void tell_changes(struct nm_dds *dds)
{
    struct params *params = dds->params;
    struct pack *p = &params->event;
    uint32_t changed = 0;
    begin_event(dds, p);
    pack_u32(p, 0);
    pack_align(p, 4);
    size_t count = p->n;
    pack_u32(p, 0);
    for (uint32_t i = 1; i < params->n; i++) {
        struct param_row *row = &params->rows[i];
        struct nm_value value;
        value_of(dds, row, &value);
        if (nm_value_equal(row->table, &value, &row->told)) continue;
        pack_row(dds, p, row);
        changed++;
    }
    if (!changed) return;
    memcpy(p->bytes + count, &changed, sizeof changed);
    pack_u32(p, 0);
    out_write(dds, params->events, p->bytes, p->n);
}

static void request_there(dds_entity_t reader, void *user)
{
    struct nm_dds *dds = user;
    (void)reader;
    atomic_store(&dds->params->asked, true);
    edge_wake(dds);
}

void params_serve(struct nm_dds *dds)
{
    struct params *params = dds->params;
    int64_t now = dds_time();
    bool asked = atomic_load_explicit(&params->asked, memory_order_relaxed) && atomic_exchange(&params->asked, false);
    if (!params->looked) tell_all(dds, NULL, 0);
    if (!asked && params->looked && now - params->looked < look_every) return;
    refresh(dds);
    for (uint32_t s = 0; asked && s < SERVICES; s++) {
        struct nm_raw samples[NM_RAW_MOST];
        int n = nm_raw_take(params->readers[s], samples, NM_RAW_MOST);
        for (int i = 0; i < n; i++)
            if (samples[i].sample) answer(dds, s, &samples[i]);
        if (n > 0) nm_raw_free(samples, n);
        if (n == NM_RAW_MOST) request_there(params->readers[s], dds); /* the rest is served after the topics */
    }
    tell_changes(dds);
    params->looked = now;
}

/* ---- life ---- */

static int open_service(struct nm_dds *dds, uint32_t s, struct nm_err *err)
{
    static const struct nm_ros_qos qos = {.reliable = true,
                                          .depth = 64}; /* peers decide how much memory this queue takes */
    struct params *params = dds->params;
    char name[NM_ROS_NAME + 64], type[128], interface[128], data[256], ids[96];
    service_id(dds, "serviceid", ids, sizeof ids);
    dds_listener_t *listener = dds_create_listener(dds);
    dds_lset_data_available(listener, request_there);
    for (int reply = 0; reply < 2; reply++) {
        const char *half = reply ? "Response" : "Request";
        const char *package = services[s].package;
        snprintf(interface, sizeof interface, "%s/srv/%s_%s", package, services[s].type, half);
        snprintf(type, sizeof type, "%s::srv::dds_::%s_%s_", package, services[s].type, half);
        snprintf(name, sizeof name, "%s%s/%s%s", reply ? "rr" : "rq", dds->full, services[s].name,
                 reply ? "Reply" : "Request");
        const struct nm_type *known = nm_type_find(&nm_all_types, interface);
        snprintf(data, sizeof data, "%s%s%s%s", ids, known ? "typehash=" : "", known ? known->hash : "",
                 known ? ";" : "");
        if (reply)
            params->writers[s] = endpoint_writer(dds, name, type, &qos, data, NULL, err);
        else
            params->readers[s] = endpoint_reader(dds, name, type, REQUEST_MOST, &qos, data, listener, err);
    }
    dds_delete_listener(listener);
    return params->readers[s] < 0 || params->writers[s] < 0 ? -1 : 0;
}

int params_open(struct nm_dds *dds, struct nm_err *err)
{
    const struct nm_type *type = nm_type_find(&nm_all_types, "rcl_interfaces/msg/ParameterEvent");
    struct nm_ros_qos qos = nm_ros_qos("parameter_events", type);
    char data[128];
    dds->params = nm_take(&dds->arena, sizeof *dds->params);
    dds->params->modules = nm_take_n(&dds->arena, const struct nm_module *, dds->lineup->n_instances + 1);
    for (uint32_t i = 0; i < dds->lineup->n_instances; i++) dds->params->modules[i] = nm_player_module(dds->player, i);
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
    free(dds->params->rows);
    free(dds->params->changes);
}
