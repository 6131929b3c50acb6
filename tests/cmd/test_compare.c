/* nutmeg compare: a log is the same as itself; what differs is named with its time, member and size; messages find
 * their partners by time, by number or by order; exit codes are those of diff. */
#include "said.h"
#include "logs.h"

#include "sensor_msgs/Imu.h"
#include "std_msgs/String.h"

#define ends(code, line, part) assert_ends(cmd_compare, code, "compare " line, part)

struct how {         /* what is different from the plain log */
    int n;           /* messages                             */
    int from;        /* the first of them                    */
    double bent;     /* added to x of message 50 and later   */
    uint64_t later;  /* ns, all of it                        */
    bool no_numbers; /* sequence is 0                        */
    bool other_type; /* speech has another definition        */
    bool replay;     /* written by a replay                  */
    const char *extra, *extra_type;
};

static void make_log(const char *path, struct how how)
{
    static Imu imu;
    static String text;
    FILE *file = fopen(path, "wb");
    struct nm_mcap_writer *w = nm_mcap_writer_new(
        &(struct nm_mcap_write_options){.chunk_size = 5000, .library = how.replay ? "nutmeg replay" : "somebody"});
    int imus = channel_of(w, "/imu", &Imu_type);
    int texts =
        channel_as(w, "/speech", String_type.name, how.other_type ? "string data\nint32 volume" : "string data");
    nm_mcap_start(w, to_file, file, NULL);
    if (how.extra) {
        int more = channel_as(w, how.extra, how.extra_type ? how.extra_type : String_type.name, String_type.schema);
        say(w, more, &String_type, &text, 1, log_start);
    }
    for (int i = how.from; i < how.from + how.n; i++) {
        uint64_t time = log_start + how.later + (uint64_t)i * 10000000;
        uint32_t number = how.no_numbers ? 0 : (uint32_t)i + 1;
        imu.linear_acceleration.x = i * 0.5 + (i >= 50 ? how.bent : 0);
        say(w, imus, &Imu_type, &imu, number, time);
        if (i % 10) continue;
        nm_text(text.data, "goal %d", i);
        uint8_t cdr[100] = {0};
        int64_t n = nm_cdr_encode(&String_type, &text, cdr, sizeof cdr);
        n = how.other_type ? (n + 3) / 4 * 4 + 4 : n; /* an int32 0 behind the text */
        struct nm_mcap_message m = {(uint16_t)texts, number, time, time, {cdr, (size_t)n}};
        assert_int_equal(nm_mcap_write(w, &m, NULL), 0);
    }
    assert_int_equal(nm_mcap_finish(w, NULL), 0);
    nm_mcap_writer_free(w);
    fclose(file);
}

static int begin(void **state)
{
    (void)state;
    if (enter_folder()) return -1;
    place_write(folder, "no_log", "words");
    make_log("a.mcap", (struct how){.n = 100});
    return 0;
}

static void a_log_is_the_same_as_itself(void **state)
{
    (void)state;
    ends(0, "a.mcap a.mcap", "2 of 2 topics are the same, with 110 messages");
    ends(0, "a.mcap a.mcap --json", "{\"same\": true,");
}

static void a_difference_has_time_member_and_size(void **state)
{
    (void)state;
    make_log("bent.mcap", (struct how){.n = 100, .bent = 0.25});
    ends(1, "a.mcap bent.mcap",
         "/imu: 50 of 100 pairs differ, matched by time\n"
         "    first at 0.500000 s: linear_acceleration.x is 25.0 in A, 25.25 in B\n");
    assert_said("linear_acceleration.x      50     0.25  0.25\n");
    assert_said("1 of 2 topics are the same, with 10 messages");
    ends(0, "a.mcap bent.mcap --tolerance 0.3", "2 of 2 topics are the same, with 110 messages (within the tolerance)");
    ends(0, "a.mcap bent.mcap --leave linear_acceleration", "2 of 2");
    ends(0, "a.mcap bent.mcap --topics speech", "1 of 1 topics are the same");
    ends(0, "a.mcap bent.mcap --to 0.5", "2 of 2 topics are the same, with 55 messages");
    ends(1, "a.mcap bent.mcap --json",
         "\"first\": {\"time\": 1700000000500000000, \"path\": \"linear_acceleration.x\", \"a\": \"25.0\", \"b\": "
         "\"25.25\"}, \"members\": [{\"path\": \"linear_acceleration.x\", \"differ\": 50, \"largest\": 0.25, \"rms\": "
         "0.25}]}");
}

static void partners_are_found(void **state)
{
    (void)state;
    make_log("part.mcap", (struct how){.n = 60, .from = 20});
    ends(1, "a.mcap part.mcap",
         "/imu: 0 of 60 pairs differ, matched by time\n"
         "    40 of 100 messages are in A only, the first at 0.000000 s\n");
    make_log("later.mcap", (struct how){.n = 60, .from = 20, .later = 3600000000007});
    ends(1, "a.mcap later.mcap", "/imu: 0 of 60 pairs differ, matched by sequence");
    make_log("uncounted.mcap", (struct how){.n = 100, .later = 3600000000007, .no_numbers = true});
    ends(0, "a.mcap uncounted.mcap", "2 of 2 topics are the same");
    ends(1, "a.mcap uncounted.mcap --match time", "100 of 100 messages are in B only, the first at 3600.000000 s");
    ends(1, "a.mcap part.mcap --match order", "/imu: 60 of 60 pairs differ, matched by order");
}

static void a_topic_of_one_log_is_told(void **state)
{
    (void)state;
    make_log("more.mcap", (struct how){.n = 100, .extra = "/whistle"});
    ends(1, "a.mcap more.mcap", "/whistle: in B only, 1 messages of std_msgs/msg/String");
    ends(1, "more.mcap a.mcap", "/whistle: in A only");
    ends(2, "a.mcap more.mcap --topics trumpet", "neither log has a topic 'trumpet'");
}

/* As replay and cut count it, whichever topics are compared and where a replay begins. */
static void time_counts_from_the_start_of_the_recording(void **state)
{
    (void)state;
    make_log("bent.mcap", (struct how){.n = 100, .bent = 0.25});
    ends(1, "a.mcap bent.mcap --from 0.4", "first at 0.500000 s: linear_acceleration.x");
    make_log("replay.mcap", (struct how){.n = 70, .from = 30, .bent = 0.25, .replay = true});
    ends(1, "replay.mcap a.mcap", "first at 0.500000 s: linear_acceleration.x");
}

static void what_modules_show_is_no_difference(void **state)
{
    (void)state;
    make_log("shown.mcap", (struct how){.n = 100, .extra = "/show", .extra_type = "nutmeg_msgs/msg/Show"});
    ends(0, "a.mcap shown.mcap", "2 of 2 topics are the same");
    ends(1, "a.mcap shown.mcap --topics /show", "/show: in B only");
}

static void a_type_that_changed_is_mapped(void **state)
{
    (void)state;
    make_log("new.mcap", (struct how){.n = 100, .other_type = true});
    ends(0, "a.mcap new.mcap",
         "/speech: the same messages, but the types differ\n    std_msgs/msg/String.volume stands in B only");
}

static void a_plot_is_a_picture(void **state)
{
    (void)state;
    char head[200];
    ends(1, "a.mcap bent.mcap --plot out/plot.svg", "/imu");
    FILE *file = fopen("out/plot.svg", "r");
    assert_non_null(file);
    head[fread(head, 1, sizeof head - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(head, "<svg xmlns"));
    ends(0, "a.mcap a.mcap --plot plot.png", "2 of 2");
    file = fopen("plot.png", "r");
    assert_non_null(file);
    assert_int_equal(fread(head, 1, 8, file), 8);
    fclose(file);
    assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
    ends(2, "a.mcap a.mcap --plot plot.gif", "must end in .svg or .png");
}

static void what_cannot_be_compared_ends_with_2(void **state)
{
    (void)state;
    ends(2, "a.mcap", "nutmeg compare");
    ends(2, "a.mcap nothing.mcap", "nothing.mcap: No such file");
    ends(2, "a.mcap no_log", "this is no MCAP");
    ends(2, "a.mcap a.mcap --match luck", "--match must be auto, time, sequence or order");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_is_the_same_as_itself),
        cmocka_unit_test(a_difference_has_time_member_and_size),
        cmocka_unit_test(partners_are_found),
        cmocka_unit_test(a_topic_of_one_log_is_told),
        cmocka_unit_test(time_counts_from_the_start_of_the_recording),
        cmocka_unit_test(what_modules_show_is_no_difference),
        cmocka_unit_test(a_type_that_changed_is_mapped),
        cmocka_unit_test(a_plot_is_a_picture),
        cmocka_unit_test(what_cannot_be_compared_ends_with_2),
    };
    return cmocka_run_group_tests(tests, begin, leave_folder);
}
