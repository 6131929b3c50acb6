/* Behaviour as options: hierarchical state machines in plain C, after the options of B-Human (2013, section 6.3). An
 * option is a function with states. In each run it is in one state, decides whether to go to another one, and does what
 * that state says, which may be to play other options. No generator and no globals are needed: the state of all options
 * lies in one flat member of the module, so snapshots and replay work as for any module.
 *
 *     struct player {
 *         struct nm *nm;
 *         struct nm_options options;              // the member must have this name
 *         ...
 *     };
 *     #define SELF struct player
 *
 *     OPTION(fetch_ball, double patience)         // a function: void fetch_ball(SELF *f, double patience)
 *     {
 *         STATE(search)                           // the first state is where it begins
 *         {
 *             if (ball_seen(f)) go(approach, "the ball is seen");
 *             play(look_around);                  // another option, one level down
 *         }
 *         STATE(approach)
 *         {
 *             ENTRY { f->tries++; }               // only in the first run in this state
 *             if (state_time() > patience) go(search, "the ball is too far");
 *             if (finished()) go(rest, "the robot is at the ball");
 *             play(walk_to, f->ball_x, f->ball_y);
 *         }
 *         STATE(rest) { done(); }                 // who plays this option sees finished() in the next run
 *     }
 *
 * and in the step of the module:
 *
 *     nm_options_begin(&f->options, f->nm);
 *     play(fetch_ball, 20);
 *     nm_options_end(&f->options, f->nm, f->behavior);    // fills a BehaviorState
 *
 * A state is a label and `go` is a goto, so a state that does not exist is an error of the compiler. `go` leaves the
 * state at once, and the new state runs in the same step. To go to the state in which the option is has no effect, so
 * transitions that hold in all states can stand before the first one. An option that is not played in a run begins
 * again at its first state.
 *
 * A skill is left only where it allows it: while a state calls `hold()`, a `go` of the options above has no effect, and
 * their code continues as if the condition were not true yet. `go_now` does not wait; it is for falls and penalties.
 *
 * All options, states, transitions and calls are also noted in a linker section, for `nutmeg behavior show`. */
#pragma once

#include "core/nm.h"
#include "nutmeg_msgs/BehaviorState.h"

enum { NM_OPTION_SLOTS = 32, NM_OPTION_DEPTH = 12, NM_OPTION_NAME = 32, NM_OPTION_REASON = 64 };

/* What is remembered of one option. */
struct nm_option {
    char name[NM_OPTION_NAME], state[NM_OPTION_NAME];
    char reason[NM_OPTION_REASON]; /* why it came into this state             */
    int64_t since;                 /* ns, when it came into this state        */
    uint64_t run;                  /* number of the last run it was played in */
    uint32_t above;                /* slot of the option that played it       */
    uint32_t changes;              /* of state, in this run                   */
    bool entered;                  /* it came into this state in this run     */
    bool in_state;                 /* in this run one of its states ran       */
    bool holds;                    /* may not be left                         */
    bool done;
};

struct nm_options {
    int64_t now;  /* ns */
    uint64_t run; /* counted from 2, so that a slot with run 0 was never played */
    uint32_t depth;
    uint32_t stack[NM_OPTION_DEPTH]; /* slots of the options that run now, from the root down */
    uint32_t n_played;
    uint8_t played[NM_OPTION_SLOTS], depths[NM_OPTION_SLOTS]; /* slots in the order of this run */
    char reason[NM_OPTION_REASON];                            /* of the last transition of any option */
    struct nm_option slots[NM_OPTION_SLOTS];
};

NM_EXPORT void nm_options_begin(struct nm_options *o, const struct nm *nm);
/* Ends the run. Fills `out`, except its header, with the options of this run. Warns if an option was left while it
 * held. */
NM_EXPORT void nm_options_end(struct nm_options *o, struct nm *nm, BehaviorState *out);

/* The macros below call these. */
NM_EXPORT bool nm_option_begin(struct nm_options *o, const char *name); /* false: no room, it must not be played */
NM_EXPORT void nm_option_end(struct nm_options *o);
NM_EXPORT bool nm_option_state(struct nm_options *o, const char *state); /* is it in this state? */
NM_EXPORT bool nm_option_go(struct nm_options *o, const char *state, const char *reason, bool now);
NM_EXPORT bool nm_option_finished(const struct nm_options *o);

static inline struct nm_option *nm_option_now(struct nm_options *o) { return &o->slots[o->stack[o->depth - 1]]; }

/* ---- what the source says, for the graph ---- */

enum nm_option_word { NM_WORD_OPTION, NM_WORD_STATE, NM_WORD_GO, NM_WORD_PLAY };
struct nm_option_note {
    enum nm_option_word word;
    int order; /* of the notes in a file */
    const char *file, *function;
    const char *what, *reason;
};
#define NM_OPTION_NOTE_(name_, word_, function_, what_, reason_)                                                       \
    static const struct nm_option_note name_ = {word_, __COUNTER__, __FILE__, function_, what_, reason_};              \
    static const struct nm_option_note *const name_##_entry __attribute__((section("nm_options"), used)) = &name_

/* ---- the words of a behaviour ---- */

#define OPTION(name, ...)                                                                                              \
    void name(SELF *f, ##__VA_ARGS__);                                                                                 \
    NM_OPTION_NOTE_(name##_note, NM_WORD_OPTION, #name, #name, "");                                                    \
    void name(SELF *f, ##__VA_ARGS__)
#define STATE(name)                                                                                                    \
    name:                                                                                                              \
    __attribute__((unused));                                                                                           \
    if (__extension__({                                                                                                \
            NM_OPTION_NOTE_(note_, NM_WORD_STATE, __func__, #name, "");                                                \
            nm_option_state(&f->options, #name);                                                                       \
        }))
#define NM_OPTION_GO_(state, reason, now)                                                                              \
    do {                                                                                                               \
        NM_OPTION_NOTE_(note_, NM_WORD_GO, __func__, #state, reason);                                                  \
        if (nm_option_go(&f->options, #state, reason, now)) goto state;                                                \
    } while (0)
#define go(state, reason)     NM_OPTION_GO_(state, reason, false)
#define go_now(state, reason) NM_OPTION_GO_(state, reason, true)
#define play(option, ...)                                                                                              \
    do {                                                                                                               \
        NM_OPTION_NOTE_(note_, NM_WORD_PLAY, __func__, #option, "");                                                   \
        if (!nm_option_begin(&f->options, #option)) break;                                                             \
        option(f, ##__VA_ARGS__);                                                                                      \
        nm_option_end(&f->options);                                                                                    \
    } while (0)
#define ENTRY        if (nm_option_now(&f->options)->entered)
#define hold()       ((void)(nm_option_now(&f->options)->holds = true))
#define done()       ((void)(nm_option_now(&f->options)->done = true))
#define finished()   nm_option_finished(&f->options) /* an option that this state plays said done() in the last run */
#define state_time() nm_seconds(f->options.now - nm_option_now(&f->options)->since)
