/* Three modules in two cycles for the tests of the control edge: a counter makes `number` (unless it is muted), a
 * doubler in another cycle, woken by it, makes `doubled` and says so on `lines`. `far` comes from outside. */
#pragma once

#include "core/started.h"
#include "std_msgs/Float64.h"
#include "std_msgs/String.h"

struct counter {
    struct nm *nm;
    Float64 *number;
    bool mute;
    float by;
    double sum;
};
static void count(struct counter *c)
{
    if (c->mute) return;
    c->sum += (double)c->by;
    c->number->data = c->sum;
    nm_show(c->nm, "sum", c->sum);
    nm_put(c->nm, c->number);
}
#define SELF struct counter
static const struct nm_port counter_ports[] = {NM_OUT(number, Float64, "number"), {0}};
static const struct nm_param counter_params[] = {
    NM_PARAM_SWITCH(mute, false, "publishes nothing"),
    NM_PARAM(by, 1, 0, 10, "1", "what is added a step"),
    {0},
};
NM_MODULE(counter, "Counts.", NM_PORTS(counter_ports), NM_PARAMS(counter_params), .step = NM_CALL(count))
#undef SELF

struct doubler {
    struct nm *nm;
    const Float64 *number, *far;
    Float64 *doubled;
    nm_out_queue(String) lines;
};
static void twice(struct doubler *d)
{
    if (!nm_fresh(d->nm, d->number)) return;
    d->doubled->data = 2 * d->number->data;
    nm_text(nm_push(d->nm, &d->lines)->data, "twice %g", d->number->data);
    nm_put(d->nm, d->doubled);
}
#define SELF struct doubler
static const struct nm_port doubler_ports[] = {
    NM_IN(number, Float64, "number"),
    NM_IN(far, Float64, "far"),
    NM_OUT(doubled, Float64, "doubled"),
    NM_OUT_QUEUE(lines, String, "lines", 4),
    {0},
};
NM_MODULE(doubler, "Doubles.", NM_PORTS(doubler_ports), .step = NM_CALL(twice))
#undef SELF

struct reader {
    struct nm *nm;
    const Float64 *doubled;
};
static void read_it(struct reader *r) { (void)r; }
#define SELF struct reader
static const struct nm_port reader_ports[] = {NM_LAST(doubled, Float64, "doubled"), {0}};
NM_MODULE(reader, "Reads.", NM_PORTS(reader_ports), .step = NM_CALL(read_it))
#undef SELF

static const char players_lineup[] = "cycles:\n"
                                     "  fast:\n"
                                     "    period: 10 ms\n"
                                     "    modules: [{module: counter, name: one}, reader]\n"
                                     "  slow:\n"
                                     "    trigger: number\n"
                                     "    timeout: 100000 ms\n"
                                     "    modules: [doubler]\n"
                                     "remote: [far]\n";
