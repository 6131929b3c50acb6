/* A foreign log played into a line-up by time: whatever its types, times and bytes are, the replay ends and stays
 * inside what is there. The input is a recipe, since nearly no random bytes are a log: a first byte and as many bytes
 * of a type's text, then messages of six bytes (channel, time in three, two of length) and their bytes. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "codec/mcap_write.h"
#include "core/nm.h"
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
    nm_out_queue(TFMessage) moved;
};
#define SELF struct witness
static void witness_step(struct witness *f)
{
    struct pose3 camera = {0};
    f->sum->data = f->imu->linear_acceleration.x + f->other->angular_velocity.z;
    for (uint32_t i = 0; i < f->words.n; i++) f->sum->data += (double)strlen(f->words.at[i]->data);
    for (uint32_t i = 0; i < f->image->data.n; i++) f->sum->data += f->image->data.data[i];
    if (nm_tf(f->nm, "a", "b", NM_TF_NEWEST, &camera)) f->sum->data += camera.pos.x;
    nm_put(f->nm, f->sum);
    TransformStamped *t = nm_append(&nm_push(f->nm, &f->moved)->transforms, &TransformStamped_type);
    nm_text(t->header.frame_id, "b");
    nm_text(t->child_frame_id, "c");
    t->transform.rotation.w = 1;
}
static const struct nm_port witness_ports[] = {NM_IN(imu, Imu, "imu"),
                                               NM_IN(other, Imu, "other"),
                                               NM_IN(image, Image, "image"),
                                               NM_QUEUE(words, String, "words", 4),
                                               NM_OUT(sum, Float64, "sum"),
                                               NM_OUT_QUEUE(moved, TFMessage, "tf", 2, .many = true),
                                               NM_READS_TF,
                                               {0}};
NM_MODULE(witness, "Looks at everything.", .ports = witness_ports, .step = NM_CALL(witness_step))

static const char lineup[] = "cycles: {c: {trigger: image, timeout: 500 ms, modules: [witness]}}\n"
                             "remote: [imu, other, image, words]\n";

static int file_of(const char *name, const void *bytes, size_t n)
{
    int file = memfd_create(name, 0);
    if (file < 0 || write(file, bytes, n) != (ssize_t)n) abort();
    return file;
}

static int to_file(void *user, const void *bytes, size_t n)
{
    return write(*(int *)user, bytes, n) == (ssize_t)n ? 0 : -1;
}

static void put(struct nm_mcap_writer *w, int channel, uint32_t k, uint64_t time, const void *bytes, size_t n)
{
    struct nm_mcap_message message = {(uint16_t)channel, k, time, time, {bytes, n}};
    if (channel >= 0) nm_mcap_write(w, &message, NULL);
}

static void make_log(int *file, const uint8_t *data, size_t size)
{
    static const struct {
        const char *topic;
        const struct nm_type *type; /* NULL: as the input says */
    } rows[] = {{"/imu", &Imu_type},
                {"/other", NULL},
                {"/image", &Image_type},
                {"/image/compressed", &CompressedImage_type},
                {"/words", &String_type},
                {"/tf", &TFMessage_type},
                {"/tf_static", &TFMessage_type},
                {"/sum", &Float64_type}};
    enum { WORDS = 4, ROWS = sizeof rows / sizeof *rows };
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = NM_MCAP_STORED});
    uint64_t time = 1700000000000000000u;
    size_t n = size ? data[0] : 0, at = 1 + n;
    int ids[ROWS];
    nm_mcap_start(w, to_file, file, NULL);
    for (int i = 0; i < ROWS; i++) {
        struct nm_bytes text = rows[i].type ? nm_bytes_of(rows[i].type->schema)
                                            : (struct nm_bytes){data + 1, size > n ? n
                                                                          : size   ? size - 1
                                                                                   : 0};
        struct nm_mcap_schema schema = {0, nm_bytes_of(rows[i].type ? rows[i].type->name : Imu_type.name),
                                        nm_bytes_of("ros2msg"), text};
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char log_path[40], lineup_path[40];
    static int quiet;
    if (!quiet && (quiet = open("/dev/null", O_WRONLY)) < 0) abort();
    int log = memfd_create("log", 0), text = file_of("lineup", lineup, sizeof lineup - 1);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    if (log < 0 || out < 0 || err < 0) abort();
    make_log(&log, data, size);
    snprintf(log_path, sizeof log_path, "/proc/self/fd/%d", log);
    snprintf(lineup_path, sizeof lineup_path, "/proc/self/fd/%d", text);
    char words[][16] = {"replay", "--lineup", "--from", "0.5"};
    char *argv[] = {words[0], log_path, words[1], lineup_path, words[2], words[3], NULL};
    fflush(stdout);
    dup2(quiet, STDOUT_FILENO);
    dup2(quiet, STDERR_FILENO);
    int code = cmd_replay(size & 1 ? 4 : 6, argv);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (code != 0 && (code != 2 || size & 1)) abort(); /* half a second in, there may be nothing */
    close(out);
    close(err);
    close(log);
    close(text);
    return 0;
}
