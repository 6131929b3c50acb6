/* The inside of a stage, shared by stage*.c. */
#pragma once

#include "base/arena.h"
#include "nutmeg_msgs/CameraTruth.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "sim/feed_percept.h"
#include "sim/flat.h"
#include "sim/stage.h"
#include "sim/truth.h"
#include "sim/workers.h"

/* The topics between hardware and line-up, in the order of the table in stage_ports.c. */
enum port {
    PORT_SERVOS,
    PORT_IMU,
    PORT_FEET,
    PORT_BUTTONS,
    PORT_BATTERY,
    PORT_GOALS,
    PORT_LEDS,
    PORT_POWER,
    PORT_POWER_REPLY,
    PORT_VELOCITY, /* flat from here on */
    PORT_WALK,
    PORT_HEAD,
    PORT_ODOMETRY,
    PORT_HCM,
    PORT_PERCEPTS, /* percepts and flat from here on */
    PORT_BALL,
    PORT_GOAL,
    PORT_OBSTACLES,
    PORT_LINES,
    PORT_CAMERA_POSE, /* with the percepts: in the flat world as the robot believes it to be, ... */
    PORT_CAMERA_INFO, /* ... elsewhere the line-up computes it for the time of this message      */
    PORT_COMPASS,
    PORT_WORLD_TRUTH,
    PORT_BODY_TRUTH,
    PORT_LOG,
    FIXED_PORTS,
    CAMERA_PORTS = 4, /* picture, info, truth and points of each camera follow */
    SAY_PORTS = 16,
    ALL_PORTS = FIXED_PORTS + CAMERA_PORTS * NM_CAMERAS + SAY_PORTS,
};
enum { PORT_PICTURE, PORT_INFO, PORT_PICTURE_TRUTH, PORT_CLOUD };             /* of a camera */
enum { STAGE_CLOUD_STEP = 4 /* px */, STAGE_CLOUD_BYTES = 12 /* x, y, z */ }; /* of a point of a depth camera */

enum { FAULTS_AT_ONCE = 32 };

struct ailment { /* a fault that lasts for a while */
    enum nm_fault_kind kind;
    uint32_t part;
    int64_t until; /* ns */
};

/* A camera that somebody looks through. */
struct lookout {
    uint32_t robot, camera;
    struct nm_eye *eye;
    enum nm_picture_format format;
    int64_t period, next; /* ns; of the next exposure                        */
    int64_t exposed;      /* ns; when the picture on its way was taken; -1: there is none */
    uint64_t frames;
    struct nm_blob picture; /* on its way; empty where nobody wants it          */
    CameraTruth *truth;     /* of it; NULL where nobody wants it                */
    struct nm_picture_truth *shown;
    struct pose3 to_field; /* of the camera, then */
    struct vec3 *rays;     /* of a depth camera's points; NULL: it is none */
};

/* Eyes that see percepts in place of pictures. */
struct sight {
    bool wanted, lines;          /* of them: pieces of lines too                               */
    bool upright;                /* the robot, when the image was taken                         */
    int64_t period, next, taken; /* ns; of the next image, and of the one on its way, -1: none */
    struct nm_perceiver eyes;
    struct nm_glimpse *glimpse; /* what that one showed */
};

struct actor {
    struct nm_stage_robot row;
    const struct nm_body *body;
    struct nm_lineup *lineup;
    struct nm_player *brain; /* NULL: nobody plays it */
    struct nm_edge *edge;
    uint32_t n_ports;
    double joints[NM_JOINTS]; /* it began in */

    void *hardware;   /* in place of the feed, or NULL */
    int64_t bus_next; /* ns, of its next round         */
    struct nm_feed feed;
    struct ailment ailments[FAULTS_AT_ONCE];
    uint32_t n_ailments;
    struct nm_faults faults; /* in force in this step */

    struct nm_joint_goal goals[NM_JOINTS]; /* as told                                            */
    bool power;                            /* of the motors                                      */
    bool told;                             /* goals or power changed since the world heard of it */
    uint64_t limp;                         /* joints that the world knows as limp                */
    uint64_t goals_taken;
    int64_t goals_heard;      /* ns, when the newest arrived                         */
    int64_t goals_made;       /* ns, of their stamp                                  */
    int64_t named[NM_JOINTS]; /* ns, when they named each joint; -1: not yet          */
    struct nm_damping damping;

    int64_t pressed[NM_STAGE_BUTTONS]; /* ns, until */
    uint32_t presses[NM_STAGE_BUTTONS];
    bool fallen;
    double stands; /* m, height of the trunk's origin            */
    double low;    /* m, a trunk whose origin is lower has fallen */
    struct sight sight;
    double compass_error; /* rad, the part that changes slowly */
};

struct nm_stage {
    struct nm_arena arena;
    struct nm_stage_options options;
    uint32_t n;
    struct actor actors[NM_PLAYERS];
    uint32_t n_players;
    struct nm_player *players[NM_PLAYERS]; /* those there are */
    struct nm_world *world;                /* of the two one is there */
    struct nm_flat *flat;
    int64_t now, tick;

    struct nm_scene *scene;
    struct nm_kin *kin; /* of each robot */
    int64_t scene_time; /* ns, that the scene shows; -1: none */
    struct nm_workers *workers;
    uint32_t n_lookouts;
    struct lookout lookouts[NM_PLAYERS * NM_CAMERAS];
};

/* stage_ports.c: the topics of a robot, for the loader of its line-up and as an edge of its player */
uint32_t stage_remotes(struct nm_stage *stage, const struct actor *actor, const char **topics, uint32_t room);
uint32_t stage_takes(const struct nm_stage *stage, const char **topics, uint32_t room); /* what it reads of a brain */
int stage_bind(struct nm_stage *stage, struct actor *actor, struct nm_err *err);
uint32_t stage_camera_port(uint32_t camera, uint32_t which);
int64_t stage_camera_period(const struct nm_stage *stage, const struct nm_body_camera *camera); /* ns */

/* stage_wire.c: what takes the place of a line-up that plays elsewhere; NULL with sentences */
struct nm_lineup *stage_stand_in(struct nm_stage *stage, struct actor *actor, struct nm_err *err);

/* stage_feed.c: what goes through the edges in a step; the edges are open */
void stage_take(struct nm_stage *stage, struct actor *actor); /* goals and wishes of the brain, to the world */
void stage_give(struct nm_stage *stage, uint32_t robot);      /* what the sensors say                        */

/* stage_grip.c */
void grip_start(struct actor *actor);
void grip_told(const struct nm_stage *stage, struct actor *actor, const JointGoals *goals);

/* stage_eyes.c */
int stage_open_eyes(struct nm_stage *stage, struct nm_err *err);
void stage_close_eyes(struct nm_stage *stage);
void stage_show(struct nm_stage *stage);   /* pictures that have arrived, to the brains */
void stage_expose(struct nm_stage *stage); /* pictures whose time has come               */

/* stage_sight.c */
void stage_open_sight(struct nm_stage *stage);
void stage_look(struct nm_stage *stage); /* images whose time has come */
void stage_tell(struct nm_stage *stage); /* what was found in them     */

/* stage_flat.c */
void flat_make(struct nm_stage *stage);
void flat_whereabouts(const struct nm_stage *stage, uint32_t robot, struct nm_whereabouts *where);
void flat_scene(struct nm_stage *stage);
void flat_take(struct nm_stage *stage, struct actor *actor);
void flat_give(struct nm_stage *stage, uint32_t robot);

/* stage_act.c */
void stage_scatter(struct nm_stage *stage, uint32_t robot); /* as it fell, not as it was laid */

/* feed_truth.c */
void feed_body_truth(const struct nm_stage *stage, uint32_t robot, BodyTruth *to);
void feed_picture_truth(const struct nm_stage *stage, const struct lookout *lookout, CameraTruth *to);
