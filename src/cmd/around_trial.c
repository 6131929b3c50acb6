#include "cmd/around_trial.h"

#include <math.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/trail.h"
#include "body/stance.h"
#include "body/state.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"
#include "core/poses.h"
#include "core/stamp.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "humanoid_league_msgs/VisualCompassRotation.h"
#include "nav_msgs/Odometry.h"
#include "nutmeg_msgs/CameraPose.h"
#include "sensor_msgs/Image.h"

/* ---- the compass ---- */

enum { IMAGE, CAMERA, LEGS, POSE, COMPASS, PORTS };
enum { OTHERS = 5 };

struct hall {
    const struct nm_body *body;
    struct nm_pitch pitch;
    struct nm_scene scene;
    struct nm_lens_map *lens;
    struct nm_eye *eye;
    struct nm_player *player;
    struct nm_edge *edge;
    struct nm_dice dice;
    uint32_t bytes;
    int64_t now;
    double busy; /* s */
};

static void stand_robot(struct hall *h, uint32_t index, struct pose2 at, struct nm_kin *kin)
{
    double q[NM_JOINTS];
    nm_stance(h->body, 0.06, q);
    if (index == 0 && h->body->head.n > 1) {
        q[h->body->head.joints[0]] = 0.8 * nm_dice_both(&h->dice);
        q[h->body->head.joints[1]] = -0.05 + 0.35 * nm_dice_roll(&h->dice);
    }
    struct pose3 base = {quat_rpy(0.02 * nm_dice_gauss(&h->dice), 0.02 * nm_dice_gauss(&h->dice), at.theta),
                         {at.x, at.y, 0}};
    nm_forward(h->body, base, q, kin);
    base.pos.z = -fmin(kin->pose[h->body->foot[0].sole].pos.z, kin->pose[h->body->foot[1].sole].pos.z);
    nm_forward(h->body, base, q, kin);
    static const char *const shirts[] = {"red", "blue"};
    struct nm_shirt shirt = {.number = 1 + index % 5};
    nm_shirt_colour(shirts[index & 1], shirt.colour);
    nm_scene_robot(&h->scene, index, h->body, kin, &shirt);
}

/* One image from there; the robot believes to be at `believed`. Its answer, NULL: none. */
static const VisualCompassRotation *look(struct hall *h, struct pose2 robot, struct pose2 believed, bool sure)
{
    struct nm_kin kin, other;
    double x = h->pitch.length / 2, y = h->pitch.width / 2;
    nm_scene_clear(&h->scene);
    for (uint32_t i = 1; i <= OTHERS; i++) {
        struct pose2 at = {x * nm_dice_both(&h->dice), y * nm_dice_both(&h->dice), M_PI * nm_dice_both(&h->dice)};
        if (hypot(at.x - robot.x, at.y - robot.y) > 0.6) stand_robot(h, i, at, &other);
    }
    stand_robot(h, 0, robot, &kin);
    struct pose3 to_field = kin.pose[h->body->cameras[0].frame];
    nm_cast(h->eye, &h->scene, to_field);
    struct nm_shutter shutter = NM_SHUTTER_USUAL;
    shutter.exposure = (float)(0.7 + 0.6 * nm_dice_roll(&h->dice));
    for (int k = 0; k < 3; k++) shutter.white[k] = (float)(1 + 0.1 * nm_dice_both(&h->dice));

    Header header = {.stamp = nm_stamp(h->now)};
    nm_text(header.frame_id, "%s", h->body->frames[h->body->cameras[0].frame].name);
    nm_edge_begin(h->edge, h->now);
    Image *image = nm_edge_out(h->edge, IMAGE);
    if (nm_edge_blob(h->edge, IMAGE, &image->data, h->bytes)) {
        image->header = header;
        image->width = h->lens->camera.width, image->height = h->lens->camera.height;
        image->step = h->bytes / image->height;
        nm_text(image->encoding, "yuv422_yuy2");
        nm_develop(h->eye, &shutter, nm_dice_bits(&h->dice), NM_YUYV, image->data.data);
        image->data.n = h->bytes;
        nm_edge_put(h->edge, IMAGE);
    }
    CameraPose *pose = nm_edge_out(h->edge, CAMERA);
    struct pose3 camera = pose_mul(pose_inv(nm_ground_pose(nm_robot_to_odom(h->body, &kin))), to_field);
    camera.rot = quat_mul(quat_rpy(0.006 * nm_dice_gauss(&h->dice), 0.006 * nm_dice_gauss(&h->dice), 0), camera.rot);
    pose->header = header;
    nm_text(pose->camera, "%s", header.frame_id);
    pose->pose =
        (Pose){{camera.pos.x, camera.pos.y, camera.pos.z}, {camera.rot.x, camera.rot.y, camera.rot.z, camera.rot.w}};
    pose->valid = true;
    nm_edge_put(h->edge, CAMERA);
    PoseWithCovarianceStamped *where = nm_edge_out(h->edge, POSE);
    where->header = header;
    where->pose.pose = (Pose){{believed.x, believed.y, 0}, {0, 0, sin(believed.theta / 2), cos(believed.theta / 2)}};
    where->pose.covariance[0] = where->pose.covariance[7] = sure ? 0.01 : 1;
    where->pose.covariance[35] = sure ? 0.002 : 1;
    nm_edge_put(h->edge, POSE);
    nm_edge_end(h->edge);
    int64_t begin = nm_thread_time();
    nm_players_run(&h->player, 1, h->now + nm_ns(0.2), 1);
    h->busy += 1e-9 * (double)(nm_thread_time() - begin);
    h->now += nm_ns(0.25);
    nm_edge_begin(h->edge, h->now - nm_ns(0.02));
    const VisualCompassRotation *answer = nm_edge_fresh(h->edge, COMPASS) ? nm_edge_in(h->edge, COMPASS) : NULL;
    nm_edge_end(h->edge);
    return answer;
}

static struct pose2 somewhere(struct hall *h, bool own_half)
{
    double x = h->pitch.length / 2 * nm_dice_both(&h->dice);
    return (struct pose2){own_half ? -fabs(x) : x, h->pitch.width / 2 * nm_dice_both(&h->dice),
                          M_PI * nm_dice_both(&h->dice)};
}

/* Learns from its own half, where robots wait for a kick-off, and is asked anywhere, half of the time while it believes
 * to be at the mirrored place. */
static void try_compass(struct hall *h, struct compass_trial *t)
{
    for (uint32_t i = 0; i < t->learn && !stopping(); i++) {
        struct pose2 at = somewhere(h, true), believed = at;
        believed.x += 0.1 * nm_dice_gauss(&h->dice), believed.y += 0.1 * nm_dice_gauss(&h->dice);
        believed.theta += 0.05 * nm_dice_gauss(&h->dice);
        look(h, at, believed, true);
    }
    for (uint32_t i = 0; i < t->ask && !stopping(); i++) {
        struct pose2 at = somewhere(h, false), believed = at;
        believed.x += 0.3 * nm_dice_gauss(&h->dice), believed.y += 0.3 * nm_dice_gauss(&h->dice);
        if (nm_dice_roll(&h->dice) < 0.5) believed = (struct pose2){-at.x, -at.y, at.theta + M_PI};
        const VisualCompassRotation *answer = look(h, at, believed, false);
        if (!answer || !(answer->confidence > 0.5f)) continue;
        double off = fabs(angle_normal((double)answer->orientation - at.theta));
        t->told++;
        t->right += off < M_PI / 2;
        t->error += off;
    }
    t->error = t->told ? t->error / t->told : NAN;
    t->seconds = h->busy / (t->learn + t->ask);
}

int compass_trial(struct setup *setup, const struct nm_body *body, struct compass_trial *t, struct nm_err *err)
{
    struct nm_arena arena = {0};
    struct lineup_flags flags = {0};
    char learn[64];
    snprintf(learn, sizeof learn, "visual_compass.learn=%g", 0.25 * (t->learn - 6));
    flags.set = (struct texts){1, {learn}};
    struct hall *h = nm_take(&arena, sizeof *h);
    *h = (struct hall){.body = body, .dice = nm_dice_new(t->seed, 0x636f6d70, 0), .now = nm_ns(1)};
    const char *field = nm_take_format(&arena, "%s/fields/kid.yaml", setup->root);
    struct nm_lineup *lineup = setup_lineup(setup, "around", &flags, err);
    if (lineup && !nm_pitch_read(&h->pitch, field, err)) h->lens = nm_lens_map_new(&arena, &body->cameras[0].lens, err);
    int bad = -1;
    if (h->lens) {
        const struct nm_player_options options = {.body = body, .seed = 1};
        h->bytes = nm_picture_bytes(&h->lens->camera, NM_YUYV);
        h->eye = nm_eye_new(&arena, h->lens);
        nm_scene_new(&h->scene, &h->pitch, (uint32_t)nm_spread(t->seed));
        const struct nm_edge_port ports[PORTS] = {
            [IMAGE] = {"camera/image_raw", NM_PORT_OUT, &Image_type, 0, h->bytes},
            [CAMERA] = {"camera/pose", NM_PORT_OUT, &CameraPose_type, 0, 0},
            [LEGS] = {"odometry", NM_PORT_OUT, &Odometry_type, 0, 0},
            [POSE] = {"pose", NM_PORT_OUT, &PoseWithCovarianceStamped_type, 0, 0},
            [COMPASS] = {"visual_compass", NM_PORT_IN, &VisualCompassRotation_type, 0, 0},
        };
        h->player = nm_player_new(lineup, &options, err);
        h->edge = h->player ? nm_edge_new(h->player, "hall", ports, PORTS, err) : NULL;
        bad = h->edge ? 0 : -1;
    }
    if (!bad) try_compass(h, t);
    if (h->player) nm_player_free(h->player);
    if (lineup) nm_lineup_free(lineup);
    nm_arena_free(&arena);
    return bad;
}

/* ---- the odometry ---- */

enum { WAY_SEEN, WAY_LEGS, WAY_PORTS };

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    static const struct nm_edge_port ports[WAY_PORTS] = {
        [WAY_SEEN] = {.topic = "visual_odometry", .kind = NM_PORT_IN, .type = &Odometry_type},
        [WAY_LEGS] = {.topic = "odometry", .kind = NM_PORT_IN, .type = &Odometry_type},
    };
    struct nm_edge **edge = user;
    (void)robot;
    *edge = nm_edge_new(player, "way", ports, WAY_PORTS, err);
    return *edge ? 0 : -1;
}

/* m, between where two ways that began at the same place end */
static double apart(struct pose2 from, struct pose2 to, struct pose2 begin, struct pose2 end)
{
    struct pose2 a = pose2_mul(pose2_inv(from), to), b = pose2_mul(pose2_inv(begin), end);
    return hypot(a.x - b.x, a.y - b.y);
}

int way_trial(struct setup *setup, struct way_trial *t, struct nm_err *err)
{
    const double begin = 1.8; /* s: the robot stands, and has seen its first images */
    const char *file = setup_file(setup, "scenarios", "scenario", "visual_odometry", err);
    struct nm_scenario *scenario = file ? nm_scenario_read(file, setup->root, err) : NULL;
    struct nm_edge *edge = NULL;
    struct nm_run_options options = {.seed = t->seed, .registry = &setup->registry, .ready = ready, .user = &edge};
    struct nm_run *run = scenario ? nm_run_new(scenario, &options, err) : NULL;
    struct nm_trail trail = {0}; /* images are older than now */
    struct pose2 first = {0}, first_seen = {0}, first_legs = {0};
    double passed = 0;
    bool begun = false, done = false;
    while (run && !done && !stopping() && nm_run_step(run) > 0) {
        struct nm_stage *stage = nm_run_stage(run);
        t->seconds = nm_seconds(nm_stage_now(stage));
        nm_stage_scene(stage);
        nm_trail_put(&trail, nm_stage_now(stage), nm_stage_footprint(stage, 0));
        nm_edge_begin(edge, nm_stage_now(stage));
        if (t->seconds >= begin && nm_edge_fresh(edge, WAY_SEEN)) {
            const Odometry *by_eye = nm_edge_in(edge, WAY_SEEN), *by_leg = nm_edge_in(edge, WAY_LEGS);
            struct pose2 at = nm_trail_at(&trail, nm_stamp_ns(by_eye->header.stamp));
            struct pose2 seen = nm_pose2(&by_eye->pose.pose), legs = nm_pose2(&by_leg->pose.pose);
            if (!begun) first = at, first_seen = seen, first_legs = legs;
            begun = true;
            passed = hypot(at.x - first.x, at.y - first.y);
            t->error = apart(first, at, first_seen, seen);
            t->legs = apart(first, at, first_legs, legs);
            done = passed >= t->way;
        }
        nm_edge_end(edge);
    }
    int bad = run ? 0 : -1;
    if (run && !done) bad = nm_fail(err, "visual odometry: the robot came only %.2f m far", passed);
    nm_run_free(run);
    nm_scenario_free(scenario);
    return bad;
}
