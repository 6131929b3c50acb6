/* Any text as a field file: refused with sentences, or read. */
#include <stddef.h>
#include <stdint.h>

#include "sim/field.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_pitch pitch;
    struct nm_err err = {0};
    if (nm_pitch_parse(&pitch, "fuzz.yaml", (const char *)data, size, &err) == 0) nm_pitch_painted(&pitch, 0.1, 0.2);
    return 0;
}
