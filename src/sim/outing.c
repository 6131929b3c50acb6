#include "sim/outing.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clamp.h"
#include "base/memory.h"
#include "core/poses.h"
#include "geometry_msgs/PoseWithCovarianceStamped.h"
#include "nutmeg_msgs/HeadCommand.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/TeamState.h"
#include "nutmeg_msgs/WalkCommand.h"
#include "sim/scenario.h"

static const char *const flat_says[] = {"team_state", "match_state"};
static const char *const walk_says[] = {"team_state", "match_state", "walk_command", "head_command"};
static const double TELL = 1.0 / 3, AIR = 0.1; /* s between two messages of a robot, and on their way */

enum { TRUTHS = 64, SEES = NM_OUTING_POSES, SEES_LINES, WALKED, PORTS };

struct walker {
    struct nm_edge *edge;
    struct pose2 goal;
    int64_t goal_until;
    struct nm_outing_pose poses[NM_OUTING_POSES];
    int64_t truth_at[TRUTHS];
    struct pose2 truths[TRUTHS], walked[TRUTHS]; /* where it was; where it believed to have walked */
    uint32_t newest;
    Percepts *percepts;
    TeamMessage *told; /* the last message, on its way until `arrives` */
    int64_t tells, arrives;
    bool down;        /* fallen, as its mates and itself know */
    int64_t up_at;    /* of one that was felled here          */
    struct pose2 lay; /* where it gets up                     */
};

struct nm_outing {
    struct nm_arena arena;
    struct nm_outing_options options;
    struct nm_stage *stage;
    struct nm_dice dice;
    struct walker walkers[NM_OUTING_MATES];
    TeamState *team;
    uint64_t hash;
    int64_t ball_until;
};

/* ---- places ---- */

static uint32_t robots(const struct nm_outing *o) { return o->options.mates + o->options.rivals; }

struct pose2 nm_outing_free_place(struct nm_outing *o)
{
    const struct nm_pitch *p = o->options.pitch;
    struct pose2 at = {0};
    for (int tries = 0; tries < 50; tries++) {
        at = (struct pose2){(p->length / 2 - 0.5) * nm_dice_both(&o->dice),
                            (p->width / 2 - 0.4) * nm_dice_both(&o->dice), M_PI * nm_dice_both(&o->dice)};
        bool clear = true;
        for (uint32_t i = 0; i < robots(o) && o->stage; i++) {
            struct pose2 other = nm_stage_footprint(o->stage, i);
            clear &= vec2_norm(other.x - at.x, other.y - at.y) > 0.7;
        }
        if (clear) break;
    }
    return at;
}

/* ---- what robots believe ---- */

/* The place in the ring of what was true at a time. */
static uint32_t then(const struct walker *w, int64_t at)
{
    for (uint32_t i = 0; i < TRUTHS; i++) {
        uint32_t k = (w->newest + TRUTHS - i) % TRUTHS;
        if (w->truth_at[k] <= at) return k;
    }
    return (w->newest + 1) % TRUTHS;
}

static void note_truth(struct nm_outing *o, uint32_t robot)
{
    struct walker *w = &o->walkers[robot];
    w->newest = (w->newest + 1) % TRUTHS;
    w->truth_at[w->newest] = nm_stage_now(o->stage);
    w->truths[w->newest] = nm_stage_footprint(o->stage, robot);
    const Odometry *walked = nm_edge_in(w->edge, WALKED);
    if (!walked) return;
    w->walked[w->newest] = nm_pose2(&walked->pose.pose);
}

static void add_hash(struct nm_outing *o, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) o->hash = (o->hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

static void hear_percepts(struct nm_outing *o, uint32_t robot)
{
    struct walker *w = &o->walkers[robot];
    const Percepts *p = nm_edge_in(w->edge, SEES);
    nm_copy(&Percepts_type, w->percepts, p);
    for (uint32_t i = 0; i < p->percepts.n; i++) add_hash(o, &p->percepts.at[i].position, sizeof(Point));
    int64_t at = nm_stamp_ns(p->header.stamp);
    uint32_t k = then(w, at);
    if (o->options.saw)
        o->options.saw(o->options.user, robot, nm_seconds(at), p, nm_edge_in(w->edge, SEES_LINES), w->walked[k],
                       w->truths[k]);
}

static void hear(struct nm_outing *o, uint32_t robot)
{
    static const int members[3] = {0, 1, 5};
    struct walker *w = &o->walkers[robot];
    nm_edge_begin(w->edge, nm_stage_now(o->stage));
    note_truth(o, robot);
    for (uint32_t k = 0; k < o->options.n_poses; k++) {
        struct nm_outing_pose *to = &w->poses[k];
        const PoseWithCovarianceStamped *p = nm_edge_in(w->edge, k);
        to->fresh = p && nm_edge_fresh(w->edge, k);
        if (!to->fresh) continue;
        to->pose = nm_pose2(&p->pose.pose);
        to->truth = w->truths[then(w, nm_stamp_ns(p->header.stamp))];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) to->covariance[i][j] = p->pose.covariance[6 * members[i] + members[j]];
    }
    if (nm_edge_in(w->edge, SEES) && nm_edge_fresh(w->edge, SEES)) hear_percepts(o, robot);
    nm_edge_end(w->edge);
}

/* ---- what they tell each other ---- */

/* As module team_report would write it. */
static void compose(struct nm_outing *o, uint32_t robot)
{
    struct walker *w = &o->walkers[robot];
    TeamMessage *m = w->told;
    struct pose2 pose = w->poses[0].pose;
    nm_reset(&TeamMessage_type, m);
    m->header.stamp = nm_stamp(nm_stage_now(o->stage));
    m->player_number = (uint8_t)(robot + 1);
    m->state = w->down ? TeamMessage_STATE_FALLEN : TeamMessage_STATE_ACTIVE;
    m->pose.pose = (Pose2D){pose.x, pose.y, pose.theta};
    m->pose.weight = 0.9f;
    double age = nm_seconds(nm_stage_now(o->stage) - nm_stamp_ns(w->percepts->header.stamp));
    for (uint32_t i = 0; i < w->percepts->percepts.n && age < 1; i++) {
        const Percept *p = &w->percepts->percepts.at[i];
        struct pose2 at = pose2_mul(pose, (struct pose2){p->position.x, p->position.y, 0});
        if (p->kind == Percept_BALL && p->confidence > 0.6f) {
            m->ball_known = true;
            m->ball = (Point){at.x, at.y, 0};
            m->ball_covariance[0] = m->ball_covariance[3] = 0.02 + (p->covariance[0] + p->covariance[3]) / 2;
            m->ball_age = (float)age;
        }
        Obstacle *seen = NULL;
        if (p->kind == Percept_MATE || p->kind == Percept_ROBOT || p->kind == Percept_RIVAL)
            seen = nm_append(&m->obstacles, &Obstacle_type);
        if (!seen) continue;
        seen->kind = p->kind == Percept_MATE    ? Obstacle_MATE
                     : p->kind == Percept_RIVAL ? Obstacle_RIVAL
                                                : Obstacle_ROBOT;
        seen->position = (Point){at.x, at.y, 0};
    }
}

static void deliver(struct nm_outing *o, uint32_t robot)
{
    int64_t now = nm_stage_now(o->stage);
    TeamState *team = o->team;
    bool news = false;
    struct nm_err err = {0};
    nm_reset(&TeamState_type, team);
    for (uint32_t i = 0; i < o->options.mates; i++) {
        const struct walker *w = &o->walkers[i];
        if (i == robot || !w->tells || now < w->arrives) continue;
        news |= now - w->arrives < nm_stage_tick(o->stage);
        TeamMate *mate = nm_append(&team->mates, &TeamMate_type);
        if (!mate) break;
        mate->player_number = (uint8_t)(i + 1);
        mate->alive = !w->down;
        mate->heard = nm_stamp(w->arrives);
        nm_copy(&TeamMessage_type, &mate->message, w->told);
    }
    if (news) nm_stage_put(o->stage, robot, "team_state", &TeamState_type, team, &err);
}

static void talk(struct nm_outing *o)
{
    int64_t now = nm_stage_now(o->stage);
    if (o->options.silent) return;
    for (uint32_t i = 0; i < o->options.mates; i++) {
        struct walker *w = &o->walkers[i];
        if (now < w->tells + nm_ns(TELL) * (w->tells > 0) + nm_ns(TELL * i / 4) * (w->tells == 0)) continue;
        compose(o, i);
        w->tells = now;
        w->arrives = now + nm_ns(AIR);
    }
    for (uint32_t i = 0; i < o->options.mates; i++) deliver(o, i);
}

/* ---- what they do ---- */

/* A little aside for whoever stands in the way. */
static struct nm_walk_velocity towards(const struct nm_outing *o, uint32_t robot, struct pose2 goal)
{
    struct pose2 at = nm_stage_footprint(o->stage, robot), to = pose2_mul(pose2_inv(at), goal);
    double angle = atan2(to.y, to.x), ahead = cos(angle);
    struct nm_walk_velocity v = {0.3 * fmax(ahead, 0), 0, nm_within(1.5 * angle, 0.8)};
    for (uint32_t i = 0; i < robots(o); i++) {
        struct pose2 other = pose2_mul(pose2_inv(at), nm_stage_footprint(o->stage, i));
        double apart = vec2_norm(other.x, other.y);
        if (i == robot || apart > 0.8) continue;
        v.y -= 0.15 * (other.y >= 0 ? 1 : -1);
        if (other.x > 0 && apart < 0.6) v.x = -0.05;
    }
    return v;
}

static void say(struct nm_outing *o, uint32_t robot, const char *topic, const struct nm_type *type, const void *message)
{
    struct nm_err err = {0};
    nm_stage_put(o->stage, robot, topic, type, message, &err);
}

static void order(struct nm_outing *o, uint32_t robot, struct nm_walk_velocity v, double pan, double tilt)
{
    if (o->options.fidelity == NM_FIDELITY_FLAT) {
        nm_stage_lead(o->stage, robot, v, pan, tilt);
        return;
    }
    WalkCommand walk = {.mode = v.x == 0 && v.y == 0 && v.turn == 0 ? WalkCommand_STAND : WalkCommand_VELOCITY,
                        .velocity = {{v.x, v.y, 0}, {0, 0, v.turn}}};
    HeadCommand head = {.mode = HeadCommand_ANGLES, .pan = (float)pan, .tilt = (float)tilt};
    say(o, robot, "walk_command", &WalkCommand_type, &walk);
    say(o, robot, "head_command", &HeadCommand_type, &head);
}

static void notice_fall(struct nm_outing *o, uint32_t robot)
{
    struct walker *w = &o->walkers[robot];
    struct nm_whereabouts where;
    int64_t now = nm_stage_now(o->stage);
    nm_stage_whereabouts(o->stage, robot, &where);
    if (w->up_at && now >= w->up_at) {
        nm_stage_place(o->stage, robot, w->lay, NM_UPRIGHT);
        w->up_at = 0;
    }
    w->down = where.fallen || w->up_at;
}

static const double KICK_OFF = 3; /* s, robots stand and look around before */

static void lead(struct nm_outing *o, uint32_t robot)
{
    struct walker *w = &o->walkers[robot];
    int64_t now = nm_stage_now(o->stage);
    double t = nm_seconds(now) + robot;
    struct pose2 at = nm_stage_footprint(o->stage, robot);
    if (now > w->goal_until || vec2_norm(at.x - w->goal.x, at.y - w->goal.y) < 0.3) {
        w->goal = nm_outing_free_place(o);
        w->goal_until = now + nm_ns(8 + 8 * nm_dice_roll(&o->dice));
    }
    bool stands = w->down || nm_seconds(now) < KICK_OFF;
    order(o, robot, stands ? (struct nm_walk_velocity){0} : towards(o, robot, w->goal), 1.1 * sin(2 * M_PI * t / 4),
          0.35 + 0.1 * sin(2 * M_PI * t / 2.7));
}

static void announce(struct nm_outing *o, bool playing)
{
    for (uint32_t i = 0; i < o->options.mates; i++) {
        MatchState match = {.connected = true,
                            .state = playing ? MatchState_PLAYING : MatchState_INITIAL,
                            .player_number = (uint8_t)(i + 1),
                            .players_per_team = (uint8_t)o->options.mates,
                            .may_move = playing,
                            .may_play = playing};
        say(o, i, "match_state", &MatchState_type, &match);
    }
}

static void move_ball(struct nm_outing *o)
{
    int64_t now = nm_stage_now(o->stage);
    const struct nm_pitch *p = o->options.pitch;
    struct vec3 ball = nm_stage_ball(o->stage, NULL);
    if (now < o->ball_until && fabs(ball.x) < p->length / 2 && fabs(ball.y) < p->width / 2) return;
    struct pose2 at = nm_outing_free_place(o);
    double speed = nm_dice_roll(&o->dice) < 0.5 ? 0 : nm_dice_roll(&o->dice);
    nm_stage_put_ball(o->stage, (struct vec3){at.x, at.y, p->ball_radius},
                      (struct vec3){speed * cos(at.theta), speed * sin(at.theta), 0});
    o->ball_until = now + nm_ns(8);
}

/* ---- the outing ---- */

static int ready(void *user, uint32_t robot, struct nm_player *player, struct nm_err *err)
{
    struct nm_outing *o = user;
    struct nm_edge_port ports[PORTS];
    for (uint32_t k = 0; k < PORTS; k++)
        ports[k] = (struct nm_edge_port){"", NM_PORT_IN | NM_EDGE_OPTIONAL, NULL, 0, 0};
    for (uint32_t k = 0; k < o->options.n_poses; k++)
        ports[k] = (struct nm_edge_port){o->options.poses[k], NM_PORT_IN, &PoseWithCovarianceStamped_type, 0, 0};
    ports[SEES].topic = "percepts";
    ports[SEES_LINES].topic = "line_relative";
    ports[WALKED].topic = "odometry";
    if (robot >= o->options.mates) return 0;
    o->walkers[robot].edge = nm_edge_new(player, "outing", ports, PORTS, err);
    return o->walkers[robot].edge ? 0 : -1;
}

static void cast(struct nm_outing *o, struct nm_stage_robot *rows)
{
    bool flat = o->options.fidelity == NM_FIDELITY_FLAT;
    for (uint32_t i = 0; i < robots(o); i++) {
        bool mate = i < o->options.mates;
        /* mates begin at their touchlines, as the rules say */
        double side = i & 1 ? -1 : 1, x = -o->options.pitch->length / 2 * (0.15 + 0.7 * nm_dice_roll(&o->dice));
        struct pose2 at = {x, side * (o->options.pitch->width / 2 + 0.1), -side * M_PI / 2};
        for (uint32_t k = 0; k < i && mate; k++)
            if (fabs(rows[k].start.x - at.x) < 0.5 && rows[k].start.y * at.y > 0) at.x += at.x < -2 ? 0.7 : -0.7;
        if (!mate) at = nm_outing_free_place(o);
        if (i == 0 && o->options.wrong_side) at = (struct pose2){-at.x, -at.y, angle_normal(at.theta + M_PI)};
        rows[i] = (struct nm_stage_robot){.name = nm_take_format(&o->arena, "%s%u", mate ? "mate" : "rival", i),
                                          .folder = o->options.robot,
                                          .lineup = mate ? o->options.lineup : NULL,
                                          .team = mate ? 0 : 1,
                                          .start = at,
                                          .n_says = !mate  ? 0
                                                    : flat ? 2
                                                           : 4,
                                          .says = flat ? flat_says : walk_says};
    }
}

struct nm_outing *nm_outing_new(const struct nm_outing_options *options, struct nm_err *err)
{
    struct nm_outing *o = nm_calloc(1, sizeof *o);
    struct nm_stage_robot rows[NM_PLAYERS];
    struct nm_stage_options stage = NM_STAGE_OPTIONS;
    o->options = *options;
    o->dice = nm_dice_new(options->seed, 0x6f757469, 0);
    o->team = nm_take(&o->arena, sizeof *o->team);
    for (uint32_t i = 0; i < options->mates; i++) {
        o->walkers[i].percepts = nm_take(&o->arena, sizeof(Percepts));
        o->walkers[i].told = nm_take(&o->arena, sizeof(TeamMessage));
    }
    cast(o, rows);
    if (options->fidelity != NM_FIDELITY_FLAT) nm_conditions("hard", &stage.world);
    stage.root = options->root;
    stage.registry = options->registry;
    stage.pitch = options->pitch;
    stage.fidelity = options->fidelity;
    stage.percepts = options->percepts;
    stage.world.seed = options->seed;
    stage.cpu = true;
    stage.ready = ready;
    stage.user = o;
    o->stage = nm_stage_new(rows, robots(o), &stage, err);
    if (!o->stage) {
        nm_outing_free(o);
        return NULL;
    }
    announce(o, false);
    return o;
}

void nm_outing_free(struct nm_outing *o)
{
    if (!o) return;
    if (o->stage) nm_stage_free(o->stage);
    nm_arena_free(&o->arena);
    free(o);
}

int nm_outing_step(struct nm_outing *o)
{
    int64_t before = nm_stage_now(o->stage);
    if (nm_stage_step(o->stage) < 0) return -1;
    if (o->options.fidelity != NM_FIDELITY_FLAT) nm_stage_scene(o->stage);
    if (nm_seconds(before) < KICK_OFF && nm_seconds(nm_stage_now(o->stage)) >= KICK_OFF) announce(o, true);
    for (uint32_t i = 0; i < o->options.mates; i++) {
        hear(o, i);
        notice_fall(o, i);
        lead(o, i);
    }
    talk(o);
    move_ball(o);
    return 0;
}

struct nm_stage *nm_outing_stage(const struct nm_outing *o) { return o->stage; }
uint64_t nm_outing_hash(const struct nm_outing *o) { return o->hash; }

void nm_outing_pose(const struct nm_outing *o, uint32_t robot, uint32_t topic, struct nm_outing_pose *pose)
{
    *pose = o->walkers[robot].poses[topic];
}

void nm_outing_kidnap(struct nm_outing *o, uint32_t robot, struct pose2 to)
{
    nm_stage_place(o->stage, robot, to, NM_UPRIGHT);
    o->walkers[robot].goal_until = 0;
}

void nm_outing_fell(struct nm_outing *o, uint32_t robot)
{
    struct walker *w = &o->walkers[robot];
    struct pose2 at = nm_stage_footprint(o->stage, robot);
    double turn = 1.2 * nm_dice_gauss(&o->dice), x = 0.2 * nm_dice_gauss(&o->dice), y = 0.2 * nm_dice_gauss(&o->dice);
    struct pose2 lies = {at.x + x, at.y + y, angle_normal(at.theta + turn)};
    w->down = true;
    if (o->options.fidelity == NM_FIDELITY_FLAT) { /* discs get up as they lay: this one is turned when it does */
        nm_stage_push(o->stage, robot, (struct vec3){100, 0, 0}, (struct vec3){0}, 0);
        w->lay = lies;
        w->up_at = nm_stage_now(o->stage) + nm_ns(3);
    } else {
        double from = M_PI * nm_dice_both(&o->dice), impulse = 3 * nm_stage_body(o->stage, robot)->mass;
        nm_stage_push(o->stage, robot, (struct vec3){impulse * cos(from), impulse * sin(from), 0}, (struct vec3){0},
                      20000000);
    }
}

bool nm_outing_down(const struct nm_outing *o, uint32_t robot) { return o->walkers[robot].down; }
