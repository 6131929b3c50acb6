/* labels: threads
 * End to end on this machine: the driver on serial ports, the virtual bus behind pseudo terminals in its thread. Real
 * time, so only what must happen is asserted, within many times the time it needs. */
#include "edge/bus/bus_rig.h"

#include "edge/bus/ask.h"
#include "edge/bus/port.h"

#include <stdlib.h>
#include <unistd.h>

enum { SERVOS = 6, PATIENCE = 2000 /* cycles */ };

struct real {
    char folder[64], path[2][NM_BUS_NAME];
    struct nm_vbus *wires;
    struct nm_vdevice *device[SERVOS];
    struct nm_serial_ports ports;
    struct nm_bus_driver *bus;
    struct nm_bus_goals goals;
    struct nm_bus_states states;
    int unplugged, plugged;
};

static void cycle(struct real *r)
{
    struct nm_bus_event e;
    struct nm_bus_io io = nm_serial_io(&r->ports);
    int64_t began = io.now(io.self);
    r->goals.stamp = began;
    nm_bus_cycle(r->bus, &r->goals, &r->states);
    while (nm_bus_next_event(r->bus, &e))
        if (e.kind == NM_BUS_FAULT_UNPLUGGED) *(e.begins ? &r->unplugged : &r->plugged) += 1;
    int64_t left = began + 10 * MS - io.now(io.self);
    if (left > 0) usleep((useconds_t)(left / 1000));
}

static bool all(const struct real *r, enum nm_bus_phase phase)
{
    for (int i = 0; i < SERVOS; i++)
        if (r->states.servo[i].phase != phase) return false;
    return true;
}

static void until(struct real *r, enum nm_bus_phase phase)
{
    for (int n = 0; n < PATIENCE; n++) {
        cycle(r);
        if (all(r, phase)) return;
    }
    fail_msg("never came to phase %d", phase);
}

static void start(struct real *r)
{
    struct nm_err err = {0};
    memset(r, 0, sizeof *r);
    strcpy(r->folder, "/tmp/nm_bus_XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    const char *links[NM_BUS_WIRES] = {r->path[0], r->path[1]};
    r->wires = nm_vbus_new();
    for (int w = 0; w < 2; w++) {
        snprintf(r->path[w], sizeof r->path[w], "%s/bus%d", r->folder, w);
        assert_int_equal(nm_vbus_wire(r->wires, w, 1000000, false, &err), 0);
    }
    struct nm_bus_servo servos[SERVOS] = {0};
    for (int i = 0; i < SERVOS; i++) {
        snprintf(servos[i].name, sizeof servos[i].name, "%s", rig_names[i]);
        snprintf(servos[i].model, sizeof servos[i].model, "MX-28");
        servos[i].protocol = i % 2 ? 2 : 1;
        servos[i].wire = (uint8_t)(i % 2);
        servos[i].id = (uint8_t)(i + 1);
        r->device[i] = nm_vbus_add(r->wires, i % 2, servos[i].id, "MX-28", servos[i].protocol, &err);
        assert_non_null(r->device[i]);
    }
    if (nm_vbus_start(r->wires, links, &err)) fail_msg("%s", err.text);
    struct nm_bus_settings set = nm_bus_defaults();
    set.wires = 2;
    set.answer_timeout = 0.005;
    set.start_ramp = 0.1;
    set.goal_age = 5;
    nm_serial_init(&r->ports, links, set.baud, 2);
    r->bus = nm_bus_open(&set, servos, SERVOS, NULL, 0, nm_serial_io(&r->ports), &err);
    if (!r->bus) fail_msg("%s", err.text);
}

static void stop(struct real *r)
{
    nm_bus_close(r->bus);
    nm_serial_close(&r->ports);
    nm_vbus_free(r->wires);
    assert_int_equal(rmdir(r->folder), 0); /* the links are gone */
}

static void servos_on_a_terminal_follow(void **state)
{
    (void)state;
    struct real r;
    start(&r);
    until(&r, NM_BUS_LIMP);
    nm_bus_set_power(r.bus, NM_BUS_DRIVE);
    until(&r, NM_BUS_ON);
    for (int i = 0; i < SERVOS; i++) r.goals.servo[i].position = 0.1 * i;
    for (int n = 0; n < PATIENCE && fabs(r.states.servo[SERVOS - 1].position - 0.1 * (SERVOS - 1)) > 3e-3; n++)
        cycle(&r);
    assert_true(fabs(r.states.servo[SERVOS - 1].position - 0.1 * (SERVOS - 1)) < 4e-3);
    nm_bus_set_power(r.bus, NM_BUS_LIMP_ALL);
    until(&r, NM_BUS_LIMP);
    stop(&r);
}

static void a_pulled_plug_is_noticed_and_put_back(void **state)
{
    (void)state;
    struct real r;
    struct nm_err err = {0};
    start(&r);
    nm_bus_set_power(r.bus, NM_BUS_DRIVE);
    until(&r, NM_BUS_ON);
    nm_vbus_lock(r.wires);
    assert_int_equal(nm_vbus_plug(r.wires, 1, false, &err), 0);
    nm_vbus_unlock(r.wires);
    for (int n = 0; n < PATIENCE && !r.unplugged; n++) cycle(&r);
    assert_int_equal(r.unplugged, 1);
    assert_int_equal(r.states.servo[1].phase, NM_BUS_LOST);
    nm_vbus_lock(r.wires);
    assert_int_equal(nm_vbus_plug(r.wires, 1, true, &err), 0);
    nm_vbus_unlock(r.wires);
    until(&r, NM_BUS_ON);
    for (int n = 0; n < PATIENCE && !r.plugged; n++) cycle(&r);
    assert_int_equal(r.plugged, 1);
    stop(&r);
}

static void ports_that_cannot_be_are_told(void **state)
{
    (void)state;
    struct nm_err err = {0};
    assert_int_equal(nm_serial_open("/nonexistent/ttyUSB0", 1000000, &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/ttyUSB0: cannot open the serial port: No such file"));
    assert_int_equal(nm_serial_open("/dev/null", 1000000, &err), -1);
    assert_non_null(strstr(err.text, "/dev/null: this is not a serial port"));
    struct nm_vbus *bus = nm_vbus_new();
    nm_vbus_wire(bus, 0, 1000000, false, &err);
    assert_int_equal(nm_vbus_start(bus, (const char *const[NM_BUS_WIRES]){"/dev/null"}, &err), -1);
    assert_non_null(strstr(err.text, "/dev/null exists and is not a link"));
    nm_vbus_free(bus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servos_on_a_terminal_follow),
        cmocka_unit_test(a_pulled_plug_is_noticed_and_put_back),
        cmocka_unit_test(ports_that_cannot_be_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
