/* Where a replay can begin: at the beginning, or where every cycle has a snapshot. */
#include <stdlib.h>
#include <string.h>

#include "record/replay_inside.h"
#include "codec/cdr.h"
#include "edge/log/own.h"
#include "nutmeg_msgs/CycleRecord.h"
#include "nutmeg_msgs/CycleSnapshot.h"

/* A snapshot becomes the state of modules, with everything that this can lead to: it is taken from one's own logs. */
static int check_own(const struct replay *r, const CycleSnapshot *snapshot, struct nm_err *err)
{
    uint8_t key[NM_OWN_KEY];
    if (r->options->trust) return 0;
    if (nm_own_key(key, false) &&
        nm_own_signed(key, snapshot->cycle, snapshot->run, snapshot->state.data, snapshot->state.n))
        return 0;
    return nm_fail(err, "the snapshots of this log come from another user or machine, and a snapshot can make modules "
                        "do anything; add --trust if you trust the person who recorded the log");
}

static void take_snapshot(struct replay *r, const CycleSnapshot *snapshot, int64_t time, struct nm_err *err)
{
    uint32_t cycle = 0;
    while (cycle < r->lineup->n_cycles && strcmp(r->lineup->cycles[cycle].name, snapshot->cycle)) cycle++;
    if (cycle == r->lineup->n_cycles) return;
    struct player_cycle *c = &r->cycles[cycle];
    struct nm_err notes = {0};
    if (check_own(r, snapshot, err)) return;
    if (nm_replay_restore(r->replay, cycle, snapshot->state.data, snapshot->state.n, &notes, err)) return;
    if (notes.n) replay_cause(r, "%.*s", (int)strcspn(notes.text, "\n"), notes.text);
    c->begins = c->ran = snapshot->run;
    c->begins_time = time;
    c->generation = snapshot->parameter_generation;
}

/* A log that begins in the middle (a black box, a file of several) is played from where all cycles have a snapshot:
 * that time; -1 if it begins at the beginning. */
struct beginning {
    int64_t first; /* ns, of the first snapshot; INT64_MAX: none */
    bool late, seen;
};

static int64_t look_for_beginning(struct replay *r, struct beginning *at)
{
    struct nm_mcap_query_options all = {0};
    struct nm_mcap_message message;
    uint32_t part, channel, waiting = r->lineup->n_cycles;
    CycleSnapshot snapshot = {0};
    CycleRecord *record = r->scratch;
    for (uint32_t p = 0; p < r->bag.n; p++)
        for (uint32_t i = 0; i < r->bag.parts[p].contents.n_channels; i++) {
            struct nm_bytes topic = r->bag.parts[p].contents.channels[i].topic;
            r->bag.parts[p].chosen[i] = nm_bytes_are(topic, "/nutmeg/snapshots") || nm_bytes_are(topic, "/nutmeg/runs");
        }
    struct bag_reader *reader = bag_reader_new(&r->bag, &all);
    bool late = false;
    while (waiting && bag_next(reader, &message, &part, &channel)) {
        bool run = r->stream_of[part][channel] == STREAM_RUNS;
        const char *name = run ? record->cycle : snapshot.cycle;
        if (nm_cdr_decode(run ? &CycleRecord_type : &CycleSnapshot_type, run ? (void *)record : &snapshot,
                          message.data.at, message.data.n, NULL, NULL))
            continue;
        for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
            if (strcmp(r->lineup->cycles[c].name, name)) continue;
            if (run && !at[c].seen) late |= record->run > 1;
            at[c].seen |= run;
            waiting -= !run && at[c].first == INT64_MAX;
            if (!run && at[c].first == INT64_MAX) at[c].first = (int64_t)message.log_time - r->offset;
        }
        bool all_seen = true;
        for (uint32_t c = 0; c < r->lineup->n_cycles; c++) all_seen &= at[c].seen;
        if (all_seen && !late) break;
    }
    bag_reader_free(reader);
    int64_t latest = late && !waiting ? 0 : -1;
    for (uint32_t c = 0; c < r->lineup->n_cycles && latest >= 0; c++)
        if (at[c].first > latest) latest = at[c].first;
    return latest;
}

int64_t replay_beginning(struct replay *r)
{
    struct beginning *at = calloc(r->lineup->n_cycles + 1, sizeof *at);
    if (!at) abort();
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) at[c].first = INT64_MAX;
    int64_t beginning = look_for_beginning(r, at);
    free(at);
    return beginning;
}

int64_t replay_snapshots(struct replay *r, int64_t at, struct nm_err *err)
{
    struct nm_mcap_query_options until = {.to = (uint64_t)(at + r->offset) + 1};
    struct nm_mcap_message message;
    uint32_t part, channel;
    int64_t earliest = INT64_MAX;
    CycleSnapshot snapshot = {0};
    struct {
        uint8_t *bytes;
        size_t n;
        int64_t time;
    } *newest = calloc(r->lineup->n_cycles + 1, sizeof *newest);
    if (!newest) abort();
    for (uint32_t p = 0; p < r->bag.n; p++)
        for (uint32_t i = 0; i < r->bag.parts[p].contents.n_channels; i++)
            r->bag.parts[p].chosen[i] = nm_bytes_are(r->bag.parts[p].contents.channels[i].topic, "/nutmeg/snapshots");
    struct bag_reader *reader = bag_reader_new(&r->bag, &until);
    while (bag_next(reader, &message, &part, &channel)) {
        uint32_t c = 0;
        if (nm_cdr_decode(&CycleSnapshot_type, &snapshot, message.data.at, message.data.n, NULL, NULL)) continue;
        while (c < r->lineup->n_cycles && strcmp(r->lineup->cycles[c].name, snapshot.cycle)) c++;
        if (c == r->lineup->n_cycles) continue;
        newest[c].bytes = realloc(newest[c].bytes, message.data.n);
        if (!newest[c].bytes) abort();
        memcpy(newest[c].bytes, message.data.at, newest[c].n = message.data.n);
        newest[c].time = (int64_t)message.log_time - r->offset;
    }
    bag_reader_free(reader);
    bool all = true;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) all &= newest[c].bytes != NULL;
    for (uint32_t c = 0; c < r->lineup->n_cycles; c++) {
        if (all) {
            nm_cdr_decode(&CycleSnapshot_type, &snapshot, newest[c].bytes, newest[c].n, NULL, NULL);
            take_snapshot(r, &snapshot, newest[c].time, err);
            if (newest[c].time < earliest) earliest = newest[c].time;
        }
        free(newest[c].bytes);
    }
    free(newest);
    return all ? earliest : -1;
}
