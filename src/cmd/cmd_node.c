/* nutmeg node, nutmeg service: the nodes of a ROS 2 world, and calls of their services, with nothing of ROS installed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/ros_topics.h"
#include "codec/cdr.h"
#include "codec/cdr_walk.h"
#include "edge/dds/dds_look.h"

static const double discovery = 1.0; /* s */

/* A look with the graph in it; NULL after a complaint. */
static struct nm_look *open_graph(const struct ros_flags *flags)
{
    struct nm_err err = {0};
    struct nm_look *look = nm_look_new((int)flags->domain, flags->network, &err);
    if (look && !nm_look_graph(look, &err) && pause_for(discovery)) return look;
    if (err.n) complain(&err);
    nm_look_free(look);
    return NULL;
}

static void print_node(void *user, const char *name)
{
    if (nm_matches(name, user)) puts(name);
}

static int node_list(int argc, char **argv)
{
    struct ros_flags ros = {.domain = -1};
    const struct flag flags[] = {ROS_FLAGS(&ros), {0}};
    const struct usage usage = USAGE("nutmeg node list", "[PATTERN]", flags, "Lists the ROS 2 nodes.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_look *look = open_graph(&ros);
    if (!look) return EXIT_FAILED;
    nm_look_nodes(look, print_node, NULL, NULL, n ? argv[1] : NULL);
    nm_look_free(look);
    return EXIT_OK;
}

static void add_end(void *user, const char *kind, const char *name, const char *type)
{
    struct table *table = user;
    table_row(table, "%s\t%s\t%s", kind, name, type);
}

static int node_info(int argc, char **argv)
{
    struct ros_flags ros = {.domain = -1};
    const struct flag flags[] = {ROS_FLAGS(&ros), {0}};
    const struct usage usage =
        USAGE("nutmeg node info", "NODE", flags,
              "Shows which topics and services a ROS 2 node publishes, reads, offers and calls.\n"
              "    nutmeg node info /red1/play");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_look *look = open_graph(&ros);
    struct table table;
    if (!look) return EXIT_FAILED;
    table_begin(&table, (const char *const[]){"", "name", "type", NULL});
    nm_look_nodes(look, NULL, argv[1], add_end, &table);
    table_print(&table, stdout);
    nm_look_free(look);
    return EXIT_OK;
}

int cmd_node(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"list", "lists the nodes", node_list},
        {"info", "shows what a node publishes, reads, offers and calls", node_info},
        {0},
    };
    return verbs_run("nutmeg node", "ROS 2 nodes.", verbs, argc, argv);
}

/* ---- services ---- */

/* "std_srvs/SetBool" has the halves std_srvs/srv/SetBool_Request and …_Response. */
static const struct nm_type *half_of(const char *service, const char *half)
{
    char name[256];
    const char *slash = strchr(service, '/');
    bool whole = slash && strchr(slash + 1, '/');
    if (!slash) return NULL;
    snprintf(name, sizeof name, "%.*s/%s%s_%s", (int)(slash - service), service, whole ? "" : "srv/", slash + 1, half);
    return nm_type_find(&nm_all_types, name);
}

/* Prints bytes by the definition of their type: a reply may be longer than our struct. */
static int print_reply(const struct nm_type *type, const void *bytes, size_t n, struct nm_err *err)
{
    struct nm_arena arena = {0};
    struct nm_defs set = {.arena = &arena};
    struct nm_text_out text = {.grows = true};
    int bad = nm_defs_add_merged(&set, type->name, type->name, type->schema, strlen(type->schema), err) ||
              nm_defs_link(&set, err) ||
              nm_walk_print(&text, nm_defs_find(&set, type->name), bytes, n, NM_TEXT_YAML, err);
    if (!bad) fputs(text.text, stdout);
    free(text.text);
    nm_arena_free(&arena);
    return bad;
}

static int call(struct nm_look *look, char **argv, double timeout, struct nm_err *err)
{
    const struct nm_type *asked = half_of(argv[2], "Request"), *told = half_of(argv[2], "Response");
    void *request = nm_calloc(1, asked->size);
    int bad = nm_parse_text(asked, request, "request", argv[3], strlen(argv[3]), NULL, err);
    if (!bad) {
        size_t size = nm_cdr_size(asked, request), n = 0;
        uint8_t *bytes = nm_malloc(size);
        int64_t used = nm_cdr_encode(asked, request, bytes, size);
        uint8_t *reply =
            used < 0 ? NULL : nm_look_call(look, argv[1], asked, bytes, (size_t)used, told, &n, timeout, err);
        bad = reply ? print_reply(told, reply, n, err) : -1;
        free(reply);
        free(bytes);
    }
    free(request);
    return bad;
}

static int service_list(int argc, char **argv)
{
    struct ros_flags ros = {.domain = -1};
    bool hidden = false;
    const struct flag flags[] = {
        SWITCH("all", &hidden, "also lists the services that belong to actions", .letter = 'a'), ROS_FLAGS(&ros), {0}};
    const struct usage usage =
        USAGE("nutmeg service list", "[PATTERN]", flags, "Lists the ROS 2 services whose name contains PATTERN.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    return ros_list_kind(&ros, hidden ? ROS_ALL_SERVICES : ROS_SERVICES, n ? argv[1] : NULL);
}

static int service_call(int argc, char **argv)
{
    struct ros_flags ros = {.domain = -1};
    double timeout = 5;
    const struct flag flags[] = {
        NUMBER("timeout", &timeout, 0.1, 3600, "S", "seconds to wait for the reply"),
        ROS_FLAGS(&ros),
        {0},
    };
    const struct usage usage = USAGE("nutmeg service call", "NAME TYPE YAML", flags,
                                     "Calls a ROS 2 service and prints the reply.\n"
                                     "    nutmeg service call /red1/shout std_srvs/SetBool '{data: true}'");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (!half_of(argv[2], "Request") || !half_of(argv[2], "Response"))
        return usage_wrong(&usage, "there is no service type '%s'; nutmeg msg list shows all", argv[2]);
    struct nm_err err = {0};
    struct nm_look *look = nm_look_new((int)ros.domain, ros.network, &err);
    int bad = look ? call(look, argv, timeout, &err) : -1;
    if (err.n) complain(&err);
    nm_look_free(look);
    return bad ? EXIT_FAILED : EXIT_OK;
}

int cmd_service(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"list", "lists the services", service_list}, {"call", "calls one and prints the reply", service_call}, {0}};
    return verbs_run("nutmeg service", "ROS 2 services.", verbs, argc, argv);
}
