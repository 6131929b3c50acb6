/* How wrong the robot is about the tilt of its camera, from things that do not move. All percepts of one image err
 * together: a camera that looks a degree lower than believed makes everything seem nearer. Goal posts, crossings and
 * marks stand still, so where they seem to move, the tilt does. This filter keeps the tilt together with the places of
 * a few such landmarks in the odometry's frame (an extended Kalman filter with landmarks, without a map of the field).
 * What is left of the error of a ball seen in the same image is a fraction.
 *
 * An error is told in units of the deviation that a percept states along its line of sight: slow . u + image . u, where
 * u is the direction of the percept, `slow` changes over tilt_time and `image` is new in every image. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/geometry.h"

enum { TILT_LANDMARKS = 10, TILT_STATE = 4 + 2 * TILT_LANDMARKS, TILT_PERCEPTS = 24 };

struct tilt_params {
    double slow, image; /* parts of the stated variance along the line of sight, together less than 1 */
    double time;        /* s, how long the slow part lasts */
    double odometry;    /* share of its way by which odometry errs, at 1 m */
};

struct tilt_percept {
    uint8_t kind;
    double x, y;          /* m, in the robot's frame */
    double along, across; /* m^2 */
};

struct camera_tilt {
    uint32_t n;
    struct {
        uint8_t kind;
        double first[2]; /* m, where it was believed to be when it was new: directions and deviations are those of
                            this place, or the filter would become too sure of itself by changing its mind */
        double unseen;   /* s */
    } landmarks[TILT_LANDMARKS];
    double x[TILT_STATE], p[TILT_STATE][TILT_STATE]; /* slow x y, image x y, landmarks */
    struct pose2 robot_to_odom;
};

void tilt_start(struct camera_tilt *tilt);
/* An image: the time since the last one, where the robot was, and all percepts of things that stand still. */
void tilt_image(struct camera_tilt *tilt, const struct tilt_params *params, double dt, struct pose2 robot_to_odom,
                const struct tilt_percept *percepts, uint32_t n);
/* The error of a percept of this image in direction (ux, uy) of the robot's frame, in units of the stated deviation,
 * and the variance of what is not known of it; `slow` of that lasts. */
struct tilt_error {
    double error, variance, slow;
};
struct tilt_error tilt_along(const struct camera_tilt *tilt, const struct tilt_params *params, double ux, double uy);
