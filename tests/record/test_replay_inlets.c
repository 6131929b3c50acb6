/* What of a log enters a line-up: topics by their names or renamed, types as they are or member by member, pictures
 * also from JPEG; and what does not is named. */
#include "record/foreign.h"

/* ---- names ---- */

static void topics_of_other_names_are_renamed(void **state)
{
    (void)state;
    make_log("log.mcap", (struct names){"/front/rgb", "/sensors/imu", "/sensors/counts"}, 0);
    PLAY(0, "log.mcap", "--remap", "/front/rgb:=camera/image_raw", "--remap", "/sensors/:=/", TO("out.mcap"));
    says_not("not exact");
    hear_all("out.mcap");
    assert_int_equal(bright.n, 10);
    assert_near(floor(sum.at[99]), 99 + 20, 0);
}

static void a_renamed_topic_takes_the_place_of_one_that_has_the_name(void **state)
{
    (void)state;
    struct tape_of log = begin("log.mcap");
    int raw = channel(&log, "/imu", &Imu_type), better = channel(&log, "/imu/filtered", &Imu_type);
    for (uint64_t i = 0; i < 50; i++) {
        put(&log, raw, &Imu_type, &(Imu){.linear_acceleration.x = 100}, START + i * 10 * MS);
        put(&log, better, &Imu_type, &(Imu){.linear_acceleration.x = 200}, START + i * 10 * MS);
    }
    end(&log);
    PLAY(0, "log.mcap", "--remap", "imu/filtered:=imu", TO("out.mcap"));
    hear_all("out.mcap");
    assert_true(sum.n >= 50);
    for (uint32_t i = 1; i < sum.n; i++) assert_near(floor(sum.at[i]), 200, 0);
    PLAY(2, "log.mcap", "--remap", "imu/filtered:=imu", "--remap", "/imu:=/imu");
    says("--remap would give /imu and /imu/filtered of the log the same name /imu");
}

static void a_rename_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    make_log("log.mcap", OURS, 0);
    PLAY(2, "log.mcap", "--remap", "imu");
    says("--remap wants FROM:=TO, not 'imu'");
    PLAY(2, "log.mcap", "--remap", "/imus:=imu");
    says("the log has no such topic; did you mean 'imu'?");
    PLAY(2, "log.mcap", "--remap", "/speech:=nothing");
    says("the line-up does not read such a topic");
    PLAY(2, "log.mcap", "--remap", "/a/:=b");
    says("either both names end with '/'");
    PLAY(2, "log.mcap", "--remap", "/imu:=a b");
    says("topic 'a b'");
}

static void a_log_of_which_nothing_is_read_is_refused(void **state)
{
    (void)state;
    make_log("log.mcap", (struct names){"/a", "/b", "/c"}, 0);
    write_text("robot.yaml", "cycles: {moving: {period: 10 ms, modules: [hand]}}\nremote: [imu, counts, wish]\n");
    PLAY(2, "log.mcap", "--speed", "max");
    says("the line-up reads no topic of the log; it reads /counts, /imu, /wish");
    EXPECT(2, cmd_replay, in_place("log.mcap"));
    says("--lineup L plays its messages into a line-up by time");
    make_log("log.mcap", OURS, 0);
    PLAY(2, "log.mcap", "--from", "60");
    says("no message in this time that the line-up reads");
}

/* ---- line-ups ---- */

static void one_instance_plays_with_what_the_log_has_of_the_others(void **state)
{
    (void)state;
    make_log("log.mcap", OURS, 0);
    write_text("robot.yaml", "cycles:\n"
                             "  seeing: {trigger: camera/image_raw, modules: [{module: eye, params: {gain: 3}}]}\n"
                             "  moving: {period: 10 ms, modules: [hand]}\n"
                             "remote: [camera/image_raw, imu, counts, wish]\n");
    PLAY(0, "log.mcap", "--instance", "eye", TO("out.mcap"));
    hear_all("out.mcap");
    assert_int_equal(sum.n, 0);
    assert_int_equal(bright.n, 10);
    assert_near(bright.at[2], 3 * 25, 0); /* the line-up's value, not the default */
    PLAY(2, "log.mcap", "--instance", "ear");
    says("the line-up has no instance 'ear'");
}

static void what_the_line_up_makes_is_not_taken_from_the_log(void **state)
{
    (void)state;
    make_log("log.mcap", OURS, 0);
    struct tape_of log = begin("more.mcap");
    int sums = channel(&log, "/sum", &Float64_type), imus = channel(&log, "/imu", &Imu_type);
    put(&log, imus, &Imu_type, &(Imu){.linear_acceleration.x = 4}, START);
    put(&log, sums, &Float64_type, &(Float64){1e6}, START);
    put(&log, imus, &Imu_type, &(Imu){.linear_acceleration.x = 4}, START + 100 * MS);
    end(&log);
    PLAY(0, "more.mcap", TO("out.mcap"));
    says("made by modules here, not taken from the log: /sum");
    hear_all("out.mcap");
    assert_true(sum.n >= 10);
    for (uint32_t i = 0; i < sum.n; i++) assert_true(sum.at[i] < 5);
}

static void a_frame_that_the_line_up_moves_is_not_moved_by_the_log(void **state)
{
    (void)state;
    make_log("log.mcap", OURS, 0);
    write_text("robot.yaml", "cycles:\n"
                             "  seeing: {trigger: camera/image_raw, modules: [eye]}\n"
                             "  moving: {period: 10 ms, modules: [mover]}\n"
                             "remote: [camera/image_raw]\n");
    PLAY(0, "log.mcap", TO("out.mcap"));
    hear_all("out.mcap");
    assert_int_equal(from.n, 10);
    for (uint32_t i = 0; i < from.n; i++) assert_near(from.at[i], 77, 0);
}

/* ---- types ---- */

static void an_older_type_is_taken_over_by_names(void **state)
{
    (void)state;
    /* an Imu as it might have been: accelerations as float32, and something that is gone */
    static const char old[] = "geometry_msgs/Vector3 linear_acceleration\nint32 temperature\n"
                              "================================================================================\n"
                              "MSG: geometry_msgs/Vector3\nfloat32 x\nfloat32 y\nfloat32 z\n";
    struct tape_of log = begin("log.mcap");
    int imus = channel_with(&log, "/imu", "sensor_msgs/msg/Imu", old, "cdr");
    struct {
        uint8_t head[4];
        float x, y, z;
        int32_t temperature;
    } cdr = {{0, 1, 0, 0}, 42, 0, 0, 20};
    for (uint64_t i = 0; i < 20; i++) put_bytes(&log, imus, START + i * 10 * MS, &cdr, sizeof cdr);
    end(&log);
    PLAY(0, "log.mcap", TO("out.mcap"));
    says("/imu has another definition of sensor_msgs/msg/Imu in the log; members with the same names are copied");
    hear_all("out.mcap");
    assert_true(sum.n >= 20);
    for (uint32_t i = 1; i < sum.n; i++) assert_near(floor(sum.at[i]), 42, 0);
}

static void topics_of_other_types_are_left_out_and_named(void **state)
{
    (void)state;
    struct tape_of log = begin("log.mcap");
    int imus = channel(&log, "/imu", &Float64_type), wishes = channel(&log, "/wish", &Float64_type);
    int counts = channel_with(&log, "/counts", "std_msgs/msg/Int64", "nonsense here\n", "cdr");
    int images = channel_with(&log, "/camera/image_raw", Image_type.name, Image_type.schema, "protobuf");
    for (uint64_t i = 0; i < 20; i++)
        for (int c = 0; c < 4; c++)
            put(&log, (int[]){imus, wishes, counts, images}[c], &Float64_type, &(Float64){1e9}, START + i * 10 * MS);
    end(&log);
    PLAY(0, "log.mcap", TO("out.mcap"));
    says("1 topic of the log is read, 3 not read");
    says("/imu of the log is left out: its type is std_msgs/msg/Float64, but the line-up reads sensor_msgs/msg/Imu");
    says("/camera/image_raw of the log is left out: its messages are not CDR");
    says("/counts of the log is left out");
    hear_all("out.mcap");
    assert_true(sum.n >= 20);
    for (uint32_t i = 0; i < sum.n; i++) assert_true(sum.at[i] < 1);
}

static void a_type_of_which_nothing_is_left_is_left_out(void **state)
{
    (void)state;
    struct tape_of log = begin("log.mcap");
    int imus = channel_with(&log, "/imu", "sensor_msgs/msg/Imu", "float64 data\n", "cdr"),
        wishes = channel(&log, "/wish", &Float64_type);
    put(&log, imus, &Float64_type, &(Float64){1}, START);
    put(&log, wishes, &Float64_type, &(Float64){1}, START);
    end(&log);
    PLAY(0, "log.mcap", "--speed", "max");
    says("/imu of the log is left out: its type has no member in common with the type of this program");
}

/* ---- pictures ---- */

static void put_jpeg(struct tape_of *log, int channel, uint8_t level, uint64_t time)
{
    static uint8_t bytes[100000];
    Image image = picture(level, time);
    CompressedImage jpeg = {.header = image.header, .format = "rgb8; jpeg compressed bgr8"};
    size_t n;
    assert_int_equal(nm_jpeg_encode_image(&image, 90, bytes, sizeof bytes, &n, NULL), 0);
    jpeg.data = (struct nm_blob){.data = bytes, .n = (uint32_t)n, .cap = (uint32_t)n};
    put(log, channel, &CompressedImage_type, &jpeg, time);
}

static void compressed_pictures_are_unpacked(void **state)
{
    (void)state;
    struct tape_of log = begin("log.mcap");
    int jpegs = channel(&log, "/camera/image_raw/compressed", &CompressedImage_type);
    for (uint64_t i = 0; i < 60; i++) put_jpeg(&log, jpegs, (uint8_t)(50 + i), START + i * 33 * MS);
    put_bytes(&log, jpegs, START + 60 * 33 * MS, "no picture", 10);
    end(&log);
    PLAY(0, "log.mcap", TO("out.mcap"));
    says("messages of /camera/image_raw/compressed cannot be read");
    hear_all("out.mcap");
    assert_int_equal(bright.n, 60); /* also more than a pool holds */
    for (uint32_t i = 0; i < bright.n; i++) assert_near(bright.at[i], 50 + i, 2);
}

static void a_picture_as_it_was_is_read_rather_than_one_with_loss(void **state)
{
    (void)state;
    struct tape_of log = begin("log.mcap");
    int jpegs = channel(&log, "/camera/image_raw/compressed", &CompressedImage_type),
        images = channel(&log, "/camera/image_raw", &Image_type);
    for (uint64_t i = 0; i < 10; i++) {
        Image image = picture(200, START + i * 33 * MS);
        put(&log, images, &Image_type, &image, START + i * 33 * MS);
        put_jpeg(&log, jpegs, 100, START + i * 33 * MS);
    }
    end(&log);
    PLAY(0, "log.mcap", TO("out.mcap"));
    hear_all("out.mcap");
    assert_int_equal(bright.n, 10);
    for (uint32_t i = 0; i < bright.n; i++) assert_near(bright.at[i], 200, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(topics_of_other_names_are_renamed),
        TEST(a_renamed_topic_takes_the_place_of_one_that_has_the_name),
        TEST(a_rename_that_makes_no_sense_is_refused),
        TEST(a_log_of_which_nothing_is_read_is_refused),
        TEST(one_instance_plays_with_what_the_log_has_of_the_others),
        TEST(what_the_line_up_makes_is_not_taken_from_the_log),
        TEST(a_frame_that_the_line_up_moves_is_not_moved_by_the_log),
        TEST(an_older_type_is_taken_over_by_names),
        TEST(topics_of_other_types_are_left_out_and_named),
        TEST(a_type_of_which_nothing_is_left_is_left_out),
        TEST(compressed_pictures_are_unpacked),
        TEST(a_picture_as_it_was_is_read_rather_than_one_with_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
