/* The uncertainty of a pose that is the sum of steps. Each step adds to the variance in proportion to its length (a
 * random walk), and an error of the direction becomes an error of the place as the robot walks on: P' = F P F^T + Q,
 * the usual propagation of dead reckoning (Thrun et al., Probabilistic Robotics, 5.4). */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/geometry.h"
#include "nav_msgs/Odometry.h"

/* The defaults fit the drift that docs/motion.md measures: 3 cm over 2.5 m calibrated, 6 cm without. */
#define DRIFT_PARAMS                                                                                                   \
    NM_PARAM(drift, 0.03, 0.0001, 1, "m", "standard deviation of the place after one metre"),                          \
        NM_PARAM(drift_turn, 0.03, 0.0001, 1, "rad", "standard deviation of the direction after one metre"),           \
        NM_PARAM(turn_drift, 0.1, 0.0001, 1, "rad", "standard deviation of the direction after a turn by one radian"), \
        NM_PARAM(speed_noise, 0.05, 0.0001, 5, "m/s",                                                                  \
                 "standard deviation of the speed; the turning rate has twice this number in rad/s")

struct drift {
    bool begun;
    struct pose2 at; /* robot to odom, as told last */
    double p[3][3];  /* of x, y, theta in odom      */
};

struct drift_noise {
    double drift, drift_turn, turn_drift, speed;
};

static inline void drift_move(struct drift *d, struct pose2 now, const struct drift_noise *noise)
{
    if (!d->begun) *d = (struct drift){.begun = true, .at = now};
    double dx = now.x - d->at.x, dy = now.y - d->at.y, turn = angle_normal(now.theta - d->at.theta);
    double way = hypot(dx, dy), place = noise->drift * noise->drift * way;
    double direction = noise->drift_turn * noise->drift_turn * way + noise->turn_drift * noise->turn_drift * fabs(turn);
    const double f[3][3] = {{1, 0, -dy}, {0, 1, dx}, {0, 0, 1}};
    double fp[3][3] = {0}, next[3][3] = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) fp[i][j] += f[i][k] * d->p[k][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) next[i][j] += fp[i][k] * f[j][k];
    next[0][0] += place;
    next[1][1] += place;
    next[2][2] += direction;
    memcpy(d->p, next, sizeof d->p);
    d->at = now;
}

/* Into the message. Height, roll and pitch of base_footprint are zero by its definition. */
static inline void drift_tell(const struct drift *d, const struct drift_noise *noise, Odometry *out)
{
    static const int axis[3] = {0, 1, 5}; /* x, y, yaw */
    static const double by_definition = 1e-9;
    memset(out->pose.covariance, 0, sizeof out->pose.covariance);
    memset(out->twist.covariance, 0, sizeof out->twist.covariance);
    for (int i = 2; i < 5; i++) out->pose.covariance[7 * i] = out->twist.covariance[7 * i] = by_definition;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out->pose.covariance[6 * axis[i] + axis[j]] = d->p[i][j];
    for (int i = 0; i < 3; i++) {
        double speed = axis[i] == 5 ? 2 * noise->speed : noise->speed;
        out->twist.covariance[7 * axis[i]] = speed * speed;
    }
}
