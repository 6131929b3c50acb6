#include "edge/air/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

enum { GROUPS = 4 };

struct waiting { /* a datagram that waits for a radio */
    int64_t due;
    struct nm_air_place from;
    uint64_t number; /* of the sender's datagrams; a copy follows its original */
    uint32_t copy;
    uint16_t size;
    uint8_t bytes[NM_AIR_DATAGRAM];
};

struct seat {
    struct nm_radio radio;
    struct nm_air *air;
    bool open;
    struct nm_air_place place;
    uint32_t n_groups, groups[GROUPS];
    uint64_t sent;
    uint32_t n_waiting;
    struct waiting *waiting; /* NM_AIR_WAITING, in no order */
};

struct nm_air {
    struct nm_air_options options;
    struct nm_air_stats stats;
    int64_t now;
    struct seat seats[NM_AIR_RADIOS];
};

static struct seat *seat_of(struct nm_radio *radio) { return (struct seat *)(void *)radio; }

/* ---- chance ---- */

static uint64_t number_of(struct nm_air_place place) { return (uint64_t)place.host << 16 | place.port; }

/* Random numbers for one datagram between two places and for one use: its first copy, its second copy, or whether there
 * is a second copy. */
enum { FIRST, SECOND, DOUBLED };
struct chance {
    uint64_t state;
};

static struct chance chance_of(const struct nm_air *air, const struct seat *from, const struct seat *to, uint32_t use)
{
    uint64_t state = nm_spread(air->options.seed);
    state = nm_spread(state ^ number_of(from->place));
    state = nm_spread(state ^ number_of(to->place));
    return (struct chance){nm_spread(state ^ (from->sent << 2 | use))};
}

static double draw(struct chance *chance)
{
    chance->state = nm_spread(chance->state);
    return (double)(chance->state >> 11) * 0x1p-53;
}

/* ---- on the way ---- */

static void travel(struct nm_air *air, struct seat *from, struct seat *to, uint32_t copy, const void *bytes,
                   size_t size)
{
    const struct nm_air_options *o = &air->options;
    struct chance chance = chance_of(air, from, to, copy);
    double lost = draw(&chance), late = draw(&chance), held = draw(&chance), hold = draw(&chance);
    if (lost < o->loss) {
        air->stats.lost++;
        return;
    }
    if (to->n_waiting == NM_AIR_WAITING) {
        air->stats.crowded++;
        return;
    }
    struct waiting *waiting = &to->waiting[to->n_waiting++];
    waiting->due = air->now + o->delay + (int64_t)(late * (double)o->jitter);
    if (held < o->reorder) waiting->due += (int64_t)(hold * (double)o->hold);
    waiting->from = from->place;
    waiting->number = from->sent;
    waiting->copy = copy;
    waiting->size = (uint16_t)size;
    if (size) memcpy(waiting->bytes, bytes, size);
}

static bool hears(const struct seat *seat, struct nm_air_place to)
{
    if (!seat->open || seat->place.port != to.port) return false;
    for (uint32_t i = 0; i < seat->n_groups; i++)
        if (seat->groups[i] == to.host) return true;
    return to.host == NM_AIR_ALL || to.host == seat->place.host;
}

static int send_to(struct nm_radio *radio, struct nm_air_place to, const void *bytes, size_t size, struct nm_err *err)
{
    struct seat *from = seat_of(radio);
    struct nm_air *air = from->air;
    if (size > NM_AIR_DATAGRAM) return nm_fail(err, "a datagram has at most %d bytes, not %zu", NM_AIR_DATAGRAM, size);
    from->sent++;
    air->stats.sent++;
    for (uint32_t i = 0; i < NM_AIR_RADIOS; i++) {
        struct seat *seat = &air->seats[i];
        if (seat == from || !hears(seat, to)) continue;
        travel(air, from, seat, FIRST, bytes, size);
        struct chance chance = chance_of(air, from, seat, DOUBLED);
        if (draw(&chance) >= air->options.duplicate) continue;
        air->stats.doubled++;
        travel(air, from, seat, SECOND, bytes, size);
    }
    return 0;
}

static bool before(const struct waiting *a, const struct waiting *b)
{
    if (a->due != b->due) return a->due < b->due;
    if (number_of(a->from) != number_of(b->from)) return number_of(a->from) < number_of(b->from);
    return a->number != b->number ? a->number < b->number : a->copy < b->copy;
}

static int64_t receive(struct nm_radio *radio, struct nm_air_place *from, void *bytes, size_t room)
{
    struct seat *seat = seat_of(radio);
    for (;;) {
        struct waiting *next = NULL;
        for (uint32_t i = 0; i < seat->n_waiting; i++) {
            struct waiting *waiting = &seat->waiting[i];
            if (waiting->due <= seat->air->now && (!next || before(waiting, next))) next = waiting;
        }
        if (!next) return -1;
        uint16_t size = next->size;
        *from = next->from;
        if (size && size <= room) memcpy(bytes, next->bytes, size);
        *next = seat->waiting[--seat->n_waiting];
        if (size > room) continue;
        seat->air->stats.heard++;
        return size;
    }
}

static int join(struct nm_radio *radio, uint32_t group, struct nm_err *err)
{
    struct seat *seat = seat_of(radio);
    if (!nm_air_is_group(group)) return nm_fail(err, "0x%08x is not a multicast group", group);
    for (uint32_t i = 0; i < seat->n_groups; i++)
        if (seat->groups[i] == group) return 0;
    if (seat->n_groups == GROUPS) return nm_fail(err, "a radio can be in at most %d groups", GROUPS);
    seat->groups[seat->n_groups++] = group;
    return 0;
}

static void leave(struct nm_radio *radio)
{
    struct seat *seat = seat_of(radio);
    free(seat->waiting);
    *seat = (struct seat){.air = seat->air};
}

/* ---- life ---- */

static const struct nm_radio_verbs verbs = {join, send_to, receive, leave};

static bool is_share(double x) { return x >= 0 && x <= 1; }

struct nm_air *nm_air_new(const struct nm_air_options *options, struct nm_err *err)
{
    const struct nm_air_options *o = options;
    if (!is_share(o->loss) || !is_share(o->duplicate) || !is_share(o->reorder) || o->delay < 0 || o->jitter < 0 ||
        o->hold < 0) {
        nm_fail(err, "the air: loss, duplicate and reorder must be from 0 to 1, and times must not be negative");
        return NULL;
    }
    struct nm_air *air = nm_calloc(1, sizeof *air);
    air->options = *options;
    return air;
}

void nm_air_free(struct nm_air *air)
{
    if (!air) return;
    for (uint32_t i = 0; i < NM_AIR_RADIOS; i++) free(air->seats[i].waiting);
    free(air);
}

struct nm_radio *nm_air_radio(struct nm_air *air, struct nm_air_place place, struct nm_err *err)
{
    struct seat *seat = NULL;
    for (uint32_t i = NM_AIR_RADIOS; i-- > 0;) {
        if (!air->seats[i].open) {
            seat = &air->seats[i];
        } else if (number_of(air->seats[i].place) == number_of(place)) {
            nm_fail(err, "there is already a radio at 0x%08x, port %u", place.host, place.port);
            return NULL;
        }
    }
    if (!seat) {
        nm_fail(err, "there can be at most %d radios", NM_AIR_RADIOS);
        return NULL;
    }
    *seat = (struct seat){.radio.verbs = &verbs, .air = air, .open = true, .place = place};
    seat->waiting = nm_calloc(NM_AIR_WAITING, sizeof *seat->waiting);
    return &seat->radio;
}

void nm_air_advance(struct nm_air *air, int64_t now)
{
    if (now > air->now) air->now = now;
}

void nm_air_stats(const struct nm_air *air, struct nm_air_stats *stats) { *stats = air->stats; }
