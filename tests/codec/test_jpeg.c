/* A camera frame comes back from JPEG as it went in, within what compression costs, in every encoding; what is no
 * picture, too large or cut short is refused with a sentence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codec/jpeg.h"
#include "sensor_msgs/Image.h"

enum { MOST = 400 * 400 };

static uint8_t pixels[MOST * 4], bytes[MOST * 4], rgb[MOST * 3];

/* Light and colours that change slowly, as in a picture. */
static void truth(uint32_t x, uint32_t y, double yuv[3])
{
    yuv[0] = 128 + 80 * sin(x * 0.05) * cos(y * 0.04);
    yuv[1] = 128 + 40 * sin(y * 0.03);
    yuv[2] = 128 + 40 * cos(x * 0.03);
}

static uint8_t level(double x) { return (uint8_t)lround(fmin(fmax(x, 0), 255)); }

/* JFIF's conversion (BT.601, full range). */
static void to_rgb(const double yuv[3], uint8_t to[3])
{
    to[0] = level(yuv[0] + 1.402 * (yuv[2] - 128));
    to[1] = level(yuv[0] - 0.344136 * (yuv[1] - 128) - 0.714136 * (yuv[2] - 128));
    to[2] = level(yuv[0] + 1.772 * (yuv[1] - 128));
}

static struct nm_pixels paint(const char *encoding, uint32_t width, uint32_t height, uint32_t gap)
{
    struct nm_pixels in = {.width = width, .height = height, .encoding = encoding, .data = pixels, .step = 1 << 20};
    in.n = (size_t)1 << 40;
    const struct nm_pixel_format *format = nm_pixels_check(&in, NULL);
    assert_non_null(format);
    in.step = nm_pixel_row(format, width) + gap;
    in.n = (size_t)in.step * height;
    assert_true(in.n <= sizeof pixels);
    memset(pixels, 0xee, in.n);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            double yuv[3];
            uint8_t value[3], *at = pixels + (size_t)y * in.step;
            truth(x, y, yuv);
            to_rgb(yuv, value);
            if (format->paired) {
                at += x / 2 * 4;
                at[format->y0 + 2 * (x % 2)] = level(yuv[0]);
                if (!(x % 2)) at[format->u0] = level(yuv[1]), at[format->u0 + 2] = level(yuv[2]);
            } else if (format->bytes == 1) {
                at[x] = level(yuv[0]);
            } else {
                for (uint32_t k = 0; k < 3; k++)
                    at[x * format->bytes + (format->order[0] == 'b' ? 2 - k : k)] = value[k];
            }
        }
    return in;
}

/* Root of the mean square of the difference to the truth, in levels. */
static double error_of(const struct nm_pixels *out, bool grey)
{
    double sum = 0;
    for (uint32_t y = 0; y < out->height; y++)
        for (uint32_t x = 0; x < out->width; x++) {
            double yuv[3];
            uint8_t value[3];
            truth(x, y, yuv);
            if (grey) yuv[1] = yuv[2] = 128;
            to_rgb(yuv, value);
            for (int k = 0; k < 3; k++) sum += pow(value[k] - out->data[y * out->step + x * 3 + (uint32_t)k], 2);
        }
    return sqrt(sum / (3.0 * out->width * out->height));
}

static void test_every_encoding_comes_back(void **state)
{
    (void)state;
    static const char *const encodings[] = {"mono8",  "rgb8",        "bgr8", "rgba8", "bgra8",
                                            "yuv422", "yuv422_yuy2", "uyvy", "yuyv"};
    static const uint32_t sizes[][3] = {{320, 240, 0}, {321, 243, 0}, {17, 9, 5}, {1, 1, 0}, {15, 1, 3}, {2, 33, 0}};
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            struct nm_err err = {0};
            struct nm_pixels in = paint(encodings[i], sizes[k][0], sizes[k][1], sizes[k][2]), out;
            size_t n;
            uint32_t width, height;
            if (nm_jpeg_encode(&in, 95, bytes, nm_jpeg_room(in.width, in.height), &n, &err)) fail_msg("%s", err.text);
            assert_int_equal(nm_jpeg_size(bytes, n, &width, &height, &err), 0);
            assert_int_equal(width, in.width);
            assert_int_equal(height, in.height);
            if (nm_jpeg_decode(bytes, n, rgb, sizeof rgb, &out, &err)) fail_msg("%s", err.text);
            assert_int_equal(out.width, in.width);
            assert_int_equal(out.height, in.height);
            assert_string_equal(out.encoding, "rgb8");
            double error = error_of(&out, i == 0);
            if (error > 3) fail_msg("%s %ux%u: %.2f levels off", encodings[i], in.width, in.height, error);
        }
}

static void test_quality_buys_bytes(void **state)
{
    (void)state;
    struct nm_pixels in = paint("yuv422_yuy2", 320, 240, 0);
    size_t low, high;
    assert_int_equal(nm_jpeg_encode(&in, 30, bytes, sizeof bytes, &low, NULL), 0);
    assert_int_equal(nm_jpeg_encode(&in, 95, bytes, sizeof bytes, &high, NULL), 0);
    assert_true(low * 2 < high);
    assert_true(high < in.n / 4);
}

static void test_an_image_message_is_encoded(void **state)
{
    (void)state;
    struct nm_pixels in = paint("bgr8", 64, 48, 0), out;
    Image image = {.width = 64, .height = 48, .step = in.step, .data = {.data = pixels, .n = (uint32_t)in.n}};
    size_t n;
    nm_text(image.encoding, "bgr8");
    assert_int_equal(nm_jpeg_encode_image(&image, NM_JPEG_QUALITY, bytes, sizeof bytes, &n, NULL), 0);
    assert_int_equal(nm_jpeg_decode(bytes, n, rgb, sizeof rgb, &out, NULL), 0);
    assert_true(error_of(&out, false) < 5);
}

static void refused(const struct nm_pixels *in, size_t cap, int quality, const char *why)
{
    struct nm_err err = {0};
    size_t n = 77;
    assert_int_equal(nm_jpeg_encode(in, quality, bytes, cap, &n, &err), -1);
    if (!strstr(err.text, why)) fail_msg("'%s' is not in: %s", why, err.text);
    assert_int_equal(n, 77);
}

static void test_what_is_no_image_is_refused(void **state)
{
    (void)state;
    struct nm_pixels good = paint("rgb8", 64, 48, 0), bad = good;
    bad.encoding = "bayer_rggb8";
    refused(&bad, sizeof bytes, 80, "encoded as `bayer_rggb8`");
    bad = good, bad.n--;
    refused(&bad, sizeof bytes, 80, "has only 9215 bytes");
    bad = good, bad.step = 100;
    refused(&bad, sizeof bytes, 80, "rows of 100 bytes");
    bad = good, bad.width = 0;
    refused(&bad, sizeof bytes, 80, "0 by 48 pixels");
    bad = good, bad.height = UINT32_MAX;
    refused(&bad, sizeof bytes, 80, "1 to 16384");
    refused(&good, sizeof bytes, 0, "quality is 1 to 100");
    refused(&good, 100, 80, "does not fit in 100 bytes");
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    struct nm_pixels in = paint("yuv422_yuy2", 48, 32, 0), out;
    size_t n;
    assert_int_equal(nm_jpeg_encode(&in, 80, bytes, sizeof bytes, &n, NULL), 0);
    for (size_t cut = 0; cut + 2 < n; cut++) {
        struct nm_err err = {0};
        assert_int_equal(nm_jpeg_decode(bytes, cut, rgb, sizeof rgb, &out, &err), -1);
        assert_int_equal(err.n, 1);
    }
}

static void test_a_picture_without_room_is_refused(void **state)
{
    (void)state;
    struct nm_pixels in = paint("mono8", 48, 32, 0), out;
    struct nm_err err = {0};
    size_t n;
    assert_int_equal(nm_jpeg_encode(&in, 80, bytes, sizeof bytes, &n, NULL), 0);
    assert_int_equal(nm_jpeg_decode(bytes, n, rgb, 48 * 32 * 3 - 1, &out, &err), -1);
    assert_non_null(strstr(err.text, "needs 4608 bytes"));
    assert_int_equal(nm_jpeg_decode(bytes, n, rgb, 48 * 32 * 3, &out, NULL), 0);
}

/* Any single byte changed: either a picture inside its room, or one sentence. */
static void test_damage_is_survived(void **state)
{
    (void)state;
    struct nm_pixels in = paint("yuv422", 48, 32, 0), out;
    size_t n;
    assert_int_equal(nm_jpeg_encode(&in, 80, bytes, sizeof bytes, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        struct nm_err err = {0};
        uint8_t was = bytes[i];
        bytes[i] = (uint8_t)(was ^ (1 + i % 255));
        int bad = nm_jpeg_decode(bytes, n, rgb, sizeof rgb, &out, &err);
        assert_int_equal(err.n, bad ? 1 : 0);
        bytes[i] = was;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_encoding_comes_back),   cmocka_unit_test(test_quality_buys_bytes),
        cmocka_unit_test(test_an_image_message_is_encoded), cmocka_unit_test(test_what_is_no_image_is_refused),
        cmocka_unit_test(test_every_cut_is_refused),        cmocka_unit_test(test_a_picture_without_room_is_refused),
        cmocka_unit_test(test_damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
