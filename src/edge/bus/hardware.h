/* The edge at which a line-up meets its body: servo goals go to the bus, what servos, inertial unit, feet and buttons
 * answer becomes the topics of the hardware (docs/body.md), stamped with the time at which it was read. One round of
 * the bus a call; in real time a thread makes the calls. Angles are the servos' own: modules turn them into joints.
 *
 * The line-up says how fast: a round has the period of the cycle that makes servo_goals (else of the one that reads
 * servo_states), ends within its deadline, and its thread has its priority. A robot whose buses need longer says so in
 * its folder (`round:` in servos.yaml), and then a round takes that. How old the readings of each device are is
 * published once a second on `diagnostics`, where the line-up has it. */
#ifndef NM_EDGE_BUS_HARDWARE_H
#define NM_EDGE_BUS_HARDWARE_H

#include "core/player.h"
#include "edge/bus/robot.h"

struct nm_hardware;

enum nm_hardware_kind {
    NM_HARDWARE_PORTS,   /* the serial ports of the robot's folder                             */
    NM_HARDWARE_VIRTUAL, /* devices without a body, behind pseudo terminals: the driver's twin */
};

/* Between nm_player_new and the start. NULL with sentences: no servos in the folder, a device nobody knows, no topic of
 * the hardware in the line-up. */
struct nm_hardware *nm_hardware_new(struct nm_player *player, const struct nm_body *body, enum nm_hardware_kind kind,
                                    struct nm_err *err);
/* The same on any wires and clock: the simulator's virtual bus, a test's. */
struct nm_hardware *nm_hardware_on(struct nm_player *player, const struct nm_body *body, struct nm_bus_io io,
                                   struct nm_err *err);
/* Stops, lets all joints go limp, and closes. NULL is fine. */
void nm_hardware_free(struct nm_hardware *hardware);

/* One round at the player's time `now`. */
void nm_hardware_step(struct nm_hardware *hardware, int64_t now);

/* Real time: a thread that makes the rounds. */
int nm_hardware_start(struct nm_hardware *hardware, struct nm_err *err);
int64_t nm_hardware_period(const struct nm_hardware *hardware); /* ns, of a round */

/* What the last round brought, for status and tests. */
const struct nm_bus_states *nm_hardware_states(const struct nm_hardware *hardware);

#endif
