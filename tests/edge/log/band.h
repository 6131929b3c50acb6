/* A line-up with everything that a log must keep: a value, queues of random length, frames, a service, random numbers,
 * two cycles, and messages from outside. */
#pragma once

#include "edge/log/rig.h"

#include <pthread.h>
#include <stdatomic.h>

#include "std_msgs/Float64.h"
#include "std_msgs/Int64.h"
#include "std_srvs/SetBool.h"
#include "tf2_msgs/TFMessage.h"

/* ---- a drummer: a value, a queue of random length, a frame, a service ---- */

struct drummer {
    struct nm *nm;
    const Float64 *outside;
    Float64 *wave;
    nm_out_queue(Int64) beats;
    nm_out_queue(TFMessage) tf;
    nm_server(SetBool) loud;
    double gain;
    double phase, volume;
    int64_t n;
    const void *own; /* points into this struct, as a list would */
};
#define SELF struct drummer
static void drummer_step(struct drummer *f)
{
    f->own = &f->phase;
    f->phase += 0.1 * f->gain + 0.01 * nm_random(f->nm) + (nm_fresh(f->nm, f->outside) ? f->outside->data : 0);
    for (uint32_t i = 0; i < f->loud.requests.n; i++) {
        const SetBool_Request *request = f->loud.requests.at[i];
        f->volume = request->data ? 2 : 1;
        SetBool_Response *reply = nm_reply(f->nm, &f->loud, request);
        reply->success = true;
        nm_text(reply->message, "volume %g at %g", f->volume, *(const double *)f->own);
    }
    f->wave->data = f->volume * sin(f->phase);
    nm_put(f->nm, f->wave);
    for (int k = (int)(3 * nm_random(f->nm)); k > 0; k--) nm_push(f->nm, &f->beats)->data = ++f->n;
    TFMessage *tf = nm_push(f->nm, &f->tf);
    TransformStamped *t = nm_append(&tf->transforms, &TransformStamped_type);
    t->header.stamp.sec = (int32_t)(f->nm->now / 1000000000);
    t->header.stamp.nanosec = (uint32_t)(f->nm->now % 1000000000);
    nm_text(t->header.frame_id, "world");
    nm_text(t->child_frame_id, "stick");
    t->transform.translation.x = f->phase;
    t->transform.rotation.w = 1;
    if (f->n % 50 == 49) nm_log(f->nm, NM_INFO, "beat %ld", (long)f->n);
}
static const struct nm_port drummer_ports[] = {
    NM_IN(outside, Float64, "outside"),     NM_OUT(wave, Float64, "wave"),
    NM_OUT_QUEUE(beats, Int64, "beats", 8), NM_OUT_QUEUE(tf, TFMessage, "tf", 4, .many = true),
    NM_SERVER(loud, SetBool, "loud", 4),    {0}};
static const struct nm_param drummer_params[] = {NM_PARAM(gain, 1, 0, 10, "1", "how fast"), {0}};
NM_MODULE(drummer, "Beats.", NM_PORTS(drummer_ports), NM_PARAMS(drummer_params), .step = NM_CALL(drummer_step))

/* ---- a dancer in another cycle: hears all of it, asks, and looks at its own last step ---- */

struct dancer {
    struct nm *nm;
    const Float64 *wave, *before;
    nm_queue(Int64) beats;
    nm_client(SetBool) loud;
    Float64 *step_out;
    double patience;
    double sum;
    int64_t asked, answered, heard;
};
#undef SELF
#define SELF struct dancer
static void dancer_step(struct dancer *f)
{
    struct pose3 stick = {0};
    for (uint32_t i = 0; i < f->beats.n; i++) f->heard += f->beats.at[i]->data;
    for (uint32_t i = 0; i < f->loud.replies.n; i++) f->answered += (int64_t)strlen(f->loud.replies.at[i]->message);
    if (f->nm->run % 40 == 0) nm_call(f->nm, &f->loud)->data = f->asked++ % 2;
    nm_tf(f->nm, "stick", "world", NM_TF_NEWEST, &stick);
    f->sum = 0.5 * f->sum + f->patience * f->wave->data + stick.pos.x + 0.1 * f->before->data;
    f->step_out->data = f->sum + (double)f->heard + (double)f->answered + 1e-9 * (double)nm_age(f->nm, f->wave) +
                        nm_gauss(f->nm) + 1e-12 * (double)f->nm->dt;
    nm_put(f->nm, f->step_out);
}
static const struct nm_port dancer_ports[] = {NM_IN(wave, Float64, "wave"),
                                              NM_LAST(before, Float64, "step"),
                                              NM_QUEUE(beats, Int64, "beats", 512),
                                              NM_CLIENT(loud, SetBool, "loud", 4),
                                              NM_OUT(step_out, Float64, "step"),
                                              NM_READS_TF,
                                              {0}};
static const struct nm_param dancer_params[] = {NM_PARAM(patience, 0.5, 0, 1, "1", "share that stays"), {0}};
NM_MODULE(dancer, "Dances.", NM_PORTS(dancer_ports), NM_PARAMS(dancer_params), .step = NM_CALL(dancer_step))

struct judge {
    struct nm *nm;
    const Float64 *dance;
    Float64 *score;
    double best;
};
#undef SELF
#define SELF struct judge
static void judge_step(struct judge *f)
{
    if (f->dance->data > f->best) f->best = f->dance->data;
    f->score->data = f->best - f->dance->data;
    nm_put(f->nm, f->score);
}
static const struct nm_port judge_ports[] = {NM_IN(dance, Float64, "step"), NM_OUT(score, Float64, "score"), {0}};
NM_MODULE(judge, "Judges.", NM_PORTS(judge_ports), .step = NM_CALL(judge_step))

static const char band[] = "cycles:\n"
                           "  rhythm: {period: 2 ms, cost: 500 us, modules: [drummer]}\n"
                           "  floor: {period: 5 ms, cost: 1 ms, modules: [dancer, judge]}\n"
                           "remote: [outside]\n";

/* ---- how it plays ---- */

static inline void set_gain(struct started *s, const char *value)
{
    struct nm_err err = {0};
    uint32_t instance = nm_lineup_instance(s->lineup, "drummer");
    struct nm_change change = {.instance = instance};
    assert_int_equal(nm_value_parse(&drummer_params[0], value, &change.value, &err), 0);
    if (nm_player_set(s->player, &change, 1, &err) < 0) fail_msg("%s", err.text);
}

struct outside {
    struct nm_edge *edge;
    struct started *s;
    _Atomic bool over;
};

static inline void *bring(void *user)
{
    struct outside *o = user;
    for (int i = 0; !atomic_load(&o->over); i++) {
        nm_edge_begin(o->edge, nm_player_now(o->s->player));
        ((Float64 *)nm_edge_out(o->edge, 0))->data = 1e-3 * (i % 17);
        nm_edge_put(o->edge, 0);
        nm_edge_end(o->edge);
        nap(3);
    }
    return NULL;
}

static const struct nm_edge_port outside_port = {.topic = "outside", .kind = NM_PORT_OUT};

static inline void record_virtual(const char *path, int64_t ms)
{
    struct started s;
    start_with(&s, band, (struct nm_player_options){.seed = 7});
    struct nm_edge *outside = edge(&s, &outside_port, 1);
    struct nm_log *log = open_log(&s, (struct nm_log_options){.path = path, .virtual_time = true});
    for (int64_t now = 10; now <= ms; now += 10) {
        nm_edge_begin(outside, nm_player_now(s.player));
        ((Float64 *)nm_edge_out(outside, 0))->data = 1e-3 * (double)(now % 170);
        nm_edge_put(outside, 0);
        nm_edge_end(outside);
        run_until(&s, now);
        if (now == ms / 2) set_gain(&s, "2.5");
        nm_log_poll(log);
    }
    nm_log_free(log);
    stop(&s);
}
