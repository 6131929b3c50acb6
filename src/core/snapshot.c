#include "core/snapshot.h"

#include <string.h>

#include "codec/cdr.h"

enum { MAGIC = 0x31534d4e, TEXT_MOST = 256 };         /* "NMS1" */
static const uint64_t COUNT_MOST = (uint64_t)1 << 62; /* of anything that is counted, and of ns */

/* ---- writing ---- */

struct out {
    uint8_t *at;
    size_t n, room;
    bool full;
};

static void put(struct out *out, const void *bytes, size_t n)
{
    if (out->room - out->n < n) {
        out->full = true;
        return;
    }
    memcpy(out->at + out->n, bytes, n);
    out->n += n;
}

static void put_u32(struct out *out, uint32_t x) { put(out, &x, sizeof x); }
static void put_u64(struct out *out, uint64_t x) { put(out, &x, sizeof x); }
static void put_i64(struct out *out, int64_t x) { put(out, &x, sizeof x); }
static void put_text(struct out *out, const char *text)
{
    put_u32(out, (uint32_t)strlen(text));
    put(out, text, strlen(text));
}

/* The encoder counts alignment from the message's own start, so the bytes may lie anywhere. */
static void put_message(struct out *out, const struct nm_type *type, const void *message)
{
    int64_t n = 0;
    if (!type->blobs && out->room - out->n > sizeof(uint32_t))
        n = nm_cdr_encode(type, message, out->at + out->n + sizeof(uint32_t), out->room - out->n - sizeof(uint32_t));
    if (n < 0) {
        out->full |= n == NM_CDR_ROOM;
        n = 0;
    }
    put_u32(out, (uint32_t)n);
    out->n += (size_t)n;
}

/* Ports and the context are pointers that are bound again. */
static void mark_ports(struct nm_instance *instance)
{
    instance->port_words[0] = 1;
    for (uint32_t i = 0; i < instance->n_ports; i++) {
        const struct nm_port *row = instance->ports[i].row;
        if (!instance->ports[i].member) continue;
        bool queue = row->kind == NM_PORT_QUEUE || row->kind == NM_PORT_LAST_QUEUE;
        memset(instance->port_words + row->offset / 8, 1, (queue ? sizeof(nm_queue(void)) : sizeof(void *)) / 8);
    }
}

void snapshot_births(struct nm_player *player)
{
    for (uint32_t i = 0; i < player->lineup->n_instances; i++) {
        struct nm_instance *instance = &player->instances[i];
        instance->birth = nm_take(&player->arena, instance->module->size);
        memcpy(instance->birth, instance->self, instance->module->size);
        instance->port_words = nm_take(&player->arena, instance->module->size / 8 + 1);
        mark_ports(instance);
    }
}

static const char *topic_name(const struct nm_cycle *cycle, uint32_t topic)
{
    return cycle->player->lineup->topics[topic].name;
}

enum word { WORD_BORN, WORD_CHANGED, WORD_INSIDE };

/* What became of a word of a struct since init. */
static enum word word_of(const struct nm_instance *instance, uint32_t i)
{
    uint64_t self = (uint64_t)(uintptr_t)instance->self, now, born;
    memcpy(&now, (const uint8_t *)instance->self + 8 * (size_t)i, sizeof now);
    memcpy(&born, (const uint8_t *)instance->birth + 8 * (size_t)i, sizeof born);
    if (instance->port_words[i] || now == born) return WORD_BORN;
    return now >= self && now < self + instance->module->size ? WORD_INSIDE : WORD_CHANGED;
}

static void put_struct(struct out *out, const struct nm_instance *instance)
{
    uint32_t words = instance->birth ? instance->module->size / 8 : 0, n = 0, inside = 0;
    size_t mark = out->n;
    put_u32(out, 0);
    for (uint32_t i = 0; i < words;) {
        enum word word = word_of(instance, i);
        inside += word == WORD_INSIDE;
        if (word != WORD_CHANGED) {
            i++;
            continue;
        }
        uint32_t first = i;
        while (i < words && word_of(instance, i) == WORD_CHANGED) i++;
        put_u32(out, first);
        put_u32(out, i - first);
        put(out, (const uint8_t *)instance->self + 8 * (size_t)first, 8 * (size_t)(i - first));
        n++;
    }
    if (!out->full) memcpy(out->at + mark, &n, sizeof n);
    put_u32(out, inside);
    for (uint32_t i = 0; i < words && inside; i++) {
        uint64_t now;
        if (word_of(instance, i) != WORD_INSIDE) continue;
        memcpy(&now, (const uint8_t *)instance->self + 8 * (size_t)i, sizeof now);
        put_u32(out, i);
        put_u64(out, now - (uint64_t)(uintptr_t)instance->self);
    }
}

static void put_instance(struct out *out, const struct nm_instance *instance)
{
    put_text(out, instance->plan->name);
    put(out, instance->nm.dice.s, sizeof instance->nm.dice.s);
    put_u32(out, instance->n_ports);
    for (uint32_t i = 0; i < instance->n_ports; i++) {
        put_u64(out, instance->ports[i].taken);
        put_u64(out, instance->ports[i].lost);
    }
    put_u32(out, instance->birth ? instance->module->size : 0); /* 0: another build took its place */
    put_struct(out, instance);
}

static void put_value(struct out *out, const struct nm_cycle *cycle, const struct nm_type *type, uint64_t run,
                      const void *message)
{
    const struct nm_slot *slot = nm_slot(message);
    put_text(out, topic_name(cycle, slot->topic));
    put_u64(out, slot->seq);
    put_u64(out, run);
    put_i64(out, slot->time);
    put_message(out, type, message);
}

/* Those that a reader of this cycle may not have taken: of the last two runs. */
static void put_ring(struct out *out, const struct nm_cycle *cycle, const struct nm_ring *ring)
{
    bool read = false;
    for (uint32_t i = 0; i < cycle->n_sources; i++) read |= cycle->sources[i].ring == ring;
    uint64_t kept = !read ? 0 : ring->total < ring->in_run ? ring->total : ring->in_run;
    put_text(out, topic_name(cycle, ring->topic));
    put_u64(out, ring->total);
    put_u32(out, (uint32_t)kept);
    for (uint64_t k = ring->total - kept + 1; k <= ring->total; k++) {
        const struct nm_slot *slot = ring_slot(ring, k);
        put_u64(out, slot->run);
        put_i64(out, slot->time);
        put_u64(out, slot->caller);
        put_i64(out, slot->call);
        put_message(out, ring->type, slot + 1);
    }
}

/* A value that came in. */
static bool is_taken(const struct source *source)
{
    return !source->value && source->n_in + source->n_last && nm_slot(source->message)->seq;
}

size_t snapshot_most(const struct nm_cycle *cycle)
{
    enum { FIXED = 1 << 10, TEXT = 160 };
    size_t most = FIXED + (cycle->tf ? tf_most() : 0);
    for (uint32_t i = 0; i < cycle->n_instances; i++)
        most += TEXT + 4 * cycle->instances[i]->module->size + cycle->instances[i]->n_ports * 2 * sizeof(uint64_t);
    for (uint32_t i = 0; i < cycle->n_values; i++) most += TEXT + nm_cdr_most(cycle->values[i].type);
    for (uint32_t b = 0; b < cycle->n_in; b++)
        for (uint32_t i = 0; i < cycle->in[b]->n_values; i++) most += TEXT + nm_cdr_most(cycle->in[b]->values[i]->type);
    for (uint32_t i = 0; i < cycle->n_rings; i++) {
        bool read = false;
        for (uint32_t k = 0; k < cycle->n_sources; k++) read |= cycle->sources[k].ring == &cycle->rings[i];
        most += TEXT + (read ? cycle->rings[i].cap * (TEXT + nm_cdr_most(cycle->rings[i].type)) : 0);
    }
    return most;
}

size_t snapshot_write(const struct nm_cycle *cycle, uint8_t *to, size_t room)
{
    struct out out = {to, 0, room, false};
    uint32_t n_in = 0;
    put_u32(&out, MAGIC);
    put_u64(&out, cycle->run);
    put_i64(&out, cycle->now);
    put_u32(&out, cycle->n_instances);
    for (uint32_t i = 0; i < cycle->n_instances; i++) put_instance(&out, cycle->instances[i]);
    put_u32(&out, cycle->n_values);
    for (uint32_t i = 0; i < cycle->n_values; i++) {
        const void *front = cycle->values[i].front;
        put_value(&out, cycle, cycle->values[i].type, nm_slot(front)->run, front);
    }
    for (uint32_t i = 0; i < cycle->n_sources; i++) n_in += is_taken(&cycle->sources[i]);
    put_u32(&out, n_in);
    for (uint32_t i = 0; i < cycle->n_sources; i++) {
        const struct source *source = &cycle->sources[i];
        if (is_taken(source)) put_value(&out, cycle, source->type, nm_slot(source->message)->run, source->message);
    }
    put_u32(&out, cycle->n_rings);
    for (uint32_t i = 0; i < cycle->n_rings; i++) put_ring(&out, cycle, &cycle->rings[i]);
    size_t mark = out.n;
    put_u32(&out, 0);
    if (cycle->tf && !out.full) {
        uint32_t n = (uint32_t)tf_save(cycle->tf, out.at + out.n, out.room - out.n);
        memcpy(out.at + mark, &n, sizeof n);
        out.n += n;
    }
    return out.full ? 0 : out.n;
}

/* ---- reading ---- */

struct in {
    const uint8_t *at;
    size_t n;
    bool bad;
};

static const uint8_t *get(struct in *in, size_t n)
{
    static const uint8_t nothing[64];
    if (in->bad || in->n < n) {
        in->bad = true;
        return n <= sizeof nothing ? nothing : NULL;
    }
    const uint8_t *at = in->at;
    in->at += n;
    in->n -= n;
    return at;
}

static uint32_t get_u32(struct in *in)
{
    uint32_t x;
    memcpy(&x, get(in, sizeof x), sizeof x);
    return x;
}

static uint64_t get_u64(struct in *in)
{
    uint64_t x;
    memcpy(&x, get(in, sizeof x), sizeof x);
    return x;
}

static void get_text(struct in *in, char to[TEXT_MOST])
{
    uint32_t n = get_u32(in);
    const uint8_t *at = n < TEXT_MOST ? get(in, n) : NULL;
    to[0] = '\0';
    if (!at) {
        in->bad = true;
        return;
    }
    memcpy(to, at, n);
    to[n] = '\0';
}

/* The struct as it is after init here, and upon that what had changed. -1 where that makes no sense. */
static int get_struct(struct in *in, uint32_t size, uint8_t *self, const void *birth)
{
    uint32_t words = size / 8;
    if (self) memcpy(self, birth, size);
    for (uint32_t n = get_u32(in); n && !in->bad; n--) {
        uint32_t first = get_u32(in), count = get_u32(in);
        if (first > words || count > words - first) return -1;
        const uint8_t *bytes = get(in, 8 * (size_t)count);
        if (self && bytes && !in->bad) memcpy(self + 8 * (size_t)first, bytes, 8 * (size_t)count);
    }
    for (uint32_t n = get_u32(in); n && !in->bad; n--) {
        uint32_t word = get_u32(in);
        uint64_t at = get_u64(in), pointer = (uint64_t)(uintptr_t)self + at;
        if (word >= words || at >= size) return -1;
        if (self && !in->bad) memcpy(self + 8 * (size_t)word, &pointer, sizeof pointer);
    }
    return in->bad ? -1 : 0;
}

/* Ports point to boards of another process. */
static void rebind(struct nm_instance *instance)
{
    *(struct nm **)instance->self = &instance->nm;
    for (uint32_t i = 0; i < instance->n_ports; i++) port_bind(&instance->ports[i]);
}

static void get_instance(struct nm_cycle *cycle, struct in *in, struct nm_err *notes)
{
    char name[TEXT_MOST];
    struct nm_instance *instance = NULL;
    get_text(in, name);
    for (uint32_t i = 0; i < cycle->n_instances; i++)
        if (!strcmp(cycle->instances[i]->plan->name, name)) instance = cycle->instances[i];
    const uint8_t *rng = get(in, sizeof instance->nm.dice.s);
    uint32_t n_ports = get_u32(in);
    if (n_ports > in->n / 16) in->bad = true;
    const uint8_t *ports = in->bad ? NULL : get(in, (size_t)n_ports * 16);
    uint32_t size = get_u32(in);
    bool fits = instance && size == instance->module->size && n_ports == instance->n_ports;
    if (in->bad || get_struct(in, size, fits ? instance->self : NULL, fits ? instance->birth : NULL)) in->bad = true;
    if (in->bad && fits) { /* half of a state is none */
        memcpy(instance->self, instance->birth, size);
        rebind(instance);
    }
    if (in->bad || !instance) return;
    if (!fits) {
        nm_fail(notes, "%s: its struct has changed since then, so it starts again", name);
        return;
    }
    memcpy(instance->nm.dice.s, rng, sizeof instance->nm.dice.s);
    for (uint32_t i = 0; i < n_ports; i++) memcpy(&instance->ports[i].taken, ports + 16 * (size_t)i, 8);
    rebind(instance);
}

struct kept {
    uint32_t topic; /* NM_NONE: this line-up has none of that name */
    uint64_t seq, run;
    int64_t time;
    const uint8_t *bytes;
    uint32_t n;
};

static struct kept get_kept(const struct nm_cycle *cycle, struct in *in)
{
    char name[TEXT_MOST];
    struct kept kept;
    get_text(in, name);
    kept.topic = nm_lineup_topic(cycle->player->lineup, name);
    kept.seq = get_u64(in);
    kept.run = get_u64(in);
    uint64_t time = get_u64(in);
    if (kept.seq > COUNT_MOST || kept.run > COUNT_MOST || time > COUNT_MOST) in->bad = true;
    kept.time = (int64_t)time;
    kept.n = get_u32(in);
    kept.bytes = get(in, kept.n);
    return kept;
}

/* A message into its buffer; reset where none was kept. */
static void fill(const struct nm_type *type, void *message, const struct kept *kept, uint64_t run)
{
    struct nm_slot *slot = nm_slot(message);
    if (!kept->n || nm_cdr_decode(type, message, kept->bytes, kept->n, NULL, NULL)) nm_reset(type, message);
    slot->seq = kept->seq;
    slot->run = run;
    slot->time = kept->time;
}

static void get_made(struct nm_cycle *cycle, struct in *in)
{
    struct kept kept = get_kept(cycle, in);
    for (uint32_t i = 0; i < cycle->n_values && !in->bad; i++) {
        struct value *value = &cycle->values[i];
        if (value->topic != kept.topic) continue;
        fill(value->type, value->front, &kept, kept.run);
        value->seq = kept.seq;
        if (!value->source) continue;
        for (uint32_t k = 0; k < value->source->n_in; k++) *(const void **)value->source->in[k]->member = value->front;
    }
}

static void get_taken(struct nm_cycle *cycle, struct in *in)
{
    struct kept kept = get_kept(cycle, in);
    for (uint32_t i = 0; i < cycle->n_sources && !in->bad && kept.seq; i++) {
        struct source *source = &cycle->sources[i];
        if (source->topic != kept.topic || source->value || source->type->blobs) continue;
        /* what a mailbox will bring replaces it: until then it lies here, in memory of the source's own */
        void *message = (void *)(uintptr_t)source->message;
        fill(source->type, message, &kept, kept.run);
        for (uint32_t k = 0; k < source->n_in; k++) *(const void **)source->in[k]->member = message;
        for (uint32_t k = 0; k < source->n_last; k++) *(const void **)source->last[k]->member = message;
    }
}

static void get_ring(struct nm_cycle *cycle, struct in *in)
{
    char name[TEXT_MOST];
    get_text(in, name);
    uint32_t topic = nm_lineup_topic(cycle->player->lineup, name);
    uint64_t total = get_u64(in);
    uint32_t kept = get_u32(in);
    struct nm_ring *ring = NULL;
    for (uint32_t i = 0; i < cycle->n_rings; i++)
        if (cycle->rings[i].topic == topic) ring = &cycle->rings[i];
    if (kept > total || total > COUNT_MOST) in->bad = true;
    if (ring && kept > ring->cap) in->bad = true;
    for (uint32_t i = 0; i < kept && !in->bad; i++) {
        struct kept one = {topic, total - kept + 1 + i, get_u64(in), (int64_t)get_u64(in), NULL, 0};
        uint64_t caller = get_u64(in);
        int64_t call = (int64_t)get_u64(in);
        one.n = get_u32(in);
        one.bytes = get(in, one.n);
        if (!ring || in->bad) continue;
        struct nm_slot *slot = ring_slot(ring, one.seq);
        slot->topic = topic;
        fill(ring->type, slot + 1, &one, one.run);
        slot->caller = caller;
        slot->call = call;
    }
    if (!ring || in->bad) return;
    ring->total = ring->noted = total;
    ring->in_run = kept;
}

/* A reader has taken everything but, at most, what the ring still holds of the last run. */
static void settle_port(struct port *port)
{
    const struct nm_ring *ring = port->source ? port->source->ring : NULL;
    if (!ring || (port->taken <= ring->total && ring->total - port->taken <= ring->in_run)) return;
    port->taken = ring->total - ring->in_run;
}

static void settle_ports(struct nm_cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->n_instances; i++)
        for (uint32_t k = 0; k < cycle->instances[i]->n_ports; k++) settle_port(&cycle->instances[i]->ports[k]);
    for (int k = 0; k < 2; k++) settle_port(&cycle->tf_ports[k]);
}

int snapshot_read(struct nm_cycle *cycle, const uint8_t *bytes, size_t n, struct nm_err *notes, struct nm_err *err)
{
    struct in in = {bytes, n, false};
    if (get_u32(&in) != MAGIC) return nm_fail(err, "cycle %s: this is no snapshot", cycle->name);
    uint64_t run = get_u64(&in), now = get_u64(&in);
    if (run > COUNT_MOST || now > COUNT_MOST) in.bad = true;
    for (uint32_t i = get_u32(&in); i && !in.bad; i--) get_instance(cycle, &in, notes);
    for (uint32_t i = get_u32(&in); i && !in.bad; i--) get_made(cycle, &in);
    for (uint32_t i = get_u32(&in); i && !in.bad; i--) get_taken(cycle, &in);
    for (uint32_t i = get_u32(&in); i && !in.bad; i--) get_ring(cycle, &in);
    settle_ports(cycle);
    uint32_t frames = get_u32(&in);
    const uint8_t *tf = in.bad ? NULL : get(&in, frames);
    if (in.bad || !tf || (frames && cycle->tf && tf_load(cycle->tf, tf, frames)))
        return nm_fail(err, "cycle %s: the snapshot is damaged", cycle->name);
    cycle->run = run;
    cycle->now = (int64_t)now;
    return 0;
}
