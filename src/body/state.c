#include "body/state.h"

#include <string.h>

/* The other foot must carry more than this share before it becomes the support: no flicker while both stand. */
static const double SUPPORT_SHARE = 0.55;
static const double ROLLS = 0.003; /* m: a corner so much higher than the lowest bears a third of its share */
/* Who runs flies between two steps, and keeps the speed of the last step; who flies longer is carried. A foot that
 * lands on the run still slides: while it says that the torso's speed has jumped, that speed is kept, too. */
static const int64_t LAST_STEP = 220000000, LEAST_SPAN = 60000000, LONGEST_FLIGHT = 100000000,
                     LONGEST_SLIDE = 50000000; /* ns */
static const double SLIDES = 0.3;              /* m/s */

void nm_state_reset(struct nm_state *s, const struct nm_body *body, struct pose2 robot_to_odom)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < body->n_joints; i++)
        s->goal[i] = fmin(fmax(0, body->joints[i].lower), body->joints[i].upper);
    s->robot_to_odom = robot_to_odom;
}

struct pose3 nm_ground_pose(struct pose2 p) { return (struct pose3){quat_rpy(0, 0, p.theta), {p.x, p.y, 0}}; }

struct pose2 nm_robot_to_odom(const struct nm_body *body, const struct nm_kin *kin)
{
    struct vec3 at = kin->pose[0].pos;
    if (body->leg[NM_LEFT].n && body->leg[NM_RIGHT].n)
        at = vec3_scale(vec3_add(kin->pose[body->foot[NM_LEFT].sole].pos, kin->pose[body->foot[NM_RIGHT].sole].pos),
                        0.5);
    return (struct pose2){at.x, at.y, quat_yaw(kin->pose[0].rot)};
}

/* By weight where the feet feel it, by height where they do not; the last one while neither decides. */
static enum nm_side pick_support(const struct nm_state *s, const struct nm_body *body, const struct nm_readings *r,
                                 const struct nm_kin *turned)
{
    bool begun = s->n > 0;
    enum nm_side last = begun ? s->ring[s->newest].support : NM_LEFT;
    enum nm_side other = last == NM_LEFT ? NM_RIGHT : NM_LEFT;
    if (r->weight[NM_LEFT] >= 0 && r->weight[NM_RIGHT] >= 0) {
        double sum = r->weight[NM_LEFT] + r->weight[NM_RIGHT];
        if (!(sum > 0)) return last;
        return r->weight[other] > (begun ? SUPPORT_SHARE : 0.5) * sum ? other : last;
    }
    double lower = turned->pose[body->foot[last].sole].pos.z - turned->pose[body->foot[other].sole].pos.z;
    return lower > (begun ? 0.003 : 0) ? other : last;
}

/* Keeps samples so far apart that the ring spans its time: one too near to the sample before it is overwritten. */
static struct nm_sample *room(struct nm_state *s)
{
    const int64_t apart = NM_HISTORY_SPAN / (NM_HISTORY - 2);
    uint32_t before = (s->newest + NM_HISTORY - 1) % NM_HISTORY;
    if (s->n >= 2 && s->ring[s->newest].time - s->ring[before].time < apart) return &s->ring[s->newest];
    s->newest = s->n ? (s->newest + 1) % NM_HISTORY : 0;
    if (s->n < NM_HISTORY) s->n++;
    return &s->ring[s->newest];
}

/* Cells and toe of a foot, from its sole's origin. */
static uint32_t corners_of(const struct nm_body *body, const struct nm_kin *kin, enum nm_side side,
                           struct vec3 corners[NM_CELLS + 1])
{
    const struct nm_foot *foot = &body->foot[side];
    struct vec3 sole = kin->pose[foot->sole].pos;
    uint32_t n = 0;
    for (; n < foot->n_cells; n++) corners[n] = vec3_sub(kin->pose[foot->cells[n]].pos, sole);
    if (foot->toe >= 0) corners[n++] = vec3_sub(kin->pose[foot->toe].pos, sole);
    return n;
}

/* A foot rolls over its heel and its toe: the corners that are lowest stand still, and the sole's origin moves. */
static struct vec3 roll(const struct vec3 *before, const struct vec3 *now, uint32_t n)
{
    struct vec3 way = {0};
    double lowest = INFINITY, sum = 0;
    for (uint32_t i = 0; i < n; i++) lowest = fmin(lowest, now[i].z);
    for (uint32_t i = 0; i < n; i++) {
        double weight = exp((lowest - now[i].z) / ROLLS);
        way = vec3_add(way, vec3_scale(vec3_sub(before[i], now[i]), weight));
        sum += weight;
    }
    return n ? (struct vec3){way.x / sum, way.y / sum, 0} : way;
}

/* What the anchor, under which the torso would be at `torso`, lacks of a way at the speed that is kept. */
static struct vec3 lacks(const struct nm_state *s, int64_t time, struct pose3 torso)
{
    const struct nm_sample *last = &s->ring[s->newest];
    struct vec3 way = vec3_scale(s->speed, 1e-9 * (double)(time - last->time)),
                to = vec3_add(last->torso_to_odom.pos, quat_apply(quat_rpy(0, 0, quat_yaw(torso.rot)), way));
    return (struct vec3){to.x - torso.pos.x, to.y - torso.pos.y, 0};
}

static void note_speed(struct nm_state *s, const struct nm_body *body, const struct nm_sample *now)
{
    struct nm_sample then;
    int64_t kept = now->time - s->ring[s->n < NM_HISTORY ? 0 : (s->newest + 1) % NM_HISTORY].time;
    int64_t span = kept < LAST_STEP ? kept : LAST_STEP;
    nm_state_at(s, body, now->time - span, &then);
    double yaw = quat_yaw(then.torso_to_odom.rot), half = angle_normal(quat_yaw(now->torso_to_odom.rot) - yaw) / 2;
    struct vec3 way = vec3_sub(now->torso_to_odom.pos, then.torso_to_odom.pos);
    way.z = 0;
    s->speed = (struct vec3){0};
    if (span >= LEAST_SPAN) s->speed = vec3_scale(quat_apply(quat_rpy(0, 0, -yaw - half), way), 1e9 / (double)span);
}

/* Where the torso is if the support foot stands still. */
static struct vec3 by_anchor(struct nm_state *s, const struct nm_readings *r, enum nm_side support,
                             const struct vec3 sole[2], struct vec3 rolled, struct quat rot)
{
    bool feels = r->weight[NM_LEFT] >= 0, loaded = r->weight[NM_LEFT] + r->weight[NM_RIGHT] > 0;
    bool flies = s->n && feels && !(loaded && s->loaded) && r->time - s->lifted < LONGEST_FLIGHT;
    struct pose3 torso = {rot, {0, 0, 0}};
    if (s->n && support != s->ring[s->newest].support) { /* the other foot is set down where it is now */
        s->anchor = vec3_add(s->anchor, vec3_sub(sole[support], sole[!support]));
        s->anchor.z = 0;
    } else {
        s->anchor = vec3_add(s->anchor, rolled);
    }
    torso.pos = vec3_sub(s->anchor, sole[support]);
    if (s->n) {
        struct vec3 more = lacks(s, r->time, torso);
        if (flies || support != s->ring[s->newest].support) s->landed = r->time, s->stands = false;
        bool jumps = hypot(more.x, more.y) > SLIDES * 1e-9 * (double)(r->time - s->ring[s->newest].time);
        bool slides = jumps && (loaded || !feels) && r->time - s->landed < LONGEST_SLIDE;
        s->stands |= !flies && !slides;
        if (!s->stands) s->anchor = vec3_add(s->anchor, more), torso.pos = vec3_add(torso.pos, more);
    }
    return torso.pos;
}

/* Where the torso is if the accelerometer is believed, too. Who is carried, lies, or was not felt for a while has lost
 * its speed, and begins where `anchored` says. */
static struct vec3 by_footing(struct nm_state *s, const struct nm_readings *r, enum nm_side support,
                              const struct vec3 sole[2], const struct vec3 rolled[2], struct vec3 anchored)
{
    struct quat rot = quat_normal(r->torso_to_world);
    struct vec3 arm = quat_apply(rot, r->sensor);
    bool feels = r->weight[NM_LEFT] >= 0 && r->weight[NM_RIGHT] >= 0;
    double sum = r->weight[NM_LEFT] + r->weight[NM_RIGHT];
    int64_t since = s->n ? r->time - s->ring[s->newest].time : 0;
    struct nm_footing_sample now = {.dt = 1e-9 * (double)since};
    now.acceleration = quat_apply(rot, *r->force);
    for (int side = 0; side < 2; side++) {
        now.sole[side] = vec3_sub(sole[side], arm);
        now.roll[side] = rolled[side];
        now.share[side] = !feels ? side == (int)support : sum > 0 ? r->weight[side] / sum : 0;
    }
    bool carried = feels && !(sum > 0) && r->time - s->lifted >= LONGEST_FLIGHT;
    if (carried || !s->on_footing || since > LONGEST_FLIGHT) {
        nm_footing_start(&s->footing, &now, vec3_add(anchored, arm));
        return anchored;
    }
    struct vec3 place = vec3_sub(nm_footing_step(&s->footing, &now), arm);
    return (struct vec3){place.x, place.y, anchored.z};
}

void nm_state_update(struct nm_state *s, const struct nm_body *body, const struct nm_readings *r)
{
    struct nm_kin kin;
    if (s->n && r->time <= s->ring[s->newest].time) {
        if (s->ring[s->newest].time - r->time < NM_HISTORY_SPAN) return;
        s->n = 0;
    }
    struct pose3 torso = {quat_normal(r->torso_to_world), {0, 0, 0}};
    bool legs = body->leg[NM_LEFT].n && body->leg[NM_RIGHT].n;
    nm_forward(body, torso, r->q, &kin);
    enum nm_side support = legs ? pick_support(s, body, r, &kin) : NM_LEFT;
    struct vec3 sole[2] = {0}, rolled[2] = {0};
    for (int side = 0; legs && side < 2; side++) {
        struct vec3 corners[NM_CELLS + 1];
        uint32_t n = corners_of(body, &kin, (enum nm_side)side, corners);
        sole[side] = kin.pose[body->foot[side].sole].pos;
        if (s->n) rolled[side] = roll(s->corners[side], corners, n);
        memcpy(s->corners[side], corners, n * sizeof *corners);
    }
    if (!s->n) { /* the robot stands where it was said to stand */
        struct pose2 here = nm_robot_to_odom(body, &kin);
        s->anchor = (struct vec3){s->robot_to_odom.x + sole[support].x - here.x,
                                  s->robot_to_odom.y + sole[support].y - here.y, 0};
        s->stands = true;
        s->on_footing = false;
    }
    struct vec3 anchored = by_anchor(s, r, support, sole, rolled[support], torso.rot);
    torso.pos = legs && r->force ? by_footing(s, r, support, sole, rolled, anchored) : anchored;
    s->anchor = vec3_add(s->anchor, vec3_sub(torso.pos, anchored));
    s->beside = vec3_add(s->n ? s->beside : (struct vec3){0}, vec3_sub(torso.pos, anchored));
    s->on_footing = legs && r->force;

    struct nm_sample *to = room(s);
    to->time = r->time;
    to->beside = s->beside;
    to->torso_to_odom = torso;
    to->support = support;
    memcpy(to->q, r->q, body->n_joints * sizeof *to->q);

    for (uint32_t i = 0; i < body->n_frames; i++) kin.pose[i].pos = vec3_add(kin.pose[i].pos, torso.pos);
    s->robot_to_odom = nm_robot_to_odom(body, &kin);
    s->torso_height = torso.pos.z;
    s->loaded = r->weight[NM_LEFT] + r->weight[NM_RIGHT] > 0;
    if (s->loaded) s->lifted = r->time;
    if (s->stands) note_speed(s, body, to);
}

/* `back` samples before the newest */
static const struct nm_sample *ago(const struct nm_state *s, uint32_t back)
{
    return &s->ring[(s->newest + NM_HISTORY - back) % NM_HISTORY];
}

bool nm_state_at(const struct nm_state *s, const struct nm_body *body, int64_t time, struct nm_sample *out)
{
    if (!s->n) {
        memset(out, 0, sizeof *out);
        out->torso_to_odom = POSE_IDENTITY;
        return false;
    }
    /* the samples are in order of time: halve the stretch until two neighbours hold the moment */
    uint32_t late = 0, early = s->n - 1;
    bool inside = time <= ago(s, late)->time && time >= ago(s, early)->time;
    while (early - late > 1) {
        uint32_t middle = (late + early) / 2;
        if (ago(s, middle)->time <= time)
            early = middle;
        else
            late = middle;
    }
    const struct nm_sample *a = ago(s, early), *b = ago(s, late);
    double t = b->time > a->time ? (double)(time - a->time) / (double)(b->time - a->time) : 1;
    t = fmin(fmax(t, 0), 1);
    *out = t < 0.5 ? *a : *b;
    out->time = time;
    for (uint32_t i = 0; i < body->n_joints; i++) out->q[i] = a->q[i] + t * (b->q[i] - a->q[i]);
    out->torso_to_odom.rot = quat_slerp(a->torso_to_odom.rot, b->torso_to_odom.rot, t);
    struct vec3 way = vec3_sub(b->torso_to_odom.pos, a->torso_to_odom.pos);
    out->torso_to_odom.pos = vec3_add(a->torso_to_odom.pos, vec3_scale(way, t));
    out->beside = vec3_add(a->beside, vec3_scale(vec3_sub(b->beside, a->beside), t));
    return inside;
}

bool nm_state_kin(const struct nm_state *s, const struct nm_body *body, int64_t time, struct nm_kin *in_odom)
{
    struct nm_sample sample;
    bool inside = nm_state_at(s, body, time, &sample);
    nm_forward(body, sample.torso_to_odom, sample.q, in_odom);
    return inside;
}

struct vec3 nm_state_remember(const struct nm_state *s, const struct nm_body *body, int64_t time, struct vec3 in_robot)
{
    struct nm_kin then;
    nm_state_kin(s, body, time, &then);
    return pose_apply(nm_ground_pose(nm_robot_to_odom(body, &then)), in_robot);
}

struct vec3 nm_state_recall(const struct nm_state *s, struct vec3 in_odom)
{
    return pose_apply(pose_inv(nm_ground_pose(s->robot_to_odom)), in_odom);
}
