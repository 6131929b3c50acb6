/* Where a lost ball may be, and who looks where (HULKs 2017, section 4.5). The map gives every cell of the field a
 * probability and an age. A ball that somebody knows puts the probability there. What a robot of the team looks at
 * without seeing a ball becomes less likely; the rest spreads to its neighbours, because the ball may be moved unseen.
 * Each robot keeps its own map from its own camera and from the poses and head angles that its mates report.
 *
 * Once the ball is lost, every robot proposes a place for each player: much probability, not far, not where another one
 * goes. Only the proposals are sent; that of the lowest number counts. */
#include "base/clamp.h"
#include "base/pitch.h"
#include "core/nm.h"
#include "geometry_msgs/PointStamped.h"
#include "geometry_msgs/PoseArray.h"
#include "modules/world/frames.h"
#include "modules/world/search_map.h"
#include "nutmeg_msgs/MatchState.h"
#include "nutmeg_msgs/TeamBall.h"
#include "nutmeg_msgs/TeamState.h"

enum { PLAYERS = 20 };

static const double UPDATE = 0.1, KNOWN_UPDATE = 0.5; /* s, between two updates; while the ball is known            */
static const double PLAN = 0.5;                       /* s, between two proposals                                   */
static const double MATE_VIEW = 0.5, MATE_NEAR = 0.4; /* rad to either side, m: what a mate surely sees             */
static const double BALL_DEVIATION = 0.3;             /* m, of a known ball in the map                              */
static const double AROUND = 0.75;                    /* m, what a robot explores from its place, to each side      */
static const double WALK = 3;                         /* m, so far away a place is worth 1/e                        */
static const double KEEP = 1.5;                       /* times as good must another place be for a robot to change  */
static const double STAND_OFF = 0.3;                  /* m, searched places are this far inside the field           */

struct ball_search {
    struct nm *nm;
    /* in */
    const TeamBall *ball;
    const PoseWithCovarianceStamped *pose;
    const Odometry *odometry;
    const CameraPose *camera;
    const TeamState *team;
    const MatchState *match;
    /* out */
    PoseArray *points;
    PointStamped *target;
    /* params */
    float cell, spread, lost_after, mate_time;
    struct nm_pitch_size field;
    /* state */
    struct search_map map;
    int64_t updated, planned, known, shown; /* ns */
    uint8_t set_play;
    struct nm_trail trail;
    bool has_point[PLAYERS + 1];
    double point[PLAYERS + 1][2]; /* m: proposed for each number */
};

/* ---- what is known ---- */

/* A set play begins: the ball lies where its rule says. */
static void read_set_play(struct ball_search *f)
{
    const struct nm_pitch_size *p = &f->field;
    double end = p->length / 2, side = p->width / 2, attack = f->match->kicking == MatchState_KICK_OWN ? 1 : -1;
    uint8_t now = nm_slot(f->match)->seq ? f->match->set_play : 0;
    if (now == f->set_play) return;
    f->set_play = now;
    for (int s = -1; s <= 1; s += 2) {
        if (now == MatchState_SET_PLAY_THROW_IN) search_expect(&f->map, 0, s * side, end / 2, 0.3);
        if (now == MatchState_SET_PLAY_CORNER_KICK) search_expect(&f->map, attack * end, s * side, 0.4, 0.4);
        if (now ==
            MatchState_SET_PLAY_GOAL_KICK) { /* at the goal area, or at the halfway line in the Humanoid League */
            search_expect(&f->map, -attack * (end - p->goal_area_length), s * p->goal_area_width / 2, 0.4, 0.4);
            search_expect(&f->map, 0, s * side, 0.4, 0.4);
        }
    }
    search_settle(&f->map, 0, 0);
}

/* ---- what is seen ---- */

static void look_self(struct ball_search *f, const struct place *place, double dt)
{
    struct search_map *m = &f->map;
    struct view view = view_now(f->nm, f->camera);
    struct pose2 map_to_robot = pose2_inv(place->robot_to_map);
    if (!view.known || !place->known) return;
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) {
            struct pose2 at = pose2_mul(map_to_robot, pose2_point(search_x(m, c), search_y(m, r)));
            double away = vec2_norm(at.x, at.y);
            if (away < SEARCH_RANGE && view_sees(&view, (struct vec3){at.x, at.y, 0.07}, 20))
                search_look(m, r, c, away, dt);
        }
}

static bool heard(const struct ball_search *f, const TeamMate *mate)
{
    return nm_seconds(f->nm->now - nm_stamp_ns(mate->message.header.stamp)) < f->mate_time &&
           mate->message.state != TeamMessage_STATE_PENALIZED && mate->message.state != TeamMessage_STATE_INACTIVE;
}

static void look_mate(struct ball_search *f, const TeamMate *mate, double dt)
{
    const Pose2D *pose = &mate->message.pose.pose;
    struct pose2 gaze = {pose->x, pose->y, pose->theta + mate->message.head_pan};
    bool upright = mate->message.state != TeamMessage_STATE_FALLEN;
    if (!heard(f, mate) || !(mate->message.pose.weight > 0) || !upright) return;
    if (isfinite(gaze.x + gaze.y + gaze.theta)) search_look_along(&f->map, gaze, MATE_VIEW, MATE_NEAR, dt);
}

static void update(struct ball_search *f, const struct place *place)
{
    double dt = f->updated ? fmin(nm_seconds(f->nm->now - f->updated), 1) : UPDATE;
    bool known = f->ball->source != TeamBall_SOURCE_NONE && f->ball->ball.valid;
    if (nm_seconds(f->nm->now - f->updated) < (known ? KNOWN_UPDATE : UPDATE) - 1e-3 && f->updated) return;
    f->updated = f->nm->now;
    if (known) {
        const BallModel *b = &f->ball->ball;
        double wide = sqrt(fmax(b->covariance[0] + b->covariance[5], 0) / 2);
        search_put(&f->map, b->destination.x, b->destination.y, fmin(fmax(wide, BALL_DEVIATION), 1));
        return;
    }
    look_self(f, place, dt);
    for (uint32_t i = 0; i < f->team->mates.n; i++) look_mate(f, &f->team->mates.at[i], dt);
    search_settle(&f->map, f->spread, dt);
}

/* ---- who looks where ---- */

struct searcher {
    uint8_t number;
    struct pose2 at;
    bool placed;
};

static double worth(const struct ball_search *f, const struct searcher *s, double mass, double x, double y)
{
    double value = mass * exp(-vec2_norm(x - s->at.x, y - s->at.y) / WALK);
    bool same =
        f->has_point[s->number] && vec2_norm(x - f->point[s->number][0], y - f->point[s->number][1]) < f->map.size;
    return same ? KEEP * value : value;
}

static uint32_t searchers(const struct ball_search *f, const struct place *place, struct searcher who[PLAYERS])
{
    uint32_t n = 0;
    uint8_t own = f->match->player_number;
    if (place->known && own && own <= PLAYERS) who[n++] = (struct searcher){own, place->robot_to_map, false};
    for (uint32_t i = 0; i < f->team->mates.n && n < PLAYERS; i++) {
        const TeamMate *mate = &f->team->mates.at[i];
        const Pose2D *p = &mate->message.pose.pose;
        bool able = heard(f, mate) && mate->message.pose.weight > 0 && isfinite(p->x + p->y);
        if (!able || !mate->player_number || mate->player_number > PLAYERS || mate->player_number == own) continue;
        if (mate->player_number == f->match->goalkeeper) continue; /* stays at home */
        who[n++] = (struct searcher){mate->player_number, {p->x, p->y, p->theta}, false};
    }
    return n;
}

/* The best pair of a robot and a place first; what it will see there is nobody else's any more. */
static void propose(struct ball_search *f, const struct place *place)
{
    struct searcher who[PLAYERS];
    uint32_t n = searchers(f, place, who);
    struct search_map left = f->map;
    int reach = (int)(AROUND / left.size);
    search_sums sums;
    bool has[PLAYERS + 1] = {0};
    for (uint32_t turn = 0; turn < n; turn++) {
        double best = 0;
        int row = -1, column = -1;
        struct searcher *chosen = NULL;
        search_sum(&left, sums);
        for (int r = 1; r < left.rows; r += 2)
            for (int c = 1; c < left.columns; c += 2) {
                double mass = search_around(&left, sums, r, c, reach);
                for (uint32_t i = 0; i < n; i++) {
                    double value = who[i].placed ? 0 : worth(f, &who[i], mass, search_x(&left, c), search_y(&left, r));
                    if (value > best) best = value, row = r, column = c, chosen = &who[i];
                }
            }
        if (!chosen) break;
        chosen->placed = has[chosen->number] = true;
        f->point[chosen->number][0] = nm_within(search_x(&left, column), f->field.length / 2 - STAND_OFF);
        f->point[chosen->number][1] = nm_within(search_y(&left, row), f->field.width / 2 - STAND_OFF);
        for (int r = row - reach; r <= row + reach; r++)
            for (int c = column - reach; c <= column + reach; c++)
                if (r >= 0 && c >= 0 && r < left.rows && c < left.columns) left.weight[r][c] = 0;
    }
    memcpy(f->has_point, has, sizeof has);
}

/* The proposal of the lowest number that made one. */
static bool choose(const struct ball_search *f, Point *to)
{
    uint8_t own = f->match->player_number, lowest = own;
    bool found = own && own <= PLAYERS && f->has_point[own];
    if (found) *to = (Point){f->point[own][0], f->point[own][1], 0};
    for (uint32_t i = 0; i < f->team->mates.n && own; i++) {
        const TeamMate *mate = &f->team->mates.at[i];
        if (!heard(f, mate) || mate->player_number >= lowest || mate->message.search_points.n < own) continue;
        const Point *p = &mate->message.search_points.at[own - 1];
        if (!isfinite(p->x + p->y)) continue;
        lowest = mate->player_number;
        *to = *p;
        found = true;
    }
    return found;
}

static void tell_points(struct ball_search *f)
{
    uint32_t most = 0;
    nm_text(f->points->header.frame_id, "map");
    for (uint32_t i = 1; i <= PLAYERS; i++)
        if (f->has_point[i]) most = i;
    for (uint32_t i = 1; i <= most; i++) {
        Pose *p = nm_append(&f->points->poses, &Pose_type);
        p->position = f->has_point[i] ? (Point){f->point[i][0], f->point[i][1], 0} : (Point){NAN, NAN, 0};
    }
    nm_put(f->nm, f->points);
}

/* The map as a picture: the likelier the brighter, own goal to the left. */
static void show_map(struct ball_search *f)
{
    const struct search_map *m = &f->map;
    uint8_t grey[SEARCH_ROWS * SEARCH_COLUMNS];
    float most = 1e-9f;
    if (!f->nm->watched || nm_seconds(f->nm->now - f->shown) < PLAN) return;
    f->shown = f->nm->now;
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++) most = fmaxf(most, m->weight[r][c]);
    for (int r = 0; r < m->rows; r++)
        for (int c = 0; c < m->columns; c++)
            grey[(m->rows - 1 - r) * m->columns + c] = (uint8_t)(255 * sqrtf(m->weight[r][c] / most));
    nm_show_image(f->nm, "map", grey, (uint32_t)m->columns, (uint32_t)m->rows, (uint32_t)m->columns, "mono8");
}

static void step(struct ball_search *f)
{
    trail_take(&f->trail, f->odometry);
    struct place place = place_at(f->nm, f->pose, &f->trail, f->nm->now);
    if (f->ball->source != TeamBall_SOURCE_NONE) f->known = f->nm->now;
    bool lost = !f->known || nm_seconds(f->nm->now - f->known) > f->lost_after;
    read_set_play(f);
    update(f, &place);
    if (!lost) {
        memset(f->has_point, 0, sizeof f->has_point);
        f->planned = 0;
    } else if (!f->planned || nm_seconds(f->nm->now - f->planned) > PLAN) {
        propose(f, &place);
        f->planned = f->nm->now;
    }
    tell_points(f);
    nm_text(f->target->header.frame_id, "map");
    bool told = f->ball->source == TeamBall_SOURCE_MATE; /* this robot does not see it: it looks where mates do */
    if (told) f->target->point = f->ball->ball.position;
    if (told || (lost && choose(f, &f->target->point))) nm_put(f->nm, f->target);
    show_map(f);
}

static void changed(struct ball_search *f)
{
    search_start(&f->map, f->field.length, f->field.width, f->cell);
    memset(f->has_point, 0, sizeof f->has_point);
    f->updated = f->planned = f->known = f->shown = 0;
    f->trail.n = 0;
    f->set_play = 0;
}

#define SELF struct ball_search
static const struct nm_port ports[] = {
    NM_IN(ball, TeamBall, "team_ball"),
    NM_IN(pose, PoseWithCovarianceStamped, "pose"),
    NM_IN(odometry, Odometry, "odometry"),
    NM_IN(camera, CameraPose, "camera/pose", .optional = true),
    NM_IN(team, TeamState, "team_state", .optional = true),
    NM_IN(match, MatchState, "match_state", .optional = true),
    NM_OUT(points, PoseArray, "search_points"),
    NM_OUT(target, PointStamped, "search_target"),
    {0},
};
static const struct nm_param params[] = {
    NM_PARAM(cell, 0.25, 0.05, 2, "m", "size of the map's cells; larger on fields that are too large for the map"),
    NM_PARAM(spread, 0.15, 0, 2, "m/s^(1/2)", "how far a ball that nobody sees wanders in a second"),
    NM_PARAM(lost_after, 1, 0, 60, "s", "the team begins to search when nobody has known the ball for this time"),
    NM_PARAM(mate_time, 5, 0.1, 60, "s", "a mate that was silent for longer looks nowhere and proposes nothing"),
    NM_PITCH_PARAMS(field),
    {0},
};
NM_MODULE(ball_search, "Where a lost ball may be, and which robot looks for it where.", NM_PORTS(ports),
          NM_PARAMS(params), .changed = NM_CALL(changed), .step = NM_CALL(step))
