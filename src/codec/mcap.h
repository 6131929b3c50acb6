/* MCAP, the container of our logs (mcap.dev; foxglove/mcap, website/docs/spec): its records, one at a time, to and from
 * bytes. A file is
 *     magic, Header, data section (Schema, Channel, Message, Chunk …), DataEnd,
 *     summary section (copies and indexes of all that), SummaryOffsets, Footer, magic
 * and a record is an opcode, the 64-bit length of its content, and the content, little endian throughout. What the
 * records hold stands in one table (nm_mcap_layouts); writing, reading and naming fields all go through it.
 *
 * Reading trusts nothing: every length is checked against the bytes there are, and a fault is one sentence with the
 * place. Logs as a whole are read by mcap_read.h and written by mcap_write.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define NM_MCAP_MAGIC "\x89MCAP0\r\n"

enum {
    NM_MCAP_MAGIC_SIZE = 8,
    NM_MCAP_FRAME = 9,            /* bytes before a record's content: opcode and length                */
    NM_MCAP_MESSAGE_HEAD = 31,    /* bytes of a Message record before its data                         */
    NM_MCAP_TAIL = 9 + 20 + 8,    /* Footer and magic: the last bytes of a file                        */
    NM_MCAP_CHUNK_MOST = 1 << 28, /* uncompressed bytes of a chunk that a reader takes memory for      */
    NM_MCAP_IDS = 1 << 16,        /* schemas, and channels, of a file                                  */
};

enum nm_mcap_op {
    NM_MCAP_HEADER = 1,
    NM_MCAP_FOOTER,
    NM_MCAP_SCHEMA,
    NM_MCAP_CHANNEL,
    NM_MCAP_MESSAGE,
    NM_MCAP_CHUNK,
    NM_MCAP_MESSAGE_INDEX,
    NM_MCAP_CHUNK_INDEX,
    NM_MCAP_ATTACHMENT,
    NM_MCAP_ATTACHMENT_INDEX,
    NM_MCAP_STATISTICS,
    NM_MCAP_METADATA,
    NM_MCAP_METADATA_INDEX,
    NM_MCAP_SUMMARY_OFFSET,
    NM_MCAP_DATA_END,
    NM_MCAP_OPS /* behind the last one known */
};

/* Bytes that belong to somebody else: a text without a NUL, data, or the entries of a map. */
struct nm_bytes {
    const uint8_t *at;
    size_t n;
};
struct nm_bytes nm_bytes_of(const char *text);
bool nm_bytes_equal(struct nm_bytes a, struct nm_bytes b);
bool nm_bytes_are(struct nm_bytes bytes, const char *text);

/* Times are ns since 1970, or since whatever epoch the file's author chose. */
struct nm_mcap_schema {
    uint16_t id; /* from 1 */
    struct nm_bytes name, encoding, data;
};

struct nm_mcap_channel {
    uint16_t id, schema_id; /* schema 0: without one */
    struct nm_bytes topic, message_encoding;
    struct nm_bytes metadata; /* entries: nm_mcap_next_text */
};

struct nm_mcap_message {
    uint16_t channel_id;
    uint32_t sequence;
    uint64_t log_time, publish_time;
    struct nm_bytes data;
};

struct nm_mcap_chunk {
    uint64_t message_start_time, message_end_time, uncompressed_size;
    uint32_t uncompressed_crc; /* 0: not made */
    struct nm_bytes compression, records;
};

struct nm_mcap_chunk_index {
    uint64_t message_start_time, message_end_time;
    uint64_t chunk_start_offset, chunk_length;
    struct nm_bytes message_index_offsets; /* entries: nm_mcap_next_count, channel and offset in the file */
    uint64_t message_index_length;
    struct nm_bytes compression;
    uint64_t compressed_size, uncompressed_size;
};

struct nm_mcap_attachment {
    uint64_t log_time, create_time;
    struct nm_bytes name, media_type, data;
    uint32_t crc; /* of the content before it; 0: not made */
};

struct nm_mcap_attachment_index {
    uint64_t offset, length, log_time, create_time, data_size;
    struct nm_bytes name, media_type;
};

struct nm_mcap_statistics {
    uint64_t message_count;
    uint16_t schema_count;
    uint32_t channel_count, attachment_count, metadata_count, chunk_count;
    uint64_t message_start_time, message_end_time;
    struct nm_bytes channel_message_counts; /* entries: nm_mcap_next_count */
};

struct nm_mcap_metadata {
    struct nm_bytes name, metadata; /* entries: nm_mcap_next_text */
};

struct nm_mcap_metadata_index {
    uint64_t offset, length;
    struct nm_bytes name;
};

struct nm_mcap_record {
    uint8_t op;      /* enum nm_mcap_op                                                            */
    bool in_chunk;   /* then its offset counts from the first uncompressed byte of the chunk       */
    uint64_t offset; /* of its opcode                                                              */
    uint64_t length; /* with the frame                                                             */
    union {
        struct {
            struct nm_bytes profile, library;
        } header;
        struct {
            uint64_t summary_start, summary_offset_start; /* 0: no such section                    */
            uint32_t summary_crc;
        } footer;
        struct nm_mcap_schema schema;
        struct nm_mcap_channel channel;
        struct nm_mcap_message message;
        struct nm_mcap_chunk chunk;
        struct {
            uint16_t channel_id;
            struct nm_bytes records; /* entries: nm_mcap_next_entry */
        } message_index;
        struct nm_mcap_chunk_index chunk_index;
        struct nm_mcap_attachment attachment;
        struct nm_mcap_attachment_index attachment_index;
        struct nm_mcap_statistics statistics;
        struct nm_mcap_metadata metadata;
        struct nm_mcap_metadata_index metadata_index;
        struct {
            uint8_t group_opcode;
            uint64_t group_start, group_length;
        } summary_offset;
        struct {
            uint32_t data_section_crc;
        } data_end;
    };
};

/* What a field is on disk; in the record it is the integer of that width, or nm_bytes. */
enum nm_mcap_kind {
    NM_MCAP_U8,
    NM_MCAP_U16,
    NM_MCAP_U32,
    NM_MCAP_U64,
    NM_MCAP_BYTES32, /* u32 length, bytes            */
    NM_MCAP_BYTES64, /* u64 length, bytes            */
    NM_MCAP_REST,    /* bytes up to the record's end */
    NM_MCAP_TEXTS,   /* u32 length of all entries, then text and text …                */
    NM_MCAP_COUNTS,  /* the same with u16 and u64                                      */
    NM_MCAP_ENTRIES, /* the same with time and u64                                     */
};

struct nm_mcap_field {
    const char *name; /* as the specification spells it */
    enum nm_mcap_kind kind;
    uint32_t offset; /* in struct nm_mcap_record       */
};

struct nm_mcap_layout {
    const char *name; /* NULL: no such opcode */
    uint32_t n_fields;
    bool fixed; /* never grows: bytes behind the last field are a fault */
    const struct nm_mcap_field *fields;
};
extern const struct nm_mcap_layout nm_mcap_layouts[NM_MCAP_OPS];

/* Where something stands, for sentences: "match.mcap: byte 120: ", or with the chunk around it. */
struct nm_mcap_spot {
    const char *file;
    bool in_chunk;
    uint64_t chunk;  /* offset of the chunk in the file */
    uint64_t offset; /* in the file or in the chunk     */
};
int nm_mcap_fail(const struct nm_mcap_spot *spot, struct nm_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A piece of a foreign text for a sentence or a terminal: cut at `room`, control characters as '?'. */
const char *nm_mcap_clean(char *to, size_t room, struct nm_bytes text);

/* Writes a record with its frame, all but offset and length from `record`. Returns its bytes; 0 where they do not fit.
 */
size_t nm_mcap_encode(const struct nm_mcap_record *record, uint8_t *to, size_t room);
size_t nm_mcap_size(const struct nm_mcap_record *record);

/* Reads the content of a record with a known opcode; `record` holds op, offset and length already. The pieces of the
 * record point into the content. Entries of maps are checked, too: the functions below cannot fail on them. */
int nm_mcap_decode(struct nm_mcap_record *record, struct nm_bytes content, const struct nm_mcap_spot *spot,
                   struct nm_err *err);

/* The next entry, cut off the front; false behind the last one. */
bool nm_mcap_next_text(struct nm_bytes *map, struct nm_bytes *key, struct nm_bytes *value);
bool nm_mcap_next_count(struct nm_bytes *map, uint16_t *key, uint64_t *value);
bool nm_mcap_next_entry(struct nm_bytes *array, uint64_t *time, uint64_t *offset);
/* The value under a key; an empty one with at NULL where there is none. */
struct nm_bytes nm_mcap_text_at(struct nm_bytes map, const char *key);

/* Appends an entry to a map that is being built in `to`; returns the bytes used then, 0 where it does not fit. */
size_t nm_mcap_add_text(uint8_t *to, size_t used, size_t room, struct nm_bytes key, struct nm_bytes value);
size_t nm_mcap_add_count(uint8_t *to, size_t used, size_t room, uint16_t key, uint64_t value);
