/* A module from outside the tree, as it should be. */
#include "core/nm.h"

#include "geometry_msgs/PoseStamped.h"
#include "geometry_msgs/Twist.h"

struct left_back {
    struct nm *nm;
    const PoseStamped *ball;
    Twist *cmd_vel;
    float speed;
};
#define SELF struct left_back

static void step(struct left_back *f)
{
    f->cmd_vel->linear.x = f->speed;
    nm_put(f->nm, f->cmd_vel);
}

static const struct nm_port ports[] = {NM_IN(ball, PoseStamped, "ball"), NM_OUT(cmd_vel, Twist, "cmd_vel"), {0}};
static const struct nm_param params[] = {NM_PARAM(speed, 0.2, 0, 1, "m/s", "forward"), {0}};
NM_MODULE(left_back, "Stays behind.", NM_PORTS(ports), NM_PARAMS(params), .step = NM_CALL(step))
