/* Parameters over the wire: not while the robot plays; after a swap those of the module that has come into play; and no
 * request makes an answer out of all proportion. */
#include "edge/dds/gate.h"

static void pack_double(struct pack *p, const char *name, double number)
{
    pack_text(p, name);
    pack_u8(p, 3);
    pack_u8(p, 0);
    pack_i64(p, 0);
    pack_f64(p, number);
    pack_text(p, "");
    for (int i = 0; i < 5; i++) pack_u32(p, 0);
}

static double width(uint32_t param)
{
    struct nm_value value;
    nm_player_value(s.player, 0, param, &value);
    return value.number[0];
}

static void nobody_sets_while_the_robot_plays(void **state)
{
    static const char *const services[][2] = {{"/yard/set_parameters", "SetParameters"},
                                              {"/yard/set_parameters_atomically", "SetParametersAtomically"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct call call;
        char type[128];
        snprintf(type, sizeof type, "rcl_interfaces::srv::dds_::%s", services[i][1]);
        call_open(&call, &peer, services[i][0], type);
        for (int playing = 1; playing >= 0; playing--) {
            double before = width(0), wanted = 3 + i;
            call_state(playing ? MatchState_PLAYING : MatchState_FINISHED);
            pack_u32(call_begin(&call), 1);
            pack_double(&call.request, "gate.width", wanted);
            struct unpack u = call_end(&call, &peer);
            if (!i) assert_int_equal(unpack_u32(&u), 1);
            assert_int_equal(unpack_u8(&u), !playing);
            const char *reason = unpack_text(&u);
            if (playing && !strstr(reason, "writing is locked: the robot plays (PLAYING)")) fail_msg("%s", reason);
            assert_false(u.bad);
            assert_true(width(0) == (playing ? before : wanted));
        }
        free(call.request.bytes);
    }
}

static bool event_names(dds_entity_t events, const char *fresh)
{
    struct unpack u;
    if (!peer_take(&peer, events)) return false;
    unpack_begin(&u, peer.samples[0].bytes, peer.samples[0].size);
    unpack_u64(&u);
    unpack_text(&u);
    const uint8_t *end = u.bytes + u.n;
    return memmem(u.bytes, (size_t)(end - u.bytes), fresh, strlen(fresh)) != NULL;
}

static void a_module_that_is_swapped_in_brings_its_own(void **state)
{
    struct nm_module taller = gate_module;
    struct nm_err err = {0};
    struct call list, set;
    (void)state;
    taller.params = taller_params;
    taller.layout = gate_module.layout + 1;
    dds_entity_t events =
        peer_reader(&peer, "rt/parameter_events", "rcl_interfaces::msg::dds_::ParameterEvent_", false);
    call_open(&list, &peer, "/yard/list_parameters", "rcl_interfaces::srv::dds_::ListParameters");
    call_open(&set, &peer, "/yard/set_parameters", "rcl_interfaces::srv::dds_::SetParameters");
    assert_int_equal(nm_player_swap(s.player, 0, &taller, &err), 0);
    wait_until(event_names(events, "gate.height"), turn());
    pack_u32(call_begin(&list), 0);
    pack_u64(&list.request, 0);
    struct unpack u = call_end(&list, &peer);
    assert_int_equal(unpack_u32(&u), 3);
    assert_string_equal(unpack_text(&u), "use_sim_time");
    assert_string_equal(unpack_text(&u), "gate.height");
    assert_string_equal(unpack_text(&u), "gate.width");
    pack_u32(call_begin(&set), 2);
    pack_double(&set.request, "gate.height", 4);
    pack_double(&set.request, "gate.width", 7); /* its range is smaller now */
    u = call_end(&set, &peer);
    assert_int_equal(unpack_u32(&u), 2);
    assert_int_equal(unpack_u8(&u), 1);
    unpack_text(&u);
    assert_int_equal(unpack_u8(&u), 0);
    assert_true(width(0) == 4);
    assert_true(width(1) == 1);
    /* back: the height is gone */
    assert_int_equal(nm_player_swap(s.player, 0, &gate_module, &err), 0);
    wait_until(event_names(events, "gate.height"), turn());
    pack_u32(call_begin(&list), 0);
    pack_u64(&list.request, 0);
    u = call_end(&list, &peer);
    assert_int_equal(unpack_u32(&u), 2);
    free(list.request.bytes);
    free(set.request.bytes);
}

/* A name of no letters takes four bytes, its answer ten times as many. */
static void an_endless_list_of_names_is_malformed(void **state)
{
    struct nm_dds_stats stats;
    struct call call;
    (void)state;
    call_open(&call, &peer, "/yard/get_parameters", "rcl_interfaces::srv::dds_::GetParameters");
    pack_u32(call_begin(&call), 5000);
    for (int i = 0; i < 5000; i++) pack_u32(&call.request, 0);
    assert_int_equal(nm_raw_write(call.writer, call.request.bytes, call.request.n), 0);
    wait_until((nm_dds_stats(dds, &stats), stats.malformed == 1), turn());
    pack_u32(call_begin(&call), 1000);
    for (int i = 0; i < 1000; i++) pack_u32(&call.request, 0);
    struct unpack u = call_end(&call, &peer);
    assert_int_equal(unpack_u32(&u), 1000);
    free(call.request.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_sets_while_the_robot_plays, begin, end),
        cmocka_unit_test_setup_teardown(a_module_that_is_swapped_in_brings_its_own, begin, end),
        cmocka_unit_test_setup_teardown(an_endless_list_of_names_is_malformed, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
