/* nutmeg bag record: what a running robot, or any ROS 2 node, publishes, as a log. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/bag.h"
#include "cmd/console.h"
#include "cmd/stopping.h"
#include "edge/log/wire.h"

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct recording {
    struct texts patterns;
    uint32_t topics;
};

static bool wanted(void *user, const char *topic)
{
    const struct recording *r = user;
    for (uint32_t i = 0; i < r->patterns.n; i++)
        if (!strcmp(topic, r->patterns.at[i]) || !strcmp(topic + 1, r->patterns.at[i]) ||
            !fnmatch(r->patterns.at[i], topic, 0) || !fnmatch(r->patterns.at[i], topic + 1, 0))
            return true;
    return !r->patterns.n;
}

static void found(void *user, const char *topic, bool in)
{
    struct recording *r = user;
    r->topics += in;
    if (in)
        printf("records %s\n", topic);
    else
        fprintf(stderr, "%s%s has a type that this program does not have: it is not recorded%s\n",
                ink(stderr, INK_YELLOW), topic, ink(stderr, INK_PLAIN));
    fflush(stdout);
}

static void said(void *user, const char *sentence)
{
    (void)user;
    fprintf(stderr, "%s%s%s\n", ink(stderr, INK_YELLOW), sentence, ink(stderr, INK_PLAIN));
}

static uint64_t record(struct nm_wire_log *log, double seconds)
{
    const struct timespec nap = {.tv_nsec = 5000000};
    double began = seconds_now();
    uint64_t messages = 0;
    while (!stopping() && (seconds <= 0 || seconds_now() - began < seconds)) {
        messages += nm_wire_log_poll(log);
        nanosleep(&nap, NULL);
    }
    return messages;
}

int bag_record(int argc, char **argv)
{
    struct recording r = {0};
    const char *compress = "lz4";
    double seconds = 0, rotate = 0, free_floor = 200;
    int64_t domain = -1;
    bool network = false;
    const struct flag flags[] = {
        TEXTS("topics", &r.patterns, "PATTERN", "only these: names, or patterns with * and ?; may be repeated"),
        NUMBER("seconds", &seconds, 0, 1e9, "N", "ends after N seconds; 0: with Ctrl-C", .letter = 's'),
        WHOLE("domain", &domain, 0, 232, "N", "DDS domain; what ROS_DOMAIN_ID says unless given, else 0"),
        SWITCH("network", &network, "DDS beyond this machine"),
        BAG_PACKING_FLAG(&compress),
        NUMBER("rotate", &rotate, 0, 1e6, "MB", "a new file after so many megabytes"),
        NUMBER("floor", &free_floor, 0, 1e7, "MB", "stops while less is free on the disk; 200 unless given"),
        {0},
    };
    const struct usage usage = {
        "nutmeg bag record",
        "OUT",
        "Records the topics of a ROS 2 world, such as a robot that runs with --dds: OUT is a .mcap\n"
        "file, or a folder. nutmeg replay --lineup plays it by time; what replays bit for bit is\n"
        "recorded by nutmeg run --log.",
        flags,
        1,
        1};
    int code, n = usage_begin(&usage, argc, argv, &code);
    enum nm_mcap_packing packing;
    if (n < 0) return code;
    if (bag_packing(&usage, compress, &packing)) return EXIT_USAGE;
    struct nm_err err = {0};
    stop_by_signals();
    struct tape *tape = tape_new(&(struct tape_options){.path = argv[1],
                                                        .packing = packing,
                                                        .rotate = (uint64_t)(rotate * 1e6),
                                                        .floor = (uint64_t)(free_floor * 1e6),
                                                        .flush = 1000000000,
                                                        .sync = true,
                                                        .direct = true,
                                                        .said = said},
                                 &err);
    struct nm_wire_log_options options = {
        .domain = (int)domain, .network = network, .wanted = wanted, .found = found, .user = &r};
    struct nm_wire_log *log = tape ? nm_wire_log_new(tape, &options, &err) : NULL;
    uint64_t messages = log ? record(log, seconds) : 0;
    if (log) {
        char size[32];
        tape_end(tape);
        printf("%s: %llu messages of %u topics, %s\n", tape_path(tape), (unsigned long long)messages, r.topics,
               bytes_text(size, (double)tape_bytes(tape)));
    }
    if (err.n) complain(&err);
    nm_wire_log_free(log);
    tape_free(tape);
    return log && messages ? EXIT_OK : EXIT_FAILED;
}
