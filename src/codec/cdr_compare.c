#include "codec/cdr_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How two members can meet. */
static int nature(enum nm_kind kind) { return kind < NM_STRING ? 0 : kind == NM_STRING ? 1 : 2; }

static bool meet(const struct nm_def_field *a, const struct nm_def_field *b)
{
    return nature(a->kind) == nature(b->kind) && (a->shape == NM_ONE) == (b->shape == NM_ONE);
}

static const struct nm_def_field *named(const struct nm_def *def, const char *name, uint32_t guess)
{
    if (guess < def->n_fields && !strcmp(def->fields[guess].name, name)) return &def->fields[guess];
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (!strcmp(def->fields[i].name, name)) return &def->fields[i];
    return NULL;
}

static bool counted(const struct nm_def_field *field) { return field->shape == NM_SEQ || field->shape == NM_BLOB; }

/* Equal definitions: the bytes of one can be read side by side with the other's. */
static bool same_def(const struct nm_def *a, const struct nm_def *b)
{
    if (a == b) return true;
    if (a->n_fields != b->n_fields) return false;
    for (uint32_t i = 0; i < a->n_fields; i++) {
        const struct nm_def_field *x = &a->fields[i], *y = &b->fields[i];
        if (strcmp(x->name, y->name) || x->kind != y->kind || counted(x) != counted(y)) return false;
        if (!counted(x) && (x->shape != y->shape || x->cap != y->cap)) return false;
        if (x->kind == NM_STRUCT && !same_def(x->def, y->def)) return false;
    }
    return true;
}

uint32_t nm_diff_types(const struct nm_def *a, const struct nm_def *b, struct nm_err *found)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_fields; i++) {
        const struct nm_def_field *x = &a->fields[i], *y = named(b, x->name, i);
        if (y && meet(x, y)) {
            if (x->kind == NM_STRUCT) n += nm_diff_types(x->def, y->def, found);
            continue;
        }
        nm_fail(found, "%s.%s %s", a->name, x->name, y ? "is of another nature in the other" : "stands in A only");
        n++;
    }
    for (uint32_t i = 0; i < b->n_fields; i++) {
        if (named(a, b->fields[i].name, i)) continue;
        nm_fail(found, "%s.%s stands in B only", b->name, b->fields[i].name);
        n++;
    }
    return n;
}

/* ---- places ---- */

static bool is_time(const struct nm_def_field *field)
{
    static const char *const names[] = {"builtin_interfaces/msg/Time", "builtin_interfaces/msg/Duration"};
    if (field->kind != NM_STRUCT || field->def->n_fields != 2) return false;
    return !strcmp(field->def->name, names[0]) || !strcmp(field->def->name, names[1]);
}

static struct nm_diff_place *place_new(struct nm_diff *diff, const struct nm_diff_place *parent,
                                       const struct nm_def_field *field)
{
    struct nm_diff_place *place = nm_take_n(diff->arena, struct nm_diff_place, 1);
    bool list = field->shape != NM_ONE;
    place->path = nm_take_format(diff->arena, "%s%s%s%s", parent->path ? parent->path : "", parent->path ? "." : "",
                                 field->name, list ? "[]" : "");
    place->name = nm_take_text(diff->arena, field->name);
    place->time = is_time(field);
    place->number = field->kind < NM_STRING || place->time;
    place->listed = parent->listed || list;
    for (uint32_t i = 0; i < diff->n_leave; i++) {
        size_t n = strlen(diff->leave[i]), all = strlen(place->path) - (list ? 2 : 0);
        place->ignored |=
            !strcmp(place->path, diff->leave[i]) || (n == all && !strncmp(place->path, diff->leave[i], n));
    }
    if (!diff->last) diff->last = &diff->places;
    *diff->last = place;
    diff->last = &place->next;
    return place;
}

static struct nm_diff_place *kid(struct nm_diff *diff, struct nm_diff_place *parent, const struct nm_def_field *field,
                                 uint32_t guess)
{
    if (guess < parent->n_kids && !strcmp(parent->kids[guess]->name, field->name)) return parent->kids[guess];
    for (uint32_t i = 0; i < parent->n_kids; i++)
        if (!strcmp(parent->kids[i]->name, field->name)) return parent->kids[i];
    if (!(parent->n_kids & (parent->n_kids - 1))) { /* full at every power of two */
        struct nm_diff_place **more =
            nm_take_n(diff->arena, struct nm_diff_place *, parent->n_kids ? 2 * parent->n_kids : 1);
        if (parent->n_kids) memcpy(more, parent->kids, parent->n_kids * sizeof *more);
        parent->kids = more;
    }
    return parent->kids[parent->n_kids++] = place_new(diff, parent, field);
}

/* ---- values ---- */

enum { A, B };

struct pair { /* both messages, and where we are in them */
    struct nm_diff *diff;
    struct nm_walk walk[2];
    uint64_t found;
    uint32_t depth;
    struct {
        const struct nm_def_field *field;
        int64_t index; /* -1: none */
    } at[NM_DEF_DEPTH + 1];
};

static void print_path(const struct pair *p, char *to, size_t size)
{
    size_t used = 0;
    *to = '\0';
    for (uint32_t i = 0; i < p->depth && used < size; i++) {
        used += (size_t)snprintf(to + used, size - used, "%s%s", i ? "." : "", p->at[i].field->name);
        if (p->at[i].index >= 0 && used < size)
            used += (size_t)snprintf(to + used, size - used, "[%lld]", (long long)p->at[i].index);
    }
}

/* Notes a difference. The texts are made for the first one only: `from` is where the values begin. */
static void differs(struct pair *p, struct nm_diff_place *place, const struct nm_walk *from_a,
                    const struct nm_def_field *a, const struct nm_walk *from_b, const struct nm_def_field *b)
{
    struct nm_diff *diff = p->diff;
    place->differ++;
    if (p->found++ || diff->differing) return;
    print_path(p, diff->path, sizeof diff->path);
    for (int side = 0; side < 2; side++) {
        struct nm_walk walk = side ? *from_b : *from_a;
        struct nm_text_out out = {.text = side ? diff->b : diff->a, .size = sizeof diff->a};
        walk.err = NULL;
        nm_walk_print_member(&out, &walk, side ? b : a, true, NM_TEXT_JSON);
    }
}

static void differs_by(struct nm_diff_place *place, double gap)
{
    if (!isfinite(gap)) {
        place->unlike++;
        return;
    }
    if (gap > place->largest) place->largest = gap;
    place->squares += gap * gap;
}

/* How far two numbers are from each other; 64-bit ones to the last bit. */
static double distance(enum nm_kind kind_a, uint64_t a, enum nm_kind kind_b, uint64_t b)
{
    if (kind_a == kind_b && kind_a == NM_UINT64) return (double)(a > b ? a - b : b - a);
    if (kind_a == kind_b && kind_a == NM_INT64) return (double)((int64_t)a > (int64_t)b ? a - b : b - a);
    double x = nm_walk_double(kind_a, a), y = nm_walk_double(kind_b, b);
    if (isnan(x) && isnan(y)) return 0;
    return x == y ? 0 : isnan(x) || isnan(y) ? INFINITY : fabs(x - y);
}

static int compare_numbers(struct pair *p, struct nm_diff_place *place, const struct nm_def_field *a,
                           const struct nm_def_field *b)
{
    struct nm_walk from_a = p->walk[A], from_b = p->walk[B];
    uint64_t x, y;
    if (nm_walk_value(&p->walk[A], a, &x) || nm_walk_value(&p->walk[B], b, &y)) return -1;
    if (p->diff->seen) p->diff->seen(p->diff->user, place, nm_walk_double(a->kind, x), nm_walk_double(b->kind, y));
    if (a->kind == b->kind && x == y) return 0;
    double gap = distance(a->kind, x, b->kind, y);
    if (gap <= p->diff->tolerance) return 0;
    differs(p, place, &from_a, a, &from_b, b);
    differs_by(place, gap);
    return 0;
}

static int compare_texts(struct pair *p, struct nm_diff_place *place, const struct nm_def_field *a,
                         const struct nm_def_field *b)
{
    struct nm_walk from_a = p->walk[A], from_b = p->walk[B];
    const char *x, *y;
    uint32_t n, m;
    if (nm_walk_text(&p->walk[A], a, &x, &n) || nm_walk_text(&p->walk[B], b, &y, &m)) return -1;
    if (n == m && !memcmp(x, y, n)) return 0;
    differs(p, place, &from_a, a, &from_b, b);
    place->unlike++;
    return 0;
}

/* Seconds and nanoseconds as one number. */
static int compare_times(struct pair *p, struct nm_diff_place *place, const struct nm_def_field *a,
                         const struct nm_def_field *b)
{
    struct nm_walk from_a = p->walk[A], from_b = p->walk[B];
    const struct nm_def_field *fields[2] = {a, b};
    int64_t ns[2];
    for (int i = 0; i < 2; i++) {
        uint64_t sec, nanosec;
        if (nm_walk_value(&p->walk[i], &fields[i]->def->fields[0], &sec) ||
            nm_walk_value(&p->walk[i], &fields[i]->def->fields[1], &nanosec))
            return -1;
        ns[i] = (int64_t)(int32_t)sec * 1000000000 + (int64_t)(uint32_t)nanosec;
    }
    if (p->diff->seen) p->diff->seen(p->diff->user, place, (double)ns[A] * 1e-9, (double)ns[B] * 1e-9);
    double gap = fabs((double)(ns[A] - ns[B])) * 1e-9;
    if (gap <= p->diff->tolerance) return 0;
    differs(p, place, &from_a, a, &from_b, b);
    differs_by(place, gap);
    return 0;
}

static int compare_structs(struct pair *p, struct nm_diff_place *place, const struct nm_def *a, const struct nm_def *b);

static int compare_one(struct pair *p, struct nm_diff_place *place, const struct nm_def_field *a,
                       const struct nm_def_field *b)
{
    if (a->kind < NM_STRING) return compare_numbers(p, place, a, b);
    if (a->kind == NM_STRING) return compare_texts(p, place, a, b);
    if (place->time && is_time(b)) return compare_times(p, place, a, b);
    return compare_structs(p, place, a->def, b->def);
}

/* True, and behind them, if n primitives are the same bytes on both sides: most of an image is. */
static bool equal_run(struct pair *p, const struct nm_def_field *a, const struct nm_def_field *b, uint32_t n)
{
    size_t bytes = (size_t)n * nm_kind_width(a->kind);
    struct nm_walk x = p->walk[A], y = p->walk[B];
    if (!bytes || a->kind != b->kind || x.swap != y.swap || p->diff->seen) return false;
    if (nm_walk_skip(&x, a, n) || nm_walk_skip(&y, b, n) || memcmp(x.at - bytes, y.at - bytes, bytes)) return false;
    p->walk[A] = x;
    p->walk[B] = y;
    return true;
}

static int compare_lists(struct pair *p, struct nm_diff_place *place, const struct nm_def_field *a,
                         const struct nm_def_field *b)
{
    uint32_t n, m, both;
    if (nm_walk_count(&p->walk[A], a, &n) || nm_walk_count(&p->walk[B], b, &m)) return -1;
    both = n < m ? n : m;
    if (n != m) {
        if (!p->found && !p->diff->differing) {
            print_path(p, p->diff->path, sizeof p->diff->path);
            snprintf(p->diff->a, sizeof p->diff->a, "%u elements", n);
            snprintf(p->diff->b, sizeof p->diff->b, "%u elements", m);
        }
        place->differ++, place->unlike++, p->found++;
    }
    if (!equal_run(p, a, b, both)) {
        for (uint32_t i = 0; i < both; i++) {
            p->at[p->depth - 1].index = i;
            if (compare_one(p, place, a, b)) return -1;
        }
        p->at[p->depth - 1].index = -1;
    }
    return nm_walk_skip(&p->walk[A], a, n - both) || nm_walk_skip(&p->walk[B], b, m - both) ? -1 : 0;
}

static int compare_members(struct pair *p, struct nm_diff_place *parent, const struct nm_def_field *a,
                           const struct nm_def_field *b, uint32_t guess)
{
    struct nm_diff_place *place = kid(p->diff, parent, a, guess);
    if (place->ignored) return nm_walk_skip_member(&p->walk[A], a) || nm_walk_skip_member(&p->walk[B], b) ? -1 : 0;
    p->at[p->depth].field = a;
    p->at[p->depth++].index = -1;
    int bad = a->shape == NM_ONE ? compare_one(p, place, a, b) : compare_lists(p, place, a, b);
    p->depth--;
    return bad;
}

/* Members in another order: first where each of B's begins. */
static int compare_by_name(struct pair *p, struct nm_diff_place *place, const struct nm_def *a, const struct nm_def *b)
{
    const uint8_t *begins[NM_DEF_FIELDS];
    for (uint32_t i = 0; i < b->n_fields; i++) {
        begins[i] = p->walk[B].at;
        if (nm_walk_skip_member(&p->walk[B], &b->fields[i])) return -1;
    }
    const uint8_t *end = p->walk[B].at;
    for (uint32_t i = 0; i < a->n_fields; i++) {
        const struct nm_def_field *x = &a->fields[i], *y = named(b, x->name, i);
        if (y) p->walk[B].at = begins[y - b->fields];
        if (y && meet(x, y) ? compare_members(p, place, x, y, i) : nm_walk_skip_member(&p->walk[A], x)) return -1;
    }
    p->walk[B].at = end;
    return 0;
}

static int compare_structs(struct pair *p, struct nm_diff_place *place, const struct nm_def *a, const struct nm_def *b)
{
    if (!p->diff->same) return compare_by_name(p, place, a, b);
    for (uint32_t i = 0; i < a->n_fields; i++)
        if (compare_members(p, place, &a->fields[i], &b->fields[i], i)) return -1;
    return 0;
}

int64_t nm_diff_pair(struct nm_diff *diff, const struct nm_def *def_a, const void *a, size_t size_a,
                     const struct nm_def *def_b, const void *b, size_t size_b, struct nm_err *err)
{
    struct pair p = {.diff = diff};
    if (def_a != diff->def_a || def_b != diff->def_b) {
        diff->same = same_def(def_a, def_b);
        diff->def_a = def_a;
        diff->def_b = def_b;
    }
    bool equal = diff->same && !diff->seen && size_a == size_b && !memcmp(a, b, size_a);
    if (!equal && (nm_walk_begin(&p.walk[A], def_a, a, size_a, err) ||
                   nm_walk_begin(&p.walk[B], def_b, b, size_b, err) || compare_structs(&p, &diff->root, def_a, def_b)))
        return -1;
    diff->messages++;
    diff->differing += p.found > 0;
    return (int64_t)p.found;
}
