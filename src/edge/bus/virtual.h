/* A servo bus without servos: devices with control tables that send the true bytes with the true timing of the baud
 * rate. The timing includes ten bits per byte, the return delay, the processing time, answers in the order of a bulk
 * read, a missing device that blocks the later ones, and damage when two talk at the same time. The bus runs in
 * simulated time, driven through struct nm_bus_io, or in its own thread behind pseudo terminals, which any program can
 * open as serial ports. Behind each device there is a servo of the simulator or a simple built-in model. Faults are
 * injected by function calls.
 *
 * Nothing is allocated after nm_vbus_new and nm_vbus_add. While the thread runs, other threads must call these
 * functions between nm_vbus_lock and nm_vbus_unlock. */
#pragma once

#include "base/error.h"
#include "codec/dynamixel.h"
#include "codec/dynamixel_tables.h"
#include "edge/bus/io.h"

#include <stdbool.h>

enum { NM_VBUS_DEVICES = 64, NM_VBUS_TABLE = 704 };

enum nm_vfault {
    NM_VFAULT_NONE,
    NM_VFAULT_CORRUPT, /* a byte arrives changed                                */
    NM_VFAULT_CUT,     /* the answer stops half way                             */
    NM_VFAULT_LATE,    /* the answer arrives late, and everything after it, too */
    NM_VFAULT_MISSING, /* the device obeys, but does not answer                 */
    NM_VFAULT_DEAD,    /* no power; the device returns reset, with torque off   */
};

struct nm_vdevice {
    uint8_t id, wire;
    uint8_t lane;     /* of a router board's three buses     */
    uint8_t hardware; /* error bits, see nm_vdevice_shut_off */
    const struct nm_dxl_model *model;

    /* the simulator behind the device; without one the built-in servo moves */
    void *self;
    void (*refresh)(void *self, struct nm_vdevice *d, int64_t now); /* before registers are read */
    void (*written)(void *self, struct nm_vdevice *d, uint16_t address, uint16_t size, int64_t now);

    /* the built-in servo: first order with a speed limit; it stands still while its torque is off */
    double position, velocity; /* rad, rad/s, of the horn    */
    double lag;                /* s, time constant           */
    double top_speed;          /* rad/s at full torque limit */

    /* the present fault */
    enum nm_vfault fault;
    uint32_t fault_answers;   /* how many more answers it damages  */
    int64_t fault_delay;      /* ns, of late answers               */
    uint32_t answers, spoilt; /* answers sent, and damaged, so far */

    int64_t stepped; /* time of the built-in servo's present state */
    int64_t up_at;   /* listens from this time on (boot time)      */
    bool powered;
    uint16_t pending_address, pending_size; /* of a REG_WRITE */
    uint8_t pending[64];
    uint8_t table[NM_VBUS_TABLE], access[NM_VBUS_TABLE];
    const struct nm_dxl_register *torque_enable, *goal_position, *present_position, *present_velocity, *present_voltage,
        *torque_limit, *speed_limit, *return_delay, *return_level, *hardware_error, *registered, *min_voltage,
        *max_voltage, *voltage, *dxl_power, *sequence;
};

struct nm_vbus;

/* NULL if there is no memory. */
struct nm_vbus *nm_vbus_new(void);
void nm_vbus_free(struct nm_vbus *bus);

/* Adds a wire with a baud rate. With `router` it is Rhoban's board with three buses behind a USB link. */
int nm_vbus_wire(struct nm_vbus *bus, int wire, uint32_t baud, bool router, struct nm_err *err);
/* Adds a device with factory settings, except that its return delay is 0. The bus owns it. NULL with a sentence. */
struct nm_vdevice *nm_vbus_add(struct nm_vbus *bus, int wire, uint8_t id, const char *model, int protocol,
                               struct nm_err *err);
struct nm_vdevice *nm_vbus_device(struct nm_vbus *bus, int wire, uint8_t id);

/* Registers by name, in SI units. Unknown names are ignored and read as NaN. */
void nm_vdevice_set(struct nm_vdevice *d, const char *name, double value);
double nm_vdevice_get(const struct nm_vdevice *d, const char *name);

/* The servo protects itself (NM_DXL_OVERLOAD, NM_DXL_OVERHEATING). Protocol 1.0 sets its torque limit to 0 until the
 * limit is written again; 2.0 switches its torque off until the servo is restarted. */
void nm_vdevice_shut_off(struct nm_vdevice *d, uint8_t bits);

/* Injects a fault. `answers` is how many it damages; UINT32_MAX: until the next call. NM_VFAULT_NONE ends any fault. */
void nm_vbus_fault(struct nm_vbus *bus, struct nm_vdevice *d, enum nm_vfault fault, uint32_t answers, int64_t delay);
/* Sets the supply of all devices; below `brown_out` volts they lose power, and later boot again. */
void nm_vbus_supply(struct nm_vbus *bus, double volts);
/* Unplugs a wire on the host's side (the servos keep their power), or plugs it in again. */
int nm_vbus_plug(struct nm_vbus *bus, int wire, bool in, struct nm_err *err);

struct nm_vbus_settings {
    int64_t answer_gap; /* ns a device needs before an answer, besides its return delay                 */
    int64_t boot_time;  /* ns from power to listening                                                   */
    double brown_out;   /* V                                                                            */
    bool bytewise;      /* bytes reach the host one by one, not packet by packet                        */
    int priority;       /* of its thread (SCHED_FIFO), so that devices do not wait for the CPU; 0: none */
};
struct nm_vbus_settings *nm_vbus_settings(struct nm_vbus *bus);

/* Counts what happened on a wire so far. */
struct nm_vbus_counts {
    uint32_t answers, collisions;
};
struct nm_vbus_counts nm_vbus_counts(const struct nm_vbus *bus, int wire);

/* Simulated time: the clock starts at 1 s and moves only in the io's wait and in nm_vbus_advance. */
struct nm_bus_io nm_vbus_io(struct nm_vbus *bus);
void nm_vbus_advance(struct nm_vbus *bus, int64_t until);

/* Real time: each wire gets a pseudo terminal. links[wire] becomes a symbolic link to it and replaces an older link; it
 * is NULL for wires that are not used. */
int nm_vbus_start(struct nm_vbus *bus, const char *const links[NM_BUS_WIRES], struct nm_err *err);
void nm_vbus_stop(struct nm_vbus *bus);
void nm_vbus_lock(struct nm_vbus *bus);
void nm_vbus_unlock(struct nm_vbus *bus);
