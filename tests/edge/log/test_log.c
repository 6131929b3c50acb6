/* labels: threads
 * What a line-up did is in its log, and done again from it bit for bit: in virtual time, in threads, with services,
 * queues, frames, random numbers, changes of parameters and messages from outside; also one module alone, and from a
 * snapshot in the middle. What was lost on the way is named. */
#include "core/started.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/alloc_guard.h"
#include "cmd/commands.h"
#include "codec/cdr.h"
#include "codec/mcap_read.h"
#include "edge/log/log.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/CycleTopics.h"
#include "nutmeg_msgs/TopicStatistics.h"
#include "patience.h"
#include "sensor_msgs/Image.h"
#include "std_msgs/Float64.h"
#include "std_msgs/Int64.h"
#include "std_srvs/SetBool.h"
#include "tf2_msgs/TFMessage.h"

static char place[64];

static void nap(int ms) { nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL); }

static const char *in_place(const char *name)
{
    static char path[8][256];
    static int i;
    snprintf(path[i = (i + 1) % 8], sizeof path[0], "%s/%s", place, name);
    return path[i];
}

/* ---- a drummer: a value, a queue of random length, a frame, a service ---- */

struct drummer {
    struct nm *nm;
    const Float64 *outside;
    Float64 *wave;
    nm_out_queue(Int64) beats;
    nm_out_queue(TFMessage) tf;
    nm_server(SetBool) loud;
    double gain;
    double phase, volume;
    int64_t n;
    const void *own; /* points into this struct, as a list would */
};
#define SELF struct drummer
static void drummer_step(struct drummer *f)
{
    f->own = &f->phase;
    f->phase += 0.1 * f->gain + 0.01 * nm_random(f->nm) + (nm_fresh(f->nm, f->outside) ? f->outside->data : 0);
    for (uint32_t i = 0; i < f->loud.requests.n; i++) {
        const SetBool_Request *request = f->loud.requests.at[i];
        f->volume = request->data ? 2 : 1;
        SetBool_Response *reply = nm_reply(f->nm, &f->loud, request);
        reply->success = true;
        nm_text(reply->message, "volume %g at %g", f->volume, *(const double *)f->own);
    }
    f->wave->data = f->volume * sin(f->phase);
    nm_put(f->nm, f->wave);
    for (int k = (int)(3 * nm_random(f->nm)); k > 0; k--) nm_push(f->nm, &f->beats)->data = ++f->n;
    TFMessage *tf = nm_push(f->nm, &f->tf);
    TransformStamped *t = nm_append(&tf->transforms, &TransformStamped_type);
    t->header.stamp.sec = (int32_t)(f->nm->now / 1000000000);
    t->header.stamp.nanosec = (uint32_t)(f->nm->now % 1000000000);
    nm_text(t->header.frame_id, "world");
    nm_text(t->child_frame_id, "stick");
    t->transform.translation.x = f->phase;
    t->transform.rotation.w = 1;
    if (f->n % 50 == 49) nm_log(f->nm, NM_INFO, "beat %ld", (long)f->n);
}
static const struct nm_port drummer_ports[] = {
    NM_IN(outside, Float64, "outside"),     NM_OUT(wave, Float64, "wave"),
    NM_OUT_QUEUE(beats, Int64, "beats", 8), NM_OUT_QUEUE(tf, TFMessage, "tf", 4, .many = true),
    NM_SERVER(loud, SetBool, "loud", 4),    {0}};
static const struct nm_param drummer_params[] = {NM_PARAM(gain, 1, 0, 10, "1", "how fast"), {0}};
NM_MODULE(drummer, "Beats.", .ports = drummer_ports, .params = drummer_params, .step = NM_CALL(drummer_step))

/* ---- a dancer in another cycle: hears all of it, asks, and looks at its own last step ---- */

struct dancer {
    struct nm *nm;
    const Float64 *wave, *before;
    nm_queue(Int64) beats;
    nm_client(SetBool) loud;
    Float64 *step_out;
    double patience;
    double sum;
    int64_t asked, answered, heard;
};
#undef SELF
#define SELF struct dancer
static void dancer_step(struct dancer *f)
{
    struct pose3 stick = {0};
    for (uint32_t i = 0; i < f->beats.n; i++) f->heard += f->beats.at[i]->data;
    for (uint32_t i = 0; i < f->loud.replies.n; i++) f->answered += (int64_t)strlen(f->loud.replies.at[i]->message);
    if (f->nm->run % 40 == 0) nm_call(f->nm, &f->loud)->data = f->asked++ % 2;
    nm_tf(f->nm, "stick", "world", NM_TF_NEWEST, &stick);
    f->sum = 0.5 * f->sum + f->patience * f->wave->data + stick.pos.x + 0.1 * f->before->data;
    f->step_out->data = f->sum + (double)f->heard + (double)f->answered + 1e-9 * (double)nm_age(f->nm, f->wave) +
                        nm_gauss(f->nm) + 1e-12 * (double)f->nm->dt;
    nm_put(f->nm, f->step_out);
}
static const struct nm_port dancer_ports[] = {NM_IN(wave, Float64, "wave"),
                                              NM_LAST(before, Float64, "step"),
                                              NM_QUEUE(beats, Int64, "beats", 512),
                                              NM_CLIENT(loud, SetBool, "loud", 4),
                                              NM_OUT(step_out, Float64, "step"),
                                              NM_READS_TF,
                                              {0}};
static const struct nm_param dancer_params[] = {NM_PARAM(patience, 0.5, 0, 1, "1", "share that stays"), {0}};
NM_MODULE(dancer, "Dances.", .ports = dancer_ports, .params = dancer_params, .step = NM_CALL(dancer_step))

struct judge {
    struct nm *nm;
    const Float64 *dance;
    Float64 *score;
    double best;
};
#undef SELF
#define SELF struct judge
static void judge_step(struct judge *f)
{
    if (f->dance->data > f->best) f->best = f->dance->data;
    f->score->data = f->best - f->dance->data;
    nm_put(f->nm, f->score);
}
static const struct nm_port judge_ports[] = {NM_IN(dance, Float64, "step"), NM_OUT(score, Float64, "score"), {0}};
NM_MODULE(judge, "Judges.", .ports = judge_ports, .step = NM_CALL(judge_step))

static const char band[] = "cycles:\n"
                           "  rhythm: {period: 2 ms, cost: 500 us, modules: [drummer]}\n"
                           "  floor: {period: 5 ms, cost: 1 ms, modules: [dancer, judge]}\n"
                           "remote: [outside]\n";

/* ---- help ---- */

static int make_place(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/nutmeg-log-XXXXXX");
    return mkdtemp(place) ? 0 : -1;
}

static int clear_place(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", place);
    return system(command);
}

static struct nm_log *open_log(struct started *s, struct nm_log_options options)
{
    struct nm_err err = {0};
    options.revision = "test";
    options.cpu = "test";
    if (!options.snapshots) options.snapshots = 300000000;
    struct nm_log *log = nm_log_new(s->player, &options, &err);
    if (!log) fail_msg("%s", err.text);
    return log;
}

static void set_gain(struct started *s, const char *value)
{
    struct nm_err err = {0};
    uint32_t instance = nm_lineup_instance(s->lineup, "drummer");
    struct nm_change change = {.instance = instance};
    assert_int_equal(nm_value_parse(&drummer_params[0], value, &change.value, &err), 0);
    if (nm_player_set(s->player, &change, 1, &err) < 0) fail_msg("%s", err.text);
}

/* `nutmeg replay …` in this process; what it said is in `text`. */
static int replay(char *text, size_t size, const char *const *words)
{
    char *argv[16], *own[16]; /* a command moves its arguments about */
    int argc = 0;
    for (own[argc++] = strdup("replay"); *words; words++) own[argc++] = strdup(*words);
    own[argc] = NULL;
    memcpy(argv, own, sizeof argv);
    fflush(stdout);
    int keep = dup(STDOUT_FILENO), file = open(in_place("said"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    int code = cmd_replay(argc, argv);
    fflush(stdout);
    dup2(keep, STDOUT_FILENO);
    close(keep);
    ssize_t n = pread(file, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(file);
    for (int i = 0; i < argc; i++) free(own[i]);
    return code;
}
#define REPLAY(text, ...) replay(text, sizeof text, (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT(code, ...)                                                                                              \
    do {                                                                                                               \
        int got = REPLAY(text, __VA_ARGS__);                                                                           \
        if (got != (code)) fail_msg("ended with %d: %s", got, text);                                                   \
    } while (0)

/* The log is of this program, though it says otherwise, so that a line about the revision is all that may be said. */
static void assert_identical(const char *text)
{
    if (!strstr(text, "all identical") || strstr(text, "lost") || strstr(text, "missing") || strstr(text, "dropped") ||
        strstr(text, "not in the log"))
        fail_msg("%s", text);
}

struct outside {
    struct nm_edge *edge;
    struct started *s;
    _Atomic bool over;
};

static void *bring(void *user)
{
    struct outside *o = user;
    for (int i = 0; !atomic_load(&o->over); i++) {
        nm_edge_begin(o->edge, nm_player_now(o->s->player));
        ((Float64 *)nm_edge_out(o->edge, 0))->data = 1e-3 * (i % 17);
        nm_edge_put(o->edge, 0);
        nm_edge_end(o->edge);
        nap(3);
    }
    return NULL;
}

static const struct nm_edge_port outside_port = {.topic = "outside", .kind = NM_PORT_OUT};

static void record_virtual(const char *path, int64_t ms)
{
    struct started s;
    start_with(&s, band, (struct nm_player_options){.seed = 7, .enter = nm_guard_enter, .leave = nm_guard_leave});
    struct nm_edge *outside = edge(&s, &outside_port, 1);
    struct nm_log *log = open_log(&s, (struct nm_log_options){.path = path, .virtual_time = true});
    for (int64_t now = 10; now <= ms; now += 10) {
        nm_edge_begin(outside, nm_player_now(s.player));
        ((Float64 *)nm_edge_out(outside, 0))->data = 1e-3 * (double)(now % 170);
        nm_edge_put(outside, 0);
        nm_edge_end(outside);
        run_until(&s, now);
        if (now == ms / 2) set_gain(&s, "2.5");
        nm_log_poll(log);
    }
    nm_log_free(log);
    stop(&s);
}

/* ---- */

static void a_run_in_virtual_time_is_repeated_bit_for_bit(void **state)
{
    (void)state;
    char text[8192];
    record_virtual(in_place("v.mcap"), 2000);
    EXPECT(0, in_place("v.mcap"));
    assert_identical(text);
    assert_non_null(strstr(text, "1400 runs"));
}

static void the_same_run_gives_the_same_bytes(void **state)
{
    (void)state;
    char command[600];
    record_virtual(in_place("a.mcap"), 500);
    record_virtual(in_place("b.mcap"), 500);
    snprintf(command, sizeof command, "cmp %s %s", in_place("a.mcap"), in_place("b.mcap"));
    assert_int_equal(system(command), 0);
}

static void one_module_is_repeated_alone(void **state)
{
    (void)state;
    char text[8192];
    record_virtual(in_place("v.mcap"), 1000);
    EXPECT(0, in_place("v.mcap"), "--instance", "dancer");
    assert_identical(text);
    EXPECT(0, in_place("v.mcap"), "--instance", "judge");
    assert_identical(text);
    EXPECT(2, in_place("v.mcap"), "--instance", "nobody");
}

static void a_replay_may_begin_at_a_snapshot(void **state)
{
    (void)state;
    char text[8192];
    record_virtual(in_place("v.mcap"), 2000);
    EXPECT(0, in_place("v.mcap"), "--from", "1.4");
    assert_identical(text);
    assert_non_null(strstr(text, "begins at the snapshot of 1.2"));
    EXPECT(0, in_place("v.mcap"), "--from", "1.4", "--instance", "judge");
    assert_identical(text);
    EXPECT(2, in_place("v.mcap"), "--from", "0.1"); /* there is none so early */
}

static void a_changed_parameter_is_heard_by_those_behind_it(void **state)
{
    (void)state;
    char text[8192];
    record_virtual(in_place("v.mcap"), 500);
    EXPECT(1, in_place("v.mcap"), "--set", "dancer.patience=0.9", "-o", in_place("out.mcap"));
    assert_non_null(strstr(text, "the first: /step"));
    assert_non_null(strstr(text, "/score"));
    assert_null(strstr(text, "  /wave ")); /* the drummer stands before the dancer */
    struct nm_mcap_source source;
    struct nm_err faults = {0}, notes = {0};
    assert_int_equal(nm_mcap_open(&source, in_place("out.mcap"), &faults), 0);
    assert_int_equal(nm_mcap_check(&source, &faults, &notes), 0);
    nm_mcap_close(&source);
}

/* ---- the order in the file ---- */

struct order {
    uint16_t channels[64], runs, topics; /* ids by topic and maker */
    char names[64][64], makers[64][32];
    uint64_t last[64]; /* message of each that was seen */
    uint32_t n, checked;
    CycleTopics tables[4];
    uint32_t n_tables;
};

static uint32_t channel_at(const struct order *o, const char *topic, const char *maker)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (!strcmp(o->names[i], topic) && !strcmp(o->makers[i], maker)) return i;
    fail_msg("%s of %s has no channel", topic, maker);
    return 0;
}

static void text_of(char *to, size_t size, struct nm_bytes bytes)
{
    snprintf(to, size, "%.*s", (int)bytes.n, (const char *)bytes.at);
}

static void see_channel(struct order *o, const struct nm_mcap_channel *channel)
{
    uint32_t i = 0;
    while (i < o->n && o->channels[i] != channel->id) i++;
    assert_true(i < 64);
    if (i == o->n) o->n++;
    o->channels[i] = channel->id;
    text_of(o->names[i], sizeof o->names[i], channel->topic);
    text_of(o->makers[i], sizeof o->makers[i], nm_mcap_text_at(channel->metadata, "maker"));
    if (nm_bytes_are(channel->topic, "/nutmeg/runs")) o->runs = channel->id;
    if (nm_bytes_are(channel->topic, "/nutmeg/topics")) o->topics = channel->id;
}

static void see_note(struct order *o, struct nm_bytes data)
{
    static CycleRecord note;
    assert_int_equal(nm_cdr_decode(&CycleRecord_type, &note, data.at, data.n, NULL, NULL), 0);
    for (uint32_t t = 0; t < o->n_tables; t++) {
        const CycleTopics *table = &o->tables[t];
        if (strcmp(table->cycle, note.cycle)) continue;
        for (uint32_t k = 0; k < 2; k++) {
            const TopicSequence *at = k ? note.produced.at : note.consumed.at;
            for (uint32_t i = 0; i < (k ? note.produced.n : note.consumed.n); i++, o->checked++)
                assert_true(o->last[channel_at(o, table->topics.at[at[i].topic], table->makers.at[at[i].topic])] >=
                            at[i].last);
        }
    }
}

/* Wherever the file is cut, a note in it has all that it speaks of before it. */
static void assert_notes_come_last(const char *path)
{
    static struct order o;
    struct nm_mcap_source source;
    struct nm_mcap_record record;
    struct nm_mcap_scan scan;
    memset(&o, 0, sizeof o);
    assert_int_equal(nm_mcap_open(&source, path, NULL), 0);
    nm_mcap_scan_begin(&scan, &source);
    scan.into = true;
    while (nm_mcap_scan_next(&scan, &record, NULL) == NM_MCAP_GOT) {
        if (record.op == NM_MCAP_CHANNEL) see_channel(&o, &record.channel);
        if (record.op != NM_MCAP_MESSAGE) continue;
        const struct nm_mcap_message *m = &record.message;
        if (m->channel_id == o.runs) see_note(&o, m->data);
        if (m->channel_id == o.topics && o.n_tables < 4)
            assert_int_equal(
                nm_cdr_decode(&CycleTopics_type, &o.tables[o.n_tables++], m->data.at, m->data.n, NULL, NULL), 0);
        for (uint32_t i = 0; i < o.n; i++)
            if (o.channels[i] == m->channel_id) o.last[i] = m->sequence;
    }
    nm_mcap_scan_end(&scan);
    nm_mcap_close(&source);
    assert_true(o.checked > 1000);
}

static uint64_t runs_of(const struct started *s)
{
    uint64_t runs = 0;
    for (uint32_t i = 0; i < 2; i++) {
        struct nm_cycle_stats stats;
        nm_player_cycle_stats(s->player, i, &stats);
        runs += stats.runs;
    }
    return runs;
}

static void a_run_in_threads_is_repeated_bit_for_bit(void **state)
{
    (void)state;
    char text[8192];
    struct started s;
    struct nm_err err = {0};
    pthread_t thread;
    start_with(&s, band, (struct nm_player_options){.seed = 3, .enter = nm_guard_enter, .leave = nm_guard_leave});
    struct outside outside = {.edge = edge(&s, &outside_port, 1), .s = &s};
    struct nm_log *log = open_log(&s, (struct nm_log_options){.path = in_place("t.mcap")});
    assert_int_equal(nm_player_start(s.player, &err), 0);
    assert_int_equal(nm_log_start(log, &err), 0);
    assert_int_equal(pthread_create(&thread, NULL, bring, &outside), 0);
    wait_until(runs_of(&s) > 500, );
    set_gain(&s, "0.5");
    wait_until(runs_of(&s) > 1000, );
    atomic_store(&outside.over, true);
    pthread_join(thread, NULL);
    nm_player_stop(s.player);
    struct nm_log_stats stats;
    nm_log_end(log);
    nm_log_stats(log, &stats);
    nm_log_free(log);
    stop(&s);
    assert_int_equal(stats.dropped, 0);
    assert_true(stats.messages > 1000);
    assert_notes_come_last(in_place("t.mcap"));
    EXPECT(0, in_place("t.mcap"));
    assert_identical(text);
    EXPECT(0, in_place("t.mcap"), "--from", "1");
    assert_identical(text);
}

static uint64_t bytes_of(const struct nm_log *log)
{
    struct nm_log_stats stats;
    nm_log_stats(log, &stats);
    return stats.bytes;
}

/* A robot that is killed in the middle of its play, with a black box and nothing else. */
static void play_until_killed(int ready)
{
    struct started s;
    struct nm_err err = {0};
    pthread_t thread;
    start_with(&s, band, (struct nm_player_options){.seed = 3});
    struct outside outside = {.edge = edge(&s, &outside_port, 1), .s = &s};
    struct nm_log *log = open_log(&s, (struct nm_log_options){.box = in_place("box")});
    if (nm_player_start(s.player, &err) || nm_log_start(log, &err)) _exit(1);
    if (pthread_create(&thread, NULL, bring, &outside)) _exit(1);
    while (runs_of(&s) < 1000) nap(10);
    for (uint64_t bytes = bytes_of(log); bytes_of(log) == bytes;) nap(10); /* another chunk is on the disk */
    if (write(ready, "x", 1) != 1) _exit(1);
    for (;;) nap(1000);
}

static void the_black_box_survives_a_kill_and_replays(void **state)
{
    (void)state;
    char text[8192], byte;
    for (int round = 0; round < 2; round++) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        pid_t child = fork();
        if (!child) play_until_killed(pipes[1]);
        assert_int_equal(read(pipes[0], &byte, 1), 1);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(pipes[0]);
        close(pipes[1]);
    }
    /* the box of the run before is kept beside it */
    const char *const boxes[] = {in_place("box"), in_place("box.1")};
    for (int i = 0; i < 2; i++) {
        EXPECT(0, boxes[i]);
        assert_identical(text);
        int runs = 0;
        assert_int_equal(sscanf(text, "%d runs", &runs), 1);
        assert_true(runs > 500); /* of 1000 and more */
    }
}

/* Nobody takes anything out of the log's queues for a long while. */
static void what_was_dropped_stands_in_the_log(void **state)
{
    (void)state;
    char text[8192];
    struct started s;
    start(&s, band);
    struct nm_edge *outside = edge(&s, &outside_port, 1);
    (void)outside;
    struct nm_log *log = open_log(&s, (struct nm_log_options){.path = in_place("d.mcap"), .virtual_time = true});
    run_until(&s, 10);
    nm_log_poll(log);
    run_until(&s, 5000);
    nm_log_poll(log);
    for (int64_t now = 5010; now < 7000; now += 10) run_until(&s, now), nm_log_poll(log);
    nm_log_free(log);
    stop(&s);
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    uint64_t told = 0;
    assert_int_equal(nm_mcap_open(&source, in_place("d.mcap"), NULL), 0);
    assert_int_equal(nm_mcap_contents_read(&contents, &source, NULL), 0);
    for (uint32_t i = 0; i < contents.n_channels; i++)
        if (nm_bytes_are(contents.channels[i].topic, "/nutmeg/traffic")) told = contents.counts[i];
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
    assert_true(told > 0);
    REPLAY(text, in_place("d.mcap"));
    assert_non_null(strstr(text, "notes of runs of cycle rhythm are missing"));
    assert_non_null(strstr(text, "messages of wave were dropped while it was recorded"));
}

static void a_log_that_is_none_of_ours_is_refused_with_a_sentence(void **state)
{
    (void)state;
    char text[8192];
    FILE *file = fopen(in_place("x.mcap"), "wb");
    fputs("no log at all", file);
    fclose(file);
    assert_int_not_equal(REPLAY(text, in_place("x.mcap")), 0);
    assert_int_not_equal(REPLAY(text, in_place("nothing.mcap")), 0);
}

/* ---- images ---- */

struct painter {
    struct nm *nm;
    Image *picture;
};
#undef SELF
#define SELF struct painter
static void painter_step(struct painter *f)
{
    if (!nm_blob_take(f->nm, f->picture, &f->picture->data, 32 * 24 * 3)) return;
    f->picture->width = 32;
    f->picture->height = 24;
    f->picture->step = 96;
    nm_text(f->picture->encoding, "rgb8");
    f->picture->data.n = 32 * 24 * 3;
    for (uint32_t i = 0; i < f->picture->data.n; i++) f->picture->data.data[i] = (uint8_t)(i + f->nm->run);
    nm_put(f->nm, f->picture);
}
static const struct nm_port painter_ports[] = {NM_OUT(picture, Image, "picture", .blob = 32 * 24 * 3), {0}};
NM_MODULE(painter, "Paints.", .ports = painter_ports, .step = NM_CALL(painter_step))

struct critic {
    struct nm *nm;
    const Image *picture;
    Int64 *opinion;
};
#undef SELF
#define SELF struct critic
static void critic_step(struct critic *f)
{
    for (uint32_t i = 0; i < f->picture->data.n; i++) f->opinion->data += f->picture->data.data[i] * (i % 7);
    nm_put(f->nm, f->opinion);
}
static const struct nm_port critic_ports[] = {NM_IN(picture, Image, "picture"), NM_OUT(opinion, Int64, "opinion"), {0}};
NM_MODULE(critic, "Looks.", .ports = critic_ports, .step = NM_CALL(critic_step))

static const char gallery[] = "cycles:\n"
                              "  easel: {period: 20 ms, modules: [painter]}\n"
                              "  wall: {period: 20 ms, modules: [critic]}\n";

static void record_gallery(const char *path, enum nm_log_images images)
{
    struct started s;
    start(&s, gallery);
    struct nm_log *log = open_log(&s, (struct nm_log_options){.path = path, .virtual_time = true, .images = images});
    for (int64_t now = 10; now <= 500; now += 10) run_until(&s, now), nm_log_poll(log);
    nm_log_free(log);
    stop(&s);
}

static void images_are_exact_raw_and_named_where_they_are_not(void **state)
{
    (void)state;
    char text[8192];
    record_gallery(in_place("raw.mcap"), NM_LOG_RAW);
    EXPECT(0, in_place("raw.mcap"), "--instance", "critic");
    assert_identical(text);
    record_gallery(in_place("jpeg.mcap"), NM_LOG_JPEG);
    EXPECT(1, in_place("jpeg.mcap"), "--instance", "critic");
    assert_non_null(strstr(text, "/picture is stored with loss (JPEG): what cycle wall makes of it is not exact"));
    /* whole, the painter paints them again, and all of it is exact */
    EXPECT(0, in_place("jpeg.mcap"));
    assert_identical(text);
    record_gallery(in_place("small.mcap"), NM_LOG_THUMBNAILS);
    EXPECT(1, in_place("small.mcap"), "--instance", "critic");
    assert_non_null(strstr(text, "/picture is not in the log"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)
    const struct CMUnitTest tests[] = {
        TEST(a_run_in_virtual_time_is_repeated_bit_for_bit),
        TEST(the_same_run_gives_the_same_bytes),
        TEST(one_module_is_repeated_alone),
        TEST(a_replay_may_begin_at_a_snapshot),
        TEST(a_changed_parameter_is_heard_by_those_behind_it),
        TEST(a_run_in_threads_is_repeated_bit_for_bit),
        TEST(the_black_box_survives_a_kill_and_replays),
        TEST(what_was_dropped_stands_in_the_log),
        TEST(a_log_that_is_none_of_ours_is_refused_with_a_sentence),
        TEST(images_are_exact_raw_and_named_where_they_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
