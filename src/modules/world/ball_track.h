/* One ball that may be there, followed from image to image. Several hypotheses compete to explain its sightings: it
 * rests, it has been rolling since some time, it has just been kicked. Each is an extended Kalman filter with the state
 *
 *     x, y        m, in the odometry's frame
 *     vx, vy      m/s; 0 and certain while it rests
 *     tx, ty      slow error of the camera's tilt along the robot's x and y axis, in units of its standard deviation
 *     brake       m/s^2, what the turf takes from a rolling ball
 *
 * and a weight: how likely it made the sightings seen so far. A kick is a new hypothesis beside the old one, so it is
 * followed after a few images, and a ball that lies or rolls undisturbed is filtered as if kicks did not exist.
 *
 * A rolling ball slows down by brake + friction * speed (the constant part is that of turf, the other one is the
 * viscous friction of HULKs 2017, section 4.3); way and speed have closed forms. All sightings of a second err together
 * because the robot is wrong about the tilt of its camera. With the tilt in the state, more sightings do not make the
 * filter surer than it may be. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"

enum { BALL_X, BALL_Y, BALL_VX, BALL_VY, BALL_TX, BALL_TY, BALL_BRAKE, BALL_STATE, BALL_HYPOTHESES = 8 };

struct ball_params {
    double friction;     /* 1/s                                                              */
    double acceleration; /* m/s^2, of a rolling ball besides friction                        */
    double tilt_time;    /* s, how long that error lasts                                     */
    double kick_rate;    /* 1/s, how often somebody kicks the ball                           */
    double kick_speed;   /* m/s, standard deviation of the speed after such a kick           */
};

/* A ball rolls for t: the way it makes; `after` gets its speed then. */
double ball_way(double speed, double brake, double friction, double t, double *after);
/* s until it rests; infinite where nothing brakes it. */
double ball_rest_time(double speed, double brake, double friction);

/* How a robot walks to a ball: after a moment, straight, and until the ball is in its reach. */
struct ball_chase {
    double speed, delay, reach; /* m/s, s, m */
};
/* s until a robot at `robot` meets a ball that rolls from (x, y); `at` gets the place. Infinite: the ball rolls away
 * from it for ten seconds. */
double ball_intercept(const double x[2], const double v[2], double brake, double friction, const double robot[2],
                      const struct ball_chase *chase, double at[2]);

struct ball_hypothesis {
    bool rolls;
    double weight; /* logarithm; that of the best is 0 */
    double age;    /* s since it was made              */
    double x[BALL_STATE], p[BALL_STATE][BALL_STATE];
};

struct ball_track {
    uint32_t n; /* the first is the best */
    struct ball_hypothesis at[BALL_HYPOTHESES];
    double since;  /* s since a kick was last considered */
    double unseen; /* s since the last sighting          */
    double pushed; /* s since a robot that walked into it kicked it */
};

/* A sighting: place and variances along and across the line of sight. */
struct ball_sighting {
    struct pose2 robot_to_odom; /* when the image was taken      */
    double x, y;                /* m, in the robot's frame       */
    double along, across;       /* m^2                           */
    double slow;                /* 0 to 1, part of `along` that is the slow tilt */
};

/* A kick whose outcome is about known: the robot's own. */
struct ball_kick {
    double vx, vy, deviation; /* m/s, odometry's frame */
    double rate;              /* 1/s, how likely it happens now */
};

void ball_start(struct ball_track *track, const struct ball_params *params, const struct ball_sighting *seen,
                double brake, double brake_variance);
void ball_predict(struct ball_track *track, const struct ball_params *params, double dt);
/* Adds to the variance of its place, m^2: what odometry errs by while the robot walks. */
void ball_blur(struct ball_track *track, double variance);
/* Lets somebody kick the ball now. NULL: in any direction, with the chance of params. */
void ball_branch(struct ball_track *track, const struct ball_params *params, const struct ball_kick *kick);
/* Something of this radius (m) stands at `at`, and no ball lies or rolls through it: the hypotheses that are inside
 * rest at its edge. With a kick it walks into the ball, which then rolls away, or stays at its edge. */
void ball_meet(struct ball_track *track, const double at[2], double radius, const struct ball_kick *kick);
/* It was not seen, though hypothesis i would have been with a chance of 1 - exp(-loss[i]); returns the chance of that.
 */
double ball_miss(struct ball_track *track, const double loss[BALL_HYPOTHESES]);
/* How well a sighting fits: the logarithm of its density (1/m^2) under the best hypothesis. Below BALL_CLUTTER
 * something else explains it better. */
#define BALL_CLUTTER (-6.9) /* 0.02 false sightings in 20 m^2 */
double ball_fits(const struct ball_track *track, const struct ball_sighting *seen);
/* What all hypotheses together say: the one that rests where that is likely, else the mean of those that roll and rest
 * with the covariance of all. */
struct ball_hypothesis ball_belief(const struct ball_track *track);
void ball_update(struct ball_track *track, const struct ball_sighting *seen);
