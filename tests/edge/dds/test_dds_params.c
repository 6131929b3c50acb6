/* Parameters over the wire: not while the robot plays; after a swap those of the module that has come into play; and no
 * request makes an answer out of all proportion. */
#include "edge/dds/gate.h"

#include "core/run_record.h"

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
    taller.n_params = sizeof taller_params / sizeof *taller_params;
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

/* A name of no letters takes four bytes, its answer ten times as many. Whoever asks is told, with an empty list. */
static void an_endless_list_of_names_is_refused(void **state)
{
    struct nm_dds_stats stats;
    struct call call;
    (void)state;
    call_open(&call, &peer, "/yard/get_parameters", "rcl_interfaces::srv::dds_::GetParameters");
    pack_u32(call_begin(&call), 5000);
    for (int i = 0; i < 5000; i++) pack_u32(&call.request, 0);
    struct unpack u = call_end(&call, &peer);
    assert_int_equal(unpack_u32(&u), 0);
    nm_dds_stats(dds, &stats);
    assert_int_equal(stats.too_long, 1);
    pack_u32(call_begin(&call), 1000);
    for (int i = 0; i < 1000; i++) pack_u32(&call.request, 0);
    u = call_end(&call, &peer);
    assert_int_equal(unpack_u32(&u), 1000);
    free(call.request.bytes);
}

/* A request of more bytes than are kept has an answer too: as many refusals as it has parameters. */
static void a_set_that_is_too_long_is_refused(void **state)
{
    struct call call;
    (void)state;
    call_open(&call, &peer, "/yard/set_parameters", "rcl_interfaces::srv::dds_::SetParameters");
    char *text = calloc(1, 2 << 20);
    assert_non_null(text);
    memset(text, 'x', (2 << 20) - 1);
    pack_u32(call_begin(&call), 2);
    pack_double(&call.request, "gate.width", 3);
    pack_double(&call.request, text, 3);
    struct unpack u = call_end(&call, &peer);
    assert_int_equal(unpack_u32(&u), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(unpack_u8(&u), 0);
        assert_string_equal(unpack_text(&u), "the request is too long");
    }
    assert_false(u.bad);
    free(text);
    free(call.request.bytes);
}

/* ---- a module with more parameters than anybody has ---- */

enum { KNOBS = 300 };
struct knobs {
    struct nm *nm;
    Float64 *turned;
    double first, others[KNOBS - 1];
};
static void turn_knobs(struct knobs *k) { nm_put(k->nm, k->turned); }
#define SELF struct knobs
static const struct nm_port knobs_ports[] = {NM_OUT(turned, Float64, "turned"), {0}};
static struct nm_param knobs_params[KNOBS + 1] = {NM_PARAM(first, 0, 0, 1000, "1", "a knob")};
NM_MODULE(knobs, "Has many.", NM_PORTS(knobs_ports), NM_PARAMS(knobs_params), .step = NM_CALL(turn_knobs))
#undef SELF

/* Rows like the first, each with a member of its own: p100, p101, … */
static void make_knobs(void)
{
    static char names[KNOBS][8];
    for (uint32_t i = 0; i < KNOBS; i++) {
        snprintf(names[i], sizeof names[i], "p%u", 100 + i);
        knobs_params[i] = knobs_params[0];
        knobs_params[i].name = names[i];
        knobs_params[i].offset = (uint32_t)(offsetof(struct knobs, first) + i * sizeof(double));
    }
}

static struct nm_record *record; /* what a log is told */

static int begin_knobs(void **state)
{
    struct nm_err err = {0};
    (void)state;
    now_ms = 0;
    make_knobs();
    start_with(&s, "cycles: {yard: {period: 10 ms, modules: [knobs]}}", (struct nm_player_options){.name = "yard"});
    record = nm_record_new(s.player, &err);
    assert_non_null(record);
    dds = nm_dds_new(s.player, &(struct nm_dds_options){.domain = private_domain(), .virtual_time = true}, &err);
    if (!dds) fail_msg("%s", err.text);
    run_until(&s, 1);
    peer_join(&peer, private_domain());
    return 0;
}

/* As `ros2 param load` does it: one request with everything in it; one value is out of its range. */
static void all_parameters_are_set_by_one_request(void **state)
{
    static const char *const services[][2] = {{"/yard/set_parameters", "SetParameters"},
                                              {"/yard/set_parameters_atomically", "SetParametersAtomically"}};
    (void)state;
    for (int atomic = 0; atomic < 2; atomic++) {
        struct call call;
        char type[128];
        snprintf(type, sizeof type, "rcl_interfaces::srv::dds_::%s", services[atomic][1]);
        call_open(&call, &peer, services[atomic][0], type);
        pack_u32(call_begin(&call), KNOBS);
        for (int i = 0; i < KNOBS; i++) {
            char name[32];
            snprintf(name, sizeof name, "knobs.p%d", 100 + i);
            pack_double(&call.request, name, !atomic && i == 7 ? 5000 : i + 1 + atomic);
        }
        struct unpack u = call_end(&call, &peer);
        uint32_t n = atomic ? 1 : unpack_u32(&u);
        assert_int_equal(n, atomic ? 1 : KNOBS);
        for (uint32_t i = 0; i < n; i++) {
            bool right = atomic || i != 7;
            assert_int_equal(unpack_u8(&u), right);
            const char *reason = unpack_text(&u);
            if (right ? *reason : !strstr(reason, "5000")) fail_msg("%u: %s", i, reason);
        }
        for (uint32_t i = 0; i < KNOBS; i++)
            assert_true(width(i) == (!atomic && i == 7 ? 0 : i + 1 + (uint32_t)atomic));
        struct nm_record_change noted; /* all of it under one generation */
        assert_true(nm_record_change(record, &noted));
        assert_int_equal(noted.n, atomic ? KNOBS : KNOBS - 1);
        assert_true(noted.changes[noted.n - 1].value.number[0] == KNOBS + atomic);
        assert_false(nm_record_change(record, &noted));
        turn();
        const struct knobs *knobs = nm_player_self(s.player, 0);
        assert_true(knobs->others[KNOBS - 2] == KNOBS + atomic); /* and the module has them, all at once */
        free(call.request.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_sets_while_the_robot_plays, begin, end),
        cmocka_unit_test_setup_teardown(a_module_that_is_swapped_in_brings_its_own, begin, end),
        cmocka_unit_test_setup_teardown(an_endless_list_of_names_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_set_that_is_too_long_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(all_parameters_are_set_by_one_request, begin_knobs, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
