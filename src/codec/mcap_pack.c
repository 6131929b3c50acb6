#include "codec/mcap_pack.h"

#include <string.h>
#include <lz4frame.h>
#define ZSTD_STATIC_LINKING_ONLY /* a context in memory that we give: nothing is allocated while a robot records */
#include <zstd.h>

enum {
    WORTH = 1024, /* bytes: shorter chunks are stored, as the reference writer does                      */
    SAVES = 50,   /* a chunk that shrinks by less than one part in so many is stored: it is faster to read */
};

struct nm_mcap_packer {
    enum nm_mcap_packing packing;
    int level;
    ZSTD_CCtx *zstd;
};

static const char *const names[] = {[NM_MCAP_STORED] = "", [NM_MCAP_LZ4] = "lz4", [NM_MCAP_ZSTD] = "zstd"};
enum { PACKINGS = sizeof names / sizeof *names };

const char *nm_mcap_packing_name(enum nm_mcap_packing packing) { return names[packing]; }

int nm_mcap_packing_named(struct nm_bytes name)
{
    for (int i = 0; i < PACKINGS; i++)
        if (nm_bytes_are(name, names[i])) return i;
    return -1;
}

struct nm_mcap_packer *nm_mcap_packer_new(struct nm_arena *arena, enum nm_mcap_packing packing, int level)
{
    struct nm_mcap_packer *packer = nm_take_n(arena, struct nm_mcap_packer, 1);
    *packer = (struct nm_mcap_packer){.packing = packing, .level = level};
    if (packing == NM_MCAP_ZSTD) {
        size_t size = ZSTD_estimateCCtxSize(level);
        packer->zstd = ZSTD_initStaticCCtx(nm_take(arena, size), size);
    }
    return packer;
}

/* Independent blocks need no memory besides the stack, and what was written of a chunk before a loss of power can be
 * read block by block. */
static LZ4F_preferences_t lz4_preferences(int level, size_t n)
{
    return (LZ4F_preferences_t){
        .frameInfo = {.blockSizeID = LZ4F_max256KB, .blockMode = LZ4F_blockIndependent, .contentSize = n},
        .compressionLevel = level,
        .autoFlush = 1};
}

size_t nm_mcap_packed_most(enum nm_mcap_packing packing, size_t most)
{
    LZ4F_preferences_t lz4 = lz4_preferences(0, most);
    size_t bounds[] = {most, LZ4F_compressFrameBound(most, &lz4), ZSTD_compressBound(most)};
    return bounds[packing] > most ? bounds[packing] : most;
}

size_t nm_mcap_pack(struct nm_mcap_packer *packer, const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
    size_t packed = 0;
    if (n < WORTH) return 0;
    if (packer->packing == NM_MCAP_ZSTD) {
        packed = ZSTD_compressCCtx(packer->zstd, to, room, from, n, packer->level);
        if (ZSTD_isError(packed)) return 0;
    } else if (packer->packing == NM_MCAP_LZ4) {
        LZ4F_preferences_t lz4 = lz4_preferences(packer->level, n);
        packed = LZ4F_compressFrame(to, room, from, n, &lz4);
        if (LZ4F_isError(packed)) return 0;
    }
    return packed < n - n / SAVES ? packed : 0;
}

void nm_mcap_unpacker_free(struct nm_mcap_unpacker *unpacker)
{
    ZSTD_freeDCtx(unpacker->zstd);
    LZ4F_freeDecompressionContext(unpacker->lz4);
    *unpacker = (struct nm_mcap_unpacker){0};
}

static size_t unpack_zstd(struct nm_mcap_unpacker *unpacker, struct nm_bytes from, uint8_t *to, size_t room,
                          bool *whole)
{
    if (!unpacker->zstd) unpacker->zstd = ZSTD_createDCtx();
    if (!unpacker->zstd) return 0;
    ZSTD_DCtx_reset(unpacker->zstd, ZSTD_reset_session_only);
    ZSTD_inBuffer in = {from.at, from.n, 0};
    ZSTD_outBuffer out = {to, room, 0};
    size_t more = 1;
    while (in.pos < in.size) {
        size_t before = in.pos + out.pos;
        more = ZSTD_decompressStream(unpacker->zstd, &out, &in);
        if (ZSTD_isError(more) || in.pos + out.pos == before) break;
    }
    *whole = more == 0 && in.pos == in.size;
    return out.pos;
}

/* In one call, which is faster; the slow way is left for what is damaged. */
static size_t unpack_zstd_whole(struct nm_mcap_unpacker *unpacker, struct nm_bytes from, uint8_t *to, size_t room,
                                bool *whole)
{
    if (!unpacker->zstd) unpacker->zstd = ZSTD_createDCtx();
    size_t n = unpacker->zstd ? ZSTD_decompressDCtx(unpacker->zstd, to, room, from.at, from.n) : 0;
    *whole = unpacker->zstd && !ZSTD_isError(n);
    return *whole ? n : unpack_zstd(unpacker, from, to, room, whole);
}

static size_t unpack_lz4(struct nm_mcap_unpacker *unpacker, struct nm_bytes from, uint8_t *to, size_t room, bool *whole)
{
    LZ4F_dctx *lz4 = unpacker->lz4;
    if (!lz4 && LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION))) return 0;
    unpacker->lz4 = lz4;
    LZ4F_resetDecompressionContext(lz4);
    const LZ4F_decompressOptions_t options = {.stableDst = 1};
    size_t used = 0, made = 0, more = 1;
    while (used < from.n) {
        size_t in = from.n - used, out = room - made;
        more = LZ4F_decompress(lz4, to + made, &out, from.at + used, &in, &options);
        if (LZ4F_isError(more)) break;
        used += in;
        made += out;
        if (!in && !out) break;
    }
    *whole = more == 0 && used == from.n;
    return made;
}

size_t nm_mcap_unpack(struct nm_mcap_unpacker *unpacker, enum nm_mcap_packing packing, struct nm_bytes from,
                      uint8_t *to, size_t room, bool *whole)
{
    *whole = false;
    if (packing == NM_MCAP_ZSTD) return unpack_zstd_whole(unpacker, from, to, room, whole);
    if (packing == NM_MCAP_LZ4) return unpack_lz4(unpacker, from, to, room, whole);
    size_t n = from.n < room ? from.n : room;
    if (n) memcpy(to, from.at, n);
    *whole = from.n <= room;
    return n;
}
