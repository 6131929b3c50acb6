/* labels: threads
 * The files of a log: complete when they are closed, readable to the last chunk when they are not, and a disk that
 * fails costs messages and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "codec/bag_yaml.h"
#include "codec/mcap_read.h"
#include "edge/log/tape.h"
#include "patience.h"

static char place[64];
static char said[16][512];
static uint32_t n_said;
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static void hear(void *user, const char *sentence)
{
    (void)user;
    pthread_mutex_lock(&said_lock);
    if (n_said < 16) snprintf(said[n_said++], sizeof said[0], "%s", sentence);
    pthread_mutex_unlock(&said_lock);
}

static uint32_t sentences(void)
{
    pthread_mutex_lock(&said_lock);
    uint32_t n = n_said;
    pthread_mutex_unlock(&said_lock);
    return n;
}

static void nap(int ms) { nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL); }

static char *in_place(const char *name)
{
    static char path[8][512];
    static int i;
    snprintf(path[i = (i + 1) % 8], sizeof path[0], "%s/%s", place, name);
    return path[i];
}

static int make_place(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/nutmeg-tape-XXXXXX");
    n_said = 0;
    return mkdtemp(place) ? 0 : -1;
}

static int clear_place(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", place, place);
    return system(command);
}

static struct tape_options usual(const char *path)
{
    return (struct tape_options){.path = path,
                                 .packing = NM_MCAP_LZ4,
                                 .flush = 20000000,
                                 .retry = 50000000,
                                 .sync = true,
                                 .room = 4 << 20,
                                 .said = hear};
}

/* One channel; an attachment and a standing message in every file. */
static struct tape *open_tape(const struct tape_options *options)
{
    struct nm_err err = {0};
    struct tape *tape = tape_new(options, &err);
    if (!tape) fail_msg("%s", err.text);
    assert_int_equal(tape_channel(tape, "/count", "std_msgs/msg/Int64", "int64 data\n", (struct nm_bytes){0}, &err), 1);
    assert_int_equal(tape_channel(tape, "/head", "std_msgs/msg/Int64", "int64 data\n", (struct nm_bytes){0}, &err), 2);
    tape_attach(tape, "lineup.yaml", "application/yaml", "cycles:\n", 8);
    tape_stand(tape, &(struct nm_mcap_message){.channel_id = 2, .data = {(const uint8_t *)"stands", 6}});
    assert_int_equal(tape_start(tape, &err), 0);
    return tape;
}

/* Noise, so that a compressor cannot make nothing of it. */
static bool put(struct tape *tape, uint32_t i, size_t n)
{
    static uint8_t bytes[1 << 16];
    uint64_t x = i + 1;
    for (size_t k = 0; k < n; k++) bytes[k] = (uint8_t)((x = x * 6364136223846793005u + 1442695040888963407u) >> 56);
    return tape_put(tape, &(struct nm_mcap_message){1, i, 1000000ull * i, 1000000ull * i, {bytes, n}});
}

struct read {
    uint64_t messages, count, first, last;
    bool whole;
    uint32_t attachments;
};

static struct read read_back(const char *path)
{
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    struct nm_err err = {0};
    struct read r = {0};
    if (nm_mcap_open(&source, path, &err)) fail_msg("%s", err.text);
    if (nm_mcap_contents_read(&contents, &source, &err)) fail_msg("%s", err.text);
    r.whole = contents.whole;
    r.messages = contents.messages;
    r.attachments = contents.n_attachments;
    struct nm_mcap_query *query = nm_mcap_query_new(&source, &contents, &(struct nm_mcap_query_options){0});
    struct nm_mcap_message message;
    uint32_t channel;
    while (nm_mcap_query_next(query, &message, &channel, NULL) > 0) {
        if (!nm_bytes_are(contents.channels[channel].topic, "/count")) continue;
        if (!r.count++) r.first = message.sequence;
        r.last = message.sequence;
    }
    nm_mcap_query_free(query);
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
    return r;
}

static void assert_sound(const char *path)
{
    struct nm_mcap_source source;
    struct nm_err faults = {0}, notes = {0};
    assert_int_equal(nm_mcap_open(&source, path, &faults), 0);
    if (nm_mcap_check(&source, &faults, &notes)) fail_msg("%s", faults.text);
    nm_mcap_close(&source);
}

/* ---- */

static void a_closed_file_is_sound_and_holds_every_message(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("log.mcap"));
    struct tape *tape = open_tape(&options);
    for (uint32_t i = 0; i < 1000; i++) assert_true(put(tape, i, 100));
    tape_free(tape);
    assert_sound(in_place("log.mcap"));
    struct read r = read_back(in_place("log.mcap"));
    assert_int_equal(r.count, 1000);
    assert_int_equal(r.messages, 1001);
    assert_int_equal(r.attachments, 1);
}

static void an_older_log_of_the_same_name_stays(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 3; n++) {
        struct tape_options options = usual(in_place("log.mcap"));
        struct tape *tape = open_tape(&options);
        for (uint32_t i = 0; i < n; i++) put(tape, i, 10);
        tape_free(tape);
    }
    assert_int_equal(read_back(in_place("log.mcap")).count, 1);
    assert_int_equal(read_back(in_place("log-2.mcap")).count, 2);
    assert_int_equal(read_back(in_place("log-3.mcap")).count, 3);
}

static void a_folder_is_rotated_by_size_and_described(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("game"));
    options.rotate = 200000;
    options.flush = 1;
    struct tape *tape = open_tape(&options);
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(put(tape, i, 10000));
        if (i % 10 == 9) nap(40);
    }
    tape_free(tape);
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_bag *bag = nm_bag_read(&arena, in_place("game/metadata.yaml"), &err);
    if (!bag) fail_msg("%s", err.text);
    assert_true(bag->n_files >= 3);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bag->n_files; i++) {
        char path[128];
        snprintf(path, sizeof path, "game/%s", bag->files[i].path);
        assert_sound(in_place(path));
        struct read r = read_back(in_place(path));
        assert_int_equal(r.messages, bag->files[i].messages);
        assert_int_equal(r.attachments, 1); /* each can be understood by itself */
        assert_int_equal(r.messages, r.count + 1);
        sum += r.count;
    }
    assert_int_equal(sum, 100);
    nm_arena_free(&arena);
}

static void only_the_newest_files_are_kept_where_that_is_asked_for(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("box"));
    options.rotate_after = 30000000;
    options.keep = 3;
    struct tape *tape = open_tape(&options);
    uint32_t i = 0;
    wait_until(tape_begun(tape) >= 6, put(tape, i++, 100));
    tape_free(tape);
    DIR *folder = opendir(in_place("box"));
    int files = 0;
    for (struct dirent *e; (e = readdir(folder));) files += strstr(e->d_name, ".mcap") != NULL;
    closedir(folder);
    assert_in_range(files, 2, 3);
}

/* Whoever puts is faster than a disk that is waited for after every chunk: sooner or later the ring is full. */
static void without_room_messages_are_dropped_and_counted(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("log.mcap"));
    options.room = 100000;
    struct tape *tape = open_tape(&options);
    uint32_t n = 0, dropped = 0;
    while (dropped < 10) dropped += !put(tape, n++, 5000);
    assert_int_equal(tape_dropped(tape, 1), dropped);
    tape_free(tape);
    assert_int_equal(read_back(in_place("log.mcap")).count, n - dropped);
}

static void wait_for_sentences(struct tape *tape, uint32_t n, uint32_t *i)
{
    wait_until(sentences() >= n, put(tape, (*i)++, 2000));
    assert_int_equal(sentences(), n);
}

static void a_full_disk_is_told_once_and_logging_goes_on_when_it_can(void **state)
{
    (void)state;
    struct rlimit was, small = {0};
    uint32_t i = 0;
    signal(SIGXFSZ, SIG_IGN);
    struct tape_options options = usual(in_place("log.mcap"));
    struct tape *tape = open_tape(&options);
    for (; i < 100; i++) put(tape, i, 2000);
    wait_until(tape_bytes(tape) >= 100 * 2000, ); /* noise does not shrink: all of it is in the file */
    getrlimit(RLIMIT_FSIZE, &was);
    small = was;
    small.rlim_cur = 1000; /* no file may grow beyond: the disk is full */
    setrlimit(RLIMIT_FSIZE, &small);
    wait_for_sentences(tape, 1, &i);
    for (int k = 0; k < 50; k++) put(tape, i++, 2000), nap(5);
    assert_int_equal(sentences(), 1);
    setrlimit(RLIMIT_FSIZE, &was);
    wait_for_sentences(tape, 2, &i);
    for (int k = 0; k < 100; k++) put(tape, i++, 2000);
    uint64_t dropped = tape_dropped(tape, 1);
    tape_free(tape);
    assert_non_null(strstr(said[0], "the log has stopped"));
    assert_non_null(strstr(said[1], "the log continues"));
    /* what was in a file before and after is there; nothing is lost twice or counted twice */
    struct read before = read_back(in_place("log.mcap"));
    uint64_t after = 0, files = 0;
    for (int k = 1; k < 200; k++) {
        char name[32];
        snprintf(name, sizeof name, "log_%d.mcap", k);
        if (access(in_place(name), F_OK)) continue;
        struct read r = read_back(in_place(name));
        after += r.count;
        files += r.whole;
    }
    assert_true(before.count >= 100);
    assert_int_equal(files, 1);
    assert_int_equal(before.count + after + dropped, i);
}

static void below_the_floor_of_free_space_nothing_is_written_and_the_robot_plays(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("log.mcap"));
    options.floor = UINT64_MAX; /* no disk has that */
    struct tape *tape = open_tape(&options);
    for (uint32_t i = 0; i < 100; i++) put(tape, i, 2000);
    wait_until(tape_dropped(tape, 1) == 100, );
    tape_free(tape);
    assert_int_equal(sentences(), 1);
    assert_non_null(strstr(said[0], "No space left"));
    assert_int_not_equal(access(in_place("log.mcap"), F_OK), 0);
}

static void a_file_that_is_removed_is_replaced_by_another(void **state)
{
    (void)state;
    uint32_t i = 0;
    struct tape_options options = usual(in_place("game"));
    struct tape *tape = open_tape(&options);
    for (; i < 50; i++) put(tape, i, 2000);
    nap(100);
    char command[600];
    snprintf(command, sizeof command, "rm -r %s", in_place("game"));
    assert_int_equal(system(command), 0);
    wait_for_sentences(tape, 2, &i);
    put(tape, i, 10);
    tape_free(tape);
    struct nm_arena arena = {0};
    struct nm_bag *bag = nm_bag_read(&arena, in_place("game/metadata.yaml"), NULL);
    assert_non_null(bag);
    char path[128];
    snprintf(path, sizeof path, "game/%s", bag->files[bag->n_files - 1].path);
    assert_sound(in_place(path));
    assert_int_equal(read_back(in_place(path)).last, i);
    nm_arena_free(&arena);
}

static void a_place_that_cannot_be_written_is_a_fault_at_the_start(void **state)
{
    (void)state;
    struct tape_options options = usual("/proc/nutmeg/log.mcap");
    struct nm_err err = {0};
    assert_null(tape_new(&options, &err));
    assert_int_equal(err.n, 1);
}

/* Whatever byte the last write reached: all up to the last chunk is there, and a repair makes a whole file of it. */
static void a_file_cut_at_any_byte_is_readable_up_to_the_last_chunk(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("log.mcap"));
    options.flush = 1;
    struct tape *tape = open_tape(&options);
    for (uint32_t i = 0; i < 60; i++) {
        put(tape, i, 300);
        if (i % 3 == 2) nap(25);
    }
    tape_free(tape);
    FILE *file = fopen(in_place("log.mcap"), "rb");
    static uint8_t bytes[1 << 20];
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint64_t had = 0;
    for (size_t cut = 200; cut < n; cut += 37) {
        file = fopen(in_place("cut.mcap"), "wb");
        fwrite(bytes, 1, cut, file);
        fclose(file);
        struct read r = read_back(in_place("cut.mcap"));
        assert_true(r.count >= had); /* the farther the cut, the more */
        if (r.count) assert_int_equal(r.last - r.first + 1, r.count);
        had = r.count;
    }
    assert_int_equal(had, 60);
}

static int to_stream(void *user, const void *bytes, size_t n) { return fwrite(bytes, 1, n, user) == n ? 0 : -1; }

static void a_kill_costs_at_most_the_open_chunk(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (!child) {
        struct tape_options options = usual(in_place("log.mcap"));
        struct nm_err err = {0};
        struct tape *tape = tape_new(&options, &err);
        tape_channel(tape, "/count", "std_msgs/msg/Int64", "int64 data\n", (struct nm_bytes){0}, &err);
        tape_start(tape, &err);
        bool told = false;
        for (uint32_t i = 0;; i++) {
            put(tape, i, 500);
            nap(1);
            if (told || tape_bytes(tape) < 200 * 600) continue; /* 500 bytes and what is around them */
            told = write(pipes[1], "x", 1) == 1;
        }
    }
    char byte;
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    struct read r = read_back(in_place("log.mcap"));
    assert_false(r.whole);
    assert_int_equal(r.first, 0);
    assert_int_equal(r.count, r.last + 1);
    assert_true(r.count > 150);
    struct nm_mcap_source source;
    struct nm_mcap_repair repair;
    struct nm_err found = {0}, err = {0};
    assert_int_equal(nm_mcap_open(&source, in_place("log.mcap"), &err), 0);
    FILE *to = fopen(in_place("whole.mcap"), "wb");
    assert_int_equal(nm_mcap_recover(&source, &(struct nm_mcap_write_options){0}, to_stream, to, &repair, &found, &err),
                     0);
    fclose(to);
    nm_mcap_close(&source);
    assert_sound(in_place("whole.mcap"));
    assert_int_equal(read_back(in_place("whole.mcap")).count, r.count);
}

/* ---- loss of power ---- */

/* What is on the disk for sure: the bytes that a file had when it was last synced. */
static struct durable {
    char path[256];
    off_t size;
} durable[64];
static uint32_t n_durable;

/* In place of the C library's: it also notes what would survive. */
int fdatasync(int fd)
{
    char link[64], path[256] = "";
    struct stat about;
    uint32_t i = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) < 0 || fstat(fd, &about)) return -1;
    while (i < n_durable && strcmp(durable[i].path, path)) i++;
    if (i == 64) return -1;
    if (i == n_durable) snprintf(durable[n_durable++].path, sizeof path, "%s", path);
    durable[i].size = about.st_size;
    return fsync(fd);
}

/* The last message that a loss of power would leave now; 0: none. */
static uint64_t newest_durable(void)
{
    uint64_t newest = 0;
    for (uint32_t i = 0; i < n_durable; i++) {
        FILE *from = fopen(durable[i].path, "rb"), *to = fopen(in_place("durable.mcap"), "wb");
        uint8_t *bytes = malloc((size_t)durable[i].size + 1);
        if (from && to) fwrite(bytes, 1, fread(bytes, 1, (size_t)durable[i].size, from), to);
        if (from) fclose(from);
        fclose(to);
        free(bytes);
        if (!from) continue; /* removed, as an old file of a box is */
        struct read r = read_back(in_place("durable.mcap"));
        if (r.count && r.last > newest) newest = r.last;
    }
    return newest;
}

/* A message each ms of the log's own time, which decides what is due: how much would ever be lost, in ms. */
static uint64_t most_lost(const struct tape_options *options)
{
    enum { LENGTH = 6000, LOOK = 37 };
    n_durable = 0;
    uint64_t most = 0;
    struct tape *tape = open_tape(options);
    for (uint32_t i = 1; i < LENGTH; i++) {
        put(tape, i, 20);
        if (i % LOOK) continue;
        uint64_t lost = i - newest_durable();
        if (lost > most) most = lost;
    }
    tape_free(tape);
    return most;
}

static void a_loss_of_power_costs_no_more_than_the_open_chunk(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("log"));
    options.direct = true;
    options.flush = 400000000;
    options.rotate = 40000;
    assert_in_range(most_lost(&options), 350, 420);
    assert_true(n_durable > 2); /* also where a new file begins */
}

static void a_box_is_synced_less_often_and_loses_little_more(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("box"));
    options.direct = true;
    options.flush = 250000000;
    options.sync_every = 1000000000;
    options.rotate_after = 2000000000;
    options.keep = 2;
    assert_in_range(most_lost(&options), 500, 1270);
}

/* Messages of a file on a topic: sequence numbers and log times of the first ones. */
static uint32_t on_topic(const char *path, const char *topic, struct nm_mcap_message *to, uint32_t most)
{
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    struct nm_mcap_message message;
    uint32_t channel, n = 0;
    assert_int_equal(nm_mcap_open(&source, path, NULL), 0);
    assert_int_equal(nm_mcap_contents_read(&contents, &source, NULL), 0);
    struct nm_mcap_query *query = nm_mcap_query_new(&source, &contents, &(struct nm_mcap_query_options){0});
    while (nm_mcap_query_next(query, &message, &channel, NULL) > 0)
        if (nm_bytes_are(contents.channels[channel].topic, topic) && n < most) to[n++] = message;
    nm_mcap_query_free(query);
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
    return n;
}

static void every_file_begins_with_what_was_latched(void **state)
{
    (void)state;
    struct tape_options options = usual(in_place("log"));
    struct nm_mcap_message got[8];
    options.direct = true;
    options.rotate_after = 100000000;
    struct tape *tape = tape_new(&options, NULL);
    assert_int_equal(tape_channel(tape, "/count", "std_msgs/msg/Int64", "int64 data\n", (struct nm_bytes){0}, NULL), 1);
    assert_int_equal(tape_channel(tape, "/tf_static", "std_msgs/msg/Int64", "int64 data\n", (struct nm_bytes){0}, NULL),
                     2);
    tape_latch(tape, 2, 2);
    assert_int_equal(tape_start(tape, NULL), 0);
    for (uint32_t i = 1; i <= 3; i++)
        tape_put(tape, &(struct nm_mcap_message){2, i, 1000000u * i, 1000000u * i, {(const uint8_t *)"frames", 6}});
    for (uint32_t i = 4; i < 300; i++) put(tape, i, 20);
    tape_free(tape);
    assert_int_equal(on_topic(in_place("log/log_0.mcap"), "/tf_static", got, 8), 3);
    assert_int_equal(on_topic(in_place("log/log_1.mcap"), "/tf_static", got, 8), 2); /* the last two, as asked for */
    assert_int_equal(got[0].sequence, 2);
    assert_int_equal(got[0].publish_time, 2000000);
    assert_true(got[0].log_time >= 100000000); /* a viewer shows no time before the file */
    assert_int_equal(on_topic(in_place("log/log_2.mcap"), "/tf_static", got, 8), 2);
    assert_int_equal(got[1].sequence, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)
    const struct CMUnitTest tests[] = {
        TEST(a_closed_file_is_sound_and_holds_every_message),
        TEST(an_older_log_of_the_same_name_stays),
        TEST(a_folder_is_rotated_by_size_and_described),
        TEST(only_the_newest_files_are_kept_where_that_is_asked_for),
        TEST(without_room_messages_are_dropped_and_counted),
        TEST(a_full_disk_is_told_once_and_logging_goes_on_when_it_can),
        TEST(below_the_floor_of_free_space_nothing_is_written_and_the_robot_plays),
        TEST(a_file_that_is_removed_is_replaced_by_another),
        TEST(a_place_that_cannot_be_written_is_a_fault_at_the_start),
        TEST(a_file_cut_at_any_byte_is_readable_up_to_the_last_chunk),
        TEST(a_kill_costs_at_most_the_open_chunk),
        TEST(a_loss_of_power_costs_no_more_than_the_open_chunk),
        TEST(a_box_is_synced_less_often_and_loses_little_more),
        TEST(every_file_begins_with_what_was_latched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
