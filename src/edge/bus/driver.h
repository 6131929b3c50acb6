/* The servo bus of a robot: up to four wires with Dynamixel servos, inertial units, foot cells and sub-controllers,
 * driven by one thread. Each call of nm_bus_cycle writes the goals and reads the states of all devices once, on all
 * wires in parallel. It never takes longer than its limit: a missing answer costs its own time-out, not the cycle.
 *
 * No fault moves a joint. A servo gets goals only while it answers. When a servo comes back, the driver first checks
 * it, sets its goal to its present position (or to the goal it still holds), raises its torque in a ramp, and leads the
 * goal to the commanded one at a limited speed. Joints are damped when goals are too old. Each fault is reported once
 * with the name of the servo, and once more when it is over; a fault that flickers counts as one.
 *
 * If a servo has the maker's return delay, the driver sets it to 0 once, while the servo is limp. This is the only
 * stored register that the driver writes. All calls must come from one thread. Nothing is allocated after nm_bus_open.
 * Time comes from the io. Angles are those of the servos, zero in the middle of the turn; how the servos are mounted is
 * described in body/robot.h. */
#pragma once

#include "base/error.h"
#include "edge/bus/io.h"

#include <stdbool.h>

enum { NM_BUS_SERVOS = 32, NM_BUS_BOARDS = 8, NM_BUS_NAME = 32 };

/* One row of the servo table. */
struct nm_bus_servo {
    char name[NM_BUS_NAME];
    char model[24];   /* "MX-64", see codec/dynamixel_tables.h */
    uint8_t protocol; /* 1 or 2; 0: the first one of the model */
    uint8_t id, wire;
    double min, max;                           /* rad; equal: only the servo's own limits         */
    double start;                              /* rad, first position of a virtual servo          */
    uint16_t p, i, d;                          /* gains in the servo's counts; p = 0: the maker's */
    uint16_t velocity_feed, acceleration_feed; /* 2.0: feed-forward gains of the servo            */
    double torque;                             /* share of the servo's torque to use, 0: all      */
};

/* Anything on a wire that is not a servo. */
struct nm_bus_board {
    char name[NM_BUS_NAME];
    char model[24];
    uint8_t protocol, id, wire;
    double cell_zero[4], cell_gain[4]; /* force = gain * (reading - zero); gain 0 stands for 1 */
    double gyro_gain;                  /* of this unit, 0 stands for 1                         */
};

/* Times are in seconds. nm_bus_defaults suits a robot with a 1 ms adapter. */
struct nm_bus_settings {
    int wires;
    uint32_t baud[NM_BUS_WIRES];
    bool router[NM_BUS_WIRES];            /* a Rhoban router board answers on this wire                              */
    char path[NM_BUS_WIRES][NM_BUS_NAME]; /* for messages only                                                       */
    double cycle_limit;                   /* a cycle ends after this time, done or not                               */
    double answer_timeout;                /* silence after which an answer is missing                                */
    double goal_age;                      /* older goals damp the joints                                             */
    double start_hold;                    /* after opening, servos that have torque are held this long without goals */
    double start_ramp;                 /* torque rises from nothing to full when power is switched on                 */
    double loss_ramp;                  /* and after a servo was lost                                                  */
    double catch_up;                   /* rad/s, towards the commanded goal after a ramp                              */
    double damp_share;                 /* share of the torque that remains when goals are old                         */
    double damp_time;                  /* to reach that share                                                         */
    double damp_lag;                   /* the goal follows the joint with this lag: the larger, the stiffer the brake */
    double probe_first, probe_longest; /* pause between two questions to a lost device; it doubles each time          */
    int lost_after;                    /* missing answers in a row until a device counts as lost                      */
    int checks;          /* number of servos per cycle whose torque switch, voltage and temperature are read */
    double rest;         /* how long a servo that shut itself off rests before the next try                  */
    double power_settle; /* from switching a controller's power on to the first packet for a servo           */
    double low_voltage;  /* V, a lower voltage is reported; 0: never                                         */
    double hot;          /* °C, a higher temperature is reported; 0: never                                   */
    double calm;         /* a fault is over when it has been absent for this long                            */
};

/* A spline: five coefficients each of position (rad) and torque (Nm) over seconds. The Dynaban firmware follows it by
 * itself, so it is sent ahead. A new spline has a new number. */
struct nm_bus_spline {
    float position[5], torque[5];
    float duration;
    uint32_t number;
};

struct nm_bus_goal {
    double position;                    /* rad; not finite: hold                                                 */
    double velocity;                    /* rad/s and …                                                           */
    double torque;                      /* … Nm that the motion needs; fed forward through the servo's stiffness */
    double speed_limit;                 /* rad/s, 0: none                                                        */
    double torque_limit;                /* share, 0: the table's                                                 */
    double stiffness;                   /* share of the table's P gain, 0: all of it                             */
    const struct nm_bus_spline *spline; /* NULL: none                                                            */
};

struct nm_bus_goals {
    int64_t stamp; /* when they were made, in the io's time; 0: never */
    struct nm_bus_goal servo[NM_BUS_SERVOS];
    uint32_t led[NM_BUS_BOARDS][3]; /* CM-730: panel, head, eye; others: led_0 to led_2 */
};

enum nm_bus_phase {
    NM_BUS_LOST,   /* does not answer                                         */
    NM_BUS_FOUND,  /* answers; is being checked                               */
    NM_BUS_LIMP,   /* torque off                                              */
    NM_BUS_ARMING, /* torque switched on with limit 0; waits for confirmation */
    NM_BUS_RAMP,   /* torque rising                                           */
    NM_BUS_ON,     /* follows its goal                                        */
    NM_BUS_DAMPED, /* goals are old                                           */
};

struct nm_bus_servo_state {
    double position, velocity; /* rad, rad/s                 */
    double effort;             /* Nm, estimated by the servo */
    double voltage, temperature;
    int64_t stamp; /* time of the reading        */
    bool fresh;    /* read in this cycle         */
    uint8_t phase; /* enum nm_bus_phase          */
    uint8_t error; /* the last status error byte */
    double torque; /* share that is allowed now  */
    double goal;   /* rad, as sent               */
    uint32_t answered, missed;
};

struct nm_bus_board_state {
    double gyro[3], acc[3]; /* rad/s, m/s², body axes         */
    double orientation[4];  /* w x y z, of units that have it */
    double cell[4];         /* N (or counts, as calibrated)   */
    double voltage;         /* V                              */
    uint32_t buttons;       /* one bit each                   */
    int64_t stamp;
    bool fresh;
    uint32_t answered, missed;
};

struct nm_bus_states {
    struct nm_bus_servo_state servo[NM_BUS_SERVOS];
    struct nm_bus_board_state board[NM_BUS_BOARDS];
    double voltage;    /* V, the lowest recent reading; NaN: none */
    int64_t duration;  /* ns the cycle took                       */
    int64_t wire_time; /* ns the bytes of the busiest wire need   */
    int unread;        /* devices left out because time was short */
};

enum nm_bus_power {
    NM_BUS_LIMP_ALL, /* torque off, servos powered and read  */
    NM_BUS_DRIVE,    /* torque on                            */
    NM_BUS_CUT,      /* the controller's power switch is off */
};

enum nm_bus_fault_kind {
    NM_BUS_FAULT_ANSWERS,  /* missing, damaged or late           */
    NM_BUS_FAULT_RESET,    /* torque is off: the servo was reset */
    NM_BUS_FAULT_HARDWARE, /* overload, overheating, encoder …   */
    NM_BUS_FAULT_HOT,
    NM_BUS_FAULT_MODEL, /* not the device that the table says               */
    NM_BUS_FAULTS_OF_DEVICE,
    NM_BUS_FAULT_UNPLUGGED = NM_BUS_FAULTS_OF_DEVICE, /* of a wire                      */
    NM_BUS_FAULT_MUTE,                                /* no servo of a wire answers     */
    NM_BUS_FAULT_VOLTAGE,                             /* from here on, of the whole bus */
    NM_BUS_FAULT_GOALS,
    NM_BUS_FAULT_POWER,
};

struct nm_bus_event {
    int64_t time;
    enum nm_bus_fault_kind kind;
    bool begins;    /* false: it is over                */
    int servo;      /* row in the servo table, -1: none */
    int board;      /* row in the board table, -1: none */
    char text[160]; /* a sentence with the name         */
};

struct nm_bus_driver;

struct nm_bus_settings nm_bus_defaults(void);
/* Checks the tables, reports all their faults together, and copies them. The first cycle opens the wires. */
struct nm_bus_driver *nm_bus_open(const struct nm_bus_settings *settings, const struct nm_bus_servo *servos,
                                  int n_servos, const struct nm_bus_board *boards, int n_boards, struct nm_bus_io io,
                                  struct nm_err *err);
/* Leaves the servos as they are. To make them limp, switch the power off and run one more cycle first. */
void nm_bus_close(struct nm_bus_driver *bus);

/* Takes effect in the next cycles. At the start all servos are limp. */
void nm_bus_set_power(struct nm_bus_driver *bus, enum nm_bus_power power);

/* One round: sends goals and reads states. `states` keeps its old values where nothing new was read. */
void nm_bus_cycle(struct nm_bus_driver *bus, const struct nm_bus_goals *goals, struct nm_bus_states *states);

/* The next report, oldest first; false if there is none. If nobody reads them, the oldest are dropped. */
bool nm_bus_next_event(struct nm_bus_driver *bus, struct nm_bus_event *event);
