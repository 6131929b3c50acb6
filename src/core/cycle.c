/* One run of a cycle: take in messages, let every module step in its order, publish what they made. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/alloc_guard.h"
#include "core/internal.h"
#include "core/stamp.h"
#include "tf2_msgs/TFMessage.h"

/* Fills the cycle's history of frames with what was published since its last run. */
static void take_transforms(struct nm_cycle *cycle)
{
    for (int k = 0; k < 2; k++) {
        struct port *port = &cycle->tf_ports[k];
        uint32_t lost, n = port_gather(port, &lost);
        for (uint32_t i = 0; i < n; i++) {
            const TFMessage *message = port->at[i];
            for (uint32_t j = 0; j < message->transforms.n; j++) {
                const TransformStamped *t = &message->transforms.at[j];
                const Quaternion *q = &t->transform.rotation;
                const Vector3 *p = &t->transform.translation;
                struct pose3 pose = {{q->w, q->x, q->y, q->z}, {p->x, p->y, p->z}};
                int64_t stamp = nm_stamp_ns(t->header.stamp);
                tf_put(cycle->tf, t->header.frame_id, t->child_frame_id, stamp, pose, k == 1);
            }
        }
    }
}

static int64_t cpu_now(void) { return nm_clock_of(CLOCK_THREAD_CPUTIME_ID); }

void cycle_enter(struct nm_cycle *cycle)
{
    if (cycle->player->options.cpu) cycle->entered = cpu_now();
    nm_guard_enter();
}

void cycle_leave(struct nm_cycle *cycle)
{
    nm_guard_leave();
    if (cycle->player->options.cpu)
        atomic_fetch_add_explicit(&cycle->cpu, cpu_now() - cycle->entered, memory_order_relaxed);
}

void cycle_begin(struct nm_cycle *cycle, int64_t now)
{
    cycle->dt = cycle->run ? now - cycle->now : (cycle->plan ? cycle->plan->period : 0);
    cycle->now = now;
    cycle->run++;

    for (uint32_t i = 0; i < cycle->n_rings; i++) cycle->rings[i].in_run = 0;
    for (uint32_t i = 0; i < cycle->n_in; i++) mailbox_receive(cycle->in[i]);
    changes_apply(cycle);
    /* `last` of a value made here is what stands when the run begins */
    for (uint32_t i = 0; i < cycle->n_sources; i++) {
        struct source *source = &cycle->sources[i];
        if (!source->value) continue;
        for (uint32_t k = 0; k < source->n_last; k++) *(const void **)source->last[k]->member = source->value->front;
    }
    if (cycle->tf) take_transforms(cycle);
}

static void step(struct nm_instance *instance, struct nm_cycle *cycle)
{
    struct nm *nm = &instance->nm;
    nm->now = cycle->now;
    nm->dt = cycle->dt;
    nm->run = cycle->run;
    nm->watched = cycle->watched;
    for (uint32_t i = 0; i < instance->n_outs; i++) {
        struct value *value = instance->outs[i]->value;
        nm_slot(value->back)->put = false;
        nm_reset(value->type, value->back);
        *(void **)instance->outs[i]->member = value->back;
    }
    for (uint32_t i = 0; i < instance->n_queues; i++) {
        struct port *port = instance->queues[i];
        nm_queue(void) *queue = port->member;
        queue->n = port_gather(port, &queue->lost);
    }
    atomic_store_explicit(&cycle->stepping, instance, memory_order_relaxed);
    instance->module->step(instance->self);
    atomic_store_explicit(&cycle->stepping, NULL, memory_order_relaxed);
    for (uint32_t i = 0; i < instance->n_outs; i++) {
        struct value *value = instance->outs[i]->value;
        if (nm_slot(value->back)->put) value_publish(cycle, value);
    }
}

void cycle_steps(struct nm_cycle *cycle)
{
    cycle->watched = atomic_load_explicit(&cycle->player->watchers, memory_order_relaxed) != 0;
    cycle->runner = pthread_self();
    cycle->marks[0] = nm_clock();
    for (uint32_t i = 0; i < cycle->n_instances; i++) {
        step(cycle->instances[i], cycle);
        cycle->marks[i + 1] = nm_clock();
    }
}

void cycle_end(struct nm_cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->n_out; i++)
        if (mailbox_send(cycle->out[i])) cycle_wake(cycle->out[i]->to);
}

/* Bookkeeping waits until everybody else has got what they wait for. */
void cycle_account(struct nm_cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->n_instances; i++)
        tally_add(&cycle->instances[i]->busy, cycle->marks[i + 1] - cycle->marks[i]);
    tally_add(&cycle->busy, cycle->marks[cycle->n_instances] - cycle->marks[0]);
    if (cycle->run == 1) atomic_store_explicit(&cycle->first_start, cycle->now, memory_order_relaxed);
    atomic_store_explicit(&cycle->last_start, cycle->now, memory_order_relaxed);
    atomic_store_explicit(&cycle->runs, cycle->run, memory_order_relaxed);
    record_note(cycle);
}

/* In threads a count and, if it sleeps, one system call; in virtual time the next run moves to now. */
void cycle_wake(struct nm_cycle *cycle)
{
    struct nm_player *player = cycle->player;
    if (!atomic_load_explicit(&player->running, memory_order_relaxed)) {
        int64_t now = atomic_load_explicit(&player->virtual_now, memory_order_relaxed);
        if (cycle->due != INT64_MAX && cycle->due > now) now = cycle->due;
        if (now < cycle->next) cycle->next = now;
        return;
    }
    atomic_store_explicit(&cycle->called, nm_clock(), memory_order_relaxed);
    atomic_fetch_add_explicit(&cycle->wake, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&cycle->sleeping, memory_order_seq_cst))
        syscall(SYS_futex, &cycle->wake, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
