/* The edge between a line-up and its body: servo goals go to the bus, and the answers of servos, inertial unit, feet
 * and buttons become the topics of the hardware (docs/body.md), stamped with the time at which they were read. Each
 * call makes one round of the bus; in real time a thread makes the calls. Angles are the servos' own; modules convert
 * them to joints.
 *
 * The line-up sets the pace: a round has the period of the cycle that publishes servo_goals (or else of the cycle that
 * reads servo_states) and ends within its deadline, and the thread has the priority of that cycle. If the buses of a
 * robot need longer, its folder says so (`round:` in servos.yaml), and a round takes that time. Once a second the age
 * of the readings of each device is published on `diagnostics`, if the line-up has that topic. */
#pragma once

#include "core/player.h"
#include "edge/bus/bus_tables.h"

struct nm_hardware;

enum nm_hardware_kind {
    NM_HARDWARE_PORTS,   /* the serial ports of the robot's folder                  */
    NM_HARDWARE_VIRTUAL, /* virtual devices without a body, behind pseudo terminals */
};

/* Call it between nm_player_new and nm_player_start. NULL with sentences: the folder has no servos, a device is
 * unknown, or the line-up has no topic of the hardware. */
struct nm_hardware *nm_hardware_new(struct nm_player *player, const struct nm_body *body, enum nm_hardware_kind kind,
                                    struct nm_err *err);
/* The same on any wires and clock, such as the virtual bus of the simulator or of a test. */
struct nm_hardware *nm_hardware_on(struct nm_player *player, const struct nm_body *body, struct nm_bus_io io,
                                   struct nm_err *err);
/* Stops, makes all joints limp, and closes the ports. NULL is allowed. */
void nm_hardware_free(struct nm_hardware *hardware);

/* One round at the player's time `now`. */
void nm_hardware_step(struct nm_hardware *hardware, int64_t now);

/* Real time: starts the thread that makes the rounds. */
int nm_hardware_start(struct nm_hardware *hardware, struct nm_err *err);
int64_t nm_hardware_period(const struct nm_hardware *hardware); /* ns, of a round */

/* The states of the last round, for status and tests. */
const struct nm_bus_states *nm_hardware_states(const struct nm_hardware *hardware);
