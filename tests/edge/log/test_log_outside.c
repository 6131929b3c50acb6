/* A viewer, the control socket and DDS write all the time, also the same topics, and also those that are not theirs:
 * nobody's input is lost, and the replay is the same to the bit. */
#include "edge/log/rig.h"

#include <dds/dds.h>

#include "codec/cdr.h"
#include "edge/control/control.h"
#include "edge/dds/dds.h"
#include "edge/dds/domain.h"
#include "edge/dds/private_domain.h"
#include "edge/dds/rawtype.h"
#include "edge/live/live.h"
#include "edge/live/viewer.h"
#include "std_msgs/Int64.h"

/* ---- who listens ---- */

struct listener {
    struct nm *nm;
    const Int64 *servo; /* the hardware's                       */
    const Int64 *head;  /* said by everybody                    */
    const Int64 *mode;  /* said by the viewer only              */
    const Int64 *far;   /* said by the control socket and DDS   */
    nm_queue(Int64) heads, words;
    Int64 *heard;
    int64_t sum;
    int64_t servo_was, mode_was, far_was;
    uint32_t blanks; /* inputs that were there and are gone */
};
#define SELF struct listener

/* FNV-1a, kept within what a double holds exactly */
static void mix(struct listener *f, int64_t x)
{
    f->sum = (int64_t)(((uint64_t)f->sum ^ (uint64_t)x) * 1099511628211u % 9007199254740993u);
}

static void notice(struct listener *f, const Int64 *in, bool fresh, int64_t *was)
{
    f->blanks += *was && !in->data;
    *was = in->data;
    mix(f, in->data + 7 * fresh + (nm_age(f->nm, in) >> 8));
}

static void hear(struct listener *f)
{
    notice(f, f->servo, nm_fresh(f->nm, f->servo), &f->servo_was);
    notice(f, f->mode, nm_fresh(f->nm, f->mode), &f->mode_was);
    notice(f, f->far, nm_fresh(f->nm, f->far), &f->far_was);
    mix(f, f->head->data + nm_fresh(f->nm, f->head));
    for (uint32_t i = 0; i < f->heads.n; i++) mix(f, f->heads.at[i]->data);
    for (uint32_t i = 0; i < f->words.n; i++) mix(f, f->words.at[i]->data);
    f->heard->data = f->sum;
    nm_put(f->nm, f->heard);
}
static const struct nm_port ports[] = {NM_IN(servo, Int64, "servo"),       NM_IN(head, Int64, "head"),
                                       NM_IN(mode, Int64, "mode"),         NM_IN(far, Int64, "far"),
                                       NM_QUEUE(heads, Int64, "head", 64), NM_QUEUE(words, Int64, "words", 64),
                                       NM_OUT(heard, Int64, "heard"),      {0}};
NM_MODULE(listener, "Listens.", NM_PORTS(ports), .step = NM_CALL(hear))

static const char text[] = "cycles:\n"
                           "  fast: {period: 4 ms, cost: 1 ms, modules: [listener]}\n"
                           "  slow: {period: 30 ms, cost: 12 ms, modules:"
                           " [{module: listener, name: sleepy, topics: {heard: dreamt}}]}\n"
                           "remote: [servo, head, mode, far, words]\n";
static const char *const topics[] = {"head", "mode", "far", "words", "servo"};
enum { HEAD, MODE, FAR, WORDS, SERVO, TOPICS };

/* ---- who speaks ---- */

static struct started s;
static struct nm_edge *bus;
static struct nm_live *live;
static struct nm_control *control;
static struct nm_dds *dds;
static struct nm_log *record;
static struct viewer viewer;
static int client;
static dds_entity_t participant, writers[TOPICS];
static int64_t now_ms;

static void turn(void)
{
    run_until(&s, now_ms += 10);
    nm_live_poll(live);
    nm_control_poll(control, 0);
    nm_dds_poll(dds);
    nm_log_poll(record);
}

static void move(int64_t data)
{
    nm_edge_begin(bus, nm_player_now(s.player));
    ((Int64 *)nm_edge_out(bus, 0))->data = data;
    nm_edge_put(bus, 0);
    nm_edge_end(bus);
}

static bool viewer_hears(const char *part)
{
    while (viewer_next(&viewer))
        if (viewer.opcode == 1 && strstr((char *)viewer.frame, part)) return true;
    return false;
}

static void view(int topic, int64_t data)
{
    char frame[64] = {1, (char)(topic + 1), 0, 0, 0};
    int n = snprintf(frame + 5, sizeof frame - 5, "{\"data\": %lld}", (long long)data);
    viewer_send(&viewer, 2, frame, (size_t)n + 5);
    viewer_take(&viewer);
    viewer_drop(&viewer, viewer.n);
}

static void ask(int topic, int64_t data)
{
    char line[128], answer[4096];
    int n =
        snprintf(line, sizeof line, "{op: say, topic: %s, message: '{data: %lld}'}\n", topics[topic], (long long)data);
    assert_int_equal(send(client, line, (size_t)n, MSG_NOSIGNAL), n);
    while (recv(client, answer, sizeof answer, MSG_DONTWAIT) > 0) {}
}

static void send_sample(int topic, int64_t data)
{
    uint8_t bytes[64];
    int64_t n = nm_cdr_encode(&Int64_type, &(Int64){.data = data}, bytes, sizeof bytes);
    nm_raw_write(writers[topic], bytes, (size_t)n);
}

static void open_viewer(void)
{
    char words[512];
    viewer_dial(&viewer, nm_live_port(live), "/?token=test-token");
    wait_until(viewer_upgraded(&viewer), turn());
    for (int t = 0; t < TOPICS; t++) {
        snprintf(words, sizeof words,
                 "{\"op\":\"advertise\",\"channels\":[{\"id\":%d,\"topic\":\"/%s\",\"encoding\":\"json\","
                 "\"schemaName\":\"std_msgs/msg/Int64\"}]}",
                 t + 1, topics[t]);
        viewer_say(&viewer, words);
    }
    wait_until(viewer_hears("servo is refused: the edge 'bus' of this process publishes it"), turn());
}

static void open_client(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%s", nm_control_path(control));
    client = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof to), 0);
}

static void open_peer(void)
{
    struct nm_err err = {0};
    participant = nm_domain_join((uint32_t)private_domain(), false, &err);
    if (participant < 0) fail_msg("%s", err.text);
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 100);
    for (int t = 0; t < TOPICS; t++) {
        char name[64];
        snprintf(name, sizeof name, "rt/%s", topics[t]);
        writers[t] = dds_create_writer(participant, nm_raw_topic(participant, name, Int64_type.dds_name), qos, NULL);
        assert_true(writers[t] > 0);
        if (t != SERVO) wait_until(nm_dds_matched(dds, topics[t]) == 1, turn());
    }
    dds_delete_qos(qos);
}

static void begin(void)
{
    struct nm_err err = {0};
    now_ms = 0;
    start_with(&s, text, (struct nm_player_options){.seed = 5, .name = "listening"});
    bus = nm_edge_new(s.player, "bus", &(struct nm_edge_port){"servo", NM_PORT_OUT, NULL, 0, 0}, 1, &err);
    live = nm_live_new(s.player, &(struct nm_live_options){.token = "test-token", .virtual_time = true}, &err);
    control = nm_control_new(s.player, &(struct nm_control_options){.folder = place}, &err);
    dds = nm_dds_new(s.player, &(struct nm_dds_options){.domain = private_domain(), .virtual_time = true}, &err);
    if (!bus || !live || !control || !dds) fail_msg("%s", err.text);
}

static void end(void)
{
    viewer_close(&viewer);
    close(client);
    nm_domain_leave((uint32_t)private_domain(), participant);
    nm_dds_free(dds);
    nm_control_free(control);
    nm_live_free(live);
    stop(&s);
}

/* ---- the test ---- */

typedef void speak(int topic, int64_t data);

/* Whom each topic may be said by; the servos by nobody outside, though all of them try. */
static const struct {
    speak *by;
    bool says[TOPICS];
} speakers[] = {{view, {true, true, false, true, true}},
                {ask, {true, false, true, true, true}},
                {send_sample, {true, false, true, true, true}}};

static void everybody_speaks(void)
{
    static int64_t data;
    for (int k = (int)(drand48() * 6); k > 0; k--) {
        int who = (int)(drand48() * 3), topic = (int)(drand48() * TOPICS);
        if (speakers[who].says[topic]) speakers[who].by(topic, ++data);
        /* sometimes it arrives at once, in any order */
        if (drand48() < 0.3) nm_live_poll(live);
        if (drand48() < 0.3) nm_control_poll(control, 0);
        if (drand48() < 0.3) nm_dds_poll(dds);
    }
}

static void check_topic(const char *name, bool refused)
{
    struct nm_topic_stats stats;
    nm_player_topic_stats(s.player, nm_lineup_topic(s.lineup, name), &stats);
    assert_true(stats.seq > 50);
    assert_int_equal(stats.refused > 0, refused);
}

static void nobody_is_lost_and_the_replay_is_the_same(void **state)
{
    char said[8192];
    (void)state;
    begin();
    record = open_log(&s, (struct nm_log_options){.path = in_place("o.mcap"), .virtual_time = true});
    move(1);
    turn();
    open_viewer();
    open_client();
    open_peer();
    srand48(17);
    for (int i = 0; i < 600; i++) {
        if (i % 2) move(1000000 + i);
        everybody_speaks();
        turn();
    }
    for (int t = 0; t < TOPICS; t++) check_topic(topics[t], t == SERVO);
    for (uint32_t i = 0; i < 2; i++) {
        const struct listener *f = nm_player_self(s.player, i);
        assert_int_equal(f->blanks, 0);
        assert_true(f->servo->data >= 1000000);
    }
    nm_log_free(record);
    end();
    int code = REPLAY(said, in_place("o.mcap"));
    if (code) fail_msg("ended with %d: %s", code, said);
    assert_identical(said);
    /* one reader alone, and from the middle */
    code = REPLAY(said, in_place("o.mcap"), "--instance", "sleepy");
    if (code) fail_msg("ended with %d: %s", code, said);
    assert_identical(said);
    code = REPLAY(said, in_place("o.mcap"), "--from", "3");
    if (code) fail_msg("ended with %d: %s", code, said);
    assert_identical(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_is_lost_and_the_replay_is_the_same, make_place, clear_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
