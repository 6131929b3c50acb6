/* nutmeg topic: what a running line-up publishes, and with --dds what a ROS 2 world does (ros_topics.c). */
#include <math.h>
#include <string.h>

#include "cmd/asking.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/ros_topics.h"
#include "core/registry.h"

/* ---- list ---- */

static void join(const struct nm_yaml *list, char *to, size_t size)
{
    size_t used = 0;
    *to = '\0';
    nm_yaml_each(item, list) if (used < size) used +=
        (size_t)snprintf(to + used, size - used, "%s%s", used ? " " : "", item->text);
}

static void list_row(struct table *table, const struct nm_yaml *topic, int64_t now)
{
    char makers[256], readers[256], outside[96] = "", age[32] = "never", rate[32] = "";
    const char *by = nm_reply_text(topic, "newest_by"); /* an edge, where no module makes it */
    if (nm_reply_bool(topic, "remote")) snprintf(outside, sizeof outside, "(outside%s%s)", *by ? ": " : "", by);
    if (nm_reply_bool(topic, "builtin")) snprintf(outside, sizeof outside, "(runtime)");
    if (nm_reply_whole(topic, "seq")) duration_text(age, (double)(now - nm_reply_whole(topic, "time")));
    if (isfinite(nm_reply_number(topic, "rate"))) snprintf(rate, sizeof rate, "%.1f", nm_reply_number(topic, "rate"));
    join(nm_yaml_get(topic, "makers"), makers, sizeof makers);
    join(nm_yaml_get(topic, "readers"), readers, sizeof readers);
    table_row(table, "%s\t%s\t%lld\t%s\t%s\t%lld\t%s\t%s", nm_reply_text(topic, "name"), nm_reply_text(topic, "type"),
              (long long)nm_reply_whole(topic, "seq"), rate, age, (long long)nm_reply_whole(topic, "lost"),
              *makers ? makers : outside, readers);
}

static int topic_list(int argc, char **argv)
{
    const char *to = NULL;
    struct ros_flags ros = {.domain = -1};
    const struct flag flags[] = {TO_FLAG(&to), ROS_FLAGS(&ros), {0}};
    const struct usage usage =
        USAGE("nutmeg topic list", "[PATTERN]", flags,
              "Lists the topics of a running line-up whose name contains PATTERN: number and rate of messages,\n"
              "age of the newest one, and which modules write and read them.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (ros.dds) return ros_list_kind(&ros, ROS_TOPICS, n ? argv[1] : NULL);
    struct asking asking;
    if ((code = asking_begin(&asking, to))) return code;
    const struct nm_yaml *answer = ask(&asking, &(struct nm_request){.op = NM_CONTROL_TOPICS});
    struct table table;
    table_begin(&table, (const char *const[]){"topic", "type", ">messages", ">Hz", ">age", ">lost", "made by",
                                              "read by", NULL});
    nm_yaml_each(topic, nm_yaml_get(answer, "topics")) if (nm_matches(nm_reply_text(topic, "name"), n ? argv[1] : NULL))
        list_row(&table, topic, nm_reply_whole(answer, "now"));
    if (answer) table_print(&table, stdout);
    return asking_end(&asking);
}

/* ---- echo ---- */

/* The messages as they come; false when the player went away. */
static bool print_stream(struct asking *asking, int64_t count)
{
    struct nm_err err = {0};
    for (int64_t seen = 0; (!count || seen < count) && pause_for(0);) {
        struct nm_arena arena = {0};
        const struct nm_yaml *message = nm_link_next(asking->link, &arena, 1000, &err);
        if (message) {
            int64_t left_out = nm_reply_whole(message, "left_out");
            if (left_out) printf("# %lld messages left out: too fast for this terminal\n", (long long)left_out);
            printf("# %lld at %.3f s\n%s---\n", (long long)nm_reply_whole(message, "seq"),
                   (double)nm_reply_whole(message, "time") * 1e-9, nm_reply_text(message, "text"));
            if (fflush(stdout)) count = seen + 1; /* the reader of our output is gone */
            seen++;
        }
        nm_arena_free(&arena);
        if (err.n) break;
    }
    if (err.n) complain(&err);
    return !err.n;
}

static int topic_echo(int argc, char **argv)
{
    const char *to = NULL;
    int64_t count = 0;
    struct ros_flags ros = {.domain = -1};
    const struct flag flags[] = {
        WHOLE("count", &count, 0, 1e9, "N", "ends after N messages; 0: runs until Ctrl-C", .letter = 'n'),
        TO_FLAG(&to),
        ROS_FLAGS(&ros),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg topic echo", "TOPIC", flags,
              "Prints the messages of a topic as they come: every message of a queue; of a value the newest,\n"
              "at most 50 per second. The topic 'show' carries what modules show while somebody reads it.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (ros.dds) return ros_echo(&ros, argv[1], count);
    struct asking asking;
    if ((code = asking_begin(&asking, to))) return code;
    if (ask(&asking, &(struct nm_request){.op = NM_CONTROL_ECHO, .topic = argv[1]}) && !print_stream(&asking, count))
        asking.code = EXIT_FAILED;
    return asking_end(&asking);
}

/* ---- hz ---- */

/* Messages made so far and the player's time, of one topic; the exit code after a complaint, otherwise EXIT_OK. */
static int count_messages(const char *to, const char *name, int64_t *seq, int64_t *now)
{
    struct asking asking;
    const char *names[1024];
    uint32_t n = 0;
    bool found = false;
    if (asking_begin(&asking, to)) return asking.code;
    const struct nm_yaml *answer = ask(&asking, &(struct nm_request){.op = NM_CONTROL_TOPICS});
    nm_yaml_each(topic, nm_yaml_get(answer, "topics"))
    {
        if (n < 1024) names[n++] = nm_reply_text(topic, "name");
        if (strcmp(nm_reply_text(topic, "name"), name + (*name == '/'))) continue;
        *seq = nm_reply_whole(topic, "seq");
        *now = nm_reply_whole(answer, "now");
        found = true;
    }
    if (answer && !found) {
        fprintf(stderr, "there is no topic '%s'%s\n", name, nm_hint(name, names, n).text);
        asking.code = EXIT_USAGE;
    }
    return asking_end(&asking);
}

static int topic_hz(int argc, char **argv)
{
    const char *to = NULL;
    double every = 1;
    int64_t count = 0;
    struct ros_flags ros = {.domain = -1};
    const struct flag flags[] = {
        NUMBER("every", &every, 0.1, 3600, "S", "seconds per measurement"),
        WHOLE("count", &count, 0, 1e9, "N", "ends after N measurements; 0: runs until Ctrl-C", .letter = 'n'),
        TO_FLAG(&to),
        ROS_FLAGS(&ros),
        {0},
    };
    const struct usage usage = USAGE("nutmeg topic hz", "TOPIC", flags, "Measures how often a topic is published.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (ros.dds) return ros_rate(&ros, argv[1], every, count, false);
    int64_t seq, before, now, then;
    if ((code = count_messages(to, argv[1], &before, &then))) return code;
    for (int64_t i = 0; (!count || i < count) && pause_for(every); i++) {
        if ((code = count_messages(to, argv[1], &seq, &now))) return code;
        printf("%.2f Hz\n", now > then ? (double)(seq - before) / ((double)(now - then) * 1e-9) : 0);
        fflush(stdout);
        before = seq;
        then = now;
    }
    return EXIT_OK;
}

int cmd_topic(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"list", "lists the topics", topic_list},
        {"echo", "prints the messages of one", topic_echo},
        {"hz", "measures how often one is published", topic_hz},
        {"info", "lists the nodes that write and read a ROS 2 topic", ros_info},
        {"bw", "measures how many bytes per second a ROS 2 topic carries", ros_bw},
        {"pub", "publishes a message on a ROS 2 topic", ros_pub},
        {0},
    };
    return verbs_run("nutmeg topic", "Topics of a running line-up or of ROS 2.", verbs, argc, argv);
}
