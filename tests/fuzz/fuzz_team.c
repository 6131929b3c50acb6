/* Bytes that pretend to be a message of a team mate, in each of the three protocols: what is read can be written in
 * every room, is never larger than the room, and can be read again. */
#include "codec/mitecom.h"
#include "codec/robocup_protobuf.h"
#include "codec/team_compact.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    size_t (*encode)(const struct nm_team_news *news, void *bytes, size_t room);
    bool (*decode)(const void *bytes, size_t n, struct nm_team_news *news);
} protocols[] = {{nm_compact_encode, nm_compact_decode},
                 {nm_mitecom_encode, nm_mitecom_decode},
                 {nm_protobuf_encode, nm_protobuf_decode}};
enum { PROTOCOLS = sizeof protocols / sizeof *protocols };

static void check(const struct nm_team_news *news, size_t room)
{
    uint8_t *bytes = malloc(room + 1);
    if (!bytes) abort();
    bytes[room] = 0x5a;
    for (int i = 0; i < PROTOCOLS; i++) {
        struct nm_team_news back;
        size_t n = protocols[i].encode(news, bytes, room);
        if (n > room || bytes[room] != 0x5a) abort();
        if (n && news->player && (!protocols[i].decode(bytes, n, &back) || back.player != news->player)) abort();
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    struct nm_team_news news;
    for (int i = 0; i < PROTOCOLS; i++) {
        if (!protocols[i].decode(data + 1, size - 1, &news)) continue;
        if (news.player > NM_NEWS_PLAYERS || news.state >= NM_NEWS_STATES || news.role >= NM_NEWS_ROLES) abort();
        if (news.n_obstacles > NM_NEWS_OBSTACLES || news.n_roles > NM_NEWS_PLAYERS || news.n_errors > NM_NEWS_ERRORS)
            abort();
        check(&news, data[0] * 2u);
        check(&news, 128);
        check(&news, 512);
    }
    return 0;
}
