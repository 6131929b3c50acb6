/* What stands where in the devices on a servo bus: control tables as rows of name, address, size and unit, for MX
 * servos with both firmwares, XM430 and XH540, the Dynaban firmware, sub-controllers, inertial units and foot boards.
 * Registers with the same meaning carry the same name in every table, so that a driver asks for "goal_position" and
 * never for an address. Values are SI: rad, rad/s, A, V, °C, N, m/s². Gyroscope and accelerometer rows are named by
 * the axis of the body (x forward, y left, z up), the mounting is in their sign.
 *
 * Sources: ROBOTIS e-manual; Rhoban DXLBoard, ForceFoot and Dynaban; Hamburg Bit-Bots' electronics manual. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nm_dxl_code { /* how bytes become a number */
                   NM_DXL_UNSIGNED,
                   NM_DXL_SIGNED,
                   NM_DXL_SIGN_BIT, /* magnitude in bits 0 to 9, bit 10 set: clockwise, negative */
                   NM_DXL_FLOAT,
};

enum nm_dxl_access {
    NM_DXL_R, /* read only */
    NM_DXL_RW,
    NM_DXL_STORED, /* read and write, kept without power; 2.0 refuses a write while torque is on */
};

struct nm_dxl_register {
    const char *name;
    uint16_t address;
    uint8_t size; /* bytes                                           */
    uint8_t code, access;
    float scale;      /* value = scale * (count - zero)                  */
    float zero;       /* counts                                          */
    const char *unit; /* "" for plain counts and flags                   */
    uint32_t initial; /* as it leaves the factory                        */
};

enum nm_dxl_kind { NM_DXL_SERVO, NM_DXL_CONTROLLER, NM_DXL_IMU, NM_DXL_FOOT, NM_DXL_PINS };

struct nm_dxl_model {
    const char *name;
    uint16_t number; /* as answered to a ping or read at address 0; 0 = has none    */
    uint8_t protocol;
    uint8_t kind;
    uint8_t usual_id;                        /* boards are found at fixed ids; 0 for servos                 */
    bool bulk;                               /* takes BULK_READ                                             */
    uint16_t ram;                            /* first address that is lost without power                    */
    uint16_t size;                           /* bytes of the control table                                  */
    uint8_t ring;                            /* records of the ring that holds the samples, 0 = plain rows  */
    uint8_t record;                          /* bytes of a record, its sequence number in the last four     */
    float stall_torque;                      /* Nm at 12 V                                                  */
    float ampere_torque;                     /* Nm/A                                                        */
    float resistance;                        /* ohm, of the winding                                         */
    float duty_per_count;                    /* duty of the bridge for one count of P gain and one radian   */
    const struct nm_dxl_register *registers; /* of the family           */
    const struct nm_dxl_register *more;      /* rows beyond the family's                 */
    uint16_t n, n_more;
};

/* All of them. */
const struct nm_dxl_model *nm_dxl_models(size_t *n);
/* By name ("MX-64"), case and dashes aside; protocol 0 takes the first of that name. NULL when unknown. */
const struct nm_dxl_model *nm_dxl_model(const char *name, int protocol);
const struct nm_dxl_model *nm_dxl_model_by_number(uint16_t number, int protocol);

const struct nm_dxl_register *nm_dxl_register(const struct nm_dxl_model *model, const char *name);
/* The i-th row of the two lists, NULL past the end. */
const struct nm_dxl_register *nm_dxl_register_at(const struct nm_dxl_model *model, size_t i);

/* Bytes of the register to its value, and back: rounded, and held inside what the bytes can say. NaN encodes as 0. */
double nm_dxl_decode(const struct nm_dxl_register *r, const uint8_t *bytes);
void nm_dxl_encode(const struct nm_dxl_register *r, double value, uint8_t *bytes);
