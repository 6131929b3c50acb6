/* What the live server itself publishes about once a second, while somebody listens: how well every cycle keeps its
 * times (/nutmeg/cycles, as in a log), and how much, how old and how late every topic is (/nutmeg/topics). */
#include <stdlib.h>

#include "base/memory.h"
#include "core/report.h"
#include "core/stamp.h"
#include "edge/live/live_inside.h"
#include "nutmeg_msgs/TopicReport.h"

enum { CYCLES = 64 };
static const int64_t every = 1000000000; /* ns, of the player's time */

struct reports {
    struct channel *cycles, *topics;
    struct nm_cycle_mark *marks[CYCLES];
    uint64_t *counts; /* of each topic at the last report */
    int64_t told;     /* ns */
    union {
        CycleStatistics cycle;
        TopicReport topics;
    } message;
};

static struct channel *add_channel(struct nm_live *live, const char *name, const struct nm_type *type)
{
    struct channel *channel = &live->channels[live->n_channels++];
    *channel = (struct channel){.name = name, .type = type, .port = NM_NONE, .times = !live->options.virtual_time};
    return channel;
}

void reports_new(struct nm_live *live)
{
    struct reports *r = live->reports = nm_take_n(&live->arena, struct reports, 1);
    r->counts = nm_take_n(&live->arena, uint64_t, live->lineup->n_topics + 1);
    r->cycles = add_channel(live, "/nutmeg/cycles", &CycleStatistics_type);
    r->topics = add_channel(live, "/nutmeg/topics", &TopicReport_type);
}

void reports_free(struct nm_live *live)
{
    for (uint32_t i = 0; live->reports && i < CYCLES; i++) free(live->reports->marks[i]);
}

/* The cycles of the line-up, and edges with a thread of their own, such as the servo bus. */
static void tell_cycles(struct nm_live *live, struct reports *r, int64_t now)
{
    uint32_t n = nm_player_cycles(live->player);
    for (uint32_t c = 0; c < n && c < CYCLES; c++) {
        if (!nm_player_plan(live->player, c)) continue;
        if (!r->marks[c]) r->marks[c] = nm_calloc(1, nm_cycle_mark_size(live->player, c));
        nm_cycle_report(live->player, c, r->marks[c], &r->message.cycle);
        r->message.cycle.header.stamp = nm_stamp(now);
        channel_send(live, r->cycles, &r->message.cycle);
    }
}

bool reports_sizes(const struct nm_live *live) { return live->reports->topics->listeners; }

static void tell_topics(struct nm_live *live, struct reports *r, int64_t now)
{
    TopicReport *m = &r->message.topics;
    double dt = nm_seconds(now - r->told);
    uint32_t k = 0;
    nm_reset(&TopicReport_type, m);
    m->header.stamp = nm_stamp(now);
    for (uint32_t i = 0; i < live->n_channels; i++) {
        const struct channel *channel = &live->channels[i];
        struct nm_topic_stats stats;
        if (channel->port == NM_NONE || k == sizeof m->rate.at / sizeof *m->rate.at) continue;
        nm_player_topic_stats(live->player, channel->port, &stats);
        double rate = r->told ? (double)(stats.seq - r->counts[channel->port]) / dt : 0;
        r->counts[channel->port] = stats.seq;
        nm_text(m->topic.at[k], "%s", live->lineup->topics[channel->port].name);
        m->rate.at[k] = (float)rate;
        m->bytes.at[k] = (float)(rate * (double)channel->size);
        m->age.at[k] = (float)(stats.seq ? nm_seconds(now - stats.time) : -1);
        m->delay.at[k] = (float)nm_seconds(stats.time - stats.stamp);
        m->count.at[k] = stats.seq;
        m->lost.at[k] = stats.lost;
        m->refused.at[k++] = stats.refused;
    }
    m->topic.n = m->rate.n = m->bytes.n = m->age.n = m->delay.n = m->count.n = m->lost.n = m->refused.n = k;
    channel_send(live, r->topics, m);
}

void reports_tell(struct nm_live *live)
{
    struct reports *r = live->reports;
    int64_t now = nm_player_now(live->player);
    if (now < r->told + every || (!r->cycles->listeners && !r->topics->listeners)) return;
    if (r->cycles->listeners) tell_cycles(live, r, now);
    if (r->topics->listeners) tell_topics(live, r, now);
    r->told = now;
}
