/* A drawing comes out the same as picture and as vector file: lines where they were drawn, texts that cannot break the
 * file they stand in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/canvas.h"

enum { WIDTH = 60, HEIGHT = 40 };

static char folder[] = "/tmp/nutmeg-canvas-XXXXXX";
static uint8_t rgb[WIDTH * HEIGHT * 3];

static int begin(void **state)
{
    (void)state;
    return !mkdtemp(folder) || chdir(folder);
}

static int end(void **state)
{
    (void)state;
    unlink("a.png");
    unlink("a.svg");
    return chdir("/") || rmdir(folder);
}

static void draw(const char *path)
{
    struct canvas canvas;
    struct nm_err err = {0};
    if (canvas_begin(&canvas, path, WIDTH, HEIGHT, &err)) fail_msg("%s", err.text);
    canvas_line(&canvas, 10, 30.5, 50, 30.5, 1, 0xff0000);
    canvas_line(&canvas, -500, 5.5, 1e6, 5.5, 1, 0x0000ff); /* beyond the edges */
    canvas_line(&canvas, 0. / 0., 1, 2, 3, 1, 0);
    canvas_text(&canvas, 5, 24, false, 0x00ff00, "I<&\x80");
    assert_int_equal(canvas_end(&canvas, &err), 0);
}

static uint32_t pixel(int x, int y)
{
    const uint8_t *at = rgb + 3 * (y * WIDTH + x);
    return (uint32_t)(at[0] << 16 | at[1] << 8 | at[2]);
}

static void a_png_has_the_pixels(void **state)
{
    (void)state;
    png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    draw("a.png");
    assert_true(png_image_begin_read_from_file(&image, "a.png"));
    image.format = PNG_FORMAT_RGB;
    assert_int_equal(image.width, WIDTH);
    assert_int_equal(image.height, HEIGHT);
    assert_true(png_image_finish_read(&image, NULL, rgb, 0, NULL));
    assert_int_equal(pixel(30, 30), 0xff0000);
    assert_int_equal(pixel(30, 32), 0xffffff);
    assert_int_equal(pixel(5, 30), 0xffffff);
    assert_int_equal(pixel(0, 5), 0x0000ff);
    assert_int_equal(pixel(WIDTH - 1, 5), 0x0000ff);
    assert_int_equal(pixel(5 + 4, 18), 0x00ff00); /* the stem of the I */
}

static void an_svg_stays_well_formed(void **state)
{
    (void)state;
    char text[2000];
    draw("a.svg");
    FILE *file = fopen("a.svg", "r");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_non_null(strstr(text, ">I&lt;&amp;?</text>"));
    assert_non_null(strstr(text, "stroke=\"#ff0000\""));
    assert_null(strstr(text, "nan"));
    assert_non_null(strstr(text, "</svg>"));
}

static void another_ending_is_refused(void **state)
{
    (void)state;
    struct canvas canvas;
    struct nm_err err = {0};
    assert_int_equal(canvas_begin(&canvas, "a.bmp", 10, 10, &err), -1);
    assert_non_null(strstr(err.text, "must end in .svg or .png"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_png_has_the_pixels),
        cmocka_unit_test(an_svg_stays_well_formed),
        cmocka_unit_test(another_ending_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
