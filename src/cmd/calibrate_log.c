/* A drive from a log: the odometry of the body's model and the changes of the support foot. */
#include <stdlib.h>
#include <string.h>

#include "cmd/calibrate.h"
#include "codec/cdr.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/SupportState.h"
#include "record/bag.h"

static bool is(struct nm_bytes topic, const char *name)
{
    if (topic.n && *(const char *)topic.at == '/') topic.at = (const uint8_t *)topic.at + 1, topic.n--;
    return topic.n == strlen(name) && !memcmp(topic.at, name, topic.n);
}

/* Messages that are none of ours in form are left out, as in a live robot. */
static void take(struct drive_steps *d, struct nm_steps *steps, const Odometry *told, uint32_t changes)
{
    const Quaternion *q = &told->pose.pose.orientation;
    struct pose2 at = {told->pose.pose.position.x, told->pose.pose.position.y,
                       quat_yaw((struct quat){q->w, q->x, q->y, q->z})};
    if (!isfinite(at.x + at.y + at.theta)) return;
    bool ended = nm_steps_take(steps, at, changes, &d->rest);
    if (ended && d->n < DRIVE_STEPS) d->steps[d->n++] = d->rest;
    if (ended) d->rest = (struct pose2){0};
}

int calibrate_log(const char *path, struct drive_steps *d, struct nm_err *err)
{
    struct bag bag;
    struct nm_steps steps = {0};
    struct nm_mcap_message message;
    uint32_t part, channel, changes = 0;
    memset(d, 0, sizeof *d);
    if (bag_open(&bag, path, NULL, err)) return -1;
    Odometry *told = calloc(1, sizeof *told);
    SupportState *support = calloc(1, sizeof *support);
    if (!told || !support) abort();
    struct bag_choice choice = {.n_topics = 2, .topics = (const char *const[]){"odometry_raw", "support_state"}};
    struct nm_mcap_query_options time = {0};
    bool good = !bag_choose(&bag, &choice, &time, err);
    struct bag_reader *reader = good ? bag_reader_new(&bag, &time) : NULL;
    while (reader && bag_next(reader, &message, &part, &channel)) {
        struct nm_bytes topic = bag.parts[part].contents.channels[channel].topic, data = message.data;
        if (is(topic, "support_state") && !nm_cdr_decode(&SupportState_type, support, data.at, data.n, NULL, NULL))
            changes = support->changes;
        if (is(topic, "odometry_raw") && !nm_cdr_decode(&Odometry_type, told, data.at, data.n, NULL, NULL))
            take(d, &steps, told, changes);
    }
    if (reader) bag_reader_free(reader);
    free(told);
    free(support);
    bag_close(&bag);
    if (!good) return -1;
    if (d->n == DRIVE_STEPS) return nm_fail(err, "%s: the drive has fewer than %d steps", path, DRIVE_STEPS);
    return d->n ? 0 : nm_fail(err, "%s: the topics odometry_raw and support_state hold no steps", path);
}
