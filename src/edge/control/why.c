/* Explains in sentences why a topic is fresh or stale. The line-up says which modules publish and read it. The running
 * player says how old it is and what holds it up: a module whose cycle does not run, whose inputs are stale, or that
 * chose not to publish. Stale inputs are followed upstream to one that has no stale input itself: that is a root cause,
 * and all root causes are named again at the end. An input is followed only if it can be the cause: it became stale
 * when the topic did. An input that was already stale while the topic was still published is not a cause. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/control/control.h"

/* A topic is stale when it is older than this many periods of the cycle that publishes it, and older than stale_least.
 */
enum { STALE_PERIODS = 5, ROOTS = 8 };
static const int64_t stale_least = 500000000;   /* ns                                        */
static const int64_t stale_remote = 1000000000; /* ns; the period of the sender is not known */

struct why {
    const struct nm_lineup *lineup;
    const struct nm_player *player;
    const struct nm_view *view;
    int64_t now;
    bool *seen; /* topics that are already explained, so that loops end */
    uint32_t depth;
    uint32_t n_roots;
    char roots[ROOTS][400]; /* root causes, each named once */
    nm_say *say;
    void *user;
};

static void say(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct why *why, const char *format, ...)
{
    char text[1024];
    int indent = (int)(2 * why->depth);
    if (indent > 40) indent = 40;
    memset(text, ' ', (size_t)indent);
    va_list args;
    va_start(args, format);
    vsnprintf(text + indent, sizeof text - (size_t)indent, format, args);
    va_end(args);
    why->say(why->user, text);
}

/* Says the end of a chain, and keeps it for the list of root causes. */
static void say_root(struct why *why, uint32_t topic, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say_root(struct why *why, uint32_t topic, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(why, "root cause: %s", text);
    if (why->n_roots < ROOTS)
        snprintf(why->roots[why->n_roots++], sizeof why->roots[0], "%.100s: %.290s", why->lineup->topics[topic].name,
                 text);
}

static const char *span_text(char to[32], int64_t ns)
{
    if (ns < 1000000)
        snprintf(to, 32, "%.3g us", (double)ns * 1e-3);
    else if (ns < 1000000000)
        snprintf(to, 32, "%.3g ms", (double)ns * 1e-6);
    else
        snprintf(to, 32, "%.3g s", (double)ns * 1e-9);
    return to;
}

static const struct nm_lineup_instance *instance_of(const struct why *why, const struct nm_end *end)
{
    return &why->lineup->instances[end->instance];
}

static const struct nm_lineup_cycle *cycle_of(const struct why *why, const struct nm_end *end)
{
    return &why->lineup->cycles[instance_of(why, end)->cycle];
}

/* How old the topic may get before it counts as stale. */
static int64_t patience(const struct why *why, const struct nm_topic *topic)
{
    if (!topic->n_producers) return stale_remote;
    int64_t longest = stale_least;
    for (uint32_t i = 0; i < topic->n_producers; i++) {
        const struct nm_lineup_cycle *cycle = cycle_of(why, &topic->producers[i]);
        int64_t each = cycle->period ? cycle->period : cycle->timeout;
        if (STALE_PERIODS * each > longest) longest = STALE_PERIODS * each;
    }
    return longest;
}

static bool is_stale(const struct why *why, uint32_t index, int64_t *age)
{
    struct nm_topic_stats stats;
    nm_player_topic_stats(why->player, index, &stats);
    *age = stats.seq ? why->now - stats.time : INT64_MAX;
    return *age > patience(why, &why->lineup->topics[index]);
}

/* A topic that no module publishes: it comes from an edge of this process, or from outside. */
static void say_remote(struct why *why, const struct nm_topic *topic)
{
    uint32_t index = (uint32_t)(topic - why->lineup->topics);
    const char *edge = why->player ? nm_player_hardware(why->player, index) : NULL;
    struct nm_topic_stats stats = {0};
    if (why->player) nm_player_topic_stats(why->player, index, &stats);
    if (edge)
        say(why, "%s (%s) is published by the edge '%s' of this process; messages from outside are refused.",
            topic->name, topic->type->name, edge);
    else
        say(why, "%s (%s) comes from outside this line-up.", topic->name, topic->type->name);
    if (!edge && stats.maker && !topic->queue)
        say(why, "Anybody may send it, and the newest message counts; that one came through the edge '%s'.",
            stats.maker);
    if (stats.refused)
        say(why, "%llu message%s from outside %s refused.", (unsigned long long)stats.refused,
            stats.refused == 1 ? "" : "s", stats.refused == 1 ? "was" : "were");
}

static void say_makers(struct why *why, const struct nm_topic *topic)
{
    char span[32];
    if (topic->builtin) say(why, "%s (%s) is written by the runtime itself.", topic->name, topic->type->name);
    if (topic->remote) say_remote(why, topic);
    for (uint32_t i = 0; i < topic->n_producers; i++) {
        const struct nm_lineup_instance *maker = instance_of(why, &topic->producers[i]);
        const struct nm_lineup_cycle *cycle = cycle_of(why, &topic->producers[i]);
        char how[128];
        if (cycle->trigger == NM_NONE)
            snprintf(how, sizeof how, "every %s", span_text(span, cycle->period));
        else
            snprintf(how, sizeof how, "with each %s", why->lineup->topics[cycle->trigger].name);
        bool own = strcmp(maker->name, maker->module->name);
        say(why, "%s (%s) is made by %s%s%s%s in the cycle %s, which runs %s.", topic->name, topic->type->name,
            maker->name, own ? " (module " : "", own ? maker->module->name : "", own ? ")" : "", cycle->name, how);
    }
}

static void say_readers(struct why *why, const struct nm_topic *topic)
{
    if (!topic->n_consumers) {
        say(why, "Nobody in this line-up reads it.");
        return;
    }
    char list[768] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < topic->n_consumers && used < sizeof list; i++) {
        const struct nm_lineup_instance *reader = instance_of(why, &topic->consumers[i]);
        enum nm_port_kind kind = reader->module->ports[topic->consumers[i].port].kind;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s (%s%s)", i ? ", " : "", reader->name,
                                 cycle_of(why, &topic->consumers[i])->name,
                                 kind == NM_PORT_LAST || kind == NM_PORT_LAST_QUEUE ? ", one run later" : "");
    }
    say(why, "It is read by %s.", list);
}

static void say_losses(struct why *why, const struct nm_topic_stats *stats)
{
    if (stats->lost)
        say(why, "%llu of its messages were lost because the queue of a reader was full: make that queue deeper.",
            (unsigned long long)stats->lost);
    if (stats->no_blob)
        say(why, "%llu times it was not published, because no memory was free for its payload.",
            (unsigned long long)stats->no_blob);
}

static void say_age(struct why *why, uint32_t index)
{
    char age[32], rate[64] = "";
    struct nm_topic_stats stats;
    nm_player_topic_stats(why->player, index, &stats);
    if (!stats.seq) {
        say(why, "It was never published.");
        return;
    }
    if (why->view->topic_rates && isfinite(why->view->topic_rates[index]))
        snprintf(rate, sizeof rate, ", %.3g a second lately", why->view->topic_rates[index]);
    say(why, "%llu messages%s; the newest is %s old.", (unsigned long long)stats.seq, rate,
        span_text(age, why->now - stats.time));
    if (stats.stamp < stats.time) say(why, "Its content was measured %s ago.", span_text(age, why->now - stats.stamp));
}

static void explain(struct why *why, uint32_t index);

/* "ball was never published", "ball is 3.2 s old" */
static const char *state_text(char to[160], const struct nm_topic *topic, int64_t age)
{
    char span[32];
    if (age == INT64_MAX)
        snprintf(to, 160, "%.100s was never published", topic->name);
    else
        snprintf(to, 160, "%.100s is %s old", topic->name, span_text(span, age));
    return to;
}

static void follow(struct why *why, uint32_t index, int64_t age)
{
    char state[160];
    why->depth++;
    if (why->seen[index]) {
        say(why, "%s, as explained above.", state_text(state, &why->lineup->topics[index], age));
    } else {
        say(why, "%s:", state_text(state, &why->lineup->topics[index], age));
        explain(why, index);
    }
    why->depth--;
}

static bool cycle_stands(const struct why *why, uint32_t cycle)
{
    struct nm_cycle_stats stats;
    nm_player_cycle_stats(why->player, cycle, &stats);
    return !stats.runs || (why->view->cycle_rates && why->view->cycle_rates[cycle] == 0);
}

static void explain_cycle(struct why *why, uint32_t index, uint32_t topic)
{
    const struct nm_lineup_cycle *cycle = &why->lineup->cycles[index];
    int64_t age;
    if (cycle->trigger == NM_NONE) {
        say_root(why, topic,
                 "the cycle %s does not run; a module in it does not return from its step (see nutmeg tasks).",
                 cycle->name);
        return;
    }
    const struct nm_topic *trigger = &why->lineup->topics[cycle->trigger];
    if (is_stale(why, cycle->trigger, &age)) {
        say(why, "the cycle %s does not run: it waits for %s.", cycle->name, trigger->name);
        follow(why, cycle->trigger, age);
    } else {
        say_root(why, topic, "the cycle %s does not run although %s is fresh (see nutmeg tasks).", cycle->name,
                 trigger->name);
    }
}

/* Whether an input of this age can be the reason why a topic of that age is no longer published. An input that was
 * never there, or became stale long before the topic, is not. */
static bool may_cause(const struct why *why, uint32_t input, int64_t input_age, int64_t age)
{
    const int64_t slack = patience(why, &why->lineup->topics[input]);
    if (age == INT64_MAX) return true;
    return input_age != INT64_MAX && input_age >= age - slack && input_age <= age + slack;
}

/* Follows the stale inputs of a module that can be the cause; returns their number. */
static uint32_t follow_inputs(struct why *why, uint32_t index, const struct nm_lineup_instance *maker, int64_t age)
{
    uint32_t n = 0;
    for (uint32_t port = 0; port < maker->n_ports; port++) {
        enum nm_port_kind kind = maker->module->ports[port].kind;
        uint32_t input = maker->topics[port];
        int64_t input_age;
        if (kind == NM_PORT_OUT || kind == NM_PORT_OUT_QUEUE || input == index) continue;
        /* an empty queue is no fault: nobody asked, nothing happened */
        if (kind == NM_PORT_QUEUE || kind == NM_PORT_LAST_QUEUE || !is_stale(why, input, &input_age)) continue;
        if (!may_cause(why, input, input_age, age)) continue;
        if (!n++) say(why, "%s runs, but its input is stale.", maker->name);
        follow(why, input, input_age);
    }
    return n;
}

static void explain_maker(struct why *why, uint32_t index, const struct nm_end *end)
{
    const struct nm_lineup_instance *maker = instance_of(why, end);
    int64_t age;
    if (cycle_stands(why, maker->cycle)) {
        explain_cycle(why, maker->cycle, index);
        return;
    }
    is_stale(why, index, &age);
    if (follow_inputs(why, index, maker, age)) return;
    say_root(why, index,
             "%s runs and its inputs are fresh: it chose not to publish (nutmeg module show %s says what it needs).",
             maker->name, maker->module->name);
}

/* A fresh topic may still be made from stale inputs. */
static void explain_fresh(struct why *why, uint32_t index)
{
    const struct nm_topic *topic = &why->lineup->topics[index];
    for (uint32_t i = 0; i < topic->n_producers; i++) {
        const struct nm_lineup_instance *maker = instance_of(why, &topic->producers[i]);
        for (uint32_t port = 0; port < maker->n_ports; port++) {
            enum nm_port_kind kind = maker->module->ports[port].kind;
            int64_t age;
            uint32_t input = maker->topics[port];
            bool read = kind == NM_PORT_IN || kind == NM_PORT_LAST;
            if (!read || input == index || !is_stale(why, input, &age) || age == INT64_MAX) continue;
            say(why, "But %s makes it from a stale input:", maker->name);
            follow(why, input, age);
        }
    }
}

static void explain(struct why *why, uint32_t index)
{
    const struct nm_topic *topic = &why->lineup->topics[index];
    why->seen[index] = true;
    if (topic->remote && !topic->n_producers)
        say_root(why, index, "nothing arrives from outside; does the sender run?");
    for (uint32_t i = 0; i < topic->n_producers; i++) explain_maker(why, index, &topic->producers[i]);
}

void nm_why(const struct nm_view *view, uint32_t topic, nm_say *say_, void *user)
{
    const struct nm_lineup *lineup = view->lineup;
    const struct nm_player *player = view->player;
    struct why why = {.lineup = lineup, .player = player, .view = view, .say = say_, .user = user};
    struct nm_topic_stats stats;
    int64_t age;
    say_makers(&why, &lineup->topics[topic]);
    say_readers(&why, &lineup->topics[topic]);
    if (!player) return;
    why.now = nm_player_now(player);
    why.seen = calloc(lineup->n_topics, sizeof *why.seen);
    if (!why.seen) return;
    say_age(&why, topic);
    nm_player_topic_stats(player, topic, &stats);
    say_losses(&why, &stats);
    if (view->outside) view->outside(view->outside_user, lineup->topics[topic].name, say_, user);
    if (lineup->topics[topic].builtin) {
        /* it is no fault if there is nothing to log or to show */
    } else if (is_stale(&why, topic, &age)) {
        say(&why, "It is stale:");
        why.depth++;
        explain(&why, topic);
        why.depth--;
    } else {
        say(&why, "It is fresh.");
        why.seen[topic] = true;
        explain_fresh(&why, topic);
    }
    for (uint32_t i = 0; i < why.n_roots; i++) say(&why, "Root cause: %s", why.roots[i]);
    free(why.seen);
}
