/* The parts of `nutmeg calibrate camera`: what a robot that stands saw and how it held its head meanwhile, from a log,
 * a running robot or the simulator; and the simulated robot whose neck is bent. */
#pragma once

#include "body/camera_fit.h"
#include "cmd/setup.h"
#include "geometry_msgs/PointStamped.h"
#include "nutmeg_msgs/BodyState.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/JointState.h"
#include "sensor_msgs/PointCloud2.h"

struct grey {
    uint32_t width, height;
    uint8_t *bytes; /* from malloc */
};

/* A marker of the family tag36h11. */
struct tag_place {
    uint32_t id;
    struct pose3 to_field; /* it looks along its x, its upper edge along z */
};
enum { TAG_PLACES = 64 };
struct tag_board {
    double size; /* m, edge of the black square */
    uint32_t n;
    struct tag_place tags[TAG_PLACES];
};

enum look_by { LOOK_BY_LINES, LOOK_BY_TAGS, LOOK_BY_POINTS };
enum { LOOK_PLACES = 256 };

/* A robot that stands and looks around. */
struct look {
    enum look_by by;
    struct nm_camera_fit fit;
    const struct tag_board *board;
    uint32_t n_places; /* of which one after the other is clicked, over and over; 0: landmarks are */
    struct vec3 places[LOOK_PLACES];
    struct grey pictures[NM_FIT_VIEWS];
    uint32_t clicks, rests;
    /* where it stands now */
    bool joints_known, body_known, looked_around; /* before it looks around it may still be getting up */
    double q[NM_JOINTS], rested[NM_JOINTS];
    struct pose3 torso_to_robot;
    int64_t time, moved, viewed; /* ns: of the joints, of the head's last move, of the last view */
    uint32_t here;               /* views since the head rests */
    struct grey newest;
    int64_t newest_time;
};

/* `body` without calibration; the search begins with the mount and the lens of `present`. */
void look_begin(struct look *look, const struct nm_body *body, const struct nm_body *present, uint32_t camera);
void look_end(struct look *look);

void look_joints(struct look *look, const JointState *joints);
void look_body(struct look *look, const BodyState *body);
void look_image(struct look *look, const Image *image);
void look_lines(struct look *look, const PointCloud2 *points);
void look_click(struct look *look, const PointStamped *click);
int look_log(struct look *look, const char *path, struct nm_err *err);
/* A running robot is recorded first. */
int look_live(struct look *look, double seconds, bool network, struct nm_err *err);

/* camera_tags.c: corners of the markers in a picture, as sights of a view; weak, because a robot's program does without
 * the library that finds them. */
void look_tags(struct look *look, uint32_t view) __attribute__((weak));
/* The 8 x 8 cells of a marker, as sim/scene.h wants them. */
uint64_t tag_cells(uint32_t id) __attribute__((weak));

/* sim_camera.c: a robot in the simulator, whose neck is bent by `bend` rad in a direction that the seed draws. */
struct look_sim {
    uint64_t seed;
    double bend;                     /* rad */
    struct nm_mount mount;           /* what was drawn */
    double before, left, tilt_left;  /* rad, mean over the views: error of the camera's orientation before the fit, what
                                        is left of it, and of that the part that is not heading */
    double seconds;                  /* of the robot's time */
    struct quat truth[NM_FIT_VIEWS]; /* camera to robot */
    struct tag_board board;
};
int look_simulate(struct setup *setup, struct look *look, struct look_sim *sim, struct nm_err *err)
    __attribute__((weak));
void look_judge(const struct look *look, struct look_sim *sim) __attribute__((weak));
