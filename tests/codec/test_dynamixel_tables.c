/* Control tables: the manual's addresses and units, and that every row of every table can be read and written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "codec/dynamixel_tables.h"

#define PI 3.14159265358979

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.9g is not %.9g", a, b);
}

static const struct nm_dxl_register *row(const char *model, int protocol, const char *name)
{
    const struct nm_dxl_model *m = nm_dxl_model(model, protocol);
    assert_non_null(m);
    const struct nm_dxl_register *r = nm_dxl_register(m, name);
    assert_non_null(r);
    return r;
}

static double value(const struct nm_dxl_register *r, uint32_t count)
{
    uint8_t bytes[4] = {(uint8_t)count, (uint8_t)(count >> 8), (uint8_t)(count >> 16), (uint8_t)(count >> 24)};
    return nm_dxl_decode(r, bytes);
}

static void rows_stand_where_the_manual_says(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int protocol;
        const char *name;
        uint16_t address;
        uint8_t size;
    } expected[] = {
        {"MX-28", 1, "torque_enable", 24, 1},
        {"MX-28", 1, "goal_position", 30, 2},
        {"MX-64", 1, "torque_limit", 34, 2},
        {"MX-106", 1, "present_position", 36, 2},
        {"MX-106", 1, "drive_mode", 10, 1},
        {"MX-64", 1, "present_current", 68, 2},
        {"MX-28", 1, "present_temperature", 43, 1},
        {"MX-64", 2, "torque_enable", 64, 1},
        {"MX-28", 2, "present_load", 126, 2},
        {"MX-106", 2, "present_current", 126, 2},
        {"MX-64", 2, "goal_position", 116, 4},
        {"XM430-W350", 2, "present_position", 132, 4},
        {"XH540-W270", 2, "torque_limit", 100, 2},
        {"XM430-W350", 2, "p_gain", 84, 2},
        {"XM430-W350", 2, "present_temperature", 146, 1},
        {"CM-730", 1, "dxl_power", 24, 1},
        {"CM-730", 1, "buttons", 30, 1},
        {"CM-730", 1, "voltage", 50, 1},
        {"FSR", 1, "cell_3", 32, 2},
        {"ForceFoot", 1, "cell_3", 0x2D, 3},
        {"BitFoot", 2, "cell_0", 36, 4},
        {"BitIMU", 2, "quaternion_w", 72, 4},
        {"MX-64-Dynaban", 1, "next_duration", 0xA0, 2},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct nm_dxl_register *r = row(expected[i].model, expected[i].protocol, expected[i].name);
        assert_int_equal(r->address, expected[i].address);
        assert_int_equal(r->size, expected[i].size);
    }
    assert_null(nm_dxl_register(nm_dxl_model("MX-28", 1), "present_current"));
    assert_null(nm_dxl_register(nm_dxl_model("MX-64", 1), "drive_mode"));
}

static void no_two_rows_of_a_table_overlap(void **state)
{
    (void)state;
    size_t n;
    const struct nm_dxl_model *models = nm_dxl_models(&n);
    for (size_t m = 0; m < n; m++) {
        const struct nm_dxl_register *a, *b;
        for (size_t i = 0; (a = nm_dxl_register_at(&models[m], i)); i++) {
            assert_true(a->size >= 1 && a->size <= 4);
            assert_true(a->address + a->size <= models[m].size);
            assert_int_equal(a->access == NM_DXL_STORED, a->access != NM_DXL_R && a->address < models[m].ram);
            for (size_t j = i + 1; (b = nm_dxl_register_at(&models[m], j)); j++) {
                assert_true(a->address + a->size <= b->address || b->address + b->size <= a->address);
                assert_string_not_equal(a->name, b->name);
            }
        }
    }
}

static void counts_become_si_units(void **state)
{
    (void)state;
    const struct nm_dxl_register *goal = row("MX-28", 1, "goal_position");
    assert_near(value(goal, 2048), 0, 0);
    assert_near(value(goal, 2048 + 1024), PI / 2, 1e-6);
    assert_near(value(goal, 2049), 0.00153398, 1e-8);
    const struct nm_dxl_register *speed = row("MX-64", 1, "present_velocity");
    assert_near(value(speed, 1), 0.01194, 1e-5);
    assert_near(value(speed, 1024 + 100), -1.194, 1e-3);
    assert_near(value(row("MX-64", 1, "acceleration_limit"), 1), 8.583 * PI / 180, 1e-6);
    assert_near(value(row("MX-106", 1, "present_current"), 2048 + 100), 0.45, 1e-6);
    assert_near(value(row("MX-106", 1, "present_voltage"), 148), 14.8, 1e-5);
    assert_near(value(row("MX-106", 1, "present_temperature"), 61), 61, 0);
    assert_near(value(row("MX-64", 2, "goal_position"), (uint32_t)-2048), -2 * PI, 1e-5);
    assert_near(value(row("MX-64", 2, "present_velocity"), (uint32_t)-10), -10 * 0.229 * 2 * PI / 60, 1e-6);
    assert_near(value(row("MX-64", 2, "present_current"), 0xFFFF), -3.36e-3, 1e-8);
    assert_near(value(row("XM430-W350", 2, "present_current"), 100), 0.269, 1e-6);
    assert_near(value(row("MX-64", 2, "torque_limit"), 885), 1, 1e-6);
    assert_near(value(row("FSR", 1, "cell_0"), 12500), 12.5, 1e-5);
    assert_near(value(row("ForceFoot", 1, "cell_0"), 0xFFFFFE), -2, 0);
    assert_near(value(row("BitFoot", 2, "cell_0"), 0x41480000), 12.5, 0);
    assert_near(value(row("BitCORE", 2, "voltage"), 620), 620 * 3.3 / 1024 * 6, 1e-3);
    assert_near(value(row("BitCORE", 2, "current"), 776), (776 * 3.3 / 1024 - 2.5) / -0.066, 1e-3);
}

/* x forward, y left, z up; the robot at rest feels +1 g along z. A robot on its face has its x axis down: f_x = -1 g,
 * and ACC_Y below 390 is the maker's own test for that. */
static void the_sub_controller_speaks_in_body_axes(void **state)
{
    (void)state;
    assert_near(value(row("CM-730", 1, "acc_z"), 640), 9.80665, 1e-5);
    const struct nm_dxl_register *forward = row("CM-730", 1, "acc_x");
    assert_int_equal(forward->address, 46);
    assert_true(value(forward, 389) < -0.9 * 9.80665);
    assert_true(value(row("CM-730", 1, "acc_y"), 513) < 0);
    assert_near(value(row("CM-730", 1, "gyro_z"), 513), 3.66 * PI / 180, 1e-6);
    assert_near(value(row("CM-730", 1, "gyro_x"), 513), -3.66 * PI / 180, 1e-6);
    assert_near(value(row("CM-730", 1, "gyro_y"), 513), -3.66 * PI / 180, 1e-6);
}

static void writing_and_reading_back_agree_to_half_a_count(void **state)
{
    (void)state;
    size_t n;
    const struct nm_dxl_model *models = nm_dxl_models(&n);
    for (size_t m = 0; m < n; m++) {
        const struct nm_dxl_register *r;
        for (size_t i = 0; (r = nm_dxl_register_at(&models[m], i)); i++)
            for (int k = 0; k < 200; k++) {
                double count = k < 100 ? (double)k : r->code == NM_DXL_UNSIGNED ? (double)(2 * k) : (double)(100 - k);
                if (count > 255 && r->size == 1) continue;
                if (count > 127 && r->size == 1 && r->code == NM_DXL_SIGNED) continue;
                double wanted = (double)r->scale * (count - (double)r->zero);
                uint8_t bytes[4];
                nm_dxl_encode(r, wanted, bytes);
                assert_near(nm_dxl_decode(r, bytes), wanted, 1e-6 * fabs((double)r->scale) * (fabs(count) + 4096));
            }
    }
}

static void values_out_of_reach_are_held_at_the_end(void **state)
{
    (void)state;
    uint8_t bytes[4] = {0};
    const struct nm_dxl_register *goal = row("MX-28", 1, "goal_position");
    nm_dxl_encode(goal, -100, bytes);
    assert_near(nm_dxl_decode(goal, bytes), -PI, 1e-6);
    nm_dxl_encode(goal, INFINITY, bytes);
    assert_true(nm_dxl_decode(goal, bytes) > 3);
    nm_dxl_encode(goal, NAN, bytes);
    assert_int_equal(bytes[0] | bytes[1], 0);
    const struct nm_dxl_register *torque = row("MX-64", 1, "goal_current");
    nm_dxl_encode(torque, -100, bytes);
    assert_near(nm_dxl_decode(torque, bytes), -1023 * 4.5e-3, 1e-6);
}

static void names_are_forgiving_and_numbers_exact(void **state)
{
    (void)state;
    assert_ptr_equal(nm_dxl_model("mx64", 1), nm_dxl_model("MX-64", 1));
    assert_ptr_not_equal(nm_dxl_model("MX-64", 1), nm_dxl_model("MX-64", 2));
    assert_null(nm_dxl_model("MX-640", 1));
    assert_null(nm_dxl_model("", 0));
    assert_ptr_equal(nm_dxl_model_by_number(320, 1), nm_dxl_model("MX-106", 1));
    assert_ptr_equal(nm_dxl_model_by_number(1100, 2), nm_dxl_model("XH540-W270", 2));
    assert_null(nm_dxl_model_by_number(320, 2));
    assert_null(nm_dxl_model_by_number(0, 2));
}

/* P = 850 of the 2.0 firmware is practically P = 32 of the 1.0 firmware. */
static void the_two_firmwares_agree_on_stiffness(void **state)
{
    (void)state;
    double one = (double)nm_dxl_model("MX-64", 1)->duty_per_count * 32,
           two = (double)nm_dxl_model("MX-64", 2)->duty_per_count * 850;
    assert_near(one, 5.06, 0.01);
    assert_near(two, 4.89, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stand_where_the_manual_says),
        cmocka_unit_test(no_two_rows_of_a_table_overlap),
        cmocka_unit_test(counts_become_si_units),
        cmocka_unit_test(the_sub_controller_speaks_in_body_axes),
        cmocka_unit_test(writing_and_reading_back_agree_to_half_a_count),
        cmocka_unit_test(values_out_of_reach_are_held_at_the_end),
        cmocka_unit_test(names_are_forgiving_and_numbers_exact),
        cmocka_unit_test(the_two_firmwares_agree_on_stiffness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
