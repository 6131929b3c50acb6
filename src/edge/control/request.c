#include "edge/control/request.h"

#include <string.h>

#include "codec/yaml.h"
#include "core/registry.h"

enum key { KEY_OP, KEY_TOPIC, KEY_INSTANCE, KEY_PARAM, KEY_PLUGIN, KEY_LAYER, KEY_MESSAGE, KEY_ON, KEY_SET, KEYS };
static const char *const key_names[KEYS] = {"op",    "topic",   "instance", "param", "plugin",
                                            "layer", "message", "on",       "set"};

#define BIT(key) (1u << (key))
static const struct {
    const char *name;
    uint32_t needs, takes; /* bits of keys; `takes` besides those needed */
} ops[NM_CONTROL_OPS] = {
    [NM_CONTROL_INFO] = {"info", 0, 0},
    [NM_CONTROL_TASKS] = {"tasks", 0, 0},
    [NM_CONTROL_TOPICS] = {"topics", 0, 0},
    [NM_CONTROL_WHY] = {"why", BIT(KEY_TOPIC), 0},
    [NM_CONTROL_PARAMS] = {"params", 0, BIT(KEY_INSTANCE) | BIT(KEY_PARAM)},
    [NM_CONTROL_SET] = {"set", BIT(KEY_SET), 0},
    [NM_CONTROL_RESET] = {"reset", 0, BIT(KEY_INSTANCE) | BIT(KEY_PARAM) | BIT(KEY_LAYER)},
    [NM_CONTROL_SAVE] = {"save", BIT(KEY_LAYER), 0},
    [NM_CONTROL_SWAP] = {"swap", BIT(KEY_INSTANCE) | BIT(KEY_PLUGIN), 0},
    [NM_CONTROL_WATCH] = {"watch", BIT(KEY_ON), 0},
    [NM_CONTROL_ECHO] = {"echo", BIT(KEY_TOPIC), 0},
    [NM_CONTROL_STOP] = {"stop", 0, 0},
    [NM_CONTROL_CALL] = {"call", BIT(KEY_TOPIC), BIT(KEY_MESSAGE)},
    [NM_CONTROL_SAY] = {"say", BIT(KEY_TOPIC) | BIT(KEY_MESSAGE), 0},
};

const char *nm_control_op_name(enum nm_control_op op) { return ops[op].name; }

static int find_op(const struct nm_yaml *map, struct nm_request *request, struct nm_err *err)
{
    const char *names[NM_CONTROL_OPS], *word;
    const struct nm_yaml *node = nm_yaml_get(map, "op");
    if (!node) return nm_fail(err, "a request is a map with the key 'op', such as {op: info}");
    if (nm_yaml_text(node, &word, err)) return -1;
    for (uint32_t i = 0; i < NM_CONTROL_OPS; i++) {
        names[i] = ops[i].name;
        if (strcmp(word, names[i])) continue;
        request->op = (enum nm_control_op)i;
        return 0;
    }
    return nm_fail(err, "there is no operation '%.64s'%s", word, nm_hint(word, names, NM_CONTROL_OPS).text);
}

static int read_text(const struct nm_yaml *node, const char **text, struct nm_err *err)
{
    const char *value;
    if (nm_yaml_text(node, &value, err)) return -1;
    if (!*value || strlen(value) > NM_REQUEST_TEXT)
        return nm_fail(err, "'%s' must have 1 to %d bytes", node->key ? node->key : "set", NM_REQUEST_TEXT);
    *text = value;
    return 0;
}

static int read_set(struct nm_arena *arena, const struct nm_yaml *node, struct nm_request *request, struct nm_err *err)
{
    if (node->kind != NM_YAML_LIST || !node->n || node->n > NM_REQUEST_SETS)
        return nm_fail(err, "'set' must be a list of 1 to %d texts such as \"instance.parameter=value\"",
                       NM_REQUEST_SETS);
    const char **set = nm_take_n(arena, const char *, node->n);
    nm_yaml_each(item, node) if (read_text(item, &set[request->n_set++], err)) return -1;
    request->set = set;
    return 0;
}

static int read_key(struct nm_arena *arena, enum key key, const struct nm_yaml *node, struct nm_request *request,
                    struct nm_err *err)
{
    switch (key) {
    case KEY_TOPIC: return read_text(node, &request->topic, err);
    case KEY_INSTANCE: return read_text(node, &request->instance, err);
    case KEY_PARAM: return read_text(node, &request->param, err);
    case KEY_PLUGIN: return read_text(node, &request->plugin, err);
    case KEY_LAYER: return read_text(node, &request->layer, err);
    case KEY_MESSAGE: return read_text(node, &request->message, err);
    case KEY_ON: return nm_yaml_bool(node, &request->on, err);
    case KEY_SET: return read_set(arena, node, request, err);
    case KEY_OP:
    case KEYS: break;
    }
    return 0;
}

int nm_request_parse(struct nm_arena *arena, const char *line, size_t size, struct nm_request *request,
                     struct nm_err *err)
{
    memset(request, 0, sizeof *request);
    if (size > NM_REQUEST_LINE) return nm_fail(err, "a request has at most %d bytes", NM_REQUEST_LINE);
    const struct nm_yaml *map = nm_yaml_parse(arena, "request", line, size, err);
    if (!map || nm_yaml_keys(map, key_names, KEYS, err) || find_op(map, request, err)) return -1;
    uint32_t needs = ops[request->op].needs, takes = BIT(KEY_OP) | needs | ops[request->op].takes;
    for (uint32_t key = 0; key < KEYS; key++) {
        const struct nm_yaml *node = nm_yaml_get(map, key_names[key]);
        if (node && !(takes & BIT(key)))
            return nm_fail(err, "the operation '%s' takes no '%s'", ops[request->op].name, key_names[key]);
        if (!node && (needs & BIT(key)))
            return nm_fail(err, "the operation '%s' needs '%s'", ops[request->op].name, key_names[key]);
        if (node && read_key(arena, (enum key)key, node, request, err)) return -1;
    }
    if (request->param && !request->instance) return nm_fail(err, "'param' also needs its 'instance'");
    return 0;
}
