/* The inside of a world, shared by world*.c. */
#pragma once

#include <mujoco/mujoco.h>

#include "base/arena.h"
#include "base/random.h"
#include "sim/power.h"
#include "sim/world.h"

enum {
    SAMPLES = 192,  /* measurements that may be on their way: 70 ms at the shortest step, and some */
    COMMANDS = 192, /* sets of goals that may be on their way */
    PUSHES = 32,
};

struct command {
    int64_t due; /* ns */
    struct nm_joint_goal *goals;
};

struct robot {
    const struct nm_body *body;
    struct nm_shirt shirt;
    struct nm_dice noise;
    int root_q, root_v;                       /* addresses in qpos and qvel              */
    int q[NM_JOINTS], v[NM_JOINTS];           /* of the motors; -1: a rigid joint        */
    int play_q[NM_JOINTS], play_v[NM_JOINTS]; /* of the play behind them; -1: none       */
    int trunk;                                /* MuJoCo body of link 0 */
    struct pose2 home;                        /* where it is put back  */
    double rest[NM_JOINTS];

    struct nm_servo_model *servos;
    double *stall, *free_speed; /* of the servos at the folder's voltage */
    struct nm_power power;
    struct nm_servo_state *states;
    bool braking[NM_JOINTS]; /* damping in the model is that of a powered motor */
    int64_t command_delay, sensor_delay;
    struct command commands[COMMANDS];
    uint32_t first_command, n_commands;

    struct nm_sense *samples; /* SAMPLES, a ring; the newest is the last one taken */
    uint64_t n_samples;
    struct vec3 last_velocity; /* of the IMU's place */
    struct vec3 gyro_bias, accel_bias;
    double cell_gain[2][NM_CELLS];
    double cells[2][NM_CELLS], foot_force[2]; /* of the last step */
    int foot_body[2];                         /* -1: none        */
    uint32_t put_back;                        /* how often the guard did */
    int64_t struck;                           /* ns, when the pendulum met it first; -1: not yet */
};

struct push {
    uint32_t robot;
    struct vec3 force, point; /* N in the field's axes; in the base's frame */
    uint32_t steps;           /* left */
};

struct nm_world {
    struct nm_arena arena;
    struct nm_world_options options;
    const struct nm_pitch *pitch;
    mjModel *model;
    mjData *data;
    int64_t now, tick;
    uint32_t n;
    struct robot *robots;
    int ball_q, ball_v, ball_body;
    double ball_brake; /* m/s^2, of a rolling ball */
    struct nm_touches touches;
    int pendulum_body, pendulum_geom; /* -1: none                                           */
    int64_t pendulum_met;             /* ns, when it met a trunk since it was let go; -1: not yet */
    int8_t *side_of_geom;             /* foot 0 or 1, -1 otherwise */
    uint8_t *robot_of_geom;
    struct push pushes[PUSHES];
    uint32_t n_pushes;
    double *saved_qpos, *saved_qvel, *saved_warm;
    int warnings[mjNWARNING];
    struct nm_incident incidents[NM_INCIDENTS];
    uint64_t n_incidents;
};

/* world_guard.c: MuJoCo ends the program on errors and prints warnings; here both become incidents. */
void world_guard_install(void);
/* Runs a function with MuJoCo's errors caught; 0, or -1 with the error's text. */
int world_guarded(void (*run)(struct nm_world *), struct nm_world *world, char text[120]);
mjModel *world_load(const char *text, struct nm_err *err);
void world_report(struct nm_world *w, int32_t robot, enum nm_incident_kind kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* world_sense.c */
/* Angle and speed of a joint: the motor's and those of the play behind it. */
double world_motor(const struct nm_world *w, const struct robot *r, uint32_t j); /* rad, as its encoder turns */
double world_angle(const struct nm_world *w, const struct robot *r, uint32_t joint);
double world_speed(const struct nm_world *w, const struct robot *r, uint32_t joint);
void world_read_contacts(struct nm_world *w);
void world_sample(struct nm_world *w);
void world_settle_sensors(struct nm_world *w, struct robot *r); /* after a robot was moved by hand */

/* world_act.c */
void world_reset_robot(struct nm_world *w, uint32_t robot);
void world_refresh(struct nm_world *w); /* positions and velocities changed from outside */
void world_apply_pushes(struct nm_world *w);
void world_follow_pendulum(struct nm_world *w); /* after a step: whom it met; takes it away after that */
void world_scene_pendulum(const struct nm_world *w, struct nm_scene *scene); /* unless it is parked */
struct pose3 world_base(const struct nm_world *w, const struct robot *r);
