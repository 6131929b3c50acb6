/* Interface definitions: .msg, .srv and .action text, and the merged `ros2msg` text that logs and viewers carry. The
 * text becomes definitions in a set; linking the set finds the types that definitions name; a linked definition gives
 * its RIHS01 hash, its merged schema text and a `struct nm_type` whose tables fit a struct in memory. nmgen writes
 * these tables as C; a reader of old logs uses them as they are.
 *
 * Texts may come from anywhere (a log's schema): size, number, depth and memory are limited, and every fault is one
 * line `file:line: what and why`. All memory is the arena's.
 *
 * Behind a field a comment may give its room in memory, which is no part of the type:
 *     string frame_id            # cap=31                31 bytes of text
 *     string[] name              # cap=32 len=31         32 texts of 31 bytes
 *     geometry_msgs/Point[] path # cap=64
 *     uint8[] data               # blob                  primitives, counted memory from a pool */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/type.h"

enum {
    NM_DEF_TEXT = 1 << 20,  /* bytes of one text                       */
    NM_DEF_LINE = 4096,     /* bytes of one line                       */
    NM_DEF_NAME = 128,      /* bytes of a field, constant or type name */
    NM_DEF_FIELDS = 512,    /* fields, and as many constants, of one definition */
    NM_DEF_TYPES = 4096,    /* definitions of a set                    */
    NM_DEF_DEPTH = 32,      /* definitions inside each other           */
    NM_DEF_SIZE = 16 << 20, /* bytes of one message in memory          */
    NM_DEF_PARTS = 65536,   /* ops, spans or defaults of one type      */
};

enum nm_interface { NM_MSG, NM_SRV, NM_ACTION };

struct nm_def_value {
    int64_t i;        /* integers and bool; uint64 in two's complement */
    double f;         /* floats                                        */
    const char *text; /* strings                                       */
};

struct nm_def_field {
    const char *name;
    enum nm_kind kind;
    enum nm_shape shape;
    uint32_t cap;        /* elements: array size, room of a sequence, 1; 0 of a blob */
    uint32_t len;        /* bytes of text that fit, of strings                       */
    uint32_t bound;      /* `<=N` of the sequence, 0 if unbounded                    */
    uint32_t text_bound; /* `string<=N`, 0 if unbounded                              */
    const char *type;    /* full name, of NM_STRUCT: geometry_msgs/msg/Point         */
    struct nm_def *def;  /* the same after linking                                   */
    const char *written; /* the default as written, NULL without                     */
    uint32_t n_values;   /* the default's values                                     */
    struct nm_def_value *values;
    const char *above;   /* comment lines above, "" without          */
    const char *comment; /* prose behind it, without the annotations */
    uint32_t line;
};

struct nm_def_constant {
    const char *name;
    enum nm_kind kind;
    struct nm_def_value value;
    const char *written;
    const char *above, *comment;
    uint32_t line;
};

struct nm_def {
    const char *name;    /* sensor_msgs/msg/Imu, std_srvs/srv/SetBool_Request                         */
    const char *package; /* sensor_msgs                                                               */
    const char *stem;    /* what its file is called: Imu, SetBool                                     */
    const char *c_name;  /* after linking: Imu; with its package where two packages share the stem    */
    const char *file;
    const char *comment; /* the lines at the top */
    uint32_t line;       /* where it begins      */
    bool empty;          /* has no field of its own, only the one ROS 2 puts into empty types */
    uint32_t n_fields, n_constants;
    struct nm_def_field *fields;
    struct nm_def_constant *constants;
    uint32_t depth;       /* after linking: 1 without nested types   */
    struct nm_type *type; /* NULL until nm_def_type wants it         */
    uint32_t align;       /* of the struct, together with `type`     */
};

struct nm_defs {
    struct nm_arena *arena;
    uint32_t n, room;
    struct nm_def **at; /* sorted by name after linking           */
    bool broken;        /* a text had faults: the set cannot link */
};

/* One file. A service or an action adds every type that ROS 2 derives from it. */
struct nm_def_source {
    const char *file; /* for faults  */
    const char *package, *name;
    enum nm_interface kind;
    const char *text;
    size_t size;
};
int nm_defs_add(struct nm_defs *set, const struct nm_def_source *source, struct nm_err *err);

/* Merged text: the definition of `name`, then others after a line of '=' and a line `MSG: package/Type`. Foreign text
 * is read kindly: field names need not be snake_case, annotations are mere comments. */
int nm_defs_add_merged(struct nm_defs *set, const char *file, const char *name, const char *text, size_t size,
                       struct nm_err *err);

/* Finds every type named; refuses unknown ones, doubled ones and loops. Call it once all is added, also after faults if
 * the faults in the rest are to be told too; it then fails in any case. */
int nm_defs_link(struct nm_defs *set, struct nm_err *err);

/* By full name or package/Type; only after linking. NULL if there is none. */
struct nm_def *nm_defs_find(const struct nm_defs *set, const char *name);

/* Of a linked definition. `needs`: every type reached, sorted by name, without itself. */
struct nm_def **nm_def_needs(const struct nm_defs *set, const struct nm_def *def, uint32_t *n);
const char *nm_def_hash(const struct nm_defs *set, const struct nm_def *def);     /* RIHS01_…                      */
const char *nm_def_schema(const struct nm_defs *set, const struct nm_def *def);   /* merged, comments stripped     */
const char *nm_def_dds_name(const struct nm_defs *set, const struct nm_def *def); /* sensor_msgs::msg::dds_::Imu_  */

/* The tables for the struct in memory. Types nested in it are complete but for hash and schema, unless asked for too.
 */
const struct nm_type *nm_def_type(const struct nm_defs *set, struct nm_def *def, struct nm_err *err);

/* `float64`, or NULL for structs; the width in bytes, 0 for strings and structs. */
const char *nm_kind_name(enum nm_kind kind);
uint32_t nm_kind_width(enum nm_kind kind);
