#include "edge/dds/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool plain(char c) { return isalnum((unsigned char)c) || c == '_'; }

void nm_ros_node(const char *player, char *to, size_t size)
{
    size_t n = 0;
    if (isdigit((unsigned char)*player) || !*player) to[n++] = 'n';
    for (; *player && n + 1 < size; player++) to[n++] = plain(*player) ? *player : '_';
    to[n] = '\0';
}

int nm_ros_namespace(const char *text, char *to, size_t size, struct nm_err *err)
{
    const char *path = text + (*text == '/');
    size_t length = strlen(path);
    bool bad = length + 2 > size;
    for (size_t i = 0; i < length; i++) {
        bool first = i == 0 || path[i - 1] == '/';
        bad |= path[i] == '/' ? first || i + 1 == length : !plain(path[i]);
        bad |= first && isdigit((unsigned char)path[i]);
    }
    if (bad)
        return nm_fail(
            err,
            "namespace '%.80s': it must be words of letters, digits and '_' with '/' between them; no word may start "
            "with a digit",
            text);
    snprintf(to, size, "/%s", path);
    return 0;
}

static const char *const for_all[] = {"rosout", "parameter_events", "clock"};

void nm_ros_topic(const char *space, const char *topic, char *to, size_t size)
{
    bool global = false;
    for (size_t i = 0; i < sizeof for_all / sizeof for_all[0]; i++) global |= !strcmp(topic, for_all[i]);
    if (global || !strcmp(space, "/"))
        snprintf(to, size, "/%s", topic);
    else
        snprintf(to, size, "%s/%s", space, topic);
}

void nm_ros_type(const char *dds_name, char *to, size_t size)
{
    static const char middle[] = "::dds_::";
    const char *kind = strstr(dds_name, "::"), *cut = strstr(dds_name, middle);
    size_t length = strlen(dds_name);
    if (!kind || !cut || cut < kind + 2 || dds_name[length - 1] != '_')
        snprintf(to, size, "%s", dds_name);
    else
        snprintf(to, size, "%.*s/%.*s/%.*s", (int)(kind - dds_name), dds_name, (int)(cut - kind - 2), kind + 2,
                 (int)strlen(cut) - (int)sizeof middle, cut + sizeof middle - 1);
}

bool nm_ros_hidden(const char *topic) { return *topic == '_' || strstr(topic, "/_"); }

/* From REP-2003 and the defaults of rcl, tf2 and rclcpp_action; a name that starts with '/' is an ending. */
static const struct {
    const char *name;
    struct nm_ros_qos qos;
} habits[] = {
    {"rosout", {true, true, 1000, 10000000000}},
    {"parameter_events", {true, false, 1000, 0}},
    {"tf", {true, false, 100, 0}},
    {"tf_static", {true, true, 100, 0}}, /* several of our modules may publish it, each with its own frames */
    {"robot_description", {true, true, 1, 0}},
    {"map", {true, true, 1, 0}},
    {"/_action/status", {true, true, 1, 0}},
};

struct nm_ros_qos nm_ros_qos(const char *topic, const struct nm_type *type)
{
    size_t length = strlen(topic);
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        const char *name = habits[i].name;
        size_t n = strlen(name);
        if (*name == '/' ? length > n && !strcmp(topic + length - n, name) : !strcmp(topic, name)) return habits[i].qos;
    }
    if (type && type->blobs) return (struct nm_ros_qos){.depth = 5};
    return (struct nm_ros_qos){.reliable = true, .depth = 10};
}

bool nm_user_data(const void *bytes, size_t n, const char *key, char *to, size_t size)
{
    const char *at = bytes, *end = at + n;
    size_t length = strlen(key);
    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        if (!stop) stop = end;
        size_t piece = (size_t)(stop - at);
        if (piece > length && at[length] == '=' && !memcmp(at, key, length)) {
            size_t value = piece - length - 1;
            if (value >= size) return false;
            memcpy(to, at + length + 1, value);
            to[value] = '\0';
            return true;
        }
        at = stop + 1;
    }
    return false;
}
