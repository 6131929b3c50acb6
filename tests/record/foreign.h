/* A log as another robot writes it, a line-up that plays it, and what came out: for the tests of replays by time. */
#pragma once

#include "core/started.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "codec/cdr.h"
#include "codec/jpeg.h"
#include "codec/mcap_read.h"
#include "codec/mcap_write.h"
#include "core/nm.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/Imu.h"
#include "std_msgs/Float64.h"
#include "std_msgs/Int64.h"
#include "tf2_msgs/TFMessage.h"

static char place[64];
static char said[1 << 15];

static inline const char *in_place(const char *name)
{
    static char path[8][256];
    static int i;
    snprintf(path[i = (i + 1) % 8], sizeof path[0], "%s/%s", place, name);
    return path[i];
}

/* ---- who plays: an eye that a picture wakes, and a hand that moves by the clock ---- */

struct eye {
    struct nm *nm;
    const Image *image;
    Float64 *bright, *age, *from;
    double gain;
};
#define SELF struct eye
static void eye_step(struct eye *f)
{
    struct pose3 camera = {0};
    if (!nm_fresh(f->nm, f->image)) return;
    double sum = 0;
    for (uint32_t i = 0; i < f->image->data.n; i++) sum += f->image->data.data[i];
    f->bright->data = f->image->data.n ? f->gain * sum / f->image->data.n : 0;
    f->age->data = nm_seconds(f->nm->now) - f->image->header.stamp.sec - 1e-9 * f->image->header.stamp.nanosec;
    f->from->data = nm_tf(f->nm, "camera", "world", NM_TF_NEWEST, &camera) ? camera.pos.x : -1;
    nm_put(f->nm, f->bright);
    nm_put(f->nm, f->age);
    nm_put(f->nm, f->from);
}
static const struct nm_port eye_ports[] = {NM_IN(image, Image, "camera/image_raw"),
                                           NM_OUT(bright, Float64, "bright"),
                                           NM_OUT(age, Float64, "age"),
                                           NM_OUT(from, Float64, "from"),
                                           NM_READS_TF,
                                           {0}};
static const struct nm_param eye_params[] = {NM_PARAM(gain, 1, 0, 10, "1", "how bright"), {0}};
NM_MODULE(eye, "Looks.", NM_PORTS(eye_ports), NM_PARAMS(eye_params), .step = NM_CALL(eye_step))

struct hand {
    struct nm *nm;
    const Imu *imu;
    nm_queue(Int64) counts;
    const Float64 *wish;
    Float64 *sum;
    double total;
};
#undef SELF
#define SELF struct hand
static void hand_step(struct hand *f)
{
    for (uint32_t i = 0; i < f->counts.n; i++) f->total += (double)f->counts.at[i]->data;
    f->sum->data = f->total + f->imu->linear_acceleration.x + 1e-3 * nm_random(f->nm);
    nm_put(f->nm, f->sum);
}
static const struct nm_port hand_ports[] = {NM_IN(imu, Imu, "imu"),
                                            NM_QUEUE(counts, Int64, "counts", 64),
                                            NM_IN(wish, Float64, "wish"),
                                            NM_OUT(sum, Float64, "sum"),
                                            {0}};
NM_MODULE(hand, "Moves.", NM_PORTS(hand_ports), .step = NM_CALL(hand_step))

/* moves a frame itself */
struct mover {
    struct nm *nm;
    nm_out_queue(TFMessage) tf;
};
#undef SELF
#define SELF struct mover
static void set_frame(TFMessage *tf, const char *child, double x, int64_t stamp)
{
    TransformStamped *t = nm_append(&tf->transforms, &TransformStamped_type);
    t->header.stamp.sec = (int32_t)(stamp / 1000000000);
    t->header.stamp.nanosec = (uint32_t)(stamp % 1000000000);
    nm_text(t->header.frame_id, "world");
    nm_text(t->child_frame_id, "%s", child);
    t->transform.translation.x = x;
    t->transform.rotation.w = 1;
}
static void mover_step(struct mover *f) { set_frame(nm_push(f->nm, &f->tf), "camera", 77, f->nm->now); }
static const struct nm_port mover_ports[] = {NM_OUT_QUEUE(tf, TFMessage, "tf", 4, .many = true), {0}};
NM_MODULE(mover, "Moves the camera.", NM_PORTS(mover_ports), .step = NM_CALL(mover_step))

static const char robot[] = "cycles:\n"
                            "  seeing: {trigger: camera/image_raw, timeout: 500 ms, cost: 3 ms, modules: [eye]}\n"
                            "  moving: {period: 10 ms, cost: 1 ms, modules: [hand]}\n"
                            "remote: [camera/image_raw, imu, counts, wish]\n";

/* ---- logs ---- */

static const uint64_t START = 1700000000123456789u;
static const uint64_t MS = 1000000;

struct tape_of {
    FILE *file;
    struct nm_mcap_writer *writer;
    uint32_t n;
};

static inline int to_file(void *user, const void *bytes, size_t n) { return fwrite(bytes, 1, n, user) == n ? 0 : -1; }

static inline struct tape_of begin(const char *name)
{
    struct tape_of log = {.file = fopen(in_place(name), "wb")};
    log.writer = nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = NM_MCAP_LZ4, .chunk_size = 20000});
    assert_int_equal(nm_mcap_start(log.writer, to_file, log.file, NULL), 0);
    return log;
}

static inline void end(struct tape_of *log)
{
    assert_int_equal(nm_mcap_finish(log->writer, NULL), 0);
    nm_mcap_writer_free(log->writer);
    fclose(log->file);
}

static inline int channel_with(struct tape_of *log, const char *topic, const char *type, const char *text,
                               const char *encoding)
{
    struct nm_mcap_schema schema = {0, nm_bytes_of(type), nm_bytes_of("ros2msg"), nm_bytes_of(text)};
    struct nm_mcap_channel channel = {.schema_id = (uint16_t)nm_mcap_add_schema(log->writer, &schema, NULL),
                                      .topic = nm_bytes_of(topic),
                                      .message_encoding = nm_bytes_of(encoding)};
    return nm_mcap_add_channel(log->writer, &channel, NULL);
}

static inline int channel(struct tape_of *log, const char *topic, const struct nm_type *type)
{
    return channel_with(log, topic, type->name, type->schema, "cdr");
}

static inline void put_bytes(struct tape_of *log, int channel, uint64_t time, const void *bytes, size_t n)
{
    struct nm_mcap_message m = {(uint16_t)channel, log->n++, time, time, {bytes, n}};
    assert_int_equal(nm_mcap_write(log->writer, &m, NULL), 0);
}

static inline void put(struct tape_of *log, int channel, const struct nm_type *type, const void *message, uint64_t time)
{
    static uint8_t cdr[100000];
    int64_t n = nm_cdr_encode(type, message, cdr, sizeof cdr);
    assert_true(n > 0);
    put_bytes(log, channel, time, cdr, (size_t)n);
}

static inline Time stamp_of(uint64_t ns) { return (Time){(int32_t)(ns / 1000000000), (uint32_t)(ns % 1000000000)}; }

enum { WIDTH = 16, HEIGHT = 8 };
static uint8_t pixels[WIDTH * HEIGHT * 3];

static inline Image picture(uint8_t level, uint64_t stamp)
{
    Image image = {.width = WIDTH, .height = HEIGHT, .step = 3 * WIDTH};
    memset(pixels, level, sizeof pixels);
    image.header.stamp = stamp_of(stamp);
    nm_text(image.encoding, "rgb8");
    image.data = (struct nm_blob){.data = pixels, .n = sizeof pixels, .cap = sizeof pixels};
    return image;
}

struct names {
    const char *image, *imu, *counts;
};
static const struct names OURS = {"/camera/image_raw", "/imu", "/counts"};

/* A second of a robot: imu at 100 Hz, pictures and counts at 10 Hz, transforms; times in messages `away` from the
 * log's. */
static inline void make_log(const char *name, struct names names, uint64_t away)
{
    static TFMessage tf;
    struct tape_of log = begin(name);
    int imus = channel(&log, names.imu, &Imu_type), images = channel(&log, names.image, &Image_type),
        counts = channel(&log, names.counts, &Int64_type), tfs = channel(&log, "/tf", &TFMessage_type),
        fixed = channel(&log, "/tf_static", &TFMessage_type), unread = channel(&log, "/speech", &Float64_type);
    tf.transforms.n = 0;
    set_frame(&tf, "bolted", 5, (int64_t)(START - away));
    put(&log, fixed, &TFMessage_type, &tf, START);
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t time = START + i * 10 * MS;
        Imu imu = {.linear_acceleration.x = (double)i};
        imu.header.stamp = stamp_of(time - away);
        put(&log, imus, &Imu_type, &imu, time);
        put(&log, unread, &Float64_type, &(Float64){1}, time);
        if (i % 10 != 5) continue;
        tf.transforms.n = 0;
        set_frame(&tf, "camera", (double)i, (int64_t)(time - away));
        put(&log, tfs, &TFMessage_type, &tf, time + 3 * MS);
        Image image = picture((uint8_t)i, time - away);
        put(&log, images, &Image_type, &image, time + 4 * MS);
        put(&log, counts, &Int64_type, &(Int64){1}, time + 5 * MS);
        put(&log, counts, &Int64_type, &(Int64){1}, time + 5 * MS);
    }
    end(&log);
}

/* ---- playing ---- */

typedef int command(int argc, char **argv);

/* A command of nutmeg in this process; what it said is in `said`. */
static inline int run(command *call, const char *const *words)
{
    char *argv[24], *own[24]; /* a command moves its arguments about */
    int argc = 0;
    for (own[argc++] = strdup("command"); *words; words++) own[argc++] = strdup(*words);
    own[argc] = NULL;
    memcpy(argv, own, sizeof argv);
    fflush(stdout);
    fflush(stderr);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    int file = open(in_place("said"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    int code = call(argc, argv);
    fflush(stdout);
    fflush(stderr);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    ssize_t n = pread(file, said, sizeof said - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    close(file);
    for (int i = 0; i < argc; i++) free(own[i]);
    return code;
}
#define EXPECT(code, call, ...)                                                                                        \
    do {                                                                                                               \
        int got = run(call, (const char *const[]){__VA_ARGS__, NULL});                                                 \
        if (got != (code)) fail_msg("ended with %d: %s", got, said);                                                   \
    } while (0)
#define PLAY(code, log, ...) EXPECT(code, cmd_replay, in_place(log), "--lineup", in_place("robot.yaml"), __VA_ARGS__)
#define TO(name)             "-o", in_place(name), "--force"

#define assert_near(a, b, most)                                                                                        \
    do {                                                                                                               \
        double a_ = (a), b_ = (b);                                                                                     \
        if (!(fabs(a_ - b_) <= (most))) fail_msg("%.9g is not %.9g", a_, b_);                                          \
    } while (0)

static inline void says(const char *part)
{
    if (!strstr(said, part)) fail_msg("'%s' is not in: %s", part, said);
}
static inline void says_not(const char *part)
{
    if (strstr(said, part)) fail_msg("'%s' is in: %s", part, said);
}

static inline void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_place(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* The values of a Float64 topic in a log, and when. */
struct heard {
    uint32_t n;
    double at[2000];
    uint64_t time[2000];
};

static inline void hear(struct heard *to, const char *name, const char *topic)
{
    struct nm_mcap_source source;
    struct nm_mcap_contents contents;
    struct nm_err err = {0};
    struct nm_mcap_message message;
    uint32_t channel;
    to->n = 0;
    assert_int_equal(nm_mcap_open(&source, in_place(name), &err), 0);
    assert_int_equal(nm_mcap_contents_read(&contents, &source, &err), 0);
    struct nm_mcap_query *query = nm_mcap_query_new(&source, &contents, &(struct nm_mcap_query_options){0});
    while (nm_mcap_query_next(query, &message, &channel, &err) > 0) {
        Float64 value;
        if (!nm_bytes_are(contents.channels[channel].topic, topic)) continue;
        assert_int_equal(nm_cdr_decode(&Float64_type, &value, message.data.at, message.data.n, NULL, NULL), 0);
        assert_true(to->n < 2000);
        to->at[to->n] = value.data;
        to->time[to->n++] = message.log_time;
    }
    nm_mcap_query_free(query);
    nm_mcap_contents_free(&contents);
    nm_mcap_close(&source);
}

static struct heard bright, age, from, sum;
static inline void hear_all(const char *name)
{
    hear(&bright, name, "/bright");
    hear(&age, name, "/age");
    hear(&from, name, "/from");
    hear(&sum, name, "/sum");
}

static inline int make_place(void **state)
{
    (void)state;
    snprintf(place, sizeof place, "/tmp/nutmeg-timed-XXXXXX");
    if (!mkdtemp(place)) return -1;
    write_text("robot.yaml", robot);
    return 0;
}

static inline int clear_place(void **state)
{
    (void)state;
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", place);
    return system(line);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)
