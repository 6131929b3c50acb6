/* What pictures are in a log: raw ones replay to the bit, others are named as the reason where they do not. */
#include "edge/log/rig.h"

#include "sensor_msgs/Image.h"
#include "std_msgs/Int64.h"

struct painter {
    struct nm *nm;
    Image *picture;
};
#define SELF struct painter
static void painter_step(struct painter *f)
{
    if (!nm_blob_take(f->nm, f->picture, &f->picture->data, 32 * 24 * 3)) return;
    f->picture->width = 32;
    f->picture->height = 24;
    f->picture->step = 96;
    nm_text(f->picture->encoding, "rgb8");
    f->picture->data.n = 32 * 24 * 3;
    for (uint32_t i = 0; i < f->picture->data.n; i++) f->picture->data.data[i] = (uint8_t)(i + f->nm->run);
    nm_put(f->nm, f->picture);
}
static const struct nm_port painter_ports[] = {NM_OUT(picture, Image, "picture", .blob = 32 * 24 * 3), {0}};
NM_MODULE(painter, "Paints.", NM_PORTS(painter_ports), .step = NM_CALL(painter_step))

struct critic {
    struct nm *nm;
    const Image *picture;
    Int64 *opinion;
};
#undef SELF
#define SELF struct critic
static void critic_step(struct critic *f)
{
    for (uint32_t i = 0; i < f->picture->data.n; i++) f->opinion->data += f->picture->data.data[i] * (i % 7);
    nm_put(f->nm, f->opinion);
}
static const struct nm_port critic_ports[] = {NM_IN(picture, Image, "picture"), NM_OUT(opinion, Int64, "opinion"), {0}};
NM_MODULE(critic, "Looks.", NM_PORTS(critic_ports), .step = NM_CALL(critic_step))

static const char gallery[] = "cycles:\n"
                              "  easel: {period: 20 ms, modules: [painter]}\n"
                              "  wall: {period: 20 ms, modules: [critic]}\n";

static void record_gallery(const char *path, enum nm_log_images images)
{
    struct started s;
    start(&s, gallery);
    struct nm_log *log = open_log(&s, (struct nm_log_options){.path = path, .virtual_time = true, .images = images});
    for (int64_t now = 10; now <= 500; now += 10) run_until(&s, now), nm_log_poll(log);
    nm_log_free(log);
    stop(&s);
}

static void images_are_exact_raw_and_named_where_they_are_not(void **state)
{
    (void)state;
    char text[8192];
    record_gallery(in_place("raw.mcap"), NM_LOG_RAW);
    EXPECT(0, in_place("raw.mcap"), "--instance", "critic");
    assert_identical(text);
    record_gallery(in_place("jpeg.mcap"), NM_LOG_JPEG);
    EXPECT(1, in_place("jpeg.mcap"), "--instance", "critic");
    assert_non_null(strstr(text, "/picture is stored with loss (JPEG), so the results of cycle wall are not exact"));
    /* whole, the painter paints them again, and all of it is exact */
    EXPECT(0, in_place("jpeg.mcap"));
    assert_identical(text);
    record_gallery(in_place("small.mcap"), NM_LOG_THUMBNAILS);
    EXPECT(1, in_place("small.mcap"), "--instance", "critic");
    assert_non_null(strstr(text, "/picture is not in the log"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)
    const struct CMUnitTest tests[] = {
        TEST(images_are_exact_raw_and_named_where_they_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
