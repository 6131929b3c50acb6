/* nutmeg train: material to train networks of the vision with. */
#include <errno.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/stopping.h"
#include "core/files.h"
#include "learn/studio.h"
#include "sim/workers.h"

struct order {
    const char *folder;
    uint64_t seed, first;
    uint32_t width, height;
    bool raw;
    struct nm_shot *shots; /* of a batch */
    bool *failed;
    uint64_t at; /* number of the batch's first picture */
};

static void name_of(uint64_t number, char to[32]) { snprintf(to, 32, "%08llu.png", (unsigned long long)number); }

static void take(void *user, uint32_t i, uint32_t hand)
{
    struct order *o = user;
    struct nm_shot *shot = &o->shots[i];
    (void)hand;
    nm_studio_take(o->seed, o->at + i, shot);
    if (o->raw) return;
    char name[32], path[1000];
    name_of(o->at + i, name);
    snprintf(path, sizeof path, "%s/images/%s", o->folder, name);
    png_image image = {
        .version = PNG_IMAGE_VERSION, .width = shot->width, .height = shot->height, .format = PNG_FORMAT_RGB};
    image.flags = PNG_IMAGE_FLAG_FAST;
    o->failed[i] = !png_image_write_to_file(&image, path, 0, shot->rgb, 0, NULL);
}

/* The files that grow from picture to picture. */
struct files {
    struct nm_labels labels;
    FILE *images, *patches, *answers;
    uint64_t n_patches;
};

static FILE *open_in(const char *folder, const char *name, struct nm_err *err)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f) nm_fail(err, "%s: %s", path, strerror(errno));
    return f;
}

static int open_files(const struct order *o, struct files *f, struct nm_err *err)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", o->folder, o->raw ? "" : "images/");
    if (nm_make_folders(path, err)) return -1;
    f->labels.csv = open_in(o->folder, "labels.csv", err);
    f->patches = open_in(o->folder, "patches.u8", err);
    f->answers = open_in(o->folder, "patches_ball.u8", err);
    f->labels.coco = o->raw ? NULL : open_in(o->folder, "coco.json", err);
    f->images = o->raw ? open_in(o->folder, "images.u8", err) : NULL;
    if (!f->labels.csv || !f->patches || !f->answers || !(o->raw ? f->images : f->labels.coco)) return -1;
    nm_labels_begin(&f->labels);
    return 0;
}

static void write_shot(const struct order *o, struct files *f, const struct nm_shot *shot, uint64_t number)
{
    char name[32];
    name_of(number, name);
    for (uint32_t i = 0; i < shot->n_labels; i++) nm_labels_add(&f->labels, name, number, &shot->labels[i]);
    if (f->images) fwrite(shot->rgb, 1, (size_t)o->width * o->height * 3, f->images);
    fwrite(shot->patch, sizeof shot->patch[0], shot->n_patches, f->patches);
    for (uint32_t i = 0; i < shot->n_patches; i++) fputc(shot->patch_is_ball[i], f->answers);
    f->n_patches += shot->n_patches;
}

static int close_files(const struct order *o, struct files *f, uint64_t made, struct nm_err *err)
{
    for (uint64_t i = 0; i < made; i++) {
        char name[32], path[48];
        name_of(o->first + i, name);
        snprintf(path, sizeof path, "images/%s", name);
        nm_labels_image(&f->labels, path, o->first + i, o->width, o->height);
    }
    nm_labels_end(&f->labels);
    FILE *const all[] = {f->labels.csv, f->labels.coco, f->images, f->patches, f->answers};
    int bad = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) bad |= ferror(all[i]) | fclose(all[i]);
    return bad ? nm_fail(err, "%s: not everything could be written", o->folder) : 0;
}

static int make(struct order *o, uint64_t count, uint32_t hands, struct nm_err *err)
{
    uint32_t batch = 8 * hands;
    struct files f = {0};
    struct nm_workers *workers = nm_workers_new(hands, err);
    if (!workers || open_files(o, &f, err)) return -1;
    struct progress progress;
    uint64_t made = 0;
    int bad = 0;
    o->shots = nm_calloc(batch, sizeof *o->shots);
    o->failed = nm_calloc(batch, sizeof *o->failed);
    uint8_t *rgb = nm_malloc((size_t)batch * o->width * o->height * 3);
    for (uint32_t i = 0; i < batch; i++)
        o->shots[i] =
            (struct nm_shot){.width = o->width, .height = o->height, .rgb = rgb + (size_t)i * o->width * o->height * 3};
    progress_begin(&progress, "drawing");
    while (made < count && !stopping() && !bad) {
        uint32_t n = (uint32_t)(count - made < batch ? count - made : batch);
        o->at = o->first + made;
        nm_workers_run(workers, n, take, o);
        for (uint32_t i = 0; i < n; i++) {
            write_shot(o, &f, &o->shots[i], o->at + i);
            if (o->failed[i]) bad = nm_fail(err, "%s: a picture could not be written", o->folder);
        }
        made += n;
        progress_tell(&progress, "%llu of %llu pictures", (unsigned long long)made, (unsigned long long)count);
    }
    progress_end(&progress);
    bad |= close_files(o, &f, made, err);
    if (!bad)
        printf("%s: %llu pictures, %llu labels, %llu patches\n", o->folder, (unsigned long long)made,
               (unsigned long long)f.labels.n, (unsigned long long)f.n_patches);
    nm_workers_free(workers);
    free(rgb), free(o->shots), free(o->failed);
    return bad;
}

static int data(int argc, char **argv)
{
    struct order o = {0};
    const char *size = "320x240";
    int64_t count = 100, seed = 1, first = 0, hands = sysconf(_SC_NPROCESSORS_ONLN);
    bool raw = false;
    const struct flag flags[] = {
        TEXT("output", &o.folder, "FOLDER", "where everything is written", .letter = 'o'),
        WHOLE("count", &count, 1, 1e9, "N", "number of pictures (default: 100)", .letter = 'n'),
        WHOLE("seed", &seed, 0, 1e15, "N", "another seed, other pictures (default: 1)"),
        WHOLE("first", &first, 0, 1e12, "N", "number of the first picture (default: 0)"),
        TEXT("size", &size, "WxH", "of the pictures (default: 320x240)"),
        WHOLE("workers", &hands, 1, 256, "N", "threads (default: the cores of this machine)"),
        SWITCH("raw", &raw, "bytes of all pictures in one file, images.u8, instead of PNG and COCO"),
        {0}};
    const struct usage usage =
        USAGE("nutmeg train data", "-o FOLDER", flags,
              "Draws labelled pictures of games that never were: other halls, light, balls, robots and\n"
              "cameras in each. Writes images/*.png, labels.csv, coco.json, and patches of 32 x 32 grey\n"
              "pixels (patches.u8; patches_ball.u8 has a 1 for each that shows a ball). A picture\n"
              "depends on its seed and number alone.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct nm_err err = {0};
    char rest;
    if (sscanf(size, "%ux%u%c", &o.width, &o.height, &rest) != 2 || o.width < 64 || o.height < 48 || o.width > 1920 ||
        o.height > 1920)
        nm_fail(&err, "--size wants pixels such as 320x240, not '%s'", size);
    if (!o.folder) nm_fail(&err, "where to? Say -o FOLDER");
    if (err.n) return complain(&err), EXIT_USAGE;
    o.seed = (uint64_t)seed, o.first = (uint64_t)first, o.raw = raw;
    stop_by_signals();
    if (make(&o, (uint64_t)count, (uint32_t)hands, &err)) return complain(&err), EXIT_FAILED;
    return interrupted() ? tell_interrupted("the later pictures are missing") : EXIT_OK;
}

int cmd_train(int argc, char **argv)
{
    const struct verb verbs[] = {
        {"data", "draws labelled pictures", data},
        {0},
    };
    return verbs_run("nutmeg train", "Material to train networks of the vision with.", verbs, argc, argv);
}
