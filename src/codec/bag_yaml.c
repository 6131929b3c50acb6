#include "codec/bag_yaml.h"

#include <string.h>

#include "codec/yaml.h"

static void put(struct nm_text_out *out, const char *text) { nm_text_put(out, text, strlen(text)); }

static void put_text(struct nm_text_out *out, const char *before, const char *text)
{
    put(out, before);
    nm_text_quoted(out, text, strlen(text));
    put(out, "\n");
}

static void put_topic(struct nm_text_out *out, const struct nm_bag_topic *topic)
{
    put(out, "    - topic_metadata:\n");
    put_text(out, "        name: ", topic->name);
    put_text(out, "        type: ", topic->type);
    put_text(out, "        serialization_format: ", topic->format);
    put_text(out, "        offered_qos_profiles: ", topic->qos);
    nm_text_format(out, "      message_count: %llu\n", (unsigned long long)topic->messages);
}

static void put_file(struct nm_text_out *out, const struct nm_bag_file *file)
{
    put_text(out, "    - path: ", file->path);
    nm_text_format(out, "      starting_time: {nanoseconds_since_epoch: %llu}\n", (unsigned long long)file->start);
    nm_text_format(out, "      duration: {nanoseconds: %llu}\n", (unsigned long long)file->duration);
    nm_text_format(out, "      message_count: %llu\n", (unsigned long long)file->messages);
}

void nm_bag_print(struct nm_text_out *out, const struct nm_bag *bag)
{
    put(out, "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: mcap\n");
    nm_text_format(out, "  duration: {nanoseconds: %llu}\n", (unsigned long long)bag->duration);
    nm_text_format(out, "  starting_time: {nanoseconds_since_epoch: %llu}\n", (unsigned long long)bag->start);
    nm_text_format(out, "  message_count: %llu\n", (unsigned long long)bag->messages);
    put(out, bag->n_topics ? "  topics_with_message_count:\n" : "  topics_with_message_count: []\n");
    for (uint32_t i = 0; i < bag->n_topics; i++) put_topic(out, &bag->topics[i]);
    put(out, "  compression_format: \"\"\n  compression_mode: \"\"\n");
    put(out, bag->n_files ? "  relative_file_paths:\n" : "  relative_file_paths: []\n");
    for (uint32_t i = 0; i < bag->n_files; i++) put_text(out, "    - ", bag->files[i].path);
    put(out, bag->n_files ? "  files:\n" : "  files: []\n");
    for (uint32_t i = 0; i < bag->n_files; i++) put_file(out, &bag->files[i]);
}

static void put_duration(struct nm_text_out *out, const char *name, int64_t ns)
{
    if (ns <= 0) ns = INT64_MAX;
    nm_text_format(out, "  %s:\n    sec: %lld\n    nsec: %lld\n", name, (long long)(ns / 1000000000),
                   (long long)(ns % 1000000000));
}

void nm_bag_qos(struct nm_text_out *out, struct nm_bag_qos qos)
{
    nm_text_format(out, "- history: %d\n  depth: %u\n  reliability: %d\n  durability: %d\n", qos.depth ? 1 : 3,
                   qos.depth, qos.best_effort ? 2 : 1, qos.transient_local ? 1 : 2);
    put_duration(out, "deadline", qos.deadline);
    put_duration(out, "lifespan", qos.lifespan);
    nm_text_format(out, "  liveliness: %d\n", qos.manual ? 3 : 1);
    put_duration(out, "liveliness_lease_duration", qos.lease);
    put(out, "  avoid_ros_namespace_conventions: false\n");
}

/* ---- reading ---- */

static const char *text_of(const struct nm_yaml *map, const char *key)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    return node && node->kind == NM_YAML_SCALAR ? node->text : "";
}

/* A number under a key, perhaps one map deeper; stays 0 where it is missing. */
static int number_of(const struct nm_yaml *map, const char *key, const char *inner, uint64_t *value, struct nm_err *err)
{
    const struct nm_yaml *node = nm_yaml_get(map, key);
    if (inner) node = nm_yaml_get(node, inner);
    *value = 0;
    return node ? nm_yaml_uint(node, value, err) : 0;
}

static int read_topics(struct nm_arena *arena, const struct nm_yaml *list, struct nm_bag *bag, struct nm_err *err)
{
    bag->topics = nm_take_n(arena, struct nm_bag_topic, (list ? list->n : 0) + 1);
    nm_yaml_each(item, list)
    {
        const struct nm_yaml *topic = nm_yaml_get(item, "topic_metadata");
        struct nm_bag_topic *to = &bag->topics[bag->n_topics++];
        *to = (struct nm_bag_topic){.name = text_of(topic, "name"),
                                    .type = text_of(topic, "type"),
                                    .format = text_of(topic, "serialization_format"),
                                    .qos = text_of(topic, "offered_qos_profiles")};
        if (!*to->name) return nm_yaml_fail(item, err, "a topic without a name");
        if (number_of(item, "message_count", NULL, &to->messages, err)) return -1;
    }
    return 0;
}

/* A bag may come from anywhere: it does not get to name files elsewhere. */
static bool stays_inside(const char *path)
{
    if (!*path || *path == '/') return false;
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2])) return false;
    return true;
}

static int read_files(struct nm_arena *arena, const struct nm_yaml *info, struct nm_bag *bag, struct nm_err *err)
{
    const struct nm_yaml *paths = nm_yaml_get(info, "relative_file_paths"), *files = nm_yaml_get(info, "files");
    bag->files = nm_take_n(arena, struct nm_bag_file, (paths ? paths->n : 0) + 1);
    nm_yaml_each(path, paths)
    {
        struct nm_bag_file *to = &bag->files[bag->n_files++];
        *to = (struct nm_bag_file){.path = path->text};
        if (!stays_inside(to->path))
            return nm_yaml_fail(path, err, "'%s' is no file in the folder of the bag", to->path);
        nm_yaml_each(file, files)
        {
            if (strcmp(text_of(file, "path"), to->path)) continue;
            if (number_of(file, "starting_time", "nanoseconds_since_epoch", &to->start, err) ||
                number_of(file, "duration", "nanoseconds", &to->duration, err) ||
                number_of(file, "message_count", NULL, &to->messages, err))
                return -1;
        }
    }
    return 0;
}

static struct nm_bag *read_bag(struct nm_arena *arena, const struct nm_yaml *file, struct nm_err *err)
{
    const struct nm_yaml *info = nm_yaml_get(file, "rosbag2_bagfile_information");
    struct nm_bag *bag = nm_take_n(arena, struct nm_bag, 1);
    uint64_t version;
    if (!file) return NULL;
    if (!info) {
        nm_yaml_fail(file, err, "this is no metadata of a bag: rosbag2_bagfile_information is missing");
        return NULL;
    }
    bag->storage = text_of(info, "storage_identifier");
    if (number_of(info, "version", NULL, &version, err) ||
        number_of(info, "duration", "nanoseconds", &bag->duration, err) ||
        number_of(info, "starting_time", "nanoseconds_since_epoch", &bag->start, err) ||
        number_of(info, "message_count", NULL, &bag->messages, err) ||
        read_topics(arena, nm_yaml_get(info, "topics_with_message_count"), bag, err) ||
        read_files(arena, info, bag, err))
        return NULL;
    bag->version = (uint32_t)version;
    return bag;
}

struct nm_bag *nm_bag_parse(struct nm_arena *arena, const char *file, const char *text, size_t size, struct nm_err *err)
{
    return read_bag(arena, nm_yaml_parse(arena, file, text, size, err), err);
}

struct nm_bag *nm_bag_read(struct nm_arena *arena, const char *path, struct nm_err *err)
{
    return read_bag(arena, nm_yaml_read(arena, path, err), err);
}
