/* Reads logs, whole ones and ones that were cut off at any byte, from memory or from a file. Three ways, each on top of
 * the one before:
 *
 *   nm_mcap_scan      every record in the order of the file, also of one without an end: all up to the cut
 *   nm_mcap_contents  what the log holds: from its summary, or by a scan where there is none
 *   nm_mcap_query     messages of some channels and some time, in the order of their log time
 *
 * Nothing in a file is trusted: lengths are checked against the bytes there are, chunks are unpacked up to a limit and
 * their CRC is checked before a message leaves them. A fault is a sentence with the byte. Memory grows with the largest
 * chunk; no call is meant for the inside of a cycle. */
#pragma once

#include "base/arena.h"
#include "codec/mcap.h"
#include "codec/mcap_pack.h"

/* ---- bytes ---- */

/* Called now and then with the bytes that are done, where all of a log is read. */
struct nm_mcap_progress {
    void (*tell)(void *user, uint64_t done, uint64_t all);
    void *user;
};

struct nm_mcap_source {
    const char *name; /* for sentences                                        */
    uint64_t size;
    uint64_t chunk_most;  /* unpacked bytes of a chunk; NM_MCAP_CHUNK_MOST unless set */
    const uint8_t *bytes; /* all of them, or NULL: then they are in a file            */
    int file;
    const struct nm_mcap_progress *progress; /* NULL: nobody is interested */
};
struct nm_mcap_source nm_mcap_memory(const char *name, const void *bytes, size_t size);
/* The name is kept, not copied. Close it with nm_mcap_close. */
int nm_mcap_open(struct nm_mcap_source *source, const char *path, struct nm_err *err);
void nm_mcap_close(struct nm_mcap_source *source);

/* The part of a source that was read last. */
struct nm_mcap_window {
    uint8_t *bytes;
    uint64_t from;
    size_t n, size;
};
/* n bytes from `offset` on, until the next call; NULL with a sentence where there are not so many or the disk fails. */
const uint8_t *nm_mcap_look(const struct nm_mcap_source *source, struct nm_mcap_window *window, uint64_t offset,
                            size_t n, struct nm_err *err);
void nm_mcap_window_free(struct nm_mcap_window *window);

/* Reads the record at an offset of the file. -1 with a sentence; also for an opcode that is not known. */
int nm_mcap_record_at(const struct nm_mcap_source *source, struct nm_mcap_window *window, uint64_t offset,
                      struct nm_mcap_record *record, struct nm_err *err);

/* CRC of a range of the file. */
int nm_mcap_crc_of(const struct nm_mcap_source *source, uint64_t from, uint64_t to, uint32_t *crc, struct nm_err *err);

/* ---- a chunk, unpacked ---- */

struct nm_mcap_unpacked {
    uint8_t *bytes; /* own memory, grows */
    size_t n, size;
    bool whole; /* false: as much as came out of a chunk that is cut off */
};
/* Reads the chunk at an offset and unpacks it; size and CRC are checked. Of a chunk in which the file ends as much is
 * unpacked as possible: then its length, and that of its packed records, are what is there. -1 with a sentence. */
int nm_mcap_chunk_at(const struct nm_mcap_source *source, struct nm_mcap_window *window,
                     struct nm_mcap_unpacker *unpacker, uint64_t offset, struct nm_mcap_record *record,
                     struct nm_mcap_unpacked *to, struct nm_err *err);
void nm_mcap_unpacked_free(struct nm_mcap_unpacked *unpacked);

/* The record at *at inside a chunk, which moves on: 1, 0 at the end, -1 with a sentence. Only schemas, channels and
 * messages may be there; opcodes that are not known are passed over. */
int nm_mcap_chunk_next(const struct nm_mcap_unpacked *chunk, const struct nm_mcap_spot *spot, size_t *at,
                       struct nm_mcap_record *record, struct nm_err *err);

/* ---- every record in the order of the file ---- */

enum nm_mcap_got {
    NM_MCAP_GOT = 1,
    NM_MCAP_END = 0,      /* behind the footer and its magic                                                  */
    NM_MCAP_CUT = -1,     /* the bytes end here, or make no sense from here on; a sentence                    */
    NM_MCAP_DAMAGED = -2, /* this record cannot be read; a sentence; the next call goes on behind it          */
};

struct nm_mcap_scan {
    const struct nm_mcap_source *source;
    uint64_t at;     /* of the next record in the file             */
    uint64_t good;   /* end of the last record that was whole      */
    bool into;       /* set it: chunks are followed by what is in them, not only passed over */
    bool data_ended; /* DataEnd was seen                           */
    bool ended;      /* the footer was seen                        */

    /* the chunk whose records come now */
    bool in_chunk;
    uint64_t chunk_offset;
    size_t chunk_at;
    struct nm_mcap_unpacked chunk;
    struct nm_mcap_unpacker unpacker;
    struct nm_mcap_window window;
};
void nm_mcap_scan_begin(struct nm_mcap_scan *scan, const struct nm_mcap_source *source);
enum nm_mcap_got nm_mcap_scan_next(struct nm_mcap_scan *scan, struct nm_mcap_record *record, struct nm_err *err);
void nm_mcap_scan_end(struct nm_mcap_scan *scan);
/* Tells those who are interested how far it is. */
void nm_mcap_scan_tell(const struct nm_mcap_scan *scan);

/* ---- what a log holds ---- */

/* A message outside of chunks. */
struct nm_mcap_loose {
    uint64_t time, offset;
    uint32_t channel; /* place in the list */
};

struct nm_mcap_contents {
    struct nm_bytes profile, library;
    uint32_t n_schemas, n_channels, n_chunks, n_attachments, n_metadata;
    struct nm_mcap_schema *schemas;
    struct nm_mcap_channel *channels;
    uint64_t *counts; /* messages of each of the channels */
    struct nm_mcap_chunk_index *chunks;
    struct nm_mcap_attachment_index *attachments;
    struct nm_mcap_metadata_index *metadata;
    uint64_t n_loose;
    struct nm_mcap_loose *loose; /* only after a scan */
    uint64_t messages, first, last;
    bool summary;      /* taken from the summary; otherwise the whole file was read                        */
    bool whole;        /* the file has its end                                                             */
    uint64_t end;      /* where reading ended                                                              */
    uint64_t orphans;  /* messages without a channel, which are left out                                   */
    uint64_t damaged;  /* chunks that cannot be read, seen only by a scan                            */
    struct nm_err why; /* without a summary: what was found instead                                  */
    uint32_t *schema_at, *channel_at; /* by id: place in the list + 1, 0 for none */
    struct nm_arena arena;
};
/* -1 only if it is no MCAP file at all or cannot be read; whatever is left of a log is its contents. */
int nm_mcap_contents_read(struct nm_mcap_contents *contents, const struct nm_mcap_source *source, struct nm_err *err);
/* The same by the summary alone; -1 where there is none that can be used, and `why` tells the reason. */
int nm_mcap_contents_summary(struct nm_mcap_contents *contents, const struct nm_mcap_source *source);
void nm_mcap_contents_free(struct nm_mcap_contents *contents);
const struct nm_mcap_schema *nm_mcap_schema_of(const struct nm_mcap_contents *contents, uint16_t id);
/* Its place in the list, -1 if there is none. */
int nm_mcap_channel_of(const struct nm_mcap_contents *contents, uint16_t id);

/* ---- messages in the order of time ---- */

struct nm_mcap_query_options {
    uint64_t from, to;      /* from <= log time < to; to 0: no end                                        */
    const bool *channels;   /* by place in the list of contents; NULL: all                                */
    uint64_t overlap_bytes; /* memory for chunks that overlap in time; 1 GiB unless given                 */
};
struct nm_mcap_query;
/* Contents and source must outlive it. Messages of one time come in the order of the file. */
struct nm_mcap_query *nm_mcap_query_new(const struct nm_mcap_source *source, const struct nm_mcap_contents *contents,
                                        const struct nm_mcap_query_options *options);
/* 1 and a message, whose data live until the next call; 0 at the end; -1 with a sentence: then a chunk is left out, and
 * the next call goes on behind it. `channel`: place in the list. */
int nm_mcap_query_next(struct nm_mcap_query *query, struct nm_mcap_message *message, uint32_t *channel,
                       struct nm_err *err);
void nm_mcap_query_free(struct nm_mcap_query *query);

/* ---- repair ---- */

struct nm_mcap_repair {
    uint64_t messages; /* that were saved                                               */
    uint64_t damaged;  /* chunks and other records that could not be read               */
    uint64_t orphans;  /* messages whose channel was lost                               */
    uint64_t end;      /* how far the log made sense                                    */
    bool whole;        /* it had its end                                                */
};
/* Rewrites whatever can be read of a log into a new one that is whole, with all indexes. The profile is that of the old
 * one. `found` tells what was wrong with it; -1 with a sentence in `err` only if nothing could be written or the
 * source is no MCAP. */
int nm_mcap_recover(const struct nm_mcap_source *source, const struct nm_mcap_write_options *options,
                    nm_mcap_sink *sink, void *user, struct nm_mcap_repair *repair, struct nm_err *found,
                    struct nm_err *err);

/* ---- strict check ---- */

/* Reads everything and holds it against everything else: order and framing, every CRC, message and chunk indexes,
 * statistics, summary offsets. Returns the number of faults, each a sentence in `faults`. What is allowed but makes the
 * log slow or impossible to use for others (no summary, no indexes) is in `notes`. */
uint32_t nm_mcap_check(const struct nm_mcap_source *source, struct nm_err *faults, struct nm_err *notes);
