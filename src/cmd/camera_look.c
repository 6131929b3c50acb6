/* What a robot sees while it stands and looks around, from its messages, a log, or a running robot: views with sights
 * for the calibration of its camera. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cmd/calibrate_camera.h"
#include "cmd/stopping.h"
#include "codec/cdr.h"
#include "codec/jpeg.h"
#include "core/poses.h"
#include "core/stamp.h"
#include "record/bag.h"
#include "record/bag_record.h"
#include "sensor_msgs/CompressedImage.h"

/* ---- what the robot tells ---- */

static const double MOVE = 0.006;         /* rad: an encoder's step is no move    */
static const int64_t REST = 300000000;    /* ns until a head that stops is at rest */
static const int64_t BETWEEN = 100000000; /* ns between two views                 */
enum { VIEWS_HERE = 3, POINTS_OF_VIEW = 150 };

void look_begin(struct look *l, const struct nm_body *body, const struct nm_body *present, uint32_t camera)
{
    l->fit.body = body;
    l->fit.camera = camera;
    l->fit.mount = present->cameras[camera].mount;
    l->fit.lens = present->cameras[camera].lens;
    l->fit.neck_known = camera > 0; /* the first camera's calibration has found it */
    l->fit.views = nm_calloc(NM_FIT_VIEWS, sizeof *l->fit.views);
    l->fit.sights = nm_calloc(NM_FIT_SIGHTS, sizeof *l->fit.sights);
    l->viewed = INT64_MIN;
}

void look_end(struct look *l)
{
    for (uint32_t i = 0; i < l->fit.n_views; i++) free(l->pictures[i].bytes);
    free(l->newest.bytes);
    free(l->fit.views);
    free(l->fit.sights);
}

void look_joints(struct look *l, const JointState *joints)
{
    const struct nm_body *body = l->fit.body;
    l->time = nm_stamp_ns(joints->header.stamp);
    nm_take_joints(body, joints->name.at, joints->name.n, joints->position.at, joints->position.n, l->q);
    bool moved = !l->joints_known;
    for (uint32_t i = 0; i < body->n_joints; i++) moved |= fabs(l->q[i] - l->rested[i]) > MOVE;
    if (!moved) return;
    l->looked_around |= l->joints_known && l->time > l->moved + REST;
    l->joints_known = true;
    memcpy(l->rested, l->q, sizeof l->q);
    l->moved = l->time;
    l->here = 0;
}

void look_body(struct look *l, const BodyState *body)
{
    const Pose *p = &body->torso;
    l->torso_to_robot =
        (struct pose3){quat_normal(nm_quat(&p->orientation)), {p->position.x, p->position.y, p->position.z}};
    l->body_known = true;
}

/* A view of an image taken at this time, or NULL: the head moved, or this pose of it has enough of them. */
static struct nm_camera_view *new_view(struct look *l, int64_t taken, bool asked)
{
    if (!l->looked_around || !l->body_known || l->fit.n_views == NM_FIT_VIEWS || taken < l->moved + REST) return NULL;
    if (!asked && (taken < l->viewed + BETWEEN || l->here == VIEWS_HERE)) return NULL;
    struct nm_camera_view *v = &l->fit.views[l->fit.n_views++];
    v->torso_to_robot = l->torso_to_robot;
    memcpy(v->q, l->q, sizeof v->q);
    l->rests += !l->here++;
    l->viewed = taken;
    if (l->newest.bytes && l->newest_time == taken) {
        l->pictures[l->fit.n_views - 1] = l->newest;
        l->newest.bytes = NULL;
    }
    return v;
}

static void add_sight(struct look *l, double u, double v, enum nm_sight_kind kind, struct vec3 place)
{
    if (l->fit.n_sights == NM_FIT_SIGHTS) return;
    l->fit.sights[l->fit.n_sights++] = (struct nm_camera_sight){l->fit.n_views - 1, {u, v}, kind, place};
}

static void take_picture(struct look *l, const struct nm_pixels *in, Time stamp)
{
    const struct nm_pixel_format *format = nm_pixels_check(in, NULL);
    if (!format) return;
    free(l->newest.bytes);
    l->newest = (struct grey){in->width, in->height, malloc((size_t)in->width * in->height)};
    l->newest_time = nm_stamp_ns(stamp);
    if (!l->newest.bytes) abort();
    for (uint32_t y = 0; y < in->height; y++)
        for (uint32_t x = 0; x < in->width; x++) {
            const uint8_t *p = in->data + (size_t)y * in->step + (size_t)x * format->bytes;
            uint32_t light = format->paired       ? p[format->y0]
                             : format->bytes == 1 ? p[0]
                                                  : (p[0] + 2u * p[1] + p[2]) / 4; /* red and blue alike */
            l->newest.bytes[(size_t)y * in->width + x] = (uint8_t)light;
        }
    if (l->by == LOOK_BY_TAGS && new_view(l, l->newest_time, false)) look_tags(l, l->fit.n_views - 1);
}

void look_image(struct look *l, const Image *image) { take_picture(l, &NM_PIXELS(image), image->header.stamp); }

static void look_jpeg(struct look *l, const CompressedImage *image)
{
    uint32_t width, height;
    struct nm_pixels pixels;
    if (nm_jpeg_size(image->data.data, image->data.n, &width, &height, NULL) || width > 4096 || height > 4096) return;
    size_t room = (size_t)3 * width * height;
    uint8_t *rgb = nm_malloc(room);
    if (!nm_jpeg_decode(image->data.data, image->data.n, rgb, room, &pixels, NULL))
        take_picture(l, &pixels, image->header.stamp);
    free(rgb);
}

void look_lines(struct look *l, const PointCloud2 *points)
{
    bool ours = points->fields.n == 2 && points->point_step == 2 * sizeof(float) && points->height == 1 &&
                (uint64_t)points->width * points->point_step <= points->data.n;
    if (l->by != LOOK_BY_LINES || !ours || !points->width) return;
    if (!new_view(l, nm_stamp_ns(points->header.stamp), false)) return;
    uint32_t every = points->width / POINTS_OF_VIEW + 1;
    for (uint32_t i = 0; i < points->width; i += every) {
        float at[2];
        memcpy(at, points->data.data + (size_t)i * sizeof at, sizeof at);
        add_sight(l, (double)at[0], (double)at[1], NM_SIGHT_LINE, (struct vec3){0});
    }
}

void look_click(struct look *l, const PointStamped *click)
{
    if (l->by != LOOK_BY_POINTS || !new_view(l, l->time, true)) return;
    if (!l->pictures[l->fit.n_views - 1].bytes && l->newest.bytes) {
        l->pictures[l->fit.n_views - 1] = l->newest;
        l->newest.bytes = NULL;
    }
    add_sight(l, click->point.x, click->point.y, l->n_places ? NM_SIGHT_PLACE : NM_SIGHT_LANDMARK,
              l->n_places ? l->places[l->clicks % l->n_places] : (struct vec3){0});
    l->clicks++;
}

/* ---- from a log ---- */

union message {
    JointState joints;
    BodyState body;
    Image image;
    CompressedImage jpeg;
    PointCloud2 points;
    PointStamped click;
};

static const struct {
    const char *topic; /* %s: the camera's name */
    const struct nm_type *type;
    void (*take)(struct look *, const void *);
} sources[] = {
    {"joint_states", &JointState_type, (void (*)(struct look *, const void *))look_joints},
    {"body_state", &BodyState_type, (void (*)(struct look *, const void *))look_body},
    {"%s/image_raw", &Image_type, (void (*)(struct look *, const void *))look_image},
    {"%s/image_raw/compressed", &CompressedImage_type, (void (*)(struct look *, const void *))look_jpeg},
    {"line_points_in_image", &PointCloud2_type, (void (*)(struct look *, const void *))look_lines},
    {"clicked_point", &PointStamped_type, (void (*)(struct look *, const void *))look_click},
};
enum { SOURCES = sizeof sources / sizeof *sources };

int look_log(struct look *l, const char *path, struct nm_err *err)
{
    struct bag bag;
    struct nm_mcap_message message;
    struct nm_mcap_query_options time = {0};
    uint32_t part, channel;
    char topics[SOURCES][96];
    if (bag_open(&bag, path, NULL, err)) return -1;
    const char *camera = l->fit.body->cameras[l->fit.camera].name;
    for (uint32_t i = 0; i < SOURCES; i++) {
        const char *wild = strchr(sources[i].topic, '%');
        snprintf(topics[i], sizeof topics[i], "%s%s", wild ? camera : "", wild ? wild + 2 : sources[i].topic);
    }
    struct bag_choice choice = {0};
    bool good = !bag_choose(&bag, &choice, &time, err);
    struct bag_reader *reader = good ? bag_reader_new(&bag, &time) : NULL;
    union message *m = nm_calloc(1, sizeof *m);
    while (reader && !stopping() && bag_next(reader, &message, &part, &channel)) {
        struct nm_bytes topic = bag.parts[part].contents.channels[channel].topic;
        if (topic.n && topic.at[0] == '/') topic.at++, topic.n--;
        for (uint32_t i = 0; i < SOURCES; i++) {
            if (topic.n != strlen(topics[i]) || memcmp(topic.at, topics[i], topic.n)) continue;
            memset(m, 0, sizeof *m);
            if (!nm_cdr_decode(sources[i].type, m, message.data.at, message.data.n, NULL, NULL)) sources[i].take(l, m);
        }
    }
    free(m);
    if (reader) bag_reader_free(reader);
    bag_close(&bag);
    if (good && !(l->joints_known && l->body_known))
        return nm_fail(err, "%s: the topics joint_states and body_state are missing; the line-up calibrate makes them",
                       path);
    return good ? 0 : -1;
}

int look_live(struct look *l, double seconds, bool network, struct nm_err *err)
{
    static const char *const topics[] = {"*joint_states", "*body_state", "*image_raw", "*line_points_in_image",
                                         "*clicked_point"};
    char folder[] = "/tmp/nutmeg_calibrate_XXXXXX", path[64];
    struct bag_recorded made;
    if (!mkdtemp(folder)) return nm_fail(err, "no folder for a log can be made in /tmp");
    snprintf(path, sizeof path, "%s/look.mcap", folder);
    struct bag_record how = {.path = path,
                             .n_topics = sizeof topics / sizeof *topics,
                             .topics = topics,
                             .seconds = seconds,
                             .domain = -1,
                             .network = network,
                             .packing = NM_MCAP_LZ4,
                             .floor = 200000000,
                             .stopping = stopping};
    printf("records for %.0f s; the robot should stand and look around (line-up calibrate)\n", seconds);
    int bad = bag_record(&how, &made, err);
    if (!bad && !made.messages)
        bad = nm_fail(err, "no robot publishes what it sees: start it with nutmeg run calibrate --dds");
    if (!bad) bad = look_log(l, path, err);
    unlink(path);
    rmdir(folder);
    return bad;
}
