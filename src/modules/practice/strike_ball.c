/* Walks to the ball by what the robot itself sees of it, and kicks it in passing, with a step of its left foot. The
 * ball must lie where that foot kicks best when the step begins: the way to there is divided into whole double steps,
 * and the speed is chosen so that they fit. With `go` off it only looks at the ball. */
#include "base/clamp.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "geometry_msgs/PointStamped.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "nutmeg_msgs/WalkState.h"

static const double NOD = 0.75, NODS = 0.35, NOD_TIME = 2;  /* rad, rad, s: the head looks for the ball up and down */
static const double LOST = 0.4;                             /* s, without a sighting it looks for the ball again    */
static const double NEAR = 0.5;                             /* m, to the place of the kick: from here on it aims    */
static const double SLOWEST = 0.5, FASTEST = 1.3;           /* of the speed, to make the steps fit                 */
static const double USUAL = 0.5, LONGEST = 1.5, PACE = 0.3; /* s, s, 1: a double step; of the last one in the mean  */
static const double SIDEWAYS = 1.5;                         /* 1/s, of what the ball lies beside the line of the foot */
static const double SOON = 0.6;                             /* of a double step: the kick is asked for              */

struct strike_ball {
    struct nm *nm;
    /* in */
    const BallModel *ball;
    const WalkState *walk;
    const PointStamped *place; /* of the ball before the left foot, told while the robot stands */
    /* out */
    WalkCommand *command;
    HeadCommand *head;
    /* params */
    bool go;
    double speed, side, turn, strength, ahead;
    /* state */
    bool place_known, asked, kicked;
    double best_x, best_y; /* m   */
    double step;           /* s, a double one, on average */
    uint32_t steps;        /* of the walk when it was looked at last */
    int64_t stepped;       /* ns, when the foot changed last */
};

static void time_steps(struct strike_ball *f)
{
    if (f->walk->steps == f->steps) return;
    double took = 2 * nm_seconds(f->nm->now - f->stepped);
    if (f->stepped && took < LONGEST) f->step += PACE * (took - f->step);
    f->steps = f->walk->steps;
    f->stepped = f->nm->now;
}

/* Straight on, as fast as makes the way a whole number of double steps, sideways to the line of the foot. */
static void approach(struct strike_ball *f)
{
    double x = f->ball->position.x - f->best_x, y = f->ball->position.y - f->best_y;
    double stride = f->speed * f->step, n = fmax(rint(x / stride), 1), speed = f->speed;
    if (x < NEAR) speed = nm_clamp(x / (n * f->step), SLOWEST * f->speed, FASTEST * f->speed);
    f->command->velocity.linear.x = speed;
    f->command->velocity.linear.y = nm_within(SIDEWAYS * y, f->side);
    f->command->velocity.angular.z = x > NEAR ? nm_within(atan2(f->ball->position.y, f->ball->position.x), f->turn) : 0;
    /* the left foot stands, and lifts with the kick at the next change */
    double rest = nm_seconds(f->nm->now - f->stepped), left = nm_clamp(0.5 * f->step - rest, 0, 1) * speed;
    if (f->walk->left_support && x - left < SOON * speed * f->step && !f->asked) {
        f->command->kick = WalkCommand_KICK_FORWARD;
        f->command->kick_left = true;
        f->command->kick_strength = (float)f->strength;
        f->asked = true;
    }
}

static void step(struct strike_ball *f)
{
    bool seen = nm_age(f->nm, f->ball) < nm_ns(1) && f->ball->valid;
    if (nm_fresh(f->nm, f->place) && !f->asked) {
        f->place_known = true;
        f->best_x = f->place->point.x + f->ahead;
        f->best_y = f->place->point.y;
    }
    bool now = seen && f->nm->now - nm_stamp_ns(f->ball->last_seen) < nm_ns(LOST);
    f->head->mode = now && !f->kicked ? HeadCommand_LOOK_AT : HeadCommand_ANGLES;
    f->head->target = f->ball->position;
    f->head->tilt = (float)(NOD + NODS * sin(2 * M_PI * nm_seconds(f->nm->now) / NOD_TIME));
    nm_put(f->nm, f->head);
    time_steps(f);
    f->kicked |= f->walk->state == WalkState_KICKING;
    if (!f->go || !f->place_known || (!seen && !f->kicked)) return;
    f->command->mode = WalkCommand_VELOCITY;
    if (f->kicked)
        f->command->velocity.linear.x = f->speed;
    else
        approach(f);
    nm_put(f->nm, f->command);
}

static int init(struct strike_ball *f)
{
    f->step = USUAL;
    return 0;
}

#define SELF struct strike_ball
static const struct nm_port ports[] = {
    NM_IN(ball, BallModel, "ball"),
    NM_IN(walk, WalkState, "walk_state"),
    NM_IN(place, PointStamped, "kick_place"),
    NM_OUT(command, WalkCommand, "walk_command"),
    NM_OUT(head, HeadCommand, "head_command"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM_SWITCH(go, true, "walks; otherwise it only looks at the ball"),
    NM_PARAM(speed, 0.25, 0.05, 1, "m/s", "of the approach, and after the kick"),
    NM_PARAM(side, 0.1, 0, 0.5, "m/s", "fastest to the side, to the line of the foot"),
    NM_PARAM(turn, 0.5, 0, 2, "rad/s", "fastest turn towards the ball while it is far"),
    NM_PARAM(strength, 1, 0.1, 1, "1", "of the kick"),
    NM_PARAM(ahead, 0, -0.1, 0.1, "m", "the ball lies so much farther than a standing kick likes it"),
    {0},
};
NM_MODULE(strike_ball, "Walks to the ball it sees and kicks it in passing.", NM_PORTS(ports), NM_PARAMS(params),
          .init = NM_CALL(init), .step = NM_CALL(step))
