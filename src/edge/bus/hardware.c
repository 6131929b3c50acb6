#include "edge/bus/hardware.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "core/stamp.h"
#include "diagnostic_msgs/DiagnosticArray.h"
#include "edge/bus/port.h"
#include "nutmeg_msgs/Buttons.h"
#include "nutmeg_msgs/FootPressure.h"
#include "nutmeg_msgs/JointGoals.h"
#include "nutmeg_msgs/Leds.h"
#include "nutmeg_msgs/ServoStates.h"
#include "rcl_interfaces/Log.h"
#include "sensor_msgs/BatteryState.h"
#include "sensor_msgs/Imu.h"
#include "std_srvs/SetBool.h"

enum { SERVOS, IMU, FEET, BUTTONS, BATTERY, GOALS, LEDS, POWER, POWERED, CONSOLE, HEALTH, PORTS };

static const struct nm_edge_port topics[PORTS] = {
    [SERVOS] = {"servo_states", NM_PORT_OUT | NM_EDGE_OPTIONAL, &ServoStates_type, 0, 0},
    [IMU] = {"imu/data_raw", NM_PORT_OUT | NM_EDGE_OPTIONAL, &Imu_type, 0, 0},
    [FEET] = {"foot_cells", NM_PORT_OUT | NM_EDGE_OPTIONAL, &FootPressure_type, 0, 0},
    [BUTTONS] = {"buttons", NM_PORT_OUT | NM_EDGE_OPTIONAL, &Buttons_type, 0, 0},
    [BATTERY] = {"battery", NM_PORT_OUT | NM_EDGE_OPTIONAL, &BatteryState_type, 0, 0},
    [GOALS] = {"servo_goals", NM_PORT_IN | NM_EDGE_OPTIONAL, &JointGoals_type, 0, 0},
    [LEDS] = {"leds", NM_PORT_IN | NM_EDGE_OPTIONAL, &Leds_type, 0, 0},
    [POWER] = {"motor_power/request", NM_PORT_QUEUE | NM_EDGE_OPTIONAL, &SetBool_Request_type, 4, 0},
    [POWERED] = {"motor_power/reply", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &SetBool_Response_type, 4, 0},
    [CONSOLE] = {"rosout", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &Log_type, 16, 0},
    [HEALTH] = {"diagnostics", NM_PORT_OUT_QUEUE | NM_EDGE_OPTIONAL, &DiagnosticArray_type, 2, 0},
};

struct nm_hardware {
    struct nm_player *player;
    const struct nm_body *body;
    struct nm_edge *edge;
    struct nm_bus_tables tables;
    struct nm_bus_io io;
    struct nm_bus_driver *bus;
    struct nm_serial_ports ports;
    struct nm_vbus *virtual;
    char links[NM_BUS_WIRES][64];
    struct nm_bus_goals goals;
    struct nm_bus_states states;
    bool managed;                 /* the line-up switches the power itself */
    bool driven;                  /* power is on                           */
    int imu, controller, foot[2]; /* boards, -1: none                      */
    uint32_t buttons, presses[8];
    struct nm_edge_beat beat; /* of the rounds, from line-up and robot                */
    int64_t ahead;            /* ns, by which the player's clock is ahead of the bus' */
    int64_t told;             /* ns, when the ages were published last                */
};

/* ---- which board is what ---- */

static int board_of_kind(const struct nm_body *body, const char *const kinds[], const char *part)
{
    for (uint32_t i = 0; i < body->n_devices; i++)
        for (int k = 0; kinds[k]; k++)
            if (!strcmp(body->devices[i].kind, kinds[k]) && (!part || strstr(body->devices[i].name, part)))
                return (int)i;
    return -1;
}

static void find_boards(struct nm_hardware *h)
{
    static const char *const imus[] = {"imu", "cm730", "board", NULL},
                             *const boards[] = {"cm730", "board", "pins", NULL}, *const feet[] = {"foot", NULL};
    h->imu = board_of_kind(h->body, imus, NULL);
    h->controller = board_of_kind(h->body, boards, NULL);
    h->foot[NM_LEFT] = board_of_kind(h->body, feet, "left");
    h->foot[NM_RIGHT] = board_of_kind(h->body, feet, "right");
}

/* ---- how fast ---- */

/* The cycle that the bus works for; NULL if no cycle reads or moves servos. */
static const struct nm_lineup_cycle *served_cycle(const struct nm_lineup *lineup)
{
    uint32_t goals = nm_lineup_topic(lineup, "servo_goals"), states = nm_lineup_topic(lineup, "servo_states");
    const struct nm_end *end = NULL;
    if (states != NM_NONE && lineup->topics[states].n_consumers) end = &lineup->topics[states].consumers[0];
    if (goals != NM_NONE && lineup->topics[goals].n_producers) end = &lineup->topics[goals].producers[0];
    return end ? &lineup->cycles[lineup->instances[end->instance].cycle] : NULL;
}

/* A part of each round is kept free for the work after the last answer. */
static void set_pace(struct nm_hardware *h)
{
    static const int64_t usual = 8000000; /* ns, for a cycle that a topic starts */
    const double share = 0.95;
    const struct nm_lineup_cycle *cycle = served_cycle(nm_player_lineup(h->player));
    int64_t slowest = nm_ns(h->body->bus_round);
    int64_t period = cycle && cycle->period ? cycle->period : usual;
    int64_t deadline = cycle && cycle->period ? cycle->deadline : period;
    if (period < slowest) period = deadline = slowest;
    if (deadline > period) deadline = period;
    h->beat.period = period;
    h->beat.deadline = deadline;
    h->beat.priority = cycle ? cycle->priority : 0;
    h->tables.set.cycle_limit = share * nm_seconds(deadline);
}

/* ---- making one ---- */

static struct nm_hardware *begin(struct nm_player *player, const struct nm_body *body, struct nm_err *err)
{
    struct nm_hardware *h = nm_calloc(1, sizeof *h);
    h->player = player;
    h->body = body;
    if (!body || !body->n_servos) {
        nm_fail(err, "%s has no servos: its folder needs servos.yaml",
                body ? body->name : "a line-up without `robot:`");
    } else if (nm_bus_tables(body, &h->tables, err) == 0) {
        h->tables.set.hot = h->tables.set.low_voltage = 0; /* the module `supervision` watches these */
        find_boards(h);
        set_pace(h);
        const struct nm_lineup *lineup = nm_player_lineup(player);
        h->managed = nm_lineup_topic(lineup, "motor_power/request") != NM_NONE;
        if (nm_lineup_topic(lineup, "servo_states") == NM_NONE && nm_lineup_topic(lineup, "servo_goals") == NM_NONE)
            nm_fail(err, "%s: no module reads servo_states or publishes servo_goals, so the bus has nothing to do",
                    lineup->file);
        else
            h->edge = nm_edge_new(player, "bus", topics, PORTS, err);
    }
    if (h->edge) return h;
    free(h);
    return NULL;
}

static struct nm_hardware *open_bus(struct nm_hardware *h, struct nm_bus_io io, struct nm_err *err)
{
    h->io = io;
    for (int i = 0; i < NM_BUS_SERVOS; i++) {
        h->goals.servo[i].position = NAN;
        h->states.servo[i].position = h->states.servo[i].velocity = NAN;
    }
    h->bus = nm_bus_open(&h->tables.set, h->tables.servos, h->tables.n_servos, h->tables.boards, h->tables.n_boards, io,
                         err);
    if (h->bus) return h;
    nm_hardware_free(h);
    return NULL;
}

struct nm_hardware *nm_hardware_on(struct nm_player *player, const struct nm_body *body, struct nm_bus_io io,
                                   struct nm_err *err)
{
    struct nm_hardware *h = begin(player, body, err);
    return h ? open_bus(h, io, err) : NULL;
}

/* The virtual devices are behind pseudo terminals; the names of the links to them contain the process id. */
static int start_virtual(struct nm_hardware *h, struct nm_err *err)
{
    const char *links[NM_BUS_WIRES] = {0};
    for (int i = 0; i < h->tables.set.wires; i++) {
        snprintf(h->links[i], sizeof h->links[i], "/tmp/nutmeg-bus-%d-%d", (int)getpid(), i);
        links[i] = h->tables.port[i] = h->links[i];
    }
    h->virtual = nm_vbus_of_tables(&h->tables, err);
    if (!h->virtual) return -1;
    if (h->beat.priority) nm_vbus_settings(h->virtual)->priority = h->beat.priority + 1;
    return nm_vbus_start(h->virtual, links, err);
}

struct nm_hardware *nm_hardware_new(struct nm_player *player, const struct nm_body *body, enum nm_hardware_kind kind,
                                    struct nm_err *err)
{
    struct nm_hardware *h = begin(player, body, err);
    if (!h) return NULL;
    if (kind == NM_HARDWARE_VIRTUAL && start_virtual(h, err)) {
        nm_hardware_free(h);
        return NULL;
    }
    nm_serial_init(&h->ports, h->tables.port, h->tables.set.baud, h->tables.set.wires);
    return open_bus(h, nm_serial_io(&h->ports), err);
}

/* ---- goals ---- */

static int servo_named(const struct nm_hardware *h, const char *name, int guess)
{
    for (int k = 0; k < h->tables.n_servos; k++) {
        int i = (guess + k) % h->tables.n_servos;
        if (!strcmp(h->tables.servos[i].name, name)) return i;
    }
    return -1;
}

/* Stiffness is a share of the gain: it sets how far a joint gives way to a load. max_effort sets its largest torque.
 * With stiffness 0 the joint is limp: there is almost no torque. */
static void take_strength(struct nm_hardware *h, int servo, double stiffness, double max_effort)
{
    const double next_to_none = 0.001;
    struct nm_bus_goal *goal = &h->goals.servo[servo];
    double most = h->body->servo_types[h->body->servos[servo].type].max_torque;
    goal->stiffness = stiffness > 0 ? stiffness : 0;
    goal->torque_limit = max_effort > 0 && most > 0 ? fmin(fmax(max_effort / most, next_to_none), 1) : 0;
    if (!(stiffness > 0)) goal->torque_limit = next_to_none;
}

static void take_goals(struct nm_hardware *h, int64_t now)
{
    const JointGoals *in = nm_edge_in(h->edge, GOALS);
    if (!in || !nm_edge_fresh(h->edge, GOALS)) return;
    for (uint32_t i = 0; i < in->name.n && i < in->position.n; i++) {
        int at = servo_named(h, in->name.at[i], (int)i);
        if (at < 0) continue;
        struct nm_bus_goal *goal = &h->goals.servo[at];
        goal->position = in->position.at[i];
        goal->velocity = i < in->velocity.n ? in->velocity.at[i] : 0;
        goal->torque = i < in->effort.n ? in->effort.at[i] : 0;
        take_strength(h, at, i < in->stiffness.n ? in->stiffness.at[i] : 1,
                      i < in->max_effort.n ? in->max_effort.at[i] : 0);
    }
    /* the age of the goals, in the time of the bus */
    h->goals.stamp = h->io.now(h->io.self) - (now - nm_slot(in)->time);
    if (!h->managed && !h->driven) {
        nm_bus_set_power(h->bus, NM_BUS_DRIVE);
        h->driven = true;
    }
}

static void take_power(struct nm_hardware *h)
{
    const void *const *at;
    uint32_t n = nm_edge_queue(h->edge, POWER, &at, NULL);
    for (uint32_t i = 0; i < n; i++) {
        const SetBool_Request *request = at[i];
        nm_bus_set_power(h->bus, request->data ? NM_BUS_DRIVE : NM_BUS_LIMP_ALL);
        h->driven = request->data;
        SetBool_Response *reply = nm_edge_push(h->edge, POWERED);
        if (!reply) continue;
        nm_slot(reply)->caller = nm_slot(request)->caller;
        nm_slot(reply)->call = nm_slot(request)->call;
        reply->success = true;
        nm_text(reply->message, "motors %s", request->data ? "on" : "off");
    }
}

/* Panel, head and eyes of a controller board, with 5 bits per colour as on the CM-730. */
static void take_leds(struct nm_hardware *h)
{
    const Leds *in = nm_edge_in(h->edge, LEDS);
    if (!in || !nm_edge_fresh(h->edge, LEDS) || h->controller < 0) return;
    static const char *const names[3] = {"panel", "head", "eyes"};
    for (uint32_t i = 0; i < in->name.n && i < in->color.n; i++)
        for (int k = 0; k < 3; k++) {
            if (strcmp(in->name.at[i], names[k]) != 0) continue;
            const ColorRGBA *c = &in->color.at[i];
            const float parts[3] = {c->r * c->a, c->g * c->a, c->b * c->a};
            uint32_t word = 0;
            for (int p = 0; p < 3; p++) word |= (uint32_t)(31 * fminf(fmaxf(parts[p], 0), 1)) << (5 * p);
            h->goals.led[h->controller][k] = word;
        }
}

/* ---- states ---- */

/* The time of a reading on the player's clock. In virtual time that clock stands still during a round, and a reading
 * must not be in the future. */
static Time time_of(const struct nm_hardware *h, int64_t stamp)
{
    int64_t ns = stamp + h->ahead, now = nm_player_now(h->player);
    if (ns > now) ns = now;
    return nm_stamp(ns);
}

/* The oldest reading of this round; if there is none, the newest reading so far; 0: there was never one. */
static int64_t servo_stamp(const struct nm_hardware *h)
{
    int64_t oldest = 0, last = 0;
    for (int i = 0; i < h->tables.n_servos; i++) {
        const struct nm_bus_servo_state *s = &h->states.servo[i];
        if (s->fresh && (!oldest || s->stamp < oldest)) oldest = s->stamp;
        if (s->stamp > last) last = s->stamp;
    }
    return oldest ? oldest : last;
}

static void tell_servos(struct nm_hardware *h)
{
    ServoStates *out = nm_edge_out(h->edge, SERVOS);
    if (!out) return;
    int64_t stamp = servo_stamp(h);
    if (stamp) out->header.stamp = time_of(h, stamp);
    uint32_t n = (uint32_t)h->tables.n_servos;
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_bus_servo_state *s = &h->states.servo[i];
        bool there = s->phase != NM_BUS_LOST && s->stamp;
        nm_text(out->name.at[i], "%s", h->tables.servos[i].name);
        out->goal.at[i] = s->goal;
        out->position.at[i] = there ? s->position : NAN;
        out->velocity.at[i] = there ? s->velocity : NAN;
        out->effort.at[i] = there ? s->effort : NAN;
        out->voltage.at[i] = (float)s->voltage;
        out->temperature.at[i] = (float)s->temperature;
        out->error.at[i] = (uint8_t)(s->error | (there ? 0 : ServoStates_ERROR_SILENT));
        out->torque.at[i] = s->torque > 0;
    }
    out->name.n = out->goal.n = out->position.n = out->velocity.n = out->effort.n = n;
    out->voltage.n = out->temperature.n = out->error.n = out->torque.n = n;
    nm_edge_put(h->edge, SERVOS);
}

static void tell_imu(struct nm_hardware *h)
{
    Imu *out = nm_edge_out(h->edge, IMU);
    if (!out || h->imu < 0 || !h->states.board[h->imu].fresh) return;
    const struct nm_bus_board_state *s = &h->states.board[h->imu];
    out->header.stamp = time_of(h, s->stamp);
    nm_text(out->header.frame_id, "imu_frame");
    out->angular_velocity = (Vector3){s->gyro[0], s->gyro[1], s->gyro[2]};
    out->linear_acceleration = (Vector3){s->acc[0], s->acc[1], s->acc[2]};
    out->orientation_covariance[0] = -1; /* not measured here */
    nm_edge_put(h->edge, IMU);
}

static void tell_feet(struct nm_hardware *h)
{
    FootPressure *out = nm_edge_out(h->edge, FEET);
    if (!out || (h->foot[0] < 0 && h->foot[1] < 0)) return;
    SolePressure *soles[2] = {&out->left, &out->right};
    int64_t oldest = 0;
    for (int side = 0; side < 2; side++) {
        const struct nm_bus_board_state *s = h->foot[side] < 0 ? NULL : &h->states.board[h->foot[side]];
        if (s && s->stamp && (!oldest || s->stamp < oldest)) oldest = s->stamp;
        soles[side]->valid = s && s->fresh;
        for (int i = 0; i < 4; i++) soles[side]->cells[i] = s && s->fresh ? (float)s->cell[i] : NAN;
    }
    if (oldest) out->header.stamp = time_of(h, oldest);
    nm_edge_put(h->edge, FEET);
}

static void tell_board(struct nm_hardware *h)
{
    Buttons *buttons = nm_edge_out(h->edge, BUTTONS);
    BatteryState *battery = nm_edge_out(h->edge, BATTERY);
    const struct nm_bus_board_state *s = h->controller < 0 ? NULL : &h->states.board[h->controller];
    if (buttons && s && s->fresh) {
        for (uint32_t i = 0; i < 4; i++) {
            bool down = s->buttons >> i & 1;
            h->presses[i] += down && !(h->buttons >> i & 1);
            nm_text(buttons->name.at[i], "button_%u", i + 1);
            buttons->pressed.at[i] = down;
            buttons->presses.at[i] = h->presses[i];
        }
        buttons->name.n = buttons->pressed.n = buttons->presses.n = 4;
        h->buttons = s->buttons;
        buttons->header.stamp = time_of(h, s->stamp);
        nm_edge_put(h->edge, BUTTONS);
    }
    double volts = s && s->fresh && s->voltage > 0 ? s->voltage : h->states.voltage;
    if (battery && isfinite(volts) && volts > 0) {
        battery->voltage = (float)volts;
        battery->percentage = battery->charge = battery->capacity = battery->design_capacity = battery->current =
            battery->temperature = NAN;
        battery->present = true;
        nm_edge_put(h->edge, BATTERY);
    }
}

/* Faults of the bus are logged once when they begin and once when they are over. */
static void tell_events(struct nm_hardware *h)
{
    struct nm_bus_event event;
    while (nm_bus_next_event(h->bus, &event))
        nm_edge_log(h->edge, CONSOLE, event.begins ? NM_WARN : NM_INFO, "bus", "%s", event.text);
}

/* ---- health ---- */

static void tell_age(struct nm_hardware *h, DiagnosticArray *to, const char *name, const char *model, int64_t stamp,
                     uint32_t answered, uint32_t missed)
{
    const double old = 1; /* s */
    DiagnosticStatus *d = nm_append(&to->status, &DiagnosticStatus_type);
    double age = stamp ? nm_seconds(h->io.now(h->io.self) - stamp) : INFINITY;
    if (!d) return;
    d->level = age < old ? DiagnosticStatus_OK : DiagnosticStatus_STALE;
    nm_text(d->name, "readings of %s", name);
    nm_text(d->hardware_id, "%s", model);
    if (stamp)
        nm_text(d->message, "%.1f ms old", 1e3 * age);
    else
        nm_text(d->message, "never answered");
    const struct {
        const char *key;
        double value;
    } values[] = {{"age", age}, {"answered", answered}, {"missed", missed}};
    for (uint32_t i = 0; i < sizeof values / sizeof *values; i++) {
        diagnostic_msgs_KeyValue *v = nm_append(&d->values, &diagnostic_msgs_KeyValue_type);
        if (!v) return;
        nm_text(v->key, "%s", values[i].key);
        nm_text(v->value, "%.6g", values[i].value);
    }
}

/* The age of the newest reading of each device, once a second: boards first, then as many servos as fit. */
static void tell_health(struct nm_hardware *h, int64_t now)
{
    static const int64_t every = 1000000000; /* ns */
    if (h->told && now - h->told < every) return;
    DiagnosticArray *array = nm_edge_push(h->edge, HEALTH);
    if (!array) return;
    h->told = now;
    array->header.stamp = nm_stamp(now);
    for (int i = 0; i < h->tables.n_boards; i++) {
        const struct nm_bus_board_state *s = &h->states.board[i];
        tell_age(h, array, h->tables.boards[i].name, h->tables.boards[i].model, s->stamp, s->answered, s->missed);
    }
    for (int i = 0; i < h->tables.n_servos; i++) {
        const struct nm_bus_servo_state *s = &h->states.servo[i];
        tell_age(h, array, h->tables.servos[i].name, h->tables.servos[i].model, s->stamp, s->answered, s->missed);
    }
}

void nm_hardware_step(struct nm_hardware *h, int64_t now)
{
    h->ahead = now - h->io.now(h->io.self);
    nm_edge_begin(h->edge, now);
    take_goals(h, now);
    take_power(h);
    take_leds(h);
    nm_bus_cycle(h->bus, &h->goals, &h->states);
    tell_servos(h);
    tell_imu(h);
    tell_feet(h);
    tell_board(h);
    tell_events(h);
    tell_health(h, now);
    nm_edge_end(h->edge);
}

const struct nm_bus_states *nm_hardware_states(const struct nm_hardware *h) { return &h->states; }

/* ---- real time ---- */

static void make_round(void *user, int64_t now)
{
    (void)now;
    struct nm_hardware *h = user;
    nm_hardware_step(h, nm_player_now(h->player));
}

int nm_hardware_start(struct nm_hardware *h, struct nm_err *err)
{
    h->beat.round = make_round;
    h->beat.user = h;
    return nm_edge_start(h->edge, &h->beat, err);
}

int64_t nm_hardware_period(const struct nm_hardware *h) { return h->beat.period; }

void nm_hardware_free(struct nm_hardware *h)
{
    if (!h) return;
    nm_edge_stop(h->edge);
    if (h->bus) {
        /* "torque off" is sent twice, because one packet may be lost */
        nm_bus_set_power(h->bus, NM_BUS_LIMP_ALL);
        for (int i = 0; i < 2; i++) nm_bus_cycle(h->bus, &h->goals, &h->states);
        nm_bus_close(h->bus);
    }
    nm_serial_close(&h->ports);
    if (h->virtual) {
        nm_vbus_stop(h->virtual);
        nm_vbus_free(h->virtual);
        for (int i = 0; i < h->tables.set.wires; i++) unlink(h->links[i]);
    }
    free(h);
}
