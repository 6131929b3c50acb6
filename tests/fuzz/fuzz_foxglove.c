/* What a client of the live server sends, as text (first byte odd) or as a frame (even): any bytes at all, understood
 * or refused with a sentence. What is understood stays inside its limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/foxglove.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t most)
{
    if (text && strlen(text) > most) abort();
}

static void read_text(const char *text, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_fox_request request;
    int bad = nm_fox_request_read(&arena, text, size, &request, &err);
    if (!bad != !err.n) abort();
    if (!bad) {
        if (request.op >= NM_FOX_OPS || request.n > NM_FOX_ITEMS) abort();
        check_text(request.id, NM_FOX_NAME);
        check_text(request.uri, NM_FOX_URI);
        for (uint32_t i = 0; i < request.n; i++) {
            check_text(request.items[i].topic, NM_FOX_NAME);
            check_text(request.items[i].name, NM_FOX_NAME);
        }
    }
    nm_arena_free(&arena);
}

static void read_frame(const uint8_t *bytes, size_t size)
{
    struct nm_err err = {0};
    struct nm_fox_frame frame;
    uint8_t head[64];
    int bad = nm_fox_frame_read(bytes, size, &frame, &err);
    if (!bad != !err.n) abort();
    if (bad) return;
    if (frame.data < bytes || frame.data + frame.size != bytes + size) abort();
    if (strlen(frame.encoding) >= sizeof frame.encoding) abort();
    if (!nm_fox_service_head(head, sizeof head, frame.id, frame.call, frame.encoding)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    if (data[0] & 1)
        read_text((const char *)data + 1, size - 1);
    else
        read_frame(data + 1, size - 1);
    return 0;
}
