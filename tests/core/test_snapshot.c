/* A snapshot holds everything a cycle remembers: what goes on from it goes on as the original did. Its bytes come from
 * a file, so damaged ones are refused. */
#include "core/started.h"

#include <math.h>
#include <stdlib.h>

#include "core/run_record.h"
#include "core/run_replay.h"
#include "std_msgs/Float64.h"
#include "std_msgs/Int64.h"
#include "tf2_msgs/TFMessage.h"

struct juggler {
    struct nm *nm;
    const Float64 *before; /* its own, of the last run */
    nm_queue(Int64) caught;
    Float64 *height;
    nm_out_queue(Int64) thrown;
    nm_out_queue(TFMessage) frames;
    double gravity;
    double y;
    int64_t balls;
    const double *looks_at; /* init made it */
    double *inner;          /* into the struct itself */
};
#define SELF struct juggler
static const double table[] = {1, 2, 3};
static int juggler_init(struct juggler *f)
{
    f->looks_at = table;
    return 0;
}
static void juggler_step(struct juggler *f)
{
    struct pose3 hand = {0};
    f->inner = &f->y;
    for (uint32_t i = 0; i < f->caught.n; i++) f->balls += f->caught.at[i]->data;
    nm_tf(f->nm, "ball", "hand", NM_TF_NEWEST, &hand);
    *f->inner += f->gravity * nm_random(f->nm) + 0.5 * f->before->data + f->looks_at[f->nm->run % 3] + 0.1 * hand.pos.x;
    *f->inner = fmod(*f->inner, 10);
    f->height->data = f->y;
    nm_put(f->nm, f->height);
    for (uint64_t i = 0; i < f->nm->run % 3; i++) nm_push(f->nm, &f->thrown)->data = (int64_t)f->nm->run;
    TransformStamped *t = nm_append(&((TFMessage *)nm_push(f->nm, &f->frames))->transforms, &TransformStamped_type);
    t->header.stamp.nanosec = (uint32_t)f->nm->run;
    nm_text(t->header.frame_id, "hand");
    nm_text(t->child_frame_id, "ball");
    t->transform.translation.x = f->y;
    t->transform.rotation.w = 1;
}
static const struct nm_port juggler_ports[] = {NM_LAST(before, Float64, "height"),
                                               NM_LAST_QUEUE(caught, Int64, "thrown", 8),
                                               NM_OUT(height, Float64, "height"),
                                               NM_OUT_QUEUE(thrown, Int64, "thrown", 8),
                                               NM_OUT_QUEUE(frames, TFMessage, "tf", 4, .many = true),
                                               NM_READS_TF,
                                               {0}};
static const struct nm_param juggler_params[] = {NM_PARAM(gravity, 1, 0, 10, "1", "pulls"), {0}};
NM_MODULE(juggler, "Juggles.", NM_PORTS(juggler_ports), NM_PARAMS(juggler_params), .init = NM_CALL(juggler_init),
          .step = NM_CALL(juggler_step))

static const char circus[] = "cycles:\n  ring: {period: 10 ms, modules: [juggler]}\n";

enum { RUNS = 60, SNAP = 25 };

struct act {
    double heights[RUNS + 1];
    uint8_t *snapshot;
    size_t n;
};

/* The original, with a snapshot behind run SNAP. */
static void perform(struct act *act)
{
    struct started s;
    struct nm_err err = {0};
    struct nm_run run;
    const struct nm_edge_port port = {.topic = "height", .kind = NM_PORT_IN};
    start(&s, circus);
    struct nm_edge *looks = edge(&s, &port, 1);
    struct nm_record *record = nm_record_new(s.player, &err);
    for (int i = 1; i <= RUNS; i++) {
        if (i == SNAP) assert_true(nm_record_want(record, 0));
        run_until(&s, 10 * i);
        nm_edge_begin(looks, 0);
        act->heights[i] = ((const Float64 *)nm_edge_in(looks, 0))->data;
        nm_edge_end(looks);
        while (nm_record_next(record, 0, &run)) {}
    }
    const void *bytes = nm_record_snapshot(record, 0, &act->n, &run);
    assert_non_null(bytes);
    assert_int_equal(run.run, SNAP);
    act->snapshot = malloc(act->n);
    memcpy(act->snapshot, bytes, act->n);
    nm_record_give(record, 0);
    size_t none;
    assert_null(nm_record_snapshot(record, 0, &none, &run));
    stop(&s);
}

struct seen {
    struct started *s;
    double height;
};

static void made(void *user, uint32_t cycle, uint32_t topic, const void *message)
{
    struct seen *seen = user;
    (void)cycle;
    if (!strcmp(seen->s->lineup->topics[topic].name, "height")) seen->height = ((const Float64 *)message)->data;
}

static struct nm_replay *again(struct started *s)
{
    struct nm_err err = {0};
    start(s, circus);
    struct nm_replay *replay = nm_replay_new(s->player, &err);
    if (!replay) fail_msg("%s", err.text);
    return replay;
}

static void what_goes_on_from_a_snapshot_goes_on_as_the_original_did(void **state)
{
    (void)state;
    struct act act = {0};
    struct started s;
    struct nm_err notes = {0}, err = {0};
    perform(&act);
    struct nm_replay *replay = again(&s);
    struct seen seen = {.s = &s};
    if (nm_replay_restore(replay, 0, act.snapshot, act.n, &notes, &err)) fail_msg("%s", err.text);
    assert_int_equal(notes.n, 0);
    for (int i = SNAP + 1; i <= RUNS; i++) {
        nm_replay_run(replay, &(struct nm_run){.run = (uint64_t)i, .now = 10000000 * (i - 1)}, made, &seen);
        assert_true(seen.height == act.heights[i]);
    }
    free(act.snapshot);
    stop(&s);
}

static void without_it_the_run_is_another_one(void **state)
{
    (void)state;
    struct act act = {0};
    struct started s;
    perform(&act);
    struct nm_replay *replay = again(&s);
    struct seen seen = {.s = &s};
    nm_replay_run(replay, &(struct nm_run){.run = SNAP + 1, .now = 10000000 * SNAP}, made, &seen);
    assert_true(seen.height != act.heights[SNAP + 1]);
    free(act.snapshot);
    stop(&s);
}

static void a_snapshot_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    struct act act = {0};
    struct started s;
    perform(&act);
    struct nm_replay *replay = again(&s);
    for (size_t n = 0; n < act.n; n++) {
        struct nm_err err = {0};
        uint8_t *part = malloc(n + 1); /* so that a sanitizer sees a byte too far */
        memcpy(part, act.snapshot, n);
        assert_int_equal(nm_replay_restore(replay, 0, part, n, NULL, &err), -1);
        assert_int_equal(err.n, 1);
        free(part);
    }
    free(act.snapshot);
    stop(&s);
}

static void damaged_bytes_never_reach_beyond_what_is_there(void **state)
{
    (void)state;
    struct act act = {0};
    struct started s;
    uint64_t x = 1;
    perform(&act);
    struct nm_replay *replay = again(&s);
    uint8_t *bytes = malloc(act.n);
    for (int i = 0; i < 3000; i++) {
        memcpy(bytes, act.snapshot, act.n);
        for (int k = 0; k < 1 + i % 8; k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            bytes[(x >> 33) % act.n] = (uint8_t)(x >> 24);
        }
        nm_replay_restore(replay, 0, bytes, act.n, NULL, NULL);
    }
    free(bytes);
    free(act.snapshot);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_on_from_a_snapshot_goes_on_as_the_original_did),
        cmocka_unit_test(without_it_the_run_is_another_one),
        cmocka_unit_test(a_snapshot_cut_at_any_byte_is_refused),
        cmocka_unit_test(damaged_bytes_never_reach_beyond_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
