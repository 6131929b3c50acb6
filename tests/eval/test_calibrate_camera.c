/* nutmeg calibrate camera, from a log of a robot that looks around with a bent neck, and from a running one: the bend
 * is found from clicks and from points of lines and written; what tells nothing is refused with a sentence. */
#include "cmd/said.h"
#include "cmd/logs.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "body/stance.h"
#include "cmd/calibrate_camera.h"
#include "core/stamp.h"
#include "edge/dds/dds_look.h"
#include "edge/dds/private_domain.h"

#define ends(code, line, part) assert_ends(cmd_calibrate, code, "calibrate camera " line, part)

static const struct nm_mount BENT = {.neck = {0.05, -0.07, 0}};

/* What a robot tells that looks around: the head moves once a second, every 0.1 s it sees some points. */
struct scene {
    struct nm_arena arena;
    const struct nm_body *kid;
    JointState q;
    BodyState state;
    uint32_t n;
    float at[1000][2]; /* px, of landmarks or of lines */
};

static struct scene *scene_new(void)
{
    static struct scene s;
    struct nm_err err = {0};
    memset(&s, 0, sizeof s);
    s.kid = nm_body_uncalibrated(&s.arena, NM_ROOT "/robots/kid70", &err);
    assert_non_null(s.kid);
    for (uint32_t j = 0; j < s.kid->n_joints; j++) nm_text(s.q.name.at[j], "%s", s.kid->joints[j].name);
    s.q.name.n = s.q.position.n = s.kid->n_joints;
    s.state.torso = (Pose){{0, 0, 0.4}, {0, 0.02, 0, sqrt(1 - 0.02 * 0.02)}};
    return &s;
}

static void scene_at(struct scene *s, uint64_t t, bool clicks)
{
    static const struct nm_pitch_size field = {8.95,  5.95,  0.05, 0.95, 2.95, 1.95, 4.95,
                                               1.475, 0.725, 2.6,  0.6,  0.1,  1};
    struct nm_camera_view view = {{quat_normal((struct quat){sqrt(1 - 0.02 * 0.02), 0, 0.02, 0}), {0, 0, 0.4}}, {0}};
    struct nm_camera_fit where = {.body = s->kid, .views = &view};
    struct nm_landmark marks[NM_PITCH_LANDMARKS];
    struct nm_line all[NM_PITCH_LINES];
    uint32_t pose = (uint32_t)(t / 10 % 14),
             n = clicks ? nm_pitch_landmarks(&field, marks) : 60 * nm_pitch_lines(&field, all);
    nm_stance(s->kid, 0.06, view.q);
    view.q[s->kid->head.joints[0]] = -0.8 + 0.4 * (pose % 5);
    view.q[s->kid->head.joints[1]] = 0.2 + 0.2 * (pose / 5);
    memcpy(s->q.position.at, view.q, s->kid->n_joints * sizeof *view.q);
    s->q.header.stamp = s->state.header.stamp = nm_stamp((int64_t)(log_start + t * 100000000u));
    s->n = 0;
    for (uint32_t i = 0; i < n && s->n < 1000; i++) {
        const struct nm_line *l = &all[i / 60];
        double share = i % 60 / 59.0;
        struct vec3 p = clicks ? (struct vec3){marks[i].x, marks[i].y, 0}
                               : (struct vec3){l->x0 + share * (l->x1 - l->x0), l->y0 + share * (l->y1 - l->y0), 0};
        struct pixel px;
        if (hypot(p.x - 2, p.y - 0.2) > 4.5 ||
            !nm_camera_fit_pixel(&where, &BENT, &s->kid->cameras[0].lens, (struct pose2){2, 0.2, 0.1}, 0, p, &px) ||
            !nm_camera_sees(&s->kid->cameras[0].lens, px))
            continue;
        s->at[s->n][0] = (float)px.u, s->at[s->n++][1] = (float)px.v;
    }
}

static PointCloud2 cloud_of(struct scene *s)
{
    PointCloud2 cloud = {.header.stamp = s->q.header.stamp, .height = 1, .width = s->n, .point_step = 8};
    cloud.fields.n = 2;
    cloud.data = (struct nm_blob){.data = (uint8_t *)s->at, .n = 8 * s->n, .cap = sizeof s->at};
    return cloud;
}

static void make_log(const char *path, bool clicks)
{
    struct scene *s = scene_new();
    FILE *file = fopen(path, "wb");
    struct nm_mcap_writer *w = nm_mcap_writer_new(&(struct nm_mcap_write_options){0});
    int joints = channel_of(w, "/joint_states", &JointState_type), body = channel_of(w, "/body_state", &BodyState_type),
        lines = channel_of(w, "/line_points_in_image", &PointCloud2_type),
        click = channel_of(w, "/clicked_point", &PointStamped_type);
    nm_mcap_start(w, to_file, file, NULL);
    for (uint64_t t = 0; t < 140; t++) {
        uint64_t time = log_start + t * 100000000u;
        scene_at(s, t, clicks);
        say(w, joints, &JointState_type, &s->q, 0, time);
        say(w, body, &BodyState_type, &s->state, 0, time);
        PointCloud2 cloud = cloud_of(s);
        if (!clicks) say(w, lines, &PointCloud2_type, &cloud, 0, time + 1000);
        for (uint32_t i = 0; clicks && t % 10 == 8 && i < s->n; i++) {
            PointStamped point = {.point = {(double)s->at[i][0], (double)s->at[i][1], 0}};
            say(w, click, &PointStamped_type, &point, 0, time + 1000 + i);
        }
    }
    assert_int_equal(nm_mcap_finish(w, NULL), 0);
    nm_mcap_writer_free(w);
    fclose(file);
    nm_arena_free(&s->arena);
}

/* A robot in a process of its own, which publishes by DDS ten times as fast as it looks around. */
static pid_t robot_new(void)
{
    pid_t pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct nm_err err = {0};
    struct scene *s = scene_new();
    struct nm_look *joints = nm_look_new(-1, false, &err), *body = nm_look_new(-1, false, &err),
                   *lines = nm_look_new(-1, false, &err);
    if (nm_look_write_to(joints, "/joint_states", &JointState_type, &err) ||
        nm_look_write_to(body, "/body_state", &BodyState_type, &err) ||
        nm_look_write_to(lines, "/line_points_in_image", &PointCloud2_type, &err))
        _exit(1);
    for (uint64_t t = 0;; t++, usleep(10000)) {
        scene_at(s, t, false);
        PointCloud2 cloud = cloud_of(s);
        nm_look_write(joints, &s->q, NULL);
        nm_look_write(body, &s->state, NULL);
        if (t % 10 > 4)
            nm_look_write(lines, &cloud, NULL); /* after the head came to rest, in whatever order they arrive */
    }
}

/* The neck that was written, degrees. */
static void assert_written(const char *path)
{
    struct nm_arena arena = {0};
    const struct nm_yaml *file = nm_yaml_read(&arena, path, NULL),
                         *neck = nm_yaml_get(nm_yaml_get(file, "camera"), "neck");
    double a[3] = {0};
    int i = 0;
    assert_non_null(neck);
    nm_yaml_each(value, neck) assert_int_equal(nm_yaml_number(value, &a[i++], NULL), 0);
    for (i = 0; i < 3; i++)
        if (!(fabs(a[i] - BENT.neck[i] * 180 / M_PI) < 0.15)) fail_msg("neck[%d] is %g", i, a[i]);
    nm_arena_free(&arena);
}

static void a_bent_neck_is_found_and_written(void **state)
{
    (void)state;
    make_log("clicks.mcap", true);
    make_log("lines.mcap", false);
    ends(0, "clicks.mcap --by points --near 2.1,0.1,3 -o clicks.yaml --accept --picture clicks.png",
         "written: clicks.yaml");
    assert_written("clicks.yaml");
    assert_int_equal(access("clicks.png", R_OK), 0);
    ends(0, "lines.mcap --near 2.1,0.1,3 -o lines.yaml --accept --picture lines.png", "written: lines.yaml");
    assert_written("lines.yaml");
    /* without a word of agreement nothing is written */
    ends(0, "lines.mcap --near 2.1,0.1,3 -o never.yaml --picture lines.png", "not written");
    assert_int_equal(access("never.yaml", F_OK), -1);
}

static void a_running_robot_is_calibrated(void **state)
{
    (void)state;
    char domain[16];
    snprintf(domain, sizeof domain, "%d", private_domain());
    setenv("ROS_DOMAIN_ID", domain, 1);
    ends(1, "--live 1 --near 2.1,0.1,3", "no robot publishes what it sees");
    pid_t robot = robot_new();
    /* a busy machine may record too little the first time */
    for (int i = 0; i < 10 && access("live.yaml", F_OK); i++)
        run_line(cmd_calibrate, "calibrate camera --live 3 --near 2.1,0.1,3 -o live.yaml --accept --picture live.png");
    kill(robot, SIGKILL);
    waitpid(robot, NULL, 0);
    if (access("live.yaml", F_OK)) fail_msg("%s", said);
    assert_written("live.yaml");
}

static void what_tells_nothing_is_refused(void **state)
{
    (void)state;
    make_log("lines.mcap", false);
    ends(1, "lines.mcap --by points --near 2,0,0", "0 known points and 0 points of lines are not enough");
    ends(1, "lines.mcap --near -2,2,90", "fits the field");
    ends(2, "lines.mcap", "say where the robot stands");
    ends(2, "lines.mcap --sim", "name one log, or use --live, or --sim");
    ends(2, "lines.mcap --near 2,0,0 --by stars", "--by wants lines, tags or points");
    ends(1, "lines.mcap --near 2,0", "must be X,Y,DEGREES");
    ends(1, "lines.mcap --near 2,0,0 --camera nose", "no camera called nose");
    ends(1, "nothing.mcap --near 2,0,0", "nothing.mcap");
}

static int begin(void **state)
{
    (void)state;
    return enter_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bent_neck_is_found_and_written),
        cmocka_unit_test(a_running_robot_is_calibrated),
        cmocka_unit_test(what_tells_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, leave_folder);
}
