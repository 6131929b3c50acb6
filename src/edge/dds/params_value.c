#include "edge/dds/params_value.h"

#include <stdio.h>
#include <string.h>

static const uint8_t kinds[] = {
    [NM_PARAM_BOOL] = PARAM_BOOL,      [NM_PARAM_INT32] = PARAM_INTEGER,   [NM_PARAM_INT64] = PARAM_INTEGER,
    [NM_PARAM_FLOAT] = PARAM_DOUBLE,   [NM_PARAM_DOUBLE] = PARAM_DOUBLE,   [NM_PARAM_TEXT] = PARAM_STRING,
    [NM_PARAM_FLOATS] = PARAM_DOUBLES, [NM_PARAM_DOUBLES] = PARAM_DOUBLES,
};

const char *param_kind_word(uint8_t kind)
{
    static const char *const words[] = {"nothing", "a bool", "an integer", "a double", "a string",
                                        "bytes",   "bools",  "integers",   "doubles",  "strings"};
    return kind <= PARAM_STRINGS ? words[kind] : "that";
}

uint8_t param_kind(const struct param_row *row) { return row->table ? kinds[row->table->kind] : PARAM_BOOL; }

void param_pack(struct pack *p, const struct param_row *row, const struct nm_value *value)
{
    uint8_t kind = row ? param_kind(row) : PARAM_NOT_SET;
    pack_u8(p, kind);
    pack_u8(p, kind == PARAM_BOOL && value->whole);
    pack_i64(p, kind == PARAM_INTEGER ? value->whole : 0);
    pack_f64(p, kind == PARAM_DOUBLE ? value->number[0] : 0);
    pack_text(p, kind == PARAM_STRING ? value->text : "");
    pack_u32(p, 0);
    pack_u32(p, 0);
    pack_u32(p, 0);
    uint32_t n = kind == PARAM_DOUBLES ? nm_param_elements(row->table) : 0;
    pack_u32(p, n);
    for (uint32_t i = 0; i < n; i++) pack_f64(p, value->number[i]);
    pack_u32(p, 0);
}

static void skip(struct unpack *u, size_t each)
{
    uint32_t n = unpack_count(u, each);
    if (n && each == 8) {
        unpack_u64(u);
        n--;
    }
    unpack_raw(u, (size_t)n * each);
}

void param_unpack(struct unpack *u, struct param_given *g)
{
    *g = (struct param_given){.kind = unpack_u8(u)};
    g->flag = unpack_u8(u);
    g->whole = (int64_t)unpack_u64(u);
    g->number = unpack_f64(u);
    g->text = unpack_text(u);
    skip(u, 1);
    skip(u, 1);
    skip(u, 8);
    g->n = unpack_count(u, 8);
    for (uint32_t i = 0; i < g->n; i++) {
        double v = unpack_f64(u);
        if (i < NM_PARAM_LIST_MAX) g->list[i] = v;
    }
    uint32_t texts = unpack_count(u, 4);
    for (uint32_t i = 0; i < texts && !u->bad; i++) unpack_text(u);
}

int param_text(const struct param_row *row, const struct param_given *g, char *to, size_t size, struct nm_err *err)
{
    uint8_t kind = param_kind(row);
    if (g->kind != kind && !(kind == PARAM_DOUBLE && g->kind == PARAM_INTEGER))
        return nm_fail(err, "%s takes %s, not %s", row->name, param_kind_word(kind), param_kind_word(g->kind));
    if (kind == PARAM_STRING && strlen(g->text) >= NM_PARAM_TEXT_MAX) return nm_fail(err, "%s: too long", row->name);
    if (kind == PARAM_DOUBLES && g->n > NM_PARAM_LIST_MAX) return nm_fail(err, "%s: too many numbers", row->name);
    if (g->kind == PARAM_BOOL) snprintf(to, size, "%s", g->flag ? "true" : "false");
    if (g->kind == PARAM_INTEGER) snprintf(to, size, "%lld", (long long)g->whole);
    if (g->kind == PARAM_DOUBLE) snprintf(to, size, "%.17g", g->number);
    if (g->kind == PARAM_STRING) snprintf(to, size, "%s", g->text);
    size_t used = 0;
    for (uint32_t i = 0; g->kind == PARAM_DOUBLES && i < g->n && used < size; i++)
        used += (size_t)snprintf(to + used, size - used, "%s%.17g", i ? " " : "", g->list[i]);
    return 0;
}
