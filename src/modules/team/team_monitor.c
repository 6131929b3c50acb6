/* Hears the status packets of a team's robots (robot_status) for `nutmeg monitor`. It only listens. */
#include "core/nm.h"
#include "modules/team/status_packet.h"
#include "nutmeg_msgs/Datagram.h"
#include "nutmeg_msgs/TeamMonitor.h"

enum { ROBOTS = 11 };

struct team_monitor {
    struct nm *nm;
    /* in */
    nm_queue(Datagram) received;
    /* out */
    TeamMonitor *monitor;
    /* params */
    int32_t team; /* its number */
    /* state */
    uint32_t refused;
    int64_t heard[ROBOTS]; /* ns; 0: never */
    uint32_t count[ROBOTS];
    RobotStatus robots[ROBOTS], scratch;
};

static bool read(struct team_monitor *f, const Datagram *d)
{
    RobotStatus *s = &f->scratch;
    if (!nm_status_read(d->data.at, d->data.n, s)) return false;
    if (s->team_number != f->team || s->player_number < 1 || s->player_number > ROBOTS) return false;
    f->robots[s->player_number - 1] = *s;
    f->heard[s->player_number - 1] = f->nm->now;
    f->count[s->player_number - 1]++;
    return true;
}

static void step(struct team_monitor *f)
{
    TeamMonitor *to = f->monitor;
    for (uint32_t i = 0; i < f->received.n; i++) f->refused += !read(f, f->received.at[i]);
    for (uint32_t i = 0; i < ROBOTS; i++) {
        if (!f->count[i]) continue;
        uint32_t k = to->robots.n++;
        to->robots.at[k] = f->robots[i];
        to->age.at[to->age.n++] = (float)nm_seconds(f->nm->now - f->heard[i]);
        to->received.at[to->received.n++] = f->count[i];
    }
    to->refused = f->refused;
    nm_put(f->nm, to);
}

#define SELF struct team_monitor
static const struct nm_port ports[] = {
    NM_QUEUE(received, Datagram, "status/received", 32), NM_OUT(monitor, TeamMonitor, "team_monitor"), {0}};
static const struct nm_param params[] = {NM_PARAM(team, 1, 1, 255, "1", "number of the team"), {0}};
NM_MODULE(team_monitor, "Hears how a team's robots are, for people beside the field.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
