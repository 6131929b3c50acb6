/* What goes through the edges of the brains in a step: their goals and wishes out, the sensors' messages in. */
#include <math.h>
#include <string.h>

#include "core/stamp.h"
#include "nutmeg_msgs/Buttons.h"
#include "sensor_msgs/BatteryState.h"
#include "sensor_msgs/MagneticField.h"
#include "sim/stage_parts.h"
#include "std_srvs/SetBool.h"

const char *const nm_stage_buttons[] = {"start", "mode"};

/* ---- faults ---- */

static void look_after(struct nm_stage *stage, struct actor *a)
{
    uint32_t left = 0;
    memset(&a->faults, 0, sizeof a->faults);
    for (uint32_t i = 0; i < a->n_ailments; i++) {
        const struct ailment ailment = a->ailments[i];
        if (ailment.until <= stage->now) continue;
        nm_faults_add(&a->faults, ailment.kind, ailment.part);
        a->ailments[left++] = ailment;
    }
    a->n_ailments = left;
    /* a servo that is too hot has switched itself off */
    if (stage->world) a->faults.hot |= nm_world_power(stage->world, (uint32_t)(a - stage->actors))->hot;
}

/* ---- from the brain ---- */

static void take_power(struct actor *a)
{
    const void *const *requests;
    uint32_t n = nm_edge_queue(a->edge, PORT_POWER, &requests, NULL);
    for (uint32_t i = 0; i < n; i++) {
        const SetBool_Request *request = requests[i];
        SetBool_Response *reply = nm_edge_push(a->edge, PORT_POWER_REPLY);
        a->told |= a->power != request->data;
        a->power = request->data;
        if (!reply) continue;
        nm_slot(reply)->caller = nm_slot(request)->caller;
        nm_slot(reply)->call = nm_slot(request)->call;
        reply->success = true;
        nm_text(reply->message, "motors are %s", a->power ? "on" : "off");
    }
}

static void take_log(const struct nm_stage *stage, const struct actor *a)
{
    const void *const *lines;
    uint32_t n = stage->options.said ? nm_edge_queue(a->edge, PORT_LOG, &lines, NULL) : 0;
    for (uint32_t i = 0; i < n; i++) stage->options.said(stage->options.user, (uint32_t)(a - stage->actors), lines[i]);
}

static void take_goals(const struct nm_stage *stage, struct actor *a)
{
    if (!nm_edge_fresh(a->edge, PORT_GOALS)) return;
    const JointGoals *goals = nm_edge_in(a->edge, PORT_GOALS);
    if (!a->hardware) nm_feed_goals(a->body, goals, a->goals);
    grip_told(stage, a, goals);
    a->goals_taken++;
    a->goals_heard = stage->now;
    a->goals_made = nm_stamp_ns(goals->header.stamp);
    a->told = true;
}

/* A brain in another process may end without a word. */
static void damp(struct nm_stage *stage, struct actor *a, uint32_t robot)
{
    struct nm_sense sense;
    if (a->goals_made < 0 || a->hardware) return; /* before its first word a robot keeps the pose it began in */
    nm_world_sense(stage->world, robot, &sense);
    nm_feed_damp(&a->damping, a->body, &sense, stage->now - a->goals_heard, stage->tick, a->goals);
    a->told = true;
}

/* Goals travel only while bus and computer work; a servo that hears nothing keeps the last one. */
void stage_take(struct nm_stage *stage, struct actor *a)
{
    uint32_t robot = (uint32_t)(a - stage->actors);
    look_after(stage, a);
    if (a->edge) take_log(stage, a);
    if (a->edge && !a->faults.stall && !a->faults.bus_lost) {
        take_power(a);
        take_goals(stage, a);
    }
    if (stage->flat) {
        flat_take(stage, a);
        return;
    }
    if (stage->options.elsewhere && a->edge) damp(stage, a, robot);
    uint64_t limp = nm_faults_limp(&a->faults);
    if (!a->told && limp == a->limp) return;
    struct nm_joint_goal goals[NM_JOINTS];
    for (uint32_t j = 0; j < a->body->n_joints; j++) {
        goals[j] = a->goals[j];
        goals[j].on &= a->power && !(limp >> j & 1);
        if (a->damping.known) goals[j].torque_limit *= a->damping.share;
    }
    nm_world_goals(stage->world, robot, goals);
    a->told = false;
    a->limp = limp;
}

/* ---- to the brain ---- */

/* A computer that hangs makes no rounds. */
static void make_round(struct nm_stage *stage, uint32_t robot)
{
    struct actor *a = &stage->actors[robot];
    struct nm_sense sense;
    nm_world_sense(stage->world, robot, &sense);
    if (!a->faults.stall && !stage->options.hardware->round(a->hardware, stage->now, &sense, &a->faults, a->goals))
        a->bus_next = stage->now; /* it is tried again in the next step */
    a->told = true;
}

/* The header is whatever the feed wrote, or the step's time. */
static void give_bus(struct nm_stage *stage, uint32_t robot)
{
    struct actor *a = &stage->actors[robot];
    ServoStates *servos = nm_edge_out(a->edge, PORT_SERVOS);
    Imu *imu = nm_edge_out(a->edge, PORT_IMU);
    FootPressure *feet = nm_edge_out(a->edge, PORT_FEET);
    struct nm_sense sense;
    if (!servos && !imu && !feet) return;
    nm_world_sense(stage->world, robot, &sense);
    if (servos && nm_feed_servos(&a->feed, &a->faults, &sense, a->goals, servos)) nm_edge_put(a->edge, PORT_SERVOS);
    if (imu && nm_feed_imu(&a->feed, &a->faults, &sense, imu)) nm_edge_put(a->edge, PORT_IMU);
    if (feet && nm_feed_feet(&a->feed, &a->faults, &sense, feet)) nm_edge_put(a->edge, PORT_FEET);
}

static void give_buttons(struct nm_stage *stage, struct actor *a)
{
    Buttons *b = nm_edge_out(a->edge, PORT_BUTTONS);
    if (!b || a->faults.stall) return;
    for (uint32_t i = 0; i < NM_STAGE_BUTTONS; i++) {
        nm_text(b->name.at[i], "%s", nm_stage_buttons[i]);
        b->pressed.at[i] = a->pressed[i] > stage->now;
        b->presses.at[i] = a->presses[i];
    }
    b->name.n = b->pressed.n = b->presses.n = NM_STAGE_BUTTONS;
    nm_edge_put(a->edge, PORT_BUTTONS);
}

/* As from a board on the bus: the voltage, and nothing else. On the flat field batteries are always fresh. */
static void give_battery(struct nm_stage *stage, struct actor *a)
{
    const int64_t second = 1000000000;
    BatteryState *b = nm_edge_out(a->edge, PORT_BATTERY);
    if (!b || a->faults.stall || stage->now % second) return;
    struct nm_sense sense = {.voltage = a->body->voltage};
    if (stage->world) nm_world_sense(stage->world, (uint32_t)(a - stage->actors), &sense);
    b->voltage = (float)(rint(10 * sense.voltage) / 10);
    b->temperature = b->current = b->charge = b->capacity = b->design_capacity = NAN;
    b->percentage = stage->world ? NAN : 1;
    b->power_supply_status = BatteryState_POWER_SUPPLY_STATUS_DISCHARGING;
    b->present = true;
    nm_edge_put(a->edge, PORT_BATTERY);
}

/* Magnetic north is where the first team attacks. Motors and iron in the ground turn a compass by half a radian, for
 * seconds at a time, and every reading by a little more. Its axes are those of base_footprint. */
static void give_compass(struct nm_stage *stage, struct actor *a)
{
    const int64_t period = 40000000;
    const double lasting = 0.5, single = 0.2, horizontal = 20e-6, down = 44e-6; /* rad, rad, T, T */
    const double keep = 0.99;                                                   /* of the lasting error, each time */
    MagneticField *m = nm_edge_out(a->edge, PORT_COMPASS);
    if (!m || a->faults.stall || stage->now % period) return;
    struct nm_dice dice = nm_dice_new(stage->options.world.seed + (uint64_t)(stage->now / period), 0x6e6f727468,
                                      (uint64_t)(a - stage->actors));
    struct nm_whereabouts w;
    nm_stage_whereabouts(stage, (uint32_t)(a - stage->actors), &w);
    a->compass_error = keep * a->compass_error + lasting * sqrt(1 - keep * keep) * nm_dice_gauss(&dice);
    double north = -quat_yaw(w.base_to_field.rot) + a->compass_error + single * nm_dice_gauss(&dice);
    nm_text(m->header.frame_id, "base_footprint");
    m->magnetic_field = (Vector3){horizontal * cos(north), horizontal * sin(north), -down};
    nm_edge_put(a->edge, PORT_COMPASS);
}

void stage_give(struct nm_stage *stage, uint32_t robot)
{
    struct actor *a = &stage->actors[robot];
    if (a->bus_next <= stage->now) {
        while (a->bus_next <= stage->now) a->bus_next += stage->options.bus_period;
        if (stage->flat)
            flat_give(stage, robot);
        else if (a->hardware)
            make_round(stage, robot);
        else
            give_bus(stage, robot);
        give_buttons(stage, a);
    }
    give_battery(stage, a);
    give_compass(stage, a);
    BodyTruth *body = nm_edge_out(a->edge, PORT_BODY_TRUTH);
    WorldTruth *world = nm_edge_out(a->edge, PORT_WORLD_TRUTH);
    if (body) {
        feed_body_truth(stage, robot, body);
        nm_edge_put(a->edge, PORT_BODY_TRUTH);
    }
    if (world) {
        nm_stage_truth(stage, world);
        nm_edge_put(a->edge, PORT_WORLD_TRUTH);
    }
}
