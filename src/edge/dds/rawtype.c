/* The only file that uses Cyclone's inner headers (dds/ddsi/…), which have other names in releases after 0.10. They
 * also define a `struct Header`, so no generated message may be included here. */
#include "edge/dds/rawtype.h"

#include <dds/ddsi/ddsi_keyhash.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>
#include <dds/ddsi/q_radmin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct raw_bytes { /* what dds_write is given */
    const void *bytes;
    size_t size;
};

struct raw_type {
    struct ddsi_sertype base;
    size_t most; /* bytes of a sample that are kept; 0: all */
};

struct raw_sample {
    struct ddsi_serdata base;
    uint32_t size;
    uint32_t pad;
    uint8_t bytes[]; /* a multiple of 4 of them, the rest zero, since RTPS sends whole words */
};

static struct raw_sample *raw_of(const struct ddsi_serdata *sample) { return (struct raw_sample *)(uintptr_t)sample; }

/* ---- samples ---- */

static struct raw_sample *sample_new(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t size)
{
    if (size > INT32_MAX) return NULL;
    struct raw_sample *raw = malloc(sizeof *raw + ((size + 3) & ~(size_t)3));
    if (!raw) return NULL;
    ddsi_serdata_init(&raw->base, type, kind);
    raw->size = (uint32_t)size;
    memset(raw->bytes + size, 0, (0 - size) & 3);
    return raw;
}

static void sample_free(struct ddsi_serdata *sample) { free(raw_of(sample)); }
static uint32_t sample_size(const struct ddsi_serdata *sample) { return raw_of(sample)->size; }

/* From the network: fragments in order; they may overlap. */
static struct ddsi_serdata *from_fragments(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
                                           const struct nn_rdata *fragment, size_t size)
{
    size_t most = ((const struct raw_type *)type)->most;
    struct raw_sample *raw = sample_new(type, kind, most && size > most ? most : size);
    if (!raw) return NULL;
    uint32_t have = 0;
    for (; fragment && have < raw->size; fragment = fragment->nextfrag) {
        uint32_t end = fragment->maxp1 < raw->size ? fragment->maxp1 : raw->size;
        if (fragment->min > have) break;
        if (end <= have) continue;
        const uint8_t *payload = NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_PAYLOAD_OFF(fragment));
        memcpy(raw->bytes + have, payload + (have - fragment->min), end - have);
        have = end;
    }
    if (have == raw->size) return &raw->base;
    free(raw);
    return NULL;
}

static struct ddsi_serdata *from_pieces(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
                                        ddsrt_msg_iovlen_t n, const ddsrt_iovec_t *pieces, size_t size)
{
    struct raw_sample *raw = sample_new(type, kind, size);
    if (!raw) return NULL;
    size_t have = 0;
    for (ddsrt_msg_iovlen_t i = 0; i < n && have < size; i++) {
        size_t more = pieces[i].iov_len < size - have ? pieces[i].iov_len : size - have;
        memcpy(raw->bytes + have, pieces[i].iov_base, more);
        have += more;
    }
    memset(raw->bytes + have, 0, size - have);
    return &raw->base;
}

static struct ddsi_serdata *from_keyhash(const struct ddsi_sertype *type, const struct ddsi_keyhash *hash)
{
    (void)hash;
    struct raw_sample *raw = sample_new(type, SDK_KEY, 0);
    return raw ? &raw->base : NULL;
}

static struct ddsi_serdata *from_written(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind,
                                         const void *written)
{
    const struct raw_bytes *given = written;
    size_t size = kind == SDK_DATA ? given->size : 0;
    struct raw_sample *raw = sample_new(type, kind, size);
    if (!raw) return NULL;
    memcpy(raw->bytes, given->bytes, size);
    return &raw->base;
}

/* The requested length is padded to whole words, like the bytes. */
static void to_buffer(const struct ddsi_serdata *sample, size_t from, size_t size, void *to)
{
    memcpy(to, raw_of(sample)->bytes + from, size);
}

static struct ddsi_serdata *to_piece(const struct ddsi_serdata *sample, size_t from, size_t size, ddsrt_iovec_t *piece)
{
    piece->iov_base = raw_of(sample)->bytes + from;
    piece->iov_len = (ddsrt_iov_len_t)size;
    return ddsi_serdata_ref(sample);
}

static void to_piece_end(struct ddsi_serdata *sample, const ddsrt_iovec_t *piece)
{
    (void)piece;
    ddsi_serdata_unref(sample);
}

static bool to_reader(const struct ddsi_serdata *sample, void *to, void **next, void *limit)
{
    (void)next;
    (void)limit;
    *(struct raw_bytes *)to = (struct raw_bytes){raw_of(sample)->bytes, raw_of(sample)->size};
    return true;
}

static struct ddsi_serdata *to_untyped(const struct ddsi_serdata *sample)
{
    struct raw_sample *raw = sample_new(sample->type, SDK_KEY, 0);
    if (!raw) abort();
    raw->base.type = NULL;
    return &raw->base;
}

static bool untyped_to_reader(const struct ddsi_sertype *type, const struct ddsi_serdata *sample, void *to, void **next,
                              void *limit)
{
    (void)type;
    (void)sample;
    (void)next;
    (void)limit;
    *(struct raw_bytes *)to = (struct raw_bytes){NULL, 0};
    return true;
}

static bool same_key(const struct ddsi_serdata *a, const struct ddsi_serdata *b)
{
    (void)a;
    (void)b;
    return true; /* there is none */
}

static void keyhash(const struct ddsi_serdata *sample, struct ddsi_keyhash *hash, bool force_md5)
{
    (void)sample;
    (void)force_md5;
    memset(hash, 0, sizeof *hash);
}

static size_t print(const struct ddsi_sertype *type, const struct ddsi_serdata *sample, char *to, size_t size)
{
    int n = snprintf(to, size, "%s, %u bytes", type ? type->type_name : "", raw_of(sample)->size);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size;
}

static const struct ddsi_serdata_ops sample_ops = {
    .eqkey = same_key,
    .get_size = sample_size,
    .from_ser = from_fragments,
    .from_ser_iov = from_pieces,
    .from_keyhash = from_keyhash,
    .from_sample = from_written,
    .to_ser = to_buffer,
    .to_ser_ref = to_piece,
    .to_ser_unref = to_piece_end,
    .to_sample = to_reader,
    .to_untyped = to_untyped,
    .untyped_to_sample = untyped_to_reader,
    .free = sample_free,
    .print = print,
    .get_keyhash = keyhash,
};

/* ---- the type ---- */

static void type_free(struct ddsi_sertype *type)
{
    ddsi_sertype_fini(type);
    free(type);
}

static void zero_samples(const struct ddsi_sertype *type, void *samples, size_t n)
{
    (void)type;
    memset(samples, 0, n * sizeof(struct raw_bytes));
}

static void realloc_samples(void **each, const struct ddsi_sertype *type, void *old, size_t n_old, size_t n)
{
    struct raw_bytes *samples = realloc(old, n * sizeof *samples);
    (void)type;
    if (n && !samples) abort();
    if (n > n_old) memset(samples + n_old, 0, (n - n_old) * sizeof *samples);
    for (size_t i = 0; i < n; i++) each[i] = &samples[i];
}

static void free_samples(const struct ddsi_sertype *type, void **each, size_t n, dds_free_op_t how)
{
    (void)type;
    if (n && (how & DDS_FREE_ALL_BIT)) free(each[0]);
}

/* The names are already compared, and all types here are plain bytes. */
static bool same_type(const struct ddsi_sertype *a, const struct ddsi_sertype *b)
{
    return ((const struct raw_type *)a)->most == ((const struct raw_type *)b)->most;
}

static uint32_t type_hash(const struct ddsi_sertype *type)
{
    (void)type;
    return 0;
}

static const struct ddsi_sertype_ops type_ops = {
    .version = ddsi_sertype_v0,
    .free = type_free,
    .zero_samples = zero_samples,
    .realloc_samples = realloc_samples,
    .free_samples = free_samples,
    .equal = same_type,
    .hash = type_hash,
};

dds_entity_t nm_raw_topic(dds_entity_t participant, const char *name, const char *type_name)
{
    return nm_raw_topic_most(participant, name, type_name, 0);
}

dds_entity_t nm_raw_topic_most(dds_entity_t participant, const char *name, const char *type_name, size_t most)
{
    struct raw_type *raw = calloc(1, sizeof *raw);
    if (!raw) return DDS_RETCODE_OUT_OF_RESOURCES;
    raw->most = most;
    struct ddsi_sertype *type = &raw->base;
    ddsi_sertype_init_flags(type, type_name, &type_ops, &sample_ops, DDSI_SERTYPE_FLAG_TOPICKIND_NO_KEY);
    type->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
    dds_entity_t topic = dds_create_topic_sertype(participant, name, &type, NULL, NULL, NULL);
    if (topic < 0) ddsi_sertype_unref(type);
    return topic;
}

int nm_raw_write(dds_entity_t writer, const void *bytes, size_t size)
{
    struct raw_bytes sample = {bytes, size};
    return dds_write(writer, &sample);
}

int nm_raw_take(dds_entity_t reader, struct nm_raw *samples, uint32_t n)
{
    struct ddsi_serdata *taken[NM_RAW_MOST];
    dds_sample_info_t info[NM_RAW_MOST];
    if (n > NM_RAW_MOST) n = NM_RAW_MOST;
    int got = dds_takecdr(reader, taken, n, info, DDS_ANY_STATE);
    for (int i = 0; i < got; i++) {
        samples[i] = (struct nm_raw){.sample = taken[i]};
        if (!info[i].valid_data) {
            ddsi_serdata_unref(taken[i]);
            samples[i].sample = NULL;
            continue;
        }
        samples[i].bytes = raw_of(taken[i])->bytes;
        samples[i].size = raw_of(taken[i])->size;
        samples[i].from = info[i].publication_handle;
        samples[i].written = info[i].source_timestamp;
    }
    return got;
}

void nm_raw_free(struct nm_raw *samples, int n)
{
    for (int i = 0; i < n; i++)
        if (samples[i].sample) ddsi_serdata_unref(samples[i].sample);
}
