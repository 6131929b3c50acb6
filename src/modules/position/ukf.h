/* The filter that each hypothesis about the robot's pose carries: an unscented Kalman filter (Julier, Uhlmann 1997;
 * with the weight of the centre zero, so that covariances stay positive) over the pose on the field and the error of
 * the camera's tilt. The tilt is part of the state because all percepts of an image err together, and for most of a
 * second: a filter that took them for independent would be too sure of itself by far.
 *
 * A sighting is a point on the ground in the robot's frame, through a camera pose that is wrong by the tilt w = (roll,
 * pitch). The filter computes where in the field the sighting then lies, with covariance, and holds that against the
 * map. So one prediction serves all landmarks. */
#pragma once

#include <stdbool.h>

#include "base/geometry.h"

enum { UKF_X, UKF_Y, UKF_THETA, UKF_ROLL, UKF_PITCH, UKF_N, UKF_SEEN = 4 };

struct ukf {
    double x[UKF_N];        /* m, m, rad; rad, rad of the camera */
    double p[UKF_N][UKF_N]; /* covariance                        */
};

/* What errs, 1 sigma. */
struct ukf_noise {
    double way, way_turn;         /* odometry: m after 1 m; rad after 1 m; both grow with the root of the way  */
    double turn, turn_way;        /* odometry: rad after 1 rad; m after 1 rad                                  */
    double time_way, time_turn;   /* m and rad after 1 s, also of a robot that stands                          */
    double tilt_drift, tilt_time; /* rad of the camera's tilt that changes slowly; s in which it changes       */
    double tilt_image;            /* rad of the tilt of one image                                              */
    double pixel;                 /* rad of the direction of one percept                                       */
    double orientation;           /* rad of the direction of a crossing                                        */
    double height;                /* m, of the camera above the ground                                         */
};

struct ukf_point {
    double x, y; /* m, in the robot's frame */
};

/* Where something seen lies in the field: mean, covariance without its own noise, covariance with the state. */
struct ukf_view {
    double z[UKF_SEEN], s[UKF_SEEN][UKF_SEEN], c[UKF_N][UKF_SEEN];
};

/* What the filter knew of the tilt before an image: the part that lasts is separated again afterwards. */
struct ukf_image {
    struct ukf before;
    double image2;
};

void ukf_start(struct ukf *u, struct pose2 pose, double sigma_x, double sigma_y, double sigma_theta,
               const struct ukf_noise *noise);
/* The robot moved by `step` (in its own frame) within dt seconds, as odometry has it. */
void ukf_move(struct ukf *u, struct pose2 step, double dt, const struct ukf_noise *noise);
/* Around all sightings of an image: each image has its own tilt besides the lasting one. */
void ukf_image_begin(struct ukf *u, struct ukf_image *image, const struct ukf_noise *noise);
void ukf_image_end(struct ukf *u, const struct ukf_image *image);

/* Where a point really is that was seen through a camera whose tilt is wrong by roll and pitch. */
struct ukf_point ukf_upright(struct ukf_point p, double roll, double pitch, double height);
/* Covariance of a percept's own noise in the robot's frame. */
void ukf_own_noise(struct ukf_point p, const struct ukf_noise *noise, double r[2][2]);

/* One or two points in the field: z is x, y of the first, then of the second, or the robot's direction where there is
 * only one. */
void ukf_see(const struct ukf *u, const struct ukf_point *points, int n, double height, struct ukf_view *view);

/* One measurement of up to three numbers: which members of a view, what they are by the map less what they are by the
 * view, and the percept's own noise. `d2` is the squared Mahalanobis distance, `volume` the determinant of the
 * covariance. */
struct ukf_fit {
    int n, member[3];
    double inverse[3][3], volume;
};
/* False where the covariance cannot be inverted. */
bool ukf_fit(const struct ukf_view *view, int n, const int member[], const double r[3][3], struct ukf_fit *fit);
double ukf_distance(const struct ukf_fit *fit, const double off[]);
void ukf_update(struct ukf *u, const struct ukf_view *view, const struct ukf_fit *fit, const double off[]);

static inline struct pose2 ukf_pose(const struct ukf *u)
{
    return (struct pose2){u->x[UKF_X], u->x[UKF_Y], angle_normal(u->x[UKF_THETA])};
}
/* The field looks the same when it is turned by half a turn. */
void ukf_mirror(struct ukf *u);
