/* Looks at one place after the other and rests there, so that a calibration gets sharp images from many poses of the
 * head. While somebody clicks on what the robot sees, the head waits. */
#include "core/nm.h"
#include "geometry_msgs/PointStamped.h"
#include "nutmeg_msgs/HeadCommand.h"

enum { PANS = 4, TILTS = 3 };

struct look_around {
    struct nm *nm;
    /* in */
    nm_queue(PointStamped) clicks;
    /* out */
    HeadCommand *head;
    /* params */
    double start, rest, patience, pans[PANS], tilts[TILTS];
    /* state */
    uint32_t poses; /* so far */
    int64_t until;  /* ns: then the next one */
};

static void step(struct look_around *f)
{
    if (nm_seconds(f->nm->now) < f->start) return;
    int64_t patient = f->nm->now + nm_ns(f->patience);
    if (f->clicks.n && f->poses && f->until < patient) f->until = patient;
    if (f->nm->now >= f->until) f->poses++, f->until = f->nm->now + nm_ns(f->rest);
    uint32_t at = (f->poses - 1) % (PANS * TILTS), row = at / PANS, column = at % PANS;
    f->head->mode = HeadCommand_ANGLES;
    f->head->pan = (float)f->pans[row % 2 ? PANS - 1 - column : column]; /* there and back, the short way */
    f->head->tilt = (float)f->tilts[row];
    nm_put(f->nm, f->head);
}

#define SELF struct look_around
static const struct nm_port ports[] = {
    NM_QUEUE(clicks, PointStamped, "clicked_point", 8),
    NM_OUT(head, HeadCommand, "head_command"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(start, 12, 0, 600, "s", "until then the robot stands and its inertial sensor settles"),
    NM_PARAM(rest, 1.2, 0.2, 60, "s", "time for each pose of the head, on the way and at rest"),
    NM_PARAM(patience, 6, 0, 60, "s", "time that the head waits after a click for another one"),
    NM_PARAM_LIST(pans, "-0.9 -0.3 0.3 0.9", -3.2, 3.2, "rad", "of the head; left is positive"),
    NM_PARAM_LIST(tilts, "0.15 0.4 0.65", -1.6, 1.6, "rad", "of the head; down is positive"),
    {0},
};
NM_MODULE(look_around, "Looks at one place after the other, for a calibration of the camera.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
