/* Any bytes as what a player answers on its control socket: commands end, with what they understood or a sentence. */
#include <sys/socket.h>
#include <sys/un.h>

#include "edge/control/client.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int listener = -1;

static void open_listener(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fuzz_path("p.sock"));
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 8)) abort();
}

/* The player: whoever looks which players there are hangs up at once, the next one stays. */
static int accept_link(void)
{
    close(accept(listener, NULL, NULL));
    return accept(listener, NULL, NULL);
}

static void look_at(const struct nm_yaml *reply)
{
    static const char *const keys[] = {"error", "topics", "name", "value", "ok"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        nm_reply_whole(reply, keys[i]);
        nm_reply_number(reply, keys[i]);
        nm_reply_bool(reply, keys[i]);
        if (!nm_reply_text(reply, keys[i])) abort();
        nm_yaml_each(row, nm_yaml_get(reply, keys[i])) if (!nm_reply_text(row, "name")) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (listener < 0) open_listener();
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_link *link = nm_link_open(fuzz_root(), "p", &err);
    int player = accept_link();
    if (!link || player < 0) abort();
    if (size && send(player, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) abort();
    shutdown(player, SHUT_WR);
    struct nm_request request = {.op = NM_CONTROL_INFO};
    const struct nm_yaml *reply = nm_link_ask(link, &arena, &request, &err);
    if (!reply != (err.n > 0)) abort();
    while (reply) {
        look_at(reply);
        reply = nm_link_next(link, &arena, 1000, &err);
    }
    nm_link_close(link);
    close(player);
    nm_arena_free(&arena);
    return 0;
}
