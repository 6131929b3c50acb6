#include "cmd/ball_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clamp.h"
#include "cmd/stopping.h"
#include "core/stamp.h"
#include "nutmeg_msgs/BallModel.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/Percepts.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "sim/scenario.h"

static const double SCENE = 8;               /* s, then the ball is put somewhere else                  */
static const double KICK = 2;                /* s, then a ball that is to roll is kicked                */
static const double SETTLED = 1, SEEN = 0.4; /* s after which a ball that was put, or kicked, counts    */
static const double BOUNCE = 0.05;           /* m/s at once, and more than ...                          */
static const double MOST_BRAKE = 10;         /* m/s^2 ... turf takes: the ball met something            */
static const double STEER = 3;               /* s, then the robot walks otherwise                       */

enum { TRUTHS = 2048, AHEAD = 512, BALL = 0, SEES, PORTS };

struct moment {
    int64_t at;
    struct pose2 robot;
    struct vec3 ball, velocity;
};

struct trial {
    const struct ball_trial *options;
    struct ball_result *result;
    struct nm_stage *stage;
    struct nm_edge *edge;
    struct nm_dice dice;
    bool shoots, rolls;             /* in this scene the ball is kicked; it has been         */
    bool touched;                   /* by the robot's feet: it does not roll freely any more */
    int64_t scene, kicked, steered; /* ns, when they began                                   */
    struct nm_walk_velocity velocity;
    struct moment truths[TRUTHS];
    uint32_t newest;
    struct {
        int64_t at; /* ns, when the robot is to meet the ball there */
        double x, y;
    } ahead[AHEAD];
    uint32_t n_ahead;
    double nees;
    uint32_t n_nees;
};

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct trial *t = user;
    const struct nm_edge_port ports[PORTS] = {
        [BALL] = {"ball", NM_PORT_IN, &BallModel_type, 0, 0},
        [SEES] = {"percepts", NM_PORT_IN | NM_EDGE_OPTIONAL, NULL, 0, 0},
    };
    (void)robot;
    t->edge = nm_edge_new(player, "ball trial", ports, PORTS, err);
    return t->edge ? 0 : -1;
}

/* ---- the script ---- */

static double between(struct trial *t, double low, double high) { return low + (high - low) * nm_dice_roll(&t->dice); }

/* Every other ball lies all the time. */
static void put_ball(struct trial *t, struct pose2 robot)
{
    const struct nm_pitch *p = nm_stage_pitch(t->stage);
    struct pose2 at = {0};
    t->shoots = !t->shoots;
    t->rolls = false;
    for (int tries = 0; tries < 50; tries++) {
        double bearing = between(t, -0.7, 0.7), away = t->shoots ? between(t, 2.5, 3.5) : between(t, 1.2, 3);
        at = pose2_mul(robot, (struct pose2){away * cos(bearing), away * sin(bearing), 0});
        if (fabs(at.x) < p->length / 2 && fabs(at.y) < p->width / 2) break;
    }
    nm_stage_put_ball(t->stage, (struct vec3){at.x, at.y, p->ball_radius}, (struct vec3){0});
}

/* The others roll past the robot then, on either side. */
static void kick_ball(struct trial *t, const struct moment *now)
{
    double dx = now->robot.x - now->ball.x, dy = now->robot.y - now->ball.y, speed = between(t, 1.3, 2.4);
    double aside = between(t, 0.25, 0.6) * (nm_dice_roll(&t->dice) < 0.5 ? -1 : 1);
    double aim = atan2(dy, dx) + atan2(aside, hypot(dx, dy));
    nm_stage_put_ball(t->stage, now->ball, (struct vec3){speed * cos(aim), speed * sin(aim), 0});
    t->rolls = true;
    t->touched = false;
}

static void steer(struct trial *t, struct pose2 robot)
{
    const struct nm_pitch *p = nm_stage_pitch(t->stage);
    struct pose2 centre = pose2_mul(pose2_inv(robot), (struct pose2){0, 0, 0});
    bool edge = fabs(robot.x) > p->length / 2 - 1.5 || fabs(robot.y) > p->width / 2 - 1.2;
    double rest = nm_dice_roll(&t->dice), x = between(t, -0.05, 0.2), y = between(t, -0.05, 0.05),
           turn = between(t, -0.3, 0.3);
    t->velocity = (struct nm_walk_velocity){x, y, turn};
    if (rest < 0.3) t->velocity = (struct nm_walk_velocity){0};
    if (edge) t->velocity = (struct nm_walk_velocity){0.15, 0, nm_within(atan2(centre.y, centre.x), 0.5)};
}

/* The head follows the ball, and looks aside for one second of four, as a robot does that must find its place, too;
 * never in the first seconds after the ball was put somewhere, which no ball of a game is behind its back. */
static void lead(struct trial *t, const struct moment *now)
{
    struct nm_err err = {0};
    double scene = nm_seconds(now->at - t->scene), aside = fmod(scene, 4) > 3 ? (scene < 4 ? 1 : -1) : 0;
    struct pose2 ball = pose2_mul(pose2_inv(now->robot), (struct pose2){now->ball.x, now->ball.y, 0});
    double pan = nm_within(atan2(ball.y, ball.x) + aside, 1.6), tilt = atan2(0.5, fmax(hypot(ball.x, ball.y), 0.3));
    if (t->options->fidelity == NM_FIDELITY_FLAT) {
        nm_stage_lead(t->stage, 0, t->velocity, pan, tilt);
        return;
    }
    bool stands = t->velocity.x == 0 && t->velocity.y == 0 && t->velocity.turn == 0;
    WalkCommand walk = {.mode = stands ? WalkCommand_STAND : WalkCommand_VELOCITY,
                        .velocity = {{t->velocity.x, t->velocity.y, 0}, {0, 0, t->velocity.turn}}};
    HeadCommand head = {.mode = HeadCommand_ANGLES, .pan = (float)pan, .tilt = (float)tilt};
    nm_stage_put(t->stage, 0, "walk_command", &WalkCommand_type, &walk, &err);
    nm_stage_put(t->stage, 0, "head_command", &HeadCommand_type, &head, &err);
}

/* ---- the judgement ---- */

static const struct moment *truth_at(const struct trial *t, int64_t at)
{
    for (uint32_t i = 0; i < TRUTHS; i++) {
        const struct moment *m = &t->truths[(t->newest + TRUTHS - i) % TRUTHS];
        if (m->at <= at) return m;
    }
    return &t->truths[(t->newest + 1) % TRUTHS];
}

void ball_add_error(struct ball_result *r, enum ball_error kind, double error)
{
    if (r->n[kind] < BALL_SAMPLES) r->errors[kind][r->n[kind]++] = (float)error;
}

static void judge(struct trial *t, const BallModel *b, int64_t stamp)
{
    const struct moment *m = truth_at(t, stamp);
    struct ball_result *r = t->result;
    struct pose2 ball = pose2_mul(pose2_inv(m->robot), (struct pose2){m->ball.x, m->ball.y, 0});
    double since = nm_seconds(stamp - (t->rolls ? t->kicked : t->scene)), away = hypot(ball.x, ball.y),
           speed = hypot(m->velocity.x, m->velocity.y);
    if (since < (t->rolls ? SEEN : SETTLED) || (t->rolls && t->touched)) return;
    r->upright++;
    if (!b->valid) return;
    r->known++;
    double dx = b->position.x - ball.x, dy = b->position.y - ball.y, error = hypot(dx, dy);
    double c = cos(m->robot.theta), s = sin(m->robot.theta);
    double vx = c * m->velocity.x + s * m->velocity.y, vy = c * m->velocity.y - s * m->velocity.x;
    r->wrong += error > 0.5;
    if (away > 1.7 && away < 2.3 && speed < 0.02 && !t->rolls) {
        double p = b->covariance[0], q = b->covariance[1], u = b->covariance[5], det = p * u - q * q;
        ball_add_error(r, BALL_PLACE, error);
        if (det > 0) t->nees += (u * dx * dx - 2 * q * dx * dy + p * dy * dy) / det, t->n_nees++;
    }
    if (speed > 0.3) ball_add_error(r, BALL_ROLLING, error);
    if (speed > 0.8 && speed < 1.2) ball_add_error(r, BALL_VELOCITY, hypot(b->velocity.x - vx, b->velocity.y - vy));
    if (speed > 0.3 && b->interception_time > 0.8f && b->interception_time < 1.2f && t->n_ahead < AHEAD) {
        struct pose2 at = pose2_mul(m->robot, (struct pose2){b->interception.x, b->interception.y, 0});
        t->ahead[t->n_ahead].at = stamp + nm_ns(b->interception_time);
        t->ahead[t->n_ahead].x = at.x;
        t->ahead[t->n_ahead++].y = at.y;
    }
}

/* What was foretold for now; what a new scene makes impossible is not held against anybody. */
static void judge_ahead(struct trial *t, const struct moment *now)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_ahead; i++) {
        if (t->ahead[i].at > now->at)
            t->ahead[n++] = t->ahead[i];
        else
            ball_add_error(t->result, BALL_INTERCEPT, hypot(t->ahead[i].x - now->ball.x, t->ahead[i].y - now->ball.y));
    }
    t->n_ahead = n;
}

static void hear(struct trial *t, bool upright)
{
    nm_edge_begin(t->edge, nm_stage_now(t->stage));
    if (nm_edge_in(t->edge, SEES) && nm_edge_fresh(t->edge, SEES)) {
        const Percepts *p = nm_edge_in(t->edge, SEES);
        for (uint32_t i = 0; i < p->percepts.n; i++) {
            const uint8_t *bytes = (const uint8_t *)&p->percepts.at[i].position;
            for (size_t k = 0; k < sizeof(Point); k++) t->result->hash = (t->result->hash ^ bytes[k]) * 0x100000001b3u;
        }
    }
    if (nm_edge_fresh(t->edge, BALL) && upright) {
        const BallModel *b = nm_edge_in(t->edge, BALL);
        judge(t, b, nm_stamp_ns(b->header.stamp));
    }
    nm_edge_end(t->edge);
}

/* A ball that bounces off a foot changes its velocity at once, and no foresight knows that. */
static bool bounced(const struct moment *before, const struct moment *now)
{
    double dx = now->velocity.x - before->velocity.x, dy = now->velocity.y - before->velocity.y;
    double turf = nm_seconds(now->at - before->at) * MOST_BRAKE;
    return hypot(dx, dy) > BOUNCE + turf;
}

static void play(struct trial *t)
{
    double end = t->options->seconds;
    while (nm_seconds(nm_stage_now(t->stage)) < end && !stopping()) {
        struct nm_whereabouts where;
        if (nm_stage_step(t->stage) < 0) return;
        if (t->options->fidelity != NM_FIDELITY_FLAT) nm_stage_scene(t->stage);
        t->newest = (t->newest + 1) % TRUTHS;
        struct moment *now = &t->truths[t->newest];
        now->at = nm_stage_now(t->stage);
        now->robot = nm_stage_footprint(t->stage, 0);
        now->ball = nm_stage_ball(t->stage, &now->velocity);
        nm_stage_whereabouts(t->stage, 0, &where);
        const struct moment *before = &t->truths[(t->newest + TRUTHS - 1) % TRUTHS];
        if (t->rolls && !t->touched && before->at > t->kicked && bounced(before, now)) {
            t->touched = true;
            t->n_ahead = 0;
        }
        judge_ahead(t, now);
        hear(t, !where.fallen);
        if (!t->steered || nm_seconds(now->at - t->steered) > STEER) {
            steer(t, now->robot);
            t->steered = now->at;
        }
        if (!t->scene || nm_seconds(now->at - t->scene) > SCENE) {
            put_ball(t, now->robot);
            t->scene = now->at;
            t->n_ahead = 0;
        }
        if (t->shoots && !t->rolls && nm_seconds(now->at - t->scene) > KICK) {
            kick_ball(t, now);
            t->kicked = now->at;
            t->n_ahead = 0;
        }
        lead(t, now);
    }
    t->result->done = !stopping();
    t->result->cpu = nm_stage_cpu(t->stage) / end;
    t->result->nees = t->n_nees ? t->nees / t->n_nees : NAN;
}

void ball_trial(struct setup *setup, const struct ball_trial *options, struct ball_result *result)
{
    static const char *const says[] = {"walk_command", "head_command"};
    static struct trial t;
    struct nm_err err = {0};
    struct nm_pitch pitch;
    struct nm_stage_options stage = NM_STAGE_OPTIONS;
    char field[PATH_MAX + 32];
    bool flat = options->fidelity == NM_FIDELITY_FLAT;
    memset(result, 0, sizeof *result);
    result->hash = 0xcbf29ce484222325u;
    t = (struct trial){.options = options, .result = result, .dice = nm_dice_new(options->seed, 0x62616c6c, 0)};
    snprintf(field, sizeof field, "%s/fields/kid.yaml", setup->root);
    const char *folder = setup_robot(setup, "kid70", &err);
    if (folder && nm_pitch_read(&pitch, field, &err) == 0) {
        struct nm_stage_robot robot = {.name = "kid",
                                       .folder = folder,
                                       .lineup = options->lineup,
                                       .start = {between(&t, -2, 2), between(&t, -1, 1), between(&t, -M_PI, M_PI)},
                                       .n_says = flat ? 0 : 2,
                                       .says = says};
        if (!flat) nm_conditions("hard", &stage.world);
        stage.root = setup->root;
        stage.registry = &setup->registry;
        stage.pitch = &pitch;
        stage.fidelity = options->fidelity;
        stage.world.seed = options->seed;
        stage.cpu = true;
        stage.ready = ready;
        stage.user = &t;
        t.stage = nm_stage_new(&robot, 1, &stage, &err);
    }
    if (t.stage) {
        play(&t);
        nm_stage_free(t.stage);
    }
    if (result->done) return;
    if (err.n)
        snprintf(result->why, sizeof result->why, "%.*s", (int)strcspn(err.text, "\n"), err.text);
    else
        snprintf(result->why, sizeof result->why, "interrupted");
}
