/* The record of runs, with which core/run_replay.h can repeat them. Every run writes a note that says which messages it
 * consumed and made, and with which parameters. On request a cycle also writes a snapshot of everything that it
 * remembers. Each cycle writes its notes into its own ring, without a lock, memory or a system call, and one reader (a
 * log) takes them out. If the ring is full, the note is lost and counted. */
#pragma once

#include "core/player.h"

struct nm_record;

/* Call it between nm_player_new and the start, once for a player. The player owns it. */
struct nm_record *nm_record_new(struct nm_player *player, struct nm_err *err);

/* A topic as one cycle or edge makes it: sequence numbers count the messages of this maker. */
struct nm_record_topic {
    uint32_t topic; /* in the line-up         */
    uint32_t maker; /* index of cycle or edge */
};

/* The cycles, then the edges, and the topics to which the notes of each refer. Call these after the start. */
uint32_t nm_record_cycles(const struct nm_record *record);
const char *nm_record_name(const struct nm_record *record, uint32_t cycle);
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
    const struct nm_seqs *consumed, *made;
    const struct nm_asked *asked;
};

/* The next note of a cycle; false if there is none. It is valid until the next call for this cycle. */
bool nm_record_next(struct nm_record *record, uint32_t cycle, struct nm_run *run);
/* Number of notes of a cycle so far. The messages of a run are published before its note is written. */
uint64_t nm_record_count(const struct nm_record *record, uint32_t cycle);
/* Number of notes of a cycle that were lost because the ring was full. */
uint64_t nm_record_lost(const struct nm_record *record, uint32_t cycle);

/* Asks a cycle for a snapshot at the end of its next run. False until the last snapshot has been given back. */
bool nm_record_want(struct nm_record *record, uint32_t cycle);
/* A snapshot that is ready, or NULL; `run` is the run that had just ended. nm_record_give gives it back. */
const void *nm_record_snapshot(struct nm_record *record, uint32_t cycle, size_t *n, struct nm_run *run);
void nm_record_give(struct nm_record *record, uint32_t cycle);

/* The next change of parameters, in the order of their generations; false if there is none. It is valid until the next
 * call. */
struct nm_record_change {
    uint64_t generation;
    uint32_t swap; /* instance that got another build; NM_NONE */
    uint32_t n;
    const struct nm_change *changes;
};
bool nm_record_change(struct nm_record *record, struct nm_record_change *change);
uint64_t nm_record_lost_changes(const struct nm_record *record);
