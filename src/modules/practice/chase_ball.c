/* The simplest striker: it turns to the ball and walks into it, and turns around to look for a ball that it has lost.
 * It is for robots in the simulator that need somebody to play with, not the behaviour of a team. */
#include "base/clamp.h"
#include "core/nm.h"
#include "geometry_msgs/Twist.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HeadCommand.h"

struct chase_ball {
    struct nm *nm;
    /* in */
    const BallModel *ball;
    /* out */
    Twist *velocity;
    HeadCommand *head;
    /* params */
    float speed, turn, patience, search;
    /* state */
    float side; /* 1: it was last to the left */
};

static void step(struct chase_ball *f)
{
    bool known = nm_age(f->nm, f->ball) < nm_ns(f->patience) && f->ball->valid;
    double x = f->ball->position.x, y = f->ball->position.y, bearing = atan2(y, x);
    if (known) {
        f->side = bearing < 0 ? -1 : 1;
        f->velocity->angular.z = nm_within(2 * bearing, f->turn);
        f->velocity->linear.x = f->speed * fmax(cos(bearing), 0); /* straight on only where it faces the ball */
        f->head->mode = HeadCommand_LOOK_AT;
        f->head->target = f->ball->position;
    } else {
        f->velocity->angular.z = f->side * f->search;
        f->head->mode = HeadCommand_ANGLES;
        f->head->tilt = 0.4f;
    }
    nm_put(f->nm, f->velocity);
    nm_put(f->nm, f->head);
}

static int init(struct chase_ball *f)
{
    f->side = 1;
    return 0;
}

#define SELF struct chase_ball
static const struct nm_port ports[] = {
    NM_IN(ball, BallModel, "ball"),
    NM_OUT(velocity, Twist, "cmd_vel"),
    NM_OUT(head, HeadCommand, "head_command"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(speed, 0.3, 0, 1, "m/s", "speed of the walk towards a ball straight ahead"),
    NM_PARAM(turn, 1, 0, 4, "rad/s", "fastest turn towards the ball"),
    NM_PARAM(patience, 1, 0.05, 10, "s", "a ball that was not seen for this time is lost"),
    NM_PARAM(search, 0.8, 0, 4, "rad/s", "turning rate while it looks for the ball"),
    {0},
};
NM_MODULE(chase_ball, "Walks to the ball and into it.", NM_PORTS(ports), NM_PARAMS(params), .init = NM_CALL(init),
          .step = NM_CALL(step))
