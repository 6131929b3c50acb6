/* nutmeg bag on logs made here: what it tells is what was written, what it writes is sound, and every mistake is
 * answered with a sentence and the right exit code. */
#include "said.h"
#include "logs.h"

#include "codec/mcap_read.h"
#include "codec/jpeg.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/Imu.h"
#include "std_msgs/Empty.h"
#include "std_msgs/String.h"

#define ends(code, line, part) assert_ends(cmd_bag, code, "bag " line, part)

static void assert_file(const char *path, const char *wanted)
{
    char text[5000];
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("there is no %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, wanted);
}

enum { SECONDS = 10, HZ = 10 };

/* Ten seconds of a small robot, from `first` on; a file of its own. */
static void make_log(const char *path, int first, int n)
{
    static Imu imu;
    static String text;
    static CompressedImage image;
    static uint8_t jpeg[] = {0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 0};
    FILE *file = fopen(path, "wb");
    struct nm_mcap_writer *w =
        nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = NM_MCAP_ZSTD, .chunk_size = 6000});
    int imus = channel_of(w, "/imu", &Imu_type), imus_raw = channel_of(w, "/imu_raw", &Imu_type),
        texts = channel_of(w, "/speech", &String_type), images = channel_of(w, "/camera/image", &CompressedImage_type),
        never = channel_of(w, "/never", &std_msgs_Empty_type);
    nm_mcap_start(w, to_file, file, NULL);
    nm_mcap_announce(w, never, NULL);
    nm_mcap_attach(w,
                   &(struct nm_mcap_attachment){log_start, 0, nm_bytes_of("robot.urdf"), nm_bytes_of("text/xml"),
                                                nm_bytes_of("<robot/>"), 0},
                   NULL);
    uint8_t map[100];
    size_t used = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("robot"), nm_bytes_of("minibot"));
    nm_mcap_describe(w, &(struct nm_mcap_metadata){nm_bytes_of("run"), {map, used}}, NULL);
    for (int i = first; i < first + n; i++) {
        uint64_t time = log_start + (uint64_t)i * (1000000000 / HZ);
        imu.linear_acceleration.x = i * 0.5;
        imu.linear_acceleration.y = i ? 1.0 / i : 0.0 / 0.0;
        nm_text(imu.header.frame_id, "imu");
        say(w, imus, &Imu_type, &imu, 0, time);
        say(w, imus_raw, &Imu_type, &imu, 0, time);
        if (i % HZ) continue;
        nm_text(text.data, "goal, \"%d\"", i);
        say(w, texts, &String_type, &text, 0, time);
        jpeg[7] = (uint8_t)i;
        nm_text(image.format, "jpeg");
        image.data = (struct nm_blob){.data = jpeg, .n = sizeof jpeg, .cap = sizeof jpeg};
        say(w, images, &CompressedImage_type, &image, 0, time);
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
    make_log("match.mcap", 0, SECONDS * HZ);
    return 0;
}

static void info_tells_what_was_written(void **state)
{
    (void)state;
    ends(0, "info match.mcap", "220 on 5 topics");
    static const char *const parts[] = {
        "written by  nutmeg, profile ros2",
        "9.900 s, 2023-11-14 22:13:20.000 UTC to 2023-11-14 22:13:29.900 UTC",
        "chunks zstd",
        "robot.urdf (text/xml, 8 B)",
        "run: robot=minibot",
        "  /imu           sensor_msgs/msg/Imu                   100  10.1\n",
        "  /never         std_msgs/msg/Empty                      0   0.0\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) assert_said(parts[i]);
    ends(0, "info match.mcap --json",
         "{\"name\":\"/imu\",\"type\":\"sensor_msgs/msg/Imu\",\"encoding\":\"cdr\","
         "\"messages\":100}");
    ends(0, "check match.mcap", "match.mcap: no fault found, 220 messages");
}

static void a_part_of_a_log_is_a_log(void **state)
{
    (void)state;
    ends(0, "cut match.mcap part.mcap --from 2 --to 4.05 --topics /imu,speech", "24 messages of 2 channels, 2.000 s");
    ends(0, "check part.mcap", "part.mcap: no fault found, 24 messages");
    ends(0, "info part.mcap", "robot.urdf");
    ends(1, "cut match.mcap part.mcap", "part.mcap exists already; --force replaces it");
    ends(0, "cut match.mcap part.mcap --force --from -1 --topics /imu --compress none", "11 messages of 1 channel");
    ends(0, "cut match.mcap part.mcap --force --from @1700000009.5 --topics imu_r*", "5 messages of 1 channel");
    ends(0, "cut match.mcap part.mcap --force --topics nev", "0 messages of 1 channel");
    ends(2, "cut match.mcap x.mcap --topics /speach", "no topic '/speach'; did you mean /speech?");
    ends(2, "cut match.mcap x.mcap --from soon", "--from wants seconds");
    ends(2, "cut match.mcap x.mcap --from 5 --to 5", "there is no time between");
    ends(2, "cut match.mcap x.mcap --compress bzip", "--compress must be zstd, lz4 or none");
    ends(1, "cut match.mcap no/such/folder.mcap", "No such file");
    assert_int_not_equal(access("x.mcap", F_OK), 0);
    assert_int_not_equal(access("x.mcap.part", F_OK), 0);
}

/* A recording in two files is one log. */
static void a_folder_is_read_and_written(void **state)
{
    (void)state;
    mkdir("two", 0777);
    make_log("two/two_1.mcap", 50, 50);
    make_log("two/two_0.mcap", 0, 50);
    ends(0, "info two", "220 on 5 topics");
    ends(0, "cut two one", "one/one_0.mcap: 220 messages of 5 channels");
    ends(0, "info one", "220 on 5 topics");
    ends(0, "check one two", "one/one_0.mcap: no fault found, 220 messages");
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_bag *bag = nm_bag_read(&arena, "one/metadata.yaml", &err);
    if (!bag) fail_msg("%s", err.text);
    assert_int_equal(bag->messages, 220);
    assert_int_equal(bag->n_topics, 5);
    assert_int_equal(bag->start, log_start);
    assert_non_null(strstr(bag->topics[0].qos, "depth: 5"));
    nm_arena_free(&arena);
    mkdir("empty", 0777);
    ends(1, "info empty", "this folder holds no log");
}

static void a_log_that_was_cut_off_is_saved(void **state)
{
    (void)state;
    struct stat status;
    make_log("cut.mcap", 0, SECONDS * HZ);
    stat("cut.mcap", &status);
    assert_int_equal(truncate("cut.mcap", status.st_size / 2), 0);
    ends(0, "info cut.mcap", "cut off");
    ends(1, "check cut.mcap", "cut.mcap: byte");
    ends(0, "recover cut.mcap saved.mcap", "the file ends inside");
    ends(0, "check saved.mcap", "saved.mcap: no fault found");
    ends(0, "recover match.mcap again.mcap --compress lz4", "220 messages; the log was complete");
    ends(0, "recover cut.mcap folder", "folder/folder_0.mcap");
    assert_int_equal(access("folder/metadata.yaml", F_OK), 0);
    ends(1, "recover no_log x.mcap", "this is no MCAP");
    assert_int_not_equal(access("x.mcap", F_OK), 0);
    ends(1, "recover nothing.mcap x.mcap", "nothing.mcap: No such file");
}

static void a_damaged_chunk_is_told_and_left_out(void **state)
{
    (void)state;
    make_log("bad.mcap", 0, SECONDS * HZ);
    FILE *file = fopen("bad.mcap", "r+b");
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    nm_mcap_open(&source, "bad.mcap", NULL);
    nm_mcap_contents_read(&contents, &source, NULL);
    fseek(file, (long)(contents.chunks[2].chunk_start_offset + 100), SEEK_SET);
    fputc(0x55, file);
    fclose(file);
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
    ends(1, "check bad.mcap", "damaged");
    ends(1, "cut bad.mcap rest.mcap", "1 chunks could not be read and are missing");
    ends(0, "check rest.mcap", "no fault found");
    ends(0, "recover bad.mcap rest.mcap --force", "1 damaged records left out");
}

static void values_become_tables(void **state)
{
    (void)state;
    ends(0,
         "export match.mcap --topics /imu --to 0.25 --path linear_acceleration.x --path linear_acceleration.y "
         "--path header.frame_id",
         "log_time,publish_time,linear_acceleration.x,linear_acceleration.y,header.frame_id\n"
         "1700000000000000000,1700000000000000000,0.0,NaN,imu\n"
         "1700000000100000000,1700000000100000000,0.5,1.0,imu\n"
         "1700000000200000000,1700000000200000000,1.0,0.5,imu\n");
    ends(0, "export match.mcap --topics speech --to 0.5",
         "log_time,publish_time,data\n"
         "1700000000000000000,1700000000000000000,\"goal, \"\"0\"\"\"\n");
    ends(0, "export match.mcap --topics speech --to 0.5 --json",
         "{\"log_time\":1700000000000000000,\"publish_time\":1700000000000000000,\"message\":{\"data\":\"goal, "
         "\\\"0\\\"\"}}\n");
    ends(0, "export match.mcap --topics /imu --to 0.05", "orientation_covariance[8],angular_velocity.x");
    ends(2, "export match.mcap", "one topic can be exported, not 5");
    ends(2, "export match.mcap --topics /imu --path linear_aceleration.x",
         "/imu is left out: sensor_msgs/msg/Imu has no member 'linear_aceleration'; did you mean linear_acceleration?");
}

static void frames_become_pictures(void **state)
{
    (void)state;
    ends(0, "export match.mcap out", "out/camera_image: 10 frames");
    assert_file("out/speech.csv", "log_time,publish_time,data\n"
                                  "1700000000000000000,1700000000000000000,\"goal, \"\"0\"\"\"\n"
                                  "1700000001000000000,1700000001000000000,\"goal, \"\"10\"\"\"\n"
                                  "1700000002000000000,1700000002000000000,\"goal, \"\"20\"\"\"\n"
                                  "1700000003000000000,1700000003000000000,\"goal, \"\"30\"\"\"\n"
                                  "1700000004000000000,1700000004000000000,\"goal, \"\"40\"\"\"\n"
                                  "1700000005000000000,1700000005000000000,\"goal, \"\"50\"\"\"\n"
                                  "1700000006000000000,1700000006000000000,\"goal, \"\"60\"\"\"\n"
                                  "1700000007000000000,1700000007000000000,\"goal, \"\"70\"\"\"\n"
                                  "1700000008000000000,1700000008000000000,\"goal, \"\"80\"\"\"\n"
                                  "1700000009000000000,1700000009000000000,\"goal, \"\"90\"\"\"\n");
    uint8_t bytes[20];
    FILE *file = fopen("out/camera_image/1700000003000000000.jpg", "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 8);
    assert_int_equal(bytes[7], 30);
    fclose(file);
    assert_int_not_equal(access("out/never.csv", F_OK), 0); /* nothing was ever said */
    ends(0, "export two both --topics speech,/imu", "both/imu.csv: 100 messages");
    assert_said("both/speech.csv: 10 messages");
}

/* A camera's own pixels are made into JPEG; what is no image is told once. */
static void raw_frames_become_jpeg(void **state)
{
    (void)state;
    static Image image;
    static uint8_t pixels[32 * 16 * 2], bytes[4000], rgb[32 * 16 * 3];
    struct nm_pixels back;
    FILE *file = fopen("raw.mcap", "wb");
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){0});
    int good = channel_of(w, "/image", &Image_type), bad = channel_of(w, "/odd", &Image_type);
    memset(pixels, 128, sizeof pixels);
    image.width = 32;
    image.height = 16;
    image.step = 64;
    image.data = (struct nm_blob){.data = pixels, .n = sizeof pixels, .cap = sizeof pixels};
    nm_mcap_start(w, to_file, file, NULL);
    nm_text(image.encoding, "yuv422_yuy2");
    say(w, good, &Image_type, &image, 0, log_start);
    nm_text(image.encoding, "16SC9");
    say(w, bad, &Image_type, &image, 0, log_start);
    assert_int_equal(nm_mcap_finish(w, NULL), 0);
    nm_mcap_writer_free(w);
    fclose(file);
    ends(0, "export raw.mcap raw --topics /image", "raw/image: 1 frames");
    ends(1, "export raw.mcap raw --topics /odd", "encoded as `16SC9`");
    file = fopen("raw/image/1700000000000000000.jpg", "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_int_equal(nm_jpeg_decode(bytes, n, rgb, sizeof rgb, &back, NULL), 0);
    assert_int_equal(back.width, 32);
    assert_in_range(rgb[100], 127, 129);
}

/* A topic may be called anything; its file stays in the folder. */
static void a_hostile_topic_stays_in_the_folder(void **state)
{
    (void)state;
    static String text;
    FILE *file = fopen("hostile.mcap", "wb");
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){0});
    int a = channel_of(w, "/../../evil", &String_type), b = channel_of(w, "../..\033/evil", &String_type);
    nm_mcap_start(w, to_file, file, NULL);
    say(w, a, &String_type, &text, 0, 1);
    say(w, b, &String_type, &text, 0, 2);
    nm_mcap_finish(w, NULL);
    nm_mcap_writer_free(w);
    fclose(file);
    ends(0, "info hostile.mcap", "../..?/evil");
    assert_null(strchr(said, '\033'));
    ends(0, "export hostile.mcap kept", "kept/evil.csv: 1 messages\nkept/evil-1.csv: 1 messages\n");
}

static void mistakes_are_answered(void **state)
{
    (void)state;
    ends(2, "inof match.mcap", "did you mean 'info'?");
    ends(2, "info", "an argument is missing");
    ends(1, "info nothing.mcap", "nothing.mcap: No such file");
    ends(1, "info no_log", "this is no MCAP file");
    ends(1, "check match.mcap nothing.mcap", "match.mcap: no fault found");
    ends(0, "export --help", "nutmeg bag export LOG [FOLDER]");
}

/* ---- what a loss of power leaves ---- */

static void files_that_are_empty_missing_or_broken_are_skipped_and_named(void **state)
{
    (void)state;
    mkdir("crashed", 0777);
    make_log("crashed/a_0.mcap", 0, 20);
    make_log("crashed/a_1.mcap", 20, 20);
    place_write("crashed", "a_2.mcap", "");
    place_write("crashed", "a_3.mcap", "these are no bytes of a log");
    ends(0, "info crashed", "crashed/a_2.mcap: the file is empty: skipped");
    assert_said("a_3.mcap");
    assert_said("in 2 files");
    ends(0, "recover crashed crashed.mcap", "a_2.mcap: the file is empty: skipped");
    ends(0, "check crashed.mcap", "no fault found");
    place_write("crashed", "metadata.yaml",
                "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n"
                "  relative_file_paths: [a_0.mcap, a_1.mcap, gone.mcap]\n");
    ends(0, "info crashed", "gone.mcap");
    assert_said("skipped");

    mkdir("nothing", 0777);
    place_write("nothing", "a_0.mcap", "");
    ends(1, "info nothing", "nothing in this folder can be read");
    ends(1, "info nothing/a_0.mcap", "the file is empty");
}

/* A log whose topic is repeated at the beginning of its second file. */
static void make_part(const char *path, uint64_t repeated, int first)
{
    static String text;
    uint8_t map[100];
    FILE *file = fopen(path, "wb");
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){0});
    struct nm_mcap_schema schema = {0, nm_bytes_of(String_type.name), nm_bytes_of("ros2msg"),
                                    nm_bytes_of(String_type.schema)};
    size_t n = nm_mcap_add_text(map, 0, sizeof map, nm_bytes_of("latched"), nm_bytes_of("true"));
    struct nm_mcap_channel row = {
        0, (uint16_t)nm_mcap_add_schema(w, &schema, NULL), nm_bytes_of("/tf_static"), nm_bytes_of("cdr"), {map, n}};
    int frames = nm_mcap_add_channel(w, &row, NULL), speech = channel_of(w, "/speech", &String_type);
    nm_mcap_start(w, to_file, file, NULL);
    uint8_t cdr[] = {0, 1, 0, 0, 2, 0, 0, 0, 'a', 0};
    struct nm_mcap_message m = {(uint16_t)frames, 1, log_start + repeated, log_start, {cdr, sizeof cdr}};
    assert_int_equal(nm_mcap_write(w, &m, NULL), 0);
    for (int i = first; i < first + 5; i++)
        say(w, speech, &String_type, &text, (uint32_t)i + 1, log_start + (uint64_t)i * 1000000);
    nm_mcap_finish(w, NULL);
    nm_mcap_writer_free(w);
    fclose(file);
}

static void what_every_file_repeats_is_read_once(void **state)
{
    (void)state;
    mkdir("latched", 0777);
    make_part("latched/a_0.mcap", 0, 0);
    make_part("latched/a_1.mcap", 5000000, 5);
    ends(0, "cut latched latched.mcap --force", "latched.mcap: 11 messages of 2 channels");
    /* of the second file alone, and from a time on, the repetition is all there is */
    ends(0, "cut latched/a_1.mcap second.mcap", "6 messages");
    ends(0, "cut latched later.mcap --from 0.004", "7 messages");
}

static void an_export_of_nothing_says_so_and_fails(void **state)
{
    (void)state;
    ends(1, "export match.mcap nothing_out --topics /never", "nothing was exported");
    ends(1, "export match.mcap --topics /never", "nothing was exported");
    ends(1, "export match.mcap nothing_out --topics /imu --from 100 --to 200", "nothing was exported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info_tells_what_was_written),
        cmocka_unit_test(a_part_of_a_log_is_a_log),
        cmocka_unit_test(a_folder_is_read_and_written),
        cmocka_unit_test(a_log_that_was_cut_off_is_saved),
        cmocka_unit_test(a_damaged_chunk_is_told_and_left_out),
        cmocka_unit_test(values_become_tables),
        cmocka_unit_test(frames_become_pictures),
        cmocka_unit_test(raw_frames_become_jpeg),
        cmocka_unit_test(a_hostile_topic_stays_in_the_folder),
        cmocka_unit_test(files_that_are_empty_missing_or_broken_are_skipped_and_named),
        cmocka_unit_test(what_every_file_repeats_is_read_once),
        cmocka_unit_test(an_export_of_nothing_says_so_and_fails),
        cmocka_unit_test(mistakes_are_answered),
    };
    return cmocka_run_group_tests(tests, begin, leave_folder);
}
