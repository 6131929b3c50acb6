#include "record/bag_record.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

struct listening {
    const struct bag_record *how;
    uint32_t topics;
};

static bool wanted(void *user, const char *topic)
{
    const struct bag_record *how = ((struct listening *)user)->how;
    for (uint32_t i = 0; i < how->n_topics; i++)
        if (!strcmp(topic, how->topics[i]) || !strcmp(topic + 1, how->topics[i]) ||
            !fnmatch(how->topics[i], topic, 0) || !fnmatch(how->topics[i], topic + 1, 0))
            return true;
    return !how->n_topics;
}

static void found(void *user, const char *topic, const char *why)
{
    struct listening *l = user;
    l->topics++;
    if (l->how->found) l->how->found(l->how->user, topic, why);
}

static uint64_t listen(struct nm_wire_log *log, const struct bag_record *how)
{
    const struct timespec nap = {.tv_nsec = 5000000};
    double began = nm_clock_seconds();
    uint64_t messages = 0;
    while (!how->stopping() && (how->seconds <= 0 || nm_clock_seconds() - began < how->seconds)) {
        messages += nm_wire_log_poll(log);
        nanosleep(&nap, NULL);
    }
    return messages;
}

int bag_record(const struct bag_record *how, struct bag_recorded *made, struct nm_err *err)
{
    struct listening l = {.how = how};
    memset(made, 0, sizeof *made);
    struct tape *tape = tape_new(&(struct tape_options){.path = how->path,
                                                        .packing = how->packing,
                                                        .rotate = how->rotate,
                                                        .floor = how->floor,
                                                        .flush = 1000000000,
                                                        .sync = true,
                                                        .direct = true,
                                                        .said = how->said,
                                                        .user = how->user},
                                 err);
    struct nm_wire_log_options options = {
        .domain = how->domain, .network = how->network, .wanted = wanted, .found = found, .user = &l};
    struct nm_wire_log *log = tape ? nm_wire_log_new(tape, &options, err) : NULL;
    if (log) {
        made->messages = listen(log, how);
        tape_end(tape);
        snprintf(made->room, sizeof made->room, "%s", tape_path(tape));
        made->path = made->room;
        made->bytes = tape_bytes(tape);
        made->topics = l.topics;
    }
    nm_wire_log_free(log);
    tape_free(tape);
    return log ? 0 : -1;
}
