/* What a scenario measures: each robot's trail and the ball's, and the conditions that are made of them. What is
 * measured over a window of time is scenario_tally.c's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/scenario_parts.h"
#include "body/stance.h"

const struct nm_measure_row nm_measure_rows[NM_MEASURES] = {
    [NM_MEASURE_FALLEN] = {"fallen", "", "lies on the ground", true},
    [NM_MEASURE_UPRIGHT] = {"upright", "", "does not", true},
    [NM_MEASURE_FALLS] = {"falls", "", "how often it fell", false},
    [NM_MEASURE_TILT] = {"tilt", "rad", "of the trunk, now", false},
    [NM_MEASURE_TILT_MAX] = {"tilt_max", "rad", "the largest so far", false},
    [NM_MEASURE_HEIGHT] = {"height", "m", "of the trunk's origin", false},
    [NM_MEASURE_DISTANCE] = {"distance", "m", "from where it began, as the crow flies", false},
    [NM_MEASURE_FORWARD] = {"forward", "m", "the same, along the direction in which it began", false},
    [NM_MEASURE_PATH] = {"path", "m", "the way that the trunk went", false},
    [NM_MEASURE_SPEED] = {"speed", "m/s", "of the trunk, now", false},
    [NM_MEASURE_TURNED] = {"turned", "rad", "to the left, all turns added", false},
    [NM_MEASURE_BALL_NEAR] = {"ball_near", "m", "from the trunk to the ball, on the ground", false},
    [NM_MEASURE_GOALS] = {"goals", "", "sets of joint goals that its servos were given", false},
    [NM_MEASURE_KICKING] = {"kicking", "", "its walk says that it kicks", true},
    [NM_MEASURE_SURVIVED] = {"survived", "", "share of the time before it fell first", false},
    [NM_MEASURE_UP_AFTER] = {"up_after", "s", "from lying still to standing for good", false},
    [NM_MEASURE_RISEN] = {"risen", "", "how far it came up so far: 1 is upright and as high as it stands", false},
    [NM_MEASURE_STRUCK] = {"struck", "", "a push or the pendulum met it before it had fallen", true},
    [NM_MEASURE_CHARGE] = {"charge", "", "of its battery, 0 to 1", false},
    [NM_MEASURE_VOLTAGE] = {"voltage", "V", "at its servos, now", false},
    [NM_MEASURE_HOTTEST] = {"hottest", "degrees C", "the temperature of its hottest servo", false},
    [NM_MEASURE_TARGET_ERROR] = {"target_error", "m", "from where it stands to its last `target`", false},
    [NM_MEASURE_TARGET_TURN] = {"target_turn", "rad", "between where it looks and where that target does", false},
    [NM_MEASURE_SPEED_X] = {"speed_x", "m/s", "forwards, the mean over the window", false},
    [NM_MEASURE_SPEED_Y] = {"speed_y", "m/s", "to its left, the mean over the window", false},
    [NM_MEASURE_SPEED_TURN] = {"speed_turn", "rad/s", "turning left, the mean over the window", false},
    [NM_MEASURE_STEPS] = {"steps", "", "changes of the foot that carries it, in the window", false},
    [NM_MEASURE_STEPS_TO_SPEED] = {"steps_to_speed", "",
                                   "steps from the window's begin to nine tenths of the speed at its end", false},
    [NM_MEASURE_IMPACT] = {"impact", "m/s2", "the trunk's largest acceleration in the window", false},
    [NM_MEASURE_TORQUE_MAX] = {"torque_max", "Nm", "the largest on any gear in the window", false},
    [NM_MEASURE_LOOSE] = {"loose", "s", "the longest that a whole joint was in nobody's hand", false},
    [NM_MEASURE_STRAYED] = {"strayed", "rad", "how far one was off its goal, beyond what its motor yields", false},
    [NM_MEASURE_LEAP] = {"leap", "rad", "the largest jump of a goal, beyond what its motor can", false},
    [NM_MEASURE_TILT_ERROR] = {"tilt_error", "rad", "of imu/data, rms over the window", false},
    [NM_MEASURE_TRUNK_RATE] = {"trunk_rate", "rad/s", "how fast the trunk turns, rms over the window", false},
    [NM_MEASURE_CAMERA_LOST] = {"camera_lost", "", "share of the time in which the trunk turns too fast to see", false},
    [NM_MEASURE_ODOMETRY_DRIFT] = {"odometry_drift", "m", "between odometry and truth at the window's end", false},
    [NM_MEASURE_ODOMETRY_TURN] = {"odometry_turn", "rad", "the same of the direction", false},
    [NM_MEASURE_MOVED] = {"moved", "m", "from where it stood at the window's begin to where it stands", false},
    [NM_MEASURE_LAST_STEP] = {"last_step", "s", "from the window's begin until both feet stay on the ground", false},
    [NM_MEASURE_FOOTFALL] = {"footfall", "N", "the largest force on a foot in the window", false},
    [NM_MEASURE_JOULES] = {"joules", "J/m", "electric energy of its servos for each metre of the way", false},
    [NM_MEASURE_TIME_TO] = {"time_to", "s", "when a condition held first", false},
    [NM_MEASURE_TIME] = {"time", "s", "simulated", false},
    [NM_MEASURE_BALL_SPEED] = {"ball_speed", "m/s", "now", false},
    [NM_MEASURE_BALL_SPEED_MAX] = {"ball_speed_max", "m/s", "the largest so far", false},
    [NM_MEASURE_BALL_DISTANCE] = {"ball_distance", "m", "from where it was last put", false},
    [NM_MEASURE_BALL_DIRECTION] = {"ball_direction", "rad", "to where it is from where it was last put", false},
    [NM_MEASURE_KICK_ERROR] = {"kick_error", "rad", "between where a kick was to go and where the ball went", false},
    [NM_MEASURE_BALL_X] = {"ball_x", "m", "", false},
    [NM_MEASURE_BALL_Y] = {"ball_y", "m", "", false},
    [NM_MEASURE_SCORED] = {"scored", "", "1: in the goal at +x, -1: in the other", false},
    [NM_MEASURE_INCIDENTS] = {"incidents", "", "of the world: robots torn, numbers that are none", false},
};

/* ---- following ---- */

static struct pose2 on_ground(const struct nm_whereabouts *w)
{
    struct pose3 p = w->base_to_field;
    return (struct pose2){p.pos.x, p.pos.y, quat_yaw(p.rot)};
}

void trail_moved(struct nm_run *run, uint32_t robot)
{
    struct trail *t = &run->trails[robot];
    nm_stage_whereabouts(run->stage, robot, &t->where);
    t->last = on_ground(&t->where);
    t->fallen = t->where.fallen;
}

/* Height of the trunk in a slightly bent stand. */
static double stands_at(const struct nm_body *body)
{
    double q[NM_JOINTS];
    nm_stance(body, 0.1, q);
    return nm_standing_height(body, QUAT_IDENTITY, q);
}

void trail_start(struct nm_run *run)
{
    for (uint32_t i = 0; i < run->scenario->n_robots; i++) {
        struct trail *t = &run->trails[i];
        trail_moved(run, i);
        t->start = t->last;
        t->first_fall = t->lay_still = t->up_since = t->struck = NAN;
        t->stands = stands_at(nm_stage_body(run->stage, i));
        run->targets[i] = (struct pose2){NAN, NAN, NAN};
    }
    tally_start(run);
    run->kick_direction = NAN;
    run->ball = run->ball_start = nm_stage_ball(run->stage, &run->ball_velocity);
    for (int m = 0; m < NM_SCENARIO_MEASURES; m++)
        for (int i = 0; i < NM_PLAYERS; i++) run->reached[m][i] = NAN;
}

/* It lies still when it has not moved for a while, and stands when the trunk is upright and as high as it began, or as
 * high as its body stands. */
static void note_standing(const struct nm_run *run, struct trail *t)
{
    static const double STILL = 0.3, SLOW = 0.05, TURNS = 0.3, UPRIGHT = 0.35, HIGH = 0.85;
    double now = nm_seconds(nm_stage_now(run->stage)), height = t->where.base_to_field.pos.z;
    bool moves = vec3_norm(t->where.velocity) > SLOW || vec3_norm(t->where.angular_velocity) > TURNS;
    if (t->fallen && isnan(t->first_fall)) t->first_fall = now;
    if (!t->fallen || moves) t->still_since = now;
    if (isnan(t->lay_still) && now - t->still_since >= STILL) t->lay_still = now;
    t->risen = fmax(t->risen, fmin(height / t->stands, 1) * fmax(cos(t->tilt), 0));
    if (t->tilt > UPRIGHT || height < HIGH * t->stands)
        t->up_since = NAN;
    else if (isnan(t->up_since))
        t->up_since = now;
}

void trail_struck(struct nm_run *run, uint32_t robot)
{
    struct trail *t = &run->trails[robot];
    if (isnan(t->struck)) t->struck = t->falls == 0 && !t->fallen;
}

/* Who had to be put back fell; the pendulum may have met it in this step. */
static void note_guard(struct nm_run *run, struct trail *t, uint32_t robot)
{
    const struct nm_world *world = nm_stage_world(run->stage);
    if (!world) return;
    uint32_t put_back = nm_world_put_back(world, robot);
    if (put_back != t->put_back && isnan(t->first_fall)) t->first_fall = nm_seconds(nm_stage_now(run->stage));
    t->falls += put_back - t->put_back;
    t->put_back = put_back;
    if (nm_world_struck(world, robot) >= 0) trail_struck(run, robot);
}

static void follow_robot(struct nm_run *run, uint32_t robot)
{
    struct trail *t = &run->trails[robot];
    nm_stage_whereabouts(run->stage, robot, &t->where);
    struct pose2 now = on_ground(&t->where);
    double up = quat_apply(t->where.base_to_field.rot, (struct vec3){0, 0, 1}).z;
    t->tilt = acos(fmin(fmax(up, -1), 1));
    t->tilt_max = fmax(t->tilt_max, t->tilt);
    t->falls += t->where.fallen && !t->fallen;
    t->fallen = t->where.fallen;
    note_guard(run, t, robot);
    double dx = now.x - t->last.x, dy = now.y - t->last.y, c = cos(now.theta), s = sin(now.theta);
    t->path += vec2_norm(dx, dy);
    t->ahead += c * dx + s * dy;
    t->aside += c * dy - s * dx;
    if (!t->fallen) t->turned += angle_normal(now.theta - t->last.theta);
    t->last = now;
    note_standing(run, t);
}

static bool holds_for(const struct nm_run *run, const struct nm_condition *c, uint32_t robot);

/* A time_to of a robot's measure has a time for each robot that its condition names. */
static void note_times(struct nm_run *run)
{
    const struct nm_scenario *s = run->scenario;
    double now = nm_seconds(nm_stage_now(run->stage));
    for (uint32_t m = 0; m < s->n_measures; m++) {
        if (s->measures[m].kind != NM_MEASURE_TIME_TO) continue;
        for (uint32_t i = 0; i < s->n_robots + !s->n_robots; i++)
            if (isnan(run->reached[m][i]) && holds_for(run, &s->measures[m].until, i)) run->reached[m][i] = now;
    }
}

void trail_follow(struct nm_run *run)
{
    for (uint32_t i = 0; i < run->scenario->n_robots; i++) follow_robot(run, i);
    run->ball = nm_stage_ball(run->stage, &run->ball_velocity);
    run->ball_speed_max = fmax(run->ball_speed_max, vec3_norm(run->ball_velocity));
    if (!run->scored) run->scored = nm_pitch_scored(&run->pitch, run->ball);
    tally_follow(run);
    note_times(run);
}

/* ---- values ---- */

/* From lying still; of one that did not wait for that, from the fall itself. */
static double up_after(const struct trail *t)
{
    static const double AT_ONCE = 1; /* s */
    double down = t->lay_still - t->first_fall < AT_ONCE ? t->lay_still : t->first_fall;
    return t->up_since > down ? t->up_since - down : NAN;
}

static double of_power(const struct nm_run *run, enum nm_measure_kind kind, uint32_t robot)
{
    const struct nm_world *world = nm_stage_world(run->stage);
    if (!world) return NAN;
    const struct nm_power *power = nm_world_power(world, robot);
    double hottest = NAN;
    for (uint32_t j = 0; j < power->body->n_joints; j++) hottest = fmax(hottest, power->temperature[j]);
    return kind == NM_MEASURE_CHARGE ? power->charge : kind == NM_MEASURE_VOLTAGE ? power->voltage : hottest;
}

/* Of base_footprint, as it is true. */
static double of_target(const struct nm_run *run, enum nm_measure_kind kind, uint32_t robot)
{
    struct pose2 at = ground_pose(run, robot), target = run->targets[robot];
    if (kind == NM_MEASURE_TARGET_TURN) return fabs(angle_normal(at.theta - target.theta));
    return vec2_norm(at.x - target.x, at.y - target.y);
}

static double of_robot(const struct nm_run *run, enum nm_measure_kind kind, uint32_t robot)
{
    const struct trail *t = &run->trails[robot];
    double dx = t->last.x - t->start.x, dy = t->last.y - t->start.y;
    switch (kind) {
    case NM_MEASURE_FALLEN: return t->fallen;
    case NM_MEASURE_UPRIGHT: return !t->fallen;
    case NM_MEASURE_FALLS: return t->falls;
    case NM_MEASURE_TILT: return t->tilt;
    case NM_MEASURE_TILT_MAX: return t->tilt_max;
    case NM_MEASURE_HEIGHT: return t->where.base_to_field.pos.z;
    case NM_MEASURE_DISTANCE: return vec2_norm(dx, dy);
    case NM_MEASURE_FORWARD: return dx * cos(t->start.theta) + dy * sin(t->start.theta);
    case NM_MEASURE_PATH: return t->path;
    case NM_MEASURE_SPEED: return vec3_norm(t->where.velocity);
    case NM_MEASURE_TURNED: return t->turned;
    case NM_MEASURE_BALL_NEAR: return vec2_norm(run->ball.x - t->last.x, run->ball.y - t->last.y);
    case NM_MEASURE_GOALS: return (double)nm_stage_goals(run->stage, robot);
    case NM_MEASURE_KICKING: return run->listeners[robot].kicking;
    case NM_MEASURE_SURVIVED: return isnan(t->first_fall) ? 1 : t->first_fall / nm_run_length(run);
    case NM_MEASURE_UP_AFTER: return up_after(t);
    case NM_MEASURE_RISEN: return t->risen;
    case NM_MEASURE_STRUCK: return t->struck;
    case NM_MEASURE_CHARGE:
    case NM_MEASURE_VOLTAGE:
    case NM_MEASURE_HOTTEST: return of_power(run, kind, robot);
    case NM_MEASURE_TARGET_ERROR:
    case NM_MEASURE_TARGET_TURN: return of_target(run, kind, robot);
    default: return NAN;
    }
}

/* Only of a kick that the robot made: a ball that rolls off by itself hits nothing. */
static double kick_error(const struct nm_run *run)
{
    static const double MOVED = 0.1; /* m */
    if (!run->listeners[run->kicker].swings) return NAN;
    double dx = run->ball.x - run->ball_start.x, dy = run->ball.y - run->ball_start.y;
    return vec2_norm(dx, dy) > MOVED ? fabs(angle_normal(atan2(dy, dx) - run->kick_direction)) : NAN;
}

static double of_world(const struct nm_run *run, enum nm_measure_kind kind)
{
    switch (kind) {
    case NM_MEASURE_TIME: return nm_seconds(nm_stage_now(run->stage));
    case NM_MEASURE_BALL_SPEED: return vec3_norm(run->ball_velocity);
    case NM_MEASURE_BALL_SPEED_MAX: return run->ball_speed_max;
    case NM_MEASURE_BALL_DISTANCE: return vec2_norm(run->ball.x - run->ball_start.x, run->ball.y - run->ball_start.y);
    case NM_MEASURE_BALL_DIRECTION: return atan2(run->ball.y - run->ball_start.y, run->ball.x - run->ball_start.x);
    case NM_MEASURE_KICK_ERROR: return kick_error(run);
    case NM_MEASURE_BALL_X: return run->ball.x;
    case NM_MEASURE_BALL_Y: return run->ball.y;
    case NM_MEASURE_SCORED: return run->scored;
    case NM_MEASURE_INCIDENTS: return (double)nm_stage_incidents(run->stage);
    default: return NAN;
    }
}

static double value_of(const struct nm_run *run, enum nm_measure_kind kind, uint32_t robot)
{
    return kind < NM_MEASURES_OF_ROBOTS ? of_robot(run, kind, robot) : of_world(run, kind);
}

double measure_value(const struct nm_run *run, const struct nm_measure *measure, uint32_t index, uint32_t robot)
{
    if (measure->kind == NM_MEASURE_TIME_TO) return run->reached[index][robot];
    if (measure->kind >= NM_MEASURE_WINDOWS && measure->kind < NM_MEASURE_TIME_TO)
        return tally_value(run, index, robot);
    return value_of(run, measure->kind, robot);
}

static bool holds_for(const struct nm_run *run, const struct nm_condition *c, uint32_t robot)
{
    double value = c->listed ? measure_value(run, &run->scenario->measures[c->index], c->index, robot)
                             : value_of(run, c->measure, robot);
    if (nm_stage_now(run->stage) < c->after) return false;
    if (c->measure < NM_MEASURES_OF_ROBOTS && !(c->robots >> robot & 1)) return false;
    return value > c->above && value < c->below && (!c->is || fabs(value - c->value) < 1e-9);
}

bool condition_holds(const struct nm_run *run, const struct nm_condition *c)
{
    if (c->measure >= NM_MEASURES_OF_ROBOTS) return holds_for(run, c, 0);
    uint32_t wanted = 0, held = 0;
    for (uint32_t i = 0; i < run->scenario->n_robots; i++) {
        wanted += c->robots >> i & 1;
        held += holds_for(run, c, i);
    }
    return c->all ? held == wanted : held > 0;
}

void nm_condition_text(const struct nm_scenario *scenario, const struct nm_condition *c, char *to, size_t size)
{
    const struct nm_measure_row *row = &nm_measure_rows[c->measure];
    char who[64] = "", bounds[96] = "";
    size_t used = 0;
    uint32_t every = (1u << scenario->n_robots) - 1;
    if (c->measure < NM_MEASURES_OF_ROBOTS) {
        snprintf(who, sizeof who, "%s ", c->all ? "every robot's" : "a robot's");
        for (uint32_t i = 0; i < scenario->n_robots; i++)
            if (c->robots == 1u << i) snprintf(who, sizeof who, "%s's ", scenario->robots[i].name);
        if (c->robots != every && c->robots & (c->robots - 1))
            snprintf(who, sizeof who, "%s ", c->all ? "all chosen robots'" : "a chosen robot's");
    }
    if (c->is && row->yes_no)
        used += (size_t)snprintf(bounds, sizeof bounds, " is %s", c->value != 0 ? "true" : "false");
    else if (c->is)
        used += (size_t)snprintf(bounds, sizeof bounds, " is %g", c->value);
    if (isfinite(c->above))
        used += (size_t)snprintf(bounds + used, sizeof bounds - used, " above %g %s", c->above, row->unit);
    if (isfinite(c->below)) snprintf(bounds + used, sizeof bounds - used, " below %g %s", c->below, row->unit);
    snprintf(to, size, "%s%s%s", who, c->listed ? scenario->measures[c->index].label : row->name, bounds);
    for (size_t n = strlen(to); n && to[n - 1] == ' ';) to[--n] = '\0';
}

/* ---- score ---- */

/* A robot's measure counts as the mean over the robots that have it. */
static double mean_of(const struct nm_run *run, uint32_t measure)
{
    const struct nm_measure *m = &run->scenario->measures[measure];
    enum nm_measure_kind kind = m->kind == NM_MEASURE_TIME_TO ? m->until.measure : m->kind;
    if (kind >= NM_MEASURES_OF_ROBOTS) return measure_value(run, m, measure, 0);
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < run->scenario->n_robots; i++) {
        double value = measure_value(run, m, measure, i);
        if (isnan(value)) continue;
        sum += value;
        n++;
    }
    return n ? sum / n : NAN;
}

double score_of(const struct nm_run *run)
{
    const struct nm_scenario *s = run->scenario;
    double sum = 0;
    for (uint32_t i = 0; i < s->n_score; i++) {
        const struct nm_score *row = &s->score[i];
        double value = mean_of(run, row->measure);
        sum += row->weight * (isnan(value) ? row->missing : fmin(fmax(value, row->least), row->most));
    }
    return s->n_score ? sum : NAN;
}
