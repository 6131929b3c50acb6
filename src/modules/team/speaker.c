/* Decides what is said aloud, and when (Marc Bestmann's thesis, 2017, section 5.1.4): three queues by priority, one
 * sentence at a time. What is urgent interrupts what is not; what is old or was just said is left out. */
#include <string.h>

#include "core/nm.h"
#include "humanoid_league_msgs/Speak.h"
#include "nutmeg_msgs/Utterance.h"
#include "std_msgs/Bool.h"

enum { PRIORITIES = 3, WAITING = 8 };

struct line {
    int64_t asked; /* ns */
    char text[256];
};

struct speaker {
    struct nm *nm;
    /* in */
    nm_queue(Speak) asked;
    const Bool *speaking;
    /* out */
    nm_out_queue(Utterance) say;
    /* params */
    double volume;
    double repeat;               /* s */
    double patience[PRIORITIES]; /* s */
    /* state */
    uint32_t n[PRIORITIES];
    struct line waiting[PRIORITIES][WAITING]; /* the oldest first */
    int64_t said;                             /* ns, last time; 0: never */
    uint32_t priority;                        /* of what was said last   */
    char last[256];
};

#define BEGINS 0.3 /* s, from an utterance until the loudspeaker says that it speaks */

static double ago(const struct speaker *f, int64_t then) { return nm_seconds(f->nm->now - then); }

static void drop(struct speaker *f, uint32_t priority)
{
    struct line *lines = f->waiting[priority];
    f->n[priority]--;
    memmove(&lines[0], &lines[1], f->n[priority] * sizeof *lines);
}

static bool is_known(const struct speaker *f, const char *text)
{
    if (f->said && ago(f, f->said) < f->repeat && !strcmp(f->last, text)) return true;
    for (uint32_t p = 0; p < PRIORITIES; p++)
        for (uint32_t i = 0; i < f->n[p]; i++)
            if (!strcmp(f->waiting[p][i].text, text)) return true;
    return false;
}

static void take(struct speaker *f, const Speak *speak)
{
    uint32_t p = speak->priority < PRIORITIES ? speak->priority : PRIORITIES - 1;
    if (!*speak->text || is_known(f, speak->text)) return;
    if (f->n[p] == WAITING) drop(f, p);
    struct line *line = &f->waiting[p][f->n[p]++];
    line->asked = f->nm->now;
    nm_text(line->text, "%s", speak->text);
}

static void say(struct speaker *f, uint32_t priority, bool interrupts)
{
    const struct line *line = &f->waiting[priority][0];
    if (f->volume > 0) {
        Utterance *out = nm_push(f->nm, &f->say);
        nm_text(out->text, "%s", line->text);
        out->volume = (float)f->volume;
        out->interrupts = interrupts;
    }
    nm_text(f->last, "%s", line->text);
    f->said = f->nm->now;
    f->priority = priority;
    drop(f, priority);
}

static void step(struct speaker *f)
{
    for (uint32_t i = 0; i < f->asked.n; i++) take(f, f->asked.at[i]);
    bool busy = f->speaking->data || (f->said && ago(f, f->said) < BEGINS);
    for (uint32_t p = PRIORITIES; p-- > 0;) {
        while (f->n[p] && ago(f, f->waiting[p][0].asked) > f->patience[p]) drop(f, p);
        bool urgent = p == Speak_HIGH_PRIORITY && f->priority < p;
        if (!f->n[p] || (busy && !urgent)) continue;
        say(f, p, busy);
        return;
    }
}

#define SELF struct speaker
static const struct nm_port ports[] = {
    NM_QUEUE(asked, Speak, "speak", 16),
    NM_IN(speaking, Bool, "speaking", .optional = true),
    NM_OUT_QUEUE(say, Utterance, "utterance", 4),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(volume, 0.7, 0, 1, "1", "how loud the robot speaks; 0: it is silent"),
    NM_PARAM(repeat, 3, 0, 60, "s", "the same words are not said again within this time"),
    NM_PARAM_LIST(patience, "5 15 60", 0, 600, "s",
                  "words of low, middle and high priority that waited longer are not said"),
    {0},
};
NM_MODULE(speaker, "Decides what is said aloud, by three priorities.", NM_PORTS(ports), NM_PARAMS(params),
          .step = NM_CALL(step))
