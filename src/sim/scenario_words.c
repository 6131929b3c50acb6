/* Values in a scenario: numbers with units, ranges, places, names. */
#include <math.h>
#include <string.h>

#include "sim/scenario_parts.h"

enum { KEYS = 40, TEXT_MOST = 200 };

void read_rows(struct reading *r, const struct nm_yaml *map, const struct row *rows, uint32_t n, void *target)
{
    const char *keys[KEYS];
    for (uint32_t i = 0; i < n && i < KEYS; i++) keys[i] = rows[i].key;
    if (nm_yaml_keys(map, keys, n, r->err)) r->rc = -1;
    if (map->kind != NM_YAML_MAP) return;
    for (uint32_t i = 0; i < n; i++) {
        const struct nm_yaml *node = nm_yaml_get(map, rows[i].key);
        if (node && rows[i].read) rows[i].read(r, node, &rows[i], (unsigned char *)target + rows[i].offset);
        if (!node && rows[i].needed) r->rc = nm_yaml_fail(map, r->err, "`%s:` is missing here", rows[i].key);
    }
}

/* ---- numbers ---- */

typedef int read_scalar(const struct nm_yaml *node, double *value, struct nm_err *err);

static int scalar_seconds(const struct nm_yaml *node, double *value, struct nm_err *err)
{
    int64_t ns;
    if (nm_yaml_duration(node, &ns, err)) return -1;
    *value = nm_seconds(ns);
    return 0;
}

/* 1.57, or 90 deg */
static int scalar_angle(const struct nm_yaml *node, double *value, struct nm_err *err)
{
    char text[40];
    size_t n = strlen(node->text);
    bool degrees = n > 3 && n < sizeof text && !strcmp(node->text + n - 3, "deg");
    if (node->kind != NM_YAML_SCALAR || !degrees) return nm_yaml_number(node, value, err);
    for (n -= 3; n && node->text[n - 1] == ' ';) n--;
    memcpy(text, node->text, n);
    text[n] = '\0';
    struct nm_yaml number = *node;
    number.text = text;
    if (nm_yaml_number(&number, value, err)) return -1;
    *value *= M_PI / 180;
    return 0;
}

static bool in_range(struct reading *r, const struct nm_yaml *node, const struct row *row, double value)
{
    if (value >= row->min && value <= row->max) return true; /* false for NaN too */
    r->rc = nm_yaml_fail(node, r->err, "%s: %g is not between %g and %g", row->key, value, row->min, row->max);
    return false;
}

static bool scalar(struct reading *r, const struct nm_yaml *node, const struct row *row, read_scalar *read, double *to)
{
    double value;
    if (read(node, &value, r->err)) {
        r->rc = -1;
        return false;
    }
    if (!in_range(r, node, row, value)) return false;
    *to = value;
    return true;
}

void read_number(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    scalar(r, node, row, nm_yaml_number, to);
}

void read_seconds(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    scalar(r, node, row, scalar_seconds, to);
}

void read_nanos(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    double seconds;
    if (scalar(r, node, row, scalar_seconds, &seconds)) *(int64_t *)to = nm_ns(seconds);
}

void read_switch(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    (void)row;
    if (nm_yaml_bool(node, to, r->err)) r->rc = -1;
}

/* ---- ranges ---- */

static void range(struct reading *r, const struct nm_yaml *node, const struct row *row, read_scalar *read,
                  struct nm_range *to)
{
    struct nm_range value = {0, 0};
    bool pair = node->kind == NM_YAML_LIST;
    if (pair && node->n != 2) {
        r->rc = nm_yaml_fail(node, r->err, "%s: a range has two ends, [low, high]", row->key);
        return;
    }
    const struct nm_yaml *low = pair ? node->first : node, *high = pair ? node->first->next : node;
    if (!scalar(r, low, row, read, &value.low) || !scalar(r, high, row, read, &value.high)) return;
    if (value.low > value.high)
        r->rc = nm_yaml_fail(node, r->err, "%s: %g is above %g; the lower end stands first", row->key, value.low,
                             value.high);
    else
        *to = value;
}

void read_range(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    range(r, node, row, nm_yaml_number, to);
}

void read_times(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    range(r, node, row, scalar_seconds, to);
}

void read_angles(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    range(r, node, row, scalar_angle, to);
}

static void somewhere(struct reading *r, const struct nm_yaml *node, const struct row *row, bool pose,
                      struct nm_somewhere *to)
{
    struct nm_range *ends[3] = {&to->x, &to->y, pose ? &to->theta : &to->z};
    struct row angle = *row;
    angle.min = -1000, angle.max = 1000;
    if (node->kind != NM_YAML_LIST || node->n < 2 || node->n > 3) {
        r->rc = nm_yaml_fail(node, r->err, "%s: a place is needed here, [x, y] or [x, y, %s]", row->key,
                             pose ? "theta" : "z");
        return;
    }
    uint32_t i = 0;
    nm_yaml_each(item, node)
    {
        bool theta = pose && i == 2;
        range(r, item, theta ? &angle : row, theta ? scalar_angle : nm_yaml_number, ends[i++]);
    }
}

void read_point(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    somewhere(r, node, row, false, to);
}

void read_pose(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    somewhere(r, node, row, true, to);
}

/* ---- words ---- */

void read_text(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    const char *text;
    if (nm_yaml_text(node, &text, r->err))
        r->rc = -1;
    else if (!*text || strlen(text) > TEXT_MOST)
        r->rc = nm_yaml_fail(node, r->err, "%s: a text of 1 to %d bytes is needed here", row->key, TEXT_MOST);
    else
        *(const char **)to = text;
}

uint32_t read_word(struct reading *r, const struct nm_yaml *node, const char *what, const char *const *words,
                   uint32_t n)
{
    const char *text;
    if (nm_yaml_text(node, &text, r->err)) {
        r->rc = -1;
        return UINT32_MAX;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(words[i], text)) return i;
    r->rc = nm_yaml_fail(node, r->err, "%s '%.60s' is unknown%s", what, text, nm_hint(text, words, n).text);
    return UINT32_MAX;
}

void read_posture(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    uint32_t i = read_word(r, node, row->key, nm_posture_names, NM_POSTURES);
    if (i != UINT32_MAX) *(enum nm_posture *)to = (enum nm_posture)i;
}

void read_fidelity(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    uint32_t i = read_word(r, node, row->key, nm_fidelity_names, NM_FIDELITIES);
    if (i != UINT32_MAX) *(enum nm_fidelity *)to = (enum nm_fidelity)i;
}

uint32_t read_robot(struct reading *r, const struct nm_yaml *node)
{
    const char *names[NM_PLAYERS];
    for (uint32_t i = 0; i < r->scenario->n_robots; i++) names[i] = r->scenario->robots[i].name;
    return read_word(r, node, "robot", names, r->scenario->n_robots);
}

void read_robots(struct reading *r, const struct nm_yaml *node, const struct row *row, void *to)
{
    uint32_t bits = 0;
    (void)row;
    if (node->kind == NM_YAML_SCALAR && (!strcmp(node->text, "all") || !strcmp(node->text, "any"))) {
        *(uint32_t *)to = (1u << r->scenario->n_robots) - 1;
        return;
    }
    if (node->kind != NM_YAML_LIST) {
        uint32_t i = read_robot(r, node);
        bits = i == UINT32_MAX ? 0 : 1u << i;
    }
    for (const struct nm_yaml *item = node->kind == NM_YAML_LIST ? node->first : NULL; item; item = item->next) {
        uint32_t i = read_robot(r, item);
        bits |= i == UINT32_MAX ? 0 : 1u << i;
    }
    *(uint32_t *)to = bits;
}
