/* nutmeg eval vision: line-ups of a vision on the same images, held against tags or the simulator's truth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"
#include "cmd/console.h"
#include "cmd/eval.h"
#include "cmd/options.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "cmd/vision_trial.h"
#include "codec/jpeg.h"
#include "core/files.h"
#include "edge/camera/image_file.h"
#include "nutmeg_msgs/Show.h"
#include "sensor_msgs/Image.h"
#include "sim/scenario.h"

enum { TAGS = 20000, TAG_NAME = 120, IMAGES = 5000, COLUMNS = 64 };

/* ---- tags: images.csv and annotations.csv of a folder ---- */

/* Names of classes in annotations.csv. `told`: the column of images.csv that says that all of them are tagged. */
static const struct {
    const char *name, *told;
    enum vision_kind kind;
    uint8_t percept;
} classes[] = {
    {"ball", "ball_complete", VISION_BALL, Percept_BALL},
    {"robot", "robot_complete", VISION_ROBOT, Percept_ROBOT},
    {"goalpost", "goalpost_complete", VISION_POST, Percept_GOAL_POST},
    {"crossing_l", "crossing_complete", VISION_CROSSING, Percept_CROSSING_L},
    {"crossing_t", "crossing_complete", VISION_CROSSING, Percept_CROSSING_T},
    {"crossing_x", "crossing_complete", VISION_CROSSING, Percept_CROSSING_X},
    {"penalty_mark", "penalty_mark_complete", VISION_MARK, Percept_PENALTY_MARK},
};
enum { CLASSES = sizeof classes / sizeof *classes };

/* Columns of images.csv with the camera's pose in base_footprint, as in a CameraPose. */
static const char *const pose_columns[] = {"camera_x",  "camera_y",  "camera_z", "camera_qw",
                                           "camera_qx", "camera_qy", "camera_qz"};
enum { POSE_COLUMNS = sizeof pose_columns / sizeof *pose_columns };

struct tag {
    char image[TAG_NAME];
    char class[24];
    double x, y, w, h; /* px */
};

struct tagged {
    char name[TAG_NAME];
    bool complete[VISION_KINDS];
    bool posed, jointed; /* the following is known */
    struct pose3 camera_to_robot;
    double q[NM_JOINTS];
};

struct tags {
    uint32_t n, n_images;
    struct tag *all;
    struct tagged *images;
};

/* The next field of a line of CSV; fields have no quotes. */
static char *field(char **line)
{
    char *begin = *line, *end = begin + strcspn(begin, ",");
    if (*end) *end++ = 0;
    *line = end;
    return begin;
}

static char *next_line(char **text)
{
    char *begin = *text, *end = begin + strcspn(begin, "\r\n");
    if (!*begin) return NULL;
    while (*end == '\r' || *end == '\n') *end++ = 0;
    *text = end;
    return begin;
}

/* A whole file as text, ended by a zero; NULL with a sentence. From the arena. */
static char *read_text(const char *path, struct nm_arena *arena, struct nm_err *err)
{
    size_t n;
    char *bytes = nm_read_whole(path, 1 << 22, &n, err), *text = bytes ? nm_take(arena, n + 1) : NULL;
    if (bytes) memcpy(text, bytes, n);
    free(bytes);
    return text;
}

/* Folders of strangers name images inside them, so that pictures of them are not written elsewhere. */
static int add_image(struct tags *tags, const char *name, struct nm_err *err)
{
    if (!*name || *name == '/' || strstr(name, "..") || strlen(name) >= TAG_NAME)
        return nm_fail(err, "images.csv: '%.200s' is not the name of an image in the folder", name);
    if (tags->n_images == IMAGES) return nm_fail(err, "images.csv names more than %d images", IMAGES);
    strcpy(tags->images[tags->n_images++].name, name);
    return 0;
}

/* A line of images.csv; `heads` are the names of its columns. */
static int read_image(struct tags *tags, const struct nm_body *body, char *const heads[], uint32_t n, char *line,
                      struct nm_err *err)
{
    double pose[POSE_COLUMNS];
    uint32_t posed = 0;
    if (add_image(tags, field(&line), err) < 0) return -1;
    struct tagged *to = &tags->images[tags->n_images - 1];
    for (uint32_t c = 1; *line && c < n; c++) {
        const char *text = field(&line);
        double value = strtod(text, NULL);
        for (uint32_t k = 0; k < CLASSES; k++)
            if (!strcmp(heads[c], classes[k].told)) to->complete[classes[k].kind] = *text == '1';
        for (uint32_t k = 0; k < POSE_COLUMNS; k++)
            if (!strcmp(heads[c], pose_columns[k]) && isfinite(value)) pose[k] = value, posed |= 1u << k;
        int32_t joint = nm_find_joint(body, heads[c]);
        if (joint >= 0 && isfinite(value)) to->q[joint] = value, to->jointed = true;
    }
    to->posed = posed == (1u << POSE_COLUMNS) - 1;
    if (!to->posed) return 0;
    struct quat rot = {pose[3], pose[4], pose[5], pose[6]};
    double square = rot.w * rot.w + rot.x * rot.x + rot.y * rot.y + rot.z * rot.z;
    if (!(square > 0.9 && square < 1.1))
        return nm_fail(err, "images.csv: the camera's quaternion of %s does not have length 1", to->name);
    to->camera_to_robot = (struct pose3){quat_normal(rot), {pose[0], pose[1], pose[2]}};
    return 0;
}

static int read_tags(const char *folder, const struct nm_body *body, struct nm_arena *arena, struct tags *tags,
                     struct nm_err *err)
{
    char *images = read_text(nm_path(arena, folder, "images.csv"), arena, err), *line, *rest = images;
    char *boxes = images ? read_text(nm_path(arena, folder, "annotations.csv"), arena, err) : NULL;
    *tags = (struct tags){.all = nm_take_n(arena, struct tag, TAGS)};
    tags->images = nm_take_n(arena, struct tagged, IMAGES);
    if (!boxes) return -1;
    char *head = next_line(&rest), *heads[COLUMNS];
    uint32_t n = 0;
    while (head && *head && n < COLUMNS) heads[n++] = field(&head);
    while ((line = next_line(&rest)))
        if (read_image(tags, body, heads, n, line, err) < 0) return -1;
    rest = boxes;
    next_line(&rest);
    while ((line = next_line(&rest))) {
        if (tags->n == TAGS) return nm_fail(err, "annotations.csv has more than %d tags", TAGS);
        struct tag *t = &tags->all[tags->n++];
        snprintf(t->image, sizeof t->image, "%s", field(&line));
        snprintf(t->class, sizeof t->class, "%s", field(&line));
        double *numbers[] = {&t->x, &t->y, &t->w, &t->h};
        for (int k = 0; k < 4; k++) *numbers[k] = strtod(field(&line), NULL);
    }
    return tags->n_images ? 0 : nm_fail(err, "%s: images.csv names no image", folder);
}

/* What counts comes first, so that it gets the percepts; a class that ends in _ignore is neither hit nor miss. */
static void truth_of(const struct tags *tags, const struct tagged *image, struct vision_truth *truth)
{
    *truth = (struct vision_truth){0};
    memcpy(truth->complete, image->complete, sizeof truth->complete);
    for (int ignored = 0; ignored < 2; ignored++)
        for (uint32_t i = 0; i < tags->n; i++) {
            const struct tag *t = &tags->all[i];
            if (strcmp(t->image, image->name)) continue;
            for (uint32_t k = 0; k < CLASSES && truth->n < VISION_THINGS; k++) {
                size_t length = strlen(classes[k].name);
                if (strncmp(t->class, classes[k].name, length) || strcmp(t->class + length, ignored ? "_ignore" : ""))
                    continue;
                truth->things[truth->n++] = (struct vision_thing){.kind = classes[k].kind,
                                                                  .percept = classes[k].percept,
                                                                  .counts = !ignored,
                                                                  .box_known = true,
                                                                  .left = t->x,
                                                                  .top = t->y,
                                                                  .wide = t->w,
                                                                  .high = t->h};
            }
        }
}

/* ---- writing such a folder ---- */

struct album {
    const char *folder; /* NULL: nothing is written */
    FILE *images, *boxes;
};

static int open_album(struct album *a, const struct nm_body *body, struct nm_arena *arena, struct nm_err *err)
{
    const char *images = nm_path(arena, a->folder, "images.csv"), *boxes = nm_path(arena, a->folder, "annotations.csv");
    if (nm_make_folders(images, err) < 0) return -1;
    if (!(a->images = fopen(images, "w")) || !(a->boxes = fopen(boxes, "w")))
        return nm_fail(err, "%s: images.csv and annotations.csv cannot be written", a->folder);
    fprintf(a->images, "image");
    for (uint32_t k = 0; k < CLASSES; k++)
        if (!k || classes[k].kind != classes[k - 1].kind) fprintf(a->images, ",%s", classes[k].told);
    for (uint32_t k = 0; k < POSE_COLUMNS; k++) fprintf(a->images, ",%s", pose_columns[k]);
    for (uint32_t j = 0; j < body->n_joints; j++) fprintf(a->images, ",%s", body->joints[j].name);
    fprintf(a->images, "\n");
    fprintf(a->boxes, "image,class,x,y,w,h\n");
    return 0;
}

static int add_picture(const struct album *a, const struct nm_body *body, const char *name,
                       const struct vision_shot *shot, struct nm_err *err)
{
    const struct nm_pixels pixels = {shot->width,   shot->height, 2 * shot->width,
                                     "yuv422_yuy2", shot->yuyv,   2 * shot->width * shot->height};
    const struct pose3 *p = &shot->camera_to_robot;
    const double pose[POSE_COLUMNS] = {p->pos.x, p->pos.y, p->pos.z, p->rot.w, p->rot.x, p->rot.y, p->rot.z};
    size_t room = nm_jpeg_room(shot->width, shot->height), n;
    char path[PATH_MAX];
    uint8_t *bytes = nm_malloc(room);
    snprintf(path, sizeof path, "%s/%s.jpg", a->folder, name);
    FILE *to = nm_jpeg_encode(&pixels, NM_JPEG_QUALITY, bytes, room, &n, err) ? NULL : fopen(path, "wb");
    bool written = to && fwrite(bytes, 1, n, to) == n;
    if (to && fclose(to)) written = false;
    free(bytes);
    if (!written) return nm_fail(err, "%s cannot be written", path);
    fprintf(a->images, "%s.jpg", name);
    for (uint32_t k = 0; k < CLASSES; k++)
        if (!k || classes[k].kind != classes[k - 1].kind)
            fprintf(a->images, ",%d", shot->truth.complete[classes[k].kind]);
    for (uint32_t k = 0; k < POSE_COLUMNS; k++) fprintf(a->images, ",%.6f", pose[k]);
    for (uint32_t j = 0; j < body->n_joints; j++) fprintf(a->images, ",%.5g", shot->q[j]);
    fprintf(a->images, "\n");
    for (uint32_t i = 0; i < shot->truth.n; i++) {
        const struct vision_thing *t = &shot->truth.things[i];
        for (uint32_t k = 0; k < CLASSES && t->box_known; k++)
            if (classes[k].kind == t->kind && (t->kind != VISION_CROSSING || classes[k].percept == t->percept))
                fprintf(a->boxes, "%s.jpg,%s%s,%.1f,%.1f,%.1f,%.1f\n", name, classes[k].name,
                        t->counts ? "" : "_ignore", t->left, t->top, t->wide, t->high);
    }
    return 0;
}

static int close_album(struct album *a, struct nm_err *err)
{
    bool bad = a->images && fclose(a->images);
    if (a->boxes && fclose(a->boxes)) bad = true;
    return bad ? nm_fail(err, "%s: not everything could be written", a->folder) : 0;
}

/* ---- the evaluation ---- */

struct evaluation {
    struct setup setup;
    const struct nm_body *body;
    const char *source, *pictures;
    uint32_t n_lineups;
    const char *lineups[EVAL_LINEUPS];
    struct vision_rig *rigs[EVAL_LINEUPS];
    struct vision_score scores[EVAL_LINEUPS];
    struct album album;
    struct texts set;
    uint64_t first, last;
    bool list, believe;
};

static int draw(const struct evaluation *e, const char *name, uint32_t lineup, const uint8_t *yuyv, uint32_t width,
                uint32_t height, const struct pose3 *camera, const struct vision_found *found, struct nm_err *err)
{
    char path[PATH_MAX];
    uint8_t *rgb = nm_malloc((size_t)3 * width * height);
    vision_draw(yuyv, width, height, &e->body->cameras[0].lens, camera, found, rgb);
    snprintf(path, sizeof path, "%s/%.100s_%.60s.png", e->pictures, name, e->lineups[lineup]);
    int bad = nm_make_folders(path, err) < 0 || sim_png(path, rgb, width, height, err) < 0 ? -1 : 0;
    free(rgb);
    return bad;
}

/* What the stages show of an image, one file each. */
static int draw_stages(const struct evaluation *e, const char *name, uint32_t lineup, const struct vision_found *found,
                       struct nm_err *err)
{
    for (uint32_t i = 0; i < found->n_shown; i++) {
        const Show *s = found->shown[i];
        char path[PATH_MAX], stage[64];
        if (s->kind != Show_IMAGE) continue;
        const Image *image = &s->image;
        uint32_t pixels = image->width * image->height;
        uint8_t *rgb = nm_malloc((size_t)3 * pixels);
        bool grey = strcmp(image->encoding, "rgb8") != 0; /* classes, which are small numbers */
        for (uint32_t k = 0; k < 3 * pixels; k++)
            rgb[k] = grey ? (uint8_t)(20 * image->data.data[k / 3]) : image->data.data[k];
        snprintf(stage, sizeof stage, "%s", s->name);
        for (char *c = stage; *c; c++)
            if (*c == '/') *c = '-';
        snprintf(path, sizeof path, "%s/%.100s_%.60s_%s.png", e->pictures, name, e->lineups[lineup], stage);
        int bad = sim_png(path, rgb, image->width, image->height, err);
        free(rgb);
        if (bad) return -1;
    }
    return 0;
}

static int look(struct evaluation *e, const char *name, const struct vision_shot *shot, const struct pose3 *camera,
                struct nm_err *err)
{
    for (uint32_t i = 0; i < e->n_lineups; i++) {
        struct vision_found found;
        vision_rig_look(e->rigs[i], shot->yuyv, shot->width, shot->height, camera, shot->q, &found);
        e->scores[i].list = e->list ? stdout : NULL;
        e->scores[i].name = name;
        vision_score(&shot->truth, &found, &e->scores[i]);
        if (e->pictures && draw(e, name, i, shot->yuyv, shot->width, shot->height, camera, &found, err) < 0) return -1;
        if (e->pictures && draw_stages(e, name, i, &found, err) < 0) return -1;
    }
    return 0;
}

/* What the robot believed before it looked: a little wrong, and in one of five images quite wrong. */
static void believe(const struct evaluation *e, uint64_t number, const struct vision_shot *shot)
{
    struct nm_dice dice = nm_dice_new(number, 0x62656c, 0);
    const struct vision_thing *ball = &shot->truth.things[0];
    double wrong = nm_dice_roll(&dice) < 0.2 ? 10 : 1, ball_off = 0.03 + 0.04 * hypot(ball->x, ball->y);
    struct vision_belief b = {.deviation = ball_off, .place_deviation = 0.05, .turn_deviation = 0.03};
    b.x = ball->x + wrong * ball_off * nm_dice_gauss(&dice);
    b.y = ball->y + wrong * ball_off * nm_dice_gauss(&dice);
    b.robot_to_field = shot->robot_to_field;
    b.robot_to_field.x += wrong * b.place_deviation * nm_dice_gauss(&dice);
    b.robot_to_field.y += wrong * b.place_deviation * nm_dice_gauss(&dice);
    b.robot_to_field.theta += wrong * b.turn_deviation * nm_dice_gauss(&dice);
    for (uint32_t i = 0; i < e->n_lineups; i++) vision_rig_believe(e->rigs[i], &b);
}

static int evaluate_sim(struct evaluation *e, struct nm_err *err)
{
    static struct vision_shot shot;
    char name[32];
    struct vision_studio *studio = vision_studio_new(&e->setup.arena, e->setup.root, e->body, err);
    if (!studio || (e->album.folder && open_album(&e->album, e->body, &e->setup.arena, err) < 0)) return -1;
    for (uint64_t n = e->first; n <= e->last && !stopping(); n++) {
        vision_studio_shoot(studio, n, &shot);
        snprintf(name, sizeof name, "%06llu", (unsigned long long)n);
        if (e->believe) believe(e, n, &shot);
        if (look(e, name, &shot, &shot.camera_to_robot, err) < 0) return -1;
        if (e->album.folder && add_picture(&e->album, e->body, name, &shot, err) < 0) return -1;
    }
    return close_album(&e->album, err);
}

static int check_size(const char *name, const struct nm_image *image, struct nm_err *err)
{
    uint32_t least = image->width < image->height ? image->width : image->height;
    uint32_t most = image->width > image->height ? image->width : image->height;
    if (least >= VISION_LEAST && most <= VISION_MOST) return 0;
    return nm_fail(err, "%s has %u x %u pixels; images with %d to %d a side are looked at", name, image->width,
                   image->height, VISION_LEAST, VISION_MOST);
}

static int evaluate_folder(struct evaluation *e, struct nm_err *err)
{
    static struct vision_shot shot;
    struct tags tags;
    if (read_tags(e->source, e->body, &e->setup.arena, &tags, err) < 0) return -1;
    for (uint32_t i = 0; i < tags.n_images && !stopping(); i++) {
        const struct tagged *tagged = &tags.images[i];
        const struct pose3 *camera = tagged->posed ? &tagged->camera_to_robot : NULL;
        struct nm_image image;
        if (nm_image_read(nm_path(&e->setup.arena, e->source, tagged->name), &image, err) < 0) return -1;
        if (check_size(tagged->name, &image, err) < 0) {
            nm_image_free(&image);
            return -1;
        }
        truth_of(&tags, tagged, &shot.truth);
        shot.width = image.width;
        shot.height = image.height;
        shot.yuyv = image.yuyv;
        shot.q = tagged->jointed ? tagged->q : NULL;
        /* images of different cameras: each one is looked at several times, so that colours settle */
        struct vision_found found;
        for (uint32_t k = 0; k < e->n_lineups; k++)
            for (int again = 0; again < 8; again++)
                vision_rig_look(e->rigs[k], shot.yuyv, shot.width, shot.height, camera, shot.q, &found);
        int bad = look(e, tagged->name, &shot, camera, err);
        nm_image_free(&image);
        if (bad) return -1;
    }
    return 0;
}

static double part(uint32_t a, uint32_t b) { return b ? (double)a / b : NAN; }

static void print_table(const struct evaluation *e)
{
    struct table table;
    static const char *const heads[] = {"line-up",   "what",        ">there",  ">recall", ">precision",
                                        ">error cm", ">distance %", ">to 1 m", ">to 2 m", ">to 3 m",
                                        ">to 4 m",   ">to 5 m",     NULL};
    table_begin(&table, heads);
    for (uint32_t i = 0; i < e->n_lineups; i++) {
        const struct vision_score *s = &e->scores[i];
        for (int k = 0; k < VISION_KINDS; k++) {
            char rings[VISION_RINGS][16];
            if (!s->there[k] && !s->told[k]) continue;
            for (int r = 0; r < VISION_RINGS; r++) {
                double share = part(s->ring_found[k][r], s->ring_there[k][r]);
                *rings[r] = 0;
                if (!isnan(share)) snprintf(rings[r], sizeof rings[r], "%.2f", share);
            }
            table_row(&table, "%s\t%s\t%u\t%.3f\t%.3f\t%.1f\t%.1f\t%s\t%s\t%s\t%s\t%s", e->lineups[i], vision_kinds[k],
                      s->there[k], part(s->found[k], s->there[k]), part(s->right[k], s->told[k]),
                      100 * s->error[k] / fmax(s->found[k], 1), 100 * s->share[k] / fmax(s->found[k], 1), rings[0],
                      rings[1], rings[2], rings[3], rings[4]);
        }
    }
    table_print(&table, stdout);
    for (uint32_t i = 0; i < e->n_lineups; i++) {
        const struct vision_score *s = &e->scores[i];
        printf("%s: %u images, %.2f ms each, slowest %.2f ms", e->lineups[i], s->images,
               1e3 * s->seconds / fmax(s->images, 1), 1e3 * s->slowest);
        if (s->borders) printf(", field border %.1f px", s->border / s->borders);
        printf("\n ");
        const struct nm_lineup *lineup = nm_player_lineup(vision_rig_player(e->rigs[i]));
        for (uint32_t k = 0; k < lineup->n_instances; k++) { /* stage by stage */
            struct nm_step_stats stats;
            nm_player_step_stats(vision_rig_player(e->rigs[i]), k, &stats);
            printf(" %s %.3f ms", lineup->instances[k].name, 1e-6 * stats.busy.mean);
        }
        printf("\n");
    }
}

static void print_json(const struct evaluation *e)
{
    for (uint32_t i = 0; i < e->n_lineups; i++) {
        const struct vision_score *s = &e->scores[i];
        printf("{\"lineup\": \"%s\", \"images\": %u, \"ms\": %.4g", e->lineups[i], s->images,
               1e3 * s->seconds / fmax(s->images, 1));
        if (s->borders) printf(", \"border_px\": %.4g", s->border / s->borders);
        for (int k = 0; k < VISION_KINDS; k++) {
            if (s->there[k]) printf(", \"%s_recall\": %.4g", vision_kinds[k], part(s->found[k], s->there[k]));
            if (s->told[k]) printf(", \"%s_precision\": %.4g", vision_kinds[k], part(s->right[k], s->told[k]));
            if (s->found[k])
                printf(", \"%s_error_cm\": %.4g, \"%s_distance_share\": %.4g", vision_kinds[k],
                       100 * s->error[k] / s->found[k], vision_kinds[k], s->share[k] / s->found[k]);
        }
        printf("}\n");
    }
}

/* Lines of floors.csv: line-up, what, recall, precision. What falls below a floor is listed; so is a floor of something
 * that no image of the folder shows. Line-ups that were not compared are left out. */
static int judge(struct evaluation *e, const char *path, char *rest, struct nm_err *err)
{
    char *line;
    uint32_t floors = 0, missed = 0;
    next_line(&rest);
    while ((line = next_line(&rest))) {
        const char *lineup = field(&line), *what = field(&line);
        double recall = strtod(field(&line), NULL), precision = strtod(field(&line), NULL);
        int kind = 0;
        while (kind < VISION_KINDS && strcmp(vision_kinds[kind], what)) kind++;
        if (kind == VISION_KINDS) return nm_fail(err, "%s: '%.40s' is not something that is evaluated", path, what);
        for (uint32_t i = 0; i < e->n_lineups; i++) {
            const struct vision_score *s = &e->scores[i];
            if (strcmp(e->lineups[i], lineup)) continue;
            double found = part(s->found[kind], s->there[kind]), right = part(s->right[kind], s->told[kind]);
            floors++;
            if (found >= recall && right >= precision) continue;
            missed++;
            printf("%s: %s has recall %.3f and precision %.3f, below the floors %.3g and %.3g\n", lineup, what, found,
                   right, recall, precision);
        }
    }
    if (missed) return nm_fail(err, "%u of %u floors of %s are missed", missed, floors, path);
    printf("all %u floors are kept\n", floors);
    return 0;
}

/* The command's exit code: a name that does not exist is wrong usage, a folder whose content is wrong is a failure. */
static int evaluate(struct evaluation *e, struct nm_err *err)
{
    const char *folder = setup_robot(&e->setup, "kid70", err);
    e->body = folder ? nm_body_load(&e->setup.arena, folder, err) : NULL;
    if (!e->body) return EXIT_USAGE;
    for (uint32_t i = 0; i < e->n_lineups; i++) {
        e->rigs[i] = vision_rig_new(&e->setup, e->lineups[i], e->body, e->set.at, e->set.n, NULL, err);
        if (!e->rigs[i]) return EXIT_USAGE;
        if (e->pictures) nm_player_watch(vision_rig_player(e->rigs[i]), true);
    }
    bool simulated = !strcmp(e->source, "sim");
    if (!simulated && !nm_folder_exists(e->source)) {
        nm_fail(err, "%s is neither a folder of images nor the word sim", e->source);
        return EXIT_USAGE;
    }
    stop_by_signals();
    return (simulated ? evaluate_sim(e, err) : evaluate_folder(e, err)) < 0 ? EXIT_FAILED : EXIT_OK;
}

int eval_vision(int argc, char **argv)
{
    static struct evaluation e;
    bool json = false;
    const char *lineups = "vision", *images = "1-200", *floors = NULL;
    e = (struct evaluation){0};
    const struct flag flags[] = {
        TEXT("lineups", &lineups, "A,B", "line-ups to compare (default: vision)"),
        TEXT("images", &images, "A-B", "sim: numbers of the images (default: 1-200)"),
        TEXT("pictures", &e.pictures, "FOLDER", "writes each image with what was found, and what each stage shows"),
        TEXT("floors", &floors, "FILE", "CSV of line-up, what, recall, precision: fails if one is missed"),
        TEXT("write", &e.album.folder, "FOLDER", "sim: keeps the images with their tags, as FOLDER is read"),
        TEXTS("set", &e.set, "INSTANCE.PARAM=VALUE", "sets a parameter of all line-ups; may be repeated"),
        SWITCH("believe", &e.believe,
               "sim: the robot has an idea of ball and place before it looks, at times a wrong one"),
        SWITCH("list", &e.list, "lists what was missed and what was false, image by image"),
        SWITCH("json", &json, "prints one JSON object a line"),
        {0},
    };
    const struct usage usage = USAGE(
        "nutmeg eval vision", "sim|FOLDER", flags,
        "Compares line-ups of a vision on the same images. sim: random views of a simulated field, with its truth.\n"
        "FOLDER: images with images.csv (image, …, ball_complete, …) and annotations.csv (image, class, x, y, w, h).\n"
        "Further columns of images.csv may hold the camera's pose and the joints (see --write).\n"
        "A hit lies within 5 cm + 10 % of the distance; of tagged images, the boxes overlap.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    if (nm_seeds_parse(images, &e.first, &e.last) < 0 || e.last - e.first >= 100000)
        return usage_wrong(&usage, "--images wants a number, or a range of at most 100000 such as 1-200, not '%s'",
                           images);
    struct nm_err err = {0};
    setup_begin(&e.setup);
    e.source = argv[1];
    char *list = nm_take_text(&e.setup.arena, lineups);
    for (char *name = strtok(list, ","); name && e.n_lineups < EVAL_LINEUPS; name = strtok(NULL, ","))
        e.lineups[e.n_lineups++] = name;
    char *limits = floors ? read_text(floors, &e.setup.arena, &err) : NULL;
    code = err.n ? EXIT_USAGE : evaluate(&e, &err);
    if (code == EXIT_OK) {
        if (json)
            print_json(&e);
        else
            print_table(&e);
        if (floors && judge(&e, floors, limits, &err) < 0) code = EXIT_FAILED;
    }
    complain(&err);
    for (uint32_t i = 0; i < e.n_lineups; i++) vision_rig_free(e.rigs[i]);
    setup_end(&e.setup);
    return interrupted() ? tell_interrupted("not all images were looked at") : code;
}
