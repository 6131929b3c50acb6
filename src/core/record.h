/* What is noted of every run so that it can be repeated (core/replay.h): which messages it consumed and made, with
 * which parameters; and, when asked for, everything that a cycle remembers. A run writes its note into a ring of its
 * own, without a lock, memory or system call; one reader (a log) takes the notes out. A full ring loses the note, and
 * counts. */
#ifndef NM_CORE_RECORD_H
#define NM_CORE_RECORD_H

#include "core/player.h"

struct nm_record;

/* Between nm_player_new and the start; one for a player. It belongs to the player. */
struct nm_record *nm_record_new(struct nm_player *player, struct nm_err *err);

/* A topic as one cycle or edge makes it: sequence numbers count the messages of this maker. */
struct nm_record_topic {
    uint32_t topic; /* in the line-up         */
    uint32_t maker; /* index of cycle or edge */
};

/* Cycles, then edges, and what the notes of each refer to. After the start. */
uint32_t nm_record_cycles(const struct nm_record *record);
const char *nm_record_name(const struct nm_record *record, uint32_t cycle);
bool nm_record_is_edge(const struct nm_record *record, uint32_t cycle);
const struct nm_record_topic *nm_record_topics(const struct nm_record *record, uint32_t cycle, uint32_t *n);

struct nm_seqs { /* messages of a topic; of a value consumed or made both are the same */
    uint32_t at; /* place in nm_record_topics */
    uint64_t first, last;
};

struct nm_asked { /* a request or reply */
    uint32_t at;
    uint64_t seq, caller;
    int64_t call;
};

struct nm_run {
    uint32_t cycle;
    uint64_t run;
    int64_t now; /* ns */
    uint64_t generation;
    bool watched;
    uint32_t n_consumed, n_made, n_asked;
    uint32_t unasked; /* requests and replies without room here */
    const struct nm_seqs *consumed, *made;
    const struct nm_asked *asked;
};

/* The next note of a cycle; false where there is none. It lives until the next call for this cycle. */
bool nm_record_next(struct nm_record *record, uint32_t cycle, struct nm_run *run);
/* Notes of a cycle so far. What a run made has been handed over before its note is there. */
uint64_t nm_record_count(const struct nm_record *record, uint32_t cycle);
/* Notes of a cycle that found no room. */
uint64_t nm_record_lost(const struct nm_record *record, uint32_t cycle);

/* Asks a cycle for a snapshot at the end of its next run; false while the last one has not been given back. */
bool nm_record_want(struct nm_record *record, uint32_t cycle);
/* A snapshot that is ready, NULL if none is; nm_record_give takes it back. `run`: that had just ended. */
const void *nm_record_snapshot(struct nm_record *record, uint32_t cycle, size_t *n, struct nm_run *run);
void nm_record_give(struct nm_record *record, uint32_t cycle);

/* Changes of parameters in the order of their generations; false where there is none. The next call uses their memory
 * again. */
struct nm_record_change {
    uint64_t generation;
    uint32_t swap; /* instance that got another build; NM_NONE */
    uint32_t n;
    const struct nm_change *changes;
};
bool nm_record_change(struct nm_record *record, struct nm_record_change *change);
uint64_t nm_record_lost_changes(const struct nm_record *record);

#endif
