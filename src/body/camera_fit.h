/* How a camera really sits on its robot: found from what it sees of places that are known (HULKs 2017, section 5.1;
 * Rhoban 2016, section 4.2). Two turns are searched, of the neck where the first joint of the head is bolted to the
 * trunk, and of the camera in the head; where the robot stands is searched along with them, and the lens if asked for.
 * A place is a point (a click, the corner of a marker) or lies somewhere on a line of the field. */
#pragma once

#include "base/pitch.h"
#include "body/kinematics.h"

/* The optical frame to the world of `kin`, for a body whose neck and camera are turned beyond what the model says. */
NM_EXPORT struct pose3 nm_camera_mounted(const struct nm_body *body, uint32_t camera, const struct nm_mount *mount,
                                         const struct nm_kin *kin);

enum { NM_FIT_VIEWS = 256, NM_FIT_SIGHTS = 8192 };

struct nm_camera_view { /* one image, taken while nothing moved */
    struct pose3 torso_to_robot;
    double q[NM_JOINTS];
};

enum nm_sight_kind {
    NM_SIGHT_PLACE,    /* of a known place                                                     */
    NM_SIGHT_LINE,     /* somewhere on a line of the field                                     */
    NM_SIGHT_LANDMARK, /* one of the field's crossings and marks, the foot of one of its posts */
};
struct nm_camera_sight {
    uint32_t view;
    struct pixel at;
    enum nm_sight_kind kind;
    struct vec3 place; /* m, field: of a known place */
};

struct nm_camera_fit {
    const struct nm_body *body; /* without any turns */
    uint32_t camera;
    uint32_t n_views, n_sights;
    struct nm_camera_view *views;   /* NM_FIT_VIEWS  */
    struct nm_camera_sight *sights; /* NM_FIT_SIGHTS */
    struct nm_pitch_size field;     /* whose lines and landmarks are meant */
    bool neck_known;                /* the neck's turn is given, only the camera's is searched */
    bool with_lens;                 /* focal lengths, centre and the first two coefficients too */
    double stand_error[2];          /* m, rad: how well it is known where the robot stands      */

    /* first guess and result */
    struct nm_mount mount;
    struct nm_camera lens;
    struct pose2 stand; /* robot to field */

    /* result */
    double before, after;     /* px, median distance between what was seen and what should be seen      */
    double fitting;           /* share of the sights that agree with the result                         */
    double tilt_deviation;    /* rad, 1 sigma of the camera's roll and pitch, of the worst view         */
    struct pose2 first_stand; /* where the robot stands if nothing else was wrong: for a picture of before */
};

/* -1 with a sentence where the sights are too few, do not agree, or do not tell the camera's pose. */
int nm_camera_fit(struct nm_camera_fit *fit, struct nm_err *err);

/* Where a place of the field is seen in a view. */
bool nm_camera_fit_pixel(const struct nm_camera_fit *fit, const struct nm_mount *mount, const struct nm_camera *lens,
                         struct pose2 stand, uint32_t view, struct vec3 place, struct pixel *at);
