#include "core/tf.h"

#include <string.h>

enum { SLOTS = 2 * TF_FRAMES, NONE = -1, DEEPEST = 64 };

struct sample {
    int64_t stamp;
    struct pose3 pose;
};

struct frame {
    char name[TF_NAME];
    int32_t parent; /* index, NONE for a root     */
    bool fixed;     /* one sample, for all times   */
    uint32_t n;     /* samples ever                */
    struct sample *samples;
};

struct tf_tree {
    uint32_t n;
    int16_t slots[SLOTS]; /* open addressing by name */
    struct frame frames[TF_FRAMES];
};

struct tf_tree *tf_new(struct nm_arena *arena)
{
    struct tf_tree *tree = nm_take(arena, sizeof *tree);
    memset(tree->slots, 0xff, sizeof tree->slots);
    for (uint32_t i = 0; i < TF_FRAMES; i++) tree->frames[i].samples = nm_take_n(arena, struct sample, TF_SAMPLES);
    return tree;
}

static uint32_t hash(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

static int32_t find(const struct tf_tree *tree, const char *name)
{
    for (uint32_t i = hash(name) % SLOTS; tree->slots[i] != NONE; i = (i + 1) % SLOTS)
        if (strcmp(tree->frames[tree->slots[i]].name, name) == 0) return tree->slots[i];
    return NONE;
}

static int32_t find_or_add(struct tf_tree *tree, const char *name)
{
    int32_t at = find(tree, name);
    if (at != NONE || tree->n == TF_FRAMES) return at;
    size_t len = strlen(name);
    if (len == 0 || len >= TF_NAME) return NONE;
    uint32_t slot = hash(name) % SLOTS;
    while (tree->slots[slot] != NONE) slot = (slot + 1) % SLOTS;
    at = (int32_t)tree->n++;
    tree->slots[slot] = (int16_t)at;
    memcpy(tree->frames[at].name, name, len + 1);
    tree->frames[at].parent = NONE;
    return at;
}

static bool finite_pose(struct pose3 p)
{
    double sum = p.pos.x + p.pos.y + p.pos.z + p.rot.w + p.rot.x + p.rot.y + p.rot.z;
    return isfinite(sum);
}

bool tf_put(struct tf_tree *tree, const char *parent_name, const char *child_name, int64_t stamp,
            struct pose3 child_to_parent, bool fixed)
{
    if (!finite_pose(child_to_parent)) return false;
    int32_t parent = find_or_add(tree, parent_name), child = find_or_add(tree, child_name);
    if (parent == NONE || child == NONE) return false;

    struct frame *frame = &tree->frames[child];
    if (frame->parent != parent) {
        for (int32_t up = parent; up != NONE; up = tree->frames[up].parent)
            if (up == child) return false;
        frame->parent = parent;
        frame->n = 0;
    }
    if (frame->fixed != fixed) frame->n = 0;
    frame->fixed = fixed;
    if (fixed) frame->n = 0;
    if (frame->n && stamp <= frame->samples[(frame->n - 1) % TF_SAMPLES].stamp) return false;
    child_to_parent.rot = quat_normal(child_to_parent.rot);
    frame->samples[frame->n++ % TF_SAMPLES] = (struct sample){stamp, child_to_parent};
    return true;
}

/* The pose of a frame in its parent at a time; between two samples the straight line and the shorter arc. */
static bool pose_at(const struct frame *frame, int64_t at, struct pose3 *pose)
{
    const struct sample *s = frame->samples;
    uint32_t newest = frame->n - 1, oldest = frame->n > TF_SAMPLES ? frame->n - TF_SAMPLES : 0;
    if (frame->fixed) {
        *pose = s[0].pose;
        return true;
    }
    if (at > s[newest % TF_SAMPLES].stamp || at < s[oldest % TF_SAMPLES].stamp) return false;

    /* the last sample not after `at` */
    uint32_t low = oldest, high = newest;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (s[middle % TF_SAMPLES].stamp <= at)
            low = middle;
        else
            high = middle - 1;
    }
    const struct sample *a = &s[low % TF_SAMPLES];
    if (a->stamp == at) {
        *pose = a->pose;
        return true;
    }
    const struct sample *b = &s[(low + 1) % TF_SAMPLES];
    double t = (double)(at - a->stamp) / (double)(b->stamp - a->stamp);
    pose->rot = quat_slerp(a->pose.rot, b->pose.rot, t);
    pose->pos = vec3_add(vec3_scale(a->pose.pos, 1 - t), vec3_scale(b->pose.pos, t));
    return true;
}

/* Frames from `at` up to its root, itself first. */
static uint32_t climb(const struct tf_tree *tree, int32_t at, int32_t *path)
{
    uint32_t n = 0;
    for (; at != NONE && n < DEEPEST; at = tree->frames[at].parent) path[n++] = at;
    return n;
}

/* Composition of the first n frames of a path: path[0] to the parent of path[n-1]. */
static bool compose(const struct tf_tree *tree, const int32_t *path, uint32_t n, int64_t at, struct pose3 *pose)
{
    *pose = POSE_IDENTITY;
    for (uint32_t i = 0; i < n; i++) {
        struct pose3 up;
        if (!pose_at(&tree->frames[path[i]], at, &up)) return false;
        *pose = pose_mul(up, *pose);
    }
    return true;
}

static int64_t newest_common(const struct tf_tree *tree, const int32_t *path, uint32_t n, int64_t newest)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct frame *frame = &tree->frames[path[i]];
        int64_t stamp = frame->samples[(frame->n - 1) % TF_SAMPLES].stamp;
        if (!frame->fixed && stamp < newest) newest = stamp;
    }
    return newest;
}

bool tf_get(const struct tf_tree *tree, const char *from, const char *to, int64_t at, struct pose3 *from_to_to)
{
    int32_t a = find(tree, from), b = find(tree, to);
    if (a == NONE || b == NONE) return false;

    int32_t path_a[DEEPEST], path_b[DEEPEST];
    uint32_t n_a = climb(tree, a, path_a), n_b = climb(tree, b, path_b);
    if (path_a[n_a - 1] != path_b[n_b - 1]) return false;
    while (n_a && n_b && path_a[n_a - 1] == path_b[n_b - 1]) n_a--, n_b--;

    if (at == 0) at = newest_common(tree, path_b, n_b, newest_common(tree, path_a, n_a, INT64_MAX));
    struct pose3 a_to_top, b_to_top;
    if (!compose(tree, path_a, n_a, at, &a_to_top) || !compose(tree, path_b, n_b, at, &b_to_top)) return false;
    *from_to_to = n_b ? pose_mul(pose_inv(b_to_top), a_to_top) : a_to_top;
    return true;
}

/* ---- as bytes ---- */

struct frame_head {
    char name[TF_NAME];
    int32_t parent;
    uint32_t fixed, n;
};

static uint32_t kept(uint32_t n) { return n < TF_SAMPLES ? n : TF_SAMPLES; }

size_t tf_most(void)
{
    return sizeof(uint32_t) + TF_FRAMES * (sizeof(struct frame_head) + TF_SAMPLES * sizeof(struct sample));
}

size_t tf_save(const struct tf_tree *tree, uint8_t *to, size_t room)
{
    size_t used = sizeof tree->n;
    if (room < used) return 0;
    memcpy(to, &tree->n, sizeof tree->n);
    for (uint32_t i = 0; i < tree->n; i++) {
        const struct frame *frame = &tree->frames[i];
        struct frame_head head = {.parent = frame->parent, .fixed = frame->fixed, .n = frame->n};
        size_t bytes = kept(frame->n) * sizeof(struct sample);
        if (room - used < sizeof head + bytes) return 0;
        memcpy(head.name, frame->name, sizeof head.name);
        memcpy(to + used, &head, sizeof head);
        memcpy(to + used + sizeof head, frame->samples, bytes);
        used += sizeof head + bytes;
    }
    return used;
}

/* Parents must lead to a root. */
static bool leads_up(const struct tf_tree *tree)
{
    for (uint32_t i = 0; i < tree->n; i++) {
        uint32_t steps = 0;
        for (int32_t at = (int32_t)i; at != NONE; at = tree->frames[at].parent)
            if (steps++ > tree->n) return false;
    }
    return true;
}

static int load_frame(struct tf_tree *tree, uint32_t n, const uint8_t **bytes, size_t *left)
{
    struct frame_head head;
    if (*left < sizeof head) return -1;
    memcpy(&head, *bytes, sizeof head);
    size_t samples = kept(head.n) * sizeof(struct sample);
    if (*left < sizeof head + samples || head.name[TF_NAME - 1]) return -1;
    bool known = head.parent == NONE || (head.parent >= 0 && (uint32_t)head.parent < n);
    /* a frame with a parent has at least one sample */
    if (!known || head.fixed > 1 || (head.parent != NONE && !head.n) || find(tree, head.name) != NONE) return -1;
    int32_t at = find_or_add(tree, head.name);
    if (at == NONE) return -1;
    struct frame *frame = &tree->frames[at];
    frame->parent = head.parent;
    frame->fixed = head.fixed;
    frame->n = head.n;
    memcpy(frame->samples, *bytes + sizeof head, samples);
    *bytes += sizeof head + samples;
    *left -= sizeof head + samples;
    return 0;
}

int tf_load(struct tf_tree *tree, const uint8_t *bytes, size_t size)
{
    uint32_t n;
    int rc = size < sizeof n ? -1 : 0;
    memset(tree->slots, 0xff, sizeof tree->slots);
    tree->n = 0;
    if (!rc) {
        memcpy(&n, bytes, sizeof n);
        bytes += sizeof n;
        size -= sizeof n;
    }
    for (uint32_t i = 0; !rc && i < n; i++) rc = load_frame(tree, n, &bytes, &size);
    if (!rc && !leads_up(tree)) rc = -1;
    if (!rc) return 0;
    memset(tree->slots, 0xff, sizeof tree->slots);
    tree->n = 0;
    return -1;
}
