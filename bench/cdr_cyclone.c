/* Our CDR against the serialiser inside Cyclone DDS, on the same messages, batch by batch in turn. Cyclone reads into a
 * sample whose memory it may use again, and without the check of the bytes that it does once on arrival; ours always
 * checks. A build without Cyclone's headers prints our times alone. */
#include "base/memory.h"
#include "base/order.h"
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "codec/cdr.h"
#include "cyclone_peer.h"
#include "nav_msgs/Path.h"
#include "sensor_msgs/Imu.h"
#include "sensor_msgs/JointState.h"

enum { ROOM = 1 << 16, JOINTS = 20, POSES = 50, BATCHES = 401 };

/* One message and its bytes, for both sides. */
struct side {
    const struct nm_type *type;
    void *message;
    uint8_t *bytes;
    size_t size;
    struct cyclone_peer *peer;
};

static void our_encode(struct side *s) { s->size = (size_t)nm_cdr_encode(s->type, s->message, s->bytes, ROOM); }

static void our_decode(struct side *s)
{
    if (nm_cdr_decode(s->type, s->message, s->bytes, s->size, NULL, NULL)) abort();
}

static void their_encode(struct side *s) { cyclone_peer_encode(s->peer); }
static void their_decode(struct side *s) { cyclone_peer_decode(s->peer, s->bytes, s->size); }

static double now_ns(void) { return (double)nm_clock_of(CLOCK_MONOTONIC); }

static double batch(void (*run)(struct side *), struct side *s, int times)
{
    double start = now_ns();
    for (int i = 0; i < times; i++) run(s);
    return (now_ns() - start) / times;
}

static void compare(struct nm_bench *bench, const char *name, struct side *s, void (*ours)(struct side *),
                    void (*theirs)(struct side *))
{
    double our[BATCHES], their[BATCHES], ratio = NAN;
    int batches = nm_bench_quick(bench) ? BATCHES / 10 : BATCHES;
    int times = 1 + (int)(20e3 / batch(ours, s, 100)); /* a batch takes about 20 us */
    for (int i = 0; i < batches; i++) {
        our[i] = batch(ours, s, times);
        if (s->peer) their[i] = batch(theirs, s, times);
    }
    double value = nm_median(our, batches);
    if (s->peer) ratio = nm_median(their, batches) / value;
    nm_bench_report(bench, name, value, "ns", ratio, s->peer ? ">= 2 x Cyclone" : "", !s->peer || ratio >= 2);
}

static void fill(Imu *imu, JointState *joints, Path *path)
{
    nm_reset(&Imu_type, imu);
    nm_reset(&JointState_type, joints);
    nm_reset(&Path_type, path);
    nm_text(imu->header.frame_id, "imu_link");
    imu->header.stamp.sec = 1700000000;
    imu->orientation.w = 1;
    imu->linear_acceleration.z = 9.81;
    nm_text(joints->header.frame_id, "base_link");
    joints->name.n = joints->position.n = joints->velocity.n = joints->effort.n = JOINTS;
    for (int i = 0; i < JOINTS; i++) {
        nm_text(joints->name.at[i], "%s_joint_%d", i % 2 ? "left" : "right", i);
        joints->position.at[i] = 0.1 * i;
        joints->velocity.at[i] = -0.1 * i;
        joints->effort.at[i] = 1.0 / (i + 1);
    }
    nm_text(path->header.frame_id, "map");
    for (int i = 0; i < POSES; i++) {
        PoseStamped *at = nm_append(&path->poses, &PoseStamped_type);
        nm_text(at->header.frame_id, "map");
        at->header.stamp.sec = i;
        at->pose.position.x = 0.05 * i;
    }
}

void bench_cdr_cyclone(struct nm_bench *bench);

void bench_cdr_cyclone(struct nm_bench *bench)
{
    Imu *imu = nm_malloc(sizeof *imu);
    JointState *joints = nm_malloc(sizeof *joints);
    Path *path = nm_malloc(sizeof *path);
    uint8_t *bytes = nm_malloc(ROOM);
    fill(imu, joints, path);
    const struct {
        const struct nm_type *type;
        void *message;
        const char *encode, *decode;
    } rows[] = {{&Imu_type, imu, "CDR encode Imu", "CDR decode Imu"},
                {&JointState_type, joints, "CDR encode JointState of 20", "CDR decode JointState of 20"},
                {&Path_type, path, "CDR encode Path of 50", "CDR decode Path of 50"}};
    for (int i = 0; i < 3; i++) {
        struct side s = {.type = rows[i].type, .message = rows[i].message, .bytes = bytes};
        our_encode(&s);
        s.peer = cyclone_peer_new(s.type->c_name, s.bytes, s.size);
        compare(bench, rows[i].encode, &s, our_encode, their_encode);
        compare(bench, rows[i].decode, &s, our_decode, their_decode);
        cyclone_peer_free(s.peer);
    }
    free(bytes);
    free(path);
    free(joints);
    free(imu);
}
