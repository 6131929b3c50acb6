/* Shared by the msgdef files only. */
#ifndef NM_CODEC_MSGDEF_PARTS_H
#define NM_CODEC_MSGDEF_PARTS_H

#include "codec/msgdef.h"

/* where a fault is */
struct nm_spot {
    const char *file;
    uint32_t line;
    struct nm_err *err;
};
int nm_spot_fail(const struct nm_spot *spot, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* piece of a text, not terminated */
struct nm_slice {
    const char *at;
    size_t n;
};

char *nm_slice_text(struct nm_arena *arena, struct nm_slice slice);
bool nm_slice_is(struct nm_slice slice, const char *text);
struct nm_slice nm_slice_trim(struct nm_slice slice);
struct nm_slice nm_slice_to(struct nm_slice whole, const char *end); /* from the start of `whole` */
struct nm_slice nm_slice_from(struct nm_slice whole, const char *at);

struct nm_slice nm_next_line(struct nm_slice *rest); /* cuts it off `rest`, without its end */
bool nm_is_blank(char c);
bool nm_is_digit(char c);
bool nm_is_word(char c);

/* Room for one more in an array that lives in the arena; doubles it when full. */
void *nm_grow(struct nm_arena *arena, void *array, uint32_t n, uint32_t *room, size_t size);

/* One value, or a list `[a, b]` of them, of a primitive or a string. */
int nm_def_value_read(struct nm_arena *arena, enum nm_kind kind, struct nm_slice text, struct nm_def_value *value,
                      const struct nm_spot *spot);
int nm_def_value_list(struct nm_arena *arena, enum nm_kind kind, struct nm_slice text, struct nm_def_value **values,
                      uint32_t *n, const struct nm_spot *spot);
/* The part of a line that is the value; what follows must be empty or a comment. */
int nm_def_value_extent(struct nm_slice rest, struct nm_slice *value, const struct nm_spot *spot);

/* A new definition in the set, named package/kind/stem+suffix; NULL when the set is full. */
struct nm_def *nm_defs_new(struct nm_defs *set, const char *package, const char *kind, const char *stem,
                           const char *suffix, const struct nm_spot *spot);
struct nm_def_field *nm_def_add_field(struct nm_defs *set, struct nm_def *def, uint32_t *room);

/* Reads the text of one definition; goes on after a fault, so that all are told. */
int nm_def_read(struct nm_defs *set, struct nm_def *def, struct nm_slice text, bool foreign, struct nm_spot spot);

/* Adds what ROS 2 derives from the parts already in the set. */
int nm_defs_derive(struct nm_defs *set, const struct nm_def_source *source, const struct nm_spot *spot);

/* Full name of `pkg/Type`, `pkg/msg/Type` or `Type` (in `package`); NULL if it is no legal name. */
const char *nm_def_full_name(struct nm_arena *arena, const char *package, struct nm_slice written);

enum nm_word { NM_WORD_FIELD, NM_WORD_CONSTANT, NM_WORD_TYPE, NM_WORD_PACKAGE, NM_WORD_ANY };
bool nm_word_ok(enum nm_word kind, struct nm_slice word);

#endif
