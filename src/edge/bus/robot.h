/* From a robot's folder (body/robot.h) to the tables of the servo driver, and from those tables to a virtual bus with
 * the same devices on it. */
#ifndef NM_EDGE_BUS_ROBOT_H
#define NM_EDGE_BUS_ROBOT_H

#include "body/robot.h"
#include "edge/bus/driver.h"
#include "edge/bus/virtual.h"

struct nm_bus_tables {
    struct nm_bus_settings set; /* wires, baud rates and paths from the folder, the rest by default */
    const char *port[NM_BUS_WIRES];
    struct nm_bus_servo servos[NM_BUS_SERVOS];
    struct nm_bus_board boards[NM_BUS_BOARDS];
    int n_servos, n_boards;
    double voltage; /* V, the robot's nominal supply */
};

/* Servos stand in the order of body->servos. A device's kind is a model's name, or foot, imu, pins, board: then the
 * model with the nearest usual id is meant. Texts are the body's. -1 with sentences. */
int nm_bus_tables(const struct nm_body *body, struct nm_bus_tables *tables, struct nm_err *err);

/* NULL with a sentence. */
struct nm_vbus *nm_vbus_of_tables(const struct nm_bus_tables *tables, struct nm_err *err);

#endif
