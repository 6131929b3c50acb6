/* A robot's bus on the bench: twenty servos and an inertial unit on virtual wires in simulated time, the real driver on
 * top, cycles of 10 ms. Shared by the tests of the bus. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "edge/bus/driver.h"
#include "edge/bus/virtual.h"

#define MS 1000000LL

static inline void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.6f is not %.6f", a, b);
}

enum { RIG_EVENTS = 256, RIG_ALL = 20 };

struct rig {
    struct nm_vbus *wires;
    struct nm_bus_driver *bus;
    struct nm_vdevice *device[NM_BUS_SERVOS], *board[NM_BUS_BOARDS];
    struct nm_bus_servo servos[NM_BUS_SERVOS];
    struct nm_bus_board boards[NM_BUS_BOARDS];
    int n, n_boards;
    struct nm_bus_settings set;
    struct nm_bus_goals goals;
    struct nm_bus_states states;
    bool silent; /* goals are not renewed */
    int64_t next;
    struct nm_bus_event events[RIG_EVENTS];
    int n_events;
    double fastest;  /* rad/s, of any joint in any cycle */
    int64_t longest; /* ns, of any cycle                 */
    double before[NM_BUS_SERVOS];
};

static const char *const rig_names[RIG_ALL] = {
    "head_yaw",           "head_pitch",          "left_shoulder_pitch", "right_shoulder_pitch",
    "left_shoulder_roll", "right_shoulder_roll", "left_elbow",          "right_elbow",
    "left_hip_yaw",       "right_hip_yaw",       "left_hip_roll",       "right_hip_roll",
    "left_hip_pitch",     "right_hip_pitch",     "left_knee",           "right_knee",
    "left_ankle_pitch",   "right_ankle_pitch",   "left_ankle_roll",     "right_ankle_roll",
};

/* n servos of one model dealt to the wires in turn; joints stand at 0.05 rad times their row. */
static inline void rig_init(struct rig *rig, int n, const char *model, int protocol, int wires)
{
    struct nm_err err = {0};
    memset(rig, 0, sizeof *rig);
    rig->set = nm_bus_defaults();
    rig->set.wires = wires;
    rig->set.answer_timeout = 0.001;
    rig->wires = nm_vbus_new();
    assert_non_null(rig->wires);
    for (int i = 0; i < wires; i++) assert_int_equal(nm_vbus_wire(rig->wires, i, rig->set.baud[i], false, &err), 0);
    rig->n = n;
    for (int i = 0; i < n; i++) {
        struct nm_bus_servo *s = &rig->servos[i];
        snprintf(s->name, sizeof s->name, "%s", rig_names[i % RIG_ALL]);
        snprintf(s->model, sizeof s->model, "%s", model);
        s->protocol = (uint8_t)protocol;
        s->id = (uint8_t)(i + 1);
        s->wire = (uint8_t)(i % wires);
        rig->device[i] = nm_vbus_add(rig->wires, s->wire, s->id, model, protocol, &err);
        if (!rig->device[i]) fail_msg("%s", err.text);
        rig->device[i]->position = 0.05 * i;
    }
}

static inline void rig_board(struct rig *rig, const char *name, const char *model, int protocol, uint8_t id, int wire)
{
    struct nm_err err = {0};
    struct nm_bus_board *b = &rig->boards[rig->n_boards];
    snprintf(b->name, sizeof b->name, "%s", name);
    snprintf(b->model, sizeof b->model, "%s", model);
    b->protocol = (uint8_t)protocol;
    b->id = id;
    b->wire = (uint8_t)wire;
    rig->board[rig->n_boards] = nm_vbus_add(rig->wires, wire, id, model, protocol, &err);
    if (!rig->board[rig->n_boards++]) fail_msg("%s", err.text);
}

static inline double rig_joint(const struct rig *rig, int i) { return rig->device[i]->position; }

static inline int64_t rig_now(struct rig *rig)
{
    struct nm_bus_io io = nm_vbus_io(rig->wires);
    return io.now(io.self);
}

static inline void rig_open(struct rig *rig)
{
    struct nm_err err = {0};
    rig->bus = nm_bus_open(&rig->set, rig->servos, rig->n, rig->boards, rig->n_boards, nm_vbus_io(rig->wires), &err);
    if (!rig->bus) fail_msg("%s", err.text);
    rig->next = rig_now(rig);
    for (int i = 0; i < rig->n; i++) rig->goals.servo[i].position = rig_joint(rig, i);
    for (int i = 0; i < rig->n; i++) rig->before[i] = rig_joint(rig, i);
}

static inline void rig_close(struct rig *rig)
{
    nm_bus_close(rig->bus);
    nm_vbus_free(rig->wires);
}

/* One cycle, and idle time up to the next. */
static inline void rig_cycle(struct rig *rig)
{
    struct nm_bus_io io = nm_vbus_io(rig->wires);
    int64_t began = io.now(io.self);
    if (!rig->silent) rig->goals.stamp = began;
    nm_bus_cycle(rig->bus, &rig->goals, &rig->states);
    int64_t took = io.now(io.self) - began;
    if (took > rig->longest) rig->longest = took;
    rig->next += 10 * MS;
    if (rig->next < io.now(io.self)) rig->next = io.now(io.self);
    nm_vbus_advance(rig->wires, rig->next);
    struct nm_bus_event e;
    while (nm_bus_next_event(rig->bus, &e))
        if (rig->n_events < RIG_EVENTS) rig->events[rig->n_events++] = e;
    for (int i = 0; i < rig->n; i++) {
        double speed = fabs(rig_joint(rig, i) - rig->before[i]) / ((double)(rig->next - began) * 1e-9);
        if (speed > rig->fastest) rig->fastest = speed;
        rig->before[i] = rig_joint(rig, i);
    }
}

static inline void rig_run(struct rig *rig, double seconds)
{
    int64_t end = rig_now(rig) + (int64_t)(seconds * 1e9);
    while (rig_now(rig) < end) rig_cycle(rig);
}

static inline bool rig_all_on(const struct rig *rig)
{
    for (int i = 0; i < rig->n; i++)
        if (rig->states.servo[i].phase != NM_BUS_ON) return false;
    return true;
}

/* Seconds until every servo is on and read, at most 2. */
static inline double rig_until_on(struct rig *rig)
{
    int64_t began = rig_now(rig);
    for (int k = 0; k < 200; k++) {
        rig_cycle(rig);
        bool fresh = true;
        for (int i = 0; i < rig->n; i++) fresh &= rig->states.servo[i].fresh;
        if (fresh && rig_all_on(rig)) break;
    }
    return (double)(rig_now(rig) - began) * 1e-9;
}

/* Power on and through the ramp, with a clean slate for what follows. */
static inline void rig_start(struct rig *rig)
{
    rig_open(rig);
    nm_bus_set_power(rig->bus, NM_BUS_DRIVE);
    rig_run(rig, 1.0);
    if (!rig_all_on(rig)) fail_msg("the servos did not come up");
    if (rig->n_events) fail_msg("reported without a fault: %s", rig->events[0].text);
    rig->fastest = 0;
    rig->longest = 0;
}

/* A test on one kind of bus finds the kind in `state` before its set-up, and the rig after it: made, so that it may be
 * changed before it starts, or started. */
struct rig_kind {
    const char *model;
    int protocol, wires;
};

static inline void rig_of(struct rig *rig, const struct rig_kind *kind)
{
    rig_init(rig, RIG_ALL, kind->model, kind->protocol, kind->wires);
}

static inline int rig_made(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    rig_of(rig, *state);
    *state = rig;
    return 0;
}

static inline int rig_started(void **state)
{
    rig_made(state);
    rig_start(*state);
    return 0;
}

static inline int rig_done(void **state)
{
    rig_close(*state);
    free(*state);
    return 0;
}

#define RIG_TEST(kind, test, set_up)                                                                                   \
    {                                                                                                                  \
#test " (" #kind ")", test, set_up, rig_done, (void *)&kind                                                    \
    }

static const struct rig_kind firmware_1 = {"MX-106", 1, 1}, firmware_2 = {"MX-106", 2, 1};
#define RIG_BOTH(test, set_up) RIG_TEST(firmware_1, test, set_up), RIG_TEST(firmware_2, test, set_up)

static inline int rig_count(const struct rig *rig, enum nm_bus_fault_kind kind, bool begins)
{
    int n = 0;
    for (int i = 0; i < rig->n_events; i++) n += rig->events[i].kind == kind && rig->events[i].begins == begins;
    return n;
}

static inline void rig_print(const struct rig *rig)
{
    for (int i = 0; i < rig->n_events; i++)
        print_message("  %8.3f %s %s\n", (double)rig->events[i].time * 1e-9, rig->events[i].begins ? "+" : "-",
                      rig->events[i].text);
}
