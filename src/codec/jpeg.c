/* The library reports a fault by calling back and does not expect to be returned to: `struct guard` takes the sentence
 * and jumps out to the one place of each function that cleans up. What changes after the jump is set stands in structs,
 * never in locals. */
#include "codec/jpeg.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

struct guard {
    struct jpeg_error_mgr manager; /* first: the library knows only this */
    jmp_buf out;
    const char *what;
    struct nm_err *err;
};

static void leave(j_common_ptr library)
{
    struct guard *guard = (struct guard *)library->err;
    char text[JMSG_LENGTH_MAX];
    library->err->format_message(library, text);
    nm_fail(guard->err, "%s: %s", guard->what, text);
    longjmp(guard->out, 1);
}

/* A warning is damage: the picture would be shown wrong. Only bytes between its parts, which many cameras leave there,
 * do no harm. */
static void hear(j_common_ptr library, int level)
{
    if (level < 0 && library->err->msg_code != JWRN_EXTRANEOUS_DATA) leave(library);
}

static void keep_quiet(j_common_ptr library) { (void)library; }

static struct jpeg_error_mgr *guard_with(struct guard *guard, const char *what, struct nm_err *err)
{
    guard->what = what;
    guard->err = err;
    jpeg_std_error(&guard->manager);
    guard->manager.error_exit = leave;
    guard->manager.emit_message = hear;
    guard->manager.output_message = keep_quiet;
    return &guard->manager;
}

/* ---- encoding ---- */

struct encoder {
    struct jpeg_compress_struct library; /* first: callbacks find the rest through it */
    struct jpeg_destination_mgr room;
    struct guard guard;
    const struct nm_pixels *in;
    const struct nm_pixel_format *format;
    uint8_t *out;
    size_t cap;
};

size_t nm_jpeg_room(uint32_t width, uint32_t height)
{
    return ((size_t)width + 15) / 16 * 16 * (((size_t)height + 15) / 16 * 16) * 4 + 2048;
}

static void begin_room(j_compress_ptr library)
{
    struct encoder *e = (struct encoder *)library;
    e->room.next_output_byte = e->out;
    e->room.free_in_buffer = e->cap;
}

static boolean no_more_room(j_compress_ptr library)
{
    struct encoder *e = (struct encoder *)library;
    nm_fail(e->guard.err, "a JPEG of %u by %u pixels does not fit in %zu bytes", e->in->width, e->in->height, e->cap);
    longjmp(e->guard.out, 1);
}

static void end_room(j_compress_ptr library) { (void)library; }

static J_COLOR_SPACE colours_of(const struct nm_pixel_format *format)
{
    static const struct {
        const char *order;
        J_COLOR_SPACE space;
    } spaces[] = {
        {"y", JCS_GRAYSCALE},   {"rgb", JCS_EXT_RGB},   {"bgr", JCS_EXT_BGR},
        {"rgba", JCS_EXT_RGBX}, {"bgra", JCS_EXT_BGRX},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (format->order && !strcmp(spaces[i].order, format->order)) return spaces[i].space;
    return JCS_YCbCr;
}

static void encode_plain(struct encoder *e)
{
    struct jpeg_compress_struct *library = &e->library;
    while (library->next_scanline < library->image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(e->in->data + (size_t)library->next_scanline * e->in->step);
        jpeg_write_scanlines(library, &row, 1);
    }
}

/* Every second byte of eight, from the lowest on. */
static uint64_t every_second(uint64_t x)
{
    x &= 0x00ff00ff00ff00ff;
    x = (x | x >> 8) & 0x0000ffff0000ffff;
    return (x | x >> 16) & 0xffffffff;
}

/* Two pairs at once, byte order of the machine: a tenth of the time that single bytes take. */
static void part_two(const uint8_t *from, bool light_first, JSAMPROW y, JSAMPROW u, JSAMPROW v)
{
    uint64_t all;
    memcpy(&all, from, sizeof all);
    uint64_t even = every_second(all), odd = every_second(all >> 8);
    uint64_t light = light_first ? even : odd, colour = light_first ? odd : even;
    uint64_t u_two = every_second(colour), v_two = every_second(colour >> 8);
    memcpy(y, &light, 4);
    memcpy(u, &u_two, 2);
    memcpy(v, &v_two, 2);
}

/* One row of pairs into its three planes, the last values repeated up to the end of the last block. */
static void part_row(const struct encoder *e, const uint8_t *from, uint32_t across, JSAMPROW y, JSAMPROW u, JSAMPROW v)
{
    uint32_t pairs = (e->in->width + 1) / 2, i = 0;
    const uint8_t *light = from + e->format->y0, *colour = from + e->format->u0;
    for (; i + 2 <= pairs; i += 2) part_two(from + 4 * i, light < colour, y + 2 * i, u + i, v + i);
    for (; i < pairs; i++) {
        y[2 * i] = light[4 * i];
        y[2 * i + 1] = light[4 * i + 2];
        u[i] = colour[4 * i];
        v[i] = colour[4 * i + 2];
    }
    if (e->in->width % 2) y[2 * pairs - 1] = y[2 * pairs - 2]; /* the second pixel of the last pair is outside */
    memset(y + 2 * pairs, y[2 * pairs - 1], across - 2 * pairs);
    memset(u + pairs, u[pairs - 1], across / 2 - pairs);
    memset(v + pairs, v[pairs - 1], across / 2 - pairs);
}

/* 4:2:2 goes in as the planes that JPEG stores itself, eight rows at a time. */
static void encode_pairs(struct encoder *e)
{
    struct jpeg_compress_struct *library = &e->library;
    j_common_ptr common = (j_common_ptr)library;
    uint32_t across = (e->in->width + 2 * DCTSIZE - 1) / (2 * DCTSIZE) * 2 * DCTSIZE;
    JSAMPARRAY planes[3];
    for (int k = 0; k < 3; k++)
        planes[k] = library->mem->alloc_sarray(common, JPOOL_IMAGE, k ? across / 2 : across, DCTSIZE);
    while (library->next_scanline < library->image_height) {
        for (uint32_t i = 0; i < DCTSIZE; i++) {
            uint32_t y = library->next_scanline + i, last = library->image_height - 1;
            const uint8_t *from = e->in->data + (size_t)(y < last ? y : last) * e->in->step;
            part_row(e, from, across, planes[0][i], planes[1][i], planes[2][i]);
        }
        jpeg_write_raw_data(library, planes, DCTSIZE);
    }
}

static void encode(struct encoder *e, int quality)
{
    struct jpeg_compress_struct *library = &e->library;
    jpeg_create_compress(library);
    library->dest = &e->room;
    library->image_width = e->in->width;
    library->image_height = e->in->height;
    library->input_components = e->format->paired ? 3 : (int)e->format->bytes;
    library->in_color_space = colours_of(e->format);
    jpeg_set_defaults(library);
    jpeg_set_quality(library, quality, TRUE);
    if (e->format->paired) {
        library->raw_data_in = TRUE;
        library->comp_info[0].h_samp_factor = 2;
        library->comp_info[0].v_samp_factor = 1;
    }
    jpeg_start_compress(library, TRUE);
    (e->format->paired ? encode_pairs : encode_plain)(e);
    jpeg_finish_compress(library);
}

int nm_jpeg_encode(const struct nm_pixels *in, int quality, uint8_t *out, size_t cap, size_t *n, struct nm_err *err)
{
    struct encoder e = {.in = in, .out = out, .cap = cap, .format = nm_pixels_check(in, err)};
    if (!e.format) return -1;
    if (quality < 1 || quality > 100) return nm_fail(err, "a JPEG's quality is 1 to 100, not %d", quality);
    e.library.err = guard_with(&e.guard, "JPEG", err);
    e.room.init_destination = begin_room;
    e.room.empty_output_buffer = no_more_room;
    e.room.term_destination = end_room;
    if (setjmp(e.guard.out)) {
        jpeg_destroy_compress(&e.library);
        return -1;
    }
    encode(&e, quality);
    jpeg_destroy_compress(&e.library);
    *n = cap - e.room.free_in_buffer;
    return 0;
}

/* ---- decoding ---- */

struct decoder {
    struct jpeg_decompress_struct library; /* first */
    struct jpeg_progress_mgr progress;
    struct guard guard;
};

/* A progressive picture may have as many passes over all its blocks as its bytes allow: hours of work in a small file.
 */
static void watch_passes(j_common_ptr library)
{
    struct decoder *d = (struct decoder *)library;
    if (d->library.input_scan_number <= NM_JPEG_SCANS) return;
    nm_fail(d->guard.err, "a JPEG with more than %d scans is refused", NM_JPEG_SCANS);
    longjmp(d->guard.out, 1);
}

static void read_head(struct decoder *d, const uint8_t *bytes, size_t n)
{
    struct jpeg_decompress_struct *library = &d->library;
    jpeg_create_decompress(library);
    d->progress.progress_monitor = watch_passes;
    library->progress = &d->progress;
    jpeg_mem_src(library, bytes, n);
    jpeg_read_header(library, TRUE);
    if (library->image_width <= NM_PIXELS_SIDE && library->image_height <= NM_PIXELS_SIDE) return;
    nm_fail(d->guard.err, "a JPEG of %u by %u pixels: each side may have %d", library->image_width,
            library->image_height, NM_PIXELS_SIDE);
    longjmp(d->guard.out, 1);
}

static void decode(struct decoder *d, uint8_t *out, size_t cap)
{
    struct jpeg_decompress_struct *library = &d->library;
    size_t step = (size_t)library->image_width * 3;
    if (step * library->image_height > cap) {
        nm_fail(d->guard.err, "a JPEG of %u by %u pixels needs %zu bytes, there is room for %zu", library->image_width,
                library->image_height, step * library->image_height, cap);
        longjmp(d->guard.out, 1);
    }
    library->out_color_space = JCS_RGB;
    jpeg_start_decompress(library);
    while (library->output_scanline < library->output_height) {
        JSAMPROW row = out + step * library->output_scanline;
        jpeg_read_scanlines(library, &row, 1);
    }
    jpeg_finish_decompress(library);
}

int nm_jpeg_size(const uint8_t *bytes, size_t n, uint32_t *width, uint32_t *height, struct nm_err *err)
{
    struct decoder d = {0};
    d.library.err = guard_with(&d.guard, "JPEG", err);
    if (setjmp(d.guard.out)) {
        jpeg_destroy_decompress(&d.library);
        return -1;
    }
    read_head(&d, bytes, n);
    *width = d.library.image_width;
    *height = d.library.image_height;
    jpeg_destroy_decompress(&d.library);
    return 0;
}

int nm_jpeg_decode(const uint8_t *bytes, size_t n, uint8_t *out, size_t cap, struct nm_pixels *pixels,
                   struct nm_err *err)
{
    struct decoder d = {0};
    d.library.err = guard_with(&d.guard, "JPEG", err);
    if (setjmp(d.guard.out)) {
        jpeg_destroy_decompress(&d.library);
        return -1;
    }
    read_head(&d, bytes, n);
    decode(&d, out, cap);
    uint32_t width = d.library.output_width, height = d.library.output_height;
    jpeg_destroy_decompress(&d.library);
    *pixels = (struct nm_pixels){width, height, width * 3, "rgb8", out, (size_t)width * 3 * height};
    return 0;
}
