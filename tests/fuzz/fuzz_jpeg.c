/* Any bytes as a JPEG: a picture inside the room it was given, or one sentence; and what was decoded can be encoded. */
#include <stdint.h>
#include <stdlib.h>

#include "codec/jpeg.h"
#include "codec/thumbnail.h"

enum { ROOM = 3 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t small[ROOM], jpeg[ROOM];
    struct nm_err err = {0};
    struct nm_pixels pixels, thumb;
    size_t n;
    uint8_t *rgb = malloc(ROOM); /* an end that a sanitizer sees */
    int bad = nm_jpeg_decode(data, size, rgb, ROOM, &pixels, &err);
    if (!bad != !err.n) abort();
    if (!bad) {
        if (!nm_pixels_check(&pixels, &err) || pixels.n > ROOM) abort();
        if (nm_thumbnail(&pixels, small, sizeof small, &thumb, &err)) abort();
        if (nm_jpeg_encode(&thumb, NM_JPEG_QUALITY, jpeg, sizeof jpeg, &n, &err)) abort();
    }
    free(rgb);
    return 0;
}
