#include "cmd/motors.h"

#include <math.h>
#include <string.h>

#include "body/kinematics.h"

/* Stall torque and no-load speed of Dynamixel servos are their data sheets' at 12 V and grow with the supply; the
 * others are what makers write into URDFs. A NAO's file has the torques that its motors may give for long; they stall
 * at more (B-Human's simulation). Armatures: identified for MX (Rhoban), fitted for XM430 (MuJoCo menagerie), else
 * scaled. */
enum maker { DYNAMIXEL_1, DYNAMIXEL_2, OTHER };
static const struct motor {
    const char *name;
    enum maker maker;
    double torque, speed; /* Nm, rad/s                                          */
    double armature;      /* kg m2                                              */
    double stalls;        /* times the torque that is written; 0: at that torque */
} motors[] = {
    {"MX-28", DYNAMIXEL_1, 2.5, 5.76, 0.005, 0},       {"MX-64", DYNAMIXEL_1, 6.0, 6.60, 0.012, 0},
    {"MX-106", DYNAMIXEL_1, 8.4, 4.71, 0.0266, 0},     {"XM430-W350", DYNAMIXEL_2, 4.1, 4.82, 0.045, 0},
    {"XM430-W210", DYNAMIXEL_2, 3.0, 8.06, 0.016, 0},  {"XM540-W270", DYNAMIXEL_2, 10.6, 3.14, 0.05, 0},
    {"XM540-W150", DYNAMIXEL_2, 7.3, 5.55, 0.017, 0},  {"XH430-W350", DYNAMIXEL_2, 3.4, 3.14, 0.03, 0},
    {"XH430-W210", DYNAMIXEL_2, 2.5, 5.24, 0.011, 0},  {"XH540-W270", DYNAMIXEL_2, 9.9, 4.08, 0.05, 0},
    {"XH540-W150", DYNAMIXEL_2, 7.1, 7.33, 0.017, 0},  {"XL430-W250", DYNAMIXEL_2, 1.5, 6.39, 0.008, 0},
    {"XL-320", DYNAMIXEL_2, 0.39, 11.9, 0.002, 0},     {"NAO_knee", OTHER, 3.02, 6.40, 0.012, 1.65},
    {"NAO_hip_roll", OTHER, 3.35, 4.16, 0.02, 1.65},   {"NAO_arm_yaw", OTHER, 1.55, 8.27, 0.004, 1.65},
    {"NAO_arm_roll", OTHER, 1.53, 7.19, 0.004, 1.65},  {"Booster_T1_hip_pitch", OTHER, 45, 15.2, 0.03, 0},
    {"Booster_T1_hip", OTHER, 25, 7.1, 0.03, 0},       {"Booster_T1_knee", OTHER, 60, 14.7, 0.04, 0},
    {"Booster_T1_ankle", OTHER, 24, 12.9, 0.02, 0},    {"Booster_K1_hip_pitch", OTHER, 30, 7.1, 0.03, 0},
    {"Booster_K1_hip_roll", OTHER, 35, 12.9, 0.03, 0}, {"Booster_K1_knee", OTHER, 40, 12.5, 0.03, 0},
    {"Booster_K1_ankle", OTHER, 20, 18.1, 0.015, 0},   {"Unitree_G1_hip", OTHER, 88, 32, 0.01, 0},
    {"Unitree_G1_knee", OTHER, 139, 20, 0.025, 0},     {"Unitree_G1_ankle", OTHER, 50, 37, 0.007, 0},
    {"Unitree_G1_arm", OTHER, 25, 37, 0.004, 0},       {"Unitree_H1_hip", OTHER, 200, 23, 0.05, 0},
    {"Unitree_H1_knee", OTHER, 300, 14, 0.1, 0},
};

/* 0 for limits that are the motor's. Those of a servo may both be written for another supply. */
static double distance(const struct motor *m, double torque, double speed)
{
    double a = log(torque / m->torque), b = log(speed / m->speed), supply = (a + b) / 2;
    if (m->maker == OTHER) return fabs(a) + fabs(b);
    return fabs(a - b) + fmax(0, fmax(supply - log(14.9 / 12), log(11 / 12.0) - supply));
}

static bool is_servo(const struct motor *m) { return m->maker != OTHER; }

/* Among servos, or among other motors: a robot has one kind or the other. */
static const struct motor *motor_like(double torque, double speed, bool servo)
{
    static const double ALIKE = 0.15;
    const struct motor *best = NULL;
    for (size_t i = 0; i < sizeof motors / sizeof *motors; i++)
        if (is_servo(&motors[i]) == servo &&
            distance(&motors[i], torque, speed) < (best ? distance(best, torque, speed) : ALIKE))
            best = &motors[i];
    return best;
}

static bool is_in(const struct nm_group group[2], uint32_t joint)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < group[side].n; i++)
            if (group[side].joints[i] == joint) return true;
    return false;
}

struct build {
    double moment; /* Nm, weight times legs */
    double rate;   /* rad/s, of a fall through the legs */
};

static struct build build_of(const struct nm_body *body)
{
    struct nm_kin kin;
    double zero[NM_JOINTS] = {0}, leg = body->height / 2;
    nm_forward(body, POSE_IDENTITY, zero, &kin);
    if (body->leg[0].n) leg = kin.pose[body->leg[0].joints[0] + 1].pos.z - kin.pose[body->foot[0].sole].pos.z;
    leg = fmax(leg, 0.02);
    return (struct build){body->mass * 9.81 * leg, sqrt(9.81 / leg)};
}

/* Torques in shares of weight times legs: kid70 has 0.6 in its legs, a darwin 0.4, a G1 0.4 to 0.7. */
static void limits_of(const struct nm_body *body, uint32_t joint, struct build b, double *torque, double *speed,
                      bool *guessed)
{
    static const double MOST = 2.5, LEAST[] = {0.05, 0.01}, USUAL[] = {0.65, 0.2}, FASTEST = 60, USUAL_SPEED = 1.1;
    const struct nm_joint *j = &body->joints[joint];
    int leg = is_in(body->leg, joint) ? 0 : 1;
    *torque = j->effort, *speed = j->velocity;
    bool odd = !(*torque > LEAST[leg] * b.moment && *torque < MOST * b.moment);
    bool odd_speed = !(*speed > 0.2 && *speed < FASTEST);
    if (odd) *torque = USUAL[leg] * b.moment;
    if (odd_speed) *speed = USUAL_SPEED * b.rate;
    *guessed = odd || odd_speed;
}

static const double SMALL_GEAR = 10;                      /* rad/s: what is faster has a small gear */
static const double DRIVE_DAMPING = 0.1;                  /* s/rad, of the torque                   */
static const double HEAVY_CELLS = 13, HEAVY_VOLTAGE = 50; /* of a body that is not for servos of 12 V */

/* A direct-current motor with that stall torque and that no-load speed. A gain of 32 asks for all of the torque at a
 * fifth of a radian, as in servos. Fast joints have small gears, and so little friction and little inertia; their
 * drives damp by control, which takes from the torque and costs no power: a higher back-EMF. */
static struct nm_servo_type motor_with(const char *name, double torque, double speed, double voltage, double armature)
{
    bool small_gear = speed > SMALL_GEAR;
    double slows = 1 / speed + (small_gear ? DRIVE_DAMPING : 0); /* of the torque, for each rad/s */
    struct nm_servo_type t = {.name = name, .kt = voltage * slows, .max_torque = torque, .no_load_speed = speed};
    t.resistance = voltage * t.kt / torque;
    t.armature = armature > 0 ? armature : torque * (small_gear ? 4e-4 : 2.2e-3);
    t.friction = torque * (small_gear ? 0.005 : 0.012);
    t.damping = torque / speed * 0.02;
    t.duty_gain = 0.158;
    t.max_duty = 1;
    t.encoder_steps = small_gear ? 16384 : 4096;
    t.backlash = small_gear ? 0.002 : 0.0058;
    t.max_temperature = small_gear ? 95 : 80;
    t.heat_capacity = 60 + 6 * torque;
    t.thermal_resistance = 6 / (1 + torque / 20);
    t.max_voltage = 1.15 * voltage, t.min_voltage = 0.65 * voltage;
    return t;
}

static uint32_t type_named(struct motors *m, struct nm_arena *arena, const struct nm_body *like, const struct motor *as,
                           double torque, double speed)
{
    const char *name = as ? as->name : nm_take_format(arena, "motor_%.3gNm", torque);
    for (uint32_t i = 0; i < like->n_servo_types && as && m->voltage == like->voltage; i++)
        if (!strcmp(like->servo_types[i].name, name)) {
            for (uint32_t k = 0; k < m->n_types; k++)
                if (!strcmp(m->types[k].name, name)) return k;
            m->types[m->n_types] = like->servo_types[i];
            return m->n_types++;
        }
    if (as && as->stalls > 0) torque *= as->stalls;
    for (uint32_t k = 0; k < m->n_types; k++) {
        const struct nm_servo_type *t = &m->types[k];
        size_t length = strlen(name);
        if (!strncmp(t->name, name, length) && (!t->name[length] || t->name[length] == '_') &&
            fabs(t->max_torque - torque) < 0.02 * torque && fabs(t->no_load_speed - speed) < 0.02 * speed)
            return k;
    }
    for (uint32_t k = 0; k < m->n_types; k++)
        if (!strcmp(m->types[k].name, name)) name = nm_take_format(arena, "%s_%u", name, m->n_types + 1);
    m->types[m->n_types] = motor_with(name, torque, speed, m->voltage, as ? as->armature : 0);
    return m->n_types++;
}

/* Both legs together must be several times as stiff as the weight tips the body over. */
static uint32_t gain_of(const struct nm_body *body, uint32_t joint, struct build b, const struct nm_servo_type *t,
                        double voltage)
{
    static const double STIFF = 2.2, MOST = 254; /* times weight x legs, of each joint of a leg; as firmware allows */
    double usual = t->no_load_speed > SMALL_GEAR ? 48 : 32, stall = t->kt * voltage / t->resistance;
    double moves = 1; /* rad for each radian of the motor, with the joints that follow; it bears their torques, too */
    for (uint32_t j = 0; j < body->n_joints; j++)
        if (body->joints[j].mimic == (int32_t)joint && is_in(body->leg, j)) moves += fabs(body->joints[j].multiplier);
    if (!is_in(body->leg, joint)) return (uint32_t)usual;
    return (uint32_t)fmin(fmax(usual, ceil(STIFF * moves * moves * b.moment / (t->duty_gain * stall))), MOST);
}

/* Its voltage sinks under load as that of the other robot, whose motors are measured. */
static struct nm_battery battery_of(const struct nm_body *body, const struct nm_body *like, const struct motors *m)
{
    double stall = 0, other = 0;
    for (uint32_t j = 0; j < body->n_joints; j++)
        if (body->joints[j].mimic < 0) stall += m->voltage / m->types[m->type_of[j]].resistance;
    for (uint32_t i = 0; i < like->n_servos; i++)
        other += like->voltage / like->servo_types[like->servos[i].type].resistance;
    struct nm_battery b = {HEAVY_CELLS, like->battery.capacity * body->mass / like->mass * like->voltage / m->voltage,
                           0, 60};
    b.resistance = like->battery.resistance * m->voltage / like->voltage * other / stall;
    return b;
}

/* Whether more joints have the limits of servos than those of other motors. */
static bool has_servos(const struct nm_body *body, struct build b)
{
    int more = 0;
    for (uint32_t j = 0; j < body->n_joints; j++) {
        double torque, speed;
        bool odd;
        limits_of(body, j, b, &torque, &speed, &odd);
        if (!odd) more += (motor_like(torque, speed, true) != NULL) - (motor_like(torque, speed, false) != NULL);
    }
    return more >= 0;
}

void motors_choose(struct nm_arena *arena, const struct nm_body *body, const struct nm_body *like, struct motors *to,
                   struct nm_err *said)
{
    static const double HEAVY = 12; /* kg */
    struct build b = build_of(body);
    uint32_t guessed = 0, known = 0, driven = 0;
    const char *first = NULL;
    bool heavy = body->mass > HEAVY;
    *to = (struct motors){.voltage = heavy ? HEAVY_VOLTAGE : like->voltage, .protocol = 1};
    bool servos = has_servos(body, b);
    for (uint32_t j = 0; j < body->n_joints; j++) {
        double torque, speed;
        bool odd;
        if (body->joints[j].mimic >= 0) continue; /* another one's motor moves it, too */
        limits_of(body, j, b, &torque, &speed, &odd);
        const struct motor *as = odd ? NULL : motor_like(torque, speed, servos);
        to->type_of[j] = type_named(to, arena, like, as, torque, speed);
        to->p[j] = gain_of(body, j, b, &to->types[to->type_of[j]], to->voltage);
        if (as && as->maker == DYNAMIXEL_2) to->protocol = 2;
        if (odd && !guessed++) first = body->joints[j].name;
        known += as != NULL;
        driven++;
    }
    to->battery = heavy ? battery_of(body, like, to) : like->battery;
    uint32_t others = driven - known - guessed;
    if (known) nm_fail(said, "motors: %u of %u joints have the limits of a motor that is known", known, driven);
    if (others) nm_fail(said, "motors: %u of %u joints get a motor with the limits of the URDF", others, driven);
    if (guessed)
        nm_fail(
            said,
            "motors: effort or velocity of %u of %u joints is missing or cannot be that of %.1f kg on legs like these, "
            "the first is %s: they get motors in proportion to the weight",
            guessed, driven, body->mass, first);
}
