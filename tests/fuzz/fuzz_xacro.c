/* xacro: what comes of it goes on to the reader of URDF. Other files are not read. */
#include <string.h>

#include "body/urdf.h"
#include "body/xacro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_arena arena = {0};
    struct nm_err err = {0};
    char *text = nm_xacro_expand(&arena, "fuzz.xacro", (const char *)data, size, false, &err);
    if (text)
        nm_urdf_parse(&arena, "fuzz.urdf", text, strlen(text), &err);
    else if (!err.n)
        __builtin_trap(); /* refused without a sentence */
    nm_arena_free(&arena);
    return 0;
}
