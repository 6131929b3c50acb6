/* A loaded line-up as the text of one: whole, or some of its instances with everything they read from outside. */
#include <stdio.h>
#include <string.h>

#include "core/lineup.h"

/* A service is named without what tells its two topics apart. */
static void print_name(FILE *to, const char *topic, enum nm_port_role role)
{
    const char *tail = role == NM_ROLE_TOPIC ? NULL : strrchr(topic, '/');
    fprintf(to, "%.*s", (int)(tail ? tail - topic : (ptrdiff_t)strlen(topic)), topic);
}

static void print_renames(FILE *to, const struct nm_lineup *lineup, const struct nm_lineup_instance *instance)
{
    const char *before = " topics: {";
    bool any = false;
    for (uint32_t p = 0; p < instance->n_ports; p++) {
        const struct nm_port *port = &instance->module->ports[p];
        const struct nm_topic *topic = &lineup->topics[instance->topics[p]];
        bool told = port->role != NM_ROLE_TOPIC && p && instance->module->ports[p - 1].role != NM_ROLE_TOPIC &&
                    strstr(port->topic, "/reply"); /* with its request */
        if (told || !strcmp(port->topic, topic->name)) continue;
        fputs(before, to);
        print_name(to, port->topic, port->role);
        fputs(": ", to);
        print_name(to, topic->name, port->role);
        before = ", ";
        any = true;
    }
    if (any) fputs("},", to);
}

static void print_cycle(FILE *to, const struct nm_lineup *lineup, uint32_t c, const bool *chosen)
{
    const struct nm_lineup_cycle *cycle = &lineup->cycles[c];
    fprintf(to, "  %s:\n", cycle->name);
    if (cycle->trigger == NM_NONE)
        fprintf(to, "    period: %lld ns\n", (long long)cycle->period);
    else
        fprintf(to, "    trigger: %s\n    timeout: %lld ns\n", lineup->topics[cycle->trigger].name,
                (long long)cycle->timeout);
    if (cycle->deadline) fprintf(to, "    deadline: %lld ns\n", (long long)cycle->deadline);
    if (cycle->cost) fprintf(to, "    cost: %lld ns\n", (long long)cycle->cost);
    if (cycle->priority) fprintf(to, "    priority: %d\n", cycle->priority);
    if (cycle->core >= 0) fprintf(to, "    core: %d\n", cycle->core);
    fputs("    modules:\n", to);
    for (uint32_t i = 0; i < cycle->n_order; i++) {
        const struct nm_lineup_instance *instance = &lineup->instances[cycle->order[i]];
        if (chosen && !chosen[cycle->order[i]]) continue;
        fprintf(to, "      - {module: %s, name: %s,", instance->module->name, instance->name);
        print_renames(to, lineup, instance);
        fputs("}\n", to);
    }
}

static bool is_made(const struct nm_topic *topic, const bool *chosen)
{
    for (uint32_t i = 0; i < topic->n_producers; i++)
        if (!chosen || chosen[topic->producers[i].instance]) return true;
    return false;
}

static bool is_read(const struct nm_topic *topic, const bool *chosen)
{
    for (uint32_t i = 0; i < topic->n_consumers; i++)
        if (!chosen || chosen[topic->consumers[i].instance]) return true;
    return false;
}

/* What is read and not made here; a service that is asked but not served. */
static bool is_remote(const struct nm_lineup *lineup, const struct nm_topic *topic, const bool *chosen)
{
    (void)lineup;
    bool made = is_made(topic, chosen), read = is_read(topic, chosen);
    if (topic->builtin) return false;
    if (topic->role == NM_ROLE_REPLY) return false;
    if (topic->role == NM_ROLE_REQUEST) return made && !read;
    return read && (!made || topic->remote);
}

static bool has_any(const struct nm_lineup_cycle *cycle, const bool *chosen)
{
    for (uint32_t i = 0; i < cycle->n_order; i++)
        if (!chosen || chosen[cycle->order[i]]) return true;
    return false;
}

static void print_plugins(FILE *to, const struct nm_lineup *lineup)
{
    if (lineup->n_plugins) fputs("plugins:\n", to);
    for (uint32_t i = 0; i < lineup->n_plugins; i++) {
        fputs("  - '", to);
        for (const char *c = lineup->plugins[i]; *c; c++) fprintf(to, "%s%c", *c == '\'' ? "'" : "", *c);
        fputs("'\n", to);
    }
}

void nm_lineup_print(const struct nm_lineup *lineup, const bool *chosen, FILE *to)
{
    if (lineup->robot) fprintf(to, "robot: %s\n", strchr(lineup->robot, '/') ? lineup->robot_folder : lineup->robot);
    print_plugins(to, lineup);
    fputs("cycles:\n", to);
    for (uint32_t c = 0; c < lineup->n_cycles; c++)
        if (has_any(&lineup->cycles[c], chosen)) print_cycle(to, lineup, c, chosen);
    const char *before = "remote:\n";
    for (uint32_t t = 0; t < lineup->n_topics; t++) {
        const struct nm_topic *topic = &lineup->topics[t];
        if (!is_remote(lineup, topic, chosen)) continue;
        fprintf(to, "%s  - ", before);
        print_name(to, topic->name, topic->role);
        fputc('\n', to);
        before = "";
    }
    /* a trigger that nobody reads is remote, too */
    for (uint32_t c = 0; c < lineup->n_cycles; c++) {
        uint32_t t = lineup->cycles[c].trigger;
        if (t == NM_NONE || !has_any(&lineup->cycles[c], chosen)) continue;
        if (is_made(&lineup->topics[t], chosen) || is_remote(lineup, &lineup->topics[t], chosen)) continue;
        fprintf(to, "%s  - %s\n", before, lineup->topics[t].name);
        before = "";
    }
}
