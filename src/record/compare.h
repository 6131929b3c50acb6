/* Two logs side by side, in the order of the work: topics of both logs, which message of one belongs to which of the
 * other, the differences of all pairs. */
#pragma once

#include "record/bag.h"
#include "codec/cdr_compare.h"

enum { LOG_A, LOG_B };

enum match { MATCH_AUTO, MATCH_TIME, MATCH_SEQUENCE, MATCH_ORDER };
extern const char *const match_words[]; /* "auto", "time", … */

struct compare_mark { /* one message of a topic */
    uint64_t time;    /* ns, when it was published */
    uint32_t sequence;
    uint32_t partner; /* in the other log, by place; NO_PARTNER without one */
};
enum { NO_PARTNER = UINT32_MAX };

struct compare_topic {
    const char *name;
    bool chosen;
    const char *type[2]; /* NULL: not in this log */
    uint64_t n[2];       /* messages              */
    uint64_t room[2];
    struct compare_mark *marks[2]; /* in the order of the log */
    enum match by;
    uint64_t only[2];       /* messages without a partner */
    uint64_t first_only[2]; /* ns                         */

    struct nm_diff diff;
    uint64_t first_time;  /* ns, of the first difference    */
    double share;         /* of the whole time: where the pair under way stands, 0 to 1 */
    struct nm_err *notes; /* what the types have not in common; NULL: nobody looked yet */
    uint64_t broken;      /* pairs that could not be compared */
    char why[256];        /* the first of them                */
};

struct compare {
    struct bag bags[2];
    struct nm_mcap_query_options time;
    struct nm_arena arena;
    /* wishes */
    uint32_t n_topics, n_leave;
    /* names or patterns, with commas between (0: all but what modules only show), and paths of members */
    const char *const *topics, *const *leave;
    enum match match;
    double tolerance;
    /* Is told the values of each pair of numbers; `user` is the topic. May be NULL. */
    void (*seen)(void *user, struct nm_diff_place *place, double a, double b);

    uint32_t n;
    struct compare_topic *at; /* sorted by name */
    uint32_t ***topic_of;     /* by log, part and channel: place in `at`; UINT32_MAX where not chosen */
    uint64_t first, last;     /* ns, of all that is compared */
    uint64_t start;           /* ns, when the recording began: what times count from */
    uint32_t damaged;         /* chunks that were left out   */
};

/* Finds topics and partners. -1 with a sentence where a wanted topic is in neither log. */
int compare_match(struct compare *c, struct nm_err *err);
/* Compares all pairs. */
void compare_pairs(struct compare *c);
/* Gives back all but the logs. */
void compare_end(struct compare *c);

bool compare_topic_same(const struct compare_topic *topic);
bool compare_same(const struct compare *c);
