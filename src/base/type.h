/* What a message looks like in memory, as tables. nmgen writes one `struct nm_type` for every .msg, .srv and .action
 * part; everything that works on messages it does not know (CDR, text, comparison, logs, viewers, mailboxes) reads
 * these tables instead of having code for each type.
 *
 * A message is one flat C struct:
 *   bool int8 … float64     the C type of that name                     (.msg `char` is uint8, `byte` is uint8)
 *   string                  char x[cap + 1], NUL-terminated             cap from `# cap=N`, from `<=N`, or 63
 *   T[N]                    T x[N]
 *   T[], T[<=N]             struct { uint32_t n; T at[cap]; } x         cap from `# cap=N`, from `<=N`, or 16
 *   string[]                struct { uint32_t n; char at[cap][len + 1]; } x    `# cap=N len=M`, M is 31 unless given
 *   T[]  # blob             struct nm_blob x                            primitives only: counted memory from a pool
 * Members keep their order. A member whose name is a C keyword gets a trailing underscore. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/export.h"

enum nm_kind {
    NM_BOOL = 1,
    NM_BYTE,
    NM_INT8,
    NM_UINT8,
    NM_INT16,
    NM_UINT16,
    NM_INT32,
    NM_UINT32,
    NM_INT64,
    NM_UINT64,
    NM_FLOAT32,
    NM_FLOAT64,
    NM_STRING,
    NM_STRUCT,
};

enum nm_shape {
    NM_ONE,   /* T x                       */
    NM_ARRAY, /* T x[cap]                  */
    NM_SEQ,   /* struct { n; T at[cap]; }  */
    NM_BLOB,  /* struct nm_blob            */
};

/* Large payload (pixels, points, compressed bytes) that is shared, never copied. `data` belongs to a block of
 * a pool (base/blob.h); `ref` is NULL for memory that somebody else keeps alive (tests, decoders that borrow). Beyond
 * its count a sequence holds no blob: whoever lowers a count by hand releases first. */
struct nm_blob {
    uint8_t *data;
    uint32_t n;                /* elements in use                         */
    uint32_t cap;              /* bytes that fit                          */
    struct nm_blob_block *ref; /* counted block in a pool, or NULL        */
};

struct nm_field {
    const char *name;
    enum nm_kind kind;
    enum nm_shape shape;
    uint32_t offset;            /* of the member in its struct                                          */
    uint32_t cap;               /* elements: array size, sequence capacity, 1                           */
    uint32_t bound;             /* `<=N` of the sequence, 0 if unbounded                                */
    uint32_t elem;              /* bytes of one element in memory (a string: its capacity + 1)          */
    uint32_t first;             /* offset of `at` inside a sequence struct                              */
    uint32_t text_bound;        /* `string<=N`, 0 if unbounded                                          */
    const struct nm_type *type; /* of NM_STRUCT                                                         */
    const char *about;          /* the comment in the .msg: meaning, unit, frame; "" without one        */
};

struct nm_constant {
    const char *name;
    enum nm_kind kind;
    int64_t i;        /* integers and bool */
    double f;         /* floats            */
    const char *text; /* strings           */
    const char *about;
};

/* The type as a flat program with nested structs written out, so that a codec's inner loop is a copy of long runs. */
enum nm_op_code {
    NM_OP_COPY,   /* n primitives of `elem` bytes, contiguous in memory and, after aligning once, on the wire         */
    NM_OP_BOOL,   /* n bools, contiguous                                                                           */
    NM_OP_STRING, /* n strings of elem bytes each                                                                  */
    NM_OP_STRUCTS, /* n structs of `type` in an array (only where they do not flatten into runs)                    */
    NM_OP_SEQ,  /* counted: then elements as `kind`: primitives of `elem` bytes, bools, strings, or structs of `type` */
    NM_OP_BLOB, /* counted: primitives of `elem` bytes in a blob                                                 */
};

struct nm_op {
    enum nm_op_code code;
    enum nm_kind kind;          /* of the element; NM_OP_COPY: any of its width                     */
    uint32_t offset;            /* from the start of the whole message                              */
    uint32_t elem;              /* bytes of one element in memory; of primitives also on the wire   */
    uint32_t n;                 /* elements, or the capacity of a sequence                          */
    uint32_t first;             /* offset of `at` inside the sequence struct                        */
    const struct nm_type *type; /* of struct elements                                               */
};

struct nm_span {
    uint32_t offset, size;
};

struct nm_default {
    uint32_t offset, size;
    const void *bytes;
};

struct nm_type {
    const char *name;     /* sensor_msgs/msg/Imu                                                          */
    const char *c_name;   /* Imu                                                                          */
    const char *dds_name; /* sensor_msgs::msg::dds_::Imu_                                                 */
    const char *hash;     /* RIHS01_…                                                                     */
    const char *schema;   /* merged ros2msg text: own fields, then each type it needs after a line of '=' */
    uint64_t layout;      /* of the C struct: names, kinds, offsets, capacities, all nested ones too      */
    uint32_t size;        /* sizeof                                                                       */
    uint32_t stamp;       /* offset of header.stamp (or a first member `stamp`), UINT32_MAX without one   */
    bool flat;            /* no sequence and no blob anywhere: copy and compare as `size` bytes           */
    bool blobs;           /* holds a blob somewhere                                                       */
    uint32_t n_fields, n_constants, n_ops, n_blob_ops, n_spans, n_defaults;
    const struct nm_field *fields;
    const struct nm_constant *constants;
    const struct nm_op *ops;           /* the whole message                                              */
    const struct nm_op *blob_ops;      /* those of them with a blob in or below them                     */
    const struct nm_span *spans;       /* bytes to clear on reset: everything but the storage of sequences */
    const struct nm_default *defaults; /* to write after clearing (where not all zero)                    */
    const char *about;                 /* the comment at the top of the .msg                              */
};

/* Every type that nmgen knows, sorted by name. */
struct nm_types {
    uint32_t n;
    const struct nm_type *const *at;
};
extern const struct nm_types nm_all_types;
const struct nm_type *nm_type_find(const struct nm_types *types,
                                   const char *name); /* also "sensor_msgs/Imu", "Imu" if unique */

/* Sets a message to its defaults; releases its blobs. Storage of sequences is not touched, only their counts. */
NM_EXPORT void nm_reset(const struct nm_type *type, void *message);
/* A message of any type with its defaults; free() takes it back. */
void *nm_message_new(const struct nm_type *type);

/* Appends one element, reset, to a sequence member and returns it; NULL when full. For struct elements:
 *     Pose *p = nm_append(&path->poses, &Pose_type); */
#define nm_append(seq, type)                                                                                           \
    ((__typeof__(&(seq)->at[0]))nm_append_(&(seq)->n, (seq)->at, sizeof((seq)->at) / sizeof((seq)->at[0]), (type)))
NM_EXPORT void *nm_append_(uint32_t *n, void *at, size_t cap, const struct nm_type *type);

/* Copies a message; moves used bytes only. Blobs are shared: counted up here, the target's old ones counted down. */
NM_EXPORT void nm_copy(const struct nm_type *type, void *to, const void *from);

/* Copies text into a string member, cut at its capacity (on a UTF-8 boundary). */
#define nm_text(member, ...) nm_text_((member), sizeof(member), __VA_ARGS__)
NM_EXPORT void nm_text_(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A place inside a message, found by path: "header.stamp.sec", "candidates[2].confidence", "name[0]". */
struct nm_place {
    const struct nm_field *field;
    enum nm_shape shape; /* NM_ONE after an index */
    void *at;            /* the value, or the whole member if shape is not NM_ONE */
};
NM_EXPORT int nm_find(const struct nm_type *type, const void *message, const char *path, struct nm_place *place,
                      struct nm_err *err);

/* The field of a name (with its length: it may stand inside a path), or NULL; and the name that is nearest to it. */
NM_EXPORT const struct nm_field *nm_field_find(const struct nm_type *type, const char *name, size_t length);
NM_EXPORT const char *nm_field_nearest(const struct nm_type *type, const char *name, size_t length);

/* The first element of a member of any shape, and how many there are (a broken count ends at the capacity). */
NM_EXPORT void *nm_elements(const struct nm_field *field, const void *member, uint32_t *n);

/* The same with numbers: any primitive as double; -1 if the place is no number. */
NM_EXPORT int nm_number(const struct nm_place *place, double *value);

/* Calls `differs` for each differing leaf, in order: path, place in a, place in b. An element that only one of them
 * has, of any kind, is told once, with NULL for the other. Stops when `differs` (which may be NULL) returns false.
 * Floats differ when |a-b| > tolerance, NaN equals NaN. Returns the number of differences seen. */
typedef bool nm_differs(void *user, const char *path, const struct nm_place *a, const struct nm_place *b);
NM_EXPORT uint32_t nm_compare(const struct nm_type *type, const void *a, const void *b, double tolerance,
                              nm_differs *differs, void *user);

/* Blobs. */
NM_EXPORT void nm_blob_hold(struct nm_blob *blob);    /* counts up   */
NM_EXPORT void nm_blob_release(struct nm_blob *blob); /* counts down and empties the handle */
