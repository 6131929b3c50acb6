/* Makes the tables of the servo driver from a robot's folder (body/robot.h), and a virtual bus with the same devices
 * from those tables. */
#pragma once

#include "body/robot.h"
#include "edge/bus/driver.h"
#include "edge/bus/virtual.h"

struct nm_bus_tables {
    struct nm_bus_settings set; /* wires, baud rates and paths from the folder, the rest are defaults */
    const char *port[NM_BUS_WIRES];
    struct nm_bus_servo servos[NM_BUS_SERVOS];
    struct nm_bus_board boards[NM_BUS_BOARDS];
    int n_servos, n_boards;
    double voltage; /* V, the robot's nominal supply */
};

/* The servos have the order of body->servos. The kind of a device is the name of a model, or foot, imu, pins or board;
 * then the model whose usual id is nearest is taken. Texts belong to the body. -1 with sentences. */
int nm_bus_tables(const struct nm_body *body, struct nm_bus_tables *tables, struct nm_err *err);

/* NULL with a sentence. */
struct nm_vbus *nm_vbus_of_tables(const struct nm_bus_tables *tables, struct nm_err *err);
