/* Parameters of other nodes, through the services that every ROS 2 node has. Requests and replies are packed by hand,
 * because a node may have more parameters than a struct can hold. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/text.h"
#include "codec/yaml.h"
#include "edge/dds/dds_look.h"
#include "edge/dds/params_value.h"

enum { PARAMS_MOST = 65536 }; /* a node that lists more is not accepted */

/* Calls a service of the node and frees the request; the caller frees the reply. */
static uint8_t *call(struct nm_look *look, const char *node, const char *service, const char *type,
                     struct pack *request, struct unpack *u, double timeout, struct nm_err *err)
{
    char name[2 * NM_ROS_NAME], half[2][96];
    size_t n = 0;
    snprintf(name, sizeof name, "%.200s/%s", node, service);
    snprintf(half[0], sizeof half[0], "rcl_interfaces/srv/%s_Request", type);
    snprintf(half[1], sizeof half[1], "rcl_interfaces/srv/%s_Response", type);
    uint8_t *reply = nm_look_call(look, name, nm_type_find(&nm_all_types, half[0]), request->bytes, request->n,
                                  nm_type_find(&nm_all_types, half[1]), &n, timeout, err);
    free(request->bytes);
    *request = (struct pack){0};
    if (reply) unpack_begin(u, reply, n);
    return reply;
}

static struct pack names_request(const char *const *names, uint32_t n)
{
    struct pack request = {0};
    pack_begin(&request);
    pack_u32(&request, n);
    for (uint32_t i = 0; i < n; i++) pack_text(&request, names[i]);
    return request;
}

static int broken(const char *node, struct nm_err *err)
{
    return nm_fail(err, "%s: the answer of the node is not valid", node);
}

static void put(struct nm_text_out *out, const char *text) { nm_text_put(out, text, strlen(text)); }

static void put_number(struct nm_text_out *out, double number)
{
    struct nm_field field = {.kind = NM_FLOAT64, .shape = NM_ONE, .cap = 1, .elem = sizeof number};
    nm_print_place(out, &(struct nm_place){&field, NM_ONE, &number}, NM_TEXT_YAML);
}

static void put_word(struct nm_text_out *out, const char *text)
{
    struct nm_field field = {.kind = NM_STRING, .shape = NM_ONE, .cap = 1, .elem = (uint32_t)strlen(text) + 1};
    nm_print_place(out, &(struct nm_place){&field, NM_ONE, (void *)(uintptr_t)text}, NM_TEXT_YAML);
}

static void put_whole(struct nm_text_out *out, int64_t whole)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, whole);
    put(out, text);
}

/* A rcl_interfaces/ParameterValue as text; all ten of its members are on the wire. */
static uint8_t print_value(struct unpack *u, struct nm_text_out *out)
{
    uint8_t kind = unpack_u8(u), flag = unpack_u8(u);
    int64_t whole = (int64_t)unpack_u64(u);
    double number = unpack_f64(u);
    const char *text = unpack_text(u);
    put(out, "");
    if (kind == PARAM_BOOL) put(out, flag ? "true" : "false");
    if (kind == PARAM_INTEGER) put_whole(out, whole);
    if (kind == PARAM_DOUBLE) put_number(out, number);
    if (kind == PARAM_STRING) put_word(out, text);
    for (uint8_t list = PARAM_BYTES; list <= PARAM_STRINGS; list++) {
        static const size_t least[] = {1, 1, 8, 8, 4};
        uint32_t n = unpack_count(u, least[list - PARAM_BYTES]);
        if (list == kind) put(out, "[");
        for (uint32_t i = 0; i < n && !u->bad; i++) {
            struct nm_text_out nowhere = {0}, *to = list == kind ? out : &nowhere;
            if (i && list == kind) put(out, ", ");
            if (list == PARAM_BYTES) put_whole(to, unpack_u8(u));
            if (list == PARAM_BOOLS) put(to, unpack_u8(u) ? "true" : "false");
            if (list == PARAM_INTEGERS) put_whole(to, (int64_t)unpack_u64(u));
            if (list == PARAM_DOUBLES) put_number(to, unpack_f64(u));
            if (list == PARAM_STRINGS) put_word(to, unpack_text(u));
        }
        if (list == kind) put(out, "]");
    }
    return kind;
}

static int tell_values(struct nm_look *look, const char *node, const char *const *names, uint32_t n,
                       nm_look_param *each, void *user, double timeout, struct nm_err *err)
{
    struct pack request = names_request(names, n);
    struct unpack u;
    int bad = 0;
    uint8_t *reply = call(look, node, "get_parameters", "GetParameters", &request, &u, timeout, err);
    if (!reply) return -1;
    uint32_t told = unpack_count(&u, 36);
    if (!u.bad && told != n)
        bad = nm_fail(err, "%s: the node does not give the value of '%.80s'", node, n ? names[0] : "");
    for (uint32_t i = 0; i < told && !bad; i++) {
        struct nm_text_out text = {.grows = true};
        uint8_t kind = print_value(&u, &text);
        if (u.bad)
            bad = broken(node, err);
        else if (kind == PARAM_NOT_SET)
            bad = nm_fail(err, "%s has no parameter '%.80s'", node, names[i]);
        else
            each(user, names[i], text.text, param_kind_word(kind));
        free(text.text);
    }
    free(reply);
    return bad;
}

int nm_look_params(struct nm_look *look, const char *node, const char *const *names, uint32_t n, nm_look_param *each,
                   void *user, double timeout, struct nm_err *err)
{
    struct unpack u;
    if (n) return tell_values(look, node, names, n, each, user, timeout, err);
    struct pack request = names_request(NULL, 0); /* prefixes: all */
    pack_u64(&request, 0);
    uint8_t *reply = call(look, node, "list_parameters", "ListParameters", &request, &u, timeout, err);
    if (!reply) return -1;
    uint32_t found = unpack_count(&u, 4);
    const char **all = nm_calloc(found + 1, sizeof *all);
    if (found > PARAMS_MOST) u.bad = true;
    for (uint32_t i = 0; i < found && !u.bad; i++) {
        all[i] = unpack_text(&u);
        if (!nm_look_plain(all[i])) u.bad = true;
    }
    int bad = u.bad ? broken(node, err) : found ? tell_values(look, node, all, found, each, user, timeout, err) : 0;
    free(all);
    free(reply);
    return bad;
}

/* Asks a node for the types of its parameters. */
static int read_kinds(struct nm_look *look, const char *node, const char *const *names, uint32_t n, uint8_t *kinds,
                      double timeout, struct nm_err *err)
{
    struct pack request = names_request(names, n);
    struct unpack u;
    uint8_t *reply = call(look, node, "get_parameter_types", "GetParameterTypes", &request, &u, timeout, err);
    if (!reply) return -1;
    uint32_t told = unpack_count(&u, 1);
    for (uint32_t i = 0; i < n && i < told; i++) kinds[i] = unpack_u8(&u);
    int bad = u.bad || told != n ? nm_fail(err, "%s: the node does not give the types of its parameters", node) : 0;
    free(reply);
    return bad;
}

/* Packs the elements of a list. */
static int pack_list(struct pack *p, const struct nm_yaml *node, uint8_t kind)
{
    int bad = 0;
    pack_u32(p, node->n);
    nm_yaml_each(item, node)
    {
        double number = 0;
        int64_t whole = 0;
        bool text = item->kind == NM_YAML_SCALAR;
        if (kind == PARAM_BYTES) {
            bad |= nm_yaml_int(item, &whole, NULL) || whole < 0 || whole > 255;
            pack_u8(p, (uint8_t)whole);
        } else if (kind == PARAM_BOOLS) {
            bad |= !text || (strcmp(item->text, "true") && strcmp(item->text, "false"));
            pack_u8(p, text && !strcmp(item->text, "true"));
        } else if (kind == PARAM_INTEGERS) {
            bad |= nm_yaml_int(item, &whole, NULL);
            pack_i64(p, whole);
        } else if (kind == PARAM_DOUBLES) {
            bad |= nm_yaml_number(item, &number, NULL);
            pack_f64(p, number);
        } else {
            bad |= !text;
            pack_text(p, text ? item->text : "");
        }
    }
    return bad;
}

/* The type that a text looks like, for parameters that have no type yet. */
static uint8_t guess(const struct nm_yaml *node)
{
    double number;
    int64_t whole;
    if (node->kind != NM_YAML_SCALAR) return PARAM_STRINGS;
    if (!strcmp(node->text, "true") || !strcmp(node->text, "false")) return PARAM_BOOL;
    if (!nm_yaml_int(node, &whole, NULL)) return PARAM_INTEGER;
    return nm_yaml_number(node, &number, NULL) ? PARAM_STRING : PARAM_DOUBLE;
}

/* Packs a value of the type that the parameter has. */
static int pack_value(struct pack *p, const char *name, const char *text, uint8_t kind, struct nm_err *err)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *node = nm_yaml_parse(&arena, name, text, strlen(text), NULL);
    double number = 0;
    int64_t whole = 0;
    bool bad = !node, list = node && node->kind == NM_YAML_LIST;
    if (node && kind == PARAM_NOT_SET) kind = guess(node);
    if (!bad && (kind >= PARAM_BYTES) != list && kind != PARAM_STRING) bad = true;
    if (!bad && kind == PARAM_BOOL) bad = strcmp(text, "true") && strcmp(text, "false");
    if (!bad && kind == PARAM_INTEGER) bad = nm_yaml_int(node, &whole, NULL);
    if (!bad && kind == PARAM_DOUBLE) bad = nm_yaml_number(node, &number, NULL);
    if (!bad) {
        pack_text(p, name);
        pack_u8(p, kind);
        pack_u8(p, kind == PARAM_BOOL && !strcmp(text, "true"));
        pack_i64(p, whole);
        pack_f64(p, number);
        pack_text(p, kind == PARAM_STRING ? (node->kind == NM_YAML_SCALAR ? node->text : text) : "");
        for (uint8_t each = PARAM_BYTES; each <= PARAM_STRINGS; each++)
            if (each == kind)
                bad = pack_list(p, node, kind);
            else
                pack_u32(p, 0);
    }
    nm_arena_free(&arena);
    return bad ? nm_fail(err, "%.80s: '%.80s' is not %s", name, text, param_kind_word(kind)) : 0;
}

/* The sentence of a peer without control characters, which could change the terminal. */
static const char *harmless(struct nm_arena *arena, const char *text)
{
    char *copy = nm_take_format(arena, "%.300s", text);
    for (char *at = copy; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) *at = '?';
    return copy;
}

int nm_look_params_set(struct nm_look *look, const char *node, const char *const *settings, uint32_t n, double timeout,
                       struct nm_err *err)
{
    const char **names = nm_calloc(n + 1, sizeof *names);
    uint8_t *kinds = nm_calloc(n + 1, 1), *reply = NULL;
    struct nm_arena arena = {0};
    struct pack request = {0};
    struct unpack u;
    int bad = 0;
    for (uint32_t i = 0; i < n && !bad; i++) {
        size_t length = strcspn(settings[i], "=");
        if (!settings[i][length]) bad = nm_fail(err, "'%.80s' does not have the form NAME=VALUE", settings[i]);
        names[i] = nm_take_format(&arena, "%.*s", (int)length, settings[i]);
    }
    if (!bad) bad = read_kinds(look, node, names, n, kinds, timeout, err);
    pack_begin(&request);
    pack_u32(&request, n);
    for (uint32_t i = 0; i < n && !bad; i++)
        bad = pack_value(&request, names[i], settings[i] + strlen(names[i]) + 1, kinds[i], err);
    if (!bad)
        reply = call(look, node, "set_parameters_atomically", "SetParametersAtomically", &request, &u, timeout, err);
    if (!bad && !reply) bad = -1;
    if (reply) {
        bool set = unpack_u8(&u);
        const char *reason = unpack_text(&u);
        if (u.bad)
            bad = broken(node, err);
        else if (!set)
            bad = nm_fail(err, "%s refuses: %s", node, harmless(&arena, reason));
    }
    free(reply);
    free(request.bytes);
    free(kinds);
    free(names);
    nm_arena_free(&arena);
    return bad;
}
