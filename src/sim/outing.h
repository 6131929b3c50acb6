/* An outing: a team walks about on the field as a script says, each robot with a line-up that says where it is, and
 * these poses are held against the truth. The script knows the truth, so what a robot believes changes neither where it
 * walks nor what it sees: with the same seed every line-up gets the same percepts. Robots tell their mates where they
 * are, where the ball is and whom they see, three times a second, as a team's radio would. Used by `nutmeg eval
 * position` and `nutmeg bench world`. */
#pragma once

#include "humanoid_league_msgs/LineInformationRelative.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/Percepts.h"
#include "sim/stage.h"

enum { NM_OUTING_MATES = 4, NM_OUTING_POSES = 6 };

struct nm_outing_options {
    const char *root;
    struct nm_registry *registry;
    const struct nm_pitch *pitch;
    const char *robot, *lineup; /* folder of the robots; file */
    enum nm_fidelity fidelity;  /* flat or percept            */
    uint64_t seed;
    uint32_t mates, rivals;                   /* who walk; who stand in the way                              */
    bool silent;                              /* mates do not speak                                          */
    bool wrong_side;                          /* the first robot begins where the rivals should              */
    const struct nm_percept_params *percepts; /* NULL: the usual vision                                      */
    uint32_t n_poses;
    const char *const *poses; /* topics with poses, at most NM_OUTING_POSES; mates tell the first one */
    /* Each image that a robot got, with its true pose and its odometry when the image was taken; may be NULL. */
    void (*saw)(void *user, uint32_t robot, double seconds, const Percepts *percepts,
                const LineInformationRelative *lines, struct pose2 robot_to_odom, struct pose2 truth);
    void *user;
};

struct nm_outing;
struct nm_outing *nm_outing_new(const struct nm_outing_options *options, struct nm_err *err);
void nm_outing_free(struct nm_outing *outing);
int nm_outing_step(struct nm_outing *outing);
struct nm_stage *nm_outing_stage(const struct nm_outing *outing);

/* What a robot believes and what is true, when it last said so. */
struct nm_outing_pose {
    bool fresh;               /* said since the last step                     */
    struct pose2 pose, truth; /* m, rad, field                                */
    double covariance[3][3];  /* x, y, theta                                  */
};
void nm_outing_pose(const struct nm_outing *outing, uint32_t robot, uint32_t topic, struct nm_outing_pose *pose);
/* The same numbers for the same percepts, of all robots so far. */
uint64_t nm_outing_hash(const struct nm_outing *outing);

/* Somebody carries a robot to another place while nobody looks. */
void nm_outing_kidnap(struct nm_outing *outing, uint32_t robot, struct pose2 to);
/* The robot falls, and will stand up turned and not quite where it was. */
void nm_outing_fell(struct nm_outing *outing, uint32_t robot);
bool nm_outing_down(const struct nm_outing *outing, uint32_t robot);
/* A place on the field that nobody stands on. */
struct pose2 nm_outing_free_place(struct nm_outing *outing);
