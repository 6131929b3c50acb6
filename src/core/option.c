/* The slots of options: who is in which state, since when and why; who may be left. */
#include "core/option.h"

#include <string.h>

enum { NOBODY = UINT32_MAX, CHANGES = 8 }; /* more changes of state in one run are a circle */

void nm_options_begin(struct nm_options *o, const struct nm *nm)
{
    o->run = o->run ? o->run + 1 : 2;
    o->now = nm->now;
    o->depth = o->n_played = 0;
}

/* The slot of this name, or the one that was not played for the longest time. */
static uint32_t slot_of(const struct nm_options *o, const char *name)
{
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < NM_OPTION_SLOTS; i++) {
        if (!strcmp(o->slots[i].name, name)) return i;
        if (o->slots[i].run < o->slots[oldest].run) oldest = i;
    }
    return oldest;
}

bool nm_option_begin(struct nm_options *o, const char *name)
{
    uint32_t i = slot_of(o, name);
    struct nm_option *slot = &o->slots[i];
    /* not deeper than the stack, not twice in one run, not in a slot that is in use */
    if (o->depth == NM_OPTION_DEPTH || slot->run == o->run) return false;
    if (strcmp(slot->name, name) || slot->run + 1 != o->run) {
        *slot = (struct nm_option){.since = o->now};
        nm_text(slot->name, "%s", name);
    }
    slot->run = o->run;
    slot->above = o->depth ? o->stack[o->depth - 1] : NOBODY;
    slot->changes = 0;
    slot->entered = slot->in_state = slot->holds = slot->done = false;
    o->depths[o->n_played] = (uint8_t)o->depth;
    o->played[o->n_played++] = (uint8_t)i;
    o->stack[o->depth++] = i;
    return true;
}

void nm_option_end(struct nm_options *o)
{
    struct nm_option *slot = nm_option_now(o);
    if (!slot->in_state) slot->state[0] = '\0'; /* a state that the source no longer has */
    o->depth--;
}

static void enter(struct nm_options *o, struct nm_option *slot, const char *state, const char *reason)
{
    nm_text(slot->state, "%s", state);
    nm_text(slot->reason, "%s", reason);
    slot->since = o->now;
    slot->entered = true;
    slot->holds = slot->done = false;
}

bool nm_option_state(struct nm_options *o, const char *state)
{
    struct nm_option *slot = nm_option_now(o);
    if (!slot->state[0]) enter(o, slot, state, "");
    if (strncmp(slot->state, state, sizeof slot->state - 1)) return false;
    slot->in_state = true;
    return true;
}

/* Does an option below `top` hold, as it was played last? */
static bool held(const struct nm_options *o, uint32_t top)
{
    for (uint32_t i = 0; i < NM_OPTION_SLOTS; i++) {
        if (!o->slots[i].holds || o->slots[i].run + 1 < o->run) continue;
        uint32_t above = o->slots[i].above;
        for (int steps = 0; above != NOBODY && above != top && steps < NM_OPTION_DEPTH; steps++)
            above = o->slots[above].above;
        if (above == top) return true;
    }
    return false;
}

/* Options that are left do not hold any more. */
static void let_go(struct nm_options *o, uint32_t top)
{
    for (uint32_t i = 0; i < NM_OPTION_SLOTS; i++) {
        uint32_t above = o->slots[i].above;
        for (int steps = 0; above != NOBODY && above != top && steps < NM_OPTION_DEPTH; steps++)
            above = o->slots[above].above;
        if (above == top) o->slots[i].holds = false;
    }
}

bool nm_option_go(struct nm_options *o, const char *state, const char *reason, bool now)
{
    struct nm_option *slot = nm_option_now(o);
    uint32_t top = o->stack[o->depth - 1];
    if (!strncmp(slot->state, state, sizeof slot->state - 1) || slot->changes == CHANGES) return false;
    if (!now && held(o, top)) return false;
    let_go(o, top);
    slot->changes++;
    enter(o, slot, state, reason);
    nm_text(o->reason, "%s: %s, %s", slot->name, state, reason);
    return true;
}

bool nm_option_finished(const struct nm_options *o)
{
    uint32_t top = o->stack[o->depth - 1];
    if (o->slots[top].entered) return false; /* what ended belongs to the state before */
    for (uint32_t i = 0; i < NM_OPTION_SLOTS; i++)
        if (o->slots[i].done && o->slots[i].above == top && o->slots[i].run + 1 == o->run) return true;
    return false;
}

void nm_options_end(struct nm_options *o, struct nm *nm, BehaviorState *out)
{
    out->interruptible = true;
    for (uint32_t i = 0; i < o->n_played; i++) {
        const struct nm_option *slot = &o->slots[o->played[i]];
        if (slot->holds) out->interruptible = false;
        if (i >= sizeof out->options.at / sizeof out->options.at[0]) continue;
        nm_text(out->options.at[i], "%s", slot->name);
        nm_text(out->states.at[i], "%s", slot->state);
        nm_text(out->reasons.at[i], "%s", slot->reason);
        out->durations.at[i] = (float)nm_seconds(o->now - slot->since);
        out->depths.at[i] = o->depths[i];
        out->options.n = out->states.n = out->reasons.n = out->durations.n = out->depths.n = i + 1;
        nm_text(out->skill, "%s", slot->name);
    }
    nm_text(out->reason, "%s", o->reason);
    for (uint32_t i = 0; i < NM_OPTION_SLOTS; i++) {
        struct nm_option *slot = &o->slots[i];
        if (!slot->holds || slot->run == o->run) continue;
        nm_log(nm, NM_WARN, "option %s was left in state %s, where it holds", slot->name, slot->state);
        slot->holds = false;
    }
}
