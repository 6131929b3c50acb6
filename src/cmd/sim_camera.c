/* A robot for `nutmeg calibrate camera --sim`: it stands before a penalty area (scenarios/calibrate.yaml) with a bent
 * neck and looks around, in front of it some markers, and somebody who clicks on what it sees. */
#include <math.h>

#include "base/random.h"
#include "body/state.h"
#include "cmd/calibrate_camera.h"
#include "cmd/sim_play.h"
#include "cmd/stopping.h"

enum { PORT_JOINTS, PORT_BODY, PORT_IMAGE, PORT_LINES, PORTS };
enum { TAGS = 12 };

static const double TAG_SIZE = 0.16;     /* m                                                      */
static const double CLICK_ERROR = 1;     /* px, 1 sigma                                            */
static const double WRONG_CLICKS = 0.05; /* share of clicks anywhere                               */
static const double FAR = 5;             /* m: up to here people recognise landmarks in an image   */

struct looking {
    struct look *look;
    struct look_sim *sim;
    struct nm_edge *edge;
    struct nm_dice dice;
};

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    static const struct nm_edge_port ports[PORTS] = {
        [PORT_JOINTS] = {.topic = "joint_states", .kind = NM_PORT_IN, .type = &JointState_type},
        [PORT_BODY] = {.topic = "body_state", .kind = NM_PORT_IN, .type = &BodyState_type},
        [PORT_IMAGE] = {.topic = "camera/image_raw", .kind = NM_PORT_IN, .type = &Image_type},
        [PORT_LINES] = {.topic = "line_points_in_image", .kind = NM_PORT_IN, .type = &PointCloud2_type},
    };
    struct looking *l = user;
    (void)robot;
    l->edge = nm_edge_new(player, "calibration", ports, PORTS, err);
    return l->edge ? 0 : -1;
}

/* A marker on a stand, which looks at the robot. */
static struct nm_solid marker(const struct tag_place *t)
{
    struct mat3 m = quat_to_mat3(t->to_field.rot);
    float half = (float)(TAG_SIZE / 2 * 10 / 8);
    struct nm_solid s = {.kind = NM_SOLID_BOX,
                         .coat = NM_COAT_TAG,
                         .thing = NM_THING_HALL,
                         .tag = tag_cells(t->id),
                         .half = {0.005f, half, half},
                         .pos = {(float)t->to_field.pos.x, (float)t->to_field.pos.y, (float)t->to_field.pos.z},
                         .colour = {0.95f, 0.95f, 0.95f}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) s.rot[i][k] = (float)m.m[i][k];
    struct vec3 face = pose_apply(t->to_field, (struct vec3){-0.005, 0, 0}); /* the paper is where it is said to be */
    s.pos[0] = (float)face.x, s.pos[1] = (float)face.y, s.pos[2] = (float)face.z;
    return s;
}

static void hang_tags(struct look_sim *sim, struct pose2 robot, struct nm_solid solids[TAGS])
{
    sim->board = (struct tag_board){.size = TAG_SIZE};
    for (uint32_t i = 0; i < TAGS; i++) {
        double bearing = robot.theta - 1.1 + 2.2 * i / (TAGS - 1), away = 1 + 0.35 * (i % 4),
               height = 0.1 + 0.12 * (i % 3);
        struct tag_place *t = &sim->board.tags[sim->board.n++];
        t->id = 3 * i;
        t->to_field = (struct pose3){quat_rpy(0, -0.2, bearing + M_PI),
                                     {robot.x + away * cos(bearing), robot.y + away * sin(bearing), height}};
        solids[i] = marker(t);
    }
}

/* Every landmark that somebody would recognise in the image. */
static void click(struct looking *l, const struct nm_camera *lens, struct pose3 camera, struct pose2 robot)
{
    struct nm_landmark marks[NM_PITCH_LANDMARKS];
    uint32_t n = nm_pitch_landmarks(&l->look->fit.field, marks);
    for (uint32_t i = 0; i < n; i++) {
        struct pixel at;
        if (hypot(marks[i].x - robot.x, marks[i].y - robot.y) > FAR ||
            !nm_camera_from_world(lens, camera, (struct vec3){marks[i].x, marks[i].y, 0}, &at) ||
            !nm_camera_sees(lens, at))
            continue;
        at.u += CLICK_ERROR * nm_dice_gauss(&l->dice), at.v += CLICK_ERROR * nm_dice_gauss(&l->dice);
        if (nm_dice_roll(&l->dice) < WRONG_CLICKS)
            at = (struct pixel){lens->width * nm_dice_roll(&l->dice), lens->height * nm_dice_roll(&l->dice)};
        look_click(l->look, &(PointStamped){.point = {at.u, at.v, 0}});
    }
}

static void follow(struct looking *l, struct nm_stage *stage)
{
    struct look *look = l->look;
    uint32_t views = look->fit.n_views;
    nm_stage_scene(stage);
    const struct nm_kin *kin = nm_stage_kin(stage, 0);
    struct pose2 robot = nm_stage_footprint(stage, 0);
    struct pose3 camera = nm_camera_mounted(look->fit.body, look->fit.camera, &l->sim->mount, kin);
    nm_edge_begin(l->edge, nm_stage_now(stage));
    if (nm_edge_fresh(l->edge, PORT_JOINTS)) look_joints(look, nm_edge_in(l->edge, PORT_JOINTS));
    if (nm_edge_fresh(l->edge, PORT_BODY)) look_body(look, nm_edge_in(l->edge, PORT_BODY));
    if (nm_edge_fresh(l->edge, PORT_IMAGE)) look_image(look, nm_edge_in(l->edge, PORT_IMAGE));
    if (nm_edge_fresh(l->edge, PORT_LINES)) look_lines(look, nm_edge_in(l->edge, PORT_LINES));
    bool fresh = nm_edge_fresh(l->edge, PORT_IMAGE);
    nm_edge_end(l->edge);
    if (fresh && look->by == LOOK_BY_POINTS && look->time > look->moved + 500000000 && !look->here)
        click(l, &look->fit.body->cameras[look->fit.camera].lens, camera, robot);
    for (; views < look->fit.n_views; views++)
        l->sim->truth[views] = quat_mul(quat_inv(nm_ground_pose(robot).rot), camera.rot);
}

int look_simulate(struct setup *setup, struct look *look, struct look_sim *sim, struct nm_err *err)
{
    const char *file = setup_file(setup, "scenarios", "scenario", "calibrate", err);
    struct nm_scenario *scenario = file ? nm_scenario_read(file, setup->root, err) : NULL;
    struct nm_pitch pitch;
    if (!scenario || nm_pitch_read(&pitch, scenario->field, err)) {
        nm_scenario_free(scenario);
        return -1;
    }
    look->fit.field = nm_pitch_size(&pitch);
    struct looking l = {.look = look, .sim = sim, .dice = nm_dice_new(sim->seed, 0x6e65636b, 0)};
    struct nm_solid solids[TAGS];
    double toward = 2 * M_PI * nm_dice_roll(&l.dice);
    sim->mount.neck[0] = sim->bend * cos(toward), sim->mount.neck[1] = sim->bend * sin(toward);
    /* where the robot stands is drawn here, so that markers can be hung around it */
    struct nm_somewhere *at = &scenario->robots[0].at;
    struct pose2 robot = {at->x.low + nm_dice_roll(&l.dice) * (at->x.high - at->x.low),
                          at->y.low + nm_dice_roll(&l.dice) * (at->y.high - at->y.low),
                          at->theta.low + nm_dice_roll(&l.dice) * (at->theta.high - at->theta.low)};
    *at = (struct nm_somewhere){{robot.x, robot.x}, {robot.y, robot.y}, {0, 0}, {robot.theta, robot.theta}};
    hang_tags(sim, robot, solids);
    look->board = &sim->board;
    look->fit.stand = (struct pose2){robot.x + 0.15 * nm_dice_both(&l.dice), robot.y + 0.15 * nm_dice_both(&l.dice),
                                     robot.theta + 0.1 * nm_dice_both(&l.dice)};
    look->fit.stand_error[0] = 0.5, look->fit.stand_error[1] = 1;
    struct nm_run_options options = {.seed = sim->seed,
                                     .robot = look->fit.body->path,
                                     .registry = &setup->registry,
                                     .ready = ready,
                                     .user = &l,
                                     .mount = sim->mount};
    if (look->by == LOOK_BY_TAGS) options.n_things = TAGS, options.things = solids;
    struct nm_run *run = nm_run_new(scenario, &options, err);
    while (run && !stopping() && nm_run_step(run) > 0) {
        follow(&l, nm_run_stage(run));
        sim->seconds = nm_seconds(nm_stage_now(nm_run_stage(run)));
    }
    int bad = run ? 0 : -1;
    nm_run_free(run);
    nm_scenario_free(scenario);
    return bad;
}

/* rad, mean over the views: the angle between the true pose and the one by `mount`; of it the part that is not heading.
 */
static double angle_left(const struct look *look, const struct look_sim *sim, const struct nm_mount *mount,
                         double *tilt)
{
    const struct nm_camera_fit *f = &look->fit;
    double sum = 0;
    *tilt = 0;
    for (uint32_t i = 0; i < f->n_views; i++) {
        struct nm_kin kin;
        nm_forward(f->body, f->views[i].torso_to_robot, f->views[i].q, &kin);
        struct quat found = nm_camera_mounted(f->body, f->camera, mount, &kin).rot;
        struct vec3 off = quat_log(quat_mul(found, quat_inv(sim->truth[i])));
        sum += vec3_norm(off) / f->n_views;
        *tilt += hypot(off.x, off.y) / f->n_views;
    }
    return sum;
}

void look_judge(const struct look *look, struct look_sim *sim)
{
    const struct nm_mount straight = {0};
    double tilt;
    sim->before = angle_left(look, sim, &straight, &tilt);
    sim->left = angle_left(look, sim, &look->fit.mount, &sim->tilt_left);
}
