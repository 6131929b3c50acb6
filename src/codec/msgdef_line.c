/* Lines to fields and constants: types, annotations, defaults, comments. The grammar is rosidl's (rosidl_adapter), with
 * two additions of ours: `Header` alone is std_msgs/Header, and a '#' inside quotes is text. */
#include "codec/msgdef_parts.h"

#include <stdio.h>
#include <string.h>

struct reader {
    struct nm_defs *set;
    struct nm_def *def;
    struct nm_spot spot;
    bool foreign;
    uint32_t field_room, constant_room;
    struct nm_slice block; /* comment lines above what comes next */
};

struct line {
    struct nm_slice type, name, value, comment;
};

/* Comment lines as text: without '#', the one blank behind it, and indentation. */
static const char *block_text(struct reader *r)
{
    struct nm_slice rest = r->block;
    r->block = (struct nm_slice){0};
    if (!rest.n) return "";
    char *text = nm_take(r->set->arena, rest.n + 1), *to = text;
    while (rest.n) {
        struct nm_slice line = nm_slice_trim(nm_next_line(&rest));
        while (line.n && line.at[0] == '#') line = nm_slice_from(line, line.at + 1);
        line = nm_slice_trim(line);
        if (to > text) *to++ = '\n';
        if (line.n) memcpy(to, line.at, line.n);
        to += line.n;
    }
    *to = '\0';
    return text;
}

/* types */

static int read_count(struct nm_slice digits, uint32_t *count, const struct nm_spot *spot)
{
    uint64_t sum = 0;
    bool ok = digits.n > 0 && digits.n < 10;
    for (size_t i = 0; ok && i < digits.n; i++) {
        ok = nm_is_digit(digits.at[i]);
        sum = sum * 10 + (uint64_t)(digits.at[i] - '0');
    }
    if (!ok || !sum || sum > NM_DEF_SIZE)
        return nm_spot_fail(spot, "'%.*s' is no size; sizes are 1 to %d", (int)digits.n, digits.at, NM_DEF_SIZE);
    *count = (uint32_t)sum;
    return 0;
}

/* `[]`, `[N]`, `[<=N]` */
static int read_shape(struct nm_slice text, struct nm_def_field *field, const struct nm_spot *spot)
{
    if (text.n < 2 || text.at[text.n - 1] != ']')
        return nm_spot_fail(spot, "'%.*s' behind a type; arrays are [N], [] or [<=N]", (int)text.n, text.at);
    struct nm_slice inner = {text.at + 1, text.n - 2};
    field->shape = NM_SEQ;
    if (!inner.n) return 0;
    if (inner.n > 2 && inner.at[0] == '<' && inner.at[1] == '=')
        return read_count(nm_slice_from(inner, inner.at + 2), &field->bound, spot);
    field->shape = NM_ARRAY;
    return read_count(inner, &field->cap, spot);
}

static int unknown_primitive(struct nm_slice name, const struct nm_spot *spot)
{
    const char *names[NM_STRING + 1];
    char word[NM_DEF_NAME + 1];
    uint32_t n = 0;
    for (int kind = NM_BOOL; kind <= NM_STRING; kind++) names[n++] = nm_kind_name((enum nm_kind)kind);
    names[n++] = "char";
    snprintf(word, sizeof word, "%.*s", (int)name.n, name.at);
    const char *near = nm_nearest(word, names, n);
    return nm_spot_fail(spot, "'%s' is no type%s%s%s; types of messages begin with a capital letter", word,
                        near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int read_base(struct reader *r, struct nm_slice name, struct nm_def_field *field)
{
    if (nm_slice_is(name, "wstring"))
        return nm_spot_fail(&r->spot, "wstring is not supported; use string, which is UTF-8");
    if (nm_slice_is(name, "char")) name = (struct nm_slice){"uint8", 5};
    for (int kind = NM_BOOL; kind <= NM_STRING; kind++)
        if (nm_slice_is(name, nm_kind_name((enum nm_kind)kind))) {
            field->kind = (enum nm_kind)kind;
            return 0;
        }
    field->kind = NM_STRUCT;
    field->type = nm_def_full_name(r->set->arena, r->def->package, name);
    if (field->type) return 0;
    if (memchr(name.at, '/', name.n) || !name.n || !nm_word_ok(NM_WORD_ANY, name))
        return nm_spot_fail(&r->spot, "'%.*s' is no type; write package/Type", (int)name.n, name.at);
    return unknown_primitive(name, &r->spot);
}

static int read_type(struct reader *r, struct nm_slice text, struct nm_def_field *field)
{
    size_t base = 0, bound = 0;
    while (base < text.n && text.at[base] != '<' && text.at[base] != '[') base++;
    if (read_base(r, (struct nm_slice){text.at, base}, field)) return -1;
    struct nm_slice rest = nm_slice_from(text, text.at + base);
    if (rest.n && rest.at[0] == '<') {
        if (field->kind != NM_STRING || rest.n < 3 || rest.at[1] != '=')
            return nm_spot_fail(&r->spot, "'%.*s': only string has a bound here: string<=N", (int)text.n, text.at);
        for (bound = 2; bound < rest.n && rest.at[bound] != '[';) bound++;
        if (read_count((struct nm_slice){rest.at + 2, bound - 2}, &field->text_bound, &r->spot)) return -1;
        rest = nm_slice_from(rest, rest.at + bound);
    }
    return rest.n ? read_shape(rest, field, &r->spot) : 0;
}

/* annotations */

struct notes {
    uint32_t cap, len; /* 0 if not given */
    bool blob;
};

/* Takes `cap=N` and `len=N` out of a comment wherever they stand, and `blob` where only these stand before it. Returns
 * the prose that is left, all of it without `notes`; NULL after a fault. */
static const char *read_notes(struct reader *r, struct nm_slice comment, struct notes *notes)
{
    char *prose = nm_take(r->set->arena, comment.n + 1), *to = prose;
    while (comment.n) {
        size_t len = 0;
        while (len < comment.n && !nm_is_blank(comment.at[len])) len++;
        struct nm_slice word = {comment.at, len};
        comment = nm_slice_trim(nm_slice_from(comment, comment.at + len));
        while (word.n > 4 && (word.at[word.n - 1] == ',' || word.at[word.n - 1] == ';')) word.n--;
        bool cap = len >= 4 && !memcmp(word.at, "cap=", 4), room = len >= 4 && !memcmp(word.at, "len=", 4);
        if (notes && (cap || room)) {
            uint32_t *count = cap ? &notes->cap : &notes->len;
            if (read_count(nm_slice_from(word, word.at + 4), count, &r->spot)) return NULL;
        } else if (notes && to == prose && nm_slice_is(word, "blob")) {
            notes->blob = true;
        } else {
            if (to > prose) *to++ = ' ';
            memcpy(to, word.at, len);
            to += len;
        }
    }
    return prose;
}

static int note_fault(struct reader *r, const struct nm_def_field *field, const struct notes *notes)
{
    bool text = field->kind == NM_STRING, sequence = field->shape == NM_SEQ;
    const char *name = field->name;
    if (notes->blob && (!sequence || text || field->kind == NM_STRUCT))
        return nm_spot_fail(&r->spot, "%s: only an unfixed array of primitives can be a blob", name);
    if (notes->blob && notes->cap) return nm_spot_fail(&r->spot, "%s: a blob has no cap, its pool has", name);
    if (notes->blob && field->written) return nm_spot_fail(&r->spot, "%s: a blob has no default", name);
    if (notes->cap && !sequence && !(text && field->shape == NM_ONE))
        return nm_spot_fail(&r->spot, "%s: cap= is for strings and unfixed arrays", name);
    if (notes->len && (!text || field->shape == NM_ONE))
        return nm_spot_fail(&r->spot, "%s: len= is for arrays of strings%s", name, text ? "; a string has cap=" : "");
    uint32_t bound = sequence ? field->bound : field->text_bound;
    if (bound && notes->cap > bound)
        return nm_spot_fail(&r->spot, "%s: cap=%u exceeds its bound %u", name, notes->cap, bound);
    if (field->text_bound && notes->len > field->text_bound)
        return nm_spot_fail(&r->spot, "%s: len=%u exceeds its bound %u", name, notes->len, field->text_bound);
    return 0;
}

static uint32_t longest_default(const struct nm_def_field *field)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < field->n_values; i++) {
        size_t len = strlen(field->values[i].text);
        if (len > longest) longest = len;
    }
    return (uint32_t)longest;
}

static uint32_t room_of(uint32_t note, uint32_t bound, uint32_t usual, uint32_t least)
{
    return note ? note : bound ? bound : usual > least ? usual : least;
}

/* Room in memory: from the annotation, else from the bound, else what base/type.h promises or the default needs. */
static int set_room(struct reader *r, struct nm_def_field *field, const struct notes *notes)
{
    enum { TEXT = 63, ELEMENTS = 16, TEXT_IN_ARRAY = 31 };
    if (note_fault(r, field, notes)) return -1;
    bool one = field->shape == NM_ONE;
    if (field->kind == NM_STRING)
        field->len = room_of(one ? notes->cap : notes->len, field->text_bound, one ? TEXT : TEXT_IN_ARRAY,
                             longest_default(field));
    if (field->shape == NM_SEQ) field->cap = room_of(notes->cap, field->bound, ELEMENTS, field->n_values);
    if (notes->blob) {
        field->shape = NM_BLOB;
        field->cap = 0;
    }
    return 0;
}

/* lines */

static int check_default(struct reader *r, const struct nm_def_field *field)
{
    const char *name = field->name;
    if (field->shape == NM_ARRAY && field->n_values != field->cap)
        return nm_spot_fail(&r->spot, "%s has %u elements but %u defaults", name, field->cap, field->n_values);
    if (field->shape == NM_SEQ && field->n_values > field->cap)
        return nm_spot_fail(&r->spot, "%s has %u defaults but room for %u", name, field->n_values, field->cap);
    for (uint32_t i = 0; field->kind == NM_STRING && i < field->n_values; i++)
        if (strlen(field->values[i].text) > field->len)
            return nm_spot_fail(&r->spot, "%s: the default is longer than the %u bytes that fit", name, field->len);
    return 0;
}

static int read_default(struct reader *r, struct nm_def_field *field, struct nm_slice text)
{
    struct nm_arena *arena = r->set->arena;
    if (field->kind == NM_STRUCT)
        return nm_spot_fail(&r->spot, "'%.*s' behind %s: a message as member takes no default", (int)text.n, text.at,
                            field->name);
    field->written = nm_slice_text(arena, text);
    if (field->shape != NM_ONE)
        return nm_def_value_list(arena, field->kind, text, &field->values, &field->n_values, &r->spot);
    field->n_values = 1;
    field->values = nm_take_n(arena, struct nm_def_value, 1);
    return nm_def_value_read(arena, field->kind, text, field->values, &r->spot);
}

static int read_field(struct reader *r, const struct line *line)
{
    struct nm_def *def = r->def;
    struct nm_slice name = line->name;
    if (def->n_fields >= NM_DEF_FIELDS) return nm_spot_fail(&r->spot, "more than %d fields", NM_DEF_FIELDS);
    if (!nm_word_ok(r->foreign ? NM_WORD_ANY : NM_WORD_FIELD, name))
        return nm_spot_fail(&r->spot, "field name '%.*s': names are lower_case words joined by single underscores",
                            (int)name.n, name.at);
    for (uint32_t i = 0; i < def->n_fields; i++)
        if (nm_slice_is(name, def->fields[i].name))
            return nm_spot_fail(&r->spot, "field %s again; it stands in line %u", def->fields[i].name,
                                def->fields[i].line);

    struct nm_def_field *field = nm_def_add_field(r->set, def, &r->field_room);
    struct notes notes = {0};
    field->name = nm_slice_text(r->set->arena, name);
    field->line = r->spot.line;
    field->above = block_text(r);
    if (read_type(r, line->type, field)) return -1;
    field->comment = read_notes(r, line->comment, r->foreign ? NULL : &notes);
    if (!field->comment) return -1;
    if (line->value.n && read_default(r, field, line->value)) return -1;
    if (set_room(r, field, &notes)) return -1;
    return line->value.n ? check_default(r, field) : 0;
}

static int read_constant(struct reader *r, const struct line *line)
{
    struct nm_def *def = r->def;
    struct nm_slice name = line->name, value = line->value;
    struct nm_def_field as = {0};
    if (def->n_constants >= NM_DEF_FIELDS) return nm_spot_fail(&r->spot, "more than %d constants", NM_DEF_FIELDS);
    if (read_type(r, line->type, &as)) return -1;
    if (as.shape != NM_ONE || as.kind == NM_STRUCT || as.text_bound)
        return nm_spot_fail(&r->spot, "constant %.*s: constants are primitives or string", (int)name.n, name.at);
    if (!nm_word_ok(r->foreign ? NM_WORD_ANY : NM_WORD_CONSTANT, name))
        return nm_spot_fail(&r->spot, "constant name '%.*s': names are UPPER_CASE words joined by single underscores",
                            (int)name.n, name.at);
    if (!value.n && as.kind != NM_STRING)
        return nm_spot_fail(&r->spot, "constant %.*s has no value", (int)name.n, name.at);
    for (uint32_t i = 0; i < def->n_constants; i++)
        if (nm_slice_is(name, def->constants[i].name))
            return nm_spot_fail(&r->spot, "constant %s again; it stands in line %u", def->constants[i].name,
                                def->constants[i].line);

    def->constants =
        nm_grow(r->set->arena, def->constants, def->n_constants, &r->constant_room, sizeof *def->constants);
    struct nm_def_constant *constant = &def->constants[def->n_constants++];
    *constant = (struct nm_def_constant){.name = nm_slice_text(r->set->arena, name),
                                         .kind = as.kind,
                                         .written = nm_slice_text(r->set->arena, value),
                                         .above = block_text(r),
                                         .comment = read_notes(r, line->comment, NULL),
                                         .line = r->spot.line};
    return nm_def_value_read(r->set->arena, as.kind, value, &constant->value, &r->spot);
}

/* `type name [default] [# comment]` or `type NAME=value [# comment]` */
static int read_line(struct reader *r, struct nm_slice text)
{
    const char *end = text.at + text.n, *at = text.at;
    struct line line;
    while (at < end && !nm_is_blank(*at) && *at != '#') at++;
    line.type = nm_slice_to(text, at);
    struct nm_slice rest = nm_slice_trim(nm_slice_from(text, at));
    for (at = rest.at; at < end && nm_is_word(*at);) at++;
    line.name = nm_slice_to(rest, at);
    rest = nm_slice_trim(nm_slice_from(rest, at));
    if (!line.name.n) return nm_spot_fail(&r->spot, "'%.*s' is no field; a line is `type name`", (int)text.n, text.at);

    bool constant = rest.n && rest.at[0] == '=';
    if (constant) rest = nm_slice_trim(nm_slice_from(rest, rest.at + 1));
    if (!constant && rest.n && rest.at == at && rest.at[0] != '#')
        return nm_spot_fail(&r->spot, "'%.*s' directly behind the name %.*s", (int)rest.n, rest.at, (int)line.name.n,
                            line.name.at);
    if (nm_def_value_extent(rest, &line.value, &r->spot)) return -1;
    line.comment = nm_slice_trim(nm_slice_from(rest, rest.at + line.value.n));
    while (line.comment.n && line.comment.at[0] == '#') line.comment = nm_slice_from(line.comment, line.comment.at + 1);
    line.comment = nm_slice_trim(line.comment);
    return constant ? read_constant(r, &line) : read_field(r, &line);
}

/* ROS 2 knows no empty struct: it puts a member in. */
static void fill_empty(struct reader *r)
{
    r->def->empty = true;
    struct nm_def_field *field = nm_def_add_field(r->set, r->def, &r->field_room);
    field->name = "structure_needs_at_least_one_member";
    field->kind = NM_UINT8;
    field->line = r->def->line;
}

int nm_def_read(struct nm_defs *set, struct nm_def *def, struct nm_slice text, bool foreign, struct nm_spot spot)
{
    struct reader r = {.set = set, .def = def, .spot = spot, .foreign = foreign};
    int result = 0;
    bool first = true; /* the first block of comments belongs to the definition */
    for (; text.n; r.spot.line++) {
        const char *begin = text.at;
        struct nm_slice line = nm_slice_trim(nm_next_line(&text));
        bool comment = line.n && line.at[0] == '#';
        if (comment) {
            if (!r.block.n) r.block.at = begin;
            r.block.n = (size_t)(line.at + line.n - r.block.at);
            continue;
        }
        if (first && r.block.n) def->comment = block_text(&r);
        first = first && !line.n && !*def->comment;
        if (!line.n)
            r.block = (struct nm_slice){0};
        else if (line.n > NM_DEF_LINE)
            result = nm_spot_fail(&r.spot, "line of more than %d bytes", NM_DEF_LINE);
        else if (read_line(&r, line))
            result = -1;
    }
    if (first && r.block.n) def->comment = block_text(&r);
    if (!def->n_fields && !result) fill_empty(&r);
    return result;
}
