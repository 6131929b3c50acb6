#include "cmd/recorded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cmd/stopping.h"
#include "codec/cdr.h"
#include "core/files.h"
#include "core/poses.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/WorldTruth.h"
#include "record/replay_log.h"

static const int64_t EVERY = 200000000; /* ns between two samples, as in an outing */

struct moment {
    int64_t time; /* ns                                                            */
    bool counts;
    struct pose2 robot_to_map; /* of its team, in this half                    */
    double x, y, vx, vy;       /* of the ball, m and m/s, in the robot's frame */
};

struct story {
    uint32_t n, room;
    struct moment *moments;
    char robot[64];         /* red2                           */
    bool plays, first_half; /* by the last state of the match */
};

/* ---- messages of a log, one type after another ---- */

struct listener {
    const char *topic;
    const struct nm_type *type;
    void *message; /* room for one */
    void (*heard)(void *user, uint32_t listener, const void *message, int64_t time);
};

static int listen(const char *path, const struct listener *listeners, uint32_t n, void *user, struct nm_err *err)
{
    struct bag bag;
    const char *topics[NM_OUTING_POSES + 2];
    struct nm_mcap_query_options time;
    struct nm_mcap_message m;
    uint32_t part, channel;
    if (bag_open(&bag, path, NULL, err)) return -1;
    for (uint32_t i = 0; i < n; i++) topics[i] = listeners[i].topic;
    const struct bag_choice choice = {.n_topics = n, .topics = topics};
    int bad = bag_choose(&bag, &choice, &time, err);
    struct bag_reader *reader = bad ? NULL : bag_reader_new(&bag, &time);
    while (reader && !bad && bag_next(reader, &m, &part, &channel)) {
        struct nm_bytes topic = bag.parts[part].contents.channels[channel].topic;
        for (uint32_t i = 0; i < n && !bad; i++) {
            if (!nm_bytes_are(topic, listeners[i].topic)) continue;
            bad = nm_cdr_decode(listeners[i].type, listeners[i].message, m.data.at, m.data.n, NULL, err) != 0;
            if (!bad) listeners[i].heard(user, i, listeners[i].message, (int64_t)m.log_time);
        }
    }
    if (reader) bag_reader_free(reader);
    bag_close(&bag);
    return bad ? -1 : 0;
}

/* ---- the truth ---- */

static void hear_state(void *user, uint32_t listener, const void *message, int64_t time)
{
    struct story *f = user;
    const MatchState *m = message;
    bool blue = !strncmp(f->robot, "blue", 4);
    int number = atoi(f->robot + (blue ? 4 : 3));
    const uint8_t *penalties = blue ? m->rival_penalties : m->penalties;
    (void)listener;
    (void)time;
    f->first_half = m->first_half;
    f->plays = m->state == MatchState_PLAYING && number >= 1 && number <= (int)(sizeof m->penalties) &&
               penalties[number - 1] == MatchState_PENALTY_NONE;
}

/* The first team plays towards +x in the first half. */
static void hear_truth(void *user, uint32_t listener, const void *message, int64_t time)
{
    struct story *f = user;
    const WorldTruth *world = message;
    const BodyTruth *robot = NULL, *ball = NULL;
    (void)listener;
    for (uint32_t i = 0; i < world->bodies.n; i++) {
        const BodyTruth *body = &world->bodies.at[i];
        if (!strcmp(body->name, f->robot)) robot = body;
        if (!strcmp(body->name, "ball")) ball = body;
    }
    if (!robot || !ball) return;
    f->moments = nm_more(f->moments, f->n, &f->room, sizeof *f->moments);
    bool turned = f->first_half != !strncmp(f->robot, "red", 3);
    struct pose2 at = nm_pose2(&robot->pose);
    struct pose2 seen = pose2_mul(pose2_inv(at), (struct pose2){ball->pose.position.x, ball->pose.position.y, 0});
    const Vector3 *v = &ball->twist.linear;
    f->moments[f->n++] = (struct moment){.time = time,
                                         .counts = f->plays && !robot->fallen,
                                         .robot_to_map = pose2_mul((struct pose2){0, 0, turned ? M_PI : 0}, at),
                                         .x = seen.x,
                                         .y = seen.y,
                                         .vx = cos(at.theta) * v->x + sin(at.theta) * v->y,
                                         .vy = cos(at.theta) * v->y - sin(at.theta) * v->x};
}

static int read_story(struct story *f, const char *log, struct nm_err *err)
{
    static MatchState state;
    static WorldTruth world;
    char path[PATH_MAX];
    const char *slash = strrchr(log, '/'), *name = slash ? slash + 1 : log;
    const struct listener listeners[] = {{"/referee/state", &MatchState_type, &state, hear_state},
                                         {"/truth/world", &WorldTruth_type, &world, hear_truth}};
    snprintf(f->robot, sizeof f->robot, "%.*s", (int)strcspn(name, "."), name);
    snprintf(path, sizeof path, "%.*sreferee.mcap", (int)(name - log), log);
    if (!nm_file_exists(log)) return nm_fail(err, "%s: there is no such log", log);
    if (!nm_file_exists(path))
        return nm_fail(err, "%s, which says where robot %s was, is not there; nutmeg play --log FOLDER writes both",
                       path, f->robot);
    if (listen(path, listeners, 2, f, err)) return -1;
    return f->n ? 0 : nm_fail(err, "%s does not say where robot %s was", path, f->robot);
}

/* Between the two moments around a time; false where one of them does not count or is missing. */
static bool truth_at(const struct story *f, int64_t time, struct moment *at)
{
    uint32_t low = 0, high = f->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (f->moments[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || low == f->n) return false;
    const struct moment *a = &f->moments[low - 1], *b = &f->moments[low];
    const struct pose2 *from = &a->robot_to_map, *to = &b->robot_to_map;
    double share = (double)(time - a->time) / (double)(b->time - a->time);
    bool carried = hypot(to->x - from->x, to->y - from->y) > 0.3 || hypot(b->x - a->x, b->y - a->y) > 0.5;
    if (!a->counts || !b->counts || b->time - a->time > EVERY || carried) return false;
    *at = *a;
    at->robot_to_map = (struct pose2){from->x + share * (to->x - from->x), from->y + share * (to->y - from->y),
                                      angle_normal(from->theta + share * angle_normal(to->theta - from->theta))};
    at->x += share * (b->x - a->x);
    at->y += share * (b->y - a->y);
    return true;
}

/* ---- a line-up hears it ---- */

/* Plays the log into the line-up and hears what it makes. `busy` gets the us of a step of each listener's maker, `load`
 * the share of the time that all took. */
static int play(struct setup *setup, const struct recorded *r, const struct listener *listeners, uint32_t n, void *user,
                double *busy, double *load, struct nm_err *err)
{
    char out[] = "/tmp/nutmeg-eval-XXXXXX.mcap";
    struct lineup_flags flags = {0};
    struct nm_lineup_options with = setup_options(setup, &flags);
    struct nm_lineup *lineup = nm_lineup_load(r->lineup, &setup->registry, &with, err);
    int file = mkstemps(out, 5), bad = lineup && file >= 0 ? 0 : -1;
    if (file < 0) nm_fail(err, "cannot make a file in /tmp");
    if (file >= 0) close(file);
    struct replay_options o = {.log = r->log,
                               .lineup = lineup,
                               .out = out,
                               .force = true,
                               .registry = &setup->registry,
                               .with = with,
                               .revision = "",
                               .build = "",
                               .cpu = "",
                               .stopping = stopping};
    struct replay_result played = {0};
    bad = bad || replay(&o, &played, err);
    if (!bad && played.stopped) bad = nm_fail(err, "%s was not played to its end", r->log);
    *load = 0;
    for (uint32_t i = 0; !bad && i < played.n_steps; i++)
        *load += 1e-9 * played.steps[i].busy * (double)played.runs / fmax(played.length, 1);
    for (uint32_t k = 0; k < n && !bad; k++) {
        uint32_t topic = nm_lineup_topic(lineup, listeners[k].topic + 1);
        if (topic == NM_NONE || !lineup->topics[topic].n_producers)
            bad = nm_fail(err, "line-up %s does not make the topic %s", r->lineup, listeners[k].topic);
        else
            busy[k] = played.steps[lineup->topics[topic].producers[0].instance].busy / 1000;
    }
    bad = bad || listen(out, listeners, n, user, err);
    replay_result_free(&played);
    nm_lineup_free(lineup);
    if (file >= 0) unlink(out);
    return bad ? -1 : 0;
}

static void first_line(char *to, size_t size, const struct nm_err *err)
{
    snprintf(to, size, "%.*s", (int)strcspn(err->text, "\n"), err->text);
}

/* ---- poses ---- */

struct poses {
    struct story story;
    struct position_result *result;
    int64_t sampled[NM_OUTING_POSES];
};

static void hear_pose(void *user, uint32_t listener, const void *message, int64_t time)
{
    static const int from[9] = {0, 1, 5, 6, 7, 11, 30, 31, 35}; /* x, y, yaw of a matrix for six numbers */
    struct poses *p = user;
    const PoseWithCovarianceStamped *m = message;
    struct nm_outing_pose sample = {.fresh = true, .pose = nm_pose2(&m->pose.pose)};
    struct moment truth;
    int64_t stamp = nm_stamp_ns(m->header.stamp);
    (void)time;
    if (stamp - p->sampled[listener] < EVERY || !truth_at(&p->story, stamp, &truth)) return;
    p->sampled[listener] = stamp;
    sample.truth = truth.robot_to_map;
    for (int i = 0; i < 9; i++) sample.covariance[i / 3][i % 3] = m->pose.covariance[from[i]];
    position_add_sample(&p->result->of[listener], &sample);
}

void recorded_poses(struct setup *setup, const struct recorded *r, uint32_t n, const char *const *topics,
                    struct position_result *result)
{
    static PoseWithCovarianceStamped pose;
    struct poses p = {.result = result};
    struct listener listeners[NM_OUTING_POSES] = {0};
    struct nm_err err = {0};
    memset(result, 0, sizeof *result);
    for (uint32_t k = 0; k < n; k++) {
        listeners[k] = (struct listener){nm_take_format(&setup->arena, "/%s", topics[k]),
                                         &PoseWithCovarianceStamped_type, &pose, hear_pose};
        result->of[k].recovered = NAN;
    }
    int bad =
        read_story(&p.story, r->log, &err) || play(setup, r, listeners, n, &p, result->step_us, &result->cpu, &err);
    for (uint32_t k = 0; k < n && !bad; k++)
        if (!result->of[k].n) bad = nm_fail(&err, "%s: no pose of topic %s falls into play", r->log, topics[k]);
    free(p.story.moments);
    result->done = !bad;
    first_line(result->why, sizeof result->why, &err);
}

/* ---- the ball ---- */

struct balls {
    struct story story;
    struct ball_result *result;
    int64_t sampled;
};

static void hear_ball(void *user, uint32_t listener, const void *message, int64_t time)
{
    struct balls *p = user;
    struct ball_result *r = p->result;
    const BallModel *b = message;
    struct moment truth;
    int64_t stamp = nm_stamp_ns(b->header.stamp);
    (void)listener;
    (void)time;
    if (stamp - p->sampled < EVERY / 4 || !truth_at(&p->story, stamp, &truth)) return;
    p->sampled = stamp;
    r->upright++;
    if (!b->valid) return;
    double error = hypot(b->position.x - truth.x, b->position.y - truth.y), speed = hypot(truth.vx, truth.vy),
           away = hypot(truth.x, truth.y);
    r->known++;
    r->wrong += error > 0.5;
    if (away > 1.7 && away < 2.3 && speed < 0.02) ball_add_error(r, BALL_PLACE, error);
    if (speed > 0.3) ball_add_error(r, BALL_ROLLING, error);
    if (speed > 0.8 && speed < 1.2)
        ball_add_error(r, BALL_VELOCITY, hypot(b->velocity.x - truth.vx, b->velocity.y - truth.vy));
}

void recorded_ball(struct setup *setup, const struct recorded *r, struct ball_result *result)
{
    static BallModel ball;
    struct balls p = {.result = result};
    const struct listener listener = {"/ball", &BallModel_type, &ball, hear_ball};
    struct nm_err err = {0};
    double busy;
    memset(result, 0, sizeof *result);
    int bad = read_story(&p.story, r->log, &err) || play(setup, r, &listener, 1, &p, &busy, &result->cpu, &err);
    free(p.story.moments);
    result->done = !bad;
    first_line(result->why, sizeof result->why, &err);
}
