#include "core/run_record.h"

#include "core/internal.h"

enum {
    NOTES = 1024,   /* runs that find room between two looks: a second     */
    ASKED = 32,     /* requests and replies of one run                     */
    CHANGES = 64,   /* sets of changed parameters between two looks        */
    WHOLE_SETS = 4, /* of so many all parameters may have changed          */
    SNAP_IDLE = 0,
    SNAP_WANTED,
    SNAP_READY,
};

struct note {
    struct nm_run run;
    struct nm_asked asked[ASKED];
    struct nm_seqs seqs[]; /* consumed, then made */
};

struct notes {
    uint32_t n_topics, n_read; /* those it reads come first */
    struct nm_record_topic *topics;
    size_t stride;
    unsigned char *slots;
    uint8_t *snapshot;
    size_t snapshot_room, snapshot_n;
    struct nm_run snapshot_run;
    uint64_t shown; /* reader: the note that it looks at is behind this one */
    _Alignas(64) _Atomic uint64_t written;
    _Atomic uint64_t lost;
    _Atomic uint32_t snap;
    _Alignas(64) _Atomic uint64_t taken;
};

struct nm_record {
    struct nm_player *player;
    /* under the player's lock of changes, which no cycle takes */
    struct nm_record_change changes[CHANGES]; /* without the changes, which lie in a ring */
    uint64_t n_changes, n_taken, lost_changes;
    struct nm_change *ring, *taken;
    uint64_t ring_in, ring_out, ring_room;
};

struct nm_record *nm_record_new(struct nm_player *player, struct nm_err *err)
{
    if (player->linked || player->record) {
        nm_fail(err, player->linked ? "%s runs already: notes begin with the first run" : "%s is recorded already",
                player->name);
        return NULL;
    }
    player->record = nm_take(&player->arena, sizeof *player->record);
    player->record->player = player;
    player->record->ring_room = WHOLE_SETS * player->most_changes;
    player->record->ring = nm_take_n(&player->arena, struct nm_change, player->record->ring_room);
    player->record->taken = nm_take_n(&player->arena, struct nm_change, player->most_changes);
    return player->record;
}

/* ---- what the notes of a cycle refer to ---- */

static void add_topic(struct notes *notes, uint32_t topic, const struct nm_cycle *maker)
{
    notes->topics[notes->n_topics++] = (struct nm_record_topic){topic, maker->index};
}

/* In the order in which record_note walks. Of edges only what they make counts. */
static void list_topics(struct nm_player *player, struct nm_cycle *cycle, struct notes *notes)
{
    uint32_t most = cycle->n_values + cycle->n_rings;
    for (uint32_t b = 0; b < cycle->n_in; b++) most += cycle->in[b]->n_values + cycle->in[b]->n_lanes;
    notes->topics = nm_take_n(&player->arena, struct nm_record_topic, most + 1);
    for (uint32_t b = 0; cycle->plan && b < cycle->n_in; b++) {
        const struct mailbox *box = cycle->in[b];
        for (uint32_t i = 0; i < box->n_values; i++) add_topic(notes, box->values[i]->topic, box->from);
        for (uint32_t i = 0; i < box->n_lanes; i++) add_topic(notes, box->lanes[i].topic, box->from);
    }
    notes->n_read = notes->n_topics;
    for (uint32_t i = 0; i < cycle->n_values; i++) add_topic(notes, cycle->values[i].topic, cycle);
    for (uint32_t i = 0; i < cycle->n_rings; i++) add_topic(notes, cycle->rings[i].topic, cycle);
}

void record_link(struct nm_player *player)
{
    if (!player->record) return;
    for (uint32_t c = 0; c < player->n_all; c++) {
        struct nm_cycle *cycle = player->cycles[c];
        if (!cycle->plan && !cycle->n_values && !cycle->n_rings) continue; /* only looks */
        struct notes *notes = nm_take(&player->arena, sizeof *notes);
        list_topics(player, cycle, notes);
        notes->stride = (sizeof(struct note) + notes->n_topics * sizeof(struct nm_seqs) + 63) / 64 * 64;
        notes->slots = nm_take(&player->arena, notes->stride * NOTES);
        if (cycle->plan) {
            notes->snapshot_room = snapshot_most(cycle);
            notes->snapshot = nm_take(&player->arena, notes->snapshot_room);
        }
        cycle->notes = notes;
    }
}

/* ---- in the cycle ---- */

static struct note *note_at(const struct notes *notes, uint64_t i)
{
    return (struct note *)(void *)(notes->slots + notes->stride * (i % NOTES));
}

static uint32_t note_consumed(const struct nm_cycle *cycle, struct nm_seqs *to)
{
    uint32_t n = 0, at = 0;
    for (uint32_t b = 0; b < cycle->n_in; b++) {
        const struct mailbox *box = cycle->in[b];
        for (uint32_t i = 0; i < box->n_values; i++, at++)
            if (box->seen_run[i] == cycle->run && box->sources[i]->box == box)
                to[n++] = (struct nm_seqs){at, box->seen[i], box->seen[i]};
        for (uint32_t i = 0; i < box->n_lanes; i++, at++) {
            const struct lane *lane = &box->lanes[i];
            uint64_t freed = atomic_load_explicit(&lane->freed, memory_order_relaxed);
            if (lane->read != freed)
                to[n++] = (struct nm_seqs){at, lane_slot(lane, freed + 1)->seq, lane_slot(lane, lane->read)->seq};
        }
    }
    return n;
}

static void note_asked(struct note *note, uint32_t at, const struct nm_ring *ring)
{
    for (uint64_t k = ring->noted + 1; k <= ring->total; k++) {
        const struct nm_slot *slot = ring_slot(ring, k);
        if (note->run.n_asked < ASKED)
            note->asked[note->run.n_asked++] = (struct nm_asked){at, k, slot->caller, slot->call};
    }
}

static uint32_t note_made(struct nm_cycle *cycle, struct note *note, struct nm_seqs *to)
{
    const struct nm_topic *topics = cycle->player->lineup->topics;
    uint32_t n = 0, at = cycle->notes->n_read;
    for (uint32_t i = 0; i < cycle->n_values; i++, at++) {
        struct value *value = &cycle->values[i];
        if (value->seq != value->noted) to[n++] = (struct nm_seqs){at, value->seq, value->seq};
        value->noted = value->seq;
    }
    for (uint32_t i = 0; i < cycle->n_rings; i++, at++) {
        struct nm_ring *ring = &cycle->rings[i];
        if (ring->total == ring->noted) continue;
        to[n++] = (struct nm_seqs){at, ring->noted + 1, ring->total};
        if (topics[ring->topic].role != NM_ROLE_TOPIC) note_asked(note, at, ring);
        ring->noted = ring->total;
    }
    return n;
}

static bool made_anything(const struct nm_cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->n_values; i++)
        if (cycle->values[i].seq != cycle->values[i].noted) return true;
    for (uint32_t i = 0; i < cycle->n_rings; i++)
        if (cycle->rings[i].total != cycle->rings[i].noted) return true;
    return false;
}

static void skip_note(struct nm_cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->n_values; i++) cycle->values[i].noted = cycle->values[i].seq;
    for (uint32_t i = 0; i < cycle->n_rings; i++) cycle->rings[i].noted = cycle->rings[i].total;
    atomic_fetch_add_explicit(&cycle->notes->lost, 1, memory_order_relaxed);
}

static void take_snapshot(struct nm_cycle *cycle, struct notes *notes, const struct nm_run *run)
{
    if (atomic_load_explicit(&notes->snap, memory_order_acquire) != SNAP_WANTED) return;
    notes->snapshot_run = *run;
    notes->snapshot_n = snapshot_write(cycle, notes->snapshot, notes->snapshot_room);
    atomic_store_explicit(&notes->snap, SNAP_READY, memory_order_release);
}

/* At the end of a run, when everybody else has got what they wait for. */
void record_note(struct nm_cycle *cycle)
{
    struct notes *notes = cycle->notes;
    if (!notes || (!cycle->plan && !made_anything(cycle))) return;
    uint64_t i = atomic_load_explicit(&notes->written, memory_order_relaxed);
    if (i - atomic_load_explicit(&notes->taken, memory_order_acquire) >= NOTES) {
        skip_note(cycle);
        return;
    }
    struct note *note = note_at(notes, i);
    note->run = (struct nm_run){.cycle = cycle->index,
                                .run = cycle->run,
                                .now = cycle->now,
                                .generation = atomic_load_explicit(&cycle->generation, memory_order_relaxed),
                                .watched = cycle->watched};
    note->run.n_consumed = cycle->plan ? note_consumed(cycle, note->seqs) : 0;
    note->run.n_made = note_made(cycle, note, note->seqs + note->run.n_consumed);
    if (cycle->plan) take_snapshot(cycle, notes, &note->run);
    atomic_store_explicit(&notes->written, i + 1, memory_order_release);
}

/* ---- the reader ---- */

uint32_t nm_record_cycles(const struct nm_record *record) { return record->player->n_all; }
const char *nm_record_name(const struct nm_record *record, uint32_t cycle)
{
    return record->player->cycles[cycle]->name;
}

const struct nm_record_topic *nm_record_topics(const struct nm_record *record, uint32_t cycle, uint32_t *n)
{
    const struct notes *notes = record->player->cycles[cycle]->notes;
    *n = notes ? notes->n_topics : 0;
    return notes ? notes->topics : NULL;
}

bool nm_record_next(struct nm_record *record, uint32_t cycle, struct nm_run *run)
{
    struct notes *notes = record->player->cycles[cycle]->notes;
    if (!notes) return false;
    atomic_store_explicit(&notes->taken, notes->shown, memory_order_release);
    if (notes->shown == atomic_load_explicit(&notes->written, memory_order_acquire)) return false;
    const struct note *note = note_at(notes, notes->shown++);
    *run = note->run;
    run->consumed = note->seqs;
    run->made = note->seqs + run->n_consumed;
    run->asked = note->asked;
    return true;
}

uint64_t nm_record_count(const struct nm_record *record, uint32_t cycle)
{
    const struct notes *notes = record->player->cycles[cycle]->notes;
    return notes ? atomic_load_explicit(&notes->written, memory_order_acquire) : 0;
}

uint64_t nm_record_lost(const struct nm_record *record, uint32_t cycle)
{
    const struct notes *notes = record->player->cycles[cycle]->notes;
    return notes ? atomic_load_explicit(&notes->lost, memory_order_relaxed) : 0;
}

bool nm_record_want(struct nm_record *record, uint32_t cycle)
{
    struct notes *notes = record->player->cycles[cycle]->notes;
    uint32_t idle = SNAP_IDLE;
    return notes && notes->snapshot && atomic_compare_exchange_strong(&notes->snap, &idle, SNAP_WANTED);
}

const void *nm_record_snapshot(struct nm_record *record, uint32_t cycle, size_t *n, struct nm_run *run)
{
    struct notes *notes = record->player->cycles[cycle]->notes;
    if (!notes || atomic_load_explicit(&notes->snap, memory_order_acquire) != SNAP_READY) return NULL;
    *n = notes->snapshot_n;
    *run = notes->snapshot_run;
    return notes->snapshot;
}

void nm_record_give(struct nm_record *record, uint32_t cycle)
{
    atomic_store_explicit(&record->player->cycles[cycle]->notes->snap, SNAP_IDLE, memory_order_release);
}

/* ---- parameters ---- */

/* The lock of changes is held. */
void record_change(struct nm_player *player, uint64_t generation, const struct change_set *set)
{
    struct nm_record *record = player->record;
    if (!record) return;
    if (record->n_changes - record->n_taken == CHANGES ||
        record->ring_in - record->ring_out + set->n > record->ring_room) {
        record->lost_changes++;
        return;
    }
    struct nm_record_change *change = &record->changes[record->n_changes++ % CHANGES];
    change->generation = generation;
    change->swap = set->swap;
    change->n = set->n;
    for (uint32_t i = 0; i < set->n; i++) record->ring[record->ring_in++ % record->ring_room] = set->changes[i];
}

bool nm_record_change(struct nm_record *record, struct nm_record_change *change)
{
    pthread_mutex_lock(&record->player->change_lock);
    bool any = record->n_taken < record->n_changes;
    if (any) *change = record->changes[record->n_taken++ % CHANGES];
    for (uint32_t i = 0; any && i < change->n; i++)
        record->taken[i] = record->ring[record->ring_out++ % record->ring_room];
    if (any) change->changes = record->taken;
    pthread_mutex_unlock(&record->player->change_lock);
    return any;
}

uint64_t nm_record_lost_changes(const struct nm_record *record)
{
    pthread_mutex_lock(&record->player->change_lock);
    uint64_t lost = record->lost_changes;
    pthread_mutex_unlock(&record->player->change_lock);
    return lost;
}
