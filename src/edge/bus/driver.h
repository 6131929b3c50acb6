/* The servo bus of a robot: up to four wires with Dynamixel servos, inertial units, foot cells and sub-controllers,
 * driven together by one thread. A call of nm_bus_cycle writes the goals and reads the states of everything once, the
 * wires in parallel, and never takes longer than its limit: one missing answer costs its time-out, not the cycle.
 *
 * What it promises. No fault moves a joint: a servo gets goals only while it answers; whoever comes back is looked at
 * first, its goal set to where it stands (or to the goal it still holds), its torque raised in a ramp, and the goal
 * led to the commanded one at a limited speed. Joints are damped when goals grow old. Each fault is reported once, by
 * the name of the servo, and once more when it is over; one that flickers is one fault.
 *
 * A servo with the maker's return delay has it set to 0, once, while it is limp: the only stored register it writes.
 * All calls come from one thread. Nothing is allocated after nm_bus_open. Time comes from the io. Angles are those that
 * the servos count, zero in the middle of the turn; how they are mounted is not known here (body/robot.h). */
#ifndef NM_EDGE_BUS_DRIVER_H
#define NM_EDGE_BUS_DRIVER_H

#include "base/error.h"
#include "edge/bus/io.h"

#include <stdbool.h>

enum { NM_BUS_SERVOS = 32, NM_BUS_BOARDS = 8, NM_BUS_NAME = 32 };

/* One row of the servo table. */
struct nm_bus_servo {
    char name[NM_BUS_NAME];
    char model[24];   /* "MX-64", see codec/dynamixel_tables.h             */
    uint8_t protocol; /* 1 or 2, 0: the model's first                      */
    uint8_t id, wire;
    double min, max;                           /* rad; equal: no limit but the servo's own          */
    double start;                              /* rad, where a virtual one stands at first          */
    uint16_t p, i, d;                          /* gains in the servo's counts; p = 0: the maker's   */
    uint16_t velocity_feed, acceleration_feed; /* 2.0: the servo's own feed-forward gains */
    double torque;                             /* share of the servo's torque to use, 0: all        */
};

/* Anything on a wire that is no servo. */
struct nm_bus_board {
    char name[NM_BUS_NAME];
    char model[24];
    uint8_t protocol, id, wire;
    double cell_zero[4], cell_gain[4]; /* force = gain * (reading - zero); gain 0 stands for 1 */
    double gyro_gain;                  /* of this unit, 0 stands for 1                         */
};

/* Times in seconds. nm_bus_defaults gives what a robot with a 1 ms adapter wants. */
struct nm_bus_settings {
    int wires;
    uint32_t baud[NM_BUS_WIRES];
    bool router[NM_BUS_WIRES];            /* a Rhoban router board answers on this wire           */
    char path[NM_BUS_WIRES][NM_BUS_NAME]; /* for sentences only                                   */
    double cycle_limit;                   /* a cycle ends then, done or not                       */
    double answer_timeout;                /* silence after which an answer is missing             */
    double goal_age;                      /* older goals damp the joints                          */
    double start_hold;                 /* after opening, servos found with torque on are held that long without goals */
    double start_ramp;                 /* torque from nothing to full when power is switched on                       */
    double loss_ramp;                  /* the same after a servo was lost                                             */
    double catch_up;                   /* rad/s, towards the commanded goal after a ramp                              */
    double damp_share;                 /* torque that is left when goals are old                                      */
    double damp_time;                  /* to get there                                                                */
    double damp_lag;                   /* the goal follows the joint with this lag: the larger, the stiffer the brake */
    double probe_first, probe_longest; /* pause between two questions to a lost device, doubling */
    int lost_after;                    /* missing answers in a row until a device counts as lost                      */
    int checks;                        /* servos a cycle whose torque switch, voltage and temperature are read        */
    double rest;                       /* of a servo that shut itself off, before it is tried again */
    double power_settle;               /* from switching a controller's power on to the first word to a servo         */
    double low_voltage;                /* V, reported below; 0: never                                                 */
    double hot;  /* °C, reported above; 0: never                                                */
    double calm; /* a fault is over after that long without it                                  */
};

/* Five coefficients each of position (rad) and torque (Nm) over seconds: the Dynaban firmware follows them by
 * itself, so they are sent ahead. A new one has a new number. */
struct nm_bus_spline {
    float position[5], torque[5];
    float duration;
    uint32_t number;
};

struct nm_bus_goal {
    double position;     /* rad; not finite: hold                                                     */
    double velocity;     /* rad/s and …                                                               */
    double torque;       /* … Nm that the motion needs, fed forward through the servo's stiffness     */
    double speed_limit;  /* rad/s, 0: none                                                            */
    double torque_limit; /* share, 0: the table's                                                     */
    double stiffness;    /* share of the table's P gain, 0: all of it                                 */
    const struct nm_bus_spline *spline; /* NULL: none                                                */
};

struct nm_bus_goals {
    int64_t stamp; /* when they were made, in the io's time; 0: never */
    struct nm_bus_goal servo[NM_BUS_SERVOS];
    uint32_t led[NM_BUS_BOARDS][3]; /* CM-730: panel, head, eye; others: led_0 to led_2 */
};

enum nm_bus_phase {
    NM_BUS_LOST,   /* does not answer                                            */
    NM_BUS_FOUND,  /* answers; is being looked at                                */
    NM_BUS_LIMP,   /* torque off                                                 */
    NM_BUS_ARMING, /* torque switched on at no strength; waiting for its word    */
    NM_BUS_RAMP,   /* torque rising                                              */
    NM_BUS_ON,     /* follows                                                    */
    NM_BUS_DAMPED, /* goals are old                                              */
};

struct nm_bus_servo_state {
    double position, velocity; /* rad, rad/s                                     */
    double effort;             /* Nm, estimated by the servo                     */
    double voltage, temperature;
    int64_t stamp; /* time of the reading                            */
    bool fresh;    /* read in this cycle                             */
    uint8_t phase; /* enum nm_bus_phase                              */
    uint8_t error; /* the last status error byte                     */
    double torque; /* share now allowed                              */
    double goal;   /* rad, as sent                                   */
    uint32_t answered, missed;
};

struct nm_bus_board_state {
    double gyro[3], acc[3]; /* rad/s, m/s², body axes                 */
    double orientation[4];  /* w x y z, of units that have it         */
    double cell[4];         /* N (or counts, as calibrated)           */
    double voltage;         /* V                                      */
    uint32_t buttons;       /* a bit each                             */
    int64_t stamp;
    bool fresh;
    uint32_t answered, missed;
};

struct nm_bus_states {
    struct nm_bus_servo_state servo[NM_BUS_SERVOS];
    struct nm_bus_board_state board[NM_BUS_BOARDS];
    double voltage;    /* V, the lowest read lately, NaN: none        */
    int64_t duration;  /* ns the cycle took                           */
    int64_t wire_time; /* ns the bytes of the busiest wire need       */
    int unread;        /* devices the limit left out in this cycle    */
};

enum nm_bus_power {
    NM_BUS_LIMP_ALL, /* torque off, servos powered and read */
    NM_BUS_DRIVE,    /* torque on                           */
    NM_BUS_CUT,      /* the controller's power switch off   */
};

enum nm_bus_fault_kind {
    NM_BUS_FAULT_ANSWERS,  /* missing, damaged or late                         */
    NM_BUS_FAULT_RESET,    /* torque was gone: the servo has been reset        */
    NM_BUS_FAULT_HARDWARE, /* overload, overheating, encoder …                 */
    NM_BUS_FAULT_HOT,
    NM_BUS_FAULT_MODEL, /* another device than the table says               */
    NM_BUS_FAULTS_OF_DEVICE,
    NM_BUS_FAULT_UNPLUGGED = NM_BUS_FAULTS_OF_DEVICE, /* of a wire */
    NM_BUS_FAULT_MUTE,                                /* no servo of a wire answers */
    NM_BUS_FAULT_VOLTAGE,                             /* of the whole bus from here on */
    NM_BUS_FAULT_GOALS,
    NM_BUS_FAULT_POWER,
};

struct nm_bus_event {
    int64_t time;
    enum nm_bus_fault_kind kind;
    bool begins;    /* false: it is over                       */
    int servo;      /* row in the servo table, -1: none        */
    int board;      /* row in the board table, -1: none        */
    char text[160]; /* a sentence with the name                */
};

struct nm_bus_driver;

struct nm_bus_settings nm_bus_defaults(void);
/* Checks the tables (all faults in one go) and takes copies. Opens the wires at the first cycle. */
struct nm_bus_driver *nm_bus_open(const struct nm_bus_settings *settings, const struct nm_bus_servo *servos,
                                  int n_servos, const struct nm_bus_board *boards, int n_boards, struct nm_bus_io io,
                                  struct nm_err *err);
/* Servos stay as they are: switch the power off in a cycle before, if they shall be limp. */
void nm_bus_close(struct nm_bus_driver *bus);

/* Takes effect in the next cycles. Starts limp. */
void nm_bus_set_power(struct nm_bus_driver *bus, enum nm_bus_power power);
/* Restarts a servo that has shut itself off; it is limp meanwhile and comes back in a ramp. */
void nm_bus_reboot(struct nm_bus_driver *bus, int servo);

/* One round: goals out, states in. `states` keeps its old values where nothing new was read. */
void nm_bus_cycle(struct nm_bus_driver *bus, const struct nm_bus_goals *goals, struct nm_bus_states *states);

/* The next report, oldest first; false when there is none. Without a reader the oldest are dropped. */
bool nm_bus_next_event(struct nm_bus_driver *bus, struct nm_bus_event *event);

#endif
