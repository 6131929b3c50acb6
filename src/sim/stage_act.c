/* Hands that reach onto the stage. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codec/text.h"
#include "sim/stage_parts.h"
#include "body/stance.h"

static struct vec3 vec3_of(const Vector3 *v) { return (struct vec3){v->x, v->y, v->z}; }

/* What was moved by hand is seen at its new place, and lies or stands as it was put. */
static void moved(struct nm_stage *stage) { stage->scene_time = -1; }

static struct quat posture_rot(enum nm_posture posture, double theta)
{
    static const struct {
        double roll, pitch;
    } lies[NM_POSTURES] = {
        [NM_ON_FRONT] = {0, M_PI / 2},
        [NM_ON_BACK] = {0, -M_PI / 2},
        [NM_ON_LEFT] = {-M_PI / 2, 0},
        [NM_ON_RIGHT] = {M_PI / 2, 0},
    };
    return quat_mul(quat_rpy(0, 0, theta), quat_rpy(lies[posture].roll, lies[posture].pitch, 0));
}

void nm_stage_place(struct nm_stage *stage, uint32_t robot, struct pose2 pose, enum nm_posture posture)
{
    struct actor *a = &stage->actors[robot];
    a->fallen = posture != NM_UPRIGHT;
    moved(stage);
    if (stage->flat) {
        nm_flat_place(stage->flat, robot, pose);
        return;
    }
    if (posture == NM_UPRIGHT) {
        nm_world_place(stage->world, robot, pose);
        return;
    }
    struct nm_truth truth;
    nm_world_truth(stage->world, robot, &truth);
    struct quat rot = posture_rot(posture, pose.theta);
    double height = nm_pitch_height(stage->options.pitch, pose.x, pose.y) + nm_standing_height(a->body, rot, truth.q);
    nm_world_put(stage->world, robot, (struct pose3){rot, {pose.x, pose.y, height}}, NULL);
}

void nm_stage_stand(struct nm_stage *stage, uint32_t robot, struct pose2 pose)
{
    struct actor *a = &stage->actors[robot];
    nm_stage_place(stage, robot, pose, NM_UPRIGHT);
    if (stage->flat) return;
    struct quat rot = quat_rpy(0, 0, pose.theta);
    double height = nm_pitch_height(stage->options.pitch, pose.x, pose.y) + nm_standing_height(a->body, rot, a->joints);
    nm_world_put(stage->world, robot, (struct pose3){rot, {pose.x, pose.y, height}}, a->joints);
}

/* Joints and tilt are drawn until no two parts are inside each other; then it drops a little way. */
void stage_scatter(struct nm_stage *stage, uint32_t robot)
{
    static const double DEEP = 0.004, TILT = 0.35, DROP = 0.06; /* m, rad, m */
    struct actor *a = &stage->actors[robot];
    struct nm_dice dice = nm_dice_new(stage->options.world.seed, 105, robot);
    struct pose2 at = a->row.start;
    for (int tries = 0; tries < 60; tries++) {
        for (uint32_t j = 0; j < a->body->n_joints; j++) {
            const struct nm_joint *joint = &a->body->joints[j];
            double low = fmax(joint->lower, -2.5), high = fmin(joint->upper, 2.5);
            double anywhere = low + (high - low) * nm_dice_roll(&dice);
            a->joints[j] += a->row.scatter * (anywhere - a->joints[j]);
        }
        struct quat lean = quat_rpy(TILT * nm_dice_both(&dice), TILT * nm_dice_both(&dice), 0);
        struct quat rot = quat_mul(posture_rot(a->row.posture, at.theta), lean);
        double height = nm_standing_height(a->body, rot, a->joints) + DROP;
        nm_world_put(stage->world, robot, (struct pose3){rot, {at.x, at.y, height}}, a->joints);
        if (nm_world_overlap(stage->world, robot) < DEEP) break;
        nm_stance(a->body, stage->options.bend, a->joints);
    }
    for (uint32_t j = 0; j < a->body->n_joints; j++) a->goals[j].position = a->joints[j];
    nm_world_goals(stage->world, robot, a->goals);
}

/* A rolling ball does not slide: it comes with the spin of its speed. */
void nm_stage_put_ball(struct nm_stage *stage, struct vec3 position, struct vec3 velocity)
{
    double radius = stage->options.pitch->ball_radius;
    bool rolls = position.z <= 1.01 * radius && fabs(velocity.z) < 0.01;
    struct vec3 spin = rolls ? (struct vec3){-velocity.y / radius, velocity.x / radius, 0} : (struct vec3){0, 0, 0};
    if (stage->flat)
        nm_flat_put_ball(stage->flat, position, velocity);
    else
        nm_world_put_ball(stage->world, position, velocity, spin);
    moved(stage);
}

void nm_stage_push(struct nm_stage *stage, uint32_t robot, struct vec3 impulse, struct vec3 point, int64_t duration)
{
    double mass = stage->actors[robot].body->mass;
    if (!stage->flat)
        nm_world_push(stage->world, robot, impulse, point, duration);
    else if (mass > 0)
        nm_flat_push(stage->flat, robot, impulse.x / mass, impulse.y / mass);
}

void nm_stage_fault(struct nm_stage *stage, uint32_t robot, enum nm_fault_kind kind, uint32_t part, int64_t duration)
{
    struct actor *a = &stage->actors[robot];
    int64_t until = duration < INT64_MAX - stage->now ? stage->now + duration : INT64_MAX;
    if (a->n_ailments == FAULTS_AT_ONCE) return;
    a->ailments[a->n_ailments++] = (struct ailment){kind, part, until};
}

void nm_stage_power(struct nm_stage *stage, uint32_t robot, bool on)
{
    stage->actors[robot].power = on;
    stage->actors[robot].told = true;
}

void nm_stage_press(struct nm_stage *stage, uint32_t robot, uint32_t button, int64_t duration)
{
    struct actor *a = &stage->actors[robot];
    a->pressed[button] = stage->now + duration;
    a->presses[button]++;
}

/* ---- words to the brain ---- */

static int no_brain(const struct actor *a, struct nm_err *err)
{
    return nm_fail(err, "robot %s has no line-up that could listen", a->row.name);
}

/* "instance.parameter=value" as a change of the robot's line-up. */
static int read_setting(const struct actor *a, const char *setting, struct nm_change *change, struct nm_err *err)
{
    const char *dot = strchr(setting, '.'), *equals = strchr(setting, '=');
    char instance[64], param[64];
    if (!a->brain) return no_brain(a, err);
    if (!dot || !equals || dot > equals || dot - setting >= 64 || equals - dot > 64)
        return nm_fail(err, "'%.100s' is no setting: instance.parameter=value is needed", setting);
    snprintf(instance, sizeof instance, "%.*s", (int)(dot - setting), setting);
    snprintf(param, sizeof param, "%.*s", (int)(equals - dot - 1), dot + 1);
    *change = (struct nm_change){.instance = nm_lineup_instance(a->lineup, instance)};
    if (change->instance == NM_NONE) {
        const char *names[256];
        uint32_t n = 0;
        while (n < a->lineup->n_instances && n < 256) names[n] = a->lineup->instances[n].name, n++;
        return nm_fail(err, "robot %s has no instance '%s'%s", a->row.name, instance, nm_hint(instance, names, n).text);
    }
    const struct nm_module *module = a->lineup->instances[change->instance].module;
    int index = nm_param_find(module, param, err);
    if (index < 0) return -1;
    change->param = (uint32_t)index;
    change->value.layer = NM_LAYER_LIVE;
    return nm_value_parse(&module->params[index], equals + 1, &change->value, err);
}

static int is_elsewhere(const struct actor *a, struct nm_err *err)
{
    return nm_fail(err, "robot %s plays in another process: its parameters are set there", a->row.name);
}

int nm_stage_check_set(const struct nm_stage *stage, uint32_t robot, const char *setting, struct nm_err *err)
{
    struct nm_change change;
    if (stage->options.elsewhere) return is_elsewhere(&stage->actors[robot], err);
    return read_setting(&stage->actors[robot], setting, &change, err);
}

int nm_stage_set(struct nm_stage *stage, uint32_t robot, const char *setting, struct nm_err *err)
{
    const struct actor *a = &stage->actors[robot];
    struct nm_change change;
    if (stage->options.elsewhere) return is_elsewhere(a, err);
    if (read_setting(a, setting, &change, err)) return -1;
    return nm_player_set(a->brain, &change, 1, err) < 0 ? -1 : 0;
}

static int32_t say_port(const struct actor *a, const char *topic)
{
    for (uint32_t i = 0; i < a->row.n_says; i++)
        if (!strcmp(a->row.says[i], topic)) return (int32_t)(a->n_ports - a->row.n_says + i);
    return -1;
}

static int nobody_listens(const struct actor *a, const char *topic, struct nm_err *err)
{
    const char *names[256];
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->lineup->n_topics && n < 256; i++)
        if (a->lineup->topics[i].n_consumers) names[n++] = a->lineup->topics[i].name;
    return nm_fail(err, "nobody in %s reads topic '%.60s'%s", a->lineup->file, topic, nm_hint(topic, names, n).text);
}

static int say(struct nm_stage *stage, uint32_t robot, const char *topic, const struct nm_yaml *message, bool put,
               struct nm_err *err)
{
    struct actor *a = &stage->actors[robot];
    if (!a->brain) return no_brain(a, err);
    int32_t port = say_port(a, topic);
    if (port < 0 || !nm_edge_out(a->edge, (uint32_t)port)) return nobody_listens(a, topic, err);
    const struct nm_type *type = a->lineup->topics[nm_lineup_topic(a->lineup, topic)].type;
    /* nothing has run since the step, so opening the edge once more misses nothing */
    nm_edge_begin(a->edge, stage->now);
    int bad = nm_parse(type, nm_edge_out(a->edge, (uint32_t)port), message, NULL, err);
    if (!bad && put) nm_edge_put(a->edge, (uint32_t)port);
    nm_edge_end(a->edge);
    return bad;
}

int nm_stage_say(struct nm_stage *stage, uint32_t robot, const char *topic, const struct nm_yaml *message,
                 struct nm_err *err)
{
    return say(stage, robot, topic, message, true, err);
}

int nm_stage_check_say(struct nm_stage *stage, uint32_t robot, const char *topic, const struct nm_yaml *message,
                       struct nm_err *err)
{
    return say(stage, robot, topic, message, false, err);
}

int nm_stage_put(struct nm_stage *stage, uint32_t robot, const char *topic, const struct nm_type *type,
                 const void *message, struct nm_err *err)
{
    struct actor *a = &stage->actors[robot];
    if (!a->brain) return no_brain(a, err);
    int32_t port = say_port(a, topic);
    if (port < 0 || !nm_edge_out(a->edge, (uint32_t)port)) return nobody_listens(a, topic, err);
    const struct nm_type *wanted = a->lineup->topics[nm_lineup_topic(a->lineup, topic)].type;
    if (wanted != type) return nm_fail(err, "topic '%.60s' carries %s, not %s", topic, wanted->name, type->name);
    if (!message) return 0;
    nm_edge_begin(a->edge, stage->now);
    nm_copy(type, nm_edge_out(a->edge, (uint32_t)port), message);
    nm_edge_put(a->edge, (uint32_t)port);
    nm_edge_end(a->edge);
    return 0;
}

/* ---- SimCommand ---- */

/* What a hand can do in a hall. Beyond, physics has no meaning and may break. */
static const double FARTHEST = 50; /* m   */
static const double FASTEST = 50;  /* m/s */
static const double HARDEST = 100; /* N s */

static bool within(struct vec3 v, double most) { return vec3_norm(v) <= most; } /* false for what is no number */

static const char *move(struct nm_stage *stage, const SimCommand_Request *r)
{
    struct vec3 position = {r->pose.position.x, r->pose.position.y, r->pose.position.z};
    struct quat rot = {r->pose.orientation.w, r->pose.orientation.x, r->pose.orientation.y, r->pose.orientation.z};
    if (!within(position, FARTHEST)) return "a place is at most 50 m from the middle of the field";
    if (!(fabs(rot.w) + fabs(rot.x) + fabs(rot.y) + fabs(rot.z) < 10)) return "that is no orientation";
    if (!strcmp(r->name, "ball")) {
        if (!within(vec3_of(&r->twist.linear), FASTEST)) return "a ball is at most 50 m/s fast";
        nm_stage_put_ball(stage, position, vec3_of(&r->twist.linear));
        return NULL;
    }
    int32_t robot = nm_stage_find(stage, r->name);
    if (robot < 0) return "there is no body of that name";
    nm_stage_place(stage, (uint32_t)robot, (struct pose2){position.x, position.y, quat_yaw(quat_normal(rot))},
                   NM_UPRIGHT);
    return NULL;
}

static const char *push(struct nm_stage *stage, const SimCommand_Request *r)
{
    const int64_t duration = 20000000;
    int32_t robot = nm_stage_find(stage, r->name);
    struct vec3 impulse = vec3_of(&r->impulse), velocity;
    if (!within(impulse, HARDEST)) return "an impulse has at most 100 N s";
    if (!strcmp(r->name, "ball")) {
        struct vec3 at = nm_stage_ball(stage, &velocity);
        velocity = vec3_add(velocity, vec3_scale(impulse, 1 / stage->options.pitch->ball_mass));
        if (!within(velocity, FASTEST)) return "the ball would be faster than 50 m/s";
        nm_stage_put_ball(stage, at, velocity);
        return NULL;
    }
    if (robot < 0) return "there is no body of that name";
    nm_stage_push(stage, (uint32_t)robot, impulse, (struct vec3){0, 0, 0}, duration);
    return NULL;
}

/* "imu lost", "servo limp" of a joint, "foot lost" of a side; those of a whole robot have no part. "none" mends all. */
static const char *fault(struct nm_stage *stage, const SimCommand_Request *r)
{
    char name[32];
    int kind = 0;
    uint32_t part = 0;
    int32_t robot = nm_stage_find(stage, r->name);
    if (robot < 0) return "there is no robot of that name";
    if (stage->flat) return "robots of the flat fidelity have no parts that could break";
    struct actor *actor = &stage->actors[robot];
    if (!strcmp(r->fault, "none")) {
        actor->n_ailments = 0;
        return NULL;
    }
    if (actor->n_ailments == FAULTS_AT_ONCE) return "too much of this robot is broken; the fault none mends all of it";
    for (; kind < NM_FAULTS; kind++) {
        snprintf(name, sizeof name, "%s %s", nm_fault_names[kind].part, nm_fault_names[kind].what);
        if (!strcmp(name, r->fault)) break;
    }
    if (kind == NM_FAULTS) return "there is no such fault; docs/simulator.md lists them";
    const struct nm_body *body = actor->body;
    if (!strcmp(nm_fault_names[kind].part, "servo")) {
        while (part < body->n_joints && strcmp(body->joints[part].name, r->part)) part++;
        if (part == body->n_joints) return "the robot has no joint of that name";
    } else if (!strcmp(nm_fault_names[kind].part, "foot")) {
        part = !strcmp(r->part, "right") ? NM_RIGHT : NM_LEFT;
        if (part == NM_LEFT && strcmp(r->part, "left")) return "the part of such a fault is left or right";
    }
    if (!(r->duration >= 0)) return "a duration is not negative";
    nm_stage_fault(stage, (uint32_t)robot, (enum nm_fault_kind)kind, part,
                   r->duration > 0 && r->duration < 1e9f ? nm_ns(r->duration) : INT64_MAX);
    return NULL;
}

void nm_stage_command(struct nm_stage *stage, const SimCommand_Request *request, SimCommand_Response *response)
{
    const char *why = "this steers the clock, not the world";
    if (request->command == SimCommand_Request_MOVE) why = move(stage, request);
    if (request->command == SimCommand_Request_PUSH) why = push(stage, request);
    if (request->command == SimCommand_Request_FAULT) why = fault(stage, request);
    response->success = !why;
    nm_text(response->message, "%s", why ? why : "");
}
