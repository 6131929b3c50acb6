#include "codec/dynamixel_tables.h"

#include "codec/dynamixel.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define TURN      6.283185307179586f
#define RPM       (TURN / 60)
#define DEG       (TURN / 360)
#define GRAVITY   9.80665f
#define PLAIN     1, 0, ""
#define STEP      (TURN / 4096), 0, "rad"
#define ANGLE     (TURN / 4096), 2048, "rad"
#define SPEED_1   (0.114f * RPM), 0, "rad/s"
#define SPEED_2   (0.229f * RPM), 0, "rad/s"
#define ACCEL_1   (8.583f * DEG), 0, "rad/s2"
#define ACCEL_2   (214.577f * TURN / 3600), 0, "rad/s2"
#define DECIVOLT  0.1f, 0, "V"
#define CELSIUS   1, 0, "°C"
#define SHARE_1   (1 / 1023.0f), 0, "of max"
#define SHARE_2   (1 / 885.0f), 0, "of max"
#define RETURN_US 2e-6f, 0, "s"
#define U         NM_DXL_UNSIGNED
#define S         NM_DXL_SIGNED
#define B         NM_DXL_SIGN_BIT
#define F         NM_DXL_FLOAT
#define R         NM_DXL_R
#define RW        NM_DXL_RW
#define EE        NM_DXL_STORED

/* MX with the 1.0 firmware; the rows from present_current on are missing in the MX-28. */
static const struct nm_dxl_register mx_1[] = {
    {"model_number", 0, 2, U, R, PLAIN, 0},
    {"firmware", 2, 1, U, R, PLAIN, 41},
    {"id", 3, 1, U, EE, PLAIN, 1},
    {"baud", 4, 1, U, EE, PLAIN, 34},
    {"return_delay", 5, 1, U, EE, RETURN_US, 250},
    {"cw_limit", 6, 2, U, EE, ANGLE, 0},
    {"ccw_limit", 8, 2, U, EE, ANGLE, 4095},
    {"temperature_limit", 11, 1, U, EE, CELSIUS, 80},
    {"min_voltage", 12, 1, U, EE, DECIVOLT, 60},
    {"max_voltage", 13, 1, U, EE, DECIVOLT, 160},
    {"max_torque", 14, 2, U, EE, SHARE_1, 1023},
    {"status_return_level", 16, 1, U, EE, PLAIN, 2},
    {"alarm_led", 17, 1, U, EE, PLAIN, 36},
    {"shutdown", 18, 1, U, EE, PLAIN, 36},
    {"turn_offset", 20, 2, S, EE, STEP, 0},
    {"resolution_divider", 22, 1, U, EE, PLAIN, 1},
    {"torque_enable", 24, 1, U, RW, PLAIN, 0},
    {"led", 25, 1, U, RW, PLAIN, 0},
    {"d_gain", 26, 1, U, RW, PLAIN, 0},
    {"i_gain", 27, 1, U, RW, PLAIN, 0},
    {"p_gain", 28, 1, U, RW, PLAIN, 32},
    {"goal_position", 30, 2, U, RW, ANGLE, 2048},
    {"speed_limit", 32, 2, U, RW, SPEED_1, 0},
    {"torque_limit", 34, 2, U, RW, SHARE_1, 1023},
    {"present_position", 36, 2, U, R, ANGLE, 2048},
    {"present_velocity", 38, 2, B, R, SPEED_1, 0},
    {"present_load", 40, 2, B, R, SHARE_1, 0},
    {"present_voltage", 42, 1, U, R, DECIVOLT, 120},
    {"present_temperature", 43, 1, U, R, CELSIUS, 35},
    {"registered", 44, 1, U, R, PLAIN, 0},
    {"moving", 46, 1, U, R, PLAIN, 0},
    {"lock", 47, 1, U, RW, PLAIN, 0},
    {"punch", 48, 2, U, RW, SHARE_1, 0},
    {"realtime_tick", 50, 2, U, R, 1e-3f, 0, "s", 0},
    {"acceleration_limit", 73, 1, U, RW, ACCEL_1, 0},
    {"present_current", 68, 2, U, R, 4.5e-3f, 2048, "A", 2048},
    {"torque_control", 70, 1, U, RW, PLAIN, 0},
    {"goal_current", 71, 2, B, RW, 4.5e-3f, 0, "A", 0},
    {"drive_mode", 10, 1, U, EE, PLAIN, 0},
};
enum { MX_1_ALL = sizeof mx_1 / sizeof mx_1[0], MX_106 = MX_1_ALL, MX_64 = MX_1_ALL - 1, MX_28 = MX_1_ALL - 4 };

/* Dynaban: polynomials of position (counts) and torque (Nm) over seconds, five coefficients each; a second pair waits
 * and follows when copy_next is 1. mode 0 plain, 3 feed-forward and PID along the trajectory. */
static const struct nm_dxl_register dynaban[] = {
    {"spline_position_size", 0x4A, 1, U, RW, PLAIN, 5},
    {"spline_position", 0x4B, 4, F, RW, TURN / 4096, 0, "rad", 0}, /* and four more, up to t^4 */
    {"spline_torque_size", 0x5F, 1, U, RW, PLAIN, 5},
    {"spline_torque", 0x60, 4, F, RW, 1, 0, "Nm", 0},
    {"spline_duration", 0x74, 2, U, RW, 1e-4f, 0, "s", 0},
    {"next_position_size", 0x76, 1, U, RW, PLAIN, 5},
    {"next_position", 0x77, 4, F, RW, TURN / 4096, 0, "rad", 0},
    {"next_torque_size", 0x8B, 1, U, RW, PLAIN, 5},
    {"next_torque", 0x8C, 4, F, RW, 1, 0, "Nm", 0},
    {"next_duration", 0xA0, 2, U, RW, 1e-4f, 0, "s", 0},
    {"mode", 0xA2, 1, U, RW, PLAIN, 0},
    {"copy_next", 0xA3, 1, U, RW, PLAIN, 0},
};

/* MX with the 2.0 firmware and the X series: the same places; what differs from model to model stands below. */
static const struct nm_dxl_register x_series[] = {
    {"model_number", 0, 2, U, R, PLAIN, 0},
    {"model_information", 2, 4, U, R, PLAIN, 0},
    {"firmware", 6, 1, U, R, PLAIN, 45},
    {"id", 7, 1, U, EE, PLAIN, 1},
    {"baud", 8, 1, U, EE, PLAIN, 1},
    {"return_delay", 9, 1, U, EE, RETURN_US, 250},
    {"drive_mode", 10, 1, U, EE, PLAIN, 0},
    {"operating_mode", 11, 1, U, EE, PLAIN, 3},
    {"shadow_id", 12, 1, U, EE, PLAIN, 255},
    {"protocol", 13, 1, U, EE, PLAIN, 2},
    {"homing_offset", 20, 4, S, EE, STEP, 0},
    {"moving_threshold", 24, 4, U, EE, SPEED_2, 10},
    {"temperature_limit", 31, 1, U, EE, CELSIUS, 80},
    {"max_voltage", 32, 2, U, EE, DECIVOLT, 160},
    {"min_voltage", 34, 2, U, EE, DECIVOLT, 95},
    {"pwm_limit", 36, 2, U, EE, SHARE_2, 885},
    {"max_acceleration", 40, 4, U, EE, ACCEL_2, 32767},
    {"max_position", 48, 4, S, EE, ANGLE, 4095},
    {"min_position", 52, 4, S, EE, ANGLE, 0},
    {"shutdown", 63, 1, U, EE, PLAIN, 52},
    {"torque_enable", 64, 1, U, RW, PLAIN, 0},
    {"led", 65, 1, U, RW, PLAIN, 0},
    {"status_return_level", 68, 1, U, RW, PLAIN, 2},
    {"registered", 69, 1, U, R, PLAIN, 0},
    {"hardware_error", 70, 1, U, R, PLAIN, 0},
    {"velocity_i_gain", 76, 2, U, RW, PLAIN, 1920},
    {"velocity_p_gain", 78, 2, U, RW, PLAIN, 100},
    {"d_gain", 80, 2, U, RW, PLAIN, 0},
    {"i_gain", 82, 2, U, RW, PLAIN, 0},
    {"acceleration_feed", 88, 2, U, RW, PLAIN, 0},
    {"velocity_feed", 90, 2, U, RW, PLAIN, 0},
    {"bus_watchdog", 98, 1, S, RW, 0.02f, 0, "s", 0},
    {"torque_limit", 100, 2, S, RW, SHARE_2, 885},
    {"goal_velocity", 104, 4, S, RW, SPEED_2, 0},
    {"acceleration_limit", 108, 4, U, RW, ACCEL_2, 0},
    {"speed_limit", 112, 4, U, RW, SPEED_2, 0},
    {"goal_position", 116, 4, S, RW, ANGLE, 2048},
    {"realtime_tick", 120, 2, U, R, 1e-3f, 0, "s", 0},
    {"moving", 122, 1, U, R, PLAIN, 0},
    {"moving_status", 123, 1, U, R, PLAIN, 0},
    {"present_pwm", 124, 2, S, R, SHARE_2, 0},
    {"present_velocity", 128, 4, S, R, SPEED_2, 0},
    {"present_position", 132, 4, S, R, ANGLE, 2048},
    {"velocity_trajectory", 136, 4, S, R, SPEED_2, 0},
    {"position_trajectory", 140, 4, S, R, ANGLE, 2048},
    {"present_voltage", 144, 2, U, R, DECIVOLT, 120},
    {"present_temperature", 146, 1, U, R, CELSIUS, 35},
};

#define X_OWN(SPEED, P)                                                                                                \
    {"max_speed", 44, 4, U, EE, SPEED_2, SPEED}, { "p_gain", 84, 2, U, RW, PLAIN, P }
#define X_CURRENT(AMPERE, LIMIT)                                                                                       \
    {"current_limit", 38, 2, U, EE, AMPERE, 0, "A", LIMIT}, {"goal_current", 102, 2, S, RW, AMPERE, 0, "A", LIMIT},    \
    {                                                                                                                  \
        "present_current", 126, 2, S, R, AMPERE, 0, "A", 0                                                             \
    }
static const struct nm_dxl_register mx28_2[] = {X_OWN(230, 850), {"present_load", 126, 2, S, R, 1e-3f, 0, "of max", 0}};
static const struct nm_dxl_register mx64_2[] = {X_OWN(285, 850), X_CURRENT(3.36e-3f, 1941)};
static const struct nm_dxl_register mx106_2[] = {X_OWN(210, 850), X_CURRENT(3.36e-3f, 2047)};
static const struct nm_dxl_register xm430[] = {X_OWN(200, 800), X_CURRENT(2.69e-3f, 1193)};
static const struct nm_dxl_register xh540[] = {X_OWN(167, 800), X_CURRENT(2.69e-3f, 2047)};

/* CM-730: 512 is zero. 3.66 deg/s a count as two teams measured, not the manual's 0.977; 128 counts a g. */
#define CM_GYRO(SIGN) (SIGN 3.66f * DEG), 512, "rad/s", 512
#define CM_ACC(SIGN)  (SIGN GRAVITY / 128), 512, "m/s2"
static const struct nm_dxl_register cm730[] = {
    {"model_number", 0, 2, U, R, PLAIN, 0x7300},
    {"firmware", 2, 1, U, R, PLAIN, 19},
    {"id", 3, 1, U, EE, PLAIN, 200},
    {"baud", 4, 1, U, EE, PLAIN, 1},
    {"return_delay", 5, 1, U, EE, RETURN_US, 0},
    {"status_return_level", 16, 1, U, EE, PLAIN, 2},
    {"dxl_power", 24, 1, U, RW, PLAIN, 0},
    {"led_panel", 25, 1, U, RW, PLAIN, 0},
    {"led_head", 26, 2, U, RW, PLAIN, 0}, /* bits 4..0 red, 9..5 green, 14..10 blue */
    {"led_eye", 28, 2, U, RW, PLAIN, 0},
    {"buttons", 30, 1, U, R, PLAIN, 0},
    {"gyro_z", 38, 2, U, R, CM_GYRO(+)},
    {"gyro_y", 40, 2, U, R, CM_GYRO(-)},
    {"gyro_x", 42, 2, U, R, CM_GYRO(-)},
    {"acc_y", 44, 2, U, R, CM_ACC(-), 512},
    {"acc_x", 46, 2, U, R, CM_ACC(+), 512},
    {"acc_z", 48, 2, U, R, CM_ACC(+), 640},
    {"voltage", 50, 1, U, R, DECIVOLT, 120},
    {"mic_left", 51, 2, U, R, PLAIN, 0},
    {"adc_2", 53, 2, U, R, PLAIN, 0},
    {"mic_right", 67, 2, U, R, PLAIN, 0},
    {"adc_10", 69, 2, U, R, PLAIN, 0},
};

#define GYRO_16(LSB) ((LSB)*DEG), 0, "rad/s", 0
#define ACC_16(LSB)  ((LSB)*GRAVITY), 0, "m/s2"
static const struct nm_dxl_register opencr[] = {
    {"model_number", 0, 2, U, R, PLAIN, 0x7400},
    {"firmware", 6, 1, U, R, PLAIN, 1},
    {"id", 7, 1, U, EE, PLAIN, 200},
    {"baud", 8, 1, U, EE, PLAIN, 4},
    {"return_delay", 9, 1, U, EE, RETURN_US, 0},
    {"dxl_power", 24, 1, U, RW, PLAIN, 0},
    {"led_panel", 25, 1, U, RW, PLAIN, 0},
    {"led_head", 26, 2, U, RW, PLAIN, 0},
    {"buzzer", 28, 2, U, RW, 1, 0, "Hz", 0},
    {"buttons", 30, 1, U, R, PLAIN, 0},
    {"voltage", 31, 1, U, R, DECIVOLT, 120},
    {"gyro_z", 32, 2, S, R, GYRO_16(2000.0f / 32768)},
    {"gyro_y", 34, 2, S, R, GYRO_16(2000.0f / 32768)},
    {"gyro_x", 36, 2, S, R, GYRO_16(2000.0f / 32768)},
    {"acc_x", 38, 2, S, R, ACC_16(2.0f / 32768), 0},
    {"acc_y", 40, 2, S, R, ACC_16(2.0f / 32768), 0},
    {"acc_z", 42, 2, S, R, ACC_16(2.0f / 32768), 16384},
    {"roll", 44, 2, S, R, 0.1f * DEG, 0, "rad", 0},
    {"pitch", 46, 2, S, R, 0.1f * DEG, 0, "rad", 0},
    {"yaw", 48, 2, S, R, 0.1f * DEG, 0, "rad", 0},
    {"imu_control", 50, 1, U, RW, PLAIN, 0},
};

/* Rhoban's router board. The rows of the GY-85 are those of the first of five records of 22 bytes. */
static const struct nm_dxl_register gy85[] = {
    {"model_number", 0, 2, U, R, PLAIN, 350},
    {"acc_x", 0x24, 2, S, R, ACC_16(1 / 256.0f), 0},
    {"acc_y", 0x26, 2, S, R, ACC_16(1 / 256.0f), 0},
    {"acc_z", 0x28, 2, S, R, ACC_16(1 / 256.0f), 256},
    {"gyro_x", 0x2A, 2, S, R, GYRO_16(1 / 14.375f)},
    {"gyro_y", 0x2C, 2, S, R, GYRO_16(1 / 14.375f)},
    {"gyro_z", 0x2E, 2, S, R, GYRO_16(1 / 14.375f)},
    {"magn_x", 0x30, 2, S, R, PLAIN, 0},
    {"magn_y", 0x32, 2, S, R, PLAIN, 0},
    {"magn_z", 0x34, 2, S, R, PLAIN, 0},
    {"sequence", 0x36, 4, U, R, PLAIN, 0},
};
static const struct nm_dxl_register bno055[] = {
    {"model_number", 0, 2, U, R, PLAIN, 8055},
    {"quaternion_w", 0x20, 2, S, R, 1 / 16384.0f, 0, "", 16384},
    {"quaternion_x", 0x22, 2, S, R, 1 / 16384.0f, 0, "", 0},
    {"quaternion_y", 0x24, 2, S, R, 1 / 16384.0f, 0, "", 0},
    {"quaternion_z", 0x26, 2, S, R, 1 / 16384.0f, 0, "", 0},
    {"gyro_calibration", 0x28, 1, U, R, PLAIN, 3},
    {"acc_calibration", 0x29, 1, U, R, PLAIN, 3},
    {"samples", 0x2A, 1, U, R, PLAIN, 0},
    {"gyro_x", 0x2E, 2, S, R, GYRO_16(1 / 16.0f)},
    {"gyro_y", 0x30, 2, S, R, GYRO_16(1 / 16.0f)},
    {"gyro_z", 0x32, 2, S, R, GYRO_16(1 / 16.0f)},
};
static const struct nm_dxl_register pins[] = {
    {"model_number", 0, 2, U, R, PLAIN, 6000},
    {"buttons", 0x24, 2, U, R, PLAIN, 0},
    {"voltage", 0x26, 2, U, R, 1e-3f, 0, "V", 12000},
};

/* Foot boards: four cells each. */
static const struct nm_dxl_register fsr[] = {
    {"model_number", 0, 2, U, R, PLAIN, 340},
    {"firmware", 2, 1, U, R, PLAIN, 1},
    {"id", 3, 1, U, EE, PLAIN, 111},
    {"baud", 4, 1, U, EE, PLAIN, 1},
    {"return_delay", 5, 1, U, EE, RETURN_US, 0},
    {"cell_0", 26, 2, U, R, 1e-3f, 0, "N", 0},
    {"cell_1", 28, 2, U, R, 1e-3f, 0, "N", 0},
    {"cell_2", 30, 2, U, R, 1e-3f, 0, "N", 0},
    {"cell_3", 32, 2, U, R, 1e-3f, 0, "N", 0},
    {"centre_x", 34, 1, U, R, PLAIN, 255},
    {"centre_y", 35, 1, U, R, PLAIN, 255},
    {"voltage", 42, 1, U, R, DECIVOLT, 120},
};
static const struct nm_dxl_register force_foot[] = {
    {"model_number", 0, 2, U, R, PLAIN, 5004}, {"firmware", 2, 1, U, R, PLAIN, 1},  {"id", 3, 1, U, R, PLAIN, 123},
    {"led", 0x19, 1, U, R, PLAIN, 0},          {"cell_0", 0x24, 3, S, R, PLAIN, 0}, {"cell_1", 0x27, 3, S, R, PLAIN, 0},
    {"cell_2", 0x2A, 3, S, R, PLAIN, 0},       {"cell_3", 0x2D, 3, S, R, PLAIN, 0},
};
static const struct nm_dxl_register bit_foot[] = {
    {"id", 7, 1, U, EE, PLAIN, 101},   {"baud", 8, 1, U, EE, PLAIN, 4},
    {"cell_0", 36, 4, F, R, PLAIN, 0}, /* front left, front right, back left, back right */
    {"cell_1", 40, 4, F, R, PLAIN, 0}, {"cell_2", 44, 4, F, R, PLAIN, 0},
    {"cell_3", 48, 4, F, R, PLAIN, 0},
};

/* Hamburg Bit-Bots' inertial unit (rad/s, m/s², as floats) and power board. */
static const struct nm_dxl_register bit_imu[] = {
    {"id", 7, 1, U, EE, PLAIN, 241},           {"baud", 8, 1, U, EE, PLAIN, 4},
    {"led_0", 10, 4, U, RW, PLAIN, 0},         {"led_1", 14, 4, U, RW, PLAIN, 0},
    {"led_2", 18, 4, U, RW, PLAIN, 0},         {"gyro_x", 36, 4, F, R, 1, 0, "rad/s", 0},
    {"gyro_y", 40, 4, F, R, 1, 0, "rad/s", 0}, {"gyro_z", 44, 4, F, R, 1, 0, "rad/s", 0},
    {"acc_x", 48, 4, F, R, 1, 0, "m/s2", 0},   {"acc_y", 52, 4, F, R, 1, 0, "m/s2", 0},
    {"acc_z", 56, 4, F, R, 1, 0, "m/s2", 0},   {"quaternion_x", 60, 4, F, R, PLAIN, 0},
    {"quaternion_y", 64, 4, F, R, PLAIN, 0},   {"quaternion_z", 68, 4, F, R, PLAIN, 0},
    {"quaternion_w", 72, 4, F, R, PLAIN, 0},   {"buttons", 76, 1, U, R, PLAIN, 0}, /* the first of three, one a byte */
    {"button_1", 77, 1, U, R, PLAIN, 0},       {"button_2", 78, 1, U, R, PLAIN, 0},
};
#define RAIL (3.3f / 1024 / (2 / 12.0f)), 0, "V"
static const struct nm_dxl_register bit_core[] = {
    {"id", 7, 1, U, EE, PLAIN, 42},
    {"led_0", 10, 4, U, RW, PLAIN, 0},
    {"led_1", 14, 4, U, RW, PLAIN, 0},
    {"led_2", 18, 4, U, RW, PLAIN, 0},
    {"dxl_power", 23, 1, U, RW, PLAIN, 0},
    {"voltage_external", 28, 2, S, R, RAIL, 0},
    {"voltage_logic", 30, 2, S, R, RAIL, 0},
    {"voltage", 32, 2, S, R, RAIL, 620},
    {"current", 34, 2, S, R, -3.3f / 1024 / 0.066f, 2.5f * 1024 / 3.3f, "A", 776},
    {"buttons", 36, 2, S, R, PLAIN, 0},
};

/* Duty of the bridge for a count of P gain and a radian of error: 0.158 measured for the 1.0 firmware; 2.0 from the
 * units of gain and PWM, (1/128) * (4096/2pi) / 885. */
#define DUTY_1      0.158f
#define DUTY_2      (4096 / TURN / 128 / 885)
#define ROWS(list)  .registers = list, .n = sizeof list / sizeof list[0]
#define MORE(list)  .more = list, .n_more = sizeof list / sizeof list[0]
#define MX28_MOTOR  .stall_torque = 2.5f, .ampere_torque = 1.786f, .resistance = 8.57f
#define MX64_MOTOR  .stall_torque = 6.0f, .ampere_torque = 1.6225f, .resistance = 3.949f
#define MX106_MOTOR .stall_torque = 8.4f, .ampere_torque = 2.1914f, .resistance = 2.965f
#define SERVO_1(SIZE)                                                                                                  \
    .protocol = 1, .kind = NM_DXL_SERVO, .bulk = true, .ram = 24, .size = SIZE, .duty_per_count = DUTY_1
#define SERVO_2              .protocol = 2, .kind = NM_DXL_SERVO, .bulk = true, .ram = 64, .size = 662, .duty_per_count = DUTY_2
#define BOARD_1(K, ID, SIZE) .protocol = 1, .kind = K, .usual_id = ID, .ram = 24, .size = SIZE
#define BOARD_2(K, ID, SIZE) .protocol = 2, .kind = K, .usual_id = ID, .ram = 10, .size = SIZE, .bulk = true

static const struct nm_dxl_model models[] = {
    {.name = "MX-28", .number = 29, SERVO_1(74), MX28_MOTOR, .registers = mx_1, .n = MX_28},
    {.name = "MX-64", .number = 310, SERVO_1(74), MX64_MOTOR, .registers = mx_1, .n = MX_64},
    {.name = "MX-106", .number = 320, SERVO_1(74), MX106_MOTOR, .registers = mx_1, .n = MX_106},
    {.name = "MX-64-Dynaban", /* calls itself a MX-64 */
     .number = 310,
     SERVO_1(0xD0),
     MX64_MOTOR,
     .registers = mx_1,
     .n = MX_64,
     MORE(dynaban)},
    {.name = "MX-28", .number = 30, SERVO_2, MX28_MOTOR, ROWS(x_series), MORE(mx28_2)},
    {.name = "MX-64", .number = 311, SERVO_2, MX64_MOTOR, ROWS(x_series), MORE(mx64_2)},
    {.name = "MX-106", .number = 321, SERVO_2, MX106_MOTOR, ROWS(x_series), MORE(mx106_2)},
    {.name = "XM430-W350",
     .number = 1020,
     SERVO_2,
     .stall_torque = 4.1f,
     .ampere_torque = 4.1f / 2.3f,
     .resistance = 12 / 2.3f,
     ROWS(x_series),
     MORE(xm430)},
    {.name = "XH540-W270",
     .number = 1100,
     SERVO_2,
     .stall_torque = 9.9f,
     .ampere_torque = 9.9f / 4.9f,
     .resistance = 12 / 4.9f,
     ROWS(x_series),
     MORE(xh540)},
    {.name = "CM-730", .number = 0x7300, BOARD_1(NM_DXL_CONTROLLER, 200, 81), .bulk = true, ROWS(cm730)},
    {.name = "OpenCR", .number = 0x7400, BOARD_2(NM_DXL_CONTROLLER, 200, 51), ROWS(opencr)},
    {.name = "GY-85", .number = 350, BOARD_1(NM_DXL_IMU, 241, 0x24 + 110), .ring = 5, .record = 22, ROWS(gy85)},
    {.name = "BNO055", .number = 8055, BOARD_1(NM_DXL_IMU, 241, 0x34), ROWS(bno055)},
    {.name = "Pins", .number = 6000, BOARD_1(NM_DXL_PINS, 242, 0x28), ROWS(pins)},
    {.name = "FSR", .number = 340, BOARD_1(NM_DXL_FOOT, 111, 43), .bulk = true, ROWS(fsr)},
    {.name = "ForceFoot", .number = 5004, BOARD_1(NM_DXL_FOOT, 123, 0x30), ROWS(force_foot)},
    {.name = "BitFoot", BOARD_2(NM_DXL_FOOT, 101, 52), ROWS(bit_foot)},
    {.name = "BitIMU", BOARD_2(NM_DXL_IMU, 241, 79), ROWS(bit_imu)},
    {.name = "BitCORE", BOARD_2(NM_DXL_CONTROLLER, 42, 50), ROWS(bit_core)},
};

const struct nm_dxl_model *nm_dxl_models(size_t *n)
{
    *n = sizeof models / sizeof models[0];
    return models;
}

/* "mx64", "MX-64" and "Mx 64" are one name. */
static bool same_name(const char *a, const char *b)
{
    for (;;) {
        while (*a && !isalnum((unsigned char)*a)) a++;
        while (*b && !isalnum((unsigned char)*b)) b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
        a++, b++;
    }
}

const struct nm_dxl_model *nm_dxl_model(const char *name, int protocol)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (same_name(models[i].name, name) && (!protocol || models[i].protocol == protocol)) return &models[i];
    return NULL;
}

const struct nm_dxl_model *nm_dxl_model_by_number(uint16_t number, int protocol)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (models[i].number && models[i].number == number && models[i].protocol == protocol) return &models[i];
    return NULL;
}

const struct nm_dxl_register *nm_dxl_register_at(const struct nm_dxl_model *model, size_t i)
{
    if (i < model->n) return &model->registers[i];
    return i - model->n < model->n_more ? &model->more[i - model->n] : NULL;
}

const struct nm_dxl_register *nm_dxl_register(const struct nm_dxl_model *model, const char *name)
{
    const struct nm_dxl_register *r;
    for (size_t i = 0; (r = nm_dxl_register_at(model, i)); i++)
        if (!strcmp(r->name, name)) return r;
    return NULL;
}

double nm_dxl_decode(const struct nm_dxl_register *r, const uint8_t *bytes)
{
    uint32_t raw = nm_dxl_get(bytes, r->size);
    double count = raw;
    if (r->code == NM_DXL_SIGNED && r->size < 4 && raw >> (8 * r->size - 1)) count -= (double)(1u << (8 * r->size));
    if (r->code == NM_DXL_SIGNED && r->size == 4) count = (int32_t)raw;
    if (r->code == NM_DXL_SIGN_BIT) count = raw & 1024 ? -(double)(raw & 1023) : (double)(raw & 1023);
    if (r->code == NM_DXL_FLOAT) {
        float f;
        memcpy(&f, &raw, sizeof f);
        count = (double)f;
    }
    return (double)r->scale * (count - (double)r->zero);
}

void nm_dxl_encode(const struct nm_dxl_register *r, double value, uint8_t *bytes)
{
    double count = value / (double)r->scale + (double)r->zero;
    double bits = 8.0 * r->size;
    if (r->code == NM_DXL_FLOAT) {
        float f = (float)count;
        uint32_t raw;
        memcpy(&raw, &f, sizeof raw);
        nm_dxl_put(bytes, isnan(count) ? 0 : raw, r->size);
        return;
    }
    double most = r->code == NM_DXL_SIGN_BIT ? 1023 : r->code == NM_DXL_SIGNED ? exp2(bits - 1) - 1 : exp2(bits) - 1;
    double least = r->code == NM_DXL_SIGN_BIT ? -1023 : r->code == NM_DXL_SIGNED ? -exp2(bits - 1) : 0;
    if (isnan(count)) count = 0;
    int64_t n = (int64_t)nearbyint(count < least ? least : count > most ? most : count);
    if (r->code == NM_DXL_SIGN_BIT && n < 0) n = 1024 - n;
    nm_dxl_put(bytes, (uint32_t)n, r->size);
}
