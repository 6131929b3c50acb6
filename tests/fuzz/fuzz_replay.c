/* A foreign log played into a line-up by time: whatever its types, times and bytes are, the replay ends and stays
 * inside what is there. The input is a recipe, since nearly no random bytes are a log: a first byte and as many bytes
 * of a type's text, then messages of six bytes (channel, time in three, two of length) and their bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/mcap_write.h"
#include "core/nm.h"
#include "files.h"
#include "record/replay_log.h"
#include "sensor_msgs/CompressedImage.h"
#include "sensor_msgs/Image.h"
#include "sensor_msgs/Imu.h"
#include "std_msgs/Float64.h"
#include "std_msgs/String.h"
#include "tf2_msgs/TFMessage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct witness {
    struct nm *nm;
    const Imu *imu, *other;
    const Image *image;
    nm_queue(String) words;
    Float64 *sum;
};
#define SELF struct witness
static void look_at(struct witness *f)
{
    f->sum->data = f->imu->linear_acceleration.x + f->other->angular_velocity.z;
    for (uint32_t i = 0; i < f->words.n; i++) f->sum->data += (double)strlen(f->words.at[i]->data);
    for (uint32_t i = 0; i < f->image->data.n; i++) f->sum->data += f->image->data.data[i];
    nm_put(f->nm, f->sum);
}
static const struct nm_port witness_ports[] = {NM_IN(imu, Imu, "imu"),       NM_IN(other, Imu, "other"),
                                               NM_IN(image, Image, "image"), NM_QUEUE(words, String, "words", 4),
                                               NM_OUT(sum, Float64, "sum"),  {0}};
NM_MODULE(witness, "Looks at messages.", NM_PORTS(witness_ports), .step = NM_CALL(look_at))

struct mover {
    struct nm *nm;
    Float64 *x;
    nm_out_queue(TFMessage) moved;
};
#undef SELF
#define SELF struct mover
static void move(struct mover *f)
{
    struct pose3 camera = {0};
    if (nm_tf(f->nm, "a", "b", NM_TF_NEWEST, &camera)) f->x->data += camera.pos.x;
    nm_put(f->nm, f->x);
    TransformStamped *t = nm_append(&nm_push(f->nm, &f->moved)->transforms, &TransformStamped_type);
    nm_text(t->header.frame_id, "b");
    nm_text(t->child_frame_id, "c");
    t->transform.rotation.w = 1;
}
static const struct nm_port mover_ports[] = {
    NM_OUT(x, Float64, "x"), NM_OUT_QUEUE(moved, TFMessage, "tf", 2, .many = true), NM_READS_TF, {0}};
NM_MODULE(mover, "Reads and makes transforms.", NM_PORTS(mover_ports), .step = NM_CALL(move))

/* Transforms and compressed pictures take much memory, so only some inputs play with them. */
static bool is_heavy(size_t size) { return size % 64 == 0; }

static const char *lineup_of(size_t size)
{
    return is_heavy(size) ? "cycles: {c: {period: 500 ms, modules: [witness, mover]}}\n"
                            "remote: [imu, other, image, words]\n"
                          : "cycles: {c: {trigger: image, timeout: 500 ms, modules: [witness]}}\n"
                            "remote: [imu, other, image, words]\n";
}

struct buffer {
    uint8_t bytes[1 << 18];
    size_t n;
};

static int to_buffer(void *user, const void *bytes, size_t n)
{
    struct buffer *to = user;
    if (n > sizeof to->bytes - to->n) return -1;
    memcpy(to->bytes + to->n, bytes, n);
    to->n += n;
    return 0;
}

static void put(struct nm_mcap_writer *w, int channel, uint32_t k, uint64_t time, const void *bytes, size_t n)
{
    struct nm_mcap_message message = {(uint16_t)channel, k, time, time, {bytes, n}};
    if (channel >= 0) nm_mcap_write(w, &message, NULL);
}

static void make_log(struct buffer *log, const uint8_t *data, size_t size)
{
    const struct {
        const char *topic;
        const struct nm_type *type; /* NULL: as the input says */
    } rows[] = {{"/imu", &Imu_type},
                {"/other", NULL},
                {"/image", &Image_type},
                {is_heavy(size) ? "/image/compressed" : "/other/compressed", &CompressedImage_type},
                {"/words", &String_type},
                {"/tf", &TFMessage_type},
                {"/tf_static", &TFMessage_type},
                {"/sum", &Float64_type}};
    enum { WORDS = 4, ROWS = sizeof rows / sizeof *rows };
    struct nm_mcap_write_options options = {.packing = NM_MCAP_STORED, .chunk_size = 16 << 10};
    struct nm_mcap_writer *w = nm_mcap_writer_new(&options);
    uint64_t time = 1700000000000000000u;
    size_t n = size ? data[0] : 0, at = 1 + n;
    int ids[ROWS];
    nm_mcap_start(w, to_buffer, log, NULL);
    for (int i = 0; i < ROWS; i++) {
        struct nm_bytes schema_text = rows[i].type ? nm_bytes_of(rows[i].type->schema)
                                                   : (struct nm_bytes){data + 1, size > n ? n
                                                                                 : size   ? size - 1
                                                                                          : 0};
        struct nm_mcap_schema schema = {0, nm_bytes_of(rows[i].type ? rows[i].type->name : Imu_type.name),
                                        nm_bytes_of("ros2msg"), schema_text};
        struct nm_mcap_channel channel = {.schema_id = (uint16_t)nm_mcap_add_schema(w, &schema, NULL),
                                          .topic = nm_bytes_of(rows[i].topic),
                                          .message_encoding = nm_bytes_of("cdr")};
        ids[i] = nm_mcap_add_channel(w, &channel, NULL);
    }
    put(w, ids[WORDS], 0, time, "\0\1\0\0\5\0\0\0kick", 13); /* something to play is always there */
    for (uint32_t k = 0; at + 6 <= size && k < 64; k++) {
        const uint8_t *head = data + at;
        size_t length = (size_t)(head[4] | (head[5] & 7) << 8);
        time += (uint64_t)(int64_t)(int16_t)(head[1] | head[2] << 8) << (head[3] & 63);
        at += 6;
        if (length > size - at) length = size - at;
        put(w, ids[head[0] % ROWS], k, time, data + at, length);
        at += length;
    }
    nm_mcap_finish(w, NULL);
    nm_mcap_writer_free(w);
}

static bool never(void) { return false; }

static void say(void *user, const char *sentence)
{
    (void)user;
    if (!*sentence) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buffer log;
    struct nm_arena arena = {0};
    struct nm_registry registry;
    struct nm_err err = {0};
    struct nm_lineup_options with = {.root = "/nonexistent"};
    const struct nm_module *const modules[] = {&witness_module, &mover_module};
    const char *text = lineup_of(size);
    nm_registry_init(&registry, &arena, modules, modules + 2);
    log.n = 0;
    make_log(&log, data, size);
    struct nm_lineup *lineup = nm_lineup_parse(text, strlen(text), "fuzz.yaml", &registry, &with, &err);
    struct replay_options options = {.log = fuzz_put("log.mcap", log.bytes, log.n),
                                     .lineup = lineup,
                                     .from = size & 2 ? NULL : "0.5",
                                     .registry = &registry,
                                     .with = with,
                                     .stopping = never,
                                     .said = say};
    struct replay_result result = {0};
    int bad = replay(&options, &result, &err);
    if (bad != 0 && (!err.n || size & 2)) abort(); /* half a second in, there may be nothing */
    replay_result_free(&result);
    nm_lineup_free(lineup);
    nm_arena_free(&arena);
    return 0;
}
