/* Private to edge/bus: the state of the driver, shared by driver.c (tables, the cycle, faults), driver_servo.c (what
 * servos and boards say and what servos are told) and driver_wire.c (which packets a cycle holds, and the talk on a
 * wire). */
#pragma once

#include "base/fault.h"
#include "codec/dynamixel.h"
#include "codec/dynamixel_tables.h"
#include "edge/bus/driver.h"

enum {
    BUS_DEVICES = NM_BUS_SERVOS + NM_BUS_BOARDS,
    BUS_ITEMS = 3 * BUS_DEVICES,
    BUS_REQUESTS = 64,
    BUS_WRITES = 5 * NM_BUS_SERVOS,
    BUS_WRITE_ROOM = 48, /* bytes of one write, the longest is a spline */
    BUS_EVENTS = 64,
};

struct span { /* of a control table */
    uint16_t address, size;
};

/* Why an answer is missing. No device is blamed for a question that was lost because another device failed. */
enum blame { BLAME_NONE, BLAME_SILENT, BLAME_DAMAGED, BLAME_LATE };

/* What servos and boards have in common: an address on a wire, and whether it answers. */
struct device {
    const struct nm_dxl_model *model;
    const struct nm_dxl_register *return_delay;
    const char *name;
    uint8_t id, wire;
    int16_t servo, board; /* row, or -1                                     */
    bool lost;
    uint16_t silent;  /* times in a row without an answer */
    bool missed_now;  /* in this cycle                    */
    enum blame blame; /* in this cycle                    */
    int64_t probe_at, probe_wait;
    uint8_t error; /* of the last status                             */
    uint32_t answered, missed;
    bool unread;     /* left out of the last cycle, which had no time for it */
    bool identified; /* model number and return delay were read              */
    uint8_t identify_tries;
    bool delay_wrong; /* return delay is not zero */
    bool reboot;      /* asked for                */
    struct nm_fault faults[NM_BUS_FAULTS_OF_DEVICE];
};

struct servo {
    struct nm_bus_servo row;
    struct device *device;
    const struct nm_dxl_register *torque_enable, *goal_position, *speed_limit, *torque_limit, *position, *velocity,
        *load, *current, *voltage, *temperature, *p, *i, *d, *hardware_error, *velocity_feed, *acceleration_feed, *mode;
    struct span fast, slow, verify, setup, goal_span;

    /* as read, in the servo's own angles */
    double at, speed, effort, volts, celsius;
    int64_t read_at; /* time of the position                                 */
    bool confirmed;  /* two readings agreed                                  */
    double doubtful; /* a reading that was too far off to be trusted at once */
    bool doubt;
    bool verified; /* torque switch read since it was found or armed        */
    bool torque_on;
    double share_read, goal_read; /* NaN: not read                             */
    uint8_t hardware;             /* hardware error bits                       */
    bool shut_off;                /* by the servo itself: overload, heat       */
    bool settings_wrong;          /* gains or limits differ from what was sent */

    /* as sent to the servo */
    enum nm_bus_phase phase;
    bool check;                         /* its torque switch must be read soon                       */
    uint32_t turns;                     /* number of checks so far                                   */
    double goal, target, target_before; /* sent, wanted, wanted one cycle ago; in the servo's angles */
    bool started;                       /* has had full torque since the power was switched on       */
    bool caught_up;
    double share; /* of the torque          */
    double ramp;  /* s, of the present ramp */
    int64_t armed_at;
    uint8_t arm_tries;
    int64_t arm_again;          /* not before then                 */
    int off_cycles;             /* repeats of "torque off"         */
    int sent_limit, sent_speed; /* counts, -1: unknown             */
    uint32_t sent_p;            /* count                           */
    uint32_t spline;            /* number sent last                */
    int64_t spline_end;         /* the servo follows it until then */
};

struct board {
    struct nm_bus_board row;
    struct device *device;
    const struct nm_dxl_register *gyro[3], *acc[3], *orientation[4], *cell[4], *voltage, *buttons, *more_buttons[2],
        *dxl_power, *led[3];
    struct span block;
    int dxl_power_read;  /* -1: not yet      */
    int64_t power_since; /* switched on then */
    uint32_t led_sent[3];
    bool led_known[3];
    struct nm_bus_board_state state;
};

/* A read of this cycle. */
struct item {
    struct device *device;
    struct span span;
    bool done, missed;
};

enum request_kind { ASK_BULK, ASK_SYNC, ASK_ROUTER, ASK_READ, ASK_WRITE, ASK_REBOOT };

struct request {
    enum request_kind kind;
    uint8_t protocol;
    uint16_t first, n; /* of the wire's items             */
    bool probe;        /* a missing answer is not a fault */
    uint8_t data[4];   /* of a write                      */
};

/* A write of this cycle. Writes of one stage to the same registers become one packet. */
struct write {
    struct device *device;
    uint8_t stage;
    bool taken;
    struct span span;
    uint8_t data[BUS_WRITE_ROOM];
};

struct wire {
    bool gone;       /* pulled out, or not opened yet         */
    int64_t open_at; /* next try                              */
    int64_t asleep;  /* nothing is sent to servos before then */
    int64_t byte_ns;
    struct nm_dxl_parser parser;
    uint8_t tx[2 * NM_DXL_PACKET_MAX];
    size_t tx_n, tx_at;
    int64_t host_end;  /* when our last byte is on the wire                           */
    int64_t gap;       /* by which answers take longer than planned                   */
    int64_t asked_end; /* the question and the answers since need at least until then */
    int64_t question_end;
    int asked_from;   /* first item of the question                              */
    int64_t quiet_at; /* the answers of an abandoned request have passed by then */
    struct write writes[BUS_WRITES];
    int n_writes;
    struct item items[BUS_ITEMS];
    int n_items;
    struct request requests[BUS_REQUESTS];
    int n_requests;
    int request; /* the present or next one */
    int done;    /* of its items            */
    bool waiting;
    int64_t timeout;                   /* of the answer waited for                    */
    struct device *disturber;          /* the device that missed an answer first …    */
    int64_t disturbed_at;              /* … and when                                  */
    int disturbed;                     /* devices that failed after it                */
    uint32_t damage;                   /* parser's counters when the request went out */
    uint64_t bytes;                    /* both ways in this cycle                     */
    int servos_asked, servos_answered; /* in this cycle                               */
    int mute_cycles;                   /* in a row in which no servo answered         */
    struct nm_fault unplugged, mute;
};

struct nm_bus_driver {
    struct nm_bus_settings set;
    struct nm_bus_io io;
    int n_servos, n_boards, n_devices;
    struct servo servos[NM_BUS_SERVOS];
    struct board boards[NM_BUS_BOARDS];
    struct device devices[BUS_DEVICES];
    struct wire wires[NM_BUS_WIRES];
    enum nm_bus_power power;
    int64_t opened, now, deadline, last;
    int64_t goal_stamp; /* of the goals of this cycle               */
    int turn;           /* the servo whose turn it is to be checked */
    uint32_t cycles;
    struct nm_fault voltage, goals, supply;
    struct nm_bus_event events[BUS_EVENTS];
    uint32_t event_at, event_n;
};

static inline int64_t nanoseconds(double s) { return (int64_t)(s * 1e9); }

static inline bool span_covers(struct span s, const struct nm_dxl_register *r)
{
    return r && r->address >= s.address && r->address + r->size <= s.address + s.size;
}

/* Servos and foot boards get their power through the switch of the controller on their wire. */
static inline bool sleeps(const struct nm_bus_driver *bus, const struct device *d)
{
    return (d->servo >= 0 || d->model->kind == NM_DXL_FOOT) && bus->now < bus->wires[d->wire].asleep;
}

/* driver.c: faults, reported once when they begin and once when they are over (base/fault.h) */
void fault_seen(struct nm_bus_driver *bus, struct nm_fault *f, enum nm_bus_fault_kind kind, const struct device *d,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* driver_servo.c */
void servo_bind(struct servo *s);
/* Stores what was read. */
void servo_read(struct nm_bus_driver *bus, struct servo *s, struct span span, const uint8_t *data);

void servo_lost(struct servo *s);
void servo_found(struct servo *s);
/* Advances the phase of the servo and adds the writes of this cycle to its wire. */
void servo_control(struct nm_bus_driver *bus, struct servo *s, const struct nm_bus_goals *goals, double dt);
void board_bind(struct board *b);
void board_read(struct nm_bus_driver *bus, struct board *b, struct span span, const uint8_t *data);

/* driver_wire.c */
/* The packets of this cycle: plan_writes joins the writes, plan_wire adds the questions after them. */
void plan_wire(struct nm_bus_driver *bus, int wire, const struct nm_bus_goals *goals);
void plan_writes(struct wire *w);
void wire_begin(struct nm_bus_driver *bus, int wire);
/* Does what can be done now; returns the time at which there is more to do, INT64_MAX: the wire is done. */
int64_t wire_progress(struct nm_bus_driver *bus, int wire);
void wire_end(struct nm_bus_driver *bus, int wire);
