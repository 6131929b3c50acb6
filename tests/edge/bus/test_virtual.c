/* The virtual bus: true bytes at the true time, in the order and with the refusals of real devices. */
#include "edge/bus/bus_rig.h"

#include "edge/bus/ask.h"

enum { N = 20 };

struct bench {
    struct nm_vbus *bus;
    struct nm_bus_io io;
    struct nm_vdevice *d[N];
};

static void setup(struct bench *b, const char *model, int protocol, uint32_t baud)
{
    struct nm_err err = {0};
    b->bus = nm_vbus_new();
    b->io = nm_vbus_io(b->bus);
    assert_int_equal(nm_vbus_wire(b->bus, 0, baud, false, &err), 0);
    for (int i = 0; i < N; i++) {
        b->d[i] = nm_vbus_add(b->bus, 0, (uint8_t)(i + 1), model, protocol, &err);
        assert_non_null(b->d[i]);
    }
}

/* Sends the bytes, returns the time until the last of `answers` status packets is there; the last in *p. */
static double exchange(struct bench *b, const uint8_t *bytes, size_t n, int answers, struct nm_dxl_packet *p)
{
    static struct nm_dxl_parser parser;
    uint8_t in[512];
    int64_t began = b->io.now(b->io.self), last = began;
    nm_dxl_parser_init(&parser, 3, true);
    assert_int_equal(b->io.write(b->io.self, 0, bytes, n), (int)n);
    int found = 0;
    while (b->io.now(b->io.self) < began + 30 * MS) {
        b->io.wait(b->io.self, began + 30 * MS);
        int got = b->io.read(b->io.self, 0, in, sizeof in);
        nm_dxl_feed(&parser, in, (size_t)got);
        while (nm_dxl_next(&parser, p)) {
            last = b->io.now(b->io.self);
            if (++found == answers) return (double)(last - began) * 1e-6;
        }
    }
    assert_int_equal(found, answers);
    return (double)(last - began) * 1e-6;
}

static void goals_and_reads(int protocol, uint16_t goal_size, uint16_t read_address, uint16_t read_size, uint8_t *out,
                            size_t *n)
{
    static const uint8_t zero[8];
    struct nm_dxl_block goals[N], reads[N];
    for (int i = 0; i < N; i++) {
        goals[i] = (struct nm_dxl_block){(uint8_t)(i + 1), protocol == 1 ? 30 : 116, goal_size, zero};
        reads[i] = (struct nm_dxl_block){(uint8_t)(i + 1), read_address, read_size, NULL};
    }
    *n = nm_dxl_sync_write(protocol, goals, N, out, 512);
    *n += protocol == 1 ? nm_dxl_bulk_read(1, reads, N, out + *n, 512) : nm_dxl_sync_read(2, reads, N, out + *n, 512);
}

/* The cycles computed in the specification, with 50 us before each answer. */
static void cycles_take_what_the_wire_needs(void **state)
{
    (void)state;
    static const struct {
        int protocol;
        uint32_t baud;
        uint16_t goal, address, size;
        double ms;
    } cases[] = {
        {1, 1000000, 2, 36, 6, 4.75},  {1, 2000000, 2, 36, 6, 2.88},   {1, 3000000, 2, 36, 6, 2.25},
        {2, 1000000, 4, 132, 4, 5.48}, {2, 1000000, 4, 126, 10, 6.68}, {2, 4000000, 4, 126, 10, 2.42},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b;
        struct nm_dxl_packet p;
        uint8_t bytes[1024];
        size_t n;
        setup(&b, "MX-64", cases[i].protocol, cases[i].baud);
        goals_and_reads(cases[i].protocol, cases[i].goal, cases[i].address, cases[i].size, bytes, &n);
        double ms = exchange(&b, bytes, n, N, &p);
        if (fabs(ms - cases[i].ms) > 0.01) fail_msg("case %zu: %.3f ms instead of %.3f", i, ms, cases[i].ms);
        nm_vbus_free(b.bus);
    }
}

static void the_return_delay_stands_before_every_answer(void **state)
{
    (void)state;
    struct bench b;
    struct nm_dxl_packet p;
    uint8_t bytes[1024];
    size_t n;
    setup(&b, "MX-64", 1, 1000000);
    for (int i = 0; i < N; i++) nm_vdevice_set(b.d[i], "return_delay", 500e-6);
    goals_and_reads(1, 2, 36, 6, bytes, &n);
    assert_true(fabs(exchange(&b, bytes, n, N, &p) - 14.75) < 0.01);
    nm_vbus_free(b.bus);
}

static void a_missing_device_blocks_the_later_ones(void **state)
{
    (void)state;
    for (int protocol = 1; protocol <= 2; protocol++) {
        struct bench b;
        struct nm_dxl_packet p;
        uint8_t bytes[1024];
        size_t n;
        setup(&b, "MX-64", protocol, 1000000);
        nm_vbus_fault(b.bus, b.d[7], NM_VFAULT_DEAD, UINT32_MAX, 0);
        goals_and_reads(protocol, protocol == 1 ? 2 : 4, protocol == 1 ? 36 : 132, protocol == 1 ? 2 : 4, bytes, &n);
        exchange(&b, bytes, n, 7, &p);
        assert_int_equal(p.id, 7);
        exchange(&b, (const uint8_t[]){0}, 1, 0, &p);
        nm_vbus_free(b.bus);
    }
}

static void two_at_once_damage_each_other(void **state)
{
    (void)state;
    struct bench b;
    uint8_t bytes[1024], in[512];
    size_t n;
    setup(&b, "MX-64", 1, 1000000);
    goals_and_reads(1, 2, 36, 6, bytes, &n);
    b.io.write(b.io.self, 0, bytes, n);
    nm_vbus_advance(b.bus, b.io.now(b.io.self) + 3 * MS);
    b.io.write(b.io.self, 0, bytes, n);
    nm_vbus_advance(b.bus, b.io.now(b.io.self) + 20 * MS);
    int got = 0;
    while ((n = (size_t)b.io.read(b.io.self, 0, in, sizeof in))) got += (int)n;
    assert_true(got < 2 * 240);
    assert_true(nm_vbus_counts(b.bus, 0).collisions > 0);
    nm_vbus_free(b.bus);
}

static void ask_at(struct bench *b, struct nm_ask *ask, uint32_t baud)
{
    struct nm_err err = {0};
    assert_int_equal(nm_ask_init(ask, b->io, 0, baud, 0.002, &err), 0);
}

static void devices_refuse_what_the_manual_says(void **state)
{
    (void)state;
    struct bench b;
    struct nm_ask ask;
    struct nm_ask_device d;
    double value;
    setup(&b, "MX-64", 2, 1000000);
    ask_at(&b, &ask, 1000000);
    struct nm_err err = {0};
    assert_int_equal(nm_ask_ping(&ask, 2, 3, &d, &err), 0);
    assert_int_equal(d.number, 311);
    assert_int_equal(nm_ask_put(&ask, &d, "return_delay", 100e-6, &err), 0);
    assert_int_equal(nm_ask_put(&ask, &d, "torque_enable", 1, &err), 0);
    assert_int_equal(nm_ask_put(&ask, &d, "return_delay", 0, &err), -1); /* stored values are locked by torque */
    assert_non_null(strstr(err.text, "id 3 refuses: access"));
    uint8_t data[8] = {0};
    err = (struct nm_err){0};
    assert_int_equal(nm_ask_read(&ask, 2, 3, 660, 8, data, &err), -1);
    assert_non_null(strstr(err.text, "refuses: range"));
    err = (struct nm_err){0};
    assert_int_equal(nm_ask_put(&ask, &d, "present_position", 0, &err), -1);
    assert_non_null(strstr(err.text, "can only be read"));
    err = (struct nm_err){0};
    assert_int_equal(nm_ask_get(&ask, &d, "torque_enabel", &value, &err), -1);
    assert_non_null(strstr(err.text, "did you mean 'torque_enable'"));
    assert_int_equal(nm_ask_get(&ask, &d, "return_delay", &value, &err), 0);
    assert_true(fabs(value - 100e-6) < 1e-9);
    nm_vbus_free(b.bus);
}

/* The reason why a driver must look before it writes. */
static void a_goal_switches_the_torque_of_old_firmware_on(void **state)
{
    (void)state;
    struct bench b;
    struct nm_ask ask;
    struct nm_ask_device d;
    setup(&b, "MX-64", 1, 1000000);
    ask_at(&b, &ask, 1000000);
    assert_int_equal(nm_ask_ping(&ask, 1, 3, &d, NULL), 0);
    assert_int_equal(nm_ask_put(&ask, &d, "goal_position", 0.5, NULL), 0);
    assert_true(nm_vdevice_get(b.d[2], "torque_enable") > 0);
    nm_vbus_advance(b.bus, b.io.now(b.io.self) + 1000 * MS);
    assert_true(fabs(b.d[2]->position - 0.5) < 2e-3);
    nm_vbus_free(b.bus);
}

static void registered_writes_wait_for_the_action(void **state)
{
    (void)state;
    for (int protocol = 1; protocol <= 2; protocol++) {
        struct bench b;
        struct nm_dxl_packet p;
        uint8_t bytes[64];
        setup(&b, "MX-28", protocol, 1000000);
        const struct nm_dxl_register *goal = b.d[0]->goal_position;
        uint8_t data[4];
        nm_dxl_encode(goal, 0.25, data);
        struct nm_dxl_block block = {1, goal->address, goal->size, data};
        double before = nm_vdevice_get(b.d[0], "goal_position");
        exchange(&b, bytes, nm_dxl_reg_write(protocol, block, bytes, sizeof bytes), 1, &p);
        assert_true(nm_vdevice_get(b.d[0], "goal_position") == before);
        assert_true(nm_vdevice_get(b.d[0], "registered") == 1);
        exchange(&b, bytes, nm_dxl_action(protocol, NM_DXL_BROADCAST, bytes, sizeof bytes), 0, &p);
        assert_true(fabs(nm_vdevice_get(b.d[0], "goal_position") - 0.25) < 1e-3);
        nm_vbus_free(b.bus);
    }
}

static void bulk_write_and_broadcast_ping(void **state)
{
    (void)state;
    struct bench b;
    struct nm_dxl_packet p;
    uint8_t bytes[64];
    setup(&b, "XM430-W350", 2, 2000000);
    struct nm_dxl_block blocks[] = {{1, 65, 1, (const uint8_t[]){1}}, {2, 84, 2, (const uint8_t[]){0x20, 0x03}}};
    exchange(&b, bytes, nm_dxl_bulk_write(blocks, 2, bytes, sizeof bytes), 0, &p);
    assert_true(nm_vdevice_get(b.d[0], "led") == 1);
    assert_true(nm_vdevice_get(b.d[1], "p_gain") == 800);
    exchange(&b, bytes, nm_dxl_ping(2, NM_DXL_BROADCAST, bytes, sizeof bytes), N, &p);
    assert_int_equal(p.id, N);
    assert_int_equal(nm_dxl_get(p.data, 2), 1020);
    nm_vbus_free(b.bus);
}

static void a_scan_finds_both_protocols(void **state)
{
    (void)state;
    struct bench b;
    struct nm_ask ask;
    struct nm_ask_device found[32];
    struct nm_err err = {0};
    setup(&b, "MX-28", 1, 1000000);
    nm_vbus_add(b.bus, 0, 42, "XH540-W270", 2, &err);
    nm_vbus_add(b.bus, 0, 111, "FSR", 1, &err);
    ask_at(&b, &ask, 1000000);
    int n = nm_ask_scan(&ask, 3, 0, 252, found, 32);
    assert_int_equal(n, N + 2);
    assert_string_equal(found[0].model->name, "MX-28");
    assert_string_equal(found[N].model->name, "FSR");
    assert_int_equal(found[N + 1].protocol, 2);
    assert_string_equal(found[N + 1].model->name, "XH540-W270");
    err = (struct nm_err){0};
    assert_int_equal(nm_ask_ping(&ask, 1, 99, &found[0], &err), -1);
    assert_non_null(strstr(err.text, "no answer"));
    nm_vbus_free(b.bus);
}

/* A simulator behind a device: it fills the registers before they are read and hears of every write. */
struct simulator {
    double angle, goal;
    int writes;
};

static void refresh(void *self, struct nm_vdevice *d, int64_t now)
{
    (void)now;
    nm_vdevice_set(d, "present_position", ((struct simulator *)self)->angle);
}

static void written(void *self, struct nm_vdevice *d, uint16_t address, uint16_t size, int64_t now)
{
    struct simulator *s = self;
    (void)address, (void)size, (void)now;
    s->goal = nm_vdevice_get(d, "goal_position");
    s->writes++;
}

static void a_simulators_servo_stands_behind_it(void **state)
{
    (void)state;
    struct bench b;
    struct nm_ask ask;
    struct nm_ask_device d;
    struct simulator sim = {.angle = 0.7};
    double value;
    setup(&b, "MX-106", 1, 1000000);
    b.d[0]->self = &sim;
    b.d[0]->refresh = refresh;
    b.d[0]->written = written;
    ask_at(&b, &ask, 1000000);
    assert_int_equal(nm_ask_ping(&ask, 1, 1, &d, NULL), 0);
    assert_int_equal(nm_ask_get(&ask, &d, "present_position", &value, NULL), 0);
    assert_true(fabs(value - 0.7) < 1e-3);
    assert_int_equal(nm_ask_put(&ask, &d, "goal_position", -0.4, NULL), 0);
    assert_true(fabs(sim.goal + 0.4) < 1e-3);
    assert_int_equal(sim.writes, 1);
    nm_vbus_free(b.bus);
}

static void what_cannot_be_is_refused_in_sentences(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct nm_vbus *bus = nm_vbus_new();
    assert_int_equal(nm_vbus_wire(bus, 9, 1000000, false, &err), -1);
    assert_int_equal(nm_vbus_wire(bus, 0, 5, false, &err), -1);
    assert_null(nm_vbus_add(bus, 0, 1, "MX-28", 1, &err));
    nm_vbus_wire(bus, 0, 1000000, false, &err);
    assert_null(nm_vbus_add(bus, 0, 1, "AX-12", 1, &err));
    assert_non_null(nm_vbus_add(bus, 0, 1, "MX-28", 1, &err));
    assert_null(nm_vbus_add(bus, 0, 1, "MX-28", 1, &err));
    assert_int_equal(err.n, 5);
    nm_vbus_free(bus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_take_what_the_wire_needs),
        cmocka_unit_test(the_return_delay_stands_before_every_answer),
        cmocka_unit_test(a_missing_device_blocks_the_later_ones),
        cmocka_unit_test(two_at_once_damage_each_other),
        cmocka_unit_test(devices_refuse_what_the_manual_says),
        cmocka_unit_test(a_goal_switches_the_torque_of_old_firmware_on),
        cmocka_unit_test(registered_writes_wait_for_the_action),
        cmocka_unit_test(bulk_write_and_broadcast_ping),
        cmocka_unit_test(a_scan_finds_both_protocols),
        cmocka_unit_test(a_simulators_servo_stands_behind_it),
        cmocka_unit_test(what_cannot_be_is_refused_in_sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
