/* What every node of ROS 2 has: the hash of its type at each end, a service that describes types, its name in every
 * console line, the wall clock in its stamps also after somebody has set it, use_sim_time where time is simulated; and
 * whoever uses one of its topics with another type is named. */
#include "edge/dds/calls.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

#include "edge/dds/type_description.h"
#include "edge/dds/dds_look.h"
#include "nutmeg_msgs/SimCommand.h"

/* The wall clock of this process, which the test sets: every clock_gettime of the program comes here. */
static _Atomic int64_t clock_set_by; /* ns */
int clock_gettime(clockid_t id, struct timespec *to)
{
    static _Atomic(int (*)(clockid_t, struct timespec *)) real;
    if (!real) atomic_store(&real, (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"));
    int r = real(id, to);
    int64_t by = atomic_load(&clock_set_by);
    if (r || id != CLOCK_REALTIME || !by) return r;
    int64_t ns = (int64_t)to->tv_sec * 1000000000 + to->tv_nsec + by;
    *to = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

/* A module that has a request with room for 31 letters, and something to say. */
struct chatter {
    struct nm *nm;
    nm_server(SimCommand) command;
};
static void chat(struct chatter *c)
{
    for (uint32_t i = 0; i < c->command.requests.n; i++)
        nm_reply(c->nm, &c->command, c->command.requests.at[i])->success = true;
    nm_log(c->nm, NM_INFO, "hello");
}
#define SELF struct chatter
static const struct nm_port chatter_ports[] = {NM_SERVER(command, SimCommand, "command", 4), {0}};
NM_MODULE(chatter, "Chats.", NM_PORTS(chatter_ports), .step = NM_CALL(chat))
#undef SELF

static const char chatting[] = "cycles:\n  voice:\n    period: 10 ms\n    modules: [talker, chatter]\n";

static struct started s;
static struct nm_dds *dds;
static struct peer peer;
static int64_t now_ms;
static bool real;

static void turn(void)
{
    if (real) return;
    now_ms += 10;
    run_until(&s, now_ms);
    nm_dds_poll(dds);
}

static void open_node(struct nm_dds_options options)
{
    struct nm_err err = {0};
    now_ms = 0;
    real = !options.virtual_time && !options.follows;
    options.domain = private_domain();
    options.space = "red1";
    start_with(&s, chatting, (struct nm_player_options){.name = "striker"});
    dds = nm_dds_new(s.player, &options, &err);
    if (!dds) fail_msg("%s", err.text);
    if (!real)
        run_until(&s, 1);
    else if (nm_player_start(s.player, &err) || nm_dds_start(dds, &err))
        fail_msg("%s", err.text);
    peer_join(&peer, private_domain());
}

static int begin(void **state)
{
    (void)state;
    open_node((struct nm_dds_options){.virtual_time = true});
    return 0;
}

static int begin_real(void **state)
{
    (void)state;
    open_node((struct nm_dds_options){0});
    return 0;
}

static int begin_following(void **state)
{
    (void)state;
    open_node((struct nm_dds_options){.follows = true});
    return 0;
}

static int end(void **state)
{
    (void)state;
    peer_leave(&peer, private_domain());
    nm_dds_free(dds);
    stop(&s);
    atomic_store(&clock_set_by, 0);
    return 0;
}

/* ---- hashes ---- */

static uint32_t check_hashes(dds_entity_t builtin, bool *all)
{
    enum { MOST = 512 };
    void *samples[MOST] = {0};
    static dds_sample_info_t info[MOST];
    char hash[96];
    uint32_t seen = 0;
    dds_guid_t own;
    dds_get_guid(peer.participant, &own);
    int n = dds_read(builtin, samples, info, MOST, MOST);
    for (int i = 0; i < n; i++) {
        const dds_builtintopic_endpoint_t *endpoint = samples[i];
        void *bytes = NULL;
        size_t size = 0;
        if (!info[i].valid_data || info[i].instance_state != DDS_ALIVE_INSTANCE_STATE) continue;
        if (!memcmp(endpoint->participant_key.v, own.v, sizeof own.v) || !strncmp(endpoint->topic_name, "DCPS", 4))
            continue; /* ours, or Cyclone's own, which nobody else sees */
        seen++;
        bool has = dds_qget_userdata(endpoint->qos, &bytes, &size) && bytes &&
                   nm_user_data(bytes, size, "typehash", hash, sizeof hash) && !strncmp(hash, "RIHS01_", 7) &&
                   strlen(hash) == 71;
        if (!has) print_error("%s has no hash\n", endpoint->topic_name), *all = false;
        dds_free(bytes);
    }
    if (n > 0) dds_return_loan(builtin, samples, n);
    return seen;
}

static void every_end_says_the_hash_of_its_type(void **state)
{
    struct nm_err err = {0};
    struct nm_look_topic topic;
    bool all = true;
    (void)state;
    struct nm_look *look = nm_look_new(private_domain(), false, &err);
    dds_entity_t writers = dds_create_reader(peer.participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
    dds_entity_t readers = dds_create_reader(peer.participant, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, NULL, NULL);
    assert_int_equal(nm_look_graph(look, &err), 0);
    wait_until(nm_look_listen(look, "/red1/imu", &topic, &err) == 0, turn());
    wait_until(nm_look_listen(look, "/clock", &topic, &err) == 0, turn());
    struct nm_look_client *client =
        nm_look_client_new(look, "/red1/shout", &SetBool_Request_type, &SetBool_Response_type, &err);
    assert_non_null(client);
    /* topics, rosout, parameter events, clock, graph; nine services; and what the look has opened */
    wait_until(check_hashes(writers, &all) >= 5 + 9 + 1 && check_hashes(readers, &all) >= 9 + 4, turn());
    assert_true(all);
    nm_look_client_free(client);
    nm_look_free(look);
}

/* ---- services that every node has ---- */

static void a_type_is_described(void **state)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct call call;
    (void)state;
    call_open(&call, &peer, "/red1/striker/get_type_description",
              "type_description_interfaces::srv::dds_::GetTypeDescription");
    pack_text(call_begin(&call), "sensor_msgs/msg/Imu");
    pack_text(&call.request, Imu_type.hash);
    pack_u8(&call.request, 1);
    struct unpack u = call_end(&call, &peer);
    /* alignment counts from behind the ids, which are 16 bytes: nothing moves */
    const char *text = describe_read(&arena, &u, &err);
    if (!text) fail_msg("%s", err.text);
    assert_non_null(strstr(text, "geometry_msgs/Vector3 angular_velocity\n"));
    assert_non_null(strstr(text, "float64[9] orientation_covariance\n"));
    nm_arena_free(&arena);
    free(call.request.bytes);
}

static void ask_sim_time(bool expected)
{
    struct call call;
    call_open(&call, &peer, "/red1/striker/get_parameters", "rcl_interfaces::srv::dds_::GetParameters");
    pack_u32(call_begin(&call), 1);
    pack_text(&call.request, "use_sim_time");
    struct unpack u = call_end(&call, &peer);
    assert_int_equal(unpack_u32(&u), 1);
    assert_int_equal(unpack_u8(&u), 1); /* a bool */
    assert_int_equal(unpack_u8(&u), expected);
    free(call.request.bytes);
}

static void who_follows_a_clock_uses_simulated_time(void **state)
{
    (void)state;
    ask_sim_time(true);
}

static void who_has_the_real_time_does_not(void **state)
{
    (void)state;
    ask_sim_time(false);
}

static void a_request_that_is_too_long_is_refused(void **state)
{
    struct nm_dds_stats stats;
    struct call call;
    char name[200];
    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    call_open(&call, &peer, "/red1/command", "nutmeg_msgs::srv::dds_::SimCommand");
    pack_u8(call_begin(&call), SimCommand_Request_PAUSE);
    pack_text(&call.request, name);
    for (int i = 0; i < 16 + 2; i++) pack_f64(&call.request, 0);
    struct unpack u = call_end(&call, &peer);
    assert_int_equal(unpack_u8(&u), 0);
    const char *why = unpack_text(&u);
    if (!strstr(why, "name")) fail_msg("the reason does not name the member: %s", why);
    nm_dds_stats(dds, &stats);
    assert_int_equal(stats.too_long, 1);
    free(call.request.bytes);
}

/* ---- the console ---- */

static bool line_is_there(dds_entity_t lines, Log *line)
{
    return peer_take(&peer, lines) &&
           !nm_cdr_decode(&Log_type, line, peer.samples[0].bytes, peer.samples[0].size, NULL, NULL) &&
           !strcmp(line->msg, "hello");
}

static void a_console_line_says_whose_it_is(void **state)
{
    static Log line;
    (void)state;
    dds_entity_t lines = peer_reader(&peer, "rt/rosout", "rcl_interfaces::msg::dds_::Log_", true);
    wait_until(line_is_there(lines, &line), turn());
    assert_string_equal(line.name, "red1.striker.chatter");
    assert_string_equal(line.file, "tests/edge/dds/test_node.c");
    assert_string_equal(line.function, "chat");
    assert_true(line.line > 0);
}

/* ---- the wall clock ---- */

static int64_t wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

static int64_t stamp(dds_entity_t lines)
{
    static Log line;
    return line_is_there(lines, &line) ? line.stamp.sec : -1;
}

static void stamps_follow_a_clock_that_is_set(void **state)
{
    static const int64_t year = 365 * 86400;
    (void)state;
    dds_entity_t lines = peer_reader(&peer, "rt/rosout", "rcl_interfaces::msg::dds_::Log_", true);
    int64_t at = -1;
    wait_until((at = stamp(lines)) >= 0, );
    assert_true(llabs(at - wall()) < year / 2);
    atomic_store(&clock_set_by, -year * 1000000000);
    wait_until((at = stamp(lines)) >= 0 && llabs(at - wall()) < year / 2, );
    atomic_store(&clock_set_by, year * 1000000000);
    wait_until((at = stamp(lines)) >= 0 && llabs(at - wall()) < year / 2, );
}

/* ---- strangers ---- */

static char told[2048];
static void note(void *user, const char *sentence)
{
    (void)user;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", sentence);
}

static bool strangers(const char *topic, const char *part)
{
    told[0] = '\0';
    nm_dds_strangers(dds, topic, note, NULL);
    return strstr(told, part);
}

static void whoever_uses_our_topic_with_another_type_is_named(void **state)
{
    (void)state;
    assert_false(strangers("number", "it"));
    dds_entity_t writer = peer_writer(&peer, "rt/red1/number", "std_msgs::msg::dds_::String_", true, NULL);
    wait_until(strangers("number", "writes it as std_msgs/msg/String"), turn());
    char pid[32];
    snprintf(pid, sizeof pid, "(%d)", (int)getpid());
    assert_true(strangers("number", pid));
    assert_false(strangers("imu", "it"));
    dds_delete(writer);
    wait_until(!strangers("number", "it"), turn());
    peer_writer(&peer, "rt/red1/number", "std_msgs::msg::dds_::Float64_", true,
                "typehash=RIHS01_0000000000000000000000000000000000000000000000000000000000000000;");
    wait_until(strangers("number", "another definition of std_msgs/msg/Float64"), turn());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_end_says_the_hash_of_its_type, begin, end),
        cmocka_unit_test_setup_teardown(a_type_is_described, begin, end),
        cmocka_unit_test_setup_teardown(who_follows_a_clock_uses_simulated_time, begin_following, end),
        cmocka_unit_test_setup_teardown(who_has_the_real_time_does_not, begin_real, end),
        cmocka_unit_test_setup_teardown(a_request_that_is_too_long_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_console_line_says_whose_it_is, begin, end),
        cmocka_unit_test_setup_teardown(stamps_follow_a_clock_that_is_set, begin_real, end),
        cmocka_unit_test_setup_teardown(whoever_uses_our_topic_with_another_type_is_named, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
