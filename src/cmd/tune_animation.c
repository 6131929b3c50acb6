/* Key frames as parameters: a candidate is a robot's folder of its own, made of links to the real one, in which the
 * animation that is searched has other angles and durations. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/tune.h"
#include "core/files.h"

static const double WIDE = 20, SHARE = 0.4, SHORTEST = 0.04; /* degrees; of a duration; s */

static const char *file_of(struct nm_arena *arena, const char *folder, const char *name)
{
    return nm_take_format(arena, "%s/animations/%s.yaml", folder, name);
}

/* ---- what is searched ---- */

static int add(struct tune_params *all, struct nm_arena *arena, const char *name, uint32_t frame, const char *key,
               double value, double low, double high, struct nm_err *err)
{
    if (all->n == TUNE_PARAMS) return nm_fail(err, "at most %d parameters can be searched", TUNE_PARAMS);
    struct nm_param *param = nm_take(arena, sizeof *param);
    *param = (struct nm_param){.name = nm_take_text(arena, key), .kind = NM_PARAM_DOUBLE, .min = low, .max = high};
    all->at[all->n++] = (struct tune_param){.instance = nm_take_text(arena, name),
                                            .param = param,
                                            .animation = true,
                                            .element = frame,
                                            .low = low,
                                            .high = high,
                                            .value = value};
    return 0;
}

/* Where an angle is looked for, degrees: around its value, inside of the joint's limits. `both_knee` is the left knee.
 */
static void range_of(const struct nm_body *body, const char *key, double value, double *low, double *high)
{
    char name[80];
    bool both = !strncmp(key, "both_", 5);
    snprintf(name, sizeof name, "%s%.60s", both ? "left_" : "", both ? key + 5 : key);
    int32_t joint = nm_find_joint(body, name);
    *low = value - WIDE;
    *high = value + WIDE;
    if (joint < 0) return;
    *low = fmin(fmax(*low, ceil(body->joints[joint].lower * 1800 / M_PI) / 10), value);
    *high = fmax(fmin(*high, floor(body->joints[joint].upper * 1800 / M_PI) / 10), value);
}

/* Angles that are zero are meant to be: heads look ahead, legs stay parallel. */
static int add_frame(struct tune_params *all, struct nm_arena *arena, const struct nm_body *body, const char *name,
                     uint32_t i, const struct nm_yaml *frame, struct nm_err *err)
{
    const struct nm_yaml *duration = nm_yaml_get(frame, "duration");
    int64_t ns;
    int bad = 0;
    if (duration && !nm_yaml_duration(duration, &ns, err)) {
        double s = 1e-9 * (double)ns;
        bad |= add(all, arena, name, i, "duration", s, fmax((1 - SHARE) * s, fmin(s, SHORTEST)), (1 + SHARE) * s, err);
    }
    nm_yaml_each(goal, nm_yaml_get(frame, "goals"))
    {
        double degrees, low, high;
        if (nm_yaml_number(goal, &degrees, err)) return -1;
        range_of(body, goal->key, degrees, &low, &high);
        if (degrees != 0 && low < high) bad |= add(all, arena, name, i, goal->key, degrees, low, high, err);
    }
    return bad;
}

int tune_add_animation(struct tune_params *all, struct nm_arena *arena, const char *folder, const char *name,
                       struct nm_err *err)
{
    const struct nm_body *body = nm_body_load(arena, folder, err);
    const struct nm_yaml *file = body ? nm_yaml_read(arena, file_of(arena, folder, name), err) : NULL;
    uint32_t i = 0;
    int bad = file ? 0 : -1;
    if (file && !nm_yaml_get(file, "frames")) bad = nm_yaml_fail(file, err, "the animation has no frames");
    nm_yaml_each(frame, nm_yaml_get(file, "frames")) bad |= add_frame(all, arena, body, name, i++, frame, err);
    return bad;
}

/* ---- a candidate ---- */

static const struct tune_param *find(const struct tune_params *all, const char *name, uint32_t frame, const char *key,
                                     uint32_t *at)
{
    for (*at = 0; *at < all->n; ++*at) {
        const struct tune_param *p = &all->at[*at];
        if (p->animation && p->element == frame && !strcmp(p->instance, name) && !strcmp(p->param->name, key)) return p;
    }
    return NULL;
}

static void write_frame(const struct tune_params *all, const double *x, const char *name, uint32_t i,
                        const struct nm_yaml *frame, FILE *to)
{
    const char *dash = "  - ";
    uint32_t at;
    nm_yaml_each(row, frame)
    {
        const struct tune_param *p = find(all, name, i, row->key, &at);
        if (p)
            fprintf(to, "%s%s: %.0f ms\n", dash, row->key, 1000 * tune_value(p, x[at]));
        else if (row->kind == NM_YAML_SCALAR)
            fprintf(to, "%s%s: %s\n", dash, row->key, row->text);
        else
            fprintf(to, "%s%s: {", dash, row->key);
        const char *comma = "";
        nm_yaml_each(goal, row)
        {
            p = find(all, name, i, goal->key, &at);
            fprintf(to, "%s%s: ", comma, goal->key);
            if (p)
                fprintf(to, "%.1f", tune_value(p, x[at]));
            else
                fprintf(to, "%s", goal->text);
            comma = ", ";
        }
        if (row->kind != NM_YAML_SCALAR) fprintf(to, "}\n");
        dash = "    ";
    }
}

int tune_write_animation(const struct tune_params *all, const double *x, const char *folder, const char *name, FILE *to,
                         struct nm_err *err)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *file = nm_yaml_read(&arena, file_of(&arena, folder, name), err);
    uint32_t i = 0;
    nm_yaml_each(row, file)
    {
        if (row->kind == NM_YAML_SCALAR) fprintf(to, "%s: \"%s\"\n", row->key, row->text);
        if (row->kind == NM_YAML_MAP) {
            const char *comma = "";
            fprintf(to, "%s: {", row->key);
            nm_yaml_each(value, row) fprintf(to, "%s%s: %s", comma, value->key, value->text), comma = ", ";
            fprintf(to, "}\n");
        }
        if (row->kind == NM_YAML_LIST) {
            fprintf(to, "%s:\n", row->key);
            nm_yaml_each(frame, row) write_frame(all, x, name, i++, frame, to);
        }
    }
    nm_arena_free(&arena);
    return file ? 0 : -1;
}

/* Links to everything in a folder but one name. */
static int link_all(struct nm_arena *arena, const char *from, const char *to, const char *but, struct nm_err *err)
{
    DIR *folder = opendir(from);
    int bad = folder ? 0 : nm_fail(err, "%s: %s", from, strerror(errno));
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (e->d_name[0] != '.' && strcmp(e->d_name, but) &&
            symlink(nm_path(arena, from, e->d_name), nm_path(arena, to, e->d_name)))
            bad = nm_fail(err, "%s/%s: %s", to, e->d_name, strerror(errno));
    if (folder) closedir(folder);
    return bad;
}

const char *tune_make_folder(const struct tune_params *all, const double *x, struct nm_arena *arena, const char *folder,
                             struct nm_err *err)
{
    const char *name = NULL, *temporary = getenv("TMPDIR");
    char real[PATH_MAX];
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].animation) name = all->at[i].instance;
    if (!name) return folder;
    char *made = nm_take_format(arena, "%s/nutmeg-tune-XXXXXX", temporary ? temporary : P_tmpdir);
    if (!realpath(folder, real) || !mkdtemp(made)) {
        nm_fail(err, "%s: %s", made, strerror(errno));
        return NULL;
    }
    const char *animations = nm_path(arena, made, "animations");
    mkdir(animations, 0700);
    if (link_all(arena, real, made, "animations", err) ||
        link_all(arena, nm_path(arena, real, "animations"), animations, nm_take_format(arena, "%s.yaml", name), err))
        return NULL;
    FILE *to = fopen(file_of(arena, made, name), "w");
    int bad = to ? tune_write_animation(all, x, folder, name, to, err) : -1;
    if (to) fclose(to);
    return bad ? NULL : made;
}

void tune_drop_folder(struct nm_arena *arena, const char *made)
{
    const char *parts[] = {nm_path(arena, made, "animations"), made};
    for (int i = 0; i < 2; i++) {
        DIR *folder = opendir(parts[i]);
        for (struct dirent *e; folder && (e = readdir(folder));)
            if (e->d_name[0] != '.') unlink(nm_path(arena, parts[i], e->d_name));
        if (folder) closedir(folder);
        rmdir(parts[i]);
    }
}
