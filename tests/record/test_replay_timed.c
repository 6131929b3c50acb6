/* A log that nobody took notes for (a rosbag2, a real robot's) is played into a line-up by its times: cycles run by
 * their periods and triggers, the same log gives the same bytes; and whatever a log says, a replay ends. */
#include "record/foreign.h"

#include "edge/log/log.h"

/* ---- time ---- */

static void cycles_run_by_their_periods_and_triggers_in_the_time_of_the_log(void **state)
{
    (void)state;
    make_log("log.mcap", OURS, 0);
    PLAY(0, "log.mcap", TO("out.mcap"));
    says("5 topics of the log are read, 1 not read");
    says("not in the log: /wish; the modules that read them play without");
    says("cannot be compared: the log does not note what each run read");
    says_not("not exact");
    hear_all("out.mcap");
    assert_int_equal(bright.n, 10); /* one for each picture, and none for the time-out */
    for (uint32_t i = 0; i < bright.n; i++) {
        assert_int_equal(bright.time[i], START + (54 + 100 * i) * MS);
        assert_near(bright.at[i], 5 + 10 * i, 0);
        assert_near(age.at[i], 0.004, 1e-6);
        assert_near(from.at[i], 5 + 10 * i, 0);
    }
    assert_true(sum.n >= 100 && sum.n <= 102);
    for (uint32_t i = 0; i < sum.n; i++) assert_int_equal(sum.time[i], START + i * 10 * MS);
    /* at 0.06 s: imu 6 has just come, and the two counts of 0.055 s */
    assert_near(floor(sum.at[6]), 6 + 2, 0);
    assert_near(floor(sum.at[99]), 99 + 20, 0);
}

static void the_same_log_gives_the_same_bytes(void **state)
{
    (void)state;
    char line[600];
    make_log("log.mcap", OURS, 0);
    PLAY(0, "log.mcap", TO("a.mcap"));
    PLAY(0, "log.mcap", TO("b.mcap"), "--speed", "100");
    snprintf(line, sizeof line, "cmp %s %s", in_place("a.mcap"), in_place("b.mcap"));
    assert_int_equal(system(line), 0);
    EXPECT(0, cmd_compare, in_place("a.mcap"), in_place("b.mcap"));
    PLAY(0, "log.mcap", TO("c.mcap"), "--set", "eye.gain=2");
    EXPECT(1, cmd_compare, in_place("a.mcap"), in_place("c.mcap"));
    says("/bright: 10 of 10 pairs differ");
}

static void a_part_of_a_log_begins_with_what_was_latched(void **state)
{
    (void)state;
    make_log("log.mcap", OURS, 0);
    write_text("robot.yaml", "cycles: {seeing: {trigger: camera/image_raw, modules: [eye]}}\n"
                             "remote: [camera/image_raw]\n");
    /* the frame of the camera is only fixed once */
    struct tape_of log = begin("fixed.mcap");
    static TFMessage tf;
    int fixed = channel(&log, "/tf_static", &TFMessage_type), images = channel(&log, "/camera/image_raw", &Image_type);
    tf.transforms.n = 0;
    set_frame(&tf, "camera", 8, 1);
    put(&log, fixed, &TFMessage_type, &tf, START);
    for (uint64_t i = 0; i < 10; i++) {
        Image image = picture((uint8_t)i, START + i * 100 * MS);
        put(&log, images, &Image_type, &image, START + i * 100 * MS);
    }
    end(&log);
    PLAY(0, "fixed.mcap", TO("out.mcap"), "--from", "0.45", "--to", "0.75");
    hear_all("out.mcap");
    assert_int_equal(bright.n, 3);
    assert_near(bright.at[0], 5, 0);
    for (uint32_t i = 0; i < 3; i++) assert_near(from.at[i], 8, 0);
}

static void times_by_another_clock_are_moved_to_the_log(void **state)
{
    (void)state;
    make_log("log.mcap", OURS, START - 5000 * MS); /* a simulator that began 5 s ago */
    PLAY(0, "log.mcap", TO("out.mcap"));
    says("/imu are -169999");
    says("s from those of the log and were moved to match");
    hear_all("out.mcap");
    assert_int_equal(age.n, 10);
    for (uint32_t i = 0; i < age.n; i++) {
        assert_near(age.at[i], 0.004, 1e-6); /* topics of one clock keep their distance */
        assert_near(from.at[i], 5 + 10 * i, 0);
    }
}

/* ---- hostile logs ---- */

static void long_silences_are_left_out(void **state)
{
    (void)state;
    const uint64_t times[] = {0, 5 * MS, START, START + 10 * MS, (uint64_t)1 << 61, (uint64_t)1 << 63, UINT64_MAX};
    struct tape_of log = begin("log.mcap");
    int imus = channel(&log, "/imu", &Imu_type);
    for (int i = 6; i >= 0; i--) /* backwards in the file, too */
        put(&log, imus, &Imu_type, &(Imu){.linear_acceleration.x = i}, times[i]);
    end(&log);
    PLAY(0, "log.mcap", TO("out.mcap"));
    says("2 long gaps of the log");
    hear_all("out.mcap");
    assert_true(sum.n > 200 && sum.n < 220); /* a second of each silence is played */
    for (uint32_t i = 1; i < sum.n; i++) assert_true(sum.time[i] > sum.time[i - 1]);
    assert_true(sum.time[sum.n - 1] > (uint64_t)1 << 61);
}

static void no_log_plays_for_more_than_a_day(void **state)
{
    (void)state;
    write_text("robot.yaml", "cycles: {moving: {period: 10 s, modules: [hand]}}\nremote: [imu, counts, wish]\n");
    struct tape_of log = begin("log.mcap");
    int imus = channel(&log, "/imu", &Imu_type);
    for (uint64_t i = 0; i < 4000; i++) put(&log, imus, &Imu_type, &(Imu){0}, START + i * 29000 * MS);
    end(&log);
    PLAY(0, "log.mcap", "--speed", "max");
    says("the log is longer than a day; the rest was not played");
}

static void messages_that_make_no_sense_are_left_out(void **state)
{
    (void)state;
    uint8_t noise[400];
    uint32_t x = 1;
    struct tape_of log = begin("log.mcap");
    int ids[] = {channel(&log, "/imu", &Imu_type), channel(&log, "/counts", &Int64_type),
                 channel(&log, "/camera/image_raw", &Image_type), channel(&log, "/tf", &TFMessage_type)};
    put(&log, ids[0], &Imu_type, &(Imu){0}, START);
    for (uint64_t i = 0; i < 400; i++) {
        for (size_t k = 0; k < sizeof noise; k++) noise[k] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
        if (i % 2) memcpy(noise, (uint8_t[]){0, 1, 0, 0}, 4);
        put_bytes(&log, ids[i % 4], START + i * MS, noise, i % sizeof noise);
    }
    end(&log);
    PLAY(0, "log.mcap", TO("out.mcap"));
    says("messages of /tf cannot be read");
    says("messages of /counts were left out");
}

static void a_log_with_notes_is_played_by_time_into_a_line_up_of_other_cycles(void **state)
{
    (void)state;
    struct nm_err err = {0};
    struct started s;
    start(&s, robot);
    struct nm_edge_port ports[] = {{.topic = "camera/image_raw", .kind = NM_PORT_OUT, .blob = sizeof pixels},
                                   {.topic = "imu", .kind = NM_PORT_OUT}};
    struct nm_edge *outside = edge(&s, ports, 2);
    struct nm_log *log =
        nm_log_new(s.player, &(struct nm_log_options){.path = in_place("log.mcap"), .virtual_time = true}, &err);
    assert_non_null(log);
    for (int64_t ms = 0; ms < 1000; ms += 10) {
        nm_edge_begin(outside, ms * 1000000);
        ((Imu *)nm_edge_out(outside, 1))->linear_acceleration.x = (double)ms;
        nm_edge_put(outside, 1);
        Image *image = nm_edge_out(outside, 0), like = picture(100, 0);
        if (ms % 100 == 50 && nm_edge_blob(outside, 0, &image->data, sizeof pixels)) {
            memcpy(image->data.data, pixels, image->data.n = sizeof pixels);
            image->width = like.width, image->height = like.height, image->step = like.step;
            nm_text(image->encoding, "rgb8");
            nm_edge_put(outside, 0);
        }
        nm_edge_end(outside);
        run_until(&s, ms + 10);
        nm_log_poll(log);
    }
    nm_log_free(log);
    stop(&s);
    EXPECT(0, cmd_replay, in_place("log.mcap"));
    says("all identical");
    write_text("robot.yaml", "cycles:\n"
                             "  looking: {trigger: camera/image_raw, timeout: 500 ms, modules: [eye]}\n"
                             "  moving: {period: 10 ms, modules: [hand]}\n"
                             "remote: [camera/image_raw, imu, counts, wish]\n");
    PLAY(0, "log.mcap", TO("out.mcap"));
    says("the log has no runs of cycle looking, so everything is played by time");
    says("cannot be compared: the log was played by time");
    hear_all("out.mcap");
    assert_int_equal(bright.n, 10); /* the log has them as JPEG */
    assert_near(bright.at[3], 100, 2);
    assert_near(floor(sum.at[50]), 500, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cycles_run_by_their_periods_and_triggers_in_the_time_of_the_log),
        TEST(the_same_log_gives_the_same_bytes),
        TEST(a_part_of_a_log_begins_with_what_was_latched),
        TEST(times_by_another_clock_are_moved_to_the_log),
        TEST(long_silences_are_left_out),
        TEST(no_log_plays_for_more_than_a_day),
        TEST(messages_that_make_no_sense_are_left_out),
        TEST(a_log_with_notes_is_played_by_time_into_a_line_up_of_other_cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
