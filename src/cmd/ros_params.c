#include "cmd/ros_params.h"

#include <stdio.h>

#include "cmd/console.h"
#include "edge/dds/dds_look.h"

static const double patience = 5; /* s, for the node and for each of its answers */

static struct nm_look *open_look(const struct ros_node *node, struct nm_err *err)
{
    return nm_look_new((int)node->ros.domain, node->ros.network, err);
}

static int end(struct nm_look *look, int bad, const struct nm_err *err)
{
    if (err->n) complain(err);
    nm_look_free(look);
    return bad ? EXIT_FAILED : EXIT_OK;
}

struct listing {
    struct table table;
    const char *pattern;
};

static void add_row(void *user, const char *name, const char *value, const char *kind)
{
    struct listing *list = user;
    if (nm_matches(name, list->pattern)) table_row(&list->table, "%s\t%s\t%s", name, value, kind);
}

int ros_param_list(const struct ros_node *node, const char *pattern)
{
    struct nm_err err = {0};
    struct listing list = {.pattern = pattern};
    struct nm_look *look = open_look(node, &err);
    table_begin(&list.table, (const char *const[]){"parameter", "value", "kind", NULL});
    int bad = look ? nm_look_params(look, node->name, NULL, 0, add_row, &list, patience, &err) : -1;
    table_print(&list.table, stdout);
    return end(look, bad, &err);
}

static void print_value(void *user, const char *name, const char *value, const char *kind)
{
    (void)user;
    (void)name;
    (void)kind;
    puts(value);
}

int ros_param_get(const struct ros_node *node, const char *name)
{
    struct nm_err err = {0};
    struct nm_look *look = open_look(node, &err);
    int bad = look ? nm_look_params(look, node->name, &name, 1, print_value, NULL, patience, &err) : -1;
    return end(look, bad, &err);
}

int ros_param_set(const struct ros_node *node, const char *const *settings, uint32_t n)
{
    struct nm_err err = {0};
    struct nm_look *look = open_look(node, &err);
    int bad = look ? nm_look_params_set(look, node->name, settings, n, patience, &err) : -1;
    if (!bad) puts("set");
    return end(look, bad, &err);
}
