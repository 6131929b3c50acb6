/* Shooting practice without a body. A machine in the field shoots ball after ball at the goal in which the keeper
 * stands. The module publishes what a robot would see: sightings at the rate of a camera, with noise that grows with
 * the distance and with missing frames. It also judges: a motion stops the ball if it began early enough and covers the
 * place where the ball crosses the line. The score says how many shots were saved. */
#include <string.h>

#include "core/nm.h"
#include "geometry_msgs/PointStamped.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "nav_msgs/Odometry.h"
#include "std_msgs/String.h"

enum phase { WAITING, ROLLING };

struct practice_shots {
    struct nm *nm;
    /* in */
    nm_queue(String) motion;
    /* out */
    BallRelative *seen;
    Odometry *odometry;
    PointStamped *truth;
    String *score;
    /* params */
    float friction, speed_low, speed_high, half_goal, near_noise, far_noise, missed, frame, pause;
    float motion_time, body, reach;
    /* state */
    enum phase phase;
    int64_t since;       /* ns; begin of the phase             */
    int64_t last_frame;  /* ns                                 */
    double x, y, vx, vy; /* the true ball, m and m/s           */
    char answer[32];     /* the keeper's motion in this shot   */
    int64_t answer_at;   /* ns                                 */
    int shots, saved, possible;
};

static double between(struct practice_shots *f, double low, double high)
{
    return low + (high - low) * nm_random(f->nm);
}

static void shoot(struct practice_shots *f)
{
    double target = between(f, -1, 1) * f->half_goal, speed = between(f, f->speed_low, f->speed_high);
    f->x = between(f, 2.5, 3.5);
    f->y = between(f, -1, 1);
    double way = hypot(f->x, f->y - target);
    /* faster by what friction takes on the way */
    speed += way * f->friction;
    f->vx = -speed * f->x / way;
    f->vy = -speed * (f->y - target) / way;
    f->answer[0] = '\0';
    f->phase = ROLLING;
    f->since = f->nm->now;
}

/* What stops a ball at y if it is begun in time; the same rule for the keeper's answer and for the best one possible.
 */
static bool covers(const struct practice_shots *f, const char *motion, double y)
{
    if (strcmp(motion, "keeper_sit") == 0) return fabs(y) <= f->body;
    if (strcmp(motion, "keeper_jump_left") == 0) return y > 0 && y <= f->reach;
    if (strcmp(motion, "keeper_jump_right") == 0) return y < 0 && y >= -f->reach;
    return false;
}

static void judge(struct practice_shots *f)
{
    bool in_time = f->answer[0] && nm_seconds(f->nm->now - f->answer_at) >= f->motion_time;
    bool saved = in_time && covers(f, f->answer, f->y);
    f->shots++;
    f->saved += saved;
    f->possible += fabs(f->y) <= f->reach;
    nm_log(f->nm, NM_INFO, "shot %d crosses at y = %+.2f m: %s", f->shots, f->y,
           saved           ? "saved"
           : !f->answer[0] ? "goal, the keeper did not move"
           : !in_time      ? "goal, the keeper was late"
                           : "goal, the keeper went the wrong way");
    f->phase = WAITING;
    f->since = f->nm->now;
}

static void roll(struct practice_shots *f, double dt)
{
    double e = exp(-f->friction * dt), d = (1 - e) / f->friction;
    f->x += f->vx * d;
    f->y += f->vy * d;
    f->vx *= e;
    f->vy *= e;
    if (f->x <= 0) judge(f);
}

static void look(struct practice_shots *f)
{
    if (nm_seconds(f->nm->now - f->last_frame) < f->frame) return;
    f->last_frame = f->nm->now;
    if (nm_random(f->nm) < f->missed) return;
    double sigma = f->near_noise + f->far_noise * (f->x * f->x + f->y * f->y);
    nm_text(f->seen->header.frame_id, "base_footprint");
    f->seen->ball_relative = (Point){f->x + sigma * nm_gauss(f->nm), f->y + sigma * nm_gauss(f->nm), 0};
    f->seen->confidence = 1;
    nm_put(f->nm, f->seen);
}

static void step(struct practice_shots *f)
{
    for (uint32_t i = 0; i < f->motion.n; i++) {
        nm_text(f->answer, "%s", f->motion.at[i]->data);
        f->answer_at = f->nm->now;
    }
    if (f->phase == WAITING && nm_seconds(f->nm->now - f->since) > f->pause) shoot(f);
    if (f->phase == ROLLING) {
        look(f);
        roll(f, nm_seconds(f->nm->dt));
    }
    f->truth->point = (Point){f->x, f->y, 0};
    nm_put(f->nm, f->truth);
    nm_put(f->nm, f->odometry); /* the keeper stands */
    nm_text(f->score->data, "%d of %d shots saved (%d were in reach)", f->saved, f->shots, f->possible);
    nm_put(f->nm, f->score);
}

#define SELF struct practice_shots
static const struct nm_port ports[] = {
    NM_LAST_QUEUE(motion, String, "keeper_motion", 4),
    NM_OUT(seen, BallRelative, "ball_relative"),
    NM_OUT(odometry, Odometry, "odometry"),
    NM_OUT(truth, PointStamped, "practice/ball"),
    NM_OUT(score, String, "score"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(friction, 0.4, 0.05, 5, "1/s", "friction of the rolling ball"),
    NM_PARAM(speed_low, 1.4, 0.5, 10, "m/s", "speed of the slowest shot at the goal line"),
    NM_PARAM(speed_high, 2.6, 0.5, 10, "m/s", "speed of the fastest shot at the goal line"),
    NM_PARAM(half_goal, 1.0, 0.1, 3, "m", "shots cross the line at most this far from the middle of the goal"),
    NM_PARAM(near_noise, 0.02, 0, 1, "m", "standard deviation of a sighting at the keeper's feet"),
    NM_PARAM(far_noise, 0.01, 0, 1, "1/m", "how much this standard deviation grows with the square of the distance"),
    NM_PARAM(missed, 0.15, 0, 1, "1", "share of frames without a sighting"),
    NM_PARAM(frame, 0.033, 0.001, 1, "s", "time between two frames of the camera"),
    NM_PARAM(pause, 1, 0, 10, "s", "time between two shots"),
    NM_PARAM(motion_time, 0.5, 0, 2, "s", "a motion stops the ball only after this time"),
    NM_PARAM(body, 0.2, 0.05, 0.5, "m", "sitting down covers this much to either side"),
    NM_PARAM(reach, 0.85, 0.1, 2, "m", "a jump covers up to here"),
    {0},
};
NM_MODULE(practice_shots, "Shoots at the goal again and again, and judges what the keeper does.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step))
