/* A servo bus without servos: devices with their control tables that speak the true bytes with the true timing of the
 * baud rate (ten bits a byte, return delay, processing time, answers in the order of a bulk read, a missing device
 * blocking the later ones, damage where two talk at once). It runs in simulated time, driven through struct nm_bus_io,
 * or in its own thread behind pseudo terminals, where any program can open it as a serial port. Behind each device
 * stands a simulator's servo or a simple model of our own. Faults are injected by function calls.
 *
 * Nothing is allocated after nm_vbus_new and nm_vbus_add. While the thread runs, every call from another thread stands
 * between nm_vbus_lock and nm_vbus_unlock. */
#ifndef NM_EDGE_BUS_VIRTUAL_H
#define NM_EDGE_BUS_VIRTUAL_H

#include "base/error.h"
#include "codec/dynamixel.h"
#include "codec/dynamixel_tables.h"
#include "edge/bus/io.h"

#include <stdbool.h>

enum { NM_VBUS_DEVICES = 64, NM_VBUS_TABLE = 704 };

enum nm_vfault {
    NM_VFAULT_NONE,
    NM_VFAULT_CORRUPT, /* a byte arrives changed                                  */
    NM_VFAULT_CUT,     /* the answer stops half way                               */
    NM_VFAULT_LATE,    /* the host gets it late (and all that follows behind it)  */
    NM_VFAULT_MISSING, /* obeys, but does not answer                              */
    NM_VFAULT_DEAD,    /* without power; comes back reset, with torque off        */
};

struct nm_vdevice {
    uint8_t id, wire;
    uint8_t lane;     /* of a router board's three buses                              */
    uint8_t hardware; /* error bits: see nm_vdevice_shut_off                           */
    const struct nm_dxl_model *model;

    /* the simulator behind it; without one the built-in servo moves */
    void *self;
    void (*refresh)(void *self, struct nm_vdevice *d, int64_t now); /* before registers are read */
    void (*written)(void *self, struct nm_vdevice *d, uint16_t address, uint16_t size, int64_t now);

    /* the built-in servo: first order with a speed limit, still when its torque is off */
    double position, velocity; /* rad, rad/s, of the horn                    */
    double lag;                /* s, time constant                           */
    double top_speed;          /* rad/s at full torque limit                 */

    /* fault under way */
    enum nm_vfault fault;
    uint32_t fault_answers;   /* how many more answers it spoils            */
    int64_t fault_delay;      /* ns, of late ones                           */
    uint32_t answers, spoilt; /* answers given, and spoilt, so far          */

    int64_t stepped; /* time the built-in servo stands at            */
    int64_t up_at;   /* listens from then on (boot time)             */
    bool powered;
    uint16_t pending_address, pending_size; /* of a REG_WRITE */
    uint8_t pending[64];
    uint8_t table[NM_VBUS_TABLE], access[NM_VBUS_TABLE];
    const struct nm_dxl_register *torque_enable, *goal_position, *present_position, *present_velocity, *present_voltage,
        *torque_limit, *speed_limit, *return_delay, *return_level, *hardware_error, *registered, *min_voltage,
        *max_voltage, *voltage, *dxl_power, *sequence;
};

struct nm_vbus;

/* NULL only when out of memory. */
struct nm_vbus *nm_vbus_new(void);
void nm_vbus_free(struct nm_vbus *bus);

/* A wire: its baud rate; `router` makes it Rhoban's board with three buses behind a USB link. */
int nm_vbus_wire(struct nm_vbus *bus, int wire, uint32_t baud, bool router, struct nm_err *err);
/* A device with factory settings except return delay 0. Owned by the bus. NULL with a sentence when it cannot be. */
struct nm_vdevice *nm_vbus_add(struct nm_vbus *bus, int wire, uint8_t id, const char *model, int protocol,
                               struct nm_err *err);
struct nm_vdevice *nm_vbus_device(struct nm_vbus *bus, int wire, uint8_t id);

/* Registers by name, in SI units. Unknown names are ignored and read as NaN. */
void nm_vdevice_set(struct nm_vdevice *d, const char *name, double value);
double nm_vdevice_get(const struct nm_vdevice *d, const char *name);

/* The servo protects itself (NM_DXL_OVERLOAD, NM_DXL_OVERHEATING): 1.0 sets its torque limit to 0 until it is written
 * again, 2.0 switches its torque off until it is restarted. */
void nm_vdevice_shut_off(struct nm_vdevice *d, uint8_t bits);

/* Faults. `answers` is how many the fault spoils; UINT32_MAX: until told otherwise. NM_VFAULT_NONE ends any. */
void nm_vbus_fault(struct nm_vbus *bus, struct nm_vdevice *d, enum nm_vfault fault, uint32_t answers, int64_t delay);
/* Supply of all devices; below `brown_out` volts they lose power and boot again when it is back. */
void nm_vbus_supply(struct nm_vbus *bus, double volts);
/* Pulls the plug of a wire on the host's side (the servos stay powered), or puts it back. */
int nm_vbus_plug(struct nm_vbus *bus, int wire, bool in, struct nm_err *err);

struct nm_vbus_settings {
    int64_t answer_gap; /* ns a device needs before an answer, besides its return delay */
    int64_t boot_time;  /* ns from power to listening                                   */
    double brown_out;   /* V                                                            */
    bool bytewise;      /* each byte reaches the host by itself, not packet by packet   */
    int priority;       /* of its thread, SCHED_FIFO: devices do not wait for our CPU; 0: none */
};
struct nm_vbus_settings *nm_vbus_settings(struct nm_vbus *bus);

/* What happened on a wire so far. */
struct nm_vbus_counts {
    uint64_t host_bytes, device_bytes;
    uint32_t instructions, answers, collisions;
};
struct nm_vbus_counts nm_vbus_counts(const struct nm_vbus *bus, int wire);

/* Simulated time: the clock starts at 1 s and moves only in wait (and here). */
struct nm_bus_io nm_vbus_io(struct nm_vbus *bus);
void nm_vbus_advance(struct nm_vbus *bus, int64_t until);

/* Real time: one pseudo terminal a wire, reachable under links[wire] (a symbolic link, replaced when it is in the way;
 * NULL for wires that are not used). */
int nm_vbus_start(struct nm_vbus *bus, const char *const links[NM_BUS_WIRES], struct nm_err *err);
void nm_vbus_stop(struct nm_vbus *bus);
void nm_vbus_lock(struct nm_vbus *bus);
void nm_vbus_unlock(struct nm_vbus *bus);

#endif
