/* Files for viewers: the robot's description and its meshes, as package://NAME/…, and nothing outside the robot's own
 * folder: no steps upwards, no hidden files, no links that lead out. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "edge/live/inside.h"

static bool is_plain(const char *path)
{
    if (!*path || *path == '/' || *path == '.') return false;
    for (const char *at = path; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == '\\') return false;
        if (*at == '/' && (at[1] == '.' || at[1] == '/')) return false;
    }
    return true;
}

/* The path of a plain file below a folder. */
int asset_below(const char *folder, const char *path, char *to, size_t size, struct nm_err *err)
{
    char root[PATH_MAX], joined[PATH_MAX], real[PATH_MAX];
    struct stat about;
    if (!is_plain(path)) return nm_fail(err, "'%.200s' is no path below the folder", path);
    if (!realpath(folder, root) || (size_t)snprintf(joined, sizeof joined, "%s/%s", root, path) >= sizeof joined ||
        !realpath(joined, real))
        return nm_fail(err, "'%.200s' is not there", path);
    size_t n = strlen(root);
    if (strncmp(real, root, n) || real[n] != '/') return nm_fail(err, "'%.200s' leads out of the folder", path);
    if (stat(real, &about) || !S_ISREG(about.st_mode)) return nm_fail(err, "'%.200s' is no file", path);
    if (about.st_size > ASSET_MOST) return nm_fail(err, "'%.200s' has more than %d bytes", path, ASSET_MOST);
    if (strlen(real) >= size) return nm_fail(err, "'%.200s' has too long a name", path);
    strcpy(to, real);
    return 0;
}

/* package://kid70/meshes/foot.stl is meshes/foot.stl in the folder of the robot of that name. */
static int find(const struct nm_live *live, const char *uri, char *to, size_t size, struct nm_err *err)
{
    static const char scheme[] = "package://";
    const char *folder = live->lineup->robot_folder;
    if (strncmp(uri, scheme, sizeof scheme - 1))
        return nm_fail(err, "'%.200s' is no address of the form package://ROBOT/FILE", uri);
    if (!folder) return nm_fail(err, "the line-up %s has no robot", live->lineup->name);
    const char *name = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
    const char *at = uri + sizeof scheme - 1;
    size_t n = strlen(name);
    if (strncmp(at, name, n) || at[n] != '/')
        return nm_fail(err, "'%.200s' is not of the robot %s, whose files are served", uri, name);
    return asset_below(folder, at + n + 1, to, size, err);
}

static struct payload *read_whole(const char *file, uint32_t request, struct nm_err *err)
{
    FILE *in = fopen(file, "rb");
    struct stat about;
    if (!in || fstat(fileno(in), &about) || about.st_size < 0 || about.st_size > ASSET_MOST) {
        nm_fail(err, "cannot be read: %s", strerror(errno));
        if (in) fclose(in);
        return NULL;
    }
    struct payload *payload = payload_new(16 + (size_t)about.st_size);
    size_t head = nm_fox_asset_head(payload->bytes, 16, request, NULL);
    payload->n = head + fread(payload->bytes + head, 1, (size_t)about.st_size, in);
    fclose(in);
    return payload;
}

struct payload *asset_frame(struct nm_live *live, uint32_t request, const char *uri)
{
    char file[PATH_MAX], text[512];
    struct nm_err err = {0};
    struct payload *payload = find(live, uri, file, sizeof file, &err) ? NULL : read_whole(file, request, &err);
    if (payload) return payload;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    payload = payload_new(sizeof text + 16);
    payload->n = nm_fox_asset_head(payload->bytes, sizeof text + 16, request, text);
    return payload;
}
