/* Messages to text straight from their bytes, in the layout of text.c. */
#include "codec/cdr_walk.h"

#include <stdio.h>
#include <string.h>

enum {
    SHOWN = 16,   /* elements of a long sequence in its summary            */
    LONG = 64,    /* elements of a sequence that is shown by its first few */
    ONE_LINE = 4, /* members of a struct that stands in one line           */
};

static void put(struct nm_text_out *out, const char *text) { nm_text_put(out, text, strlen(text)); }

/* One value, printed by text.c as a member of that kind. */
static int put_value(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, unsigned style)
{
    struct nm_field as = {.name = field->name, .kind = field->kind, .shape = NM_ONE, .cap = 1};
    struct nm_place place = {&as, NM_ONE, NULL};
    uint64_t bits;
    uint32_t n;
    const char *text;
    if (field->kind == NM_STRING) {
        if (nm_walk_text(walk, field, &text, &n)) return -1;
        as.elem = n;
        place.at = (void *)(uintptr_t)text;
    } else {
        if (nm_walk_value(walk, field, &bits)) return -1;
        as.elem = nm_kind_width(field->kind);
        place.at = &bits;
    }
    nm_print_place(out, &place, style);
    return 0;
}

static int put_list(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, uint32_t n,
                    uint32_t shown, unsigned style)
{
    const char *comma = (style & NM_TEXT_JSON) || nm_kind_width(field->kind) == 1 ? "," : ", ";
    put(out, "[");
    for (uint32_t i = 0; i < shown; i++) {
        if (i) put(out, comma);
        if (put_value(out, walk, field, style)) return -1;
    }
    put(out, "]");
    return nm_walk_skip(walk, field, n - shown);
}

/* Arrays and sequences of numbers and texts: one line. */
static int put_simple(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, unsigned style)
{
    char head[64];
    uint32_t n;
    if (nm_walk_count(walk, field, &n)) return -1;
    if (n <= LONG || field->shape == NM_ARRAY || field->kind == NM_STRING || (style & NM_TEXT_WHOLE))
        return put_list(out, walk, field, n, n, style);
    snprintf(head, sizeof head, style & NM_TEXT_JSON ? "{\"n\":%u,\"first\":" : "{n: %u, first: ", n);
    put(out, head);
    if (put_list(out, walk, field, n, SHOWN, style)) return -1;
    put(out, "}");
    return 0;
}

static bool stands_in_a_line(const struct nm_def *def)
{
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (def->fields[i].shape != NM_ONE || def->fields[i].kind >= NM_STRING) return false;
    return def->n_fields <= ONE_LINE;
}

static int put_line(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def *def, unsigned style);

/* A member, or one element of it, without a line end. */
static int put_member(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, bool one,
                      unsigned style)
{
    uint32_t n;
    if (field->kind != NM_STRUCT) return one ? put_value(out, walk, field, style) : put_simple(out, walk, field, style);
    if (one) return put_line(out, walk, field->def, style);
    if (nm_walk_count(walk, field, &n)) return -1;
    put(out, "[");
    for (uint32_t i = 0; i < n; i++) {
        if (i) put(out, ",");
        if (put_line(out, walk, field->def, style)) return -1;
    }
    put(out, "]");
    return 0;
}

/* {x: 1.0, y: 2.0}, and in JSON every struct. */
static int put_line(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def *def, unsigned style)
{
    bool json = style & NM_TEXT_JSON;
    put(out, "{");
    for (uint32_t i = 0; i < def->n_fields && !def->empty; i++) {
        const struct nm_def_field *field = &def->fields[i];
        if (i) put(out, json ? "," : ", ");
        if (json) put(out, "\"");
        put(out, field->name);
        put(out, json ? "\":" : ": ");
        if (put_member(out, walk, field, field->shape == NM_ONE, style)) return -1;
    }
    put(out, "}");
    return def->empty ? nm_walk_skip_member(walk, &def->fields[0]) : 0;
}

static void put_indent(struct nm_text_out *out, int indent)
{
    for (int i = 0; i < indent; i++) put(out, " ");
}

static int put_block(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def *def, int indent, bool in_item,
                     unsigned style);

/* "- " and the members beside it, for each struct of a list. */
static int put_items(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, uint32_t n,
                     int indent, unsigned style)
{
    for (uint32_t i = 0; i < n; i++) {
        bool line = stands_in_a_line(field->def);
        put_indent(out, indent);
        put(out, "- ");
        if (line ? put_line(out, walk, field->def, style) : put_block(out, walk, field->def, indent + 2, true, style))
            return -1;
        if (line) put(out, "\n");
    }
    return 0;
}

static int put_field(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, int indent,
                     unsigned style)
{
    uint32_t n;
    put(out, field->name);
    if (field->kind == NM_STRUCT && field->shape != NM_ONE) {
        if (nm_walk_count(walk, field, &n)) return -1;
        put(out, n ? ":\n" : ": []\n");
        return put_items(out, walk, field, n, indent + 2, style);
    }
    if (field->kind == NM_STRUCT && !stands_in_a_line(field->def)) {
        put(out, ":\n");
        return put_block(out, walk, field->def, indent + 2, false, style);
    }
    put(out, ": ");
    if (put_member(out, walk, field, field->shape == NM_ONE, style)) return -1;
    put(out, "\n");
    return 0;
}

/* The members of a struct, one a line. In a list item the first one stands behind the dash. */
static int put_block(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def *def, int indent, bool in_item,
                     unsigned style)
{
    for (uint32_t i = 0; i < def->n_fields; i++) {
        if (i || !in_item) put_indent(out, indent);
        if (put_field(out, walk, &def->fields[i], indent, style)) return -1;
    }
    return 0;
}

int nm_walk_print(struct nm_text_out *out, const struct nm_def *def, const void *cdr, size_t size, unsigned style,
                  struct nm_err *err)
{
    struct nm_walk walk;
    if (nm_walk_begin(&walk, def, cdr, size, err)) return -1;
    put(out, "");
    if (def->empty || (style & NM_TEXT_JSON)) return put_line(out, &walk, def, style);
    return put_block(out, &walk, def, 0, false, style);
}

int nm_walk_print_member(struct nm_text_out *out, struct nm_walk *walk, const struct nm_def_field *field, bool one,
                         unsigned style)
{
    bool block = field->kind == NM_STRUCT && !(style & NM_TEXT_JSON);
    uint32_t n;
    put(out, "");
    if (block && !one) {
        if (nm_walk_count(walk, field, &n)) return -1;
        if (!n) put(out, "[]");
        return put_items(out, walk, field, n, 0, style);
    }
    if (block && !stands_in_a_line(field->def)) return put_block(out, walk, field->def, 0, false, style);
    return put_member(out, walk, field, one, style);
}
