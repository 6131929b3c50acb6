/* Writes logs as rosbag2, Foxglove and we read them: chunks with message indexes, everything repeated and indexed in
 * the summary, every CRC set. All memory is taken when the writer is made and when schemas and channels are added;
 * writing messages takes none, unless the summary may grow. Bytes leave through a function, one call a chunk.
 *
 *     struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){.packing = NM_MCAP_LZ4});
 *     int imu = nm_mcap_add_channel(w, &(struct nm_mcap_channel){.schema_id = …, .topic = …}, &err);
 *     nm_mcap_start(w, write_to_file, file, &err);
 *     nm_mcap_write(w, &(struct nm_mcap_message){.channel_id = imu, .log_time = now, …}, &err);   again and again
 *     nm_mcap_finish(w, &err);
 *
 * Whatever was written up to the last nm_mcap_flush is readable after a kill or a loss of power. A schema and a channel
 * stand in the first chunk that uses them, so each file of a recording that is rotated has its own. After a fault of
 * the output the file is left as it is, and every call fails until the next nm_mcap_start. */
#pragma once

#include "codec/mcap.h"

enum nm_mcap_packing { NM_MCAP_STORED, NM_MCAP_LZ4, NM_MCAP_ZSTD };

struct nm_mcap_write_options {
    const char *profile; /* "ros2" unless given                                                             */
    const char *library; /* who wrote the file; "nutmeg" unless given                                       */
    enum nm_mcap_packing packing;
    int level;              /* of the compressor, 0: its default                                            */
    uint32_t chunk_size;    /* bytes before packing at which a chunk ends; 768 KiB unless given             */
    uint32_t message_most;  /* bytes of the largest message; 0: any, and the buffers grow with it           */
    uint32_t summary_bytes; /* room for indexes (about 100 bytes a chunk and 10 for each of its channels);
                             * 0: grows as needed, which takes memory now and then                          */
};

/* Bytes out, in order; 0, or -1 if they could not be written. */
typedef int nm_mcap_sink(void *user, const void *bytes, size_t n);

/* What the file holds so far. */
struct nm_mcap_totals {
    uint64_t bytes;       /* of the file                           */
    uint64_t messages;    /* in it and in the chunk that is open   */
    uint64_t chunks;      /* closed                                */
    uint64_t unpacked;    /* bytes of the closed chunks as written */
    uint64_t packed;      /* the same after packing                */
    uint64_t open;        /* bytes in the open chunk               */
    uint64_t first, last; /* earliest and latest log time          */
    uint32_t attachments, metadata;
};

struct nm_mcap_writer;
struct nm_mcap_writer *nm_mcap_writer_new(const struct nm_mcap_write_options *options);
void nm_mcap_writer_free(struct nm_mcap_writer *writer);

/* Both return the new id, from 1 (that in the argument is not read), or -1. Texts and data are copied. The same schema
 * again has the same id. A channel's metadata holds entries as nm_mcap_add_text makes them. */
int nm_mcap_add_schema(struct nm_mcap_writer *writer, const struct nm_mcap_schema *schema, struct nm_err *err);
int nm_mcap_add_channel(struct nm_mcap_writer *writer, const struct nm_mcap_channel *channel, struct nm_err *err);

/* Begins a file: magic and header. Schemas and channels stay from the file before. */
int nm_mcap_start(struct nm_mcap_writer *writer, nm_mcap_sink *sink, void *user, struct nm_err *err);
/* Puts a channel into the file now (which closes the open chunk), so that it is listed even without messages. */
int nm_mcap_announce(struct nm_mcap_writer *writer, int channel, struct nm_err *err);
int nm_mcap_write(struct nm_mcap_writer *writer, const struct nm_mcap_message *message, struct nm_err *err);
/* Both stand in the file before the chunk that is open. The attachment's crc is made here. */
int nm_mcap_attach(struct nm_mcap_writer *writer, const struct nm_mcap_attachment *attachment, struct nm_err *err);
int nm_mcap_describe(struct nm_mcap_writer *writer, const struct nm_mcap_metadata *metadata, struct nm_err *err);
/* Closes the open chunk and hands it over. */
int nm_mcap_flush(struct nm_mcap_writer *writer, struct nm_err *err);
/* Flush, summary, footer: the file is complete. */
int nm_mcap_finish(struct nm_mcap_writer *writer, struct nm_err *err);

struct nm_mcap_totals nm_mcap_totals(const struct nm_mcap_writer *writer);
/* Messages of one channel in the file. */
uint64_t nm_mcap_count(const struct nm_mcap_writer *writer, int channel);
