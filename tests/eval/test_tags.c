/* nutmeg eval vision on folders of strangers: what is wrong with their tables and images is said, and nothing is
 * written outside the folder of pictures. */
#include <png.h>

#include "cmd/eval.h"
#include "cmd/said.h"

static void write_text(const char *name, const char *text)
{
    FILE *to = fopen(name, "w");
    assert_non_null(to);
    fputs(text, to);
    fclose(to);
}

static void draw(const char *name, uint32_t width, uint32_t height)
{
    png_image png = {.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_GRAY};
    uint8_t *grey = calloc(width, height);
    assert_non_null(grey);
    assert_true(png_image_write_to_file(&png, name, 0, grey, 0, NULL));
    free(grey);
}

static int begin(void **state)
{
    (void)state;
    assert_int_equal(enter_folder(), 0);
    write_text("annotations.csv", "image,class,x,y,w,h\na.png,ball,nan,inf,-1e999,1e308\na.png,robot\n");
    return 0;
}

/* The images are these; the evaluation ends with this code and sentence. */
static void expect(const char *images, int code, const char *part)
{
    char table[200];
    snprintf(table, sizeof table, "image,ball_complete\n%s\n", images);
    write_text("images.csv", table);
    assert_ends(eval_vision, code, "vision . --pictures out/pictures", part);
}

static void pictures_stay_in_their_folder(void **state)
{
    (void)state;
    draw("a.png", 64, 48);
    expect("a.png,1", 0, "vision: 1 images");
    assert_int_equal(access("out/pictures/a.png_vision.png", F_OK), 0);
    expect("../../a.png,1", 1, "is not the name of an image in the folder");
    expect("/etc/a.png,1", 1, "is not the name of an image in the folder");
    expect(",1", 1, "is not the name of an image in the folder");
}

/* They would count as images in which nothing was found. */
static void images_that_no_vision_looks_at_are_refused(void **state)
{
    (void)state;
    draw("a.png", 1300, 40);
    expect("a.png,1", 1, "1300 x 40 pixels");
    draw("a.png", 1, 1);
    expect("a.png,1", 1, "0 x 1 pixels");
    draw("a.png", 1280, 1280);
    expect("a.png,1", 0, "vision: 1 images");
}

/* A floor that is missed ends the command with code 1, and one that is kept does not. */
static void floors_are_kept(void **state)
{
    (void)state;
    write_text("floors.csv", "line-up,what,recall,precision\nvision,ball,0.4,0.9\nother,ball,1,1\n");
    assert_ends(eval_vision, 0, "vision sim --images 1-3 --write album", "vision: 3 images");
    assert_ends(eval_vision, 0, "vision album --floors floors.csv", "all 1 floors are kept");
    write_text("floors.csv", "line-up,what,recall,precision\nvision,circle,0.1,0.1\nvision,ball,0.4,0.9\n");
    assert_ends(eval_vision, 1, "vision album --floors floors.csv", "1 of 2 floors of floors.csv are missed");
    write_text("floors.csv", "line-up,what,recall,precision\nvision,wing,0.1,0.1\n");
    assert_ends(eval_vision, 1, "vision album --floors floors.csv", "'wing' is not something that is evaluated");
    write_text("album/images.csv", "image,camera_x,camera_y,camera_z,camera_qw,camera_qx,camera_qy,camera_qz\n"
                                   "000001.jpg,0,0,0.5,9,0,0,1e300\n");
    assert_ends(eval_vision, 1, "vision album", "does not have length 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pictures_stay_in_their_folder, begin, leave_folder),
        cmocka_unit_test_setup_teardown(floors_are_kept, begin, leave_folder),
        cmocka_unit_test_setup_teardown(images_that_no_vision_looks_at_are_refused, begin, leave_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
