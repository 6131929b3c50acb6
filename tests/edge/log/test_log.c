/* labels: threads
 * What a line-up did is in its log, and done again from it bit for bit: in virtual time, in threads, with services,
 * queues, frames, random numbers, changes of parameters and messages from outside; also one module alone, and from a
 * snapshot in the middle. What was lost on the way is named. */
#include "edge/log/band.h"

#include <signal.h>
#include <sys/wait.h>

#include "codec/cdr.h"
#include "codec/mcap_read.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/CycleTopics.h"
#include "nutmeg_msgs/TopicStatistics.h"
#include "patience.h"

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
    assert_non_null(strstr(text, "starting at the snapshot of 1.2"));
    EXPECT(0, in_place("v.mcap"), "--from", "1.4", "--instance", "judge");
    assert_identical(text);
    EXPECT(0, in_place("v.mcap"), "--from", "0.1"); /* there is no snapshot so early */
    assert_non_null(strstr(text, "starting at the beginning of the log"));
    assert_identical(text);
}

/* A snapshot becomes the state of modules: whoever wrote it decides what they do. */
static void snapshots_of_others_are_taken_only_when_asked_for(void **state)
{
    (void)state;
    char text[8192];
    record_virtual(in_place("v.mcap"), 2000);
    EXPECT(0, in_place("v.mcap"), "--from", "1.5");
    assert_int_equal(setenv("XDG_STATE_HOME", in_place("somebody"), 1), 0);
    EXPECT(2, in_place("v.mcap"), "--from", "1.5");
    EXPECT(0, in_place("v.mcap"), "--from", "1.5", "--trust");
    assert_identical(text);
    EXPECT(0, in_place("v.mcap")); /* from the beginning there is nothing to trust */
    assert_identical(text);
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
    start_with(&s, band, (struct nm_player_options){.seed = 3});
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

/* In place of the C library's, so that a box which is not forced to the disk is noticed. */
static _Atomic uint32_t syncs;
int fdatasync(int fd)
{
    syncs++;
    return fsync(fd);
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
    for (uint64_t bytes = bytes_of(log); bytes_of(log) == bytes;) nap(10); /* another chunk was written */
    wait_until(syncs > 1, (void)0);                                        /* and survives a loss of power, too */
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
    assert_non_null(strstr(text, "has lost notes on runs of cycle rhythm"));
    assert_non_null(strstr(text, "messages of wave were dropped during the recording"));
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)
    const struct CMUnitTest tests[] = {
        TEST(a_run_in_virtual_time_is_repeated_bit_for_bit),
        TEST(the_same_run_gives_the_same_bytes),
        TEST(one_module_is_repeated_alone),
        TEST(a_replay_may_begin_at_a_snapshot),
        TEST(snapshots_of_others_are_taken_only_when_asked_for),
        TEST(a_changed_parameter_is_heard_by_those_behind_it),
        TEST(a_run_in_threads_is_repeated_bit_for_bit),
        TEST(the_black_box_survives_a_kill_and_replays),
        TEST(what_was_dropped_stands_in_the_log),
        TEST(a_log_that_is_none_of_ours_is_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
