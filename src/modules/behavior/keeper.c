/* The reflex of the goalkeeper (HULKs 2017, section 4.8). It predicts where and when the ball will cross the goal line
 * and chooses what stops it: a jump to one side, sitting down, or nothing. The keeper stands on its line and looks into
 * the field, so the line is its own y axis. */
#include "base/rolling.h"
#include "core/nm.h"
#include "nutmeg_msgs/BallModel.h"
#include "std_msgs/String.h"

struct keeper {
    struct nm *nm;
    /* in */
    const BallModel *ball;
    /* out */
    nm_out_queue(String) animation;
    /* params */
    float min_speed, horizon, body, reach, half_goal, pause;
    /* state */
    int64_t free_at; /* ns; busy with a motion until then */
};

/* The motion that stops a ball which crosses the line at y, NULL if none is needed or helps. */
static const char *motion_for(const struct keeper *f, double y)
{
    if (fabs(y) > f->half_goal) return NULL;
    if (fabs(y) <= f->body) return "keeper_sit";
    if (fabs(y) > f->reach) return NULL;
    return y > 0 ? "keeper_jump_left" : "keeper_jump_right";
}

static void step(struct keeper *f)
{
    const BallModel *ball = f->ball;
    double vx = ball->velocity.x, vy = ball->velocity.y;
    if (!nm_fresh(f->nm, f->ball) || !ball->valid || f->nm->now < f->free_at || vx > -f->min_speed ||
        ball->position.x <= 0)
        return;

    double way = vec2_norm(ball->destination.x - ball->position.x, ball->destination.y - ball->position.y);
    double speed = vec2_norm(vx, vy), t = nm_rolling_time(ball->position.x * speed / -vx, speed, way);
    double y = ball->position.y + ball->position.x * vy / -vx;
    nm_show(f->nm, "crosses at", y);
    nm_show(f->nm, "crosses in", t);
    const char *motion = t < f->horizon ? motion_for(f, y) : NULL;
    if (!motion) return;
    String *animation = nm_push(f->nm, &f->animation);
    nm_text(animation->data, "%s", motion);
    f->free_at = f->nm->now + nm_ns(f->pause);
    nm_log(f->nm, NM_INFO, "%s: the ball crosses the line at y = %.2f m in %.2f s", motion, y, t);
}

#define SELF struct keeper
static const struct nm_port ports[] = {
    NM_IN(ball, BallModel, "ball"),
    NM_OUT_QUEUE(animation, String, "keeper_motion", 2),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(min_speed, 0.5, 0.1, 5, "m/s", "the keeper does not jump for slower balls"),
    NM_PARAM(horizon, 0.9, 0.2, 3, "s",
             "the keeper jumps when the ball will cross the line within this time; a jump takes about 0.5 s"),
    NM_PARAM(body, 0.18, 0.05, 0.5, "m", "sitting down covers this much to either side"),
    NM_PARAM(reach, 0.8, 0.2, 2, "m", "a jump covers up to here"),
    NM_PARAM(half_goal, 1.3, 0.3, 3, "m",
             "half the width of the goal; the keeper does not move for balls that miss it"),
    NM_PARAM(pause, 2, 0.5, 20, "s", "how long a motion and standing up again take"),
    {0},
};
NM_MODULE(keeper, "Stops shots: jumps to where the ball will cross the goal line.", NM_PORTS(ports), NM_PARAMS(params),
          .step = NM_CALL(step))
