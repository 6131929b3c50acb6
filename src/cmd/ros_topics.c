#include "cmd/ros_topics.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cmd/asking.h"
#include "cmd/console.h"
#include "codec/cdr_walk.h"
#include "codec/text.h"
#include "edge/dds/dds_look.h"

static const double discovery = 1.0; /* s; until then everybody nearby has answered */
static const double look_every = 0.01;
static const double describe_patience = 5; /* s, for a node to describe its type */

static struct nm_look *open_look(const struct ros_flags *flags)
{
    struct nm_err err = {0};
    struct nm_look *look = nm_look_new((int)flags->domain, flags->network, &err);
    if (!look) complain(&err);
    return look;
}

/* Until somebody writes the topic; false after a signal or a complaint. */
static bool wait_for_topic(struct nm_look *look, const char *name, struct nm_look_topic *topic)
{
    struct nm_err err = {0};
    bool told = false;
    double waited = 0;
    int found;
    while ((found = nm_look_listen(look, name, topic, &err)) == 1) {
        if (!told && waited >= discovery) fprintf(stderr, "no node writes %s yet\n", topic->name);
        told |= waited >= discovery;
        waited += look_every;
        if (!pause_for(look_every)) return false;
    }
    if (found < 0) complain(&err);
    return found == 0;
}

int ros_list_kind(const struct ros_flags *flags, enum ros_kind kind, const char *pattern)
{
    enum { MOST = 4096 };
    static const char *const columns[][5] = {[ROS_TOPICS] = {"topic", "type", ">writers", ">readers", NULL},
                                             [ROS_SERVICES] = {"service", "type", ">clients", ">servers", NULL},
                                             [ROS_ALL_SERVICES] = {"service", "type", ">clients", ">servers", NULL},
                                             [ROS_ACTIONS] = {"action", "type", ">servers", ">clients", NULL}};
    struct nm_look *look = open_look(flags);
    struct nm_look_topic *found = nm_calloc(MOST, sizeof *found);
    struct table table;
    bool ok = look && pause_for(discovery);
    if (ok) {
        uint32_t n = kind == ROS_TOPICS    ? nm_look_topics(look, false, found, MOST)
                     : kind == ROS_ACTIONS ? nm_look_actions(look, found, MOST)
                                           : nm_look_services(look, kind == ROS_ALL_SERVICES, found, MOST);
        table_begin(&table, columns[kind]);
        for (uint32_t i = 0; i < n; i++)
            if (nm_matches(found[i].name, pattern))
                table_row(&table, "%s\t%s\t%u\t%u", found[i].name, found[i].ros_type, found[i].writers,
                          found[i].readers);
        table_print(&table, stdout);
    }
    nm_look_free(look);
    free(found);
    return ok ? EXIT_OK : EXIT_FAILED;
}

/* ---- echo ---- */

/* By the type's definition, so that a message may be longer than any struct of ours. */
static void print_sample(const struct nm_look_topic *topic, const struct nm_def *def, const struct nm_raw *sample)
{
    struct nm_err err = {0};
    struct nm_text_out text = {.grows = true};
    if (!def)
        printf("# %zu bytes of %s\n---\n", sample->size, topic->ros_type);
    else if (nm_walk_print(&text, def, sample->bytes, sample->size, NM_TEXT_YAML, &err))
        printf("# %zu bytes that are not %s: %s---\n", sample->size, topic->ros_type, err.text);
    else
        printf("%s---\n", text.text);
    free(text.text);
}

/* The definition of the topic's type; NULL after a complaint. */
static const struct nm_def *find_definition(struct nm_look *look, const struct nm_look_topic *topic,
                                            struct nm_arena *arena)
{
    struct nm_err err = {0};
    struct nm_defs *set = nm_take_n(arena, struct nm_defs, 1);
    const struct nm_def *def = NULL;
    const char *name = topic->type ? topic->type->name : topic->ros_type;
    const char *schema = nm_look_schema(look, topic, arena, describe_patience, &err);
    set->arena = arena;
    if (schema && !nm_defs_add_merged(set, topic->name, name, schema, strlen(schema), &err) && !nm_defs_link(set, &err))
        def = nm_defs_find(set, name);
    if (err.n) complain(&err);
    return def;
}

int ros_echo(const struct ros_flags *flags, const char *name, int64_t count)
{
    struct nm_look_topic topic;
    struct nm_raw samples[NM_RAW_MOST];
    struct nm_look *look = open_look(flags);
    bool on = look && wait_for_topic(look, name, &topic);
    struct nm_arena arena = {0};
    const struct nm_def *def = on ? find_definition(look, &topic, &arena) : NULL;
    bool ok = on;
    for (int64_t seen = 0; on && (!count || seen < count);) {
        int n = nm_look_take(look, samples, NM_RAW_MOST);
        for (int i = 0; i < n && (!count || seen < count); i++) {
            if (!samples[i].sample) continue;
            print_sample(&topic, def, &samples[i]);
            seen++;
        }
        if (n > 0) nm_raw_free(samples, n);
        if (fflush(stdout)) break; /* the reader of our output is gone */
        on = n == NM_RAW_MOST || pause_for(look_every);
    }
    nm_arena_free(&arena);
    nm_look_free(look);
    return ok ? EXIT_OK : EXIT_FAILED;
}

/* ---- info ---- */

static const char *for_ever(char to[32], int64_t ns)
{
    if (ns == INT64_MAX) return "";
    return duration_text(to, (double)ns);
}

static void info_row(struct table *table, struct nm_look *look, const struct nm_look_offer *offer)
{
    char node[2 * NM_ROS_NAME] = "(not a node)", type[NM_ROS_NAME], deadline[32], lifespan[32];
    nm_look_owner(look, offer->gid, node, sizeof node);
    nm_ros_type(offer->dds_type, type, sizeof type);
    table_row(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", offer->writes ? "writes" : "reads", node, type,
              offer->reliable ? "reliable" : "best effort", offer->latched ? "transient local" : "volatile",
              for_ever(deadline, offer->deadline), for_ever(lifespan, offer->lifespan),
              *offer->hash ? offer->hash : "(no hash)");
}

int ros_info(int argc, char **argv)
{
    enum { MOST = 256 };
    struct ros_flags ros = {.domain = -1};
    const struct flag flags[] = {ROS_FLAGS(&ros), {0}};
    const struct usage usage =
        USAGE("nutmeg topic info", "TOPIC", flags,
              "Lists the nodes that write and read a ROS 2 topic, with type, QoS and type hash. The exit code is\n"
              "1 if there are none.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    struct nm_look *look = open_look(&ros);
    struct nm_look_offer *offers = nm_calloc(MOST, sizeof *offers);
    struct table table;
    uint32_t found = 0;
    if (look && nm_look_graph(look, &err)) complain(&err);
    if (look && !err.n && pause_for(discovery)) {
        found = nm_look_offers(look, argv[1], offers, MOST);
        table_begin(&table, (const char *const[]){"", "node", "type", "reliability", "durability", "deadline",
                                                  "lifespan", "hash", NULL});
        for (uint32_t i = 0; i < found; i++) info_row(&table, look, &offers[i]);
        if (found)
            table_print(&table, stdout);
        else
            fprintf(stderr, "no node writes or reads %s\n", argv[1]);
    }
    free(offers);
    nm_look_free(look);
    return found ? EXIT_OK : EXIT_FAILED;
}

/* ---- hz, bw ---- */

/* Counts what comes until the time; false after a signal. */
static bool count_until(struct nm_look *look, double until, uint64_t *messages, uint64_t *bytes)
{
    struct nm_raw samples[NM_RAW_MOST];
    do {
        int n = nm_look_take(look, samples, NM_RAW_MOST);
        for (int i = 0; i < n; i++) {
            *messages += samples[i].sample != NULL;
            *bytes += samples[i].size;
        }
        if (n > 0) nm_raw_free(samples, n);
        if (n != NM_RAW_MOST && !pause_for(look_every)) return false;
    } while (nm_clock_seconds() < until);
    return true;
}

int ros_rate(const struct ros_flags *flags, const char *name, double every, int64_t count, bool in_bytes)
{
    struct nm_look_topic topic;
    struct nm_look *look = open_look(flags);
    bool on = look && wait_for_topic(look, name, &topic), ok = on;
    uint64_t messages = 0, bytes = 0;
    double start = nm_clock_seconds();
    for (int64_t i = 0; on && (!count || i < count); i++) {
        on = count_until(look, start + every, &messages, &bytes);
        double took = nm_clock_seconds() - start;
        if (!on) break;
        if (in_bytes)
            printf("%.1f kB/s, %.2f Hz\n", (double)bytes * 1e-3 / took, (double)messages / took);
        else
            printf("%.2f Hz\n", (double)messages / took);
        if (fflush(stdout)) break;
        start += took;
        messages = bytes = 0;
    }
    nm_look_free(look);
    return ok ? EXIT_OK : EXIT_FAILED;
}

int ros_bw(int argc, char **argv)
{
    struct ros_flags ros = {.domain = -1};
    double every = 1;
    int64_t count = 0;
    const struct flag flags[] = {
        NUMBER("every", &every, 0.1, 3600, "S", "seconds per measurement"),
        WHOLE("count", &count, 0, 1e9, "N", "ends after N measurements; 0: runs until Ctrl-C", .letter = 'n'),
        ROS_FLAGS(&ros),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg topic bw", "TOPIC", flags, "Measures how many bytes per second a ROS 2 topic carries.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    return ros_rate(&ros, argv[1], every, count, true);
}

/* ---- pub ---- */

static int publish(struct nm_look *look, const void *message, double rate, int64_t count)
{
    struct nm_err err = {0};
    bool on = true;
    for (int i = 0; i < 100 && on && !nm_look_readers(look); i++) on = pause_for(look_every);
    for (int64_t i = 0; on && !err.n && (!count || i < count); i++) {
        nm_look_write(look, message, &err);
        on = pause_for(1 / rate); /* also after the last: it has to leave */
    }
    if (err.n) complain(&err);
    return err.n ? EXIT_FAILED : EXIT_OK;
}

int ros_pub(int argc, char **argv)
{
    struct ros_flags ros = {.domain = -1};
    double rate = 1;
    int64_t count = 0;
    const struct flag flags[] = {
        NUMBER("rate", &rate, 0.01, 1000, "HZ", "messages per second"),
        WHOLE("count", &count, 0, 1e9, "N", "ends after N messages; 0: runs until Ctrl-C", .letter = 'n'),
        ROS_FLAGS(&ros),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg topic pub", "TOPIC TYPE YAML", flags,
              "Publishes a message on a ROS 2 topic. Members that are not named have their defaults.\n"
              "    nutmeg topic pub /goal std_msgs/Float64 '{data: 1.5}'");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    const struct nm_type *type = nm_type_find(&nm_all_types, argv[2]);
    if (!type) return usage_wrong(&usage, "there is no type '%s'; nutmeg msg list shows all", argv[2]);
    void *message = nm_calloc(1, type->size);
    struct nm_look *look = NULL;
    code = EXIT_FAILED;
    if (nm_parse_text(type, message, "message", argv[3], strlen(argv[3]), NULL, &err)) {
        complain(&err);
        code = EXIT_USAGE;
    } else if ((look = open_look(&ros))) {
        if (nm_look_write_to(look, argv[1], type, &err))
            complain(&err);
        else
            code = publish(look, message, rate, count);
    }
    nm_look_free(look);
    free(message);
    return code;
}
