/* Requests to the control socket: any bytes at all, understood or refused with a sentence. What is understood stays
 * inside its limits, and written again it is understood again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json.h"
#include "edge/control/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    if (text && (!*text || strlen(text) > NM_REQUEST_TEXT)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    struct nm_request request;
    if (nm_request_parse(&arena, (const char *)data, size, &request, &err)) {
        if (!err.n) abort();
        struct nm_json json;
        nm_json_begin(&json, 1 << 16);
        nm_json_text(&json, NULL, err.text);
        nm_json_end(&json);
    } else {
        if (err.n || request.op >= NM_CONTROL_OPS || request.n_set > NM_REQUEST_SETS) abort();
        const char *const texts[] = {request.topic, request.instance, request.param, request.plugin, request.layer};
        for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++) check_text(texts[i]);
        for (uint32_t i = 0; i < request.n_set; i++) check_text(request.set[i]);
    }
    nm_arena_free(&arena);
    return 0;
}
