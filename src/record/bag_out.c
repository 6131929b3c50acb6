/* A new log on disk: under another name until it is whole, so that nobody takes half of it for all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/bag.h"
#include "codec/bag_yaml.h"
#include "core/files.h"

static bool is_file_name(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".mcap");
}

static int failed(const char *path, struct nm_err *err) { return nm_fail(err, "%s: %s", path, strerror(errno)); }

int bag_out_begin(struct bag_out *out, struct nm_arena *arena, const char *path, bool force, struct nm_err *err)
{
    *out = (struct bag_out){.path = path, .file = -1};
    if (!is_file_name(path)) {
        out->folder = nm_take_text(arena, path);
        size_t n = strlen(out->folder);
        while (n > 1 && out->folder[n - 1] == '/') out->folder[--n] = '\0';
        const char *name = strrchr(out->folder, '/');
        name = nm_take_format(arena, "%s_0.mcap", name ? name + 1 : out->folder);
        out->path = nm_path(arena, out->folder, name);
    }
    if (!force &&
        (nm_file_exists(out->path) || (out->folder && nm_file_exists(nm_path(arena, out->folder, "metadata.yaml")))))
        return nm_fail(err, "%s exists already; --force replaces it", path);
    if (out->folder && mkdir(out->folder, 0777) && errno != EEXIST) return failed(out->folder, err);
    out->part = nm_take_format(arena, "%s.part", out->path);
    out->file = open(out->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return out->file < 0 ? failed(out->part, err) : 0;
}

int bag_out_write(void *user, const void *bytes, size_t n)
{
    struct bag_out *out = user;
    const char *at = bytes;
    while (n) {
        ssize_t done = write(out->file, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) {
            out->fault = errno;
            return -1;
        }
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* metadata.yaml of a folder with this one file. */
static int write_metadata(const struct bag_out *out, struct nm_err *err)
{
    struct nm_mcap_source source;
    struct nm_mcap_contents c;
    if (nm_mcap_open(&source, out->path, err)) return -1;
    int result = nm_mcap_contents_read(&c, &source, err);
    struct nm_bag_topic *topics = nm_take_n(&c.arena, struct nm_bag_topic, c.n_channels + 1);
    for (uint32_t i = 0; i < c.n_channels; i++) {
        const struct nm_mcap_channel *channel = &c.channels[i];
        const struct nm_mcap_schema *schema = nm_mcap_schema_of(&c, channel->schema_id);
        struct nm_bytes qos = nm_mcap_text_at(channel->metadata, "offered_qos_profiles");
        topics[i] = (struct nm_bag_topic){
            .name = nm_take_text(&c.arena, BAG_CLEAN(channel->topic)),
            .type = nm_take_text(&c.arena, schema ? BAG_CLEAN(schema->name) : ""),
            .format = nm_take_text(&c.arena, BAG_CLEAN(channel->message_encoding)),
            .qos = qos.n ? nm_take_format(&c.arena, "%.*s", (int)qos.n, (const char *)qos.at) : "",
            .messages = c.counts[i]};
    }
    struct nm_bag_file file = {strrchr(out->path, '/') + 1, c.first, c.last - c.first, c.messages};
    struct nm_bag bag = {5, "mcap", c.first, c.last - c.first, c.messages, c.n_channels, 1, topics, &file};
    struct nm_text_out text = {.grows = true};
    nm_bag_print(&text, &bag);
    if (!result) result = nm_file_replace(nm_path(&c.arena, out->folder, "metadata.yaml"), text.text, text.used, err);
    free(text.text);
    nm_mcap_contents_free(&c);
    nm_mcap_close(&source);
    return result;
}

int bag_out_end(struct bag_out *out, bool whole, struct nm_err *err)
{
    if (out->file < 0) return -1;
    if (out->fault) nm_fail(err, "%s: %s", out->part, strerror(out->fault));
    if (whole && fsync(out->file) && errno != EINVAL) whole = !failed(out->part, err);
    if (close(out->file) && whole) whole = !failed(out->part, err);
    if (whole && rename(out->part, out->path)) whole = !failed(out->path, err);
    if (!whole) {
        unlink(out->part);
        if (out->folder) rmdir(out->folder); /* stays if there is something in it */
        return -1;
    }
    return out->folder ? write_metadata(out, err) : 0;
}
