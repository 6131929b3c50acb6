/* The stage brings line-ups and the simulated world together: every robot has its own brain (a player, core/player.h),
 * fed with what its hardware would measure and obeyed as its hardware would obey, all in lockstep and virtual time:
 *
 *     brains run up to the world's next step -> their goals go to the servos -> the world steps -> sensors to the
 * brains
 *
 * A line-up does not know where it plays: the stage binds the topics of hardware (docs/simulator.md lists them) to the
 * world, as `run` binds them to a bus. A topic that a line-up does not have is not made; a camera that nobody reads is
 * not rendered. The same seed, robots and calls give the same bits with any number of workers.
 *
 * Poses and places are in the field as team 0 sees it, unless something else is said. */
#pragma once

#include "body/camera_fit.h"
#include "core/player.h"
#include "nutmeg_msgs/SimCommand.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "rcl_interfaces/Log.h"
#include "sim/feed.h"
#include "sim/flat.h"
#include "sim/percept.h"
#include "sim/picture.h"
#include "sim/world.h"

struct nm_stage;

enum nm_fidelity {
    NM_FIDELITY_CAMERA,  /* bodies and pictures: vision is the line-up's work                  */
    NM_FIDELITY_PERCEPT, /* bodies, and what a good vision would see: ball, posts, lines, robots */
    NM_FIDELITY_FLAT,    /* discs on a plane that obey cmd_vel, and percepts                    */
    NM_FIDELITIES
};
extern const char *const nm_fidelity_names[NM_FIDELITIES];

enum nm_posture { NM_UPRIGHT, NM_ON_FRONT, NM_ON_BACK, NM_ON_LEFT, NM_ON_RIGHT, NM_POSTURES };
extern const char *const nm_posture_names[NM_POSTURES];

struct nm_stage_robot {
    const char *name;
    const char *folder; /* robots/kid70, or a URDF                                              */
    const char *lineup; /* its file; NULL: nobody plays it, its servos hold the pose it began in */
    uint32_t team;      /* 0 or 1: whose goal is at +x                                          */
    struct nm_shirt shirt;
    struct pose2 start;
    enum nm_posture posture;
    double scatter; /* of one that lies: it fell there, with joints anywhere in this share of their ranges */
    uint32_t n_set, n_says;
    const char *const *set;  /* parameters of its line-up, "instance.parameter=value"                 */
    const char *const *says; /* topics on which nm_stage_say will speak to it                     */
};

/* A robot's hardware in place of the stage's own, such as the real bus driver on a virtual bus: it makes the topics of
 * the bus itself, and tells the stage what became of the servos. */
struct nm_stage_hardware {
    /* One for each brain, before it starts; `goals` are those that the servos have. NULL with a sentence. */
    void *(*open)(void *user, struct nm_player *player, const struct nm_body *body, const struct nm_joint_goal *goals,
                  struct nm_err *err);
    /* A round of the bus: what the world measures in, the servos' goals out. False: still busy with the last one. */
    bool (*round)(void *self, int64_t now, const struct nm_sense *sense, const struct nm_faults *faults,
                  struct nm_joint_goal *goals);
    void (*close)(void *self);
    void *user;
};

struct nm_stage_options {
    const char *root; /* folder with config/ and robots/ */
    struct nm_registry *registry;
    const struct nm_pitch *pitch; /* must outlive the stage */
    enum nm_fidelity fidelity;
    struct nm_world_options world; /* seed, randomness, physical step            */
    uint32_t workers;              /* threads for brains and cameras; 0: one     */
    int64_t bus_period;            /* ns between two rounds of a robot's bus; 0: 8 ms     */
    int64_t camera_delay;          /* ns from the exposure to the picture; 0: 20 ms */
    int64_t camera_period;         /* ns between two pictures or percepts; 0: the robot's */
    struct nm_shutter shutter;
    struct nm_mount mount; /* how cameras really sit, which nobody told the robots */
    uint32_t n_things;
    const struct nm_solid *things; /* what else stands in the hall */
    double bend;                   /* how far the legs are bent at the start, 0 to 0.5 */
    bool cpu;                      /* the CPU time of the brains is measured */
    /* Called with each brain before it starts: the time to add edges to it; and with what brains write on their
     * consoles. Both may be NULL. */
    int (*ready)(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err);
    void (*said)(void *user, uint32_t robot, const Log *line);
    void *user;
    const struct nm_stage_hardware *hardware; /* NULL: the stage's own */
    const struct nm_percept_params *percepts; /* errors of the vision that percepts stand for; NULL: the usual */
    /* Line-ups are checked, but play elsewhere: in their place stand players without modules that have the topics
     * between hardware and line-up, for `ready` to connect with the world outside. Joints are damped when goals grow
     * old, as by the bus driver. */
    bool elsewhere;
};
#define NM_STAGE_OPTIONS                                                                                               \
    ((struct nm_stage_options){.world = NM_WORLD_OPTIONS, .shutter = NM_SHUTTER_USUAL, .bend = 0.06})

/* Robots, line-ups and world, all loaded and checked; NULL with every fault found. The rows are copied, what they point
 * to must outlive the stage. */
struct nm_stage *nm_stage_new(const struct nm_stage_robot *robots, uint32_t n, const struct nm_stage_options *options,
                              struct nm_err *err);
void nm_stage_free(struct nm_stage *stage);

/* One physical step with all that belongs to it. */
int nm_stage_step(struct nm_stage *stage);

int64_t nm_stage_now(const struct nm_stage *stage);  /* ns */
double nm_stage_cpu(const struct nm_stage *stage);   /* s that all brains took, if asked for in the options */
int64_t nm_stage_tick(const struct nm_stage *stage); /* ns of a step */
uint32_t nm_stage_robots(const struct nm_stage *stage);
const struct nm_body *nm_stage_body(const struct nm_stage *stage, uint32_t robot);
const struct nm_stage_robot *nm_stage_robot(const struct nm_stage *stage, uint32_t robot);
int32_t nm_stage_find(const struct nm_stage *stage, const char *name);           /* -1 if there is none of that name */
struct nm_player *nm_stage_player(const struct nm_stage *stage, uint32_t robot); /* NULL: nobody plays it */
const struct nm_pitch *nm_stage_pitch(const struct nm_stage *stage);
struct nm_world *nm_stage_world(const struct nm_stage *stage); /* NULL: flat            */

/* Of a line-up that stands in for one that plays elsewhere: whether the real one makes this topic, and the stage takes
 * it; all others go the other way. */
bool nm_stage_takes(const struct nm_lineup *stand_in, uint32_t topic);

/* Where things are. */
struct nm_whereabouts {
    struct pose3 base_to_field;
    struct vec3 velocity, angular_velocity; /* in the field's axes                               */
    bool fallen;                            /* the trunk lies: tilted by more than 53 degrees, or low */
    double pan, tilt;                       /* rad, of its head: left and down are positive            */
};
void nm_stage_whereabouts(const struct nm_stage *stage, uint32_t robot, struct nm_whereabouts *where);
/* Between its feet, on the ground, turned as the torso (body/state.h): the frame of all percepts. Of a body with
 * physics as of the last nm_stage_scene. */
struct pose2 nm_stage_footprint(const struct nm_stage *stage, uint32_t robot);
/* Who touched whom in the last step. */
const struct nm_touches *nm_stage_touches(const struct nm_stage *stage);
uint64_t nm_stage_goals(const struct nm_stage *stage, uint32_t robot); /* sets of goals that its servos were given */
/* ns, the stamp of the newest of them; -1 before the first. */
int64_t nm_stage_goals_made(const struct nm_stage *stage, uint32_t robot);
/* How a joint is driven: whether somebody has it in hand (stage_grip.c). */
struct nm_grip {
    bool whole;         /* it has a motor that no fault keeps from working                        */
    bool told;          /* its brain has named it; before that it is held as it began              */
    bool on;            /* the motor has torque                                                    */
    double age;         /* s, since its brain named it last                                        */
    double strength;    /* share of the torque that it may use, 0 to 1                             */
    double position;    /* rad, as its encoder shows it                                            */
    double goal, reach; /* rad, as it arrived at the motor; so far off it gives all that it may    */
    double speed;       /* rad/s, the most that its motor can                                      */
};
void nm_stage_grip(const struct nm_stage *stage, uint32_t robot,
                   struct nm_grip grips[]); /* n_joints; not on a flat one */
struct vec3 nm_stage_ball(const struct nm_stage *stage, struct vec3 *velocity);
/* Where everything is, in a message that was reset. */
void nm_stage_truth(const struct nm_stage *stage, WorldTruth *to);
/* Everything a camera can see now. The scene is the stage's and lasts until the next step. */
const struct nm_scene *nm_stage_scene(struct nm_stage *stage);
/* Poses of a robot's frames in that scene. */
const struct nm_kin *nm_stage_kin(const struct nm_stage *stage, uint32_t robot);

/* What happened to the world (world.h); none on a flat one. */
uint64_t nm_stage_incidents(const struct nm_stage *stage);
const struct nm_incident *nm_stage_incident(const struct nm_stage *stage, uint64_t i);

/* ---- interventions ---- */

void nm_stage_place(struct nm_stage *stage, uint32_t robot, struct pose2 pose, enum nm_posture posture);
/* As a handler puts it: upright, in the stance in which it began. */
void nm_stage_stand(struct nm_stage *stage, uint32_t robot, struct pose2 pose);
void nm_stage_put_ball(struct nm_stage *stage, struct vec3 position, struct vec3 velocity);
/* An impulse (N s, field) at a point of the trunk's frame. */
void nm_stage_push(struct nm_stage *stage, uint32_t robot, struct vec3 impulse, struct vec3 point, int64_t duration);
void nm_stage_fault(struct nm_stage *stage, uint32_t robot, enum nm_fault_kind kind, uint32_t part, int64_t duration);
void nm_stage_power(struct nm_stage *stage, uint32_t robot, bool on);
void nm_stage_press(struct nm_stage *stage, uint32_t robot, uint32_t button, int64_t duration);
extern const char *const nm_stage_buttons[];
enum { NM_STAGE_BUTTONS = 2 };

/* Walks and looks for a robot on a flat stage whose line-up does neither; elsewhere it does nothing. */
void nm_stage_lead(struct nm_stage *stage, uint32_t robot, struct nm_walk_velocity velocity, double pan, double tilt);

/* "instance.parameter=value" of a robot's brain, from its next cycle on; or only a look whether that would go. */
int nm_stage_set(struct nm_stage *stage, uint32_t robot, const char *setting, struct nm_err *err);
int nm_stage_check_set(const struct nm_stage *stage, uint32_t robot, const char *setting, struct nm_err *err);
/* Publishes a message, written as YAML, on one of the robot's `says`, now. Or only a look. */
int nm_stage_say(struct nm_stage *stage, uint32_t robot, const char *topic, const struct nm_yaml *message,
                 struct nm_err *err);
int nm_stage_check_say(struct nm_stage *stage, uint32_t robot, const char *topic, const struct nm_yaml *message,
                       struct nm_err *err);

/* The same with a message that is there already; NULL: only a look whether somebody reads the topic as this type. */
int nm_stage_put(struct nm_stage *stage, uint32_t robot, const char *topic, const struct nm_type *type,
                 const void *message, struct nm_err *err);

/* MOVE, PUSH and FAULT of SimCommand.srv; the others steer whoever calls nm_stage_step and are refused here. */
void nm_stage_command(struct nm_stage *stage, const SimCommand_Request *request, SimCommand_Response *response);
