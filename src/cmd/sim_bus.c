/* The real servo driver in the simulator: each robot has a virtual bus with the devices of its folder, whose registers
 * show what the world measures and whose writes move the world's servos. Every byte goes over the wire in its own time,
 * and faults are those of a bus: a dead device, a missing answer, a plug pulled. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/sim_play.h"
#include "edge/bus/hardware.h"

struct rig {
    const struct nm_body *body;
    struct nm_bus_tables tables;
    struct nm_vbus *wires;
    struct nm_hardware *hardware;
    struct nm_feed feed;
    int64_t began;                            /* ns, of the wires' clock at the world's time 0 */
    struct nm_faults faults;                  /* in force since the last round */
    struct nm_vdevice *servos[NM_BUS_SERVOS]; /* in the order of the folder */
    struct nm_vdevice *boards[NM_BUS_BOARDS];
    const struct nm_sense *sense; /* of this round */
    struct nm_joint_goal goals[NM_JOINTS];
};

/* ---- servos ---- */

/* Which servo of the folder a device is. */
static const struct nm_servo *servo_of(const struct rig *rig, const struct nm_vdevice *d)
{
    for (uint32_t i = 0; i < rig->body->n_servos; i++)
        if (rig->servos[i] == d) return &rig->body->servos[i];
    return NULL;
}

static void refresh(void *self, struct nm_vdevice *d, int64_t now)
{
    struct rig *rig = self;
    const struct nm_servo *servo = servo_of(rig, d);
    (void)now;
    if (!servo || !rig->sense) return;
    const struct nm_joint_reading *r = &rig->sense->joints[servo->joint];
    nm_vdevice_set(d, "present_position", nm_servo_of_joint(servo, r->position));
    nm_vdevice_set(d, "present_velocity", nm_servo_turn(servo, r->velocity));
    nm_vdevice_set(d, "present_load", nm_servo_turn(servo, r->load));
    nm_vdevice_set(d, "present_voltage", rig->sense->voltage);
    nm_vdevice_set(d, "present_temperature", r->warmth);
}

/* What the firmware would do with its registers. */
static void obey(struct rig *rig, const struct nm_servo *servo, const struct nm_vdevice *d)
{
    struct nm_joint_goal *goal = &rig->goals[servo->joint];
    double position = nm_vdevice_get(d, "goal_position"), limit = nm_vdevice_get(d, "torque_limit"),
           p = nm_vdevice_get(d, "p_gain");
    goal->on = d->powered && nm_vdevice_get(d, "torque_enable") > 0 && limit > 0;
    if (isfinite(position)) goal->position = nm_joint_of_servo(servo, position);
    goal->torque_limit = isfinite(limit) ? fmin(fabs(limit), 1) : 1;
    goal->p = isfinite(p) ? p : 0;
}

/* ---- boards ---- */

static void show_imu(struct nm_vdevice *d, const Imu *imu)
{
    nm_vdevice_set(d, "gyro_x", imu->angular_velocity.x);
    nm_vdevice_set(d, "gyro_y", imu->angular_velocity.y);
    nm_vdevice_set(d, "gyro_z", imu->angular_velocity.z);
    nm_vdevice_set(d, "acc_x", imu->linear_acceleration.x);
    nm_vdevice_set(d, "acc_y", imu->linear_acceleration.y);
    nm_vdevice_set(d, "acc_z", imu->linear_acceleration.z);
}

static bool is_imu(const struct nm_vdevice *d) { return nm_dxl_register(d->model, "gyro_x"); }
static bool is_foot(const struct nm_vdevice *d) { return nm_dxl_register(d->model, "cell_0"); }

/* The feed knows what a frozen or spiking sensor shows; a lost one is the wire's to simulate. */
static void show_boards(struct rig *rig, const struct nm_faults *faults)
{
    static const char *const cells[NM_CELLS] = {"cell_0", "cell_1", "cell_2", "cell_3"};
    struct nm_faults shown = *faults;
    Imu imu = {0};
    FootPressure feet = {0};
    shown.imu_lost = shown.bus_lost = shown.foot_lost[0] = shown.foot_lost[1] = false;
    bool has_imu = nm_feed_imu(&rig->feed, &shown, rig->sense, &imu),
         has_feet = nm_feed_feet(&rig->feed, &shown, rig->sense, &feet);
    for (int i = 0; i < rig->tables.n_boards; i++) {
        struct nm_vdevice *d = rig->boards[i];
        const SolePressure *sole = strstr(rig->tables.boards[i].name, "right") ? &feet.right : &feet.left;
        if (has_imu && is_imu(d)) show_imu(d, &imu);
        for (int c = 0; has_feet && is_foot(d) && c < NM_CELLS; c++) nm_vdevice_set(d, cells[c], sole->cells[c]);
    }
}

/* ---- faults ---- */

static void fault_if(struct rig *rig, struct nm_vdevice *d, bool was, bool is, enum nm_vfault fault)
{
    if (was != is) nm_vbus_fault(rig->wires, d, is ? fault : NM_VFAULT_NONE, UINT32_MAX, 0);
}

static void suffer(struct rig *rig, const struct nm_faults *now)
{
    const struct nm_faults *was = &rig->faults;
    for (uint32_t i = 0; i < rig->body->n_servos; i++) {
        struct nm_vdevice *d = rig->servos[i];
        uint64_t bit = 1ull << rig->body->servos[i].joint;
        fault_if(rig, d, was->dead & bit, now->dead & bit, NM_VFAULT_DEAD);
        fault_if(rig, d, was->silent & bit, now->silent & bit, NM_VFAULT_MISSING);
        if (now->limp & bit) nm_vdevice_set(d, "torque_enable", 0);
        if (now->hot & ~was->hot & bit) nm_vdevice_shut_off(d, NM_DXL_OVERHEATING);
        if (was->hot & ~now->hot & bit) d->hardware = 0;
    }
    for (int i = 0; i < rig->tables.n_boards; i++) {
        struct nm_vdevice *d = rig->boards[i];
        int side = strstr(rig->tables.boards[i].name, "right") != NULL;
        if (is_imu(d)) fault_if(rig, d, was->imu_lost, now->imu_lost, NM_VFAULT_MISSING);
        if (is_foot(d)) fault_if(rig, d, was->foot_lost[side], now->foot_lost[side], NM_VFAULT_MISSING);
    }
    for (int i = 0; was->bus_lost != now->bus_lost && i < rig->tables.set.wires; i++)
        nm_vbus_plug(rig->wires, i, !now->bus_lost, NULL);
    rig->faults = *now;
}

/* ---- the stage's hardware ---- */

static void close_rig(void *self)
{
    struct rig *rig = self;
    rig->sense = NULL;
    nm_hardware_free(rig->hardware);
    nm_vbus_free(rig->wires);
    free(rig);
}

/* Devices are found with their torque on and hold the pose in which the robot began. */
static void connect(struct rig *rig, const struct nm_joint_goal *goals)
{
    const struct nm_bus_tables *t = &rig->tables;
    memcpy(rig->goals, goals, rig->body->n_joints * sizeof *goals);
    for (uint32_t i = 0; i < rig->body->n_servos; i++) {
        const struct nm_servo *servo = &rig->body->servos[i];
        struct nm_vdevice *d = nm_vbus_device(rig->wires, t->servos[i].wire, t->servos[i].id);
        double angle = nm_servo_of_joint(servo, goals[servo->joint].position);
        rig->servos[i] = d;
        d->self = rig;
        d->refresh = refresh;
        nm_vdevice_set(d, "torque_enable", 1);
        nm_vdevice_set(d, "goal_position", angle);
        nm_vdevice_set(d, "present_position", angle);
    }
    for (int i = 0; i < t->n_boards; i++) {
        rig->boards[i] = nm_vbus_device(rig->wires, t->boards[i].wire, t->boards[i].id);
        nm_vdevice_set(rig->boards[i], "dxl_power", 1); /* of controllers that switch the servos' supply */
    }
}

static void *open_rig(void *user, struct nm_player *player, const struct nm_body *body,
                      const struct nm_joint_goal *goals, struct nm_err *err)
{
    struct rig *rig = nm_calloc(1, sizeof *rig);
    (void)user;
    rig->body = body;
    nm_feed_init(&rig->feed, body, 0, 0);
    if (!nm_bus_tables(body, &rig->tables, err)) rig->wires = nm_vbus_of_tables(&rig->tables, err);
    if (rig->wires) {
        connect(rig, goals);
        nm_vbus_supply(rig->wires, body->voltage);
        struct nm_bus_io io = nm_vbus_io(rig->wires);
        rig->began = io.now(io.self);
        rig->hardware = nm_hardware_on(player, body, io, err);
    }
    if (rig->hardware) return rig;
    close_rig(rig);
    return NULL;
}

static bool make_round(void *self, int64_t now, const struct nm_sense *sense, const struct nm_faults *faults,
                       struct nm_joint_goal *goals)
{
    struct rig *rig = self;
    struct nm_bus_io io = nm_vbus_io(rig->wires);
    if (io.now(io.self) > rig->began + now) return false; /* the last bytes are still on the wire */
    nm_vbus_advance(rig->wires, rig->began + now);
    nm_vbus_supply(rig->wires, sense->voltage);
    rig->sense = sense;
    suffer(rig, faults);
    show_boards(rig, faults);
    nm_hardware_step(rig->hardware, now);
    for (uint32_t i = 0; i < rig->body->n_servos; i++) obey(rig, &rig->body->servos[i], rig->servos[i]);
    memcpy(goals, rig->goals, rig->body->n_joints * sizeof *goals);
    return true;
}

const struct nm_stage_hardware sim_bus = {.open = open_rig, .round = make_round, .close = close_rig};
