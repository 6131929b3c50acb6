/* nutmeg label: a page on which a person labels real pictures. What is labelled is kept in the folder, in the files of
 * `nutmeg train data` (labels.csv, coco.json) and in those that `nutmeg eval vision` reads (images.csv,
 * annotations.csv). */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/whole.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/pictures.h"
#include "cmd/stopping.h"
#include "codec/labels.h"
#include "core/files.h"

enum { IMAGES = 5000, BOXES = 64, NAME = 120, TEXT = 1 << 24 };

struct box {
    char kind[24];
    double x, y, w, h; /* px */
};
struct picture {
    char name[NAME];
    uint32_t width, height; /* 0: nobody looked at it yet */
    bool known;             /* somebody has labelled it   */
    uint32_t n;
    struct box boxes[BOXES];
};
struct album {
    const char *folder;
    uint32_t n;
    struct picture *all;
};

static bool is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && name[0] != '.' && strlen(name) < NAME && !strpbrk(name, ",\"\\\n") &&
           (!strcasecmp(dot, ".png") || !strcasecmp(dot, ".jpg") || !strcasecmp(dot, ".jpeg"));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct picture *)a)->name, ((const struct picture *)b)->name);
}

static int list_folder(struct album *a, struct nm_err *err)
{
    DIR *folder = opendir(a->folder);
    if (!folder) return nm_fail(err, "%s: there is no such folder", a->folder);
    for (struct dirent *e; (e = readdir(folder)) && a->n < IMAGES;)
        if (is_picture(e->d_name)) strcpy(a->all[a->n++].name, e->d_name);
    closedir(folder);
    qsort(a->all, a->n, sizeof *a->all, by_name);
    return a->n ? 0 : nm_fail(err, "%s: there are no pictures in it (.png, .jpg)", a->folder);
}

static struct picture *find(const struct album *a, const char *name)
{
    struct picture key = {0};
    if (strlen(name) >= NAME) return NULL;
    strcpy(key.name, name);
    return bsearch(&key, a->all, a->n, sizeof *a->all, by_name);
}

static enum nm_seen class_of(const struct box *b) /* NM_SEEN_KINDS: none of ours, such as ball_ignore */
{
    enum nm_seen k = 0;
    while (k < NM_SEEN_KINDS && strcmp(b->kind, nm_seen_name[k])) k++;
    return k;
}

/* One label of a line CLASS,X,Y,W,H; a sentence if it is none. */
static int read_box(const char *line, struct box *to, struct nm_err *err)
{
    *to = (struct box){0};
    if (sscanf(line, "%23[a-z_0-9],%lf,%lf,%lf,%lf", to->kind, &to->x, &to->y, &to->w, &to->h) < 5)
        return nm_fail(err, "'%.60s' must be CLASS,X,Y,W,H", line);
    if (!strcmp(to->kind, "goalpost")) strcpy(to->kind, "post");
    if (!(fabs(to->x) < 1e5 && fabs(to->y) < 1e5 && to->w >= 0 && to->w < 1e5 && to->h >= 0 && to->h < 1e5))
        return nm_fail(err, "'%.60s' is no box", line);
    return 0;
}

/* Lines of a file, each with a picture's name before the first comma; those of other pictures are left out. */
static void read_lines(struct album *a, const char *file, void (*take)(struct picture *, const char *))
{
    char path[1200], *rest, *line;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", a->folder, file);
    char *text = nm_file_exists(path) ? nm_read_whole(path, TEXT, &n, NULL) : NULL;
    char *ended = text ? realloc(text, n + 1) : NULL;
    if (!ended) return;
    ended[n] = '\0';
    for (rest = ended; (line = strsep(&rest, "\r\n"));) {
        char *comma = strchr(line, ',');
        if (comma) *comma = '\0';
        struct picture *p = comma ? find(a, line) : NULL;
        if (p) take(p, comma + 1);
    }
    free(ended);
}

/* What others wrote may say more than is written here: it stays beside, as it was when it was first labelled. */
static int keep_theirs(const struct album *a, struct nm_err *err)
{
    static const char *const files[] = {"annotations.csv", "images.csv"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1200], beside[1220];
        size_t n;
        snprintf(path, sizeof path, "%s/%s", a->folder, files[i]);
        snprintf(beside, sizeof beside, "%s.before", path);
        if (!nm_file_exists(path)) continue;
        char *text = nm_read_whole(path, TEXT, &n, err);
        int bad = !text || (!nm_file_exists(beside) && nm_file_replace(beside, text, n, err));
        free(text);
        if (bad) return -1;
    }
    return 0;
}

static void take_box(struct picture *p, const char *line)
{
    p->known = true;
    if (p->n < BOXES && !read_box(line, &p->boxes[p->n], NULL)) p->n++;
}

static void take_size(struct picture *p, const char *line)
{
    p->known = true;
    if (sscanf(line, "%u,%u", &p->width, &p->height) < 2) p->width = p->height = 0;
}

/* ---- what is kept ---- */

/* As `nutmeg train data` writes them; the point is the middle of the box. */
static void write_boxes(const struct album *a, struct nm_labels *to)
{
    nm_labels_begin(to);
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < a->all[i].n; k++) {
            const struct box *b = &a->all[i].boxes[k];
            const struct nm_label label = {.kind = class_of(b),
                                           .x = (float)(b->x + b->w / 2),
                                           .y = (float)(b->y + b->h / 2),
                                           .left = (float)b->x,
                                           .top = (float)b->y,
                                           .wide = (float)b->w,
                                           .high = (float)b->h,
                                           .shown = 1};
            if (label.kind < NM_SEEN_KINDS) nm_labels_add(to, a->all[i].name, i + 1, &label);
        }
    for (uint32_t i = 0; i < a->n; i++) nm_labels_image(to, a->all[i].name, i + 1, a->all[i].width, a->all[i].height);
    nm_labels_end(to);
}

static void write_labels(const struct album *a, FILE *to) { write_boxes(a, &(struct nm_labels){.csv = to}); }
static void write_coco(const struct album *a, FILE *to) { write_boxes(a, &(struct nm_labels){.coco = to}); }

static void write_images(const struct album *a, FILE *to)
{
    fprintf(to, "image,width,height,ball_complete,robot_complete,goalpost_complete\n");
    for (uint32_t i = 0; i < a->n; i++)
        if (a->all[i].known) fprintf(to, "%s,%u,%u,1,1,1\n", a->all[i].name, a->all[i].width, a->all[i].height);
}

static void write_annotations(const struct album *a, FILE *to)
{
    fprintf(to, "image,class,x,y,w,h\n");
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < a->all[i].n; k++) {
            const struct box *b = &a->all[i].boxes[k];
            const char *name = !strcmp(b->kind, "post") ? "goalpost" : b->kind;
            fprintf(to, "%s,%s,%.1f,%.1f,%.1f,%.1f\n", a->all[i].name, name, b->x, b->y, b->w, b->h);
        }
}

static int keep(const struct album *a, struct nm_err *err)
{
    static const struct {
        const char *name;
        void (*write)(const struct album *, FILE *);
    } files[] = {{"labels.csv", write_labels},
                 {"coco.json", write_coco},
                 {"images.csv", write_images},
                 {"annotations.csv", write_annotations}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1200], *text = NULL;
        size_t size = 0;
        FILE *to = nm_memstream(&text, &size);
        files[i].write(a, to);
        fclose(to);
        snprintf(path, sizeof path, "%s/%s", a->folder, files[i].name);
        int bad = nm_file_replace(path, text, size, err);
        free(text);
        if (bad) return -1;
    }
    return 0;
}

/* ---- answers ---- */

static void list(const struct album *a, Pictures_Response *r)
{
    size_t used = 0;
    for (uint32_t i = 0; i < a->n && used + NAME + 16 < sizeof r->text; i++)
        used += (size_t)snprintf(r->text + used, sizeof r->text - used, "%s,%d\n", a->all[i].name,
                                 a->all[i].known ? (int)a->all[i].n : -1);
}

static int look(const struct album *a, struct picture *p, Pictures_Response *r, struct nm_err *err)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", a->folder, p->name);
    int bad = pictures_put(r, path, &p->width, &p->height, err);
    size_t used = 0;
    for (uint32_t k = 0; k < p->n && used + 80 < sizeof r->text; k++) {
        const struct box *b = &p->boxes[k];
        used += (size_t)snprintf(r->text + used, sizeof r->text - used, "%s,%.1f,%.1f,%.1f,%.1f\n", b->kind, b->x, b->y,
                                 b->w, b->h);
    }
    return bad;
}

static int take(const struct album *a, struct picture *p, const char *text, struct nm_err *err)
{
    struct picture next = *p;
    char copy[sizeof((Pictures_Request *)0)->text], *rest = copy, *line;
    strcpy(copy, text);
    next.n = 0;
    while ((line = strsep(&rest, "\n"))) {
        if (!*line) continue;
        if (next.n == BOXES) return nm_fail(err, "a picture has at most %d labels", BOXES);
        if (read_box(line, &next.boxes[next.n++], err)) return -1;
    }
    next.known = true;
    *p = next;
    return keep(a, err);
}

static void answer(void *user, const Pictures_Request *q, Pictures_Response *r)
{
    struct album *a = user;
    struct nm_err err = {0};
    struct picture *p = find(a, q->name);
    for (uint32_t k = 0; k < NM_SEEN_KINDS; k++)
        snprintf(r->classes + strlen(r->classes), sizeof r->classes - strlen(r->classes), "%s%s", k ? "," : "",
                 nm_seen_name[k]);
    if (q->command == Pictures_Request_LIST)
        list(a, r);
    else if (q->command != Pictures_Request_LOOK && q->command != Pictures_Request_KEEP)
        nm_fail(&err, "here pictures are labelled, not accepted");
    else if (!p)
        nm_fail(&err, "there is no picture called '%.100s'", q->name);
    else if (q->command == Pictures_Request_LOOK)
        look(a, p, r, &err);
    else
        take(a, p, q->text, &err);
    r->success = !err.n;
    snprintf(r->message, sizeof r->message, "%.*s", (int)strcspn(err.text, "\n"), err.text);
}

int cmd_label(int argc, char **argv)
{
    const char *port = "";
    const struct flag flags[] = {
        TEXT("live", &port, "PORT", "port of the page (default: 8765, or any free one if it is taken)",
             .max = PORT_MAX),
        {0},
    };
    const struct usage usage =
        USAGE("nutmeg label", "FOLDER", flags,
              "Opens a page on which you label the pictures of a folder: balls, posts, crossings, robots.\n"
              "Every picture that you leave is kept at once, in labels.csv and coco.json as nutmeg train\n"
              "data writes them, and in images.csv and annotations.csv for nutmeg eval vision.");
    int code, n = usage_begin(&usage, argc, argv, &code);
    if (n < 0) return code;
    struct setup setup;
    struct nm_err err = {0};
    struct album album = {.folder = argv[1], .all = nm_calloc(IMAGES, sizeof *album.all)};
    setup_begin(&setup);
    stop_by_signals();
    code = EXIT_OK;
    if (list_folder(&album, &err) || keep_theirs(&album, &err)) {
        code = EXIT_USAGE;
    } else {
        read_lines(&album, "annotations.csv", take_box);
        read_lines(&album, "images.csv", take_size);
        struct pictures pictures = {.page = "label", .port = port, .answer = answer, .user = &album};
        if (pictures_serve(&setup, &pictures, &err)) code = EXIT_FAILED;
    }
    complain(&err);
    free(album.all);
    setup_end(&setup);
    return code;
}
