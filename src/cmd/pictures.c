#include "cmd/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/asking.h"
#include "cmd/stopping.h"
#include "codec/jpeg.h"
#include "core/player.h"
#include "edge/camera/image_file.h"
#include "edge/live/live.h"

/* A line-up needs a module; this one does nothing. */
struct onlooker {
    struct nm *nm;
};
#define SELF struct onlooker
static void do_nothing(struct onlooker *self) { (void)self; }
static const struct nm_port no_ports[] = {{0}};
static const struct nm_module onlooker_module = {.abi = NM_ABI,
                                                 .name = "onlooker",
                                                 .about = "pictures",
                                                 .file = __FILE__,
                                                 .size = sizeof(struct onlooker),
                                                 NM_PORTS(no_ports),
                                                 .step = NM_CALL(do_nothing)};

static void answer(void *user, const void *request, void *reply)
{
    const struct pictures *p = user;
    p->answer(p->user, request, reply);
}

static int serve(const struct pictures *p, struct nm_player *player, struct nm_err *err)
{
    struct nm_desk desk = {0};
    nm_desk_add(&desk, (struct nm_desk_service){.name = "pictures",
                                                .request = &Pictures_Request_type,
                                                .reply = &Pictures_Response_type,
                                                .right = NM_DESK_WORLD,
                                                .answer = answer,
                                                .user = (void *)p});
    struct nm_live_options options = {.port = *p->port ? atoi(p->port) : NM_LIVE_PORT, .desk = &desk};
    struct nm_err busy = {0};
    struct nm_live *live = nm_live_new(player, &options, *p->port ? err : &busy);
    options.port = 0;
    if (!live && !*p->port) live = nm_live_new(player, &options, err);
    if (!live) return -1;
    int bad = nm_player_start(player, err) || nm_live_start(live, err) ? -1 : 0;
    if (!bad) {
        const char *query = strchr(nm_live_url(live), '?');
        printf("open http://127.0.0.1:%d/%s%s\n", nm_live_port(live), p->page, query ? query : "");
        fflush(stdout);
        while (!stopping() && !(p->over && p->over(p->user)) && pause_for(0.1)) {}
    }
    nm_player_stop(player);
    nm_live_free(live);
    return bad;
}

int pictures_serve(struct setup *setup, const struct pictures *p, struct nm_err *err)
{
    static const char text[] = "cycles: {pictures: {period: 100 ms, modules: [onlooker]}}\n";
    const struct nm_module *const modules[] = {&onlooker_module};
    struct nm_registry registry;
    struct nm_lineup_options options = {.root = setup->root};
    nm_registry_init(&registry, &setup->arena, modules, modules + 1);
    struct nm_lineup *lineup = nm_lineup_parse(text, strlen(text), p->page, &registry, &options, err);
    struct nm_player *player = lineup ? nm_player_new(lineup, &(struct nm_player_options){.name = p->page}, err) : NULL;
    int bad = player ? serve(p, player, err) : -1;
    if (player) nm_player_free(player);
    if (lineup) nm_lineup_free(lineup);
    return bad;
}

static size_t base64(const uint8_t *from, size_t n, char *to)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t left = (uint32_t)(n - i < 3 ? n - i : 3), w = (uint32_t)from[i] << 16;
        if (left > 1) w |= (uint32_t)from[i + 1] << 8;
        if (left > 2) w |= from[i + 2];
        for (uint32_t k = 0; k < 4; k++) to[used++] = k <= left ? letters[w >> (18 - 6 * k) & 63] : '=';
    }
    to[used] = '\0';
    return used;
}

int pictures_put(Pictures_Response *r, const char *path, uint32_t *width, uint32_t *height, struct nm_err *err)
{
    struct nm_image image;
    if (nm_image_read(path, &image, err)) return -1;
    size_t bytes = (size_t)2 * image.width * image.height, room = nm_jpeg_room(image.width, image.height), n = 0;
    struct nm_pixels pixels = {image.width, image.height, 2 * image.width, "yuv422_yuy2", image.yuyv, bytes};
    uint8_t *jpeg = nm_malloc(room);
    int bad = 0, quality = 95;
    do bad = nm_jpeg_encode(&pixels, quality, jpeg, room, &n, err);
    while (!bad && n > (sizeof r->jpeg - 4) / 4 * 3 && (quality -= 15) > 0);
    if (!bad && quality <= 0) bad = nm_fail(err, "%s is too large", path);
    if (!bad) base64(jpeg, n, r->jpeg);
    *width = image.width, *height = image.height;
    free(jpeg);
    nm_image_free(&image);
    return bad;
}
