/* Tracks the ball on the ground from single sightings, with viscous rolling friction, and predicts where it comes to
 * rest (HULKs 2017, section 4.3). The state lives in the odometry's frame, so that the robot's own motion does not move
 * the ball; sightings and the result are relative to the robot. A sighting too far from the track is another ball: if
 * it persists, the track starts again there. */
#include "base/kf4.h"
#include "core/nm.h"
#include "core/stamp.h"
#include "humanoid_league_msgs/BallRelative.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/BallModel.h"

struct ball_filter {
    struct nm *nm;
    /* in */
    const BallRelative *seen;
    const Odometry *odometry;
    /* out */
    BallModel *ball;
    /* params */
    float friction;     /* 1/s     */
    float near_noise;   /* m       */
    float far_noise;    /* 1/m     */
    float acceleration; /* m/s^2   */
    float gate;         /* sigma   */
    int32_t strikes;    /* sightings */
    float forget;       /* s       */
    float min_confidence;
    /* state */
    struct kf4 track; /* in the odometry's frame */
    bool tracking;
    int32_t others; /* sightings in a row that did not fit */
    int64_t last_seen;
    float confidence;
};

static struct pose2 robot_to_odometry(const Odometry *o)
{
    struct quat q = {o->pose.pose.orientation.w, o->pose.pose.orientation.x, o->pose.pose.orientation.y,
                     o->pose.pose.orientation.z};
    return (struct pose2){o->pose.pose.position.x, o->pose.pose.position.y, quat_yaw(q)};
}

/* The farther, the less certain: an error of the camera's pitch grows with the square of the distance. */
static double sigma_at(const struct ball_filter *f, double distance)
{
    return f->near_noise + f->far_noise * distance * distance;
}

static void see(struct ball_filter *f, struct pose2 robot)
{
    const Point *p = &f->seen->ball_relative;
    if (f->seen->confidence < f->min_confidence || !isfinite(p->x) || !isfinite(p->y)) return;
    struct pose2 at = pose2_mul(robot, (struct pose2){p->x, p->y, 0});
    double sigma = sigma_at(f, hypot(p->x, p->y));

    bool fits = f->tracking && kf4_distance(&f->track, at.x, at.y, sigma) < (double)f->gate * f->gate;
    if (fits) {
        kf4_update(&f->track, at.x, at.y, sigma);
        f->others = 0;
    } else if (!f->tracking || ++f->others >= f->strikes) {
        kf4_start(&f->track, at.x, at.y, sigma, 2);
        f->tracking = true;
        f->others = 0;
    } else {
        return;
    }
    f->last_seen = f->nm->now;
    f->confidence = f->seen->confidence;
}

static void tell(struct ball_filter *f, struct pose2 robot)
{
    BallModel *ball = f->ball;
    struct pose2 odometry_to_robot = pose2_inv(robot);
    double c = cos(odometry_to_robot.theta), s = sin(odometry_to_robot.theta);
    const double *x = f->track.x;
    /* a ball with speed v rolls v / friction before it stops */
    struct pose2 at = pose2_mul(odometry_to_robot, (struct pose2){x[0], x[1], 0});
    struct pose2 rest =
        pose2_mul(odometry_to_robot, (struct pose2){x[0] + x[2] / f->friction, x[1] + x[3] / f->friction, 0});

    nm_text(ball->header.frame_id, "base_footprint");
    ball->valid = true;
    ball->position = (Point){at.x, at.y, 0};
    ball->velocity = (Vector3){c * x[2] - s * x[3], s * x[2] + c * x[3], 0};
    ball->destination = (Point){rest.x, rest.y, 0};
    ball->confidence = f->confidence;
    ball->last_seen = nm_stamp(f->last_seen);
    /* covariance turned into the robot's frame: R P R^T for both halves */
    double turn[4][4] = {{c, -s, 0, 0}, {s, c, 0, 0}, {0, 0, c, -s}, {0, 0, s, c}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double sum = 0;
            for (int k = 0; k < 4; k++)
                for (int l = 0; l < 4; l++) sum += turn[i][k] * f->track.p[k][l] * turn[j][l];
            ball->covariance[4 * i + j] = sum;
        }
}

static void step(struct ball_filter *f)
{
    struct pose2 robot = robot_to_odometry(f->odometry);
    if (f->tracking)
        kf4_predict(&f->track, nm_seconds(f->nm->dt), f->friction, (double)f->acceleration * f->acceleration);
    if (nm_fresh(f->nm, f->seen)) see(f, robot);
    if (f->tracking && nm_seconds(f->nm->now - f->last_seen) > f->forget) f->tracking = false;

    if (f->tracking) tell(f, robot);
    nm_show(f->nm, "speed", f->tracking ? hypot(f->track.x[2], f->track.x[3]) : 0);
    nm_put(f->nm, f->ball);
}

static void reset(struct ball_filter *f) { f->tracking = false; }

#define SELF struct ball_filter
static const struct nm_port ports[] = {
    NM_IN(seen, BallRelative, "ball_relative"),
    NM_IN(odometry, Odometry, "odometry"),
    NM_OUT(ball, BallModel, "ball"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(friction, 0.4, 0.05, 5, "1/s",
             "share of its speed that a rolling ball loses in a second; larger on long turf"),
    NM_PARAM(near_noise, 0.02, 0.001, 1, "m", "standard deviation of a sighting at the robot's feet"),
    NM_PARAM(far_noise, 0.02, 0, 1, "1/m", "how much this standard deviation grows with the square of the distance"),
    NM_PARAM(acceleration, 1.5, 0.01, 50, "m/s^2",
             "acceleration that the ball may have: larger follows kicks sooner, smaller is smoother"),
    NM_PARAM(gate, 4, 1, 20, "1",
             "a sighting farther from the track than this many standard deviations is another ball"),
    NM_PARAM(strikes, 3, 1, 30, "1", "after this many such sightings in a row the track starts again there"),
    NM_PARAM(forget, 5, 0.1, 60, "s", "time without a sighting after which the ball is lost"),
    NM_PARAM(min_confidence, 0.3, 0, 1, "1", "sightings with less confidence are ignored"),
    {0},
};
NM_MODULE(ball_filter, "Tracks the ball on the ground from single sightings, with rolling friction.", NM_PORTS(ports),
          NM_PARAMS(params), .step = NM_CALL(step), .reset = NM_CALL(reset))
