#include "cmd/ros_topics.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/asking.h"
#include "cmd/console.h"
#include "codec/cdr.h"
#include "codec/text.h"
#include "edge/dds/look.h"

static const double discovery = 1.0; /* s; until then everybody nearby has answered */
static const double look_every = 0.01;

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
        if (!told && waited >= discovery) fprintf(stderr, "nobody writes %s yet\n", topic->name);
        told |= waited >= discovery;
        waited += look_every;
        if (!pause_for(look_every)) return false;
    }
    if (found < 0) complain(&err);
    return found == 0;
}

int ros_list(const struct ros_flags *flags, const char *pattern)
{
    enum { MOST = 2048 };
    struct nm_look *look = open_look(flags);
    struct nm_look_topic *topics = calloc(MOST, sizeof *topics);
    struct table table;
    if (!topics) abort();
    if (!look || !pause_for(discovery)) {
        nm_look_free(look);
        free(topics);
        return EXIT_FAILED;
    }
    uint32_t n = nm_look_topics(look, false, topics, MOST);
    table_begin(&table, (const char *const[]){"topic", "type", ">writers", ">readers", NULL});
    for (uint32_t i = 0; i < n; i++)
        if (nm_matches(topics[i].name, pattern))
            table_row(&table, "%s\t%s\t%u\t%u", topics[i].name,
                      topics[i].type ? topics[i].type->name : topics[i].dds_type, topics[i].writers, topics[i].readers);
    table_print(&table, stdout);
    nm_look_free(look);
    free(topics);
    return EXIT_OK;
}

/* ---- echo ---- */

static void print_sample(const struct nm_look_topic *topic, void *message, const struct nm_raw *sample)
{
    struct nm_err err = {0};
    struct nm_text_out text = {.grows = true};
    if (!topic->type) {
        printf("# %zu bytes of %s, a type that this program does not have\n---\n", sample->size, topic->dds_type);
    } else if (nm_cdr_decode(topic->type, message, sample->bytes, sample->size, NULL, &err)) {
        printf("# %zu bytes that are no %s: %s---\n", sample->size, topic->type->name, err.text);
    } else {
        nm_print(&text, topic->type, message, NM_TEXT_YAML);
        printf("%s---\n", text.text);
        nm_reset(topic->type, message); /* its blobs lie in the sample */
    }
    free(text.text);
}

int ros_echo(const struct ros_flags *flags, const char *name, int64_t count)
{
    struct nm_look_topic topic;
    struct nm_raw samples[NM_RAW_MOST];
    struct nm_look *look = open_look(flags);
    bool on = look && wait_for_topic(look, name, &topic);
    void *message = on && topic.type ? calloc(1, topic.type->size) : NULL;
    bool ok = on;
    for (int64_t seen = 0; on && (!count || seen < count);) {
        int n = nm_look_take(look, samples, NM_RAW_MOST);
        for (int i = 0; i < n && (!count || seen < count); i++) {
            if (!samples[i].sample) continue;
            print_sample(&topic, message, &samples[i]);
            seen++;
        }
        if (n > 0) nm_raw_free(samples, n);
        if (fflush(stdout)) break; /* the reader of our output is gone */
        on = n == NM_RAW_MOST || pause_for(look_every);
    }
    free(message);
    nm_look_free(look);
    return ok ? EXIT_OK : EXIT_FAILED;
}

/* ---- hz, bw ---- */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

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
    } while (now_s() < until);
    return true;
}

int ros_rate(const struct ros_flags *flags, const char *name, double every, int64_t count, bool in_bytes)
{
    struct nm_look_topic topic;
    struct nm_look *look = open_look(flags);
    bool on = look && wait_for_topic(look, name, &topic), ok = on;
    uint64_t messages = 0, bytes = 0;
    double start = now_s();
    for (int64_t i = 0; on && (!count || i < count); i++) {
        on = count_until(look, start + every, &messages, &bytes);
        double took = now_s() - start;
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
        NUMBER("every", &every, 0.1, 3600, "S", "seconds over which it is measured"),
        WHOLE("count", &count, 0, 1e9, "N", "ends after N figures; 0: at Ctrl-C", .letter = 'n'),
        ROS_FLAGS(&ros),
        {0},
    };
    const struct usage usage = {
        "nutmeg topic bw", "TOPIC", "Tells how many bytes a ROS 2 topic brings (with or without --dds).", flags, 1, 1};
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
        NUMBER("rate", &rate, 0.01, 1000, "HZ", "messages a second"),
        WHOLE("count", &count, 0, 1e9, "N", "ends after N messages; 0: at Ctrl-C", .letter = 'n'),
        ROS_FLAGS(&ros),
        {0},
    };
    const struct usage usage = {"nutmeg topic pub",
                                "TOPIC TYPE YAML",
                                "Publishes a message on a ROS 2 topic (with or without --dds): nutmeg topic pub /goal\n"
                                "std_msgs/Float64 '{data: 1.5}'. Members that are not named have their defaults.",
                                flags,
                                3,
                                3};
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    const struct nm_type *type = nm_type_find(&nm_all_types, argv[2]);
    if (!type) return usage_wrong(&usage, "there is no type '%s'; nutmeg msg list shows all", argv[2]);
    void *message = calloc(1, type->size);
    if (!message) abort();
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
