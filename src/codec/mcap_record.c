/* Records to and from bytes, by the table of what they hold. */
#include "codec/mcap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's byte order is the machine's");

#define F(record_, field_, kind_)                                                                                      \
    {                                                                                                                  \
#field_, NM_MCAP_##kind_, offsetof(struct nm_mcap_record, record_.field_)                                      \
    }
#define LAYOUT(name_, fixed_, ...)                                                                                     \
    {                                                                                                                  \
        .name = (name_), .fixed = (fixed_),                                                                            \
        .n_fields = sizeof((const struct nm_mcap_field[]){__VA_ARGS__}) / sizeof(struct nm_mcap_field),                \
        .fields = (const struct nm_mcap_field[])                                                                       \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

const struct nm_mcap_layout nm_mcap_layouts[NM_MCAP_OPS] = {
    [NM_MCAP_HEADER] = LAYOUT("Header", false, F(header, profile, BYTES32), F(header, library, BYTES32)),
    [NM_MCAP_FOOTER] = LAYOUT("Footer", true, F(footer, summary_start, U64), F(footer, summary_offset_start, U64),
                              F(footer, summary_crc, U32)),
    [NM_MCAP_SCHEMA] = LAYOUT("Schema", false, F(schema, id, U16), F(schema, name, BYTES32),
                              F(schema, encoding, BYTES32), F(schema, data, BYTES32)),
    [NM_MCAP_CHANNEL] =
        LAYOUT("Channel", false, F(channel, id, U16), F(channel, schema_id, U16), F(channel, topic, BYTES32),
               F(channel, message_encoding, BYTES32), F(channel, metadata, TEXTS)),
    [NM_MCAP_MESSAGE] = LAYOUT("Message", true, F(message, channel_id, U16), F(message, sequence, U32),
                               F(message, log_time, U64), F(message, publish_time, U64), F(message, data, REST)),
    [NM_MCAP_CHUNK] = LAYOUT("Chunk", false, F(chunk, message_start_time, U64), F(chunk, message_end_time, U64),
                             F(chunk, uncompressed_size, U64), F(chunk, uncompressed_crc, U32),
                             F(chunk, compression, BYTES32), F(chunk, records, BYTES64)),
    [NM_MCAP_MESSAGE_INDEX] =
        LAYOUT("MessageIndex", false, F(message_index, channel_id, U16), F(message_index, records, ENTRIES)),
    [NM_MCAP_CHUNK_INDEX] = LAYOUT("ChunkIndex", false, F(chunk_index, message_start_time, U64),
                                   F(chunk_index, message_end_time, U64), F(chunk_index, chunk_start_offset, U64),
                                   F(chunk_index, chunk_length, U64), F(chunk_index, message_index_offsets, COUNTS),
                                   F(chunk_index, message_index_length, U64), F(chunk_index, compression, BYTES32),
                                   F(chunk_index, compressed_size, U64), F(chunk_index, uncompressed_size, U64)),
    [NM_MCAP_ATTACHMENT] = LAYOUT("Attachment", false, F(attachment, log_time, U64), F(attachment, create_time, U64),
                                  F(attachment, name, BYTES32), F(attachment, media_type, BYTES32),
                                  F(attachment, data, BYTES64), F(attachment, crc, U32)),
    [NM_MCAP_ATTACHMENT_INDEX] = LAYOUT("AttachmentIndex", false, F(attachment_index, offset, U64),
                                        F(attachment_index, length, U64), F(attachment_index, log_time, U64),
                                        F(attachment_index, create_time, U64), F(attachment_index, data_size, U64),
                                        F(attachment_index, name, BYTES32), F(attachment_index, media_type, BYTES32)),
    [NM_MCAP_STATISTICS] = LAYOUT("Statistics", false, F(statistics, message_count, U64),
                                  F(statistics, schema_count, U16), F(statistics, channel_count, U32),
                                  F(statistics, attachment_count, U32), F(statistics, metadata_count, U32),
                                  F(statistics, chunk_count, U32), F(statistics, message_start_time, U64),
                                  F(statistics, message_end_time, U64), F(statistics, channel_message_counts, COUNTS)),
    [NM_MCAP_METADATA] = LAYOUT("Metadata", false, F(metadata, name, BYTES32), F(metadata, metadata, TEXTS)),
    [NM_MCAP_METADATA_INDEX] = LAYOUT("MetadataIndex", false, F(metadata_index, offset, U64),
                                      F(metadata_index, length, U64), F(metadata_index, name, BYTES32)),
    [NM_MCAP_SUMMARY_OFFSET] = LAYOUT("SummaryOffset", false, F(summary_offset, group_opcode, U8),
                                      F(summary_offset, group_start, U64), F(summary_offset, group_length, U64)),
    [NM_MCAP_DATA_END] = LAYOUT("DataEnd", true, F(data_end, data_section_crc, U32)),
};

/* Of each kind: bytes of the integer itself or of the length before the bytes; 0: up to the end. */
static const uint8_t widths[] = {
    [NM_MCAP_U8] = 1,      [NM_MCAP_U16] = 2,  [NM_MCAP_U32] = 4,   [NM_MCAP_U64] = 8,    [NM_MCAP_BYTES32] = 4,
    [NM_MCAP_BYTES64] = 8, [NM_MCAP_REST] = 0, [NM_MCAP_TEXTS] = 4, [NM_MCAP_COUNTS] = 4, [NM_MCAP_ENTRIES] = 4,
};
static bool is_bytes(enum nm_mcap_kind kind) { return kind >= NM_MCAP_BYTES32; }

struct nm_bytes nm_bytes_of(const char *text) { return (struct nm_bytes){(const uint8_t *)text, strlen(text)}; }
bool nm_bytes_equal(struct nm_bytes a, struct nm_bytes b) { return a.n == b.n && (!a.n || !memcmp(a.at, b.at, a.n)); }
bool nm_bytes_are(struct nm_bytes bytes, const char *text) { return nm_bytes_equal(bytes, nm_bytes_of(text)); }

int nm_mcap_fail(const struct nm_mcap_spot *spot, struct nm_err *err, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    unsigned long long chunk = spot->chunk, offset = spot->offset;
    if (spot->in_chunk)
        return nm_fail(err, "%s: byte %llu of the chunk at byte %llu: %s", spot->file, offset, chunk, what);
    return nm_fail(err, "%s: byte %llu: %s", spot->file, offset, what);
}

const char *nm_mcap_clean(char *to, size_t room, struct nm_bytes text)
{
    size_t n = text.n < room ? text.n : room - 1;
    while (n < text.n && n && (text.at[n] & 0xc0) == 0x80) n--; /* cut between characters */
    for (size_t i = 0; i < n; i++) {
        bool c1 = text.at[i] == 0xc2 && i + 1 < n && text.at[i + 1] < 0xa0; /* a control character in two bytes */
        to[i] = (char)(text.at[i] < ' ' || text.at[i] == 0x7f || c1 ? '?' : text.at[i]);
        if (c1) to[++i] = '?';
    }
    to[n] = '\0';
    return to;
}

static struct nm_bytes bytes_in(const struct nm_mcap_record *record, const struct nm_mcap_field *field)
{
    struct nm_bytes bytes;
    memcpy(&bytes, (const uint8_t *)record + field->offset, sizeof bytes);
    return bytes;
}

size_t nm_mcap_size(const struct nm_mcap_record *record)
{
    const struct nm_mcap_layout *layout = &nm_mcap_layouts[record->op];
    size_t size = NM_MCAP_FRAME;
    for (uint32_t i = 0; i < layout->n_fields; i++) {
        size += widths[layout->fields[i].kind];
        if (is_bytes(layout->fields[i].kind)) size += bytes_in(record, &layout->fields[i]).n;
    }
    return size;
}

size_t nm_mcap_encode(const struct nm_mcap_record *record, uint8_t *to, size_t room)
{
    const struct nm_mcap_layout *layout = &nm_mcap_layouts[record->op];
    size_t size = nm_mcap_size(record);
    if (size > room) return 0;
    uint64_t content = size - NM_MCAP_FRAME;
    to[0] = record->op;
    memcpy(to + 1, &content, 8);
    to += NM_MCAP_FRAME;
    for (uint32_t i = 0; i < layout->n_fields; i++) {
        const struct nm_mcap_field *field = &layout->fields[i];
        const uint8_t *value = (const uint8_t *)record + field->offset;
        struct nm_bytes bytes = {0};
        uint64_t length;
        if (is_bytes(field->kind)) {
            bytes = bytes_in(record, field);
            length = bytes.n;
            value = (const uint8_t *)&length;
        }
        memcpy(to, value, widths[field->kind]);
        to += widths[field->kind];
        if (bytes.n) memcpy(to, bytes.at, bytes.n);
        to += bytes.n;
    }
    return size;
}

/* Cuts `n` bytes off the front; false if there are not so many. */
static bool cut(struct nm_bytes *from, size_t n, struct nm_bytes *piece)
{
    if (n > from->n) return false;
    *piece = (struct nm_bytes){from->at, n};
    from->at += n;
    from->n -= n;
    return true;
}

static bool cut_integer(struct nm_bytes *from, void *to, size_t width)
{
    struct nm_bytes piece;
    if (!cut(from, width, &piece)) return false;
    memcpy(to, piece.at, width);
    return true;
}

static bool cut_text(struct nm_bytes *from, struct nm_bytes *text)
{
    uint32_t length;
    return cut_integer(from, &length, 4) && cut(from, length, text);
}

bool nm_mcap_next_text(struct nm_bytes *map, struct nm_bytes *key, struct nm_bytes *value)
{
    return cut_text(map, key) && cut_text(map, value);
}

bool nm_mcap_next_count(struct nm_bytes *map, uint16_t *key, uint64_t *value)
{
    return cut_integer(map, key, 2) && cut_integer(map, value, 8);
}

bool nm_mcap_next_entry(struct nm_bytes *array, uint64_t *time, uint64_t *offset)
{
    return cut_integer(array, time, 8) && cut_integer(array, offset, 8);
}

struct nm_bytes nm_mcap_text_at(struct nm_bytes map, const char *key)
{
    struct nm_bytes found, value;
    while (nm_mcap_next_text(&map, &found, &value))
        if (nm_bytes_are(found, key)) return value;
    return (struct nm_bytes){0};
}

static bool entries_are_whole(enum nm_mcap_kind kind, struct nm_bytes entries)
{
    struct nm_bytes key, value;
    if (kind == NM_MCAP_COUNTS) return entries.n % 10 == 0;
    if (kind == NM_MCAP_ENTRIES) return entries.n % 16 == 0;
    while (kind == NM_MCAP_TEXTS && entries.n)
        if (!nm_mcap_next_text(&entries, &key, &value)) return false;
    return true;
}

static bool decode_field(const struct nm_mcap_field *field, struct nm_bytes *rest, struct nm_mcap_record *record,
                         uint64_t *length)
{
    uint8_t *to = (uint8_t *)record + field->offset;
    *length = field->kind == NM_MCAP_REST ? rest->n : 0;
    if (!is_bytes(field->kind)) return cut_integer(rest, to, widths[field->kind]);
    struct nm_bytes bytes;
    if (!cut_integer(rest, length, widths[field->kind]) || *length > rest->n) return false;
    cut(rest, (size_t)*length, &bytes);
    memcpy(to, &bytes, sizeof bytes);
    return true;
}

int nm_mcap_decode(struct nm_mcap_record *record, struct nm_bytes content, const struct nm_mcap_spot *spot,
                   struct nm_err *err)
{
    const struct nm_mcap_layout *layout = &nm_mcap_layouts[record->op];
    struct nm_bytes rest = content;
    for (uint32_t i = 0; i < layout->n_fields; i++) {
        const struct nm_mcap_field *field = &layout->fields[i];
        uint64_t length;
        if (!decode_field(field, &rest, record, &length)) {
            if (length)
                return nm_mcap_fail(spot, err, "%s of this %s is said to have %llu bytes, but the record has %zu more",
                                    field->name, layout->name, (unsigned long long)length, rest.n);
            return nm_mcap_fail(spot, err, "this %s of %zu bytes ends before its %s", layout->name, content.n,
                                field->name);
        }
        if (is_bytes(field->kind) && !entries_are_whole(field->kind, bytes_in(record, field)))
            return nm_mcap_fail(spot, err, "the last entry in %s of this %s is cut off", field->name, layout->name);
    }
    if (layout->fixed && rest.n) return nm_mcap_fail(spot, err, "%zu bytes too many in this %s", rest.n, layout->name);
    return 0;
}

size_t nm_mcap_add_text(uint8_t *to, size_t used, size_t room, struct nm_bytes key, struct nm_bytes value)
{
    struct nm_bytes parts[] = {key, value};
    if (room - used < 8 || key.n > room - used - 8 || value.n > room - used - 8 - key.n) return 0;
    for (int i = 0; i < 2; i++) {
        uint32_t length = (uint32_t)parts[i].n;
        memcpy(to + used, &length, 4);
        if (length) memcpy(to + used + 4, parts[i].at, length);
        used += 4 + length;
    }
    return used;
}

size_t nm_mcap_add_count(uint8_t *to, size_t used, size_t room, uint16_t key, uint64_t value)
{
    if (room - used < 10) return 0;
    memcpy(to + used, &key, 2);
    memcpy(to + used + 2, &value, 8);
    return used + 10;
}
